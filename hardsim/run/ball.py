"""The forward pass in ball arithmetic: every number is an enclosure of the exact value.

`BallArithmetic` runs the generic pass over `arb` balls (midpoint and radius, python-flint), so every statement about
a value is a theorem about the matrices. Inputs are exact rationals. A clip is one monotone function: it gives exactly
0 or 1 if its ball certainly lies outside (0, 1).

python-flint has one precision for the whole process. It is set while a pass runs and restored afterwards, so parallel
work needs processes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from fractions import Fraction
from functools import lru_cache
from math import inf, isfinite
from types import SimpleNamespace
from typing import Any

from flint import arb, arb_mat, ctx, fmpq

from hardsim.errors import Undecided
from hardsim.lang.reals import Real, RealNumber, scaled
from hardsim.network.numbers import Rational
from hardsim.run.arithmetic import Value, is_exact

TINY = 20_000
"""Bounds below 2^-TINY in size are moved outwards to 0 or 2^-TINY: their exact digits would take long to write."""
LARGEST_EXPONENT = 1_000_000
"""Bounds beyond 2^LARGEST_EXPONENT count as no bound."""
UNBOUNDED = "no bound was found: an interval of the ball arithmetic grew without limit"


class BallArithmetic:
    """Balls with `bits` bits of working precision."""

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self._zero = arb(0)
        self._one = arb(1)
        # One cache per arithmetic: balls of another precision must not be mixed in.
        self.number: Callable[[RealNumber], arb] = lru_cache(10_000)(ball)
        """Return an enclosure of a number, exact for integers."""

    def precision(self) -> AbstractContextManager[Any]:
        """Return a context with this precision, which restores the previous one at its end."""
        found: AbstractContextManager[Any] = ctx.workprec(self.bits)
        return found

    @property
    def negligible(self) -> int:
        """The distance in nats from which a weight is less than 2^-(bits + 16) of the largest: e^7 > 2^10. Such weights
        are left out, and enclosed by `widened`."""
        return 7 * (self.bits + 16) // 10 + 1

    def approximate(self, value: arb) -> tuple[float, float]:
        """Return a float64 midpoint and a radius of the ball. The conversions are off by 2^-53 (midpoint) and 2^-29
        (radius)."""
        middle, radius = float(value.mid()), float(value.rad())
        if not (isfinite(middle) and isfinite(radius)):
            return 0.0, inf
        return middle, radius * (1 + 2.0**-20) + abs(middle) * 2.0**-51 + 2.0**-1000

    def exp(self, logit: Value) -> arb:
        """Return an enclosure of e^logit."""
        number: arb = ball(logit) if is_exact(logit) else logit
        return number.exp()

    def sqrt(self, value: arb) -> arb:
        """Return the square root; the result is not a number if the ball contains a negative one."""
        return value.sqrt()

    def erf(self, value: arb) -> arb:
        """Return the error function of the value."""
        return value.erf()

    def tanh(self, value: arb) -> arb:
        """Return the hyperbolic tangent of the value."""
        return value.tanh()

    def sin(self, value: arb) -> arb:
        """Return the sine of the value."""
        return value.sin()

    def cos(self, value: arb) -> arb:
        """Return the cosine of the value."""
        return value.cos()

    def pi(self) -> arb:
        """Return an enclosure of pi."""
        return arb.pi()

    def matrix(self, rows: Sequence[Sequence[Any]]) -> arb_mat:
        """Return a matrix for `product`, with at least one row and one column of numbers, integers or floats."""
        return arb_mat(rows)

    def product(self, left: arb_mat, right: arb_mat) -> list[list[arb]]:
        """Return the rows of the product of two matrices."""
        found: list[list[arb]] = (left * right).tolist()
        return found

    def total(self, numbers: Sequence[arb]) -> arb:
        """Return the sum."""
        return sum(numbers[1:], numbers[0])

    def clip(self, value: arb) -> int | arb:
        """Return `min(max(value, 0), 1)`: the integers 0 and 1 where that is certain."""
        if value <= self._zero:
            return 0
        if value >= self._one:
            return 1
        low, high = value.lower(), value.upper()
        # Comparisons with NaN are false, so that a ball that is not a number becomes [0, 1].
        return (low if low > self._zero else self._zero).union(high if high < self._one else self._one)

    def relu(self, value: arb) -> int | arb:
        """Return `max(value, 0)`: the integer 0 where that is certain."""
        return 0 if value <= self._zero else value.max(self._zero)

    def ranked(self, values: Sequence[arb], rank: int) -> arb:
        """Return the `rank`-th largest (1: the largest). It grows with every value, so the ranked ends enclose it."""
        if len(values) == 1:
            return values[0]
        if not all(value.is_finite() for value in values):
            return arb.nan()
        low = sorted((value.lower() for value in values), reverse=True)[rank - 1]
        return low.union(sorted((value.upper() for value in values), reverse=True)[rank - 1])

    def widened(self, mean: arb, dropped: int, spread: Rational) -> arb:
        """Return a mean enlarged for `dropped` weights that were left out. Each of these is at most e^-negligible of
        the sum of the others, and the values differ by at most `spread`.

        With S the weights kept, D those dropped, the true mean is (S m + D m')/(S + D), so it differs from m by D/(S
        + D) (m' - m), at most dropped e^-negligible spread.
        """
        return mean + ball(spread * dropped) * arb(0, 1) * self.number(-self.negligible).exp()


def ball(value: RealNumber) -> arb:
    """Return an enclosure of a number at the present precision."""
    if isinstance(value, Real):
        return value.ball(ctx.prec)
    return arb(value) if isinstance(value, int) else arb(fmpq(value.numerator, value.denominator))


def lower(value: Value) -> Fraction:
    """Return the lower end of a ball as an exact rational (see TINY), or the value itself if it is a rational. Raises
    Undecided if the ball is not bounded."""
    return _end(value, -1)


def upper(value: Value) -> Fraction:
    """Return the upper end of a ball as an exact rational (see TINY), or the value itself if it is a rational. Raises
    Undecided if the ball is not bounded."""
    return _end(value, 1)


def _end(value: Value, side: int) -> Fraction:
    if is_exact(value):
        return Fraction(value)
    if not value.is_finite():
        raise Undecided(UNBOUNDED)
    (middle, scale), (radius, radius_scale) = value.mid().man_exp(), value.rad().man_exp()
    end = dyadic(int(middle), int(scale), side, UNBOUNDED)
    return end + side * dyadic(int(radius), int(radius_scale), 1, UNBOUNDED)


def dyadic(mantissa: int, exponent: int, side: int, unbounded: str) -> Fraction:
    """Return `mantissa 2^exponent`. A number below 2^-TINY in size is moved up (side 1), down (-1) or to 0 (0). Raises
    Undecided with the message `unbounded` if the number is beyond 2^LARGEST_EXPONENT."""
    size = exponent + mantissa.bit_length()
    if size > LARGEST_EXPONENT:
        raise Undecided(unbounded)
    if size < -TINY:
        return Fraction(side, 1 << TINY) if mantissa * side > 0 else Fraction(0)
    return scaled(mantissa, exponent)


LEMMA_BITS = 192
LEMMA_BALLS = SimpleNamespace(mpf=arb, exp=arb.exp, sqrt=arb.sqrt, dps=LEMMA_BITS * 3 // 10)
"""The number type for the lemmas of `theory.lemmas`: balls, so that their results enclose the bounds."""


def bound_of(lemma: Callable[..., Any], *arguments: Any) -> Fraction | None:
    """Return a rational that is at least `lemma(*arguments, context)` and above it by rounding alone; None if the lemma
    returns None. Raises Undecided if the ball is not bounded."""
    with ctx.workprec(LEMMA_BITS):
        found = lemma(*arguments, LEMMA_BALLS)
        return None if found is None else upper(found)
