"""Keys, values and queries of a one-layer causal network, by token and position, with bounds of their errors.

In one layer the key and the value at a position depend on the position and its token alone, and the query on the last
position and its token. So the weight e^s of a token in the mean of a head, for a given query, does not depend on the
rest of the word. Weights are known up to a common factor, e^-M with M the greatest computed score.

Values are given in the coordinates of the certificate: with rows b_k for a head (`axes`, any numbers), z_k = b_k.v. A
head's output a is a mean of values, so a = sum of z_k b_k + r, with z the mean of the values' coordinates and r that of
v - sum of (b_k.v) b_k, which is bounded over all values here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from operator import add

from hardsim.verify.arithmetic import require
from hardsim.verify.external.network import HeadData, NetworkData
from hardsim.verify.external.numbers import ETA, FAR, GROW, U, dot, exp_between, gamma

Vector = list[float]
ROOM = 1 << 24
"""The most numbers of keys and values."""
TURN = 100
"""Steps for a cosine and a sine."""
WIDEST = 2.0**-6
"""The greatest error of a score: scores that are known less well are refused."""


@dataclass(frozen=True, slots=True)
class TokenPlace:
    """A token at a position, counted from 0 over all tokens that are read."""

    token: int
    place: int


@dataclass(frozen=True, slots=True)
class HeadColumns:
    """One head by token and position. `keys` and `values` are (token, position, ...); values are in the coordinates of
    `axes`."""

    data: HeadData
    axes: list[Vector]
    keys: dict[int, list[Vector]]
    values: dict[int, list[Vector]]
    key_size: Vector
    """By coordinate, a bound of the size of the computed keys."""
    key_off: Vector
    """By coordinate, a bound of the errors of keys."""
    size: Vector
    """By coordinate z_k, a bound of the size of the computed values."""
    off: Vector
    """By coordinate z_k, a bound of the errors of values."""
    remainder: Vector
    """By coordinate of the head's output, a bound of what the coordinates z leave out."""


@dataclass(frozen=True, slots=True)
class ClassWeights:
    """Bounds of the weights of one query, up to a common factor: of symbols by position of the word, and of the fixed
    tokens, with the coordinates of their values."""

    low: list[Vector]
    high: list[Vector]
    fixed: list[tuple[float, float, Vector]]
    most: list[float]
    """By position, the greatest of the weights."""


