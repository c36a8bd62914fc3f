"""A remark on tasks that take long, and a progress bar: the time left follows from the parts that are done."""

from __future__ import annotations

import sys
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache
from itertools import accumulate
from math import log, sqrt
from operator import itemgetter
from typing import TYPE_CHECKING

from hardsim.campaign.check import CheckOptions, Progress, requested, searched
from hardsim.cli import activity
from hardsim.cli.streams import hushed, note
from hardsim.run.dense_pass import Watch
from hardsim.run.enclosure import Floats
from hardsim.targets.base import Target
from hardsim.targets.result import Word, count
from hardsim.visible import visible

if TYPE_CHECKING:  # most tasks show no bar
    from rich.progress import Progress as RichProgress

LONG = 60.0
"""Number of seconds above which the rest of a task is announced as long."""
WATCHED, LATE = 1.0, 5.0
"""Seconds after which the rest of a task is estimated and its bar appears; seconds after which a task without parts
gets a remark."""
INTERVAL = 0.1
"""Seconds between two updates of a bar."""
UNKNOWN = 20.0
"""Seconds from the first part on, after which the size of a long task is stated, if the time left is not known."""
FINE = 64
"""A point of the progress is kept after each such part of the time."""
MOST_LEFT = 50
"""The whole cost must be at most so many times that of what is done: costs are a model."""
AGREEING = 1.7
"""Two estimates of the whole time must differ by no more than this factor. Then their mean gives the time left within a
factor of 2 where words take a constant and a power of their length from 1/2 to 5/2."""
KEPT = "Ctrl-C stops it and keeps what was found; --max-n, --exhaustive and --samples make it shorter."
KEPT_LENGTHS = (
    "Ctrl-C stops it and keeps the lengths that are done; --max-n, --exhaustive and --samples make it shorter."
)

Cost = Callable[[int], float]


@contextmanager
def patient(what: str, seconds: float | None = None) -> Iterator[None]:
    """Print a remark if the task in the `with` block takes longer than LATE, or `seconds`; for tasks whose time cannot
    be estimated."""
    late = threading.Timer(LATE if seconds is None else seconds, note, [f"{what}. Ctrl-C ends it."])
    # A daemon, so that it never keeps the process from ending.
    late.daemon = True
    late.start()
    try:
        yield
    finally:
        late.cancel()


def duration(seconds: float) -> str:
    """Return a number of seconds in words, rounded to whole units: the largest of days, hours and minutes of which
    there are at least two, otherwise seconds."""
    for size, unit in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{round(seconds / size):,} {unit}"
    return f"{round(seconds)} seconds"


def cost_of(subject: Target, options: CheckOptions) -> Cost:
    """Return the cost of the first words of a check, up to a factor: a word costs the square of its positions. Words
    that are searched cost the same, as their longest length comes first."""

    import numpy as np

    @cache
    def sums() -> tuple[Floats, Floats]:
        words = [requested(subject, options, n) for n in range(1, options.max_n + 1)]
        costs = [float(some) * subject.positions(n) ** 2 for n, some in enumerate(words, start=1)]
        return np.array([0, *accumulate(words)], dtype=np.float64), np.array([0.0, *accumulate(costs)])

    def cost(done: int) -> float:
        return done if searched(subject, options) else float(np.interp(done, *sums()))

    return cost


