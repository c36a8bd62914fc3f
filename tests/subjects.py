"""Things to check, made in one line: formulas, programs and models."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from hardsim.checking.campaign import CheckOptions, Judge
from hardsim.checking.evaluate import evaluate
from hardsim.checking.open import compile_formula, read_input
from hardsim.checking.result import AUTO, MPMATH, Evaluation, Word
from hardsim.checking.subject import ModelOptions, Subject
from hardsim.lang.arith import parse_arith
from hardsim.lang.parse import parse_expression
from tests.attention_models import Document, write

FORMULAS = Path(__file__).parents[1] / "formulas"


def compiled(
    text: str, regime: str = "temperature", beta: Fraction | None = None, letters: str = "ab", **options: Any
) -> Subject:
    """A formula in a regime."""
    return compile_formula(parse_expression(text, list(letters)), ModelOptions(regime, beta, **options))


def shipped(name: str, **options: Any) -> Subject:
    """A formula, program or model that the project ships."""
    return read_input(str(FORMULAS / name)).compile(ModelOptions(**options))


def subject_of(directory: Path, document: Document) -> Subject:
    """A hard-attention model, from its file."""
    return read_input(str(write(directory, document))).compile(ModelOptions())


def program_of(directory: Path, text: str) -> Subject:
    """An S-RASP program, from its file."""
    path = directory / "program.srasp"
    path.write_text(text, encoding="utf-8")
    return read_input(str(path)).compile(ModelOptions())


def at_temperature(subject: Subject, tau: str | None = None, epsilon: Fraction | None = None) -> Subject:
    """A program or model at a temperature of its own, or at Theorem 26's for an error."""
    return replace(subject, schedule=None if tau is None else parse_arith(tau), epsilon=epsilon)


def judge_of(subject: Subject, engine: str = AUTO, dps: int | None = None) -> Judge:
    """What answers of a formula at every length."""
    return Judge(subject, subject.program, None, dps, engine)


def evaluations(subject: Subject, words: Iterable[Word], engine: str = MPMATH) -> list[Evaluation]:
    """All answers on each word."""
    return list(evaluate(subject, list(words), CheckOptions(engine=engine)))
