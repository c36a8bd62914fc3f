"""Independent random words of a stated distribution, for a statement about the distribution and not only about words.

The words of a check (`campaign.words`) are chosen so that mistakes are found: without repetition, some near to accepted
words or to each other. They are no independent draws, and no bound of a probability follows from them. Here every word
is drawn from the whole distribution, its length included, whatever was drawn before; so words repeat. Their number is
fixed before the first is run.

The generator is Python's (Mersenne Twister), and every choice is `randrange`, so that all choices are equally likely
where its bits are; none is a rounded float.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import accumulate, islice
from random import Random

from hardsim.campaign.verdict import lengths_text
from hardsim.errors import InputError
from hardsim.lang.automata.automaton import Automaton
from hardsim.lang.automata.of_formula import NoAutomaton
from hardsim.lang.valuations import Alphabet
from hardsim.lang.words import count_words
from hardsim.lazy_dataclass import dataclass
from hardsim.options.table import POSITIVE, UNIFORM
from hardsim.targets.base import Target
from hardsim.targets.file_columns import accepted_words
from hardsim.targets.result import Word, plural

MOST_SYMBOLS = 5 * 10**7
"""Largest number of symbols of all words that are drawn. A symbol takes eight bytes, and a word sixty more."""


@dataclass(frozen=True)
class Distribution:
    """A distribution of words. `sizes` are the numbers of words by length, for the lengths that it has, `word` draws a
    word of a length, and `text` states the distribution."""

    sizes: dict[int, int]
    word: Callable[[int, Random], Word]
    by_length: bool
    """True if every length is equally likely; False if every word is."""
    text: str

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(1 if self.by_length else size for size in self.sizes.values()))

    def draw(self, rng: Random) -> Word:
        """Return a draw: a length, and a word of it."""
        place = bisect_right(self._ends, rng.randrange(self._ends[-1]))
        return self.word(list(self.sizes)[place], rng)

    def draws(self, number: int, seed: int) -> tuple[Word, ...]:
        """Return independent draws."""
        rng = Random(f"{seed}/draws")
        return tuple(self.draw(rng) for _ in range(number))


def distribution_of(name: str, subject: Target, max_n: int) -> Distribution:
    """Return the distribution of a name of `options.table.DISTRIBUTIONS`, over the words of a target up to a length
    that have an expected answer, as far as that is known without running any; `positive` is over the words that the
    reference accepts. Raises InputError if there are no such words, or the reference has no automaton."""
    first, language, words = subject.shortest, subject.domain, "a word of %"
    if name == POSITIVE:
        first, language, words = max(first, 1), _accepted(subject), "an accepted word of %"
    elif language is not None:
        words = "a word of % that can be judged"
    lengths = range(first, max_n + 1)
    if language is None:
        sizes = {n: count_words(len(subject.alphabet), n) for n in lengths}
        word = _any_word(subject.alphabet)
    else:
        known = [1, *islice(language.counts(), max_n)]  # with a domain the empty word, if any, is one
        sizes, word = {n: known[n] for n in lengths if known[n]}, uniform_word(language, max_n)
    if not sizes:
        message = (
            f"{subject.name}: there is no word to draw: {words.replace('%', lengths_text(range(first, max_n + 1)))}"
        )
        raise InputError(message, "Give a larger --max-n, or another --distribution.")
    return Distribution(sizes, word, name != UNIFORM, _sentence(list(sizes), words, name != UNIFORM))


def drawn_words(subject: Target, name: str, number: int, max_n: int, seed: int) -> tuple[tuple[Word, ...], str]:
    """Return independent draws of the distribution of a name, with the text that states it. Raises InputError as
    `distribution_of`, if the words do not fit in memory, and for a target whose network depends on the words that are
    run, since draws are trials of one network."""
    subject.require_one_network()
    if number * max_n > MOST_SYMBOLS:
        message = f"{plural(number, 'word')} of up to {max_n:,} symbols may have more than {MOST_SYMBOLS:,} symbols"
        raise InputError(message, f"Give --draws {max(1, MOST_SYMBOLS // max_n)} or less, or a smaller --max-n.")
    found = distribution_of(name, subject, max_n)
    return found.draws(number, seed), found.text


def _accepted(subject: Target) -> Automaton:
    """Return the language of the words that the reference of a target accepts, within the words that are judged."""
    hint = "Give another --distribution, or --against FILE with a formula or a regular expression."
    try:
        found = accepted_words(subject.oracle, subject.alphabet, subject.against or subject.name)
    except NoAutomaton as error:
        message = f"{subject.name}: --distribution {POSITIVE} draws words that the reference accepts, and {error}"
        raise InputError(message, hint) from None
    return found if subject.domain is None else found.intersection(subject.domain)


def _any_word(alphabet: Alphabet) -> Callable[[int, Random], Word]:
    size = len(alphabet)
    return lambda n, rng: tuple(alphabet[rng.randrange(size)] for _ in range(n))


def uniform_word(language: Automaton, max_n: int) -> Callable[[int, Random], Word]:
    """Return the function that draws a word of a length up to `max_n`, of which the language has at least one; every
    word of the length is equally likely. A symbol is drawn in proportion to the number of words that it begins."""
    sizes, moves = language.letters.sizes, language.moves
    # after[k][state]: the number of words of k symbols that lead from a state to acceptance
    after = [[int(state in language.accepting) for state in range(len(moves))]]
    for _ in range(max_n):
        after.append([sum(after[-1][to] * size for to, size in zip(row, sizes, strict=True)) for row in moves])

    def word(n: int, rng: Random) -> Word:
        state, found = 0, list[str]()
        for left in reversed(range(n)):
            row = moves[state]
            ends = list(accumulate(after[left][to] * size for to, size in zip(row, sizes, strict=True)))
            letter = bisect_right(ends, rng.randrange(ends[-1]))
            found.append(language.letters.drawn(letter, rng))
            state = row[letter]
        return tuple(found)

    return word


def _sentence(lengths: Sequence[int], words: str, by_length: bool) -> str:
    """Return the text of a distribution; `words` is the noun of its words, with % in place of their length."""
    if not by_length or len(lengths) == 1:
        return f"{words.replace('%', lengths_text(lengths))}, each equally likely"
    one = words.replace("%", "this length")
    return f"one of {lengths_text(lengths)}, each equally likely, then {one}, each equally likely"
