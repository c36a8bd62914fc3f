"""What a check found: plain data that the reports render.

Every number is exact: an int, or a Fraction (measured values are the exact rationals that the arithmetic's numbers
are). Units: gaps and reach of scores are in units of the score (before beta and the temperature), temperatures in units
of the score per nat, everything else in units of the activations.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import TypeAlias

Word = tuple[str, ...]
Answer: TypeAlias = bool | tuple[str | None, ...] | None
"""Accepted or not, or the symbols of an output; None stands for what is left undecided."""

AUTO, FLOAT64, BALL, MPMATH = "auto", "float64", "ball", "mpmath"
ENGINES = (AUTO, FLOAT64, BALL, MPMATH)
"""The arithmetics in which the softmax network can be run (see `checking.engines`)."""
OBSERVED_MISMATCH = "a mismatch in mpmath (no rigorous enclosure), which is not certified"
CERTIFY = f"--engine {BALL} certifies it, or shows that there is none"
UNSETTLED = "hard attention undecided"
LARGEST_SHOWN = 10**9
"""Counts from here on are shown as a power of ten."""


def settled(answer: Answer) -> bool:
    """Whether an answer leaves nothing undecided."""
    return answer is not None and (isinstance(answer, bool) or None not in answer)


class Verdict(StrEnum):
    """How far an answer reaches; never a stronger word than was earned."""

    PROVED = "PROVED"
    """Every word up to a length, or of every length."""
    CERTIFIED = "CERTIFIED"
    """The words listed, by rigorous arithmetic."""
    OBSERVED = "OBSERVED"
    """The words listed, agreement or a mismatch, with no rigorous arithmetic."""
    REFUTED = "REFUTED"
    """By the word that is printed, with rigorous arithmetic."""
    UNDECIDED = "UNDECIDED"
    """Nothing was tried, or no answer was reached within a limit."""

    def reaches(self, wanted: Verdict) -> bool:
        """Whether it says at least as much as another verdict of agreement."""
        order = (Verdict.UNDECIDED, Verdict.OBSERVED, Verdict.CERTIFIED, Verdict.PROVED)
        return self in order and order.index(self) >= order.index(wanted)


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A word on which two of the answers differ; `oracle` is None for what is its own specification.

    `soft` is None where the output of a network that rounds to 0 or 1 is neither, or any other lies on its threshold;
    `value` is an acceptor's output. Where `decided` is false no answer of the network was reached, and both mean
    nothing.
    """

    word: Word
    oracle: Answer
    hard: Answer
    soft: Answer
    value: Fraction | None = None
    decided: bool = True

    @property
    def kind(self) -> str:
        """Which pair disagrees; where hard attention decides nothing, softmax cannot disagree with it."""
        pairs = [
            ("soft/hard", self.decided and settled(self.hard) and self.soft != self.hard),
            ("hard/oracle", self.oracle is not None and self.oracle != self.hard),
        ]
        return " and ".join(name for name, differs in pairs if differs) or UNSETTLED

    @property
    def refutes(self) -> bool:
        """Whether two answers differ, rather than one being missing."""
        return self.kind != UNSETTLED

    def certain(self, engine: str) -> bool:
        """Whether it refutes with certainty: semantics and hard attention are exact, what mpmath finds is observed."""
        return self.refutes and (engine != MPMATH or "hard/oracle" in self.kind)


@dataclass(frozen=True, slots=True)
class Violation:
    """A claim that a computed number refutes: a bound below a measured error, a declared gap above a measured one.

    `observed`: the number is one of mpmath, so that nothing is certain.
    """

    what: str
    n: int
    word: Word | None
    measured: Fraction
    claimed: Fraction
    observed: bool = False


@dataclass(frozen=True, slots=True)
class HeadResult:
    """One head over the words tried: largest error of an attended value against its bound, least score gap against the
    declared one.

    The gaps are None for uniform heads, and where no row had two different scores. `kind` is uniform, tieless or ties,
    `most` positions shared a largest score, `reach` is the largest distance of two scores of a row; these are None
    where rows were not measured.
    """

    name: str
    layer: int
    purpose: str
    theorem: str
    error: Fraction
    bound: Fraction
    gap: Fraction | None
    declared_gap: Fraction | None
    paper_bound: Fraction | None = None
    """For look-ups of counts Lemma 7 as the paper states it, twice `bound`."""
    kind: str | None = None
    most: int | None = None
    reach: Fraction | None = None


@dataclass(frozen=True, slots=True)
class LayerResult:
    """One layer under Theorem 26: largest errors after attention and after the layer, each beside its bound."""

    number: int
    kind: str
    size: Fraction
    attended_error: Fraction
    attended_bound: Fraction
    error: Fraction
    bound: Fraction


