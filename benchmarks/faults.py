"""Faults planted in correct networks: one weight is changed, so that the network is wrong on few, long words only.

The wrong words are found without hardsim's search: by bisection of the size of the change, in plain float64, on words
that are random or have a simple shape. A change is kept if all short words stay right.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import chain, groupby, product
from random import Random
from typing import Any

import numpy as np

from benchmarks.dense import Floats, Integers
from benchmarks.external import PlainPass
from benchmarks.handmade import Case
from hardsim.lang.automata.automaton import Word
from hardsim.network.dense import Network, arrays_of
from hardsim.targets.expected import ExpectedOutputs, by_position, unjudged
from hardsim.targets.external import External

SHORTEST = 20
"""Length of the shortest words that may be wrong."""
WHOLE = 12
"""Length up to which all words with an expected answer must be right, if there are at most `MOST` of a length."""
MOST = 4096
FEW = 6
"""Number of words of each length that a change is first tried on."""
POOL, PART = 5000, 500
"""`POOL` is the number of random words at the length of the first wrong word; few of them may be wrong. `PART` of them
are tried first."""
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
size."""
ATTEMPTS, SHAPED = 12, 50
"""Numbers of changes that are tried for one fault, on random words and on words of simple shape (more, as most fail
early)."""
SHAPES = 20
"""Number of words of simple shape that are tried; the first to become wrong is taken."""
ROOM = 1 + 2**-20
"""Factor by which a change exceeds the smallest change that makes a word of simple shape wrong."""
KINDS = ("position", "embedding", "attention", "mlp", "norm")
"""Places of the changed weight: a row of the table of positions that no word shorter than `SHORTEST` reads, the
embedding or the unembedding, a head, an MLP, a norm."""


# ---- words at random ----


class Sampler:
    """A source of random words with an expected answer.

    With `each` = "letters" all letters that can continue a word are equally likely, with "words" all words are."""

    def __init__(self, subject: External, each: str) -> None:
        self.alphabet, self.domain, self.each = np.array(subject.alphabet), subject.domain, each
        self._tables: list[Floats] = []
        if self.domain is not None:
            # The moves of the automaton, and the share of accepted words in each state.
            self._moves = np.array(self.domain.moves)
            self._ways = np.array([float(state in self.domain.accepting) for state in range(len(self._moves))])

    def words(self, n: int, count: int, rng: np.random.Generator) -> list[Word]:
        """Draw `count` words of length n, possibly with repetitions; none if no word of this length has an expected
        answer. The letters of these languages are single symbols."""
        found = rng.integers(0, len(self.alphabet), size=(count, n)) if self.domain is None else None
        if found is None:
            chances = self._chances(n)
            if not chances[n - 1][0].any():
                return []
            state, found = np.zeros(count, dtype=np.int64), np.empty((count, n), dtype=np.int64)
            for place in range(n):
                ends = np.cumsum(chances[n - 1 - place][state], axis=1)
                found[:, place] = (rng.random(count)[:, None] * ends[:, -1:] >= ends).sum(axis=1)
                state = self._moves[state, found[:, place]]
        return list(map(tuple, self.alphabet[found].tolist()))

    def _chances(self, n: int) -> list[Floats]:
        """Return, for each number of symbols left, the weight of each letter in each state."""
        while len(self._tables) < n:
            ways = self._ways[self._moves]
            self._tables.append(ways if self.each == "words" else (ways > 0).astype(np.float64))
            total = self._tables[-1].sum(axis=1)
            self._ways = total / max(total.max(), 1e-300)
        return self._tables


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

    def some(self, rows: Integers) -> Pool:
        """Select words by their rows."""
        words = [self.words[row] for row in rows]
        return Pool(words, self.tokens[rows], self.places[rows], self.expected.of(rows.tolist()))


def margins(subject: External, network: Network, pool: Pool) -> Floats:
    """Return the margin of each word, in plain float64: its distance from another answer, negative where the answer is
    wrong."""
    ends = PlainPass(network).run(pool.tokens, pool.places)
    return np.asarray(subject.rule.compare(ends, ends, pool.expected).low, dtype=np.float64)


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
    """A faulty network whose changed weight is of kind `weight`, with a `word` on which it is wrong.

    `wrong` of `pool` random words of that length are wrong, and the share `rarity` of random words of all lengths from
    `SHORTEST` on."""

    subject: External
    weight: str
    word: Word
    wrong: int
    pool: int
    rarity: float


