"""Worst case, over all words at once, of a head that looks for the nearest selected position.

A head at query i gives `sum_j e^(l_ij(t_j)) v(t_j) / sum_j e^(l_ij(t_j))`. Here t_j is the local type of position
j: its key, whether the position is selected, and its value. Positions choose their types independently of each
other: every word makes such a choice, so the worst choice bounds all words. The specification says that the last
selected position j* of those visible wins (for a leftmost head read the word backwards). So the positions after j*
have types that are not selected, those before it any type; if none is selected the last one wins.

The weight w of the wrong values, relative to that of the winner, is a quotient. Every position counts either above
(a type with a wrong value, at its largest weight) or, if it has no such type, below (at its smallest weight). Both
choices only increase the quotient. So the worst case is found position by position, and the sums on both sides of
j* are running sums: O(n) steps for all j* of one query.

Sites with equal queries share the sums before j*. In a regime whose temperature depends on n alone these are all
sites of one length. Positions beyond j* differ from site to site. Where they lose by `FAR` nats they are
negligible, and one pass over the positions settles all sites: O(n) for a length, or O(n) for a site where every
site has its own query. That holds for all but the shortest words wherever the logits of selected positions are
higher by n or i times a constant. The other sites get sums of their own (`_near`).

A row is a query of a word of some length: sites that have the same query share it. Positions are counted from 0 in
the direction in which the last one wins. Rows are sorted by the number of positions that they see, the largest
first, so the rows that see position j are the first ones.

Numbers: logits are products of exact rationals, each rounded once, with a bound on the error in nats; sums are of
positive numbers, with a bound on their relative error; both enter the quotient outwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import bool_, int64
from numpy.typing import NDArray

from hardsim.lang.reals import RealNumber
from hardsim.lazy_dataclass import dataclass
from hardsim.network.numbers import Mask, Rational
from hardsim.proof.formulas.arrays import NOTHING, Array, ExactNumbers, Running, share
from hardsim.proof.formulas.sites import Sites

Numbers = NDArray[int64]
Flags = NDArray[bool_]

Example = tuple[tuple[str | None, str], ...]
"""Example of an assignment at a position: coordinates and their values, and the symbol, whose name is None."""


@dataclass(frozen=True, slots=True)
class LocalType:
    """Local type: one possible view of a position by a head. It has the part of the key that depends on the word
    (one number for each row of W_K), whether the position is selected, its value (0 or 1), and an assignment that
    leads to it."""

    key: tuple[Rational, ...]
    selected: bool
    value: int
    example: Example = ()


@dataclass(frozen=True)
class NearestReading:
    """Head that looks for the nearest selected position, at all sites. `queries[r]` has, by site, row r of W_Q x_i
    times the inverse temperature at i. `keys[r]` has, by site, the part of row r of W_K x_j that is the same
    for every word. `kinds` has, by site, the number of the position's set of local types in `types`."""

    mask: Mask
    rightmost: bool
    queries: tuple[ExactNumbers[RealNumber], ...]
    keys: tuple[ExactNumbers[Rational], ...]
    kinds: tuple[int, ...]
    types: tuple[tuple[LocalType, ...], ...]


@dataclass(frozen=True)
class Extremes:
    """Worst cases of a head for one specified value. `wrong` has an upper bound, by site, of the weight of wrong
    values over all words in which the head should read that value; `winner` is the position that should be read in
    the worst of them. If no word does that, they are minus infinity and 0. `rounding` is the largest rounding error
    of a logit in nats; the bounds include it."""

    wrong: Array
    winner: NDArray[int64]
    rounding: float


UNDERFLOW = 2.0**-1000
"""Bound of the absolute error of a product that underflows, relative to the other factor; far more than such a
rounding costs."""
LARGEST_LOGIT = 2.0**1000
"""Largest total size of the products in a logit; below it their float sums are finite, whatever the rounding."""


class HeadArrays:
    """Sites, keys and sets of local types of a head as arrays. By site: `length`, `visible` (number of positions
    seen) and `place` (index of the length). By position and length: `keys`, one array for each row of the score,
    and `kinds`, the numbers of the sets of types."""

    def __init__(self, sites: Sites, reading: NearestReading) -> None:
        self.reading = reading
        self.lengths = np.array(sites.lengths)
        self.place = np.repeat(np.arange(len(sites.lengths)), self.lengths)
        self.length = self.lengths[self.place]
        position = np.concatenate([np.arange(1, n + 1) for n in sites.lengths])
        visible = {Mask.NONE: self.length, Mask.FUTURE: position, Mask.PAST: self.length - position + 1}
        self.visible = visible[reading.mask]
        # A position of a word, counted from 0 on the side from which the last one wins.
        own = position - 1 if reading.rightmost else self.length - position

        def table(column: NDArray[Any]) -> NDArray[Any]:
            found = np.zeros((max(sites.lengths), len(sites.lengths)), dtype=column.dtype)
            found[own, self.place] = column
            return found

        self.kinds: Numbers = table(np.array(reading.kinds))
        self.keys: list[Array] = [table(column.floats) for column in reading.keys]

    def queries(self) -> tuple[Numbers, Numbers]:
        """Return one site for every row, and the row of every site. Sites of one length with equal queries share a
        row."""
        codes = self.place
        for column in self.reading.queries:
            codes = np.unique(codes * (int(column.places.max()) + 1) + column.places, return_inverse=True)[1]
        _, first, of = np.unique(codes, return_index=True, return_inverse=True)
        return first, of


