"""The bound report: for each length what theory allows beside what was measured, at one temperature and at many.

Temperatures are factors of the schedule of the subject (1 for hard-attention models and programs, the regime's for
formulas). A higher temperature may be right where a lower one is wrong, so every temperature of a grid is tried, from
the theorem's upwards, until one is wrong. Where not all words of a length are tried, words are then made adversarial at
the temperature before it: in the words with the least margin (distance of a rounded value from its threshold, or of the
output from its own) symbols are changed, and the words with a smaller margin are kept. If that finds a wrong word, the
same is done at the temperature before, and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from itertools import groupby
from math import log
from random import Random
from time import monotonic
from typing import Annotated

from hardsim.campaign.check import ZERO, CheckOptions, LengthWords, Progress, Report, measure_all, own_failure
from hardsim.campaign.engines import HardRunner, SoftEngine, allowed_error, batches
from hardsim.campaign.growth import fitted
from hardsim.campaign.interrupts import to_the_report, uninterrupted
from hardsim.campaign.judges import HardJudge
from hardsim.campaign.obstacles import hard_undecided
from hardsim.campaign.preparation import LengthPlan, Preparation, plan_length, tied
from hardsim.campaign.result import (
    Assumption,
    FirstFailure,
    FirstUndecided,
    Growth,
    HardUndecided,
    HeadKind,
    HeadResult,
    InputDigest,
    LayerNumber,
    Length,
    Mismatch,
    Own,
    Partial,
    Possible,
    Reach,
    Seed,
    Tie,
    Verdict,
    Violation,
    Void,
    VoidAfter,
    no_answer,
    verdict_summary,
)
from hardsim.campaign.rows import exceeded, theorem_length, within
from hardsim.campaign.tally import Tally
from hardsim.campaign.verdict import HOW, NO_ANSWER, contradiction
from hardsim.campaign.void_bounds import exceeded_bound, first_failure, void_after
from hardsim.campaign.words import changed_once
from hardsim.campaign.workers import Crew, Job, LocalCrew, Shard
from hardsim.lang.arith import Arith
from hardsim.lang.reals import Real, RealNumber, lower, upper
from hardsim.lazy_dataclass import dataclass
from hardsim.measuring.general_rate import GeneralRate, general_rate
from hardsim.network.transformer import Schedule, SoftWeighting
from hardsim.program.assemble import assemble
from hardsim.program.budget import Budget
from hardsim.program.hard_attention import Head, Program
from hardsim.records import Exact, Measured, Natural, Positive, Record, one_of
from hardsim.run.ball import BallArithmetic
from hardsim.run.forward import Forward
from hardsim.sharpening.rounded_lengths import rounded_limit
from hardsim.sharpening.theorem26 import declared_gaps
from hardsim.targets.result import MPMATH, Answer, InputKind, InputName, ModelFacts, Regime, Word, settled
from hardsim.targets.sharpness import GivenTemperature, OneNetwork
from hardsim.targets.subject import Subject
from hardsim.theory.rounding import least_width

STEP, GRID = Fraction(5, 4), 48
"""The grid of temperatures: the first one times 5/4 to the powers 0 to GRID - 1."""
EXPECTED_TRIES = 20
"""Number of temperatures that one length is expected to try before the first length is done."""
KEPT, ROUNDS, IDLE, TRIED = 8, 4, 1, 32
"""Number of words of least margin that are kept, greatest numbers of rounds of changes and of rounds in a row that find
no smaller margin, and number of changed words tried for each word kept."""
UNUSED = "dps", "a bound report finds the number of bits that settles every answer"
"""An option that does not apply to a bound report, and the reason."""
UNUSED_FOR_GAPS = (
    "beta tau epsilon engine tables all_lengths",
    "score gaps depend on no temperature, and have a row each",
)
"""Options that do not apply where only gaps are reported, and the reason."""
AT_ONCE, CELLS = 6, 1 << 18
"""Greatest numbers of temperatures that are run together, and of scores of a head for all of them."""
CHANGES = (1, 1, 2, 3)
"""Numbers of changes made to a word at once, one of which is drawn."""
LEAST_BITS, BIT_STEP, MOST_BITS = 8, 8, 4096


@dataclass(frozen=True, slots=True)
class Crossing:
    """The two temperatures (factors of the schedule) around the first wrong answer on the grid, with a wrong word.

    `right` is the last temperature up to which every answer is right, `wrong` the first with a wrong answer; each is
    None if there is none. A temperature at which a word has no answer is neither.
    """

    right: Fraction | None
    wrong: Fraction | None
    word: Word | None


class Hunter:
    """A search for wrong words of one subject at one length, at many temperatures.

    Args:
        program: the hard-attention program that softmax simulates, with ties broken.
        make: the schedule for a factor.
        expected: the answers of hard attention on the words, decided before ties were broken.
        whole: True if these are all words of the length.
        seed: the seed of the random changes of words.
        tried: called after each temperature.
    """

    def __init__(
        self,
        subject: Subject,
        program: Program,
        make: Callable[[Fraction], Schedule],
        expected: Mapping[Word, Answer],
        whole: bool,
        seed: int,
        tried: Callable[[], None] | None = None,
    ) -> None:
        self.tries, self._tried = 0, tried or (lambda: None)
        self.subject, self.program, self.make, self.whole = subject, program, make, whole
        self.words = list(expected)
        self.hard = HardRunner(subject)
        self._soft: SoftEngine | None = None
        """The engine at the temperature tried last, of which the next one shares parts."""
        self.expected: dict[Word, Answer] = dict(expected)
        self._right: dict[Fraction, list[tuple[float, Word]]] = {}
        """By temperature, words that are known to be right, with their approximate margins."""
        self.stuck = False
        # A generator for each length: the words tried do not depend on other lengths.
        self.rng = Random(f"{seed}/{len(self.words[0])}/adversary")

    def search(self, start: Fraction) -> Crossing:
        """Try the factor `start` and the grid above it on the given words, up to the first wrong one; then look for
        other wrong words below it."""
        factors = [start * STEP**power for power in range(GRID)]
        wrong: Word | None = None
        answered: list[bool] = []
        self.stuck = False
        for factor, row in zip(factors, self._ahead(factors), strict=True):
            wrong = self._known_wrong(factor, *row)
            self.tries += 1
            self._tried()
            if wrong is not None:
                break
            answered.append(not self.stuck)
        place = len(answered)
        # Words that are wrong at a lower temperature are near the words of least margin there. So words are changed at
        # the last temperature without a wrong one, and at those below it only as long as that finds a wrong word.
        while place and not self.whole:
            self.stuck = not answered[place - 1]
            found = self.wrong_word(factors[place - 1])
            answered[place - 1] = not self.stuck
            if found is None:
                break
            wrong, place = found, place - 1
        # An unanswered word may be wrong: no later temperature counts as one up to which all are right.
        known = answered[:place].index(False) if False in answered[:place] else place
        right = factors[known - 1] if known else None
        return Crossing(right, None if wrong is None else factors[place], wrong)

    def _known_wrong(
        self, factor: Fraction, row: Sequence[tuple[bool, Answer]], margins: Sequence[float]
    ) -> Word | None:
        """Return a word known that is wrong at a temperature, or None. `row` are the decisions of float64 on the words
        and `margins` their margins (see `_ahead`); if there are none, or a decision that is needed is open, words are
        run at this temperature alone."""
        for word, (sure, answer) in zip(self.words, row, strict=False):
            if not sure:
                break
            if answer != self.expected[word]:
                return word
        else:
            if row:
                self._right[factor] = list(zip(margins, self.words, strict=True))
                return None
        return self.wrong_word(factor, attack=False)

    def _ahead(self, factors: Sequence[Fraction]) -> Iterator[tuple[list[tuple[bool, Answer]], list[float]]]:
        """Yield for each temperature the decisions of float64 on the words and their margins, computed for several
        temperatures at once; nothing in place of them where one temperature has work enough."""
        size = len(self.subject.prepared(self.words[0])) + self.program.bos
        count = min(AT_ONCE, CELLS // (len(self.words) * size * size))
        if count < 2 or not all(map(settled, self.expected.values())):
            yield from (([], []) for _ in factors)
            return
        prepared = [self.subject.prepared(word) for word in self.words]
        for start in range(0, len(factors), count):
            schedules = [self.make(factor) for factor in factors[start : start + count]]
            yield from self._engine(schedules[0]).decisions_at(prepared, schedules)

    def _engine(self, schedule: Schedule) -> SoftEngine:
        """Return the engine at a temperature, which shares what depends on none with the one used last."""
        if self._soft is None:
            self._soft = SoftEngine(self.subject, assemble(self.program, schedule), self.program)
        else:
            self._soft = self._soft.at_temperature(schedule)
        return self._soft

    def wrong_word(self, factor: Fraction, attack: bool = True) -> Word | None:
        """Return a word that softmax certainly answers wrongly at the temperature `factor`, or None if none is found:
        one of the words known, or with `attack` a changed one. Set `stuck` if a word has no answer at this or an
        earlier temperature of the search."""
        soft = self._engine(self.make(factor))
        right = self._right.get(factor, [])
        known = {word for _, word in right}
        margins = self._margins(soft, [word for word in self.words if word not in known])
        if isinstance(margins, tuple):
            return margins
        return self._attack(soft, right + margins) if attack and not self.whole else None

    def _attack(self, soft: SoftEngine, margins: list[tuple[float, Word]]) -> Word | None:
        """Change symbols of the words of least margin, and return a wrong word if one is found, else None.

        The words of least margin join `words`, so that the next temperature starts from them.
        """
        known = {word for _, word in margins}
        best, idle = sorted(margins)[:KEPT], 0
        for _ in range(ROUNDS):
            changed = [self._changed(word) for _, word in best for _ in range(TRIED)]
            fresh = [word for word in dict.fromkeys(changed) if word not in known]
            known.update(fresh)
            missing = [word for word in fresh if word not in self.expected]
            self.expected.update(zip(missing, self.hard.answers(missing) if missing else [], strict=True))
            found = self._margins(soft, fresh)
            if isinstance(found, tuple):
                self.words.append(found)
                return found
            better = sorted([*best, *found])[:KEPT]
            # Where no changed word has a smaller margin, others are likely to have none, either.
            idle = idle + 1 if better == best else 0
            if idle == IDLE:
                break
            best = better
        self.words.extend(word for _, word in best if word not in self.words)
        return None

    def _changed(self, word: Word) -> Word:
        """Return a word with one or more symbols changed."""
        for _ in range(self.rng.choice(CHANGES)):
            word = changed_once(word, self.subject.alphabet, self.rng)
        return word

    def _margins(self, soft: SoftEngine, words: Sequence[Word]) -> list[tuple[float, Word]] | Word:
        """Return (margin, word) with the approximate margin for each word that softmax answers, or else the first word
        that it answers wrongly. A word without a certain answer is left out, and sets `stuck`."""
        found: list[tuple[float, Word]] = []
        size = len(self.subject.prepared(self.words[0])) + self.program.bos
        for some in batches(words, size):
            prepared = [self.subject.prepared(word) for word in some]
            # A word without an answer is likely to be one whose outputs are equal, at later temperatures too.
            for word, (decided, answer), margin in zip(some, *soft.margins(prepared, not self.stuck), strict=True):
                if not decided or not settled(self.expected[word]):
                    self.stuck = True
                elif answer != self.expected[word]:
                    return word
                else:
                    found.append((margin, word))
        return found


def bits_needed(soft: SoftEngine, prepared: Sequence[Word]) -> int | None:
    """Return the least working precision, in multiples of BIT_STEP bits, at which balls settle every answer; None if an
    answer is not settled with MOST_BITS bits."""
    # Words that a precision settles are dropped: more bits settle them too.
    # Reversed, since `pop` takes from the end.
    left = list(reversed(prepared))
    for bits in range(LEAST_BITS, MOST_BITS + 1, BIT_STEP):
        arithmetic = BallArithmetic(bits)
        forward = Forward(soft.network, arithmetic, margins=False)
        with arithmetic.precision():
            while left and soft.subject.is_settled(forward.run(left[-1])):
                left.pop()
        if not left:
            return bits
    return None


ASYMPTOTICS = {
    "temperature": "gap Omega(1/n), so Theorem 26 asks for 1/tau = O(n log n); with heads that look for one position "
    "(Lemma 6) 1/tau = beta n is enough",
    "position": "gap Omega(1), so Theorem 26 asks for 1/tau = O(log n); with heads that look for one position (Lemma "
    "6) 1/tau = beta is enough",
    "causal-temperature": "gap Omega(1/i^2), so Theorem 26 asks for 1/tau = O(n^2 log n); with heads that look for one "
    "position (Lemma 6) 1/tau(i) = beta i^2 is enough",
    "causal-position": "gap Omega(1), so Theorem 26 asks for 1/tau = O(log n); with heads that look for one position "
    "(Lemma 6) 1/tau = beta is enough",
    "geometric": "gaps do not matter: 1/tau = log(4 n) is enough, where the error is at most n/(4 n + 1); a constant "
    "1/tau = log(3) is enough for Y and X alone",
    "none": "gap Omega(1/n), so Theorem 26 asks for 1/tau = O(n log n); a constant 1/tau = beta is enough up to a "
    "length that grows with beta (Hahn's limit)",
}
NO_LIMIT = "rounding leaves no error, at any length"
# Growth for subjects without a regime.
GENERAL = "Theorem 26: 1/tau = O((1/gap) log(n X/(epsilon gap))); with gap >= n^-k and X <= n^k, O(n^k log n)"
PROGRAM = "gap Omega(n^-3) and X = O(1), so Theorem 26 asks for 1/tau = O(n^3 log n)"


# ---- results ----


@dataclass(frozen=True, slots=True, repr=False)
class BoundHead(Record):
    """One attention head over the words tried of one length."""

    name: str
    """Name of the head."""
    layer: LayerNumber
    kind: HeadKind | None
    """Kind of attention on the words tried: every score 0, always one largest score, or several; null where rows of
    scores were not measured."""
    score_gap: Exact | None
    """Least score gap; null for uniform heads and where no row has two different scores."""
    declared_gap: Exact | None
    """Least declared gap over the positions of the length; null if the head declares none."""
    logit_range: Measured
    """Largest difference of two visible logits of a row, in nats at the temperature used."""
    error: Measured
    """Largest error of what the head writes, over all words tried and all positions; upper end of its enclosure."""
    bound: Measured
    """Largest error that theory allows what the head writes."""
    void: Void = False
    void_after: VoidAfter = None


@dataclass(frozen=True, slots=True, repr=False)
class BoundLength(Record):
    """One length: what theory allows beside what was measured. Temperatures are multiples of `schedule`."""

    n: Length
    positions: Positive
    """Length of the words that the model reads: a program may pad them."""
    words: Natural
    """Number of words tried."""
    possible: Possible
    exhaustive: bool
    """True if all words of the length were tried."""
    score_gap: Exact | None
    """gap(n): the least score gap of all heads; null if no row has two different scores."""
    declared_gap: Exact | None
    """Least gap that a head declares; null if none does."""
    size: Exact
    """X(n): the largest activation between layers."""
    epsilon: Exact
    """Largest error that the theorem's temperature has to guarantee."""
    temperature: Exact
    """Largest temperature at which errors were measured; if it is irrational, a rational just above it."""
    theorem: Exact | None
    """Temperature of Theorem 26 for an error of at most epsilon; null for geometric attention, and with --gap where
    there is none."""
    right: Exact | None
    """Largest temperature of the grid such that it and all below are right on every word tried; null if there was no
    search, or the first temperature is not right."""
    wrong: Exact | None
    """Next temperature of the grid, which is wrong on a word; null if no temperature was found wrong."""
    word: Word | None
    """Word that is answered wrongly at the temperature `wrong`."""
    error: Measured
    """Largest error of what any head writes; 0 with --gap."""
    bound: Measured
    """Error that theory allows the head with the largest error."""
    bits: Natural | None
    """Least working precision in bits that settles every answer; 0 with --gap, null where an answer is not settled."""
    rounding_width: Positive
    """Lemma 27: the least width of a ReLU network of the model's depth that rounds numbers up to `positions`."""
    assumption: Assumption
    heads: tuple[BoundHead, ...]
    """The heads of all layers."""
    void: Void = False
    void_after: VoidAfter = None


