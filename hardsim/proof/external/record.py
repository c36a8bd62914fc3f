"""The parts of a proof about an external network that a checker needs to follow it without a search.

`recorded` proves the lengths again that `prove_external` has proved, and writes down how. The classes with the same
length, last symbol and requirement form a group, which is proved as a whole where the hull of the boxes of its classes
is narrow enough; else it is divided, down to single classes, and then the box is divided into cells.

All numbers that are written are rounded first, outward, to few digits; what is then compared is what was written. The
checker has bounds of its own for the rows over a cell. Those here only choose, and a cell is a leaf if the checker's
bounds say so, with SLACK. Bounds along directions are raised by SHARE of the size of what they bound, since the checker
rounds in another way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import pairwise
from math import floor, log10
from typing import Any, TypeAlias

import numpy as np

from hardsim.lazy_dataclass import dataclass
from hardsim.network.dense import Network
from hardsim.proof.external.affine import ROUND
from hardsim.proof.external.demands import PrefixDemands
from hardsim.proof.external.first_layer import BoxCells
from hardsim.proof.external.logits import RowForms
from hardsim.proof.external.prove import SHARES, ClassProver, WorkLimits
from hardsim.proof.shared.result import NotProved
from hardsim.run.dense_float import lengths
from hardsim.run.enclosure import GROW, Floats, Integers

SLACK = 1e-9
"""The least bound of a row that counts as positive, as a part of the sizes of its terms."""
RIGHT = 1e-6
"""The least margin after a prefix that is run which counts as right."""
SHARE = 1e-9
"""The part of the greatest value in a direction by which a bound in that direction is raised."""
DIGITS = 5
"""The number of decimal digits to which directions, and the widths of boxes, are written."""
ROUNDS = 24
"""Greatest number of times that a cell is divided."""
CELLS = 40_000
"""Greatest number of open cells of a class at a time."""
FEW_CELLS = 200
"""Greatest number of open cells of a class whose prefixes may be run in place of that."""
FEW = 4
"""Number of prefixes of a class that are run in place of dividing its box."""
BUDGETS = (0.6, 0.2, 0.05)
"""The parts of the least row that may be lost where a box is made wider."""
MANY = 4_096
"""Greatest number of prefixes of a class that are run where the divided box does not close."""

RowBound: TypeAlias = tuple[float, list[float], float]
"""Numbers g, l, e: a row of a cell, times a positive number, is at least g + l.(z - m) - e, with m the cell's
middle."""
CellRows: TypeAlias = Callable[[int, int, list[float], list[float], Sequence[tuple[int, int]]], list[RowBound] | None]
"""The checker's bounds of the rows of a choice, for prefixes of a length with a last symbol, over a box (its least and
its greatest coordinates); None where there are none."""
Axes: TypeAlias = list[list[list[float]]]
"""The rows of the axes of each head."""
Tree: TypeAlias = dict[str, Any]
"""A node of the tree of cells, see `ClassGroup`."""


@dataclass(slots=True)
class ClassGroup:
    """Classes of prefixes that are proved together: their length, their last symbol (-1: it is free, or there is none),
    the states before it, the box of the outputs of the heads, and the tree of its cells. A node of the tree is a leaf
    `{"choice", "rows"}` with the number of the choice whose rows are positive and, for rows where the box is not
    enough, a direction and its bounds, one a head; or a division `{"split": [coordinate, number], "low", "high"}`; or
    `{"words": true}`, where all prefixes are run."""

    length: int
    symbol: int
    states: list[int]
    low: list[float]
    high: list[float]
    tree: Tree


@dataclass(slots=True)
class _Open:
    """A cell that is not proved yet: its group, and the node that it becomes."""

    group: ClassGroup
    places: Integers
    """The classes of the group."""
    low: Floats
    high: Floats
    node: Tree = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WrittenProof:
    """A written proof: the axes of each head, and the groups, which have each judged class once."""

    axes: Axes
    groups: list[ClassGroup]


def recorded(
    network: Network,
    demands: PrefixDemands,
    checker: Callable[[Axes], CellRows],
    shown: Callable[[float], None] | None = None,
) -> WrittenProof:
    """Return the written proof that a network is right after all prefixes of at most `demands.longest` symbols.
    `checker` gives the checker's bounds for some axes. Raises NotProved if the proof does not close with them. `shown`
    is called with the share that is done."""
    with np.errstate(all="ignore"):
        return _Recorder(network, demands, checker, shown or (lambda share: None)).run()


class _Recorder:
    """The writing of a proof in progress."""

    def __init__(
        self,
        network: Network,
        demands: PrefixDemands,
        checker: Callable[[Axes], CellRows],
        shown: Callable[[float], None],
    ) -> None:
        self.prover = ClassProver(network, demands, WorkLimits())
        self.axes: Axes = [basis.axes.tolist() for basis in self.prover.bases]
        self.rows = checker(self.axes)
        self.classes, self.shown = self.prover.classes, shown
        self.reach: Floats = self.prover.reach
        """A bound of the absolute value of each coordinate."""
        self.groups: list[ClassGroup] = []
        self.done = 0
        starts = np.cumsum([0, *(len(basis.axes) for basis in self.prover.bases)]).tolist()
        self.parts = [slice(*pair) for pair in pairwise(starts)]
        """The coordinates of each head."""
        ranges = [self._range(number) for number in range(len(self.parts))]
        spare = 2 * SHARE * self.reach
        self.least: Floats = np.concatenate([np.zeros(0), *(low for low, _ in ranges)]) - spare
        self.most: Floats = np.concatenate([np.zeros(0), *(high for _, high in ranges)]) + spare

    def _range(self, head: int) -> tuple[Floats, Floats]:
        """Return the least and the greatest coordinates of the values of a head, over all tokens and positions."""
        values, axes = self.prover.heads[head].head.values.mid, self.prover.bases[head].axes
        found = values.reshape(-1, values.shape[2]) @ axes.T
        return found.min(axis=0), found.max(axis=0)

    def run(self) -> WrittenProof:
        """Return the written proof."""
        classes = self.classes
        keys = np.stack([classes.length, classes.symbol, classes.kind])
        _, number = np.unique(keys, axis=1, return_inverse=True)
        number = number.ravel()
        order = np.argsort(number, kind="stable")
        parts = np.split(order, np.flatnonzero(np.diff(number[order])) + 1) if len(order) else []
        boxes = self.prover.boxes(np.arange(len(classes)))
        self.low, self.high = boxes.middles - boxes.radii, boxes.middles + boxes.radii
        left, single = [self._group(part) for part in parts], list[_Open]()
        while left:
            halves: list[_Open] = []
            for cell in self._unclosed(left, False):
                if len(cell.places) > 1:
                    halves += [self._group(part) for part in self._halved(cell)]
                else:
                    single.append(cell)
            left = halves
        for cell in single:
            self._divide(cell)
        self.groups.sort(key=lambda group: (group.length, group.symbol, group.states))
        return WrittenProof(self.axes, self.groups)

    def _finished(self, group: ClassGroup) -> None:
        self.groups.append(group)
        self.done += len(group.states)
        self.shown(self.done / len(self.classes))

    # ---- boxes ----

    def _group(self, places: Integers) -> _Open:
        """Return the hull of the boxes of some classes, rounded outward, as a cell."""
        low, high = self.low[places].min(axis=0), self.high[places].max(axis=0)
        classes, first, node = self.classes, int(places[0]), dict[str, Any]()
        states = sorted(classes.state[places].tolist())
        group = ClassGroup(int(classes.length[first]), int(classes.symbol[first]), states, [], [], node)
        return self._boxed(group, places, low, high)

    def _boxed(self, group: ClassGroup, places: Integers, low: Floats, high: Floats) -> _Open:
        """Return the cell of a group with a box, rounded outward."""
        spare = SHARE * self.reach
        digits = (DIGITS - np.floor(np.log10(np.maximum(high - low, spare)))).astype(np.int64).tolist()
        group.low = [rounded_down(value, k) for value, k in zip((low - spare).tolist(), digits, strict=True)]
        group.high = [-rounded_down(-value, k) for value, k in zip((high + spare).tolist(), digits, strict=True)]
        return _Open(group, places, np.array(group.low), np.array(group.high), group.tree)

    def _cells(self, cells: Sequence[_Open]) -> BoxCells:
        """Return cells as boxes of the first class of their groups."""
        low, high = np.stack([one.low for one in cells]), np.stack([one.high for one in cells])
        middles = (low + high) / 2
        radii = np.maximum(np.maximum(high - middles, middles - low), 2.0**-34 * self.reach)
        of = np.array([one.places[0] for one in cells])
        return BoxCells(of, middles, radii * (1 + ROUND) + ROUND * np.abs(middles))

    def _forms(self, kind: int, boxes: BoxCells) -> RowForms:
        return self.prover.rest.rows(kind, self.classes.at(boxes.of), boxes.middles, boxes.radii)

    def _halved(self, cell: _Open) -> list[Integers]:
        """Return the classes of a group in two parts, apart along the coordinate that matters most."""
        places, boxes = cell.places, self._cells([cell])
        middles = (self.low[places] + self.high[places]) / 2
        slopes = self._forms(int(self.classes.kind[places[0]]), boxes).form.slopes[0]
        weight = np.nan_to_num(np.abs(slopes).max(axis=1)) * np.ptp(middles, axis=0) / boxes.radii[0]
        order = np.argsort(middles[:, int(weight.argmax())], kind="stable") if len(weight) else np.arange(len(places))
        half = len(places) // 2
        return [np.sort(places[order[:half]]), np.sort(places[order[half:]])]

    # ---- leaves ----

    def _unclosed(self, cells: Sequence[_Open], divided: bool) -> list[_Open]:
        """Make leaves of the cells whose rows are positive, and return the others."""
        left: list[_Open] = []
        kinds = np.array([self.classes.kind[one.places[0]] for one in cells])
        for kind in np.unique(kinds).tolist():
            some = [one for one, own in zip(cells, kinds.tolist(), strict=True) if own == kind]
            for start in range(0, len(some), self.prover.batch):
                left += self._tried(kind, some[start : start + self.prover.batch], divided)
        return left

    def _tried(self, kind: int, cells: list[_Open], divided: bool) -> list[_Open]:
        """Make leaves of cells of one kind, in one batch."""
        required, parts = self.prover.demands.kinds[kind].choices, self.prover.rest.wants[kind].choices
        form = self._forms(kind, self._cells(cells)).form
        least = form.c - np.abs(form.slopes).sum(axis=1) - form.e
        best = np.stack([np.nan_to_num(least[:, part], nan=-np.inf).min(axis=1) for part in parts], axis=1)
        open_leaves: list[_Leaf] = []
        for one, number in zip(cells, best.argmax(axis=1).tolist(), strict=True):
            found = self.rows(one.group.length, one.group.symbol, one.low.tolist(), one.high.tolist(), required[number])
            if found is None:
                continue
            leaf = _Leaf(one, number, *_arrays(found))
            if leaf.opened(self._radii(one)):
                open_leaves.append(leaf)
                continue
            one.node.update(choice=number, rows={})
            if not divided:
                self._finished(self._widened(leaf, required[number]))
        self._ask(open_leaves, divided)
        for leaf in open_leaves:
            if leaf.cell.node and not divided:
                self._finished(leaf.cell.group)
        return [one for one in cells if not one.node]

    def _radii(self, cell: _Open) -> Floats:
        middles = (cell.low + cell.high) / 2
        return np.maximum(cell.high - middles, middles - cell.low) * GROW

    def _ask(self, leaves: list[_Leaf], divided: bool) -> None:
        """Make leaves of cells with the support functions of their classes, where that is enough."""
        pairs = [(number, row) for number, leaf in enumerate(leaves) for row in leaf.opened(self._radii(leaf.cell))]
        if not pairs:
            return
        of, rows = np.array(pairs).T
        cells = [leaves[one].cell for one in of.tolist()]
        slopes = np.stack([leaves[one].slopes[row] for one, row in pairs])
        support = self._supported(cells, self._cells(cells), slopes, divided)
        for number, leaf in enumerate(leaves):
            named = {int(rows[k]): support.written(int(k)) for k in np.flatnonzero(of == number)}
            if not leaf.opened(self._radii(leaf.cell), named):
                leaf.cell.node.update(choice=leaf.choice, rows={str(row): pair for row, pair in named.items()})

    def _supported(self, cells: list[_Open], boxes: BoxCells, slopes: Floats, divided: bool) -> _Directed:
        """Return directions for rows with slopes l (cells, coordinates) in each cell, rounded, with bounds along them
        that give the least bounds of -l.z by the lemma of `prove`."""
        radii, middles, rates = boxes.radii, boxes.middles, -slopes
        shares = SHARES if divided else SHARES[:1]
        widest = np.stack([np.array(one.group.high) - np.array(one.group.low) for one in cells]) / 2
        mu = shares[None, :, None] * (rates * (radii < widest * (1 - 1e-3)))[:, None, :]
        parts = _rounded(rates[:, None, :] - mu)
        mu = rates[:, None, :] - parts
        total = (mu * middles[:, None]).sum(axis=2) + (np.abs(mu) * radii[:, None]).sum(axis=2)
        bounds, scales = [], []
        for found, scale in self._heads(cells, parts):
            total = total + found + (4 * SHARE) * scale
            bounds.append(found)
            scales.append(scale)
        best, each = total.argmin(axis=1), np.arange(len(total))
        picked = [np.stack([one[each, best] for one in kept], axis=1) for kept in (bounds, scales)]
        return _Directed(parts[each, best], *picked)

    def _heads(self, cells: list[_Open], parts: Floats) -> Iterator[tuple[Floats, Floats]]:
        """Yield for each head the greatest sums along directions (cells, shares, coordinates) over all classes of the
        group of each cell, and the size of the greatest value in that direction."""
        sizes = [len(one.places) for one in cells]
        classes = self.classes.at(np.concatenate([one.places for one in cells]))
        starts = np.cumsum([0, *sizes[:-1]])
        for head, basis, here in zip(self.prover.heads, self.prover.bases, self.parts, strict=True):
            directions = parts[:, :, here] @ basis.axes
            found = head.bounds(classes, np.repeat(directions, sizes, axis=0))
            yield np.maximum.reduceat(found, starts, axis=0), lengths(directions)[:, :, 0] * head.head.reach

    def _widened(self, leaf: _Leaf, choice: Sequence[tuple[int, int]]) -> ClassGroup:
        """Return a group whose box is enough, with a box that is replaced by the range of all values on as many sides
        as possible: such sides need no longest path."""
        cell, radii = leaf.cell, self._radii(leaf.cell)
        margins, rates = leaf.margins(radii, {}), leaf.slopes.T
        down, up = np.maximum(rates, 0) * (cell.low - self.least)[:, None], np.maximum(-rates, 0)
        up = up * (self.most - cell.high)[:, None]
        cost = (np.concatenate([down, up]) / margins).max(axis=1, initial=0.0)
        order = np.argsort(cost, kind="stable")
        for budget in BUDGETS:
            wide = np.zeros(len(cost), dtype=np.bool_)
            wide[order[np.cumsum(np.maximum(cost[order], 0.0)) <= budget]] = True
            low = np.where(wide[: len(cell.low)], np.minimum(self.least, cell.low), cell.low)
            high = np.where(wide[len(cell.low) :], np.maximum(self.most, cell.high), cell.high)
            group = ClassGroup(cell.group.length, cell.group.symbol, cell.group.states, [], [], cell.node)
            again = self._boxed(group, cell.places, low, high)
            found = self.rows(group.length, group.symbol, group.low, group.high, choice)
            if found is not None and not _Leaf(again, leaf.choice, *_arrays(found)).opened(self._radii(again)):
                return group
        return cell.group

    # ---- cells ----

    def _divide(self, cell: _Open) -> None:
        """Prove a group of one class by dividing its box. Raises NotProved if that does not close."""
        group, count = cell.group, self.prover.search.count(self.classes, int(cell.places[0]))
        left = [cell]
        for _ in range(ROUNDS if count > FEW and len(cell.low) else 0):
            axes = self.prover.axes(self._cells(left)).tolist()
            left = self._unclosed(
                [half for one, axis in zip(left, axes, strict=True) for half in _halves(one, axis)], True
            )
            if not left:
                self._finished(group)
                return
            if 2 * len(left) > (FEW_CELLS if count <= MANY else CELLS):
                break
        if count > MANY or not self._runs(cell):
            shown = "" if group.symbol < 0 else f" that end in {self.prover.network.symbols[group.symbol]}"
            raise NotProved(f"after {group.length} symbols{shown} the bounds leave no margin for rounding errors")
        group.tree = {"words": True}
        self._finished(group)

    def _runs(self, cell: _Open) -> bool:
        """Return True if the network is right on all prefixes of a group of one class, with room for rounding."""
        classes, search = self.classes.at(cell.places), self.prover.search
        words = search.every(classes)
        low, _ = search.judged(classes.at(np.zeros(len(words), dtype=np.int64)), words)
        return bool((low > RIGHT).all())


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A cell with the checker's bounds of the rows of a choice: g and e by row, l by row and coordinate."""

    cell: _Open
    choice: int
    g: Floats
    slopes: Floats
    e: Floats

    def margins(self, radii: Floats, named: Mapping[int, list[list[float]]]) -> Floats:
        """Return lower bounds of the rows, in the way of the checker, with SLACK of the sizes of all terms; `named` are
        directions and their bounds by row."""
        found, middles = np.empty(len(self.g)), (self.cell.low + self.cell.high) / 2
        for row in range(len(self.g)):
            direction, levels = (np.array(part) for part in named.get(row, [[0.0] * len(middles), [0.0]]))
            slopes = self.slopes[row]
            terms = np.concatenate(
                [[self.g[row], -self.e[row]], -np.abs(slopes + direction) * radii, direction * middles, -levels]
            )
            size = np.abs(terms).sum() + (np.abs(slopes) + np.abs(direction)) @ radii
            found[row] = terms.sum() - SLACK * size
        return found

    def opened(self, radii: Floats, named: Mapping[int, list[list[float]]] | None = None) -> list[int]:
        """Return the rows that are not known to be positive."""
        return np.flatnonzero(~(self.margins(radii, named or {}) > 0)).tolist()


