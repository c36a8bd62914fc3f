"""What `hardsim show` says of a regular expression: its minimal automaton, and how many words it has."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Annotated

from hardsim.checking.open import Input, Members
from hardsim.checking.result import InputName, Length, Title, count
from hardsim.lang.regex.automaton import Automaton
from hardsim.records import Count, Positive, Record, one_of
from hardsim.report.check import FILE_SAYS
from hardsim.report.model import alphabet_line
from hardsim.report.numbers import plural
from hardsim.report.screen import Field, Screen, columns

OTHERS = "any other"
"""The symbols that an expression does not tell apart."""
COUNTED = 12
"""Lengths whose words are counted in the table."""


@dataclass(frozen=True, slots=True, repr=False)
class AutomatonState(Record):
    """A state of a minimal automaton."""

    state: Positive
    """Its number; 1 is where a word begins."""
    accepting: bool
    """Whether a word that ends there is in the language."""
    after: tuple[Positive, ...]
    """The state after each letter, in their order."""


@dataclass(frozen=True, slots=True, repr=False)
class LanguageCount(Record):
    """The words of one length of a language."""

    n: Length
    words: Count
    """How many there are."""


@dataclass(frozen=True, slots=True, repr=False)
class AutomatonReport(Record):
    """A regular expression: the complete, minimal automaton of its language, with the states in the order in which they
    are reached, and how many words of each length 1 to max_n the language has."""

    input: InputName
    kind: Annotated[str, one_of("re")]
    """A regular expression."""
    title: Title
    """What the file says of itself."""
    letters: tuple[str, ...]
    """The symbols that the expression names, and "any other" for those that it does not, in the order of the
    alphabet."""
    states: tuple[AutomatonState, ...]
    """In the order in which they are reached."""
    counts: tuple[LanguageCount, ...]
    """By length; exact."""

    @property
    def summary(self) -> str:
        """The size of the automaton."""
        return f"{self.input}: minimal automaton of {plural(len(self.states), 'state')}"


def describe_automaton(given: Input, max_n: int) -> AutomatonReport | None:
    """The report on a regular expression, with the words of length 1 to `max_n` counted; None for anything else."""
    if not isinstance(given.oracle, Members):
        return None
    automaton = given.oracle.automaton
    return AutomatonReport(
        input=given.name,
        kind="re",
        title=given.title or None,
        letters=_letters(automaton),
        states=tuple(
            AutomatonState(state + 1, state in automaton.accepting, tuple(target + 1 for target in after))
            for state, after in enumerate(automaton.moves)
        ),
        counts=tuple(LanguageCount(n, words) for n, words in enumerate(islice(automaton.counts(), max_n), start=1)),
    )


def _letters(automaton: Automaton) -> tuple[str, ...]:
    classes = automaton.letters
    return tuple(
        OTHERS if letter == classes.rest and classes.sizes[letter] > 1 else classes.alphabet[number]
        for letter, number in enumerate(classes.firsts)
    )


def print_automaton(screen: Screen, given: Input, report: AutomatonReport) -> None:
    """The automaton as a table of states, then how many words of each length there are."""
    screen.head(
        report.input,
        [
            (FILE_SAYS, report.title),
            alphabet_line(given.alphabet),
            ("automaton", f"minimal, {plural(len(report.states), 'state')}; a word begins in state 1"),
        ],
    )
    rows = [(str(one.state), "yes" if one.accepting else "no", *map(str, one.after)) for one in report.states]
    screen.block(columns("state", "<accepts", *(Field(f"after {letter}") for letter in report.letters)), rows)
    shown = report.counts[:COUNTED] + report.counts[COUNTED:][-1:]
    screen.block(columns("n", "words"), [(str(one.n), count(one.words)) for one in shown])
    screen.raw()
