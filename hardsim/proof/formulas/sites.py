"""Sites of a proof: all positions of some lengths, or classes that cover all lengths at once.

All lengths are covered by nine classes: each says whether the position is the first, the last or between, and
whether position and length are even. In each class (-1)^i and (-1)^n are known, so encodings are rational functions
of i and n. A predicate of positions or lengths is a Boolean about which nothing else is known.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import field
from fractions import Fraction
from functools import cache
from itertools import accumulate, pairwise
from math import lcm
from typing import Any, ClassVar

from hardsim.lang.arith import Arith
from hardsim.lang.reals import Real, RealNumber
from hardsim.lazy_dataclass import dataclass
from hardsim.network.columns import PositionFunction, PredicateColumn, real_value
from hardsim.network.numbers import Mask, Rational, plain
from hardsim.network.transformer import Transformer
from hardsim.proof.shared import ratios
from hardsim.proof.shared.monotone import hotter
from hardsim.proof.shared.ratios import Domain, LinearForm, NoRatio, Ratio, Value, chain, ratio_of, simplest
from hardsim.proof.shared.result import NotProved


@dataclass
class Sites:
    """Sites (i, n) for 1 <= i <= n and n in `lengths`, in this order. `i` and `n` have the position and the length
    by site: numbers here, rational functions in `Classes`, which has all lengths. A column is a list with one entry
    per site."""

    lengths: tuple[int, ...]
    only_last: bool = False
    """True if the output is read at the last position only, even if there is one length."""
    shortest: int = 1
    """Shortest length that is proved, where one length stands for all shorter ones."""
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
        """Yield each length n with its first site and the site after its last."""
        for n, start in self.starts.items():
            yield n, start, start + n

    def apart(self) -> Sequence[int]:
        """Return a group number by site. Sites of one group have positions and lengths of the same kind."""
        return [0] * len(self)

    AT: ClassVar = "at"

    def place(self, site: int) -> str:
        """Return the name of a site for messages."""
        return f"position {self.i[site]} of {self.n[site]}"

    def edge(self, which: str) -> list[bool]:
        """Return for each site True if it is the first, or the last, position."""
        return [i == (1 if which == "first" else n) for i, n in zip(self.i, self.n, strict=True)]

    def read_at(self) -> list[int]:
        """Return the sites at which the output is read: the last position of each length. If there is only one
        length, it stands for all shorter ones, and these are all its positions from `shortest` on (with
        `only_last` the last one only)."""
        if len(self.lengths) == 1 and not self.only_last:
            return list(range(self.shortest - 1, len(self)))
        return [end - 1 for _, _, end in self.words()]

    # ---- functions of the position ----

    def evaluate(self, function: PositionFunction) -> list[Any]:
        """Return the exact values of a position function at every site. In `Classes` a value is a number, a
        rational function or a free Boolean. Raises NotProved if a value has no such form. Equal functions are
        evaluated once."""
        # Two user-defined predicates may share name and text, but not meaning.
        key = function, function.user if isinstance(function, PredicateColumn) else None
        if key not in self._known:
            self._known[key] = self._evaluate(function)
        return self._known[key]

    def _evaluate(self, function: PositionFunction) -> list[Any]:
        def value(i: int, n: int) -> Rational:
            found = real_value(function, i, n)
            if isinstance(found, Real):
                message = f"the encoding {function} is not a rational number at position {i} of {n}"
                raise NotProved(f"{message}; proofs need exact encodings, though temperatures may be irrational")
            return plain(found)

        return self.tabulate(function.variables, value)

    def tabulate(self, names: Collection[str], value: Callable[[int, int], RealNumber]) -> list[Any]:
        """Return the values at every site of a function of i and n that depends only on the variables in `names`."""
        known, longest = cache(value), max(self.lengths)
        pairs = zip(self.i, self.n, strict=True)
        return [known(i if "i" in names else 1, n if "n" in names else longest) for i, n in pairs]

    def inverse(self, model: Transformer) -> list[Any]:
        """Return the inverse temperature at every site: a rational or a Real."""
        return self.tabulate(model.temperature.variables, model.inverse_temperature)

    # ---- numbers at a site ----

    def at_most_zero(self, value: Any, site: int) -> bool:
        """Return True if a number is at most 0 at a site."""
        return bool(value <= 0)

    def positive(self, value: Any, site: int) -> bool:
        """Return True if a number is positive at a site."""
        return bool(value > 0)

    def line(self, value: Any, site: int) -> LinearForm:
        """Return a number as a constant linear form: i and n are known at a site."""
        return LinearForm(Fraction(value), Fraction(0), Fraction(0))

    def reaches(self, of_i: Fraction, of_n: Fraction, bound: int, site: int) -> bool | None:
        """Return True if `of_i i + of_n n` is at least a bound at a site, False if it is less, None if that is not
        known."""
        return bool(of_i * self.i[site] + of_n * self.n[site] >= bound)

    # ---- positions visible under a mask ----

    def sizes(self, mask: Mask) -> list[Any]:
        """Return by site the number of positions that are visible from it, itself included, for a mask that
        formulas use."""
        if mask is Mask.PAST:
            return [n - i + 1 for i, n in zip(self.i, self.n, strict=True)]
        return {Mask.NONE: self.n, Mask.FUTURE: self.i}[mask]

    def alone(self, mask: Mask) -> list[bool]:
        """Return for each site True if only one position is visible from it."""
        return [size == 1 for size in self.sizes(mask)]

    def totals(self, column: Sequence[Any], mask: Mask) -> list[Any]:
        """Return the sum of a column over the visible positions, at every site."""
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
        """Return the mean of a column over the visible positions, at every site."""
        # Words that begin alike have the same means.
        mean = cache(lambda total, size: simplest(total * Fraction(1) / size))
        return list(map(mean, self.totals(column, mask), self.sizes(mask)))

    # ---- keys of look-ups ----

    def quadratic(self, column: Sequence[Any], name: str) -> list[tuple[Any, Any]]:
        """Return the coefficients of j and j^2, by site, of a head's key that is a polynomial of degree at most 2
        in j. Raises NotProved for any other key. With one position the key is taken as a constant, with two as
        a constant plus a multiple of j."""
        result: list[tuple[Any, Any]] = []
        for n, start, end in self.words():
            # Over a common denominator the values are integers, with constant second differences.
            part = column[start:end]
            unit = lcm(*{value.denominator for value in part})
            values = [value.numerator * (unit // value.denominator) for value in part]
            steps = [after - before for before, after in pairwise(values)]
            bends = [after - before for before, after in pairwise(steps)]
            if len(set(bends)) > 1:
                raise NotProved(f"the keys of head {name} are not polynomials of degree 2 in the position", name)
            second = Fraction(bends[0], 2 * unit) if bends else Fraction(0)
            first = Fraction(steps[0], unit) - 3 * second if steps else Fraction(0)
            result += [(plain(first), plain(second))] * n
        return result

    def linear(self, column: Sequence[Any], name: str) -> tuple[Rational, Rational]:
        """Return the numbers a and b of a head's value that is `a + b i` at every length. Raises NotProved for any
        other value."""
        last = self.starts[max(self.lengths)]
        slope = column[last + 1] - column[last] if len(column) > last + 1 else 1
        base = column[last] - slope
        if any(value != base + slope * i for value, i in zip(column, self.i, strict=True)):
            raise NotProved(f"head {name} looks up values that are not a linear function of the position", name)
        return base, slope

    def proportional(self, column: Sequence[Any]) -> bool:
        """Return True if a column is a multiple of the position at every length (the factor may differ between
        lengths), and never 0."""
        return all(column[start] != 0 and column[start + k] == column[start] * (k + 1)
                   for n, start, _ in self.words() for k in range(n))  # fmt: skip


# ---- all lengths ----

QUERY, LENGTH = Ratio.variable("i"), Ratio.variable("n")


@dataclass(frozen=True, slots=True)
class Free:
    """Free Boolean: a predicate of the position or the length, 0 or 1, about which nothing else is known. Two are
    equal if their columns are: a user's own predicate by its name and definition."""

    column: PredicateColumn

    @property
    def text(self) -> str:
        """Text of the predicate for reports."""
        own = self.column.user is not None
        return f"{self.column}, defined as {self.column.definition}" if own else str(self.column)