@dataclass(frozen=True)
class RowPosition:
    """Position j in the rows that see it (the first ones). `base` is the part of the logit that does not depend on
    the type, by row; `kind` is the number of its set of types, one number if it is the same in all rows."""

    base: Array
    kind: int | Numbers

    def pick(self, table: Array) -> Array:
        """Return logits by value and row, from a table of their varying parts by value, set of types and row."""
        rows = slice(len(self.base)) if np.ndim(self.kind) == 0 else np.arange(len(self.base))
        found: Array = self.base + table[:, self.kind, rows]
        return found

    def flag(self, flags: Flags) -> Flags:
        """Return a flag by value and row, from flags by value and set of types."""
        return flags[:, self.kind, None] if np.ndim(self.kind) == 0 else flags[:, self.kind]


@dataclass(frozen=True)
class Sides:
    """Contributions of a position that is not the winner, by value, set of types and row: the largest logit of a
    wrong value (`wrong`) or, if the set has none, the smallest logit of a right value (`right`). `rights` is true,
    by set of types, where the second case occurs."""

    wrong: Array
    right: Array
    rights: Flags


class QueryRows:
    """Rows of a head, sorted by falling number of visible positions (`visible`): their queries by row of the score,
    the index of their length (`place`), and the largest rounding error of a logit in nats (`error`). Contributions
    of positions are tables by the value that the winner should have, set of types, and row. Raises OverflowError if
    logits may be too large for floats."""

    def __init__(self, head: HeadArrays, sites: Numbers, visible: Numbers) -> None:
        types = head.reading.types
        self.head, self.visible, self.place, self.longest = head, visible, head.place[sites], int(visible[0])
        self.queries = [column.floats[sites] for column in head.reading.queries]
        self.error = self._rounding()
        # Rows are in falling order, so `counts[j]` rows, the first ones, see position j.
        self.counts: list[int] = np.searchsorted(-visible, -np.arange(self.longest), side="left").tolist()
        self._offsets = [{kind: self._offset(kind) for kind in some} for some in types]
        # Before the winner any type may occur, beyond it only unselected types. A set with selected types only blocks:
        # no position before it can win.
        loose = [[kind for kind in some if not kind.selected] for some in types]
        self.before, self.after = self._sides(types), self._sides(loose)
        self.blocked = np.array([[not some for some in loose]], dtype=bool)

    def __len__(self) -> int:
        return len(self.visible)

    def _offset(self, kind: LocalType) -> Array:
        """Return the amount that a local type adds to the logits, by row."""
        return sum((query * float(key) for query, key in zip(self.queries, kind.key, strict=True)), np.zeros(len(self)))

    def _rounding(self) -> Array:
        error = np.zeros(len(self))
        for number, query in enumerate(self.queries):
            kinds = (float(kind.key[number]) for types in self.head.reading.types for kind in types)
            varying = max((abs(value) for value in kinds), default=0.0)
            size = np.max(np.abs(self.head.keys[number]), axis=0)[self.place] + varying
            error = error + (np.abs(query) * size + (np.abs(query) + size + 1) * UNDERFLOW)
        if not np.all(error < LARGEST_LOGIT):
            raise OverflowError("a logit is too large for a float")
        # Numbers rounded once, a product, and a sum of two numbers for each row of the score; differences of logits are
        # rounded once more, relative to two of them: k + 5 roundings for k rows. The rest covers products of roundings,
        # and the slightly larger error of an irrational query (`arrays.next_to`).
        found: Array = error * ((2 * len(self.queries) + 6) * 2.0**-53) + len(self.queries) * UNDERFLOW
        return found

    def at(self, j: int) -> RowPosition:
        """Return position j in the rows that see it."""
        size = self.counts[j]
        place = 0 if len(self.head.lengths) == 1 else self.place[:size]
        rows = zip(self.queries, self.head.keys, strict=True)
        base = sum((query[:size] * table[j, place] for query, table in rows), np.zeros(size))
        return RowPosition(base, self.head.kinds[j, place])

    def _table(self, chosen: Sequence[Sequence[Sequence[LocalType]]], largest: bool) -> Array:
        """Return the largest or the smallest logit among the chosen types, by value, set of types and row; minus
        infinity without types."""
        nothing, pick = np.full(len(self), NOTHING), np.max if largest else np.min
        return np.array([
            [pick([own[kind] for kind in some], axis=0) if some else nothing
             for own, some in zip(self._offsets, by_kind, strict=True)]
            for by_kind in chosen
        ])  # fmt: skip

    def _sides(self, sets: Sequence[Sequence[LocalType]]) -> Sides:
        bad = [[[kind for kind in some if kind.value != value] for some in sets] for value in (0, 1)]
        good = [[[] if wrong else some for some, wrong in zip(sets, by_kind, strict=True)] for by_kind in bad]
        rights = np.array([any(by_kind) for by_kind in zip(*good, strict=True)], dtype=bool)
        return Sides(self._table(bad, True), self._table(good, False), rights)

    def winners(self, selected: bool) -> tuple[Array, Flags]:
        """Return the smallest logit of a winner, by value, set of types and row, and flags that tell where there is
        one. Winners are selected, or unselected, types."""
        chosen = [
            [[kind for kind in types if kind.selected is selected and kind.value == value]
             for types in self.head.reading.types]
            for value in (0, 1)
        ]  # fmt: skip
        return self._table(chosen, False), np.array([[bool(some) for some in own] for own in chosen], dtype=bool)


