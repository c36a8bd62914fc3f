"""Real numbers of expressions in mpmath, at 60 digits, by a walk over the tree."""

from fractions import Fraction
from typing import Any

from mpmath import MPContext

from hardsim.lang.reals import Real, RealNumber

context = MPContext()
context.dps = 60


def mp_value(value: RealNumber) -> Any:
    """Return the value of an expression in mpmath."""
    if not isinstance(value, Real):
        return context.mpf(value.numerator) / value.denominator
    arguments = [mp_value(one) for one in value.args]
    match value.op:
        case "+":
            return arguments[0] + arguments[1]
        case "*":
            return arguments[0] * arguments[1]
        case "/":
            return arguments[0] / arguments[1]
        case "^":
            return arguments[0] ** int(arguments[1])
        case function:
            return getattr(context, function)(*arguments)


def between(low: Fraction, value: Any, high: Fraction) -> bool:
    """Return True if a number of mpmath lies between rationals, as far as its 60 digits show."""
    slack = abs(value) * context.mpf(10) ** -55 + context.mpf(10) ** -55
    return bool(mp_value(low) - slack <= value <= mp_value(high) + slack)
