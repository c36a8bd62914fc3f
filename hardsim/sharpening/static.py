"""Facts of a hard-attention model that hold on every word of a length, derived from its forms without running it.

Every coordinate at every position is in a *span*: between two rationals and, where that is known, on a lattice (low
plus multiples of a step). Booleans have step 1, integers stored as v/n step 1/n; so it is known that a clip of Booleans
is never strictly between 0 and 1. Attention with one maximum takes one of the visible values; uniform attention divides
the step by the number of visible positions; the mean of some of them is on no lattice. Correlations are forgotten, so
the spans are larger than what occurs, never smaller.

What is assumed of the heads, and not derived here: that each row of a head that is not uniform has one maximum (any
number of them, where the head says that they share), by the gap that the head declares. For compiled programs that is
what their constructions say.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd, lcm

from hardsim.errors import Undecided
from hardsim.hard.hardmax import visible
from hardsim.lang.valuations import Valuations
from hardsim.network.numbers import BOS, Rational
from hardsim.network.numbers import ONE as CONSTANT
from hardsim.program.model import Affine, Head, Letter, Program, ProgramLayer
from hardsim.sharpening.measure import HeadFacts, LayerFacts, LengthFacts

ZERO, ONE, HALF = Fraction(0), Fraction(1), Fraction(1, 2)
INSIDE = -HALF
"""A margin for inputs of which nothing is known: they may be in the middle of (0, 1)."""


@dataclass(frozen=True, slots=True)
class NumberRange:
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


def hull(spans: Sequence[NumberRange]) -> NumberRange:
    """One of several: between the extremes, on the lattice that has all."""
    low = min(span.low for span in spans)
    step = common([*(span.step for span in spans), *(abs(span.low - low) for span in spans)])
    return NumberRange(low, max(span.high for span in spans), step)


def form(terms: Iterable[tuple[NumberRange, Rational]], bias: Rational = 0) -> NumberRange:
    """A linear combination."""
    low = high = Fraction(bias)
    steps: list[Fraction | None] = []
    for span, coefficient in terms:
        ends = span.low * coefficient, span.high * coefficient
        low, high = low + min(ends), high + max(ends)
        steps.append(None if span.step is None else abs(span.step * coefficient))
    return NumberRange(low, high, common(steps))


def mean(spans: Sequence[NumberRange]) -> NumberRange:
    """The mean of one number from each."""
    step = common(span.step for span in spans)
    count = len(spans)
    low, high = sum((span.low for span in spans), ZERO), sum((span.high for span in spans), ZERO)
    return NumberRange(low / count, high / count, None if step is None else step / count)


def relu(span: NumberRange) -> NumberRange:
    """max(x, 0)."""
    if span.low >= 0:
        return span
    if span.high <= 0:
        return NumberRange(ZERO, ZERO)
    return NumberRange(ZERO, span.high, None if span.step is None else common([span.step, abs(span.low)]))


def clip(span: NumberRange) -> NumberRange:
    """min(max(x, 0), 1)."""
    if span.high <= 0 or span.low >= 1:
        return NumberRange(ONE, ONE) if span.low >= 1 else NumberRange(ZERO, ZERO)
    low, high = max(span.low, ZERO), min(span.high, ONE)
    return NumberRange(ZERO, ONE, ONE) if span.margin >= 0 else NumberRange(low, high, None)


Column = list[NumberRange]
"""A coordinate by index of the position."""
Columns = dict[str, Column]


def static_facts(program: Program, n: int) -> LengthFacts:
    """Facts of a program whose rows have the maxima that its heads claim, for every word of length n.

    Raises:
        Undecided: if a head that is not uniform declares no gap.
    """
    columns = _input(program, n)
    layers: list[LayerFacts] = []
    for layer in program.layers:
        columns, found = _layer(program, layer, columns, n)
        layers.append(found)
    facts = LengthFacts(n, 0, layers, _size(program, columns), exhaustive=True)
    if program.threshold is not None:
        place = program.reading_index(n)
        some = slice(1 - program.first, None) if program.maps else slice(place, place + 1)
        read = [span for out in program.answers for span in columns[out][some]]
        facts.distance = min(
            _lattice_distance(span, n) if program.integers else _distance(span, Fraction(program.threshold))
            for span in read
        )
    return facts


def _lattice_distance(span: NumberRange, n: int) -> Fraction:
    """A lower bound of the distance of an integer over n from where another is nearer (0 if it need not be one)."""
    whole = span.step is not None and (span.low * n).denominator == (span.step * n).denominator == 1
    return Fraction(1, 2 * n) if whole else ZERO


def _distance(span: NumberRange, threshold: Fraction) -> Fraction:
    """A lower bound of the distance of an output from the threshold (0 if none is known)."""
    if span.low > threshold or span.high < threshold:
        return max(span.low - threshold, threshold - span.high)
    if not span.step:
        return ZERO
    return min(abs(point - threshold) for point in span.around(threshold))


def _embedded(program: Program, letters: Sequence[Letter]) -> tuple[NumberRange, Fraction]:
    """What the word embedding has of a coordinate at the positions of symbols, and at the beginning of sequence."""
    if isinstance(program.alphabet, Valuations):  # each proposition may hold or not
        held = [letter for letter in letters if letter.symbols]
        ranges = [hull([NumberRange(value, value) for value in (ZERO, Fraction(one.value))]) for one in held]
        return form([(each, 1) for each in ranges], ZERO), ZERO
    values = {
        symbol: sum((Fraction(letter.value) for letter in letters if symbol in letter.symbols), ZERO)
        for symbol in (*program.alphabet, BOS)
    }
    return hull([NumberRange(values[symbol], values[symbol]) for symbol in program.alphabet]), values[BOS]


def _input(program: Program, n: int) -> Columns:
    positions = range(program.first, n + 1)
    columns: Columns = {CONSTANT: [NumberRange(ONE, ONE)] * len(positions)}
    for name in program.coordinates:
        letters = [letter for letter in program.letters if letter.name == name]
        embedded, start = _embedded(program, letters)
        encodings = [encoding.value for encoding in program.encodings if encoding.name == name]
        spans: Column = []
        for i in positions:
            encoded = sum((value.evaluate(i=i, n=n) for value in encodings), Fraction(int(name == CONSTANT)))
            spans.append(form([(NumberRange(start, start) if i == 0 else embedded, 1)], encoded))
        columns[name] = spans
    return columns


def _forms(terms: Affine, columns: Columns) -> Column:
    size = len(columns[CONSTANT])
    return [form([(columns[name][i], value) for name, value in terms.terms]) for i in range(size)]


def _size(program: Program, columns: Columns) -> Fraction:
    """Of the largest coordinate; the constant 1 need not be one."""
    return max(span.size for name in program.coordinates for span in columns[name])


def _layer(program: Program, layer: ProgramLayer, columns: Columns, n: int) -> tuple[Columns, LayerFacts]:
    size = len(columns[CONSTANT])
    heads: dict[str, HeadFacts] = {}
    values: dict[tuple[str, str], tuple[Fraction, Fraction]] = {}
    attended = dict(columns)
    for head in layer.heads:
        seen = visible(head.mask, size, program.bos)
        if not head.uniform:
            heads[head.name] = _head(program, head, columns, seen.sum(axis=1).tolist(), n)
        for out, terms in head.values:
            value = _forms(terms, columns)
            values[head.name, out] = min(span.low for span in value), max(span.high for span in value)
            rows = [[value[j] for j in range(size) if seen[i, j]] for i in range(size)]
            read = [_read(head, spans) for spans in rows]
            attended[out] = [form([(a, 1), (b, 1)]) for a, b in zip(attended[out], read, strict=True)]
    final, margins, tops = _feed_forward(layer, attended)
    entering = max(_size(program, columns), _size(program, attended))
    return final, LayerFacts(heads, values, margins, tops, entering)


def _read(head: Head, spans: Sequence[NumberRange]) -> NumberRange:
    """What a head reads of the visible values."""
    if head.uniform:
        return mean(spans)
    return replace(hull(spans), step=None) if head.shares and len(spans) > 1 else hull(spans)


def _head(program: Program, head: Head, columns: Columns, seen: list[int], n: int) -> HeadFacts:
    declared = head.promised(n, program.first)
    if declared is None:
        raise Undecided(f"head {head.name} declares no gap, so nothing is known of words that were not tried")
    pairs = [(_forms(query, columns), _forms(key, columns)) for query, key in head.score]
    sizes = [(max(s.size for s in query), max(s.size for s in key)) for query, key in pairs]
    gaps = [gap if count > 1 else None for gap, count in zip(declared, seen, strict=True)]
    reach = sum((2 * query * key for query, key in sizes), ZERO)
    return HeadFacts(list(gaps), [1] * len(seen), seen if head.shares else [1] * len(seen), reach, sizes)


def _feed_forward(layer: ProgramLayer, columns: Columns) -> tuple[Columns, list[Fraction], list[Fraction]]:
    inputs = [_forms(unit.pre, columns) for unit in layer.units]
    parts: dict[str, list[tuple[Column, Rational]]] = {}
    for unit, column in zip(layer.units, inputs, strict=True):
        active = [clip(span) if unit.clip else relu(span) for span in column]
        for out, weight in unit.outs:
            parts.setdefault(out, []).append((active, weight))
    final = dict(columns)
    biases = dict(layer.biases)
    for out in {**parts, **biases}:
        terms = [(columns[out], 1), *parts.get(out, [])]
        final[out] = [form([(c[i], w) for c, w in terms], biases.get(out, 0)) for i in range(len(columns[out]))]
    margins = [min(span.margin for span in column) for column in inputs]
    return final, margins, [max(span.high for span in column) for column in inputs]
