"""Where a proof looks: all positions of some lengths, or of all lengths at once, as one list of sites.

All lengths are nine classes: where a position stands, and whether it and the length are even. In each class (-1)^i and
(-1)^n are known, so encodings are rational functions of i and n; a predicate of positions or lengths is a Boolean of
which nothing else is known.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import accumulate, pairwise
from math import lcm
from typing import Any, ClassVar

from hardsim.lang.arith import Arith
from hardsim.lang.reals import Real, RealNumber
from hardsim.network.columns import PositionFunction, PredicateColumn, real_value
from hardsim.network.model import Transformer
from hardsim.network.numbers import Mask, Rational, plain
from hardsim.proof import ratios
from hardsim.proof.monotone import hotter
from hardsim.proof.ratios import Domain, LinearForm, NoRatio, Ratio, Value, chain, ratio_of, simplest
from hardsim.proof.result import NotProved


@dataclass
class Sites:
    """Sites (i, n) for 1 <= i <= n and n in `lengths`, in this order: `i` and `n` by site (numbers; `Classes` has all
    lengths, and rational functions for numbers). What happens at a site is a function of the word; a column is a list
    with one entry per site."""

    lengths: tuple[int, ...]
    only_last: bool = False
    """Whether the output is read at the last position even where there is one length."""
    shortest: int = 1
    """Where one length stands for all shorter ones: the shortest that is meant."""
    i: list[Any] = field(default_factory=list)
    n: list[Any] = field(default_factory=list)
    starts: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for n in self.lengths:
            self.starts[n] = len(self.i)
            self.i.extend(range(1, n + 1))
            self.n.extend([n] * n)
        self._known: dict[object, list[Any]] = {}

    def __len__(self) -> int:
        return len(self.i)

    def words(self) -> Iterator[tuple[int, int, int]]:
        """Each length n with its first site and the one after its last."""
        for n, start in self.starts.items():
            yield n, start, start + n

    def apart(self) -> Sequence[int]:
        """Numbers by site, which differ where what is known of the position and the length differs in kind."""
        return [0] * len(self)

    AT: ClassVar = "at"

    def place(self, site: int) -> str:
        """What is said of a site."""
        return f"position {self.i[site]} of {self.n[site]}"

    def edge(self, which: str) -> list[bool]:
        """Whether a site is the first or last position."""
        return [i == (1 if which == "first" else n) for i, n in zip(self.i, self.n, strict=True)]

    def read_at(self) -> list[int]:
        """The sites at which an output is read: the last position of each length, and where one length stands for
        all (or there is only one) every position."""
        if len(self.lengths) == 1 and not self.only_last:
            return list(range(self.shortest - 1, len(self)))
        return [end - 1 for _, _, end in self.words()]

    # ---- functions of the position ----

    def evaluate(self, function: PositionFunction) -> list[Any]:
        """A position function at every site, exactly, or in every class: a number, a rational function or a free
        Boolean; else NotProved. Equal ones are evaluated once."""
        # Two meanings may have one name and text.
        key = function, function.user if isinstance(function, PredicateColumn) else None
        if key not in self._known:
            self._known[key] = self._evaluate(function)
        return self._known[key]

    def _evaluate(self, function: PositionFunction) -> list[Any]:
        def value(i: int, n: int) -> Rational:
            found = real_value(function, i, n)
            if isinstance(found, Real):
                told = f"the encoding {function} is no rational number at position {i} of {n}"
                raise NotProved(f"{told}: of encodings proofs need exact ones, of temperatures they do not")
            return plain(found)

        return self.tabulate(function.variables, value)

    def tabulate(self, names: Collection[str], value: Callable[[int, int], RealNumber]) -> list[Any]:
        """A function of i and n at every site, which depends only on those of them that are named."""
        known, longest = cache(value), max(self.lengths)
        pairs = zip(self.i, self.n, strict=True)
        return [known(i if "i" in names else 1, n if "n" in names else longest) for i, n in pairs]

    def inverse(self, model: Transformer) -> list[Any]:
        """The inverse temperature at every site: a rational or a Real."""
        return self.tabulate(model.temperature.variables, model.inverse_temperature)

    # ---- numbers at a site ----

    def at_most_zero(self, value: Any, site: int) -> bool:
        """Whether a number is at most 0 at a site."""
        return bool(value <= 0)

    def positive(self, value: Any, site: int) -> bool:
        """Whether a number is positive at a site."""
        return bool(value > 0)

    def line(self, value: Any, site: int) -> LinearForm:
        """A number as a line in what is not known of a position and its length."""
        return LinearForm(Fraction(value), Fraction(0), Fraction(0))

    def reaches(self, of_i: Fraction, of_n: Fraction, bound: int, site: int) -> bool | None:
        """Whether `of_i i + of_n n` is at least a bound; None where that differs."""
        return bool(of_i * self.i[site] + of_n * self.n[site] >= bound)

    # ---- what a mask shows ----

    def sizes(self, mask: Mask) -> list[Any]:
        """How many positions are visible from every site, with a mask of formulas."""
        if mask is Mask.PAST:
            return [n - i + 1 for i, n in zip(self.i, self.n, strict=True)]
        return {Mask.NONE: self.n, Mask.FUTURE: self.i}[mask]

    def alone(self, mask: Mask) -> list[bool]:
        """From which sites one position is visible."""
        return [size == 1 for size in self.sizes(mask)]

    def totals(self, column: Sequence[Any], mask: Mask) -> list[Any]:
        """The sum over the visible positions, at every site."""
        result: list[Any] = []
        for n, start, end in self.words():
            part = column[start:end]
            if mask is Mask.NONE:
                result += [sum(part)] * n
            else:
                sums = list(accumulate(part[::-1] if mask is Mask.PAST else part))
                result += sums[::-1] if mask is Mask.PAST else sums
        return result

    def means(self, column: Sequence[Any], mask: Mask) -> list[Any]:
        """The mean over the visible positions, at every site."""
        # Words that begin alike have the same means.
        mean = cache(lambda total, size: simplest(total * Fraction(1) / size))
        return list(map(mean, self.totals(column, mask), self.sizes(mask)))

    # ---- keys of look-ups ----

    def quadratic(self, column: Sequence[Any], name: str) -> list[tuple[Any, Any]]:
        """The coefficients of j and j^2, by site, of a head's key that is a polynomial of degree at most 2 in j. One or
        two positions leave a choice: there the key is a constant and a multiple of j. NotProved for any other."""
        result: list[tuple[Any, Any]] = []
        for n, start, end in self.words():
            # Over a common denominator the values are integers, with constant second differences.
            part = column[start:end]
            unit = lcm(*{value.denominator for value in part})
            values = [value.numerator * (unit // value.denominator) for value in part]
            steps = [after - before for before, after in pairwise(values)]
            bends = [after - before for before, after in pairwise(steps)]
            if len(set(bends)) > 1:
                raise NotProved(f"the keys of head {name} are no polynomials of degree 2 in the position", name)
            second = Fraction(bends[0], 2 * unit) if bends else Fraction(0)
            first = Fraction(steps[0], unit) - 3 * second if steps else Fraction(0)
            result += [(plain(first), plain(second))] * n
        return result

    def linear(self, column: Sequence[Any], name: str) -> tuple[Rational, Rational]:
        """The numbers a and b of a head's value that is `a + b i` at every length; NotProved for any other."""
        last = self.starts[max(self.lengths)]
        slope = column[last + 1] - column[last] if len(column) > last + 1 else 1
        base = column[last] - slope
        if any(value != base + slope * i for value, i in zip(column, self.i, strict=True)):
            raise NotProved(f"head {name} looks up values that are no linear function of the position", name)
        return base, slope

    def proportional(self, column: Sequence[Any]) -> bool:
        """Whether a column is a multiple of the position at every length, and never 0."""
        return all(column[start] != 0 and column[start + k] == column[start] * (k + 1)
                   for n, start, _ in self.words() for k in range(n))  # fmt: skip


