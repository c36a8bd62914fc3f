"""Exact rational columns of a batch of words: integer arrays over a common unit.

Machine integers where a bound computed beforehand shows that nothing overflows, Python's integers otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardsim.errors import InputError
from hardsim.network.numbers import Rational

Integers = NDArray[Any]
"""An array of dtype int64, or of Python's integers (dtype object)."""

SAFE = 1 << 62
LARGE_UNIT = 1 << 16
LARGEST_COLUMN = 3 << 26
"""Bytes that the exact means of one coordinate may take: about six such columns are held at a time."""


@dataclass(frozen=True, slots=True)
class Exact:
    """The numbers `whole / unit`; `size` bounds |whole|. A column has shape (words, positions).

    Where the unit is no machine integer the numbers are Python's, so that they can be held against it.
    """

    whole: Integers
    unit: int
    size: int

    @staticmethod
    def of(whole: Integers, unit: int = 1, large: int = LARGE_UNIT) -> Exact:
        """Measure the numbers, and cancel what all have in common with a large unit; zeros then have the unit 1."""
        size = largest(whole)
        if unit >= large and (common := gcd(unit, int(np.gcd.reduce(whole, axis=None)))) > 1:
            # Of zeros the whole unit is cancelled, which need not be a machine integer.
            whole = (whole if common < SAFE else whole.astype(object)) // common
            unit, size = unit // common, size // common
        kind = object if max(size, unit) >= SAFE else np.int64
        return Exact(whole if whole.dtype == kind else whole.astype(kind), unit, size)

    @staticmethod
    def row(values: Sequence[Rational], words: int) -> Exact:
        """The same values at every word of a batch."""
        if values and values.count(values[0]) == len(values):
            unit = values[0].denominator
            whole = [values[0].numerator] * len(values)
        else:
            unit = lcm(*(value.denominator for value in values))
            whole = [value.numerator * (unit // value.denominator) for value in values]
        size = max(map(abs, whole), default=0)
        line = np.array(whole, dtype=np.int64 if max(size, unit) < SAFE else object)
        return Exact(np.broadcast_to(line, (words, len(whole))), unit, size)

    def repeated(self, shape: tuple[int, int]) -> Exact:
        """The same at every word."""
        return Exact(np.broadcast_to(self.whole, shape), self.unit, self.size)

    def at(self, word: int, position: int) -> Fraction:
        """One number."""
        return Fraction(int(self.whole[word, position]), self.unit)

    def block(self, positions: slice) -> Exact:
        """What some positions hold, over the least unit."""
        whole = self.whole[:, positions]
        return Exact(whole, 1, self.size) if self.unit == 1 else Exact.of(whole, self.unit, 1)

    def values(self, word: int) -> list[Rational]:
        """The numbers of one word."""
        whole: list[int] = self.whole[word].tolist()
        return [*whole] if self.unit == 1 else [Fraction(value, self.unit) for value in whole]

    def part(self, positions: slice) -> Exact:
        """The columns of some positions, over the same unit."""
        return Exact(self.whole[:, positions], self.unit, self.size)

    def then(self, other: Exact) -> Exact:
        """These columns, and after them those of the other."""
        unit = lcm(self.unit, other.unit)
        size = max(self.size * (unit // self.unit), other.size * (unit // other.unit))
        parts = [widened(one.whole, max(size, unit)) * (unit // one.unit) for one in (self, other)]
        return Exact(np.concatenate(parts, axis=1), unit, size)

    def times(self, other: Exact) -> Exact:
        """The product, number by number."""
        size, unit = self.size * other.size, self.unit * other.unit
        return Exact.of(widened(self.whole, max(size, unit)) * other.whole, unit)

    def clip(self, high: bool = True) -> Exact:
        """At least 0 and, if `high`, at most 1."""
        return Exact.of(np.clip(self.whole, 0, self.unit if high else None), self.unit)

    @property
    def magnitude(self) -> Fraction:
        """The largest absolute value."""
        return Fraction(self.size, self.unit)


def largest(whole: Integers) -> int:
    """The largest absolute value."""
    return int(max(abs(int(whole.max())), abs(int(whole.min())))) if whole.size else 0


def widened(whole: Integers, bound: int) -> Integers:
    """The array in a type that holds numbers up to the bound."""
    return whole.astype(object) if bound >= SAFE and whole.dtype != object else whole


def distinct(columns: Sequence[Integers], shape: tuple[int, int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The number of each different tuple that columns of a shape have at an entry, and where in the flattened columns
    each tuple occurs first."""
    found, first = np.zeros(shape[0] * shape[1], dtype=np.int64), np.zeros(1, dtype=np.int64)
    for column in columns:
        values, inverse = np.unique(column.ravel(), return_inverse=True)
        _, first, found = np.unique(found * len(values) + inverse, return_index=True, return_inverse=True)
    return found.reshape(shape), first


def combination(terms: Iterable[tuple[Exact, Rational]], bias: Rational, shape: tuple[int, int]) -> Exact:
    """The sum of columns times coefficients, plus a constant; computed once if all words have the same in memory."""
    parts = [(column, coefficient) for column, coefficient in terms if column.size]
    if len(parts) == 1 and parts[0][1] == 1 and not bias:
        column = parts[0][0]
        return column if column.whole.shape == shape else column.repeated(shape)
    unit = lcm(bias.denominator, *(column.unit * coefficient.denominator for column, coefficient in parts))
    factors = [int(coefficient * unit) // column.unit for column, coefficient in parts]
    start = int(bias * unit)
    bound = abs(start) + sum(abs(factor) * column.size for factor, (column, _) in zip(factors, parts, strict=True))
    same = all(len(column.whole) == 1 or column.whole.strides[0] == 0 for column, _ in parts)
    total: Integers = np.full((1, shape[1]) if same else shape, start, dtype=object if bound >= SAFE else np.int64)
    for factor, (column, _) in zip(factors, parts, strict=True):
        total = total + widened(column.whole[:1] if same else column.whole, bound) * factor
    found = Exact.of(total, unit)
    return found.repeated(shape) if same else found


def quotient(totals: Integers, counts: Integers, over: int, most: float = LARGEST_COLUMN) -> Exact:
    """`totals / (counts * over)` over one unit, which alone has 1.44 bits for every position."""
    unit = 1
    for count in np.unique(counts) if counts.size and counts.max() > 1 else ():
        unit = lcm(unit, int(count))
        if totals.size * unit.bit_length() // 8 > most:
            raise InputError(
                f"exact means of up to {counts.max():,} values at {totals.size:,} positions take more than "
                f"{LARGEST_COLUMN >> 20} MiB for each coordinate",
                hint="Give shorter words.",
            )
    if unit == 1:
        return Exact.of(totals, over)
    kind = object if largest(totals) * unit >= SAFE or unit >= SAFE else np.int64
    return Exact.of(totals.astype(kind) * (unit // counts.astype(kind)), over * unit)
