"""An external network in certified float64: batches of words, midpoints, and bounds of all rounding errors.

Notation and the model of rounding are those of `enclosure`; g_k is gamma(k), |x| the array of absolute values, ||x|| a
Euclidean length, and s(W) the largest singular value of a matrix. Every bound below is our own derivation from that
model. The error of a vector is bounded by its Euclidean length: a linear map enlarges it by s(W). Bounds of single
coordinates grow by the row sums of |W|, in a dense matrix sqrt(d) times as fast. A sparse network (a compiled one) is
also run with bounds of single coordinates, `fine`, since most entries of its matrices are 0, and each step takes the
smaller of the two bounds.

Every bound is multiplied by GROW or more after its last product of two computed numbers (or is only added to before it
is read), and each reader multiplies by GROW, so that 2^22 roundings of relative size u are covered. ETA is added
wherever a product may have underflowed, LEAST_LENGTH wherever a square may have. A number that overflows is infinite or
NaN: no comparison below takes such a number for a finite one, and an output whose midpoint or radius is not finite gets
an infinite radius.

Linear maps. With the error e of x, x W + b as computed is off by e W and by at most g_(d + 1) (|x| |W| + |b|). In
single coordinates that is slack |W| + g |b| with slack = |e| + g_(d + 6) |x|; in length s(W) ||e|| + g ||x|| ||W|| + g
||b|| with ||W|| the root of the sum of squares (of each column, for one coordinate). Weights that float64 does not hold
have a radius R, which adds (|x| + |e|) R. Where slack underflows, by at most 2^-1021 a coordinate, ETA times the column
sums of |W| is more.

Singular values. s(A)^2 = s(A^T A) <= s(B) + g ||A||^2 for B, the computed A^T A; so on with B, scaled by powers of 2;
the last one is bounded by ||B||. With k squarings that is at most n^(1 / 2^(k + 1)) s(A) for n columns, and rounding.

Scores. With q' = fl(s q), a row of logits is off by at most rho := ||e_q|| max_j(||k_j|| + ||e_k||) + ||q'|| (max
||e_k|| + g max ||k_j||), where the largest over all positions of the word stand for every key: no array of bounds of
the scores is made. In single coordinates likewise |q'| . max_j(|e_k| + g |k|) + |e_q| . max_j(|k| + |e_k|); there |e_q|
is slack |W_Q| and a constant, so |e_q| . B is slack . (|W_Q| B).

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

Where ||q'|| max_j ||k_j|| <= FLAT for all queries of a batch, no logit needs the distance from the largest one: the
same holds with M = 0, d_j = l_j, and w_j = 0 for keys that are not visible. Then all a_j = 0, and sum w_j is at least
e^-FLAT > 2^-47, so what underflows in the sums is below 2^-1020 m, less than ETA.

In length the same holds with ||v - mean of v||, which has at most the mean square of ||v||: in the place of D stands 2
max ||v||, and the rounding is at most g_(2 m + 6) max ||v||. In single coordinates the bound is factor_i D_c +
constant_c at query i and coordinate c, so its product with |W_O| is one of a column and a row for each head.

Norms. With c = x - mean, s = sqrt(mean c^2 + epsilon) as computed, and g = g_(d + 8): the computed mean is off by at
most mean |e| + g mean |x|, where mean |x| <= |mean| + s (1 + u), since the mean of |c| is at most the root of that of
c^2; c by that and u |c|. To subtract the mean is a projection, so the error of c has at most the length L = ||e|| +
sqrt(d) g (|mean| + 3 s). The true s is the length of the vector (c / sqrt d, sqrt epsilon), so it moves by at most L /
sqrt d, and rounding adds g s (sums of squares have no cancellation): sigma is the sum. The map c -> c / s has a
symmetric derivative with eigenvalues 1 / s and epsilon / s^3, both at most 1 / s, so on the way from the computed to
the true vector

    ||c* / s* - c / s|| <= L / (s - sigma)   if s > sigma,

and rounding adds g ||c / s|| <= g sqrt(d) (1 + g). A weight multiplies by at most its largest entry. In single
coordinates,

    |c* / s* - c / s| = |(c* - c) + (c / s)(s - s*)| / s* <= (|e_c| + |c / s| sigma) / (s - sigma).

Squares that underflow are harmless where mean c^2 + epsilon >= 2^-900; elsewhere, and if s <= sigma, there is no bound.
Without the mean (`rms`), c = x.

Activations. f is Lipschitz with the constant STEEPEST (a test proves it for each f, with 2^-10 to spare), and at the
midpoint the computed value is off by at most c |x| + ETA / 1024; so that the radius is STEEPEST r + c |x| for r >= ETA,
which linear maps give, and the same holds of lengths. The constants c:
silu, x / (1 + e^-x): e^-x is right to EXP_ERROR, the sum and the quotient to u: c = EXP_ERROR + 4 u. Where e^-x
overflows, x < -709, the result is -0 and the true one below ETA / 1024; where it underflows, it is negligible beside 1.
gelu_new, x / (1 + e^z), z = -x (A + B x^2) with A = 2 sqrt(2 / pi), B = 0.044715 A: z has relative error at most h =
g_8 (A and B are right to 2 u, and no sign changes), and by the mean value theorem the logistic function changes by at
most h |z'| e^-|z'| (1 + 2 h) <= h for a z' between. Thus c = EXP_ERROR + 4 u + g_8.
gelu, x Phi(x) = max(x, 0) - |x| Q(|x|), Q = erfc(x / sqrt 2) / 2 by `TailTable`, off by at most E: c = E + 3 u.
relu: exact; where x <= -r, exactly 0.
quick_gelu, x / (1 + e^z), z = -1.702 x: z has relative error at most h = g_2, so c = EXP_ERROR + 4 u + g_4 as above;
where e^z overflows, x < -416, the true result is below ETA / 1024.
tanh: by `float_blocks.hyperbolic`, off by at most TANH_ERROR in each coordinate, which is added to the radius, and
TANH_ERROR sqrt(d) to the length; the result is at most |x|.

Gated MLPs. For vectors a and b with errors e and f, the products a_i b_i as computed are off by (a_i + e_i)(b_i + f_i)
- a_i b_i = a_i f_i + b_i e_i + e_i f_i and by rounding, u |a_i b_i| and an underflow. In length that is at most max |a|
||f|| + max |b| ||e|| + ||e|| ||f|| + u ||a b||, as no entry of e is larger than ||e||.

Heads with norms or turns. Their queries and keys are vectors with errors like those of the stream, through the linear
map, the norm and the turn (`float_blocks`); the bounds of scores take their largest lengths, errors and coordinates
over all positions. The steps after the product, a soft cap and a bias of distances, are those of `ScoreSteps`; the
softmax needs only that each score that a query sees is off by at most rho, and |s| <= ||q|| max ||k||. Hidden keys
(by a mask or a window) have W_j = 0 as above. Where only scores read positions, queries and keys are made from the
sum of the stream and the encodings.

Means over positions. The mean of m vectors is off by the mean of their errors and by g_(m + 2) times the mean of the
absolute values, whose length is at most the mean of the lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from math import isfinite, isqrt, prod
from typing import Any, TypeAlias

import numpy as np

from hardsim.lang.reals import Real
from hardsim.lazy_dataclass import dataclass
from hardsim.network.dense import (
    Activation,
    Dense,
    Mlp,
    Network,
    NetworkHead,
    NetworkLayer,
    Norm,
    RootScale,
    arrays_of,
    entries,
)
from hardsim.network.numbers import Mask
from hardsim.run.dense_pass import Step, unwatched
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
from hardsim.run.float_blocks import TANH_ERROR, ScoreSteps, SoftCap, Turns, hyperbolic
from hardsim.run.float_tail import tail_table

FLOOR = -100.0
"""Distances from the largest logit below this are replaced by it: numpy's exp is ten times as slow where it
underflows, and at -inf."""
LEFT_OUT = 2.0**-110
LEAST_VARIANCE = 2.0**-900
LEAST_LENGTH = 2.0**-500
"""A bound of what a length loses because squares underflow."""
SQUARINGS = 5
"""The number of squarings of a matrix by which its largest singular value is bounded: with n columns the bound is too
large by at most the 64th root of n."""
STEEPEST = {
    Activation.RELU: 1.0, Activation.GELU: 1.13, Activation.GELU_NEW: 1.131, Activation.QUICK_GELU: 1.101,
    Activation.SILU: 1.101, Activation.TANH: 1.001,
}  # fmt: skip
"""For each activation a number that is at least the largest slope plus 2^-10 (relu: 1)."""
CELLS = 2**17
"""The count of numbers in an array of a batch: a megabyte, so that an array stays in the cache."""
ROWS = 32
"""The number of queries whose scores are computed at once. Under a mask, keys that none of these queries sees are
left out."""
FLAT = 32.0
"""Logits are exponentiated as they are if a bound of their sizes is at most this."""
KEPT = 4
"""The number of lengths whose position encodings are kept, and of other things that depend on the length."""
SHARED_BY = 2
"""The vectors of tokens are computed once if words are more than their different tokens by this factor."""
OPENED = 2**20
"""The count of numbers that are kept for the tokens before the first layer's scores."""

