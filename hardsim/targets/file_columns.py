"""Files that accept words, as what a line of a specification expects of an output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hardsim.lang.automata.automaton import Automaton, Word
from hardsim.lang.automata.of_formula import NoAutomaton, automaton_of_formula
from hardsim.lang.spec.oracle import ExpectedColumn, FormulaTruth, InLanguage, Lines, NextSymbols
from hardsim.lang.valuations import Alphabet
from hardsim.lazy_dataclass import dataclass
from hardsim.network.dense import JudgedAt
from hardsim.targets.semantics import Accepts, Members, Respelled, Runs, Semantics, Winner, automaton_of


def column_of(semantics: Semantics, at: JudgedAt) -> ExpectedColumn:
    """Return the truth of "the word is accepted" at the positions where a network is judged; at `each`, of the prefix
    that ends at a position."""
    match semantics.oracle:
        case Accepts(file) if at == file.at == "last" and file.oracle is None:
            return FormulaTruth(file)
        case Members(automaton):
            return InLanguage(automaton)
    return _Answers(semantics.oracle)


@dataclass(frozen=True)
class _Answers:
    """The answers of a semantics."""

    source: Accepts | Runs | Members | Respelled

    def rows(self, words: Sequence[Word], at: JudgedAt) -> list[list[Any]]:
        """Return the values at the judged positions of words of one length."""
        n = len(words[0])
        columns = []
        for length in range(1, n + 1) if at == "each" else (n,):
            # Many words begin with the same prefix: it is asked for once.
            prefixes = [tuple(word[:length]) for word in words]
            distinct = list(dict.fromkeys(prefixes))
            answers = dict(zip(distinct, self.source.many(distinct), strict=True))
            columns.append([answers[prefix] for prefix in prefixes])
        return [list(row) for row in zip(*columns, strict=True)]


def accepted_words(oracle: Any, alphabet: Alphabet, name: str) -> Automaton:
    """Return the minimal automaton of the words over an alphabet that a reference accepts: those of the language of a
    specification, and those on which a file says yes. Raises NoAutomaton if there is none here; `name` is the file in
    its message."""
    column = oracle.accepting if isinstance(oracle, Lines) else None
    match column or oracle:
        case Winner() as winner:
            return automaton_of(winner.oracle, alphabet, name)
        case Accepts() | Members() | Respelled():
            return automaton_of(oracle, alphabet, name)
        case _Answers(source):
            return automaton_of(source, alphabet, name)
        case NextSymbols(automaton) | InLanguage(automaton):
            return automaton
        case FormulaTruth(file):
            return automaton_of_formula(file.read_at("first" if oracle.at == "first" else "last"))
    raise NoAutomaton("this reference is no formula, regular expression, automaton or language: of its own")
