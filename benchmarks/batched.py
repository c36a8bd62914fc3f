"""Batched PyTorch: the same transformer as a practitioner would run it, in eager mode, without error bounds.

All heads of a layer are stacked: one product gives the queries of all heads, one the keys, one the values, and one the
scores. Of W_V only the nonzero rows are kept, as a head's value and output projections. Masks are added to the scores.
The weights become tensors once, and all words of a batch go through each step together. A batch is run in slices whose
scores stay in the cache, as in the numpy pass. On a processor this is up to twice as fast as all words at once, and
faster than `scaled_dot_product_attention`, whose kernels are made for wider heads and fewer positions.

Shapes: B words, N positions, d coordinates, H heads, k score and v value dimensions (the most of any head; the
dimensions that a head lacks are 0).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.dense import CELLS, Floats, dense, hidden
from hardsim.lang.reals import lower
from hardsim.network.store import Relus
from hardsim.network.transformer import AttentionHead, Transformer

Tensor: TypeAlias = Any
"""A torch.Tensor; mypy does not check torch's types."""

torch.set_num_threads(1)


@dataclass(frozen=True, slots=True)
class Attention:
    """The stacked heads of a layer: `queries` and `keys` (d, H k), `values` (d, H v), `outputs` (H v, d), and `masks`,
    which are added to the scores: (H, N, N), or (1, N, N) where all heads have the same mask.
    """

    heads: int
    queries: Tensor
    keys: Tensor
    values: Tensor
    outputs: Tensor
    masks: Tensor

    def added(self, x: Tensor, inverse: Tensor) -> Tensor:
        """Return the sum of the heads' outputs for a residual stream `x` of shape (B, N, d).

        `inverse` holds the inverse temperatures of the query positions, (N, 1).
        """
        queries, keys, values = (self._split(x @ weights) for weights in (self.queries, self.keys, self.values))
        scores = (queries * inverse) @ keys.transpose(2, 3)
        scores += self.masks
        attended = torch.softmax(scores, dim=3) @ values
        return attended.transpose(1, 2).flatten(2) @ self.outputs

    def _split(self, x: Tensor) -> Tensor:
        """Reshape (B, N, H k) to (B, H, N, k)."""
        return x.unflatten(2, (self.heads, -1)).transpose(1, 2)


@dataclass(frozen=True, slots=True)
class Network:
    """A feed-forward layer: W_1 transposed (d, m), b_1, W_2 transposed (m, d), b_2."""

    w1: Tensor
    b1: Tensor
    w2: Tensor
    b2: Tensor

    def added(self, x: Tensor) -> Tensor:
        """Return the output of the feed-forward layer for a residual stream `x` of shape (B, N, d)."""
        return torch.relu(x @ self.w1 + self.b1) @ self.w2 + self.b2


class BatchedPass:
    """A softmax transformer at length n, as tensors of type `dtype`, "float32" or "float64"."""

    def __init__(self, model: Transformer, n: int, dtype: str) -> None:
        self._dtype = getattr(torch, dtype)
        positions = range(model.first, n + 1)
        encoding = np.zeros((len(positions), model.dimension))
        for index, function in model.encodings:
            encoding[:, index] += [float(function.evaluate(i=i, n=n)) for i in positions]
        self._embedding, self._encoding = self._tensor(dense(model.embedding)), self._tensor(encoding)
        self._inverse = self._tensor(np.array([[float(lower(model.inverse_temperature(i, n)))] for i in positions]))
        self._layers = [
            (
                self._attention(layer.heads, len(positions), model.bos) if layer.heads else None,
                self._network(Relus.of(layer.ffn, model.dimension)),
            )
            for layer in model.layers
        ]
        self._output, self._place, self._bos = model.output, model.reading_index(n), model.bos
        self._symbols = model.symbol_index
        most = max((len(layer.heads) for layer in model.layers), default=0)
        # A slice of this many words keeps its scores within CELLS numbers.
        self._slice = max(1, CELLS // (max(1, most) * len(positions) ** 2))

    def numbers(self, words: Sequence[Sequence[str]]) -> Tensor:
        """Return words as rows of symbol numbers, (B, N); the beginning of sequence has the embedding's last row."""
        start = [len(self._symbols)] * self._bos
        return torch.tensor([start + [self._symbols[symbol] for symbol in word] for word in words])

    def run(self, symbols: Tensor) -> Floats:
        """Return the output coordinate at the reading position, one number for each word; `symbols` comes from
        `numbers`.
        """
        with torch.inference_mode():
            found = torch.cat([self._batch(some) for some in symbols.split(self._slice)])
        numbers: Floats = found.numpy()
        return numbers

    def _batch(self, symbols: Tensor) -> Tensor:
        x = self._embedding[symbols] + self._encoding
        for attention, network in self._layers:
            if attention is not None:
                x = x + attention.added(x, self._inverse)
            x = x + network.added(x)
        return x[:, self._place, self._output]

    # ---- from rationals ----

    def _tensor(self, numbers: NDArray[Any]) -> Tensor:
        return torch.tensor(numbers, dtype=self._dtype)

    def _attention(self, heads: Sequence[AttentionHead], size: int, bos: bool) -> Attention:
        d = heads[0].w_v.shape[0]
        scores = max(1, *(head.w_q.shape[0] for head in heads))
        # Values are sparse: most rows of W_V are 0, and only the others are multiplied.
        rows = [[row for row, _ in head.values] for head in heads]
        width = max(1, *map(len, rows))
        queries, keys = np.zeros((2, d, len(heads), scores))
        values, outputs = np.zeros((d, len(heads), width)), np.zeros((len(heads), width, d))
        for place, (head, outs) in enumerate(zip(heads, rows, strict=True)):
            queries[:, place, : head.w_q.shape[0]] = dense(head.w_q).T
            keys[:, place, : head.w_k.shape[0]] = dense(head.w_k).T
            values[:, place, : len(outs)] = dense(head.w_v)[outs].T
            outputs[place, range(len(outs)), outs] = 1
        # One mask for the whole layer is broadcast, which saves memory.
        masks = list(dict.fromkeys(head.mask for head in heads))
        kinds = masks if len(masks) == 1 else [head.mask for head in heads]
        return Attention(
            heads=len(heads),
            queries=self._tensor(queries.reshape(d, -1)),
            keys=self._tensor(keys.reshape(d, -1)),
            values=self._tensor(values.reshape(d, -1)),
            outputs=self._tensor(outputs.reshape(-1, d)),
            masks=self._tensor(np.stack([hidden(mask, size, bos) for mask in kinds])),
        )

    def _network(self, ffn: Relus) -> Network:
        return Network(
            self._tensor(dense(ffn.w1).T),
            self._tensor(np.array([float(bias) for bias in ffn.b1])),
            self._tensor(dense(ffn.w2).T),
            self._tensor(np.array([float(bias) for bias in ffn.b2])),
        )
