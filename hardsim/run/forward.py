"""One forward pass, written once for any number type.

A value is exact (an int or Fraction) as long as it was made from exact parts only: embeddings, encodings, uniform
attention, clips that saturate. Softmax outputs are numbers of the arithmetic. Logits of exact inputs are exact
rationals, so the only error in an attended value comes from exp, the sums and one division.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import field, replace
from fractions import Fraction
from functools import partial
from itertools import count, cycle
from math import isqrt, lcm
from operator import add
from typing import Any, Generic, TypeVar

import numpy as np

from hardsim.errors import InputError
from hardsim.lang.reals import Real, RealNumber
from hardsim.lazy_dataclass import dataclass
from hardsim.network.numbers import plain
from hardsim.network.transformer import AttentionHead, Entering, FeedForward, HiddenUnit, Layer, Transformer
from hardsim.run.arithmetic import Arithmetic, Column, T, Value, is_exact, lift, linear
from hardsim.run.attention import MEMO_LENGTH, WordHead, exponentials
from hardsim.run.float_rows import Views

HALF = Fraction(1, 2)
MEMO_SIZE = 10_000
"""The greatest number of cached outputs of heads and hidden units."""

M = TypeVar("M")


@dataclass
class Trace(Generic[T]):
    """The results of a network on one word.

    `columns` is the residual stream after the last layer, by coordinate. `attended` is the output column of each
    head, by head name and coordinate. `least_margin` is the smallest distance of a rounded value from its threshold
    (a clip `2x - 1/2` has its thresholds at x = 1/4 and 3/4; distances are in x). `inputs` are the inputs of all
    hidden units at the last position, by layer. `unsettled` counts the inputs of rounding clips of which the
    arithmetic cannot tell whether the clip saturates.
    """

    columns: list[Column]
    index: int = -1
    """The index of the reading position."""
    entering: list[Column] = field(default_factory=list)
    """The residual stream that enters the first layer."""
    layers: list[tuple[list[Column], list[Column]]] = field(default_factory=list)
    """By layer, the residual stream after attention and after the feed-forward layer."""
    attended: dict[str, dict[int, Column]] = field(default_factory=dict)
    least_margin: T | None = None
    inputs: list[list[Value]] = field(default_factory=list)
    unsettled: int = 0

    def output(self, model: Transformer) -> Value:
        """Return the output coordinate at the reading position."""
        return self.columns[model.output].values[self.index]


@dataclass(frozen=True, slots=True)
class Hidden(Generic[T]):
    """The result of a hidden unit: its column, its input at the last position and, if it rounds, its least margin and
    the number of positions at which it is unsettled."""

    column: Column
    last: Value
    margin: T | None
    unsettled: int


class Forward(Generic[T]):
    """A network prepared to run in one arithmetic.

    Results that depend only on the length are kept until the length changes, and exponentials until there are too
    many: words share most of them. Without `margins`, traces have no least margin, and count nothing as unsettled.
    """

    def __init__(self, model: Transformer, arithmetic: Arithmetic[T], margins: bool = True) -> None:
        self.model, self.margins = model, margins
        self.arithmetic = arithmetic
        self._product = exponentials(arithmetic)
        self._letters: dict[int, Entering] = {}
        self._length = 0
        self._base: list[Column] = []
        self._heads: list[list[WordHead[T]]] = []
        self._memo: dict[Hashable, Any] = {}
        self._names: dict[tuple[Value, ...], int] = {}
        """The serial numbers of exact columns, by their values."""
        self._serials = count(1)
        self._units: dict[tuple[int, int], dict[tuple[Value, ...], tuple[Value, Value]]] = {}
        """By layer and number of a hidden unit, its inputs and outputs where all that it reads is exact, by the values
        read."""

    def run(self, word: Sequence[str]) -> Trace[T]:
        """Run the network on a non-empty word over its alphabet."""
        if len(word) != self._length:
            self._prepare(len(word))
        index = self.model.symbol_index
        rows = np.array([len(index)] * self.model.bos + [index[symbol] for symbol in word], dtype=np.int64)
        columns = list(self._base)
        for place, letter in self._letters.items():
            held, base = [letter.values[row] for row in letter.places(rows).tolist()], columns[place]
            columns[place] = Column(list(map(add, held, base.values))) if base.exact else self._add(Column(held), base)
        trace: Trace[T] = Trace(columns, self.model.reading_index(len(word)), list(columns))
        for number, (layer, heads) in enumerate(zip(self.model.layers, self._heads, strict=True)):
            self._attention(number, layer, heads, trace)
            if layer.norm_1 is not None:
                trace.columns = self._normalized(trace.columns, layer.norm_1)
            trace.columns = self._rounded(trace.columns)
            attended = list(trace.columns)
            self._feed_forward(number, layer.ffn, trace)
            if layer.norm_2 is not None:
                trace.columns = self._normalized(trace.columns, layer.norm_2)
            trace.columns = self._rounded(trace.columns)
            trace.layers.append((attended, list(trace.columns)))
        return trace

    def weights(self, trace: Trace[T]) -> Iterator[tuple[int, AttentionHead, list[list[Value]]]]:
        """Yield the number of the layer (from 0), the head and its attention weights, one row of all positions for
        each query, for the word that was run last. Small weights are included."""
        entering = trace.entering
        for number, (layer, heads) in enumerate(zip(self.model.layers, self._heads, strict=True)):
            for head, means in zip(layer.heads, heads, strict=True):
                yield number, head, means.shares(entering)
            _, entering = trace.layers[number]

    def _prepare(self, n: int) -> None:
        """Prepare position encodings and heads, with the temperatures of a length."""
        model, positions = self.model, range(self.model.first, n + 1)
        values, self._letters = model.entering(n)
        self._base = [self._encoded(column, index not in self._letters) for index, column in enumerate(values)]
        inverse = model.inverse_temperatures(n)
        views = {mask: Views(mask, len(positions), model.bos) for mask in {head.mask for head in model.heads}}
        self._heads = [
            [
                WordHead(head, self.arithmetic, self._product, inverse, views[head.mask], model.weighting)
                for head in layer.heads
            ]
            for layer in model.layers
        ]
        self._length = n
        self._memo.clear()
        self._names.clear()

    def _encoded(self, column: Sequence[RealNumber], static: bool) -> Column:
        """Return the position encoding of a coordinate as a column, exact if it is rational."""
        number = self.arithmetic.number
        values = [number(value) if isinstance(value, Real) else value for value in column]
        return Column(values, not any(isinstance(value, Real) for value in column), static)

    def _remembered(self, what: Hashable, reads: Iterable[int], columns: Sequence[Column], made: Callable[[], M]) -> M:
        """Return the result that a part of the network makes from the columns `reads`, from the cache if possible.

        The cache key consists of the columns' serial numbers.
        """
        inputs = [columns[index] for index in reads if not columns[index].static]
        if self._length > MEMO_LENGTH or not all(map(self._numbered, inputs)):
            return made()
        key = (what, *(column.serial for column in inputs))
        if key not in self._memo:
            if len(self._memo) >= MEMO_SIZE:
                self._memo.clear()
                self._names.clear()
            self._memo[key] = made()
        found: M = self._memo[key]
        return found

    def _numbered(self, column: Column) -> bool:
        """Give an exact column without a serial number the one of its values; return True if the column has one."""
        if column.serial is None and column.exact:
            column.serial = self._names.setdefault(tuple(column.values), next(self._serials))
        return column.serial is not None

    def _attention(self, number: int, layer: Layer, heads: Sequence[WordHead[T]], trace: Trace[T]) -> None:
        outputs: list[tuple[int, Column]] = []
        for index, (head, means) in enumerate(zip(layer.heads, heads, strict=True)):
            made = partial(self._means, head, means, trace.columns)
            attended = self._remembered(("head", number, index), head.reads, trace.columns, made)
            trace.attended[head.name] = {out: column for (out, _), column in zip(head.values, attended, strict=True)}
            outputs += trace.attended[head.name].items()
        for out, column in outputs:
            trace.columns[out] = self._add(trace.columns[out], column)

    def _means(self, head: AttentionHead, means: WordHead[T], columns: Sequence[Column]) -> list[Column]:
        """Return the output columns of a head."""
        attended = means.attend(columns, [linear(self.arithmetic, form, columns) for _, form in head.values])
        return [replace(column, serial=self._serial(column.exact)) for column in attended]

    def _serial(self, exact: bool) -> int | None:
        """Return the serial number of a new column. Exact columns are numbered by their values, when they are read."""
        return None if exact else next(self._serials)

    def _feed_forward(self, number: int, layer: FeedForward, trace: Trace[T]) -> None:
        arithmetic, n = self.arithmetic, len(trace.columns[0].values)
        sums: dict[int, Column] = {out: Column([bias] * n) for out, bias in layer.biases}
        last: list[Value] = []
        for index, unit in enumerate(layer.units):
            reads = [place for place, _ in unit.reads]
            made = partial(self._hidden, unit, trace.columns, self._units.setdefault((number, index), {}))
            hidden = self._remembered(("unit", number, index), reads, trace.columns, made)
            last.append(hidden.last)
            trace.unsettled += hidden.unsettled
            if hidden.margin is not None:
                margins = [hidden.margin] if trace.least_margin is None else [hidden.margin, trace.least_margin]
                trace.least_margin = arithmetic.ranked(margins, len(margins))
            for out, weight in unit.outs:
                scaled = hidden.column if weight == 1 else linear(arithmetic, ((0, weight),), [hidden.column])
                sums[out] = self._add(sums[out], scaled) if out in sums else scaled
        trace.inputs.append(last)
        for out, column in sums.items():
            trace.columns[out] = self._add(trace.columns[out], column)

    def _hidden(
        self, unit: HiddenUnit, columns: Sequence[Column], known: dict[tuple[Value, ...], tuple[Value, Value]]
    ) -> Hidden[T]:
        """Return the result of a hidden unit at every position, with its margin if it rounds. `known` are its input and
        output for exact values that it has read."""
        read = [columns[place] for place, _ in unit.reads]
        if read and all(column.exact for column in read):
            entering, values = self._exact_unit(unit, read, known)
        else:
            entering = linear(self.arithmetic, unit.form, columns, unit.bias).values
            caps = linear(self.arithmetic, unit.cap, columns, unit.cap_bias).values if unit.cap else [unit.cap_bias]
            values = [self._activate(unit, *pair) for pair in zip(entering, cycle(caps), strict=False)]
        exact = all(map(is_exact, values))
        column = Column(values, exact, serial=self._serial(exact))
        if not (self.margins and self.model.rounds(unit)):
            return Hidden(column, entering[-1], None, 0)
        number, soft = self.arithmetic.number, [value for value in entering if not is_exact(value)]
        margins = [margin(value, number(HALF)) for value in soft]
        if len(soft) < len(values):
            margins.append(number(min(margin(value, HALF) for value in entering if is_exact(value))))
        least = self.arithmetic.ranked(margins, len(margins))
        return Hidden(column, entering[-1], least, sum(not settled(value) for value in soft))

    def _exact_unit(
        self, unit: HiddenUnit, read: Sequence[Column], known: dict[tuple[Value, ...], tuple[Value, Value]]
    ) -> tuple[list[Value], list[Value]]:
        """Return the inputs and outputs of a unit that reads exact columns. Most of these are bits, so few of their
        combinations are new."""
        keys = list(zip(*(column.values for column in read), strict=True))
        fresh = [key for key in dict.fromkeys(keys) if key not in known]
        if fresh:
            if len(known) + len(fresh) > MEMO_SIZE:
                known.clear()
                fresh = list(dict.fromkeys(keys))
            some = [Column(list(values)) for values in zip(*fresh, strict=True)]
            terms = tuple((place, weight) for place, (_, weight) in enumerate(unit.reads))
            form, cap = terms[: len(unit.form)], terms[len(unit.form) :]
            entering = linear(self.arithmetic, form, some, unit.bias).values
            caps = linear(self.arithmetic, cap, some, unit.cap_bias).values if cap else [unit.cap_bias]
            found = zip(entering, cycle(caps), strict=False)
            known.update((key, (pair[0], self._activate(unit, *pair))) for key, pair in zip(fresh, found, strict=False))
        pairs = [known[key] for key in keys]
        return [entering for entering, _ in pairs], [value for _, value in pairs]

    def _activate(self, unit: HiddenUnit, value: Value, cap: Value) -> Value:
        arithmetic = self.arithmetic
        if is_exact(value) and (is_exact(cap) or not unit.clip):
            return plain(max(value, 0) - max(value - cap, 0) if unit.clip else max(value, 0))
        if not unit.clip:
            return arithmetic.relu(value)
        if is_exact(cap) and cap in (0, 1):
            return arithmetic.clip(value) if cap else 0
        value, minus = lift(arithmetic, value), arithmetic.number(-1)
        above = lift(arithmetic, arithmetic.relu(value + minus * lift(arithmetic, cap)))
        return lift(arithmetic, arithmetic.relu(value)) + minus * above

    def _rounded(self, columns: list[Column]) -> list[Column]:
        """Return all coordinates as the network rounds them."""
        rounding = self.model.rounding
        if rounding is None:
            return columns
        # Its values are rational, as `require_rational` ensures; integers stay as they are.
        return [
            column
            if all(isinstance(value, int) for value in column.values)
            else Column([rounding.of(value) for value in column.values])
            for column in columns
        ]

    def _normalized(self, columns: Sequence[Column], epsilon: Fraction) -> list[Column]:
        """Return all coordinates after a norm. A row of rationals stays rational if its root is."""
        rows = zip(*(column.values for column in columns), strict=True)
        found = zip(*(self._normalized_row(row, epsilon) for row in rows), strict=True)
        return [Column(list(values), all(map(is_exact, values))) for values in found]

    def _normalized_row(self, row: Sequence[Value], epsilon: Fraction) -> list[Value]:
        """Return (x - mean) / sqrt(variance + epsilon). Raises InputError if that is 0 / 0."""
        d, arithmetic = len(row), self.arithmetic
        if all(map(is_exact, row)):
            # Over one denominator, integers are added: most coordinates are 0, and Fractions are slow.
            over = lcm(*{value.denominator for value in row})
            whole = [value.numerator * (over // value.denominator) if value else 0 for value in row]
            if total := sum(whole):
                whole, over = [value * d - total for value in whole], over * d
            square = Fraction(sum(value * value for value in whole), d * over * over) + epsilon
            if not square:
                message = "a layer norm with epsilon 0 divides by 0: the coordinates of a position are all equal"
                raise InputError(message, "Give the norm a positive epsilon, or the row a coordinate that differs.")
            root = rational_root(square)
            if root is not None:
                found = {value: plain(value / (root * over)) for value in set(whole)}
                return [found[value] for value in whole]
            divisor = arithmetic.sqrt(arithmetic.number(square))
            return [arithmetic.number(Fraction(value, over)) / divisor if value else 0 for value in whole]
        numbers = [lift(arithmetic, value) for value in row]
        size = arithmetic.number(d)
        middle = arithmetic.total(numbers) / size
        numbers = [value - middle for value in numbers]
        mean_square = arithmetic.total([value * value for value in numbers]) / size
        divisor = arithmetic.sqrt(mean_square + arithmetic.number(epsilon))
        return [value / divisor for value in numbers]

    def _add(self, left: Column, right: Column) -> Column:
        if left.exact and not any(left.values):
            return right
        return linear(self.arithmetic, ((0, 1), (1, 1)), [left, right])


def rational_root(square: Fraction) -> Fraction | None:
    """Return the square root of a positive rational if it is rational, and None otherwise."""
    top, bottom = isqrt(square.numerator), isqrt(square.denominator)
    return Fraction(top, bottom) if top * top == square.numerator and bottom * bottom == square.denominator else None


def margin(value: Value, half: Value) -> Value:
    """Return the margin of a clip's input `z = 2x - 1/2`: max(-z, z - 1)/2, in units of x. It is the distance from
    the nearest threshold, negative in between."""
    return (abs(value - half) - half) / 2


def settled(value: Value) -> bool:
    """Return True if it is certain that a clip's input is at most 0, at least 1, or strictly between."""
    return bool(value <= 0 or value >= 1 or (value > 0 and value < 1))
