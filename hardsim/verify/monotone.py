"""Rational functions on both sides of a temperature with log, sqrt and exp, at all positions, for the checker.

Functions grow with their arguments: where x >= a, log x >= log a, which is put in as a rational below it. Where no
such number is found log x <= x - 1, sqrt x <= (x + 1)/2, and e^x >= 0. Sums keep the side, and so do products,
quotients and whole powers of what is positive. Of other expressions no side is known. Functions may also be of n and
log(n + 1): where x >= c (n + 1)^q, log x >= q log(n + 1) + log c.
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
"""Those of the values of functions."""
MOST_POWER = 24
"""The largest exponent of what has a function."""
MOST_DEPTH = 64
"""Operators inside each other of an expression with functions, where a sum of k terms has k - 1 of them."""
LOGARITHMS = 12
"""How many powers of n + 1 are held against what log is taken of."""


def has_function(tree: Tree) -> bool:
    """Whether a function occurs."""
    waiting = [tree]  # and not a function that calls itself: it would for each operator twice
    while waiting:
        part = waiting.pop()
        if isinstance(part, tuple):
            waiting += part
        elif part in FUNCTIONS:
            return True
    return False


class MonotoneBounds:
    """Rational functions below (-1) and above (1) an expression; `plain` makes one of what has no functions, and what
    is said holds where positions are `places` (`ratios.lower`). Raises Rejected where none is found."""

    def __init__(
        self, plain: Callable[[Tree], Value], places: Sequence[Polynomial], logarithm: Value | None = None
    ) -> None:
        """`logarithm` stands for log(n + 1), in which functions may be, too: a logarithm is then `q logarithm + log c`,
        where `c (n + 1)^q` is on a side of its argument."""
        self.plain, self.places, self.logarithm = plain, places, logarithm
        self.known: dict[Any, Any] = {}
        self.depth = 0

    def of(self, tree: Tree, side: int) -> Value:
        """A function on a side of an expression, which is seen to have a value everywhere."""
        if (tree, side) not in self.known:
            self.depth += 1
            require(
                self.depth <= MOST_DEPTH,
                f"too large: an expression of more than {MOST_DEPTH} operators, with functions",
            )
            self.known[tree, side] = self._of(tree, side) if has_function(tree) else self.plain(tree)
            self.depth -= 1
        found: Value = self.known[tree, side]
        return found

    def positive(self, tree: Tree) -> bool:
        """Whether an expression, of which there is a side, is seen to be positive everywhere."""
        parts = parted(tree) if has_function(tree) else None
        if parts and parts[0] in ("*", "/"):
            return self.positive(parts[1]) and self.positive(parts[2])
        if parts and parts[0] == "**":
            return self.positive(parts[1])
        if parts and parts[0] == "exp":
            return True
        return positive(self.of(tree, -1), self.places)

    def _of(self, tree: Tree, side: int) -> Value:
        op, first, *rest = parted(tree)
        if op == "-" and not rest:
            return -1 * self.of(first, -side)
        if op in FUNCTIONS:
            return self._application(op, first, side)
        if op in ("+", "-"):
            left, right = self.of(first, side), self.of(rest[0], side if op == "+" else -side)
            return left + right if op == "+" else left - right
        if op in ("*", "/"):
            left, right = self._above_zero(first, side), self._above_zero(rest[0], side if op == "*" else -side)
            return left * right if op == "*" else of(left) / right
        require(op == "**" and not has_function(rest[0]), f"nothing is known of {op!a} of log, sqrt or exp")
        power = self.plain(rest[0])
        if not isinstance(power, int) or not 0 < power <= MOST_POWER:
            raise Rejected(f"an exponent of log, sqrt or exp is none from 1 to {MOST_POWER}")
        factor = total = self._above_zero(first, side)
        for _ in range(power - 1):
            total = fit(total * factor)
        return total

    def _above_zero(self, tree: Tree, side: int) -> Value:
        found = self.of(tree, side)
        fine = self.positive(tree) and positive(found, self.places)
        require(fine, "a factor beside log, sqrt or exp is not seen to be positive")
        return found

    def _application(self, function: str, arg: Tree, side: int) -> Value:
        everywhere = function == "exp"
        least = None if everywhere and side > 0 else ratios.lower(self.of(arg, -1), self.places)
        above = self.of(arg, 1) if side > 0 else 0
        end = least if side < 0 else ratios.upper(above, self.places)
        fine = everywhere or (least is not None and (least > 0 if function == "log" else least >= 0))
        require(fine, f"{function} is not seen to have a value everywhere")
        if function == "log" and self.logarithm is not None:
            return self._in_logarithms(self.of(arg, side), side)
        if end is None and side > 0 and not everywhere:
            return above - 1 if function == "log" else (above + 1) * Fraction(1, 2)
        if end is None and side < 0:
            return 0
        if end is None or (everywhere and abs(end) > LARGEST_EXPONENT):
            raise Rejected(f"no number is seen to be {'above' if side > 0 else 'below'} {function}")
        return value_of(function, end, side)

    def _in_logarithms(self, arg: Value, side: int) -> Value:
        """What is on a side of the logarithm of a positive number: of the powers of n + 1 that are below it the
        largest, of those above it the least."""
        assert self.logarithm is not None
        bound = ratios.lower if side < 0 else ratios.upper
        powers: list[Value] = [1]
        while len(powers) < LOGARITHMS:
            powers.append(powers[-1] * (VARIABLE[1] + 1))
        found = [(q, bound(of(arg) / power, self.places)) for q, power in enumerate(powers)]
        some = [(q, factor) for q, factor in found if factor is not None and factor > 0]
        require(some, "no power of n + 1 is seen on a side of what log is taken of")
        q, factor = some[-1] if side < 0 else some[0]
        return self.logarithm * q + value_of("log", factor, side)


def value_of(function: str, x: Fraction, side: int) -> Fraction:
    """A rational number below (sign -1) or above (sign 1) the value of a function."""
    return short(ends(FUNCTIONS[function](x, PRECISIONS[0]))[side > 0], contexts(DIGITS)[side > 0])


def parted(tree: Tree) -> tuple[Any, ...]:
    """An operator and its one or two arguments; of a chain the last operator, and what is before it."""
    require(isinstance(tree, tuple), "nothing is known of an expression")
    assert isinstance(tree, tuple)
    op, first, *rest = tree
    if op != "chain":
        return tree
    (last, right) = rest[-1]
    return last, first if len(rest) == 1 else ("chain", first, *rest[:-1]), right
