"""Functions of the word at every site, and the facts that both sides of the second link are made of (see `meaning`).

A diagram is a number. It stands for a function from assignments of the variables (the symbol at a position, Booleans
that attention decided there) to exact values: Booleans, rationals, tuples of them. Diagrams are reduced and ordered,
so two diagrams that stand for the same function are the same number, and the values at the leaves of a diagram are
exactly the values that the function takes (Bryant 1986; with values at the leaves, Bahar et al. 1993).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, partial
from itertools import accumulate, repeat
from typing import Any, Literal, TypeAlias, assert_never

from hardsim.lang.predicate import BUILT_IN
from hardsim.lang.valuations import Alphabet, Holding, Symbols
from hardsim.network.columns import PredicateColumn
from hardsim.network.numbers import ONE, Mask, Rational
from hardsim.network.store import Users
from hardsim.program.model import Program
from hardsim.proof.ratios import LinearForm, common, simplest
from hardsim.proof.result import NotProved
from hardsim.proof.sites import Free, Sites

TERMINAL = 1 << 60
"""The level of a diagram that is a value."""

LIMIT = 400_000
"""Nodes that are no values; a formula that needs more is not proved."""


MOST_JOINED = 12
"""Functions of several variables each whose conjunction is worked out."""


class TooLarge(Exception):
    """A function needs more nodes than there may be."""


class Diagrams:
    """A table of diagrams over variables that are ordered by their first use."""

    def __init__(self) -> None:
        self._levels: list[int] = []
        self._children: list[tuple[int, ...]] = []
        self._values: list[Any] = []
        self._terminals: dict[Hashable, int] = {}
        self._nodes: dict[tuple[int, tuple[int, ...]], int] = {}
        self._variables: dict[Hashable, int] = {}
        self._memo: dict[tuple[Hashable, int, int], int] = {}
        self._sums: dict[Hashable, int] = {}
        self._taken: dict[int, tuple[Any, ...]] = {}
        self.zero = self.terminal(0)
        self.one = self.terminal(1)

    # ---- making ----

    def terminal(self, value: Any) -> int:
        """The constant function."""
        if value not in self._terminals:
            self._terminals[value] = self._new(TERMINAL, (), value)
        return self._terminals[value]

    def variable(self, name: Hashable, values: Sequence[Any] = (0, 1)) -> int:
        """A variable with as many branches as values; branch k has value k."""
        level = self._variables.setdefault(name, len(self._variables))
        return self._node(level, tuple(self.terminal(value) for value in values))

    def _new(self, level: int, children: tuple[int, ...], value: Any) -> int:
        if level != TERMINAL and len(self._nodes) >= LIMIT:
            raise TooLarge
        self._levels.append(level)
        self._children.append(children)
        self._values.append(value)
        return len(self._levels) - 1

    def _node(self, level: int, children: tuple[int, ...]) -> int:
        if all(child == children[0] for child in children):
            return children[0]
        key = (level, children)
        if key not in self._nodes:
            self._nodes[key] = self._new(level, children, None)
        return self._nodes[key]

    # ---- combining ----

    def apply(self, name: Hashable, function: Callable[[Any, Any], Any], left: int, right: int) -> int:
        """`function` of two diagrams' values; `name` stands for the function and must mean nothing else."""

        def decided(first: int, second: int) -> int | None:
            if self._levels[first] == TERMINAL == self._levels[second]:
                return self.terminal(function(self._values[first], self._values[second]))
            return None

        return self._combined(name, decided, left, right)

    def _combined(self, name: Hashable, decided: Callable[[int, int], int | None], left: int, right: int) -> int:
        """What `decided` makes of two diagrams, or else of their branches: without recursion, whatever their depth."""
        memo, waiting = self._memo, [(left, right)]
        while waiting:
            first, second = waiting[-1]
            key = (name, first, second)
            found = memo[key] if key in memo else decided(first, second)
            if found is None:
                level = min(self._levels[first], self._levels[second])
                lefts = self._children[first] if self._levels[first] == level else repeat(first)
                rights = self._children[second] if self._levels[second] == level else repeat(second)
                pairs = list(zip(lefts, rights, strict=False))
                missing = [pair for pair in pairs if (name, *pair) not in memo]
                if missing:
                    waiting += missing
                    continue
                found = self._node(level, tuple([memo[name, *pair] for pair in pairs]))
            memo[key] = found
            waiting.pop()
        return memo[name, left, right]

    def all_of(self, diagrams: Iterable[int]) -> int:
        """The conjunction of Booleans. The last variables come first, and what is decided is not looked into: of many
        that have no variables in common it takes time in proportion to their sizes."""

        def decided(first: int, second: int) -> int | None:
            if first in (self.zero, second) or second == self.one:
                return first
            return second if second == self.zero or first == self.one else None

        result = self.one
        for diagram in sorted({*diagrams}, key=lambda one: (-self._levels[one], one)):
            result = self._combined("all of", decided, diagram, result)
        return result

    def negated(self, diagram: int) -> int:
        """The negation of a Boolean."""
        return self.linear([(-1, diagram)], 1)

    def simple(self, diagram: int) -> bool:
        """Whether a diagram depends on one variable at most."""
        return all(self._levels[child] == TERMINAL for child in self._children[diagram])

    def truth(self, diagram: int) -> bool:
        """Whether a diagram takes no values but 0 and 1."""
        return all(value in (0, 1) for value in self.values(diagram))

    def map(self, name: Hashable, function: Callable[[Any], Any], diagram: int) -> int:
        """`function` of a diagram's values."""
        return self.apply(name, lambda value, _: function(value), diagram, self.zero)

    def linear(self, terms: Iterable[tuple[Rational, int]], constant: Rational = 0) -> int:
        """The sum of coefficient times diagram, plus a constant."""
        total: Any = simplest(constant)
        open_terms: list[tuple[Rational, int]] = []
        for coefficient, diagram in terms:
            if self._levels[diagram] == TERMINAL:
                total += coefficient * self._values[diagram]
            else:
                open_terms.append((coefficient, diagram))
        if not open_terms:
            return self.terminal(simplest(total))
        key = (tuple(open_terms), total)
        if key not in self._sums:
            known = self.terminal(simplest(total))
            # The last variables first, so that the diagrams on the way stay small.
            for coefficient, diagram in sorted(open_terms, key=lambda term: -self._levels[term[1]]):
                known = self.apply(("add", coefficient), _adder(coefficient), known, diagram)
            self._sums[key] = known
        return self._sums[key]

    def join(self, diagrams: Sequence[int]) -> int:
        """The tuple of the diagrams' values."""
        result = self.terminal(())
        for diagram in diagrams:
            result = self.apply("join", lambda values, value: (*values, value), result, diagram)
        return result

    # ---- asking ----

    def constant(self, diagram: int) -> bool:
        """Whether a diagram has one value."""
        return self._levels[diagram] == TERMINAL

    def value(self, diagram: int) -> Any:
        """The value of a constant diagram."""
        return self._values[diagram]

    def values(self, diagram: int) -> tuple[Any, ...]:
        """All values that a diagram takes, each once."""
        if diagram not in self._taken:
            seen, waiting, found = {diagram}, [diagram], []
            while waiting:
                last = waiting.pop()
                if self._levels[last] == TERMINAL:
                    found.append(self._values[last])
                for child in self._children[last]:
                    if child not in seen:
                        seen.add(child)
                        waiting.append(child)
            self._taken[diagram] = tuple(found)
        return self._taken[diagram]

    def example(self, diagram: int, value: Any) -> dict[Hashable, int]:
        """The branches of an assignment that gives a diagram this value (variables left out may have any)."""
        path: dict[Hashable, int] = {}
        names = list(self._variables)
        while self._levels[diagram] != TERMINAL:
            children = enumerate(self._children[diagram])
            branch, child = next((branch, child) for branch, child in children if value in self.values(child))
            path[names[self._levels[diagram]]] = branch
            diagram = child
        return path


