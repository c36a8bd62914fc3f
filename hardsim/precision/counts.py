"""Counts in a number format, for all words of a length at once.

A mean of a Boolean over m positions is decided by m and by the number c of positions where it is true: with sums from
the left it is the share fl(1/m) added c times, since 0 adds nothing. In any order c terms that are one number s add
up to c s, off by at most (c - 1) u/(1 - (c - 1) u) of that. So the value that a look-up reads at position i of n
depends on i, n and c alone, and the value of a clip of several counts on these together: every such case is enclosed,
operation by operation, as `passes` does it for words.

Counts that can occur together (ours): if at each of m positions the Booleans are one of some vectors, then their
counts are m times a point of the convex hull of these. The cases examined are all points between the least and the
largest of s . v, times m, for each s of -1, 0 and 1: for two Booleans exactly the hull.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardsim.lazy_dataclass import dataclass
from hardsim.network.numbers import Mask
from hardsim.network.transformer import Terms
from hardsim.precision.arithmetic import SLACK, Enclosed, Enclosures
from hardsim.precision.formats import Floats
from hardsim.precision.lengths import NotEnclosed, OfLength, Runs
from hardsim.precision.structure import CountMean, CountRead, CountUnit, Structure, Vectors
from hardsim.writing.layout import nearest_float

CELLS = 2**18
"""Number of logits that are computed together."""
MOST = 4e6
"""Largest number of logits computed for one head at one length."""
MOST_CASES = 10**6
"""Largest number of combinations of counts that are examined together."""
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Cases:
    """Querying positions (from 1), one for each case, and the counts that they see: a row for each case, a column for
    each count."""

    i: Integers
    counts: Integers


def cases(i: Integers, sizes: Integers, vectors: Vectors) -> Cases:
    """Return all counts that may occur together at positions `i`, which see `sizes` positions. Raises OverflowError if
    there are too many to be examined."""
    width = len(next(iter(vectors), ()))
    numbers, found = np.arange(len(i)), np.zeros((len(i), 0), dtype=np.int64)
    for place in range(width):
        low, high = np.zeros(len(numbers), dtype=np.int64), sizes[numbers]
        for signs in product((-1, 0, 1), repeat=place):
            sums = [sum(s * part for s, part in zip((*signs, 1), one[: place + 1], strict=True)) for one in vectors]
            known = found @ np.array(signs, dtype=np.int64)
            low = np.maximum(low, sizes[numbers] * min(sums) - known)
            high = np.minimum(high, sizes[numbers] * max(sums) - known)
        ways = np.maximum(high - low + 1, 0)
        if ways.sum() > MOST_CASES:
            raise OverflowError
        start = np.repeat(np.cumsum(ways) - ways, ways)
        column = np.repeat(low, ways) + np.arange(int(ways.sum())) - start
        found = np.column_stack([np.repeat(found, ways, axis=0), column])
        numbers = np.repeat(numbers, ways)
    return Cases(i[numbers], found)


@lru_cache(maxsize=2)
def _means(arithmetic: Enclosed, top: int) -> Floats:
    """Return the mean of a Boolean, with sums from the left, as an array by number of positions and by number of
    true ones."""
    form, inner, ones, found = arithmetic.form, arithmetic.inner, np.zeros(top + 1), np.zeros((top + 1, top + 1))
    for k in range(1, top + 1):
        ones[k:] = inner.round(ones[k:] + 1.0)
    share = form.round(1 / form.round(np.maximum(ones, 1.0)))
    for k in range(1, top + 1):
        found[k:, k] = inner.round(found[k:, k - 1] + share[k:])
    return form.round(found)


@dataclass
class CountBounds:
    """Enclosures of the counts of a structure at one length."""

    structure: Structure
    arithmetic: Enclosed
    length: OfLength
    logits: int = 0
    """Number of logits computed so far."""
    runs: dict[tuple[int, int], Runs] = field(default_factory=dict)
    """The symbols for which a head's reading is worst, by coordinate and class."""
    _read: dict[Any, Enclosures] = field(default_factory=dict)

    def require(self) -> dict[int, dict[int, tuple[Any, int]]]:
        """Require that clips that read numbers are right. Return the readings of heads that look up Booleans or test a
        sign: by coordinate, and by class, the ends where they should read 0 and 1, and a count for which they are
        worst. Raises NotEnclosed, saying what may be wrong."""
        for unit in self.structure.units:
            self._require_unit(unit)
        return {read.out: self._ends(read) for read in self.structure.reads.values() if read.kind != "number"}

    # ---- cases ----

    def _asking(self, outs: frozenset[int]) -> Integers:
        """Return the positions at which some of these coordinates matter."""
        structure, last = self.structure, self.structure.model.reading == "last"
        if structure.causal or (outs <= structure.at_the_end and last):
            return np.array([self.length.n])
        return np.array([1]) if outs <= structure.at_the_end else np.arange(1, self.length.n + 1)

    def _sizes(self, mask: Mask, i: Integers) -> Integers:
        return {Mask.FUTURE: i, Mask.PAST: self.length.n - i + 1, Mask.NONE: np.full_like(i, self.length.n)}[mask]

    def _cases(self, lookup: CountRead | CountUnit, vectors: Vectors) -> Cases:
        i = self._asking(lookup.outs)
        if not lookup.means:
            return Cases(i, np.zeros((len(i), 0), dtype=np.int64))
        try:
            return cases(i, self._sizes(self.structure.counted[lookup.means[0]].mask, i), vectors)
        except OverflowError:
            message = "there are too many combinations of counts to examine each"
            raise NotEnclosed(message, lookup.layer, None, self.length.n // 2) from None

    # ---- values of coordinates ----

    def _mean(self, mean: CountMean, i: Integers, counts: Integers) -> tuple[Enclosures, Floats]:
        """Return a mean as enclosed in the format, and over the real numbers."""
        sizes, form = self._sizes(mean.mask, i), self.arithmetic.form
        exact = counts / sizes
        if self.arithmetic.in_order:
            found = _means(self.arithmetic, 2 ** max(6, (self.length.n - 1).bit_length()))[sizes, counts]
            return self.arithmetic.number(found), exact
        steps = np.maximum(counts - 1, 0) * self.arithmetic.inner.unit
        # Ones add up exactly to 2^p; beyond that nothing is claimed.
        known = (sizes <= 2.0**form.digits) & (steps < 1)
        share = form.round(1 / sizes)
        off = np.where(known, steps / np.where(known, 1 - steps, 1) * SLACK, np.nan)
        ends = Enclosures(form.round(counts * share * (1 - off)), form.round(counts * share * (1 + off)))
        return ends, exact

    def _counts_of(self, mean: CountMean, where: Cases, means: Sequence[int]) -> Integers:
        if mean.fixed is None:
            return where.counts[:, means.index(mean.out)]
        values = self.length.by_class(mean.fixed).astype(np.int64)
        totals = np.cumsum(values)
        if mean.mask is Mask.FUTURE:
            found: Integers = totals[where.i - 1]
        else:
            found = totals[-1] - ((totals - values)[where.i - 1] if mean.mask is Mask.PAST else np.zeros_like(where.i))
        return found

    def _limited(self, coordinate: int, where: Cases, means: Sequence[int]) -> tuple[Enclosures, Floats]:
        """Return the enclosure of a coordinate in the format, and its value over the real numbers."""
        structure = self.structure
        if coordinate in structure.counted:
            mean = structure.counted[coordinate]
            return self._mean(mean, where.i, self._counts_of(mean, where, means))
        if coordinate in structure.reads:
            read = structure.reads[coordinate]
            counts = where.counts[:, means.index(read.means[0])]
            found = self._numbers(read)
            slots = np.searchsorted(self._asking(read.outs), where.i)
            return found.rows((slots, counts)), self._exactly(read.value)[np.maximum(counts, 1) - 1]
        return Enclosures.of(self.length.columns[coordinate][where.i - 1]), self.length.exact[coordinate][where.i - 1]

    def _exactly(self, form: Terms) -> Floats:
        """Evaluate a form of values that are the same for every word, over the real numbers, by position."""
        return sum((float(weight) * self.length.exact[place] for place, weight in form), np.zeros(self.length.n))

    # ---- heads ----

    def _numbers(self, read: CountRead) -> Enclosures:
        """Return the numbers that a look-up of one count reads, by querying position (of those that matter) and count;
        NaN for a count that is larger than the number of visible positions."""
        mean = self.structure.counted[read.means[0]]
        key = read.like, mean.mask, read.outs <= self.structure.at_the_end  # plus where it queries
        if key not in self._read:
            where = self._cases(read, {(0,): None, (1,): None})
            i = self._asking(read.outs)
            found = self._reading(read, where)
            low, high = (np.full((len(i), self.length.n + 1), np.nan) for _ in range(2))
            place = np.searchsorted(i, where.i), where.counts[:, 0]
            low[place], high[place] = found.low, found.high
            self._read[key] = Enclosures(low, high)
        return self._read[key]

    def _reading(self, read: CountRead, where: Cases) -> Enclosures:
        """Return the values that a head reads in some cases."""
        arithmetic, n = self.arithmetic, self.length.n
        self.logits += len(where.i) * n
        if len(where.i) * n > MOST:
            raise NotEnclosed("there are too many counts to examine each", read.layer, read.name, n // 2)
        # Similar counts select nearby positions: in sorted order, most columns of a part have no weight.
        order = np.lexsort((where.i, *where.counts.T))
        found = Enclosures(np.zeros(len(order)), np.zeros(len(order)))
        everywhere = Cases(np.arange(1, n + 1), np.zeros((n, 0), dtype=np.int64))
        keys = [self._form(key, everywhere, ()) for key in read.keys]
        values = self._form(read.value, everywhere, ())
        rows = Enclosures.stacked(keys, 0)
        size = max(1, CELLS // n)
        for part in (order[start : start + size] for start in range(0, len(order), size)):
            some = Cases(where.i[part], where.counts[part])
            queries = Enclosures.stacked([self._form(query, some, read.means) for query in read.queries], -1)
            scale = self.length.scale.rows((some.i - 1, None))
            logits = arithmetic.multiply(arithmetic.matmul(queries, rows), scale)
            if read.mask is not Mask.NONE:
                j = np.arange(1, n + 1)
                seen = j <= some.i[:, None] if read.mask is Mask.FUTURE else j >= some.i[:, None]
                logits = arithmetic.masked(logits, seen)
            powers = arithmetic.powers(logits, arithmetic.largest(logits))
            some_weight = np.flatnonzero(~((powers.low == 0) & (powers.high == 0)).all(axis=0))
            powers = powers.rows((slice(None), some_weight))
            weights = arithmetic.divide(powers, arithmetic.total(powers))
            total = arithmetic.matmul(weights, values.rows((some_weight, None)))
            found.low[part], found.high[part] = total.low[:, 0], total.high[:, 0]
        return found

    def _form(self, form: Terms, where: Cases, means: Sequence[int]) -> Enclosures:
        """Return the product of a row of weights and the values of coordinates."""
        row = Enclosures.stacked([self._limited(place, where, means)[0] for place, _ in form], -1)
        weights = self.arithmetic.number(np.array([[nearest_float(weight)] for _, weight in form]))
        return self.arithmetic.matmul(row, weights).rows((slice(None), 0))

    def _ends(self, read: CountRead) -> dict[int, tuple[Any, int]]:
        """Return, by class, the values that a head reads where it should read 0, and where it should read 1."""
        where = self._cases(read, read.vectors)
        found = self._reading(read, where)
        if read.kind == "sign":
            query = sum((float(w) * self._limited(place, where, read.means)[1] for place, w in read.queries[0]), 0.0)
            if np.min(np.abs(query) * self.length.n, initial=1) < 1e-6:
                raise NotEnclosed("a number whose sign is tested may be 0", read.layer, read.name, 0)
            bits = query > 0
        else:
            bits = self._exactly(read.value)[np.maximum(where.counts[:, 0], 1) - 1] == 1
        low, high = (np.where(np.isnan(end), way, end) for end, way in ((found.low, -np.inf), (found.high, np.inf)))
        off = np.maximum(np.abs(low - bits), np.abs(high - bits))
        result = {}
        for site, mask in enumerate(self.length.masks):
            here = mask[where.i - 1]
            if here.any():
                ends = tuple(
                    (
                        float(low[here & (bits == bit)].min(initial=bit)),
                        float(high[here & (bits == bit)].max(initial=bit)),
                    )
                    for bit in (False, True)
                )
                worst = int(np.argmax(np.where(here, off, -1.0)))
                result[site] = ends, int(where.counts[worst].max(initial=0))
                self.runs[read.out, site] = self._runs(read, where, worst)
        return result

    # ---- clips ----

    def _require_unit(self, unit: CountUnit) -> None:
        where = self._cases(unit, unit.vectors)
        held = {place: self._limited(place, where, unit.means) for place in unit.numbers}
        for site, cases_here in enumerate(unit.cases):
            here = np.flatnonzero(self.length.masks[site][where.i - 1])
            numbers = {place: (ends.rows(here), real[here]) for place, (ends, real) in held.items()}
            for case in cases_here if len(here) else ():
                others = (np.full(len(here), float(value)) for value in case)
                fixed = {place: (Enclosures.of(one), one) for place, one in zip(unit.others, others, strict=True)}
                self._require_case(unit, where, here, numbers | fixed)

    def _require_case(
        self, unit: CountUnit, where: Cases, here: Integers, held: Mapping[int, tuple[Enclosures, Floats]]
    ) -> None:
        exact = sum(
            (float(weight) * held[place][1] for place, weight in unit.form), np.full(len(here), float(unit.bias))
        )
        arithmetic = self.arithmetic
        weights = arithmetic.number(np.array([[nearest_float(weight)] for _, weight in unit.form]))
        entered = arithmetic.matmul(Enclosures.stacked([held[place][0] for place, _ in unit.form], -1), weights)
        entered = arithmetic.add(entered, arithmetic.number(np.array([[nearest_float(unit.bias)]])))
        right = np.where(exact >= 1 - 1e-9, entered.low[:, 0] >= 1, (entered.high[:, 0] <= 0) & (exact <= 1e-9))
        if right.all():
            return
        worst = int(here[np.argmin(right)])
        place = int(where.counts[worst].max(initial=0))
        reader = next((self.structure.reads[one].name for one in unit.numbers if one in self.structure.reads), None)
        message = f"{unit.what} may be other than {int(exact[np.argmin(right)] > 0.5)}"
        raise NotEnclosed(message, unit.layer, reader, place, self._runs(unit, where, worst))

    def _runs(self, lookup: CountRead | CountUnit, where: Cases, number: int) -> Runs:
        """Return the symbols, each with its number, of a word that gives a case, if each symbol counts for one of the
        counted Booleans, or for none; else ()."""
        counts, i = where.counts[number], where.i[number]
        if not lookup.means or self.structure.counted[lookup.means[0]].mask is Mask.PAST:
            return ()
        size = int(self._sizes(self.structure.counted[lookup.means[0]].mask, np.array([i]))[0])
        found = []
        for vector, symbol in lookup.vectors.items():
            if symbol is None or sum(vector) > 1:
                return ()
            many = int(counts @ np.array(vector)) if any(vector) else size - int(counts.sum())
            found.append((symbol, many))
        return tuple((symbol, many) for symbol, many in found if many > 0)
