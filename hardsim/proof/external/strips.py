"""Divide a class of prefixes into strips, by the values of linear functions of all heads' outputs.

Halving a box of many coordinates helps little: each half is hardly narrower in the directions that matter. In trained
networks the arguments of the hidden units vary mostly along one or two directions g_1, g_2 of the heads' outputs t. A
strip is the set of prefixes of a class with `lo_i <= g_i.t <= hi_i`. Strips cover the class if they cover the range of
each g_i.

Over a strip every linear function f.t has a range of its own: for all numbers mu_i,

    f.t <= h(f - sum of mu_i g_i) + sum of the greater ones of mu_i lo_i and mu_i hi_i,

where h(f) is an upper bound of f.t over the class. The values of h do not depend on the strip. So they are computed
once, for a few mu near the slopes with which f changes along the g_i on some prefixes. Then all strips use them, so
strips may be many. If the lower bound of a function in a strip exceeds its upper bound, the strip has no prefix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from hardsim.lazy_dataclass import dataclass
from hardsim.proof.external.affine import ROUND
from hardsim.run.enclosure import ETA, Floats

AXES = 2
"""Number of functions g_i."""
SLOPES = (0.0, 0.5, 1.0, 1.5)
"""The multipliers that are tried for one function, as shares of its slopes."""
Reached: TypeAlias = Callable[[Floats], tuple[Floats, Floats]]
"""Lower and upper bounds over a class, (functions,), of linear functions (functions, coordinates)."""


@dataclass(frozen=True, slots=True)
class Multiplied:
    """Bounds over a class of functions f minus multiples of the g_i: `low` and `high` (trials, functions), for several
    trials of the multipliers mu (trials, functions, axes)."""

    multipliers: Floats
    low: Floats
    high: Floats

    def within(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Return lower and upper bounds of the functions, (strips, functions), in strips (strips, axes)."""
        ends = [self.multipliers * one[:, None, None] for one in (low, high)]
        size = np.maximum(np.abs(ends[0]), np.abs(ends[1])).sum(axis=3)
        least, most = np.minimum(*ends).sum(axis=3), np.maximum(*ends).sum(axis=3)
        lost = ROUND * (size + np.maximum(np.abs(self.low), np.abs(self.high))) + ETA
        return np.fmax.reduce(self.low + least - lost, axis=1), np.fmin.reduce(self.high + most + lost, axis=1)


class ClassStrips:
    """The functions g_i of one class of prefixes, with the ranges of functions over its strips."""

    def __init__(self, points: Floats, functions: Floats, weighed: Floats, reach: Floats, reached: Reached) -> None:
        """`points` are the heads' outputs on some prefixes, (points, coordinates); the g_i are the directions in which
        the functions `weighed`, (coordinates, functions), vary most there. `functions` are those whose ranges are of
        use, and `reach` bounds each coordinate. Raises ValueError if the points do not vary, or if there are
        no bounds."""
        self.reach, self.reached = reach, reached
        apart = points - points.mean(axis=0)
        _, sizes, turned = np.linalg.svd(apart @ weighed, full_matrices=False)
        self.axes: Floats = turned[:AXES] @ weighed.T
        self.sizes: Floats = sizes[:AXES]
        along = apart @ self.axes.T
        square = along.T @ along
        if not np.isfinite(square).all() or np.linalg.cond(square) > 1e12:
            raise ValueError("the outputs do not vary")
        self.slopes: Floats = np.linalg.solve(square, along.T @ apart)
        """The slopes of the coordinates along each g_i, (axes, coordinates)."""
        self.low, self.high = reached(self.axes)
        if not np.isfinite(self.low + self.high).all():
            raise ValueError("the outputs have no bounds")
        slopes = functions.T @ self.slopes.T
        left = np.abs(apart @ functions - along @ slopes.T).max(axis=0)
        steep = left[:, None] / np.maximum(np.abs(along).max(axis=0), ETA)
        signs = np.concatenate([np.zeros((1, AXES)), np.eye(AXES), -np.eye(AXES)])
        trials = slopes + signs[:, None] * steep
        self._known = self._multiplied(functions.T, np.concatenate([np.zeros((1, *slopes.shape)), trials]))

    def _multiplied(self, functions: Floats, multipliers: Floats) -> Multiplied:
        """Bound functions (functions, coordinates) minus multiples of the g_i, for multipliers (trials, functions,
        axes)."""
        parts = functions - multipliers @ self.axes
        low, high = self.reached(parts.reshape(-1, parts.shape[2]))
        size = np.abs(functions) + np.abs(multipliers) @ np.abs(self.axes)
        lost = 4 * ROUND * (size @ self.reach)
        return Multiplied(multipliers, low.reshape(lost.shape) - lost, high.reshape(lost.shape) + lost)

    def ranges(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Return lower and upper bounds (strips, functions) of the functions given at the start, in strips (strips,
        axes)."""
        return self._known.within(low, high)

    def of_each(self, functions: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Return lower and upper bounds (strips,) of a function of its own for each strip: `functions` are (strips,
        coordinates)."""
        slopes = functions @ self.slopes.T
        found = self._multiplied(functions, np.array(SLOPES)[:, None, None] * slopes)
        ends = found.multipliers * low, found.multipliers * high
        size = (np.abs(ends[0]) + np.abs(ends[1])).sum(axis=2) + np.abs(found.low) + np.abs(found.high)
        least, most, lost = np.minimum(*ends).sum(axis=2), np.maximum(*ends).sum(axis=2), ROUND * size + ETA
        return np.fmax.reduce(found.low + least - lost), np.fmin.reduce(found.high + most + lost)

    def halves(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Halve each strip along the g_i along which the weighed functions vary most in it. Return first all lower
        halves, then all upper ones."""
        share = (high - low) / np.maximum(self.high - self.low, ETA)
        axis = (share * self.sizes).argmax(axis=1)
        at = np.arange(len(low))
        middle = (low[at, axis] + high[at, axis]) / 2
        lows, highs = np.concatenate([low, low]), np.concatenate([high, high])
        highs[at, axis] = middle
        lows[len(low) + at, axis] = middle
        return lows, highs
