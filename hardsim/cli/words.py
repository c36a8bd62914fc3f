"""`hardsim words`: the language up to a length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial, reduce
from itertools import chain, product

from hardsim.checking.campaign import CheckOptions
from hardsim.checking.evaluate import accepted_words
from hardsim.checking.interrupts import held, interruptible
from hardsim.checking.open import Input
from hardsim.checking.result import MPMATH, ModelFacts, Word, WordsResult
from hardsim.checking.subject import Subject
from hardsim.cli.options import ALL, LARGEST_COUNT, By, Request
from hardsim.cli.session import Session, session
from hardsim.cli.streams import say
from hardsim.errors import InputError
from hardsim.report.numbers import count, plural, word_text


def command(request: Request) -> None:
    """The command."""
    with session("words", request) as current:
        given = list(current.read())
        show = partial(_print, current, request.regime == ALL or current.several(given))
        for one in given:
            with current.guard(one.name):
                _afford(one, request)
                if one.refusal is not None and request.by is By.ORACLE:
                    show(one, None, _semantics(one, request.max_n))
                else:
                    current.each(one, lambda subject: show(subject, subject.facts, _model(current, subject)))
            if current.interrupted:
                break


def _afford(given: Input, request: Request) -> None:
    """Refuse a request that means more words than are allowed."""
    symbols, max_n = len(given.alphabet), request.max_n
    needed = words_up_to(symbols, max_n)
    if needed > request.budget:
        more = f", or allow more: --exhaustive {needed}" if needed < LARGEST_COUNT else "."
        told = f"{given.name}: lengths 1 to {max_n} over {plural(symbols, 'symbol')} are {plural(needed, 'word')}, "
        raise InputError(f"{told}and at most {count(request.budget)} are tried", f"Give a smaller --max-n{more}")


def _model(current: Session, subject: Subject) -> Iterator[Word]:
    """The accepted words of one subject, as they are found."""
    if not subject.acceptor:
        raise _none(subject.name)
    request = current.request
    if request.by is By.SOFT:
        current.precision(subject, request.max_n)
        if request.engine == MPMATH:
            told = "OBSERVED: mpmath encloses nothing; --engine ball certifies each answer"
            current.remark(subject.name, subject.regime, told)
    options = CheckOptions(max_n=request.max_n, dps=request.dps, engine=request.engine)
    return accepted_words(subject, all_words(subject.alphabet, request.max_n), request.by.value, options)


def _semantics(given: Input, max_n: int) -> Iterator[Word]:
    """The words that a program accepts by its semantics, which needs no construction."""
    oracle = given.oracle
    if oracle is None or not isinstance(oracle((given.alphabet[0],)), bool):
        raise _none(given.name)
    return (word for word in all_words(given.alphabet, max_n) if oracle(word) is True)


def _print(
    current: Session, headings: bool, given: Input | Subject, facts: ModelFacts | None, found: Iterable[Word]
) -> None:
    """Print words as they are found, until there are no more or it is interrupted: then those up to the last that was
    found were tried."""
    request, alphabet = current.request, given.alphabet
    if headings:
        regime = None if facts is None else facts.regime
        current.screen.raw(f"# {given.name}" if regime is None else f"# {given.name}, {regime}")
    with held():
        kept: list[Word] = []
        try:
            with interruptible():
                for word in found:
                    with held():
                        current.screen.raw(word_text(word, alphabet))
                        if current.sink is not None:
                            kept.append(word)
        except KeyboardInterrupt:
            current.screen.flush()
            current.interrupted = True
            say(f"interrupted: the words of {given.name} are those found until now")
        tried = words_up_to(len(alphabet), request.max_n)
        if current.interrupted:
            tried = place_of(kept[-1], alphabet) if kept else 0
        by, max_n = request.by.value, request.max_n
        about = given.name, given.kind, facts
        current.found.append(WordsResult(*about, by, max_n, tried, tuple(kept), current.interrupted))


def _none(name: str) -> InputError:
    return InputError(f"{name} maps words to words, so it accepts none", "hardsim eval prints its outputs.")


def all_words(alphabet: tuple[str, ...], max_n: int) -> Iterator[Word]:
    """Every word of length 1 to `max_n`, shortest first, then in the order of the alphabet."""
    return chain.from_iterable(product(alphabet, repeat=n) for n in range(1, max_n + 1))


def place_of(word: Word, alphabet: tuple[str, ...]) -> int:
    """The place of a word among all words, from 1, in that order."""
    return reduce(lambda place, symbol: place * len(alphabet) + alphabet.index(symbol) + 1, word, 0)


def words_up_to(size: int, max_n: int) -> int:
    """How many words of length 1 to `max_n` there are over that many symbols."""
    return max_n if size == 1 else (size ** (max_n + 1) - size) // (size - 1)
