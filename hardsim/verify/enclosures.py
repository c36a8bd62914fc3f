"""Enclosures: a lower and an upper rational bound of a real number, for the temperatures of certificates.

Bounds are decimals of a given number of digits, rounded outwards. e^x comes from `arithmetic` with more digits, sqrt
from roots of integers. For log x let x = 2^k m with 1 <= m < 2 and z = (m - 1)/(m + 1) < 1/3. Then log x is k log 2 + 2
(z + z^3/3 + z^5/5 + ...), and log 2 is twice that sum at z = 1/3. An operation raises `Blurred` if the bounds of a
number do not decide on which side of another number it is.
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
"""Numbers of decimal digits to try, in this order."""
CLOSE = Fraction(1, 10**36)
"""Largest relative distance of the two bounds of a value, unless even the last of PRECISIONS leaves more."""
LARGEST_EXPONENT = 1 << 13
"""Largest |x| for which e^x is computed."""
LARGE = 1 << 14
"""Most bits of the numerator and of the denominator of a bound; before rounding, four times as many."""


class Blurred(Rejected):
    """The bounds of a number are too far apart for a comparison or a division. More digits may help."""


@lru_cache
def contexts(digits: int) -> tuple[Context, Context]:
    """Return two contexts of decimal arithmetic with this many digits: one that rounds down, one that rounds up."""
    down, up = (Context(digits, way, MIN_EMIN, MAX_EMAX) for way in (ROUND_FLOOR, ROUND_CEILING))
    return down, up


def short(x: Rational, context: Context) -> Fraction:
    """Return a number rounded in a context. Raises Rejected if the number, before or after that, has too many bits."""
    require(bits(x) <= 4 * LARGE, f"too large: a number of more than {LARGE} bits in an expression")
    found = Fraction(context.divide(Decimal(x.numerator), Decimal(x.denominator)))
    require(bits(found) <= LARGE, f"too large: a number of more than {LARGE} bits in an expression")
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Enclosure:
    """A real number between two rationals; `enclosed` makes one. Operators raise Blurred if a divisor may be 0, or if
    the bounds do not decide a comparison."""

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
        # One factor at a time: the bounds of a product enclose it whatever the signs.
        for _ in range(abs(exponent)):
            total = self * total
        return total if exponent >= 0 else _inverse(total, self.digits)

    __radd__ = __add__
    __rmul__ = __mul__

    def __floordiv__(self, other: object) -> RealValue:
        raise Rejected("an expression applies // or % to a number that is not rational")

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
        # Never "equal": two real numbers with the same bounds may differ.
        return self._decided(False, self.high < low or high < self.low)

    @staticmethod
    def _decided(yes: bool, no: bool) -> bool:
        if not (yes or no):
            raise Blurred("an expression compares two numbers that may be equal")
        return yes


RealValue = Rational | Enclosure


def ends(x: RealValue) -> tuple[Rational, Rational]:
    """Return a lower and an upper bound of a number: the number itself twice if it is rational."""
    return (x.low, x.high) if isinstance(x, Enclosure) else (x, x)


def enclosed(low: Rational, high: Rational, digits: int) -> RealValue:
    """Return the number between two bounds, which are rounded outwards to so many digits; a rational if they
    are equal."""
    down, up = contexts(digits)
    return Fraction(low) if low == high else Enclosure(short(low, down), short(high, up), digits)


def _inverse(x: RealValue, digits: int) -> RealValue:
    low, high = ends(x)
    if low <= 0 <= high:
        if low == high:
            raise ZeroDivisionError
        raise Blurred("an expression divides by a number that may be 0")
    return enclosed(1 / Fraction(high), 1 / Fraction(low), digits)


# ---- functions ----


def exp(x: RealValue, digits: int) -> RealValue:
    """Return e^x to so many digits. Raises Rejected if |x| may exceed LARGEST_EXPONENT."""
    low, high = ends(x)
    require(max(-low, high) <= LARGEST_EXPONENT, f"too large: e^x for an |x| above {LARGEST_EXPONENT}")
    if low == high == 0:
        return 1
    # Half as many terms as digits: the k-th term is below 32^-k / k!, which is less than 10^-2k for the k used here.
    both, terms = contexts(digits), digits // 2
    below, above = exp_between(Fraction(low), both, terms)[0], exp_between(Fraction(high), both, terms)[1]
    return enclosed(Fraction(below), Fraction(above), digits)


def sqrt(x: RealValue, digits: int) -> RealValue:
    """Return the square root of x to so many digits. Raises Rejected if x is negative, Blurred if it may be."""
    low, high = ends(x)
    _domain(low >= 0, high >= 0, "an expression takes the square root of a number that may be negative")
    return enclosed(_roots(Fraction(low), digits)[0], _roots(Fraction(high), digits)[1], digits)


def log(x: RealValue, digits: int) -> RealValue:
    """Return the natural logarithm of x to so many digits. Raises Rejected if x is not positive, Blurred if it may not
    be."""
    low, high = ends(x)
    _domain(low > 0, high > 0, "an expression takes the logarithm of a number that may not be positive")
    return enclosed(_logs(Fraction(low), digits)[0], _logs(Fraction(high), digits)[1], digits)


def _domain(surely: bool, maybe: bool, message: str) -> None:
    """Raise Rejected if an argument is surely outside the domain of a function, Blurred if it may be."""
    require(maybe, message)
    if not surely:
        raise Blurred(message)


def _roots(x: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    # A root that is rational is exact.
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
    # The lengths give k or k + 1; this picks the k with 1 <= m < 2.
    k -= x < 2**k
    m = x / 2**k
    low, high = (
        context.add(context.multiply(Decimal(k), _twice(Fraction(1, 3), context)),
                    _twice((m - 1) / (m + 1), context)) for context in contexts(digits)
    )  # fmt: skip
    return Fraction(low), Fraction(high)


def _twice(z: Fraction, context: Context) -> Decimal:
    """Return 2 (z + z^3/3 + z^5/5 + ...) for 0 <= z <= 1/3, rounded in a context. What is left out beyond z^m/m is at
    most z^(m + 2) (1 + 1/9 + 1/81 + ...) <= 2 z^(m + 2)."""
    power, total = context.divide(Decimal(z.numerator), Decimal(z.denominator)), ZERO
    square = context.multiply(power, power)
    # Each term is below 1/9 of the one before, so about 1.05 terms give a digit; m goes up by 2 for each.
    for number in range(1, 2 * context.prec + context.prec // 4 + 20, 2):
        total = context.add(total, context.divide(power, Decimal(number)))
        power = context.multiply(power, square)
    # `power` is z^(m + 2) here, so twice it bounds what is left out.
    if context.rounding == ROUND_CEILING:
        total = context.add(total, context.add(power, power))
    return context.add(total, total)


FUNCTIONS: Mapping[str, Callable[[RealValue, int], RealValue]] = {"log": log, "sqrt": sqrt, "exp": exp}
"""Functions of a number and a number of digits, by the name that expressions use."""
