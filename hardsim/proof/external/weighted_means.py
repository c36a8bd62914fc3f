"""Bounds of the means of values whose weights are known only between bounds.

A head that sees one key at each position reads the mean a of their values v_j with weights w_j. Some keys are possible
at each position, each with bounds of its weight and of c.v for a direction c. For a number L let

    U(L) = the sum over positions j of the greatest w_j (c.v_j - L), over the keys and weights that are possible at j.

With D the sum of the weights, `(c.a - L) D = ` the sum of the w_j (c.v_j - L), which is at most U(L). So

    c.a <= L + U(L) / D,    with the least D if U(L) > 0, and the greatest one otherwise.

This holds for every L. U is convex and falls, and Newton's method leads to its root, the least such bound (ours).

Rounding: sums of at most DEEPEST terms, each off by at most ROUND times the sum of the sizes of its terms.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from hardsim.lazy_dataclass import dataclass
from hardsim.proof.external.affine import ROUND
from hardsim.run.enclosure import ETA, Booleans, Floats, Integers

PASSES = 4
"""The number of times that U is computed for one bound."""
BEYOND = 1e-4
"""By how much Newton's steps are longer, so that some numbers L are beyond the root: there U is divided by the greatest
D, with which less is lost."""
EXCLUDED = -1e100
"""The number that stands for the value of a key that a pattern does not have."""


@dataclass(frozen=True, slots=True)
class BoundedWeights:
    """Bounds of the weights of the keys that N patterns may see, `low` and `high` (N, T): keys of one position stand
    side by side from its number in `starts` on, and a pattern has one of those that are `allowed` (N, T) there, or none
    where the position is `optional` (N, positions). One more key has a weight from `other_low` to `other_high` (N,)."""

    low: Floats
    high: Floats
    starts: Integers
    allowed: Booleans
    other_low: Floats
    other_high: Floats
    optional: Booleans | None = None

    def at(self, index: Any) -> BoundedWeights:
        """Return those of some patterns."""
        optional = None if self.optional is None else self.optional[index]
        return replace(
            self, low=self.low[index], high=self.high[index], allowed=self.allowed[index],
            other_low=self.other_low[index], other_high=self.other_high[index], optional=optional,
        )  # fmt: skip

    def sums(self) -> tuple[Floats, Floats]:
        """Return bounds of the sums of the weights, (N,)."""
        low = np.minimum.reduceat(np.where(self.allowed, self.low, np.inf), self.starts, axis=1)
        high = np.maximum.reduceat(np.where(self.allowed, self.high, 0.0), self.starts, axis=1)
        if self.optional is not None:
            low = np.where(self.optional, 0.0, low)
        least, most = low.sum(axis=1) + self.other_low, high.sum(axis=1) + self.other_high
        return least * (1 - ROUND), most * (1 + ROUND)

    def shares(self) -> Floats:
        """Return about which share of the weights each key has, (N, T)."""
        middle = np.where(self.allowed, np.sqrt(self.low * self.high), 0.0)
        return np.asarray(middle / (middle.sum(axis=1) + self.other_high)[:, None])

    def greatest_means(self, values: Floats, other: Floats, level: Floats) -> Floats:
        """Return upper bounds of c.a for K directions, (N, K), from upper bounds of c.v of the keys (N, T, K) and of
        the other one (N, K). Newton's method begins at `level` (N, K), which may be any numbers."""
        counts = np.diff(np.append(self.starts, self.low.shape[1]))
        places = np.repeat(np.arange(len(self.starts)), counts)
        values = np.where(self.allowed[:, :, None], values, EXCLUDED)
        # a key that is excluded has any weight: its gain is below all others
        low, high = (np.where(self.allowed, one, 1.0)[:, :, None] for one in (self.low, self.high))
        other_low, other_high = self.other_low[:, None], self.other_high[:, None]
        least, most = (one[:, None] for one in self.sums())
        optional = None if self.optional is None else self.optional[:, :, None]
        found = np.maximum(values.max(axis=1), other)
        level = np.minimum(level, found)
        for number in range(PASSES):
            x, y = values - level[:, None], other - level
            weight, beside = np.where(x > 0, high, low), np.where(y > 0, other_high, other_low)
            x *= weight
            best, y = np.maximum.reduceat(x, self.starts, axis=1), y * beside
            if optional is not None:
                best = np.where(optional, np.maximum(best, 0.0), best)
            total = best.sum(axis=1) + y
            # products below the least floats count as ETA
            total = total + ROUND * (np.abs(best).sum(axis=1) + np.abs(y)) + (len(self.starts) + 1) * ETA
            step = np.where(total > 0, total / least, total / most)
            found = np.fmin(found, level + step + 4 * ROUND * (np.abs(level) + np.abs(step)) + ETA)
            if number + 1 < PASSES:
                weight[x < best[:, places]] = 0.0
                slope = np.maximum.reduceat(weight, self.starts, axis=1).sum(axis=1) + beside
                level = level + (total + BEYOND * np.abs(total)) / slope
        return np.asarray(found)
