"""Running extremes over the words of one length; tallies of disjoint sets of words merge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from hardsim.checking.result import HeadResult, LengthResult, Mismatch


@dataclass
class Tally:
    """What is known after some words of length n."""

    n: int
    words: int = 0
    accepted: int = 0
    soft_mismatches: int = 0
    hard_mismatches: int = 0
    least_accepted: Fraction | None = None
    largest_rejected: Fraction | None = None
    margin: Fraction | None = None
    gaps: dict[str, Fraction] = field(default_factory=dict)
    errors: dict[str, Fraction] = field(default_factory=dict)
    sum_error: Fraction | None = None
    mismatch: Mismatch | None = None

    def note_output(self, accepted: bool, unrounded: Fraction | None) -> None:
        """Count a word, by the hard model's answer, and its unrounded output."""
        self.words += 1
        self.accepted += accepted
        if unrounded is None:
            return
        if accepted:
            self.least_accepted = lower_of(self.least_accepted, unrounded)
        else:
            self.largest_rejected = higher_of(self.largest_rejected, unrounded)

    def note_gap(self, head: str, gap: Fraction) -> None:
        """Keep a head's least score gap."""
        self.gaps[head] = min(gap, self.gaps.get(head, gap))

    def note_error(self, head: str, error: Fraction) -> None:
        """Keep a head's largest error."""
        self.errors[head] = max(error, self.errors.get(head, error))

    def note_mismatch(self, found: Mismatch, order: Sequence[str]) -> None:
        """Keep the first mismatch in the order of length, then alphabet."""
        self.mismatch = first_of(self.mismatch, found, order)

    def merge(self, other: Tally, order: Sequence[str]) -> None:
        """Add the words of another tally of the same length."""
        self.words += other.words
        self.accepted += other.accepted
        self.soft_mismatches += other.soft_mismatches
        self.hard_mismatches += other.hard_mismatches
        self.least_accepted = lower_of(self.least_accepted, other.least_accepted)
        self.largest_rejected = higher_of(self.largest_rejected, other.largest_rejected)
        self.margin = lower_of(self.margin, other.margin)
        self.sum_error = higher_of(self.sum_error, other.sum_error)
        for head, gap in other.gaps.items():
            self.note_gap(head, gap)
        for head, error in other.errors.items():
            self.note_error(head, error)
        self.mismatch = first_of(self.mismatch, other.mismatch, order)

    @property
    def acceptance_gap(self) -> Fraction | None:
        """Least unrounded output among accepted words minus the largest among rejected ones."""
        if self.least_accepted is None or self.largest_rejected is None:
            return None
        return self.least_accepted - self.largest_rejected

    def finish(self, possible: int, exhaustive: bool, digits: int, heads: tuple[HeadResult, ...]) -> LengthResult:
        """The result of this length."""
        gaps = [head.gap for head in heads if head.gap is not None]
        return LengthResult(
            n=self.n,
            words=self.words,
            possible=possible,
            exhaustive=exhaustive,
            accepted=self.accepted,
            soft_mismatches=self.soft_mismatches,
            hard_mismatches=self.hard_mismatches,
            acceptance_gap=self.acceptance_gap,
            margin=self.margin,
            score_gap=min(gaps, default=None),
            error=max((head.error for head in heads), default=Fraction(0)),
            bound=max((head.bound for head in heads), default=Fraction(0)),
            digits=digits,
            heads=heads,
            sum_error=self.sum_error,
        )


def lower_of(left: Fraction | None, right: Fraction | None) -> Fraction | None:
    """The lesser of two optional numbers."""
    return right if left is None else left if right is None else min(left, right)


def higher_of(left: Fraction | None, right: Fraction | None) -> Fraction | None:
    """The greater of two optional numbers."""
    return right if left is None else left if right is None else max(left, right)


def first_of(left: Mismatch | None, right: Mismatch | None, order: Sequence[str]) -> Mismatch | None:
    """The mismatch with the shorter word, or the earlier one in the order of the alphabet."""
    if left is None or right is None:
        return left or right
    rank = {symbol: index for index, symbol in enumerate(order)}

    def key(found: Mismatch) -> tuple[int, list[int]]:
        return len(found.word), [rank[symbol] for symbol in found.word]

    return min(left, right, key=key)
