"""The order of all candidates of a head by score, where one order holds in every row; winners are running maxima.

A candidate is a position with one combination of the Booleans that the key reads there. Where the query is the same for
every word, candidates have scores before any word is seen. Let the score be `b + q(i) . k`, with b what the components
of a constant query add up to, and call the distinct k groups. Inside a group the candidates are ordered by b, in every
row; the groups themselves may be ordered too, if in every row each visible candidate of a group is above each of the
group below (of `i q_j + j/2`, j <= i: those with q_j = 1 are above the others). Then a number for every candidate, its
rank, says all: in a word the winner of a row is the visible candidate with the largest rank, the runner-up the next.
All of it is checked on the exact numbers of the length; nothing is taken from what the head is meant to find.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import lcm
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hardsim.hard.hardmax import visible_folds
from hardsim.network.integers import SAFE, Exact, Integers, distinct, widened
from hardsim.network.numbers import Mask
from hardsim.program.model import Weighting

MOST_GROUPS = 8
"""Groups whose order is looked for: it takes a pass over the positions for every two of them."""

Ranks: TypeAlias = NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True)
class Order:
    """The candidates of a head at one length, by their ranks 0, 1, ...

    Attributes:
        ranks: by combination and position, (combinations, n); equal scores of two positions are ranked as the head
            prefers them.
        positions: by rank (0-based).
        closest: a lower bound of the score gap of every row of every word, times `unit`; None if no two are visible.
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
        """The order for queries of shape (1, n) and keys of shape (combinations, n); None if none is found that holds
        in all rows."""
        if mask.strict:
            return None
        unit = lcm(*(query.unit * key.unit for query, key in pairs))
        factors = [unit // (query.unit * key.unit) for query, key in pairs]
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
        """Whether a candidate is above another exactly if its number in `select`, (combinations, n), is larger, or the
        same and its position the one that the head prefers: then the winner of every row of every word is the rightmost
        (leftmost) visible position with the largest number."""
        size, n = select.shape
        places = np.arange(n)
        steps = places[::-1] if weighting is Weighting.LEFTMOST else places
        _, height = np.unique(select.ravel(), return_inverse=True)
        wanted = height * n + np.tile(steps, size)
        flat = self.ranks.ravel()
        rising = np.argsort(flat, kind="stable")
        one, other = np.diff(flat[rising]), np.diff(wanted[rising])
        return bool((np.sign(one) == np.sign(other)).all())

    def gaps(self, best: Ranks, second: Ranks, rows: slice) -> Integers:
        """How far the scores of two candidates are apart, times `unit`, in some rows; ranks of shape (rows, words)."""
        found: Integers = self._base[best] - self._base[second]
        if self._offsets.shape[1] > 1:
            wide = self._offsets[rows]
            found = found + np.take_along_axis(wide, self._groups[best], axis=1)
            found = found - np.take_along_axis(wide, self._groups[second], axis=1)
        return found


def _ordered(
    base: Integers, groups: NDArray[np.int64], offsets: Integers, unit: int, mask: Mask, weighting: Weighting
) -> Order | None:
    """Rank the candidates: by group as the row that sees all has them, then by `base`, then by what is preferred."""
    n, count = offsets.shape
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
    """Of every two groups how far the lowest visible candidate of the upper one is above the highest of the lower one,
    in the row where it is least."""
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
    """The largest of what each query sees of numbers by position and word, (n, words), and the second largest of the
    rows that see two or more; the slice says which rows those are."""
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
    """The running maximum along the first axis: of windows twice as wide each time, in passes that are wide whatever
    the other axis is."""
    width = 1
    while width < len(numbers):
        numbers = np.concatenate([numbers[:width], np.maximum(numbers[width:], numbers[:-width])])
        width *= 2
    return numbers