@dataclass(frozen=True, repr=False)
class BoundResult(Record):
    """Gaps, temperatures and errors of one input (of a formula: in one regime)."""

    input: InputName
    sha256: InputDigest
    kind: InputKind
    regime: Regime | None
    """Regime of the temperatures; null for an input that was not compiled for a regime."""
    schedule: str
    """Schedule of which temperatures are multiples: an expression in i and n."""
    grid: str
    """Grid of temperatures of the search."""
    model: ModelFacts
    """Size and temperature of the network that the report is about."""
    seed: Seed
    lengths: tuple[BoundLength, ...]
    """Results, one for each length, in ascending order."""
    growth: tuple[Growth, ...]
    """Power laws in n, fitted to gaps, sizes and inverse temperatures."""
    asymptotics: str
    """Growth of 1/tau that the theorem requires; with rounding, whether it makes some length wrong."""
    general: GeneralRate | None
    """The theorem's temperature for general heads in closed form, beside the bounds that are proved for every length;
    null for an input that was compiled for a regime, and where the report is partial."""
    ties: tuple[Tie, ...]
    """Ties, one entry for each head that has ties."""
    verdict: Annotated[Verdict, one_of("CERTIFIED", "OBSERVED", "REFUTED", "UNDECIDED")]
    """Verdict. OBSERVED: mpmath computed the result, without certified bounds; `refuted` and `violation` tell whether a
    claim is contradicted."""
    reach: Reach
    violation: Violation | None = None
    """First claim that does not hold; null if there is none."""
    wrong_from: Natural | None = None
    """Length from which on rounding makes a head or a sum of the network wrong where its inputs allow it, computed from
    the format. Shorter words may be wrong, too, and the output may still be right. Null if no such length is known."""
    refuted: Word | None = None
    """First word, of the shortest length, that is answered wrongly at the temperature used; null if none is."""
    partial: Partial = False
    failed_first: FirstFailure | None = None
    """Head that failed first, if its failure voids a bound; otherwise null."""
    own: Own = None
    hard_undecided: FirstUndecided = None

    @property
    def summary(self) -> str:
        """The line that names the verdict, the input and the reach of the verdict."""
        return verdict_summary(self.verdict, self.input, self.reach, self.refuted)

    @property
    def agreed(self) -> bool:
        """True if no result contradicts a claim."""
        return self.violation is None and self.refuted is None


