"""Softmax attention of one head over a batch of words, in float64 enclosures.

Three ways, by what the logits depend on; each gives the same enclosures up to their width.

- `types`: the query is the same for every word and the key reads Booleans. Then the logit depends on (i, j) and the
  key's class, one of few, so e^logit is a table E_t[i, j] per class, and the sums over j are matrix products of the
  words' class indicators with it.
- `look-up`: keys and values are the same for every word. Then the value read depends on the query's position and
  code, and every such pair is computed once.
- `dense`: anything else, row by row.

Error of a row. Let l_j be the true logits, d_j the computed distances to a reference R (any float), off by at most
x_j, and e_j = fl(exp(d_j)). Then e_j = e^(l_j - R) (1 + t_j) with |t_j| <= rho := max growth(x_j) + EXP_ERROR (1 +
growth), apart from underflow below 2^-1020. A sum of n such terms in any order has the relative error rho + gamma_n
(1 + rho), and so has a sum of e_j v_j for v_j >= 0. For the quotient q = fl(N/S) of two numbers with relative error
r each, the true one lies within q (2 r + 2 u)/(1 - 2 r) of q; if the v_j have both signs and |v_j| <= V, within V (4 r
+ 4 u)/(1 - 2 r). Since S >= 2^-900 is required, underflow adds at most n V 2^-100. Values with radii add the largest
of them, since a mean is convex.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from hardsim.run.enclosure import (
    EXP_ERROR,
    Block,
    Booleans,
    Floats,
    Integers,
    U,
    combine,
    extremes,
    fixed,
    floats,
    gamma,
    growth,
    outward,
)
from hardsim.run.plan import HeadPlan, Terms
from hardsim.spec.ir import Mask, Rational

LEAST_SUM = 2.0**-900
"""Sums of weights below this are computed again with a reference of their own."""
UNDERFLOW = 2.0**-100
DEEPEST = 750.0
"""e^-750 underflows: references further apart than this are as good as infinitely far."""
LONGEST_TABLE = 1024
"""The length up to which tables of all pairs of positions are kept."""
LARGEST_TABLE = 2**22
"""Entries of a look-up table (position times codes)."""
MOST_BOOLEANS = 12
"""Booleans that a key may read for the way by types."""
CHUNK = 2**20
"""Logits computed at a time in the dense ways."""


@dataclass(slots=True)
class _Class:
    """One class of keys at one length: the table of exponentials, its references and its relative error, by row.

    `logits` and `slack` are (n, n): midpoints and radii. `table` is the transpose of E, masked.
    """

    logits: Floats
    slack: Floats
    table: Floats
    reference: Floats
    error: Floats


@dataclass(slots=True)
class _Table:
    """Values read by position and code: unknown where the radius is negative."""

    mid: Floats
    rad: Floats


@dataclass
class HeadPass:
    """One head at one length; what does not depend on the word is computed once.

    `inverse` holds 1/tau by query position, exactly.
    """

    head: HeadPlan
    inverse: Sequence[Fraction]
    n: int
    _classes: dict[tuple[Fraction, ...], _Class] = field(default_factory=dict)
    _tables: dict[tuple[int, tuple[int, ...]], _Table] = field(default_factory=dict)

    def __post_init__(self) -> None:
        seen = [self.head.mask.visible(i, self.n) for i in range(1, self.n + 1)]
        self._starts = np.array([positions.start - 1 for positions in seen])
        self._stops = np.array([positions.stop - 1 for positions in seen])

    def visible(self, rows: Integers) -> Booleans:
        """Which keys the queries at these places (from 0) see: (rows, n)."""
        keys = np.arange(self.n)[None, :]
        return (keys >= self._starts[rows][:, None]) & (keys < self._stops[rows][:, None])

    def attend(self, blocks: Sequence[Block], values: Sequence[Block], outs: Sequence[int]) -> list[Block]:
        """The attended values of these columns (to be written to the coordinates `outs`), at every query.

        Where all visible values are exactly the same, that is the attended value.
        """
        found = self._attend(blocks, values, outs)
        return [_constant(block, value, self.head.mask) for block, value in zip(found, values, strict=True)]

    def _attend(self, blocks: Sequence[Block], values: Sequence[Block], outs: Sequence[int]) -> list[Block]:
        queries = {index for query, _ in self.head.scores for index, _ in query if blocks[index].static is None}
        keys = {index for _, key in self.head.scores for index, _ in key if blocks[index].static is None}
        few = self.n <= LONGEST_TABLE and len(keys) <= MOST_BOOLEANS
        if few and not queries and all(blocks[index].boolean for index in keys):
            return self._by_types(blocks, values, sorted(keys))
        if not keys and all(value.static is not None for value in values):
            codes = [blocks[index] for index in sorted(queries)]
            kinds = [block.kinds for block in codes]
            if all(kinds) and self.n * np.prod(kinds, dtype=float) <= LARGEST_TABLE:
                return [self._look_up(blocks, codes, value, out) for value, out in zip(values, outs, strict=True)]
        return self._dense(blocks, values)

    # ---- by types ----

    def _by_types(self, blocks: Sequence[Block], values: Sequence[Block], keys: list[int]) -> list[Block]:
        kinds, classes = self._kinds(blocks, keys)
        n = self.n
        words = max([kinds.shape[0], *(value.mid.shape[0] for value in values)])
        present = np.unique(kinds)
        chosen = [classes[number] for number in present]
        masks = [(kinds == number).astype(np.float64) for number in present]
        reference = self._references(masks, chosen)
        total = np.zeros((kinds.shape[0], n))
        tops = [np.zeros((words, n)) for _ in values]
        for one, mask in zip(chosen, masks, strict=True):
            factor = np.exp(np.minimum(one.reference[None, :] - reference, 0.0)) if len(chosen) > 1 else 1.0
            total += factor * (mask @ one.table)
            for top, value in zip(tops, values, strict=True):
                top += factor * ((mask * value.mid) @ one.table)
        error = np.max([one.error for one in chosen], axis=0)
        if len(chosen) > 1:
            spread = np.ptp([one.reference for one in chosen], axis=0)
            error = outward(error + (EXP_ERROR + growth(U * np.minimum(spread, DEEPEST))) * (1 + error) * 2)
        error = outward((error + gamma(n + 2 * len(chosen) + 2)) * (1 + error))
        found = [_quotient(top, total, error[None, :], value) for top, value in zip(tops, values, strict=True)]
        low = np.argwhere(np.broadcast_to(~(total >= LEAST_SUM), (words, n)))
        if len(low):
            self._again(low, kinds, classes, values, found)
        return found

    def _kinds(self, blocks: Sequence[Block], keys: list[int]) -> tuple[Integers, list[_Class]]:
        """The class of every key, and the classes, by number."""
        codes = np.zeros((1, self.n), dtype=np.int64)
        for place, index in enumerate(keys):
            codes = codes + (blocks[index].mid.astype(np.int64) << place)
        numbers: dict[tuple[Fraction, ...], int] = {}
        classes: list[_Class] = []
        translate = np.zeros(1 << len(keys), dtype=np.int64)
        for code in np.flatnonzero(np.bincount(codes.ravel(), minlength=1 << len(keys))):
            held = {index: int(code) >> place & 1 for place, index in enumerate(keys)}
            shift = tuple(
                sum((Fraction(value) * held[index] for index, value in key if index in held), Fraction(0))
                for _, key in self.head.scores
            )
            if shift not in numbers:
                numbers[shift] = len(classes)
                classes.append(self._class(shift, blocks))
            translate[code] = numbers[shift]
        return translate[codes], classes

    def _class(self, shift: tuple[Fraction, ...], blocks: Sequence[Block]) -> _Class:
        """The class whose key rows are their static part plus these constants."""
        known = self._classes.get(shift)
        if known is not None:
            return known
        n = self.n
        logits, bound = np.zeros((n, n)), np.zeros((n, n))
        for (query, key), constant in zip(self.head.scores, shift, strict=True):
            left, left_rad = floats([q * self.inverse[i] for i, q in enumerate(_exact(query, blocks, n))])
            right, right_rad = floats([k + constant for k in _exact(key, blocks, n)])
            logits += np.outer(left, right)
            sizes = np.outer(np.abs(left), np.abs(right))
            bound += gamma(len(shift) + 1) * sizes + np.outer(np.abs(left) + left_rad, right_rad)
            bound += np.outer(left_rad, np.abs(right))
        slack = outward(bound)
        visible = self.visible(np.arange(n))
        reference = np.max(np.where(visible, logits, -np.inf), axis=1)
        distance = logits - reference[:, None]
        table = np.where(visible, np.exp(np.minimum(distance, 0.0)), 0.0)
        drift = growth(outward(slack + U * np.minimum(np.abs(distance), DEEPEST)))
        error = np.max(np.where(visible, outward(drift + EXP_ERROR * (1 + drift)), 0.0), axis=1)
        made = self._classes[shift] = _Class(logits, slack, np.ascontiguousarray(table.T), reference, error)
        return made

    def _references(self, masks: list[Floats], chosen: list[_Class]) -> Floats:
        """The largest reference among the classes that a query sees, exactly."""
        if len(chosen) == 1:
            return chosen[0].reference[None, :]
        seen = self.visible(np.arange(self.n)).T.astype(np.float64)
        best = np.full(masks[0].shape, -np.inf)
        for mask, one in zip(masks, chosen, strict=True):
            best = np.maximum(best, np.where(mask @ seen > 0, one.reference[None, :], -np.inf))
        return best

    def _again(
        self, low: Integers, kinds: Integers, classes: list[_Class], values: Sequence[Block], found: list[Block]
    ) -> None:
        """Rows in which the weights of the table underflow, with a reference of their own."""
        logits = np.stack([one.logits for one in classes])
        slack = np.stack([one.slack for one in classes])
        keys = np.arange(self.n)
        step = max(1, CHUNK // self.n)
        for start in range(0, len(low), step):
            words, rows = low[start : start + step].T
            kind = kinds[words if kinds.shape[0] > 1 else np.zeros_like(words)]
            place = (kind, rows[:, None], keys[None, :])
            weights = _weigh(logits[place], slack[place], self.visible(rows))
            for value, block in zip(values, found, strict=True):
                mid, rad = weights.mean(_pick(value.mid, words), _pick(value.radius, words))
                block.mid[words, rows] = mid
                assert block.rad is not None
                block.rad[words, rows] = rad

    # ---- look-ups ----

    def _look_up(self, blocks: Sequence[Block], codes: list[Block], value: Block, out: int) -> Block:
        """Every pair of position and code once."""
        kinds = tuple(block.kinds for block in codes)
        size = int(np.prod(kinds, dtype=np.int64))
        place = np.zeros((1, self.n), dtype=np.int64)
        for block in codes:
            assert block.codes is not None
            place = place * block.kinds + block.codes
        place = place + size * np.arange(self.n)[None, :]
        table = self._tables.get((out, kinds))
        if table is None:
            table = self._tables[out, kinds] = _Table(np.zeros(self.n * size), np.full(self.n * size, -1.0))
        wanted = np.zeros(self.n * size, dtype=np.bool_)
        wanted[place] = True
        missing = np.flatnonzero(wanted & (table.rad < 0))
        if len(missing):
            example = np.zeros(self.n * size, dtype=np.int64)
            example[place] = np.arange(place.size).reshape(place.shape)
            self._fill(table, missing, example[missing], blocks, value)
        return Block(table.mid[place], table.rad[place])

    def _fill(
        self, table: _Table, missing: Integers, examples: Integers, blocks: Sequence[Block], value: Block
    ) -> None:
        """Entries of a look-up table; `examples` are places in the batch that have the position and code."""
        queries = [_form(query, blocks, self.n) for query, _ in self.head.scores]
        keys = [_form(key, blocks, self.n) for _, key in self.head.scores]
        words, rows = np.divmod(examples, self.n)
        step = max(1, CHUNK // self.n)
        for start in range(0, len(missing), step):
            part = slice(start, start + step)
            logits, slack = self._logits(queries, keys, words[part], rows[part], np.zeros_like(words[part]))
            weights = _weigh(logits, slack, self.visible(rows[part]))
            table.mid[missing[part]], table.rad[missing[part]] = weights.mean(value.mid, value.radius)

    # ---- dense ----

    def _dense(self, blocks: Sequence[Block], values: Sequence[Block]) -> list[Block]:
        queries = [_form(query, blocks, self.n) for query, _ in self.head.scores]
        keys = [_form(key, blocks, self.n) for _, key in self.head.scores]
        words = max([1, *(block.mid.shape[0] for block in (*queries, *keys, *values))])
        found = [Block(np.zeros((words, self.n)), np.zeros((words, self.n))) for _ in values]
        step = max(1, CHUNK // self.n)
        for start in range(0, words * self.n, step):
            word, row = np.divmod(np.arange(start, min(start + step, words * self.n)), self.n)
            logits, slack = self._logits(queries, keys, word, row, word)
            weights = _weigh(logits, slack, self.visible(row))
            for value, block in zip(values, found, strict=True):
                assert block.rad is not None
                block.mid[word, row], block.rad[word, row] = weights.mean(
                    _pick(value.mid, word), _pick(value.radius, word)
                )
        return found

    def _logits(
        self, queries: Sequence[Block], keys: Sequence[Block], words: Integers, rows: Integers, others: Integers
    ) -> tuple[Floats, Floats]:
        """Logits of the queries at (words, rows) against all keys of the words `others`, and their radii: (len(words),
        n).

        A product of two enclosures has the radius |q| k' + q' |k| + q' k'; the sum of k products, each with three
        roundings, is off by gamma_(k + 3) times the sum of sizes.
        """
        scale, scale_rad = floats(list(self.inverse))
        inverse, inverse_rad = scale[rows][:, None], scale_rad[rows][:, None]
        total = np.zeros((len(words), self.n))
        sizes, spread = np.zeros_like(total), np.zeros_like(total)
        for query, key in zip(queries, keys, strict=True):
            q, q_rad = (_pick(part, words, rows)[:, None] for part in (query.mid, query.radius))
            k, k_rad = (_pick(part, others) for part in (key.mid, key.radius))
            total += q * k
            sizes += np.abs(q) * np.abs(k)
            spread += np.abs(q) * k_rad + q_rad * (np.abs(k) + k_rad)
        slack = inverse * (spread + gamma(len(queries) + 3) * sizes) + inverse_rad * (sizes + spread) * 2
        return inverse * total, outward(slack)


@dataclass(frozen=True, slots=True)
class _Weights:
    """Unnormalised weights of some rows (rows, n), their sums and relative errors (rows,)."""

    weights: Floats
    total: Floats
    error: Floats

    def mean(self, values: Floats, radius: Floats) -> tuple[Floats, Floats]:
        """The attended values of these rows and their radii; `values` is (rows or 1, n)."""
        top = (self.weights * values).sum(axis=1)
        found = _quotient(
            top[:, None], self.total[:, None], self.error[:, None], Block(values, radius if radius.any() else None)
        )
        assert found.rad is not None
        return found.mid[:, 0], found.rad[:, 0]


def _weigh(logits: Floats, slack: Floats, visible: Booleans) -> _Weights:
    """Weights relative to each row's largest logit."""
    n = logits.shape[1]
    reference = np.max(np.where(visible, logits, -np.inf), axis=1, keepdims=True)
    distance = np.where(visible, logits - reference, -np.inf)
    weights = np.exp(distance)
    drift = growth(outward(slack + U * np.minimum(np.abs(distance), DEEPEST)))
    error = np.max(np.where(visible, outward(drift + EXP_ERROR * (1 + drift)), 0.0), axis=1)
    return _Weights(weights, weights.sum(axis=1), outward((error + gamma(n + 2)) * (1 + error)))


