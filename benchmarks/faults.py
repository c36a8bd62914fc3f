"""Faults planted in correct networks: one weight is changed, so that the network is wrong on few, long words only.

The wrong words are found without hardsim's search: by bisection of the size of the change, in plain float64, on words
that are random or have a simple shape. A change is kept if all short words stay right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, product
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.handmade import Case
from hardsim.lang.regex.automaton import Automaton, Word
from hardsim.network.dense import Activation, Network, NetworkHead, Norm, arrays_of
from hardsim.network.numbers import Mask
from hardsim.targets.expected import ExpectedOutputs, by_position, unjudged
from hardsim.targets.external import External

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

SHORTEST = 20
"""Length of the shortest words that may be wrong."""
WHOLE = 12
"""Length up to which all words with an expected answer must be right, if there are at most `MOST` of a length."""
MOST = 4096
FEW = 6
"""Number of words of each length that a change is first tried on."""
POOL, PART = 5000, 500
"""`POOL` is the number of random words at the length of the first wrong word; few of them may be wrong. `PART` of them
are tried first.
"""
WRONG = 1
"""The greatest number of wrong words in a pool."""
SPREAD = 10_000
"""Number of random words of all lengths together, few of which may be wrong."""
TOLD = 20_000
"""Number of random words of all lengths together that measure the share of wrong words."""
MANY = 500
"""Number of words tried of each length below `SHORTEST` that has too many words to try all."""
DOUBLINGS, HALVINGS, ROUGHLY = 12, 24, 4
"""Numbers of steps: doublings of a change until a word is wrong, then halvings of the interval for an exact or a rough
size.
"""
ATTEMPTS, SHAPED = 12, 50
"""Numbers of changes that are tried for one fault, on random words and on words of simple shape (more, as most fail
early).
"""
SHAPES = 20
"""Number of words of simple shape that are tried; the first to become wrong is taken."""
CELLS = 2**17
ROOM = 1 + 2**-20
"""Factor by which a change exceeds the smallest change that makes a word of simple shape wrong."""
KINDS = ("position", "embedding", "attention", "mlp", "norm")
"""Places of the changed weight: a row of the table of positions that no word shorter than `SHORTEST` reads, the
embedding or the unembedding, a head, an MLP, a norm.
"""


# ---- words at random ----


class Sampler:
    """A source of random words with an expected answer.

    With `each` = "letters" all letters that can continue a word are equally likely, with "words" all words are.
    """

    def __init__(self, subject: External, each: str) -> None:
        self.subject, self.each = subject, each
        self._tables: list[Floats] = []

    def words(self, n: int, count: int, rng: np.random.Generator) -> list[Word]:
        """Draw `count` words of length n, possibly with repetitions; none if no word of this length has an expected
        answer.
        """
        alphabet, domain = np.array(self.subject.alphabet), self.subject.domain
        if domain is None:
            numbers = rng.integers(0, len(alphabet), size=(count, n))
        else:
            found = self._drawn(domain, n, count, rng)
            if found is None:
                return []
            numbers = found
        return list(map(tuple, alphabet[numbers].tolist()))

    def _drawn(self, domain: Automaton, n: int, count: int, rng: np.random.Generator) -> Integers | None:
        """Draw words as rows of letter numbers; the letters of these languages are single symbols."""
        moves, chances = np.array(domain.moves), self._chances(domain, n)
        if not chances[n - 1][0].any():
            return None
        state, found = np.zeros(count, dtype=np.int64), np.empty((count, n), dtype=np.int64)
        for place in range(n):
            ends = np.cumsum(chances[n - 1 - place][state], axis=1)
            found[:, place] = (rng.random(count)[:, None] * ends[:, -1:] >= ends).sum(axis=1)
            state = moves[state, found[:, place]]
        return found

    def _chances(self, domain: Automaton, n: int) -> list[Floats]:
        """Return, for each number of symbols left, the weight of each letter in each state."""
        moves, accepting = np.array(domain.moves), domain.accepting
        ways = np.array([float(state in accepting) for state in range(len(moves))])
        for table in self._tables:
            ways = self._ways(table)
        while len(self._tables) < n:
            table = ways[moves] if self.each == "words" else (ways[moves] > 0).astype(np.float64)
            self._tables.append(table)
            ways = self._ways(table)
        return self._tables

    @staticmethod
    def _ways(table: Floats) -> Floats:
        total: Floats = table.sum(axis=1)
        shares: Floats = total / max(total.max(), 1e-300)
        return shares


# ---- plain float64 ----


@dataclass(frozen=True)
class Pool:
    """Words of any lengths with an expected answer, and the expected outputs at the position where each is compared."""

    words: Sequence[Word]
    tokens: Integers
    """Token numbers, (words, positions); the positions after a word's end hold an arbitrary token."""
    places: Integers
    """The position where each word's output is compared, as an index of tokens."""
    expected: ExpectedOutputs

    @classmethod
    def of(cls, subject: External, words: Iterable[Word]) -> Pool:
        """Collect those of `words` that have an expected answer."""
        pairs: list[tuple[Word, Any]] = []
        for _, group in groupby(sorted(words, key=len), len):
            some = list(group)
            raws = (raw[-1] if by_position(raw) else raw for raw in subject.answers(some) or [])
            pairs += [(word, raw) for word, raw in zip(some, raws, strict=True) if not unjudged(raw)]
        kept = [word for word, _ in pairs]
        read = [subject.network.read(word) for word in kept]
        tokens = np.zeros((len(kept), max(map(len, read), default=0)), dtype=np.int64)
        for row, ids in zip(tokens, read, strict=True):
            row[: len(ids)] = ids
        places = np.array([subject.places(len(word), False)[-1] for word in kept], dtype=np.int64)
        return cls(kept, tokens, places, subject.expected(kept, [raw for _, raw in pairs], False))

    def __len__(self) -> int:
        return len(self.words)

    def some(self, rows: Integers) -> Pool:
        """Select words by their rows."""
        words = [self.words[row] for row in rows]
        return Pool(words, self.tokens[rows], self.places[rows], self.expected.of(rows.tolist()))


