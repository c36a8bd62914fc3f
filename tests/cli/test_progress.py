"""Tests of messages before and during a run: its time, its rate, and the results so far."""

import io
import re
import time
from bisect import bisect_right
from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate
from math import exp
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.campaign.check import requested
from hardsim.cli.drawn_bar import STALE, TimeLeft, drawn_bar
from hardsim.cli.estimate import Bar, Pace, WordsInOrder, bar, duration, words_bar
from hardsim.targets.external import judging
from hardsim.targets.inputs.network import of_network
from tests.cli.conftest import Cli
from tests.support.check import CheckOptions, ModelOptions, Progress, Subject, read_input
from tests.support.external import mean_of_a
from tests.support.mistakes import raised
from tests.support.subjects import known

FORMULAS = Path(__file__).parents[2] / "formulas"


def opened(name: str) -> Subject:
    return read_input(str(FORMULAS / name)).compile(ModelOptions("temperature"))


@pytest.mark.parametrize("name", ["since.ltl", "flipflop.ahat.json", "dyck1.srasp"])
def test_words_come_in_the_order_of_their_length(name: str) -> None:
    subject, options = opened(name), CheckOptions(max_n=30)
    words, before = WordsInOrder(subject, options), 0
    for n in range(1, 31):
        number = requested(subject, options, n)
        assert words.length(before) == n
        assert words.length(before + number / 4) == n + 1 / 4
        assert words.place(n, 1) == before + 1
        before += number
        assert words.place(n, number) == words.place(n, number + 7) == before


def test_words_that_are_searched_are_in_no_order() -> None:
    """Up to length 8 the few words are all tried; longer lengths are searched, the longest first."""
    made = of_network(mean_of_a(Fraction(1)), "net", "0" * 64, "by hand").external
    subject = judging(known(made), lambda word: True, "a function")
    assert not WordsInOrder(subject, CheckOptions(max_n=64, exhaustive=256)).ordered
    assert WordsInOrder(subject, CheckOptions(max_n=2)).place(2, 4) == 2 + 4


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


# ---- the time left ----


@pytest.mark.parametrize(
    ("each", "upto", "every", "said"),
    [
        # After a third of the lengths: 33 of them took 198 seconds since the first was done.
        (6.0, 40, 100, "note: x.ltl: 66 more lengths: about 7 minutes. Ctrl-C ends it.\n"),
        (1.0, 50, 50, ""),
    ],
)
def test_a_long_rest_is_announced_once(
    clock: list[float], capsys: pytest.CaptureFixture[str], each: float, upto: int, every: int, said: str
) -> None:
    with bar("x.ltl", "lengths") as shown:
        for done in range(1, upto + 1):
            clock[0] += each
            shown.show(done, every)
    said_of_size = "note: x.ltl: 95 more lengths; how long is not known yet. Ctrl-C ends it.\n" if said else ""
    assert capsys.readouterr().err == said_of_size + said


