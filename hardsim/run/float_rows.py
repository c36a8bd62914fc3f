"""Means over the visible keys in float64 enclosures: uniform means, and softmax row by row.

Weights. Let l_j be the logits, d_j the computed distances to a reference R (any float), off by at most x_j, and w_j =
fl(exp(d_j)). Then w_j = W_j (1 + t_j), W_j = e^(l_j - R), with |t_j| <= rho := max growth(x_j) + EXP_ERROR (1 +
growth), apart from absolute errors below 2^-1019 (2^-144, row by row): distances below LOWEST are replaced by LOWEST,
since numpy's exp is ten times as slow where it underflows, as most weights of cold softmax do. Keys that a query does
not see have weight 0.

Means. With m the mean of values v_j under the w_j, and D = sum w_j |v_j - m| / sum w_j, the true mean is

    M = m + sum (W_j - w_j)(v_j - m) / sum W_j,  so that  |M - m| <= rho (1 + rho)/(1 - rho) D  for rho < 1,

since |W_j - w_j| <= w_j rho/(1 - rho) and sum W_j >= sum w_j/(1 + rho). For values between a and b, D is at most 2
min(m - a, b - m), since a chord bounds |v - m|; this is used for Booleans and for sums over classes, and elsewhere D
is computed. The quotient q of two computed sums of n terms, in any order, is off from m by at most r = gamma_(2 n +
6) max |v_j|, or gamma_(2 n + 6) q where no value is negative; D at q is off from D at m by at most 2 r, and as
computed by gamma_(n + 3) D more, which is at most r, since D is at most 2 max |v_j|, or 2 q. Sums of weights of at
least 2^-900 (1, row by row) are required, so that underflow adds at most n max |v_j| 2^-100 for n < 2^18. Radii of
values are averaged under the true weights, whose shares are at most (1 + rho)/(1 - rho) times those of the computed
ones, and add no more than the largest of them. A mean lies between a and b in any case: if nothing better is known,
this is its enclosure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hardsim.lazy_dataclass import dataclass
from hardsim.network.integers import Exact, combination, widened
from hardsim.network.integers import quotient as exact_quotient
from hardsim.network.numbers import Mask, Rational
from hardsim.run.enclosure import (
    EXP_ERROR,
    LARGEST_EXACT,
    Block,
    Booleans,
    Code,
    Floats,
    Integers,
    U,
    gamma,
    growth,
    known,
    least,
    most,
    outward,
)

LEAST_SUM = 2.0**-900
"""Sums of weights below this are computed again, with a reference for each row."""
UNDERFLOW = 2.0**-100
STAIRS = 512
"""The greatest length at which running conjunctions are rows of a table that is kept."""
CHUNK = 2**17
"""Number of logits computed at a time: one megabyte for each array of them."""
AT_ONCE = 64
"""Number of queries that are run together under a mask. With more, most of them would see far fewer keys than all of
them together."""
SURE = 2.0**-10
"""If the relative errors of all weights are below this, the enclosures of means are narrower than the range of the
values."""
LOWEST, LOWEST_BESIDE_1 = -707.0, -100.0
"""e^-707 lies between 2^-1020 and 2^-1019: about the least number that is not subnormal. Where one weight is 1,
weights below e^-100 < 2^-144 add as little; and their products with values are not subnormal, which would be slow."""
DEEPEST = 750.0
"""e^-750 is below 2^-1080: a distance beyond it may have any relative error, since its exponential, also as computed,
is 0 up to the error that the bounds allow for underflow."""

NO_ROWS = np.zeros(0, dtype=np.int64)

Number = TypeVar("Number", np.float64, np.bool_, np.int64)
Scale = tuple[Floats, Floats]
"""1/tau by query position, and bounds of its errors: (n,), or (words, 1, n) where words have different ones."""


@dataclass(frozen=True)
class Views:
    """The keys that each query of `size` positions sees: from `starts` up to but not including `stops` (indices from
    0), and with `bos` also the key at index 0."""

    mask: Mask
    size: int
    bos: bool = False
    starts: Integers = field(init=False, repr=False)
    stops: Integers = field(init=False, repr=False)
    counts: Floats = field(init=False, repr=False)
    """The number of keys that each query sees."""

    def __post_init__(self) -> None:
        seen = [self.mask.visible(place + 1, self.size) for place in range(self.size)]
        # The class is frozen; these fields follow from the others.
        object.__setattr__(self, "starts", np.array([positions.start - 1 for positions in seen]))
        object.__setattr__(self, "stops", np.array([positions.stop - 1 for positions in seen]))
        object.__setattr__(self, "counts", self.over(np.add, np.ones(self.size)))

    def visible(self, rows: Integers, low: int = 0, high: int | None = None) -> Booleans:
        """Return which of the keys from `low` up to but not including `high` the queries at these positions see,
        (rows, keys)."""
        keys = np.arange(low, self.size if high is None else high)[None, :]
        seen = (keys >= self.starts[rows][:, None]) & (keys < self.stops[rows][:, None])
        return seen | (keys == 0) if self.bos else seen

    def span(self, rows: Integers) -> tuple[int, int]:
        """Return a range of keys (first, and end) that contains all keys these queries see."""
        if self.bos:
            return 0, max(1, int(self.stops[rows].max()))
        return int(self.starts[rows].min()), int(self.stops[rows].max())

    def over(self, operation: np.ufunc, values: NDArray[Any]) -> NDArray[Any]:
        """Return sums, extremes and the like over the keys that each query sees. Keys, and in the result queries, are
        the last axis.

        The values may be those of the first keys only, under masks that show no later ones.
        """
        if self.mask is Mask.NONE:
            return np.broadcast_to(operation.reduce(values, axis=-1, keepdims=True), values.shape)
        first = values[..., :1]
        if self.mask in (Mask.FUTURE, Mask.STRICT_FUTURE):
            running = _running(operation, values)
            return running if self.mask is Mask.FUTURE else np.concatenate([first, running[..., :-1]], axis=-1)
        running = _running(operation, values[..., ::-1])[..., ::-1]
        if not self.bos:
            return running
        later = operation(first, running[..., 1:])
        return np.concatenate([running[..., :1], later] if self.mask is Mask.PAST else [later, first], axis=-1)


def _running(operation: np.ufunc, values: NDArray[Any]) -> NDArray[Any]:
    """Return `operation.accumulate` along the last axis. For Booleans, it is found from the first position that
    decides, which is faster."""
    if values.dtype != np.bool_ or operation not in {np.logical_and, np.logical_or}:
        found: NDArray[Any] = operation.accumulate(values, axis=-1)
        return found
    deciding = values if operation is np.logical_or else ~values
    n = values.shape[-1]
    rows = deciding.reshape(-1, n)
    first = rows.argmax(axis=1)
    first[~rows[np.arange(len(rows)), first]] = n
    after: Booleans = (_stairs(n).take(first, axis=0) if n <= STAIRS else np.arange(n) >= first[:, None]).reshape(
        values.shape
    )
    return after if operation is np.logical_or else ~after


@lru_cache(8)
def _stairs(n: int) -> Booleans:
    """Return rows of n Booleans, of which row k is True from index k on, (n + 1, n)."""
    stairs: Booleans = np.arange(n) >= np.arange(n + 1)[:, None]
    return stairs


def take(array: NDArray[Number], words: Integers) -> NDArray[Number]:
    """Return rows of an array whose first axis may be shared by all words."""
    return array if array.shape[0] == 1 else array[words]


def carried(old: NDArray[Number], new: NDArray[Number], rows: Integers) -> NDArray[Number]:
    """Return the words' rows of `old`, followed by `new`; either may be shared by all words."""
    parts = [take(old, rows), new]
    words = max(map(len, parts))
    return np.concatenate([np.broadcast_to(part, (words, part.shape[1])) for part in parts], axis=1)


