"""The exact interpreter of hard attention for many words of one length at once, with Booleans as bits.

It runs programs compiled from formulas: no beginning of sequence, every coordinate written once, heads with one
value, and clips only. It checks the promises of the heads. A word that breaks one is run again by `hard.exact`, which
names the fault.

Booleans are stored as one bit per word. Linear forms, and clips of few Booleans, are Boolean functions, tabulated
once per length. If the query of a head is the same for every word, the candidates of its rows have one order
(`hard.order`), and winners and runners-up are running maxima of their ranks. Other heads (look-ups, sign tests) are
run as in `hard.exact`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from itertools import chain, product
from math import inf

import numpy as np

from hardsim.errors import InvariantError
from hardsim.hard.exact import ExactModel, encoded, require_head, require_promises
from hardsim.hard.hardmax import hardmax, uniform
from hardsim.hard.lanes import (
    FULL,
    WIDTH,
    Booleans,
    Lanes,
    Symbols,
    count_lanes,
    pack,
    pack_rows,
    unpack,
    unpack_rows,
)
from hardsim.hard.order import Order, Ranks, two_largest
from hardsim.lang.valuations import Numbering, holds_at
from hardsim.lazy_dataclass import dataclass
from hardsim.network.integers import Exact, Integers, combination
from hardsim.network.numbers import ONE, Rational
from hardsim.network.transformer import SoftWeighting
from hardsim.program.hard_attention import Affine, Head, Program, ProgramLayer, Weighting

MOST_BITS = 6
"""The greatest number of Booleans of a tabulated function: 2^6 rows."""


def minterms(columns: Sequence[Lanes], shape: tuple[int, ...]) -> list[Lanes]:
    """Return for each combination of truth values of the columns the lanes where it holds, with the last column
    changing fastest."""
    found = [np.full(shape, FULL)]
    for column in columns:
        found = [part for old in found for part in (old & ~column, old & column)]
    return found


Forms = Sequence[tuple[Affine, Rational]]
"""A sum of linear forms (clipped or not) times weights: pairs of form and weight."""


def summed(forms: Forms, bias: Rational, clip: bool, numbers: Callable[[str], Exact], shape: tuple[int, int]) -> Exact:
    """Return the sum of weight times form (clipped to [0, 1] if `clip`), plus `bias`. `numbers` returns a
    coordinate's column."""
    parts: list[tuple[Exact, Rational]] = []
    for form, weight in forms:
        terms = [(numbers(name), coefficient) for name, coefficient in form.terms]
        rows = max((column.whole.shape[0] for column, _ in terms), default=1)
        pre = combination(terms, 0, (rows, shape[1]))
        parts.append((Exact.of(np.clip(pre.whole, 0, pre.unit), pre.unit) if clip else pre, weight))
    return combination(parts, bias, shape)


def tabulated(bits: Sequence[str], fixed: Mapping[str, Exact], n: int) -> dict[str, Exact]:
    """Return columns for the Booleans `bits` in which each combination is one word, beside the columns `fixed` that
    are the same for every word, (1, n)."""
    held = np.array(list(product((0, 1), repeat=len(bits))), dtype=np.int64)
    return {name: Exact(np.repeat(held[:, [k]], n, axis=1), 1, 1) for k, name in enumerate(bits)} | dict(fixed)


@dataclass(frozen=True, slots=True)
class BitFunction:
    """A function of the position and some Booleans, tabulated by combination and position: (2^bits, n), or (2^bits,
    1) if the position does not matter.

    `ones` marks where the function is 1 (as masks of lanes), `others` where it is neither 0 nor 1. Combinations for
    which nothing is marked are left out: `ones` and `others` are pairs of the number of a combination and its row.
    """

    ones: Sequence[tuple[int, Lanes]]
    others: Sequence[tuple[int, Booleans]]

    @staticmethod
    def of(
        forms: Forms, bias: Rational, clip: bool, bits: Sequence[str], fixed: Mapping[str, Exact], n: int
    ) -> BitFunction:
        """Tabulate `summed` over all combinations of the Booleans; see `tabulated`."""
        numbers = tabulated(bits, fixed, n)
        total = summed(forms, bias, clip, numbers.__getitem__, (2 ** len(bits), n))
        ones = (total.whole == total.unit).astype(np.bool_)
        others = ~ones & (total.whole != 0).astype(np.bool_)
        lanes = np.where(ones, FULL, np.uint64(0))[:, :, None]
        return BitFunction(
            [(number, lanes[number]) for number in np.flatnonzero(ones.any(axis=1)).tolist()],
            [(number, others[number]) for number in np.flatnonzero(others.any(axis=1)).tolist()],
        )

    def apply(self, columns: Sequence[Lanes], shape: tuple[int, int]) -> Lanes | None:
        """Return the function of these columns, (n, lanes) each; None if its value in some word is neither 0 nor 1."""
        parts = minterms(columns, shape)
        if any(parts[number][np.broadcast_to(others, shape[0])].any() for number, others in self.others):
            return None
        result = np.zeros(shape, dtype=np.uint64)
        for number, ones in self.ones:
            result |= parts[number] & ones
        return result


