"""The bound report: for each length what theory allows, and what happens, at one temperature and at many."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from fractions import Fraction
from math import log

from hardsim.ahat.temperature import declared_gaps
from hardsim.checking.attention import AttentionOptions, AttentionSubject
from hardsim.checking.attention_campaign import (
    HOW,
    NO_ANSWER,
    contradiction,
    engine_of,
    exceeded,
    kind_of,
    length_result,
    summary,
)
from hardsim.checking.attention_plan import LengthPlan, Preparation, plan_length, prepare
from hardsim.checking.attention_result import AttentionLength, Growth, Violation
from hardsim.checking.attention_samples import words_by_length
from hardsim.checking.attention_tally import ErrorTally
from hardsim.checking.attention_words import SoftJudge
from hardsim.checking.bound_result import BoundHead, BoundLength, BoundResult
from hardsim.checking.bound_search import STEP, Found, Hunter, bits_needed
from hardsim.checking.campaign import CheckOptions, Progress, Report
from hardsim.checking.execution import Answer, Crew, Job, LocalCrew, Shard
from hardsim.checking.growth import fitted
from hardsim.checking.interrupts import held, interruptible
from hardsim.checking.result import MPMATH, Verdict, Word, no_answer
from hardsim.checking.words import count_words
from hardsim.lang.arith import Arith, parse_arith
from hardsim.net.model import Schedule
from hardsim.theory.rounding import least_width

ZERO = Fraction(0)


@dataclass(frozen=True)
class BoundSubject:
    """What a bound report is about: a hard-attention model and the schedule of which temperatures are multiples.

    For a formula the schedule is the regime's temperature, `used` the factor 1/beta, and `allowed` what theory allows
    each head of the compiled network at a length; otherwise the schedule is 1, the temperature used the theorem's, and
    the recursion says what is allowed.
    """

    subject: AttentionSubject
    schedule: Arith
    regime: str | None = None
    used: Fraction | None = None
    allowed: Callable[[str, int], Fraction] | None = None
    asymptotics: str = ""


@dataclass(frozen=True, slots=True)
class BoundOptions:
    """What to report; `gap` alone leaves out temperatures and errors."""

    gap: bool = False
    search: bool = True
    choice: AttentionOptions = field(default_factory=AttentionOptions)


def bound_report(
    target: BoundSubject,
    options: CheckOptions,
    wanted: BoundOptions,
    progress: Report | None = None,
    crew: Crew | None = None,
) -> BoundResult:
    """The report on lengths 1 to `options.max_n`; a KeyboardInterrupt ends it early, marked partial.

    The lengths are shared by the `crew` (by default `options.workers` processes).

    Raises:
        InputError: if an option does not apply, or a word leaves the range of a program's construction (OutOfRange).
        Undecided: if no temperature gives the wanted error.
        WorkerFailure: if workers are lost again and again.
    """
    report = _Report(target, options, wanted, progress, crew or LocalCrew(options.workers))
    with held():
        partial = False
        try:
            with interruptible():
                report.run()
        except KeyboardInterrupt:
            partial = True
        return report.result(partial)


@dataclass(frozen=True, slots=True)
class LengthFound:
    """What was found at one length besides its row: a claim that is refuted, a word answered wrongly (`certain`: not
    only as far as mpmath can tell), or why words have no answer."""

    row: BoundLength
    violation: Violation | None
    refuted: Word | None
    certain: bool
    unsettled: str


def reporter(target: BoundSubject, options: CheckOptions, wanted: BoundOptions, prepared: Preparation) -> Answer:
    """What reports on a length, given all its words."""
    return _Length(target, options, wanted, prepared).report


class _Length:
    """Reports on one length after the other."""

    def __init__(
        self, target: BoundSubject, options: CheckOptions, wanted: BoundOptions, prepared: Preparation
    ) -> None:
        self.target = target
        self.subject = target.subject
        self.options = options
        self.wanted = wanted
        self.prepared = prepared

    def schedule(self, factor: Fraction) -> Schedule:
        """The temperature that is so many times the schedule."""
        return parse_arith(f"({factor})*({self.target.schedule})")

    def report(self, shard: Shard) -> LengthFound:
        """The length of these words."""
        n, words = shard.n, shard.words
        plan = plan_length(self.prepared, self.subject, self._choice(), n)
        violation, refuted, certain, unsettled = plan.violation, None, False, ""
        possible = count_words(len(self.subject.alphabet), n)
        tally, found = ErrorTally(words=len(words)), Found(None, None, None)
        bits: int | None = 0
        if not self.wanted.gap:
            engine = engine_of(self.options.engine)
            judge = SoftJudge(self.subject, plan.model, self.prepared.hard, engine)
            tally = judge.tally(words)
            bits = None if tally.undecided else bits_needed(judge, words)
            violation = violation or self._exceeded(plan, tally)
            if tally.mismatch is not None and tally.mismatch.refutes:
                refuted, certain = tally.mismatch.word, tally.mismatch.certain(engine)
            elif tally.mismatch is not None:
                unsettled = NO_ANSWER
            elif tally.undecided:
                unsettled = f"{no_answer(tally.undecided, tally.words)} of length {n}"
            if self.wanted.search and plan.facts.gap is not None:
                hunter = Hunter(
                    self.subject, self.prepared.hard, self.schedule, words, plan.facts.exhaustive, self.options.seed
                )
                found = hunter.search(self._start(plan))
        shown = length_result(self.prepared.hard, n, possible, plan, tally)
        return LengthFound(self._row(n, shown, plan, found, bits), violation, refuted, certain, unsettled)

    def _exceeded(self, plan: LengthPlan, tally: ErrorTally) -> Violation | None:
        """An error that is larger than what theory allows, certainly so unless mpmath found it."""
        engine = self.options.engine
        if self.target.allowed is None:
            return exceeded(plan, tally, self.prepared.hard, engine)
        for (name, _), (low, _) in sorted(tally.values.items()):
            allowed = self.target.allowed(name, plan.facts.n)
            if low > allowed:
                what = f"the error bound of head {name}"
                return Violation(what, plan.facts.n, None, low, allowed, engine == MPMATH)
        return None

    def _choice(self) -> AttentionOptions:
        """The temperature used: what was asked for, a formula's own, else the theorem's."""
        choice = self.wanted.choice
        if choice.tau is None and self.target.used is not None:
            tau = parse_arith(f"({self.target.used})*({self.target.schedule})")
            return AttentionOptions(tau, choice.epsilon)
        return choice

    def _start(self, plan: LengthPlan) -> Fraction:
        """The theorem's temperature as a factor of the schedule: at most it at every position."""
        return plan.theorem / max(self._units(plan.facts.n))

    def _units(self, n: int) -> list[Fraction]:
        """The schedule at every position."""
        return [self.target.schedule.evaluate(i=i, n=n) for i in range(self.subject.hard.first, n + 1)]

    def _row(self, n: int, shown: AttentionLength, plan: LengthPlan, found: Found, bits: int | None) -> BoundLength:
        gaps = declared_gaps(plan.model, plan.facts)
        declared = [head.declared for head in shown.heads if head.declared is not None]
        heads = tuple(self._head(row_index, shown, plan) for row_index in range(len(shown.heads)))
        worst = max(heads, key=lambda head: (head.error, head.bound), default=None)
        rounded = max(1, (plan.facts.n).bit_length())
        return BoundLength(
            n=n,
            positions=plan.facts.n,
            words=shown.words,
            possible=shown.possible,
            exhaustive=shown.exhaustive,
            gap=shown.gap,
            declared=min(declared, default=None) if gaps else None,
            size=shown.size,
            epsilon=shown.epsilon,
            used=max(1 / beta / unit for beta, unit in zip(plan.inverse, self._units(plan.facts.n), strict=True)),
            theorem=self._start(plan),
            right=found.right,
            wrong=found.wrong,
            word=found.word,
            error=worst.error if worst else ZERO,
            bound=worst.bound if worst else ZERO,
            bits=bits,
            rounding_width=least_width(rounded, max(1, len(plan.model.layers))),
            assumption=shown.assumption,
            heads=heads,
        )

    def _head(self, index: int, shown: AttentionLength, plan: LengthPlan) -> BoundHead:
        row = shown.heads[index]
        allowed = self.target.allowed
        bound = row.bound if allowed is None else allowed(row.name, plan.facts.n)
        return BoundHead(
            name=row.name,
            layer=row.layer,
            kind=kind_of(plan.facts.heads.get(row.name)),
            declared=row.declared,
            gap=row.gap,
            reach=row.reach * max(plan.inverse),
            error=row.error,
            bound=bound,
        )