def _adder(coefficient: Rational) -> Callable[[Any, Any], Any]:
    return lambda total, value: simplest(total + coefficient * value)


def clip(value: Rational) -> Rational:
    """`min(max(value, 0), 1)`."""
    return 0 if value <= 0 else 1 if value >= 1 else value


SYMBOL = ("symbol",)
"""The variable of the symbol at the position."""
HOLDS = "holds"
"""Begins the name of the variable of a proposition at the position."""

MASKS = {"L": Mask.FUTURE, "R": Mask.PAST, "": Mask.NONE}
"""The side on which one counts, as what sees it."""

Column = tuple[int, ...]
"""A diagram for every site."""

Near: TypeAlias = Literal["S", "U", "E"]
"""The facts about a nearest position: the last one so far, the first one from here on, the last one of the word."""

Count = tuple[str, Column]
"""A side (`L`, `R` or both: empty) and what is counted."""

Cut = Callable[[int], int | None]
"""The variable of a Boolean column by its place in a sum, if there is one."""

Least = Callable[[Fraction, Fraction], int | None]
"""For a step and a constant the least integer t at which `step t + constant` is true; None if that is not clear-cut."""

Compared = Callable[[Any, int], int]
"""Compares combinations of counts that differ in a constant alone: the diagram for a constant at a site."""


