"""Ranges of the second layer's keys and values over all prefixes of one length and last symbol.

`ranges_of_classes` bounds what the second layer's heads may see at each position: for each length and last symbol the
ranges of keys along some axes and typical queries, and of values along some axes, over all prefixes that end so. They
are the union of the ranges over patterns (`patterns`). Patterns whose ranges exceed those of sampled prefixes by much
are divided, the worst first, by revealing the position that moves them most; so few patterns away from the extremes are
divided. The samples decide what is divided, not what is proved: every prefix is in some pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from hardsim.lazy_dataclass import dataclass
from hardsim.proof.external.affine import AffineForm
from hardsim.proof.external.columns import PrefixClasses
from hardsim.proof.external.demands import PrefixDemands
from hardsim.proof.external.first_layer import BoxCells, FirstLayer, random_words
from hardsim.proof.external.narrowing import unknown
from hardsim.proof.external.patterns import OPEN, ClassPatterns
from hardsim.proof.external.second_layer import AxisRanges, HeadAxes, HeadForms, KnownRanges, SecondEntry
from hardsim.run.enclosure import Floats, Integers

SAMPLES = 600
"""Greatest number of sampled prefixes of one length and last symbol."""
SCORE, SHARE = 0.4, 0.1
"""The excess over sampled ranges that is allowed: SCORE nats for scores; for keys and values SHARE times the spread of
samples along the axis, but at least half of the greatest allowance of any axis."""
MOST_PATTERNS = 12_000
"""Greatest number of patterns of one length and last symbol, but for the last division."""
TOGETHER = 1_000
"""Number of patterns in a batch."""
FAR = 1e3
"""Where ranges exceed those of samples by so many times what they may, slopes say nothing: then the position is
revealed that moves what the first layer reads most."""


@dataclass(frozen=True, slots=True)
class Entries:
    """The maps of a network from boxes of what its first layer reads to its second layer's queries, keys and values."""

    first: FirstLayer
    entry: SecondEntry
    demands: PrefixDemands
    classes: PrefixClasses
    kept: Integers
    """The coordinates of z with which they are enclosed."""

    def forms(self, cells: BoxCells) -> tuple[AffineForm, list[HeadForms]]:
        """Return the enclosures of the residual stream over cells, and those of each head."""
        stream = self.first.stream(self.classes, cells)
        places = self.first.columns.start - 1 + self.classes.length[cells.of]
        return stream, self.entry(stream, self.kept, places)

    def groups(self) -> Iterator[Integers]:
        """Yield the rows of classes with the same length and last symbol."""
        keys = np.stack([self.classes.length, self.classes.symbol])
        _, of = np.unique(keys, axis=1, return_inverse=True)
        for number in range(int(of.max(initial=-1)) + 1):
            yield np.flatnonzero(of.ravel() == number)

    def patterns(self, rows: Integers) -> ClassPatterns:
        """Return the patterns of classes of one length and last symbol."""
        return ClassPatterns(self.first, self.demands, self.classes, rows)


def sampled(words: Integers, patterns: ClassPatterns) -> Integers:
    """Return the patterns without open positions that some of the words begin with, where the last symbol follows."""
    length = patterns.length
    some = words[(words[:, length - 1] == patterns.symbol)][:, : length - 1]
    found: Integers = np.unique(some, axis=0)[:SAMPLES]
    return found[patterns.possible(found)]


@dataclass(frozen=True, slots=True)
class SampledForms:
    """Sampled prefixes of all classes by group, and the axes along which ranges are taken, by head."""

    forms: list[list[HeadForms]]
    axes: list[HeadAxes]
    scale: Floats
    """The allowed excess over the ranges of samples: keys along axes and typical queries, then values, of all heads."""

    @classmethod
    def of(cls, entries: Entries, groups: list[ClassPatterns], typical: int) -> SampledForms:
        """Return samples of the words of the machine."""
        words, _ = random_words(entries.demands, SAMPLES * 2)
        forms = []
        for one in groups:
            cells = one.cells(sampled(words, one), 1)
            points = BoxCells(cells.of, cells.middles, 1e-3 * cells.radii)
            forms.append(entries.forms(points)[1])
        heads = [HeadForms.joined(list(every)) for every in zip(*forms, strict=True)]
        axes = [HeadAxes.of(one, typical) for one in heads]
        scale = []
        for head, along in zip(heads, axes, strict=True):
            keys, values = (
                SHARE * np.ptp(np.nan_to_num(form.c) @ way.T, axis=0)
                for form, way in ((head.keys, along.keys), (head.values, along.values))
            )
            scale += [np.maximum(keys, keys.max() / 2), np.full(len(along.queries), SCORE)]
            scale += [np.maximum(values, values.max() / 2)]
        return cls(forms, axes, np.concatenate(scale) + 1e-9)


