"""Words on which a network is wrong, made shorter and simpler until nothing that is tried is wrong any more.

A word is simpler than another if it is shorter, or as long and earlier in the order of the alphabet. Blocks are left
out, the longest first, then symbols are replaced by earlier ones and exchanged; whatever certainly is wrong is where it
goes on. Where nothing is left to be made simpler the next shorter lengths are searched from there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

from hardsim.checking.foreign import Foreign, NetworkJudge
from hardsim.checking.result import Mismatch, Word
from hardsim.checking.search import SEARCHED, SEEDS, LengthSearch, Start
from hardsim.checking.tally import first_of
from hardsim.lang.valuations import Numbering

MOST = 20_000
"""Words that are tried."""
BATCH = 64
"""Words that are judged at a time."""
BELOW = 3
"""How many shorter lengths are searched before a length is taken for the shortest that can be found."""
REPAIRED = 3
"""How often a word that left its language is led back into it, in different ways."""


def shrunk(subject: Foreign, found: Mismatch, dps: int | None = None) -> Mismatch:
    """The simplest mismatch that is reached from one that was found, itself if there is none."""
    search = _Shrinking(subject, dps)
    simple = search.run(found)
    return found if simple.word == found.word else replace(simple, shrunk_from=found.word)


class _Shrinking:
    """The words that were tried, and the simplest mismatch."""

    def __init__(self, subject: Foreign, dps: int | None) -> None:
        self.subject, self.judge = subject, NetworkJudge(subject, dps)
        self.tried: set[Word] = set()
        self.searched: set[int] = set()
        self.rng = Random(0)
        self.rank = Numbering(subject.alphabet)

    def run(self, found: Mismatch) -> Mismatch:
        """Go on from a mismatch while something simpler is found."""
        worst = [found.word]
        while len(self.tried) < MOST:
            better = self._better(found) or self._shorter([found.word, *worst])
            if better is None:
                break
            if len(better.word) < len(found.word):
                worst = [better.word, *worst]
            found = better
        return found

    def _shorter(self, words: Sequence[Word]) -> Mismatch | None:
        """A mismatch of a length a little shorter, searched from some words; each length once."""
        n = len(words[0])
        for length in range(n - 1, max(0, n - BELOW - 1), -1):  # of no symbols there is one word, which was tried
            if length in self.searched or not self.subject.possible(length):
                continue
            self.searched.add(length)
            start = Start(SEARCHED, 0, tuple(words[:SEEDS]))
            found = LengthSearch(self.subject, self.judge, length, start).run().mismatch
            if found is not None:
                return found
        return None

    def _better(self, found: Mismatch) -> Mismatch | None:
        """A simpler mismatch: the first that is found, by blocks of one length or one kind of replacement."""
        word, batch = found.word, list[Word]()
        for other in self._simpler(word):
            if other in self.tried or other in batch or not self._before(other, word):
                continue
            if batch and (len(other) != len(batch[0]) or len(batch) == BATCH):
                if better := self._wrong(batch):
                    return better
                batch = []
            batch.append(other)
        return self._wrong(batch)

    def _before(self, one: Word, other: Word) -> bool:
        def key(word: Word) -> tuple[int, list[int]]:
            return len(word), [self.rank[symbol] for symbol in word]

        return len(one) >= self.subject.shortest and key(one) < key(other)

    def _wrong(self, words: Sequence[Word]) -> Mismatch | None:
        """The simplest of some words of one length that is wrong."""
        self.tried.update(words)
        judged = self.subject.judged(words)
        if not judged:
            return None
        tally, _, _ = self.judge.searched(judged)
        return first_of(None, tally.mismatch, self.subject.alphabet)

    def _simpler(self, word: Word) -> Iterator[Word]:
        """Words that may be simpler, the shortest first."""
        n, size = len(word), len(word) - self.subject.shortest
        while size >= 1:
            for start in range(n - size, -1, -max(1, size // 2)):
                yield from self._fitted((*word[:start], *word[start + size :]))
            size = size // 2 if size > 4 else size - 1
        if n * n <= 2 * BATCH**2:
            pairs = ((one, other) for one in range(n) for other in range(one))
            for one, other in pairs:
                yield from self._fitted((*word[:other], *word[other + 1 : one], *word[one + 1 :]))
        first = self.subject.alphabet[0]
        yield from self._fitted((first,) * n)
        size = n // 2
        while size >= 1:
            for start in range(0, n - size + 1, size):
                yield from self._fitted((*word[:start], *(first,) * size, *word[start + size :]))
            size //= 2
        for place, symbol in enumerate(word):
            for number in range(self.rank[symbol]):
                yield from self._fitted((*word[:place], self.subject.alphabet[number], *word[place + 1 :]))
        if n * n <= 2 * BATCH**2:
            swaps = ((one, other) for one in range(n) for other in range(one + 1, n))
            for one, other in swaps:
                between = word[one + 1 : other]
                yield from self._fitted((*word[:one], word[other], *between, word[one], *word[other + 1 :]))

    def _fitted(self, word: Word) -> Iterator[Word]:
        """The word, if something may be wanted of it; else words of its length nearby of which something is."""
        domain = self.subject.domain
        if domain is None:
            yield word
        elif self.subject.possible(len(word)):
            for _ in range(REPAIRED):
                yield domain.nearest_word(word, len(word), self.rng)
