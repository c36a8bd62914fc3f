"""Float64 arrays with proven error bounds: exponentials, running sums, arrays of exact numbers, and balls rounded
outwards.

e^x for a float x is put together from two tables and a short series: with the integer t = floor(4096 x) = 4096 k +
m, 0 <= m < 4096, and r = x - t/4096 in [0, 2^-12], e^x = e^k e^(m/4096) e^r. The tables come from ball arithmetic,
rounded once. With u = 2^-53: products with a power of two are exact, the remainder r is off by at most u, each
table entry by 2u (a rounding of a midpoint and a radius below 2^-70), the series 1 + r + r^2/2 + r^3/6 leaves out
at most r^4/23 < 2u and its evaluation costs 4u, the two products 2u: fewer than 14u in all, and `EXP_ERROR` = 2^-48
is 32u. The system's exp function is not used.
"""

from __future__ import annotations

import math
from functools import cached_property, lru_cache
from math import inf, nextafter
from typing import Any, TypeVar

import numpy as np
from flint import arb, ctx, fmpq
from numpy import float64, int64
from numpy.typing import NDArray

from hardsim.lang.reals import Real, RealNumber, bounds
from hardsim.lazy_dataclass import dataclass
from hardsim.proof.shared.result import NotProved
from hardsim.run.ball import ball as ball

N = TypeVar("N", bound=RealNumber)
Array = NDArray[float64]

EXP_ERROR = 2.0**-48
"""Relative error of `exponential` for arguments between -RANGE and RANGE."""
RANGE = 640.0
"""Largest absolute value of an argument of `exponential`, in nats; larger ones are cut off. e^-640 and e^640 are
far inside the range of float64."""
POWER = 12
STEPS = 1 << POWER
PRECISION = 120
"""Precision of ball arithmetic in this module, in bits."""


@lru_cache(maxsize=1)
def _tables() -> tuple[Array, Array]:
    """Return two tables: e^k for |k| <= RANGE + 1, and e^(m/4096) for 0 <= m < 4096."""
    bound = int(RANGE) + 1
    with ctx.workprec(PRECISION):
        whole = [float(arb(k).exp().mid()) for k in range(-bound, bound + 1)]
        parts = [float(arb(fmpq(m, STEPS)).exp().mid()) for m in range(STEPS)]
    return np.array(whole), np.array(parts)


def exponential(x: Array) -> Array:
    """Return e^x to a relative error of `EXP_ERROR`, for x in [-RANGE, RANGE]. The caller cuts off arguments
    outside."""
    whole, parts = _tables()
    floor = np.floor(x * STEPS)
    r = x - floor * (1 / STEPS)
    # The index of the table of whole exponents starts at -(RANGE + 1).
    steps = floor.astype(np.int64)
    series = 1 + r * (1 + r * (0.5 + r * (1 / 6)))
    product: Array = whole[(steps >> POWER) + (int(RANGE) + 1)] * parts[steps & (STEPS - 1)] * series
    return product


def exp_upper(x: Array, error: Array | float = 0.0) -> Array:
    """Return an upper bound of e^y for every y <= x + error: +inf beyond the range and for nan, never less than
    e^-RANGE."""
    high = x + error
    inside = exponential(_cut(high)) * (1 + 2 * EXP_ERROR)
    # A float sum x + error is off by one rounding, at most 2^-43 nats inside the range.
    return np.where(high < RANGE, inside * (1 + 2.0**-42), np.inf)


def exp_lower(x: Array, error: Array | float = 0.0) -> Array:
    """Return a lower bound of e^y for every y >= x - error: 0 below the range and for nan, never more than e^RANGE."""
    low = x - error
    inside = exponential(_cut(low)) * (1 - 2 * EXP_ERROR)
    return np.where(low > -RANGE, inside * (1 - 2.0**-42), 0.0)


# fmin and fmax prefer numbers to nan, so nan becomes a limit of the range and not an index outside the tables.
def _cut(x: Array) -> Array:
    """Return arguments cut off to the range of `exponential`. nan becomes -RANGE; the caller replaces that result."""
    return np.fmin(np.fmax(x, -RANGE), RANGE)


# ---- balls ----