Column = Lanes | Exact
"""A coordinate's column: lanes by position, (n, lanes), or exact numbers, (words or 1, n)."""
Place = tuple[int, str, str]
"""The place of a Boolean function in the program: its layer, its kind ("key", "value" or "clips"), and the coordinate
that is written with it."""
SAMPLE = 64
"""Number of words whose gaps are inspected first. If one of them has the least possible gap, the others are skipped."""
CELLS = 1 << 16
"""Number of word positions whose maxima are computed at a time, so that the arrays fit into a processor's cache."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Linear forms with their Booleans (`bits`) renamed by numbers. Forms for which the same is computed share a
    `number`."""

    bits: tuple[str, ...]
    forms: tuple[Affine, ...]
    number: int

    @property
    def numbered(self) -> list[str]:
        """The names of the Booleans inside the forms."""
        return [f"bit {number}" for number in range(len(self.bits))]


@dataclass
class Ranked:
    """A head whose candidates have one order at a length. Positions and words are counted from 0.

    `codes` are twice the ranks, by combination and position. `declared` are the declared gaps in units of the order,
    rounded up. If the key reads no Boolean, `winners` (by row) and the least `gap` are the same for every word.
    """

    order: Order
    codes: Ranks
    declared: list[int] | None
    winners: Integers | None = None
    gap: Fraction | None = None

    def least(self, best: Ranks, second: Ranks, rows: slice) -> tuple[Fraction, int | None]:
        """Return the least score gap of some rows, and a word that breaks the declared gap in the first row where one
        does (None if no word does). `best` and `second` are the largest and second largest codes by row and word."""
        order, declared = self.order, self.declared
        # No row can break its declared gap here, so only the least gap is still to be found.
        if order.closest is not None and (declared is None or max(declared) <= order.closest):
            found = order.gaps(best[:, :SAMPLE] >> 1, second[:, :SAMPLE] >> 1, rows).min()
            if found == order.closest or best.shape[1] <= SAMPLE:
                return Fraction(int(found), order.unit), None
        gaps = order.gaps(best >> 1, second >> 1, rows)
        short = (low < limit for low, limit in zip(gaps.min(axis=1), declared[rows] if declared else (), strict=False))
        row = next((number for number, wrong in enumerate(short) if wrong), None)
        word = None if row is None or declared is None else int((gaps[row] < declared[rows][row]).argmax())
        return Fraction(int(gaps.min()), order.unit), word


@dataclass
class BatchHardTrace:
    """The result of a program on words of length n: `accepted` by word, every coordinate, the least gap of each hard
    head. `symbols` are the words as rows of symbol numbers."""

    symbols: Symbols
    accepted: Booleans
    columns: dict[str, Column]
    gaps: dict[str, Fraction] = field(default_factory=dict)
    _numbers: dict[str, Exact] = field(default_factory=dict)

    def numbers(self, name: str) -> Exact:
        """Return a coordinate as exact numbers, (words or 1, n)."""
        column = self.columns[name]
        if isinstance(column, Exact):
            return column
        if name not in self._numbers:
            self._numbers[name] = Exact(unpack(column, len(self.symbols)).astype(np.int64), 1, 1)
        return self._numbers[name]

    def sum(self, terms: Sequence[tuple[str, Rational]]) -> Exact:
        """Return a linear combination of coordinates, with a single row if all of them have a single row."""
        parts = [(self.numbers(name), coefficient) for name, coefficient in terms]
        rows = max((column.whole.shape[0] for column, _ in parts), default=1)
        return combination(parts, 0, (rows, self.symbols.shape[1]))


