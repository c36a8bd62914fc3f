"""The exact interpreter of hard attention, in rationals, from the program's forms alone.

Definitions 1 and 2 of the paper on a batch of words of one length: scores, the mask, the hardmax (the mean over all
maxima, or the leftmost or rightmost of them), the residual stream, the ReLU network. It shares nothing with the
softmax passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, lcm

import numpy as np
from numpy.typing import NDArray

from hardsim.errors import InvariantError
from hardsim.hard.integers import LARGEST_COLUMN, SAFE, Exact, Integers, combination, quotient, widened
from hardsim.network.numbers import BOS, ONE, Mask, Rational, plain
from hardsim.program.model import Affine, Head, Program, ProgramLayer, Weighting

BLOCK = 1 << 20
"""Bytes of scores held at a time: queries are taken in blocks, so that memory does not grow with the square of n."""

Word = Sequence[str]
Columns = dict[str, Exact]
"""The residual stream by coordinate; every column has shape (words, positions)."""


@dataclass
class Rows:
    """The rows of one head that is not uniform, on a batch: those of a query in units of `1 / units` of the score.

    Shapes are (words, positions). `gap` is the largest score minus the next smaller one, -1 where every visible score
    is the same; `maxima` is how many positions have the largest score; `reach` the largest score minus the smallest;
    `winners` the index of the attended position, the first of several; `sizes` bounds query and key forms.
    """

    units: list[int]
    gap: Integers
    maxima: NDArray[np.int64]
    reach: Integers
    sizes: list[tuple[Fraction, Fraction]]
    winners: NDArray[np.int64]

    def least(self) -> Fraction | None:
        """The least gap of all rows."""
        known = [(gaps[gaps >= 0], unit) for gaps, unit in zip(self.gap.T, self.units, strict=True)]
        return min((Fraction(int(gaps.min()), unit) for gaps, unit in known if gaps.size), default=None)


@dataclass
class LayerTrace:
    """One layer on a batch: the residual stream after attention and after the layer; `rows` of heads that are not
    uniform; by head and output coordinate the attended forms (`values`) and what attention makes of them; the forms of
    the hidden units (`inputs`)."""

    attended: Columns
    columns: Columns
    rows: dict[str, Rows] = field(default_factory=dict)
    values: dict[str, Columns] = field(default_factory=dict)
    results: dict[str, Columns] = field(default_factory=dict)
    inputs: list[Exact] = field(default_factory=list)


@dataclass
class HardTrace:
    """What a program did on a batch of words of length n; columns have shape (words, positions)."""

    n: int
    inputs: Columns
    layers: list[LayerTrace]

    @property
    def columns(self) -> Columns:
        """The residual stream at the end."""
        return self.layers[-1].columns if self.layers else self.inputs

    def sum(self, terms: Sequence[tuple[str, Rational]]) -> Exact:
        """A linear combination of coordinates at the end."""
        return _form(Affine(tuple(terms)), self.columns)


def encoded(program: Program, n: int) -> list[tuple[str, Exact]]:
    """The position encoding by coordinate, the same for every word of length n."""
    positions = range(program.first, n + 1)
    return [
        (encoding.name, Exact.row([plain(encoding.value.evaluate(i=i, n=n)) for i in positions], 1))
        for encoding in program.encodings
    ]


class ExactModel:
    """A program ready to run; what depends on n alone is kept for the last length."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._symbols = {symbol: number for number, symbol in enumerate((*program.alphabet, BOS))}
        self._length = 0
        self._encoded: list[tuple[str, Exact]] = []

    def run(self, words: Sequence[Word]) -> HardTrace:
        """Run the program on words of one length."""
        n = len(words[0])
        columns = self._input(words, n)
        trace = HardTrace(n, dict(columns), [])
        for layer in self.program.layers:
            found = self._attention(layer, columns)
            columns = found.columns = self._feed_forward(layer, found)
            trace.layers.append(found)
        return trace

    def _input(self, words: Sequence[Word], n: int) -> Columns:
        """Embedding plus position encoding; the constant is there whether or not it is a coordinate."""
        positions = range(self.program.first, n + 1)
        if n != self._length:
            self._length, self._encoded = n, encoded(self.program, n)
        symbols = np.array([[self._symbols[symbol] for symbol in word] for word in words], dtype=np.int64)
        if self.program.bos:
            start = np.full((len(words), 1), self._symbols[BOS], dtype=np.int64)
            symbols = np.concatenate([start, symbols], axis=1)
        columns: Columns = {ONE: Exact.row([1] * len(positions), len(words))}
        for name in self.program.coordinates:
            parts: list[tuple[Exact, Rational]] = [(columns[name], 1)] if name in columns else []
            for letter in self.program.letters:
                if letter.name == name:
                    held = np.array([int(symbol in letter.symbols) for symbol in self._symbols])
                    parts.append((Exact(held[symbols], 1, 1), letter.value))
            parts += [(row, 1) for encoded, row in self._encoded if encoded == name]
            columns[name] = combination(parts, 0, (len(words), len(positions)))
        return columns

    def _attention(self, layer: ProgramLayer, columns: Columns) -> LayerTrace:
        found = LayerTrace(dict(columns), {})
        words, positions = columns[ONE].whole.shape
        written: dict[str, list[tuple[Exact, Rational]]] = {}
        for head in layer.heads:
            values = {out: _form(form, columns) for out, form in head.values}
            if head.uniform:
                results = {out: uniform(head.mask, value, self.program.bos) for out, value in values.items()}
            else:
                pairs = [(_form(query, columns), _form(key, columns)) for query, key in head.score]
                found.rows[head.name], results = hardmax(head, pairs, values, (words, positions), self.program.bos)
            found.values[head.name], found.results[head.name] = values, results
            for out, result in results.items():
                written.setdefault(out, []).append((result, 1))
        for out, parts in written.items():
            found.attended[out] = combination([(columns[out], 1), *parts], 0, (words, positions))
        return found

    def _feed_forward(self, layer: ProgramLayer, found: LayerTrace) -> Columns:
        columns = dict(found.attended)
        parts: dict[str, list[tuple[Exact, Rational]]] = {}
        for unit in layer.units:
            pre = _form(unit.pre, found.attended)
            found.inputs.append(pre)
            active = Exact.of(np.clip(pre.whole, 0, pre.unit if unit.clip else None), pre.unit)
            for out, weight in unit.outs:
                parts.setdefault(out, []).append((active, weight))
        biases = dict(Affine.of(layer.biases).terms)
        words, positions = columns[ONE].whole.shape
        for out in {**parts, **biases}:
            terms = [(columns[out], 1), *parts.get(out, [])]
            columns[out] = combination(terms, biases.get(out, 0), (words, positions))
        return columns


