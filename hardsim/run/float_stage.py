"""One batch of words on its way through the layers in certified float64, and what is found there.

Every coordinate is a `Block` (see `enclosure` for the error analysis). A stage runs the positions from some place on;
what comes before is read from the stage of the words' prefixes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from hardsim.errors import InvariantError
from hardsim.run.enclosure import (
    Block,
    Booleans,
    Floats,
    U,
    between,
    bits,
    clipped,
    combine,
    fixed,
    mean,
    outward,
    rounded,
)
from hardsim.run.float_attention import HeadPass
from hardsim.run.plan import Plan, Terms, Unit
from hardsim.run.prefixes import Fork, JoinedColumns, JoinedOuts, Kept, Step
from hardsim.spec.ir import Mask, Rational, plain

Bounds = tuple[Floats, Floats]
"""Lower and upper bounds, one for each word."""
HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
Place = tuple[int | str, ...]
"""Names a linear form of the network."""


@dataclass(slots=True)
class BatchTrace:
    """What a network did on some words of one length n.

    `columns` is the residual stream after the last layer by coordinate, `attended` what each head wrote, by name and
    coordinate (shape (words or 1, n)). By word: `decided`, and where it holds `accepted` (the output is exactly 1)
    and `rejected` (exactly 0); if neither, the output certainly is neither. `output` bounds it, `margin` the least
    margin of a rounded value, `unrounded` the unrounded output, as defined for the generic pass (None where there is
    none).
    """

    words: int
    n: int
    columns: Sequence[Block]
    decided: Booleans
    attended: Mapping[str, Mapping[int, Block]] = field(default_factory=dict)
    accepted: Booleans = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    rejected: Booleans = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    output: Bounds = field(default_factory=lambda: (np.zeros(0), np.zeros(0)))
    margin: Bounds | None = None
    unrounded: Bounds | None = None
    shared: int = 0
    """How many positions of every word were read from the run of its prefix."""

    def combine(self, form: Terms) -> Block:
        """A linear form of the final columns."""
        return combine([(value, self.columns[index]) for index, value in form], fixed([0] * self.n))


@dataclass
class Prepared:
    """What a network needs at one length n, the same for every word.

    `base` are the encodings (and the part of the embedding that all symbols share) by coordinate, `heads` the passes
    of heads with scores by layer and place, `known` what was found to be the same for every word.
    """

    plan: Plan
    n: int
    base: list[Block]
    heads: dict[tuple[int, int], HeadPass]
    known: dict[Place, Block] = field(default_factory=dict)
    warm: bool = False
    """Whether a run of all positions has filled `known` and the heads' tables."""

    def is_whole(self, start: int, width: int) -> bool:
        """Whether so many positions from `start` on are all positions."""
        return start == 0 and width == self.n


@dataclass
class Earlier:
    """A stage that words continue, and where they fork."""

    stage: Stage
    fork: Fork


