"""Write proofs about networks of two layers, so that a checker can follow them without a search.

`recorded_layers` proves lengths that `two_layers` has proved again, with the bounds of the checker: for each class of
prefixes its box of the first layer, the division of that into cells, and for each judged class a box of what the second
layer's heads read, with a tree as in `record`. Where classes stay open, the words are divided by the state of the
machine at a position, as in `two_layers`.

Boxes of the first layer and the longest paths through the cells are computed here, quickly and without a proof: the
checker computes them again. The cells' affine forms are those of the checker, so that what is found here holds there.
Bounds are raised by SPARE, since sums are rounded in another way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from itertools import pairwise
from math import floor, log10
from typing import Any, Protocol, TypeAlias

import numpy as np

from hardsim.lazy_dataclass import dataclass
from hardsim.network.dense import Network
from hardsim.proof.external.affine import AffineForm
from hardsim.proof.external.columns import PrefixClasses, steady_positions
from hardsim.proof.external.demands import PrefixDemands
from hardsim.proof.external.first_layer import BoxCells, FirstLayer, moves_of
from hardsim.proof.external.logits import Basis
from hardsim.proof.external.record import Axes, RowBound, Tree, rounded_down
from hardsim.proof.external.second_layer import HeadForms, RelaxedSupports, SecondEntry
from hardsim.proof.external.supports import Paths
from hardsim.proof.external.two_layers import demands_of_part
from hardsim.proof.shared.result import NotProved
from hardsim.run.enclosure import Floats

SPARE, SHARE = 1e-3, 1e-9
"""Written bounds are raised by SPARE times the width of a box plus SHARE times the size of the bound."""
DIGITS = 4
"""The number of decimal digits to which the widths of boxes are written."""
SLACK = 1e-7
"""The lower bound of a row of a `Requirement` must exceed this share of the sizes of its terms to count as positive."""
WIDTH, CELLS, ROUNDS = 0.8, 16, 8
"""Cells are divided until scores and values vary by at most WIDTH, a class has CELLS cells, or ROUNDS divisions were
made."""
FAILURES, DEPTH = 2, 6
"""A part is divided at a checkpoint once more than FAILURES lengths stay unproved in it; at most DEPTH checkpoints are
nested."""
OPEN, TIMES = 16, 4
"""Greatest number of unproved boxes of a class at a time, and of times that a box of the second layer is divided."""
SHARES = (0.0, 0.5, 1.0, 1.5)
"""The multipliers that are tried where a box is divided, see the lemma of `prove`."""
SAMPLES = 24
"""Number of queries by which the width of cells is measured."""
MOST_CLASSES, MOST_PAIRS = 20_000, 4 * 10**7
"""Greatest numbers of classes, and of classes times cells: the check of more takes longer than ten minutes."""
BATCH = 512
"""Number of cells that are measured together."""

Form: TypeAlias = tuple[list[float], list[list[float]], list[float]]
"""An affine enclosure of a vector: middle, slopes by coordinate zeta, and errors."""
ClassKey: TypeAlias = tuple[int, int, int]
"""A class: length, last symbol, and the state before it."""


class CheckedCell(Protocol):
    """The checker's enclosures over one cell of the first layer."""

    @property
    def heads(self) -> Sequence[tuple[Form, Form, Form]]:
        """The query, the key and the value of each head of the second layer, the value in the coordinates of axes."""

    def rows(self, low: list[float], high: list[float], choice: Sequence[tuple[int, int]]) -> list[RowBound] | None:
        """Return lower bounds of the rows of a choice of a `Requirement`, over a box of what the second layer's heads
        return; None if the checker has no bounds there."""


class CheckedForms(Protocol):
    """The checker's enclosures, for the coordinate axes of the heads that a proof states."""

    @property
    def fixed(self) -> Sequence[CheckedCell]:
        """The enclosures of the tokens before the word."""

    def cell(self, place: ClassKey, low: list[float], high: list[float]) -> CheckedCell:
        """Return the enclosures over a cell of a class. Raises NotProved where there are none."""


