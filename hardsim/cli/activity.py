"""A sign of life on a terminal: after a second without output, a line says what is being done and for how long.

Commands show bars of their own where work has parts (`estimate.Bar`). Everything else (reading, compiling, one long
step, writing a document) has this line, so that no command is silent for longer than a second. A thread draws the line
on standard error; whoever prints, hides it first. It never appears where standard error is not a terminal.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from shutil import get_terminal_size
from typing import TextIO

from hardsim.visible import visible

WAIT = 1.0
"""Seconds without output after which the line appears."""
INTERVAL = 0.1
"""Seconds between two drawings of the line."""
WIDTH, BLOCK = 20, 5
"""Number of cells of the moving bar, and of the block that moves in it."""


class _State:
    """State of this process: `label` says what is done, `quiet` suppresses the line, `bars` counts what hides it."""

    lock = threading.Lock()
    label = ""
    quiet = False
    bars = 0
    started = heard = 0.0
    """Times of the start of the command, and of the last output."""
    cells = 0
    """Width of the line on the screen; 0 if none is there."""
    stream: TextIO | None = None
    """The terminal; None where the line never appears."""
    thread: threading.Thread | None = None
    """The thread that draws, until `ended` is set."""
    ended = threading.Event()


def line_of(label: str, seconds: float, width: int) -> str:
    """Return the line for a label after some seconds, at most `width` cells wide."""
    from rich.cells import cell_len, set_cell_size  # here, since most commands end before they need it

    place = int(seconds / INTERVAL) % (2 * (WIDTH - BLOCK))
    start = min(place, 2 * (WIDTH - BLOCK) - place)  # there and back
    bar = " " * start + "━" * BLOCK + " " * (WIDTH - BLOCK - start)
    minutes, rest = divmod(int(seconds), 60)
    clock = f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
    text, room = visible(label), max(0, width - WIDTH - len(clock) - 2)
    return f"{text if cell_len(text) <= room else set_cell_size(text, room)} {bar} {clock}"


@contextmanager
def alive(label: str) -> Iterator[None]:
    """Draw the line during the `with` block whenever nothing is printed for a while."""
    stream = sys.stderr
    try:
        terminal = stream.isatty()
    except (AttributeError, ValueError):  # none, or closed
        terminal = False
    if not terminal:
        yield
        return
    _State.label, _State.cells, _State.bars, _State.stream = label, 0, 0, stream
    _State.started = _State.heard = time.monotonic()
    _begin(stream)
    try:
        yield
    finally:
        _State.ended.set()
        hide()
        _State.stream = None


def _begin(stream: TextIO) -> None:
    _State.ended = threading.Event()
    # A daemon, so that it never keeps the process from ending.
    _State.thread = threading.Thread(target=_draw, args=[stream, _State.ended], daemon=True)
    _State.thread.start()


@contextmanager
def still() -> Iterator[None]:
    """End the thread that draws, and start another one after the `with` block: this process is forked meanwhile."""
    stream, thread = _State.stream, _State.thread
    if stream is None or thread is None:
        yield
        return
    hide()
    _State.ended.set()
    thread.join()
    try:
        yield
    finally:
        _begin(stream)


def _draw(stream: TextIO, ended: threading.Event) -> None:
    while not ended.wait(INTERVAL):
        with _State.lock, suppress(OSError, ValueError):
            now = time.monotonic()
            if ended.is_set() or _State.quiet or _State.bars or now - _State.heard < WAIT:
                continue
            from rich.cells import cell_len  # as in `line_of`

            text = line_of(_State.label, now - _State.started, get_terminal_size().columns - 1)
            # Blanks erase what a longer line has left: a terminal without escape sequences can do that, too.
            width = cell_len(text)
            stream.write(f"\r{text}{' ' * (_State.cells - width)}")
            stream.flush()
            _State.cells = width


def doing(label: str) -> None:
    """Set what the line says from now on."""
    _State.label = label


def restart(label: str) -> None:
    """Set what the line says, and let its clock begin again."""
    _State.label, _State.started = label, time.monotonic()
    hide()


def hush(quiet: bool) -> None:
    """Never draw the line (`quiet`), or draw it again."""
    _State.quiet = quiet


def hide() -> None:
    """Erase the line, because something is about to be printed; it appears again after a while without output."""
    stream = _State.stream
    if stream is None:
        return
    with _State.lock, suppress(OSError, ValueError):
        _State.heard = time.monotonic()
        if _State.cells:
            stream.write(f"\r{' ' * _State.cells}\r")
            stream.flush()
            _State.cells = 0


def hold() -> None:
    """Hide the line until `release`: a bar is shown, or the user types."""
    _State.bars += 1
    hide()


def release() -> None:
    """End a `hold`."""
    _State.bars = max(0, _State.bars - 1)
    hide()
