"""Boolean functions of the word at every site, and the facts that both sides of the second link use (see
`meaning`).

A diagram is a number. It stands for a function from assignments of the variables (the symbol at a position,
Booleans that attention decided there) to exact values: Booleans, rationals, tuples of them. Diagrams are reduced
and ordered, so two diagrams that stand for the same function are the same number, and the values at the leaves of a
diagram are exactly the values that the function takes (Bryant 1986; with values at the leaves, Bahar et al. 1993).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from functools import cache, partial
from itertools import accumulate, repeat
from typing import Any, Literal, TypeAlias, assert_never

from hardsim.lang.predicate import BUILT_IN
from hardsim.lang.valuations import Alphabet, PropositionSymbols, Symbols
from hardsim.lazy_dataclass import dataclass
from hardsim.network.columns import PredicateColumn
from hardsim.network.numbers import ONE, Mask, Rational
from hardsim.network.store import Users
from hardsim.program.hard_attention import Program
from hardsim.proof.formulas.sites import Free, Sites
from hardsim.proof.shared.ratios import LinearForm, common, simplest
from hardsim.proof.shared.result import NotProved

TERMINAL = 1 << 60
"""Level of a diagram that is a constant: below all variables."""

LIMIT = 400_000
"""Largest number of inner nodes in a table of diagrams; a formula that needs more is not proved."""


MOST_JOINED = 12
"""Largest number of functions of several variables each whose conjunction is built exactly."""


class TooLarge(Exception):
    """Raised when a function needs more diagram nodes than `LIMIT`."""


class Diagrams:
    """Table of diagrams over variables, which are ordered by their first use."""

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
        """Return the diagram of the constant function with a value."""
        if value not in self._terminals:
            self._terminals[value] = self._new(TERMINAL, (), value)
        return self._terminals[value]

    def variable(self, name: Hashable, values: Sequence[Any] = (0, 1)) -> int:
        """Return the diagram of a variable. It has one branch for each value; branch k leads to the constant
        `values[k]`."""
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
        # Equal branches: the function does not depend on this variable, and reduced diagrams leave it out.
        if all(child == children[0] for child in children):
            return children[0]
        key = (level, children)
        if key not in self._nodes:
            self._nodes[key] = self._new(level, children, None)
        return self._nodes[key]

    # ---- combining ----

    def apply(self, name: Hashable, function: Callable[[Any, Any], Any], left: int, right: int) -> int:
        """Return the diagram of `function` of two diagrams' values. `name` is the cache key of the function and
        must belong to no other function."""

        def decided(first: int, second: int) -> int | None:
            if self._levels[first] == TERMINAL == self._levels[second]:
                return self.terminal(function(self._values[first], self._values[second]))
            return None

        return self._combined(name, decided, left, right)

    def _combined(self, name: Hashable, decided: Callable[[int, int], int | None], left: int, right: int) -> int:
        """Combine two diagrams: `decided` gives the result or None, in which case the branches of both are
        combined. An explicit stack replaces recursion, so deep diagrams are no problem."""
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
        """Return the conjunction of Boolean diagrams. Diagrams with the last variables come first, and decided
        parts are not visited, so diagrams without common variables take time proportional to their total size."""

        def decided(first: int, second: int) -> int | None:
            if first in (self.zero, second) or second == self.one:
                return first
            return second if second == self.zero or first == self.one else None

        result = self.one
        for diagram in sorted({*diagrams}, key=lambda one: (-self._levels[one], one)):
            result = self._combined("all of", decided, diagram, result)
        return result

    def negated(self, diagram: int) -> int:
        """Return the negation of a Boolean diagram."""
        return self.linear([(-1, diagram)], 1)

    def simple(self, diagram: int) -> bool:
        """Return True if a diagram depends on at most one variable."""
        return all(self._levels[child] == TERMINAL for child in self._children[diagram])

    def truth(self, diagram: int) -> bool:
        """Return True if a diagram takes no values other than 0 and 1."""
        return all(value in (0, 1) for value in self.values(diagram))

    def map(self, name: Hashable, function: Callable[[Any], Any], diagram: int) -> int:
        """Return the diagram of `function` of a diagram's values; `name` is the cache key of the function."""
        return self.apply(name, lambda value, _: function(value), diagram, self.zero)

    def linear(self, terms: Iterable[tuple[Rational, int]], constant: Rational = 0) -> int:
        """Return the diagram of the sum of coefficient times diagram, plus a constant."""
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
        """Return the diagram whose value is the tuple of the given diagrams' values."""
        result = self.terminal(())
        for diagram in diagrams:
            result = self.apply("join", lambda values, value: (*values, value), result, diagram)
        return result

    # ---- asking ----

    def constant(self, diagram: int) -> bool:
        """Return True if a diagram is a constant."""
        return self._levels[diagram] == TERMINAL

    def value(self, diagram: int) -> Any:
        """Return the value of a constant diagram."""
        return self._values[diagram]

    def values(self, diagram: int) -> tuple[Any, ...]:
        """Return all values that a diagram takes, each once."""
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

    def restricted(self, diagram: int, variable: int, branch: int) -> int:
        """Return a diagram with one branch chosen for a variable, which is given by its own diagram."""
        level = self._levels[variable]

        def decided(first: int, _: int) -> int | None:
            if self._levels[first] >= level:
                return self._children[first][branch] if self._levels[first] == level else first
            return None

        return self._combined(("restricted", level, branch), decided, diagram, self.zero)

    def depends(self, diagram: int, variable: int) -> bool:
        """Return True if a diagram depends on a variable, which is given by its own diagram."""
        level, seen, waiting = self._levels[variable], {diagram}, [diagram]
        while waiting:
            last = waiting.pop()
            if self._levels[last] == level:
                return True
            waiting += [child for child in self._children[last] if child not in seen]
            seen.update(self._children[last])
        return False

    def example(self, diagram: int, value: Any) -> dict[Hashable, int]:
        """Return an assignment for which a diagram has a value, as the branch of each variable; variables left out
        are arbitrary."""
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
    """Return `min(max(value, 0), 1)`."""
    return 0 if value <= 0 else 1 if value >= 1 else value


