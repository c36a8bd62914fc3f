"""The first norm and MLP of a layer, with ranges of linear functions of the heads' outputs over a class of prefixes.

A box of the heads' outputs loses how they hang together: the sums of slopes along its coordinates are often several
times the true ranges of the norm's coordinates and of the hidden units. With functions of the coordinates t of the
heads' outputs whose ranges over a class are known, what is bounded below holds for the prefixes in a cell of the box.

Notation. y is what enters the norm (the residual stream x itself where there is none), V = y W with the norm's weights
in W, and r the inverse root of the mean square S of y; the hidden units read u = r V + k, for constants k. Of an affine
form `c + z L + e'`, the range of a coordinate of z L is [p, q]: s is its middle, rho its half width, m = c + s, and eta
= z L - s, so |eta| <= rho.

With means over the coordinates, S - epsilon = mean(m^2) + 2 mean(m eta) + mean(eta^2) + 2 mean((m + eta) e') +
mean(e'^2). The third term lies in [0, mean(rho^2)], the last in [0, mean(e^2)]; the second is lambda = z l with l = 2/d
L m, less a constant, and lambda lies between the sums of the ends of its terms. With the chord of S^(-1/2), r = r_c +
tau + off theta, for tau the chord's slope times lambda less its middle, |tau| <= T, |theta| <= 1. So

    u = r_c (m + eta) + m tau + off theta m + eta (tau + off theta) + r e' + k,

whose first two terms are affine in z; theta becomes a coordinate, and the rest is at most rho (T + off) + e max|r|. The
value of u is also between the products of the ends of V and r. The activation is replaced by its chord there.
"""

from __future__ import annotations

import numpy as np

from hardsim.lazy_dataclass import dataclass
from hardsim.proof.external.affine import (
    ROUND,
    AffineForm,
    LinearPart,
    MlpForm,
    NormForm,
    Square,
    inverse_root,
    mean_square,
)
from hardsim.run.enclosure import ETA, GROW, Floats, Integers


@dataclass(frozen=True, slots=True)
class FunctionRanges:
    """Bounds of the values of functions, by class or cell: `low` and `high`, (N, functions). The last one is lambda at
    the middle `tilt` (N, d) of the ranges of y: a function of the coordinates t with the slopes `tilted`, (N,
    coordinates)."""

    low: Floats
    high: Floats
    tilt: Floats
    tilted: Floats

    @classmethod
    def joined(cls, parts: list[FunctionRanges]) -> FunctionRanges:
        """Return the rows of several `FunctionRanges`, one after the other."""
        fields = ([one.low, one.high, one.tilt, one.tilted] for one in parts)
        return cls(*(np.concatenate(column) for column in zip(*fields, strict=True)))

    def at(self, index: Integers) -> FunctionRanges:
        """Return the ranges of the classes at an index."""
        return FunctionRanges(self.low[index], self.high[index], self.tilt[index], self.tilted[index])


@dataclass(frozen=True, slots=True)
class Narrowed:
    """An affine form with the ranges of its linear part: `shift` is s and `radius` rho in the notation of the module,
    (N, d)."""

    form: AffineForm
    shift: Floats
    radius: Floats

    @property
    def middle(self) -> Floats:
        """The middle m of the range of the linear part, in the notation of the module; the error e is left out."""
        found: Floats = self.form.c + self.shift
        return found


