"""The parts of external networks that only some families have, in certified float64: turns, soft caps, distances.

Notation and the model of rounding are those of `dense_float`. Each part has midpoints and a bound of the error that it
adds; arrays hold vectors in the last axis.

Turns. The true turn T* is orthogonal times an amplitude A (1 without a scaling), so the length of the error e of a
vector grows by the factor max(A, 1) at most. The computed turn uses a table of cosines and sines times A, each within r
of the true one (r comes from balls). For a pair p = (a, b) of coordinates, a c - b s as computed is off from a c* - b
s* by at most 2 u (1 + u) (|a c| + |b s|) + r (|a| + |b|), where |a c| + |b s| <= ||p|| (A + 2 r). Both coordinates
together are off by at most (3 u (A + 2 r) + 2 r) ||p|| in length, and so is the whole vector with its own length, as
the squares of the pairs add up: 4 u max(A, 1) + 2 r with GROW is more. In single coordinates, the error of a' is at
most (|c| + r) |e_a| + (|s| + r) |e_b| besides. Coordinates that are not turned keep their errors.

The hyperbolic tangent of |x| is computed as (1 - t) / (1 + t) with t = fl(exp(-2 |x|)), replaced by |x| where that is
less; the sign of x is put before it. For g(t) = (1 - t) / (1 + t), |t g'(t)| = 2 t / (1 + t)^2 <= 1/2, so that a
relative error of t of EXP_ERROR moves g by at most (1/2 + 2^-20) EXP_ERROR; a t that underflows is off by less than
2^-1018. Three roundings add 4 u g. Together this is less than TANH_ERROR = EXP_ERROR = 16 u. The replacement moves
nothing away from the true number, which is at most |x|.

Soft caps. C tanh(x / C) has slopes of at most 1, so errors of x do not grow. With C = near (1 + e), |e| <= 2 u, the
computed quotient is (x / C)(1 + h) with |h| <= 4 u, and as |w| / cosh(w)^2 < 1/2 for all w that moves the tangent by at
most 2 u (1 + 2^-20). With TANH_ERROR, the product and the error of C, C tanh is off by at most near (TANH_ERROR + 8 u).
A number that is not near C at full precision (beyond float64, or subnormal) gives an infinite error.

Biases of distances. The score s becomes fl(s - fl(slope |i - j|)). With the slope within `off` of the true one, that is
off by at most D (off + 3 u slope) + 2 u |s| besides, where D is the greatest distance of a query from a key that it
sees.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import inf, isfinite
from typing import Any

import numpy as np

from hardsim.lang.reals import upper
from hardsim.network.blocks import DistanceBias, Rotary
from hardsim.run.enclosure import ETA, EXP_ERROR, GROW, LEAST_NORMAL, Floats, Integers, U, rounded

TANH_ERROR = EXP_ERROR
"""A bound of the error of `hyperbolic`, absolutely."""
TABLE_BITS = 128
"""Bits of the balls that the tables of turns are made with, besides those of a position."""
FEWEST_POSITIONS = 64


def hyperbolic(x: Floats) -> Floats:
    """Return tanh of an array: right to TANH_ERROR, at most as large as x, and NaN where x is."""
    size = np.abs(x)
    t = size * -2
    np.exp(t, out=t)
    found: Floats = 1 - t
    t += 1
    found /= t
    np.minimum(found, size, out=found)
    return np.copysign(found, x, out=found)


class SoftCap:
    """`C tanh(x / C)`, and a bound `error` of what computing it adds to the error of x."""

    def __init__(self, cap: Fraction) -> None:
        self.near, off = rounded(cap)
        normal = isfinite(off) and self.near > LEAST_NORMAL
        self.error = (self.near * (TANH_ERROR + 8 * U) * GROW + ETA * (2 + self.near)) if normal else inf

    def __call__(self, x: Floats) -> Floats:
        """Return the capped numbers."""
        found = hyperbolic(x / self.near)
        found *= self.near
        return found


class ScoreSteps:
    """The steps from the scaled products of queries and keys to the scores: a soft cap, then a bias of distances."""

    def __init__(self, cap: Fraction | None, distance: DistanceBias | None) -> None:
        self.cap = None if cap is None else SoftCap(cap)
        self.slope, self._off = (0.0, 0.0) if distance is None else rounded(distance.slope)
        self.any = cap is not None or distance is not None

    def __call__(self, products: Floats, queries: Integers, keys: Integers) -> Floats:
        """Return the scores from products (..., queries, keys) at these positions; `products` may be overwritten."""
        return self.at(products, queries[:, None] - keys[None, :]) if self.any else products

    def at(self, products: Floats, distance: Integers) -> Floats:
        """Return the scores from products of queries and keys at some distances; `products` may be overwritten."""
        if self.cap is not None:
            products = self.cap(products)
        if self.slope:
            products -= self.slope * np.abs(distance)
        return products

    def slip(self, slip: Floats, size: Floats, farthest: Integers) -> Floats:
        """Return a bound of the errors of the scores of each query, (..., queries), from that of the products, which
        are at most `size`, with the distance of the farthest key that each query sees."""
        if self.cap is not None:
            slip, size = slip + self.cap.error, np.minimum(size, self.cap.near * GROW)
        if self.slope or self._off:
            slip = slip + (farthest * (self._off + 4 * U * self.slope) + 3 * U * size + ETA)
        return slip * GROW


class Turns:
    """Rotary positions (see the module)."""

    def __init__(self, rotary: Rotary) -> None:
        self._rotary = rotary
        self._most = max(1.0, float(upper(rotary.amplitude)) * (1 + 4 * U))
        """At least the amplitude, and at least 1."""
        first, second = zip(*rotary.pairs, strict=True)
        self._a, self._b = np.array(first), np.array(second)

    def _table(self, positions: Integers) -> tuple[Floats, Floats, float]:
        """Return cosines and sines at positions, (positions, pairs), and a bound of their errors."""
        most = max(FEWEST_POSITIONS, int(positions.max(initial=0)) + 1)
        cosines, sines, off = turn_table(self._rotary, 1 << (most - 1).bit_length())
        return cosines[positions], sines[positions], off

    def __call__(self, x: Floats, positions: Integers) -> Floats:
        """Return vectors x (..., positions, k) turned by their positions."""
        c, s, _ = self._table(positions)
        found = x.copy()
        a, b = x[..., self._a], x[..., self._b]
        found[..., self._a] = a * c - b * s
        found[..., self._b] = b * c + a * s
        return found

    def length(self, length: Floats, size: Floats, positions: Integers) -> Floats:
        """Return bounds of the lengths of the errors of turned vectors, from those before, `length`, for vectors of
        length at most `size`, both (..., positions, 1)."""
        off = self._table(positions)[2]
        return (length * self._most + (4 * U * self._most + 2 * off) * size) * GROW + ETA * (1 + self._rotary.size)

    def each(self, x: Floats, each: Floats, positions: Integers) -> Floats:
        """Return the radii of the coordinates of turned vectors, from vectors x and their radii."""
        c, s, off = self._table(positions)
        c, s, size, found = np.abs(c), np.abs(s), np.abs(x), each.copy()
        loose = each + 4 * U * size
        a, b = loose[..., self._a], loose[..., self._b]
        both = off * (a + b + size[..., self._a] + size[..., self._b]) + 4 * ETA
        found[..., self._a] = (c * a + s * b + both) * GROW
        found[..., self._b] = (c * b + s * a + both) * GROW
        return found


@lru_cache(maxsize=16)
def turn_table(rotary: Rotary, count: int) -> tuple[Floats, Floats, float]:
    """Return the cosines and sines of the angles of all pairs at the positions from 0 to `count` - 1, times the
    amplitude, as arrays (positions, pairs), and a bound of their errors: infinite or NaN if the angles are too large
    for balls."""
    from flint import arb, ctx

    from hardsim.run.ball import ball

    shape = count, rotary.size // 2
    found = np.empty((2, *shape))
    off = np.empty_like(found)
    with ctx.workprec(TABLE_BITS + count.bit_length()):
        rates, amplitude = [ball(frequency) for frequency in rotary.frequencies], ball(rotary.amplitude)
        for place, pair in np.ndindex(shape):
            angle: Any = rates[pair] * place
            for part, value in enumerate((amplitude * angle.cos(), amplitude * angle.sin())):
                near = float(value.mid())
                found[part, place, pair] = near
                off[part, place, pair] = float(abs(value - arb(near)).upper())
    # Floats are rounded to nearest; the radius of a ball has 30 bits.
    return found[0], found[1], float(off.max()) * (1 + 2.0**-20) + ETA
