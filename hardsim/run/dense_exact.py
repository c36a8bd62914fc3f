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
from hardsim.network.dense import Activation, Dense, Mlp, Network, NetworkHead, NetworkLayer, Norm, RootScale
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
        parts = ("layers", "final", "unembedding", "unembedding_bias")
        return replace(self.network, **{name: self._in_numbers(getattr(self.network, name)) for name in parts})

    def _in_numbers(self, part: Any) -> Any:
        if isinstance(part, np.ndarray):
            if part.ndim == 1:
                return list(map(self._number, part.tolist()))
            # Floats are exact as they are.
            return self.arithmetic.matrix(self._exact(part) if part.dtype == object else part.tolist())
        if isinstance(part, tuple):
            return tuple(map(self._in_numbers, part))
        if not isinstance(part, NetworkLayer | NetworkHead | Mlp | Norm):
            return part
        return replace(part, **{one.name: self._in_numbers(getattr(part, one.name)) for one in fields(part)})

    def run(self, n: int, tokens: Sequence[int], places: Sequence[int]) -> list[Row]:
        """Return the outputs, by position in `places` (from 0) and output, for a word of n symbols whose tokens,
        with those around the word, are `tokens`."""
        with self.arithmetic.precision():
            x, network = self._embedded(n, tokens), self._numbers
            last = len(network.layers) - 1
            for number, layer in enumerate(network.layers):
                x = self._layer(layer, x, places if number == last else range(len(x)))
            if last < 0:
                x = [x[place] for place in places]
            x = self._normed(network.final, x)
            return self._linear(x, network.unembedding, network.unembedding_bias)

    def attention(self, n: int, tokens: Sequence[int]) -> Iterator[tuple[int, NetworkHead, list[Row]]]:
        """Yield for each head the number of its layer (from 0), the head, and by query the scaled logits of all keys;
        None for a key that is not visible."""
        with self.arithmetic.precision():
            # The precision is set only while a head is computed: it is global, and between two results other code
            # runs.
            x, layers = self._embedded(n, tokens), self._numbers.layers
        for number, layer in enumerate(layers):
            for head, given in zip(layer.heads, self.network.layers[number].heads, strict=True):
                with self.arithmetic.precision():
                    y = x if layer.post else self._normed(layer.norm_1, x)
                    found = self._logits(head, y, range(len(y)))
                yield number, given, found
            if number + 1 < len(layers):
                with self.arithmetic.precision():
                    x = self._layer(layer, x, range(len(x)))

    # ---- parts ----

    def _embedded(self, n: int, tokens: Sequence[int]) -> list[Row]:
        x = self._exact(self.network.embedding[list(tokens)])
        scale = self.network.embedding_scale
        if scale != RootScale():
            factor = self._scale(scale)
            x = [[factor * value for value in row] for row in x]
        encoding = self.network.encoding(n)
        if encoding is None:
            return x
        number = self._number
        return [_plus(row, map(number, added)) for row, added in zip(x, encoding.tolist(), strict=True)]

    def _layer(self, layer: NetworkLayer, x: list[Row], places: Sequence[int]) -> list[Row]:
        # Keys and values need all positions, everything else only the requested ones.
        read, x = x, [x[place] for place in places]
        if layer.attends:
            y = read if layer.post else self._normed(layer.norm_1, read)
            x = _sums(x, self._attended(layer, y, places))
            x = self._normed(layer.norm_1, x) if layer.post else x
        if layer.mlp is not None:
            x = _sums(x, self._mlp(layer.mlp, x if layer.post else self._normed(layer.norm_2, x)))
            x = self._normed(layer.norm_2, x) if layer.post else x
        return x

    def _attended(self, layer: NetworkLayer, y: list[Row], places: Sequence[int]) -> list[Row]:
        start: Any = [self._number(0)] * self.network.dimension if layer.b_o is None else layer.b_o
        found = [start for _ in places]
        for head in layer.heads:
            weights = [self.shares(row) for row in self._logits(head, y, places)]
            values = self._linear(y, head.w_v, head.b_v)
            means = self.arithmetic.product(self.arithmetic.matrix(weights), self.arithmetic.matrix(values))
            found = _sums(found, self._linear(means, head.w_o, None))
        return found

    def _logits(self, head: NetworkHead, y: list[Row], places: Sequence[int]) -> list[Row]:
        """Return the scaled logits by query at these positions, with None where a key is not visible."""
        scale = self._scale(head.scale)
        queries = self._linear([y[place] for place in places], head.w_q, head.b_q)
        keys = self._linear(y, head.w_k, head.b_k)
        scores = self.arithmetic.product(
            self.arithmetic.matrix([[scale * value for value in row] for row in queries]),
            self.arithmetic.matrix(list(zip(*keys, strict=True))),
        )
        return [
            [score if sees(head.mask, place, key) else None for key, score in enumerate(row)]
            for place, row in zip(places, scores, strict=True)
        ]

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
        return self._linear([[f(value) for value in row] for row in entered], mlp.w_out, mlp.b_out)

    def _activation(self, activation: Activation) -> Callable[[Any], Any]:
        arithmetic, one, half = self.arithmetic, self._number(1), self._number(Fraction(1, 2))
        match activation:
            case Activation.RELU:
                return arithmetic.relu
            case Activation.SILU:
                return lambda x: x / (one + arithmetic.exp(-x))
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
        arithmetic, d, epsilon = self.arithmetic, self._number(self.network.dimension), self._number(norm.epsilon)
        found = []
        for row in x:
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


def sees(mask: Mask, query: int, key: int) -> bool:
    """Return True if the query at one position sees the key at another. Every query sees its own position; FUTURE
    hides the later keys, PAST the earlier ones, NONE no key."""
    return mask is Mask.NONE or query == key or (key < query) == (mask is Mask.FUTURE)


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
