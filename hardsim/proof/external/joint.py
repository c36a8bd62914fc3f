"""Upper bounds of sums of several heads' outputs over the prefixes of a class: the heads read the same prefix.

The greatest values of the heads, added, may belong to different prefixes. One longest path for all heads couples them.
Let `a_h = N_h / D_h` be the heads' outputs (`supports`), c_h directions, L_h numbers, `x_h = c_h.a_h - L_h`, and X_h =
D_h x_h, which is a sum over positions. Let R be a number or the D_h of one head, the reference. With r_h = D_h / R,

    R (the sum of all x_h) = the sum of all X_h / r_h.

Over a class, 1 / r_h lies in s_h (1 +- e_h). Where x_h lies in [-A, B] with A, B >= 0, the size of x_h is at most
`alpha + beta x_h`, its chord: alpha = 2 A B / (A + B), beta = (B - A) / (A + B). So X_h / r_h <= s_h (X_h + e_h (alpha
D_h + beta X_h)), a sum over positions, too. Let V be the greatest total of these bounds, a longest path. Then the sum
of the c_h.a_h is at most that of the L_h plus V / R; where V is above 0, R is taken at its least, else at its
greatest. Every L gives a bound. With L_h the greatest values of the heads alone B is 0, and V / R is what coupling
gains; after that the L_h are moved to where that bound says that the values are.

What is lost is about the sum of the e_h times the sizes of the x_h. So the reference is, for each direction, the one
with the least sum of the e_h times the widths of the ranges of the c_h.a_h: a head whose weights are as uneven as the
other heads', or the number 1 if one head's sum of weights varies much more than those of the others.

Rigour is that of `supports`: passes are rounded upward. The least and greatest r_h are longest paths as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hardsim.proof.external.affine import ROUND
from hardsim.proof.external.columns import PrefixClasses, Weights
from hardsim.proof.external.logits import Basis
from hardsim.proof.external.supports import HeadSupports, Paths, longest_paths
from hardsim.run.enclosure import ETA, GROW, Floats, Integers, U, gamma

NUMBERS = 2**20
"""The count of numbers in an array of a batch."""
MOVES = (0.7, 1.0)
"""Where the L_h are moved to, as shares of the way from the greatest value of each head alone to its estimate."""
RATIOS = 8
"""Passes that look for the least and greatest ratio of two sums of weights."""


@dataclass(frozen=True, slots=True)
class WeightRanges:
    """By class, bounds of the sum of the weights of each head over each reference, `low` and `high` (classes,
    references, heads). The references are the number 1, and the sum of the weights of each head."""

    low: Floats
    high: Floats

    def at(self, index: Integers) -> WeightRanges:
        """Return those of some classes."""
        return WeightRanges(self.low[index], self.high[index])


@dataclass(frozen=True, slots=True)
class Scales:
    """By class and direction: s_h and e_h, (classes, directions, heads), and the least and greatest R."""

    s: Floats
    e: Floats
    least: Floats
    most: Floats


class JointSupports:
    """Bounds for all heads of a network together."""

    def __init__(self, heads: list[HeadSupports], paths: Paths, count: int) -> None:
        self.heads, self.paths = heads, paths
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
        best = highs.sum(axis=2) + gamma(len(self.heads) + 4) * np.abs(highs).sum(axis=2) + ETA
        share = (highs - lows) / np.maximum((highs - lows).sum(axis=2, keepdims=True), ETA)
        scaled = self._scaled(ranges, highs - lows)
        for move in (0.0, *MOVES):
            level = highs - move * np.maximum(highs.sum(axis=2) - best, 0.0)[:, :, None] * share
            passed = self._pass(classes, parts, weights, fixed, level, lows, highs, scaled)
            gained = passed / np.where(passed > 0, scaled.least, scaled.most)
            total = level.sum(axis=2) + gained
            total = total + gamma(len(self.heads) + 8) * (np.abs(level).sum(axis=2) + np.abs(gained)) + ETA
            best = np.fmin(best, total)
        return np.asarray(best)

    def _scaled(self, ranges: WeightRanges, widths: Floats) -> Scales:
        """Return the factors for the reference that is likely the best one of each direction, for the widths of the
        heads' ranges (classes, directions, heads)."""
        least, most = 1 / ranges.high, 1 / ranges.low
        s, e = (least + most) / 2, (most - least) / (most + least) * GROW + 2.0**-40
        count = len(self.heads)
        same = np.concatenate([np.zeros((1, count), dtype=np.bool_), np.eye(count, dtype=np.bool_)])
        s, e = np.where(same, 1.0, s), np.where(same, 0.0, e)
        cost = np.einsum("cdh,crh->cdr", widths, np.where(np.isfinite(e), e, np.inf))
        chosen = np.where(np.isnan(cost), np.inf, cost).argmin(axis=2)
        at = np.arange(len(s))[:, None]
        ones = np.ones(len(s))[:, None]
        low, high = np.concatenate([ones, ranges.low[:, 0]], axis=1), np.concatenate([ones, ranges.high[:, 0]], axis=1)
        return Scales(s[at, chosen], e[at, chosen], low[at, chosen], high[at, chosen])

    def _pass(
        self, classes: PrefixClasses, parts: list[Floats], weights: list[Weights], fixed: list[Floats],
        level: Floats, lows: Floats, highs: Floats, scaled: Scales,
    ) -> Floats:  # fmt: skip
        """Return V. An upper bound of x_h and -x_h may be increased: A and B are."""
        scales, lowered = [], []
        for number, part in enumerate(parts):
            here, s, e = level[:, :, number], scaled.s[:, :, number], scaled.e[:, :, number]
            slip = self.heads[number].slip_of(part)
            above = np.maximum(highs[:, :, number] - here, 0.0) * GROW + 2.0**-40 * np.abs(here) + ETA
            below = np.maximum(here - lows[:, :, number], 0.0) * GROW + 2.0**-40 * np.abs(here) + ETA
            alpha = 2 * above * below / (above + below)
            beta = (above - below) / (above + below)
            # s (X + e (alpha D + beta X)) = s (1 + e beta) (X + D e alpha / (1 + e beta)); what is rounded in the
            # factors moves it by less than 2^-38 D (A + B + alpha), by which the level is lowered
            grown = 1 + e * beta
            grown = np.where(grown > 2.0**-20, grown, np.nan)  # NaN bounds nothing
            up = e * alpha * (1 + 2.0**-38) / grown + 2.0**-38 * (above + below + alpha)
            scales.append(s * grown)
            lowered.append(np.nextafter(here - (up + slip) * GROW, -np.inf))
        return self._longest(classes, parts, weights, fixed, scales, lowered)

    def _longest(
        self, classes: PrefixClasses, parts: list[Floats], weights: list[Weights], fixed: list[Floats],
        scales: list[Floats], levels: list[Floats],
    ) -> Floats:  # fmt: skip
        """Return an upper bound of the greatest sum over heads and positions of s_h w (c.v - L_h)."""
        first = np.zeros(levels[0].shape)
        for scale, one, values, level in zip(scales, weights, fixed, levels, strict=True):
            x = values - level[:, :, None]
            gains = np.maximum(x * one.fixed_high[:, None], x * one.fixed_low[:, None])
            size = np.abs(gains).sum(axis=2)
            first = first + scale * (gains.sum(axis=2) + gamma(gains.shape[2] + 8) * size + ETA)
            first = first + 8 * U * (np.abs(first) + scale * size)

        def gains_at(j: int, live: int) -> Floats:
            total: Floats | None = None
            size: Floats | float = 0.0
            for head, scale, one, part, level in zip(self.heads, scales, weights, parts, levels, strict=True):
                y = (part[:live] @ head.values[:, j].T).transpose(2, 0, 1) - level[:live]
                high, low = one.high[:live, j].T[:, :, None], one.low[:live, j].T[:, :, None]
                gains = np.maximum(y * high, y * low) * scale[:live]
                total = gains if total is None else total + gains
                size = size + np.abs(gains)
            assert total is not None
            return np.asarray(total + gamma(len(parts) + 6) * size + ETA)

        return longest_paths(self.paths, classes, first, gains_at)

    # ---- sums of weights ----

    def _known(self, places: Integers, classes: PrefixClasses, weights: list[Weights]) -> WeightRanges:
        """Return the ranges of classes, which are found once."""
        every = self._ranges
        _, first = np.unique(places, return_index=True)
        new = np.sort(first[np.isnan(every.high[places[first], 0, 0])])
        if len(new):
            parts = [Weights(w.low[new], w.high[new], w.fixed_low[new], w.fixed_high[new]) for w in weights]
            found = self._ratios(classes.at(new), parts)
            every.low[places[new]], every.high[places[new]] = found.low, found.high
        return every.at(places)

    def _ratios(self, classes: PrefixClasses, weights: list[Weights]) -> WeightRanges:
        """Return the ranges of some classes."""
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
