"""Regular expressions."""

from __future__ import annotations

from collections.abc import Sequence

from hardsim.errors import Unsupported
from hardsim.lang.regex.regex_parser import RegexFile, parse_regex
from hardsim.lazy_dataclass import dataclass
from hardsim.targets.inputs.language import LanguageInput


@dataclass(frozen=True, kw_only=True)
class RegexInput(LanguageInput):
    """A regular expression, by its minimal automaton."""

    kind = "re"
    noun = "regular expression"
    what = f"a {noun}"

    expression: RegexFile

    @property
    def refusal(self) -> Unsupported:
        """The reason why there is no network."""
        return self.expression.error(*self.alone())


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
        language=file.automaton,
        examples=tuple(example.word for example in file.examples),
        expression=file,
    )
