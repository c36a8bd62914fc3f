"""Softmax attention of one head over one word.

Exponentials are shared: a logit depends on the position and the few coordinates that the head reads there (its
type), so words of one length draw on one small table. Where the logit depends on the key alone, running sums give
all queries at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import lcm
from operator import mul
from typing import Any, Generic, TypeVar

import numpy as np

from hardsim.run.arithmetic import Column, T, Value
from hardsim.run.exponentials import Exponentials, Whole, whole
from hardsim.run.plan import HeadPlan, Terms
from hardsim.run.sharp import Booleans, KeptRow, SharpHead, spread
from hardsim.spec.ir import Mask, Rational

V = TypeVar("V")

MEMO_LENGTH = 8
"""Attention rows of words up to this length are remembered whole: short words repeat them."""
MEMO_SIZE = 200_000
REMEMBERED = 2**16
"""Exponentials that a head remembers, about: some 15 megabytes of multiprecision numbers. All rows of two types of keys
fit up to length 255; of longer words the later rows are computed for each word again."""

Vector = tuple[Value, ...]
"""The rows of W_Q x_i or W_K x_j."""


class ExpTable(Generic[T]):
    """The exponentials of one head at one length, for exact inputs: filled as words need them."""

    def __init__(
        self,
        head: HeadPlan,
        exponentials: Exponentials[T],
        inverse: Sequence[Fraction],
        sharp: SharpHead[T] | None = None,
    ) -> None:
        self.head = head
        self.sharp = sharp
        self.exponentials = exponentials
        self.arithmetic = exponentials.arithmetic
        self.inverse = inverse
        self.memo: dict[Any, Column] = {}
        self.rows: dict[Any, T] = {}
        self._ids: dict[tuple[int, Vector], int] = {}
        self._keys: list[Vector] = []
        self._wholes: list[Whole] = []
        self._rows: dict[tuple[int, Vector], tuple[Whole, list[T | None]]] = {}
        self._remembered = 0

    def key_ids(self, columns: Sequence[Column], n: int) -> list[int]:
        """A number for the type of each key position."""
        inputs = [columns[index].values for index in self.head.key_inputs]
        types = zip(*inputs, strict=True) if inputs else iter([()] * n)
        ids: list[int] = []
        for j, kind in enumerate(types):
            number = self._ids.get((j, kind))
            if number is None:
                number = self._ids[j, kind] = len(self._keys)
                self._keys.append(tuple(evaluate(key, columns, j) for _, key in self.head.scores))
                self._wholes.append(whole(self._keys[-1]))
            ids.append(number)
        return ids

    def row(self, columns: Sequence[Column], i: int, ids: Sequence[int]) -> list[T]:
        """e^(s_ij / tau) for the keys of these ids, at query index i (0-based; any i does where the logit depends
        on the key alone)."""
        kind = () if self.head.key_only else tuple(columns[index].values[i] for index in self.head.query_inputs)
        place = (0 if self.head.key_only else i, kind)
        entry = self._rows.get(place)
        if entry is None:
            scaled = [evaluate(query, columns, i) * self.inverse[i] for query, _ in self.head.scores]
            entry = (whole(scaled), [])
            if self._remembered < REMEMBERED:
                self._rows[place] = entry
        query, known = entry
        if len(known) < len(self._keys):
            known.extend([None] * (len(self._keys) - len(known)))
        result: list[T] = []
        for number in ids:
            value = known[number]
            if value is None:
                value = known[number] = self.exponentials.product(query, self._wholes[number])
                self._remembered += 1
            result.append(value)
        return result

    def near(self, columns: Sequence[Column], i: int, ids: Sequence[int]) -> list[tuple[int, Fraction]]:
        """The keys that matter to query index i (0-based) among these: index in `ids`, and s_ij / tau, exactly."""
        query = [evaluate(form, columns, i) * self.inverse[i] for form, _ in self.head.scores]
        unit = lcm(*(value.denominator for value in query))
        whole = [int(value * unit) for value in query]
        scores = [sum(map(mul, whole, self._keys[number])) for number in ids]
        cutoff = self.arithmetic.negligible
        least = min(scores) if cutoff is None else max(scores) - cutoff * unit
        return [(number, Fraction(score, unit)) for number, score in enumerate(scores) if score >= least]

    def remember(self, key: Any, column: Column) -> Column:
        """Keep a short word's attended column."""
        if len(self.memo) >= MEMO_SIZE:
            self.memo.clear()
        self.memo[key] = column
        return column


