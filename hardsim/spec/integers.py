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

from hardsim.spec.ir import Rational

Integers = NDArray[Any]
"""An array of dtype int64, or of Python's integers (dtype object)."""

Numerators = tuple[Integers, int]
"""Numbers by word: numerators, (words,), and the unit that they are divided by."""

SAFE = 1 << 62
LARGE_UNIT = 1 << 16


@dataclass(frozen=True, slots=True)
class Exact:
    """The numbers `whole / unit`; `size` bounds |whole|. A column has shape (words, positions).

    Where the unit is no machine integer the numbers are Python's, so that they can be held against it.
    """

    whole: Integers
    unit: int
    size: int

    @staticmethod
    def of(whole: Integers, unit: int = 1) -> Exact:
        """Measure the numbers, and cancel what all have in common with a large unit."""
        size = largest(whole)
        if unit >= LARGE_UNIT:
            whole, unit, common = cancelled(whole, unit)
            size //= common
        return Exact(_fitting(whole, max(size, unit)), unit, size)

    @staticmethod
    def row(values: Sequence[Rational], words: int) -> Exact:
        """The same values at every word of a batch."""
        unit = lcm(*(value.denominator for value in values))
        whole = [int(value * unit) for value in values]
        size = max(map(abs, whole), default=0)
        line = np.array(whole, dtype=np.int64 if max(size, unit) < SAFE else object)
        return Exact(np.broadcast_to(line, (words, len(whole))), unit, size)

    def at(self, word: int, position: int) -> Fraction:
        """One number."""
        return Fraction(int(self.whole[word, position]), self.unit)

    @staticmethod
    def stack(parts: Sequence[Numerators]) -> Exact:
        """A column from what each position holds."""
        wholes, unit = over_one_unit(parts)
        return Exact.of(np.stack(wholes, axis=1), unit)

    def place(self, position: int) -> Numerators:
        """What one position holds, in lowest terms."""
        whole, unit, _ = cancelled(self.whole[:, position], self.unit)
        return _fitting(whole, max(largest(whole), unit)), unit

    def values(self, word: int) -> list[Fraction]:
        """The numbers of one word."""
        return [Fraction(int(value), self.unit) for value in self.whole[word]]

    @property
    def magnitude(self) -> Fraction:
        """The largest absolute value."""
        return Fraction(self.size, self.unit)


def cancelled(whole: Integers, unit: int) -> tuple[Integers, int, int]:
    """Numbers and their unit without what all have in common, and that; zeros have the unit 1."""
    common = gcd(unit, int(np.gcd.reduce(whole, axis=None)))
    # Of zeros the whole unit is cancelled, which need not be a machine integer.
    if common > 1:
        whole = (whole if common < SAFE else whole.astype(object)) // common
    return whole, unit // common, common


def _fitting(whole: Integers, bound: int) -> Integers:
    """The array with machine integers exactly if the bound is one."""
    kind = object if bound >= SAFE else np.int64
    return whole if whole.dtype == kind else whole.astype(kind)


def over_one_unit(parts: Sequence[Numerators]) -> tuple[list[Integers], int]:
    """The numerators over the least common multiple of the units, and that multiple."""
    unit = lcm(*(own for _, own in parts))
    bound = max(largest(whole) * (unit // own) for whole, own in parts)
    kind = object if max(bound, unit) >= SAFE else np.int64
    return [whole.astype(kind) * (unit // own) for whole, own in parts], unit


def largest(whole: Integers) -> int:
    """The largest absolute value."""
    return int(max(abs(int(whole.max())), abs(int(whole.min())))) if whole.size else 0


def widened(whole: Integers, bound: int) -> Integers:
    """The array in a type that holds numbers up to the bound."""
    return whole.astype(object) if bound >= SAFE and whole.dtype != object else whole


def combination(terms: Iterable[tuple[Exact, Rational]], bias: Rational, shape: tuple[int, int]) -> Exact:
    """The sum of columns times coefficients, plus a constant."""
    parts = [(column, coefficient) for column, coefficient in terms if column.size]
    unit = lcm(bias.denominator, *(column.unit * coefficient.denominator for column, coefficient in parts))
    factors = [int(coefficient * unit) // column.unit for column, coefficient in parts]
    start = int(bias * unit)
    bound = abs(start) + sum(abs(factor) * column.size for factor, (column, _) in zip(factors, parts, strict=True))
    total: Integers = np.full(shape, start, dtype=object if bound >= SAFE else np.int64)
    for factor, (column, _) in zip(factors, parts, strict=True):
        total = total + widened(column.whole, bound) * factor
    return Exact.of(total, unit)