class BatchHard:
    """Runs one program on batches of words. Results that depend only on the length are kept until the length
    changes."""

    def __init__(self, program: Program) -> None:
        program.require_plain("exact hard attention bit by bit")
        self.program = program
        self._number = Numbering(program.alphabet)
        self._static = _static_names(program)
        self._length = 0
        self._rows: dict[str, Exact] = {}
        """Coordinates that are the same for every word: encodings, and means and clips of such coordinates."""
        self._ranked: dict[int, Ranked | None] = {}
        self._declared: dict[str, list[Fraction] | None] = {}
        self._shapes: dict[Place, Shape] = {}
        self._alike: dict[Hashable, int] = {}
        self._functions: dict[tuple[int, int], BitFunction] = {}

    def symbols(self, words: Sequence[Sequence[str]]) -> Symbols:
        """Return words of one length as rows of symbol numbers."""
        return self._number.rows(words)

    def run(self, symbols: Symbols) -> BatchHardTrace:
        """Run the program on one or more non-empty words of one length, as rows of symbol numbers. Raises
        InvariantError if a row's maximum is not unique, its score gap is smaller than the declared one, or the winner
        is not the position that the head declares to look for."""
        self._prepare(symbols.shape[1])
        trace = BatchHardTrace(symbols, np.zeros(len(symbols), dtype=np.bool_), dict(self._rows))
        for letter in self.program.letters:
            held = holds_at(letter.symbols, self.program.alphabet, symbols)
            trace.columns[letter.name] = pack(held.astype(np.bool_))
        for number, layer in enumerate(self.program.layers):
            for head in layer.heads:
                if head.out not in trace.columns:
                    trace.columns[head.out] = self._attend(head, number, trace)
            trace.columns |= self._clipped(layer, number, trace)
        if self.program.weighting is SoftWeighting.GEOMETRIC:
            trace.gaps.clear()  # of equal scores the nearest one counts
        output, words = trace.columns[self.program.output], len(symbols)
        if isinstance(output, Exact):
            trace.accepted = np.broadcast_to((output.whole[:, -1] == output.unit).astype(np.bool_), (words,))
        else:
            trace.accepted = unpack(output[-1:], words)[:, 0]
        return trace

    def _prepare(self, n: int) -> None:
        if n == self._length:
            return
        self._ranked.clear()
        self._functions = {key: function for key, function in self._functions.items() if not key[1]}
        self._declared = {head.name: head.promised(n) for head in self.program.heads}
        self._rows = {ONE: Exact.row([1] * n, 1)} | dict(encoded(self.program, n))
        self._length = n  # set last: `promised` may raise, and then the next run must prepare again

    # ---- heads ----

    def _attend(self, head: Head, layer: int, trace: BatchHardTrace) -> Column:
        if head.uniform:
            return self._kept(head.out, uniform(head.mask, trace.sum(head.value.terms), False, inf))
        alone = head.weighting is Weighting.AVERAGE or head.shares or head.out in self._static
        found = None if alone else self._scan(head, layer, trace)
        return self._dense(head, trace) if found is None else found

    def _kept(self, out: str, column: Exact) -> Exact:
        """Return a column, which is kept until the length changes if it is the same for every word."""
        if out in self._static:
            self._rows[out] = column
        return column

    def _shape(self, place: Place, forms: Sequence[Affine], extra: Hashable) -> Shape:
        """Return the shape of some forms at a place of the program. `extra` is everything else that the computation
        there depends on."""
        if place not in self._shapes:
            bits = dict.fromkeys(name for form in forms for name, _ in form.terms if name not in self._static)
            number = {name: f"bit {k}" for k, name in enumerate(bits)}
            # Places that compute the same function of differently named Booleans share one number, and so one table.
            alike = tuple(Affine.of([(number.get(name, name), value) for name, value in form.terms]) for form in forms)
            self._shapes[place] = Shape(tuple(bits), alike, self._alike.setdefault((alike, extra), len(self._alike)))
        return self._shapes[place]

    def _fixed(self, shape: Shape, trace: BatchHardTrace) -> dict[str, Exact]:
        names = {name for form in shape.forms for name, _ in form.terms}
        return {name: trace.numbers(name) for name in names if name in self._static}

    def _function(self, forms: Forms, bias: Rational, clip: bool, place: Place, trace: BatchHardTrace) -> Lanes | None:
        """Return the sum of weighted forms (clipped if `clip`) plus a bias as lanes; None unless it is a function of
        few bits that is 0 or 1 everywhere. `place` is the key of the cached table."""
        weights = tuple(weight for _, weight in forms)
        shape = self._shape(place, [form for form, _ in forms], (weights, bias, clip))
        columns = _lanes(shape.bits, trace)
        if columns is None or len(columns) > MOST_BITS:
            return None
        fixed = self._fixed(shape, trace)
        # Only the constant 1 is fixed: the function does not depend on the position, and one table serves every
        # length.
        n = self._length if fixed.keys() - {ONE} else 0
        key = shape.number, n
        if key not in self._functions:
            parts = list(zip(shape.forms, weights, strict=True))
            fixed = fixed if n else {ONE: Exact.row([1], 1)}
            self._functions[key] = BitFunction.of(parts, bias, clip, shape.numbered, fixed, n or 1)
        return self._functions[key].apply(columns, (self._length, count_lanes(len(trace.symbols))))

    def _scan(self, head: Head, layer: int, trace: BatchHardTrace) -> Lanes | None:
        """Run the head by the ranks of its candidates. Return None if its query depends on the word, its key or value
        on more than a few bits, or if no common order of its rows is known."""
        if not head.score or any(name not in self._static for query, _ in head.score for name, _ in query.terms):
            return None
        keys, select = [key for _, key in head.score], () if head.select is None else (head.select,)
        extra = (tuple(query for query, _ in head.score), head.mask, head.weighting, head.promise)
        shape = self._shape((layer, "key", head.out), [*keys, *select], extra)
        columns = _lanes(shape.bits, trace)
        value = self._function([(head.value, 1)], 0, False, (layer, "value", head.out), trace)
        if columns is None or value is None or len(columns) > MOST_BITS:
            return None
        if shape.number not in self._ranked:
            self._ranked[shape.number] = self._ranks(head, shape, trace)
        ranked = self._ranked[shape.number]
        if ranked is None:
            return None
        if ranked.winners is None:
            return self._running(head, ranked, columns, value, trace)
        if ranked.gap is not None:
            trace.gaps[head.name] = ranked.gap
        return value[ranked.winners]

    def _running(
        self, head: Head, ranked: Ranked, columns: Sequence[Lanes], value: Lanes, trace: BatchHardTrace
    ) -> Lanes:
        """Return the values that the winners carry, some lanes at a time: running maxima of twice the ranks plus the
        bit that is read."""
        result, words = np.empty_like(value), len(trace.symbols)
        step = max(1, CELLS // (WIDTH * len(value)))
        for start in range(0, value.shape[1], step):
            lanes, begin = slice(start, start + step), WIDTH * start
            count = min(words - begin, WIDTH * step)
            tables = [row[:, None] for row in ranked.codes]
            for bit in reversed([unpack_rows(column[:, lanes], count) for column in columns]):
                tables = [np.where(bit, one, zero) for zero, one in zip(tables[::2], tables[1::2], strict=True)]
            # The lowest bit of a code carries the value, so one running maximum finds the winner and what the head
            # reads there.
            best, second, rows = two_largest(tables[0] + unpack_rows(value[:, lanes], count), head.mask)
            if second.size:
                least, wrong = ranked.least(best[rows], second, rows)
                if wrong is not None:
                    self._broken(head, trace, begin + wrong)
                trace.gaps[head.name] = min(least, trace.gaps.get(head.name, least))
            result[:, lanes] = pack_rows((best & 1).astype(np.bool_))
        return result

    def _ranks(self, head: Head, shape: Shape, trace: BatchHardTrace) -> Ranked | None:
        """Return the order of the head's candidates at this length. Return None if no order holds, if in it the
        winner is not always the position that the head declares to look for, or if a key without Booleans breaks the
        declared gap."""
        numbers = tabulated(shape.numbered, self._fixed(shape, trace), self._length)
        size = 2 ** len(shape.bits), self._length
        forms = [summed([(form, 1)], 0, False, numbers.__getitem__, size) for form in shape.forms]
        pairs = [(trace.sum(query.terms), key) for (query, _), key in zip(head.score, forms, strict=False)]
        order = Order.of(pairs, head.mask, head.weighting)
        if order is None or (head.select is not None and not order.prefers(forms[-1].whole, head.weighting)):
            return None
        declared = self._declared[head.name]
        # the least integers that are at least gap times unit
        limits = None if declared is None else [-(-gap.numerator * order.unit // gap.denominator) for gap in declared]
        codes = 2 * order.ranks
        found = Ranked(order, codes.astype(np.int16 if codes.max() < 1 << 14 else np.int32), limits)
        if not shape.bits:
            best, second, rows = two_largest(codes.T, head.mask)
            found.winners = order.positions[best[:, 0] >> 1]
            if second.size:
                least, wrong = found.least(best[rows], second, rows)
                if wrong is not None:
                    return None
                found.gap = least
        return found

    def _dense(self, head: Head, trace: BatchHardTrace) -> Exact:
        """Run the head from all its scores."""
        pairs = [(trace.sum(query.terms), trace.sum(key.terms)) for query, key in head.score]
        value = trace.sum(head.value.terms)
        words = max(column.whole.shape[0] for column in (value, *chain(*pairs)))
        rows, results = hardmax(head, pairs, {head.out: value}, (words, self._length), False)
        select = None if head.select is None else trace.sum(head.select.terms)
        require_head(self.program, head, rows, self._declared[head.name], select)
        least = rows.least()
        if least is not None:
            trace.gaps[head.name] = least
        return results[head.out]

    def _broken(self, head: Head, trace: BatchHardTrace, word: int) -> None:
        """Raise InvariantError for a word that breaks a promise. The other interpreter gives the details."""
        text = [self.program.alphabet[number] for number in trace.symbols[word]]
        require_promises(self.program, ExactModel(self.program).run([text]))
        raise InvariantError(f"head {head.name}: on the word {' '.join(text)} the two exact interpreters differ")

    # ---- clips ----

    def _clipped(self, layer: ProgramLayer, number: int, trace: BatchHardTrace) -> dict[str, Column]:
        """Return the coordinates that a layer's clips write: as lanes if all values are 0 or 1, unless the column is
        the same for every word."""
        biases = dict(layer.biases)
        groups: dict[str, list[tuple[Affine, Rational]]] = {name: [] for name in biases if name not in self._rows}
        capped: dict[str, list[tuple[Exact, Rational]]] = {}
        for unit in layer.units:
            if unit.out in self._rows:
                continue
            clips = groups.setdefault(unit.out, [])
            if unit.cap is None:
                clips.append((unit.pre, unit.weight))
            else:
                part = trace.sum(unit.pre.terms).clip(cap=trace.sum(unit.cap.terms))
                capped.setdefault(unit.out, []).append((part, unit.weight))
        written: dict[str, Column] = {}
        for out, forms in groups.items():
            bias, static = biases.get(out, 0), out in self._static
            alike = not static and out not in capped
            found = self._function(forms, bias, True, (number, "clips", out), trace) if alike else None
            if found is not None:
                written[out] = found
                continue
            shape = 1 if static else len(trace.symbols), self._length
            total = summed(forms, bias, True, trace.numbers, shape)
            total = written[out] = self._kept(out, combination([(total, 1), *capped.get(out, [])], 0, shape))
            ones, zeros = total.whole == total.unit, total.whole == 0
            if not static and (ones | zeros).all():
                written[out] = pack(ones.astype(np.bool_))
        return written


def _lanes(names: Sequence[str], trace: BatchHardTrace) -> list[Lanes] | None:
    """Return these coordinates as lanes; None if one of them is not stored as lanes."""
    columns = [column for name in names if not isinstance(column := trace.columns[name], Exact)]
    return columns if len(columns) == len(names) else None


def _static_names(program: Program) -> frozenset[str]:
    """Return the coordinates that are, by their forms, the same for every word of a length."""
    static = {ONE, *(encoding.name for encoding in program.encodings)}
    for layer in program.layers:
        for head in layer.heads:
            forms = [head.value, *chain(*head.score)]
            if static.issuperset(name for form in forms for name, _ in form.terms):
                static.add(head.out)
        moving = {unit.out for unit in layer.units if not static.issuperset(name for name, _ in unit.reads)}
        static |= {*dict(layer.biases), *(unit.out for unit in layer.units)} - moving
    return frozenset(static)
