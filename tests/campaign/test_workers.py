"""Tests of shards on several processes: the order of the results, lost workers, and what remains afterwards."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import psutil
import pytest
from joblib import register_parallel_backend
from joblib._parallel_backends import ThreadingBackend

from hardsim.campaign import workers
from hardsim.campaign.workers import (
    Answer,
    Call,
    Crew,
    DaskCrew,
    Job,
    LocalCrew,
    RayCrew,
    Shard,
    WorkerLost,
    quiet,
    work,
)
from hardsim.errors import WorkerFailure
from hardsim.measuring.bound import BoundOptions, bound_report, bound_subject
from tests.support.check import CheckOptions, Progress, check_subject
from tests.support.clusters import PATIENCE, awaited, gone, two_workers, workers_of
from tests.support.language import InputError, InvariantError
from tests.support.subjects import FORMULAS, known, shipped


def shards(count: int) -> Iterator[Shard]:
    """Return shards that differ in their length."""
    return (Shard(n, (("a",),)) for n in range(count))


def echoing(flags: str, once: int = -1, always: int = -1) -> Answer:
    """Return a job that answers with the length, and kills its process at length `once` the first time, at `always`
    every time.
    """

    def answer(shard: Shard) -> int:
        flag = Path(flags) / "lost"
        if shard.n == always or (shard.n == once and not flag.exists()):
            flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return shard.n

    return answer


def counting() -> Answer:
    """Return a job that answers with its process id, how many shards it has answered, and its number of threads."""
    seen: list[int] = []

    def answer(shard: Shard) -> tuple[int, int, str | None]:
        seen.append(shard.n)
        return os.getpid(), len(seen), os.environ.get("OMP_NUM_THREADS")

    return answer


def failing(message: str) -> Answer:
    """Return a job that raises an InputError at the third shard."""

    def answer(shard: Shard) -> int:
        if shard.n == 2:
            raise InputError(message, hint="Do something else.")
        return shard.n

    return answer


def sleeping() -> Answer:
    """Return a job that takes as many seconds as a shard is long, and answers with its process id."""

    def answer(shard: Shard) -> int:
        time.sleep(shard.n)
        return os.getpid()

    return answer


@pytest.fixture
def crew() -> Iterator[Crew]:
    """A crew of two processes, which must be gone after the test."""
    with LocalCrew(2) as found:
        yield found
    assert workers_of(psutil.Process()) == []


# ---- order, state, environment ----


@pytest.mark.slow
def test_results_come_in_the_order_of_the_shards_and_a_job_is_made_once_in_each_process(crew: Crew) -> None:
    found = list(crew.run(Job(counting, ()), shards(30)))
    processes = {process for process, _, _ in found}
    assert os.getpid() not in processes
    assert len(processes) <= 2
    for process in processes:
        numbers = [number for one, number, _ in found if one == process]
        assert numbers == list(range(1, 1 + len(numbers)))
    assert {threads for _, _, threads in found} == {"1"}, "each process must use one thread"
    assert list(crew.run(Job(echoing, ("nowhere",)), shards(50))) == list(range(50))


def test_one_worker_is_this_process() -> None:
    with LocalCrew(1) as crew:
        assert [process for process, _, _ in crew.run(Job(counting, ()), shards(2))] == [os.getpid()] * 2
        assert crew.alone


def test_an_error_in_a_worker_is_that_error(crew: Crew) -> None:
    assert list(crew.run(Job(counting, ()), ())) == []  # no shards, no results
    with pytest.raises(InputError) as caught:
        list(crew.run(Job(failing, ("too long",)), shards(9)))
    assert (caught.value.message, caught.value.hint) == ("too long", "Do something else.")


@pytest.mark.slow
def test_an_error_in_the_source_of_the_shards_is_that_error(crew: Crew) -> None:
    def broken() -> Iterator[Shard]:
        yield from shards(20)
        raise InputError("no more")

    with pytest.raises(InputError, match="no more"):
        list(crew.run(Job(echoing, ("nowhere",)), broken()))


@pytest.mark.slow
def test_results_that_nobody_wants_any_more_are_given_up_with_their_processes(crew: Crew) -> None:
    with closing(crew.run(Job(echoing, ("nowhere",)), shards(1000))) as results:
        assert next(results) == 0
        workers = workers_of(psutil.Process())
    assert workers
    assert gone(workers)


def test_a_worker_of_another_version_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    parcel = Job(counting, ()).parcel()
    monkeypatch.setattr(workers, "__version__", "0.0.0")
    workers._answer.cache_clear()
    with pytest.raises(InputError, match=r"a worker has hardsim 0\.0\.0, and this is hardsim"):
        work(parcel, Shard(1, (("a",),)))


def test_a_worker_keeps_few_jobs() -> None:
    for number in range(5):
        assert work(Job(echoing, (str(number),)).parcel(), Shard(number, (("a",),))) == (number, ())
    assert workers._answer.cache_info().currsize == workers.KEPT_JOBS


# ---- lost workers ----


@pytest.mark.slow
def test_the_shards_of_a_lost_worker_are_run_again(tmp_path: Path) -> None:
    said: list[str] = []
    with LocalCrew(2, said.append) as crew:
        assert list(crew.run(Job(echoing, (str(tmp_path), 7)), shards(25))) == list(range(25))
    assert said == ["a worker process was lost: the shards that had not come back are run again"]


@pytest.mark.slow
def test_a_shard_that_loses_every_worker_is_named(tmp_path: Path) -> None:
    said: list[str] = []
    found: list[int] = []
    with LocalCrew(2, said.append) as crew, pytest.raises(WorkerFailure) as caught:
        found.extend(crew.run(Job(echoing, (str(tmp_path), -1, 7)), shards(25)))
    assert found == list(range(7)), "results before the lost shard are missing"
    assert "3 workers in a row were lost with the same words: the word 'a' of length 7" in str(caught.value)
    assert "--workers 1" in str(caught.value)
    assert caught.value.exit_code == 4
    assert len(said) >= 2


class Losing(Crew):
    """A crew that runs shards in this process; the plan gives the number of results before each attempt loses a
    worker.
    """

    def __init__(self, plan: Iterable[int]) -> None:
        super().__init__(2)
        self.plan = list(plan)
        self.sizes: list[int] = []
        self.ran: list[int] = []

    def _attempt(self, calls: Sequence[Call], more: Iterator[Call]) -> Generator[Any, None, None]:
        self.sizes.append(len(calls))
        limit = self.plan.pop(0) if self.plan else None
        for returned, call in enumerate(calls):
            if returned == limit:
                raise WorkerLost("lost")
            self.ran.append(call[1].n)
            yield work(*call)

    def close(self) -> None:
        """Do nothing, since nothing was started."""


@pytest.mark.parametrize(
    ("plan", "sizes"),
    [
        ([], [8, 8, 4]),
        ([0], [8, 8, 8, 4]),
        ([3, 2, 1, 5], [8, 5, 3, 2, 8, 4]),  # results came back in between, so the losses are of different shards
        ([4, 0], [8, 4, *[1] * 4, 8, 4]),  # after two losses in a row the rest of the wave runs one shard at a time
        ([4, 0, 9, 0], [8, 4, *[1] * 5, 8, 4]),
    ],
)
def test_no_shard_is_lost_or_run_twice_whenever_workers_go(plan: list[int], sizes: list[int]) -> None:
    crew = Losing(plan)
    assert list(crew.run(Job(echoing, ("nowhere",)), shards(20))) == list(range(20))
    assert crew.ran == list(range(20))
    assert crew.sizes == sizes


def test_three_losses_in_a_row_are_too_many() -> None:
    with pytest.raises(WorkerFailure, match="the word 'a' of length 4"):
        list(Losing([4, 0, 0]).run(Job(echoing, ("nowhere",)), shards(20)))


def test_results_that_never_come_are_a_defect() -> None:
    class Forgetting(Losing):
        def _attempt(self, calls: Sequence[Call], more: Iterator[Call]) -> Generator[Any, None, None]:
            yield from (work(*call) for call in calls[:-1])

    with pytest.raises(InvariantError, match="1 shares of the words never came back, the first of the word"):
        list(Forgetting([]).run(Job(echoing, ("nowhere",)), shards(9)))


# ---- clusters, inside this process; `tests/cli/test_backend.py` has real ones for `make slow` ----


def threads(count: int) -> Any:
    """Start a dask scheduler whose workers are this many threads."""
    from distributed import LocalCluster

    return LocalCluster(
        n_workers=count, threads_per_worker=1, processes=False, protocol="tcp://", host="127.0.0.1",
        dashboard_address=":0", silence_logs=50,
    )  # fmt: skip


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """The address of a dask scheduler with two workers."""
    with threads(2) as found:
        yield found.scheduler_address


@pytest.mark.slow
def test_results_of_dask_come_in_the_order_of_the_shards(scheduler: str) -> None:
    said: list[str] = []
    with DaskCrew(scheduler, lost=said.append) as crew:
        assert crew.workers == 2
        assert list(crew.run(Job(echoing, ("nowhere",)), shards(30))) == list(range(30))
        with pytest.raises(InputError, match="too long"):
            list(crew.run(Job(failing, ("too long",)), shards(9)))
        options = CheckOptions(max_n=4)
        assert check_subject(shipped("since.ltl"), options, None, crew) == check_subject(shipped("since.ltl"), options)
    assert said == []


def test_a_dask_worker_that_is_lost_is_spoken_of(scheduler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(workers, "LOOK", 0.0)
    crew = DaskCrew(scheduler, lost=said.append)
    with crew:
        crew._threads |= {"tcp://127.0.0.1:1": 1}
        assert list(crew.run(Job(echoing, ("nowhere",)), shards(3))) == list(range(3))
    assert said == ["the dask worker tcp://127.0.0.1:1 was lost: the shards that had not come back are run again"]


def test_dask_workers_of_another_version_are_refused(scheduler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "version", lambda: "0.0.0")
    with pytest.raises(InputError, match=r"the worker tcp://127\.0\.0\.1:\d+ has hardsim 0\.0\.0"):
        DaskCrew(scheduler)


def test_a_dask_scheduler_without_workers_is_refused() -> None:
    with threads(0) as found, pytest.raises(InputError, match="the scheduler has no workers") as caught:
        DaskCrew(found.scheduler_address)
    assert f"dask worker {found.scheduler_address}" in known(caught.value.hint)


class RayError(Exception):
    """The error that ray raises when it has lost a worker."""


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """A substitute for ray whose workers are threads."""
    names: dict[str, dict[str, Any]] = {
        "ray.util.joblib": {"register_ray": lambda: register_parallel_backend("ray", ThreadingBackend)},
        "ray.exceptions": {"RayError": RayError},
    }
    for name, contents in names.items():
        monkeypatch.setitem(sys.modules, name, SimpleNamespace(**contents))


def losing() -> Answer:
    """Return a job that loses its worker at the third shard."""

    def answer(shard: Shard) -> int:
        if shard.n == 2:
            raise RayError
        return shard.n

    return answer


@pytest.mark.usefixtures("ray")
def test_results_of_ray_come_in_the_order_of_the_shards() -> None:
    with RayCrew(2) as crew:
        assert list(crew.run(Job(echoing, ("nowhere",)), shards(30))) == list(range(30))
        with pytest.raises(WorkerFailure, match="the word 'a' of length 2"):
            list(crew.run(Job(losing, ()), shards(9)))
    with RayCrew() as crew:
        assert crew.workers >= 1


@pytest.mark.usefixtures("ray")
def test_a_ray_backend_that_cannot_start_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = Mock(side_effect=ConnectionError("no cluster at 127.0.0.1:1"))
    monkeypatch.setattr(ThreadingBackend, "configure", refused)
    with pytest.raises(InputError, match=r"cannot be started: no cluster at 127\.0\.0\.1:1"):
        RayCrew(2)


# ---- the streams of a command ----


@pytest.mark.parametrize(("shutdown", "message"), [(True, False), (False, True)])
def test_an_error_of_the_thread_of_processes_that_are_ended_is_nothing_to_hear_of(
    shutdown: bool, message: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise KeyError(9)

    thread = threading.Thread(target=fail)
    thread.executor_flags = SimpleNamespace(shutdown=shutdown)  # type: ignore[attr-defined]  # like loky's thread
    monkeypatch.setattr(threading, "excepthook", threading.__excepthook__)
    with quiet(whole=False):
        thread.start()
        thread.join()
    assert ("KeyError: 9" in capsys.readouterr().err) == message
    assert threading.excepthook is threading.__excepthook__


@pytest.mark.slow
def test_an_interrupt_just_after_the_first_shards_are_out_ends_their_processes(
    recwarn: pytest.WarningsRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = workers.without_interrupts

    @contextmanager
    def interrupted() -> Iterator[None]:
        with whole():
            yield
        raise KeyboardInterrupt

    monkeypatch.setattr(workers, "without_interrupts", interrupted)
    with quiet(whole=False), LocalCrew(2) as crew, pytest.raises(KeyboardInterrupt):
        list(crew.run(Job(counting, ()), shards(40)))
    gc.collect()
    assert [str(one.message) for one in recwarn] == []


# ---- whole checks ----


def killer(crew_process: psutil.Process, said: list[str]) -> Callable[[Progress], None]:
    """Return a progress function that kills a worker at words of length 5 or more, until its loss is reported (the loss
    of an idle worker is not).
    """

    def progress(state: Progress) -> None:
        found = workers_of(crew_process)
        if state.n >= 5 and found and not said:
            found[0].kill()

    return progress


@pytest.mark.slow
# With engine auto the words of a length are one shard; some shards must still wait when the worker is killed.
@pytest.mark.parametrize(("engine", "max_n"), [("auto", 48), ("ball", 9)])
def test_a_check_that_loses_a_worker_finds_the_same(engine: str, max_n: int) -> None:
    options = CheckOptions(max_n=max_n, exhaustive=0, samples=300, engine=engine)
    said: list[str] = []
    with LocalCrew(2, said.append) as crew:
        found = check_subject(shipped("since.ltl"), options, killer(psutil.Process(), said), crew)
    assert found == check_subject(shipped("since.ltl"), options)
    assert said


@pytest.mark.sweep(every=2)
@pytest.mark.parametrize("name", ["dyck1.srasp", "no_repeats.ahat.json"])
def test_programs_and_models_give_the_same_on_two_processes(name: str, crew: Crew) -> None:
    options = CheckOptions(max_n=4, exhaustive=100, samples=80)
    one, two = (check_subject(shipped(name), options, None, by) for by in (None, crew))
    assert one == two


@pytest.mark.slow
def test_a_bound_report_is_the_same_on_two_processes(crew: Crew) -> None:
    options = CheckOptions(max_n=3, exhaustive=30)
    for target in map(bound_subject, (shipped("since.ltl"), shipped("flipflop.ahat.json"))):
        one, two = (bound_report(target, replace(options), BoundOptions(), None, by) for by in (None, crew))
        assert one == two
        assert one.lengths


def test_an_interrupted_check_leaves_no_process() -> None:
    def interrupt(state: Progress) -> None:
        if state.n == 3:
            raise KeyboardInterrupt

    with LocalCrew(2) as crew:
        result = check_subject(shipped("since.ltl"), CheckOptions(max_n=9, engine="ball"), interrupt, crew)
        assert result.partial
        assert gone(workers_of(psutil.Process()))


@pytest.mark.sweep(every=2)
@pytest.mark.parametrize("ready", [True, False])
def test_workers_do_not_outlive_their_parent(ready: bool) -> None:
    """Kill the parent while the workers run (`ready`) or while they start."""
    script = (
        "from hardsim.campaign.workers import Job, LocalCrew, Shard\n"
        "from tests.campaign.test_workers import counting\n"
        "for _ in LocalCrew(2).run(Job(counting, ()), (Shard(1, (('a',),)) for _ in range(10**9))):\n"
        "    print('ready', flush=True)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], cwd=FORMULAS.parent, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    if ready:
        known(process.stdout).readline()
    workers = awaited(lambda: two_workers(process.pid))
    process.kill()
    process.communicate(timeout=PATIENCE)
    assert len(workers) == 2
    assert gone(workers)
