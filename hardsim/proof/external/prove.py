"""Proofs that a one-layer network answers as specified on every word, to the end of its table of positions.

`prove_external` takes the classes of prefixes by length. For each class the outputs of the heads lie in a box of exact
supports (`supports`); affine enclosures of what is required over the box (`logits`) prove most classes at once. On what
is left: linearise, then ask the support function.

**Lemma.** Let a row over a cell C of the box be at least `g + l.z - e`, and let h be the support function of the heads'
outputs (the sum of those of the heads). For each vector mu, with h in the coordinates of z,

    the least l.z over the prefixes in C is at least -(h(-l - mu) + the maximum over C of mu.z).

(For such a prefix `-l.z = (-l - mu).z + mu.z`.) The call of h uses what the box has lost. Where a cell stays open, its
class is searched for a wrong prefix (`search`), and the cell is divided along its widest coordinate. If all classes
shorter than n are proved and a prefix of length n is wrong, n is the least wrong length.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import field, replace
from typing import Any

import numpy as np

from hardsim.lazy_dataclass import dataclass
from hardsim.network.dense import Network
from hardsim.proof.external.affine import DEEPEST, ROUND
from hardsim.proof.external.columns import Columns, classes_of, require_one_layer
from hardsim.proof.external.demands import PrefixDemands, demands_of
from hardsim.proof.external.first_layer import BoxCells
from hardsim.proof.external.joint import STEPS, JointSupports, function_bounds
from hardsim.proof.external.logits import Basis, Rest, RowForms, longest_axis
from hardsim.proof.external.ranges import FirstMlp, FunctionRanges
from hardsim.proof.external.result import LayerSplits
from hardsim.proof.external.search import Search, worst
from hardsim.proof.external.strips import AXES, SLOPES, ClassStrips, Reached
from hardsim.proof.external.supports import HeadSupports, Paths
from hardsim.proof.shared.result import NotProved
from hardsim.run.enclosure import GROW, Floats, Integers, gamma
from hardsim.run.float_trust import distrust

TOGETHER = 400
"""Least number of classes that are taken together."""
NUMBERS = 2**21
"""The count of numbers in an array of a batch of cells."""
TRIED = 5
"""Number of coordinates that are compared before a cell is divided."""
COUPLED = 2
"""Number of multipliers mu, the best ones, with which heads are coupled."""
SHARES = np.array([0.0, 0.25, 0.5, 0.75, 1.0, 1.5, -1.0, -4.0])
"""The multipliers mu that are tried, as shares of -l on the coordinates along which the cell was divided."""


@dataclass(frozen=True, slots=True)
class WorkLimits:
    """Limits of the work for one proof."""

    rounds: int = 24
    """Greatest number of times that a cell is divided."""
    cells: int = 40_000
    """Greatest number of open cells of one length."""
    words: int = 4_096
    """Greatest number of prefixes of an open class that are all run, in place of dividing its box."""
    more_words: int = 50_000
    """Greatest number of prefixes of a class that are all run where dividing its box a little leaves it open."""
    strips: int = 256
    """Greatest number of open strips of a class; 0: no class is divided into strips."""
    splits: int = 3
    """Greatest number of positions by whose symbols a class is divided that strips leave open."""
    work: float = 3e9
    """Greatest amount of work for the whole proof, roughly the number of products; 10^9 take about a minute."""


@dataclass(frozen=True, slots=True)
class WrongPrefix:
    """A prefix on which the network is certainly wrong, with an upper bound of its margin, which is 0 or less."""

    word: tuple[str, ...]
    margin: float


@dataclass(frozen=True, slots=True)
class OpenClass:
    """A class of prefixes that is neither proved nor known to be wrong: their length, the last symbol where the
    network is read there, a lower bound of the margin, and the least margin of a prefix that was found."""

    length: int
    symbol: str | None
    bound: float
    sampled: float


@dataclass(slots=True)
class LengthMargins:
    """The least margin of the judged prefixes of one length: a lower bound, and the margin of a prefix, at most."""

    low: float = np.inf
    high: float = np.inf


@dataclass(frozen=True, slots=True)
class ExternalProof:
    """The facts that are proved of a network: that its answers are right after all judged prefixes of at most `proved`
    symbols, of which there are `prefixes`; that some prefix is wrong; and the classes that stayed open."""

    longest: int
    """Length of the longest prefixes that were asked for."""
    proved: int
    """-1 where not even the empty prefix is proved."""
    prefixes: int
    wrong: WrongPrefix | None
    opened: tuple[OpenClass, ...]
    margins: dict[int, LengthMargins] = field(compare=False)
    classes: int
    cells: int
    reason: str | None = None
    """Reason why the proof ends before the lengths that were asked for, where nothing is wrong. None: there is none, or
    the open classes of one layer say so."""
    interrupted: bool = False
    """True if a KeyboardInterrupt ended the proof; these facts were proved before."""
    splits: LayerSplits | None = None
    """The divisions in a proof of two layers."""

    @property
    def shortest(self) -> bool:
        """True if the wrong prefix is a shortest one."""
        return self.wrong is not None and self.proved == len(self.wrong.word) - 1


def prove_external(
    network: Network,
    oracle: Any,
    longest: int | None = None,
    limits: WorkLimits | None = None,
    report: Callable[[int, int], None] | None = None,
) -> ExternalProof:
    """Return what can be proved of a network whose specification has this oracle, for words of at most `longest`
    symbols (None: of as many as the table of positions has room for). `report` is called with a length that is proved
    and the greatest one. Raises NotProved if no proof is attempted."""
    most = greatest_length(network, longest)
    require_one_layer(network, DEEPEST)
    with np.errstate(all="ignore"):
        return ClassProver(network, demands_of(oracle, network, most), limits or WorkLimits(), report).run()


def greatest_length(network: Network, longest: int | None) -> int:
    """Return the greatest length of words that fit in the table of positions, and are not longer than `longest`. Raises
    NotProved if there is none, or if float64 is not trusted here."""
    room = network.longest
    if room is None and longest is None:
        raise NotProved("the network reads words of every length: give a greatest length")
    most = min(one for one in (room, longest) if one is not None)
    if most < 0:
        raise NotProved("the table of positions has no room for words")
    if (reason := distrust()) is not None:
        raise NotProved(reason)
    return most


class ClassProver:
    """A proof in progress."""

    def __init__(
        self,
        network: Network,
        demands: PrefixDemands,
        limits: WorkLimits,
        report: Callable[[int, int], None] | None = None,
    ) -> None:
        self.network, self.demands, self.limits = network, demands, limits
        self.report = report or (lambda done, total: None)
        self.columns = Columns(network, demands.longest)
        self.paths = Paths(demands)
        self.heads = [HeadSupports(self.columns, head, self.paths) for head in self.columns.heads]
        bases = []
        for head in self.heads:
            values = head.head.values.mid
            bases.append(Basis.of(values.reshape(-1, values.shape[2]), head.head.reach))
        self.bases = bases
        self.rest = Rest(self.columns, bases, demands.kinds)
        self.search = Search(self.columns, demands, self.paths, self.heads, self.rest)
        self.classes = classes_of(demands, self.columns.symbol_last)
        counts = [len(one.axes) for one in bases]
        self.reach: Floats = np.repeat([head.head.reach for head in self.heads], counts) * longest_axis(bases)
        """A bound of the absolute value of each coordinate."""
        count = len(self.classes)
        self.joint = JointSupports(self.heads, self.paths, count)
        self.ranges: FunctionRanges | None = None
        """The ranges of the functions of `Rest.first_mlp` over some classes."""
        self.ranged = np.full(count, -1)
        """By class, the row of `ranges`; -1 where there is none."""
        self.low, self.sampled = np.full(count, np.inf), np.full(count, np.inf)
        self.bound: Floats = np.full(count, np.inf)
        """By class, the least lower bound of its open cells."""
        self.wrong: dict[int, WrongPrefix] = {}
        self.open: list[int] = []
        self.cells = 0
        (layer,) = network.layers
        hidden = 0 if layer.mlp is None else layer.mlp.w_in.shape[1]
        slopes = 2 * len(self.reach) + 1 + hidden
        self.batch = max(1, NUMBERS // (max(network.dimension, hidden) * slopes))
        """Number of cells that are bounded together."""
        self.work, self.affine = 0.0, float(max(network.dimension, hidden) * slopes)
        moves = [sum(len(rows) for rows, _, _ in layer.moves) for layer in self.paths.layers]
        self.moved: Floats = np.cumsum([0.0, *moves])
        """The number of moves by number of free positions."""
        symbols = max(1, len(self.columns.symbols) * demands.longest)
        self.searched = max(1, NUMBERS // symbols)
        """Number of classes that are searched together."""

    def run(self) -> ExternalProof:
        """Return the result: lengths are taken in order, until a wrong prefix is found or cells stay open."""
        lengths, start = self.classes.length, 0
        try:
            while start < len(lengths) and not self.wrong and not self.open:
                start = self._batch_from(start)
        except KeyboardInterrupt:
            before = int(lengths[start]) - 1
            found, reason = self._result(start), "the proof was interrupted"
            proved = min(found.proved, before)
            covered = sum(self.demands.words()[: proved + 1])
            margins = {n: one for n, one in found.margins.items() if n <= proved}
            return replace(
                found, proved=proved, prefixes=covered, margins=margins, opened=(), reason=reason, interrupted=True
            )
        return self._result(start)

    def _batch_from(self, start: int) -> int:
        """Take the classes of some lengths together, from one on, and return the first class after them."""
        lengths = self.classes.length
        stop = min(start + TOGETHER, len(lengths))
        stop = int(np.searchsorted(lengths, lengths[stop - 1], side="right"))
        if self.work + self._cost(np.arange(start, stop), 2 * len(self.reach)) > self.limits.work:
            stop = int(np.searchsorted(lengths, lengths[start], side="right"))
        self._prove(np.arange(start, stop))
        if not self.wrong and not self.open:
            self.report(int(lengths[stop - 1]), self.demands.longest)
        return stop

    def _result(self, done: int) -> ExternalProof:
        lengths = self.classes.length
        first_wrong = min((int(lengths[one]) for one in self.wrong), default=None)
        first_open = min((int(lengths[one]) for one in self.open), default=None)
        ends = [end - 1 for end in (first_wrong, first_open) if end is not None]
        proved = min(ends, default=self.demands.longest)
        margins: dict[int, LengthMargins] = {}
        for place in range(done):
            n = int(lengths[place])
            if n <= proved:
                here = margins.setdefault(n, LengthMargins())
                here.low, here.high = min(here.low, float(self.low[place])), min(here.high, float(self.sampled[place]))
        wrong = None
        if first_wrong is not None:
            wrong = min((self.wrong[one] for one in self.wrong if lengths[one] == first_wrong), key=lambda w: w.margin)
        opened = tuple(self._opened(one) for one in self.open if first_wrong is None or lengths[one] <= first_wrong)
        covered = sum(self.demands.words()[: proved + 1])
        return ExternalProof(
            self.demands.longest, proved, covered, wrong, opened, margins, len(self.classes), self.cells
        )

    def _opened(self, place: int) -> OpenClass:
        symbol = int(self.classes.symbol[place])
        name = self.network.symbols[symbol] if symbol >= 0 else None
        length = int(self.classes.length[place])
        return OpenClass(length, name, float(self.bound[place]), float(self.sampled[place]))

    # ---- classes together ----

    def _cost(self, places: Integers, directions: int) -> float:
        """Return about how many products the supports of some classes take, with the affine enclosures of as many cells
        and their halves."""
        passes = 4.0 * directions * max(len(self.heads), 1) * self.moved[self.classes.free[places]]
        return float((passes + (TRIED + 1) * self.affine).sum())

    def _prove(self, places: Integers) -> None:
        """Prove some classes, or find what is wrong or open among them. What would take too much work stays open."""
        self.work += self._cost(places, 2 * len(self.reach))
        if self.work > self.limits.work:
            self.bound[places] = -np.inf
            self.open += places[self.classes.length[places] == self.classes.length[places[0]]].tolist()
            return
        cells = self.boxes(places)
        self.widest = {int(one): cells.radii[row] for row, one in enumerate(places.tolist())}
        boxes, cells = cells, self._opened_cells(cells, False)
        self._look(boxes.at(self._narrowest(places, cells)))
        lengths = self.classes.length[cells.of]
        for n in np.unique(lengths).tolist():
            if self.open or any(self.classes.length[one] <= n for one in self.wrong):
                return
            left, most = self._run(cells.at(lengths == n), self.limits.words), self.limits.more_words
            left = self._in_strips(self._with_ranges(left))
            some = np.array([self.search.count(self.classes, one) <= most for one in left.of.tolist()], dtype=np.bool_)
            self._run(self._divide(left.at(some), self.limits.cells // 32), most)
            self.open += np.unique(self._divide(left.at(~some), self.limits.cells).of).tolist()
            self.report(n, self.demands.longest)

    def _narrowest(self, places: Integers, cells: BoxCells) -> Integers:
        """Return the rows of the open classes among `places`, and of the class of each length with the least bound."""
        chosen = np.isin(places, cells.of)
        lengths = self.classes.length[places]
        for n in np.unique(lengths[~chosen]).tolist():
            rows = np.flatnonzero(~chosen & (lengths == n))
            chosen[rows[self.low[places[rows]].argmin()]] = True
        return np.flatnonzero(chosen)

    def _run(self, cells: BoxCells, most: int) -> BoxCells:
        """Run every prefix of the classes of one length that have at most so many, and return the cells of the others.
        Where an output is closer to a wrong answer than certified float64 can tell, the class is open."""
        few = {one for one in np.unique(cells.of).tolist() if self.search.count(self.classes, one) <= most}
        for one in few:
            classes = self.classes.at(np.array([one]))
            words = self.search.every(classes)
            low, high = self.search.judged(classes.at(np.zeros(len(words), dtype=np.int64)), words)
            self.low[one], self.sampled[one] = low.min(), high.min()
            if high.min() < 0:
                self._refuted(one, words[int(high.argmin())], float(high.min()))
            elif not low.min() > 0:
                self.open.append(one)
        return cells.at(np.array([one not in few for one in cells.of.tolist()], dtype=np.bool_))

    def _refuted(self, one: int, word: tuple[int, ...], margin: float) -> None:
        """Note a prefix on which the network is wrong, if it is the worst of its class so far."""
        before = self.wrong.get(one)
        if before is None or margin < before.margin:
            self.wrong[one] = WrongPrefix(tuple(self.network.symbols[symbol] for symbol in word), margin)

    def _divide(self, cells: BoxCells, most: int) -> BoxCells:
        """Prove cells of classes of one length by dividing them into at most so many, or find what is wrong among them.
        Return what stays open, or nothing where a prefix is wrong."""
        nothing = cells.at(slice(0, 0))
        if not len(cells.of) or self._known(cells):
            return nothing
        for number in range(1, self.limits.rounds + 1):
            if 2 * len(cells.of) > most or not cells.radii.shape[1] or self.work > self.limits.work:
                break
            cells = self._opened_cells(cells.halves(self.axes(cells)), True)
            if not len(cells.of):
                return nothing
            if number % 2 == 0:
                self._look(cells)
                if self._known(cells):
                    return nothing
        self._look(cells)
        return nothing if self._known(cells) else cells

    def axes(self, cells: BoxCells) -> Integers:
        """Return the coordinate along which each cell is divided: of the widest ones that whose half has the least
        remainder in the least row."""
        order = np.argsort(-cells.radii, axis=1)[:, :TRIED]
        found, kinds = np.zeros(len(cells.of), dtype=np.int64), self.classes.kind[cells.of]
        for kind in np.unique(kinds).tolist():
            rows = np.flatnonzero(kinds == kind)
            for start in range(0, len(rows), self.batch):
                some = rows[start : start + self.batch]
                found[some] = order[some, self._remainders(kind, cells.at(some), order[some]).argmin(axis=1)]
        return found

    def _remainders(self, kind: int, cells: BoxCells, axes: Integers) -> Floats:
        """Return by cell and coordinate the remainder of the least row, if the cell were halved there."""
        at = np.arange(len(cells.of))
        form = self._rows(kind, cells, cells.radii).form
        _, row = worst(form.c - form.e, self.rest.wants[kind].choices)
        found = np.empty(axes.shape)
        for column, axis in enumerate(axes.T):
            radii = cells.radii.copy()
            radii[at, axis] /= 2
            found[:, column] = self._rows(kind, cells, radii).form.e[at, row]
        return np.where(np.isfinite(found), found, np.inf)

    def _known(self, cells: BoxCells) -> bool:
        """Return True if a prefix is known to be wrong that is no longer than those of these cells."""
        end = self.classes.length[cells.of].min()
        return any(self.classes.length[one] <= end for one in self.wrong)

    def boxes(self, places: Integers) -> BoxCells:
        """Return the boxes of some classes, each as one cell."""
        classes = self.classes.at(places)
        low, high = [np.zeros((len(places), 0))], [np.zeros((len(places), 0))]
        for head, basis in zip(self.heads, self.bases, strict=True):
            width = len(basis.axes)
            found = head.bounds(classes, np.concatenate([basis.axes, -basis.axes])[None])
            high.append(found[:, :width])
            low.append(-found[:, width:])
        lows, highs = np.concatenate(low, axis=1), np.concatenate(high, axis=1)
        middles = (lows + highs) / 2
        radii = np.maximum(np.maximum(highs - middles, middles - lows), 2.0**-34 * self.reach)
        return BoxCells(places, middles, radii * (1 + ROUND) + ROUND * np.abs(middles))

    def _with_ranges(self, cells: BoxCells) -> BoxCells:
        """Return the cells that are not proved with the ranges of the functions of the first MLP; each is the box of
        its class. These ranges take the place of those that were known before."""
        first, of = self.rest.first_mlp, cells.of
        self.ranges, self.ranged[:] = None, -1
        if first is None or not len(of):
            return cells
        cost = self._cost(of, 2 * (first.functions.shape[1] + 1) * (3 if len(self.heads) > 1 else 1))
        if self.work + cost > self.limits.work:
            return cells
        self.work += cost
        size = max(1, NUMBERS // (2 * first.functions.size))
        some = [self._ranges(cells.at(slice(start, start + size)), first) for start in range(0, len(of), size)]
        self.ranges, self.ranged[of] = FunctionRanges.joined(some), np.arange(len(of))
        return self._opened_cells(cells, False)

    def _ranges(self, cells: BoxCells, first: FirstMlp) -> FunctionRanges:
        """Return the ranges of functions over the classes of some cells, each the box of its class."""
        low, high = self._reached(cells.of, first.functions.T[None])
        x = self.rest.entered(self.classes.at(cells.of), cells.middles, cells.radii)
        tilt, tilted = first.tilted(x, cells.middles, cells.radii, low, high)
        ends = self._reached(cells.of, tilted[:, None])
        low, high = np.concatenate([low, ends[0]], axis=1), np.concatenate([high, ends[1]], axis=1)
        return FunctionRanges(low, high, tilt, tilted)

    def _in_strips(self, cells: BoxCells) -> BoxCells:
        """Return the cells that are not proved by dividing their classes into strips; each is the box of its class."""
        if self.ranges is None or not len(cells.of) or not self.limits.strips or self._known(cells):
            return cells
        parts = [cells.at(slice(row, row + 1)) for row in range(len(cells.of))]
        return cells.at(np.array([not (self._stripped(one) or self._split(one, ())) for one in parts]))

    def _split(self, cell: BoxCells, fixed: tuple[int, ...]) -> bool:
        """Return True if a class, with its box, is proved by dividing its prefixes by the symbol at the position where
        it changes the heads' outputs most, besides those that are `fixed`. The parts are divided again."""
        one = int(cell.of[0])
        free, state = int(self.classes.free[one]), int(self.classes.state[one])
        if len(fixed) == self.limits.splits or free <= len(fixed):
            return False
        effects = self._effects(cell)
        effects[list(fixed)] = -1
        position = int(effects.argmax())
        for symbol in range(len(self.columns.symbols)):
            part = self.with_symbol(position, symbol)
            if not part.paths.lead_to(free, state):
                continue
            boxes = part.boxes(cell.of)
            part.widest = {one: boxes.radii[0]}
            left = part._with_ranges(part._opened_cells(boxes, False))
            proved = not len(left.of) or part._stripped(left) or part._split(left, (*fixed, position))
            self.work, self.cells = part.work, part.cells
            if not proved:
                return False
            self.low[one] = min(self.low[one], part.low[one])
        return True

    def with_symbol(self, position: int, symbol: int) -> ClassProver:
        """Return a prover for the prefixes that have this symbol at a free position."""
        part = copy(self)
        part.paths = self.paths.with_symbol(position, symbol)
        part.heads = [HeadSupports(self.columns, head.head, part.paths) for head in self.heads]
        part.joint = JointSupports(part.heads, part.paths, len(self.classes))
        part.search = self.search.along(part.paths, part.heads)
        part.ranges, part.ranged = None, np.full(len(self.classes), -1)
        part.low = np.full(len(self.classes), np.inf)
        return part

    def _effects(self, cell: BoxCells) -> Floats:
        """Return by free position how much its symbol changes what the heads add, about."""
        classes, total = self.classes.at(cell.of), np.zeros(())
        for head, basis, out, middle in zip(
            self.heads, self.bases, self.rest.out, self._by_head(cell.middles[0]), strict=True
        ):
            weights = head.weights(classes)
            high = weights.high[0]
            values = head.values[:, : len(high)].swapaxes(0, 1) - middle @ basis.axes
            summed = high.mean(axis=1).sum() + weights.fixed_high.sum()
            total = total + (high[:, :, None] * values / summed) @ out.weight
        return np.asarray(np.square(total - total.mean(axis=1, keepdims=True)).sum(axis=(1, 2)))

    def _stripped(self, cell: BoxCells) -> bool:
        """Return True if a class, with its box, is proved by dividing it into strips."""
        first = self.rest.first_mlp
        assert first is not None
        one, count = cell.of, first.functions.shape[1]
        cost = self._cost(one, 2 * count * (2 * AXES + 2) * STEPS)
        if self.work + cost > self.limits.work:
            return False
        self.work += cost

        points = self.search.extremes(self.classes.at(one), cell.middles, first.functions)
        weighed = first.functions[:, self.network.dimension :]
        try:
            strips = ClassStrips(points, first.functions, weighed, self.reach, self.reaches(int(one[0])))
        except (ValueError, np.linalg.LinAlgError):
            return False
        low, high, least = strips.low[None], strips.high[None], np.inf
        while len(low):
            if len(low) > self.limits.strips or self.work > self.limits.work:
                return False
            bound = self._over_strips(cell, strips, low, high)
            shut = bound > 0
            least = min(least, float(bound[shut].min(initial=np.inf)))
            low, high = strips.halves(low[~shut], high[~shut])
        self.low[one] = np.minimum(self.low[one], least)
        return True

    def reaches(self, one: int) -> Reached:
        """Return the bounds of linear functions of the heads' outputs over one class."""
        place = np.array([one])

        def found(functions: Floats) -> tuple[Floats, Floats]:
            low, high = self._reached(place, functions[None])
            return low[0], high[0]

        return found

    def _over_strips(self, cell: BoxCells, strips: ClassStrips, low: Floats, high: Floats) -> Floats:
        """Return lower bounds of the margins over strips of a class; infinity for those without a prefix."""
        first, count = self.rest.first_mlp, len(low)
        assert first is not None
        cells = cell.at(np.zeros(count, dtype=np.int64))
        self.cells += count
        self.work += count * self._cost(cell.of, 2 * len(SLOPES) * STEPS * 2)
        below, above = strips.ranges(low, high)
        x = self.rest.entered(self.classes.at(cells.of), cells.middles, cells.radii)
        tilt, tilted = first.tilted(x, cells.middles, cells.radii, below, above)
        ends = strips.of_each(tilted, low, high)
        empty = (below > above).any(axis=1) | (ends[0] > ends[1])
        below, above = (
            np.concatenate([one, end[:, None]], axis=1) for one, end in zip((below, above), ends, strict=True)
        )
        kind = int(self.classes.kind[cell.of[0]])
        ranges = FunctionRanges(below, above, tilt, tilted)
        rows = self.rest.rows(kind, self.classes.at(cells.of), cells.middles, cells.radii, ranges)
        form, choices = rows.form, self.rest.wants[kind].choices
        lows = (form.c - np.abs(form.slopes).sum(axis=1) * GROW - form.e) - ROUND * form.size
        open_rows = np.nonzero(~(lows > 0) & ~empty[:, None] & np.isfinite(form.c) & np.isfinite(form.e))
        if len(open_rows[0]):
            at, column = open_rows
            rates = form.slopes[at, :, column] / cells.radii[at]
            least, _ = strips.of_each(rates, low[at], high[at])
            size = (np.abs(rates) * (np.abs(cells.middles[at]) + cells.radii[at] + self.reach)).sum(axis=1)
            value = form.c[at, column] - form.e[at, column] + least - (rates * cells.middles[at]).sum(axis=1)
            value = value - 4 * ROUND * (size + form.size[at, column])
            lows[open_rows] = np.fmax(lows[open_rows], value)
        found, _ = worst(np.where(np.isnan(lows), -np.inf, lows), choices)
        return np.where(empty, np.inf, found / np.where(found > 0, rows.sigma, 1.0) * (1 - ROUND))

    def _reached(self, places: Integers, functions: Floats) -> tuple[Floats, Floats]:
        """Return lower and upper bounds, (classes, functions), over the prefixes of classes, of functions of the
        coordinates of the heads' outputs, (classes or 1, functions, coordinates)."""
        classes = self.classes.at(places)
        return function_bounds(self.joint, self.bases, self.reach, places, classes, functions)

    def _rows(self, kind: int, cells: BoxCells, radii: Floats) -> RowForms:
        """Return the enclosures of the rows of cells of classes of one kind, if they had these radii."""
        rows = self.ranged[cells.of]
        known = None if self.ranges is None or (rows < 0).any() else self.ranges.at(rows)
        return self.rest.rows(kind, self.classes.at(cells.of), cells.middles, radii, known)

    def _opened_cells(self, cells: BoxCells, divided: bool) -> BoxCells:
        """Return the cells that are not proved; the bounds of the others go to their classes."""
        left: list[Integers] = []
        bound = np.full(len(self.classes), np.inf)
        self.cells += len(cells.of)
        self.work += self._cost(cells.of, len(SHARES)) if divided else 0.0
        kinds = self.classes.kind[cells.of]
        for kind in np.unique(kinds).tolist():
            rows = np.flatnonzero(kinds == kind)
            rows = rows[np.argsort(-self.classes.free[cells.of[rows]], kind="stable")]
            for start in range(0, len(rows), self.batch):
                some = rows[start : start + self.batch]
                low = self._bounded(kind, cells.at(some), divided)
                shut = low > 0
                np.minimum.at(self.low, cells.of[some[shut]], low[shut])
                left.append(some[~shut])
                again = cells.of[some[~shut]]
                np.minimum.at(bound, again, np.where(np.isnan(low[~shut]), -np.inf, low[~shut]))
        self.bound = bound
        return cells.at(np.concatenate(left))

    def _bounded(self, kind: int, cells: BoxCells, divided: bool) -> Floats:
        """Return lower bounds of the margins over cells of classes of one kind."""
        rows = self._rows(kind, cells, cells.radii)
        form, choices = rows.form, self.rest.wants[kind].choices
        low = (form.c - np.abs(form.slopes).sum(axis=1) * GROW - form.e) - ROUND * form.size
        found, _ = worst(low, choices)
        open_cells = np.flatnonzero(~(found > 0) & np.isfinite(found))
        middle = form.c - form.e
        for chosen, part in self._best_choice(middle, open_cells, choices):
            where, columns = np.nonzero(~(low[chosen, part] > 0))
            order = np.argsort(where, kind="stable")
            where, columns = where[order], columns[order] + part.start
            if len(where):
                at = chosen[where]
                value = middle[at, columns] - ROUND * form.size[at, columns]
                value = value - self._supported(cells.at(at), form.slopes[at, :, columns], value, divided)
                low[at, columns] = np.fmax(low[at, columns], value)
            found[chosen] = np.maximum(found[chosen], low[chosen, part].min(axis=1))
        return found / np.where(found > 0, rows.sigma, 1.0) * (1 - ROUND)

    def _best_choice(self, middle: Floats, chosen: Integers, choices: list[slice]) -> list[tuple[Integers, slice]]:
        """Return the cells by the choice that is most likely right there."""
        least = np.stack([middle[chosen][:, part].min(axis=1) for part in choices], axis=1)
        best = least.argmax(axis=1)
        return [(chosen[best == number], part) for number, part in enumerate(choices) if (best == number).any()]

    def _supported(self, cells: BoxCells, slopes: Floats, aim: Floats, divided: bool) -> Floats:
        """Return upper bounds of -l.z over the prefixes in each cell, for slopes l (cells, coordinates), by the lemma
        of the module; cells may repeat. Only bounds below `aim` are of use."""
        classes, radii, middles = self.classes.at(cells.of), cells.radii, cells.middles
        rates = -slopes / radii
        shares = SHARES if divided else SHARES[:1]
        widest = np.stack([self.widest[one] for one in cells.of.tolist()])
        split = radii < widest * (1 - 1e-3)
        mu = shares[None, :, None] * (rates * split)[:, None, :]
        parts = rates[:, None, :] - mu
        total = (mu * middles[:, None]).sum(axis=2) + (np.abs(mu) * radii[:, None]).sum(axis=2)
        size = np.abs(middles) + radii + 4 * self.reach
        slack = ROUND * ((np.abs(rates)[:, None] + np.abs(mu) + np.abs(parts)) * size[:, None]).sum(axis=2) * 4
        base = total + slack - ((rates * middles).sum(axis=1) - ROUND * (np.abs(rates) * size).sum(axis=1))[:, None]
        if not self.heads:
            return np.asarray(base.min(axis=1))
        highs, directions = [], []
        for part, head, basis in zip(self._by_head(parts), self.heads, self.bases, strict=True):
            directions.append(part @ basis.axes)
            highs.append(head.bounds(classes, directions[-1]))
        if len(highs) < 2:
            return np.asarray((base + sum(highs)).min(axis=1))
        return self._coupled(cells, base, parts, np.stack(highs, axis=2), np.concatenate(directions, axis=2), aim)

    def _by_head(self, array: Floats) -> list[Floats]:
        """Return the parts of an array whose last axis has the coordinates of all heads."""
        return np.split(array, np.cumsum([len(basis.axes) for basis in self.bases])[:-1], axis=-1)

    def _coupled(
        self, cells: BoxCells, base: Floats, parts: Floats, highs: Floats, directions: Floats, aim: Floats
    ) -> Floats:
        """Return the least bounds by cell of `base` and the sum of the heads' supports `highs` (cells, directions,
        heads). Where that is above `aim`, the heads are coupled along the best direction."""
        alone = base + highs.sum(axis=2) + gamma(highs.shape[2] + 4) * np.abs(highs).sum(axis=2)
        found = np.asarray(alone.min(axis=1))
        rows = np.flatnonzero(~(found <= aim))
        if not len(rows):
            return found
        best = alone[rows].argsort(axis=1)[:, :COUPLED]
        at = rows[:, None]
        here, some = cells.at(rows), parts[at, best]
        middles, radii = here.middles[:, None], here.radii[:, None]
        centres = [one.sum(axis=2) for one in self._by_head(some * middles)]
        spreads = [
            one.sum(axis=2) for one in self._by_head(np.abs(some) * (radii + ROUND * (np.abs(middles) + self.reach)))
        ]
        centre, spread = np.stack(centres, axis=2), np.stack(spreads, axis=2) * GROW
        lows, tops = centre - spread, np.minimum(highs[at, best], centre + spread)
        joint = self.joint.bounds(here.of, self.classes.at(here.of), directions[at, best], lows, tops)
        found[rows] = np.fmin(found[rows], (base[at, best] + joint).min(axis=1))
        return found

    def _look(self, cells: BoxCells) -> None:
        """Search the classes of open cells for wrong prefixes."""
        _, first = np.unique(cells.of, return_index=True)
        first = first[np.argsort(-self.classes.free[cells.of[first]], kind="stable")]
        for start in range(0, len(first), self.searched):
            self._searched(cells.at(first[start : start + self.searched]))

    def _searched(self, some: BoxCells) -> None:
        """Search the classes of some cells, one a class, in the order of falling numbers of free positions."""
        radii = np.stack([self.widest[one] for one in some.of.tolist()])
        found = self.search(self.classes.at(some.of), some.middles, radii)
        for row, one in enumerate(some.of.tolist()):
            self.sampled[one] = min(self.sampled[one], float(found.high[row]))
            if found.high[row] < 0:
                self._refuted(one, found.words[row], float(found.high[row]))
