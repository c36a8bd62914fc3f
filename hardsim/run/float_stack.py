"""The forward pass in float64 at several temperatures at once, for searches.

The rows of a batch are all words at the first temperature, then all words at the next one, and so on: `Stage` runs
them as it runs the words of any batch, and only heads with scores know of temperatures. A head whose queries are the
same for every word, and whose keys read Booleans, is run by types at all temperatures together. The method and its
errors are those of `float_attention`; every array has one more axis, of temperatures. Wherever another method is
needed, the rows of each temperature are run by themselves.

What depends on no temperature is computed once: encodings, static columns, linear forms, and the classes of keys.
Logits at different temperatures are multiples of the same rationals, which become floats all at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardsim.lang.reals import RealNumber
from hardsim.lazy_dataclass import dataclass
from hardsim.network.integers import Exact, combination, widened
from hardsim.network.numbers import Mask
from hardsim.network.transformer import AttentionHead, Schedule, Transformer
from hardsim.run.enclosure import EXP_ERROR, Block, Code, Floats, Integers, U, growth, near_row, outward, rounded_rows
from hardsim.run.float64 import Attending, BatchTrace, FloatForward, LengthParts, Prepared, Stage
from hardsim.run.float_attention import MOST_BOOLEANS, ONE_BLOCK, HeadPass
from hardsim.run.float_rows import (
    DEEPEST,
    LEAST_SUM,
    Ends,
    Views,
    exact_sum,
    quotient,
    slack_of,
    softmax_rows,
    weight_error,
    weights_of,
)
from hardsim.run.prefixes import WHOLE, Suffix


def run_at(forward: FloatForward, symbols: Integers, temperatures: Sequence[Schedule]) -> BatchTrace:
    """Run words given as rows of symbol numbers, (words, n), at each of some temperatures, with clips enclosed, but
    without the unrounded output. The rows of the trace are all words at the first temperature, then all at
    the next one, and so on."""
    with np.errstate(all="ignore"):
        parts = forward.parts(symbols.shape[1] - forward.model.bos)
        at = Stack(forward.model, parts, temperatures, len(symbols))
        stage = Stage(at, np.tile(symbols, (len(temperatures), 1)), soft=True, unrounded=False)
        return stage.run().conclude()


class Stack(Prepared):
    """The parts of a network at one length and several temperatures, for one batch of `words` words."""

    def __init__(self, model: Transformer, parts: LengthParts, temperatures: Sequence[Schedule], words: int) -> None:
        self.temperatures, self.words = temperatures, words
        super().__init__(model, parts.length, parts)

    def _passes(self) -> Mapping[tuple[int, int], Attending]:
        models = (replace(self.model, temperature=one) for one in self.temperatures)
        scale, tables = (
            Temperatures.of([model.inverse_temperatures(self.length) for model in models]),
            dict[Any, WeightTable](),
        )
        return {
            (number, place): StackedHead(head, scale, self.views[head.mask], tables, self.words)
            for number, layer in enumerate(self.model.layers)
            for place, head in enumerate(layer.heads)
            if head.scores
        }


@dataclass(frozen=True)
class Temperatures:
    """1/tau at several temperatures: `inverse` are the numbers, `exact` rationals next to them, (temperatures, n), and
    `share` bounds the relative error of each."""

    inverse: Sequence[Sequence[RealNumber]]
    exact: Exact
    share: float

    @staticmethod
    def of(inverse: Sequence[Sequence[RealNumber]]) -> Temperatures:
        """Put the numbers of all temperatures over one unit."""
        rows = [near_row(row) for row in inverse]
        unit = lcm(*(row.unit for row, _ in rows))
        bound = max(unit, *(row.size * (unit // row.unit) for row, _ in rows))
        whole = np.concatenate([widened(row.whole, bound) * (unit // row.unit) for row, _ in rows])
        return Temperatures(inverse, Exact.of(whole, unit), max(share for _, share in rows))

    @cached_property
    def floats(self) -> tuple[Floats, Floats]:
        """Midpoints and radii of 1/tau, (temperatures, n) each."""
        return rounded_rows(self.exact, self.share)

    def times(self, form: Exact) -> tuple[Floats, Floats]:
        """Return midpoints and radii of a form, (1, n), divided by tau: (temperatures, n) each."""
        return rounded_rows(form.times(self.exact), self.share)


class WeightTable:
    """The tables of e^(l_ij - r_i) at several temperatures, l_ij = sum over the k rows of left_i right_j, for the keys
    j that i sees: `weights` is transposed, (temperatures, keys, queries), and `error` the relative error of its
    entries, (temperatures, queries)."""

    def __init__(self, views: Views, left: tuple[Floats, Floats], right: tuple[Floats, Floats]) -> None:
        """`left` are midpoints and radii (temperatures, k, n), `right` (k, n)."""
        size, far = np.abs(left[0]), views.over(np.maximum, np.abs(right[0]))
        slack = slack_of(size, left[1], far, views.over(np.maximum, right[1]))
        self.error = weight_error(slack, size, far)
        logits = np.zeros((len(size), views.size, views.size))
        for place in range(size.shape[1]):
            logits += right[0][place, :, None] * left[0][:, place, None, :]
        hidden = None if views.mask is Mask.NONE else ~views.visible(np.arange(views.size)).T
        seen = logits if hidden is None else np.where(hidden, -np.inf, logits)
        logits -= seen.max(axis=1, keepdims=True)
        self.weights = weights_of(logits, hidden)


@dataclass
class StackedHead:
    """One head at one length and several temperatures, for one batch of `words` words. Heads with the same factors
    share their `tables`."""

    head: AttentionHead
    scale: Temperatures
    views: Views
    tables: dict[Any, WeightTable]
    words: int
    _alone: dict[int, HeadPass] = field(default_factory=dict)
    """The head at single temperatures, by number."""

    @property
    def count(self) -> int:
        """The number of temperatures."""
        return len(self.scale.inverse)

    def attend(self, blocks: Sequence[Block], values: Sequence[Block], step: Suffix = WHOLE) -> list[Block]:
        """Return the attended values of these columns at every query, (temperatures times words, n) each. The step is
        the whole word."""
        if not values:
            return []
        typed = self._typed(blocks)
        found = dict(zip(typed, self._by_types(blocks, values, typed) if typed else (), strict=True))
        hot = [number for number in range(self.count) if number not in found]
        if len(hot) > 1 and self._fixed(blocks):
            found.update(zip(hot, self._dense(blocks, values, hot), strict=True))
        for number in range(self.count):
            if found.get(number) is None:
                here = self._parts(blocks, values, [number])
                found[number] = self._at(number).attend(*here)
        return [self._joined(some) for some in zip(*(found[number] or () for number in range(self.count)), strict=True)]

    def _dense(self, blocks: Sequence[Block], values: Sequence[Block], numbers: Sequence[int]) -> list[list[Block]]:
        """Return the values at some temperatures, computed row by row as if they were more words; for queries that are
        the same for every word."""
        here, read = self._parts(blocks, values, numbers)
        head, size = self._at(numbers[0]), self.words
        sharp, off = (np.repeat(part[numbers], size, axis=0)[:, None] for part in self.scale.floats)
        rows = np.arange(self.views.size)
        found = softmax_rows(head.factors(0, here, 0), head.factors(1, here, 0), read, self.views, (sharp, off), rows)
        parts = [slice(start, start + size) for start in range(0, len(numbers) * size, size)]
        return [[Block(one.mid[part], one.radius[part]) for one in found] for part in parts]

    def _at(self, number: int) -> HeadPass:
        if number not in self._alone:
            self._alone[number] = HeadPass(self.head, self.scale.inverse[number], self.views)
        return self._alone[number]

    def _parts(
        self, blocks: Sequence[Block], values: Sequence[Block], numbers: Sequence[int]
    ) -> tuple[list[Block], list[Block]]:
        """Return the rows of some temperatures, of the columns that scores read (and the first) and of the values."""
        reads = {0, *(index for pair in self.head.scores for form in pair for index, _ in form)}
        rows = np.concatenate([np.arange(number * self.words, (number + 1) * self.words) for number in numbers])

        def cut(array: Floats) -> Floats:
            return array if len(array) == 1 else array[rows]

        def part(block: Block) -> Block:
            if len(block.mid) == 1:
                return block
            return replace(
                block,
                mid=cut(block.mid),
                rad=None if block.rad is None else cut(block.rad),
                codes=None if block.codes is None else tuple(replace(c, numbers=cut(c.numbers)) for c in block.codes),
                ratio=None if block.ratio is None else (cut(block.ratio[0]), block.ratio[1]),
            )

        here = [part(block) if index in reads else block for index, block in enumerate(blocks)]
        return here, list(map(part, values))

    def _joined(self, parts: Sequence[Block]) -> Block:
        """Return one block of the blocks of all temperatures. Its codes determine a value together with the position
        and the temperature."""
        shape = self.words, self.views.size

        def join(arrays: Sequence[Floats]) -> Floats:
            return np.concatenate([np.broadcast_to(array, shape) for array in arrays])

        names = {
            None if part.codes is None else tuple((code.name, code.kinds) for code in part.codes) for part in parts
        }
        codes: tuple[Code, ...] | None = None
        if len(names) == 1 and None not in names:
            columns = zip(*(part.codes or () for part in parts), strict=True)
            codes = tuple(replace(some[0], numbers=join([code.numbers for code in some])) for some in columns)
        return Block(join([part.mid for part in parts]), join([part.radius for part in parts]), codes=codes)

    # ---- by types ----

    def _fixed(self, blocks: Sequence[Block]) -> bool:
        """Return True if the queries are the same for every word."""
        return all(blocks[index].static is not None for query, _ in self.head.scores for index, _ in query)

    def _keys(self, blocks: Sequence[Block]) -> list[int]:
        return sorted({index for _, key in self.head.scores for index, _ in key if blocks[index].static is None})

    def _typed(self, blocks: Sequence[Block]) -> list[int]:
        """Return the numbers of the temperatures at which the head may be run by types."""
        keys, size = self._keys(blocks), self.views.size
        if not self._fixed(blocks) or len(keys) > MOST_BOOLEANS or size > ONE_BLOCK:
            return []
        boolean = np.ones(self.count, dtype=np.bool_)
        for block in (blocks[index] for index in keys if not blocks[index].boolean):
            if block.rad is not None and not block.partly:
                return []
            rows = (((block.mid == 0) | (block.mid == 1)) & (block.radius == 0)).all(axis=1)
            boolean &= rows if len(rows) == 1 else rows.reshape(self.count, self.words).all(axis=1)
        return np.flatnonzero(boolean).tolist()

    def _by_types(
        self, blocks: Sequence[Block], values: Sequence[Block], typed: Sequence[int]
    ) -> list[list[Block] | None]:
        """Return the values at the temperatures numbered `typed`; None where weights underflow in the table."""
        kinds, classes = self._kinds(blocks, typed)
        present = np.flatnonzero(np.bincount(kinds.ravel(), minlength=len(classes))).tolist()
        chosen = [(classes[number][0][typed], classes[number][1][typed]) for number in present]
        table = self._table(blocks)
        reference, shape = self._reference(kinds, present, [shift for shift, _ in chosen]), (len(typed), self.words)
        total = np.zeros((*shape, self.views.size))
        tops = [np.zeros_like(total) for _ in values]
        for number, (shift, _) in zip(present, chosen, strict=True):
            factor = np.exp(np.minimum(shift[:, None] - reference, 0.0)) if len(chosen) > 1 else None
            mask = (kinds == number).astype(np.float64)
            sources = (mask, *(mask * self._rows(value.mid, typed) for value in values))
            for target, source in zip((total, *tops), sources, strict=True):
                found = source @ table.weights[typed]
                target += found if factor is None else factor * found
        error, count = self._error(chosen, table.error[typed])[:, None], self.views.size + 2 * len(chosen)
        means = [
            quotient(top, total, error, self._ends(value, typed), count)
            for top, value in zip(tops, values, strict=True)
        ]
        sure = np.all(total >= LEAST_SUM, axis=(1, 2)).tolist()
        return [
            [Block(mean.mid[place], mean.radius[place]) for mean in means] if sure[place] else None
            for place in range(len(typed))
        ]

    def _rows(self, array: NDArray[Any], typed: Sequence[int]) -> NDArray[Any]:
        """Return the rows of some temperatures, (temperatures or 1, words or 1, ...)."""
        if len(array) == 1:
            return array[None]
        return array.reshape(self.count, self.words, *array.shape[1:])[typed]

    def _ends(self, value: Block, typed: Sequence[int]) -> Ends:
        """Return the ends of a column's values at some temperatures."""
        ends = Ends.of(value)
        rad = None if ends.rad is None else self._rows(ends.rad, typed)
        return Ends(self._rows(ends.low, typed), self._rows(ends.high, typed), rad)

    def _kinds(self, blocks: Sequence[Block], typed: Sequence[int]) -> tuple[Integers, list[tuple[Floats, Floats]]]:
        """Return the number of every key's class, (temperatures or 1, words or 1, n), and for each class the number
        that it adds to the logits of each query, and a bound of its error, (temperatures, n)."""
        keys = self._keys(blocks)
        queries = [
            exact_sum(((c, blocks[index]) for index, c in form), self.views.size) for form, _ in self.head.scores
        ]
        codes = np.zeros((1, 1, self.views.size), dtype=np.int64)
        for place, index in enumerate(keys):
            codes = codes + (self._rows(blocks[index].mid, typed).astype(np.int64) << place)
        translate = np.zeros(1 << len(keys), dtype=np.int64)
        numbers, classes = dict[tuple[Fraction, ...], int](), list[tuple[Floats, Floats]]()
        for code in np.flatnonzero(np.bincount(codes.ravel(), minlength=1 << len(keys))):
            held = {index: int(code) >> place & 1 for place, index in enumerate(keys)}
            shift = tuple(
                sum((Fraction(value) * held[index] for index, value in key if index in held), Fraction(0))
                for _, key in self.head.scores
            )
            # Combinations of Booleans that add the same to every logit form one class.
            if shift not in numbers:
                numbers[shift] = len(classes)
                added = combination(zip(queries, shift, strict=True), 0, (1, self.views.size))
                classes.append(self.scale.times(added))
            translate[code] = numbers[shift]
        return translate[codes], classes

    def _table(self, blocks: Sequence[Block]) -> WeightTable:
        size = self.views.size
        sums = [[exact_sum(((c, blocks[i]) for i, c in form), size) for form in pair] for pair in self.head.scores]
        # By value, not by identity: heads with equal factors share a table.
        place = self.views.mask, tuple((tuple(form.whole[0].tolist()), form.unit) for pair in sums for form in pair)
        if place not in self.tables:
            left = [self.scale.times(query) for query, _ in sums]
            right = [rounded_rows(key) for _, key in sums]
            mids, rads = (np.stack([one[part] for one in left], axis=1) for part in (0, 1))
            keys, key_rads = (np.concatenate([one[part] for one in right]) for part in (0, 1))
            self.tables[place] = WeightTable(self.views, (mids, rads), (keys, key_rads))
        return self.tables[place]

    def _reference(self, kinds: Integers, present: Sequence[int], shifts: Sequence[Floats]) -> Floats:
        """Return the largest rounded number that a class of visible keys adds to the logits of a query, (temperatures,
        words or 1, queries)."""
        if len(present) == 1:
            return shifts[0][:, None]
        best = np.full((len(shifts[0]), 1, self.views.size), -np.inf)
        for number, shift in zip(present, shifts, strict=True):
            seen = self.views.over(np.logical_or, kinds == number)
            best = np.maximum(best, np.where(seen, shift[:, None], -np.inf))
        return best

    def _error(self, chosen: Sequence[tuple[Floats, Floats]], error: Floats) -> Floats:
        """Return the relative error of the weights of each row, (temperatures, n), from that of the table (see
        `HeadPass`)."""
        if len(chosen) == 1:
            return error
        shifts, rads = (np.stack([one[part] for one in chosen]) for part in (0, 1))
        spread = np.minimum(shifts.max(axis=0) - shifts.min(axis=0), DEEPEST)
        drift = growth(outward(rads.max(axis=0) + 2 * U * spread))
        return outward(error + (drift + EXP_ERROR * (1 + drift) + 2 * U) * (1 + error))
