"""Tests of messages before and during a run: its time, its rate, and the results so far."""

import io
import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from hardsim.campaign.check import count_requested
from hardsim.campaign.search import Start
from hardsim.campaign.workers import Shard
from hardsim.cli import estimate
from hardsim.cli.estimate import (
    Bar,
    Cost,
    announce,
    announce_certificate,
    announce_proof,
    bar,
    bound_cost,
    check_cost,
    duration,
)
from hardsim.measuring.bound import BoundOptions, bound_subject
from hardsim.targets.external import judging
from hardsim.targets.opening import of_network
from tests.cli.conftest import Cli
from tests.support.check import CheckOptions, External, ModelOptions, Progress, Subject, Tally, read_input
from tests.support.external import mean_of_a
from tests.support.language import InputError, parse_regex
from tests.support.mistakes import raised

FORMULAS = Path(__file__).parents[2] / "formulas"


def since(regime: str = "temperature") -> Subject:
    return opened("since.ltl", regime)


def opened(name: str, regime: str = "temperature") -> Subject:
    return read_input(str(FORMULAS / name)).compile(ModelOptions(regime))


class Clock:
    """A clock that only work moves: by `fixed` seconds a call, `word` for each word, and `square` times its length
    squared.
    """

    def __init__(self, fixed: float, word: float, square: float) -> None:
        self.now = 0.0
        self.fixed = fixed
        self.word = word
        self.square = square

    def __call__(self) -> float:
        return self.now

    def work(self, words: Sequence[tuple[str, ...]]) -> None:
        """Advance the clock by the time of some words of one length."""
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

    found = estimate._cost(subject, options, clock.work)
    expected = sum(fixed + (upto(n) - upto(n - 1)) * (word + square * n * n) for n in range(1, options.max_n + 1))
    assert found is not None
    assert found.words == upto(60)
    assert found.seconds() == pytest.approx(expected, rel=0.1)
    assert found.seconds(4) == pytest.approx(found.seconds() / 4)


def test_what_was_done_before_does_not_count() -> None:
    cost = Cost(((10, 1.0), (100, 50.0)), 8)
    assert cost.seconds() == 51
    assert cost.seconds(1, 5) == 50.5
    assert cost.seconds(1, 10) == 50
    assert cost.seconds(2, 60) == 12.5
    assert cost.seconds(1, 110) == cost.seconds(1, 500) == 0


def test_only_long_runs_are_announced(capsys: pytest.CaptureFixture[str]) -> None:
    cost = Cost(((2_000, 300.0),), 8)
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


def test_what_is_quick_is_not_even_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    def timed(*_: object) -> float:
        raise AssertionError("timed")

    monkeypatch.setattr("hardsim.cli.estimate.seconds_of", timed)
    for name in ("since.ltl", "flipflop.ahat.json"):
        subject = opened(name)
        assert check_cost(subject, CheckOptions(max_n=3)) is None
        # A search for temperatures runs each word at many of them.
        assert bound_cost(bound_subject(subject), CheckOptions(max_n=3), BoundOptions(search=False)) is None
        assert bound_cost(bound_subject(subject), CheckOptions(max_n=1), BoundOptions()) is None
        with pytest.raises(AssertionError, match="timed"):
            bound_cost(bound_subject(subject), CheckOptions(max_n=8), BoundOptions())


@pytest.mark.slow
def test_models_programs_and_bound_reports_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each reading of the clock is 3 seconds later, so that a word takes 3 seconds whatever its length."""
    readings = count(step=3)
    monkeypatch.setattr("hardsim.cli.estimate.time.perf_counter", lambda: next(readings))
    for name in ("flipflop.ahat.json", "dyck1.srasp"):
        options, subject = CheckOptions(max_n=400, exhaustive=0, samples=400), opened(name)
        expected = 3 * count_requested(subject, options)
        assert expected > 3 * 400 * 100
        for found in (check_cost(subject, options), bound_cost(bound_subject(subject), options, BoundOptions())):
            assert found is not None
            assert found.seconds() == pytest.approx(expected)


ROOM = 400


def external(expression: str | None = None) -> External:
    """Return the external network of the share of a's, expected above 0 on all words, or on those of an expression."""
    made = of_network(mean_of_a(Fraction(1)), "net", "0" * 64, "by hand").external
    assert made is not None
    if expression is None:
        return judging(made, lambda word: True, "a function")
    domain = parse_regex(f"alphabet: a b\n{expression}\n", "<language>").automaton
    return replace(judging(made, lambda word: domain.accepts(word) or None, "a function"), domain=domain)


