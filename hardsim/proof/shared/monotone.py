"""Rational functions that bound expressions with log, sqrt and exp from one side, at every position and length.

Log, sqrt and exp are increasing. So where an argument is at least a, its log is at least log(a), which is replaced
by a rational number just below: `log(n + 1) >= 693/1000` wherever n >= 1. Where no such number is found, `log(x) <=
x - 1`, `sqrt(x) <= (x + 1)/2` and `exp(x) >= 0` are used. Sums keep the side, and so do products, quotients and
powers of positive factors. No bound is derived for other expressions.

In a domain that has `LOG`, L = log(n + 1), functions may depend on it: where `c (n + 1)^q <= x`, `log(x) >= q L +
log(c)`, and likewise above. Then the bound of `1/(3 log(n + 1))` is that expression itself, and not only a multiple
of 1.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import ceil, floor
from typing import Literal

from hardsim.lang.arith import Application, Arith, Expression, Negation, Operation, applications
from hardsim.lang.reals import LARGEST_ARGUMENT, Function, apply, bounds, sign
from hardsim.proof.shared.ratios import (
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
"""Denominator to which bounds of function values are rounded, so that they can be checked by hand."""

Side = Literal[-1, 1]
"""Side of a bound: -1 below, 1 above."""


def hotter(tau: Arith, sign: Callable[[LinearForm], int], domain: Domain) -> Value:
    """Return a rational function that is at least a positive temperature at all points of a domain.

    `sign` returns -1 to the power of a linear form in i and n, which is 1 or -1 throughout the domain. Raises NoRatio
    if no such function is found, or the temperature is not known to be positive."""
    search = _Search(sign, domain)
    if not search.positive(tau.tree):
        raise NoRatio(f"{tau} is not known to be positive for all lengths")
    return Ratio.of(search.side(tau.tree, 1)).simplest


def colder(tau: Arith, sign: Callable[[LinearForm], int], domain: Domain) -> Value:
    """Return a positive rational function that is at most a temperature at all points of a domain. `sign` is as in
    `hotter`. Raises NoRatio if none is found."""
    found = _Search(sign, domain).side(tau.tree, -1)
    if not positive(found, domain):
        raise NoRatio(f"{tau} is not known to be positive for all lengths")
    return Ratio.of(found).simplest


class _Search:
    def __init__(self, sign: Callable[[LinearForm], int], domain: Domain) -> None:
        self.sign, self.domain = sign, domain
        self.side: Callable[[Expression, Side], Value] = cache(self._side)
        """Cached function of an expression and a side: a rational function that bounds the expression from that
        side."""
        self.positive: Callable[[Expression], bool] = cache(self._positive)
        """Cached function of an expression: True if it is known to be defined and positive everywhere in the
        domain."""

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
                # A quotient is large where its denominator is small.
                way = side if op == "*" else other
                return ARITHMETIC[op](self._above_zero(left, side), self._above_zero(right, way))
            case Operation("^", base, exponent) if not _has_function(exponent):
                power = ratio_of(Arith(exponent), self.sign, self.domain)
                if isinstance(power, int) and 0 < power <= LARGEST_DEGREE:
                    found = factor = self._above_zero(base, side)
                    for _ in range(power - 1):
                        found = found * factor
                    return found
        raise NoRatio(f"no bound of {Arith(tree)} is known that holds for all lengths")

    def _above_zero(self, tree: Expression, side: Side) -> Ratio:
        """Return a positive bound, on a side, of a factor that is known to be positive; NoRatio if there is none."""
        found = self.side(tree, side)
        if not self.positive(tree) or not positive(found, self.domain):
            raise NoRatio(f"{Arith(tree)} is not known to be positive for all lengths")
        return Ratio.of(found)

    def _application(self, tree: Application, side: Side) -> Value:
        """Return a bound, on a side, of log, sqrt or exp of an argument. It is a number if the argument has a bound
        on that side; otherwise a function above log and sqrt, and 0 below exp."""
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
            raise NoRatio(f"no number {where} {Arith(tree)} follows from the bounds of its argument")
        return rounded(tree.function, end, side)

    def _logarithm(self, arg: Expression, side: Side) -> Value | None:
        """Return `q L + log(c)`, q from 0 to `LARGEST_DEGREE` - 1, as a bound of the logarithm of an expression,
        from below with the largest q, from above with the least q, at which `c (n + 1)^q` bounds the
        expression. None if the expression is not known to be positive, or no number c is found."""
        argument, grown = self.side(arg, side), Ratio.of(1)
        if not positive(self.side(arg, -1), self.domain):
            return None
        found: Value | None = None
        # Each power of n + 1 is tried by dividing it out and looking for a constant bound of the rest.
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
    """Return a multiple of 1/UNIT that bounds a function's value at x from below (-1) or above (1)."""
    value = bounds(apply(function, x))
    return Fraction(floor(value[0] * UNIT) if side == -1 else ceil(value[1] * UNIT), UNIT)


def _has_function(tree: Expression) -> bool:
    return next(applications(tree), None) is not None
