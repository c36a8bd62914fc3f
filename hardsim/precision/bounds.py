"""Checks of the requirements of `structure`: a formula's network in a number format, for all words of a length at once.

The logits of a head are computed for every position and local type as model.py groups them, each operation rounded
once, or enclosed where a sum has several terms (`arithmetic.Enclosed`). Let l* be the least logit of the position that
should win, over the types with its value, and l_j the largest of position j over the types with the other value that
may be there: any type on the side that loses the tie, unselected types beyond. The requirements differ with the class
of the query, and so do the winners: no position between a winner and the query need be selected. If l_j <= l* for all
j, the right positions together weigh at least 1 relative to the largest logit of all, and the wrong ones at most

    W = sum over j of e(fl(l_j - l*)),    e(t) = exp(t) and two units in the last place,

since exp and rounding are monotone.

Sums of positive terms in any order (ours). Let B of the terms be large and the others, K of them, add up to at most s
(s relative to the whole sum S, which is at least 1 unless stated otherwise). A subtree of additions that has small
terms alone is off by at most a factor (1 + u)^K, and the first addition of such a subtree to one with a large term by
at most its own size, since a sum is rounded to the nearest number and its larger part is one: together at most s
times 2 (1 + u)^K - 1 <= (1 + u)^(2K). The other additions are at most B - 1, and each is off by at most u times its
sum, which is at most the computed S. So S is off by at most

    E = ((B - 1) u S + s (1 + u)^(2K))/(1 - (B - 1) u).

Terms are large from `LARGE` u on. That bounds the denominator of softmax, and in the same way the sum of weights that
are read; each weight is also rounded by itself.

Heads that count are enclosed case by case: see `counts`.

Sparsemax (ours). Let z_1 = 0 be the winner's, and d_2 <= d_3 <= ... lower bounds of the losses -z_j of the others, in
order. Let L = -z_j. The rounded sum of the first j is at least -(j - 1) L (1 + u)^j, and 1 + j z_j is rounded to at
most -(j L (1 - u)^2 - 1)(1 - u). So j counts only if

    L < B_j = 1/(j (1 - u)^3 - (j - 1)(1 + u)^j),

and 2, whose sum is z_2 itself, only if L < 1 = B_2. Let K - 1 be the number of j with d_j < B_j, and B the largest of
these B_j. The count k is at most K, and z_2, ..., z_k are above -B, so -t = (1 - (z_2 + ... + z_k))/k, which is the
winner's weight, is at most

    T = ((K - 1) B (1 + u)^K + 1)/K (1 + u)^2/(1 - u),    and 1 if K = 1,

and at least the least (d_2 + ... + d_k + 1)/k (1 - u)^(k + 2)/(1 + u). The other weights are at most (T - d_j)(1 + u),
or 0. No sum may be beyond the format. Of m equal keys all count, and have fl(1/m) each if m is a number of the format:
then means are those of softmax.

A faster proof (`require_to`) covers all lengths to some N at once: the computed logits are within delta of the exact
ones, by (1 + u)^k times the sizes of the factors, so that the weight of the wrong positions is at most e^(2 delta)
times what the prover of every length allows.

Means of values that are the same for every word (the marks of the first and the last position): for terms whose
partial sums are at most B in size in every order, the sum computed by k additions is off by at most
B ((1 - u)^-k - 1): by induction over the tree of additions, since (x - 1)(y - 1) >= 0 for the bounds x, y >= 1 of two
branches.
Products that are rounded are off by u times the sizes of the terms, at most 2 B u: three more steps cover them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import exp, inf, isfinite
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hardsim.lazy_dataclass import dataclass
from hardsim.network.columns import PredicateColumn
from hardsim.network.numbers import Mask
from hardsim.network.transformer import SoftWeighting, Terms
from hardsim.precision.arithmetic import SLACK, WIDE, Enclosed, Enclosures
from hardsim.precision.counts import CountBounds
from hardsim.precision.formats import Floats, NumberFormat
from hardsim.precision.functions import float_values
from hardsim.precision.lengths import NotEnclosed, OfLength
from hardsim.precision.structure import Demand, HeadStructure, MarkUnit, MeanStructure, Structure
from hardsim.proof.shared.ratios import Ratio, lower, upper
from hardsim.proof.shared.result import NotProved
from hardsim.writing.layout import nearest_float

WORK = 1.2e7
"""Work limit for one format, in positions for each head, at lengths that are checked one by one: some minutes."""
EACH = 500
"""Cost of the work done once for a length, in positions."""
COUNTED = 2
"""Number of logits of counts that cost as much as one position."""
WINDOW = 12
"""Number of positions on each side of the winner that are treated one by one."""
LEVELS = (-0.5, -1.0, -2.0, -3.0, -4.0, -6.0, -8.0, -12.0, -16.0, -24.0, -32.0, -48.0, -64.0)
"""Levels of logits, relative to the winner's, in nats: logits of farther positions count as the level above them."""
ENOUGH = 0.9
"""Least value that is enough for a head that should read 1; below it, a sharper bound is tried."""
MOST_CHOICES = 600
"""Largest number of choices of positions with the two largest logits that are examined one by one."""
CHUNK = 2**14
"""Number of winners that are treated together."""
LARGE = 0.25
"""Least size of a large term of a sum, in units of u."""


