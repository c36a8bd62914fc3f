"""Rows of scores, for the checker of certificates of programs: the gap below the largest score, and whether only one
key has it.

The score of a key at one place, for a query at another, is a function of i, j and n, plus multiples of the unknown
parts of their coordinates. An unknown coordinate is the offset of its lattice plus an integer times its step; without a
lattice it is anything. The certificate divides the keys into groups of neighbouring places whose scores have one form.
For each group, and for each single key that is compared with another one or a group, it names a step s and a rest t(j).
It is checked that two scores of a group differ by an integer times s, plus t(j) - t(j'), and that the score of a single
key differs from another one by t(j) plus a multiple of s. Then two different scores differ by at least

 - s, if t is 0 (equal ones are ties; with s = 0 all are equal);
 - in a group with a strictly monotone t: the least rise of t, and the excess of s over the range of t; none are
 equal;
 - for a single key with 0 < t < s (or s = 0 and t of one sign): t and s - t; the two are not equal.

A group is a *look-up* if its scores are -W j^2 + V j plus a summand that does not depend on j, with W > 0 known. f(j) -
f(j') = (j - j') (V - W (j + j')). So the largest score exceeds its neighbours, and by concavity all others, by at least
W times the distance of V/W from the odd numbers j + j'. If V/W - 1 is a multiple of s, a divisor of 2, plus t with 0 <
t < s, that distance is at least min(t, s - t), and no two keys are largest.

Single keys that are equal to one another and above all others are the largest in every row.

If the score is one product q k, two different scores differ by |q| times the difference of two keys. So keys on a
lattice of step s differ by at least |q| s if q is not 0; if q is 0, all scores are equal. If q stays away from 0, and
one key at a known place is above all others, and one below, then the largest score is unique.

If a coordinate of the query is 1/m for an integer m >= 1, the row is multiplied by m first: m times a multiple is a
multiple too. In the end gaps are divided by the largest m.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from hardsim.verify.arithmetic import Rational, require
from hardsim.verify.ratios import Polynomial, Ratio, Value, of, quotient
from hardsim.verify.shares import Parts, ShareSigns, share_at_key, zero_at_key
from hardsim.verify.spans import KEY, Form, NumberSpan, Place, VisibleKeys, World, has, moved

Column = Mapping[str, Mapping[int, NumberSpan]]
"""Spans by coordinate and order of the place."""


@dataclass(frozen=True)
class Head:
    """An attention head: its mask, the pairs of query and key forms, and the forms that it adds to coordinates."""

    name: str
    mask: str
    pairs: tuple[tuple[Form, Form], ...]
    values: Mapping[str, Form]

    @property
    def scores(self) -> tuple[str, tuple[tuple[Form, Form], ...]]:
        """The mask and the score forms. Two heads of a layer for which they are equal have equal rows."""
        return self.mask, self.pairs

    @property
    def uniform(self) -> bool:
        """True if every score is 0, so that the head takes the mean over all visible keys."""
        return not self.pairs


@dataclass(frozen=True)
class Pieces:
    """The score of a query and a key of one place: the known part, and the factors of the unknown coordinates of the
    query, of the key, and of products of both, by (coordinate of the query, coordinate of the key). `keys` are the
    spans of the key's coordinates."""

    known: Value
    of_query: Mapping[str, Value]
    of_key: Mapping[str, Value]
    of_both: Mapping[tuple[str, str], Value]
    keys: Mapping[str, NumberSpan]


@dataclass(frozen=True)
class Group:
    """Keys of neighbouring places whose scores all have the form of the first part."""

    orders: tuple[int, ...]
    parts: tuple[Pieces, ...]
    sight: VisibleKeys

    @property
    def form(self) -> Pieces:
        """The form of all scores of the group."""
        return self.parts[0]

    @property
    def single(self) -> bool:
        """True if the group is one key."""
        return self.orders != (2,) and len(self.orders) == 1


