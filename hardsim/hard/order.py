"""One order of a head's candidates by score, if the same order holds in every row. Winners are then running maxima.

A candidate is a position together with one combination of the Booleans that the key reads there. If the query is the
same for every word, the scores of candidates are known before any word is. Let the score be `b + q(i) . k`, where b
is the sum of the parts with a constant query, and call the distinct k groups. Inside a group, b orders the
candidates, in every row. The groups are ordered too if, in every row, each visible candidate of a group is above each
one of the group below (example: for `i q_j + j/2`, j <= i, the candidates with q_j = 1 are above the others). Then
each candidate has one number, its rank: in every word, the winner of a row is the visible candidate with the largest
rank, and the runner-up the one with the next largest. All conditions are checked on the exact numbers of the length;
nothing is assumed about what the head is meant to find.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import lcm
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hardsim.hard.hardmax import visible_folds
from hardsim.lazy_dataclass import dataclass
from hardsim.network.integers import SAFE, Exact, Integers, distinct, widened
from hardsim.network.numbers import Mask
from hardsim.program.hard_attention import Weighting

MOST_GROUPS = 8
"""The greatest number of groups that are compared: each pair of groups needs a pass over the positions."""

Ranks: TypeAlias = NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True)
class Order:
    """The ordered candidates of a head at one length, by their ranks 0, 1, ...

    Attributes:
        ranks: by combination of the Booleans that a key reads, and position, (combinations, n); equal scores of two
            positions are ranked by the head's preference for the leftmost or rightmost.
        positions: by rank (0-based).
        closest: a lower bound of the score gap of every row of every word, times `unit`; None if no row has two
            visible positions.
    """

    mask: Mask
    ranks: NDArray[np.int64]
    positions: NDArray[np.int64]
    unit: int
    closest: int | None
    _base: Integers
    _groups: NDArray[np.int64]
    _offsets: Integers

    @staticmethod
    def of(pairs: Sequence[tuple[Exact, Exact]], mask: Mask, weighting: Weighting) -> Order | None:
        """Return the order for queries of shape (1, n) and keys of shape (combinations, n); None if no order holds in
        all rows."""
        if mask.strict:
            return None
        unit = lcm(*(query.unit * key.unit for query, key in pairs))
        factors = [unit // (query.unit * key.unit) for query, key in pairs]
        # Differences of scores are computed too: they are at most twice the sum, and the factor 4 leaves a margin.
        bound = 4 * sum(factor * query.size * key.size for factor, (query, key) in zip(factors, pairs, strict=True))
        count, n = pairs[0][1].whole.shape
        base: Integers = np.zeros((count, n), dtype=object if bound >= SAFE else np.int64)
        moving: list[tuple[Integers, Integers]] = []
        for factor, (query, key) in zip(factors, pairs, strict=True):
            if not (query.size and key.size):
                continue
            wide = widened(query.whole[0], bound) * factor
            if (wide == wide[0]).all():
                base = base + widened(key.whole, bound) * wide[0]
            else:
                moving.append((wide, widened(key.whole, bound)))
        groups, first = distinct([key for _, key in moving], (count, n))
        if len(first) > MOST_GROUPS:
            return None
        offsets: Integers = np.zeros((n, len(first)), dtype=base.dtype)
        for by_row, by_key in moving:
            offsets = offsets + by_row[:, None] * by_key.ravel()[first]
        return _ordered(base, groups, offsets, unit, mask, weighting)

    def prefers(self, select: Integers, weighting: Weighting) -> bool:
        """Return True if the ranks agree with the order by `select`, (combinations, n), and then by the head's
        preference for leftmost or rightmost positions.

        In that case the winner of every row of every word is the rightmost (leftmost) visible position with the
        largest `select`.
        """
        size, n = select.shape
        places = np.arange(n)
        steps = places[::-1] if weighting is Weighting.LEFTMOST else places
        _, height = np.unique(select.ravel(), return_inverse=True)
        expected = height * n + np.tile(steps, size)
        flat = self.ranks.ravel()
        rising = np.argsort(flat, kind="stable")
        one, other = np.diff(flat[rising]), np.diff(expected[rising])
        return bool((np.sign(one) == np.sign(other)).all())

    def gaps(self, best: Ranks, second: Ranks, rows: slice) -> Integers:
        """Return the score differences of pairs of candidates, times `unit`. `best` and `second` are ranks of shape
        (rows, words), for the queries in the slice `rows`."""
        found: Integers = self._base[best] - self._base[second]
        if self._offsets.shape[1] > 1:
            wide = self._offsets[rows]
            found = found + np.take_along_axis(wide, self._groups[best], axis=1)
            found = found - np.take_along_axis(wide, self._groups[second], axis=1)
        return found


def _ordered(
    base: Integers, groups: NDArray[np.int64], offsets: Integers, unit: int, mask: Mask, weighting: Weighting
) -> Order | None:
    """Rank the candidates: by group as ordered in a row that sees all positions, then by `base`, then by the head's
    preference. Return None if the groups overlap in some row."""
    n, count = offsets.shape
    # This query sees every position, so no other order of the groups is possible.
    falling = np.argsort(offsets[0 if mask is Mask.PAST else n - 1], kind="stable")
    groups, offsets = np.argsort(falling)[groups], offsets[:, falling]
    levels, inverse = np.unique(base.ravel(), return_inverse=True)
    heights = inverse.reshape(base.shape)
    apart = _apart(levels, heights, groups, offsets, mask) if count > 1 else []
    if apart and min(apart) <= 0:
        return None
    places = np.arange(n)
    steps = places[::-1] if weighting is Weighting.LEFTMOST else places
    codes, ranks = np.unique((groups * len(levels) + heights) * n + steps, return_inverse=True)
    above, turn = np.divmod(codes, n)
    group, height = np.divmod(above, len(levels))
    found = levels[height]
    near = (found[1:] - found[:-1])[group[1:] == group[:-1]]
    apart += [int(near.min())] if near.size else []
    return Order(mask, ranks.reshape(base.shape), steps[turn], unit, min(apart, default=None), found, group, offsets)


def _apart(
    levels: Integers, heights: NDArray[np.int64], groups: NDArray[np.int64], offsets: Integers, mask: Mask
) -> list[int]:
    """Return for every two groups the least distance, over all rows, of the lowest visible candidate of the upper
    group from the highest one of the lower group. Pairs that no row sees together are left out."""
    lowest, highest = [], []
    for group in range(offsets.shape[1]):
        there = groups == group
        low, high = np.where(there, heights, len(levels)).min(axis=0), np.where(there, heights, -1).max(axis=0)
        lowest.append(visible_folds(np.minimum, low, mask, False, len(levels)))
        highest.append(visible_folds(np.maximum, high, mask, False, -1))
    found: list[int] = []
    for down, up in combinations(range(offsets.shape[1]), 2):
        rows = np.flatnonzero((highest[down] >= 0) & (lowest[up] < len(levels)))
        if rows.size:
            above = offsets[rows, up] - offsets[rows, down]
            found.append(int((above + levels[lowest[up][rows]] - levels[highest[down][rows]]).min()))
    return found


def two_largest(codes: Ranks, mask: Mask) -> tuple[Ranks, Ranks, slice]:
    """Return for each query the largest and the second largest of the codes that it sees. Codes have shape (n,
    words).

    The second largest is given for the rows that see two positions or more; the slice says which rows these are.
    """
    n = len(codes)
    step = -1 if mask is Mask.PAST else 1
    codes = codes[::step]
    best = _running(codes)
    second = _running(np.minimum(codes[1:], best[:-1]))
    if mask is Mask.NONE:
        rows = slice(0, n if n > 1 else 0)
        return np.broadcast_to(best[-1:], codes.shape), np.broadcast_to(second[-1:], (rows.stop, codes.shape[1])), rows
    return best[::step], second[::step], slice(0, n - 1) if mask is Mask.PAST else slice(1, n)


def _running(numbers: Ranks) -> Ranks:
    """Return the running maximum along the first axis.

    Windows double in width at each pass, so that every pass works on wide arrays, whatever the size of the other
    axis.
    """
    numbers, width = numbers.copy(), 1
    while width < len(numbers):
        numbers[width:] = np.maximum(numbers[width:], numbers[:-width])
        width *= 2
    return numbers
