"""The search for wrong prefixes of a class: Frank-Wolfe steps with the longest paths of `supports` as the oracle.

At the outputs of the heads on some prefix (or at a point that no prefix attains, to begin with) the row of least value
is linearised; of a mean N / D its linearisation at a prefix is additive over positions, so a longest path gives the
prefix that is best for it, for all heads together. Nothing here is rounded with care: what is found are prefixes, which
rigorous arithmetic then runs.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np

from hardsim.lazy_dataclass import dataclass
from hardsim.network.dense import Network
from hardsim.proof.external.columns import Columns, PrefixClasses, Weights
from hardsim.proof.external.demands import NOWHERE, PrefixDemands, Requirement
from hardsim.proof.external.logits import Rest, RowForms
from hardsim.proof.external.supports import HeadSupports, Paths, PositionMoves
from hardsim.run.dense_float import DenseFloat
from hardsim.run.enclosure import ETA, Floats, Integers, rounded

STEPS = 6
"""Number of gradients that are followed from one point."""
TURNS = 3
"""Number of times that the outputs are linearised in the search for extreme ones."""
NEAR = 1e-4
"""Size of the box in which a row is linearised, as a share of the box of the class."""


@dataclass(frozen=True, slots=True)
class Found:
    """A prefix of each class, as symbols, and what was found about it: lower and upper bounds of its margin."""

    words: list[tuple[int, ...]]
    low: Floats
    high: Floats


class Search:
    """The search over the classes of a network."""

    def __init__(
        self, columns: Columns, demands: PrefixDemands, paths: Paths, heads: list[HeadSupports], rest: Rest
    ) -> None:
        self.columns, self.demands, self.paths, self.heads, self.rest = columns, demands, paths, heads, rest
        network = columns.network
        if columns.symbol_last and network.readout.after:
            network = replace(network, readout=replace(network.readout, after=()))
        self.network: Network = network
        self.floats = DenseFloat(network)
        self._moves: list[tuple[Integers, Integers]] = []
        """The states that moves come from, and their symbols, by position, as far as they were used."""
        self._rows: list[list[int]] = demands.moves.tolist()
        self._known = [[int(state == 0) for state in range(len(self._rows))]]
        self._sources: list[list[tuple[int, int]]] = [[] for _ in self._rows]
        for state, row in enumerate(self._rows):
            for symbol, target in enumerate(row):
                if target != NOWHERE:
                    self._sources[target].append((state, symbol))

    def along(self, paths: Paths, heads: list[HeadSupports]) -> Search:
        """Return the search over other paths."""
        found = copy(self)
        found.paths, found.heads, found._moves = paths, heads, []
        return found

    def __call__(self, classes: PrefixClasses, points: Floats, radii: Floats) -> Found:
        """Return the worst prefix found of each class, beginning at points in the boxes of the heads' outputs with
        these radii. The order of the classes is that of falling numbers of free positions."""
        count = len(classes)
        best: list[tuple[int, ...]] = [()] * count
        least = np.full(count, np.inf)
        weights = [head.weights(classes) for head in self.heads]
        totals: list[Floats] | None = None
        small = np.maximum(radii * NEAR, 1e-9)
        for number in range(STEPS):
            gradient = self._gradient(classes, points, small) / small
            words = self.toward(classes, points, gradient, weights, totals)
            points, totals = self.attended(classes, words, weights)
            value = self._values(classes, points, small)
            # the first path is kept whatever its value, so that each class has a prefix of its own
            for place in np.flatnonzero((value < least) | (number == 0)).tolist():
                least[place], best[place] = value[place], self.spelled(classes, words, place)
        return Found(best, *self.judged(classes, best))

    def toward(
        self,
        classes: PrefixClasses,
        points: Floats,
        gradient: Floats,
        weights: list[Weights] | None = None,
        totals: list[Floats] | None = None,
    ) -> Integers:
        """Return the free symbols of the prefix of each class that is best against a gradient, with the means of all
        heads linearised at points where the weights of each head have the sums `totals` (None: where every token has
        its weight)."""
        weights = [head.weights(classes) for head in self.heads] if weights is None else weights
        if totals is None:
            totals = [one.high.sum(axis=(1, 2)) + one.fixed_high.sum(axis=1) for one in weights]
        free = np.zeros((len(classes), int(classes.free.max(initial=0)), len(self.columns.symbols)))
        start = 0
        for head, basis, one, total in zip(self.heads, self.rest.bases, weights, totals, strict=True):
            here = slice(start, start + len(basis.axes))
            start = here.stop
            direction = -gradient[:, here] @ basis.axes
            level = -(gradient[:, here] * points[:, here]).sum(axis=1)
            most = one.high.shape[1]
            x = np.einsum("cv,ujv->cju", direction, head.values[:, :most], optimize=True) - level[:, None, None]
            free = free + one.high * x / total[:, None, None]
        return self.best_paths(classes, free)

    def extremes(self, one: PrefixClasses, middle: Floats, functions: Floats) -> Floats:
        """Return the coordinates of the heads' outputs, (points, coordinates), on prefixes of one class for which each
        of some functions of them, (coordinates, functions), is about least or greatest; `middle` (1, coordinates) is
        where they are linearised first."""
        gradient = np.concatenate([functions.T, -functions.T])
        classes = one.at(np.zeros(len(gradient), dtype=np.int64))
        weights, points, totals = (
            [head.weights(classes) for head in self.heads],
            np.repeat(middle, len(gradient), 0),
            None,
        )
        for _ in range(TURNS):
            points, totals = self.attended(classes, self.toward(classes, points, gradient, weights, totals), weights)
        return points

    def _gradient(self, classes: PrefixClasses, points: Floats, small: Floats) -> Floats:
        """Return the slopes of the row that is least, in the choice where it is greatest."""
        found = np.zeros_like(points)
        for kind in np.unique(classes.kind).tolist():
            chosen = np.flatnonzero(classes.kind == kind)
            rows = self.rest.rows(kind, classes.at(chosen), points[chosen], small[chosen])
            _, place = worst(rows.form.c, self.rest.wants[kind].choices)
            found[chosen] = rows.form.slopes[np.arange(len(chosen)), :, place]
        return np.nan_to_num(found)

    def _values(self, classes: PrefixClasses, points: Floats, small: Floats) -> Floats:
        """Return the margins at some points, without bounds."""
        found = np.zeros(len(classes))
        for kind in np.unique(classes.kind).tolist():
            chosen = np.flatnonzero(classes.kind == kind)
            rows: RowForms = self.rest.rows(kind, classes.at(chosen), points[chosen], small[chosen] * NEAR)
            found[chosen] = worst(rows.form.c, self.rest.wants[kind].choices)[0] / rows.sigma
        return np.nan_to_num(found, nan=np.inf)

    def best_paths(self, classes: PrefixClasses, gains: Floats) -> Integers:
        """Return the free symbols of the prefix with the greatest sum of gains (classes, positions, symbols), padded
        with 0s."""
        most = gains.shape[1]
        value = np.zeros((1, len(classes)))
        back: list[Integers] = []
        live = len(classes)
        found = np.zeros((len(classes), most), dtype=np.int64)
        for j in range(most + 1):
            more = int(np.searchsorted(-classes.free, -j, side="left"))
            ends = np.arange(more, live)
            if len(ends):
                at = self.paths.place[j, classes.state[ends]]
                for place in range(j - 1, -1, -1):
                    sources, symbols = self._moves[place]
                    choice = back[place][at, ends]
                    found[ends, place] = symbols[choice, at]
                    at = sources[choice, at]
            live = more
            if live == 0:
                break
            value, choices = _followed(self.paths.layers[j], value[:, :live], gains[:live, j].T)
            back.append(choices)
            if len(self._moves) == j:
                self._moves.append(_tables(self.paths.layers[j]))
        return found

    def count(self, classes: PrefixClasses, place: int) -> int:
        """Return the number of prefixes of a class."""
        return self._counts(int(classes.free[place]))[int(classes.state[place])]

    def _counts(self, n: int) -> list[int]:
        """Return by state the number of prefixes of n symbols that lead there."""
        while len(self._known) <= n:
            before, after = self._known[-1], [0] * len(self.demands.moves)
            for state, row in enumerate(self._rows):
                for target in row if before[state] else []:
                    if target != NOWHERE:
                        after[target] += before[state]
            self._known.append(after)
        return self._known[n]

    def every(self, classes: PrefixClasses) -> list[tuple[int, ...]]:
        """Return all prefixes of one class, as the numbers of their symbols."""
        (free,), (state,), (symbol,) = classes.free.tolist(), classes.state.tolist(), classes.symbol.tolist()
        last: tuple[int, ...] = (symbol,) if symbol >= 0 else ()
        found: list[tuple[int, tuple[int, ...]]] = [(state, last)]
        for n in range(free, 0, -1):
            before = self._counts(n - 1)
            found = [
                (source, (one, *word))
                for target, word in found
                for source, one in self._sources[target]
                if before[source]
            ]
        return [word for _, word in found]

    def attended(
        self, classes: PrefixClasses, words: Integers, weights: list[Weights] | None = None
    ) -> tuple[Floats, list[Floats]]:
        """Return the coordinates of the heads' outputs on some prefixes, and the sums of the weights of each head."""
        weights = [head.weights(classes) for head in self.heads] if weights is None else weights
        rows, places = self.columns.fixed(classes)
        count, most = words.shape
        parts, totals = [], []
        at = np.arange(count)[:, None]
        positions = np.arange(most)[None, :]
        for head, basis, one in zip(self.heads, self.rest.bases, weights, strict=True):
            w = one.high[at, positions, words]  # 0 beyond the free positions
            theirs = head.head.values.mid[rows, places]
            total = w.sum(axis=1) + one.fixed_high.sum(axis=1)
            summed = np.einsum("cj,cjv->cv", w, head.values[words, positions])
            summed = summed + np.einsum("cf,cfv->cv", one.fixed_high, theirs)
            parts.append(summed / total[:, None] @ basis.axes.T)
            totals.append(total)
        return np.concatenate(parts, axis=1) if parts else np.zeros((count, 0)), totals

    def spelled(self, classes: PrefixClasses, words: Integers, place: int) -> tuple[int, ...]:
        """Return a prefix as the numbers of its symbols."""
        free, last = words[place, : classes.free[place]].tolist(), int(classes.symbol[place])
        return (*free, *([last] if last >= 0 else []))

    def judged(self, classes: PrefixClasses, words: list[tuple[int, ...]]) -> tuple[Floats, Floats]:
        """Return lower and upper bounds of the margin of each prefix, in rigorous arithmetic."""
        low, high = np.full(len(words), -np.inf), np.full(len(words), np.inf)
        by_length: dict[int, list[int]] = {}
        for place, word in enumerate(words):
            by_length.setdefault(len(word), []).append(place)
        columns = self.columns
        for n, places in by_length.items():
            tokens = np.array(
                [[*columns.before, *(columns.symbols[one] for one in words[place]), *columns.after] for place in places]
            )
            mid, rad = self.floats.run(n, tokens, [tokens.shape[1] - 1])
            for row, place in enumerate(places):
                required = self.demands.kinds[int(classes.kind[place])]
                low[place], high[place] = self.margin(required, mid[row, 0], rad[row, 0])
        return low, high

    def margin(self, required: Requirement, mid: Floats, rad: Floats) -> tuple[float, float]:
        """Return bounds of the margin from an enclosure of the outputs."""
        factors, levels, choices = required.rows(len(mid))
        level, slip = rounded(self.network.readout.level)
        middle = mid @ factors + level * levels
        size = np.abs(mid) @ np.abs(factors) + abs(level) * np.abs(levels)
        off = (rad @ np.abs(factors) + slip * np.abs(levels)) * (1 + 1e-9) + size * 1e-14 + ETA
        ends = [max(float((middle + side * off)[part].min(initial=np.inf)) for part in choices) for side in (-1, 1)]
        return ends[0], ends[1]


