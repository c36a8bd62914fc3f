"""Real numbers that need not be rational: what log, sqrt and exp give, and what arithmetic makes of that.

A `Real` is an expression of exact rationals, and known by enclosures alone: `ball` is proven to contain it, `bounds`
are rationals on both sides. Nothing takes it for a rational: it has no numerator, is no float, and is not ordered by
`<`. Which sign it has is found by ever more digits (`sign`); of a number that is 0 without saying so, such as `log(6) -
log(2) - log(3)`, that is never found. Equality and hashing look at the expression: equal ones are the same number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

if TYPE_CHECKING:
    from flint import arb

Function: TypeAlias = Literal["log", "sqrt", "exp"]
FUNCTIONS: Final[tuple[Function, ...]] = get_args(Function)
LARGEST_ARGUMENT = 1 << 16
"""Of exp, in absolute value: what is beyond has a hundred thousand binary digits before or after its point."""
GUARD_BITS = 16
LIMIT_BITS = 8192
"""Bits at which it is given up to find a sign, or more digits of a number in which terms cancel."""
BOUND_BITS = 96
"""Relative bits of rational bounds: their distance is below a float64's rounding by far."""


class SignUnknown(ArithmeticError):
    """It is not known whether a number is positive, negative or 0: it is 0, or closer to it than 2^-LIMIT_BITS."""


@dataclass(frozen=True, slots=True)
class Real:
    """The value of a function, a sum, product, quotient or whole power, of which at least one argument is a Real, or
    whose function is one of FUNCTIONS; make it by `apply` and by arithmetic."""

    op: Function | Literal["+", "*", "/", "^"]
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
        """The quotient. Raises ZeroDivisionError for 0, and SignUnknown where the divisor may be 0."""
        if not isinstance(other, int | Fraction | Real):
            return NotImplemented
        if sign(other) == 0:
            raise ZeroDivisionError("division by zero")
        return Real("/", (self, other)) if other != 1 else self

    def __rtruediv__(self, other: int | Fraction) -> RealNumber:
        if not isinstance(other, int | Fraction):
            return NotImplemented
        sign(self)
        return Real("/", (other, self)) if other else 0

    def __pow__(self, exponent: int) -> RealNumber:
        """A whole power. Raises SignUnknown for a negative one of what may be 0."""
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
        """A ball that contains the number, of so many relative bits, or fewer where terms cancel. No finite one where
        more than LIMIT_BITS would not tell a divisor from 0."""
        return _ball(self, bits)

    def __str__(self) -> str:
        return f"about {self.ball(64).mid().str(6, radius=False)}"


RealNumber: TypeAlias = int | Fraction | Real


@lru_cache(maxsize=4096)
def _ball(value: Real, bits: int) -> arb:
    from flint import ctx

    work = bits + GUARD_BITS
    while True:
        with ctx.workprec(work):
            found = _enclosure(value)
        if found.rel_accuracy_bits() >= bits or work > bits + LIMIT_BITS:
            return found
        work *= 2


def _enclosure(value: RealNumber) -> arb:
    """An enclosure at the present precision."""
    from flint import arb, fmpq

    if not isinstance(value, Real):
        return arb(fmpq(value.numerator, value.denominator))
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
    """A function of a number: a rational where it is one because the argument is (log 1, sqrt of a square, exp 0). Of
    all other rationals log and exp are transcendental, and sqrt is irrational.

    Raises:
        ValueError: where it has no value, saying why of {}, which stands for the application.
        SignUnknown: where that is not known.
    """
    if name == "exp":
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
    square = top * top == value.numerator and bottom * bottom == value.denominator
    return Fraction(top, bottom) if square else Real(name, (value,))


def sign(value: RealNumber, beside: int | Fraction = 0) -> int:
    """1, 0 or -1: whether a number is larger than a rational, equal to it, or smaller.

    Raises:
        SignUnknown: if LIMIT_BITS do not tell.
    """
    if not isinstance(value, Real):
        return (value > beside) - (value < beside)
    difference, bits = value + -beside, 64
    if not isinstance(difference, Real):
        return sign(difference)
    while bits <= LIMIT_BITS:
        found = difference.ball(bits)
        if found > 0:
            return 1
        if found < 0:
            return -1
        bits *= 2
    raise SignUnknown


def compare(left: RealNumber, right: RealNumber) -> int:
    """1, 0 or -1: whether a number is larger than another, equal, or smaller. Raises SignUnknown as `sign`."""
    return 0 if left == right else sign(left - right)


def bounds(value: RealNumber, bits: int = BOUND_BITS) -> tuple[Fraction, Fraction]:
    """Rationals, at most and at least the number: the number itself where it is one.

    Raises:
        SignUnknown: if there is no finite enclosure.
    """
    if not isinstance(value, Real):
        return Fraction(value), Fraction(value)
    found = value.ball(bits)
    if not found.is_finite():
        raise SignUnknown
    (middle, scale), (radius, radius_scale) = found.mid().man_exp(), found.rad().man_exp()
    centre, reach = scaled(int(middle), int(scale)), scaled(int(radius), int(radius_scale))
    return centre - reach, centre + reach


def lower(value: RealNumber) -> Fraction:
    """A rational at most a number: the number itself if it is one."""
    return bounds(value)[0]


def upper(value: RealNumber) -> Fraction:
    """A rational at least a number: the number itself if it is one."""
    return bounds(value)[1]


def scaled(mantissa: int, exponent: int) -> Fraction:
    """mantissa times 2^exponent."""
    return Fraction(mantissa << exponent) if exponent >= 0 else Fraction(mantissa, 1 << -exponent)