@dataclass(frozen=True, slots=True)
class LengthResult:
    """All words tried of one length.

    `possible` is how many words of that length there are; `accepted` counts the words that the oracle accepts (hard
    attention where there is none), `undecided` those of which no answer of the softmax network was reached (they are in
    no other number). `digits` are decimal digits of the arithmetic.

    Of a network that rounds to 0 or 1: `acceptance_gap` is the least unrounded output among accepted words minus the
    largest among rejected ones (None unless both were tried, or where no attention decides), `margin` the least
    distance of an attended value from its threshold (negative: not decided). Under Theorem 26: `size` is the largest
    activation, `temperature` the least and the largest over the positions, `theorem` the one of Theorem 26 for the
    error `epsilon`, `assumption` what the bounds rest on besides (empty if on nothing).
    """

    n: int
    words: int
    possible: int
    exhaustive: bool
    accepted: int
    soft_mismatches: int
    hard_mismatches: int
    undecided: int
    score_gap: Fraction | None
    error: Fraction
    bound: Fraction
    digits: int
    heads: tuple[HeadResult, ...]
    acceptance_gap: Fraction | None = None
    margin: Fraction | None = None
    sum_error: Fraction | None = None
    """The largest error of a sum of looked-up counts, which rounding corrects up to 1/4; None if none is compared."""
    size: Fraction | None = None
    temperature: tuple[Fraction, Fraction] | None = None
    theorem: Fraction | None = None
    epsilon: Fraction | None = None
    assumption: str = ""
    layers: tuple[LayerResult, ...] = ()

    @property
    def mismatches(self) -> int:
        """Mismatches of both kinds."""
        return self.soft_mismatches + self.hard_mismatches


@dataclass(frozen=True, slots=True)
class Tie:
    """Where a head that promises one largest score first had several."""

    head: str
    n: int
    word: Word
    position: int
    count: int


@dataclass(frozen=True, slots=True)
class Growth:
    """A power law fitted to values at several lengths: `value ~ factor n^exponent`; for people, not for proofs."""

    what: str
    exponent: float
    factor: float
    lengths: tuple[int, int]


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """The network in numbers, for the head of a report. `regime`, `beta` and what follows from them are None of what
    was not compiled for a regime; `temperature` is then an expression, or says that Theorem 26 gives it."""

    layers: int
    heads: int
    dimension: int
    parameters: int
    temperature: str
    at: str = "last"
    regime: str | None = None
    beta: Fraction | None = None
    single_head: bool = False
    counting: str | None = None
    """How comparisons of counts are decided, `lookup` or `sign`; None where no counts are compared."""
    bos: bool = False
    broken: tuple[str, ...] = ()
    """Heads whose ties are broken by added weights."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One input checked, in one regime if it is a formula.

    `mismatch` is the shortest mismatching word (the first in the order of the alphabet among the shortest),
    `partial` says that the run was interrupted: its numbers stand for the words tried until then. `stuck` is the first
    word of which no answer was reached.
    """

    name: str
    sha256: str
    kind: str
    """What it is: ltl, srasp or ahat."""
    title: str
    """A formula's text, or what a file says of itself."""
    model: ModelFacts
    engine: str
    seed: int
    max_n: int
    exhaustive_limit: int
    samples: int | None
    lengths: tuple[LengthResult, ...]
    verdict: Verdict
    reach: str
    mismatch: Mismatch | None
    violation: Violation | None = None
    ties: tuple[Tie, ...] = ()
    growth: tuple[Growth, ...] = ()
    partial: bool = False
    stuck: Word | None = None
    proof: str = ""
    """What the prover said, if it was asked."""

    @property
    def agreed(self) -> bool:
        """Whether nothing was found that contradicts a claim."""
        return self.violation is None and (self.mismatch is None or not self.mismatch.refutes)

    @property
    def words(self) -> int:
        """How many words were tried."""
        return sum(length.words for length in self.lengths)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One word: the answers, and what was measured of the network on it.

    `oracle` is None for what is its own specification. Where `decided` is false no answer of softmax was reached, and
    `soft` and the numbers mean nothing. Of a network that rounds: its output `value`, the output before the clips
    (`unrounded`, None if no attention decides it), the least distance of an attended value from its threshold
    (`margin`). Under Theorem 26: the largest error of an activation at the end, and its bound. `digits` are the decimal
    digits of the arithmetic.
    """

    word: Word
    oracle: Answer
    hard: Answer
    soft: Answer
    digits: int
    decided: bool = True
    value: Fraction | None = None
    unrounded: Fraction | None = None
    margin: Fraction | None = None
    error: Fraction | None = None
    bound: Fraction | None = None

    @property
    def mismatch(self) -> Mismatch | None:
        """The mismatch, if two of the answers differ."""
        found = Mismatch(self.word, self.oracle, self.hard, self.soft, self.value, self.decided)
        return found if found.refutes else None

    @property
    def agree(self) -> bool | None:
        """Whether all answers are the same; None where one is missing and no two differ."""
        if self.mismatch is not None:
            return False
        return True if self.decided and settled(self.hard) else None


def no_answer(undecided: int, words: int) -> str:
    """How many of the words tried have no answer."""
    return f"no answer of the softmax network was reached on {undecided:,} of {words:,} words"


def undecided_word(word: Word) -> str:
    """Why a word of a language is not told."""
    return f"the word {' '.join(word)} is undecided: a value lies on its threshold, or too close to it for this engine"


def span_text(min_n: int, max_n: int) -> str:
    """Lengths in words: `length 4,096`, or `length 1 to 64`."""
    return f"length {min_n:,}" + (f" to {max_n:,}" if max_n > min_n else "")


def count(value: int) -> str:
    """A count with thousands separators; beyond a thousand million as a power of ten, rounded down."""
    if abs(value) < LARGEST_SHOWN:
        return f"{value:,}"
    return f"about 10^{Decimal(value).adjusted()}"


def plural(value: int, noun: str) -> str:
    """`1 word`, `2 words`."""
    return f"{count(value)} {noun if value == 1 else noun + 's'}"