def hold_promises(program: Program, trace: HardTrace) -> None:
    """Hold the heads of a program to what they declare; see `hold_head`."""
    entering = trace.inputs
    for layer, found in zip(program.layers, trace.layers, strict=True):
        for head in layer.heads:
            if head.name in found.rows:
                select = None if head.select is None else _form(head.select, entering)
                declared = head.promised(trace.n, program.first)
                hold_head(program, head, found.rows[head.name], declared, select)
        entering = found.columns


def hold_head(
    program: Program, head: Head, rows: Rows, declared: Sequence[Fraction] | None, select: Exact | None
) -> None:
    """Hold a head to its declared score gap in every row and, where it looks for a `select`, to a winner that is the
    leftmost or rightmost visible position with the largest one.

    Raises:
        InvariantError: naming head, position and what was found.
    """
    size, first = rows.gap.shape[1], program.first
    n = size - 1 + first
    for index in range(size):
        unit, gaps, winners = rows.units[index], rows.gap[:, index], rows.winners[:, index]
        least = None if declared is None else declared[index]
        if head.weighting is not Weighting.AVERAGE:
            gaps = np.where(rows.maxima[:, index] > 1, 0, gaps)
        if least is not None and (wrong := np.flatnonzero((gaps >= 0) & (gaps < ceil(least * unit)))).size:
            raise InvariantError(
                f"head {head.name}: at position {index + first} of {n} the score gap is "
                f"{Fraction(int(gaps[wrong[0]]), unit)}, less than the declared {least} "
                f"(the maximum is at position {winners[wrong[0]] + first})"
            )
        if select is None:
            continue
        places = np.flatnonzero(visible(head.mask, size, program.bos, slice(index, index + 1))[0])
        values = select.whole[:, places]
        best = values == values.max(axis=1, keepdims=True)
        expected = places[_pick(head.weighting, best)]
        if (wrong := np.flatnonzero(winners != expected)).size:
            raise InvariantError(
                f"head {head.name}: at position {index + first} of {n} the maximal score is at position "
                f"{winners[wrong[0]] + first}, but the {head.weighting} position that it looks for is "
                f"{np.broadcast_to(expected, winners.shape)[wrong[0]] + first}"
            )


