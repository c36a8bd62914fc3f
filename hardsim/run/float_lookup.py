"""Softmax attention over keys and values that are the same for every word, in float64 enclosures: look-ups.

In two cases a query needs only a few keys, however many there are; otherwise it is run row by row (`float_rows`).

- Few distinct keys: every query sees all keys. Keys whose factors and values have the same enclosures count as one,
  and its weight is multiplied by their number, since every computation with them would give the same. The product of
  weight and number is one more rounding of a term, but there are at most n/4 terms in place of n.
- Concave logits: every query sees all keys, and for any query the logits L_j are concave in the key's index j, since
  the exact factors are linear in j, or bend one way and the query's coefficient has the sign that bends the sum down.
  Then, if L_s <= L_(s+1) is certain, no L_j before s is above L_s. So if L_s is at least 100 below some logit of the
  window from s on, the keys before the window weigh no more than e^-100, which `float_rows` allows for. The same
  holds after the window. Bisection places the window around the top; it need not be right: rows for which either end
  is not certain are run over all keys. The distance must be larger by one nat, since it is rounded by less than 2^-51
  times the largest logit, which is below the slack of the row; with a slack of 1 or more nothing is claimed. (Ours.)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hardsim.network.numbers import Mask
from hardsim.run.enclosure import Block, Booleans, Floats, Integers, U
from hardsim.run.float_rows import (
    LOWEST_BESIDE_1,
    Ends,
    Scale,
    Scaled,
    Sums,
    Views,
    exponentials,
    products,
    softmax_rows,
    stacked,
)

FEW = 4
"""Keys are few if the different ones (with their values) are at least this many times fewer than the positions."""
WINDOW = 16
"""The number of keys in a window."""
BEYOND = np.iinfo(np.int64).max
"""An integer above all that have numbers."""


class Met:
    """Numbers, from 0 on, for the integers that batches have: few of very many. Greater ones than BEYOND - 1 have none.
    An integer keeps its number."""

    def __init__(self) -> None:
        self.count = 0
        self._sorted, self._numbers = np.array([BEYOND]), np.array([-1])
        self._last = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)

    def numbers(self, integers: Integers) -> Integers:
        """Return the numbers of some integers; new ones get the next numbers."""
        # Heads of a layer ask for the same integers one after the other.
        if not np.array_equal(integers, self._last[0]):
            places = self._sorted.searchsorted(integers)
            new = integers[self._sorted[places] != integers]
            if len(new):
                fresh = np.unique(new)
                every = np.concatenate([fresh, self._sorted])
                numbers = np.concatenate([np.arange(self.count, self.count + len(fresh)), self._numbers])
                order = every.argsort(kind="stable")
                self._sorted, self._numbers = every[order], numbers[order]
                self.count += len(fresh)
                places = self._sorted.searchsorted(integers)
            self._last = integers, self._numbers[places]
        return self._last[1]


class Lookup:
    """The keys and values of one length, prepared for queries: k factors, (1, n) each, and the values."""

    def __init__(self, keys: Sequence[Block], values: Sequence[Block], views: Views, scale: Scale) -> None:
        self.keys, self.values, self.views, self.scale = keys, values, views, scale
        self._right, right_rad = stacked(keys)
        self._reach = np.abs(self._right).max(axis=2, keepdims=True), right_rad.max(axis=2, keepdims=True)
        self._ends = [Ends.of(value) for value in values]
        self._few: tuple[Floats, list[Block], Floats] | None = None
        """The distinct keys and their values, and how often each pair occurs."""
        self._bends: list[int] | None = None
        if views.mask is Mask.NONE:
            parts = [part for block in (*keys, *values) for part in (block.mid[0], block.radius[0])]
            _, first, counts = np.unique(np.stack(parts), axis=1, return_index=True, return_counts=True)
            if len(first) * FEW <= views.size:
                few = [_at(value, first) for value in values]
                self._few = self._right[:, :, first], few, counts.astype(np.float64)
            elif views.size >= 2 * WINDOW:
                self._bends = _bends(keys)

    def read(self, queries: Sequence[Block], rows: Integers) -> list[Block]:
        """Return the attended values, (1, rows), of the queries at positions `rows` with these factors, (1, rows)
        each."""
        if self._few is None and self._bends is None:
            return softmax_rows(queries, self.keys, self.values, self.views, self.scale, rows)
        scaled = Scaled.of(queries, self.scale, rows, *self._reach)
        return self._by_window(scaled, queries, rows) if self._few is None else self._by_count(scaled, *self._few)

    def _by_count(self, scaled: Scaled, keys: Floats, values: Sequence[Block], counts: Floats) -> list[Block]:
        weights = exponentials(products(scaled.query, keys), None)
        weights *= counts
        total = weights.sum(axis=2)
        return self._quotients(values, weights, total, scaled.error)

    def _by_window(self, scaled: Scaled, queries: Sequence[Block], rows: Integers) -> list[Block]:
        start = self._start(scaled.query[0])
        keys = start[:, None] + np.arange(WINDOW)
        logits = np.einsum("kr,krw->rw", scaled.query[0], self._right[0][:, keys])
        sure = self._falling(queries) & self._ends_sure(start, logits, scaled.slack[0])
        weights = exponentials(logits[:, None, :], None)
        total = weights.sum(axis=2)
        values = [Block(value.mid[0][keys], None if value.rad is None else value.rad[0][keys]) for value in self.values]
        found = self._quotients(values, weights, total, scaled.error.T)
        found = [Block(one.mid.T.copy(), one.radius.T.copy()) for one in found]
        if not sure.all():
            rest = np.flatnonzero(~sure)
            some = [_at(query, rest) for query in queries]
            for one, other in zip(
                found, softmax_rows(some, self.keys, self.values, self.views, self.scale, rows[rest]), strict=True
            ):
                one.mid[:, rest], one.radius[:, rest] = other.mid, other.radius
        return found

    def _quotients(self, values: Sequence[Block], weights: Floats, total: Floats, error: Floats) -> list[Block]:
        """Return the means of the values, (words, keys), under weights (words, rows, keys) with these sums, (words,
        rows)."""
        found = []
        for value, ends in zip(values, self._ends, strict=True):
            sums = Sums(value, *total.shape)
            sums.add(slice(None), slice(None), slice(None), weights, total)
            found.append(sums.quotient(total, error, self.views.size, ends))
        return found

    def _start(self, query: Floats) -> Integers:
        """Return the start of each row's window: around the largest logit, found by bisection as if the logits were
        concave."""
        steps = np.diff(self._right[0], axis=1)
        low = np.zeros(query.shape[1], dtype=np.int64)
        high = np.full_like(low, steps.shape[1])
        for _ in range(int(steps.shape[1]).bit_length()):
            middle = (low + high) // 2
            rises = (query * steps[:, np.minimum(middle, steps.shape[1] - 1)]).sum(axis=0) > 0
            rises &= middle < high
            low, high = np.where(rises, middle + 1, low), np.where(rises, high, middle)
        return np.clip(low - WINDOW // 2, 0, self.views.size - WINDOW)

    def _falling(self, queries: Sequence[Block]) -> Booleans:
        """Return the rows whose logits are certainly concave."""
        assert self._bends is not None
        sure = np.ones(queries[0].mid.shape[1], dtype=np.bool_)
        for query, bend in zip(queries, self._bends, strict=True):
            if bend:
                sure &= -bend * query.mid[0] >= query.radius[0]
        return sure

    def _ends_sure(self, start: Integers, logits: Floats, slack: Floats) -> Booleans:
        """Return the rows in which, if the logits are concave, the keys outside the window certainly weigh nothing."""
        least, deep = 2 * slack, logits.max(axis=1) + LOWEST_BESIDE_1 - 1 - 2 * slack
        ends = [(start == 0, 0, 1), (start == self.views.size - WINDOW, WINDOW - 1, WINDOW - 2)]
        sure = np.ones(len(start), dtype=np.bool_)
        for nothing, end, inner in ends:
            rise = (logits[:, inner] - logits[:, end]) * (1 - 4 * U)
            sure &= nothing | ((rise > least) & (logits[:, end] < deep))
        return sure


def _at(value: Block, places: Integers) -> Block:
    """Return a column at some positions, without its codes."""
    return Block(value.mid[:, places], None if value.rad is None else value.rad[:, places], boolean=value.boolean)


def _bends(keys: Sequence[Block]) -> list[int] | None:
    """Return the bend of each factor, exactly: 0 if it is linear in the index, 1 if no second difference is negative,
    -1 if none is positive. Return None if some factor bends both ways."""
    found = []
    for key in keys:
        if key.static is None:
            return None
        second = np.diff(key.static.whole[0].astype(object), n=2)
        up, down = bool((second > 0).any()), bool((second < 0).any())
        if up and down:
            return None
        found.append(int(up) - int(down))
    return found
