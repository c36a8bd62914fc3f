"""The exact interpreter of hard attention for many words of one length at once, where Booleans are bits.

For programs as formulas have them: no beginning of sequence, every coordinate written once, heads with one value, clips
alone. Their promises are held; a word that breaks one is run again by `hard.exact`, which says what is wrong.

Booleans are kept as a bit for each word. Linear forms and clips of few of them are Boolean functions, tabulated once
for a length. Where the query of a head is the same for every word, the candidates of its rows have one order
(`hard.order`), and winners and runners-up are running maxima of their ranks. Other heads (look-ups, sign tests) are run
as `hard.exact` runs them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain, product
from math import ceil, inf

import numpy as np

from hardsim.errors import InvariantError
from hardsim.hard.exact import ExactModel, encoded, hold_head, hold_promises
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
from hardsim.network.integers import Exact, Integers, combination
from hardsim.network.numbers import ONE, Rational
from hardsim.program.model import Affine, Head, Program, ProgramLayer, Weighting

MOST_BITS = 6
"""Booleans of which a function is tabulated: 2^6 rows."""


def minterms(columns: Sequence[Lanes], shape: tuple[int, ...]) -> list[Lanes]:
    """Where each combination of truth values of some columns holds, the last column changing fastest."""
    found = [np.full(shape, FULL)]
    for column in columns:
        found = [part for old in found for part in (old & ~column, old & column)]
    return found


Forms = Sequence[tuple[Affine, Rational]]
"""A sum of linear forms (clipped or not) times weights."""


def summed(forms: Forms, bias: Rational, clip: bool, numbers: Callable[[str], Exact], shape: tuple[int, int]) -> Exact:
    """The sum of weight times form (first clipped to [0, 1] if asked), plus a bias, from the numbers of coordinates."""
    parts: list[tuple[Exact, Rational]] = []
    for form, weight in forms:
        terms = [(numbers(name), coefficient) for name, coefficient in form.terms]
        rows = max((column.whole.shape[0] for column, _ in terms), default=1)
        pre = combination(terms, 0, (rows, shape[1]))
        parts.append((Exact.of(np.clip(pre.whole, 0, pre.unit), pre.unit) if clip else pre, weight))
    return combination(parts, bias, shape)


def tabulated(bits: Sequence[str], fixed: Mapping[str, Exact], n: int) -> dict[str, Exact]:
    """Some Booleans for each of their combinations, as for a word each, beside coordinates that are the same for every
    word, (1, n)."""
    held = np.array(list(product((0, 1), repeat=len(bits))), dtype=np.int64)
    return {name: Exact(np.repeat(held[:, [k]], n, axis=1), 1, 1) for k, name in enumerate(bits)} | dict(fixed)


@dataclass(frozen=True, slots=True)
class BitFunction:
    """A function of the position and some Booleans: where it is 1 (as masks of lanes) and where it is neither 0 nor 1,
    by combination and position, (2^bits, n), or (2^bits, 1) where the position does not matter."""

    ones: Lanes
    others: Booleans

    @staticmethod
    def of(
        forms: Forms, bias: Rational, clip: bool, bits: Sequence[str], fixed: Mapping[str, Exact], n: int
    ) -> BitFunction:
        """What `summed` is for each combination; see `tabulated`."""
        numbers = tabulated(bits, fixed, n)
        total = summed(forms, bias, clip, numbers.__getitem__, (2 ** len(bits), n))
        ones = (total.whole == total.unit).astype(np.bool_)
        others = ~ones & (total.whole != 0).astype(np.bool_)
        return BitFunction(np.where(ones, FULL, np.uint64(0)), others)

    def apply(self, columns: Sequence[Lanes], shape: tuple[int, int]) -> Lanes | None:
        """The function of these columns, (n, lanes) each; None if it is other than 0 and 1 in some word."""
        result = np.zeros(shape, dtype=np.uint64)
        for part, ones, others in zip(minterms(columns, shape), self.ones, self.others, strict=True):
            if ones.any():
                result |= part & ones[:, None]
            if others.any() and part[np.broadcast_to(others, shape[0])].any():
                return None
        return result


Column = Lanes | Exact
"""Lanes by position, (n, lanes), or exact numbers, (words or 1, n)."""
Place = tuple[int, str, str]
"""A function of bits: its layer, what it is of, and the coordinate that is written with it."""
SAMPLE = 64
"""Words of which gaps are looked at first: if one has the least that there can be, the others are not looked at."""
CELLS = 1 << 16
"""Positions of words whose maxima are run at a time: what is computed of them fits into a processor's cache."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Linear forms whose Booleans, `bits`, are called by numbers; what is computed alike has the same `number`."""

    bits: tuple[str, ...]
    forms: tuple[Affine, ...]
    number: int

    @property
    def numbered(self) -> list[str]:
        """What the forms call the Booleans."""
        return [f"bit {number}" for number in range(len(self.bits))]