class _Report:
    """What was found, length by length; what is there when it is interrupted is its partial result."""

    def __init__(
        self, target: BoundSubject, options: CheckOptions, wanted: BoundOptions, progress: Report | None, crew: Crew
    ) -> None:
        self.target = target
        self.subject = target.subject
        self.options = options
        self.wanted = wanted
        self.progress = progress
        self.crew = crew
        self.found: list[LengthFound] = []
        self.prepared: Preparation | None = None
        self.violation: Violation | None = None
        self.refuted: Word | None = None
        self.certain = False
        self.unsettled = ""

    def run(self) -> None:
        words, whole = words_by_length(self.subject, self.options, range(1, self.options.max_n + 1))
        self.prepared = prepare(self.subject, words, whole)
        total, done = sum(len(some) for some in words.values()), 0
        job = Job(reporter, (self.target, self.options, self.wanted, self.prepared))
        with closing(self.crew.run(job, (Shard(n, tuple(some)) for n, some in words.items()))) as parts:
            for found in parts:
                with held():
                    self.found.append(found)
                    self.violation = self.violation or found.violation
                    self.certain = found.certain if self.refuted is None else self.certain
                    self.refuted = self.refuted or found.refuted
                    self.unsettled = self.unsettled or found.unsettled
                done += found.row.words
                if self.progress is not None:
                    wrong, undecided = (sum(one) for one in zip(*map(_counts, self.found), strict=True))
                    self.progress(Progress(found.row.n, done, total, wrong, undecided))

    def result(self, partial: bool) -> BoundResult:
        target, subject, lengths = self.target, self.subject, tuple(found.row for found in self.found)
        verdict, reach = self._verdict(lengths)
        return BoundResult(
            name=subject.name,
            sha256=subject.sha256,
            kind=subject.kind,
            regime=target.regime,
            schedule=str(target.schedule),
            grid=f"the theorem's temperature times ({STEP})^k, k = 0, 1, 2, ...",
            summary=summary(subject, self.prepared),
            seed=self.options.seed,
            lengths=lengths,
            growth=growths(lengths),
            asymptotics=target.asymptotics,
            ties=() if self.prepared is None else self.prepared.ties,
            verdict=verdict,
            reach=reach,
            violation=self.violation,
            refuted=self.refuted,
            partial=partial,
        )

    def _verdict(self, lengths: Sequence[BoundLength]) -> tuple[Verdict, str]:
        found: list[tuple[bool, str]] = []
        if self.violation is not None:
            what = f"{self.violation.what} does not hold at length {self.violation.n}"
            found.append((not self.violation.observed, what))
        if self.refuted is not None:
            what = f"softmax at this temperature is wrong on a word of length {len(self.refuted)}"
            found.append((self.certain, what))
        if found:
            return contradiction(found)
        if not lengths or self.unsettled:
            return Verdict.UNDECIDED, self.unsettled if lengths else "no word was tried"
        words = sum(length.words for length in lengths)
        what = "every declared gap" if self.wanted.gap else "every declared gap and every error bound"
        holds = f"{what} holds on {words:,} words up to length {lengths[-1].n}"
        if self.options.engine == MPMATH and not self.wanted.gap:
            return Verdict.OBSERVED, f"{holds}, {HOW[MPMATH]}"
        return Verdict.CERTIFIED, holds


