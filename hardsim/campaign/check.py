"""A whole check: the choice of words, their order, the work of the processes, and the verdict with its rows.

To judge a word is to compare the answer with the expected one. The expected answer comes from the reference: the
semantics of a formula or program, or a specification. A word whose expected answer the reference leaves open is not
judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import count, groupby, islice, takewhile
from random import Random
from typing import Any, Protocol, TypeGuard

from hardsim.campaign.checkpoint import Memory
from hardsim.campaign.engines import (
    MARGIN,
    SUM,
    Hard,
    HardRunner,
    Place,
    SoftAnswer,
    SoftEngine,
    batches,
    head_bounds,
)
from hardsim.campaign.failures import given_up, tallied
from hardsim.campaign.growth import growth
from hardsim.campaign.interrupts import interruptible, to_the_report, uninterrupted
from hardsim.campaign.obstacles import hard_undecided
from hardsim.campaign.option_values import LARGEST_LENGTH
from hardsim.campaign.options import Request
from hardsim.campaign.result import (
    AUTO,
    BALL,
    CERTIFY,
    ENGINES,
    FLOAT64,
    MPMATH,
    OBSERVED_MISMATCH,
    Answer,
    CheckResult,
    FirstFailure,
    HardUndecided,
    HeadResult,
    JudgedLength,
    LayerResult,
    LengthResult,
    Mismatch,
    TemperatureRange,
    Verdict,
    Violation,
    Word,
    WordError,
    no_answer,
    plural,
    settled,
)
from hardsim.campaign.search import SEARCHED, LengthSearch, Start, nearest, waves
from hardsim.campaign.shrink import shrunk
from hardsim.campaign.tally import COUNTS, MOST_FAILURES, Tally, first_of, settle, settle_mismatch
from hardsim.campaign.theorem26 import (
    LengthPlan,
    Preparation,
    plan_length,
    prepare_words,
    refuted_gap,
    tied,
    unpacked,
)
from hardsim.campaign.void_bounds import exceeded_bound, first_failure, void_after
from hardsim.campaign.words import (
    PAIRS,
    STRUCTURED_LIMIT,
    Effort,
    LanguageWords,
    WordPlan,
    count_words,
    plan_words,
    planned_count,
)
from hardsim.campaign.workers import Crew, Job, LocalCrew, Shard, processors
from hardsim.errors import InputError
from hardsim.hard.exact import HardTrace
from hardsim.lang.reals import lower, upper
from hardsim.program.assemble import assemble
from hardsim.program.hard_attention import Program
from hardsim.run.mp import choose_digits
from hardsim.sharpening.measure import HeadFacts, measure
from hardsim.targets.base import Target
from hardsim.targets.external import External, NetworkJudge
from hardsim.targets.subject import Subject

SHARD, SHARD_SYMBOLS = 64, 512
"""Number of words in a shard (what a worker takes at a time) where softmax runs them one by one, and number of their
symbols where a single process works: long words are reported, and kept in the checkpoint, one at a time."""
BATCH, BATCH_SYMBOLS, BATCH_PAIRS = 4096, 2**16, 2**24
"""Largest number of words, symbols and pairs of positions that are run at once in float64, so that progress is
visible."""
QUICK, QUICK_PRODUCTS = 3_000_000, 10**9
"""Number of scores, and of products, that are computed faster than another process starts."""
MOST_SYMBOLS = 5 * 10**7
"""Largest number of symbols of all words that are measured before the temperature is known. A symbol takes eight bytes,
and a word sixty more."""
PASSED = "passed"
"""Marker of a shard of words that a search of longer words came upon: they were not tried yet."""
WIDTH = 1e-6
"""Upper limit of the relative difference between two enclosures of a margin, where a word is run among different
words."""
ZERO = Fraction(0)
NO_ANSWER = "hard attention itself gives no answer on a word: its outputs do not select exactly one symbol"
HOW = {
    AUTO: "in float64 with rigorous error bounds",
    FLOAT64: "in float64 with rigorous error bounds",
    BALL: "in ball arithmetic",
    MPMATH: "in mpmath (no rigorous enclosure)",
}


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """Options that choose the words to check and the arithmetic.

    Every word of a length is tried where there are at most `exhaustive` of them, otherwise structured words, pairs of
    neighbours that differ in acceptance, and `samples` random words (by default 20 up to length 16 and 4 beyond, with
    fewer structured words there). Examples of a file that are longer than `max_n` are run too. `dps` is the number of
    decimal digits that balls begin with, or that mpmath has. `engine` is the arithmetic of the network: `auto` (float64
    with enclosures, and balls for the words that float64 cannot decide), `float64`, `ball`, or `mpmath`, which gives no
    enclosures. With `words` these are tried and no others.
    """

    max_n: int = 8
    exhaustive: int = 1024
    samples: int | None = None
    seed: int = 0
    dps: int | None = None
    workers: int = 1
    engine: str = AUTO
    words: tuple[Word, ...] | None = None


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
        return sum(len(word) == n for word in options.words)
    if n > options.max_n:
        return len(pinned(subject, options).get(n, ()))
    if searches(subject):
        return subject.possible(n) if whole(subject, options, n) else budget(options)
    # An upper limit: examples and accepted words may coincide with structured or random ones.
    seeds = sum(len(word) == n for word, _ in subject.examples) + MEMBERS * hasattr(subject.oracle, "automaton")
    return planned_count(len(subject.alphabet), n, effort(subject, options, n), seeds)


def searches(subject: Target) -> TypeGuard[External]:
    """Return True if words with a wrong answer are searched at lengths of which not all words are tried: the subject is
    an external network with a reference."""
    return isinstance(subject, External) and subject.oracle is not None


def budget(options: CheckOptions) -> int:
    """Return the number of words of a length that a search may try: `samples`, or SEARCHED if that is None."""
    return SEARCHED if options.samples is None else options.samples


def whole(subject: External, options: CheckOptions, n: int) -> bool:
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
        return sorted({len(word) for word in options.words})
    # Pinned lengths are longer than `max_n`, so this list is ascending.
    found = [*range(1, options.max_n + 1), *pinned(subject, options)]
    if not searches(subject):
        return found
    # A regular domain may have no words of some lengths.
    return [n for n in [0] * (subject.shortest == 0) + found if subject.possible(n)]


def searched(subject: Target, options: CheckOptions) -> list[int]:
    """Return the lengths at which words are searched."""
    if not searches(subject) or options.words is not None:
        return []
    return [n for n in lengths_of(subject, options) if n <= options.max_n and not whole(subject, options, n)]


def plan_of(subject: Target, options: CheckOptions, n: int, accepts: Callable[[Word], bool]) -> WordPlan:
    """Return the words to try of length n, which is one of `lengths_of`; `accepts` tells whether a word is accepted."""
    if n <= options.max_n and options.words is None:
        return words_of(subject, options, n, accepts)
    possible = count_words(len(subject.alphabet), n)
    if options.words is None:
        words = pinned(subject, options)[n]
    else:
        words = tuple(dict.fromkeys(word for word in options.words if len(word) == n))
    return WordPlan(n, possible, len(words) == possible, words)


def check_options_of(request: Request, subject: Target) -> CheckOptions:
    """Return the options that choose the words of a subject and the arithmetic, for a check.

    Raises:
        InputError: if the subject is an external network without a reference.
    """
    if isinstance(subject, External) and subject.oracle is None:
        message = f"{subject.name} is an external network without a reference, so its expected outputs are unknown"
        hint = "Name a specification (.spec) instead, or compare with a file that gives the expected answers: "
        shown = "`hardsim check NETWORK --against FILE`. `hardsim eval` and `hardsim heads` need no reference."
        raise InputError(message, hint + shown)
    return tried_of(request, subject)


def tried_of(request: Request, subject: Target) -> CheckOptions:
    """Return the options that choose words and arithmetic where nothing is judged. Words of an external network are no
    longer than its table of positions, unless `max_n` is given: then longer ones are refused later."""
    max_n = request.max_n
    # A default must not run into the end of the table; an explicit --max-n should be refused with the reason.
    if isinstance(subject, External) and subject.network.longest is not None and "max_n" not in request.written:
        max_n = max(1, min(max_n, subject.network.longest))
    return CheckOptions(max_n, request.exhaustive, request.samples, request.seed, request.dps, engine=request.engine)


class Deciding:
    """Acceptance of words, for the choice of words only: False on every word if the subject is no acceptor. Longer
    words are made from short ones, so the answers on words of up to SHORT symbols are kept."""

    def __init__(self, subject: Target) -> None:
        self.subject = subject
        self._requested: Callable[[Word], Any] = subject.oracle or (
            HardRunner(subject).answer if isinstance(subject, Subject) else lambda word: None
        )
        self._known: dict[Word, bool] = {}

    def __call__(self, word: Word) -> bool:
        if not self.subject.acceptor:
            return False
        # Long words are rarely asked about twice, and would fill the memory.
        if len(word) > SHORT:
            with suppress(InputError):
                answers = self.subject.oracles([word]) or [self._requested(word)]
                return answers[0] is True
            return False
        if word not in self._known:
            self._known[word] = self._accepts(word)
        return self._known[word]

    def _accepts(self, word: Word) -> bool:
        """Return True if a word is accepted; False if the reference or the program fails on it."""
        with suppress(InputError):
            return self._requested(word) is True
        return False


def words_of(subject: Target, options: CheckOptions, n: int, accepts: Callable[[Word], bool] | None = None) -> WordPlan:
    """Return the words of length n to try. They depend only on the subject, the options and the answers."""
    if isinstance(subject, External) and subject.domain is not None:
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


def require_affordable(subject: Target, options: CheckOptions, lengths: Iterable[int]) -> None:
    """Raise InputError if the words that are measured before the first one is run do not fit in memory. Its hint names
    the options that make them fit."""
    # One network for every length needs no measurement: only other subjects keep the runs of all words in memory.
    symbols = 0
    for n in () if subject.one_network else lengths:
        symbols += n * requested(subject, options, n)
        if symbols > MOST_SYMBOLS:
            raise InputError(
                f"{subject.name}: the words up to length {n:,} alone have more than {MOST_SYMBOLS:,} symbols, the most "
                "that is measured at once",
                hint=f"Give --max-n below {n}, or fewer words of a length (--exhaustive, --samples).",
            )


def default_workers(subject: Target, options: CheckOptions) -> int:
    """Return the number of processes worth starting: one for a quick check, else one for each available processor."""
    if not isinstance(subject, Subject):
        entries = count_requested(subject, options) * options.max_n * subject.facts.parameters
        return 1 if entries < QUICK_PRODUCTS else processors()
    # Estimated work: scores of all heads at all pairs of positions for a hard-attention run, positions otherwise.
    heads, total = max(1, len(subject.program.heads)), 0
    if subject.sharpness is not None:
        return 1 if count_requested(subject, options) * options.max_n * heads < 200_000 else processors()
    for n in range(1, options.max_n + 1):
        total += requested(subject, options, n) * (subject.positions(n) + (not subject.program.bos)) ** 2
        if total * heads >= QUICK:  # whatever the longer lengths add
            return processors()
    return 1


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
    partial; if one came before the check (`stopped`), the result is that of the memory alone.

    Raises:
        InputError: if an option is out of range, mpmath would need too many digits, the temperature is not positive at
            some length, or a word leaves the range of a program's construction (OutOfRange).
        WorkerFailure: if workers are lost again and again.
    """
    _validate(subject, options)
    campaign = _Campaign(subject, options, progress, crew or LocalCrew(options.workers), memory or Memory())
    return to_the_report(campaign.run, campaign.result, stopped)


