"""A transformer as data: rational matrices that do not depend on the length, and what may depend on it.

With d coordinates in the residual stream, x_i in Q^d:

    x_i = WE[w_i] + PE_n(i)
    s_ij = (W_Q x_i) . (W_K x_j),  alpha_i = softmax(s_i / tau) over the visible j
    c_i = x_i + sum over heads, j of alpha_ij W_V x_j
    y_i = c_i + W_2 relu(W_1 c_i + b_1) + b_2

Only PE and tau are functions of n (and i). A head of a hard-attention model has the mean over the positions of the
largest score, or the leftmost or rightmost of them, in place of softmax. Positions are 1..n; a model with a beginning
of sequence has a position 0 besides, which every query sees.

The word is accepted iff coordinate `output` at the reading position is exactly 1 and rejected iff it is exactly 0;
anything between is undecided. With a `threshold`, above it means accepted and below it rejected.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

from hardsim.errors import InputError, OutOfRange
from hardsim.lang.arith import Arith
from hardsim.net.tables import LengthTable
from hardsim.spec.columns import PositionFunction
from hardsim.spec.ir import Mask, Rational, Weighting

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

    def row(self, index: int) -> dict[int, Rational]:
        """The non-zero entries of one row, by column."""
        return {column: value for row, column, value in self.entries if row == index}

    def rows(self) -> list[dict[int, Rational]]:
        """The non-zero entries of every row, by column."""
        result: list[dict[int, Rational]] = [{} for _ in range(self.shape[0])]
        for row, column, value in self.entries:
            result[row][column] = value
        return result

    def dense(self) -> list[list[Rational]]:
        """All entries, row by row."""
        return [[row.get(column, 0) for column in range(self.shape[1])] for row in self.rows()]


@dataclass(frozen=True, slots=True)
class AttentionHead:
    """W_Q and W_K are k x d, W_V is d x d; k = 0 is uniform attention (every score is 0)."""

    name: str
    mask: Mask
    w_q: Matrix
    w_k: Matrix
    w_v: Matrix
    weighting: Weighting = Weighting.SOFTMAX
    gap: Arith | None = None
    """The declared score gap of a hard head, in i and n: the largest score of a row minus the next smaller one."""

    @property
    def uniform(self) -> bool:
        """Whether every score is 0 whatever the input: W_Q or W_K has no entry."""
        return not self.w_q.entries or not self.w_k.entries


@dataclass(frozen=True, slots=True)
class FeedForward:
    """`y = c + W_2 relu(W_1 c + b_1) + b_2` with W_1 m x d, b_1 in Q^m, W_2 d x m, b_2 in Q^d."""

    w1: Matrix
    b1: tuple[Rational, ...]
    w2: Matrix
    b2: tuple[Rational, ...]


@dataclass(frozen=True, slots=True)
class Layer:
    """Attention heads whose outputs are added to the residual stream, then a feed-forward network."""

    heads: tuple[AttentionHead, ...]
    ffn: FeedForward


@dataclass(frozen=True)
class Transformer:
    """The whole network. `coordinates` names the d coordinates, for readers; the arithmetic uses indices only."""

    alphabet: tuple[str, ...]
    coordinates: tuple[str, ...]
    embedding: Matrix
    """|alphabet| x d: the word embedding, one row per symbol; with `bos` one more, the last, for position 0."""
    encodings: tuple[tuple[int, PositionFunction], ...]
    """The position encoding: coordinate index and value, an expression in i and n."""
    layers: tuple[Layer, ...]
    temperature: Schedule
    """tau, an expression in n, or in the query position i where every head is future-masked."""
    output: int
    bos: bool = False
    threshold: Rational | None = None
    reading: Literal["first", "last"] = "last"
    """The position at which the output is read: n, or 1."""

    @property
    def dimension(self) -> int:
        """d, the width of the residual stream."""
        return len(self.coordinates)

    @property
    def heads(self) -> tuple[AttentionHead, ...]:
        """All heads in order of the layers."""
        return tuple(head for layer in self.layers for head in layer.heads)

    @property
    def soft(self) -> bool:
        """Whether every head is softmax (or uniform, which is the same in every weighting but leftmost, rightmost)."""
        return all(head.weighting is Weighting.SOFTMAX for head in self.heads)

    @property
    def first(self) -> int:
        """The first position: 0 with a beginning of sequence, else 1."""
        return 0 if self.bos else 1

    def reading_index(self, n: int) -> int:
        """The index of the reading position among the positions of a word of length n."""
        return (n if self.reading == "last" else 1) - self.first

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
        """The row of each symbol in the embedding."""
        return {symbol: index for index, symbol in enumerate(self.alphabet)}

    def inverse_temperature(self, i: int, n: int) -> Fraction:
        """1/tau at query position i of n.

        Raises:
            InputError: if tau is zero or negative there, or OutOfRange beyond HOTTEST or COLDEST.
        """
        tau = self.temperature.evaluate(i=i, n=n)
        if tau <= 0:
            raise InputError(
                f"the temperature {self.temperature} is {tau} at i = {i}, n = {n}",
                hint="A temperature must be positive at every position of every length tried.",
            )
        if not COLDEST <= tau <= HOTTEST:
            raise OutOfRange(
                f"the temperature {self.temperature} is {'more than 2^1023' if tau > 1 else 'less than 2^-4096'} "
                f"at i = {i}, n = {n}",
                hint="Multiply W_Q and the temperature by the same number: the logits stay as they are.",
            )
        return 1 / tau
