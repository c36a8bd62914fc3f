"""Rounding of the residual stream to multiples of a power of two, after each sublayer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from hardsim.network.numbers import Rational, plain


class RoundingMode(StrEnum):
    """The direction in which numbers are rounded."""

    FLOOR = "floor"
    """Down, to the largest multiple that is at most the number (as Knee-Deep assumes it)."""
    NEAREST = "nearest"
    """To the nearest multiple; of two, to the even one."""


@dataclass(frozen=True, slots=True)
class Rounding:
    """Rounding to multiples of 2^-bits, after attention and after the feed-forward layer of each layer. What happens
    inside a sublayer is exact."""

    mode: RoundingMode
    bits: int

    def __str__(self) -> str:
        return f"{self.mode}:{self.bits}"

    @property
    def text(self) -> str:
        """A description for readers."""
        direction = "down to a multiple" if self.mode is RoundingMode.FLOOR else "to the nearest multiple"
        return f"{self}, {direction} of 2^-{self.bits}"

    def of(self, value: Rational) -> Rational:
        """Return a number as it is rounded."""
        scaled = value * 2**self.bits
        whole = scaled.__floor__() if self.mode is RoundingMode.FLOOR else round(scaled)
        return plain(whole * self.unit)

    @property
    def unit(self) -> Rational:
        """The distance of two neighbouring values, 2^-bits."""
        return plain(Fraction(1, 2**self.bits))