@dataclass(frozen=True, slots=True)
class WrittenLayers:
    """A written proof. The checker runs every prefix of at most `run_to` symbols; longer ones are proved by `part`, the
    root of the division of the words (None if there are no longer ones). `axes` are given by layer and head."""

    run_to: int
    axes: list[Axes]
    part: dict[str, Any] | None


def recorded_layers(
    network: Network,
    demands: PrefixDemands,
    run: tuple[int, int],
    checker: Callable[[list[Axes]], CheckedForms],
    shown: Callable[[float], None] | None = None,
) -> WrittenLayers:
    """Return the written proof that a network of two layers is right after all prefixes of at most `demands.longest`
    symbols. Prefixes of at most `run[0]` symbols are run; so are longer ones, of at most `run[1]` symbols, if they do
    not close. `checker` gives the checker's enclosures for some axes. Raises NotProved if the proof does not close with
    them, or the check would take too long. `shown` is called with the share that is done."""
    with np.errstate(all="ignore"):
        return _LayersRecorder(network, demands, checker, shown or (lambda share: None)).run(*run)


@dataclass(slots=True)
class _PartTables:
    """The classes of a part of the words with their boxes, rounded outward, and the cells of each class: the tree, and
    the cells with the checker's enclosures."""

    classes: PrefixClasses
    low: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    high: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    trees: list[Tree | None] = field(default_factory=list)
    of: list[int] = field(default_factory=list)
    cells: list[tuple[list[float], list[float], CheckedCell]] = field(default_factory=list)
    supports: list[RelaxedSupports] = field(default_factory=list)

    def key(self, row: int) -> ClassKey:
        """Return the key of the class with this index in the tables."""
        return int(self.classes.length[row]), int(self.classes.symbol[row]), int(self.classes.state[row])