# ---- the subject of a report ----


@dataclass(frozen=True)
class BoundSubject:
    """The subject of a bound report, without sharpness, and the schedule of which temperatures are multiples.

    For a formula the schedule is the regime's temperature and `used` is the factor 1/beta; `heads` and `budget` give
    the error that theory allows each head of the compiled network. Otherwise the schedule is 1, the temperature used is
    the theorem's, and the recursion gives the allowed errors.
    """

    subject: Subject
    schedule: Arith
    model: ModelFacts
    asymptotics: str
    wrong_from: int | None = None
    used: Fraction | None = None
    budget: Budget | None = None
    heads: Mapping[str, Head] | None = None
    given: Subject | None = None
    """The original subject, if the scores of `subject` are changed."""

    @property
    def geometric(self) -> bool:
        """True for geometric attention, for which Theorem 26 has no temperature."""
        return self.subject.program.weighting is SoftWeighting.GEOMETRIC

    def allowed(self, name: str, n: int) -> Fraction | None:
        """Return the error that the budget allows a head at length n; None without a budget, where the recursion gives
        it."""
        if self.budget is None or self.heads is None:
            return None
        return allowed_error(self.budget, self.heads[name], n)


def bound_subject(subject: Subject, gap: bool = False, epsilon: Fraction | None = None) -> BoundSubject:
    """Return the subject of a bound report. With `gap` alone the scores stay as they are; otherwise the scores of heads
    with a larger beta of their own are multiplied, so that one temperature serves all heads. Raises InputError if the
    network is not the one that its specification gives."""
    sharpness, program = subject.sharpness, subject.program
    if not isinstance(sharpness, OneNetwork):
        if not gap:
            hint = "Add --gap, for score gaps alone; `hardsim check` runs words."
            program.require_plain("Theorem 26, which bounds how errors grow from layer to layer,", hint)
        # Score gaps depend on no temperature, and for networks with norms Theorem 26 gives none.
        gaps = GivenTemperature(Arith.of(1), epsilon)
        subject = replace(subject, sharpness=gaps if program.normed else replace(sharpness, epsilon=epsilon))
        asymptotics = PROGRAM if subject.constructed else GENERAL
        if program.weighting is SoftWeighting.GEOMETRIC:
            asymptotics = ASYMPTOTICS["geometric"]
        return BoundSubject(subject, Arith.of(1), subject.facts, asymptotics)
    subject.require_specified("bounds")
    budget = sharpness.budget
    used = 1 / budget.beta
    limit = rounded_limit(program, budget)
    asymptotics = ASYMPTOTICS.get(program.regime, "") if limit is None else limit.text
    if limit is None and (program.rounding or program.weighting.exponentials):
        asymptotics = NO_LIMIT if all(head.uniform or head.shares for head in program.heads) else ""
    if not gap:
        program = budget.scaled(program)
    return BoundSubject(
        subject=replace(subject, program=program, sharpness=GivenTemperature(used * budget.temperature, epsilon)),
        schedule=budget.temperature,
        model=subject.facts,
        asymptotics=asymptotics,
        wrong_from=None if limit is None else limit.n,
        used=used,
        budget=budget,
        heads={head.name: head for head in subject.program.heads},
        given=subject,
    )


