"""A whole check: which words, in which order, on how many processes, and what it amounts to."""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import islice
from multiprocessing import get_context

from hardsim.checking.compare import Judge
from hardsim.checking.result import (
    AUTO,
    BALL,
    ENGINES,
    FLOAT64,
    MPMATH,
    CheckResult,
    LengthResult,
    Mismatch,
    Verdict,
    Word,
)
from hardsim.checking.subject import Subject
from hardsim.checking.tally import Tally, first_of
from hardsim.checking.words import PAIRS, STRUCTURED_LIMIT, WordPlan, count_words, plan_length, planned_count
from hardsim.errors import InputError
from hardsim.lang.semantics import Oracle

SHARD = 64
"""Words that a worker takes at a time, where words are run one by one."""
BATCH = 512
"""Words that are run at once in float64, if they are short."""
BATCH_SYMBOLS = 2**15


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """How much to check.

    Every word of a length is tried where there are at most `exhaustive` of them, otherwise structured words, pairs of
    neighbours that differ in acceptance, and `samples` random words (by default 20 up to length 16 and 4 beyond, with
    fewer structured words there). `dps` asks for more decimal digits than needed. `engine` is the arithmetic of the
    network: `auto` (float64 with enclosures, balls for what that cannot decide, mpmath for the digits shown),
    `float64`, `ball`, or `mpmath`, which encloses nothing.
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
    """Where a check is: words done of all words requested, the length under way, mismatches so far."""

    n: int
    done: int
    total: int
    mismatches: int


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
    for n in range(1, options.max_n + 1):
        tried = effort(options, n)
        seeds = sum(len(example.word) == n for example in subject.file.examples)
        total += planned_count(size, n, options.exhaustive, tried.samples, seeds, tried.structured, tried.pairs)
    return total


def default_workers(subject: Subject, options: CheckOptions) -> int:
    """How many processes are worth starting: one for a quick check, else one for each available processor."""
    heads = max(1, len(subject.program.heads))
    quick = count_requested(subject, options) * options.max_n * heads < 200_000
    return 1 if quick else processors()


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_subject(subject: Subject, options: CheckOptions, progress: Report | None = None) -> CheckResult:
    """Compare oracle, hard attention and softmax on the words of length 1 to `options.max_n`.

    A KeyboardInterrupt ends it early with a result that is marked partial.

    Raises:
        InputError: if an option is out of range, `dps` is less than needed, or the temperature is not positive at
            some length.
    """
    _validate(subject, options)
    campaign = _Campaign(subject, options, progress)
    partial = False
    try:
        campaign.run()
    except KeyboardInterrupt:
        partial = True
    return _result(subject, options, campaign, partial)


def _validate(subject: Subject, options: CheckOptions) -> None:
    if options.engine not in ENGINES:
        raise InputError(f"unknown engine '{options.engine}'", hint=f"The engines are: {', '.join(ENGINES)}.")
    if options.max_n < 1:
        raise InputError(f"the largest length must be at least 1, not {options.max_n}")
    for n in range(1, options.max_n + 1):
        # A temperature depends on n alone, or on i alone: both run through all their values here.
        subject.model.inverse_temperature(n, n)
    judge = Judge(subject, options.dps)  # in every engine, mpmath says how many digits are needed
    for n in (1, options.max_n):
        judge.digits(n)


class _Campaign:
    """The tallies of one check, by length; what is there when it is interrupted is its partial result."""

    def __init__(self, subject: Subject, options: CheckOptions, progress: Report | None) -> None:
        self.subject = subject
        self.options = options
        self.progress = progress
        self.judge = Judge(subject, options.dps, options.engine)
        self.oracle = Oracle(subject.file)
        self.tallies: dict[int, Tally] = {}
        self.total = count_requested(subject, options)
        self.done = 0
        self.mismatches = 0

    def run(self) -> None:
        """Tally every planned word."""
        if self.options.workers == 1:
            for n, words in self._shards():
                part = Tally(n)
                self.judge.tally_all(words, part)
                self._merge(part)
            return
        self._run_parallel()

    def _run_parallel(self) -> None:
        """The same on several processes; shards come back in order, so the result does not depend on their number."""
        context = get_context("spawn")
        arguments = (self.subject, self.options.dps, self.options.engine)
        with ProcessPoolExecutor(self.options.workers, context, initializer=_start_worker, initargs=arguments) as pool:
            waiting: deque[Future[Tally]] = deque()
            shards = self._shards()
            try:
                while True:
                    for shard in islice(shards, 4 * self.options.workers - len(waiting)):
                        with without_interrupts():
                            waiting.append(pool.submit(_tally_shard, shard))
                    if not waiting:
                        return
                    self._merge(waiting.popleft().result())
            except KeyboardInterrupt:
                pool.shutdown(wait=True, cancel_futures=True)
                raise

    def _shards(self) -> Iterator[tuple[int, tuple[Word, ...]]]:
        for n in range(1, self.options.max_n + 1):
            self.tallies[n] = Tally(n)
            words, size = iter(self._plan(n).words), self._shard_size(n)
            while shard := tuple(islice(words, size)):
                yield n, shard

    def _shard_size(self, n: int) -> int:
        """Float64 runs batches that do not depend on the number of processes, since roundings may depend on them."""
        if self.options.engine in (AUTO, FLOAT64):
            return max(1, min(BATCH, BATCH_SYMBOLS // n))
        return 1 if self.options.workers == 1 else SHARD

    def _merge(self, part: Tally) -> None:
        self.tallies[part.n].merge(part, self.subject.file.alphabet)
        self._advance(part.n, part.words, part.mismatches)

    def _plan(self, n: int) -> WordPlan:
        tried = effort(self.options, n)
        return plan_length(
            self.subject.file.alphabet,
            n,
            self.options.exhaustive,
            tried.samples,
            self.options.seed,
            self.oracle.accepts,
            tuple(example.word for example in self.subject.file.examples),
            tried.structured,
            tried.pairs,
        )

    def _advance(self, n: int, words: int, mismatches: int) -> None:
        self.done += words
        self.mismatches += mismatches
        if self.progress is not None:
            self.progress(Progress(n, self.done, max(self.total, self.done), self.mismatches))

    def finished(self) -> Iterator[tuple[LengthResult, Mismatch | None]]:
        """The result of every length of which a word was tried, with its first mismatch."""
        for n, tally in sorted(self.tallies.items()):
            if tally.words:
                yield self.judge.finish(tally, count_words(len(self.subject.file.alphabet), n))


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Hold Ctrl-C back for a moment. A process that starts meanwhile inherits that, and never sees it: the parent alone
    answers, also while its workers are still importing."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ignore_interrupts() -> None:
    """In a worker: the parent alone answers Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


