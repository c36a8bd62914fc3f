"""A whole check: which words, in which order, on how many processes, and what it amounts to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import islice

from hardsim.checking.checkpoint import Memory
from hardsim.checking.compare import Judge
from hardsim.checking.execution import Answer, Crew, Job, LocalCrew, Shard, processors
from hardsim.checking.interrupts import held, interruptible, to_the_report
from hardsim.checking.result import (
    AUTO,
    BALL,
    CERTIFY,
    ENGINES,
    FLOAT64,
    MPMATH,
    OBSERVED_MISMATCH,
    CheckResult,
    LengthResult,
    Mismatch,
    Verdict,
    Word,
    no_answer,
)
from hardsim.checking.soft import MpEngine
from hardsim.checking.subject import Subject
from hardsim.checking.tally import Tally, first_of
from hardsim.checking.words import PAIRS, STRUCTURED_LIMIT, WordPlan, count_words, plan_length, planned_count
from hardsim.errors import InputError
from hardsim.lang.semantics import Oracle
from hardsim.run.plan import make_plan

SHARD = 64
"""Words that a worker takes at a time, where words are run one by one."""
BATCH = 4096
"""Words that are run at once in float64, if they are short."""
BATCH_SYMBOLS = 2**16
BATCH_PAIRS = 2**24
"""Pairs of positions in such a batch: of long words there are few, so that a check shows how far it is."""


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """How much to check.

    Every word of a length is tried where there are at most `exhaustive` of them, otherwise structured words, pairs of
    neighbours that differ in acceptance, and `samples` random words (by default 20 up to length 16 and 4 beyond, with
    fewer structured words there). `dps` are the decimal digits that balls begin with, or all that mpmath has. `engine`
    is the arithmetic of the network: `auto` (float64 with enclosures, balls for what that cannot decide and for the
    digits shown), `float64`, `ball`, or `mpmath`, which encloses nothing.
    """

    max_n: int = 8
    exhaustive: int = 1024
    samples: int | None = None
    seed: int = 0
    dps: int | None = None
    workers: int = 1
    engine: str = AUTO


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a check is: words done of all words requested, the length under way, mismatches and undecided words so far.

    `before` words of these were done by an earlier run that is being resumed.
    """

    n: int
    done: int
    total: int
    mismatches: int
    undecided: int = 0
    before: int = 0


Report = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class Effort:
    """What is tried of a length that is not exhausted: random words, structured words, pairs."""

    samples: int
    structured: int
    pairs: int


SHORT = 16
"""The length beyond which the default effort is smaller: long words cost more and repeat the same local situations."""


def effort(options: CheckOptions, n: int) -> Effort:
    """The effort at length n."""
    default = Effort(20, STRUCTURED_LIMIT, PAIRS) if n <= SHORT else Effort(4, 12, 2)
    return default if options.samples is None else replace(default, samples=options.samples)


def count_requested(subject: Subject, options: CheckOptions) -> int:
    """How many words a check will try at most, over all lengths."""
    size, total = len(subject.file.alphabet), 0
    seeds = Counter(len(example.word) for example in subject.file.examples)
    for n in range(1, options.max_n + 1):
        tried = effort(options, n)
        total += planned_count(size, n, options.exhaustive, tried.samples, seeds[n], tried.structured, tried.pairs)
    return total


def plan_words(subject: Subject, options: CheckOptions, n: int, accepts: Callable[[Word], bool]) -> WordPlan:
    """The words of length n that are tried, which depend on nothing but the alphabet, examples, options and answers."""
    tried = effort(options, n)
    return plan_length(
        subject.file.alphabet,
        n,
        options.exhaustive,
        tried.samples,
        options.seed,
        accepts,
        tuple(example.word for example in subject.file.examples),
        tried.structured,
        tried.pairs,
    )


def default_workers(subject: Subject, options: CheckOptions) -> int:
    """How many processes are worth starting: one for a quick check, else one for each available processor."""
    heads = max(1, len(subject.program.heads))
    quick = count_requested(subject, options) * options.max_n * heads < 200_000
    return 1 if quick else processors()


