"""SMT-LIB 2 queries about scores of a row that follow from types, for programs and hard-attention models (see
`programs.smt`).

A coordinate at one position is written out from the network's own numbers, back to the embedding. The symbol is one
of the alphabet; hidden units and sums are computed. The value that a head reads is within its span or, if the head
reads one key, is one of the joint values that keys have. These are the steps, for queries at one kind of position:

 - *types*: the forms of the query take one of the claimed joint values; so do the values that a head reads at one
   key;
 - *levels*: with one of these joint values, consider two scores of which one is no less than the other and than those
   at positions that are always visible. They are equal or differ by at least one of the claimed functions. Other
   claims about the largest scores are checked, too: that the largest is unique, that the beginning of the sequence or
   other positions have it, that all scores are equal, or that the head reads one value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import chain
from typing import Protocol

from hardsim.lang.valuations import Valuations
from hardsim.lazy_dataclass import dataclass
from hardsim.network.transformer import AttentionHead, HiddenUnit, Terms, Transformer
from hardsim.program.hard_attention import Head, Program
from hardsim.proof.programs.lattice import NumberSpan
from hardsim.proof.programs.law import Law
from hardsim.proof.programs.places import J, Place
from hardsim.proof.programs.rows import Row
from hardsim.proof.programs.smt_rows import W, key_at, length_text, query_lines
from hardsim.proof.programs.types import RULE, TypedRows, Types, free, picked_types
from hardsim.proof.shared.ratios import Ratio, Value, simplest
from hardsim.proof.shared.smt import Query, both, either, number, ratio, times, total

PAIR = 2
"""Number of keys at places of several positions in the queries about pairs."""


class NumberedProgram(Protocol):
    """Program together with its network, in which coordinates have numbers. Queries are written from both."""

    model: Transformer
    program: Program

    @property
    def index(self) -> dict[str, int]:
        """Number of each coordinate, by name."""
        ...


@dataclass
class PositionTerms:
    """SMT terms for the coordinates at one position. `tag` begins the names that are declared; `name` is the
    variable of the position (None: i)."""

    network: NumberedProgram
    law: Law
    place: Place
    tag: str
    name: Ratio | None = None
    picked: dict[tuple[int, int], Types] = field(default_factory=dict)
    """Joint values of the coordinates that heads write, by layer and number of the head in it, both from 0."""

    def __post_init__(self) -> None:
        self._letters: dict[int, str] = {}
        self._lines: list[str] = []
        self._terms: dict[tuple[str, int, int], str] = {}

    @property
    def lines(self) -> list[str]:
        """Declarations and definitions of all terms that were requested so far."""
        return [*self._symbol(), *self._lines]

    def form(self, terms: Terms, depth: int) -> str:
        """Return the term of a linear form of the coordinates before layer `depth`, counted from 0."""
        return total(times(c, self.coordinate(k, depth)) for k, c in terms)

    def coordinate(self, k: int, depth: int) -> str:
        """Return the term of a coordinate before layer `depth`."""
        columns = self.law.layers[depth].entering
        span = columns[self.network.model.coordinates[k]][self.place.order]
        if span.exact:
            return ratio(self.at(span.offset))
        return self._left(k, depth - 1) if depth else self._input(k)

    def at(self, value: Value) -> Value:
        """Return a function of i in the variable of this position."""
        moves = self.name is not None and self.place.several and isinstance(value, Ratio)
        return simplest(value.at({"i": self.name})) if moves and isinstance(value, Ratio) and self.name else value

    def equal(self, terms: Sequence[str], values: Sequence[Value]) -> str:
        """Return the formula that each term equals its value."""
        return both(f"(= {term} {ratio(self.at(value))})" for term, value in zip(terms, values, strict=True))

    # ---- from layer to layer ----

    def _defined(self, kind: str, k: int, depth: int, parts: Sequence[str]) -> str:
        """Return the term of a sum. A sum of several terms gets a name and a definition."""
        if len(parts) == 1:
            return parts[0]
        name = self._terms.get((kind, k, depth))
        if name is None:
            name = self._terms[kind, k, depth] = f"{self.tag}{kind}{depth}.{k}"
            self._lines.append(f"(define-fun {name} () Real {total(parts)})")
        return name

    def _left(self, k: int, depth: int) -> str:
        """Return the term of a coordinate after layer `depth`."""
        span = self.law.layers[depth].leaving[self.network.model.coordinates[k]][self.place.order]
        if span.exact:
            return ratio(self.at(span.offset))
        network = self.network.model.layers[depth].ffn
        parts = [self._attended(k, depth)]
        for place, unit in enumerate(network.units):
            for out, weight in unit.outs:
                if out == k:
                    parts.append(times(weight, self._unit(place, unit, depth)))
        parts += [number(bias) for out, bias in network.biases if out == k]
        return self._defined("y", k, depth, parts)

    def _unit(self, place: int, unit: HiddenUnit, depth: int) -> str:
        name = self._terms.get(("u", place, depth))
        if name is None:
            read = [times(c, self._attended(k, depth)) for k, c in unit.form]
            term = total([*read, number(unit.bias)])
            above = f"(ite (< 1.0 {term}) 1.0 {term})" if unit.clip else term
            name = self._terms["u", place, depth] = f"{self.tag}u{depth}.{place}"
            self._lines.append(f"(define-fun {name} () Real (ite (< {term} 0.0) 0.0 {above}))")
        return name

    def _attended(self, k: int, depth: int) -> str:
        """Return the term of a coordinate after the attention of layer `depth`."""
        out = self.network.model.coordinates[k]
        span = self.law.layers[depth].attended[out][self.place.order]
        if span.exact:
            return ratio(self.at(span.offset))
        heads = self.network.program.layers[depth].heads
        reads = [self._read(number_of, out, depth) for number_of, head in enumerate(heads)
                 if any(name == out for name, _ in head.values)]  # fmt: skip
        return self._defined("c", k, depth, [self.coordinate(k, depth), *reads])

    def _read(self, place: int, out: str, depth: int) -> str:
        law, head = self.law.layers[depth], self.network.program.layers[depth].heads[place]
        span = law.reads[head.name, out][self.place.order]
        if span.exact:
            return ratio(self.at(span.offset))
        names = self._picked(place, depth)
        if out in names:
            return names[out]
        k = self.network.index[out]
        name = self._terms.get((f"r{place}", k, depth))
        if name is None:
            name = self._terms[f"r{place}", k, depth] = f"{self.tag}r{depth}.{place}.{k}"
            self._lines += self._number(name, span)
        return name

    def _picked(self, place: int, depth: int) -> dict[str, str]:
        """Return the names of the variables for the values that a head reads at one key. The first call declares
        them, and asserts that they take one of the joint values."""
        law, head = self.law.layers[depth], self.network.program.layers[depth].heads[place]
        known = law.heads.get(head.name)
        outs, joint = (
            ((), []) if known is None else picked_types(law.types, head, self.place, known.rows[self.place.order])
        )
        names = {out: f"{self.tag}p{depth}.{place}.{self.network.index[out]}" for out in outs}
        # Variables are declared once, by the first term that needs them.
        if outs and (depth, place) not in self.picked:
            self.picked[depth, place] = joint
            self._lines += [f"(declare-const {name} Real)" for name in names.values()]
            self._lines.append(f"(assert {either(self.equal([*names.values()], values) for values in joint)})")
        return names

    # ---- the input ----

    def _input(self, k: int) -> str:
        parts = [self._letter(k)]
        for place, (number_of, value) in enumerate(self.network.model.encodings):
            if number_of == k:
                span = self.place.evaluate(value)
                if span.exact:
                    parts.append(ratio(self.at(span.offset)))
                    continue
                own = f"{self.tag}e{place}"
                if ("e", place, 0) not in self._terms:
                    self._terms["e", place, 0] = own
                    self._lines += self._number(own, span)
                parts.append(own)
        return self._defined("x", k, 0, parts)

    def _letter(self, k: int) -> str:
        return self._letters.setdefault(k, f"{self.tag}a{k}")

    def _symbol(self) -> list[str]:
        """Return the lines that tie the requested embedding coordinates to one symbol of the alphabet, or to the
        beginning of the sequence."""
        rows = self.network.model.embedding.rows()
        names, alphabet = self._letters, self.network.model.alphabet
        lines = [f"(declare-const {name} Real)" for name in names.values()]
        if not names:
            return []
        # BOS has the last row of the embedding.
        if not self.place.order:
            return [*lines, f"(assert {self.equal([*names.values()], [rows[-1].get(k, 0) for k in names])})"]
        if not isinstance(alphabet, Valuations):
            some = dict.fromkeys(tuple(row.get(k, 0) for k in names) for row in rows[: len(alphabet)])
            return [*lines, f"(assert {either(self.equal([*names.values()], values) for values in some)})"]
        held = [f"{self.tag}h{place}" for place in range(len(alphabet.props))]
        index = {name: place for place, name in enumerate(alphabet.props)}
        lines += [f"(declare-const {name} Real)" for name in held]
        for part, choices in zip(alphabet.parts, alphabet.choices, strict=True):
            cases = ([int(name in choice) for name in part] for choice in choices)
            lines.append(f"(assert {either(self.equal([held[index[name]] for name in part], case) for case in cases)})")
        for k, name in names.items():
            terms = [times(row[k], held[place]) for place, row in enumerate(rows[:-1]) if k in row]
            lines.append(f"(assert (= {name} {total([*terms, number(rows[-1].get(k, 0))])}))")
        return lines

    def _number(self, name: str, span: NumberSpan) -> list[str]:
        """Return declarations of a number of a span, with its bounds and, if it has few values, the list of these."""
        low, high = (ratio(self.at(end)) for end in (span.low, span.high))
        lines = [f"(declare-const {name} Real)", f"(assert (and (<= {low} {name}) (<= {name} {high})))"]
        few = free(span, ())
        if few is not None:
            lines.append(f"(assert {either(f'(= {name} {ratio(value)})' for value in few.values)})")
        return lines


@dataclass
class TypeQueries:
    """Queries that check the types rule for one head of layer `depth` (from 0), for queries at one place."""

    network: NumberedProgram
    law: Law
    depth: int
    plan: AttentionHead
    head: Head
    place: Place
    row: Row

    def steps(self) -> Iterator[Query]:
        """Yield all queries of the head."""
        world = self.law.world
        seen = [key for key in world.places if world.sees(self.place, key, self.plan.mask) is not None]
        single, several = [key for key in seen if not key.several], [key for key in seen if key.several]
        if not several and len(single) == 1:
            return  # only one key is visible
        typed = TypedRows(world, self.head, self.place, self.law.layers[self.depth].types)
        query = self._position(self.place, "q", None)
        forms = [query.form(left, self.depth) for left, _ in self.plan.scores]
        claim = f"its forms take one of {len(typed.queries)} joint values"
        wrong = [f"(not {either(query.equal(forms, values) for values in typed.queries)})"]
        yield from self._query("types", claim, query.lines, wrong)
        yield from self._picks(query)
        for number_of, values in enumerate(typed.queries, 1):
            keys = [self._position(key, f"k{key.order}", None) for key in single]
            some = [
                self._position(key, f"{name}{key.order}", at) for key in several for name, at in (("k", J), ("w", W))
            ]
            # Queries with no, one and two keys at places of several positions.
            for more in ([], some[:1], some)[: 3 if several else 1]:
                yield from self._levels(f"for joint value {number_of} of the query, ", values, keys, more)
                for position in (*keys, *more):
                    yield from self._picks(position)

    def _position(self, place: Place, tag: str, name: Ratio | None) -> PositionTerms:
        return PositionTerms(self.network, self.law, place, tag, name)

    def _levels(
        self, when: str, values: Sequence[Value], keys: Sequence[PositionTerms], more: Sequence[PositionTerms]
    ) -> Iterator[Query]:
        """Yield queries that check the claimed scores for one type of query. `keys` are the keys at single places, and
        `more` one or two keys at places of several positions. With two of them only what involves both is checked."""
        scores: dict[str, str] = {}
        own = dict[str, dict[str, str]]()
        for position in (*keys, *more):
            terms = [f"(* {ratio(q)} {position.form(key, self.depth)})" for q, (_, key) in
                     zip(values, self.plan.scores, strict=True) if q != 0]  # fmt: skip
            scores[position.tag] = total(terms)
            outs = {self.network.model.coordinates[k]: terms for k, terms in self.plan.values}
            own[position.tag] = {out: position.form(outs[out], self.depth) for out in self.row.agreed if out in outs}
        lines = [*self._places(more), *chain.from_iterable(position.lines for position in (*keys, *more))]
        lines += [f"(define-fun s{tag} () Real {score})" for tag, score in scores.items()]
        # Pairs with a single place are covered by the queries with fewer keys.
        tags = [*scores] if len(more) < PAIR else [position.tag for position in more]
        always = [position.tag for position in keys]
        wrong = [one for x in tags for y in tags if x != y for one in self._apart(x, y, always, own)]
        claims = self.claims if self.row.rules == (RULE,) else []
        if self.row.rules == (RULE,) and len(more) < PAIR:
            wrong += self._largest(tags)
        claims_text = [*claims, *(f"the values for '{out}' are one" for out in self.row.agreed)]
        yield from self._query("levels", when + "; ".join(claims_text), lines, wrong)

    @property
    def claims(self) -> list[str]:
        """Claims about the scores, as texts."""
        gaps = " or ".join(map(str, self.row.gaps))
        claims_text = [f"scores differ by {gaps} at least, or not at all" if gaps else "all scores are equal"]
        claims_text += ["the largest is unique"] * (self.row.unique and bool(gaps))
        return claims_text + ["the beginning of the sequence has the largest"] * self.row.first

    def _places(self, more: Sequence[PositionTerms]) -> Iterator[str]:
        """Yield lines that declare the positions of the keys at places of several positions."""
        for name, position in zip("jw", more, strict=False):
            yield f"(declare-const {name} Real)"
            yield f"(assert {key_at(position.place, self.plan.mask, name)})"
        if len(more) == PAIR:
            yield "(assert (or (<= (+ j 1.0) w) (<= (+ w 1.0) j)))"

    def _apart(self, x: str, y: str, always: Sequence[str], own: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
        """Yield formulas for a counterexample to the claims in which the key x has the largest score, and y is
        another key."""
        # x has the largest score only if it is no less than all positions that are always visible.
        top = [f"(<= s{tag} s{x})" for tag in dict.fromkeys((*always, y)) if tag != x]
        same = f"(= s{x} s{y})"
        if self.row.rules == (RULE,):
            below = [f"(< (- s{x} s{y}) {ratio(gap)})" for gap in self.row.gaps]
            yield both([*top, f"(not {same})", *below])
            if self.row.unique:
                yield both([*top, same])
        for out, value in own[x].items():
            if value != own[y][out]:
                yield both([*top, same, f"(not (= {value} {own[y][out]}))"])

    def _largest(self, tags: Sequence[str]) -> Iterator[str]:
        """Yield formulas for a counterexample to the claim that known places have the largest score."""
        if self.row.first:
            yield from (f"(< sk0 s{tag})" for tag in tags if tag != "k0")
        best = self.row.winners if self.row.winner is None else (self.row.winner,)
        for order in best:
            for tag in tags:
                if tag != f"k{order}":
                    yield f"(not (= sk{order} s{tag}))" if int(tag[1:]) in best else f"(<= sk{order} s{tag})"

    def _picks(self, position: PositionTerms) -> Iterator[Query]:
        """Yield queries that each value a head reads at one key is one of the claimed joint values."""
        for (depth, place), joint in position.picked.items():
            head = self.network.program.layers[depth].heads[place]
            plan = self.network.model.layers[depth].heads[place]
            row = self.law.layers[depth].heads[head.name].rows[position.place.order]
            outs, _ = picked_types(self.law.layers[depth].types, head, position.place, row)
            below = TypeQueries(self.network, self.law, depth, plan, head, position.place, row)
            yield from below.picked(outs, joint)

    def picked(self, outs: Sequence[str], joint: Types) -> Iterator[Query]:
        """Yield queries that every visible key carries one of the claimed joint values."""
        world, values = self.law.world, {self.network.model.coordinates[k]: terms for k, terms in self.plan.values}
        for key in world.places:
            if world.sees(self.place, key, self.plan.mask) is None or self.row.winner not in (None, key.order):
                continue
            position = self._position(key, "k", J if key.several else None)
            forms = [position.form(values[out], self.depth) for out in outs]
            wrong = [f"(not {either(position.equal(forms, some) for some in joint)})"]
            claim = f"the value read at {key.name} is one of {len(joint)} joint values"
            where = ["(declare-const j Real)", f"(assert {key_at(key, self.plan.mask, 'j')})"]
            yield from self._query("types", claim, [*where, *position.lines], wrong)
            yield from self._picks(position)

    def _query(self, kind: str, claim: str, lines: Sequence[str], wrong: Sequence[str]) -> Iterator[Query]:
        """Yield one query that asserts the negation of a claim; none if nothing can be wrong."""
        if wrong:
            own = (*query_lines(self.law.world, self.place), *lines, f"(assert {either(wrong)})")
            about = f"head {self.head.name}, query at {self.place.name}{length_text(self.law.world)}"
            yield Query(about, kind, claim, own)
