"""Exponentials of whole arrays with a proven relative error, and directed conversions of balls.

e^x for a float x is put together from two tables and a short series: with the integer t = floor(4096 x) = 4096 k + m,
0 <= m < 4096, and r = x - t/4096 in [0, 2^-12], e^x = e^k e^(m/4096) e^r. The tables come from ball arithmetic, rounded
once. With u = 2^-53: products with a power of two are exact, the remainder r is off by at most u, each table entry by
2u (a rounding of a midpoint and a radius below 2^-70), the series 1 + r + r^2/2 + r^3/6 leaves out at most r^4/23 < 2u
and its evaluation costs 4u, the two products 2u: fewer than 14u in all, and `EXP_ERROR` = 2^-48 is 32u. No property of
the system's exp is used.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import inf, nextafter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flint import arb
    from numpy import float64
    from numpy.typing import NDArray

    Array = NDArray[float64]

EXP_ERROR = 2.0**-48
"""The relative error of `exponential` for arguments within the range."""
RANGE = 640.0
"""Arguments are cut off here: e^-640 and e^640 are far inside the range of float64."""
POWER = 12
STEPS = 1 << POWER
PRECISION = 120
"""Bits of ball arithmetic."""


@lru_cache(maxsize=1)
def _tables() -> tuple[Array, Array]:
    """e^k for |k| <= RANGE + 1, and e^(m/4096) for 0 <= m < 4096."""
    import numpy as np
    from flint import arb, ctx, fmpq

    bound = int(RANGE) + 1
    with ctx.workprec(PRECISION):
        whole = [float(arb(k).exp().mid()) for k in range(-bound, bound + 1)]
        parts = [float(arb(fmpq(m, STEPS)).exp().mid()) for m in range(STEPS)]
    return np.array(whole), np.array(parts)


def exponential(x: Array) -> Array:
    """e^x to a relative error of `EXP_ERROR`, for x in [-RANGE, RANGE] (the caller cuts off what is outside)."""
    import numpy as np

    whole, parts = _tables()
    floor = np.floor(x * STEPS)
    r = x - floor * (1 / STEPS)
    steps = floor.astype(np.int64)
    series = 1 + r * (1 + r * (0.5 + r * (1 / 6)))
    product: Array = whole[(steps >> POWER) + (int(RANGE) + 1)] * parts[steps & (STEPS - 1)] * series
    return product


def exp_upper(x: Array, error: Array | float = 0.0) -> Array:
    """At least e^y for every y <= x + error; +inf beyond the range and for nan, and never less than e^-RANGE."""
    import numpy as np

    high = x + error
    inside = exponential(_cut(high)) * (1 + 2 * EXP_ERROR)
    # A float sum x + error is off by one rounding, at most 2^-43 nats inside the range.
    result: Array = np.where(high < RANGE, inside * (1 + 2.0**-42), np.inf)
    return result


def exp_lower(x: Array, error: Array | float = 0.0) -> Array:
    """At most e^y for every y >= x - error; 0 below the range and for nan, and never more than e^RANGE."""
    import numpy as np

    low = x - error
    inside = exponential(_cut(low)) * (1 - 2 * EXP_ERROR)
    result: Array = np.where(low > -RANGE, inside * (1 - 2.0**-42), 0.0)
    return result


def _cut(x: Array) -> Array:
    """Arguments within the range; -RANGE for nan, of which the caller says what it is."""
    import numpy as np

    result: Array = np.fmin(np.fmax(x, -RANGE), RANGE)
    return result


# ---- balls ----


def ball(value: Fraction | int) -> arb:
    """A rational as a ball at the working precision."""
    from flint import arb, fmpq

    return arb(fmpq(value.numerator, value.denominator))


def above(value: arb) -> float:
    """A float that is at least every number of a ball; +inf for one of which nothing is known."""
    top = float(value.upper())
    return nextafter(top, inf) if top < inf else inf


def working_precision() -> Any:
    """The context in which balls have `PRECISION` bits."""
    from flint import ctx

    return ctx.workprec(PRECISION)
