"""Random formulas are proved in every regime that has a construction, and shipped ones to greater lengths than in
`tests/golden`.
"""

from pathlib import Path
from typing import Literal

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from hardsim.lang import ast
from hardsim.proof.shared.result import Proof
from tests.support.check import ModelOptions, compile_formula
from tests.support.counting_strategies import ALL_SIDES, counting_formulas
from tests.support.language import Unsupported
from tests.support.model import PROVEN, REGIMES
from tests.support.sources import load
from tests.support.strategies import formulas
from tests.support.subjects import FORMULAS, general_proof, in_regimes, known, proof_of

CALM = settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


def reasons(proof: Proof) -> list[str | None]:
    """Return the reasons why a proof is missing."""
    return [link.reason for link in (proof.network, known(proof.meaning)) if not link.proved]


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(FORMULAS.glob("*.ltl")), ids=lambda path: path.stem)
def test_every_shipped_formula_is_proved_to_length_64(path: Path) -> None:
    # benchmarks/ measures the time.
    for subject in in_regimes(load(path)):
        assert reasons(proof_of(subject, 64)) == []


@pytest.mark.sweep
@pytest.mark.parametrize("regime", PROVEN)
@CALM
@given(data=st.data())
def test_random_formulas_are_proved(regime: str, data: st.DataObject) -> None:
    formula = data.draw(formulas("ab", 4, future=not REGIMES[regime].causal))
    file = ast.FormulaFile(("a", "b"), formula, at="first" if data.draw(st.booleans()) else "last")
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
