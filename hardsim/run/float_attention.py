"""Softmax attention of one head over a batch of words, in float64 enclosures.

Three ways, by what the logits depend on; each gives the same enclosures up to their width.

- `types`: the query is the same for every word and the key reads Booleans. Then the logit is l_ij + c_t(i), t the
  key's class, one of few; e^l is a table for all classes (`float_tables`), and the sums over j are matrix products of
  the words' class indicators with it.
- `look-up`: keys and values are the same for every word. Then the value read depends on the query's position and
  code, and every such pair is computed once (`float_rows`).
- `dense`: anything else, row by row.

Error of a row. Let l_j be the true logits, d_j the computed distances to a reference R (any float), off by at most
x_j, and e_j = fl(exp(d_j)). Then e_j = e^(l_j - R) (1 + t_j) with |t_j| <= rho := max growth(x_j) + EXP_ERROR (1 +
growth), apart from underflow below 2^-1020. A sum of n such terms in any order has the relative error rho + gamma_n
(1 + rho), and so has a sum of e_j v_j for v_j >= 0. For the quotient q = fl(N/S) of two numbers with relative error
r each, the true one lies within q (2 r + 2 u)/(1 - 2 r) of q; if the v_j have both signs and |v_j| <= V, within V (4 r
+ 4 u)/(1 - 2 r). Since S >= 2^-900 is required, underflow adds at most n V 2^-100. Values with radii add the largest
of them, since a mean is convex.

A run may cover the positions from `Step.start` on only; what the words have before it (`Before`) is then read from
the run of their distinct prefixes, for masks under which no position sees what comes after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hardsim.errors import InvariantError
from hardsim.run.enclosure import (
    EXP_ERROR,
    Block,
    Booleans,
    Floats,
    Integers,
    U,
    floats,
    gamma,
    growth,
    numbered,
    outward,
)
from hardsim.run.float_rows import (
    LEAST_SUM,
    LookUps,
    Number,
    Reach,
    dense_means,
    each_row,
    exact_form,
    quotient,
    take,
    weigh,
)
from hardsim.run.float_tables import DEEPEST, ExpTable, Rows, Tables, Views
from hardsim.run.plan import HeadPlan
from hardsim.run.prefixes import WHOLE, Step, join
from hardsim.spec.ir import Mask, Rational

MOST_BOOLEANS = 12
"""Booleans that a key may read for the way by types."""
LARGEST_CODE = 2**62
"""Numbers of pairs of position and code for the way by look-ups."""


@dataclass(frozen=True, slots=True)
class _Class:
    """One class of keys: what it adds to the logits of each query, (n,), and its radius."""

    shift: Floats
    rad: Floats


@dataclass
class HeadPass:
    """One head at one length; what does not depend on the word is computed once, in a run of all positions.

    `inverse` holds 1/tau by query position, exactly; `tables` are shared by the heads of the length.
    """

    head: HeadPlan
    inverse: Sequence[Fraction]
    n: int
    tables: Tables = field(default_factory=Tables)
    _numbers: dict[tuple[Fraction, ...], int] = field(default_factory=dict)
    _classes: list[_Class] = field(default_factory=list)
    _table: ExpTable | None = None
    _queries: list[list[Rational]] = field(default_factory=list)
    _look_ups: LookUps | None = None

    def __post_init__(self) -> None:
        self.views = Views(self.head.mask, self.n)
        self.scale = floats(list(self.inverse))

    def attend(
        self, blocks: Sequence[Block], values: Sequence[Block], outs: Sequence[int], step: Step = WHOLE
    ) -> list[Block]:
        """The attended values of these columns (to be written to the coordinates `outs`), at every query of the step.

        Where all visible values are exactly the same, that is the attended value.
        """
        if not values:
            return []
        found = self._attend(blocks, values, outs, step)
        earlier = [None] * len(values) if step.before is None else step.before.values
        return [
            _constant(block, value, self.head.mask, step, old)
            for block, value, old in zip(found, values, earlier, strict=True)
        ]

    def _attend(self, blocks: Sequence[Block], values: Sequence[Block], outs: Sequence[int], step: Step) -> list[Block]:
        before = {} if step.before is None else step.before.inputs
        queries = {index for query, _ in self.head.scores for index, _ in query if blocks[index].static is None}
        keys = {index for _, key in self.head.scores for index, _ in key if blocks[index].static is None}
        boolean = all(blocks[index].boolean and (not before or before[index].boolean) for index in keys)
        whole = step.start == 0 and blocks[0].mid.shape[1] == self.n
        if len(keys) <= MOST_BOOLEANS and not queries and boolean and (whole or self._table is not None):
            return self._by_types(blocks, values, sorted(keys), step)
        if not keys and all(value.static is not None for value in values) and (whole or self._look_ups is not None):
            codes = [blocks[index] for index in sorted(queries)]
            kinds = [block.kinds for block in codes]
            if all(kinds) and self.n * np.prod(kinds, dtype=float) <= LARGEST_CODE:
                return self._look_up(blocks, codes, values, outs, step)
        return self._dense(blocks, values, step)

    # ---- by types ----

    def _by_types(self, blocks: Sequence[Block], values: Sequence[Block], keys: list[int], step: Step) -> list[Block]:
        parts = [_Part.of(self._kinds(blocks, keys, blocks[0].mid.shape[1]), values, step.start, None)]
        if step.before is not None:
            earlier = self._kinds(step.before.inputs, keys, step.start)
            parts.append(_Part.of(earlier, step.before.values, 0, step.rows))
        table = self._table = self._table or self._make_table(blocks)
        words = max(part.words for part in parts)
        present = sorted({number for part in parts for number in part.masks})
        chosen = [self._classes[number] for number in present]
        place = slice(step.start, step.start + blocks[0].mid.shape[1])
        reference = self._references(parts, present, place)
        total = np.zeros((words, place.stop - place.start))
        tops = [np.zeros_like(total) for _ in values]
        for number, one in zip(present, chosen, strict=True):
            factor = np.exp(np.minimum(one.shift[None, place] - reference, 0.0)) if len(chosen) > 1 else None
            for part in parts:
                part.add(table, number, place, factor, total, tops)
        error = self._error(chosen, table, len(parts))[None, place]
        reaches = [_reach(value, number, step) for number, value in enumerate(values)]
        found = [quotient(top, total, error, reach, self.n) for top, reach in zip(tops, reaches, strict=True)]
        low = ~(total >= LEAST_SUM)
        if low.any():
            self._again(np.argwhere(low), parts, table, values, found, step)
        return found

    def _error(self, chosen: list[_Class], table: ExpTable, parts: int) -> Floats:
        """The relative error of the sums of each row, (n,).

        With several classes every entry e^(l_ij - r_i) is multiplied by e^(c_t(i) - c(i)), c the largest of those
        seen: off by the radius of c_t, by the rounding of the difference, and by exp.
        """
        error = table.error
        if len(chosen) > 1:
            shifts = np.stack([one.shift for one in chosen])
            spread = np.minimum(shifts.max(axis=0) - shifts.min(axis=0), DEEPEST)
            drift = growth(outward(np.max([one.rad for one in chosen], axis=0) + 2 * U * spread))
            error = outward(error + (drift + EXP_ERROR * (1 + drift) + 2 * U) * (1 + error))
        return outward((error + gamma(self.n + 2 * parts * len(chosen) + 2)) * (1 + error))

    def _make_table(self, blocks: Sequence[Block]) -> ExpTable:
        left = [floats([q * beta for q, beta in zip(query, self.inverse, strict=True)]) for query in self._queries]
        right = [floats(exact_form(key, blocks, self.n)) for _, key in self.head.scores]
        return self.tables.get(self.views, _rows(left), _rows(right))

    def _kinds(self, blocks: Sequence[Block] | Mapping[int, Block], keys: list[int], width: int) -> Integers:
        """The class of every key, by number: (words or 1, width)."""
        if not self._queries:
            self._queries = [exact_form(query, blocks, self.n) for query, _ in self.head.scores]
        codes = np.zeros((1, width), dtype=np.int64)
        for place, index in enumerate(keys):
            codes = codes + (numbered(blocks[index]) << place)
        translate = np.zeros(1 << len(keys), dtype=np.int64)
        for code in np.flatnonzero(np.bincount(codes.ravel(), minlength=1 << len(keys))):
            held = {index: int(code) >> place & 1 for place, index in enumerate(keys)}
            shift = tuple(
                sum((Fraction(value) * held[index] for index, value in key if index in held), Fraction(0))
                for _, key in self.head.scores
            )
            if shift not in self._numbers:
                self._numbers[shift] = len(self._classes)
                added = [
                    sum((q * part for q, part in zip(query, shift, strict=True)), Fraction(0)) * beta
                    for *query, beta in zip(*self._queries, self.inverse, strict=True)
                ]
                self._classes.append(_Class(*floats(added)))
            translate[code] = self._numbers[shift]
        return translate[codes]

    def _references(self, parts: Sequence[_Part], present: Sequence[int], place: slice) -> Floats:
        """The largest constant among the classes that a query sees, exactly: (words or 1, queries)."""
        if len(present) == 1:
            return self._classes[present[0]].shift[None, place]
        best = np.full((1, place.stop - place.start), -np.inf)
        for number in present:
            seen = any_seen(parts[0].kinds == number, self.head.mask)
            for part in parts[1:]:
                seen = seen | part.spread(np.any(part.kinds == number, axis=1, keepdims=True))
            best = np.maximum(best, np.where(seen, self._classes[number].shift[None, place], -np.inf))
        return best

    def _again(
        self,
        low: Integers,
        parts: Sequence[_Part],
        table: ExpTable,
        values: Sequence[Block],
        found: list[Block],
        step: Step,
    ) -> None:
        """Rows in which the weights of the table underflow, with a reference of their own.

        The logits of the table are off by less than its entries are, relatively.
        """
        shifts, rads = np.stack([one.shift for one in self._classes]), np.stack([one.rad for one in self._classes])
        whole = [join(old, value, step.rows) for value, old in zip(values, step.earlier(values), strict=True)]
        reaches = [_reach(value, number, step) for number, value in enumerate(values)]
        for chunk in each_row(len(low), self.n):
            words, rows = low[chunk, 0], low[chunk, 1] + step.start
            kinds = np.concatenate([part.of_words(words) for part in reversed(parts)], axis=1)
            keys = kinds.shape[1]
            left, right = table.left.mid[:, rows].T, table.right.mid[:, :keys]
            shift = shifts[kinds, rows[:, None]]
            size = np.max(np.abs(left) @ np.abs(right) + np.abs(shift), axis=1)
            slack = outward(table.error[rows] + rads[kinds, rows[:, None]].max(axis=1) + 4 * U * size)
            drift = growth(outward(slack + 2 * U * np.minimum(2 * size, DEEPEST)))
            error = outward(drift + EXP_ERROR * (1 + drift))
            visible = self.views.visible(rows, 0, keys)[:, None, :]
            weights = weigh((left @ right + shift)[:, None, :], error[:, None], visible)
            for value, reach, block in zip(whole, reaches, found, strict=True):
                rad = None if reach.rad is None else take(reach.rad, words)
                one = Reach(take(reach.largest, words), rad, reach.signed)
                mean = weights.mean(take(value.mid, words)[:, :, None], one)
                block.put((words, low[chunk, 1]), Block(mean.mid[:, 0], mean.radius[:, 0]))

    # ---- look-ups ----

    def _look_up(
        self, blocks: Sequence[Block], codes: list[Block], values: Sequence[Block], outs: Sequence[int], step: Step
    ) -> list[Block]:
        if self._look_ups is None:
            keys = [floats(exact_form(key, blocks, self.n)) for _, key in self.head.scores]
            self._look_ups = LookUps(self.views, self.scale, _rows(keys), list(values))
        return self._look_ups.find([query for query, _ in self.head.scores], blocks, codes, step)

    # ---- dense ----

    def _dense(self, blocks: Sequence[Block], values: Sequence[Block], step: Step) -> list[Block]:
        whole = list(blocks)
        if step.before is not None:
            for index, old in step.before.inputs.items():
                whole[index] = join(old, blocks[index], step.rows)
        joined = [join(old, value, step.rows) for value, old in zip(values, step.earlier(values), strict=True)]
        return dense_means(self.head.scores, self.views, self.scale, blocks, whole, joined, step.start)


@dataclass(frozen=True, slots=True)
class _Part:
    """Keys of some words, (words or 1, keys), the first of them at place `start`: their classes by number, the words'
    indicators of each class, and those times each value. `rows` are the words' places among these (None: their own)."""

    kinds: Integers
    masks: dict[int, Floats]
    values: list[Floats]
    start: int
    rows: Integers | None

    @staticmethod
    def of(kinds: Integers, values: Sequence[Block], start: int, rows: Integers | None) -> _Part:
        """The part with these classes and values."""
        numbers = np.flatnonzero(np.bincount(kinds.ravel()))
        masks = {int(number): (kinds == number).astype(np.float64) for number in numbers}
        return _Part(kinds, masks, [value.mid for value in values], start, rows)

    @property
    def words(self) -> int:
        """How many words there are, as far as these keys tell."""
        if self.rows is not None:
            return len(self.rows)
        return max(len(self.kinds), *(len(value) for value in self.values))

    def spread(self, array: NDArray[Number]) -> NDArray[Number]:
        """From these words to the words of the batch."""
        return array if self.rows is None or array.shape[0] == 1 else array[self.rows]

    def of_words(self, words: Integers) -> Integers:
        """The classes of some words of the batch, (words, keys)."""
        places = words if self.rows is None else self.rows[words]
        return self.kinds[np.zeros_like(places) if self.kinds.shape[0] == 1 else places]

    def add(
        self, table: ExpTable, number: int, place: slice, factor: Floats | None, total: Floats, tops: Sequence[Floats]
    ) -> None:
        """Add the weights of one class, and the weighted values, to the sums of the queries at `place`."""
        mask = self.masks.get(number)
        if mask is None:
            return
        weighted = [mask * value for value in self.values]
        for rows in table.blocks(place):
            low, high, block = table.block(rows)
            first, last = max(low, self.start), min(high, self.start + self.kinds.shape[1])
            if first >= last:
                continue
            keys = slice(first - self.start, last - self.start)
            here = slice(int(rows[0]) - place.start, int(rows[-1]) + 1 - place.start)
            for target, source in zip((total, *tops), (mask, *weighted), strict=True):
                found = self.spread(source[:, keys] @ block[first - low : last - low])
                target[:, here] += found if factor is None else factor[:, here] * found