def _quotient(top: Floats, total: Floats, error: Floats, value: Block) -> Block:
    """`top / total`, two sums with this relative error, as an enclosure of the mean of `value` (see above)."""
    mid = top / total
    safe = np.broadcast_to((error < 0.25) & (total >= LEAST_SUM), mid.shape)
    signed = bool((value.mid < 0).any())
    largest = np.max(np.abs(value.mid), axis=1, keepdims=True)
    factor = (4 if signed else 2) * (error + U) / (1 - 2 * np.minimum(error, 0.25))
    rad = factor * (largest if signed else mid) + UNDERFLOW * (1 + largest) * value.mid.shape[1]
    if value.rad is not None:
        rad = rad + np.max(value.rad, axis=1, keepdims=True)
    return Block(np.where(safe, mid, 0.0), np.where(safe, outward(rad), np.inf))


def _constant(found: Block, value: Block, mask: Mask) -> Block:
    """The same, exact at the queries that see one value only."""
    if value.rad is not None or found.rad is None:
        return found
    least, most = extremes(value.mid, mask)
    same = least == most
    if same.any():
        shape = np.broadcast_shapes(same.shape, found.mid.shape)
        found.mid = np.where(same, least, np.broadcast_to(found.mid, shape))
        found.rad = np.where(same, 0.0, np.broadcast_to(found.rad, shape))
        found.partly, found.places, found.size = True, value.places, value.size
    return found


def _pick(array: Floats, words: Integers, rows: Integers | None = None) -> Floats:
    """Rows (or entries) of an array whose first axis may be shared by all words."""
    chosen = np.zeros_like(words) if array.shape[0] == 1 else words
    return array[chosen] if rows is None else array[chosen, rows]


def _exact(form: Terms, blocks: Sequence[Block], n: int) -> list[Rational]:
    """The static part of a form, by position."""
    total: list[Rational] = [0] * n
    for index, coefficient in form:
        values = blocks[index].static
        if values is not None:
            total = [old + coefficient * value for old, value in zip(total, values, strict=True)]
    return total


def _form(form: Terms, blocks: Sequence[Block], n: int) -> Block:
    """A linear form: its static part exactly, the rest enclosed."""
    base = fixed(_exact(form, blocks, n))
    rest = [(coefficient, blocks[index]) for index, coefficient in form if blocks[index].static is None]
    return combine(rest, base) if rest else base