def margins(subject: External, network: Network, pool: Pool) -> Floats:
    """Return the margin of each word, in plain float64: its distance from another answer, negative where the answer is
    wrong.
    """
    # Scores must fit the cache, else a batch is several times slower; a single layer has the scores of one query only.
    size = max(1, CELLS // pool.tokens.shape[1] ** (1 if len(network.layers) == 1 else 2))
    parts = [slice(start, start + size) for start in range(0, len(pool), size)]
    found = [outputs(network, pool.tokens[part], pool.places[part]) for part in parts]
    ends = np.concatenate(found)[:, None, :]
    return np.asarray(subject.rule.compare(ends, ends, pool.expected).low, dtype=np.float64)


def outputs(network: Network, tokens: Integers, places: Integers) -> Floats:
    """Return the outputs, of shape (words, outputs), of a causal pre-norm network at one position of each word."""
    rows, m = np.arange(len(tokens)), tokens.shape[1]
    assert isinstance(network.positions, np.ndarray)
    x, at = network.embedding[tokens] + network.positions[:m], np.arange(m)[None]
    for layer in network.layers:
        assert not layer.post
        y = _normed(x, layer.norm_1)
        if layer is network.layers[-1]:  # the last layer is needed at one position only
            x, queries, at = x[rows, places][:, None], y[rows, places][:, None], places[:, None]
        else:
            queries = y
        hidden = np.arange(m) > at[..., None]
        for head in layer.heads:
            assert head.mask is Mask.FUTURE
            x = x + _attended(head, queries, y, hidden)
        x = x + _sum(layer.b_o)
        if layer.mlp is not None:
            mlp = layer.mlp
            x = x + ACTIVATIONS[mlp.activation](_normed(x, layer.norm_2) @ mlp.w_in + _sum(mlp.b_in)) @ mlp.w_out
            x = x + _sum(mlp.b_out)
    found: Floats = _normed(x[:, 0], network.final) @ network.unembedding + _sum(network.unembedding_bias)
    return found


def _attended(head: NetworkHead, queries: Floats, y: Floats, hidden: NDArray[np.bool_]) -> Floats:
    """Return a head's output at the query positions."""
    q, k, v = queries @ head.w_q + _sum(head.b_q), y @ head.w_k + _sum(head.b_k), y @ head.w_v + _sum(head.b_v)
    scores = q @ k.transpose(0, 2, 1) * (float(head.scale.factor) / head.scale.root**0.5)
    scores = np.where(hidden, -np.inf, scores)
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    found: Floats = (weights @ v) / weights.sum(axis=2, keepdims=True) @ head.w_o
    return found


def _sum(bias: Any) -> Any:
    return 0.0 if bias is None else bias


def _normed(x: Floats, norm: Norm | None) -> Floats:
    if norm is None:
        return x
    centred = x - x.mean(axis=-1, keepdims=True) if norm.kind == "layer" else x
    found = centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + float(norm.epsilon))
    scaled: Floats = found * (1.0 if norm.weight is None else norm.weight) + _sum(norm.bias)
    return scaled


