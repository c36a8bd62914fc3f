"""Rotary positions, and the steps from products of queries and keys to scores, with bounds of their errors.

Turns. With f = base^(-2 r / size) / divisor, the r-th pair (a, b) of a vector at a place p is turned by the angle p f.
Roots, angles, cosines and sines are computed in integers, in units of 2^-BITS, between bounds. A root is exact: N =
`power_of` has N <= 2^BITS base^e < N + 1. With a width of the angle of at most 2^80 units, 2 units for each of at most
2^24 quarter turns (pi is known to 2^-205), and 4 units for each of at most 100 terms of a series, a cosine is off by
less than 2^-100. As a float, which is at most u / 2 away, it is within TURN_ERROR = u.

The computed a c - b s is off by at most 2 u (1 + u) (|a c| + |b s|), by u (|a| + |b|) for the errors of c and s, and by
|c| e_a + |s| e_b and u (e_a + e_b) for errors e of the vector.

Scores. A cap C > 0 makes C tanh(p / C) of a product p. Its slopes by p are at most 1, and by C at most 3/2. The float C
is within u of the true one, the quotient adds u, and tanh is off by at most 16 u |p / C|. So the result is off by at
most 24 u (|p| + C) besides the error of p. A slope m then makes s - m |i - j| of it: m is within 2 u, which adds at
most 8 u (|s| + m |i - j|).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import log2

from hardsim.verify.arithmetic import require
from hardsim.verify.external.numbers import ETA, GROW, PI, U, tanh

BITS = 192
TURN_ERROR = U
"""A bound of the error of a cosine or sine."""
MOST_TURNS = 1 << 24
WIDEST_ANGLE = 1 << 80
LARGE_POWER = 1 << 128
"""Numerators and denominators of bases and divisors are at most this."""
_ONE = 1 << BITS
_QUARTER = int(PI / 2 * _ONE)


def power_of(base: Fraction, power: Fraction) -> int:
    """Return the integer part of 2^BITS base^power, for base > 0. With power = p / q an integer N is at most that if
    N^q is at most the integer part of 2^(BITS q) base^p."""
    p, q = abs(power.numerator), power.denominator
    over, under = (base.numerator, base.denominator) if power >= 0 else (base.denominator, base.numerator)
    value: int = (over**p << (BITS * q)) // under**p
    # Newton's steps from above, where the float is, end at the integer part of the root; the last lines are sure of it.
    found = int(2.0 ** (log2(value) / q) * (1 + 1e-9)) + 1
    while (after := ((q - 1) * found + value // found ** (q - 1)) // q) < found:
        found = after
    while found**q > value:
        found -= 1
    while (found + 1) ** q <= value:
        found += 1
    return found


def cosine_and_sine(angle: int) -> tuple[float, float]:
    """Return the cosine and the sine of an angle of at least 0, in units of 2^-BITS."""
    # below a quarter turn both series end after few terms
    quarters, x = divmod(angle, _QUARTER)
    sums, term, number = [0, 0, 0, 0], _ONE, 0
    while term:
        sums[number % 4] += term
        number += 1
        term = (term * x >> BITS) // number
    # the powers of i x: real and imaginary ones, with both signs
    c, s = sums[0] - sums[2], sums[1] - sums[3]
    c, s = ((c, s), (-s, c), (-c, -s), (s, -c))[quarters % 4]
    return c / _ONE, s / _ONE


@dataclass(frozen=True, slots=True)
class RotaryData:
    """Rotary positions: the pairs of coordinates, and bounds of the frequency of each in units of 2^-BITS."""

    pairs: list[tuple[int, int]]
    rates: list[tuple[int, int]]
    known: dict[int, list[tuple[float, float]]] = field(default_factory=dict)
    """The cosines and sines by place."""

    @classmethod
    def of(cls, base: Fraction, size: int, interleaved: bool, divisor: Fraction) -> RotaryData:
        """Return the turns of the first `size` coordinates, with the pairs (2 r, 2 r + 1) if interleaved, or (r, r +
        size / 2)."""
        half, rates = size // 2, []
        for r in range(half):
            # the true power is below found + 1, so quotients are rounded outward
            found = power_of(base, Fraction(-2 * r, size))
            rates.append((int(found / divisor), int((found + 1) / divisor) + 1))
        pairs = [(2 * r, 2 * r + 1) if interleaved else (r, r + half) for r in range(half)]
        return cls(pairs, rates)

    def at(self, place: int) -> list[tuple[float, float]]:
        """Return the cosine and the sine of each pair at a place. Raises Rejected if an angle is too large."""
        if place not in self.known:
            for low, high in self.rates:
                # a cosine of an angle that is known less well says nothing
                fine = place * (high - low) < WIDEST_ANGLE and place * high < MOST_TURNS * _ONE
                require(fine, "too large: an angle of rotary positions")
            self.known[place] = [cosine_and_sine(place * low) for low, _ in self.rates]
        return self.known[place]

    def turned(self, mid: Sequence[float], off: Sequence[float], place: int) -> tuple[list[float], list[float]]:
        """Return bounds of a vector rotated as at the position `place`: midpoints, and how far each may be off."""
        near, bounds = [*mid], [*off]
        for (a, b), (c, s) in zip(self.pairs, self.at(place), strict=True):
            x, y, e, f = mid[a], mid[b], off[a], off[b]
            near[a], near[b] = x * c - y * s, y * c + x * s
            # twice what the module derives, so that e and f may be bounds of any size
            rounding = 8 * U * (abs(x) + abs(y) + e + f)
            bounds[a] = (abs(c) * e + abs(s) * f + rounding) * GROW + ETA
            bounds[b] = (abs(c) * f + abs(s) * e + rounding) * GROW + ETA
        return near, bounds


@dataclass(frozen=True, slots=True)
class ScoreData:
    """The steps from products to scores: a soft cap (None: no cap), a slope by distance, and a window (None: every key
    is seen)."""

    cap: float | None = None
    slope: float = 0.0
    window: int | None = None

    def sees(self, distance: int) -> bool:
        """Return whether a query sees a key at this distance."""
        return self.window is None or distance < self.window

    def score(self, product: float, distance: int) -> float:
        """Return the score of a key at this distance."""
        found = product if self.cap is None else self.cap * tanh(product / self.cap)
        return found - self.slope * distance if self.slope else found

    def error(self, error: float, size: float, farthest: int) -> float:
        """Return a bound of the errors of scores, from one of the errors of products, which are at most `size`, for
        keys at distances of at most `farthest`."""
        if self.cap is not None:
            error += 24 * U * (size + self.cap)
        if self.slope:
            error += 8 * U * (size + self.slope * farthest)
        return error if self.cap is None and not self.slope else error * GROW + ETA
