"""The exact interpreter of hard attention, in rationals, from the program's linear forms alone.

It follows Definitions 1 and 2 of the paper on a batch of words of one length: scores, the mask, the hardmax (the mean
over all maxima, or the leftmost or rightmost maximum), the residual stream, the feed-forward layer. It shares no code
with the softmax passes.

A norm divides a row by a square root. If that is irrational at some position, the row there is divided by a rational
within a factor 1 + 2^-64 of it. Only its direction is exact. Relus without biases keep directions exact, and a norm
with epsilon 0 and a rational root makes numbers of them again. A comparison of the output with 0 needs no more than a
direction. A word is refused if anything else would read the stream: a head, a bias, another threshold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from fractions import Fraction
from math import isqrt, lcm

import numpy as np
from numpy.typing import NDArray

from hardsim.errors import InputError, InvariantError
from hardsim.hard.hardmax import Rows, hardmax, uniform, visible_folds
from hardsim.lang.ast import BOS
from hardsim.lang.reals import Real
from hardsim.lang.valuations import Numbering, holds_at
from hardsim.lazy_dataclass import dataclass
from hardsim.network.columns import PositionFunction, real_row
from hardsim.network.integers import SAFE, Exact, combination
from hardsim.network.numbers import ONE, Rational
from hardsim.network.rounding import RoundingMode
from hardsim.program.hard_attention import Affine, Head, Program, ProgramLayer, Weighting

Word = Sequence[str]
Columns = dict[str, Exact]
"""The residual stream by coordinate; every column has shape (words, positions)."""


@dataclass
class LayerTrace:
    """The intermediate results of one layer on a batch.

    `attended` and `columns` are the residual stream after attention and after the layer. `rows` describes the scores
    of the heads that are not uniform. `values` and `results` are, by head and output coordinate, the attended forms
    before and after attention. `inputs` are the forms of the hidden units, `caps` their caps (None: 1).
    """

    attended: Columns
    columns: Columns
    rows: dict[str, Rows] = field(default_factory=dict)
    values: dict[str, Columns] = field(default_factory=dict)
    results: dict[str, Columns] = field(default_factory=dict)
    inputs: list[Exact] = field(default_factory=list)
    caps: list[Exact | None] = field(default_factory=list)


@dataclass
class HardTrace:
    """The intermediate results of a program on a batch of words of length n. Columns have shape (words, positions)."""

    n: int
    inputs: Columns
    layers: list[LayerTrace]

    @property
    def columns(self) -> Columns:
        """The residual stream after the last layer."""
        return self.layers[-1].columns if self.layers else self.inputs

    def sum(self, terms: Sequence[tuple[str, Rational]]) -> Exact:
        """Return a linear combination of coordinates of the final residual stream."""
        return _form(Affine(tuple(terms)), self.columns)


def encoded(program: Program, n: int) -> list[tuple[str, Exact]]:
    """Return the position encoding as pairs of coordinate and column. It is the same for every word of length n."""
    positions = range(program.first, n + 1)

    def row(value: PositionFunction) -> Exact:
        rationals = [number for number in real_row(value, positions, n) if not isinstance(number, Real)]
        if len(rationals) < len(positions):
            rationals = [value.evaluate(i=i, n=n) for i in positions]  # which says what is irrational
        return Exact.row(rationals, 1)

    return [(encoding.name, row(encoding.value)) for encoding in program.encodings]


class ExactModel:
    """A program prepared to run. What is the same for every word of a length is kept until the length or the number of
    words changes."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._symbols = Numbering((*program.alphabet, BOS) if program.bos else program.alphabet)
        self._steady = _steady(program)
        self._shape = 0, 0
        self._encoded: Columns = {}
        self._forms: dict[tuple[int, str, int, int], Exact] = {}
        """Forms of steady coordinates, by layer, head, number of the pair in its score, and side."""

    def run(self, words: Sequence[Word]) -> HardTrace:
        """Run the program on words of one length."""
        n = len(words[0])
        columns = self._input(words, n)
        trace = HardTrace(n, dict(columns), [])
        rational = True
        for number, layer in enumerate(self.program.layers):
            self._require(rational)
            found = self._attention(number, layer, columns)
            if layer.norm_1 is not None:
                found.attended, rational = self._normalized(found.attended, layer.norm_1)
                self._require(rational or _homogeneous(layer))
            found.attended = self._rounded(found.attended)
            columns = self._feed_forward(layer, found)
            if layer.norm_2 is not None:
                columns, known = self._normalized(columns, layer.norm_2)
                rational = known and (rational or layer.norm_2 == 0)
            columns = self._rounded(columns)
            found.columns = columns
            trace.layers.append(found)
        self._require(rational or (self.program.threshold == 0 and not self.program.maps))
        return trace

    def _require(self, rational: bool) -> None:
        """Require that the stream is rational. Raises InputError if only its directions are."""
        if not rational:
            message = "a layer norm divides by an irrational root, so exact hard attention does not know what it gives"
            hint = (
                "Add coordinates that are always 0 until (sum of squares)/d is the square of a rational. Without that,"
            )
            raise InputError(message, f"{hint} only relus without biases, and a last comparison with 0, may read it.")

    def _rounded(self, columns: Columns) -> Columns:
        """Return all coordinates as the program rounds them: integers over 2^bits."""
        rounding = self.program.rounding
        if rounding is None:
            return columns
        found, size = dict(columns), 1 << rounding.bits
        for name, column in columns.items():
            if size % column.unit:
                # Python's integers: machine integers may overflow.
                scaled = column.whole.astype(object) * size
                down = scaled // column.unit
                if rounding.mode is RoundingMode.NEAREST:
                    twice = 2 * (scaled - down * column.unit)
                    down = down + ((twice > column.unit) | ((twice == column.unit) & (down % 2 == 1)))
                found[name] = Exact.of(down, size, 1)
        return found

    def _normalized(self, columns: Columns, epsilon: Fraction) -> tuple[Columns, bool]:
        """Return all coordinates after a norm, and True if all roots are rational. Raises InputError if a row of equal
        coordinates is divided by 0."""
        names = self.program.coordinates
        unit = lcm(*(columns[name].unit for name in names))
        # Python's integers: squares of machine integers may overflow.
        rows = np.stack([columns[name].whole.astype(object) * (unit // columns[name].unit) for name in names], axis=-1)
        rows = rows * len(names) - rows.sum(axis=-1, keepdims=True)
        unit *= len(names)
        squares = (rows * rows).sum(axis=-1)
        roots = {square: self._inverse_root(int(square), unit, epsilon) for square in set(squares.ravel().tolist())}
        known = all(rational for _, rational in roots.values())
        # Over one common unit every factor is an integer.
        factors = {square: inverse / unit for square, (inverse, _) in roots.items()}
        common = lcm(*(factor.denominator for factor in factors.values()))
        scale = np.vectorize(lambda square: int(factors[square] * common), otypes=[object])(squares)
        rows = rows * scale[..., None]
        found = {name: Exact.of(rows[..., place], common, 1) for place, name in enumerate(names)}
        return columns | found, known

    def _inverse_root(self, square: int, unit: int, epsilon: Fraction) -> tuple[Fraction, bool]:
        """Return 1 / sqrt(square / (unit^2 d) + epsilon), for a sum of squares over `unit`^2, and True; or if it is
        irrational, a rational near it and False."""
        mean = Fraction(square, unit * unit * len(self.program.coordinates)) + epsilon
        if mean == 0:
            message = "a layer norm with epsilon 0 divides a row by 0: all its coordinates are equal"
            raise InputError(message, "Give the norm a positive epsilon, or the row a coordinate that differs.")
        top, bottom = isqrt(mean.numerator), isqrt(mean.denominator)
        if top * top == mean.numerator and bottom * bottom == mean.denominator:
            return Fraction(bottom, top), True
        # 1/sqrt(p/q) = sqrt(p q)/p, as a multiple of a power of two: many such numbers have a small common denominator.
        # The integer root is at least 2^66, so that it is off by less than a factor 1 + 2^-65, and so is the division.
        places = 66 + mean.numerator.bit_length()
        inverse = (isqrt(mean.numerator * mean.denominator << 2 * places) // mean.numerator) or 1
        return Fraction(inverse, 1 << places), False

    def _input(self, words: Sequence[Word], n: int) -> Columns:
        """Return embedding plus position encoding. The constant 1 is included even if the program has no such
        coordinate."""
        symbols = self._symbols.rows(words)
        if self.program.bos:
            start = np.full((len(words), 1), self._symbols[BOS], dtype=np.int64)
            symbols = np.concatenate([start, symbols], axis=1)
        if symbols.shape != self._shape:
            self._prepare(n, symbols.shape)
        columns = dict(self._encoded)
        parts: dict[str, list[tuple[Exact, Rational]]] = {}
        for letter in self.program.letters:
            held = holds_at(letter.symbols, self._symbols.alphabet, symbols)
            parts.setdefault(letter.name, [(columns[letter.name], 1)]).append((Exact(held, 1, 1), letter.value))
        return columns | {name: combination(some, 0, symbols.shape) for name, some in parts.items()}

    def _prepare(self, n: int, shape: tuple[int, int]) -> None:
        """Keep the part of the input that is the same for every word, by coordinate."""
        rows = [(ONE, Exact.row([1] * shape[1], 1)), *encoded(self.program, n)]
        parts = {name: [(row, 1) for other, row in rows if other == name] for name in (ONE, *self.program.coordinates)}
        nothing = combination([], 0, shape)
        self._encoded = {name: combination(some, 0, shape) if some else nothing for name, some in parts.items()}
        self._forms = {}
        self._shape = shape  # set last: an encoding may be refused, and then the next run must prepare again

    def _attention(self, number: int, layer: ProgramLayer, columns: Columns) -> LayerTrace:
        found = LayerTrace(dict(columns), {})
        words, positions = columns[ONE].whole.shape
        written: dict[str, list[tuple[Exact, Rational]]] = {}
        for head in layer.heads:
            values = {out: _form(form, columns) for out, form in head.values}
            if head.uniform:
                results = {out: uniform(head.mask, value, self.program.bos) for out, value in values.items()}
            else:
                pairs = [
                    (
                        self._formed((number, head.name, k, 0), query, columns),
                        self._formed((number, head.name, k, 1), key, columns),
                    )
                    for k, (query, key) in enumerate(head.score)
                ]
                found.rows[head.name], results = hardmax(head, pairs, values, (words, positions), self.program.bos)
            found.values[head.name], found.results[head.name] = values, results
            for out, result in results.items():
                written.setdefault(out, []).append((result, 1))
        for out, parts in written.items():
            found.attended[out] = combination([(columns[out], 1), *parts], 0, (words, positions))
        return found

    def _formed(self, place: tuple[int, str, int, int], form: Affine, columns: Columns) -> Exact:
        """Return a form that a head of a layer reads; `place` is the key under which it is kept, if it is the same for
        every word."""
        found = self._forms.get(place)
        if found is None:
            found = _form(form, columns)
            if self._steady[place[0]].issuperset(name for name, _ in form.terms):
                self._forms[place] = found
        return found

    def _feed_forward(self, layer: ProgramLayer, found: LayerTrace) -> Columns:
        columns = dict(found.attended)
        parts: dict[str, list[tuple[Exact, Rational]]] = {}
        for unit in layer.units:
            # `found.attended`: hidden units read the outputs of this layer's heads.
            pre = _form(unit.pre, found.attended)
            found.inputs.append(pre)
            found.caps.append(None if unit.cap is None else _form(unit.cap, found.attended))
            active = pre.clip(unit.clip, found.caps[-1])
            for out, weight in unit.outs:
                parts.setdefault(out, []).append((active, weight))
        biases = dict(Affine.of(layer.biases).terms)
        words, positions = columns[ONE].whole.shape
        for out in {**parts, **biases}:
            terms = [(columns[out], 1), *parts.get(out, [])]
            columns[out] = combination(terms, biases.get(out, 0), (words, positions))
        return columns


def _steady(program: Program) -> list[frozenset[str]]:
    """Return for each layer the coordinates that enter it as the input has them, the same for every word of a
    length."""
    steady = {ONE, *program.coordinates} - {letter.name for letter in program.letters}
    found = []
    for layer in program.layers:
        found.append(frozenset(steady))
        normed = layer.norm_1 is not None or layer.norm_2 is not None
        steady = set() if normed else steady - set(layer.written)
    return found


def _homogeneous(layer: ProgramLayer) -> bool:
    """Return True if the hidden units are relus of forms without constants, and add no biases: rows times a positive
    factor then give results times that factor."""
    forms = (unit.reads for unit in layer.units)
    constant = any(name == ONE for terms in forms for name, _ in terms)
    return not layer.biases and not constant and not any(unit.clip for unit in layer.units)


def require_promises(program: Program, trace: HardTrace) -> None:
    """Raise InvariantError unless every head of a program keeps its promises on this batch; see `require_head`."""
    entering = trace.inputs
    for layer, found in zip(program.layers, trace.layers, strict=True):
        for head in layer.heads:
            if head.name in found.rows:
                select = None if head.select is None else _form(head.select, entering)
                declared = head.promised(trace.n, program.first)
                require_head(program, head, found.rows[head.name], declared, select)
        entering = found.columns


def require_head(
    program: Program, head: Head, rows: Rows, declared: Sequence[Fraction] | None, select: Exact | None
) -> None:
    """Raise InvariantError unless a head keeps its promises in every row.

    The score gap must be at least the `declared` one (by query; None: nothing declared). If `select` is given, the
    winner must be the leftmost or rightmost visible position with the largest `select`. Raises InvariantError naming
    the head, the position and the result found there."""
    size, first = rows.gap.shape[1], program.first
    n = size - 1 + first
    # Leftmost and rightmost heads promise a single maximum, unless they share: a tie is a gap of 0. A gap of -1 marks a
    # row of equal scores.
    several = head.weighting is Weighting.AVERAGE or head.shares
    gaps = rows.gap if several else np.where(rows.maxima > 1, 0, rows.gap)
    limits: list[int] | None = None
    if declared is not None:  # ceil(gap * unit), in integers, which are faster
        pairs = zip(declared, rows.units, strict=True)
        limits = [-(-gap.numerator * unit // gap.denominator) for gap, unit in pairs]
    short = np.zeros((1, size), dtype=np.bool_)
    if limits is not None:
        kind = np.int64 if max(limits) < SAFE else object
        short = (gaps >= 0) & (gaps < np.array(limits, dtype=kind))
    expected = rows.winners if select is None else _expected(head, select, program.bos)
    wrong = short | (rows.winners != expected)
    if not wrong.any():
        return
    index = int(wrong.any(axis=0).argmax())
    place = f"head {head.name}: at position {index + first} of {n} the"
    if declared is not None and short[:, index].any():
        word = int(short[:, index].argmax())
        raise InvariantError(
            f"{place} score gap is {Fraction(int(gaps[word, index]), rows.units[index])}, less than the declared "
            f"{declared[index]} (the maximum is at position {rows.winners[word, index] + first})"
        )
    word = int(wrong[:, index].argmax())
    raise InvariantError(
        f"{place} maximal score is at position {rows.winners[word, index] + first}, but the {head.weighting} "
        f"position that it looks for is {np.broadcast_to(expected, wrong.shape)[word, index] + first}"
    )


def _expected(head: Head, select: Exact, bos: bool) -> NDArray[np.int64]:
    """Return for every query the index of the leftmost or rightmost visible position with the largest `select`, its own
    if it sees nothing."""
    size = select.whole.shape[1]
    places = np.arange(size)
    steps = places[::-1] if head.weighting is Weighting.LEFTMOST else places
    _, heights = np.unique(select.whole.ravel(), return_inverse=True)
    # One number orders positions by `select` first and by preference second, so a single running maximum finds the
    # winner.
    codes = visible_folds(np.maximum, heights.reshape(select.whole.shape) * size + steps, head.mask, bos, -1)
    found: NDArray[np.int64] = np.where(codes < 0, places, steps[codes % size])
    return found


def _form(form: Affine, columns: Columns) -> Exact:
    words, positions = columns[ONE].whole.shape
    return combination([(columns[name], coefficient) for name, coefficient in form.terms], 0, (words, positions))