SYMBOL = ("symbol",)
"""Name of the variable of the symbol at the position."""
HOLDS = "holds"
"""First part of the names of the variables of propositions at the position."""

MASKS = {"L": Mask.FUTURE, "R": Mask.PAST, "": Mask.NONE}
"""Mask of an attention head, by the side of the positions that it sees: L (up to here), R (from here on) or empty
(all); the query's own position is always seen."""

Column = tuple[int, ...]
"""Column: one diagram for every site (a position and a length): the value there as a function of the word."""

Near: TypeAlias = Literal["S", "U", "E"]
"""Kind of a nearest position: the last one up to here (S), the first one from here on (U), the last one of the word
(E)."""

SOME: dict[str, Near] = {"L": "S", "R": "U", "": "E"}
"""Kind of nearest position that tells, for each side of a count, that some visible position satisfies a Boolean:
the nearest such position does."""

Count = tuple[str, Column]
"""Count: a side (`L`, `R`, or empty for both) and the Boolean column that is counted there."""

Cut = Callable[[int], int | None]
"""Function from the index of a Boolean column in a sum to a variable that abbreviates it; None to keep the column."""

Least = Callable[[Fraction, Fraction], int | None]
"""Function of a step and a constant: the least integer t at which `step t + constant` counts as true, or None if
there is no such threshold."""

Compared = Callable[[Any, int], int]
"""Function of a constant and a site: the diagram of a comparison of counts plus that constant."""


@dataclass(frozen=True)
class CountPredicate:
    """Predicate of `scale * count + offset`: EVEN, ODD, MOD (params m, r), PRIME, SQUARE, POW2 or a user-defined
    one."""

    name: str
    params: tuple[int, ...]
    scale: int
    offset: int


