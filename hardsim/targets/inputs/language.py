"""Languages: files with an automaton, of which no network is made."""

from __future__ import annotations

from collections.abc import Callable

from hardsim.errors import InputError
from hardsim.lang.ast import FormulaFile
from hardsim.lang.automata.automaton import Automaton
from hardsim.lazy_dataclass import dataclass
from hardsim.targets.base import At, ModelOptions
from hardsim.targets.inputs.base import Input
from hardsim.targets.result import Answer, Word
from hardsim.targets.semantics import Members, Semantics
from hardsim.targets.subject import Subject


@dataclass(frozen=True, kw_only=True)
class LanguageInput(Input):
    """A language, given by its minimal automaton and by words that the file itself lists."""

    oracle_alone = True
    shown_by_length = True
    compilable = False

    language: Automaton
    examples: tuple[Word, ...] = ()

    @property
    def refusal(self) -> InputError:
        """The reason why there is no network."""
        raise NotImplementedError  # each kind of language has advice of its own

    @property
    def file(self) -> FormulaFile:
        """No formula: the reason is raised."""
        raise self.refusal

    def _compiled(self, options: ModelOptions) -> Subject:
        raise self.refusal

    @property
    def automaton(self) -> Automaton:
        """The minimal automaton."""
        return self.language

    def meaning(self, at: str | None) -> Callable[[Word], Answer]:
        """Return the language."""
        return Members(self.automaton)

    def semantics(self, at: At | None = None) -> Semantics:
        """Return the language as a semantics."""
        return Semantics(self.name, self.sha256, self.kind, self.alphabet, Members(self.automaton), self.examples)

    def alone(self) -> tuple[str, str]:
        """Return the message and the hint of the refusal."""
        hint = (
            f"`hardsim check FILE --against {self.name}` checks a formula, a program or a model against it; "
            "`hardsim words`, `eval`, `show` and `equiv` read it directly"
        )
        return f"{self.what} only says which words are accepted: it is not compiled into a network", hint
