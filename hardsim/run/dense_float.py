"""Certified float64 of a dense network: batches of words, midpoints and radii, all that is rounded accounted for.

Notation and the model of rounding are `enclosure`'s. A residual stream is a pair of arrays, one row a position of a
word: true values differ from `mid` by at most `rad`. Every bound below is our own derivation from that model; `g_k` is
gamma(k). A radius that comes out of a step has been multiplied by GROW or more after its last product of two computed
numbers, or is only added to before it is read, and each reader multiplies by GROW, so that 2^22 roundings of relative
size u are covered; ETA is added wherever a product may have underflowed. What overflows is infinite or NaN: no
comparison below lets such a number pass for a finite one, and at the end an output whose midpoint or radius is not
finite gets the radius infinity.

Linear maps. Of x with radius r, x W + b is off by at most r |W| + g_(d + 1) (|x| |W| + |b|), so by slack |W| + g |b|
with slack = r + g_(d + 6) |x|: two matrix products. Weights that float64 does not hold have a radius R, which adds
(|x| + r) R. Where slack underflows (by at most 2^-1021 a coordinate), ETA times the column sums of |W| is more.

Scores. With q' = fl(s q), a row of logits is off by at most rho := |q'| . max_j(r_k + g |k|) + r_q' . max_j(|k| + r_k),
where the largest over all positions of the word stand for every key: no array of radii of the scores is made. The
queries' radius r_q is slack |W_Q| and a constant, so r_q . B is slack . (|W_Q| B): no radii of queries are made either.

Softmax. Let M be the row's largest computed logit, d_j = fl(l_j - M), w_j = fl(exp(max(d_j, FLOOR))). With W_j =
e^(l*_j - M) for the true logits l*, w_j = W_j (1 + t_j) + a_j. Where j is visible and d_j >= FLOOR, |t_j| <= tau =
(1 + growth(rho + u |FLOOR|)) (1 + EXP_ERROR) - 1 and a_j = 0. Elsewhere (d_j < FLOOR, or j is not visible: then W_j = 0
and w_j = fl(e^FLOOR)) t_j = 0 and |a_j| <= 2^-142, as l*_j - M <= d_j (1 - 2 u) + rho < -98.9 if rho < 1. The true
shares are P_j = W_j / sum W. For values v within a spread D, with t the mean of the t_j under P,

    sum w_j v_j / sum w_j - sum P_j v_j = sum P_j (t_j - t)(v_j - sum P v) / (1 + t)   (where all a_j = 0),

a covariance: at most tau / (1 - tau) times the mean distance of v from its mean, which is at most D / 2. As sum w_j >=
1 - EXP_ERROR (a weight is exp(0)), the a_j add at most m 2^-141 D, that is less than 2^-110 D. Both means lie within D
of each other in any case, so the factor is at most 1, and 1 where rho >= 1 or is not a number. The values' own radii
add at most the largest of them; the two sums of m products and their quotient g_(2 m + 6) max |v|. A computed logit
overflows only where rho >= 1, since rho >= u |q'| . |k|.

That radius is factor_i spread_c + constant_c at query i and coordinate c, so its product with |W_O| is one of a column
and a row for each head: no product of the size of the residual stream.

Norms. With c = x - mean, s = sqrt(mean c^2 + epsilon) as computed, and g = g_(d + 8): the computed mean is off by at
most row := mean r + g mean |x|, where mean |x| <= |mean| + s (1 + u), since the mean of |c| is at most the root of that
of c^2; c by r_c = r + row + u |c|. The true s is the length of the vector (c / sqrt d, sqrt epsilon), so it moves by no
more than that of r_c / sqrt d, at most rms(r) + row + u s; rounding adds g s (sums of squares have no cancellation).
With sigma the sum of these two,

    |c* / s* - c / s| = |(c* - c) + (c / s)(s - s*)| / s* <= (r_c + |c / s| sigma) / (s - sigma)   if s > sigma.

Squares that underflow are harmless where mean c^2 + epsilon >= 2^-900; elsewhere, and if s <= sigma, there is no bound.
Without the mean (`rms`), c = x and row = 0.

Activations. f is Lipschitz with the constant STEEPEST (a test proves it for each f, with 2^-10 to spare), and at the
midpoint the computed value is off by at most c |x| + ETA / 1024; so that the radius is STEEPEST r + c |x| for r >= ETA,
which linear maps give. The constants c:
silu, x / (1 + e^-x): e^-x is right to EXP_ERROR, the sum and the quotient to u: c = EXP_ERROR + 4 u. Where e^-x
overflows, x < -709, the result is -0 and the true one below ETA / 1024; where it underflows, it is beside 1.
gelu_new, x / (1 + e^z), z = -x (A + B x^2) with A = 2 sqrt(2 / pi), B = 0.044715 A: z has relative error at most h =
g_8 (A and B are right to 2 u, and no sign changes), and by the mean value theorem the logistic function changes by at
most h |z'| e^-|z'| (1 + 2 h) <= h for a z' between. Thus c = EXP_ERROR + 4 u + g_8.
gelu, x Phi(x) = max(x, 0) - |x| Q(|x|), Q = erfc(x / sqrt 2) / 2 by `TailTable`, off by at most E: c = E + 3 u.
relu: exact; where x <= -r, exactly 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isfinite, isqrt
from typing import Any, TypeAlias

import numpy as np

from hardsim.network.dense import Activation, Dense, Mlp, Network, NetworkHead, NetworkLayer, Norm, ScoreScale
from hardsim.network.numbers import Mask
from hardsim.run.enclosure import (
    ETA,
    EXP_ERROR,
    GROW,
    LEAST_NORMAL,
    Booleans,
    Floats,
    Integers,
    U,
    floats,
    gamma,
    growth,
    outward,
    rounded,
)

FLOOR = -100.0
"""Distances from the largest logit below this are taken for it: numpy's exp is ten times as slow where it underflows,
and at -inf."""
LEFT_OUT = 2.0**-110
LEAST_VARIANCE = 2.0**-900
STEEPEST = {Activation.RELU: 1.0, Activation.SILU: 1.101, Activation.GELU: 1.13, Activation.GELU_NEW: 1.131}
"""At least the largest slope of each activation plus 2^-10 (relu: 1)."""
CELLS = 2**16
"""Numbers in an array of a batch: half a megabyte, so that some of them stay in the cache."""
ROWS = 64
"""Queries whose scores are made at once: under a mask they are not asked about keys that none of them sees."""
KEPT = 4
"""Lengths whose positions are remembered."""
PIECES, TERMS = 70, 9
"""Of the table of the normal distribution: pieces of width 1/8, coefficients of each."""
TABLE_BITS = 128

Enclosure: TypeAlias = tuple[Floats, Floats]
"""Midpoints and radii."""


def enclosed(array: Dense) -> tuple[Floats, Floats | None]:
    """The nearest float64 array and how far it is off; None if nowhere."""
    if array.dtype != object:
        return np.ascontiguousarray(array, dtype=np.float64), None
    mid, rad = (part.reshape(array.shape) for part in floats([Fraction(value) for value in array.ravel().tolist()]))
    return mid, rad if rad.any() else None


def slack(x: Floats, rad: Floats) -> Floats:
    """What a linear map multiplies by |W|; rows of x are the vectors."""
    found: Floats = np.abs(x)
    found *= gamma(x.shape[-1] + 6)
    found += rad
    return found


class LinearMap:
    """`x W + b` with its radius (see the module)."""

    def __init__(self, weight: Dense, bias: Dense | None) -> None:
        self.weight, self.off = enclosed(weight)
        size = np.abs(self.weight) if self.off is None else np.abs(self.weight) + self.off
        self.size: Floats = size * (GROW * GROW)
        self.bias: Floats | None = None
        base = ETA * self.size.sum(axis=0)
        if bias is not None:
            self.bias, off = enclosed(bias)
            base = base + gamma(len(weight) + 6) * np.abs(self.bias) + (0 if off is None else off)
        self.base: Floats = outward(base)
        """At least ETA."""

    def middle(self, x: Floats) -> Floats:
        """The midpoints for rows x."""
        found: Floats = x @ self.weight
        if self.bias is not None:
            found += self.bias
        return found

    def radius(self, x: Floats, loose: Floats) -> Floats:
        """The radii, with `loose` the slack of x; both may be the largest of several rows, then x without sign."""
        found: Floats = loose @ self.size
        if self.off is not None:
            found += (np.abs(x) @ self.off) * (GROW * GROW)
        found += self.base
        return found

    def __call__(self, x: Floats, rad: Floats) -> Enclosure:
        return self.middle(x), self.radius(x, slack(x, rad))


class FloatNorm:
    """A norm of rows (see the module)."""

    def __init__(self, norm: Norm) -> None:
        self.centred = norm.kind == "layer"
        near, off = rounded(norm.epsilon)
        self.epsilon = near if isfinite(off) else float("inf")
        self.weight = self.size = self.off = self.bias = None
        base: Any = 0.0
        if norm.weight is not None:
            self.weight, self.off = enclosed(norm.weight)
            self.size = np.abs(self.weight) if self.off is None else np.abs(self.weight) + self.off
            base = base + ETA * self.size
        if norm.bias is not None:
            self.bias, off_bias = enclosed(norm.bias)
            base = base + 4 * U * np.abs(self.bias) + (0 if off_bias is None else off_bias)
        self.base: Any = outward(base + ETA)

    def __call__(self, x: Floats, rad: Floats) -> Enclosure:
        """New arrays of the same shape."""
        d = x.shape[-1]
        share = gamma(d + 8)
        c, about = x, 0.0
        if self.centred:
            mean = np.einsum("ij->i", x)[:, None] / d
            c, about = x - mean, np.abs(mean)
        variance = np.einsum("ij,ij->i", c, c)[:, None] / d + self.epsilon
        s = np.sqrt(variance)
        row: Any = np.einsum("ij->i", rad)[:, None] / d + share * (about + 2 * s) if self.centred else 0.0
        # Squares below 2^-1022 are missing in what is under the root.
        sigma = (np.sqrt(np.einsum("ij,ij->i", rad, rad)[:, None] / d) + row + 2 * share * s) * GROW + 2.0**-500
        room = s - sigma
        sound = (variance >= LEAST_VARIANCE) & (variance < np.inf) & (room > 0)
        inverse = np.where(sound, GROW / room, np.inf)
        y = c / s
        found = np.abs(y)
        found *= ((sigma + 2 * U * s) * inverse + 6 * U) * GROW
        found += rad * inverse
        found += row * inverse
        if self.weight is not None:
            found *= self.size
            if self.off is not None:
                found += np.abs(y) * self.off * GROW
            y *= self.weight
        if self.bias is not None:
            y += self.bias
        found += self.base
        return y, found


@dataclass(frozen=True)
class TailTable:
    """Q(a) = erfc(a / sqrt 2) / 2 for a >= 0 as polynomials in the distance from the middle of each piece, the
    coefficients of a power in a row; beyond the last piece 0. `error` bounds |computed - Q| everywhere.

    A piece is a Taylor polynomial with Lagrange's remainder, the derivative enclosed by a ball over the piece. In
    Horner's scheme p <- fl(c_k + fl(delta p)) an error e of p becomes at most |delta| e + 3 u |delta p| + u |new p| +
    what c_k is off (delta is rounded, so is the product, and the sum); 2^-20 more covers what is quadratic in u.
    """

    coefficients: Floats
    error: float

    def __call__(self, a: Floats) -> Floats:
        """Q where a >= 0, NaN where a is NaN."""
        place = np.fmin(a * 8, PIECES).astype(np.intp)
        delta = a - (place + 0.5) / 8
        found: Floats = self.coefficients[-1].take(place)
        for row in self.coefficients[-2::-1]:
            found *= delta
            found += row.take(place)
        return found


@lru_cache(maxsize=1)
def tail_table() -> TailTable:
    """The table, made with balls at its first use."""
    from flint import arb, arb_series, ctx

    table, worst = np.zeros((TERMS, PIECES + 1)), 0.0
    half = 1 / 16
    with ctx.workprec(TABLE_BITS):
        ctx_cap, ctx.cap = ctx.cap, TERMS + 1
        try:
            beyond = _above((arb(PIECES) / 8 / arb(2).sqrt()).erfc() / 2)
            for piece in range(PIECES):
                centre = arb(2 * piece + 1) / 16
                exact = (arb_series([centre, 1]) / arb(2).sqrt()).erfc() / 2
                over = (arb_series([arb(centre, half), 1]) / arb(2).sqrt()).erfc() / 2
                table[:, piece] = [float(exact[k].mid()) for k in range(TERMS)]
                slips = [_above(exact[k] - arb(table[k, piece].item())) for k in range(TERMS)]
                remainder = _above(over[TERMS]) * half**TERMS
                worst = max(worst, remainder + _horner_error(np.abs(table[:, piece]).tolist(), slips, half))
            beyond = float(((arb(PIECES) / 8 / arb(2).sqrt()).erfc() / 2).upper()) * (1 + 2.0**-20)
        finally:
            ctx.cap = ctx_cap
    return TailTable(table, max(worst, beyond) * (1 + 2.0**-20))


def _above(value: Any) -> float:
    """A float that is at least the size of what is in a ball."""
    return float(abs(value).upper()) * (1 + 2.0**-40) + ETA


def _horner_error(sizes: Sequence[float], slips: Sequence[float], width: float) -> float:
    """A bound of the error of Horner's scheme, from the sizes of the coefficients and how far they are off."""
    total, error = sizes[-1], slips[-1]
    for size, slip in zip(sizes[-2::-1], slips[-2::-1], strict=True):
        product = width * total
        total = product + size
        error = width * error + 3 * U * product + U * total + slip
    return error * (1 + 2.0**-20)


