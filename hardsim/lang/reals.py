"""Real numbers that may be irrational: pi, the values of log, sqrt and exp, and of arithmetic with them.

A `Real` is an expression over exact rationals, and its value is known through enclosures only: `ball` is proven to
contain the value, `bounds` returns rationals below and above it. No code can mistake a `Real` for a rational: it has no
numerator, is no float, and has no order `<`. `sign` finds the sign by computing ever more digits; for a number that is
0 without a visible reason, such as `log(6) - log(2) - log(3)`, no number of digits suffices. Equality and hashing
compare expressions: equal expressions denote the same number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from math import inf, isqrt, prod
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

from hardsim.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from flint import arb

Function: TypeAlias = Literal["log", "sqrt", "exp"]
FUNCTIONS: Final[tuple[Function, ...]] = get_args(Function)
LARGEST_ARGUMENT = 1 << 16
"""Greatest absolute value of an argument of exp; beyond it, exp has a hundred thousand binary digits before or after
its point."""
GUARD_BITS = 16
LIMIT_BITS = 8192
"""Precision in bits at which the search for a sign stops, and the search for more digits of a sum whose terms
cancel."""
BOUND_BITS = 96
"""Relative precision in bits of rational bounds: their distance is far below a float64's rounding error."""


class SignUnknown(ArithmeticError):
    """The sign of a number could not be found: the number is 0, or closer to 0 than 2^-LIMIT_BITS."""


@dataclass(frozen=True, slots=True)
class Real:
    """A function in FUNCTIONS of one argument, or a sum, product, quotient or integer power with at least one `Real`
    argument, or pi. Construct values by `apply`, by arithmetic, and from `PI`."""

    op: Function | Literal["+", "*", "/", "^", "pi"]
    args: tuple[int | Fraction | Real, ...]

    def __add__(self, other: RealNumber) -> RealNumber:
        if not isinstance(other, int | Fraction | Real):
            return NotImplemented
        return Real("+", (self, other)) if other != 0 else self

    def __mul__(self, other: RealNumber) -> RealNumber:
        if not isinstance(other, int | Fraction | Real):
            return NotImplemented
        return 0 if other == 0 else self if other == 1 else Real("*", (self, other))

    def __truediv__(self, other: RealNumber) -> RealNumber:
        """Return the quotient. Raises ZeroDivisionError if the divisor is 0, and SignUnknown if it may be 0."""
        if not isinstance(other, int | Fraction | Real):
            return NotImplemented
        if sign(other) == 0:
            raise ZeroDivisionError("division by zero")
        return Real("/", (self, other)) if other != 1 else self

    def __rtruediv__(self, other: int | Fraction) -> RealNumber:
        if not isinstance(other, int | Fraction):
            return NotImplemented
        # Raises SignUnknown if this number may be 0.
        sign(self)
        return Real("/", (other, self)) if other else 0

    def __pow__(self, exponent: int) -> RealNumber:
        """Return an integer power. Raises SignUnknown for a negative power of a number that may be 0."""
        if not isinstance(exponent, int):
            return NotImplemented
        if exponent < 0:
            sign(self)
        return 1 if exponent == 0 else self if exponent == 1 else Real("^", (self, exponent))

    def __neg__(self) -> RealNumber:
        return self * -1

    def __sub__(self, other: RealNumber) -> RealNumber:
        return self + -other

    def __rsub__(self, other: int | Fraction) -> RealNumber:
        return -self + other

    __radd__ = __add__
    __rmul__ = __mul__

    def ball(self, bits: int) -> arb:
        """Return a ball that contains the number, with `bits` relative bits of precision (fewer if terms cancel). The
        ball is not finite if more than LIMIT_BITS would be needed to show that a divisor is not 0."""
        return _ball(self, bits)

    def __str__(self) -> str:
        return f"about {self.ball(64).mid().str(6, radius=False)}"


RealNumber: TypeAlias = int | Fraction | Real
PI: Final = Real("pi", ())
"""The number pi. No expression of the languages has it."""


@lru_cache(maxsize=4096)
def _ball(value: Real, bits: int) -> arb:
    from flint import ctx

    for work in precisions(bits + GUARD_BITS):
        with ctx.workprec(work):
            found = _enclosure(value)
        if found.rel_accuracy_bits() >= bits or work > bits + LIMIT_BITS:
            break
    return found


def precisions(bits: int, limit: float = inf) -> Iterator[int]:
    """Yield the precisions at which something is computed until it is settled: `bits`, then twice as many each time,
    and `limit` as the last."""
    yield bits
    while bits < limit:
        bits = int(min(2 * bits, limit))
        yield bits


def _enclosure(value: RealNumber) -> arb:
    """Return an enclosure of a number at the current working precision of flint."""
    from flint import arb, fmpq

    if not isinstance(value, Real):
        return arb(fmpq(value.numerator, value.denominator))
    if value.op == "pi":
        return arb.pi()
    if value.op == "^":
        base, exponent = value.args
        assert isinstance(exponent, int)
        return _enclosure(base) ** exponent
    made: arb = _ENCLOSED[value.op](*map(_enclosure, value.args))
    return made


