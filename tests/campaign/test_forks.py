"""Tests of forked workers, in a process with a single thread; `test_workers.py` tests those that joblib starts."""

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import InvalidStateError
from pathlib import Path
from typing import Any

import psutil
import pytest

from hardsim.campaign import forks, workers
from tests.support.clusters import PATIENCE, awaited, gone, two_workers

SCRIPT = """
import json, os, sys
from hardsim.campaign.forks import forks_safely
from hardsim.campaign.workers import Job, LocalCrew, Shard, WorkerLost
from hardsim.errors import InputError, WorkerFailure
from tests.campaign.test_workers import counting, echoing, failing, shards, sleeping
from tests.support.clusters import workers_of
import psutil

def failure(work):
    try:
        return list(work)
    except (InputError, WorkerFailure) as error:
        return str(error)

def broken():
    yield from shards(9)
    raise InputError("no more")

flags, me, said = sys.argv[1], psutil.Process(), []
assert forks_safely(), len(os.listdir("/proc/self/task"))
with LocalCrew(2, said.append) as crew:
    first = list(crew.run(Job(counting, ()), shards(40)))
    started = {one.pid for one in workers_of(me)}
    second = list(crew.run(Job(echoing, (flags,)), shards(50)))
    kept = started == {one.pid for one in workers_of(me)}
    lost = list(crew.run(Job(echoing, (flags, 7)), shards(25)))
    always, found = [], []
    try:
        found.extend(always.append(one) or one for one in crew.run(Job(echoing, (flags, -1, 7)), shards(25)))
    except WorkerFailure as error:
        named = str(error)
    third = failure(crew.run(Job(failing, ("too long",)), shards(9)))
    source = []
    try:
        source.extend(crew.run(Job(echoing, (flags,)), broken()))
    except InputError as error:
        ended = str(error)
    given_up = crew.run(Job(echoing, (flags,)), shards(1000))
    next(given_up)
    given_up.close()
    left = len(workers_of(me))
    again = list(crew.run(Job(echoing, (flags,)), shards(3)))
    with crew.beside(Job(sleeping, ()), Shard(1, ())) as beside:
        others = {one.pid for one in workers_of(me)}
        soon = crew.run(Job(echoing, (flags,)), shards(1000))
        next(soon)
        waiting = not beside.done
        soon.close()
        same = others == {one.pid for one in workers_of(me)}
        answered = beside.answer() in others and beside.done
    after = list(crew.run(Job(echoing, (flags,)), shards(3)))
    with crew.beside(Job(sleeping, ()), Shard(999, ())) as never:
        pass
    dropped = len(workers_of(me))
    with crew.beside(Job(echoing, (flags, -1, 3)), Shard(3, ())) as killed:
        try:
            killed.answer()
        except WorkerLost as error:
            gone = str(error)
    last = list(crew.run(Job(echoing, (flags,)), shards(3)))
assert forks_safely()
print(json.dumps(dict(first=first, started=sorted(started), second=second, kept=kept, lost=lost, always=always,
    named=named, third=third, source=source, ended=ended, left=left, again=again, said=len(said),
    waiting=waiting, same=same, answered=answered, after=after, dropped=dropped, gone=gone, last=last,
    processes=len(workers_of(me)))))
"""

SHARING = """
import json, sys, time
from hardsim.campaign.forks import ForkPool

def square(k, bad):
    time.sleep(0.001)
    if k == bad:
        raise ValueError(f"no square of {k}")
    return k * k

pool = ForkPool(2, int)
submit, tasks = pool._pool.submit, []
pool._pool.submit = lambda function, *calls: tasks.append(calls) or submit(function, *calls)
told = {}
for shared in (True, False):
    for bad in (-1, 400):
        tasks.clear()
        results = []
        try:
            some, more = [(k, bad) for k in range(8)], ((k, bad) for k in range(8, 900))
            results.extend(pool.run(square, some, more, shared=shared))
        except ValueError as error:
            results.append(str(error))
        told[f"{shared} {bad}"] = results, len(tasks), max(len(calls[1]) for calls in tasks)
pool.close()
print(json.dumps(told))
"""

LARGE = """
import faulthandler, json
from hardsim.campaign.forks import ForkPool

def large(k):
    return b"x" * 40_000_000

faulthandler.dump_traceback_later(60, exit=True)
first = []
for _ in range(3):
    pool = ForkPool(2, int)
    results = pool.run(large, [(k,) for k in range(50)], iter(()))
    first.append(len(next(results)))
    results.close()
    pool.close()
print(json.dumps(first))
"""

LARGE_CALLS = """
import faulthandler, json, time
from hardsim.campaign.forks import ForkPool

def asleep(data):
    time.sleep(600)

faulthandler.dump_traceback_later(60, exit=True)
pool = ForkPool(2, int)
for _ in range(8):
    pool.start(asleep, b"x" * 400_000)
time.sleep(0.5)
if {dies}:
    pool._pool._executor_manager_thread.terminate_broken = lambda cause: None
pool.close()
print(json.dumps("closed"))
"""


