"""Affine enclosures of vectors, batched, and their way through the parts of a layer after attention.

An `AffineForm` stands for all vectors `c + z L + r` with z in [-1, 1]^m and |r| <= e in each coordinate. Each operation
returns a form that encloses the true (real) result of every vector of its argument, for the same z. What is not affine
is replaced by an affine function near it and a remainder; every remainder is bounded. A remainder that several
coordinates share becomes a new coordinate of z, behind the others: linear maps that follow treat it with its sign, as
they could not in e. Forms with fewer coordinates of z have slope 0 along those that they lack.

Rounding. A coefficient that is computed here is a sum of at most DEEPEST products of numbers that are themselves
results of a few operations, so its error is at most ROUND times the sum of the absolute values of its terms (gamma_k
of `run.enclosure`, with room to spare). Each operation adds ROUND times that sum to e, and enlarges e by GROW, which
covers the rounding of e itself. Infinite and NaN remainders decide nothing: the caller compares with finite bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf, isfinite, nan
from typing import Any

import numpy as np

from hardsim.lazy_dataclass import dataclass
from hardsim.network.dense import Activation, Dense, Mlp, Norm, Transform
from hardsim.run.dense_float import Vectors, activate, enclosed
from hardsim.run.enclosure import ETA, GROW, LEAST_NORMAL, Floats, U, rounded

DEEPEST = 2**11
"""Greatest number of terms of a sum: dimensions and widths beyond it are refused."""
ROUND = 2.0**-40
"""A bound of the relative error of sums of at most DEEPEST products, 2^11 u = 2^-42, with a few operations more."""
SAMPLES = 17
"""The number of points at which an activation is computed to bound its distance from a chord."""
CURVATURE = {
    Activation.RELU: 0.0, Activation.GELU: 0.799, Activation.GELU_NEW: 0.82, Activation.QUICK_GELU: 0.853,
    Activation.SILU: 0.501, Activation.TANH: 0.771,
}  # fmt: skip
"""For each activation a bound of its second derivative, in size (relu is treated by its kink)."""


@dataclass(frozen=True, slots=True)
class AffineForm:
    """A batch of affine enclosures: `c` (N, d), `slopes` (N, m, d) and `e` (N, d), see the module."""

    c: Floats
    slopes: Floats
    e: Floats

    @property
    def spread(self) -> Floats:
        """The greatest distance of a vector from `c`, without `e`, by coordinate."""
        found: Floats = np.abs(self.slopes).sum(axis=1)
        return found

    @property
    def size(self) -> Floats:
        """A bound of the absolute value of each coordinate."""
        found: Floats = (np.abs(self.c) + self.spread + self.e) * GROW
        return found

    def at(self, index: Any) -> AffineForm:
        """Return some of the vectors."""
        return AffineForm(self.c[index], self.slopes[index], self.e[index])

    def plus(self, other: AffineForm) -> AffineForm:
        """Return the enclosure of the sum of two vectors with the same z."""
        e = self.e + other.e + ROUND * (self.size + other.size)
        long, short = self.slopes, other.slopes
        if long.shape[1] < short.shape[1]:
            long, short = short, long
        slopes = long.copy()
        slopes[:, : short.shape[1]] += short
        return AffineForm(self.c + other.c, slopes, e * GROW)

    def beside(self, slopes: Floats) -> AffineForm:
        """Return the form with more coordinates of z, with these slopes (N, new, d)."""
        return AffineForm(self.c, np.concatenate([self.slopes, slopes], axis=1), self.e)

    def first(self, count: int) -> AffineForm:
        """Return the form whose z has the first `count` coordinates: what the others add is in e."""
        rest = np.abs(self.slopes[:, count:]).sum(axis=1)
        return AffineForm(self.c, self.slopes[:, :count], (self.e + rest) * GROW)


class LinearPart:
    """A linear map `x W + b` of true matrices that are known between bounds, for affine enclosures."""

    def __init__(self, weight: Floats, off: Floats | None, bias: Floats | float = 0.0, bias_off: Floats | float = 0.0):
        self.weight, self.bias = weight, bias
        self.reach: Floats = np.abs(weight) * (ROUND * GROW) + (0.0 if off is None else off * GROW)
        """The part of the remainder that an input of size 1 adds."""
        self.absolute: Floats = np.abs(weight) * GROW
        self.base: Floats | float = (np.abs(bias) * ROUND + bias_off) * GROW + ETA

    @classmethod
    def of(cls, weight: Dense, bias: Dense | None) -> LinearPart:
        """Return the map with exact matrices."""
        mid, off = enclosed(weight)
        if bias is None:
            return cls(mid, off)
        near, bias_off = enclosed(bias)
        return cls(mid, off, near, 0.0 if bias_off is None else bias_off)

    @classmethod
    def beside(cls, parts: Sequence[LinearPart]) -> LinearPart:
        """Return the map whose values are those of several maps, side by side."""
        found = cls(np.concatenate([part.weight for part in parts], axis=1), None)
        found.reach = np.concatenate([part.reach for part in parts], axis=1)
        biases = [np.broadcast_to(part.bias, part.weight.shape[1:]) for part in parts]
        bases = [np.broadcast_to(part.base, part.weight.shape[1:]) for part in parts]
        found.bias, found.base = np.concatenate(biases), np.concatenate(bases)
        return found

    def __call__(self, x: AffineForm) -> AffineForm:
        """Return the enclosure of the map's value."""
        e = x.e @ self.absolute + x.size @ self.reach + self.base
        return AffineForm(x.c @ self.weight + self.bias, x.slopes @ self.weight, e * GROW)


