"""Announce how long a run will take if that is over a minute, and show a progress bar.

Short lengths are timed. Longer ones are extrapolated along a line through two timed lengths: over the square of the
length for words, over positions or pairs of positions for proofs.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from math import log2
from random import Random
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

from hardsim.campaign import check as campaign
from hardsim.campaign.check import CheckOptions, Progress, count_requested
from hardsim.campaign.result import AUTO, FLOAT64, Word
from hardsim.campaign.search import BATCH as SEARCH_BATCH
from hardsim.campaign.search import Start, waves
from hardsim.campaign.tally import Tally
from hardsim.campaign.theorem26 import plan_length, prepare_words
from hardsim.campaign.words import count_words
from hardsim.campaign.workers import Answer, Shard
from hardsim.cli.streams import hushed, note
from hardsim.errors import HardsimError, Undecided
from hardsim.report.numbers import count, plural
from hardsim.targets.base import Target
from hardsim.targets.external import External
from hardsim.targets.subject import Subject
from hardsim.visible import visible

if TYPE_CHECKING:
    from hardsim.measuring.bound import BoundOptions, BoundSubject

LONG = 60.0
"""Number of seconds above which a run is announced as long."""
WATCHED, LATE = 1.0, 5.0
"""Seconds after which the rest of a task is estimated and its bar appears; seconds after which a task that allows no
estimate (reading a file, the first word) gets a remark.
"""
INTERVAL = 0.1
"""Seconds between two updates of a bar."""
TIMES = 3
"""Number of times that a quick task is timed; the least time counts, because other work of the machine only
adds to it.
"""

# Words.
EASY, ALONE, PROBE = 50_000, 25, 128
"""Number of symbols of all words up to which a run is certainly quick; factor by which that number is smaller if
words are run one by one; number of symbols of a given word up to which it is certainly quick.
"""
TIMED_LENGTHS = (4, 8, 16, 32, 64)
"""Lengths at which words are timed, until one word takes longer than PATIENCE; long words take most of the time."""
TIMED_WORDS = (2, 8, 32, 128, 512, 2048)
"""Numbers of words of the batches that are timed, until a batch takes half of PATIENCE and so is far above the
noise.
"""
FEW = 8
"""Number of words of a first small batch; if it shows that a check is quick, nothing more is timed."""
PATIENCE, SLOW = 0.2, 2.0
"""Seconds that a timed batch of words should take; seconds of one word above which no batches are timed."""

# Proofs.
EASY_LENGTH, EASY_POSITIONS = 1000, 100_000
"""Longest length, and number of positions of all lengths together, below which the proof of a formula is certainly
quick.
"""
TIMED_ALL, TIMED_HALF, TIMED_ONE = 32, 128, 256
"""Lengths whose proof is timed: all up to the first number, and the other two alone."""
STEEPEST = 2.2
"""Largest power of the length with which the time of a proof of that length grows."""
EASY_STRUCTURE, EASY_WORDS, ALIKE = 16, 50_000, 16
"""Sizes (see `_size`) up to which the proof of one length of a model is quick: if gaps follow from the weights, and if
all words are run; and the fraction 1/ALIKE of a length within which other lengths cost about the same.
"""
TIMED_CERTIFICATE, EASY_CERTIFICATE = 16, 32
"""Longest length that is certified for the estimate; longest length for which nothing is estimated."""

Run = Callable[[list[Word]], None]


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a run, in brackets of lengths in the order of the run: numbers of words, and their seconds in one
    process.
    """

    brackets: tuple[tuple[int, float], ...]
    max_n: int

    @property
    def words(self) -> int:
        """Return the number of words of all brackets."""
        return sum(words for words, _ in self.brackets)

    def seconds(self, workers: int = 1, done: int = 0) -> float:
        """Return about how many seconds the run takes in `workers` processes, without the first `done` words."""
        total = 0.0
        for words, seconds in self.brackets:
            left = max(0, words - done)
            done = max(0, done - words)
            total += seconds * left / max(1, words)
        return total / workers


