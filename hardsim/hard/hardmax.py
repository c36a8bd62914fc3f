"""Attention over rows of exact scores: masks, means, the hardmax, and the facts about its rows that reports need.

A row is the scores of all keys for one query. Four methods give the same numbers. If keys are the same for every
word and only few of them are distinct (sign tests), a row has one score per distinct key. If keys lie on a strictly
concave curve (look-ups: j and -j^2), the scores of a row rise and then fall, and bisection finds the largest. If a word
has few distinct queries (the nearest position, a bracket of the same depth), each of them is multiplied by every key
once, and running maxima give the rows of all its positions. Otherwise every query is multiplied by every key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, lru_cache, reduce
from math import lcm
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hardsim.lazy_dataclass import dataclass
from hardsim.network.integers import (
    LARGEST_COLUMN,
    SAFE,
    Exact,
    Integers,
    distinct,
    largest,
    quotient,
    ratio_of,
    widened,
)
from hardsim.network.numbers import Mask
from hardsim.program.hard_attention import Head, Weighting

BLOCK = 1 << 20
"""Bytes of scores held at a time. Queries are taken in blocks, so that memory does not grow with the square of n."""

FEW = 8
"""The greatest number of distinct keys for which `few_keys` is used."""
SHARED = 8
"""The least number of positions per distinct query, on average over the words, for which `few_queries` is used."""
SPREAD = np.int64(0x9E3779B97F4A7C15 - (1 << 64))
"""An odd multiplier whose powers combine the parts of a query into one number, modulo 2^64."""
NARROW = (1 << 31) - 1
"""Scores whose bound is below this number are held in 32 bits, where the least integer is below all of them."""

Columns = Mapping[str, Integers]
"""Numbers by coordinate, (words or 1, positions)."""
ONE_VALUE, SAME_MEAN, OTHER_MEAN = range(3)
"""Three cases for the values at the positions that share the largest score: one value; different values whose mean is
the value that the head reads; different values with another mean. Softmax gives equal scores equal weights at every
temperature, so only a row of the last kind cannot be simulated with the head's own weights."""


@dataclass
class Rows:
    """The rows of one head that is not uniform, on a batch of words. Scores are integers; those of the query with index
    i (from 0) are in units of `1 / units[i]`.

    Shapes are (words, positions). `gap` is the largest score minus the next smaller one, -1 if all visible scores are
    equal. `maxima` is the number of positions with the largest score. `reach` is the largest score minus the
    smallest. `winners` is the index (from 0) of the attended position, for average heads the first. `sizes` bounds
    query and key forms. `differ` classifies the values at the tied positions of a leftmost or rightmost head:
    ONE_VALUE, SAME_MEAN or OTHER_MEAN. For an average head it is always ONE_VALUE, since that head reads the mean by
    definition.
    """

    units: list[int]
    gap: Integers
    maxima: NDArray[np.int64]
    reach: Integers
    sizes: list[tuple[Fraction, Fraction]]
    winners: NDArray[np.int64]
    differ: NDArray[np.int8]

    @cached_property
    def least_gaps(self) -> list[int]:
        """The least gap of each query over the words, in units of its row; -1 if no row has two different scores."""
        gap = self.gap if self.gap.strides[0] else self.gap[:1]
        if gap.dtype == np.int64:
            least = gap.view(np.uint64).min(axis=0).view(np.int64)  # without a sign, -1 is the greatest number
        else:
            none = largest(gap) + 1
            least = np.where(gap >= 0, gap, none).min(axis=0)
            least = np.where(least == none, -1, least)
        found: list[int] = least.tolist()
        return found

    @cached_property
    def closest(self) -> int | None:
        """The index of the query with the least gap of all rows, the first of several; None if no row has two different
        scores."""
        queries = [query for query, gap in enumerate(self.least_gaps) if gap >= 0]
        if not queries:
            return None
        gaps, units = [-self.least_gaps[query] for query in queries], [self.units[query] for query in queries]
        return queries[first_largest(gaps, units)]

    def least(self) -> Fraction | None:
        """Return the least gap of all rows, None if no row has two different scores."""
        query = self.closest
        return None if query is None else ratio_of(self.least_gaps[query], self.units[query])


def first_largest(numbers: Sequence[int], units: Sequence[int]) -> int:
    """Return the index of the first of the largest quotients of integers, whose units are positive."""
    if units.count(units[0]) == len(units):
        return numbers.index(max(numbers))
    best = 0
    for place, (number, unit) in enumerate(zip(numbers, units, strict=True)):
        if number * units[best] > numbers[best] * unit:
            best = place
    return best


def visible(
    mask: Mask, size: int, bos: bool, queries: slice = slice(None), keys: slice = slice(None)
) -> NDArray[np.bool_]:
    """Return which positions (columns) each query (row) sees, for slices of query and key indices. With a beginning
    of sequence (`bos`), every query sees index 0."""
    key, query = np.arange(size)[keys], np.arange(size)[queries, None]
    seen = {
        Mask.NONE: np.broadcast_to(True, (len(query), len(key))),
        Mask.FUTURE: key <= query,
        Mask.PAST: key >= query,
        Mask.STRICT_FUTURE: key < query,
        Mask.STRICT_PAST: key > query,
    }[mask]
    result: NDArray[np.bool_] = seen | (key == 0) if bos else seen
    return result


