"""The exact interpreter of hard-attention programs, in rationals.

It follows Definitions 1 and 2 to the letter on named coordinates: scores, the mask, the hardmax, the attended
value. On every row it measures the score gap and holds the program to what it declares, and it checks that a
leftmost or rightmost head really found the leftmost or rightmost visible position with the largest `select`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, lcm
from operator import add, mul

from hardsim.errors import InvariantError
from hardsim.spec.ir import ONE, Affine, HardProgram, Head, Mask, Rational, Weighting, plain

Word = Sequence[str]
Column = list[Rational]
"""One coordinate at positions 1..n (index 0 is position 1)."""


@dataclass
class HardTrace:
    """What a program did on one word of length n.

    `columns` holds every coordinate at every position (head outputs included), `winners` the attended position
    (1-based) of each row of each hard head, `gaps` the least score gap of each hard head over the rows with more
    than one visible position.
    """

    accepted: bool
    columns: dict[str, Column]
    winners: dict[str, list[int]] = field(default_factory=dict)
    gaps: dict[str, Fraction] = field(default_factory=dict)


class HardInterpreter:
    """Runs one program on words; what depends on n alone is kept for the lengths seen."""

    def __init__(self, program: HardProgram) -> None:
        self.program = program
        self._encodings: dict[int, dict[str, Column]] = {}
        self._declared: dict[tuple[str, int, int], list[int] | None] = {}
        self._forms: dict[tuple[int, int], _Form] = {}
        self._static = {ONE, *(encoding.name for encoding in program.encodings)}
        self._means = {head.out for head in program.heads if head.weighting is Weighting.AVERAGE}

    def run(self, word: Word) -> HardTrace:
        """Run the program on a non-empty word over its alphabet.

        Raises:
            InvariantError: if a row's maximum is not unique, its score gap is smaller than the declared one, or the
                winner is not the position that the head declares to look for.
        """
        n = len(word)
        columns: dict[str, Column] = {ONE: [1] * n}
        for letter in self.program.letters:
            columns[letter.name] = [int(symbol in letter.symbols) for symbol in word]
        columns.update(self._encoded(n))
        trace = HardTrace(False, columns)
        for layer in self.program.layers:
            for head in layer.heads:
                columns[head.out] = self._attend(head, trace, n)
            written: dict[str, Column] = {name: [1] * n for name in layer.ones}
            for clip in layer.clips:
                total = written.setdefault(clip.out, [0] * n)
                whole, unit = self._whole(clip.pre, columns, n)
                for position, value in enumerate(whole):
                    if value > 0:
                        total[position] += clip.weight * (1 if value >= unit else Fraction(value) / unit)
            columns.update(written)
        trace.accepted = columns[self.program.output][-1] == 1
        return trace

    def _encoded(self, n: int) -> dict[str, Column]:
        if n not in self._encodings:
            self._encodings[n] = {
                encoding.name: [plain(encoding.value.evaluate(i=i, n=n)) for i in range(1, n + 1)]
                for encoding in self.program.encodings
            }
        return self._encodings[n]

    def _attend(self, head: Head, trace: HardTrace, n: int) -> Column:
        whole, unit = self._whole(head.value, trace.columns, n)
        values: Column = whole if unit == 1 else [plain(Fraction(value) / unit) for value in whole]
        if head.uniform:
            return _averages(values, head.mask)
        queries, keys, unit = self._products(head, trace.columns, n)
        if head.weighting is Weighting.AVERAGE:
            return self._average_best(head, queries, keys, unit, values, trace)
        rows = _best(queries, keys, head.mask, n)
        self._hold(head, rows, unit, n)
        gaps = [gap for _, gap in rows if gap is not None]
        if gaps:
            trace.gaps[head.name] = Fraction(min(gaps)) / unit
        winners = [winner for winner, _ in rows]
        if head.select is not None:
            _check_selection(head, self._whole(head.select, trace.columns, n)[0], winners)
        trace.winners[head.name] = winners
        return [values[winner - 1] for winner in winners]

    def _whole(self, form: Affine, columns: dict[str, Column], n: int) -> tuple[Column, int]:
        """A form times an integer unit, and the unit: integers wherever the coordinates that it reads are Booleans.

        What depends on n alone is computed once per form and length; forms live as long as the program.
        """
        plan = self._forms.get((id(form), n))
        if plan is None:
            plan = self._forms[id(form), n] = _plan(form, columns, self._static, n)
        total: Column = plan.static
        for name, factor in plan.dynamic:
            column = columns[name]
            part = column if factor == 1 else [factor * entry for entry in column]
            total = list(map(add, total, part))
        if any(name in self._means for name, _ in plan.dynamic):
            whole, unit = _integers(total)
            return whole, unit * plan.unit
        return total, plan.unit

    def _products(self, head: Head, columns: dict[str, Column], n: int) -> tuple[list[Column], list[Column], int]:
        """Query and key forms as integers over one unit, that of their products."""
        pairs = [(self._whole(query, columns, n), self._whole(key, columns, n)) for query, key in head.score]
        unit = lcm(*(query_unit * key_unit for (_, query_unit), (_, key_unit) in pairs))
        queries: list[Column] = []
        for (query, query_unit), (_, key_unit) in pairs:
            factor = unit // (query_unit * key_unit)
            queries.append(query if factor == 1 else [factor * entry for entry in query])
        return queries, [key for _, (key, _) in pairs], unit

    def _average_best(
        self, head: Head, queries: list[Column], keys: list[Column], unit: int, values: Column, trace: HardTrace
    ) -> Column:
        """Average-hard attention: the mean over the maxima, which may be several."""
        n = len(values)
        vectors = list(zip(*keys, strict=True))
        rows: list[Row] = []
        means: Column = []
        for i in range(1, n + 1):
            seen = slice(*_bounds(head.mask.visible(i, n)))
            scores = _scores([column[i - 1] for column in queries], vectors[seen])
            best = max(scores)
            chosen = [value for value, score in zip(values[seen], scores, strict=True) if score == best]
            others = [score for score in scores if score != best]
            means.append(Fraction(sum(chosen)) / len(chosen))
            rows.append((seen.start + scores.index(best) + 1, best - max(others) if others else None))
        self._hold(head, rows, unit, n)
        gaps = [gap for _, gap in rows if gap is not None]
        if gaps:
            trace.gaps[head.name] = Fraction(min(gaps)) / unit
        return means

    def _hold(self, head: Head, rows: list[Row], unit: int, n: int) -> None:
        """Fail loudly where a row does not keep the head's promise."""
        key = (head.name, n, unit)
        if key not in self._declared:
            promised = head.promised(n)
            self._declared[key] = None if promised is None else [ceil(gap * unit) for gap in promised]
        least = self._declared[key]
        if least is None:
            return
        for i, ((winner, gap), declared) in enumerate(zip(rows, least, strict=True), start=1):
            if gap is not None and gap < declared:
                raise InvariantError(
                    f"head {head.name}: at position {i} of {n} the score gap is {Fraction(gap) / unit}, less than the "
                    f"declared {(head.promised(n) or [])[i - 1]} (the maximum is at position {winner})"
                )