A_NEW, B_NEW = 1.5957691216057308, 0.07135481627260025
"""2 sqrt(2 / pi), and 0.044715 times that: right to 2 u (a test holds them against balls)."""


def activate(activation: Activation, x: Floats, rad: Floats) -> Enclosure:
    """The activation of `x`, off by `rad` >= ETA; both arrays are used up."""
    if not isfinite(float(x.sum())):
        x[~np.isfinite(x)] = np.nan  # else an overflow would pass for a large number
    match activation:
        case Activation.RELU:
            np.copyto(rad, 0.0, where=x <= -rad)
            return np.maximum(x, 0.0, out=x), rad
        case Activation.SILU:
            y = np.negative(x)
            np.exp(y, out=y)
            y += 1
            np.divide(x, y, out=y)
            relative = EXP_ERROR + 4 * U
        case Activation.GELU_NEW:
            y = x * x
            y *= -B_NEW
            y -= A_NEW
            y *= x
            np.exp(y, out=y)
            y += 1
            np.divide(x, y, out=y)
            relative = EXP_ERROR + 4 * U + gamma(8)
        case Activation.GELU:
            table, size = tail_table(), np.abs(x)
            tail = table(size)
            tail *= size
            y = np.maximum(x, 0.0)
            y -= tail
            relative = table.error + 3 * U
    np.abs(x, out=x)
    x *= relative * GROW
    rad *= STEEPEST[activation]
    rad += x
    return y, rad


