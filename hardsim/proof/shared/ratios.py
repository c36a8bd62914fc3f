"""Rational functions of positions and lengths, and lower bounds of them that hold for every length.

A bound is found by comparing coefficients. Positions in a known order are written with numbers >= 0 (for j < w <= i
<= n: j = 1 + a, w = 2 + a + b, i = 2 + a + b + c, n = 2 + a + b + c + d). If then every coefficient of N - g D is
>= 0, where D has only coefficients >= 0 and a positive constant term, N/D >= g at all such positions. The largest g
that this gives is the least quotient of a coefficient of N by that of D, which is easy to check by hand.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from math import gcd, lcm
from typing import Any, TypeAlias

from flint import fmpq, fmpq_mpoly, fmpq_mpoly_ctx

from hardsim.lang.arith import (
    MAX_POWER_BITS,
    Application,
    Arith,
    Constant,
    Expression,
    Indicator,
    Negation,
    Operation,
    Variable,
)
from hardsim.lang.reals import Real
from hardsim.lazy_dataclass import dataclass
from hardsim.network.numbers import Rational, plain
from hardsim.proof.shared.result import NotProved

LOG = "log(n + 1)"
NAMES = ("i", "n", "j", "w", LOG, "a", "b", "c", "d")
"""Names of the variables: the query i, the length n, another position j, the winner w; the logarithm, which counts
as one more variable; and the numbers >= 0 with which a chain of positions is written (`SLACKS`)."""
SLACKS = ("a", "b", "c", "d")
ORIGIN = (0,) * len(NAMES)
LARGEST_DEGREE = 16
"""Largest degree of an expression, and largest constant exponent that is multiplied out. At this degree bounds are
found among thousands of coefficients, at twice the degree among millions."""


@lru_cache(maxsize=1)
def _context() -> fmpq_mpoly_ctx:
    return fmpq_mpoly_ctx.get(NAMES, "lex")


@lru_cache(maxsize=1)
def _variables() -> tuple[fmpq_mpoly, ...]:
    return tuple(_context().gens())


def _number(value: Rational) -> fmpq:
    return fmpq(value.numerator, value.denominator)


def _constant(value: Rational) -> fmpq_mpoly:
    return _context().constant(_number(value))


class Ratio:
    """Quotient of polynomials in lowest terms. Constants stay quotients until `simplest`. Raises NotProved for a
    divisor that is 0."""

    def __init__(self, top: fmpq_mpoly, bottom: fmpq_mpoly) -> None:
        if not bottom:
            raise NotProved(f"the argument divides {top} by a term that may be 0")
        if not bottom.is_constant():
            common = top.gcd(bottom)
            if not common.is_constant():
                top, bottom = top / common, bottom / common
        factor = bottom.leading_coefficient()
        self.top, self.bottom = (top, bottom) if factor == 1 else (top / factor, bottom / factor)

    @staticmethod
    def _lowest(top: fmpq_mpoly, bottom: fmpq_mpoly) -> Ratio:
        """Return a quotient whose terms are already the lowest and whose divisor has the leading coefficient 1."""
        found = Ratio.__new__(Ratio)
        found.top, found.bottom = top, bottom
        return found

    @staticmethod
    def variable(name: str) -> Ratio:
        """Return the function that is one variable of `NAMES`."""
        return Ratio(_variables()[NAMES.index(name)], _constant(1))

    @staticmethod
    def of(value: Value) -> Ratio:
        """Return a number as a quotient, and a quotient unchanged."""
        return value if isinstance(value, Ratio) else Ratio(_constant(value), _constant(1))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (_coefficients(self.top), _coefficients(self.bottom))

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """Hashable key, equal for equal functions: powers with coefficients, in the order of the polynomials' terms."""
        return tuple(
            tuple((power, int(c.p), int(c.q)) for power, c in part.to_dict().items())
            for part in (self.top, self.bottom)
        )

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Ratio) and bool(self.top == other.top and self.bottom == other.bottom)

    @cached_property
    def _hash(self) -> int:
        return hash(self.key)

    def __hash__(self) -> int:
        return self._hash

    def __add__(self, other: Value) -> Ratio:
        if not isinstance(other, Ratio):
            return self._lowest(self.top + self.bottom * _number(other), self.bottom)
        right = other
        if right.bottom == self.bottom:
            return Ratio(self.top + right.top, self.bottom)
        return Ratio(self.top * right.bottom + right.top * self.bottom, self.bottom * right.bottom)

    def __mul__(self, other: Value) -> Ratio:
        if not isinstance(other, Ratio):
            return self._lowest(self.top * _number(other), self.bottom if other else _constant(1))
        right = other
        return Ratio(self.top * right.top, self.bottom * right.bottom)

    def __truediv__(self, other: Value) -> Ratio:
        right = Ratio.of(other)
        return Ratio(self.top * right.bottom, self.bottom * right.top)

    def __rtruediv__(self, other: Value) -> Ratio:
        return Ratio.of(other) / self

    def __neg__(self) -> Ratio:
        return self._lowest(-self.top, self.bottom)

    def __sub__(self, other: Value) -> Ratio:
        return self + (-Ratio.of(other))

    def __rsub__(self, other: Value) -> Ratio:
        return Ratio.of(other) - self

    def __lt__(self, other: Value) -> bool:
        """Raise NotProved: a function cannot be compared with a number."""
        raise NotProved(f"{self} is compared with {other}, but depends on the position or the length")

    # The result may differ between positions, so all four operators raise.
    __le__ = __gt__ = __ge__ = __lt__
    __radd__ = __add__
    __rmul__ = __mul__

    @property
    def simplest(self) -> Value:
        """Number if the function is constant, else the quotient."""
        if not (self.top.is_constant() and self.bottom.is_constant()):
            return self
        value = self.top.leading_coefficient()  # 0 for the polynomial 0
        return plain(Fraction(int(value.p), int(value.q)))

    @property
    def denominator(self) -> Ratio:
        """The denominator, as a polynomial over 1."""
        return Ratio(self.bottom, _constant(1))

    def common_multiple(self, other: Ratio) -> Ratio:
        """Return the least common multiple of two polynomials."""
        return Ratio(self.top * other.top / self.top.gcd(other.top), _constant(1))

    def at(self, places: Mapping[str, Value]) -> Ratio:
        """Return the function with variables replaced by polynomials or numbers. Raises NotProved if a replacement
        is a quotient."""
        put = {name: Ratio.of(place) for name, place in places.items()}
        if not all(place.bottom.is_constant() for place in put.values()):
            raise NotProved(f"{self} is taken at a quotient, not at a position")
        arguments = [put[name].top if name in put else gen for name, gen in zip(NAMES, _variables(), strict=True)]
        constant = self.bottom.is_constant()
        return Ratio(self.top.compose(*arguments), self.bottom if constant else self.bottom.compose(*arguments))

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of the variables that occur."""
        degrees = zip(NAMES, self.top.degrees(), self.bottom.degrees(), strict=True)  # -1 in the polynomial 0
        return frozenset([name for name, above, below in degrees if above > 0 or below > 0])

    def __str__(self) -> str:
        bottom = str(self.bottom)
        return str(self.top) if bottom == "1" else f"({self.top})/({bottom})"


def _restored(*parts: dict[tuple[int, ...], Fraction]) -> Ratio:
    """Return a quotient from the coefficients of its two parts, for unpickling."""
    context = _context()
    return Ratio(*(context.from_dict({power: _number(c) for power, c in part.items()}) for part in parts))


Value: TypeAlias = int | Fraction | Ratio
Domain: TypeAlias = Mapping[str, Ratio]
"""Domain: the values of some variables, written with numbers >= 0 (`SLACKS`)."""


def common(numbers: Iterable[Fraction]) -> Fraction:
    """Return the greatest common divisor of rationals; 0 if there are none."""
    result = Fraction(0)
    for number in numbers:
        bottom = lcm(result.denominator, number.denominator)
        result = Fraction(gcd(int(result * bottom), int(number * bottom)), bottom)
    return result


def simplest(value: Any) -> Any:
    """Return a constant quotient as a number, and an integral number as an int."""
    if isinstance(value, Real):
        return value
    return value.simplest if isinstance(value, Ratio) else plain(value)


def chain(names: Sequence[str], gaps: Sequence[int]) -> dict[str, Ratio]:
    """Return a domain of positions in increasing order. The first is 1 + gaps[0] + a; each further one is its gap, plus
    a variable that is at least 0, behind the one before."""
    total, result = Ratio.of(1), {}
    for name, gap, slack in zip(names, gaps, SLACKS, strict=False):
        total = total + gap + Ratio.variable(slack)
        result[name] = total
    return result


def lower(value: Value, domain: Domain) -> Fraction | None:
    """Return a lower bound of a rational function at all points of a domain; None if comparing coefficients gives
    none."""
    found = _within(value, domain)
    top, bottom = _coefficients(found.top), _coefficients(found.bottom)
    # If the bottom is negative, turn both signs.
    if bottom.get(ORIGIN, Fraction(0)) < 0:
        top, bottom = ({power: -c for power, c in part.items()} for part in (top, bottom))
    if bottom.get(ORIGIN, Fraction(0)) <= 0 or any(c < 0 for c in bottom.values()):
        return None
    # No g compensates for a negative coefficient that has no counterpart in the bottom.
    if any(c < 0 for power, c in top.items() if power not in bottom):
        return None
    return min(top.get(power, Fraction(0)) / c for power, c in bottom.items())


def upper(value: Value, domain: Domain) -> Fraction | None:
    """Return an upper bound of a rational function at all points of a domain; None if comparing coefficients gives
    none."""
    found = lower(-Ratio.of(value), domain)
    return None if found is None else -found


def _within(value: Value, domain: Domain) -> Ratio:
    """Return a function written with numbers >= 0 alone. Raises NotProved if the domain does not give one of its
    variables."""
    found = Ratio.of(value).at(domain)
    if not found.names <= set(SLACKS):
        raise NotProved(f"the range of a variable of {value} is not known")
    return found


def positive(value: Value, domain: Domain) -> bool:
    """Return True if the coefficients show that a rational function is positive at all points of a domain. Raises
    NotProved if the domain does not give one of its variables."""
    if not Ratio.of(value).names <= {*domain, *SLACKS}:
        raise NotProved(f"the range of a variable of {value} is not known")
    return known_sign(value, domain, True)


def known_sign(value: Value, domain: Domain, strictly: bool) -> bool:
    """Return True if the coefficients show that a function is at least 0 (with `strictly`: above 0) at all points
    of a domain. Return False if the domain does not give one of its variables."""
    if not isinstance(value, Ratio):
        return value > 0 or (value == 0 and not strictly)
    return _known_sign(value, _Region(domain), strictly)


class _Region:
    """Domain with a hash of its contents, as an argument of cached functions."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.hash = hash(tuple([(name, hash(domain[name])) for name in sorted(domain)]))

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Region) and self.domain == other.domain


