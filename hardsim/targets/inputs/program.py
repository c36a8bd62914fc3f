"""S-RASP programs, and C-RASP programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from hardsim.errors import InputError, Unsupported
from hardsim.lang.ast import FormulaFile, SraspProgram
from hardsim.lang.crasp.crasp_parser import parse_crasp
from hardsim.lang.crasp.formula import as_formula
from hardsim.lang.crasp.oracle import CraspOracle
from hardsim.lang.semantics import check_examples
from hardsim.lang.srasp.interpreter import check_program_examples
from hardsim.lang.srasp.srasp_parser import parse_program
from hardsim.lazy_dataclass import dataclass
from hardsim.targets.base import At, ModelOptions
from hardsim.targets.compiled import compile_srasp, sharpened
from hardsim.targets.inputs.base import ACCEPTING, Input
from hardsim.targets.inputs.formula import FormulaInput, UncompiledProgramInput, described
from hardsim.targets.program import ProgramTarget
from hardsim.targets.program_reference import ProgramReference
from hardsim.targets.reference import Reference
from hardsim.targets.result import Answer, ModelFacts, Word
from hardsim.targets.semantics import Runs, Semantics
from hardsim.targets.subject import Subject


@dataclass(frozen=True, kw_only=True)
class ProgramInput(Input):
    """An S-RASP program. One that cannot be compiled still has a semantics: what needs a network raises the refusal."""

    kind = "srasp"
    noun = "S-RASP program"
    what = f"an {noun}"

    program: SraspProgram
    made: ProgramTarget | Unsupported
    """The program compiled, or the reason why it cannot be."""

    @property
    def compilable(self) -> bool:
        """True if every score of the program has a construction."""
        return not isinstance(self.made, Unsupported)

    @property
    def file(self) -> FormulaFile:
        """No formula: the reason is raised."""
        if isinstance(self.made, Unsupported):
            raise self.made
        return super().file

    @property
    def facts(self) -> ModelFacts | None:
        """The size of the network; None without a construction."""
        return None if isinstance(self.made, Unsupported) else self.made.facts

    def as_read(self) -> ProgramTarget:
        """Return the compiled program. Raises Unsupported if it cannot be compiled."""
        if isinstance(self.made, Unsupported):
            raise self.made
        return self.made

    def _compiled(self, options: ModelOptions) -> Subject:
        return sharpened(self.as_read(), options)

    def meaning(self, at: str | None) -> Callable[[Word], Answer]:
        """Return the semantics of the program."""
        return Runs(self.program)

    def semantics(self, at: At | None = None) -> Semantics:
        """Return the semantics of a program that accepts words. Raises InputError for any other."""
        if not self.program.is_acceptor:
            integers = not isinstance(self.made, Unsupported) and self.made.program.integers
            made = "integers" if integers else "words"
            message = f"{self.name} maps words to {made}, so it does not say which words are accepted"
            raise InputError(message, ACCEPTING[1])
        examples = tuple(example.word for example in self.program.examples)
        return Semantics(self.name, self.sha256, self.kind, self.alphabet, Runs(self.program), examples)

    def reference(self, at: At | None = None) -> Reference:
        """Return the program as a reference: its semantics if it accepts words, or its outputs."""
        if self.program.assume or not self.program.is_acceptor:
            return ProgramReference(self.name, self.sha256, self.program)
        return self.semantics(at)


def read_srasp(data: bytes, name: str, sha256: str) -> ProgramInput:
    """Read an S-RASP program from the bytes of a file. Raises SourceError if it is wrong, or an example is."""
    program = parse_program(data, name)
    check_program_examples(program)
    made: ProgramTarget | Unsupported
    try:
        made, warnings = compile_srasp(program, name, sha256)
    except Unsupported as refusal:
        made, warnings = refusal, ()
    return ProgramInput(
        name=name,
        sha256=sha256,
        alphabet=program.alphabet,
        text=program.source.text,
        title=program.title,
        remarked=(*program.notes, *warnings),
        warnings=warnings,
        program=program,
        made=made,
    )


def read_crasp(
    data: bytes, name: str, sha256: str, alphabet: str | Sequence[str] | None
) -> FormulaInput | UncompiledProgramInput:
    """Read a C-RASP program from the bytes of a file. Raises SourceError if it is wrong, or an example is."""
    parsed = parse_crasp(data, name, alphabet)
    # The examples are checked against the program's own semantics; what is compiled is a formula made of it below.
    program = replace(parsed, oracle=CraspOracle(parsed))
    check_examples(program)
    given = described(program, sha256)
    try:
        return FormulaInput(**given, formula=as_formula(program))
    except Unsupported as refusal:
        return UncompiledProgramInput(**given, program=program, refusal=refusal)
