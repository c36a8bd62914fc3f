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

from hardsim.lang.reals import RealNumber
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
from hardsim.run.dense_pass import DensePass, Step, unwatched

Row: TypeAlias = list[Any]
"""A row of numbers of the arithmetic."""


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


class DenseForward(DensePass[list[Row]]):
    """A network prepared to run in one arithmetic."""

    def __init__(self, network: Network, arithmetic: DenseArithmetic) -> None:
        self.network, self.arithmetic = network, arithmetic

    @cached_property
    def _numbers(self) -> Network:
        """The network with numbers of the arithmetic in place of its arrays, except the embedding and the table of
        positions: matrices for `product`, and rows. Made at the arithmetic's precision."""
        parts = (
            "layers", "final", "unembedding", "unembedding_bias", "embedding_bias", "embedding_norm", "projection",
            "projection_bias", "transform",
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

    @property
    def layers(self) -> tuple[NetworkLayer, ...]:
        """The layers, with numbers of the arithmetic."""
        return self._numbers.layers

    def run(self, n: int, tokens: Sequence[int], places: Sequence[int], step: Step = unwatched) -> list[Row]:
        """Return the outputs, by position in `places` (from 0) and output, for a word of n symbols whose tokens,
        with those around the word, are `tokens`. If the readout takes the mean over positions, there is one row of
        outputs, whatever the places. `step` is called after each layer."""
        if self.network.readout.pooled == "mean":
            places = range(len(tokens))
        with self.arithmetic.precision():
            x = self.streamed(self._embedded(n, tokens), self._score_positions(n), len(tokens), places, step)
            return self._outputs(self._numbers, self.normed(self._numbers.final, x))

    def _outputs(self, network: Network, x: list[Row]) -> list[Row]:
        """Return the outputs from the vectors after the final norm."""
        if network.readout.pooled == "mean":
            count = self._number(len(x))
            x = [[self.arithmetic.total(list(column)) / count for column in zip(*x, strict=True)]]
        if (transform := network.transform) is not None:
            x = self._linear(x, transform.weight, transform.bias)
            if transform.activation is not None:
                f = activation_function(self.arithmetic, transform.activation)
                x = [[f(value) for value in row] for row in x]
            x = self.normed(transform.norm, x)
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

    def attention(
        self, n: int, tokens: Sequence[int], step: Step = unwatched
    ) -> Iterator[tuple[int, NetworkHead, list[Row]]]:
        """Yield for each head the number of its layer (from 0), the head, and by query the scaled logits of all keys;
        None for a key that is not visible. `step` is called after each layer."""
        with self.arithmetic.precision():
            # The precision is set only while a head is computed: it is global, and between two results other code
            # runs.
            x, scored, layers = self._embedded(n, tokens), self._score_positions(n), self._numbers.layers
        for number, layer in enumerate(layers):
            for head, given in zip(layer.heads, self.network.layers[number].heads, strict=True):
                with self.arithmetic.precision():
                    y = x if layer.post else self.normed(layer.norm_1, x)
                    found = self._logits(head, y if scored is None else self.summed(y, scored), range(len(y)))
                yield number, given, found
            if number + 1 < len(layers):
                with self.arithmetic.precision():
                    x = self.layer(number, x, scored, range(len(x)))
            step(number + 1, len(layers))

    # ---- parts ----

    def _embedded(self, n: int, tokens: Sequence[int]) -> list[Row]:
        x = self._exact(self.network.embedding[list(tokens)])
        scale = self.network.embedding_scale
        if scale != RootScale():
            factor = scale_number(self.arithmetic, scale)
            x = [[factor * value for value in row] for row in x]
        encoding = None if self.network.positions_at == "scores" else self.network.encoding(n)
        x = x if encoding is None else self.summed(x, self._exact(encoding))
        numbers = self._numbers
        bias = numbers.embedding_bias
        x = x if bias is None else [_plus(row, bias) for row in x]
        x = self.normed(numbers.embedding_norm, x)
        return x if numbers.projection is None else self._linear(x, numbers.projection, numbers.projection_bias)

    def at(self, x: list[Row], places: Sequence[int]) -> list[Row]:
        """Return the rows at some positions."""
        return [x[place] for place in places]

    def summed(self, x: list[Row], added: list[Row]) -> list[Row]:
        """Return the sums of rows."""
        return [_plus(a, b) for a, b in zip(x, added, strict=True)]

    def attended(self, number: int, y: list[Row], beside: list[Row] | None, places: Sequence[int]) -> list[Row]:
        """Return what the heads of a layer add at some positions."""
        layer = self.layers[number]
        start: Any = [self._number(0)] * self.network.dimension if layer.b_o is None else layer.b_o
        found, compared = [start for _ in places], y if beside is None else self.summed(y, beside)
        for head in layer.heads:
            weights = [shares(self.arithmetic, row) for row in self._logits(head, compared, places)]
            values = self._linear(y, head.w_v, head.b_v)
            means = self.arithmetic.product(self.arithmetic.matrix(weights), self.arithmetic.matrix(values))
            found = self.summed(found, self._linear(means, head.w_o, None))
        return found

    def _logits(self, head: NetworkHead, y: list[Row], places: Sequence[int]) -> list[Row]:
        """Return the scaled logits by query at these positions, with None where a key is not visible."""
        scale = scale_number(self.arithmetic, head.scale)
        queries = self.normed(head.norm_q, self._linear([y[place] for place in places], head.w_q, head.b_q))
        keys = self.normed(head.norm_k, self._linear(y, head.w_k, head.b_k))
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

    def transformed(self, number: int, y: list[Row]) -> list[Row]:
        """Return what the MLP of a layer adds."""
        mlp = self.layers[number].mlp
        assert mlp is not None
        f = activation_function(self.arithmetic, mlp.activation)
        entered = self._linear(y, mlp.w_in, mlp.b_in)
        if mlp.w_gate is None:
            hidden = [[f(value) for value in row] for row in entered]
        else:
            gates = self._linear(y, mlp.w_gate, mlp.b_gate)
            hidden = [
                [f(g) * value for g, value in zip(*pair, strict=True)] for pair in zip(gates, entered, strict=True)
            ]
        return self._linear(hidden, mlp.w_out, mlp.b_out)

    def normed(self, norm: Norm | None, x: list[Row]) -> list[Row]:
        """Apply a norm, if there is one."""
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

    def _number(self, value: float | RealNumber) -> Any:
        return self.arithmetic.number(Fraction(value) if isinstance(value, float) else value)


def shares(arithmetic: DenseArithmetic, logits: Row) -> Row:
    """Return the softmax of the logits of the visible keys, and 0 for the other keys."""
    seen = [logit for logit in logits if logit is not None]
    # Shifting by any reference is correct; the largest midpoint keeps the exponentials small.
    top = max(seen, key=lambda logit: arithmetic.approximate(logit)[0])
    powers = [None if logit is None else arithmetic.exp(logit - top) for logit in logits]
    total = arithmetic.total([power for power in powers if power is not None])
    return [0 if power is None else power / total for power in powers]


def sees(head: NetworkHead, query: int, key: int) -> bool:
    """Return True if a head's query at one position sees the key at another. Every query sees its own position; FUTURE
    hides the later keys, PAST the earlier ones, NONE no key, and a window all that are too far."""
    near = head.window is None or abs(query - key) < head.window
    return near and (head.mask is Mask.NONE or query == key or (key < query) == (head.mask is Mask.FUTURE))


def activation_function(arithmetic: DenseArithmetic, activation: Activation) -> Callable[[Any], Any]:
    """Return an activation for numbers of an arithmetic."""
    number = arithmetic.number
    one, half = number(1), number(Fraction(1, 2))
    match activation:
        case Activation.RELU:
            return arithmetic.relu
        case Activation.SILU:
            return lambda x: x / (one + arithmetic.exp(-x))
        case Activation.QUICK_GELU:
            rate = number(Fraction(-1702, 1000))
            return lambda x: x / (one + arithmetic.exp(rate * x))
        case Activation.TANH:
            return arithmetic.tanh
        case Activation.GELU:
            root = arithmetic.sqrt(half)
            return lambda x: half * x * (one + arithmetic.erf(root * x))
        case Activation.GELU_NEW:
            factor = arithmetic.sqrt(number(2) / arithmetic.pi())
            cubic = number(Fraction(44715, 1_000_000))
            return lambda x: half * x * (one + arithmetic.tanh(factor * (x + cubic * x * x * x)))


def scale_number(arithmetic: DenseArithmetic, scale: RootScale) -> Any:
    """Return a scale as a number of an arithmetic."""
    return arithmetic.number(scale.factor) / arithmetic.sqrt(arithmetic.number(scale.root))


def _plus(left: Row, right: Any) -> Row:
    return [a + b for a, b in zip(left, right, strict=True)]