class Pace:
    """An estimate of the time that a task takes, from its progress so far.

    Costs are a model: the time of a word has a constant part and one that grows as its cost, or less. So there are two
    estimates of the time of the whole, where C is the cost of what was done in the time t, and D the whole cost. One is
    a sum of so much time for each part and so much for each unit of cost, neither below 0, which is right now and was
    when half of t had passed. The other is t (D/C)^s, where t grew as C^s since half of it. If the truth is a power of
    the cost, the second is exact and the first too long; if it is such a sum, the first is exact and the second too
    short.
    """

    def __init__(self) -> None:
        self._points: list[tuple[float, float, float]] = []

    def note(self, now: float, done: int, cost: Cost) -> None:
        """Note how many parts are done now, and their cost, which is asked for only if a point is kept."""
        points = self._points
        if not points or now - points[-1][0] >= (now - points[0][0]) / FINE:
            points.append((now, done, cost(done)))

    def spent(self, now: float) -> float:
        """Return the seconds since the first note."""
        return now - self._points[0][0]

    def left(self, now: float, done: int, total: int, cost: Cost) -> float | None:
        """Return the seconds from now to the end; None if they are not known within a factor of about 2."""
        if len(self._points) < 3:  # too few to know how the time grows
            return None
        began, first, least = self._points[0]
        time, parts, spent = now - began, done - first, cost(done) - least
        all_parts, whole = total - first, cost(total) - least
        half, middle = self._half(time)
        if not 0 < middle < spent or whole > MOST_LEFT * spent:
            return None
        grown = float(time * (whole / spent) ** (log(2) / log(spent / middle)))
        # time = part * parts + unit * cost, now and when half of it had passed
        across = parts * middle - half * spent
        part, unit = ((middle - spent / 2) / across, (parts / 2 - half) / across) if across else (0.0, 1 / spent)
        if part < 0:
            part, unit = 0.0, 1 / spent
        elif unit < 0:
            part, unit = 1 / parts, 0.0
        summed = time * (part * all_parts + unit * whole)
        if not 1 / AGREEING <= summed / grown <= AGREEING:
            return None
        return sqrt(summed * grown) - time

    def _half(self, time: float) -> tuple[float, float]:
        """Return how many parts had been done when half of a time had passed, and their cost, since the first note."""
        began, first, least = self._points[0]
        place = bisect_right(self._points, began + time / 2, key=itemgetter(0))
        before, after = self._points[place - 1], self._points[min(place, len(self._points) - 1)]
        share = (began + time / 2 - before[0]) / (after[0] - before[0]) if after[0] > before[0] else 0.0
        parts, cost = (before[at] + share * (after[at] - before[at]) for at in (1, 2))
        return parts - first, cost - least


class Bar:
    """The progress of a task. When the time left is known and long it prints it once, and on a terminal it shows a bar
    with the rate over half a minute. `cost` is the cost of the first parts, up to a factor."""

    def __init__(self, name: str, unit: str, title: str = "", cost: Cost = float) -> None:
        self._name, self._unit, self._title, self._cost = name, unit, title or name, cost
        self._started = self._shown = time.monotonic()
        self.silent = hushed() or not sys.stderr.isatty()
        """True if there is no terminal to show a bar on."""
        self._pace = Pace()
        """The progress from the first part on: tables and processes are made before."""
        self._announced = self._sized = False
        self._progress: RichProgress | None = None
        self._closed = False

    def update(self, state: Progress) -> None:
        """Show the state of a check; call this after every word or shard."""
        found = "no mismatch so far" if not state.mismatches else f"{count(state.mismatches)} mismatches"
        undecided = f", {count(state.undecided)} undecided" if state.undecided else ""
        self._title = f"length {state.n}, {found}{undecided}"
        self.show(state.done, state.total, KEPT)

    def at_length(self, n: int, done: int, total: int) -> None:
        """Show the state of a length; call this after every part of it."""
        self._title = f"length {n}"
        self.show(done, total)

    def _surely_long(self, now: float, done: int, total: int) -> bool:
        """Return True if much is left, at the pace so far, of a task whose parts have run for UNKNOWN seconds."""
        spent, cost = self._pace.spent(now), self._cost(done)
        return spent > UNKNOWN and spent * (self._cost(total) - cost) > LONG * cost

    def show(self, done: int, total: int, advice: str = "Ctrl-C ends it.") -> None:
        """Show `done` of `total` parts; call this after every part."""
        now = time.monotonic()
        self._pace.note(now, done, self._cost)
        # No flicker: quick tasks show no bar, and updates are rare.
        if now - self._started < WATCHED or (now - self._shown < INTERVAL and done < total):
            return
        self._shown = now
        left = None if self._announced else self._pace.left(now, done, total, self._cost)
        if left is None and not (self._announced or self._sized) and self._surely_long(now, done, total):
            self._sized = True
            note(f"{self._name}: {count(total - done)} more {self._unit}; how long is not known yet. {advice}")
        if left is not None and left > LONG:
            self._announced = True
            note(f"{self._name}: {count(total - done)} more {self._unit}: about {duration(left)}. {advice}")
        if self.silent:
            return
        if self._progress is None:
            from hardsim.cli.drawn_bar import drawn_bar

            activity.hold()
            self._progress = drawn_bar()
            self._progress.add_task(visible(self._title), completed=done, total=total, rate="", since=now)
            self._progress.start()
            return
        (task,) = self._progress.tasks
        if done != task.completed:
            task.fields["since"] = now
        self._progress.update(task.id, completed=done, total=total, description=visible(self._title))
        if task.speed is not None:
            task.fields["rate"] = f"{task.speed:,.{0 if task.speed >= 10 else 1}f} {self._unit}/s"

    def expect(self, seconds: float, advice: str = "Ctrl-C ends it.") -> None:
        """Announce the seconds that the task will take, if these are many and nothing was announced before."""
        if not self._announced and seconds > LONG:
            self._announced = True
            note(f"{self._name}: about {duration(seconds)}. {advice}")

    def close(self) -> None:
        """Remove the bar."""
        if self._progress is not None and not self._closed:
            self._closed = True
            self._progress.stop()
            activity.release()