@dataclass
class Stage:
    """One batch on its way through the layers, from position `start` (from 0) on."""

    at: Prepared
    trace: BatchTrace
    soft: bool
    start: int
    earlier: Earlier | None
    continued: bool
    columns: list[Block]
    """The residual stream at the positions of this stage."""
    attended: dict[str, dict[int, Block]] = field(default_factory=dict)
    """What each head wrote there."""
    kept: dict[tuple[int, int], Kept] = field(default_factory=dict)
    """By layer and head, what words that continue these read."""
    unrounded: dict[int, Bounds] = field(default_factory=dict)

    # ---- forms ----

    @property
    def width(self) -> int:
        """How many positions this stage runs."""
        return int(self.columns[0].mid.shape[1])

    def form(self, place: Place, form: Terms, bias: Rational = 0) -> Block:
        """A linear form plus a bias; `place` names the form, whose static part is kept."""
        columns = self.columns
        return self.add(place, bias, [(value, columns[index]) for index, value in form])

    def add(self, place: Place, bias: Rational, terms: Sequence[tuple[Rational, Block]]) -> Block:
        """A sum of blocks plus a bias."""

        def static() -> Block:
            total: list[Rational] = [bias] * self.width
            for value, block in terms:
                if block.static is not None:
                    total = [old + value * entry for old, entry in zip(total, block.static, strict=True)]
            return fixed([plain(value) for value in total])

        base = self._same_for_all(place, static)
        rest = [(value, block) for value, block in terms if block.static is None]
        if not rest:
            return base
        if len(rest) == 1 and rest[0][0] == 1 and is_zero(base):
            return rest[0][1]
        return combine(rest, base)

    def _same_for_all(self, place: Place, make: Callable[[], Block]) -> Block:
        """What is the same for every word of a length, at the positions of this stage."""
        known = self.at.known
        found = known.get(place)
        if found is None:
            if not self.at.is_whole(self.start, self.width):
                raise InvariantError(f"{place} was not found in a run of all positions")
            found = known[place] = make()
        if self.at.is_whole(self.start, self.width):
            return found
        here = ("from", self.start, self.start + self.width, *place)
        part = known.get(here)
        if part is None:
            part = known[here] = part_of(found, self.start, self.start + self.width)
        return part

    # ---- layers ----

    def _step(self, number: int, place: int) -> Step:
        if self.earlier is None:
            return Step(self.start)
        return Step(self.start, self.earlier.stage.kept[number, place], self.earlier.fork.rows)

    def attend(self, number: int) -> None:
        """All heads of a layer, added to the residual stream."""
        outputs: list[tuple[int, Block]] = []
        for place, head in enumerate(self.at.plan.layers[number].heads):
            outs = [out for out, _ in head.values]
            forms = [self.form((number, place, "value", out), form) for out, form in head.values]
            step = self._step(number, place)
            if head.scores:
                found = self.at.heads[number, place].attend(self.columns, forms, outs, step)
            else:
                found = [
                    self._mean((number, place, "mean", out), form, old, head.mask)
                    for out, form, old in zip(outs, forms, step.earlier(forms), strict=True)
                ]
            if self.continued:
                self.kept[number, place] = step.with_earlier(head, self.columns, forms)
            pairs = list(zip(outs, found, strict=True))
            self.attended[head.name] = dict(pairs)
            outputs.extend(pairs)
        for count, (out, block) in enumerate(outputs):
            self.columns[out] = self.add((number, count, "attended", out), 0, [(1, self.columns[out]), (1, block)])

    def _mean(self, place: Place, form: Block, old: Block | None, mask: Mask) -> Block:
        if form.static is not None:
            return self._same_for_all(place, lambda: mean(form, mask))
        rows = None if self.earlier is None else self.earlier.fork.rows
        return mean(form, mask, old, rows, self.at.n)

    def feed_forward(self, number: int) -> None:
        """All hidden units of a layer, added to the residual stream."""
        layer = self.at.plan.layers[number]
        written: dict[int, list[tuple[Rational, Block]]] = {}
        extended: dict[int, list[tuple[Rational, Bounds]]] = {}
        for index, unit in enumerate(layer.units):
            z = self.form((number, index, "unit", 0), unit.form, unit.bias)
            if unit.decides and unit.clip:
                self._note_margin(z)
            level = self._extend(unit, z)
            value = self._activate((number, index, "activated", 0), unit, z)
            for out, weight in unit.outs:
                written.setdefault(out, []).append((weight, value))
                if level is not None:
                    extended.setdefault(out, []).append((weight, level))
        biases = dict(layer.biases)
        for out in sorted(written.keys() | biases.keys()):
            terms = [(1, self.columns[out]), *written.get(out, [])]
            self.columns[out] = self._boolean(self.add((number, out, "written", 0), biases.get(out, 0), terms))
        for out, parts in extended.items():
            weight = parts[0][0]
            if all(other == weight for other, _ in parts):
                self.unrounded[out] = _affine(ranked([level for _, level in parts], 1), weight, biases.get(out, 0))

    def _boolean(self, block: Block) -> Block:
        """The same block, known as Boolean if it is (where words are undecided, their values do not matter)."""
        if block.rad is not None or block.static is not None or block.boolean or block.places:
            return block
        values = block.mid
        if not self.soft and values.shape[0] > 1:
            values = np.where(self.trace.decided[:, None], values, 0.0)
        return bits(values) if np.all((values == 0) | (values == 1)) else block

    # ---- hidden units ----

    def _activate(self, place: Place, unit: Unit, z: Block) -> Block:
        if z.static is not None:
            exact = z.static
            return self._same_for_all(
                place, lambda: fixed([min(max(value, 0), 1) if unit.clip else max(value, 0) for value in exact])
            )
        if not unit.clip:
            low, high = np.maximum(z.lower, 0.0), np.maximum(z.upper, 0.0)
            return between(low, high, z.places, z.size)
        return self._clip(z, unit.decides)

    def _clip(self, z: Block, decides: bool) -> Block:
        """0 or 1 where that is certain; the rest as `soft` says."""
        low, high = clipped(z.mid, z.radius)
        settled = low | high
        if not self.soft or np.all(settled):
            self.trace.decided &= np.all(settled, axis=1)
            return bits(high.astype(np.float64))
        bottom = np.where(low, 0.0, np.where(high, 1.0, np.clip(z.lower, 0.0, 1.0)))
        top = np.where(low, 0.0, np.where(high, 1.0, np.clip(z.upper, 0.0, 1.0)))
        if decides:
            self.trace.decided &= np.all(settled | ((bottom > 0) & (top < 1)), axis=1)
        return between(bottom, top, z.places if z.rad is None or z.partly else 0, 1)

    def _note_margin(self, z: Block) -> None:
        """The least max(-z, z - 1)/2 of each word."""
        middle = np.maximum(-z.mid, z.mid - 1) / 2
        radius = outward(z.radius / 2 + 2 * U * (np.abs(z.mid) + 1))
        bounds = np.min(middle - radius, axis=1), np.min(middle + radius, axis=1)
        margin = self.trace.margin
        self.trace.margin = bounds if margin is None else ranked([bounds, margin], 2)

    # ---- the output ----

    def _extend(self, unit: Unit, z: Block) -> Bounds | None:
        """The unrounded value of a hidden unit at the last position: x for a clip `2x - 1/2` of attention, an order
        statistic of what a gate of Booleans reads; None where no attention decides."""
        if not unit.clip:
            return None
        last = Block(z.mid[:, -1:], None if z.rad is None else z.rad[:, -1:])
        if unit.decides:
            return _affine((last.lower[:, 0], last.upper[:, 0]), HALF, QUARTER)
        if not any(index in self.unrounded for index, _ in unit.form) or any(abs(w) != 1 for _, w in unit.form):
            return None
        levels: list[Bounds] = []
        for index, weight in unit.form:
            block = self.columns[index]
            level = self.unrounded.get(index) or (block.lower[:, -1], block.upper[:, -1])
            levels.append(level if weight == 1 else _affine(level, -1, 1))
        rank = int(1 - unit.bias + sum(weight == -1 for _, weight in unit.form))
        return ranked(levels, rank) if 1 <= rank <= len(levels) else None

    def conclude(self) -> BatchTrace:
        """The output, the answers, and bounds with one entry for each word; the trace of all positions."""
        trace = self.trace
        block = self.columns[self.at.plan.model.output]
        low, high, exact = block.lower[:, -1], block.upper[:, -1], block.radius[:, -1] == 0
        low, high = np.where(exact, block.mid[:, -1], low), np.where(exact, block.mid[:, -1], high)
        sure = exact | (high < 0) | ((low > 0) & (high < 1)) | (low > 1)
        sure &= np.isfinite(low) & np.isfinite(high)
        trace.decided &= sure
        trace.accepted = trace.decided & exact & (low == 1)
        trace.rejected = trace.decided & exact & (low == 0)
        trace.output = self._spread((low, high))
        trace.margin = None if trace.margin is None else self._spread(trace.margin)
        found = self.unrounded.get(self.at.plan.model.output)
        trace.unrounded = None if found is None else self._spread(found)
        return self.finished()

    def finished(self) -> BatchTrace:
        """The trace with the columns of all positions."""
        trace = self.trace
        trace.columns, trace.attended = self.columns, self.attended
        if self.earlier is not None:
            old, rows = self.earlier.stage.finished(), self.earlier.fork.rows
            trace.columns = JoinedColumns(old.columns, self.columns, rows)
            trace.attended = {name: JoinedOuts(old.attended[name], outs, rows) for name, outs in self.attended.items()}
        return trace

    def _spread(self, bounds: Bounds) -> Bounds:
        low, high = (np.broadcast_to(bound, (self.trace.words,)) for bound in bounds)
        return low, high


