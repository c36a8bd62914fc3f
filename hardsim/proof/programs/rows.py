"""Scores of a row: the gap between them, and whether the largest is unique, derived from the form of the score.

For the query's place and each place of keys, a score is split into a part that is the same for every word (a
function of i, j and n) and multiples of unknown numbers whose lattices are known (`Pieces`). This gives, for any
two scores of a row, the least difference if they differ at all, and whether they certainly differ. The rules
(ours):

 - *lattice and tie-break*: keys j of neighbouring places whose scores are `A + t(j)` with A on a lattice of step s,
   the same for the row, and t strictly monotone. Then two scores differ by at least the least step of t, if their A
   are equal, and else by at least s less the range of t. With no A, t alone decides. With t = 0 equal scores are
   ties, and all others differ by s. This covers Boolean scores and equalities of integers with tie-breaks, prefix
   maxima, and scores of positions alone.
 - *apart from a lattice*: a key at one end (BOS, first, last) whose score differs from others by `A + t(j)`, where
   t(j) stays strictly between two neighbouring multiples of s. Then the scores differ by at least the distance of
   t(j) from these multiples. This is a sign test (`q_i ([j = 1] - [j = 0])`, q on a lattice that avoids 0), and BOS
   with an offset of its own.
 - *concave*: `-W j^2 + V j` plus terms that do not depend on j, over neighbouring positions j, W > 0 the same for
   every word, has one maximum if V/(2W) is no half-integer, and if it is at least e from all of these, the next score
   is lower by at least 2 e W: the two best are neighbours j and j + 1, and their scores differ by 2 W
   |V/(2W) - j - 1/2|. This is a look-up, whether its number is in the range of the positions or not.
 - *reciprocals*: if a coordinate of the query is 1/m with an integer m >= 1, the row is first multiplied by m, which
   changes no order, and in the end its gap is divided by the largest m.
 - *product*: one pair of forms, a query q that is a mean over ties (`shares`) and keys on a lattice of step s: two
   scores that differ do so by |q| s, which is bounded from below by the distance of q from 0.
 - *known set*: single keys that are equal whatever the word and above all others are the maxima, and their number is
   known.
 - two keys whose scores add up to twice those of others, all equal, and differ, are one above and one below them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction
from functools import cached_property
from math import floor
from typing import TypeAlias

from hardsim.lazy_dataclass import dataclass
from hardsim.network.numbers import Rational
from hardsim.program.hard_attention import Affine, Head
from hardsim.proof.programs import shares
from hardsim.proof.programs.lattice import (
    NumberSpan,
    common_step,
    content,
    finer_steps,
    nonnegative,
    plus,
    positive,
    remainder,
    scaled,
    times,
    times_step,
)
from hardsim.proof.programs.places import J, Place, Seen, World
from hardsim.proof.shared.ratios import NAMES, Ratio, Value, simplest
from hardsim.proof.shared.result import NotProved

Columns: TypeAlias = Mapping[str, Mapping[int, NumberSpan]]
"""Spans by coordinate and order of the place."""
Unknown: TypeAlias = tuple[str, ...]
"""Name of an unknown part of a score: a coordinate of the query or of the key, or a pair of both."""
KEY = frozenset("j")
TIE_BREAK = "lattice and tie-break"
PRODUCT = "share times lattice"


@dataclass(frozen=True)
class Pieces:
    """Score at one place of keys: the function `known` of i, j and n, plus multiples of unknown parts of
    coordinates of the query, the key, or both. The unknown part of a number is its difference from its lattice's
    offset; it is in `step Z` (any number for a step of None). `keys` has the spans of the key's coordinates."""

    known: Value
    of_query: Mapping[str, Value]
    of_key: Mapping[str, Value]
    of_both: Mapping[tuple[str, str], Value]
    keys: Mapping[str, NumberSpan]

    def in_key(self) -> Iterable[tuple[Unknown, Value]]:
        """Yield the names of the unknown parts that involve the key, each with its factor in the score."""
        yield from (((name,), factor) for name, factor in self.of_key.items())
        yield from self.of_both.items()