def check_subject(
    subject: Subject,
    options: CheckOptions,
    progress: Report | None = None,
    crew: Crew | None = None,
    memory: Memory | None = None,
    stopped: bool = False,
) -> CheckResult:
    """Compare oracle, hard attention and softmax on the words of length 1 to `options.max_n`.

    The words are shared by the `crew` (by default `options.workers` processes). What the `memory` holds of an earlier
    run is not run again. A KeyboardInterrupt ends it early with a result that is marked partial; one that came before
    (`stopped`) leaves what the memory holds.

    Raises:
        InputError: if an option is out of range, mpmath would need too many digits, or the temperature is not positive
            at some length.
        WorkerFailure: if workers are lost again and again.
    """
    _validate(subject, options)
    campaign = _Campaign(subject, options, progress, crew or LocalCrew(options.workers), memory or Memory())
    return to_the_report(campaign.run, lambda partial: _result(subject, options, campaign, partial), stopped)


def _validate(subject: Subject, options: CheckOptions) -> None:
    if options.engine not in ENGINES:
        raise InputError(f"unknown engine '{options.engine}'", hint=f"The engines are: {', '.join(ENGINES)}.")
    if options.max_n < 1:
        raise InputError(f"the largest length must be at least 1, not {options.max_n}")
    for n in range(1, options.max_n + 1):
        # A temperature depends on n alone, or on i alone: both run through all their values here.
        subject.model.inverse_temperature(n, n)
    if options.engine == MPMATH:
        MpEngine(subject, make_plan(subject.model), options.dps).digits(options.max_n)


