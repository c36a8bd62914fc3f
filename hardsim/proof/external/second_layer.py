"""The second of two layers: upper bounds of a head's outputs over the prefixes of a class, from cells of the first.

The key and the value at a position depend on the prefix that ends there, through the first layer. For each class of the
position (`first_layer`) they lie in the enclosures of its cells. A query is given by a cell, too; with it the score of
a key is between bounds, and so its weight, `low` and `high`. For a direction c and a number L let

    V(L) = the maximum over paths of the machine of the sum over positions j of the greatest gain of the move at j,

where the gain of a move is the greatest over its cells of the greatest w (c.v - L) for w in [low, high] and v in the
enclosure of the values. The keys and values of every prefix of the query's class are in some cells along its path, so
V(L) is at least the true sum of the w_j (c.v_j - L), and `c.a <= L` for all prefixes if V(L) <= 0. Histories of
different positions are chosen independently, so the bound may exceed the true maximum; it is closer where paths are
restricted to fewer words.

Adding the same vector to all keys changes no weight, so keys are taken relative to their mean: what is unknown of the
query moves scores by less. That is not so where scores have a soft cap; there the mean is not subtracted.

A cell is at a known position. Rotary positions turn its queries and keys by known angles, which is a linear map. Biases
of distances are known numbers, and keys outside a window have the weight 0. Soft caps increase with their argument, so
the bounds of a product give those of the score.

Rigour is as in `supports`: passes are rounded upward, and a pass that ends at or below 0 makes L a bound. Scores and
values are affine enclosures with their rounding; weights are e^(score - M), with M the greatest bound of a score.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from hardsim.lazy_dataclass import dataclass
from hardsim.network.dense import Network, NetworkHead
from hardsim.proof.external.affine import ROUND, AffineForm, LinearPart, NormForm
from hardsim.proof.external.columns import FLOOR, PrefixClasses
from hardsim.proof.external.logits import Basis
from hardsim.proof.external.narrowing import RangeOracle, mapped
from hardsim.proof.external.ranges import NormedMap
from hardsim.proof.external.supports import DOWN, UP, Paths
from hardsim.run.dense_float import scale_of
from hardsim.run.enclosure import ETA, GROW, Floats, Integers, U, gamma
from hardsim.run.float_blocks import ScoreSteps, Turns

NUMBERS = 2**19
"""The count of numbers in an array of a batch of queries."""
STEPS = 14
"""Greatest number of passes for one bound."""
CLOSE = 2e-6
"""Relative distance from the root at which the search for L stops."""
EXP_OFF = 2.0**-40
"""A bound of the relative errors of exp for numbers from FLOOR to 0, with those of the differences (at most 600 u) and
of two operations that follow."""


@dataclass(frozen=True, slots=True)
class HeadAxes:
    """Directions along which the vectors of one head are bounded, by row: `keys` is a nearly orthogonal matrix, as is
    `values`, and `lost` bounds the length of (A^T A - 1) v for v of length 1; `queries` are some typical queries."""

    keys: Floats
    values: Floats
    queries: Floats
    lost: float

    @classmethod
    def of(cls, forms: HeadForms, most: int) -> HeadAxes:
        """Return principal axes of keys and values, and at most `most` queries, each far from those before it."""
        axes = [Basis.of(np.nan_to_num(one.c), 1.0) for one in (forms.keys, forms.values)]
        every = np.nan_to_num(forms.queries.c)
        chosen = [0] if len(every) else []
        apart = np.full(len(every), np.inf)
        while chosen and len(chosen) < min(most, len(every)):
            apart = np.minimum(apart, np.abs(every - every[chosen[-1]]).sum(axis=1))
            chosen.append(int(apart.argmax()))
        return cls(axes[0].axes, axes[1].axes, every[chosen], max(one.lost for one in axes))


@dataclass(frozen=True, slots=True)
class AxisRanges:
    """Bounds of the products of vectors and some directions: `mid` and `rad`, (N, directions)."""

    mid: Floats
    rad: Floats

    def at(self, index: Any) -> AxisRanges:
        """Return some of the rows."""
        return AxisRanges(self.mid[index], self.rad[index])

    @classmethod
    def of(cls, form: AffineForm, directions: Floats, oracle: RangeOracle) -> AxisRanges:
        """Return the bounds for the vectors of a form, of whose linear part an oracle knows the ranges."""
        slopes = form.slopes @ directions.T
        ends = np.abs(slopes).sum(axis=1) * GROW
        low, high = oracle(slopes)
        low = np.fmax(low, -ends)
        high = np.maximum(np.fmin(high, ends), low)
        lost = (form.e + 2 * ROUND * form.size) @ np.abs(directions).T * GROW + ETA
        middle = (low + high) / 2
        return cls(form.c @ directions.T + middle, (np.maximum(high - middle, middle - low) + lost) * GROW)


@dataclass(frozen=True, slots=True)
class KnownRanges:
    """Ranges of one head's vectors by cell: queries and keys along the axes of keys, keys along the typical
    queries, and values along the axes of values."""

    axes: HeadAxes
    queries: AxisRanges
    keys: AxisRanges
    scores: AxisRanges
    values: AxisRanges

    def at(self, index: Any) -> KnownRanges:
        """Return those of some cells."""
        return KnownRanges(self.axes, *(one.at(index) for one in self._parts))

    @property
    def _parts(self) -> tuple[AxisRanges, AxisRanges, AxisRanges, AxisRanges]:
        return self.queries, self.keys, self.scores, self.values

    @classmethod
    def of(cls, axes: HeadAxes, forms: HeadForms, oracle: RangeOracle) -> KnownRanges:
        """Return the ranges of some cells with their oracle."""
        keys = AxisRanges.of(forms.keys, np.concatenate([axes.keys, axes.queries]), oracle)
        count = len(axes.keys)
        return cls(
            axes,
            AxisRanges.of(forms.queries, axes.keys, oracle),
            AxisRanges(keys.mid[:, :count], keys.rad[:, :count]),
            AxisRanges(keys.mid[:, count:], keys.rad[:, count:]),
            AxisRanges.of(forms.values, axes.values, oracle),
        )

    @classmethod
    def joined(cls, parts: list[KnownRanges]) -> KnownRanges:
        """Return the rows of several, one after the other."""
        every = zip(*(one._parts for one in parts), strict=True)
        fields = (([one.mid for one in column], [one.rad for one in column]) for column in every)
        return cls(parts[0].axes, *(AxisRanges(np.concatenate(mid), np.concatenate(rad)) for mid, rad in fields))


@dataclass(frozen=True, slots=True)
class HeadForms:
    """Enclosures of the queries, keys and values of one head, by cell, with the positions of the cells among all
    tokens. `known` are ranges along axes, where they were looked for."""

    queries: AffineForm
    keys: AffineForm
    values: AffineForm
    places: Integers
    known: KnownRanges | None = None

    def at(self, index: Any) -> HeadForms:
        """Return those of some cells."""
        q, k, v = (one.at(index) for one in self._parts)
        return HeadForms(q, k, v, self.places[index], None if self.known is None else self.known.at(index))

    @property
    def _parts(self) -> tuple[AffineForm, AffineForm, AffineForm]:
        return self.queries, self.keys, self.values

    @classmethod
    def joined(cls, parts: list[HeadForms]) -> HeadForms:
        """Return the rows of several, one after the other."""
        every = zip(*(one._parts for one in parts), strict=True)
        known = [one.known for one in parts if one.known is not None]
        q, k, v = (_joined(list(column)) for column in every)
        places = np.concatenate([one.places for one in parts])
        return cls(q, k, v, places, KnownRanges.joined(known) if known else None)


def _joined(forms: list[AffineForm]) -> AffineForm:
    fields = ([one.c, one.slopes, one.e] for one in forms)
    return AffineForm(*(np.concatenate(column) for column in zip(*fields, strict=True)))


def kept_coordinates(form: AffineForm, kept: Integers) -> AffineForm:
    """Return the form with these coordinates of z alone: what the others add is in e."""
    rest = np.abs(form.slopes).sum(axis=1) - np.abs(form.slopes[:, kept]).sum(axis=1)
    lost = ROUND * np.abs(form.slopes).sum(axis=1)
    return AffineForm(form.c, form.slopes[:, kept], (form.e + np.maximum(rest, 0.0) + lost) * GROW)


def turned(form: AffineForm, turns: Turns, places: Integers) -> AffineForm:
    """Return the enclosure of vectors turned by their positions."""
    slopes = turns(form.slopes.transpose(1, 0, 2), places).transpose(1, 0, 2)
    return AffineForm(turns(form.c, places), slopes, turns.each(form.size, form.e, places))


class HeadEntry:
    """The maps from the residual stream to the queries, keys and values of one head of the second layer, and the steps
    from their products to scores."""

    def __init__(self, head: NetworkHead, beside: tuple[Floats, Floats | None] | None) -> None:
        """`beside` are midpoints and radii of what queries and keys read besides, by position."""
        self.q, self.k = LinearPart.of(head.w_q, head.b_q), LinearPart.of(head.w_k, head.b_k)
        self.v = LinearPart.of(head.w_v, head.b_v)
        self.scale, self.off = scale_of(head.scale)
        self.norms = [
            None if norm is None else NormForm(norm, head.w_k.shape[1]) for norm in (head.norm_q, head.norm_k)
        ]
        self.turns = None if head.rotary is None else Turns(head.rotary)
        self.steps, self.window = ScoreSteps(head.cap, head.distance), head.window
        self.beside: list[AffineForm] = []
        """The vectors that are added to queries and to keys, by position."""
        if beside is not None:
            mid, off = beside
            form = AffineForm(mid, np.zeros((len(mid), 0, mid.shape[1])), np.zeros_like(mid) if off is None else off)
            self.beside = [LinearPart.of(weight, None)(form) for weight in (head.w_q, head.w_k)]

    def __call__(self, y: AffineForm, kept: Integers | None, places: Integers) -> HeadForms:
        """Return the queries, keys and values of vectors after the norm at some positions, with the coordinates `kept`
        of z (None: all)."""
        return self.finished([part(y) for part in (self.q, self.k, self.v)], kept, places)

    def finished(self, parts: list[AffineForm], kept: Integers | None, places: Integers) -> HeadForms:
        """Return the enclosures of queries, keys and values of vectors at the positions `places`, with the coordinates
        `kept` of z (None: all). `parts` are the vectors after the linear maps; norms, biases of positions and rotations
        follow here."""
        parts = list(parts)
        for number, norm in enumerate(self.norms):
            if self.beside:
                own = self.beside[number]
                parts[number] = parts[number].plus(own.at(places))
            if norm is not None:
                # The new coordinates of a query and of a key are not the same, so they go to e.
                parts[number] = norm(parts[number]).first(parts[number].slopes.shape[1])
        q, k, v = parts if kept is None else [kept_coordinates(part, kept) for part in parts]
        # after the choice of coordinates, so that fewer slopes are turned
        if self.turns is not None:
            q, k = turned(q, self.turns, places), turned(k, self.turns, places)
        near = abs(self.scale)
        e = (q.e * near + q.size * near * (self.off + ROUND) + ETA) * GROW
        return HeadForms(AffineForm(q.c * self.scale, q.slopes * self.scale, e), k, v, places)

    def scored(self, products: ScoreEnds, away: Integers) -> ScoreEnds:
        """Return bounds of scores from those of products; `away` are the distances of keys before their queries. They
        are -inf outside the window."""
        low, high = products.low, products.high
        # caps and biases increase with the product, so its bounds go to bounds
        if self.steps.any:
            size = np.maximum(np.abs(low), np.abs(high))
            off = self.steps.slip(np.zeros_like(size), size, np.abs(away))
            low, high = (self.steps.at(one.copy(), away) for one in (low, high))
            low, high = low - off - 4 * U * (np.abs(low) + off), high + off + 4 * U * (np.abs(high) + off)
        if self.window is not None:
            low, high = (np.where(np.abs(away) < self.window, one, -np.inf) for one in (low, high))
        return ScoreEnds(low, high)


class SecondEntry:
    """The norm before the second layer's attention, and its heads."""

    def __init__(self, network: Network, positions: tuple[Floats, Floats | None] | None) -> None:
        """`positions` are midpoints and radii of the encodings of positions; None if there are none."""
        layer = network.layers[1]
        before = layer.norm_1 is not None and not layer.post
        self.norm = NormForm(layer.norm_1, network.dimension) if before and layer.norm_1 is not None else None
        beside = positions if network.positions_at == "scores" else None
        self.heads = [HeadEntry(head, beside) for head in layer.heads]
        every = [part for head in self.heads for part in (head.q, head.k, head.v)]
        self.map = NormedMap(self.norm, LinearPart.beside(every)) if every else None
        """The map to the queries, keys and values of all heads, in order."""
        self.ends = np.cumsum([0, *(part.weight.shape[1] for part in every)])

    def __call__(
        self, stream: AffineForm, kept: Integers | None, places: Integers, oracle: RangeOracle | None = None
    ) -> list[HeadForms]:
        """Return the queries, keys and values of each head at some positions; with the ranges that an oracle gives, if
        there is one."""
        if oracle is None or self.map is None:
            y = stream if self.norm is None else self.norm(stream)
            return [head(y, kept, places) for head in self.heads]
        u = mapped(self.map, stream, oracle).form
        cuts = [slice(*pair) for pair in pairwise(self.ends.tolist())]
        parts = [AffineForm(u.c[:, cut], u.slopes[:, :, cut], u.e[:, cut]) for cut in cuts]
        return [head.finished(parts[3 * n : 3 * n + 3], kept, places) for n, head in enumerate(self.heads)]


