"""Measurements of a hard-attention model on the words of one length: score gaps, ties, sizes of activations.

This is Lemma 24 in practice: gap(n) and X(n) are the extremes over the words measured. Facts about different words of
one length merge, so that a length can be measured in batches and in several processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardsim.hard.exact import Columns, ExactModel, HardTrace, LayerTrace, Word
from hardsim.hard.hardmax import ONE_VALUE, Rows, first_largest, visible
from hardsim.lazy_dataclass import dataclass
from hardsim.network.integers import Exact, combination, ratio_of
from hardsim.program.hard_attention import Affine, Head, Program


@dataclass(frozen=True, slots=True)
class Witness:
    """The place of a row of scores: the word and its query position (1..n, or 0 for the beginning of the sequence)."""

    word: tuple[str, ...]
    position: int


@dataclass
class HeadFacts:
    """The facts about the rows of one head that is not uniform.

    Lists by query index: `gaps`, the least score gap (None if no row had two different scores), and `fewest` and
    `most` positions with the largest score. `reach` is the largest distance of two visible scores of a row. `sizes`
    bounds the query and key forms, row by row of W_Q and W_K.
    """

    gaps: list[Fraction | None]
    fewest: list[int]
    most: list[int]
    reach: Fraction
    sizes: list[tuple[Fraction, Fraction]]
    least: tuple[Fraction, Witness] | None = None
    """The least gap and its place."""
    tie: tuple[int, Witness] | None = None
    """The greatest number of positions that shared the largest score, and its place; None if it was never more than
    one."""
    differ: tuple[int, Witness] | None = None
    """For a leftmost or rightmost head: SAME_MEAN or OTHER_MEAN (`hard.hardmax`; OTHER_MEAN if any row has it) and
    the first such row, if tied positions ever carried different values. None: the head reads what an average head
    would read."""

    @property
    def gap(self) -> Fraction | None:
        """The least score gap of all rows; None if no row had two different scores."""
        return None if self.least is None else self.least[0]

    def merge(self, other: HeadFacts) -> None:
        """Merge the facts about other words into this object."""
        self.gaps = [lower(a, b) for a, b in zip(self.gaps, other.gaps, strict=True)]
        self.fewest = [min(pair) for pair in zip(self.fewest, other.fewest, strict=True)]
        self.most = [max(pair) for pair in zip(self.most, other.most, strict=True)]
        self.reach = max(self.reach, other.reach)
        self.sizes = [(max(a, c), max(b, d)) for (a, b), (c, d) in zip(self.sizes, other.sizes, strict=True)]
        if self.least is None or (other.least is not None and other.least[0] < self.least[0]):
            self.least = other.least
        if self.tie is None or (other.tie is not None and other.tie[0] > self.tie[0]):
            self.tie = other.tie
        if self.differ is None or (other.differ is not None and other.differ[0] > self.differ[0]):
            self.differ = other.differ


@dataclass
class LayerFacts:
    """The facts about one layer.

    `values` are the least and largest attended forms, by (head, output coordinate). `margins` are, by hidden
    unit, the least of max(-z, z - 1) over its inputs z (negative if some z lies strictly between 0 and 1; for other
    caps than 1 see `_margin`), and `tops` the largest z.
    """

    heads: dict[str, HeadFacts]
    values: dict[tuple[str, str], tuple[Fraction, Fraction]]
    margins: list[Fraction]
    tops: list[Fraction]
    size: Fraction
    """X: the largest absolute value of a coordinate that enters the layer, or of one after its attention."""

    def merge(self, other: LayerFacts) -> None:
        """Merge the facts about other words into this object."""
        for name, head in self.heads.items():
            head.merge(other.heads[name])
        for place, (low, high) in other.values.items():
            mine = self.values[place]
            self.values[place] = min(mine[0], low), max(mine[1], high)
        self.margins = [min(pair) for pair in zip(self.margins, other.margins, strict=True)]
        self.tops = [max(pair) for pair in zip(self.tops, other.tops, strict=True)]
        self.size = max(self.size, other.size)


@dataclass
class LengthFacts:
    """The facts measured at one length n over `words` words.

    `distance` is the least distance of an output from the threshold (see `Program.clearance`), `size` the largest
    absolute value of an activation after the last layer. `exhaustive` is True if all words of the length were
    measured.
    """

    n: int
    words: int
    layers: list[LayerFacts]
    size: Fraction
    distance: Fraction | None = None
    clear: Fraction | None = None
    """The least distance of the outputs that are not exactly on the threshold."""
    exhaustive: bool = False

    @property
    def heads(self) -> dict[str, HeadFacts]:
        """The facts about every head that is not uniform, by name, in the order of the program."""
        return {name: head for layer in self.layers for name, head in layer.heads.items()}

    @property
    def gap(self) -> Fraction | None:
        """gap(n): the least score gap of all heads; None if no row had two different scores."""
        gaps = [head.gap for head in self.heads.values() if head.gap is not None]
        return min(gaps, default=None)

    @property
    def largest(self) -> Fraction:
        """The largest absolute value of an activation, over all layers and after the last one."""
        return max([self.size, *(layer.size for layer in self.layers)])

    def merge(self, other: LengthFacts) -> None:
        """Merge the facts about other words of the same length into this object."""
        self.words += other.words
        for mine, theirs in zip(self.layers, other.layers, strict=True):
            mine.merge(theirs)
        self.size = max(self.size, other.size)
        self.distance = lower(self.distance, other.distance)
        self.clear = lower(self.clear, other.clear)


def measure(program: Program, words: Sequence[Word], trace: HardTrace) -> LengthFacts:
    """Return the facts about one batch of words, whose hard-attention run is `trace`."""
    layers: list[LayerFacts] = []
    entering = trace.inputs
    for layer in trace.layers:
        layers.append(_layer(program, layer, entering, words))
        entering = layer.columns
    facts = LengthFacts(trace.n, len(words), layers, _size(program, entering))
    if program.threshold is not None:
        distances = _distances(program, trace)
        facts.distance, facts.clear = min(distances), min(filter(None, distances), default=None)
    return facts


def _distances(program: Program, trace: HardTrace) -> set[Fraction]:
    """Return the distances of the outputs from the nearest value with another answer, at the position that the
    program reads, or at every symbol."""
    place = program.reading_index(trace.n)
    some = slice(1 - program.first, None) if program.maps else slice(place, place + 1)
    columns = [trace.columns[name] for name in program.answers]
    values = {Fraction(int(one), column.unit) for column in columns for one in np.unique(column.whole[:, some])}
    return {program.clearance(value, trace.n) for value in values}


def _margin(z: Exact, cap: Exact | None) -> Fraction:
    """Return the distance of the inputs of a clip from those at which it is neither 0 nor its cap."""
    if cap is None:
        # An integer is neither below 0 nor above 1 only if it is one of them: then no other is nearer.
        if z.unit == 1 and ((z.whole == 1).any() or (z.whole == 0).any()):
            return Fraction(0)
        return Fraction(int(np.maximum(-z.whole, z.whole - z.unit).min()), z.unit)
    shape, high = (len(z.whole), z.whole.shape[1]), cap.clip(False)
    # It is 0 up to the least of 0 and the cap, which is cap - high, and the cap from the greatest, which is high, on.
    below = combination([(cap, 1), (high, -1), (z, -1)], 0, shape)
    above = combination([(z, 1), (high, -1)], 0, shape)
    apart = np.maximum(below.whole.astype(object) * above.unit, above.whole.astype(object) * below.unit)
    return Fraction(int(apart.min()), below.unit * above.unit)


def _layer(program: Program, layer: LayerTrace, entering: Columns, words: Sequence[Word]) -> LayerFacts:
    return LayerFacts(
        heads={name: _head(rows, words, program.first) for name, rows in layer.rows.items()},
        values={
            (name, out): (value.least, value.most)
            for name, forms in layer.values.items()
            for out, value in forms.items()
        },
        margins=list(map(_margin, layer.inputs, layer.caps)),
        tops=[column.most for column in layer.inputs],
        size=max(_size(program, entering), _size(program, layer.attended)),
    )


def _size(program: Program, columns: Columns) -> Fraction:
    """Return the largest absolute value of a coordinate. The constant 1 counts only if the program has it as a
    coordinate."""
    sizes, units = ([getattr(columns[name], part) for name in program.coordinates] for part in ("size", "unit"))
    place = first_largest(sizes, units)
    return ratio_of(sizes[place], units[place])


def _head(rows: Rows, words: Sequence[Word], first: int) -> HeadFacts:
    least: tuple[Fraction, Witness] | None = None
    if (query := rows.closest) is not None:
        gap = rows.least_gaps[query]
        word = int((rows.gap[:, query] == gap).argmax())
        least = ratio_of(gap, rows.units[query]), Witness(tuple(words[word]), query + first)
    reaches = rows.reach.max(axis=0).tolist()
    farthest = first_largest(reaches, rows.units)

    def largest(found: NDArray[Any], more_than: int) -> tuple[int, Witness] | None:
        """Return the largest number of all rows and the first row that has it; None unless it is more than
        `more_than`."""
        if found.strides == (0, 0):
            found = found[:1, :1]  # one number in memory
        word, query = divmod(int(found.argmax()), found.shape[1])
        most = int(found[word, query])
        return (most, Witness(tuple(words[word]), query + first)) if most > more_than else None

    tie = largest(rows.maxima, 1)
    return HeadFacts(
        gaps=[None if gap < 0 else ratio_of(gap, unit) for gap, unit in zip(rows.least_gaps, rows.units, strict=True)],
        fewest=rows.maxima.min(axis=0).tolist() if tie else [1] * len(rows.units),
        most=rows.maxima.max(axis=0).tolist() if tie else [1] * len(rows.units),
        reach=ratio_of(reaches[farthest], rows.units[farthest]),
        sizes=rows.sizes,
        least=least,
        tie=tie,
        differ=largest(rows.differ, ONE_VALUE),
    )


def tied_values(program: Program, head: Head, row: Witness) -> list[tuple[int, tuple[Fraction, ...]]]:
    """Return the positions that share the largest score of a row, each with the values that the head reads there, in
    the order of the coordinates that it writes. The scores are computed again, from the forms alone."""
    trace = ExactModel(program).run([row.word])
    # The head reads the stream that the layer before it left.
    number = next(number for number, layer in enumerate(program.layers) if head in layer.heads)
    columns = trace.layers[number - 1].columns if number else trace.inputs
    size, query = len(row.word) + 1 - program.first, row.position - program.first

    def form(terms: Affine, place: int) -> Fraction:
        return sum((Fraction(value) * columns[name].at(0, place) for name, value in terms.terms), Fraction(0))

    seen = np.flatnonzero(visible(head.mask, size, program.bos)[query]).tolist()
    pairs = [(form(query_form, query), key) for query_form, key in head.score]
    scores = {place: sum((query_form * form(key, place) for query_form, key in pairs), Fraction(0)) for place in seen}
    best = [place for place, score in scores.items() if score == max(scores.values())]
    return [(place + program.first, tuple(form(value, place) for _, value in head.values)) for place in best]


def lower(left: Fraction | None, right: Fraction | None) -> Fraction | None:
    """Return the lesser of two numbers, ignoring None; None if both are None."""
    if left is None or right is None:
        return right if left is None else left
    return min(left, right)
