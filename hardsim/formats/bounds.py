"""A formula's network in a number format, for all words of a length at once: what `structure` asks for, held.

The logits of a head are worked out for every position and local type as model.py groups them, each operation rounded
once, or enclosed where a sum has several terms (`passes.Enclosed`). Let l* be the least logit of the position that
should win, over the types with its value, and l_j the largest of position j over the types with the other value that
may stand there: any on the side that loses the tie, those that are not selected beyond. If l_j <= l* for all j, the
right positions together weigh at least 1 relative to the largest logit of all, and the wrong ones at most

    W = sum over j of e(fl(l_j - l*)),    e(t) = exp(t) and two units in the last place,

since exp and rounding are monotone.

Sums of positive terms in any order (ours). Let B of the terms be large and the others, K of them, add up to at most s
(s relative to the whole sum S, which is at least 1, or to what is said). A subtree of additions that has small terms
alone is off by at most a factor (1 + u)^K, and the first addition of such a subtree to one with a large term by at most
its own size, since a sum is rounded to the nearest number and its larger part is one: together at most s times
2 (1 + u)^K - 1 <= (1 + u)^(2K). The other additions are at most B - 1, and each is off by at most u times its sum,
which is at most the computed S. So S is off by at most

    E = ((B - 1) u S + s (1 + u)^(2K))/(1 - (B - 1) u).

Terms are large from `LARGE` u on. That bounds the denominator of softmax, and in the same way the sum of weights that
are read; each weight is rounded besides.

Short of that (`Analytic`), for all lengths to some N at once: the computed logits are within delta of the exact ones,
by (1 + u)^k times the sizes of what is multiplied, so that the weight of the wrong positions is at most e^(2 delta)
times what the prover of every length allows.

Means of what is the same for every word (the marks of the first and the last position): of terms whose partial sums
are at most B in size in every order, the sum computed by k additions is off by at most B ((1 - u)^-k - 1): by induction
over the tree of additions, since (x - 1)(y - 1) >= 0 for the bounds x, y >= 1 of two branches. Products that are
rounded are off by u times the sizes of the terms, at most 2 B u: three more steps cover them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import exp, inf, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardsim.formats.functions import float_values
from hardsim.formats.numbers import Floats, NumberFormat
from hardsim.formats.passes import SLACK, WIDE, Enclosed, Enclosures
from hardsim.formats.structure import Demand, HeadFound, MeanFound, Structure
from hardsim.lang.reals import Real
from hardsim.network.columns import PredicateColumn
from hardsim.network.model import Terms
from hardsim.network.numbers import Mask
from hardsim.proof.ratios import Ratio, lower, upper
from hardsim.proof.result import NotProved
from hardsim.proof.sites import SiteClass
from hardsim.writing.layout import nearest_float

WORK = 2e7
"""Positions, head by head, that are looked at for one format in lengths that are taken one by one: some minutes."""
EACH = 500
"""Positions that cost as much as what is done once for a length."""
WINDOW = 12
"""Positions next to the winner that are taken one by one; of those farther away the largest counts for all."""
CHUNK = 2**14
"""Winners that are looked at together."""
LARGE = 0.25
"""What makes a term of a sum large, in units of u."""


class NotEnclosed(Exception):
    """Some evaluation at a length may be wrong: why, in which layer and head, and about which positions."""

    def __init__(
        self, reason: str, layer: int | None = None, head: str | None = None, place: int | None = None
    ) -> None:
        super().__init__(reason)
        self.reason, self.layer, self.head, self.place = reason, layer, head, place


Reads = Mapping[int, tuple[tuple[float, float], tuple[float, float]]]
"""By coordinate what a head reads where it should read 0, and where it should read 1: the least and the most."""


def members(one: SiteClass, n: int) -> NDArray[np.bool_]:
    """Which positions 1..n are in a class."""
    i = np.arange(1, n + 1)
    parity = np.full(n, True) if one.first else (i % 2 == 0) == one.even_i
    whole = True if one.first and one.last else (n % 2 == 0) == one.even_n
    found: NDArray[np.bool_] = ((i == 1) == one.first) & ((i == n) == one.last) & parity & whole
    return found


@dataclass(frozen=True)
class _Terms:
    """Of each possible winner the terms of a sum besides its own: their total, that of the small ones, how many are
    large, and how many are not 0, at most."""

    total: Floats
    small: Floats
    large: Floats
    count: Floats


@dataclass
class _Worst:
    """What a head reads, over all queries, and where the wrong positions weigh most."""

    reads: list[tuple[float, float]] = field(default_factory=lambda: [(0.0, 0.0), (1.0, 1.0)])
    weight: float = -1.0
    place: int = 0

    def add(self, bit: int, found: tuple[float, float], weight: float, place: int) -> None:
        """What it reads at one query."""
        low, high = self.reads[bit]
        self.reads[bit] = min(low, found[0]), max(high, found[1])
        if weight > self.weight:
            self.weight, self.place = weight, place


_KNOWN: dict[Any, dict[int, tuple[tuple[tuple[float, float], tuple[float, float]], int]]] = {}
"""By all that decides it, and by length, what a head reads and the winner for which that is worst."""


@dataclass
class StructureBounds:
    """A structure in a format."""

    structure: Structure
    form: NumberFormat
    accumulate: NumberFormat | None = None
    _n: int = 0
    _columns: dict[int, Floats] = field(default_factory=dict)
    _likes: dict[str, Any] = field(default_factory=dict)
    places: dict[int, int] = field(default_factory=dict)
    """By coordinate the winner (a position from 0) for which a head is worst at the length that was held last."""

    @cached_property
    def arithmetic(self) -> Enclosed:
        """Enclosures in the format."""
        return Enclosed(self.form, self.accumulate)

    def hold_exact(self) -> None:
        """Hold that the format holds the sums that must be exact.

        Raises:
            NotEnclosed: naming one that it does not.
        """
        inner = self.form  # a partial sum may be rounded at its end alone, but is a number of the format then too
        for number, what in self.structure.numbers.items():
            held = float(self.form.round(np.array(float(number)))) if abs(number) <= self.form.largest else inf
            if held != number:
                raise NotEnclosed(f"{what} is no number of this format")
        for one in self.structure.sums:
            fits = one.sizes <= one.quantum * 2**inner.digits and one.sizes <= Fraction(inner.largest)
            if not fits or (one.sizes and one.quantum < Fraction(inner.least)):
                raise NotEnclosed(f"{one.what} is not computed exactly in this format")

    def hold(self, n: int) -> None:
        """Hold that every evaluation of the format is right on every word of length n; where nothing depends on the
        length, given that it is for the shorter ones.

        Raises:
            NotEnclosed: saying what may be wrong.
        """
        with np.errstate(all="ignore"):
            self.marks(n, not self.structure.causal)
            reads: dict[int, tuple[tuple[float, float], tuple[float, float]]] = {}
            for head in self.structure.heads:
                known = _KNOWN.setdefault(self._alike(head), {})
                if n not in known:
                    known[n] = self._head(head, n)
                reads[head.out], place = known[n]
                self.places[head.out] = place if head.rightmost else n - 1 - place
        try:
            hold_demands(self.structure.demands, reads, self.form)
        except NotEnclosed as failure:
            coordinate = failure.place or 0
            name = next(head.name for head in self.structure.heads if head.out == coordinate)
            raise NotEnclosed(failure.reason, failure.layer, name, self.places[coordinate]) from None

    def _alike(self, head: HeadFound) -> Any:
        """What decides what a head reads: heads that agree in it, of whatever formulas, read the same."""
        if head.name not in self._likes:
            structure = self.structure

            def column(coordinate: int) -> Any:
                functions = [one for place, one in structure.model.encodings if place == coordinate]
                users = [one.user if isinstance(one, PredicateColumn) else None for one in functions]
                return (*functions, *users) if functions else structure.static[coordinate]

            rows = [[(column(place), weight) for place, weight in form] for form in (*head.queries, *head.keys)]
            forms = tuple(tuple(row) for row in rows)
            own = head.mask, head.rightmost, head.types, forms, structure.model.temperature, structure.causal
            self._likes[head.name] = self.form, self.accumulate, own
        return self._likes[head.name]

    # ---- what is the same for every word ----

    def marks(self, n: int, every: bool) -> None:
        """Hold that the clips of means that are the same for every word are right, at every position or at the last
        one. What these average depends on no
        more than whether a position is even, so that a length and the one before it stand for all shorter ones.

        Raises:
            NotEnclosed: naming one that may be wrong.
        """
        self._prepare(n)
        for layer, what, coordinate, unit in self.structure.marks:
            mean = next(one for one in self.structure.means if one.out == coordinate)
            wrong = self._mark(mean, unit.form[0][1], unit.bias, n)
            if (wrong if every else wrong[-1:]).any():
                told = f"the mean that marks a position (head {mean.name}) is off so far that {what} may be wrong"
                raise NotEnclosed(told, layer, mean.name, int(np.argmax(wrong)))

    def _prepare(self, n: int) -> None:
        if n == self._n:
            return
        self._n, self._columns = n, {}
        encodings = dict[int, list[Any]]()
        for place, function in self.structure.model.encodings:
            encodings.setdefault(place, []).append(function)
        for place, functions in encodings.items():
            if all(isinstance(function, PredicateColumn) for function in functions) and place not in self._read:
                continue  # 0 and 1, which every format holds
            found = float_values(functions[0], np.arange(1, n + 1), n) if len(functions) == 1 else None
            if found is None:
                exact = dict(self.structure.layout.encoded(n))[place]
                found = np.array(list(map(nearest_float, exact)))
            self._columns[place] = self.form.round(found)
        masks = [members(one, n) for one in self.structure.classes.classes]
        for place, values in self.structure.static.items():
            self._columns[place] = self.form.round(self._by_class(masks, values))
        self._masks: list[NDArray[np.bool_]] = masks
        self._scale = self._scales(n) if self.structure.model.heads else self.arithmetic.number(np.ones(n))
        # What is beyond the format is never right: times 0 it is no number.
        if not self._scale.known or not all(np.isfinite(column).all() for column in self._columns.values()):
            raise NotEnclosed("a position encoding, or 1/temperature, is beyond the format")

    @cached_property
    def _read(self) -> frozenset[int]:
        """What heads read that is the same for every word."""
        forms = (form for head in self.structure.heads for form in (*head.queries, *head.keys))
        return frozenset(coordinate for form in forms for coordinate, _ in form)

    def _scales(self, n: int) -> Enclosures:
        """1/temperature by position."""
        scale, rounded = float_values(self.structure.model.temperature, np.arange(1, n + 1), n, inverse=True), True
        if scale is None:
            exact = self.structure.layout.scaled(n)[0]
            scale, rounded = np.array(list(map(nearest_float, exact))), not any(isinstance(x, Real) for x in exact)
        found = self.arithmetic.number(scale) if rounded else self.arithmetic.near(scale)
        return Enclosures(np.broadcast_to(found.low, (n,)), np.broadcast_to(found.high, (n,)))

    def _by_class(self, masks: Sequence[NDArray[np.bool_]], values: Sequence[Fraction]) -> Floats:
        found = np.zeros(self._n)
        for mask, value in zip(masks, values, strict=True):
            found[mask] = float(value)
        return found

    def _dot(self, form: Terms, varying: Sequence[float] = ()) -> Enclosures:
        """A form of what is the same for every word, plus a number for each local type: (types, positions)."""
        n, types = self._n, max(1, len(varying))
        columns = np.zeros((types, n, len(form) + 1))
        weights = np.ones((len(form) + 1, 1))
        for number, (coordinate, weight) in enumerate(form):
            columns[:, :, number] = self._columns[coordinate]
            weights[number, 0] = nearest_float(weight)
        columns[:, :, -1] = np.array(varying)[:, None] if varying else 0.0
        found = self.arithmetic.matmul(Enclosures(columns, columns), self.arithmetic.number(weights))
        return Enclosures(found.low[:, :, 0], found.high[:, :, 0])

    # ---- heads ----

    def _head(self, head: HeadFound, n: int) -> tuple[tuple[tuple[float, float], tuple[float, float]], int]:
        """What a head reads where it should read 0, and where it should read 1; and the winner for which that is
        worst, from 0 on the side on which the last one wins."""
        arithmetic = self.arithmetic
        keys = [self._dot(form, [float(one.key[row]) for one in head.types]) for row, form in enumerate(head.keys)]
        if any(self.form.round(np.array(float(part))) != part for one in head.types for part in one.key):
            raise NotEnclosed(f"the key of head {head.name} is no number of the format", head.layer, head.name)
        queries = [self._dot(form) for form in head.queries]
        there = self._there(head, n)
        worst = _Worst()
        for i, last in self._rows(queries, head.mask, n):
            terms = [Enclosures(query.low[:, i : i + 1], query.high[:, i : i + 1]) for query in queries]
            stacked = Enclosures(np.stack([q.low for q in terms], -1), np.stack([q.high for q in terms], -1))
            rows = Enclosures(np.stack([k.low for k in keys], -2), np.stack([k.high for k in keys], -2))
            scores = arithmetic.matmul(stacked, rows)
            scale = arithmetic.rows(self._scale, slice(i, i + 1))
            logits = arithmetic.multiply(Enclosures(scores.low[:, 0], scores.high[:, 0]), scale)
            seen = slice(0, last + 1) if head.mask is not Mask.PAST else slice(last, n)
            low, high, here = logits.low[:, seen], logits.high[:, seen], there[:, seen]
            if not head.rightmost:
                low, high, here = low[:, ::-1], high[:, ::-1], here[:, ::-1]
            self._row(head, low, high, here, worst)
        return (worst.reads[0], worst.reads[1]), worst.place

    def _there(self, head: HeadFound, n: int) -> NDArray[np.bool_]:
        """Which local type can be at which position."""
        found = np.zeros((len(head.types), n), dtype=np.bool_)
        for number, one in enumerate(head.types):
            for place in one.classes:
                found[number] |= self._masks[place]
        return found

    def _rows(self, queries: Sequence[Enclosures], mask: Mask, n: int) -> Iterator[tuple[int, int]]:
        """Queries that differ, each by a position (from 0), with the last one that has it (under a mask that hides the
        past the first one): what the others of it see is less. Where longer words have the same, the last alone."""
        if self.structure.causal:
            yield n - 1, n - 1
            return
        parts = [array[0] for query in queries for array in (query.low, query.high)]
        parts += [self._scale.low, self._scale.high]
        distinct, inverse = np.unique(np.stack(parts), axis=1, return_inverse=True)
        for number in range(distinct.shape[1]):
            places = np.flatnonzero(inverse.ravel() == number)
            yield int(places[-1]), int(places[0] if mask is Mask.PAST else n - 1 if mask is Mask.NONE else places[-1])

    def _row(self, head: HeadFound, low: Floats, high: Floats, here: NDArray[np.bool_], worst: _Worst) -> None:
        """One query: positions in the order in which the last one wins a tie."""
        if np.isnan(low[here]).any() or np.isnan(high[here]).any():
            raise NotEnclosed(f"a logit of head {head.name} is beyond the format", head.layer, head.name)
        if not self.form.infinite and np.isnan(self.form.round(low[here].min() - high[here].max())):
            raise NotEnclosed(f"logits of head {head.name} differ by more than the format has", head.layer, head.name)
        selected = np.array([one.selected for one in head.types])
        values = np.array([one.value for one in head.types])
        low, high = np.where(here, low, inf), np.where(here, high, -inf)

        def most(kinds: NDArray[np.bool_]) -> Floats:
            found: Floats = high[kinds].max(axis=0) if kinds.any() else np.full(high.shape[1], -inf)
            return found

        for chosen in (True, False):
            for bit in (0, 1):
                winners = (selected == chosen) & (values == bit)
                if not here[winners].any():
                    continue
                best = low[winners].min(axis=0)
                loser, none = values != bit, np.zeros_like(selected)
                before = loser if chosen else loser & ~selected
                others = np.ones_like(selected) if chosen else ~selected
                beyond, after = (loser & ~selected, ~selected) if chosen else (none, none)
                rivals = most(before), most(beyond)
                places = np.flatnonzero(np.isfinite(best))
                top = best[places]
                self._hold_above(head, places, top, *rivals)
                wrong = self._terms(places, top, *rivals)
                found = self._reading(bit, wrong, self._terms(places, top, most(others), most(after)))
                worst.add(bit, found, float(wrong.total.max()), int(places[np.argmax(wrong.total)]))

    def _hold_above(self, head: HeadFound, places: NDArray[Any], top: Floats, before: Floats, after: Floats) -> None:
        """Hold that no wrong position can have a larger logit than the winner."""
        left = np.concatenate([[-inf], np.maximum.accumulate(before)[:-1]])[places]
        right = np.concatenate([np.maximum.accumulate(after[::-1])[::-1][1:], [-inf]])[places]
        above = np.flatnonzero((left > top) | (right > top))
        if len(above):
            told = f"head {head.name} may weigh a position more than the one that should win"
            place = int(places[above[0]])
            raise NotEnclosed(told, head.layer, head.name, place if head.rightmost else self._n - 1 - place)

    def _terms(self, places: NDArray[Any], top: Floats, before: Floats, after: Floats) -> _Terms:
        """What stands on the two sides of each possible winner, relative to its logit."""
        n, limit = len(before), LARGE * self.form.unit
        total, small, large, count = (np.zeros(len(places)) for _ in range(4))
        steps = np.arange(1, min(WINDOW, n - 1) + 1)
        for side, logits in ((-1, before), (1, after)):
            for part in (slice(start, start + CHUNK) for start in range(0, len(places), CHUNK)):
                j = places[part, None] + side * steps
                inside = (j >= 0) & (j < n)
                one = np.where(inside, self._power(logits[np.clip(j, 0, n - 1)] - top[part, None]), 0.0)
                total[part] += one.sum(axis=1)
                large[part] += (one >= limit).sum(axis=1)
                small[part] += np.where(one >= limit, 0.0, one).sum(axis=1)
            order = logits if side < 0 else logits[::-1]
            running, there = np.maximum.accumulate(order), places if side < 0 else n - 1 - places
            far = there - WINDOW - 1
            one = np.where(far >= 0, self._power(running[np.clip(far, 0, n - 1)] - top), 0.0)
            rest = np.maximum(far + 1, 0)
            total += rest * one
            large += np.where(one >= limit, rest, 0)
            small += np.where(one >= limit, 0.0, rest * one)
            count += np.maximum(there - np.searchsorted(running, top + self.form.vanishing - 1), 0)
        return _Terms(total * SLACK, small * SLACK, large, count)

    def _reading(self, bit: int, wrong: _Terms, every: _Terms) -> tuple[float, float]:
        """What is read at least and at most, over all winners."""
        u, inner = self.form.unit, (self.accumulate or self.form).unit
        steps = every.large * inner
        grown = every.small * np.exp(np.minimum(2 * every.count * inner, 700.0)) * (1 + 2 * u) * SLACK
        room = np.where(steps < 1, 1 - steps, np.nan)
        off = (steps + grown) / room
        off = np.where((1 + every.total) * (1 + off) * (1 + 2 * u) <= self.form.largest, off, np.nan)
        share = wrong.total / (1 + wrong.total)
        most = (1 + 4 * u) / np.where(off < 1, 1 - off, np.nan)  # of all weights together, where exact it is 1
        lost = (every.count + 1) * self.form.least * np.exp(np.minimum(every.count * inner, 700.0))
        alone = (every.count == 0) & (every.total == 0)
        if bit:
            low = (1 - share) * (1 - 4 * u) / (1 + off) - (steps * most + grown * most) / room - lost
            high = most + (steps * most + grown * most) / room + lost
            low, high = np.where(alone, 1.0, low), np.where(alone, 1.0, high)
        else:
            high = share * most + (steps * share * most + grown * most) / room + lost
            low, high = np.zeros_like(high), np.where(alone, 0.0, high)
        low, high = np.where(np.isnan(low), -inf, low), np.where(np.isnan(high), inf, high)
        return float(low.min()) / SLACK - 1e-15, float(high.max()) * SLACK

    def _power(self, apart: Floats) -> Floats:
        """At most exp of the rounded difference, and at most 1."""
        t = self.form.round(apart)
        found = np.exp(np.minimum(t, 0.0))
        bound = np.where(t >= 0, 1.0, np.minimum(found * SLACK + 2.5 * self.form.spacing(found), 1.0))
        bound = np.where(t < self.form.vanishing, 0.0, bound)
        return np.where(np.isneginf(apart), 0.0, bound)

    # ---- means ----

    def _mark(self, mean: MeanFound, weight: Any, bias: Any, n: int) -> NDArray[np.bool_]:
        """At which positions a clip of a mean that is the same for every word may be other than it should."""
        values = self._by_class(self._masks, mean.values)
        order = values[::-1] if mean.mask is Mask.PAST else values
        sums, sizes = np.cumsum(order), np.arange(1.0, n + 1)
        positive, negative = np.cumsum(np.maximum(order, 0)), np.cumsum(np.maximum(-order, 0))
        inner, u = self.accumulate or self.form, (self.accumulate or self.form).unit
        # The denominator: ones, whose partial sums are numbers of the format up to 2^p.
        grown = np.where(sizes <= 2.0**inner.digits, 1.0, (1 - u) ** -sizes)
        grown = np.where(sizes <= 2.0**self.form.digits, grown, grown / (1 - self.form.unit))
        grown = np.where(sizes * grown <= self.form.largest, grown, np.nan)
        share_low, share_high = self.form.round(1 / (sizes * grown)), self.form.round(1 / (sizes / grown))
        bound = np.maximum(positive, negative) * share_high
        steps = (1 - u) ** -(sizes + 2)
        off = bound * (steps - 1) * SLACK + 2 * sizes * self.form.least * steps
        alone = (sizes <= 1) & (np.abs(order) == np.abs(order).round()) & (np.abs(order) <= 1)  # 1 times 0, 1 or -1
        off = np.where(alone, 0.0, off)
        corners = sums * share_low, sums * share_high
        low = self.form.round(np.minimum(*corners) - off)
        high = self.form.round(np.maximum(*corners) + off)
        factor, added = float(self.form.round(np.array(nearest_float(weight)))), nearest_float(bias)
        ends = factor * low, factor * high
        z_low = self.form.round(self.form.round(np.minimum(*ends)) + self.form.round(np.array(added)))
        z_high = self.form.round(self.form.round(np.maximum(*ends)) + self.form.round(np.array(added)))
        exact = float(weight) * sums / sizes + float(bias)
        wrong: NDArray[np.bool_] = ~np.where(exact >= 0.5, z_low >= 1, z_high <= 0) | (
            (exact > 1e-9) & (exact < 1 - 1e-9)
        )
        return wrong


def hold_demands(demands: Mapping[Demand, None], reads: Reads, form: NumberFormat) -> None:
    """Hold that clips that read heads are 0 or 1 as they should.

    Raises:
        NotEnclosed: naming one that may not be.
    """
    for demand in demands:
        low, high = _entered(demand, reads, form)
        if (low < 1) if demand.result else (high > 0):
            coordinate = demand.bits[0][0]
            raise NotEnclosed(f"{demand.what} may be other than {demand.result}", demand.layer, None, coordinate)


def _entered(demand: Demand, reads: Reads, form: NumberFormat) -> tuple[float, float]:
    """The input of a clip, at least and at most: the product of a row and a column, rounded, and then the bias.

    A head's value times a power of two is exact, and so are the other terms; one such product with one more term, or
    alone, is rounded once. A sum of more terms is off by at most (k - 1) u/(1 - (k - 1) u) times their sizes, in any
    order, of which one unit more where products are rounded. The bias is added with one rounding."""
    low = high = float(demand.rest)
    sizes = float(demand.sizes)
    for coordinate, weight, bit in demand.bits:
        ends = [nearest_float(weight) * end for end in reads[coordinate][bit]]
        low, high, sizes = low + min(ends), high + max(ends), sizes + max(map(abs, ends))
    exact = all(_power_of_two(weight) for _, weight, _ in demand.bits)
    count, added = demand.terms + len(demand.bits), nearest_float(demand.bias)
    steps = (0 if count <= 2 and exact else count - 1 + (not exact)) * form.unit
    # What products lose next to the least number of the format, besides.
    lost = 0.0 if exact and all(abs(w) >= 1 for _, w, _ in demand.bits) else count * form.least
    off = (steps / (1 - steps) if steps < 1 else inf) * sizes * SLACK + 1e-12 + lost
    largest = max(sizes, abs(added), *(abs(float(weight)) for _, weight, _ in demand.bits))
    if not 4 * largest <= form.largest or not (isfinite(low - off) and isfinite(high + off)):
        return -inf, inf

    def entered(total: float) -> list[float]:
        # What is accumulated in a wider format is rounded twice.
        products = form.round(np.array([total])), form.round(WIDE.round(np.array([total])))
        return [float(form.round(product + added)[0]) for product in products]

    return min(entered(low - off)), max(entered(high + off))


def _power_of_two(value: Fraction) -> bool:
    above, below = abs(value.numerator), value.denominator
    return above & (above - 1) == 0 and below & (below - 1) == 0


# ---- all lengths to some N at once ----


def hold_to(structure: Structure, form: NumberFormat, accumulate: NumberFormat | None, last: int) -> None:
    """Hold that every evaluation is right on every word of every length up to `last`, from sizes alone.

    Raises:
        NotEnclosed: if that does not follow; for each length by itself it may be so all the same.
    """
    bounds = StructureBounds(structure, form, accumulate)
    bounds.hold_exact()
    with np.errstate(all="ignore"):
        for n in range(max(1, last - 1), last + 1):
            bounds.marks(n, True)
    sizes = [_largest_value(structure, function, last, False) for _, function in structure.model.encodings]
    if structure.model.heads:
        sizes.append(_largest_inverse(structure, last))
    if not all(size <= form.largest for size in sizes):
        raise NotEnclosed("a position encoding, or 1/temperature, may be beyond the format")
    reads = {head.out: _analytic(structure, head, form, last) for head in structure.heads}
    hold_demands(structure.demands, reads, form)


def _analytic(
    structure: Structure, head: HeadFound, form: NumberFormat, last: int
) -> tuple[tuple[float, float], tuple[float, float]]:
    """What a head reads where it should read 0, and where it should read 1, at every length up to `last`."""
    u, slack = form.unit, 1.01
    varying = [max(abs(float(one.key[row])) for one in head.types) for row in range(len(head.keys))]
    scale, sizes, lost, largest, steps = _largest_inverse(structure, last), 0.0, 0.0, 0.0, 0
    for query, key, more in zip(head.queries, head.keys, varying, strict=True):
        left, right = _size_of(structure, query, last), _size_of(structure, key, last) + more
        sizes += left * right
        largest = max(largest, left, right, *(abs(float(w)) for _, w in (*query, *key)))
        # What is lost next to the least number: of a weight, of an encoding, of a product; then of the scores.
        parts = [sum(1 + abs(float(w)) + _size_of(structure, ((k, 1),), last) for k, w in one) for one in (query, key)]
        lost += parts[0] * right + parts[1] * left + parts[0] * parts[1] * form.least + 1
        steps = max(steps, len(query) + len(key) + 6)
    steps += len(head.queries) + 3
    tiny = form.least * (lost * (1 + scale) + sizes + 1) * (1 + u) ** steps
    sizes *= scale
    delta = sizes * ((1 + u) ** steps - 1) * slack + tiny
    largest = max(largest, (sizes + delta) * max(1.0, 1 / scale))
    if not 2 * largest <= form.largest or (last + 1) * u * 4 >= 1 or head.error >= 0.5:
        raise NotEnclosed(f"the logits of head {head.name} may be too large", head.layer, head.name)
    spread = 2 * delta * (1 + u) - form.vanishing * 2 * u
    least = head.error / (1 - head.error) * exp(min(spread, 700.0)) * slack
    weight = least * (1 + 4 * u) / (1 - 4 * u) + 3 * last * form.least
    if weight >= 1 and len({one.value for one in head.types}) > 1:  # else a right position has the largest logit
        raise NotEnclosed(f"the logits of head {head.name} may be off too far", head.layer, head.name)
    share, factor = weight / (1 + weight), ((1 + u) / (1 - u)) ** (last + 3) * SLACK
    lost = (last + 1) * form.least * factor
    return (0.0, share * factor + lost), ((1 - share) / factor - lost, factor)


def _size_of(structure: Structure, form: Terms, last: int) -> float:
    """The largest size of a form of what is the same for every word, at lengths up to `last`."""
    total = 0.0
    for coordinate, weight in form:
        functions = [one for place, one in structure.model.encodings if place == coordinate]
        if not functions:
            size = max(abs(float(value)) for value in structure.static[coordinate])
        else:
            size = sum(_largest_value(structure, one, last, False) for one in functions)
        total += abs(float(weight)) * size
    return total


def _largest_inverse(structure: Structure, last: int) -> float:
    return _largest_value(structure, structure.model.temperature, last, True)


def _largest_value(structure: Structure, function: Any, last: int, inverse: bool) -> float:
    """The largest size of a function, or of 1 over it, at positions and lengths up to `last`."""
    names, all_of_them = function.variables, np.arange(1, last + 1)
    if isinstance(function, PredicateColumn) and not inverse:
        return 1.0
    if len(names) < 2:
        values = float_values(function, all_of_them, all_of_them, inverse)
        if values is not None:
            return float(np.abs(values).max()) * SLACK
        if not names and not inverse:
            return abs(float(function.evaluate())) * SLACK
        raise NotEnclosed(f"the function {function} is taken at each length by itself")
    if inverse:
        raise NotEnclosed("the temperature depends on position and length")
    with suppress(NotProved):
        found = 0.0
        for value, one in zip(structure.classes.evaluate(function), structure.classes.classes, strict=True):
            ends = lower(Ratio.of(value), one.domain), upper(Ratio.of(value), one.domain)
            if None in ends:
                break
            found = max([found, *(abs(float(end)) for end in ends if end is not None)])
        else:
            return found * SLACK
    raise NotEnclosed(f"the encoding {function} has no bound that is known for every length")


def safe_to(
    structure: Structure,
    form: NumberFormat,
    accumulate: NumberFormat | None,
    limit: int,
    report: Callable[[int], None] | None = None,
) -> tuple[int, NotEnclosed | None]:
    """The length up to which every evaluation is right on every word of every length, at most `limit`, and what may be
    wrong at the next. `report` is told how far it is proved."""
    low, high = 0, 1
    while high <= limit and _holds(structure, form, accumulate, high):
        low, high = high, 2 * high
    high = min(high, limit + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _holds(structure, form, accumulate, middle) else (low, middle)
    bounds, left = StructureBounds(structure, form, accumulate), WORK
    try:
        bounds.hold_exact()
        for n in range(low + 1, limit + 1):
            left -= (n + EACH) * max(1, len(structure.different))
            if left < 0:
                raise NotEnclosed("from here on lengths are taken one by one, and that would take too long")
            bounds.hold(n)
            low = n
            if report is not None:
                report(n)
    except NotEnclosed as failure:
        return low, failure
    return low, None


def _holds(structure: Structure, form: NumberFormat, accumulate: NumberFormat | None, last: int) -> bool:
    try:
        hold_to(structure, form, accumulate, last)
    except NotEnclosed:
        return False
    return True