Enclosure: TypeAlias = tuple[Floats, Floats]
"""Midpoints and radii."""


@dataclass(frozen=True, slots=True)
class Vectors:
    """Vectors in the last axis, with bounds of their errors.

    The true vectors differ from `mid` by vectors of Euclidean length at most `length`, of shape (..., 1), and in each
    coordinate by at most `each`, if that is known.
    """

    mid: Floats
    length: Floats
    each: Floats | None = None

    def at(self, index: Any) -> Vectors:
        """Return some of the vectors: `index` applies to the axes before the last."""
        return Vectors(self.mid[index], self.length[index], None if self.each is None else self.each[index])

    def take(self, rows: Integers) -> Vectors:
        """Return the vectors with some indices, where the vectors are in a single axis."""
        each = None if self.each is None else self.each.take(rows, axis=0)
        return Vectors(self.mid.take(rows, axis=0), self.length.take(rows, axis=0), each)

    def flat(self) -> Vectors:
        """Return the same vectors, in order, in a single axis."""
        return Vectors(flat(self.mid), flat(self.length), None if self.each is None else flat(self.each))


def highest(array: Floats) -> Floats:
    """Return the maxima over positions of a few numbers each, (words, numbers), from (words, positions, numbers). (In
    an array of this order numpy takes ten times as long.)"""
    found: Floats = np.ascontiguousarray(array.transpose(0, 2, 1)).max(axis=2)
    return found


def flat(array: Floats) -> Floats:
    """Return an array with a single axis before the last."""
    return array.reshape(-1, array.shape[-1])


def enclosed(array: Dense) -> tuple[Floats, Floats | None]:
    """Return the nearest float64 array, and the radii of its entries; None if all entries are exact."""
    if array.dtype != object:
        return np.ascontiguousarray(array, dtype=np.float64), None
    values = [value if isinstance(value, Real) else Fraction(value) for value in array.ravel().tolist()]
    mid, rad = (part.reshape(array.shape) for part in floats(values))
    return mid, rad if rad.any() else None


def scaled(array: Dense, scale: RootScale) -> tuple[Floats, Floats | None]:
    """Return an array times a scale: the nearest float64 array up to `scale_of`, and radii; None if it is exact.

    With w the true entry, |w - mid| <= rad, and c the true factor, |c - near| <= off near, the product c w is at most
    off near (|mid| + rad) + near rad from near mid, whose rounding adds at most u |near mid| + ETA.
    """
    mid, rad = enclosed(array)
    if scale == RootScale():
        return mid, rad
    near, off = scale_of(scale)
    with np.errstate(all="ignore"):
        found = mid * near
        radii = U * np.abs(found) + off * near * np.abs(mid)
        if rad is not None:
            radii += (1 + off) * near * rad
        radii = radii * GROW + ETA
    return found, radii


def slack(x: Floats, rad: Floats) -> Floats:
    """Return the slack of vectors (rows of x): a linear map multiplies it by |W|, see the module."""
    found: Floats = np.abs(x)
    found *= gamma(x.shape[-1] + 6)
    found += rad
    return found


def lengths(x: Floats) -> Floats:
    """Return an upper bound of the Euclidean length of each vector, along the last axis, which becomes 1. (The
    constant covers squares that underflow.)"""
    found: Floats = np.sqrt(np.einsum("...i,...i->...", x, x))[..., None]
    found *= GROW
    found += LEAST_LENGTH
    return found


def stretch(matrix: Floats) -> float:
    """Return an upper bound of the largest singular value of a matrix, only slightly above it (see the module)."""
    if not matrix.size or not matrix.any():
        return 0.0
    # A^T A is smaller if A has fewer columns than rows.
    a = matrix if matrix.shape[0] >= matrix.shape[1] else matrix.T
    steps = []
    for _ in range(SQUARINGS):
        _, exponent = np.frexp(np.abs(a).max())
        # Powers of 2 scale exactly, and keep the squarings from overflowing.
        a = np.ldexp(a, -exponent)
        steps.append((int(exponent), gamma(len(a) + 8) * float(np.sum(a * a)) * GROW))
        a = a.T @ a
    found = float(np.sqrt(np.sum(a * a))) * GROW
    for exponent, off in reversed(steps):
        found = float(np.ldexp((found + off) ** 0.5, exponent)) * GROW
    return found if isfinite(found) else float("inf")


def mapped(x: Floats, weight: Floats, bias: Floats | None) -> Floats:
    """Return the midpoints of a linear map of vectors, in one product for all of them."""
    *before, d = x.shape
    found: Floats = x.reshape(prod(before), d) @ weight
    if bias is not None:
        found += bias
    return found.reshape(*before, weight.shape[1])