class Planter:
    """Plants faults in the network of a case."""

    def __init__(self, case: Case, seed: int) -> None:
        self.case, self.subject, self.network = case, case.subject, case.subject.network
        longest = self.network.longest
        assert longest is not None
        self.lengths = range(SHORTEST, longest + 1)
        self.samplers = [Sampler(self.subject, each) for each in ("letters", "words")]
        self.seed = [seed, *case.name.encode()]
        self.part = cache(lambda n: self._random_words(PART, [n]))
        self.pool = lru_cache(1)(lambda n: self._random_words(POOL, [n]))  # a pool is large: one is kept at a time
        self.few, self.spread, self.heard = (
            self._random_words(count, self.lengths)
            for count in (FEW, SPREAD // len(self.lengths), TOLD // len(self.lengths))
        )
        self.short = Pool.of(self.subject, self._short())

    def _random_words(self, count: int, lengths: Iterable[int]) -> Pool:
        return Pool.of(self.subject, self._drawn(count, lengths))

    def _drawn(self, count: int, lengths: Iterable[int]) -> Iterator[Word]:
        """Draw about `count` random words of each length, half of them with equally likely letters, half with equally
        likely words."""
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
                yield from self._drawn(MANY, [n])

    def fault(self, kind: str, shaped: bool, rng: Random) -> Fault | None:
        """Find a fault of a kind; None if no change that is tried gives one."""
        for _ in range(SHAPED if shaped else ATTEMPTS):
            change = drawn_change(self.network, kind, rng)
            found = self._shaped(change, rng) if shaped else self._random(change)
            if found is not None and not self._wrong(change, found[1], self.short):
                word, size = found
                many = self.pool(len(word))
                wrong, heard = (self._wrong(change, size, pool) for pool in (many, self.heard))
                changed = replace(self.subject, network=change.made(self.network, size))
                return Fault(changed, change.kind, word, wrong, len(many.words), heard / len(self.heard.words))
        return None

    def _random(self, change: Change) -> tuple[Word, float] | None:
        """Find a size of the change at which few random words are wrong; return a wrong word and the size."""
        size = self._first(change, self.few)
        if size is None or self._wrong(change, size, self.short):
            return None
        n = len(self._worst(change, size, self.few))
        for pool in self._pools(n):
            size = self._rare(change, size, pool)
        for pool in (self.pool(n), self.spread):
            wrong = self._wrong(change, size, pool)
            if wrong:
                rows = np.flatnonzero(self._margins(change, size, pool) < 0)
                return (pool.words[int(rows[0])], size) if wrong <= WRONG else None
        return None

    def _pools(self, n: int) -> Iterator[Pool]:
        """Yield more and more random words, of length n and of all lengths."""
        yield self.part(n)
        yield self.spread
        yield self.pool(n)

    def _rare(self, change: Change, size: float, pool: Pool) -> float:
        """Find by bisection the largest size, at most `size`, at which at most `WRONG` words of the pool are wrong."""
        wrong = np.flatnonzero(self._margins(change, size, pool) < 0)
        if len(wrong) <= WRONG:
            return size
        return self._bisected(change, pool.some(wrong), (0.0, size), HALVINGS, WRONG)[0]

    def _shaped(self, change: Change, rng: Random) -> tuple[Word, float] | None:
        """Find a word of simple shape, and a size of the change at which it is wrong but no random word is."""
        n = rng.choice(self.lengths)
        words = (self.case.shaped(n, rng) for _ in range(SHAPES))
        some = Pool.of(self.subject, dict.fromkeys(filter(None, words)))
        size = self._first(change, some, HALVINGS) if some.words else None
        if size is None:
            return None
        size *= ROOM
        if any(self._wrong(change, size, pool) for pool in chain([self.few], self._pools(n))):
            return None
        return self._worst(change, size, some), size

    def _first(self, change: Change, pool: Pool, halvings: int = ROUGHLY) -> float | None:
        """Find, from above, the smallest size of the change at which a word of the pool is wrong; None if it is too
        large."""
        scale = change.scale(self.network) / 64
        sizes = (scale * 2**step for step in range(DOUBLINGS))
        size = next((size for size in sizes if self._wrong(change, size, pool)), None)
        return None if size is None else self._bisected(change, pool, (size / 2, size), halvings)[1]

    def _bisected(
        self, change: Change, pool: Pool, ends: tuple[float, float], halvings: int, most: int = 0
    ) -> tuple[float, float]:
        """Halve an interval of sizes; more than `most` words of the pool are wrong at its upper end only."""
        low, high = ends
        for _ in range(halvings):
            size = (low + high) / 2
            low, high = (low, size) if self._wrong(change, size, pool) > most else (size, high)
        return low, high

    def _margins(self, change: Change, size: float, pool: Pool) -> Floats:
        return margins(self.subject, change.made(self.network, size), pool)

    def _worst(self, change: Change, size: float, pool: Pool) -> Word:
        """Return the word with the least margin."""
        return pool.words[int(self._margins(change, size, pool).argmin())]

    def _wrong(self, change: Change, size: float, pool: Pool) -> int:
        """Count the wrong words."""
        return int((self._margins(change, size, pool) < 0).sum())
