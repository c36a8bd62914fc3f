"""SMT-LIB 2 queries about the scores of a row, for programs and hard-attention models (see `programs.smt`).

A coordinate at one kind of position is its span's offset plus an integer times its step, which has queries of its
own. So a score, stated from the rows of W_Q and W_K, is a function of i, j and n, plus multiples of integers; a row
is multiplied by m where a coordinate of the query is 1/m. These are the steps, about groups of keys and about
single keys against others (`rows` has the rules):

 - *groups*: every two visible keys are of one group of neighbours, or a single key and another;
 - *scores*: two scores differ by t(j) - t(w) (by t(j), if one is of a single key) plus an integer times the step s,
   coefficient by coefficient. The factor of each integer is s times a polynomial with integer coefficients, which is
   written out, so that no solver has to look for integers;
 - *gap*: two scores that differ do so by at least one of the claimed functions. The query uses that an integer times
   s is 0, or at least s in size;
 - *look-up*: a score is V j - W j^2 plus a term that is the same for the row, and V/W - 1 is t plus an integer times
   s, of which 2 is a multiple; the largest score is no less than the one beside it;
 - *order*: which of two scores is larger, where that is claimed, with every coordinate anywhere between its ends;
 - *twice*: two single keys that differ have scores that add up to twice those of others, all equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, combinations, pairwise

from hardsim.lazy_dataclass import dataclass
from hardsim.network.numbers import Mask
from hardsim.network.transformer import AttentionHead, Terms
from hardsim.program.hard_attention import Head
from hardsim.proof.programs.lattice import multiple, plus
from hardsim.proof.programs.lattice import times as product
from hardsim.proof.programs.places import J, Place, World
from hardsim.proof.programs.rows import Columns, Difference, Group, Pieces, Row, ScoreRows, powers
from hardsim.proof.programs.types import RULE
from hardsim.proof.shared.ratios import Ratio, Value, simplest
from hardsim.proof.shared.result import NotProved
from hardsim.proof.shared.smt import Query, both, either, number, ratio, times, total

W = Ratio.variable("w")
LATTICE = "lattice"
"""Name of the rule that two scores differ by a multiple of a step."""
BOTH_STEPS = 2
"""Difference of V/W - 1 between the pairs of neighbours (j - 1, j) and (j, j + 1): a step of a look-up divides it."""


def negative(term: str) -> str:
    """Return the negative of a term."""
    return f"(- {term})"


def moved(value: Value, place: Place, name: Ratio = J) -> Value:
    """Return a function at a place of keys, in the variable of the key's position (j or w)."""
    return simplest(value.at({"i": name})) if place.several and isinstance(value, Ratio) else value


@dataclass(frozen=True)
class FractionTerm:
    """Term of a numerator, over a polynomial. Solvers decide identities without divisions at once."""

    top: str
    bottom: Value = 1

    @staticmethod
    def of(value: Value) -> FractionTerm:
        """Return the term of a function."""
        if not isinstance(value, Ratio):
            return FractionTerm(number(value))
        return FractionTerm(ratio(value * Ratio.of(_bottom(value))), _bottom(value))

    def over(self, bottom: Value) -> str:
        """Return the numerator over a multiple of the divisor."""
        # Multiplying out keeps divisions away from the solver.
        factor = simplest(Ratio.of(bottom) / self.bottom)
        return self.top if factor == 1 or self.top == "0.0" else f"(* {self.top} {ratio(factor)})"

    @property
    def text(self) -> str:
        """Term with its divisor."""
        return self.top if self.bottom == 1 else f"(/ {self.top} {ratio(self.bottom)})"

    @property
    def below_0(self) -> list[str]:
        """Formulas that are true if the fraction is negative or its divisor 0."""
        if self.bottom == 1:
            return [] if self.top == "0.0" else [f"(< {self.top} 0.0)"]
        bottom = ratio(self.bottom)
        # A divisor with positive coefficients is not negative, because i, j and n are not.
        positive = all(c.p > 0 for c in Ratio.of(self.bottom).top.to_dict().values())
        return [f"(< {self.top if positive else f'(* {self.top} {bottom})'} 0.0)", f"(= {bottom} 0.0)"]

    def __mul__(self, other: FractionTerm) -> FractionTerm:
        if "0.0" in (self.top, other.top):
            return NONE
        if "1.0" in (self.top, other.top):
            top = other.top if self.top == "1.0" else self.top
        else:
            top = f"(* {self.top} {other.top})"
        return FractionTerm(top, product(self.bottom, other.bottom))