@dataclass(frozen=True, slots=True)
class BoundOptions:
    """Parts of the report: `gap` leaves out temperatures and errors, `search` searches the grid of temperatures."""

    gap: bool = False
    search: bool = True


def bound_report(
    target: BoundSubject,
    options: CheckOptions,
    expected: BoundOptions,
    progress: Report | None = None,
    crew: Crew | None = None,
    trials: TrialReport | None = None,
) -> BoundResult:
    """Return the report on lengths 1 to `options.max_n`. A KeyboardInterrupt ends it early, marked partial.

    `progress` is called while words are measured, `trials` while temperatures are tried. The lengths are shared by the
    workers of the `crew` (by default `options.workers` processes). Raises InputError if an option does not apply, or a
    word leaves the range of a program's construction (OutOfRange); Undecided if no temperature gives an error of at
    most epsilon; WorkerFailure if workers are lost again and again."""
    report = _Report(target, options, expected, progress, crew or LocalCrew(options.workers), trials)
    return to_the_report(report.run, report.result)


@dataclass(frozen=True, slots=True)
class LengthFindings:
    """The results of one length: its row of the report, a refuted claim, the mismatch found first in the order of
    words, and the number of words without an answer."""

    row: BoundLength
    violation: Violation | None
    mismatch: Mismatch | None
    undecided: int
    void: Mapping[str, FirstFailure]
    """The heads whose bounds are void, each with the head that failed first."""
    tries: int
    """Number of temperatures tried."""

    @property
    def refuted(self) -> Mismatch | None:
        """The word that is answered wrongly, as a mismatch; None if there is none, or hard attention decides nothing on
        it."""
        return None if self.mismatch is None or not self.mismatch.refutes else self.mismatch

    @property
    def unsettled(self) -> str:
        """The reason why words have no answer, if none is wrong; empty if every word has one."""
        if self.mismatch is not None:
            return "" if self.refuted else NO_ANSWER
        return f"{no_answer(self.undecided, self.row.words)} of length {self.row.n}" if self.undecided else ""