def _counts(found: LengthFound) -> tuple[int, int]:
    """Whether a length refutes something, and whether it leaves something undecided."""
    return int(found.violation is not None or found.refuted is not None), int(bool(found.unsettled))


def tail(lengths: Sequence[BoundLength]) -> Sequence[BoundLength]:
    """The lengths from which on one head has the least gap: before, another law may hold."""
    start = len(lengths)
    name = tightest(lengths[-1]) if lengths else None
    while start > 0 and tightest(lengths[start - 1]) == name:
        start -= 1
    return lengths[start:] if len(lengths) - start >= 3 else lengths[-3:]


def tightest(length: BoundLength) -> str | None:
    """The head with the least gap, if any has one."""
    gaps = [(head.gap, head.name) for head in length.heads if head.gap is not None]
    return min(gaps)[1] if gaps else None


def growths(lengths: Sequence[BoundLength]) -> tuple[Growth, ...]:
    """Power laws fitted to the gap, the sizes, and 1/tau of the theorem and of the search, without their log n."""
    lengths = tail(lengths)  # n is that of the padded word
    series: Mapping[str, list[tuple[int, Fraction]]] = {
        "gap": [(x.positions, x.gap) for x in lengths if x.gap],
        "size": [(x.positions, x.size) for x in lengths if x.size],
        "1/tau of the theorem, over log n": [
            (x.positions, _over_log(1 / x.theorem, x.positions))
            for x in lengths
            if x.theorem and x.gap and x.positions > 1
        ],
        "1/tau found, over log n": [
            (x.positions, _over_log(1 / x.right, x.positions))
            for x in lengths
            if x.right and x.wrong and x.positions > 1
        ],
    }
    return fitted(series)


def _over_log(value: Fraction, n: int) -> Fraction:
    return value / Fraction(log(n))