@dataclass(frozen=True, slots=True)
class ScoreEnds:
    """Bounds of the products of queries and keys, or of scores, (keys, queries)."""

    low: Floats
    high: Floats


def _reach(form: AffineForm) -> Floats:
    found: Floats = (np.abs(form.slopes).sum(axis=1) + form.e) * GROW
    return found


def scores_of(query_forms: HeadForms, key_forms: HeadForms, centre: Floats) -> ScoreEnds:
    """Return bounds of the products of queries and of keys less `centre`, (keys, queries)."""
    found = _box_scores(query_forms.queries, key_forms.keys, centre)
    if query_forms.known is None or key_forms.known is None:
        return found
    return both_scores(found, known_scores(query_forms.known, key_forms.known, centre))


def _box_scores(queries: AffineForm, keys: AffineForm, centre: Floats) -> ScoreEnds:
    kc = keys.c - centre
    q_reach, k_reach = _reach(queries), _reach(keys)
    near = kc @ queries.c.T
    off = _projected(keys.slopes, queries.c) + _projected(queries.slopes, kc).T
    q_size, k_size = np.abs(queries.c) + q_reach, np.abs(kc) + k_reach
    off = off + keys.e @ np.abs(queries.c).T + np.abs(kc) @ queries.e.T + k_reach @ q_reach.T
    off = (off + ROUND * ((k_size + np.abs(centre)) @ q_size.T)) * GROW + ETA
    return ScoreEnds(near - off, near + off)