def above(value: arb) -> float:
    """Return a float that is at least every number of a ball; +inf for an unbounded ball."""
    top = float(value.upper())
    return nextafter(top, inf) if top < inf else inf


def working_precision() -> Any:
    """Return a context manager in which ball arithmetic has `PRECISION` bits."""
    return ctx.workprec(PRECISION)


NOTHING = -math.inf
"""Minus infinity: the logarithm of an empty sum, and the maximum of no numbers. Other logarithms and maxima are
finite."""


@dataclass
class Running:
    """Sums of positive numbers, each stored as `mantissa * e^top`; off by at most a factor of 1 + 2^-46 for every
    number added. Each top is the logarithm of a number that was added, so nothing overflows or underflows. A number
    more than 640 nats below the top is counted as e^-640 times e^top, which stays within that factor."""

    top: Array
    mantissa: Array

    @staticmethod
    def empty(shape: tuple[int, ...]) -> Running:
        """Return an array of empty sums."""
        return Running(np.full(shape, NOTHING), np.ones(shape))

    def plus(self, top: Array, mantissa: Array | float = 1.0) -> Running:
        """Return these sums with the numbers `mantissa * e^top` added."""
        # Two empty sums are nan apart, which counts as far: their top stays that of nothing.
        part = exponential(np.fmax(-np.abs(self.top - top), -RANGE))
        grown = np.where(top > self.top, self.mantissa * part + mantissa, self.mantissa + mantissa * part)
        return Running(np.maximum(top, self.top), grown)

    def at(self, places: slice | NDArray[int64]) -> Running:
        """Return the sums at some indices of the last axis."""
        return Running(self.top[..., places], self.mantissa[..., places])

    def put(self, other: Running) -> None:
        """Replace the first sums along the last axis by the sums of `other`."""
        size = other.top.shape[-1]
        self.top[..., :size], self.mantissa[..., :size] = other.top, other.mantissa


def share(wrong: Running, right: Running, error: Array, terms: int) -> Array:
    """Return an upper bound, at most 1, of wrong/(wrong + right) for two arrays of sums. Each sum has at most
    `terms` numbers, whose logarithms are each off by at most `error`. Empty sums count as 0; without wrong
    numbers the bound is 0."""
    # The distance shrinks by the errors of both logarithms, so the quotient stays a lower bound.
    distance = right.top - wrong.top - 2 * error
    quotient = exp_lower(distance) * (right.mantissa / wrong.mantissa) * (1 - (terms + 8) * 2.0**-45)
    quotient = np.where(right.top > NOTHING, quotient, 0.0)
    found = (1 + 2.0**-50) / (1 + np.maximum(quotient, 0.0))
    return np.where(wrong.top == NOTHING, 0.0, np.where(found < 1.0, found, 1.0))


class ExactNumbers(tuple[N, ...]):
    """Exact numbers, which are converted to arrays once: heads share encodings, queries and keys."""

    @cached_property
    def _found(self) -> tuple[Array, NDArray[int64]]:
        seen: dict[tuple[int, int] | Real, int] = {}
        keys = (value if isinstance(value, Real) else value.as_integer_ratio() for value in self)
        numbers = np.array([seen.setdefault(key, len(seen)) for key in keys], np.int64)
        found = np.array([next_to(key) if isinstance(key, Real) else key[0] / key[1] for key in seen])
        return found[numbers], numbers

    @property
    def floats(self) -> Array:
        """The floats nearest to the numbers. Raises OverflowError if a number is too large for a float."""
        return self._found[0]

    @property
    def places(self) -> NDArray[int64]:
        """The place of each number among the different ones, in the order of first occurrence. They are compared
        exactly (a Real by its expression)."""
        return self._found[1]


def next_to(value: RealNumber) -> float:
    """Return the float nearest to a number. For a Real that is the middle of its enclosure, off by at most (1 + 2^-36)
    2^-53 of the number. Raises NotProved if the relative radius of the enclosure is not below 2^-90, because terms
    cancel; OverflowError if the number is too large for a float."""
    if not isinstance(value, Real):
        return float(value)
    low, high = bounds(value)
    if not (high - low) * 2**89 <= abs(low + high) / 2:
        raise NotProved(f"too few digits of the number {value} are known")
    return float((low + high) / 2)
