"""Check bounds of linear functions of what a head of the second layer reads, over all prefixes of a class.

The key and the value at a position depend on the prefix that ends there. The prefixes of each class of the position are
divided into cells (`layers`), and over a cell queries, keys and values have affine enclosures (`CellForm`), of which
the first coordinates zeta stay, those of the first layer's box; the others are in e. Values are given in the
coordinates of the certificate, as in `columns`.

Adding the same vector to all keys of a head changes no weight. Here the mean of the middles of the keys of all cells is
subtracted.

**Scores.** With q + S zeta + e and k + T zeta' + f for a query and a key, where |e| <= e' and |f| <= f',

    |score - q.k| <= sum |T_m q| + sum |S_m k| + |q|.f' + |k|.e' + (|S| + e').(|T| + f'),

where |S| is the sum of the sizes of the rows of S. All that is rounded is at most gamma_(d + 16) (|q| + |S| + e').(|k|
+ |T| + f'). A query and the key of the same cell have the same zeta: |T_m q + S_m k| stands for the first two terms.

**Supports.** A query lies in one cell, so the weight e^(score - M) of a key of a cell is between two bounds, for any
M. For a direction d and a number L, the gain of a move of the machine at a position is the greatest w (d.z - L) for
the weights and values of all cells of its class. If the greatest sum of gains along a path of the machine to the class
of the query is at most 0, then d.z <= L for the mean z of all prefixes of the class with their last position in the
cell: each prefix is a path, and at each position in some cell. The tokens before the word and the last position
itself, whose key and value are those of the query's cell, add one gain each.

x = fl(t - L), for an upper bound t of d.z, and its product with a bound of the weight are rounded once each, and so is
each sum: x + 8 u |x| + ETA is an upper bound after each step, see `raised`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf, nextafter
from operator import add, itemgetter

from hardsim.verify.arithmetic import require
from hardsim.verify.external.affine import CellForm, linear, normed
from hardsim.verify.external.columns import Vector
from hardsim.verify.external.machine import ClaimedMachine
from hardsim.verify.external.network import HeadData, LinearData, NetworkData
from hardsim.verify.external.numbers import ETA, GROW, LARGEST, U, dot, exp_between, gamma
from hardsim.verify.external.supports import MachinePaths, gained, greatest, raised

LITTLE = 2.0**-8
"""Slopes of keys and queries that are smaller than this part of the greatest one count as errors."""
EXP_OFF = 2.0**-40
"""A bound of the relative errors of a weight from the difference of two scores, which is at most 700, and a product."""
Ends = tuple[float, float]
"""A lower and an upper bound."""
Place = tuple[int, int, int]
"""A class: length, last symbol, and the state before it."""


def shortened(x: CellForm, kept: Sequence[int]) -> CellForm:
    """Return an enclosure with some of the coordinates zeta; what the others add is in e."""
    chosen = {*kept}
    rest = [slope for k, slope in enumerate(x.slopes) if k not in chosen]
    loose = [sum(map(abs, column)) for column in zip(*rest, strict=True)] if rest else [0.0] * len(x.c)
    e = [(a + b) * GROW + ETA for a, b in zip(x.e, loose, strict=True)]
    return CellForm(x.c, [x.slopes[k] for k in kept], e)


def without_little(x: CellForm, count: int = 0) -> CellForm:
    """Return an enclosure without the coordinates that add little, but with the first `count` ones."""
    sizes = [sum(map(abs, slope)) for slope in x.slopes]
    least = LITTLE * max(sizes, default=0.0)
    return shortened(x, [k for k, size in enumerate(sizes) if k < count or size > least])


@dataclass(frozen=True, slots=True)
class CellHead:
    """A query, a key and a value (in the coordinates of the certificate) of one head over a cell, with a bound of what
    these coordinates leave out of the value."""

    query: CellForm
    key: CellForm
    value: CellForm
    rest: Vector


class SecondHead:
    """One head of the second layer: the maps from the vector that enters it, with the rows of its axes."""

    def __init__(self, head: HeadData, axes: list[Vector]) -> None:
        self.head, self.axes = head, axes
        width = len(head.v.columns)
        self.turned = LinearData([[row[c] for row in axes] for c in range(width)], [0.0] * len(axes))
        self.left: list[Vector] = []
        """By coordinate c of a value v, a bound of |1 - B^T B| in row c, for the rows B of the axes."""
        g = gamma(len(axes) + 8)
        for c in range(width):
            products = [([row[c] for row in axes], [row[k] for row in axes]) for k in range(width)]
            near = [abs((c == k) - dot(one, other)) for k, (one, other) in enumerate(products)]
            sizes = [1 + dot([*map(abs, one)], [*map(abs, other)]) for one, other in products]
            self.left.append([(a + g * b) * GROW for a, b in zip(near, sizes, strict=True)])

    def __call__(self, y: CellForm, count: int) -> CellHead:
        """Return the forms of vectors that enter the head, with the first `count` coordinates zeta."""
        kept = range(count)
        query, key, value = (shortened(linear(y, part), kept) for part in (self.head.q, self.head.k, self.head.v))
        # the scale is within 4 u of the true one, and each product adds u
        scale, near = self.head.scale, abs(self.head.scale)
        sizes = zip(query.c, query.spread(), query.e, strict=True)
        e = [(b + 8 * U * (abs(a) + s + b)) * near * GROW + ETA for a, s, b in sizes]
        query = CellForm([a * scale for a in query.c], [[a * scale for a in slope] for slope in query.slopes], e)
        reach = [abs(a) + s + b for a, s, b in zip(value.c, value.spread(), value.e, strict=True)]
        rest = [dot(row, reach) * GROW + ETA for row in self.left]
        return CellHead(query, key, linear(value, self.turned), rest)


class LayerEntry:
    """The second layer up to its heads."""

    def __init__(self, network: NetworkData, axes: Sequence[list[Vector]]) -> None:
        self.norm = None if network.post else network.norm_1
        self.heads = [SecondHead(*pair) for pair in zip(network.heads, axes, strict=True)]

    def __call__(self, x: CellForm, count: int) -> list[CellHead]:
        """Return the forms of each head over the vectors that enter the layer, with the first `count` coordinates zeta.
        Raises Rejected if a norm may divide by 0, or numbers are too large."""
        x = without_little(x.opened(), count)
        y = x if self.norm is None else normed(x, self.norm)
        found = [head(y, count) for head in self.heads]
        for one in found:
            for form in (one.query, one.key, one.value):
                fine = all(abs(a) + s + b < LARGEST for a, s, b in zip(form.c, form.spread(), form.e, strict=True))
                require(fine, "too large: a query, a key or a value of the second layer")
        return found


@dataclass(frozen=True, slots=True)
class ScoredKey:
    """A key for products with queries: the middle, the slopes, and one vector that has bounds of the errors, of the
    distance from the middle, and the sizes of the middle."""

    c: Vector
    slopes: list[Vector]
    sizes: Vector

    @classmethod
    def of(cls, key: CellForm) -> ScoredKey:
        """Return the form of a key for products."""
        reach = [(s + e) * GROW for s, e in zip(key.spread(), key.e, strict=True)]
        return cls(key.c, key.slopes, [*key.e, *reach, *map(abs, key.c)])

    def products(self, query: CellForm, factors: Vector) -> Ends:
        """Return the middle of the scores of a query, and a bound of their distance from it without the two terms that
        are linear in zeta, which `score` and `own` add. `factors` are `factors_of(query)`."""
        return dot(self.c, query.c), dot(self.sizes, factors)

    def score(self, query: CellForm, factors: Vector) -> Ends:
        """Return bounds of the scores of a query in another cell."""
        near, off = self.products(query, factors)
        c, q = self.c, query.c
        off += sum([abs(dot(slope, q)) for slope in self.slopes]) + sum([abs(dot(slope, c)) for slope in query.slopes])
        off = off * GROW + ETA
        return near - off, near + off

    def own(self, query: CellForm, factors: Vector) -> Ends:
        """Return bounds of the scores of a query in the same cell, with the same coordinates zeta."""
        near, off = self.products(query, factors)
        pairs = zip(self.slopes, query.slopes, strict=True)
        off += sum([abs(dot(one, query.c) + dot(other, self.c)) for one, other in pairs])
        off = off * GROW + ETA
        return near - off, near + off


def factors_of(query: CellForm) -> Vector:
    """Return the factors of a query for `ScoredKey.sizes`: their product bounds the error of a score."""
    g, sizes = gamma(len(query.c) + 16), [*map(abs, query.c)]
    reach = [(s + e) * GROW for s, e in zip(query.spread(), query.e, strict=True)]
    second = [r * GROW + g * a for r, a in zip(reach, sizes, strict=True)]
    third = [e + g * (a + r) * GROW for e, a, r in zip(query.e, sizes, reach, strict=True)]
    return [*sizes, *second, *third]


def top(value: CellForm, direction: Vector) -> float:
    """Return an upper bound of d.z over a cell."""
    near, sizes = dot(direction, value.c), [*map(abs, direction)]
    reach = [abs(a) + s + e for a, s, e in zip(value.c, value.spread(), value.e, strict=True)]
    off = sum(abs(dot(direction, slope)) for slope in value.slopes) + dot(sizes, value.e)
    return near + ((off + gamma(len(direction) + 16) * dot(sizes, reach)) * GROW + ETA)


def tops(value: CellForm) -> Vector:
    """Return upper bounds of all coordinates z_k over a cell, and of their opposites."""
    sizes = zip(value.c, value.spread(), value.e, strict=True)
    off = [(s + e) * GROW + 8 * U * abs(a) + ETA for a, s, e in sizes]
    return [*map(add, value.c, off), *(b - a for a, b in zip(value.c, off, strict=True))]


class CellSupports:
    """The bounds of one head of the second layer over the cells of all classes of a part of the words."""

    def __init__(
        self,
        machine: ClaimedMachine,
        paths: MachinePaths,
        cells: dict[Place, list[CellHead]],
        fixed: list[CellHead],
        spend: Callable[[int], None],
    ) -> None:
        """`cells` are those of each class, `fixed` the tokens before the word."""
        self.machine, self.paths, self.spend = machine, paths, spend
        every = [*fixed, *(one for own in cells.values() for one in own)]
        middles = [*zip(*(one.key.c for one in every[len(fixed) :]), strict=True)]
        self.centre = [sum(column) / len(column) for column in middles]
        self.fixed, self.at = range(len(fixed)), dict[Place, range]()
        start = len(fixed)
        for place, own in cells.items():
            self.at[place] = range(start, start + len(own))
            start += len(own)
        self.keys = [ScoredKey.of(without_little(self.centred(one.key))) for one in every]
        self.values = [one.value for one in every]
        self.tops = [tops(one.value) for one in every]
        self.most = greatest(self.tops)

    def centred(self, key: CellForm) -> CellForm:
        """Return a key minus the mean of the middles of all keys."""
        c = [a - b for a, b in zip(key.c, self.centre, strict=True)]
        e = [(a + 2 * U * abs(b)) * GROW + ETA for a, b in zip(key.e, c, strict=True)]
        return CellForm(c, key.slopes, e)

    def box(self, place: Place, own: CellHead, low: Vector, high: Vector) -> bool:
        """Return True if it is certain that low <= z <= high for all prefixes of a class whose last position is in a
        cell."""
        levels, theirs = [*high, *(-one for one in low)], tops(own.value)
        most = [max(pair) for pair in zip(self.most, theirs, strict=True)]
        # where no value is above L, no mean is
        chosen = [k for k, (level, one) in enumerate(zip(levels, most, strict=True)) if not level >= one]
        if not chosen:
            return True
        taken = itemgetter(*chosen, chosen[0])
        return self._holds(place, own, lambda number: taken(self.tops[number]), taken(theirs), taken(levels))

    def bounded(self, place: Place, own: CellHead, directions: Sequence[Vector], levels: Vector) -> bool:
        """Return True if it is certain that d.z <= L for all directions d with their L, for all prefixes of a class
        whose last position is in a cell."""
        if not directions:
            return True

        def values(number: int) -> Vector:
            value = self.values[number]
            self.spend(len(directions) * (1 + (len(value.slopes) + 4) * (1 + len(value.c) // 8)))
            return [top(value, direction) for direction in directions]

        return self._holds(place, own, values, [top(own.value, direction) for direction in directions], levels)

    def _moves(self, place: Place) -> Iterator[tuple[Place, int]]:
        """Yield the classes of the positions before the last one that occur in the prefixes of a class, by position,
        with the state to which their move leads."""
        length, _, state = place
        alive, moves = [{state}], self.machine.moves
        for n in range(length - 2, -1, -1):
            here = self.paths.states[n]
            self.spend(len(here) * len(moves[0]))
            alive.append({one for one in here if not alive[-1].isdisjoint(moves[one])})
        alive.reverse()
        for n, (before, after) in enumerate(pairwise(alive)):
            for source in sorted(before):
                for symbol, target in enumerate(moves[source]):
                    if target in after:
                        yield (n + 1, symbol, source), target

    def _holds(
        self,
        place: Place,
        own: CellHead,
        values: Callable[[int], Sequence[float]],
        theirs: Sequence[float],
        levels: Sequence[float],
    ) -> bool:
        """Return True if, for every direction, no path of the machine has a sum of gains above 0. `values` gives the
        upper bounds of d.z over a cell or at a fixed token, `theirs` those at the last position."""
        moves = [*self._moves(place)]
        used = [*self.fixed, *(number for at, _ in moves for number in self.at[at])]
        self.spend(len(used) * (14 + len(self.centre) // 2 + len(levels) // 4))
        weights, last = self._weights(own, used)
        lowered = [nextafter(level, -inf) for level in levels]

        def gains(number: int) -> Vector:
            return gained(values(number), lowered, *weights[number])

        value = raised(gained(theirs, lowered, *last))
        for number in self.fixed:
            value = raised([*map(add, value, raised(gains(number)))])
        reached, after, length = {0: value}, dict[int, Vector](), 1
        for at, target in moves:
            if at[0] > length:
                reached, after, length = after, {}, at[0]
            here = raised([*map(add, reached[at[2]], raised(greatest([gains(number) for number in self.at[at]])))])
            after[target] = greatest([after[target], here]) if target in after else here
        found = after if moves else reached
        return all(one <= 0 for one in found[place[2]])

    def _weights(self, own: CellHead, used: Sequence[int]) -> tuple[dict[int, Ends], Ends]:
        """Return bounds of the weights of cells and fixed tokens for the query of a cell, and of the last position
        itself, up to a common factor."""
        query = without_little(own.query)
        factors = factors_of(query)
        ends = {number: self.keys[number].score(query, factors) for number in used}
        last = ScoredKey.of(self.centred(own.key)).own(own.query, factors_of(own.query))
        every = [last, *ends.values()]
        require(all(-(LARGEST**4) < low <= high < LARGEST**4 for low, high in every), "too large: a score")
        most = max(high for _, high in every)

        def between(low: float, high: float) -> Ends:
            return exp_between(low - most)[0] * (1 - EXP_OFF), exp_between(high - most)[1] * (1 + EXP_OFF)

        return {number: between(*pair) for number, pair in ends.items()}, between(*last)