def ranked(bounds: Sequence[Bounds], rank: int) -> Bounds:
    """Bounds of the `rank`-th largest (1: the largest) of numbers with these bounds, word by word."""
    if len(bounds) == 1:
        return bounds[0]
    if rank in (1, len(bounds)):
        extreme = np.maximum if rank == 1 else np.minimum
        low, high = bounds[0]
        for one in bounds[1:]:
            low, high = extreme(low, one[0]), extreme(high, one[1])
        return low, high
    low, high = (np.stack(np.broadcast_arrays(*side)) for side in zip(*bounds, strict=True))
    unknown = np.isnan(low).any(axis=0) | np.isnan(high).any(axis=0)  # which sorting would take for the largest
    low, high = (np.where(unknown, np.nan, np.sort(side, axis=0)[-rank]) for side in (low, high))
    return low, high


def _affine(bounds: Bounds, factor: Rational, shift: Rational) -> Bounds:
    """Bounds of factor x + shift, rounded outwards unless nothing changes."""
    if factor == 1 and shift == 0:
        return bounds
    (times, times_off), (plus, plus_off) = rounded(factor), rounded(shift)
    low, high = (np.asarray(bound * times + plus) for bound in bounds)
    low, high = (low, high) if factor > 0 else (high, low)
    size = np.maximum(np.abs(bounds[0]), np.abs(bounds[1]))
    slack = outward(4 * U * (size * abs(times) + abs(plus)) + times_off * size + plus_off)
    return low - slack, high + slack


def is_zero(block: Block) -> bool:
    """Whether a column is known to be 0 for every word."""
    return block.static is not None and not any(block.static)


def part_of(block: Block, start: int, stop: int) -> Block:
    """Some positions of a column that is the same for every word."""
    if start == 0 and stop == block.mid.shape[1]:
        return block
    rad = None if block.rad is None else block.rad[:, start:stop]
    static = None if block.static is None else block.static[start:stop]
    return Block(block.mid[:, start:stop], rad, block.places, block.size, static)
