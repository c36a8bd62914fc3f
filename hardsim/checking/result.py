"""What a check found: plain data that the reports render.

Every number is exact: an int, or a Fraction (measured values are the exact rationals that the arithmetic's numbers
are). Units: gaps of scores are in units of the score (before beta and the temperature), everything else in units of
a Boolean.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

Word = tuple[str, ...]

AUTO, FLOAT64, BALL, MPMATH = "auto", "float64", "ball", "mpmath"
ENGINES = (AUTO, FLOAT64, BALL, MPMATH)
"""The arithmetics in which the softmax network can be run (see `checking.soft`)."""
OBSERVED_MISMATCH = "a mismatch in mpmath (no rigorous enclosure), which is not certified"
CERTIFY = f"--engine {BALL} certifies it, or shows that there is none"


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
    """A word on which two of the three disagree.

    `soft` is None where the network's output is neither exactly 0 nor exactly 1; `value` is that output. Where
    `decided` is false no answer of the network was reached, and both mean nothing.
    """

    word: Word
    oracle: bool
    hard: bool
    soft: bool | None
    value: Fraction
    decided: bool = True

    @property
    def kind(self) -> str:
        """Which pair disagrees: `soft/hard` or `hard/oracle` (or both)."""
        pairs = [
            ("soft/hard", self.decided and self.soft is not self.hard),
            ("hard/oracle", self.hard is not self.oracle),
        ]
        return " and ".join(name for name, differs in pairs if differs)

    def refutes(self, engine: str) -> bool:
        """Whether it is certain: the formula and hard attention are exact, but what mpmath finds is only observed."""
        return engine != MPMATH or self.hard is not self.oracle


@dataclass(frozen=True, slots=True)
class HeadResult:
    """One head over the words tried: largest error of an attended value against theory's bound, least score gap
    against the declared one.

    The gaps are None for uniform heads, and where no row had two visible positions.
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


@dataclass(frozen=True, slots=True)
class LengthResult:
    """All words tried of one length.

    `possible` is how many words of that length there are; `accepted` counts the words that the formula accepts,
    `undecided` those of which no answer of the softmax network was reached (they are in no other number).
    `acceptance_gap` is the least unrounded output among accepted words minus the largest among rejected ones (None
    unless both were tried, or where no attention decides), `margin` the least distance of an attended value from
    its threshold (negative: not decided), `digits` the decimal digits of the arithmetic.
    """

    n: int
    words: int
    possible: int
    exhaustive: bool
    accepted: int
    soft_mismatches: int
    hard_mismatches: int
    acceptance_gap: Fraction | None
    margin: Fraction | None
    score_gap: Fraction | None
    error: Fraction
    bound: Fraction
    digits: int
    heads: tuple[HeadResult, ...]
    sum_error: Fraction | None = None
    """The largest error of a sum of looked-up counts, which rounding corrects up to 1/4; None if none is compared."""
    undecided: int = 0


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """The compiled network in numbers, for the head of a report."""

    regime: str
    at: str
    single_head: bool
    beta: Fraction
    temperature: str
    layers: int
    heads: int
    dimension: int
    parameters: int
    counting: str | None = None
    """How comparisons of counts are decided, `lookup` or `sign`; None where no counts are compared."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One input checked in one regime.

    `mismatch` is the shortest mismatching word (the first in the order of the alphabet among the shortest),
    `partial` says that the run was interrupted: its numbers stand for the words tried until then. `stuck` is the first
    word of which no answer was reached.
    """

    name: str
    sha256: str
    formula: str
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
    partial: bool = False
    stuck: Word | None = None
    proof: str = ""
    """What the prover said, if it was asked."""

    @property
    def words(self) -> int:
        """How many words were tried."""
        return sum(length.words for length in self.lengths)

    @property
    def agreed(self) -> bool:
        """Whether no mismatch was found."""
        return self.mismatch is None


def no_answer(undecided: int, words: int) -> str:
    """How many of the words tried have no answer."""
    return f"no answer of the softmax network was reached on {undecided:,} of {words:,} words"


def undecided_word(word: Word) -> str:
    """Why a word of a language is not told."""
    return f"the word {' '.join(word)} is undecided: a value lies on its threshold, or too close to it for this engine"


def span_text(min_n: int, max_n: int) -> str:
    """Lengths in words: `length 4,096`, or `length 1 to 64`."""
    return f"length {min_n:,}" + (f" to {max_n:,}" if max_n > min_n else "")
