"""Words near the boundary of a language: accepted words of a wanted length, and neighbours that differ in acceptance.

A language is known here only through `accepts`; every search asks it a bounded number of times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import chain, islice, product
from random import Random
from typing import TypeAlias

Word: TypeAlias = tuple[str, ...]
Accepts: TypeAlias = Callable[[Word], bool]

_SHORT_WORDS = 200
"""How many short words serve as starting points for longer ones."""
_STARTS = 12
"""How many accepted starting points are kept; the given words come first."""
_TRIES = 5
"""How often each thing is tried before it is given up."""


def boundary_pairs(
    words: Iterable[Word], alphabet: Sequence[str], accepts: Accepts, rng: Random, count: int
) -> list[tuple[Word, Word]]:
    """Up to `count` distinct pairs (accepted, rejected) that differ in exactly one symbol.

    First by changing one symbol of the words given; then by walking from an accepted to a rejected word of the same
    length one symbol at a time, in random order. The walk is bisected: its ends differ in acceptance, so the ends of
    one of its halves do, down to a single step. Hence a pair is found whenever both classes are known at some length.
    """
    decide = cache(accepts)
    known = list(dict.fromkeys(words))
    pairs: dict[tuple[Word, Word], None] = {}
    for word in rng.sample(known, min(len(known), _TRIES * count)):
        neighbour = changed_once(word, alphabet, rng)
        if decide(word) != decide(neighbour):
            known.append(neighbour)
            if 2 * len(pairs) < count:
                pairs[(word, neighbour) if decide(word) else (neighbour, word)] = None
    ends = _both_classes(known, decide)
    for _ in range(_TRIES * count if ends else 0):
        if len(pairs) >= count:
            break
        accepted, rejected = rng.choice(ends)
        pairs[_bisect(rng.choice(accepted), rng.choice(rejected), decide, rng)] = None
    return list(pairs)


def changed_once(word: Word, alphabet: Sequence[str], rng: Random) -> Word:
    """The word with the symbol at one random position replaced by another; unchanged if there is no other symbol."""
    place = rng.randrange(len(word))
    others = [symbol for symbol in alphabet if symbol != word[place]]
    return (*word[:place], rng.choice(others), *word[place + 1 :]) if others else word


def members(
    alphabet: Sequence[str], n: int, accepts: Accepts, rng: Random, seeds: Iterable[Word], count: int
) -> list[Word]:
    """Up to `count` distinct accepted words of length n, found by stretching (or shrinking) accepted words.

    Starting points are `seeds` of any length and all short words. Repeating a factor in place is how the pumping
    lemma makes longer members of a regular language, so this reaches languages that random words practically never
    hit. It may find nothing: there may be no accepted word of this length.
    """
    decide = cache(accepts)
    starts = list(islice(filter(decide, dict.fromkeys(chain(filter(None, seeds), _short_words(alphabet)))), _STARTS))
    found = dict.fromkeys(word for word in starts if len(word) == n)
    for _ in range(_TRIES * count if starts else 0):
        if len(found) >= count:
            break
        word = _resized(rng.choice(starts), n, decide, rng)
        if decide(word):
            found[word] = None
    return list(found)[:count]


def _both_classes(words: Iterable[Word], decide: Accepts) -> list[tuple[list[Word], list[Word]]]:
    """The (accepted, rejected) words of every length that has both."""
    classes: dict[int, tuple[list[Word], list[Word]]] = {}
    for word in words:
        classes.setdefault(len(word), ([], []))[0 if decide(word) else 1].append(word)
    return [ends for ends in classes.values() if all(ends)]


def _bisect(accepted: Word, rejected: Word, decide: Accepts, rng: Random) -> tuple[Word, Word]:
    """Neighbours (accepted, rejected) on a random shortest walk between the two words."""
    while True:
        differing = [i for i, (left, right) in enumerate(zip(accepted, rejected, strict=True)) if left != right]
        if len(differing) == 1:
            return accepted, rejected
        half = set(rng.sample(differing, len(differing) // 2))
        middle = tuple(rejected[i] if i in half else symbol for i, symbol in enumerate(accepted))
        if decide(middle):
            accepted = middle
        else:
            rejected = middle


def _short_words(alphabet: Sequence[str]) -> Iterable[Word]:
    """All words of the lengths 1, 2, ... up to the first length that has more than a few; at least length 1."""
    n = 1
    while n == 1 or (n <= 8 and len(alphabet) ** n <= _SHORT_WORDS):
        yield from product(alphabet, repeat=n)
        n += 1


def _resized(word: Word, n: int, decide: Accepts, rng: Random) -> Word:
    """A word of length n made by repeating or leaving out random factors, accepted on the way where that is easy."""
    while len(word) != n:
        for _ in range(_TRIES):
            size = rng.randint(1, min(len(word) if len(word) < n else len(word) - n, abs(n - len(word))))
            start = rng.randint(0, len(word) - size)
            end = start + size
            changed = word[:end] + word[start:] if len(word) < n else word[:start] + word[end:]
            if decide(changed):
                break
        word = changed
    return word
