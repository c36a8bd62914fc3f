"""Rational functions below and above a temperature with log, sqrt and exp, at all positions.

log, sqrt and exp rise with their arguments. If x >= a everywhere then log x >= log a, and a rational below log a is a
bound. If no such number a is found, the bounds are log x <= x - 1, sqrt x <= (x + 1)/2, and e^x >= 0. Sums of lower
bounds are lower bounds; products, quotients and integer powers of positive bounds are bounds. Other expressions have
none. Bounds may also be functions of n and log(n + 1): if x >= c (n + 1)^q everywhere then log x >= q log(n + 1) + log
c.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from hardsim.verify import ratios
from hardsim.verify.arithmetic import Rejected, require
from hardsim.verify.enclosures import FUNCTIONS, LARGEST_EXPONENT, PRECISIONS, contexts, ends, short
from hardsim.verify.expressions import Tree
from hardsim.verify.ratios import VARIABLE, Polynomial, Value, fit, of, positive

DIGITS = 12
"""Decimal digits of bounds of the values of functions."""
MOST_POWER = 24
"""Largest exponent of an expression with log, sqrt or exp."""
MOST_DEPTH = 64
"""Most operators inside each other in an expression with log, sqrt or exp. A sum of k terms has k - 1 of them."""
LOGARITHMS = 12
"""Number of powers of n + 1, from (n + 1)^0 on, that are compared with the argument of a logarithm."""


def has_function(tree: Tree) -> bool:
    """Return True if log, sqrt or exp occurs in an expression."""
    # A loop, since a recursion would need two nested calls for each operator.
    waiting = [tree]
    while waiting:
        part = waiting.pop()
        if isinstance(part, tuple):
            waiting += part
        elif part in FUNCTIONS:
            return True
    return False


class MonotoneBounds:
    """Rational functions below (side -1) and above (side 1) an expression at all `places`, which are the values of the
    variables as in `ratios.lower`. Methods raise Rejected if they find no bound.

    `plain` returns the function of an expression without log, sqrt and exp.
    """

    def __init__(
        self, plain: Callable[[Tree], Value], places: Sequence[Polynomial], logarithm: Value | None = None
    ) -> None:
        """`logarithm` is the variable that stands for log(n + 1), if bounds may depend on it. Then a bound of log x is
        `q logarithm + log c`, where `c (n + 1)^q` is a bound of x."""
        self.plain, self.places, self.logarithm = plain, places, logarithm
        self.known: dict[Any, Any] = {}
        self.depth = 0

    def of(self, tree: Tree, side: int) -> Value:
        """Return a function on one side of an expression; Rejected also if the expression may have no value
        somewhere."""
        if (tree, side) not in self.known:
            self.depth += 1
            message = f"too large: more than {MOST_DEPTH} operators inside each other beside log, sqrt or exp"
            require(self.depth <= MOST_DEPTH, message)
            self.known[tree, side] = self._of(tree, side) if has_function(tree) else self.plain(tree)
            self.depth -= 1
        found: Value = self.known[tree, side]
        return found

    def positive(self, tree: Tree) -> bool:
        """Return True if an expression with a bound is known to be positive everywhere."""
        parts = parted(tree) if has_function(tree) else None
        if parts and parts[0] in ("*", "/"):
            return self.positive(parts[1]) and self.positive(parts[2])
        if parts and parts[0] == "**":
            return self.positive(parts[1])
        if parts and parts[0] == "exp":
            # e^x is positive although its lower bound may be 0.
            return True
        return positive(self.of(tree, -1), self.places)

    def _of(self, tree: Tree, side: int) -> Value:
        op, first, *rest = parted(tree)
        if op == "-" and not rest:
            return -1 * self.of(first, -side)
        # A minus sign exchanges the sides; so do the right operands of - and /.
        if op in FUNCTIONS:
            return self._application(op, first, side)
        if op in ("+", "-"):
            left, right = self.of(first, side), self.of(rest[0], side if op == "+" else -side)
            return left + right if op == "+" else left - right
        if op in ("*", "/"):
            left, right = self._above_zero(first, side), self._above_zero(rest[0], side if op == "*" else -side)
            return left * right if op == "*" else of(left) / right
        require(op == "**" and not has_function(rest[0]), f"no bound is known of {op!a} with log, sqrt or exp")
        power = self.plain(rest[0])
        if not isinstance(power, int) or not 0 < power <= MOST_POWER:
            raise Rejected(f"an exponent of log, sqrt or exp is not an integer from 1 to {MOST_POWER}")
        factor = total = self._above_zero(first, side)
        for _ in range(power - 1):
            total = fit(total * factor)
        return total

    def _above_zero(self, tree: Tree, side: int) -> Value:
        found = self.of(tree, side)
        fine = self.positive(tree) and positive(found, self.places)
        require(fine, "a factor beside log, sqrt or exp is not known to be positive")
        return found

    def _application(self, function: str, arg: Tree, side: int) -> Value:
        everywhere = function == "exp"
        least = None if everywhere and side > 0 else ratios.lower(self.of(arg, -1), self.places)
        above = self.of(arg, 1) if side > 0 else 0
        end = least if side < 0 else ratios.upper(above, self.places)
        fine = everywhere or (least is not None and (least > 0 if function == "log" else least >= 0))
        require(fine, f"{function} may have no value somewhere")
        if function == "log" and self.logarithm is not None:
            return self._in_logarithms(self.of(arg, side), side)
        if end is None and side > 0 and not everywhere:
            return above - 1 if function == "log" else (above + 1) * Fraction(1, 2)
        if end is None and side < 0:
            return 0
        if end is None or (everywhere and abs(end) > LARGEST_EXPONENT):
            raise Rejected(f"no number is known {'above' if side > 0 else 'below'} {function}")
        return value_of(function, end, side)

    def _in_logarithms(self, arg: Value, side: int) -> Value:
        """Return a bound of the logarithm of a positive number. It takes the highest power of n + 1 that is below the
        number, or the lowest one above."""
        assert self.logarithm is not None
        bound = ratios.lower if side < 0 else ratios.upper
        powers: list[Value] = [1]
        while len(powers) < LOGARITHMS:
            powers.append(powers[-1] * (VARIABLE[1] + 1))
        found = [(q, bound(of(arg) / power, self.places)) for q, power in enumerate(powers)]
        some = [(q, factor) for q, factor in found if factor is not None and factor > 0]
        require(some, "no power of n + 1 is a bound of the argument of log")
        q, factor = some[-1] if side < 0 else some[0]
        return self.logarithm * q + value_of("log", factor, side)


def value_of(function: str, x: Fraction, side: int) -> Fraction:
    """Return a rational number below (side -1) or above (side 1) the value of a function of x."""
    return short(ends(FUNCTIONS[function](x, PRECISIONS[0]))[side > 0], contexts(DIGITS)[side > 0])


def parted(tree: Tree) -> tuple[Any, ...]:
    """Return an operator and its one or two operands. A chain is split into its last operator, all before it, and the
    last operand."""
    require(isinstance(tree, tuple), "no bound is known of a part of the temperature")
    assert isinstance(tree, tuple)
    op, first, *rest = tree
    if op != "chain":
        return tree
    (last, right) = rest[-1]
    return last, first if len(rest) == 1 else ("chain", first, *rest[:-1]), right