class _LayersRecorder:
    """The state of a proof that is being written."""

    def __init__(
        self,
        network: Network,
        demands: PrefixDemands,
        checker: Callable[[list[Axes]], CheckedForms],
        shown: Callable[[float], None],
    ) -> None:
        self.network, self.demands, self.shown = network, demands, shown
        self.first = FirstLayer(network, demands.longest, len(network.readout.before))
        self.before, self.kept = len(network.readout.before), np.arange(len(self.first.reach))
        self.entry = SecondEntry(network, steady_positions(network, demands.longest, self.before + demands.longest))
        everything = demands_of_part(demands, {}, demands.longest)
        self.classes = moves_of(everything, everything.reached())
        if len(self.classes) > MOST_CLASSES:
            raise NotProved(f"a certificate of {len(self.classes):,} classes of prefixes would take too long to check")
        boxes = self.first.boxes(self.classes, Paths(everything))
        forms = self._entered(self.classes, boxes)
        chosen = np.linspace(0, len(boxes.of) - 1, min(len(boxes.of), SAMPLES)).astype(np.int64)
        self.samples = [np.nan_to_num(one.queries.c[chosen]) for one in forms]
        self.spreads = [float(np.ptp(np.nan_to_num(one.values.c), axis=0).max()) + 1e-9 for one in forms]
        bases = [Basis.of(one.values.c, 1.0).axes.tolist() for one in forms]
        self.axes: list[Axes] = [[basis.axes.tolist() for basis in self.first.bases], bases]
        self.checker = checker(self.axes)
        self.whole, self.done = 1, 0

    def run(self, run_to: int, reach: int) -> WrittenLayers:
        """Return the written proof."""
        self.run_to, self.reach = run_to, reach
        judged = np.flatnonzero((self.classes.kind >= 0) & (self.classes.length > run_to)).tolist()
        pending = {_PartTables(self.classes).key(row) for row in judged}
        self.whole = max(1, len(pending))
        part = self._part({}, pending) if pending else None
        if part is None or not (part["classes"] or part["parts"]):
            return WrittenLayers(self.demands.longest, self.axes, None)
        return WrittenLayers(self.run_to, self.axes, part)

    def _entered(self, classes: PrefixClasses, cells: BoxCells) -> list[HeadForms]:
        """Return the prover's queries, keys and values over cells."""
        parts = []
        for start in range(0, max(1, len(cells.of)), BATCH):
            some = cells.at(slice(start, start + BATCH))
            places = self.before - 1 + classes.length[some.of]
            parts.append(self.entry(self.first.stream(classes, some), self.kept, places))
        return [HeadForms.joined(list(one)) for one in zip(*parts, strict=True)]

    # ---- parts ----

    def _part(self, passed: dict[int, int], pending: set[ClassKey]) -> dict[str, Any]:
        """Write the part of the proof about words that are in given states at given positions (`passed`); `pending`
        are the judged classes that it has to prove. Raises NotProved if some of them stay unproved."""
        longest = max((length for length, _, _ in pending), default=0)
        demands = demands_of_part(self.demands, passed, max(longest, *passed, 0))
        reached = demands.reached()
        tables = self._tables(demands, reached)
        rows = [row for row in range(len(tables.classes)) if tables.key(row) in pending]
        if not rows:
            return {"classes": [], "place": None, "parts": []}
        self._add_cells(tables, Paths(demands))
        trees, failures = dict[int, Tree](), set[int]()
        for length in sorted({tables.key(row)[0] for row in rows}):
            if len(failures) > FAILURES:
                break
            some = [row for row in rows if tables.key(row)[0] == length]
            found = self._queries(tables, length, some)
            trees.update(found)
            if len(found) < len(some) and length <= self.reach:
                self.run_to = max(length, self.run_to)
            elif len(found) < len(some):
                failures.add(length)
        trees = {row: tree for row, tree in trees.items() if tables.key(row)[0] > self.run_to}
        rest = {key for key in (tables.key(row) for row in rows if row not in trees) if key[0] > self.run_to}
        part: dict[str, Any] = {"classes": self._classes(tables, trees), "place": None, "parts": []}
        if rest:
            part["place"] = place = self._place(passed, min(length for length, _, _ in rest))
            for state in np.flatnonzero(reached[place]).tolist():
                part["parts"].append([state, self._part({**passed, place: state}, rest)])
        return part

    def _place(self, passed: dict[int, int], length: int) -> int:
        """Return the position of the next checkpoint: the middle of the longest stretch without one."""
        ends = [0, *sorted(passed), length - 1]
        start, stop = max(pairwise(ends), key=lambda pair: pair[1] - pair[0])
        if stop - start < 2 or len(passed) >= DEPTH:
            raise NotProved(f"the checker's bounds do not prove prefixes of {length} symbols")
        return (start + stop) // 2

    def _classes(self, tables: _PartTables, trees: dict[int, Tree]) -> list[dict[str, Any]]:
        """Return the classes of a part as they are written. All are written, also those without a proof, since the mean
        of all keys enters every bound; but none if nothing is proved."""
        found = []
        for row in range(len(tables.classes)) if trees else ():
            length, symbol, state = tables.key(row)
            box = [tables.low[row].tolist(), tables.high[row].tolist()]
            one = {"length": length, "symbol": symbol, "state": state, "box": box}
            found.append({**one, "cells": tables.trees[row], "query": trees.get(row)})
        return found

    # ---- cells ----

    def _tables(self, demands: PrefixDemands, reached: Any) -> _PartTables:
        """Return the classes of a part with their boxes, rounded outward."""
        classes = moves_of(demands, reached)
        boxes = self.first.boxes(classes, Paths(demands))
        spare = SHARE * self.first.reach
        low, high = boxes.middles - boxes.radii - spare, boxes.middles + boxes.radii + spare
        for row in range(len(classes)):
            low[row], high[row] = _outward(low[row], high[row], spare)
        return _PartTables(classes, low, high)

    def _add_cells(self, tables: _PartTables, paths: Paths) -> None:
        """Divide the boxes of a part into cells, with the checker's enclosures."""
        trees: list[Tree] = [{} for _ in range(len(tables.classes))]
        open_cells = [(row, trees[row], tables.low[row], tables.high[row]) for row in range(len(trees))]
        counts, done = np.ones(len(trees), dtype=np.int64), list[tuple[int, Tree, Floats, Floats]]()
        for _ in range(ROUNDS):
            widths, axes = self._widths(tables.classes, open_cells)
            left: list[tuple[int, Tree, Floats, Floats]] = []
            for (row, node, low, high), width, axis in zip(open_cells, widths, axes, strict=True):
                if width <= WIDTH or counts[row] >= CELLS:
                    done.append((row, node, low, high))
                    continue
                counts[row] += 1
                left += _divided(row, node, low, high, axis)
            open_cells = left
        if (len(done) + len(open_cells)) * self.whole > MOST_PAIRS:
            raise NotProved(f"a certificate of {len(done):,} cells would take too long to check")
        order = {id(node): number for number, node in enumerate(_leaves(trees))}
        for row, _, low, high in sorted([*done, *open_cells], key=lambda one: order[id(one[1])]):
            ends = low.tolist(), high.tolist()
            tables.of.append(row)
            tables.cells.append((*ends, self.checker.cell(tables.key(row), *ends)))
            self.shown(0.5 * len(tables.of) / len(order) if not self.done else 0.5 + 0.5 * self.done / self.whole)
        tables.trees = [_plain(tree) for tree in trees]
        of = np.array(tables.of, dtype=np.int64)
        for number in range(len(self.axes[1])):
            keys = _arrays([cell.heads[number] for _, _, cell in tables.cells])
            fixed = _arrays([cell.heads[number] for cell in self.checker.fixed], keys)
            entry = self.entry.heads[number]
            tables.supports.append(RelaxedSupports(entry, tables.classes, paths, of, keys, fixed))

    def _widths(
        self, classes: PrefixClasses, cells: Sequence[tuple[int, Tree, Floats, Floats]]
    ) -> tuple[list[float], list[int]]:
        """Return how much scores, and values relative to the spread of all values, vary over each cell, and the
        coordinate of the cell that contributes most to this."""
        if not cells or not len(self.kept):
            return [0.0] * len(cells), [0] * len(cells)
        of = np.array([row for row, *_ in cells])
        low, high = np.stack([one[2] for one in cells]), np.stack([one[3] for one in cells])
        boxes = BoxCells(of, (low + high) / 2, (high - low) / 2)
        total, extra = np.zeros(boxes.radii.shape), np.zeros(len(of))
        for one, queries, spread in zip(self._entered(classes, boxes), self.samples, self.spreads, strict=True):
            total += np.abs(np.einsum("nmk,qk->nmq", one.keys.slopes, queries, optimize=True)).max(axis=2)
            total += np.abs(one.values.slopes).max(axis=2) / spread
            extra += (one.keys.e @ np.abs(queries).T).max(axis=1) + one.values.e.max(axis=1) / spread
        widths = np.nan_to_num(total.sum(axis=1) + extra, nan=np.inf)
        return widths.tolist(), np.where(np.isfinite(total), total, boxes.radii).argmax(axis=1).tolist()

    # ---- judged classes ----

    def _queries(self, tables: _PartTables, length: int, rows: Sequence[int]) -> dict[int, Tree]:
        """Return the trees of those classes of one length that are proved: with the last position in one cell, or in
        the cells of the class."""
        ends = [(tables.low[row].tolist(), tables.high[row].tolist()) for row in rows]
        whole = [self.checker.cell(tables.key(row), *pair) for row, pair in zip(rows, ends, strict=True)]
        found = {row: one for row, one in zip(rows, self._closed(tables, length, rows, whole), strict=True) if one}
        of = np.array(tables.of)
        for row in rows:
            first, last = np.searchsorted(of, [row, row + 1]).tolist()
            if row not in found and last - first > 1:
                cells = [cell for _, _, cell in tables.cells[first:last]]
                parts = self._closed(tables, length, [row] * len(cells), cells)
                if all(parts):
                    found[row] = _filled(tables.trees[row], iter(parts))
        self.done += len(found)
        self.shown(0.5 + 0.5 * self.done / self.whole)
        return found

    def _closed(
        self, tables: _PartTables, length: int, rows: Sequence[int], cells: Sequence[CheckedCell]
    ) -> list[Tree | None]:
        """Return for each cell of the last position of a class the box of the second layer's heads and its tree, None
        where that is not proved."""
        states = tables.classes.state[list(rows)]
        lows, highs = [np.zeros((len(rows), 0))], [np.zeros((len(rows), 0))]
        for number, support in enumerate(tables.supports):
            queries, width = _arrays([cell.heads[number] for cell in cells], support.keys), len(self.axes[1][number])
            both = np.concatenate([np.eye(width), -np.eye(width)])
            found = support.bounds(length, states, queries, both)
            highs.append(found[:, :width])
            lows.append(-found[:, width:])
        low, high = np.concatenate(lows, axis=1), np.concatenate(highs, axis=1)
        trees: list[Tree | None] = []
        for row, cell, least, most in zip(rows, cells, low, high, strict=True):
            if not (np.isfinite(least).all() and np.isfinite(most).all()):
                trees.append(None)
                continue
            spare = SPARE * (most - least) + SHARE * (np.abs(most) + np.abs(least)) + 1e-12
            box = _outward(least - spare, most + spare, spare)
            tree = _TreeSearch(self, tables, row, cell).run(*box)
            trees.append(None if tree is None else {"box": [box[0].tolist(), box[1].tolist()], "tree": tree})
        return trees


