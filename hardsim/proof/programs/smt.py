"""SMT-LIB 2 queries for the numerical steps of a proof for every length of a program or hard-attention model (see
`smt`).

Each query denies one inequality or identity of the argument of `decay`, stated from the network's own numbers: its
embedding, encodings, matrices and temperature. The prover's numbers occur where they are claimed, and where they
have queries of their own: the span of a coordinate at one kind of position (between two functions of i and n, and
on a lattice: an offset plus an integer times a step) follows from the spans of the layer before. The steps:

 - *temperature*, *input*: the temperature is positive; embedding and encodings lie in the spans of the first
   coordinates;
 - *read*, *count*, *sum*, *unit*: so do the values that attention adds, the inputs and outputs of hidden units, and
   the sums after layers;
 - *zero*: numbers that are isolated zeros stay that, in sums, hidden units and means (see `smt_spans`);
 - *scores* and the steps that follow from them: see `smt_rows`, `smt_types` for *types* and *levels*, and
   `smt_shares` for scores that are one *product*;
 - *size*, *margin*: the sizes of queries, keys and values, and the distances of clips and outputs from where they
   would change;
 - *rate*: gap over temperature is at least r n from N0 on;
 - *error*: the errors after a layer are no less than those that follow from the errors before it, by the recursion of
   `decay` (coordinates by their absolute weights, attention by the distance of the weights, clips that forget);
 - *decay*: F n^p e^(-r n) <= M at N0, e^x being at least the first terms of its series, and from there on it falls.

Other steps have no queries: the recursion itself, by which weights are off by at most 2 e n e^(-r n) where scores
are off by eta with eta/tau <= 1/2, and that e is below 87/32; the errors at lengths below N0, which are checked one
by one (the spans and scores at these lengths have queries); that positions, and polynomials in them with integer
coefficients, are integers; that a mean lies between its values. Encodings with `mod` have no queries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, reduce
from itertools import product as combinations

from hardsim.lang.arith import Arith
from hardsim.lang.valuations import Valuations
from hardsim.lazy_dataclass import dataclass
from hardsim.network.columns import PredicateColumn
from hardsim.network.numbers import Rational
from hardsim.network.transformer import AttentionHead, HiddenUnit, Layer, Terms, Transformer
from hardsim.program.hard_attention import Head, Program, Weighting
from hardsim.proof.programs.every_length import (
    EULER,
    Decay,
    DecayClaim,
    Induction,
    InverseTemperature,
    LayerStep,
    PowerBound,
    ProgramArgument,
)
from hardsim.proof.programs.lattice import NumberSpan, Share, plus
from hardsim.proof.programs.lattice import linear as plain_sum
from hardsim.proof.programs.lattice import times as product
from hardsim.proof.programs.law import Law, LayerLaw, ProgramLaw, Spans
from hardsim.proof.programs.places import MIDDLE, J, Place, World
from hardsim.proof.programs.rows import Columns, Row
from hardsim.proof.programs.shares import read_through, same_everywhere
from hardsim.proof.programs.smt_rows import (
    FractionTerm,
    RowQueries,
    added,
    differ,
    key_at,
    length_lines,
    length_text,
    less,
    query_lines,
    whole,
)
from hardsim.proof.programs.smt_shares import ProductQueries
from hardsim.proof.programs.smt_spans import (
    Part,
    between,
    beyond,
    ends,
    number_away,
    number_in,
    number_of,
    number_through,
    off_lattice,
    off_share,
    off_zeros,
    outside,
    span_text,
    zero,
    zeros_text,
)
from hardsim.proof.programs.smt_types import TypeQueries
from hardsim.proof.programs.types import RULE, read_by
from hardsim.proof.shared.ratios import Ratio, Value, simplest
from hardsim.proof.shared.result import NotProved
from hardsim.proof.shared.smt import Query, both, either, expression, number, ratio, small, text_of, times, total

ZERO: Value = 0
LAST = MIDDLE + 1
"""Order of the place of the last position."""
MOST_CASES = 4096
"""Largest number of values of one input coordinate that are listed."""
SpansOf = Mapping[int, NumberSpan]
"""Spans of one number by order of the place."""


def power(name: str, exponent: int) -> str:
    """Return a variable to an integer power, as a term."""
    if exponent < 0:
        return f"(/ 1.0 {power(name, -exponent)})"
    return "1.0" if not exponent else name if exponent == 1 else f"(* {' '.join([name] * exponent)})"


def grown(growth: PowerBound) -> str:
    """Return the term `factor n^power`."""
    return times(growth.factor, power("n", growth.power))


@dataclass
class ProgramWriter:
    """Writer of the queries of a program that is proved for every length, at the temperature of its network. Raises
    NotProved if the network's hidden units are not the program's."""

    model: Transformer
    program: Program
    law: ProgramLaw
    found: Induction

    def __post_init__(self) -> None:
        for own, layer in zip(self.model.layers, self.program.layers, strict=True):
            made = [(unit.clip, [(self.model.coordinates[k], c) for k, c in unit.outs]) for unit in own.ffn.units]
            span_text = [(unit.clip, sorted(unit.outs, key=lambda out: self.index[out[0]])) for unit in layer.units]
            # Queries are stated from the network, spans belong to the program: both need the same hidden units.
            if made != span_text:
                raise NotProved("the network has other hidden units than the program")

    @cached_property
    def index(self) -> dict[str, int]:
        """Number of each coordinate of the network, from 0, by name."""
        return {name: k for k, name in enumerate(self.model.coordinates)}

    @cached_property
    def tau(self) -> str:
        """Temperature as a term in n."""
        if not isinstance(self.model.temperature, Arith):
            raise NotProved(f"the temperature {self.model.temperature} is not known for all lengths")
        return expression(self.model.temperature)

    def steps(self) -> Iterator[Query]:
        """Yield all queries, each once."""
        # Heads with equal scores and equal sums lead to equal commands.
        requested: set[tuple[str, ...]] = set()
        for query in self._steps():
            if query.lines not in requested:
                requested.add(query.lines)
                yield query

    def _steps(self) -> Iterator[Query]:
        lines = ("(declare-const n Real)", "(assert (<= 1.0 n))", f"(assert (<= {self.tau} 0.0))")
        yield Query("temperature", "temperature", "it is positive", lines)
        # Length 1 has one place, which is first and last, and is handled by itself.
        for law in (self.law.one, self.law.more):
            facts = SpanQueries(self, law)
            yield from facts.input()
            for depth in range(len(law.layers)):
                yield from facts.layer(depth)
        yield from ErrorQueries(self, self.law.more).steps()

    def parts(self, terms: Terms, columns: Columns, order: int, key: Place | None = None) -> list[Part]:
        """Return a linear form at one kind of position as multiples of spans. For a key (`key`) spans are functions
        of j."""
        spans = ((c, columns[self.model.coordinates[k]][order]) for k, c in terms)
        if key is None or not key.several:
            return list(spans)
        return [(c, span.at({"i": J})) for c, span in spans]


# ---- spans of coordinates ----


@dataclass
class SpanQueries:
    """Queries about the spans of coordinates, at length 1 or at the lengths from 2 on."""

    writer: ProgramWriter
    law: Law

    @property
    def world(self) -> World:
        """Kinds of positions."""
        return self.law.world

    def query(self, about: str, place: Place, kind: str, claim: str, wrong: Sequence[str],
              lines: Sequence[str] = ()) -> Iterator[Query]:  # fmt: skip
        """Yield one query, about queries at one kind of position, that asserts the formulas in `wrong`, any of
        which denies the claim; yield none if there are no formulas."""
        if wrong:
            own = (*query_lines(self.world, place), *lines, f"(assert {either(dict.fromkeys(wrong))})")
            yield Query(f"{about} at {place.name}{length_text(self.world)}", kind, claim, own)

    def input(self) -> Iterator[Query]:
        """Yield the queries about embedding and encodings."""
        names = self.writer.model.coordinates
        columns = self.law.layers[0].entering if self.law.layers else self.law.entering
        for k, name in enumerate(names):
            for place in self.world.places:
                span = columns[name][place.order]
                encoded = [value for number_of, value in self.writer.model.encodings if number_of == k]
                yield from self._entering(k, place, span, encoded)

    def _entering(self, k: int, place: Place, span: NumberSpan, encoded: Sequence[object]) -> Iterator[Query]:
        """Yield the queries about one input coordinate at one place."""
        fixed: Value = 0
        texts = list[str]()
        varying: list[Sequence[Value]] = [self._embedded(k, bool(place.order))]
        lines = ["(declare-const si Real)", "(declare-const sn Real)"]
        lines += [f"(assert (or (= {sign} 1.0) (= {sign} (- 1.0))))" for sign in ("si", "sn")]
        if not place.several:
            lines.append(f"(assert (= si {('1.0', '(- 1.0)')[place.order] if place.order < LAST else 'sn'}))")
        if not isinstance(self.world.n, Ratio):
            lines.append("(assert (= sn (- 1.0)))")
        name = self.writer.model.coordinates[k]
        for value in encoded:
            if not isinstance(value, Arith | PredicateColumn):
                raise NotProved(f"{value} is neither an expression in i and n nor a predicate")
            own = place.evaluate(value)
            if own.exact and isinstance(value, Arith):
                fixed = plus(fixed, own.offset)
                texts.append(expression(value))
                continue
            values = listed(own)
            varying.append(values)
            if isinstance(value, Arith):
                written = expression(value)
                wrong = [both(f"(not (= {written} {ratio(one)}))" for one in values)]
                claim = f"{value} is one of {len(values)} numbers"
                yield from self.query(f"encoding {name}", place, "input", claim, wrong, lines)
        wrong, cases = list[str](), [*combinations(*varying)]
        if len(cases) > MOST_CASES:
            raise NotProved(f"the input coordinate {name} has {len(cases)} possible values, too many to list")
        for word in dict.fromkeys(reduce(plus, case, ZERO) for case in cases):
            text = total([*texts, *([ratio(word)] if word != 0 else [])])
            wrong += [f"(< {text} {ratio(span.low)})", f"(> {text} {ratio(span.high)})"]
            if span.step is not None:
                more, none = whole(plus(plus(fixed, word), product(span.offset, -1)), span.step)
                wrong += [*none, *differ([(FractionTerm(text), added([FractionTerm.of(span.offset), more]))])]
        # Comparisons of 0 with itself carry no information.
        some = [one for one in dict.fromkeys(wrong) if one not in ("(< 0.0 0.0)", "(> 0.0 0.0)")]
        yield from self.query(f"coordinate '{name}'", place, "input", f"it is {span_text(span)}", some, lines)

    def _embedded(self, k: int, symbol: bool) -> list[Rational]:
        """Return the values that the word embedding can give a coordinate at symbols, or at the beginning of
        sequence."""
        model = self.writer.model
        values = [row.get(k, 0) for row in model.embedding.rows()]
        if not isinstance(model.alphabet, Valuations):
            return list(dict.fromkeys(values[: len(model.alphabet)] if symbol else values[-1:]))
        if not symbol:
            return values[-1:]
        some: list[Rational] = [Fraction(values[-1])]
        for value in (value for value in values[:-1] if value):
            some += [Fraction(one + value) for one in some]
            if len(some) > MOST_CASES:
                raise NotProved("a coordinate of the embedding is a sum of too many propositions")
        return list(dict.fromkeys(some))

    def layer(self, depth: int) -> Iterator[Query]:
        """Yield the queries about one layer."""
        law, network, layer = self.law.layers[depth], self.writer.model.layers[depth], self.writer.program.layers[depth]
        reads: dict[str, list[Spans]] = {}
        for plan, head in zip(network.heads, layer.heads, strict=True):
            rows = law.heads[head.name].rows if head.name in law.heads else {}
            for out, terms in plan.values:
                name = self.writer.model.coordinates[out]
                reads.setdefault(name, []).append(law.reads[head.name, name])
                for place in self.world.places:
                    read = law.reads[head.name, name][place.order]
                    reading = ReadQueries(self, plan, head, terms, place, read_by(rows.get(place.order), name))
                    yield from reading.steps(read, law)
            for order, row in rows.items():
                place = next(place for place in self.world.places if place.order == order)
                columns, names = law.entering, self.writer.model.coordinates
                if row.product is not None:
                    yield from ProductQueries(self.world, plan, place, columns, names, row).steps()
                    continue
                yield from RowQueries(self.world, plan, head, place, columns, names, row).steps()
                if row.rules == (RULE,) or row.agreed:
                    yield from TypeQueries(self.writer, self.law, depth, plan, head, place, row).steps()
        claim = f"after attention of layer {depth + 1}"
        for name in self.writer.model.coordinates:
            parts = [(1, spans) for spans in (law.entering[name], *reads.get(name, []))]
            yield from self.sums(name, claim, law.attended[name], parts)
        yield from self.units(depth, law, network)

    def units(self, depth: int, law: LayerLaw, network: Layer) -> Iterator[Query]:
        """Yield the queries about hidden units, and about the sums of their outputs."""
        names = self.writer.model.coordinates
        outs: dict[str, list[tuple[Rational, Spans]]] = {}
        biases = {names[k]: c for k, c in network.ffn.biases}
        for unit, (read, given) in zip(network.ffn.units, law.units, strict=True):
            about = f"hidden unit for '{names[unit.outs[0][0]]}' of layer {depth + 1}"
            for place in self.world.places:
                order = place.order
                parts = self.writer.parts(unit.form, law.attended, order)
                wrong = outside(read[order], parts, unit.bias)
                yield from self.query(about, place, "unit", f"it reads {span_text(read[order])}", wrong)
                yield from self.zeros(about, place, read[order], parts, unit.bias)
                yield from self.given(about, place, unit, read[order], given[order])
            for k, c in unit.outs:
                outs.setdefault(names[k], []).append((c, given))
        # The spans of a layer are the ones that the next layer starts from; both are checked.
        after = self.law.layers[depth + 1].entering if depth + 1 < len(self.law.layers) else law.leaving
        for name in names:
            some = [(1, law.attended[name]), *outs.get(name, [])]
            for column in (law.leaving, after):
                yield from self.sums(name, f"after layer {depth + 1}", column[name], some, biases.get(name, 0))

    def sums(
        self, name: str, when: str, column: SpansOf, parts: Sequence[tuple[Rational, SpansOf]], bias: Rational = 0
    ) -> Iterator[Query]:
        """Yield queries that a coordinate, as a sum of parts, lies in its span."""
        for place in self.world.places:
            some = [(c, spans[place.order]) for c, spans in parts if not zero(spans[place.order])]
            span = column[place.order]
            wrong = [] if zero(span) and not some and not bias else outside(span, some, bias)
            yield from self.query(f"coordinate '{name}'", place, "sum", f"{when} it is {span_text(span)}", wrong)
            yield from self.zeros(f"coordinate '{name}'", place, span, some, bias)

    def zeros(
        self, about: str, place: Place, span: NumberSpan, parts: Sequence[Part], bias: Rational = 0
    ) -> Iterator[Query]:
        """Yield queries that a sum has the isolated zeros of its span."""
        lines, wrong = off_zeros(span, parts, place.domains, bias)
        yield from self.query(about, place, "zero", f"it is {zeros_text(span)}", wrong, lines)

    def given(self, about: str, place: Place, unit: HiddenUnit, read: NumberSpan, given: NumberSpan) -> Iterator[Query]:
        """Yield queries that the output of a hidden unit is in the span `given` if its input is in the span `read`."""
        if not unit.clip and read == given:
            yield from self.query(about, place, "unit", "its output is its input", [f"(< {ratio(read.low)} 0.0)"])
            return
        result = "(ite (< x 0.0) 0.0 (ite (< 1.0 x) 1.0 x))" if unit.clip else "(ite (< x 0.0) 0.0 x)"
        lines = [*number_in("x", read), f"(define-fun y () Real {result})"]
        goals: tuple[int, ...] = (0, 1) if unit.clip else (0,)
        wrong = [f"(< y {ratio(given.low)})", f"(> y {ratio(given.high)})"]
        if given.step is not None and unit.clip:
            values = [given.offset] if given.step == 0 else [0, 1] if (given.offset, given.step) == (0, 1) else []
            wrong.append(both(f"(not (= y {ratio(value)}))" for value in values))
        elif given.step is not None:
            wrong += off_lattice(given, [(1, read)]) + off_lattice(given, [(1, NumberSpan.exactly(0))])
            if given.step == 0:
                wrong = [f"(not (= y {ratio(given.offset)}))"]
        if given.share is not None:
            wrong += [one for goal in goals for one in off_share(given.share, [], goal)]
            wrong += off_share(given.share, [(1, read)])
        yield from self.query(about, place, "unit", f"it gives {span_text(given)}", wrong, lines)
        if given.isolated:
            lines, wrong = number_of("x", read, place.domains)
            for goal in goals:
                more, none = number_through("x", read, goal, place.domains)
                lines, wrong = [*lines, *more], [*wrong, *none]
            lines.append(f"(define-fun y () Real {result})")
            wrong += [one for isolated in given.isolated for one in between(isolated, "y")]
            yield from self.query(about, place, "zero", f"it gives {zeros_text(given)}", wrong, lines)


def listed(span: NumberSpan) -> list[Value]:
    """Return the numbers of a span on a lattice, from its least on, as functions, if there are at most MOST_CASES
    + 1. Raises NotProved for other spans."""
    if span.step:
        count, before = (simplest(Ratio.of(plus(span.high if end else span.offset, product(span.low, -1))) / span.step)
                         for end in (True, False))  # fmt: skip
        known = not isinstance(count, Ratio) and not isinstance(before, Ratio)
        if known and Fraction(before).denominator == 1 and 0 <= count <= MOST_CASES:
            return [plus(span.low, product(span.step, k)) for k in range(int(count) + 1)]
    raise NotProved(f"an encoding has too many values to list: {span_text(span)}")


@dataclass
class ReadQueries:
    """Queries about the value that a head adds to a coordinate at one kind of position."""

    facts: SpanQueries
    plan: AttentionHead
    head: Head
    terms: Terms
    place: Place
    row: Row | None

    def steps(self, read: NumberSpan, law: LayerLaw) -> Iterator[Query]:
        """Yield all queries about this value."""
        world, row = self.facts.world, self.row
        keys = [key for key in world.places if world.sees(self.place, key, self.plan.mask) is not None]
        values = {key.order: self.facts.writer.parts(self.terms, law.entering, key.order, key) for key in keys}
        if row is None or (row.equal and self.head.weighting is Weighting.AVERAGE):
            yield from self.mean(read, keys, values)
        elif row.winner is not None:
            yield from self.few(read, (row.winner,), values)
        elif row.winners and not row.unique and self.head.weighting is Weighting.AVERAGE:
            yield from self.few(read, row.winners, values)
        elif read.most is not None:
            yield from self.share(read, keys, values, law)
        elif row.unique or self.head.weighting is not Weighting.AVERAGE:
            yield from self.anywhere(read, keys, values)
        else:
            yield from self.tied(read, keys, values)

    def few(self, read: NumberSpan, winners: Sequence[int], values: dict[int, list[Part]]) -> Iterator[Query]:
        """Yield queries that the head reads the mean of the values at single positions."""
        part = Fraction(1, len(winners))
        parts = [(c * part, read_through(span, order)) for order in winners for c, span in values[order]]
        yield from self.query("read", f"it reads {span_text(read)}", outside(read, parts))
        yield from self.facts.zeros(f"head {self.head.name}", self.place, read, parts)

    def tied(self, read: NumberSpan, keys: Sequence[Place], values: dict[int, list[Part]]) -> Iterator[Query]:
        """Yield queries that the head reads the mean of some visible values; their number is a denominator of the
        mean's share."""
        if read.exact:
            yield from self.anywhere(read, keys, values)
            return
        yield from self.anywhere(read, keys, values, only_ends=True)
        yield from self.each_zero(read, keys, values, self.facts.world.count(self.place, self.plan.mask))
        if read.share is None:
            return
        # The last denominator counts the tied positions themselves.
        *rest, own = read.share.denominators
        share = replace(read.share, denominators=tuple(rest))
        for key in keys:
            parts = values[key.order]
            wrong = off_share(share, parts)
            wrong += [] if all(same_everywhere(span) for _, span in parts) and own.power == 1 else ["true"]
            lines = ["(declare-const j Real)", f"(assert {key_at(key, self.plan.mask, 'j')})"]
            each = replace(read, share=share)
            yield from self.query("read", f"the value read at {key.name} is {span_text(each)}", wrong, lines)

    def each_zero(
        self, read: NumberSpan, keys: Sequence[Place], values: dict[int, list[Part]], count: Value = 1
    ) -> Iterator[Query]:
        """Yield queries that each visible value has the isolated zeros of the span, at distances `count` times as
        large: then the mean of `count` values has the isolated zeros of the span."""
        for key in keys:
            seen = self.facts.world.sees(self.place, key, self.plan.mask)
            assert seen is not None
            lines, wrong = off_zeros(read, self.moved(values[key.order]), seen.domains, 0, count)
            lines = ["(declare-const j Real)", f"(assert {key_at(key, self.plan.mask, 'j')})", *lines]
            claim = (
                f"the value read at {key.name} is {zeros_text(read)}{'' if count == 1 else f', {count} times as far'}"
            )
            yield from self.query("zero", claim, wrong, lines)

    def moved(self, parts: Sequence[Part]) -> list[Part]:
        """Return the parts of a value, with denominators renamed as seen from the query."""
        return [(c, read_through(span, self.head.name)) for c, span in parts]

    def query(self, kind: str, claim: str, wrong: Sequence[str], lines: Sequence[str] = ()) -> Iterator[Query]:
        """Yield one query about this head."""
        yield from self.facts.query(f"head {self.head.name}", self.place, kind, claim, wrong, lines)

    def anywhere(self, read: NumberSpan, keys: Sequence[Place], values: dict[int, list[Part]],
                 only_ends: bool = False) -> Iterator[Query]:  # fmt: skip
        """Yield queries that the head reads one of the visible values, or (`only_ends`) a number between them."""
        for key in keys:
            parts = values[key.order]
            wrong = beyond(read, parts) if only_ends else outside(read, self.moved(parts))
            lines = ["(declare-const j Real)", f"(assert {key_at(key, self.plan.mask, 'j')})"]
            yield from self.query("read", f"the value read at {key.name} is {span_text(read)}", wrong, lines)
        if not only_ends:
            yield from self.each_zero(read, keys, values)

    def share(self, read: NumberSpan, keys: Sequence[Place], values: dict[int, list[Part]],
              law: LayerLaw) -> Iterator[Query]:  # fmt: skip
        """Yield queries that the head reads one over the number of positions with the largest score, one of which
        is the beginning of sequence."""
        assert self.row is not None
        assert read.most is not None
        rows = RowQueries(self.facts.world, self.plan, self.head, self.place, law.entering,
                          self.facts.writer.model.coordinates, self.row)  # fmt: skip
        for key in keys:
            exact = NumberSpan.exactly(int(not key.order))
            lines = ["(declare-const j Real)", f"(assert {key_at(key, self.plan.mask, 'j')})"]
            wrong = outside(exact, values[key.order])
            yield from self.query("read", f"the value read at {key.name} is {span_text(exact)}", wrong, lines)
            # Rows that follow from types have this among their own queries.
            if key.order and self.row.rules != (RULE,):
                yield from rows.order(0, key.order, 0)
        seen = self.facts.world.count(self.place, self.plan.mask)
        wrong = [f"(< {ratio(read.most)} {ratio(seen)})", f"(> (* {ratio(seen)} {ratio(read.low)}) 1.0)",
                 f"(< {ratio(read.high)} 1.0)"]  # fmt: skip
        yield from self.query("read", f"it reads {span_text(read)}", wrong)
        yield from self.counted(keys)

    def many(self, key: Place) -> Value:
        """Return the number of visible positions of a place."""
        seen = self.facts.world.sees(self.place, key, self.plan.mask)
        assert seen is not None
        return plus(plus(seen.high, product(seen.low, -1)), 1)

    def counted(self, keys: Sequence[Place]) -> Iterator[Query]:
        """Yield a query about the number of visible positions."""
        count = self.facts.world.count(self.place, self.plan.mask)
        wrong = differ([(added(FractionTerm.of(self.many(key)) for key in keys), FractionTerm.of(count))])
        yield from self.query("count", f"{count} positions are visible", wrong)

    def mean(self, read: NumberSpan, keys: Sequence[Place], values: dict[int, list[Part]]) -> Iterator[Query]:
        """Yield queries that bound the mean of the visible values: their sum divided by their number."""
        yield from self.counted(keys)
        count = self.facts.world.count(self.place, self.plan.mask)
        spans = {order: plain_sum([(span, c) for c, span in parts]) for order, parts in values.items()}
        varies = any(isinstance(end, Ratio) and "j" in end.names for span in spans.values()
                     for end in (span.low, span.high))  # fmt: skip
        if varies:
            yield from self.anywhere(read, keys, values, only_ends=True)
        else:
            sums = [added(FractionTerm.of(self.many(key)) * ends(values[key.order])[side] for key in keys)
                    for side in (0, 1)]  # fmt: skip
            bounds = [FractionTerm.of(count) * FractionTerm.of(end) for end in (read.low, read.high)]
            wrong = less(sums[0], bounds[0]).below_0 + less(bounds[1], sums[1]).below_0
            yield from self.query("read", f"the mean that it reads is {span_text(read)}", wrong)
        if read.step is not None:
            yield from self.lattice(read, keys, values)
        yield from self.each_zero(read, keys, values, count)
        if read.share is not None:
            yield from self.mean_share(read.share, count, keys, values)

    def mean_share(
        self, share: Share, count: Value, keys: Sequence[Place], values: dict[int, list[Part]]
    ) -> Iterator[Query]:
        """Yield queries that the values lie in a share with `count` times the step."""
        # A mean divides by the count, so the values need a step that is larger by it.
        larger = replace(share, step=product(share.step, count))
        for key in keys:
            parts = values[key.order]
            wrong = off_share(larger, parts) + ([] if all(same_everywhere(span) for _, span in parts) else ["true"])
            lines = ["(declare-const j Real)", f"(assert {key_at(key, self.plan.mask, 'j')})"]
            claim = f"the value read at {key.name} is {span_text(NumberSpan(0, 0, share=larger))}"
            yield from self.query("read", claim, wrong, lines)

    def lattice(self, read: NumberSpan, keys: Sequence[Place], values: dict[int, list[Part]]) -> Iterator[Query]:
        """Yield queries that the sum of the visible values equals the sum of their known offsets plus a multiple of a
        step. An offset counts as known if it is the same at all keys of a place."""
        count = self.facts.world.count(self.place, self.plan.mask)
        step = product(read.step or 0, count)
        offsets, parts = list[FractionTerm](), list[Value]()
        for key in keys:
            span = plain_sum([(part, c) for c, part in values[key.order]])
            varying = isinstance(span.offset, Ratio) and "j" in span.offset.names
            each = NumberSpan(0, 0, 0 if varying else span.offset, step)
            lines = ["(declare-const j Real)", f"(assert {key_at(key, self.plan.mask, 'j')})"]
            claim = f"the value read at {key.name} is in {each.offset} + {step} Z"
            yield from self.query("read", claim, off_lattice(each, values[key.order]), lines)
            if not varying and span.offset != 0:
                offsets.append(FractionTerm.of(self.many(key)) * FractionTerm.of(span.offset))
                parts.append(product(span.offset, self.many(key)))
        rest = product(product(read.offset, count), -1)
        for part in parts:
            rest = plus(rest, part)
        text, wrong = whole(rest, step)
        wrong += differ([(added(offsets), added([FractionTerm.of(count) * FractionTerm.of(read.offset), text]))])
        yield from self.query("read", f"the mean that it reads is {span_text(read)}", wrong)