@dataclass(frozen=True)
class SiteClass:
    """Class of sites (i, n): those with i = 1 or not, i = n or not, i and n even or odd. `domain` contains all of
    them and more: there the parities only bound i and n from below."""

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
        """Return a value with i replaced by 1 and n by i, where the class fixes them."""
        places: dict[str, Value] = {"n": QUERY} if self.last else {}
        if self.first:
            # If the first position is also the last one, n is 1, too.
            places = dict.fromkeys([*places, "i"], 1)
        return Ratio.of(value).at(places).simplest

    def sign(self, exponent: LinearForm) -> int:
        """Return -1 to an integer power that is linear in i and n."""
        odd = exponent.constant + exponent.of_i * (not self.even_i) + exponent.of_n * (not self.even_n)
        return 1 if odd % 2 == 0 else -1


LONGER: Domain = chain("i", [0]) | {"n": Ratio.variable("b") + 2}
"""Domain of all positions of lengths from 2 on, and more."""


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
    """Classes in the role of sites: a column has one entry for each class. Statements need to be true only where
    `size` is larger than `beyond`; `size` is the length or, if nothing depends on the length, the position."""

    def __init__(self, beyond: int = 0, prefix: bool = False) -> None:
        super().__init__(())
        self.beyond, self.size = beyond, QUERY if prefix else LENGTH
        self.classes = tuple(_classes())
        self.i, self.n = [QUERY] * len(self.classes), [LENGTH] * len(self.classes)
        self.hotter: list[Value] = []
        """Rational function, by class, that is at least the temperature; empty if the temperature itself is
        rational."""

    def least(self, value: Value, domain: Domain) -> Fraction | None:
        """Return a lower bound at the points of a domain whose size is larger than `beyond`; None if comparing
        coefficients gives none. The bound is that of `lower`, or follows from a multiple of the size that the value
        is at least."""
        found = ratios.lower(value, domain)
        share = ratios.lower(Ratio.of(value) / self.size, domain) if self.beyond else None
        grown = None if share is None or share < 0 else share * (self.beyond + 1)
        return max((bound for bound in (found, grown) if bound is not None), default=None)

    def only(self) -> str:
        """Return the condition that the size is above `beyond` as text for messages; empty if there is none."""
        return f", {self.size} > {self.beyond}" if self.beyond else ""

    def apart(self) -> Sequence[int]:
        """Return a different number for every class."""
        return range(len(self))

    AT = "where"

    def place(self, site: int) -> str:
        """Return the name of a class for messages."""
        return str(self.classes[site])

    def edge(self, which: str) -> list[bool]:
        """Return for each class True if its positions are the first, or the last, ones."""
        return [one.first if which == "first" else one.last for one in self.classes]

    def read_at(self) -> list[int]:
        """Return the classes at which the output is read: those of last positions."""
        return [site for site, one in enumerate(self.classes) if one.last]

    def _evaluate(self, function: PositionFunction) -> list[Any]:
        return [self._value(function, one) for one in self.classes]

    def _value(self, function: PositionFunction, one: SiteClass) -> Value | Free:
        if isinstance(function, PredicateColumn):
            if not function.variables:
                return int(function.evaluate())
            if function.user is not None and not function.definition:
                raise NotProved(f"the predicate {function.name} has no definition by which it can be identified")
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
        """Predicates among the evaluated functions, as texts."""
        return tuple(sorted({value.text for values in self._known.values() for value in values
                             if isinstance(value, Free)}))  # fmt: skip

    def inverse(self, model: Transformer) -> list[Value]:
        """Return one over the temperature by class. A temperature with functions such as log is replaced by a
        rational function that is nowhere colder (`hotter`). Raises NotProved unless the temperature is known to be
        positive everywhere."""
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
        with suppress(NoRatio):
            # One function for all classes with several positions is simpler to print.
            if not (one.first and one.last):
                return hotter(temperature, _no_sign, LONGER)
        try:
            return hotter(temperature, one.sign, one.domain)
        except NoRatio as reason:
            raise NotProved(f"the temperature {temperature} is not a rational function, and {reason}") from None

    @property
    def temperatures(self) -> tuple[str, ...]:
        """Rational bounds that replace a temperature with functions, with the classes where each is used, as texts."""
        places: dict[Value, list[str]] = {}
        for one, value in zip(self.classes, self.hotter, strict=False):
            places.setdefault(value, []).append(str(one))
        rest = "else" if len(places) > 1 else "everywhere"
        return tuple(
            f"tau <= {value} {rest if some is list(places.values())[-1] else 'where ' + ' or '.join(some)}"
            for value, some in places.items()
        )

    def at_most_zero(self, value: Any, site: int) -> bool:
        """Return True if a value is known to be at most 0 throughout a class."""
        high = self.bounds(value, site)[1]
        return high is not None and high <= 0

    def positive(self, value: Any, site: int) -> bool:
        """Return True if a value is known to be positive throughout a class."""
        return ratios.positive(value, self.classes[site].domain)

    def line(self, value: Any, site: int) -> LinearForm:
        """Return a value as a linear form in i and n. Raises NotProved if it has another form."""
        found = ratios.line(self.classes[site].known(value))
        if found is None:
            raise NotProved(f"{value} is compared, but is not linear in i and n")
        return found

    def reaches(self, of_i: Fraction, of_n: Fraction, bound: int, site: int) -> bool | None:
        """Return True if `of_i i + of_n n` is at least a bound throughout a class, False if it is less throughout,
        None if neither is known."""
        low, high = self.bounds(QUERY * of_i + LENGTH * of_n, site)
        return True if low is not None and low >= bound else False if high is not None and high < bound else None

    def bounds(self, value: Value, site: int) -> tuple[Fraction | None, Fraction | None]:
        """Return a lower and an upper bound of a value throughout a class; None for a bound that is not found."""
        domain = self.classes[site].domain
        return ratios.lower(value, domain), ratios.upper(value, domain)

    def alone(self, mask: Mask) -> list[bool]:
        """Return for each class True if only one position is visible from its positions."""
        return [(one.first or mask is Mask.PAST) and (one.last or mask is Mask.FUTURE) for one in self.classes]

    def same(self, values: Sequence[Any], what: str, name: str) -> Any:
        """Return the common value of all classes. Raises NotProved, naming `what` of a head, unless the values are
        equal."""
        if len(set(values)) != 1:
            raise NotProved(f"{what} of head {name} is not one rational function of position and length", name)
        return values[0]

    def quadratic(self, column: Sequence[Any], name: str) -> list[tuple[Any, Any]]:
        """Return the coefficients of j and j^2, by class, of a head's key that is a polynomial of degree at most 2
        in j."""
        value = Ratio.of(self.same(column, "a key", name))
        one, two, three = (value.at({"i": place}) for place in (1, 2, 3))
        second = (three - 2 * two + one) * Fraction(1, 2)
        first = two - one - 3 * second
        if (one - first - second + first * QUERY + second * QUERY * QUERY - value).simplest != 0:
            raise NotProved(f"the keys of head {name} are not polynomials of degree 2 in the position", name)
        return [(first.simplest, second.simplest)] * len(self.classes)

    def linear(self, column: Sequence[Any], name: str) -> tuple[Rational, Rational]:
        """Return the numbers a and b of a head's value that is `a + b i` in every class."""
        value = ratios.line(self.same(column, "the value", name))
        if value is None or value.of_n:
            raise NotProved(f"head {name} looks up values that are not a linear function of the position", name)
        return plain(value.constant), plain(value.of_i)

    def proportional(self, column: Sequence[Any]) -> bool:
        """Return True if a column is a multiple of the position by a factor that may depend on the length and is
        not 0."""
        factors = [Ratio.of(value) / QUERY for value in column]
        return all(factor.simplest != 0 and "i" not in factor.names for factor in factors)

    def totals(self, column: Sequence[Any], mask: Mask) -> list[Any]:
        """Return the sum over the visible positions of a column that is a number in every class: the values at the
        first, the last, and the even and odd positions between, each times the number of such positions."""
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
        """Return the sum over the positions 1..end of words with more than one position, of the lengths of a class.
        `even` says that the end is even, `last` that it is the last position."""
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
        """Return the classes in which the position before (-1) or after (1) a position of a class can be."""
        one, result = self.classes[site], []
        for number, other in enumerate(self.classes):
            fits = other.even_n == one.even_n and other.even_i != one.even_i and not (other.first and other.last)
            if fits and not (one.first or other.last if way < 0 else one.last or other.first):
                result.append(number)
        return result
