"""How long a run will take: said before it, if that is over a minute.

Words of two lengths are timed in batches, since float64 runs words in batches; attention costs the square of the
length.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, TypeVar

from hardsim.cli.streams import note
from hardsim.errors import HardsimError
from hardsim.report.numbers import count, plural

if TYPE_CHECKING:
    from hardsim.checking.attention import AttentionOptions, AttentionSubject
    from hardsim.checking.bound import BoundOptions, BoundSubject
    from hardsim.checking.campaign import CheckOptions
    from hardsim.checking.result import Word
    from hardsim.checking.subject import Subject

LONG = 60.0
"""Seconds from which a run is announced as long."""
EASY = 2_000
"""Symbols times words below which nothing is estimated: it cannot take long."""
TIMED_LENGTHS = (4, 8, 16, 32, 64)
"""Lengths at which words are timed: the longest two of which a word takes no longer than PATIENCE."""
TIMED_WORDS = (2, 8, 32, 128, 512, 2048)
"""Words of the batches that are timed, until one takes half of PATIENCE: then its time is far more than its noise."""
GLANCE = 16
"""The length of the one word whose time says whether a run can be long at all."""
SLOW = 2.0
"""Seconds of one short word after which no more are timed."""
PATIENCE = 0.2
"""Seconds that a batch of words should take to be timed."""
PROBE = 128
"""Symbols of a word that takes no time worth mentioning."""
WATCHED = 1.0
"""Seconds of a task after which the rest is foreseen."""
LATE = 5.0
"""Seconds after which a remark speaks of what cannot be foreseen: reading, and the timing of the first word."""

T = TypeVar("T")
Run = Callable[[list["Word"]], None]


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run means, by brackets of lengths: the longest, the words, and their seconds in one process."""

    brackets: tuple[tuple[int, int, float], ...]
    max_n: int

    @property
    def words(self) -> int:
        """All of them."""
        return sum(words for _, words, _ in self.brackets)

    def seconds(self, workers: int = 1, done: int = 0) -> float:
        """About how long it takes without the first `done` words, which are the shortest."""
        total = 0.0
        for _, words, seconds in self.brackets:
            left = min(words, max(0, words - done))
            done = max(0, done - words)
            total += seconds * left / words if words else 0.0
        return total / workers


@contextmanager
def patient(what: str) -> Iterator[None]:
    """A remark where something of which nothing can be foreseen takes long."""
    late = threading.Timer(LATE, note, [f"{what}. Ctrl-C ends it."])
    late.daemon = True
    late.start()
    try:
        yield
    finally:
        late.cancel()


def announce(name: str, cost: Cost | None, workers: int, done: int = 0) -> None:
    """Say how long a run will take, if that is over a minute; `done` words of it are known from an earlier run."""
    seconds = 0.0 if cost is None else cost.seconds(workers, done)
    if cost is None or seconds <= LONG:
        return
    left = f"{count(max(1, cost.words - done))} more words" if done else f"{count(cost.words)} words"
    shared = f" on {workers} processes" if workers > 1 else ""
    note(
        f"{name}: {left} of up to {cost.max_n} symbols: about {duration(seconds)}{shared}. "
        "Ctrl-C ends it with what was found until then; --max-n, --exhaustive and --samples make it shorter."
    )


def duration(seconds: float) -> str:
    """A length of time in words, to one figure that matters."""
    for size, unit in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{round(seconds / size):,} {unit}"
    return f"{round(seconds)} seconds"


class Foresight:
    """Says once how long the rest of a task will take, from how long its first parts took, if that is over a minute:
    for parts of which the later ones cost as much as the first, or more."""

    def __init__(self, name: str, parts: str, also: Callable[[int, int], None] | None = None) -> None:
        self._name, self._parts, self._also = name, parts, also
        self._started = time.monotonic()
        self._said = False

    def __call__(self, done: int, total: int) -> None:
        """Called after every part."""
        passed = time.monotonic() - self._started
        left = passed * (total - done) / done
        if not self._said and passed > WATCHED and left > LONG:
            self._said = True
            told = f"{count(total - done)} more {self._parts}"
            note(f"{self._name}: {told}: about {duration(left)}, or more. Ctrl-C ends it.")
        if self._also is not None:
            self._also(done, total)