class LinearMap:
    """The linear map `x W + b` (see the module). With `fine`, radii of single coordinates are available."""

    def __init__(self, weight: Dense, bias: Dense | None, fine: bool) -> None:
        self.weight, self.off = enclosed(weight)
        d = len(self.weight)
        size = np.abs(self.weight) if self.off is None else np.abs(self.weight) + self.off
        self.bias: Floats | None = None
        base = ETA * size.sum(axis=0)
        if bias is not None:
            self.bias, off = enclosed(bias)
            base = base + gamma(d + 6) * np.abs(self.bias) + (0 if off is None else off)
        self.base: Floats = outward(base)
        """The part of the radii that does not depend on x; at least ETA."""
        self.size: Floats | None = size * (GROW * GROW) if fine else None
        column, lost = lengths(size.T)[:, 0] * GROW, 0.0 if self.off is None else lengths(self.off.T)[:, 0]
        self.column: Floats = column
        """Bounds of the lengths of the columns of W."""
        self._own: Floats = (gamma(d + 6) * column + lost) * GROW
        self.lost = 0.0 if self.off is None else _whole(self.off)
        """A bound of the length of all entries of W that float64 does not hold."""
        self.stretch: float = (stretch(self.weight) + self.lost) * GROW
        """A bound of the largest singular value of W."""
        self._share = _whole(self._own)
        self._base = _whole(self.base)

    def middle(self, x: Floats) -> Floats:
        """Return the midpoints for vectors x."""
        return mapped(x, self.weight, self.bias)

    def length(self, length: Floats, size: Floats) -> Floats:
        """Return a bound of the length of the error, for vectors of length at most `size` with errors of length at
        most `length`."""
        return length * self.stretch + size * self._share + self._base

    def columns(self, length: Floats, size: Floats) -> Floats:
        """Return the radii of all coordinates of the output, for input vectors of norm at most `size` with errors of
        norm at most `length`."""
        found = length * self.column
        found += size * self._own
        found += self.base
        return found

    def radius(self, x: Floats, loose: Floats) -> Floats:
        """Return the radii of all coordinates from the slack of vectors x. Both may be the largest absolute values
        over several vectors."""
        assert self.size is not None
        found = mapped(loose, self.size, None)
        if self.off is not None:
            found += (np.abs(x) @ self.off) * (GROW * GROW)
        found += self.base
        return found

    def __call__(self, x: Vectors, size: Floats) -> Vectors:
        """Apply the map to vectors of length at most `size`."""
        mid, length = self.middle(x.mid), self.length(x.length, size)
        if x.each is None:
            return Vectors(mid, length)
        each = np.minimum(self.radius(x.mid, slack(x.mid, x.each)), self.columns(x.length, size))
        return Vectors(mid, np.minimum(length, lengths(each)), each)

    def outputs(self, x: Vectors) -> Enclosure:
        """Return midpoints and radii of all coordinates."""
        size = lengths(x.mid)
        found = self(x, size)
        return found.mid, self.columns(x.length, size) if found.each is None else found.each


def _whole(array: Floats) -> float:
    """Return an upper bound of the Euclidean length of all entries together."""
    return float(lengths(array.reshape(-1))[0]) * GROW


class FloatNorm:
    """A norm applied to vectors (see the module)."""

    def __init__(self, norm: Norm) -> None:
        self.centred = norm.kind == "layer"
        near, off = rounded(norm.epsilon)
        # An infinite epsilon makes every radius infinite: then nothing is claimed.
        self.epsilon = near if isfinite(off) else float("inf")
        self.weight = self.size = self.off = self.bias = None
        self.largest, self.lost = GROW, 0.0
        base: Any = 0.0
        if norm.weight is not None:
            self.weight, self.off = enclosed(norm.weight)
            self.size = np.abs(self.weight) if self.off is None else np.abs(self.weight) + self.off
            base = base + ETA * self.size
            self.largest = float(self.size.max()) * GROW
            self.lost = 0.0 if self.off is None else float(self.off.max()) * GROW
        if norm.bias is not None:
            self.bias, off_bias = enclosed(norm.bias)
            base = base + 4 * U * np.abs(self.bias) + (0 if off_bias is None else off_bias)
        self.base: Any = outward(base + ETA)
        self._base = _whole(np.atleast_1d(self.base))

    def __call__(self, x: Vectors) -> Vectors:
        """Apply the norm; the result consists of new arrays."""
        d = x.mid.shape[-1]
        root, share = d**0.5 * GROW, gamma(d + 8)
        c, about = x.mid, 0.0
        if self.centred:
            mean = np.einsum("...i->...", c)[..., None] / d
            c, about = c - mean, np.abs(mean)
        variance = np.einsum("...i,...i->...", c, c)[..., None] / d + self.epsilon
        s = np.sqrt(variance)
        length = (x.length + root * share * (about + 4 * s)) * GROW
        sigma = (length / (d**0.5) + share * s) * GROW
        room = s - sigma
        sound = (variance >= LEAST_VARIANCE) & (variance < np.inf) & (room > 0)
        inverse = np.where(sound, GROW / room, np.inf)
        y = c / s
        around = (length * inverse + (share + 8 * U) * root) * self.largest + self.lost * root + self._base
        each = None if x.each is None else self._each(y, x.each, s, sigma, inverse, about)
        if self.weight is not None:
            y *= self.weight
        if self.bias is not None:
            y += self.bias
        return Vectors(y, around) if each is None else Vectors(y, np.minimum(around, lengths(each)), each)

    def _each(self, y: Floats, rad: Floats, s: Floats, sigma: Floats, inverse: Floats, about: Any) -> Floats:
        d = y.shape[-1]
        row: Any = np.einsum("...i->...", rad)[..., None] / d + gamma(d + 8) * (about + 2 * s) if self.centred else 0.0
        found: Floats = np.abs(y)
        found *= ((sigma + 2 * U * s) * inverse + 8 * U) * GROW
        found += rad * inverse
        found += row * inverse
        if self.size is not None:
            found *= self.size
        if self.off is not None:
            found += np.abs(y) * self.off * GROW
        found += self.base
        return found


A_NEW, B_NEW = 1.5957691216057308, 0.07135481627260025
"""2 sqrt(2 / pi), and 0.044715 times that: right to 2 u (a test checks them with balls)."""


def activate(activation: Activation, given: Vectors, size: Floats) -> Vectors:
    """Apply an activation to vectors of length at most `size`, with radii of at least ETA. Their arrays are
    overwritten. The result is at most `size` long, up to a factor 1 + 2^-40."""
    x, fixed = given.mid, 0.0
    if not np.isfinite(size).all():
        x[~np.isfinite(x)] = np.nan  # otherwise an overflow would be taken for a large number
    match activation:
        case Activation.RELU:
            length = given.length
            if given.each is not None:
                # A certainly negative input gives exactly 0.
                np.copyto(given.each, 0.0, where=x <= -given.each)
                length = np.minimum(length, lengths(given.each))
            return Vectors(np.maximum(x, 0.0, out=x), length, given.each)
        case Activation.SILU:
            y = np.negative(x)
            np.exp(y, out=y)
            y += 1
            np.divide(x, y, out=y)
            relative = EXP_ERROR + 4 * U
        case Activation.QUICK_GELU:
            y = x * -1.702
            np.exp(y, out=y)
            y += 1
            np.divide(x, y, out=y)
            relative = EXP_ERROR + 4 * U + gamma(4)
        case Activation.TANH:
            y = hyperbolic(x)
            relative, fixed = 0.0, TANH_ERROR
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
            table, around = tail_table(), np.abs(x)
            tail = table(around)
            tail *= around
            y = np.maximum(x, 0.0)
            y -= tail
            relative = table.error + 3 * U
    relative *= GROW
    length = given.length * STEEPEST[activation] + size * relative
    if fixed:
        length += fixed * x.shape[-1] ** 0.5 * GROW
    if given.each is None:
        return Vectors(y, length)
    np.abs(x, out=x)
    x *= relative
    given.each[...] *= STEEPEST[activation]
    given.each[...] += x
    given.each[...] += fixed
    return Vectors(y, length, given.each)


def multiplied(a: Vectors, b: Vectors) -> Vectors:
    """Return the products of the coordinates of vectors with errors (see the module)."""
    mid = a.mid * b.mid
    size_a, size_b = np.abs(a.mid), np.abs(b.mid)
    most_a, most_b = (size.max(axis=-1, keepdims=True) for size in (size_a, size_b))
    length = ((most_a + a.length) * b.length + most_b * a.length + 2 * U * lengths(mid)) * GROW + ETA
    if a.each is None or b.each is None:
        return Vectors(mid, length)
    each = outward((size_a + a.each) * b.each + size_b * a.each + 2 * U * np.abs(mid))
    return Vectors(mid, np.minimum(length, lengths(each)), each)


