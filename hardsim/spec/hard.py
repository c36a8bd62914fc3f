"""The exact interpreter of hard-attention programs, in rationals.

It follows Definitions 1 and 2 to the letter on named coordinates: scores, the mask, the hardmax, the attended
value. On every row it measures the score gap and holds the program to what it declares, and it checks that a
leftmost or rightmost head really found the leftmost or rightmost visible position with the largest `select`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm
from operator import add

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
        self._decays: dict[tuple[str, int], Column] = {}

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
                for position, value in enumerate(_evaluate(clip.pre, columns, n)):
                    total[position] += clip.weight * min(max(value, 0), 1)
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
        values = _evaluate(head.value, trace.columns, n)
        if head.uniform:
            return _averages(values, head.mask)
        queries = [_evaluate(query, trace.columns, n) for query, _ in head.score]
        keys = [_evaluate(key, trace.columns, n) for _, key in head.score]
        rows, unit = _best(queries, keys, head.mask, n)
        for i, (winner, gap) in enumerate(rows, start=1):
            self._hold(head, i, n, winner, None if gap is None else Fraction(gap, unit))
        measured = [Fraction(gap, unit) for _, gap in rows if gap is not None]
        if measured:
            trace.gaps[head.name] = min(measured)
        winners = [winner for winner, _ in rows]
        if head.select is not None:
            _check_selection(head, _evaluate(head.select, trace.columns, n), winners)
        trace.winners[head.name] = winners
        return [values[winner - 1] for winner in winners]

    def _hold(self, head: Head, i: int, n: int, winner: int, gap: Fraction | None) -> None:
        """Fail loudly where a row does not keep the head's promise."""
        if gap is None or head.decay is None:
            return
        key = (head.name, n)
        if key not in self._decays:
            self._decays[key] = [head.decay.evaluate(i=row, n=n) for row in range(1, n + 1)]
        declared = self._decays[key][i - 1]
        if gap < declared:
            raise InvariantError(
                f"head {head.name}: at position {i} of {n} the score gap is {gap}, less than the declared {declared} "
                f"(the maximum is at position {winner})"
            )


def _evaluate(form: Affine, columns: dict[str, Column], n: int) -> Column:
    total: Column | None = None
    for name, coefficient in form.terms:
        part = columns[name] if coefficient == 1 else [coefficient * entry for entry in columns[name]]
        total = part if total is None else list(map(add, total, part))
    return [0] * n if total is None else list(total)


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


def _integers(columns: list[Column]) -> tuple[list[list[int]], int]:
    """The columns times the least common multiple of all denominators, and that multiple: integers compare faster."""
    unit = lcm(*(entry.denominator for column in columns for entry in column)) if columns else 1
    return [[int(entry * unit) for entry in column] for column in columns], unit


Row = tuple[int, int | None]
"""The attended position, and the score gap in integer units (None where only one position is visible)."""


def _best(queries: list[Column], keys: list[Column], mask: Mask, n: int) -> tuple[list[Row], int]:
    """The unique maximum of every row and its gap, with the unit that turns gaps into scores.

    A row with several maxima has gap 0, which no declared gap allows.
    """
    whole_queries, query_unit = _integers(queries)
    whole_keys, key_unit = _integers(keys)
    rows: list[Row] = []
    shared = all(len(set(column)) == 1 for column in whole_queries)
    scores: list[int] = []
    for i in range(1, n + 1):
        if i == 1 or not shared:
            query = [column[i - 1] for column in whole_queries]
            scores = [sum(q * k for q, k in zip(query, key, strict=True)) for key in zip(*whole_keys, strict=True)]
        visible = mask.visible(i, n)
        best, second = visible[0], None
        for j in visible[1:]:
            if scores[j - 1] > scores[best - 1]:
                best, second = j, scores[best - 1]
            elif second is None or scores[j - 1] > second:
                second = scores[j - 1]
        rows.append((best, None if second is None else scores[best - 1] - second))
    return rows, query_unit * key_unit


def _check_selection(head: Head, select: Column, winners: list[int]) -> None:
    """The winner is the rightmost (leftmost) visible position with the largest `select`, found from the definition."""
    n = len(select)
    for i, winner in enumerate(winners, start=1):
        visible = head.mask.visible(i, n)
        largest = max(select[j - 1] for j in visible)
        found = [j for j in visible if select[j - 1] == largest]
        expected = found[0] if head.weighting is Weighting.LEFTMOST else found[-1]
        if winner != expected:
            raise InvariantError(
                f"head {head.name}: at position {i} of {n} the maximal score is at position {winner}, but the "
                f"{head.weighting} position that it looks for is {expected}"
            )
