"""The words up to a length that an input accepts (`words`), one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import chain, islice
from typing import cast

from hardsim.campaign.check import CheckOptions
from hardsim.campaign.evaluate import accepted_words
from hardsim.campaign.result import WordsResult
from hardsim.campaign.words import enumerate_words
from hardsim.errors import InputError
from hardsim.lang.automata.automaton import Automaton
from hardsim.lang.automata.of_formula import NoAutomaton
from hardsim.lang.valuations import Alphabet
from hardsim.measuring.equiv import confirm
from hardsim.options.table import Request
from hardsim.options.values import LARGEST_COUNT
from hardsim.targets.base import At
from hardsim.targets.inputs.base import Input
from hardsim.targets.result import MPMATH, ModelFacts, Word, count, plural
from hardsim.targets.semantics import Accepts, Semantics
from hardsim.targets.subject import Subject


def require_affordable(given: Input, request: Request) -> Automaton | None:
    """Return the automaton from which the accepted words are listed; None if words are tried one by one.

    The words of a regular expression are listed, and so are those of a formula with an automaton, if all words are more
    than may be tried. Raises InputError, with the options that help, if more words would be tried or listed than the
    budget allows; Contradiction if an automaton and the semantics of its formula answer a short word differently."""
    symbols, max_n, why = len(given.alphabet), request.max_n, ""
    needed, automaton = words_up_to(symbols, max_n), given.automaton
    if automaton is None and needed <= request.exhaustive:
        return None
    if automaton is None and request.by == "oracle" and isinstance(given.meaning(request.at), Accepts):
        try:
            automaton = _confirmed(given.semantics(cast("At | None", request.at)))
        except NoAutomaton as error:
            why = f", since {error}"
    if automaton is not None:
        _require_listed(given.name, automaton, request)
        return automaton
    more = f", or allow more: --exhaustive {needed}" if needed < LARGEST_COUNT else "."
    message = f"{given.name}: lengths 1 to {max_n} over {plural(symbols, 'symbol')} are {plural(needed, 'word')}, "
    raise InputError(
        f"{message}and at most {count(request.exhaustive)} are tried{why}", f"Give --max-n below {max_n}{more}"
    )


def _confirmed(semantics: Semantics) -> Automaton:
    """Return the automaton of a formula, compared with its semantics on short words."""
    automaton = semantics.automaton
    confirm(semantics, automaton)
    return automaton


def _require_listed(name: str, automaton: Automaton, request: Request) -> None:
    """Refuse a request that would list more words of an automaton than its budget allows. Raises InputError with the
    options that help."""
    found = 0
    for n, more in enumerate(islice(automaton.counts(), request.max_n), start=1):
        found += more
        if found > request.exhaustive:
            message = (
                f"{name}: {plural(found, 'word')} to length {n}, and at most {count(request.exhaustive)} are listed"
            )
            allowed = ", or allow more with --exhaustive." if found < LARGEST_COUNT else "."
            raise InputError(message, f"Give --max-n below {n}{allowed}")


def language(subject: Subject, request: Request, automaton: Automaton | None) -> Iterator[Word]:
    """Yield the words of length 1 to `request.max_n` that semantics, hard attention or softmax (`request.by`) accepts,
    shortest first, then in the order of the alphabet; with an automaton, the words that it accepts. Raises InputError
    if the subject maps words to words; Undecided if softmax reaches no answer on a word."""
    if not subject.acceptor:
        raise _none(subject.name)
    if automaton is not None:
        return _listed(automaton, request.max_n)
    options = CheckOptions(max_n=request.max_n, dps=request.dps, engine=request.engine)
    return accepted_words(subject, all_words(subject.alphabet, request.max_n), request.by, options)


def accepted_language(given: Input, request: Request, automaton: Automaton | None) -> Iterator[Word]:
    """Yield the words of length 1 to `request.max_n` that the semantics of an input, or its automaton, accepts. No
    network is compiled. Raises InputError if the input maps words to words."""
    oracle, max_n = given.meaning(request.at), request.max_n
    if automaton is not None:
        return _listed(automaton, max_n)
    if oracle is None or not isinstance(oracle((given.alphabet[0],)), bool):
        raise _none(given.name)
    return (word for word in all_words(given.alphabet, max_n) if oracle(word) is True)


def _listed(automaton: Automaton, max_n: int) -> Iterator[Word]:
    return chain.from_iterable(map(automaton.words, range(1, max_n + 1)))


def observed_words(request: Request) -> str | None:
    """Return the remark on words whose answers mpmath gave; None if it gave none."""
    if (request.by, request.engine) != ("soft", MPMATH):
        return None
    return "OBSERVED: mpmath gives no enclosures; --engine ball certifies each answer"


def all_words(alphabet: Alphabet, max_n: int) -> Iterator[Word]:
    """Yield every word of length 1 to `max_n`, shortest first, then in the order of the alphabet."""
    return chain.from_iterable(enumerate_words(alphabet, n) for n in range(1, max_n + 1))


def words_up_to(size: int, max_n: int) -> int:
    """Return the number of words of length 1 to `max_n` over `size` symbols."""
    return max_n if size == 1 else (size ** (max_n + 1) - size) // (size - 1)


def words_result(
    given: Input,
    facts: ModelFacts | None,
    request: Request,
    kept: Sequence[Word],
    interrupted: bool,
    automaton: Automaton | None,
) -> WordsResult:
    """Return the result for the words found. After an interruption it covers the words up to the last one found."""
    tried = words_up_to(len(given.alphabet), request.max_n)
    if automaton is not None:
        # Words are listed from the automaton; no others are tried.
        tried = len(kept)
    elif interrupted:
        # Words are tried in order, so all words up to the last accepted one were tried.
        tried = place_of(kept[-1], given.alphabet) if kept else 0
    options = request.by, request.max_n
    return WordsResult(given.name, given.kind, facts, *options, tried, tuple(kept), interrupted)


def place_of(word: Word, alphabet: Alphabet) -> int:
    """Return the place of a word, from 1, among all words in the order of `all_words`."""
    return reduce(lambda place, symbol: place * len(alphabet) + alphabet.index(symbol) + 1, word, 0)


def _none(name: str) -> InputError:
    return InputError(
        f"{name} maps words to words (or to integers): it accepts none", "`hardsim eval` prints its outputs."
    )