@contextmanager
def patient(what: str) -> Iterator[None]:
    """Print a remark if the task in the `with` block takes long; for tasks whose time cannot be estimated."""
    late = threading.Timer(LATE, note, [f"{what}. Ctrl-C ends it."])
    # A daemon, so that it never keeps the process from ending.
    late.daemon = True
    late.start()
    try:
        yield
    finally:
        late.cancel()


def foretell(what: str, seconds: float, rest: str) -> None:
    """Print how long a task will take if that is over a minute; `rest` is the end of the message."""
    if seconds > LONG:
        note(f"{what} about {duration(seconds)}{rest}")


def announce(name: str, cost: Cost | None, workers: int, done: int = 0) -> None:
    """Print how long a run of words will take if that is long; `done` words are known from an earlier run."""
    if cost is None:
        return
    left = f"{count(max(1, cost.words - done))} more words" if done else f"{count(cost.words)} words"
    shared = f" on {workers} processes" if workers > 1 else ""
    foretell(
        f"{name}: {left} of up to {cost.max_n} symbols:",
        cost.seconds(workers, done),
        f"{shared}. Ctrl-C stops it and keeps what was found; --max-n, --exhaustive and --samples make it shorter.",
    )


def duration(seconds: float) -> str:
    """Return a number of seconds in words, rounded to whole units: the largest of days, hours and minutes of which
    there are at least two, otherwise seconds.
    """
    for size, unit in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{round(seconds / size):,} {unit}"
    return f"{round(seconds)} seconds"


def seconds_of(work: Callable[..., object], *arguments: object) -> float:
    """Return the number of seconds that a call takes."""
    started = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - started


class Foresight:
    """Estimates the rest of a task from the time of its first parts, and prints the estimate once if it is long. It
    fits tasks whose later parts cost at least as much as the first.
    """

    def __init__(self, name: str, parts: str) -> None:
        self._name, self._parts, self._answer_text = name, parts, False
        self._started = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        """Take note of a finished part; call this after every part."""
        passed = time.monotonic() - self._started
        left = passed * (total - done) / done
        if not self._answer_text and passed > WATCHED and left > LONG:
            self._answer_text = True
            foretell(f"{self._name}: {count(total - done)} more {self._parts}:", left, ", or more. Ctrl-C ends it.")


# ---- words ----


def announce_words(name: str, words: Sequence[Word], run: Callable[[Word], object]) -> None:
    """Print, before given words are run, how long they will take if some are long: the beginning of the longest word is
    timed.
    """
    longest = max(words, key=len)
    if len(longest) <= PROBE:
        return
    sizes, taken = [PROBE, 2 * PROBE], list[float]()
    with suppress(HardsimError), patient(f"{name}: even {PROBE} symbols take long"):
        taken = [seconds_of(run, longest[:size]) for size in sizes]  # the run itself reports the error, with the word
    message = f"{plural(len(words), 'word')} of up to {len(longest):,} symbols"
    cost = _line([size**2 for size in sizes], taken or [0.0, 0.0])
    foretell(f"{name}: {message}:", sum(cost(len(word) ** 2) for word in words), ". Ctrl-C ends it.")


def check_cost(subject: Target, options: CheckOptions) -> Cost | None:
    """Return the cost of a check, or None if it is small."""
    known: list[Answer] = []

    if isinstance(subject, External):
        return _network_cost(subject, options)

    def run(words: list[Word]) -> None:
        n = len(words[0])
        assert isinstance(subject, Subject)
        if subject.sharpness is not None:
            known[:] = known or [campaign.Judge(subject, subject.program, None, options.dps, options.engine)]
            known[0](Shard(n, tuple(words)))
            return
        prepared, runs, _ = prepare_words(subject, {n: words}, {n: False})
        plan = plan_length(prepared, subject, n)
        answer = campaign.Judge(subject, prepared.program, plan, options.dps, options.engine)
        for shard in runs[n]:
            answer(shard)

    return _words_cost(subject, options, run)


