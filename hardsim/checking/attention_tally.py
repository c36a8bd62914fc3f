"""What was found on some words of one length: answers that differ, and the largest errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from hardsim.checking.attention_result import AttentionMismatch, weightier
from hardsim.checking.result import Word

Place = tuple[int, int, int]
"""Layer, 0 after attention or 1 after the layer, coordinate."""


@dataclass
class ErrorTally:
    """Errors of a softmax model over the words seen: enclosures of the largest, by place and by (head, coordinate).

    `undecided` counts the words of which no answer was reached, `stuck` is the first of them.
    """

    words: int = 0
    accepted: int = 0
    bits: int = 0
    soft_mismatches: int = 0
    hard_mismatches: int = 0
    undecided: int = 0
    mismatch: AttentionMismatch | None = None
    stuck: Word | None = None
    errors: dict[Place, tuple[Fraction, Fraction]] = field(default_factory=dict)
    values: dict[tuple[str, int], tuple[Fraction, Fraction]] = field(default_factory=dict)

    def merge(self, other: ErrorTally) -> None:
        """Take in what was found on later words; the first mismatch that refutes something stays."""
        self.words += other.words
        self.accepted += other.accepted
        self.bits = max(self.bits, other.bits)
        self.soft_mismatches += other.soft_mismatches
        self.hard_mismatches += other.hard_mismatches
        self.undecided += other.undecided
        self.mismatch = weightier(self.mismatch, other.mismatch)
        self.stuck = self.stuck or other.stuck
        for place, found in other.errors.items():
            self.errors[place] = _larger(self.errors.get(place), found)
        for name, found in other.values.items():
            self.values[name] = _larger(self.values.get(name), found)

    def error(self, layer: int, stage: int, bound: Fraction | None = None) -> Fraction:
        """The largest error after attention (stage 0) or after the layer: of each coordinate, since last written.

        It is the upper end of its enclosure, or the `bound`, if that lies in the enclosure: the error is at most both.
        """
        latest: dict[int, tuple[Fraction, Fraction]] = {}
        for (number, where, coordinate), found in sorted(self.errors.items(), key=lambda item: item[0]):
            if (number, where) <= (layer, stage):
                latest[coordinate] = found
        return resolved(list(latest.values()), bound)


def _larger(left: tuple[Fraction, Fraction] | None, right: tuple[Fraction, Fraction]) -> tuple[Fraction, Fraction]:
    """The enclosure of the larger of two numbers."""
    return right if left is None else (max(left[0], right[0]), max(left[1], right[1]))


def resolved(found: list[tuple[Fraction, Fraction]], bound: Fraction | None) -> Fraction:
    """The largest of some errors: its upper end, or a proven bound that lies below that end and not below the lower."""
    low, high = max((one for one, _ in found), default=Fraction(0)), max((one for _, one in found), default=Fraction(0))
    return high if bound is None or not low <= bound < high else bound
