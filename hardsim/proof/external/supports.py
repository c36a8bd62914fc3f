"""Exact support functions of the outputs of one head, over all prefixes of a class.

A head's output is a mean `a = N / D` of the values, with N the weighted sum of the values and D that of the weights.
For a direction c and a number L, `c.a <= L` for all prefixes of the class if and only if

    V(L) = the maximum over prefixes of the sum over positions j of w_j(u_j) (c.v_j(u_j) - L)

is at most 0, as D > 0. V(L) is a longest path through the states of the demands' machine, position by position, so it
costs as much as reading one word in every state. V is convex, decreasing and piecewise linear; Newton's step, L + V(L)
/ D of a best path (Dinkelbach 1967), is the mean of a prefix, so it is never above the root, and reaches it in a few
steps.

Rigour. Every pass is rounded upward: a gain is computed as the greater of x w_high and x w_low with x = c.v - L, where
L is lowered by a bound of the errors of all c.v, and the weights are widened by the rounding of x and of the product;
after each sum, x -> max(x (1 + 4 u), x (1 - 4 u)) + ETA is above the true sum. So the pass gives a number V' >= V(L).
Where V' <= 0, L is a bound. After a Newton step L is raised a little, so that the next pass ends below 0.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np

from hardsim.lazy_dataclass import dataclass
from hardsim.proof.external.columns import Columns, HeadColumns, PrefixClasses, Weights
from hardsim.proof.external.demands import NOWHERE, PrefixDemands
from hardsim.run.dense_float import lengths
from hardsim.run.enclosure import ETA, GROW, Floats, Integers, U, gamma

STEPS = 24
"""Greatest number of passes. Where no pass ends at or below 0, the bound is the greatest of the values."""
CLOSE = 1e-11
"""Relative distance from the root at which the search for L stops."""
CELLS = 2**21
"""The count of numbers in an array of a batch."""
UP, DOWN = 1 + 4 * U, 1 - 4 * U


@dataclass(frozen=True, slots=True)
class PositionMoves:
    """The moves at one position: for the k-th move into each state, the rows (among the states reached after), the
    states that they come from (among those reached before), and the symbols; and the states reached after."""

    moves: tuple[tuple[Integers, Integers, Integers], ...]
    states: Integers


class Paths:
    """The moves of a machine by position, over the states that prefixes reach there."""

    def __init__(self, demands: PrefixDemands) -> None:
        reached = demands.reached()
        self.layers: list[PositionMoves] = []
        self.place = np.full((demands.longest + 1, len(demands.moves)), NOWHERE)
        for n, row in enumerate(reached):
            states = np.flatnonzero(row)
            self.place[n, states] = np.arange(len(states))
            if n:
                self.layers.append(self._layer(demands, n, states))

    def _layer(self, demands: PrefixDemands, n: int, states: Integers) -> PositionMoves:
        before = np.flatnonzero(self.place[n - 1] >= 0)
        targets = demands.moves[before]
        source, symbol = np.nonzero((targets != NOWHERE) & (self.place[n][targets] >= 0))
        row = self.place[n][targets[source, symbol]]
        order = np.argsort(row, kind="stable")
        source, symbol, row = source[order], symbol[order], row[order]
        first = np.searchsorted(row, row, side="left")
        rank = np.arange(len(row)) - first
        moves = tuple(
            (row[rank == k], source[rank == k], symbol[rank == k]) for k in range(int(rank.max(initial=-1)) + 1)
        )
        return PositionMoves(moves, states)

    def with_symbol(self, position: int, symbol: int) -> Paths:
        """Return the paths that read this symbol at a free position."""
        layer = self.layers[position]
        kept = tuple((rows[s == symbol], sources[s == symbol], s[s == symbol]) for rows, sources, s in layer.moves)
        found = copy(self)
        found.layers = [*self.layers[:position], PositionMoves(kept, layer.states), *self.layers[position + 1 :]]
        return found

    def lead_to(self, free: int, state: int) -> bool:
        """Return whether some path of `free` symbols ends in a state."""
        reached = np.ones(1, dtype=np.bool_)
        for layer in self.layers[:free]:
            after = np.zeros(len(layer.states), dtype=np.bool_)
            for rows, sources, _ in layer.moves:
                after[rows] |= reached[sources]
            reached = after
        return bool(reached[self.place[free, state]])


@dataclass(frozen=True, slots=True)
class Pass:
    """The result of a pass, by class and direction: V', and the sum of the weights of a best path."""

    value: Floats
    weight: Floats


