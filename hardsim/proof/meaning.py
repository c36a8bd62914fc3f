"""The second link: the hard heads compute the formula.

Both sides are given numbers for what they mean: a Boolean function of the symbol and of *facts*, where a fact is a
lemma's statement about earlier numbers. Equal numbers mean equal truth at every site.

 - ("S", where, what) at i: the rightmost j <= i with `where` satisfies `what`; if there is none, `what` holds at i.
   A head that looks for the rightmost selected position, rounded, is this by definition. `left S right` is it with
   where = !left | right and what = right (Theorems 15 and 16): at the rightmost such j either right holds, and left
   holds ever since, or left fails, and right since then; if there is none, right fails everywhere.
   ("U", ...) is the mirror image, ("E", ...) without a mask.
 - ("Y", what) at i > 1: `what` at i - 1. A head whose `select` is the same for every word reads a known position; two
   of them, shut out by parity, read i - 1 (Theorems 12 and 13). At i = 1 it is false. ("X", ...) mirrored.
 - ("at least", counts, thresholds): an integer combination of counts is at least a threshold that depends on the site
   alone (Theorems 20 to 23). A look-up reads max(c, 1), and c = max(c, 1) + [c > 0] - 1.
 - ("table", count, at zero, column): a predicate of a count, as the table of its values.

Nothing here knows how formulas are compiled; positions and lengths, markers and predicates of them are compared by
their values at every site.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from math import ceil
from typing import Any

from hardsim.lang.core import And, AtLeast, Core, CountOf, Edge, Letters, Lit, Numeric, Reach, Step, Xor, operands
from hardsim.lang.numerical import BUILT_IN, NumericalPredicate
from hardsim.proof.counts import common
from hardsim.proof.diagrams import Diagrams
from hardsim.proof.sites import Sites
from hardsim.spec.ir import Rational

SYMBOL = ("symbol",)

Column = tuple[int, ...]
"""A diagram for every site."""

Count = tuple[str, Column]
"""A side (`L`, `R` or both: empty) and what is counted."""


@dataclass
class Facts:
    """The table of facts, shared by both sides."""

    sites: Sites
    alphabet: tuple[str, ...]
    diagrams: Diagrams = field(default_factory=Diagrams)
    numbers: dict[Hashable, int] = field(default_factory=dict)

    def number(self, thing: Hashable) -> int:
        """A number that stands for something in facts: columns are long, and compared in full only here."""
        return self.numbers.setdefault(thing, len(self.numbers))

    def fact(self, *statement: object) -> int:
        """The variable of a fact."""
        return self.diagrams.variable(statement)

    def everywhere(self, number: int) -> Column:
        """The same diagram at every site."""
        return (number,) * len(self.sites)

    def symbols(self, values: tuple[Rational, ...]) -> int:
        """A function of the symbol."""
        if len(set(values)) == 1:
            return self.diagrams.terminal(values[0])
        variable = self.diagrams.variable(SYMBOL, tuple(range(len(values))))
        return self.diagrams.map(("symbols", values), lambda branch: values[branch], variable)

    def each(self, name: str, function: Callable[[Any, Any], Any], left: Column, right: Column) -> Column:
        """A function of two columns, site by site."""
        pairs = list(zip(left, right, strict=True))
        known = {pair: self.diagrams.apply(name, function, *pair) for pair in set(pairs)}
        return tuple([known[pair] for pair in pairs])

    def combine(self, parts: Sequence[tuple[Rational, Column]], constant: Rational) -> Column:
        """A linear combination of columns."""
        if not parts:
            return self.everywhere(self.diagrams.terminal(constant))
        factors = [factor for factor, _ in parts]
        if len(parts) == 1:
            ((factor, column),) = parts
            single = {number: self.diagrams.linear([(factor, number)], constant) for number in set(column)}
            return tuple([single[number] for number in column])
        rows = list(zip(*(column for _, column in parts), strict=True))
        known = {row: self.diagrams.linear(zip(factors, row, strict=True), constant) for row in set(rows)}
        return tuple([known[row] for row in rows])

    def encoded(self, values: Sequence[Any]) -> Column:
        """An encoding by site."""
        return tuple(self.diagrams.terminal(value) for value in values)

    def constant(self, column: Column) -> bool:
        """Whether a column is the same for every word."""
        return all(self.diagrams.constant(number) for number in set(column))

    def step(self, op: str, what: Column) -> Column:
        """`Y what` or `X what`."""
        fact = self.fact(op, what)
        edge = self.sites.edge("first" if op == "Y" else "last")
        return tuple(self.diagrams.zero if here else fact for here in edge)

    def extent(self, side: str, site: int) -> Any:
        """How many positions a side has."""
        i, n = self.sites.i[site], self.sites.n[site]
        return i if side == "L" else n - i + 1 if side == "R" else n

    def at_most_zero(self, value: Any, site: int) -> bool:
        """Whether a number is at most 0 at a site."""
        return bool(value <= 0)

    def several(self, side: str, site: int) -> bool:
        """Whether a side has more than one position."""
        return bool(self.extent(side, site) > 1)

    def known_count(self, count: Count) -> list[Any] | None:
        """The values of a count that is the same for every word, else None."""
        side, what = count
        if not self.constant(what):
            return None
        values = [int(self.diagrams.value(number)) for number in what]
        result: list[int] = []
        for n, start, end in self.sites.words():
            sums = [0, *accumulate(values[start:end])]
            result += [sums[i] if side == "L" else sums[n] - (sums[i - 1] if side == "R" else 0)
                       for i in range(1, n + 1)]  # fmt: skip
        return result

    def at_least(self, counts: dict[Count, Rational], constants: list[Rational]) -> Column:
        """`sum of coefficient * count + constant >= 0` by site, in lowest terms."""
        terms, step, totals = self.lowest(counts, constants)
        if not terms:
            return tuple(self.diagrams.one if total >= 0 else self.diagrams.zero for total in totals)
        # step * t + total >= 0 for an integer t: t is at least -total / step, rounded up.
        return self.compared(terms, [ceil(-Fraction(total) / step) for total in totals])

    def lowest(
        self, counts: dict[Count, Rational], constants: list[Rational]
    ) -> tuple[tuple[tuple[int, Count], ...], Fraction, list[Rational]]:
        """`sum of coefficient * count + constant` by site, as integers without a common divisor times counts that
        depend on the word, what they are multiplied by, and the rest by site."""
        totals = list(constants)
        free: dict[Count, Rational] = {}
        for count, coefficient in counts.items():
            values = self.known_count(count)
            if values is not None:
                totals = [total + coefficient * value for total, value in zip(totals, values, strict=True)]
            elif coefficient:
                free[count] = coefficient
        step = common([Fraction(value) for value in free.values()])
        return tuple(sorted((int(value / step), count) for count, value in free.items())), step, totals

    def compared(self, terms: tuple[tuple[int, Count], ...], thresholds: list[int]) -> Column:
        """`sum of coefficient * count >= threshold` by site."""
        number = self.number(terms)
        known = {threshold: self.fact("at least", number, threshold) for threshold in set(thresholds)}
        return tuple(known[threshold] for threshold in thresholds)

    def table(self, count: Count, at_zero: list[int], columns: list[tuple[int, ...]]) -> Column:
        """A predicate of a count: its value at 0 by site, and at 1, 2, ... by length."""
        numbers = dict(zip(self.sites.lengths, columns, strict=True))
        known = self.known_count(count)
        if known is not None:
            rows = zip(at_zero, known, self.sites.n, strict=True)
            return tuple(self.diagrams.terminal(numbers[n][value - 1] if value else zero) for zero, value, n in rows)
        own, facts, result = self.number(count), dict[tuple[int, int], int](), []
        begun = {n: self._beginnings(column) for n, column in numbers.items()}
        for site, (zero, n) in enumerate(zip(at_zero, self.sites.n, strict=True)):
            key = zero, begun[n][self.extent(count[0], site) - 1]
            if key not in facts:
                facts[key] = self.fact("table", own, *key)
            result.append(facts[key])
        return tuple(result)

    def _beginnings(self, column: tuple[int, ...]) -> list[int]:
        """A number for what a column begins with, by how many values that is: equal for equal beginnings."""
        result, last = [], -1
        for value in column:
            last = self.number(("beginning", last, value))
            result.append(last)
        return result


class CoreMeaning:
    """The columns of the nodes of a core; `users` are the formula's own predicates."""

    def __init__(self, facts: Facts, core: Core, users: dict[str, NumericalPredicate]) -> None:
        self.facts, self.core = facts, core
        self.predicates = {**BUILT_IN, **users}
        self.known: dict[int, Column] = {}
        for number in self._needed():
            self.known[number] = self._node(number)

    def _needed(self) -> list[int]:
        """The live nodes and what the left operands of since and until need, in order."""
        wanted = {self.core.root.node}
        for number in range(len(self.core.nodes) - 1, -1, -1):
            node = self.core.nodes[number]
            if number in wanted:
                wanted.update(operands(node))
                wanted.update({node.left.node} if isinstance(node, Reach) else ())
        return sorted(wanted)

    def of(self, lit: Lit) -> Column:
        """The column of a literal."""
        column = self.known[lit.node]
        if not lit.negated:
            return column
        return self.facts.combine([(-1, column)], 1)

    def _node(self, number: int) -> Column:
        facts = self.facts
        node = self.core.nodes[number]
        match node:
            case Letters(symbols):
                values = tuple(int(symbol in symbols) for symbol in facts.alphabet)
                return facts.everywhere(facts.symbols(values))
            case Edge(which):
                return tuple(facts.diagrams.terminal(int(here)) for here in facts.sites.edge(which))
            case And(args):
                return self._all([self.of(arg) for arg in args])
            case Xor(left, right):
                return facts.each("xor", lambda a, b: int(a != b), self.known[left], self.known[right])
            case Step(op, arg):
                return facts.step(op, self.of(arg))
            case Reach(op, left, right, _):
                what = self.of(right)
                where = facts.each("implies", lambda a, b: int(not a or b), self.of(left), what)
                return facts.everywhere(facts.fact(op, where, what))
            case AtLeast(terms, constant):
                return self._at_least(terms, constant)
            case Numeric():
                return self._numeric(node)
            case _:
                raise AssertionError(node)

    def _all(self, columns: list[Column]) -> Column:
        result = columns[0]
        for column in columns[1:]:
            result = self.facts.each("and", lambda a, b: int(a and b), result, column)
        return result

    def _at_least(self, terms: tuple[tuple[int, CountOf], ...], constant: int) -> Column:
        counts: dict[Count, Rational] = {}
        for coefficient, count in terms:
            key = (str(count.side), self.of(count.arg))
            counts[key] = counts.get(key, 0) + coefficient
        return self.facts.at_least(counts, [constant] * len(self.facts.sites))

    def _numeric(self, node: Numeric) -> Column:
        count = (str(node.count.side), self.of(node.count.arg))

        def holds(value: int, n: int) -> int:
            total = node.scale * value + node.offset
            if node.name == "MOD":
                return int((total - node.params[1]) % node.params[0] == 0)
            return int(self.predicates[node.name](total, n))

        zero = [holds(0, n) for n in self.facts.sites.n]
        columns = [tuple(holds(value, n) for value in range(1, n + 1)) for n in self.facts.sites.lengths]
        return self.facts.table(count, zero, columns)