# ---- uniform attention ----


def mean(block: Block, views: Views, before: Block | None = None, rows: Integers = NO_ROWS) -> Block:
    """Return the mean over the visible positions of each query. Sums of exact integers are exact, and divided once.

    With `before`, the block's positions follow those of `before`; `rows` gives each word's row in it, and the mask
    must be FUTURE.
    """
    if block.static is not None and before is None:
        totals = views.over(np.add, widened(block.static.whole, block.static.size * views.size))
        return known(exact_quotient(totals, views.counts.astype(np.int64)[None, :], block.static.unit, np.inf))
    start = 0 if before is None else before.mid.shape[1]
    counts = views.counts[start : start + block.mid.shape[1]]
    parts = [block] if before is None else [before, block]
    size, places = max(part.size for part in parts), max(part.places for part in parts)
    total = _sums([part.mid for part in parts], views, rows)
    mid = total / counts
    if all(part.rad is None for part in parts) and (views.size * size) << places < LARGEST_EXACT:
        found = Block(mid, outward(U * np.abs(mid)))
        if not places:
            found.ratio = (total, counts)
            if (total >= 0).all():
                found.codes = (Code(None, total, views.size * size + 1),)
        return found
    sizes = [part.radius + gamma(views.size) * np.abs(part.mid) for part in parts]
    return Block(mid, outward(_sums(sizes, views, rows) / counts + gamma(2) * np.abs(mid)))