def averaged(x: Vectors) -> Vectors:
    """Return the mean of vectors over positions, (words, 1, d), from (words, positions, d)."""
    m = x.mid.shape[1]
    share = gamma(m + 6)
    length = outward((x.length + share * lengths(x.mid)).sum(axis=1, keepdims=True) / m)
    mid = x.mid.sum(axis=1, keepdims=True) / m
    if x.each is None:
        return Vectors(mid, length)
    each = outward((x.each + share * np.abs(x.mid)).sum(axis=1, keepdims=True) / m)
    return Vectors(mid, np.minimum(length, lengths(each)), each)


def scale_of(scale: RootScale) -> tuple[float, float]:
    """Return the float nearest to the real number, and a bound of its relative error: infinite if float64 has no such
    number at full precision."""
    root = isqrt(scale.root)
    exact = root * root == scale.root
    value = scale.factor / (root if exact else Fraction(isqrt(scale.root << 400), 1 << 200))
    near, off = rounded(value)
    if exact and off == 0:
        return near, 0.0
    return near, 4 * U if abs(near) > LEAST_NORMAL and isfinite(off) else float("inf")


@dataclass(frozen=True, slots=True)
class Look:
    """Some of the queries, and the keys that they see. Of these keys, some of the queries do not see `partly`: there
    `seen` is 1 where a key is visible and 0 elsewhere, and `hidden` is added to scores, -inf where it is not visible;
    both are None if all queries see all keys."""

    rows: slice
    keys: slice
    partly: slice
    hidden: Floats | None
    seen: Floats | None


@lru_cache(maxsize=KEPT)
def looks(mask: Mask, window: int | None, places: tuple[int, ...] | None, size: int) -> tuple[Look, ...]:
    """Return the queries at these positions (None: at all), ROWS at a time, with the keys that they see among `size`
    positions."""
    queries = np.arange(size) if places is None else np.array(places, dtype=np.int64)
    found = []
    for start in range(0, len(queries), ROWS):
        some = queries[start : start + ROWS]
        least, most = int(some.min()), int(some.max())
        low = least if mask is Mask.PAST else 0 if window is None else max(0, least - window + 1)
        high = most + 1 if mask is Mask.FUTURE else size if window is None else min(size, most + window)
        seen = visible(mask, window, some, np.arange(low, high))
        rows, keys, unseen = slice(start, start + len(some)), slice(low, high), np.flatnonzero(~seen.all(axis=0))
        if not len(unseen):
            found.append(Look(rows, keys, slice(0), None, None))
            continue
        partly = slice(int(unseen[0]), int(unseen[-1]) + 1)
        seen = seen[:, partly]
        found.append(Look(rows, keys, partly, np.where(seen, 0.0, -np.inf), seen.astype(np.float64)))
    return tuple(found)


def visible(mask: Mask, window: int | None, queries: Integers, keys: Integers) -> Booleans:
    """Return which keys each query sees, (queries, keys), for positions from 0."""
    match mask:
        case Mask.NONE:
            found = np.ones((len(queries), len(keys)), dtype=np.bool_)
        case Mask.FUTURE:
            found = keys[None, :] <= queries[:, None]
        case Mask.PAST:
            found = keys[None, :] >= queries[:, None]
        case _:
            raise ValueError(f"every query of a dense network sees its own position: no mask {mask}")
    return found if window is None else found & (np.abs(keys[None, :] - queries[:, None]) < window)


def farthest(head: NetworkHead, queries: Integers, size: int) -> Integers:
    """Return at least the distance of the farthest key that each query sees among `size` positions."""
    back, forth = queries, size - 1 - queries
    match head.mask:
        case Mask.FUTURE:
            found = back
        case Mask.PAST:
            found = forth
        case _:
            found = np.maximum(back, forth)
    return found if head.window is None else np.minimum(found, head.window - 1)


class FloatHead:
    """One head: its number in its layer, the columns of its queries, keys and values among those of the layer, the maps
    that make them, and its scale."""

    def __init__(self, head: NetworkHead, number: int, query: int, key: int, fine: bool) -> None:
        self.head = head
        self.q, self.k = LinearMap(head.w_q, head.b_q, fine), LinearMap(head.w_k, head.b_k, fine)
        self.v = LinearMap(head.w_v, head.b_v, fine)
        k, v = head.w_q.shape[1], head.w_v.shape[1]
        self.number = number
        self.query, self.key = slice(query, query + k), slice(key, key + k)
        self.value = slice(key + k, key + k + v)
        self.value_one = slice(key + k, key + k + v + 1)
        """The columns of the values and of a coordinate that is 1, which sums the weights."""
        self.scale, self.scale_error = scale_of(head.scale)
        self.norm_q, self.norm_k = (None if norm is None else FloatNorm(norm) for norm in (head.norm_q, head.norm_k))
        self.turns = None if head.rotary is None else Turns(head.rotary)
        self.linear = head.rotary is None and head.norm_q is None and head.norm_k is None
        """True if queries and keys are linear maps of what the head reads."""
        self.steps = ScoreSteps(head.cap, head.distance)

    def queries(self, y: Vectors, size: Floats, positions: Integers) -> Vectors:
        """Return the queries, before their scale, of vectors (..., positions, d) of length at most `size`."""
        return self._turned(normed(self.norm_q, self.q(y, size)), positions)

    def keys(self, y: Vectors, size: Floats, positions: Integers) -> Vectors:
        """Return the keys of vectors (..., positions, d) of length at most `size`."""
        return self._turned(normed(self.norm_k, self.k(y, size)), positions)

    def _turned(self, x: Vectors, positions: Integers) -> Vectors:
        if self.turns is None:
            return x
        mid, length = self.turns(x.mid, positions), self.turns.length(x.length, lengths(x.mid), positions)
        if x.each is None:
            return Vectors(mid, length)
        each = self.turns.each(x.mid, x.each, positions)
        return Vectors(mid, np.minimum(length, lengths(each)), each)


@dataclass(frozen=True, slots=True)
class CoordinateExtremes:
    """Bounds of the single coordinates of keys and values over all positions, by word: the largest and the smallest
    midpoint, and the largest radius, each (words, columns)."""

    high: Floats
    low: Floats
    radius: Floats

    def at(self, words: Integers) -> CoordinateExtremes:
        """Return the bounds of some of the words."""
        return CoordinateExtremes(self.high[words], self.low[words], self.radius[words])

    def joined(self, other: CoordinateExtremes) -> CoordinateExtremes:
        """Return the bounds over the positions of both."""
        return CoordinateExtremes(
            np.maximum(self.high, other.high), np.minimum(self.low, other.low), np.maximum(self.radius, other.radius)
        )


@dataclass(frozen=True, slots=True)
class KeyExtremes:
    """Bounds over all positions whose keys and values the queries of a layer may see, by word: the largest lengths of
    keys and of values, and of their errors, each (words, 2 heads). `each` is None if radii of single coordinates are
    not known.
    """

    largest: Floats
    off: Floats
    each: CoordinateExtremes | None = None

    def at(self, words: Integers) -> KeyExtremes:
        """Return the bounds of some of the words."""
        each = None if self.each is None else self.each.at(words)
        return KeyExtremes(self.largest[words], self.off[words], each)

    def joined(self, other: KeyExtremes) -> KeyExtremes:
        """Return the bounds over the positions of both, for words that have positions in each."""
        each = None if self.each is None or other.each is None else self.each.joined(other.each)
        return KeyExtremes(np.maximum(self.largest, other.largest), np.maximum(self.off, other.off), each)