@dataclass(frozen=True)
class Row:
    """Facts about the rows of scores for queries at a place, for every word. `visible` is the number of visible keys.
    The minimum of `gaps`, functions of i and n, is at most the gap. `unique`: one key has the largest score. `equal`:
    all scores are equal. `winners` are the places of the keys with the largest score, if these are the same for every
    word. `begins`: the beginning of the sequence has the largest score, alone or with others."""

    visible: Value
    gaps: tuple[Value, ...]
    unique: bool
    equal: bool
    winners: tuple[int, ...]
    begins: bool = False

    @property
    def maxima(self) -> int | None:
        """The number of keys with the largest score; None if it is not known."""
        return 1 if self.unique else len(self.winners) or None


def spread(row: Form, spans: Mapping[str, NumberSpan]) -> tuple[Value, dict[str, Rational]]:
    """Return the known part of a linear form as a function, and the factors of its unknown coordinates."""
    known: Value = 0
    unknown: dict[str, Rational] = {}
    for name, factor in row.items():
        span = spans[name]
        # Without a lattice the whole coordinate is unknown.
        if span.step is not None:
            known = known + factor * span.offset
        if not span.exact:
            unknown[name] = factor
    return known, unknown


def as_key(span: NumberSpan) -> NumberSpan:
    """Return a span with the position j of a key in place of i."""
    step = None if span.step is None else moved(span.step, i=KEY)
    low, high, offset = (moved(part, i=KEY) for part in (span.low, span.high, span.offset))
    share = None if span.share is None else share_at_key(span.share)
    return NumberSpan(low, high, offset, step, None, share, tuple(map(zero_at_key, span.isolated)))


