"""Hard attention on exact numbers, for a batch of words: all scores of a row, from the definition.

For heads whose queries depend on the word (look-ups, sign tests) or whose keys are not Booleans. Everything is an
integer over a unit of its own row, so that a mean c/i needs no denominator but i.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm

import numpy as np
from numpy.typing import NDArray

from hardsim.spec.integers import SAFE, Exact, Integers, largest, widened
from hardsim.spec.ir import Mask, Weighting

CHUNK = 2**20
"""Scores held at a time."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of scores, by word: the first visible maximum (0-based position), which visible positions are maxima
    (shape (words, visible)), and the distances of the maximum to the next smaller score and to the best of the other
    positions, times `unit`; -1 where there is none."""

    unit: int
    low: int
    winner: NDArray[np.int64]
    top: NDArray[np.bool_]
    below: Integers
    others: Integers


def row(pairs: Sequence[tuple[Exact, Exact]], mask: Mask, i: int, words: slice) -> Row:
    """The row of query i (1-based) for some words; `pairs` are the query and key columns of the score."""
    n = pairs[0][0].whole.shape[1]
    visible = mask.visible(i, n)
    low, high = visible.start - 1, visible.stop - 1
    parts = []
    for query, key in pairs:
        whole, unit = query.place(i - 1)
        keys = key.whole[:, low:high]
        parts.append((_some(whole, words), unit * key.unit, largest(whole), _some(keys, words), key.size))
    unit = lcm(*(own for _, own, _, _, _ in parts))
    bound = sum((unit // own) * query_size * key_size for _, own, query_size, _, key_size in parts)
    total: Integers = np.zeros((1, high - low), dtype=object if bound >= SAFE else np.int64)
    for query_row, own, _, keys, _ in parts:
        total = total + (widened(query_row, bound) * (unit // own))[:, None] * widened(keys, bound)
    best = total.max(axis=1)
    top: NDArray[np.bool_] = total == best[:, None]
    worst = int(total.min()) - 1
    second = np.where(top, worst, total).max(axis=1)
    below = np.where(second == worst, -1, best - second)
    several = top.sum(axis=1) > 1
    return Row(unit, low, low + top.argmax(axis=1), top, below, np.where(several, 0, below))


def _some(whole: Integers, words: slice) -> Integers:
    """The rows of some words; what is the same for every word has one row."""
    return whole if whole.shape[0] == 1 else whole[words]


def chosen(value: Exact, found: Row, words: slice, average: bool) -> tuple[Integers, int]:
    """What the head reads in a row, by word: numerators and their unit. The first maximum, or the mean over all."""
    values = _some(value.whole[:, found.low : found.low + found.top.shape[1]], words)
    count = max(values.shape[0], found.top.shape[0])
    if not average:
        place = np.broadcast_to(found.winner - found.low, (count,))
        return np.broadcast_to(values, (count, values.shape[1]))[np.arange(count), place], value.unit
    wide = widened(values, value.size * values.shape[1])
    totals, sizes = np.where(found.top, wide, 0).sum(axis=1), found.top.sum(axis=1)
    unit = lcm(*(int(size) for size in np.unique(sizes)))
    if largest(totals) * unit >= SAFE or unit >= SAFE:
        return totals.astype(object) * (unit // sizes.astype(object)), value.unit * unit
    return totals * (unit // sizes), value.unit * unit


def misplaced(select: Exact, found: Row, words: slice, weighting: Weighting) -> int | None:
    """The first word (counted from the start of `words`) in which the winner is not the rightmost (leftmost) visible
    position with the largest `select`."""
    seen = _some(select.whole[:, found.low : found.low + found.top.shape[1]], words)
    most = seen == seen.max(axis=1, keepdims=True)
    place = most.argmax(axis=1) if weighting is Weighting.LEFTMOST else seen.shape[1] - 1 - most[:, ::-1].argmax(axis=1)
    wrong = np.flatnonzero(found.winner != found.low + place)
    return int(wrong[0]) if len(wrong) else None