@dataclass(frozen=True, slots=True)
class _Form:
    """A linear form at one length, times `unit`: what depends on n alone, and the other terms."""

    unit: int
    static: Column
    dynamic: list[tuple[str, int]]


def _plan(form: Affine, columns: dict[str, Column], static: set[str], n: int) -> _Form:
    fixed: Column = [0] * n
    for name, coefficient in form.terms:
        if name in static:
            fixed = [total + coefficient * entry for total, entry in zip(fixed, columns[name], strict=True)]
    rest = [(name, coefficient) for name, coefficient in form.terms if name not in static]
    unit = lcm(*(value.denominator for value in fixed), *(coefficient.denominator for _, coefficient in rest))
    return _Form(unit, [int(value * unit) for value in fixed], [(name, int(value * unit)) for name, value in rest])


def _averages(values: Column, mask: Mask) -> Column:
    """The mean over the visible positions of each query."""
    n = len(values)
    if mask is Mask.NONE:
        return [Fraction(sum(values)) / n] * n
    ordered = values if mask is Mask.FUTURE else values[::-1]
    means: Column = []
    total: Rational = 0
    for count, value in enumerate(ordered, start=1):
        total += value
        means.append(Fraction(total) / count)
    return means if mask is Mask.FUTURE else means[::-1]


def _integers(column: Column) -> tuple[Column, int]:
    """A column times the least common multiple of its denominators, and that multiple: integers compare faster."""
    unit = lcm(*(entry.denominator for entry in column))
    return [int(entry * unit) for entry in column], unit


Row = tuple[int, Rational | None]
"""The attended position, and the score gap in integer units (None where only one position is visible)."""


def _best(queries: list[Column], keys: list[Column], mask: Mask, n: int) -> list[Row]:
    """The unique maximum of every row and its gap, both in the unit of the products.

    A row with several maxima has gap 0, which no declared gap allows.
    """
    vectors = list(zip(*keys, strict=True))
    if all(len(set(column)) == 1 for column in queries):
        return _running(_scores([column[0] for column in queries], vectors), mask)
    rows: list[Row] = []
    for i in range(1, n + 1):
        low, high = _bounds(mask.visible(i, n))
        winner, gap = _row(_scores([column[i - 1] for column in queries], vectors[low:high]))
        rows.append((low + winner + 1, gap))
    return rows


def _bounds(visible: range) -> tuple[int, int]:
    return visible.start - 1, visible.stop - 1


def _scores(query: Column, keys: list[tuple[Rational, ...]]) -> Column:
    return [sum(map(mul, query, key)) for key in keys]


def _row(scores: Column) -> Row:
    """Index of the first maximum of one row, and the distance to the best of the others."""
    best = max(scores)
    winner = scores.index(best)
    others = scores[:winner] + scores[winner + 1 :]
    return winner, best - max(others) if others else None


def _running(scores: Column, mask: Mask) -> list[Row]:
    """The rows of all queries where the scores are the same for each: a running maximum and runner-up."""
    n = len(scores)
    if mask is Mask.NONE:
        winner, gap = _row(scores)
        return [(winner + 1, gap)] * n
    rows: list[Row] = []
    winner, second = 0, None
    order = range(n) if mask is Mask.FUTURE else range(n - 1, -1, -1)
    for step, j in enumerate(order):
        if step == 0:
            winner = j
        elif scores[j] > scores[winner]:
            winner, second = j, scores[winner]
        elif second is None or scores[j] > second:
            second = scores[j]
        rows.append((winner + 1, None if second is None else scores[winner] - second))
    return rows if mask is Mask.FUTURE else rows[::-1]


def _check_selection(head: Head, select: Column, winners: list[int]) -> None:
    """The winner is the rightmost (leftmost) visible position with the largest `select`, found from the definition."""
    n = len(select)
    for i, winner in enumerate(winners, start=1):
        visible = head.mask.visible(i, n)
        low, high = visible.start - 1, visible.stop - 1
        seen = select[low:high]
        largest = max(seen)
        if head.weighting is Weighting.LEFTMOST:
            expected = low + seen.index(largest) + 1
        else:
            expected = high - seen[::-1].index(largest)
        if winner != expected:
            raise InvariantError(
                f"head {head.name}: at position {i} of {n} the maximal score is at position {winner}, but the "
                f"{head.weighting} position that it looks for is {expected}"
            )