def _sums(parts: Sequence[Floats], views: Views, rows: Integers) -> Floats:
    if len(parts) == 1:
        return views.over(np.add, parts[0])
    return np.cumsum(carried(parts[0].sum(axis=1, keepdims=True), parts[1], rows), axis=1)[:, 1:]


def lone(found: Block, value: Block, views: Views, old: Block | None = None, rows: Integers = NO_ROWS) -> Block:
    """Mark attended values as exact at the queries that see only one distinct value. `old` and `rows` are as `before`
    and `rows` in `mean`."""
    parts = [value] if old is None else [value, old]
    if found.static is not None or found.rad is None or not all(part.rad is None or part.partly for part in parts):
        return found
    seen = value.mid[:, _everywhere(views), None] if old is None else take(old.mid[:, :1], rows)
    same = views.over(np.logical_and, _holds(value, seen))
    if old is not None:
        same &= take(np.all(_holds(old, old.mid[:, :1]), axis=1, keepdims=True), rows)
    return _marked(found, seen, same, parts)


def _everywhere(views: Views) -> int:
    """Return the index of a key that every query sees."""
    return -1 if views.mask is Mask.PAST and not views.bos else 0


def _marked(found: Block, seen: Floats, same: Booleans, parts: Sequence[Block]) -> Block:
    assert found.rad is not None
    if same.any():
        np.copyto(found.mid, seen, where=same)
        np.copyto(found.rad, 0.0, where=same)
        found.partly = True
        found.places, found.size = max(part.places for part in parts), max(part.size for part in parts)
    return found


def mark_lone(
    found: Sequence[Block], values: Sequence[Block], views: Views, before: Sequence[Block | None], rows: Integers
) -> None:
    """Apply `lone` to several attended values. Exact values of all positions are compared together."""
    together: dict[tuple[int, ...], list[int]] = {}
    for place, (block, value, old) in enumerate(zip(found, values, before, strict=True)):
        if old is None and value.rad is None and block.static is None and block.rad is not None:
            together.setdefault(value.mid.shape, []).append(place)
        else:
            lone(block, value, views, old, rows)
    for places in together.values():
        mids = np.stack([values[place].mid for place in places])
        seen = mids[:, :, _everywhere(views), None]
        same = views.over(np.logical_and, mids == seen)
        for number, place in enumerate(places):
            _marked(found[place], seen[number], same[number], [values[place]])


def _holds(block: Block, value: Floats) -> Booleans:
    """Return where a block is exactly this value."""
    held: Booleans = np.equal(block.mid, value)
    return held if block.rad is None else held & (block.rad == 0)


