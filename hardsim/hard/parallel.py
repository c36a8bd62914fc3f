"""The exact interpreter of hard attention for many words of one length at once, where Booleans are bits.

For programs as formulas have them: no beginning of sequence, every coordinate written once, heads with one value, clips
alone. Their promises are held; a word that breaks one is run again by `hard.exact`, which says what is wrong.

Bit by bit: where the query is the same for every word and the key reads Booleans, a key at position j is of one of a
few classes, and its score for a query depends on j and the class alone. The pairs (j, class) of a row, sorted by score,
are its candidates: in a word the winner is the first candidate that the word has (position j is of that class), the
runner-up the second. With a bit for each word, both are found for 64 words at a time by running disjunctions over the
candidates; nothing is taken from what the head is meant to find. Linear forms and clips of few Booleans are Boolean
functions, tabulated once for a length. Other heads (look-ups, sign tests) are run as `hard.exact` runs them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain, product
from math import ceil, inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardsim.errors import InvariantError
from hardsim.hard.exact import ExactModel, encoded, hardmax, hold_head, hold_promises, scores_of, uniform
from hardsim.hard.integers import Exact, combination
from hardsim.lang.lanes import FULL, Booleans, Lanes, Symbols, count_lanes, first_word, pack, unpack
from hardsim.network.numbers import ONE, Mask, Rational
from hardsim.program.model import Affine, Head, Program, ProgramLayer, Weighting

KEPT = 256
"""The length up to which the candidates of all rows are kept for the next batch: they take n^2 numbers a head."""


@dataclass(frozen=True, slots=True)
class Order:
    """The candidates of one row by falling score: their positions (0-based), their classes, and their scores times
    `unit`. `closest` is the least difference of two that follow each other, None of one alone."""

    positions: NDArray[np.int64]
    classes: NDArray[np.int64]
    scores: NDArray[Any]
    unit: int
    closest: int | None


class Orders:
    """The candidates of the rows of a head at one length: queries are the same for every word, keys have a row for each
    class."""

    def __init__(self, pairs: Sequence[tuple[Exact, Exact]], mask: Mask) -> None:
        self.pairs = pairs
        self.mask = mask
        self._kept: dict[int, Order] = {}

    def row(self, i: int) -> Order:
        """The candidates of query i (1-based)."""
        if i in self._kept:
            return self._kept[i]
        count, n = self.pairs[0][1].whole.shape
        seen = self.mask.visible(i, n)
        keys = slice(seen.start - 1, seen.stop - 1)
        scores, unit = scores_of(self.pairs, slice(i - 1, i), keys, (count, 1, len(seen)))
        flat = scores[:, 0].T.ravel()
        order = np.argsort(-flat, kind="stable")  # of equal scores the leftmost position comes first
        places, classes = np.divmod(order, count)
        falling = flat[order]
        closest = int((falling[:-1] - falling[1:]).min()) if len(falling) > 1 else None
        made = Order(places + keys.start, classes, falling, unit, closest)
        if n <= KEPT:
            self._kept[i] = made
        return made


def _earliest(present: Lanes) -> Lanes:
    """Of each word the first candidate only, (candidates, lanes)."""
    found = np.bitwise_or.accumulate(present, axis=0)
    found[1:] ^= found[:-1].copy()
    return found


@dataclass(slots=True)
class Gap:
    """The least gap over rows and words: None before any row with two positions."""

    least: Fraction | None = None

    def note(self, order: Order, present: Lanes, first: Lanes, declared: Fraction | None) -> Lanes | None:
        """Take one row into account; the words in which its gap is less than declared, if there are any. Only pairs of
        candidates that could lower the least gap, or fall below the declared one, are looked at."""

        limit = self._limit(order, declared)
        if order.closest is None or order.closest >= limit:
            return None
        second = _earliest(present & ~first)
        ones, twos = (np.flatnonzero(lanes.any(axis=1)).tolist() for lanes in (first, second))
        for c in ones:
            for d in twos[bisect_right(twos, c) :]:
                gap = int(order.scores[c] - order.scores[d])
                if gap >= limit:
                    break
                both: Lanes = first[c] & second[d]
                if both.any():
                    found = Fraction(gap, order.unit)
                    self.least = found if self.least is None else min(self.least, found)
                    if declared is not None and found < declared:
                        return both
                    limit = self._limit(order, declared)
                    break
        return None

    def _limit(self, order: Order, declared: Fraction | None) -> float:
        """From which score difference of a row on nothing new is said."""
        return inf if self.least is None else ceil(max(self.least, declared or 0) * order.unit)


def misplaced(order: Order, first: Lanes, select: Lanes, weighting: Weighting, seen: range) -> Lanes | None:
    """The words in which the winner is not the rightmost (leftmost) visible position with the largest `select`."""
    low = seen.start - 1
    step = 1 if weighting is Weighting.LEFTMOST else -1
    found = select[low : seen.stop - 1][::step]
    expected = _earliest(found)
    expected[0] |= ~np.bitwise_or.reduce(found, axis=0)  # where none is selected the nearest to the edge counts
    wrong: Lanes = np.bitwise_or.reduce(first & ~expected[::step][order.positions - low], axis=0)
    return wrong if wrong.any() else None


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
    by combination and position, (2^bits, n)."""

    bits: tuple[str, ...]
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
        return BitFunction(tuple(bits), np.where(ones, FULL, np.uint64(0)), others)

    def apply(self, columns: Sequence[Lanes], words: int) -> Lanes | None:
        """The function of these columns, (n, lanes) each; None if it is other than 0 and 1 in some word."""
        shape = self.ones.shape[1], count_lanes(words)
        result = np.zeros(shape, dtype=np.uint64)
        for part, ones, others in zip(minterms(columns, shape), self.ones, self.others, strict=True):
            result |= part & ones[:, None]
            if others.any() and part[others].any():
                return None
        return result