def centred(x: AffineForm) -> AffineForm:
    """Return the enclosure of `x - mean(x)`."""
    mean = x.size.mean(axis=1, keepdims=True)
    e = x.e + x.e.mean(axis=1, keepdims=True) + ROUND * (x.size + mean)
    c = x.c - x.c.mean(axis=1, keepdims=True)
    return AffineForm(c, x.slopes - x.slopes.mean(axis=2, keepdims=True), e * GROW)


@dataclass(frozen=True, slots=True)
class Square:
    """The mean square of the coordinates plus epsilon, S = `mid` + z `slopes` + [-off, off], with bounds of S."""

    mid: Floats
    slopes: Floats
    off: Floats
    low: Floats
    high: Floats


def mean_square(y: AffineForm, epsilon: tuple[float, float]) -> Square:
    """Return the enclosure of `mean(y^2) + epsilon`; `epsilon` is a float and a bound of its error."""
    c, slopes, e = y.c, y.slopes, y.e
    d = c.shape[1]
    spread, size = y.spread, y.size
    squared = _mean_square_of(slopes)
    short = (e * e).mean(axis=1)
    linear = (2 / d) * np.einsum("nd,nmd->nm", c, slopes)
    # the mean of (z L)^2 lies in [0, squared], that of e'^2 in [0, short]: their middles go to the middle
    mid = (c * c).mean(axis=1) + epsilon[0] + (squared + short) / 2
    off = (squared + short) / 2 + 2 * ((np.abs(c) + spread) * e).mean(axis=1)
    off = (off + ROUND * ((size * size).mean(axis=1) * 4 + epsilon[0]) + epsilon[1]) * GROW + ETA
    reach = (np.abs(linear).sum(axis=1) + off) * GROW
    least = np.maximum(np.abs(c) * (1 - ROUND) - (spread + e) * GROW, 0.0)
    floor = epsilon[0] - epsilon[1]
    low = np.maximum(mid - reach - 4 * U * np.abs(mid), (least * least).mean(axis=1) * (1 - ROUND) + floor)
    return Square(mid, linear, off, np.maximum(low * (1 - 4 * U), floor), (mid + reach) * GROW)


