"""A remark on tasks that take long, and a progress bar: the time left follows from the parts that are done."""

from __future__ import annotations

import sys
import threading
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cached_property
from itertools import accumulate
from math import exp, inf, log, sqrt
from operator import itemgetter
from typing import TYPE_CHECKING

from hardsim.campaign.check import CheckOptions, Progress, lengths_of, requested, searched
from hardsim.cli import activity
from hardsim.cli.streams import hushed, note
from hardsim.lazy_dataclass import dataclass
from hardsim.run.dense_pass import Watch
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
FARTHEST = 3
"""A time is predicted for lengths up to so many times the present one: growth may begin beyond."""
MOST_LEFT = 20
"""A prediction is used only if the time left is less than so many times the time that it comes from."""
SPREAD = 1.8
"""The predictions of the time left must lie within such a factor. If the time left lies between them, their middle is
within a factor of 1.34 of it, and noise may add another of 1.5."""
DEGREE = 4
"""The highest power of the length that may grow beside a constant part of the time."""
MOST_GROWTH = 100.0
"""Largest logarithm of the growth of a rate that is computed: more is too much for a prediction in any case."""
SAMPLES = 32
"""Number of places at which the time of the parts left is predicted."""
KEPT = "Ctrl-C stops it and keeps what was found; --max-n, --exhaustive and --samples make it shorter."
KEPT_LENGTHS = (
    "Ctrl-C stops it and keeps the lengths that are done; --max-n, --exhaustive and --samples make it shorter."
)

Cost = Callable[[int], float]
Length = Callable[[float], float]


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


class WordsInOrder:
    """The words of a check by length, in their order. A word's place is the number of words before it, and its length
    rises evenly between the first and the last word of a length, from n to n + 1.

    Words that are searched come with the longest length first, so that their place says nothing about their length.
    Then the number of words done is used instead (`ordered` is False)."""

    def __init__(self, subject: Target, options: CheckOptions, lengths: Sequence[int] | None = None) -> None:
        self._subject, self._options, self._given = subject, options, lengths

    @cached_property
    def ordered(self) -> bool:
        """False if some lengths are searched."""
        return not searched(self._subject, self._options)

    @cached_property
    def _lengths(self) -> Sequence[int]:
        return lengths_of(self._subject, self._options) if self._given is None else self._given

    @cached_property
    def ends(self) -> list[int]:
        """The place after the last word of each length."""
        return list(accumulate(requested(self._subject, self._options, n) for n in self._lengths))

    def place(self, n: int, here: int) -> float:
        """Return the place after the first `here` words of length n."""
        at = min(bisect_left(self._lengths, n), len(self.ends) - 1)
        return min((self.ends[at - 1] if at else 0) + here, self.ends[at])

    def length(self, place: float) -> float:
        """Return the length at a place."""
        at = min(bisect_right(self.ends, place), len(self.ends) - 1)
        words = self.ends[at] - (self.ends[at - 1] if at else 0)
        return self._lengths[at] + 1 - (self.ends[at] - place) / max(1, words)


@dataclass(frozen=True, slots=True)
class _Stretch:
    """A stretch of the time so far: the seconds of a unit of the place there, and the length in its middle."""

    rate: float
    length: float


