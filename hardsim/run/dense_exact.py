"""An external network on one word, written once for any number type: balls, which give theorems, or mpmath.

Every weight has its exact meaning: a float64 is a dyadic rational, a Fraction is enclosed or rounded once. The square
roots in scales and norms, pi in gelu_new, exp, erf and tanh are the arithmetic's own. Compute with the results inside
the arithmetic's `precision()`, since python-flint has one precision for the whole process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np

from hardsim.errors import Undecided
from hardsim.lang.reals import RealNumber, precisions
from hardsim.network.blocks import Rotary
from hardsim.network.dense import (
    Activation,
    Dense,
    Mlp,
    Network,
    NetworkHead,
    NetworkLayer,
    Norm,
    RootScale,
    Transform,
)
from hardsim.network.numbers import Mask
from hardsim.run.arithmetic import Arithmetic
from hardsim.run.ball import BallArithmetic

Row: TypeAlias = list[Any]
"""A row of numbers of the arithmetic."""
BITS, LIMIT_BITS = 96, 4096
"""The bits of the first attempt, and the bits at which a word is left undecided."""


class DenseArithmetic(Arithmetic[Any], Protocol):
    """The further operations that an external network needs from a number type."""

    def sqrt(self, value: Any) -> Any:
        """Return the square root of a value."""

    def erf(self, value: Any) -> Any:
        """Return the error function of a value."""

    def tanh(self, value: Any) -> Any:
        """Return the hyperbolic tangent of a value."""

    def sin(self, value: Any) -> Any:
        """Return the sine of a value."""

    def cos(self, value: Any) -> Any:
        """Return the cosine of a value."""

    def pi(self) -> Any:
        """Return pi."""

    def matrix(self, rows: Sequence[Sequence[Any]]) -> Any:
        """Return a matrix for `product`."""

    def product(self, left: Any, right: Any) -> list[Row]:
        """Return the rows of a matrix product."""


class DenseForward:
    """A network prepared to run in one arithmetic."""

    def __init__(self, network: Network, arithmetic: DenseArithmetic) -> None:
        self.network, self.arithmetic = network, arithmetic

    @cached_property
    def _numbers(self) -> Network:
        """The network with numbers of the arithmetic in place of its arrays, except the embedding and the table of
        positions: matrices for `product`, and rows. Made at the arithmetic's precision."""
        parts = (
            "layers", "final", "unembedding", "unembedding_bias", "embedding_bias", "embedding_norm", "transform",
        )  # fmt: skip
        return replace(self.network, **{name: self._in_numbers(getattr(self.network, name)) for name in parts})

    def _in_numbers(self, part: Any) -> Any:
        if isinstance(part, np.ndarray):
            if part.ndim == 1:
                return list(map(self._number, part.tolist()))
            # Floats are exact as they are.
            return self.arithmetic.matrix(self._exact(part) if part.dtype == object else part.tolist())
        if isinstance(part, tuple):
            return tuple(map(self._in_numbers, part))
        if not isinstance(part, NetworkLayer | NetworkHead | Mlp | Norm | Transform):
            return part
        return replace(part, **{one.name: self._in_numbers(getattr(part, one.name)) for one in fields(part)})

    def run(self, n: int, tokens: Sequence[int], places: Sequence[int]) -> list[Row]:
        """Return the outputs, by position in `places` (from 0) and output, for a word of n symbols whose tokens,
        with those around the word, are `tokens`. If the readout takes the mean over positions, there is one row of
        outputs, whatever the places."""
        if self.network.readout.pooled == "mean":
            places = range(len(tokens))
        with self.arithmetic.precision():
            x, network = self._embedded(n, tokens), self._numbers
            last, scored = len(network.layers) - 1, self._score_positions(n)
            for number, layer in enumerate(network.layers):
                x = self._layer(layer, x, scored, places if number == last else range(len(x)))
            if last < 0:
                x = [x[place] for place in places]
            return self._outputs(network, self._normed(network.final, x))

    def _outputs(self, network: Network, x: list[Row]) -> list[Row]:
        """Return the outputs from the vectors after the final norm."""
        if network.readout.pooled == "mean":
            count = self._number(len(x))
            x = [[self.arithmetic.total(list(column)) / count for column in zip(*x, strict=True)]]
        if (transform := network.transform) is not None:
            x = self._linear(x, transform.weight, transform.bias)
            if transform.activation is not None:
                f = self._activation(transform.activation)
                x = [[f(value) for value in row] for row in x]
            x = self._normed(transform.norm, x)
        x = self._linear(x, network.unembedding, network.unembedding_bias)
        if network.output_cap is not None:
            x = [[self._capped(value, network.output_cap) for value in row] for row in x]
        return x

    def _score_positions(self, n: int) -> list[Row] | None:
        """Return the position encoding that only queries and keys read; None if there is none."""
        if self.network.positions_at == "stream":
            return None
        encoding = self.network.encoding(n)
        return None if encoding is None else self._exact(encoding)

    def attention(self, n: int, tokens: Sequence[int]) -> Iterator[tuple[int, NetworkHead, list[Row]]]:
        """Yield for each head the number of its layer (from 0), the head, and by query the scaled logits of all keys;
        None for a key that is not visible."""
        with self.arithmetic.precision():
            # The precision is set only while a head is computed: it is global, and between two results other code
            # runs.
            x, scored, layers = self._embedded(n, tokens), self._score_positions(n), self._numbers.layers
        for number, layer in enumerate(layers):
            for head, given in zip(layer.heads, self.network.layers[number].heads, strict=True):
                with self.arithmetic.precision():
                    y = x if layer.post else self._normed(layer.norm_1, x)
                    found = self._logits(head, y if scored is None else _sums(y, scored), range(len(y)))
                yield number, given, found
            if number + 1 < len(layers):
                with self.arithmetic.precision():
                    x = self._layer(layer, x, scored, range(len(x)))

    # ---- parts ----

    def _embedded(self, n: int, tokens: Sequence[int]) -> list[Row]:
        x = self._exact(self.network.embedding[list(tokens)])
        scale = self.network.embedding_scale
        if scale != RootScale():
            factor = self._scale(scale)
            x = [[factor * value for value in row] for row in x]
        encoding = None if self.network.positions_at == "scores" else self.network.encoding(n)
        x = x if encoding is None else _sums(x, self._exact(encoding))
        bias = self._numbers.embedding_bias
        x = x if bias is None else [_plus(row, bias) for row in x]
        return self._normed(self._numbers.embedding_norm, x)

    def _layer(self, layer: NetworkLayer, x: list[Row], scored: list[Row] | None, places: Sequence[int]) -> list[Row]:
        # Keys and values need all positions, everything else only the requested ones.
        read, x = x, [x[place] for place in places]
        entered = x
        if layer.attends:
            y = read if layer.post else self._normed(layer.norm_1, read)
            x = _sums(x, self._normed(layer.out_1, self._attended(layer, y, scored, places)))
            x = self._normed(layer.norm_1, x) if layer.post else x
        if layer.mlp is not None:
            entered = entered if layer.parallel else x
            y = entered if layer.post else self._normed(layer.norm_2, entered)
            x = _sums(x, self._normed(layer.out_2, self._mlp(layer.mlp, y)))
            x = self._normed(layer.norm_2, x) if layer.post else x
        return x

    def _attended(
        self, layer: NetworkLayer, y: list[Row], scored: list[Row] | None, places: Sequence[int]
    ) -> list[Row]:
        start: Any = [self._number(0)] * self.network.dimension if layer.b_o is None else layer.b_o
        found, compared = [start for _ in places], y if scored is None else _sums(y, scored)
        for head in layer.heads:
            weights = [self.shares(row) for row in self._logits(head, compared, places)]
            values = self._linear(y, head.w_v, head.b_v)
            means = self.arithmetic.product(self.arithmetic.matrix(weights), self.arithmetic.matrix(values))
            found = _sums(found, self._linear(means, head.w_o, None))
        return found

    def _logits(self, head: NetworkHead, y: list[Row], places: Sequence[int]) -> list[Row]:
        """Return the scaled logits by query at these positions, with None where a key is not visible."""
        scale = self._scale(head.scale)
        queries = self._normed(head.norm_q, self._linear([y[place] for place in places], head.w_q, head.b_q))
        keys = self._normed(head.norm_k, self._linear(y, head.w_k, head.b_k))
        if (rotary := head.rotary) is not None:
            queries = [self._turned(row, place, rotary) for place, row in zip(places, queries, strict=True)]
            keys = [self._turned(row, place, rotary) for place, row in enumerate(keys)]
        scores = self.arithmetic.product(
            self.arithmetic.matrix([[scale * value for value in row] for row in queries]),
            self.arithmetic.matrix(list(zip(*keys, strict=True))),
        )
        return [
            [
                self._biased(head, score, place - key) if sees(head, place, key) else None
                for key, score in enumerate(row)
            ]
            for place, row in zip(places, scores, strict=True)
        ]

    def _biased(self, head: NetworkHead, score: Any, distance: int) -> Any:
        """Return a score of two positions at this distance after the head's soft cap and its bias of distances."""
        score = score if head.cap is None else self._capped(score, head.cap)
        return score if head.distance is None else score - self._number(head.distance.slope) * abs(distance)

    def _capped(self, value: Any, cap: Fraction) -> Any:
        number = self._number(cap)
        return number * self.arithmetic.tanh(value / number)

    def _turned(self, row: Row, position: int, rotary: Rotary) -> Row:
        """Return a query or a key turned by its position."""
        found, amplitude = list(row), self._number(rotary.amplitude)
        for (a, b), frequency in zip(rotary.pairs, rotary.frequencies, strict=True):
            angle = self._number(frequency) * position
            cosine, sine = amplitude * self.arithmetic.cos(angle), amplitude * self.arithmetic.sin(angle)
            found[a], found[b] = row[a] * cosine - row[b] * sine, row[b] * cosine + row[a] * sine
        return found

    def shares(self, logits: Row) -> Row:
        """Return the softmax of the logits of the visible keys, and 0 for the other keys."""
        seen = [logit for logit in logits if logit is not None]
        # Shifting by any reference is correct; the largest midpoint keeps the exponentials small.
        top = max(seen, key=lambda logit: self.arithmetic.approximate(logit)[0])
        powers = [None if logit is None else self.arithmetic.exp(logit - top) for logit in logits]
        total = self.arithmetic.total([power for power in powers if power is not None])
        return [0 if power is None else power / total for power in powers]

    def _mlp(self, mlp: Mlp, y: list[Row]) -> list[Row]:
        f = self._activation(mlp.activation)
        entered = self._linear(y, mlp.w_in, mlp.b_in)
        if mlp.w_gate is None:
            hidden = [[f(value) for value in row] for row in entered]
        else:
            gates = self._linear(y, mlp.w_gate, mlp.b_gate)
            hidden = [
                [f(g) * value for g, value in zip(*pair, strict=True)] for pair in zip(gates, entered, strict=True)
            ]
        return self._linear(hidden, mlp.w_out, mlp.b_out)

    def _activation(self, activation: Activation) -> Callable[[Any], Any]:
        arithmetic, one, half = self.arithmetic, self._number(1), self._number(Fraction(1, 2))
        match activation:
            case Activation.RELU:
                return arithmetic.relu
            case Activation.SILU:
                return lambda x: x / (one + arithmetic.exp(-x))
            case Activation.QUICK_GELU:
                rate = self._number(Fraction(-1702, 1000))
                return lambda x: x / (one + arithmetic.exp(rate * x))
            case Activation.TANH:
                return arithmetic.tanh
            case Activation.GELU:
                root = arithmetic.sqrt(half)
                return lambda x: half * x * (one + arithmetic.erf(root * x))
            case Activation.GELU_NEW:
                factor = arithmetic.sqrt(self._number(2) / arithmetic.pi())
                cubic = self._number(Fraction(44715, 1_000_000))
                return lambda x: half * x * (one + arithmetic.tanh(factor * (x + cubic * x * x * x)))

    def _normed(self, norm: Norm | None, x: list[Row]) -> list[Row]:
        if norm is None:
            return x
        arithmetic, epsilon = self.arithmetic, self._number(norm.epsilon)
        found = []
        for row in x:
            d = self._number(len(row))
            if norm.kind == "layer":
                mean = arithmetic.total(row) / d
                row = [value - mean for value in row]
            root = arithmetic.sqrt(arithmetic.total([value * value for value in row]) / d + epsilon)
            row = [value / root for value in row]
            row = row if norm.weight is None else [a * b for a, b in zip(row, norm.weight, strict=True)]
            found.append(row if norm.bias is None else _plus(row, norm.bias))
        return found

    def _linear(self, x: list[Row], weight: Any, bias: Any) -> list[Row]:
        """Return `x weight + bias` for parameters of `_numbers`."""
        found = self.arithmetic.product(self.arithmetic.matrix(x), weight)
        return found if bias is None else [_plus(row, bias) for row in found]

    def _exact(self, array: Dense) -> list[Row]:
        """Return the rows of an array of weights as numbers of the arithmetic."""
        return [[self._number(value) for value in row] for row in array.tolist()]

    def _scale(self, scale: RootScale) -> Any:
        return self._number(scale.factor) / self.arithmetic.sqrt(self._number(scale.root))

    def _number(self, value: float | RealNumber) -> Any:
        return self.arithmetic.number(Fraction(value) if isinstance(value, float) else value)


