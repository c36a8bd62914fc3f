"""Exponentials of exact logits, each computed once.

Logits of exact inputs are rationals, and heads of one network share many of them. They are formed from integer
numerators over common denominators: sums of products of integers are several times as fast as those of fractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import gcd, lcm
from operator import mul
from typing import Generic

from hardsim.run.arithmetic import Arithmetic, T
from hardsim.spec.ir import Rational

MOST = 100_000
"""Exponentials kept at once."""

Whole = tuple[tuple[int, ...], int]
"""A vector of rationals: numerators, and their common denominator."""


def whole(values: Sequence[Rational]) -> Whole:
    """A vector over its least common denominator."""
    unit = lcm(*(value.denominator for value in values))
    return tuple(value.numerator * (unit // value.denominator) for value in values), unit


class Exponentials(Generic[T]):
    """e^x for rational x in one arithmetic, remembered."""

    def __init__(self, arithmetic: Arithmetic[T]) -> None:
        self.arithmetic = arithmetic
        self._known: dict[tuple[int, int], T] = {}

    def product(self, query: Whole, key: Whole) -> T:
        """e^(q . k) of two vectors of the same length."""
        numerator, denominator = sum(map(mul, query[0], key[0])), query[1] * key[1]
        common = gcd(numerator, denominator)
        place = (numerator // common, denominator // common)
        value = self._known.get(place)
        if value is None:
            if len(self._known) >= MOST:
                self._known.clear()
            value = self._known[place] = self.arithmetic.exp(place[0] if place[1] == 1 else Fraction(*place))
        return value