class _Campaign:
    """The tallies of one check, by length; what is there when it is interrupted is its partial result."""

    def __init__(
        self, subject: Subject, options: CheckOptions, progress: Report | None, crew: Crew, memory: Memory
    ) -> None:
        self.subject = subject
        self.options = options
        self.progress = progress
        self.crew = crew
        self.memory = memory
        self.judge = Judge(subject, options.dps, options.engine)
        self.oracle = Oracle(subject.file)
        self.tallies = _resumed(memory.state or [], options.max_n)
        self.total = count_requested(subject, options)
        self.before = self.done = sum(tally.words for tally in self.tallies.values())

    def run(self) -> None:
        """Tally every planned word that is not in a tally yet."""
        job = Job(tallier, (self.subject, self.options.dps, self.options.engine))
        with closing(self.crew.run(job, self._shards())) as parts:
            for part in parts:
                with held():
                    self.tallies.setdefault(part.n, Tally(part.n)).merge(part, self.subject.file.alphabet)
                    self._advance(part)

    def _shards(self) -> Iterator[Shard]:
        """The words that are not in a tally yet, in order: lengths before the last one tallied are complete."""
        latest = max(self.tallies, default=1)
        known = self.tallies[latest].words if self.tallies else 0
        for n in range(latest, self.options.max_n + 1):
            plan = plan_words(self.subject, self.options, n, self.oracle.accepts)
            words, size = islice(plan.words, known if n == latest else 0, None), self._shard_size(n)
            while shard := tuple(islice(words, size)):
                yield Shard(n, shard)

    def _shard_size(self, n: int) -> int:
        """Float64 runs batches that do not depend on the number of processes, since roundings may depend on them."""
        if self.options.engine in (AUTO, FLOAT64):
            return max(1, min(BATCH, BATCH_SYMBOLS // n, BATCH_PAIRS // n**2))
        return 1 if self.crew.alone else SHARD

    def _advance(self, part: Tally) -> None:
        self.done += part.words
        self.memory.keep(lambda: list(self.tallies.values()), self.done)
        if self.progress is not None:
            found = self.tallies.values()
            mismatches, undecided = sum(one.mismatches for one in found), sum(one.undecided for one in found)
            total = max(self.total, self.done)
            self.progress(Progress(part.n, self.done, total, mismatches, undecided, self.before))

    def finished(self, bounds_alone: bool = False) -> Iterator[tuple[LengthResult, Mismatch | None]]:
        """The result of every length of which a word was tried, with its first mismatch; with `bounds_alone` without
        running the words that are shown again, which takes as long as many others."""
        for n, tally in sorted(self.tallies.items()):
            if tally.words:
                yield self.judge.finish(tally, count_words(len(self.subject.file.alphabet), n), bounds_alone)


def _resumed(state: list[Tally], max_n: int) -> dict[int, Tally]:
    """The tallies of an earlier run by length.

    Raises:
        ValueError: if they are something else than those of lengths 1 to some length.
    """
    tallies = {tally.n: tally for tally in state}
    if list(tallies) != list(range(1, len(state) + 1)) or len(state) > max_n or any(t.words < 0 for t in state):
        raise ValueError("other tallies than those of lengths from 1 on")
    return tallies


def tallier(subject: Subject, dps: int | None, engine: str) -> Answer:
    """What tallies the words of a shard: three answers on each, held against each other."""
    judge = Judge(subject, dps, engine)

    def tally(shard: Shard) -> Tally:
        found = Tally(shard.n)
        judge.tally_all(shard.words, found)
        return found

    return tally


def _result(subject: Subject, options: CheckOptions, campaign: _Campaign, partial: bool) -> CheckResult:
    found: tuple[tuple[LengthResult, Mismatch | None], ...] = ()
    try:
        if not partial:
            with interruptible():
                found = tuple(campaign.finished())
    except KeyboardInterrupt:
        partial = True
    if partial:
        found = tuple(campaign.finished(bounds_alone=True))
    lengths = tuple(length for length, _ in found)
    mismatch: Mismatch | None = None
    for _, other in found:
        mismatch = first_of(mismatch, other, subject.file.alphabet)
    stuck = next((tally.stuck for _, tally in sorted(campaign.tallies.items()) if tally.stuck is not None), None)
    escalated = sum(tally.escalated for tally in campaign.tallies.values())
    return CheckResult(
        name=subject.name,
        sha256=subject.sha256,
        formula=subject.formula,
        model=subject.facts,
        engine=options.engine,
        seed=options.seed,
        max_n=options.max_n,
        exhaustive_limit=options.exhaustive,
        samples=options.samples,
        lengths=lengths,
        verdict=_verdict(lengths, mismatch, options.engine),
        reach=_reach(lengths, mismatch, options.engine, escalated, partial),
        mismatch=mismatch,
        partial=partial,
        stuck=None if mismatch is not None else stuck,
    )


def _verdict(lengths: tuple[LengthResult, ...], mismatch: Mismatch | None, engine: str) -> Verdict:
    """Never more than was earned: one word without an answer leaves a check undecided."""
    if mismatch is not None:
        return Verdict.REFUTED if mismatch.refutes(engine) else Verdict.OBSERVED
    if not lengths or any(length.undecided for length in lengths):
        return Verdict.UNDECIDED
    return Verdict.OBSERVED if engine == MPMATH else Verdict.CERTIFIED


def _reach(
    lengths: tuple[LengthResult, ...], mismatch: Mismatch | None, engine: str, escalated: int, partial: bool
) -> str:
    """What the verdict speaks of, in words."""
    if not lengths:
        return "no word was tried"
    if mismatch is not None:
        found = f"{mismatch.kind} disagree on a word of length {len(mismatch.word)}, the shortest mismatch found"
        return found if mismatch.refutes(engine) else f"{OBSERVED_MISMATCH}: {found}; {CERTIFY}"
    undecided = sum(length.undecided for length in lengths)
    if undecided:
        total = sum(length.words for length in lengths)
        return f"{no_answer(undecided, total)}; the others agree"
    return f"{_words_tried(lengths)}, {_by(engine, escalated, partial)}"


def _by(engine: str, escalated: int, partial: bool) -> str:
    """By what arithmetic; a check that was interrupted has not looked for the digits of its bounds."""
    bounds = " (gaps and margins are lower bounds, errors upper bounds)"
    in_balls = f", {escalated:,} of them in ball arithmetic" if escalated else ""
    return {
        AUTO: f"in float64 with rigorous error bounds{in_balls}{bounds if partial else ''}",
        FLOAT64: f"in float64 with rigorous error bounds{bounds}",
        BALL: f"in ball arithmetic{bounds}",
        MPMATH: "in mpmath (no rigorous enclosure)",
    }[engine]


def _words_tried(lengths: tuple[LengthResult, ...]) -> str:
    """All words up to some length, and how many of the longer ones."""
    whole = 0
    for length in lengths:
        if not length.exhaustive or length.n != whole + 1:
            break
        whole = length.n
    parts: list[str] = []
    if whole:
        parts.append(f"all {sum(length.words for length in lengths[:whole]):,} words up to length {whole}")
    rest = lengths[whole:]
    if rest:
        possible = sum(length.possible for length in rest)
        span = f"length {rest[0].n}" if len(rest) == 1 else f"lengths {rest[0].n} to {rest[-1].n}"
        shown = f"{possible:,}" if possible < 10**12 else f"about 10^{Decimal(possible).adjusted()}"
        parts.append(f"{sum(length.words for length in rest):,} of {shown} words of {span}")
    return " and ".join(parts)
