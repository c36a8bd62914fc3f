"""The words that an input accepts, up to a length, as they are found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import chain, islice

from hardsim.checking.campaign import CheckOptions
from hardsim.checking.evaluate import accepted_words
from hardsim.checking.open import Input, Members
from hardsim.checking.options import LARGEST_COUNT, Request
from hardsim.checking.result import MPMATH, ModelFacts, Word, WordsResult, count, plural
from hardsim.checking.subject import Subject
from hardsim.checking.words import enumerate_words
from hardsim.errors import InputError
from hardsim.lang.regex.automaton import Automaton
from hardsim.lang.valuations import Alphabet


def hold_affordable(given: Input, request: Request) -> None:
    """Refuse a request that means more words than are allowed.

    Raises:
        InputError: saying what to change.
    """
    if isinstance(given.oracle, Members):
        _hold_listed(given.name, given.oracle.automaton, request)
        return
    symbols, max_n = len(given.alphabet), request.max_n
    needed = words_up_to(symbols, max_n)
    if needed > request.budget:
        more = f", or allow more: --exhaustive {needed}" if needed < LARGEST_COUNT else "."
        told = f"{given.name}: lengths 1 to {max_n} over {plural(symbols, 'symbol')} are {plural(needed, 'word')}, "
        raise InputError(f"{told}and at most {count(request.budget)} are tried", f"Give --max-n below {max_n}{more}")


def _hold_listed(name: str, automaton: Automaton, request: Request) -> None:
    """The same of a regular expression, whose words are listed and no others tried."""
    found = 0
    for n, more in enumerate(islice(automaton.counts(), request.max_n), start=1):
        found += more
        if found > request.budget:
            told = f"{name}: {plural(found, 'word')} to length {n}, and at most {count(request.budget)} are listed"
            allowed = ", or allow more with --exhaustive." if found < LARGEST_COUNT else "."
            raise InputError(told, f"Give --max-n below {n}{allowed}")


def language(subject: Subject, request: Request) -> Iterator[Word]:
    """The words that the one who is asked accepts, shortest first, in the order of the alphabet.

    Raises:
        InputError: if it maps words to words.
        Undecided: if softmax reaches no answer on a word.
    """
    if not subject.acceptor:
        raise _none(subject.name)
    options = CheckOptions(max_n=request.max_n, dps=request.dps, engine=request.engine)
    return accepted_words(subject, all_words(subject.alphabet, request.max_n), request.by, options)


def language_meant(given: Input, request: Request) -> Iterator[Word]:
    """The words that are accepted up to the length that is asked for, by the semantics: that needs no construction.

    Raises:
        InputError: if it maps words to words.
    """
    oracle, max_n = given.meaning(request.at), request.max_n
    if isinstance(oracle, Members):
        return chain.from_iterable(map(oracle.automaton.words, range(1, max_n + 1)))
    if oracle is None or not isinstance(oracle((given.alphabet[0],)), bool):
        raise _none(given.name)
    return (word for word in all_words(given.alphabet, max_n) if oracle(word) is True)


def observed_words(request: Request) -> str | None:
    """What to say of words whose answers mpmath gave."""
    if (request.by, request.engine) != ("soft", MPMATH):
        return None
    return "OBSERVED: mpmath encloses nothing; --engine ball certifies each answer"


def all_words(alphabet: Alphabet, max_n: int) -> Iterator[Word]:
    """Every word of length 1 to `max_n`, shortest first, then in the order of the alphabet."""
    return chain.from_iterable(enumerate_words(alphabet, n) for n in range(1, max_n + 1))


def words_up_to(size: int, max_n: int) -> int:
    """How many words of length 1 to `max_n` there are over that many symbols."""
    return max_n if size == 1 else (size ** (max_n + 1) - size) // (size - 1)


def words_result(
    given: Input | Subject, facts: ModelFacts | None, request: Request, kept: Sequence[Word], interrupted: bool
) -> WordsResult:
    """The words that were found, all of them unless it was interrupted: then those up to the last that was found were
    tried."""
    tried = words_up_to(len(given.alphabet), request.max_n)
    if given.kind == "re":
        tried = len(kept)
    elif interrupted:
        tried = place_of(kept[-1], given.alphabet) if kept else 0
    asked = request.by, request.max_n
    return WordsResult(given.name, given.kind, facts, *asked, tried, tuple(kept), interrupted)


def place_of(word: Word, alphabet: Alphabet) -> int:
    """The place of a word among all words, from 1, in that order."""
    return reduce(lambda place, symbol: place * len(alphabet) + alphabet.index(symbol) + 1, word, 0)


def _none(name: str) -> InputError:
    return InputError(
        f"{name} maps words to words (or to integers): it accepts none", "hardsim eval prints its outputs."
    )
