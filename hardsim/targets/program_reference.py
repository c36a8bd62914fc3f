"""An S-RASP program as the reference for external networks whose outputs are symbols, integers, truths or numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn

from hardsim.errors import InputError, SourceError
from hardsim.lang.ast import Sort, SraspProgram
from hardsim.lang.spec.layout import read_spec
from hardsim.lazy_dataclass import dataclass
from hardsim.targets.external import External
from hardsim.targets.specification import Specification
from hardsim.targets.subject import Subject

_ALONE = "program: it.srasp"
"""The text of a specification that only names a program."""


@dataclass(frozen=True)
class ProgramReference:
    """A program as the reference for a network that outputs as much as the program does at each position: a symbol,
    by argmax, or a number. It acts as the specification `program:` without other lines."""

    name: str
    sha256: str
    program: SraspProgram

    @property
    def alphabet(self) -> tuple[str, ...]:
        """The symbols of the program's words."""
        return self.program.alphabet

    def deciding(self, external: External) -> External:
        """Return an external network with the program as its reference. Raises InputError if the network has other
        symbols, or outputs of another kind."""
        layout = read_spec(_ALONE, self.name)
        try:
            found = Specification(self.name, self.sha256, layout, "", self.program).deciding(external)
        # The caret of such an error would point into `_ALONE`, which the user never wrote.
        except SourceError as error:
            hint = error.hint or f"Expected: {error.expected}. A .spec file says which output is which."
            raise InputError(f"{external.name} does not fit {self.name}: {error.message}", hint) from None
        longest = external.network.longest
        words = (example.word for example in self.program.examples)
        examples = tuple((word, None) for word in words if longest is None or len(word) <= longest)
        return replace(found, examples=examples)

    def judging(self, subject: Subject) -> NoReturn:
        """Refuse a subject that was compiled here: it needs a reference that gives the accepted words. Always raises
        InputError."""
        made = "integers" if self.program.vectors[self.program.output].sort is Sort.INT else "words"
        message = f"{self.name} maps words to {made}, so it does not say which words are accepted"
        if self.program.is_acceptor:
            message = f"{self.name} says nothing where {self.program.assume} is false, so some words have no answer"
        hint = "Name a formula (.ltl), a program that accepts (.srasp, .cr) or a regular expression (.re)."
        raise InputError(message, hint)
