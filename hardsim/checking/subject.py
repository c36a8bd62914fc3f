"""The whole pipeline as one function: from a formula to the three things that a check compares.

FormulaFile -> Core -> HardProgram -> Budget -> Transformer
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal

from hardsim.checking.result import ModelFacts
from hardsim.errors import InputError, SourceError
from hardsim.lang.arith import Arith
from hardsim.lang.ast import FormulaFile
from hardsim.lang.desugar import desugar
from hardsim.lang.predicate import user_predicates
from hardsim.lang.pretty import format_formula
from hardsim.lang.semantics import check_examples
from hardsim.net.model import Transformer
from hardsim.net.soften import soften
from hardsim.spec.columns import UserPredicate
from hardsim.spec.ir import HardProgram, Kind
from hardsim.spec.lower import lower
from hardsim.spec.refuse import Method
from hardsim.spec.regimes import regime_named
from hardsim.theory.budget import Budget, choose

At = Literal["first", "last"]


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """How a formula becomes a network; None stands for the default (beta, temperature) or the file's own choice
    (at)."""

    regime: str = "temperature"
    beta: Fraction | None = None
    tau: Arith | None = None
    at: At | None = None
    single_head: bool = False
    counting: Method | None = None
    """How comparisons of counts are decided: `lookup` (the default where the regime has it) or `sign`."""


@dataclass(frozen=True)
class Subject:
    """A formula (the oracle's side), its hard-attention program and its softmax transformer.

    `file.at` is the position at which this subject is read. `sha256` is that of the input (a file's bytes, an
    expression's text).
    """

    name: str
    sha256: str
    file: FormulaFile
    program: HardProgram
    budget: Budget
    model: Transformer
    single_head: bool
    counting: str | None = None
    """How comparisons of counts are decided (None where there are none)."""

    @property
    def formula(self) -> str:
        """The formula as text in the canonical spelling."""
        return format_formula(self.file.formula)

    @cached_property
    def specified(self) -> bool:
        """Whether the network is the one that the specification makes: what is compiled here is, a file may differ."""
        return soften(self.program, self.budget) == self.model

    def hold_specified(self, what: str) -> None:
        """Refuse what is worked out from the specification, where the network is another one.

        Raises:
            InputError: naming `what`.
        """
        if not self.specified:
            raise InputError(
                f"{self.name}: the network is not the one that its specification makes at its beta, and {what} would "
                "speak of the specification",
                hint="Compile the formula again; check, prove, eval and words speak of the network itself.",
            )

    @property
    def facts(self) -> ModelFacts:
        """The network in numbers."""
        return ModelFacts(
            regime=self.program.regime,
            at=self.file.at,
            single_head=self.single_head,
            beta=self.budget.beta,
            temperature=str(self.budget.temperature),
            layers=len(self.model.layers),
            heads=len(self.program.heads),
            dimension=self.model.dimension,
            parameters=self.model.parameters,
            counting=self.counting,
        )


def compile_file(file: FormulaFile, options: ModelOptions, sha256: str | None = None) -> Subject:
    """Compile a formula file, after holding its accept and reject examples against the semantics, unless they were
    written for another position than the one that is asked for.

    Raises:
        SourceError: if an example is wrong, or the formula has no construction in the regime (Unsupported).
        InputError: if an option does not apply.
    """
    if examples_apply(file, options.at):
        check_examples(file, at=options.at)
    if options.at is not None:
        file = replace(file, at=options.at)
    program = lower(
        desugar(file), regime_named(options.regime), options.single_head, options.counting, own_predicates(file)
    )
    budget = choose(program, options.beta, options.tau)
    return Subject(
        name=file.source.name,
        sha256=sha256 or digest(file.source.text.encode()),
        file=file,
        program=program,
        budget=budget,
        model=soften(program, budget),
        single_head=options.single_head,
        counting=counting_of(program),
    )


def examples_apply(file: FormulaFile, at: str | None) -> bool:
    """Whether a file's examples speak of the position `at` (None: the file's own). A file that names none leaves it
    to whoever reads it, unless its examples are right at the default position and not at `at`."""
    if at is None or at == file.at:
        return True
    asked: At = "first" if file.at == "last" else "last"
    return not file.placed and (_examples_hold(file, asked) or not _examples_hold(file, file.at))


def _examples_hold(file: FormulaFile, at: At) -> bool:
    try:
        check_examples(file, at=at)
    except SourceError:
        return False
    return True


def counting_of(program: HardProgram) -> str | None:
    """How the heads of a program count; None where they do not."""
    kinds = {head.kind for head in program.heads}
    if kinds & {Kind.SIGN, Kind.SIGN_RAMP}:
        return "sign"
    return "lookup" if Kind.LOOKUP in kinds else None


def own_predicates(file: FormulaFile) -> dict[str, tuple[str, UserPredicate]]:
    """The predicates that a file defines: text and meaning by name."""
    meanings = user_predicates(file)
    return {item.name: (item.text, meanings[item.name]) for item in file.predicates}


def digest(data: bytes) -> str:
    """SHA-256 as hex."""
    return hashlib.sha256(data).hexdigest()