def foreseen(items: Iterable[T], name: str, parts: str, total: int) -> Iterator[T]:
    """The same items, with a remark where they will take long."""
    told = Foresight(name, parts)
    for done, item in enumerate(items, start=1):
        yield item
        told(done, total)


def announce_words(name: str, words: Sequence[Word], run: Callable[[Word], object]) -> None:
    """Say before given words are run how long that will take, if some are long and it is over a minute: the beginning
    of one is timed."""
    longest = max(words, key=len)
    if len(longest) <= PROBE:
        return
    started = time.perf_counter()
    with suppress(HardsimError), patient(f"{name}: even {PROBE} symbols take long"):
        run(longest[:PROBE])  # an error the run itself will say, with the word
    one = time.perf_counter() - started
    seconds = one * sum((len(word) / PROBE) ** 2 for word in words)
    if seconds > LONG:
        told = f"{plural(len(words), 'word')} of up to {len(longest):,} symbols"
        note(f"{name}: {told}: about {duration(seconds)}. Ctrl-C ends it.")


# ---- what is timed ----


def formula_cost(subject: Subject, options: CheckOptions) -> Cost | None:
    """The cost of checking a formula; None if it is little."""
    from hardsim.checking.campaign import count_requested, plan_words, tallier
    from hardsim.checking.execution import Shard
    from hardsim.lang.semantics import Oracle

    def upto(n: int) -> int:
        return count_requested(subject, replace(options, max_n=n))

    if upto(options.max_n) * options.max_n <= EASY:
        return None
    answer = tallier(subject, options.dps, options.engine)

    def plan(n: int) -> int:
        return len(list(plan_words(subject, _few(options), n, Oracle(subject.file).accepts).words))

    def run(words: list[Word]) -> None:
        answer(Shard(len(words[0]), tuple(words)))

    return _cost(subject.file.alphabet, options.max_n, upto, lambda n: n, run, plan)


def attention_cost(subject: AttentionSubject, options: CheckOptions, choice: AttentionOptions) -> Cost | None:
    """The cost of checking a hard-attention model or program: measured exactly, then run; None if it is little."""
    from hardsim.checking.attention_campaign import attention_tallier, engine_of
    from hardsim.checking.attention_plan import plan_length, prepare
    from hardsim.checking.execution import Shard

    def run(words: list[Word]) -> None:
        n = len(words[0])
        prepared = prepare(subject, {n: words}, {n: False})
        plan = plan_length(prepared, subject, choice, n)
        answer = attention_tallier(subject, plan.model, prepared.hard, engine_of(options.engine))
        answer(Shard(n, tuple(words)))

    return _attention_cost(subject, options, run)


def bound_cost(target: BoundSubject, options: CheckOptions, wanted: BoundOptions) -> Cost | None:
    """The cost of a bound report, with its search for temperatures; None if it is little."""
    from hardsim.checking.attention_plan import prepare
    from hardsim.checking.bound import reporter
    from hardsim.checking.execution import Shard

    def run(words: list[Word]) -> None:
        n = len(words[0])
        whole = len(target.subject.alphabet) ** n <= options.exhaustive
        prepared = prepare(target.subject, {n: words}, {n: whole})
        reporter(target, options, wanted, prepared)(Shard(n, tuple(words)))

    return _attention_cost(target.subject, options, run)


def _attention_cost(subject: AttentionSubject, options: CheckOptions, run: Run) -> Cost | None:
    from hardsim.checking.attention_samples import hold_affordable, requested, words_of

    hold_affordable(subject, options, range(1, options.max_n + 1))

    def plan(n: int) -> int:
        return len(words_of(subject, _few(options), n)[0])

    def upto(n: int) -> int:
        return sum(requested(subject, options, m) for m in range(1, n + 1))

    def positions(n: int) -> int:
        return len(subject.prepared((subject.alphabet[0],) * n)) + subject.hard.bos

    if upto(options.max_n) * positions(options.max_n) <= EASY:
        return None
    try:
        return _cost(subject.alphabet, options.max_n, upto, positions, run, plan)
    except HardsimError:  # the run itself will say it, with the word
        return None


def _few(options: CheckOptions) -> CheckOptions:
    """Options with which choosing the words of a length does not take long."""
    samples = 20 if options.samples is None else min(20, options.samples)
    return replace(options, exhaustive=min(256, options.exhaustive), samples=samples)


# ---- how ----


