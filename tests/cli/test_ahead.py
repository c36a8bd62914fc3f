"""Tests of several inputs at once: the report does not depend on the number of processes, and failures are reported
where their turn comes."""

import pickle
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hardsim.campaign import workers
from hardsim.campaign.workers import Call, Crews, Job, LocalCrew, Shard, work
from hardsim.cli.ahead import EACH, FEW, LARGEST, LONG, Ahead, OnTarget, _rank
from hardsim.errors import InputError, WorkerFailure
from hardsim.kept import forget
from hardsim.options.table import Request
from hardsim.proof.programs import law
from hardsim.sharpening import theorem26
from hardsim.targets.base import ModelOptions, Target
from hardsim.targets.inputs.base import Input
from hardsim.targets.opening import read_expression
from tests.cli.conftest import Cli, process

FORMULAS = Path(__file__).parents[2] / "formulas"
TEXTS = ("a S b", "Y a", "O b", "H a", "a & b")


class Here:
    """A crew of two whose processes are this one; it counts the shards."""

    workers, alone = 2, False

    def __init__(self) -> None:
        self.done = 0

    def run(self, job: Job, shards: Iterable[Shard], together: int = 0) -> Generator[Any, None, None]:
        answer = job.make(*job.parts)
        for shard in shards:
            self.done += 1
            yield answer(shard)


def staff(local: bool = True) -> tuple[Crews, Here]:
    crew = Here()
    return cast(Crews, SimpleNamespace(local=local, forks=local, crew=lambda default: crew)), crew


def measured(request: Request, target: Target) -> int:
    if target.name == "H a":
        raise InputError("this one fails")
    return target.facts.layers + 100


layers = OnTarget(measured)


def tasks() -> list[tuple[Input, ModelOptions]]:
    (options,) = Request().options()
    return [(replace(read_expression(text, "a b"), name=text), options) for text in TEXTS]


def test_results_come_in_turn_and_those_that_nobody_takes_are_dropped() -> None:
    given, (crews, crew) = tasks(), staff()
    ahead = Ahead(crews, Request(workers=2), layers, given)
    expected = [target.facts.layers + 100 for one, option in given[:3] for target in [one.target(option)]]
    for number in (0, 2):
        found = ahead.take(number)
        assert found is not None
        assert found[0] == expected[number]
        assert found[1] >= 0
        assert crew.done == number + 1, "a result is computed before its turn only by another process"
    ahead.close()
    assert ahead.take(4) is None


def test_a_task_that_fails_is_left_to_this_process() -> None:
    ahead = Ahead(staff()[0], Request(workers=2), layers, tasks())
    assert ahead.take(3) is None
    assert ahead.take(4) is not None


