"""All sites of all lengths as nine classes: where a position stands, and whether it and the length are even.

In each class (-1)^i and (-1)^n are known, so encodings are rational functions of i and n; a predicate of positions or
lengths is a Boolean of which nothing else is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hardsim.lang.arith import Arith
from hardsim.proof.ratios import Domain, Line, NoRatio, Ratio, Value, chain, positive, ratio_of
from hardsim.proof.result import NotProved
from hardsim.proof.sites import Sites
from hardsim.spec.columns import PositionFunction, PredicateColumn
from hardsim.spec.ir import Mask, Rational

QUERY, LENGTH = Ratio.variable("i"), Ratio.variable("n")


@dataclass(frozen=True, slots=True)
class Free:
    """A predicate of the position or the length: 0 or 1, of which nothing else is known. Two are the same where their
    columns are equal: a user's own by its name and definition."""

    column: PredicateColumn

    @property
    def text(self) -> str:
        """What it says, for readers."""
        own = self.column.user is not None
        return f"{self.column}, which is: {self.column.definition}" if own else str(self.column)


@dataclass(frozen=True)
class SiteClass:
    """The sites (i, n) with i = 1 or not, i = n or not, i and n even or odd. `domain` has all of them (and more: the
    parities only bound i and n from below there)."""

    first: bool
    last: bool
    even_i: bool
    even_n: bool
    domain: Domain

    def __str__(self) -> str:
        if self.first and self.last:
            return "i = n = 1"
        parity = f"n {'even' if self.even_n else 'odd'}"
        if self.first:
            return f"i = 1 < n, {parity}"
        if self.last:
            return f"1 < i = n, {parity}"
        return f"1 < i < n, i {'even' if self.even_i else 'odd'}, {parity}"

    def known(self, value: Value) -> Value:
        """A value with 1 for i, or i for n, where they are."""
        places: dict[str, Value] = {"n": QUERY} if self.last else {}
        if self.first:
            places = dict.fromkeys([*places, "i"], 1)
        return Ratio.of(value).at(places).simplest

    def sign(self, exponent: Line) -> int:
        """-1 to an integer power."""
        odd = exponent.constant + exponent.of_i * (not self.even_i) + exponent.of_n * (not self.even_n)
        return 1 if odd % 2 == 0 else -1

    def even(self, shift: int) -> bool:
        """Whether i + shift is even."""
        return self.even_i == (shift % 2 == 0)


def _classes() -> Iterator[SiteClass]:
    one = Ratio.of(1)
    yield SiteClass(True, True, False, False, {"i": one, "n": one})
    for even in (True, False):
        end = chain("n", [1 if even else 2])["n"]
        yield SiteClass(True, False, False, even, {"i": one, "n": end})
        yield SiteClass(False, True, even, even, {"i": end, "n": end})
        for even_i in (True, False):
            gaps = [1 if even_i else 2, 2 if even_i == even else 1]
            yield SiteClass(False, False, even_i, even, chain(("i", "n"), gaps))