@dataclass(frozen=True, slots=True)
class ReadVectors:
    """Vectors (..., d) as the heads of a layer read them at each position, with their keys and values.

    `y` are the vectors that the heads get, and `size` their lengths; `read` those that queries and keys read, and
    `long` their lengths. `mid` are keys and values, (..., columns), and `largest` their lengths, (..., 2 heads). `keys`
    are those of each head, with their errors; None where they are linear maps of what the head reads.
    """

    y: Vectors
    size: Floats
    read: Vectors
    long: Floats
    mid: Floats
    largest: Floats
    keys: tuple[Vectors | None, ...]

    def take(self, rows: Integers) -> ReadVectors:
        """Return the vectors with some indices, where the vectors are in a single axis."""
        return self._with(lambda array: array.take(rows, axis=0), lambda vectors: vectors.take(rows))

    def flat(self) -> ReadVectors:
        """Return the same, in order, with a single axis of positions."""
        return self._with(flat, Vectors.flat)

    def _with(self, arrays: Callable[[Floats], Floats], vectors: Callable[[Vectors], Vectors]) -> ReadVectors:
        y, size = vectors(self.y), arrays(self.size)
        read, long = (y, size) if self.read is self.y else (vectors(self.read), arrays(self.long))
        keys = tuple(None if one is None else vectors(one) for one in self.keys)
        return ReadVectors(y, size, read, long, arrays(self.mid), arrays(self.largest), keys)


@dataclass(frozen=True, slots=True)
class Entered:
    """The inputs that the queries of a layer share.

    `read` are the vectors that queries and keys read, and `size` their lengths. `columns` are keys and values, (words,
    positions, columns), and `extremes` are bounds over their positions. `loose` is the slack of the vectors; None if
    radii of single coordinates are not known. `positions` are the positions of the vectors.
    """

    read: Vectors
    size: Floats
    columns: Floats
    loose: Floats | None
    extremes: KeyExtremes
    positions: Integers

    def coordinates(self, columns: slice) -> tuple[Floats, Floats, Floats]:
        """Return, by word and coordinate of keys or values, the largest absolute value, the largest radius, and the
        distance between the largest and the smallest."""
        each = self.extremes.each
        assert each is not None
        high, low = each.high[:, columns], each.low[:, columns]
        return np.maximum(np.abs(high), np.abs(low)), each.radius[:, columns], (high - low) * GROW


@dataclass(frozen=True, slots=True)
class Queries:
    """Scaled queries of some positions, (words, positions, k). `made` are those before the scale, with their errors,
    if they are no linear maps of what the head reads."""

    mid: Floats
    made: Vectors | None