@dataclass(frozen=True)
class Reporter:
    """The work on one length after the other, in any process."""

    target: BoundSubject
    options: CheckOptions
    expected: BoundOptions
    prepared: Preparation
    tried: Callable[[], None] | None = None

    def __call__(self, shard: Shard) -> LengthFindings:
        """Return the results of one length for the words of a shard. `shard.known` has the exact runs and the answers
        of hard attention."""
        n, words, (runs, answers) = shard.n, shard.words, shard.known
        subject, engine, program = self.target.subject, self.options.engine, self.prepared.program
        # The temperature that was asked for, a formula's own, else the theorem's.
        plan = plan_length(self.prepared, subject, n, theorem=True)
        violation, tally, found = plan.violation, Tally(n, len(words)), Crossing(None, None, None)
        void: dict[str, FirstFailure] = {}
        bits: int | None = 0
        tries = 0
        if not self.expected.gap:
            judge = HardJudge(subject, program, plan, None, engine)
            tally = judge.tally(words, runs)
            # Words that balls cannot settle with all their digits need no search for fewer.
            bits = None if tally.undecided else bits_needed(judge.soft, [subject.prepared(word) for word in words])
            if self.target.budget is not None:
                void = void_after(program, tally, engine)
            violation = violation or self._exceeded(plan, tally, void)
            if self.expected.search and self._moves(plan):
                expected = dict(zip(words, answers, strict=True))
                hunter = self._hunter(plan, expected)
                found, tries = hunter.search(self._start(plan)), hunter.tries
        row = self._row(tally, plan, found, bits, void)
        return LengthFindings(row, violation, tally.mismatch, tally.undecided, void, tries)

    def seconds(self, shard: Shard) -> float:
        """Return the seconds that one temperature takes at a length."""
        plan, started = plan_length(self.prepared, self.target.subject, shard.n, theorem=True), monotonic()
        if not self._moves(plan):
            return 0.0
        hunter = self._hunter(plan, dict(zip(shard.words, shard.known[1], strict=True)))
        hunter.wrong_word(self._start(plan), attack=False)
        return monotonic() - started

    def _hunter(self, plan: LengthPlan, expected: Mapping[Word, Answer]) -> Hunter:
        whole, seed = plan.facts.exhaustive, self.options.seed
        return Hunter(self.target.subject, self.prepared.program, self._schedule, expected, whole, seed, self.tried)

    def _moves(self, plan: LengthPlan) -> bool:
        """Return True if the temperature matters. Without a gap (no row with two different scores) it changes nothing,
        except in geometric attention."""
        return plan.facts.gap is not None or self.target.geometric

    def _start(self, plan: LengthPlan) -> Fraction:
        """Return the factor with which the search of a length starts: the theorem's, or for geometric attention, which
        has none, that of the network."""
        if self.target.geometric:
            return self._temperature(plan, self._units(plan.facts.n))
        return plan.theorem / max(map(upper, self._units(plan.facts.n)))

    def _schedule(self, factor: Fraction) -> Arith:
        """Return the schedule of the temperature that is `factor` times the subject's schedule."""
        return factor * self.target.schedule

    def _units(self, n: int) -> list[Fraction | Real]:
        """Return the value of the schedule at every position of length n as read, from 0 (with a beginning of sequence)
        or 1 on."""
        return [self.target.schedule.real(i=i, n=n) for i in range(self.target.subject.program.first, n + 1)]

    def _temperature(self, plan: LengthPlan, units: Sequence[RealNumber]) -> Fraction:
        """Return the largest temperature used over the positions, as a factor of the schedule; if it is irrational, a
        rational above it."""
        if self.target.used is not None:
            return self.target.used
        return max(1 / lower(beta) / lower(unit) for beta, unit in zip(plan.inverse, units, strict=True))

    def _exceeded(self, plan: LengthPlan, tally: Tally, void: Mapping[str, FirstFailure]) -> Violation | None:
        """Return a claim about an error that a measured error exceeds, or None if there is none. This is certain unless
        mpmath computed the error."""
        engine, n = self.options.engine, plan.facts.n
        if self.target.budget is None:
            return exceeded(plan, tally, engine)
        allowed = {head.name: self.target.allowed(head.name, n) for head in self.prepared.program.heads}
        known = {name: bound for name, bound in allowed.items() if bound is not None}
        return exceeded_bound(known, void, tally, engine)

    def _row_head(
        self, head: HeadResult, reached: Fraction | float, plan: LengthPlan, void: FirstFailure | None
    ) -> BoundHead:
        allowed = self.target.allowed(head.name, plan.facts.n)
        bound = head.bound if allowed is None else allowed
        return BoundHead(
            name=head.name,
            layer=head.layer,
            kind=head.kind,
            score_gap=head.score_gap,
            declared_gap=head.declared_gap,
            # A logit is a score times the inverse temperature: the range is widest where that is largest.
            logit_range=(head.score_range or ZERO) * max(map(upper, plan.inverse)),
            # A void bound is no proved limit of the error, so it must not replace the measured one.
            error=within(reached, head.error, bound) if void is None else head.error,
            bound=bound,
            void=void is not None,
            void_after=None if void is None else void.head,
        )

    def _row(
        self, tally: Tally, plan: LengthPlan, found: Crossing, bits: int | None, void: Mapping[str, FirstFailure]
    ) -> BoundLength:
        shown, program, n = theorem_length(self.target.subject, plan, tally), self.prepared.program, plan.facts.n
        gaps, units = declared_gaps(program, plan.facts), self._units(n)
        declared = [head.declared_gap for head in shown.heads if head.declared_gap is not None]
        reached = tally.reached
        heads = tuple(
            self._row_head(head, reached.get(head.name, 0), plan, void.get(head.name)) for head in shown.heads
        )
        worst = max(heads, key=lambda head: (head.error, head.void, head.bound), default=None)
        without = plan.solution is None and (self.expected.gap or self.target.geometric)
        return BoundLength(
            n=shown.n,
            positions=n,
            words=shown.words,
            possible=shown.possible,
            exhaustive=shown.exhaustive,
            score_gap=shown.score_gap,
            declared_gap=min(declared, default=None) if gaps else None,
            size=plan.facts.largest,
            epsilon=plan.epsilon,
            temperature=self._temperature(plan, units),
            # As a factor of the schedule: at most it at every position. Score gaps do without.
            theorem=None if without else plan.theorem / max(map(upper, units)),
            right=found.right,
            wrong=found.wrong,
            word=found.word,
            error=ZERO if worst is None else worst.error,
            bound=ZERO if worst is None else worst.bound,
            bits=bits,
            rounding_width=least_width(max(1, n.bit_length()), max(1, len(program.layers))),
            assumption=shown.assumption,
            heads=heads,
            void=worst is not None and worst.void,
            void_after=None if worst is None else worst.void_after,
        )


