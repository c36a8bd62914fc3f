"""SMT-LIB 2 queries about rows whose scores are one product q k, for programs and hard-attention models (see
`programs.smt`).

- *product*: the query form lies in its span, keys are on a lattice of step s; two scores that differ do so by |q|
  times a multiple of s, and |q| is at least one of the claimed functions where it is not 0;
- *order*: if the largest score is claimed to be unique, q is not 0, one single key is above all others, and one
  below.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hardsim.lazy_dataclass import dataclass
from hardsim.network.transformer import AttentionHead, Terms
from hardsim.proof.programs.lattice import NumberSpan, linear, plus, positive, times
from hardsim.proof.programs.places import J, Place, World
from hardsim.proof.programs.rows import Columns, ProductRule, Row
from hardsim.proof.programs.smt_rows import key_at, length_text, less, query_lines, steps_of
from hardsim.proof.programs.smt_spans import (
    Part,
    ends,
    number_away,
    number_of,
    number_through,
    off_lattice,
    off_zeros,
    outside,
    span_text,
    zeros_text,
)
from hardsim.proof.shared.smt import Query, both, either, ratio


@dataclass(frozen=True)
class ProductQueries:
    """Queries about the scores of one head for queries at one place. `names` are the names of the network's
    coordinates."""

    world: World
    plan: AttentionHead
    place: Place
    columns: Columns
    names: Sequence[str]
    row: Row

    @property
    def rule(self) -> ProductRule:
        """Claimed facts about query and keys."""
        assert self.row.product is not None
        return self.row.product

    def query(self, kind: str, claim: str, wrong: Sequence[str], lines: Sequence[str] = ()) -> Iterator[Query]:
        """Yield one query that asserts the formulas in `wrong`, any of which denies the claim; yield none if there
        are no formulas."""
        if wrong:
            own = (*query_lines(self.world, self.place), *lines, f"(assert {either(dict.fromkeys(wrong))})")
            about = f"head {self.plan.name}, query at {self.place.name}{length_text(self.world)}"
            yield Query(about, kind, claim, own)

    def parts(self, form: Terms, place: Place) -> list[Part]:
        """Return a linear form at a place as multiples of spans."""
        return [(c, self.columns[self.names[k]][place.order]) for k, c in form]

    def keys(self, form: Terms) -> dict[int, tuple[list[Part], list[str]]]:
        """Return by order of the place, for each visible place of keys, a linear form as multiples of spans, and
        lines that declare the position of the key."""
        found = dict[int, tuple[list[Part], list[str]]]()
        for place in self.world.places:
            if self.world.sees(self.place, place, self.plan.mask) is not None:
                some = self.parts(form, place)
                parts = [(c, span.at({"i": J}) if place.several else span) for c, span in some]
                lines = ["(declare-const j Real)", f"(assert {key_at(place, self.plan.mask, 'j')})"]
                found[place.order] = parts, lines
        return found

    def steps(self) -> Iterator[Query]:
        """Yield all queries about the scores."""
        ((left, right),) = self.plan.scores
        query, domains = self.rule.query, self.place.domains
        own, keys = self.parts(left, self.place), self.keys(right)
        yield from self.query("product", f"the query is {span_text(query)}", outside(query, own))
        lines, wrong = off_zeros(query, own, domains)
        yield from self.query("zero", f"the query is {zeros_text(query)}", wrong, lines)
        lattice = NumberSpan(0, 0, self.rule.keys.offset, self.rule.keys.step)
        for parts, at in keys.values():
            claim = f"keys are in {lattice.offset} + {lattice.step} Z"
            yield from self.query("product", claim, off_lattice(lattice, parts), at)
        yield from self.gap(query, lattice)
        if self.row.unique:
            for sign in (1, -1):
                yield from self.extreme(keys, sign)

    def gap(self, query: NumberSpan, lattice: NumberSpan) -> Iterator[Query]:
        """Yield queries that two scores that differ do so by at least one of the row's functions."""
        domains, step = self.place.domains, lattice.step or 0
        # q is known to avoid 0.
        if self.rule.away:
            lines, wrong = number_away("q", query, 0, domains)
            wrong += ["(= q 0.0)"]
        else:
            lines, wrong = number_of("q", query, domains)
            more, none = number_through("q", query, 0, domains)
            lines, wrong = [*lines, *more], [*wrong, *none]
        size = "(ite (< (* q v) 0.0) (- (* q v)) (* q v))"
        lines = [*lines, *steps_of("v", step)]
        close = [f"(< {size} {ratio(gap)})" for gap in self.row.gaps]
        wrong.append(both(("(not (= (* q v) 0.0))", *close)))
        claim = f"scores differ by {' or '.join(map(str, self.row.gaps))} at least, or not at all"
        yield from self.query("product", f"{lattice.step} is positive", [f"(<= {ratio(step)} 0.0)"])
        yield from self.query("gap", f"{claim} ({self.row.rules[0]})", wrong, lines)

    def extreme(self, keys: dict[int, tuple[list[Part], list[str]]], sign: int) -> Iterator[Query]:
        """Yield queries that one single key is above (1) or below (-1) all others."""
        places = {place.order: place for place in self.world.places}
        # The prover names no place, so the one that it used is found again.
        alone = next((order for order in keys if not places[order].several and self.beats(order, keys, sign)), None)
        if alone is None:
            yield from self.query("order", "one single key is beyond all others", ["true"])
            return
        own = ends(keys[alone][0])
        for order, (parts, at) in keys.items():
            if order != alone:
                other = ends(parts)
                apart = less(own[0], other[1]) if sign > 0 else less(other[0], own[1])
                alphabet_lines = f"keys at {places[alone].name} are {'above' if sign > 0 else 'below'} those at"
                yield from self.query("order", f"{alphabet_lines} {places[order].name}", [f"(<= {apart.text} 0.0)"], at)

    def beats(self, alone: int, keys: dict[int, tuple[list[Part], list[str]]], sign: int) -> bool:
        """Return True if a single key is above (1) or below (-1) all others by the bounds of their spans."""
        spans = {order: linear([(span, c) for c, span in parts]) for order, (parts, _) in keys.items()}
        for place in self.world.places:
            reach = self.world.sees(self.place, place, self.plan.mask)
            if reach is not None and place.order != alone:
                pair = (spans[alone], spans[place.order]) if sign > 0 else (spans[place.order], spans[alone])
                if not positive(plus(pair[0].low, times(pair[1].high, -1)), reach.domains):
                    return False
        return True