class BoundBars:
    """The progress of a bound report: first words are measured, then temperatures are tried."""

    def __init__(self, words: Bar, temperatures: Bar) -> None:
        self.words, self.temperatures = words, temperatures
        self._measured = False

    def update(self, state: Progress) -> None:
        """Show the words measured, until temperatures are tried."""
        if not self._measured:
            self.words.update(state)

    def trials(self, done: int, total: int, seconds: float) -> None:
        """Show the temperatures tried, of those expected in all; `seconds` is what they will take, if it is known."""
        self._measured = True
        self.words.close()
        self.temperatures.expect(seconds, KEPT_LENGTHS)
        self.temperatures.show(done, total, KEPT_LENGTHS)

    def close(self) -> None:
        """Remove the bars."""
        self.words.close()
        self.temperatures.close()


def bound_bars(name: str, cost: Cost) -> closing[BoundBars]:
    """Return the progress of a bound report as a context; `cost` is that of its words."""
    return closing(BoundBars(Bar(name, "words", cost=cost), Bar(name, "temperatures", f"{name}: temperatures")))


class LayerSteps:
    """The progress of words on a network: the layers that are prepared, then those of each word.

    A layer is prepared in about the time that a word of PREPARED tokens takes in it.
    """

    PREPARED = 8

    def __init__(self, subject: Target, words: Sequence[Word]) -> None:
        self._layers = max(1, subject.facts.layers)
        self._total = self._layers * (1 + len(words))
        self._passed = 0
        sizes = [self.PREPARED, *(subject.positions(len(word)) for word in words)]
        self._ends = [float(size * self._layers) for size in accumulate(sizes, initial=0)]
        self._shown: Bar | None = None

    def cost(self, done: int) -> float:
        """Return the cost of the first layers, up to a factor."""
        import numpy as np

        return float(np.interp(done, np.arange(len(self._ends)) * self._layers, self._ends))

    def of(self, shown: Bar) -> Callable[[int, int], None]:
        """Return the function to call after each layer, which shows the progress on a bar."""
        self._shown = shown

        def step(done: int, total: int) -> None:
            shown.show(self._passed + done, self._total)

        return step

    def next(self) -> None:
        """Begin the layers of the next word."""
        self._passed += self._layers
        if self._shown is not None:
            self._shown.show(self._passed, self._total)


@contextmanager
def layers_bar(subject: Target, words: Sequence[Word], what: str) -> Iterator[Watch]:
    """Show the progress of words on a network, layer by layer; `what` says whose layers these are."""
    steps = LayerSteps(subject, words)
    with bar(subject.name, f"layers of {what}", subject.name, steps.cost) as shown:
        yield Watch(steps.of(shown), steps.next)


def bar(name: str, unit: str = "words", title: str = "", cost: Cost = float) -> closing[Bar]:
    """Return the progress of one task as a context, which removes its bar when the task ends or is interrupted."""
    return closing(Bar(name, unit, title, cost))