class HeadSupports:
    """The support functions of a head over the classes of a network's prefixes."""

    def __init__(self, columns: Columns, head: HeadColumns, paths: Paths) -> None:
        self.columns, self.head, self.paths = columns, head, paths
        symbols = [columns.row[token] for token in columns.symbols]
        self.values: Floats = head.values.mid[symbols, columns.start :]
        """The values of symbols, (symbols, positions, v), from the first position of the word."""
        self.slip = float(head.values.length.max())
        self.longest = float(lengths(head.values.mid).max())
        self.width: int = head.values.mid.shape[2]

    def weights(self, classes: PrefixClasses) -> Weights:
        """Return bounds of the weights of some classes: they depend on the length and the last symbol."""
        keys = classes.length * (len(self.columns.symbols) + 1) + classes.symbol
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        return _part(self.columns.weights(self.head, classes.at(first)), which)

    def bounds(self, classes: PrefixClasses, directions: Floats) -> Floats:
        """Return upper bounds of the greatest c.a over each class, (classes, directions), for directions (classes or
        1, directions, v)."""
        count, width = len(classes), directions.shape[1]
        found = np.empty((count, width))
        order = np.argsort(classes.free, kind="stable")
        size = self._batch(classes, width)
        for start in range(0, count, size):
            some = order[start : start + size][::-1]
            found[some] = self._some(classes.at(some), directions if len(directions) == 1 else directions[some])
        return found

    def _batch(self, classes: PrefixClasses, width: int) -> int:
        states = max((len(layer.states) for layer in self.paths.layers), default=1)
        by_weights = int(classes.free.max(initial=1)) * self.values.shape[0]
        return max(1, int(CELLS // max(states * width, by_weights, self.values.shape[0] * width)))

    def _some(self, classes: PrefixClasses, directions: Floats) -> Floats:
        """Return the bounds for classes in the order of falling numbers of free positions."""
        weights, fixed = self.weights(classes), self.fixed(classes, directions)
        bound, slip = self._plain(classes, directions, fixed), self.slip_of(directions)
        scale = np.broadcast_to(lengths(directions)[:, :, 0] * self.longest + slip, bound.shape)
        level = self._mean(directions, weights, fixed)
        rows = np.arange(len(classes))
        for _ in range(STEPS):
            lowered = np.nextafter(level[rows] - _rows(slip, rows), -np.inf)
            some = classes.at(rows), _rows(directions, rows), _part(weights, rows), fixed[rows]
            done = self.walk(*some, lowered)
            held = done.value <= 0
            here, now = bound[rows], level[rows]
            bound[rows] = np.where(held, np.minimum(here, now), here)
            step = done.value / np.maximum(done.weight, ETA)
            settled = held & (step >= -CLOSE * scale[rows])
            after = now + step + np.where(np.abs(step) < 1e-3 * scale[rows], CLOSE / 4 * scale[rows], 0.0)
            level[rows] = np.where(settled | ~np.isfinite(after), now, after)
            rows = rows[~settled.all(axis=1)]
            if not len(rows):
                break
        return bound

    def slip_of(self, directions: Floats) -> Floats:
        """Return a bound of the errors of all c.v of a direction: those of the values, and of the product."""
        size: Floats = lengths(directions)[:, :, 0]
        return (size * (self.slip + gamma(self.width + 4) * (self.longest + self.slip)) * GROW + ETA) * GROW

    def fixed(self, classes: PrefixClasses, directions: Floats) -> Floats:
        """Return c.v of the fixed tokens, (classes, directions, tokens)."""
        rows, places = self.columns.fixed(classes)
        theirs = self.head.values.mid[rows, places]
        return np.asarray(directions @ theirs.transpose(0, 2, 1))

    def _plain(self, classes: PrefixClasses, directions: Floats, fixed: Floats) -> Floats:
        """Return the greatest c.v of all tokens of a class, as a bound."""
        most = int(classes.free.max(initial=0))
        here = np.array(fixed.max(axis=2))
        if most:
            values = self.values[:, :most].reshape(-1, self.width)
            here = np.maximum(here, (directions @ values.T).max(axis=2))
        return np.asarray(here + self.slip_of(directions) + 4 * U * np.abs(here))

    def _mean(self, directions: Floats, weights: Weights, fixed: Floats) -> Floats:
        """Return c.a where every token has its weight: the number L to begin with."""
        most = weights.high.shape[1]
        total = weights.high.sum(axis=(1, 2)) + weights.fixed_high.sum(axis=1)
        summed = np.einsum("cju,ujv->cv", weights.high, self.values[:, :most], optimize=True)
        mean = np.einsum("ckv,cv->ck", np.broadcast_to(directions, (len(summed), *directions.shape[1:])), summed)
        mean = mean + np.einsum("ckf,cf->ck", fixed, weights.fixed_high)
        return np.asarray(mean / total[:, None])

    def walk(self, classes: PrefixClasses, directions: Floats, weights: Weights, fixed: Floats, level: Floats) -> Pass:
        """Return V' for classes in the order of falling numbers of free positions, and a best path's weight. `level` is
        L less the bound of the errors of c.v."""
        x = fixed - level[:, :, None]
        gains = np.maximum(x * weights.fixed_high[:, None], x * weights.fixed_low[:, None])
        value = _summed(gains)[None]
        weight = np.broadcast_to(weights.fixed_high.sum(axis=1)[:, None], level.shape)[None]
        result, total = np.empty_like(level), np.empty_like(level)
        live = len(classes)
        for j in range(int(classes.free.max(initial=0)) + 1):
            more = int(np.searchsorted(-classes.free, -j, side="left"))
            if more < live:
                ends = np.arange(more, live)
                at = self.paths.place[j, classes.state[ends]]
                result[ends], total[ends] = value[at, ends], weight[at, ends]
            live = more
            if live == 0:
                break
            part = directions if len(directions) == 1 else directions[:live]
            y = (part @ self.values[:, j].T).transpose(2, 0, 1) - level[:live]
            high, low = weights.high[:live, j].T[:, :, None], weights.low[:live, j].T[:, :, None]
            gains = np.maximum(y * high, y * low)
            value, weight = _moved(self.paths.layers[j], value[:, :live], weight[:, :live], gains, high)
        return Pass(result, total)


def longest_paths(
    paths: Paths, classes: PrefixClasses, first: Floats, gains_at: Callable[[int, int], Floats]
) -> Floats:
    """Return upper bounds of the greatest sums over the prefixes of classes in the order of falling numbers of free
    positions, (classes, directions): of `first`, and of gains at each free position j of the first `live` classes,
    `gains_at(j, live)` (symbols, live, directions)."""
    value, result, live = first[None], np.empty_like(first), len(classes)
    for j in range(int(classes.free.max(initial=0)) + 1):
        more = int(np.searchsorted(-classes.free, -j, side="left"))
        if more < live:
            ends = np.arange(more, live)
            result[ends] = value[paths.place[j, classes.state[ends]], ends]
        live = more
        if live == 0:
            break
        gains = gains_at(j, live)
        best: Any = np.full((len(paths.layers[j].states), *value[:, :live].shape[1:]), -np.inf)
        for rows, sources, symbols in paths.layers[j].moves:
            best[rows] = np.maximum(best[rows], value[sources, :live] + gains[symbols])
        value = np.maximum(best * UP, best * DOWN) + ETA
    return result


def traced_paths(
    paths: Paths,
    classes: PrefixClasses,
    first: Floats,
    beside: Floats,
    gains_at: Callable[[int, int], tuple[Floats, Floats]],
) -> tuple[Floats, Floats]:
    """Return the upper bounds of `longest_paths`, and sums along a best path, (sums, classes, directions), without
    bounds of their errors: of `beside`, (sums, classes, directions), and of what `gains_at` gives beside the gains,
    (sums, symbols, live, directions)."""
    value, sums, live = first[None], beside[:, None], len(classes)
    result, found = np.empty_like(first), np.empty_like(beside)
    for j in range(int(classes.free.max(initial=0)) + 1):
        more = int(np.searchsorted(-classes.free, -j, side="left"))
        if more < live:
            ends = np.arange(more, live)
            at = paths.place[j, classes.state[ends]]
            result[ends], found[:, ends] = value[at, ends], sums[:, at, ends]
        live = more
        if live == 0:
            break
        gains, added = gains_at(j, live)
        size = (len(paths.layers[j].states), *value[:, :live].shape[1:])
        best: Any = np.full(size, -np.inf)
        after = np.zeros((len(sums), *size))
        for rows, sources, symbols in paths.layers[j].moves:
            reached = value[sources, :live] + gains[symbols]
            better = reached > best[rows]
            best[rows] = np.where(better, reached, best[rows])
            after[:, rows] = np.where(better, sums[:, sources, :live] + added[:, symbols], after[:, rows])
        value, sums = np.maximum(best * UP, best * DOWN) + ETA, after
    return result, found


def _summed(gains: Floats) -> Floats:
    """Return an upper bound of the sums along the last axis."""
    size = np.abs(gains).sum(axis=2)
    return np.asarray(gains.sum(axis=2) + gamma(gains.shape[2] + 4) * size + ETA)


def _moved(layer: PositionMoves, value: Floats, weight: Floats, gains: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return the greatest sums by state after one more position, and the weights of their paths."""
    # Usually the first moves lead into every state, in order: then they need not be compared with anything.
    whole = bool(layer.moves) and len(layer.moves[0][0]) == len(layer.states)
    size = (0 if whole else len(layer.states), *value.shape[1:])
    best: Any = np.full(size, -np.inf)
    beside: Any = np.zeros(size)
    for number, (rows, sources, symbols) in enumerate(layer.moves):
        found, added = value[sources], weight[sources]
        found += gains[symbols]
        added += high[symbols]
        if whole and number == 0:
            best, beside = found, added
            continue
        here, there = best[rows], beside[rows]
        better = found > here
        np.copyto(here, found, where=better)
        np.copyto(there, added, where=better)
        best[rows], beside[rows] = here, there
    below = best * DOWN
    best *= UP
    np.maximum(best, below, out=best)
    best += ETA
    return best, beside


def _rows(array: Floats, rows: Integers) -> Floats:
    return array if len(array) == 1 else array[rows]


def _part(weights: Weights, rows: Integers) -> Weights:
    return Weights(weights.low[rows], weights.high[rows], weights.fixed_low[rows], weights.fixed_high[rows])