def told(script: str, *arguments: str) -> Any:
    """Return what a script prints, in a process with one thread."""
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}, cwd=Path(__file__).parents[2],
        capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Results of forked workers in a process with one thread."""
    result: dict[str, Any] = told(SCRIPT, str(tmp_path_factory.mktemp("flags")))
    return result


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux alone")
def test_forked_workers_answer_in_order_and_are_kept(found: dict[str, Any]) -> None:
    assert {process for process, _, _ in found["first"]} <= set(found["started"])
    assert len(found["started"]) == 2
    for process in found["started"]:  # a job is made once in each
        numbers = [number for one, number, _ in found["first"] if one == process]
        assert numbers == list(range(1, 1 + len(numbers)))
    assert found["kept"]
    assert found["second"] == list(range(50))
    assert found["again"] == [0, 1, 2]
    assert (found["left"], found["processes"]) == (0, 0), "processes were left"


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux alone")
def test_lost_forked_workers_are_started_again_three_times(found: dict[str, Any]) -> None:
    assert found["lost"] == list(range(25))
    assert found["always"] == list(range(7))
    assert "3 workers in a row were lost with the same words: the word 'a' of length 7" in found["named"]
    assert found["said"] >= 3


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux alone")
def test_errors_of_forked_workers_come_in_their_turn(found: dict[str, Any]) -> None:
    assert found["third"].startswith("too long")
    assert found["source"] == list(range(9)), "results before the error are missing"
    assert found["ended"].startswith("no more")


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux alone")
def test_a_forked_worker_runs_a_shard_beside_other_jobs(found: dict[str, Any]) -> None:
    assert found["waiting"], "the others waited for it"
    assert found["same"], "a job that was given up has ended its process"
    assert found["answered"]
    assert found["dropped"] == 0, "it went on although nobody waits for it"
    assert found["gone"] == "a worker process was lost"
    assert found["after"] == found["last"] == [0, 1, 2]


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux alone")
def test_short_calls_share_tasks_with_the_same_results_and_errors() -> None:
    found, squares = told(SHARING), [k * k for k in range(900)]
    for shared in (True, False):
        assert found[f"{shared} -1"][0] == squares
        assert found[f"{shared} 400"][0] == [*squares[:400], "no square of 400"]
    assert found["False -1"][1:] == [900, 1]
    assert found["True -1"][1] < 450
    assert 1 < found["True -1"][2] <= forks.TOGETHER


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux alone")
@pytest.mark.parametrize("dies", [False, True])
def test_calls_that_no_process_has_read_keep_nobody_waiting(dies: bool) -> None:
    """The pipe has room for 64 KiB, so a thread is writing a call when the processes are killed. The pool's own thread
    may have ended before."""
    assert told(LARGE_CALLS.replace("{dies}", str(dies))) == "closed"


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux alone")
def test_processes_that_are_killed_while_they_write_results_keep_nobody_waiting() -> None:
    assert told(LARGE) == [40_000_000] * 3


def test_the_thread_of_an_executor_reports_no_call_that_was_given_up() -> None:
    class ExecutorThread(threading.Thread):
        __module__ = "concurrent.futures.process"

    shown: list[threading.ExceptHookArgs] = []
    for thread, error in [
        (ExecutorThread(), InvalidStateError("CANCELLED")),
        (ExecutorThread(), ValueError("else")),
        (threading.Thread(), InvalidStateError("elsewhere")),
    ]:
        workers._unless_ended(shown.append, threading.ExceptHookArgs((type(error), error, None, thread)))
    assert [str(args.exc_value) for args in shown] == ["else", "elsewhere"]


def test_calls_share_a_task_only_while_they_are_short() -> None:
    assert [forks._together(seconds, 100.0) for seconds in (0.0, 0.03, 0.11, 0.21, 5.0)] == [8, 6, 1, 1, 1]
    # After a second the last task must not be longer than an eighth of it.
    assert forks._together(0.03, 1.0) == 4


def test_only_a_process_with_one_thread_forks(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = threading.Event()
    thread = threading.Thread(target=waiting.wait)
    thread.start()
    try:
        assert not forks.forks_safely()
    finally:
        waiting.set()
        thread.join()
    monkeypatch.setattr(forks, "THREADS", "/nowhere")
    assert not forks.forks_safely()


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux alone")
def test_forked_workers_do_not_outlive_their_parent() -> None:
    script = (
        "from hardsim.campaign.workers import Job, LocalCrew, Shard\n"
        "from tests.campaign.test_workers import counting\n"
        "for _ in LocalCrew(2).run(Job(counting, ()), (Shard(1, (('a',),)) for _ in range(10**9))):\n"
        "    pass\n"
    )
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-c", script], cwd=Path(__file__).parents[2], env=environment, stderr=subprocess.DEVNULL
    )
    workers = awaited(lambda: two_workers(process.pid))
    assert [psutil.Process(one.pid).cmdline() for one in workers] == [psutil.Process(process.pid).cmdline()] * 2
    process.kill()
    process.communicate(timeout=PATIENCE)
    assert gone(workers)