def counted(monkeypatch: pytest.MonkeyPatch, subject: External, seconds: Callable[[int], float]) -> None:
    """Replace the clock by one that advances by `seconds(n)` for each word of length n with an expected answer."""
    now = 0.0

    def judge(*_: object) -> Callable[[Shard], tuple[None, Tally]]:
        def run(shard: Shard) -> tuple[None, Tally]:
            nonlocal now
            words = len([raw for raw in subject.oracles(shard.words) or [] if raw])
            if isinstance(shard.known, Start):
                words = shard.known.budget
            now += words * seconds(shard.n)
            return None, Tally(shard.n, words)

        return run

    monkeypatch.setattr("hardsim.campaign.check.network_judge", judge)
    monkeypatch.setattr("hardsim.cli.estimate.time.perf_counter", lambda: now)


def test_external_networks_are_timed_on_words_that_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each even length has one word with an expected answer, which no random draw would find."""
    subject, options = external("(ab)*"), CheckOptions(max_n=ROOM)
    counted(monkeypatch, subject, lambda n: 3)
    found = check_cost(subject, options)
    assert found is not None
    assert (found.words, found.max_n) == (ROOM // 2, ROOM)
    assert found.seconds() == pytest.approx(3 * ROOM // 2)


def test_searches_are_timed_by_searching(monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to length 8 the few words are all tried; the 56 longer lengths have 400 words each, of n^2/1000 seconds."""
    subject, options = external(), CheckOptions(max_n=64, exhaustive=256)
    counted(monkeypatch, subject, lambda n: n * n / 1000)
    found = check_cost(subject, options)
    assert found is not None
    assert (found.words, found.max_n) == (510 + 56 * 400, 64)
    assert found.seconds() == pytest.approx(sum(400 * n * n / 1000 for n in range(9, 65)))
    # The longest length is searched first.
    assert found.seconds() - found.seconds(1, 510 + 400) == pytest.approx(400 * 64 * 64 / 1000)


def test_a_quick_search_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = external()
    counted(monkeypatch, subject, lambda n: 1000)
    assert check_cost(subject, CheckOptions(max_n=12, exhaustive=256, samples=40)) is None


def test_a_search_that_fails_has_no_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> Callable[[Shard], None]:
        def run(shard: Shard) -> None:
            raise InputError("no output may win")

        return run

    monkeypatch.setattr("hardsim.campaign.check.network_judge", fails)
    assert check_cost(external(), CheckOptions(max_n=64)) is None


def test_words_of_a_language_stand_for_those_of_a_length_that_has_none() -> None:
    odd = estimate._some_words(external("(ab)*"), 9, 5)
    assert odd == [tuple("abababab")]
    # If the language has no words this short, random words are used.
    assert {len(word) for word in estimate._some_words(external("(ab){8}"), 9, 5)} == {9}


def test_a_large_network_is_timed_on_fewer_words(monkeypatch: pytest.MonkeyPatch) -> None:
    subject, options = external(), CheckOptions(max_n=6)
    words = count_requested(subject, options)
    assert estimate._easy(subject, options, 6 * words)
    monkeypatch.setattr("hardsim.campaign.check.QUICK_PRODUCTS", 6 * words * subject.facts.parameters - 1)
    assert not estimate._easy(subject, options, 6 * words)
    assert estimate._easy(since(), options, 6 * words)  # a compiled network is small


