"""Softmax attention of one head over a batch of words, in float64 enclosures.

There are three methods, chosen by what the logits depend on. Each gives the same enclosures up to their width.

- By types: the query is the same for every word, and the key reads Booleans. Then the logit is l_ij + c_t(i): l comes
  from the static parts alone, and t is the key's class, one of few. One table of e^(l_ij - r_i) serves all classes,
  and all heads with the same static parts and mask. The sums over j are matrix products of the words' class
  indicators with the table. Queries whose weights underflow in it are run again by the dense method.
- Look-up: keys and values are the same for every word. Then the value read depends only on the query's position and
  codes. Every such pair is computed once, mostly over few of the keys (`float_lookup`).
- Dense: anything else, row by row (`float_rows`, where the errors of all three methods are derived).

Tables beyond TABLES bytes together are computed again for every batch, a block of queries at a time, over the keys
that some query of the block sees. Chunks of keys are left out if no key of them has a distance to the reference above
LOWEST for any query of the block: as weights they are replaced anyway by numbers below 2^-1019 (`float_rows`), and 0
is as near to the true weight. Products and sums of floats are monotone, so the logits of a chunk are at most the same
sum computed from the ends of its factors, and the far keys of long words cost nothing. (Ours.)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from functools import reduce
from math import prod

import numpy as np
from numpy.typing import NDArray

from hardsim.lang.reals import RealNumber
from hardsim.lazy_dataclass import dataclass
from hardsim.network.integers import Exact, combination
from hardsim.network.numbers import Mask
from hardsim.network.transformer import AttentionHead, Terms
from hardsim.run.enclosure import (
    EXP_ERROR,
    Block,
    Booleans,
    Code,
    Floats,
    Integers,
    U,
    codes_of,
    combine,
    growth,
    known,
    near_row,
    outward,
    rounded_row,
)
from hardsim.run.float_lookup import Lookup, Met
from hardsim.run.float_rows import (
    DEEPEST,
    LEAST_SUM,
    LOWEST,
    Ends,
    Number,
    Views,
    exact_sum,
    quotients,
    slack_of,
    softmax_rows,
    take,
    weight_error,
    weights_of,
)
from hardsim.run.prefixes import WHOLE, Suffix, join

MOST_BOOLEANS = 12
"""The greatest number of Booleans that a key may read for the method by types."""
LARGEST_CODE = 2**62
"""The greatest number of pairs of position and code for the method by look-ups."""
TABLES = 2**26
"""The greatest number of bytes of tables kept at one length."""
CHUNK_KEYS = 512
"""The number of keys that are left out together."""
ONE_BLOCK = 256
"""The greatest length at which all queries are one block."""
BLOCK_CELLS = 2**19
"""The greatest number of entries in a block of a table at greater lengths: four megabytes."""
DIRECT = 2**19
"""The greatest number of pairs of position and code for which a look-up keeps room for all: 8 megabytes for each
value."""
MOST_MET = 2**19
"""The number of pairs met, of a greater number of pairs, beyond which their values are no longer kept."""

Operands = tuple[list[Block], list[Block], list[Block]]
"""Query factors, key factors and values."""
Rows = tuple[Floats, Floats]
"""Midpoints and radii of k vectors of length n, each (k, n)."""


class ExpTable:
    """The table of e^(l_ij - r_i), l_ij = sum over the k rows of left_i right_j, for the keys j that i sees.

    `reference` is r and `error` the relative error of row i's entries, both (n,).
    """

    def __init__(self, views: Views, left: Rows, right: Rows) -> None:
        self.views = views
        self.left, self.right = left, right
        n = views.size
        size, far = np.abs(left[0]), views.over(np.maximum, np.abs(right[0]))
        slack = slack_of(size, left[1], far, views.over(np.maximum, right[1]))
        self.error = weight_error(slack, size, far)
        starts = np.arange(0, n, CHUNK_KEYS)
        self._lowest, self._highest = (edge.reduceat(right[0], starts, axis=1) for edge in (np.minimum, np.maximum))
        self.reference = np.zeros(n)
        for rows in self.blocks(slice(0, n)):
            self.reference[rows] = self._largest(rows)
        self._kept: Floats | None = None

    def _largest(self, rows: Integers) -> Floats:
        """Return the largest computed logit of each of these consecutive queries. Chunks of keys that cannot have it
        are not computed."""
        low, high = self.views.span(rows)
        best = np.full(len(rows), -np.inf)
        tops = self._tops(rows)
        first = low // CHUNK_KEYS
        for chunk in first + np.argsort(-tops[first : -(-high // CHUNK_KEYS)], kind="stable"):
            if tops[chunk] <= best.min():
                break
            begin, end = max(low, int(chunk) * CHUNK_KEYS), min(high, (int(chunk) + 1) * CHUNK_KEYS)
            logits = np.where(self.views.visible(rows, begin, end).T, self._logits(rows, begin, end), -np.inf)
            np.maximum(best, logits.max(axis=0), out=best)
        return best

    def _tops(self, rows: Integers) -> Floats:
        """Return for each chunk of keys a number that no computed logit of these queries and its keys exceeds."""
        found = np.zeros(self._lowest.shape[1])
        for left, low, high in zip(self.left[0], self._lowest, self._highest, strict=True):
            ends = left[rows].min(), left[rows].max()
            found += np.max([end * edge for end in ends for edge in (low, high)], axis=0)
        return found

    def blocks(self, rows: slice) -> Iterator[Integers]:
        """Yield the positions of the queries in `rows`, block by block."""
        n = self.views.size
        step = n if n <= ONE_BLOCK else max(32, BLOCK_CELLS // n)
        for start in range(rows.start, rows.stop, step):
            yield np.arange(start, min(start + step, rows.stop))

    def keep(self) -> None:
        """Compute the whole table and keep it."""
        kept = np.zeros((self.views.size, self.views.size))
        for rows in self.blocks(slice(0, self.views.size)):
            for low, high, block in self.parts(rows):
                kept[low:high, rows[0] : rows[-1] + 1] = block
        self._kept = kept

    def parts(self, rows: Integers) -> Iterator[tuple[int, int, Floats]]:
        """Yield the ranges of keys (first, and end) that have weights for these consecutive queries, and the transposed
        parts of the table, (keys, rows)."""
        low, high = self.views.span(rows)
        if self._kept is not None:
            yield low, high, self._kept[low:high, rows[0] : rows[-1] + 1]
            return
        # Written so that a bound that is not a number leaves nothing out.
        near = np.flatnonzero(~(self._tops(rows) - self.reference[rows].min() <= LOWEST))
        for run in np.split(near, np.flatnonzero(np.diff(near) > 1) + 1):
            if len(run):
                begin, end = max(low, int(run[0]) * CHUNK_KEYS), min(high, (int(run[-1]) + 1) * CHUNK_KEYS)
                if begin < end:
                    yield begin, end, self._weights(rows, begin, end)

    def sums(self, sources: Floats, start: int, place: slice) -> Floats:
        """Return the sums of the numbers of the keys from position `start` on, (rows, keys), weighted for the queries
        at `place`: (rows, queries)."""
        width = sources.shape[1]
        if self._kept is not None and self.views.size <= ONE_BLOCK:
            found: Floats = sources @ self._kept[start : start + width, place]
            return found
        total = np.zeros((len(sources), place.stop - place.start))
        for rows in self.blocks(place):
            here = slice(int(rows[0]) - place.start, int(rows[-1]) + 1 - place.start)
            for low, high, block in self.parts(rows):
                first, last = max(low, start), min(high, start + width)
                if first < last:
                    total[:, here] += sources[:, first - start : last - start] @ block[first - low : last - low]
        return total

    def _weights(self, rows: Integers, low: int, high: int) -> Floats:
        distance = self._logits(rows, low, high)
        distance -= self.reference[rows]
        hidden = None if self.views.mask is Mask.NONE else ~self.views.visible(rows, low, high).T
        return weights_of(distance, hidden)

    def _logits(self, rows: Integers, low: int, high: int) -> Floats:
        total = np.zeros((high - low, len(rows)))
        for left, right in zip(self.left[0], self.right[0], strict=True):
            total += right[low:high, None] * left[None, rows]
        return total


@dataclass(frozen=True, slots=True)
class Mixture:
    """Some classes of keys: `shifts` is what each adds to the logits of a query, (classes, n), and `error` the relative
    error of the weights of each row, (n,).

    Of two classes of which one adds at least as much as the other in every row, `above` is the place of that class, and
    `drop` is e^(difference), (n,); for other classes it is None.
    """

    shifts: Floats
    error: Floats
    above: int = 0
    drop: Floats | None = None

    @staticmethod
    def of(classes: Sequence[tuple[Floats, Floats]], error: Floats) -> Mixture:
        """Return the mixture of classes, given what each adds and a bound of its error, for a table with entries of
        this relative error.

        With several classes every entry e^(l_ij - r_i) is multiplied by e^(c_t(i) - c(i)), where c is the largest of
        those seen: it is off by the radius of c_t, by the rounding of the difference, and by exp.
        """
        shifts = np.stack([shift for shift, _ in classes])
        if len(classes) == 1:
            return Mixture(shifts, error)
        spread = np.minimum(shifts.max(axis=0) - shifts.min(axis=0), DEEPEST)
        drift = growth(outward(np.max([rad for _, rad in classes], axis=0) + 2 * U * spread))
        error = outward(error + (drift + EXP_ERROR * (1 + drift) + 2 * U) * (1 + error))
        for above, below in ((0, 1), (1, 0)) if len(classes) == 2 else ():
            if (shifts[above] >= shifts[below]).all():
                return Mixture(shifts, error, above, np.exp(np.minimum(shifts[below] - shifts[above], 0.0)))
        return Mixture(shifts, error)


class Tables:
    """The tables of one length and temperature, shared by all heads with the same factors."""

    def __init__(self, fixed: frozenset[int] = frozenset()) -> None:
        self._known: dict[tuple[Mask, int, bytes], ExpTable] = {}
        self.kept = 0
        """The number of bytes of the tables that are kept."""
        self.fixed = fixed
        """Coordinates that keep their values in all layers."""
        self.queries: dict[Terms, Exact] = {}
        """Forms of such coordinates, divided by tau, by form."""
        self._met: dict[Hashable, Met] = {}
        self.of_forms: dict[Hashable, ExpTable] = {}
        """Tables of forms of such coordinates, by mask and forms."""

    def met_pairs(self, kinds: Hashable) -> Met:
        """Return the numbers of the pairs of position and code of these names and sizes; new ones if more than MOST_MET
        pairs have been met, whose values take too much memory."""
        found = self._met.get(kinds)
        if found is None or found.count > MOST_MET:
            found = self._met[kinds] = Met()
        return found

    def keeps(self, form: Terms) -> bool:
        """Return True if a form has the same values in all layers."""
        return all(index in self.fixed for index, _ in form)

    def get(self, views: Views, left: Rows, right: Rows) -> ExpTable:
        """Return the table of these factors. Tables are shared only if the factors' radii agree too."""
        # By value, not by identity: heads with equal factors share a table.
        place = (views.mask, views.size, b"".join(part.tobytes() for part in (*left, *right)))
        known = self._known.get(place)
        if known is None:
            known = self._known[place] = ExpTable(views, left, right)
            size = 8 * views.size**2
            if self.kept + size <= TABLES:
                known.keep()
                self.kept += size
        return known