def spread(terms: Affine, columns: Mapping[str, NumberSpan]) -> tuple[Value, dict[str, Rational]]:
    """Split a linear form of coordinates whose spans are `columns`. Return the part that is the same for every word,
    a function, and the factors of the coordinates' unknown parts (see `Pieces`)."""
    known: Value = 0
    unknown: dict[str, Rational] = {}
    for name, factor in terms.terms:
        span = columns[name]
        if span.step is not None:
            known = plus(known, times(span.offset, factor))
        if not span.exact:
            unknown[name] = factor
    return known, unknown


def pieces_of(head: Head, query: Mapping[str, NumberSpan], key: Mapping[str, NumberSpan]) -> Pieces:
    """Return the score of a head for queries at one place and keys at another, from the spans of the query's and the
    key's coordinates. The spans of the key are functions of j."""
    known: Value = 0
    of_query: dict[str, Value] = {}
    of_key: dict[str, Value] = {}
    of_both: dict[tuple[str, str], Value] = {}
    for left, right in head.score:
        (q, some), (k, others) = spread(left, query), spread(right, key)
        known = plus(known, times(q, k))
        for x, a in some.items():
            of_query[x] = plus(of_query.get(x, 0), times(k, a))
        for y, b in others.items():
            of_key[y] = plus(of_key.get(y, 0), times(q, b))
        for x, a in some.items():
            for y, b in others.items():
                of_both[x, y] = plus(of_both.get((x, y), 0), a * b)
    parts = [{name: factor for name, factor in part.items() if factor != 0} for part in (of_query, of_key)]
    both = {names: factor for names, factor in of_both.items() if factor != 0}
    return Pieces(known, parts[0], parts[1], both, key)


@dataclass(frozen=True)
class Group:
    """Neighbouring keys whose scores have one form."""

    reach: Seen
    pieces: tuple[Pieces, ...]
    """Scores by place. All have the same known function and factors of the query's coordinates as the first."""
    places: tuple[int, ...]

    @property
    def known(self) -> Value:
        """Part of the scores that is the same for every word, a function of i, j and n."""
        return self.pieces[0].known

    @property
    def of_query(self) -> Mapping[str, Value]:
        """Factors by which the unknown parts of the query's coordinates enter the scores, by name of the
        coordinate."""
        return self.pieces[0].of_query

    @property
    def single(self) -> bool:
        """True if the group is one key."""
        return len(self.places) == 1 and self.reach.low == self.reach.high


@dataclass(frozen=True)
class Difference:
    """Facts about the difference of two scores: if they differ, then by at least the least of `gaps`. `sign` is the
    sign of the difference where it is known (0: equal). The difference is a multiple of `step` plus `rest`; for
    keys of one group, plus the difference of `rest` as a function of j; for a look-up, V/W - 1 is such a multiple
    plus `rest`."""

    gaps: tuple[Value, ...]
    may_tie: bool
    sign: int | None = None
    rule: str = ""
    step: Value = 0
    rest: Value = 0


@dataclass(frozen=True)
class ProductRule:
    """Scores `q k` of one product: the query form q, the hull of the key forms k, and positive functions whose
    minimum is at most |q|. These are empty if q may be 0."""

    query: NumberSpan
    keys: NumberSpan
    away: tuple[Value, ...]


@dataclass(frozen=True)
class Row:
    """Facts about the scores in a row of a head, for queries at one place. If two scores differ, then by at least
    the least of `gaps`; `equal` says that none differ. `visible` is the number of visible positions. `winner` is
    the order of the place of the largest score where that is known, `rules` has the names of the rules used.
    `first` says that BOS has the largest score in every row, perhaps with others."""

    place: Place
    visible: Value
    gaps: tuple[Value, ...]
    unique: bool
    equal: bool = False
    winner: int | None = None
    rules: tuple[str, ...] = ()
    first: bool = False
    groups: tuple[tuple[int, ...], ...] = ()
    """Groups of places of keys whose scores have one form."""
    inner: tuple[Difference | None, ...] = ()
    """Facts about the difference of two scores of each group; None for a group of one key."""
    pairs: Mapping[tuple[int, int], Difference] = field(default_factory=dict)
    """Facts about the score of a single key minus those of another group, by the numbers of both groups."""
    winners: tuple[int, ...] = ()
    """Orders of the places of the maxima, where these are always the same few single positions (R2)."""
    product: ProductRule | None = None
    """Rule by which the gap follows from one product; then there are no groups (R3)."""
    agreed: tuple[str, ...] = ()
    """Coordinates to which the head adds one value, whichever of the positions with the largest score it reads."""

    def one_value(self, head: Head) -> bool:
        """Return True if the head reads the same value from each position that shares the largest score."""
        return self.unique or {out for out, _ in head.values} <= {*self.agreed}


