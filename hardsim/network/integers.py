"""Exact rational columns of a batch of words: integer arrays over a common denominator (the unit).

The arrays hold machine integers where a bound computed beforehand shows that nothing overflows, and Python's integers
otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from fractions import Fraction
from functools import lru_cache
from math import gcd, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardsim.errors import InputError
from hardsim.lazy_dataclass import dataclass
from hardsim.network.numbers import Rational

Integers = NDArray[Any]
"""An array of dtype int64, or of Python's integers (dtype object)."""

# Half of int64's range: the sum of two numbers below SAFE does not overflow.
SAFE = 1 << 62
LARGE_UNIT = 1 << 16
LARGEST_COLUMN = 3 << 26
"""The greatest number of bytes that the exact means of one coordinate may take. About six such columns are held at
once."""


@dataclass(frozen=True, slots=True)
class Exact:
    """The exact numbers `whole / unit`, in columns of shape (words, positions); `size` bounds |whole|.

    If the unit does not fit in a machine integer, `whole` holds Python's integers, so that the two can be compared.
    `ratio`, if it is known, gives the same numbers by machine integers: totals in the shape of `whole`, and counts by
    position by which they are divided. Then `whole` may be left out at first: it is computed when it is read.
    """

    whole: Integers
    unit: int
    size: int
    ratio: tuple[Integers, Integers] | None = field(default=None, compare=False)
    _ends: tuple[int, int] | None = field(default=None, compare=False)

    @staticmethod
    def of_ratio(totals: Integers, counts: Integers, unit: int, size: int) -> Exact:
        """Make columns `totals / counts` over a unit over which they are integers, of this size. The numerators are
        computed when they are read."""
        found = object.__new__(Exact)
        for name, value in (("unit", unit), ("size", size), ("ratio", (totals, counts)), ("_ends", None)):
            object.__setattr__(found, name, value)  # the class is frozen
        return found

    def __getattr__(self, name: str) -> Any:
        """Compute `whole` where it was left out; Python calls this for attributes that are not there."""
        if name != "whole" or self.ratio is None:
            raise AttributeError(name)
        totals, counts = (part.astype(object) for part in self.ratio)
        kind = object if max(self.size, self.unit) >= SAFE else np.int64
        # One product is much faster than a product and a division of large integers.
        whole = totals * self.unit // counts if (self.unit % counts).any() else totals * (self.unit // counts)
        whole = whole.astype(kind, copy=False)
        object.__setattr__(self, "whole", whole)
        return whole

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of words, or 1, and that of positions."""
        shape: tuple[int, ...] = (self.whole if self.ratio is None else self.ratio[0]).shape
        return shape

    def __reduce__(self) -> tuple[type[Exact], tuple[object, ...]]:
        """Pickle the arguments: what dataclasses do for slots takes longer than the numbers of a few words."""
        return Exact, (self.whole, self.unit, self.size, self.ratio)

    @staticmethod
    def of(whole: Integers, unit: int = 1, large: int = LARGE_UNIT) -> Exact:
        """Make columns from integers over a unit, with their measured size. If the unit is at least `large`, cancel
        the common divisor of all numbers and the unit; columns of zeros then have the unit 1."""
        low, high = extremes(whole)
        if unit >= large and (common := gcd(unit, int(np.gcd.reduce(whole, axis=None)))) > 1:
            # Of zeros the whole unit is cancelled, which need not be a machine integer.
            whole = (whole if common < SAFE else whole.astype(object)) // common
            unit, low, high = unit // common, low // common, high // common
        size = max(high, -low)
        kind = object if max(size, unit) >= SAFE else np.int64
        return Exact(whole if whole.dtype == kind else whole.astype(kind), unit, size, None, (low, high))

    @staticmethod
    def row(values: Sequence[Rational], words: int) -> Exact:
        """Make columns that have the same values, one per position, at each of `words` words."""
        if values and values.count(values[0]) == len(values):
            unit = values[0].denominator
            whole = [values[0].numerator] * len(values)
        else:
            unit = lcm(*(value.denominator for value in values))
            whole = [value.numerator * (unit // value.denominator) for value in values]
        size = max(map(abs, whole), default=0)
        line = np.array(whole, dtype=np.int64 if max(size, unit) < SAFE else object)
        return Exact(line[None] if words == 1 else np.broadcast_to(line, (words, len(whole))), unit, size)

    def repeated(self, shape: tuple[int, int]) -> Exact:
        """Return columns of this shape (words, positions) with the present row at every word."""
        if self.shape == shape:
            return self
        return Exact(np.broadcast_to(self.whole, shape), self.unit, self.size, None, self._ends)

    def at(self, word: int, position: int) -> Fraction:
        """Return the number at a word and a position (both indices from 0)."""
        return Fraction(int(self.whole[word, position]), self.unit)

    def block(self, positions: slice) -> Exact:
        """Return the columns at these positions, over their least unit."""
        whole = self.whole[:, positions]
        return Exact(whole, 1, self.size) if self.unit == 1 else Exact.of(whole, self.unit, 1)

    def values(self, word: int) -> list[Rational]:
        """Return the numbers of one word, one per position."""
        whole: list[int] = self.whole[word].tolist()
        return [*whole] if self.unit == 1 else [Fraction(value, self.unit) for value in whole]

    def part(self, positions: slice) -> Exact:
        """Return the columns at these positions, over the present unit."""
        return Exact(self.whole[:, positions], self.unit, self.size)

    def then(self, other: Exact) -> Exact:
        """Return these columns followed by the other's columns, along the axis of positions."""
        unit = lcm(self.unit, other.unit)
        size = max(self.size * (unit // self.unit), other.size * (unit // other.unit))
        parts = [widened(one.whole, max(size, unit)) * (unit // one.unit) for one in (self, other)]
        return Exact(np.concatenate(parts, axis=1), unit, size)

    def times(self, other: Exact) -> Exact:
        """Return the elementwise product with the other columns."""
        size, unit = self.size * other.size, self.unit * other.unit
        return Exact.of(widened(self.whole, max(size, unit)) * other.whole, unit)

    def clip(self, high: bool = True, cap: Exact | None = None) -> Exact:
        """Clip the numbers to [0, 1], or only to at least 0 if `high` is False; with `cap`, return x+ - (x - cap)+,
        where y+ is the greater of y and 0."""
        if cap is None or not high:
            whole, unit, (least, most) = self.whole, self.unit, self.ends
            whole = whole if least >= 0 else np.maximum(whole, 0)
            whole = whole if most <= unit or not high else np.minimum(whole, unit)
            if unit >= LARGE_UNIT or whole.dtype == object:  # a divisor may have become common, and numbers small
                return Exact.of(whole, unit)
            least, most = (min(max(end, 0), unit) if high else max(end, 0) for end in (least, most))
            return Exact(whole, unit, most, None, (least, most))
        shape = np.broadcast_shapes(self.whole.shape, cap.whole.shape)
        above = combination([(self, 1), (cap, -1)], 0, (shape[0], shape[1]))
        return combination([(self.clip(False), 1), (above.clip(False), -1)], 0, (shape[0], shape[1]))

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the greatest numerator, both 0 if there are no numbers."""
        if self._ends is None:
            object.__setattr__(self, "_ends", extremes(self.whole))  # found once; the class is frozen
        assert self._ends is not None
        return self._ends

    @property
    def least(self) -> Fraction:
        """The least number."""
        return ratio_of(self.ends[0], self.unit)

    @property
    def most(self) -> Fraction:
        """The greatest number."""
        return ratio_of(self.ends[1], self.unit)

    @property
    def magnitude(self) -> Fraction:
        """An upper bound of the absolute values."""
        return ratio_of(self.size, self.unit)


ratio_of = lru_cache(1 << 14)(Fraction)
"""Return a quotient of integers. Columns of one length have the same ones again and again."""


def extremes(whole: Integers) -> tuple[int, int]:
    """Return the least and the greatest number in the array, both 0 if it is empty."""
    if not whole.size:
        return 0, 0
    if not whole.strides[0]:
        whole = whole[:1]  # one row in memory
    return int(np.minimum.reduce(whole, axis=None)), int(np.maximum.reduce(whole, axis=None))


def largest(whole: Integers) -> int:
    """Return the greatest absolute value in the array, 0 if it is empty."""
    low, high = extremes(whole)
    return max(high, -low)


def widened(whole: Integers, bound: int) -> Integers:
    """Return the array, converted to Python's integers if int64 does not safely hold numbers up to the bound."""
    return whole.astype(object) if bound >= SAFE and whole.dtype != object else whole


def distinct(columns: Sequence[Integers], shape: tuple[int, int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number the distinct tuples that several columns of this shape have at their entries.

    Returns:
        The number of the tuple at each entry, an array of this shape; and for each tuple the index of its first
        occurrence in the flattened columns.
    """
    found, first = np.zeros(shape[0] * shape[1], dtype=np.int64), np.zeros(1, dtype=np.int64)
    for column in columns:
        values, inverse = np.unique(column.ravel(), return_inverse=True)
        _, first, found = np.unique(found * len(values) + inverse, return_index=True, return_inverse=True)
    return found.reshape(shape), first


def combination(terms: Iterable[tuple[Exact, Rational]], bias: Rational, shape: tuple[int, int]) -> Exact:
    """Return the sum of the columns times their coefficients, plus the constant `bias`. If all columns repeat one row
    in memory, the sum is computed for that row only."""
    parts = [(column, coefficient) for column, coefficient in terms if column.size]
    if len(parts) == 1 and parts[0][1] == 1 and not bias:
        column = parts[0][0]
        return column.repeated(shape)
    unit = lcm(bias.denominator, *(column.unit * coefficient.denominator for column, coefficient in parts))
    factors = [
        coefficient.numerator * (unit // (column.unit * coefficient.denominator)) for column, coefficient in parts
    ]
    start = bias.numerator * (unit // bias.denominator)
    bound = abs(start) + sum(abs(factor) * column.size for factor, (column, _) in zip(factors, parts, strict=True))
    # A stride of 0 along the words marks a broadcast row: every word has the same numbers.
    same = all(len(column.whole) == 1 or column.whole.strides[0] == 0 for column, _ in parts)
    wide = (1, shape[1]) if same else shape
    if not parts:
        return Exact(np.full(wide, start, dtype=object if bound >= SAFE else np.int64), unit, bound).repeated(shape)
    total: Integers | None = None
    for factor, (column, _) in zip(factors, parts, strict=True):
        part = widened(column.whole[:1] if same else column.whole, bound)
        part = part if factor == 1 else -part if factor == -1 else part * factor
        total = part if total is None else total + part
    assert total is not None
    if start:
        total = total + start
    found = Exact.of(total if total.shape == wide else np.broadcast_to(total, wide), unit)
    return found.repeated(shape) if same else found


def quotient(totals: Integers, counts: Integers, over: int, most: float = LARGEST_COLUMN) -> Exact:
    """Return `totals / (counts * over)` over one common unit. The unit has about 1.44 bits for every position. Raises
    InputError if the columns would take more than `most` bytes."""
    if not counts.size or counts.max() <= 1:
        return Exact.of(totals, over)
    # A row is short, and Python's set of it is found faster than numpy's.
    several = sorted({*counts[0].tolist()} if len(counts) == 1 else np.unique(counts).tolist())
    unit = _common_multiple(tuple(several), 8 * most / totals.size)
    if unit is None:
        raise InputError(
            f"exact means of up to {counts.max():,} values at {totals.size:,} positions take more than "
            f"{LARGEST_COLUMN >> 20} MiB for each coordinate",
            hint="Give shorter words.",
        )
    kind = object if largest(totals) * unit >= SAFE or unit >= SAFE else np.int64
    if kind is object and totals.dtype != object and len(counts) == 1 and over * largest(counts) < SAFE:
        return _ratios(totals, counts[0], over, unit)
    return Exact.of(totals.astype(kind) * (unit // counts.astype(kind)), over * unit)


@lru_cache(16)
def _common_multiple(counts: tuple[int, ...], most: float) -> int | None:
    """Return the least common multiple of some counts; None if it has more than about `most` bits."""
    unit = 1
    for count in counts:
        unit = lcm(unit, count)
        if unit.bit_length() > most:
            return None
    return unit


def _ratios(totals: Integers, counts: Integers, over: int, unit: int) -> Exact:
    """Return `totals / (counts * over)` over the least unit that divides `over * unit`, a multiple of all counts. The
    facts that `Exact.of` would find in the numerators are found in machine integers."""
    factors = [unit // count for count in counts.tolist()]
    most = np.maximum(totals.max(axis=0), -totals.min(axis=0)).tolist()
    size = max(one * factor for one, factor in zip(most, factors, strict=True))
    unit, common = over * unit, 1
    if unit >= LARGE_UNIT:
        shared = np.gcd.reduce(totals, axis=0).tolist()
        common = gcd(unit, *(one * factor for one, factor in zip(shared, factors, strict=True)))
    return Exact.of_ratio(totals, counts * over, unit // common, size // common)
