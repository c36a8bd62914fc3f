"""Types: the joint values of coordinates at a position, for the checker of certificates of programs, and the scores
that follow from them.

The table of a number at a place has rows of some choices and a value; one of the rows applies, whatever the word is.
There are choices of the symbol of the position, of the key that a head with a unique largest score reads, and of a
number that a span restricts to few values. Two numbers that depend on the same choice take values of rows that agree on
it. Different choices may combine in every way, even in ways that no word has. So a table has every value that occurs,
and perhaps others.

The type of a query, or of a key, is the joint value of its forms in the score. For each type of query and of key the
score is a function of i, j and n. If the order of all these functions is known, the largest score of a row belongs to
the visible keys of the highest type in the word. A score below one of a key that is always visible, whatever the type
of that key, is never the largest. For every other type, the gap is at least the distance from the next lower score.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any

from hardsim.verify.arithmetic import Rational, require
from hardsim.verify.ratios import Ratio, Value
from hardsim.verify.rows import Head
from hardsim.verify.spans import KEY, Form, NumberSpan, Place, Signs, World, has, moved

MOST_ROWS = 1024
"""Most rows of a table, and most types of a form at a place."""
MOST_VALUES = 8
"""Most values of a number that is a choice of its own."""
MOST_PAIRS = 8192
"""Most pairs of a query type and a key type in a row of scores."""

Choices = Mapping[Any, int]
"""The number of what was chosen, by the source of the choice."""
TypeTable = tuple[tuple[Choices, Value], ...]
Summands = Sequence[tuple[Fraction, TypeTable | None]]
"""Terms of a sum: factors, and tables of the numbers that they multiply."""
Columns = Mapping[str, Mapping[int, NumberSpan]]
Read = Mapping[int, NumberSpan]
"""A span at each place, by order of the place."""
Vector = tuple[Value, ...]
Picks = tuple[tuple[int, ...], frozenset[str]]
"""How a head reads at a place: the orders of the places of the keys that it may read (empty: all visible ones), and the
coordinates to which it adds the value of one key."""


def always(value: Value) -> TypeTable:
    """Return the table of a number that depends on no choice."""
    return (({}, value),)


def few(span: NumberSpan, source: Any) -> TypeTable | None:
    """Return the table of a number of which only the span is known: each of its values is one choice of `source`.
    Return None if the span has too many values, or no lattice."""
    if span.exact:
        return always(span.offset)
    numbers = [
        Fraction(part)
        for part in (span.low, span.high, span.offset, span.step)
        if part is not None and not isinstance(part, Ratio)
    ]
    # All four parts must be rationals.
    if len(numbers) < 4:
        return None
    low, high, first, size = numbers
    require(size > 0, "a step of a lattice should be positive")
    start, end = ceil((low - first) / size), floor((high - first) / size)
    if not 0 <= end - start < MOST_VALUES:
        return None
    return tuple(({source: k}, first + (start + k) * size) for k in range(end - start + 1))


class TypedColumns:
    """The tables of all coordinates at each place, updated layer by layer. None stands for a table that is not
    known."""

    def __init__(self, signs: Signs, world: World) -> None:
        self.signs, self.world = signs, world
        self.known: dict[str, dict[int, TypeTable | None]] = {}
        self.layer = 0

    def input(
        self,
        embedding: Mapping[str, Sequence[Rational]],
        encodings: Mapping[str, Mapping[int, NumberSpan]],
        spans: Columns,
    ) -> None:
        """Set the tables of the input coordinates. `embedding` has a value for each symbol and, last, for the beginning
        of the sequence. `encodings` and `spans` are the spans of the encodings and of the sums."""
        columns = [*zip(*embedding.values(), strict=True)] if embedding else []
        # Symbols with equal embeddings count once.
        symbols = list(dict.fromkeys(columns[: len(columns) - self.world.bos]))
        for name, own in spans.items():
            self.known[name] = {}
            for place in self.world.places:
                order, added = place.order, encodings.get(name, {}).get(place.order)
                parts: list[tuple[Fraction, TypeTable | None]] = []
                if added is not None:
                    parts.append((Fraction(1), few(added, ("encoding", name))))
                if name in embedding:
                    number = [*embedding].index(name)
                    # The beginning of the sequence has one symbol, so nothing is chosen there.
                    values = [columns[-1][number]] if not order else [row[number] for row in symbols]
                    self.signs.spend(len(values))
                    rows = tuple(({"symbol": k}, value) for k, value in enumerate(values))
                    parts.append((Fraction(1), always(values[0]) if not order else rows))
                self._write(name, order, parts, 0, own[order], "input")

    def heads(
        self,
        heads: Iterable[Head],
        picks: Mapping[str, Mapping[int, Picks]],
        reads: Mapping[str, Mapping[str, Read]],
        spans: Columns,
    ) -> None:
        """Add what the heads of a layer read. `picks` says where a head reads a single key, `reads` has the spans of
        the values that it reads, and `spans` those of the coordinates after attention."""
        self.layer += 1
        parts: dict[str, dict[int, list[tuple[Fraction, TypeTable | None]]]] = {}
        for head in heads:
            for place in self.world.places:
                order = place.order
                picked = picks[head.name].get(order)
                found = {} if picked is None else self._picked(head, place, picked)
                for out in head.values:
                    span = reads[head.name][out][order]
                    own = always(span.offset) if span.exact else found.get(out)
                    own = own if own is not None else few(span, ("read", self.layer, head.name, out))
                    parts.setdefault(out, {}).setdefault(order, []).append((Fraction(1), own))
        self._add(parts, {}, spans, "attended")

    def _picked(self, head: Head, query: Place, picks: Picks) -> dict[str, TypeTable]:
        """Return the tables of the coordinates to which a head adds the value of one key. Only those are included whose
        values are plain numbers at every visible key."""
        orders, some = picks
        keys = [key for key, _ in self.world.seen(query, head.mask) if not orders or key.order in orders]
        outs = {out: form for out, form in head.values.items() if out in some}
        outs = {out: form for out, form in outs.items() if all(self._plain(form, key.order) for key in keys)}
        vectors: dict[Vector, None] = {}
        for key in keys:
            found = self.joint([*outs.values()], key.order)
            if found is None:
                return {}
            # The keys of different places may have the same values.
            vectors |= dict.fromkeys(found)
        if len(vectors) > MOST_ROWS:
            return {}
        source = ("key", self.layer, head.name)
        return {
            out: self._short(tuple(({source: k}, vector[number]) for k, vector in enumerate(vectors)))
            for number, out in enumerate(outs)
        }

    def _plain(self, form: Form, order: int) -> bool:
        own = self.sum([(factor, self.known[name][order]) for name, factor in form.items()], 0)
        return own is not None and not any(isinstance(value, Ratio) for _, value in own)

    def units(
        self, units: Sequence[tuple[bool, Rational, Form, Form]], given: Sequence[Read], biases: Form, spans: Columns
    ) -> None:
        """Add the outputs of the hidden units of a layer. A unit is a clip or a relu, with a bias, an input form and
        output weights; `given` has the spans of the outputs, and `spans` those of the coordinates after the layer."""
        parts: dict[str, dict[int, list[tuple[Fraction, TypeTable | None]]]] = {}
        for number, ((clip, bias, form, outs), read) in enumerate(zip(units, given, strict=True)):
            for place in self.world.places:
                order = place.order
                before = self.sum([(factor, self.known[name][order]) for name, factor in form.items()], bias)
                after = None if before is None else self._active(before, clip, place)
                after = after if after is not None else few(read[order], ("unit", self.layer, number))
                for out, weight in outs.items():
                    parts.setdefault(out, {}).setdefault(order, []).append((Fraction(weight), after))
        self._add(parts, biases, spans, "left")

    def _active(self, before: TypeTable, clip: bool, place: Place) -> TypeTable | None:
        rows: list[tuple[Choices, Value]] = []
        for choices, value in before:
            if self.signs.nonnegative(-1 * value, [place.domain]):
                rows.append((choices, 0))
            elif clip and self.signs.nonnegative(value - 1, [place.domain]):
                rows.append((choices, 1))
            elif self.signs.nonnegative(value, [place.domain]) and (
                not clip or self.signs.nonnegative(1 - value, [place.domain])
            ):
                rows.append((choices, value))
            else:
                return None
        return self._short(tuple(rows))

    # ---- relations ----

    def _add(self, parts: Mapping[str, Mapping[int, Summands]], biases: Form, spans: Columns, stage: str) -> None:
        for out in dict.fromkeys((*parts, *biases)):
            for order, before in [*self.known[out].items()]:
                some = [(Fraction(1), before), *parts.get(out, {}).get(order, [])]
                self._write(out, order, some, biases.get(out, 0), spans[out][order], stage)

    def _write(self, name: str, order: int, parts: Summands, bias: Rational, span: NumberSpan, stage: str) -> None:
        """Set the table of a coordinate to the sum of its parts or, if that is not known, to the values of its span."""
        found = always(span.offset) if span.exact else self.sum(parts, bias)
        self.known[name][order] = found if found is not None else few(span, (stage, self.layer, name))

    def sum(self, parts: Iterable[tuple[Rational, TypeTable | None]], bias: Value) -> TypeTable | None:
        """Return the table of a linear combination; None if the table of a term is not known, or the sum has too many
        rows."""
        rows: list[tuple[Choices, Value]] = [({}, bias)]
        for factor, relation in parts:
            if relation is None:
                return None
            rows = [(both, value + factor * more) for both, value, more in self._joined(rows, relation)]
            if len(rows) > MOST_ROWS:
                return None
        return self._short(tuple(rows))

    def _joined(self, rows: Sequence[tuple[Choices, Any]], relation: TypeTable) -> Iterator[tuple[Choices, Any, Value]]:
        """Yield the pairs of rows from two tables that agree on all choices: the joint choices and both values. It
        stops after MOST_ROWS + 1 pairs."""
        found = 0
        for choices, value in rows:
            for others, more in relation:
                self.signs.spend(2 + len(others))
                if all(choices.get(source, k) == k for source, k in others.items()):
                    yield {**choices, **others}, value, more
                    found += 1
                    if found > MOST_ROWS:
                        return

    def _short(self, relation: TypeTable) -> TypeTable:
        """Reduce a table to one row if all its rows have the same value."""
        values = {value for _, value in relation}
        self.signs.spend(len(relation))
        return always(relation[0][1]) if len(values) == 1 else relation

    def joint(self, forms: Sequence[Form], order: int) -> list[Vector] | None:
        """Return the joint values of some forms at a place; None if a form has no table, or there are too many
        values."""
        rows: list[tuple[Choices, Vector]] = [({}, ())]
        for form in forms:
            own = self.sum([(factor, self.known[name][order]) for name, factor in form.items()], 0)
            if own is None:
                return None
            rows = [(both, (*vector, value)) for both, vector, value in self._joined(rows, own)]
            if len(rows) > MOST_ROWS:
                return None
        return list(dict.fromkeys(vector for _, vector in rows))


@dataclass(frozen=True)
class Level:
    """The score of one type of key: it lies between `low` and `high`, functions of i and n. `orders` are the numbers of
    the places where keys have this type. Keys of this type have equal scores, unless `rise` is given: then the score is
    strictly monotone in j, and neighbours differ by at least `rise`."""

    low: Value
    high: Value
    rise: Value | None
    orders: frozenset[int]


@dataclass(frozen=True)
class TypedRow:
    """Facts about the rows of a head at a place, as in `rows.Row`. The minimum of `gaps` is at most the gap. `unique`:
    the largest score belongs to one key. `equal`: all scores are equal."""

    gaps: tuple[Value, ...]
    unique: bool
    equal: bool
    winners: tuple[int, ...]
    """The places of the keys that have the largest score for every word, and alone have it; () if these are not known.
    """
    begins: bool
    """True if the beginning of the sequence has the largest score, perhaps with other keys."""


class TypedRows:
    """The rows of one head for queries at one place, from the types of queries and keys."""

    def __init__(self, types: TypedColumns, mask: str, pairs: Sequence[tuple[Form, Form]], query: Place) -> None:
        self.types, self.signs, self.query = types, types.signs, query
        self.forms = [right for _, right in pairs]
        self.sights = {key.order: sight for key, sight in types.world.seen(query, mask)}
        self.queries = types.joint([left for left, _ in pairs], query.order) or []
        self.keys = self._keys(self.forms)

    def _keys(self, forms: Sequence[Form]) -> dict[int, list[Vector]]:
        """Return the types of the visible keys by place; {} if they are not known, or too many."""
        found: dict[int, list[Vector]] = {}
        for order in self.sights:
            some = self.types.joint(forms, order)
            if some is None:
                return {}
            found[order] = [tuple(moved(value, i=KEY) for value in key) if order == 2 else key for key in some]
        return found if len(self.queries) * sum(map(len, found.values())) <= MOST_PAIRS else {}

    def row(self) -> TypedRow | None:
        """Return the facts that hold for every type of query; None if the order of the scores is not known."""
        every = [self._ranked(query) for query in self.queries] if self.keys else []
        rows = [self._of(ranks) for ranks in every if ranks is not None]
        gaps = dict.fromkeys(gap for row in rows for gap in row.gaps)
        if not rows or len(rows) < len(every) or not all(self.signs.positive(gap, [self.query.domain]) for gap in gaps):
            return None
        # Known only if all types of query have the same winners.
        winners = {row.winners for row in rows}
        return TypedRow(
            tuple(gaps),
            all(row.unique for row in rows),
            all(row.equal for row in rows),
            winners.pop() if len(winners) == 1 else (),
            all(row.begins for row in rows),
        )

    def agrees(self, value: Form) -> bool:
        """Return True if all keys that may share the largest score are known to carry one value of a form."""
        keys = self._keys([*self.forms, value]) if self.keys else {}
        for query in self.queries if keys else ():
            ranks = self._ranked(query)
            if ranks is None:
                return False
            # Lower scores are never the largest.
            for score in ranks[self._certain(ranks) :]:
                if self._alone(score):
                    continue
                found = {
                    key[-1] for order in score.orders for key in keys[order] if self._score(query, key) == score.low
                }
                if len(found) != 1 or any(has(one, 2) for one in found):
                    return False
        return bool(keys) and bool(self.queries)

    def _ranked(self, query: Vector) -> list[Level] | None:
        """Return the scores for one type of query in ascending order; None if their order is not known."""
        scores = self._scores(query)
        if scores is None:
            return None
        below = [self._below(score, scores) for score in scores]
        ranked = dict(zip(below, scores, strict=True))
        # A total order: the ranks are all different.
        known = None not in ranked and len(ranked) == len(scores)
        return [ranked[number] for number in range(len(scores))] if known else None

    def _certain(self, ranked: Sequence[Level]) -> int:
        """Return the rank (0: the lowest) that the largest score reaches for every word: a key at a single place
        (first, last, beginning) is always visible, so the largest score is at least the lowest score there."""
        return max(
            (next(n for n, score in enumerate(ranked) if order in score.orders) for order in self.sights if order != 2),
            default=0,
        )

    def _alone(self, score: Level) -> bool:
        return len(score.orders) == 1 and (score.rise is not None or 2 not in score.orders)

    def _of(self, ranked: Sequence[Level]) -> TypedRow:
        """Return the facts for one type of query, from its scores in ascending order."""
        gaps, unique = list[Value](), True
        for number in range(self._certain(ranked), len(ranked)):
            score = ranked[number]
            if number:
                # The next lower type may be the largest of the rest.
                gaps.append(score.low - ranked[number - 1].high)
            if score.rise is not None:
                gaps.append(score.rise)
            unique = unique and self._alone(score)
        *others, top = ranked
        lower = frozenset().union(*(score.orders for score in others))
        # Keys at these places always have the highest type.
        fixed = 2 not in top.orders and not top.orders & lower
        begins = 0 in top.orders and 0 not in lower
        equal = not others and top.rise is None
        return TypedRow(tuple(gaps), unique, equal, tuple(sorted(top.orders)) if fixed else (), begins)

    def _score(self, query: Vector, key: Vector) -> Value:
        self.signs.spend(20 * (1 + len(query)))
        return sum((own * other for own, other in zip(query, key, strict=False)), 0)

    def _scores(self, query: Vector) -> list[Level] | None:
        flat: dict[Value, frozenset[int]] = {}
        rising: dict[tuple[Value, int], Level | None] = {}
        for order, keys in self.keys.items():
            for key in keys:
                score = self._score(query, key)
                # Such a score depends on the position of the key, so it is a level of its own.
                if has(score, 2):
                    rising[score, order] = self._rising(score, order)
                else:
                    flat[score] = flat.get(score, frozenset()) | {order}
        if None in rising.values():
            return None
        some = [Level(score, score, None, orders) for score, orders in flat.items()]
        return [*some, *(one for one in rising.values() if one is not None)]

    def _rising(self, score: Value, order: int) -> Level | None:
        sight = self.sights[order]
        rise = moved(score, j=KEY + 1) - score
        sign = 1 if self.signs.positive(rise, sight.domains) else -1
        if not self.signs.positive(sign * rise, sight.domains):
            return None
        low, high = self.signs.floor(score, sight), -1 * self.signs.floor(-1 * score, sight)
        return Level(low, high, self.signs.floor(sign * rise, sight), frozenset([order]))

    def _below(self, score: Level, scores: Sequence[Level]) -> int | None:
        """Return how many of the other scores are below this one; None if some score is neither known to be below nor
        above it."""
        found = 0
        for other in scores:
            if other is score:
                continue
            if self.signs.positive(score.low - other.high, [self.query.domain]):
                found += 1
            elif not self.signs.positive(other.low - score.high, [self.query.domain]):
                return None
        return found
