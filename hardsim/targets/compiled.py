"""The compilation of formulas and S-RASP programs into subjects."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from hardsim.compiling.from_ltl.lower import Method, lower
from hardsim.compiling.from_srasp.compile import compile_program
from hardsim.errors import InputError
from hardsim.lang import ast
from hardsim.lang.ast import FormulaFile
from hardsim.lang.desugar import desugar
from hardsim.lang.pretty import format_formula
from hardsim.lang.semantics import check_examples
from hardsim.network.transformer import SoftWeighting
from hardsim.program.budget import Budget, choose
from hardsim.program.file import (
    named_predicates,
)
from hardsim.program.hard_attention import Program
from hardsim.program.regimes import DEFAULT_REGIME, regime_named
from hardsim.targets.base import ModelOptions, digest
from hardsim.targets.formula import FormulaTarget
from hardsim.targets.program import ProgramTarget
from hardsim.targets.semantics import Accepts, Runs, examples_apply
from hardsim.targets.sharpness import FoundTemperature, GivenTemperature, OneNetwork
from hardsim.targets.subject import Subject, counting_of, own_predicates

Sharpened = TypeVar("Sharpened", bound=Subject)
METHODS: dict[str, Method] = {"lookup": "lookup", "sign": "sign"}


def compile_formula(
    file: FormulaFile, options: ModelOptions, sha256: str | None = None, name: str | None = None
) -> FormulaTarget:
    """Compile a formula, after checking its accept and reject examples against the semantics, unless they were written
    for another position than the one that is asked for. Raises SourceError if an example is wrong, or the formula has
    no construction in the regime (Unsupported); InputError if an option does not apply."""
    if examples_apply(file, options.at):
        check_examples(file, at=options.at)
    file = file.read_at(options.at)
    regime, own = regime_named(options.regime or DEFAULT_REGIME), own_predicates(file)
    program = lower(desugar(file), regime, options.single_head, options.counting, own)
    program = replace(program, weighting=options.weighting or SoftWeighting.SOFTMAX)
    budget = choose(program, options.beta, options.tau)
    sha256 = sha256 or digest(file.source.text.encode())
    sharpness = OneNetwork.of(program, budget)
    subject = formula_subject(file, name or file.source.name, sha256, program, sharpness, options.single_head)
    return replace(subject, pins=True, given=options.sharpening)


def formula_subject(
    file: FormulaFile, name: str, sha256: str, program: Program, sharpness: OneNetwork, single: bool
) -> FormulaTarget:
    """Return the subject of a formula with its hard attention and its network; `single` is True if it was compiled to
    have at most one head in each layer."""
    return FormulaTarget(
        name=name,
        sha256=sha256,
        program=program,
        alphabet=file.alphabet,
        examples=tuple((example.word, example.accept) for example in file.examples),
        title=format_formula(file.formula),
        oracle=Accepts(file),
        predicates=named_predicates(program, file),
        sharpness=sharpness,
        formula=file,
        single_head=single,
        counting=counting_of(program),
    )


def compile_srasp(program: ast.SraspProgram, name: str, sha256: str) -> tuple[ProgramTarget, tuple[str, ...]]:
    """Compile an S-RASP program into hard attention. Return the subject, and warnings where its integers may leave the
    range of the construction. Raises Unsupported if a score has no construction."""
    compiled = compile_program(program)
    subject = ProgramTarget(
        name=name,
        sha256=sha256,
        program=compiled.model,
        alphabet=program.alphabet,
        examples=tuple((example.word, None) for example in program.examples),
        pins=True,
        title=program.title,
        oracle=Runs(program),
        blank=None if program.pad is None else ast.BLANK,
        compiled=compiled,
    )
    return subject, compiled.limits()


def sharpened(made: Sharpened, options: ModelOptions) -> Sharpened:
    """Return a program or model with another temperature, or with another beta where it has one. Raises InputError if
    both a beta and Theorem 26's temperature for an error are asked for."""
    given = options.sharpening
    if options.weighting is not None:
        made = replace(made, program=replace(made.program, weighting=options.weighting))
    if made.one_network and options.epsilon is not None and options.beta is not None:
        message = f"{made.name}: --epsilon selects Theorem 26's temperature, and --beta belongs to a regime's"
        raise InputError(message, "Give one of --epsilon and --beta.")
    if not made.one_network or options.epsilon is not None:
        schedule = options.tau or (made.schedule if made.given_temperature else None)
        epsilon, given = options.epsilon, tuple(name for name in given if name != "beta")  # a beta is only of a regime
        found = FoundTemperature(epsilon) if schedule is None else GivenTemperature(schedule, epsilon)
        return replace(made, sharpness=found, given=given)
    old = made.budget
    budget = Budget(
        options.beta or old.beta,
        options.tau or old.temperature,
        options.beta is not None or old.fixed,
        made.program.weighting,
    )
    return replace(made, sharpness=OneNetwork.of(made.program, budget), given=given)