# ---- forms and logits ----


def exact_sum(terms: Iterable[tuple[Rational, Block]], n: int, bias: Rational = 0) -> Exact:
    """Return the static part of a sum of multiples of blocks plus a bias, (1, n)."""
    return combination([(block.static, value) for value, block in terms if block.static is not None], bias, (1, n))


def slack_of(left: Floats, left_rad: Floats, right: Floats, right_rad: Floats) -> Floats:
    """Return a bound of the errors of a row's computed logits, from the sizes of its k factors and the largest ones
    of the visible keys, all (..., k, rows); the result is (..., rows).

    A product of two enclosures has the radius |q| k' + q' |k| + q' k', and a sum of k products, each with a rounding
    of its own, is off by gamma_(k + 1) times the sum of sizes.
    """
    k = left.shape[-2]
    bound = left * right_rad + left_rad * (right + right_rad) + gamma(k + 1) * left * right
    return outward(np.asarray(bound.sum(axis=-2)))


def weight_error(slack: Floats, left: Floats, right: Floats) -> Floats:
    """Return the relative error of e^(l_ij - r_i), if the logits and r_i are off by at most `slack`. The distance is
    at most twice the largest logit of the row, and is rounded once."""
    distance = np.minimum(2 * (left * right).sum(axis=-2) + slack, DEEPEST)
    drift = growth(outward(slack + 2 * U * distance))
    return outward(drift + EXP_ERROR * (1 + drift))


# ---- quotients ----


@dataclass(frozen=True, slots=True)
class Ends:
    """The ends of some values by word, (words or 1, 1), and their largest radius."""

    low: Floats
    high: Floats
    rad: Floats | None
    boolean: bool = False
    """True if the ends are 0 and 1, and the values have no radii."""

    @staticmethod
    def of(value: Block) -> Ends:
        """Return the ends of a column's values."""
        rad = None if value.rad is None else most(value.rad)[:, None]
        if value.boolean:
            return Ends(np.zeros((1, 1)), np.ones((1, 1)), rad, rad is None)
        return Ends(least(value.mid)[:, None], most(value.mid)[:, None], rad)

    def joined(self, other: Ends) -> Ends:
        """Return the ends of these and the other values together, for a column that continues the other's."""
        rad = self.rad if other.rad is None else other.rad if self.rad is None else np.maximum(self.rad, other.rad)
        boolean = self.boolean and other.boolean
        return Ends(np.minimum(self.low, other.low), np.maximum(self.high, other.high), rad, boolean)


def quotients(
    tops: Sequence[Floats],
    total: Floats,
    error: Floats,
    reaches: Sequence[Ends],
    count: int,
    more: Sequence[tuple[Floats | None, Floats | None]] = (),
) -> list[Block]:
    """Return `quotient` of several sums; `more` are the last two arguments of each, if there are any. Sums of Booleans,
    which have none, are divided together, which saves most of the fixed cost."""
    together: dict[tuple[int, ...], list[int]] = {}
    found: dict[int, Block] = {}
    for place, (top, reach) in enumerate(zip(tops, reaches, strict=True)):
        if reach.boolean:
            together.setdefault(top.shape, []).append(place)
        else:
            found[place] = quotient(top, total, error, reach, count, *(more[place] if more else ()))
    for places in together.values():
        blocks = quotient(np.stack([tops[place] for place in places]), total, error, reaches[places[0]], count)
        found |= dict(zip(places, map(Block, blocks.mid, blocks.radius), strict=True))
    return [found[place] for place in range(len(tops))]