class NormedMap:
    """A linear map of what a norm returns: of the vectors themselves where there is no norm."""

    def __init__(self, norm: NormForm | None, entry: LinearPart) -> None:
        self.norm = norm
        weight, reach = entry.weight, entry.reach
        ones, zeros = np.ones(len(weight)), np.zeros(len(weight))
        scale, shift = (ones, zeros) if norm is None else (norm.weight, norm.bias)
        scale_off = zeros if norm is None or norm.weight_off is None else norm.weight_off
        shift_off = zeros if norm is None or norm.bias_off is None else norm.bias_off
        size = np.abs(weight) + reach
        off = np.abs(scale)[:, None] * reach + scale_off[:, None] * size + ROUND * np.abs(scale)[:, None] * size
        self.inner = LinearPart(scale[:, None] * weight, off * GROW)
        """The map from y to V."""
        self.constant: Floats = shift @ weight + entry.bias
        lost = np.abs(shift) @ reach + shift_off @ size + ROUND * (np.abs(shift) @ size + np.abs(entry.bias))
        self.off: Floats = (lost + entry.base) * GROW

    def entering(self, x: AffineForm) -> AffineForm:
        """Return y."""
        return x if self.norm is None else self.norm.entering(x)

    def mapped(self, v: Narrowed, r: NormScale) -> MappedForm:
        """Return the enclosure of u = r V + constant."""
        form, middle = v.form, v.middle
        centre, shift, turn, off = (one[:, None] for one in (r.centre, r.shift, r.turn, r.off))
        ends = np.abs(r.slopes).sum(axis=1)[:, None]
        c = centre * form.c - middle * shift + self.constant
        slopes = middle[:, None, :] * r.slopes[:, :, None] + r.centre[:, None, None] * form.slopes
        most = np.minimum(r.high[:, None], np.abs(centre) + turn + off)
        e = v.radius * (turn + off) + form.e * most + self.off
        size = form.size * (np.abs(centre) + np.abs(shift) + ends + turn + off) + np.abs(self.constant)
        u = AffineForm(c, slopes, (e + 8 * ROUND * size) * GROW).beside((middle * off)[:, None])
        reach = v.radius + form.e + ROUND * form.size
        corners = [(middle + sign * reach) * end[:, None] for sign in (-1, 1) for end in (r.low, r.high)]
        slack = (self.off + 8 * ROUND * (form.size * r.high[:, None] + np.abs(self.constant))) * GROW
        low = np.minimum.reduce(corners) + self.constant - slack
        return MappedForm(u, low, np.maximum.reduce(corners) + self.constant + slack)


@dataclass(frozen=True, slots=True)
class MappedForm:
    """The enclosure of a vector, `form`, and bounds of its coordinates, `low` and `high` (N, d)."""

    form: AffineForm
    low: Floats
    high: Floats


