"""Automata in the files of other tools: Graphviz DOT, automata-lib's JSON, and JFLAP's XML."""

from __future__ import annotations

from hardsim.errors import InputError
from hardsim.lazy_dataclass import dataclass
from hardsim.reading.automata.opening import OpenedAutomaton
from hardsim.targets.inputs.language import LanguageInput


@dataclass(frozen=True, kw_only=True)
class AutomatonInput(LanguageInput):
    """An automaton, made deterministic, complete and minimal."""

    kind = "automaton"
    noun = "automaton"
    what = f"an {noun}"

    @property
    def refusal(self) -> InputError:
        """The reason why there is no network."""
        message, hint = self.alone()
        return InputError(f"{self.name}: {message}", hint)


def of_automaton(opened: OpenedAutomaton, name: str, sha256: str) -> AutomatonInput:
    """Return the input for the automaton of a file."""
    return AutomatonInput(
        name=name,
        sha256=sha256,
        alphabet=opened.alphabet,
        text=opened.text,
        remarked=opened.notes,
        language=opened.automaton,
    )
