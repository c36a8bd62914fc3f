"""Proofs that a causal network of two layers answers as specified on every word, to the end of its table of positions.

Prefixes are taken by class: the length, the state of the machine before the last symbol, and that symbol. `first_layer`
gives cells in which the last position of a prefix may be, with the residual stream over each; `second_layer` gives a
box, in each cell, of what the heads of the second layer read. Over both together the rows of what is required are
affine, with a remainder (`logits`). Where the least row is not above 0, these are tried in turn:

1. finer cells of the last position;
2. the lemma of `prove`: a bound of the second layer's heads along the row itself, in place of their box;
3. the box divided along its widest coordinates, with the same lemma;
4. **checkpoints**: the prefixes are divided by the state of the machine at a position inside them, and each part is
   proved by itself. The paths of a part pass through one state there, so its sets are smaller. A class is proved if it
   is proved in every part.

Checkpoints are chosen as they are needed: the middle of the longest stretch without one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from hardsim.lazy_dataclass import dataclass
from hardsim.network.dense import Network
from hardsim.network.numbers import Mask
from hardsim.proof.external.affine import DEEPEST, ROUND, AffineForm
from hardsim.proof.external.columns import PrefixClasses, layer_masks, steady_positions
from hardsim.proof.external.demands import NOWHERE, PrefixDemands, demands_of
from hardsim.proof.external.every_word import prove_by_words, too_many, words_reach
from hardsim.proof.external.first_layer import BoxCells, CellRanges, FirstLayer, MoveFrames, moves_of, shortened
from hardsim.proof.external.logits import Basis, LayerRest, longest_axis
from hardsim.proof.external.narrowing import NarrowedSteps, RangeOracle, mean_square_of, unknown
from hardsim.proof.external.pattern_proof import PatternProof, PatternTables, Share, alone, prove_patterns
from hardsim.proof.external.prove import ExternalProof, LengthMargins, OpenClass, greatest_length
from hardsim.proof.external.result import LayerSplits, PassedState, PatternsPart, WordsPart
from hardsim.proof.external.search import worst
from hardsim.proof.external.second_layer import HeadAxes, HeadForms, KnownRanges, RelaxedSupports, SecondEntry
from hardsim.proof.external.supports import Paths
from hardsim.proof.shared.result import NotProved
from hardsim.run.dense_float import lengths
from hardsim.run.enclosure import GROW, Booleans, Floats, Integers


@dataclass(frozen=True, slots=True)
class LayerLimits:
    """Limits of the work for one proof of two layers."""

    score: float = 0.05
    """The width of scores and values at which cells are fine enough."""
    cells: int = 16
    """Greatest number of cells of one class."""
    rounds: int = 5
    """Greatest number of times that a box of the second layer is divided."""
    halvings: int = 7
    """Greatest number of times that a cell of a last position is halved where ranges of functions are used."""
    open_cells: int = 400
    """Greatest number of open cells of one length."""
    depth: int = 6
    """Greatest number of checkpoints."""
    failures: int = 2
    """Number of lengths that stay open, after which a part is divided without a look at its longer ones."""
    work: float = 6e10
    """Greatest amount of work for the whole proof, roughly the number of gains."""
    levels: tuple[int, ...] = (1, 4, 16)
    """Greatest numbers of cells of one class with which steps are enclosed with the ranges of functions, in turn, where
    a length stays open."""
    finer: bool = True
    """False: last positions are not divided into fine cells."""
    lemma: bool = True
    """False: heads are not bounded along rows."""
    few: int = 4_096
    """Greatest number of prefixes of one length that are run, in place of a proof from the weights."""
    patterns: bool = True
    """True: lengths that stay open are proved by patterns of words, if a length is asked for."""
    more: bool = True
    """True: where a length stays open, every prefix is run of as many lengths as that is possible for."""


def prove_layers(
    network: Network,
    oracle: Any,
    longest: int | None = None,
    limits: LayerLimits | None = None,
    report: Callable[[int, int], None] | None = None,
    share: Share = alone,
) -> ExternalProof:
    """Return what can be proved of a network of two layers whose specification has this oracle, for words of at most
    `longest` symbols (None: of as many as the table of positions has room for). Lengths with few prefixes are proved by
    running them; so are others, if they stay open and that is possible. If a length was asked for, lengths that stay
    open are proved by patterns of words, which may take long; `share` shares that among processes. `report` is called
    with a length that is proved and the greatest one. Raises NotProved if no proof is attempted."""
    most = greatest_length(network, longest)
    require_two_layers(network)
    demands, limits, report = demands_of(oracle, network, most), limits or LayerLimits(), report or _unreported
    thorough = longest is not None
    start, margins, interrupted = 0, dict[int, LengthMargins](), False
    if limits.few:
        found = prove_by_words(network, oracle, most, limits.few)
        if found.wrong is not None or found.opened or found.interrupted or found.proved >= most:
            return found
        start, margins = found.proved + 1, found.margins
    prover: LayerProver | None = None
    with np.errstate(all="ignore"):
        try:
            prover = LayerProver(network, demands, limits, report)
            prover.run(start)
            if start <= prover.end + 1 <= (words_reach(network, demands, thorough) if limits.more else -1):
                found = prove_by_words(network, oracle, most, thorough=thorough)
                if found.wrong is not None or found.opened or found.interrupted:
                    return found
                if found.proved > prover.end:
                    start, margins = found.proved + 1, found.margins
                    prover.run(start)
            if thorough and prover.end < most and limits.patterns:
                prover.patterns(share)
        except KeyboardInterrupt:
            if prover is None:
                raise
            interrupted, prover.end = True, prover.sure
    return prover.result(start, margins, interrupted)


def _unreported(done: int, total: int) -> None:
    """Report nothing."""


def require_two_layers(network: Network) -> None:
    """Raise NotProved unless the network has two causal layers, is read after symbols, and is not too wide."""
    count = len(network.layers)
    if count != 2:
        raise NotProved(
            f"the network has {count} layers; proofs from the weights are about one or two. More layers would need "
            "bounds of each layer's outputs over the cells of the layer before it"
        )
    if layer_masks(network) - {Mask.FUTURE}:
        raise NotProved("the network is not causal; proofs of two layers are about causal networks")
    if network.readout.after:
        raise NotProved("tokens are read after the word; proofs of two layers are about networks read at a symbol")
    if len(network.readout.before) > 1 and not isinstance(network.positions, np.ndarray) and network.positions:
        raise NotProved("several tokens are read before the word; proofs of two layers then need a table of positions")
    wide = [network.dimension, *(head.w_v.shape[1] for head in network.heads)]
    wide += [layer.mlp.w_in.shape[1] for layer in network.layers if layer.mlp is not None]
    wide += [] if network.transform is None else [network.transform.weight.shape[1]]
    if sum(wide) > DEEPEST:
        raise NotProved(f"the network is wider than {DEEPEST:,}")


@dataclass(frozen=True)
class PartDemands(PrefixDemands):
    """The machine on those words that are in one of some states at some positions."""

    allowed: Booleans = field(default_factory=lambda: np.ones((1, 1), dtype=np.bool_))
    """By position and state, (longest + 1, states), whether words may be in that state there."""

    def reached(self) -> Booleans:
        """Return which states the words pass through, (longest + 1, states)."""
        found = np.zeros((self.longest + 1, len(self.moves)), dtype=np.bool_)
        found[0, 0] = self.allowed[0, 0]
        for n in range(self.longest):
            targets = self.moves[found[n]].ravel()
            found[n + 1, targets[targets != NOWHERE]] = True
            found[n + 1] &= self.allowed[n + 1]
        return found


def demands_of_part(demands: PrefixDemands, checkpoints: dict[int, int], longest: int) -> PartDemands:
    """Return the machine on words of at most `longest` symbols that are in the states `checkpoints` after so many
    symbols."""
    allowed = np.ones((longest + 1, len(demands.moves)), dtype=np.bool_)
    for place, state in checkpoints.items():
        allowed[place] = False
        allowed[place, state] = True
    # backward: states from which every later checkpoint can be passed
    for n in range(max(checkpoints, default=0) - 1, -1, -1):
        targets = demands.moves
        following = (targets != NOWHERE) & allowed[n + 1][targets]
        allowed[n] &= following.any(axis=1)
    return PartDemands(demands.moves, demands.required, demands.kinds, demands.shortest, longest, allowed)


SHARES = np.array([0.0, 0.5, 1.0, 1.5, 2.5, -1.0])
"""The multipliers that are tried where a box was divided, as in `prove`."""
SHARES_OF_STEPS = 3
"""How many of them are tried for the ranges within steps."""
TYPICAL = 24
"""Number of typical queries along which keys are bounded."""
MOST_NARROWED = 4e9
"""Greatest work on the ranges of cells."""
WIDE = 2.0
"""The width of scores and values over the box of a class from which on ranges of functions are of use."""
WIDE_BOUNDS = "bounds from the weights, which take the history of each position by itself, are too wide"
"""The reason why a class stays open in a proof from the weights."""
FAR = -1e5
"""The bound of a class after several cells below which finer cells are not tried."""
HOPELESS, GAIN = -1e3, 0.02
"""Least bound of a class that is divided further, and the least relative gain of a division that is divided again."""
OF_PART, OF_CELL = 1e6, 2e5
"""The work for each position of a part, and for each cell."""
MOST_SETUP, OF_SETUP = 1e9, 8.0
"""Greatest work on the boxes of all classes, about a minute, and what it counts as work of a part."""
ROOM = 2**24
"""Greatest count of numbers that enclose queries, keys and values."""
KEPT_ROOM = 2**22
"""Greatest count of these numbers with the coordinates of remainders, which are left out where there are more."""
SAMPLES = 24
"""Number of queries by which the width of cells is measured."""
BATCH = 2**18
"""The count of numbers in an array of a batch of cells."""


@dataclass(slots=True)
class QueryCells:
    """Cells of last positions, with the residual stream that the second layer's attention is added to, and that layer's
    queries, keys and values by head."""

    cells: BoxCells
    stream: AffineForm
    heads: list[HeadForms]

    @property
    def rows(self) -> Integers:
        """The rows of the classes of the cells."""
        return self.cells.of

    def at(self, index: Any) -> QueryCells:
        """Return some of the cells."""
        return QueryCells(self.cells.at(index), self.stream.at(index), [one.at(index) for one in self.heads])


@dataclass(frozen=True, slots=True)
class PositionClasses:
    """The classes of all positions of a part of the words, with their boxes, and the ranges over cells if these are of
    use."""

    classes: PrefixClasses
    paths: Paths
    boxes: BoxCells
    ranges: CellRanges | None


class TwoLayers:
    """A network of two layers, and what does not depend on the words."""

    def __init__(self, network: Network, demands: PrefixDemands, limits: LayerLimits, narrowed: bool = False) -> None:
        """`narrowed`: steps are enclosed with the ranges of functions over cells."""
        self.network, self.demands, self.limits = network, demands, limits
        self.before = len(network.readout.before)
        self.first = FirstLayer(network, demands.longest, self.before)
        places = self.before + demands.longest
        self.entry = SecondEntry(network, steady_positions(network, demands.longest, places))
        self.coordinates = len(self.first.reach)
        self.kept: Integers | None = np.arange(self.coordinates)
        """The coordinates of z with which queries, keys and values are enclosed: those of the first layer's heads; all
        (None), with those of remainders, where that is wide."""
        self.axes: list[HeadAxes] = []
        self.frames: MoveFrames | None = None
        self.fixed = self._fixed()
        everything = demands_of_part(demands, {}, demands.longest)
        self.most = self._affordable(everything)
        """Greatest number of cells of one class."""
        positions = self.positions(everything)
        self._measure(positions)
        self.wide = False
        """True if scores and values vary much over the boxes of classes."""
        if self.coordinates and len(positions.boxes.of):
            widths, _ = self._width(positions, positions.boxes)
            self.wide = not bool((widths <= WIDE).all())
            if self.wide or narrowed:
                self._keep(positions)
            if narrowed:
                positions = self._narrowed(everything, positions)
        cells = self.fine(positions)
        forms = self.forms(positions, cells)
        self.bases: list[Basis] = []
        reach = []
        for one, fixed in zip(forms, self.fixed, strict=True):
            size = max(float(lengths(part.values.size).max(initial=0.0)) for part in (one, fixed))
            reach.append(size * GROW)
            self.bases.append(Basis.of(np.concatenate([one.values.c, fixed.values.c]), reach[-1]))
        second = replace(network, layers=network.layers[1:], readout=shortened(network, self.before).readout)
        self.rest = LayerRest(second, self.bases, demands.kinds)
        self.steps = NarrowedSteps(self.rest.steps)
        self.beside = NarrowedSteps([] if self.rest.beside is None else [self.rest.beside])
        """The MLP that is parallel to the second layer's attention."""
        counts = [len(one.axes) for one in self.bases]
        self.reach: Floats = np.repeat(np.array(reach), counts) * longest_axis(self.bases)
        self.tables = CellTables(self, everything, positions, cells, forms)
        self.cells = 0
        """The number of cells and boxes that were bounded."""

    def _affordable(self, demands: PrefixDemands) -> int:
        """Return the greatest number of cells of a class for which there is room. Raises NotProved if there is no room
        for one, or if their boxes are too much work."""
        reached = demands.reached()
        moves = np.array([int((demands.moves[row] != NOWHERE).sum()) for row in reached[:-1]], dtype=np.int64)
        self.classes = int(moves.sum())
        passes = 8.0 * self.coordinates * float((moves * np.cumsum(moves)).sum())
        self.setup = passes * max(1, len(self.first.bases))
        """The work on the boxes of all classes, roughly the number of products."""
        if self.setup > MOST_SETUP:
            raise NotProved(f"enclosing the vectors of {self.classes:,} classes of prefixes would take too long")
        room = ROOM // max(1, self.classes * self.coordinates * self._numbers)
        if room < 1:
            raise NotProved(f"there is no room for the keys and values of {self.classes:,} classes of prefixes")
        return int(min(room, self.limits.cells))

    @property
    def _numbers(self) -> int:
        """The numbers of a query, a key and a value of all heads of the second layer."""
        return sum(2 * head.w_k.shape[1] + head.w_v.shape[1] for head in self.network.layers[1].heads)

    def _keep(self, positions: PositionClasses) -> None:
        """Keep the coordinates of remainders, if there is room."""
        box = positions.boxes.at(slice(0, 1))
        one = self.entry(self.first.stream(positions.classes, box), None, self._places(positions, box))
        count = max((forms.keys.slopes.shape[1] for forms in one), default=0)
        if self.classes * self.most * count * self._numbers <= KEPT_ROOM:
            self.kept = None

    def _narrowed(self, demands: PrefixDemands, positions: PositionClasses) -> PositionClasses:
        """Return the classes of positions with ranges over cells. Raises NotProved if that is too much work."""
        each = sum(self._functions) * (3 if len(self.first.bases) > 1 else 1) * self.most
        if self.setup * each / max(1, self.coordinates) > MOST_NARROWED:
            raise NotProved(
                f"bounding the functions on the cells of {self.classes:,} classes of prefixes would take too long"
            )
        points = BoxCells(positions.boxes.of, positions.boxes.middles, positions.boxes.radii * 1e-3)
        parts = [
            self.entry(self.first.stream(positions.classes, some), self.kept, self._places(positions, some))
            for some in self.batches(points)
        ]
        forms = [HeadForms.joined(list(one)) for one in zip(*parts, strict=True)]
        self.axes = [HeadAxes.of(one, TYPICAL) for one in forms]
        pairs = zip(self.axes, self.fixed, strict=True)
        self.fixed = [replace(one, known=KnownRanges.of(axes, one, unknown)) for axes, one in pairs]
        self.frames = MoveFrames(self.first, demands)
        return self.positions(demands)

    @property
    def _functions(self) -> tuple[int, int]:
        """The numbers of functions whose ranges one enclosure of a cell asks for, in the first layer and before the
        second one."""
        d, layer = self.network.dimension, self.network.layers[0]
        first = d + 1 + (0 if layer.mlp is None else layer.mlp.w_in.shape[1])
        return first, d + 1 + 2 * self._numbers + TYPICAL * len(self.network.layers[1].heads)

    def positions(self, demands: PrefixDemands) -> PositionClasses:
        """Return the classes of all positions of a part of the words."""
        paths = Paths(demands)
        classes = moves_of(demands, demands.reached())
        if self.frames is None:
            return PositionClasses(classes, paths, self.first.boxes(classes, paths), None)
        ranges = CellRanges(self.first, classes, paths, self.frames.of(classes))
        return PositionClasses(classes, paths, ranges.boxes, ranges)

    def stream(self, positions: PositionClasses, cells: BoxCells) -> AffineForm:
        """Return the enclosure of the residual stream after the first layer, over cells."""
        if positions.ranges is None:
            return self.first.stream(positions.classes, cells)
        return self.first.narrowed(positions.ranges, cells, positions.ranges.of(cells))

    def rough(self, positions: PositionClasses, cells: BoxCells) -> AffineForm:
        """Return a wider enclosure than `stream` that takes less time."""
        if positions.ranges is None:
            return self.first.stream(positions.classes, cells)
        return self.first.rest.after(self.first.framed(positions.classes, positions.ranges.frames, cells))

    def enclosed(self, positions: PositionClasses, cells: BoxCells) -> tuple[AffineForm, list[HeadForms]]:
        """Return the enclosures of the residual stream after the first layer, and of the queries, keys and values, by
        head, over cells: boxes of what the first layer's heads give at the last position."""
        stream, places = self.stream(positions, cells), self._places(positions, cells)
        if positions.ranges is None:
            return stream, self.entry(stream, self.kept, places)
        oracle = positions.ranges.of(cells)
        forms = self.entry(stream, self.kept, places, oracle)
        pairs = zip(self.axes, forms, strict=True)
        return stream, [replace(one, known=KnownRanges.of(axes, one, oracle)) for axes, one in pairs]

    def _places(self, positions: PositionClasses, cells: BoxCells) -> Integers:
        """Return the positions of cells, among all tokens."""
        return self.before - 1 + positions.classes.length[cells.of]

    def _fixed(self) -> list[HeadForms]:
        """Return the queries, keys and values of the second layer at the tokens before the word."""
        found: list[list[HeadForms]] = [[] for _ in self.entry.heads]
        for place in range(self.before):
            first = FirstLayer(self.network, 1, place + 1)
            none = np.zeros(1, dtype=np.int64)
            classes = PrefixClasses(none, none, none, none - 1, none)
            trivial = PrefixDemands(np.full((1, 1), NOWHERE), (0,), (), 0, 0)
            cells = first.boxes(classes, Paths(trivial))
            for head, forms in enumerate(self.entry(first.stream(classes, cells), self.kept, none + place)):
                found[head].append(forms)
        if not self.before:
            empty = np.zeros(0, dtype=np.int64)
            d = self.network.dimension
            nothing = AffineForm(np.zeros((1, d)), np.zeros((1, self.coordinates, d)), np.zeros((1, d)))
            return [one.at(empty) for one in self.entry(nothing, self.kept, np.zeros(1, dtype=np.int64))]
        return [HeadForms.joined(one) for one in found]

    def _measure(self, positions: PositionClasses) -> None:
        """Choose what the widths of cells are measured by: some queries, and the spread of all values."""
        boxes = positions.boxes
        chosen = np.linspace(0, len(boxes.of) - 1, min(len(boxes.of), SAMPLES)).astype(np.int64)
        points = BoxCells(boxes.of[chosen], boxes.middles[chosen], boxes.radii[chosen] * 1e-3)
        forms = self.entry(self.first.stream(positions.classes, points), self.kept, self._places(positions, points))
        self.samples = [np.nan_to_num(one.queries.c) for one in forms]
        self.spreads = [np.nan_to_num(np.ptp(one.values.c, axis=0)).max() + 1e-9 for one in forms]

    def _width(self, positions: PositionClasses, cells: BoxCells) -> tuple[Floats, Integers]:
        """Return the widths of cells: the greatest of what is unknown of scores, and of values relative to all values.
        Return also the coordinate that adds most."""
        widths, axes = [], []
        for some in self.batches(cells):
            by = np.zeros((len(some.of), self.coordinates)) if self.entry.heads else some.radii
            width = np.zeros(len(some.of))
            for one, queries, spread in zip(
                self.entry(self.rough(positions, some), self.kept, self._places(positions, some)),
                self.samples,
                self.spreads,
                strict=True,
            ):
                scores = np.abs(np.einsum("nmk,qk->nmq", one.keys.slopes, queries, optimize=True)).max(axis=2)
                values = np.abs(one.values.slopes).max(axis=2) / spread
                by = by + scores[:, : self.coordinates] + values[:, : self.coordinates]
                off = (one.keys.e @ np.abs(queries).T).max(axis=1) + one.values.e.max(axis=1) / spread
                width = width + scores.sum(axis=1) + values.sum(axis=1) + off
            widths.append(width)
            axes.append(np.where(np.isfinite(by).all(axis=1, keepdims=True), by, some.radii).argmax(axis=1))
        return np.concatenate(widths), np.concatenate(axes)

    def batches(self, cells: BoxCells) -> list[BoxCells]:
        """Return cells a batch at a time."""
        hidden = [layer.mlp.w_in.shape[1] for layer in self.network.layers if layer.mlp is not None]
        wide = max([self.network.dimension, *hidden])
        size = max(1, BATCH // (wide * (3 * self.coordinates + sum(hidden) + wide)))
        return [cells.at(slice(start, start + size)) for start in range(0, len(cells.of), size)]

    def fine(self, positions: PositionClasses) -> BoxCells:
        """Return the boxes of classes divided into fine cells."""
        boxes, score = positions.boxes, self.limits.score
        if not self.coordinates or not len(boxes.of):
            return boxes
        return self.first.divided(boxes, lambda cells: self._width(positions, cells), score, self.most)

    def forms(self, positions: PositionClasses, cells: BoxCells) -> list[HeadForms]:
        """Return for each head of layer 2 the enclosures of queries, keys and values in each cell."""
        parts = [self.enclosed(positions, some)[1] for some in self.batches(cells)]
        if not parts:
            return [one.at(np.zeros(0, dtype=np.int64)) for one in self.fixed]
        return [HeadForms.joined(list(one)) for one in zip(*parts, strict=True)]


class CellTables:
    """The cells of all classes of a part of the words."""

    def __init__(
        self,
        layers: TwoLayers,
        demands: PrefixDemands,
        positions: PositionClasses,
        cells: BoxCells,
        forms: list[HeadForms],
    ) -> None:
        self.layers, self.demands, self.positions, self.cells = layers, demands, positions, cells
        self.classes = classes = positions.classes
        paths = positions.paths
        self.heads = [
            RelaxedSupports(entry, classes, paths, cells.of, one, fixed)
            for entry, one, fixed in zip(layers.entry.heads, forms, layers.fixed, strict=True)
        ]
        self.starts = np.searchsorted(cells.of, np.arange(len(classes) + 1))

    @classmethod
    def made(cls, layers: TwoLayers, demands: PrefixDemands) -> CellTables:
        """Return the tables of a part."""
        positions = layers.positions(demands)
        cells = layers.fine(positions)
        return cls(layers, demands, positions, cells, layers.forms(positions, cells))

    def queries(self, cells: BoxCells) -> QueryCells:
        """Return cells of last positions."""
        layers = self.layers
        stream, heads = layers.enclosed(self.positions, cells)
        if layers.rest.beside is not None:
            ranges = self.positions.ranges
            stream = layers.beside(stream, unknown if ranges is None else ranges.of(cells))
        return QueryCells(cells, stream, heads)

    # ---- one length ----

    def prove(self, length: int, rows: Integers) -> tuple[Integers, Floats]:
        """Return the rows, among classes of one length, that stay open, and lower bounds of the margins of all
        `rows`."""
        limits = self.layers.limits
        low = np.full(len(self.classes), np.inf)
        queries = self.queries(self.positions.boxes.at(rows))
        least, _, _ = self.whole(length, queries)
        low[rows] = least
        left = rows[~(least > 0)]
        if len(left) and limits.finer:
            ranged = self.positions.ranges is not None
            found = self._refined(length, left, low[left]) if ranged else self._fine(length, left)
            low[left] = np.fmax(low[left], found)
        return rows[~(low[rows] > 0)], low[rows]

    def _refined(self, length: int, rows: Integers, bounds: Floats) -> Floats:
        """Return lower bounds of the margins of classes that have some bounds, from cells of their last positions that
        are halved as long as they are open, and that helps."""
        found = np.full(len(self.classes), np.inf)
        cells, bound = self.positions.boxes.at(rows), bounds
        queries, worst_before = self.queries(cells), -np.inf
        for number in range(self.layers.limits.halvings):
            cells = cells.halves(self._turning(queries))
            queries = self.queries(cells)
            bound, _, _ = self.whole(length, queries)
            shut = bound > 0
            np.minimum.at(found, cells.of[shut], bound[shut])
            left = np.flatnonzero(~shut)
            cells, queries, bound = cells.at(left), queries.at(left), bound[left]
            least = float(np.nan_to_num(bound, nan=-np.inf).min(initial=np.inf))
            stuck = number > 1 and least < worst_before + GAIN * abs(worst_before)
            worst_before = least
            if not len(left) or 2 * len(left) > self.layers.limits.open_cells or stuck:
                break
        np.minimum.at(found, cells.of, np.where(np.isnan(bound), -np.inf, bound))
        return found[rows]

    def _turning(self, queries: QueryCells) -> Integers:
        """Return for each cell the coordinate of the first layer that moves the scores of its queries most."""
        count = self.layers.coordinates
        total = np.zeros((len(queries.rows), count))
        for head, forms in zip(self.heads, queries.heads, strict=True):
            apart = np.nan_to_num(head.keys.keys.c - head.centre)
            spread = np.sqrt((apart * apart).mean(axis=0)) if len(apart) else np.ones(apart.shape[1])
            total += np.abs(forms.queries.slopes[:, :count]) @ spread
        return np.asarray(np.where(np.isfinite(total), total, queries.cells.radii).argmax(axis=1))

    def _fine(self, length: int, rows: Integers) -> Floats:
        """Return lower bounds of the margins of classes, from fine cells of their last positions."""
        at = np.concatenate([np.arange(self.starts[row], self.starts[row + 1]) for row in rows.tolist()])
        queries = self.queries(self.cells.at(at))
        least, middles, radii = self.whole(length, queries)
        found = np.full(len(self.classes), np.inf)
        shut = least > 0
        np.minimum.at(found, queries.rows[shut], least[shut])
        boxes = BoxCells(np.flatnonzero(~shut), middles[~shut], radii[~shut])
        bound = least[~shut]
        limits, full = self.layers.limits, radii
        for _ in range(limits.rounds if limits.lemma else 0):
            if not len(boxes.of) or 2 * len(boxes.of) > limits.open_cells or not boxes.radii.shape[1]:
                break
            if not (bound > HOPELESS).all():
                break
            boxes = boxes.halves(self._axis(length, queries, boxes))
            bound = self._over(length, queries, boxes, full[boxes.of])
            shut = bound > 0
            np.minimum.at(found, queries.rows[boxes.of[shut]], bound[shut])
            boxes, bound = boxes.at(~shut), bound[~shut]
        bound = np.where(np.isnan(bound), -np.inf, bound)
        np.minimum.at(found, queries.rows[boxes.of], bound)
        return found[rows]

    def _axis(self, length: int, queries: QueryCells, boxes: BoxCells) -> Integers:
        """Return the coordinate along which each box is divided: the widest one."""
        return np.asarray(boxes.radii.argmax(axis=1))

    def whole(self, length: int, queries: QueryCells) -> tuple[Floats, Floats, Floats]:
        """Return lower bounds of the margins over cells, and the boxes of the second layer's heads there."""
        low, high = [np.zeros((len(queries.rows), 0))], [np.zeros((len(queries.rows), 0))]
        states = self.classes.state[queries.rows]
        for head, forms, basis in zip(self.heads, queries.heads, self.layers.bases, strict=True):
            width = len(basis.axes)
            found = head.bounds(length, states, forms, np.concatenate([basis.axes, -basis.axes]))
            high.append(found[:, :width])
            low.append(-found[:, width:])
        lows, highs = np.concatenate(low, axis=1), np.concatenate(high, axis=1)
        middles = (lows + highs) / 2
        radii = np.maximum(np.maximum(highs - middles, middles - lows), 2.0**-34 * self.layers.reach)
        radii = radii * (1 + ROUND) + ROUND * np.abs(middles)
        boxes = BoxCells(np.arange(len(queries.rows)), middles, radii)
        return self._over(length, queries, boxes, None), middles, radii

    def _over(self, length: int, queries: QueryCells, boxes: BoxCells, full: Floats | None) -> Floats:
        """Return lower bounds of the margins over boxes of the second layer's heads, each in a cell `of` the queries.
        `full`: the radii of the boxes before they were divided; None if they are not."""
        found = np.empty(len(boxes.of))
        self.layers.cells += len(boxes.of)
        kinds = self.classes.kind[queries.rows[boxes.of]]
        size = max(1, BATCH // max(1, queries.stream.slopes[0].size * 4)) if len(queries.rows) else 1
        for kind in np.unique(kinds).tolist():
            every = np.flatnonzero(kinds == kind)
            for start in range(0, len(every), size):
                some = every[start : start + size]
                radii = None if full is None else full[some]
                found[some] = self._bounded(length, kind, queries.at(boxes.of[some]), boxes.at(some), radii)
        return found

    def _bounded(self, length: int, kind: int, queries: QueryCells, boxes: BoxCells, full: Floats | None) -> Floats:
        """Return lower bounds of the margins over boxes of classes of one kind, each with its own cell."""
        layers, stream = self.layers, queries.stream
        first, width = layers.coordinates, boxes.middles.shape[1]
        empty = np.zeros((len(stream.c), width, stream.c.shape[1]))
        slopes = np.concatenate([stream.slopes[:, :first], empty, stream.slopes[:, first:]], axis=1)
        x = layers.rest.attended(AffineForm(stream.c, slopes, stream.e), boxes.middles, boxes.radii, first)
        wants = layers.rest.wants[kind]
        ranges = self.positions.ranges
        if ranges is None:
            rows = wants(layers.rest.after(x), first + width)
            reach = np.abs(rows.form.slopes[:, :first]).sum(axis=1) * GROW
        else:
            oracle = ranges.of(queries.cells)

            def both(slopes: Floats) -> tuple[Floats, Floats]:
                return self._ranged(length, queries, boxes, full, oracle, slopes)

            x = layers.steps(x, both)
            rows = wants(x, first + width, True, None if wants.norm is None else mean_square_of(wants.norm, x, both))
            reach = -oracle(rows.form.slopes[:, :first])[0]
        form, choices = rows.form, wants.choices
        ends = (form.c - form.e) - ROUND * form.size
        alone = ends - reach
        low = alone - np.abs(form.slopes[:, first:]).sum(axis=1) * GROW - ROUND * form.size
        found, _ = worst(low, choices)
        chosen = np.flatnonzero(~(found > 0) & np.isfinite(found))
        if len(chosen) and layers.limits.lemma and width:
            best = np.stack([alone[chosen][:, part].min(axis=1) for part in choices], axis=1).argmax(axis=1)
            for number, part in enumerate(choices):
                some = chosen[best == number]
                where, columns = np.nonzero(~(low[some, part] > 0) & (alone[some, part] > 0))
                at, columns = some[where], columns + part.start
                if len(at):
                    slopes = form.slopes[at, first:, columns]
                    part_full = None if full is None else full[at]
                    most = self._supported(length, queries.at(at), boxes.at(at), slopes[:, None], part_full)[:, 0]
                    low[at, columns] = np.fmax(low[at, columns], alone[at, columns] - most)
                found[some] = np.fmax(found[some], low[some, part].min(axis=1))
        return np.asarray(found / np.where(found > 0, rows.sigma, 1.0) * (1 - ROUND))

    def _ranged(
        self,
        length: int,
        queries: QueryCells,
        boxes: BoxCells,
        full: Floats | None,
        oracle: RangeOracle,
        slopes: Floats,
    ) -> tuple[Floats, Floats]:
        """Return the bounds of a `RangeOracle` over both layers' coordinates: those of the first layer's heads, of the
        second's, and others in [-1, 1]."""
        first, width = self.layers.coordinates, boxes.middles.shape[1]
        theirs = slopes[:, first : first + width]
        low, high = oracle(np.concatenate([slopes[:, :first], slopes[:, first + width :]], axis=1))
        if not width:
            return low, high
        ends = np.abs(theirs).sum(axis=1) * GROW
        count, functions = len(theirs), theirs.shape[2]
        flat = np.concatenate([-theirs, theirs], axis=2).transpose(0, 2, 1)
        most = self._supported(length, queries, boxes, np.nan_to_num(flat), full)
        most = np.where(np.isfinite(flat).all(axis=2), most, np.inf).reshape(count, 2, functions)
        return low - np.fmin(most[:, 1], ends), high + np.fmin(most[:, 0], ends)

    def _supported(
        self, length: int, queries: QueryCells, boxes: BoxCells, slopes: Floats, full: Floats | None
    ) -> Floats:
        """Return upper bounds, (boxes, functions), of -l.z over each box for slopes l (boxes, functions, coordinates),
        by the lemma of `prove`."""
        layers, radii, middles = self.layers, boxes.radii[:, None, None], boxes.middles[:, None, None]
        rates = -slopes[:, :, None] / radii
        shares = SHARES[:1] if full is None else SHARES[: SHARES_OF_STEPS if slopes.shape[1] > 1 else None]
        halved = np.zeros(radii.shape, dtype=np.bool_) if full is None else radii < full[:, None, None] * (1 - 1e-3)
        mu = shares[:, None] * (rates * halved)
        parts = rates - mu
        total = (mu * middles).sum(axis=3) + (np.abs(mu) * radii).sum(axis=3)
        size = np.abs(middles) + radii + 4 * layers.reach
        slack = ROUND * ((np.abs(rates) + np.abs(mu) + np.abs(parts)) * size).sum(axis=3) * 4
        total = total + slack - ((rates * middles).sum(axis=3) - ROUND * (np.abs(rates) * size).sum(axis=3))
        states, start = self.classes.state[queries.rows], 0
        for head, forms, basis in zip(self.heads, queries.heads, layers.bases, strict=True):
            here = slice(start, start + len(basis.axes))
            start = here.stop
            flat = parts[..., here].reshape(len(parts), -1, len(basis.axes))
            found = head.bounds(length, states, forms, flat @ basis.axes).reshape(total.shape)
            total = total + found + ROUND * (np.abs(total) + np.abs(found))
        return np.asarray(total.min(axis=2))

    @property
    def work(self) -> float:
        """The work that was done."""
        return sum(head.work for head in self.heads) + OF_CELL * len(self.cells.of)


# ---- parts of the words ----


@dataclass(slots=True)
class WordsCase:
    """The words that are in some states at the checkpoints, and the classes of them that are to be proved: state before
    the last symbol and symbol, by length; None: all."""

    checkpoints: dict[int, int]
    pending: dict[int, set[tuple[int, int]] | None]
    bound: float
    """The least bound of a class in the words that are divided into this part and others."""


class LayerProver:
    """A proof in progress."""

    def __init__(
        self, network: Network, demands: PrefixDemands, limits: LayerLimits, report: Callable[[int, int], None]
    ) -> None:
        self.network, self.demands, self.limits, self.report = network, demands, limits, report
        self.layers = TwoLayers(network, demands, limits)
        self.made = {0: self.layers}
        """Enclosures by the greatest number of cells of a class with ranges of functions; 0: without such ranges. Those
        that closer ones replaced are dropped, for they take much memory."""
        self.dropped = dict[int, int]()
        """The numbers of cells and boxes that enclosures bounded, which were dropped."""
        self.narrowed = self.divided = False
        """True if steps are enclosed with the ranges of functions; if words are divided by checkpoints."""
        self.parts: list[WordsPart] = []
        self.pattern_parts: list[PatternsPart] = []
        self.why = WIDE_BOUNDS
        """The reason why a class stays open."""
        self.margins: dict[int, LengthMargins] = {}
        self.open: dict[int, list[OpenClass]] = {}
        self.work = 0.0
        self.end, self.sure = demands.longest, -1
        """The greatest length that may still be proved, and the greatest one that is proved for certain."""
        self.examples = _examples(demands)

    def run(self, start: int) -> None:
        """Prove the lengths from one on: from linear forms alone, with the ranges of functions in more and more cells,
        and last with checkpoints, unless scores vary so much that linear forms are of no use."""
        for cells, divided in ((0, False), *((cells, False) for cells in self.limits.levels), (0, True)):
            if cells in self.dropped or (cells not in self.made and not self._closer(cells)):
                continue
            self.layers, self.narrowed, self.divided = self.made[cells], cells > 0, divided
            if not (divided and self.layers.wide):
                self.work = 0.0
                self._lengths(start)
            if self.end == self.demands.longest or not self.layers.coordinates:
                break
            start = max(start, self.end + 1)
            if cells > 1 and self._hopeless():
                break

    def patterns(self, share: Share) -> None:
        """Prove the lengths that stay open by patterns of words, which are about words of one symbol and more."""
        if self.end < 0:
            return
        layers, found = self.layers, PatternProof(self.end)
        try:
            tables = PatternTables.of(self.network, self.demands, layers.first, layers.entry, layers.fixed)
            prove_patterns(tables, found, share, self.report)
        except NotProved:
            return
        finally:
            # also where the proof is interrupted
            self.pattern_parts = [part for part in found.parts if part.length <= found.end]
            self.margins |= {n: LengthMargins(low=low) for n, low in found.margins.items() if n <= found.end}
            self.end = self.sure = max(self.end, found.end)
        if found.open is not None and found.reason is not None:
            length, symbol = found.open[0], str(self.network.symbols[found.open[1]])
            self.why = f"after {symbol}, {found.reason}"
            if length not in self.open:
                self._opened(length, [symbol], [-np.inf])

    def _hopeless(self) -> bool:
        """Return whether the bound of an open class is so far from 0 that neither more cells nor checkpoints, which are
        tried where bounds are close, are of use."""
        return min((one.bound for one in self.open.get(self.end + 1, ())), default=0.0) < FAR

    def _closer(self, cells: int) -> bool:
        """Make the enclosures with the ranges of functions in so many cells of a class, and drop those that are not the
        last ones made. Return False if that is too much work."""
        # without ranges they are needed again with checkpoints, unless scores vary too much
        for one, made in list(self.made.items()):
            if made is not self.layers and (one or made.wide):
                self.dropped[one] = self.made.pop(one).cells
        try:
            self.made[cells] = TwoLayers(self.network, self.demands, replace(self.limits, cells=cells), True)
        except NotProved:
            return False
        return True

    def _lengths(self, start: int) -> None:
        """Prove the lengths from one on, with the cells that there are."""
        self.end, self.sure, self.open = self.demands.longest, start - 1, {}
        if start == 0 and self.demands.shortest == 0 and self.demands.required[0] >= 0:
            self._opened(0, [None], [-np.inf])
        pending: dict[int, set[tuple[int, int]] | None] = dict.fromkeys(range(max(start, 1), self.end + 1))
        self._part(WordsCase({}, pending, -np.inf), self.layers.tables)

    def result(self, start: int, margins: dict[int, LengthMargins], interrupted: bool) -> ExternalProof:
        """Return the result; the prefixes of less than `start` symbols were run, with these margins."""
        tables, longest, proved = self.layers.tables, self.demands.longest, self.end
        boxes = sum(self.dropped.values()) + sum(one.cells for one in self.made.values())
        known = {n: one for n, one in {**self.margins, **margins}.items() if n <= proved and np.isfinite(one.low)}
        opened = () if interrupted else tuple(self.open.get(proved + 1, ()))
        splits = LayerSplits(
            start - 1 if start else None, len(tables.classes), len(tables.cells.of), boxes,
            tuple(self.parts), tuple(self.pattern_parts),
        )  # fmt: skip
        covered = sum(self.demands.words()[: proved + 1])
        reason = "the proof was interrupted" if interrupted else None
        if opened:
            reason = f"{too_many(proved + 1, self.demands.live()[proved + 1])}, and {self.why}"
        return ExternalProof(
            longest, proved, covered, None, opened, known, len(tables.classes), boxes, reason, interrupted,
            splits,
        )  # fmt: skip

    def _part(self, part: WordsCase, tables: CellTables | None = None) -> None:
        """Prove the classes of a part, by dividing it where needed."""
        lengths_here = [n for n in part.pending if n <= self.end]
        if not lengths_here:
            return
        if tables is None:
            self.work += OF_PART * self.demands.longest + OF_SETUP * self.layers.setup
            tables = CellTables.made(self.layers, demands_of_part(self.demands, part.checkpoints, max(lengths_here)))
        left, done, count, least = dict[int, set[tuple[int, int]] | None](), list[int](), 0, np.inf
        for n in lengths_here:
            if n > self.end:
                break
            if len(left) > self.limits.failures:
                left[n] = part.pending[n]
                continue
            rows = self._rows(tables, n, part.pending[n])
            still, low = self._proved(tables, n, rows)
            count += len(rows) - len(still)
            margin = self.margins.setdefault(n, LengthMargins())
            margin.low = min(margin.low, float(low[low > 0].min(initial=np.inf)))
            if not len(still):
                done.append(n)
                self.sure += not part.checkpoints and n == self.sure + 1
                self.report(n, self.demands.longest)
                continue
            left[n] = {(int(tables.classes.state[row]), int(tables.classes.symbol[row])) for row in still}
            least = min(least, float(low.min()))
            if not self._promising(part, min(left), least):
                bounds = dict(zip(rows.tolist(), low.tolist(), strict=True))
                symbols = tables.classes.symbol[still].tolist()
                self._opened(n, [self.network.symbols[one] for one in symbols], [bounds[row] for row in still.tolist()])
                break
        if done:
            most = int(np.bincount(tables.cells.of).max(initial=0))
            shown = WordsPart(self._shown(part), min(done), max(done), count, most, self.narrowed)
            self.parts.append(shown)
        left = {n: keys for n, keys in left.items() if n <= self.end}
        place = self._place(part, min(left)) if left else None
        if place is None:
            return
        for state in np.flatnonzero(tables.demands.reached()[place]).tolist():
            self._part(WordsCase({**part.checkpoints, place: state}, left, least))

    def _promising(self, part: WordsCase, length: int, least: float) -> bool:
        """Return True if a part with an open class is divided: its bound is better than before the last division, or
        not far from 0."""
        deep = len(part.checkpoints) >= self.limits.depth or self.work > self.limits.work
        deep = deep or not self.divided
        gained = not part.checkpoints or least > part.bound + GAIN * abs(part.bound)
        return not deep and least > HOPELESS and gained and self._place(part, length) is not None

    def _proved(self, tables: CellTables, n: int, rows: Integers) -> tuple[Integers, Floats]:
        """Return the rows that stay open, and lower bounds of all; all rows where too much work was done."""
        if not len(rows) or self.work > self.limits.work:
            return rows, np.full(len(rows), -np.inf)
        before = tables.work
        found = tables.prove(n, rows)
        self.work += tables.work - before
        return found

    def _rows(self, tables: CellTables, n: int, keys: set[tuple[int, int]] | None) -> Integers:
        classes = tables.classes
        rows = np.flatnonzero((classes.length == n) & (classes.kind >= 0))
        if keys is None:
            return rows
        chosen = [(int(classes.state[row]), int(classes.symbol[row])) in keys for row in rows]
        return rows[np.array(chosen, dtype=np.bool_)] if len(rows) else rows

    def _place(self, part: WordsCase, length: int) -> int | None:
        """Return the position of the next checkpoint, for prefixes of at least this length: the middle of the longest
        stretch without one; None if there is none."""
        ends = [0, *sorted(part.checkpoints), length - 1]
        start, stop = max(pairwise(ends), key=lambda pair: pair[1] - pair[0])
        return None if stop - start < 2 else (start + stop) // 2

    def _opened(self, n: int, symbols: Sequence[str | None], bounds: Sequence[float]) -> None:
        """Note classes of one length that stay open, by last symbol: longer ones are of no use any more."""
        self.end = min(self.end, n - 1)
        some = [OpenClass(n, symbol, bound, np.inf) for symbol, bound in zip(symbols, bounds, strict=True)]
        self.open.setdefault(n, []).extend(some)

    def _shown(self, part: WordsCase) -> tuple[PassedState, ...]:
        names = self.network.symbols
        return tuple(
            PassedState(place, tuple(names[one] for one in self.examples[state]))
            for place, state in sorted(part.checkpoints.items())
        )


def _examples(demands: PrefixDemands) -> dict[int, tuple[int, ...]]:
    """Return a shortest word to each state, as the numbers of its symbols."""
    found: dict[int, tuple[int, ...]] = {0: ()}
    left = [0]
    for state in left:
        for symbol, target in enumerate(demands.moves[state].tolist()):
            if target != NOWHERE and target not in found:
                found[target] = (*found[state], symbol)
                left.append(target)
    return found