class ScoreRows:
    """Rows of one head for queries at one place, with the spans of all coordinates (`columns`)."""

    def __init__(self, world: World, head: Head, query: Place, columns: Columns) -> None:
        self.world, self.head, self.query, self.columns = world, head, query, columns
        own = {name: columns[name][query.order] for pair in head.score for name, _ in pair[0].terms}
        self.own = own
        self.inverse = next((name for name, span in own.items() if span.most is not None), None)
        self.apart = self._by_place(columns)
        self.groups = self._merged(self.apart)

    # ---- keys of one form ----

    def _by_place(self, columns: Columns) -> list[Group]:
        found: list[Group] = []
        for key in self.world.places:
            reach = self.world.sees(self.query, key, self.head.mask)
            if reach is None:
                continue
            names = {name for pair in self.head.score for name, _ in pair[1].terms}
            spans = {name: columns[name][key.order] for name in names}
            if key.several:
                spans = {name: span.at({"i": J}) for name, span in spans.items()}
            pieces = self._cleared(pieces_of(self.head, self.own, spans))
            found.append(Group(reach, (pieces,), (key.order,)))
        if not found:
            raise NotProved(f"head {self.head.name} sees no position at {self.query.name}")
        return found

    def _cleared(self, pieces: Pieces) -> Pieces:
        """Return the score times m, where a coordinate of the query is 1/m: terms without the factor 1/m get the
        factor m."""
        name = self.inverse
        if name is None:
            return pieces
        # The factor m would multiply an unknown part of the key, which has no known lattice then.
        if any(name in names for names in pieces.of_both):
            raise NotProved(f"head {self.head.name} multiplies the reciprocal {name} by a key that depends on the word")
        rest = {x: factor for x, factor in pieces.of_query.items() if x != name}
        factors = {**rest, name: pieces.known} if pieces.known != 0 else rest
        return replace(pieces, known=pieces.of_query.get(name, 0), of_query=factors)

    def step(self, name: str) -> Value | None:
        """Return the step of a coordinate of the query (None: it has no lattice); for a coordinate 1/m, the step
        of m, which is 1."""
        return 1 if name == self.inverse else self.own[name].step

    def _merged(self, groups: Sequence[Group]) -> list[Group]:
        """Return the groups, with the middle positions and the ends beside them joined where their scores have the
        same form."""
        middle = next((group for group in groups if not group.single), None)
        if middle is None:
            return list(groups)
        others = [group for group in groups if group is not middle]
        for group in reversed(others):
            if plus(group.reach.high, 1) == middle.reach.low and self._alike(middle, group):
                middle = _joined(middle, group, group.reach.low, middle.reach.high)
        for group in others:
            if plus(middle.reach.high, 1) == group.reach.low and self._alike(middle, group):
                middle = _joined(middle, group, middle.reach.low, group.reach.high)
        return [middle, *(group for group in others if not set(group.places) <= set(middle.places))]

    def _alike(self, middle: Group, end: Group) -> bool:
        try:
            if middle.reach.at(middle.known, end.reach.low) != end.known:
                return False
            names = {*middle.of_query, *end.of_query}
            return all(
                middle.reach.at(middle.of_query.get(name, 0), end.reach.low) == end.of_query.get(name, 0)
                for name in names
            )
        except NotProved:
            return False  # a function may divide by 0 at that end

    # ---- differences ----

    def _unknown(self, parts: Sequence[Pieces]) -> list[Value | None]:
        """Return, for each unknown part of the scores that involves the key, the step of the lattice of its
        multiples; None if it has no lattice."""
        steps: list[Value | None] = []
        for piece in parts:
            for names, factor in piece.in_key():
                step = times_step(piece.keys[names[-1]].step, factor, KEY)
                if len(names) > 1:
                    other = self.step(names[0])
                    step = None if step is None or other is None else times_step(step, other, KEY)
                steps.append(step)
        return steps

    def _of_row(self, factors: Mapping[str, Value]) -> list[Value | None]:
        """Return the step of each multiple `factor * coordinate` of the query's coordinates; None if it has no
        lattice."""
        return [
            None if (step := self.step(name)) is None else times_step(step, factor, KEY)
            for name, factor in factors.items()
            if factor != 0
        ]

    def within(self, group: Group) -> Difference:
        """Return the facts about the difference of two scores of one group. Raises NotProved if there are none."""
        reach = group.reach
        vary = {name: plus(f, times(reach.at(f, reach.low), -1)) for name, f in group.of_query.items()}
        step = common_step([*self._unknown(group.pieces), *self._of_row(vary)])
        known = plus(group.known, times(reach.at(group.known, reach.low), -1))
        if step is None:
            raise NotProved("no common step of its keys is known")
        tie = remainder(known, step)
        if tie == 0:
            return Difference((step,), True, None, "lattice", step) if step != 0 else Difference((), True, 0, "equal")
        gaps = self._ordered(tie, step, reach)
        if gaps:
            return Difference(gaps, False, None, "positions in order" if step == 0 else TIE_BREAK, step, tie)
        if found := self._concave(group):
            return Difference(found[0], False, None, "look-up", *found[1:])
        # Count all but one term as multiples of a finer step: the remaining term may then be a tie-break.
        for term, finer in finer_steps(tie, step):
            rest = remainder(term, finer)
            if gaps := self._ordered(rest, finer, reach):
                return Difference(gaps, False, None, TIE_BREAK, finer, rest)
        # Without an order, scores are only known to lie on a coarser common lattice, and may be equal.
        coarse = common_step([step, content(tie, KEY)])
        if coarse is None:
            raise NotProved("no common step of its scores is known")
        return Difference((coarse,), True, None, "lattice", coarse)

    def _ordered(self, tie: Value, step: Value, reach: Seen) -> tuple[Value, ...]:
        """Return the gaps of scores on a lattice plus a strictly monotone term whose range is below the step (if
        there is one); () if that is not known."""
        for sign in (1, -1):
            rise = times(reach.rise(tie), sign)
            if positive(rise, reach.domains):
                over = times(plus(reach.at(tie, reach.high), times(reach.at(tie, reach.low), -1)), sign)
                gaps = [reach.least(rise)] + ([plus(step, times(over, -1))] if step != 0 else [])
                if all(positive(gap, self.query.domains) for gap in gaps):
                    return tuple(gaps)
        return ()

    def _concave(self, group: Group) -> Beside | None:
        """Return the least difference 2 e W of two scores for a score that is concave in j (see the module), as
        functions of which the least counts, with step and rest of the lattice that V/W - 1 lies in. Return None for
        another score."""
        # Unknown parts of keys differ from key to key and would break the parabola.
        if any(True for piece in group.pieces for _ in piece.in_key()):
            return None
        known, parts = powers(group.known), {name: powers(factor) for name, factor in group.of_query.items()}
        if known is None or len(known) != 3 or any(part is None or len(part) > 2 for part in parts.values()):
            return None
        width = times(known[2], -1)
        if not positive(width, self.query.domains):
            return None
        over = simplest(Ratio.of(1) / width)
        slopes = {name: times(part[1], over) for name, part in parts.items() if part is not None and len(part) > 1}
        # V/(2W) avoids half-integers by e, so V/W avoids the odd numbers by 2e.
        step = common_step([2, *self._of_row(slopes)])
        if step is None:
            return None
        found = distances(plus(times(known[1], over), -1), step, Seen(0, 0, self.query.domains))
        return found and (tuple(times(width, apart) for apart in found[0]), *found[1:])

    def between(self, one: Group, other: Group) -> Difference:
        """Return the facts about the score of a single key (`one`) minus the scores of a group. Raises NotProved if
        there are none."""
        names = {*one.of_query, *other.of_query}
        apart = {name: plus(one.of_query.get(name, 0), times(other.of_query.get(name, 0), -1)) for name in names}
        known = plus(one.known, times(other.known, -1))
        step = common_step([*self._unknown([*one.pieces, *other.pieces]), *self._of_row(apart)])
        sign = self._order(one, other)
        if step is None:
            raise NotProved("no common step of its scores is known")
        if step == 0 and known == 0:
            return Difference((), True, 0, "equal")
        found = distances(known, step, other.reach)
        if found:
            return Difference(found[0], False, sign, "apart from a lattice", *found[1:])
        coarse = common_step([step, content(remainder(known, step), KEY)])
        if coarse is None:
            raise NotProved("no common step of its scores is known")
        return Difference((coarse,), sign is None, sign, "lattice", coarse)

    def _order(self, one: Group, other: Group) -> int | None:
        """Return the sign (1 or -1) of the score of a single key minus those of a group, if the bounds of all
        unknown parts decide it; else None."""
        try:
            ends = self._ends(one, other)
        except NotProved:
            return None
        if all(positive(low, other.reach.domains) for low, _ in ends):
            return 1
        return -1 if all(positive(times(high, -1), other.reach.domains) for _, high in ends) else None

    def at_least(self, one: Group, other: Group) -> bool:
        """Return True if the score of a single key is known never to be below those of a group."""
        try:
            return all(nonnegative(low, other.reach.domains) for low, _ in self._ends(one, other))
        except NotProved:
            return False

    def _ends(self, one: Group, other: Group) -> list[tuple[Value, Value]]:
        """Return a lower and an upper bound of the score of `one` minus the score of `other`, computed from the
        bounds of every coordinate, for each place of `other`. Raises NotProved if none are known."""
        # Bounds of such products would need the signs of unknown factors.
        if self.inverse is not None or any(piece.of_both for piece in (*one.pieces, *other.pieces)):
            raise NotProved("it multiplies two numbers that depend on the word")
        names = {*one.of_query, *other.of_query}
        apart = {name: plus(one.of_query.get(name, 0), times(other.of_query.get(name, 0), -1)) for name in names}
        (first,), domains = one.pieces, other.reach.domains
        found: list[tuple[Value, Value]] = []
        for piece in other.pieces:
            low = high = plus(one.known, times(other.known, -1))
            terms = [(self.own[name], factor) for name, factor in apart.items() if factor != 0]
            terms += [(first.keys[name], factor) for name, factor in first.of_key.items()]
            terms += [(piece.keys[name], times(factor, -1)) for name, factor in piece.of_key.items()]
            for span, factor in terms:
                # Known parts contain the offset already, so only the rest is bounded here.
                offset = 0 if span.step is None else times(span.offset, -1)
                rest = scaled(NumberSpan(plus(span.low, offset), plus(span.high, offset)), factor, domains)
                low, high = plus(low, rest.low), plus(high, rest.high)
            found.append((low, high))
        return found

    # ---- all of a row ----

    @cached_property
    def row(self) -> Row:
        """Facts about the rows at this place. Raises NotProved if not even a gap is known."""
        visible = self.world.count(self.query, self.head.mask)
        groups = self.groups
        # One visible key has no other score to compare with, so there is no gap.
        if len(groups) == 1 and groups[0].single:
            return Row(self.query, visible, (), True, winner=groups[0].places[0], groups=(groups[0].places,))
        product = self._product(visible)
        if product is not None:
            return product
        inner = [None if group.single else self.within(group) for group in groups]
        pairs = {
            (a, b): self.between(groups[a], groups[b])
            for a in range(len(groups))
            for b in range(len(groups))
            if a != b and groups[a].single and (not groups[b].single or a < b)
        }
        every = [*(d for d in inner if d is not None), *pairs.values()]
        gaps = tuple(dict.fromkeys(gap for d in every for gap in d.gaps))
        if not all(positive(gap, self.query.domains) for gap in gaps):
            raise NotProved("a gap is not known to be positive")
        # Ties inside a group do no harm if some other key is above the whole group.
        unique = not any(d.may_tie for d in pairs.values()) and all(
            d is None or not d.may_tie or self._beaten(place, pairs) for place, d in enumerate(inner)
        )
        rules = tuple(dict.fromkeys(d.rule for d in every if d.rule != "equal"))
        return Row(
            self.query, visible, self._divided(gaps), unique, all(d.sign == 0 for d in every), self._winner(pairs),
            rules, self._first(), tuple(group.places for group in groups), tuple(inner), pairs,
            () if unique else self._winners(pairs),
        )  # fmt: skip

    def _product(self, visible: Value) -> Row | None:
        """Return the row of one product `q k` where q has a share or an isolated zero, and k is on a lattice of
        step s; None for another score. Two scores that differ do so by at least |q| s. If q is never 0, and the
        largest and the least key each have a single place, the maximum is unique: the head reads the sign of q."""
        if len(self.head.score) != 1:
            return None
        ((query, key),) = self.head.score
        domains = self.query.domains
        q = shares.linear([(self.own[name], value) for name, value in query.terms], domains)
        # A query on a lattice is covered by the other rules.
        if q.step is not None or not shares.known([q]):
            return None
        keys = self._keys(key)
        every = shares.hull([*keys.values()], domains)
        if not every.step:
            return None
        far = shares.away(q, 0, domains)
        least = far or shares.apart_from_zero(q, domains)
        gaps = tuple(times(one, every.step) for one in least)
        if not gaps or not all(positive(gap, domains) for gap in gaps):
            return None
        unique = bool(far) and all(self._extreme(keys, sign) for sign in (1, -1))
        return Row(self.query, visible, gaps, unique, rules=(PRODUCT,), product=ProductRule(q, every, far))

    def _keys(self, form: Affine) -> dict[int, NumberSpan]:
        """Return by order of the place the span of a linear form of the key at each visible place, as a function
        of the query's i and n."""
        found: dict[int, NumberSpan] = {}
        for place in self.world.places:
            reach = self.world.sees(self.query, place, self.head.mask)
            if reach is not None:
                terms = [(self.columns[name][place.order], value) for name, value in form.terms]
                span = shares.linear(terms, place.domains)
                span = span.at({"i": J}) if place.several else span
                found[place.order] = shares.seen_from(span, reach, self.head.name)
        return found

    def _extreme(self, keys: Mapping[int, NumberSpan], sign: int) -> bool:
        """Return True if the largest key (the least for sign -1) always stands at one single place."""
        places = {place.order: place for place in self.world.places}
        ends = {order: span.high if sign > 0 else span.low for order, span in keys.items()}
        return any(
            span.exact
            and not places[order].several
            and all(
                other == order or positive(times(plus(span.offset, times(end, -1)), sign), self.query.domains)
                for other, end in ends.items()
            )
            for order, span in keys.items()
        )

    def _winners(self, pairs: Mapping[tuple[int, int], Difference]) -> tuple[int, ...]:
        """Return the orders of the single places whose keys are equal and above all others in every word; () if
        there are none."""
        groups = self.groups

        def sign(a: int, b: int) -> int | None:
            if (a, b) in pairs:
                return pairs[a, b].sign
            other = pairs[b, a].sign if (b, a) in pairs else None
            return None if other is None else -other

        for a, group in enumerate(groups):
            signs = {b: sign(a, b) for b in range(len(groups)) if b != a}
            tied = [a, *(b for b, found in signs.items() if found == 0)]
            if all(found in (0, 1) for found in signs.values()) and all(groups[b].single for b in tied):
                return tuple(sorted(groups[b].places[0] for b in tied)) if group.single else ()
        return ()

    def _divided(self, gaps: tuple[Value, ...]) -> tuple[Value, ...]:
        """Return the gaps of the row, given the gaps of the same row multiplied by m (see `_cleared`): divide by
        the largest m."""
        if self.inverse is None:
            return gaps
        most = self.own[self.inverse].most
        assert most is not None
        return tuple(simplest(Ratio.of(gap) / most) for gap in gaps)

    def _beaten(self, place: int, pairs: Mapping[tuple[int, int], Difference]) -> bool:
        """Return True if some single key is certainly above all keys of a group (given by its number)."""
        if any(b == place and d.sign == 1 for (_, b), d in pairs.items()):
            return True
        group = self.groups[place]
        # Two keys whose mean is this group's score: as they differ, one of them is above it.
        for (a, b), d in pairs.items():
            if place in (a, b) or not self.groups[a].single or not self.groups[b].single or d.may_tie:
                continue
            some = [self.groups[a], self.groups[b]]
            parts = [*some[0].pieces, *some[1].pieces, *group.pieces]
            if any(True for piece in parts for _ in piece.in_key()):
                continue
            names = {name for piece in parts for name in piece.of_query}
            factors = [
                plus(plus(some[0].of_query.get(n, 0), some[1].of_query.get(n, 0)), times(group.of_query.get(n, 0), -2))
                for n in names
            ]
            known = plus(plus(some[0].known, some[1].known), times(group.known, -2))
            if all(factor == 0 for factor in (*factors, known)):
                return True
        return False

    def _winner(self, pairs: Mapping[tuple[int, int], Difference]) -> int | None:
        """Return the order of the place of the single key that is above all others in every word; None if there is
        none."""
        for a, group in enumerate(self.groups):
            if group.single and all(
                ((a, b) in pairs and pairs[a, b].sign == 1) or ((b, a) in pairs and pairs[b, a].sign == -1)
                for b in range(len(self.groups))
                if b != a
            ):
                return group.places[0]
        return None

    def _first(self) -> bool:
        """Return True if BOS is known to have the largest score, perhaps with others."""
        bos = next((group for group in self.apart if group.places == (0,)), None)
        return bos is not None and all(group is bos or self.at_least(bos, group) for group in self.apart)


