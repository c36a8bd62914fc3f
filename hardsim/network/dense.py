"""An external network as data: dense matrices, norms, activations, biases, a table of positions, an unembedding.

With d coordinates in the residual stream, m positions (those of all tokens that are read, from 0), x in R^(m x d):

    x = c W_E[tokens] + W_P[positions]
    pre-norm, layer by layer:   x += attention(norm_1(x)), then x += mlp(norm_2(x))
    post-norm:                  x = norm_1(x + attention(x)), then x = norm_2(x + mlp(x))
    attention(y) = b_O + sum over heads of softmax(scale (y W_Q + b_Q)(y W_K + b_K)^T) (y W_V + b_V) W_O
    mlp(y) = f(y W_in + b_in) W_out + b_out
    outputs = norm_f(x) W_U + b_U

Some families have further parts; a network without them leaves them at their defaults:

    embeddings:   x = norm_e(c W_E[tokens] + W_P[positions] + b_E), of width e; with a projection, x W_X + b_X
    parallel:     x += attention(norm_1(x)) + mlp(norm_2(x))
    out-norms:    out_1(attention(.)) and out_2(mlp(.)) in the place of attention and mlp
    a head's q = turned(norm_q(y W_Q + b_Q)) and k = turned(norm_k(y W_K + b_K)), where `Rotary` turns by position
    a score:      s = scale q k^T; with a cap C, C tanh(s / C); then less slope |i - j| (`DistanceBias`)
    a window w:   a query at i sees a key at j only if |i - j| < w
    positions read by scores alone:   W_P is added to the y of W_Q and W_K, not to x
    a gated mlp:  (f(y W_gate + b_gate) * (y W_in + b_in)) W_out + b_out
    a transform before the outputs:   outputs = norm_t(f_t(norm_f(x) W_T + b_T)) W_U + b_U; without an f_t, no f_t
    output cap C: C tanh(outputs / C)

Everything is the real function that the stored numbers define. An array of float64 stands for exactly these dyadic
rationals (float64 also holds the numbers of narrower formats exactly); an array of objects holds Fractions. `scale`
and the embedding scale c are real numbers: a rational divided by the square root of an integer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, fields, replace
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from itertools import chain
from math import isqrt
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hardsim.errors import InputError, OutOfRange
from hardsim.lang.reals import RealNumber, apply
from hardsim.lang.valuations import Numbering
from hardsim.lazy_dataclass import dataclass
from hardsim.network.blocks import DistanceBias, Rotary
from hardsim.network.columns import PositionFunction, real_value
from hardsim.network.numbers import Mask

Dense: TypeAlias = NDArray[Any]
"""An exact array: of float64, or of objects that are Fractions."""
Token: TypeAlias = str | int | float | bool
"""The name of a token at its origin: a text, or a value of a RASP program."""


def entries(array: Dense) -> int:
    """Return the number of non-zero entries."""
    return int(np.count_nonzero(array))


class Activation(StrEnum):
    """The activation functions of hidden units, as real functions."""

    RELU = "relu"
    """max(x, 0)."""
    GELU = "gelu"
    """x (1 + erf(x / sqrt 2)) / 2."""
    GELU_NEW = "gelu_new"
    """x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2."""
    SILU = "silu"
    """x / (1 + e^-x)."""
    QUICK_GELU = "quick_gelu"
    """x / (1 + e^(-1.702 x))."""
    TANH = "tanh"
    """The hyperbolic tangent."""


@dataclass(frozen=True)
class Norm:
    """A normalization over the coordinates: `(x - mean) / sqrt(var + epsilon) * weight + bias` (`layer`; the variance
    has divisor d), or `x / sqrt(mean of x^2 + epsilon) * weight + bias` (`rms`). A weight of None is 1, a bias of
    None is 0."""

    kind: Literal["layer", "rms"]
    epsilon: Fraction
    weight: Dense | None = None
    """Shape (d,)."""
    bias: Dense | None = None
    """Shape (d,)."""

    def __post_init__(self) -> None:
        if self.epsilon < 0:
            raise InputError(f"a norm with the negative epsilon {self.epsilon}", "It must be 0 or more.")


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
        """The number as a Fraction if it is rational, and None otherwise."""
        root = isqrt(self.root)
        return self.factor / root if root * root == self.root else None

    @property
    def real(self) -> RealNumber:
        """The number itself: a Real if it is irrational."""
        return self.factor / apply("sqrt", self.root)


_SCALE = re.compile(
    r"(?P<factor>[0-9]{1,300}(?:[.][0-9]{1,300}|/0*[1-9][0-9]{0,300})?)(?:/sqrt\((?P<below>[1-9][0-9]{0,30})\))?"
    r"|sqrt\((?P<above>[1-9][0-9]{0,30})\)",
    re.ASCII,
)


def parse_scale(text: str) -> RootScale | None:
    """Parse a positive number `p`, `p/q` or `p.q`, one of these followed by `/sqrt(k)`, or `sqrt(k)`; return None for
    any other text."""
    found = _SCALE.fullmatch(text)
    if found is None:
        return None
    root = int(found["above"] or found["below"] or 1)
    scale = RootScale(Fraction(root if found["above"] else found["factor"]), root)
    return scale if scale.factor > 0 else None


@dataclass(frozen=True)
class NetworkHead:
    """One head with keys of width k and values of width v: w_q and w_k (d, k), w_v (d, v), w_o (v, d); biases (k,),
    (k,), (v,). A bias of None is 0."""

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
    _: KW_ONLY
    norm_q: Norm | None = None
    """Over the k coordinates of a query, before it is turned."""
    norm_k: Norm | None = None
    rotary: Rotary | None = None
    cap: Fraction | None = None
    """The soft cap of scores, in nats, above 0."""
    distance: DistanceBias | None = None
    window: int | None = None
    """The number of positions that a query sees on each side, its own included; at least 1. None is no limit."""


@dataclass(frozen=True)
class Mlp:
    """`f(y W_in + b_in) W_out + b_out`: w_in (d, m), w_out (m, d), biases (m,) and (d,). A bias of None is 0. With a
    gate, w_gate (d, m), it is `(f(y W_gate + b_gate) * (y W_in + b_in)) W_out + b_out`."""

    activation: Activation
    w_in: Dense
    w_out: Dense
    b_in: Dense | None = None
    b_out: Dense | None = None
    w_gate: Dense | None = None
    b_gate: Dense | None = None


@dataclass(frozen=True)
class NetworkLayer:
    """Attention, then an MLP. `b_o` (d,) is added once for all heads. With `post`, the norms follow the sums; with
    `parallel`, attention and MLP read the same stream (see the module). A layer is not both.

    A layer without heads and without `b_o` has no attention step, no `norm_1` and no `out_1`; a layer without an MLP
    has no `norm_2` and no `out_2`.
    """

    heads: tuple[NetworkHead, ...]
    mlp: Mlp | None
    b_o: Dense | None = None
    norm_1: Norm | None = None
    norm_2: Norm | None = None
    post: bool = False
    parallel: bool = False
    out_1: Norm | None = None
    """A norm of what attention adds, applied before it is added."""
    out_2: Norm | None = None
    """A norm of what the MLP adds, applied before it is added."""

    @property
    def attends(self) -> bool:
        """True if the layer has an attention step."""
        return bool(self.heads) or self.b_o is not None


TABLE = "the table of positions"
JudgedAt: TypeAlias = Literal["last", "first", "each"]
"""The positions whose outputs are compared with the expected ones: the last position read, the first symbol of the
word, or every symbol."""
Pooled: TypeAlias = Literal["last", "start", "mean"]
"""The place that one answer for a whole word is read from: the last token read, the first token read (such as BERT's
[CLS]), or the mean over all tokens read of the vectors after the final norm."""


@dataclass(frozen=True, slots=True)
class Readout:
    """The rules by which a word becomes tokens and outputs become an answer."""

    before: tuple[Token, ...] = ()
    """Tokens before every word."""
    after: tuple[Token, ...] = ()
    """Tokens after every word."""
    at: JudgedAt = "last"
    decide: Literal["above", "argmax", "value"] = "above"
    """`above`: the answer says of each output whether it is above `level`. `argmax`: the answer is the largest of the
    outputs `among`. `value`: the answer is the output number itself, which may be off by up to `level`."""
    level: Fraction = Fraction(0)
    among: tuple[Token, ...] | None = None
    """Outputs that take part in an argmax; None means all."""
    alphabet: tuple[Token, ...] | None = None
    """Tokens that words are made of; None means every token that is not in `before`, `after` or `excluded`, not
    `padding`, and not named as a mark."""
    padding: Token | None = None
    """A token that is skipped when the last position gives the answer; it cannot be the last token."""
    pooled: Pooled = "last"
    """Where `at` is "last": what the answer is read from. Otherwise "last"."""
    excluded: tuple[Token, ...] = ()
    """Tokens that neither words nor the text around them may have: with one of them the network is another function."""

    def places(self, n: int) -> range:
        """Return the indices, among all tokens read, of the positions that give the answer for a word of n symbols;
        all of them if the answer is read from their mean."""
        start = len(self.before)
        if self.pooled != "last":
            return range(1 if self.pooled == "start" else self.length(n))
        if self.at == "each":
            return range(start, start + n)
        last = start + n + len(self.after) - 1
        return range(start, start + 1) if self.at == "first" else range(last, last + 1)

    def length(self, n: int) -> int:
        """Return the number of tokens read for a word of n symbols."""
        return len(self.before) + n + len(self.after)


MARK = re.compile(r"<.+>|\[.+\]|BOS|EOS|PAD")
"""The names of tokens that are marks rather than symbols: `<eos>`, `[PAD]`, `</s>`."""


def symbols_of(readout: Readout, tokens: Iterable[Token]) -> tuple[str, ...]:
    """Return the texts of the tokens that words are made of; `tokens` are all tokens of the network. If all of those
    that are not read beside words are named as marks, they are symbols."""
    if readout.alphabet is not None:
        return tuple(map(str, readout.alphabet))
    padding = () if readout.padding is None else (readout.padding,)
    others = {str(token) for token in (*readout.before, *readout.after, *readout.excluded, *padding)}
    found = tuple(name for name in map(str, tokens) if name not in others)
    return tuple(name for name in found if not MARK.fullmatch(name)) or found


@dataclass(frozen=True)
class Transform:
    """The step from the final norm to the vectors that the unembedding reads, `norm(f(x W + b))`: weight (d, e), bias
    (e,), a norm over e coordinates. An activation of None is the identity."""

    weight: Dense
    bias: Dense | None = None
    activation: Activation | None = None
    norm: Norm | None = None


@dataclass(frozen=True)
class Network:
    """A whole external network.

    `tokens` is the vocabulary of V tokens in order of their ids. `embedding` is (V, d), `unembedding` (d, O), its
    bias (O,), and `outputs` are the names of the O outputs. `positions` is either a table (rows, d), whose row r
    belongs to the r-th token read, or pairs of a coordinate and a function of i and n; there i = 1 is the word's
    first symbol and n is the length of the word. If the outputs are the tokens, `outputs` is the same tuple object as
    `tokens` and is renamed with it.
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
    """The factor of the embedding's rows. It is applied before the position encoding is added, and not to the
    unembedding."""
    embedding_bias: Dense | None = None
    """Shape (d,): added to every embedded token, such as the row of BERT's token type 0."""
    embedding_norm: Norm | None = None
    """Applied to the embedded tokens with their positions."""
    projection: Dense | None = None
    """Shape (e, d): the linear map from embeddings of width e, after their norm, to the residual stream. The embedding,
    its positions, its bias and its norm then have the width e; positions are not read by scores alone."""
    projection_bias: Dense | None = None
    """Shape (d,)."""
    positions_at: Literal["stream", "scores"] = "stream"
    """Where position encodings are added: to the residual stream, or to what queries and keys read (shortformer)."""
    transform: Transform | None = None
    """With a transform, the unembedding is (e, O)."""
    output_cap: Fraction | None = None
    """The soft cap of outputs, above 0."""

    @property
    def dimension(self) -> int:
        """d, the width of the residual stream."""
        return int((self.embedding if self.projection is None else self.projection).shape[1])

    @property
    def scaled_embedding(self) -> Dense:
        """The embedding times its scale, (V, d). Its entries are objects, possibly Reals, unless the scale is 1."""
        if self.embedding_scale == RootScale():
            return self.embedding
        factor, found = self.embedding_scale.real, np.empty(self.embedding.shape, dtype=object)
        found.ravel()[:] = [Fraction(value) * factor for value in self.embedding.ravel().tolist()]
        return found

    @property
    def heads(self) -> tuple[NetworkHead, ...]:
        """All heads, in the order of the layers."""
        return tuple(head for layer in self.layers for head in layer.heads)

    @cached_property
    def parameters(self) -> int:
        """The number of non-zero parameters. What is shared counts once: keys and values of heads of one layer, norms
        of their queries and of their keys, and layers that are equal. An unembedding counts beside the embedding."""
        return replace(self, layers=()).weights + sum(map(_parameters, distinct(self.layers)))

    @property
    def weights(self) -> int:
        """The number of non-zero entries of all arrays, wherever they come from: what a run multiplies with."""
        return sum(map(entries, arrays_of(self)))

    @property
    def longest(self) -> int | None:
        """The length of the longest word that fits in the table of positions and in the greatest length of rotary
        positions; None if there is neither."""
        rows = [len(self.positions)] if isinstance(self.positions, np.ndarray) else []
        rows += [self._turned] if self._turned is not None else []
        return min(rows) - self.readout.length(0) if rows else None

    @cached_property
    def _turned(self) -> int | None:
        """The number of positions up to which the rotary positions of all heads are defined; None: no limit."""
        return min((one.rotary.longest for one in self.heads if one.rotary and one.rotary.longest), default=None)

    @property
    def full(self) -> str:
        """The name, in messages, of the positions that end at words of length `longest`."""
        table = isinstance(self.positions, np.ndarray)
        if table and (self._turned is None or len(self.positions) <= self._turned):
            return TABLE
        return "the range of the rotary positions"

    @cached_property
    def ids(self) -> dict[str, int]:
        """The token ids, by the text of the token."""
        return {str(token): number for number, token in enumerate(self.tokens)}

    @cached_property
    def _numbers(self) -> Numbering:
        return Numbering(tuple(map(str, self.tokens)))

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """The texts of the tokens that words are made of."""
        return symbols_of(self.readout, self.tokens)

    def read(self, word: Sequence[str]) -> list[int]:
        """Return the token ids of a word, with the readout's tokens before and after it."""
        self._require_room(len(word))
        before, after = self._around
        return [*before, *map(self.ids.__getitem__, map(str, word)), *after]

    def read_together(self, words: Sequence[Sequence[str]]) -> NDArray[np.int64]:
        """Return the token ids of some words of one length as `read` does, (words, tokens)."""
        n = len(words[0])
        self._require_room(n)
        before, after = self._around
        found = np.empty((len(words), len(before) + n + len(after)), dtype=np.int64)
        found[:, : len(before)], found[:, len(before) + n :] = before, after
        found[:, len(before) : len(before) + n] = self._numbers.rows(words)
        return found

    def _require_room(self, n: int) -> None:
        """Raise OutOfRange if words of n symbols do not fit in the table of positions."""
        longest = self.longest
        if longest is not None and n > longest:
            most = max(longest, 0)
            full = f"{self.full} of this network is full" if self.full == TABLE else f"{self.full} ends"
            message = f"{full}: words have at most {most} symbols, not {n}"
            hint = "Use shorter words." if most else "Read fewer tokens before and after each word."
            raise OutOfRange(message, hint)

    @property
    def reads_empty(self) -> bool:
        """True if there is an output for the empty word: the tokens around it are read, and one of them is the position
        that gives the answer. Encodings that are functions of the length have no value at 0."""
        readout = self.readout
        if (isinstance(self.positions, tuple) and self.positions) or readout.at == "first":
            return False
        if readout.pooled != "last" or readout.at == "last":
            return readout.length(0) > 0
        return len(readout.before) > 0

    @cached_property
    def _around(self) -> tuple[list[int], list[int]]:
        """The token ids before and after every word."""
        before, after = ([self.ids[str(token)] for token in part] for part in (self.readout.before, self.readout.after))
        return before, after

    def encoding(self, n: int) -> Dense | None:
        """Return the position encoding of a word of n symbols, (tokens read, width of embeddings); None if there is
        none. Without a table its entries are objects, possibly Reals."""
        size = self.readout.length(n)
        if isinstance(self.positions, np.ndarray):
            return self.positions[:size]
        if not self.positions:
            return None
        # The word's first symbol is i = 1, so tokens before it have i <= 0.
        start = 1 - len(self.readout.before)
        found = np.full((size, self.embedding.shape[1]), Fraction(0), dtype=object)
        for coordinate, function in self.positions:
            found[:, coordinate] += [real_value(function, start + row, n) for row in range(size)]
        return found