@dataclass
class Ranked:
    """A head whose candidates have one order at a length: by combination and position twice the ranks, and the gaps
    that are declared, in units of the order's, rounded up. Where the key reads no Boolean the winners (by row) and the
    least gap are the same for every word."""

    order: Order
    codes: Ranks
    declared: list[int] | None
    winners: Integers | None = None
    gap: Fraction | None = None

    def least(self, best: Ranks, second: Ranks, rows: slice) -> tuple[Fraction, int | None]:
        """The least score gap of some rows, of the largest and the second largest codes by row and word, and a word of
        which the first row that is short of the declared gap is, if one is."""
        order, declared = self.order, self.declared
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
class ParallelTrace:
    """What a program did on words of length n (`symbols`, rows of their numbers): `accepted` by word, every coordinate,
    the least gap of each hard head."""

    symbols: Symbols
    accepted: Booleans
    columns: dict[str, Column]
    gaps: dict[str, Fraction] = field(default_factory=dict)
    _numbers: dict[str, Exact] = field(default_factory=dict)

    def numbers(self, name: str) -> Exact:
        """A coordinate as exact numbers, (words or 1, n)."""
        column = self.columns[name]
        if isinstance(column, Exact):
            return column
        if name not in self._numbers:
            self._numbers[name] = Exact(unpack(column, len(self.symbols)).astype(np.int64), 1, 1)
        return self._numbers[name]

    def sum(self, terms: Sequence[tuple[str, Rational]]) -> Exact:
        """A linear combination of coordinates; one row where all of them have one."""
        parts = [(self.numbers(name), coefficient) for name, coefficient in terms]
        rows = max((column.whole.shape[0] for column, _ in parts), default=1)
        return combination(parts, 0, (rows, self.symbols.shape[1]))