ACTIVATIONS: dict[Activation, Callable[[Floats], Floats]] = {
    Activation.RELU: lambda y: np.maximum(y, 0),
    Activation.GELU_NEW: lambda y: 0.5 * y * (1 + np.tanh((2 / np.pi) ** 0.5 * (y + 0.044715 * y * y * y))),
}


# ---- one weight ----


@dataclass(frozen=True)
class Change:
    """A change of one entry of one of a network's arrays, in the direction `sign`."""

    kind: str
    array: int
    entry: int
    sign: float

    def made(self, network: Network, size: float) -> Network:
        """Return a copy of a network with this change, of the given size."""
        changed = deepcopy(network)
        array = arrays(changed)[self.kind][self.array]
        array.flat[self.entry] += self.sign * size
        return changed

    def scale(self, network: Network) -> float:
        """Return the root mean square of the array that is changed (1 if that is 0)."""
        array = np.asarray(arrays(network)[self.kind][self.array], dtype=np.float64)
        return float(np.sqrt((array * array).mean())) or 1.0


def arrays(network: Network) -> dict[str, list[Any]]:
    """List the arrays of a network by the kind of their weights."""
    found: dict[str, list[Any]] = {kind: [] for kind in KINDS}
    found["position"] = [network.positions]
    found["embedding"] = [*arrays_of((network.embedding, network.unembedding, network.unembedding_bias))]
    for layer in network.layers:
        found["attention"] += arrays_of(layer.heads)
        found["mlp"] += arrays_of(layer.mlp)
        found["norm"] += arrays_of((layer.norm_1, layer.norm_2))
    return found


def drawn_change(network: Network, kind: str, rng: Random) -> Change:
    """Choose a weight at random: first the array, then its entry."""
    choices = arrays(network)[kind]
    number = rng.randrange(len(choices))
    array, first = choices[number], 0
    if kind == "position":  # the last symbol of a word of n symbols stands in row `before` + n - 1
        first = (len(network.readout.before) + SHORTEST - 1) * array.shape[1]
    return Change(kind, number, rng.randrange(first, array.size), rng.choice((-1.0, 1.0)))


# ---- faults ----


@dataclass(frozen=True)
class Fault:
    """A faulty network, with a `word` on which it is wrong.

    `wrong` of `pool` random words of that length are wrong, and the share `rarity` of random words of all lengths from
    `SHORTEST` on.
    """

    case: str
    change: Change
    shaped: bool
    size: float
    word: Word
    wrong: int
    pool: int
    rarity: float
    subject: External