class _TreeSearch:
    """The search for a tree of cells over the second layer's box of a class, in one cell of its last position."""

    def __init__(self, recorder: _LayersRecorder, tables: _PartTables, row: int, cell: CheckedCell) -> None:
        self.tables, self.row, self.cell = tables, row, cell
        kind = recorder.demands.kinds[int(tables.classes.kind[row])]
        self.choices = [[*choice] for choice in kind.choices]
        counts = [len(axes) for axes in recorder.axes[1]]
        ends = np.cumsum([0, *counts]).tolist()
        self.parts = [slice(*pair) for pair in pairwise(ends)]

    def run(self, low: Floats, high: Floats) -> Tree | None:
        """Return the tree; None if it does not close."""
        root: Tree = {}
        left = [(root, low, high)]
        for number in range(TIMES + 1):
            after: list[tuple[Tree, Floats, Floats]] = []
            for node, least, most in left:
                axis = self._leaf(node, least, most, high - low)
                if axis is not None and (axis < 0 or number == TIMES):
                    return None
                if axis is not None:
                    after += [one[1:] for one in _divided(0, node, least, most, axis)]
            if not after:
                return _plain(root)
            if len(after) > OPEN:
                return None
            left = after
        return None

    def _leaf(self, node: Tree, low: Floats, high: Floats, widest: Floats) -> int | None:
        """Make a leaf of a node if some choice is proved there, and return None; else return the coordinate along which
        it is divided, -1 if there is none."""
        middles, radii, axis = (low + high) / 2, (high - low) / 2 * (1 + 1e-12), -1
        for number, choice in enumerate(self.choices):
            found = self.cell.rows(low.tolist(), high.tolist(), choice)
            if found is None or not all(np.isfinite(g + e) for g, _, e in found):
                continue
            open_rows = [row for row, one in enumerate(found) if not _least(one, middles, radii) > 0]
            named = {row: self._named(found[row], middles, radii, radii < widest / 2 * (1 - 1e-3)) for row in open_rows}
            if all(_least(found[row], middles, radii, *named[row]) > 0 for row in open_rows):
                node.update(choice=number, rows={str(row): [*named[row]] for row in open_rows})
                return None
            if axis < 0 and len(middles):
                slopes = np.abs(np.array([found[row][1] for row in open_rows])).max(axis=0)
                axis = int((slopes * radii).argmax())
        return axis

    def _named(self, row: RowBound, middles: Floats, radii: Floats, halved: Any) -> tuple[list[float], list[float]]:
        """Return the direction, with its bound for each head, that gives the greatest lower bound of a row."""
        rates, best = -np.array(row[1]), (-np.inf, (list[float](), list[float]()))
        state, length = self.tables.classes.state[[self.row]], int(self.tables.classes.length[self.row])
        size = float(np.abs(rates).max(initial=0.0))
        digits = DIGITS - floor(log10(size)) if size > 0 else 0
        for share in SHARES if halved.any() else SHARES[:1]:
            direction, levels = np.round(rates * (1 - share * halved), digits), list[float]()
            for number, (support, here) in enumerate(zip(self.tables.supports, self.parts, strict=True)):
                query = _arrays([self.cell.heads[number]], support.keys)
                found = float(support.bounds(length, state, query, direction[None, here])[0, 0])
                spread = float(np.abs(direction[here]) @ radii[here])
                levels.append(-rounded_down(-(found + SPARE * spread + SHARE * abs(found) + 1e-12), 9))
            pair = direction.tolist(), levels
            least = _least(row, middles, radii, *pair)
            if least > best[0]:
                best = least, pair
        return best[1] if best[1][1] or not len(self.parts) else (rates.tolist(), [np.inf] * len(self.parts))