class Classes(Sites):
    """The classes in the place of sites: a column has one entry for each."""

    def __init__(self) -> None:
        super().__init__(())
        self.classes = tuple(_classes())
        self.i = [QUERY] * len(self.classes)
        self.n = [LENGTH] * len(self.classes)

    def place(self, site: int) -> str:
        """What is said of a class."""
        return str(self.classes[site])

    def edge(self, which: str) -> list[bool]:
        """Whether a site is the first or last position."""
        return [one.first if which == "first" else one.last for one in self.classes]

    def read_at(self) -> list[int]:
        """Where an output is read."""
        return [site for site, one in enumerate(self.classes) if one.last]

    def evaluate(self, function: PositionFunction) -> list[Any]:
        """A position function in every class: a number, a rational function or a free Boolean.

        Raises:
            NotProved: if it is none of these.
        """
        if function not in self._known:
            self._known[function] = [self._value(function, one) for one in self.classes]
        return self._known[function]

    def _value(self, function: PositionFunction, one: SiteClass) -> Value | Free:
        if isinstance(function, PredicateColumn):
            if not function.variables:
                return int(function.evaluate())
            if function.user is not None and not function.definition:
                raise NotProved(f"the predicate {function.name} has no definition that it could be known by")
            return Free(function)
        if not isinstance(function, Arith):
            raise NotProved(f"the encoding {function} is not known for all lengths")
        try:
            return ratio_of(function, one.sign, one.domain)
        except NoRatio as reason:
            raise NotProved(
                f"{function} is not recognised as a rational function of i, n and (-1)^i for all lengths: {reason}"
            ) from None

    @property
    def predicates(self) -> tuple[str, ...]:
        """The free Booleans among what was evaluated."""
        return tuple(sorted({value.text for values in self._known.values() for value in values
                             if isinstance(value, Free)}))  # fmt: skip

    def inverse(self, temperature: PositionFunction) -> list[Value]:
        """One over the temperature, which must be positive everywhere."""
        result = []
        for one, value in zip(self.classes, self.evaluate(temperature), strict=True):
            if not positive(value, one.domain):
                raise NotProved(f"the temperature {temperature} is not known to be positive for all lengths")
            result.append(Ratio.of(value).inverse().simplest)
        return result

    def sizes(self, mask: Mask) -> list[Any]:
        """How many positions are visible."""
        match mask:
            case Mask.FUTURE:
                size = QUERY
            case Mask.PAST:
                size = LENGTH - QUERY + 1
            case Mask.NONE:
                size = LENGTH
            case _:
                raise NotProved(f"the mask '{mask}' is none of formulas")
        return [size] * len(self.classes)

    def proportional(self, column: Sequence[Any]) -> bool:
        """Whether a column is a multiple of the position, by a factor that may depend on the length and is not 0."""
        factors = [Ratio.of(value) * QUERY.inverse() for value in column]
        return all(factor.simplest != 0 and "i" not in factor.names for factor in factors)

    def means(self, column: Sequence[Any], mask: Mask) -> list[Any]:
        """The mean over the visible positions of what is a number in every class.

        With `first`, `last` and the values in between at even and odd positions, a sum is the number of each times
        its value; of the positions 2..m, floor(m/2) are even and ceil(m/2) - 1 odd.
        """
        sums = [self.total(column, mask, site) for site in range(len(self.classes))]
        return [(Ratio.of(total) * Ratio.of(size).inverse()).simplest
                for total, size in zip(sums, self.sizes(mask), strict=True)]  # fmt: skip

    def total(self, column: Sequence[Any], mask: Mask, site: int) -> Value:
        """The sum over the positions visible from a class."""
        if not all(isinstance(value, int | Fraction) for value in column):
            raise NotProved("a uniform head averages a value that changes with the position")
        one = self.classes[site]
        if one.first and one.last:
            value: Value = column[site]
            return value
        match mask:
            case Mask.FUTURE:
                return self._prefix(column, one, QUERY, one.even_i, one.last).simplest
            case Mask.NONE | Mask.PAST:
                whole = self._prefix(column, one, LENGTH, one.even_n, True)
                if mask is Mask.NONE or one.first:
                    return whole.simplest
                return (whole - self._prefix(column, one, QUERY - 1, not one.even_i, False)).simplest
            case _:
                raise NotProved(f"the mask '{mask}' is none of formulas")

    def _prefix(self, column: Sequence[Any], like: SiteClass, end: Ratio, even: bool, last: bool) -> Ratio:
        """The sum over the positions 1..end of words of a class's lengths, of more than one position; `even` says
        whether the end is even, `last` whether it is the last position."""
        found: dict[tuple[bool, bool, bool], Rational] = {
            (one.first, one.last, one.even_i): value
            for one, value in zip(self.classes, column, strict=True)
            if one.even_n == like.even_n and not (one.first and one.last)
        }
        inner, even = (end - 1, not even) if last else (end, even)
        half = Fraction(1, 2)
        evens = inner * half if even else (inner - 1) * half
        odds = inner * half - 1 if even else (inner - 1) * half
        total = evens * found[False, False, True] + odds * found[False, False, False] + found[True, False, False]
        return total + found[False, True, like.even_n] if last else total

    def neighbours(self, site: int, way: int) -> list[int]:
        """The classes in which the position before (-1) or after (1) one of a class can be."""
        one = self.classes[site]
        outer = "first" if way < 0 else "last"
        result = []
        for number, other in enumerate(self.classes):
            fits = other.even_n == one.even_n and other.even_i == one.even(way) and not (other.first and other.last)
            if fits and not (other.last if way < 0 else other.first) and not getattr(one, outer):
                result.append(number)
        return result
