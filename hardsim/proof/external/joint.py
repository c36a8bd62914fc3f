"""Bound sums of several heads' outputs over the prefixes of a class, knowing that all heads read the same prefix.

The sum of the heads' greatest values is often not attained: each may belong to another prefix. Here the bound is one
longest path for all heads together.

Let `a_h = N_h / D_h` be the heads' outputs (`supports`), c_h directions, and `x_h = c_h.a_h`. Let R be a number or the
D_h of one head, the reference. Over a class `r_h = D_h / R` lies in [p, q] and x_h in [A, B], each with its h. Since
(x - A) (r - p) and (B - x) (q - r) are not negative,

    R x_h <= (c_h.N_h - A D_h) / p + A R    and    R x_h <= (c_h.N_h - B D_h) / q + B R,

and so for each share f of the first and 1 - f of the second. Let V be the greatest total over heads of the terms with
N_h and D_h, which are sums over positions: a longest path. Then the sum of the x_h is at most that of the f A + (1 - f)
B plus V / R; where V is above 0, R is taken at its least, else at its greatest. For the head that is the reference, R
x_h is N_h = (N_h - L D_h) + L R for each number L. No linear bound of x_h by N_h and D_h is better than these, on the
box of x_h and r_h. The best shares f are a multiplier for each head: they are the least point of a convex function, and
a best path gives its slope. So the shares are moved against the slopes by steps that shrink, and L by Newton's steps.

The bound exceeds the greatest sum by about the sum over heads of (width of [A, B]) times (relative width of [p, q]).
So each direction takes the reference for which this is least: a head whose weights are as uneven as the other heads',
or the number 1 if one head's sum of weights varies much more than those of the others.

Let T be the sum of some prefix. Where the sum is greater than T, each x_h is greater than T minus the greatest values
of the other heads, which raises A. The bound is then the maximum of T and the bound with the new A.

Passes are rounded upward, as in `supports`. The least and greatest r_h are longest paths as well.
"""

from __future__ import annotations

import numpy as np

from hardsim.lazy_dataclass import dataclass
from hardsim.proof.external.affine import ROUND
from hardsim.proof.external.columns import PrefixClasses, Weights
from hardsim.proof.external.logits import Basis
from hardsim.proof.external.supports import HeadSupports, Paths, longest_paths, traced_paths
from hardsim.run.enclosure import ETA, GROW, Floats, Integers, U, gamma

NUMBERS = 2**20
"""The count of numbers in an array of a batch."""
STEPS = 5
"""Greatest number of passes for a bound."""
FIRST_STEP, SHRINKS = 0.25, 0.75
"""The first step of the shares f, and the factor from each step to the next."""
BIAS = 1.25
"""The number 1 is preferred as the reference, since it needs no Newton steps: its estimated excess is divided by
this."""
RATIOS = 8
"""Passes that look for the least and greatest ratio of two sums of weights."""


@dataclass(frozen=True, slots=True)
class WeightRanges:
    """Bounds, by class, of each head's sum of weights divided by each reference: `low` and `high` (classes, references,
    heads). Reference 0 is the number 1; reference 1 + h is head h's sum of weights."""

    low: Floats
    high: Floats

    def at(self, index: Integers) -> WeightRanges:
        """Return the bounds of some classes, by their numbers."""
        return WeightRanges(self.low[index], self.high[index])


@dataclass(frozen=True, slots=True)
class References:
    """The reference R of each class and direction: `low` and `high` are p and q of each head (classes, directions,
    heads); `head` is the head that is the reference (-1: the number 1); `least` and `most` bound R."""

    low: Floats
    high: Floats
    head: Integers
    least: Floats
    most: Floats


@dataclass(frozen=True, slots=True)
class JointPass:
    """The result of one longest path: `value` is V (classes, directions), rounded upward; `sums` and `weights` are
    c_h.N_h and D_h on a best path (classes, directions, heads), which only guide the search and are not rounded."""

    value: Floats
    sums: Floats
    weights: Floats


@dataclass(frozen=True, slots=True)
class Batch:
    """Classes, those with most free positions first, with data of each head: its weights, its parts of the directions
    (classes, directions, v), and the products of these with the values at fixed positions."""

    classes: PrefixClasses
    weights: list[Weights]
    parts: list[Floats]
    fixed: list[Floats]


