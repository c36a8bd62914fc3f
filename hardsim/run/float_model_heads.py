"""Attention of a softmax model in float64 enclosures, some words and queries at a time; see `float_model`.

Radii of logits come from one matrix product: with query factors q (times 1/tau) and key factors k, off by q' and k',
a logit is off by at most `sum |q| (gamma |k| + k') + q' (|k| + k')`, gamma for the k + 4 roundings of each. With e the
radius of a distance, rounded once more, the weight is off by the share `e^e - 1 <= e + e^2` for e <= 1, and by exp.

A key whose weight is uncertain by more than that makes its row uncertain (anything the values allow), unless its logit
is finite and even the largest it may be is below e^LEAST of the row's largest: then it is left out. What it would add,
as what weights that underflow would, is below 2^-900 of the largest value, far less than the rounding of the mean. A
logit is finite where its error is below 1: the sum of its absolute terms is then below 2^53. Keys that are not seen
have the logit minus infinity, so that a row's largest is that of a key that is seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hardsim.errors import InvariantError
from hardsim.run.enclosure import ETA, EXP_ERROR, GROW, Booleans, Floats, U, gamma, outward
from hardsim.run.weights import View
from hardsim.spec.ir import Mask

CHUNK = 1 << 17
"""Scores at a time: one megabyte for each array of them."""
LEAST = -690.0
"""e^LEAST is about 2^-995."""
UNDERFLOW = 2.0**-900
"""Products above it are rounded relatively."""


@dataclass(frozen=True, slots=True)
class Enclosed:
    """Numbers of shape (words, positions): midpoints and radii."""

    mid: Floats
    rad: Floats

    def row(self, word: int) -> tuple[Floats, Floats]:
        """Lower and upper ends for one word, rounded outwards."""
        mid, rad = self.mid[word], self.rad[word]
        return np.nextafter(mid - rad, -np.inf), np.nextafter(mid + rad, np.inf)


class Views:
    """What the queries of a mask see, by index: from `low` up to but not including `high`, and index 0 besides where
    `start` says so, each (queries,)."""

    def __init__(self, mask: Mask, size: int, bos: bool) -> None:
        views = [View.of(mask, query, size, bos) for query in range(size)]
        self.mask, self.size = mask, size
        self.low = np.array([view.low for view in views])
        self.high = np.array([view.high for view in views])
        self.start = np.array([view.start for view in views])
        self.counts = (self.high - self.low + self.start).astype(np.float64)
        self.lone = np.flatnonzero(self.counts == 1)
        self.only = np.where(self.start, 0, self.low)[self.lone]
        """The queries that see one position alone, and which."""
        self.full = bool((self.counts == size).all())

    def seen(self, rows: slice) -> Booleans:
        """Which keys (columns) the queries of these rows see."""
        keys = np.arange(self.size)[None, :]
        found = (keys >= self.low[rows, None]) & (keys < self.high[rows, None])
        found[:, 0] |= self.start[rows]
        return found

    def means(self, values: Floats) -> Floats:
        """The mean of the visible values of each query, in some order of summation."""
        blank = np.zeros((len(values), 1))
        first = values[:, :1] * self.start
        if (self.low == 0).all():
            sums = np.concatenate([blank, np.cumsum(values, axis=1)], axis=1)[:, self.high]
        elif (self.high == self.size).all():
            sums = np.concatenate([np.cumsum(values[:, ::-1], axis=1)[:, ::-1], blank], axis=1)[:, self.low]
        else:
            raise InvariantError(f"the float64 pass has no means under the mask '{self.mask}'")
        found: Floats = (sums + first) / self.counts
        return found


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of some words and queries before they are divided by their sum, the largest of a row about 1, times by
    how much they may be off as a fraction of themselves: both (words, queries, keys). `certain` says of which rows that
    holds (None: of all)."""

    weight: Floats
    off: Floats
    certain: Booleans | None

    def mean(self, value: Enclosed) -> Enclosed:
        """The weighted mean of a column for every query of these."""
        weight, off = self.weight, self.off
        keys = weight.shape[2]
        total, lost = weight.sum(axis=2), off.sum(axis=2)
        mid = _times(weight, value.mid) / total
        reach = np.abs(value.mid).max(axis=1)[:, None]
        rounding = gamma(2 * keys + 6) * 2 * reach
        if np.all((value.mid == 0) | (value.mid == 1)):
            ones = _times(off, value.mid)
            zeros = _times(off, 1 - value.mid)
            moved = ones * np.abs(1 - mid) + zeros * np.abs(mid) + lost * rounding
        else:
            spread = np.abs(value.mid[:, None, :] - mid[:, :, None])
            moved = np.einsum("wqk,wqk->wq", off, spread) + lost * rounding
        least = total * (1 - gamma(keys + 3)) - lost * (1 + gamma(keys + 3))
        uncertain = bool(value.rad.any())
        if uncertain:
            moved = moved + _times(weight, value.rad) + _times(off, value.rad)
        with np.errstate(divide="ignore", invalid="ignore"):
            rad = moved * (1 + gamma(2 * keys)) / (least * (1 - gamma(keys + 3)))
        # A row in which nothing is certain is between the extremes of the values.
        widest = reach + value.rad.max(axis=1)[:, None]
        sure = np.isfinite(rad) & np.isfinite(mid) & (least > 0)
        if self.certain is not None:
            sure &= self.certain
        rad = np.where(sure, np.minimum(rad, 2 * widest), widest)
        return Enclosed(np.where(sure, mid, 0.0), outward(rad * GROW + rounding))