TrialReport = Callable[[int, int, float], None]
"""Called with the number of temperatures tried, the number expected in all, and the seconds that the others will take
if that is known before any is tried (else 0)."""


class _Trials:
    """Counts the temperatures tried at the lengths of a report. A length that is not done is expected to take as many
    as those before it on average."""

    def __init__(self, lengths: int, report: TrialReport) -> None:
        self.lengths, self.report = lengths, report
        self.finished: list[int] = []
        self.current = 0

    @property
    def total(self) -> int:
        """The number of temperatures that this report tries at all lengths, as far as can be expected now."""
        searched = [tries for tries in self.finished if tries]
        each = -(-sum(searched) // len(searched)) if searched else EXPECTED_TRIES
        left = self.lengths - len(self.finished)
        return sum(self.finished) + (max(each, self.current) + (left - 1) * each if left else 0)

    def one(self) -> None:
        """Count a temperature of the length that is under way."""
        self.current += 1
        self.report(sum(self.finished) + self.current, self.total, 0.0)

    def end(self, tries: int) -> None:
        """Count a length that is done."""
        self.finished.append(tries)
        self.current = 0
        self.report(sum(self.finished), self.total, 0.0)

    def expect(self, seconds: float, workers: int) -> None:
        """Report the seconds that the search will take, if one temperature takes `seconds` in one process."""
        self.report(0, self.total, seconds * self.total / min(workers, self.lengths))


class _Report:
    """A report under way, length by length. After an interruption the lengths so far are its partial result."""

    def __init__(
        self,
        target: BoundSubject,
        options: CheckOptions,
        expected: BoundOptions,
        progress: Report | None,
        crew: Crew,
        trials: TrialReport | None,
    ) -> None:
        self.target, self.subject, self.options = target, target.subject, options
        self.expected, self.progress, self.crew = expected, progress, crew
        self.findings: list[LengthFindings] = []
        self.prepared: Preparation | None = None
        self.done, self.total, self.here = 0, 0, LengthWords()
        self.general: GeneralRate | None = None
        searched = expected.search and not expected.gap
        self.trials = None if trials is None or not searched else _Trials(options.max_n, trials)

    def run(self) -> None:
        def planned(total: int) -> None:
            self.total = total

        self.prepared, runs, answers = measure_all(
            self.subject, self.options, self.crew, planned, self._report_progress, range(1, self.options.max_n + 1)
        )
        parts = self.target, self.options, self.expected, self.prepared
        lengths = [
            Shard(
                n,
                tuple(word for shard in shards for word in shard.words),
                (tuple(run for shard in shards for run in shard.known), answers[n]),
            )
            for n, shards in runs.items()
        ]
        # Another process cannot report the temperatures that it tries: one is timed here.
        if self.trials is not None and not self.crew.alone and lengths:
            self.trials.expect(Reporter(*parts).seconds(lengths[len(lengths) // 2]), self.crew.workers)
        hook = None if self.trials is None or not self.crew.alone else self.trials.one
        with closing(self.crew.run(Job(Reporter, (*parts, hook)), lengths)) as results:
            for found in results:
                with uninterrupted():
                    self.findings.append(found)
                self._report_progress(found.row.n, found.row.words)
                if self.trials is not None:
                    self.trials.end(found.tries)
        if self.target.budget is None:
            # Networks compiled for a regime have the growth of their regime; `asymptotics` states it.
            self.general = general_rate(self.subject)

    def _report_progress(self, n: int, words: int) -> None:
        """Report progress: a word counts half when it is measured, and half when its length is done."""
        measuring = self.prepared is None
        self.here.add(n, words)
        self.done += words
        if self.progress is not None:
            wrong = sum(found.violation is not None or found.refuted is not None for found in self.findings)
            undecided = sum(bool(found.unsettled) for found in self.findings)
            # A length is done at once, while its words are measured in parts.
            here = self.here.count if measuring else words
            self.progress(Progress(n, self.done // 2, self.total, wrong, undecided, 0, here, measuring))

    def result(self, partial: bool) -> BoundResult:
        target, subject, lengths = self.target, self.subject, tuple(found.row for found in self.findings)
        violation = next((found.violation for found in self.findings if found.violation is not None), None)
        refuted = next(filter(None, (found.refuted for found in self.findings)), None)
        ties = () if self.prepared is None else self.prepared.ties
        word = None if self.prepared is None else self.prepared.undecided
        undecided = None if word is None else hard_undecided(subject, word)
        verdict, reach = self._verdict(violation, refuted, undecided)
        return BoundResult(
            input=subject.name,
            sha256=subject.sha256,
            kind=subject.kind,
            regime=target.model.regime,
            schedule=str(target.schedule),
            grid=f"the {'network' if target.geometric else 'theorem'}'s temperature times ({STEP})^k, k = 0, 1, 2, ...",
            model=replace(target.model, ties_broken=() if self.prepared is None else self.prepared.broken),
            seed=self.options.seed,
            lengths=lengths,
            growth=growths(lengths),
            # Contradictions come before undecided words, and those before a certified result.
            asymptotics=target.asymptotics,
            wrong_from=target.wrong_from,
            general=self.general,
            ties=ties,
            verdict=verdict,
            reach=reach + tied(ties),
            violation=violation,
            refuted=None if refuted is None else refuted.word,
            partial=partial,
            failed_first=first_failure({found.row.n: found.void for found in self.findings}),
            own=own_failure(target.given or subject, refuted, violation),
            hard_undecided=undecided,
        )

    def _verdict(
        self, violation: Violation | None, refuted: Mismatch | None, undecided: HardUndecided | None
    ) -> tuple[Verdict, str]:
        found: list[tuple[bool, str]] = []
        if violation is not None:
            found.append((not violation.observed, f"{violation.what} does not hold at length {violation.n}"))
        if refuted is not None:
            who = "hard attention" if refuted.hard_differs else "softmax at this temperature"
            what = f"{who} is wrong on a word of length {len(refuted.word)}"
            found.append((refuted.certain(self.options.engine), what))
        if found:
            return contradiction(found)
        unsettled = next(filter(None, (one.unsettled for one in self.findings)), "")
        if not self.findings:
            return Verdict.UNDECIDED, "no word was tried"
        if unsettled:
            why = undecided.summary if unsettled == NO_ANSWER and undecided is not None else unsettled
            return Verdict.UNDECIDED, why
        words = sum(found.row.words for found in self.findings)
        what = "every declared gap" if self.expected.gap else "every declared gap and every error bound"
        if any(found.void for found in self.findings):
            what += " that is not void"
        holds = f"{what} holds on {words:,} words up to length {self.findings[-1].row.n}"
        if self.options.engine == MPMATH and not self.expected.gap:
            return Verdict.OBSERVED, f"{holds}, {HOW[MPMATH]}"
        return Verdict.CERTIFIED, holds


def growths(lengths: Sequence[BoundLength]) -> tuple[Growth, ...]:
    """Return power laws fitted to the gap, the sizes, and 1/tau of the theorem and of the search, without their log n.

    They are fitted to the last lengths: the last three, or all of those with the same tightest head if these are more.
    Before them another law may hold.
    """

    def tightest(length: BoundLength) -> str | None:
        return min(
            ((head.score_gap, head.name) for head in length.heads if head.score_gap is not None), default=(None, None)
        )[1]

    def over_log(tau: Fraction, length: BoundLength) -> tuple[int, Fraction]:
        return length.positions, 1 / tau / Fraction(log(length.positions))

    # The head with the least gap decides the law, so lengths before it became the tightest are left out.
    alike = next((list(some) for _, some in groupby(reversed(lengths), tightest)), [])
    lengths = lengths[-max(3, len(alike)) :]
    sharp = [x for x in lengths if x.positions > 1]  # n is that of the padded word
    return fitted(
        {
            "gap": [(x.positions, x.score_gap) for x in lengths if x.score_gap],
            "size": [(x.positions, x.size) for x in lengths if x.size],
            "1/(tau log n) of the theorem": [over_log(x.theorem, x) for x in sharp if x.theorem and x.score_gap],
            "1/(tau log n) found": [over_log(x.right, x) for x in sharp if x.right and x.wrong],
        }
    )