def _joined(middle: Group, end: Group, low: Value, high: Value) -> Group:
    domains = [*middle.reach.domains, *end.reach.domains]
    return Group(Seen(low, high, domains), (*middle.pieces, *end.pieces), (*middle.places, *end.places))


def powers(value: Value) -> list[Value] | None:
    """Return the coefficients of a polynomial in j, by power from 0 on, as functions of i and n; None if the value
    is no polynomial in j."""
    if not isinstance(value, Ratio):
        return [value]
    if any(power[NAMES.index("j")] for power in value.bottom.to_dict()):
        return None
    parts: dict[int, Value] = {}
    place = NAMES.index("j")
    context = value.top.context()
    for power, c in value.top.to_dict().items():
        rest = tuple(0 if at == place else k for at, k in enumerate(power))
        term = Ratio(context.from_dict({rest: c}), value.bottom)
        parts[power[place]] = plus(parts.get(power[place], 0), simplest(term))
    return [parts.get(k, 0) for k in range(max(parts, default=0) + 1)]


Beside: TypeAlias = tuple[tuple[Value, ...], Value, Value]
"""Distances from 0 (positive functions, of which the least counts), a step, and a rest: the numbers are multiples
of the step plus the rest."""


def distances(known: Value, step: Value, reach: Seen) -> Beside | None:
    """Return positive functions of i and n such that no `known(j) + step Z` is nearer to 0 than the least of them,
    whatever the visible j, with the step and the rest that show it; None if that is not known.

    Where the function itself is not between two multiples, all of it but one term is taken as a multiple of a
    smaller step: (2n - 4i + 1)/(2n) is in 1/(2n) + (1/n) Z.
    """
    off = known if step == 0 else remainder(known, step)
    found = _beside(off, step, reach)
    if found:
        return found
    sides = (_beside(remainder(term, finer), finer, reach) for term, finer in finer_steps(off, step))
    return next((side for side in sides if side), None)


