"""Exact numbers, and what a query may see."""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from typing import TypeAlias

ONE = "1"
"""The name of the coordinate that is 1 everywhere."""
Rational: TypeAlias = int | Fraction


def plain(value: Rational) -> Rational:
    """The same number as an int where it is one (ints are faster than Fractions)."""
    return value.numerator if value.denominator == 1 else value


class Mask(StrEnum):
    """Which positions j a query at i may attend to."""

    NONE = "none"
    FUTURE = "future"
    """Future-masked: j <= i."""
    PAST = "past"
    """Past-masked: j >= i."""
    STRICT_FUTURE = "strict-future"
    """j < i, and the beginning-of-sequence position."""
    STRICT_PAST = "strict-past"
    """j > i, and the beginning-of-sequence position."""

    @property
    def strict(self) -> bool:
        """Whether a query does not see its own position."""
        return self in (Mask.STRICT_FUTURE, Mask.STRICT_PAST)

    def visible(self, i: int, n: int) -> range:
        """The visible positions (1-based) of a query at position i of n, without the beginning of the sequence."""
        low = {Mask.PAST: i, Mask.STRICT_PAST: i + 1}.get(self, 1)
        high = {Mask.FUTURE: i, Mask.STRICT_FUTURE: i - 1}.get(self, n)
        return range(low, high + 1)