def _network_cost(subject: External, options: CheckOptions) -> Cost | None:
    """Return the cost of a check of an external network, or None if it is small. Lengths of which every word is tried
    cost by the batch; lengths that are searched run few words at a time.
    """
    judge = campaign.network_judge(subject, options.dps, options.engine)

    def run(words: list[Word]) -> None:
        judge(Shard(len(words[0]), tuple(words)))

    lengths = campaign.searched(subject, options)
    if not lengths:
        return _words_cost(subject, options, run)
    most, budget = max(lengths), campaign.budget(options)
    easy = _easy(subject, options, budget * len(lengths) * subject.positions(most))
    before = replace(options, max_n=lengths[0] - 1)
    short = _words_cost(subject, before, run) if before.max_n else None
    if easy and short is None:
        return None
    points: list[tuple[int, float]] = []
    with suppress(HardsimError):  # the run itself reports the error, with the word
        for n in sorted({min(lengths, key=lambda one: abs(one - timed)) for timed in TIMED_LENGTHS}):
            with patient(f"even the first words of {plural(n, 'symbol')} take long"):
                points.append((n, _search_seconds(judge, n, budget)))
            if len(points) > 1 and points[-1][1] > PATIENCE:
                break
        each = _line([subject.positions(n) ** 2 for n, _ in points[-2:]], [seconds for _, seconds in points[-2:]])
        some = short.brackets if short is not None else ((count_requested(subject, before), 0.0),)
        order = (n for wave in waves(lengths) for n in wave)
        found = tuple((budget, budget * each(subject.positions(n) ** 2)) for n in order)
        return Cost(some + found, options.max_n)
    return None


def _search_seconds(judge: Callable[[Shard], tuple[None, Tally]], n: int, budget: int) -> float:
    """Return the seconds that one word costs in a search of a length: in a batch, or alone if a word takes long."""
    for most in (1, SEARCH_BATCH):
        started = time.perf_counter()
        _, tally = judge(Shard(n, (), Start(min(most, budget), 0)))
        seconds = time.perf_counter() - started
        if seconds > PATIENCE:
            break
    return seconds / max(1, tally.words)


def bound_cost(target: BoundSubject, options: CheckOptions, expected: BoundOptions) -> Cost | None:
    """Return the cost of a bound report with its search for temperatures, or None if it is small."""
    from hardsim.measuring.bound import GRID, Reporter

    def run(words: list[Word]) -> None:
        n = len(words[0])
        whole = len(target.subject.alphabet) ** n <= options.exhaustive
        prepared, runs, answers = prepare_words(target.subject, {n: words}, {n: whole})
        known = tuple(one for shard in runs[n] for one in shard.known), answers[n]
        Reporter(target, options, expected, prepared)(Shard(n, tuple(words), known))

    return _words_cost(target.subject, options, run, GRID if expected.search else 1)


def _words_cost(subject: Target, options: CheckOptions, run: Run, times: int = 1) -> Cost | None:
    campaign.require_affordable(subject, options, range(1, options.max_n + 1))
    with suppress(HardsimError):  # the run itself reports the error, with the word
        return _cost(subject, options, run, times)
    return None