@lru_cache(64)
def _visible(mask: Mask, size: int, bos: bool, start: int, stop: int) -> NDArray[np.bool_]:
    seen = visible(mask, size, bos, slice(start, stop))
    if mask.strict and not bos:
        # A query that sees nothing stands for itself here; `hardmax` lets it read 0.
        empty = np.flatnonzero(~seen.any(axis=1))
        seen[empty, start + empty] = True
    return seen


def visible_sums(mask: Mask, whole: Integers, bos: bool) -> Integers:
    """Return for each query the sum of the numbers that it sees. `whole` has shape (..., positions); time and memory
    are linear in its size."""
    sums: Integers
    if mask is Mask.NONE:
        sums = np.broadcast_to(whole.sum(axis=-1, keepdims=True), whole.shape)
    else:
        upto = whole.cumsum(axis=-1)
        sums = upto if mask in (Mask.FUTURE, Mask.STRICT_FUTURE) else upto[..., -1:] - upto
        if mask in (Mask.PAST, Mask.STRICT_FUTURE):  # with or without the query's own position
            sums = sums + whole if mask is Mask.PAST else sums - whole
    if bos:
        # A query that does not see position 0 under its mask sees it because of the beginning of sequence.
        unseen = ~visible(mask, whole.shape[-1], False, keys=slice(1))[:, 0]
        sums = sums + whole[..., :1] * unseen
    return sums


def visible_folds(fold: np.ufunc, values: NDArray[np.int64], mask: Mask, bos: bool, nothing: int) -> NDArray[np.int64]:
    """Return for each query the least (`fold` is np.minimum) or largest (np.maximum) of the numbers that it sees, and
    `nothing` if it sees none. `values` has shape (..., positions)."""
    step = -1 if mask in (Mask.PAST, Mask.STRICT_PAST) else 1
    if mask is Mask.NONE:
        found = np.broadcast_to(fold.reduce(values, axis=-1, keepdims=True), values.shape)
    else:
        found = fold.accumulate(values[..., ::step], axis=-1)
        if mask.strict:
            found = np.concatenate([np.full_like(values[..., :1], nothing), found[..., :-1]], axis=-1)
    result: NDArray[np.int64] = fold(found[..., ::step], values[..., :1]) if bos else found[..., ::step]
    return result


def uniform(mask: Mask, value: Exact, bos: bool, most: float = LARGEST_COLUMN) -> Exact:
    """Return for each query the mean of a column over all visible positions. Raises InputError if the means take more
    than `most` bytes."""
    size = value.whole.shape[1]
    totals = visible_sums(mask, widened(value.whole, value.size * size), bos)
    return quotient(totals, _counts(mask, size, bos), value.unit, most)


@lru_cache(16)
def _counts(mask: Mask, size: int, bos: bool) -> NDArray[np.int64]:
    """Return how many positions each query sees, (1, size)."""
    return visible_sums(mask, np.ones((1, size), dtype=np.int64), bos)


def hardmax(
    head: Head, pairs: Sequence[tuple[Exact, Exact]], values: Mapping[str, Exact], shape: tuple[int, int], bos: bool
) -> tuple[Rows, dict[str, Exact]]:
    """Return the facts about the rows of scores, and for each column the mean over the positions that the hardmax
    attends to.

    The scores are given by `pairs` of a query and a key column. Columns that are the same for every word may have one
    row. A query that sees nothing (under a strict mask, without a beginning of sequence) reads 0; in the facts its row
    is that of its own score alone.
    """
    scores = Scores.of(pairs, shape[1])
    wide = {out: widened(value.whole, value.size * shape[1]) for out, value in values.items()}
    sight = Sight(head.mask, head.weighting, bos)
    found = _found(scores, sight, wide)
    differ = _differ(scores, sight, wide, found, max((value.size for value in values.values()), default=0))
    gap, maxima, reach, winners = (_shaped(part, shape) for part in found[:4])
    counts = maxima if head.weighting is Weighting.AVERAGE else np.ones((1, 1), dtype=np.int64)
    results = {out: quotient(_shaped(found.totals[out], shape), counts, value.unit) for out, value in values.items()}
    if head.mask.strict and not bos:
        results = {out: _emptied(result, head.mask) for out, result in results.items()}
    sizes = [(query.magnitude, key.magnitude) for query, key in pairs]
    return Rows(scores.units, gap, maxima, reach, sizes, winners, np.broadcast_to(differ, shape)), results


def _shaped(part: Integers, shape: tuple[int, int]) -> Integers:
    """Return `np.broadcast_to` of a part and a shape, without its costs if the part has this shape."""
    return part if part.shape == shape else np.broadcast_to(part, shape)


def _emptied(column: Exact, mask: Mask) -> Exact:
    """Return a column with 0 at the query that sees nothing under a strict mask: the first or the last one."""
    whole = column.whole.copy()
    whole[:, 0 if mask is Mask.STRICT_FUTURE else -1] = 0
    return Exact(whole, column.unit, column.size)


