"""Functions of positions and lengths as float64, for many positions at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardsim.lang.arith import Arith, Constant, Expression, Negation, Operation, Variable
from hardsim.network.columns import PositionFunction
from hardsim.precision.formats import Floats

EXACT = 2.0**53
Quotient = tuple[Floats, Floats]
"""Numerators and denominators that are integers, which float64 represents exactly."""


def float_values(
    function: PositionFunction, i: NDArray[Any], n: NDArray[Any] | int, inverse: bool = False
) -> Floats | None:
    """Return the float64 nearest to a function's values at positions and lengths, or to 1 over them, if it is a
    quotient of polynomials with integers that float64 represents exactly: a single division rounds it. Return None
    for any other function."""
    if not isinstance(function, Arith):
        return None
    found = _quotient(function.tree, {"i": i.astype(np.float64), "n": np.zeros(len(i)) + n})
    if found is None:
        return None
    above, below = found[::-1] if inverse else found
    if not (below != 0).all():
        return None
    result: Floats = above / below
    return result


def _quotient(tree: Expression, names: dict[str, Floats]) -> Quotient | None:
    one = np.ones_like(names["i"])
    match tree:
        case Constant(value):
            return (one * value, one) if abs(value) < EXACT else None
        case Variable(name):
            return names[name], one
        case Negation(arg):
            found = _quotient(arg, names)
            return None if found is None else (-found[0], found[1])
        case Operation("^", Negation(Constant(1)), Variable(name)):
            return 1 - 2 * (names[name] % 2), one
        case Operation("^", base, Constant(power)) if power <= 8:
            found = _quotient(base, names)
            if found is None:
                return None
            above, below = one, one
            for _ in range(power):  # a library's powers need not be exact
                above, below = above * found[0], below * found[1]
            return _limited(above, below)
        case Operation("+" | "-" | "*" | "/" as op, left, right):
            pair = _quotient(left, names), _quotient(right, names)
            if pair[0] is None or pair[1] is None:
                return None
            (a, b), (c, d) = pair[0], pair[1]
            if op == "*":
                return _limited(a * c, b * d)
            if op == "/":
                return _limited(a * d, b * c)
            parts = _limited(a * d, c * b)  # they may be large where their difference is not
            return None if parts is None else _limited(parts[0] + (parts[1] if op == "+" else -parts[1]), b * d)
    return None


def _limited(above: Floats, below: Floats) -> Quotient | None:
    """Return both, if they and their terms are so small that float64 represents them exactly; else None."""
    return (above, below) if max(np.abs(above).max(), np.abs(below).max()) < EXACT / 4 else None
