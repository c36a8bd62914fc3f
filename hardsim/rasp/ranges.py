"""Integers that must stay in [-n, n], and the check that they do.

A look-up finds a position, so it cannot give a prefix sum above n, nor the square of an integer above n. The numbers
are read from the columns that stand before the look-up, where nothing has cut them off yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hardsim.ahat.exact import Trace
from hardsim.errors import OutOfRange
from hardsim.spec.integers import Exact, combination, widened
from hardsim.spec.ir import Rational

Terms: TypeAlias = tuple[tuple[int, Rational], ...]
"""A linear form over the indices of coordinates."""


@dataclass(frozen=True, slots=True)
class Measure:
    """An integer in the columns: `n * whole + bits` at position i, times i + 1 if both are means over 0..i."""

    whole: Terms
    bits: Terms = ()
    mean: bool = False

    def column(self, trace: Trace) -> Exact:
        """The integer at every index of every word of a batch, but for the factor i + 1; shape (words, positions)."""
        terms = [(index, trace.n * c) for index, c in self.whole] + list(self.bits)
        return combination([(trace.columns[index], c) for index, c in terms], 0, trace.columns[0].whole.shape)

    def at(self, column: Exact, word: int, i: int) -> Fraction:
        """The integer at position i of a word."""
        return column.at(word, i) * (i + 1 if self.mean else 1)

    def outside(self, column: Exact, n: int) -> NDArray[np.bool_]:
        """Where the integer is outside [-n, n]; shape (words, n), positions from 1."""
        factors = np.arange(2, n + 2) if self.mean else np.ones(n, dtype=np.int64)
        sizes = np.abs(widened(column.whole[:, 1:], column.size * (n + 1)) * factors)
        result: NDArray[np.bool_] = sizes > n * column.unit
        return result


@dataclass(frozen=True, slots=True)
class Guard:
    """Integers of one vector's definition that must be in [-n, n]."""

    vector: str
    what: str
    measure: Measure


def check_ranges(guards: Sequence[Guard], words: Sequence[Sequence[str]], trace: Trace) -> None:
    """Hold the integers of a run to their range.

    Args:
        guards: those of the compiled program, in its order: what a number out of range leads to comes later.
        words: the words of the batch, as the error shows them.
        trace: the exact interpreter's run on the words.

    Raises:
        OutOfRange: for the first word with a number out of range, the first vector, and the first position; it names
            all three.
    """
    for number, guard, found in sorted(_violations(guards, trace), key=lambda each: each[0])[:1]:
        i, value = found
        shown = ("" if all(len(symbol) == 1 for symbol in words[number]) else " ").join(words[number])
        raise OutOfRange(
            f"word '{shown}': {guard.what} of the vector {guard.vector} is {value} at position {i}, outside "
            f"[-{trace.n}, {trace.n}]",
            "The network can hold integers from -n to n there, n the (padded) length: bring the number into range, or "
            "pad the word.",
        )


def _violations(guards: Sequence[Guard], trace: Trace) -> Iterator[tuple[int, Guard, tuple[int, Fraction]]]:
    """For each guard the first word with a number out of range, and the number's position and value."""
    n = trace.n
    for guard in guards:
        column = guard.measure.column(trace)
        outside = guard.measure.outside(column, n)
        violated = outside.any(axis=1)
        if violated.any():
            word = int(violated.argmax())
            place = int(outside[word].argmax()) + 1
            yield word, guard, (place, guard.measure.at(column, word, place))
