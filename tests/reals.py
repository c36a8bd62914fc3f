"""Real numbers in mpmath, at 60 digits, by walking the expressions that they are."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from mpmath import MPContext

from hardsim.lang.reals import Real, RealNumber

context = MPContext()
context.dps = 60


def mp_value(value: RealNumber) -> Any:
    """The number that an expression is."""
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
    """Whether a number of mpmath is between rationals, as far as its 60 digits tell."""
    slack = abs(value) * context.mpf(10) ** -55 + context.mpf(10) ** -55
    return bool(mp_value(low) - slack <= value <= mp_value(high) + slack)
