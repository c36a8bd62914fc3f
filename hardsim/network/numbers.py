"""Exact numbers, and the masks that say which positions a query may attend to."""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from typing import TypeAlias

ONE = "1"
"""The name of the coordinate that is 1 at every position."""
Rational: TypeAlias = int | Fraction


def plain(value: Rational) -> Rational:
    """Return the number as an int if it is an integer, and unchanged otherwise (ints are faster than Fractions)."""
    return value.numerator if value.denominator == 1 else value


class Mask(StrEnum):
    """A rule for which positions j a query at position i may attend to."""

    NONE = "none"
    FUTURE = "future"
    """j <= i."""
    PAST = "past"
    """j >= i."""
    STRICT_FUTURE = "strict-future"
    """j < i, and the beginning-of-sequence position."""
    STRICT_PAST = "strict-past"
    """j > i, and the beginning-of-sequence position."""

    @property
    def strict(self) -> bool:
        """True if a query does not see its own position."""
        return self in (Mask.STRICT_FUTURE, Mask.STRICT_PAST)

    def visible(self, i: int, n: int) -> range:
        """Return the positions (from 1) that a query at position i of a word of length n sees, without the
        beginning-of-sequence position."""
        low = {Mask.PAST: i, Mask.STRICT_PAST: i + 1}.get(self, 1)
        high = {Mask.FUTURE: i, Mask.STRICT_FUTURE: i - 1}.get(self, n)
        return range(low, high + 1)