class Columns:
    """The columns of all heads for words of at most `longest` symbols. The last symbol is fixed for a query if the
    network is read there (`symbol_last`); else tokens follow the word.

    `spend` is called with the steps done.
    """

    def __init__(
        self, network: NetworkData, longest: int, axes: Sequence[list[Vector]], spend: Callable[[int], None]
    ) -> None:
        readout = network.readout
        self.network, self.longest, self.spend = network, longest, spend
        self.symbol_last = readout.at == "each" or not readout.after
        self.before = readout.before
        self.after = [] if self.symbol_last else readout.after
        self.symbols, self.start = network.symbols, len(readout.before)
        tokens = list(dict.fromkeys([*self.symbols, *self.before, *self.after]))
        self.entering: dict[tuple[int, int], tuple[Vector, Vector]] = {}
        # one at least, though nothing may be read
        size = max(1, self.start + longest + len(self.after))
        counts = [3 * len(own) + len(head.k.columns) for own, head in zip(axes, network.heads, strict=True)]
        width = 2 * network.dimension + sum(counts)
        require(len(tokens) * size * width <= ROOM, "too large: too many keys and values")
        spend(len(tokens) * size * (1 + network.dimension * width // 8))
        spend(sum(TURN * size * len(head.rotary.pairs) for head in network.heads if head.rotary is not None))
        self.heads = [self._head(head, own, tokens, size) for head, own in zip(network.heads, axes, strict=True)]

    def entered(self, token: int, place: int) -> tuple[Vector, Vector]:
        """Return what the heads read: the embedded token, after the first norm where that stands in front."""
        key = token, place
        if key not in self.entering:
            mid, off = self.network.embedded(token, place)
            norm = None if self.network.post else self.network.norm_1
            self.entering[key] = (mid, off) if norm is None else norm(mid, off)
        return self.entering[key]

    def _head(self, head: HeadData, axes: list[Vector], tokens: list[int], size: int) -> HeadColumns:
        """Return the columns of one head. A coordinate b.v of a value v that is known within e is off by at most |b|.e
        and gamma |b|.|v|."""
        absolute = [[*map(abs, row)] for row in axes]
        across = [([row[c] for row in axes], [row[c] for row in absolute]) for c in range(len(head.v.columns))]
        rounding = gamma(len(head.v.columns) + 4)
        keys, values = dict[int, list[Vector]](), dict[int, list[Vector]]()
        key_size = key_off = [0.0] * len(head.k.columns)
        sizes = off = [0.0] * len(axes)
        remainder = [0.0] * len(head.v.columns)
        for token in tokens:
            keys[token], values[token] = [], []
            for place in range(size):
                x = self.entered(token, place)
                key, error = head.key(self.network.read(x, place), place)
                keys[token].append(key)
                key_size, key_off = _greatest(key_size, map(abs, key)), _greatest(key_off, error)
                value, error = head.v(*x)
                z = [dot(row, value) for row in axes]
                values[token].append(z)
                spread = [one + rounding * abs(here) for one, here in zip(error, value, strict=True)]
                slips = [dot(row, spread) * GROW + ETA for row in absolute]
                sizes, off = _greatest(sizes, map(abs, z)), _greatest(off, slips)
                remainder = _greatest(remainder, _left(value, error, across, z, slips))
        numbers = [*key_size, *key_off, *sizes, *off, *remainder]
        require(all(number < LARGE for number in numbers), "too large: a key or a value of the network, or an axis")
        return HeadColumns(head, axes, keys, values, key_size, key_off, sizes, off, remainder)

    def query(self, length: int, symbol: int) -> TokenPlace:
        """Return where the network is read after prefixes of this length that end in this symbol of the alphabet (-1:
        in any one)."""
        if self.after:
            return TokenPlace(self.after[-1], self.start + length + len(self.after) - 1)
        token = self.before[-1] if symbol < 0 else self.symbols[symbol]
        return TokenPlace(token, self.start + length - 1)

    def fixed(self, length: int, symbol: int) -> list[TokenPlace]:
        """Return the tokens that all prefixes of a class share."""
        found = [TokenPlace(token, place) for place, token in enumerate(self.before)]
        found += [TokenPlace(token, self.start + length + number) for number, token in enumerate(self.after)]
        return found if symbol < 0 else [*found, TokenPlace(self.symbols[symbol], self.start + length - 1)]

    def weights(self, number: int, length: int, symbol: int, used: Sequence[Sequence[int]]) -> ClassWeights:
        """Return the weights of one head for a query after prefixes of this length that end in this symbol. `used` are
        the symbols that occur, by position; the others have weights of 0 to NEGLIGIBLE."""
        head, query = self.heads[number], self.query(length, symbol)
        free = length - (symbol >= 0)
        fixed, steps = self.fixed(length, symbol), head.data.scores
        q, q_off = self._scaled(head.data, query)
        self.spend((free * len(self.symbols) + len(fixed)) * (4 + len(q) // 8))
        columns = [head.keys[token] for token in self.symbols]
        scores = [[-inf] * len(columns) for _ in range(free)]
        for place, (row, own) in enumerate(zip(scores, used, strict=False), self.start):
            # what is not seen keeps -inf: its weight is between 0 and NEGLIGIBLE
            away = query.place - place
            for each in own if steps.sees(away) else ():
                row[each] = steps.score(dot(q, columns[each][place]), away)
        others = [
            steps.score(dot(q, head.keys[one.token][one.place]), query.place - one.place)
            if steps.sees(query.place - one.place)
            else -inf
            for one in fixed
        ]
        every = [*others, *(score for row in scores for score in row)]
        most, least = max(every), min(every)
        # scores are off by |q| key_off + q_off (key_size + key_off) + gamma |q| key_size
        size, reach = [*map(abs, q)], [*map(add, head.key_size, head.key_off)]
        error = dot(size, head.key_off) + dot(q_off, reach) + gamma(len(q) + 4) * dot(size, head.key_size)
        error = steps.error(error, dot(size, reach) * GROW, query.place)
        error = (error + 2 * U * (min(most - least, 2 * FAR) + 1)) * GROW + ETA
        require(error <= WIDEST, "too large: the scores of a head are not known well enough")
        # for 0 <= e <= 2^-6, e^e <= 1 + e + e^2 and e^-e >= 1 - e; two products more are rounded
        up, down = (1 + error + error * error) * (1 + 8 * U), (1 - error) * (1 - 8 * U)
        low, high = list[Vector](), list[Vector]()
        for row in scores:
            ends = [exp_between(score - most) for score in row]
            low.append([end[0] * down for end in ends])
            high.append([end[1] * up for end in ends])
        kept = list[tuple[float, float, Vector]]()
        for one, score in zip(fixed, others, strict=True):
            below, above = exp_between(score - most)
            kept.append((below * down, above * up, head.values[one.token][one.place]))
        return ClassWeights(low, high, kept, [*map(max, high)])

    def _scaled(self, head: HeadData, query: TokenPlace) -> tuple[Vector, Vector]:
        """Return the query times the scale of scores. The scale is within 4 u of the true one, and the product adds
        u."""
        read = self.network.read(self.entered(query.token, query.place), query.place)
        q, off = head.query(read, query.place)
        found = [one * head.scale for one in q]
        scale = abs(head.scale) * GROW
        return found, [(error * scale + 8 * U * abs(one)) * GROW + ETA for one, error in zip(found, off, strict=True)]


LARGE = 2.0**200
"""Computed numbers are below this, so that nothing overflows."""


def _greatest(one: Vector, other: map[float] | Vector) -> Vector:
    return [*map(max, one, other)]


def _left(value: Vector, error: Vector, axes: list[tuple[Vector, Vector]], z: Vector, slips: Vector) -> Vector:
    """Return by coordinate a bound of |v - sum of (b_k.v) b_k|, for a value v within `error` of `value`, with b_k.v
    within `slips` of `z`. `axes` are the coordinates of all b_k and their sizes, by coordinate of v."""
    found = []
    spread = [slip + gamma(len(z) + 4) * abs(one) for one, slip in zip(z, slips, strict=True)]
    for here, off, (column, sizes) in zip(value, error, axes, strict=True):
        far = abs(here - dot(z, column)) + off + dot(spread, sizes) + 4 * U * abs(here)
        found.append(far * GROW + ETA)
    return found
