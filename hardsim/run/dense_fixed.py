"""An external network on one word in fixed-point numbers, with bounds of the lengths of errors: for large networks.

In a network of many layers the radius of each coordinate grows with the row sums of absolute weights, which in a dense
matrix of width d is sqrt(d) times as fast as the length of an error grows (`dense_float`), and float64 has too few
digits even for the lengths. Here numbers have as many digits as are needed (`fixed_point`), products of matrices are
exact and run in float64, and errors are bounded by their lengths.

A vector is a centre, in fixed-point numbers, and a radius: the true vector is within this Euclidean distance of the
centre. Each step has two parts. It is computed for the centres alone, whose exact result differs from the new centre by
at most a length that is known: products are exact up to the places that are dropped, at most EPS = 2^-Q in each
coordinate, and functions are evaluated in balls. And it moves the radius as below; these lemmas are those of
`dense_float` without their rounding errors. ||x|| is a Euclidean length, s(W) the largest singular value, r a radius, d
the number of coordinates.

Linear maps. ||(x + e) W - x W|| <= s(W) r. What the digits of W leave of W, R, adds ||x|| ||R|| (Frobenius).

Sums, and means over positions: radii add up, or their mean is taken.

Norms. The mean that is subtracted is off by some e in each coordinate. To subtract the true mean is a projection, so
the centred vector c is off by at most L = r + sqrt(d) e. With s(c) = sqrt(mean c^2 + epsilon), c -> c / s(c) has a
symmetric derivative with eigenvalues 1 / s and epsilon / s^3, both at most 1 / s, and s moves by at most L / sqrt(d) on
the way from c to the true vector (it is the length of (c / sqrt(d), sqrt(epsilon))). So the result moves by at most L /
(s - L / sqrt(d)), if that is positive; otherwise there is no bound. 1 / s as a fixed-point number is off by e', which
adds ||c|| e'. A weight multiplies by at most its largest entry.

Activations have slopes of at most STEEPEST. Products of vectors (gates): (a + e)(b + f) - a b has at most the length
max |a| ||f|| + max |b| ||e|| + ||e|| ||f||. Turns are orthogonal, up to an amplitude that multiplies what they turn;
their tables are off by at most e in each entry, which adds 2 e ||x||. Soft caps and biases of distances have slopes of
at most 1.

Scores. q . k moves by at most ||e_q|| (||k|| + ||e_k||) + ||q|| ||e_k||, with the largest of all keys: rho.

Softmax. Let l_j be the computed scores of the visible keys, P_j the true shares, p_j those of l. P_j is in proportion
to p_j (1 + t_j) with |t_j| <= tau = e^rho - 1. With t the mean of the t_j under p,

    sum P_j v_j - sum p_j v_j = sum p_j (t_j - t) (v_j - sum p v) / (1 + t),

which has at most the length tau / (1 - tau) max ||v|| (the mean distance of v from its mean is at most the root of the
mean square, which is at most max ||v||), and 2 max ||v|| in any case. Weights w_j = e^(l_j - l_top) are off by e_j in
fixed-point numbers, and their sum is at least 1, since that of the top score is exactly 1. As sum w_j (v_j - V) = 0 for
the mean V, the mean with the computed weights is off by at most 2 max ||v|| sum e_j. The reciprocal of the sum is off
by some e, which adds (m + sum e_j) max ||v|| e for m keys, whose weights are at most 1 + e_j. The errors of the values
add the largest of their radii. The heads' values are parts of one vector, so the squares of their errors add up.

Radii are float64, rounded upwards: each is a sum of products of non-negative numbers, multiplied by GROW, with ETA
added. Where a number is NaN or infinite, nothing is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from flint import arb

from hardsim.lazy_dataclass import dataclass
from hardsim.network.blocks import Rotary
from hardsim.network.dense import (
    Activation,
    Dense,
    NetworkHead,
    NetworkLayer,
    Norm,
    RootScale,
)
from hardsim.run.ball import BallArithmetic, ball
from hardsim.run.dense_exact import activation_function, scale_number
from hardsim.run.dense_float import STEEPEST, DenseFloat, FloatHead, LinearMap, lengths, visible
from hardsim.run.dense_pass import DensePass, Step, unwatched
from hardsim.run.enclosure import GROW, Booleans, Floats, growth, outward
from hardsim.run.fixed_point import (
    GUARD,
    balls,
    carried,
    digits_of,
    from_balls,
    kept,
    last_place,
    near,
    parts,
    places,
    product,
    times,
    total,
)

Row: TypeAlias = list[Any]


@dataclass(frozen=True, slots=True)
class VectorBalls:
    """Vectors at some positions: digits of the centres, (count, positions, d), and radii, (positions,)."""

    centre: Floats
    radius: Floats

    @property
    def size(self) -> Floats:
        """Bounds of the lengths of the centres, (positions,)."""
        return long(near(self.centre))


def long(x: Floats) -> Floats:
    """Return bounds of the lengths of vectors, (positions,), from numbers that are right to 2^-48."""
    found: Floats = lengths(x)[..., 0] * GROW
    return found


class FixedForward(DensePass[VectorBalls]):
    """A network with at least `bits` bits behind the point. `floats` is the network in float64, whose matrices and
    bounds of their singular values are used. (Weights that float64 does not hold are off by what it loses.)"""

    def __init__(self, floats: DenseFloat, bits: int) -> None:
        self.network, self.floats = floats.network, floats
        self.count = places(bits)
        self.unit = last_place(self.count) * GROW
        self.arithmetic = BallArithmetic(bits + 2 * GUARD)
        self._tables: dict[tuple[Rotary, int], tuple[Floats, Floats, float, float]] = {}

    @property
    def layers(self) -> tuple[NetworkLayer, ...]:
        """The layers."""
        return self.network.layers

    def run(self, n: int, tokens: Sequence[int], places: Sequence[int], step: Step = unwatched) -> list[Row]:
        """Return the outputs in balls, by position in `places` (from 0) and output, as `dense_exact.DenseForward.run`
        does."""
        network = self.network
        if network.readout.pooled == "mean":
            places = range(len(tokens))
        with self.arithmetic.precision(), np.errstate(all="ignore"):
            x = self._embedded(n, tokens)
            x = self.streamed(x, self._beside(n), len(tokens), places, step)
            return self._outputs(self.normed(network.final, x))

    def attention(
        self, n: int, tokens: Sequence[int], step: Step = unwatched
    ) -> Iterator[tuple[int, NetworkHead, list[Row]]]:
        """Yield the scaled logits of each head in balls, as `dense_exact.DenseForward.attention` does."""
        places, layers = range(len(tokens)), len(self.layers)
        with self.arithmetic.precision(), np.errstate(all="ignore"):
            x, beside = self._embedded(n, tokens), self._beside(n)
        for number, layer in enumerate(self.layers):
            attention = self.floats.layers[number].attention
            for part in () if attention is None else attention.heads:
                with self.arithmetic.precision(), np.errstate(all="ignore"):
                    y = x if layer.post else self.normed(layer.norm_1, x)
                    found = self._logits(part, y if beside is None else self.summed(y, beside), places)
                yield number, part.head, found
            if number + 1 < layers:
                with self.arithmetic.precision(), np.errstate(all="ignore"):
                    x = self.layer(number, x, beside, places)
            step(number + 1, layers)

    # ---- steps of the pass ----

    def at(self, x: VectorBalls, places: Sequence[int]) -> VectorBalls:
        """Return the vectors at some positions."""
        some = list(places)
        return VectorBalls(x.centre[:, some], x.radius[some])

    def summed(self, x: VectorBalls, added: VectorBalls) -> VectorBalls:
        """Return the sums of vectors, whose centres are exact."""
        return VectorBalls(carried(x.centre + added.centre), outward(x.radius + added.radius))

    def normed(self, norm: Norm | None, x: VectorBalls) -> VectorBalls:
        """Apply a norm, if there is one."""
        if norm is None:
            return x
        c, off = x.centre, x.radius
        d = c.shape[2]
        root = d**0.5 * GROW
        if norm.kind == "layer":
            mean, lost = self._scalars([value / d for value in balls(total(c))])
            c, off = carried(c - mean), off + root * lost
        squares = times(c, c)
        epsilon = ball(norm.epsilon)
        variances = [value / d + epsilon for value in balls(total(_shifted(squares)))]
        roots = [value.sqrt() for value in variances]
        inverse, lost = self._scalars([1 / value for value in roots])
        least = np.array([float(value.abs_lower()) for value in roots]) / GROW
        y = kept(times(c, inverse), self.count)
        room = least - outward(off / d**0.5)
        radius = np.where(room > 0, off / np.where(room > 0, room, 1.0) * GROW, np.inf)
        radius = outward(radius + long(near(c)) * lost + root * self.unit)
        found = VectorBalls(y, radius)
        if norm.weight is not None:
            found = self._weighted(found, norm.weight)
        return found if norm.bias is None else self.summed(found, self._fixed(norm.bias[None, :]))

    def attended(self, number: int, y: VectorBalls, beside: VectorBalls | None, places: Sequence[int]) -> VectorBalls:
        """Return what the heads of a layer add at some positions."""
        layer, attention = self.layers[number], self.floats.layers[number].attention
        assert attention is not None
        read = y if beside is None else self.summed(y, beside)
        means = [self._mean(part, y, read, places) for part in attention.heads]
        d = self.network.dimension
        found = VectorBalls(np.zeros((self.count, len(places), d)), np.zeros(len(places)))
        if means:
            joined = VectorBalls(
                np.concatenate([mean.centre for mean in means], axis=2),
                outward(np.sqrt(sum((mean.radius**2 for mean in means), np.zeros(len(places)))) * GROW),
            )
            found = self._linear(joined, attention.out, None)
        return found if layer.b_o is None else self.summed(found, self._fixed(layer.b_o[None, :]))

    def transformed(self, number: int, y: VectorBalls) -> VectorBalls:
        """Return what the MLP of a layer adds."""
        mlp, maps = self.layers[number].mlp, self.floats.layers[number].mlp
        assert mlp is not None
        assert maps is not None
        entered = self._linear(y, maps.enter, mlp.b_in)
        if maps.gate is None:
            hidden = self._activated(mlp.activation, entered)
        else:
            hidden = self._multiplied(self._activated(mlp.activation, self._linear(y, maps.gate, mlp.b_gate)), entered)
        return self._linear(hidden, maps.leave, mlp.b_out)

    # ---- parts ----

    def _embedded(self, n: int, tokens: Sequence[int]) -> VectorBalls:
        network = self.network
        x = self._fixed(network.embedding[list(tokens)])
        if network.embedding_scale != RootScale():
            x = self._scaled(x, network.embedding_scale)
        encoding = None if network.positions_at == "scores" else network.encoding(n)
        if encoding is not None:
            x = self.summed(x, self._fixed(encoding))
        if network.embedding_bias is not None:
            x = self.summed(x, self._fixed(network.embedding_bias[None, :]))
        x, projection = self.normed(network.embedding_norm, x), self.floats.projection
        return x if projection is None else self._linear(x, projection, network.projection_bias)

    def _beside(self, n: int) -> VectorBalls | None:
        """Return the encodings of positions that only queries and keys read; None if there are none."""
        encoding = self.network.encoding(n) if self.network.positions_at == "scores" else None
        return None if encoding is None else self._fixed(encoding)

    def _outputs(self, x: VectorBalls) -> list[Row]:
        network, count = self.network, self.count
        if network.readout.pooled == "mean":
            m = len(x.radius)
            sums = total(np.ascontiguousarray(x.centre.transpose(0, 2, 1)))
            centre, lost = from_balls([value / m for value in balls(sums)], (1, x.centre.shape[2]), count)
            x = VectorBalls(centre, outward(np.array([x.radius.sum() / m]) + long(lost)))
        if (transform := network.transform) is not None:
            assert self.floats.transform is not None
            x = self._linear(x, self.floats.transform, transform.bias)
            x = x if transform.activation is None else self._activated(transform.activation, x)
            x = self.normed(transform.norm, x)
        matrix = self.floats.unembedding
        found = self._linear(replace(x, radius=np.zeros_like(x.radius)), matrix, network.unembedding_bias)
        # An error moves one output by at most its length times that of the column.
        radii = outward(found.radius[:, None] + x.radius[:, None] * matrix.column)
        shape = found.centre.shape[1:]
        flat = [
            value + arb(0, radius) if np.isfinite(radius) else arb.nan()
            for value, radius in zip(balls(found.centre), radii.ravel().tolist(), strict=True)
        ]
        if network.output_cap is not None:
            cap = ball(network.output_cap)
            flat = [cap * (value / cap).tanh() for value in flat]
        return [flat[row * shape[1] : (row + 1) * shape[1]] for row in range(shape[0])]

    def _mean(self, part: FloatHead, y: VectorBalls, read: VectorBalls, places: Sequence[int]) -> VectorBalls:
        """Return the means of the values that a head reads at some positions."""
        m, unit = len(y.radius), self.unit
        values = self._linear(y, part.v, part.head.b_v)
        scores, seen, rho = self._scores(part, read, places)
        weights, off = self._weights(scores, seen)
        inverse, wide = self._scalars([1 / value for value in balls(total(weights))])
        sums = kept(self._product(weights, values.centre), self.count)
        centre = kept(times(sums, inverse), self.count)
        tau = growth(rho)
        factor = np.where(tau < 0.5, np.minimum(outward(tau / np.maximum(1 - tau, 0.25)), 2.0), 2.0)
        most, root = values.size.max() * GROW, values.centre.shape[2] ** 0.5 * GROW
        # The weights sum up to at least 1, so the reciprocal is at most 1.
        radius = values.radius.max() + (factor + 2 * off + 2 * (m + off) * wide) * most + 3 * root * unit
        return VectorBalls(centre, outward(outward(radius)))

    def _scores(self, part: FloatHead, read: VectorBalls, places: Sequence[int]) -> tuple[Floats, Booleans, Floats]:
        """Return the scores of a head at some positions, the visible keys, and bounds of the errors of the visible
        scores by query."""
        head, m, query = part.head, len(read.radius), np.array(list(places))
        positions = np.arange(m)
        queries = self._linear(self.at(read, places), part.q, head.b_q)
        queries = self._scaled(self._turned(head.rotary, self.normed(head.norm_q, queries), query, m), head.scale)
        keys = self._turned(head.rotary, self.normed(head.norm_k, self._linear(read, part.k, head.b_k)), positions, m)
        seen = visible(head.mask, head.window, query, positions)
        scores = kept(self._product(queries.centre, keys.centre.transpose(0, 2, 1)), self.count)
        slip = queries.radius * (keys.size.max() + keys.radius.max()) + queries.size * keys.radius.max() + self.unit
        scores, lost = self._after_product(head, scores, seen, query[:, None] - positions[None, :])
        return scores, seen, outward(slip + lost)

    def _logits(self, part: FloatHead, read: VectorBalls, places: Sequence[int]) -> list[Row]:
        """Return the scores of a head in balls, by query, with None where a key is not visible."""
        scores, seen, rho = self._scores(part, read, places)
        rows: list[Row] = []
        for query, (here, off) in enumerate(zip(seen.tolist(), rho.tolist(), strict=True)):
            around = arb(0, off) if np.isfinite(off) else arb.nan()
            numbers = balls(scores[:, query])
            rows.append([one + around if known else None for one, known in zip(numbers, here, strict=True)])
        return rows

    def _after_product(
        self, head: NetworkHead, scores: Floats, seen: Booleans, distances: Any
    ) -> tuple[Floats, Floats]:
        """Return the scores after the head's soft cap and bias of distances, and bounds of the errors of the visible
        ones by query."""
        lost = np.zeros(scores.shape[1:])
        if head.cap is not None:
            cap = ball(head.cap)
            here = [cap * (value / cap).tanh() for value in balls(scores[:, seen])]
            scores = np.zeros_like(scores)
            scores[:, seen], lost[seen] = from_balls(here, (len(here),), self.count)
        if head.distance is not None:
            slope = self.arithmetic.number(head.distance.slope)
            far = np.arange(np.abs(distances).max(initial=0) + 1)
            biases, off = from_balls([slope * int(one) for one in far], far.shape, self.count)
            scores = carried(scores - biases[:, np.abs(distances)])
            lost += off[np.abs(distances)]
        return scores, outward(np.where(seen, lost, 0.0).max(axis=1))

    def _weights(self, scores: Floats, seen: Booleans) -> tuple[Floats, Floats]:
        """Return the weights relative to the largest score of each query, 0 where a key is not visible, and bounds of
        the sums of their errors by query."""
        about = np.where(seen, near(scores), -np.inf)
        top = np.argmax(about, axis=1)
        below = carried(scores - np.take_along_axis(scores, top[None, :, None], axis=2))
        found, off = np.zeros_like(scores), np.zeros(scores.shape[1:])
        here = [value.exp() for value in balls(below[:, seen])]
        found[:, seen], off[seen] = from_balls(here, (len(here),), self.count)
        # Where a score is not a number, neither is a weight.
        return found, outward(off.sum(axis=1))

    def _linear(self, x: VectorBalls, matrix: LinearMap, bias: Dense | None) -> VectorBalls:
        """Return `x W + b`, with a bias as it is in the network."""
        rest = matrix.weight.copy()
        digits = list(parts(rest, self.count)) or [(0, np.zeros_like(rest))]
        centre = kept(product(x.centre, digits, self.count), self.count)
        left = matrix.lost + (float(long(rest.reshape(1, -1))[0]) if rest.any() else 0.0)
        radius = x.radius * matrix.stretch + x.size * left * GROW + rest.shape[1] ** 0.5 * self.unit
        found = VectorBalls(centre, outward(radius))
        return found if bias is None else self.summed(found, self._fixed(bias[None, :]))

    def _product(self, left: Floats, right: Floats) -> Floats:
        digits = [(index, np.ascontiguousarray(digit)) for index, digit in enumerate(right) if digit.any()]
        return product(left, digits or [(0, right[0])], len(right))

    def _weighted(self, x: VectorBalls, weight: Dense) -> VectorBalls:
        """Return the vectors with each coordinate multiplied by a weight."""
        factors = self._fixed(weight[None, :])
        centre = kept(times(x.centre, factors.centre), self.count)
        off = factors.radius[0]
        radius = x.radius * (np.abs(near(factors.centre)).max() * GROW + off) + x.size * off
        return VectorBalls(centre, outward(radius + len(weight) ** 0.5 * self.unit))

    def _activated(self, activation: Activation, x: VectorBalls) -> VectorBalls:
        if activation is Activation.RELU:
            return VectorBalls(np.where(near(x.centre) > 0, x.centre, x.centre * 0), x.radius)
        f = activation_function(self.arithmetic, activation)
        shape = x.centre.shape[1:]
        centre, off = from_balls([f(value) for value in balls(x.centre)], shape, self.count)
        return VectorBalls(centre, outward(x.radius * STEEPEST[activation] + long(off)))

    def _multiplied(self, a: VectorBalls, b: VectorBalls) -> VectorBalls:
        """Return the products of the coordinates of vectors."""
        most_a, most_b = (np.abs(near(one.centre)).max(axis=1) * GROW for one in (a, b))
        radius = most_a * b.radius + most_b * a.radius + a.radius * b.radius
        centre = kept(times(a.centre, b.centre), self.count)
        return VectorBalls(centre, outward(radius + centre.shape[2] ** 0.5 * self.unit))

    def _scaled(self, x: VectorBalls, scale: RootScale) -> VectorBalls:
        """Return vectors times a scale."""
        factor = scale_number(self.arithmetic, scale)
        digits, off = self._scalars([factor])
        centre = kept(times(x.centre, digits), self.count)
        radius = x.radius * (float(factor.abs_upper()) * GROW) + x.size * off
        return VectorBalls(centre, outward(radius + centre.shape[2] ** 0.5 * self.unit))

    def _turned(self, rotary: Rotary | None, x: VectorBalls, positions: Any, m: int) -> VectorBalls:
        """Return vectors turned by their positions, all below m."""
        if rotary is None:
            return x
        if (rotary, m) not in self._tables:
            self._tables[rotary, m] = self._table(rotary, m)
        cosines, sines, off, amplitude = self._tables[rotary, m]
        c, s = cosines[:, positions], sines[:, positions]
        first, second = (list(index) for index in zip(*rotary.pairs, strict=True))
        a, b = x.centre[:, :, first], x.centre[:, :, second]
        centre = x.centre.copy()
        centre[:, :, first] = kept(carried(times(a, c) - times(b, s)), self.count)
        centre[:, :, second] = kept(carried(times(b, c) + times(a, s)), self.count)
        radius = x.radius * max(1.0, amplitude) + 2 * off * x.size + centre.shape[2] ** 0.5 * self.unit
        return VectorBalls(centre, outward(radius))

    def _table(self, rotary: Rotary, m: int) -> tuple[Floats, Floats, float, float]:
        """Return cosines and sines of the angles of all pairs at positions below m, times the amplitude, (count, m,
        pairs), and bounds of their errors and of the amplitude."""
        rates = [self.arithmetic.number(rate) for rate in rotary.frequencies]
        angles = [rate * place for place in range(m) for rate in rates]
        shape, amplitude = (m, len(rates)), ball(rotary.amplitude)
        cosines, off = from_balls([amplitude * angle.cos() for angle in angles], shape, self.count)
        sines, more = from_balls([amplitude * angle.sin() for angle in angles], shape, self.count)
        return cosines, sines, float(max(off.max(), more.max())), float(amplitude.abs_upper()) * GROW

    def _fixed(self, array: Dense) -> VectorBalls:
        """Return exact vectors, (rows, d), of floats, rationals or Reals."""
        if array.dtype == object:
            numbers = [self.arithmetic.number(value) for value in array.ravel().tolist()]
            digits, off = from_balls(numbers, array.shape, self.count)
        else:
            digits, off = digits_of(array, self.count)
        return VectorBalls(digits, long(off) if off.any() else np.zeros(len(array)))

    def _scalars(self, numbers: Sequence[arb]) -> tuple[Floats, Floats]:
        """Return a number for each position in fixed-point numbers, (count, positions, 1), and bounds of their errors,
        (positions,)."""
        digits, off = from_balls(numbers, (len(numbers), 1), self.count)
        return digits, off[:, 0]


def _shifted(products: Floats) -> Floats:
    """Return carried sums of products as digits of numbers, with the places of both factors."""
    found = products[1:]
    found[0][products[0] != 0] = np.nan
    return found