def _mean_square_of(slopes: Floats) -> Floats:
    """Return a bound of the mean square of z L. By the triangle inequality of the root of the mean square, L may be
    taken in two parts: of the first d coordinates of z all products of slopes, of the others the sums of sizes."""
    d = slopes.shape[2]
    main, others = slopes[:, :d], np.abs(slopes[:, d:]).sum(axis=1)
    most = np.abs(main @ main.transpose(0, 2, 1)).sum(axis=(1, 2)) / d
    found: Floats = np.square(np.sqrt(most) + np.sqrt((others * others).mean(axis=1)))
    return found


@dataclass(frozen=True, slots=True)
class Rooted:
    """A function of S as `mid` + z `slopes` + [-off, off], with an upper bound of its value, and the slope of its
    chord: `slopes` is that times the slopes of S."""

    mid: Floats
    slopes: Floats
    off: Floats
    high: Floats
    slope: Floats


def inverse_root(square: Square) -> Rooted:
    """Return the enclosure of S^(-1/2) by its chord; NaN where S may be 0. The distance of a convex function from a
    line is greatest at an end; from below it is bounded by a tangent of the distance, at a point near the least one."""
    low, high, mid = np.where(square.low > 0, square.low, nan), square.high, square.mid
    at_low, at_high = 1 / np.sqrt(low), 1 / np.sqrt(high)
    width = high - low
    flat = width < 1e-12 * mid
    slope = np.where(flat, -0.5 * mid**-1.5, (at_high - at_low) / np.where(flat, 1.0, width))
    point = np.clip((-2 * slope) ** (-2 / 3), low, high)
    at_point = 1 / np.sqrt(point)
    turn = -0.5 * at_point / point - slope
    most = np.maximum(at_low - slope * (low - mid), at_high - slope * (high - mid))
    tilt = np.maximum(-turn, 0.0) * (high - point) + np.maximum(turn, 0.0) * (point - low)
    least = at_point - slope * (point - mid) - tilt
    wide = at_low + np.abs(slope) * (width + np.abs(low - mid) + np.abs(high - mid))
    off = (most - least) / 2 + np.abs(slope) * square.off + ROUND * wide
    return Rooted((most + least) / 2, slope[:, None] * square.slopes, off * GROW, at_low * GROW, slope)


def root(square: Square) -> Rooted:
    """Return the enclosure of S^(1/2), which is concave, in the way of `inverse_root`."""
    low, high, mid = np.where(square.low > 0, square.low, nan), square.high, square.mid
    at_low, at_high = np.sqrt(low), np.sqrt(high)
    width = high - low
    flat = width < 1e-12 * mid
    slope = np.where(flat, 0.5 * mid**-0.5, (at_high - at_low) / np.where(flat, 1.0, width))
    point = np.clip(0.25 / (slope * slope), low, high)
    at_point = np.sqrt(point)
    turn = 0.5 / at_point - slope
    least = np.minimum(at_low - slope * (low - mid), at_high - slope * (high - mid))
    tilt = np.maximum(turn, 0.0) * (high - point) + np.maximum(-turn, 0.0) * (point - low)
    most = at_point - slope * (point - mid) + tilt
    wide = at_high + np.abs(slope) * (width + np.abs(low - mid) + np.abs(high - mid))
    off = (most - least) / 2 + np.abs(slope) * square.off + ROUND * wide
    return Rooted((most + least) / 2, slope[:, None] * square.slopes, off * GROW, at_high * GROW, slope)