@dataclass(frozen=True)
class CountPredicate:
    """A predicate of `scale * count + offset`: EVEN, ODD, MOD (params m, r), PRIME, SQUARE, POW2 or the user's own."""

    name: str
    params: tuple[int, ...]
    scale: int
    offset: int


@dataclass
class Facts:
    """Columns of diagrams, and the table of facts, shared by both sides; `users` are the formula's own predicates."""

    sites: Sites
    alphabet: Alphabet
    users: Users = field(default_factory=dict)
    diagrams: Diagrams = field(default_factory=Diagrams)
    known: dict[Hashable, int] = field(default_factory=dict)
    predicates: dict[int, PredicateColumn] = field(default_factory=dict)
    """The free Booleans among the diagrams of encodings."""

    def number(self, thing: Hashable) -> int:
        """A number that stands for something in facts: columns are long, and compared in full only here."""
        return self.known.setdefault(thing, len(self.known))

    def fact(self, *statement: object) -> int:
        """The variable of a fact."""
        return self.diagrams.variable(statement)

    # ---- columns ----

    def everywhere(self, number: int) -> Column:
        """The same diagram at every site."""
        return (number,) * len(self.sites)

    def symbols(self, values: tuple[Rational, ...]) -> int:
        """A function of the symbol: of one variable, whose branches are the symbols, under any values."""
        if len(set(values)) == 1:
            return self.diagrams.terminal(values[0])
        variable = self.diagrams.variable(SYMBOL, tuple(range(len(values))))
        return self.diagrams.map(("symbols", values), lambda branch: values[branch], variable)

    def encoded(self, values: Sequence[Any]) -> Column:
        """An encoding by site: numbers, rational functions, or free Booleans."""
        column = []
        for value in values:
            free = isinstance(value, Free)
            column.append(self.fact("predicate", value) if free else self.diagrams.terminal(value))
            if free:
                self.predicates[column[-1]] = value.column
        return tuple(column)

    def proposition(self, name: str) -> int:
        """Whether a proposition holds. Those of a position are independent variables: what is true of all sets of
        propositions is true of those that constraints allow."""
        return self.diagrams.variable((HOLDS, name))

    def letter(self, symbols: Symbols) -> Column:
        """Whether the symbol is one of some."""
        if isinstance(symbols, Holding):
            return self.everywhere(self.diagrams.one if symbols.name is None else self.proposition(symbols.name))
        if not symbols:
            return self.everywhere(self.diagrams.zero)
        return self.everywhere(self.symbols(tuple(int(symbol in symbols) for symbol in self.alphabet)))

    def given(self, program: Program) -> dict[str, Column]:
        """What a specification has at every position before its first layer."""
        columns = {ONE: self.everywhere(self.diagrams.one)}
        columns |= {letter.name: self.letter(letter.symbols) for letter in program.letters}
        encodings = {encoding.name: self.sites.evaluate(encoding.value) for encoding in program.encodings}
        return columns | {name: self.encoded(values) for name, values in encodings.items()}

    def each(self, name: str, function: Callable[[Any, Any], Any], left: Column, right: Column) -> Column:
        """A function of two columns, site by site."""
        return tuple(map(cache(partial(self.diagrams.apply, name, function)), left, right))

    def combine(self, parts: Sequence[tuple[Rational, Column]], constant: Rational) -> Column:
        """A linear combination of columns."""
        if not parts:
            return self.everywhere(self.diagrams.terminal(constant))
        if len(parts) == 1 and parts[0][0] == 1 and not constant:
            return parts[0][1]
        factors = [factor for factor, _ in parts]
        known = cache(lambda *row: self.diagrams.linear(zip(factors, row, strict=True), constant))
        return tuple(map(known, *(column for _, column in parts)))

    def negated(self, column: Column) -> Column:
        """The negation of a Boolean column."""
        return tuple(map(cache(self.diagrams.negated), column))

    def both(self, columns: Sequence[Column]) -> Column:
        """The conjunction of Boolean columns."""
        if not columns:
            return self.everywhere(self.diagrams.one)
        return tuple(map(cache(lambda *row: self.diagrams.all_of(row)), *columns))

    def clip(
        self, parts: Sequence[tuple[Rational, Column]], constant: Rational, cut: Cut = lambda place: None
    ) -> Column:
        """The clip of a linear combination. Where Booleans have equal coefficients (of either sign: then it is their
        negations that count), and it is 1 for all of them alone, or for any of them, it is their conjunction or
        disjunction, however many there are; elsewhere it is worked out from the values that the sum takes.

        `cut` gives variables to read in place of the columns where more than `MOST_JOINED` depend on several variables
        each: what they have to do with each other is forgotten there, or their conjunction might be too large.
        """
        factors = [factor for factor, _ in parts]

        @cache
        def joined(*row: int) -> int | None:
            return self._joined(factors, row, constant, cut)

        columns = [column for _, column in parts]
        found = [joined(*row) for row in zip(*columns, strict=True)] if columns else [None] * len(self.sites)
        if None not in found:
            return tuple(number for number in found if number is not None)
        # What is decided already need not be added up.
        left = [(factor, tuple([self.diagrams.zero if done is not None else number
                                for done, number in zip(found, column, strict=True)]))
                for factor, column in parts]  # fmt: skip
        rest = self.clipped(self.combine(left, constant))
        return tuple([number if done is None else done for done, number in zip(found, rest, strict=True)])

    def _joined(self, factors: Sequence[Rational], row: Sequence[int], constant: Rational, cut: Cut) -> int | None:
        """A clip at a site, if it is a conjunction or disjunction of many; else None."""
        diagrams, terms = self.diagrams, list[tuple[Rational, int]]()
        total: Any = constant
        deep = sum(not diagrams.simple(number) for number in row) > MOST_JOINED
        for place, (factor, number) in enumerate(zip(factors, row, strict=True)):
            if diagrams.constant(number):
                total += factor * diagrams.value(number)
            else:
                other = cut(place) if deep and not diagrams.simple(number) else None
                terms.append((factor, number if other is None else other))
        if len(terms) < 2 or not all(isinstance(value, int | Fraction) for value in (total, *(c for c, _ in terms))):
            return None
        size = max(terms[0][0], -terms[0][0])
        if any(factor not in (size, -size) or not diagrams.truth(number) for factor, number in terms):
            return None
        total += sum(min(factor, 0) for factor, _ in terms)
        literals = [number if factor > 0 else diagrams.negated(number) for factor, number in terms]
        if total >= 1 or size * len(terms) + total <= 0:
            return diagrams.terminal(int(total >= 1))
        if size * len(terms) + total >= 1 and size * (len(terms) - 1) + total <= 0:
            return diagrams.all_of(literals)
        if size + total >= 1 and total <= 0:
            return diagrams.negated(diagrams.all_of(map(diagrams.negated, literals)))
        return None

    def clipped(self, column: Column) -> Column:
        """The clip of an exact number at every site."""
        return tuple(map(cache(partial(self.diagrams.map, "clip", clip)), column))

    def constant(self, column: Column) -> bool:
        """Whether a column is the same for every word."""
        return all(self.diagrams.constant(number) for number in set(column))

    def numbers(self, column: Column) -> list[Any]:
        """The values of a column that is the same for every word."""
        return [self.diagrams.value(number) for number in column]

    def boolean(self, column: Column) -> bool:
        """Whether a column takes no values but 0 and 1."""
        return all(map(self.diagrams.truth, set(column)))

    def fixed(self, column: Column, what: str) -> list[Any]:
        """The values of a column that must be the same for every word."""
        if not self.constant(column):
            raise NotProved(f"{what} depends on the word")
        return self.numbers(column)

    def truths(self, column: Column, what: str) -> Column:
        """A column that must take no values but 0 and 1."""
        if not self.boolean(column):
            raise NotProved(f"{what} is not a Boolean")
        return column

    # ---- positions ----

    def edge(self, which: str) -> Column:
        """Whether a position is the first or last one."""
        return tuple(self.diagrams.terminal(int(here)) for here in self.sites.edge(which))

    def step(self, op: Literal["Y", "X"], what: Column) -> Column:
        """`Y what` or `X what`."""
        fact = self.beside(op, what)
        edge = self.sites.edge("first" if op == "Y" else "last")
        return tuple(self.diagrams.zero if here else fact for here in edge)

    def beside(self, op: Literal["Y", "X"], what: Column) -> int:
        """Whether something holds at the position before, or after, where there is one."""
        return what[0] if self.same(what) else self.fact(op, what)

    def nearest(self, op: Near, where: Column, what: Column) -> Column:
        """What holds at the nearest position of some, or where there is none here; with a mask that is here too where
        all of them are. What is always or never true is so there."""
        if self.same(what) or (op != "E" and set(where) == {self.diagrams.one}):
            return what
        return self.everywhere(self.fact(op, where, what))

    def same(self, column: Column) -> bool:
        """Whether a column is one value, at every site and for every word."""
        return len(set(column)) == 1 and self.diagrams.constant(column[0])

    def alternating(self, keys: list[Any], values: list[Any], name: str) -> None:
        """Hold that a head reads which keys are positive, and that neighbours differ in that."""
        if any(not k or value not in (0, 1) or (k > 0) != (value == 1) for k, value in zip(keys, values, strict=True)):
            raise NotProved(f"head {name} does not read which keys are positive")
        for site, i in enumerate(self.sites.i):
            # Neighbouring positions differ: who sees two or more sees both values.
            if i > 1 and values[site] == values[site - 1]:
                raise NotProved(f"head {name} does not read alternating values")

    def distances(self, op: Near, selected: list[Any]) -> list[int]:
        """How far from every site the nearest selected position is, where that is the same for every word."""
        found: list[int] = []
        for n, start, end in self.sites.words():
            here = selected[start:end]
            match op:
                case "S":
                    found += _back_to_last(here)
                case "U":
                    found += [-distance for distance in _back_to_last(here[::-1])[::-1]]
                case "E":
                    last = n + _back_to_last(here)[-1]
                    found += [last - i for i in range(1, n + 1)]
                case _:
                    assert_never(op)
        return found

    # ---- counts ----

    def known_count(self, count: Count) -> list[Any] | None:
        """The values of a count that is the same for every word, else None."""
        side, what = count
        return self.sites.totals(self.numbers(what), MASKS[side]) if self.constant(what) else None

    def comparison(self, counts: Mapping[Count, Rational], least: Least, what: str) -> Compared:
        """Whether an integer combination of counts, of i and of n is large enough, as one fact: integers without a
        common divisor times counts that depend on the word and positions that are not numbers, and a threshold. The
        function that is returned raises NotProved, for `what`, where a number is neither 0 nor 1."""
        values = {count: self.known_count(count) for count in counts}
        fixed = [(coefficient, known) for count, coefficient in counts.items() if (known := values[count]) is not None]
        free = {count: coefficient for count, coefficient in counts.items() if values[count] is None and coefficient}
        facts: dict[object, int] = {}

        @cache
        def number(step: Fraction) -> int:
            return self.number(tuple(sorted((int(value / step), count) for count, value in free.items())))

        def compared(found: LinearForm, site: int) -> int:
            step = common([*map(Fraction, free.values()), found.of_i, found.of_n])
            # Without a step one beyond the constant is taken, of which no multiple is added.
            bound = least(step or abs(found.constant) + 2, found.constant)
            if bound is None:
                raise NotProved(f"{what} is neither 0 nor 1 {'for some counts' if step else 'somewhere'}")
            if not step:
                return self.diagrams.terminal(int(bound <= 0))
            positions = found.of_i / step, found.of_n / step
            above = self.sites.reaches(*positions, bound, site)
            # Counts are not negative: they add to what they are multiplied with, or take away from it.
            if above is not None and all(value > 0 if above else value < 0 for value in free.values()):
                return self.diagrams.terminal(int(above))
            return self.fact("at least", number(step), positions, bound)

        def compare(constant: Any, site: int) -> int:
            total = constant + sum(coefficient * known[site] for coefficient, known in fixed)
            # A number says the same at every site.
            if isinstance(total, int | Fraction):
                if total not in facts:
                    facts[total] = compared(self.sites.line(total, site), site)
                return facts[total]
            found = self.sites.line(total, site)
            key = found, site if found.of_i or found.of_n else None
            if key not in facts:
                facts[key] = compared(found, site)
            return facts[key]

        return compare

    # ---- predicates of counts ----

    def predicate(self, asked: CountPredicate, count: Count, everything: bool) -> Column:
        """A predicate of a count; `everything` says that all positions are counted."""

        def holds(value: int, n: int) -> int:
            total = asked.scale * value + asked.offset
            if asked.name == "MOD":
                return int((total - asked.params[1]) % asked.params[0] == 0)
            user = self.users.get(asked.name)
            return int((user[1] if user else BUILT_IN[asked.name])(total, n))

        zero = [self.diagrams.terminal(holds(0, n)) for n in self.sites.n]
        columns = [tuple(holds(value, n) for value in range(1, n + 1)) for n in self.sites.lengths]
        return self.table(count, zero, columns)

    def read_table(self, values: Column, what: str) -> Sequence[Any]:
        """What a look-up reads, as `table` takes it: Booleans of the position, by length; else NotProved."""
        numbers = self.fixed(values, what)
        self.truths(values, what)
        return [tuple(map(int, numbers[start:end])) for _, start, end in self.sites.words()]

    def table(self, count: Count, at_zero: Sequence[int], columns: Sequence[Any]) -> Column:
        """A predicate of a count: its value at 0 by site, and at 1, 2, ... by length."""
        numbers = dict(zip(self.sites.lengths, columns, strict=True))
        known = self.known_count(count)
        if known is not None:
            rows = zip(at_zero, known, self.sites.n, strict=True)
            return tuple(self.diagrams.terminal(numbers[n][value - 1]) if value else zero for zero, value, n in rows)

        def begin(last: int, value: int) -> int:  # equal for equal beginnings
            return self.number(("beginning", last, value))

        begun = {n: list(accumulate(column, begin, initial=-1)) for n, column in numbers.items()}
        sizes = self.sites.sizes(MASKS[count[0]])
        begins = [begun[n][size] for n, size in zip(self.sites.n, sizes, strict=True)]
        return tuple(map(cache(partial(self.fact, "table", self.number(count))), at_zero, begins))


def _back_to_last(selected: Sequence[Any]) -> list[int]:
    """How far it is from every position to the last selected one up to there (negative); 0 where there is none."""
    lasts = accumulate((place if here else -1 for place, here in enumerate(selected)), max)
    return [last - place if last >= 0 else 0 for place, last in enumerate(lasts)]
