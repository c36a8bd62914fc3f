"""The exact interpreter of hard-attention programs for many words of one length at once.

Definitions 1 and 2 on named coordinates, like `hard`, and held to the same promises; Booleans are bits, 64 words to a
lane, everything else integers over a unit. It shares no code with the interpreter of single words but the definition of
the program, so that one checks the other; what breaks a promise is run again there, which says what is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil

import numpy as np

from hardsim.errors import InvariantError
from hardsim.lang.lanes import Booleans, Lanes, Symbols, first_word, pack, unpack
from hardsim.spec import dense, scan
from hardsim.spec.functions import MOST_BITS, BitFunction, combinations, minterms
from hardsim.spec.hard import HardInterpreter
from hardsim.spec.integers import Exact, Numerators, combination, over_one_unit, widened
from hardsim.spec.ir import ONE, Affine, Clip, HardProgram, Head, Mask, ProgramLayer, Rational, Weighting, plain

Column = Lanes | Exact
"""Lanes by position, (n, lanes), or exact numbers, (words or 1, n)."""
Place = tuple[int, str, str]
"""A function of bits: its layer, what it is of, and the coordinate that is written with it."""


@dataclass
class ParallelTrace:
    """What a program did on words of length n: `accepted` by word, every coordinate, the least gap of each hard head.

    `symbols` are the words as rows of symbol numbers.
    """

    symbols: Symbols
    accepted: Booleans
    columns: dict[str, Column]
    gaps: dict[str, Fraction] = field(default_factory=dict)
    _numbers: dict[str, Exact] = field(default_factory=dict)

    @property
    def words(self) -> int:
        """How many words."""
        return len(self.symbols)

    def write(self, name: str, column: Column) -> None:
        """Set a coordinate."""
        self.columns[name] = column
        self._numbers.pop(name, None)

    def numbers(self, name: str) -> Exact:
        """A coordinate as exact numbers, (words or 1, n)."""
        column = self.columns[name]
        if isinstance(column, Exact):
            return column
        if name not in self._numbers:
            self._numbers[name] = Exact(unpack(column, self.words).astype(np.int64), 1, 1)
        return self._numbers[name]

    def sum(self, terms: Sequence[tuple[str, Rational]]) -> Exact:
        """A linear combination of coordinates; one row where all of them have one."""
        parts = [(self.numbers(name), coefficient) for name, coefficient in terms]
        rows = max((column.whole.shape[0] for column, _ in parts), default=1)
        return combination(parts, 0, (rows, self.symbols.shape[1]))


class ParallelHard:
    """Runs one program on batches of words; what depends on the length alone is kept until another one comes."""

    def __init__(self, program: HardProgram) -> None:
        self.program = program
        self._single = HardInterpreter(program)
        self._number = {symbol: number for number, symbol in enumerate(program.alphabet)}
        self._static = _static_names(program)
        self._length = 0
        self._rows: dict[str, Exact] = {}
        self._orders: dict[str, tuple[list[tuple[Rational, ...]], scan.Orders]] = {}
        self._declared: dict[str, list[Fraction] | None] = {}
        self._functions: dict[Place, BitFunction | None] = {}

    def symbols(self, words: Sequence[Sequence[str]]) -> Symbols:
        """Words of one length as rows of symbol numbers, in the order of the program's alphabet."""
        return np.array([[self._number[symbol] for symbol in word] for word in words], dtype=np.int64)

    def run(self, symbols: Symbols) -> ParallelTrace:
        """Run the program on one or more non-empty words of one length.

        Raises:
            InvariantError: if a row's maximum is not unique, its score gap is smaller than the declared one, or the
                winner is not the position that the head declares to look for.
        """
        words, n = symbols.shape
        self._prepare(n)
        trace = ParallelTrace(symbols, np.zeros(words, dtype=np.bool_), dict(self._rows))
        for letter in self.program.letters:
            held = np.array([symbol in letter.symbols for symbol in self.program.alphabet])
            trace.write(letter.name, pack(held[symbols]))
        for number, layer in enumerate(self.program.layers):
            for head in layer.heads:
                trace.write(head.out, self._attend(head, number, trace))
            for name, column in self._clipped(layer, number, trace).items():
                trace.write(name, column)
        output = trace.columns[self.program.output]
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
        self._declared.clear()
        self._functions.clear()
        columns = {ONE: [Fraction(1)] * n}
        for encoding in self.program.encodings:
            columns[encoding.name] = [encoding.value.evaluate(i=i, n=n) for i in range(1, n + 1)]
        self._rows = {name: Exact.row([plain(value) for value in values], 1) for name, values in columns.items()}

    # ---- heads ----

    def _attend(self, head: Head, layer: int, trace: ParallelTrace) -> Column:
        if head.uniform:
            return _mean(trace.sum(head.value.terms), head.mask)
        found = None
        if head.weighting is not Weighting.AVERAGE and head.out not in self._static:
            found = self._scan(head, layer, trace)
        return self._dense(head, trace) if found is None else found

    def _boolean(self, form: Affine, place: Place, trace: ParallelTrace) -> Lanes | None:
        """A form as lanes, if it is a function of few bits that is 0 or 1 everywhere."""
        return self._function([(form, 1)], 0, False, place, trace)

    def _function(
        self, forms: Sequence[tuple[Affine, int]], bias: int, clip: bool, place: Place, trace: ParallelTrace
    ) -> Lanes | None:
        """A sum of weighted forms (clipped if asked) plus a bias, likewise; `place` names it at this length."""
        if place not in self._functions:
            names = dict.fromkeys(name for form, _ in forms for name, _ in form.terms)
            fixed = {name: trace.numbers(name) for name in names if name in self._static}
            bits = [name for name in names if name not in fixed]
            known = BitFunction.of(forms, bias, clip, bits, fixed, self._length) if len(bits) <= MOST_BITS else None
            self._functions[place] = known
        function = self._functions[place]
        if function is None:
            return None
        columns = [trace.columns[name] for name in function.bits]
        lanes = [column for column in columns if not isinstance(column, Exact)]
        return function.apply(lanes, len(trace.symbols)) if len(lanes) == len(columns) else None

    def _scan(self, head: Head, layer: int, trace: ParallelTrace) -> Lanes | None:
        """The head bit by bit; None where its query depends on the word, or its key or value on more than few bits."""
        if any(name not in self._static for query, _ in head.score for name, _ in query.terms):
            return None
        names = sorted({name for _, key in head.score for name, _ in key.terms if name not in self._static})
        columns = [column for name in names if not isinstance(column := trace.columns[name], Exact)]
        if len(names) > MOST_BITS or len(columns) < len(names):
            return None
        value = self._boolean(head.value, (layer, "value", head.out), trace)
        select = None
        if head.select is not None:
            select = self._boolean(head.select, (layer, "select", head.out), trace)
        if value is None or (select is None and head.select is not None):
            return None
        shifts, orders = self._order(head, names, trace)
        distinct = list(dict.fromkeys(shifts))
        classes = np.zeros((len(distinct), *value.shape), dtype=np.uint64)
        for shift, part in zip(shifts, minterms(columns, value.shape), strict=True):
            classes[distinct.index(shift)] |= part
        return self._win(head, trace, orders, classes, value, select)

    def _win(
        self,
        head: Head,
        trace: ParallelTrace,
        orders: scan.Orders,
        classes: Lanes,
        value: Lanes,
        select: Lanes | None,
    ) -> Lanes:
        """What the head reads in every row, held to its promises."""
        result = np.empty_like(value)
        gap = scan.Gap()
        for i in range(1, self._length + 1):
            row = scan.Row.of(orders.row(i), classes)
            result[i - 1] = row.read(value)
            wrong = gap.note(row, self._least(head, i, orders.unit))
            if wrong is None and select is not None:
                visible = head.mask.visible(i, self._length)
                wrong = scan.misplaced(row, select, head.weighting, visible)
            if wrong is not None:
                self._broken(head, trace, first_word(wrong) or 0)
        if gap.least is not None:
            trace.gaps[head.name] = Fraction(gap.least, orders.unit)
        return result

    def _order(
        self, head: Head, names: Sequence[str], trace: ParallelTrace
    ) -> tuple[list[tuple[Rational, ...]], scan.Orders]:
        """What each combination of key bits adds to the key forms, and the candidates of every row."""
        if head.name not in self._orders:
            shifts: list[tuple[Rational, ...]] = [
                tuple(
                    sum((c * held[name] for name, c in key.terms if name in held), Fraction(0)) for _, key in head.score
                )
                for held in combinations(names)
            ]
            queries = [trace.sum(query.terms).values(0) for query, _ in head.score]
            fixed = [[(name, c) for name, c in key.terms if name in self._static] for _, key in head.score]
            keys = [trace.sum(terms).values(0) for terms in fixed]
            orders = scan.Orders(queries, keys, list(dict.fromkeys(shifts)), head.mask)
            self._orders[head.name] = shifts, orders
        return self._orders[head.name]

    def _least(self, head: Head, i: int, unit: int) -> int | None:
        """The declared gap of a row, rounded up in a unit of scores; None where nothing is declared."""
        if head.name not in self._declared:
            self._declared[head.name] = head.promised(self._length)
        declared = self._declared[head.name]
        return None if declared is None else ceil(declared[i - 1] * unit)

    def _dense(self, head: Head, trace: ParallelTrace) -> Exact:
        """The head with all its scores, some words at a time."""
        pairs = [(trace.sum(query.terms), trace.sum(key.terms)) for query, key in head.score]
        value = trace.sum(head.value.terms)
        select = None if head.select is None else trace.sum(head.select.terms)
        average = head.weighting is Weighting.AVERAGE
        columns = [column for pair in pairs for column in pair] + [value]
        words = max(column.whole.shape[0] for column in columns)
        step = max(1, dense.CHUNK // self._length)
        places: list[Numerators] = []
        for i in range(1, self._length + 1):
            parts: list[Numerators] = []
            for start in range(0, words, step):
                some = slice(start, min(start + step, words))
                found = dense.row(pairs, head.mask, i, some)
                self._hold(head, trace, found, i, start)
                wrong = None if select is None or average else dense.misplaced(select, found, some, head.weighting)
                if wrong is not None:
                    self._broken(head, trace, start + wrong)
                parts.append(dense.chosen(value, found, some, average))
            wholes, unit = over_one_unit(parts)
            places.append(Exact(np.concatenate(wholes)[:, None], unit, 0).place(0))
        return Exact.stack(places)

    def _hold(self, head: Head, trace: ParallelTrace, found: dense.Row, i: int, start: int) -> None:
        """Hold one row to the head's promise, and note its gap."""
        gaps = found.below if head.weighting is Weighting.AVERAGE else found.others
        known = gaps[gaps >= 0]
        if not len(known):
            return
        declared = self._least(head, i, found.unit)
        if declared is not None and int(known.min()) < declared:
            self._broken(head, trace, start + int(np.flatnonzero((gaps >= 0) & (gaps < declared))[0]))
        least = Fraction(int(known.min()), found.unit)
        trace.gaps[head.name] = min(least, trace.gaps.get(head.name, least))

    def _broken(self, head: Head, trace: ParallelTrace, word: int) -> None:
        """Fail on a word that breaks a promise.

        Raises:
            InvariantError: always; the interpreter of single words says what is wrong.
        """
        text = [self.program.alphabet[number] for number in trace.symbols[word]]
        self._single.run(text)
        raise InvariantError(f"head {head.name}: on the word {' '.join(text)} the two exact interpreters differ")

    # ---- clips ----

    def _clipped(self, layer: ProgramLayer, number: int, trace: ParallelTrace) -> dict[str, Column]:
        """What the clips of a layer write, by coordinate."""
        groups: dict[str, list[Clip]] = {name: [] for name in layer.ones}
        for clip in layer.clips:
            groups.setdefault(clip.out, []).append(clip)
        written: dict[str, Column] = {}
        for out, clips in groups.items():
            bias, found = int(out in layer.ones), None
            if out not in self._static:
                forms = [(clip.pre, clip.weight) for clip in clips]
                found = self._function(forms, bias, True, (number, "clips", out), trace)
            written[out] = self._numbers_clipped(out, clips, trace, bias) if found is None else found
        return written

    def _numbers_clipped(self, out: str, clips: Sequence[Clip], trace: ParallelTrace, bias: int) -> Column:
        """The same with numbers; lanes if every value is 0 or 1, except where it is the same for every word."""
        parts: list[tuple[Exact, Rational]] = []
        for clip in clips:
            pre = trace.sum(clip.pre.terms)
            parts.append((Exact.of(np.clip(pre.whole, 0, pre.unit), pre.unit), clip.weight))
        rows = 1 if out in self._static else trace.words
        total = combination(parts, bias, (rows, self._length))
        ones, zeros = total.whole == total.unit, total.whole == 0
        return pack(ones.astype(np.bool_)) if out not in self._static and (ones | zeros).all() else total


def _static_names(program: HardProgram) -> frozenset[str]:
    """The coordinates that are the same for every word of a length, as the forms show."""
    static = {ONE, *(encoding.name for encoding in program.encodings)}
    for layer in program.layers:
        for head in layer.heads:
            forms = [head.value, *(form for pair in head.score for form in pair)]
            if static.issuperset(name for form in forms for name, _ in form.terms):
                static.add(head.out)
        moving = {clip.out for clip in layer.clips if not static.issuperset(name for name, _ in clip.pre.terms)}
        static |= {*layer.ones, *(clip.out for clip in layer.clips)} - moving
    return frozenset(static)


def _mean(value: Exact, mask: Mask) -> Exact:
    """The mean over the visible positions of each query."""
    n = value.whole.shape[1]
    wide = widened(value.whole, value.size * n)
    if mask is Mask.NONE:
        totals = np.broadcast_to(wide.sum(axis=1, keepdims=True), wide.shape)
    else:
        totals = np.cumsum(wide, axis=1) if mask is Mask.FUTURE else np.cumsum(wide[:, ::-1], axis=1)[:, ::-1]
    sizes = [len(mask.visible(i, n)) for i in range(1, n + 1)]
    return Exact.stack([Exact(totals[:, i : i + 1], value.unit * m, 0).place(0) for i, m in enumerate(sizes)])
