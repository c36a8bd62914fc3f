"""What a check or a bound report of a hard-attention model found: plain data that the reports render.

Every number is an exact rational. Gaps are in units of the score, errors and sizes in units of the activations,
temperatures in units of the score per nat.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from hardsim.checking.attention import Answer, settled
from hardsim.checking.result import MPMATH, Verdict, Word

UNSETTLED = "hard attention undecided"


@dataclass(frozen=True, slots=True)
class AttentionMismatch:
    """A word on which two of the answers differ; `oracle` is None for a model that is its own specification.

    Where `decided` is false no answer of softmax was reached, and `soft` means nothing.
    """

    word: Word
    oracle: Answer
    hard: Answer
    soft: Answer
    decided: bool = True

    @property
    def kind(self) -> str:
        """Which pair disagrees; where hard attention decides nothing, softmax cannot disagree with it."""
        pairs = [
            ("soft/hard", self.decided and settled(self.hard) and self.soft != self.hard),
            ("hard/oracle", self.oracle not in (None, self.hard)),
        ]
        return " and ".join(name for name, differs in pairs if differs) or UNSETTLED

    @property
    def refutes(self) -> bool:
        """Whether two answers differ, rather than one being missing."""
        return self.kind != UNSETTLED

    def certain(self, engine: str) -> bool:
        """Whether it refutes with certainty: programs and hard attention are exact, what mpmath finds is observed."""
        return self.refutes and (engine != MPMATH or self.oracle not in (None, self.hard))


def weightier(first: AttentionMismatch | None, later: AttentionMismatch | None) -> AttentionMismatch | None:
    """Which of two to report: the first, unless only the later one refutes something."""
    if first is None or (later is not None and later.refutes and not first.refutes):
        return later
    return first


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
class HeadRow:
    """One head at one length. `kind` is uniform, tieless or ties; `most` positions shared a largest score."""

    name: str
    layer: int
    kind: str
    gap: Fraction | None
    declared: Fraction | None
    most: int
    reach: Fraction
    error: Fraction
    """Largest error of an attended value, upper end of its enclosure."""
    bound: Fraction


@dataclass(frozen=True, slots=True)
class LayerRow:
    """One layer at one length: largest errors after attention and after the layer, each beside its bound."""

    number: int
    kind: str
    size: Fraction
    attended_error: Fraction
    attended_bound: Fraction
    error: Fraction
    bound: Fraction


@dataclass(frozen=True, slots=True)
class AttentionLength:
    """All words tried of one length. `tau` is the temperature used, `theorem` that of Theorem 26 for `epsilon`.

    `assumption` says what the bounds rest on besides the theorem; empty if nothing.
    """

    n: int
    words: int
    possible: int
    exhaustive: bool
    accepted: int
    soft_mismatches: int
    hard_mismatches: int
    gap: Fraction | None
    size: Fraction
    tau: tuple[Fraction, Fraction]
    """The least and the largest over the positions."""
    theorem: Fraction | None
    epsilon: Fraction
    error: Fraction
    bound: Fraction
    bits: int
    assumption: str
    layers: tuple[LayerRow, ...]
    heads: tuple[HeadRow, ...]
    undecided: int = 0
    """Words on which no answer of softmax was reached."""


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


@dataclass(frozen=True)
class AttentionResult:
    """The whole check of one model."""

    name: str
    sha256: str
    kind: str
    title: str
    summary: str
    engine: str
    seed: int
    max_n: int
    lengths: tuple[AttentionLength, ...]
    ties: tuple[Tie, ...]
    growth: tuple[Growth, ...]
    verdict: Verdict
    reach: str
    mismatch: AttentionMismatch | None = None
    violation: Violation | None = None
    partial: bool = False
    stuck: Word | None = None
    """The first word on which no answer of softmax was reached."""

    @property
    def agreed(self) -> bool:
        """Whether nothing was found that contradicts a claim."""
        return self.violation is None and (self.mismatch is None or not self.mismatch.refutes)

    @property
    def words(self) -> int:
        """Words tried."""
        return sum(length.words for length in self.lengths)