def quotient(
    top: Floats,
    total: Floats,
    error: Floats,
    reach: Ends,
    count: int,
    spread: Floats | None = None,
    rad: Floats | None = None,
) -> Block:
    """Return `top / total` as an enclosure of the mean of values with this reach.

    Both are sums of at most `count` terms, with weights of this relative error. `spread` is D at the quotient if it
    was computed, `rad` the mean of the radii under the same weights.
    """
    low, high = reach.low, reach.high
    mid = top / total
    largest = np.maximum(-low, high)
    share = error * (1 + error) / np.maximum(1 - error, U)
    if spread is None:
        around = np.minimum(mid if reach.boolean else mid - low, high - mid)
        np.abs(around, out=around)
        around *= 2 * share
    else:
        around = share * spread
    around += gamma(2 * count + 6) * (1 + 3 * share) * (mid if (low >= 0).all() else largest)
    around += UNDERFLOW * (1 + largest) * count
    more = np.zeros((1, 1)) if reach.rad is None else reach.rad
    if rad is not None:
        shared = rad * ((1 + error) / np.maximum(1 - error, U) * (1 + 8 * count * U))
        more = np.minimum(more, shared + UNDERFLOW * count * more)
    # The rare case: some enclosure is wider than the range of the values, which then replaces it.
    if not (error.max() < SURE and around.sum() < np.inf):
        middle, half = low / 2 + high / 2, (high - low) / 2 + 2 * U * largest
        sure = (error < 1) & (around <= np.maximum(mid - low, high - mid))  # false where something is not known
        mid, around = np.where(sure, mid, middle), np.where(sure, around, half)
        more = more if rad is None or reach.rad is None else np.where(sure, more, reach.rad)
    return Block(mid, outward(around if reach.rad is None and rad is None else around + more))


@dataclass(frozen=True, slots=True)
class Scaled:
    """Queries divided by tau: the k factors (words or 1, k, rows), a bound `slack` of the logits' errors, and the
    relative error of the weights of each row, (words or 1, rows)."""

    query: Floats
    slack: Floats
    error: Floats

    @staticmethod
    def of(queries: Sequence[Block], scale: Scale, rows: Integers, reach: Floats, reach_rad: Floats) -> Scaled:
        """Scale the factors `queries` (words or 1, rows) of the queries at positions `rows`. `reach` and `reach_rad`
        are the largest absolute values and radii of the factors of the keys that each row sees, (words or 1, k, rows
        or 1)."""
        left, left_rad = stacked(queries)
        sharp, off = (part[..., rows] for part in scale)
        query = left * sharp
        far = np.abs(query)
        loose = off * (np.abs(left) + left_rad)
        slack = slack_of(far, outward(sharp * left_rad + loose + 2 * U * far), reach, reach_rad)
        return Scaled(query, slack, weight_error(slack, far, reach))


