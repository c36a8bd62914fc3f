"""Random formulas of depth 4: oracle, hard attention and the network agree in every regime."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hardsim.checking.compare import Judge
from hardsim.checking.subject import ModelOptions, compile_file
from hardsim.lang import ast
from hardsim.spec.regimes import PROVEN, REGIMES
from tests.strategies import all_words, formulas

pytestmark = pytest.mark.sweep

ANY = formulas("ab", 4)
PAST = formulas("ab", 4, future=False)


def agree(formula: ast.Formula, regime: str, at: bool, single_head: bool, longest: int) -> None:
    file = ast.FormulaFile(("a", "b"), formula, at="first" if at else "last")
    judge = Judge(compile_file(file, ModelOptions(regime, single_head=single_head)))
    for word in all_words("ab", longest):
        found = judge.evaluate(word)
        assert found.mismatch is None
        assert found.margin is None or found.margin > 0


@pytest.mark.parametrize("regime", PROVEN)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_random_formulas_agree_to_length_6(regime: str, data: st.DataObject) -> None:
    formula = data.draw(PAST if REGIMES[regime].causal else ANY)
    agree(formula, regime, data.draw(st.booleans()), data.draw(st.booleans()), 6)


@pytest.mark.slow
@pytest.mark.parametrize("regime", PROVEN)
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_many_random_formulas_agree_to_length_6(regime: str, data: st.DataObject) -> None:
    formula = data.draw(PAST if REGIMES[regime].causal else ANY)
    agree(formula, regime, data.draw(st.booleans()), data.draw(st.booleans()), 6)
