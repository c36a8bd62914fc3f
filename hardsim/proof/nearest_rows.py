"""The logits of a head that looks for the nearest position, one position of many rows at a time.

A row is a query of a word of some length: sites that have the same query share it. Positions are counted from 0 in the
direction in which the last one wins, and rows are in the order of the number of positions that they see, the largest
first, so that those which see position j are the first ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from hardsim.proof.reading import LocalType, NearestReading
from hardsim.proof.running import NOTHING, Columns
from hardsim.proof.sites import Sites
from hardsim.spec.ir import Mask

if TYPE_CHECKING:
    from numpy import bool_, int64
    from numpy.typing import NDArray

    from hardsim.proof.outward import Array

    Numbers = NDArray[int64]
    Flags = NDArray[bool_]


UNDERFLOW = 2.0**-1000
"""Relative to the other factor, and between numbers: far more than rounding costs where it loses all digits."""
LARGEST_LOGIT = 2.0**1000
"""The sizes of the products of a logit together; their float sums then are finite, whatever their rounding."""


class HeadArrays:
    """A head's sites, keys and sets of types as arrays.

    `length`, `visible` and `place` are by site (how many positions it sees; which length it belongs to), `keys` one
    array for each row of the score, `kinds` the set of types: both by position and length.
    """

    def __init__(self, sites: Sites, reading: NearestReading, columns: Columns) -> None:
        import numpy as np

        self.reading, self.columns = reading, columns
        self.lengths = np.array(sites.lengths)
        self.place = np.repeat(np.arange(len(sites.lengths)), self.lengths)
        self.length = self.lengths[self.place]
        position = columns.floats(sites.i).astype(np.int64)
        if reading.mask is Mask.NONE:
            self.visible = self.length
        else:
            self.visible = position if reading.mask is Mask.FUTURE else self.length - position + 1
        # A position of a word, counted from 0 on the side from which the last one wins.
        own = position - 1 if reading.rightmost else self.length - position
        shape = (max(sites.lengths), len(sites.lengths))
        self.kinds = np.zeros(shape, dtype=np.int64)
        self.kinds[own, self.place] = reading.kinds
        self.keys = []
        for column in reading.keys:
            self.keys.append(np.zeros(shape))
            self.keys[-1][own, self.place] = columns.floats(column)

    @cached_property
    def size(self) -> Array:
        """The largest key, in absolute value, by row of the score and length."""
        import numpy as np

        found: Array = np.array([np.max(np.abs(table), axis=0) for table in self.keys])
        return found

    def queries(self) -> tuple[Numbers, Numbers]:
        """A site for every row, and the row of every site: sites of one length that have the same query are one."""
        import numpy as np

        codes = self.place
        for column in self.reading.queries:
            numbers = self.columns.numbers(column)
            codes = np.unique(codes * (int(numbers.max()) + 1) + numbers, return_inverse=True)[1]
        _, first, of = np.unique(codes, return_index=True, return_inverse=True)
        return first, of

    def rows(self, places: Numbers, visible: Numbers) -> Rows:
        """The rows of some sites; `visible` is how many positions each sees, in falling order.

        Raises:
            OverflowError: if logits may be too large for floats.
        """
        import numpy as np

        queries = [self.columns.floats(column)[places] for column in self.reading.queries]
        length = self.place[places]
        error = np.zeros(len(places))
        for number, query in enumerate(queries):
            kinds = (float(kind.key[number]) for types in self.reading.types for kind in types)
            varying = max((abs(value) for value in kinds), default=0.0)
            size = self.size[number][length] + varying
            error = error + (np.abs(query) * size + (np.abs(query) + size + 1) * UNDERFLOW)
        if not np.all(error < LARGEST_LOGIT):
            raise OverflowError("a logit is too large for a float")
        # Rationals rounded once, a product, and a sum of two numbers for each row of the score; differences of logits
        # are rounded once more.
        error = error * ((2 * len(queries) + 6) * 2.0**-53) + len(queries) * UNDERFLOW
        return Rows(self, queries, length, visible, error)


@dataclass(frozen=True)
class Position:
    """One position of the first rows: its logit without what depends on the type, by row, and its set of types (one
    number where it is the same in all of them)."""

    base: Array
    kind: int | Numbers

    def pick(self, table: Array) -> Array:
        """Logits by value and row, from a table of their varying parts by value, set of types and row."""
        import numpy as np

        size = len(self.base)
        if isinstance(self.kind, int):
            part: Array = table[:, self.kind, :size]
        else:
            part = table[:, self.kind, np.arange(size)]
        result: Array = self.base + part
        return result

    def flag(self, flags: Flags) -> Flags:
        """A flag by value and row, from flags by value and set of types."""
        found: Flags = flags[:, self.kind, None] if isinstance(self.kind, int) else flags[:, self.kind]
        return found


@dataclass(frozen=True)
class Rows:
    """Rows of a head: their queries by row of the score, the number of their length, how many positions they see, and
    how far a logit can be off, in nats."""

    head: HeadArrays
    queries: list[Array]
    place: Numbers
    visible: Numbers
    error: Array

    def __len__(self) -> int:
        return len(self.visible)

    @property
    def longest(self) -> int:
        """The largest number of positions that a row sees."""
        return int(self.visible[0])

    @cached_property
    def counts(self) -> list[int]:
        """How many rows see each position."""
        import numpy as np

        found: list[int] = np.searchsorted(-self.visible, -np.arange(self.longest), side="left").tolist()
        return found

    @cached_property
    def _uniform(self) -> list[int]:
        """The set of types at each position where it is the same for all lengths that have it, else -1."""
        import numpy as np

        used = np.unique(self.place)
        kinds, lengths = self.head.kinds[:, used], self.head.lengths[used]
        inside = np.arange(len(kinds))[:, None] < lengths[None, :]
        low = np.min(np.where(inside, kinds, len(self.head.reading.types)), axis=1)
        high = np.max(np.where(inside, kinds, -1), axis=1)
        found: list[int] = np.where(low == high, low, -1).tolist()
        return found

    def at(self, j: int) -> Position:
        """A position, of the rows that see it."""
        size = self.counts[j]
        single = len(self.head.lengths) == 1
        place = 0 if single else self.place[:size]
        base = self.queries[0][:size] * self.head.keys[0][j, place] if self.queries else self.error[:size] * 0
        for query, table in zip(self.queries[1:], self.head.keys[1:], strict=True):
            base = base + query[:size] * table[j, place]
        kind = self._uniform[j]
        return Position(base, kind if kind >= 0 else self.head.kinds[j, place])

    # ---- what a set of types can add: tables by value that the winner should have, set of types, and row ----

    @cached_property
    def _offsets(self) -> list[dict[LocalType, Array]]:
        import numpy as np

        found = []
        for types in self.head.reading.types:
            own = {}
            for kind in types:
                total = np.zeros(len(self))
                for query, key in zip(self.queries, kind.key, strict=True):
                    total = total + query * float(key)
                own[kind] = total
            found.append(own)
        return found

    def _table(self, chosen: Sequence[Sequence[Sequence[LocalType]]], largest: bool) -> Array:
        """The largest or the smallest logit among the types chosen, by value and set of types."""
        import numpy as np

        nothing = np.full(len(self), NOTHING)
        pick = np.max if largest else np.min
        result: Array = np.array([
            [pick([own[kind] for kind in some], axis=0) if some else nothing
             for own, some in zip(self._offsets, by_kind, strict=True)]
            for by_kind in chosen
        ])  # fmt: skip
        return result

    @cached_property
    def before(self) -> Sides:
        """What a position before the winner can hold: any type."""
        return self._sides(False)

    @cached_property
    def after(self) -> Sides:
        """What a position beyond the winner can hold: types that are not selected."""
        return self._sides(True)

    def _sides(self, unselected: bool) -> Sides:
        import numpy as np

        sets = [[kind for kind in types if not (unselected and kind.selected)] for types in self.head.reading.types]
        bad = [[[kind for kind in some if kind.value != value] for some in sets] for value in (0, 1)]
        good = [[[] if wrong else some for some, wrong in zip(sets, by_kind, strict=True)] for by_kind in bad]
        rights = np.array([any(by_kind) for by_kind in zip(*good, strict=True)], dtype=bool)
        return Sides(self._table(bad, True), self._table(good, False), rights)

    def winners(self, selected: bool) -> tuple[Array, Flags]:
        """The smallest logit of a winner, and whether there is one."""
        import numpy as np

        chosen = [
            [[kind for kind in types if kind.selected is selected and kind.value == value]
             for types in self.head.reading.types]
            for value in (0, 1)
        ]  # fmt: skip
        return self._table(chosen, False), np.array([[bool(some) for some in own] for own in chosen], dtype=bool)

    @cached_property
    def blocked(self) -> Flags:
        """By set of types: whether a position is always selected, so that none before it can win."""
        import numpy as np

        return np.array([[all(kind.selected for kind in types) for types in self.head.reading.types]], dtype=bool)


@dataclass(frozen=True)
class Sides:
    """What a position other than the winner adds: the largest wrong logit, the smallest right one where there is no
    wrong one; and by set of types whether that can be."""

    wrong: Array
    right: Array
    rights: Flags

    def has_right(self, position: Position) -> bool:
        """Whether a position adds to the right weights in some row."""
        return bool(self.rights[position.kind].any())
