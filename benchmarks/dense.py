"""Plain numpy: the same transformer as dense float64 matrices, without error bounds and without shortcuts.

The other passes are compared with this one. It shares no code with them: W_Q, W_K, W_V, W_1, W_2 and the embedding are
dense arrays, every head multiplies all of them and computes all n x n scores and exponentials, and the feed-forward
layer is two matrix products with a relu in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hardsim.lang.reals import lower
from hardsim.network.numbers import Mask
from hardsim.network.store import Relus
from hardsim.network.transformer import AttentionHead, Layer, Matrix, Transformer

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

CELLS = 2**18
"""The greatest number of scores of a batch, words times queries times keys: two megabytes an array, which fits the
cache.
"""


@dataclass(frozen=True, slots=True)
class DenseHead:
    """A head: W_Q and W_K of shape (k, d), W_V of shape (d, d), and its mask `hidden`."""

    w_q: Floats
    w_k: Floats
    w_v: Floats
    hidden: Floats
    """0 where a query (row) sees a key, minus infinity elsewhere: (positions, positions)."""


@dataclass(frozen=True, slots=True)
class DenseLayer:
    """A layer: its heads, and W_1 (m, d), b_1, W_2 (d, m), b_2."""

    heads: tuple[DenseHead, ...]
    w1: Floats
    b1: Floats
    w2: Floats
    b2: Floats


class DensePass:
    """A softmax transformer at length n, as dense float64 arrays."""

    def __init__(self, model: Transformer, n: int) -> None:
        positions = range(model.first, n + 1)
        self.embedding = dense(model.embedding)
        self.encoding = np.zeros((len(positions), model.dimension))
        for index, encoding in model.encodings:
            self.encoding[:, index] += [float(encoding.evaluate(i=i, n=n)) for i in positions]
        self.inverse = np.array([[float(lower(model.inverse_temperature(i, n)))] for i in positions])
        self.layers = tuple(_layer(layer, len(positions), model.bos, model.dimension) for layer in model.layers)
        self.output, self.place, self.bos = model.output, model.reading_index(n), model.bos
        self.symbols = model.symbol_index

    def numbers(self, words: Sequence[Sequence[str]]) -> Integers:
        """Return words as rows of symbol numbers, (words, positions); the beginning of sequence has the embedding's
        last row.
        """
        found = np.array([[self.symbols[symbol] for symbol in word] for word in words], dtype=np.int64)
        if self.bos:
            start = np.full((len(words), 1), len(self.symbols), dtype=np.int64)
            found = np.concatenate([start, found], axis=1)
        return found

    @property
    def batch_size(self) -> int:
        """Number of words that are run at once."""
        return int(max(1, CELLS // len(self.encoding) ** 2))

    def run(self, symbols: Integers) -> Floats:
        """Return the output coordinate at the reading position, one number for each word; `symbols` comes from
        `numbers`.
        """
        size = self.batch_size
        return np.concatenate([self._batch(symbols[start : start + size]) for start in range(0, len(symbols), size)])

    def _batch(self, symbols: Integers) -> Floats:
        x: Floats = self.embedding[symbols] + self.encoding
        for layer in self.layers:
            # All heads of a layer read the stream as it was before the layer.
            read = x
            for head in layer.heads:
                x = x + self._attend(head, read)
            x = x + np.maximum(x @ layer.w1.T + layer.b1, 0.0) @ layer.w2.T + layer.b2
        found: Floats = x[:, self.place, self.output]
        return found

    def _attend(self, head: DenseHead, x: Floats) -> Floats:
        """Return a head's output, of shape (words, positions, d)."""
        query, key, value = x @ head.w_q.T, x @ head.w_k.T, x @ head.w_v.T
        logits = (query @ key.transpose(0, 2, 1)) * self.inverse + head.hidden
        weights = np.exp(logits - logits.max(axis=2, keepdims=True))
        attended: Floats = (weights @ value) / weights.sum(axis=2, keepdims=True)
        return attended


def dense(matrix: Matrix) -> Floats:
    """Convert a sparse rational matrix to a dense float64 array."""
    found = np.zeros(matrix.shape)
    for row, column, value in matrix.entries:
        found[row, column] = float(value)
    return found


def hidden(mask: Mask, size: int, bos: bool) -> Floats:
    """Return the mask as an array to add to scores: 0 where a query (row) sees a key, minus infinity elsewhere.

    Every query sees a beginning of sequence, at index 0.
    """
    query, key = np.arange(size)[:, None], np.arange(size)[None, :]
    seen = {
        Mask.NONE: np.ones((size, size), dtype=np.bool_),
        Mask.FUTURE: key <= query,
        Mask.STRICT_FUTURE: key < query,
        Mask.PAST: key >= query,
        Mask.STRICT_PAST: key > query,
    }[mask]
    if bos:
        seen = seen | (key == 0)
    return np.where(seen, 0.0, -np.inf)


def _layer(layer: Layer, size: int, bos: bool, d: int) -> DenseLayer:
    ffn = Relus.of(layer.ffn, d)
    return DenseLayer(
        heads=tuple(_head(head, size, bos) for head in layer.heads),
        w1=dense(ffn.w1),
        b1=np.array([float(value) for value in ffn.b1]),
        w2=dense(ffn.w2),
        b2=np.array([float(value) for value in ffn.b2]),
    )


def _head(head: AttentionHead, size: int, bos: bool) -> DenseHead:
    return DenseHead(dense(head.w_q), dense(head.w_k), dense(head.w_v), hidden(head.mask, size, bos))