@lru_cache(maxsize=65536)
def _known_sign(value: Ratio, region: _Region, strictly: bool) -> bool:
    """Return True if all coefficients of top and bottom, in numbers >= 0, have one sign, and the constant term of
    the bottom (and of the top, if it is to be `strictly` positive) is not 0."""
    found = value.at(region.domain)
    if not found.names <= set(SLACKS):
        return False
    signs = []
    for part, need in ((found.top, strictly), (found.bottom, True)):
        terms = {power: int(c.p) for power, c in part.to_dict().items()}
        above = [c > 0 for c in terms.values()]
        if (any(above) and not all(above)) or (need and not terms.get(ORIGIN)):
            return False
        signs.append(all(above))
    return signs[0] == signs[1] or not found.top


def _coefficients(poly: fmpq_mpoly) -> dict[tuple[int, ...], Fraction]:
    return {power: Fraction(int(c.p), int(c.q)) for power, c in poly.to_dict().items()}


@dataclass(frozen=True, slots=True)
class LinearForm:
    """Linear form `constant + of_i i + of_n n`."""

    constant: Fraction
    of_i: Fraction
    of_n: Fraction


def line(value: Value) -> LinearForm | None:
    """Return a function as a linear form in i and n; None if it has another form."""
    ratio = Ratio.of(value)
    found = _coefficients(ratio.top)
    units = [tuple(int(name == other) for other in NAMES) for name in ("", "i", "n")]
    if not ratio.bottom.is_constant() or not found.keys() <= set(units):
        return None
    constant, of_i, of_n = (found.get(unit, Fraction(0)) for unit in units)
    return LinearForm(constant, of_i, of_n)


