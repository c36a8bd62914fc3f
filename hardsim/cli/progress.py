"""A progress bar on standard error for what takes longer than a second, and a warning for what takes over a minute."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from hardsim.report.numbers import count

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

    from hardsim.checking.campaign import CheckOptions, Progress
    from hardsim.checking.subject import Subject

PATIENCE = 1.0
"""Seconds before a bar appears."""
INTERVAL = 0.1
"""Seconds between two updates of the bar."""
LONG = 60.0
"""Seconds from which a check is announced as long."""
TIMED_WORDS = 3
TIMED_LENGTH = 32
"""The largest length at which words are timed for the estimate; beyond it attention costs the square of the length."""
EASY = 2_000
"""Symbols times words below which nothing is estimated: it cannot take long."""


class Bar:
    """Shows how far a check is, once it has lasted a second and if standard error is a terminal."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._started = self._shown = time.monotonic()
        self._progress: RichProgress | None = None
        self._task: TaskID | None = None

    def update(self, state: Progress) -> None:
        """Called after every word or shard."""
        now = time.monotonic()
        if now - self._started < PATIENCE or now - self._shown < INTERVAL:
            return
        self._shown = now
        if self._progress is None or self._task is None:
            self._progress = _bar()
            self._progress.start()
            self._task = self._progress.add_task(self.name, total=state.total)
        self._progress.update(
            self._task,
            completed=state.done,
            total=state.total,
            description=f"length {state.n}, {count(state.mismatches)} mismatches",
        )

    def stop(self) -> None:
        """Remove the bar."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None


def _bar() -> RichProgress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    return RichProgress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(file=sys.stderr, markup=False, emoji=False, highlight=False),
        transient=True,
    )


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


def announcement(subject: Subject, options: CheckOptions) -> str | None:
    """What to say before a check that will take over a minute: how many words it means and about how long they take."""
    from hardsim.checking.campaign import count_requested

    words = count_requested(subject, options)
    if words * options.max_n <= EASY:
        return None
    seconds = _estimate(subject, options)
    if seconds <= LONG:
        return None
    return (
        f"{count(words)} words of up to {options.max_n} symbols: about {duration(seconds)}. "
        "Ctrl-C ends it with what was found until then; --max-n, --exhaustive and --samples make it shorter."
    )


def _estimate(subject: Subject, options: CheckOptions) -> float:
    """About how many seconds a check takes: attention costs the square of the length, so two lengths are timed.

    The words are counted in brackets of lengths that grow by a half, each at the cost of its longest words.
    """
    from hardsim.checking.campaign import count_requested

    longest = min(options.max_n, TIMED_LENGTH)
    one, many = _seconds(subject, 1, options), _seconds(subject, longest, options)
    per_square = max(many - one, 0.0) / (longest * longest)
    total, counted, n = 0.0, 0, 0
    while n < options.max_n:
        n = min(options.max_n, n + 1 + n // 2)
        upto = count_requested(subject, replace(options, max_n=n))
        total += (upto - counted) * (one + per_square * n * n)
        counted = upto
    return total / options.workers


def _seconds(subject: Subject, n: int, options: CheckOptions) -> float:
    """How long one word of length n takes, made of all symbols in turn, when everything is warm."""
    from hardsim.checking.compare import Judge
    from hardsim.checking.tally import Tally

    alphabet = subject.file.alphabet
    word = tuple(alphabet[i % len(alphabet)] for i in range(n))
    judge = Judge(subject, options.dps, options.engine)
    words = [word] * TIMED_WORDS
    judge.tally_all(words[:1], Tally(n))
    started = time.perf_counter()
    judge.tally_all(words, Tally(n))
    return (time.perf_counter() - started) / TIMED_WORDS


def duration(seconds: float) -> str:
    """A length of time in words, to one figure that matters."""
    for size, unit in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{round(seconds / size):,} {unit}"
    return f"{round(seconds)} seconds"