@dataclass(slots=True)
class _Open:
    """Patterns with their ranges, and how much these exceed those of samples; the position to reveal next."""

    patterns: Integers
    low: Floats
    high: Floats
    excess: Floats
    position: Integers

    def at(self, index: Integers) -> _Open:
        return _Open(self.patterns[index], self.low[index], self.high[index], self.excess[index], self.position[index])

    @classmethod
    def joined(cls, parts: list[_Open]) -> _Open:
        return cls(
            np.concatenate([one.patterns for one in parts]),
            np.concatenate([one.low for one in parts]),
            np.concatenate([one.high for one in parts]),
            np.concatenate([one.excess for one in parts]),
            np.concatenate([one.position for one in parts]),
        )


class _Group:
    """The ranges of the classes of one length and last symbol."""

    def __init__(self, entries: Entries, patterns: ClassPatterns, axes: list[HeadAxes], scale: Floats) -> None:
        self.entries, self.patterns, self.axes, self.scale = entries, patterns, axes, scale

    def inner(self, forms: list[HeadForms]) -> None:
        """Take the ranges of sampled prefixes."""
        low, high, _ = self._ends(forms)
        middle = (low + high) / 2
        self.least, self.most = middle.min(axis=0, initial=np.inf), middle.max(axis=0, initial=-np.inf)

    def _ends(self, forms: list[HeadForms]) -> tuple[Floats, Floats, list[Floats]]:
        """Return the ranges along all axes, (patterns, axes), and how much each coordinate moves them."""
        ends, slopes = [], []
        for axes, one in zip(self.axes, forms, strict=True):
            ends.append(ends_of(KnownRanges.of(axes, one, unknown)))
            for form, way in ((one.keys, axes.keys), (one.keys, axes.queries), (one.values, axes.values)):
                slopes.append(np.abs(form.slopes @ way.T))
        low, high = (np.concatenate(one, axis=1) for one in zip(*ends, strict=True))
        return low, high, slopes

    def evaluated(self, patterns: Integers) -> _Open:
        """Return the ranges of patterns."""
        parts = [self._evaluated(patterns[at : at + TOGETHER]) for at in range(0, len(patterns), TOGETHER)]
        return _Open.joined(parts)

    def _evaluated(self, patterns: Integers) -> _Open:
        cells = self.patterns.cells(patterns)
        low, high, slopes = self._ends(self.entries.forms(cells)[1])
        beyond = np.maximum(self.least - low, high - self.most) / self.scale - 1
        excess = beyond.max(axis=1)
        moved = np.concatenate(slopes, axis=2)[:, : cells.radii.shape[1]] / self.scale
        moved = np.where(np.isfinite(moved), moved, 0.0)
        pull = np.einsum("ncf,nf->nc", moved, (beyond > 0).astype(np.float64)) / cells.radii
        pull = np.where((excess < FAR)[:, None], pull, 1.0)
        influence = np.einsum("npc,nc->np", self.patterns.influence(patterns, cells.middles), pull)
        influence = np.where(patterns == OPEN, influence + 1e-300, -1.0)
        position = influence.argmax(axis=1) if patterns.shape[1] else np.zeros(len(patterns), dtype=np.int64)
        closed = (patterns != OPEN).all(axis=1)
        return _Open(patterns, low, high, np.where(closed, -np.inf, excess), position)

    def ranges(self) -> tuple[Floats, Floats]:
        """Return bounds of what all prefixes have along all axes."""
        left = self.evaluated(self.patterns.root)
        low, high = np.full(len(self.scale), np.inf), np.full(len(self.scale), -np.inf)
        total = len(left.excess)
        while True:
            shut = left.excess <= 0
            some = shut if total <= MOST_PATTERNS else np.ones_like(shut)
            low = np.minimum(low, left.low[some].min(axis=0, initial=np.inf))
            high = np.maximum(high, left.high[some].max(axis=0, initial=-np.inf))
            left = left.at(np.flatnonzero(~some))
            if not len(left.excess):
                return low, high
            order = np.argsort(-left.excess, kind="stable")
            count = max(len(order) // 2, min(len(order), TOGETHER // 4))
            worst, rest = left.at(order[:count]), left.at(order[count:])
            made, _ = self.patterns.revealed(worst.patterns, worst.position)
            total += len(made)
            left = _Open.joined([self.evaluated(made), rest]) if len(made) else rest


def ranges_of_classes(
    entries: Entries, typical: int, report: Callable[[int, int], None] | None = None
) -> tuple[list[HeadAxes], list[HeadForms]]:
    """Return axes, and the enclosures of keys and values of the prefixes of each class, by head, with one row for each
    class. `typical` is the number of typical queries; `report` is called with the number of groups of classes that are
    done, and of all. The queries of the result say nothing."""
    rows = list(entries.groups())
    groups = [entries.patterns(one) for one in rows]
    samples = SampledForms.of(entries, groups, typical)
    count = len(samples.scale)
    low, high = np.full((len(entries.classes), count), -np.inf), np.full((len(entries.classes), count), np.inf)
    for number, (some, patterns) in enumerate(zip(rows, groups, strict=True)):
        group = _Group(entries, patterns, samples.axes, samples.scale)
        group.inner(samples.forms[number])
        low[some], high[some] = group.ranges()
        if report is not None:
            report(number + 1, len(rows))
    return samples.axes, _enclosed(entries, samples.axes, low, high)


def _enclosed(entries: Entries, axes: list[HeadAxes], low: Floats, high: Floats) -> list[HeadForms]:
    """Return ranges along axes as enclosures."""
    places, found = entries.first.columns.start - 1 + entries.classes.length, []
    ends = np.cumsum([0] + [len(one.keys) + len(one.queries) + len(one.values) for one in axes])
    for one, (start, end) in zip(axes, pairwise(ends.tolist()), strict=True):
        known = ranges_between(one, low[:, start:end], high[:, start:end])
        keys, values = _boxed(known.keys, one.keys, one.lost), _boxed(known.values, one.values, one.lost)
        found.append(HeadForms(keys, keys, values, places, known))
    return found


def ends_of(known: KnownRanges) -> tuple[Floats, Floats]:
    """Return the ends of ranges: of keys along axes and typical queries, then of values, (N, axes)."""
    parts = known.keys, known.scores, known.values
    low = np.concatenate([np.nextafter(one.mid - one.rad, -np.inf) for one in parts], axis=1)
    high = np.concatenate([np.nextafter(one.mid + one.rad, np.inf) for one in parts], axis=1)
    return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)


