"""Exponentials of scores that no word changes, in float64 enclosures, by blocks of queries.

A head whose query is the same for every word and whose key is a static part plus a constant of the key's class has
the logits l_ij + c_t(i): l from the static parts alone, c_t(i) the constant of class t. So one table of e^(l_ij - r_i)
serves all classes, and all heads with the same static parts and mask.

Tables are kept as long as together they take at most TABLES bytes; the others are computed again, a block of queries
at a time, for every batch. Blocks only reach over the keys that some query of the block sees.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from hardsim.run.enclosure import EXP_ERROR, Booleans, Floats, Integers, U, gamma, growth, outward
from hardsim.spec.ir import Mask

TABLES = 2**26
"""Bytes of tables that are kept at one length."""
ONE_BLOCK = 256
"""Up to this length all queries are one block."""
BLOCK_CELLS = 2**19
"""Entries of a block of a table at greater lengths: four megabytes."""
DEEPEST = 750.0
"""e^-750 is below 2^-1080: a distance beyond it may be off by any share, since its exponential, and the computed one
with it, is 0 up to what the bounds allow for underflow."""


@dataclass(frozen=True, slots=True)
class Rows:
    """k vectors of a length n, (k, n): midpoints and radii."""

    mid: Floats
    rad: Floats


@dataclass(frozen=True)
class Views:
    """Which keys each query sees: from `starts` up to but not including `stops`, places from 0, shape (n,)."""

    mask: Mask
    n: int
    starts: Integers = field(init=False, repr=False)
    stops: Integers = field(init=False, repr=False)

    def __post_init__(self) -> None:
        seen = [self.mask.visible(i, self.n) for i in range(1, self.n + 1)]
        object.__setattr__(self, "starts", np.array([positions.start - 1 for positions in seen]))
        object.__setattr__(self, "stops", np.array([positions.stop - 1 for positions in seen]))

    def visible(self, rows: Integers, low: int = 0, high: int | None = None) -> Booleans:
        """Which of the keys from `low` up to but not including `high` the queries at these places see: (rows, keys)."""
        keys = np.arange(low, self.n if high is None else high)[None, :]
        return (keys >= self.starts[rows][:, None]) & (keys < self.stops[rows][:, None])

    def span(self, rows: Integers) -> tuple[int, int]:
        """The keys that some of these queries see."""
        return int(self.starts[rows].min()), int(self.stops[rows].max())

    def reach(self, sizes: Floats) -> Floats:
        """The largest of the visible sizes of each query; keys are the last axis."""
        return most(sizes, self.mask)


def most(sizes: Floats, mask: Mask) -> Floats:
    """The largest of the visible entries along the last axis, by query."""
    if mask is Mask.FUTURE:
        return np.maximum.accumulate(sizes, axis=-1)
    if mask is Mask.PAST:
        return np.maximum.accumulate(sizes[..., ::-1], axis=-1)[..., ::-1]
    return np.broadcast_to(sizes.max(axis=-1, keepdims=True), sizes.shape)


def slack_of(left: Floats, left_rad: Floats, right: Floats, right_rad: Floats) -> Floats:
    """How far the computed logits of a row may be off, from the sizes of its k factors and the largest of the keys'
    that it sees, all (..., k, rows); the result is (..., rows).

    A product of two enclosures has the radius |q| k' + q' |k| + q' k', and a sum of k products, each with a rounding
    of its own, is off by gamma_(k + 1) times the sum of sizes.
    """
    k = left.shape[-2]
    bound = left * right_rad + left_rad * (right + right_rad) + gamma(k + 1) * left * right
    return outward(np.asarray(bound.sum(axis=-2)))


def weight_error(slack: Floats, left: Floats, right: Floats) -> Floats:
    """The relative error of e^(l_ij - r_i) where the logits, and r_i with them, are off by `slack` at most: the
    distance is at most twice the largest logit of the row, and rounded once."""
    distance = np.minimum(2 * (left * right).sum(axis=-2) + slack, DEEPEST)
    drift = growth(outward(slack + 2 * U * distance))
    return outward(drift + EXP_ERROR * (1 + drift))


class ExpTable:
    """The table of e^(l_ij - r_i), l_ij = sum over the k rows of left_i right_j, for the keys j that i sees.

    `reference` is r and `error` the relative error of row i's entries, both (n,).
    """

    def __init__(self, views: Views, left: Rows, right: Rows) -> None:
        self.views = views
        self.left, self.right = left, right
        n = views.n
        far = views.reach(np.abs(right.mid)), views.reach(right.rad)
        slack = slack_of(np.abs(left.mid), left.rad, *far)
        self.error = weight_error(slack, np.abs(left.mid), far[0])
        self.reference = np.zeros(n)
        for rows in self.blocks(slice(0, n)):
            low, high = views.span(rows)
            logits = np.where(views.visible(rows, low, high).T, self._logits(rows, low, high), -np.inf)
            self.reference[rows] = logits.max(axis=0)
        self._kept: Floats | None = None

    def blocks(self, rows: slice) -> Iterator[Integers]:
        """The places of the queries in `rows`, block by block."""
        n = self.views.n
        step = n if n <= ONE_BLOCK else max(32, BLOCK_CELLS // n)
        for start in range(rows.start, rows.stop, step):
            yield np.arange(start, min(start + step, rows.stop))

    def keep(self) -> None:
        """Hold the whole table from now on."""
        kept = np.zeros((self.views.n, self.views.n))
        for rows in self.blocks(slice(0, self.views.n)):
            low, high, block = self.block(rows)
            kept[low:high, rows[0] : rows[-1] + 1] = block
        self._kept = kept

    def block(self, rows: Integers) -> tuple[int, int, Floats]:
        """The keys that these queries (one after the other) see, from and up to, and the transposed part of the
        table, (keys, rows)."""
        low, high = self.views.span(rows)
        if self._kept is not None:
            return low, high, self._kept[low:high, rows[0] : rows[-1] + 1]
        distance = self._logits(rows, low, high)
        distance -= self.reference[rows]
        if self.views.mask is not Mask.NONE:
            distance[~self.views.visible(rows, low, high).T] = -np.inf
        return low, high, np.exp(distance, out=distance)

    def _logits(self, rows: Integers, low: int, high: int) -> Floats:
        total = np.zeros((high - low, len(rows)))
        for left, right in zip(self.left.mid, self.right.mid, strict=True):
            total += right[low:high, None] * left[None, rows]
        return total


class Tables:
    """The tables of one length, shared by the heads that have the same."""

    def __init__(self) -> None:
        self._known: dict[tuple[Mask, int, bytes], ExpTable] = {}
        self.kept = 0
        """Bytes of the tables that are kept."""

    def get(self, views: Views, left: Rows, right: Rows) -> ExpTable:
        """The table of these factors, whose radii are part of what makes it the same."""
        parts = (left.mid, left.rad, right.mid, right.rad)
        place = (views.mask, views.n, b"".join(part.tobytes() for part in parts))
        known = self._known.get(place)
        if known is None:
            known = self._known[place] = ExpTable(views, left, right)
            size = 8 * views.n**2
            if self.kept + size <= TABLES:
                known.keep()
                self.kept += size
        return known