class ScoreRows:
    """The rows of scores of one head for queries at one place. Methods check the claims about them and raise Rejected
    unless they are known to be true."""

    def __init__(self, signs: ShareSigns, world: World, head: Head, query: Place, columns: Column) -> None:
        self.signs, self.world, self.head, self.query = signs, world, head, query
        self.own = {name: columns[name][query.order] for pair in head.pairs for name in pair[0]}
        # At most one coordinate of the query is cleared: see the module.
        self.inverse = next((name for name, span in self.own.items() if span.most is not None), None)
        self.parts: dict[int, tuple[Pieces, VisibleKeys]] = {}
        self.keys: dict[int, Mapping[str, NumberSpan]] = {}
        for key, sight in world.seen(query, head.mask):
            spans = {name: columns[name][key.order] for pair in head.pairs for name in pair[1]}
            spans = {name: as_key(span) for name, span in spans.items()} if key.several else spans
            self.parts[key.order], self.keys[key.order] = (self._cleared(self._part(spans)), sight), spans
        self.need(bool(self.parts), "sees no key")

    def need(self, condition: bool, what: str) -> None:
        """Raise Rejected, with the head and the place, unless a condition holds."""
        require(condition, f"head {self.head.name} {what} {self.query}")

    def _part(self, keys: Mapping[str, NumberSpan]) -> Pieces:
        known: Value = 0
        of_query: dict[str, Value] = {}
        of_key: dict[str, Value] = {}
        of_both: dict[tuple[str, str], Value] = {}
        for left, right in self.head.pairs:
            (q, some), (k, others) = spread(left, self.own), spread(right, keys)
            self.signs.spend(20 + 20 * (len(some) + 1) * (len(others) + 1))
            known = known + q * k
            for x, a in some.items():
                of_query[x] = of_query.get(x, 0) + k * a
                for y, b in others.items():
                    of_both[x, y] = of_both.get((x, y), 0) + a * b
            for y, b in others.items():
                of_key[y] = of_key.get(y, 0) + q * b
        kept = [{name: factor for name, factor in part.items() if factor != 0} for part in (of_query, of_key)]
        both = {names: factor for names, factor in of_both.items() if factor != 0}
        return Pieces(known, kept[0], kept[1], both, keys)

    def _cleared(self, part: Pieces) -> Pieces:
        """Return the score times m if a coordinate of the query is 1/m, else the score."""
        name = self.inverse
        if name is None:
            return part
        # m times an unknown product is no multiple of a known step.
        self.need(not any(name in names for names in part.of_both), "multiplies an unknown number by a coordinate 1/m")
        rest = {x: factor for x, factor in part.of_query.items() if x != name}
        return Pieces(
            # m (1/m) = 1: what 1/m multiplies becomes the known part, and the known part becomes a multiple of m.
            part.of_query.get(name, 0),
            rest | ({name: part.known} if part.known != 0 else {}),
            part.of_key,
            part.of_both,
            part.keys,
        )

    def _step(self, name: str) -> Value | None:
        """Return the step of a coordinate of the query; of m instead of 1/m."""
        return 1 if name == self.inverse else self.own[name].step

    # ---- groups ----

    def group(self, orders: Sequence[int]) -> Group:
        """Return the group of the keys at some places. Raises Rejected if their scores do not have one form."""
        message = "has a group of keys that it does not see"
        self.need(len(orders) > 0 and all(order in self.parts for order in orders), message)
        found = [self.parts[order] for order in orders]
        if len(orders) == 1:
            return Group(tuple(orders), (found[0][0],), found[0][1])
        # A group of several places has all positions between, so that its form is that of place 2.
        self.need(2 in orders and [*orders] == sorted({*orders}), "has a group of places that are not neighbours")
        for (_, before), (_, after) in pairwise(found):
            self.need(before.high + 1 - after.low == 0, "has a group of places that are not neighbours")
        middle = self.parts[2][0]
        for order, (part, sight) in zip(orders, found, strict=True):
            if order != 2:
                # The form of place 2, at the position of the first or last key, is the form there.
                same = moved(middle.known, j=sight.low) - part.known == 0
                for name in {*middle.of_query, *part.of_query}:
                    factor = moved(middle.of_query.get(name, 0), j=sight.low) - part.of_query.get(name, 0)
                    same = same and factor == 0
                self.need(same, "has a group whose scores have more than one form")
        rest = [part for order, (part, _) in zip(orders, found, strict=True) if order != 2]
        domains = tuple(domain for _, sight in found for domain in sight.domains)
        return Group(tuple(orders), (middle, *rest), VisibleKeys(found[0][1].low, found[-1][1].high, domains))

    def _unknown(self, parts: Iterable[Pieces], step: Value) -> bool:
        """Return True if all terms with unknown coordinates of keys are known to be multiples of a step."""
        for part in parts:
            for name, factor in part.of_key.items():
                own = part.keys[name].step
                if own is None or not self.signs.multiple(factor * own, step):
                    return False
            for (mine, name), factor in part.of_both.items():
                own, other = part.keys[name].step, self._step(mine)
                if own is None or other is None or not self.signs.multiple(factor * own * other, step):
                    return False
        return True

    def _of_row(self, factors: Mapping[str, Value], step: Value) -> bool:
        """Return True if the given multiples of unknown coordinates of the query are known to be multiples of a
        step."""
        for name, factor in factors.items():
            own = self._step(name)
            if factor != 0 and (own is None or not self.signs.multiple(factor * own, step)):
                return False
        return True

    # ---- differences ----

    def within(self, group: Group, rule: str, step: Value, rest: Value) -> tuple[tuple[Value, ...], bool, bool]:
        """Return the gaps of a group under a claimed rule, whether two of its scores may be equal, and whether
        all are."""
        if rule == "look-up":
            return self._look_up(group, step, rest), False, False
        sight, form = group.sight, group.form
        # What changes with j: the differences of all scores follow from those to the first key.
        vary = {name: f - moved(f, j=sight.low) for name, f in form.of_query.items()}
        known = form.known - moved(form.known, j=sight.low) - rest + moved(rest, j=sight.low)
        fine = self._unknown(group.parts, step) and self._of_row(vary, step)
        self.need(fine and self.signs.multiple(known, step), "has scores that do not follow the rule of their group")
        if not has(rest, 2):
            return ((), True, True) if step == 0 else ((self._positive(step, sight),), True, False)
        rise = moved(rest, j=KEY + 1) - rest
        # A wrong sign shows below: the gap is not positive then.
        sign = 1 if self.signs.positive(rise, sight.domains) else -1
        over = sign * (moved(rest, j=sight.high) - moved(rest, j=sight.low))
        gaps = [self.signs.floor(sign * rise, sight), *([step - over] if step != 0 else [])]
        return tuple(self._positive(gap, sight) for gap in gaps), False, False

    def _positive(self, gap: Value, sight: VisibleKeys) -> Value:
        """Return a lower bound of a gap over all visible keys; raise Rejected unless it is positive."""
        found = self.signs.floor(gap, sight)
        self.need(self.signs.positive(found, [*sight.domains, self.query.domain]), "has a gap that may be 0")
        return found

    def _look_up(self, group: Group, step: Value, rest: Value) -> tuple[Value, ...]:
        form, sight = group.form, group.sight
        bare = not any(part.of_key or part.of_both for part in group.parts)
        known, parts = powers(form.known), {name: powers(f) for name, f in form.of_query.items()}
        fine = bare and known is not None and len(known) == 3
        fine = fine and all(part is not None and len(part) <= 2 for part in parts.values())
        self.need(fine, "has scores that are not those of a look-up")
        assert known is not None
        # W
        width = self._positive(-1 * known[2], sight)
        slopes = {name: of(part[1]) / width for name, part in parts.items() if part is not None and len(part) > 1}
        lattice = self._of_row(slopes, step) and self.signs.multiple(2, step)
        offset = of(known[1]) / width - 1 - rest
        self.need(lattice and self.signs.multiple(offset, step), "looks up other positions than its rule says")
        return tuple(self._positive(width * apart, sight) for apart in (rest, step - rest))

    def between(
        self, one: Group, other: Group, step: Value, rest: Value, sign: int | None
    ) -> tuple[tuple[Value, ...], bool, int | None]:
        """Return, for a single key and a group: gaps between their scores; whether the key's score may equal one of the
        group; and whether it is above (1), below (-1) or equal to (0) all of them, if that is known."""
        names = {*one.form.of_query, *other.form.of_query}
        apart = {name: one.form.of_query.get(name, 0) - other.form.of_query.get(name, 0) for name in names}
        known = one.form.known - other.form.known
        fine = self._unknown((*one.parts, *other.parts), step) and self._of_row(apart, step)
        message = "has scores that do not follow the rule of a single key"
        self.need(fine and self.signs.multiple(known - rest, step), message)
        # The scores are equal.
        if rest == 0 and step == 0:
            return (), True, 0
        if sign is not None:
            self.need(sign in (1, -1), message)
            for ends in self._ends(one, other):
                end = ends[0] if sign == 1 else -1 * ends[1]
                reason = "has scores whose order is not the claimed one"
                self.need(self.signs.positive(end, other.sight.domains), reason)
        if rest == 0:
            return (self._positive(step, other.sight),), sign is None, sign
        if step == 0:
            way = 1 if self.signs.positive(rest, other.sight.domains) else -1
            return (self._positive(way * rest, other.sight),), False, way
        return (self._positive(rest, other.sight), self._positive(step - rest, other.sight)), False, sign

    def _ends(self, one: Group, other: Group) -> Iterator[tuple[Value, Value]]:
        """Yield the least and the largest difference of the score of a single key and a score of a group, for each part
        of the group."""
        fine = self.inverse is None and not any(part.of_both for part in (*one.parts, *other.parts))
        self.need(fine, "multiplies an unknown number by a coordinate 1/m")
        names = {*one.form.of_query, *other.form.of_query}
        apart = {name: one.form.of_query.get(name, 0) - other.form.of_query.get(name, 0) for name in names}
        for part in other.parts:
            low: Value = one.form.known - other.form.known
            high = low
            terms = [(self.own[name], factor) for name, factor in apart.items() if factor != 0]
            terms += [(one.form.keys[name], factor) for name, factor in one.form.of_key.items()]
            terms += [(part.keys[name], -1 * factor) for name, factor in part.of_key.items()]
            for span, factor in terms:
                offset = 0 if span.step is None else span.offset
                ends = [(span.low - offset) * factor, (span.high - offset) * factor]
                if not self.signs.nonnegative(factor, other.sight.domains):
                    message = "has scores whose order is not known"
                    self.need(self.signs.nonnegative(-1 * factor, other.sight.domains), message)
                    ends.reverse()
                low, high = low + ends[0], high + ends[1]
            yield low, high

    # ---- rows ----

    def row(self, groups: Sequence[Sequence[int]], inner: Sequence[Any], pairs: Sequence[Any]) -> Row:
        """Return the facts about the rows that follow from claims about groups, and about pairs of groups. Raises
        Rejected if the claims are not known to be true, or leave out keys."""
        some = [self.group(orders) for orders in groups]
        orders = sorted(order for group in some for order in group.orders)
        # Every visible key must be in one group.
        self.need(orders == sorted(self.parts), "has keys that are in no group or in two groups")
        visible = self.world.count(self.query, self.head.mask)
        if len(some) == 1 and some[0].single:
            return Row(visible, (), True, True, some[0].orders)
        fine = all(group.single or claim is not None for group, claim in zip(some, inner, strict=False))
        self.need(fine and len(inner) == len(some), "has groups without a rule")
        own = [None if group.single else self.within(group, *claim) for group, claim in zip(some, inner, strict=True)]
        found: dict[tuple[int, int], tuple[tuple[Value, ...], bool, int | None]] = {}
        for a, b, *claim in pairs:
            message = "compares something else than a single key with a group"
            self.need(0 <= a < len(some) and 0 <= b < len(some) and a != b and some[a].single, message)
            found[a, b] = self.between(some[a], some[b], *claim)
        for a in range(len(some)):
            for b in range(a + 1, len(some)):
                self.need((a, b) in found or (b, a) in found, "has groups that no pair compares")
        every = [*(part for part in own if part is not None), *found.values()]
        gaps = tuple(dict.fromkeys(gap for part in every for gap in part[0]))
        unique = not any(may_tie for _, may_tie, _ in found.values()) and all(
            part is None or not part[1] or self._beaten(place, some, found) for place, part in enumerate(own)
        )
        equal = all(part is None or part[2] for part in own) and all(sign == 0 for *_, sign in found.values())
        winners = next((best for a in range(len(some)) if (best := self._winners(a, some, found))), ())
        return Row(visible, self._divided(gaps), unique, equal, winners)

    def product(self, query: NumberSpan, offset: Value, step: Value) -> Row:
        """Return the facts about rows whose score is one product, from a span of the query form and the lattice of the
        key forms. Raises Rejected if the query or the keys are not known to be as claimed, or a query other than 0 has
        no known distance from 0."""
        self.need(len(self.head.pairs) == 1 and self.inverse is None, "has a score that is not one product")
        ((form, key),) = self.head.pairs
        own = [(factor, self.own[name]) for name, factor in form.items()]
        self.need(self.signs.sums_to(own, 0, query, self.query.domain), "has a query outside its claimed span")
        lattice, domain = NumberSpan(0, 0, offset, step), self.query.domain
        keys = {
            order: ([(factor, spans[name]) for name, factor in key.items()], self.parts[order][1])
            for order, spans in self.keys.items()
        }
        fine = self.signs.positive(step, [domain])
        fine = fine and all(self.signs.on_lattice(some, 0, lattice) for some, _ in keys.values())
        self.need(fine, "has keys that are not on their claimed lattice")
        away = self.signs.far(query, 0, domain)
        # If the query may be 0, its rows are equal there: only |q| of other queries counts for gaps.
        sizes = away or self.signs.from_zero(query, domain)
        self.need(bool(sizes), "has a query without a known distance from 0")
        alone = len(keys) == 1 and 2 not in keys
        # A positive query prefers the highest key, a negative one the lowest.
        unique = alone or (bool(away) and all(self._highest(keys, sign) for sign in (1, -1)))
        gaps = tuple(size * step for size in sizes)
        return Row(self.world.count(self.query, self.head.mask), gaps, unique, False, tuple(keys) if alone else ())

    def _highest(self, keys: Mapping[int, tuple[Parts, VisibleKeys]], sign: int) -> bool:
        """Return True if the key form at one single place, times `sign`, is known to be above those at all other
        places."""
        ends = {}
        for order, (some, sight) in keys.items():
            total = self.signs.total(some, 0, sight.domains)
            ends[order] = (total.low, total.high) if sign == 1 else (-1 * total.high, -1 * total.low)
        return any(
            one != 2
            and all(
                other == one or self.signs.positive(ends[one][0] - ends[other][1], sight.domains)
                for other, (_, sight) in keys.items()
            )
            for one in keys
        )

    def _divided(self, gaps: tuple[Value, ...]) -> tuple[Value, ...]:
        """Return the gaps of the row, from those of the row times m."""
        most = None if self.inverse is None else self.own[self.inverse].most
        return gaps if most is None else tuple(of(gap) / most for gap in gaps)

    def _winners(self, a: int, groups: Sequence[Group], pairs: Mapping[tuple[int, int], Any]) -> tuple[int, ...]:
        """Return the places of single keys that have the largest score in every row: group `a` and the groups equal to
        it. Return () if one of these is not single, or another group is not known to be below."""
        if not groups[a].single:
            return ()
        found = list(groups[a].orders)
        for b in range(len(groups)):
            sign = pairs[a, b][2] if (a, b) in pairs else None
            if sign is None and (b, a) in pairs and pairs[b, a][2] is not None:
                sign = -pairs[b, a][2]
            if b != a and (sign not in (0, 1) or (sign == 0 and not groups[b].single)):
                return ()
            found += groups[b].orders if b != a and sign == 0 else ()
        return tuple(found)

    def _beaten(self, place: int, groups: Sequence[Group], pairs: Mapping[tuple[int, int], Any]) -> bool:
        """Return True if some single key is above all scores of a group: it is known to be above, or it and another
        single key differ and their scores add up to twice that of the group."""
        if any(b == place and sign == 1 for (_, b), (_, _, sign) in pairs.items()):
            return True
        last = groups[place]
        for (a, b), (_, may_tie, _) in pairs.items():
            one, other = groups[a], groups[b]
            # If A + B = 2 C and A differs from B, one of them is above C.
            bare = not any(part.of_key or part.of_both for group in (one, other, last) for part in group.parts)
            if place in (a, b) or not (one.single and other.single) or may_tie or not bare:
                continue
            names = {name for group in (one, other, last) for name in group.form.of_query}
            sums = [
                one.form.of_query.get(name, 0) + other.form.of_query.get(name, 0) - 2 * last.form.of_query.get(name, 0)
                for name in names
            ]
            if all(total == 0 for total in (*sums, one.form.known + other.form.known - 2 * last.form.known)):
                return True
        return False

    def begins(self) -> bool:
        """Return True if the beginning of the sequence is known to have the largest score of every row, perhaps with
        others."""
        if 0 not in self.parts:
            return False
        bos = self.group((0,))
        for order in self.parts:
            other = self.group((order,))
            if order and not all(self.signs.nonnegative(low, other.sight.domains) for low, _ in self._ends(bos, other)):
                return False
        return True


def powers(value: Value) -> list[Value] | None:
    """Return the coefficients of j^0, j^1, ... in a function that is a polynomial in j, or None if it is not one."""
    if not isinstance(value, Ratio):
        return [value]
    if any(exponents[2] for factor in value.factors for exponents in factor.terms):
        return None
    parts: dict[int, dict[Any, Rational]] = {}
    for exponents, c in value.top.terms.items():
        parts.setdefault(exponents[2], {})[*exponents[:2], 0, *exponents[3:]] = c
    return [
        quotient(Polynomial(parts[k]), value.factors) if k in parts else 0 for k in range(max(parts, default=0) + 1)
    ]
