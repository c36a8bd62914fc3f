"""A whole check: the choice of words, their order, the work of the processes, and the verdict with its rows.

To judge a word is to compare the answer with the expected one. The expected answer comes from the reference: the
semantics of a formula or program, or a specification. A word whose expected answer the reference leaves open is not
judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import groupby, islice, takewhile
from random import Random
from typing import Any, TypeVar

from hardsim.campaign.by_target import judging_of
from hardsim.campaign.checkpoint import Memory
from hardsim.campaign.draws import drawn_words
from hardsim.campaign.engines import (
    MARGIN,
)
from hardsim.campaign.failures import given_up
from hardsim.campaign.given import DRAW, ROW, GivenWords, accuracy_of
from hardsim.campaign.growth import growth
from hardsim.campaign.interrupts import interruptible, to_the_report, uninterrupted
from hardsim.campaign.preparation import (
    LengthPlan,
    Preparation,
    plan_length,
    prepare_words,
    tied,
)
from hardsim.campaign.result import (
    Accuracy,
    CheckResult,
    HardUndecided,
    JudgedLength,
    LengthCounts,
    LengthResult,
    Mismatch,
    Violation,
)
from hardsim.campaign.search import SEARCHED, Start, nearest, waves
from hardsim.campaign.tally import MOST_FAILURES, Tally, first_of
from hardsim.campaign.verdict import HOW, judge, shorter_left
from hardsim.campaign.void_bounds import first_failure
from hardsim.campaign.words import PAIRS, STRUCTURED_LIMIT, Effort, LanguageWords, WordPlan, plan_words, planned_count
from hardsim.campaign.workers import Crew, Job, LocalCrew, Shard, processors
from hardsim.errors import InputError
from hardsim.lang.words import count_words
from hardsim.lazy_dataclass import dataclass
from hardsim.options.table import ALL, SHARE, Request
from hardsim.run.enclosure import nearest_float
from hardsim.targets.base import Target
from hardsim.targets.result import AUTO, ENGINES, FLOAT64, MPMATH, Answer, Word, WordError, settled
from hardsim.targets.subject import Subject

SHARD, SHARD_SYMBOLS = 64, 512
"""Number of words in a shard (what a worker takes at a time) where softmax runs them one by one, and number of their
symbols where a single process works: long words are reported, and kept in the checkpoint, one at a time."""
BATCH, BATCH_SYMBOLS, BATCH_PAIRS = 4096, 2**16, 2**24
"""Largest number of words, symbols and pairs of positions that are run at once in float64, so that progress is
visible."""
MOST_SYMBOLS = 5 * 10**7
"""Largest number of symbols of all words that are measured before the temperature is known. A symbol takes eight bytes,
and a word sixty more."""
PASSED = "passed"
"""Marker of a shard of words that a search of longer words came upon: they were not tried yet."""
WIDTH = 1e-6
"""Upper limit of the relative difference between two enclosures of a margin, where a word is run among different
words."""
ZERO = Fraction(0)
W = TypeVar("W")


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """Options that choose the words to check and the arithmetic.

    Every word of a length is tried where there are at most `exhaustive` of them, otherwise structured words, pairs of
    neighbours that differ in acceptance, and `samples` random words (by default 20 up to length 16 and 4 beyond, with
    fewer structured words there). Examples of a file that are longer than `max_n` are run too. `dps` is the number of
    decimal digits that balls begin with, or that mpmath has. `engine` is the arithmetic of the network: `auto` (float64
    with enclosures, and balls for the words that float64 cannot decide), `float64`, `ball`, or `mpmath`, which gives no
    enclosures. With `soft_words` share, softmax runs on some words only where an error bound decides the others
    (`LengthPlan.share`). With `words` these are tried and no others, and softmax runs on all of them.
    """

    max_n: int = 8
    exhaustive: int = 1024
    samples: int | None = None
    seed: int = 0
    dps: int | None = None
    workers: int = 1
    engine: str = AUTO
    soft_words: str = ALL
    words: GivenWords | None = None
    settled: int = -1
    """Length up to which a proof covers every word of an external network: there, only lengths are run of which every
    word is tried, and the shortest."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a check: words done of all words requested, the current length, mismatches and undecided words so
    far.

    `before` counts the words that an earlier run did, if this run resumes it. A word that is measured before the
    temperature is known counts half then, and half when softmax has answered.
    """

    n: int
    done: int
    total: int
    mismatches: int
    undecided: int = 0
    before: int = 0
    here: int = 0
    """Number of words of the current length that are done in the present pass over the words."""
    measuring: bool = False
    """True in the first of two passes, which measures the words before the temperature is known."""


class LengthWords:
    """How many words of the current length are done, where the words of a length come in parts, one after the other."""

    def __init__(self) -> None:
        self.count = self._length = 0

    def add(self, n: int, words: int) -> None:
        """Count words of length n."""
        self.count = words + (self.count if n == self._length else 0)
        self._length = n


Report = Callable[[Progress], None]


# ---- choice of words ----


MEMBERS = 8
"""Number of accepted words of a length that are requested from an oracle with an automaton."""
SHORT = 16
"""The length beyond which the default effort is smaller: long words cost more and repeat the same local situations."""


def effort(subject: Target, options: CheckOptions, n: int) -> Effort:
    """Return the effort (numbers of words of each sort) at length n. A subject that maps words to words gets no
    pairs."""
    return effort_at(n, options.exhaustive, options.samples, subject.acceptor)


def effort_at(n: int, exhaustive: int, samples: int | None, acceptor: bool = True) -> Effort:
    """Return the effort at length n for these options; `acceptor`: False for a subject that maps words to words."""
    # Long words cost more, so fewer are tried.
    usual, structured, pairs = (20, STRUCTURED_LIMIT, PAIRS) if n <= SHORT else (4, 12, 2)
    return Effort(exhaustive, usual if samples is None else samples, structured, pairs if acceptor else 0)


def requested(subject: Target, options: CheckOptions, n: int) -> int:
    """Return the largest number of words of length n that the check may try."""
    if options.words is not None:
        return len(options.words.by_length.get(n, ()))
    if n > options.max_n:
        return len(pinned(subject, options).get(n, ()))
    if subject.searches:
        return subject.possible(n) if whole(subject, options, n) else budget(options)
    # An upper limit: examples and accepted words may coincide with structured or random ones.
    seeds = sum(len(word) == n for word, _ in subject.examples) + MEMBERS * hasattr(subject.oracle, "automaton")
    return planned_count(len(subject.alphabet), n, effort(subject, options, n), seeds)


def budget(options: CheckOptions) -> int:
    """Return the number of words of a length that a search may try: `samples`, or SEARCHED if that is None."""
    return SEARCHED if options.samples is None else options.samples


def whole(subject: Target, options: CheckOptions, n: int) -> bool:
    """Return True if every word of length n that may have an expected answer is tried."""
    return subject.possible(n) <= max(options.exhaustive, budget(options))


def count_requested(subject: Target, options: CheckOptions) -> int:
    """Return the largest number of words that a check may try, over all lengths up to the longest."""
    return sum(requested(subject, options, n) for n in lengths_of(subject, options) if n <= options.max_n)


def pinned(subject: Target, options: CheckOptions) -> dict[int, tuple[Word, ...]]:
    """Return the pinned words by length: the examples of a formula or a program that are longer than the longest
    length. They are always run. The examples of a network's file are not pinned: they belong to the formula that it was
    compiled from, or were checked when the file was read."""
    if not subject.pins or options.words is not None:
        return {}
    longer = dict.fromkeys(word for word, _ in subject.examples if len(word) > options.max_n)
    return {n: tuple(words) for n, words in groupby(sorted(longer, key=len), len)}


def lengths_of(subject: Target, options: CheckOptions) -> list[int]:
    """Return the lengths with words to try, in ascending order: all up to the longest (from 0 where an external
    network's empty word is judged too) and those of pinned words, or those of the words given."""
    if options.words is not None:
        return list(options.words.by_length)
    # Pinned lengths are longer than `max_n`, so this list is ascending.
    found = [*range(1, options.max_n + 1), *pinned(subject, options)]
    if not subject.searches:
        return found
    # A regular domain may have no words of some lengths.
    possible = [n for n in [0] * (subject.shortest == 0) + found if subject.possible(n)]
    return [n for n in possible if n > options.settled or n == possible[0] or whole(subject, options, n)]


def searched(subject: Target, options: CheckOptions) -> list[int]:
    """Return the lengths at which words are searched."""
    if not subject.searches or options.words is not None:
        return []
    return [n for n in lengths_of(subject, options) if n <= options.max_n and not whole(subject, options, n)]


def plan_of(subject: Target, options: CheckOptions, n: int, accepts: Callable[[Word], bool]) -> WordPlan:
    """Return the words to try of length n, which is one of `lengths_of`; `accepts` tells whether a word is accepted."""
    if n <= options.max_n and options.words is None:
        return words_of(subject, options, n, accepts)
    possible = count_words(len(subject.alphabet), n)
    words = pinned(subject, options)[n] if options.words is None else options.words.by_length[n]
    return WordPlan(n, possible, len(words) == possible, words)


def check_options_of(request: Request, subject: Target) -> CheckOptions:
    """Return the options that choose the words of a subject and the arithmetic, for a check. Raises InputError if the
    subject is an external network without a reference, and as `drawn_words`."""
    subject.require_reference()
    options = tried_of(request, subject)
    if subject.rows is not None:
        return given(options, GivenWords.of(subject.rows, ROW))
    if request.draws is None:
        return options
    if options.engine == MPMATH:
        message = "--draws counts words that are certainly right, and --engine mpmath has no error bounds"
        raise InputError(message, f"Leave out one of them; the default is --engine {AUTO}.")
    subject.require_lengths(options.max_n)  # before any word is drawn
    words, text = drawn_words(subject, request.distribution, request.draws, options.max_n, request.seed)
    return replace(options, words=GivenWords.of(words, DRAW, text))


def require_one_choice(request: Request) -> None:
    """Require that the options that choose the words go together. Raises InputError naming those that do not."""
    if request.data and request.against is not None:
        message = f"--data gives the expected answers, and so does --against {request.against}"
        raise InputError(
            message, f"Leave out one of them; `hardsim check {request.against} --data FILE` compares them."
        )
    if request.data and request.draws is not None:
        message = "--data and --draws both choose the words: rows of data are no draws of a distribution"
        raise InputError(message, "Leave out one of them.")
    if request.draws is None and "distribution" in request.written:
        raise InputError("--distribution needs --draws", "Give --draws N, such as --draws 1000.")


def given(options: CheckOptions, words: GivenWords) -> CheckOptions:
    """Return the options with which only the given words are tried."""
    return replace(options, words=words, max_n=words.longest)


def tried_of(request: Request, subject: Target) -> CheckOptions:
    """Return the options that choose words and arithmetic where nothing is judged. Words of an external network are no
    longer than its table of positions, unless `max_n` is given: then longer ones are refused later."""
    max_n = request.max_n
    # A default must not run into the end of the table; an explicit --max-n should be refused with the reason.
    if subject.longest is not None and "max_n" not in request.written:
        max_n = max(1, min(max_n, subject.longest))
    return CheckOptions(
        max_n,
        request.exhaustive,
        request.samples,
        request.seed,
        request.dps,
        engine=request.engine,
        soft_words=request.soft_words,
    )


class Deciding:
    """Acceptance of words, for the choice of words only: False on every word if the subject is no acceptor. Longer
    words are made from short ones, so the answers on words of up to SHORT symbols are kept."""

    def __init__(self, subject: Target) -> None:
        self.subject = subject
        self._requested = subject.decider()
        self._known: dict[Word, bool] = {}
        numbered = subject.numbered_decider() if subject.acceptor else None
        self.numbered = None if numbered is None else partial(_certain, numbered)
        """Acceptance of words of one length given as symbol numbers; None if there is no quicker way than by
        symbols."""

    def __call__(self, word: Word) -> bool:
        # Long words are rarely asked about twice, and would fill the memory.
        if len(word) > SHORT or not self.subject.acceptor:
            return self.many([word])[0]
        if word not in self._known:
            self._known[word] = _certain(lambda words: list(map(self._requested, words)), [word])[0]
        return self._known[word]

    def many(self, words: Sequence[Word]) -> list[bool]:
        """Return the acceptance of words of one length."""
        return _certain(self._answers, words) if self.subject.acceptor else [False] * len(words)

    def _answers(self, words: Sequence[Word]) -> Sequence[Any]:
        return self.subject.answers(words) or list(map(self._requested, words))


def _certain(decider: Callable[[Sequence[W]], Sequence[Any]], words: Sequence[W]) -> list[bool]:
    """Return True for the words that are accepted; False where the reference or the program fails."""
    try:
        return [answer is True for answer in decider(words)]
    except InputError:
        return [False] if len(words) == 1 else [_certain(decider, [word])[0] for word in words]


def words_of(subject: Target, options: CheckOptions, n: int, accepts: Callable[[Word], bool] | None = None) -> WordPlan:
    """Return the words of length n to try. They depend only on the subject, the options and the answers."""
    if subject.domain is not None:
        possible = subject.possible(n)
        if whole(subject, options, n):
            return WordPlan(n, possible, True, LanguageWords(subject.domain, n, possible))
        words = subject.domain.samples(n, budget(options), Random(f"{options.seed}/{n}/members"))
        return WordPlan(n, possible, len(words) == possible, words)
    return plan_words(
        subject.alphabet,
        n,
        effort(subject, options, n),
        options.seed,
        accepts or Deciding(subject),
        interesting((word for word, _ in subject.examples), subject.oracle, n, options.seed),
    )


def interesting(examples: Iterable[Word], oracle: Any, n: int, seed: int) -> Iterator[Word]:
    """Yield words that are worth trying: the examples (of any length) and, if the oracle has an automaton, up to
    MEMBERS accepted words of length n."""
    yield from examples
    if automaton := getattr(oracle, "automaton", None):
        yield from automaton.samples(n, MEMBERS, Random(f"{seed}/{n}/members"))


class Chooser:
    """A function object that chooses the words to try of one length, in any process."""

    def __init__(self, subject: Target, options: CheckOptions) -> None:
        self.subject, self.options, self.accepts = subject, options, Deciding(subject)

    def __call__(self, shard: Shard) -> WordPlan:
        return plan_of(self.subject, self.options, shard.n, self.accepts)


@dataclass(frozen=True, slots=True)
class Unchosen:
    """Marker of a shard with all words of its length, which are chosen where they are judged; `done` of them were
    tallied by an earlier run."""

    done: int = 0


class ChoosingJudge:
    """A function object that judges a shard by the function of a `job`, and first chooses the words of an `Unchosen`
    one."""

    def __init__(self, job: Job, subject: Target, options: CheckOptions) -> None:
        self.judge, self.choose = job.make(*job.parts), Chooser(subject, options)

    def __call__(self, shard: Shard) -> tuple[LengthPlan | None, Tally]:
        if not isinstance(shard.known, Unchosen):
            found: tuple[LengthPlan | None, Tally] = self.judge(shard)
            return found
        words = tuple(islice(self.choose(shard).words, shard.known.done, None))
        return self(Shard(shard.n, words)) if words else (None, Tally(shard.n))


def require_affordable(subject: Target, options: CheckOptions, lengths: Iterable[int]) -> None:
    """Raise InputError if the words that are measured before the first one is run do not fit in memory. Its hint names
    the options that make them fit."""
    # One network for every length needs no measurement: only other subjects keep the runs of all words in memory.
    symbols = 0
    for n in () if subject.one_network else lengths:
        symbols += n * requested(subject, options, n)
        if symbols > MOST_SYMBOLS:
            raise InputError(
                f"{subject.name}: the words up to length {n:,} have more than {MOST_SYMBOLS:,} symbols in all: no "
                "run keeps more",
                hint=f"Give --max-n below {n}, or fewer words of a length (--exhaustive, --samples).",
            )


def default_workers(subject: Target, options: CheckOptions) -> int:
    """Return the number of processes worth starting: one for a quick check, else one for each available processor."""
    lengths = set(lengths_of(subject, options))
    quick = subject.quick(lambda n: requested(subject, options, n) if n in lengths else 0, options.max_n)
    return 1 if quick else processors()


# ---- the run ----


def check_subject(
    subject: Target,
    options: CheckOptions,
    progress: Report | None = None,
    crew: Crew | None = None,
    memory: Memory | None = None,
    stopped: bool = False,
) -> CheckResult:
    """Compare semantics, hard attention and softmax on the words of length 1 to `options.max_n`, and on longer examples
    of a file.

    The words are shared by the workers of the `crew` (by default `options.workers` processes). Words that the `memory`
    has from an earlier run are not run again. A KeyboardInterrupt ends the check early, with a result that is marked
    partial; if one came before the check (`stopped`), the result is that of the memory alone. Raises InputError if an
    option is out of range, mpmath would need too many digits, the temperature is not positive at some length, or a word
    leaves the range of a program's construction (OutOfRange); WorkerFailure if workers are lost again and again."""
    _validate(subject, options)
    campaign = _Campaign(subject, options, progress, crew or LocalCrew(options.workers), memory or Memory())
    return to_the_report(campaign.run, campaign.result, stopped)


def _validate(subject: Target, options: CheckOptions) -> None:
    if options.engine not in ENGINES:
        raise InputError(f"unknown engine '{options.engine}'", hint=f"The engines are: {', '.join(ENGINES)}.")
    if options.max_n < 1:
        raise InputError(f"the largest length must be at least 1, not {options.max_n}")
    subject.require_lengths(options.max_n)
    lengths = lengths_of(subject, options)
    for n in lengths:
        subject.require_temperature(n)
    if options.engine == MPMATH:
        subject.require_digits(max(lengths), options.dps)


class _Campaign:
    """A check under way: its tallies by length. After an interruption the tallies so far are its partial result."""

    def __init__(
        self, subject: Target, options: CheckOptions, progress: Report | None, crew: Crew, memory: Memory
    ) -> None:
        self.subject, self.options, self.progress, self.crew, self.memory = subject, options, progress, crew, memory
        # Accuracy on given words is that of words that were run.
        shared = options.soft_words == SHARE and options.engine == AUTO and options.words is None
        self.judging = judging_of(subject, options.engine, options.dps, shared)
        # Lengths that are searched run after the others, in waves: each search starts from words that earlier ones
        # found.
        self.waves = waves(searched(subject, options))
        alone = [n for wave in self.waves for n in wave]
        self.lengths = [n for n in lengths_of(subject, options) if n not in alone]
        self.tallies = _resumed(memory.state or [], [*self.lengths, *alone])
        self.prepared: Preparation | None = None
        self.plans: dict[int, LengthPlan] = {}
        self.rows: dict[int, LengthCounts | None] = {}
        """The rows of lengths whose words are done, made while other processes run the words of longer ones."""
        self.done = self.wrong = self.undecided = self.unanswered = 0
        self._count(self.tallies.values())
        self.before = self.done
        self.most = {n: requested(subject, options, n) for n in [*self.lengths, *alone]}
        """The largest number of words of each length."""
        # The words of a resumed run may exceed it by the prefixes of searches.
        self.total = max(sum(self.most.values()), self.done)
        self.measured, self.here = 0, LengthWords()
        self.ended: WordError | None = None
        """The error about a whole length that ended the run early; None: it did not end so."""

    def run(self) -> None:
        """Tally every planned word that no tally has yet. An error about a whole length ends the run if a mismatch is
        known. Raises InputError for such an error without a known mismatch."""
        try:
            self._run()
        except InputError as error:
            known = (tally.mismatch for tally in self.tallies.values())
            # A known wrong word is worth more to the user than the error about a longer length.
            if not any(one is not None and one.refutes for one in known):
                raise
            self.ended = WordError(None, error.message, error.hint)

    def _run(self) -> None:
        measured = self.judging.measured
        if measured is None:
            self._tally(None, self._shards())
            # Generators: a wave's searches are made when the one before it is done, from the least margins found
            # there.
            for wave in self.waves:
                left = [n for n in wave if n not in self.tallies]
                self._tally(None, map(self._start, left, range(len(left), 0, -1)), len(left))
            if not self.failed:
                self._tally(None, iter(self._passed()))
            return

        def planned(total: int) -> None:
            self.total = max(total, self.done)

        def report_progress(n: int, words: int) -> None:
            self.measured += words
            self.here.add(n, words)
            self._advance(n)

        prepared, runs, _ = measure_all(
            measured, self.options, self.crew, planned, report_progress, self.lengths, tolerant=True
        )
        self.prepared = prepared
        # A resumed run skips complete lengths; the last one may be incomplete.
        latest = max(self.tallies, default=1)
        for n in runs:
            if n in self.tallies:  # it may be complete already, but the report needs its plan
                self.plans[n] = plan_length(prepared, measured, n, self.plans.get(n - 1))
        self._tally(prepared, (shard for n, shards in runs.items() if n >= latest for shard in shards))

    def _tally(self, prepared: Preparation | None, shards: Iterable[Shard], together: int = 0) -> None:
        known, latest = {n: tally.words for n, tally in self.tallies.items()}, 0

        def left() -> Iterator[Shard]:
            """Yield the shards without the words that an earlier run tallied."""
            for shard in shards:
                # A search has no fixed list of words, and its prefixes are not part of one: there is nothing to skip.
                if isinstance(shard.known, Start) or shard.known == PASSED:
                    yield shard
                    continue
                done = known.get(shard.n, 0)
                if isinstance(shard.known, Unchosen):
                    yield replace(shard, known=Unchosen(done))
                    continue
                known[shard.n] = max(0, done - len(shard.words))
                if done < len(shard.words):
                    yield Shard(shard.n, shard.words[done:]) if done else shard

        # Words that the user gave may be many, and are never chosen.
        choice = self.subject, replace(self.options, words=None)
        job = Job(ChoosingJudge, (self.judging.job(prepared), *choice))
        with closing(self.crew.run(job, left(), together)) as parts:
            for plan, part in parts:
                with uninterrupted():
                    # The tally, the count and the checkpoint must agree, so an interruption waits until all three are
                    # done.
                    if self._ends_before(part.n):
                        return
                    if plan is not None:
                        self.plans[part.n] = plan
                    if self.options.words is None:
                        part.outcomes.clear()  # which may be very many words
                    self.tallies.setdefault(part.n, Tally(part.n)).merge(part, self.subject.alphabet)
                    self.rows.pop(part.n, None)
                    if latest != part.n and latest in self.tallies:
                        self.rows[latest] = self.judging.row(self.tallies[latest], self.plans)
                    latest = part.n
                    self._count([part])
                    self.memory.keep(lambda: list(self.tallies.values()), self.done)
                    self._advance(part.n)

    def _count(self, tallies: Iterable[Tally]) -> None:
        """Count the words of some tallies as done, and those that are wrong, undecided or without an answer."""
        for tally in tallies:
            self.done += tally.words
            self.unanswered += tally.failed
            self.wrong += tally.soft_mismatches + tally.hard_mismatches
            self.undecided += tally.undecided

    @property
    def failed(self) -> list[WordError]:
        """The first words on which the reference or the program failed, shortest first."""
        found = [] if self.prepared is None else list(self.prepared.failures)
        found += [one for _, tally in sorted(self.tallies.items()) for one in tally.failures]
        return found + ([] if self.ended is None else [self.ended])

    def _ends_before(self, n: int) -> bool:
        """Return True if the run ends before length n. The answer depends on the results so far, not on the number of
        workers."""
        if n in self.tallies or not self.unanswered:
            return False
        bad = [length for length, tally in self.tallies.items() if tally.failed]
        # Words after the first length that failed: the run goes on for a while to look for a wrong word.
        after = sum(tally.words for length, tally in self.tallies.items() if length > min(bad))
        return given_up(sum(self.tallies[length].failed for length in bad), after)

    def _passed(self) -> list[Shard]:
        """Return shards of the prefixes that searches of longer words found with a margin below the least of their own
        length. They were not tried at that length."""
        found: dict[int, dict[Word, None]] = {}
        alone = set[int]().union(*self.waves)
        for tally in list(self.tallies.values()):
            for word, margin in tally.searched:
                own = self.tallies.get(len(word))
                least = None if own is None else own.extremes.get(MARGIN)
                # What was tried at its own length has the same margin, but for the width of enclosures.
                if (
                    len(word) in alone
                    and least is not None
                    and margin < nearest_float(least.bound) - WIDTH * abs(margin)
                ):
                    found.setdefault(len(word), {})[word] = None
        return [Shard(n, tuple(words), PASSED) for n, words in sorted(found.items())]

    def _start(self, n: int, rank: int) -> Shard:
        """Return the shard that searches length n, with its rank (see `Shard`). The search starts from the results of
        earlier waves and of the lengths of which every word was tried. Results of its own wave are not used, so that
        the order within a wave does not matter."""
        earlier = set(self.lengths).union(*takewhile(lambda wave: n not in wave, self.waves))
        known: list[tuple[Word, float]] = []
        for length in sorted(earlier & self.tallies.keys()):
            tally = self.tallies[length]
            least = tally.extremes.get(MARGIN)
            known += (one for one in tally.searched if one[0])
            # A length that was tried in full has no list of searched words, only its extreme.
            if not tally.searched and least is not None and least.word:
                known.append((least.word, nearest_float(least.bound)))
        return Shard(n, (), Start(budget(self.options), self.options.seed, nearest(n, known)), rank)

    def _shards(self) -> Iterator[Shard]:
        """Yield the shards of words to try, in order, from the last length tallied on: the lengths before it are
        complete."""
        accepts = Deciding(self.subject)
        for n in self.lengths[max(0, len(self.tallies) - 1) :]:
            # Batches of float64 do not depend on the number of processes, since roundings may depend on them.
            size = max(1, min(SHARD, SHARD_SYMBOLS // max(1, n))) if self.crew.alone else SHARD
            if self.options.engine in (AUTO, FLOAT64):
                size = max(1, min(BATCH, BATCH_SYMBOLS // max(1, n), BATCH_PAIRS // max(1, n) ** 2))
            size = min(size, self.subject.most_together(n) or size)
            if self.options.words is None and self.most[n] <= size:
                yield Shard(n, (), Unchosen())
                continue
            words = iter(plan_of(self.subject, self.options, n, accepts).words)
            while shard := tuple(islice(words, size)):
                yield Shard(n, shard)

    def _advance(self, n: int) -> None:
        if self.progress is not None:
            total = max(self.total, self.done)
            # Measured words are counted when they are measured and when they are run, hence the half.
            done = (self.measured + self.done) // 2 if not self.subject.one_network else self.done
            measuring = not self.subject.one_network and self.prepared is None
            here = self.here.count if measuring else self.tallies[n].words
            found = self.wrong, self.undecided, self.before
            self.progress(Progress(n, min(done, total), total, *found, here, measuring))

    # ---- result ----

    def _mismatch(self, lengths: Iterable[int]) -> Mismatch | None:
        """Return the first mismatch among the lengths: one that refutes a claim before others, then the shortest word;
        None if there is none."""
        found: Mismatch | None = None
        for n in lengths:
            if n in self.tallies:
                found = first_of(found, self.tallies[n].mismatch, self.subject.alphabet)
        return found

    def _hard_undecided(self, found: Mismatch | None) -> HardUndecided | None:
        """Return the first word on which hard attention itself decides nothing, with the output that is the reason;
        None if there is no such word. `found` is the mismatch of the check, which may be such a word."""
        word = None if self.prepared is None else self.prepared.undecided
        if word is None and found is not None and not found.direct and not settled(found.hard):
            word = found.word
        return None if word is None else self.judging.hard_undecided(word)

    def result(self, partial: bool) -> CheckResult:
        """Return the result of the check. An interruption while a mismatch is run again leaves it as it was found."""
        judging, subject, options, failed = self.judging, self.subject, self.options, self.failed
        found = self._found()
        lengths = tuple(one for one in found if isinstance(one, LengthResult))
        every, some = any(length.layers for length in lengths), any(tally.unjudged for tally in self.tallies.values())
        mismatch = self._mismatch(one.n for one in found)
        try:
            if not partial and mismatch is not None and mismatch.refutes:
                with interruptible():
                    mismatch = judging.again(mismatch, options.words is not None)
        except KeyboardInterrupt:
            partial = True
        tallies = [tally for _, tally in sorted(self.tallies.items())]
        violation = next(filter(None, (judging.violation(tally, self.plans) for tally in tallies)), None)
        broken, ties = ((), ()) if self.prepared is None else (self.prepared.broken, self.prepared.ties)
        escalated = sum(tally.escalated for tally in tallies)
        stuck = None if mismatch is not None else next(filter(None, (tally.stuck for tally in tallies)), None)
        # Without a wrong word the error is all there is to report.
        if failed and not partial and violation is None and (mismatch is None or not mismatch.refutes):
            raise failed[0].error
        least, regular = subject.shortest, subject.domain is not None
        # With a regular domain the possible words are exactly those with expected outputs.
        counted, some, engine = not some or regular, some or regular, subject.arithmetic(options.engine)
        undecided, accuracy = self._hard_undecided(mismatch), self._accuracy(tallies, broken, partial)
        verdict, reach = judge(
            found, mismatch, violation, engine, escalated, every, some, options.max_n, least, counted, undecided
        )
        return CheckResult(
            input=subject.name,
            sha256=subject.sha256,
            kind=subject.kind,
            formula=subject.formula_text,
            title=subject.file_title,
            model=replace(subject.facts, ties_broken=broken),
            engine=options.engine,
            seed=options.seed,
            max_n=options.max_n,
            exhaustive_limit=options.exhaustive,
            samples=options.samples,
            lengths=lengths,
            verdict=verdict,
            reach=self._reach(reach, accuracy if violation is None else None, mismatch) + tied(ties),
            mismatch=mismatch,
            violation=violation,
            ties=ties,
            hard_undecided=undecided,
            growth=growth([length for length in lengths if length.n <= options.max_n]),
            partial=partial,
            undecided_word=stuck,
            against=subject.against,
            judged=tuple(one for one in found if isinstance(one, JudgedLength)),
            shorter_left=shorter_left(mismatch, found, least),
            failed_first=first_failure({tally.n: judging.void(tally) for tally in tallies}),
            own=own_failure(subject, mismatch, violation),
            errors=tuple(failed[:MOST_FAILURES]),
            accuracy=accuracy,
            labelled=subject.rows is not None,
            needs_rows=subject.needs_rows,
        )

    def _found(self) -> list[LengthCounts]:
        """Return the row of every length that has one."""
        worded = {n: tally for n, tally in self.tallies.items() if tally.words}
        tallies = {n: Tally(n) for n in self.judging.unworded(max(worded, default=1))} | worded
        rows = {n: self.judging.row(tally, self.plans) for n, tally in tallies.items() if n not in self.rows}
        found = (rows.get(n, self.rows.get(n)) for n in sorted(tallies))
        return [row for row in found if row is not None]

    def _accuracy(self, tallies: Sequence[Tally], broken: Sequence[str], partial: bool) -> Accuracy | None:
        """Return the accuracy on given words; None for other words, and unless all of them were run. Where ties were
        `broken`, the network that was run depends on the words, so it has no accuracy on a distribution."""
        words = self.options.words
        if words is None or partial or self.failed:
            return None
        return accuracy_of(words, tallies, self.options.seed, not broken)

    def _reach(self, reach: str, accuracy: Accuracy | None, mismatch: Mismatch | None) -> str:
        """Return the reach of the verdict: the accuracy on given words, if that settles it, in place of `reach`."""
        if accuracy is not None and accuracy.share is not None and (mismatch is None or mismatch.refutes):
            reach = f"{accuracy.summary}; {HOW[self.subject.arithmetic(self.options.engine)]}"
        return reach if self.subject.against is None else f"{self.subject.reference_text}: {reach}"


def own_failure(subject: Target, mismatch: Mismatch | None, violation: Violation | None) -> bool | None:
    """Return True if a failing network is hardsim's own and unedited, False if it is not; None if nothing fails."""
    if mismatch is None and violation is None:
        return None
    return subject.own


def _resumed(tallies: Sequence[Tally], lengths: Sequence[int]) -> dict[int, Tally]:
    """Return the tallies of an earlier run by length. Raises ValueError if they do not belong to the first of these
    lengths."""
    if [tally.n for tally in tallies] != list(lengths[: len(tallies)]):
        raise ValueError("its lengths are not the first lengths of this request")
    if any(tally.words < 0 for tally in tallies):
        raise ValueError("a negative number of words")
    return {tally.n: tally for tally in tallies}


def measure_all(
    subject: Subject,
    options: CheckOptions,
    crew: Crew,
    planned: Callable[[int], None],
    report_progress: Callable[[int, int], None],
    lengths: Sequence[int],
    tolerant: bool = False,
) -> tuple[Preparation, dict[int, list[Shard]], dict[int, list[Answer]]]:
    """Run `prepare_words` on all planned words of these lengths. Return its preparation and, by length, the shards
    (words with their runs) and the answers of hard attention. `planned` is called with the number of words,
    `report_progress` with each length and the number of its words that are done. Raises InputError if the words do not
    fit in memory, or a word leaves the range of a program's construction (OutOfRange) and `tolerant` is False."""
    require_affordable(subject, options, lengths)
    with closing(crew.run(Job(Chooser, (subject, options)), (Shard(n, ()) for n in lengths))) as chosen:
        plans: dict[int, WordPlan] = {plan.n: plan for plan in chosen}
    planned(sum(len(plan.words) for plan in plans.values()))
    words, whole = {n: plan.words for n, plan in plans.items()}, {n: plan.exhaustive for n, plan in plans.items()}
    return prepare_words(subject, words, whole, crew, report_progress, tolerant=tolerant)
