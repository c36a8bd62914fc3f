"""The first of two layers: enclosures of the residual stream after it, for every class of prefixes.

A class of a position has the prefixes that end there by one move of the machine: its length, the state before the last
symbol, and that symbol. Over a class the outputs of the heads lie in a box of exact supports (`supports`). The box is
divided into cells, until the queries, keys and values of the second layer vary little over each; every prefix of the
class has its outputs in some cell. Affine enclosures (`affine`) lead from the cell to the residual stream.

Tokens before the word are read by themselves: each has one prefix.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from hardsim.lazy_dataclass import dataclass
from hardsim.network.dense import Network
from hardsim.proof.external.affine import ROUND, AffineForm
from hardsim.proof.external.columns import Columns, PrefixClasses
from hardsim.proof.external.demands import NOWHERE, PrefixDemands
from hardsim.proof.external.joint import JointSupports, function_bounds
from hardsim.proof.external.logits import Basis, Rest, longest_axis
from hardsim.proof.external.narrowing import NarrowedSteps, RangeOracle
from hardsim.proof.external.supports import HeadSupports, Paths
from hardsim.run.dense_float import visible
from hardsim.run.enclosure import ETA, GROW, Booleans, Floats, Integers, gamma

TOGETHER = 2**18
"""The count of numbers in an array of a batch of cells."""
ROUNDS = 12
"""Greatest number of times that a cell of the first layer is divided."""


@dataclass(slots=True)
class BoxCells:
    """Cells of the boxes of classes: the number of the class, middles and radii of coordinates, by cell."""

    of: Integers
    middles: Floats
    radii: Floats

    def at(self, index: Any) -> BoxCells:
        """Return some of the cells."""
        return BoxCells(self.of[index], self.middles[index], self.radii[index])

    def halves(self, axis: Integers) -> BoxCells:
        """Return the cells divided along a coordinate each; the halves overlap by more than their rounding."""
        at = np.arange(len(self.of))
        half = self.radii[at, axis] / 2
        radii, low, high = self.radii.copy(), self.middles.copy(), self.middles.copy()
        radii[at, axis] = half * (1 + 2.0**-40) + 2.0**-45 * np.abs(self.middles[at, axis])
        low[at, axis] -= half
        high[at, axis] += half
        return BoxCells(np.tile(self.of, 2), np.concatenate([low, high]), np.concatenate([radii, radii]))

    @classmethod
    def joined(cls, parts: list[BoxCells]) -> BoxCells:
        """Return the cells of several, one after the other."""
        fields = ([one.of, one.middles, one.radii] for one in parts)
        return cls(*(np.concatenate(column) for column in zip(*fields, strict=True)))


def moves_of(demands: PrefixDemands, reached: Any) -> PrefixClasses:
    """Return the classes of all positions, by length: one for each move of the machine between states that are reached
    there. `kind` is -1 where nothing is required after the move."""
    required, rows = np.array(demands.required), []
    for n in range(demands.longest):
        states = np.flatnonzero(reached[n])
        source, symbol = np.nonzero(demands.moves[states] != NOWHERE)
        target = demands.moves[states[source], symbol]
        kept = reached[n + 1, target]
        source, symbol, target = states[source[kept]], symbol[kept], target[kept]
        ones = np.ones(len(source), dtype=np.int64)
        rows.append(np.stack([(n + 1) * ones, n * ones, source, symbol, required[target]]))
    columns = np.concatenate(rows, axis=1) if rows else np.zeros((5, 0), dtype=np.int64)
    return PrefixClasses(*columns)


def shortened(network: Network, before: int) -> Network:
    """Return the first layer of a network as a network of its own that is read after every prefix, with the first
    `before` of the tokens before the word."""
    readout = replace(network.readout, after=(), at="each", before=network.readout.before[:before])
    if readout.alphabet is None:
        readout = replace(readout, alphabet=network.symbols)
    return replace(network, layers=network.layers[:1], final=None, transform=None, output_cap=None, readout=readout)


@dataclass(frozen=True, slots=True)
class Frames:
    """Axes of the heads' outputs by class: the coordinates are s = `axes` t, for the coordinates t along the bases of
    all heads, and t is `back` s, but for a vector at most `lost` long."""

    axes: Floats
    back: Floats
    lost: Floats
    reach: Floats
    """By class and axis a bound of the coordinate."""

    @classmethod
    def of(cls, spread: Floats, functions: Floats, reach: Floats) -> Frames:
        """Return frames for covariances `spread` of t by class, (classes, coordinates, coordinates), whose first axes
        explain most of the variance of some functions of t, (coordinates, functions); `reach` bounds t. The covariances
        are plain floats: any axes serve.

        With C = R R the covariance, R^-1 t has variance 1 along each axis. There the functions are R F, and the
        eigenvectors of R F F^T R are the axes in the order in which they explain F."""
        values, vectors = np.linalg.eigh(np.nan_to_num(spread))
        floor = FLAT * np.maximum(values.max(axis=1, keepdims=True), 0.0) + ETA**0.5
        half = np.sqrt(np.maximum(values, floor))
        root = np.einsum("nij,nj,nkj->nik", vectors, half, vectors)
        inverse = np.einsum("nij,nj,nkj->nik", vectors, 1 / half, vectors)
        moved = root @ (functions + 0.0)
        turned = np.linalg.eigh(moved @ moved.transpose(0, 2, 1))[1][:, :, ::-1].transpose(0, 2, 1)
        axes = turned @ inverse
        axes = axes / np.sqrt((axes * axes).sum(axis=2, keepdims=True))
        back = np.linalg.inv(axes)
        count = axes.shape[1]
        sizes = [np.sqrt((one * one).sum(axis=(1, 2))) for one in (back @ axes - np.eye(count), back, axes)]
        off = sizes[0] + gamma(count + 8) * (sizes[1] * sizes[2] + 1)
        lost = off * np.sqrt((reach * reach).sum()) * GROW
        return cls(axes, back, lost * GROW, np.abs(axes) @ reach * GROW)


FLAT = 1e-6
"""Least variance of a coordinate, as a share of the greatest one of its class."""


class FirstLayer:
    """The first layer over words of at most `longest` symbols, read after the first `before` tokens."""

    def __init__(self, network: Network, longest: int, before: int) -> None:
        self.columns = Columns(shortened(network, before), longest)
        self.bases = []
        for head in self.columns.heads:
            values = head.values.mid
            self.bases.append(Basis.of(values.reshape(-1, values.shape[2]), head.reach))
        self.rest = Rest(self.columns, self.bases, (), True)
        self.steps = NarrowedSteps(self.rest.steps)
        counts = [len(one.axes) for one in self.bases]
        reach = np.array([head.reach for head in self.columns.heads])
        self.reach: Floats = np.repeat(reach, counts) * longest_axis(self.bases)
        """A bound of the absolute value of each coordinate."""

    def boxes(self, classes: PrefixClasses, paths: Paths) -> BoxCells:
        """Return the boxes of some classes along the bases, each as one cell; `paths` are those of the machine."""
        low, high = [np.zeros((len(classes), 0))], [np.zeros((len(classes), 0))]
        for head, basis in zip(self.columns.heads, self.bases, strict=True):
            supports, width = HeadSupports(self.columns, head, paths), len(basis.axes)
            found = supports.bounds(classes, np.concatenate([basis.axes, -basis.axes])[None])
            high.append(found[:, :width])
            low.append(-found[:, width:])
        lows, highs = np.concatenate(low, axis=1), np.concatenate(high, axis=1)
        middles = (lows + highs) / 2
        radii = np.maximum(np.maximum(highs - middles, middles - lows), 2.0**-34 * self.reach)
        radii = radii * (1 + ROUND) + ROUND * np.abs(middles)
        return BoxCells(np.arange(len(classes)), middles, radii)

    def stream(self, classes: PrefixClasses, cells: BoxCells) -> AffineForm:
        """Return the enclosure of the residual stream over some cells: the first coordinates of z are those of the
        heads' outputs."""
        return self.rest.after(self.rest.entered(classes.at(cells.of), cells.middles, cells.radii))

    def framed(self, classes: PrefixClasses, frames: Frames, cells: BoxCells) -> AffineForm:
        """Return the enclosure of the residual stream after attention over cells whose coordinates are those of
        frames."""
        x = self.rest.embedded(classes.at(cells.of), cells.middles.shape[1])
        total = self.rest.before(x)
        lost, place = frames.lost[cells.of, None], 0
        far = np.abs(cells.middles) + cells.radii
        for basis, out in zip(self.bases, self.rest.out, strict=True):
            here = slice(place, place + len(basis.axes))
            place = here.stop
            back = frames.back[cells.of][:, here].transpose(0, 2, 1)
            turned, size = back @ basis.axes, np.abs(back) @ np.abs(basis.axes)
            inner = np.einsum("ns,nsv->nv", cells.middles, turned)
            e = basis.lost + 2 * lost + 4 * ROUND * np.einsum("ns,nsv->nv", far, size)
            total = total.plus(out(AffineForm(inner, cells.radii[:, :, None] * turned, e * GROW)))
        return self.rest.joined(x, total)

    def sampled(self, words: Integers) -> Floats:
        """Return the coordinates t in plain floats at all positions of words of symbols, (words, positions,
        coordinates)."""
        count = max(1, TOGETHER // (self.columns.start + words.shape[1]) ** 2)
        starts = range(0, max(1, len(words)), count)
        return np.concatenate([self._sampled(words[start : start + count]) for start in starts])

    def _sampled(self, words: Integers) -> Floats:
        columns, size, found = self.columns, words.shape[1], []
        rows = np.array([columns.row[token] for token in columns.symbols])[words]
        before = np.array([columns.row[token] for token in columns.before], dtype=np.int64)
        rows = np.concatenate([np.tile(before, (len(words), 1)), rows], axis=1)
        places = np.arange(rows.shape[1])
        seen = np.tril(np.ones((rows.shape[1], rows.shape[1]), dtype=np.bool_))
        for head, basis in zip(columns.heads, self.bases, strict=True):
            q, k, v = (one.mid[rows, places] for one in (head.queries, head.keys, head.values))
            near = seen & visible(head.part.head.mask, head.part.head.window, places, places)
            scores = np.where(near, head.part.steps(q @ k.transpose(0, 2, 1), places, places), -np.inf)
            weights = np.exp(scores - scores.max(axis=2, keepdims=True))
            found.append((weights / weights.sum(axis=2, keepdims=True) @ v @ basis.axes.T)[:, -size:])
        return np.concatenate(found, axis=2)

    def functions(self) -> Floats:
        """Return the functions of t that the steps bend first, (coordinates, functions)."""
        if self.rest.first_mlp is not None:
            return self.rest.first_mlp.functions
        turned = [basis.axes @ out.weight for basis, out in zip(self.bases, self.rest.out, strict=True)]
        return np.concatenate(turned)

    def narrowed(self, ranges: CellRanges, cells: BoxCells, oracle: RangeOracle) -> AffineForm:
        """Return the enclosure of the residual stream over cells, with the ranges that their oracle gives."""
        return self.steps(self.framed(ranges.classes, ranges.frames, cells), oracle)

    def divided(
        self, cells: BoxCells, width: Callable[[BoxCells], tuple[Floats, Integers]], limit: float, most: int
    ) -> BoxCells:
        """Return the cells divided until each has at most this width, or its class `most` cells. `width` gives the
        widths of cells, and the coordinates along which they are divided."""
        done: list[BoxCells] = []
        for _ in range(ROUNDS):
            found, axis = width(cells)
            count = np.bincount(cells.of)[cells.of]
            for one in done:
                count = count + np.bincount(one.of, minlength=int(cells.of.max()) + 1)[cells.of]
            wide = ~(found <= limit) & (2 * count <= most)
            done.append(cells.at(~wide))
            if not wide.any():
                break
            cells = cells.at(wide).halves(axis[wide])
        else:
            done.append(cells)
        every = BoxCells.joined(done)
        return every.at(np.argsort(every.of, kind="stable"))


class MoveFrames:
    """The frames of all moves of a machine, by position, from samples of its words."""

    def __init__(self, first: FirstLayer, demands: PrefixDemands) -> None:
        classes = moves_of(demands, demands.reached())
        self.place = np.full((demands.longest + 1, *demands.moves.shape), -1)
        self.place[classes.length, classes.state, classes.symbol] = every = np.arange(len(classes))
        words, states = random_words(demands, SAMPLED)
        t = np.nan_to_num(first.sampled(words))
        count, number = t.shape[2], np.zeros(len(classes))
        total, square = np.zeros((len(every), count)), np.zeros((len(every), count, count))
        for n in range(demands.longest):
            kept = words[:, n] >= 0
            at = self.place[n + 1, states[kept, n], words[kept, n]]
            here = t[kept, n]
            np.add.at(number, at, 1)
            np.add.at(total, at, here)
            for one in np.unique(at).tolist():
                part = here[at == one]
                square[one] += part.T @ part
        mean = total / np.maximum(number, 1)[:, None]
        spread = square / np.maximum(number, 1)[:, None, None] - mean[:, :, None] * mean[:, None, :]
        common = spread[number > 1].mean(axis=0) if (number > 1).any() else np.eye(count)
        share = (number / (number + 8))[:, None, None]
        self.frames = Frames.of(share * spread + (1 - share) * common, first.functions(), first.reach)

    def of(self, classes: PrefixClasses) -> Frames:
        """Return the frames of some classes."""
        at = self.place[classes.length, classes.state, classes.symbol]
        every = self.frames
        return Frames(every.axes[at], every.back[at], every.lost[at], every.reach[at])


SAMPLED = 1500
"""Number of random words from which frames are made."""


def random_words(demands: PrefixDemands, count: int) -> tuple[Integers, Integers]:
    """Return random words of a machine as symbols, (count, longest), of which some prefix may be judged, and the states
    that they pass through, (count, longest + 1). Preferences for symbols change within words. A word that ends early
    goes on with -1."""
    rng, every = np.random.default_rng(1), np.arange(count)
    reached = demands.reached()
    words = np.full((count, demands.longest), -1)
    states = np.zeros((count, demands.longest + 1), dtype=np.int64)
    liking = rng.normal(0, 2, (count, *demands.moves.shape)) if demands.moves.size * count < LIKINGS else None
    live = np.ones(count, dtype=np.bool_)
    for n in range(demands.longest):
        targets = demands.moves[states[:, n]]
        open_ = (targets != NOWHERE) & reached[n + 1][targets]
        live &= open_.any(axis=1)
        here = rng.normal(0, 1, targets.shape) if liking is None else liking[every, states[:, n]]
        chosen = np.where(open_, here + rng.gumbel(size=targets.shape), -np.inf).argmax(axis=1)
        words[live, n] = chosen[live]
        states[:, n + 1] = np.where(live, targets[every, chosen], states[:, n])
        if liking is not None:
            moved = rng.random(count) < CHANGED
            liking[moved] = rng.normal(0, 2, (int(moved.sum()), *demands.moves.shape))
    return words, states


LIKINGS = 2**21
"""Greatest count of numbers with which random words prefer symbols, by word and state."""
CHANGED = 0.08
"""The chance that the preferences of a random word change at a position."""


class CellRanges:
    """Bounds of linear functions of what the first layer's heads read, over the prefixes of cells."""

    def __init__(self, first: FirstLayer, classes: PrefixClasses, paths: Paths, frames: Frames) -> None:
        """The coordinates of cells are those of `frames`, by class."""
        self.first, self.classes, self.frames = first, classes, frames
        heads = [HeadSupports(first.columns, head, paths) for head in first.columns.heads]
        self.joint = JointSupports(heads, paths, len(classes))
        every = np.arange(len(classes))
        lows, highs = np.empty(frames.reach.shape), np.empty(frames.reach.shape)
        for some in np.array_split(every, max(1, frames.axes.size // TOGETHER)):
            found = function_bounds(self.joint, first.bases, first.reach, some, classes.at(some), frames.axes[some])
            lows[some], highs[some] = found
        middles = (lows + highs) / 2
        radii = np.maximum(np.maximum(highs - middles, middles - lows), 2.0**-34 * frames.reach)
        self.boxes = BoxCells(every, middles, radii * (1 + ROUND) + ROUND * np.abs(middles))
        """The boxes of the classes, each as one cell."""

    def of(self, cells: BoxCells) -> RangeOracle:
        """Return a function that bounds linear functions over each of these cells.

        It takes the slopes of the functions, (cells, coordinates, functions). The first coordinates are those of the
        heads (see `bounds`); each further coordinate ranges over [-1, 1]."""
        count = len(self.first.reach)

        def bounds(slopes: Floats) -> tuple[Floats, Floats]:
            low, high = self.bounds(cells, slopes[:, :count])
            rest = np.abs(slopes[:, count:]).sum(axis=1) * GROW
            return low - rest, high + rest

        return bounds

    def bounds(self, cells: BoxCells, slopes: Floats) -> tuple[Floats, Floats]:
        """Return lower and upper bounds, (cells, functions), of z times slopes (cells, coordinates, functions) over the
        prefixes in each cell.

        With s = middle + radius z and f the slopes by the radius, it is `s.f - middle.f`. For each mu, s.f is at most
        the greatest s.(f - mu) over the class, plus the greatest s.mu over the cell. For mu, nothing is tried, and what
        f has along the coordinates that were divided."""
        finite: Booleans = np.asarray(np.isfinite(slopes).all(axis=1))
        functions = np.where(finite[:, None], slopes, 0.0) / cells.radii[:, :, None]
        halved = cells.radii < self.boxes.radii[cells.of] * (1 - 1e-3)
        low, high = self._bounds(cells, functions, np.zeros_like(functions))
        some = np.flatnonzero(halved.any(axis=1))
        if len(some):
            part = functions[some]
            least, most = self._bounds(cells.at(some), part, np.where(halved[some, :, None], part, 0.0))
            low[some], high[some] = np.fmax(low[some], least), np.fmin(high[some], most)
        return np.where(finite, low, -np.inf), np.where(finite, high, np.inf)

    def _bounds(self, cells: BoxCells, functions: Floats, mu: Floats) -> tuple[Floats, Floats]:
        """Return the bounds for one mu."""
        first, rest, axes = self.first, functions - mu, self.frames.axes[cells.of]
        low, high = function_bounds(
            self.joint, first.bases, first.reach, cells.of, self.classes.at(cells.of), rest.transpose(0, 2, 1) @ axes
        )
        around = np.einsum("nm,nmf->nf", cells.middles, rest)
        reach = np.einsum("nm,nmf->nf", cells.radii, np.abs(mu))
        far = np.abs(cells.middles) + cells.radii + np.abs(axes) @ first.reach
        size = np.einsum("nm,nmf->nf", far, np.abs(functions) + np.abs(mu))
        lost = (reach + 8 * ROUND * size + ETA) * GROW
        return low - around - lost, high - around + lost
