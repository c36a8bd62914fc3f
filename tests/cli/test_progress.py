"""Tests of messages before and during a run: its time, its rate, and the results so far."""

import io
import re
import time
from fractions import Fraction
from itertools import accumulate
from pathlib import Path

import pytest
from rich.progress import TimeRemainingColumn

from hardsim.campaign.check import requested
from hardsim.cli.drawn_bar import STALE, drawn_bar
from hardsim.cli.estimate import Bar, Pace, bar, cost_of, duration
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
def test_the_cost_of_words_grows_with_the_square_of_their_positions(name: str) -> None:
    subject, options = opened(name), CheckOptions(max_n=30)
    cost, words, whole = cost_of(subject, options), 0, 0
    for n in range(1, 31):
        words += requested(subject, options, n)
        whole += requested(subject, options, n) * subject.positions(n) ** 2
        assert cost(words) == whole
    assert cost(0) == 0
    assert cost(words + 7) == whole  # pinned words come last


def test_words_that_are_searched_cost_the_same() -> None:
    """Up to length 8 the few words are all tried; longer lengths are searched, the longest first."""
    made = of_network(mean_of_a(Fraction(1)), "net", "0" * 64, "by hand").external
    subject = judging(known(made), lambda word: True, "a function")
    assert cost_of(subject, CheckOptions(max_n=64, exhaustive=256))(500) == 500
    assert cost_of(subject, CheckOptions(max_n=2))(6) == 2 + 4 * 4


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
        # After the third length: two of a hundred took 12 seconds.
        (6.0, 5, 100, "note: x.ltl: 97 more lengths: about 10 minutes. Ctrl-C ends it.\n"),
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
    assert capsys.readouterr().err == said


def test_the_rest_of_a_check_is_weighed_by_its_length(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    """The first 3 words cost 1 each, the 4 others 19 each; tables took a minute."""
    with bar("x.ltl", cost=lambda done: min(done, 3) + max(0, done - 3) * 19) as shown:
        clock[0] += 60
        for done in (1, 2, 3):
            shown.update(Progress(1, done, 7, 0))
            clock[0] += 6
    message = "note: x.ltl: 4 more words: about 8 minutes. Ctrl-C stops it and keeps what was found; --max-n, "
    assert capsys.readouterr().err.startswith(message)


@pytest.mark.parametrize("constant", [0.0, 0.03, 1.0, 30.0, 1000.0])
@pytest.mark.parametrize("power", [0.5, 1.0, 1.2, 1.5, 2.0, 2.5])
def test_a_time_left_is_within_a_factor_of_two_or_unknown(constant: float, power: float) -> None:
    """The words of length n really take `constant` + (n/8)^power seconds; their cost is taken to be n^2."""
    pace, clock, said = Pace(), 100.0, 0
    times = [constant + (n / 8) ** power for n in range(1, 401)]
    costs = [float(cost) for cost in accumulate((n * n for n in range(1, 401)), initial=0)]
    for n in range(1, 400):
        clock += times[n - 1]
        pace.note(clock, n, costs.__getitem__)
        left = pace.left(clock, n, 400, costs.__getitem__)
        if left is not None:
            said += 1
            assert 1 / 2 < left / sum(times[n:]) < 2
    assert said


def test_a_task_that_stands_still_has_no_time_left() -> None:
    pace = Pace()
    for now in range(5):
        pace.note(float(now), 1, float)
        assert pace.left(5.0, 1, 9, float) is None


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
    number = shown.add_task("steps", total=10, rate="", since=now[0])
    (task,), column = shown.tasks, shown.columns[-1]
    for done in range(1, 5):
        now[0] += 1
        task.fields["since"] = now[0]
        shown.update(number, completed=done)
    assert isinstance(column, TimeRemainingColumn)
    assert column.render(task).plain == "0:00:06"
    now[0] += STALE + 1
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
