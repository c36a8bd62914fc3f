"""A transformer as others make them: dense matrices, norms, activations, biases, a table of positions, an unembedding.

With d coordinates in the residual stream, m positions (those of all tokens that are read, from 0), x in R^(m x d):

    x = c W_E[tokens] + W_P[positions]
    pre-norm, layer by layer:   x += attention(norm_1(x)), then x += mlp(norm_2(x))
    post-norm:                  x = norm_1(x + attention(x)), then x = norm_2(x + mlp(x))
    attention(y) = b_O + sum over heads of softmax(scale (y W_Q + b_Q)(y W_K + b_K)^T) (y W_V + b_V) W_O
    mlp(y) = f(y W_in + b_in) W_out + b_out
    outputs = norm_f(x) W_U + b_U

Everything is the real function that the stored numbers define: an array of float64 holds these very dyadic rationals
(of narrower formats too, which float64 holds exactly), an array of objects holds Fractions. `scale`, and the embedding
scale c, are real numbers: a rational divided by the square root of an integer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from math import isqrt
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hardsim.errors import InputError, OutOfRange
from hardsim.lang.reals import RealNumber, apply
from hardsim.network.columns import PositionFunction, real_value
from hardsim.network.numbers import Mask

Dense: TypeAlias = NDArray[Any]
"""An exact array: float64, or objects that are Fractions."""
Token: TypeAlias = str | int | float | bool
"""What a token is called where it comes from: text, or a value of a RASP program."""


def entries(array: Dense) -> int:
    """How many entries are not 0."""
    return int(np.count_nonzero(array))


class Activation(StrEnum):
    """What hidden units compute, as real functions."""

    RELU = "relu"
    """max(x, 0)."""
    GELU = "gelu"
    """x (1 + erf(x / sqrt 2)) / 2."""
    GELU_NEW = "gelu_new"
    """x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2."""
    SILU = "silu"
    """x / (1 + e^-x)."""


@dataclass(frozen=True)
class Norm:
    """`(x - mean) / sqrt(var + epsilon) * weight + bias` over the coordinates (`layer`: variance with divisor d), or
    without subtracting the mean, `x / sqrt(mean of x^2 + epsilon) * weight + bias` (`rms`). None: 1 and 0."""

    kind: Literal["layer", "rms"]
    epsilon: Fraction
    weight: Dense | None = None
    """(d,)."""
    bias: Dense | None = None
    """(d,)."""

    def __post_init__(self) -> None:
        if self.epsilon < 0:
            raise InputError(f"a norm with the negative epsilon {self.epsilon}", "It must be 0 or more.")

    @property
    def arrays(self) -> tuple[Dense | None, ...]:
        """Its parameters."""
        return self.weight, self.bias


@dataclass(frozen=True, slots=True)
class RootScale:
    """The real number `factor / sqrt(root)`, which multiplies attention scores or embeddings."""

    factor: Fraction = Fraction(1)
    root: int = 1

    def __str__(self) -> str:
        if self.factor == self.root != 1:
            return f"sqrt({self.root})"
        return str(self.factor) if self.root == 1 else f"{self.factor}/sqrt({self.root})"

    @property
    def rational(self) -> Fraction | None:
        """Return the number if it is rational, and else None."""
        root = isqrt(self.root)
        return self.factor / root if root * root == self.root else None

    @property
    def real(self) -> RealNumber:
        """Return the number itself; a Real if it is irrational."""
        return self.factor / apply("sqrt", self.root)


_SCALE = re.compile(
    r"(?P<factor>[0-9]{1,300}(?:[.][0-9]{1,300}|/0*[1-9][0-9]{0,300})?)(?:/sqrt\((?P<below>[1-9][0-9]{0,30})\))?"
    r"|sqrt\((?P<above>[1-9][0-9]{0,30})\)",
    re.ASCII,
)


def parse_scale(text: str) -> RootScale | None:
    """Parse a positive number `p`, `p/q` or `p.q`, such a number `/sqrt(k)`, or `sqrt(k)`; return None for any other
    text."""
    found = _SCALE.fullmatch(text)
    if found is None:
        return None
    root = int(found["above"] or found["below"] or 1)
    scale = RootScale(Fraction(root if found["above"] else found["factor"]), root)
    return scale if scale.factor > 0 else None


@dataclass(frozen=True)
class NetworkHead:
    """One head with keys of width k and values of width v: w_q and w_k (d, k), w_v (d, v), w_o (v, d); biases (k,),
    (k,), (v,), None for 0."""

    name: str
    mask: Mask
    """NONE, FUTURE (key <= query) or PAST (key >= query): every query sees its own position."""
    scale: RootScale
    w_q: Dense
    w_k: Dense
    w_v: Dense
    w_o: Dense
    b_q: Dense | None = None
    b_k: Dense | None = None
    b_v: Dense | None = None

    @property
    def arrays(self) -> tuple[Dense | None, ...]:
        """Its parameters."""
        return self.w_q, self.w_k, self.w_v, self.w_o, self.b_q, self.b_k, self.b_v


@dataclass(frozen=True)
class Mlp:
    """`f(y W_in + b_in) W_out + b_out`: w_in (d, m), w_out (m, d), biases (m,) and (d,), None for 0."""

    activation: Activation
    w_in: Dense
    w_out: Dense
    b_in: Dense | None = None
    b_out: Dense | None = None

    @property
    def arrays(self) -> tuple[Dense | None, ...]:
        """Its parameters."""
        return self.w_in, self.w_out, self.b_in, self.b_out


@dataclass(frozen=True)
class NetworkLayer:
    """Attention, then an MLP; `b_o` (d,) is added once for all heads. `post`: norms stand after the sums (see the
    module). Without heads and `b_o`, or without an MLP, that step and its norm are left out."""

    heads: tuple[NetworkHead, ...]
    mlp: Mlp | None
    b_o: Dense | None = None
    norm_1: Norm | None = None
    norm_2: Norm | None = None
    post: bool = False

    @property
    def attends(self) -> bool:
        """Whether there is a step of attention."""
        return bool(self.heads) or self.b_o is not None

    @property
    def arrays(self) -> tuple[Dense | None, ...]:
        """Its parameters."""
        parts = [*self.heads, *(part for part in (self.mlp, self.norm_1, self.norm_2) if part is not None)]
        return self.b_o, *(array for part in parts for array in part.arrays)


JudgedAt: TypeAlias = Literal["last", "first", "each"]
"""Where outputs are judged: the last position that is read, the first symbol of the word, every symbol."""


@dataclass(frozen=True, slots=True)
class Readout:
    """How a word becomes tokens and outputs become an answer."""

    before: tuple[Token, ...] = ()
    """Tokens that stand before every word."""
    after: tuple[Token, ...] = ()
    """Tokens that stand after it."""
    at: JudgedAt = "last"
    decide: Literal["above", "argmax", "value"] = "above"
    """Each output above `level` or not; the largest of the outputs `among`; the number itself, right to `level`."""
    level: Fraction = Fraction(0)
    among: tuple[Token, ...] | None = None
    """Outputs that take part in an argmax; None: all."""
    alphabet: tuple[Token, ...] | None = None
    """What words are made of; None: every token but those that stand before or after every word."""
    padding: Token | None = None
    """A token that is passed over where the last position is judged: it cannot stand there."""

    def places(self, n: int) -> range:
        """The positions, of all that are read, at which a word of n symbols is judged."""
        start = len(self.before)
        if self.at == "each":
            return range(start, start + n)
        last = start + n + len(self.after) - 1
        return range(start, start + 1) if self.at == "first" else range(last, last + 1)

    def length(self, n: int) -> int:
        """How many tokens are read of a word of n symbols."""
        return len(self.before) + n + len(self.after)


@dataclass(frozen=True)
class Network:
    """The whole network.

    `tokens` are the vocabulary by token id, V of them; `embedding` is (V, d), `unembedding` (d, O), its bias (O,),
    `outputs` what the O outputs are called. `positions` is a table (rows, d) whose row r belongs to the r-th token that
    is read, or pairs of a coordinate and a function of i and n: there the word's first symbol stands at i = 1 and n is
    its length. Outputs that are the tokens are the very same tuple, and get other names with them.
    """

    tokens: tuple[Token, ...]
    embedding: Dense
    positions: Dense | tuple[tuple[int, PositionFunction], ...]
    layers: tuple[NetworkLayer, ...]
    final: Norm | None
    unembedding: Dense
    unembedding_bias: Dense | None
    outputs: tuple[Token, ...]
    readout: Readout = Readout()
    embedding_scale: RootScale = RootScale()
    """The factor of the embedding's rows, applied before positions are added; the unembedding is not scaled."""

    @property
    def dimension(self) -> int:
        """d, the width of the residual stream."""
        return int(self.embedding.shape[1])

    @property
    def scaled_embedding(self) -> Dense:
        """Return the addend of each token, (V, d): the embedding times its scale. Entries are objects, and may be
        Reals, unless the scale is 1."""
        if self.embedding_scale == RootScale():
            return self.embedding
        factor, found = self.embedding_scale.real, np.empty(self.embedding.shape, dtype=object)
        found.ravel()[:] = [Fraction(value) * factor for value in self.embedding.ravel().tolist()]
        return found

    @property
    def heads(self) -> tuple[NetworkHead, ...]:
        """All heads in order of the layers."""
        return tuple(head for layer in self.layers for head in layer.heads)

    @property
    def arrays(self) -> tuple[Dense, ...]:
        """All parameters."""
        found = [self.embedding, self.unembedding, self.unembedding_bias, *(self.final.arrays if self.final else ())]
        found += [array for layer in self.layers for array in layer.arrays]
        found += [self.positions] if isinstance(self.positions, np.ndarray) else []
        return tuple(array for array in found if array is not None)

    @property
    def parameters(self) -> int:
        """The number of non-zero parameters."""
        return sum(map(entries, self.arrays))

    @property
    def longest(self) -> int | None:
        """The longest word that the table of positions has room for; None: there is none."""
        if not isinstance(self.positions, np.ndarray):
            return None
        return int(self.positions.shape[0]) - self.readout.length(0)

    @cached_property
    def ids(self) -> dict[str, int]:
        """The token ids by what a token is called in text."""
        return {str(token): number for number, token in enumerate(self.tokens)}

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """What words are made of, as text."""
        if self.readout.alphabet is not None:
            return tuple(map(str, self.readout.alphabet))
        fixed = {str(token) for token in (*self.readout.before, *self.readout.after)}
        return tuple(name for name in self.ids if name not in fixed)

    def read(self, word: Sequence[str]) -> list[int]:
        """The token ids of a word with what stands before and after it.

        Raises:
            OutOfRange: if the table of positions ends before the word.
        """
        if self.longest is not None and len(word) > self.longest:
            most = max(self.longest, 0)
            told = f"the table of positions of this network ends: words have at most {most} symbols, not {len(word)}"
            hint = f"Use --max-n {most}, or shorter words." if most else "Read less beside them."
            raise OutOfRange(told, hint)
        named = (*self.readout.before, *word, *self.readout.after)
        return [self.ids[str(token)] for token in named]

    def encoding(self, n: int) -> Dense | None:
        """What positions add for a word of n symbols, (tokens that are read, d), of objects that may be Reals if it is
        no table; None: nothing."""
        size = self.readout.length(n)
        if isinstance(self.positions, np.ndarray):
            return self.positions[:size]
        if not self.positions:
            return None
        start = 1 - len(self.readout.before)
        found = np.full((size, self.dimension), Fraction(0), dtype=object)
        for coordinate, function in self.positions:
            found[:, coordinate] += [real_value(function, start + row, n) for row in range(size)]
        return found