@dataclass(frozen=True, slots=True)
class _Sides:
    """Queries and keys for the argument of `known_scores`: the number of the typical query r nearest to each query, p =
    A (q - r) and h = A (k - centre), and bounds of the sizes of their terms; r.centre."""

    nearest: Integers
    p: Floats
    p_size: Floats
    h: Floats
    h_size: Floats
    at_centre: Floats
    slack: Floats

    @classmethod
    def of(cls, queries: KnownRanges, keys: KnownRanges, centre: Floats) -> _Sides:
        axes = queries.axes
        typical, middle = axes.queries @ axes.keys.T, centre @ axes.keys.T
        nearest = np.abs(queries.queries.mid[:, None] - typical).sum(axis=2).argmin(axis=1)
        p, h = queries.queries.mid - typical[nearest], keys.keys.mid - middle
        p_size = np.abs(queries.queries.mid) + queries.queries.rad + np.abs(axes.queries).sum(axis=1)[nearest, None]
        h_size = np.abs(keys.keys.mid) + keys.keys.rad + np.abs(centre).sum()
        slack = ROUND * np.abs(axes.queries).sum(axis=1)[nearest] * np.abs(centre).sum() + ETA
        return cls(nearest, p, p_size, h, h_size, (axes.queries @ centre)[nearest], slack)


