"""Bounds of the margins at the end of words, where the query and all keys are those of the same word: one history.

In the bounds of `second_layer` the histories of different positions are chosen independently. That is too weak where
keys depend on symbols that all positions share. Here the words of a class are divided into coarse words: patterns that
reveal the same positions. Queries, keys and values are enclosed over each of them as functions of its open symbols
(`open_positions`), so scores are compared for the same word: with M the linear part of the greatest score, weights are
e^(score - M), and what the score of a key and M have in common cancels. `weighted_means` bounds what the head reads.

Keys that get hardly any weight have one enclosure for all histories, and are not told apart. Rows of outputs are
bounded by `scaled_rows`. A coarse word that stays unproved is divided: the open position on which its scores depend
most is revealed (ours).

Rounding: sums of at most DEEPEST terms, each off by at most ROUND times the sum of the sizes of its terms.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from hardsim.lazy_dataclass import dataclass
from hardsim.proof.external.affine import ROUND, AffineForm
from hardsim.proof.external.class_ranges import Entries
from hardsim.proof.external.columns import FLOOR
from hardsim.proof.external.narrowing import unknown
from hardsim.proof.external.open_positions import OpenCells, OpenForms, OpenLayout
from hardsim.proof.external.patterns import OPEN, ClassPatterns
from hardsim.proof.external.scaled_rows import ScaledRows
from hardsim.proof.external.second_layer import EXP_OFF, HeadForms, KnownRanges, scores_of
from hardsim.proof.external.weighted_means import BoundedWeights
from hardsim.proof.shared.result import NotProved
from hardsim.run.enclosure import ETA, GROW, Booleans, Floats, Integers

NEGLIGIBLE = 20.0
"""Keys whose scores are so far below the greatest one, in nats, have one enclosure for all histories."""
SAMPLES = 60
"""Number of sampled words from which columns and positions are chosen."""
TOGETHER = 512
"""Number of patterns in a batch."""
MOST_COARSE = 3_000_000
"""Greatest number of coarse words: about an hour of work."""
MOST_DIVIDED = 200_000
"""Greatest number of patterns into which the coarse words of one start are divided."""
CLOSE = 1.0
"""Positions whose symbols move scores by less than this, in nats, stay open in coarse words."""


@dataclass(frozen=True, slots=True)
class _Scores:
    """Scores by column (N, T), as functions of the coordinates z in [-1, 1] of the layout: `middle` + z `slopes` (N, T,
    coordinates) +- `off`."""

    middle: Floats
    slopes: Floats
    off: Floats


@dataclass(frozen=True, slots=True)
class SeenColumns:
    """The keys that the head may see over N patterns, by column: their weights, and boxes of the values, middles and
    radii (N, T, v). The other key stands for all keys without a column, whose values are in one box (v,)."""

    weights: BoundedWeights
    middle: Floats
    radius: Floats
    rest_middle: Floats
    rest_radius: Floats

    def at(self, index: Integers) -> SeenColumns:
        """Return those of some patterns."""
        return replace(self, weights=self.weights.at(index), middle=self.middle[index], radius=self.radius[index])

    def support(self, directions: Floats) -> Floats:
        """Return upper bounds of c.a, (N, K), for directions (N, K, v)."""
        across = directions.transpose(0, 2, 1)
        far = self.radius * (1 + 4 * ROUND) + 4 * ROUND * np.abs(self.middle)
        values = self.middle @ across + far @ np.abs(across) + ETA
        far = self.rest_radius * (1 + 4 * ROUND) + 4 * ROUND * np.abs(self.rest_middle)
        other = directions @ self.rest_middle + np.abs(directions) @ far + ETA
        weight = np.where(self.weights.allowed, self.weights.low + self.weights.high, 0.0)[:, :, None]
        return self.weights.greatest_means(values, other, (weight * values).sum(axis=1) / weight.sum(axis=1))


@dataclass(frozen=True, slots=True)
class CoarseBounds:
    """Lower bounds of the margins by pattern and class, (N, classes), where they are above 0 (others prove nothing),
    infinite where there is no word; and how much the scores depend on each open position, (N, positions), in nats (-1
    where it is given)."""

    margins: Floats
    pull: Floats


@dataclass(frozen=True, slots=True)
class CoarseResult:
    """Lower bounds of the margins by class: if any is at or below 0, the search stopped, and proved nothing about these
    words. Also the number of patterns at first, and of those into which unproved ones were divided."""

    low: Floats
    coarse: int
    divided: int


class CoarseWords:
    """Prover for the words of some classes with the same length and last symbol, with one history."""

    def __init__(
        self,
        entries: Entries,
        rows: Integers,
        hulls: HeadForms,
        fixed: HeadForms,
        scaled: ScaledRows,
        whole: bool = False,
    ) -> None:
        """`hulls` enclose keys and values of each class, one in each row; `fixed` are those of the tokens before the
        word. `whole`: all patterns that are bounded reveal every position. Raises NotProved unless the second layer has
        one head, whose scores are products of queries and keys, and where there would be too many coarse words."""
        if len(entries.entry.heads) != 1:
            raise NotProved("proofs by coarse words are about one head in the second layer")
        (head,) = entries.entry.heads
        plain = head.turns is None and not head.beside and head.norms == [None, None]
        if not plain or head.steps.any or head.window is not None:
            raise NotProved("scores of the second layer are not products of queries and keys alone")
        self.entries, self.rows, self.hulls, self.fixed, self.scaled = entries, rows, hulls, fixed, scaled
        self.entry = head
        self.patterns = entries.patterns(rows)
        self.free = self.patterns.free
        self.kinds = entries.classes.kind[rows].tolist()
        self.centre: Floats = hulls.keys.c.mean(axis=0)
        classes = entries.classes
        self.groups: dict[tuple[int, int], Integers] = {}
        """The rows of the classes of each key, by position and symbol."""
        for row in np.flatnonzero(classes.length <= self.free).tolist():
            key = int(classes.free[row]), int(classes.symbol[row])
            if self.patterns.allowed[key]:
                self.groups[key] = np.append(self.groups.get(key, np.zeros(0, dtype=np.int64)), row)
        self._lay(np.arange(self.free))
        self.chosen = self._chosen()
        """The keys that have columns, by position and symbol."""
        self.chosen_rows: Integers = np.array([self.groups[key][0] for key in self.chosen], dtype=np.int64)
        """A class of each of these keys: classes of one length and last symbol have the same ranges."""
        self.positions: Integers = np.arange(self.free) if whole else np.flatnonzero(self.influence() > CLOSE)
        """The positions of coarse words: those whose symbols move scores by more than CLOSE."""
        sizes = self.patterns.allowed[self.positions].sum(axis=1)
        if not whole and np.log(sizes).sum() > np.log(MOST_COARSE):
            raise NotProved(f"over {MOST_COARSE:,} patterns of words would be needed")
        self._lay(self.positions)

    # ---- set-up ----

    def known(self, forms: HeadForms) -> HeadForms:
        """Return queries with what is needed to use the ranges of `hulls`."""
        if self.hulls.known is None:
            return forms
        return replace(forms, known=KnownRanges.of(self.hulls.known.axes, forms, unknown))

    def _allowed(self, patterns: Integers, end: int) -> Booleans:
        """Return the symbols that the words of patterns that end in a state have at each position, (N, free,
        symbols)."""
        count, states = len(patterns), self.patterns.steps.shape[1]
        here = np.zeros((count, states), dtype=np.float32)
        here[:, 0] = 1
        before = []
        for i in range(self.free):
            before.append(here)
            after = np.zeros_like(here)
            for symbol in np.flatnonzero(self.patterns.allowed[i]).tolist():
                some = (patterns[:, i] == OPEN) | (patterns[:, i] == symbol)
                after[some] += here[some] @ self.patterns.steps[symbol]
            here = np.minimum(after, 1)
        back = np.zeros_like(here)
        back[:, end] = here[:, end]
        found = np.zeros((count, self.free, len(self.patterns.steps)), dtype=np.bool_)
        for i in range(self.free - 1, -1, -1):
            after = np.zeros_like(back)
            for symbol in np.flatnonzero(self.patterns.allowed[i]).tolist():
                some = (patterns[:, i] == OPEN) | (patterns[:, i] == symbol)
                into = np.where(some[:, None], before[i] * (back @ self.patterns.steps[symbol].T > 0), 0)
                found[:, i, symbol] = into.any(axis=1)
                after = np.maximum(after, into)
            back = np.minimum(after, 1)
        return found

    def _margins(self, kind: int, stream: AffineForm, columns: SeenColumns) -> Floats:
        """Return lower bounds of margins: over boxes of what the head reads, and where these do not suffice with a
        bound along each direction."""
        v = columns.middle.shape[2]
        both = np.broadcast_to(np.concatenate([np.eye(v), -np.eye(v)]), (len(columns.middle), 2 * v, v))
        ends = columns.support(both)
        middle = ends[:, :v] / 2 - ends[:, v:] / 2
        radius = np.maximum(ends[:, :v] - middle, middle + ends[:, v:]) * (1 + ROUND) + ROUND * np.abs(middle)

        def box(directions: Floats) -> Floats:
            far = radius + 4 * ROUND * np.abs(middle)
            found = np.einsum("nkv,nv->nk", directions, middle) + np.einsum("nkv,nv->nk", np.abs(directions), far)
            return np.asarray(found + 4 * ROUND * np.abs(found) + ETA)

        found = self.scaled(kind, stream, middle, box)
        left = np.flatnonzero(~(found > 0))
        if len(left):
            found[left] = self.scaled(kind, stream.at(left), middle[left], columns.at(left).support)
        return found

    def states(self) -> list[int]:
        """Return the states before the last symbol, by class."""
        found: list[int] = self.entries.classes.state[self.rows].tolist()
        return found

    def _lay(self, given: Integers) -> None:
        """Make the forms of all keys and of the last position, for patterns that reveal some positions."""
        self.layout = OpenLayout(self.patterns.allowed, given)
        self.last = OpenForms(self.entries, self.patterns, self.layout)
        self.forms = {
            key: OpenForms(self.entries, self.entries.patterns(some), self.layout) for key, some in self.groups.items()
        }

    def _chosen(self) -> list[tuple[int, int]]:
        """Return the keys that have columns: for some sampled word, the bound of their score over all histories is
        above the greatest score in that word less NEGLIGIBLE."""
        words = sampled_patterns(self.patterns, np.random.default_rng(0), SAMPLES)
        query, keys = self.known(self.last(words).heads[0]), sorted(self.groups)
        every = self._plain(words, keys).max(axis=1, initial=-np.inf)
        rows = np.array([self.groups[key][0] for key in keys], dtype=np.int64)
        most = scores_of(query, self.hulls.at(rows), self.centre).high
        near = (most > every - NEGLIGIBLE).any(axis=1)
        return [key for key, one in zip(keys, near.tolist(), strict=True) if one]

    def influence(self) -> Floats:
        """Return how much the symbol at each position moves scores, in nats: the greatest over the keys of the mean
        over sampled words of the range of the score over the symbols there."""
        words = sampled_patterns(self.patterns, np.random.default_rng(1), SAMPLES)
        found = np.zeros(self.free)
        for place in range(self.free):
            if self.patterns.allowed[place].sum() < 2:
                continue
            opened = words.copy()
            opened[:, place] = OPEN
            made, of = self.patterns.revealed(opened, np.full(len(opened), place))
            scores = self._plain(made, self.chosen)
            starts = np.flatnonzero(np.append(True, of[1:] != of[:-1]))
            ranges = np.maximum.reduceat(scores, starts) - np.minimum.reduceat(scores, starts)
            finite = np.isfinite(ranges)
            mean = np.where(finite, ranges, 0.0).sum(axis=0) / np.maximum(finite.sum(axis=0), 1)
            found[place] = mean.max(initial=0.0)
        return found

    def _plain(self, words: Integers, keys: list[tuple[int, int]]) -> Floats:
        """Return in plain floats the scores of some keys at the end of words, -inf for other symbols."""
        last = self.last(words).heads[0]
        scores = np.full((len(words), len(keys)), -np.inf)
        for number, (place, symbol) in enumerate(keys):
            some = np.flatnonzero(words[:, place] == symbol)
            if len(some):
                key = self.forms[place, symbol](words[some, :place]).heads[0].keys.c - self.centre
                scores[some, number] = (last.queries.c[some] * key).sum(axis=1)
        return scores

    def starts(self, count: int) -> Integers:
        """Return patterns that divide all words, about so many: those that reveal the first positions."""
        found = self.patterns.root
        for place in self.positions.tolist():
            if len(found) >= count:
                break
            found, _ = self.patterns.revealed(found, np.full(len(found), place))
        return found

    def coarse(self, start: Integers) -> Iterator[Integers]:
        """Yield the coarse words of some patterns, in lexicographic order and in batches."""
        left = [(start, 0)]
        while left:
            some, number = left.pop()
            if number == len(self.positions):
                yield some
                continue
            place = self.positions[number]
            found = some
            if (some[:, place] == OPEN).any():
                found, _ = self.patterns.revealed(some, np.full(len(some), place))
            pieces = [found[at : at + TOGETHER] for at in range(0, len(found), TOGETHER)]
            left += [(piece, number + 1) for piece in pieces[::-1]]

    def prove(self, start: Integers) -> CoarseResult:
        """Return the result for the words of some patterns, all of which reveal the same positions."""
        low, coarse, divided = np.full(len(self.rows), np.inf), 0, 0
        for patterns in self.coarse(start):
            coarse += len(patterns)
            left = patterns
            while len(left):
                batch, left = left[:TOGETHER], left[TOGETHER:]
                found = self.bounds(batch)
                margins, whole = found.margins, ~(batch == OPEN).any(axis=1)
                shut = (margins > 0).all(axis=1)
                low = np.minimum(low, margins[shut | whole].min(axis=0, initial=np.inf))
                again = np.flatnonzero(~shut & ~whole)
                if len(again):
                    made, _ = self.patterns.revealed(batch[again], found.pull[again].argmax(axis=1))
                    divided += len(made)
                    left = np.concatenate([made, left])
                if divided > MOST_DIVIDED or (whole & ~shut).any():
                    return CoarseResult(np.where(low > 0, -np.inf, low), coarse, divided)
        return CoarseResult(low, coarse, divided)

    # ---- bounds ----

    def bounds(self, patterns: Integers) -> CoarseBounds:
        """Return bounds over patterns, (N, free)."""
        last = self.last(patterns)
        query = self.known(last.heads[0])
        scores, middle, radius = self._seen(patterns, last)
        allowed = [self._allowed(patterns, int(state)) for state in self.entries.classes.state[self.rows]]
        within = np.logical_or.reduce([self._columns_of(one) for one in allowed])
        spread = np.abs(scores.slopes).sum(axis=2) * GROW
        least = np.where(within & np.isfinite(scores.middle), scores.middle - spread - scores.off, -np.inf)
        top, at = least.argmax(axis=1), np.arange(len(patterns))
        apart = np.abs(scores.slopes - scores.slopes[at, top][:, None]).sum(axis=2) * GROW + scores.off
        near = scores.middle - scores.middle[at, top][:, None]
        apart = apart + 4 * ROUND * (np.abs(scores.middle) + np.abs(scores.middle[at, top])[:, None])
        floor, ceiling = (scores.middle[at, top] + sign * spread[at, top] for sign in (-1, 1))
        least, most = self._ends(query)
        least, most = np.fmax(near - apart, least - ceiling[:, None]), np.fmin(near + apart, most - floor[:, None])
        most = np.maximum(most, least)
        high = np.exp(np.maximum(most, FLOOR)) * (1 + EXP_OFF)
        low = np.where(least >= FLOOR, np.exp(np.maximum(least, FLOOR)) * (1 - EXP_OFF), 0.0)
        rest, rest_middle, rest_radius = self._rest(query, floor)
        margins = np.full((len(patterns), len(self.rows)), np.inf)
        for number, one in enumerate(allowed):
            some = np.flatnonzero(one.any(axis=(1, 2)) | (self.free == 0))
            seen, optional = self._columns_of(one)[some], self._optional(one)[some]
            none = np.zeros(len(some))
            weights = BoundedWeights(low[some], high[some], self._starts(), seen, none, rest[some], optional)
            columns = SeenColumns(weights, middle[some], radius[some], rest_middle, rest_radius)
            margins[some, number] = self._margins(self.kinds[number], last.stream.at(some), columns)
        weight = np.where(within, low + high, 0.0)
        weight = weight / weight.sum(axis=1, keepdims=True)
        mean = np.einsum("nt,ntp->np", weight, scores.slopes)
        moved = np.einsum("nt,ntp->np", weight, np.abs(scores.slopes - mean[:, None]))
        pull = np.zeros(patterns.shape)
        for number, place in enumerate(self.layout.of.tolist()):
            pull[:, place] += moved[:, number]
        return CoarseBounds(margins, np.where(patterns == OPEN, pull, -1.0))

    def _ends(self, query: HeadForms) -> tuple[Floats, Floats]:
        """Return bounds of the scores of all columns over all histories of the keys, (N, T)."""
        found = scores_of(query, self.hulls.at(self.chosen_rows), self.centre)
        unknown_ = np.full((len(query.places), len(self.fixed.keys.c) + 1), np.inf)
        return np.concatenate([found.low.T, -unknown_], axis=1), np.concatenate([found.high.T, unknown_], axis=1)

    def _seen(self, patterns: Integers, last: OpenCells) -> tuple[_Scores, Floats, Floats]:
        """Return the scores of all columns, and the middles and radii of their values: the chosen keys, the fixed
        tokens, and the last position itself."""
        parts, middles, radii = [], [], []
        query, places = last.heads[0].queries, sorted({place for place, _ in self.chosen})
        of, first, start = np.zeros(len(patterns), dtype=np.int64), np.zeros(1, dtype=np.int64), 0
        symbols = self.patterns.steps.shape[0] + 1
        for place in places:
            for j in range(start, place):
                _, first, of = np.unique(of * symbols + patterns[:, j] + 1, return_index=True, return_inverse=True)
                of = of.ravel()
            start = place
            for one in (key for key in self.chosen if key[0] == place):
                cells = self.forms[one](patterns[first, :place])
                form = cells.heads[0]
                parts.append(self._score(query, last.apart, form.keys.at(of), cells.apart[of]))
                hull = self.hulls.at(self.groups[one][:1]).values
                middle, radius = _both(form.values, hull)
                middles.append(middle[of])
                radii.append(radius[of])
        for number in range(len(self.fixed.keys.c)):
            form = self.fixed.at(np.full(len(patterns), number))
            wide = form.keys.first(0)
            parts.append(self._score(query, last.apart, wide, np.zeros(len(patterns))))
            middles.append(form.values.c)
            radii.append(form.values.spread + form.values.e)
        own = last.heads[0]
        parts.append(self._score(query, last.apart, own.keys, last.apart))
        middles.append(own.values.c)
        radii.append(own.values.spread + own.values.e)
        middle, slopes, off = (np.stack(one, axis=1) for one in zip(*parts, strict=True))
        return _Scores(middle, slopes, off), np.stack(middles, axis=1), np.stack(radii, axis=1)

    def _score(self, q: AffineForm, q_apart: Floats, k: AffineForm, k_apart: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the score of one key by pattern: middle (N,), slopes (N, coordinates) and off (N,)."""
        kc = k.c - self.centre
        one = np.einsum("npd,nd->np", q.slopes, kc)
        other = np.zeros_like(one)
        other[:, : k.slopes.shape[1]] = np.einsum("nd,npd->np", q.c, k.slopes)
        q_reach, k_reach = (form.spread + form.e for form in (q, k))
        off = (np.abs(q.c) * k.e + q.e * np.abs(kc) + q_reach * k_reach).sum(axis=1)
        off = off + q_apart * np.abs(one).sum(axis=1) + k_apart * np.abs(other).sum(axis=1)
        size = (np.abs(q.c) + q_reach) * (np.abs(kc) + k_reach + np.abs(self.centre))
        return (q.c * kc).sum(axis=1), one + other, (off + 4 * ROUND * size.sum(axis=1)) * GROW + ETA

    def _starts(self) -> Integers:
        """Return the first column of each block."""
        places = [place for place, _ in self.chosen]
        places += range(self.free, self.free + len(self.fixed.keys.c) + 1)
        found: Integers = np.flatnonzero(np.append(True, np.diff(places) != 0))
        return found

    def _columns_of(self, allowed: Booleans) -> Booleans:
        """Return which columns are allowed, from the symbols by position (N, free, symbols)."""
        places, symbols = np.array(self.chosen, dtype=np.int64).reshape(-1, 2).T
        always = np.ones((len(allowed), len(self.fixed.keys.c) + 1), dtype=np.bool_)
        return np.concatenate([allowed[:, places, symbols], always], axis=1)

    def _optional(self, allowed: Booleans) -> Booleans:
        """Return by block whether the position may have a symbol without a column, (N, blocks)."""
        others = allowed.copy()
        for place, symbol in self.chosen:
            others[:, place, symbol] = False
        places = sorted({place for place, _ in self.chosen})
        never = np.zeros((len(allowed), len(self.fixed.keys.c) + 1), dtype=np.bool_)
        return np.concatenate([others[:, places].any(axis=2), never], axis=1)

    def _rest(self, query: HeadForms, floor: Floats) -> tuple[Floats, Floats, Floats]:
        """Return an upper bound of the sum of the weights of keys without columns, relative to scores of `floor`, and a
        box of all their values."""
        keys = [key for key in self.groups if key not in set(self.chosen)]
        width, total = self.hulls.values.c.shape[1], np.zeros(len(floor))
        if not keys:
            return total, np.zeros(width), np.zeros(width)
        for place in sorted({place for place, _ in keys}):
            rows = np.concatenate([self.groups[key] for key in keys if key[0] == place])
            high = scores_of(query, self.hulls.at(rows), self.centre).high.max(axis=0)
            total = total + np.exp(np.maximum(high - floor, FLOOR)) * (1 + EXP_OFF)
        values = self.hulls.at(np.concatenate([self.groups[key] for key in keys])).values
        reach = values.spread + values.e
        low, high = (values.c - reach).min(axis=0), (values.c + reach).max(axis=0)
        middle = low / 2 + high / 2
        return total * (1 + ROUND), middle, np.maximum(high - middle, middle - low) * (1 + ROUND)


def _both(one: AffineForm, hull: AffineForm) -> tuple[Floats, Floats]:
    """Return boxes, middles and radii, of vectors that are in two enclosures; NaN says nothing."""
    reach, far = one.spread + one.e, hull.spread + hull.e
    low, high = np.fmax(one.c - reach, hull.c - far), np.fmin(one.c + reach, hull.c + far)
    high = np.maximum(low, high)
    middle = low / 2 + high / 2
    return middle, np.maximum(high - middle, middle - low) * (1 + ROUND) + ROUND * np.abs(middle)


def sampled_patterns(patterns: ClassPatterns, rng: np.random.Generator, count: int) -> Integers:
    """Return random patterns without open positions."""
    found = np.tile(patterns.root, (count, 1))
    for place in range(patterns.free):
        found = one_of_each(*patterns.revealed(found, np.full(len(found), place)), rng)
    return found


def one_of_each(made: Integers, of: Integers, rng: np.random.Generator) -> Integers:
    """Return for each divided pattern a random one of those that it was divided into, as `revealed` returns them."""
    order = np.lexsort((rng.random(len(of)), of))
    _, first = np.unique(of[order], return_index=True)
    return made[order[first]]
