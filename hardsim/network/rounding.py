"""Rounding of the residual stream to multiples of a power of two, after each sublayer; and formats of exponentials."""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from functools import lru_cache

from hardsim.lazy_dataclass import dataclass
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
        """A description for readers, without its name."""
        direction = "down to a multiple" if self.mode is RoundingMode.FLOOR else "to the nearest multiple"
        return f"{direction} of 2^-{self.bits}"

    def of(self, value: Rational) -> Rational:
        """Return a number as it is rounded."""
        scaled = value * 2**self.bits
        whole = scaled.__floor__() if self.mode is RoundingMode.FLOOR else round(scaled)
        return plain(whole * self.unit)

    @property
    def unit(self) -> Rational:
        """The distance of two neighbouring values, 2^-bits."""
        return plain(Fraction(1, 2**self.bits))


@dataclass(frozen=True, slots=True)
class ExponentialFormat:
    """The numbers to which softmax rounds e^(s - the largest s), to the nearest and to even; the sums and quotients of
    the rounded exponentials are exact. They are multiples of 2^-places with at most `digits` binary digits (None: any
    number of them)."""

    places: int
    digits: int | None

    @property
    def cutoff(self) -> int:
        """The least integer c for which e^-c is rounded to 0: a key that loses c nats has no weight."""
        return _cutoff(self.places)


@lru_cache
def _cutoff(places: int) -> int:
    # Below half of the least number, 2^-(places + 1), everything becomes 0; and 2.718281828 < e.
    base, c = Fraction(2_718_281_828, 10**9), max(1, 693 * places // 1000)  # 0.693 < log 2
    while base**c <= 2 ** (places + 1):
        c += 1
    return c


EXPONENTIALS = {
    "fixed:8": ExponentialFormat(8, None),
    "fp16": ExponentialFormat(24, 11),
    "bf16": ExponentialFormat(133, 8),
    "fp32": ExponentialFormat(149, 24),
    "fp64": ExponentialFormat(1074, 53),
}
"""The formats by name: eight binary places, and the IEEE formats and bfloat16 with their subnormal numbers."""