class JointSupports:
    """Upper bounds of sums over all heads of a layer; see the module."""

    def __init__(self, heads: list[HeadSupports], paths: Paths, count: int, steps: int = STEPS) -> None:
        """`count` is the number of classes in the whole proof, `steps` that of the passes for a bound."""
        self.heads, self.paths, self.steps = heads, paths, steps
        size = (count, len(heads) + 1, len(heads))
        self._ranges = WeightRanges(np.full(size, np.nan), np.full(size, np.nan))

    def bounds(
        self, places: Integers, classes: PrefixClasses, directions: Floats, lows: Floats, highs: Floats
    ) -> Floats:
        """Return upper bounds of the sums of c_h.a_h, (classes, directions), over the prefixes of each class on which
        every c_h.a_h is between `lows` and `highs` (classes, directions, heads). `directions` has the values of all
        heads side by side, (classes, directions, v); `places` numbers the classes in the whole proof."""
        found = np.empty(directions.shape[:2])
        order = np.argsort(-classes.free, kind="stable")
        states = max((len(layer.states) for layer in self.paths.layers), default=1)
        symbols, most = self.heads[0].values.shape[0], int(classes.free.max(initial=1))
        each = max(states * directions.shape[1], symbols * most * len(self.heads), symbols * directions.shape[1])
        size = max(1, NUMBERS // each)
        for start in range(0, len(order), size):
            some = order[start : start + size]
            with np.errstate(all="ignore"):
                found[some] = self._some(places[some], classes.at(some), directions[some], lows[some], highs[some])
        return found

    def _some(
        self, places: Integers, classes: PrefixClasses, directions: Floats, lows: Floats, highs: Floats
    ) -> Floats:
        weights = [head.weights(classes) for head in self.heads]
        ranges = self._known(places, classes, weights)
        ends = np.cumsum([head.width for head in self.heads])[:-1]
        parts = np.split(directions, ends, axis=2)
        fixed = [head.fixed(classes, part) for head, part in zip(self.heads, parts, strict=True)]
        batch = Batch(classes, weights, parts, fixed)
        return self._descended(batch, self._references(ranges, highs - lows), lows, highs)

    def _descended(self, batch: Batch, known: References, lows: Floats, highs: Floats) -> Floats:
        """Return the least of the bounds that the passes give, (classes, directions)."""
        count, size = len(self.heads), np.abs(highs).sum(axis=2)
        alone = highs.sum(axis=2)
        best = alone + gamma(count + 4) * size + ETA
        own = known.head[:, :, None] == np.arange(count)
        shares, level = np.full(highs.shape, 0.5), (lows + highs) / 2
        attained, low = np.full(alone.shape, -np.inf), lows
        for number in range(self.steps):
            low = np.minimum(low, highs)
            done, fixed = self._pass(batch, known, own, np.where(own, level, shares), low, highs)
            gained = done.value / np.where(done.value > 0, known.least, known.most)
            total = fixed + gained
            total = total + gamma(count + 8) * (np.abs(fixed) + np.abs(gained)) + ETA
            known_value = np.where(attained > -np.inf, attained + 2.0**-40 * (np.abs(attained) + size), -np.inf)
            best = np.fmin(best, np.maximum(total, known_value))
            x, r = done.sums / done.weights, np.where(known.head < 0, 1.0, (done.weights * own).sum(axis=2))[:, :, None]
            inside = ((x >= lows) & (x <= highs)).all(axis=2)
            attained = np.where(inside, np.fmax(attained, x.sum(axis=2)), attained)
            slope = (done.sums - low * done.weights) / known.low - (done.sums - highs * done.weights) / known.high
            slope = slope / r - (highs - low)
            shares = np.clip(shares - np.nan_to_num(np.sign(slope)) * FIRST_STEP * SHRINKS**number, 0.0, 1.0)
            level = level + np.nan_to_num(done.value / r[:, :, 0])[:, :, None]
            low = np.where(attained[:, :, None] > -np.inf, attained[:, :, None] - alone[:, :, None] + highs, lows)
            low = np.maximum(low, lows)
        return np.asarray(best)

    def _references(self, ranges: WeightRanges, widths: Floats) -> References:
        """Choose the reference of each direction by the estimate of the module, from the widths B - A of the heads'
        ranges (classes, directions, heads)."""
        apart = (ranges.high - ranges.low) / (ranges.high + ranges.low)
        cost = np.einsum("cdh,crh->cdr", widths, np.where(np.isfinite(apart), apart, np.inf))
        cost[:, :, 0] /= BIAS
        chosen = np.where(np.isnan(cost), np.inf, cost).argmin(axis=2)
        at, ones = np.arange(len(apart))[:, None], np.ones((len(apart), 1))
        least = np.concatenate([ones, ranges.low[:, 0]], axis=1)[at, chosen]
        most = np.concatenate([ones, ranges.high[:, 0]], axis=1)[at, chosen]
        return References(ranges.low[at, chosen], ranges.high[at, chosen], chosen - 1, least, most)

    def _pass(
        self, batch: Batch, known: References, own: Floats, shares: Floats, lows: Floats, highs: Floats
    ) -> tuple[JointPass, Floats]:
        """Return V, and a bound of the sum of what is added to V / R. `own` marks the head that is the reference, for
        which `shares` is L."""
        first, second = shares / known.low, (1 - shares) / known.high
        # (x - A) (r - p) times any factor is not negative: what is rounded in the factors changes that of x, which is
        # 1, by less than 2^-49, and moves the rest by less than 2^-40 D (|A| + |B|), by which the level is lowered
        scale = np.where(own, 1.0, first + second)
        level = np.where(own, shares, (first * lows + second * highs) / (first + second))
        size = np.abs(lows) + np.abs(highs)
        fixed = np.where(own, shares, shares * lows + (1 - shares) * highs + 2.0**-40 * size)
        total = fixed.sum(axis=2) + gamma(len(self.heads) + 4) * np.abs(fixed).sum(axis=2)
        lost = np.where(own, 0.0, 2.0**-38 * size)
        slips = np.stack([head.slip_of(part) for head, part in zip(self.heads, batch.parts, strict=True)], axis=2)
        return self._longest(batch, scale, np.nextafter(level - (lost + slips) * GROW, -np.inf)), total

    def _longest(self, batch: Batch, scales: Floats, levels: Floats) -> JointPass:
        """Return the greatest sum over heads and positions of scale w (c.v - level), rounded upward."""
        count, shape = len(self.heads), levels.shape[:2]
        start, beside = np.zeros(shape), np.zeros((2 * count, *shape))
        for number, (one, values) in enumerate(zip(batch.weights, batch.fixed, strict=True)):
            scale, x = scales[:, :, number], values - levels[:, :, number, None]
            gains = np.maximum(x * one.fixed_high[:, None], x * one.fixed_low[:, None])
            size = np.abs(gains).sum(axis=2)
            start = start + scale * (gains.sum(axis=2) + gamma(gains.shape[2] + 8) * size + ETA)
            start = start + 8 * U * (np.abs(start) + scale * size)
            beside[number] = gains.sum(axis=2)
            beside[count + number] = one.fixed_high.sum(axis=1)[:, None]

        def gains_at(j: int, live: int) -> tuple[Floats, Floats]:
            total, size = np.zeros(()), np.zeros(())
            added = np.empty((2 * count, len(self.heads[0].values), live, shape[1]))
            for number, (head, one, part) in enumerate(zip(self.heads, batch.weights, batch.parts, strict=True)):
                y = (part[:live] @ head.values[:, j].T).transpose(2, 0, 1) - levels[:live, :, number]
                high, low = one.high[:live, j].T[:, :, None], one.low[:live, j].T[:, :, None]
                gains = np.maximum(y * high, y * low)
                added[number], added[count + number] = gains, high
                gains = gains * scales[:live, :, number]
                total, size = total + gains, size + np.abs(gains)
            return np.asarray(total + gamma(count + 6) * size + ETA), added

        value, sums = traced_paths(self.paths, batch.classes, start, beside, gains_at)
        every = np.moveaxis(sums, 0, 2)
        return JointPass(value, every[:, :, :count] + levels * every[:, :, count:], every[:, :, count:])

    # ---- sums of weights ----

    def _known(self, places: Integers, classes: PrefixClasses, weights: list[Weights]) -> WeightRanges:
        """Return the ranges of sums of weights of classes. Each class is computed once, and then kept."""
        every = self._ranges
        _, first = np.unique(places, return_index=True)
        new = np.sort(first[np.isnan(every.high[places[first], 0, 0])])
        if len(new):
            parts = [Weights(w.low[new], w.high[new], w.fixed_low[new], w.fixed_high[new]) for w in weights]
            found = self._ratios(classes.at(new), parts)
            every.low[places[new]], every.high[places[new]] = found.low, found.high
        return every.at(places)

    def _ratios(self, classes: PrefixClasses, weights: list[Weights]) -> WeightRanges:
        """Compute the ranges of sums of weights of some classes."""
        count, heads = len(classes), len(weights)
        ends = np.repeat(np.concatenate([np.eye(heads), -np.eye(heads)])[None], count, axis=0)
        found = self._summed(classes, weights, ends)
        low, high = np.full((count, heads + 1, heads), np.nan), np.full((count, heads + 1, heads), np.nan)
        high[:, 0] = found[:, :heads]
        low[:, 0] = np.where(found[:, heads:] < 0, -found[:, heads:], np.nan)
        pairs = [(one, other) for one in range(heads) for other in range(heads) if one != other]
        below, above = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        least, most = low[:, 0, below], high[:, 0, below]
        level, found = high[:, 0, above] / most, np.full((count, len(pairs)), np.inf)
        for _ in range(RATIOS if pairs else 0):
            factors = np.zeros((count, len(pairs), heads))
            factors[:, np.arange(len(pairs)), below] = -level
            factors[:, np.arange(len(pairs)), above] = 1
            value = self._summed(classes, weights, factors)
            # D_above <= r D_below + V, and D_below lies between `least` and `most`
            found = np.fmin(found, level + np.where(value > 0, value / least, value / most))
            level = found
            if not (np.abs(value) > 1e-3 * level * least).any():
                break
        found = found * GROW
        high[:, 1 + below, above] = found
        low[:, 1 + above, below] = 1 / found * (1 - 4 * U)
        own = np.arange(heads)
        low[:, 1 + own, own] = high[:, 1 + own, own] = 1.0
        return WeightRanges(low, high)

    def _summed(self, classes: PrefixClasses, weights: list[Weights], factors: Floats) -> Floats:
        """Return upper bounds of the greatest sums over heads of factors times D_h, for factors (classes, sums,
        heads)."""
        first = np.zeros(factors.shape[:2])
        for number, one in enumerate(weights):
            factor = factors[:, :, number]
            size = one.fixed_high.sum(axis=1)[:, None] * np.abs(factor)
            gains = np.maximum(
                factor[:, :, None] * one.fixed_high[:, None], factor[:, :, None] * one.fixed_low[:, None]
            )
            first = first + gains.sum(axis=2) + gamma(gains.shape[2] + 8) * size + ETA
            first = first + 8 * U * (np.abs(first) + size)

        def gains_at(j: int, live: int) -> Floats:
            total, size = np.zeros(()), np.zeros(())
            for number, one in enumerate(weights):
                y = factors[:live, :, number]
                high, low = one.high[:live, j].T[:, :, None], one.low[:live, j].T[:, :, None]
                gains = np.maximum(y * high, y * low)
                total, size = total + gains, size + np.abs(gains)
            return np.asarray(total + gamma(len(weights) + 6) * size + ETA)

        return longest_paths(self.paths, classes, first, gains_at)


def function_bounds(
    joint: JointSupports, bases: list[Basis], reach: Floats, places: Integers, classes: PrefixClasses, functions: Floats
) -> tuple[Floats, Floats]:
    """Return lower and upper bounds, (classes, functions), over the prefixes of classes, of functions of the
    coordinates of the heads' outputs, (classes or 1, functions, coordinates). `reach` bounds each coordinate; `places`
    numbers the classes in the whole proof."""
    heads = joint.heads
    split = np.split(functions, np.cumsum([len(basis.axes) for basis in bases])[:-1], axis=-1)
    parts = [part @ basis.axes for part, basis in zip(split, bases, strict=True)]
    parts = [np.concatenate([part, -part], axis=1) for part in parts]
    highs = np.stack([head.bounds(classes, part) for head, part in zip(heads, parts, strict=True)], axis=2)
    found, half = highs.sum(axis=2), functions.shape[1]
    if len(heads) > 1:
        lows = -np.concatenate([highs[:, half:], highs[:, :half]], axis=1)
        directions = np.concatenate(parts, axis=2)
        directions = np.broadcast_to(directions, (len(places), *directions.shape[1:]))
        found = np.fmin(found, joint.bounds(places, classes, directions, lows, highs))
    # the directions are rounded, and so are the sums
    lost = 4 * ROUND * (np.abs(functions) @ reach)
    return -(found[:, half:] + lost), found[:, :half] + lost