def ranges_between(axes: HeadAxes, low: Floats, high: Floats) -> KnownRanges:
    """Return ranges with the ends that `ends_of` has; their queries say nothing."""
    middle = low / 2 + high / 2
    radius = np.maximum(high - middle, middle - low) * (1 + 2.0**-50)
    at = np.cumsum([len(axes.keys), len(axes.queries)])
    pairs = zip(np.split(middle, at, axis=1), np.split(radius, at, axis=1), strict=True)
    keys, scores, values = (AxisRanges(mid, rad) for mid, rad in pairs)
    nothing = AxisRanges(np.zeros_like(keys.mid), np.full_like(keys.mid, np.inf))
    return KnownRanges(axes, nothing, keys, scores, values)


def _boxed(ranges: AxisRanges, axes: Floats, lost: float) -> AffineForm:
    """Return vectors with some ranges along nearly orthogonal axes, without coordinates: x is A^T A x, but for what is
    lost."""
    size = np.abs(ranges.mid) + ranges.rad
    e = (ranges.rad @ np.abs(axes) + (2 * lost + 2.0**-40) * size.sum(axis=1, keepdims=True)) * (1 + 2.0**-40)
    return AffineForm(ranges.mid @ axes, np.zeros((len(e), 0, axes.shape[1])), e)