# ---- all lengths ----

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
        parity = f"n {'even' if self.even_n else 'odd'}"
        if self.first:
            return "i = n = 1" if self.last else f"i = 1 < n, {parity}"
        return f"1 < i = n, {parity}" if self.last else f"1 < i < n, i {'even' if self.even_i else 'odd'}, {parity}"

    def known(self, value: Value) -> Value:
        """A value with 1 for i, or i for n, where they are."""
        places: dict[str, Value] = {"n": QUERY} if self.last else {}
        if self.first:
            places = dict.fromkeys([*places, "i"], 1)
        return Ratio.of(value).at(places).simplest

    def sign(self, exponent: LinearForm) -> int:
        """-1 to an integer power."""
        odd = exponent.constant + exponent.of_i * (not self.even_i) + exponent.of_n * (not self.even_n)
        return 1 if odd % 2 == 0 else -1


LONGER: Domain = chain("i", [0]) | {"n": Ratio.variable("b") + 2}
"""All positions of lengths from 2 on, and more."""


def _no_sign(exponent: LinearForm) -> int:
    raise NoRatio("a power of -1 differs between positions and lengths")


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
    """The classes in the place of sites: a column has one entry for each. What is said of them need hold only where
    their `size` is larger than `beyond`: the length or, where positions of longer words are as in their prefixes, the
    position."""

    def __init__(self, beyond: int = 0, prefix: bool = False) -> None:
        super().__init__(())
        self.beyond, self.size = beyond, QUERY if prefix else LENGTH
        self.classes = tuple(_classes())
        self.i, self.n = [QUERY] * len(self.classes), [LENGTH] * len(self.classes)
        self.hotter: list[Value] = []
        """By class a rational function that is at least the temperature, where that is none."""

    def least(self, value: Value, domain: Domain) -> Fraction | None:
        """A lower bound at the points of a domain whose size is larger than `beyond`: that of `lower`, or one of the
        multiples of the size that the value is at least; None if comparing coefficients gives neither."""
        found = ratios.lower(value, domain)
        share = ratios.lower(Ratio.of(value) / self.size, domain) if self.beyond else None
        grown = None if share is None or share < 0 else share * (self.beyond + 1)
        return max((bound for bound in (found, grown) if bound is not None), default=None)

    def only(self) -> str:
        """What is said of the sites that are meant, where these are not all."""
        return f", {self.size} > {self.beyond}" if self.beyond else ""

    def apart(self) -> Sequence[int]:
        """Every class on its own."""
        return range(len(self))

    AT = "where"

    def place(self, site: int) -> str:
        """What is said of a class."""
        return str(self.classes[site])

    def edge(self, which: str) -> list[bool]:
        """Whether a site is the first or last position."""
        return [one.first if which == "first" else one.last for one in self.classes]

    def read_at(self) -> list[int]:
        """Where an output is read."""
        return [site for site, one in enumerate(self.classes) if one.last]

    def _evaluate(self, function: PositionFunction) -> list[Any]:
        return [self._value(function, one) for one in self.classes]

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

    def inverse(self, model: Transformer) -> list[Value]:
        """One over the temperature, which must be positive everywhere; of one with functions one over a rational one
        that is nowhere colder (`hotter`)."""
        temperature = model.temperature
        if isinstance(temperature, Arith) and temperature.irrational:
            self.hotter = [self._hotter(temperature, one) for one in self.classes]
            return [(1 / Ratio.of(value)).simplest for value in self.hotter]
        values = self.evaluate(temperature)
        if not all(self.positive(value, site) for site, value in enumerate(values)):
            raise NotProved(f"the temperature {temperature} is not known to be positive for all lengths")
        return [(1 / Ratio.of(value)).simplest for value in values]

    @staticmethod
    def _hotter(temperature: Arith, one: SiteClass) -> Value:
        with suppress(NoRatio):  # one for all that have several positions, if it serves
            if not (one.first and one.last):
                return hotter(temperature, _no_sign, LONGER)
        try:
            return hotter(temperature, one.sign, one.domain)
        except NoRatio as reason:
            raise NotProved(f"the temperature {temperature} is no rational function, and {reason}") from None

    @property
    def temperatures(self) -> tuple[str, ...]:
        """What the proof takes for a temperature with functions, and where."""
        places: dict[Value, list[str]] = {}
        for one, value in zip(self.classes, self.hotter, strict=False):
            places.setdefault(value, []).append(str(one))
        rest = "else" if len(places) > 1 else "everywhere"
        return tuple(
            f"tau <= {value} {rest if some is list(places.values())[-1] else 'where ' + ' or '.join(some)}"
            for value, some in places.items()
        )

    def at_most_zero(self, value: Any, site: int) -> bool:
        """Whether a number is at most 0 throughout a class."""
        high = self.bounds(value, site)[1]
        return high is not None and high <= 0

    def positive(self, value: Any, site: int) -> bool:
        """Whether a number is positive throughout a class."""
        return ratios.positive(value, self.classes[site].domain)

    def line(self, value: Any, site: int) -> LinearForm:
        """A value as a line in i and n; NotProved if it is none."""
        found = ratios.line(self.classes[site].known(value))
        if found is None:
            raise NotProved(f"{value} is compared, which is no line in i and n")
        return found

    def reaches(self, of_i: Fraction, of_n: Fraction, bound: int, site: int) -> bool | None:
        """Whether `of_i i + of_n n` is at least a bound throughout a class; None where that is not known."""
        low, high = self.bounds(QUERY * of_i + LENGTH * of_n, site)
        return True if low is not None and low >= bound else False if high is not None and high < bound else None

    def bounds(self, value: Value, site: int) -> tuple[Fraction | None, Fraction | None]:
        """A lower and an upper bound of a value throughout a class."""
        domain = self.classes[site].domain
        return ratios.lower(value, domain), ratios.upper(value, domain)

    def alone(self, mask: Mask) -> list[bool]:
        """The classes from which one position is visible."""
        return [(one.first or mask is Mask.PAST) and (one.last or mask is Mask.FUTURE) for one in self.classes]

    def same(self, values: Sequence[Any], what: str, name: str) -> Any:
        """What must be the same rational function in every class; NotProved for a head of that name if it is not."""
        if len(set(values)) != 1:
            raise NotProved(f"{what} of head {name} is not one rational function of position and length", name)
        return values[0]

    def quadratic(self, column: Sequence[Any], name: str) -> list[tuple[Any, Any]]:
        """The coefficients of j and j^2 of a head's key that is a polynomial of degree at most 2 in j."""
        value = Ratio.of(self.same(column, "a key", name))
        one, two, three = (value.at({"i": place}) for place in (1, 2, 3))
        second = (three - 2 * two + one) * Fraction(1, 2)
        first = two - one - 3 * second
        if (one - first - second + first * QUERY + second * QUERY * QUERY - value).simplest != 0:
            raise NotProved(f"the keys of head {name} are no polynomials of degree 2 in the position", name)
        return [(first.simplest, second.simplest)] * len(self.classes)

    def linear(self, column: Sequence[Any], name: str) -> tuple[Rational, Rational]:
        """The numbers a and b of a head's value that is `a + b i` in every class."""
        value = ratios.line(self.same(column, "the value", name))
        if value is None or value.of_n:
            raise NotProved(f"head {name} looks up values that are no linear function of the position", name)
        return plain(value.constant), plain(value.of_i)

    def proportional(self, column: Sequence[Any]) -> bool:
        """Whether a column is a multiple of the position, by a factor that may depend on the length and is not 0."""
        factors = [Ratio.of(value) / QUERY for value in column]
        return all(factor.simplest != 0 and "i" not in factor.names for factor in factors)

    def totals(self, column: Sequence[Any], mask: Mask) -> list[Any]:
        """The sum over the visible positions of what is a number in every class: with `first`, `last` and the values
        in between at even and odd positions, the number of each times its value."""
        if not all(isinstance(value, int | Fraction) for value in column):
            raise NotProved("a uniform head averages a value that changes with the position")
        result: list[Any] = []
        for one, value in zip(self.classes, column, strict=True):
            if one.first and one.last:
                total = value
            elif mask is Mask.FUTURE:
                total = self._prefix(column, one, QUERY, one.even_i, one.last)
            else:
                total = self._prefix(column, one, LENGTH, one.even_n, True)
                if mask is Mask.PAST and not one.first:
                    total -= self._prefix(column, one, QUERY - 1, not one.even_i, False)
            result.append(simplest(total))
        return result

    def _prefix(self, column: Sequence[Any], like: SiteClass, end: Ratio, even: bool, last: bool) -> Ratio:
        """The sum over the positions 1..end of words of a class's lengths, of more than one position; `even` says
        whether the end is even, `last` whether it is the last position."""
        found: dict[tuple[bool, bool, bool], Rational] = {
            (one.first, one.last, one.even_i): value
            for one, value in zip(self.classes, column, strict=True)
            if one.even_n == like.even_n and not (one.first and one.last)
        }
        inner, even = (end - 1, not even) if last else (end, even)
        # Of the positions 2..m, floor(m/2) are even and ceil(m/2) - 1 odd.
        half = Fraction(1, 2)
        evens = inner * half if even else (inner - 1) * half
        odds = inner * half - 1 if even else (inner - 1) * half
        total = evens * found[False, False, True] + odds * found[False, False, False] + found[True, False, False]
        return total + found[False, True, like.even_n] if last else total

    def neighbours(self, site: int, way: int) -> list[int]:
        """The classes in which the position before (-1) or after (1) one of a class can be."""
        one, result = self.classes[site], []
        for number, other in enumerate(self.classes):
            fits = other.even_n == one.even_n and other.even_i != one.even_i and not (other.first and other.last)
            if fits and not (one.first or other.last if way < 0 else one.last or other.first):
                result.append(number)
        return result