@dataclass(frozen=True, slots=True)
class View:
    """What a query sees, by index: `low` up to but not including `high`, and index 0 besides if `start`."""

    low: int
    high: int
    start: bool = False

    @staticmethod
    def of(mask: Mask, index: int, size: int, bos: bool) -> View:
        """The view of a query; with a beginning of sequence (at index 0) it is always part of it."""
        visible = mask.visible(index + 1, size)
        low, high = visible.start - 1, visible.stop - 1
        return View(low, high, bos and not low <= 0 < high)

    def take(self, values: list[V]) -> list[V]:
        """The visible members."""
        part = values[self.low : self.high]
        return [values[0], *part] if self.start else part


def seen_matrix(mask: Mask, size: int, bos: bool) -> Booleans:
    """What each query (row) sees, by index: (size, size)."""
    seen = np.zeros((size, size), dtype=np.bool_)
    for query in range(size):
        view = View.of(mask, query, size, bos)
        seen[query, view.low : view.high] = True
        seen[query, 0] |= view.start
    return seen


def evaluate(form: Terms, columns: Sequence[Column], position: int) -> Rational:
    """A linear form at one position (0-based) over exact columns."""
    total: Rational = sum(coefficient * columns[index].values[position] for index, coefficient in form)
    return total


class AttentionWeights(Generic[T]):
    """The weights of one head on one word; `attend` averages any column with them."""

    def __init__(self, table: ExpTable[T], columns: Sequence[Column], n: int, bos: bool = False) -> None:
        self.table = table
        self.head = table.head
        self.columns = columns
        self.n = n
        self.bos = bos
        self._vectors: tuple[list[list[T]], list[list[T]]] | None = None
        self._kept: list[KeptRow[T]] | None = None
        read = {index for query, key in self.head.scores for form in (query, key) for index, _ in form}
        self.exact = all(columns[index].exact for index in read)
        self._ids: list[int] | None = None

    @property
    def ids(self) -> list[int]:
        """The types of the keys, where all that the head reads is exact."""
        if self._ids is None:
            self._ids = self.table.key_ids(self.columns, self.n) if self.exact else []
        return self._ids

    def attend(self, values: Column, out: int) -> Column:
        """The attended value of every query position, for the output coordinate `out`."""
        if self.exact and out in self.head.static_values and not self.head.key_only:
            return Column(self._look_up(values, out), exact=False)
        if self.table.sharp is not None:
            reach = spread(self.table.arithmetic, values.values)
            if reach is not None:
                if self._kept is None:
                    self._kept = self.table.sharp.rows(self.columns, range(self.n))
                return Column([self._near_mean(row, values, reach) for row in self._kept], exact=False)
        if not self.exact or not values.exact or self.n > MEMO_LENGTH:
            return Column(self._attend(values), exact=False)
        kinds = () if self.head.key_only else tuple(tuple(self.columns[c].values) for c in self.head.query_inputs)
        key = (tuple(self.ids), tuple(values.values), kinds)
        known = self.table.memo.get(key)
        return known or self.table.remember(key, Column(self._attend(values), exact=False, kept=True))

    def _near_mean(self, row: KeptRow[T], values: Column, reach: Rational) -> T:
        """A row from the few keys that matter to it; the values are at most `reach` apart."""
        mean = self._mean(row.weights, [values.values[key] for key in row.keys])
        return self.table.arithmetic.widened(mean, row.dropped, reach) if row.dropped and reach else mean

    def _attend(self, values: Column) -> list[T]:
        if self.exact and self.head.key_only:
            return self._running(self.table.row(self.columns, 0, self.ids), values)
        return [self._value(i, values) for i in range(self.n)]

    def _look_up(self, values: Column, out: int) -> list[T]:
        """Rows that depend on the query alone, each computed once: a look-up of a count in a table of positions."""
        known, placeless = self.table.rows, self.head.placeless
        inputs = [self.columns[index].values for index in self.head.query_inputs]
        kinds = [(out, 0 if placeless else i, *(values[i] for values in inputs)) for i in range(self.n)]
        missing = {kind: i for i, kind in enumerate(kinds) if kind not in known}
        if missing:
            known.update(zip(missing, self._static_values(list(missing.values()), values), strict=True))
        return [known[kind] for kind in kinds]

    def _static_values(self, wanted: list[int], values: Column) -> list[T]:
        """Some rows of a look-up."""
        if self.table.sharp is None:
            return [self._static_value(i, values) for i in wanted]
        reach = max(values.values) - min(values.values)
        return [self._near_mean(row, values, reach) for row in self.table.sharp.rows(self.columns, wanted)]

    def _static_value(self, i: int, values: Column) -> T:
        """One row of a look-up: only the keys near the winner have weights that the arithmetic can tell from 0."""
        view = self._view(i)
        seen = view.take(values.values)
        near = self.table.near(self.columns, i, view.take(self.ids))
        weights = [self.table.arithmetic.exp(logit) for _, logit in near]
        mean = self._mean(weights, [seen[number] for number, _ in near])
        dropped = len(seen) - len(near)
        if not dropped:
            return mean
        return self.table.arithmetic.widened(mean, dropped, max(seen) - min(seen))

    def _view(self, i: int) -> View:
        return View.of(self.head.mask, i, self.n, self.bos)

    def _value(self, i: int, values: Column) -> T:
        view = self._view(i)
        return self._mean(self._row(i, view), view.take(values.values))

    def _row(self, i: int, view: View) -> list[T]:
        """The weights of one query before they are divided by their sum."""
        if self.exact:
            return self.table.row(self.columns, i, view.take(self.ids))
        if self._vectors is None:
            self._vectors = (
                self._all([query for query, _ in self.head.scores]),
                self._all([key for _, key in self.head.scores]),
            )
        queries, keys = self._vectors
        beta = self.table.arithmetic.number(self.table.inverse[i])
        query = [beta * part for part in queries[i]]
        total = self.table.arithmetic.total
        logits = [total([q * k for q, k in zip(query, key, strict=True)]) for key in view.take(keys)]
        return [self.table.arithmetic.exp(logit) for logit in logits]

    def _all(self, forms: list[Terms]) -> list[list[T]]:
        """The values of some forms at every position, where some input is not exact."""
        return [[self._form(form, position) for form in forms] for position in range(self.n)]

    def _form(self, form: Terms, position: int) -> T:
        number = self.table.arithmetic.number
        total = number(0)
        for index, coefficient in form:
            value = self.columns[index].values[position]
            total = total + number(coefficient) * (number(value) if isinstance(value, int | Fraction) else value)
        return total

    def _products(self, weights: Sequence[T], values: Sequence[Value]) -> list[T]:
        """e_j v_j; most values are 0 or 1."""
        number = self.table.arithmetic.number
        zero = number(0)
        products: list[T] = []
        for weight, value in zip(weights, values, strict=True):
            if not isinstance(value, int | Fraction):
                products.append(weight * value)
            elif value == 0:
                products.append(zero)
            else:
                products.append(weight if value == 1 else weight * number(value))
        return products

    def _mean(self, weights: list[T], values: Sequence[Value]) -> T:
        if len(values) == 1:
            # The only visible position has weight 1, exactly.
            only: T = self.table.arithmetic.number(values[0]) if isinstance(values[0], int | Fraction) else values[0]
            return only
        total = self.table.arithmetic.total
        mean: T = total(self._products(weights, values)) / total(weights)
        return mean

    def _running(self, weights: list[T], values: Column) -> list[T]:
        """All queries at once from running sums, where the weights do not depend on the query."""
        mask = self.head.mask
        if mask is Mask.NONE:
            return [self._mean(weights, values.values)] * self.n
        if mask.strict or (self.bos and mask is Mask.PAST):
            views = [self._view(i) for i in range(self.n)]
            return [self._mean(view.take(weights), view.take(values.values)) for view in views]
        products = self._products(weights, values.values)
        if mask is Mask.PAST:
            weights, products = weights[::-1], products[::-1]
        means = [top / bottom for top, bottom in zip(accumulate(products), accumulate(weights), strict=True)]
        only = values.values[0 if mask is Mask.FUTURE else -1]
        if isinstance(only, int | Fraction):
            means[0] = self.table.arithmetic.number(only)  # the only visible position has weight 1, exactly
        return means if mask is Mask.FUTURE else means[::-1]