class NormForm:
    """A norm, for affine enclosures."""

    def __init__(self, norm: Norm, d: int) -> None:
        near, off = rounded(norm.epsilon)
        self.epsilon = (near, off) if isfinite(off) else (inf, inf)
        self.centring = norm.kind == "layer"
        ones, zeros = np.ones(d), np.zeros(d)
        self.weight, self.weight_off = (ones, None) if norm.weight is None else enclosed(norm.weight)
        self.bias, self.bias_off = (zeros, None) if norm.bias is None else enclosed(norm.bias)

    def entering(self, x: AffineForm) -> AffineForm:
        """Return the vectors that are divided by the root of their mean square."""
        return centred(x) if self.centring else x

    def __call__(self, x: AffineForm) -> AffineForm:
        """Return the enclosure of the norm's value: the product of the vectors y and `inverse_root`, r.

        With y = c + z L + e' and r = mid + z s + off theta, the part of second order is the sum over k of
        L_k z_k (z s + off theta). There z_k (z s) is s_k / 2, and at most the sum of the |s_l| less |s_k| / 2 away from
        it, as z_k^2 lies in [0, 1]; so it is s_k / 2 plus a multiple of a new coordinate in [-1, 1], the same for all
        coordinates of y. Likewise theta."""
        y = self.entering(x)
        r = inverse_root(mean_square(y, self.epsilon))
        ends = np.abs(r.slopes).sum(axis=1)[:, None]
        mid, off = r.mid[:, None], r.off[:, None]
        same = (y.slopes * r.slopes[:, :, None]).sum(axis=1)
        c = y.c * mid + same / 2
        slopes = y.c[:, None, :] * r.slopes[:, :, None] + r.mid[:, None, None] * y.slopes
        second = y.slopes * (ends - np.abs(r.slopes) / 2 + off)[:, :, None]
        every = np.concatenate([slopes, second, (y.c * off)[:, None]], axis=1)
        e = y.e * np.minimum(r.high[:, None], np.abs(mid) + ends + off)
        e = (e + ROUND * y.size * (np.abs(mid) + ends + off) * 8) * GROW
        weight, grown = self.weight, np.abs(self.weight) * GROW
        reach = (np.abs(c) + np.abs(every).sum(axis=1) + e) * GROW
        lost = ROUND * grown + (0.0 if self.weight_off is None else self.weight_off)
        base = ROUND * np.abs(self.bias) + (0.0 if self.bias_off is None else self.bias_off) + ETA
        return AffineForm(c * weight + self.bias, every * weight, (e * grown + reach * lost + base) * GROW)


def values(activation: Activation, x: Floats) -> tuple[Floats, Floats]:
    """Return an activation at some floats, and bounds of the errors."""
    mid = x.copy()[..., None]
    found = activate(activation, Vectors(mid, np.zeros_like(mid)), np.abs(mid))
    return found.mid[..., 0], found.length[..., 0] * GROW + ETA


def activated(
    activation: Activation, x: AffineForm, least: Floats | float = -inf, most: Floats | float = inf
) -> AffineForm:
    """Return the enclosure of an activation, of values that are also between `least` and `most`."""
    return bent(activation, x, least, most).form


@dataclass(frozen=True, slots=True)
class RangedForm:
    """An affine enclosure of N vectors of d coordinates, which are between `low` and `high`, (N, d)."""

    form: AffineForm
    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True)
class Chord:
    """Two lines of one slope with an activation between them, `slope` x + `middle` +- `off`, and bounds `low` and
    `high` of its values."""

    slope: Floats
    middle: Floats
    off: Floats
    low: Floats
    high: Floats


def chord(activation: Activation, low: Floats, high: Floats) -> Chord:
    """Return lines around an activation between bounds of its argument. The line is the chord between the ends; the
    distance from it is computed at SAMPLES points, and between neighbours it is off by at most CURVATURE / 8 times
    their squared distance (relu: it is greatest at an end, and least at the kink or an end)."""
    width = high - low
    shares = np.linspace(0, 1, SAMPLES if activation is not Activation.RELU else 2)[:, None, None]
    points = low + width * shares
    points[0], points[-1] = low, high
    if activation is Activation.RELU:
        points = np.concatenate([points, np.clip(0.0, low, high)[None]])
    found, errors = values(activation, points)
    last = 1 if activation is Activation.RELU else -1
    near = width <= 1e-7
    slope = np.where(near, 0.0, (found[last] - found[0]) / np.where(near, 1.0, width))
    # the greatest distance of neighbours, with the rounding of the points
    step = (width / max(len(shares) - 1, 1) + 8 * U * (np.abs(low) + np.abs(high))) * GROW
    bend = CURVATURE[activation] * step * step / 8
    if activation is Activation.RELU:
        slope = np.where(near & (low > 0), 1.0, slope)
    lost = bend + errors.max(axis=0) + ETA
    ends = np.nextafter(found.min(axis=0) - lost, -inf), np.nextafter(found.max(axis=0) + lost, inf)
    apart = found - slope * points
    slack = bend + errors.max(axis=0) + ROUND * (np.abs(found).max(axis=0) + np.abs(slope) * np.abs(points).max(axis=0))
    most, least = apart.max(axis=0) + slack, apart.min(axis=0) - slack
    middle = (most + least) / 2
    return Chord(slope, middle, ((most - least) / 2 + ROUND * np.abs(middle)) * GROW, *ends)