def known_scores(queries: KnownRanges, keys: KnownRanges, centre: Floats) -> ScoreEnds:
    """Return bounds of the products of queries and of keys less `centre`, (keys, queries), from ranges along axes.

    With a typical query r near the query q, `q.(k - centre)` is `r.k - r.centre` and (q - r).(k - centre). With the
    axes of keys as rows of A, the latter is the product of A (q - r) and A (k - centre), but for what is lost since A
    is only nearly orthogonal."""
    one, (q, k) = _Sides.of(queries, keys, centre), (queries.queries, keys.keys)
    mid, rad = keys.scores.mid[:, one.nearest], keys.scores.rad[:, one.nearest]
    near = mid - one.at_centre + one.h @ one.p.T
    off = rad + k.rad @ (np.abs(one.p) + q.rad).T + np.abs(one.h) @ q.rad.T
    lost = 4 * ROUND * one.h_size @ one.p_size.T
    lost = lost + queries.axes.lost * np.outer(one.h_size.sum(axis=1), one.p_size.sum(axis=1))
    off = (off + lost + 4 * ROUND * (np.abs(mid) + np.abs(one.at_centre)) + one.slack) * GROW
    return ScoreEnds(near - off, near + off)


def own_known_scores(known: KnownRanges, centre: Floats) -> ScoreEnds:
    """Return the bounds of `known_scores` of queries and the keys of the same cells, (cells,)."""
    one, (q, k) = _Sides.of(known, known, centre), (known.queries, known.keys)
    rows = np.arange(len(one.nearest))
    mid, rad = known.scores.mid[rows, one.nearest], known.scores.rad[rows, one.nearest]
    near = mid - one.at_centre + (one.h * one.p).sum(axis=1)
    off = rad + (k.rad * (np.abs(one.p) + q.rad) + np.abs(one.h) * q.rad).sum(axis=1)
    lost = 4 * ROUND * (one.h_size * one.p_size).sum(axis=1)
    lost = lost + known.axes.lost * one.h_size.sum(axis=1) * one.p_size.sum(axis=1)
    off = (off + lost + 4 * ROUND * (np.abs(mid) + np.abs(one.at_centre)) + one.slack) * GROW
    return ScoreEnds(near - off, near + off)


