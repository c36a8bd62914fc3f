"""Facts of a hard-attention program that hold on every word of every length, derived from its weights alone.

Layer by layer every coordinate has a span (`lattice.NumberSpan`) at every kind of position (`places.Place`). Every
head that is not uniform has a gap and, where they are unique, maxima (`rows`). Declarations of a head in a file are
not used. A head with one maximum reads one of the visible values. Uniform attention divides the step by the number
of visible positions. The mean of some visible values is on no lattice, with one exception: the mean of [j = 0],
where BOS is always among the maxima, is 1/m for the number m of maxima. If a fact cannot be derived, NotProved
names the head or coordinate that is the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import TypeAlias

from hardsim.kept import Keeping, cached, kept
from hardsim.lang.ast import BOS
from hardsim.lang.valuations import Valuations
from hardsim.lazy_dataclass import dataclass
from hardsim.network.numbers import ONE as CONSTANT
from hardsim.network.numbers import Mask, Rational, plain
from hardsim.program.hard_attention import Affine, Head, Letter, Program, ProgramLayer, Weighting
from hardsim.proof.programs.lattice import (
    Denominator,
    NumberSpan,
    around,
    common_step,
    content,
    greatest,
    least,
    margin,
    multiple,
    plus,
    positive,
    times,
    times_step,
)
from hardsim.proof.programs.places import J, Place, Seen, World, every_length, one_position
from hardsim.proof.programs.rows import KEY, Row, ScoreRows, distances
from hardsim.proof.programs.shares import (
    away,
    clip,
    full_mean,
    hull,
    linear,
    read_through,
    relu,
    seen_from,
    share_of,
    tied_mean,
)
from hardsim.proof.programs.types import (
    TypedColumns,
    TypedRows,
    agreed,
    attended_types,
    hidden_types,
    input_types,
    read_by,
    with_types,
)
from hardsim.proof.shared.ratios import NAMES, Ratio, Value, simplest
from hardsim.proof.shared.result import NotProved
from hardsim.sharpening.measure import HeadFacts, LayerFacts, LengthFacts

ZERO, HALF = Fraction(0), Fraction(1, 2)
OTHERS = (0,) * (len(NAMES) - 2)
"""Values, all 0, of the variables other than i and n, on which these functions do not depend."""
SHORT_LENGTHS = 64
"""Greatest length of which all facts that were computed are kept: numbers for each position of each head."""
Spans: TypeAlias = dict[int, NumberSpan]
"""Spans of one number by order of the place."""
Column: TypeAlias = dict[str, Spans]
OfN: TypeAlias = tuple[Value, ...]
"""Functions of n, of which the largest, or the least, is the bound."""


@dataclass(frozen=True)
class HeadLaw:
    """Facts about a head that is not uniform: its rows by order of the place, and for each row of W_Q and W_K a
    pair of upper bounds of the absolute values of its query form and of its key form."""

    rows: Mapping[int, Row]
    sizes: tuple[tuple[OfN, OfN], ...]


@dataclass(frozen=True)
class LayerLaw:
    """Facts of a layer as functions of n, which `LayerFacts` has as numbers: the least and the largest value by
    head and coordinate, margins and largest inputs (`tops`) by hidden unit, and `size`, a bound of the absolute
    values of all coordinates before the layer and after its attention."""

    heads: Mapping[str, HeadLaw]
    values: Mapping[tuple[str, str], tuple[OfN, OfN]]
    margins: tuple[OfN, ...]
    tops: tuple[OfN, ...]
    size: OfN
    entering: Mapping[str, Mapping[int, NumberSpan]]
    """Spans of the coordinates before the layer, by name and order of the place."""
    reads: Mapping[tuple[str, str], Spans]
    """Spans of the values that heads add, by (head, coordinate) and order of the place."""
    attended: Mapping[str, Spans]
    """Spans of the coordinates after attention, by name and order of the place."""
    units: tuple[tuple[Spans, Spans], ...]
    """Spans of the input and of the output of each hidden unit, both by order of the place."""
    leaving: Mapping[str, Spans]
    """Spans of the coordinates after the layer, by name and order of the place."""
    types: TypedColumns
    """Types of the coordinates before the layer."""


@dataclass(frozen=True)
class Law:
    """Facts of every length from 2 on, or of length 1, as functions of n. `size` bounds the absolute values of the
    coordinates after the last layer from above, `distance` (None without a threshold) that of an output from
    the nearest value with another meaning from below."""

    world: World
    layers: tuple[LayerLaw, ...]
    size: OfN
    distance: OfN | None
    entering: Mapping[str, Mapping[int, NumberSpan]]
    """Spans of the coordinates before the first layer, by name and order of the place."""
    doubt: str = ""
    """Reason why an output may be exactly the threshold; empty if no output can be."""

    def facts(self, n: int) -> LengthFacts:
        """Return the facts of one length as numbers."""
        layers = [
            LayerFacts(
                heads={name: self._head(head, n) for name, head in layer.heads.items()},
                values={place: (min(at(low, n)), max(at(high, n))) for place, (low, high) in layer.values.items()},
                margins=[min(at(some, n)) for some in layer.margins],
                tops=[max(at(some, n)) for some in layer.tops],
                size=max(at(layer.size, n)),
            )
            for layer in self.layers
        ]
        distance = None if self.distance is None else min(at(self.distance, n))
        return LengthFacts(n, 0, layers, max(at(self.size, n)), distance, exhaustive=True)

    def _head(self, head: HeadLaw, n: int) -> HeadFacts:
        gaps: list[Fraction | None] = []
        fewest: list[int] = []
        most: list[int] = []
        least: dict[int, Fraction | None] = {}
        for i in range(1 - self.world.bos, n + 1):
            # Orders of places: 0 is BOS, 1 the first position, 3 the last, 2 all others.
            order = 0 if not i else 1 if i == 1 else 3 if i == n else 2
            row = head.rows[order]
            seen = int(number(row.visible, i, n))
            # Without a second score there is no gap.
            alone = row.equal or seen == 1
            if alone:
                gaps.append(None)
            else:
                if order not in least:  # gaps that are the same at all positions of a place are evaluated once
                    least[order] = min((number(gap, i, n) for gap in row.gaps if not depends_on_i(gap)), default=None)
                own = [number(gap, i, n) for gap in row.gaps if depends_on_i(gap)]
                common = least[order]
                gaps.append(min(own if common is None else [common, *own]))
            fewest.append(seen if row.equal else len(row.winners) or 1)
            most.append(1 if row.unique else len(row.winners) or seen)
        sizes = [(max(at(query, n)), max(at(key, n))) for query, key in head.sizes]
        return HeadFacts(gaps, fewest, most, sum((2 * q * k for q, k in sizes), ZERO), sizes)


@dataclass(frozen=True)
class ProgramLaw(Keeping):
    """Facts of every length: of length 1 (`one`) and of the lengths from 2 on (`more`)."""

    one: Law
    more: Law

    def may_tie(self, head: Head) -> bool:
        """Return True if several positions may share the largest score of a row of this head and carry different
        values."""
        layers = [layer for law in (self.one, self.more) for layer in law.layers if head.name in layer.heads]
        rows = [row for layer in layers for row in layer.heads[head.name].rows.values()]
        return not all(row.one_value(head) for row in rows)

    def facts(self, n: int) -> LengthFacts:
        """Return the facts of one length as numbers. All those of short lengths are kept: a check asks for each of them
        once for the proof, and again for the words."""
        if n > SHORT_LENGTHS:
            return self._latest(n)
        short: dict[int, LengthFacts] = self.kept.setdefault(SHORT_LENGTHS, {})
        if n not in short:
            short[n] = (self.one if n == 1 else self.more).facts(n)
        return short[n]

    @kept
    def _latest(self, n: int) -> LengthFacts:
        return self.more.facts(n)


@kept
def law_of(program: Program) -> ProgramLaw:
    """Return the facts of a program at every length. Raises NotProved, naming the head or coordinate about which not
    enough is known."""
    if program.normed:
        raise NotProved("the proof from the weights does not cover layer norms")
    if program.rounding is not None:
        raise NotProved("the proof from the weights does not cover rounding")
    if any(unit.cap is not None for layer in program.layers for unit in layer.units):
        raise NotProved("the proof from the weights does not cover clips with another cap than 1")
    return ProgramLaw(*(_Derivation(program, make(program.bos)).law() for make in (one_position, every_length)))


def number(value: Value, i: int, n: int) -> Fraction:
    """Return the value of a function at one position of one length."""
    return _evaluated(value, i if "i" in value.names else 0, n) if isinstance(value, Ratio) else Fraction(value)


def depends_on_i(value: Value) -> bool:
    """Return True if a function depends on the position."""
    return isinstance(value, Ratio) and "i" in value.names


@cached(1 << 13)
def _evaluated(value: Ratio, i: int, n: int) -> Fraction:
    places = [i, n, *OTHERS]
    top, bottom = value.top(*places), value.bottom(*places)
    found = top / bottom
    return Fraction(int(found.p), int(found.q))


def at(values: OfN, n: int) -> list[Fraction]:
    """Return the values of functions of n at one length. A function that divides by 0 there is skipped: it belongs
    to the positions between the first and the last, of which length 2 has none (see `places`)."""
    return [number(value, 0, n) for value in values if not (isinstance(value, Ratio) and _singular(value, n))]


@cached(1 << 13)
def _singular(value: Ratio, n: int) -> bool:
    """Return True if a function divides by 0 at a length."""
    return bool(value.bottom(0, n, *OTHERS) == 0)


class _Derivation:
    """Derivation of the facts for the places of one world (length 1, or the lengths from 2 on)."""

    def __init__(self, program: Program, world: World) -> None:
        self.program, self.world = program, world
        self._extents: dict[tuple[int, Value, Value | None], tuple[Value, ...]] = {}

    def law(self) -> Law:
        """Return what is known of every coordinate and head on every word, derived layer by layer."""
        columns = entering = self._input()
        types = input_types(self.program, self.world, columns)
        layers: list[LayerLaw] = []
        self.constant = self._constant_inputs(columns)
        for number, layer in enumerate(self.program.layers):
            columns, found = self._layer(layer, columns, types)
            self.constant = self._still_constant(layer)
            layers.append(found)
            rows = {name: head.rows for name, head in found.heads.items()}
            types = attended_types(layer, number, types, rows, found.reads, found.attended)
            types = hidden_types(layer, number, types, found.units, found.leaving)
        distance, doubt = None, ""
        if self.program.threshold is not None:
            distance, doubt = self._distance(columns, layers)
        return Law(self.world, tuple(layers), self._size(columns), distance, entering, doubt)

    # ---- the input ----

    def _input(self) -> Column:
        columns: Column = {CONSTANT: {place.order: NumberSpan.exactly(1) for place in self.world.places}}
        for name in self.program.coordinates:
            letters = [letter for letter in self.program.letters if letter.name == name]
            embedded, start = _embedded(self.program, letters)
            encodings = [encoding.value for encoding in self.program.encodings if encoding.name == name]
            spans: Spans = {}
            for place in self.world.places:
                try:
                    some = [(place.evaluate(value), 1) for value in encodings]
                except NotProved as failure:
                    raise NotProved(f"encoding {name}: {failure.reason}") from None
                own = embedded if place.order else NumberSpan.exactly(start)
                spans[place.order] = linear([(own, 1), *some], place.domains, int(name == CONSTANT))
            columns[name] = spans
        return columns

    def _forms(self, terms: Affine, columns: Column) -> Spans:
        return {
            place.order: linear([(columns[name][place.order], value) for name, value in terms.terms], place.domains)
            for place in self.world.places
        }

    # ---- functions of n ----

    def _most(self, columns: Iterable[tuple[Spans, bool]]) -> OfN:
        """Return functions of n of which the largest is at least every number of some columns; with a flag, at
        least its absolute value."""
        found: dict[Value, None] = {}
        for spans, absolute in columns:
            for place in self.world.places:
                for value in self._extent(place, spans[place.order], absolute):
                    found[value] = None
        return _pruned(found, max)

    def _extent(self, place: Place, span: NumberSpan, absolute: bool) -> tuple[Value, ...]:
        """Return functions of n that are at least a number at a place, or its absolute value. They are known already
        for coordinates that the layers before do not write to."""
        key = place.order, span.high, span.low if absolute else None
        if key not in self._extents:
            values = (span.high, times(span.low, -1)) if absolute else (span.high,)
            self._extents[key] = tuple(times(place.least(times(value, -1)), -1) for value in values)
        return self._extents[key]

    def _least(self, values: Mapping[int, Value]) -> OfN:
        places = {place.order: place for place in self.world.places}
        return _pruned(dict.fromkeys(places[order].least(value) for order, value in values.items()), min)

    def _size(self, columns: Column) -> OfN:
        """Return functions of n of which the largest is at least the size of every coordinate; the constant 1 is
        left out."""
        return self._most((columns[name], True) for name in self.program.coordinates)

    # ---- layers ----

    def _layer(self, layer: ProgramLayer, columns: Column, types: TypedColumns) -> tuple[Column, LayerLaw]:
        heads: dict[str, HeadLaw] = {}
        counted = self._counted(layer)
        reads: dict[tuple[str, str], Spans] = {}
        values: dict[tuple[str, str], tuple[OfN, OfN]] = {}
        attended = dict(columns)
        for head in layer.heads:
            try:
                rows = None if head.uniform else self._rows(head, columns, types)
                if rows is not None:
                    sizes = [[self._most([(self._forms(form, columns), True)]) for form in pair] for pair in head.score]
                    heads[head.name] = HeadLaw(rows, tuple((query, key) for query, key in sizes))
                for out, terms in head.values:
                    value = self._forms(terms, columns)
                    low = self._least({order: span.low for order, span in value.items()})
                    values[head.name, out] = low, self._most([(value, False)])
                    read = reads[head.name, out] = {
                        place.order: self._read(
                            head,
                            place,
                            value,
                            read_by(rows[place.order], out) if rows else None,
                            counted.get(head.name),
                        )
                        for place in self.world.places
                    }
                    before = attended[out]
                    attended[out] = {
                        place.order: linear([(before[place.order], 1), (read[place.order], 1)], place.domains)
                        for place in self.world.places
                    }
            except NotProved as failure:
                raise NotProved(f"head {head.name}: {failure.reason}", head.name) from None
        final, units, margins, tops = self._feed_forward(layer, attended)
        # Heads read coordinates before attention, hidden units after it: sizes cover both.
        entering = _pruned(dict.fromkeys([*self._size(columns), *self._size(attended)]), max)
        return final, LayerLaw(heads, values, margins, tops, entering, columns, reads, attended, units, final, types)

    def _rows(self, head: Head, columns: Column, types: TypedColumns) -> dict[int, Row]:
        found: dict[int, Row] = {}
        for place in self.world.places:
            try:
                typed = partial(TypedRows, self.world, head, place, types)
                row = with_types(partial(ScoreRows, self.world, head, place, columns), typed)
                found[place.order] = agreed(row, typed)
            except NotProved as failure:
                raise NotProved(f"at {place.name} {failure.reason}") from None
        return found

    def _feed_forward(
        self, layer: ProgramLayer, columns: Column
    ) -> tuple[Column, tuple[tuple[Spans, Spans], ...], tuple[OfN, ...], tuple[OfN, ...]]:
        inputs = [self._forms(unit.pre, columns) for unit in layer.units]
        parts: dict[str, list[tuple[Spans, Rational]]] = {}
        domains = {place.order: place.domains for place in self.world.places}
        units: list[tuple[Spans, Spans]] = []
        for unit, column in zip(layer.units, inputs, strict=True):
            shape = clip if unit.clip else relu
            active = {order: shape(span, domains[order]) for order, span in column.items()}
            units.append((column, active))
            for out, weight in unit.outs:
                parts.setdefault(out, []).append((active, weight))
        final, biases = dict(columns), dict(Affine.of(layer.biases).terms)
        for out in {**parts, **biases}:
            terms = [(columns[out], 1), *parts.get(out, [])]
            bias = biases.get(out, 0)
            final[out] = {
                order: linear([(spans[order], w) for spans, w in terms], own, bias) for order, own in domains.items()
            }
        margins = [
            self._least({order: margin(span, domains[order]) for order, span in column.items()}) for column in inputs
        ]
        return final, tuple(units), tuple(margins), tuple(self._most([(column, False)]) for column in inputs)

    # ---- reading ----

    def _counted(self, layer: ProgramLayer) -> dict[str, tuple[str, bool]]:
        """Return for each head that is not uniform, by name, the name of the first head of the layer with the same
        mask and score, and True if the rows of all positions are equal. Heads with equal mask and score have
        equal rows, so they share one denominator."""
        firsts: dict[tuple[Mask, object], tuple[str, bool]] = {}
        found: dict[str, tuple[str, bool]] = {}
        for head in layer.heads:
            if not head.uniform:
                known = firsts.setdefault((head.mask, head.score), (head.name, self._alike(head)))
                found[head.name] = known
        return found

    def _alike(self, head: Head) -> bool:
        """Return True if all positions of a word have the same row: there is no mask, and the query is the same
        everywhere."""
        return head.mask is Mask.NONE and all(name in self.constant for form, _ in head.score for name, _ in form.terms)

    def _constant_inputs(self, columns: Column) -> set[str]:
        """Return the input coordinates that are equal at all positions of every word."""
        found = set[str]()
        for name, spans in columns.items():
            first, *others = spans.values()
            if first.exact and "i" not in Ratio.of(first.offset).names and all(first == other for other in others):
                found.add(name)
        return found

    def _still_constant(self, layer: ProgramLayer) -> set[str]:
        """Return the coordinates that are equal at all positions after a layer: they were equal before it, and
        everything added to them is."""
        # A head whose rows are all equal adds one value to all positions.
        varying = {out for head in layer.heads if not self._alike(head) for out, _ in head.values}
        attended = self.constant - varying
        units = [unit for unit in layer.units if not {name for name, _ in unit.pre.terms} <= attended]
        return attended - {out for unit in units for out, _ in unit.outs}

    def _read(
        self, head: Head, query: Place, value: Spans, row: Row | None, counted: tuple[str, bool] | None
    ) -> NumberSpan:
        """Return the span of the value that a head adds to a coordinate at one place. `value` has the spans of the
        values, `row` is None for a uniform head, `counted` is the head's entry in `_counted`."""
        visible: list[tuple[int, NumberSpan, Seen]] = []
        for key in self.world.places:
            reach = self.world.sees(query, key, head.mask)
            if reach is not None:
                span = value[key.order]
                visible.append((key.order, span.at({"i": J}) if key.several else span, reach))
        count, average = self.world.count(query, head.mask), head.weighting is Weighting.AVERAGE
        every = hull([seen_from(span, reach, head.name) for _, span, reach in visible], query.domains)
        # Uniform attention, or a row of equal scores: the mean over all visible positions.
        if row is None or (row.equal and average):
            return full_mean(self._mean(query, visible, count), every, count, query.domains)
        if row.winner is not None:
            return read_through(value[row.winner], row.winner)
        if row.unique or not average or every.exact:
            return every
        if row.winners:
            part = Fraction(1, len(row.winners))
            return linear([(read_through(value[order], order), part) for order in row.winners], query.domains)
        whole = {order: span.offset for order, span, _ in visible if span.exact}
        # The value is [j = 0] and BOS is among the maxima: the mean is 1/m for the number m of maxima.
        if row.first and len(whole) == len(visible) and all(v == int(order == 0) for order, v in whole.items()):
            return NumberSpan(simplest(Ratio.of(1) / count), 1, 0, None, count)
        assert counted is not None
        name, everywhere = counted
        return tied_mean(every, Denominator((name,), count, 1, everywhere), count, query.domains)

    def _mean(self, query: Place, seen: Sequence[tuple[int, NumberSpan, Seen]], count: Value) -> NumberSpan:
        """Return the span of the mean of all visible values, from bounds and lattices."""
        over = simplest(Ratio.of(1) / count)
        ends: list[Value] = []
        offset: Value = 0
        steps: list[Value | None] = []
        fixed = True
        for _, span, reach in seen:
            many = plus(plus(reach.high, times(reach.low, -1)), 1)
            varying = isinstance(span.offset, Ratio) and "j" in span.offset.names
            step = common_step([span.step, content(span.offset, KEY)]) if varying else span.step
            steps.append(step if step is None or step == 0 else content(step, KEY))
            offset = plus(offset, 0 if varying or span.step is None else times(span.offset, many))
            fixed = fixed and not any(isinstance(end, Ratio) and "j" in end.names for end in (span.low, span.high))
        if fixed:
            for end in ("low", "high"):
                total: Value = 0
                for _, span, reach in seen:
                    many = plus(plus(reach.high, times(reach.low, -1)), 1)
                    total = plus(total, times(getattr(span, end), many))
                ends.append(times(total, over))
        else:
            ends = [
                least([reach.least(span.low) for _, span, reach in seen], query.domains),
                greatest([reach.greatest(span.high) for _, span, reach in seen], query.domains),
            ]
        step = common_step(steps)
        if step is None:
            return NumberSpan(ends[0], ends[1])
        return NumberSpan(ends[0], ends[1], times(offset, over), times_step(step, over))

    # ---- the answer ----

    def _distance(self, columns: Column, layers: Sequence[LayerLaw]) -> tuple[OfN, str]:
        """Return a lower bound of the distance of the outputs from the nearest value with another meaning
        (functions of n, of which the least counts), and the reason if it may be 0, else an empty text."""
        program, doubt = self.program, ""
        real = [place for place in self.world.places if place.order]
        # Unless every position has an output, only the reading position counts.
        if not program.maps:
            real = [real[0] if program.reading == "first" else real[-1]]
        found: dict[Value, None] = {}
        for place in real:
            for out in program.answers:
                span = columns[out][place.order]
                if program.integers:
                    unit = simplest(Ratio.of(1) / self.world.n)
                    whole = span.step is not None and multiple(span.offset, unit) and multiple(span.step, unit)
                    near: Sequence[Value] = (times(unit, HALF) if whole else 0,)
                else:
                    near = _distances(span, Fraction(program.threshold or 0), place)
                if 0 in near and not doubt:
                    doubt = self._doubt(out, span, place, layers)
                for value in near:
                    found[place.least(value)] = None
        return _pruned(found, min), doubt

    def _doubt(self, out: str, span: NumberSpan, place: Place, layers: Sequence[LayerLaw]) -> str:
        """Return the reason why an output may lie exactly on the threshold. It names the head whose mean is not
        known to avoid it."""
        threshold = "an odd multiple of 1/(2n)" if self.program.integers else f"the threshold {self.program.threshold}"
        what = f"the output {out} may be exactly {threshold} at {place.name}"
        heads = list(dict.fromkeys(str(one.name[0]) for one in span.share.denominators)) if span.share else []
        if heads:
            known = "head " + heads[0] if len(heads) == 1 else "heads " + ", ".join(heads)
            return f"{what}: the means over the tied positions of {known} are not known to avoid it"
        lost = _lost(out, place, self.program, layers)
        if lost is None:
            return what
        head, inner = lost
        if not inner:
            return f"{what}: nothing is known about the value of head {head}"
        return f"{what}: head {head} averages means whose denominators differ (from the ties of head {inner})"


