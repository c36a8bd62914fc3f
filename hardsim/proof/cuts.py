"""Cut points: variables in the place of what the operators of a formula give.

Of the meaning of a whole formula no table can be made: that of a hundred constraints which share their symbols is too
large. So some functions are abbreviated: each by a variable that stands for its truth at a position, of which what is
made of it is a function from then on. Formula and program are compared in terms of such variables.

A cut is an abbreviation of a function that is there anyway. What two variables have to do with each other is forgotten,
which loses proofs and never makes one; so does a bad choice of what to cut. The choice is that of the nodes of a
formula's core, each of which a compiled network has a coordinate for (`account`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from typing import Literal

from hardsim.network.numbers import Rational
from hardsim.proof.facts import Column, Count, CountPredicate, Facts


class Cuts:
    """The columns of operators, in terms of the variables that some functions are abbreviated by."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.short: dict[Column, Column] = {}
        """The abbreviation of a column that has one."""
        self.members: dict[Column, Column] = {}
        """Of a conjunction's abbreviation what it stands for."""
        self.nodes: set[Column] = set()
        """What is somewhere in the core as it is: where a lemma says that something is simpler, it may still be there
        as it was written."""
        self._nears: dict[Column, tuple[str, Column]] = {}

    def cut(self, name: object, column: Column, conjunction: bool) -> Column:
        """Abbreviate a Boolean column from here on, wherever it depends on more than one variable."""
        known = self.known(column)
        if known is not column:
            return known
        variable, simple = self.facts.fact("cut", name), self.facts.diagrams.simple
        shorter = {number: number if simple(number) else variable for number in set(column)}
        short = tuple(map(shorter.__getitem__, column))
        if short != column:
            self.short[column] = short
            if conjunction:
                self.members[short] = column
        return short

    def known(self, column: Column) -> Column:
        """The abbreviation of a Boolean column or of its negation, or else the column itself."""
        if column in self.short:
            return self.short[column]
        if not self.short or all(map(self.facts.diagrams.simple, set(column))):
            return column
        other = self.short.get(self.facts.negated(column))
        return column if other is None else self.facts.negated(other)

    # ---- operators ----

    def both(self, parts: Sequence[Column]) -> Column:
        """A conjunction; those among its members are taken apart first, as the core does."""
        facts = self.facts
        for members in ([self.members.get(part, part) for part in parts], parts):
            found = facts.both(members)
            known = self.known(found)
            if known is not found:
                return known
        return facts.both([self.members.get(part, part) for part in parts])

    def either(self, parts: Iterable[Column]) -> Column:
        """A disjunction."""
        return self.facts.negated(self.both([self.facts.negated(part) for part in parts]))

    def differ(self, left: Column, right: Column) -> Column:
        """Exclusive or."""
        return self.known(self.facts.each("xor", lambda a, b: int(a != b), left, right))

    def near(self, op: Literal["S", "U"], left: Column, right: Column) -> Column:
        """Since or until. `a S (a S b)` is `a S b`: from a witness of the second back to here a holds, and from here to
        that of the first, as b is one of its own."""
        found = self.facts.nearest(op, self.either([self.facts.negated(left), right]), right)
        again = self._nears.get(right) == (op, left)
        self._nears.setdefault(found, (op, left))
        return right if again and found not in self.nodes else found

    def predicate(self, asked: CountPredicate, count: Count) -> Column:
        """A predicate of a count. One of all positions may be that of a position or length, or be looked up."""
        everything = self.facts.predicate(asked, count, True) if set(count[1]) == {self.facts.diagrams.one} else None
        return everything if everything in self.nodes else self.facts.predicate(asked, count, False)

    def at_least(self, counts: Mapping[Count, int], constant: int) -> Column:
        """`sum of coefficient * count + constant >= 0`."""
        # step * t + constant >= 0 for an integer t: t is at least -constant / step, rounded up.
        factors: dict[Count, Rational] = dict(counts)
        compare = self.facts.comparison(factors, lambda step, constant: ceil(-constant / step), "")
        return tuple([compare(constant, site) for site in range(len(self.facts.sites))])