ARITHMETIC: Mapping[str, Callable[[Any, Any], Ratio]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


class NoRatio(Exception):
    """Raised when an expression is not, or not known to be, a rational function of i, n and powers of -1."""


def ratio_of(function: Arith, sign: Callable[[LinearForm], int], domain: Domain) -> Value:
    """Return an expression in i and n as a rational function. `sign` gives the value of a power of -1. Raises
    NoRatio if the expression is not known to be a rational function on the domain."""

    def walk(tree: Expression) -> Value:
        match tree:
            case Constant(value):
                return value
            case Variable("i" | "n" as name):
                return Ratio.variable(name)
            case Negation(arg):
                return (-Ratio.of(walk(arg))).simplest
            case Indicator():
                raise NoRatio("it has a comparison")
            case Operation("^", left, right):
                return _power(walk(left), walk(right), sign)
            case Operation("+" | "-" | "*" | "/" as op, left, right):
                first, second = Ratio.of(walk(left)), Ratio.of(walk(right))
                if op == "/" and not positive(second, domain) and not positive(-second, domain):
                    raise NoRatio(f"{second} is not known to be other than 0")
                return _limited(ARITHMETIC[op](first, second))
            case Application(name, _):
                raise NoRatio(f"it has the function {name}")
            case Operation("div" | "mod"):
                raise NoRatio("it divides with a remainder")
            case _:
                raise NoRatio(f"{tree} is not supported in it")

    return walk(function.tree)


def _power(base: Value, exponent: Value, sign: Callable[[LinearForm], int]) -> Value:
    if base == -1:
        found = line(exponent)
        if found is None or any(part.denominator != 1 for part in (found.constant, found.of_i, found.of_n)):
            raise NoRatio("the exponent of -1 is not an integer that is linear in i and n")
        return sign(found)
    if not isinstance(exponent, int) or not 0 <= exponent <= LARGEST_DEGREE:
        raise NoRatio(f"it has a power whose exponent is not an integer from 0 to {LARGEST_DEGREE}")
    result: Value = 1
    for _ in range(exponent):
        result = _limited(Ratio.of(result) * base)
    return result


def _limited(value: Ratio) -> Value:
    """Return the simplest form of a quotient. Raises NoRatio if its degree or its numbers are too large to multiply
    out."""
    for part in (value.top, value.bottom):
        for powers, c in part.to_dict().items():
            if sum(powers) > LARGEST_DEGREE:
                raise NoRatio(f"it has a degree above {LARGEST_DEGREE}")
            if max(int(c.p).bit_length(), int(c.q).bit_length()) > MAX_POWER_BITS:
                raise NoRatio(f"it has numbers of more than {MAX_POWER_BITS} bits")
    return value.simplest