class Pace:
    """An estimate of the time that a task takes, from the growth of the time of its parts so far.

    The parts come in the order of their `length`, a function of the place in the task. The last three binary stretches
    of the time (from 1/8 to 1/4 of it, from there to 1/2, and the rest) each have a rate: seconds for a unit of the
    place. Two neighbours give the growth of the rate with the length. Each of both growths goes on as a power of the
    length, as an exponential, or as a power of DEGREE beside a constant part; it starts from the rate of the last half,
    or of the last sixteenth, which shows a step. That makes 12 predictions of the time left. A time that grows as one
    of these functions lies between them. If they are far apart (SPREAD), nothing is known: growth changes, there was a
    step, or too much is left. A later step cannot be foreseen.
    """

    def __init__(self, length: Length = float) -> None:
        self._length = length
        self._points: list[tuple[float, float]] = []

    def note(self, now: float, place: float) -> None:
        """Note the place that is reached now. A place before the last one begins the task anew."""
        points = self._points
        if points and place < points[-1][1]:
            points.clear()
        if not points or now - points[-1][0] >= (now - points[0][0]) / FINE:
            points.append((now, place))

    def spent(self, now: float) -> float:
        """Return the seconds since the first note."""
        return now - self._points[0][0]

    def at_this_rate(self, now: float, place: float, whole: float) -> float:
        """Return the seconds from now to the end if each part takes as long as those of the last half of the time."""
        done = place - self._place(now, place, 1 / 2)
        return self.spent(now) / 2 * (whole - place) / done if done > 0 else inf

    def left(self, now: float, place: float, whole: float) -> float | None:
        """Return the seconds from now to the end; None if they are not known within a factor of about 2."""
        if self._length(whole) > FARTHEST * self._length(place) or not self._resolved(now):
            return None
        places = [self._place(now, place, share) for share in (1 / 8, 1 / 4, 1 / 2, 15 / 16, 1)]
        eighth, quarter, half, last, _ = places
        if not eighth < quarter < half < last < place:
            return None
        time = self.spent(now)
        first, second = self._stretch(time / 8, eighth, quarter), self._stretch(time / 4, quarter, half)
        third, end = self._stretch(time / 2, half, place), self._stretch(time / 16, last, place)
        step = (whole - place) / SAMPLES
        rest = [self._length(place + (at + 0.5) * step) for at in range(SAMPLES)]
        found = [
            step * sum(rates)
            for one, other in ((first, second), (second, third))
            for start in (third, end)
            for rates in predicted(one, other, start, rest)
        ]
        least, most = min(found), max(found)
        return None if most > SPREAD * least or least > MOST_LEFT * time else sqrt(least * most)

    def _stretch(self, seconds: float, begin: float, end: float) -> _Stretch:
        return _Stretch(seconds / (end - begin), (self._length(begin) + self._length(end)) / 2)

    def _resolved(self, now: float) -> bool:
        """Return True if points of the progress lie within each of the binary stretches of the time."""
        began, time = self._points[0][0], self.spent(now)
        upto = [bisect_right(self._points, began + time * share, key=itemgetter(0)) for share in (1 / 8, 1 / 4, 1 / 2)]
        return upto[0] < upto[1] < upto[2] < len(self._points) - 1

    def _place(self, now: float, place: float, share: float) -> float:
        """Return the place that was reached when a share of the time until now had passed."""
        points = [*self._points, (now, place)]
        when = points[0][0] + share * self.spent(now)
        at = min(bisect_right(points, when, key=itemgetter(0)), len(points) - 1)
        (began, before), (ended, after) = points[at - 1], points[at]
        return before + (after - before) * ((when - began) / (ended - began) if ended > began else 1.0)


def predicted(one: _Stretch, other: _Stretch, start: _Stretch, lengths: Sequence[float]) -> Iterator[list[float]]:
    """Yield the rates at later lengths, from the rate at the `start`, if it grows on as from `one` stretch to the
    `other`: as a power of the length, an exponential, and a power of DEGREE beside a constant part."""
    growth = log(other.rate / one.rate)
    power, unit = growth / log(other.length / one.length), growth / (other.length - one.length)
    yield [start.rate * exp(min(MOST_GROWTH, power * log(length / start.length))) for length in lengths]
    yield [start.rate * exp(min(MOST_GROWTH, unit * (length - start.length))) for length in lengths]
    share = max(0.0, power) / DEGREE
    yield [start.rate * (1 + share * ((length / start.length) ** DEGREE - 1)) for length in lengths]