def scale_of(scale: ScoreScale) -> tuple[float, float]:
    """The nearest float to the real number and a bound of its relative error: infinite where float64 has no such number
    at full precision."""
    root = isqrt(scale.root)
    exact = root * root == scale.root
    value = scale.factor / (root if exact else Fraction(isqrt(scale.root << 400), 1 << 200))
    near, off = rounded(value)
    if exact and off == 0:
        return near, 0.0
    return near, 4 * U if abs(near) > LEAST_NORMAL and isfinite(off) else float("inf")


@dataclass(frozen=True, slots=True)
class Look:
    """Some of the queries, and the keys that they are asked about: `hidden` is added to their scores, -inf where a key
    is not seen, None where all are."""

    rows: slice
    keys: slice
    hidden: Floats | None


def looks(mask: Mask, queries: Integers, size: int) -> list[Look]:
    """The queries at these positions of `size`, ROWS at a time."""
    found = []
    for start in range(0, len(queries), ROWS):
        some = queries[start : start + ROWS]
        low = int(some.min()) if mask is Mask.PAST else 0
        high = int(some.max()) + 1 if mask is Mask.FUTURE else size
        seen = visible(mask, some, np.arange(low, high))
        hidden = None if seen.all() else np.where(seen, 0.0, -np.inf)
        found.append(Look(slice(start, start + len(some)), slice(low, high), hidden))
    return found


