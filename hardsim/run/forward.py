"""One forward pass, written once against a number type.

A value is exact (an int or Fraction) as long as only exact things made it: embeddings, encodings, uniform
attention, clips that saturate. Softmax outputs are numbers of the arithmetic. Logits of exact inputs are exact
rationals, so the only error in an attended value is that of exp, of the sums and of one division.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from typing import Any, Generic

from hardsim.net.model import Transformer
from hardsim.run.arithmetic import Arithmetic, Column, T, Value
from hardsim.run.exponentials import Exponentials
from hardsim.run.plan import HeadPlan, LayerPlan, Plan, Terms, Unit, largest_logit, make_plan
from hardsim.run.sharp import SHARP, Booleans, SharpHead
from hardsim.run.weights import MEMO_LENGTH, MEMO_SIZE, AttentionWeights, ExpTable, View, seen_matrix
from hardsim.spec.ir import Mask, Rational, plain


@dataclass
class Trace(Generic[T]):
    """What a network did on one word.

    `columns` is the residual stream after the last layer, by coordinate; `attended` the output column of each head,
    by head name and coordinate; `least_margin` the smallest distance of a rounded value from its threshold (a clip
    `2x - 1/2` has its thresholds at x = 1/4 and 3/4; distances are in x); `inputs` the value of every FFN unit's
    form at the last position. `unsettled` counts the values that a clip rounds and of which the arithmetic cannot
    tell whether it saturates.
    """

    columns: list[Column]
    index: int = -1
    """That of the reading position."""
    layers: list[tuple[list[Column], list[Column]]] = field(default_factory=list)
    """By layer, the residual stream after attention and after the feed-forward network."""
    attended: dict[str, dict[int, Column]] = field(default_factory=dict)
    least_margin: T | None = None
    inputs: list[list[Value]] = field(default_factory=list)
    unsettled: int = 0

    def output(self, model: Transformer) -> Value:
        """The output coordinate at the reading position."""
        return self.columns[model.output].values[self.index]

    def verdict(self, model: Transformer) -> bool | None:
        """True where the output is exactly 1, False where it is exactly 0, None where the network did not decide."""
        value = self.output(model)
        if isinstance(value, int | Fraction) and value in (0, 1):
            return value == 1
        return None


@dataclass(frozen=True, slots=True)
class _Activated(Generic[T]):
    """What a hidden unit gave: its column, its input at the last position, its least margin where it rounds, and at
    how many positions it is unsettled.

    `inputs` keeps the columns that it read alive, since they may be known by their identity.
    """

    result: Column
    last: Value
    margin: T | None
    unsettled: int
    inputs: list[Column]


class Forward(Generic[T]):
    """A network ready to run in one arithmetic. Exponentials are kept per length, since words share most of them."""

    def __init__(self, model: Transformer, arithmetic: Arithmetic[T], plan: Plan | None = None) -> None:
        self.model = model
        self.plan: Plan = plan or make_plan(model)
        self.arithmetic = arithmetic
        self._tables: dict[tuple[int, int], ExpTable[T]] = {}
        self._length = 0
        self._statics: list[Column] = []
        self._inverse: list[Fraction] = []
        self._exponentials = Exponentials(arithmetic)
        self._sharp = False
        self._visible: dict[Mask, Booleans] = {}
        self._rows = model.embedding.rows()
        self._units: dict[Any, _Activated[T]] = {}

    def run(self, word: Sequence[str]) -> Trace[T]:
        """Run the network on a non-empty word over its alphabet."""
        self._prepare(len(word))
        size = len(word) + self.model.bos
        symbols = [self._rows[self.model.symbol_index[symbol]] for symbol in word]
        if self.model.bos:
            symbols.insert(0, self._rows[-1])
        columns = [
            self._statics[index]
            if index in self.plan.static
            else Column(
                [row.get(index, 0) + base for row, base in zip(symbols, self._statics[index].values, strict=True)]
            )
            for index in range(self.model.dimension)
        ]
        trace: Trace[T] = Trace(columns, self.model.reading_index(len(word)))
        for number, layer in enumerate(self.plan.layers):
            self._attention(number, layer, trace, size)
            attended = list(trace.columns)
            self._feed_forward(number, layer, trace, size)
            trace.layers.append((attended, list(trace.columns)))
        return trace

    def _prepare(self, n: int) -> None:
        """Position encodings and temperatures of a length; those of other lengths are let go."""
        if n == self._length:
            return
        self._tables.clear()
        self._units.clear()
        model = self.model
        positions = range(model.first, n + 1)
        self._statics = [Column([0] * len(positions)) for _ in range(model.dimension)]
        for index, encoding in model.encodings:
            earlier = self._statics[index].values
            self._statics[index] = Column(
                [plain(encoding.evaluate(i=i, n=n) + value) for i, value in zip(positions, earlier, strict=True)]
            )
        for index in self.plan.static:
            shared = self._rows[0].get(index, 0)
            self._statics[index] = Column([value + shared for value in self._statics[index].values])
        self._inverse = [model.inverse_temperature(i, n) for i in positions]
        cutoff = self.arithmetic.negligible
        self._sharp = cutoff is not None and largest_logit(self.plan, n) > SHARP * cutoff
        self._visible.clear()
        self._length = n

    def _table(self, head: HeadPlan) -> ExpTable[T]:
        """What all words of the present length share in a head."""
        if not self._sharp or not head.scores:
            return ExpTable(head, self._exponentials, self._inverse)
        visible = self._visible.get(head.mask)
        if visible is None:
            visible = self._visible[head.mask] = seen_matrix(head.mask, len(self._inverse), self.model.bos)
        sharp = SharpHead(head, self._exponentials, self._inverse, visible)
        return ExpTable(head, self._exponentials, self._inverse, sharp)

    def _attention(self, number: int, layer: LayerPlan, trace: Trace[T], n: int) -> None:
        outputs: list[tuple[int, Column]] = []
        for index, head in enumerate(layer.heads):
            attended: dict[int, Column] = {}
            table = self._tables.get((number, index))
            if table is None:
                table = self._tables[number, index] = self._table(head)
            weights = AttentionWeights(table, trace.columns, n, self.model.bos) if head.scores else None
            for out, form in head.values:
                values = self.combine(form, 0, trace.columns, n)
                column = weights.attend(values, out) if weights else self._average(values, head.mask)
                attended[out] = column
                outputs.append((out, column))
            trace.attended[head.name] = attended
        for out, column in outputs:
            trace.columns[out] = self._add(trace.columns[out], column)

    def _feed_forward(self, number: int, layer: LayerPlan, trace: Trace[T], n: int) -> None:
        sums: dict[int, Column] = {out: Column([bias] * n) for out, bias in layer.biases}
        last: list[Value] = []
        for index, unit in enumerate(layer.units):
            done = self._activated(number, index, unit, trace.columns, n)
            last.append(done.last)
            trace.unsettled += done.unsettled
            if done.margin is not None:
                margins = [done.margin] if trace.least_margin is None else [done.margin, trace.least_margin]
                trace.least_margin = self.arithmetic.ranked(margins, len(margins))
            result = done.result
            for out, weight in unit.outs:
                scaled = result if weight == 1 else self.combine(((0, weight),), 0, [result], n)
                sums[out] = self._add(sums[out], scaled) if out in sums else scaled
        trace.inputs.append(last)
        for out, column in sums.items():
            trace.columns[out] = self._add(trace.columns[out], column)

    def _activated(self, number: int, index: int, unit: Unit, columns: Sequence[Column], n: int) -> _Activated[T]:
        """A hidden unit (or clip) at every position; for short words, which repeat their inputs, remembered."""
        inputs = [columns[coordinate] for coordinate, _ in unit.form if coordinate not in self.plan.static]
        if n > MEMO_LENGTH or not all(column.exact or column.kept for column in inputs):
            return self._activate_unit(unit, columns, n, inputs)
        key = (number, index, *(tuple(column.values) if column.exact else id(column) for column in inputs))
        known = self._units.get(key)
        if known is None:
            if len(self._units) >= MEMO_SIZE:
                self._units.clear()
            known = self._units[key] = self._activate_unit(unit, columns, n, inputs)
        return known

    def _activate_unit(self, unit: Unit, columns: Sequence[Column], n: int, inputs: list[Column]) -> _Activated[T]:
        column = self.combine(unit.form, unit.bias, columns, n)
        values = [self._activate(value, unit.clip) for value in column.values]
        exact = column.exact or all(isinstance(value, int | Fraction) for value in values)
        margin = self._least_margin(column) if unit.decides and unit.clip else None
        unsettled = 0
        if unit.decides and unit.clip and not column.exact:
            soft = [value for value in column.values if not isinstance(value, int | Fraction)]
            unsettled = sum(not self.arithmetic.settled(value) for value in soft)
        return _Activated(Column(values, exact), column.values[-1], margin, unsettled, inputs)

    def _activate(self, value: Value, clip: bool) -> Value:
        if isinstance(value, int | Fraction):
            return min(max(value, 0), 1) if clip else max(value, 0)
        return self.arithmetic.clip(value) if clip else self.arithmetic.relu(value)

    def _least_margin(self, column: Column) -> T:
        number = self.arithmetic.number
        exact = [value for value in column.values if isinstance(value, int | Fraction)]
        least = [number(min(exact_margin(value) for value in exact))] if exact else []
        soft = [value for value in column.values if not isinstance(value, int | Fraction)]
        if soft:
            least.append(self.arithmetic.least_margin(soft))
        return self.arithmetic.ranked(least, len(least))

    def combine(self, form: Terms, bias: Rational, columns: Sequence[Column], n: int) -> Column:
        """The column of a linear form plus a bias; exact if every coordinate it reads is, and exact at a position
        where they are."""
        exact: list[Rational] = [bias] * n
        soft: list[Value] | None = None
        for index, coefficient in form:
            column = columns[index]
            if column.exact:
                if coefficient == 1:
                    exact = [old + value for old, value in zip(exact, column.values, strict=True)]
                else:
                    exact = [old + coefficient * value for old, value in zip(exact, column.values, strict=True)]
            else:
                factor = self.arithmetic.number(coefficient)
                scaled = [
                    coefficient * value if isinstance(value, int | Fraction) else factor * value
                    for value in column.values
                ]
                soft = scaled if soft is None else [self._plus(a, b) for a, b in zip(soft, scaled, strict=True)]
        if soft is None:
            return Column(list(exact))
        return Column([self._plus(a, b) for a, b in zip(soft, exact, strict=True)], exact=False)

    def _plus(self, left: Value, right: Value) -> Value:
        """The sum of two values, exact if both are."""
        if isinstance(left, int | Fraction):
            return left + right if isinstance(right, int | Fraction) else self.arithmetic.number(left) + right
        return left + self._number(right)

    def _number(self, value: Value) -> Any:
        return self.arithmetic.number(value) if isinstance(value, int | Fraction) else value

    def _add(self, left: Column, right: Column) -> Column:
        if left.exact and not any(left.values):
            return right
        n = len(left.values)
        return self.combine(((0, 1), (1, 1)), 0, [left, right], n)

    def _average(self, column: Column, mask: Mask) -> Column:
        """The mean over the visible positions: exact if the values are."""
        values, n = column.values, len(column.values)
        if not column.exact:
            values = [self._number(value) for value in values]
        if mask is Mask.NONE:
            return Column([self._divide(_sum(values), n)] * n, column.exact)
        if mask.strict or (self.model.bos and mask is Mask.PAST):
            seen = [View.of(mask, i, n, self.model.bos).take(values) for i in range(n)]
            return Column([self._divide(_sum(row), len(row)) for row in seen], column.exact)
        ordered = values if mask is Mask.FUTURE else values[::-1]
        means = [self._divide(total, count) for count, total in enumerate(accumulate(ordered), start=1)]
        return Column(means if mask is Mask.FUTURE else means[::-1], column.exact)

    def _divide(self, total: Value, count: int) -> Value:
        return Fraction(total, count) if isinstance(total, int | Fraction) else total / self.arithmetic.number(count)


def _sum(values: list[Value]) -> Value:
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total


def exact_margin(value: Rational) -> Fraction:
    """The margin of a clip's input `2x - 1/2`, in units of x: the distance from the nearest threshold, negative in
    between."""
    return Fraction(max(-value, value - 1)) / 2
