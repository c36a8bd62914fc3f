"""The command `hardsim words`: list the accepted words up to a length."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from hardsim.campaign.interrupts import interruptible, uninterrupted
from hardsim.cli.session import Session, session
from hardsim.cli.streams import say
from hardsim.lang.automata.automaton import Automaton
from hardsim.lang.words import written_word
from hardsim.measuring.language import accepted_language, language, observed_words, require_affordable, words_result
from hardsim.options.table import ALL, Request
from hardsim.targets.inputs.base import Input
from hardsim.targets.result import ModelFacts, Word
from hardsim.targets.subject import Subject


def command(request: Request) -> None:
    """Run `hardsim words` as requested, and print its results."""
    with session("words", request) as current:
        given = list(current.read())
        headings = request.regime == ALL or current.several(given)
        for one in given:
            with current.guard(one.name):
                automaton = require_affordable(one, request)
                if not one.compilable and request.by == "oracle":
                    found = accepted_language(one, request, automaton)
                    _print(current, headings, one, None, found, automaton)
                else:
                    current.each(one, partial(_print_model, current, headings, one, automaton))
            if current.interrupted:
                break


def _print_model(current: Session, headings: bool, given: Input, automaton: Automaton | None, subject: Subject) -> None:
    """Print the accepted words of one subject, as they are found."""
    request = current.request
    found = language(subject, request, automaton)
    if request.by == "soft":
        current.precision(subject, request.max_n)
        current.remark(subject.name, subject.regime, observed_words(request))
    _print(current, headings, given, subject.facts, found, automaton)


def _print(
    current: Session,
    headings: bool,
    given: Input,
    facts: ModelFacts | None,
    found: Iterable[Word],
    automaton: Automaton | None,
) -> None:
    """Print words as they are found, until there are no more or the run is interrupted."""
    request, alphabet = current.request, given.alphabet
    if headings:
        regime = None if facts is None else facts.regime
        current.screen.raw(f"# {given.name}" if regime is None else f"# {given.name}, {regime}")
    with uninterrupted():
        kept: list[Word] = []
        try:
            with interruptible():
                for word in found:
                    with uninterrupted():
                        current.screen.raw(written_word(word, alphabet))
                        if current.sink is not None:
                            kept.append(word)
        except KeyboardInterrupt:
            current.screen.flush()
            current.interrupted = True
            say(f"interrupted: the words of {given.name} are those found so far")
        current.results.append(words_result(given, facts, request, kept, current.interrupted, automaton))
