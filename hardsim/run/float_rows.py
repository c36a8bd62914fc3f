"""Attention row by row in float64 enclosures: look-ups, of which every pair of position and code is computed once, and
the dense way. The error of a row is derived in `float_attention`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hardsim.run.enclosure import Block, Booleans, Floats, Integers, U, combine, fixed, gamma, numbered, outward
from hardsim.run.float_tables import Rows, Views, most, slack_of, weight_error
from hardsim.run.plan import Terms
from hardsim.run.prefixes import Step
from hardsim.spec.ir import Rational

LEAST_SUM = 2.0**-900
"""Sums of weights below this are computed again with a reference of their own."""
UNDERFLOW = 2.0**-100
CHUNK = 2**19
"""Logits computed at a time: four megabytes for each array of them."""
DIRECT = 2**18
"""Up to this many pairs of position and code a look-up has a place for each."""
ENTRIES = 2**20
"""Pairs that a look-up remembers where there are more: 16 megabytes for each value, and 8 for their numbers."""

Number = TypeVar("Number", np.float64, np.bool_, np.int64)
Scores = Sequence[tuple[Terms, Terms]]
Scale = tuple[Floats, Floats]
"""1/tau by query position, and how far it may be off."""


def exact_form(form: Terms, blocks: Sequence[Block] | Mapping[int, Block], n: int) -> list[Rational]:
    """The static part of a form, by position."""
    total: list[Rational] = [0] * n
    for index, coefficient in form:
        values = blocks[index].static
        if values is not None:
            total = [old + coefficient * value for old, value in zip(total, values, strict=True)]
    return total


def form_of(form: Terms, blocks: Sequence[Block]) -> Block:
    """A linear form: its static part exactly, the rest enclosed."""
    base = fixed(exact_form(form, blocks, blocks[form[0][0]].mid.shape[1]))
    rest = [(coefficient, blocks[index]) for index, coefficient in form if blocks[index].static is None]
    return combine(rest, base) if rest else base


def each_row(rows: int, n: int) -> Iterator[slice]:
    """Slices of so many rows of n logits that they fit into a chunk."""
    step = max(1, CHUNK // n)
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


def scaled(mid: Floats, rad: Floats, scale: Scale, rows: Integers) -> tuple[Floats, Floats]:
    """Query factors times 1/tau, and their radii; the last axis are the queries at places `rows`."""
    inverse, off = scale[0][rows], scale[1][rows]
    product = inverse * mid
    return product, outward(inverse * rad + off * (np.abs(mid) + rad) + 2 * U * np.abs(product))


@dataclass(frozen=True, slots=True)
class Reach:
    """How far values go, by word, (words or 1, 1): the largest in size, and the largest radius. `signed` says that
    some may be negative."""

    largest: Floats
    rad: Floats | None
    signed: bool

    @staticmethod
    def of(value: Block) -> Reach:
        """That of a column."""
        rad = None if value.rad is None else value.rad.max(axis=1, keepdims=True)
        if value.boolean:
            return Reach(np.ones((1, 1)), rad, False)
        least, most_ = value.mid.min(axis=1, keepdims=True), value.mid.max(axis=1, keepdims=True)
        return Reach(np.maximum(-least, most_), rad, bool((least < 0).any()))

    def with_earlier(self, other: Reach, rows: Integers) -> Reach:
        """That of longer columns, the first part of which is `other`'s at these rows."""
        spread = [None if part is None else take(part, rows) for part in (other.largest, other.rad)]
        rad = self.rad if spread[1] is None else spread[1] if self.rad is None else np.maximum(self.rad, spread[1])
        assert spread[0] is not None
        return Reach(np.maximum(self.largest, spread[0]), rad, self.signed or other.signed)


def take(array: NDArray[Number], words: Integers) -> NDArray[Number]:
    """Rows of an array whose first axis may be shared by all words."""
    return array if array.shape[0] == 1 else array[words]


def quotient(top: Floats, total: Floats, error: Floats, reach: Reach, count: int) -> Block:
    """`top / total`, two sums of `count` terms at most with this relative error, as an enclosure of the mean of values
    with this reach."""
    mid = top / total
    safe = (error < 0.25) & (total >= LEAST_SUM) & np.isfinite(mid)
    factor = (4 if reach.signed else 2) * (error + U) / (1 - 2 * np.minimum(error, 0.25))
    rad = factor * (reach.largest if reach.signed else mid)
    rad += UNDERFLOW * (1 + reach.largest) * count
    if reach.rad is not None:
        rad = rad + reach.rad
    rad = outward(rad)
    if not np.all(safe):
        safe = np.broadcast_to(safe, mid.shape)
        mid, rad = np.where(safe, mid, 0.0), np.where(safe, rad, np.inf)
    return Block(mid, np.broadcast_to(rad, mid.shape).copy() if rad.shape != mid.shape else rad)