@dataclass
class Facts:
    """Columns of diagrams and the table of facts, shared by both sides of the second link. `users` are the
    formula's own predicates."""

    sites: Sites
    alphabet: Alphabet
    users: Users = field(default_factory=dict)
    diagrams: Diagrams = field(default_factory=Diagrams)
    known: dict[Hashable, int] = field(default_factory=dict)
    predicates: dict[int, PredicateColumn] = field(default_factory=dict)
    """Predicates of positions that occur in encodings, by the diagram of the Boolean variable that stands for each."""

    def number(self, thing: Hashable) -> int:
        """Return the number of an object, from 0 in the order of first use: equal objects have the same. Long columns
        are compared by these numbers."""
        return self.known.setdefault(thing, len(self.known))

    def fact(self, *statement: object) -> int:
        """Return the diagram of the Boolean variable that stands for a fact, which is given by the parts of its
        statement."""
        return self.diagrams.variable(statement)

    # ---- columns ----

    def everywhere(self, number: int) -> Column:
        """Return the column that has one diagram at every site."""
        return (number,) * len(self.sites)

    def symbols(self, values: tuple[Rational, ...]) -> int:
        """Return the diagram of a function of the symbol, with one value for each symbol. All such functions share
        one variable, whose branches are the symbols."""
        if len(set(values)) == 1:
            return self.diagrams.terminal(values[0])
        return self.diagrams.variable(SYMBOL, values)

    def encoded(self, values: Sequence[Any]) -> Column:
        """Return the column of an encoding, from its value at every site: a number, a rational function, or a free
        Boolean."""
        column = []
        for value in values:
            free = isinstance(value, Free)
            column.append(self.fact("predicate", value) if free else self.diagrams.terminal(value))
            if free:
                self.predicates[column[-1]] = value.column
        return tuple(column)

    def proposition(self, name: str) -> int:
        """Return the diagram of the Boolean variable of a proposition at the position. Propositions are
        independent variables: a statement about all sets of propositions also covers those that constraints
        allow."""
        return self.diagrams.variable((HOLDS, name))

    def letter(self, symbols: Symbols) -> Column:
        """Return the column that is 1 where the symbol at the position is one of `symbols`. Over sets of
        propositions: where the named proposition holds, or everywhere if `symbols` names none."""
        if isinstance(symbols, PropositionSymbols):
            return self.everywhere(self.diagrams.one if symbols.name is None else self.proposition(symbols.name))
        if not symbols:
            return self.everywhere(self.diagrams.zero)
        return self.everywhere(self.symbols(tuple(int(symbol in symbols) for symbol in self.alphabet)))

    def given(self, program: Program) -> dict[str, Column]:
        """Return the columns of a specification's coordinates before its first layer (constant 1, letters,
        encodings), by name."""
        columns = {ONE: self.everywhere(self.diagrams.one)}
        columns |= {letter.name: self.letter(letter.symbols) for letter in program.letters}
        encodings = {encoding.name: self.sites.evaluate(encoding.value) for encoding in program.encodings}
        return columns | {name: self.encoded(values) for name, values in encodings.items()}

    def each(self, name: str, function: Callable[[Any, Any], Any], left: Column, right: Column) -> Column:
        """Return the column of a function of two columns, site by site; `name` is the cache key of the function."""
        return tuple(map(cache(partial(self.diagrams.apply, name, function)), left, right))

    def combine(self, parts: Sequence[tuple[Rational, Column]], constant: Rational) -> Column:
        """Return the linear combination of columns, plus a constant."""
        if not parts:
            return self.everywhere(self.diagrams.terminal(constant))
        if len(parts) == 1 and parts[0][0] == 1 and not constant:
            return parts[0][1]
        factors = [factor for factor, _ in parts]
        known = cache(lambda *row: self.diagrams.linear(zip(factors, row, strict=True), constant))
        return tuple(map(known, *(column for _, column in parts)))

    def negated(self, column: Column) -> Column:
        """Return the negation of a Boolean column."""
        return tuple(map(cache(self.diagrams.negated), column))

    def both(self, columns: Sequence[Column]) -> Column:
        """Return the conjunction of Boolean columns."""
        if not columns:
            return self.everywhere(self.diagrams.one)
        return tuple(map(cache(lambda *row: self.diagrams.all_of(row)), *columns))

    def clip(
        self, parts: Sequence[tuple[Rational, Column]], constant: Rational, cut: Cut = lambda place: None
    ) -> Column:
        """Return the clip of a linear combination of columns.

        Suppose Booleans have equal coefficients up to sign (with a negative sign the negation counts). If the clip
        is 1 for all of them together only, or for any one of them, it is their conjunction or disjunction, however
        many there are. Any other clip is computed from the values that the sum takes.

        If more than `MOST_JOINED` columns depend on several variables each, their conjunction might be too large.
        Then `cut` gives variables that replace these columns, and the relations between the columns are forgotten.
        """
        factors = [factor for factor, _ in parts]

        @cache
        def joined(*row: int) -> int | None:
            return self._joined(factors, row, constant, cut)

        columns = [column for _, column in parts]
        found = [joined(*row) for row in zip(*columns, strict=True)] if columns else [None] * len(self.sites)
        if None not in found:
            return tuple(number for number in found if number is not None)
        # Sites that are decided need no sum: their diagrams are replaced by 0.
        left = [(factor, tuple([self.diagrams.zero if done is not None else number
                                for done, number in zip(found, column, strict=True)]))
                for factor, column in parts]  # fmt: skip
        rest = self.clipped(self.combine(left, constant))
        return tuple([number if done is None else done for done, number in zip(found, rest, strict=True)])

    def _joined(self, factors: Sequence[Rational], row: Sequence[int], constant: Rational, cut: Cut) -> int | None:
        """Return the diagram of a clip at one site (`row`) if it is a constant, conjunction or disjunction of
        Booleans; else None."""
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
        # Negative coefficients are replaced by those of the negations: -b = (1 - b) - 1.
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
        """Return the column of min(max(x, 0), 1), where x is an exact number at every site."""
        return tuple(map(cache(partial(self.diagrams.map, "clip", clip)), column))

    def constant(self, column: Column) -> bool:
        """Return True if a column is the same for every word."""
        return all(self.diagrams.constant(number) for number in set(column))

    def numbers(self, column: Column) -> list[Any]:
        """Return the values, by site, of a column that is the same for every word."""
        return [self.diagrams.value(number) for number in column]

    def boolean(self, column: Column) -> bool:
        """Return True if a column takes no values other than 0 and 1."""
        return all(map(self.diagrams.truth, set(column)))

    def fixed(self, column: Column, what: str) -> list[Any]:
        """Return the values of a column by site. Raises NotProved, naming `what`, unless they are the same for
        every word."""
        if not self.constant(column):
            raise NotProved(f"{what} depends on the word")
        return self.numbers(column)

    def truths(self, column: Column, what: str) -> Column:
        """Return a column unchanged. Raises NotProved, naming `what`, if it takes values other than 0 and 1."""
        if not self.boolean(column):
            raise NotProved(f"{what} is not a Boolean")
        return column

    # ---- positions ----

    def edge(self, which: str) -> Column:
        """Return the column that is 1 at the first, or at the last position."""
        return tuple(self.diagrams.terminal(int(here)) for here in self.sites.edge(which))

    def step(self, op: Literal["Y", "X"], what: Column) -> Column:
        """Return the column of `Y what` (true at the previous position; 0 at the first) or `X what` (true at the
        next one; 0 at the last)."""
        fact = self.beside(op, what)
        edge = self.sites.edge("first" if op == "Y" else "last")
        return tuple(self.diagrams.zero if here else fact for here in edge)

    def beside(self, op: Literal["Y", "X"], what: Column) -> int:
        """Return the diagram of the truth of a column at the previous (Y) or next (X) position, where that position
        exists."""
        return what[0] if self.same(what) else self.fact(op, what)

    def nearest(self, op: Near, where: Column, what: Column) -> Column:
        """Return the column of the value of `what` at the nearest position where `where` holds, or here if there is
        none.

        The result is `what` itself if it is constant, or if `where` holds everywhere and a mask makes this position
        the nearest.
        """
        if self.same(what) or (op != "E" and set(where) == {self.diagrams.one}):
            return what
        return self.everywhere(self.fact(op, where, what))

    def same(self, column: Column) -> bool:
        """Return True if a column has one value, at every site and for every word."""
        return len(set(column)) == 1 and self.diagrams.constant(column[0])

    def alternating(self, keys: list[Any], values: list[Any], name: str) -> None:
        """Raise NotProved unless a head's values are 1 exactly where its keys are positive, and values of
        neighbours differ."""
        if any(not k or value not in (0, 1) or (k > 0) != (value == 1) for k, value in zip(keys, values, strict=True)):
            raise NotProved(f"the values of head {name} are not 1 exactly where its keys are positive")
        for site, i in enumerate(self.sites.i):
            # A query that sees two or more positions then sees both values.
            if i > 1 and values[site] == values[site - 1]:
                raise NotProved(f"the values of head {name} do not alternate from position to position")

    def distances(self, op: Near, selected: list[Any]) -> list[int]:
        """Return the distance from every site to the nearest selected position, negative if that is earlier, 0 if
        the site itself is selected. Without one it is 0 (for `E`: the distance to the last position of the
        word). `selected` is the same for every word."""
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

    def positive(self, count: Count) -> Column:
        """Return the column that is 1 where a count is positive."""
        side, what = count
        return self.nearest(SOME[side], what, what)

    def known_count(self, count: Count) -> list[Any] | None:
        """Return the values of a count by site if it is the same for every word, else None."""
        side, what = count
        return self.sites.totals(self.numbers(what), MASKS[side]) if self.constant(what) else None

    def comparison(self, counts: Mapping[Count, Rational], least: Least, what: str) -> Compared:
        """Return a function of a constant and a site that gives a comparison as a diagram: the combination of counts
        plus the constant is at least the threshold that `least` gives.

        The comparison is one fact: integers without a common divisor times the counts that depend on the word,
        multiples of i and n if sites are not numbers, and a threshold. The function raises NotProved, naming `what`,
        where `least` gives no threshold, that is, where the clip is neither 0 nor 1.
        """
        values = {count: self.known_count(count) for count in counts}
        fixed = [(coefficient, known) for count, coefficient in counts.items() if (known := values[count]) is not None]
        free = {count: coefficient for count, coefficient in counts.items() if values[count] is None and coefficient}
        facts: dict[object, int] = {}

        @cache
        def number(step: Fraction) -> tuple[int, bool]:
            """Return the number of the integer combination or of its opposite, and whether it is that of the former."""
            both = [
                tuple(sorted((int(value / part), count) for count, value in free.items())) for part in (step, -step)
            ]
            return self.number(max(both)), both[0] == max(both)

        def compared(found: LinearForm, site: int) -> int:
            step = common([*map(Fraction, free.values()), found.of_i, found.of_n])
            # Without counts and positions the sum is the constant, and any step above it will do.
            bound = least(step or abs(found.constant) + 2, found.constant)
            if bound is None:
                raise NotProved(f"{what} is neither 0 nor 1 {'for some counts' if step else 'at some positions'}")
            if not step:
                return self.diagrams.terminal(int(bound <= 0))
            positions = found.of_i / step, found.of_n / step
            above = self.sites.reaches(*positions, bound, site)
            # Counts are not negative, so terms of one sign only move the sum further to that side.
            if above is not None and all(value > 0 if above else value < 0 for value in free.values()):
                return self.diagrams.terminal(int(above))
            combination, same = number(step)
            if same:
                return self.fact("at least", combination, positions, bound)
            # Of integers, x >= bound iff not -x >= 1 - bound: a comparison and its negation share one fact.
            turned = self.fact("at least", combination, (-positions[0], -positions[1]), 1 - bound)
            return self.diagrams.negated(turned)

        def compare(constant: Any, site: int) -> int:
            total = constant + sum(coefficient * known[site] for coefficient, known in fixed)
            # A total that is a number gives one fact for all sites.
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

    def predicate(self, count_predicate: CountPredicate, count: Count, everything: bool) -> Column:
        """Return the column of a predicate of a count. `everything` says that all positions are counted."""

        def holds(value: int, n: int) -> int:
            total = count_predicate.scale * value + count_predicate.offset
            if count_predicate.name == "MOD":
                return int((total - count_predicate.params[1]) % count_predicate.params[0] == 0)
            user = self.users.get(count_predicate.name)
            return int((user[1] if user else BUILT_IN[count_predicate.name])(total, n))

        zero = [self.diagrams.terminal(holds(0, n)) for n in self.sites.n]
        columns = [tuple(holds(value, n) for value in range(1, n + 1)) for n in self.sites.lengths]
        return self.table(count, zero, columns)

    def read_table(self, values: Column, what: str) -> Sequence[Any]:
        """Return the values that a look-up reads, in the format of `table`: one tuple of Booleans for each length.
        Raises NotProved if the values depend on the word or are no Booleans."""
        numbers = self.fixed(values, what)
        self.truths(values, what)
        return [tuple(map(int, numbers[start:end])) for _, start, end in self.sites.words()]

    def table(self, count: Count, at_zero: Sequence[int], columns: Sequence[Any]) -> Column:
        """Return the column of a predicate of a count, given its value at count 0 for each site (`at_zero`,
        diagrams), and its values at 1, 2, ... for each length (`columns`, Booleans)."""
        numbers = dict(zip(self.sites.lengths, columns, strict=True))
        known = self.known_count(count)
        if known is not None:
            rows = zip(at_zero, known, self.sites.n, strict=True)
            return tuple(self.diagrams.terminal(numbers[n][value - 1]) if value else zero for zero, value, n in rows)

        # Tables that agree up to the largest count of a site are one fact there.
        def begin(last: int, value: int) -> int:  # equal for equal beginnings
            return self.number(("beginning", last, value))

        begun = {n: list(accumulate(column, begin, initial=-1)) for n, column in numbers.items()}
        sizes = self.sites.sizes(MASKS[count[0]])
        begins = [begun[n][size] for n, size in zip(self.sites.n, sizes, strict=True)]
        return tuple(map(cache(partial(self.fact, "table", self.number(count))), at_zero, begins))


def _back_to_last(selected: Sequence[Any]) -> list[int]:
    """Return the distance from every position to the last selected one up to there (0 or negative); 0 where there
    is none."""
    lasts = accumulate((place if here else -1 for place, here in enumerate(selected)), max)
    return [last - place if last >= 0 else 0 for place, last in enumerate(lasts)]
