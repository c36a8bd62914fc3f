"""Facts of a hard-attention model that hold on every word of a length, derived from its matrices without running it.

Every coordinate at every position is in a *span*: between two rationals and, where that is known, on a lattice (low
plus multiples of a step). Booleans have step 1, integers stored as v/n step 1/n; so it is known that a clip of Booleans
is never strictly between 0 and 1. Attention with one maximum takes one of the visible values; uniform attention divides
the step by the number of visible positions. Correlations are forgotten, so the spans are larger than what occurs, never
smaller.

What is assumed of the heads, and not derived here: that each row of a head that is not uniform has one maximum, by the
gap that the head declares. For compiled programs that is what their constructions say.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

from hardsim.ahat.exact import visible
from hardsim.ahat.measure import HeadFacts, LayerFacts, LengthFacts
from hardsim.ahat.recursion import clip_pairs, columns_of
from hardsim.ahat.temperature import declared_gap
from hardsim.errors import Undecided
from hardsim.net.model import AttentionHead, FeedForward, Layer, Transformer
from hardsim.spec.ir import Rational, Weighting

ZERO, ONE, HALF = Fraction(0), Fraction(1), Fraction(1, 2)
INSIDE = -HALF
"""A margin for inputs of which nothing is known: they may be in the middle of (0, 1)."""


@dataclass(frozen=True, slots=True)
class Span:
    """Numbers from `low` to `high`; with a step only `low` plus multiples of it. A constant has step 0."""

    low: Fraction
    high: Fraction
    step: Fraction | None = ZERO

    @property
    def size(self) -> Fraction:
        """The largest absolute value."""
        return max(abs(self.low), abs(self.high))

    @property
    def margin(self) -> Fraction:
        """A lower bound of max(-z, z - 1): how far the numbers certainly are outside (0, 1)."""
        if self.high <= 0 or self.low >= 1:
            return max(-self.high, self.low - 1)
        if not self.step:
            return INSIDE if self.step is None else max(-self.low, self.low - 1)
        return min(max(-point, point - 1) for point in self.around(HALF))

    def around(self, value: Fraction) -> list[Fraction]:
        """The nearest possible numbers on both sides of a value, where there is one; all there are without a step."""
        if not self.step:
            return [self.low]
        below = self.low + self.step * max((min(value, self.high) - self.low) // self.step, 0)
        return [point for point in (below, below + self.step) if point <= self.high]


def common(steps: Iterable[Fraction | None]) -> Fraction | None:
    """The largest step of which all are multiples; None if one of them is unknown."""
    total = ZERO
    for step in steps:
        if step is None:
            return None
        unit = lcm(total.denominator, step.denominator)
        total = Fraction(gcd(int(total * unit), int(step * unit)), unit)
    return total


def hull(spans: Sequence[Span]) -> Span:
    """One of several: between the extremes, on the lattice that has all."""
    low = min(span.low for span in spans)
    step = common([*(span.step for span in spans), *(abs(span.low - low) for span in spans)])
    return Span(low, max(span.high for span in spans), step)


def form(terms: Iterable[tuple[Span, Rational]], bias: Rational = 0) -> Span:
    """A linear combination."""
    low = high = Fraction(bias)
    steps: list[Fraction | None] = []
    for span, coefficient in terms:
        ends = span.low * coefficient, span.high * coefficient
        low, high = low + min(ends), high + max(ends)
        steps.append(None if span.step is None else abs(span.step * coefficient))
    return Span(low, high, common(steps))


def mean(spans: Sequence[Span]) -> Span:
    """The mean of one number from each."""
    step = common(span.step for span in spans)
    count = len(spans)
    low, high = sum((span.low for span in spans), ZERO), sum((span.high for span in spans), ZERO)
    return Span(low / count, high / count, None if step is None else step / count)


def relu(span: Span) -> Span:
    """max(x, 0)."""
    if span.low >= 0:
        return span
    if span.high <= 0:
        return Span(ZERO, ZERO)
    return Span(ZERO, span.high, None if span.step is None else common([span.step, abs(span.low)]))


def clip(span: Span) -> Span:
    """min(max(x, 0), 1)."""
    if span.high <= 0 or span.low >= 1:
        return Span(ONE, ONE) if span.low >= 1 else Span(ZERO, ZERO)
    low, high = max(span.low, ZERO), min(span.high, ONE)
    return Span(ZERO, ONE, ONE) if span.margin >= 0 else Span(low, high, None)


Column = list[Span]
"""A coordinate by index of the position."""


def static_facts(model: Transformer, n: int, outputs: Sequence[int] = ()) -> LengthFacts:
    """Facts of a model with one maximum in every row that is not uniform, for every word of length n.

    `outputs` are the coordinates of a transduction's output, read at every symbol; without them the distance is that of
    the model's own output, read where the model reads it.

    Raises:
        Undecided: if a head that is not uniform declares no gap.
    """
    columns = _input(model, n)
    layers: list[LayerFacts] = []
    for layer in model.layers:
        columns, facts = _layer(model, layer, columns, n)
        layers.append(facts)
    facts_found = LengthFacts(n, 0, layers, _size(columns), exhaustive=True)
    if model.threshold is not None:
        read = [columns[model.output][model.reading_index(n)]]
        if outputs:
            read = [span for out in outputs for span in columns[out][1 - model.first :]]
        facts_found.distance = min(_distance(span, Fraction(model.threshold)) for span in read)
    return facts_found


def _distance(span: Span, threshold: Fraction) -> Fraction:
    """A lower bound of the distance of an output from the threshold (0 if none is known)."""
    if span.low > threshold or span.high < threshold:
        return max(span.low - threshold, threshold - span.high)
    if not span.step:
        return ZERO
    return min(abs(point - threshold) for point in span.around(threshold))


def _input(model: Transformer, n: int) -> list[Column]:
    rows = model.embedding.rows()
    letters, start = (rows[:-1], rows[-1]) if model.bos else (rows, {})
    columns: list[Column] = []
    for coordinate in range(model.dimension):
        symbols = [Fraction(row.get(coordinate, 0)) for row in letters]
        embedded = hull([Span(value, value) for value in symbols])
        first = Fraction(start.get(coordinate, 0))
        spans = [Span(first, first) if i == 0 else embedded for i in range(model.first, n + 1)]
        for index, encoding in model.encodings:
            if index == coordinate:
                spans = [
                    form([(span, 1)], encoding.evaluate(i=i, n=n))
                    for i, span in zip(range(model.first, n + 1), spans, strict=True)
                ]
        columns.append(spans)
    return columns


def _forms(row: dict[int, Rational], columns: Sequence[Column], bias: Rational = 0) -> Column:
    size = len(columns[0])
    return [form([(columns[index][i], value) for index, value in row.items()], bias) for i in range(size)]


def _size(columns: Sequence[Column]) -> Fraction:
    return max(span.size for column in columns for span in column)


def _layer(model: Transformer, layer: Layer, columns: list[Column], n: int) -> tuple[list[Column], LayerFacts]:
    size = len(columns[0])
    heads: dict[str, HeadFacts] = {}
    values: dict[tuple[str, int], tuple[Fraction, Fraction]] = {}
    attended = list(columns)
    for head in layer.heads:
        seen = visible(head.mask, size, model.bos)
        uniform = head.uniform and head.weighting in (Weighting.AVERAGE, Weighting.SOFTMAX)
        if not uniform:
            heads[head.name] = _head(model, head, columns, seen.sum(axis=1).tolist(), n)
        for out, row in enumerate(head.w_v.rows()):
            if not row:
                continue
            value = _forms(row, columns)
            values[head.name, out] = min(span.low for span in value), max(span.high for span in value)
            rows = [[value[j] for j in range(size) if seen[i, j]] for i in range(size)]
            read = [mean(spans) if uniform else hull(spans) for spans in rows]
            attended[out] = [form([(a, 1), (b, 1)]) for a, b in zip(attended[out], read, strict=True)]
    final, margins, tops = _feed_forward(layer.ffn, attended)
    entering = max(_size(columns), _size(attended))
    return final, LayerFacts(heads, values, margins, tops, entering)


def _head(model: Transformer, head: AttentionHead, columns: Sequence[Column], seen: list[int], n: int) -> HeadFacts:
    if head.gap is None:
        raise Undecided(f"head {head.name} declares no gap, so nothing is known of words that were not tried")
    pairs = [
        (_forms(query, columns), _forms(key, columns))
        for query, key in zip(head.w_q.rows(), head.w_k.rows(), strict=True)
    ]
    sizes = [(max(s.size for s in query), max(s.size for s in key)) for query, key in pairs]
    gaps = [
        declared_gap(model, head.name, i, n) if count > 1 else None
        for i, count in zip(range(model.first, n + 1), seen, strict=True)
    ]
    reach = sum((2 * query * key for query, key in sizes), ZERO)
    return HeadFacts(list(gaps), [1] * len(seen), [1] * len(seen), reach, sizes)


def _feed_forward(ffn: FeedForward, columns: list[Column]) -> tuple[list[Column], list[Fraction], list[Fraction]]:
    rows, outs, pairs = ffn.w1.rows(), columns_of(ffn.w2), clip_pairs(ffn)
    inputs = [_forms(row, columns, bias) for row, bias in zip(rows, ffn.b1, strict=True)]
    margins = [min(span.margin for span in column) for column in inputs]
    tops = [max(span.high for span in column) for column in inputs]
    parts: list[list[tuple[Column, Rational]]] = [[] for _ in columns]
    for unit, column in enumerate(inputs):
        if unit in pairs.values():
            continue
        active = [clip(span) if unit in pairs else relu(span) for span in column]
        for out, weight in outs[unit].items():
            parts[out].append((active, weight))
    final = list(columns)
    for out, bias in enumerate(ffn.b2):
        if bias or parts[out]:
            terms = [(columns[out], 1), *parts[out]]
            final[out] = [form([(c[i], w) for c, w in terms], bias) for i in range(len(columns[out]))]
    return final, margins, tops