def visible(mask: Mask, queries: Integers, keys: Integers) -> Booleans:
    """Which keys each query sees, (queries, keys), places from 0."""
    match mask:
        case Mask.NONE:
            return np.ones((len(queries), len(keys)), dtype=np.bool_)
        case Mask.FUTURE:
            return keys[None, :] <= queries[:, None]
        case Mask.PAST:
            return keys[None, :] >= queries[:, None]
    raise ValueError(f"every query of a dense network sees its own position: no mask {mask}")


class FloatHead:
    """Where a head's queries, keys and values stand among those of its layer, and its scale."""

    def __init__(self, head: NetworkHead, query: int, key: int) -> None:
        self.head = head
        k, v = head.w_q.shape[1], head.w_v.shape[1]
        self.query, self.key = slice(query, query + k), slice(key, key + k)
        self.value = slice(key + k, key + k + v)
        self.value_one = slice(key + k, key + k + v + 1)
        """The values and a coordinate that is 1, which sums the weights."""
        self.scale, self.scale_error = scale_of(head.scale)


@dataclass(frozen=True, slots=True)
class Seen:
    """What all queries of a layer share: the keys and values (words, positions, columns); by word and column (words,
    columns) the largest size of an entry, its largest radius, and how far entries are apart."""

    columns: Floats
    size: Floats
    radius: Floats
    spread: Floats