def _parameters(layer: NetworkLayer) -> int:
    """Return the number of non-zero parameters of a layer; what its heads share counts once."""
    heads, normed = layer.heads, [head for head in layer.heads if head.norm_q is not None]
    plain = [head for head in heads if head.norm_q is None]
    shared: tuple[Iterable[Any], ...] = (
        [(head.w_k, head.b_k, head.w_v, head.b_v) for head in plain],
        [(head.w_v, head.b_v) for head in normed],
        [_columns(head.w_q, head.b_q) for head in normed],
        [_columns(head.w_k, head.b_k) for head in normed],
        [head.norm_q for head in heads],
        [head.norm_k for head in heads],
    )
    parts = [
        replace(layer, heads=()),
        *((head.w_q, head.b_q) for head in plain),
        *(head.w_o for head in heads),
        *(distinct(one) for one in shared),
    ]
    return sum(map(entries, chain.from_iterable(map(arrays_of, parts))))


def _columns(weight: Dense, bias: Dense | None) -> Dense:
    """Return the columns of a matrix, with the bias below, in an order that depends on these alone: heads whose queries
    are normed together have the columns of each other, in orders of their own."""
    whole = weight if bias is None else np.vstack([weight, bias])
    return whole[:, np.lexsort(whole)]


def distinct(parts: Iterable[Any]) -> tuple[Any, ...]:
    """Return the first of each set of parts whose arrays are equal."""
    found: dict[object, list[tuple[Any, list[Dense]]]] = {}
    for part in parts:
        arrays = list(arrays_of(part))
        # A few entries show in most cases that arrays differ.
        alike = found.setdefault(tuple((one.shape, *one.flat[:4].tolist()) for one in arrays), [])
        if not any(all(map(np.array_equal, arrays, other)) for _, other in alike):
            alike.append((part, arrays))
    return tuple(part for several in found.values() for part, _ in several)


def arrays_of(part: Any) -> Iterator[Dense]:
    """Yield the parameters of a network, or of a part of it, in the order of its fields."""
    if isinstance(part, np.ndarray):
        yield part
    elif isinstance(part, tuple):
        yield from chain.from_iterable(map(arrays_of, part))
    elif isinstance(part, Network | NetworkLayer | NetworkHead | Mlp | Norm | Transform):
        yield from chain.from_iterable(arrays_of(getattr(part, one.name)) for one in fields(part))