def worst(values: Floats, choices: list[slice]) -> tuple[Floats, Integers]:
    """Return, for rows of values (cells, rows), the greatest over the choices of the least value, and its row."""
    least = np.stack([values[:, part].min(axis=1) for part in choices], axis=1)
    place = np.stack([values[:, part].argmin(axis=1) + part.start for part in choices], axis=1)
    chosen = least.argmax(axis=1)
    at = np.arange(len(values))
    return least[at, chosen], place[at, chosen]


def _followed(layer: PositionMoves, value: Floats, gains: Floats) -> tuple[Floats, Integers]:
    """Return the greatest sums by state after one more position, and the number of the move that gives each."""
    # Usually the first moves lead into every state, in order: then they need not be compared with anything.
    whole = bool(layer.moves) and len(layer.moves[0][0]) == len(layer.states)
    size = (len(layer.states), value.shape[1])
    best = np.full((0, 0) if whole else size, -np.inf)
    choice = np.zeros(size, dtype=np.int64)
    for number, (rows, sources, symbols) in enumerate(layer.moves):
        found = value[sources]
        found += gains[symbols]
        if whole and number == 0:
            best = found
            continue
        here = best[rows]
        better = found > here
        np.copyto(here, found, where=better)
        best[rows] = here
        choice[rows] = np.where(better, number, choice[rows])
    return best, choice


def _tables(layer: PositionMoves) -> tuple[Integers, Integers]:
    """Return the states that moves come from and their symbols, (moves, states)."""
    shape = max(1, len(layer.moves)), len(layer.states)
    sources, symbols = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    for number, (rows, source, symbol) in enumerate(layer.moves):
        sources[number, rows], symbols[number, rows] = source, symbol
    return sources, symbols