class FloatAttention:
    """The heads of a layer."""

    def __init__(self, layer: NetworkLayer, d: int, fine: bool) -> None:
        self.heads: list[FloatHead] = []
        query = key = 0
        for number, head in enumerate(layer.heads):
            self.heads.append(FloatHead(head, number, query, key, fine))
            query, key = self.heads[-1].query.stop, self.heads[-1].value_one.stop
        self.width = key
        """The number of columns of keys and values."""
        w_o = np.concatenate([np.zeros((0, d)), *(head.w_o for head in layer.heads)])
        self.out = LinearMap(w_o, layer.b_o, fine)
        # A value of 1 beside each head's values: its weighted sum is the sum of the weights.
        nothing, one = np.zeros((d, 1)), np.ones(1)
        self._queries = beside([(head.w_q, head.b_q) for head in layer.heads])
        self._entered = beside(
            [
                part
                for head in layer.heads
                for part in ((head.w_k, head.b_k), (head.w_v, head.b_v), (nothing, one))
            ]
        )  # fmt: skip

    def enter(self, y: Vectors, positions: Integers, beside: Vectors | None) -> Entered:
        """Compute the keys and values of vectors (words, positions, d) at these positions. `beside` are the encodings
        (positions, d) that queries and keys read besides; None if there are none."""
        return self.bounded(self.columns(y, positions, beside), positions)

    def columns(self, y: Vectors, positions: Integers, beside: Vectors | None) -> ReadVectors:
        """Compute keys and values as `enter` does, without bounds over positions."""
        size = lengths(y.mid)
        read, long = y, size
        if beside is not None:
            read = summed(y, beside)
            long = lengths(read.mid)
        columns = mapped(y.mid, *self._entered)
        largest: list[Floats] = []
        every: list[Vectors | None] = []
        for part in self.heads:
            keys: Vectors | None = None
            if beside is not None or not part.linear:
                keys = part.keys(read, long, positions)
                columns[:, :, part.key] = keys.mid
            every.append(keys)
            largest += [lengths(columns[:, :, one]) for one in (part.key, part.value)]
        return ReadVectors(y, size, read, long, columns, np.concatenate(largest, axis=2), tuple(every))

    def bounded(self, columns: ReadVectors, positions: Integers) -> Entered:
        """Return keys and values (words, positions, columns) with their bounds over these positions."""
        y, read, off, radii = columns.y, columns.read, list[Floats](), list[Floats | None]()
        error, size = y.length.max(axis=1), columns.size.max(axis=1)
        for part, keys in zip(self.heads, columns.keys, strict=True):
            off.append(part.k.length(error, size) if keys is None else keys.length.max(axis=1))
            off.append(part.v.length(error, size))
            radii.append(None if keys is None or keys.each is None else keys.each.max(axis=1))
        extremes = KeyExtremes(
            highest(columns.largest), np.concatenate(off, axis=1), self._coordinates(y, columns.mid, radii)
        )
        loose = None if read.each is None else slack(read.mid, read.each)
        return Entered(read, columns.long, columns.mid, loose, extremes, positions)

    def _coordinates(self, y: Vectors, columns: Floats, radii: list[Floats | None]) -> CoordinateExtremes | None:
        """Return the bounds of single coordinates of keys and values (columns), with the largest radii of each head's
        keys where these are known; those of linear maps of y are not. Return None if those of y are not known."""
        if y.each is None:
            return None
        widest, loosest = np.abs(y.mid).max(axis=1), slack(y.mid, y.each).max(axis=1)
        found = np.zeros((len(columns), columns.shape[2]))
        for part, known in zip(self.heads, radii, strict=True):
            found[:, part.key] = part.k.radius(widest, loosest) if known is None else known
            found[:, part.value] = part.v.radius(widest, loosest)
        return CoordinateExtremes(columns.max(axis=1), columns.min(axis=1), found)

    def queries(self, entered: Entered, part: FloatHead, at: Any) -> Queries:
        """Return the scaled queries of some positions."""
        made: Vectors | None = None
        if part.linear:
            weight, bias = self._queries
            found = mapped(entered.read.mid[at], weight[:, part.query], None if bias is None else bias[part.query])
        else:
            made = part.queries(entered.read.at(at), entered.size[at], entered.positions[at[1]])
            found = made.mid.copy()
        found *= part.scale
        return Queries(found, made)

    def slip(self, part: FloatHead, queries: Queries, entered: Entered, at: Any, m: int) -> Floats:
        """Return a bound of the errors of the scores of each query at the positions `at`, (words, queries): rho of the
        module. `m` is the number of positions.

        With r_q the error of the queries before they are scaled, that of q is at most |s| (1 + e) r_q + (e + 2 u) |q|
        + ETA, for a scale s with relative error e.
        """
        q = queries.mid
        k, share = q.shape[-1], part.scale_error + 4 * U
        factor = abs(part.scale) * (1 + part.scale_error) * (GROW * GROW)
        extremes = entered.extremes
        size, off = (each[:, [2 * part.number]][:, None] for each in (extremes.largest, extremes.off))
        long = lengths(q)
        if queries.made is not None:
            own = queries.made.length
        else:
            own = part.q.length(entered.read.length[at], entered.size[at])
        own = own * factor + share * long + LEAST_LENGTH
        found = (own * (size + off) + long * (off + gamma(k + 4) * size))[:, :, 0]
        if entered.loose is not None:
            found = np.minimum(found, self._fine_slip(part, queries, entered, at))
        found = outward(found)
        if part.steps.any:
            far = farthest(part.head, entered.positions[at[1]], m)
            found = part.steps.slip(found, (long * size)[:, :, 0], far)
        return found

    def _fine_slip(self, part: FloatHead, queries: Queries, entered: Entered, at: Any) -> Floats:
        """Return `slip` of the products of queries and keys by single coordinates."""
        q = queries.mid
        k, share = q.shape[-1], part.scale_error + 4 * U
        factor = abs(part.scale) * (1 + part.scale_error) * (GROW * GROW)
        assert part.q.size is not None
        assert entered.loose is not None
        coordinates, radius, _ = entered.coordinates(part.key)
        each = coordinates + radius
        here = radius + gamma(k + 4) * coordinates + share * each + ETA
        fine: Floats = (np.abs(q) @ here[:, :, None])[:, :, 0]
        least = ETA * (1 + each.sum(axis=1, keepdims=True))
        if queries.made is not None:
            assert queries.made.each is not None
            fine += (queries.made.each @ each[:, :, None])[:, :, 0] * factor + least
            return fine
        through = (each @ part.q.size.T) * factor
        fine += (entered.loose[at] @ through[:, :, None])[:, :, 0] + (each @ part.q.base)[:, None] * factor + least
        if part.q.off is not None:
            weights = (each @ part.q.off.T) * factor
            fine += (np.abs(entered.read.mid[at]) @ weights[:, :, None])[:, :, 0]
        return fine

    def __call__(self, y: Vectors, places: Integers | None, beside: Vectors | None) -> Vectors:
        """Return the vectors that the heads add at the positions `places` (None: all), (words, places, d), from
        vectors at all positions, with `beside` as in `enter`."""
        positions = np.arange(y.mid.shape[1])
        entered = self.enter(y, positions, beside) if self.heads else None
        return self.attended(y if places is None else y.at((slice(None), places)), entered, places, len(positions))

    def attended(self, here: Vectors, entered: Entered | None, places: Integers | None, m: int) -> Vectors:
        """Return the vectors that the heads add at the positions `places` of m (None: all), where the vectors are
        `here`; `entered` are the keys and values at all positions, None if there are no heads."""
        positions = np.arange(m)
        queries = positions if places is None else places
        chosen = None if places is None else tuple(places.tolist())
        at = (slice(None), slice(None) if places is None else places)

        def mean(part: FloatHead, q: Floats) -> Floats:
            assert entered is not None
            found = np.empty((*q.shape[:2], part.value.stop - part.value.start))
            longest = entered.extremes.largest[:, 2 * part.number].max()
            flat = not part.steps.any and bool(lengths(q).max(initial=0.0) * longest * (GROW * GROW) <= FLAT)
            for look in looks(part.head.mask, part.head.window, chosen, m):
                keys = entered.columns[:, look.keys, part.key].transpose(0, 2, 1)
                scores = q[:, look.rows] @ keys
                if flat:
                    weights = np.exp(scores, out=scores)
                    if look.seen is not None:
                        weights[:, :, look.partly] *= look.seen
                else:
                    scores = part.steps(scores, queries[look.rows], positions[look.keys])
                    if look.hidden is not None:
                        scores[:, :, look.partly] += look.hidden
                    weights = exponentials(scores)
                total = weights @ entered.columns[:, look.keys, part.value_one]
                np.divide(total[:, :, :-1], total[:, :, -1:], out=found[:, look.rows])
            return found

        return self.added(here, entered, at, m, mean)

    def added(
        self, here: Vectors, entered: Entered | None, at: Any, m: int, mean: Callable[[FloatHead, Floats], Floats]
    ) -> Vectors:
        """Return the vectors that the heads add at some positions (`at`, an index of words and positions of
        `entered.read`). `here` are the vectors there; `entered` is None if there are no heads. Queries see at most `m`
        keys, and `mean` returns the attended values of a head from its scaled queries: sums of products with the
        weights, added up in any order and divided by the sum of the weights."""
        words, rows, d = here.mid.shape
        attended = np.empty((words, rows, len(self.out.weight)))
        factors = np.empty((words, rows, len(self.heads)))
        errors = np.zeros((words, rows, 1))
        most = np.zeros((words, 1))
        fine: list[Floats] = []
        fixed: Any = self.out.base
        start = 0
        for number, part in enumerate(self.heads):
            assert entered is not None
            extremes = entered.extremes
            q = self.queries(entered, part, at)
            factors[:, :, number] = mean_factor(self.slip(part, q, entered, at, m))
            values = slice(start, start + part.value.stop - part.value.start)
            start = values.stop
            attended[:, :, values] = mean(part, q.mid)
            size = extremes.largest[:, [2 * part.number + 1]]
            spread = 2 * size
            if entered.loose is not None:
                coordinates, radius, apart = entered.coordinates(part.value)
                spread = np.minimum(spread, lengths(apart))
                way, constant = self._ways(values, coordinates, radius, apart, m)
                fine.append(way)
                fixed = fixed + constant
            constant = extremes.off[:, [2 * part.number + 1]] + gamma(2 * m + 6) * size + LEAST_LENGTH
            # The heads' values are parts of one vector, so the squares of their errors add up.
            errors += (factors[:, :, number, None] * spread[:, None] + constant[:, None]) ** 2
            most = most + size**2
        errors = np.sqrt(errors) * GROW + LEAST_LENGTH
        size = (np.sqrt(most) * (GROW * GROW) + LEAST_LENGTH)[:, None]
        mid, length = self.out.middle(attended), self.out.length(errors, size)
        if here.each is None:
            return Vectors(mid, length)
        each = np.broadcast_to(fixed, (words, d))[:, None, :]
        each = each + factors @ np.stack(fine, axis=1) if fine else np.repeat(each, rows, axis=1)
        each = np.minimum(each, self.out.columns(errors, size))
        return Vectors(mid, np.minimum(length, lengths(each)), each)

    def _ways(self, values: slice, size: Floats, radius: Floats, apart: Floats, m: int) -> tuple[Floats, Floats]:
        """Return the numbers that a head's factors are multiplied by, and the numbers that are added, by word and
        coordinate of the output."""
        assert self.out.size is not None
        columns = self.out.size[values]
        # A value is at most `size`, an attended one a share of u larger: its slack for W_O.
        constant = radius + (gamma(2 * m + 6) + gamma(len(self.out.weight) + 8)) * size + ETA
        fixed = (constant * GROW) @ columns
        if self.out.off is not None:
            fixed += (size * 2) @ self.out.off[values]
        return apart @ columns, fixed


def mean_factor(slip: Floats) -> Floats:
    """Return the factor by which the spread of the values bounds the error of their mean, by query, from rho; 1 if
    rho allows no better bound."""
    grown = growth(slip + 2 * U * -FLOOR)
    tau = outward(grown + EXP_ERROR * (1 + grown)) + LEFT_OUT
    return np.where(tau < 0.5, outward(tau / np.maximum(1 - tau, U)) * 0.5 + LEFT_OUT, 1.0)


def exponentials(logits: Floats) -> Floats:
    """Return the weights relative to the largest, which is 1; `logits` is overwritten."""
    logits -= logits.max(axis=2, keepdims=True)
    np.maximum(logits, FLOOR, out=logits)
    found: Floats = np.exp(logits, out=logits)
    return found


