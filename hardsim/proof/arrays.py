"""Arrays of floats with proven errors: exponentials, running sums, exact columns; directed conversions of balls.

e^x for a float x is put together from two tables and a short series: with the integer t = floor(4096 x) = 4096 k + m,
0 <= m < 4096, and r = x - t/4096 in [0, 2^-12], e^x = e^k e^(m/4096) e^r. The tables come from ball arithmetic, rounded
once. With u = 2^-53: products with a power of two are exact, the remainder r is off by at most u, each table entry by
2u (a rounding of a midpoint and a radius below 2^-70), the series 1 + r + r^2/2 + r^3/6 leaves out at most r^4/23 < 2u
and its evaluation costs 4u, the two products 2u: fewer than 14u in all, and `EXP_ERROR` = 2^-48 is 32u. No property of
the system's exp is used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf, nextafter
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq
from numpy import float64, int64
from numpy.typing import NDArray

from hardsim.lang.reals import Real, RealNumber, bounds
from hardsim.proof.result import NotProved
from hardsim.run.ball import ball as ball

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
    bound = int(RANGE) + 1
    with ctx.workprec(PRECISION):
        whole = [float(arb(k).exp().mid()) for k in range(-bound, bound + 1)]
        parts = [float(arb(fmpq(m, STEPS)).exp().mid()) for m in range(STEPS)]
    return np.array(whole), np.array(parts)


def exponential(x: Array) -> Array:
    """e^x to a relative error of `EXP_ERROR`, for x in [-RANGE, RANGE] (the caller cuts off what is outside)."""
    whole, parts = _tables()
    floor = np.floor(x * STEPS)
    r = x - floor * (1 / STEPS)
    steps = floor.astype(np.int64)
    series = 1 + r * (1 + r * (0.5 + r * (1 / 6)))
    product: Array = whole[(steps >> POWER) + (int(RANGE) + 1)] * parts[steps & (STEPS - 1)] * series
    return product


def exp_upper(x: Array, error: Array | float = 0.0) -> Array:
    """At least e^y for every y <= x + error; +inf beyond the range and for nan, and never less than e^-RANGE."""
    high = x + error
    inside = exponential(_cut(high)) * (1 + 2 * EXP_ERROR)
    # A float sum x + error is off by one rounding, at most 2^-43 nats inside the range.
    return np.where(high < RANGE, inside * (1 + 2.0**-42), np.inf)


def exp_lower(x: Array, error: Array | float = 0.0) -> Array:
    """At most e^y for every y >= x - error; 0 below the range and for nan, and never more than e^RANGE."""
    low = x - error
    inside = exponential(_cut(low)) * (1 - 2 * EXP_ERROR)
    return np.where(low > -RANGE, inside * (1 - 2.0**-42), 0.0)


def _cut(x: Array) -> Array:
    """Arguments within the range; -RANGE for nan, of which the caller says what it is."""
    return np.fmin(np.fmax(x, -RANGE), RANGE)


# ---- balls ----


def above(value: arb) -> float:
    """A float that is at least every number of a ball; +inf for one of which nothing is known."""
    top = float(value.upper())
    return nextafter(top, inf) if top < inf else inf


def working_precision() -> Any:
    """The context in which balls have `PRECISION` bits."""
    return ctx.workprec(PRECISION)


NOTHING = -math.inf
"""The logarithm of an empty sum, and the largest of no numbers; every other is finite."""


@dataclass
class Running:
    """Sums of positive numbers as `mantissa * e^top`, each at most a factor of 1 + 2^-46 off for every number added.
    Tops are logarithms of numbers added, so nothing over- or underflows; what is more than 640 nats below the top
    counts as e^-640 of it, which is within that factor."""

    top: Array
    mantissa: Array

    @staticmethod
    def empty(shape: tuple[int, ...]) -> Running:
        """Sums of nothing."""
        return Running(np.full(shape, NOTHING), np.ones(shape))

    def plus(self, top: Array, mantissa: Array | float = 1.0) -> Running:
        """With numbers `mantissa * e^top` added."""
        # Two empty sums are nan apart, which counts as far: their top stays that of nothing.
        part = exponential(np.fmax(-np.abs(self.top - top), -RANGE))
        grown = np.where(top > self.top, self.mantissa * part + mantissa, self.mantissa + mantissa * part)
        return Running(np.maximum(top, self.top), grown)

    def at(self, places: slice | NDArray[int64]) -> Running:
        """Some sums along the last axis."""
        return Running(self.top[..., places], self.mantissa[..., places])

    def put(self, other: Running) -> None:
        """Replace the first sums along the last axis."""
        size = other.top.shape[-1]
        self.top[..., :size], self.mantissa[..., :size] = other.top, other.mantissa


def share(wrong: Running, right: Running, error: Array, terms: int) -> Array:
    """At least wrong/(wrong + right), of sums of up to so many numbers whose logarithms are each off by at most
    `error`; empty sums count as nothing."""
    distance = right.top - wrong.top - 2 * error
    quotient = exp_lower(distance) * (right.mantissa / wrong.mantissa) * (1 - (terms + 8) * 2.0**-45)
    quotient = np.where(right.top > NOTHING, quotient, 0.0)
    found = (1 + 2.0**-50) / (1 + np.maximum(quotient, 0.0))
    return np.where(wrong.top == NOTHING, 0.0, np.where(found < 1.0, found, 1.0))


class Columns:
    """Columns of exact numbers as arrays, each converted once: heads share encodings, queries and keys."""

    def __init__(self) -> None:
        # A column is kept beside its arrays, so that no other can have its identity.
        self._known: dict[int, tuple[Sequence[RealNumber], Array, NDArray[int64]]] = {}

    def floats(self, column: Sequence[RealNumber]) -> Array:
        """The floats next to the numbers; OverflowError if one is too large for a float."""
        return self._converted(column)[1]

    def numbers(self, column: Sequence[RealNumber]) -> NDArray[int64]:
        """Which of its different values (exactly; a Real by its expression) each entry of a column is."""
        return self._converted(column)[2]

    def _converted(self, column: Sequence[RealNumber]) -> tuple[Sequence[RealNumber], Array, NDArray[int64]]:
        if id(column) not in self._known:
            seen: dict[tuple[int, int] | Real, int] = {}
            keys = (value if isinstance(value, Real) else value.as_integer_ratio() for value in column)
            numbers = np.array([seen.setdefault(key, len(seen)) for key in keys], np.int64)
            found = np.array([next_to(key) if isinstance(key, Real) else key[0] / key[1] for key in seen])
            self._known[id(column)] = column, found[numbers], numbers
        return self._known[id(column)]


def next_to(value: RealNumber) -> float:
    """The float nearest to a number, or to the middle of an enclosure whose relative radius is below 2^-90: off by at
    most (1 + 2^-36) 2^-53 of the number. OverflowError if it is too large for a float.

    Raises:
        NotProved: if there is no enclosure as small as that, since terms cancel.
    """
    if not isinstance(value, Real):
        return float(value)
    low, high = bounds(value)
    if not (high - low) * 2**89 <= abs(low + high) / 2:
        raise NotProved(f"too few digits of a number are known, which is {value}")
    return float((low + high) / 2)