def sees(head: NetworkHead, query: int, key: int) -> bool:
    """Return True if a head's query at one position sees the key at another. Every query sees its own position; FUTURE
    hides the later keys, PAST the earlier ones, NONE no key, and a window all that are too far."""
    near = head.window is None or abs(query - key) < head.window
    return near and (head.mask is Mask.NONE or query == key or (key < query) == (head.mask is Mask.FUTURE))


def _plus(left: Row, right: Any) -> Row:
    return [a + b for a, b in zip(left, right, strict=True)]


def _sums(left: list[Row], right: list[Row]) -> list[Row]:
    return [_plus(a, b) for a, b in zip(left, right, strict=True)]


class DenseBalls:
    """A network run in balls with as many bits as an answer needs: the first attempt has the larger of 96 and
    `least`, and the number doubles until the answer is settled, up to `limit`, or four times `least` if that is more.
    """

    def __init__(self, network: Network, limit: int = LIMIT_BITS, least: int = 0) -> None:
        self.network, self.least, self.limit = network, max(least, BITS), max(limit, 4 * least)
        self._passes: dict[int, DenseForward] = {}

    def run(
        self, n: int, tokens: Sequence[int], places: Sequence[int], settled: Callable[[list[Row]], bool]
    ) -> tuple[list[Row], int]:
        """Return the outputs, by position in `places` and output, and the number of bits used. `settled` is called with
        these outputs, at the precision of the pass. Raises Undecided if `settled` is still False at the limit."""
        for bits in precisions(min(self.least, self.limit), self.limit):
            if bits not in self._passes:
                self._passes[bits] = DenseForward(self.network, BallArithmetic(bits))
            forward = self._passes[bits]
            rows = forward.run(n, tokens, places)
            with forward.arithmetic.precision():
                if settled(rows):
                    return rows, bits
        raise Undecided(self._message(tokens))

    def _message(self, tokens: Sequence[int]) -> str:
        named = [str(self.network.tokens[token]) for token in tokens]
        shown = " ".join(named[:40]) + (f" ... ({len(named)} tokens)" if len(named) > 40 else "")
        return (
            f"{shown} is undecided: with {self.limit:,} bits, the limit of the ball arithmetic, it is not certain what "
            "the outputs say. Some value lies on its threshold, or two outputs are equal"
        )
