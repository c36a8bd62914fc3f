"""A transformer as data: rational matrices that do not depend on the length, and what may depend on it.

With d coordinates in the residual stream, x_i in Q^d:

    x_i = WE[w_i] + PE_n(i)
    s_ij = (W_Q x_i) . (W_K x_j),  alpha_i = softmax(s_i / tau) over the visible j
    c_i = x_i + sum over heads, j of alpha_ij W_V x_j
    y_i = c_i + W_2 relu(W_1 c_i + b_1) + b_2

Only PE and tau are functions of n (and i). Positions are 1..n; a network with a beginning of sequence has a position 0
besides, which every query sees.

The word is accepted iff coordinate `output` at the reading position is exactly 1 and rejected iff it is exactly 0;
anything between is undecided. With a `threshold`, above it means accepted and below it rejected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import add
from typing import TYPE_CHECKING, Any, Literal

from hardsim.errors import InputError, OutOfRange
from hardsim.lang.arith import Arith
from hardsim.lang.ast import BOS
from hardsim.lang.reals import Real, RealNumber, SignUnknown, sign
from hardsim.lang.valuations import Alphabet, Numbering, Valuations, members_of
from hardsim.network.columns import PositionFunction, real_value
from hardsim.network.numbers import Mask, Rational, plain

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class PositionTable:
    """A position encoding with the value `values[k]` at position `start + k` and `otherwise` at all others."""

    start: int
    values: tuple[Rational, ...]
    otherwise: Rational = 0

    @property
    def variables(self) -> frozenset[str]:
        """The position alone."""
        return frozenset({"i"})

    def evaluate(self, **given: int) -> Fraction:
        """The value at position i."""
        place = given["i"] - self.start
        return Fraction(self.values[place] if 0 <= place < len(self.values) else self.otherwise)

    def __str__(self) -> str:
        shown = ", ".join(str(value) for value in self.values)
        return f"table from {self.start}: {shown}; otherwise {self.otherwise}"


@dataclass(frozen=True, slots=True)
class LengthTable:
    """A function of the length: `values[n - 1]` at length n; it is not defined beyond."""

    values: tuple[Fraction, ...]
    what: str = "temperature"

    @property
    def variables(self) -> frozenset[str]:
        """The length alone."""
        return frozenset({"n"})

    def evaluate(self, **given: int) -> Fraction:
        """The value at length n.

        Raises:
            OutOfRange: if the table does not reach so far.
        """
        n = given["n"]
        if not 1 <= n <= len(self.values):
            raise OutOfRange(
                f"the {self.what} of this model is known for lengths 1 to {len(self.values)}, not for {n}",
                hint=f"--max-n {len(self.values)} goes as far as that; or compile the model with --max-n {n} or more, "
                "or give a temperature for all lengths with --tau.",
            )
        return self.values[n - 1]

    def __str__(self) -> str:
        return f"table of lengths 1 to {len(self.values)}"


HOTTEST, COLDEST = 2**1023, Fraction(1, 2**4096)
"""The largest and the least temperature. No float64, and so no network that is run anywhere, divides by more; below the
least the digits of logits cost more time than the words."""
Entry = tuple[int, int, Rational]
Schedule = Arith | LengthTable
"""A temperature."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """A sparse rational matrix: `shape` is (rows, columns), `entries` the non-zero (row, column, value), sorted."""

    shape: tuple[int, int]
    entries: tuple[Entry, ...] = ()

    @staticmethod
    def of(rows: int, columns: int, entries: dict[tuple[int, int], Rational]) -> Matrix:
        """Build from a dictionary; zeros are dropped."""
        kept = sorted((row, column, value) for (row, column), value in entries.items() if value)
        return Matrix((rows, columns), tuple(kept))

    def rows(self) -> list[dict[int, Rational]]:
        """The non-zero entries of every row, by column."""
        result: list[dict[int, Rational]] = [{} for _ in range(self.shape[0])]
        for row, column, value in self.entries:
            result[row][column] = value
        return result

    def dense(self) -> list[list[Rational]]:
        """All entries, row by row."""
        return [[row.get(column, 0) for column in range(self.shape[1])] for row in self.rows()]


Terms = tuple[tuple[int, Rational], ...]
"""A linear form: (coordinate, coefficient) pairs."""


@dataclass(frozen=True)
class AttentionHead:
    """W_Q and W_K are k x d, W_V is d x d; k = 0 is uniform attention (every score is 0)."""

    name: str
    mask: Mask
    w_q: Matrix
    w_k: Matrix
    w_v: Matrix

    @cached_property
    def scores(self) -> tuple[tuple[Terms, Terms], ...]:
        """The rows of W_Q and W_K in pairs, as far as neither is 0."""
        pairs = zip(self.w_q.rows(), self.w_k.rows(), strict=True)
        return tuple((tuple(query.items()), tuple(key.items())) for query, key in pairs if query and key)

    @cached_property
    def values(self) -> tuple[tuple[int, Terms], ...]:
        """The rows of W_V that are not 0, by output coordinate."""
        return tuple((row, tuple(form.items())) for row, form in enumerate(self.w_v.rows()) if form)

    @cached_property
    def reads(self) -> tuple[int, ...]:
        """The coordinates that scores and values depend on."""
        forms = [*(form for pair in self.scores for form in pair), *(form for _, form in self.values)]
        return tuple(sorted({place for form in forms for place, _ in form}))


@dataclass(frozen=True, slots=True)
class HiddenUnit:
    """Adds `weight * f(form + bias)` to each coordinate of `outs`, f = clip to [0, 1] or relu."""

    form: Terms
    bias: Rational
    outs: Terms
    clip: bool


@dataclass(frozen=True)
class FeedForward:
    """`y = c + W_2 relu(W_1 c + b_1) + b_2` with W_1 m x d, b_1 in Q^m, W_2 d x m, b_2 in Q^d."""

    w1: Matrix
    b1: tuple[Rational, ...]
    w2: Matrix
    b2: tuple[Rational, ...]

    @cached_property
    def biases(self) -> Terms:
        """The entries of b_2 that are not 0, by coordinate."""
        return tuple((index, bias) for index, bias in enumerate(self.b2) if bias)

    @cached_property
    def units(self) -> tuple[HiddenUnit, ...]:
        """The hidden units that write something, with `relu(z) - relu(z - 1)` pairs fused into clips."""
        forms = [tuple(sorted(row.items())) for row in self.w1.rows()]
        outs: list[dict[int, Rational]] = [{} for _ in forms]
        for row, column, value in self.w2.entries:
            outs[column][row] = value
        targets = [tuple(sorted(out.items())) for out in outs]
        waiting: dict[tuple[Terms, Rational, Terms], list[int]] = {}
        for index, form in enumerate(forms):
            mirrored = tuple((row, -value) for row, value in targets[index])
            waiting.setdefault((form, self.b1[index] + 1, mirrored), []).append(index)
        clips: set[int] = set()
        seconds: set[int] = set()
        for index, form in enumerate(forms):
            others = waiting.get((form, self.b1[index], targets[index]), [])
            second = next((other for other in others if other not in clips and other not in seconds), None)
            if targets[index] and index not in seconds and second is not None:
                clips.add(index)
                seconds.add(second)
        return tuple(
            HiddenUnit(form, self.b1[index], targets[index], index in clips)
            for index, form in enumerate(forms)
            if targets[index] and index not in seconds
        )


@dataclass(frozen=True, slots=True)
class Layer:
    """Attention heads whose outputs are added to the residual stream, then a feed-forward network."""

    heads: tuple[AttentionHead, ...]
    ffn: FeedForward


class Placed:
    """What follows from where words begin and are read, for networks and programs alike."""

    bos: bool
    """Whether there is a position 0, a beginning of sequence."""
    reading: Literal["first", "last"]
    """The position at which the output is read: 1, or n."""

    @property
    def first(self) -> int:
        """The first position: 0 with a beginning of sequence, else 1."""
        return 0 if self.bos else 1

    def reading_index(self, n: int) -> int:
        """The index of the reading position among the positions of a word of length n."""
        return (n if self.reading == "last" else 1) - self.first


EVERY_SET = "{}"
"""The row of an embedding over sets of propositions for what every position has."""
MOST_MIXED = 16
"""Propositions of which one coordinate of the word embedding is a sum."""


def rows_of(alphabet: Alphabet, bos: bool) -> tuple[str, ...]:
    """The names of the rows of a word embedding."""
    if isinstance(alphabet, Valuations):
        return (*alphabet.props, EVERY_SET)
    return (*alphabet, BOS) if bos else alphabet


@dataclass(frozen=True)
class Entering:
    """What the symbols of a word add to a coordinate: the values that there are, and by the propositions that decide
    between them (the stride and the table of their digits) the places among them; without any, values are by symbol."""

    values: list[Rational]
    digits: tuple[tuple[int, list[bool]], ...] | None = None

    @staticmethod
    def of_propositions(alphabet: Valuations, held: Sequence[Rational]) -> Entering:
        """What each proposition adds where it holds.

        Raises:
            InputError: if more than MOST_MIXED add something.
        """
        parts = [(name, value) for name, value in zip(alphabet.props, held, strict=True) if value]
        if len(parts) > MOST_MIXED:
            told = f"a coordinate of the word embedding is a sum of {len(parts)} propositions"
            raise InputError(told, f"Add up at most {MOST_MIXED} there, and more in a feed-forward network.")
        values: list[Rational] = [0]
        for _, value in parts:
            values += [value + other for other in values]
        return Entering(values, tuple(alphabet.digit(name) for name, _ in parts))

    def places(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """The place of the value of each symbol, for an array of symbol numbers."""
        import numpy as np

        if self.digits is None:
            return numbers
        found = np.zeros_like(numbers)
        for bit, (stride, table) in enumerate(self.digits):
            found |= np.array(table, dtype=np.int64)[numbers // stride % len(table)] << bit
        return found


@dataclass(frozen=True)
class Transformer(Placed):
    """The whole network. `coordinates` names the d coordinates, for readers; the arithmetic uses indices only."""

    alphabet: Alphabet
    coordinates: tuple[str, ...]
    embedding: Matrix
    """|alphabet| x d: the word embedding, one row per symbol; with `bos` one more, the last, for position 0. Over sets
    of k propositions (k + 1) x d: a row for each proposition, and last one for all positions, `{}` included; what
    enters at a position is the sum of the rows of what holds there and of the last."""
    encodings: tuple[tuple[int, PositionFunction], ...]
    """The position encoding: coordinate index and value, an expression in i and n."""
    layers: tuple[Layer, ...]
    temperature: Schedule
    """tau, an expression in n, or in the query position i where every head is future-masked."""
    output: int
    bos: bool = False
    threshold: Rational | None = None
    reading: Literal["first", "last"] = "last"

    @property
    def dimension(self) -> int:
        """d, the width of the residual stream."""
        return len(self.coordinates)

    @property
    def heads(self) -> tuple[AttentionHead, ...]:
        """All heads in order of the layers."""
        return tuple(head for layer in self.layers for head in layer.heads)

    @cached_property
    def attended(self) -> frozenset[int]:
        """The coordinates that attention writes."""
        return frozenset(out for head in self.heads for out, _ in head.values)

    def rounds(self, unit: HiddenUnit) -> bool:
        """Whether a unit is a clip that reads what attention wrote: this is where a soft value is rounded."""
        return unit.clip and any(coordinate in self.attended for coordinate, _ in unit.form)

    @property
    def parameters(self) -> int:
        """The number of non-zero parameters: embedding, W_Q, W_K, W_V, W_1, b_1, W_2, b_2."""
        count = len(self.embedding.entries)
        for layer in self.layers:
            count += sum(len(m.entries) for head in layer.heads for m in (head.w_q, head.w_k, head.w_v))
            count += len(layer.ffn.w1.entries) + len(layer.ffn.w2.entries)
            count += sum(1 for bias in (*layer.ffn.b1, *layer.ffn.b2) if bias)
        return count

    @cached_property
    def symbol_index(self) -> dict[str, int]:
        """The number of each symbol: its row in the embedding, except over sets of propositions."""
        return Numbering(self.alphabet)

    def by_symbol(self, coordinate: int) -> list[Rational]:
        """What the word embedding has of a coordinate for each symbol, which are all listed."""
        values = [row.get(coordinate, 0) for row in self.embedding.rows()]
        if not isinstance(self.alphabet, Valuations):
            return values
        added = dict(zip(self.alphabet.props, values, strict=False))
        return [plain(values[-1] + sum(added[name] for name in members_of(symbol))) for symbol in self.alphabet]

    def entering(self, n: int) -> tuple[list[list[RealNumber]], dict[int, Entering]]:
        """What enters the first layer at the positions of words of length n, by coordinate: the part that is the same
        for every word, and where symbols differ what they add to it."""
        positions = range(self.first, n + 1)
        values: list[list[RealNumber]] = [[0] * len(positions) for _ in range(self.dimension)]
        for index, encoding in self.encodings:
            found = [real_value(encoding, i, n) for i in positions]
            added = [value if isinstance(value, Real) else plain(value) for value in found]
            values[index] = list(map(add, values[index], added))
        letters: dict[int, Entering] = {}
        rows = self.embedding.rows()
        for index in sorted({column for _, column, _ in self.embedding.entries}):
            letter = [row.get(index, 0) for row in rows]
            if isinstance(self.alphabet, Valuations):
                *held, always = letter
                values[index] = [value + always for value in values[index]]
                if any(held):
                    letters[index] = Entering.of_propositions(self.alphabet, held)
            elif len(set(letter[: len(self.alphabet)])) > 1:
                letters[index] = Entering(letter)
            else:
                values[index] = list(map(add, values[index], letter[-1:] * self.bos + letter[:1] * n))
        return values, letters

    def inverse_temperatures(self, n: int) -> list[Fraction | Real]:
        """1/tau at every query position of words of length n. Raises as `inverse_temperature`."""
        positions = range(self.first, n + 1)
        if "i" not in self.temperature.variables:
            return [self.inverse_temperature(self.first, n)] * len(positions)
        return [self.inverse_temperature(i, n) for i in positions]

    def inverse_temperature(self, i: int, n: int) -> Fraction | Real:
        """1/tau at query position i of n.

        Raises:
            InputError: if tau has no value there, is zero or negative, or is not known not to be, or OutOfRange beyond
                HOTTEST or COLDEST.
        """
        tau, where = real_value(self.temperature, i, n), f"at i = {i}, n = {n}"
        positive = "A temperature must be positive at every position of every length tried."
        try:
            side, hot, cold = sign(tau), sign(tau, HOTTEST) > 0, sign(tau, COLDEST) < 0
        except SignUnknown:
            told = f"the temperature {self.temperature} is not known to be positive {where}: it is 0, or next to it"
            raise InputError(told, hint=positive) from None
        if side <= 0:
            raise InputError(f"the temperature {self.temperature} is {tau} {where}", hint=positive)
        if hot or cold:
            raise OutOfRange(
                f"the temperature {self.temperature} is {'more than 2^1023' if hot else 'less than 2^-4096'} {where}",
                hint="Multiply W_Q and the temperature by the same number: the logits stay as they are.",
            )
        # Its sign is known, so it is not 0.
        return Fraction(1) / tau if isinstance(tau, Fraction) else Real("/", (1, tau))