def _found(scores: Scores, sight: Sight, values: Columns) -> AttendedRows:
    """Return the rows, by the cheapest method that applies. Rows of scores that all words share are kept."""
    if all(len(part) == 1 and part.dtype == np.int64 for part in (*scores.queries, *scores.keys)):
        queries, keys = (tuple(part.tobytes() for part in some) for some in (scores.queries, scores.keys))
        rows = _known_rows(queries, keys, len(scores.units), scores.bound, sight)
        if rows is not None:
            return rows._replace(totals=_taken(values, rows.winners))
    return _computed(scores, sight, values)


@lru_cache(32)
def _known_rows(
    queries: tuple[bytes, ...], keys: tuple[bytes, ...], size: int, bound: int, sight: Sight
) -> AttendedRows | None:
    """Return rows without the values; None if a head reads more than the winner of some row."""
    left, right = ([np.frombuffer(part, dtype=np.int64)[None] for part in some] for some in (queries, keys))
    found = _computed(Scores(left, right, [1] * size, bound), sight, {})
    return None if sight.average and found.maxima.max() > 1 else found


def _computed(scores: Scores, sight: Sight, values: Columns) -> AttendedRows:
    if sight.mask.strict and not sight.bos:
        return dense(scores, sight, values)
    found = few_keys(scores, sight, values) or concave(scores, sight, values) or few_queries(scores, sight, values)
    return found or dense(scores, sight, values)


def _differ(scores: Scores, sight: Sight, values: Columns, found: AttendedRows, size: int) -> NDArray[np.int8]:
    """Classify the values of the tied positions in each row of a leftmost or rightmost head. The result has the shape
    (words or 1, positions or 1) and contains ONE_VALUE, SAME_MEAN or OTHER_MEAN. `size` bounds the absolute values.

    All tied positions carry the value w that the head reads iff the mean of the values is w and the mean of their
    squares is w^2: then their variance is 0. The mean alone decides between the other two cases.
    """
    if sight.average or found.maxima.max() <= 1:
        return np.zeros((1, 1), dtype=np.int8)
    many = len(scores.units)
    squares = {out: widened(whole, size**2 * many) ** 2 for out, whole in values.items()}
    every = replace(sight, weighting=Weighting.AVERAGE)
    differ = np.zeros(1, dtype=np.int8)
    for columns, kind in ((values, OTHER_MEAN), (squares, SAME_MEAN)):
        means, read = _found(scores, every, columns).totals, _taken(columns, found.winners)
        for out, total in means.items():
            other = (total != found.maxima * read[out]).astype(np.bool_)
            differ = np.maximum(differ, np.where(other, kind, ONE_VALUE).astype(np.int8))
    return differ


@dataclass(frozen=True, slots=True)
class Sight:
    """The positions that queries see, and the choice among equal maxima."""

    mask: Mask
    weighting: Weighting
    bos: bool

    @property
    def average(self) -> bool:
        """True if the head attends to all maxima equally."""
        return self.weighting is Weighting.AVERAGE

    @property
    def last(self) -> bool:
        """True if the head attends to the last of equal maxima."""
        return self.weighting not in (Weighting.AVERAGE, Weighting.LEFTMOST)


class AttendedRows(NamedTuple):
    """The facts about rows as in `Rows`, with shape (words or 1, positions or 1), and the sums of the values over the
    attended positions."""

    gap: Integers
    maxima: NDArray[np.int64]
    reach: Integers
    winners: NDArray[np.int64]
    totals: dict[str, Integers]