def test_the_time_left_is_that_of_the_second_pass(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    """A check of a program first measures all words, then runs softmax on them. The first pass says nothing about the
    second."""
    subject, options = opened("dyck1.srasp"), CheckOptions(max_n=40)
    with words_bar(subject, options) as shown:
        total = sum(requested(subject, options, n) for n in range(1, 41))
        for measuring, each in ((True, 0.005), (False, 5.0)):
            done = 0 if measuring else total
            for n in range(1, 41):
                here = requested(subject, options, n)
                done, clock[0] = done + here, clock[0] + here * each
                shown.update(Progress(n, done // 2, total, 0, 0, 0, here, measuring))
            if measuring:
                assert capsys.readouterr().err == ""
    sized, announced = capsys.readouterr().err.splitlines()
    assert "how long is not known yet" in sized
    (words, minutes), *_ = re.findall(r": (\d+) more words: about (\d+) minutes", announced)
    assert 1 / 2 < int(minutes) * 60 / (2 * int(words) * 5.0) < 2


GROWTHS = st.one_of(
    st.builds(lambda constant, power: lambda n: constant + (n / 8) ** power, st.just(0.0), st.floats(0, 3.5)),
    st.builds(lambda constant, power: lambda n: constant + (n / 8) ** power, st.floats(0, 1000), st.floats(0.5, 3.5)),
    st.builds(lambda unit: lambda n: exp(unit * n), st.floats(0.01, 0.3)),
)
"""Seconds of a word by its length: a power of the length, one beside a constant part, or an exponential."""
WORDS = st.sampled_from([lambda n: 1, lambda n: min(2**n, 60) if n <= 16 else 8])
"""Number of words by length: one of each, or as in a check, fewer of the long ones."""


def said_to_left(seconds: list[float], words: list[int], first: int = 1) -> list[float]:
    """Return the announced time left, in parts of the time that is really left, after each length from `first` on;
    a length's words take these seconds together."""
    ends = list(accumulate(words, initial=0))

    def length(place: float) -> float:
        at = min(bisect_right(ends, place) - 1, len(words) - 1)
        return at + 1 + (place - ends[at]) / words[at]

    pace, now, found = Pace(length), 100.0, []
    pace.note(now, 0)
    for n in range(1, len(words)):
        now += seconds[n - 1]
        pace.note(now, ends[n])
        left = pace.left(now, ends[n], ends[-1])
        if left is not None and n >= first:
            found.append(left / sum(seconds[n:]))
    return found


@given(GROWTHS, WORDS, st.integers(40, 400), st.randoms(use_true_random=False))
def test_a_time_left_is_within_a_factor_of_two_or_unknown(
    growth: Callable[[int], float], number: Callable[[int], int], longest: int, random: Random
) -> None:
    words = [number(n) for n in range(1, longest + 1)]
    times = [growth(n) * some * random.uniform(0.95, 1.05) for n, some in enumerate(words, start=1)]
    assert all(1 / 2 < ratio < 2 for ratio in said_to_left(times, words))


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0, 2.0, 3.0, 3.5])
def test_a_time_left_is_known_when_much_is_left(power: float) -> None:
    """Silence is no way out: an estimate comes before half of the time has passed."""
    times, words = [(n / 8) ** power for n in range(1, 201)], [1] * 200
    half = bisect_right(list(accumulate(times)), sum(times) / 2)
    assert len(said_to_left(times, words)) > len(said_to_left(times, words, half))


@given(st.floats(0, 3.5), st.integers(40, 400), st.floats(0.05, 0.9), WORDS)
def test_a_step_that_was_seen_is_not_taken_for_growth(
    power: float, longest: int, place: float, number: Callable[[int], int]
) -> None:
    """From some length on words take three times as long. That cannot be foreseen; it is seen when the lengths beyond
    have taken a sixteenth of the time so far."""
    words, step = [number(n) for n in range(1, longest + 1)], round(place * longest)
    times = [(n / 8) ** power * some * (3 if n > step else 1) for n, some in enumerate(words, start=1)]
    ends = list(accumulate(times))
    seen = next((n for n in range(step + 1, longest) if ends[n - 1] - ends[step - 1] >= ends[n - 1] / 16), longest)
    assert all(1 / 2 < ratio < 2 for ratio in said_to_left(times, words, seen))


def test_a_task_that_stands_still_has_no_time_left() -> None:
    pace = Pace()
    for now in range(5):
        pace.note(float(now), 1)
        assert pace.left(5.0, 1, 3) is None


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
        for words in range(100, 461, 10):
            # 100 words were known before; then 10 take a second each time: 540 more take 54, one of which passes here.
            shown.update(Progress(7, words, 1000, 0, 0, 100))
            clock[0] += 1
    assert "length 7, no mismatch so far" in terminal.getvalue()
    last = [line for line in terminal.getvalue().split("\r") if "460/1000" in line][-1]
    assert re.search(r" 460/1000.* 10 words/s .*0:00:53", last)


def test_the_bar_says_nothing_of_a_second_pass_and_little_of_a_time_that_grows(
    monkeypatch: pytest.MonkeyPatch, clock: list[float]
) -> None:
    """While words are measured before the temperature is known, the time of softmax is unknown. So is the time left
    where words take ever longer, in steps."""
    terminal = look(monkeypatch)
    with bar("x.srasp") as shown:

        def update(words: int, seconds: float, measuring: bool) -> None:
            clock[0] += seconds
            shown.update(Progress(7, words, 200, 0, 0, 0, words % 100, measuring))
            if shown._progress is not None:
                shown._progress.refresh()

        for words in range(1, 100):
            update(words, 0.1, True)
        for words in range(101, 121):
            update(words, 0.5 if words < 110 else 5.0 if words < 116 else 20.0, False)
    drawn = [line for line in terminal.getvalue().split("\r") if "/200" in line]
    assert len(drawn) > 50
    assert all("-:--:--" in line for line in drawn)
    assert "length 7, first of two passes" in drawn[0]
    assert "length 7, no mismatch so far" in drawn[-1]


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
        clock[0] += 2
        shown.update(state)
    assert text in terminal.getvalue()


def test_no_bar_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", io.StringIO())
    with bar("x", "heads") as shown:
        assert shown.silent


def test_a_bar_appears_after_a_second_and_goes(monkeypatch: pytest.MonkeyPatch, clock: list[float]) -> None:
    terminal = look(monkeypatch)
    with bar("since.ltl", "heads", "since.ltl: heads proved") as shown:
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


def test_a_time_left_is_not_shown_while_a_part_takes_much_longer_than_those_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    shown = drawn_bar()
    number = shown.add_task("steps", total=10, rate="", since=now[0], end=None)
    (task,), column = shown.tasks, shown.columns[-1]
    assert isinstance(column, TimeLeft)
    assert column.render(task).plain == "-:--:--"
    for done in range(1, 5):
        now[0] += 1
        task.fields.update(since=now[0], end=now[0] + 6)
        shown.update(number, completed=done)
    assert column.render(task).plain == "0:00:06"
    now[0] += 2
    assert column.render(task).plain == "0:00:04"
    now[0] += STALE
    assert column.render(task).plain == "-:--:--"


def test_a_long_task_says_its_size_where_the_time_left_is_not_known(
    monkeypatch: pytest.MonkeyPatch, clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    # A hundredth of the parts in 22 seconds: too little for an estimate, and surely long.
    with bar("x", "words") as shown:
        for done in range(1, 31):
            clock[0] += 1
            shown.show(done, 2000)
            assert ("how long is not known yet" in capsys.readouterr().err) == (done == 22)
    # A task that is nearly done says nothing.
    with bar("y", "words") as shown:
        for done in (1, 18):
            clock[0] += 30
            shown.show(done, 21)
    assert capsys.readouterr().err == ""
