"""Running sums of positive numbers given by their logarithms, for many sums at once, and exact columns as arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hardsim.proof.outward import RANGE, exp_lower, exponential
from hardsim.spec.ir import Rational

if TYPE_CHECKING:
    from numpy import int64
    from numpy.typing import NDArray

    from hardsim.proof.outward import Array

NOTHING = -math.inf
"""The logarithm of an empty sum, and the largest of no numbers; every other is finite."""


@dataclass
class Running:
    """Sums of positive numbers as `mantissa * e^top`, each at most a factor of 1 + 2^-46 off for every number added.

    Tops are logarithms of numbers added, so nothing over- or underflows; what is more than 640 nats below the top
    counts as e^-640 of it, which is within that factor.
    """

    top: Array
    mantissa: Array

    @staticmethod
    def empty(shape: tuple[int, ...]) -> Running:
        """Sums of nothing."""
        import numpy as np

        return Running(np.full(shape, NOTHING), np.ones(shape))

    def plus(self, top: Array, mantissa: Array | float = 1.0) -> Running:
        """With numbers `mantissa * e^top` added."""
        import numpy as np

        # Two empty sums are nan apart, which counts as far: their top stays that of nothing.
        part = exponential(np.fmax(-np.abs(self.top - top), -RANGE))
        grown = np.where(top > self.top, self.mantissa * part + mantissa, self.mantissa + mantissa * part)
        return Running(np.maximum(top, self.top), grown)

    def first(self, size: int) -> Running:
        """The first sums along the last axis."""
        return Running(self.top[..., :size], self.mantissa[..., :size])

    def at(self, places: NDArray[int64]) -> Running:
        """Some sums along the last axis."""
        return Running(self.top[..., places], self.mantissa[..., places])

    def put(self, other: Running) -> None:
        """Replace the first sums along the last axis."""
        size = other.top.shape[-1]
        self.top[..., :size], self.mantissa[..., :size] = other.top, other.mantissa


def share(wrong: Running, right: Running, error: Array, terms: int) -> Array:
    """At least wrong/(wrong + right), of sums of up to so many numbers whose logarithms are each off by at most
    `error`; empty sums count as nothing."""
    import numpy as np

    distance = right.top - wrong.top - 2 * error
    quotient = exp_lower(distance) * (right.mantissa / wrong.mantissa) * (1 - (terms + 8) * 2.0**-45)
    quotient = np.where(right.top > NOTHING, quotient, 0.0)
    found = (1 + 2.0**-50) / (1 + np.maximum(quotient, 0.0))
    result: Array = np.where(wrong.top == NOTHING, 0.0, np.where(found < 1.0, found, 1.0))
    return result


class Columns:
    """Columns of exact numbers as arrays, each converted once: heads share encodings, queries and keys."""

    def __init__(self) -> None:
        # A column is kept beside its arrays, so that no other can have its identity.
        self._known: dict[int, tuple[Sequence[Rational], Array, NDArray[int64]]] = {}

    def floats(self, column: Sequence[Rational]) -> Array:
        """The numbers, each rounded once.

        Raises:
            OverflowError: if one is too large for a float.
        """
        return self._convert(column)[1]

    def numbers(self, column: Sequence[Rational]) -> NDArray[int64]:
        """Which of its different values (exactly) each entry of a column is."""
        return self._convert(column)[2]

    def _convert(self, column: Sequence[Rational]) -> tuple[Sequence[Rational], Array, NDArray[int64]]:
        import numpy as np

        known = self._known.get(id(column))
        if known is None:
            seen: dict[tuple[int, int], int] = {}
            numbers = np.array([seen.setdefault(value.as_integer_ratio(), len(seen)) for value in column], np.int64)
            floats = np.array([top / bottom for top, bottom in seen])
            known = self._known[id(column)] = (column, floats[numbers], numbers)
        return known