def _validate(subject: Target, options: CheckOptions) -> None:
    if options.engine not in ENGINES:
        raise InputError(f"unknown engine '{options.engine}'", hint=f"The engines are: {', '.join(ENGINES)}.")
    if options.max_n < 1:
        raise InputError(f"the largest length must be at least 1, not {options.max_n}")
    if isinstance(subject, External):
        subject.require_lengths(options.max_n)
    elif isinstance(subject, Subject) and subject.stored is not None:
        lengths = lengths_of(subject, options)
        for n in lengths:
            # A temperature depends on n alone, or on i alone: both run through all their values here.
            subject.stored.inverse_temperature(n, n)
        if options.engine == MPMATH:
            choose_digits(subject.stored, max(lengths), options.dps)


class _Campaign:
    """A check under way: its tallies by length. After an interruption the tallies so far are its partial result."""

    def __init__(
        self, subject: Target, options: CheckOptions, progress: Report | None, crew: Crew, memory: Memory
    ) -> None:
        self.subject, self.options, self.progress, self.crew, self.memory = subject, options, progress, crew, memory
        # Lengths that are searched run after the others, in waves: each search starts from words that earlier ones
        # found.
        self.waves = waves(searched(subject, options))
        alone = [n for wave in self.waves for n in wave]
        self.lengths = [n for n in lengths_of(subject, options) if n not in alone]
        self.tallies = _resumed(memory.state or [], [*self.lengths, *alone])
        self.prepared: Preparation | None = None
        self.plans: dict[int, LengthPlan] = {}
        self.before = self.done = sum(tally.words for tally in self.tallies.values())
        # `requested` is an upper limit, and the words of a resumed run may exceed it by the prefixes of searches.
        self.total = max(sum(requested(subject, options, n) for n in [*self.lengths, *alone]), self.done)
        self.measured = 0
        self.ended: WordError | None = None
        """The error about a whole length that ended the run early; None: it did not end so."""

    def run(self) -> None:
        """Tally every planned word that no tally has yet. An error about a whole length ends the run if a mismatch is
        known.

        Raises:
            InputError: for such an error without a known mismatch.
        """
        try:
            self._run()
        except InputError as error:
            known = (tally.mismatch for tally in self.tallies.values())
            # A known wrong word is worth more to the user than the error about a longer length.
            if not any(one is not None and one.refutes for one in known):
                raise
            self.ended = WordError(None, error.message, error.hint)

    def _run(self) -> None:
        subject, options = self.subject, self.options
        if subject.one_network or not isinstance(subject, Subject):
            self._tally(None, self._shards())
            # Generators: a wave's searches are made when the one before it is done, from the least margins found
            # there.
            for wave in self.waves:
                self._tally(None, (self._start(n) for n in wave if n not in self.tallies))
            if not self.failed:
                self._tally(None, iter(self._passed()))
            return

        def planned(total: int) -> None:
            self.total = max(total, self.done)

        def report_progress(n: int, words: int) -> None:
            self.measured += words
            self._advance(n)

        prepared, runs, _ = measure_all(
            subject, options, self.crew, planned, report_progress, self.lengths, tolerant=True
        )
        self.prepared = prepared
        # A resumed run skips complete lengths; the last one may be incomplete.
        latest = max(self.tallies, default=1)
        for n in runs:
            if n in self.tallies:  # it may be complete already, but the report needs its plan
                self.plans[n] = plan_length(prepared, subject, n, self.plans.get(n - 1))
        self._tally(prepared, (shard for n, shards in runs.items() if n >= latest for shard in shards))

    def _tally(self, prepared: Preparation | None, shards: Iterable[Shard]) -> None:
        known = {n: tally.words for n, tally in self.tallies.items()}

        def left() -> Iterator[Shard]:
            """Yield the shards without the words that an earlier run tallied."""
            for shard in shards:
                # A search has no fixed list of words, and its prefixes are not part of one: there is nothing to skip.
                if isinstance(shard.known, Start) or shard.known == PASSED:
                    yield shard
                    continue
                done = known.get(shard.n, 0)
                known[shard.n] = max(0, done - len(shard.words))
                if done < len(shard.words):
                    yield Shard(shard.n, shard.words[done:]) if done else shard

        subject, dps, engine = self.subject, self.options.dps, self.options.engine
        job = Job(network_judge, (subject, dps, engine))
        if isinstance(subject, Subject):
            job = Job(Judges, (subject, prepared, dps, engine))
        with closing(self.crew.run(job, left())) as parts:
            for plan, part in parts:
                with uninterrupted():
                    # The tally, the count and the checkpoint must agree, so an interruption waits until all three are
                    # done.
                    if self._ends_before(part.n):
                        return
                    if plan is not None:
                        self.plans[part.n] = plan
                    self.tallies.setdefault(part.n, Tally(part.n)).merge(part, self.subject.alphabet)
                    self.done += part.words
                    self.memory.keep(lambda: list(self.tallies.values()), self.done)
                    self._advance(part.n)

    @property
    def failed(self) -> list[WordError]:
        """The first words on which the reference or the program failed, shortest first."""
        found = [] if self.prepared is None else list(self.prepared.failures)
        found += [one for _, tally in sorted(self.tallies.items()) for one in tally.failures]
        return found + ([] if self.ended is None else [self.ended])

    def _ends_before(self, n: int) -> bool:
        """Return True if the run ends before length n. The answer depends on the results so far, not on the number of
        workers."""
        bad = [length for length, tally in self.tallies.items() if tally.failed]
        if n in self.tallies or not bad:
            return False
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
                if len(word) in alone and least is not None and margin < float(least.bound) - WIDTH * abs(margin):
                    found.setdefault(len(word), {})[word] = None
        return [Shard(n, tuple(words), PASSED) for n, words in sorted(found.items())]

    def _start(self, n: int) -> Shard:
        """Return the shard that searches length n. The search starts from the results of earlier waves and of the
        lengths of which every word was tried. Results of its own wave are not used, so that the order within a wave
        does not matter."""
        earlier = set(self.lengths).union(*takewhile(lambda wave: n not in wave, self.waves))
        known: list[tuple[Word, float]] = []
        for length in sorted(earlier & self.tallies.keys()):
            tally = self.tallies[length]
            least = tally.extremes.get(MARGIN)
            known += (one for one in tally.searched if one[0])
            # A length that was tried in full has no list of searched words, only its extreme.
            if not tally.searched and least is not None and least.word:
                known.append((least.word, float(least.bound)))
        return Shard(n, (), Start(budget(self.options), self.options.seed, nearest(n, known)))

    def _shards(self) -> Iterator[Shard]:
        """Yield the shards of words to try, in order, from the last length tallied on: the lengths before it are
        complete."""
        accepts = Deciding(self.subject)
        for n in self.lengths[max(0, len(self.tallies) - 1) :]:
            # Batches of float64 do not depend on the number of processes, since roundings may depend on them.
            size = max(1, min(SHARD, SHARD_SYMBOLS // max(1, n))) if self.crew.alone else SHARD
            if self.options.engine in (AUTO, FLOAT64):
                size = max(1, min(BATCH, BATCH_SYMBOLS // max(1, n), BATCH_PAIRS // max(1, n) ** 2))
            words = iter(plan_of(self.subject, self.options, n, accepts).words)
            while shard := tuple(islice(words, size)):
                yield Shard(n, shard)

    def _advance(self, n: int) -> None:
        if self.progress is not None:
            wrong = sum(one.soft_mismatches + one.hard_mismatches for one in self.tallies.values())
            undecided, total = sum(one.undecided for one in self.tallies.values()), max(self.total, self.done)
            # Measured words are counted when they are measured and when they are run, hence the half.
            done = (self.measured + self.done) // 2 if not self.subject.one_network else self.done
            self.progress(Progress(n, min(done, total), total, wrong, undecided, self.before))

    # ---- result ----

    def finished(self) -> Iterator[LengthResult]:
        """Yield the report's row for every length with a word tried."""
        subject = self.subject
        if not isinstance(subject, Subject):
            return
        for n, tally in sorted(self.tallies.items()):
            if tally.words and subject.one_network:
                yield budget_length(subject, tally, self.options.engine)
            elif tally.words and n in self.plans:
                yield theorem_length(subject, self.plans[n], tally)

    def judged(self) -> Iterator[JudgedLength]:
        """Yield the row of every length of an external network with a word tried, and of each shorter length without
        any word that has an expected answer."""
        if isinstance(self.subject, External):
            found = {n: tally for n, tally in self.tallies.items() if tally.words}
            if self.subject.domain is not None:
                found |= {n: Tally(n) for n in range(1, max(found, default=1)) if not self.subject.possible(n)}
            for _, tally in sorted(found.items()):
                yield judged_length(self.subject, tally, self.options.engine)

    def _mismatch(self, lengths: Sequence[WordCounts]) -> Mismatch | None:
        """Return the first mismatch among the lengths: one that refutes a claim before others, then the shortest word;
        None if there is none."""
        found: Mismatch | None = None
        for length in lengths:
            if length.n in self.tallies:
                found = first_of(found, self.tallies[length.n].mismatch, self.subject.alphabet)
        return found

    def _hard_undecided(self, found: Mismatch | None) -> HardUndecided | None:
        """Return the first word on which hard attention itself decides nothing, with the output that is the reason;
        None if there is no such word. `found` is the mismatch of the check, which may be such a word.
        """
        word = None if self.prepared is None else self.prepared.undecided
        if word is None and found is not None and not found.direct and not settled(found.hard):
            word = found.word
        return None if word is None or not isinstance(self.subject, Subject) else hard_undecided(self.subject, word)

    def _again(self, found: Mismatch | None) -> Mismatch | None:
        """Return a mismatch as the report shows it: shrunk for an external network, else with the digits of balls under
        `auto`."""
        subject, options = self.subject, self.options
        if found is None or not found.refutes:
            return found
        if isinstance(subject, External):  # reports show no more digits of it than float64 has
            # Words that the user named are reported as they are.
            simpler = options.words is None and options.engine != MPMATH
            return shrunk(subject, found, options.dps) if simpler else found
        if isinstance(subject, Subject):
            found = replace(found, no_output=subject.no_output(found.oracle))
        if not isinstance(subject, Subject) or not subject.one_network or options.engine != AUTO:
            return found
        return settle_mismatch(found, Judge(subject, subject.program, None, options.dps, BALL).answer)

    def result(self, partial: bool) -> CheckResult:
        """Return the result of the check. An interruption while a mismatch is run again leaves the mismatch as it was
        found."""
        lengths, judged = tuple(self.finished()), tuple(self.judged())
        every, some = any(length.layers for length in lengths), any(tally.unjudged for tally in self.tallies.values())
        mismatch = self._mismatch([*lengths, *judged])
        try:
            if not partial:
                with interruptible():
                    mismatch = self._again(mismatch)
        except KeyboardInterrupt:
            partial = True
        tallies = [tally for _, tally in sorted(self.tallies.items())]
        violation = next(filter(None, map(self._violation, tallies)), None)
        subject, options, broken = self.subject, self.options, () if self.prepared is None else self.prepared.broken
        escalated = sum(tally.escalated for tally in tallies)
        stuck = None if mismatch is not None else next(filter(None, (tally.stuck for tally in tallies)), None)
        found: list[JudgedCounts] = [*lengths, *judged]
        failed = self.failed
        # Without a wrong word the error is all there is to report.
        if failed and not partial and violation is None and (mismatch is None or not mismatch.refutes):
            raise failed[0].error
        least = subject.shortest if isinstance(subject, External) else 1
        regular = isinstance(subject, External) and subject.domain is not None
        # With a regular domain the possible words are exactly those with expected outputs.
        counted, some = not some or regular, some or regular
        undecided, ties = self._hard_undecided(mismatch), () if self.prepared is None else self.prepared.ties
        verdict, reach = judge(
            found, mismatch, violation, options.engine, escalated, every, some, options.max_n, least, counted, undecided
        )
        reach = reach if subject.against is None else f"{subject.reference_text}: {reach}"
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
            reach=reach + tied(ties),
            mismatch=mismatch,
            violation=violation,
            ties=ties,
            hard_undecided=undecided,
            growth=growth([length for length in lengths if length.n <= options.max_n]),
            partial=partial,
            undecided_word=stuck,
            against=subject.against,
            judged=judged,
            shorter_left=_shorter_left(mismatch, judged, least),
            failed_first=first_failure({tally.n: self._void(tally) for tally in tallies}),
            own=own_failure(subject, mismatch, violation),
            errors=tuple(failed[:MOST_FAILURES]),
        )

    def _void(self, tally: Tally) -> dict[str, FirstFailure]:
        """Return, by name, the heads whose bounds are void at a length, each with the head that failed first."""
        subject = self.subject
        if not isinstance(subject, Subject) or not subject.one_network or not subject.specified:
            return {}
        return void_after(subject.program, tally, self.options.engine)

    def _violation(self, tally: Tally) -> Violation | None:
        """Return a claim that a number of the tally refutes: a declared gap, or a bound; None if there is none."""
        plan, subject = self.plans.get(tally.n), self.subject
        if plan is not None:
            return plan.violation or exceeded(plan, tally, self.options.engine)
        if tally.violation is not None or not isinstance(subject, Subject) or not subject.one_network:
            return tally.violation
        if not subject.specified:  # bounds are about the specification, and this network differs from it
            return None
        allowed = {name: head.bound for name, head in head_bounds(subject, tally.n).items()}
        return exceeded_bound(allowed, self._void(tally), tally, self.options.engine)


def own_failure(subject: Target, mismatch: Mismatch | None, violation: Violation | None) -> bool | None:
    """Return True if a failing network is hardsim's own and unedited, False if it is not; None if nothing fails."""
    if mismatch is None and violation is None:
        return None
    return isinstance(subject, Subject) and subject.own


def _resumed(tallies: Sequence[Tally], lengths: Sequence[int]) -> dict[int, Tally]:
    """Return the tallies of an earlier run by length.

    Raises:
        ValueError: if they do not belong to the first of these lengths.
    """
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
    `report_progress` with each length and the number of its words that are done.

    Raises:
        InputError: if the words do not fit in memory, or a word leaves the range of a program's construction
            (OutOfRange) and `tolerant` is False.
    """
    require_affordable(subject, options, lengths)
    with closing(crew.run(Job(Chooser, (subject, options)), (Shard(n, ()) for n in lengths))) as chosen:
        plans: dict[int, WordPlan] = {plan.n: plan for plan in chosen}
    planned(sum(len(plan.words) for plan in plans.values()))
    words, whole = {n: plan.words for n, plan in plans.items()}, {n: plan.exhaustive for n, plan in plans.items()}
    return prepare_words(subject, words, whole, crew, report_progress, tolerant=tolerant)


class Judge:
    """The comparison of semantics, hard attention and softmax on words: at the length of a `plan` or, without a plan,
    by the one network that the subject has for every length. Called with a shard, it returns the tally of its words."""

    def __init__(
        self,
        subject: Subject,
        program: Program,
        plan: LengthPlan | None = None,
        dps: int | None = None,
        engine: str = AUTO,
    ) -> None:
        self.subject, self.program, self.plan = subject, program, plan
        self.hard = HardRunner(subject, program)
        network = subject.model if plan is None else assemble(program, plan.schedule)
        self.soft = SoftEngine(subject, network, program, engine, dps, subject.budget if plan is None else None)

    def __call__(self, shard: Shard) -> Tally:
        return self.tally(shard.words, shard.known)

    def tally(self, words: Sequence[Word], known: Sequence[bytes] | None = None) -> Tally:
        """Return the tally of words of one length; `known` are their exact runs, packed, if there are any."""
        whole = len(words)

        def tally(some: Sequence[Word]) -> Tally:
            return self._tally(some, known if len(some) == whole else None)

        return tallied(words, tally, self.subject.alphabet)

    def _tally(self, words: Sequence[Word], known: Sequence[bytes] | None) -> Tally:
        total = Tally(len(words[0]))
        prepared = [self.subject.prepared(word) for word in words]
        start = 0
        for hard in self.runs(prepared, known):
            some = slice(start, start + len(hard.answers))
            start = some.stop
            found = self.soft.batch(prepared[some], hard)
            part = Tally.of(words[some], self.subject.oracles(words[some]), hard.answers, found, self.subject.alphabet)
            part.note_gaps(hard.gaps)
            if self.plan is None and isinstance(hard.trace, HardTrace):
                # With a plan, declared gaps were compared when the plan was made.
                part.violation = refuted_gap(self.program, measure(self.program, prepared[some], hard.trace))
            total.merge(part, self.subject.alphabet)
        return total

    def answer(self, word: Word) -> SoftAnswer:
        """Return the answer and the measured numbers of the network on one word, in the arithmetic of single words."""
        prepared = self.subject.prepared(word)
        (hard,) = self.runs([prepared])
        return self.soft.words.answer(prepared, hard, 0)

    def runs(self, prepared: Sequence[Word], known: Sequence[bytes] | None = None) -> Iterator[Hard]:
        """Yield the exact runs of words of one length: those that are `known`, unpacked, or new ones."""
        if known is not None:
            return (Hard.of(self.subject, self.program, unpacked(data)) for data in known)
        size = len(prepared[0]) + self.program.bos
        return map(self.hard.run, [prepared] if self.subject.formula is not None else batches(prepared, size))


class Judges:
    """A function object that returns the tally of a shard of any length, in any process. With `prepared` runs it
    makes the plan of the shard's length, and returns this plan with the tally. Otherwise it uses the one network that
    the subject has for every length, and returns None in place of a plan.
    """

    def __init__(self, subject: Subject, prepared: Preparation | None, dps: int | None, engine: str) -> None:
        self.subject, self.prepared, self.dps, self.engine = subject, prepared, dps, engine
        self.plan: LengthPlan | None = None
        self.n = 0
        self.judge = None if prepared is not None else Judge(subject, subject.program, None, dps, engine)

    def __call__(self, shard: Shard) -> tuple[LengthPlan | None, Tally]:
        if self.prepared is not None and self.n != shard.n:
            self.n, self.plan = shard.n, plan_length(self.prepared, self.subject, shard.n, self.plan)
            self.judge = Judge(self.subject, self.prepared.program, self.plan, self.dps, self.engine)
        assert self.judge is not None
        return self.plan, self.judge(shard)


def network_judge(subject: External, dps: int | None, engine: str) -> Callable[[Shard], tuple[None, Tally]]:
    """Return the function that tallies the shards of an external network, with None in place of a plan."""
    judge = NetworkJudge(subject, dps, engine)

    def found(shard: Shard) -> tuple[None, Tally]:
        if isinstance(shard.known, Start):
            return None, LengthSearch(subject, judge, shard.n, shard.known).run()
        return None, judge.tally(shard.words)

    return found


# ---- the rows ----


def budget_length(subject: Subject, tally: Tally, engine: str) -> LengthResult:
    """Return the report's row for one length of a network with a budget, with the errors beside its bounds."""
    gap, numbers = settle(tally, engine)
    specified = subject.specified
    void = void_after(subject.program, tally, engine) if specified else {}
    claimed = head_bounds(subject, tally.n)
    # The largest over the coordinates that a head writes.
    errors = {
        name: max((numbers[place] for place in tally.errors if place[0] == name), default=ZERO) for name in claimed
    }
    heads = tuple(
        replace(
            head,
            error=within(tally, head.name, errors[head.name], head.bound),
            score_gap=tally.gaps.get(head.name),
            void=not specified or head.name in void,
            void_after=void[head.name].head if head.name in void else None,
        )
        for head in claimed.values()
    )
    worst = max(heads, key=lambda head: (head.error, head.void), default=None)
    return LengthResult(
        **_counts(subject, tally),
        score_gap=min((head.score_gap for head in heads if head.score_gap is not None), default=None),
        error=max((head.error for head in heads), default=ZERO),
        bound=max((head.bound for head in heads), default=ZERO),
        digits=tally.digits,
        heads=heads,
        acceptance_gap=gap,
        margin=numbers.get(MARGIN),
        sum_error=numbers.get(SUM),
        void=worst is not None and worst.void,
        void_after=None if worst is None else worst.void_after,
    )


def judged_length(subject: External, tally: Tally, engine: str) -> JudgedLength:
    """Return the report's row for one length of an external network."""
    _, numbers = settle(tally, engine)
    margin, possible = tally.extremes.get(MARGIN), subject.possible(tally.n)
    known = tally.words - tally.failed
    # With a domain, `possible` counts only words with expected outputs.
    tried = known if subject.domain is None else known - tally.unjudged
    return JudgedLength(
        n=tally.n,
        words=known - tally.unjudged,
        unjudged=tally.unjudged,
        positions_judged=tally.positions_judged,
        positions_unjudged=tally.positions_unjudged,
        possible=possible,
        exhaustive=tried == possible,
        mismatches=tally.soft_mismatches,
        undecided=tally.undecided,
        digits=tally.digits,
        margin=numbers.get(MARGIN),
        margin_word=None if margin is None else margin.word,
    )


def _counts(subject: Subject, tally: Tally) -> dict[str, Any]:
    possible = count_words(len(subject.alphabet), tally.n)
    counts = {name: getattr(tally, name) for name in COUNTS}
    if not subject.acceptor:
        counts["accepted"] = None
    known = tally.words - tally.failed
    counts |= {"n": tally.n, "words": known - tally.unjudged, "possible": possible, "exhaustive": known == possible}
    # Only a function may leave words open, so other reports have no such counts.
    if subject.by_function:
        for name in ("unjudged", "positions_judged", "positions_unjudged"):
            counts[name] = getattr(tally, name)
    return counts


def theorem_length(subject: Subject, plan: LengthPlan, tally: Tally) -> LengthResult:
    """Return the report's row for one length, with the errors beside the bounds of Theorem 26."""
    facts, bounds, program = plan.facts, plan.bounds, plan.program
    layers: list[LayerResult] = []
    heads: list[HeadResult] = []
    latest, errors = dict[str, Place](), tally.errors
    for number, (layer, seen, allowed) in enumerate(zip(program.layers, facts.layers, bounds.layers, strict=True)):
        steps: list[Fraction] = []
        for stage, limit in enumerate((allowed.attended, allowed.final)):
            # A step reports only coordinates that it changed; the others keep the error of the latest step that did.
            latest |= {place[2]: place for place in errors if place[:2] == (number, stage) and len(place) == 3}
            steps += [_largest(tally, latest.values(), limit), max(limit.values(), default=ZERO)]
        kinds = sorted(kind_of(seen.heads.get(head.name)) for head in layer.heads)
        kind = " and ".join(dict.fromkeys(kinds)) or "no attention"
        layers.append(LayerResult(number + 1, kind, seen.size, *steps))
        for head in layer.heads:
            rows, limit = seen.heads.get(head.name), {out: allowed.values[head.name, out] for out, _ in head.values}
            promised = head.promised(facts.n, program.first)
            heads.append(
                HeadResult(
                    name=head.name,
                    layer=number + 1,
                    purpose=head.purpose,
                    theorem=head.theorem,
                    error=_largest(tally, [(head.name, out) for out in limit], limit),
                    bound=max(limit.values(), default=ZERO),
                    score_gap=None if rows is None else rows.gap,
                    declared_gap=None if promised is None else min(promised),
                    kind=kind_of(rows),
                    most_maxima=1 if rows is None else max(rows.most),
                    score_range=ZERO if rows is None else rows.reach,
                )
            )
    least, largest = min(map(lower, plan.inverse)), max(map(upper, plan.inverse))
    return LengthResult(
        **_counts(subject, tally),
        score_gap=facts.gap,
        error=layers[-1].error if layers else ZERO,
        bound=bounds.final,
        digits=tally.digits,
        heads=tuple(heads),
        size=facts.largest,
        temperature=TemperatureRange(1 / largest, 1 / least),
        theorem=None if plan.solution is None else plan.solution.tau,
        epsilon=plan.epsilon,
        assumption=plan.assumption,
        sampled=plan.sampled,
        layers=tuple(layers),
    )


def _largest(tally: Tally, places: Iterable[Place], limit: Mapping[str, Fraction]) -> Fraction:
    """Return the largest of the errors at `places`: the upper end of its enclosure, or the largest bound if that lies
    between the error that some word is known to reach and this end."""
    found = [tally.extremes[place] for place in places if place in tally.extremes]
    bound, high = max(limit.values(), default=ZERO), max((Fraction(error.bound) for error in found), default=ZERO)
    return bound if max((error.reached for error in found), default=ZERO) <= bound < high else high


def within(tally: Tally, head: str, error: Fraction, bound: Fraction) -> Fraction:
    """Return the largest error of a head, or its bound if that lies between the error that some word reaches and this
    one.

    Both are proved limits of the error. A bound that some word attains would otherwise be below the end of an
    enclosure.
    """
    reached = max((found.reached for place, found in tally.errors.items() if place[0] == head), default=ZERO)
    return bound if reached <= bound < error else error


def kind_of(facts: HeadFacts | None) -> str:
    """Return the kind of attention of a head on the words seen: uniform (no `facts`), tieless (one largest score in
    every row) or ties."""
    if facts is None:
        return "uniform"
    return "tieless" if max(facts.most) == 1 else "ties"


def exceeded(plan: LengthPlan, tally: Tally, engine: str) -> Violation | None:
    """Return the error bound of a coordinate that a measured error exceeds, as a violation: the first by layer, step
    and name; None if there is none. This is certain unless mpmath computed the error."""
    for place in sorted(place for place in tally.errors if len(place) == 3):
        (number, stage, name), error = place, tally.errors[place]
        layer = plan.bounds.layers[number]
        bound = (layer.attended, layer.final)[stage][name]
        # A word attains `reached`; the upper end of an enclosure may exceed the bound without a contradiction.
        if error.reached > bound:
            what = f"the error bound of coordinate {name} in layer {number + 1}"
            return Violation(what, plan.facts.n, None, Fraction(error.reached), bound, engine == MPMATH)
    return None


# ---- the verdict ----


def judge(
    lengths: Sequence[JudgedCounts],
    mismatch: Mismatch | None,
    violation: Violation | None,
    engine: str,
    escalated: int = 0,
    every: bool = False,
    judged: bool = False,
    max_n: int = LARGEST_LENGTH,
    least: int = 1,
    counted: bool = True,
    undecided: HardUndecided | None = None,
) -> tuple[Verdict, str]:
    """Return the verdict and a sentence on the words it covers. Certain contradictions come first, then those that
    mpmath observed. One word without an answer leaves a check undecided.

    Args:
        max_n: the longest length; longer words are pinned.
        least: the shortest length.
        every: True if every error bound was checked too.
        judged: True if some words have no expected answer; these are not counted as tried.
        counted: True if words without an expected answer are counted among the possible words.
        undecided: a word on which hard attention itself decides nothing.
    """
    found: list[tuple[bool, str]] = []
    if mismatch is not None and mismatch.refutes:
        what = f"{mismatch.kind} disagree on a word of length {len(mismatch.word)}, the shortest mismatch found"
        if mismatch.no_output is not None:
            what = f"{mismatch.no_output.summary}; {what}"
        if mismatch.direct:
            what = wrong_on(mismatch, lengths, least)
        found.append((mismatch.certain(engine), what))
    if violation is not None:
        found.append((not violation.observed, f"{violation.what} does not hold at length {violation.n}"))
    if found:
        return contradiction(found)
    # Words without an expected answer are no evidence, so without judged words there is no verdict.
    if not any(length.words for length in lengths):
        left = sum(length.unjudged for length in lengths)
        message = (
            f"no word was judged: the reference leaves {plural(left, 'word')} open" if left else "no word was tried"
        )
        return Verdict.UNDECIDED, message
    if mismatch is not None:
        return Verdict.UNDECIDED, NO_ANSWER if undecided is None else undecided.summary
    stuck = sum(length.undecided for length in lengths)
    if stuck:
        total = sum(length.words for length in lengths)
        return Verdict.UNDECIDED, f"{no_answer(stuck, total)}; the others agree"
    # Only `auto` chooses the arithmetic word by word.
    in_balls = f", {escalated:,} of them in ball arithmetic" if escalated and engine == AUTO else ""
    claim = ": every answer and every error bound" if every else ""
    verdict = Verdict.OBSERVED if engine == MPMATH else Verdict.CERTIFIED
    tried = words_tried(lengths, max_n, "judged word" if judged else "word", least, counted)
    return verdict, f"{tried}, {HOW[engine]}{in_balls}{claim}"


def contradiction(found: Sequence[tuple[bool, str]]) -> tuple[Verdict, str]:
    """Return the verdict where a claim is contradicted; `found` has (certain?, text) pairs, and a certain one goes
    before one that mpmath observed."""
    certain, what = max(found, key=lambda one: one[0])
    return (Verdict.REFUTED, what) if certain else (Verdict.OBSERVED, f"{OBSERVED_MISMATCH}: {what}; {CERTIFY}")


def wrong_on(mismatch: Mismatch, lengths: Sequence[JudgedCounts], least: int = 1) -> str:
    """Return the text that an external network is wrong on a word, with the word that it was shrunk from."""
    n, first = len(mismatch.word), mismatch.shrunk_from
    expected = "" if mismatch.no_output is None else f"{mismatch.no_output.summary}; "
    if not n:
        return f"{expected}the network is wrong on the empty word"
    source = "" if first is None else f"a word of {len(first):,}" if len(first) > n else "another word with as many"
    of = f", shrunk from {source} symbols" if source else ""
    return f"{expected}the network is wrong on a word of length {n:,}{of}, {shortest(lengths, n, least)}"


def shortest(lengths: Sequence[JudgedCounts], n: int, least: int = 1) -> str:
    """Return the text on the length n of a wrong word: whether it is known to be the shortest."""
    return "the shortest: all shorter words were tried" if all_shorter(lengths, n, least) else "the shortest found"


def _shorter_left(mismatch: Mismatch | None, lengths: Sequence[JudgedCounts], least: int) -> bool:
    """Return True if an external network is wrong on a word, and not all shorter words were tried."""
    return mismatch is not None and mismatch.direct and not all_shorter(lengths, len(mismatch.word), least)


def all_shorter(lengths: Sequence[JudgedCounts], n: int, least: int = 1) -> bool:
    """Return True if all words of `least` to n - 1 symbols were tried, and none of them was left undecided."""
    return {length.n for length in lengths if length.exhaustive and not length.undecided} >= {*range(least, n)}


class WordCounts(Protocol):
    """A length with the number of its words that were tried."""

    @property
    def n(self) -> int:
        """The length, in symbols."""

    @property
    def words(self) -> int:
        """Number of words tried, without those that the reference leaves open or fails on."""

    @property
    def possible(self) -> int:
        """Number of words of the length; with a regular domain only of those in it."""

    @property
    def exhaustive(self) -> bool:
        """True if all possible words of the length were tried."""


class JudgedCounts(WordCounts, Protocol):
    """A length with the number of words tried, and the results on them."""

    @property
    def undecided(self) -> int:
        """Number of these words on which the network reaches no answer."""

    @property
    def unjudged(self) -> int:
        """Number of words that the reference leaves open."""


def lengths_text(lengths: Sequence[int]) -> str:
    """Return a text for ascending lengths, some of which may be left out: `lengths 1 to 8`, `3 lengths from 2 to 9`."""
    first, last = lengths[0], lengths[-1]
    if first == last:
        return f"length {first}"
    if len(lengths) == last - first + 1:
        return f"lengths {first} to {last}"
    if len(lengths) == 2:
        return f"lengths {first} and {last}"
    return f"{len(lengths)} lengths from {first} to {last}"


def words_tried(
    found: Sequence[WordCounts], max_n: int, noun: str = "word", least: int = 1, counted: bool = True
) -> str:
    """Return a text for the words tried: all words of `least` symbols up to some length, the number of longer ones, and
    the pinned ones. Unless `counted`, the number of possible words with an expected answer is unknown, and the text
    counts them `among` all words."""
    lengths = [length for length in found if length.n <= max_n]
    longer = [length for length in found if length.n > max_n and length.words]
    known = zip(lengths, count(least), strict=False)
    # Only lengths that follow each other without a gap, from `least` on, are reported as "all words up to".
    whole = sum(1 for _ in takewhile(lambda one: one[0].exhaustive and one[0].n == one[1], known))
    parts: list[str] = []
    if total := sum(length.words for length in lengths[:whole]):
        parts.append(f"all {total:,} {noun}s up to length {least + whole - 1}")
    rest = lengths[whole:]
    if rest:
        possible = sum(length.possible for length in rest)
        span = lengths_text([length.n for length in rest])
        shown = f"{possible:,}" if possible < 10**12 else f"about 10^{Decimal(possible).adjusted()}"
        among = f"of {shown} {noun}s" if counted else f"{noun}s among the {shown} words"
        parts.append(f"{sum(length.words for length in rest):,} {among} of {span}")
    if longer:
        up_to = "up to " if len(longer) > 1 else ""
        words = plural(sum(length.words for length in longer), "pinned word")
        parts.append(f"{words} of {up_to}{longer[-1].n:,} symbols")
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