def _cost(subject: Target, options: CheckOptions, run: Run, times: int = 1) -> Cost | None:
    """Return the cost of words that are each run `times` times, or None if it is certainly small. A word alone costs
    more than a word of a batch.
    """
    max_n, positions = options.max_n, subject.positions

    def upto(n: int) -> int:
        return count_requested(subject, replace(options, max_n=n))

    if _easy(subject, options, upto(max_n) * positions(max_n) * times):
        return None
    if _quick(subject, max_n, run, upto(max_n) * times):
        return None
    singles: list[tuple[int, float]] = []
    for n in sorted({min(max_n, n) for n in TIMED_LENGTHS}):
        with patient(f"even one word of {plural(n, 'symbol')} takes long"):
            one = seconds_of(run, _some_words(subject, n))
        singles.append((n, one))
        if one > SLOW or (one > PATIENCE and len(singles) > 1):
            break
    if len(singles) == 1 and n > 1:
        singles.insert(0, (n // 2, seconds_of(run, _some_words(subject, n // 2))))
    points = [(n, 0.0, one) if one > SLOW else _batches(subject, options, n, run) for n, one in singles[-2:]]
    squares = [positions(n) ** 2 for n, _, _ in points]
    fixed, each = (_line(squares, [point[k] for point in points]) for k in (1, 2))
    brackets: list[tuple[int, float]] = []
    n = counted = 0
    while n < max_n:  # lengths that grow by a half
        before, n = n, min(max_n, n + 1 + n // 2)
        words = upto(n) - counted
        a, b = positions(before + 1), positions(n)
        # The mean of the squares between both ends of the bracket.
        square = (a * a + a * b + b * b) / 3
        brackets.append((words, (n - before) * fixed(square) + words * each(square)))
        counted += words
    return Cost(tuple(brackets), max_n)


def _easy(subject: Target, options: CheckOptions, symbols: int) -> bool:
    """Return True if a number of symbols certainly runs quickly; an external network is slower the more parameters it
    has.
    """
    factor = 1 if options.engine in (AUTO, FLOAT64) else ALONE
    large = isinstance(subject, External) and symbols * subject.facts.parameters * factor > campaign.QUICK_PRODUCTS
    return symbols * factor <= EASY and not large


def _quick(subject: Target, max_n: int, run: Run, words: int) -> bool:
    """Return True if a number of words certainly runs quickly, as a small batch shows. The cost of a length, and that
    of each of its words, grow at most with the square of the length.
    """
    for n in sorted({min(max_n, n) for n in (TIMED_LENGTHS[0], TIMED_LENGTHS[-1])}):
        one = seconds_of(run, _some_words(subject, n))
        if one > PATIENCE:
            return False
    warm, some = seconds_of(run, _some_words(subject, n)), _some_words(subject, n, FEW)
    several = seconds_of(run, some)
    # Of a batch an eighth at least is the words' own, however noisy the clock is.
    each = max((several - warm) / max(1, len(some) - 1), several / 8 / len(some))
    most = max_n * one + words * each
    return most * (subject.positions(max_n) / subject.positions(n)) ** 2 < LONG / 2


def _line(sizes: Sequence[float], seconds: Sequence[float]) -> Callable[[float], float]:
    """Return a function from size to seconds: the line through the first and the last timed size, which never
    falls and is never below 0.
    """
    rise = max(0.0, seconds[-1] - seconds[0])
    slope = rise / (sizes[-1] - sizes[0]) if sizes[-1] > sizes[0] else 0.0
    return lambda size: max(0.0, seconds[-1] + slope * (size - sizes[-1]))


def _some_words(subject: Target, n: int, most: int = 1) -> list[Word]:
    """Return up to `most` random words of length n. For an external network with expected outputs on some words only,
    return such words of the longest length up to n that has any.
    """
    rng = Random(n)
    if isinstance(subject, External) and subject.domain is not None:
        expected = (subject.domain.samples(m, most, rng) for m in range(n, 0, -1))
        if words := next(filter(None, expected), None):
            return words
    return list(dict.fromkeys(tuple(rng.choice(subject.alphabet) for _ in range(n)) for _ in range(most)))


def _batches(subject: Target, options: CheckOptions, n: int, run: Run) -> tuple[int, float, float]:
    """Return a length, the seconds that it costs once, and the seconds that each word adds, measured after a
    first run.
    """
    words = _some_words(subject, n)
    one = min(seconds_of(run, words) for _ in range(TIMES))
    for most in TIMED_WORDS:
        words = _some_words(subject, n, most)
        several = seconds_of(run, words)
        if several > PATIENCE / 2:
            break
    each = max(0.0, (several - one) / (len(words) - 1)) if len(words) > 1 else one
    # Words are chosen too; so many that it does not take long.
    samples = 20 if options.samples is None else min(20, options.samples)
    few = replace(options, exhaustive=min(256, options.exhaustive), samples=samples)
    started = time.perf_counter()
    planned = len(list(campaign.words_of(subject, few, n).words))
    return n, max(0.0, one - each), each + (time.perf_counter() - started) / max(1, planned)


# ---- proofs ----


def announce_proof(subject: Subject, min_n: int, max_n: int) -> None:
    """Print, before the proof of a formula, how long it will take if that is long."""
    from hardsim.proof.formulas import network

    every = 1 if network.one_for_all(subject.model, subject.program, None) else max_n - min_n + 1
    sites = max_n if every == 1 else network.positions(min_n, max_n)
    if (max_n < EASY_LENGTH and sites < EASY_POSITIONS) or sites > network.LARGEST:
        return
    advice = "fewer lengths" if every > 1 else "a shorter one"
    foretell(
        f"{subject.name}: a proof for {sites:,} positions takes",
        proof_seconds(subject, max_n, every, sites),
        f". Ctrl-C ends it without a verdict. --min-n and --max-n choose {advice}; --all-n proves every length by "
        "another argument.",
    )


def proof_seconds(subject: Subject, max_n: int, every: int, sites: int) -> float:
    """Return about how many seconds a proof takes. A position costs the same at all lengths, except for the sums over
    the positions that it sees, whose growth is measured on single lengths.
    """
    per_position = timed_proof(subject, 1, TIMED_ALL) / (TIMED_ALL * (TIMED_ALL + 1) / 2)
    half, one = (timed_proof(subject, n, n) for n in (TIMED_HALF, TIMED_ONE))
    # Measured on two lengths and so noisy: limited to what is possible.
    power = min(max(log2(one / half), 1.0), STEEPEST)
    longest: float = one * (max_n / TIMED_ONE) ** power
    return longest if every == 1 else longest + per_position * sites


def timed_proof(subject: Subject, min_n: int, max_n: int) -> float:
    """Return the number of seconds that it takes to prove some short lengths."""
    from hardsim.proving.prove import prove_subject

    heads = subject.formula is None
    return min(seconds_of(lambda: prove_subject(subject, max_n, heads, 0, min_n=min_n)) for _ in range(TIMES))


def announce_model_proof(subject: Subject, min_n: int, max_n: int) -> None:
    """Print, before the proof of a model or program, how long it will take if that is long: one length and half of it
    are timed.
    """
    from hardsim.proving.prove import EVERY, longest, prove_length

    reach = longest(subject, max_n)
    easy = EASY_STRUCTURE if subject.by_structure else EASY_WORDS
    if reach < min_n or _size(subject, reach) <= easy:
        return
    timed = next(n for n in range(1, reach + 1) if _size(subject, n + 1) > easy)
    lengths = sorted({max(1, timed // 2), timed})
    try:
        taken = [seconds_of(prove_length, subject, n, EVERY) for n in lengths]
    except HardsimError:  # the proof itself reports the error
        return
    line = _line([0, *(_size(subject, n) for n in lengths)][-2:], [0.0, *taken][-2:])
    seconds, n = 0.0, min_n
    while n <= reach:
        last = min(reach, n + n // ALIKE)
        seconds += (last - n + 1) * line(_size(subject, last))
        n = last + 1
    message = ". Ctrl-C ends it without a verdict; --min-n and --max-n choose fewer or shorter lengths."
    foretell(f"{subject.name}: a proof of lengths up to {reach:,} takes", seconds, message)


def _size(subject: Subject, n: int) -> int:
    """Return the size of a length of a model or program, to which the cost of its proof is linear: the number of
    positions, if the weights imply enough about all words at once, otherwise the number of pairs of positions of all
    words.
    """
    positions = subject.positions(n)
    return positions if subject.by_structure else count_words(len(subject.alphabet), n) * positions**2


def announce_certificate(subject: Subject, min_n: int, max_n: int) -> None:
    """Print, before a certificate is made, how long that will take if it is long. A certificate compares every position
    of every length with every other one; the checker, in exact arithmetic, takes as long.
    """
    if max_n <= EASY_CERTIFICATE:
        return
    from hardsim.proving.certificate import certificate

    try:
        taken = seconds_of(certificate, subject, TIMED_CERTIFICATE)
    except Undecided:
        return
    seconds = taken * sum(n * n for n in range(min_n, max_n + 1)) / sum(n * n for n in range(1, TIMED_CERTIFICATE + 1))
    message = (
        " to make, and `hardsim verify` as long to check it. Ctrl-C ends it without one; --min-n and --max-n choose "
        "fewer lengths."
    )
    foretell(f"{subject.name}: the certificate takes", seconds, message)


# ---- while it runs ----


class Bar:
    """A progress bar, which appears after a task has lasted a second, with the rate over half a minute and the time
    left.
    """

    def __init__(self, title: str, unit: str) -> None:
        self._title, self._unit = title, unit
        self._started = self._shown = time.monotonic()
        self._progress: RichProgress | None = None

    def update(self, state: Progress) -> None:
        """Show the state of a check; call this after every word or shard."""
        found = "no mismatch so far" if not state.mismatches else f"{count(state.mismatches)} mismatches"
        undecided = f", {count(state.undecided)} undecided" if state.undecided else ""
        self._title = f"length {state.n}, {found}{undecided}"
        self.show(state.done, state.total)

    def at_length(self, n: int, done: int, total: int) -> None:
        """Show the state of a length; call this after every part of it."""
        self._title = f"length {n}"
        self.show(done, total)

    def show(self, done: int, total: int) -> None:
        """Show `done` of `total` parts; call this after every part."""
        now = time.monotonic()
        # No flicker: quick tasks show no bar, and updates are rare.
        if now - self._started < WATCHED or (now - self._shown < INTERVAL and done < total):
            return
        self._shown = now
        if self._progress is None:
            self._progress = _rich()
            self._progress.add_task(visible(self._title), completed=done, total=total, rate="")
            self._progress.start()
            return
        (task,) = self._progress.tasks
        self._progress.update(task.id, completed=done, total=total, description=visible(self._title))
        if task.speed is not None:
            task.fields["rate"] = f"{task.speed:,.{0 if task.speed >= 10 else 1}f} {self._unit}/s"

    def close(self) -> None:
        """Remove the bar."""
        if self._progress is not None:
            self._progress.stop()


def _rich() -> RichProgress:
    text, rate = (TextColumn(f"{{task.{name}}}", markup=False) for name in ("description", "fields[rate]"))
    columns = text, BarColumn(bar_width=None), MofNCompleteColumn(), rate, TimeRemainingColumn()
    # The bar is on standard error, so that results can be piped.
    console = Console(file=sys.stderr, markup=False, emoji=False, highlight=False)
    return RichProgress(*columns, console=console, get_time=time.monotonic, transient=True)


@contextmanager
def bar(title: str, unit: str = "words") -> Iterator[Bar | None]:
    """Yield a progress bar for one task, or None if standard error is not a terminal or --quiet is given. The bar is
    removed when the task ends or is interrupted.
    """
    if hushed() or not sys.stderr.isatty():
        yield None
        return
    with closing(Bar(title, unit)) as shown:
        yield shown
