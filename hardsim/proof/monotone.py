"""Rational functions on one side of expressions with log, sqrt and exp, at every position and length.

The functions grow with their arguments, so where an argument is at least a, log of it is at least log(a), which is put
in as a rational just below: `log(n + 1) >= 693/1000` wherever n >= 1. Where no such number is found, `log(x) <= x - 1`,
`sqrt(x) <= (x + 1)/2` and `exp(x) >= 0` serve. What is between functions keeps its side: sums, and products, quotients
and powers of what is positive. Of other expressions no side is known.

In a domain that has `LOG`, L = log(n + 1), functions may depend on it: where `c (n + 1)^q <= x`, `log(x) >= q L +
log(c)`, and likewise above. Then `1/(3 log(n + 1))` is itself, and not only below a multiple of 1.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import ceil, floor
from typing import Literal

from hardsim.lang.arith import Application, Arith, Expression, Negation, Operation, applications
from hardsim.lang.reals import LARGEST_ARGUMENT, Function, apply, bounds, sign
from hardsim.proof.ratios import (
    ARITHMETIC,
    LARGEST_DEGREE,
    LOG,
    Domain,
    LinearForm,
    NoRatio,
    Ratio,
    Value,
    lower,
    positive,
    ratio_of,
    upper,
)

UNIT = 1000
"""Values of functions are rounded to multiples of 1/UNIT, so that they can be checked by hand."""

Side = Literal[-1, 1]
"""Below or above."""


def hotter(tau: Arith, sign: Callable[[LinearForm], int], domain: Domain) -> Value:
    """A rational function that is at least a temperature, which is positive, at all points of a domain; `sign` is -1 to
    a power. NoRatio if none is found, or the temperature is not known to be positive."""
    search = _Search(sign, domain)
    if not search.positive(tau.tree):
        raise NoRatio(f"{tau} is not known to be positive for all lengths")
    return Ratio.of(search.side(tau.tree, 1)).simplest


def colder(tau: Arith, sign: Callable[[LinearForm], int], domain: Domain) -> Value:
    """A rational function that is positive and at most a temperature at all points of a domain. NoRatio if none is
    found."""
    found = _Search(sign, domain).side(tau.tree, -1)
    if not positive(found, domain):
        raise NoRatio(f"{tau} is not known to be positive for all lengths")
    return Ratio.of(found).simplest


class _Search:
    def __init__(self, sign: Callable[[LinearForm], int], domain: Domain) -> None:
        self.sign, self.domain = sign, domain
        self.side: Callable[[Expression, Side], Value] = cache(self._side)
        """A rational function on that side of an expression."""
        self.positive: Callable[[Expression], bool] = cache(self._positive)
        """Whether an expression is known to be positive, with a value, everywhere."""

    def _positive(self, tree: Expression) -> bool:
        match tree:
            case Operation("*" | "/", left, right) if _has_function(tree):
                return self.positive(left) and self.positive(right)
            case Operation("^", base, _) if _has_function(tree):
                return self.positive(base)
            case Application("exp", _):
                return True  # where its argument has a value, which `side` sees to
        return positive(self.side(tree, -1), self.domain)

    def _side(self, tree: Expression, side: Side) -> Value:
        if not _has_function(tree):
            return ratio_of(Arith(tree), self.sign, self.domain)
        other: Side = 1 if side == -1 else -1
        match tree:
            case Negation(arg):
                return -Ratio.of(self.side(arg, other))
            case Application():
                return self._application(tree, side)
            case Operation("+" | "-" as op, left, right):
                return ARITHMETIC[op](Ratio.of(self.side(left, side)), self.side(right, side if op == "+" else other))
            case Operation("*" | "/" as op, left, right):
                way = side if op == "*" else other
                return ARITHMETIC[op](self._above_zero(left, side), self._above_zero(right, way))
            case Operation("^", base, exponent) if not _has_function(exponent):
                power = ratio_of(Arith(exponent), self.sign, self.domain)
                if isinstance(power, int) and 0 < power <= LARGEST_DEGREE:
                    found = factor = self._above_zero(base, side)
                    for _ in range(power - 1):
                        found = found * factor
                    return found
        raise NoRatio(f"nothing is known of {Arith(tree)} for all lengths but at each length")

    def _above_zero(self, tree: Expression, side: Side) -> Ratio:
        """A function on that side of a factor, where both are positive."""
        found = self.side(tree, side)
        if not self.positive(tree) or not positive(found, self.domain):
            raise NoRatio(f"{Arith(tree)} is not known to be positive for all lengths")
        return Ratio.of(found)

    def _application(self, tree: Application, side: Side) -> Value:
        """A number on that side of a function's values, from one on that side of its arguments; above log and sqrt a
        function, and 0 below exp, if there is none."""
        everywhere = tree.function == "exp"
        if LOG in self.domain and tree.function == "log":
            found = self._logarithm(tree.arg, side)
            if found is not None:
                return found
        least = None if everywhere and side == 1 else lower(self.side(tree.arg, -1), self.domain)
        above = self.side(tree.arg, side)
        end = least if side == -1 else upper(above, self.domain)
        has_value = everywhere or (least is not None and sign(least) >= (tree.function == "log"))
        if end is None and side == 1 and has_value and not everywhere:
            return Ratio.of(above) - 1 if tree.function == "log" else (Ratio.of(above) + 1) / 2
        if end is None and side == -1 and everywhere:
            return 0
        if end is None or not has_value or abs(end) > LARGEST_ARGUMENT:
            where = "above" if side == 1 else "below"
            raise NoRatio(f"no number {where} {Arith(tree)} follows from its growing with its argument")
        return rounded(tree.function, end, side)

    def _logarithm(self, arg: Expression, side: Side) -> Value | None:
        """`q L + log(c)` on that side of the logarithm of an expression, with the largest q (above: the least) at which
        `c (n + 1)^q` is on that side of it; None if it is not known to be positive, or no such number is found."""
        argument, grown = self.side(arg, side), Ratio.of(1)
        if not positive(self.side(arg, -1), self.domain):
            return None
        found: Value | None = None
        for q in range(LARGEST_DEGREE):
            own = Ratio.of(argument) / grown
            end = lower(own, self.domain) if side == -1 else upper(own, self.domain)
            if end is not None and end > 0:
                found = Ratio.variable(LOG) * q + rounded("log", end, side)
                if side == 1:
                    break
            elif side == -1:
                break
            grown = grown * (Ratio.variable("n") + 1)
        return found


def rounded(function: Function, x: Fraction, side: Side) -> Fraction:
    """A multiple of 1/UNIT below (-1) or above a function's value."""
    value = bounds(apply(function, x))
    return Fraction(floor(value[0] * UNIT) if side == -1 else ceil(value[1] * UNIT), UNIT)


def _has_function(tree: Expression) -> bool:
    return next(applications(tree), None) is not None
