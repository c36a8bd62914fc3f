"""Which words a check tries: all of them while that is affordable, otherwise a deterministic and varied choice.

Everything here is a pure function of its arguments. Randomness comes from a generator derived from (seed, n) alone,
so what is tried at one length does not depend on which other lengths are checked.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from random import Random

from hardsim.checking.neighbours import Accepts, Word, boundary_pairs, changed_once, members
from hardsim.errors import InputError

STRUCTURED_LIMIT = 24
"""Structured words per length, unless the caller says otherwise; see `structured_words` for which come first."""

PAIRS = 4
"""Pairs of neighbours on either side of the acceptance boundary per length, unless the caller says otherwise."""

_BIASES = (0.5, 0.8, 0.95)
"""Probabilities of the favoured symbol in a biased word."""


def count_words(k: int, n: int) -> int:
    """How many words of length n there are over k symbols."""
    return int(k**n)


def count_words_upto(k: int, n: int, most: int) -> int:
    """The same, or `most` if there are more: a power that is not asked for is not computed."""
    if k > 1 and n > most.bit_length():
        return most
    return min(count_words(k, n), most)


def enumerate_words(alphabet: Sequence[str], n: int) -> Iterator[Word]:
    """Every word of length n, in lexicographic order with the symbols ordered as in the alphabet."""
    return product(alphabet, repeat=n)


@dataclass(frozen=True, slots=True)
class AllWords(Collection[Word]):
    """Every word of length n, made anew for each iteration and never stored."""

    alphabet: tuple[str, ...]
    n: int

    def __iter__(self) -> Iterator[Word]:
        return enumerate_words(self.alphabet, self.n)

    def __len__(self) -> int:
        return count_words(len(self.alphabet), self.n)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, tuple) and len(word) == self.n and all(symbol in self.alphabet for symbol in word)


def structured_words(alphabet: Sequence[str], n: int, limit: int | None = None) -> list[Word]:
    """Distinct words of simple shape: constant; alternating; constant but for one change.

    For each ordered pair of symbols (a, b): `abab...`, and `a` everywhere but for one `b` at the last, the first or the
    middle position. A limit cuts the list off; what comes first is meant to be worth most: all constant words, then
    each symbol with its successor in the (cyclic) alphabet, alternating before changed, then with the one after
    that, and so on, so every symbol takes part before any takes part twice.
    """

    def shapes() -> Iterator[Word]:
        k = len(alphabet)
        yield from ((symbol,) * n for symbol in alphabet)
        for distance in range(1, k):
            pairs = [(alphabet[index], alphabet[(index + distance) % k]) for index in range(k)]
            yield from (tuple(pair[i % 2] for i in range(n)) for pair in pairs)
            for place in (n - 1, 0, n // 2):
                yield from ((a,) * place + (b,) + (a,) * (n - 1 - place) for a, b in pairs)

    seen: dict[Word, None] = {}
    for word in shapes():
        if limit is not None and len(seen) >= limit:
            break
        seen[word] = None
    return list(seen)


def sample_words(
    alphabet: Sequence[str],
    n: int,
    count: int,
    seed: int,
    accepts: Accepts | None = None,
    seeds: Iterable[Word] = (),
    exclude: Collection[Word] = (),
) -> list[Word]:
    """`count` distinct random words of length n, none of them in `exclude`; fewer only if there are no more.

    The kinds take turns: uniform over the symbols; biased to one symbol; long runs. With `accepts`, where accepted
    words of this length can be found (by stretching `seeds` and short words), also accepted words and near-misses:
    an accepted word with one symbol changed.
    """
    rng = _generator(seed, n, "sample")
    kinds: list[Callable[[], Word]] = [
        lambda: tuple(rng.choices(alphabet, k=n)),
        lambda: _biased(alphabet, n, rng),
        lambda: _runs(alphabet, n, rng),
    ]
    pool = members(alphabet, n, accepts, rng, seeds, max(4, count // 4)) if accepts and count > 0 else []
    if pool:
        queue = iter(pool)
        kinds.append(lambda: next(queue, None) or changed_once(rng.choice(pool), alphabet, rng))
        kinds.append(lambda: changed_once(rng.choice(pool), alphabet, rng))
    taken = {word for word in exclude if len(word) == n}
    wanted = max(0, min(count, count_words(len(alphabet), n) - len(taken)))
    words: list[Word] = []
    for turn in range(wanted):
        word = kinds[turn % len(kinds)]()
        for kind in kinds:
            word = kind() if word in taken else word
        if word in taken:
            word = _next_free(word, alphabet, taken)
        taken.add(word)
        words.append(word)
    return words


@dataclass(frozen=True, slots=True)
class WordPlan:
    """The words of length n that a check tries, each once: `words`, out of `possible` that exist.

    `exhaustive` says that they are all of them. `pairs` are the pairs (accepted, rejected) of neighbours that were
    looked for on purpose; their words are among `words` too.
    """

    n: int
    possible: int
    exhaustive: bool
    words: Collection[Word]
    pairs: tuple[tuple[Word, Word], ...] = ()


def planned_count(
    k: int,
    n: int,
    exhaustive_limit: int,
    samples: int,
    seeds: int = 0,
    structured_limit: int = STRUCTURED_LIMIT,
    pairs: int = PAIRS,
) -> int:
    """At most how many words `plan_length` plans over k symbols, without planning them; `seeds` is their number."""
    whole = max(exhaustive_limit, samples)
    structured = min(structured_limit, k + 4 * k * (k - 1))
    chosen = seeds + structured + 2 * pairs + samples
    possible = count_words_upto(k, n, max(whole, chosen) + 1)
    return possible if possible <= whole else min(possible, chosen)


def plan_length(
    alphabet: Sequence[str],
    n: int,
    exhaustive_limit: int,
    samples: int,
    seed: int,
    accepts: Accepts,
    seeds: Iterable[Word] = (),
    structured_limit: int = STRUCTURED_LIMIT,
    pairs: int = PAIRS,
) -> WordPlan:
    """The words to try at length n.

    Every word, if there are at most `exhaustive_limit` (or no more than `samples`) of them. Otherwise, without
    repetition and in this order: the `seeds` of length n; up to `structured_limit` structured words; up to `pairs`
    pairs of neighbours that differ in acceptance; and `samples` random words *on top of* these (or as many as exist).

    Args:
        accepts: the oracle; called for some of the words and for words on the way to pairs.
        seeds: words known to be of interest, of any length, such as a file's examples.

    Raises:
        InputError: if n < 1, since words are non-empty, or if the alphabet is empty.
    """
    if n < 1:
        raise InputError(f"there are no words of length {n}", "Lengths start at 1: words are non-empty.")
    if not alphabet:
        raise InputError("there are no words over an empty alphabet", "Name at least one symbol.")
    possible = count_words(len(alphabet), n)
    if possible <= max(exhaustive_limit, samples):
        return WordPlan(n, possible, True, AllWords(tuple(alphabet), n))
    seeds = tuple(seeds)
    words = dict.fromkeys(word for word in seeds if len(word) == n)
    words.update(dict.fromkeys(structured_words(alphabet, n, structured_limit)))
    rng = _generator(seed, n, "pairs")
    found: list[tuple[Word, Word]] = []
    if pairs > 0:
        known = [*words, *members(alphabet, n, accepts, rng, seeds, pairs)]
        known += islice(_uniform(alphabet, n, rng), 2 * pairs)
        found = boundary_pairs(known, alphabet, accepts, rng, pairs)
    words.update(dict.fromkeys(word for pair in found for word in pair))
    words.update(dict.fromkeys(sample_words(alphabet, n, samples, seed, accepts, seeds, exclude=words)))
    return WordPlan(n, possible, len(words) == possible, tuple(words), tuple(found))


def _generator(seed: int, n: int, purpose: str) -> Random:
    """A generator for one purpose at one length (seeding with a text is the same on every platform)."""
    return Random(f"{seed}/{n}/{purpose}")


def _uniform(alphabet: Sequence[str], n: int, rng: Random) -> Iterator[Word]:
    while True:
        yield tuple(rng.choices(alphabet, k=n))


def _biased(alphabet: Sequence[str], n: int, rng: Random) -> Word:
    """One symbol most of the time, any symbol otherwise."""
    favourite, bias = rng.choice(alphabet), rng.choice(_BIASES)
    return tuple(favourite if rng.random() < bias else rng.choice(alphabet) for _ in range(n))


def _runs(alphabet: Sequence[str], n: int, rng: Random) -> Word:
    """Few changes of symbol: a Markov chain that draws anew with a probability of 1, 2 or 4 expected draws in n."""
    switch = rng.choice((1, 2, 4)) / n
    word = [rng.choice(alphabet)]
    while len(word) < n:
        word.append(rng.choice(alphabet) if rng.random() < switch else word[-1])
    return tuple(word)


def _next_free(word: Word, alphabet: Sequence[str], taken: Collection[Word]) -> Word:
    """The first word after this one, in cyclic lexicographic order, that is not taken; there must be one."""
    digits = [alphabet.index(symbol) for symbol in word]
    while True:
        for place in range(len(digits) - 1, -1, -1):
            digits[place] = (digits[place] + 1) % len(alphabet)
            if digits[place]:
                break
        word = tuple(alphabet[digit] for digit in digits)
        if word not in taken:
            return word