def both_scores(one: ScoreEnds, other: ScoreEnds) -> ScoreEnds:
    """Return what both bounds say; NaN says nothing."""
    low = np.fmax(one.low, other.low)
    return ScoreEnds(low, np.maximum(np.fmin(one.high, other.high), low))


def _projected(slopes: Floats, vectors: Floats) -> Floats:
    """Return the sums over coordinates of the sizes of slopes times vectors, (rows of slopes, vectors)."""
    total = np.zeros((len(slopes), len(vectors)))
    for coordinate in range(slopes.shape[1]):
        total += np.abs(slopes[:, coordinate] @ vectors.T)
    return total


def own_scores(forms: HeadForms, centre: Floats) -> ScoreEnds:
    """Return bounds of the scores of queries and the keys of the same cells, (cells,)."""
    queries, keys = forms.queries, forms.keys
    kc = keys.c - centre
    q_reach, k_reach = _reach(queries), _reach(keys)
    slopes = np.einsum("nmk,nk->nm", keys.slopes, queries.c) + np.einsum("nmk,nk->nm", queries.slopes, kc)
    off = np.abs(slopes).sum(axis=1) + (keys.e * np.abs(queries.c) + np.abs(kc) * queries.e).sum(axis=1)
    size = (np.abs(queries.c) + q_reach) * (np.abs(kc) + k_reach + np.abs(centre))
    off = (off + (q_reach * k_reach).sum(axis=1) + ROUND * size.sum(axis=1)) * GROW + ETA
    near = (queries.c * kc).sum(axis=1)
    found = ScoreEnds(near - off, near + off)
    return found if forms.known is None else both_scores(found, own_known_scores(forms.known, centre))


def greatest_values(forms: HeadForms, directions: Floats) -> Floats:
    """Return upper bounds of c.v for each cell and direction: (cells, directions) for directions (directions, v), and
    (cells, queries, directions) for (queries, directions, v)."""
    values = forms.values
    flat = directions.reshape(-1, directions.shape[-1])
    near = values.c @ flat.T
    off = _projected(values.slopes, flat) + values.e @ np.abs(flat).T
    size = (np.abs(values.c) + _reach(values)) @ np.abs(flat).T
    found = near + (off + ROUND * size) * GROW + ETA
    if forms.known is not None:
        axes, along = forms.known.axes, forms.known.values
        g = flat @ axes.values.T
        lost = (4 * ROUND + axes.lost) * np.outer((np.abs(along.mid) + along.rad).sum(axis=1), np.abs(flat).sum(axis=1))
        found = np.fmin(found, along.mid @ g.T + (along.rad @ np.abs(g).T + lost) * GROW + ETA)
    return found.reshape(len(found), *directions.shape[:-1])


