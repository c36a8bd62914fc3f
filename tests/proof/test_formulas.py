"""Random formulas are proved in every regime that has a construction, and shipped ones to longer lengths than in
`tests/golden`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from hardsim.checking.open import Input, compile_formula, read_input
from hardsim.checking.subject import ModelOptions, Subject, own_predicates
from hardsim.errors import Unsupported
from hardsim.lang import ast
from hardsim.lang.desugar import desugar
from hardsim.program.regimes import PROVEN, REGIMES
from hardsim.proof.general import prove_general
from hardsim.proof.network import prove
from hardsim.proof.result import Proof
from tests.counting_strategies import ALL_SIDES, counting_formulas
from tests.strategies import formulas

FORMULAS = sorted((Path(__file__).resolve().parents[2] / "formulas").glob("*.ltl"))
CALM = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


def proof_of(subject: Subject, max_n: int) -> Proof:
    """The proof of a subject against its formula."""
    return prove(subject.model, subject.program, max_n, desugar(subject.file), own_predicates(subject.file))


def general_proof(subject: Subject) -> Proof:
    """The proof of a subject for every length."""
    return prove_general(subject.model, subject.program, desugar(subject.file), own_predicates(subject.file))


def reasons(proof: Proof) -> list[str | None]:
    """Why a proof is missing."""
    assert proof.meaning is not None
    return [link.reason for link in (proof.network, proof.meaning) if not link.holds]


@pytest.mark.slow
@pytest.mark.parametrize("path", FORMULAS, ids=lambda path: path.stem)
def test_every_shipped_formula_is_proved_to_length_64(path: Path) -> None:
    # How long it takes is measured in benchmarks/.
    given_file = read_input(str(path))
    assert isinstance(given_file, Input)
    for regime in PROVEN:
        try:
            subject = given_file.compile(ModelOptions(regime))
        except Unsupported:
            continue
        assert reasons(proof_of(subject, 64)) == []


@pytest.mark.sweep
@pytest.mark.parametrize("regime", PROVEN)
@CALM
@given(data=st.data())
def test_random_formulas_are_proved(regime: str, data: st.DataObject) -> None:
    formula = data.draw(formulas("ab", 4, future=not REGIMES[regime].causal))
    first = data.draw(st.booleans())
    file = ast.FormulaFile(("a", "b"), formula, at="first" if first else "last")
    subject = compile_formula(file, ModelOptions(regime, single_head=data.draw(st.booleans())))
    assert reasons(proof_of(subject, 6)) == []
    assert general_proof(subject).reason is None


@pytest.mark.sweep
@pytest.mark.parametrize("counting", ["lookup", "sign"])
@pytest.mark.parametrize("regime", PROVEN)
@CALM
@given(data=st.data())
def test_random_counting_formulas_are_proved(
    regime: str, counting: Literal["lookup", "sign"], data: st.DataObject
) -> None:
    sides = ("L",) if REGIMES[regime].causal or counting == "sign" else ALL_SIDES
    formula = data.draw(counting_formulas("ab", sides=sides, predicates=counting == "lookup"))
    try:
        subject = compile_formula(ast.FormulaFile(("a", "b"), formula), ModelOptions(regime, counting=counting))
    except Unsupported:
        assume(False)
        raise
    assert reasons(proof_of(subject, 6)) == []
    assert general_proof(subject).reason is None
