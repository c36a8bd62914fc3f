"""Formulas, and C-RASP programs that are compiled as formulas."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, cast

from hardsim.errors import Unsupported
from hardsim.lang.ast import FUTURE_NOTE, FormulaFile, Supplied
from hardsim.lang.desugar import desugar
from hardsim.lang.semantics import check_examples
from hardsim.lazy_dataclass import dataclass
from hardsim.targets.base import At, ModelOptions
from hardsim.targets.compiled import compile_formula
from hardsim.targets.inputs.base import Input
from hardsim.targets.result import Answer, Word
from hardsim.targets.semantics import Accepts, AcceptsProgram, Semantics, about_alphabet, examples_apply
from hardsim.targets.subject import Subject


@dataclass(frozen=True, kw_only=True)
class FormulaInput(Input):
    """A formula. It is compiled for a regime."""

    kind = "ltl"
    noun = "formula"
    what = f"a {noun}"
    has_formula = True
    regimes = True
    shown_by_length = True

    formula: FormulaFile

    def remarks(self, at: str | None) -> tuple[str, ...]:
        """Return the remarks that apply where the formula is read at `at` (None: at the file's own position)."""
        if at is None:
            return self.notes
        others = tuple(note for note in self.notes if note != FUTURE_NOTE)
        if not self.formula.examples or examples_apply(self.formula, at):
            return others
        place = self.formula.at
        message = f"its accept: and reject: words were written for at: {place}, so with --at {at} they are not judged"
        return (*others, message)

    @property
    def file(self) -> FormulaFile:
        """The formula."""
        return self.formula

    @property
    def readings(self) -> tuple[str, ...]:
        """Remarks on words that have a second reading."""
        return self.formula.readings

    @property
    def supplied(self) -> Supplied:
        """The option that gave the alphabet, with its value."""
        return self.formula.supplied

    @property
    def in_dialects(self) -> bool:
        """True unless the formula was a C-RASP program, which has a semantics of its own."""
        return self.formula.oracle is None

    @contextmanager
    def about_alphabet(self) -> Iterator[None]:
        """Explain in the hint of an error where the alphabet comes from, if a word uses another symbol."""
        with about_alphabet(self.formula):
            yield

    def meaning(self, at: str | None) -> Callable[[Word], Answer]:
        """Return the semantics of the formula read at `at` (by default at the file's own position)."""
        return Accepts(self.formula.read_at(cast(Any, at)))

    def semantics(self, at: At | None = None) -> Semantics:
        """Return the semantics of the formula read at `at`. Raises SourceError if an example is wrong."""
        if examples_apply(self.formula, at):
            check_examples(self.formula, at=at)
        file = self.formula.read_at(at)
        examples = tuple(example.word for example in file.examples)
        return Semantics(self.name, self.sha256, self.kind, self.alphabet, Accepts(file), examples)

    @cached_property
    def compilable(self) -> bool:
        """True unless no regime has a construction."""
        try:
            desugar(self.formula)
        except Unsupported:
            return False
        return True

    def _compiled(self, options: ModelOptions) -> Subject:
        return compile_formula(self.formula, options, self.sha256, self.name)


@dataclass(frozen=True, kw_only=True)
class UncompiledProgramInput(Input):
    """A C-RASP program that no formula is equal to. It has a semantics, and no network."""

    kind = "ltl"
    noun = "formula"
    what = f"a {noun}"
    shown_by_length = True
    compilable = False

    program: FormulaFile
    refusal: Unsupported

    @property
    def file(self) -> FormulaFile:
        """No formula: the reason is raised."""
        raise self.refusal

    def _compiled(self, options: ModelOptions) -> Subject:
        raise self.refusal

    def meaning(self, at: str | None) -> Callable[[Word], Answer]:
        """Return the semantics of the program, at its own position."""
        return AcceptsProgram(self.program)

    def semantics(self, at: At | None = None) -> Semantics:
        """Return the semantics of the program, at its own position."""
        examples = tuple(example.word for example in self.program.examples)
        return Semantics(self.name, self.sha256, self.kind, self.alphabet, AcceptsProgram(self.program), examples)


def of_formula(file: FormulaFile, sha256: str, name: str | None = None) -> FormulaInput:
    """Return the input for a parsed formula."""
    return FormulaInput(**described(file, sha256, name), formula=file)


def described(file: FormulaFile, sha256: str, name: str | None = None) -> dict[str, Any]:
    """Return what the input of a formula has from its file."""
    source = file.source
    return {
        "name": name or source.name,
        "sha256": sha256,
        "alphabet": file.alphabet,
        "text": source.text,
        "title": file.title,
        "remarked": (*file.readings, *file.notes),
    }