class FloatAttention:
    """The heads of a layer."""

    def __init__(self, layer: NetworkLayer, d: int) -> None:
        self.heads: list[FloatHead] = []
        query = key = 0
        for head in layer.heads:
            self.heads.append(FloatHead(head, query, key))
            query, key = self.heads[-1].query.stop, self.heads[-1].value_one.stop
        self.b_o = None if layer.b_o is None else LinearMap(np.zeros((0, d)), layer.b_o)
        if not layer.heads:
            return
        self.queries = LinearMap(*beside([(head.w_q, head.b_q) for head in layer.heads]))
        nothing, one = np.zeros((d, 1)), np.ones(1)
        parts = [
            part
            for head in layer.heads
            for part in ((head.w_k, head.b_k), (head.w_v, head.b_v), (nothing, one))
        ]  # fmt: skip
        self.seen = LinearMap(*beside(parts))
        self.out = LinearMap(np.concatenate([head.w_o for head in layer.heads]), layer.b_o)

    def shared(self, y: Floats, loose: Floats) -> Seen:
        """Keys and values of vectors y (words, positions, d) with their slack."""
        words, m, d = y.shape
        columns = self.seen.middle(y.reshape(-1, d)).reshape(words, m, -1)
        largest = np.abs(y).max(axis=1) if self.seen.off is not None else y[:, 0]
        radius = self.seen.radius(largest, loose.max(axis=1))
        high, low = columns.max(axis=1), columns.min(axis=1)
        return Seen(columns, np.maximum(np.abs(high), np.abs(low)), radius, high - low)

    def logits(self, part: FloatHead, q: Floats, keys: slice, seen: Seen) -> Floats:
        """The scores of scaled queries q (words, rows, k) for some keys, (words, rows, keys)."""
        found: Floats = q @ seen.columns[:, keys, part.key].transpose(0, 2, 1)
        return found

    def slip(self, part: FloatHead, q: Floats, y: Floats, loose: Floats, seen: Seen) -> Floats:
        """How far the logits of each query may be off, (words, rows): rho of the module. q are the scaled queries, made
        of y with the slack `loose`.

        With r_q the radius of the queries before they are scaled, that of q is at most |s| (1 + e) r_q + (e + 2 u) |q|
        + ETA, for a scale s off by a share e.
        """
        k = q.shape[-1]
        size, radius = seen.size[:, part.key], seen.radius[:, part.key]
        each = size + radius
        here = radius + gamma(k + 4) * size + (part.scale_error + 4 * U) * each + ETA
        columns = self.queries.size[:, part.query]
        factor = abs(part.scale) * (1 + part.scale_error) * (GROW * GROW)
        through = (each @ columns.T) * factor
        fixed = (each @ self.queries.base[part.query])[:, None] * factor + ETA * (1 + each.sum(axis=1, keepdims=True))
        found = (np.abs(q) @ here[:, :, None])[:, :, 0] + (loose @ through[:, :, None])[:, :, 0] + fixed
        if self.queries.off is not None:
            weights = (each @ self.queries.off[:, part.query].T) * factor
            found += (np.abs(y) @ weights[:, :, None])[:, :, 0]
        return outward(found)

    def __call__(self, y: Floats, rad: Floats, places: Integers | None) -> Enclosure:
        """What the heads add at the places, (words, places, d), from vectors y at all positions."""
        words, m, d = y.shape
        if not self.heads:
            assert self.b_o is not None
            assert self.b_o.bias is not None
            count = m if places is None else len(places)
            shape = (words, count, d)
            return np.broadcast_to(self.b_o.bias, shape), np.broadcast_to(self.b_o.base, shape)
        loose = slack(y, rad)
        seen = self.shared(y, loose)
        if places is not None:
            y, loose = y[:, places], loose[:, places]
        queries = np.arange(m) if places is None else places
        rows = len(queries)
        q_all = self.queries.middle(y.reshape(-1, d)).reshape(words, rows, -1)
        attended = np.empty((words, rows, self.out.weight.shape[0]))
        factors = np.empty((words, rows, len(self.heads)))
        ways = np.empty((words, len(self.heads), d))
        fixed: Any = self.out.base
        asked = {part.head.mask: looks(part.head.mask, queries, m) for part in self.heads}
        start = 0
        for number, part in enumerate(self.heads):
            q = q_all[:, :, part.query] * part.scale
            factors[:, :, number] = mean_factor(self.slip(part, q, y, loose, seen))
            values = slice(start, start + part.value.stop - part.value.start)
            start = values.stop
            for look in asked[part.head.mask]:
                weights = exponentials(self.logits(part, q[:, look.rows], look.keys, seen), look.hidden)
                total = weights @ seen.columns[:, look.keys, part.value_one]
                np.divide(total[:, :, :-1], total[:, :, -1:], out=attended[:, look.rows, values])
            columns = self.out.size[values]
            ways[:, number] = (seen.spread[:, part.value] * GROW) @ columns
            # A value is at most `size`, an attended one a share of u larger: its slack for W_O.
            size = seen.size[:, part.value]
            constant = seen.radius[:, part.value] + (gamma(2 * m + 6) + gamma(len(self.out.weight) + 8)) * size + ETA
            fixed = fixed + (constant * GROW) @ columns
            if self.out.off is not None:
                fixed = fixed + (size * 2) @ self.out.off[values]
        mid = self.out.middle(attended.reshape(words * rows, -1)).reshape(words, rows, d)
        return mid, factors @ ways + fixed[:, None, :]