def beside(parts: Sequence[tuple[Dense, Dense | None]]) -> tuple[Floats, Floats | None]:
    """Return the midpoints of matrices joined side by side, and of their biases: 0 for a matrix without a bias,
    None if no matrix has one."""
    if not parts:
        return np.zeros((0, 0)), None
    weight = np.concatenate([enclosed(weight)[0] for weight, _ in parts], axis=1)
    if all(bias is None for _, bias in parts):
        return weight, None
    filled = [np.zeros(weight.shape[1]) if bias is None else enclosed(bias)[0] for weight, bias in parts]
    return weight, np.concatenate(filled)


class FloatMlp:
    """An MLP in certified float64."""

    def __init__(self, mlp: Mlp, fine: bool) -> None:
        self.activation = mlp.activation
        self.enter, self.leave = LinearMap(mlp.w_in, mlp.b_in, fine), LinearMap(mlp.w_out, mlp.b_out, fine)
        self.gate = None if mlp.w_gate is None else LinearMap(mlp.w_gate, mlp.b_gate, fine)

    def __call__(self, y: Vectors) -> Vectors:
        long = lengths(y.mid)
        hidden = self.enter(y, long)
        if self.gate is not None:
            gates = self.gate(y, long)
            hidden = multiplied(activate(self.activation, gates, lengths(gates.mid)), hidden)
            return self.leave(hidden, lengths(hidden.mid))
        size = lengths(hidden.mid)
        return self.leave(activate(self.activation, hidden, size), size * GROW)


@dataclass(frozen=True, slots=True)
class Opening:
    """The residual stream before the first layer, and what its heads compute there, of some tokens at each position:
    vectors (tokens * positions, d), which all words share. `rows` are the indices of the tokens by token id."""

    stream: Vectors
    columns: ReadVectors
    rows: Integers

    def cells(self, tokens: Integers) -> Integers:
        """Return the indices of the vectors of words, (words, positions)."""
        m = tokens.shape[1]
        found: Integers = self.rows[tokens] * m + np.arange(m)
        return found


class FloatLayer:
    """A layer in certified float64, applied to the residual stream (words, positions, d)."""

    def __init__(self, layer: NetworkLayer, d: int, fine: bool) -> None:
        self.post, self.parallel = layer.post, layer.parallel
        self.attention = FloatAttention(layer, d, fine) if layer.attends else None
        self.mlp = None if layer.mlp is None else FloatMlp(layer.mlp, fine)
        norms = (layer.norm_1, layer.norm_2, layer.out_1, layer.out_2)
        self.norm_1, self.norm_2, self.out_1, self.out_2 = (None if norm is None else FloatNorm(norm) for norm in norms)
        self.width: int = max([d, *([] if layer.mlp is None else [layer.mlp.w_in.shape[1]])])

    def entering(self, x: Vectors) -> Vectors:
        """Return the vectors that the heads read."""
        return x if self.post else normed(self.norm_1, x)

    def __call__(self, x: Vectors, places: Integers | None = None, beside: Vectors | None = None) -> Vectors:
        """Return the residual stream after the layer, only at the positions `places` if these are given. `beside` are
        the encodings of positions that only queries and keys read."""
        here = x if places is None else x.at((slice(None), places))
        return self.after(here, None if self.attention is None else self.attention(self.entering(x), places, beside))

    def opened(self, opening: Opening, cells: Integers, places: Integers | None = None) -> Vectors:
        """Return the residual stream after the first layer, as a call does, from what is known of each token at each
        position. `cells` are the indices of the tokens of words, (words, positions)."""
        assert self.attention is not None
        m = cells.shape[1]
        entered = self.attention.bounded(opening.columns.take(cells), np.arange(m))
        here = opening.stream.take(cells if places is None else cells[:, places])
        return self.after(here, self.attention.attended(here, entered, places, m))

    def after(self, here: Vectors, added: Vectors | None) -> Vectors:
        """Return the residual stream after the layer at some positions, from that before the layer and what the heads
        add there (None: the layer has no attention step)."""
        entered = here
        if added is not None:
            here = summed(here, normed(self.out_1, added))
            if self.post:
                here = normed(self.norm_1, here)
        if self.mlp is not None:
            y = entered if self.parallel else here
            here = summed(here, normed(self.out_2, self.mlp(y if self.post else normed(self.norm_2, y))))
            if self.post:
                here = normed(self.norm_2, here)
        return here


def normed(norm: FloatNorm | None, x: Vectors) -> Vectors:
    """Apply a norm, if there is one."""
    return x if norm is None else norm(x)


def summed(x: Vectors, added: Vectors) -> Vectors:
    """Return the sum. The errors of `added` are at least ETA, which covers an underflow."""
    mid = x.mid + added.mid
    length = x.length + added.length + 2 * U * lengths(mid)
    if x.each is None or added.each is None:
        return Vectors(mid, length)
    each = np.abs(mid)
    each *= 2 * U
    each += x.each
    each += added.each
    return Vectors(mid, np.minimum(length, lengths(each)), each)


def is_sparse(network: Network) -> bool:
    """Return True if less than half of the entries of a network's matrices are non-zero, as in compiled networks.
    Radii of single coordinates are then worth their cost."""
    matrices = [array for array in arrays_of(network.layers) if array.ndim == 2]
    return 2 * sum(map(entries, matrices)) < sum(array.size for array in matrices)


