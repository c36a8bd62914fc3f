"""The worst case of a head that looks for the nearest position, over all words at once.

A head at query i gives `sum_j e^(l_ij(t_j)) v(t_j) / sum_j e^(l_ij(t_j))`, where t_j is the local type of position j:
what the head reads there (its key, whether the position is selected, its value). Positions choose their types
independently of each other: every word makes such a choice, so the worst choice bounds all words. The specification
says that the last selected position j* of those visible wins (for a leftmost head read the word backwards), so the
positions after j* hold types that are not selected, those before it any; if none is selected the last one wins.

The weight w of the wrong values, relative to that of the winner, is a quotient in which every position counts either
above (type with a wrong value, its largest weight) or, where it has no such type, below (its smallest weight). Both
choices only increase the quotient, so the worst case is found position by position and sums on both sides of j* are
running sums: O(n) steps for all j* of one query.

Numbers: logits are products of exact rationals, each rounded once, with a bound on the error in nats; sums are of
positive numbers, with a bound on their relative error; both enter the quotient outwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from hardsim.proof.outward import RANGE, exp_lower, exponential
from hardsim.proof.sites import Sites
from hardsim.spec.ir import Mask, Rational

if TYPE_CHECKING:
    from numpy import bool_, int64
    from numpy.typing import NDArray

    from hardsim.proof.outward import Array

NOTHING = -1e300
"""The logarithm of an empty sum."""
FAR = 80
"""Nats: unselected positions beyond the winner that lose as much count with a bound of 2^-115 each (e^-80 <
2^-115)."""
CHUNK = 2_000_000
"""Numbers in one array."""


@dataclass(frozen=True, slots=True)
class LocalType:
    """What a head can find at a position: the part of its key that depends on the word (one number for each row of
    W_K), whether the position is selected, its value (0 or 1), and an assignment that leads to it."""

    key: tuple[Rational, ...]
    selected: bool
    value: int
    example: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class NearestReading:
    """A head as its worst case needs it, at all sites.

    `queries[r]` is row r of W_Q x_i times the inverse temperature at i, `keys[r]` the part of row r of W_K x_j that
    is the same for every word, `kinds` the number of the set of local types at j, into `types`.
    """

    mask: Mask
    rightmost: bool
    queries: tuple[tuple[Rational, ...], ...]
    keys: tuple[tuple[Rational, ...], ...]
    kinds: tuple[int, ...]
    types: tuple[tuple[LocalType, ...], ...]


@dataclass(frozen=True)
class Extremes:
    """For every site an upper bound of the weight of wrong values, over all words in which the head should give the
    other value, and the position that wins in the worst of them (0: no word does that; the bound is then -1)."""

    wrong: Array
    winner: NDArray[int64]


def head_worst_case(sites: Sites, reading: NearestReading) -> tuple[Extremes, Extremes]:
    """How much weight wrong values can have where the specified winner has value 0, and where it has value 1.

    The head's output is then within that bound of the value.
    """
    import numpy as np

    found = [Extremes(np.full(len(sites), -1.0), np.zeros(len(sites), dtype=np.int64)) for _ in range(2)]
    step = max(1, CHUNK // max(sites.lengths))
    walk = _Walk(sites, reading)
    for first in range(0, len(sites), step):
        rows = range(first, min(first + step, len(sites)))
        groups = walk.groups(rows)
        for value, extremes in enumerate(found):
            place = slice(first, rows.stop)
            extremes.wrong[place], extremes.winner[place] = walk.worst(groups, rows, value)
    return found[0], found[1]


@dataclass
class _Sum:
    """Sums of positive numbers as `mantissa * e^top`, each at most a factor of 1 + 2^-46 off for every number added.

    Tops are logarithms of numbers added, so nothing over- or underflows; what is more than 640 nats below the top
    counts as e^-640 of it, which is within that factor.
    """

    top: Array
    mantissa: Array

    @staticmethod
    def empty(size: int) -> _Sum:
        """Sums of nothing."""
        import numpy as np

        return _Sum(np.full(size, NOTHING), np.ones(size))

    def plus(self, top: Array, mantissa: Array | float = 1.0) -> _Sum:
        """With numbers `mantissa * e^top` added."""
        import numpy as np

        part = exponential(np.maximum(-np.abs(self.top - top), -RANGE))
        grown = np.where(top > self.top, self.mantissa * part + mantissa, self.mantissa + mantissa * part)
        return _Sum(np.maximum(top, self.top), grown)

    def where(self, condition: NDArray[bool_]) -> _Sum:
        """The sums at which a condition holds, elsewhere empty."""
        import numpy as np

        return _Sum(np.where(condition, self.top, NOTHING), np.where(condition, self.mantissa, 1.0))


@dataclass(frozen=True)
class _Groups:
    """Sites of one length whose queries are the same: the queries by row of the score, the sets of types of the
    positions, the logit of a key without its varying part by position, and the error of a logit in nats.

    `of` is the group of each site.
    """

    queries: list[Array]
    kinds: NDArray[int64]
    base: Array
    error: Array
    of: NDArray[int64]


class _Walk:
    """The running sums of one head. Positions are counted from 0 in the direction in which the last one wins."""

    def __init__(self, sites: Sites, reading: NearestReading) -> None:
        import numpy as np

        self.sites, self.reading, self.value = sites, reading, 0
        self.place = {n: index for index, n in enumerate(sites.lengths)}
        shape = (len(sites.lengths), max(sites.lengths))
        self.kinds = np.zeros(shape, dtype=np.int64)
        self.keys = [np.zeros(shape) for _ in reading.keys]
        way = 1 if reading.rightmost else -1
        for n, start, end in sites.words():
            self.kinds[self.place[n], :n] = reading.kinds[start:end][::way]
            for table, keys in zip(self.keys, reading.keys, strict=True):
                table[self.place[n], :n] = [float(Fraction(key)) for key in keys[start:end][::way]]
        # By set of types: whether a position is always selected, so that none before it can win.
        self.blocked = np.array([all(kind.selected for kind in types) for types in reading.types], dtype=bool)

    def groups(self, rows: range) -> _Groups:
        """Some sites, those that have the same logits together."""
        import numpy as np

        numbers: dict[tuple[Rational, ...], int] = {}
        of = []
        for site in rows:
            key = (self.sites.n[site], *(query[site] for query in self.reading.queries))
            of.append(numbers.setdefault(key, len(numbers)))
        places = [self.place[int(key[0])] for key in numbers]
        queries = [np.array([float(key[row + 1]) for key in numbers]) for row in range(len(self.keys))]
        base, size = np.zeros((len(places), self.kinds.shape[1])), np.zeros(len(places))
        for row, (query, table) in enumerate(zip(queries, self.keys, strict=True)):
            product = query[:, None] * table[places]
            varying = max((abs(float(kind.key[row])) for types in self.reading.types for kind in types), default=0.0)
            base, size = base + product, size + np.max(np.abs(product), axis=1) + np.abs(query) * varying
        # Rationals rounded once, a product, and a sum of two numbers for each row.
        error = size * ((2 * len(queries) + 4) * 2.0**-53)
        return _Groups(queries, self.kinds[places], base, error, np.array(of, dtype=np.int64))

    def worst(self, groups: _Groups, rows: range, value: int) -> tuple[Array, NDArray[int64]]:
        """The bound and the winner of some sites where the winner should have a value."""
        import numpy as np

        self.value = value
        lengths = np.array([self.sites.n[site] for site in rows])
        position = np.array([self.sites.i[site] for site in rows])
        if self.reading.mask is Mask.NONE:
            visible = lengths
        else:
            visible = position if self.reading.mask is Mask.FUTURE else lengths - position + 1
        bound, winner = self._with_winner(groups, visible)
        lone = self._without(groups, visible)
        winner = np.where(lone > bound, visible, winner)
        bound = np.maximum(lone, bound)
        if not self.reading.rightmost:
            winner = np.where(winner > 0, lengths - winner + 1, 0)
        return bound, winner

    def _with_winner(self, groups: _Groups, visible: NDArray[int64]) -> tuple[Array, NDArray[int64]]:
        """The worst case over all selected winners, by site."""
        import numpy as np

        size, longest = groups.kinds.shape
        before, after = self._logs(groups, False, True), self._logs(groups, True, True)
        wrong, right = _Sum.empty(size), _Sum.empty(size)
        left: list[tuple[_Sum, _Sum]] = []
        far = np.full(size, NOTHING)
        for j in range(longest):
            left.append((wrong, right))
            wrong, right = wrong.plus(before.wrong[:, j]), right.plus(before.right[:, j])
        gain = np.full(size, NOTHING)
        for j in range(longest - 1, -1, -1):
            gain = np.where(before.able[:, j], np.maximum(gain, far - before.win[:, j]), gain)
            far = np.maximum(far, np.maximum(after.wrong[:, j], after.right[:, j]))
        bound, winner = np.full(len(visible), -1.0), np.zeros(len(visible), dtype=np.int64)
        # Where what stands beyond the winner counts, every site has its own sum; elsewhere a bound does for all.
        for near in (False, True):
            sites = np.flatnonzero((gain[groups.of] > -FAR) == near)
            if len(sites):
                found = self._rows(groups, sites, visible[sites], left, before, after, near)
                bound[sites], winner[sites] = found
        return bound, winner

    def _rows(
        self,
        groups: _Groups,
        sites: NDArray[int64],
        visible: NDArray[int64],
        left: list[tuple[_Sum, _Sum]],
        before: _Logs,
        after: _Logs,
        near: bool,
    ) -> tuple[Array, NDArray[int64]]:
        """The worst winner of some sites, from the last position to the first."""
        import numpy as np

        of = groups.of[sites]
        if not near:
            return self._shared(groups, of, visible, left, before)
        longest = int(visible.max())
        wrong, right = _Sum.empty(len(sites)), _Sum.empty(len(sites))
        open_ = np.ones(len(sites), dtype=bool)
        bound, winner = np.full(len(sites), -1.0), np.zeros(len(sites), dtype=np.int64)
        for j in range(longest - 1, -1, -1):
            first, second = (_Sum(part.top[of], part.mantissa[of]) for part in left[j])
            above = wrong.plus(first.top, first.mantissa)
            below = right.plus(second.top, second.mantissa).plus(before.win[of, j])
            share = _share(above, below, groups.error[of], longest)
            better = (j < visible) & open_ & before.able[of, j] & (share > bound)
            bound, winner = np.where(better, share, bound), np.where(better, j + 1, winner)
            seen = j < visible
            wrong = wrong.plus(np.where(seen, after.wrong[of, j], NOTHING))
            right = right.plus(np.where(seen, after.right[of, j], NOTHING))
            open_ &= ~seen | ~self.blocked[groups.kinds[of, j]]
        return bound, winner

    def _shared(
        self, groups: _Groups, of: NDArray[int64], visible: NDArray[int64], left: list[tuple[_Sum, _Sum]], before: _Logs
    ) -> tuple[Array, NDArray[int64]]:
        """The same where what stands beyond the winner is negligible: the best winner so far, position by position."""
        import numpy as np

        size, longest = groups.kinds.shape
        bounds, winners = np.full((longest, size), -1.0), np.zeros((longest, size), dtype=np.int64)
        bound, winner = np.full(size, -1.0), np.zeros(size, dtype=np.int64)
        for j in range(longest):
            # Beyond a position that is always selected no earlier one wins.
            bound = np.where(self.blocked[groups.kinds[:, j]], -1.0, bound)
            wrong, right = left[j]
            share = _share(wrong, right.plus(before.win[:, j]), groups.error, longest) + longest * 2.0**-110
            better = before.able[:, j] & (share > bound)
            bound, winner = np.where(better, share, bound), np.where(better, j + 1, winner)
            bounds[j], winners[j] = bound, np.where(bound >= 0, winner, 0)
        return bounds[visible - 1, of], winners[visible - 1, of]

    def _without(self, groups: _Groups, visible: NDArray[int64]) -> Array:
        """The worst case where no visible position is selected, so that the last one wins; -1 where that cannot
        be."""
        import numpy as np

        size, longest = groups.kinds.shape
        logs = self._logs(groups, True, False)
        wrong, right = _Sum.empty(size), _Sum.empty(size)
        open_ = np.ones(size, dtype=bool)
        bounds = np.full((longest, size), -1.0)
        for j in range(longest):
            share = _share(wrong, right.plus(logs.win[:, j]), groups.error, longest)
            bounds[j] = np.where(open_ & logs.able[:, j], share, -1.0)
            wrong, right = wrong.plus(logs.wrong[:, j]), right.plus(logs.right[:, j])
            open_ &= ~self.blocked[groups.kinds[:, j]]
        result: Array = bounds[visible - 1, groups.of]
        return result

    def _logs(self, groups: _Groups, unselected: bool, selected_wins: bool) -> _Logs:
        """What every position can add: any type counts, or only those not selected."""
        import numpy as np

        rows = np.arange(len(groups.base))[:, None]
        columns: dict[str, list[Array]] = {"wrong": [], "right": [], "win": []}
        able = []
        for types in self.reading.types:
            offsets = {kind: _offset(groups.queries, kind) for kind in types}
            counted = [kind for kind in types if not (unselected and kind.selected)]
            bad = [kind for kind in counted if kind.value != self.value]
            winners = [kind for kind in types if kind.selected is selected_wins and kind.value == self.value]
            nothing = np.full(len(groups.base), NOTHING)
            columns["wrong"].append(np.max([nothing, *(offsets[kind] for kind in bad)], axis=0))
            good = [offsets[kind] for kind in counted] if not bad else []
            columns["right"].append(np.min(good, axis=0) if good else nothing)
            columns["win"].append(np.min([offsets[kind] for kind in winners], axis=0) if winners else nothing)
            able.append(bool(winners))
        wrong, right, win = (
            groups.base + np.stack(columns[name])[groups.kinds, rows] for name in ("wrong", "right", "win")
        )
        return _Logs(wrong, right, win, np.array(able, dtype=bool)[groups.kinds])


@dataclass(frozen=True)
class _Logs:
    """What a position can add, as logits by group and position: the largest wrong weight, the smallest right weight
    where there is no wrong one, the smallest weight of a winner, and whether it can win at all."""

    wrong: Array
    right: Array
    win: Array
    able: NDArray[bool_]


def _offset(queries: list[Array], kind: LocalType) -> Array:
    """The part of the logit that depends on the type."""
    import numpy as np

    total = np.zeros(len(queries[0])) if queries else np.zeros(1)
    for query, key in zip(queries, kind.key, strict=True):
        total = total + query * float(Fraction(key))
    return total


def _share(wrong: _Sum, right: _Sum, error: Array, longest: int) -> Array:
    """At least wrong/(wrong + right), where every logit is off by at most `error`; empty sums count as nothing."""
    import numpy as np

    distance = right.top - wrong.top - 2 * error
    quotient = exp_lower(distance) * (right.mantissa / wrong.mantissa) * (1 - (longest + 8) * 2.0**-45)
    quotient = np.where(right.top < NOTHING / 2, 0.0, quotient)
    share = (1 + 2.0**-50) / (1 + np.maximum(quotient, 0.0))
    result: Array = np.where(wrong.top < NOTHING / 2, 0.0, np.minimum(share, 1.0))
    return result
