"""Cut points: variables that abbreviate the truth of subformulas.

The meaning of a whole formula has no table that fits in memory: a hundred constraints that share their symbols are
already too large. So some functions are abbreviated. Each gets a variable for its truth at a position, and
everything built from the function is then a function of that variable. Formula and program are compared in terms of
these variables.

A cut only abbreviates a function that exists anyway. The relation between two variables is forgotten, which can
lose a proof but never make a wrong one; the same holds for a bad choice of cuts. The functions that are cut are the
nodes of the formula's core, because a compiled network has a coordinate for each of them (see `account`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from typing import Literal

from hardsim.network.numbers import Rational
from hardsim.proof.formulas.facts import Column, Count, CountPredicate, Facts


class Cuts:
    """Columns of operators, in terms of the variables that abbreviate some of the columns."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.short: dict[Column, Column] = {}
        """Abbreviation of each abbreviated column, by that column."""
        self.members: dict[Column, Column] = {}
        """Column that an abbreviation stands for, by the abbreviation; for abbreviated conjunctions only."""
        self.nodes: set[Column] = set()
        """Columns of the core's nodes before they were abbreviated. A lemma may simplify a formula that the core
        nevertheless holds as written."""
        self._nears: dict[Column, tuple[str, Column]] = {}

    def cut(self, name: object, column: Column, conjunction: bool) -> Column:
        """Abbreviate a Boolean column from here on, at every site where it depends on more than one variable;
        return the result. `name` identifies the variable, `conjunction` says that the column is a conjunction."""
        known = self.known(column)
        if known is not column:
            return known
        variable, simple = self.facts.fact("cut", name), self.facts.diagrams.simple
        shorter = {number: number if simple(number) else variable for number in set(column)}
        # A function of at most one variable is as small as an abbreviation, and keeps its relation to others.
        short = tuple(map(shorter.__getitem__, column))
        if short != column:
            self.short[column] = short
            if conjunction:
                self.members[short] = column
        return short

    def known(self, column: Column) -> Column:
        """Return the abbreviation of a Boolean column, or the negated abbreviation of its negation; without either,
        the column."""
        if column in self.short:
            return self.short[column]
        if not self.short or all(map(self.facts.diagrams.simple, set(column))):
            return column
        other = self.short.get(self.facts.negated(column))
        return column if other is None else self.facts.negated(other)

    # ---- operators ----

    def both(self, parts: Sequence[Column]) -> Column:
        """Return the conjunction of Boolean columns. Parts that abbreviate conjunctions are first replaced by their
        members, as the core does."""
        facts = self.facts
        # The members' conjunction may be a node of the core where the abbreviations' conjunction is none, or the
        # reverse.
        for members in ([self.members.get(part, part) for part in parts], parts):
            found = facts.both(members)
            known = self.known(found)
            if known is not found:
                return known
        return facts.both([self.members.get(part, part) for part in parts])

    def either(self, parts: Iterable[Column]) -> Column:
        """Return the disjunction of Boolean columns."""
        return self.facts.negated(self.both([self.facts.negated(part) for part in parts]))

    def differ(self, left: Column, right: Column) -> Column:
        """Return the exclusive or of two Boolean columns."""
        return self.known(self.facts.each("xor", lambda a, b: int(a != b), left, right))

    def near(self, op: Literal["S", "U"], left: Column, right: Column) -> Column:
        """Return the column of `left S right` or `left U right`. `a S (a S b)` becomes `a S b`: a holds from a
        witness of the outer operator to here and from the inner witness to the outer one, so the inner witness of b
        is a witness of `a S b`."""
        found = self.facts.nearest(op, self.either([self.facts.negated(left), right]), right)
        again = self._nears.get(right) == (op, left)
        self._nears.setdefault(found, (op, left))
        return right if again and found not in self.nodes else found

    def predicate(self, count_predicate: CountPredicate, count: Count) -> Column:
        """Return the column of a predicate of a count. A count of all positions is a position or a length, so its
        predicate may be known without a look-up; that form is returned if the core has it."""
        everything = (
            self.facts.predicate(count_predicate, count, True) if set(count[1]) == {self.facts.diagrams.one} else None
        )
        return everything if everything in self.nodes else self.facts.predicate(count_predicate, count, False)

    def at_least(self, counts: Mapping[Count, int], constant: int) -> Column:
        """Return the column of `sum of coefficient * count + constant >= 0`. For a single count, `c > 0` is the fact of
        the nearest position, and `c <= 0` its negation."""
        nothing = {self.facts.diagrams.zero}
        present = [(count, value) for count, value in counts.items() if value and set(count[1]) != nothing]
        if len(present) == 1:
            # For a positive value this is c >= -(constant // value), for a negative one c <= constant // -value.
            (count, value), *_ = present
            if constant // abs(value) == (-1 if value > 0 else 0):
                some = self.facts.positive(count)
                return some if value > 0 else self.facts.negated(some)
        # step * t + constant >= 0 for an integer t: t is at least -constant / step, rounded up.
        factors: dict[Count, Rational] = dict(counts)
        compare = self.facts.comparison(factors, lambda step, constant: ceil(-constant / step), "")
        return tuple([compare(constant, site) for site in range(len(self.facts.sites))])