def any_seen(held: Booleans, mask: Mask) -> Booleans:
    """Whether a query sees a key at which this holds."""
    if mask is Mask.FUTURE:
        return np.asarray(np.logical_or.accumulate(held, axis=1))
    if mask is Mask.PAST:
        return np.asarray(np.logical_or.accumulate(held[:, ::-1], axis=1))[:, ::-1]
    return np.asarray(held.any(axis=1, keepdims=True))


def _reach(value: Block, number: int, step: Step) -> Reach:
    """How far a value goes over all positions so far."""
    reach = Reach.of(value)
    if step.before is None:
        return reach
    return reach.with_earlier(Reach.of(step.before.values[number]), step.rows)


def _rows(pairs: Sequence[tuple[Floats, Floats]]) -> Rows:
    return Rows(np.stack([mid for mid, _ in pairs]), np.stack([rad for _, rad in pairs]))


def _constant(found: Block, value: Block, mask: Mask, step: Step, old: Block | None) -> Block:
    """The same, exact at the queries that see one value only."""
    if value.rad is not None or found.rad is None or (old is not None and old.rad is not None):
        return found
    same, seen = alone(value.mid, mask)
    if old is not None:
        before, _ = alone(old.mid, mask)
        unbroken = take(before[:, -1:], step.rows) & (take(old.mid[:, -1:], step.rows) == value.mid[:, :1])
        same = same & unbroken
    if same.any():
        shape = np.broadcast_shapes(same.shape, found.mid.shape)
        found.mid = np.where(same, seen, np.broadcast_to(found.mid, shape))
        found.rad = np.where(same, 0.0, np.broadcast_to(found.rad, shape))
        found.partly = True
        found.places = max(value.places, 0 if old is None else old.places)
        found.size = max(value.size, 0 if old is None else old.size)
    return found


def alone(values: Floats, mask: Mask) -> tuple[Booleans, Floats]:
    """Where a query sees one value only, and which."""
    if mask is Mask.NONE:
        same = (values == values[:, :1]).all(axis=1, keepdims=True)
        return np.broadcast_to(same, values.shape), values
    if mask not in (Mask.FUTURE, Mask.PAST):
        raise InvariantError(f"the float64 pass has no extremes under the mask '{mask}'")
    ordered = values if mask is Mask.FUTURE else values[:, ::-1]
    same = np.logical_and.accumulate(ordered == ordered[:, :1], axis=1)
    return (same if mask is Mask.FUTURE else same[:, ::-1]), values
