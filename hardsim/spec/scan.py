"""Hard attention on Booleans, for a batch of words, bit by bit: who wins each row, and by how much.

Where the query is the same for every word and the key reads Booleans, a key at position j is of one of a few classes,
and its score for a query depends on j and the class alone. The pairs (j, class) of a row, sorted by score, are its
candidates: in a word the winner is the first candidate that the word has (position j is of that class), the runner-up
the second. With a bit for each word, both are found for 64 words at a time by running disjunctions over the
candidates; nothing is taken from what the head is meant to find.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from hardsim.lang.lanes import Lanes
from hardsim.spec.integers import SAFE
from hardsim.spec.ir import Mask, Rational, Weighting

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Order:
    """The candidates of one row by falling score: their positions (0-based), their classes, and their scores times
    the unit of the head."""

    positions: Integers
    classes: Integers
    scores: list[int]


@dataclass(frozen=True, slots=True)
class Orders:
    """The candidates of every row of a head at one length."""

    unit: int
    rows: tuple[Order, ...]


def make_orders(
    queries: Sequence[Sequence[Rational]],
    keys: Sequence[Sequence[Rational]],
    shifts: Sequence[Sequence[Rational]],
    mask: Mask,
) -> Orders:
    """The candidates of every row.

    Args:
        queries: the query forms at every position, (pairs, n).
        keys: what of the key forms is the same for every word, (pairs, n).
        shifts: what each class adds to the key forms, (classes, pairs).
    """
    n = len(queries[0])
    query_unit = lcm(*(value.denominator for form in queries for value in form))
    key_unit = lcm(*(value.denominator for form in (*keys, *shifts) for value in form))
    left = [[int(value * query_unit) for value in form] for form in queries]
    right = [[int(value * key_unit) for value in form] for form in keys]
    steps = [[int(value * key_unit) for value in shift] for shift in shifts]
    size = max(abs(v) for form in left for v in form) * 2 * max(abs(v) for form in (*right, *steps) for v in form)
    kind = object if size * len(queries) >= SAFE else np.int64
    table = np.array(right, dtype=kind)[None, :, :] + np.array(steps, dtype=kind)[:, :, None]
    rows = []
    for i in range(1, n + 1):
        visible = mask.visible(i, n)
        low, high = visible.start - 1, visible.stop - 1
        query = np.array([form[i - 1] for form in left], dtype=kind)
        scores = (query[None, :, None] * table[:, :, low:high]).sum(axis=1)
        flat = scores.T.ravel()
        order = np.argsort(-flat, kind="stable")  # of equal scores the leftmost position comes first
        places, classes = np.divmod(order, len(steps))
        rows.append(Order(places + low, classes, [int(score) for score in flat[order]]))
    return Orders(query_unit * key_unit, tuple(rows))


@dataclass(frozen=True, slots=True)
class Winners:
    """The winner of one row: `first[c]` holds the words in which candidate c wins."""

    first: Lanes
    second: Lanes

    @staticmethod
    def of(order: Order, classes: Lanes) -> Winners:
        """`classes` tells of every class and position which words have it there: (classes, n, lanes)."""
        present = classes[order.classes, order.positions]
        first = _earliest(present)
        return Winners(first, _earliest(present & ~first))


def _earliest(present: Lanes) -> Lanes:
    """Of each word the first candidate only, (candidates, lanes)."""
    found: Lanes = present.copy()
    found[1:] &= ~np.bitwise_or.accumulate(present, axis=0)[:-1]
    return found


def read(order: Order, winners: Winners, values: Lanes) -> Lanes:
    """The value at the winner, (lanes,), of Booleans by position."""
    found: Lanes = np.bitwise_or.reduce(winners.first & values[order.positions], axis=0)
    return found


@dataclass(slots=True)
class Gap:
    """The least gap over rows and words, in the unit of the scores: None before any row with two positions."""

    least: int | None = None

    def note(self, order: Order, winners: Winners, declared: int | None) -> Lanes | None:
        """Take one row into account; the words in which its gap is less than declared, if there are any.

        Only pairs of candidates that could lower the least gap, or fall below the declared one, are looked at.
        """
        scores = order.scores
        one = np.flatnonzero(winners.first.any(axis=1)).tolist()
        two = np.flatnonzero(winners.second.any(axis=1)).tolist()
        for c in one:
            for d in two:
                gap = scores[c] - scores[d]
                if d <= c:
                    continue
                if self.least is not None and gap >= max(self.least, declared or 0):
                    break
                both = winners.first[c] & winners.second[d]
                if both.any():
                    self.least = gap if self.least is None else min(self.least, gap)
                    if declared is not None and gap < declared:
                        return both
                    break
        return None

    def over(self, unit: int) -> Fraction | None:
        """The gap as a number."""
        return None if self.least is None else Fraction(self.least, unit)


def misplaced(order: Order, winners: Winners, select: Lanes, weighting: Weighting, visible: range) -> Lanes | None:
    """The words in which the winner is not the rightmost (leftmost) visible position with the largest `select`."""
    low, high = visible.start - 1, visible.stop - 1
    won = np.zeros_like(select[low:high])
    for number in range(int(order.classes.max()) + 1):
        some = np.flatnonzero(order.classes == number)
        won[order.positions[some] - low] |= winners.first[some]
    seen = select[low:high] if weighting is Weighting.LEFTMOST else select[low:high][::-1]
    expected = _earliest(seen)
    expected[0] |= ~np.bitwise_or.reduce(seen, axis=0)  # where none is selected the nearest to the edge counts
    if weighting is not Weighting.LEFTMOST:
        expected = expected[::-1]
    wrong: Lanes = np.bitwise_or.reduce(won ^ expected, axis=0)
    return wrong if wrong.any() else None
