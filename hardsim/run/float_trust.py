"""Test once per process whether certified float64 can be trusted, by comparing its assumptions with exact numbers.

The error analysis (`enclosure`) assumes that sums, products, quotients and square roots are rounded to the nearest
float64, in one step and without flushing subnormal numbers to zero, and that numpy's exp is right to EXP_ERROR. A
library loaded into the process may have changed the first (the rounding mode is a state of the processor), another
processor or build of numpy the second. The first certified pass of a process tests both, in a few milliseconds. Two
assumptions are not tested: that matrix products are sums of products (Strassen's method would not keep the bounds),
and that the processor's state stays as it was during the test.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

FLOAT_DIGITS = 15
"""Decimal digits of float64."""
BITS = 90
"""The precision, in bits, of the balls with which exp is compared."""
HIGHEST, LARGE = 709.7, 2.0**1023
"""The greatest argument at which exp is compared with balls, and a lower bound of its results beyond: e^709.7 lies
between 2^1023 and 2^1024."""
LENGTHS = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100)
"""The lengths of arrays that are tested: numpy runs other code for the remainder of an array after whole vectors."""
_heard: dict[str, None] = {}


@lru_cache(maxsize=1)
def distrust() -> str | None:
    """Return the reason why certified float64 decides nothing in this process; None if its assumptions hold."""
    fault = arithmetic_fault() or exp_fault()
    return (
        None
        if fault is None
        else f"certified float64 is not trusted in this process, --engine auto uses balls: {fault}"
    )


def reasons() -> tuple[str, ...]:
    """Return the reasons found in this process, if the test was run, and those reported by other processes."""
    own = distrust() if distrust.cache_info().currsize else None
    return tuple(dict.fromkeys([*([own] if own else []), *_heard]))


def hear(others: tuple[str, ...]) -> None:
    """Record the reasons that a worker process found."""
    _heard.update(dict.fromkeys(others))


def arithmetic_fault() -> str | None:
    """Return the fault in sums, products, quotients or square roots of float64 arrays; None if there is none."""
    import numpy as np

    one, least = np.ones(37), np.full(37, 2.0**-1022)
    half = one * 2.0**-53  # half of the distance between 1 and the next float
    with np.errstate(all="ignore"):
        nearest = (
            (one + half == 1) & (-one - half == -1) & (one + 3 * half == 1 + 2.0**-51) & (one - half / 2 == 1)
            & (one + (half + 2.0**-66) == 1 + 2.0**-52)
        )  # fmt: skip
        kept = (least * 0.5 > 0) & (least * 1.5 - least > 0) & (least * 2.0**-52 * 2.0**100 > 0)
    if not nearest.all():
        return "this process does not round floating-point numbers to the nearest float64"
    if not kept.all():
        return "this process flushes small floating-point numbers to zero"
    return None if _operations_are_rounded_once() else "an operation of float64 is not rounded once to the nearest"


def _operations_are_rounded_once() -> bool:
    """Return True if sums, products and quotients of some numbers agree with rationals (which Python rounds by
    integer arithmetic alone), and if the square of each square root lies between those of the midpoints to its
    neighbours."""
    from fractions import Fraction

    import numpy as np

    left = 1 + (np.arange(1, 14) * 0.7548776662466927) % 1
    right = (1 + (np.arange(1, 14) * 0.5698402909980532) % 1) * 2.0 ** (np.arange(13) % 7 - 3)
    found = (left + right, left - right, left * right, left / right)
    pairs = [(Fraction(a), Fraction(b)) for a, b in zip(left.tolist(), right.tolist(), strict=True)]
    exact = zip(*((float(a + b), float(a - b), float(a * b), float(a / b)) for a, b in pairs), strict=True)
    if not all((one == np.array(expected)).all() for one, expected in zip(found, exact, strict=True)):
        return False
    squares = np.concatenate([left, right, left * 2.0**-900, right * 2.0**901])
    roots = np.sqrt(squares)
    sides = [[Fraction(x) for x in np.nextafter(roots, side).tolist()] for side in (0.0, np.inf)]
    numbers = zip(*([Fraction(x) for x in array.tolist()] for array in (squares, roots)), *sides, strict=True)
    return all((low + root) ** 2 <= 4 * square <= (root + high) ** 2 for square, root, low, high in numbers)


def exp_fault() -> str | None:
    """Return the fault in numpy's exp; None if there is none. Arguments are as in the passes, in long and short
    arrays, strided and in place. If the true value is beyond float64, the result may be infinite, or nearly."""
    import numpy as np
    from flint import arb, ctx

    from hardsim.run.enclosure import EXP_ERROR

    points = _points()
    with ctx.workprec(BITS):
        nearest = [
            float(arb(x).exp().mid()) if -1000 < x < HIGHEST else 0.0 if x < 0 else np.inf for x in points.tolist()
        ]
    both = np.array([points.tolist(), nearest])
    square = both[:, : 30 * (len(points) // 30)].reshape(2, 30, -1)
    arrays = [both, both[:, ::-1], both[:, ::2], both[:, ::3], square.swapaxes(1, 2)]
    start = 0
    for length in LENGTHS * 3:
        arrays.append(both[:, start : start + length])
        start = (start + 7 * length + 1) % (len(points) - LENGTHS[-1])
    with np.errstate(all="ignore"):
        for argument, true in arrays:
            here = argument.copy()
            for found in (np.exp(argument), np.exp(here, out=here)):
                # The accuracy that `enclosure` assumes, less the rounding of the true values.
                normal = np.abs(found - true) <= (EXP_ERROR - 2.0**-51) * true
                small = (found >= 0) & (np.abs(found - true) <= 2.0**-1021)
                right = np.where(true >= 2.0**-1021, normal, small)
                bad = argument[~np.where(np.isinf(true), found >= LARGE, right)]
                if len(bad):
                    return f"numpy's exp is less accurate than certified float64 assumes, at {float(bad[0])!r}"
    return None


def _points() -> Any:
    """Return some 1,500 arguments: near 0, everywhere down to -745 (where results are subnormal, and where they are
    0), and up to where results are infinite."""
    import numpy as np

    near = -np.logspace(-18, -1, 120)
    spread = -np.concatenate([np.linspace(0.07, 40, 380), np.linspace(40.1, 708.39, 210)])
    powers = -np.log(2) * np.arange(1, 1022, 9.0)  # where the power of two changes
    small = -np.linspace(708.4, 745.2, 120)
    none = np.array([-0.0, -745.13, -745.14, -746.0, -1e4, -1e300, -np.inf])
    high = np.concatenate([-near, -spread, -powers, [709.5, 709.783, 710.0, 800.0, 1e300, np.inf]])
    return np.concatenate([near, spread, powers, np.nextafter(powers, 0), small, none, high])