NONE = FractionTerm("0.0")


def _bottom(value: Ratio) -> Value:
    return value.denominator.simplest


def common_bottom(parts: Iterable[FractionTerm]) -> Value:
    """Return the least common multiple of the divisors."""
    found: Value = 1
    for part in parts:
        found = part.bottom if found == 1 else simplest(Ratio.of(found).common_multiple(Ratio.of(part.bottom)))
    return found


def added(parts: Iterable[FractionTerm]) -> FractionTerm:
    """Return the sum of fractions."""
    some = [part for part in parts if part.top != "0.0"]
    bottom = common_bottom(some)
    return FractionTerm(total(part.over(bottom) for part in some), bottom) if some else NONE


def less(left: FractionTerm, right: FractionTerm) -> FractionTerm:
    """Return `left - right` for two fractions."""
    return added([left, right * FractionTerm.of(-1)])


def whole(value: Value, step: Value) -> tuple[FractionTerm, list[str]]:
    """Return a function as its step times a polynomial with integer coefficients, and formulas that are true if it
    has no such form."""
    if value == 0:
        return NONE, []
    if step == 0:
        return NONE, ["true"]
    found = FractionTerm.of(step) * FractionTerm.of(simplest(Ratio.of(value) / step))
    return found, [] if multiple(value, step) else ["true"]


def differ(equations: Iterable[tuple[FractionTerm, FractionTerm]]) -> list[str]:
    """Return SMT formulas of which one is true if some equation `left = right` is false or some divisor is 0."""
    wrong = list[str]()
    for pair in equations:
        bottom = common_bottom(pair)
        left, right = (part.over(bottom) for part in pair)
        wrong += [f"(not (= {left} {right}))"] if left != right else []
        wrong += [f"(= {ratio(bottom)} 0.0)"] if isinstance(bottom, Ratio) else []
    return list(dict.fromkeys(wrong))


def steps_of(name: str, step: Value) -> tuple[str, str]:
    """Return the declaration of an integer times a step: a real number that is 0, or no smaller in size than the
    step."""
    size = ratio(step)
    far = f"(or (= {name} 0.0) (<= {size} {name}) (<= {name} {negative(size)}))"
    return f"(declare-const {name} Real)", f"(assert {far if step != 0 else f'(= {name} 0.0)'})"


# ---- positions ----


def length_lines(world: World) -> tuple[str, ...]:
    """Return the declaration of the length."""
    if isinstance(world.n, Ratio):
        return "(declare-const n Real)", "(assert (<= 2.0 n))"
    return (f"(define-fun n () Real {number(world.n)})",)


def length_text(world: World) -> str:
    """Return the length as text for claims; empty if it is a variable."""
    return "" if isinstance(world.n, Ratio) else f", n = {world.n}"


def position(place: Place) -> str:
    """Return the position of a place that is one position, as a term."""
    return ratio(place.i)


def query_lines(world: World, place: Place) -> tuple[str, ...]:
    """Return the declarations of the length and the query's position."""
    if place.several:
        return (*length_lines(world), "(declare-const i Real)", "(assert (and (<= 2.0 i) (<= (+ i 1.0) n)))")
    return (*length_lines(world), f"(define-fun i () Real {position(place)})")