class ParallelHard:
    """Runs one program on batches of words; what depends on the length alone is kept until another one comes."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._number = Numbering(program.alphabet)
        self._static = _static_names(program)
        self._length = 0
        self._rows: dict[str, Exact] = {}
        self._ranked: dict[int, Ranked | None] = {}
        self._declared: dict[str, list[Fraction] | None] = {}
        self._shapes: dict[Place, Shape] = {}
        self._alike: dict[Hashable, int] = {}
        self._functions: dict[tuple[int, int], BitFunction] = {}

    def symbols(self, words: Sequence[Sequence[str]]) -> Symbols:
        """Words of one length as rows of symbol numbers."""
        return np.array([[self._number[symbol] for symbol in word] for word in words], dtype=np.int64)

    def run(self, symbols: Symbols) -> ParallelTrace:
        """Run the program on one or more non-empty words of one length, as rows of symbol numbers.

        Raises:
            InvariantError: if a row's maximum is not unique, its score gap is smaller than the declared one, or the
                winner is not the position that the head declares to look for.
        """
        self._prepare(symbols.shape[1])
        trace = ParallelTrace(symbols, np.zeros(len(symbols), dtype=np.bool_), dict(self._rows))
        for letter in self.program.letters:
            held = holds_at(letter.symbols, self.program.alphabet, symbols)
            trace.columns[letter.name] = pack(held.astype(np.bool_))
        for number, layer in enumerate(self.program.layers):
            for head in layer.heads:
                trace.columns[head.out] = self._attend(head, number, trace)
            trace.columns |= self._clipped(layer, number, trace)
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
        self._length = n  # only now: what was promised may be refused, and asked for again

    # ---- heads ----

    def _attend(self, head: Head, layer: int, trace: ParallelTrace) -> Column:
        if head.uniform:
            return uniform(head.mask, trace.sum(head.value.terms), False, inf)
        alone = head.weighting is Weighting.AVERAGE or head.out in self._static
        found = None if alone else self._scan(head, layer, trace)
        return self._dense(head, trace) if found is None else found

    def _shape(self, place: Place, forms: Sequence[Affine], extra: Hashable) -> Shape:
        """What is computed at a place of the program from some forms and from `extra`, whatever its Booleans are."""
        if place not in self._shapes:
            bits = dict.fromkeys(name for form in forms for name, _ in form.terms if name not in self._static)
            number = {name: f"bit {k}" for k, name in enumerate(bits)}
            alike = tuple(Affine.of([(number.get(name, name), value) for name, value in form.terms]) for form in forms)
            self._shapes[place] = Shape(tuple(bits), alike, self._alike.setdefault((alike, extra), len(self._alike)))
        return self._shapes[place]

    def _fixed(self, shape: Shape, trace: ParallelTrace) -> dict[str, Exact]:
        names = {name for form in shape.forms for name, _ in form.terms}
        return {name: trace.numbers(name) for name in names if name in self._static}

    def _function(self, forms: Forms, bias: Rational, clip: bool, place: Place, trace: ParallelTrace) -> Lanes | None:
        """A sum of weighted forms (clipped if asked) plus a bias as lanes, if it is a function of few bits that is 0
        or 1 everywhere; `place` names it in the program."""
        weights = tuple(weight for _, weight in forms)
        shape = self._shape(place, [form for form, _ in forms], (weights, bias, clip))
        columns = _lanes(shape.bits, trace)
        if columns is None or len(columns) > MOST_BITS:
            return None
        fixed = self._fixed(shape, trace)
        n = self._length if fixed.keys() - {ONE} else 0
        key = shape.number, n
        if key not in self._functions:
            parts = list(zip(shape.forms, weights, strict=True))
            fixed = fixed if n else {ONE: Exact.row([1], 1)}
            self._functions[key] = BitFunction.of(parts, bias, clip, shape.numbered, fixed, n or 1)
        return self._functions[key].apply(columns, (self._length, count_lanes(len(trace.symbols))))

    def _scan(self, head: Head, layer: int, trace: ParallelTrace) -> Lanes | None:
        """The head by the ranks of its candidates; None where its query depends on the word, its key or value on more
        than few bits, or its rows have no common order."""
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
        self, head: Head, ranked: Ranked, columns: Sequence[Lanes], value: Lanes, trace: ParallelTrace
    ) -> Lanes:
        """What the winners read, by running maxima of twice the ranks plus what is read, some lanes at a time."""
        result, words = np.empty_like(value), len(trace.symbols)
        step = max(1, CELLS // (WIDTH * len(value)))
        for start in range(0, value.shape[1], step):
            lanes, begin = slice(start, start + step), WIDTH * start
            count = min(words - begin, WIDTH * step)
            tables = [row[:, None] for row in ranked.codes]
            for bit in reversed([unpack_rows(column[:, lanes], count) for column in columns]):
                tables = [np.where(bit, one, zero) for zero, one in zip(tables[::2], tables[1::2], strict=True)]
            best, second, rows = two_largest(tables[0] + unpack_rows(value[:, lanes], count), head.mask)
            if second.size:
                least, wrong = ranked.least(best[rows], second, rows)
                if wrong is not None:
                    self._broken(head, trace, begin + wrong)
                trace.gaps[head.name] = min(least, trace.gaps.get(head.name, least))
            result[:, lanes] = pack_rows((best & 1).astype(np.bool_))
        return result

    def _ranks(self, head: Head, shape: Shape, trace: ParallelTrace) -> Ranked | None:
        """The order of the head's candidates at this length; None if there is none in which the winner is always what
        the head declares to look for, or if a key that reads no Boolean breaks the declared gap."""
        numbers = tabulated(shape.numbered, self._fixed(shape, trace), self._length)
        size = 2 ** len(shape.bits), self._length
        forms = [summed([(form, 1)], 0, False, numbers.__getitem__, size) for form in shape.forms]
        pairs = [(trace.sum(query.terms), key) for (query, _), key in zip(head.score, forms, strict=False)]
        order = Order.of(pairs, head.mask, head.weighting)
        if order is None or (head.select is not None and not order.prefers(forms[-1].whole, head.weighting)):
            return None
        declared = self._declared[head.name]
        limits = None if declared is None else [ceil(gap * order.unit) for gap in declared]
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

    def _dense(self, head: Head, trace: ParallelTrace) -> Exact:
        """The head with all its scores."""
        pairs = [(trace.sum(query.terms), trace.sum(key.terms)) for query, key in head.score]
        value = trace.sum(head.value.terms)
        words = max(column.whole.shape[0] for column in (value, *chain(*pairs)))
        rows, results = hardmax(head, pairs, {head.out: value}, (words, self._length), False)
        select = None if head.select is None else trace.sum(head.select.terms)
        hold_head(self.program, head, rows, self._declared[head.name], select)
        least = rows.least()
        if least is not None:
            trace.gaps[head.name] = least
        return results[head.out]

    def _broken(self, head: Head, trace: ParallelTrace, word: int) -> None:
        """Fail on a word that breaks a promise (InvariantError); the other interpreter says what is wrong."""
        text = [self.program.alphabet[number] for number in trace.symbols[word]]
        hold_promises(self.program, ExactModel(self.program).run([text]))
        raise InvariantError(f"head {head.name}: on the word {' '.join(text)} the two exact interpreters differ")

    # ---- clips ----

    def _clipped(self, layer: ProgramLayer, number: int, trace: ParallelTrace) -> dict[str, Column]:
        """What the clips of a layer write, by coordinate: lanes where every value is 0 or 1, except where it is the
        same for every word."""
        biases = dict(layer.biases)
        groups: dict[str, list[tuple[Affine, Rational]]] = {name: [] for name in biases}
        for unit in layer.units:
            groups.setdefault(unit.out, []).append((unit.pre, unit.weight))
        written: dict[str, Column] = {}
        for out, forms in groups.items():
            bias, static = biases.get(out, 0), out in self._static
            found = None if static else self._function(forms, bias, True, (number, "clips", out), trace)
            if found is not None:
                written[out] = found
                continue
            shape = 1 if static else len(trace.symbols), self._length
            total = written[out] = summed(forms, bias, True, trace.numbers, shape)
            ones, zeros = total.whole == total.unit, total.whole == 0
            if not static and (ones | zeros).all():
                written[out] = pack(ones.astype(np.bool_))
        return written


def _lanes(names: Sequence[str], trace: ParallelTrace) -> list[Lanes] | None:
    """Some coordinates as lanes, if all of them are."""
    columns = [column for name in names if not isinstance(column := trace.columns[name], Exact)]
    return columns if len(columns) == len(names) else None


def _static_names(program: Program) -> frozenset[str]:
    """The coordinates that are the same for every word of a length, as the forms show."""
    static = {ONE, *(encoding.name for encoding in program.encodings)}
    for layer in program.layers:
        for head in layer.heads:
            forms = [head.value, *chain(*head.score)]
            if static.issuperset(name for form in forms for name, _ in form.terms):
                static.add(head.out)
        moving = {unit.out for unit in layer.units if not static.issuperset(name for name, _ in unit.pre.terms)}
        static |= {*dict(layer.biases), *(unit.out for unit in layer.units)} - moving
    return frozenset(static)