@dataclass(frozen=True, slots=True)
class Scores:
    """The rows of scores, `sum of queries[k][:, i] * keys[k][:, j]` in units of `1 / units[i]`. Every query and key
    has shape (words or 1, positions). No entry, and no sum of absolute products, is larger than `bound`."""

    queries: list[Integers]
    keys: list[Integers]
    units: list[int]
    bound: int

    @staticmethod
    def of(pairs: Sequence[tuple[Exact, Exact]], size: int) -> Scores:
        """Make scores from pairs of a query and a key column: integers over one unit or, if those are too large for
        int64, over the least unit of each row."""
        unit = lcm(*(query.unit * key.unit for query, key in pairs if query.size))
        factors = [unit // (query.unit * key.unit) if query.size else 0 for query, key in pairs]
        keys = [_single(key) for _, key in pairs]
        # Factors of 0 count as 1: the entries themselves must fit in the dtype too.
        bound = sum(
            max(factor * query.size, 1) * max(key.size, 1) for factor, (query, key) in zip(factors, pairs, strict=True)
        )
        if bound < SAFE:
            queries = [_single(query) * factor for factor, (query, _) in zip(factors, pairs, strict=True)]
            units = [unit]
        else:
            rows = [_by_row(query) for query, _ in pairs]
            under = [unders * key.unit for (_, unders), (_, key) in zip(rows, pairs, strict=True)]
            least = np.lcm.reduce(np.array(under, dtype=object), axis=0)
            queries = [_times(whole, least // below) for (whole, _), below in zip(rows, under, strict=True)]
            bound = sum(
                max(largest(query), 1) * max(key.size, 1) for query, (_, key) in zip(queries, pairs, strict=True)
            )
            units = least.tolist()
        kind = np.int64 if bound < SAFE else object
        queries, keys = ([part.astype(kind, copy=False) for part in parts] for parts in (queries, keys))
        return Scores(*_merged(queries, keys), units * (size // len(units)), bound)

    @property
    def static(self) -> bool:
        """True if the keys are the same for every word."""
        return all(len(key) == 1 for key in self.keys)

    def chosen(self, words: NDArray[np.int64], places: NDArray[np.int64]) -> Integers:
        """Return the scores of some queries, given by word and position, and all keys: (queries, keys)."""
        kind = np.dtype(np.int32 if self.bound < NARROW else np.int64)
        found: Integers = np.zeros((1, 1), dtype=kind)
        for query, key in zip(self.queries, self.keys, strict=True):
            left = query[0, places] if len(query) == 1 else query[words, places]
            right = key if len(key) == 1 else key[words]
            found = found + left[:, None].astype(kind) * right.astype(kind)
        return found

    def block(self, queries: slice, keys: slice) -> Integers:
        """Return the scores of these queries and keys, (words or 1, queries, keys)."""
        kind = np.dtype(np.int32) if self.bound < NARROW else None
        found: Integers | None = None
        # The largest products come last, so that fewer sums are as large.
        pairs = sorted(zip(self.queries, self.keys, strict=True), key=lambda pair: len(pair[0]) + len(pair[1]))
        for query, key in pairs:
            left, right = query[:, queries, None], key[:, None, keys]
            part = left * right if kind is None else left.astype(kind) * right.astype(kind)
            if found is not None:
                part = np.add(found, part, out=part if len(part) >= len(found) else None)
            found = part
        return np.zeros((1, 1, 1), dtype=kind or np.int64) if found is None else found


def _merged(queries: list[Integers], keys: list[Integers]) -> tuple[list[Integers], list[Integers]]:
    """Return queries and keys of the same scores, with all constant queries in one, and the queries of equal keys that
    all words share in one. Two are left as they are, since `concave` is for two."""
    if len(queries) <= 2:
        return queries, keys
    steady = [len(query) == 1 and bool((query == query[0, 0]).all()) for query in queries]
    merged: dict[object, tuple[Integers, Integers]] = {}
    for place, (query, key, constant) in enumerate(zip(queries, keys, steady, strict=True)):
        if constant:
            with_one, rest = merged.get("constant", (np.ones_like(query), 0))
            merged["constant"] = with_one, rest + query[0, 0] * key
        else:
            name = tuple(key[0].tolist()) if len(key) == 1 else place
            merged[name] = merged.get(name, (0, key))[0] + query, key
    return [query for query, _ in merged.values()], [key for _, key in merged.values()]


def _single(column: Exact) -> Integers:
    """Return the numbers of a column; only those of the first word if the column repeats one row in memory."""
    return column.whole[:1] if column.whole.strides[0] == 0 else column.whole


def _times(whole: Integers, factors: Integers) -> Integers:
    """Return the numbers at each position times a factor, which is a Python integer."""
    small = whole.dtype != object and largest(whole) * largest(factors) < SAFE
    found: Integers = whole * (factors.astype(np.int64) if small else factors)
    return found


def _by_row(column: Exact) -> tuple[Integers, Integers]:
    """Return the numbers of each position over the least unit common to all words, and these units."""
    if column.ratio is not None:
        totals, counts = column.ratio
        common = np.gcd(np.gcd.reduce(totals, axis=0), counts)
        return totals // common, (counts // common).astype(object)
    whole = _single(column).astype(object)
    common = np.gcd(np.gcd.reduce(whole, axis=0), column.unit)
    return whole // common, column.unit // common


def _taken(values: Columns, places: NDArray[np.int64]) -> dict[str, Integers]:
    """Return for each query the values at one position, whose index `places` gives by word and query."""
    if len(places) == 1:
        return {out: whole[:, places[0]] for out, whole in values.items()}
    if not values:
        return {}
    # One index into the flat array is found faster than a pair of indices.
    size = next(iter(values.values())).shape[1]
    flat = size * np.arange(len(places))[:, None] + places
    return {
        out: whole[0].take(places) if len(whole) == 1 else whole.ravel().take(flat) for out, whole in values.items()
    }


# ---- every query meets every key ----


def dense(scores: Scores, sight: Sight, values: Columns) -> AttendedRows:
    """Compute the rows from all scores, in blocks of queries."""
    size = len(scores.units)
    words = max((len(part) for part in (*scores.queries, *scores.keys)), default=1)
    step = max(1, BLOCK // (8 * words * size))
    blocks: list[AttendedRows] = []
    for start in range(0, size, step):
        queries = slice(start, start + step)
        seen = _visible(sight.mask, size, sight.bos, start, start + step)
        # Keys outside the block's visible range are never read.
        keys = np.flatnonzero(seen.any(axis=0))
        some = slice(int(keys[0]), int(keys[-1]) + 1)
        part, shape = scores.block(queries, some), (len(seen), some.stop - some.start)
        if part.shape[1:] != shape:
            part = np.broadcast_to(part, (len(part), *shape)).copy()
        blocks.append(_rows(part, seen[:, some], sight, {out: whole[:, some] for out, whole in values.items()}))
        blocks[-1] = blocks[-1]._replace(winners=blocks[-1].winners + some.start)
    gap, maxima, reach, winners = (np.concatenate(parts, axis=1) for parts in list(zip(*blocks, strict=True))[:4])
    totals = {out: np.concatenate([block.totals[out] for block in blocks], axis=1) for out in values}
    return AttendedRows(gap, maxima, reach, winners, totals)


def _rows(scores: Integers, seen: NDArray[np.bool_], sight: Sight, values: Columns) -> AttendedRows:
    """Compute the rows of a block of scores, (words or 1, queries, keys), which is overwritten. `seen` marks the
    visible keys of each query."""
    # `low` is below every score: masked entries never win, and a runner-up of `low` means that there is none.
    # Before that they are `high`, above every score, and never the least one.
    if scores.dtype == object:
        low, high = int(scores.min()) - 1, int(scores.max()) + 1
    else:
        low, high = int(np.iinfo(scores.dtype).min), int(np.iinfo(scores.dtype).max)
    # Only columns that some query does not see are masked.
    partly = np.flatnonzero(~seen.all(axis=0))
    some = slice(int(partly[0]), int(partly[-1]) + 1) if len(partly) else slice(0)
    masked, hidden = scores[:, :, some], ~seen[:, some]
    np.copyto(masked, high, where=hidden)
    least = _chosen(scores, scores.argmin(axis=2))
    np.copyto(masked, low, where=hidden)
    first = scores.argmax(axis=2)
    best = _chosen(scores, first)[:, :, None]
    top = np.equal(scores, best)
    tied = np.count_nonzero(top) > best.size
    maxima = np.count_nonzero(top, axis=2) if tied else np.ones(best.shape[:2], dtype=np.int64)
    winners = top.shape[2] - 1 - top[:, :, ::-1].argmax(axis=2) if tied and sight.last else first
    if sight.average and tied:
        totals: dict[str, Integers] = {
            out: np.where(top, whole[:, None], 0).sum(axis=2) for out, whole in values.items()
        }
    else:
        totals = _taken(values, winners)
    np.copyto(scores, low, where=top)
    runner_up = _chosen(scores, scores.argmax(axis=2))
    kind = object if scores.dtype == object else np.int64
    most = best[:, :, 0].astype(kind, copy=False)  # differences need more bits than scores
    return AttendedRows(np.where(runner_up == low, -1, most - runner_up), maxima, most - least, winners, totals)


def _chosen(scores: Integers, places: NDArray[np.int64]) -> Integers:
    """Return one score of each row, (words or 1, queries). (numpy finds the index of an extreme several times as fast
    as the extreme.)"""
    rows = scores.reshape(-1, scores.shape[2])
    found: Integers = rows[np.arange(len(rows)), places.ravel()].reshape(places.shape)
    return found


# ---- few different keys ----


class KeyGroups(NamedTuple):
    """The distinct keys of a row: the position where each is `first`, which positions are `there`, how many of them
    each query sees (`counts`), and the last or first one that it sees (`places`); lists of arrays (positions,)."""

    first: list[int]
    there: list[NDArray[np.bool_]]
    counts: list[NDArray[np.int64]]
    places: list[NDArray[np.int64]]


def _key_groups(keys: Sequence[Integers], sight: Sight, size: int) -> KeyGroups | None:
    """Return the groups of equal keys, (1, size) each; None if there are many."""
    if any(key.dtype == object for key in keys):
        return _grouped(keys, sight, size)
    # Keys are the same for every batch of a length.
    return _known_groups(tuple(key.tobytes() for key in keys), sight, size)


@lru_cache(16)
def _known_groups(keys: tuple[bytes, ...], sight: Sight, size: int) -> KeyGroups | None:
    return _grouped([np.frombuffer(key, dtype=np.int64)[None] for key in keys], sight, size)


def _grouped(keys: Sequence[Integers], sight: Sight, size: int) -> KeyGroups | None:
    groups, first = distinct(keys, (1, size))
    if len(first) > min(FEW, size // 2):
        return None
    there = groups == np.arange(len(first))[:, None]
    counts = visible_sums(sight.mask, there.astype(np.int64), sight.bos)
    fold, nothing = (np.maximum, -1) if sight.last else (np.minimum, size)
    places = visible_folds(fold, np.where(there, np.arange(size), nothing), sight.mask, sight.bos, nothing)
    return KeyGroups(first.tolist(), list(there), list(counts), list(places))


def few_keys(scores: Scores, sight: Sight, values: Columns) -> AttendedRows | None:
    """Compute the rows from one score per distinct key. Return None if there are many distinct keys, or if keys
    depend on the word."""
    found = _key_groups(scores.keys, sight, len(scores.units)) if scores.static else None
    if found is None:
        return None
    low, parts = -scores.bound - 1, list[Integers]()
    for place in found.first:
        products = [query * key[0, place] for query, key in zip(scores.queries, scores.keys, strict=True)]
        parts.append(reduce(np.add, products) if products else np.zeros((1, len(scores.units)), dtype=np.int64))
    masked = [np.where(count > 0, part, low) for count, part in zip(found.counts, parts, strict=True)]
    best = reduce(np.maximum, masked)
    tops = [part == best for part in masked]
    runner_up = reduce(np.maximum, [np.where(top, low, part) for top, part in zip(tops, masked, strict=True)])
    gap = np.where(runner_up == low, -1, best - runner_up)
    worst = reduce(
        np.minimum, [np.where(count > 0, part, best) for count, part in zip(found.counts, parts, strict=True)]
    )
    maxima = reduce(np.add, [np.where(top, count, 0) for top, count in zip(tops, found.counts, strict=True)])
    fold, nothing = (np.maximum, -1) if sight.last else (np.minimum, len(scores.units))
    winners = reduce(fold, [np.where(top, place, nothing) for top, place in zip(tops, found.places, strict=True)])
    if not sight.average or maxima.max() <= 1:
        return AttendedRows(gap, maxima, best - worst, winners, _taken(values, winners))
    totals: dict[str, Integers] = {}
    for out, whole in values.items():
        sums = [visible_sums(sight.mask, np.where(row, whole, 0), sight.bos) for row in found.there]
        totals[out] = np.add.reduce([np.where(top, part, 0) for top, part in zip(tops, sums, strict=True)])
    return AttendedRows(gap, maxima, best - worst, winners, totals)


# ---- keys on a strictly concave curve ----


def concave(scores: Scores, sight: Sight, values: Columns) -> AttendedRows | None:
    """Find the largest score of each row by bisection, and compare it with its neighbours.

    Return None unless the keys are the same for every word and, in every row, the differences of neighbouring scores
    strictly fall, or are all positive, or all negative.

    With queries a, b and keys u_j, v_j such that u rises (or falls) and the slopes of v against u rise (or fall), all
    strictly, the next difference of a score is `(u_(j+1) - u_j) (a + b slope_j)`: its sign changes once at most, from
    plus to minus if b has the right sign, and it is 0 for one j at most.
    """
    size = len(scores.units)
    if not scores.static or len(scores.keys) != 2 or size < 3 or sight.mask.strict:
        return None
    if sight.bos and sight.mask is Mask.PAST:  # the visible positions, 0 and i..n, are no interval
        return None
    first, second = (key[0] for key in scores.keys)
    if object in (first.dtype, second.dtype):
        turn, bend = _curve(first, second)
    else:
        turn, bend = _known_curve(first.tobytes(), second.tobytes())
    if not bend:
        return None
    (a, b), (u, v) = scores.queries[::turn], (key[0] for key in scores.keys[::turn])
    if not ((b * bend < 0) | ((b == 0) & (a != 0))).all():
        return None
    if sight.mask is Mask.NONE and all((part == part[:, :1]).all() for part in (a, b)):
        a, b = a[:, :1], b[:, :1]
    places = np.arange(size)
    shape = np.broadcast_shapes(a.shape, b.shape)
    lowest = np.broadcast_to(places if sight.mask is Mask.PAST else 0, shape)
    highest = np.broadcast_to(places if sight.mask is Mask.FUTURE else size - 1, shape)

    steps = np.diff(u, append=u[-1:]), np.diff(v, append=v[-1:])

    def at(index: NDArray[np.int64] | int, keys: tuple[Integers, Integers] = (u, v)) -> Integers:
        found: Integers = a * keys[0].take(index) + b * keys[1].take(index)
        return found

    low, rise, fall = _summit((a, b), steps, lowest, highest)
    # Where the rise to the next score is 0, that one is as large, and the one after it is smaller.
    inside = low < highest
    tied = inside & (rise == 0)
    last = low
    if tied.any():
        last = low + tied
        rise, inside = at(last, steps), last < highest
    gap = np.where(inside, -rise, -1)
    gap = np.where(low > lowest, np.where(inside, np.minimum(gap, fall), fall), gap)
    ends = (
        at(0 if sight.mask is not Mask.PAST else lowest),
        at(size - 1 if sight.mask is not Mask.FUTURE else highest),
    )
    reach = at(low) - np.minimum(*ends)
    totals = _taken(values, last if sight.last else low)
    if sight.average and last is not low:
        others = _taken(values, last)
        totals = {out: whole + np.where(tied, others[out], 0) for out, whole in totals.items()}
    return AttendedRows(gap, 1 + tied, reach, last if sight.last else low, totals)


@lru_cache(16)
def _known_curve(first: bytes, second: bytes) -> tuple[int, int]:
    return _curve(*(np.frombuffer(key, dtype=np.int64) for key in (first, second)))


def _curve(first: Integers, second: Integers) -> tuple[int, int]:
    """Return 1 if the first of two keys plays the part of u in `concave`, -1 if the second does; and the bend (see
    `_bend`), 0 if neither may."""
    # The guess of the largest score is better if u is the position itself.
    straight = bool((np.diff(first, 2) == 0).all())
    for turn in (1, -1) if straight else (-1, 1):
        bend = _bend(*(first, second)[::turn])
        if bend is not None:
            return turn, bend
    return 1, 0


def _summit(
    factors: tuple[Integers, Integers],
    steps: tuple[Integers, Integers],
    lowest: NDArray[np.int64],
    highest: NDArray[np.int64],
) -> tuple[NDArray[np.int64], Integers, Integers]:
    """Return the first index from `lowest` to `highest` from which the scores `a u + b v` of `concave` no longer rise,
    and the rises from there and to there (of an index beyond the keys: any number). `factors` are a and b, `steps` the
    differences of u and v.

    It is guessed in floats, as if the slopes of v against u were equally far apart, which those of squares are. Scores
    rise up to the right index and no further, so two exact comparisons tell if the guess is right; if one is wrong, all
    are found by bisection."""
    (a, b), (du, dv) = factors, steps

    def rise(index: NDArray[np.int64]) -> Integers:
        found: Integers = a * du.take(index) + b * dv.take(index)
        return found

    def around(index: NDArray[np.int64]) -> tuple[NDArray[np.int64], Integers, Integers]:
        return index, rise(index), rise(np.maximum(index - 1, 0))

    if not any(part.dtype == object for part in (a, b, du, dv)):  # which may be too large for floats
        with np.errstate(all="ignore"):
            first, second = (float(dv[place]) / float(du[place]) for place in (0, 1))
            where = (-a.astype(np.float64) / b.astype(np.float64) - first) / (second - first)
            where = np.ceil(np.where(np.isfinite(where), np.clip(where, -1, len(du)), -1) - 1e-9)
        low: NDArray[np.int64] = np.clip(where.astype(np.int64), lowest, highest)
        found = around(low)
        if (((low >= highest) | (found[1] <= 0)) & ((low <= lowest) | (found[2] > 0))).all():
            return found
    low, high = lowest, highest
    for _ in range(len(du).bit_length()):
        middle = (low + high) >> 1
        up = (middle < highest) & (rise(middle) > 0)
        low, high = np.where(up, middle + 1, low), np.where(up, high, middle)
    return around(low)


def _bend(u: Integers, v: Integers) -> int | None:
    """Return the sign (1 or -1) of the steps of u times the sign of the differences of the slopes of v against u;
    None unless both u and the slopes are strictly monotone."""
    kind = np.int64 if 8 * max(largest(u), 1) * max(largest(v), 1) < SAFE else object
    steps, rises = np.diff(u.astype(kind)), np.diff(v.astype(kind))
    turns = steps[:-1] * rises[1:] - rises[:-1] * steps[1:]
    for sign in (1, -1):
        for way in (1, -1):
            if (steps * sign > 0).all() and (turns * way > 0).all():
                return sign * way
    return None


# ---- few different queries ----


def few_queries(scores: Scores, sight: Sight, values: Columns) -> AttendedRows | None:
    """Compute the rows from one row of all scores per distinct query of a word. Return None if words have many distinct
    queries, or if the visible keys of a position are neither the first nor the last ones."""
    size, mask = len(scores.units), sight.mask
    if sight.bos and mask in (Mask.PAST, Mask.STRICT_PAST):  # 0 and i..n
        return None
    # Backwards, the last keys are the first. A query that sees nothing under a strict mask stands for itself.
    step = -1 if mask in (Mask.PAST, Mask.STRICT_PAST) else 1
    kinds = _kinds(scores, 0 if mask is Mask.NONE else step)
    if kinds is None:
        return None
    numbers, words, examples = kinds
    end = np.full(size, size - 1) if mask is Mask.NONE else np.maximum(np.arange(size)[::step] - mask.strict, 0)
    last, blocks = sight.last is (step == 1), list[AttendedRows]()
    # A few words at a time, so that their scores stay in the cache.
    several = max(1, BLOCK // (8 * size) * len(numbers) // len(words))
    for start in range(0, len(numbers), several):
        some = numbers[start : start + several]
        here = slice(int(some.min()), int(some.max()) + 1)
        rows = scores.chosen(words[here], examples[here])[:, ::step]
        running = _running_rows(rows, words[here] - start, some - here.start, end, last)
        turned = {
            out: (whole if len(numbers) == 1 or len(whole) == 1 else whole[start : start + several])[:, ::step]
            for out, whole in values.items()
        }
        blocks.append(running.attended(turned, sight.average))
    gap, maxima, reach, winners = (np.concatenate(parts) for parts in list(zip(*blocks, strict=True))[:4])
    totals = {out: np.concatenate([block.totals[out] for block in blocks]) for out in values}
    return AttendedRows(gap, maxima, reach, winners if step == 1 else size - 1 - winners, totals)


Kinds: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
"""Numbers of queries, (words or 1, size), and the word and a position of each number."""


def _kinds(scores: Scores, step: int) -> Kinds | None:
    """Number the distinct queries of each word. Return the number of every query, (words or 1, size), and the word and
    a position of each number; None if there are many numbers. If `step` is 1 (-1), the first (last) query sees one key
    alone, so that its facts do not depend on it: it gets the number of its neighbour.

    Queries are sorted by one number that combines their parts, and then compared, so that no two different ones share a
    number."""
    if any(query.dtype == object for query in scores.queries):
        return None
    size, words, every = (
        len(scores.units),
        max(map(len, scores.queries), default=1),
        max(map(len, scores.keys), default=1),
    )
    if words > 1:
        return _kinds_of(scores.queries, size, step)
    # All words have the same queries, in every batch.
    found = _known_kinds(tuple(query.tobytes() for query in scores.queries), size, step)
    if found is None or every == 1:
        return found
    numbers, _, examples = found
    numbers = numbers + len(examples) * np.arange(every)[:, None]
    return numbers, np.arange(every).repeat(len(examples)), np.tile(examples, every)


@lru_cache(16)
def _known_kinds(queries: tuple[bytes, ...], size: int, step: int) -> Kinds | None:
    """Return the numbers of `_kinds_of` for queries that all words share, given as bytes so that they can be a key."""
    return _kinds_of([np.frombuffer(query, dtype=np.int64)[None] for query in queries], size, step)


def _kinds_of(queries: Sequence[Integers], size: int, step: int) -> Kinds | None:
    """Return the numbers of `_kinds` for machine integers, (words or 1, size) each."""
    words = max(map(len, queries), default=1)
    combined = np.zeros((words, size), dtype=np.int64)
    for query in queries:
        combined = combined * SPREAD + query  # wraps around
    alone = (size - 1 if step < 0 else 0) if step and size > 1 else None
    if alone is not None:
        combined[:, alone] = combined[:, alone + step]
    order = combined.argsort(axis=1)
    ranked = np.take_along_axis(combined, order, axis=1)
    new = np.ones((words, size), dtype=np.bool_)
    np.not_equal(ranked[:, 1:], ranked[:, :-1], out=new[:, 1:])
    if np.count_nonzero(new) * SHARED > words * size:
        return None
    numbers, (word, place) = np.empty_like(order), np.nonzero(new)
    np.put_along_axis(numbers, order, new.ravel().cumsum().reshape(order.shape) - 1, axis=1)
    examples = order[word, place]
    others = slice(1, None) if alone == 0 else slice(alone)
    if alone is not None:
        examples[examples == alone] = alone + step
    for query in queries:
        found = (query[0, examples] if len(query) == 1 else query[word, examples])[numbers]
        if not (query[:, others] == found[:, others]).all():
            return None
    return numbers, word, examples


class RunningRows(NamedTuple):
    """The facts about rows as in `Rows`, (words or 1, positions); and where scores are the largest up to there, by
    distinct query and key, if there are several such scores in any row (`ties`, else None).

    `words` are the words of the distinct queries, `numbers` the number of each query, and `end` the last key that it
    sees; `first` is the first of its maxima."""

    gap: Integers
    maxima: NDArray[np.int64]
    reach: Integers
    winners: NDArray[np.int64]
    ties: NDArray[np.bool_] | None
    words: NDArray[np.int64]
    numbers: NDArray[np.int64]
    end: NDArray[np.int64]
    first: NDArray[np.int64]

    def attended(self, values: Columns, average: bool) -> AttendedRows:
        """Return the rows with the values, (words or 1, positions), of the winners or, if `average`, of all maxima."""
        if average and self.ties is not None:
            totals = {out: self._sums(self.ties, whole) for out, whole in values.items()}
        else:
            totals = _taken(values, self.winners)
        return AttendedRows(self.gap, self.maxima, self.reach, self.winners, totals)

    def _sums(self, ties: NDArray[np.bool_], whole: Integers) -> Integers:
        if len(self.numbers) == 1:  # all words have the same rows
            upto = np.where(ties, whole[:, None], 0).cumsum(axis=2)
            found: Integers = upto[:, self.numbers[0], self.end] - upto[:, self.numbers[0], self.first[0]]
            return found + whole[:, self.first[0]]
        upto = np.where(ties, whole if len(whole) == 1 else whole[self.words], 0).cumsum(axis=1)
        found = upto[self.numbers, self.end] - upto[self.numbers, self.first]
        return found + _taken({"": whole}, self.first)[""]


def _running_rows(
    rows: Integers, words: NDArray[np.int64], numbers: NDArray[np.int64], end: NDArray[np.int64], last: bool
) -> RunningRows:
    """Compute the rows of queries that see the scores up to and including `end`, from all scores of the distinct
    queries, (distinct, keys); `numbers` and `words` are as `_kinds` returns them. Of equal maxima the last or the first
    is the winner.

    The second largest number up to j is the largest of these candidates up to j, each of them below the maximum at its
    place: a number below the maximum before it, and the maximum before a larger number. For if v < m are the two
    largest, then v is a candidate where it stands, if m stands before it; else v is the maximum before the first m."""
    low, places = int(np.iinfo(rows.dtype).min), np.arange(rows.shape[1])
    # With one query for each word, whole columns are taken, which is faster.
    at = (slice(None), end) if len(rows) == len(numbers) else (numbers, end)
    best = np.maximum.accumulate(rows, axis=1)
    before = np.concatenate([np.full_like(best[:, :1], low), best[:, :-1]], axis=1)
    again = rows == before
    candidates = np.minimum(rows, before)
    np.copyto(candidates, low, where=again)
    top, second = best[at].astype(np.int64), np.maximum.accumulate(candidates, axis=1)[at]
    reach = top - np.minimum.accumulate(rows, axis=1)[at]
    first = np.maximum.accumulate(np.where(rows > before, places, 0), axis=1)[at]
    gap, maxima, winners, ties = np.where(second == low, -1, top - second), np.ones_like(first), first, None
    if again.any():  # ties, or a maximum that comes again after larger numbers are seen
        ties = rows == best
        upto = ties.cumsum(axis=1)
        maxima = upto[at] - upto[numbers, first] + 1
        winners = np.maximum.accumulate(np.where(ties, places, 0), axis=1)[at] if last else first
    return RunningRows(gap, maxima, reach, winners, ties, words, numbers, end, first)