class DenseFloat:
    """An external network in certified float64, for batches of words of one length.

    Call `float_trust.distrust()` before relying on the results. `fine` keeps radii of single coordinates (None: if
    the network `is_sparse`). `step` is called after each layer that is prepared.
    """

    def __init__(self, network: Network, fine: bool | None = None, step: Step = unwatched) -> None:
        self.network = network
        self.fine = fine = is_sparse(network) if fine is None else fine
        self._embedding, self._embedding_rad = scaled(network.embedding, network.embedding_scale)
        self._bias = None if network.embedding_bias is None else enclosed(network.embedding_bias)
        transform = network.transform
        self._activation = None if transform is None else transform.activation
        self.projection: LinearMap | None = None
        self.transform: LinearMap | None = None
        norms = (network.embedding_norm, network.final, None if transform is None else transform.norm)
        with np.errstate(all="ignore"):
            self.layers = list[FloatLayer]()
            for layer in network.layers:
                self.layers.append(FloatLayer(layer, network.dimension, fine))
                step(len(self.layers), len(network.layers))
            self._entering, self._final, self._leaving = (None if norm is None else FloatNorm(norm) for norm in norms)
            if network.projection is not None:
                self.projection = LinearMap(network.projection, network.projection_bias, fine)
            if transform is not None:
                self.transform = LinearMap(transform.weight, transform.bias, fine)
            self.unembedding = LinearMap(network.unembedding, network.unembedding_bias, fine)
            self._cap = None if network.output_cap is None else SoftCap(network.output_cap)
        sizes = [network.dimension, network.embedding.shape[1], network.unembedding.shape[0], len(network.outputs)]
        self.width: int = max([layer.width for layer in self.layers] + sizes)
        self._encodings: dict[int, tuple[Floats, Floats | None] | None] = {}
        self._openings: dict[tuple[int, bytes], Opening] = {}

    def run(self, n: int, tokens: Integers, places: slice | Sequence[int]) -> Enclosure:
        """Return the outputs of words of n symbols at some positions (from 0) of the tokens read.

        `tokens` are token ids, (words, m). The result is midpoints and radii, (words, places, outputs): where nothing
        is known the radius is infinite and the midpoint 0. If the readout takes the mean over positions, that of all
        of them gives one row of outputs, (words, 1, outputs), whatever the places.
        """
        words, m = tokens.shape
        mean = self.network.readout.pooled == "mean"
        chosen = places if isinstance(places, slice) else np.array(list(places), dtype=np.int64)
        at = np.arange(m)[slice(None) if mean else chosen]
        mid = np.empty((words, 1 if mean else len(at), len(self.network.outputs)))
        rad = np.empty_like(mid)
        with np.errstate(all="ignore"):
            opening = self._opening(n, tokens)
            for some in self._batches(words, m):
                mid[some], rad[some] = self._outputs(tokens[some], self.encoding(n), at, opening)
        return mid, rad

    def _opening(self, n: int, tokens: Integers) -> Opening | None:
        """Return what the words (words, m) of n symbols have in common before the first layer's scores; None if to
        compute it once for each of their different tokens is no less work than to compute it for each word."""
        words, m = tokens.shape
        attention = self.layers[0].attention if self.layers else None
        if attention is None or not attention.heads or words < SHARED_BY:
            return None
        used = np.flatnonzero(np.bincount(tokens.ravel()))
        numbers = len(used) * m * (2 * self.network.dimension + attention.width)
        if SHARED_BY * len(used) > words or numbers > OPENED:
            return None
        key = n, used.tobytes()
        if key not in self._openings:
            if len(self._openings) >= KEPT:
                del self._openings[next(iter(self._openings))]
            positions, rows = self.encoding(n), np.zeros(int(used[-1]) + 1, dtype=np.int64)
            rows[used] = np.arange(len(used))
            x, places = self.embedded(np.repeat(used[:, None], m, axis=1), positions), np.arange(m)
            columns = attention.columns(self.layers[0].entering(x), places, self.beside(positions))
            self._openings[key] = Opening(x.flat(), columns.flat(), rows)
        return self._openings[key]

    def attention(self, n: int, tokens: Integers) -> Iterator[tuple[int, NetworkHead, Floats, Floats]]:
        """Yield for each head the number of its layer (from 0), the head, its scaled logits (words, queries, keys),
        and a bound of the error of all visible logits of each query, (words, queries).

        A logit is -inf where a key is not visible. The bound is infinite, and the logits are 0, where nothing is
        known. One array of logits is made at a time.
        """
        words, m = tokens.shape
        with np.errstate(all="ignore"):
            streams = [self.embedded(tokens[some], self.encoding(n)) for some in self._batches(words, m)]
            beside = self.beside(self.encoding(n))
        for number, layer in enumerate(self.layers):
            for part in layer.attention.heads if layer.attention is not None else ():
                logits, slip = np.empty((words, m, m)), np.empty((words, m))
                for some, x in zip(self._batches(words, m), streams, strict=True):
                    with np.errstate(all="ignore"):
                        logits[some], slip[some] = _scores(layer, part, x, beside)
                yield number, part.head, logits, slip
            with np.errstate(all="ignore"):
                # The stream after the last layer is not needed.
                streams = [layer(x, None, beside) for x in streams] if number + 1 < len(self.layers) else []

    def _batches(self, words: int, m: int) -> list[slice]:
        """Return the slices of words that are run together."""
        # The largest array of a batch has words times m times this width entries.
        # A batch has a fixed cost: to be half as large again is cheaper than another batch with the rest.
        batches = round(words * m * max(self.width, min(m, ROWS)) / CELLS)
        count = max(1, -(-words // max(1, batches)))
        return [slice(start, start + count) for start in range(0, words, count)]

    def embedded(self, tokens: Integers, positions: tuple[Floats, Floats | None] | None) -> Vectors:
        """Return the residual stream of tokens (words, positions) before the first layer, with the midpoints and radii
        of the encodings of these positions."""
        x = self._embedding[tokens]
        rad = np.zeros_like(x) if self._embedding_rad is None else self._embedding_rad[tokens]
        for mid, off in filter(None, (None if self._only_scores else positions, self._bias)):
            x += mid
            rad += U * np.abs(x) * GROW + ETA
            if off is not None:
                rad += off
        found = normed(self._entering, Vectors(x, lengths(rad), rad if self.fine else None))
        return found if self.projection is None else self.projection(found, lengths(found.mid))

    @property
    def _only_scores(self) -> bool:
        return self.network.positions_at == "scores"

    def beside(self, positions: tuple[Floats, Floats | None] | None) -> Vectors | None:
        """Return the encodings of positions that only queries and keys read, (positions, d), from their midpoints and
        radii; None if there are none."""
        if positions is None or not self._only_scores:
            return None
        mid, off = positions
        rad = np.full_like(mid, ETA) if off is None else off + ETA
        return Vectors(mid, lengths(rad), rad if self.fine else None)

    def encoding(self, n: int) -> tuple[Floats, Floats | None] | None:
        """Return midpoints and radii of the position encoding of words of n symbols, (tokens read, d); None if the
        network has none. Radii of None are 0."""
        if n not in self._encodings:
            found = self.network.encoding(n)
            # A dict keeps the order of insertion: the oldest length goes first.
            while len(self._encodings) >= KEPT:
                del self._encodings[next(iter(self._encodings))]
            self._encodings[n] = None if found is None else enclosed(found)
        return self._encodings[n]

    def _outputs(
        self,
        tokens: Integers,
        positions: tuple[Floats, Floats | None] | None,
        places: Integers,
        opening: Opening | None = None,
    ) -> Enclosure:
        """Return the outputs of words (words, m), from the encodings of their positions, and what they have in common
        if it is known. The last layer computes queries at `places` only."""
        m, last = tokens.shape[1], len(self.layers) - 1
        everywhere = len(places) == m and bool((places == np.arange(m)).all())
        x, beside = None if opening else self.embedded(tokens, positions), self.beside(positions)
        for number, layer in enumerate(self.layers):
            some = places if number == last and not everywhere else None
            if opening is not None and number == 0:
                x = layer.opened(opening, opening.cells(tokens), some)
            else:
                assert x is not None
                x = layer(x, some, beside)
        assert x is not None
        return self.finished(x if self.layers else x.at((slice(None), places)))

    def finished(self, x: Vectors) -> Enclosure:
        """Return the outputs from the residual stream after the last layer, (words, positions, outputs); where nothing
        is known the radius is infinite and the midpoint 0. If the readout takes the mean over positions, that of these
        gives one row."""
        x = normed(self._final, x)
        if self.network.readout.pooled == "mean":
            x = averaged(x)
        if self.transform is not None:
            x = self.transform(x, lengths(x.mid))
            if self._activation is not None:
                x = activate(self._activation, x, lengths(x.mid))
            x = normed(self._leaving, x)
        mid, rad = self.unembedding.outputs(x)
        known = np.isfinite(mid) & np.isfinite(rad)
        if self._cap is not None:
            mid, rad = self._cap(mid), outward(rad + self._cap.error)
            known &= np.isfinite(rad)
        return np.where(known, mid, 0.0), np.where(known, rad, np.inf)


def _scores(layer: FloatLayer, part: FloatHead, x: Vectors, beside: Vectors | None) -> tuple[Floats, Floats]:
    """Return the logits and the bounds of their errors, for `DenseFloat.attention`."""
    attention, everywhere = layer.attention, (slice(None), slice(None))
    assert attention is not None
    m = x.mid.shape[1]
    positions = np.arange(m)
    entered = attention.enter(layer.entering(x), positions, beside)
    q = attention.queries(entered, part, everywhere)
    logits = part.steps(q.mid @ entered.columns[:, :, part.key].transpose(0, 2, 1), positions, positions)
    slip = attention.slip(part, q, entered, everywhere, m)
    seen = visible(part.head.mask, part.head.window, positions, positions)
    lost = ~(np.isfinite(logits) | ~seen).all(axis=2) | ~np.isfinite(slip)
    logits[lost], slip[lost] = 0.0, np.inf
    logits[:, ~seen] = -np.inf
    return logits, slip
