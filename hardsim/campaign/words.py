"""The words that a check tries: all words of a length if they are few enough, otherwise a deterministic and varied
choice.

Randomness comes from (seed, n) alone, so the words of one length do not depend on the other lengths checked.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain, groupby, islice, product
from random import Random
from typing import TypeAlias, TypeVar

from hardsim.errors import InputError
from hardsim.lang.automata.automaton import Automaton
from hardsim.lang.valuations import Alphabet, Valuations
from hardsim.lang.words import count_words
from hardsim.lazy_dataclass import dataclass

Word: TypeAlias = tuple[str, ...]
Accepts: TypeAlias = Callable[[Word], bool]
Row = TypeVar("Row", Word, bytes)
"""A word: its symbols, or their numbers in the alphabet."""

STRUCTURED_LIMIT, PAIRS = 24, 4
"""Largest numbers of structured words, and of pairs of neighbours on either side of the acceptance boundary, for
each length."""
BIASES = (0.5, 0.8, 0.95)
"""Probabilities of the favoured symbol in a biased word."""
SHORT_WORDS, STARTS = 200, 12
"""Largest number of words of one length that are all starting words for longer ones, and largest number of
accepted starting words in all."""
TRIES = 5
"""Number of attempts for each word or pair that is wanted, before the search for it is given up."""
FAMILIES = 4
"""Most families of accepted words that are stretched together, each from starting words of one length."""


def count_words_upto(k: int, n: int, most: int) -> int:
    """Return the number of words of length n over k symbols, or `most` if there are more. Powers far above `most` are
    not computed."""
    return most if k > 1 and n > most.bit_length() else min(count_words(k, n), most)


def enumerate_words(alphabet: Sequence[str], n: int) -> Iterator[Word]:
    """Yield every word of length n, in lexicographic order with the symbols ordered as in the alphabet."""
    # `product` would first list all sets of propositions, which may be too many for the memory.
    if not isinstance(alphabet, Valuations):
        return product(alphabet, repeat=n)
    return ((symbol, *rest) for symbol in alphabet for rest in (enumerate_words(alphabet, n - 1) if n > 1 else [()]))


@dataclass(frozen=True, slots=True)
class AllWords(Collection[Word]):
    """All words of length n, generated anew for each iteration and never stored."""

    alphabet: Alphabet
    n: int

    def __iter__(self) -> Iterator[Word]:
        return enumerate_words(self.alphabet, self.n)

    def __len__(self) -> int:
        return count_words(len(self.alphabet), self.n)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, tuple) and len(word) == self.n and all(symbol in self.alphabet for symbol in word)


@dataclass(frozen=True, slots=True)
class LanguageWords(Collection[Word]):
    """All words of length n of a regular language, `count` of them, generated anew for each iteration and never
    stored."""

    language: Automaton
    n: int
    count: int

    def __iter__(self) -> Iterator[Word]:
        return self.language.words(self.n) if self.n else iter([()])

    def __len__(self) -> int:
        return self.count

    def __contains__(self, word: object) -> bool:
        return isinstance(word, tuple) and len(word) == self.n and (not word or self.language.accepts(word))


def structured_words(alphabet: Sequence[str], n: int, limit: int | None = None) -> list[Word]:
    """Return distinct words of simple shape: constant; alternating; constant except for one change.

    For each ordered pair of symbols (a, b): `abab...`, and `a` everywhere except for one `b` at the last, the first
    or the middle position. The most useful words come first, in case there is a limit: all constant words, then each
    symbol with its successor in the (cyclic) alphabet, then with the one after that, so every symbol takes part
    before any does twice.
    """

    def shapes() -> Iterator[Word]:
        some = few(alphabet)
        k = len(some)
        yield from ((symbol,) * n for symbol in some)
        for distance in range(1, k):
            pairs = [(some[index], some[(index + distance) % k]) for index in range(k)]
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
    pool: Sequence[Word] = (),
    exclude: Collection[Word] = (),
) -> list[Word]:
    """Return `count` distinct random words of length n, none of them in `exclude`; fewer only if there are no more.

    The kinds take turns: uniform over the symbols; biased to one symbol; long runs. With a `pool` of accepted words of
    this length (`members`), also accepted words and near-misses: an accepted word with one symbol changed.
    """
    rng = Random(f"{seed}/{n}/sample")
    queue = iter(pool)

    def biased() -> Word:
        favourite, bias = rng.choice(alphabet), rng.choice(BIASES)
        return tuple(favourite if rng.random() < bias else rng.choice(alphabet) for _ in range(n))

    def runs() -> Word:
        # A Markov chain that draws anew with a probability of 1, 2 or 4 expected draws in n.
        switch = rng.choice((1, 2, 4)) / n
        word = [rng.choice(alphabet)]
        while len(word) < n:
            word.append(rng.choice(alphabet) if rng.random() < switch else word[-1])
        return tuple(word)

    def near() -> Word:
        return changed_once(rng.choice(pool), alphabet, rng)

    kinds: list[Callable[[], Word]] = [lambda: drawn(alphabet, n, rng), biased, runs]
    if pool:
        kinds += [lambda: next(queue, None) or near(), near]
    taken = {word for word in exclude if len(word) == n}
    target_count = max(0, min(count, count_words(len(alphabet), n) - len(taken)))
    words: list[Word] = []
    for turn in range(target_count):
        word = kinds[turn % len(kinds)]()
        for kind in kinds:
            word = kind() if word in taken else word
        word = _next_free(word, alphabet, taken)
        taken.add(word)
        words.append(word)
    return words


def _next_free(word: Word, alphabet: Sequence[str], taken: Collection[Word]) -> Word:
    """Return the first word after this one, in cyclic lexicographic order, that is not taken; there must be one."""
    if word not in taken:
        return word
    digits = [alphabet.index(symbol) for symbol in word]
    while word in taken:
        for place in reversed(range(len(digits))):
            digits[place] = (digits[place] + 1) % len(alphabet)
            if digits[place]:
                break
        word = tuple(alphabet[digit] for digit in digits)
    return word


@dataclass(frozen=True, slots=True)
class WordPlan:
    """The words of length n that a check tries, each once: `words`, out of `possible` that exist.

    `exhaustive` is True if they are all of them. `pairs` are pairs (accepted, rejected) of neighbours, from a search
    for the boundary; their words are among `words` too.
    """

    n: int
    possible: int
    exhaustive: bool
    words: Collection[Word]
    pairs: tuple[tuple[Word, Word], ...] = ()


@dataclass(frozen=True, slots=True)
class Effort:
    """The amount of words to try at one length: every word, if there are at most `exhaustive` (or no more than
    `samples`) of them; else up to `structured` structured words, up to `pairs` pairs of neighbours that differ in
    acceptance, and `samples` random words in addition (or as many as exist)."""

    exhaustive: int
    samples: int
    structured: int = STRUCTURED_LIMIT
    pairs: int = PAIRS


def planned_count(k: int, n: int, effort: Effort, seeds: int = 0) -> int:
    """Return an upper bound of the number of words that `plan_words` plans over k symbols, without planning them;
    `seeds` is the number of its seeds."""
    whole = max(effort.exhaustive, effort.samples)
    chosen = seeds + min(effort.structured, k + 4 * k * (k - 1)) + 2 * effort.pairs + effort.samples
    possible = count_words_upto(k, n, max(whole, chosen) + 1)
    return possible if possible <= whole else min(possible, chosen)


def plan_words(
    alphabet: Sequence[str], n: int, effort: Effort, seed: int, accepts: Accepts, seeds: Iterable[Word] = ()
) -> WordPlan:
    """Return the words to try at length n, without repetition. If these are not all words, the `seeds` of that length
    come first.

    Args:
        accepts: the oracle; called for some of the words and for words on the way to pairs (see `members`).
        seeds: words known to be of interest, of any length, such as a file's examples.

    Raises InputError if n < 1, since words are non-empty, or if the alphabet is empty."""
    if n < 1:
        raise InputError(f"there are no words of length {n}", "Lengths start at 1: words are non-empty.")
    if not alphabet:
        raise InputError("there are no words over an empty alphabet", "Name at least one symbol.")
    possible = count_words(len(alphabet), n)
    if possible <= max(effort.exhaustive, effort.samples):
        return WordPlan(
            n, possible, True, AllWords(alphabet if isinstance(alphabet, Valuations) else tuple(alphabet), n)
        )
    seeds, rng = tuple(seeds), Random(f"{seed}/{n}/pairs")
    words = dict.fromkeys([word for word in seeds if len(word) == n] + structured_words(alphabet, n, effort.structured))
    found: list[tuple[Word, Word]] = []
    pool = members(alphabet, n, accepts, rng, seeds, max(effort.pairs, 4, effort.samples // 4))
    if effort.pairs > 0:
        known = [*words, *pool[: effort.pairs]]
        known += [drawn(alphabet, n, rng) for _ in range(2 * effort.pairs)]
        found = boundary_pairs(known, alphabet, accepts, rng, effort.pairs)
    words |= dict.fromkeys(word for pair in found for word in pair)
    words |= dict.fromkeys(sample_words(alphabet, n, effort.samples, seed, pool, exclude=words))
    return WordPlan(n, possible, len(words) == possible, tuple(words), tuple(found))


# ---- accepted words of a wanted length, and neighbours that differ in acceptance ----
# A language is known here only through `accepts`; every search asks it a bounded number of times.


def boundary_pairs(
    words: Iterable[Word], alphabet: Sequence[str], accepts: Accepts, rng: Random, count: int
) -> list[tuple[Word, Word]]:
    """Return up to `count` distinct pairs (accepted, rejected) that differ in exactly one symbol.

    The first way changes one symbol of the given words. The second bisects a walk from an accepted to a rejected word
    of the same length, one symbol at a time: its ends differ in acceptance, so the ends of one of its halves do.
    Hence a pair is found whenever both classes are known at some length. If `accepts` has a method `many`, it decides
    the first words together.
    """
    known = list(dict.fromkeys(words))
    pairs: dict[tuple[Word, Word], None] = {}
    changes = [(word, changed_once(word, alphabet, rng)) for word in rng.sample(known, min(len(known), TRIES * count))]
    decide = _kept(accepts, [*known, *(neighbour for _, neighbour in changes)])
    for word, neighbour in changes:
        if decide(word) != decide(neighbour):
            known.append(neighbour)
            if 2 * len(pairs) < count:
                pairs[(word, neighbour) if decide(word) else (neighbour, word)] = None
    classes: dict[int, tuple[list[Word], list[Word]]] = {}
    for word in known:
        classes.setdefault(len(word), ([], []))[0 if decide(word) else 1].append(word)
    ends = [both for both in classes.values() if all(both)]
    for _ in range(TRIES * count if ends else 0):
        if len(pairs) >= count:
            break
        accepted, rejected = rng.choice(ends)
        pairs[_bisect(rng.choice(accepted), rng.choice(rejected), decide, rng)] = None
    return list(pairs)


def _kept(accepts: Accepts, words: Iterable[Word]) -> Accepts:
    """Return `accepts` with its answers kept. If it can decide many words of one length together, it does so for these
    words."""
    known: dict[Word, bool] = {}
    many: Callable[[Sequence[Word]], Sequence[bool]] | None = getattr(accepts, "many", None)
    if many is not None:
        for _, alike in groupby(sorted(dict.fromkeys(words), key=len), key=len):
            some = list(alike)
            known.update(zip(some, many(some), strict=True))

    def decide(word: Word) -> bool:
        if word not in known:
            known[word] = accepts(word)
        return known[word]

    return decide


def changed_once(word: Word, alphabet: Sequence[str], rng: Random) -> Word:
    """Return the word with the symbol at one random position replaced by another; unchanged if there is no other
    symbol."""
    place = rng.randrange(len(word))
    if len(alphabet) == 1:
        return word
    # The number skips the present symbol; listing the other ones would be too long for large alphabets.
    if isinstance(alphabet, Valuations):
        number = rng.randrange(len(alphabet) - 1)
        other = alphabet[number + (number >= alphabet.index(word[place]))]
    else:
        other = rng.choice([symbol for symbol in alphabet if symbol != word[place]])
    return (*word[:place], other, *word[place + 1 :])


def few(alphabet: Sequence[str]) -> Sequence[str]:
    """Return the symbols of an alphabet, or a few simple ones if they are more than SHORT_WORDS sets of
    propositions."""
    return alphabet.simple() if isinstance(alphabet, Valuations) and len(alphabet) > SHORT_WORDS else alphabet


def drawn(alphabet: Sequence[str], n: int, rng: Random) -> Word:
    """Return a random word of n symbols, each equally likely."""
    if isinstance(alphabet, Valuations):  # `choices` multiplies a float, which has too few bits for large alphabets
        return tuple(rng.choice(alphabet) for _ in range(n))
    return tuple(rng.choices(alphabet, k=n))


def members(
    alphabet: Sequence[str], n: int, accepts: Accepts, rng: Random, seeds: Iterable[Word], count: int
) -> list[Word]:
    """Return up to `count` distinct accepted words of length n, found by stretching (or shrinking) accepted words.

    Starting points are `seeds` of any length and all short words. Repeating a factor is how the pumping lemma makes
    longer members of a regular language, so this reaches languages that random words practically never hit. If
    `accepts` has a method `many`, it decides words of one length together; `numbered` does so for words of symbol
    numbers.
    """
    starts = list(islice(filter(accepts, dict.fromkeys(chain(filter(None, seeds), _short_words(alphabet)))), STARTS))
    numbered: Callable[[Sequence[bytes]], Sequence[bool]] | None = getattr(accepts, "numbered", None)
    if numbered is None:
        one_by_one: Callable[[Sequence[Word]], Sequence[bool]] = lambda words: list(map(accepts, words))  # noqa: E731
        return _stretched(starts, n, getattr(accepts, "many", one_by_one), rng, count)
    # Long words of symbol numbers are cut, joined and hashed as fast as bytes are.
    numbers = {symbol: number for number, symbol in enumerate(alphabet)}
    rows = [bytes(map(numbers.__getitem__, word)) for word in starts]
    return [tuple(map(alphabet.__getitem__, row)) for row in _stretched(rows, n, numbered, rng, count)]


def _stretched(
    starts: Sequence[Row], n: int, decide: Callable[[Sequence[Row]], Sequence[bool]], rng: Random, count: int
) -> list[Row]:
    """Return up to `count` distinct accepted words of length n, made from accepted words of any length."""
    found = dict.fromkeys(word for word in starts if len(word) == n)
    others = [word for word in starts if len(word) != n]
    for turn in range(FAMILIES if others else 0):
        known, length = len(found), len(rng.choice(others))
        alike = [word for word in others if len(word) == length]
        found |= dict.fromkeys(_resized(alike, n, decide, rng, -(-count // 2)))
        if len(found) >= count or (turn and len(found) == known):
            break  # a family that adds no word tells that the language may have no more
    return list(found)[:count]


def _bisect(accepted: Word, rejected: Word, decide: Accepts, rng: Random) -> tuple[Word, Word]:
    """Return neighbours (accepted, rejected) on a random shortest walk between the two words."""
    while True:
        differing = [i for i, (left, right) in enumerate(zip(accepted, rejected, strict=True)) if left != right]
        if len(differing) == 1:
            return accepted, rejected
        half = set(rng.sample(differing, len(differing) // 2))
        middle = tuple(rejected[i] if i in half else symbol for i, symbol in enumerate(accepted))
        accepted, rejected = (middle, rejected) if decide(middle) else (accepted, middle)


def _short_words(alphabet: Sequence[str]) -> Iterable[Word]:
    """Yield all words of the lengths 1, 2, ... up to the last length, at most 8, with at most SHORT_WORDS words;
    always those of length 1."""
    n = 1
    while n == 1 or (n <= 8 and len(alphabet) ** n <= SHORT_WORDS):
        yield from product(few(alphabet), repeat=n)
        n += 1


def _resized(
    words: Sequence[Row], n: int, decide: Callable[[Sequence[Row]], Sequence[bool]], rng: Random, count: int
) -> list[Row]:
    """Return up to `count` accepted words of length n, made from words of one length by repeating or leaving out random
    factors, accepted on the way where that is easy.

    All words change their length together, so that each step is one batch for `decide`. The length grows by half on
    average: the number of batches grows with the logarithm of n.
    """
    kept = words = rng.sample(words, min(len(words), count))
    while (length := len(words[0])) != n:
        most = min(length if length < n else length - n, abs(n - length))
        # Twice the attempts of a word: a family that meets no right length, such as an even one, is lost as a whole.
        for size in rng.sample(range(1, most + 1), min(most, 2 * TRIES)):
            starts = [(word, rng.randint(0, length - size)) for _ in range(TRIES) for word in words]
            left, right = (size, 0) if length < n else (0, size)  # the factor is written twice, or left out
            changed = list(dict.fromkeys(word[: start + left] + word[start + right :] for word, start in starts))
            kept = [word for word, accepted in zip(changed, decide(changed), strict=True) if accepted]
            if kept:
                break
        words = (kept or changed)[:count]
    return list(kept[:count])