@pytest.mark.slow
def test_the_search_for_temperatures_makes_few_words_long(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = count(step=3)
    monkeypatch.setattr("hardsim.cli.estimate.time.perf_counter", lambda: next(readings))
    options, subject = CheckOptions(max_n=8), opened("dyck1.srasp")
    found = bound_cost(bound_subject(subject), options, BoundOptions())
    assert check_cost(subject, options) is None
    assert found is not None
    assert found.seconds() == pytest.approx(3 * sum(2**n for n in range(1, 9)))


def test_a_program_that_leaves_its_range_has_no_estimate() -> None:
    def leaves(*_: Any) -> None:
        from hardsim.errors import OutOfRange

        raise OutOfRange("too large")

    assert estimate._words_cost(opened("flipflop.ahat.json"), CheckOptions(max_n=64, exhaustive=0), leaves) is None


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


# ---- proofs ----


def announced(announce: Callable[..., None], capsys: pytest.CaptureFixture[str], *arguments: Any) -> str:
    """Return what is printed before a proof."""
    announce(*arguments)
    return capsys.readouterr().err


def test_a_proof_that_takes_over_a_minute_is_announced(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    requested: list[tuple[int, int]] = []

    def timed(subject: Subject, min_n: int, max_n: int) -> float:
        requested.append((min_n, max_n))
        return 0.5 * max_n / 256  # linear in a length

    monkeypatch.setattr(estimate, "timed_proof", timed)
    subject = since()
    # 4,096 is 16 times 256: 8 seconds.
    assert announced(announce_proof, capsys, subject, 4096, 4096) == ""
    assert requested == [(1, 32), (128, 128), (256, 256)]
    # 65,536 is 256 times 256: 128 seconds.
    assert "a proof for 65,536 positions takes about 2 minutes. Ctrl-C ends it without a verdict" in announced(
        announce_proof, capsys, subject, 65_536, 65_536
    )
    # All lengths to 1,400: 980,700 positions at 1/16 s for 528, which is 116 s, and 2.7 s for the longest.
    assert "a proof for 980,700 positions takes about 119 seconds" in announced(
        announce_proof, capsys, subject, 1, 1400
    )
    # In a causal regime the longest length covers all: 1,400 positions.
    assert announced(announce_proof, capsys, since("causal-position"), 1, 1400) == ""


def test_short_proofs_are_not_estimated(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(estimate, "timed_proof", Mock(side_effect=AssertionError("timed")))
    for first, last in ((1, 64), (1, 256), (999, 999)):
        assert announced(announce_proof, capsys, since(), first, last) == ""
    # Too long: refused later, with the reason.
    assert announced(announce_proof, capsys, since(), 1, 90_000) == ""


@pytest.mark.slow
def test_the_estimate_is_of_the_size_of_what_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock counts calls of functions, so that other load on the machine does not matter."""
    calls = count()
    now = 0

    def tick(_frame: object, event: str, _argument: object) -> None:
        nonlocal now
        if event in ("call", "c_call"):
            now = next(calls)

    monkeypatch.setattr("hardsim.cli.estimate.time.perf_counter", lambda: now)
    subject, before = since(), sys.getprofile()
    sys.setprofile(tick)
    try:
        found, foretold = estimate.timed_proof(subject, 1500, 1500), estimate.proof_seconds(subject, 1500, 1, 1500)
    finally:
        sys.setprofile(before)
    # A rough estimate, from lengths to 256.
    assert found > 10_000
    assert found / 2 < foretold < found * 2


def test_a_certificate_that_takes_long_is_announced(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    subject = since()
    clock = [0.0]

    def read() -> float:
        clock[0] += 1.0
        return clock[0]

    monkeypatch.setattr(time, "perf_counter", read)
    # One second for the 1,496 pairs to 16: 60 s for the 89,440 to 64 is no more than a minute, 93 s for those to 74 is.
    assert announced(announce_certificate, capsys, subject, 1, 32) == ""
    assert announced(announce_certificate, capsys, subject, 1, 64) == ""
    assert "the certificate takes about 92 seconds to make" in announced(announce_certificate, capsys, subject, 1, 74)
    # 65,536 pairs.
    assert announced(announce_certificate, capsys, subject, 256, 256) == ""


# ---- the bar ----


class Terminal(io.StringIO):
    """A standard error that is a terminal."""

    def isatty(self) -> bool:
        return True


def look(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Replace standard error by a terminal with 100 columns, and return it."""
    shown = Terminal()
    monkeypatch.setattr("sys.stderr", shown)
    monkeypatch.setenv("COLUMNS", "100")
    return shown


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that stands still unless a test advances it."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_the_bar_says_rate_time_left_and_verdict(monkeypatch: pytest.MonkeyPatch, clock: list[float]) -> None:
    terminal = look(monkeypatch)
    with bar("since.ltl") as shown:
        assert shown is not None
        for words in (100, 150, 400, 460):
            # 100 words were known before; then 2 seconds for 50, for 250 and for 60: 540 more take about 10.
            shown.update(Progress(7, words, 1000, 0, 0, 100))
            clock[0] += 2
    assert "length 7, no mismatch so far" in terminal.getvalue()
    last = [line for line in terminal.getvalue().split("\r") if "460/1000" in line][-1]
    assert re.search(r" 460/1000.* 30 words/s .*0:00:18", last)


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (Progress(3, 5, 9, 0), "length 3, no mismatch so far "),
        (Progress(3, 5, 9, 2, 1), "length 3, 2 mismatches, 1 undecided "),
    ],
)
def test_the_bar_of_a_check_says_what_was_found(
    monkeypatch: pytest.MonkeyPatch, clock: list[float], state: Progress, text: str
) -> None:
    terminal = look(monkeypatch)
    with bar("since.ltl") as shown:
        assert shown is not None
        clock[0] += 2
        shown.update(state)
    assert text in terminal.getvalue()


def test_no_bar_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", io.StringIO())
    with bar("x", "heads") as shown:
        assert shown is None


def test_a_bar_appears_after_a_second_and_goes(monkeypatch: pytest.MonkeyPatch, clock: list[float]) -> None:
    terminal = look(monkeypatch)
    with bar("since.ltl: heads proved", "heads") as shown:
        assert shown is not None
        shown.show(1, 3)
        assert terminal.getvalue() == ""
        clock[0] += 1.5
        shown.show(2, 3)
        text = terminal.getvalue()
    assert "since.ltl: heads proved" in text
    assert "2/3" in text
    # The bar is transient: the last output clears its line.
    assert terminal.getvalue() != text


def test_a_bar_goes_when_a_proof_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    look(monkeypatch)
    stopped: list[Bar] = []
    monkeypatch.setattr(Bar, "close", lambda self: stopped.append(self))

    def proof() -> None:
        with bar("since.ltl", "heads"):
            raise KeyboardInterrupt

    raised(KeyboardInterrupt, proof)
    assert len(stopped) == 1


# ---- what has no use ----


@pytest.mark.sweep(every=4)
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
    found.exits(0).says(f"note: {unused}: not used by `hardsim {command}`; ")
    assert [note["message"].startswith(f"{unused}: not used; ") for note in found.json["notes"]] == [True]
    plain = hardsim(command, since, *(options[:1] if options[0] == "--critical" else ()), "--max-n", "2", "--json", "-")
    assert plain.json["notes"] == []


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize(("engine", "verdict_"), [("auto", "CERTIFIED"), ("ball", "CERTIFIED"), ("mpmath", "OBSERVED")])
def test_a_bound_report_in_another_arithmetic(hardsim: Cli, since: Path, engine: str, verdict_: str) -> None:
    found = hardsim("bound", since, "--max-n", "3", "--engine", engine, "--json", "-")
    assert [one["verdict"] for one in found.json["results"]] == [verdict_]
    assert hardsim("bound", since, "--engine", "abacus").code == 2
