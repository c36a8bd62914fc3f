"""Enclosures: rationals on both sides of a number that need not be rational, for the temperatures of certificates.

Ends are decimals of so many digits, rounded away from what lies between them. e^x is that of `arithmetic`, with more
digits; sqrt is a root of integers. With x = 2^k m for 1 <= m < 2 and z = (m - 1)/(m + 1) < 1/3, log x is
k log 2 + 2 (z + z^3/3 + z^5/5 + ...), where log 2 is that sum twice at z = 1/3. Where it is not known on which side of
a number another one lies, it is said: `Blurred`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import isqrt

from hardsim.verify.arithmetic import ZERO, Rational, Rejected, bits, exp_between, require

PRECISIONS = (50, 500)
"""Digits that are tried, the fewer first."""
CLOSE = Fraction(1, 10**36)
"""Ends of numbers are as near to each other as that, relatively, if one of PRECISIONS serves."""
LARGEST_EXPONENT = 1 << 13
"""The largest x of which e^x or e^-x is taken."""
LARGE = 1 << 14
"""Bits of an end."""


class Blurred(Rejected):
    """An enclosure is too wide to tell."""


@lru_cache
def contexts(digits: int) -> tuple[Context, Context]:
    """Decimal arithmetic that rounds down, and up."""
    down, up = (Context(digits, way, MIN_EMIN, MAX_EMAX) for way in (ROUND_FLOOR, ROUND_CEILING))
    return down, up


def short(x: Rational, context: Context) -> Fraction:
    """A number rounded in a context."""
    require(bits(x) <= 4 * LARGE, f"too large: an expression with a number of more than {LARGE} bits")
    found = Fraction(context.divide(Decimal(x.numerator), Decimal(x.denominator)))
    require(bits(found) <= LARGE, f"too large: an expression with a number of more than {LARGE} bits")
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Enclosure:
    """A number between two rationals; make it by `enclosed`. Operators raise Blurred where a divisor may be 0, or a
    comparison may be either way."""

    low: Fraction
    high: Fraction
    digits: int

    def __add__(self, other: RealValue) -> RealValue:
        low, high = ends(other)
        return enclosed(self.low + low, self.high + high, self.digits)

    def __neg__(self) -> RealValue:
        return enclosed(-self.high, -self.low, self.digits)

    def __sub__(self, other: RealValue) -> RealValue:
        low, high = ends(other)
        return enclosed(self.low - high, self.high - low, self.digits)

    def __rsub__(self, other: RealValue) -> RealValue:
        return -self + other

    def __mul__(self, other: RealValue) -> RealValue:
        found = [own * end for own in (self.low, self.high) for end in ends(other)]
        return enclosed(min(found), max(found), self.digits)

    def __truediv__(self, other: RealValue) -> RealValue:
        return self * _inverse(other, self.digits)

    def __rtruediv__(self, other: RealValue) -> RealValue:
        return _inverse(self, self.digits) * other

    def __pow__(self, exponent: int) -> RealValue:
        total: RealValue = 1
        for _ in range(abs(exponent)):
            total = self * total
        return total if exponent >= 0 else _inverse(total, self.digits)

    __radd__ = __add__
    __rmul__ = __mul__

    def __floordiv__(self, other: object) -> RealValue:
        raise Rejected("an expression rounds what is no rational number")

    __mod__ = __rmod__ = __rfloordiv__ = __floordiv__

    def __lt__(self, other: RealValue) -> bool:
        low, high = ends(other)
        return self._decided(self.high < low, self.low >= high)

    def __le__(self, other: RealValue) -> bool:
        low, high = ends(other)
        return self._decided(self.high <= low, self.low > high)

    def __gt__(self, other: RealValue) -> bool:
        return not self <= other

    def __ge__(self, other: RealValue) -> bool:
        return not self < other

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, int | Fraction | Enclosure):
            return NotImplemented
        low, high = ends(other)
        return self._decided(False, self.high < low or high < self.low)

    @staticmethod
    def _decided(yes: bool, no: bool) -> bool:
        if not (yes or no):
            raise Blurred("an expression compares numbers that are not seen to differ")
        return yes


RealValue = Rational | Enclosure


def ends(x: RealValue) -> tuple[Rational, Rational]:
    """Rationals, at most and at least a number."""
    return (x.low, x.high) if isinstance(x, Enclosure) else (x, x)


def enclosed(low: Rational, high: Rational, digits: int) -> RealValue:
    """A number between two, which are rounded; a rational if they are one."""
    down, up = contexts(digits)
    return Fraction(low) if low == high else Enclosure(short(low, down), short(high, up), digits)


def _inverse(x: RealValue, digits: int) -> RealValue:
    low, high = ends(x)
    if low <= 0 <= high:
        if low == high:
            raise ZeroDivisionError
        raise Blurred("an expression divides by what may be 0")
    return enclosed(1 / Fraction(high), 1 / Fraction(low), digits)


# ---- functions ----


def exp(x: RealValue, digits: int) -> RealValue:
    """e^x."""
    low, high = ends(x)
    require(max(-low, high) <= LARGEST_EXPONENT, f"too large: e^x of an x beyond {LARGEST_EXPONENT}")
    if low == high == 0:
        return 1
    both, terms = contexts(digits), digits // 2
    below, above = exp_between(Fraction(low), both, terms)[0], exp_between(Fraction(high), both, terms)[1]
    return enclosed(Fraction(below), Fraction(above), digits)


def sqrt(x: RealValue, digits: int) -> RealValue:
    """The root, of what is at least 0."""
    low, high = ends(x)
    _domain(low >= 0, high >= 0, "the square root of what may be negative")
    return enclosed(_roots(Fraction(low), digits)[0], _roots(Fraction(high), digits)[1], digits)


def log(x: RealValue, digits: int) -> RealValue:
    """The natural logarithm, of what is positive."""
    low, high = ends(x)
    _domain(low > 0, high > 0, "the logarithm of what may not be positive")
    return enclosed(_logs(Fraction(low), digits)[0], _logs(Fraction(high), digits)[1], digits)


def _domain(surely: bool, maybe: bool, message: str) -> None:
    """Reject what has no value; it may have one if more digits could tell."""
    require(maybe, message)
    if not surely:
        raise Blurred(message)


def _roots(x: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    top, bottom = isqrt(x.numerator), isqrt(x.denominator)
    if top * top == x.numerator and bottom * bottom == x.denominator:
        return Fraction(top, bottom), Fraction(top, bottom)
    # the root of x 4^k lies between that of its integer part, rounded down, and the next integer
    k = max(0, 4 * digits + x.denominator.bit_length() - x.numerator.bit_length())
    root = isqrt((x.numerator << 2 * k) // x.denominator)
    return Fraction(root, 1 << k), Fraction(root + 1, 1 << k)


@lru_cache(maxsize=1 << 12)
def _logs(x: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    if x < 1:
        found = _logs(1 / x, digits)
        return -found[1], -found[0]
    k = x.numerator.bit_length() - x.denominator.bit_length()
    k -= x < 2**k
    m = x / 2**k
    low, high = (
        context.add(context.multiply(Decimal(k), _twice(Fraction(1, 3), context)),
                    _twice((m - 1) / (m + 1), context)) for context in contexts(digits)
    )  # fmt: skip
    return Fraction(low), Fraction(high)


def _twice(z: Fraction, context: Context) -> Decimal:
    """2 (z + z^3/3 + z^5/5 + ...) for 0 <= z <= 1/3, rounded in a context: what is left out beyond z^m/m is at most
    z^(m + 2) (1 + 1/9 + 1/81 + ...) <= 2 z^(m + 2)."""
    power, total = context.divide(Decimal(z.numerator), Decimal(z.denominator)), ZERO
    square = context.multiply(power, power)
    for number in range(1, 2 * context.prec + context.prec // 4 + 20, 2):
        total = context.add(total, context.divide(power, Decimal(number)))
        power = context.multiply(power, square)
    if context.rounding == ROUND_CEILING:
        total = context.add(total, context.add(power, power))
    return context.add(total, total)


FUNCTIONS: Mapping[str, Callable[[RealValue, int], RealValue]] = {"log": log, "sqrt": sqrt, "exp": exp}
"""By name, of a number, to so many digits."""