def own_values(forms: HeadForms, directions: Floats) -> Floats:
    """Return upper bounds of c.v for each cell in its own directions, (cells, directions)."""
    values = forms.values
    directions = np.broadcast_to(directions, (len(values.c), *directions.shape[-2:]))
    near = np.einsum("nkv,nv->nk", directions, values.c)
    off = np.abs(np.einsum("nkv,nmv->nmk", directions, values.slopes)).sum(axis=1)
    size = np.einsum("nkv,nv->nk", np.abs(directions), np.abs(values.c) + _reach(values))
    off = off + np.einsum("nkv,nv->nk", np.abs(directions), values.e)
    found = near + (off + ROUND * size) * GROW + ETA
    if forms.known is None:
        return np.asarray(found)
    axes, along = forms.known.axes, forms.known.values
    g = directions @ axes.values.T
    lost = np.abs(directions).sum(axis=2) * (np.abs(along.mid) + along.rad).sum(axis=1)[:, None]
    reach = np.einsum("nkv,nv->nk", np.abs(g), along.rad) + (4 * ROUND + axes.lost) * lost
    return np.asarray(np.fmin(found, np.einsum("nkv,nv->nk", g, along.mid) + reach * GROW + ETA))


class RelaxedSupports:
    """The bounds of one head of the second layer, over the classes of a machine."""

    def __init__(
        self, entry: HeadEntry, classes: PrefixClasses, paths: Paths, of: Integers, keys: HeadForms, fixed: HeadForms
    ) -> None:
        """`of` are the classes of the cells whose keys and values are given, in order; `fixed` are those of the tokens
        before the word."""
        self.entry, self.paths, self.keys, self.fixed = entry, paths, keys, fixed
        # a cap is not linear: there the mean of keys must stay
        shifted = len(of) and entry.steps.cap is None
        self.centre: Floats = keys.keys.c.mean(axis=0) if shifted else np.zeros(keys.keys.c.shape[1])
        starts = np.searchsorted(of, np.arange(len(classes)))
        self.starts: Integers = starts
        """The first cell of each class."""
        self.lengths = classes.length
        self.ends = np.searchsorted(classes.length, np.arange(len(paths.layers) + 2))
        """The first class of each length, from 0 on."""
        place = np.full((len(paths.layers), paths.place.shape[1], int(classes.symbol.max(initial=0)) + 1), -1)
        place[classes.free, classes.state, classes.symbol] = np.arange(len(classes))
        self.number = place
        self.work = 0.0

    def bounds(self, length: int, states: Integers, queries: HeadForms, directions: Floats) -> Floats:
        """Return upper bounds of the greatest c.a, (queries, directions), at the end of prefixes of this length:
        `states` are those before the last symbol, `queries` the forms of the last positions' cells. Directions have the
        shape (directions, v), or (queries, directions, v)."""
        count = len(states)
        found = np.empty((count, directions.shape[-2]))
        keys = int(self.starts[self.ends[length]]) if self.ends[length] < len(self.starts) else len(self.keys.keys.c)
        size = max(1, NUMBERS // max(1, keys * directions.shape[-2]))
        shared = directions.ndim == 2
        known = greatest_values(self.keys.at(slice(0, keys)), directions) if shared else None
        for start in range(0, count, size):
            some = np.arange(start, min(start + size, count))
            part = directions if shared else directions[some]
            found[some] = self._some(length, keys, states[some], queries.at(some), part, known)
        return found

    def _some(
        self, length: int, keys: int, states: Integers, queries: HeadForms, directions: Floats, known: Floats | None
    ) -> Floats:
        count, width = len(states), directions.shape[-2]
        seen = self.keys.at(slice(0, keys))
        ends = [
            self.entry.scored(scores_of(queries, one, self.centre), queries.places - one.places[:, None])
            for one in (seen, self.fixed)
        ]
        own = self.entry.scored(own_scores(queries, self.centre), np.zeros_like(queries.places))
        most = np.maximum(own.high, ends[0].high.max(axis=0, initial=-np.inf))
        most = np.maximum(most, ends[1].high.max(axis=0, initial=-np.inf))
        low, high = _weights(ends[0], most)
        fixed_low, fixed_high = _weights(ends[1], most)
        own_low, own_high = _weights(own, most)
        if known is None:
            known = greatest_values(seen, directions)
        values = known if known.ndim == 3 else known[:, None, :]
        fixed = greatest_values(self.fixed, directions)
        fixed = fixed if fixed.ndim == 3 else fixed[:, None, :]
        theirs = own_values(queries, directions)
        plain = theirs
        for one in (values, fixed):
            plain = np.maximum(plain, one.max(axis=0, initial=-np.inf))
        middle = (low + high) / 2
        total = middle.sum(axis=0) + fixed_high.sum(axis=0) + own_high
        level = (middle[:, :, None] * values).sum(axis=0) if values.shape[1] > 1 else middle.T @ values[:, 0]
        level = level + (fixed_high[:, :, None] * fixed).sum(axis=0) + own_high[:, None] * theirs
        level = np.minimum(level / total[:, None], plain)
        scale = np.abs(plain) + np.abs(level) + ETA
        bound, open_ = np.array(plain), np.ones((count, width), dtype=np.bool_)
        for _ in range(STEPS):
            lowered = np.nextafter(level, -np.inf)
            value, weight = self._pass(length, states, values - lowered, low, high)
            self.work += float(low.size * width)
            for x, least, top in ((fixed - lowered, fixed_low, fixed_high),):
                gains = np.maximum(x * top[:, :, None], x * least[:, :, None])
                size = np.abs(gains).sum(axis=0)
                value = value + gains.sum(axis=0) + gamma(len(gains) + 8) * (size + np.abs(value)) + ETA
                weight = weight + np.where(x > 0, top[:, :, None], least[:, :, None]).sum(axis=0)
            x = theirs - lowered
            gains = np.maximum(x * own_high[:, None], x * own_low[:, None])
            value = value + gains + gamma(8) * (np.abs(value) + np.abs(gains)) + ETA
            weight = weight + np.where(x > 0, own_high[:, None], own_low[:, None])
            held = value <= 0
            bound = np.where(held, np.minimum(bound, level), bound)
            step = value / np.maximum(weight, ETA)
            open_ &= ~(held & (step >= -CLOSE * scale)) & np.isfinite(step)
            if not open_.any():
                break
            after = level + step + np.where(np.abs(step) < 1e-2 * scale, CLOSE / 4 * scale, 0.0)
            level = np.where(open_, after, level)
        return bound

    def _pass(self, length: int, states: Integers, x: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Return the greatest sums of gains over the paths to some states, (queries, directions), with the weights of
        such paths; x are the values less L, (cells, queries, directions)."""
        count, width = x.shape[1], x.shape[2]
        value, weight = np.zeros((1, count, width)), np.zeros((1, count, width))
        classes = int(self.ends[length])
        if classes:
            weights = np.where(x > 0, high[:, :, None], low[:, :, None])
            gains = x * weights
            starts = self.starts[:classes]
            best = np.maximum.reduceat(gains, starts, axis=0)
            sizes = np.diff(np.append(starts, len(gains)))
            weights[gains < np.repeat(best, sizes, axis=0)] = 0.0
            beside = np.maximum.reduceat(weights, starts, axis=0)
        for j in range(length - 1):
            layer = self.paths.layers[j]
            before = np.flatnonzero(self.paths.place[j] >= 0)
            made: Floats = np.full((len(layer.states), count, width), -np.inf)
            along = np.zeros_like(made)
            for rows, sources, symbols in layer.moves:
                at = self.number[j, before[sources], symbols]
                found = value[sources] + best[at]
                better = found > made[rows]
                along[rows] = np.where(better, weight[sources] + beside[at], along[rows])
                made[rows] = np.maximum(made[rows], found)
            value, weight = np.maximum(made * UP, made * DOWN) + ETA, along
        at, rows = self.paths.place[length - 1, states], np.arange(count)
        return value[at, rows], weight[at, rows]


def _weights(ends: ScoreEnds, most: Floats) -> tuple[Floats, Floats]:
    """Return bounds of the weights from bounds of the scores, relative to the greatest score; 0 for scores of -inf."""
    high = np.exp(np.maximum(ends.high - most, FLOOR)) * (1 + EXP_OFF)
    high = np.where(np.isneginf(ends.high), 0.0, high)
    apart = ends.low - most
    low = np.where(apart >= FLOOR, np.exp(np.maximum(apart, FLOOR)) * (1 - EXP_OFF), 0.0)
    return low, high
