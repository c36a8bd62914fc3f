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

Sites whose queries are the same share the sums before j*: in a regime whose temperature depends on n alone, all sites
of one length. What stands beyond j* differs from site to site, but where it loses `FAR` nats it is negligible, and one
pass over the positions settles all sites: O(n) for a length, or O(n) for a site where every site has its own query. So
it is wherever the selected positions stand out by n or i times a constant, but for the shortest words; the sites that
are left have sums of their own (`_near`).

Numbers: logits are products of exact rationals, each rounded once, with a bound on the error in nats; sums are of
positive numbers, with a bound on their relative error; both enter the quotient outwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hardsim.proof.nearest_rows import HeadArrays, Position, Rows, Sides
from hardsim.proof.reading import Extremes, NearestReading
from hardsim.proof.running import NOTHING, Columns, Running, share
from hardsim.proof.sites import Sites

if TYPE_CHECKING:
    from hardsim.proof.nearest_rows import Flags, Numbers
    from hardsim.proof.outward import Array

FAR = 80
"""Nats: unselected positions beyond the winner that lose as much count with a bound of 2^-115 each (e^-80 <
2^-115)."""
CHUNK = 2_000_000
"""Numbers in one array."""


def head_worst_case(sites: Sites, reading: NearestReading, columns: Columns | None = None) -> tuple[Extremes, Extremes]:
    """How much weight wrong values can have where the specified winner has value 0, and where it has value 1.

    The head's output is then within that bound of the value. `columns` keeps what was converted for other heads.

    Raises:
        OverflowError: if a query or a key is too large for a float.
    """
    import numpy as np

    head = HeadArrays(sites, reading, columns or Columns())
    with np.errstate(invalid="ignore", over="ignore"):  # empty sums compared with each other, logits too large
        return _worst_case(head)


