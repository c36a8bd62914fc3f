"""Bounds of directions of the outputs of one head, over all prefixes of some classes.

A head's output is a mean a = N / D of values, with N the weighted sum of the values and D > 0 that of the weights. For
a direction d and a number L, in the coordinates z of `columns`, d.z <= L for all prefixes of a class if

    V(L) = the greatest sum, over the prefixes, of w_j(u_j) (d.z_j(u_j) - L) over the positions j

is at most 0. V(L) is a longest path through the states of the machine, position by position. One pass computes it for
many directions and for all states in which a prefix may end.

**The error of a pass.** Let |d.z - fl(d.z)| <= s for all values (see `slip`), let L' = L - s, rounded down, and X =
fl(d.z) - L' exactly, so that X >= d.z - L. With the weight between w' and w'', the true gain is at most the greater of
X w' and X w'': that with w'' if X > 0. The difference and the product are rounded once each, so a computed gain g is
off by at most 2.1 u |g| and what underflows. A sum of F gains in any order is off by gamma_F times the sum of |g|, and
in a longest path each comparison takes the greater one of two computed sums. So the true V(L) is at most the computed
one and gamma_(F + 4) (sum over positions of the greatest |g|). As |X| <= X'' = the greatest |fl(d.z)| + |L'|, that
is at most gamma_(F + 4) X'' (sum over positions of the greatest weight).

That bound is too large where the words of a class have much smaller weights than others. A second pass then rounds up
at each step: x + 8 u |x| + ETA, computed in floats, is at least x + 5 u |x|, and two roundings, with what underflows,
moved x by less.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, nextafter
from operator import add, itemgetter, sub

from hardsim.verify.arithmetic import require
from hardsim.verify.external.columns import ClassWeights, Columns, Vector
from hardsim.verify.external.machine import ClaimedMachine
from hardsim.verify.external.numbers import ETA, GROW, LARGEST, U, dot, gamma

Table = Sequence[Sequence[Sequence[float]]]
"""Numbers by position, symbol and direction."""
TOGETHER = 64
"""Number of directions that go through a pass together."""


@dataclass(frozen=True, slots=True)
class PositionMoves:
    """The moves at one position: sets of symbols, and by state that is reached the moves into it, each as the place
    of the state that it comes from (among those reached before) and the number of a set of symbols."""

    sets: list[tuple[int, ...]]
    moves: list[list[tuple[int, int]]]
    size: int
    """The number of all moves."""
    used: list[int]
    """The symbols of the sets."""


class MachinePaths:
    """The moves of a machine by position, over the states that prefixes reach there; of those prefixes alone that are
    in the states `passed` after so many symbols, as far as they are as long as that."""

    def __init__(
        self,
        machine: ClaimedMachine,
        longest: int,
        spend: Callable[[int], None],
        passed: Mapping[int, int] | None = None,
    ) -> None:
        self.states = machine.reached(longest, spend, passed or {})
        self.places = [{state: place for place, state in enumerate(layer)} for layer in self.states]
        self.layers: list[PositionMoves] = []
        known: dict[tuple[tuple[int, ...], tuple[int, ...]], PositionMoves] = {}
        for n in range(longest):
            key = tuple(self.states[n]), tuple(self.states[n + 1])
            if key not in known:
                known[key] = _moves(machine, *key)
            self.layers.append(known[key])


def _moves(machine: ClaimedMachine, before: tuple[int, ...], after: tuple[int, ...]) -> PositionMoves:
    places = {state: place for place, state in enumerate(after)}
    numbers: dict[tuple[int, ...], int] = {}
    moves: list[list[tuple[int, int]]] = [[] for _ in after]
    for place, state in enumerate(before):
        symbols: dict[int, list[int]] = {}
        for symbol, target in enumerate(machine.moves[state]):
            if target in places:
                symbols.setdefault(target, []).append(symbol)
        for target, own in symbols.items():
            moves[places[target]].append((place, numbers.setdefault(tuple(own), len(numbers))))
    size = sum(map(len, moves)) + sum(map(len, numbers))
    return PositionMoves([*numbers], moves, size, sorted({one for own in numbers for one in own}))


class HeadSupports:
    """The support functions of a head over the classes of prefixes of one network."""

    def __init__(self, columns: Columns, number: int, paths: MachinePaths) -> None:
        self.columns, self.number, self.paths = columns, number, paths
        head = columns.heads[number]
        self.head, self.width = head, len(head.axes)
        here = range(columns.start, columns.start + columns.longest)
        values = [[head.values[token][place] for token in columns.symbols] for place in here]
        self.values: list[list[Vector]] = values
        """By position and symbol, the coordinates of the value."""
        self.both = [[[*z, *(-one for one in z)] for z in row] for row in values]
        """Coordinates as in `values`, followed by their opposites."""
        columns_of = [*zip(*(z for rows in head.values.values() for z in rows), strict=True)]
        slips = [(one * GROW + ETA) for one in head.off]
        tops = [max(column) + 4 * U * abs(max(column)) for column in columns_of]
        ends = [4 * U * abs(min(column)) - min(column) for column in columns_of]
        self.most = [(one + slip) for one, slip in zip([*tops, *ends], [*slips, *slips], strict=True)]
        """For each axis and its opposite, a bound of the greatest coordinate of a value."""
        self._key: tuple[int, int] = (-1, -1)
        self._weights: ClassWeights | None = None

    def weights(self, length: int, symbol: int) -> ClassWeights:
        """Return the weights of a query. The last ones are kept."""
        if self._weights is None or self._key != (length, symbol):
            used = [layer.used for layer in self.paths.layers]
            self._key, self._weights = (length, symbol), self.columns.weights(self.number, length, symbol, used)
        return self._weights

    def box(self, length: int, symbol: int, states: Sequence[int], low: Vector, high: Vector) -> bool:
        """Return True if it is certain that low <= z <= high for all prefixes of some classes."""
        levels, free = [*high, *(-one for one in low)], length - (symbol >= 0)
        # where no value is above L, no mean is
        chosen = [k for k, (level, most) in enumerate(zip(levels, self.most, strict=True)) if not level >= most]
        if not chosen:
            return True
        # with one more, an itemgetter returns a tuple
        taken = itemgetter(*chosen, chosen[0])
        weights = self.weights(length, symbol)
        fixed = [taken([*z, *(-one for one in z)]) for *_, z in weights.fixed]
        values = [[taken(z) for z in row] for row in self.both[:free]]
        off, size = self.head.off, self.head.size
        return self._holds(
            length, symbol, states, values, fixed, taken(levels), taken([*off, *off]), taken([*size, *size])
        )

    def bounded(
        self, length: int, symbol: int, states: Sequence[int], directions: Sequence[Vector], levels: Vector
    ) -> bool:
        """Return True if it is certain that d.z <= L for all directions d with their L, for all prefixes of some
        classes."""
        for start in range(0, len(directions), TOGETHER):
            some, here = directions[start : start + TOGETHER], levels[start : start + TOGETHER]
            free, weights = length - (symbol >= 0), self.weights(length, symbol)
            self.columns.spend(len(some) * free * len(self.columns.symbols) * (1 + self.width // 8))
            values = [[[dot(d, z) for d in some] for z in row] for row in self.values[:free]]
            fixed = [[dot(d, z) for d in some] for *_, z in weights.fixed]
            absolute = [[*map(abs, d)] for d in some]
            # fl(d.z) is off by |d|.off and gamma |d|.size
            sizes = [dot(d, self.head.size) * GROW + ETA for d in absolute]
            slips = [
                (dot(d, self.head.off) + gamma(self.width + 4) * size) * GROW + ETA
                for d, size in zip(absolute, sizes, strict=True)
            ]
            if not self._holds(length, symbol, states, values, fixed, here, slips, sizes):
                return False
        return True

    def _holds(
        self,
        length: int,
        symbol: int,
        states: Sequence[int],
        values: Table,
        fixed: Sequence[Sequence[float]],
        levels: Sequence[float],
        slips: Sequence[float],
        sizes: Sequence[float],
    ) -> bool:
        """Return True if V(L) <= 0 is certain for all directions and states. `values` are fl(d.z) by position, symbol
        and direction, `fixed` those of the fixed tokens; all are at most `sizes`, and off by `slips`."""
        free, weights = length - (symbol >= 0), self.weights(length, symbol)
        lowered = [nextafter(level - slip, -inf) for level, slip in zip(levels, slips, strict=True)]
        most = sum(weights.most) + sum(high for _, high, _ in weights.fixed)
        terms = free + len(weights.fixed)
        errors = [
            (gamma(terms + 4) * most * (size * GROW + abs(level)) * GROW + terms * ETA) * GROW
            for size, level in zip(sizes, lowered, strict=True)
        ]
        require(all(error < LARGEST for error in errors), "too large: a bound of a direction of a head")
        found = self._walk(free, values, fixed, lowered, weights, False)
        places = [self.paths.places[free][state] for state in states]
        worst = greatest([found[place] for place in places])
        if all(one + error <= 0 for one, error in zip(worst, errors, strict=True)):
            return True
        if any(one > error for one, error in zip(worst, errors, strict=True)):
            return False
        found = self._walk(free, values, fixed, lowered, weights, True)
        return all(one <= 0 for place in places for one in found[place])

    def _walk(
        self,
        free: int,
        values: Table,
        fixed: Sequence[Sequence[float]],
        levels: Vector,
        weights: ClassWeights,
        careful: bool,
    ) -> list[Vector]:
        """Return the greatest sums by state after `free` positions, and direction; `careful`: each step is rounded
        up."""
        steps, reached = sum(layer.size for layer in self.paths.layers[:free]), free * len(self.columns.symbols)
        self.columns.spend((steps * (1 + len(levels) // 8) + reached * (1 + len(levels) // 16)) * (1 + careful))
        value = [0.0] * len(levels)
        for own, (below, above, _) in zip(fixed, weights.fixed, strict=True):
            gains = gained(own, levels, below, above)
            value = [*map(add, value, raised(gains) if careful else gains)]
            value = raised(value) if careful else value
        found = [value]
        for z, low, high, layer in zip(values, weights.low, weights.high, self.paths.layers, strict=False):
            some = [gained(one, levels, below, above) for one, below, above in zip(z, low, high, strict=True)]
            sets = [greatest([some[symbol] for symbol in symbols]) for symbols in layer.sets]
            if careful:
                sets = [*map(raised, sets)]
            found = [
                greatest([[*map(add, found[source], sets[number])] for source, number in moves])
                for moves in layer.moves
            ]
            if careful:
                found = [*map(raised, found)]
        return found


def raised(row: Vector) -> Vector:
    """Return upper bounds of numbers that were rounded twice."""
    return [x + abs(x) * (8 * U) + ETA for x in row]


def gained(z: Sequence[float], levels: Vector, low: float, high: float) -> Vector:
    """Return the gains of a token whose weight is between two bounds, by direction."""
    return [x * high if x > 0 else x * low for x in map(sub, z, levels)]


def greatest(rows: Sequence[Vector]) -> Vector:
    """Return the greatest number of each column."""
    first, *others = rows
    for row in others:
        first = [one if one > other else other for one, other in zip(first, row, strict=True)]
    return first
