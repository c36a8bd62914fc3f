"""Plain numpy: the same transformer as dense float64 matrices, without error bounds and without shortcuts.

The other passes are compared with this one. It shares no code with them: W_Q, W_K, W_V, W_1, W_2 and the embedding are
dense arrays, every head multiplies all of them and computes all n x n scores and exponentials, and the feed-forward
layer is two matrix products with a relu in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from mpmath import MPContext
from numpy.typing import NDArray

from hardsim.lang.reals import lower
from hardsim.network.numbers import Mask, Rational
from hardsim.network.store import Relus
from hardsim.network.transformer import Matrix, Transformer

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

CELLS = 2**18
"""The greatest number of scores of a batch, words times queries times keys: two megabytes an array, which fits the
cache."""


class DenseHead(NamedTuple):
    """A head: W_Q and W_K of shape (k, d), W_V of shape (d, d), and its mask `hidden` (see `hidden`)."""

    w_q: Floats
    w_k: Floats
    w_v: Floats
    hidden: Floats


class DenseLayer(NamedTuple):
    """A layer: its heads, and W_1 (m, d), b_1, W_2 (d, m), b_2."""

    heads: tuple[DenseHead, ...]
    w1: Floats
    b1: Floats
    w2: Floats
    b2: Floats


class DensePass:
    """A softmax transformer at length n, as dense arrays of the numbers that `number` makes of rationals."""

    def __init__(
        self,
        model: Transformer,
        n: int,
        number: Callable[[Rational], Any] = float,
        exp: Callable[[Any], Any] = np.exp,
        times: Callable[[Any, Any], Any] = np.matmul,
    ) -> None:
        self.exp, self.times = exp, times

        def array(values: Iterable[Rational], *shape: int) -> Any:
            return np.array(list(map(number, values))).reshape(shape)

        def dense(matrix: Matrix) -> Any:
            found = array([0] * (matrix.shape[0] * matrix.shape[1]), *matrix.shape)
            for row, column, value in matrix.entries:
                found[row, column] = number(value)
            return found

        positions = range(model.first, n + 1)
        self.embedding = dense(model.embedding)
        self.encoding = array([0] * (len(positions) * model.dimension), len(positions), model.dimension)
        for index, encoding in model.encodings:
            self.encoding[:, index] += array((encoding.evaluate(i=i, n=n) for i in positions), -1)
        self.inverse = array((lower(model.inverse_temperature(i, n)) for i in positions), -1, 1)
        masks = {head.mask for layer in model.layers for head in layer.heads}
        hiding = {mask: hidden(mask, len(positions), model.bos) for mask in masks}
        self.layers = []
        for layer in model.layers:
            heads = [DenseHead(dense(one.w_q), dense(one.w_k), dense(one.w_v), hiding[one.mask]) for one in layer.heads]
            ffn = Relus.of(layer.ffn, model.dimension)
            biases = array(ffn.b1, -1), array(ffn.b2, -1)
            self.layers.append(DenseLayer(tuple(heads), dense(ffn.w1), biases[0], dense(ffn.w2), biases[1]))
        self.output, self.place, self.bos = model.output, model.reading_index(n), model.bos
        self.symbols = model.symbol_index

    def numbers(self, words: Sequence[Sequence[str]]) -> Integers:
        """Return words as rows of symbol numbers, (words, positions); the beginning of sequence has the embedding's
        last row."""
        start = [len(self.symbols)] * self.bos
        return np.array([start + [self.symbols[symbol] for symbol in word] for word in words], dtype=np.int64)

    def run(self, symbols: Integers) -> Any:
        """Return the output coordinate at the reading position, one number for each word; `symbols` comes from
        `numbers`."""
        size = max(1, CELLS // len(self.encoding) ** 2)
        return np.concatenate([self._batch(symbols[start : start + size]) for start in range(0, len(symbols), size)])

    def _batch(self, symbols: Integers) -> Any:
        x = self.embedding[symbols] + self.encoding
        for heads, w1, b1, w2, b2 in self.layers:
            # All heads of a layer read the stream as it was before the layer.
            read = x
            for head in heads:
                x = x + self._attend(head, read)
            x = x + self.times(np.maximum(self.times(x, w1.T) + b1, 0), w2.T) + b2
        return x[:, self.place, self.output]

    def _attend(self, head: DenseHead, x: Any) -> Any:
        """Return a head's output, of shape (words, positions, d)."""
        query, key, value = (self.times(x, weights.T) for weights in (head.w_q, head.w_k, head.w_v))
        logits = self.times(query, key.transpose(0, 2, 1)) * self.inverse + head.hidden
        weights = self.exp(logits - logits.max(axis=2, keepdims=True))
        return self.times(weights, value) / weights.sum(axis=2, keepdims=True)


def naive(model: Transformer, n: int, dps: int) -> DensePass:
    """Return the same pass with every number an mpf of `dps` decimal digits and products as in mpmath, as a programmer
    would write it first."""
    context = MPContext()
    context.dps = dps
    exp = np.frompyfunc(context.exp, 1, 1)

    def times(left: Any, right: Any) -> Any:
        rows, columns = left.tolist(), right.T.tolist()
        return np.array(
            [
                context.fdot((a, b) for a, b in zip(row, column, strict=True) if a and b)
                for row in rows
                for column in columns
            ]
        ).reshape(len(rows), -1)

    times = np.vectorize(times, [object], signature="(m,k),(k,n)->(m,n)")
    return DensePass(model, n, lambda value: context.mpf(value.numerator) / value.denominator, exp, times)


def hidden(mask: Mask, size: int, bos: bool) -> Floats:
    """Return the mask as an array to add to scores: 0 where a query (row) sees a key, minus infinity elsewhere.

    Every query sees a beginning of sequence, at index 0."""
    query, key = np.arange(size)[:, None], np.arange(size)[None, :]
    seen = {
        Mask.NONE: key >= 0,
        Mask.FUTURE: key <= query,
        Mask.STRICT_FUTURE: key < query,
        Mask.PAST: key >= query,
        Mask.STRICT_PAST: key > query,
    }[mask]
    return np.where(seen | (bos & (key == 0)), 0.0, -np.inf) + np.zeros((size, size))
