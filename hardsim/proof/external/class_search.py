"""Bounds of the margins at the end of a pattern of words, where the history of each key is chosen independently.

Keys and values lie in the ranges of all prefixes of their class (`class_ranges`), or, where the query is narrow enough
that it pays, of those prefixes that begin as the pattern does (`prefix_ranges`). Of a pattern there are only the
symbols that it gives. Queries and the residual stream are enclosed over the pattern. So weights lie between bounds, and
`weighted_means` bounds what the head reads. This is the support function with which `scaled_rows` bounds the margin; it
is enough where the values that weigh most are close to each other.

Where it is not, the set of all a is divided along the axes of values: a box has ranges of some coordinates g.a of a.
For any multipliers m, `c.a <= (c - the sum of the m_k g_k).a + the sum of the greatest m_k (g_k.a)`; those tried are
the coordinates of c. A pattern is proved if its margin is above 0 in all boxes. This helps where the answer is right
for most of what could be read; whether weights suffice for most sampled patterns decides if it is tried early. Where a
pattern stays open, a position is revealed: the one that moves scores most, with the weight that it has (ours).

Rounding: sums of at most DEEPEST terms, each off by at most ROUND times the sum of the sizes of its terms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from hardsim.lazy_dataclass import dataclass
from hardsim.proof.external.affine import ROUND, AffineForm
from hardsim.proof.external.class_ranges import Entries
from hardsim.proof.external.coarse_words import CoarseResult, CoarseWords, one_of_each
from hardsim.proof.external.columns import FLOOR
from hardsim.proof.external.first_layer import BoxCells
from hardsim.proof.external.narrowing import unknown
from hardsim.proof.external.patterns import OPEN
from hardsim.proof.external.prefix_ranges import PrefixRanges
from hardsim.proof.external.scaled_rows import ScaledRows
from hardsim.proof.external.second_layer import (
    EXP_OFF,
    AxisRanges,
    HeadForms,
    KnownRanges,
    ScoreEnds,
    both_scores,
    own_known_scores,
    own_scores,
    own_values,
    scores_of,
)
from hardsim.proof.external.weighted_means import BoundedWeights
from hardsim.proof.shared.result import NotProved
from hardsim.run.enclosure import ETA, GROW, Booleans, Floats, Integers

NUMBERS = 2**19
"""The count of numbers in an array of a batch of directions."""
TOGETHER = 64
"""The number of patterns or boxes in a batch."""
SAMPLES, MOSTLY = 40, 0.9
"""The number of sampled patterns, and the share of them that weights alone must prove for `by_boxes` to be False."""
NARROW = 1.0
"""A margin is bounded only if the query moves scores by less than this, in nats, or the pattern is a single word."""
CLOSE = 0.2
"""Where `by_boxes` is True, the weights of keys count in the choice of the next position only if the query moves scores
by less than this, in nats."""
BY_PREFIX, BY_PREFIX_BOXES = 0.2, 1.0
"""Keys are enclosed over the patterns of their own prefixes only if the query moves scores by less than this, in nats:
the second number if `by_boxes` is True."""
FINE, FINE_BOXES = 0.05, 1.0
"""Outputs are divided in boxes only if the query moves scores by less than this, in nats: the second number if
`by_boxes` is True."""
ROUNDS = 16
"""Greatest number of times that a box is halved."""
BESIDE = 0.3
"""How much the general importance of an axis counts beside the slope of the least row along it."""
MOST_BOXES, FEW_BOXES, NEAR = 16, 3, 0.3
"""Greatest numbers of open boxes of one pattern: where the query moves scores by less than NEAR nats, and elsewhere."""
OF_WEIGHT = 2.0
"""A position with the share p of the weights counts as OF_WEIGHT p nats more where the next position is chosen."""
MOST_PATTERNS = 100_000
"""Greatest number of patterns into which those of one task are divided."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """The keys that N patterns may see, with their weights: values along axes, `middle` and `radius` (N, T, axes), or
    (T, axes) where they are the same for all patterns. The other key is the last position itself, with the values of
    `own`."""

    axes: Floats
    middle: Floats
    radius: Floats
    own: HeadForms
    weights: BoundedWeights

    def at(self, index: Any) -> _Seen:
        """Return those of some patterns."""
        middle, radius = (one if one.ndim == 2 else one[index] for one in (self.middle, self.radius))
        return _Seen(self.axes, middle, radius, self.own.at(index), self.weights.at(index))

    def support(self, directions: Floats) -> Floats:
        """Return upper bounds of c.a, (N, K), for directions (N, K, v)."""
        count, width = directions.shape[:2]
        size = max(1, NUMBERS // max(1, self.weights.low.shape[1] * width))
        parts = [slice(start, start + size) for start in range(0, count, size)]
        return np.concatenate([self.at(part)._support(directions[part]) for part in parts])

    def _support(self, directions: Floats) -> Floats:
        along = (directions @ self.axes.T).transpose(0, 2, 1)
        values = self.middle @ along
        values += self.radius @ np.abs(along) + ETA
        own, shares = own_values(self.own, directions), self.weights.shares()
        # the mean with weights near the middle of their bounds
        level = np.matmul(shares[:, None], values)[:, 0] + (1 - shares.sum(axis=1))[:, None] * own
        return self.weights.greatest_means(values, own, level)


@dataclass(frozen=True, slots=True)
class _Boxes:
    """Sets of outputs of the head: means of the values of some patterns, one in each row, with bounded weights, within
    ranges of coordinates along `axes`, (N, axes); infinite where they were not divided."""

    seen: _Seen
    axes: Floats
    low: Floats
    high: Floats
    reach: Floats
    """Bounds of the sizes of the coordinates of outputs."""

    def at(self, index: Any) -> _Boxes:
        """Return some of the boxes."""
        return replace(self, seen=self.seen.at(index), low=self.low[index], high=self.high[index])

    def support(self, directions: Floats) -> Floats:
        """Return upper bounds of c.a, (N, K), for directions (N, K, v)."""
        found = self.seen.support(directions)
        some = np.flatnonzero(np.isfinite(self.low).any(axis=1) | np.isfinite(self.high).any(axis=1))
        if len(some):
            found[some] = np.fmin(found[some], self.at(some)._within(directions[some]))
        return found

    def _within(self, directions: Floats) -> Floats:
        """Return the bounds with multipliers of the coordinates that were divided."""
        axes, low, high = self.axes, self.low[:, None], self.high[:, None]
        divided = np.isfinite(low) & np.isfinite(high)
        along = np.where(divided, directions @ axes.T, 0.0)
        low, high = np.where(divided, low, 0.0), np.where(divided, high, 0.0)
        most = np.maximum(along * low, along * high)
        most = most.sum(axis=2) + ROUND * np.abs(most).sum(axis=2)
        taken = along @ axes
        lost = (np.abs(directions) + np.abs(along) @ np.abs(axes)) @ self.reach * (4 * ROUND) + ETA
        bound = self.seen.support(directions - taken) + most
        return np.asarray(bound + 4 * ROUND * (np.abs(bound) + np.abs(most)) + lost)


class ClassSearch:
    """Prover for the words of some classes with the same length and last symbol, where each key that the head of the
    second layer sees has a history of its own."""

    def __init__(
        self, entries: Entries, rows: Integers, hulls: HeadForms, fixed: HeadForms, scaled: ScaledRows
    ) -> None:
        """`hulls` enclose keys and values of each class, one in each row, with ranges along axes; `fixed` are those of
        the tokens before the word. Raises NotProved unless the second layer has one head, scores have no cap, and some
        token is before the last symbol."""
        if len(entries.entry.heads) != 1 or hulls.known is None or fixed.known is None:
            raise NotProved("proofs with independent histories are about one head in the second layer")
        self.entries, self.rows, self.scaled, self.head = entries, rows, scaled, entries.entry.heads[0]
        self.parts = entries, rows, hulls, fixed, scaled
        self.whole: CoarseWords | None = None
        """Bounds of single words that stay open, with one history."""
        if self.head.steps.cap is not None:
            raise NotProved("scores of the second layer have a cap")
        self.patterns = entries.patterns(rows)
        if not self.patterns.free + len(fixed.places):
            raise NotProved("there is nothing before the last symbol")
        self.kinds: Integers = np.unique(entries.classes.kind[rows])
        self._lay(hulls, fixed)
        self.axes = hulls.known.axes
        assert self.keys.known is not None
        self.values = self._along(self.keys.known.values)
        self.prefixes = PrefixRanges(entries, self.keys, self.places, self.symbols)
        self.reach = _reach_of([hulls.known, fixed.known])
        self.importance: Floats = np.sqrt(np.square(self.axes.values @ scaled.out).sum(axis=1))
        self.centre: Floats = self.keys.keys.c.mean(axis=0)
        self.spread: Floats = np.sqrt(np.square(self.keys.keys.c - self.centre).mean(axis=0))
        """How much keys differ, by coordinate, with which it is measured how much a query moves scores."""
        some = self.sampled(SAMPLES, NEAR)
        stream, head = self._queries(self.patterns.cells(some))
        closed = self._mean_margins(self._seen(some, head), stream) > 0
        self.by_boxes = int(closed.sum()) < MOSTLY * len(some)
        """True if weights alone prove too few sampled patterns: then boxes are tried for wider queries."""

    def _lay(self, hulls: HeadForms, fixed: HeadForms) -> None:
        """Make the table of keys: one for each symbol of each position, and the fixed tokens."""
        classes, free = self.entries.classes, self.patterns.free
        found = []
        for place in range(free):
            for symbol in np.flatnonzero(self.patterns.allowed[place]).tolist():
                some = (classes.free == place) & (classes.symbol == symbol)
                found.append((place, symbol, int(np.flatnonzero(some)[0])))
        places, symbols, rows = np.array(found, dtype=np.int64).reshape(-1, 3).T
        bare = [one.first(0) for one in (fixed.queries, fixed.keys, fixed.values)]
        last = HeadForms(bare[0], bare[1], bare[2], fixed.places, fixed.known)
        self.keys = HeadForms.joined([hulls.at(rows), last])
        count = len(fixed.places)
        self.places: Integers = np.append(places, free + np.arange(count))
        self.symbols: Integers = np.append(symbols, np.full(count, OPEN))
        """The position and symbol of each key. Fixed tokens have numbers from `free` on as positions, and OPEN."""
        self.first: Integers = np.flatnonzero(np.append(True, self.places[1:] != self.places[:-1]))

    def _along(self, values: AxisRanges) -> tuple[Floats, Floats]:
        """Return middles and radii of values along axes, with what is lost since these are nearly orthonormal."""
        size = np.abs(values.mid) + values.rad
        # the sum of the sizes of c is at most 2 sqrt(v) times that of its coordinates along axes
        lost = (4 * ROUND + self.axes.lost) * 2 * size.shape[1] * size.sum(axis=1, keepdims=True)
        return values.mid, (values.rad + lost) * (1 + 4 * ROUND)

    def starts(self, count: int) -> Integers:
        """Return patterns that together contain all words: at least so many, unless all positions are given."""
        found = self.patterns.root
        while len(found) < count and (found == OPEN).any():
            cells = self.patterns.cells(found)
            _, _, position = self._moved(found, cells, *self._queries(cells))
            some = position != OPEN
            made, _ = self.patterns.revealed(found[some], position[some])
            found = np.concatenate([found[~some], made])
        return found

    def sampled(self, count: int, most: float) -> Integers:
        """Return random patterns whose queries move scores by at most so many nats, where that is possible."""
        rng = np.random.default_rng(0)
        found = np.tile(self.patterns.root, (count, 1))
        for _ in range(self.patterns.free):
            cells = self.patterns.cells(found)
            width, _, position = self._moved(found, cells, *self._queries(cells))
            wide = (width > most) & (position != OPEN)
            if not wide.any():
                break
            made = one_of_each(*self.patterns.revealed(found[wide], position[wide]), rng)
            found = np.concatenate([found[~wide], made])
        return found

    # ---- the search ----

    def prove(self, start: Integers) -> CoarseResult:
        """Return the result for the words of some patterns."""
        low, count, left = np.inf, len(start), [start]
        while left:
            batch = left.pop()
            if len(batch) > TOGETHER:
                left.append(batch[:-TOGETHER])
                batch = batch[-TOGETHER:]
            bound, position = self.bounds(batch)
            alone = np.flatnonzero(~(bound > 0) & (position == OPEN))
            if len(alone):
                bound[alone] = self._alone(batch[alone])
            shut = bound > 0
            low = min(low, float(bound[shut].min(initial=np.inf)))
            again = np.flatnonzero(~shut)
            if (position[again] == OPEN).any() or count > MOST_PATTERNS:
                low = -np.inf
                break
            if len(again):
                made, _ = self.patterns.revealed(batch[again], position[again])
                count += len(made)
                left.append(made)
        return CoarseResult(np.full(len(self.rows), low), len(start), count - len(start))

    def _alone(self, words: Integers) -> Floats:
        """Return lower bounds of the margins at the end of single words, with one history; -inf if there are none for a
        second layer of this kind."""
        try:
            self.whole = self.whole or CoarseWords(*self.parts, whole=True)
        except NotProved:
            return np.full(len(words), -np.inf)
        return np.asarray(self.whole.bounds(words).margins.min(axis=1))

    def bounds(self, patterns: Integers) -> tuple[Floats, Integers]:
        """Return lower bounds of margins over patterns, where they are above 0 (others prove nothing; -inf where the
        query is too wide to be bounded); and the position of each to reveal next, OPEN if all are given."""
        cells = self.patterns.cells(patterns)
        stream, queries = self._queries(cells)
        width, pull, position = self._moved(patterns, cells, stream, queries)
        whole = ~(patterns == OPEN).any(axis=1)
        found = np.full(len(patterns), -np.inf)
        some = np.flatnonzero((width < NARROW) | whole)
        if not len(some):
            return found, position
        seen = self._seen(patterns[some], queries.at(some))
        found[some] = self._mean_margins(seen, stream.at(some))
        moved = pull[some]
        if not self.by_boxes:
            moved = moved + OF_WEIGHT * self._weight(seen)
        position[some] = _position(patterns[some], moved)
        own = some[~(found[some] > 0) & (width[some] < (BY_PREFIX_BOXES if self.by_boxes else BY_PREFIX))]
        if len(own):
            seen = self._seen(patterns[own], queries.at(own), self.prefixes)
            found[own], moved = self._prefix_margins(seen, stream.at(own), width[own], pull[own])
            position[own] = _position(patterns[own], moved)
        return found, position

    def _prefix_margins(self, seen: _Seen, stream: AffineForm, width: Floats, pull: Floats) -> tuple[Floats, Floats]:
        """Return lower bounds of margins where keys are enclosed over their prefixes, and by how much it may help to
        reveal each position (N, positions)."""
        found, weight = self._mean_margins(seen, stream), OF_WEIGHT * self._weight(seen)
        again = np.flatnonzero(~(found > 0) & (width < (FINE_BOXES if self.by_boxes else FINE)))
        if len(again):
            most = np.where(width[again] < NEAR, MOST_BOXES, FEW_BOXES)
            found[again] = self._boxed_margins(seen.at(again), stream.at(again), most)
        return found, np.where((width < CLOSE)[:, None] | (not self.by_boxes), pull + weight, pull)

    def _weight(self, seen: _Seen) -> Floats:
        """Return about which share of the weights each free position has, (N, positions)."""
        found = np.add.reduceat(seen.weights.shares(), self.first, axis=1)
        return np.asarray(found[:, : self.patterns.free])

    def _queries(self, cells: BoxCells) -> tuple[AffineForm, HeadForms]:
        """Return the residual stream and the queries, keys and values at the last position, over cells of patterns."""
        stream, (head,) = self.entries.forms(cells)
        return stream, replace(head, known=KnownRanges.of(self.axes, head, unknown))

    def _moved(
        self, patterns: Integers, cells: BoxCells, stream: AffineForm, head: HeadForms
    ) -> tuple[Floats, Floats, Integers]:
        """Return an estimate by how many nats each query moves scores (N,), and how much the symbol at each position
        moves scores and the stream (N, positions); and the open position that moves them most."""
        count = cells.radii.shape[1]
        size = np.sqrt(np.square(stream.c).mean(axis=1, keepdims=True))
        scores = np.abs(head.queries.slopes[:, :count]) @ self.spread
        width = scores.sum(axis=1) + head.queries.e @ self.spread
        pull = scores + np.abs(stream.slopes[:, :count]).max(axis=2) / size
        finite = np.isfinite(pull).all(axis=1) & np.isfinite(width)
        pull = np.where(finite[:, None], pull / cells.radii, 1.0)
        pull = np.einsum("npc,nc->np", self.patterns.influence(patterns, cells.middles), pull)
        return np.where(finite, width, np.inf), pull, _position(patterns, pull)

    # ---- bounds ----

    def _allowed(self, patterns: Integers) -> Booleans:
        """Return which keys patterns have, (N, T)."""
        given = patterns[:, self.places[self.symbols != OPEN]]
        allowed = np.ones((len(patterns), len(self.places)), dtype=np.bool_)
        allowed[:, self.symbols != OPEN] = (given == OPEN) | (given == self.symbols[self.symbols != OPEN])
        return allowed

    def _seen(self, patterns: Integers, head: HeadForms, prefixes: PrefixRanges | None = None) -> _Seen:
        """Return the keys that patterns have, with bounds of their weights relative to the greatest one; enclosed over
        the patterns of their prefixes, if `prefixes` are given."""
        allowed, entry, keys = self._allowed(patterns), self.head, self.keys
        products, values = scores_of(head, keys, self.centre), self.values
        if prefixes is not None:
            assert head.known is not None
            found, allowed = prefixes(patterns, allowed)
            size = (len(patterns), len(self.places), -1)
            known = replace(found, queries=head.known.queries.at(np.repeat(np.arange(size[0]), size[1])))
            own = own_known_scores(known, self.centre)
            products = both_scores(products, ScoreEnds(*(one.reshape(size[:2]).T for one in (own.low, own.high))))
            middle, radius = self._along(known.values)
            values = middle.reshape(size), radius.reshape(size)
        ends = entry.scored(products, head.places - keys.places[:, None])
        ends = ScoreEnds(ends.low.T, ends.high.T)
        own = entry.scored(own_scores(head, self.centre), np.zeros_like(head.places))
        most = np.maximum(own.high, np.where(allowed, ends.high, -np.inf).max(axis=1, initial=-np.inf))
        weights = BoundedWeights(*_weights(ends, most[:, None]), self.first, allowed, *_weights(own, most))
        return _Seen(self.axes.values, *values, head, weights)

    def _mean_margins(self, seen: _Seen, stream: AffineForm) -> Floats:
        """Return lower bounds of margins with bounds of the weights."""
        axes = self.axes.values
        both = np.broadcast_to(np.concatenate([axes, -axes]), (len(stream.c), 2 * len(axes), axes.shape[1]))
        ends = seen.support(both)
        near = (ends[:, : len(axes)] - ends[:, len(axes) :]) / 2 @ axes
        return self._sloped(stream, near, seen.support)[0]

    def _sloped(self, stream: AffineForm, near: Floats, support: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
        """Return the least of the margins for all kinds of requirements, and about how it depends on outputs (N, v)."""
        pairs = [self.scaled.sloped(kind, stream, near, support) for kind in self.kinds.tolist()]
        margins = np.stack([one for one, _ in pairs])
        least, at = margins.argmin(axis=0), np.arange(margins.shape[1])
        return margins[least, at], np.stack([one for _, one in pairs])[least, at]

    def _boxed_margins(self, seen: _Seen, stream: AffineForm, most: Integers) -> Floats:
        """Return lower bounds of margins over means of values of patterns, which are divided in boxes; -inf where more
        than `most` are open, (N,)."""
        count, axes = len(stream.c), len(self.axes.values)
        of = np.arange(count)
        low, high, found = np.full((count, axes), -np.inf), np.full((count, axes), np.inf), np.full(count, np.inf)
        for _ in range(ROUNDS):
            bound, ends, moved = self._over(seen, stream, of, low, high)
            np.minimum.at(found, of[bound > 0], bound[bound > 0])
            left = ~(bound > 0)
            many = np.bincount(of[left], minlength=count) > most
            found[many] = -np.inf
            left &= ~many[of]
            of, low, high = of[left], low[left], high[left]
            if not len(of):
                break
            of, low, high = self._halved(of, low, high, (ends[0][left], ends[1][left]), moved[left])
        found[of] = -np.inf
        return found

    def _halved(
        self, of: Integers, low: Floats, high: Floats, inside: tuple[Floats, Floats], moved: Floats
    ) -> tuple[Integers, Floats, Floats]:
        """Return the halves of boxes along the axis on which the least row depends most; `inside` are the ends of all
        coordinates in each box, and `moved` the slopes of the row along the axes."""
        least, most = inside
        size = np.sqrt(np.square(moved).mean(axis=1, keepdims=True)) / np.sqrt(np.square(self.importance).mean())
        by = np.abs(moved) + BESIDE * size * self.importance
        at, axis = np.arange(len(of)), ((most - least) * by).argmax(axis=1)
        least, most = least[at, axis], most[at, axis]
        ends = least, np.clip(least / 2 + most / 2, least, most), most
        lows, highs = [], []
        for below, above in pairwise(ends):
            one, other = low.copy(), high.copy()
            one[at, axis], other[at, axis] = below, above
            lows.append(one)
            highs.append(other)
        return np.tile(of, 2), np.concatenate(lows), np.concatenate(highs)

    def _over(
        self, seen: _Seen, stream: AffineForm, of: Integers, low: Floats, high: Floats
    ) -> tuple[Floats, tuple[Floats, Floats], Floats]:
        """Return lower bounds of margins over boxes of the patterns `of`, infinite for empty ones, the ends of the
        coordinates in each box, and the slopes of the least rows along the axes."""
        axes = np.concatenate([self.axes.values, -self.axes.values])
        bounds, least, most, moved = np.empty(len(of)), np.empty_like(low), np.empty_like(high), np.empty_like(low)
        for start in range(0, len(of), TOGETHER):
            some = slice(start, start + TOGETHER)
            boxes = _Boxes(seen.at(of[some]), self.axes.values, low[some], high[some], self.reach)
            ends = boxes.support(np.broadcast_to(axes, (len(boxes.low), *axes.shape)))
            most[some] = np.fmin(ends[:, : len(low.T)], high[some])
            least[some] = np.fmax(-ends[:, len(low.T) :], low[some])
            near = (least[some] / 2 + most[some] / 2) @ self.axes.values
            bounds[some], slopes = self._sloped(stream.at(of[some]), near, boxes.support)
            moved[some] = slopes @ self.axes.values.T
        return np.where((least > most).any(axis=1), np.inf, bounds), (least, most), moved


def _reach_of(every: list[KnownRanges]) -> Floats:
    """Return bounds of the sizes of the coordinates of means of values, which have these ranges along axes that are
    nearly orthonormal."""
    sizes = [np.abs(one.values.mid) + one.values.rad for one in every]
    # np.max keeps a NaN, and so do the bounds
    longest = np.max([np.sqrt(np.square(size).sum(axis=1)).max(initial=0.0) for size in sizes])
    return np.full(sizes[0].shape[1], 2 * longest * GROW)


def _position(patterns: Integers, pull: Floats) -> Integers:
    """Return the open position of each pattern that moves scores most; OPEN if there is none."""
    if not patterns.shape[1]:
        return np.full(len(patterns), OPEN)
    found = np.where(patterns == OPEN, pull + ETA, -1.0).argmax(axis=1)
    return np.where((patterns == OPEN).any(axis=1), found, OPEN)


def _weights(ends: ScoreEnds, most: Floats) -> tuple[Floats, Floats]:
    """Return bounds of the weights from bounds of the scores, relative to the score `most`; 0 for scores of -inf."""
    high = np.exp(np.clip(ends.high - most, FLOOR, 0.0)) * (1 + EXP_OFF)
    high = np.where(np.isneginf(ends.high), 0.0, high)
    apart = ends.low - most
    low = np.where(apart >= FLOOR, np.exp(np.clip(apart, FLOOR, 0.0)) * (1 - EXP_OFF), 0.0)
    return low, high