@dataclass(frozen=True, slots=True)
class _Directed:
    """Bounds that support functions give, by pair of a cell and a row: the direction (pairs, coordinates), the bound of
    each head (pairs, heads), and the size of the values in that direction."""

    directions: Floats
    heads: Floats
    scales: Floats

    def written(self, pair: int) -> list[list[float]]:
        """Return the direction and the bounds of a pair, rounded upward."""
        bounds = [
            -rounded_down(-(value + SHARE * scale), 8 - floor(log10(scale))) if scale > 0 else 0.0
            for value, scale in zip(self.heads[pair].tolist(), self.scales[pair].tolist(), strict=True)
        ]
        return [self.directions[pair].tolist(), bounds]


def _arrays(found: list[RowBound]) -> tuple[Floats, Floats, Floats]:
    """Return g, l and e of some rows as arrays."""
    g, slopes, e = zip(*found, strict=True)
    return np.array(g), np.array(slopes).reshape(len(g), -1), np.array(e)


def _halves(cell: _Open, axis: int) -> list[_Open]:
    """Divide a cell along a coordinate, at a number of few digits; its node becomes the division."""
    low, high = float(cell.low[axis]), float(cell.high[axis])
    middle = round((low + high) / 2, 3 - floor(log10(high - low)))
    cell.node.update(split=[axis, middle], low={}, high={})
    below, above = cell.high.copy(), cell.low.copy()
    below[axis] = above[axis] = middle
    return [
        _Open(cell.group, cell.places, cell.low, below, cell.node["low"]),
        _Open(cell.group, cell.places, above, cell.high, cell.node["high"]),
    ]


def rounded_down(value: float, digits: int) -> float:
    """Return a number with so many decimal places, at most `value` and close to it."""
    found = round(value, digits)
    return found if found <= value else round(found - 10.0**-digits, digits)


def _rounded(directions: Floats) -> Floats:
    """Return directions (cells, shares, coordinates) with few digits, relative to the greatest of each."""
    size = np.abs(directions).max(axis=2, initial=0.0)
    digits = (DIGITS - np.floor(np.log10(np.where(size > 0, size, 1.0)))).astype(np.int64)
    found = directions.tolist()
    for one, places in zip(found, digits.tolist(), strict=True):
        one[:] = [[round(value, k) for value in row] for row, k in zip(one, places, strict=True)]
    return np.array(found).reshape(directions.shape)
