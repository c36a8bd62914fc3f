"""The distances of columns that certified float64 ran from the exact values of hard attention, for the words of a
batch."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hardsim.network.integers import Exact, largest, widened
from hardsim.run.enclosure import ETA, GROW, Block, Booleans, Floats, Integers, U, most, outward, quotients

Span: TypeAlias = tuple[Floats, Floats]
"""Lower and upper bounds of a number, one of each for each word."""
Kind: TypeAlias = tuple[tuple[int, ...], *tuple[Hashable, ...]]
"""The properties that arrays which are compared together share: the shape of the blocks, and more."""
WHOLE = 2**52
"""Bound for exact integers: those below it, and their differences, are exact in float64."""
TOGETHER = 1 << 14
"""Numbers that are compared at a time, an eighth of a megabyte for each array: small columns together, since most of
the time would be fixed costs, and large ones one by one, so that they stay in the cache."""


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


def distances(pairs: Sequence[tuple[Block, Exact]], rows: RowSelection, places: RowSelection) -> list[Span]:
    """Return bounds of the largest distance, over all positions, of each block from the hard values beside it.

    Args:
        rows: the words' rows in the blocks.
        places: the words' rows in the hard values.
    """
    zero = np.zeros(rows.count)
    found: dict[int, Span] = dict.fromkeys(_equal(pairs, rows, places), (zero, zero))
    terms = {number: _Terms.of(*pair, rows, places) for number, pair in enumerate(pairs) if number not in found}
    for some in _portions({number: one.kind for number, one in terms.items()}):
        found |= zip(some, _far([terms[number] for number in some], rows.count), strict=True)
    return [found[number] for number in range(len(pairs))]


def _portions(kinds: Mapping[int, Kind]) -> Iterator[list[int]]:
    """Yield the keys in lists: all of a list have one kind and, unless it is a single one, at most TOGETHER numbers."""
    groups: dict[Kind, list[int]] = {}
    for number, kind in kinds.items():
        groups.setdefault(kind, []).append(number)
    for kind, group in groups.items():
        step = max(1, TOGETHER // max(1, prod(kind[0])))
        yield from (group[start : start + step] for start in range(0, len(group), step))


def _piled(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return arrays of one shape as one array, (arrays, ...)."""
    return arrays[0][None] if len(arrays) == 1 else np.concatenate(arrays).reshape(len(arrays), *arrays[0].shape)


def _equal(pairs: Sequence[tuple[Block, Exact]], rows: RowSelection, places: RowSelection) -> list[int]:
    """Return the numbers of the pairs of exact integers, or quotients of them, that are equal."""
    mids, wholes = dict[int, Floats](), dict[int, NDArray[Any]]()
    for number, (block, expected) in enumerate(pairs):
        if block.rad is None and not block.places and max(expected.size, expected.unit) < WHOLE:
            mid = rows.of_array(block.mid)
            # Products that are rounded are larger than both.
            mids[number] = mid if expected.unit == 1 else mid * expected.unit
            wholes[number] = places.of_array(expected.whole)
    found: list[int] = []
    kinds = {number: (mid.shape, wholes[number].shape) for number, mid in mids.items()}
    for some in _portions(kinds):
        sides = (_piled([side[number] for number in some]) for side in (mids, wholes))
        equal: Booleans = np.equal(*sides).all(axis=(1, 2))
        found += [number for number, one in zip(some, equal.tolist(), strict=True) if one]
    return found


class _Terms(NamedTuple):
    """A block and hard values, (words or 1, n), with bounds of their errors (None: 0). If `whole`, both are integers,
    and so is their distance."""

    mid: Floats
    hard: Floats
    off: Floats | None
    rad: Floats | None
    whole: bool

    @staticmethod
    def of(block: Block, expected: Exact, rows: RowSelection, places: RowSelection) -> _Terms:
        """Return the terms of a distance."""
        mid, rad = rows.of_array(block.mid), None if block.rad is None else rows.of_array(block.rad)
        if expected.unit == 1 and max(expected.size, expected.unit) < WHOLE:
            hard = places.of_array(expected.whole).astype(np.float64)
            return _Terms(mid, hard, None, rad, rad is None and not block.places)
        return _Terms(mid, *float_quotients(expected, places), rad, False)

    @property
    def kind(self) -> Kind:
        """The properties that terms which are compared together share."""
        off, rad = (None if part is None else part.shape for part in (self.off, self.rad))
        return self.mid.shape, self.hard.shape, off, rad, self.whole


def _far(terms: Sequence[_Terms], count: int) -> list[Span]:
    """Return the bounds of the distances of terms of one kind, for `count` words."""
    hard: Floats = _piled([one.hard for one in terms])
    distance: Floats = _piled([one.mid for one in terms]) - hard
    np.abs(distance, out=distance)
    if terms[0].whole:
        low = high = _most(distance, count)  # differences of integers
        return list(zip(low, high, strict=True))
    radius, something = np.abs(hard) + distance, distance != 0
    radius *= 2 * U
    for part in (_piled(some) for some in _errors(terms)):
        radius += part
        something |= part != 0
    radius *= GROW
    radius += ETA
    radius *= something  # where it is False all terms are finite
    low = np.maximum(_most(distance - radius, count), 0.0)
    distance += radius
    return list(zip(low, _most(distance, count), strict=True))


def _errors(terms: Sequence[_Terms]) -> Iterator[list[Floats]]:
    """Yield the errors of the hard values and those of the blocks, where there are any."""
    for some in ([one.off for one in terms], [one.rad for one in terms]):
        if known := [part for part in some if part is not None]:
            yield known


def _most(numbers: Floats, count: int) -> Floats:
    """Return the largest number of each row, (columns, words), of arrays (columns, words or 1, n)."""
    columns, words, n = numbers.shape
    found = most(numbers.reshape(columns * words, n)).reshape(columns, words)
    return found if words == count else found.repeat(count, axis=1)


def float_quotients(expected: Exact, places: RowSelection) -> tuple[Floats, Floats]:
    """Return some rows of exact numbers as floats, with bounds of their errors."""
    if expected.ratio is not None:
        totals, counts = places.of_array(expected.ratio[0]), expected.ratio[1]
        if max(largest(totals), largest(counts)) < WHOLE:  # then floats hold both, and the quotient is rounded once
            mid = totals.astype(np.float64) / counts
            return mid, np.where(totals % counts == 0, 0.0, outward(U * np.abs(mid)))
    return quotients(places.of_array(expected.whole), expected.unit)