Column = Lanes | Exact
"""Lanes by position, (n, lanes), or exact numbers, (words or 1, n)."""
Place = tuple[int, str, str]
"""A function of bits: its layer, what it is of, and the coordinate that is written with it."""


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
        self._number = {symbol: number for number, symbol in enumerate(program.alphabet)}
        self._static = _static_names(program)
        self._length = 0
        self._rows: dict[str, Exact] = {}
        self._orders: dict[str, tuple[list[int], Orders]] = {}
        self._declared: dict[str, list[Fraction] | None] = {}
        self._functions: dict[Place, BitFunction | None] = {}

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
            held = np.array([symbol in letter.symbols for symbol in self.program.alphabet])
            trace.columns[letter.name] = pack(held[symbols])
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
        self._length = n
        self._orders.clear()
        self._functions.clear()
        self._declared = {head.name: head.promised(n) for head in self.program.heads}
        self._rows = {ONE: Exact.row([1] * n, 1)} | dict(encoded(self.program, n))

    # ---- heads ----

    def _attend(self, head: Head, layer: int, trace: ParallelTrace) -> Column:
        if head.uniform:
            return uniform(head.mask, trace.sum(head.value.terms), False, inf)
        alone = head.weighting is Weighting.AVERAGE or head.out in self._static
        found = None if alone else self._scan(head, layer, trace)
        return self._dense(head, trace) if found is None else found

    def _function(self, forms: Forms, bias: Rational, clip: bool, place: Place, trace: ParallelTrace) -> Lanes | None:
        """A sum of weighted forms (clipped if asked) plus a bias as lanes, if it is a function of few bits that is 0
        or 1 everywhere; `place` names it at this length."""
        if place not in self._functions:
            names = dict.fromkeys(name for form, _ in forms for name, _ in form.terms)
            fixed = {name: trace.numbers(name) for name in names if name in self._static}
            bits = [name for name in names if name not in fixed]
            known = BitFunction.of(forms, bias, clip, bits, fixed, self._length) if len(bits) <= MOST_BITS else None
            self._functions[place] = known
        function = self._functions[place]
        lanes = None if function is None else _lanes(function.bits, trace)
        return None if function is None or lanes is None else function.apply(lanes, len(trace.symbols))

    def _scan(self, head: Head, layer: int, trace: ParallelTrace) -> Lanes | None:
        """The head bit by bit; None where its query depends on the word, or its key or value on more than few bits."""
        if any(name not in self._static for query, _ in head.score for name, _ in query.terms):
            return None
        names = sorted({name for _, key in head.score for name, _ in key.terms if name not in self._static})
        columns = _lanes(names, trace)
        if len(names) > MOST_BITS or columns is None:
            return None
        value, select = (
            None if form is None else self._function([(form, 1)], 0, False, (layer, what, head.out), trace)
            for what, form in (("value", head.value), ("select", head.select))
        )
        if value is None or (select is None and head.select is not None):
            return None
        numbers, orders = self._order(head, names, trace)
        classes = np.zeros((max(numbers) + 1, *value.shape), dtype=np.uint64)
        for number, part in zip(numbers, minterms(columns, value.shape), strict=True):
            classes[number] |= part
        result = np.empty_like(value)
        gap, declared = Gap(), self._declared[head.name]
        for i in range(1, self._length + 1):
            order = orders.row(i)
            present = classes[order.classes, order.positions]
            first = _earliest(present)  # of each candidate the words in which it wins
            result[i - 1] = np.bitwise_or.reduce(first & value[order.positions], axis=0)
            wrong = gap.note(order, present, first, None if declared is None else declared[i - 1])
            if wrong is None and select is not None:
                wrong = misplaced(order, first, select, head.weighting, head.mask.visible(i, self._length))
            if wrong is not None:
                self._broken(head, trace, first_word(wrong) or 0)
        if gap.least is not None:
            trace.gaps[head.name] = gap.least
        return result

    def _order(self, head: Head, names: Sequence[str], trace: ParallelTrace) -> tuple[list[int], Orders]:
        """The class of each combination of key bits, by number, and the candidates of every row."""
        if head.name not in self._orders:
            fixed = {name: trace.numbers(name) for _, key in head.score for name, _ in key.terms if name not in names}
            numbers, shape = tabulated(names, fixed, self._length), (2 ** len(names), self._length)
            keys = [summed([(key, 1)], 0, False, numbers.__getitem__, shape) for _, key in head.score]
            rows = [tuple(chain.from_iterable(key.whole[k].tolist() for key in keys)) for k in range(shape[0])]
            distinct = list(dict.fromkeys(rows))
            some = [rows.index(row) for row in distinct]
            pairs = [
                (trace.sum(query.terms), Exact(key.whole[some], key.unit, key.size))
                for (query, _), key in zip(head.score, keys, strict=True)
            ]
            self._orders[head.name] = [distinct.index(row) for row in rows], Orders(pairs, head.mask)
        return self._orders[head.name]

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
