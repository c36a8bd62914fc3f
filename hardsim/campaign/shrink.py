"""Shrinking: words on which a network is wrong are made shorter and simpler until no simpler word that is tried is
wrong.

A word is simpler than another if it is shorter, or as long and earlier in the order of the alphabet. Blocks are left
out, the longest first, then symbols are replaced by earlier ones and exchanged; shrinking goes on from any word that
is certainly wrong. If none of these words is wrong, a search tries the next shorter lengths from there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

from hardsim.campaign.judges import NetworkJudge
from hardsim.campaign.result import Mismatch
from hardsim.campaign.search import SEARCHED, SEEDS, LengthSearch, Start
from hardsim.campaign.tally import first_of
from hardsim.lang.valuations import Numbering
from hardsim.targets.external import External
from hardsim.targets.result import Word

MOST = 20_000
"""Number of words tried after which shrinking stops; words of searches are not counted."""
BATCH = 64
"""Largest number of words judged together."""
BELOW = 3
"""Number of shorter lengths searched without success before a length counts as the shortest that can be found."""
REPAIRED = 3
"""Number of different ways in which a word that left its language is changed back into a word of it."""


def shrunk(subject: External, found: Mismatch, dps: int | None = None) -> Mismatch:
    """Return the simplest mismatch that is reached from the given one; the given one itself if there is no simpler
    one."""
    search = _Shrinking(subject, dps)
    simple = search.run(found)
    return found if simple.word == found.word else replace(simple, shrunk_from=found.word)


class _Shrinking:
    """The state of shrinking: the words tried, the lengths searched, and the judge."""

    def __init__(self, subject: External, dps: int | None) -> None:
        self.subject, self.judge = subject, NetworkJudge(subject, dps)
        self.tried: set[Word] = set()
        self.searched: set[int] = set()
        self.rng = Random(0)
        self.rank = Numbering(subject.alphabet)

    def run(self, found: Mismatch) -> Mismatch:
        """Return the simplest mismatch reached, going on from each mismatch while a simpler one is found."""
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
        """Return a mismatch of one of the next BELOW shorter lengths, at least 1, searched from the given words;
        None if there is none. Each length is searched once."""
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
        """Return a simpler mismatch, or None: the first that is found, by blocks of one length or one kind of
        replacement."""
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
        """Return the simplest mismatch among some words of one length, or None."""
        self.tried.update(words)
        judged = self.judge.judged(words)
        if not judged:
            return None
        tally, _, _ = self.judge.searched(judged)
        return first_of(None, tally.mismatch, self.subject.alphabet)

    def _simpler(self, word: Word) -> Iterator[Word]:
        """Yield candidates for simpler words: first without a block, the longest blocks first; then without two
        symbols; then of the same length."""
        n, size = len(word), len(word) - self.subject.shortest
        while size >= 1:
            for start in range(n - size, -1, -max(1, size // 2)):
                yield from self._fitted((*word[:start], *word[start + size :]))
            size = size // 2 if size > 4 else size - 1
        # Removing two symbols at once keeps balances of symbols, which single removals destroy. Long words have too
        # many pairs.
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
        """Yield the word if every word may be judged; else up to REPAIRED words nearby of its length that may be
        judged."""
        domain = self.subject.domain
        if domain is None:
            yield word
        elif self.subject.possible(len(word)):
            for _ in range(REPAIRED):
                yield domain.nearest_word(word, len(word), self.rng)