def softmax_rows(
    queries: Sequence[Block], keys: Sequence[Block], values: Sequence[Block], views: Views, scale: Scale, rows: Integers
) -> list[Block]:
    """Return the attended values of the queries at positions `rows`, whose k factors are `queries`, (words or 1,
    rows).

    `keys` and `values` belong to all positions so far. A few queries, over the keys that they see, and a few words
    are computed at a time.
    """
    right, right_rad = stacked(keys)
    reach = views.over(np.maximum, np.abs(right))[:, :, rows]
    reach_rad = views.over(np.maximum, right_rad)[:, :, rows] if right_rad.any() else np.zeros_like(reach)
    scaled = Scaled.of(queries, scale, rows, reach, reach_rad)
    query = scaled.query
    words = max(len(query), len(right), *(len(value.mid) for value in values))
    sums = [Sums(value, words, len(rows)) for value in values]
    total = np.empty((words, len(rows)))
    step = max(1, min(AT_ONCE if views.mask is not Mask.NONE else len(rows), CHUNK // right.shape[2]))
    for first in range(0, len(rows), step):
        here = slice(first, min(first + step, len(rows)))
        low, high = views.span(rows[here])
        hidden = None if views.mask is Mask.NONE else ~views.visible(rows[here], low, high)
        size = max(1, CHUNK // ((high - low) * (here.stop - first)))
        for start in range(0, words, size):
            some = slice(start, min(start + size, words))
            logits = products(_of(query, some)[:, :, here], _of(right, some)[:, :, low:high])
            weights = exponentials(logits, hidden)
            total[some, here] = weights.sum(axis=2)
            for one in sums:
                one.add(some, here, slice(low, high), weights, total[some, here])
    tops, more = [one.top for one in sums], [(one.spread, one.loose) for one in sums]
    return quotients(tops, total, scaled.error, [Ends.of(one.value) for one in sums], views.size, more)


class Sums:
    """The sums of one value, and the sums that its quotients' errors depend on, over words and rows."""

    def __init__(self, value: Block, words: int, rows: int) -> None:
        self.value, shape = value, (words, rows)
        self.top = np.empty(shape)
        self.spread = None if value.boolean else np.empty(shape)
        self.loose = None if value.rad is None else np.empty(shape)

    def add(self, some: slice, here: slice, keys: slice, weights: Floats, total: Floats) -> None:
        """Add some words and queries, with their weights (words, queries, keys) and the sums of these."""
        mid = _of(self.value.mid, some)[:, keys]
        self.top[some, here] = top = _times(weights, mid)
        if self.spread is not None:
            self.spread[some, here] = _spread(weights, mid, top / total, total)
        if self.loose is not None and self.value.rad is not None:
            self.loose[some, here] = _times(weights, _of(self.value.rad, some)[:, keys]) / total

    def quotient(self, total: Floats, error: Floats, count: int, ends: Ends) -> Block:
        """Return the means of values between these ends."""
        return quotient(self.top, total, error, ends, count, self.spread, self.loose)


def _of(array: Floats, some: slice) -> Floats:
    """Return some words of an array that may have one row for all words."""
    return array if len(array) == 1 else array[some]


def stacked(blocks: Sequence[Block]) -> tuple[Floats, Floats]:
    """Return midpoints and radii of the blocks, (words or 1, blocks, n)."""
    words, n = (max(block.mid.shape[axis] for block in blocks) for axis in (0, 1))
    mid, rad = np.empty((words, len(blocks), n)), np.zeros((words, len(blocks), n))
    for number, block in enumerate(blocks):
        mid[:, number] = block.mid
        if block.rad is not None:
            rad[:, number] = block.rad
    return mid, rad


def products(left: Floats, right: Floats) -> Floats:
    """Return sums of k products, (words, rows, keys)."""
    if left.shape[1] == 1:
        return left[:, 0, :, None] * right[:, 0, None, :]
    found: Floats = np.matmul(left.transpose(0, 2, 1), right)
    return found


def exponentials(logits: Floats, hidden: Booleans | None) -> Floats:
    """Return the weights relative to each row's largest logit; `logits` is overwritten."""
    if hidden is not None:
        np.copyto(logits, -np.inf, where=hidden)
    logits -= most(logits.reshape(-1, logits.shape[-1])).reshape(*logits.shape[:-1], 1)
    return weights_of(logits, hidden, LOWEST_BESIDE_1)


def weights_of(distances: Floats, hidden: Booleans | None, lowest: float = LOWEST) -> Floats:
    """Return e^distance, with distances raised to at least `lowest`, and 0 where `hidden` (which may have fewer
    axes); `distances` is overwritten."""
    np.maximum(distances, lowest, out=distances)
    np.exp(distances, out=distances)
    if hidden is not None:
        np.copyto(distances, 0.0, where=hidden)
    return distances


def _times(weights: Floats, values: Floats) -> Floats:
    """Return sums of weights (words, rows, keys) times values (words, keys)."""
    result: Floats = np.matmul(weights, values[:, :, None])[:, :, 0]
    return result


def _spread(weights: Floats, values: Floats, mean_: Floats, total: Floats) -> Floats:
    distance = values[:, None, :] - mean_[:, :, None]
    np.abs(distance, out=distance)
    found: Floats = np.einsum("wrk,wrk->wr", *np.broadcast_arrays(weights, distance)) / total
    return found