class FirstMlp:
    """An MLP with the norm before it, if there is one, right after attention."""

    def __init__(self, norm: NormForm | None, mlp: MlpForm, turned: Floats) -> None:
        """`turned` are the outputs, (coordinates, d), of the axes of the heads."""
        self.norm, self.mlp = norm, mlp
        self.map = NormedMap(norm, mlp.enter)
        inward = turned - turned.mean(axis=1, keepdims=True) if norm is not None and norm.centring else turned
        self.functions: Floats = np.concatenate([inward, inward @ self.map.inner.weight], axis=1)
        """The functions of the coordinates t of the heads' outputs whose ranges are of use, (coordinates, functions):
        the coordinates of y, and those of V, without what does not depend on the heads."""

    def __call__(self, x: AffineForm, middles: Floats, radii: Floats, ranges: FunctionRanges) -> AffineForm:
        """Return the enclosure of x and what the MLP adds, for prefixes of cells with these middles and radii of t on
        which the functions are in their ranges. These may be infinite."""
        y = self.map.entering(x)
        d = y.c.shape[1]
        low, high = self._around(middles, ranges)
        v = self._narrowed(self.map.inner(y), radii, slice(d, self.functions.shape[1]), low, high)
        if self.norm is None:
            return x.plus(self._added(v, NormScale.one(y)))
        tilt = Tilt(ranges.tilt, radii * ranges.tilted, low[:, -1], high[:, -1])
        return x.plus(self._added(v, scale_of(self._narrowed(y, radii, slice(d), low, high), self.norm.epsilon, tilt)))

    def tilted(self, x: AffineForm, middles: Floats, radii: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Return the middles of the ranges of y in boxes, and the slopes of lambda there as a function of t (any
        numbers will do), from the ranges of all functions but lambda."""
        y = self.map.entering(x)
        d, around = y.c.shape[1], middles @ self.functions
        middle = self._narrowed(y, radii, slice(d), low - around, high - around).middle
        return middle, (2 / d) * middle @ self.functions[:, :d].T

    def _around(self, middles: Floats, ranges: FunctionRanges) -> tuple[Floats, Floats]:
        """Return the ranges of the functions less their values where t is in the middle, rounded outward."""
        around = np.concatenate([middles @ self.functions, (middles * ranges.tilted).sum(axis=1)[:, None]], axis=1)
        size = np.abs(middles)
        size = np.concatenate(
            [size @ np.abs(self.functions), (size * np.abs(ranges.tilted)).sum(axis=1)[:, None]], axis=1
        )
        low, high = ranges.low - around, ranges.high - around
        lost = 2 * ROUND * size + ETA
        return low - (lost + ROUND * np.abs(low)), high + (lost + ROUND * np.abs(high))

    def _narrowed(self, form: AffineForm, radii: Floats, which: slice, low: Floats, high: Floats) -> Narrowed:
        """Return the ranges of z L. With t = middle + radius z, and f the functions, z (radius f) is within `low` and
        `high`, and L differs from radius f a little. Where no prefix is left, any range will do."""
        aim = radii[:, :, None] * self.functions[:, which]
        apart = (np.abs(form.slopes - aim) + 2 * ROUND * np.abs(aim)).sum(axis=1) * GROW
        spread = form.spread * GROW
        below = np.clip(low[:, which] - apart, -spread, spread)
        above = np.maximum(np.clip(high[:, which] + apart, -spread, spread), below)
        middle = (below + above) / 2
        return Narrowed(form, middle, (np.maximum(above - middle, middle - below) + ROUND * np.abs(middle)) * GROW)

    def _added(self, v: Narrowed, r: NormScale) -> AffineForm:
        """Return the enclosure of what the MLP adds, for u = r V + constant."""
        u = self.map.mapped(v, r)
        return self.mlp.added(u.form, u.low, u.high)


@dataclass(frozen=True, slots=True)
class NormScale:
    """Enclosure of the factor r = 1/sqrt(S) of a norm, where S is the mean square plus epsilon: `centre` + (z `slopes`
    - `shift`) + `off` theta, for some |theta| <= 1. The second term is at most `turn` in size; `low` and `high` bound
    r."""

    centre: Floats
    shift: Floats
    slopes: Floats
    turn: Floats
    off: Floats
    low: Floats
    high: Floats

    @classmethod
    def one(cls, y: AffineForm) -> NormScale:
        """Return the number 1, where there is no norm."""
        one = np.ones(len(y.c))
        return cls(one, 0 * one, np.zeros(y.slopes.shape[:2]), 0 * one, 0 * one, one, one)


@dataclass(frozen=True, slots=True)
class Tilt:
    """A middle `at` of the ranges of y, (N, d), with bounds of z times slopes (N, coordinates) that are about 2/d L
    at."""

    at: Floats
    slopes: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True)
class NarrowedSquare:
    """An enclosure of S whose linear part, z times `square.slopes`, is between `least` and `most`."""

    square: Square
    least: Floats
    most: Floats


def square_of(y: Narrowed, epsilon: tuple[float, float], tilt: Tilt) -> NarrowedSquare:
    """Return the enclosure of `mean(y^2) + epsilon`; `epsilon` is a float and a bound of its error.

    S is enclosed around the middle m of the ranges, or as by `mean_square` around c where that bounds the part of
    second order by less. It is also at least what its part along that point is."""
    form, at, e = y.form, y.middle, y.form.e
    plain = mean_square(form, epsilon)
    squared, short = (y.radius * y.radius).mean(axis=1) * GROW, (e * e).mean(axis=1) * GROW
    linear = (2 / at.shape[1]) * np.einsum("nd,nmd->nm", at, form.slopes)
    mid = (at * at - 2 * at * y.shift).mean(axis=1) + epsilon[0] + (squared + short) / 2
    lost = 8 * ROUND * ((form.size * form.size).mean(axis=1) + epsilon[0]) + epsilon[1] + ETA
    off = ((squared + short) / 2 + 2 * ((np.abs(at) + y.radius) * e).mean(axis=1) + lost) * GROW
    kept = plain.off < off
    mid, off = np.where(kept, plain.mid, mid), np.where(kept, plain.off, off)
    linear, at = np.where(kept[:, None], plain.slopes, linear), np.where(kept[:, None], form.c, at)
    least, most = _of_lambda(y, at, linear, tilt, lost)
    long = np.abs(y.middle) + y.radius + e
    near = np.maximum(np.abs(y.middle) - y.radius - e, 0.0)
    low = np.maximum.reduce([plain.low, mid + least - off - lost, (near * near).mean(axis=1) + epsilon[0] - lost])
    high = np.minimum.reduce([plain.high, mid + most + off + lost, (long * long).mean(axis=1) + epsilon[0] + lost])
    low = np.maximum(low, _along(at, form, least, lost) + epsilon[0] - lost)
    high = np.maximum(high, low)
    return NarrowedSquare(Square(mid, linear, off, low, high), least, most)


def _along(at: Floats, form: AffineForm, least: Floats, lost: Floats) -> Floats:
    """Return a lower bound of mean(y^2), by the inequality of Cauchy and Schwarz: mean(at y)^2 / mean(at^2). `least`
    bounds 2 mean(at z L) from below. That is above 0 as long as y keeps some part along `at`, which may be long after
    the linear bound mean(at^2) + 2 mean(at (y - at)) has fallen below 0."""
    part = (at * form.c).mean(axis=1) + least / 2 - (np.abs(at) * form.e).mean(axis=1) * GROW - lost
    square = np.maximum((at * at).mean(axis=1), ETA)
    return np.where(part > 0, part * part / square * (1 - 8 * ROUND), 0.0)


def scale_of(y: Narrowed, epsilon: tuple[float, float], tilt: Tilt) -> NormScale:
    """Return the inverse root of `mean(y^2) + epsilon`, see `square_of`."""
    found = square_of(y, epsilon, tilt)
    square, least, most = found.square, found.least, found.most
    r = inverse_root(square)
    shift, size = r.slope * (least + most) / 2, np.abs(square.slopes).sum(axis=1) + np.abs(square.mid)
    turn = np.abs(r.slope) * ((most - least) / 2 + ROUND * size) * GROW
    off = (r.off + ROUND * (np.abs(r.mid) + np.abs(shift))) * GROW
    return NormScale(r.mid + shift, shift, r.slopes, turn, off, (1 - ROUND) / np.sqrt(square.high), r.high)


def _of_lambda(y: Narrowed, at: Floats, linear: Floats, tilt: Tilt, lost: Floats) -> tuple[Floats, Floats]:
    """Return bounds of z `linear`, which is about 2/d L `at`. It is at most what is known of z `tilt.slopes`, with the
    sum for the differences of the middles and what L is beyond that."""
    ends = np.abs(linear).sum(axis=1) * GROW
    least, most = _of_sum(y, at)
    moved = at - tilt.at
    apart = linear - tilt.slopes - (2 / at.shape[1]) * np.einsum("nd,nmd->nm", moved, y.form.slopes)
    more = np.abs(apart).sum(axis=1) + 4 * ROUND * (ends + np.abs(tilt.slopes).sum(axis=1))
    more, (down, up) = more * GROW + lost, _of_sum(y, moved)
    least = np.clip(np.maximum(least, tilt.low + down - more), -ends, ends)
    return least, np.maximum(np.clip(np.minimum(most, tilt.high + up + more), -ends, ends), least)


def _of_sum(y: Narrowed, at: Floats) -> tuple[Floats, Floats]:
    """Return bounds of the sum of 2/d at_i (z L)_i: each term is within its range, and the sum within the box. They
    have room for the rounding of the sums 2/d at L, too."""
    lost = 8 * ROUND * (np.abs(at) * y.form.size).mean(axis=1) + ETA
    box = np.abs(np.einsum("nd,nmd->nm", at, y.form.slopes)).sum(axis=1) * (2 / at.shape[1]) * GROW + lost
    centre, radius = 2 * (at * y.shift).mean(axis=1), 2 * (np.abs(at) * y.radius).mean(axis=1) * GROW + lost
    return np.maximum(centre - radius, -box), np.minimum(centre + radius, box)
