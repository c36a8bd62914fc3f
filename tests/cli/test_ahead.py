"""Tests of several inputs at once: the report does not depend on the number of processes, and failures are reported
where their turn comes."""

from collections.abc import Callable, Generator, Iterable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hardsim.campaign.workers import Crews, Job, Shard
from hardsim.cli.ahead import EACH, LARGEST, Ahead
from hardsim.errors import InputError
from hardsim.options.table import Request
from hardsim.targets.base import ModelOptions, Target
from hardsim.targets.inputs.base import Input
from hardsim.targets.opening import read_expression
from tests.cli.conftest import Cli

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
    return cast(Crews, SimpleNamespace(local=local, crew=lambda default: crew)), crew


def layers(request: Request, target: Target) -> int:
    if target.name == "H a":
        raise InputError("this one fails")
    return target.facts.layers + 100


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


@pytest.mark.parametrize("command", ["check", pytest.param("prove", marks=pytest.mark.slow)])
def test_reports_do_not_depend_on_the_number_of_processes(command: str, hardsim: Cli, tmp_path: Path) -> None:
    """One file is wrong, one is refused, and one has labels of its own regime."""
    wrong, refused = tmp_path / "wrong.ltl", tmp_path / "refused.srasp"
    wrong.write_text("alphabet: a b\nX a\n", "utf-8")
    refused.write_text("acceptor\nalphabet: a b\n", "utf-8")
    inputs = [FORMULAS / "since.ltl", wrong, FORMULAS / "dyck1.srasp", refused, FORMULAS / "ties.ahat.json"]
    options = "--regime", "causal-temperature", "--max-n", 3, "--json", "-", "--workers"
    found = [hardsim(command, *inputs, *options, k) for k in (1, 2)]
    assert found[0].json == found[1].json
    assert found[0].code == found[1].code != 0
    assert found[0].err == found[1].err != ""