# ---- errors ----


@dataclass
class ErrorQueries:
    """Queries about the induction over layers, from N0 on."""

    writer: ProgramWriter
    law: Law

    def steps(self) -> Iterator[Query]:
        """Yield all queries about the induction."""
        found, lines = self.writer.found, list[str]()
        for depth, step in enumerate(found.steps):
            network, layer = self.writer.model.layers[depth], self.writer.program.layers[depth]
            law = self.law.layers[depth]
            for plan, head in zip(network.heads, layer.heads, strict=True):
                if head.name in step.weights:
                    yield from self.head(plan, head, step, law)
                for out, terms in plan.values:
                    yield from self.reach(head, terms, step.reaches[head.name, self.name(out)], law)
            yield from self.units(depth, network, step, law)
            lines += self.entering(depth, step) + self.attention(network, step, law) + self.forward(network, step)
            claim = "errors are at least those that follow from the errors before it"
            yield from self.constant(f"layer {depth + 1}", "error", claim, lines)
            lines.clear()
        yield from self.output()
        for check in found.checks:
            yield from self.decay(check.what, check.factor, check.power, check.rate, check.limit)

    def name(self, k: int) -> str:
        """Return the name of a coordinate."""
        return self.writer.model.coordinates[k]

    def constant(self, about: str, kind: str, claim: str, wrong: Sequence[str]) -> Iterator[Query]:
        """Yield a query without variables, that one of the conditions `wrong` on constants holds; none if there are no
        conditions."""
        if wrong:
            yield Query(about, kind, claim, (f"(assert {either(dict.fromkeys(wrong))})",))

    def everywhere(self, about: str, kind: str, claim: str, make: Iterable[tuple[Place, list[str]]]) -> Iterator[Query]:
        """Yield one query for each kind of position, with the formulas that deny the claim there."""
        for place, wrong in make:
            if wrong:
                lines = (*query_lines(self.law.world, place), f"(assert {either(wrong)})")
                yield Query(f"{about} at {place.name}", kind, claim, lines)

    def off(self, terms: Terms, error: Decay) -> str:
        """Return the error of a linear form over n^p e^(-r n), as a term."""
        return total(times(abs(Fraction(c)), number(error.factors[self.name(k)])) for k, c in terms)

    def sized(self, about: str, terms: Terms, size: PowerBound, law: LayerLaw) -> Iterator[Query]:
        """Yield queries that a linear form is at most so large, measured from a middle."""

        def wrong(place: Place) -> list[str]:
            low, high = ends(self.writer.parts(terms, law.entering, place.order))
            middle, bound = times(size.middle, power("n", size.power)), grown(size)
            sides = FractionTerm(f"(- {middle} {bound})"), FractionTerm(f"(+ {middle} {bound})")
            return less(low, sides[0]).below_0 + less(sides[1], high).below_0

        size_told = f"{size.factor} n^{size.power}" + (f" from {size.middle} n^{size.power}" if size.middle else "")
        claim = f"its size is at most {size_told}"
        yield from self.everywhere(about, "size", claim, ((place, wrong(place)) for place in self.law.world.places))

    def reach(self, head: Head, terms: Terms, size: PowerBound, law: LayerLaw) -> Iterator[Query]:
        """Yield queries about the size of the value that a head reads; none for a uniform head."""
        if not head.uniform:
            yield from self.sized(f"value of head {head.name}", terms, size, law)

    def head(self, plan: AttentionHead, head: Head, step: LayerStep, law: LayerLaw) -> Iterator[Query]:
        """Yield queries about the sizes of query and key, the error of the scores, and the gap over the
        temperature."""
        found, error = step.weights[head.name], step.before
        parts, wrong = list[str](), list[str]()
        for (left, right), (large, wide) in zip(plan.scores, found.sizes, strict=True):
            yield from self.sized(f"query of head {head.name}", left, large, law)
            yield from self.sized(f"key of head {head.name}", right, wide, law)
            q, k = self.off(left, error), self.off(right, error)
            parts.append(total([f"(* {number(large.factor)} {k})", f"(* {number(wide.factor)} {q})", f"(* {q} {k})"]))
            # E is needed to be at most 1 only where query and key both have errors.
            at, one = (error.power, error.rate), f"(ite (< 0.0 (* {q} {k})) 1.0 0.0)"
            yield from self.decay_of(
                f"head {head.name}", one, at, PowerBound(Fraction(1), 0), "n^p e^(-r n) is at most 1"
            )
            wrong += [f"(and (< 0.0 {part}) (< {found.eta.power}.0 {size.power}.0))"
                      for part, size in ((k, large), (q, wide))]  # fmt: skip
        wrong.append(f"(< {number(found.eta.factor)} {total(parts)})")
        tied = not all(row.one_value(head) for row in law.heads[head.name].rows.values())
        # Softmax does not break ties, so the step fails for such a head.
        wrong += ["true"] if tied and head.weighting is not Weighting.AVERAGE else []
        claim = f"its scores are off by at most {found.eta.factor} n^{found.eta.power} times the error before"
        yield from self.constant(f"head {head.name}", "error", claim, wrong)
        if found.eta.factor:
            yield from self.over(head, step)
        if found.rate is not None:
            yield from self.rate(head, found.rate, law)

    def over(self, head: Head, step: LayerStep) -> Iterator[Query]:
        """Yield queries about the error of the scores over the temperature."""
        found = step.weights[head.name]
        eta, own = found.eta, found.over
        scaled = PowerBound(eta.factor, eta.power + step.before.power)
        lines = (*length_lines(self.law.world), f"(assert (< (* {grown(own)} {self.writer.tau}) {grown(scaled)}))")
        claim = f"eta/tau is at most {own.factor} n^{own.power} e^(-{step.before.rate} n)"
        yield Query(f"head {head.name}", "error", claim, lines)
        at, half = (own.power, step.before.rate), PowerBound(Fraction(1, 2), 0)
        yield from self.decay_of(f"head {head.name}", number(own.factor), at, half, "eta/tau is at most 1/2")

    def rate(self, head: Head, rate: Fraction, law: LayerLaw) -> Iterator[Query]:
        """Yield queries about the gap over the temperature from N0 on."""
        start = self.writer.found.start
        for place in self.law.world.places:
            for gap in law.heads[head.name].rows[place.order].gaps:
                less = f"(< {ratio(gap)} (* {number(rate)} n {self.writer.tau}))"
                lines = (*query_lines(self.law.world, place), f"(assert (<= {number(start)} n))", f"(assert {less})")
                claim = f"{gap} over the temperature is at least {rate} n from n = {start} on"
                yield Query(f"head {head.name}, query at {place.name}", "rate", claim, lines)

    def entering(self, depth: int, step: LayerStep) -> list[str]:
        """Return formulas that are true where errors before a layer are less than those after the layer before it."""
        if not depth:
            return []
        return grows(self.writer.found.steps[depth - 1].after, step.before)

    def weights(self, step: LayerStep, name: str, law: LayerLaw) -> list[tuple[Fraction, int, Fraction]]:
        """Return bounds of the error of a head's weights, each as factor, power and rate: 2 n e^(-r n), times e if
        scores are off; and eta/tau where several positions may have the largest score."""
        found, terms = step.weights[name], list[tuple[Fraction, int, Fraction]]()
        if found.rate is not None:
            terms.append((2 * EULER if found.eta.factor else Fraction(2), 1, found.rate))
        if found.eta.factor and not all(row.unique for row in law.heads[name].rows.values()):
            terms.append((found.over.factor, found.over.power, step.before.rate or Fraction(0)))
        return terms

    def attention(self, network: Layer, step: LayerStep, law: LayerLaw) -> list[str]:
        """Return formulas that are true where the errors after attention are too small."""
        after, wrong = step.attended, list[str]()
        own = {name: [number(factor)] for name, factor in step.before.factors.items()}
        rates = [(step.before.power, step.before.rate)] if step.before.rate is not None else []
        for plan in network.heads:
            weights = self.weights(step, plan.name, law) if plan.name in step.weights else []
            for out, terms in plan.values:
                parts = own[self.name(out)]
                parts.append(self.off(terms, step.before))
                reach = step.reaches[plan.name, self.name(out)]
                for factor, more, rate in weights:
                    parts.append(f"(* {number(factor)} {number(reach.factor)})")
                    rates += [(more + reach.power, rate)] if reach.factor else []
        for name, parts in own.items():
            wrong.append(f"(< {number(after.factors[name])} {total(parts)})")
        for exponent, rate in dict.fromkeys(rates):
            wrong += slower(after, exponent, rate)
        return wrong

    def forward(self, network: Layer, step: LayerStep) -> list[str]:
        """Return formulas that are true where the errors after the layer are too small."""
        own = {name: [number(factor)] for name, factor in step.attended.factors.items()}
        for unit, margin in zip(network.ffn.units, step.margins, strict=True):
            if margin is None:
                for k, c in unit.outs:
                    own[self.name(k)].append(times(abs(Fraction(c)), self.off(unit.form, step.attended)))
        wrong = [f"(< {number(step.after.factors[name])} {total(parts)})" for name, parts in own.items()]
        return [*wrong, *(slower(step.after, step.attended.power, step.attended.rate) if step.after.rate else [])]

    def units(self, depth: int, network: Layer, step: LayerStep, law: LayerLaw) -> Iterator[Query]:
        """Yield queries about clips that forget their errors."""
        for unit, margin, (read, _) in zip(network.ffn.units, step.margins, law.units, strict=True):
            if margin is not None:
                far = "(ite (< (- x) (- x 1.0)) (- x 1.0) (- x))"
                about = f"clip for '{self.name(unit.outs[0][0])}' of layer {depth + 1}"
                claim = f"its input stays {margin.factor} n^{margin.power} or more inside a part where it is constant"
                for place in self.law.world.places:
                    lines = (*query_lines(self.law.world, place), *number_in("x", read[place.order]))
                    yield Query(f"{about} at {place.name}", "margin", claim, (
                        *lines, f"(assert (< {far} {grown(margin)}))"))  # fmt: skip
                off, error = self.off(unit.form, step.attended), step.attended
                yield from self.decay_of(about, off, (error.power, error.rate), margin, "its input is off by no more")

    def decay_of(self, about: str, off: str, at: tuple[int, Fraction | None], limit: PowerBound,
                 claim: str) -> Iterator[Query]:  # fmt: skip
        """Yield a query that `off n^p e^(-r n)` is at most a limit from N0 on, by one of the checked inequalities."""
        power, rate = at[0] - limit.power, at[1] or Fraction(0)
        some = []
        for check in self.writer.found.checks:
            size, exponent = f"(<= {off} {number(check.factor)})", f"(<= {power}.0 {check.power}.0)"
            fall = f"(<= {number(check.rate)} {number(rate)})"
            some.append(both((size, exponent, fall, f"(<= {number(check.limit)} {number(limit.factor)})")))
        # An inequality with a larger factor and power, a smaller rate and a smaller limit implies this one.
        wrong = f"(and (< 0.0 {off}) (not {either(some)}))"
        yield Query(about, "error", f"{claim} from N0 on, by an inequality below", (f"(assert {wrong})",))

    def output(self) -> Iterator[Query]:
        """Yield queries about the distance of the output, and about its error."""
        program, limit = self.writer.program, self.writer.found.output
        last = self.writer.found.steps[-1].after if self.writer.found.steps else None
        # Without layers the output has no error.
        if last is None:
            return
        largest = [number(last.factors[name]) for name in program.answers]
        if limit is None:
            yield from self.constant("output", "error", "it is exact", [f"(< 0.0 {one})" for one in largest])
            return
        columns = self.law.layers[-1].leaving
        real = [place for place in self.law.world.places if place.order]
        for place in real if program.maps else [real[0] if program.reading == "first" else real[-1]]:
            for name in program.answers:
                yield from self.distance(place, columns[name][place.order], limit)
        for name in program.answers:
            off, at = number(last.factors[name]), (last.power, last.rate)
            yield from self.decay_of("output", off, at, limit, "it is off by less than half of its distance")

    def distance(self, place: Place, span: NumberSpan, limit: PowerBound) -> Iterator[Query]:
        """Yield queries about the distance of an output from the nearest value with another meaning."""
        # `output` is half of the distance (see `Induction.output`).
        twice = times(2, grown(limit))
        lines = list(query_lines(self.law.world, place))
        if self.writer.program.integers:
            unit = simplest(Ratio.of(1) / self.law.world.n)
            wrong = off_lattice(NumberSpan(0, 0, 0, unit), [(1, span)])
            wrong.append(f"(< (/ 1.0 (* 2.0 n)) {twice})")
            claim = "outputs are multiples of 1/n, half of which is twice as far as the error may be"
        else:
            threshold = number(self.writer.program.threshold or 0)
            more, wrong = number_away("x", span, Fraction(self.writer.program.threshold or 0), place.domains)
            lines += more
            wrong += [both((f"(< (- x {threshold}) {twice})", f"(< (- {threshold} x) {twice})"))]
            claim = f"it is at least twice {limit.factor} n^{limit.power} away from the threshold"
        yield Query(f"output at {place.name}", "margin", claim, (*lines, f"(assert {either(wrong)})"))

    def decay(self, what: str, factor: Fraction, exponent: int, rate: Fraction, limit: Fraction) -> Iterator[Query]:
        """Yield queries that F n^p e^(-r n) <= M from N0 on."""
        start = self.writer.found.start
        claim = f"{factor} n^{exponent} e^(-{rate} n) <= {limit}"
        left = f"(* {number(factor * start**exponent)} x)"
        yield Query(what, "decay", f"{claim} at n = {start}", (
            *small("x", rate * start), f"(assert (> {left} {number(limit)}))"))  # fmt: skip
        yield Query(what, "decay", f"{claim} falls from n = {start} on: p/n <= r", (
            "(declare-const n Real)", f"(assert (<= {number(start)} n))",
            f"(assert (< {number(rate)} (/ {exponent}.0 n)))"))  # fmt: skip


