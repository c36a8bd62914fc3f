"""Random formulas that count: oracle, hard attention and the network agree in every regime that can."""

from __future__ import annotations

import re
from collections import Counter
from typing import Literal

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from hardsim.checking.compare import Judge
from hardsim.checking.subject import ModelOptions, Subject, compile_file
from hardsim.errors import Unsupported
from hardsim.lang import ast
from hardsim.lang.parse import parse_expression
from hardsim.lang.pretty import format_formula
from hardsim.spec.regimes import PROVEN, REGIMES
from tests.counting_strategies import ALL_SIDES, counting_formulas
from tests.strategies import all_words

pytestmark = pytest.mark.sweep

LOOK_UP = tuple(name for name in PROVEN if REGIMES[name].look_up[0])


def agree(subject: Subject, longest: int) -> None:
    judge = Judge(subject)
    for word in all_words("ab", longest):
        found = judge.evaluate(word)
        assert found.mismatch is None
        assert found.margin is None or found.margin > 0


def agree_at_random(
    regime: str,
    counting: Literal["lookup", "sign"],
    formulas: st.SearchStrategy[ast.Formula],
    longest: int,
    wanted: int,
) -> None:
    """`wanted` random formulas on all words to a length; at most a third of those drawn may be refused."""
    seen: Counter[str] = Counter()

    @settings(
        max_examples=wanted,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    @given(formulas, st.booleans())
    def each(formula: ast.Formula, first: bool) -> None:
        at: Literal["first", "last"] = "first" if first and not REGIMES[regime].causal else "last"
        file = ast.FormulaFile(("a", "b"), formula, at=at)
        try:
            subject = compile_file(file, ModelOptions(regime, counting=counting))
        except Unsupported:
            seen["refused"] += 1
            assume(False)
            raise
        seen["compiled"] += 1
        agree(subject, longest)

    each()
    assert seen["compiled"] >= wanted
    assert 2 * seen["refused"] <= seen["compiled"]


def by_look_up(regime: str) -> st.SearchStrategy[ast.Formula]:
    return counting_formulas("ab", sides=("L",) if REGIMES[regime].causal else ALL_SIDES)


@st.composite
def one_kind(draw: st.DrawFn, regime: str) -> ast.Formula:
    """Comparisons of counts of one kind, which the sign test takes; now and then beside a temporal operator.

    Positions (a #L) and lengths (a #) become counts of `true` of that kind.
    """
    side = "L" if REGIMES[regime].causal else draw(st.sampled_from(ALL_SIDES))
    text = format_formula(draw(counting_formulas("ab", sides=(side,), predicates=False)))
    return parse_expression(re.sub(r"\b(pos|len)\b", f"#{side}[true]", text), ["a", "b"]).formula


@pytest.mark.parametrize("regime", LOOK_UP)
def test_random_counting_formulas_agree_to_length_5(regime: str) -> None:
    agree_at_random(regime, "lookup", by_look_up(regime), 5, 8)


@pytest.mark.slow
@pytest.mark.parametrize("regime", LOOK_UP)
def test_many_random_counting_formulas_agree_to_length_8(regime: str) -> None:
    agree_at_random(regime, "lookup", by_look_up(regime), 8, 60)


@pytest.mark.parametrize("regime", PROVEN)
def test_random_comparisons_agree_by_the_sign_test_to_length_5(regime: str) -> None:
    agree_at_random(regime, "sign", one_kind(regime), 5, 8)


@pytest.mark.slow
@pytest.mark.parametrize("regime", PROVEN)
def test_many_random_comparisons_agree_by_the_sign_test_to_length_8(regime: str) -> None:
    agree_at_random(regime, "sign", one_kind(regime), 8, 60)


def test_the_formulas_are_not_the_same_few() -> None:
    """Most programs drawn have heads that count."""
    kinds: Counter[str] = Counter()

    @settings(max_examples=60, deadline=None, database=None, derandomize=True)
    @given(by_look_up("temperature"))
    def each(formula: ast.Formula) -> None:
        try:
            subject = compile_file(ast.FormulaFile(("a", "b"), formula), ModelOptions())
        except Unsupported:
            return
        kinds.update({head.kind.value for head in subject.program.heads})
        kinds["all"] += 1

    each()
    assert kinds["lookup"] >= kinds["all"] / 3
    assert kinds["table"] >= 3
