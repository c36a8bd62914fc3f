"""The output of `hardsim watch`: on a terminal a screen that each check draws again, elsewhere line by line."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console

from hardsim.campaign.result import Verdict
from hardsim.cli.streams import say
from hardsim.lazy_dataclass import dataclass
from hardsim.report.check import STYLES
from hardsim.report.screen import Screen

FRAME = 4
"""Number of lines of the screen besides the report: the header, an empty line, the footer, and the cursor's."""
LEAST = 6
"""Least number of lines of a report that are shown on the smallest screen."""


@dataclass(frozen=True)
class CheckOutput:
    """A step of a check that has ended, with its exit code and its output."""

    number: int
    """Number of the check, from 1."""
    code: int
    out: str
    err: str


class ScreenView:
    """One screen, drawn again by each check. Of a report that is longer, the part with the verdict is shown: its
    beginning, or of several files its end, where the failures are."""

    def __init__(self, several: bool) -> None:
        self._several = several
        self._screen = Screen()
        self._title = ""

    def begin(self, number: int, changed: str, step: str) -> None:
        """Clear the screen."""
        clock = time.strftime("%H:%M:%S")
        self._title = f"{clock}  {changed} changed" if changed else clock
        self._draw([], f"{step} ...")

    def show(self, done: CheckOutput, following: str) -> None:
        """Show the output of a step, the report before notes and errors."""
        lines = [*done.out.splitlines(), *done.err.splitlines()]
        self._draw(lines, f"{following} ..." if following else "watching; Ctrl-C ends it")

    def _draw(self, lines: Sequence[str], footer: str) -> None:
        size = shutil.get_terminal_size()
        Console().clear()
        self._screen.line((self._title, "dim"), folds=False)
        for line in cropped(lines, size.columns, max(LEAST, size.lines - FRAME), self._several):
            verdict, blank, rest = line.partition("  ")
            if verdict in {*Verdict}:
                self._screen.line((verdict, STYLES[Verdict(verdict)]), blank + rest, folds=False)
            else:
                self._screen.raw(line)
        self._screen.raw()
        self._screen.line((footer, "dim"), folds=False)
        sys.stdout.flush()


def cropped(lines: Sequence[str], width: int, room: int, last: bool) -> list[str]:
    """Return the first lines, or the last ones, that fit into `room` lines of a terminal, and a line that counts the
    others, if there are any."""
    heights = [max(1, -(-cell_len(line) // max(1, width))) for line in lines]
    if sum(heights) <= room:
        return [*lines]
    order = range(len(lines) - 1, -1, -1) if last else range(len(lines))
    kept, left = list[int](), room - 1
    for place in order:
        left -= heights[place]
        if left < 0:
            break
        kept.append(place)
    note = f"({len(lines) - len(kept)} more lines: `hardsim check` prints all)"
    found = [lines[place] for place in sorted(kept)]
    return [note, *found] if last else [*found, note]


class LineView:
    """The output of each check after the output of the one before; with `documents`, one JSON document a line."""

    def __init__(self, documents: bool) -> None:
        self._documents = documents
        self._screen = Screen(enabled=not documents)

    def begin(self, number: int, changed: str, step: str) -> None:
        """Print a line with the number of the check, and the files that changed."""
        self._screen.raw(f"check {number}: {changed} changed" if changed else f"check {number}")
        sys.stdout.flush()

    def show(self, done: CheckOutput, following: str) -> None:
        """Print the output."""
        if done.err:
            say(*done.err.splitlines())
        if done.out and self._documents:
            from msgspec.json import format

            sys.stdout.write(format(done.out, indent=-1) + "\n")
        elif done.out:
            self._screen.text(done.out.rstrip("\n"))
        sys.stdout.flush()