class Planter:
    """Plants faults in the network of a case."""

    def __init__(self, case: Case, seed: int) -> None:
        self.case, self.subject, self.network = case, case.subject, case.subject.network
        longest = self.network.longest
        assert longest is not None
        self.lengths = range(SHORTEST, longest + 1)
        self.samplers = [Sampler(self.subject, each) for each in ("letters", "words")]
        self.seed = [seed, *case.name.encode()]
        self.few = Pool.of(self.subject, self.drawn(FEW, self.lengths))
        self.spread = self._over_all(SPREAD)
        self.short = Pool.of(self.subject, self._short())
        self._parts: dict[int, Pool] = {}
        self._pools: dict[int, Pool] = {}

    def _over_all(self, count: int) -> Pool:
        """Draw about `count` random words of all lengths together."""
        return Pool.of(self.subject, self.drawn(count // len(self.lengths), self.lengths))

    @cached_property
    def heard(self) -> Pool:
        """Random words that measure the rarity of a fault; no choice of a fault depends on them."""
        return self._over_all(TOLD)

    def drawn(self, count: int, lengths: Iterable[int]) -> Iterator[Word]:
        """Draw about `count` random words of each length, half of them with equally likely letters, half with equally
        likely words.
        """
        for n in lengths:
            rng = np.random.default_rng([*self.seed, n, count])
            for sampler in self.samplers:
                yield from sampler.words(n, (count + 1) // 2, rng)

    def _short(self) -> Iterator[Word]:
        """Yield all words shorter than `SHORTEST` of each length, or `MANY` random ones where there are too many."""
        domain, alphabet = self.subject.domain, self.subject.alphabet
        for n in range(1, SHORTEST):
            count = len(alphabet) ** n if domain is None else domain.count(n)
            if n <= WHOLE and count <= MOST:
                yield from product(alphabet, repeat=n) if domain is None else domain.words(n)
            else:
                yield from self.drawn(MANY, [n])

    def part(self, n: int) -> Pool:
        """Return `PART` random words of length n."""
        if n not in self._parts:
            self._parts[n] = Pool.of(self.subject, self.drawn(PART, [n]))
        return self._parts[n]

    def pool(self, n: int) -> Pool:
        """Return `POOL` random words of length n."""
        if n not in self._pools:
            self._pools = {n: Pool.of(self.subject, self.drawn(POOL, [n]))}  # a pool is large: keep one at a time
        return self._pools[n]

    # ---- how a change is found ----

    def fault(self, kind: str, shaped: bool, rng: Random) -> Fault | None:
        """Find a fault of a kind; None if no change that is tried gives one."""
        for _ in range(SHAPED if shaped else ATTEMPTS):
            change = drawn_change(self.network, kind, rng)
            found = self._shaped(change, rng) if shaped else self._random(change)
            if found is not None and not self._wrong(change, found[1], self.short):
                return self._fault(change, *found, shaped)
        return None

    def _random(self, change: Change) -> tuple[Pool, float, int] | None:
        """Find a size of the change at which few random words are wrong; return the pool, the size, and the row of a
        wrong word.
        """
        size = self._first(change, self.few)
        if size is None or self._wrong(change, size, self.short):
            return None
        n = len(self.few.words[int(self._margins(change, size, self.few).argmin())])
        draws: tuple[Callable[[], Pool], ...] = (lambda: self.part(n), lambda: self.spread, lambda: self.pool(n))
        for draw in draws:
            size = self._rare(change, size, draw())
        for pool in (self.pool(n), self.spread):
            wrong = np.flatnonzero(self._margins(change, size, pool) < 0)
            if len(wrong):
                return (pool, size, int(wrong[0])) if len(wrong) <= WRONG else None
        return None

    def _rare(self, change: Change, size: float, pool: Pool) -> float:
        """Find by bisection the largest size, at most `size`, at which at most `WRONG` words of the pool are wrong."""
        wrong = np.flatnonzero(self._margins(change, size, pool) < 0)
        if len(wrong) <= WRONG:
            return size
        part, low, high = pool.some(wrong), 0.0, size
        for _ in range(HALVINGS):
            size = (low + high) / 2
            low, high = (low, size) if self._wrong(change, size, part) > WRONG else (size, high)
        return low

    def _shaped(self, change: Change, rng: Random) -> tuple[Pool, float, int] | None:
        """Find a word of simple shape, and a size of the change at which it is wrong but no random word is."""
        n = rng.choice(self.lengths)
        words = (self.case.shaped(n, rng) for _ in range(SHAPES))
        some = Pool.of(self.subject, dict.fromkeys(filter(None, words)))
        size = self._first(change, some, HALVINGS) if len(some) else None
        if size is None:
            return None
        size *= ROOM
        right: tuple[Callable[[], Pool], ...] = (
            lambda: self.few,
            lambda: self.part(n),
            lambda: self.spread,
            lambda: self.pool(n),
        )
        if any(self._wrong(change, size, pool()) for pool in right):
            return None
        return some, size, int(self._margins(change, size, some).argmin())

    def _first(self, change: Change, pool: Pool, halvings: int = ROUGHLY) -> float | None:
        """Find, from above, the smallest size of the change at which a word of the pool is wrong; None if it is too
        large.
        """
        size = change.scale(self.network) / 64
        for _ in range(DOUBLINGS):
            if self._wrong(change, size, pool):
                break
            size *= 2
        else:
            return None
        low, high = size / 2, size
        for _ in range(halvings):
            size = (low + high) / 2
            low, high = (low, size) if self._wrong(change, size, pool) else (size, high)
        return high

    def _margins(self, change: Change, size: float, pool: Pool) -> Floats:
        return margins(self.subject, change.made(self.network, size), pool)

    def _wrong(self, change: Change, size: float, pool: Pool) -> int:
        """Count the wrong words."""
        return int((self._margins(change, size, pool) < 0).sum())

    def _fault(self, change: Change, pool: Pool, size: float, row: int, shaped: bool) -> Fault:
        word = pool.words[row]
        many = self.pool(len(word))
        return Fault(
            case=self.case.name,
            change=change,
            shaped=shaped,
            size=size,
            word=word,
            wrong=self._wrong(change, size, many),
            pool=len(many),
            rarity=self._wrong(change, size, self.heard) / len(self.heard),
            subject=replace(self.subject, network=change.made(self.network, size)),
        )
