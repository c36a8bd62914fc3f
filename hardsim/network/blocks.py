"""The parts of external networks that only some families have, as real functions.

Positions are those of all tokens that are read, from 0. The numbers of a block are rationals. Where they define
irrational ones, the real numbers are meant: frequencies of rotations and slopes of distances are not rounded.

Sources: rotary positions, Su et al., arXiv 2104.09864; slopes of distances (ALiBi), Press et al., arXiv 2108.12409.
"""

from __future__ import annotations

from fractions import Fraction

from hardsim.errors import InputError
from hardsim.lang.reals import RealNumber, apply
from hardsim.lazy_dataclass import dataclass
from hardsim.network.rotary_scaling import RotaryScaling

MOST_EXPONENT = 1_000
"""The greatest exponent of a slope: 2^-1000 is no bias, and 2^1000 no number that float64 can add."""


@dataclass(frozen=True)
class Rotary:
    """Rotary positions: the query or key x at position p has its r-th pair of coordinates, for r below size / 2, turned
    by the angle p f_r, with the frequency f_r = base^(-2 r / size) / divisor:

        (x_a, x_b)  becomes  (x_a cos(p f_r) - x_b sin(p f_r), x_b cos(p f_r) + x_a sin(p f_r)).

    If `interleaved`, the pair is a = 2 r, b = 2 r + 1; otherwise a = r, b = r + size / 2. Coordinates from `size` on
    stay as they are. A score depends on the distance of the two positions alone. A `scaling` multiplies frequencies,
    and both coordinates of every pair by its amplitude.
    """

    base: Fraction
    size: int
    interleaved: bool
    divisor: Fraction = Fraction(1)
    scaling: RotaryScaling | None = None
    longest: int | None = None
    """The number of positions up to which the frequencies are these; None: there is no limit."""

    def __post_init__(self) -> None:
        if self.size < 2 or self.size % 2:
            raise InputError(f"rotary positions in {self.size} coordinates", "It must be an even number from 2 on.")
        if self.base <= 0 or self.divisor <= 0 or (self.longest is not None and self.longest < 1):
            message = "rotary positions with a base, divisor or greatest length that is not positive"
            raise InputError(message, "They must be above 0.")

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The coordinates a and b of each pair."""
        half = self.size // 2
        return tuple((2 * r, 2 * r + 1) if self.interleaved else (r, r + half) for r in range(half))

    @property
    def frequencies(self) -> tuple[RealNumber, ...]:
        """The frequency f_r of each pair, in radians a position."""
        rate = apply("log", self.base)
        plain = tuple(apply("exp", rate * Fraction(-2 * r, self.size)) for r in range(self.size // 2))
        if self.scaling is None:
            return tuple(frequency / self.divisor for frequency in plain)
        factors = self.scaling.multipliers(self.base, plain)
        return tuple(one * factor / self.divisor for one, factor in zip(plain, factors, strict=True))

    @property
    def amplitude(self) -> RealNumber:
        """The factor of cosines and sines."""
        return 1 if self.scaling is None else self.scaling.amplitude


@dataclass(frozen=True)
class DistanceBias:
    """A bias of scores (ALiBi): the score of a query at i and a key at j, after its scale, is less by 2^-exponent times
    |i - j|, in nats."""

    exponent: Fraction

    def __post_init__(self) -> None:
        if abs(self.exponent) > MOST_EXPONENT:
            message = f"a bias of distances with an exponent beyond {MOST_EXPONENT:,}"
            raise InputError(message, f"It must be from -{MOST_EXPONENT} to {MOST_EXPONENT}.")

    @property
    def slope(self) -> RealNumber:
        """The number 2^-exponent."""
        if self.exponent.denominator == 1:
            return Fraction(2) ** int(-self.exponent)
        return apply("exp", apply("log", 2) * -self.exponent)


def standard_slopes(heads: int) -> tuple[DistanceBias, ...]:
    """Return the biases that the authors of ALiBi give to a number of heads.

    With a power of 2, H, of heads, head h (from 1) has the exponent 8 h / H. Otherwise the first heads are those of the
    greatest power of 2 below, and the others are the heads 1, 3, 5, ... of twice that power."""
    power = 1 << (heads.bit_length() - 1)
    first = [Fraction(8 * h, power) for h in range(1, power + 1)]
    others = [Fraction(8 * h, 2 * power) for h in range(1, 2 * power, 2)]
    return tuple(map(DistanceBias, (first + others)[:heads]))