def _pick(weighting: Weighting, found: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The index of the last True along the last axis, of the first one for leftmost heads."""
    last: NDArray[np.int64] = found.shape[-1] - 1 - found[..., ::-1].argmax(axis=-1)
    return found.argmax(axis=-1).astype(np.int64) if weighting is Weighting.LEFTMOST else last


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


def _form(form: Affine, columns: Columns) -> Exact:
    words, positions = columns[ONE].whole.shape
    return combination([(columns[name], coefficient) for name, coefficient in form.terms], 0, (words, positions))


def uniform(mask: Mask, value: Exact, bos: bool, most: float = LARGEST_COLUMN) -> Exact:
    """The mean of a column over all that each query sees; InputError if it takes more than `most` bytes."""
    size = value.whole.shape[1]
    totals = visible_sums(mask, widened(value.whole, value.size * size), bos)
    counts = visible_sums(mask, np.ones((1, size), dtype=np.int64), bos)
    return quotient(totals, counts, value.unit, most)


def hardmax(
    head: Head, pairs: Sequence[tuple[Exact, Exact]], values: Columns, shape: tuple[int, int], bos: bool
) -> tuple[Rows, Columns]:
    """What the rows of scores are like, and the mean of each column over the positions that the hardmax attends to.

    Columns that are the same for every word may have one row. Queries are taken in blocks, one by one where they have
    no small unit in common.
    """
    words, size = shape
    unit = lcm(*(query.unit * key.unit for query, key in pairs))
    widest = unit * sum(query.magnitude * key.magnitude for query, key in pairs)
    step = 1 if widest >= SAFE else max(1, BLOCK // (8 * words * size))
    blocks: list[tuple[Integers, ...]] = []
    units: list[int] = []
    totals: dict[str, list[Integers]] = {out: [] for out in values}
    wide = {out: widened(value.whole, value.size * size) for out, value in values.items()}
    for start in range(0, size, step):
        queries = slice(start, start + step)
        seen = visible(head.mask, size, bos, queries)
        keys = np.flatnonzero(seen.any(axis=0))
        some = slice(int(keys[0]), int(keys[-1]) + 1)
        scores, unit = scores_of(pairs, queries, some, (words, len(seen), some.stop - some.start))
        *found, chosen = _rows(head.weighting, scores, seen[:, some])
        blocks.append((*found, chosen.argmax(axis=2) + some.start, chosen.sum(axis=2)))
        units += [unit] * len(seen)
        for out, whole in wide.items():
            totals[out].append(np.where(chosen, whole[:, None, some], 0).sum(axis=2))
    gap, maxima, reach, winners, counts = (np.concatenate(parts, axis=1) for parts in zip(*blocks, strict=True))
    results = {out: quotient(np.concatenate(totals[out], axis=1), counts, value.unit) for out, value in values.items()}
    sizes = [(query.magnitude, key.magnitude) for query, key in pairs]
    return Rows(units, gap, maxima, reach, sizes, winners), results


def scores_of(
    pairs: Sequence[tuple[Exact, Exact]], queries: slice, keys: slice, shape: tuple[int, int, int]
) -> tuple[Integers, int]:
    """The scores of some queries and keys, (words, queries, keys), and their unit."""
    parts = [(query.block(queries), key) for query, key in pairs]
    unit = lcm(*(query.unit * key.unit for query, key in parts))
    factors = [unit // (query.unit * key.unit) for query, key in parts]
    bound = sum(factor * query.size * key.size for factor, (query, key) in zip(factors, parts, strict=True))
    scores: Integers = np.zeros(shape, dtype=object if bound >= SAFE else np.int64)
    for factor, (query, key) in zip(factors, parts, strict=True):
        left = widened(query.whole, bound) * factor
        scores = scores + left[:, :, None] * widened(key.whole[:, None, keys], bound)
    return scores, unit


def _rows(weighting: Weighting, scores: Integers, seen: NDArray[np.bool_]) -> tuple[Integers, ...]:
    """Gap, number of maxima and reach of some rows of scores, and the positions that their hardmax attends to."""
    everything, low = bool(seen.all()), int(scores.min()) - 1
    masked = scores if everything else np.where(seen, scores, low)
    best = masked.max(axis=2, keepdims=True)
    top = masked == best
    runner_up = np.where(top, low, masked).max(axis=2)
    gap = np.where(runner_up == low, -1, best[:, :, 0] - runner_up)
    reach = best[:, :, 0] - (scores if everything else np.where(seen, scores, best)).min(axis=2)
    maxima = top.sum(axis=2)
    if weighting is not Weighting.AVERAGE:
        top = _pick(weighting, top)[:, :, None] == np.arange(top.shape[2])
    return gap, maxima, reach, top