def bent(activation: Activation, x: AffineForm, least: Floats | float, most: Floats | float) -> RangedForm:
    """Return the enclosure of an activation, of values that are also between `least` and `most`."""
    reach = (x.spread + x.e) * GROW
    low = np.maximum(np.nextafter(x.c - reach, -inf), least)
    high = np.maximum(np.minimum(np.nextafter(x.c + reach, inf), most), low)
    line = chord(activation, low, high)
    slope = line.slope
    e = line.off + np.abs(slope) * x.e + ROUND * (np.abs(line.middle) + np.abs(slope) * x.size)
    form = AffineForm(slope * x.c + line.middle, slope[:, None, :] * x.slopes, e * GROW + ETA)
    return RangedForm(form, line.low, line.high)


def multiplied_within(a: RangedForm, b: RangedForm) -> AffineForm:
    """Return the enclosure of `multiplied`, or where it is closer, by coordinate, that from the ranges: for any numbers
    p and q, a b = p b + q a - p q + (a - p)(b - q), and with the middles of the ranges for p and q the last term is at
    most the product of their half widths. Ranges that are not finite are of no use."""
    plain = multiplied(a.form, b.form)
    p, q = a.low / 2 + a.high / 2, b.low / 2 + b.high / 2
    far = [np.maximum(one.high - at, at - one.low) + 4 * U * np.abs(at) for one, at in ((a, p), (b, q))]
    none = AffineForm(-p * q, np.zeros_like(plain.slopes), far[0] * far[1] + ROUND * np.abs(p * q))
    found = none
    for form, factor in ((b.form, p), (a.form, q)):
        e = form.e * np.abs(factor) + ROUND * np.abs(factor) * form.size + ETA
        found = found.plus(AffineForm(form.c * factor, form.slopes * factor[:, None, :], e * GROW))
    better = found.e < plain.e
    return AffineForm(
        np.where(better, found.c, plain.c),
        np.where(better[:, None], found.slopes, plain.slopes),
        np.where(better, found.e, plain.e),
    )


def multiplied(a: AffineForm, b: AffineForm) -> AffineForm:
    """Return the enclosure of the products of coordinates, of forms with the same z.

    With a = c + z L + r and b = d + z M + s, the part of second order is the sum over k and l of L_k M_l z_k z_l. There
    z_k^2 lies in [0, 1], so the terms with k = l are within half of the sum of |L_k M_k| of half of their sum; the
    others are at most |L_k M_l|. The rest is r (d + z M) + s (c + z L) + r s."""
    count = min(a.slopes.shape[1], b.slopes.shape[1])
    squares = a.slopes[:, :count] * b.slopes[:, :count]
    found = AffineForm(np.zeros_like(a.c), b.slopes * a.c[:, None, :], np.zeros_like(a.e)).plus(
        AffineForm(np.zeros_like(a.c), a.slopes * b.c[:, None, :], np.zeros_like(a.e))
    )
    (near, far), (wide, high) = (a.spread, a.e), (b.spread, b.e)
    second = np.maximum(near * wide * GROW - np.abs(squares).sum(axis=1) / 2 * (1 - ROUND), 0.0)
    rest = (np.abs(a.c) + near) * high + (np.abs(b.c) + wide) * far + far * high
    e = found.e + second + rest + 8 * ROUND * a.size * b.size
    return AffineForm(a.c * b.c + squares.sum(axis=1) / 2, found.slopes, e * GROW + ETA)


