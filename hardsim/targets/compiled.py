"""The compilation of formulas and S-RASP programs into subjects."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from hardsim.compiling.from_ltl.lower import lower
from hardsim.compiling.from_ltl.refusals import Method
from hardsim.compiling.from_ltl.rounded import ROUNDED_DOWN
from hardsim.errors import InputError
from hardsim.lang import ast
from hardsim.lang.ast import FormulaFile
from hardsim.lang.desugar import desugar
from hardsim.lang.pretty import format_formula
from hardsim.lang.semantics import check_examples
from hardsim.network.numbers import Mask
from hardsim.network.transformer import SoftWeighting, require_order
from hardsim.program.budget import Budget, choose
from hardsim.program.file import (
    named_predicates,
)
from hardsim.program.hard_attention import Program, Weighting
from hardsim.program.regimes import DEFAULT_REGIME, GEOMETRIC, ROUNDED, Regime, regime_named, regime_with
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
    regime, own = regime_of(options), own_predicates(file)
    weighting = options.weighting or regime.weighting
    rounded = options.rounding or ROUNDED_DOWN
    program = lower(desugar(file), regime, options.single_head, options.counting, own, weighting, rounded)
    budget = choose(program, options.beta, options.tau)
    sha256 = sha256 or digest(file.source.text.encode())
    sharpness = OneNetwork.of(program, budget)
    subject = formula_subject(file, name or file.source.name, sha256, program, sharpness, options.single_head)
    return replace(subject, pins=True, given=options.sharpening)


def regime_of(options: ModelOptions) -> Regime:
    """Return the regime that a formula is compiled for. Raises InputError if there is none of that name, or if it and
    the weighting do not fit: geometric attention has a regime of its own, and that regime no other weighting; likewise
    for rounding."""
    default = GEOMETRIC.name if options.weighting is SoftWeighting.GEOMETRIC else DEFAULT_REGIME
    exponentials = options.weighting is not None and options.weighting.exponentials is not None
    default = ROUNDED.name if options.rounding or exponentials else default
    regime = regime_named(options.regime or default)
    if exponentials and options.rounding is not None:
        message = "--exponential rounds the weights of attention, and --rounding the values between sublayers"
        raise InputError(message, f"Leave out one of them: a network of regime '{ROUNDED.name}' rounds only one.")
    own = regime.weighting is SoftWeighting.GEOMETRIC
    if options.weighting is not None and own != (options.weighting is SoftWeighting.GEOMETRIC):
        option = "--exponential" if exponentials else f"--weighting {options.weighting}"
        message = f"{option} does not fit regime '{regime.name}'"
        reason = f"regime '{GEOMETRIC.name}' is for geometric attention, which has no other regime"
        raise InputError(message, f"Leave out {option.partition(' ')[0]} or --regime: {reason}.")
    if options.rounding is not None and regime is not ROUNDED:
        message = f"--rounding does not fit regime '{regime.name}', which rounds nothing"
        raise InputError(message, f"Leave out one of them: regime '{ROUNDED.name}' rounds.")
    return regime_with(regime.name, options.weighting or SoftWeighting.SOFTMAX)


def require_nearest(program: Program) -> None:
    """Require that every head of a program reads the nearest of its largest scores, as geometric attention can. Raises
    InputError, which names the first other head."""
    for head in program.heads:
        require_order(head.name, head.mask, bool(head.score), program.bos)
        back = head.mask in (Mask.FUTURE, Mask.STRICT_FUTURE)
        if head.weighting is not (Weighting.RIGHTMOST if back else Weighting.LEFTMOST):
            message = f"head {head.name} is {head.weighting}, and geometric attention reads the nearest position first"
            nearest = "rightmost" if back else "leftmost"
            raise InputError(message, f"With mask {head.mask} the nearest is {nearest}; use softmax for other heads.")


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
    from hardsim.compiling.from_srasp.compile import compile_program  # formulas need none of it

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


def _weighted(made: Subject, weighting: SoftWeighting) -> Program:
    """Return the program of a subject with another weighting. Raises InputError if one of the two is geometric, and the
    scores are made for the other one."""
    old = made.program.weighting
    if old != weighting and SoftWeighting.GEOMETRIC in ((old, weighting) if made.one_network else (old,)):
        message = f"{made.name} is a network for the weighting {old}, so --weighting {weighting} does not apply"
        raise InputError(message, "Leave out --weighting.")
    return replace(made.program, weighting=weighting)


def sharpened(made: Sharpened, options: ModelOptions) -> Sharpened:
    """Return a program or model with another temperature, or with another beta where it has one. Raises InputError if
    both a beta and Theorem 26's temperature for an error are asked for."""
    given = options.sharpening
    made = replace(made, program=_weighted(made, options.weighting or made.program.weighting))
    if made.program.weighting is SoftWeighting.GEOMETRIC:
        require_nearest(made.program)
        if not made.one_network and options.tau is None and not made.given_temperature:
            message = f"{made.name}: geometric attention needs a temperature"
            raise InputError(message, "Give one, such as --tau '1/log(4*n)' (or the key temperature of the file).")
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