def _least(
    row: RowBound, middles: Floats, radii: Floats, direction: Sequence[float] = (), levels: Sequence[float] = ()
) -> float:
    """Return a lower bound of a row as the checker computes it, minus SLACK times the sizes of all terms."""
    g, slopes, e = row
    d = np.array(direction) if len(direction) else np.zeros(len(middles))
    terms = np.concatenate([[g, -e], -np.abs(np.array(slopes) + d) * radii, d * middles, -np.array(levels)])
    return float(terms.sum() - SLACK * (np.abs(terms).sum() + (np.abs(slopes) + np.abs(d)) @ radii))


def _outward(low: Floats, high: Floats, spare: Floats) -> tuple[Floats, Floats]:
    """Return a box rounded outward, to DIGITS digits of its widths; widths below `spare` count as `spare`."""
    digits = (DIGITS - np.floor(np.log10(np.maximum(high - low, spare)))).astype(np.int64).tolist()
    lows = [rounded_down(value, k) for value, k in zip(low.tolist(), digits, strict=True)]
    highs = [-rounded_down(-value, k) for value, k in zip(high.tolist(), digits, strict=True)]
    return np.array(lows), np.array(highs)


def _divided(row: int, node: Tree, low: Floats, high: Floats, axis: int) -> list[tuple[int, Tree, Floats, Floats]]:
    """Divide a cell along a coordinate, at a number of few digits; its node becomes the division."""
    least, most = float(low[axis]), float(high[axis])
    middle = round((least + most) / 2, 3 - floor(log10(max(most - least, 1e-300))))
    middle = min(max(middle, least), most)
    node.update(split=[axis, middle], low={}, high={})
    under, over = high.copy(), low.copy()
    under[axis] = over[axis] = middle
    return [(row, node["low"], low, under), (row, node["high"], over, high)]