class MlpForm:
    """An MLP, for affine enclosures."""

    def __init__(self, mlp: Mlp) -> None:
        self.enter, self.leave = LinearPart.of(mlp.w_in, mlp.b_in), LinearPart.of(mlp.w_out, mlp.b_out)
        self.activation = mlp.activation
        self.gate = None if mlp.w_gate is None else LinearPart.of(mlp.w_gate, mlp.b_gate)
        self.entry = self.enter if self.gate is None else LinearPart.beside([self.gate, self.enter])
        """The map to the arguments of the activation; with a gate, also to the other factors, behind them."""

    def __call__(self, x: AffineForm) -> AffineForm:
        """Return the enclosure of what the MLP adds."""
        return self.added(self.entry(x))

    def added(self, entered: AffineForm, least: Floats | float = -inf, most: Floats | float = inf) -> AffineForm:
        """Return the enclosure of what the MLP adds where what its entry gives is also between `least` and `most`, with
        a new coordinate for the remainder of each hidden unit."""
        if self.gate is None:
            return self._left(activated(self.activation, entered, least, most))
        units, spread = len(self.leave.weight), (entered.spread + entered.e) * GROW
        low = np.maximum(np.nextafter(entered.c - spread, -inf), least)
        high = np.maximum(np.minimum(np.nextafter(entered.c + spread, inf), most), low)
        gate, factor = (
            AffineForm(entered.c[:, part], entered.slopes[:, :, part], entered.e[:, part])
            for part in (slice(units), slice(units, None))
        )
        # the product reads the range of the gate's values, not of their linear part alone
        ranged = bent(self.activation, gate, low[:, :units], high[:, :units])
        return self._left(multiplied_within(ranged, RangedForm(factor, low[:, units:], high[:, units:])))

    def _left(self, hidden: AffineForm) -> AffineForm:
        """Return the enclosure of what hidden units add, with a new coordinate for the remainder of each."""
        found = self.leave(AffineForm(hidden.c, hidden.slopes, np.zeros_like(hidden.e)))
        more = AffineForm(found.c, found.slopes, (found.e + hidden.e @ self.leave.reach) * GROW)
        return more.beside(hidden.e[:, :, None] * self.leave.weight)


class TransformForm:
    """A linear map and an activation, if there is one, for affine enclosures."""

    def __init__(self, transform: Transform) -> None:
        self.enter, self.activation = LinearPart.of(transform.weight, transform.bias), transform.activation

    def __call__(self, x: AffineForm) -> AffineForm:
        """Return the enclosure of the vectors that the map makes."""
        found = self.enter(x)
        return found if self.activation is None else activated(self.activation, found)


class CapForm:
    """A linear map and a soft cap `C tanh(. / C)`, for affine enclosures."""

    def __init__(self, weight: Dense, bias: Dense | None, cap: Fraction) -> None:
        near, off = rounded(cap)
        self.enter, self.cap = LinearPart.of(weight, bias), near
        self.off = off / near if near > LEAST_NORMAL else inf
        """A bound of the relative error of the cap."""

    def __call__(self, x: AffineForm) -> AffineForm:
        """Return the enclosure of the capped numbers. The argument of tanh is off by the relative error of the cap,
        and so is the product."""
        y, share = self.enter(x), 2 * self.off + ROUND
        z = AffineForm(y.c / self.cap, y.slopes / self.cap, (y.e + share * y.size) / self.cap * GROW + ETA)
        found = activated(Activation.TANH, z)
        e = (found.e + share * found.size) * self.cap
        return AffineForm(found.c * self.cap, found.slopes * self.cap, e * GROW + ETA)