def mean_factor(slip: Floats) -> Floats:
    """What the spread of the values is multiplied by, from rho."""
    grown = growth(slip + 2 * U * -FLOOR)
    tau = outward(grown + EXP_ERROR * (1 + grown)) + LEFT_OUT
    return np.where(tau < 0.5, outward(tau / np.maximum(1 - tau, U)) * 0.5 + LEFT_OUT, 1.0)


def exponentials(logits: Floats, hidden: Floats | None) -> Floats:
    """Weights beside 1 for the largest, in place."""
    if hidden is not None:
        logits += hidden
    logits -= logits.max(axis=2, keepdims=True)
    np.maximum(logits, FLOOR, out=logits)
    found: Floats = np.exp(logits, out=logits)
    return found


def beside(parts: Sequence[tuple[Dense, Dense | None]]) -> tuple[Dense, Dense | None]:
    """Matrices side by side, and their biases."""
    weight = np.concatenate([weight for weight, _ in parts], axis=1)
    if all(bias is None for _, bias in parts):
        return weight, None
    filled = [np.zeros(weight.shape[1]) if bias is None else bias for weight, bias in parts]
    return weight, np.concatenate(filled)


class FloatMlp:
    """An MLP."""

    def __init__(self, mlp: Mlp) -> None:
        self.activation = mlp.activation
        self.enter, self.leave = LinearMap(mlp.w_in, mlp.b_in), LinearMap(mlp.w_out, mlp.b_out)

    def __call__(self, y: Floats, rad: Floats) -> Enclosure:
        return self.leave(*activate(self.activation, *self.enter(y, rad)))