@pytest.mark.parametrize("change", [lambda one: object.__setattr__(one, "against", lambda: 1), lambda one: None])
def test_what_cannot_be_sent_is_left_to_this_process(
    change: Callable[[Input], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = tasks()
    change(given[0][0])
    monkeypatch.setattr("hardsim.cli.ahead.LARGEST", LARGEST if given[0][0].against is not None else 10)
    assert Ahead(staff()[0], Request(workers=2), layers, given).take(0) is None


@pytest.mark.parametrize(("workers", "count", "local"), [(1, 5, True), (2, EACH * 2 - 1, True), (2, 5, False)])
def test_few_tasks_and_clusters_have_no_task_ahead(workers: int, count: int, local: bool) -> None:
    crews, crew = staff(local)
    ahead = Ahead(crews, Request(workers=workers), layers, tasks()[:count])
    assert (ahead.workers, ahead.take(0), crew.done) == (1, None, 0)


@pytest.mark.parametrize(("count", "shares", "workers"), [(5, False, 2), (1, False, 1), (3, True, 1), (4, True, 2)])
def test_a_command_without_words_to_share_shares_two_tasks(count: int, shares: bool, workers: int) -> None:
    ahead = Ahead(staff()[0], Request(workers=2), layers, tasks()[:count], shares=shares)
    assert ahead.workers == workers


@pytest.mark.parametrize(("forks", "workers"), [(True, 2), (False, 1)])
def test_few_tasks_are_worth_processes_that_start_quickly(
    forks: bool, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hardsim.cli.ahead.processors", lambda: 2)
    crews = cast(Crews, SimpleNamespace(local=True, forks=forks, crew=lambda default: Here()))
    assert Ahead(crews, Request(), layers, tasks()).workers == workers


@pytest.mark.parametrize(("count", "workers"), [(1, None), (FEW - 1, None), (5, 2)])
def test_whether_processes_can_be_forked_is_asked_only_where_it_decides(count: int, workers: int | None) -> None:
    class Unasked(SimpleNamespace):
        @property
        def forks(self) -> bool:
            raise AssertionError("asked")

    crews = cast(Crews, Unasked(local=True, crew=lambda default: Here()))
    assert Ahead(crews, Request(workers=workers), layers, tasks()[:count]).workers == (workers or 1)


def test_models_and_programs_begin_before_formulas() -> None:
    shards: list[Shard] = []

    class Listing(Here):
        def run(self, job: Job, given: Iterable[Shard], together: int = 0) -> Generator[Any, None, None]:
            shards.extend(given)
            yield from super().run(job, shards, together)

    crews = cast(Crews, SimpleNamespace(local=True, forks=True, crew=lambda default: Listing()))
    given = tasks()
    for (one, _), name in zip(given, ("a.ltl", "b.srasp", "c.ahat.json", "d.cr", "e.ltl"), strict=True):
        object.__setattr__(one, "name", name)
    assert Ahead(crews, Request(workers=2), layers, given).take(0) is not None
    ranks = {shard.name: shard.rank for shard in shards}
    assert ranks["a.ltl"] == ranks["e.ltl"] == 0 < ranks["c.ahat.json"] < ranks["b.srasp"] < ranks["d.cr"]


def test_formulas_that_compare_counts_begin_before_others_and_after_programs() -> None:
    texts = ("a S b", "#[a] > #[b]", "H(#L[a] <= #L[b]) & #[a] = 1", "ODD(#[a])", " & ".join(["#[a] > 1"] * 12))
    ranks = [_rank((read_expression(text, "a b"),)) for text in texts]
    assert ranks[0] == ranks[3] == 0
    assert len(LONG) < ranks[4] < ranks[2] < ranks[1]


def test_a_task_that_loses_its_workers_is_an_error_and_no_verdict() -> None:
    class Lost(Here):
        def run(self, job: Job, given: Iterable[Shard], together: int = 0) -> Generator[Any, None, None]:
            yield from islice(super().run(job, given), 1)
            raise WorkerFailure("3 workers in a row were lost with Y a", "Try --workers 1.")

    crews = cast(Crews, SimpleNamespace(local=True, forks=True, crew=lambda default: Lost()))
    ahead = Ahead(crews, Request(workers=2), layers, tasks())
    assert ahead.take(0) is not None
    with pytest.raises(WorkerFailure):
        ahead.take(1)
    assert ahead.take(2) is None, "this process does the rest"


class Inside(LocalCrew):
    """A crew of two whose calls are made in this process, with everything sent and returned as octets."""

    def _attempt(self, calls: Sequence[Call], more: Iterator[Call]) -> Generator[Any, None, None]:
        for call in (*calls, *more):
            yield pickle.loads(pickle.dumps(work(*pickle.loads(pickle.dumps(call)))))


@pytest.fixture
def inputs(tmp_path: Path) -> list[Path]:
    """Files of which one is wrong, one is refused, and one has labels of its own regime."""
    wrong, refused = tmp_path / "wrong.ltl", tmp_path / "refused.srasp"
    wrong.write_text("alphabet: a b\nX a\n", "utf-8")
    refused.write_text("acceptor\nalphabet: a b\n", "utf-8")
    return [FORMULAS / "since.ltl", wrong, FORMULAS / "dyck1.srasp", refused, FORMULAS / "ties.ahat.json"]


COMMANDS = {
    "check": ("--regime", "causal-temperature", "--max-n", 3),
    "prove": ("--regime", "causal-temperature", "--max-n", 2),
    "bound": ("--max-n", 2, "--exhaustive", 5),
    "precision": ("--max-n", 3, "--dtype", "float16"),
    "equiv": ("--max-n", 4),
}
SLOWEST = re.compile("note: slowest: .*\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_reports_do_not_depend_on_where_they_are_computed(
    command: str, inputs: list[Path], hardsim: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "LocalCrew", Inside)
    found = [hardsim(command, *inputs, *COMMANDS[command], "--json", "-", "--workers", k) for k in (1, 2)]
    assert found[0].json == found[1].json
    assert found[0].code == found[1].code != 0
    assert SLOWEST.sub("", found[0].err) == SLOWEST.sub("", found[1].err) != ""


@pytest.mark.parametrize("count", [1, 2])
def test_nothing_is_kept_between_two_inputs(count: int, hardsim: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    caches: list[Any] = [law._evaluated, theorem26._visible]
    sizes: list[int] = []

    def counted() -> None:
        sizes.append(sum(cache.cache_info().currsize for cache in caches))
        forget()

    monkeypatch.setattr(workers, "LocalCrew", Inside)
    monkeypatch.setattr("hardsim.kept.forget", counted)
    files = [FORMULAS / "flipflop.srasp", FORMULAS / "reverse.srasp"]
    hardsim("prove", *files, "--max-n", "4", "--workers", count).exits(0)
    assert len([size for size in sizes if size]) == len(files)
    assert sum(cache.cache_info().currsize for cache in caches) == 0


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_reports_do_not_depend_on_the_number_of_processes(command: str, inputs: list[Path], tmp_path: Path) -> None:
    called = [command, *inputs, *COMMANDS[command], "--json"]
    found = [process(*called, f"{k}.json", "--workers", k, cwd=tmp_path) for k in (1, 2, 3)]
    texts = [(tmp_path / f"{k}.json").read_bytes() for k in (1, 2, 3)]
    assert texts[0] == texts[1] == texts[2]
    for one in found[1:]:
        assert (one.code, one.out) == (found[0].code, found[0].out)
        assert SLOWEST.sub("", one.err) == SLOWEST.sub("", found[0].err)
