"""The second link for every length: the same facts, with classes of sites, and positions and lengths as symbols.

An integer combination of counts, of i and of n is at least a threshold: that is one fact, in lowest terms, whatever
the numbers are. Where i = 1 or i = n they are put in, so that both sides come to the same terms. A predicate of a
position, or of a count, is known as such alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import ceil
from typing import Any

from hardsim.lang.core import Core, Letters, Lit, Numeric
from hardsim.proof.classes import LENGTH, QUERY, Classes, Free
from hardsim.proof.counts import common
from hardsim.proof.decompile import SOME, ProgramMeaning
from hardsim.proof.diagrams import TooLarge, clip
from hardsim.proof.found import Compared, Found, Nearest, Table, threshold
from hardsim.proof.meaning import Column, CoreMeaning, Count, Facts
from hardsim.proof.ratios import Ratio, line, lower, positive, upper
from hardsim.proof.result import LinkProof, NotProved
from hardsim.spec.columns import PredicateColumn, UserPredicate
from hardsim.spec.ir import HardProgram, Head, Kind, Mask, Rational

CLAIM = "its hard heads = the formula"

MASKS = {"L": Mask.FUTURE, "R": Mask.PAST, "": Mask.NONE}

Definitions = Mapping[str, tuple[str, UserPredicate]]
"""Text and meaning of a formula's own predicates."""

Least = Callable[[Fraction, Fraction], int | None]
"""For a step and a constant the least integer t such that `step t + constant` counts as true; None if that is not
clear-cut."""


def prove_general_meaning(program: HardProgram, core: Core, classes: Classes, definitions: Definitions) -> LinkProof:
    """Whether a program's output at the last position is the truth of a core there, for all words of every length."""
    try:
        if program.alphabet != core.alphabet:
            raise NotProved("the specification and the formula have different alphabets")
        facts = GeneralFacts(classes, core.alphabet)
        wanted = GeneralCore(facts, core, definitions).of(core.root)
        found = GeneralProgram(facts, program).of(program.output)
        for site in classes.read_at():
            if found[site] != wanted[site]:
                raise NotProved(
                    f"the output '{program.output}' is not proved to be the formula where {classes.place(site)}"
                )
    except NotProved as failure:
        return LinkProof(CLAIM, failure.reason)
    except (TooLarge, RecursionError):
        return LinkProof(CLAIM, "the formula's Boolean functions are too large for this prover", limit=True)
    return LinkProof(CLAIM)


