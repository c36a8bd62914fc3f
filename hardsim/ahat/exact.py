"""The exact interpreter of hard-attention models, in rationals, from the matrices alone.

Definitions 1 and 2 of the paper on a batch of words of one length: scores, the mask, the hardmax (the mean over all
maxima, or the leftmost or rightmost of them), the residual stream, the ReLU network. It shares nothing with the
softmax passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from hardsim.errors import InputError
from hardsim.net.model import AttentionHead, FeedForward, Transformer
from hardsim.spec.integers import SAFE, Exact, Integers, combination, largest, widened
from hardsim.spec.ir import Mask, Rational, Weighting, plain

BLOCK = 1 << 23
"""Bytes of scores that are held at a time: the queries of long words are taken in blocks, so that memory grows with the
length and not with its square."""
LARGEST_COLUMN = 3 << 26
"""Bytes that the exact means of one coordinate may take: about six such columns are held at a time."""

Word = Sequence[str]
Terms = tuple[tuple[int, Rational], ...]


@dataclass
class Rows:
    """The rows of one head that is not uniform, on a batch: everything in units of `1 / unit` of the score.

    Shapes are (words, positions). `gap` is the largest score minus the next smaller one, -1 where every visible score
    is the same; `maxima` is how many positions have the largest score; `reach` the largest score minus the smallest.
    """

    unit: int
    gap: Integers
    maxima: NDArray[np.int64]
    reach: Integers
    query_sizes: tuple[Fraction, ...]
    key_sizes: tuple[Fraction, ...]


@dataclass
class LayerTrace:
    """One layer on a batch: the residual stream after attention and after the feed-forward network.

    `rows` is by head name, for heads that are not uniform; `values` holds the attended forms and `results` what
    attention makes of them, by head name and output coordinate; `inputs` the inputs of the hidden units.
    """

    attended: list[Exact]
    columns: list[Exact]
    rows: dict[str, Rows] = field(default_factory=dict)
    values: dict[str, dict[int, Exact]] = field(default_factory=dict)
    results: dict[str, dict[int, Exact]] = field(default_factory=dict)
    inputs: list[Exact] = field(default_factory=list)


@dataclass
class Trace:
    """What a model did on a batch of words of length n; columns have shape (words, positions)."""

    n: int
    inputs: list[Exact]
    layers: list[LayerTrace]

    @property
    def columns(self) -> list[Exact]:
        """The residual stream at the end."""
        return self.layers[-1].columns if self.layers else self.inputs


class ExactModel:
    """A hard-attention model ready to run; what depends on n alone is kept for the last length."""

    def __init__(self, model: Transformer) -> None:
        self.model = model
        self._embedding = model.embedding.rows()
        self._forms = [
            [(_forms(head.w_q.rows()), _forms(head.w_k.rows()), _forms(head.w_v.rows())) for head in layer.heads]
            for layer in model.layers
        ]
        self._units = [_forms(layer.ffn.w1.rows()) for layer in model.layers]
        self._length = 0
        self._encoded: list[list[Rational]] = []

    def run(self, words: Sequence[Word]) -> Trace:
        """Run the model on words of one length."""
        n = len(words[0])
        columns = self._input(words, n)
        trace = Trace(n, columns, [])
        for number in range(len(self.model.layers)):
            layer = self._attention(number, columns, n)
            columns = layer.columns = self._feed_forward(number, layer)
            trace.layers.append(layer)
        return trace

    def outputs(self, trace: Trace) -> list[Fraction]:
        """The output coordinate at the reading position, word by word."""
        place = self.model.reading_index(trace.n)
        column = trace.columns[self.model.output]
        return [column.at(word, place) for word in range(column.whole.shape[0])]

    def verdict(self, output: Fraction) -> bool | None:
        """Whether an output means accepted; None where it is neither above nor below the threshold."""
        threshold = self.model.threshold
        if threshold is None:
            return bool(output) if output in (0, 1) else None
        return None if output == threshold else output > threshold

    def _input(self, words: Sequence[Word], n: int) -> list[Exact]:
        """Embedding plus position encoding."""
        positions = range(self.model.first, n + 1)
        if n != self._length:
            self._encoded = [[0] * len(positions) for _ in range(self.model.dimension)]
            for index, encoding in self.model.encodings:
                old = self._encoded[index]
                self._encoded[index] = [
                    plain(value + encoding.evaluate(i=i, n=n)) for i, value in zip(positions, old, strict=True)
                ]
            self._length = n
        index_of = self.model.symbol_index
        symbols = np.array([[index_of[symbol] for symbol in word] for word in words], dtype=np.int64)
        if self.model.bos:
            start = np.full((len(words), 1), len(self.model.alphabet), dtype=np.int64)
            symbols = np.concatenate([start, symbols], axis=1)
        columns: list[Exact] = []
        for coordinate in range(self.model.dimension):
            table = Exact.row([row.get(coordinate, 0) for row in self._embedding], 1)
            letters = Exact.of(table.whole[0][symbols], table.unit)
            encoded = Exact.row(self._encoded[coordinate], len(words))
            columns.append(combination([(letters, 1), (encoded, 1)], 0, symbols.shape))
        return columns

    def _attention(self, number: int, columns: list[Exact], n: int) -> LayerTrace:
        layer = LayerTrace(list(columns), [])
        shape = columns[0].whole.shape
        written: dict[int, list[tuple[Exact, Rational]]] = {}
        for head, (queries, keys, forms) in zip(self.model.layers[number].heads, self._forms[number], strict=True):
            values = {out: _form(form, 0, columns) for out, form in enumerate(forms) if form}
            if head.uniform and head.weighting in (Weighting.AVERAGE, Weighting.SOFTMAX):
                results = {out: _uniform(head.mask, value, self.model.bos) for out, value in values.items()}
            else:
                pairs = [(_form(q, 0, columns), _form(k, 0, columns)) for q, k in zip(queries, keys, strict=True)]
                layer.rows[head.name], results = _hardmax(head, pairs, values, shape, self.model.bos)
            layer.values[head.name], layer.results[head.name] = values, results
            for out, result in results.items():
                written.setdefault(out, []).append((result, 1))
        for out, parts in written.items():
            layer.attended[out] = combination([(columns[out], 1), *parts], 0, (shape[0], shape[1]))
        return layer

    def _feed_forward(self, number: int, layer: LayerTrace) -> list[Exact]:
        ffn: FeedForward = self.model.layers[number].ffn
        columns = list(layer.attended)
        active: list[Exact] = []
        for form, bias in zip(self._units[number], ffn.b1, strict=True):
            value = _form(form, bias, layer.attended)
            layer.inputs.append(value)
            active.append(Exact.of(np.maximum(value.whole, 0), value.unit))
        outs: dict[int, list[tuple[Exact, Rational]]] = {}
        for row, column, weight in ffn.w2.entries:
            outs.setdefault(row, []).append((active[column], weight))
        shape = columns[0].whole.shape
        for index, bias in enumerate(ffn.b2):
            if bias or index in outs:
                columns[index] = combination([(columns[index], 1), *outs.get(index, [])], bias, (shape[0], shape[1]))
        return columns


def visible(mask: Mask, size: int, bos: bool, queries: slice = slice(None)) -> NDArray[np.bool_]:
    """Which of the positions (columns) each of the queries (rows) sees, by index; with a beginning of sequence every
    query sees index 0."""
    key = np.arange(size)
    query = key[queries, None]
    seen = {
        Mask.NONE: np.broadcast_to(True, (len(query), size)),
        Mask.FUTURE: key <= query,
        Mask.PAST: key >= query,
        Mask.STRICT_FUTURE: key < query,
        Mask.STRICT_PAST: key > query,
    }[mask]
    result: NDArray[np.bool_] = seen | (key == 0) if bos else seen
    return result


def visible_sums(mask: Mask, whole: Integers, bos: bool) -> Integers:
    """The sum of what each query sees of rows of numbers, (..., positions), in time and memory of their size."""
    upto = whole.cumsum(axis=-1)
    every = upto[..., -1:]
    sums: Integers = {
        Mask.NONE: np.broadcast_to(every, whole.shape),
        Mask.FUTURE: upto,
        Mask.PAST: every - upto + whole,
        Mask.STRICT_FUTURE: upto - whole,
        Mask.STRICT_PAST: every - upto,
    }[mask]
    if bos:
        unseen = ~visible(mask, whole.shape[-1], False)[:, 0]
        sums = sums + whole[..., :1] * unseen
    return sums


def _forms(rows: list[dict[int, Rational]]) -> list[Terms]:
    return [tuple(row.items()) for row in rows]


def _form(form: Terms, bias: Rational, columns: Sequence[Exact]) -> Exact:
    words, positions = columns[0].whole.shape
    return combination([(columns[index], coefficient) for index, coefficient in form], bias, (words, positions))


def _uniform(mask: Mask, value: Exact, bos: bool) -> Exact:
    """The mean of a column over all that each query sees."""
    size = value.whole.shape[1]
    totals = visible_sums(mask, widened(value.whole, value.size * size), bos)
    counts = visible_sums(mask, np.ones((1, size), dtype=np.int64), bos)
    return _mean(totals, counts, value.unit)


def _hardmax(
    head: AttentionHead,
    pairs: list[tuple[Exact, Exact]],
    values: dict[int, Exact],
    shape: tuple[int, ...],
    bos: bool,
) -> tuple[Rows, dict[int, Exact]]:
    """What the rows of scores are like, and the mean of each column over the positions that the hardmax attends to."""
    unit = lcm(*(query.unit * key.unit for query, key in pairs))
    factors = [unit // (query.unit * key.unit) for query, key in pairs]
    bound = sum(factor * query.size * key.size for factor, (query, key) in zip(factors, pairs, strict=True))
    rows: list[tuple[Integers, ...]] = []
    counts: list[Integers] = []
    totals: dict[int, list[Integers]] = {out: [] for out in values}
    wide = {out: widened(value.whole, value.size * shape[1]) for out, value in values.items()}
    # A Python integer takes 28 bytes and a bit for a bit, a place in an array 8.
    bytes_each = 8 if bound < SAFE else 36 + bound.bit_length() // 8
    step = max(1, BLOCK // (bytes_each * shape[0] * shape[1]))
    for start in range(0, shape[1], step):
        queries = slice(start, start + step)
        seen = visible(head.mask, shape[1], bos, queries)
        scores: Integers = np.zeros((shape[0], *seen.shape), dtype=object if bound >= SAFE else np.int64)
        for factor, (query, key) in zip(factors, pairs, strict=True):
            left = widened(query.whole[:, queries], bound) * factor
            scores = scores + left[:, :, None] * widened(key.whole, bound)[:, None, :]
        *found, chosen = _rows(head.weighting, scores, seen)
        rows.append(tuple(found))
        counts.append(chosen.sum(axis=2))
        for out, whole in wide.items():
            totals[out].append(np.where(chosen, whole[:, None, :], 0).sum(axis=2))
    number = np.concatenate(counts, axis=1)
    results = {out: _mean(np.concatenate(totals[out], axis=1), number, value.unit) for out, value in values.items()}
    gap, maxima, reach = (np.concatenate(parts, axis=1) for parts in zip(*rows, strict=True))
    sizes = tuple(query.magnitude for query, _ in pairs), tuple(key.magnitude for _, key in pairs)
    return Rows(unit, gap, maxima, reach, *sizes), results


def _rows(weighting: Weighting, scores: Integers, seen: NDArray[np.bool_]) -> tuple[Integers, ...]:
    """Gap, number of maxima and reach of some rows of scores, and the positions that their hardmax attends to."""
    low, high = int(scores.min()) - 1, int(scores.max()) + 1
    masked = np.where(seen, scores, low)
    best = masked.max(axis=2)
    top = seen & (masked == best[:, :, None])
    runner_up = np.where(top, low, masked).max(axis=2)
    gap = np.where(runner_up == low, -1, best - runner_up)
    reach = best - np.where(seen, scores, high).min(axis=2)
    maxima = top.sum(axis=2)
    if weighting is not Weighting.AVERAGE:
        size = top.shape[2]
        place = top.argmax(axis=2) if weighting is Weighting.LEFTMOST else size - 1 - top[:, :, ::-1].argmax(axis=2)
        top = place[:, :, None] == np.arange(size)
    return gap, maxima, reach, top


def _mean(totals: Integers, counts: Integers, over: int) -> Exact:
    """`totals / (counts * over)` over one unit.

    Raises:
        InputError: if the numbers take more than LARGEST_COLUMN: the unit alone has 1.44 bits for every position.
    """
    unit = 1
    for count in np.unique(counts):
        unit = lcm(unit, int(count))
        if totals.size * unit.bit_length() // 8 > LARGEST_COLUMN:
            raise InputError(
                f"exact means of up to {counts.max():,} values at {totals.size:,} positions take more than "
                f"{LARGEST_COLUMN >> 20} MiB for each coordinate",
                hint="Give shorter words.",
            )
    if unit == 1:
        return Exact.of(totals, over)
    wide = largest(totals) * unit >= SAFE or unit >= SAFE
    factors = (unit // counts.astype(object)) if wide else unit // counts
    return Exact.of((totals.astype(object) if wide else totals) * factors, over * unit)