class FloatLayer:
    """A layer: what it makes of the residual stream (words, positions, d)."""

    def __init__(self, layer: NetworkLayer, d: int) -> None:
        self.post = layer.post
        self.attention = FloatAttention(layer, d) if layer.attends else None
        self.mlp = None if layer.mlp is None else FloatMlp(layer.mlp)
        self.norms = [None if norm is None else FloatNorm(norm) for norm in (layer.norm_1, layer.norm_2)]
        self.width = max([d, *([] if layer.mlp is None else [layer.mlp.w_in.shape[1]])])

    def entering(self, x: Floats, rad: Floats) -> Enclosure:
        """What the heads read."""
        return (x, rad) if self.post else normed(self.norms[0], x, rad)

    def __call__(self, x: Floats, rad: Floats, places: Integers | None = None) -> Enclosure:
        """The residual stream after the layer, at the places alone if they are given."""
        if self.attention is not None:
            added = self.attention(*self.entering(x, rad), places)
            if places is not None:
                x, rad = x[:, places], rad[:, places]
            x, rad = summed(x, rad, *added)
            if self.post:
                x, rad = normed(self.norms[0], x, rad)
        elif places is not None:
            x, rad = x[:, places], rad[:, places]
        if self.mlp is None:
            return x, rad
        shape = x.shape
        x, rad = x.reshape(-1, shape[-1]), rad.reshape(-1, shape[-1])
        entering = (x, rad) if self.post else normed(self.norms[1], x, rad)
        x, rad = summed(x, rad, *self.mlp(*entering))
        if self.post:
            x, rad = normed(self.norms[1], x, rad)
        return x.reshape(shape), rad.reshape(shape)


def normed(norm: FloatNorm | None, x: Floats, rad: Floats) -> Enclosure:
    """A norm of vectors in the last axis; the same arrays if there is none."""
    if norm is None:
        return x, rad
    y, found = norm(x.reshape(-1, x.shape[-1]), rad.reshape(-1, x.shape[-1]))
    return y.reshape(x.shape), found.reshape(x.shape)


def summed(x: Floats, rad: Floats, added: Floats, off: Floats) -> Enclosure:
    """The sum; `off` is at least ETA, which covers an underflow."""
    mid = x + added
    found = np.abs(mid)
    found *= 2 * U
    found += rad
    found += off
    return mid, found