class GeneralFacts(Facts):
    """Facts about classes of sites."""

    def __init__(self, classes: Classes, alphabet: tuple[str, ...]) -> None:
        super().__init__(classes, alphabet)
        self.classes = classes
        self.predicates: dict[int, PredicateColumn] = {}

    def encoded(self, values: Sequence[Any]) -> Column:
        """An encoding by class; predicates are variables."""
        result = []
        for value in values:
            if isinstance(value, Free):
                number = self.fact("predicate", value)
                self.predicates[number] = value.column
            else:
                number = self.diagrams.terminal(value)
            result.append(number)
        return tuple(result)

    def extent(self, side: str, site: int) -> Any:
        """How many positions a side has."""
        return QUERY if side == "L" else LENGTH - QUERY + 1 if side == "R" else LENGTH

    def at_most_zero(self, value: Any, site: int) -> bool:
        """Whether a number is at most 0 throughout a class."""
        high = upper(value, self.classes.classes[site].domain)
        return high is not None and high <= 0

    def several(self, side: str, site: int) -> bool:
        """Whether a side has more than one position."""
        one = self.classes.classes[site]
        return not (one.first if side == "L" else one.last if side == "R" else one.first and one.last)

    def known_count(self, count: Count) -> list[Any] | None:
        """Counts of what is the same for every word."""
        side, what = count
        if not self.constant(what):
            return None
        values = [self.diagrams.value(number) for number in what]
        return [self.classes.total(values, MASKS[side], site) for site in range(len(what))]

    def at_least(self, counts: dict[Count, Rational], constants: list[Any]) -> Column:
        """`sum of coefficient * count + constant >= 0` by class."""
        return tuple(self.whole(counts, constant, site, lambda step, total: ceil(-total / step))
                     for site, constant in enumerate(constants))  # fmt: skip

    def whole(self, counts: Mapping[Count, Rational], constant: Any, site: int, least: Least) -> int:
        """Whether an integer combination of counts, i and n is large enough, as one fact."""
        total = Ratio.of(constant)
        free: dict[Count, Rational] = {}
        for count, coefficient in counts.items():
            known = self.known_count(count)
            if known is not None:
                total = total + Ratio.of(known[site]) * coefficient
            elif coefficient:
                free[count] = coefficient
        one = self.classes.classes[site]
        found = line(one.known(total))
        if found is None:
            raise NotProved(f"{total} is compared, which is no line in i and n")
        constant, of_i, of_n = found.constant, found.of_i, found.of_n
        step = common([*(Fraction(value) for value in free.values()), of_i, of_n])
        if not step:
            # A step beyond the constant, of which no multiple is added.
            value = least(abs(constant) + 2, constant)
            if value is None:
                raise NotProved("a comparison is neither 0 nor 1 somewhere")
            return self.diagrams.terminal(int(value <= 0))
        bound = least(step, constant)
        if bound is None:
            raise NotProved("a comparison is neither 0 nor 1 for some counts")
        if not free:
            number = QUERY * (of_i / step) + LENGTH * (of_n / step)
            low, high = lower(number, one.domain), upper(number, one.domain)
            if (low is not None and low >= bound) or (high is not None and high < bound):
                return self.diagrams.terminal(int(low is not None and low >= bound))
        terms = tuple(sorted((int(value / step), count) for count, value in free.items()))
        return self.fact("at least", terms, (of_i / step, of_n / step), bound)


class GeneralCore(CoreMeaning):
    """The columns of the nodes of a core."""

    facts: GeneralFacts

    def __init__(self, facts: GeneralFacts, core: Core, definitions: Definitions) -> None:
        self.definitions = definitions
        super().__init__(facts, core, {})

    def _numeric(self, node: Numeric) -> Column:
        facts, side = self.facts, node.count.side
        what = self.of(node.count.arg)

        def column(of_i: int, of_n: int, offset: int) -> PredicateColumn:
            text, user = self.definitions.get(node.name, ("", None))
            return PredicateColumn(node.name, node.params, of_i, of_n, offset, text, user)

        def encoded(of_i: int, of_n: int, offset: int) -> Column:
            return facts.encoded(facts.classes.evaluate(column(of_i, of_n, offset)))

        zero = encoded(0, 0, node.offset)
        if set(what) == {facts.diagrams.zero}:
            return zero
        if self._says_true(node.count.arg):  # what is true without saying so is looked up like other counts
            of_i = {"L": node.scale, "R": -node.scale, "": 0}[side]
            extra = node.scale if side == "R" else 0
            return encoded(of_i, 0 if side == "L" else node.scale, node.offset + extra)
        read = encoded(node.scale, 0, node.offset)
        return tuple(table(facts, (str(side), what), at_zero, facts.predicates.get(number))
                     for at_zero, number in zip(zero, read, strict=True))  # fmt: skip

    def _says_true(self, lit: Lit) -> bool:
        node = self.core.nodes[lit.node]
        return isinstance(node, Letters) and not lit.negated and node.symbols == frozenset(self.core.alphabet)


def table(facts: GeneralFacts, count: Count, at_zero: int, predicate: PredicateColumn | None) -> int:
    """A predicate of the position at a count, which at 0 is `at_zero`."""
    if set(count[1]) == {facts.diagrams.zero}:  # nothing is counted, though the formula does not say `false`
        return at_zero
    if predicate is None:
        raise NotProved("a predicate of a count is no predicate by name")
    return facts.fact("table", count, at_zero, predicate)


