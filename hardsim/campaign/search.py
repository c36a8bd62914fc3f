"""The search for words on which a network is wrong, at lengths that have too many words to try them all.

The search begins where networks tend to fail: words to which the prover's bounds lead (`proof.external.leads`, for
networks of one layer), words of extreme shape, neighbours that differ in one symbol and in the expected answer, random
words of the language, and the worst words of other lengths, made longer or shorter. Then it climbs: it changes the
words with the least margins (symbols, blocks repeated, moved, cut) batch after batch, and goes on from the words whose
margins became smaller; the leads go on from these, too. Every word is judged by certified arithmetic like any other.

Each length is searched by itself, in any process, and uses only what earlier waves of lengths found. So the
result depends on the seed, and not on the number of processes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import field
from itertools import islice, permutations
from random import Random
from typing import TYPE_CHECKING, Any

from hardsim.campaign.judges import NetworkJudge
from hardsim.campaign.tally import Tally
from hardsim.campaign.words import Word, boundary_pairs, changed_once, drawn, sample_words, structured_words
from hardsim.errors import InputError
from hardsim.lazy_dataclass import dataclass
from hardsim.proof.shared.result import NotProved
from hardsim.targets.expected import ended
from hardsim.targets.external import External
from hardsim.targets.prefix_oracle import prefix_oracle

if TYPE_CHECKING:
    from hardsim.proof.external.leads import Leads

SEARCHED = 400
"""Default number of words to try of each searched length."""
BATCH = 40
"""Largest number of words judged together, before the next ones are made from the worst."""
PARENTS = 8
"""Largest number of worst words from which new words are made."""
KEPT = 3
"""Largest number of worst words of a length, and of worst prefixes, that later searches of other lengths begin
with."""
SEEDS = 12
"""Largest number of worst words of other lengths that a search begins with."""
STRUCTURED, PAIRS = 24, 4
"""Largest numbers of words of simple shape, and of pairs that differ in one symbol and in the expected answer,
that a search begins with."""
RANDOM = 5
"""One word in this many is random, whatever was found."""
TRIES = 8
"""Number of attempts to find new words with an expected answer before the search is given up; each attempt draws
at most TRIES * BATCH words."""
CHANGES = (1, 1, 1, 2, 3)
"""Numbers of changes made to a word at once, one of which is drawn."""
PERMUTED = 4
"""Largest number of letters of an automaton for which every order of preference is tried."""

Margin = float
MarginWord = tuple[Word, Margin]


@dataclass(frozen=True, slots=True)
class Start:
    """The data that the search of a length begins with."""

    budget: int
    """Number of words to try."""
    seed: int
    worst: tuple[Word, ...] = ()
    """Words of other lengths with small margins."""


def waves(lengths: Sequence[int]) -> list[list[int]]:
    """Arrange lengths in waves: the longest first, then lengths halfway between known ones, so that each search
    begins with the worst words of lengths nearby."""
    if not lengths:
        return []
    found, step = [[lengths[-1]]], 1
    left = list(lengths[:-1])
    while step < len(lengths):
        step *= 2
    while left:
        step = max(1, step // 2)
        wave = [n for place, n in enumerate(reversed(lengths)) if place % step == 0 and n in left]
        if wave:
            found.append(sorted(wave))
            left = [n for n in left if n not in wave]
    return found


def nearest(n: int, known: Iterable[MarginWord]) -> tuple[Word, ...]:
    """Return the words that a search of length n begins with, at most SEEDS: half of them from the nearest
    lengths, the others those with the least margins of all lengths."""
    some = list(known)
    worst = sorted(some, key=lambda one: (one[1], len(one[0])))
    near = sorted(some, key=lambda one: (abs(len(one[0]) - n), one[1]))
    chosen = dict.fromkeys(word for word, _ in [*near[: SEEDS // 2], *worst[:SEEDS]])
    return tuple(islice(chosen, SEEDS))


def leads_at(subject: External, n: int) -> Leads | None:
    """Return what the prover's bounds suggest about where to search at a length (`proof.external.leads`); None if the
    prover does not take the network or its reference."""
    from hardsim.proof.external.leads import Leads  # the prover of networks, of which formulas need nothing

    try:
        return Leads(subject.network, prefix_oracle(subject), n) if n else None
    except NotProved:
        return None


@dataclass
class LengthSearch:
    """The search of one length."""

    subject: External
    judge: NetworkJudge
    n: int
    start: Start
    tried: set[Word] = field(default_factory=set)
    passed: set[Word] = field(default_factory=set)
    """Words without an expected answer."""
    best: list[MarginWord] = field(default_factory=list)
    """The words with the least margins, each with its margin, worst first; at most PARENTS."""
    deepest: list[tuple[Word, MarginWord]] = field(default_factory=list)
    """The words whose prefixes have the least margins, each with this prefix and its margin, worst first; at most
    PARENTS."""
    led: deque[Word] = field(default_factory=deque)
    """Words to which the leads go from the worst words, not tried yet."""
    followed: set[Word] = field(default_factory=set)
    """Words from which the leads went on."""

    def __post_init__(self) -> None:
        self.rng = Random(f"{self.start.seed}/{self.n}/search")
        self.alphabet = self.subject.alphabet
        self.tally = Tally(self.n)
        self.leads = leads_at(self.subject, self.n)

    def run(self) -> Tally:
        """Run the search and return the tally of all words tried."""
        special = self._special()
        while len(self.tried) < self.start.budget:
            size = min(BATCH, self.start.budget - len(self.tried))
            batch = self._batch(special, size)
            if not batch:
                break
            self._try(batch)
        found = dict([*self.best[:KEPT], *(one for _, one in self.deepest[:KEPT])])
        self.tally.searched = tuple(found.items())
        return self.tally

    def _try(self, batch: Sequence[Word]) -> None:
        part, margins, least = self.judge.searched(batch)
        self.tally.merge(part, self.alphabet)
        # Among equal margins the newer words go first, so that a search moves on where no margin gets smaller.
        self.best = sorted([*zip(batch, margins, strict=True), *self.best], key=lambda one: one[1])[:PARENTS]
        if self.subject.prefixes:
            deep = sorted([*zip(batch, least, strict=True), *self.deepest], key=lambda one: one[1][1])
            self.deepest = list({one[1][0]: one for one in reversed(deep)}.values())[::-1][:PARENTS]
        if self.leads is not None and not self.tally.mismatch:
            new = [word for word, _ in self.best if word not in self.followed]
            self.followed.update(new)
            self.led.extend(self.leads.after(new))

    def _batch(self, special: Iterator[Word], size: int) -> list[Word]:
        """Return up to `size` new words that have an expected answer."""
        found: list[Word] = []
        for _ in range(TRIES):
            batch: dict[Word, None] = {}
            for _ in range(TRIES * BATCH):
                word = self.fitted(self.led.popleft()) if self.led else next(special, ()) or self._made()
                if word not in self.tried and word not in self.passed:
                    batch[word] = None
                if len(batch) == size - len(found):
                    break
            expected = self.judge.judged(list(batch))
            self.passed.update(batch.keys() - expected)
            self.tried.update(expected)
            found += expected
            if len(found) == size or not batch:
                break
        return found

    # ---- first words ----

    def _special(self) -> Iterator[Word]:
        """Yield words that are worth trying before any margin is known."""
        yield from (word for word, _ in self.subject.examples if len(word) == self.n and self._fits(word))
        if self.leads is not None:
            yield from map(self.fitted, self.leads.first())
        yield from (self.fitted(word) for word in self.start.worst)
        yield from self._extreme()
        yield from (self.fitted(word) for word in structured_words(self.alphabet, self.n, STRUCTURED))
        yield from self._pairs()
        yield from self._random(max(1, self.start.budget // RANDOM))

    def _fits(self, word: Word) -> bool:
        return self.subject.domain is None or self.fitted(word) == word

    def _extreme(self) -> Iterator[Word]:
        """Yield words of a regular language that take the first letter they can, in several orders of preference."""
        domain = self.subject.domain
        if domain is None:
            return
        letters = range(len(domain.letters.firsts))
        orders = permutations(letters) if len(letters) <= PERMUTED else ((letter,) for letter in letters)
        for order in orders:
            yield domain.nearest_word((), self.n, self.rng, order)

    def _random(self, count: int) -> Iterator[Word]:
        domain = self.subject.domain
        if domain is not None:
            yield from domain.samples(self.n, count, self.rng)
        else:
            yield from sample_words(self.alphabet, self.n, count, self.start.seed)

    def _pairs(self) -> Iterator[Word]:
        """Yield the words of pairs that differ in one symbol and in the expected answer at the end."""
        some = list(self._random(2 * PAIRS))
        answers = dict[Word, Any]()

        def expected(word: Word) -> Any:
            if word not in answers:
                answers[word] = None
                with suppress(InputError):  # a word on which the reference fails makes no pair
                    answers[word] = ended((self.subject.answers([word]) or [None])[0])
            return answers[word]

        if not some:
            return
        reference = expected(some[0])
        pairs = boundary_pairs(some, self.alphabet, lambda word: expected(word) == reference, self.rng, PAIRS)
        yield from (word for pair in pairs for word in pair if self._fits(word))

    # ---- changed words ----

    def _made(self) -> Word:
        """Return a word made from those with the least margins, or a random word."""
        rng = self.rng
        by_prefix = self.deepest if rng.random() < 0.5 else []
        known = [word for word, _ in by_prefix or self.best] or self.start.worst
        # Without random words the search would stay near the first words that it found.
        if not known or rng.randrange(RANDOM) == 0:
            return self.fitted(drawn(self.alphabet, self.n, rng))
        # The worst words are drawn most often: the index is exponentially distributed.
        word: Sequence[str] = known[min(int(rng.expovariate(0.5)), len(known) - 1)]
        if not self.best and rng.random() < 0.5:  # unchanged, only lengthened, it is more likely to be judged
            return self.fitted(tuple(word))
        for _ in range(rng.choice(CHANGES)):
            word = rng.choice(OPERATIONS)(self, word) or word
        return self.fitted(tuple(word))

    def fitted(self, word: Word) -> Word:
        """Return a word of this length made from another: cut or repeated, and changed where it would leave the
        regular language."""
        n, rng = self.n, self.rng
        if len(word) > n:
            start = rng.choice((0, len(word) - n, rng.randint(0, len(word) - n)))
            word = word[start : start + n]
        elif len(word) < n:
            word = _stretched(word or drawn(self.alphabet, 1, rng), n, rng)
        domain = self.subject.domain
        return word if domain is None else domain.nearest_word(word, n, rng)

    def another(self) -> Word:
        """Return one of the worst words, drawn at random."""
        return self.rng.choice([word for word, _ in self.best] or self.start.worst)


def _stretched(word: Word, n: int, rng: Random) -> Word:
    """Lengthen a word to length n by repeating factors: one of them often, or many once."""
    size = rng.randint(1, len(word))
    start = rng.randint(0, len(word) - size)
    block = word[start : start + size]
    more = n - len(word)
    times = more // size
    longer = word[: start + size] + block * times + word[start + size :]
    rest = n - len(longer)
    at = rng.randint(0, len(longer))
    return longer[:at] + longer[max(0, at - rest) : at] + longer[at:] if at >= rest else longer + longer[:rest]


# ---- changes to a word of the search's length; the changed word may have another length ----


def _block(word: Sequence[str], rng: Random) -> tuple[int, int]:
    """Return the start and the end (excluded) of a random block of one symbol or more; short blocks are as
    frequent as long ones."""
    size = min(len(word), 2 ** rng.randint(0, len(word).bit_length()))
    size = rng.randint(1, size)
    start = rng.randint(0, len(word) - size)
    return start, start + size


def _symbol(search: LengthSearch, word: Sequence[str]) -> Sequence[str]:
    return changed_once(tuple(word), search.alphabet, search.rng)


def _constant(search: LengthSearch, word: Sequence[str]) -> Sequence[str]:
    start, end = _block(word, search.rng)
    return (*word[:start], *(search.rng.choice(search.alphabet),) * (end - start), *word[end:])


def _repeated(search: LengthSearch, word: Sequence[str]) -> Sequence[str]:
    """Return a word in which a block is copied over the symbols after it, once or as often as it fits."""
    rng = search.rng
    start, end = _block(word, rng)
    times = rng.choice((1, 1, len(word)))
    return (*word[:end], *(tuple(word[start:end]) * times)[: len(word) - end], *word[2 * end - start :])[: len(word)]


def _inserted(search: LengthSearch, word: Sequence[str]) -> Sequence[str]:
    """Return a word with a block inserted a second time, cut back to its length at one end."""
    start, end = _block(word, search.rng)
    longer = (*word[:end], *word[start:end], *word[end:])
    return longer[: len(word)] if search.rng.random() < 0.5 else longer[-len(word) :]


def _moved(search: LengthSearch, word: Sequence[str]) -> Sequence[str]:
    start, end = _block(word, search.rng)
    rest = (*word[:start], *word[end:])
    at = search.rng.randint(0, len(rest))
    return (*rest[:at], *word[start:end], *rest[at:])


def _cut(search: LengthSearch, word: Sequence[str]) -> Sequence[str]:
    """Return a word without a block; `fitted` makes up for the length by repetition."""
    start, end = _block(word, search.rng)
    return (*word[:start], *word[end:])


def _exchanged(search: LengthSearch, word: Sequence[str]) -> Sequence[str]:
    """Return a word with the symbols at two random positions exchanged; counts of symbols stay the same."""
    one, other = (search.rng.randrange(len(word)) for _ in range(2))
    found = list(word)
    found[one], found[other] = found[other], found[one]
    return found


def _gathered(search: LengthSearch, word: Sequence[str]) -> Sequence[str]:
    """Return a word with a block sorted (up or down) or reversed; counts of symbols stay the same."""
    start, end = _block(word, search.rng)
    block = list(word[start:end])
    changed = search.rng.choice((sorted(block), sorted(block, reverse=True), block[::-1]))
    return (*word[:start], *changed, *word[end:])


def _crossed(search: LengthSearch, word: Sequence[str]) -> Sequence[str]:
    """Return a word up to a random place, joined to one of the worst words from that place on."""
    at = search.rng.randint(0, len(word))
    return (*word[:at], *search.another()[at:])


OPERATIONS: tuple[Callable[[LengthSearch, Sequence[str]], Sequence[str]], ...] = (
    _symbol, _symbol, _constant, _repeated, _inserted, _moved, _cut, _exchanged, _gathered, _crossed,
)  # fmt: skip
