"""What a vector is inside the network: linear forms over coordinates, all of them 0 at the beginning of the sequence.

A Boolean is a form with values 0 and 1, a symbol one such form for each symbol it can be, an integer v the form of v/n.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from hardsim.spec.ir import Affine

Line: TypeAlias = tuple[int, int]
"""The function a n + b of the length, as (a, b)."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Bounds of an integer, `low` and `high` as functions of n >= 1, at every position of every word."""

    low: Line
    high: Line

    @staticmethod
    def constant(value: int) -> Interval:
        """Of one number."""
        return Interval((0, value), (0, value))

    def __add__(self, other: Interval) -> Interval:
        return Interval(_sum(self.low, other.low), _sum(self.high, other.high))

    def scaled(self, factor: int) -> Interval:
        """The bounds of a multiple."""
        low, high = (factor * self.low[0], factor * self.low[1]), (factor * self.high[0], factor * self.high[1])
        return Interval(low, high) if factor >= 0 else Interval(high, low)

    def hull(self, other: Interval) -> Interval:
        """The bounds of a number that has these bounds or the other ones."""
        high = _upper(self.high, other.high)
        low = _negative(_upper(_negative(self.low), _negative(other.low)))
        return Interval(low, high)

    @property
    def size(self) -> int:
        """B >= 1 with |v| <= B n."""
        return max(1, *(abs(a) + abs(b) for a, b in (self.low, self.high)))

    @property
    def natural(self) -> bool:
        """Whether the number is never negative."""
        return _dominates(self.low, (0, 0))

    @property
    def negative(self) -> bool:
        """Whether the number is never positive."""
        return _dominates((0, 0), self.high)

    @property
    def in_range(self) -> bool:
        """Whether the number is always in [-n, n]."""
        return _dominates(self.low, (-1, 0)) and _dominates((1, 0), self.high)


def _sum(left: Line, right: Line) -> Line:
    return left[0] + right[0], left[1] + right[1]


def _negative(line: Line) -> Line:
    return -line[0], -line[1]


def _dominates(upper: Line, lower: Line) -> bool:
    """Whether `upper >= lower` for all n >= 1: at n = 1, and the difference does not fall."""
    return upper[0] >= lower[0] and sum(upper) >= sum(lower)


def _upper(left: Line, right: Line) -> Line:
    """A line above both for all n >= 1."""
    if _dominates(left, right):
        return left
    return right if _dominates(right, left) else (max(left[0], right[0]), max(left[1], right[1]))


FULL: Final = Interval((-1, 0), (1, 0))
"""Every integer of [-n, n]."""
NATURAL: Final = Interval((0, 0), (1, 0))
"""Every integer of [0, n]."""
POSITIONS: Final = Interval((0, 1), (1, 0))
"""1..n."""
LENGTH: Final = Interval((1, 0), (1, 0))
"""n."""


@dataclass(frozen=True, slots=True)
class Boolean:
    """A Boolean; `raw` if attention wrote part of the form and nothing has rounded it yet."""

    form: Affine
    raw: bool = False


@dataclass(frozen=True, slots=True)
class Number:
    """An integer v, `v/n = form + (sum of c b)/n` over the pairs (c, b) of `bits`, where b is a rounded Boolean's form.

    Bits are integers that no hidden unit has divided by n yet, since some uses (the mean of a prefix sum) need not.
    """

    form: Affine
    interval: Interval
    bits: tuple[tuple[int, Affine], ...] = ()

    def __add__(self, other: Number) -> Number:
        total: dict[Affine, int] = {}
        for count, bit in (*self.bits, *other.bits):
            total[bit] = total.get(bit, 0) + count
        bits = tuple((count, bit) for bit, count in total.items() if count)
        return Number(self.form + other.form, self.interval + other.interval, bits)

    def scaled(self, factor: int) -> Number:
        """A multiple."""
        bits = tuple((factor * count, bit) for count, bit in self.bits if factor)
        return Number(self.form.scaled(factor), self.interval.scaled(factor), bits)

    def within(self, interval: Interval) -> Number:
        """The same number with other bounds."""
        return Number(self.form, interval, self.bits)


@dataclass(frozen=True, slots=True)
class Letters:
    """A symbol: a Boolean for each symbol that it can be."""

    forms: Mapping[str, Boolean]


Value: TypeAlias = Boolean | Number | Letters
