"""Regular expressions: languages, of which no network is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hardsim.errors import Unsupported
from hardsim.lang.ast import FormulaFile
from hardsim.lang.automata.automaton import Automaton
from hardsim.lang.regex.regex_parser import RegexFile, parse_regex
from hardsim.targets.base import At, ModelOptions
from hardsim.targets.inputs.base import Input
from hardsim.targets.result import Answer, Word
from hardsim.targets.semantics import Members, Semantics
from hardsim.targets.subject import Subject


@dataclass(frozen=True, kw_only=True)
class RegexInput(Input):
    """A regular expression, by its minimal automaton."""

    kind = "re"
    noun = "regular expression"
    what = f"a {noun}"
    oracle_alone = True
    shown_by_length = True
    compilable = False

    expression: RegexFile

    @property
    def refusal(self) -> Unsupported:
        """The reason why there is no network."""
        return self.expression.error(
            "a regular expression is an oracle alone: it is not compiled into a network",
            f"hardsim check FILE --against {self.name} checks a formula, a program or a model against it; "
            "`hardsim words`, `eval`, `show` and `equiv` read it directly",
        )

    @property
    def file(self) -> FormulaFile:
        """No formula: the reason is raised."""
        raise self.refusal

    def _compiled(self, options: ModelOptions) -> Subject:
        raise self.refusal

    @property
    def automaton(self) -> Automaton:
        """The minimal automaton."""
        return self.expression.automaton

    def meaning(self, at: str | None) -> Callable[[Word], Answer]:
        """Return the language."""
        return Members(self.automaton)

    def semantics(self, at: At | None = None) -> Semantics:
        """Return the language as a semantics."""
        examples = tuple(example.word for example in self.expression.examples)
        return Semantics(self.name, self.sha256, self.kind, self.alphabet, Members(self.automaton), examples)


def read_regex(
    data: bytes,
    name: str,
    sha256: str,
    props: str | Sequence[str] | None,
    alphabet: str | Sequence[str] | None = None,
) -> RegexInput:
    """Read a regular expression from the bytes of a file. Raises SourceError if it is wrong, or an example is."""
    file = parse_regex(data, name, props, alphabet)
    return RegexInput(
        name=name,
        sha256=sha256,
        alphabet=file.alphabet,
        text=file.layout.source.text,
        title=file.title,
        remarked=file.notes,
        expression=file,
    )
