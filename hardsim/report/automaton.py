"""The `hardsim show` report of a language: its minimal automaton, and the number of its words by length."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, get_args

from hardsim.campaign.result import Length
from hardsim.lang.automata.automaton import Automaton
from hardsim.lang.automata.of_formula import AutomatonTooSlow, NoAutomaton, automaton_of_formula
from hardsim.lazy_dataclass import dataclass
from hardsim.records import Count, Digest, Positive, Record, one_of
from hardsim.report.check import FILE_SAYS
from hardsim.report.model_report import AutomatonSize, alphabet_line
from hardsim.report.screen import Field, Screen, columns
from hardsim.targets.base import At
from hardsim.targets.inputs.base import Input
from hardsim.targets.result import InputKind, InputName, Title, count, plural
from hardsim.writing.automata import AutomatonFormat

OTHERS = "any other"
"""The name, in tables, of the class of symbols that the expression does not mention."""
QUICK_STEPS = 20_000
"""Greatest number of steps of decision diagrams for an automaton of which only the size is shown: 0.2 seconds."""
LATE = "not built here, because that takes long; --automaton dot writes it"
"""The reason why the size of an automaton is not shown."""
COUNTED = 12
"""Number of lengths whose word counts are printed; the last length is printed besides."""


@dataclass(frozen=True, slots=True, repr=False)
class AutomatonState(Record):
    """A state of a minimal automaton, with its successors."""

    state: Positive
    """Number of the state, from 1; a word begins in state 1."""
    accepting: bool
    """True if the automaton accepts a word that ends in this state."""
    after: tuple[Positive, ...]
    """Number of the next state for each letter, in the order of `letters` of the report."""


@dataclass(frozen=True, slots=True, repr=False)
class WrittenAutomaton(Record):
    """A minimal automaton that `show --automaton` wrote to a file."""

    input: InputName
    kind: InputKind
    format: Annotated[str, one_of(*get_args(AutomatonFormat))]
    """Format of the file: a DOT graph, automata-lib's JSON, or a file of JFLAP."""
    states: Positive
    """Number of states."""
    output: str
    """Path of the written file as given, or - for standard output."""
    sha256: Digest
    """SHA-256 of the written file."""


@dataclass(frozen=True, slots=True, repr=False)
class LanguageCount(Record):
    """The number of words of one length in a language."""

    n: Length
    words: Count
    """Number of words of this length in the language."""


@dataclass(frozen=True, slots=True, repr=False)
class AutomatonReport(Record):
    """The report on a regular expression or an automaton: the complete minimal automaton of its language, with states
    in the order in which they are reached, and the number of words of each length from 1 to max_n."""

    input: InputName
    kind: Annotated[str, one_of("re", "automaton")]
    """Kind of the input: `re`, a regular expression, or `automaton`."""
    title: Title
    """Title that the file gives itself."""
    letters: tuple[str, ...]
    """Letters of the automaton, in the order of the alphabet: the symbols that the expression mentions, and "any other"
    for the symbols that it does not mention."""
    states: tuple[AutomatonState, ...]
    """States of the automaton, in the order in which they are reached."""
    counts: tuple[LanguageCount, ...]
    """Exact number of words of each length, from length 1 on."""

    @property
    def summary(self) -> str:
        """Return one line with the number of states."""
        return f"{self.input}: minimal automaton of {plural(len(self.states), 'state')}"


def describe_automaton(given: Input, max_n: int) -> AutomatonReport | None:
    """Return the report on a regular expression or an automaton, with words of length 1 to `max_n` counted, or None for
    any other input."""
    automaton = given.automaton
    if automaton is None:
        return None
    return AutomatonReport(
        input=given.name,
        kind=given.kind,
        title=given.title or None,
        letters=_letters(automaton),
        states=states_of(automaton),
        counts=tuple(LanguageCount(n, words) for n, words in enumerate(islice(automaton.counts(), max_n), start=1)),
    )


def states_of(automaton: Automaton) -> tuple[AutomatonState, ...]:
    """Return the states of an automaton, numbered from 1."""
    return tuple(
        AutomatonState(state + 1, state in automaton.accepting, tuple(target + 1 for target in after))
        for state, after in enumerate(automaton.moves)
    )


def automaton_size(given: Input, at: At | None) -> AutomatonSize | None:
    """Return the size of the minimal automaton of a formula read at `at`, within QUICK_STEPS; None for any other
    input."""
    if not given.has_formula:
        return None
    try:
        return AutomatonSize(len(automaton_of_formula(given.file.read_at(at), QUICK_STEPS).moves), None)
    except NoAutomaton as error:
        return AutomatonSize(None, LATE if isinstance(error, AutomatonTooSlow) else str(error))


def _letters(automaton: Automaton) -> tuple[str, ...]:
    classes = automaton.letters
    return tuple(map(classes.name, range(len(classes.firsts))))


def print_automaton(screen: Screen, given: Input, report: AutomatonReport) -> None:
    """Print a table of the states of the automaton, then a table of the number of words of each length."""
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
    # The last length is shown as well, so that the growth is seen.
    shown = report.counts[:COUNTED] + report.counts[COUNTED:][-1:]
    screen.block(columns("n", "words"), [(str(one.n), count(one.words)) for one in shown])
    screen.raw()