class _KeptValues:
    """The values of one head at pairs of position and code: which are `known`, (pairs,), and their midpoints and radii,
    (values, pairs). Pairs have the numbers of `met`, or (None) their own."""

    def __init__(self, met: Met | None, values: int) -> None:
        self.met = met
        self.known = np.zeros(0, dtype=np.bool_)
        self.mid, self.rad = np.zeros((values, 0)), np.zeros((values, 0))

    def reserve(self, pairs: int) -> None:
        """Make room for the values of so many pairs."""
        size = len(self.known)
        if pairs > size:
            more = pairs if self.met is None else max(pairs, 2 * size)
            self.known = np.concatenate([self.known, np.zeros(more - size, dtype=np.bool_)])
            room = np.zeros((len(self.mid), more - size))
            self.mid, self.rad = (np.concatenate([part, room], axis=1) for part in (self.mid, self.rad))


@dataclass
class HeadPass:
    """One head at one length. Parts that do not depend on the word are computed once, in a run of all positions.

    `inverse` is 1/tau by query position; `tables` are shared by the heads of the length.
    """

    head: AttentionHead
    inverse: Sequence[RealNumber]
    views: Views
    tables: Tables = field(default_factory=Tables)
    _numbers: dict[tuple[Fraction, ...], int] = field(default_factory=dict)
    _classes: list[tuple[Floats, Floats]] = field(default_factory=list)
    """For each class of keys, the number that it adds to the logits of each query, and a bound of its error, (n,)."""
    _translated: dict[tuple[int, ...], Integers] = field(default_factory=dict)
    """By the Booleans that keys read, the number of the class of each combination; -1 where it is not known yet."""
    _mixtures: dict[tuple[int, ...], Mixture] = field(default_factory=dict)
    """By the numbers of the classes that are present."""
    _table: ExpTable | None = None
    _queries: list[Exact] = field(default_factory=list)
    """The query forms times `sharpness` (1/tau)."""
    _static: Lookup | None = None
    """The keys and values, if they are the same for every word."""
    _found: dict[Hashable, _KeptValues] = field(default_factory=dict)
    """By the codes' names and sizes, the values of the pairs of position and code that have been looked up."""
    _bases: dict[tuple[int, int, int, int], Block] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.n = self.views.size
        self.sharpness, self.share = near_row(self.inverse)
        self.scale = rounded_row(self.sharpness, self.share)

    def attend(self, blocks: Sequence[Block], values: Sequence[Block], step: Suffix = WHOLE) -> list[Block]:
        """Return the attended values of these columns at every query of the step."""
        if not values:
            return []
        before = {} if step.before is None else step.before.inputs
        queries = {index for query, _ in self.head.scores for index, _ in query if blocks[index].static is None}
        keys = {index for _, key in self.head.scores for index, _ in key if blocks[index].static is None}
        boolean = all(blocks[index].boolean and (not before or before[index].boolean) for index in keys)
        # Tables must be made in a run of all positions; later runs may use them for parts.
        whole = step.start == 0 and blocks[0].mid.shape[1] == self.n
        if len(keys) <= MOST_BOOLEANS and not queries and boolean and (whole or self._table):
            return self._by_types(blocks, values, sorted(keys), step)
        if not keys and all(value.static is not None for value in values) and (whole or self._static):
            codes = codes_of(blocks[index] for index in sorted(queries))
            if codes is not None and self.n * prod(code.kinds for code in codes) <= LARGEST_CODE:
                if self._static is None:
                    self._static = Lookup(self.factors(1, blocks, 0), values, self.views, self.scale)
                return self._look_up(blocks, codes, step.start)
        rows = np.arange(step.start, step.start + blocks[0].mid.shape[1])
        return softmax_rows(*self._operands(blocks, values, step), self.views, self.scale, rows)

    # ---- look-ups ----

    def _look_up(self, blocks: Sequence[Block], codes: Sequence[Code], start: int) -> list[Block]:
        """Return the values of every query from position `start` on.

        `codes` determine the query, and so the values, together with its position. The values of every such pair that
        words have are computed once, and kept: by the number of the pair or, where there are many pairs, of which words
        have few, in the order in which the pairs are first met.
        """
        assert self._static is not None
        size, width = prod(code.kinds for code in codes), blocks[0].mid.shape[1]
        # One number for each pair of a position and its codes.
        places = np.zeros((1, width), dtype=np.int64)
        for code in codes:
            places = places * code.kinds + code.numbers.astype(np.int64)
        places = places + size * np.arange(start, start + width)
        kinds = tuple((code.name, code.kinds) for code in codes)
        met = self.tables.met_pairs(kinds) if self.n * size > DIRECT else None
        slots = places if met is None else met.numbers(places)
        kept = self._found.get(kinds)
        if kept is None or kept.met is not met:
            kept = self._found[kinds] = _KeptValues(met, len(self._static.values))
        kept.reserve(self.n * size if met is None else met.count)
        missing = np.flatnonzero(~kept.known[slots])
        if len(missing):
            fresh, first = np.unique(places.ravel()[missing], return_index=True)
            spots, new = np.divmod(missing[first], width), slots.ravel()[missing[first]]
            found = self._values(fresh // size, *spots, self.factors(0, blocks, start))
            kept.mid[:, new], kept.rad[:, new] = found
            kept.known[new] = True
        return [Block(*pair, codes=tuple(codes)) for pair in zip(kept.mid[:, slots], kept.rad[:, slots], strict=True)]

    def _values(
        self, rows: Integers, words: Integers, columns: Integers, factors: Sequence[Block]
    ) -> tuple[Floats, Floats]:
        """Return the values and radii of some pairs, (values, pairs), given their positions, ascending, and for each
        pair a word and a column of the batch that have it."""
        assert self._static is not None
        queries = []
        for factor in factors:
            spots = np.zeros_like(words) if len(factor.mid) == 1 else words, columns
            queries.append(Block(factor.mid[spots][None, :], factor.radius[spots][None, :]))
        found = self._static.read(queries, rows)
        return np.concatenate([one.mid for one in found]), np.concatenate([one.radius for one in found])

    # ---- by types ----

    def _by_types(self, blocks: Sequence[Block], values: Sequence[Block], keys: list[int], step: Suffix) -> list[Block]:
        width = blocks[0].mid.shape[1]
        parts = [_Part(*self._kinds(blocks, keys, width), values, step.start, None)]
        if step.before is not None:
            earlier = self._kinds(step.before.inputs, keys, step.start)
            parts.append(_Part(*earlier, step.before.values, 0, step.rows))
        table = self._table = self._table or self._make_table(blocks)
        present = tuple(sorted(set().union(*(part.present for part in parts))))
        if present not in self._mixtures:
            self._mixtures[present] = Mixture.of([self._classes[number] for number in present], table.error)
        mixture, place = self._mixtures[present], slice(step.start, step.start + width)
        factors = dict(zip(present, self._factors_of(mixture, parts, present, place), strict=True))
        sums: list[Floats] = []
        for part in parts:
            for number, some in zip(part.present, part.sums(table, place), strict=True):
                factor = factors[number]
                here = [one if factor is None else factor * one for one in map(part.spread, some)]
                sums = list(map(np.add, sums, here)) if sums else here
        total = np.broadcast_to(sums[0], (max(part.words for part in parts), width))
        count = self.n + 2 * len(parts) * len(present)
        reaches = [Ends.of(value) for value in values]
        if step.before is not None:
            earlier_reaches = [Ends.of(value.of_words(step.rows)) for value in step.before.values]
            reaches = [new.joined(old) for new, old in zip(reaches, earlier_reaches, strict=True)]
        error = mixture.error[None, place]
        found = quotients(sums[1:], total, error, reaches, count)
        low = ~(total >= LEAST_SUM)
        if low.any():
            self._again(low, self._operands(blocks, values, step), found, step.start)
        return found

    def _again(self, low: Booleans, operands: Operands, found: Sequence[Block], start: int) -> None:
        """Compute again the values of some queries of some words, and replace them in `found`."""
        words, rows = np.flatnonzero(low.any(axis=1)), np.flatnonzero(low.any(axis=0))
        queries, keys, values = ([block.of_words(words) for block in part] for part in operands)
        queries = [Block(query.mid[:, rows], query.radius[:, rows]) for query in queries]
        here = low[np.ix_(words, rows)]
        for block, other in zip(
            found, softmax_rows(queries, keys, values, self.views, self.scale, rows + start), strict=True
        ):
            block.mid[low], block.radius[low] = other.mid[here], other.radius[here]

    def _make_table(self, blocks: Sequence[Block]) -> ExpTable:
        same = tuple(
            (query, tuple([term for term in key if blocks[term[0]].static is not None]))
            for query, key in self.head.scores
        )
        known = self.tables.of_forms.get((self.views.mask, same))
        if known is not None:
            return known
        keys = (exact_sum(((c, blocks[index]) for index, c in key), self.n) for _, key in same)
        left, right = [rounded_row(query, self.share) for query in self._queries], list(map(rounded_row, keys))
        mids, rads = ([np.stack([one[part] for one in side]) for side in (left, right)] for part in (0, 1))
        found = self.tables.get(self.views, (mids[0], rads[0]), (mids[1], rads[1]))
        if all(self.tables.keeps(form) for pair in same for form in pair):
            self.tables.of_forms[self.views.mask, same] = found
        return found

    def _query(self, form: Terms, blocks: Sequence[Block] | Mapping[int, Block]) -> Exact:
        """Return a query form divided by tau."""
        found = self.tables.queries.get(form)
        if found is None:
            found = exact_sum(((c, blocks[index]) for index, c in form), self.n).times(self.sharpness)
            if self.tables.keeps(form):
                self.tables.queries[form] = found
        return found

    def _kinds(
        self, blocks: Sequence[Block] | Mapping[int, Block], keys: list[int], width: int
    ) -> tuple[Integers, list[int]]:
        """Return the number of every key's class, (words or 1, width), and those numbers that are present."""
        if not self._queries:
            self._queries = [self._query(form, blocks) for form, _ in self.head.scores]
        codes = np.zeros((1, width), dtype=np.int64) if not keys else blocks[keys[0]].mid.astype(np.int64)
        for place, index in enumerate(keys[1:], 1):
            codes = codes + (blocks[index].mid.astype(np.int64) << place)
        seen = np.flatnonzero(np.bincount(codes.ravel())).tolist()
        numbers = self._translated.setdefault(tuple(keys), np.full(1 << len(keys), -1))
        for code in seen:
            if numbers[code] < 0:
                numbers[code] = self._class({index: code >> place & 1 for place, index in enumerate(keys)})
        same = all(numbers[code] == code for code in seen)
        return codes if same else numbers[codes], sorted({int(numbers[code]) for code in seen})

    def _class(self, held: Mapping[int, int]) -> int:
        """Return the number of the class of the keys that hold these Booleans."""
        shift = tuple(
            sum((Fraction(value) * held[index] for index, value in key if index in held), Fraction(0))
            for _, key in self.head.scores
        )
        # Combinations of Booleans that add the same to every logit form one class.
        if shift not in self._numbers:
            self._numbers[shift] = len(self._classes)
            added = combination(zip(self._queries, shift, strict=True), 0, (1, self.n))
            self._classes.append(rounded_row(added, self.share))
        return self._numbers[shift]

    def _factors_of(
        self, mixture: Mixture, parts: Sequence[_Part], present: Sequence[int], place: slice
    ) -> list[Floats | None]:
        """Return for each class the factor of its entries of the table, (words or 1, queries); None for 1. It is
        e^(c - r), where c is what the class adds to the logits of a query, and r the most that a class of visible keys
        adds."""
        if len(present) == 1:
            return [None]
        if mixture.drop is not None:
            # Every query sees a key, so that one which does not see the class above sees the class below.
            above = self._seen(parts, present[mixture.above])
            factor: Floats = np.where(above, mixture.drop[place], 1.0)
            return [None, factor] if mixture.above == 0 else [factor, None]
        shifts = mixture.shifts[:, None, place]
        seen = (self._seen(parts, number) for number in present)
        rows = (np.where(one, shift, -np.inf) for one, shift in zip(seen, shifts, strict=True))
        reference = reduce(np.maximum, rows)
        return [np.exp(np.minimum(shift - reference, 0.0)) for shift in shifts]

    def _seen(self, parts: Sequence[_Part], number: int) -> Booleans:
        """Return which queries see a key of this class, (words or 1, queries)."""
        seen = self.views.over(np.logical_or, parts[0].kinds == number)
        for part in parts[1:]:
            seen = seen | part.spread(np.any(part.kinds == number, axis=1, keepdims=True))
        return seen

    # ---- dense ----

    def factors(self, side: int, blocks: Sequence[Block], start: int) -> list[Block]:
        """Return the factors of the scores (side 0: the queries', 1: the keys') at the positions from `start` on.
        Their static parts are exact, and kept; the rest is enclosed."""
        found: list[Block] = []
        for number, pair in enumerate(self.head.scores):
            form = pair[side]
            terms = [(coefficient, blocks[index]) for index, coefficient in form]
            width = terms[0][1].mid.shape[1]
            if (side, number, start, width) not in self._bases:
                self._bases[side, number, start, width] = known(exact_sum(terms, width))
            base, rest = self._bases[side, number, start, width], [one for one in terms if one[1].static is None]
            found.append(combine(rest, base) if rest else base)
        return found

    def _operands(self, blocks: Sequence[Block], values: Sequence[Block], step: Suffix) -> Operands:
        """Return the query factors at the positions of the step, and the key factors and values at all positions so
        far."""
        whole = list(blocks)
        if step.before is not None:
            for index, old in step.before.inputs.items():
                whole[index] = join(old, blocks[index], step.rows)
        joined = [join(old, value, step.rows) for value, old in zip(values, step.earlier(values), strict=True)]
        return self.factors(0, blocks, step.start), self.factors(1, whole, 0), joined


@dataclass(frozen=True, slots=True)
class _Part:
    """The keys of some words from position `start` on: the numbers of their classes, (words or 1, keys), those that
    are `present`, and the values. `rows` gives each word's row in these (None: its own)."""

    kinds: Integers
    present: Sequence[int]
    values: Sequence[Block]
    start: int
    rows: Integers | None

    @property
    def words(self) -> int:
        """The number of words, as far as these keys show it."""
        return max(len(self.kinds), *(len(value.mid) for value in self.values)) if self.rows is None else len(self.rows)

    def spread(self, array: NDArray[Number]) -> NDArray[Number]:
        """Return rows for the words of the batch, from rows for these words."""
        return array if self.rows is None else take(array, self.rows)

    def sums(self, table: ExpTable, place: slice) -> Iterator[list[Floats]]:
        """Yield for each class that is present the sums of the weights of its keys, and of the weighted values, for the
        queries at `place`, (words or 1, queries) each."""
        for number in self.present:
            mask = (self.kinds == number).astype(np.float64)
            sources = (mask, *(mask * value.mid for value in self.values))
            yield [table.sums(source, self.start, place) for source in sources]