def _times(weight: Floats, values: Floats) -> Floats:
    """The sum over the keys of weights (words, queries, keys) times values (words, keys)."""
    result: Floats = np.matmul(weight, values[:, :, None])[:, :, 0]
    return result


@dataclass(frozen=True, slots=True)
class Scores:
    """The factors of a head's scores, each (words, k, positions): those of the queries times 1/tau."""

    query: Floats
    query_off: Floats
    key: Floats
    key_off: Floats

    @staticmethod
    def of(queries: Sequence[Enclosed], keys: Sequence[Enclosed], inverse: Floats, loose: Floats) -> Scores:
        """From the two sides of the score, row by row of W_Q and W_K; 1/tau is off by its rounding and by `loose`."""
        query, rad = np.stack([one.mid for one in queries], axis=1), np.stack([one.rad for one in queries], axis=1)
        scaled, off = query * inverse, rad * inverse
        if loose.any():
            off += loose * (np.abs(query) + rad)
        small = np.abs(scaled) < UNDERFLOW
        if small.any():
            off += np.where(small & (query != 0), ETA, 0.0)
        return Scores(
            scaled, off, np.stack([one.mid for one in keys], axis=1), np.stack([one.rad for one in keys], axis=1)
        )

    def weights(self, words: slice, rows: slice, keys: int, seen: Booleans) -> Weights:
        """The weights of some words and queries, for the keys before index `keys`."""
        query, key = self.query[words, :, rows].transpose(0, 2, 1), self.key[words, :, :keys]
        size, reach = np.abs(query), np.abs(key)
        error_of = gamma(key.shape[1] + 4) * (1 + 16 * U)
        off, loose = self.query_off[words, :, rows].transpose(0, 2, 1), self.key_off[words, :, :keys]
        logit = np.matmul(query, key)
        left, right = [size], [error_of * reach + loose * (1 + 8 * U)]
        if off.any():
            left.append(off * (1 + 8 * U))
            right.append(reach + loose)
        error = np.matmul(np.concatenate(left, axis=2), np.concatenate(right, axis=1))
        np.copyto(logit, -np.inf, where=~seen)
        logit -= logit.max(axis=2, keepdims=True)
        wide = not error.max() < 0.5
        if wide:
            np.copyto(error, 0.0, where=~seen)
        error -= 2 * U * logit
        error *= GROW
        error += ETA
        certain = None
        if wide:
            left_out = np.isfinite(logit) & (logit + error <= LEAST)
            certain = ((error < 1) | left_out | ~seen).all(axis=2)
        weight = np.exp(logit, out=logit)
        np.minimum(error, 1.0, out=error)
        error *= error + (1 + 2.0**-19)
        error += 2 * EXP_ERROR
        error *= weight
        return Weights(weight, error, certain)


def attended(scores: Scores, values: Sequence[Enclosed], views: Views) -> list[Enclosed]:
    """The attended values of all words and queries, a chunk of words or of queries at a time."""
    words, size = values[0].mid.shape
    found = [Enclosed(np.empty((words, size)), np.empty((words, size))) for _ in values]
    rows_at_once = min(size, max(1, CHUNK // size))
    words_at_once = max(1, CHUNK // (size * rows_at_once))
    for first in range(0, size, rows_at_once):
        rows = slice(first, min(first + rows_at_once, size))
        keys = int(views.high[rows].max())
        seen = views.seen(rows)[:, :keys]
        for start in range(0, words, words_at_once):
            some = slice(start, min(start + words_at_once, words))
            weights = scores.weights(some, rows, keys, seen)
            for value, target in zip(values, found, strict=True):
                mean = weights.mean(Enclosed(value.mid[some, :keys], value.rad[some, :keys]))
                target.mid[some, rows], target.rad[some, rows] = mean.mid, mean.rad
    return found