Ends: TypeAlias = tuple[tuple[float, float], tuple[float, float]]
"""The least and the largest value that a head reads where it should read 0, and where it should read 1."""
Reads: TypeAlias = Mapping[int, Mapping[int, Ends]]
"""The readings of heads, by coordinate, and by class of the querying positions."""


@dataclass(frozen=True)
class _Terms:
    """The terms of a sum besides the winner's own, for each possible winner: bounds of their total, of the total of
    the small ones, of the number of large ones, and of the number that are not 0; and True if one may have a larger
    logit."""

    total: Floats
    small: Floats
    large: Floats
    count: Floats
    above: NDArray[np.bool_]


@dataclass
class _Worst:
    """The values that a head reads, over all queries of a class, and the winner for which the wrong positions
    weigh most."""

    reads: list[tuple[float, float]] = field(default_factory=lambda: [(0.0, 0.0), (1.0, 1.0)])
    weight: float = -1.0
    place: int = 0

    def add(self, bit: int, found: tuple[float, float], weight: float, place: int) -> None:
        """Add the values read at some queries, where the right value is `bit`."""
        low, high = self.reads[bit]
        self.reads[bit] = min(low, found[0]), max(high, found[1])
        if weight > self.weight:
            self.weight, self.place = weight, place


@dataclass(frozen=True)
class _Seen:
    """The positions visible to similar queries of a class, counted from 0 in the order in which the last position wins
    a tie.

    These are the positions from `start` to `stop`. For each winner among the selected positions, `limit` is the last
    position that one of these queries sees and that, with all positions between, need not be selected (before the
    winner: there is none). `alone` are the positions that win where no position is selected.
    """

    start: int
    stop: int
    limit: NDArray[np.int64]
    alone: NDArray[np.bool_]

    @staticmethod
    def of(own: NDArray[np.int64], free: NDArray[np.bool_], ends_here: bool, all_before: bool) -> _Seen:
        """Return the visible positions for the queries at positions `own`, in that order. `free` are the positions
        that need not be selected, `ends_here` is True if a query sees nothing after itself, `all_before` if it sees
        all positions before."""
        n, places = len(free), np.arange(len(free))
        start, stop = 0 if all_before else int(own[0]), int(own[-1]) if ends_here else n - 1
        blocked = np.append(np.where(free, n, places), n)
        reach = np.minimum.accumulate(blocked[::-1])[::-1][1:] - 1
        if not ends_here:
            last_start = 0 if all_before else int(own[-1])
            limit = np.where((reach == n - 1) & (places >= start), n - 1, -1)
            return _Seen(start, stop, limit, (places == n - 1) & bool(free[last_start:].all()))
        number = np.searchsorted(own, reach, side="right") - 1
        limit = np.where(number >= 0, own[np.maximum(number, 0)], -1)
        alone = np.zeros(n, dtype=np.bool_)
        alone[own] = np.logical_and.accumulate(free)[own]
        return _Seen(start, stop, np.where(limit >= places, limit, -1), alone)


_KNOWN: dict[Any, dict[int, dict[int, tuple[Ends, int]]]] = {}
"""A cache of a head's readings, with the winner for which they are worst: by everything that decides them, by length,
and by class."""