_ENCLOSED: Final[dict[str, Callable[..., Any]]] = {
    "log": lambda x: x.log(),
    "sqrt": lambda x: x.sqrt(),
    "exp": lambda x: x.exp(),
    "+": lambda x, y: x + y,
    "*": lambda x, y: x * y,
    "/": lambda x, y: x / y,
}


def apply(name: Function, value: RealNumber) -> RealNumber:
    """Apply a function to a number. The result is a rational where the argument makes it one (log 1, sqrt of a square,
    exp 0). For all other rational arguments log and exp are transcendental, and sqrt is irrational. Raises ValueError
    if the function has no value (in the message, {} stands for the application); SignUnknown if the precision does not
    show whether it has one."""
    if name == "exp":
        # a larger result could exhaust memory
        if sign(value, LARGEST_ARGUMENT) > 0 or sign(value, -LARGEST_ARGUMENT) < 0:
            raise ValueError(f"an argument beyond {LARGEST_ARGUMENT:,} in {{}}")
        return 1 if value == 0 else Real(name, (value,))
    side = sign(value)
    if side < 0 or (side == 0 and name == "log"):
        raise ValueError("the logarithm of a number that is not positive: {}" if name == "log" else
                         "the square root of a negative number: {}")  # fmt: skip
    if name == "log":
        return 0 if value == 1 else Real(name, (value,))
    if isinstance(value, Real):
        return Real(name, (value,))
    top, bottom = isqrt(value.numerator), isqrt(value.denominator)
    # a fraction in lowest terms is a square iff both its parts are
    square = top * top == value.numerator and bottom * bottom == value.denominator
    return Fraction(top, bottom) if square else Real(name, (value,))


MOST_BITS = 1 << 16
"""Greatest number of bits of the numerator or denominator of a rational power of e."""


def exponential(value: RealNumber) -> Fraction | None:
    """Return e^value if the expression shows that it is a rational of at most MOST_BITS bits: the value is 0, or a sum
    of integers times logarithms of rationals (c log(x) may be written c/(1/log(x)), and so on). None for any other."""
    if not isinstance(value, Real):
        return None if value else Fraction(1)
    if value.op == "+":
        parts = [exponential(part) for part in value.args]
        return None if None in parts else prod((part for part in parts if part is not None), start=Fraction(1))
    factor, rest, inverted = _product(value)
    logarithm = isinstance(rest, Real) and rest.op == "log" and not inverted and factor.denominator == 1
    base = rest.args[0] if logarithm and isinstance(rest, Real) else None
    if not isinstance(base, int | Fraction):
        return None
    bits = max(base.numerator.bit_length(), base.denominator.bit_length()) * abs(factor.numerator)
    return Fraction(base) ** factor.numerator if bits <= MOST_BITS else None


def _product(value: RealNumber) -> tuple[Fraction, RealNumber, bool]:
    """Return a rational and a number x such that a value is the rational times x or, with True, over x."""
    if isinstance(value, Real) and value.op in ("*", "/"):
        left, right = value.args
        if not isinstance(left, Real):
            factor, rest, inverted = _product(right)
            return (left * factor, rest, inverted) if value.op == "*" else (left / factor, rest, not inverted)
        if not isinstance(right, Real):
            factor, rest, inverted = _product(left)
            return (factor * right if value.op == "*" else factor / right), rest, inverted
    return Fraction(1), value, False


def sign(value: RealNumber, beside: int | Fraction = 0) -> int:
    """Return 1, 0 or -1 if a number is greater than, equal to or less than the rational `beside`. Raises SignUnknown if
    LIMIT_BITS of precision do not show the sign of the difference."""
    if not isinstance(value, Real):
        return (value > beside) - (value < beside)
    difference = value + -beside
    if not isinstance(difference, Real):
        return sign(difference)
    for bits in precisions(64, LIMIT_BITS):
        found = difference.ball(bits)
        # A ball compares as `> 0` only if all its points are positive, so both tests can fail.
        if found > 0:
            return 1
        if found < 0:
            return -1
    raise SignUnknown


def compare(left: RealNumber, right: RealNumber) -> int:
    """Return 1, 0 or -1 if `left` is greater than, equal to or less than `right`. Raises SignUnknown as `sign`
    does."""
    return 0 if left == right else sign(left - right)


def bounds(value: RealNumber, bits: int = BOUND_BITS) -> tuple[Fraction, Fraction]:
    """Return a rational that is at most the number and one that is at least the number; both equal a rational number.
    Raises SignUnknown if there is no finite enclosure."""
    if not isinstance(value, Real):
        return Fraction(value), Fraction(value)
    found = value.ball(bits)
    if not found.is_finite():
        raise SignUnknown
    (middle, scale), (radius, radius_scale) = found.mid().man_exp(), found.rad().man_exp()
    centre, reach = scaled(int(middle), int(scale)), scaled(int(radius), int(radius_scale))
    return centre - reach, centre + reach


def lower(value: RealNumber) -> Fraction:
    """Return a rational lower bound of a number; a rational number itself."""
    return bounds(value)[0]


def upper(value: RealNumber) -> Fraction:
    """Return a rational upper bound of a number; a rational number itself."""
    return bounds(value)[1]


def scaled(mantissa: int, exponent: int) -> Fraction:
    """Return mantissa times 2^exponent, exactly."""
    return Fraction(mantissa << exponent) if exponent >= 0 else Fraction(mantissa, 1 << -exponent)
