"""Hard attention on Booleans, for a batch of words, bit by bit: who wins each row, and by how much.

Where the query is the same for every word and the key reads Booleans, a key at position j is of one of a few classes,
and its score for a query depends on j and the class alone. The pairs (j, class) of a row, sorted by score, are its
candidates: in a word the winner is the first candidate that the word has (position j is of that class), the runner-up
the second. With a bit for each word, both are found for 64 words at a time by running disjunctions over the
candidates; nothing is taken from what the head is meant to find.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardsim.lang.lanes import Lanes
from hardsim.spec.integers import SAFE
from hardsim.spec.ir import Mask, Rational, Weighting

Integers = NDArray[np.int64]


KEPT = 256
"""The length up to which the candidates of all rows are kept for the next batch: they take n^2 numbers a head."""


@dataclass(frozen=True, slots=True)
class Order:
    """The candidates of one row by falling score: their positions (0-based), their classes, and their scores times
    the unit of the head. `closest` is the least difference of two that follow each other, None of one alone."""

    positions: Integers
    classes: Integers
    scores: NDArray[Any]
    closest: int | None


class Orders:
    """The candidates of the rows of a head at one length.

    Args:
        queries: the query forms at every position, (pairs, n).
        keys: what of the key forms is the same for every word, (pairs, n).
        shifts: what each class adds to the key forms, (classes, pairs).
    """

    def __init__(
        self,
        queries: Sequence[Sequence[Rational]],
        keys: Sequence[Sequence[Rational]],
        shifts: Sequence[Sequence[Rational]],
        mask: Mask,
    ) -> None:
        query_unit = lcm(*(value.denominator for form in queries for value in form))
        key_unit = lcm(*(value.denominator for form in (*keys, *shifts) for value in form))
        left, right, steps = (
            [[int(value * unit) for value in form] for form in forms]
            for forms, unit in ((queries, query_unit), (keys, key_unit), (shifts, key_unit))
        )
        size = _largest(left) * (_largest(right) + _largest(steps)) * len(queries)
        kind = object if size >= SAFE else np.int64
        self.unit = query_unit * key_unit
        self.mask = mask
        self.n = len(queries[0])
        self._queries = np.array(left, dtype=kind)
        # By class, pair and position.
        self._keys = np.array(right, dtype=kind)[None, :, :] + np.array(steps, dtype=kind)[:, :, None]
        self._kept: dict[int, Order] = {}

    def row(self, i: int) -> Order:
        """The candidates of query i (1-based)."""
        if i in self._kept:
            return self._kept[i]
        visible = self.mask.visible(i, self.n)
        low, high = visible.start - 1, visible.stop - 1
        scores = (self._queries[:, i - 1][None, :, None] * self._keys[:, :, low:high]).sum(axis=1).T.ravel()
        order = np.argsort(-scores, kind="stable")  # of equal scores the leftmost position comes first
        places, classes = np.divmod(order, len(self._keys))
        falling = scores[order]
        closest = int((falling[:-1] - falling[1:]).min()) if len(falling) > 1 else None
        made = Order(places + low, classes, falling, closest)
        if self.n <= KEPT:
            self._kept[i] = made
        return made


def _largest(table: Sequence[Sequence[int]]) -> int:
    return max(abs(value) for line in table for value in line)


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a batch: `present[c]` holds the words that have candidate c, `first[c]` those in which it wins."""

    order: Order
    present: Lanes
    first: Lanes

    @staticmethod
    def of(order: Order, classes: Lanes) -> Row:
        """`classes` tells of every class and position which words have it there: (classes, n, lanes)."""
        present = classes[order.classes, order.positions]
        return Row(order, present, _earliest(present))

    def read(self, values: Lanes) -> Lanes:
        """The value at the winner, (lanes,), of Booleans by position."""
        found: Lanes = np.bitwise_or.reduce(self.first & values[self.order.positions], axis=0)
        return found


def _earliest(present: Lanes) -> Lanes:
    """Of each word the first candidate only, (candidates, lanes)."""
    found = np.bitwise_or.accumulate(present, axis=0)
    found[1:] ^= found[:-1].copy()
    return found


@dataclass(slots=True)
class Gap:
    """The least gap over rows and words, in the unit of the scores: None before any row with two positions."""

    least: int | None = None

    def note(self, row: Row, declared: int | None) -> Lanes | None:
        """Take one row into account; the words in which its gap is less than declared, if there are any.

        Only pairs of candidates that could lower the least gap, or fall below the declared one, are looked at: if no
        two candidates are so close, the row says nothing new.
        """
        closest = row.order.closest
        if closest is None or (self.least is not None and closest >= max(self.least, declared or 0)):
            return None
        scores, second = row.order.scores, _earliest(row.present & ~row.first)
        ones, twos = (np.flatnonzero(lanes.any(axis=1)).tolist() for lanes in (row.first, second))
        for c in ones:
            for d in twos[bisect_right(twos, c) :]:
                gap = int(scores[c] - scores[d])
                if self.least is not None and gap >= max(self.least, declared or 0):
                    break
                both: Lanes = row.first[c] & second[d]
                if both.any():
                    self.least = gap if self.least is None else min(self.least, gap)
                    if declared is not None and gap < declared:
                        return both
                    break
        return None


def misplaced(row: Row, select: Lanes, weighting: Weighting, visible: range) -> Lanes | None:
    """The words in which the winner is not the rightmost (leftmost) visible position with the largest `select`."""
    low, high = visible.start - 1, visible.stop - 1
    won = np.zeros_like(select[low:high])
    order = row.order
    for number in range(int(order.classes.max()) + 1):
        some = np.flatnonzero(order.classes == number)
        won[order.positions[some] - low] |= row.first[some]
    seen = select[low:high] if weighting is Weighting.LEFTMOST else select[low:high][::-1]
    expected = _earliest(seen)
    expected[0] |= ~np.bitwise_or.reduce(seen, axis=0)  # where none is selected the nearest to the edge counts
    if weighting is not Weighting.LEFTMOST:
        expected = expected[::-1]
    wrong: Lanes = np.bitwise_or.reduce(won ^ expected, axis=0)
    return wrong if wrong.any() else None
