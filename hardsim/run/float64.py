"""The forward pass in float64, for all words of a batch at once, with rigorous enclosures.

It reads the same matrices as the generic pass and shares no code with it: every coordinate is a `Block` (see
`enclosure` for the error analysis), every head a `HeadPass`. What is the same for every word of a length is computed
once, in rationals where no softmax is involved.

A clip whose input is certainly at most 0 or at least 1 gives exactly 0 or 1. A first pass over a batch takes it that
all clips do; words in which one does not are run again by themselves, with enclosures between 0 and 1 in its place,
and are undecided if even then it is not certain whether a clip of an attended value saturates, or what the output is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from hardsim.errors import InvariantError
from hardsim.net.model import Transformer
from hardsim.run.enclosure import Block, Booleans, Floats, Integers, U, between, bits, combine, fixed, mean, outward
from hardsim.run.float_attention import HeadPass
from hardsim.run.float_rows import take
from hardsim.run.float_tables import Tables
from hardsim.run.plan import Plan, Terms, Unit, make_plan
from hardsim.run.prefixes import Fork, Kept, Step, causal, fork, join
from hardsim.spec.ir import Mask, Rational, plain

BATCH = 2**16
"""Symbols of a batch at most: half a megabyte for each array that depends on the word."""
WORK = 2**27
"""Bytes that the columns of a batch may take, about."""

Bounds = tuple[Floats, Floats]
"""Lower and upper bounds, one for each word."""


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
    columns: list[Block]
    decided: Booleans
    attended: dict[str, dict[int, Block]] = field(default_factory=dict)
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


class FloatForward:
    """A network ready to run batches in certified float64. What a length needs is kept until another one comes."""

    def __init__(self, model: Transformer, plan: Plan | None = None) -> None:
        if model.bos or model.threshold is not None or not model.soft:
            raise InvariantError("the certified float64 pass of formulas was given another kind of model")
        self.model = model
        self.plan = plan or make_plan(model)
        self.length = 0
        self._heads: dict[tuple[int, int], HeadPass] = {}
        self.known: dict[Place, Block] = {}
        """What is the same for every word of the present length."""
        self._base: list[Block] = []
        self._rows = model.embedding.rows()
        coordinates = {column for _, column, _ in model.embedding.entries}
        self._letters = [index for index in coordinates if len({row.get(index, 0) for row in self._rows}) > 1]
        self._causal = causal(model)
        written = sum(len(head.values) for layer in self.plan.layers for head in layer.heads)
        self._bytes = 8 * (2 * model.dimension + 2 * written)

    def batch_size(self, n: int) -> int:
        """How many words of length n to run at once: a number of symbols, less if their columns would take more than
        WORK bytes."""
        return max(1, min(BATCH, WORK // self._bytes) // n)

    def passes(self, words: Sequence[Sequence[str]]) -> Iterator[tuple[BatchTrace, Integers]]:
        """Run words of one length: traces, each with the rows that count and the places of their words in `words`.

        Yields:
            pairs of a trace and an integer array (rows, 2): row in the trace, place in `words`. Every place comes once.
        """
        index, size = self.model.symbol_index, self.batch_size(len(words[0]))
        for start in range(0, len(words), size):
            part = words[start : start + size]
            flat = np.fromiter(map(index.__getitem__, chain.from_iterable(part)), np.int64, len(part) * len(part[0]))
            symbols = flat.reshape(len(part), -1)
            trace = self.run(symbols)
            done = np.flatnonzero(trace.decided)
            if len(done):
                yield trace, np.stack([done, done + start], axis=1)
            rest = np.flatnonzero(~trace.decided)
            if len(rest):
                yield self.run(symbols[rest], soft=True), np.stack([np.arange(len(rest)), rest + start], axis=1)

    def run(self, symbols: Integers, soft: bool = False) -> BatchTrace:
        """Run words given as rows of symbol numbers, (words, n).

        With `soft` clips that do not saturate are enclosed; without, words with such clips are undecided, and what
        the trace says of them means nothing.
        """
        with np.errstate(all="ignore"):
            self._prepare(symbols.shape[1])
            where = fork(symbols) if self._causal and not soft else None
            if where is None:
                return self._stage(symbols, None, soft).conclude()
            # What no word changes is found in a run of all positions.
            self._stage(symbols[:1], None, soft)
            return self._stage(symbols, self._earlier(where), soft).conclude()

    def _earlier(self, where: Fork) -> _Earlier:
        """The run of the distinct prefixes of a batch, by the same rule."""
        deeper = fork(where.prefixes)
        return _Earlier(
            self._stage(where.prefixes, None if deeper is None else self._earlier(deeper), False, True), where
        )

    def _stage(self, symbols: Integers, earlier: _Earlier | None, soft: bool, continued: bool = False) -> _Stage:
        """Run words, from the fork on where there is one."""
        start = 0 if earlier is None else earlier.fork.length
        own = symbols[:, start:]
        trace = BatchTrace(len(symbols), own.shape[1], self._embed(own, start), np.ones(len(symbols), dtype=np.bool_))
        if earlier is not None:
            rows = earlier.fork.rows
            trace.shared, trace.decided = start, earlier.stage.trace.decided[rows]
            margin = earlier.stage.trace.margin
            if margin is not None:
                trace.margin = take(margin[0], rows), take(margin[1], rows)
        stage = _Stage(self, trace, soft, start, earlier, continued)
        for number in range(len(self.plan.layers)):
            stage.attend(number)
            stage.feed_forward(number)
        return stage

    def is_whole(self, start: int, width: int) -> bool:
        """Whether so many positions from `start` on are all positions."""
        return start == 0 and width == self.length

    def _prepare(self, n: int) -> None:
        """Position encodings and temperatures of a length."""
        if n == self.length:
            return
        self._heads.clear()
        self.known.clear()
        model = self.model
        values: list[list[Rational]] = [[0] * n for _ in range(model.dimension)]
        for index, encoding in model.encodings:
            values[index] = [old + plain(encoding.evaluate(i=i, n=n)) for i, old in enumerate(values[index], start=1)]
        for index in range(model.dimension):
            if index not in self._letters:
                shared = self._rows[0].get(index, 0)
                values[index] = [old + shared for old in values[index]]
        self._base = [fixed(column) for column in values]
        inverse = [model.inverse_temperature(i, n) for i in range(1, n + 1)]
        tables = Tables()
        for number, layer in enumerate(self.plan.layers):
            for place, head in enumerate(layer.heads):
                if head.scores:
                    self._heads[number, place] = HeadPass(head, inverse, n, tables)
        self.length = n

    def _embed(self, symbols: Integers, start: int) -> list[Block]:
        columns = [_from(block, start, start + symbols.shape[1]) for block in self._base]
        for index in self._letters:
            values = [row.get(index, 0) for row in self._rows]
            letter = fixed(values)
            if letter.rad is None and set(values) <= {0, 1} and _is_zero(columns[index]):
                columns[index] = bits(letter.mid[0][symbols])
                continue
            rad = None if letter.rad is None else letter.rad[0][symbols]
            block = Block(letter.mid[0][symbols], rad, letter.places, letter.size)
            columns[index] = combine([(1, block)], columns[index])
            columns[index].codes, columns[index].kinds = symbols, len(values)
        return columns

    def head(self, number: int, place: int) -> HeadPass:
        """The pass of one head at the present length."""
        return self._heads[number, place]


@dataclass
class _Earlier:
    """A stage that words continue, and where they fork."""

    stage: _Stage
    fork: Fork


@dataclass
class _Stage:
    """One batch on its way through the layers, from position `start` (from 0) on."""

    forward: FloatForward
    trace: BatchTrace
    soft: bool
    start: int
    earlier: _Earlier | None
    continued: bool
    kept: dict[tuple[int, int], Kept] = field(default_factory=dict)
    """By layer and head, what words that continue these read."""
    unrounded: dict[int, Bounds] = field(default_factory=dict)

    # ---- forms ----

    def form(self, place: Place, form: Terms, bias: Rational = 0) -> Block:
        """A linear form plus a bias; `place` names the form, whose static part is kept."""
        columns = self.trace.columns
        return self.add(place, bias, [(value, columns[index]) for index, value in form])

    def add(self, place: Place, bias: Rational, terms: Sequence[tuple[Rational, Block]]) -> Block:
        """A sum of blocks plus a bias."""

        def static() -> Block:
            total: list[Rational] = [bias] * self.trace.n
            for value, block in terms:
                if block.static is not None:
                    total = [old + value * entry for old, entry in zip(total, block.static, strict=True)]
            return fixed([plain(value) for value in total])

        base = self._same_for_all(place, static)
        rest = [(value, block) for value, block in terms if block.static is None]
        if not rest:
            return base
        if len(rest) == 1 and rest[0][0] == 1 and _is_zero(base):
            return rest[0][1]
        return combine(rest, base)

    def _same_for_all(self, place: Place, make: Callable[[], Block]) -> Block:
        """What is the same for every word of a length, at the positions of this stage."""
        known = self.forward.known
        found = known.get(place)
        if found is None:
            if not self.forward.is_whole(self.start, self.trace.n):
                raise InvariantError(f"{place} was not found in a run of all positions")
            found = known[place] = make()
        if self.forward.is_whole(self.start, self.trace.n):
            return found
        here = ("from", self.start, self.start + self.trace.n, *place)
        part = known.get(here)
        if part is None:
            part = known[here] = _from(found, self.start, self.start + self.trace.n)
        return part

    # ---- layers ----

    def _step(self, number: int, place: int) -> Step:
        if self.earlier is None:
            return Step(self.start)
        return Step(self.start, self.earlier.stage.kept[number, place], self.earlier.fork.rows)

    def attend(self, number: int) -> None:
        """All heads of a layer, added to the residual stream."""
        trace = self.trace
        outputs: list[tuple[int, Block]] = []
        for place, head in enumerate(self.forward.plan.layers[number].heads):
            outs = [out for out, _ in head.values]
            forms = [self.form((number, place, "value", out), form) for out, form in head.values]
            step = self._step(number, place)
            if head.scores:
                found = self.forward.head(number, place).attend(trace.columns, forms, outs, step)
            else:
                found = [
                    self._mean((number, place, "mean", out), form, old, head.mask)
                    for out, form, old in zip(outs, forms, step.earlier(forms), strict=True)
                ]
            if self.continued:
                self.kept[number, place] = step.with_earlier(head, trace.columns, forms)
            pairs = list(zip(outs, found, strict=True))
            trace.attended[head.name] = dict(pairs)
            outputs.extend(pairs)
        for count, (out, block) in enumerate(outputs):
            trace.columns[out] = self.add((number, count, "attended", out), 0, [(1, trace.columns[out]), (1, block)])

    def _mean(self, place: Place, form: Block, old: Block | None, mask: Mask) -> Block:
        if form.static is not None:
            return self._same_for_all(place, lambda: mean(form, mask))
        rows = None if self.earlier is None else self.earlier.fork.rows
        return mean(form, mask, old, rows, self.forward.length)

    def feed_forward(self, number: int) -> None:
        """All hidden units of a layer, added to the residual stream."""
        trace, layer = self.trace, self.forward.plan.layers[number]
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
            terms = [(1, trace.columns[out]), *written.get(out, [])]
            trace.columns[out] = self._boolean(self.add((number, out, "written", 0), biases.get(out, 0), terms))
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
        radius = z.radius
        low, high = z.mid <= -radius, (z.mid - 1) * (1 - 4 * U) >= radius
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
            return _affine((last.lower[:, 0], last.upper[:, 0]), 0.5, 0.25)
        if not any(index in self.unrounded for index, _ in unit.form) or any(abs(w) != 1 for _, w in unit.form):
            return None
        levels: list[Bounds] = []
        for index, weight in unit.form:
            block = self.trace.columns[index]
            level = self.unrounded.get(index) or (block.lower[:, -1], block.upper[:, -1])
            levels.append(level if weight == 1 else _affine(level, -1, 1))
        rank = int(1 - unit.bias + sum(weight == -1 for _, weight in unit.form))
        return ranked(levels, rank) if 1 <= rank <= len(levels) else None

    def conclude(self) -> BatchTrace:
        """The output, the answers, and bounds with one entry for each word; the trace of all positions."""
        trace = self.trace
        block = trace.columns[self.forward.model.output]
        low, high, exact = block.lower[:, -1], block.upper[:, -1], block.radius[:, -1] == 0
        low, high = np.where(exact, block.mid[:, -1], low), np.where(exact, block.mid[:, -1], high)
        sure = exact | ~(((low <= 0) & (high >= 0)) | ((low <= 1) & (high >= 1)) | np.isnan(low) | np.isnan(high))
        trace.decided &= sure
        trace.accepted = trace.decided & exact & (low == 1)
        trace.rejected = trace.decided & exact & (low == 0)
        trace.output = self._spread((low, high))
        trace.margin = None if trace.margin is None else self._spread(trace.margin)
        found = self.unrounded.get(self.forward.model.output)
        trace.unrounded = None if found is None else self._spread(found)
        return self.finished()

    def finished(self) -> BatchTrace:
        """The trace with the columns of all positions."""
        trace = self.trace
        if self.earlier is not None:
            old, rows = self.earlier.stage.finished(), self.earlier.fork.rows
            trace.columns = [join(before, new, rows) for before, new in zip(old.columns, trace.columns, strict=True)]
            for name, outs in trace.attended.items():
                trace.attended[name] = {out: join(old.attended[name][out], new, rows) for out, new in outs.items()}
            trace.n += old.n
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
    return np.sort(low, axis=0)[-rank], np.sort(high, axis=0)[-rank]


def _affine(bounds: Bounds, factor: Rational | float, shift: Rational | float) -> Bounds:
    """Bounds of factor x + shift, for factors and shifts that are floats; rounded outwards unless nothing changes."""
    if factor == 1 and shift == 0:
        return bounds
    low, high = (np.asarray(bound * float(factor) + float(shift)) for bound in bounds)
    low, high = (low, high) if factor > 0 else (high, low)
    slack = outward(4 * U * (np.maximum(np.abs(bounds[0]), np.abs(bounds[1])) * abs(float(factor)) + abs(float(shift))))
    return low - slack, high + slack


def _is_zero(block: Block) -> bool:
    return block.static is not None and not any(block.static)


def _from(block: Block, start: int, stop: int) -> Block:
    """Some positions of a column that is the same for every word."""
    if start == 0 and stop == block.mid.shape[1]:
        return block
    rad = None if block.rad is None else block.rad[:, start:stop]
    static = None if block.static is None else block.static[start:stop]
    return Block(block.mid[:, start:stop], rad, block.places, block.size, static)