@dataclass(frozen=True, slots=True)
class Weights:
    """Unnormalised weights (..., rows, keys), their sums and relative errors (..., rows)."""

    weights: Floats
    total: Floats
    error: Floats

    def mean(self, values: Floats, reach: Reach) -> Block:
        """The attended values: `values` is (keys,) for all rows, or (..., keys, 1) to multiply with; `reach` fits the
        sums."""
        top = self.weights @ values if values.ndim == 1 else (self.weights @ values)[..., 0]
        return quotient(top, self.total, self.error, reach, self.weights.shape[-1])


def weigh(logits: Floats, error: Floats, visible: Booleans) -> Weights:
    """Weights relative to each row's largest logit; `logits` is overwritten."""
    if not visible.all():
        np.copyto(logits, -np.inf, where=~visible)
    logits -= logits.max(axis=-1, keepdims=True)
    weights = np.exp(logits, out=logits)
    return Weights(weights, weights.sum(axis=-1), outward((error + gamma(logits.shape[-1] + 2)) * (1 + error)))


@dataclass(slots=True)
class _Known:
    """Values by number of a pair of position and code, ascending: (values, pairs)."""

    numbers: Integers
    mid: Floats
    rad: Floats


@dataclass
class LookUps:
    """Means of static values under static keys, for one head: `keys` are the k key rows, (k, n)."""

    views: Views
    scale: Scale
    keys: Rows
    values: list[Block]
    _direct: dict[tuple[int, ...], _Known] = field(default_factory=dict)
    _sorted: dict[tuple[int, ...], _Known] = field(default_factory=dict)

    def find(
        self, queries: Sequence[Terms], blocks: Sequence[Block], codes: Sequence[Block], step: Step
    ) -> list[Block]:
        """The value of every query; `codes` are the numbered columns that decide the query beside its position."""
        kinds = tuple(block.kinds for block in codes)
        size = int(np.prod([int(kind) for kind in kinds], dtype=object)) if kinds else 1
        width = blocks[0].mid.shape[1]
        place = np.zeros((1, width), dtype=np.int64)
        for block in codes:
            place = place * block.kinds + numbered(block)
        place = place + size * np.arange(step.start, step.start + width)[None, :]
        seek = self._directly if self.views.n * size <= DIRECT else self._by_order
        mid, rad = seek(kinds, size, place, queries, blocks)
        return [Block(mid[number], rad[number]) for number in range(len(self.values))]

    def _directly(
        self, kinds: tuple[int, ...], size: int, place: Integers, queries: Sequence[Terms], blocks: Sequence[Block]
    ) -> tuple[Floats, Floats]:
        known = self._direct.get(kinds)
        if known is None:
            shape = (len(self.values), self.views.n * size)
            known = self._direct[kinds] = _Known(np.arange(shape[1]), np.zeros(shape), np.full(shape, -1.0))
        example = np.full(self.views.n * size, -1)
        example[place] = np.arange(place.size).reshape(place.shape)
        missing = np.flatnonzero((example >= 0) & (known.rad[0] < 0))
        if len(missing):
            known.mid[:, missing], known.rad[:, missing] = self._fill(
                missing // size, example[missing], queries, blocks
            )
        return known.mid[:, place], known.rad[:, place]

    def _by_order(
        self, kinds: tuple[int, ...], size: int, place: Integers, queries: Sequence[Terms], blocks: Sequence[Block]
    ) -> tuple[Floats, Floats]:
        numbers, first, inverse = np.unique(place, return_index=True, return_inverse=True)
        inverse = inverse.reshape(place.shape)
        known = self._sorted.get(kinds)
        mid, rad = np.zeros((2, len(self.values), len(numbers)))
        missing = np.ones(len(numbers), dtype=np.bool_)
        if known is not None:
            spot = np.minimum(np.searchsorted(known.numbers, numbers), len(known.numbers) - 1)
            missing = known.numbers[spot] != numbers
            mid[:, ~missing], rad[:, ~missing] = known.mid[:, spot[~missing]], known.rad[:, spot[~missing]]
        if missing.any():
            fresh = self._fill(numbers[missing] // size, first[missing], queries, blocks)
            mid[:, missing], rad[:, missing] = fresh
            self._remember(kinds, known, _Known(numbers[missing], *fresh))
        return mid[:, inverse], rad[:, inverse]

    def _remember(self, kinds: tuple[int, ...], known: _Known | None, fresh: _Known) -> None:
        if known is None or len(known.numbers) + len(fresh.numbers) > ENTRIES:
            self._sorted[kinds] = fresh
            return
        where = np.searchsorted(known.numbers, fresh.numbers)
        self._sorted[kinds] = _Known(
            np.insert(known.numbers, where, fresh.numbers),
            np.insert(known.mid, where, fresh.mid, axis=1),
            np.insert(known.rad, where, fresh.rad, axis=1),
        )

    def _fill(
        self, rows: Integers, examples: Integers, queries: Sequence[Terms], blocks: Sequence[Block]
    ) -> tuple[Floats, Floats]:
        """Values of some pairs, (values, pairs): their positions, ascending, and places of the batch that have them."""
        words, columns = np.divmod(examples, blocks[0].mid.shape[1])
        forms = [form_of(query, blocks) for query in queries]
        parts = [(pick(form.mid, words, columns), pick(form.radius, words, columns)) for form in forms]
        left, left_rad = scaled(
            np.stack([mid for mid, _ in parts]), np.stack([rad for _, rad in parts]), self.scale, rows
        )
        size, width = self.views.reach(np.abs(self.keys.mid)), self.views.reach(self.keys.rad)
        error = weight_error(
            slack_of(np.abs(left), left_rad, size[:, rows], width[:, rows]), np.abs(left), size[:, rows]
        )
        mid, rad = np.zeros((2, len(self.values), len(rows)))
        for chunk in each_row(len(rows), self.views.n):
            low, high = self.views.span(rows[chunk])
            logits = left[:, chunk].T @ self.keys.mid[:, low:high]
            weights = weigh(logits, error[chunk], self.views.visible(rows[chunk], low, high))
            for number, value in enumerate(self.values):
                reach = Reach.of(value)
                one = Reach(reach.largest[0], None if reach.rad is None else reach.rad[0], reach.signed)
                found = weights.mean(value.mid[0, low:high], one)
                mid[number, chunk], rad[number, chunk] = found.mid, found.radius
        return mid, rad


def pick(array: Floats, words: Integers, columns: Integers) -> Floats:
    """Entries of an array whose first axis may be shared by all words."""
    return array[np.zeros_like(words) if array.shape[0] == 1 else words, columns]


def dense_means(
    scores: Scores,
    views: Views,
    scale: Scale,
    blocks: Sequence[Block],
    whole: Sequence[Block],
    values: Sequence[Block],
    start: int,
) -> list[Block]:
    """The attended values at the queries from `start` on, of which `blocks` are the columns; `whole` and `values` are
    those of all positions so far (of the coordinates that keys read, at least)."""
    width = blocks[0].mid.shape[1]
    queries = [form_of(query, blocks) for query, _ in scores]
    keys = [form_of(key, whole) for _, key in scores]
    words = max(block.mid.shape[0] for block in (*queries, *keys, *values))
    found = [Block(np.zeros((words, width)), np.zeros((words, width))) for _ in values]
    seen = keys[0].mid.shape[1]
    rows_at_once = min(width, max(1, CHUNK // seen))
    words_at_once = max(1, CHUNK // (seen * rows_at_once))
    reaches = [Reach.of(value) for value in values]
    for some in (slice(at, at + words_at_once) for at in range(0, words, words_at_once)):
        key = np.stack(np.broadcast_arrays(*(part(block.mid, some) for block in keys)), axis=1)
        key_rad = np.stack(np.broadcast_arrays(*(part(block.radius, some) for block in keys)), axis=1)
        size, off = most(np.abs(key), views.mask), most(key_rad, views.mask)
        for first in range(0, width, rows_at_once):
            here = slice(first, min(first + rows_at_once, width))
            rows = np.arange(here.start, here.stop) + start
            low, high = views.span(rows)
            left, left_rad = scaled(
                np.stack(np.broadcast_arrays(*(part(block.mid, some)[:, here] for block in queries)), axis=1),
                np.stack(np.broadcast_arrays(*(part(block.radius, some)[:, here] for block in queries)), axis=1),
                scale,
                rows,
            )
            reach = size[:, :, rows]
            error = weight_error(slack_of(np.abs(left), left_rad, reach, off[:, :, rows]), np.abs(left), reach)
            logits = np.matmul(left.transpose(0, 2, 1), key[:, :, low:high])
            weights = weigh(logits, error, views.visible(rows, low, high))
            for value, block, far in zip(values, found, reaches, strict=True):
                one = Reach(part(far.largest, some), None if far.rad is None else part(far.rad, some), far.signed)
                block.put((some, here), weights.mean(part(value.mid, some)[:, low:high, None], one))
    return found


def part(array: Floats, words: slice) -> Floats:
    """Some words of an array whose first axis may be shared by all of them."""
    return array if array.shape[0] == 1 else array[words]
