"""A naive pass in mpmath: `matrix` products of the dense matrices, softmax row by row, without shortcuts.

This is what a programmer would write first. The precision is that of the project's own mpmath pass, so that both do the
same work; every number is an mpf from the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mpmath import MPContext

from hardsim.lang.reals import lower
from hardsim.network.numbers import Mask, Rational
from hardsim.network.store import Relus
from hardsim.network.transformer import AttentionHead, Layer, Matrix, Transformer


class NaivePass:
    """A softmax transformer at length n, as mpmath matrices with `dps` decimal digits."""

    def __init__(self, model: Transformer, n: int, dps: int) -> None:
        self.model = model
        self.context = MPContext()
        self.context.dps = dps
        self.positions = range(model.first, n + 1)
        self.embedding = self._matrix(model.embedding)
        self.encoding = self.context.matrix(len(self.positions), model.dimension)
        for column, encoding in model.encodings:
            for row, i in enumerate(self.positions):
                self.encoding[row, column] += self._number(encoding.evaluate(i=i, n=n))
        self.inverse = [self._number(lower(model.inverse_temperature(i, n))) for i in self.positions]
        self.place = model.reading_index(n)
        self.layers = [(self._heads(layer), self._network(layer)) for layer in model.layers]

    def run(self, word: Sequence[str]) -> Any:
        """Return the output coordinate at the reading position."""
        symbols = [self.model.symbol_index[symbol] for symbol in word]
        if self.model.bos:
            symbols.insert(0, len(self.model.alphabet))
        x = self.context.matrix([[self.embedding[s, c] for c in range(self.model.dimension)] for s in symbols])
        x += self.encoding
        for heads, (w1, b1, w2, b2) in self.layers:
            read = x
            for mask, w_q, w_k, w_v in heads:
                x = x + self._attend(mask, w_q, w_k, w_v, read)
            x = x + self._shifted((self._shifted(x * w1, b1)).apply(self._relu) * w2, b2)
        return x[self.place, self.model.output]

    def _attend(self, mask: Mask, w_q: Any, w_k: Any, w_v: Any, x: Any) -> Any:
        weights = self.context.matrix(x.rows, x.rows)
        scores = (x * w_q) * (x * w_k).T if w_q is not None else weights
        for row in range(x.rows):
            seen = [key for key in range(x.rows) if sees(mask, row, key, self.model.bos)]
            powers = [self.context.exp(scores[row, key] * self.inverse[row]) for key in seen]
            total = sum(powers)
            for key, power in zip(seen, powers, strict=True):
                weights[row, key] = power / total
        return weights * (x * w_v)

    def _relu(self, value: Any) -> Any:
        return value if value > 0 else self.context.mpf(0)

    def _shifted(self, x: Any, bias: list[Any]) -> Any:
        for row in range(x.rows):
            for column, value in enumerate(bias):
                x[row, column] += value
        return x

    # ---- from rationals ----

    def _number(self, value: Rational) -> Any:
        return self.context.mpf(value.numerator) / value.denominator

    def _matrix(self, matrix: Matrix) -> Any:
        found = self.context.matrix(*matrix.shape)
        for row, column, value in matrix.entries:
            found[row, column] = self._number(value)
        return found

    def _heads(self, layer: Layer) -> list[tuple[Mask, Any, Any, Any]]:
        return [(head.mask, *self._head(head)) for head in layer.heads]

    def _head(self, head: AttentionHead) -> tuple[Any, Any, Any]:
        """Return W_Q, W_K and W_V, transposed (mpmath has no matrix without rows: None for a head without scores)."""
        if not head.w_q.shape[0]:
            return None, None, self._matrix(head.w_v).T
        return self._matrix(head.w_q).T, self._matrix(head.w_k).T, self._matrix(head.w_v).T

    def _network(self, layer: Layer) -> tuple[Any, list[Any], Any, list[Any]]:
        ffn = Relus.of(layer.ffn, self.model.dimension)
        return (
            self._matrix(ffn.w1).T,
            [self._number(value) for value in ffn.b1],
            self._matrix(ffn.w2).T,
            [self._number(value) for value in ffn.b2],
        )


def sees(mask: Mask, query: int, key: int, bos: bool) -> bool:
    """Return True if a query sees a key, both given by index; every query sees a beginning of sequence, at index 0."""
    if bos and key == 0:
        return True
    if mask is Mask.NONE:
        return True
    if mask is Mask.FUTURE:
        return key <= query
    if mask is Mask.STRICT_FUTURE:
        return key < query
    return key >= query if mask is Mask.PAST else key > query