def _lost(out: str, place: Place, program: Program, layers: Sequence[LayerLaw]) -> tuple[str, str] | None:
    """Return the last head whose mean brings a number without lattice or share to the output, and the head whose
    ties are in the denominators of the values it reads (or an empty string). None if there is no such head."""
    # Go back from the output through the layers, along the coordinates that it depends on.
    needed = {out}
    for layer, law in zip(reversed(program.layers), reversed(layers), strict=True):
        for unit in layer.units:
            if needed & {name for name, _ in unit.outs}:
                needed |= {name for name, _ in unit.pre.terms}
        for head in layer.heads:
            for name, form in head.values:
                if name in needed and share_of(law.reads[head.name, name][place.order]) is None:
                    spans = [span for part, _ in form.terms for span in law.entering[part].values()]
                    inner = [one for span in spans if span.share for one in span.share.denominators]
                    return head.name, str(inner[0].name[0]) if inner else ""
        needed |= {
            part for head in layer.heads for name, form in head.values if name in needed for part, _ in form.terms
        }
    return None


def _distances(span: NumberSpan, threshold: Fraction, place: Place) -> Sequence[Value]:
    """Return positive functions of which the least is at most the distance of an output from the threshold; (0,) if
    the output may be on it."""
    for side in (plus(span.low, -threshold), plus(threshold, times(span.high, -1))):
        if positive(side, place.domains):
            return (side,)
    if span.step and not isinstance(span.step, Ratio) and not isinstance(span.offset, Ratio):
        return (min((abs(point - threshold) for point in around(span, threshold)), default=ZERO),)
    if span.step and (found := distances(plus(span.offset, -threshold), span.step, Seen(0, 0, place.domains))):
        return found[0]
    return away(span, threshold, place.domains) or (0,)


def _embedded(program: Program, letters: Sequence[Letter]) -> tuple[NumberSpan, Rational]:
    """Return the span of a coordinate of the word embedding at positions of symbols, and its value at the beginning
    of sequence."""
    if isinstance(program.alphabet, Valuations):  # each proposition may be true or false
        held = [
            hull([NumberSpan.exactly(0), NumberSpan.exactly(letter.value)], [{}])
            for letter in letters
            if letter.symbols
        ]
        return linear([(each, 1) for each in held], [{}]), 0
    values = {
        symbol: sum((Fraction(letter.value) for letter in letters if symbol in letter.symbols), ZERO)
        for symbol in (*program.alphabet, BOS)
    }
    return hull([NumberSpan.exactly(plain(values[symbol])) for symbol in program.alphabet], [{}]), plain(values[BOS])


def _pruned(values: Mapping[Value, None], best: Callable[[list[Rational]], Rational]) -> OfN:
    """Return the functions of n, with all constants replaced by the best of them."""
    numbers = [value for value in values if not isinstance(value, Ratio)]
    rest = [value for value in values if isinstance(value, Ratio)]
    return (*([best(numbers)] if numbers else []), *rest)