class Bar:
    """The progress of a task. When the time left is known and long it prints it once, and on a terminal it shows a bar
    with the rate over half a minute. The time grows with the cost of the first parts, or with the length of `words`."""

    def __init__(
        self, name: str, unit: str, title: str = "", cost: Cost = float, words: WordsInOrder | None = None
    ) -> None:
        self._name, self._unit, self._title, self._cost = name, unit, title or name, cost
        self._words = words if words is not None and words.ordered else None
        self._started = self._shown = time.monotonic()
        self.silent = hushed() or not sys.stderr.isatty()
        """True if there is no terminal to show a bar on."""
        self._pace = Pace() if self._words is None else Pace(self._words.length)
        """The progress from the first part on: tables and processes are made before."""
        self._announced = self._sized = False
        self._progress: RichProgress | None = None
        self._closed = False

    def update(self, state: Progress) -> None:
        """Show the state of a check; call this after every word or shard."""
        found = "no mismatch so far" if not state.mismatches else f"{count(state.mismatches)} mismatches"
        undecided = f", {count(state.undecided)} undecided" if state.undecided else ""
        self._title = f"length {state.n}, {'first of two passes' if state.measuring else found + undecided}"
        if self._words is None:
            self._show(state.done, state.total, KEPT, state.done, state.total, state.measuring)
        else:
            place, whole = self._words.place(state.n, state.here), self._words.ends[-1]
            self._show(state.done, state.total, KEPT, place, whole, state.measuring)

    def at_length(self, n: int, done: int, total: int) -> None:
        """Show the state of a length; call this after every part of it."""
        self._title = f"length {n}"
        self.show(done, total)

    def show(self, done: int, total: int, advice: str = "Ctrl-C ends it.") -> None:
        """Show `done` of `total` parts; call this after every part."""
        self._show(done, total, advice, self._cost(done), self._cost(total))

    def _show(self, done: int, total: int, advice: str, place: float, whole: float, again: bool = False) -> None:
        """Show `done` of `total` parts. The present pass over the parts is at a `place` of the `whole`, and there is
        another if `again` is set, of which nothing is known."""
        now = time.monotonic()
        self._pace.note(now, place)
        # No flicker: quick tasks show no bar, and updates are rare.
        if now - self._started < WATCHED or (now - self._shown < INTERVAL and done < total):
            return
        self._shown = now
        if self._announced and self.silent:
            return
        left = None if again else self._pace.left(now, place, whole)
        self._announce(left, total - done, advice, self._pace.at_this_rate(now, place, whole))
        if not self.silent:
            self._draw(done, total, now, None if left is None else now + left)

    def _draw(self, done: int, total: int, now: float, end: float | None) -> None:
        """Draw the bar now; `end` is when the task will be done, if that is known."""
        if self._progress is None:
            from hardsim.cli.drawn_bar import drawn_bar

            activity.hold()
            self._progress = drawn_bar()
            self._progress.add_task(visible(self._title), completed=done, total=total, rate="", since=now, end=end)
            self._progress.start()
            return
        (task,) = self._progress.tasks
        if done != task.completed:
            task.fields["since"] = now
        task.fields["end"] = end
        self._progress.update(task.id, completed=done, total=total, description=visible(self._title))
        if task.speed is not None:
            task.fields["rate"] = f"{task.speed:,.{0 if task.speed >= 10 else 1}f} {self._unit}/s"

    def _announce(self, left: float | None, more: int, advice: str, rest: float) -> None:
        """Print the time `left` once, if it is known and long, or before that, that it is long; `rest` is the time that
        `more` parts take at the present rate."""
        if self._announced:
            return
        if left is not None and left > LONG:
            self._announced = True
            note(f"{self._name}: {count(more)} more {self._unit}: about {duration(left)}. {advice}")
        elif left is None and not self._sized and self._pace.spent(self._shown) > UNKNOWN and rest > LONG:
            self._sized = True
            note(f"{self._name}: {count(more)} more {self._unit}; how long is not known yet. {advice}")

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


def bound_bars(subject: Target, options: CheckOptions) -> closing[BoundBars]:
    """Return the progress of a bound report as a context."""
    words = WordsInOrder(subject, options, range(1, options.max_n + 1))
    temperatures = Bar(subject.name, "temperatures", f"{subject.name}: temperatures")
    return closing(BoundBars(Bar(subject.name, "words", words=words), temperatures))


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
        """Return the cost of the first `done` steps, up to a factor."""
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


def words_bar(subject: Target, options: CheckOptions) -> closing[Bar]:
    """Return the progress of a check of words as a context, as `bar` does."""
    return closing(Bar(subject.name, "words", words=WordsInOrder(subject, options)))
