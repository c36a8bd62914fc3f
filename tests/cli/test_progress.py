"""What is said before and during a run: how long it takes, how fast it is, what was found."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hardsim.checking.attention import AttentionOptions
from hardsim.checking.bound import BoundOptions
from hardsim.checking.campaign import CheckOptions, Progress, count_requested
from hardsim.checking.open import read_formula, read_input
from hardsim.checking.sources import attention_bounds
from hardsim.checking.subject import ModelOptions, Subject
from hardsim.cli import estimate
from hardsim.cli.estimate import Cost, announce, attention_cost, bound_cost, duration, formula_cost
from hardsim.cli.progress import pace, verdict
from tests.cli.conftest import Cli

FORMULAS = Path(__file__).parents[2] / "formulas"


def since() -> Subject:
    return read_formula(str(FORMULAS / "since.ltl")).compile(ModelOptions())


class Clock:
    """A clock that only work moves: so many seconds for any words, and so many for each, by length."""

    def __init__(self, fixed: float, word: float, square: float) -> None:
        self.now = 0.0
        self.fixed = fixed
        self.word = word
        self.square = square

    def __call__(self) -> float:
        return self.now

    def work(self, words: Sequence[tuple[str, ...]]) -> None:
        """Run some words of one length."""
        self.now += self.fixed + len(words) * (self.word + self.square * len(words[0]) ** 2)


@pytest.mark.parametrize(
    ("fixed", "word", "square"), [(0, 1e-3, 1e-5), (0.1, 1e-2, 0), (0.5, 1e-5, 2e-5), (0, 3.0, 0.01)]
)
def test_an_estimate_is_what_the_run_takes_where_attention_costs_the_square(
    monkeypatch: pytest.MonkeyPatch, fixed: float, word: float, square: float
) -> None:
    clock = Clock(fixed, word, square)
    monkeypatch.setattr("hardsim.cli.estimate.time.perf_counter", clock)
    options, subject = CheckOptions(max_n=60), since()

    def upto(n: int) -> int:
        return count_requested(subject, CheckOptions(max_n=n))

    found = estimate._cost(subject.file.alphabet, 60, upto, lambda n: n, clock.work, lambda n: 1)
    wanted = sum(fixed + (upto(n) - upto(n - 1)) * (word + square * n * n) for n in range(1, options.max_n + 1))
    assert found is not None
    assert found.words == upto(60)
    assert found.seconds() == pytest.approx(wanted, rel=0.1)
    assert found.seconds(4) == pytest.approx(found.seconds() / 4)


def test_what_was_done_before_does_not_count() -> None:
    cost = Cost(((2, 10, 1.0), (8, 100, 50.0)), 8)
    assert cost.seconds() == 51
    assert cost.seconds(1, 5) == 50.5
    assert cost.seconds(1, 10) == 50
    assert cost.seconds(2, 60) == 12.5
    assert cost.seconds(1, 110) == cost.seconds(1, 500) == 0


def test_only_long_runs_are_announced(capsys: pytest.CaptureFixture[str]) -> None:
    cost = Cost(((8, 2_000, 300.0),), 8)
    announce("a.ltl", None, 1)
    announce("a.ltl", cost, 6)
    announce("a.ltl", cost, 1, 1_700)
    assert capsys.readouterr().err == ""
    announce("a.ltl", cost, 2)
    assert (
        "note: a.ltl: 2,000 words of up to 8 symbols: about 2 minutes on 2 processes. Ctrl-C" in capsys.readouterr().err
    )
    announce("a.ltl", cost, 1, 1_000)
    assert "note: a.ltl: 1,000 more words of up to 8 symbols: about 2 minutes. " in capsys.readouterr().err


def test_what_is_quick_is_not_even_timed() -> None:
    given: Any = read_input(str(FORMULAS / "flipflop.ahat.json"))
    options = CheckOptions(max_n=3)
    assert formula_cost(since(), options) is None
    assert attention_cost(given.subject, options, AttentionOptions()) is None
    assert bound_cost(attention_bounds(given.subject), options, BoundOptions()) is None


def test_models_programs_and_bound_reports_are_timed() -> None:
    for name in ("flipflop.ahat.json", "dyck1.srasp"):
        given: Any = read_input(str(FORMULAS / name))
        options = CheckOptions(max_n=400, exhaustive=0, samples=400)
        found = attention_cost(given.subject, options, AttentionOptions())
        assert found is not None
        assert found.seconds() > 60, "160,000 words of up to 400 symbols take a while"
        report = bound_cost(attention_bounds(given.subject), options, BoundOptions())
        assert report is not None
        assert report.seconds() > 60


def test_a_program_that_leaves_its_range_has_no_estimate() -> None:
    given: Any = read_input(str(FORMULAS / "flipflop.ahat.json"))

    def leaves(*_: Any) -> None:
        from hardsim.errors import OutOfRange

        raise OutOfRange("too large")

    options = CheckOptions(max_n=64, exhaustive=0)
    assert estimate._attention_cost(given.subject, options, leaves) is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, "0 seconds"),
        (61, "61 seconds"),
        (119, "119 seconds"),
        (121, "2 minutes"),
        (9_000, "2 hours"),
        (2e6, "23 days"),
    ],
)
def test_durations_have_one_figure(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_the_bar_says_rate_time_left_and_verdict() -> None:
    # 300 words in 4 seconds are 75 a second, so 900 more take 12 seconds.
    assert pace(deque([(10.0, 100), (12.0, 150), (14.0, 400)]), 900) == "75 words/s, 12 seconds left"
    assert pace(deque([(0.0, 0), (8.0, 4)]), 90) == "0.5 words/s, 3 minutes left"
    assert pace(deque([(0.0, 0)]), 90) == "no word yet"
    assert verdict(Progress(3, 5, 9, 0)) == "no mismatch so far"
    assert verdict(Progress(3, 5, 9, 2, 1)) == "2 mismatches, 1 undecided"


@pytest.mark.parametrize(
    ("command", "options", "unused"),
    [
        ("prove", ("--workers", "2", "--dps", "40", "--engine", "ball"), "--engine, --dps, --workers"),
        ("bound", ("--dps", "40", "--max-n", "2"), "--dps"),
        ("bound", ("--critical", "--workers", "2", "--engine", "ball", "--max-n", "2"), "--engine, --workers"),
    ],
)
def test_what_a_command_has_no_use_for_is_a_remark(
    hardsim: Cli, since: Path, command: str, options: tuple[str, ...], unused: str
) -> None:
    found = hardsim(command, since, *options, "--json", "-")
    assert found.code == 0
    assert f"note: {unused}: not used by `hardsim {command}`; " in found.err
    assert [note["message"].startswith(f"{unused}: not used; ") for note in found.json["notes"]] == [True]
    plain = hardsim(command, since, *(options[:1] if options[0] == "--critical" else ()), "--max-n", "2", "--json", "-")
    assert plain.json["notes"] == []


@pytest.mark.parametrize(("engine", "verdict_"), [("auto", "CERTIFIED"), ("ball", "CERTIFIED"), ("mpmath", "OBSERVED")])
def test_a_bound_report_in_another_arithmetic(hardsim: Cli, since: Path, engine: str, verdict_: str) -> None:
    found = hardsim("bound", since, "--max-n", "3", "--engine", engine, "--json", "-")
    assert [one["verdict"] for one in found.json["results"]] == [verdict_]
    assert hardsim("bound", since, "--engine", "abacus").code == 2