@dataclass
class StructureBounds:
    """Enclosures of a structure's network in a format, length by length."""

    structure: Structure
    arithmetic: Enclosed
    queries: int = 1
    """Number of different queries of a head at the length that was checked last."""
    cells: int = 0
    """Number of logits of counts that were computed at that length."""
    _length: OfLength | None = None
    _likes: dict[str, Any] = field(default_factory=dict)
    _groups: dict[int, list[tuple[int, ...]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.form = self.arithmetic.form

    def require_exact(self) -> None:
        """Require that the format represents the numbers and sums that must be exact. Raises NotEnclosed, naming one
        that it does not represent."""
        inner = self.form  # even if a sum is rounded only at its end, its partial sums must be numbers of the format
        for number, what in self.structure.numbers.items():
            held = float(self.form.round(np.array(float(number)))) if abs(number) <= self.form.largest else inf
            if held != number:
                raise NotEnclosed(f"{what} is no number of this format")
        for one in self.structure.sums:
            fits = one.sizes <= one.quantum * 2**inner.digits and one.sizes <= Fraction(inner.largest)
            if not fits or (one.sizes and one.quantum < Fraction(inner.least)):
                raise NotEnclosed(f"{one.what} is not computed exactly in this format")

    def require(self, n: int) -> None:
        """Require that every evaluation in the format is right on every word of length n. If nothing depends on the
        length, this assumes that it is right on the shorter words. Raises NotEnclosed, saying what may be wrong."""
        sparse = self.structure.model.weighting is SoftWeighting.SPARSEMAX
        if sparse and (self.structure.means or self.structure.counted) and n >= 2**self.form.digits:
            raise NotEnclosed("the number of keys that sparsemax averages is not certainly a number of the format")
        with np.errstate(all="ignore"):
            self.marks(n, not self.structure.causal)
            found: dict[int, dict[int, tuple[Ends, int]]] = {}
            for head in self.structure.heads:
                known = _KNOWN.setdefault(self._alike(head), {})
                if n not in known:
                    known[n] = self._head(head, self._of_length(n))
                found[head.out] = known[n]
            counts = CountBounds(self.structure, self.arithmetic, self._of_length(n))
            found |= counts.require()
            self.cells = counts.logits
        try:
            reads = {out: {site: ends for site, (ends, _) in one.items()} for out, one in found.items()}
            require_demands(self.structure.demands, reads, self.form)
        except _Wrong as failure:
            place, demand = found[failure.coordinate][failure.site][1], failure.demand
            if failure.coordinate in self.structure.reads:
                name, runs = (
                    self.structure.reads[failure.coordinate].name,
                    counts.runs[failure.coordinate, failure.site],
                )
            else:
                head = next(head for head in self.structure.heads if head.out == failure.coordinate)
                name, place, runs = head.name, place if head.rightmost else n - 1 - place, ()
            raise NotEnclosed(demand.message, demand.layer, name, place, runs) from None

    def _alike(self, head: HeadStructure) -> Any:
        """Return everything that decides what a head reads, as a key: heads with equal keys, of any formulas, read
        the same."""
        if head.name not in self._likes:
            structure = self.structure

            def column(coordinate: int) -> Any:
                functions = [one for place, one in structure.model.encodings if place == coordinate]
                users = [one.user if isinstance(one, PredicateColumn) else None for one in functions]
                return (*functions, *users) if functions else structure.static[coordinate]

            rows = [[(column(place), weight) for place, weight in form] for form in (*head.queries, *head.keys)]
            forms = tuple(tuple(row) for row in rows)
            own = head.mask, head.rightmost, head.types, head.places, forms
            lengths = structure.model.temperature, structure.causal
            queries = tuple(self._alike_at(head.out))
            self._likes[head.name] = self.arithmetic, structure.model.weighting, queries, own, lengths
        return self._likes[head.name]

    # ---- values that are the same for every word ----

    def marks(self, n: int, every: bool) -> None:
        """Require that the clips of means that are the same for every word are right, at every position or (unless
        `every`) at the last one. The averaged values depend only on the parity of a position, so a length and the one
        before it stand for all shorter ones. Raises NotEnclosed, naming one that may be wrong."""
        length = self._of_length(n)
        for unit in self.structure.marks:
            mean = next(one for one in self.structure.means if one.out == unit.mean)
            wrong = self._mark(mean, unit, length)
            if (wrong if every else wrong[-1:]).any():
                message = (
                    f"the mean that marks a position (head {mean.name}) is off so far that {unit.what} may be wrong"
                )
                raise NotEnclosed(message, unit.layer, mean.name, int(np.argmax(wrong)))

    def _of_length(self, n: int) -> OfLength:
        if self._length is None or self._length.n != n:
            self._length = OfLength.of(self.structure, self.arithmetic, n)
        return self._length

    def _dot(self, length: OfLength, form: Terms, varying: Sequence[float] = (), place: int = 0) -> Enclosures:
        """Return a form of values that are the same for every word, plus a number for each local type, as (types,
        positions). `place` is the number of terms before that number: sums from the left depend on it."""
        types = max(1, len(varying))
        columns = np.zeros((types, length.n, len(form) + 1))
        weights = np.ones((len(form) + 1, 1))
        for number, (coordinate, weight) in enumerate(form):
            number += number >= place
            columns[:, :, number] = length.columns[coordinate]
            weights[number, 0] = nearest_float(weight)
        columns[:, :, place] = np.array(varying)[:, None] if varying else 0.0
        return self.arithmetic.matmul(Enclosures.of(columns), self.arithmetic.number(weights)).rows((..., 0))

    # ---- heads ----

    def _head(self, head: HeadStructure, length: OfLength) -> dict[int, tuple[Ends, int]]:
        """Return, by class of queries, the values that a head reads where it should read 0, and where it should read
        1, and the winner for which they are worst, counted from 0 on the side on which the last one wins."""
        arithmetic, n = self.arithmetic, length.n
        keys = [
            self._dot(length, form, [float(one.key[row]) for one in head.types], place)
            for row, (form, place) in enumerate(zip(head.keys, head.places, strict=True))
        ]
        if any(self.form.round(np.array(float(part))) != part for one in head.types for part in one.key):
            raise NotEnclosed(f"the key of head {head.name} is no number of the format", head.layer, head.name)
        queries = [self._dot(length, form) for form in head.queries]
        there, side = self._there(head, length), slice(None, None, 1 if head.rightmost else -1)
        ends_here = head.mask is (Mask.FUTURE if head.rightmost else Mask.PAST)
        free = there[np.array([not one.selected for one in head.types])].any(axis=0)[side]
        rows = Enclosures.stacked(keys, -2)
        worst: dict[tuple[int, ...], _Worst] = {}
        groups = list(self._rows(queries, length))
        self.queries = max(1, len(groups))
        for places in groups:
            i = int(places[-1])
            terms = [query.rows((slice(None), slice(i, i + 1))) for query in queries]
            scores = arithmetic.matmul(Enclosures.stacked(terms, -1), rows)
            logits = arithmetic.multiply(scores.rows((slice(None), 0)), length.scale.rows(slice(i, i + 1)))
            for sites in self._alike_at(head.out):
                own = places[np.logical_or.reduce([length.masks[site][places] for site in sites])]
                if len(own):
                    own = own if head.rightmost else n - 1 - own[::-1]
                    seen = _Seen.of(own, free, ends_here, ends_here or head.mask is Mask.NONE)
                    ordered = logits.rows((slice(None), side)), there[:, side]
                    self._row(head, *ordered, seen, worst.setdefault(sites, _Worst()))
        return {site: ((one.reads[0], one.reads[1]), one.place) for sites, one in worst.items() for site in sites}

    def _alike_at(self, coordinate: int) -> list[tuple[int, ...]]:
        """Return the classes of positions in groups with the same requirements on a head: each group is treated
        together."""
        if coordinate not in self._groups:
            demands = self.structure.demands.items()
            queries = [
                frozenset(
                    k for k, (demand, sites) in enumerate(demands) if site in sites and coordinate in demand.heads
                )
                for site in range(len(self.structure.classes.classes))
            ]
            found = [tuple(site for site, one in enumerate(queries) if one == kind) for kind in dict.fromkeys(queries)]
            self._groups[coordinate] = found
        return self._groups[coordinate]

    def _there(self, head: HeadStructure, length: OfLength) -> NDArray[np.bool_]:
        """Return the positions at which each local type can be, as Booleans (types, positions)."""
        found = np.zeros((len(head.types), length.n), dtype=np.bool_)
        for number, one in enumerate(head.types):
            for place in one.classes:
                found[number] |= length.masks[place]
        return found

    def _rows(self, queries: Sequence[Enclosures], length: OfLength) -> Iterator[NDArray[np.int64]]:
        """Yield groups of positions with the same query, from 0; the last position alone if longer words have the
        same queries."""
        if self.structure.causal:
            yield np.array([length.n - 1])
            return
        parts = [array[0] for query in queries for array in (query.low, query.high)]
        parts += [length.scale.low, length.scale.high]
        distinct, inverse = np.unique(np.stack(parts), axis=1, return_inverse=True)
        order = np.argsort(inverse.ravel(), kind="stable")
        yield from np.split(order, np.searchsorted(inverse.ravel()[order], np.arange(1, distinct.shape[1])))

    def _row(
        self, head: HeadStructure, logits: Enclosures, here: NDArray[np.bool_], seen: _Seen, worst: _Worst
    ) -> None:
        """Add the readings of similar queries to `worst`; positions are in the order in which the last one wins a
        tie."""
        here = here & (np.arange(here.shape[1]) >= seen.start) & (np.arange(here.shape[1]) <= seen.stop)
        low, high = logits.low, logits.high
        if np.isnan(low[here]).any() or np.isnan(high[here]).any():
            raise NotEnclosed(f"a logit of head {head.name} is beyond the format", head.layer, head.name)
        if not self.form.infinite and np.isnan(self.form.round(low[here].min() - high[here].max())):
            message = f"logits of head {head.name} differ by more than the largest number of the format"
            raise NotEnclosed(message, head.layer, head.name)
        selected = np.array([one.selected for one in head.types])
        values = np.array([one.value for one in head.types])
        low, high = np.where(here, low, inf), np.where(here, high, -inf)

        def most(kinds: NDArray[np.bool_]) -> Floats:
            found: Floats = high[kinds].max(axis=0) if kinds.any() else np.full(high.shape[1], -inf)
            return found

        for chosen, bit in product((True, False), (0, 1)):
            winners = (selected == chosen) & (values == bit)
            best = low[winners].min(axis=0, initial=inf)
            wins = seen.limit >= 0 if chosen else seen.alone
            places = np.flatnonzero(np.isfinite(best) & wins)
            if not len(places):
                continue
            loser, none = values != bit, np.zeros_like(selected)
            before = loser if chosen else loser & ~selected
            others = np.ones_like(selected) if chosen else ~selected
            beyond, after = (loser & ~selected, ~selected) if chosen else (none, none)
            top, limit = best[places], seen.limit[places] if chosen else places
            if self.structure.model.weighting is SoftWeighting.SPARSEMAX:
                spread = float(high[here].max() - low[here].min())
                for ends in self._projected(head, bit, (places, top, limit), (most(others), most(after)), spread):
                    worst.add(bit, *ends)
                continue
            wrong = self._terms(places, top, limit, most(before), most(beyond))
            every = self._terms(places, top, limit, most(others), most(after))
            found = self._reading(bit, wrong, every)
            if self.arithmetic.in_order and chosen and bit and found[0] < ENOUGH:
                found = self._of_equals(head, Enclosures(low, high), here, places, limit) or found
            worst.add(bit, found, float(wrong.total.max()), int(places[np.argmax(wrong.total)]))

    def _projected(
        self,
        head: HeadStructure,
        bit: int,
        winners: tuple[NDArray[Any], Floats, NDArray[Any]],
        sides: tuple[Floats, Floats],
        spread: float,
    ) -> Iterator[tuple[tuple[float, float], float, int]]:
        """Yield for each possible winner (its position, its least logit, the last position after it) the values that
        sparsemax reads, the weight of the other positions, and the position: see the module. `sides` are the largest
        logits of other positions before and after a winner, `spread` is the largest difference of logits. Raises
        NotEnclosed if another position may have the largest logit, or a sum may be beyond the format."""
        n, u, inner = len(sides[0]), self.form.unit, self.arithmetic.inner.unit
        j = np.arange(2, n + 1)
        room = j * (1 - u) ** 3 - (j - 1) * (1 + inner) ** (j - 1) * (1 + u)
        caps = np.where(j == 2, 1.0, np.where(room > 0, SLACK / room, inf))
        for place, best, stop in zip(*(one.tolist() for one in winners), strict=True):
            others = np.append(sides[0][:place], sides[1][place + 1 : stop + 1])
            losses = np.sort(-self.form.round(others - best))
            losses = losses[losses < inf]
            near = losses < caps[: len(losses)]
            k, cap = np.arange(1, near.sum() + 2), float(caps[: len(losses)][near].max(initial=1.0))
            alone = len(k) == 1
            most = 1.0 if alone else ((k[-1] - 1) * cap * (1 + u) ** k[-1] + 1) / k[-1] * (1 + u) ** 2 / (1 - u) * SLACK
            sums = np.append(0.0, np.cumsum(losses[: len(k) - 1]))
            least = 1.0 if alone else float(((sums + 1) / k * (1 - u) ** (k + 2.0)).min()) / (1 + u) / SLACK
            rest = np.maximum(most - losses, 0.0) * (1 + u)
            terms, beside = 1 + int((rest > 0).sum()), float(rest.sum()) * SLACK
            size = len(losses) * spread * (1 + inner) ** n * 2
            if not (losses >= 0).all() or not isfinite(most) or not size <= self.form.largest:
                message = f"sparsemax may give weight to other keys than the one that head {head.name} looks for"
                raise NotEnclosed(message, head.layer, head.name, place)
            grown = (1 + u) ** (terms + 1) if beside or most > 1 else 1.0
            low = least * ((1 - u) ** terms if grown > 1 else 1.0)
            yield ((low, (most + beside) * grown) if bit else (0.0, beside * grown)), beside, place

    def _of_equals(
        self, head: HeadStructure, ends: Enclosures, here: NDArray[np.bool_], places: NDArray[Any], limit: NDArray[Any]
    ) -> tuple[float, float] | None:
        """Return the least and the largest value that a head which looks for true positions reads, with sums from the
        left. Every selected position must be read as 1, and every other have no weight at all: then any of the
        positions up to the winner may be selected, and the number of positions with each logit decides. Return None
        where this does not apply."""
        selected = np.array([one.selected for one in head.types])
        if selected.sum() != 1 or any(one.value != one.selected for one in head.types):
            return None
        own = np.flatnonzero(here[selected][0])
        logits, others = ends.low[selected][0, own], ends.high[~selected].max(axis=0, initial=-inf)
        if (logits != ends.high[selected][0, own]).any() or (np.diff(logits) < 0).any():
            return None
        others = np.maximum.accumulate(others)
        values, first, sizes = np.unique(logits, return_index=True, return_counts=True)
        winners = np.searchsorted(own, places, side="right")
        found = []
        for number in np.unique(np.searchsorted(values, logits[winners - 1])):
            # The last winner with this logit may have all of these beside it, so that it stands for the others.
            mine = logits[winners - 1] == values[number]
            if self.form.round(others[limit[mine]] - values[number]).max() >= self.form.vanishing:
                return None
            apart = self.form.round(values - values[number])
            gone = np.searchsorted(apart, self.form.vanishing)
            near, far = (float(apart[number - k]) if gone <= number - k else -inf for k in (1, 2))
            rest = int(sizes[gone : max(gone, number - 1)].sum())
            beside = int(sizes[number - 1]) if near > -inf else 0
            equals = int(winners[mine].max() - first[number])
            found.append(_of_levels(self.arithmetic, (equals, beside, rest), (near, far), head.rightmost))
        reads = np.array(found)
        return (float(reads[:, 0].min()), float(reads[:, 1].max())) if np.isfinite(reads).all() else None

    def _terms(self, places: NDArray[Any], top: Floats, limit: NDArray[Any], before: Floats, after: Floats) -> _Terms:
        """Return the terms on the two sides of each possible winner, relative to its logit; those after it only up
        to a limit."""
        n, least = len(before), LARGE * self.form.unit
        total, small, large, count, above = (np.zeros(len(places)) for _ in range(5))
        steps = np.arange(1, min(WINDOW, n - 1) + 1)
        for side, logits, room in ((-1, before, places), (1, after, limit - places)):
            for part in (slice(start, start + CHUNK) for start in range(0, len(places), CHUNK)):
                j = places[part, None] + side * steps
                apart = np.where(steps <= room[part, None], logits[np.clip(j, 0, n - 1)] - top[part, None], -inf)
                one = self._power(apart)
                above[part] += (apart > 0).any(axis=1)
                total[part] += one.sum(axis=1)
                large[part] += (one >= least).sum(axis=1)
                small[part] += np.where(one >= least, 0.0, one).sum(axis=1)
            running = np.maximum.accumulate(logits if side < 0 else logits[::-1])
            there = places if side < 0 else n - 1 - places
            rest = np.maximum(room - WINDOW, 0)
            for held, apart in self._farther(running, np.maximum(there - WINDOW, 0), top, rest):
                one = np.where(held > 0, self._power(apart), 0.0)
                above += (held > 0) & (apart > 0)
                total += held * one
                large += np.where(one >= least, held, 0)
                small += np.where(one >= least, 0.0, held * one)
            near = np.maximum(there - np.searchsorted(running, top + self.form.vanishing - 1), 0)
            count += np.minimum(near, room)
        return _Terms(total * SLACK, small * SLACK, large, count, above > 0)

    def _farther(
        self, running: Floats, ends: NDArray[Any], top: Floats, rest: NDArray[Any]
    ) -> Iterator[tuple[NDArray[Any], Floats]]:
        """Yield bounds for positions farther from a winner than the window, `rest` of them in all: how many may come
        how near to the logit of each winner. `running` is the largest logit up to a position; positions beyond the
        window end before `ends`."""
        nearest = np.where(rest > 0, running[np.maximum(ends - 1, 0)] - top, -inf)
        if (nearest <= 0).all() and (rest * self._power(nearest) <= LARGE * self.form.unit / 4).all():
            yield rest, nearest
            return
        below, reach = np.zeros(len(top), dtype=np.int64), nearest
        for level in (0.0, *LEVELS, self.form.vanishing - 1):
            held = np.minimum(np.maximum(ends - np.searchsorted(running, top + level, side="right"), 0), rest)
            yield np.maximum(held - below, 0), reach
            below, reach = np.maximum(held, below), np.minimum(nearest, level)

    def _reading(self, bit: int, wrong: _Terms, every: _Terms) -> tuple[float, float]:
        """Return the least and the largest value read, over all winners. Where a wrong position may have a larger
        logit than the winner, each term relative to the largest of all is at most the term relative to the winner's,
        and at most 1."""
        u, inner = self.form.unit, self.arithmetic.inner.unit
        steps = every.large * inner
        grown = every.small * np.exp(np.minimum(2 * every.count * inner, 700.0)) * (1 + 2 * u) * SLACK
        room = np.where(steps < 1, 1 - steps, np.nan)
        off = (steps + grown) / room
        off = np.where((1 + every.total) * (1 + off) * (1 + 2 * u) <= self.form.largest, off, np.nan)
        share = np.where(wrong.above, 1.0, wrong.total / (1 + wrong.total))
        most = (1 + 4 * u) / np.where(off < 1, 1 - off, np.nan)  # of all weights together, where exact it is 1
        lost = (every.count + 1) * self.form.least * np.exp(np.minimum(every.count * inner, 700.0))
        alone = (every.count == 0) & (every.total == 0)
        if bit:
            low = (1 - share) * (1 - 4 * u) / (1 + off) - (steps * most + grown * most) / room - lost
            high = most + (steps * most + grown * most) / room + lost
            low, high = np.where(alone, 1.0, low), np.where(alone, 1.0, high)
            # The right position with the largest logit has 1 over the denominator alone, and no weight is negative.
            one = np.where(wrong.above, 0.0, (1 - 2 * u) / ((1 + every.total) * (1 + off)) - self.form.least)
            low = np.where(np.isnan(low), -inf, np.maximum(low, np.fmax(one, 0.0)))
        else:
            high = share * most + (steps * share * most + grown * most) / room + lost
            # If every position with a weight is read as 0, so is the sum, provided the denominator is a number: from
            # the left it is at most 2^p, to which 1 or less adds nothing.
            held = np.minimum(every.count + 1, 2.0**self.arithmetic.inner.digits) <= self.form.largest
            nothing = (wrong.total == 0) & (np.isfinite(off) | (self.arithmetic.in_order & held))
            low, high = np.zeros_like(high), np.where(alone | nothing, 0.0, high)
        high = np.where(np.isnan(high), inf, high)
        return float(low.min()) / SLACK - 1e-15, float(high.max()) * SLACK

    def _power(self, apart: Floats) -> Floats:
        """Return an upper bound of exp of the rounded difference, at most 1."""
        t = self.form.round(apart)
        found = np.exp(np.minimum(t, 0.0))
        bound = np.where(t >= 0, 1.0, np.minimum(found * SLACK + 2.5 * self.form.spacing(found), 1.0))
        bound = np.where(t < self.form.vanishing, 0.0, bound)
        return np.where(np.isneginf(apart), 0.0, bound)

    # ---- means ----

    def _means_in_order(self, mean: MeanStructure, n: int) -> tuple[Floats, Floats]:
        """Return the means that sums from the left give, by number of visible positions."""
        by_parity = {one.even_i: value for one, value in zip(self.structure.classes.classes, mean.values, strict=True)}
        counts, top = np.arange(n), 2 ** max(6, (n - 1).bit_length())
        found = [
            _alternating(self.arithmetic, float(by_parity[start]), float(by_parity[not start]), top)[:n]
            for start in (False, True)
        ]
        # Under the past mask the first visible position is the query itself.
        starts_even = (n - counts) % 2 == 0 if mean.mask is Mask.PAST else np.zeros(n, dtype=np.bool_)
        means = np.where(starts_even, found[True], found[False])
        return means, means

    def _means_in_any_order(self, order: Floats, sums: Floats, sizes: Floats) -> tuple[Floats, Floats]:
        """Return lower and upper bounds of means with sums in any order, by number of visible positions."""
        positive, negative = np.cumsum(np.maximum(order, 0)), np.cumsum(np.maximum(-order, 0))
        inner, u = self.arithmetic.inner, self.arithmetic.inner.unit
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
        return self.form.round(np.minimum(*corners) - off), self.form.round(np.maximum(*corners) + off)

    def _mark(self, mean: MeanStructure, unit: MarkUnit, length: OfLength) -> NDArray[np.bool_]:
        """Return the positions at which a clip of a mean that is the same for every word may be wrong, as Booleans."""
        averaged, n = length.by_class(mean.values), length.n
        order = averaged[::-1] if mean.mask is Mask.PAST else averaged
        sums, sizes = np.cumsum(order), np.arange(1.0, n + 1)
        low, high = (
            self._means_in_order(mean, n) if self.arithmetic.in_order else self._means_in_any_order(order, sums, sizes)
        )
        arithmetic, wrong = self.arithmetic, np.zeros(n, dtype=np.bool_)
        weights = arithmetic.number(np.array([[nearest_float(weight)] for _, weight in unit.form]))
        for case in unit.cases:
            others = iter(case)
            known = [sums / sizes if place == mean.out else np.full(n, float(next(others))) for place, _ in unit.form]
            values = [
                Enclosures(low, high) if place == mean.out else Enclosures.of(one)
                for (place, _), one in zip(unit.form, known, strict=True)
            ]
            exact = sum((float(w) * one for (_, w), one in zip(unit.form, known, strict=True)), float(unit.bias))
            entered = arithmetic.matmul(Enclosures.stacked(values, -1), weights)
            entered = arithmetic.add(entered, arithmetic.number(np.array([[nearest_float(unit.bias)]])))
            right = np.where(exact >= 0.5, entered.low[:, 0] >= 1, entered.high[:, 0] <= 0)
            wrong |= ~right | ((exact > 1e-9) & (exact < 1 - 1e-9))
        return wrong


@lru_cache(maxsize=64)
def _alternating(arithmetic: Enclosed, first: float, second: float, top: int) -> Floats:
    """Return the mean of two numbers that alternate, with softmax and sums from the left, by number of positions."""
    form, inner, ones, found = arithmetic.form, arithmetic.inner, np.zeros(top), np.zeros(top)
    for k in range(top):
        ones[k:] = inner.round(ones[k:] + 1.0)
    share = form.round(1 / form.round(ones))
    for k in range(top):
        found[k:] = inner.round(found[k:] + inner.round((second if k % 2 else first) * share[k:]))
    return form.round(found)


@lru_cache(maxsize=4096)
def _of_levels(
    arithmetic: Enclosed, counts: tuple[int, int, int], apart: tuple[float, float], ascending: bool
) -> tuple[float, float]:
    """Return bounds of the total weight, with sums from the left, of some of the positions that have the largest
    logit (at least one), some of those that have the next, and some of those whose logits are at most a third one.
    The order is from the least to the largest logit if `ascending`, else the reverse. Sums are computed for every
    choice of the first two, if these are few, each within the error of the exponentials and the possible contribution
    of the others."""
    form, inner = arithmetic.form, arithmetic.inner
    row = Enclosures.of(np.array([[0.0, *apart]]))
    powers = arithmetic.powers(row, row.rows((..., slice(1))))
    equals, beside, rest = counts
    chosen = beside if equals * (beside + 1) <= MOST_CHOICES else 0
    many, few = (grid.ravel() for grid in np.meshgrid(np.arange(1, equals + 1), np.arange(chosen + 1)))
    # For each group: the least and the largest number of its members, and bounds of the size of one.
    groups = [
        (np.zeros_like(many), np.full_like(many, rest), powers.low[0, 2], powers.high[0, 2]),
        (few, few if chosen else np.full_like(many, beside), powers.low[0, 1], powers.high[0, 1]),
        (many, many, 1.0, 1.0),
    ]
    groups = groups if ascending else groups[::-1]

    def summed(least: Sequence[Any], most: Sequence[Any]) -> tuple[Floats, Floats]:
        low, high = np.zeros(len(many)), np.zeros(len(many))
        for (fewest, largest, _, _), small, large in zip(groups, least, most, strict=True):
            for k in range(int(largest.max(initial=0))):
                low = np.where(k < fewest, inner.round(low + small), low)
                high = np.where(k < largest, inner.round(high + large), high)
        return form.round(low), form.round(high)

    low, high = summed([one[2] for one in groups], [one[3] for one in groups])
    low, high = summed([form.round(one[2] / high) for one in groups], [form.round(one[3] / low) for one in groups])
    return float(low.min()), float(high.max())


class _Wrong(Exception):
    """An error: a requirement may not be met, at a class, for a head that writes to a coordinate."""

    def __init__(self, demand: Demand, site: int) -> None:
        super().__init__(demand.message)
        self.demand, self.site, self.coordinate = demand, site, demand.bits[0][0]


def require_demands(demands: Mapping[Demand, Collection[int]], reads: Reads, form: NumberFormat) -> None:
    """Require that clips that read heads are 0 or 1 as they should be, at the classes with known readings. Raises
    _Wrong naming a clip that may not be."""
    known: dict[tuple[Demand, tuple[Ends, ...]], bool] = {}
    for demand, sites in demands.items():
        for site in sites:
            if any(site not in reads[coordinate] for coordinate, _, _ in demand.bits):
                continue
            case = demand, tuple(reads[coordinate][site] for coordinate, _, _ in demand.bits)
            if case not in known:
                low, high = _entered(*case, form)
                known[case] = low >= 1 if demand.result else high <= 0
            if not known[case]:
                raise _Wrong(demand, site)


def _entered(demand: Demand, reads: Sequence[Ends], form: NumberFormat) -> tuple[float, float]:
    """Return the least and the largest input of a clip: the product of a row and a column, rounded, and then the
    bias.

    A head's value times a power of two is exact, and so are the other terms; one such product with one more term, or
    alone, is rounded once. A sum of more terms is off by at most (k - 1) u/(1 - (k - 1) u) times their sizes, in any
    order, of which one unit more where products are rounded. The bias is added with one rounding.
    """
    low = high = float(demand.rest)
    sizes = float(demand.sizes)
    for (_, weight, bit), read in zip(demand.bits, reads, strict=True):
        ends = [nearest_float(weight) * end for end in read[bit]]
        low, high, sizes = low + min(ends), high + max(ends), sizes + max(map(abs, ends))
    exact = all(_power_of_two(weight) for _, weight, _ in demand.bits)
    count, added = demand.terms + len(demand.bits), nearest_float(demand.bias)
    steps = (0 if count <= 2 and exact else count - 1 + (not exact)) * form.unit
    # The loss of products near the least number of the format comes on top.
    lost = 0.0 if exact and all(abs(w) >= 1 for _, w, _ in demand.bits) else count * form.least
    off = (steps / (1 - steps) if steps < 1 else inf) * sizes * SLACK + 1e-12 + lost
    largest = max(sizes, abs(added), *(abs(float(weight)) for _, weight, _ in demand.bits))
    if not 4 * largest <= form.largest or not (isfinite(low - off) and isfinite(high + off)):
        return -inf, inf

    def entered(total: float) -> list[float]:
        # A sum accumulated in a wider format is rounded twice.
        products = form.round(np.array([total])), form.round(WIDE.round(np.array([total])))
        return [float(form.round(product + added)[0]) for product in products]

    return min(entered(low - off)), max(entered(high + off))


def _power_of_two(value: Fraction) -> bool:
    above, below = abs(value.numerator), value.denominator
    return above & (above - 1) == 0 and below & (below - 1) == 0


# ---- all lengths to some N at once ----


def require_to(structure: Structure, arithmetic: Enclosed, last: int) -> None:
    """Require that every evaluation is right on every word of every length up to `last`, from sizes alone. Raises
    NotEnclosed if this does not follow from sizes; a check of each length may still succeed."""
    bounds, form = StructureBounds(structure, arithmetic), arithmetic.form
    bounds.require_exact()
    if structure.reads or structure.units:
        raise NotEnclosed("counts are examined length by length")
    with np.errstate(all="ignore"):
        for n in range(max(1, last - 1), last + 1):
            bounds.marks(n, True)
    sizes = [_largest_value(structure, function, last, False) for _, function in structure.model.encodings]
    if structure.model.heads:
        sizes.append(_largest_inverse(structure, last))
    if not all(size <= form.largest for size in sizes):
        raise NotEnclosed("a position encoding, or 1/temperature, may be beyond the format")
    everywhere = range(len(structure.classes.classes))
    reads = {head.out: dict.fromkeys(everywhere, _analytic(structure, head, form, last)) for head in structure.heads}
    try:
        require_demands(structure.demands, reads, form)
    except _Wrong as failure:
        raise NotEnclosed(failure.demand.message, failure.demand.layer) from None


def _analytic(structure: Structure, head: HeadStructure, form: NumberFormat, last: int) -> Ends:
    """Return the values that a head reads where it should read 0, and where it should read 1, at every length up
    to `last`."""
    u, slack = form.unit, 1.01
    varying = [max(abs(float(one.key[row])) for one in head.types) for row in range(len(head.keys))]
    scale, sizes, lost, largest, steps = _largest_inverse(structure, last), 0.0, 0.0, 0.0, 0
    for query, key, more in zip(head.queries, head.keys, varying, strict=True):
        left, right = _size_of(structure, query, last), _size_of(structure, key, last) + more
        sizes += left * right
        largest = max(largest, left, right, *(abs(float(w)) for _, w in (*query, *key)))
        # Losses near the least number of the format: of a weight, of an encoding, of a product; then of the scores.
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
    """Return the largest size of a form of values that are the same for every word, at lengths up to `last`."""
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
    """Return the largest size of a function, or of 1 over it, at positions and lengths up to `last`."""
    names, all_of_them = function.variables, np.arange(1, last + 1)
    if isinstance(function, PredicateColumn) and not inverse:
        return 1.0
    if len(names) < 2:
        values = float_values(function, all_of_them, all_of_them, inverse)
        if values is not None:
            return float(np.abs(values).max()) * SLACK
        if not names and not inverse and not getattr(function, "irrational", False):
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
    arithmetic: Enclosed,
    limit: int,
    report: Callable[[int], None] | None = None,
    known: int = 0,
) -> tuple[int, NotEnclosed | None]:
    """Return the greatest length, at most `limit`, such that every evaluation is right on every word up to it; and the
    error for the next length (None at the limit). Lengths up to `known` are proved already. `report` is called with
    each proved length."""
    low, high = known, max(1, 2 * known)
    while high <= limit and _holds(structure, arithmetic, high):
        low, high = high, 2 * high
    high = min(high, limit + 1)
    while high - low > 1:
        # `require_to` proves all shorter lengths at once, so doubling and bisection find its end; single lengths go on
        # from there.
        middle = (low + high) // 2
        low, high = (middle, high) if _holds(structure, arithmetic, middle) else (low, middle)
    bounds, left = StructureBounds(structure, arithmetic), WORK
    try:
        bounds.require_exact()
        for n in range(low + 1, limit + 1):
            left -= (n + EACH) * max(1, len(structure.different)) * bounds.queries
            if left < 0:
                raise NotEnclosed("from here on lengths are taken one by one, and that would take too long")
            bounds.require(n)
            low, left = n, left - bounds.cells / COUNTED
            if report is not None:
                report(n)
    except NotEnclosed as failure:
        return low, failure
    return low, None


def _holds(structure: Structure, arithmetic: Enclosed, last: int) -> bool:
    if structure.model.weighting is SoftWeighting.SPARSEMAX:
        return False  # there is no proof for all lengths at once
    try:
        require_to(structure, arithmetic, last)
    except NotEnclosed:
        return False
    return True
