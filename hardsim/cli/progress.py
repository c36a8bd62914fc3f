"""A progress bar on standard error for what takes longer than a second."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hardsim.cli.estimate import duration
from hardsim.report.numbers import count
from hardsim.visible import visible

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

    from hardsim.checking.campaign import Progress

PATIENCE = 1.0
"""Seconds before a bar appears."""
INTERVAL = 0.1
"""Seconds between two updates of the bar."""
RECENT = 30.0
"""Seconds over which the rate is taken: long words are slower than short ones."""


class Bar:
    """Shows how far a check is, once it has lasted a second and if standard error is a terminal."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._started = self._shown = time.monotonic()
        self._seen: deque[tuple[float, int]] = deque()
        self._progress: RichProgress | None = None
        self._task: TaskID | None = None

    def update(self, state: Progress) -> None:
        """Called after every word or shard."""
        now = time.monotonic()
        if not self._seen:
            self._seen.append((self._started, state.before))
        if now - self._shown < INTERVAL:
            return
        self._seen.append((now, state.done))
        while len(self._seen) > 2 and now - self._seen[0][0] > RECENT:
            self._seen.popleft()
        self._shown = now
        if now - self._started < PATIENCE:
            return
        if self._progress is None or self._task is None:
            self._progress = _bar()
            self._progress.start()
            self._task = self._progress.add_task(visible(self.name), total=state.total)
        text = f"length {state.n}, {verdict(state)}, {pace(self._seen, state.total - state.done)}"
        self._progress.update(self._task, completed=state.done, total=state.total, description=text)

    def stop(self) -> None:
        """Remove the bar."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None


def _bar() -> RichProgress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as RichProgress

    return RichProgress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        console=Console(file=sys.stderr, markup=False, emoji=False, highlight=False),
        transient=True,
    )


def verdict(state: Progress) -> str:
    """What was found until now."""
    found = "no mismatch so far" if not state.mismatches else f"{count(state.mismatches)} mismatches"
    return found + (f", {count(state.undecided)} undecided" if state.undecided else "")


def pace(seen: Sequence[tuple[float, int]], left: int) -> str:
    """Words a second between the first and the last of some moments (seconds, words done), and the time left."""
    seconds, words = seen[-1][0] - seen[0][0], seen[-1][1] - seen[0][1]
    if not words or seconds <= 0:
        return "no word yet"
    rate = words / seconds
    shown = f"{rate:.1f}" if rate < 10 else f"{round(rate):,}"
    return f"{shown} words/s, {duration(left / rate)} left"


@contextmanager
def bar(name: str) -> Iterator[Bar | None]:
    """A bar for one check, or None where nobody is looking."""
    if not sys.stderr.isatty():
        yield None
        return
    shown = Bar(name)
    try:
        yield shown
    finally:
        shown.stop()
