"""Types: the joint values of coordinates at a position, and the scores of a row that follow from them (ours).

A span forgets that the coordinates of a one-hot letter exclude each other. So a score `sum_t A_t(i) B_t(j)` over
letters t has a lattice, but no known maximum. Here each coordinate at a place is a function of a few *sources*,
each of which takes one of finitely many values, whatever the others take:

 - the symbol of the position: the coordinates of the embedding take one joint value a symbol. Over sets of
   propositions, each part of the set that no constraint connects to another is a source of its own;
 - the read of a head with a unique maximum: its values take the joint value of one visible key;
 - any other coordinate that is on a lattice of a few numbers, such as a predicate or a Boolean of an earlier head.

Functions of position and length that are the same for every word have no source. Hidden units read and write at one
position, so their values are computed for each choice of the sources. A coordinate without such a table, such as a
count, has no type, and the rule does not apply to a score that reads it.

The type of a key is the joint value of its forms in the score, and so is that of a query. For each type of the
query each type of a key at each place has a score, a function of i, j and n. If these functions are in a known
order, then the maxima of a row are all visible positions of the best type that is present. The gap is at least the
least difference of two neighbours in that order, of which the upper one is no lower than a position that is always
visible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cmp_to_key
from itertools import product
from math import prod
from typing import TypeAlias

from hardsim.lang.valuations import PropositionSymbols, Valuations
from hardsim.lazy_dataclass import dataclass
from hardsim.network.numbers import ONE as CONSTANT
from hardsim.network.numbers import Rational, plain
from hardsim.program.hard_attention import Affine, Head, Letter, Program, ProgramLayer, Unit
from hardsim.proof.programs.lattice import NumberSpan, nonnegative, plus, positive, times
from hardsim.proof.programs.places import J, Place, Seen, World
from hardsim.proof.programs.rows import Columns, Row, ScoreRows
from hardsim.proof.shared.ratios import Ratio, Value, simplest
from hardsim.proof.shared.result import NotProved

MOST_CHOICES = 512
"""Largest number of values of a table, and of types of a form at a place."""
MOST_NUMBERS = 8
"""Largest number of values on a lattice that is used as a source."""
MOST_SCORES = 8192
"""Largest number of pairs of a query type and a key type in one row."""
RULE = "types"

Source: TypeAlias = tuple[str, ...]
"""Source of a value: the symbol, a part of a set of propositions, the key that a head reads, or a coordinate."""
Types: TypeAlias = list[tuple[Value, ...]]
"""Joint values of some forms, each one once."""


@dataclass(frozen=True)
class TypeTable:
    """Table of a value for each joint choice of some sources, in the order of `itertools.product` (the choice of
    the last source changes fastest). `sizes` has the number of choices of each source."""

    sources: tuple[Source, ...]
    sizes: tuple[int, ...]
    values: tuple[Value, ...]

    @staticmethod
    def constant(value: Value) -> TypeTable:
        """Return the table of a value that depends on no source."""
        return TypeTable((), (), (value,))

    def at(self, choice: Mapping[Source, int]) -> Value:
        """Return the value for a choice of at least the sources of this table."""
        place = 0
        for source, size in zip(self.sources, self.sizes, strict=True):
            place = place * size + choice[source]
        return self.values[place]

    def map(self, function: Callable[[Value], Value | None]) -> TypeTable | None:
        """Apply a function to every value; None if the function returns None for one of them."""
        found = [function(value) for value in self.values]
        known = tuple(value for value in found if value is not None)
        return TypeTable(self.sources, self.sizes, known) if len(known) == len(found) else None


def choices(tables: Iterable[TypeTable]) -> Iterator[dict[Source, int]] | None:
    """Return an iterator over the joint choices of all sources of some tables, each choice as a number from 0 by
    source; None if there are more than MOST_CHOICES."""
    sizes = {source: size for table in tables for source, size in zip(table.sources, table.sizes, strict=True)}
    if prod(sizes.values()) > MOST_CHOICES:
        return None
    return (dict(zip(sizes, some, strict=True)) for some in product(*map(range, sizes.values())))


def combined(terms: Iterable[tuple[TypeTable | None, Rational]], bias: Rational = 0) -> TypeTable | None:
    """Return the table of a linear combination; None if a term with a factor other than 0 has no table, or there
    are more than MOST_CHOICES joint choices."""
    some: list[tuple[TypeTable, Rational]] = []
    for table, factor in terms:
        if factor:
            if table is None:
                return None
            some.append((table, factor))
    total: Value = bias
    vary: list[tuple[TypeTable, Rational]] = []
    for table, factor in some:
        if table.sources:
            vary.append((table, factor))
        else:
            total = plus(total, times(table.values[0], factor))
    # A copy keeps its table, however large.
    if len(vary) == 1 and vary[0][1] == 1 and total == 0:
        return vary[0][0]
    every = choices(table for table, _ in vary)
    if every is None:
        return None
    values: list[Value] = []
    for choice in every:
        value = total
        for table, factor in vary:
            value = plus(value, times(table.at(choice), factor))
        values.append(value)
    sizes = {source: size for table, _ in vary for source, size in zip(table.sources, table.sizes, strict=True)}
    return _without_idle(TypeTable(tuple(sizes), tuple(sizes.values()), tuple(values)))


def _without_idle(table: TypeTable) -> TypeTable:
    """Return the table without the sources that its values do not depend on."""
    sources, sizes, values = table.sources, table.sizes, table.values
    for source in table.sources:
        at = sources.index(source)
        after = prod(sizes[at + 1 :])
        block = after * sizes[at]
        # Compare every value with the one for the first choice of this source.
        kept = tuple(value for place, value in enumerate(values) if place % block < after)
        if all(value == kept[place // block * after + place % after] for place, value in enumerate(values)):
            sources, sizes, values = sources[:at] + sources[at + 1 :], sizes[:at] + sizes[at + 1 :], kept
    return TypeTable(sources, sizes, values)


def free(span: NumberSpan, source: Source) -> TypeTable | None:
    """Return the table of a number of which only its span is known: a constant, or a source of its own if the span
    has a lattice of 1 to MOST_NUMBERS numbers; else None."""
    if span.exact:
        return TypeTable.constant(span.offset)
    step, offset, low, high = span.step, span.offset, span.low, span.high
    if step is None or any(isinstance(part, Ratio) for part in (step, offset, low, high)):
        return None
    assert not isinstance(step, Ratio)
    assert not isinstance(offset, Ratio)
    assert not isinstance(low, Ratio)
    assert not isinstance(high, Ratio)
    first, last = -((offset - low) // step), (high - offset) // step
    if last - first >= MOST_NUMBERS:
        return None
    numbers = tuple(plain(offset + k * step) for k in range(int(first), int(last) + 1))
    return TypeTable((source,), (len(numbers),), numbers) if numbers else None


@dataclass(frozen=True)
class TypedColumns:
    """Tables of all coordinates, by name and by order of the place, at one moment of a program. None means that the
    coordinate has no type at that place."""

    world: World
    tables: Mapping[str, Mapping[int, TypeTable | None]]

    def form(self, terms: Affine, order: int) -> TypeTable | None:
        """Return the table of a linear form at a place; None if there is none."""
        return combined((self.tables[name][order], factor) for name, factor in terms.terms)

    def joint(self, forms: Sequence[Affine], order: int) -> Types | None:
        """Return the joint values of some forms at a place; None if a form has no table, or there are more than
        MOST_CHOICES choices."""
        tables = [self.form(form, order) for form in forms]
        known = [table for table in tables if table is not None]
        if len(known) < len(tables):
            return None
        every = choices(known)
        if every is None:
            return None
        return list(dict.fromkeys(tuple(table.at(choice) for table in known) for choice in every))


# ---- through a program ----


def input_types(program: Program, world: World, columns: Columns) -> TypedColumns:
    """Return the types of the coordinates before the first layer, whose spans are `columns`."""
    symbols = _symbol_tables(program)
    tables: dict[str, dict[int, TypeTable | None]] = {
        CONSTANT: {place.order: TypeTable.constant(1) for place in world.places}
    }
    for name in program.coordinates:
        encodings = [encoding.value for encoding in program.encodings if encoding.name == name]
        found: dict[int, TypeTable | None] = {}
        for place in world.places:
            span = columns[name][place.order]
            # BOS has its own row of the embedding, and a constant needs no source.
            if span.exact or not place.order:
                found[place.order] = free(span, ("input", name))
                continue
            terms = [(free(place.evaluate(value), ("encoding", name, str(k))), 1) for k, value in enumerate(encodings)]
            terms.append((symbols.get(name, TypeTable.constant(0)), 1))
            found[place.order] = combined(terms, int(name == CONSTANT)) or free(span, ("input", name))
        tables[name] = found
    return TypedColumns(world, tables)


def _symbol_tables(program: Program) -> dict[str, TypeTable | None]:
    """Return the table of each coordinate that the word embedding writes, as a function of the symbol; None
    instead of a table with more than MOST_CHOICES choices."""
    letters: dict[str, list[Letter]] = {}
    for letter in program.letters:
        letters.setdefault(letter.name, []).append(letter)
    alphabet = program.alphabet
    if isinstance(alphabet, Valuations):
        return {name: combined((_of_set(letter, alphabet), 1) for letter in some) for name, some in letters.items()}
    rows = {
        symbol: tuple(
            plain(sum((Fraction(letter.value) for letter in some if symbol in letter.symbols), Fraction(0)))
            for some in letters.values()
        )
        for symbol in alphabet
    }
    kinds = list(dict.fromkeys(rows.values()))  # symbols with one row of the embedding are one choice
    if len(kinds) > MOST_CHOICES:
        return dict.fromkeys(letters)
    return {
        name: _without_idle(TypeTable((("symbol",),), (len(kinds),), tuple(kind[k] for kind in kinds)))
        for k, name in enumerate(letters)
    }


def _of_set(letter: Letter, alphabet: Valuations) -> TypeTable | None:
    """Return the table of one entry of the embedding, if symbols are sets of propositions; None if it has more
    than MOST_CHOICES choices, or belongs to a symbol that is not a proposition."""
    if not isinstance(letter.symbols, PropositionSymbols):
        return None if letter.symbols else TypeTable.constant(0)
    name = letter.symbols.name
    if name is None:
        return TypeTable.constant(letter.value)
    part = next(number for number, names in enumerate(alphabet.parts) if name in names)
    held = alphabet.choices[part]
    values = tuple(letter.value if name in choice else 0 for choice in held)
    return TypeTable((("set", str(part)),), (len(held),), values) if len(held) <= MOST_CHOICES else None


def attended_types(
    layer: ProgramLayer,
    number: int,
    before: TypedColumns,
    rows: Mapping[str, Mapping[int, Row]],
    reads: Mapping[tuple[str, str], Mapping[int, NumberSpan]],
    attended: Columns,
) -> TypedColumns:
    """Return the types after the heads of layer `number`. `rows` are the rows of the heads, `reads` the spans of
    the values that they add, and `attended` the spans of the coordinates afterwards."""
    parts: dict[str, list[tuple[dict[int, TypeTable | None], Rational]]] = {}
    for head in layer.heads:
        added: dict[str, dict[int, TypeTable | None]] = {out: {} for out, _ in head.values}
        for place in before.world.places:
            order = place.order
            row = rows.get(head.name, {}).get(order)
            source = ("read", str(number), head.name)
            picked = {} if row is None else _picked(before, head, place, row, source)
            for out in added:
                span = reads[head.name, out][order]
                own = TypeTable.constant(span.offset) if span.exact else picked.get(out)
                added[out][order] = own or free(span, (*source, out))
        for out, found in added.items():
            parts.setdefault(out, []).append((found, 1))
    return _written(before, parts, {}, attended, ("attended", str(number)))


def _written(
    before: TypedColumns,
    parts: Mapping[str, Sequence[tuple[Mapping[int, TypeTable | None], Rational]]],
    biases: Mapping[str, Rational],
    spans: Columns,
    source: Source,
) -> TypedColumns:
    """Return the types of all coordinates after `parts` and `biases` are added. A sum without a table gets a source
    of its own if `spans` gives it few values."""
    tables = dict(before.tables)
    for out in {**parts, **biases}:
        tables[out] = {
            order: combined([(table, 1), *((some[order], w) for some, w in parts.get(out, []))], biases.get(out, 0))
            or free(spans[out][order], (*source, out))
            for order, table in before.tables[out].items()
        }
    return TypedColumns(before.world, tables)


def picked_types(columns: TypedColumns, head: Head, query: Place, row: Row) -> tuple[tuple[str, ...], Types]:
    """Return the coordinates that a head writes from one key, and the joint values that it adds to them. A head
    reads one key if its maximum is unique, or if all maxima carry one value. A coordinate is left out if it has
    no table at some visible place, or a value that depends on n or position. Both results are empty if there
    are more than MOST_CHOICES joint values or choices."""
    world = columns.world
    keys = [key for key in world.places if world.sees(query, key, head.mask) is not None]
    if row.winner is not None:
        # The head always reads this place, so other keys do not matter.
        keys = [key for key in keys if key.order == row.winner]

    def numbers(form: Affine) -> bool:
        tables = [columns.form(form, key.order) for key in keys]
        return all(one is not None and not any(isinstance(v, Ratio) for v in one.values) for one in tables)

    outs = [(out, form) for out, form in head.values if (row.unique or out in row.agreed) and numbers(form)]
    found: dict[tuple[Value, ...], None] = {}
    for key in keys:
        joint = columns.joint([form for _, form in outs], key.order)
        if joint is None:
            return (), []
        found |= dict.fromkeys(joint)
    return (tuple(out for out, _ in outs), [*found]) if len(found) <= MOST_CHOICES else ((), [])


def _picked(columns: TypedColumns, head: Head, query: Place, row: Row, source: Source) -> dict[str, TypeTable]:
    """Return the table of each coordinate that a head writes from one key. The source is the choice of one joint
    value."""
    outs, found = picked_types(columns, head, query, row)
    return {
        out: _without_idle(TypeTable((source,), (len(found),), tuple(vector[k] for vector in found)))
        for k, out in enumerate(outs)
    }


def hidden_types(
    layer: ProgramLayer,
    number: int,
    attended: TypedColumns,
    units: Sequence[tuple[Mapping[int, NumberSpan], Mapping[int, NumberSpan]]],
    leaving: Columns,
) -> TypedColumns:
    """Return the types after the hidden units of a layer. `units` has for each unit the spans of its input and of
    its output, and `leaving` has those of the coordinates after the layer."""
    parts: dict[str, list[tuple[Mapping[int, TypeTable | None], Rational]]] = {}
    for place, (unit, (_, active)) in enumerate(zip(layer.units, units, strict=True)):
        source = ("unit", str(number), str(place))
        given = {
            where.order: _active(unit, attended, where) or free(active[where.order], source)
            for where in attended.world.places
        }
        for out, weight in unit.outs:
            parts.setdefault(out, []).append((given, weight))
    return _written(attended, parts, dict(Affine.of(layer.biases).terms), leaving, ("left", str(number)))


def _active(unit: Unit, columns: TypedColumns, place: Place) -> TypeTable | None:
    """Return the table of the output of a hidden unit; None if it is not known which piece of the unit applies for
    some choice."""
    table = columns.form(unit.pre, place.order)

    def value(x: Value) -> Value | None:
        if nonnegative(times(x, -1), place.domains):
            return 0
        if unit.clip and nonnegative(plus(x, -1), place.domains):
            return 1
        fits = nonnegative(x, place.domains)
        return x if fits and (not unit.clip or nonnegative(plus(1, times(x, -1)), place.domains)) else None

    found = None if table is None else table.map(value)
    return None if found is None else _without_idle(found)


# ---- rows ----


@dataclass(frozen=True)
class Level:
    """Level of a row: visible positions with equal scores, between two functions of i and n. `orders` are their
    places. If `rise` is given, the level is one place whose scores are strictly monotone in j, and neighbours
    differ by at least `rise`."""

    low: Value
    high: Value
    orders: frozenset[int]
    rise: Value | None


class TypedRows:
    """Rows of one head for queries at one place, from the types of its query and keys."""

    def __init__(self, world: World, head: Head, query: Place, types: TypedColumns) -> None:
        self.world, self.head, self.query, self.types = world, head, query, types
        self.seen = {
            key.order: (key, reach) for key in world.places if (reach := world.sees(query, key, head.mask)) is not None
        }
        self.queries = self._joint([form for form, _ in head.score], query.order)
        self.keys = {order: self._keys([form for _, form in head.score], order) for order in self.seen}
        if len(self.queries) * sum(map(len, self.keys.values())) > MOST_SCORES:
            raise NotProved("too many different query and key vectors are possible")

    def _joint(self, forms: Sequence[Affine], order: int) -> Types:
        found = self.types.joint(forms, order)
        if found is None:
            name = next(
                (name for form in forms for name, _ in form.terms if self.types.tables[name][order] is None), None
            )
            many = "it can have too many different values"
            raise NotProved(many if name is None else f"the values of {name} are not known")
        return found

    def _keys(self, forms: Sequence[Affine], order: int) -> Types:
        """Return the types of the keys at a place. At a place of several positions functions of i become functions
        of j."""
        found, (key, _) = self._joint(forms, order), self.seen[order]
        if not key.several:
            return found
        return [tuple(_at_key(value) for value in some) for some in found]

    def levels(self, query: Sequence[Value]) -> list[Level]:
        """Return the levels of the scores for one type of query, in ascending order. Raises NotProved if the order of
        two levels is not known."""
        found: dict[tuple[Value, int | None], Level] = {}
        for order, keys in self.keys.items():
            _, reach = self.seen[order]
            for score in dict.fromkeys(scored(query, key) for key in keys):
                rises = reach.rise(score) != 0
                level = self._rising(score, order, reach) if rises else Level(score, score, frozenset([order]), None)
                same = found.setdefault((score, order if rises else None), level)
                found[score, order if rises else None] = replace(same, orders=same.orders | level.orders)
        return sorted(found.values(), key=cmp_to_key(self._compared))

    def _rising(self, score: Value, order: int, reach: Seen) -> Level:
        rise = reach.rise(score)
        for sign in (1, -1):
            if positive(times(rise, sign), reach.domains):
                least = reach.least(times(rise, sign))
                return Level(reach.least(score), reach.greatest(score), frozenset([order]), least)
        raise NotProved("the order of the scores of one type of key is not known")

    def _compared(self, one: Level, other: Level) -> int:
        domains = self.query.domains
        if positive(plus(other.low, times(one.high, -1)), domains):
            return -1
        if positive(plus(one.low, times(other.high, -1)), domains):
            return 1
        if one is other:
            return 0
        raise NotProved(f"the order of its scores {one.low} and {other.low} is not known")

    def surest(self, levels: Sequence[Level]) -> int:
        """Return the index of the highest level that the largest score certainly reaches: a single place is always
        visible, so the largest score is at least the lowest level there. 0 if no single place is visible."""
        single = [order for order, (key, _) in self.seen.items() if not key.several]
        lowest = (min(n for n, level in enumerate(levels) if order in level.orders) for order in single)
        return max(lowest, default=0)

    def single(self, level: Level) -> bool:
        """Return True if at most one position can have each score of a level."""
        # A level over several places may be shared by positions of each.
        (order, *others) = level.orders
        return not others and (level.rise is not None or not self.seen[order][0].several)

    def row(self) -> Row:
        """Return the facts of the row for every type of query. Raises NotProved if types do not determine them."""
        gaps: dict[Value, None] = {}
        unique = equal = first = True
        tops: set[tuple[int, ...]] = set()
        for query in self.queries:
            levels = self.levels(query)
            start = self.surest(levels)
            for number in range(start, len(levels)):
                level = levels[number]
                if number:
                    gaps[plus(level.low, times(levels[number - 1].high, -1))] = None
                if level.rise is not None:
                    gaps[level.rise] = None
                unique = unique and self.single(level)
            equal = equal and len(levels) == 1 and levels[0].rise is None
            first = first and start == len(levels) - 1 and not self._elsewhere(0, levels)
            # The maxima are known only if they are the same for every type of query.
            tops.add(self._always(levels))
        if not all(positive(gap, self.query.domains) for gap in gaps):
            raise NotProved("a gap is not known to be positive")
        (always, *others) = tops
        winners = () if others else always
        visible = self.world.count(self.query, self.head.mask)
        return Row(
            self.query,
            visible,
            tuple(gaps),
            unique,
            equal,
            winners[0] if len(winners) == 1 else None,
            (RULE,),
            first,
            winners=winners if len(winners) > 1 else (),
        )

    def _elsewhere(self, order: int, levels: Sequence[Level]) -> bool:
        """Return True if a place is not visible, or has keys below the highest level."""
        return order not in self.seen or any(order in level.orders for level in levels[:-1])

    def _always(self, levels: Sequence[Level]) -> tuple[int, ...]:
        """Return the orders of the places of the maxima, if these are the same whatever the types of the keys are;
        else ()."""
        orders = sorted(levels[-1].orders)
        fixed = not any(self.seen[order][0].several or self._elsewhere(order, levels) for order in orders)
        return tuple(orders) if fixed else ()

    def agrees(self, value: Affine) -> bool:
        """Return True if all positions that can share the largest score carry one value of a form. Then the leftmost of
        them, the rightmost and the mean read the same."""
        forms = [form for _, form in self.head.score]
        try:
            keys = {order: self._keys([*forms, value], order) for order in self.seen}
            every = [(query, self.levels(query)) for query in self.queries]
        except NotProved:
            return False
        for query, levels in every:
            for level in levels[self.surest(levels) :]:
                if self.single(level):
                    continue
                carried = {
                    key[-1] for order in level.orders for key in keys[order] if scored(query, key[:-1]) == level.low
                }
                if len(carried) > 1 or any(isinstance(one, Ratio) and "j" in one.names for one in carried):
                    return False
        return True


def scored(query: Sequence[Value], key: Sequence[Value]) -> Value:
    """Return the score of a query and a key, from the values of their forms."""
    total: Value = 0
    for left, right in zip(query, key, strict=True):
        total = plus(total, times(left, right))
    return total


def _at_key(value: Value) -> Value:
    return simplest(value.at({"i": J})) if isinstance(value, Ratio) else value


def with_types(rows: Callable[[], ScoreRows], typed: Callable[[], TypedRows]) -> Row:
    """Return the row of a head at one place, by the other rules (`rows`) or by types (`typed`), whichever says
    more.

    Types are used if the other rules fail, or if they leave open whether the largest score is unique. They replace the
    other row only if no known fact is lost and one is gained. Raises NotProved with the reason of `rows`, if neither
    knows the gap."""
    known: Row | None = None
    try:
        known = rows().row
        if known.unique or known.equal or known.winners:
            return known
        return _better(known, typed().row())
    except NotProved as failure:
        if known is not None:
            return known
        try:
            return typed().row()
        except NotProved as other:
            raise NotProved(f"{failure.reason}, and {other.reason}") from None


def _better(known: Row, found: Row) -> Row:
    """Return the row from types if it loses nothing and gains something, else the known row."""
    domains = known.place.domains
    narrower = any(
        all(not nonnegative(plus(gap, times(other, -1)), domains) for other in known.gaps) for gap in found.gaps
    )
    # Nothing that is known may get lost, since later layers rely on it.
    if narrower or (known.first and not found.first):
        return known
    more = (found.unique, found.equal, found.first and not known.first, found.winner is not None, bool(found.winners))
    wider = all(any(positive(plus(gap, times(other, -1)), domains) for other in known.gaps) for gap in found.gaps)
    return found if any(more) or (wider and bool(known.gaps)) else known


def agreed(row: Row, typed: Callable[[], TypedRows]) -> Row:
    """Return a row with the coordinates to which the head adds one value, whichever of the tied positions it reads
    (`agreed`)."""
    if row.unique:
        return row
    try:
        rows = typed()
    except NotProved:
        return row
    return replace(row, agreed=tuple(out for out, value in rows.head.values if rows.agrees(value)))


def read_by(row: Row | None, out: str) -> Row | None:
    """Return the row of a head as it adds to the coordinate `out`. If all tied positions carry one value, the
    maximum counts as unique."""
    return row if row is None or out not in row.agreed else replace(row, unique=True, equal=False)