def key_at(key: Place, mask: Mask, name: str) -> str:
    """Return a formula that a position is at a place of keys and visible."""
    if not key.order:
        return f"(= {name} {position(key)})"
    where = f"(and (<= 2.0 {name}) (<= (+ {name} 1.0) n))" if key.several else f"(= {name} {position(key)})"
    seen = {
        Mask.NONE: "true",
        Mask.FUTURE: f"(<= {name} i)",
        Mask.STRICT_FUTURE: f"(<= (+ {name} 1.0) i)",
        Mask.PAST: f"(<= i {name})",
        Mask.STRICT_PAST: f"(<= (+ i 1.0) {name})",
    }[mask]
    return both((where, seen))


# ---- scores ----


@dataclass(frozen=True)
class ScoreTerms:
    """Score as written in the matrices, at one place of keys: a function (`known`), and the factors of the integers
    of the query's coordinates, of the key's, and of both."""

    known: FractionTerm
    query: Mapping[str, FractionTerm]
    key: Mapping[str, FractionTerm]
    both: Mapping[tuple[str, str], FractionTerm]


@dataclass(frozen=True)
class RowQueries:
    """Queries about the scores of one head for queries at one place. `names` are the names of the network's
    coordinates."""

    world: World
    plan: AttentionHead
    head: Head
    place: Place
    columns: Columns
    names: Sequence[str]
    row: Row

    @cached_property
    def rows(self) -> ScoreRows:
        """Claimed forms of the scores."""
        return ScoreRows(self.world, self.head, self.place, self.columns)

    @cached_property
    def places(self) -> dict[int, Place]:
        """The world's places, by `Place.order`."""
        return {place.order: place for place in self.world.places}

    def steps(self) -> Iterator[Query]:
        """Yield all queries about the scores."""
        first, *others = self.rows.apart
        if not others and first.single:
            return  # only one key is visible
        if self.row.rules == (RULE,):
            return  # these rows have queries in `smt_types`
        groups = self.rows.groups
        claim = "every two keys are of one group of neighbours, or a single one and another"
        yield from self.query("groups", claim, [], [] if self.complete else ["true"])
        for group, found in zip(groups, self.row.inner, strict=True):
            if found is not None:
                yield from self.look_up(group, found) if found.rule == "look-up" else self.inner(group, found)
                if found.may_tie and self.row.unique:
                    yield from self.twice(group)
        for (a, b), found in self.row.pairs.items():
            yield from self.pair(groups[a], groups[b], found)
        winners = self.row.winners if self.row.winner is None else (self.row.winner,)
        if winners:
            yield from (one for key in self.rows.apart if key.places[0] not in winners
                        for one in self.order(winners[0], key.places[0], 1))  # fmt: skip
            yield from self.equal(winners)

    @property
    def complete(self) -> bool:
        """True if there are rules for every two visible keys, and groups consist of neighbours."""
        groups = self.row.groups
        visible = [key.order for key in self.world.places if self.world.sees(self.place, key, self.plan.mask)]
        neighbours = all(max(places) - min(places) == len(places) - 1 for places in groups)
        alone = [len(places) == 1 and not self.places[places[0]].several for places in groups]
        pairs = {frozenset(pair) for pair in combinations(range(len(groups)), 2)}
        ordered_pairs = {frozenset(pair) for pair in self.row.pairs if alone[pair[0]]}
        inner = all(single or rule is not None for single, rule in zip(alone, self.row.inner, strict=True))
        return neighbours and inner and sorted(chain.from_iterable(groups)) == visible and ordered_pairs == pairs

    def query(self, kind: str, claim: str, lines: Iterable[str], wrong: Sequence[str]) -> Iterator[Query]:
        """Yield one query that asserts the formulas in `wrong`, any of which denies the claim; yield none if there
        are no formulas."""
        if wrong:
            own = (*query_lines(self.world, self.place), *lines, f"(assert {either(wrong)})")
            about = f"head {self.head.name}, query at {self.place.name}{length_text(self.world)}"
            yield Query(about, kind, claim, own)

    # ---- from the matrices ----

    def offset(self, form: Terms, key: Place | None) -> FractionTerm:
        """Return the known part of a linear form of the query, or of the key at a place."""
        place = self.place if key is None else key
        spans = [(c, self.columns[self.names[k]][place.order]) for k, c in form]
        known = [(c, span.offset) for c, span in spans if span.step is not None]
        return added(
            FractionTerm.of(c) * FractionTerm.of(value if key is None else moved(value, key)) for c, value in known
        )

    def scores(self, key: Place) -> ScoreTerms:
        """Return the score of a key at a place, at position j; times m, if the query has a coordinate 1/m."""
        known: list[FractionTerm] = []
        query: dict[str, list[FractionTerm]] = {}
        keys: dict[str, list[FractionTerm]] = {}
        pairs: dict[tuple[str, str], list[FractionTerm]] = {}
        for left, right in self.plan.scores:
            q, k = self.offset(left, None), self.offset(right, key)
            known.append(q * k)
            some = [(self.names[x], c) for x, c in left if not self.columns[self.names[x]][self.place.order].exact]
            others = [(self.names[y], c) for y, c in right if not self.columns[self.names[y]][key.order].exact]
            for x, c in some:
                query.setdefault(x, []).append(FractionTerm.of(c) * k)
            for y, c in others:
                keys.setdefault(y, []).append(FractionTerm.of(c) * q)
            for x, c in some:
                for y, d in others:
                    pairs.setdefault((x, y), []).append(FractionTerm.of(c) * FractionTerm.of(d))
        found = {name: added(parts) for name, parts in query.items()}
        written = added(known)
        inverse = self.rows.inverse
        if inverse is not None:  # the row times m: the factor of 1/m becomes the known part, the rest a factor of m
            written, found[inverse] = found.get(inverse, NONE), written
        return ScoreTerms(
            written,
            found,
            {name: added(parts) for name, parts in keys.items()},
            {names: added(parts) for names, parts in pairs.items()},
        )

    def pieces(self, order: int) -> Pieces:
        """Return the claimed form of the scores of keys at one place."""
        return next(group for group in self.rows.apart if group.places == (order,)).pieces[0]

    def reached(self, order: int) -> str:
        """Return an assertion that j is at a place and visible."""
        return f"(assert {key_at(self.places[order], self.head.mask, 'j')})"

    def of_keys(self, order: int, step: Value) -> list[str]:
        """Return SMT formulas that deny a claim: the integers in the coordinates of a key change its score by multiples
        of `step` only. The claim holds if none of the formulas can be true. `order` is the key's `Place.order`."""
        scores, pieces, wrong = self.scores(self.places[order]), self.pieces(order), list[str]()
        for y, text in scores.key.items():
            wrong += self._multiple(text, pieces.of_key.get(y, 0), pieces.keys[y].step, step)
        for (x, y), text in scores.both.items():
            own, other = self.rows.step(x), pieces.keys[y].step
            size = None if own is None or other is None else product(own, other)
            wrong += self._multiple(text, pieces.of_both.get((x, y), 0), size, step)
        return wrong

    def _multiple(self, text: FractionTerm, value: Value, own: Value | None, step: Value) -> list[str]:
        """Return formulas that are true if a factor, times an integer times its step (None: times any number), is
        no multiple of another step."""
        if own is None:
            return differ([(text, NONE)])
        found, wrong = whole(product(value, own), step)
        return [*wrong, *differ([(FractionTerm.of(own) * text, found)])]

    # ---- keys of one form ----

    def inner(self, group: Group, found: Difference) -> Iterator[Query]:
        """Yield queries about two keys of a group."""
        step, reach = found.step, group.reach
        low = reach.low
        base = plus(reach.at(group.known, low), product(reach.at(found.rest, low), -1))
        for order in group.places:
            key, scores, pieces = self.places[order], self.scores(self.places[order]), self.pieces(order)
            rest = found.rest if key.several else reach.at(found.rest, key.i)
            more, wrong = whole(plus(plus(pieces.known, product(base, -1)), product(rest, -1)), step)
            wrong += differ([(scores.known, added([FractionTerm.of(base), FractionTerm.of(rest), more]))])
            for x, text in scores.query.items():
                own, same = self.rows.step(x), reach.at(group.of_query.get(x, 0), low)
                apart = plus(pieces.of_query.get(x, 0), product(same, -1))
                wrong += self._multiple(less(text, FractionTerm.of(same)), apart, own, step)
            wrong += self.of_keys(order, step)
            claim = f"scores of keys at {key.name} are equal for the row, plus {rest}, plus multiples of {step}"
            yield from self.query("scores", claim, [*self.declared("j"), self.reached(order)], wrong)
        # The two positions j > w may be at any places of the group.
        keys = [either(key_at(self.places[order], self.head.mask, name) for order in group.places) for name in "jw"]
        apart_by = f"(+ (- {ratio(found.rest)} {ratio(self._at_w(found.rest))}) v)"
        lines = [*self.declared("j", "w"), *(f"(assert {key})" for key in keys), "(assert (<= (+ w 1.0) j))"]
        yield from self.gap(found, found.may_tie, apart_by, lines)

    def declared(self, *names: str) -> Iterator[str]:
        """Yield lines of SMT-LIB that declare these names, each the position of a key, as real constants."""
        return (f"(declare-const {name} Real)" for name in names)

    def _at_w(self, value: Value) -> Value:
        return simplest(value.at({"j": W})) if isinstance(value, Ratio) else value

    def gap(self, found: Difference, tie: bool, difference: str, lines: Sequence[str]) -> Iterator[Query]:
        """Yield queries that two scores are equal (if `tie` allows it), or differ by at least one of the row's
        functions."""
        if found.step != 0:
            yield from self.query("step", f"{found.step} is positive", [], [f"(<= {ratio(found.step)} 0.0)"])
        wrong = self.below("(ite (< d 0.0) (- d) d)")
        wrong += ["(not (= d 0.0))"] if tie or not wrong else []
        claim = f"scores differ by {self.least} at least" if self.row.gaps else "scores are equal"
        own = [*lines, *steps_of("v", found.step), f"(define-fun d () Real {difference})"]
        yield from self.query("gap", f"{claim}{', or not at all' * tie} ({found.rule})", own, [both(wrong)])

    @property
    def least(self) -> str:
        """Claimed gap, as text."""
        return " or ".join(map(str, self.row.gaps))

    def below(self, size: str) -> list[str]:
        """Return formulas that are all true if a difference of scores is less than every claimed gap. In a row
        multiplied by m, each gap is multiplied by the largest m."""
        inverse = self.rows.inverse
        # The row is multiplied by m, so its gaps are, too; the largest m gives the strongest claim.
        most = 1 if inverse is None else self.rows.own[inverse].most or 1
        return [f"(< {size} {ratio(product(gap, most))})" for gap in self.row.gaps]

    def look_up(self, group: Group, found: Difference) -> Iterator[Query]:
        """Yield queries about a score that is concave in j."""
        known = powers(group.known) or []
        parts = {x: powers(factor) or [] for x, factor in group.of_query.items()}
        if len(known) != BOTH_STEPS + 1 or any(len(part) > BOTH_STEPS for part in parts.values()):
            raise NotProved(f"head {self.head.name} has a look-up that is not concave")
        same, slope, width = known[0], known[1], product(known[2], -1)
        for order in group.places:
            key, scores = self.places[order], self.scores(self.places[order])
            concave = added(
                [FractionTerm.of(same), FractionTerm.of(product(slope, J)), FractionTerm.of(product(known[2], J * J))]
            )
            lines = [(scores.known, concave)]
            for x, text in scores.query.items():
                part = [*parts.get(x, []), 0, 0]
                lines.append((text, added([FractionTerm.of(part[0]), FractionTerm.of(product(part[1], J))])))
            claim = (
                f"scores of keys at {key.name} are V j - W j^2 plus a term that is the same for the row, W = {width}"
            )
            wrong = [*differ(lines), *self.of_keys(order, 0)]
            yield from self.query("scores", claim, [*self.declared("j"), self.reached(order)], wrong)
        yield from self.query("look-up", f"W = {width} is positive", [], [f"(<= {ratio(width)} 0.0)"])
        over = simplest(Ratio.of(slope) / width)
        more, wrong = whole(plus(plus(over, -1), product(found.rest, -1)), found.step)
        # Neighbouring positions move V/W by 2, which must not leave the lattice.
        wrong += whole(BOTH_STEPS, found.step)[1]
        one_more = added([FractionTerm.of(1), FractionTerm.of(found.rest), more])
        wrong += differ([(FractionTerm.of(slope), FractionTerm.of(width) * one_more)])
        for x, part in parts.items():
            own = self.rows.step(x)
            value = [*part, 0, 0][1]
            if own is None:
                wrong += differ([(FractionTerm.of(value), NONE)])
                continue
            text, none = whole(simplest(Ratio.of(product(value, own)) / width), found.step)
            wrong += [*none, *differ([(FractionTerm.of(product(own, value)), FractionTerm.of(width) * text)])]
        claim = f"V/W - 1 is {found.rest} plus a multiple of {found.step}, of which 2 is one"
        yield from self.query("look-up", claim, [], wrong)
        yield from self.nearest(found, width)

    def nearest(self, found: Difference, width: Value) -> Iterator[Query]:
        """Yield queries about the largest score of a look-up against the one k positions before or after it."""
        lines = [*self.declared("k"), "(assert (<= 1.0 k))", *steps_of("v", found.step)]
        for side, sign in (("before", "(+ {} v)"), ("after", "(- (+ {} v))")):
            beside = sign.format(ratio(found.rest))
            own = [*lines, f"(define-fun u () Real {beside})", "(assert (<= 0.0 u))"]
            wrong = self.below(f"(* k {ratio(width)} (+ u (- k 1.0)))")
            claim = f"the largest score is at least {self.least} above any {side} it"
            yield from self.query("gap", f"{claim} ({found.rule})", own, [both(wrong)])

    # ---- a single key ----

    def pair(self, one: Group, other: Group, found: Difference) -> Iterator[Query]:
        """Yield queries about a single key against another, or against a group."""
        (alone,), step = one.places, found.step
        (first,), scores = one.pieces, self.scores(self.places[alone])
        for order in other.places:
            key, others, pieces = self.places[order], self.scores(self.places[order]), self.pieces(order)
            rest = found.rest if key.several else other.reach.at(found.rest, key.i)
            more, wrong = whole(plus(plus(first.known, product(pieces.known, -1)), product(rest, -1)), step)
            wrong += differ([(less(scores.known, others.known), added([FractionTerm.of(rest), more]))])
            for x in dict.fromkeys((*scores.query, *others.query)):
                text = less(scores.query.get(x, NONE), others.query.get(x, NONE))
                apart = plus(first.of_query.get(x, 0), product(pieces.of_query.get(x, 0), -1))
                wrong += self._multiple(text, apart, self.rows.step(x), step)
            wrong += [*self.of_keys(alone, step), *self.of_keys(order, step)]
            one_less = f"the score at {self.places[alone].name} minus those at {key.name}"
            claim = f"{one_less} is {rest} plus multiples of {step}"
            yield from self.query("scores", claim, [*self.declared("j"), self.reached(order)], wrong)
        reach = either(key_at(self.places[order], self.head.mask, "j") for order in other.places)
        lines = [*self.declared("j"), f"(assert {reach})"]
        ends = found.sign is not None and found.sign != 0 and found.rule == LATTICE
        if ends and self.row.unique:  # the bounds of both scores show that they differ
            for order in other.places:
                yield from self.order(alone, order, found.sign or 0)
        tie = not self.row.unique or ends
        yield from self.gap(found, tie, f"(+ {ratio(found.rest)} v)", lines)

    def equal(self, winners: Sequence[int]) -> Iterator[Query]:
        """Yield queries that the scores of some single keys are equal."""
        groups = [next(group for group in self.rows.groups if group.places == (order,)) for order in winners]
        for one, other in pairwise(groups):
            yield from self.pair(one, other, Difference((), True, 0, "equal"))

    def order(self, alone: int, other: int, sign: int) -> Iterator[Query]:
        """Yield a query that a single key's score is larger (1), less (-1), or no less (0) than those at another
        place."""
        key = self.places[other]
        declared: dict[str, tuple[str, str]] = {}

        def value(k: int, place: Place, tag: str) -> str:
            span = self.columns[self.names[k]][place.order]
            offset, low, high = (ratio(part if tag == "q" else moved(part, place))
                                 for part in (span.offset, span.low, span.high))  # fmt: skip
            if span.exact:
                return offset
            name = f"{tag}{k}"
            declared[name] = f"(declare-const {name} Real)", f"(assert (and (<= {low} {name}) (<= {name} {high})))"
            return name

        def form(terms: Terms, place: Place, tag: str) -> str:
            return total(times(c, value(k, place, tag)) for k, c in terms)

        parts = []
        for left, right in self.plan.scores:
            mine, theirs = form(right, self.places[alone], "a"), form(right, key, "b")
            parts.append(f"(* {form(left, self.place, 'q')} (- {mine} {theirs}))")
        wrong = {1: "(<= {} 0.0)", -1: "(>= {} 0.0)", 0: "(< {} 0.0)"}[sign].format(total(parts))
        than = {1: "larger than", -1: "less than", 0: "no less than"}[sign]
        lines = [*self.declared("j"), self.reached(other), *(line for pair in declared.values() for line in pair)]
        claim = f"the score at {self.places[alone].name} is {than} that at {key.name}"
        yield from self.query("order", claim, lines, [wrong])

    def twice(self, group: Group) -> Iterator[Query]:
        """Yield queries that keys of a group which may have equal scores do not have the largest: two other scores
        add up to twice theirs."""
        groups, place = self.rows.groups, self.rows.groups.index(group)
        higher = next((a for (a, b), found in self.row.pairs.items() if b == place and found.sign == 1), None)
        if higher is not None:
            for order in group.places:
                yield from self.order(groups[higher].places[0], order, 1)
            return
        for (a, b), found in self.row.pairs.items():
            pair = groups[a], groups[b]
            if place in (a, b) or found.may_tie or not all(one.single for one in pair):
                continue
            if plus(plus(pair[0].known, pair[1].known), product(group.known, -2)) == 0:
                ends = " and ".join(self.places[one.places[0]].name for one in pair)
                claim = f"the scores of keys at {ends} add up to twice those of others"
                yield from self.query("twice", claim, self.declared("j"), self._twice(group, pair))
                return
        yield from self.query("twice", "keys with equal scores are below another", [], ["true"])

    def _twice(self, group: Group, pair: Sequence[Group]) -> list[str]:
        """Return formulas that are true if the scores of two keys do not add up to twice those of a group."""
        some = [self.scores(self.places[one.places[0]]) for one in pair]
        wrong = list[str]()
        for order in group.places:
            scores = self.scores(self.places[order])
            every = [*some, scores]
            names = dict.fromkeys(name for one in every for name in one.query)
            two = FractionTerm.of(2)
            lines = [(added([one.known for one in some]), two * scores.known)]
            lines += [(added([one.query.get(x, NONE) for one in some]), two * scores.query.get(x, NONE)) for x in names]
            lines += [(text, NONE) for one in every for text in (*one.key.values(), *one.both.values())]
            wrong.append(both((key_at(self.places[order], self.head.mask, "j"), either(differ(lines)))))
        return wrong