class GeneralProgram(ProgramMeaning):
    """The columns of a program's coordinates."""

    facts: GeneralFacts

    def __init__(self, facts: GeneralFacts, program: HardProgram) -> None:
        super().__init__(facts, program)

    # ---- heads ----

    def _head(self, head: Head) -> Found:
        if head.kind is not Kind.TABLE:
            return super()._head(head)
        found = {self.facts.predicates.get(number) for number in self.form(head.value)}
        predicate = found.pop()
        if predicate is None or found:
            raise NotProved(f"what head {head.name} reads is no predicate of the position")
        return Table(self._looked_up(head), [(predicate,)])

    def _alternating(self, head: Head, keys: list[Any], values: list[Any]) -> None:
        for one, key, value in zip(self.facts.classes.classes, keys, values, strict=True):
            if value != one.even_i or not positive(key if one.even_i else -Ratio.of(key), one.domain):
                raise NotProved(f"head {head.name} does not read whether a position is even")

    # ---- clips ----

    def _clipped(self, column: Column) -> Column:
        return tuple(self._clip(number, site) for site, number in enumerate(column))

    def _clip(self, number: int, site: int) -> int:
        diagrams, domain = self.facts.diagrams, self.facts.classes.classes[site].domain
        if diagrams.constant(number) and isinstance(diagrams.value(number), Ratio):
            value = diagrams.value(number)
            if line(value) is not None:
                return self.facts.whole({}, value, site, threshold)
            low, high = lower(value, domain), upper(value, domain)
            if high is not None and high <= 0:
                return diagrams.zero
            if low is not None and low >= 1:
                return diagrams.one
            raise NotProved(f"a clip of {value} is not decided where {self.facts.classes.place(site)}")
        if any(isinstance(value, Ratio) for value in diagrams.values(number)):
            raise NotProved("a clip reads what depends on the position together with Booleans")
        return diagrams.map("clip", clip, number)

    def _thresholds(self, counts: dict[Count, Rational], offsets: list[Any], out: str) -> Column:
        return tuple(self.facts.whole(counts, offset, site, threshold) for site, offset in enumerate(offsets))

    def _positive(self, counts: dict[Count, Rational], out: str) -> Compared:
        def least(step: Fraction, constant: Fraction) -> int | None:
            edge = -constant / step
            return None if edge.denominator == 1 else ceil(edge)

        return lambda offset, site: self.facts.whole(counts, offset, site, least)

    def _single(self, counts: dict[Count, Rational], out: str) -> Compared:
        return lambda offset, site: self.facts.whole(counts, offset, site, threshold)

    def _tabled(self, total: Column, name: str, table_: Table, out: str) -> Column:
        """A predicate of a count: what was read if the count is positive, else what it is at 0."""
        facts = self.facts
        side, what = table_.count
        some, variable = facts.fact(SOME[side], what, what), facts.fact("read", name)
        both = facts.diagrams.apply("and", lambda a, b: int(a and b), some, variable)
        none = facts.diagrams.linear([(-1, some)], 1)
        choices = {}
        for zero in (facts.diagrams.zero, facts.diagrams.one, *facts.predicates):
            other = facts.diagrams.apply("and", lambda a, b: int(a and b), none, zero)
            choices[facts.diagrams.linear([(1, both), (1, other)])] = zero
        if any(number not in choices for number in total):
            raise NotProved(f"the coordinate '{out}' is not a predicate of a count")
        return tuple(table(facts, table_.count, choices[number], table_.columns[0][0]) for number in total)

    def known_distances(self, read: Nearest) -> list[int]:
        """0 where a position itself is selected, 1 where each that can be next to it is, 0 at the end."""
        selected = self._numbers(read.where, "what a head looks for")
        if read.op == "E":
            raise NotProved("a head without a mask reads a position that is known")
        way = 1 if read.op == "U" else -1
        distances = []
        for site in range(len(selected)):
            near = self.facts.classes.neighbours(site, way)
            if selected[site] == 1 or not near:
                distances.append(0)
            elif all(selected[other] == 1 for other in near):
                distances.append(way)
            else:
                raise NotProved("a head reads neither this position nor a neighbour")
        return distances