def slower(error: Decay, power: int, rate: Fraction | None) -> list[str]:
    """Return formulas that are true where a bound falls faster than the function that it should bound."""
    known = error.rate is not None and rate is not None
    fast = f"(< {number(rate or 0)} {number(error.rate or 0)})" if known else "true"
    return [f"(< {error.power}.0 {power}.0)", fast]


def grows(before: Decay, after: Decay) -> list[str]:
    """Return formulas that are true where errors are less than those before."""
    wrong = [f"(< {number(after.factors[name])} {number(factor)})" for name, factor in before.factors.items()]
    return wrong if before.rate is None else [*wrong, *slower(after, before.power, before.rate)]


def program_writer(
    model: Transformer, program: Program, law: ProgramLaw, argument: ProgramArgument, exact: bool
) -> ProgramWriter:
    """Return the writer for an argument; `model` is the program's network at its temperature. Raises NotProved if there
    is no argument; NoRatio if the temperature is no rational function."""
    if argument.start is None or not isinstance(model.temperature, Arith):
        raise NotProved(argument.reason or f"the temperature {model.temperature} is not known for all lengths")
    claim = DecayClaim(program, law, exact, lambda _: ())
    return ProgramWriter(model, program, law, claim.from_on(InverseTemperature.of(model.temperature), argument.start))


def program_text(made: ProgramWriter, title: str) -> str:
    """Return all queries of a program as the text of one file; `title` is its heading."""
    return text_of(list(made.steps()), title, ())