def _leaves(trees: Sequence[Tree]) -> list[Tree]:
    """Return the leaves of some trees in order, those of the lower half first."""
    found, left = [], [*reversed(trees)]
    while left:
        node = left.pop()
        if "split" in node:
            left += [node["high"], node["low"]]
        else:
            found.append(node)
    return found


def _plain(tree: Tree) -> Tree | None:
    """Return a tree whose empty leaves are None."""
    if "split" in tree:
        return {"split": tree["split"], "low": _plain(tree["low"]), "high": _plain(tree["high"])}
    return tree or None


def _filled(tree: Tree | None, parts: Any) -> Tree:
    """Return the tree with its leaves replaced by `parts`, in order."""
    if tree is None:
        found: Tree = next(parts)
        return found
    low = _filled(tree["low"], parts)
    return {"split": tree["split"], "low": low, "high": _filled(tree["high"], parts)}


def _arrays(cells: Sequence[tuple[Form, Form, Form]], like: HeadForms | None = None) -> HeadForms:
    """Return queries, keys and values as arrays, with as many slopes as the cell with most; `like` has the widths where
    there are none. Certificates of two layers are about scores that do not depend on positions: all are 0 here."""
    if not cells:
        assert like is not None
        empty = np.zeros(0, dtype=np.int64)
        return like.at(empty)
    queries, keys, values = (_array([cell[part] for cell in cells]) for part in range(3))
    return HeadForms(queries, keys, values, np.zeros(len(cells), dtype=np.int64))


def _array(forms: Sequence[Form]) -> AffineForm:
    most = max(len(slopes) for _, slopes, _ in forms)
    c, e = np.array([c for c, _, _ in forms]), np.array([e for _, _, e in forms])
    slopes = np.zeros((len(forms), most, c.shape[1]))
    for number, (_, own, _) in enumerate(forms):
        if own:
            slopes[number, : len(own)] = own
    return AffineForm(c, slopes, e)
