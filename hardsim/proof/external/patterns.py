"""Patterns of words, and boxes of what the first layer's heads read at the end of the words of a pattern.

A pattern of a class of prefixes (`columns`) gives a symbol at some of the positions before the last symbol, and leaves
the others open: there any symbol may stand that some prefix of the class has at that position. The words of a pattern
are those of the class that agree with it. To reveal an open position divides a pattern into one for each symbol.

For one head of the first layer let w_i(s) be the weight of symbol s at position i, for the query of the last symbol,
and v_i(s) its value. For a direction c and a number L let

    U(L) = the sum over positions i of the greatest w_i(s) (c.v_i(s) - L), over the symbols s that the pattern has at i.

The head reads a, the mean of the values, and (c.a - L) times the sum of the weights is at most U(L). So

    c.a <= L + U(L) / D,    D the least sum of weights if U(L) > 0, and the greatest one otherwise.

This holds for every L. U is convex and falls, and Newton's method leads to its root, the least such bound. Dividing a
box of a class in halves makes many cells in which there is no prefix; every pattern has some prefix, so boxes
shrink as positions are revealed, and affine enclosures over them are close much earlier (ours).

Rounding: a sum here has at most DEEPEST terms, so its error is at most ROUND times the sum of the sizes of its terms.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hardsim.lazy_dataclass import dataclass
from hardsim.proof.external.affine import ROUND
from hardsim.proof.external.columns import HeadColumns, PrefixClasses
from hardsim.proof.external.demands import NOWHERE, PrefixDemands
from hardsim.proof.external.first_layer import BoxCells, FirstLayer
from hardsim.proof.external.logits import Basis
from hardsim.run.dense_float import lengths
from hardsim.run.enclosure import ETA, GROW, Booleans, Floats, Integers

OPEN = -1
"""The entry of a pattern at a position that it leaves open; also stands for no position and for no symbol."""
NEWTON = 3
"""The number of times that U is computed for one bound."""


@dataclass(frozen=True, slots=True)
class HeadChoices:
    """The values that one head of the first layer may read at the free positions of a class: bounds of the weights
    (positions, symbols), and values along the basis (positions, symbols, coordinates); and the same of the fixed
    tokens."""

    low: Floats
    high: Floats
    values: Floats
    fixed_low: Floats
    fixed_high: Floats
    fixed: Floats
    off: Floats
    """A bound of the error of a value, by coordinate."""
    reach: float
    """A bound of the length of any value."""

    @classmethod
    def of(cls, first: FirstLayer, head: HeadColumns, basis: Basis, one: PrefixClasses) -> HeadChoices:
        """Return the choices of a class, given as classes with one row."""
        columns = first.columns
        weights, free = columns.weights(head, one), int(one.free[0])
        symbols = [columns.row[token] for token in columns.symbols]
        along = head.values.mid @ basis.axes.T
        rows, places = (part[0] for part in columns.fixed(one))
        length = float(head.values.length.max())
        off = lengths(basis.axes)[:, 0] * (length + ROUND * head.reach) * GROW + ETA
        return cls(
            weights.low[0],
            weights.high[0],
            along[symbols][:, columns.start : columns.start + free].transpose(1, 0, 2),
            weights.fixed_low[0],
            weights.fixed_high[0],
            along[rows, places],
            off,
            head.reach,
        )


class ClassPatterns:
    """The patterns of the prefixes of one length that end with one symbol, after one of some states."""

    def __init__(self, first: FirstLayer, demands: PrefixDemands, classes: PrefixClasses, rows: Integers) -> None:
        """`rows` are classes of the same length and last symbol."""
        self.first, self.demands, self.row = first, demands, int(rows[0])
        one = classes.at(rows[:1])
        self.length, self.symbol, self.free = int(one.length[0]), int(one.symbol[0]), int(one.free[0])
        self.ends = np.zeros(len(demands.moves), dtype=np.bool_)
        self.ends[classes.state[rows]] = True
        """The states before the last symbol."""
        moves = demands.moves
        self.steps = np.zeros((moves.shape[1], len(moves), len(moves)), dtype=np.float32)
        """The moves of the machine by symbol, as matrices of 0 and 1."""
        state, symbol = np.nonzero(moves != NOWHERE)
        self.steps[symbol, state, moves[state, symbol]] = 1
        self.allowed = self._allowed()
        """Which symbols some prefix has, (free positions, symbols)."""
        count = self.allowed.sum(axis=1)
        self.root: Integers = np.where(count == 1, self.allowed.argmax(axis=1), OPEN)[None]
        """The pattern of all prefixes, (1, free positions)."""
        pairs = zip(first.columns.heads, first.bases, strict=True)
        self.heads = [HeadChoices.of(first, head, basis, one) for head, basis in pairs]

    def _allowed(self) -> Booleans:
        moves = self.demands.moves
        reached = self.demands.reached()
        found = np.zeros((self.free, moves.shape[1]), dtype=np.bool_)
        after: Any = self.ends
        for i in range(self.free - 1, -1, -1):
            to = (moves != NOWHERE) & after[moves] & reached[i][:, None]
            found[i] = to.any(axis=0)
            after = to.any(axis=1)
        return found

    def possible(self, patterns: Integers) -> Booleans:
        """Return which patterns have a word."""
        here = np.zeros((len(patterns), self.steps.shape[1]), dtype=np.float32)
        here[:, 0] = 1
        for i in range(self.free):
            after = np.zeros_like(here)
            for one in np.flatnonzero(self.allowed[i]).tolist():
                some = (patterns[:, i] == OPEN) | (patterns[:, i] == one)
                after[some] += here[some] @ self.steps[one]
            here = np.minimum(after, 1)
        return np.asarray((here[:, self.ends] > 0).any(axis=1))

    def revealed(self, patterns: Integers, positions: Integers) -> tuple[Integers, Integers]:
        """Divide each pattern at one position, which is open: return the resulting patterns that have words, and the
        index of the pattern that each comes from."""
        of, symbols = np.nonzero(self.allowed[positions])
        found = patterns[of]
        found[np.arange(len(of)), positions[of]] = symbols
        kept = self.possible(found)
        return found[kept], of[kept]

    def cells(self, patterns: Integers, passes: int = NEWTON) -> BoxCells:
        """Return the boxes of what the heads read over the words of patterns, along the bases of all heads."""
        ends = [self._bounds(head, patterns, passes) for head in self.heads]
        low, high = (np.concatenate(one, axis=1) for one in zip(*ends, strict=True))
        middles = (low + high) / 2
        radii = np.maximum(np.maximum(high - middles, middles - low), 2.0**-34 * self.first.reach)
        radii = radii * (1 + ROUND) + ROUND * np.abs(middles)
        return BoxCells(np.full(len(patterns), self.row), middles, radii)

    def influence(self, patterns: Integers, middles: Floats) -> Floats:
        """Return by how much what the heads read depends on the symbol at each position, (patterns, positions,
        coordinates), near some points, in plain floats: 0 where it is given."""
        found, start = np.zeros((len(patterns), self.free, middles.shape[1])), 0
        for head in self.heads:
            here = slice(start, start + head.values.shape[2])
            start = here.stop
            total = np.full(len(patterns), head.fixed_high.sum())
            for i, some, symbols in self._choices(patterns):
                total[some] += head.high[i, symbols].mean()
                if len(symbols) > 1:
                    x = head.high[i, symbols, None, None] * (head.values[i, symbols, None] - middles[some, here])
                    found[some, i, here] = np.ptp(x, axis=0)
            found[:, :, here] /= np.maximum(total, ETA)[:, None, None]
        return found

    def _choices(self, patterns: Integers) -> list[tuple[int, Integers, Integers]]:
        """Return the rows with the same symbols at a position, for each position: the position, rows and symbols."""
        found = []
        for i in range(self.free):
            for one in np.unique(patterns[:, i]).tolist():
                symbols = np.flatnonzero(self.allowed[i]) if one == OPEN else np.array([one])
                found.append((i, np.flatnonzero(patterns[:, i] == one), symbols))
        return found

    def _bounds(self, head: HeadChoices, patterns: Integers, passes: int) -> tuple[Floats, Floats]:
        """Return lower and upper bounds of the coordinates of what one head reads."""
        choices, width = self._choices(patterns), head.values.shape[2]
        least, most = (np.full(len(patterns), one.sum()) for one in (head.fixed_low, head.fixed_high))
        level = np.tile(head.fixed_high @ head.fixed, (len(patterns), 1))
        for i, some, symbols in choices:
            least[some] += head.low[i, symbols].min()
            most[some] += head.high[i, symbols].max()
            level[some] += (head.high[i, symbols, None] * head.values[i, symbols]).mean(axis=0)
        level = np.clip(level / ((least + most) / 2)[:, None], -head.reach, head.reach)
        longest = np.maximum(lengths(head.values.reshape(-1, width)).max(initial=0), lengths(head.fixed).max(initial=0))
        ends = []
        for side in (-1, 1):
            at = level
            for _ in range(passes - 1):
                excess, weight = self._excess(head, choices, at, side)
                at = at + side * excess / weight
            excess, _ = self._excess(head, choices, at, side)
            step = np.where(excess > 0, excess / least[:, None], excess / most[:, None])
            size = np.abs(at) + (np.abs(at) + longest) * (most / least)[:, None]
            ends.append(at + side * (step + 8 * ROUND * size + head.off))
        return ends[0], ends[1]

    def _excess(
        self, head: HeadChoices, choices: list[tuple[int, Integers, Integers]], level: Floats, side: int
    ) -> tuple[Floats, Floats]:
        """Return U for side times the coordinates and a level of each pattern and coordinate, and the sum of the
        weights at which it is attained."""
        x = side * (head.fixed[:, None] - level)
        weights = np.where(x > 0, head.fixed_high[:, None, None], head.fixed_low[:, None, None])
        total, along = (weights * x).sum(axis=0), weights.sum(axis=0)
        for i, some, symbols in choices:
            x = side * (head.values[i, symbols, None] - level[some])
            weights = np.where(x > 0, head.high[i, symbols, None, None], head.low[i, symbols, None, None])
            gains = weights * x
            if len(symbols) == 1:
                total[some] += gains[0]
                along[some] += weights[0]
            else:
                best = gains.argmax(axis=0)[None]
                total[some] += np.take_along_axis(gains, best, axis=0)[0]
                along[some] += np.take_along_axis(weights, best, axis=0)[0]
        return total, along