class DenseFloat:
    """A dense network in certified float64, for batches of words of one length; whoever believes it has asked
    `float_trust.distrust()`."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self._embedding, self._embedding_rad = enclosed(network.embedding)
        self._layers = [FloatLayer(layer, network.dimension) for layer in network.layers]
        self._final = None if network.final is None else FloatNorm(network.final)
        self._unembedding = LinearMap(network.unembedding, network.unembedding_bias)
        self._width: int = max([layer.width for layer in self._layers] + [network.dimension, len(network.outputs)])
        self._encodings: dict[int, tuple[Floats, Floats | None] | None] = {}

    def run(self, n: int, tokens: Integers, places: slice | Sequence[int]) -> Enclosure:
        """The outputs of words of n symbols at some positions of the tokens that are read (from 0).

        `tokens` are token ids, (words, m). The result is midpoints and radii, (words, places, outputs): the radius is
        infinite, and the midpoint 0, where nothing is known.
        """
        words, m = tokens.shape
        at = np.arange(m)[places if isinstance(places, slice) else np.array(list(places), dtype=np.int64)]
        mid = np.zeros((words, len(at), len(self.network.outputs)))
        rad = np.full_like(mid, np.inf)
        count = self._at_once(m)
        with np.errstate(all="ignore"):
            for start in range(0, words, count):
                some = slice(start, start + count)
                found, off = self._outputs(*self._embedded(n, tokens[some]), at)
                known = np.isfinite(found) & np.isfinite(off)
                np.copyto(mid[some], found, where=known)
                np.copyto(rad[some], off, where=known)
        return mid, rad

    def attention(self, n: int, tokens: Integers) -> Iterator[tuple[int, NetworkHead, Floats, Floats]]:
        """For each head the number of its layer from 0, the head, its logits with their scale (words, queries, keys),
        -inf where a key is not seen, and for each query what bounds the error of all logits that it sees, (words,
        queries): infinite, with logits 0, where nothing is known. One array of logits is made at a time.
        """
        m = tokens.shape[1]
        count = self._at_once(m)
        with np.errstate(all="ignore"):
            x, rad = self._embedded(n, tokens)
        for number, layer in enumerate(self._layers):
            for part in layer.attention.heads if layer.attention is not None else ():
                logits, slip = np.empty((len(tokens), m, m)), np.empty((len(tokens), m))
                seen = visible(part.head.mask, np.arange(m), np.arange(m))
                for start in range(0, len(tokens), count):
                    some = slice(start, start + count)
                    with np.errstate(all="ignore"):
                        self._scores(layer, part, x[some], rad[some], logits[some], slip[some])
                        lost = ~(np.isfinite(logits[some]) | ~seen).all(axis=2) | ~np.isfinite(slip[some])
                    logits[some][lost], slip[some][lost] = 0.0, np.inf
                logits[:, ~seen] = -np.inf
                yield number, part.head, logits, slip
            if number + 1 == len(self._layers):
                return
            with np.errstate(all="ignore"):
                for start in range(0, len(tokens), count):
                    some = slice(start, start + count)
                    x[some], rad[some] = layer(x[some], rad[some])

    def _scores(self, layer: FloatLayer, part: FloatHead, x: Floats, rad: Floats, logits: Floats, slip: Floats) -> None:
        attention = layer.attention
        assert attention is not None
        y, y_rad = layer.entering(x, rad)
        loose = slack(y, y_rad)
        seen = attention.shared(y, loose)
        q = attention.queries.middle(y.reshape(-1, y.shape[2])).reshape(*y.shape[:2], -1)[:, :, part.query] * part.scale
        logits[:] = attention.logits(part, q, slice(None), seen)
        slip[:] = attention.slip(part, q, y, loose, seen)

    def _at_once(self, m: int) -> int:
        """How many words are run together."""
        return max(1, CELLS // (m * max(self._width, min(m, ROWS))))

    def _embedded(self, n: int, tokens: Integers) -> Enclosure:
        x = self._embedding[tokens]
        rad = np.zeros_like(x) if self._embedding_rad is None else self._embedding_rad[tokens]
        positions = self._encoding(n)
        if positions is not None:
            mid, off = positions
            x += mid
            rad += U * np.abs(x) * GROW + ETA
            if off is not None:
                rad += off
        return x, rad

    def _encoding(self, n: int) -> tuple[Floats, Floats | None] | None:
        if n not in self._encodings:
            found = self.network.encoding(n)
            while len(self._encodings) >= KEPT:
                del self._encodings[next(iter(self._encodings))]
            self._encodings[n] = None if found is None else enclosed(found)
        return self._encodings[n]

    def _outputs(self, x: Floats, rad: Floats, places: Integers) -> Enclosure:
        """From the embedded words, the last layer's queries at the places only."""
        last = len(self._layers) - 1
        everywhere = len(places) == x.shape[1] and bool((places == np.arange(x.shape[1])).all())
        for number, layer in enumerate(self._layers):
            x, rad = layer(x, rad, places if number == last and not everywhere else None)
        if last < 0:
            x, rad = x[:, places], rad[:, places]
        words, count, d = x.shape
        x, rad = normed(self._final, x, rad)
        mid, off = self._unembedding(x.reshape(-1, d), rad.reshape(-1, d))
        return mid.reshape(words, count, -1), off.reshape(words, count, -1)
