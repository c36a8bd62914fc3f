"""Files that accept words, as what a line of a specification expects of an output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hardsim.lang.automata.automaton import Word
from hardsim.lang.spec.oracle import ExpectedColumn, FormulaTruth, InLanguage
from hardsim.network.dense import JudgedAt
from hardsim.targets.semantics import Accepts, Members, Respelled, Runs, Semantics


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
