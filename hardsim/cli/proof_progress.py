"""How far a proof is, on standard error after a second; and a remark before one that takes over a minute."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import log2
from typing import TYPE_CHECKING

from hardsim.cli.estimate import LONG, duration
from hardsim.cli.progress import INTERVAL, PATIENCE
from hardsim.visible import visible

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

    from hardsim.checking.attention import AttentionOptions, AttentionSubject
    from hardsim.checking.subject import Subject

EASY_LENGTH = 1000
EASY_POSITIONS = 100_000
"""A length, and positions of all lengths together, below which nothing is estimated: it cannot take long."""
TIMED_ALL, TIMED_HALF, TIMED_ONE = 32, 128, 256
"""Lengths that are timed for the estimate: all up to the first, and the others alone."""
TIMES = 3
"""How often each is timed."""
STEEPEST = 2.2
"""The cost of one length grows no faster than this power of it."""
TIMED_CERTIFICATE = 16
"""Lengths up to this one are certified for the estimate."""
EASY_CERTIFICATE = 32
EASY_STRUCTURE, EASY_WORDS = 16, 50_000
"""The size of the length of a program or model that is timed, by how it is proved: see `_size`."""
ALIKE = 16
"""Lengths that differ by less than this part of them cost about the same."""


class ProofBar:
    """Shows how many heads or lengths are done, once a proof has lasted a second."""

    def __init__(self, name: str, unit: str) -> None:
        self.name, self.unit = name, unit
        self._started = self._shown = time.monotonic()
        self._progress: RichProgress | None = None
        self._task: TaskID | None = None

    def update(self, done: int, total: int) -> None:
        """Called after every head or length."""
        now = time.monotonic()
        if now - self._started < PATIENCE or (now - self._shown < INTERVAL and done < total):
            return
        self._shown = now
        if self._progress is None or self._task is None:
            self._progress = _bar()
            self._task = self._progress.add_task(
                f"{visible(self.name)}: {self.unit} proved", completed=done, total=total
            )
            self._progress.start()
        else:
            self._progress.update(self._task, completed=done, total=total)

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
def bar(name: str, unit: str) -> Iterator[Callable[[int, int], None] | None]:
    """What a proof reports to, or None where nobody is looking; the bar goes when the proof ends or is interrupted."""
    if not sys.stderr.isatty():
        yield None
        return
    shown = ProofBar(name, unit)
    try:
        yield shown.update
    finally:
        shown.stop()


def announcement(subject: Subject, min_n: int, max_n: int) -> str | None:
    """What to say before a proof that will take over a minute: about how long."""
    from hardsim.proof.network import LARGEST, one_for_all, positions

    every = 1 if one_for_all(subject.model, subject.program, None) else max_n - min_n + 1
    sites = max_n if every == 1 else positions(min_n, max_n)
    if (max_n < EASY_LENGTH and sites < EASY_POSITIONS) or sites > LARGEST:
        return None
    seconds = _estimate(subject, max_n, every, sites)
    if seconds <= LONG:
        return None
    advice = "fewer lengths" if every > 1 else "a shorter one"
    return (
        f"a proof for {sites:,} positions takes about {duration(seconds)}. Ctrl-C ends it without a verdict; "
        f"--min-n and --max-n choose {advice}, and --all-n proves every length by another argument."
    )


def _estimate(subject: Subject, max_n: int, every: int, sites: int) -> float:
    """About how many seconds a proof takes: a position costs the same in all lengths but for the sums over what it
    sees, whose growth is measured on single lengths."""
    per_position = _seconds(subject, 1, TIMED_ALL) / (TIMED_ALL * (TIMED_ALL + 1) / 2)
    half, one = (_seconds(subject, n, n) for n in (TIMED_HALF, TIMED_ONE))
    power = min(max(log2(one / half), 1.0), STEEPEST)
    longest: float = one * (max_n / TIMED_ONE) ** power
    return longest if every == 1 else longest + per_position * sites


def _seconds(subject: Subject, min_n: int, max_n: int) -> float:
    """How long it takes to prove some short lengths: the least of several times, since what else the machine does only
    adds, and extrapolation would magnify it."""
    from hardsim.checking.prove import prove_subject

    found: list[float] = []
    for _ in range(TIMES):
        started = time.perf_counter()
        prove_subject(subject, max_n, search=0, min_n=min_n)
        found.append(time.perf_counter() - started)
    return min(found)


def attention_announcement(subject: AttentionSubject, min_n: int, max_n: int, choice: AttentionOptions) -> str | None:
    """What to say before a proof of a model or program that will take over a minute: about how long."""
    from hardsim.checking.prove_attention import longest
    from hardsim.errors import HardsimError

    reach = longest(subject, max_n)
    easy = EASY_STRUCTURE if subject.structural else EASY_WORDS
    if reach < min_n or _size(subject, reach) <= easy:
        return None
    timed = next(n for n in range(1, reach + 1) if _size(subject, n + 1) > easy)
    try:
        seconds = _attention_estimate(subject, timed, min_n, reach, choice)
    except HardsimError:  # the proof itself will say it
        return None
    if seconds <= LONG:
        return None
    return (
        f"a proof of lengths up to {reach:,} takes about {duration(seconds)}. Ctrl-C ends it without a verdict; "
        "--min-n and --max-n choose fewer or shorter lengths."
    )


def _size(subject: AttentionSubject, n: int) -> int:
    """What a length of a model or program costs, but for a factor and a summand: positions, where structure says enough
    of all its words at once, else the pairs of positions of every word."""
    from hardsim.checking.words import count_words

    positions = len(subject.prepared((subject.alphabet[0],) * n)) + subject.hard.bos
    return positions if subject.structural else count_words(len(subject.alphabet), n) * positions**2


def _attention_estimate(
    subject: AttentionSubject, timed: int, min_n: int, max_n: int, choice: AttentionOptions
) -> float:
    """About how many seconds a proof takes, from one length and half of it."""
    from hardsim.checking.prove_attention import EVERY, prove_length

    points: list[tuple[int, float]] = []
    for n in (max(1, timed // 2), timed):
        started = time.perf_counter()
        prove_length(subject, n, choice, EVERY)
        points.append((_size(subject, n), time.perf_counter() - started))
    (low, one), (high, other) = points
    each = max(0.0, other - one) / (high - low) if high > low else other / high
    fixed = max(0.0, other - each * high)
    total, n = 0.0, min_n
    while n <= max_n:  # lengths that are close to each other cost about the same
        last = min(max_n, n + n // ALIKE)
        total += (last - n + 1) * (fixed + each * _size(subject, last))
        n = last + 1
    return total


def certificate_announcement(subject: Subject, min_n: int, max_n: int) -> str | None:
    """What to say before a certificate that will take over a minute to make; the checker, in exact arithmetic, takes
    as long. It looks from every position of every length at every other one."""
    from hardsim.checking.certificate import certificate
    from hardsim.errors import Undecided

    if max_n <= EASY_CERTIFICATE:
        return None
    started = time.perf_counter()
    try:
        certificate(subject, TIMED_CERTIFICATE)
    except Undecided:
        return None
    pairs = sum(n * n for n in range(min_n, max_n + 1)) / sum(n * n for n in range(1, TIMED_CERTIFICATE + 1))
    seconds = (time.perf_counter() - started) * pairs
    if seconds <= LONG:
        return None
    return (
        f"the certificate takes about {duration(seconds)} to make, and `hardsim verify` as long to check it. "
        "Ctrl-C ends it without one; --min-n and --max-n choose fewer lengths."
    )