def _cost(
    alphabet: tuple[str, ...],
    max_n: int,
    upto: Callable[[int], int],
    positions: Callable[[int], int],
    run: Run,
    plan: Callable[[int], int],
) -> Cost | None:
    """The cost of words that are counted `upto` a length; `plan` chooses some of a length, and says how many. None if
    it certainly is little: a word alone costs more than one of a batch."""
    glances: list[tuple[int, float, float]] = []
    for n in sorted({min(max_n, GLANCE // 4), min(max_n, GLANCE)}):
        with patient(f"even one word of {plural(n, 'symbol')} takes long"):
            one = _timed(_some_words(alphabet, n), run)
        glances.append((n, 0.0, one))
        if one > SLOW:
            break
    if upto(max_n) * one * (positions(max_n) / positions(n)) ** 2 < LONG / 2:
        return None
    if one > SLOW:  # no batches are timed then, and no longer word
        if len(glances) == 1 and n > 1:
            glances.insert(0, (n // 2, 0.0, _timed(_some_words(alphabet, n // 2), run)))
        law = _law(glances, positions)
    else:
        law = _law(_timings(alphabet, max_n, run, plan), positions)
    brackets: list[tuple[int, int, float]] = []
    before = counted = 0
    for n in _brackets(max_n):
        words = upto(n) - counted
        a, b = positions(before + 1), positions(n)
        fixed, each = law((a * a + a * b + b * b) / 3)
        brackets.append((n, words, (n - before) * fixed + words * each))
        before, counted = n, counted + words
    return Cost(tuple(brackets), max_n)


def _brackets(max_n: int) -> Iterator[int]:
    """Lengths that grow by a half, up to the largest."""
    n = 0
    while n < max_n:
        n = min(max_n, n + 1 + n // 2)
        yield n


def _timings(
    alphabet: tuple[str, ...], max_n: int, run: Run, plan: Callable[[int], int]
) -> list[tuple[int, float, float]]:
    """The two longest lengths that can be timed quickly (long words say most, since they take most of the time), with
    the seconds that any words of the length take, and those that each word adds."""
    reached: list[int] = []
    for n in sorted({min(max_n, n) for n in TIMED_LENGTHS}):
        reached.append(n)
        if len(reached) > 1 and _timed(_some_words(alphabet, n), run) > PATIENCE:
            break
    found: list[tuple[int, float, float]] = []
    for n in reached[-2:]:
        fixed, each = _seconds(alphabet, n, run)
        started = time.perf_counter()
        planned = plan(n)
        found.append((n, fixed, each + (time.perf_counter() - started) / max(1, planned)))
    return found


def _timed(words: list[Word], run: Run) -> float:
    started = time.perf_counter()
    run(words)
    return time.perf_counter() - started


def _some_words(alphabet: tuple[str, ...], n: int, most: int = 1) -> list[Word]:
    rng = Random(n)
    return list(dict.fromkeys(tuple(rng.choice(alphabet) for _ in range(n)) for _ in range(most)))


def _seconds(alphabet: tuple[str, ...], n: int, run: Run) -> tuple[float, float]:
    """Seconds whatever the number of words, and for each; when everything is warm. One word, which takes least, is
    timed several times: what else the machine does only adds."""
    words = _some_words(alphabet, n)
    one = _timed(words, run)
    if one < PATIENCE:
        one = min(_timed(words, run) for _ in range(3))
    for most in TIMED_WORDS:
        words = _some_words(alphabet, n, most)
        several = _timed(words, run)
        if several > PATIENCE / 2:
            break
    if len(words) == 1:
        return 0.0, one
    each = max(0.0, (several - one) / (len(words) - 1))
    return max(0.0, one - each), each


def _law(
    timings: Iterable[tuple[int, float, float]], positions: Callable[[int], int]
) -> Callable[[float], tuple[float, float]]:
    """Both kinds of seconds as a + b times the square of the number of positions, from the two longest lengths."""
    known = [(positions(n) ** 2, fixed, each) for n, fixed, each in timings]
    (first, *low), (last, *high) = known[0], known[-1]

    def line(square: float, a: float, b: float) -> float:
        slope = max(0.0, (b - a) / (last - first)) if last > first else 0.0
        return max(0.0, b + slope * (square - last))

    return lambda square: (line(square, low[0], high[0]), line(square, low[1], high[1]))
