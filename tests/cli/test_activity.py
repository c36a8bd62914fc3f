"""Tests of the line that says what a silent command does: only on a terminal, hidden by whatever is printed."""

import io
import re
import threading
import time
from contextlib import redirect_stderr
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from hardsim.cli import activity, streams
from hardsim.cli.estimate import Bar
from hardsim.visible import OBEYED
from tests.cli.conftest import Cli
from tests.support.clusters import PATIENCE


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Standard error as a terminal, on which the line appears at once."""
    stream = Terminal()
    monkeypatch.setattr(activity, "WAIT", 0.0)
    monkeypatch.setattr(activity, "INTERVAL", 0.001)
    return stream


def drawn(stream: Terminal, text: str, after: int = 0) -> bool:
    """Wait for a text on a stream."""
    end = time.monotonic() + PATIENCE
    while text not in stream.getvalue()[after:] and time.monotonic() < end:
        time.sleep(0.001)
    return text in stream.getvalue()[after:]


@given(st.text(max_size=60), st.floats(0, 1e6), st.integers(0, 200))
def test_the_line_fits_and_drives_no_terminal(label: str, seconds: float, width: int) -> None:
    found = activity.line_of(label, seconds, width)
    least = cell_len(activity.line_of("", seconds, 0))
    assert cell_len(found) <= max(width, least)
    assert not OBEYED.search(found)
    assert found.count("━") >= activity.BLOCK


def test_the_clock_counts_hours_minutes_and_seconds() -> None:
    assert activity.line_of("x", 3_725.9, 80).endswith(" 1:02:05")


def test_the_line_says_what_is_done_and_is_erased_by_what_is_printed(terminal: Terminal) -> None:
    with redirect_stderr(terminal), activity.alive("first"):
        assert drawn(terminal, "first ")
        activity.doing("second")
        assert drawn(terminal, "second ")
        activity.hush(quiet=True)  # so that nothing is drawn between the two
        streams.say("a message")
        activity.hush(quiet=False)
        assert re.search(r"0:00:\d\d *\r +\ra message\n", terminal.getvalue())
        assert drawn(terminal, "second ", after=terminal.getvalue().index("a message"))
    assert re.search(r"0:00:\d\d *\r +\r$", terminal.getvalue())
    end = terminal.getvalue()
    with redirect_stderr(terminal):
        streams.say("later")
    assert terminal.getvalue() == f"{end}later\n"


def test_a_bar_takes_the_place_of_the_line(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardsim.cli.estimate.WATCHED", 0.0)
    monkeypatch.setattr("hardsim.cli.estimate.INTERVAL", 0.0)
    with redirect_stderr(terminal), activity.alive("a line"):
        assert drawn(terminal, "a line")
        shown = Bar("x.ltl", "words", "a bar")
        shown.show(1, 10)
        assert activity._State.bars == 1
        size = len(terminal.getvalue())
        shown.show(2, 10)
        assert not activity._State.cells
        assert "a line" not in terminal.getvalue()[size:]
        shown.close()
        shown.close()  # once is enough
        assert drawn(terminal, "a line", after=size)


def test_nothing_is_drawn_where_there_is_no_terminal(
    hardsim: Cli, since: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activity, "WAIT", 0.0)
    before = threading.active_count()
    with activity.alive("x"):
        assert threading.active_count() == before
    hardsim("show", since).clean()