def _worst_case(head: HeadArrays) -> tuple[Extremes, Extremes]:
    import numpy as np

    found = _shared(head)
    far = np.flatnonzero(found.near.any(axis=0))
    for part in np.array_split(far, -(-len(far) * int(head.lengths.max()) // CHUNK) or 1):
        if len(part):
            bound, winner = _near(head, part)
            own = found.near[:, part]
            found.bound[:, part] = np.where(own, bound, found.bound[:, part])
            found.winner[:, part] = np.where(own, winner, found.winner[:, part])
    winner = np.where(found.lone > found.bound, head.visible, found.winner)
    bound = np.maximum(found.lone, found.bound)
    if not head.reading.rightmost:
        winner = np.where(winner > 0, head.length - winner + 1, 0)
    return Extremes(bound[0], winner[0], found.rounding), Extremes(bound[1], winner[1], found.rounding)


@dataclass(frozen=True)
class _Found:
    """By value that the winner should have and site: the bound and the position of the worst winner (minus
    infinity and 0 where there is none), counted from 1; the bound where no position is selected; whether what stands
    beyond the winner may count, so that the first is not to be used; and how far a logit can be off, in nats."""

    bound: Array
    winner: Numbers
    lone: Array
    near: Flags
    rounding: float


def _shared(head: HeadArrays) -> _Found:
    """All sites, as far as what stands beyond the winner is negligible."""
    import numpy as np

    total = len(head.visible)
    first, of = head.queries()
    visible = np.zeros(len(first), dtype=np.int64)
    np.maximum.at(visible, of, head.visible)
    order = np.argsort(-visible, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    scan = _Scan(head.rows(first[order], visible[order]))
    found = _Found(np.full((2, total), NOTHING), np.zeros((2, total), dtype=np.int64), np.full((2, total), NOTHING),
                   np.zeros((2, total), dtype=bool), float(np.max(scan.rows.error)))  # fmt: skip
    # The sites that see j + 1 positions are settled at position j.
    sites = np.argsort(head.visible, kind="stable")
    ends = np.searchsorted(head.visible[sites], np.arange(scan.rows.longest + 1), side="right")
    for j in range(scan.rows.longest):
        here = sites[ends[j] : ends[j + 1]]
        scan.step(j, rank[of[here]], here, found)
    return found


class _Scan:
    """The running sums of rows, from the first position on; values that the winner should have are the first axis."""

    def __init__(self, rows: Rows) -> None:
        import numpy as np

        self.rows, shape = rows, (2, len(rows))
        self.win, self.able = rows.winners(True)
        self.lone, self.lonely = rows.winners(False)
        self.sums = _Sums(Running.empty(shape))
        self.alone = _Sums(Running.empty(shape))
        self.loudest = np.maximum(rows.after.wrong, rows.after.right)
        self.bound, self.winner = np.full(shape, NOTHING), np.zeros(shape, dtype=np.int64)
        # The least logit of a winner so far, and how far what stands beyond one comes up to it.
        self.least, self.gain = np.full(shape, -NOTHING), np.full(shape, NOTHING)
        self.open = np.ones((1, len(rows)), dtype=bool)

    def step(self, j: int, rows: Numbers, sites: Numbers, found: _Found) -> None:
        """One position: as the winner, then as one before the winner. `sites` see no further, and belong to
        `rows`."""
        import numpy as np

        size, position = self.rows.counts[j], self.rows.at(j)
        self._cut(size)
        self.gain = np.maximum(self.gain, position.pick(self.loudest) - self.least)
        self._as_winner(j, position)
        bound = self.bound[:, rows]
        found.bound[:, sites] = bound
        found.winner[:, sites] = np.where(bound > NOTHING, self.winner[:, rows], 0)
        found.near[:, sites] = ~(self.gain[:, rows] + 2 * self.rows.error[rows] <= -FAR)
        if self.open.any():
            self._alone(position, rows, sites, found)
        self.sums.add(position, self.rows.before)

    def _cut(self, size: int) -> None:
        """Leave out the rows that do not see the position."""
        if size < self.bound.shape[1]:
            self.bound, self.winner, self.open = self.bound[:, :size], self.winner[:, :size], self.open[:, :size]
            self.least, self.gain = self.least[:, :size], self.gain[:, :size]
            self.sums.cut(size)
            self.alone.cut(size)

    def _as_winner(self, j: int, position: Position) -> None:
        """A selected position wins over all before it, and none of those behind a position that is always selected
        wins."""
        import numpy as np

        able, blocked = position.flag(self.able), position.flag(self.rows.blocked)
        if blocked.any():
            self.bound = np.where(blocked, NOTHING, self.bound)
            self.least, self.gain = np.where(blocked, -NOTHING, self.least), np.where(blocked, NOTHING, self.gain)
        if not able.any():
            return
        win, size = position.pick(self.win), len(position.base)
        longest = self.rows.longest
        found = share(self.sums.wrong, self.sums.below(win), self.rows.error[:size], longest) + longest * 2.0**-110
        better = able & (found > self.bound)
        self.bound, self.winner = np.where(better, found, self.bound), np.where(better, j + 1, self.winner)
        self.least = np.where(able, np.minimum(self.least, win), self.least)

    def _alone(self, position: Position, rows: Numbers, sites: Numbers, found: _Found) -> None:
        """Where no visible position is selected the last one wins."""
        import numpy as np

        if len(rows):
            own = _Sums(self.alone.wrong.at(rows), None if self.alone.right is None else self.alone.right.at(rows))
            bound = share(own.wrong, own.below(position.pick(self.lone)[:, rows]), self.rows.error[rows],
                          self.rows.longest)  # fmt: skip
            able = position.flag(self.lonely)
            able = (able if able.shape[1] == 1 else able[:, rows]) & self.open[:, rows]
            found.lone[:, sites] = np.where(able, bound, NOTHING)
        self.open = self.open & ~position.flag(self.rows.blocked)
        self.alone.add(position, self.rows.after)


@dataclass
class _Sums:
    """The wrong and the right weights so far (None: none of these)."""

    wrong: Running
    right: Running | None = None

    def add(self, position: Position, sides: Sides) -> None:
        """Count a position."""
        self.wrong = self.wrong.plus(position.pick(sides.wrong))
        if sides.has_right(position):
            self.right = (self.right or Running.empty(self.wrong.top.shape)).plus(position.pick(sides.right))

    def below(self, win: Array) -> Running:
        """The right weights with that of the winner."""
        import numpy as np

        return Running(win, np.ones(win.shape)) if self.right is None else self.right.plus(win)

    def cut(self, size: int) -> None:
        """Leave out all but the first rows."""
        self.wrong = self.wrong.first(size)
        self.right = None if self.right is None else self.right.first(size)


def _near(head: HeadArrays, sites: Numbers) -> tuple[Array, Numbers]:
    """The bound and the worst winner of some sites, where what stands beyond the winner counts: from the last position
    back to the first, with the sums before each position at hand."""
    import numpy as np

    order = np.argsort(-head.visible[sites], kind="stable")
    rows = head.rows(sites[order], head.visible[sites][order])
    before, left = [], _Sums(Running.empty((2, len(rows))))
    for j in range(rows.longest):
        left.cut(rows.counts[j])
        before.append(_Sums(left.wrong, left.right))
        left.add(rows.at(j), rows.before)
    win, able = rows.winners(True)
    wrong, right = Running.empty((2, len(rows))), Running.empty((2, len(rows)))
    rights = False
    open_ = np.ones((1, len(rows)), dtype=bool)
    bound, winner = np.full((2, len(rows)), NOTHING), np.zeros((2, len(rows)), dtype=np.int64)
    for j in range(rows.longest - 1, -1, -1):
        size, position, part = rows.counts[j], rows.at(j), before[j]
        above = wrong.first(size).plus(part.wrong.top, part.wrong.mantissa)
        below = part.below(position.pick(win))
        if rights:
            below = right.first(size).plus(below.top, below.mantissa)
        found = share(above, below, rows.error[:size], rows.longest)
        better = position.flag(able) & open_[:, :size] & (found > bound[:, :size])
        bound[:, :size] = np.where(better, found, bound[:, :size])
        winner[:, :size] = np.where(better, j + 1, winner[:, :size])
        wrong.put(wrong.first(size).plus(position.pick(rows.after.wrong)))
        if rows.after.has_right(position):
            rights = True
            right.put(right.first(size).plus(position.pick(rows.after.right)))
        open_[:, :size] &= ~position.flag(rows.blocked)
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return bound[:, back], winner[:, back]
