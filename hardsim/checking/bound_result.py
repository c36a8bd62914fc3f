"""What `hardsim bound` found: what theory allows beside what happens. Plain data; every number is an exact rational.

Temperatures are given as a factor of the schedule of the subject (1 for hard-attention models and programs, the
regime's temperature for formulas).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from hardsim.checking.attention_result import Growth, Tie, Violation
from hardsim.checking.result import Verdict, Word


@dataclass(frozen=True, slots=True)
class BoundHead:
    """One head at one length. `reach` is the logit range in nats at the temperature used, `error` the largest measured
    error of an attended value, `bound` what theory allows."""

    name: str
    layer: int
    kind: str
    declared: Fraction | None
    gap: Fraction | None
    reach: Fraction
    error: Fraction
    bound: Fraction


@dataclass(frozen=True, slots=True)
class BoundLength:
    """One length.

    `used` is the temperature at which errors were measured, `theorem` that of Theorem 26, `right` the largest of the
    grid such that every temperature of the grid up to it is right on every word tried, `wrong` the next of the grid,
    with a `word` on which it is wrong (None: none was wrong up to the end of the grid). `bits` is the least working
    precision that settled every answer at `used` (None: some answer was not settled).
    """

    n: int
    positions: int
    """The length of the words that the model reads: a program may pad."""
    words: int
    possible: int
    exhaustive: bool
    gap: Fraction | None
    declared: Fraction | None
    size: Fraction
    epsilon: Fraction
    used: Fraction
    theorem: Fraction | None
    right: Fraction | None
    wrong: Fraction | None
    word: Word | None
    error: Fraction
    bound: Fraction
    bits: int | None
    rounding_width: int
    """Lemma 27: the least width of a ReLU network of the model's depth that rounds numbers up to n."""
    assumption: str
    heads: tuple[BoundHead, ...]


@dataclass(frozen=True)
class BoundResult:
    """The whole report on one input (in one regime, if it is a formula)."""

    name: str
    sha256: str
    kind: str
    regime: str | None
    schedule: str
    grid: str
    summary: str
    seed: int
    lengths: tuple[BoundLength, ...]
    growth: tuple[Growth, ...]
    asymptotics: str
    ties: tuple[Tie, ...]
    verdict: Verdict
    reach: str
    violation: Violation | None = None
    refuted: Word | None = None
    """A word that the softmax model answers wrongly at the temperature used."""
    partial: bool = False

    @property
    def agreed(self) -> bool:
        """Whether nothing was found that contradicts a claim."""
        return self.violation is None and self.refuted is None
