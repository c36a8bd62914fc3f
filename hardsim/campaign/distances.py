"""The distances of columns that certified float64 ran from the exact values of hard attention, for the words of a
batch."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hardsim.lazy_dataclass import dataclass
from hardsim.network.integers import Exact, largest, widened
from hardsim.run.enclosure import ETA, GROW, Block, Floats, Integers, U, most, outward, quotients

Span: TypeAlias = tuple[Floats, Floats]
"""Lower and upper bounds of a number, one of each for each word."""
WHOLE = 2**52
"""Bound for exact integers: those below it, and their differences, are exact in float64."""


@dataclass(frozen=True, slots=True)
class RowSelection:
    """The numbers of `count` rows of arrays, ascending: as a slice, which copies nothing, if they are regular."""

    rows: Integers | slice
    count: int

    @staticmethod
    def of(rows: Integers) -> RowSelection:
        """Return the selection of rows, which are at least one."""
        steps = np.diff(rows[:2])
        if (np.diff(rows) == steps).all():
            return RowSelection(slice(int(rows[0]), int(rows[-1]) + 1, *steps.tolist()), len(rows))
        return RowSelection(rows, len(rows))

    def of_array(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return these rows of an array. An array that has one row for all words, in shape or in memory, gives that
        single row."""
        # A broadcast array: all its rows are one row in memory.
        return array[:1] if len(array) == 1 or not array.strides[0] else array[self.rows]


def same(block: Block, rows: RowSelection, expected: Exact, places: RowSelection) -> bool:
    """Return True if a mean is known to equal the hard one exactly, on every word."""
    if block.static is not None:
        known, hard = block.static, places.of_array(expected.whole)
        bound = max(expected.size * known.unit, known.size * expected.unit, known.unit, expected.unit)
        return bool((widened(hard, bound) * known.unit == widened(known.whole, bound) * expected.unit).all())
    if block.ratio is None:
        return False
    totals, counts = (part.astype(np.int64) for part in block.ratio)
    mine = rows.of_array(totals)
    if expected.ratio is not None:
        hard, under = places.of_array(expected.ratio[0]), expected.ratio[1]
        bound = max(largest(hard) * largest(counts), largest(mine) * largest(under))
        return bool((widened(hard, bound) * counts == widened(mine, bound) * under).all())
    bound = max(expected.size * int(counts.max()), largest(mine) * expected.unit, expected.unit)
    hard = widened(places.of_array(expected.whole), bound)
    return bool((hard * counts == widened(mine, bound) * expected.unit).all())


def far(block: Block, rows: RowSelection, expected: Exact, places: RowSelection) -> Span:
    """Return bounds of the largest distance between a block and hard values over all positions: one lower and one upper
    bound for each word."""
    mid, integers = rows.of_array(block.mid), block.rad is None and not block.places
    small = max(expected.size, expected.unit) < WHOLE
    plain = small and expected.unit == 1
    # Products that are rounded are larger than both.
    if integers and small and ((mid if plain else mid * expected.unit) == places.of_array(expected.whole)).all():
        return np.zeros(rows.count), np.zeros(rows.count)
    if plain:
        hard, off = places.of_array(expected.whole).astype(np.float64), None
    else:
        hard, off = float_quotients(expected, places)
    distance = mid - hard
    np.abs(distance, out=distance)
    if integers and plain:
        span = np.broadcast_to(most(distance), rows.count)  # differences of integers
        return span, span
    radius, something = np.abs(hard) + distance, distance != 0
    radius *= 2 * U
    for part in (off, None if block.rad is None else rows.of_array(block.rad)):
        if part is not None:
            radius = radius + part
            something = something | (part != 0)
    radius *= GROW
    radius += ETA
    radius *= something  # where it is False all terms are finite
    low = np.maximum(most(distance - radius), 0.0)
    distance += radius
    high = most(distance)
    return (low, high) if len(low) == rows.count else (low.repeat(rows.count), high.repeat(rows.count))


def float_quotients(expected: Exact, places: RowSelection) -> tuple[Floats, Floats]:
    """Return some rows of exact numbers as floats, with bounds of their errors."""
    if expected.ratio is not None:
        totals, counts = places.of_array(expected.ratio[0]), expected.ratio[1]
        if max(largest(totals), largest(counts)) < WHOLE:  # then floats hold both, and the quotient is rounded once
            mid = totals.astype(np.float64) / counts
            return mid, np.where(totals % counts == 0, 0.0, outward(U * np.abs(mid)))
    return quotients(places.of_array(expected.whole), expected.unit)
