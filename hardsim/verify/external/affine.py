"""From boxes of the means of the heads to rows of what is required, by affine enclosures.

A head's output is a mean a of its values. With the rows b_k of its axes and coordinates z_k = b_k.a, a = sum_k z_k b_k
+ r, where |r| is at most a given remainder in each coordinate. A cell of a class is a box low_k <= z_k <= high_k over
the coordinates of all heads. With m_k its middle and t_k half its width (rounded up), z_k = m_k + t_k zeta_k, |zeta_k|
<= 1. A `CellForm`

    x_j = c_j + sum_k zeta_k s_kj + v_j + sum_u g_u M_uj,   |v_j| <= e_j, |g_u| <= h_u

stands for all vectors in a cell, where v and g are unknown; M is a fixed matrix, the exit of the MLP. Each operation
returns a form that encloses the true result for the same zeta. What is not affine is replaced by an affine function
near it, and its distance from that is bounded. If several coordinates of a vector share an unknown factor, it becomes
one more zeta with its own slopes, behind the others: maps that follow keep its sign. Whatever is rounded adds gamma_k
times the sum of the sizes of its terms to e, see `numbers`; as |zeta_k| <= 1 an error of a slope is an error of the
vector.

The last norm is not divided out. With sigma > 0 the root of the mean square and y the vector that it divides, a row
`norm(y) A + b` of outputs is above 0 exactly if `(y * weight) A + sigma (bias A + b)` is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import sqrt

from hardsim.verify.arithmetic import require
from hardsim.verify.external.bends import Line, line_of
from hardsim.verify.external.network import LEAST_SQUARE, LinearData, NetworkData, NormData
from hardsim.verify.external.numbers import ETA, GROW, LARGEST, U, dot, gamma
from hardsim.verify.external.run import mlp_added, sum_of

NARROW = 2.0**-200
"""Half a width below this counts as part of the remainder, so that no slope underflows."""
WIDEST, MOST_SLOPES = 1 << 14, 1 << 22
"""The most coordinates, units and slopes together, and numbers of the slopes of one vector."""
MOST_CAPPED = 1 << 11
"""The most outputs with a cap."""
Row = tuple[int, int]
"""A row of a requirement: the numbers of two outputs, the first of which should be greater; -1 is the level."""
RowBound = tuple[float, list[float], float]
"""g, l and e of a row: its value, times a positive number, is at least g + sum_k l_k (z_k - m_k) - e on a cell."""


@dataclass(slots=True)
class CellForm:
    """An enclosure of vectors (see the module): `c` (d), `slopes` (coordinates and more, d), `e` (d), and, after an
    MLP, `h` with its exit."""

    c: list[float]
    slopes: list[list[float]]
    e: list[float]
    h: list[float] = field(default_factory=list)
    exit: LinearData | None = None

    def spread(self) -> list[float]:
        """Return the greatest size of `sum_k zeta_k s_kj`, by coordinate, not grown."""
        if not self.slopes:
            return [0.0] * len(self.c)
        return [sum(map(abs, column)) for column in zip(*self.slopes, strict=True)]

    def plain(self) -> CellForm:
        """Return an enclosure with h moved to e: |sum_u g_u M_uj| <= h |M|."""
        if self.exit is None:
            return self
        e = [(a + dot(self.h, size)) * GROW + ETA for a, size in zip(self.e, self.exit.sizes, strict=True)]
        return CellForm(self.c, self.slopes, e)

    def opened(self) -> CellForm:
        """Return an enclosure in which each g_u is h_u times one more zeta, behind the others. The true M is within u,
        and the product h_u M_uj is rounded once."""
        if self.exit is None:
            return self
        slopes = [[h * a for a in row] for h, row in zip(self.h, self.exit.rows, strict=True)]
        sizes = zip(self.e, self.exit.sizes, strict=True)
        e = [(a + gamma(4) * dot(self.h, size)) * GROW + ETA for a, size in sizes]
        return CellForm(self.c, [*self.slopes, *slopes], e)


def halved(low: list[float], high: list[float]) -> tuple[list[float], list[float]]:
    """Return the middle of each interval of a box, as a float, and a bound of the distance of its ends."""
    middles = [(a + b) / 2 for a, b in zip(low, high, strict=True)]
    # the differences are right to u
    ends = zip(low, middles, high, strict=True)
    return middles, [max(b - m, m - a, 0.0) * (1 + 4 * U) for a, m, b in ends]


def linear(x: CellForm, part: LinearData) -> CellForm:
    """Return the enclosure of x W + b.

    A sum of n products and b of numbers that are within u of the true ones is off by at most gamma_(n + 3) times the
    sum of the sizes of its terms. So c W + b and all slopes together add gamma_(n + 3) ((|c| + spread) |W| + |b|).
    """
    g = gamma(part.inputs + 8)
    loose = [e + g * (abs(c) + s + e) for c, s, e in zip(x.c, x.spread(), x.e, strict=True)]
    bounds = zip(part.sizes, part.bias, strict=True)
    return CellForm(
        [dot(x.c, column) + b for column, b in zip(part.columns, part.bias, strict=True)],
        [[dot(slope, column) for column in part.columns] for slope in x.slopes],
        [(dot(loose, size) + g * abs(b)) * GROW + ETA for size, b in bounds],
    )


def plus(x: CellForm, y: CellForm) -> CellForm:
    """Return the enclosure of the sum of two vectors; y may have an exit and more slopes, x not. One addition in each
    of c and the slopes adds u times their sizes."""
    sizes = zip(x.c, x.spread(), y.c, y.spread(), strict=True)
    g = gamma(4)
    rounding = [g * (abs(a) + b + abs(c) + d) for a, b, c, d in sizes]
    return CellForm(
        [a + b for a, b in zip(x.c, y.c, strict=True)],
        [
            *([a + b for a, b in zip(*pair, strict=True)] for pair in zip(x.slopes, y.slopes, strict=False)),
            *y.slopes[len(x.slopes) :],
        ],
        [(a + b + r) * GROW + ETA for a, b, r in zip(x.e, y.e, rounding, strict=True)],
        y.h,
        y.exit,
    )


# ---- norms ----


@dataclass(slots=True)
class MeanSquare:
    """S, the mean square of a vector and epsilon, as `mid` + sum_k zeta_k `slopes`_k, off by at most `off`; S is
    between `low` and `high`. After an MLP there is a slope for each hidden unit, too, behind the others: its zeta is
    g_u / h_u."""

    mid: float
    slopes: list[float]
    off: float
    low: float
    high: float


def centred(x: CellForm) -> CellForm:
    """Return the enclosure of x less its mean, where M stands for its rows less their means. The mean of d numbers is
    off by gamma_(d + 1) times the mean of their sizes; so c and all slopes add gamma_(d + 4) (|c| + spread and the mean
    of that)."""
    d = len(x.c)
    g, mean = gamma(d + 8), sum(x.c) / d
    sizes = [abs(c) + s for c, s in zip(x.c, x.spread(), strict=True)]
    loose = (sum(x.e) + g * sum(sizes)) / d
    slopes = []
    for slope in x.slopes:
        middle = sum(slope) / d
        slopes.append([a - middle for a in slope])
    e = [(a + loose + g * size) * GROW + ETA for a, size in zip(x.e, sizes, strict=True)]
    return CellForm([c - mean for c in x.c], slopes, e, x.h, x.exit)


def mean_square(y: CellForm, epsilon: float) -> MeanSquare:
    """Return the enclosure of mean(y^2) + epsilon. Raises Rejected if it may be almost 0.

    With n_j = sum_k zeta_k s_kj and the remainder w = v + g M, y^2 = c^2 + 2 c n + 2 c v + 2 c (g M) + (n + w)^2. The
    mean of the last term is between 0 and `bulge`. |w| is at most f = e + h |M|, and c (g M) is sum_u g_u M_u.c.
    If y is `centred`, M stands for its rows less their means: the product with c, whose mean is 0, is the same without
    these means, and the mean of (n + w)^2 is greater. (What is rounded in c, n and v has a mean other than 0. That adds
    products of roundings with f, no more than the other roundings.) All terms together are at most 4 mean((|c| + spread
    + f)^2) in size, and sums have at most d + K^2 terms, with K slopes and units.
    S is also at least the mean of the squares of max(|c| - spread - f - mean h |M|, 0).
    """
    d, many = len(y.c), len(y.slopes) + len(y.h)
    linear_part = [2 * dot(y.c, slope) / d for slope in y.slopes]
    f = y.plain().e
    bulge = _bulge(y.slopes, f)
    parts = [*zip(map(abs, y.c), y.spread(), y.e, f, strict=True)]
    loose = sum(c * e for c, _, e, _ in parts)
    whole = sum((c + s + w) * (c + s + w) for c, s, _, w in parts)
    if y.exit is not None:
        linear_part += [2 * dot(row, y.c) / d * e for row, e in zip(y.exit.rows, y.h, strict=True)]
    rounding = gamma(d + many * many + 32) * (8 * whole / d + epsilon)
    mid = dot(y.c, y.c) / d + epsilon + bulge / 2
    off = (bulge / 2 + 2 * loose / d + rounding) * GROW + ETA
    reach = (sum(map(abs, linear_part)) + off) * GROW
    middle = sum(w - e for _, _, e, w in parts) / d
    least = [max(c * (1 - U) - (s + w + middle) * GROW, 0.0) for c, s, _, w in parts]
    floor = (dot(least, least) / d + epsilon) * (1 - gamma(d + 8))
    low = max((mid - reach) - 4 * U * mid, floor)
    require(low > LEAST_SQUARE, "a norm divides by a number that may be 0")
    high = (mid + reach) * (1 + 4 * U)
    require(high < LARGEST**8, "too large: a mean square")
    return MeanSquare(mid, linear_part, off, low, high)


def _bulge(slopes: list[list[float]], f: list[float]) -> float:
    """Return a bound of the mean over j of (sum_k zeta_k s_kj + w_j)^2 with |w_j| <= f_j, but for rounding.

    For the first 2 d slopes alone it is at most the sum of the sizes of the means of all products s_k s_l; for the
    others and w, the mean of (sum of |s_kj| + f_j)^2. The root of the mean square of a sum is at most the sum of those
    of its parts.
    """
    d = len(f)
    total, main = 0.0, slopes[: 2 * d]
    for k, slope in enumerate(main):
        total += dot(slope, slope) + 2 * sum(abs(dot(slope, other)) for other in main[:k])
    others = [sum(map(abs, column), w) for *column, w in zip(*slopes[2 * d :], f, strict=True)]
    both = sqrt(total / d) + sqrt(dot(others, others) / d)
    return both * both


def root_of(square: MeanSquare, inverse: bool) -> tuple[float, list[float], float, float]:
    """Return the enclosure of S^(1/2), or S^(-1/2), as its middle, slopes, a bound of the distance from these, and an
    upper bound of the root.

    Let f be the root, b the slope of its chord on [low, high], and D(S) = f(S) - b (S - mid). If f is convex (the
    inverse root), so is D: it is greatest at an end, and at least D(p) - max(0, -D'(p) (high - p), D'(p) (p - low)) for
    any p; the best p is where f' = b. If f is concave the same holds of -D. Any b and p are sound. Values of f are
    right to 4 u, and the terms of D are at most `size`, so roundings are less than 32 u `size`. Then f(S) is within
    that range of b (S - mid), and S - mid is within `off` of its linear part.
    """
    low, high, mid = square.low, square.high, square.mid
    at_low, at_high = sqrt(low), sqrt(high)
    if inverse:
        at_low, at_high = 1 / at_low, 1 / at_high
        # f' = -f^3 / 2, and the chord's slope without cancellation
        slope = -(at_low * at_low) * (at_high * at_high) / (at_low + at_high)
        point = min(max((-2 * slope) ** (-2 / 3), low), high)
        at_point = 1 / sqrt(point)
        turn, sign = -at_point / point / 2 - slope, 1.0
    else:
        slope = 1 / (at_low + at_high)
        point = min(max(1 / (4 * slope * slope), low), high)
        at_point = sqrt(point)
        turn, sign = 1 / (2 * at_point) - slope, -1.0
    ends = [sign * (at_low - slope * (low - mid)), sign * (at_high - slope * (high - mid))]
    size = max(at_low, at_high) + abs(slope) * (2 * high + 2 * abs(mid))
    tilt = max(0.0, -sign * turn * (high - point), sign * turn * (point - low))
    most, least = max(ends), sign * (at_point - slope * (point - mid)) - tilt
    off = ((most - least) / 2 + abs(slope) * square.off + 64 * U * size) * GROW
    upper = max(at_low, at_high) * (1 + 8 * U)
    return sign * (most + least) / 2, [slope * a for a in square.slopes], off, upper


def normed(x: CellForm, norm: NormData) -> CellForm:
    """Return the enclosure of a norm's value.

    With y the vector that is divided and r = r_0 + sum_k zeta_k r_k + theta t, |theta| <= 1, the inverse root,

        y_j r = c_j r_0 + sum_k zeta_k (c_j r_k + r_0 s_kj) + theta c_j t
                + sum_k s_kj zeta_k (sum_l zeta_l r_l + theta t) + v_j r.

    As zeta_k^2 is between 0 and 1, the factor of s_kj in the second line is r_k / 2, plus or minus R = sum|r_l| -
    |r_k| / 2 + t. So it is r_k / 2 + R zeta', with one more zeta' for each k; theta is one more, too. All terms that
    are rounded are at most 4 (|c| + spread + e) (|r_0| + sum|r_k| + t).
    """
    x = x.plain()
    y = centred(x) if norm.centring else x
    mid, tilts, off, upper = root_of(mean_square(y, norm.epsilon), True)
    ends = sum(map(abs, tilts)) + off
    reach = (abs(mid) + ends) * GROW
    greatest, g = min(upper, reach), 8 * gamma(len(tilts) + 16)
    columns = [*zip(*y.slopes, strict=True)] if y.slopes else [()] * len(y.c)
    middles, errors = [], []
    for c, e, s, column, w, b in zip(y.c, y.e, y.spread(), columns, norm.weight, norm.bias, strict=True):
        middles.append((c * mid + dot(column, tilts) / 2) * w + b)
        rounding = g * ((abs(c) + s + e) * reach * abs(w) + abs(b))
        errors.append((e * greatest * abs(w) + rounding) * GROW + ETA)
    turned = [c * w for c, w in zip(y.c, norm.weight, strict=True)]
    scaled = [mid * w for w in norm.weight]
    slopes, more = [], []
    for t, slope in zip(tilts, y.slopes, strict=True):
        slopes.append([a * t + s * b for a, s, b in zip(turned, slope, scaled, strict=True)])
        second = (ends - abs(t) / 2) * GROW
        more.append([second * s * w for s, w in zip(slope, norm.weight, strict=True)])
    return CellForm(middles, [*slopes, *more, [a * off for a in turned]], errors)


# ---- hidden units ----


def activated(name: str, x: CellForm) -> CellForm:
    """Return the enclosure of the functions of hidden units: each is within a `Line` on the range of its argument."""
    found: list[Line] = []
    spread = x.spread()
    for c, s, e in zip(x.c, spread, x.e, strict=True):
        reach = (s + e) * GROW
        slack = 4 * U * (abs(c) + reach)
        found.append(line_of(name, (c - reach) - slack, (c + reach) + slack))
    g = gamma(8)
    steep = [slope for slope, _, _ in found]
    parts = zip(found, x.c, spread, x.e, strict=True)
    return CellForm(
        [slope * c + middle for (slope, middle, _), c in zip(found, x.c, strict=True)],
        [[a * b for a, b in zip(steep, slope, strict=True)] for slope in x.slopes],
        [
            (off + abs(slope) * (e + g * (abs(c) + s)) + g * abs(middle)) * GROW + ETA
            for (slope, middle, off), c, s, e in parts
        ],
    )


def product(x: CellForm, y: CellForm) -> CellForm:
    """Return the enclosure of the products of coordinates of two vectors, neither of which has an exit.

    With x = c + sum_k zeta_k s_k + v and y = d + sum_k zeta_k t_k + w, zeta_k^2 is between 0 and 1. So the part of
    second order, sum_kl zeta_k zeta_l s_k t_l, is within sum|s_k| sum|t_k| - sum|s_k t_k| / 2 of sum s_k t_k / 2. The
    rest is v (d + sum zeta t) + w (c + sum zeta s) + v w. All terms are at most (|c| + spread + e) of both in size.
    """
    count = max(len(x.slopes), len(y.slopes))
    zero, g = [0.0] * len(x.c), gamma(3 * count + 16)
    ours, theirs = ([*z.slopes, *[zero] * (count - len(z.slopes))] for z in (x, y))
    squares = [[a * b for a, b in zip(*pair, strict=True)] for pair in zip(ours, theirs, strict=True)]
    slopes = [
        [c * b + d * a for c, d, a, b in zip(x.c, y.c, *pair, strict=True)] for pair in zip(ours, theirs, strict=True)
    ]
    middles, errors = [], []
    parts = zip(x.c, x.spread(), x.e, y.c, y.spread(), y.e, *squares, strict=True)
    for c, s, e, d, t, f, *own in parts:
        middles.append(c * d + sum(own) / 2)
        second = max(s * t - sum(map(abs, own)) / 2, 0.0)
        rest = e * (abs(d) + t) + f * (abs(c) + s) + e * f
        errors.append((second + rest + 4 * g * (abs(c) + s + e) * (abs(d) + t + f)) * GROW + ETA)
    return CellForm(middles, slopes, errors)


def times(x: CellForm, factor: float) -> CellForm:
    """Return the enclosure of x times a positive number that is within 3 u of `factor`; x has no exit."""
    sizes = zip(x.c, x.spread(), x.e, strict=True)
    e = [(e + gamma(8) * (abs(c) + s + e)) * factor * GROW + ETA for c, s, e in sizes]
    return CellForm([a * factor for a in x.c], [[a * factor for a in slope] for slope in x.slopes], e)


def left(x: CellForm, part: LinearData) -> CellForm:
    """Return the enclosure of x W + b where the errors of x stay apart: they are `h`, and W is the `exit`.

    Whoever reads `h` covers that the true weights are only within u of W.
    """
    found = linear(CellForm(x.c, x.slopes, [0.0] * len(x.e)), part)
    return CellForm(found.c, found.slopes, found.e, [e * GROW for e in x.e], part)


# ---- a network after its heads ----


def _identity(size: int) -> LinearData:
    return LinearData([[float(row == column) for column in range(size)] for row in range(size)], [0.0] * size)


@dataclass(frozen=True, slots=True)
class _RowForms:
    """Rows as linear forms of the last vector: by row `f` (d), bounds `sizes` of the sizes of its terms, the constant
    (times sigma, if there is a last norm) and a bound of the sizes of its terms; and for errors a bound of the sizes of
    f' (`f` less its mean, if the last norm subtracts it), and M f' with a bound of its error."""

    f: list[list[float]]
    sizes: list[list[float]]
    constants: list[tuple[float, float]]
    direct: list[list[float]]
    inner: list[tuple[list[float], list[float]]]


class AfterHeads:
    """A network after its heads. `heads` has by head the rows of its axes (each a list of the width of its values), and
    a bound of the remainder by coordinate of its values. `within`: another layer follows, so all norms are divided out.
    `cost` is about the time of `rows` in microseconds, where the vector to which attention adds has no slopes."""

    def __init__(
        self, network: NetworkData, heads: Sequence[tuple[list[list[float]], list[float]]], within: bool = False
    ) -> None:
        self.network, d = network, network.dimension
        units = 0 if network.mlp is None else len(network.mlp.leave.rows)
        # rows are differences of capped outputs, which no linear map follows
        self.unembedding = network.unembedding
        if network.output_cap is not None:
            require(len(network.outputs) <= MOST_CAPPED, "too large: too many outputs with a cap")
            self.unembedding = _identity(len(network.outputs))
        self.divided = network.transform is not None or network.output_cap is not None
        """True if steps follow the final norm, so that it is divided out."""
        count = sum(len(axes) for axes, _ in heads)
        wide = d + units + 4 * count + (len(self.unembedding.rows) if self.divided else 0)
        require(wide <= WIDEST and count * d <= MOST_SLOPES, "too large: a layer of this width")
        self.axes: list[list[float]] = []
        """b_k W_O by coordinate k of all heads."""
        self.axis_sizes: list[list[float]] = []
        """|b_k| |W_O| by coordinate k of all heads: b_k W_O is off by at most gamma_(width + 3) times that."""
        lost = [0.0] * d
        for head, (axes, remainder) in zip(network.heads, heads, strict=True):
            for axis in axes:
                self.axes.append([dot(axis, column) for column in head.o.columns])
                self.axis_sizes.append([dot([*map(abs, axis)], size) for size in head.o.sizes])
            lost = [a + dot(remainder, size) for a, size in zip(lost, head.o.sizes, strict=True)]
        self.lost = [a * GROW + ETA for a in lost]
        self.round = gamma(max([len(head.o.rows) for head in network.heads], default=0) + len(self.axes) + 16)
        self.turned = [*map(list, zip(*self.axes, strict=True))] if self.axes else [[] for _ in range(d)]
        self.turned_sizes = [*map(list, zip(*self.axis_sizes, strict=True))] if self.axes else [[] for _ in range(d)]
        self.last = None if self.divided else network.final
        if network.transform is not None and network.output_cap is None:
            self.last = network.transform.norm
        self.norm_2 = network.norm_2
        if self.last is None and network.post and not within and not self.divided:
            # a post-norm layer ends with a norm
            if network.mlp is None:
                self.last = network.norm_1
            else:
                self.last, self.norm_2 = network.norm_2, None
        self.norm_1 = network.norm_1 if network.post and self.last is not network.norm_1 else None
        self._entry = lru_cache(maxsize=4)(self._entered)
        self._kept: dict[tuple[Row, ...], _RowForms] = {}
        many = 2 * count + 3
        gates = units if network.mlp is not None and network.mlp.gate is not None else 0
        more = len(self.unembedding.rows) if self.divided else 0
        self.cost = 20 + many * (2 * d * units + many * d + 16 * d) // 20 + 4 * units
        self.cost += many * (gates * (d + 4) + more * (d + more + 8 * (units + many))) // 20

    def _entered(self, token: int, place: int) -> tuple[list[float], list[float]]:
        """Return the row of a token with b_O, or without it where a norm follows, and a bound of the error without the
        heads. Where the MLP is parallel to attention, what it adds is known, too."""
        x = self.network.embedded(token, place)
        if self.network.parallel and self.network.mlp is not None:
            x = sum_of([x, mlp_added(self.network, x)])
        return x if self.network.out_1 is not None else self._shifted(*x)

    def _shifted(self, mid: list[float], off: list[float]) -> tuple[list[float], list[float]]:
        """Return a vector between bounds with b_O, and a bound of the error with what the heads' axes leave out."""
        parts = zip(mid, off, self.network.b_o, self.lost, strict=True)
        g = gamma(4)
        errors = [(e + lost + g * (abs(x) + abs(b))) * GROW + ETA for x, e, b, lost in parts]
        return [x + b for x, b in zip(mid, self.network.b_o, strict=True)], errors

    def entered(self, token: int, place: int, middles: list[float], halves: list[float]) -> CellForm:
        """Return the enclosure of the residual stream after attention, for a box of the heads' means.

        Its middle is x + sum_k m_k P_k and its slopes are t_k P_k, with P_k = b_k W_O. Errors of P_k are at most
        gamma_(width + 3) |b_k| |W_O|, and the sum of at most k + 1 terms adds gamma_(k + 2).
        """
        x, norm = self._entry(token, place), self.network.out_1
        if norm is None:
            return self._added(*x, middles, halves)
        zero = [0.0] * len(x[0])
        return plus(CellForm(x[0], [], x[1]), normed(self._added(*self._shifted(zero, zero), middles, halves), norm))

    def attended(self, x: CellForm, middles: list[float], halves: list[float]) -> CellForm:
        """Return the enclosure of x and what attention adds, for a box of the heads' means. The coordinates of the box
        come first, those of x behind them."""
        x = x.opened()
        found = self._added(*self._shifted(x.c, x.e), middles, halves)
        return CellForm(found.c, [*found.slopes, *x.slopes], found.e)

    def _added(self, x: list[float], off: list[float], middles: list[float], halves: list[float]) -> CellForm:
        reach = [abs(m) + t for m, t in zip(middles, halves, strict=True)]
        narrow = [t if t < NARROW else 0.0 for t in halves]
        found, errors, g = [], [], self.round
        for a, e, column, sizes in zip(x, off, self.turned, self.turned_sizes, strict=True):
            found.append(a + dot(middles, column))
            errors.append((e + g * (dot(reach, sizes) + abs(a)) + dot(narrow, sizes)) * GROW + ETA)
        pairs = zip(halves, self.axes, strict=True)
        slopes = [[t * p for p in axis] if t >= NARROW else [0.0] * len(axis) for t, axis in pairs]
        return CellForm(found, slopes, errors)

    def after(self, x: CellForm) -> CellForm:
        """Return the enclosure of the last vector, before the last norm."""
        mlp = None if self.network.parallel else self.network.mlp
        if self.norm_1 is not None:
            x = normed(x, self.norm_1)
        if mlp is not None:
            entering, post, out = x, self.network.post, self.network.out_2
            if not post and self.norm_2 is not None:
                entering = normed(x, self.norm_2)
            hidden = activated(mlp.activation, linear(entering, mlp.enter if mlp.gate is None else mlp.gate))
            added = left(hidden if mlp.gate is None else product(hidden, linear(entering, mlp.enter)), mlp.leave)
            x = plus(x, added if out is None else normed(added.opened(), out))
            x = normed(x.plain(), self.norm_2) if post and self.norm_2 is not None else x
        # steps that follow read h with its sign as slopes
        return self._answered(x.opened()) if self.divided else x

    def _answered(self, x: CellForm) -> CellForm:
        """Return the enclosure of what the final norm, the transform and the cap make of the last vector; but the
        transform's norm, if it is the last step. 1 / C is within 2 u."""
        network = self.network
        x = x if network.final is None else normed(x, network.final)
        if (transform := network.transform) is not None:
            x = linear(x, transform.map)
            x = x if transform.activation is None else activated(transform.activation, x)
            x = normed(x, transform.norm) if transform.norm is not None and self.last is None else x
        if (cap := network.output_cap) is None:
            return x
        return times(activated("tanh", times(linear(x, network.unembedding), 1 / cap)), cap)

    def rows(
        self, token: int, place: int, low: list[float], high: list[float], choice: Sequence[Row]
    ) -> list[RowBound]:
        """Return bounds of the rows of a choice (see `RowBound`) on the box low <= z <= high, where the network is read
        at a token and a place. m_k is (low_k + high_k) / 2 as a float. Raises Rejected if a norm may divide by 0."""
        middles, halves = halved(low, high)
        return self._rows(self.entered(token, place, middles, halves), halves, choice)

    def rows_of(self, x: CellForm, low: list[float], high: list[float], choice: Sequence[Row]) -> list[RowBound]:
        """Return bounds of the rows of a choice as `rows`, where attention adds to the vectors of x."""
        middles, halves = halved(low, high)
        return self._rows(self.attended(x, middles, halves), halves, choice)

    def _rows(self, x: CellForm, halves: list[float], choice: Sequence[Row]) -> list[RowBound]:
        x, found = self.after(x), list[RowBound]()
        for c, slopes, e in self._required(x, tuple(choice)):
            own, others = slopes[: len(halves)], slopes[len(halves) :]
            slack = 4 * U * sum(map(abs, own)) + sum(map(abs, others))
            factors = [s / t if t >= NARROW else 0.0 for s, t in zip(own, halves, strict=True)]
            found.append((c, factors, (e + slack) * GROW + ETA))
        return found

    def _required(self, x: CellForm, choice: tuple[Row, ...]) -> list[RowBound]:
        """Return the enclosures of rows in terms of zeta.

        With y the last vector (less its mean, if the last norm subtracts it) and K the constant of a row, the row is
        f.y + sigma K. The errors v + g M of x enter y as a projection, so they add f'.(v + g M) with f' = f less its
        mean; g_u enters sigma, too. All that is rounded is at most gamma_(d + k + 32) times |f| (|y| + spread) + sigma
        |K|.
        """
        forms, norm = self._row_forms(choice, x.exit), self.last
        y, middle, tilts, off = x, 1.0, [0.0] * (len(x.slopes) + len(x.h)), 0.0
        if norm is not None:
            y = centred(x) if norm.centring else x
            middle, tilts, off, _ = root_of(mean_square(y, norm.epsilon), False)
        g = gamma(len(x.c) + len(tilts) + 32)
        whole = [abs(c) + s for c, s in zip(x.c, x.spread(), strict=True)]
        mean = sum(whole) / len(whole)
        whole = [a + mean for a in whole]
        size = (abs(middle) + sum(map(abs, tilts)) + off) * GROW
        found = []
        own, units = tilts[: len(x.slopes)], tilts[len(x.slopes) :]
        for f, sizes, (constant, most), direct, (inner, loose) in zip(
            forms.f, forms.sizes, forms.constants, forms.direct, forms.inner, strict=True
        ):
            slopes = [dot(slope, f) + t * constant for slope, t in zip(y.slopes, own, strict=True)]
            hidden = sum(abs(h * a + t * constant) for h, a, t in zip(x.h, inner, units, strict=True))
            e = dot(x.e, direct) + hidden + dot(x.h, loose) + abs(constant) * off
            e += g * (dot(whole, sizes) + most * size)
            found.append((dot(y.c, f) + middle * constant, slopes, e * GROW + ETA))
        return found

    def _row_forms(self, choice: tuple[Row, ...], leave: LinearData | None) -> _RowForms:
        if choice not in self._kept:
            self._kept[choice] = self._new_row_forms(choice, leave)
        return self._kept[choice]

    def _new_row_forms(self, choice: tuple[Row, ...], leave: LinearData | None) -> _RowForms:
        """Return the linear forms of rows. f is w (U_above - U_below), of terms |w| (|U_above| + |U_below|), and off by
        gamma_4 times that; so is the constant, by gamma_(d + 4)."""
        norm, columns, bias = self.last, self.unembedding.columns, self.unembedding.bias
        d, level = self.unembedding.inputs, self.network.readout.level
        found = _RowForms([], [], [], [], [])
        for pair in choice:
            f, sizes, constant, most = [0.0] * d, [0.0] * d, 0.0, 0.0
            for output, sign in zip(pair, (1.0, -1.0), strict=True):
                constant += sign * (level if output < 0 else bias[output])
                most += abs(level if output < 0 else bias[output])
                if output >= 0:
                    f = [a + sign * b for a, b in zip(f, columns[output], strict=True)]
                    sizes = [a + abs(b) for a, b in zip(sizes, columns[output], strict=True)]
            if norm is not None:
                constant += dot(norm.bias, f)
                most += dot([*map(abs, norm.bias)], sizes)
                f = [a * w for a, w in zip(f, norm.weight, strict=True)]
                sizes = [a * abs(w) for a, w in zip(sizes, norm.weight, strict=True)]
            g = gamma(2 * d + 32)
            mean = sum(f) / d if norm is not None and norm.centring else 0.0
            more = g * sum(sizes) / d
            turned, rough = [a - mean for a in f], [g * a + more for a in sizes]
            rows = [] if leave is None else leave.rows
            wide = gamma(2 * d + len(rows) + 32)
            loose = [b + wide * abs(a) for a, b in zip(turned, rough, strict=True)]
            found.f.append(f)
            found.sizes.append([a * GROW + ETA for a in sizes])
            found.constants.append((constant, most * GROW + ETA))
            found.direct.append([(abs(a) + b) * GROW + ETA for a, b in zip(turned, rough, strict=True)])
            slack = [dot([*map(abs, row)], loose) * GROW + ETA for row in rows]
            found.inner.append(([dot(row, turned) for row in rows], slack))
        return found