def _beside(off: Value, step: Value, reach: Seen) -> Beside | None:
    """Return the distances of a function from the two neighbouring multiples of a step between which it stays (with
    step 0: from 0); None if that is not known."""
    if step == 0:
        sides = [off, times(off, -1)]
        found = next((_least(reach, [side]) for side in sides if positive(side, reach.domains)), ())
        return (found, step, off) if found else None
    whole = floor(_sample(simplest(Ratio.of(off) / step), reach))
    rest = plus(off, times(step, -whole))
    sides = [rest, plus(times(step, whole + 1), times(off, -1))]
    found = _least(reach, sides) if all(positive(side, reach.domains) for side in sides) else ()
    return (found, step, rest) if found else None


def _least(reach: Seen, values: Sequence[Value]) -> tuple[Value, ...]:
    try:
        found = tuple(reach.least(value) for value in values)
    except NotProved:
        return ()
    return found if all(positive(value, reach.domains) for value in found) else ()


def _sample(value: Value, reach: Seen) -> Fraction:
    """Return the value of a function at some point within reach, to guess the two multiples of a step that it stays
    between."""
    if not isinstance(value, Ratio):
        return Fraction(value)
    slacks = {name: Ratio.of(k) for name, k in zip("abcd", (3, 2, 5, 4), strict=True)}
    place = {name: Ratio.of(simplest(where.at(slacks))) for name, where in reach.domains[0].items()}
    found = simplest(value.at(place))
    assert not isinstance(found, Ratio)
    return Fraction(found)
