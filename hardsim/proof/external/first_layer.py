"""The first of two layers: enclosures of the residual stream after it, for every class of prefixes.

A class of a position has the prefixes that end there by one move of the machine: its length, the state before the last
symbol, and that symbol. Over a class the outputs of the heads lie in a box of exact supports (`supports`). The box is
divided into cells, until the queries, keys and values of the second layer vary little over each; every prefix of the
class has its outputs in some cell. Affine enclosures (`affine`) lead from the cell to the residual stream.

Tokens before the word are read by themselves: each has one prefix.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hardsim.network.dense import Network
from hardsim.proof.external.affine import ROUND, AffineForm
from hardsim.proof.external.columns import Columns, PrefixClasses
from hardsim.proof.external.demands import NOWHERE, PrefixDemands
from hardsim.proof.external.joint import JointSupports, function_bounds
from hardsim.proof.external.logits import Basis, Rest, longest_axis
from hardsim.proof.external.ranges import FunctionRanges
from hardsim.proof.external.supports import HeadSupports, Paths
from hardsim.run.enclosure import Floats, Integers

TOGETHER = 2**21
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
    return replace(network, layers=network.layers[:1], final=None, readout=readout)


class FirstLayer:
    """The first layer over words of at most `longest` symbols, read after the first `before` tokens."""

    def __init__(self, network: Network, longest: int, before: int) -> None:
        self.columns = Columns(shortened(network, before), longest)
        self.bases = []
        for head in self.columns.heads:
            values = head.values.mid
            self.bases.append(Basis.of(values.reshape(-1, values.shape[2]), head.reach))
        self.rest = Rest(self.columns, self.bases, (), True)
        counts = [len(one.axes) for one in self.bases]
        reach = np.array([head.reach for head in self.columns.heads])
        self.reach: Floats = np.repeat(reach, counts) * longest_axis(self.bases)
        """A bound of the absolute value of each coordinate."""

    def boxes(self, classes: PrefixClasses, paths: Paths) -> BoxCells:
        """Return the boxes of some classes, each as one cell; `paths` are those of the machine."""
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

    def ranges(self, classes: PrefixClasses, paths: Paths, boxes: BoxCells) -> FunctionRanges | None:
        """Return for each class, given by its box, the ranges of functions that narrow the first MLP; None if there is
        no such MLP."""
        first = self.rest.first_mlp
        if first is None or not len(classes):
            return None
        heads = [HeadSupports(self.columns, head, paths) for head in self.columns.heads]
        joint, found = JointSupports(heads, paths, len(classes)), []
        size = max(1, TOGETHER // (2 * first.functions.size))
        for start in range(0, len(classes), size):
            cells = boxes.at(slice(start, start + size))
            some = classes.at(cells.of)
            fixed = joint, self.bases, self.reach, cells.of, some
            low, high = function_bounds(*fixed, first.functions.T[None])
            x = self.rest.entered(some, cells.middles, cells.radii)
            tilt, tilted = first.tilted(x, cells.middles, cells.radii, low, high)
            ends = function_bounds(*fixed, tilted[:, None])
            low, high = np.concatenate([low, ends[0]], axis=1), np.concatenate([high, ends[1]], axis=1)
            found.append(FunctionRanges(low, high, tilt, tilted))
        return FunctionRanges.joined(found)

    def stream(self, classes: PrefixClasses, cells: BoxCells, ranges: FunctionRanges | None = None) -> AffineForm:
        """Return the enclosure of the residual stream over some cells: the first coordinates of z are those of the
        heads' outputs. `ranges` are those of all classes."""
        x = self.rest.entered(classes.at(cells.of), cells.middles, cells.radii)
        if ranges is None or self.rest.first_mlp is None:
            return self.rest.after(x)
        some = ranges.at(cells.of)
        return self.rest.after(self.rest.first_mlp(x, cells.middles, cells.radii, some), 1)

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
