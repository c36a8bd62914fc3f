"""Subjects to check, each made in one line: formulas, programs and models."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

from hardsim.campaign.engines import MARGIN
from hardsim.campaign.evaluate import evaluate
from hardsim.campaign.judges import HardJudge
from hardsim.campaign.result import Evaluation
from hardsim.proof.formulas.every_length import prove_general
from hardsim.proof.programs.every_length import ProgramArgument
from hardsim.proof.shared.result import Proof
from hardsim.targets.result import AUTO, MPMATH
from hardsim.targets.semantics import Accepts
from hardsim.targets.sharpness import FoundTemperature, GivenTemperature, OneNetwork
from hardsim.targets.subject import own_predicates
from tests.support.attention_models import Document, write
from tests.support.check import (
    CheckOptions,
    FormulaTarget,
    ModelOptions,
    Subject,
    Word,
    compile_formula,
    prove,
    read_input,
)
from tests.support.language import Arith, FormulaFile, Unsupported, desugar, parse_arith, parse_expression
from tests.support.model import PROVEN, Transformer

FORMULAS = Path(__file__).parents[2] / "formulas"
T = TypeVar("T")
Made = TypeVar("Made", bound=Subject)


def known(value: T | None) -> T:
    """Return a value that must not be None."""
    assert value is not None
    return value


def tau_of(argument: ProgramArgument) -> Arith:
    """Return the temperature of an argument for every length."""
    assert isinstance(argument.tau, Arith)
    return argument.tau


def compiled(
    text: str, regime: str = "temperature", beta: Fraction | None = None, letters: str = "ab", **options: Any
) -> FormulaTarget:
    """Compile a formula in a regime."""
    return compile_formula(parse_expression(text, list(letters)), ModelOptions(regime, beta, **options))


def stated_to_be(subject: FormulaTarget, text: str) -> FormulaTarget:
    """Return a compiled formula whose specification is replaced by another formula."""
    formula = parse_expression(text, list(subject.alphabet))
    return replace(subject, formula=formula, oracle=Accepts(formula))


def in_regimes(file: FormulaFile, regimes: Iterable[str] = PROVEN) -> Iterator[FormulaTarget]:
    """Yield a formula compiled in every regime that has a construction."""
    for regime in regimes:
        try:
            yield compile_formula(file, ModelOptions(regime))
        except Unsupported:
            continue


def shipped(name: str, **options: Any) -> Subject:
    """Return a formula, program or model that the project ships."""
    return read_input(str(FORMULAS / name)).compile(ModelOptions(**options))


def shipped_formula(name: str, **options: Any) -> FormulaTarget:
    """Return a formula that the project ships."""
    return compile_formula(read_input(str(FORMULAS / name)).file, ModelOptions(**options))


def subject_of(directory: Path, document: Document) -> Subject:
    """Write a hard-attention model to a file and read it."""
    return read_input(str(write(directory, document))).compile(ModelOptions())


def program_of(directory: Path, text: str) -> Subject:
    """Write an S-RASP program to a file and read it."""
    path = directory / "program.srasp"
    path.write_text(text, encoding="utf-8")
    return read_input(str(path)).compile(ModelOptions())


def at_temperature(subject: Subject, tau: str | None = None, epsilon: Fraction | None = None) -> Subject:
    """Return a program or model with a temperature of its own, or with Theorem 26's for an error `epsilon`."""
    found = FoundTemperature(epsilon) if tau is None else GivenTemperature(parse_arith(tau), epsilon)
    return replace(subject, sharpness=found)


def with_network(subject: Made, model: Transformer) -> Made:
    """Return a subject with another network for every length than its specification compiles to."""
    return replace(subject, sharpness=OneNetwork(subject.budget, model))


def judge_of(subject: Subject, engine: str = AUTO, dps: int | None = None) -> HardJudge:
    """Return the judge of a formula for every length."""
    return HardJudge(subject, subject.program, None, dps, engine)


def evaluations(subject: Subject, words: Iterable[Word], engine: str = MPMATH) -> list[Evaluation]:
    """Return all answers on each word."""
    return list(evaluate(subject, list(words), CheckOptions(engine=engine)))


def proof_of(subject: FormulaTarget, max_n: int, min_n: int = 1) -> Proof:
    """Return the proof of a formula for lengths `min_n` to `max_n`."""
    return prove(
        subject.model, subject.program, max_n, desugar(subject.formula), own_predicates(subject.formula), min_n
    )


def agree(subject: Subject, words: Iterable[Word], engine: str = AUTO) -> None:
    """Assert that semantics, hard attention and softmax answer every word alike, with a margin; one batch for each
    length.

    The engine runs softmax. Its answers are certain by default; with mpmath they are only observed.
    """
    judge = judge_of(subject, engine)
    for _, same_length in groupby(words, len):
        batch = list(same_length)
        hard, expected = judge.hard.run(batch), subject.answers(batch)
        soft = judge.soft.batch(batch, hard)
        for place, word in enumerate(batch):
            found = soft.one(place)
            assert found.decided, word
            assert (hard.answers[place], found.answer) == (known(expected)[place],) * 2, word
            margin = found.middle(MARGIN)
            assert margin is None or margin > 0, word


def general_proof(subject: FormulaTarget, model: Transformer | None = None) -> Proof:
    """Return the proof of a formula for every length, of its own network or of another."""
    return prove_general(
        model or subject.model, subject.program, desugar(subject.formula), own_predicates(subject.formula)
    )