FAR = 80
"""Difference of logits, in nats, beyond which unselected positions after the winner are counted together, with a
bound of 2^-115 > e^-80 each."""
CHUNK = 2_000_000
"""Largest number of entries in one array."""


@np.errstate(invalid="ignore", over="ignore")  # empty sums compared with each other, logits too large
def head_worst_case(sites: Sites, reading: NearestReading) -> tuple[Extremes, Extremes]:
    """Bound the weight of wrong values, over all words, where the specified winner has value 0, and where it has value
    1. The head's output is within that bound of the value. Raises OverflowError if a query or a key is too large for a
    float."""
    head = HeadArrays(sites, reading)
    bound, winner, unselected, near, rounding = _scan(head)
    left = np.flatnonzero(near.any(axis=0))
    for part in np.array_split(left, -(-len(left) * int(head.lengths.max()) // CHUNK) or 1):
        if len(part):
            for whole, found in zip((bound, winner), _near(head, part), strict=True):
                whole[:, part] = np.where(near[:, part], found, whole[:, part])
    winner = np.where(unselected > bound, head.visible, winner)
    bound = np.maximum(unselected, bound)
    if not reading.rightmost:
        winner = np.where(winner > 0, head.length - winner + 1, 0)
    return Extremes(bound[0], winner[0], rounding), Extremes(bound[1], winner[1], rounding)


@dataclass(frozen=True)
class _Sums:
    """Sums of wrong and of right weights over the positions so far; `right` is None if there are no right weights."""

    wrong: Running
    right: Running | None = None

    def plus(self, position: RowPosition, sides: Sides) -> _Sums:
        """Return the sums with the contribution of one more position."""
        right = self.right
        if sides.rights[position.kind].any():
            right = (right or Running.empty(self.wrong.top.shape)).plus(position.pick(sides.right))
        return _Sums(self.wrong.plus(position.pick(sides.wrong)), right)

    def below(self, win: Array) -> Running:
        """Return the running sum of right weights, with the weight of a winner of logit `win` added."""
        return Running(win, np.ones(win.shape)) if self.right is None else self.right.plus(win)

    def at(self, rows: slice | Numbers) -> _Sums:
        """Return the sums of some rows."""
        return _Sums(self.wrong.at(rows), None if self.right is None else self.right.at(rows))


def _scan(head: HeadArrays) -> tuple[Array, Numbers, Array, Flags, float]:
    """Bound all sites for which the positions beyond the winner are negligible, in one pass over the positions.

    All results have the value that the winner should have as first axis, and the site as second: the bound, and the
    position of that winner counted from 1 (minus infinity and 0 where there is none); the bound for words in which
    no position is selected; and flags for sites where positions beyond the winner may count, whose first bound must
    not be used. The last result is the largest rounding error of a logit, in nats.
    """
    first, of = head.queries()
    visible = np.zeros(len(first), dtype=np.int64)
    np.maximum.at(visible, of, head.visible)
    order = np.argsort(-visible, kind="stable")
    rows, row = QueryRows(head, first[order], visible[order]), np.argsort(order)[of]
    (win, able), (lone, lonely) = rows.winners(True), rows.winners(False)
    loudest = np.maximum(rows.after.wrong, rows.after.right)
    sums = alone = _Sums(Running.empty((2, len(rows))))
    bound, winner = np.full((2, len(rows)), NOTHING), np.zeros((2, len(rows)), dtype=np.int64)
    # least: the least logit of a winner so far. gain: how near the logits of positions beyond a winner come to it
    # (their difference, negative if they lose). open_: all positions so far may be unselected.
    least, gain, open_ = -bound, bound, np.ones((1, len(rows)), dtype=bool)
    best, unselected = np.full((2, len(of)), NOTHING), np.full((2, len(of)), NOTHING)
    best_winner, near = np.zeros((2, len(of)), dtype=np.int64), np.zeros((2, len(of)), dtype=bool)
    sites = np.argsort(head.visible, kind="stable")
    ends = np.searchsorted(head.visible[sites], np.arange(rows.longest + 1), side="right")
    for j in range(rows.longest):
        # The sites `here` see up to j and no further; arrays by row are cut to the rows that see position j.
        seen, position, here = slice(rows.counts[j]), rows.at(j), sites[ends[j] : ends[j + 1]]
        own, sums, alone, error = row[here], sums.at(seen), alone.at(seen), rows.error[seen]
        bound, winner, least, gain, open_ = (part[:, seen] for part in (bound, winner, least, gain, open_))
        # A selected position wins over all before it. If a position is always selected, none before it can win.
        blocked, wins = position.flag(rows.blocked), position.flag(able)
        gain = np.where(blocked, NOTHING, np.maximum(gain, position.pick(loudest) - least))
        bound, least = np.where(blocked, NOTHING, bound), np.where(blocked, -NOTHING, least)
        if wins.any():
            top = position.pick(win)
            found = share(sums.wrong, sums.below(top), error, rows.longest) + rows.longest * 2.0**-110
            better = wins & (found > bound)
            bound, winner = np.where(better, found, bound), np.where(better, j + 1, winner)
            least = np.where(wins, np.minimum(least, top), least)
        best[:, here] = settled = bound[:, own]
        best_winner[:, here] = np.where(settled > NOTHING, winner[:, own], 0)
        near[:, here] = ~(gain[:, own] + 2 * error[own] <= -FAR)
        if open_.any():
            if len(here):  # where no visible position is selected the last one wins
                lasts = alone.at(own)
                found = share(lasts.wrong, lasts.below(position.pick(lone)[:, own]), error[own], rows.longest)
                unselected[:, here] = np.where((position.flag(lonely) & open_)[:, own], found, NOTHING)
            open_ = open_ & ~blocked
            alone = alone.plus(position, rows.after)
        sums = sums.plus(position, rows.before)
    return best, best_winner, unselected, near, float(np.max(rows.error))


def _near(head: HeadArrays, sites: Numbers) -> tuple[Array, Numbers]:
    """Return the bound and the worst winner (counted from 1; minus infinity and 0 where there is none) by value
    and site, for some sites, including the positions beyond the winner. The pass goes from the last position
    back to the first, with the sums before each position stored."""
    order = np.argsort(-head.visible[sites], kind="stable")
    rows = QueryRows(head, sites[order], head.visible[sites][order])
    shape, before = (2, len(rows)), list[_Sums]()
    left = _Sums(Running.empty(shape))
    for j in range(rows.longest):
        before.append(left.at(slice(rows.counts[j])))
        left = before[j].plus(rows.at(j), rows.before)
    win, able = rows.winners(True)
    wrong, right, rights = Running.empty(shape), Running.empty(shape), False
    open_ = np.ones((1, len(rows)), dtype=bool)
    bound, winner = np.full(shape, NOTHING), np.zeros(shape, dtype=np.int64)
    for j in range(rows.longest - 1, -1, -1):
        seen, position, part = slice(rows.counts[j]), rows.at(j), before[j]
        above = wrong.at(seen).plus(part.wrong.top, part.wrong.mantissa)
        below = part.below(position.pick(win))
        if rights:
            below = right.at(seen).plus(below.top, below.mantissa)
        found = share(above, below, rows.error[seen], rows.longest)
        better = position.flag(able) & open_[:, seen] & (found > bound[:, seen])
        np.copyto(bound[:, seen], found, where=better)
        np.copyto(winner[:, seen], j + 1, where=better)
        wrong.put(wrong.at(seen).plus(position.pick(rows.after.wrong)))
        if rows.after.rights[position.kind].any():
            rights = True
            right.put(right.at(seen).plus(position.pick(rows.after.right)))
        open_[:, seen] &= ~position.flag(rows.blocked)
    back = np.argsort(order)
    return bound[:, back], winner[:, back]
