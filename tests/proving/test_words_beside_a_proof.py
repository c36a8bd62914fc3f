"""Words that are run while a worker asks the prover: the result is that of a proof with the words after it."""

import json
import os
import subprocess
import sys
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import fields, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from hardsim.campaign.check import CheckOptions, Progress, check_subject
from hardsim.campaign.result import CheckResult
from hardsim.campaign.workers import Call, Crew, Job, LocalCrew, Shard, Started, work
from hardsim.errors import InputError
from hardsim.lang.spec.oracle import Lines
from hardsim.proving import external
from hardsim.targets.external import External
from tests.proof.external.test_prove import oracle_of
from tests.proof.external.test_two_layers import network_of
from tests.support.check import Verdict
from tests.support.clusters import PATIENCE
from tests.support.mistakes import raised

OPTIONS = CheckOptions(9, exhaustive=4, samples=6)
FEW = 8
"""Most prefixes of a length that are run before the weights are looked at: all up to 3 symbols."""
UNPROVED, PROVED, REFUTED = Fraction(-7, 5), Fraction(-10), Fraction(0)
"""Levels: outputs are above the first, which bounds from the weights do not show; far above the second; and some are
below the third."""
TRUE, LATE = "output t0: true", "output t0: !(t1 & Y (t1 & Y (t1 & Y (t1 & Y t1))))"
"""Specifications; for the second, words of 5 symbols are the shortest on which a network is wrong that always says
true."""
ROOT = Path(__file__).parents[2]


class Beside(Crew):
    """A crew whose shards run in this process. A shard beside others runs when `wait` reports of progress have been
    looked at; None: its worker is lost."""

    def __init__(self, wait: int | None) -> None:
        super().__init__(2)
        self.wait, self.begun, self.answered = wait, list[str](), 0

    @contextmanager
    def beside(self, job: Job, shard: Shard) -> Iterator[Started]:
        crew, future = self, Future[Any]()
        self.begun.append(shard.name)

        class Late(Started):
            looks = 0

            @property
            def done(self) -> bool:
                self.looks += 1
                return crew.wait is not None and self.looks > crew.wait

            def answer(self) -> Any:
                if crew.wait is None:
                    future.cancel()
                elif not future.done():
                    future.set_result(work(job.parcel(), shard))
                crew.answered += 1
                return super().answer()

        yield Late(future)

    def _attempt(self, calls: Sequence[Call], more: Iterator[Call]) -> Generator[Any, None, None]:
        yield from (work(*call) for call in calls)

    def close(self) -> None:
        """Do nothing, since nothing was started."""


class Failing(Lines):
    """Expected outputs that are not known of long words."""

    def many(self, words: Any) -> Any:
        """Return the expected outputs. Raises InputError for words of more than 6 symbols."""
        if len(words[0]) > 6:
            raise InputError("too long for the reference")
        return super().many(words)


def subject(level: Fraction, text: str = TRUE) -> External:
    """Return a network of two layers with a specification."""
    network = network_of(3, 1)
    network = replace(network, readout=replace(network.readout, level=level))
    oracle = oracle_of(network, text)
    return External(name="here", sha256="0" * 64, alphabet=network.symbols, network=network, oracle=oracle)


@cache
@cache
def alone(level: Fraction, text: str, max_n: int = OPTIONS.max_n) -> CheckResult:
    """Return the result of a proof with the words after it, in this process; it is the same for every test."""
    return external.check_network(subject(level, text), replace(OPTIONS, max_n=max_n), crew=LocalCrew(1))


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the prover run few prefixes."""
    monkeypatch.setattr(external, "EVERY", FEW)


@pytest.mark.parametrize("max_n", [OPTIONS.max_n, pytest.param(12, marks=pytest.mark.slow)])
@pytest.mark.parametrize("wait", [0, 3, 1000, None])
@pytest.mark.parametrize(
    ("level", "text", "verdict"),
    [
        (UNPROVED, TRUE, Verdict.CERTIFIED),
        (PROVED, TRUE, Verdict.PROVED),
        (REFUTED, TRUE, Verdict.REFUTED),
        (UNPROVED, LATE, Verdict.REFUTED),
    ],
)
def test_the_result_does_not_depend_on_when_the_proof_ends(
    level: Fraction, text: str, verdict: Verdict, wait: int | None, max_n: int
) -> None:
    crew, expected = Beside(wait), alone(level, text, max_n)
    assert expected.verdict is verdict
    assert external.check_network(subject(level, text), replace(OPTIONS, max_n=max_n), crew=crew) == expected
    assert crew.begun == ["the proof about here"]
    assert crew.answered


@pytest.mark.parametrize("wait", [0, 1000])
@pytest.mark.parametrize("level", [UNPROVED, PROVED])
def test_words_are_run_twice_only_where_the_proof_goes_further(
    level: Fraction, wait: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[int] = []

    def counted(target: External, options: CheckOptions, *more: Any) -> Any:
        ran.append(options.settled)
        return check_subject(target, options, *more)

    monkeypatch.setattr(external, "check_subject", counted)
    external.check_network(subject(level), OPTIONS, crew=Beside(wait))
    assert ran == ([3] if level == UNPROVED else [3, OPTIONS.max_n])


def test_nothing_runs_beside_a_proof_where_no_words_are_searched() -> None:
    crew = Beside(0)
    external.check_network(subject(UNPROVED), replace(OPTIONS, max_n=3), crew=crew)
    external.check_network(subject(UNPROVED), replace(OPTIONS, engine="float64"), crew=crew)
    given = subject(UNPROVED)
    one = replace(given, network=replace(given.network, layers=given.network.layers[:1]))
    external.check_network(one, OPTIONS, crew=crew)
    assert not crew.begun


def test_the_prover_is_asked_here_where_no_process_can_be() -> None:
    class Apart(Beside):
        beside = Crew.beside  # type: ignore[assignment]

    crew = Apart(0)
    assert external.check_network(subject(UNPROVED), OPTIONS, crew=crew) == alone(UNPROVED, TRUE)
    assert not crew.begun


def test_an_error_about_words_has_its_turn_after_the_proof() -> None:
    given = subject(UNPROVED)
    assert isinstance(given.oracle, Lines)
    parts = [getattr(given.oracle, one.name) for one in fields(given.oracle)]
    failing, crew = replace(given, oracle=Failing(*parts)), Beside(1000)
    message = raised(InputError, external.check_network, failing, OPTIONS, crew=LocalCrew(1)).message
    assert raised(InputError, external.check_network, failing, OPTIONS, crew=crew).message == message
    assert crew.begun


def test_an_interruption_of_the_words_ends_the_check() -> None:
    def progress(found: Progress) -> None:
        if found.n > 6:
            raise KeyboardInterrupt

    crew = Beside(1000)
    found = external.check_network(subject(UNPROVED), OPTIONS, progress, crew)
    assert found.partial
    assert not crew.answered


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux alone")
@pytest.mark.parametrize("max_n", ["10", pytest.param("14", marks=pytest.mark.slow)])
def test_forked_processes_give_the_same_report(max_n: str) -> None:
    """Words run beside the proof: the prover runs those of up to 8 symbols."""
    command = [sys.executable, "-m", "hardsim", "check", "formulas/networks/flipflop.spec", "--max-n", max_n]
    command += ["--samples", "10", "--json", "-", "--workers"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    one, two = (
        subprocess.run([*command, count], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE)
        for count in "12"
    )
    assert json.loads(one.stdout)["results"]
    assert (two.stdout, two.returncode) == (one.stdout, one.returncode)