_worker: Judge


def _start_worker(subject: Subject, dps: int | None, engine: str) -> None:
    """Make the judge of this process; the parent alone answers Ctrl-C."""
    global _worker
    ignore_interrupts()
    _worker = Judge(subject, dps, engine)


def _tally_shard(shard: tuple[int, tuple[Word, ...]]) -> Tally:
    n, words = shard
    tally = Tally(n)
    _worker.tally_all(words, tally)
    return tally


def _result(subject: Subject, options: CheckOptions, campaign: _Campaign, partial: bool) -> CheckResult:
    found = tuple(campaign.finished())
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
        reach=_reach(lengths, mismatch, options.engine, escalated),
        mismatch=mismatch,
        partial=partial,
        stuck=None if mismatch is not None else stuck,
    )


def _verdict(lengths: tuple[LengthResult, ...], mismatch: Mismatch | None, engine: str) -> Verdict:
    """Never more than was earned: one word without an answer leaves a check undecided."""
    if mismatch is not None:
        return Verdict.REFUTED
    if not lengths or any(length.undecided for length in lengths):
        return Verdict.UNDECIDED
    return Verdict.OBSERVED if engine == MPMATH else Verdict.CERTIFIED


def _reach(lengths: tuple[LengthResult, ...], mismatch: Mismatch | None, engine: str, escalated: int) -> str:
    """What the verdict speaks of, in words."""
    if not lengths:
        return "no word was tried"
    if mismatch is not None:
        return f"{mismatch.kind} disagree on a word of length {len(mismatch.word)}, the shortest mismatch found"
    undecided = sum(length.undecided for length in lengths)
    if undecided:
        total = sum(length.words for length in lengths)
        return f"no answer of the softmax network was reached on {undecided:,} of {total:,} words; the others agree"
    return f"{_words_tried(lengths)}, {_by(engine, escalated)}"


def _by(engine: str, escalated: int) -> str:
    """By what arithmetic."""
    bounds = "gaps and margins are lower bounds, errors upper bounds"
    in_balls = f", {escalated:,} of them in ball arithmetic" if escalated else ""
    return {
        AUTO: f"in float64 with rigorous error bounds{in_balls}",
        FLOAT64: f"in float64 with rigorous error bounds ({bounds})",
        BALL: f"in ball arithmetic ({bounds})",
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
