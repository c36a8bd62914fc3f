"""Random formulas: the oracle, hard attention and the network agree in every regime that has a construction."""

import re
from collections import Counter
from typing import Literal

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from hardsim.lang import ast
from tests.support.check import ModelOptions, compile_formula
from tests.support.counting_strategies import ALL_SIDES, counting_formulas
from tests.support.language import Unsupported, format_formula, parse_expression
from tests.support.model import PROVEN, REGIMES
from tests.support.strategies import all_words, formulas
from tests.support.subjects import agree


@pytest.mark.sweep
@pytest.mark.parametrize("regime", PROVEN)
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_random_formulas_agree_to_length_6(regime: str, data: st.DataObject) -> None:
    """All engines agree on a random formula of depth 4, at either end, with one head a layer or several."""
    formula = data.draw(formulas("ab", 4, future=not REGIMES[regime].causal))
    file = ast.FormulaFile(("a", "b"), formula, at=data.draw(st.sampled_from(["first", "last"])))
    subject = compile_formula(file, ModelOptions(regime, single_head=data.draw(st.booleans())))
    agree(subject, all_words("ab", 6))


# ---- formulas that count ----


LOOK_UP = tuple(name for name in PROVEN if REGIMES[name].look_up[0])


def agree_at_random(
    regime: str, counting: Literal["lookup", "sign"], drawn: st.SearchStrategy[ast.Formula], longest: int, expected: int
) -> None:
    """Compare `expected` random formulas on all words up to a length; at most a third of those drawn may be
    refused.
    """
    seen: Counter[str] = Counter()

    @settings(
        max_examples=expected,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    @given(drawn, st.booleans())
    def each(formula: ast.Formula, first: bool) -> None:
        at: Literal["first", "last"] = "first" if first and not REGIMES[regime].causal else "last"
        file = ast.FormulaFile(("a", "b"), formula, at=at)
        try:
            subject = compile_formula(file, ModelOptions(regime, counting=counting))
        except Unsupported:
            seen["refused"] += 1
            assume(False)
            raise
        seen["compiled"] += 1
        agree(subject, all_words("ab", longest))

    each()
    assert seen["compiled"] >= expected
    assert 2 * seen["refused"] <= seen["compiled"]


def by_look_up(regime: str) -> st.SearchStrategy[ast.Formula]:
    return counting_formulas("ab", sides=("L",) if REGIMES[regime].causal else ALL_SIDES)


@st.composite
def one_kind(draw: st.DrawFn, regime: str) -> ast.Formula:
    """Draw comparisons of counts of one kind, which the sign test takes; now and then beside a temporal operator.

    Positions (a #L) and lengths (a #) become counts of `true` of that kind.
    """
    side = "L" if REGIMES[regime].causal else draw(st.sampled_from(ALL_SIDES))
    text = format_formula(draw(counting_formulas("ab", sides=(side,), predicates=False)))
    return parse_expression(re.sub(r"\b(pos|len)\b", f"#{side}[true]", text), ["a", "b"]).formula


SIZES = pytest.mark.parametrize(("longest", "expected"), [(5, 8), pytest.param(8, 60, marks=pytest.mark.slow)])


@pytest.mark.sweep
@SIZES
@pytest.mark.parametrize("regime", LOOK_UP)
def test_random_counting_formulas_agree(regime: str, longest: int, expected: int) -> None:
    agree_at_random(regime, "lookup", by_look_up(regime), longest, expected)


@pytest.mark.sweep
@SIZES
@pytest.mark.parametrize("regime", PROVEN)
def test_random_comparisons_agree_by_the_sign_test(regime: str, longest: int, expected: int) -> None:
    agree_at_random(regime, "sign", one_kind(regime), longest, expected)


def test_the_formulas_are_not_the_same_few() -> None:
    """Most programs drawn have heads that count."""
    kinds: Counter[str] = Counter()

    @settings(max_examples=60, deadline=None, database=None, derandomize=True)
    @given(by_look_up("temperature"))
    def each(formula: ast.Formula) -> None:
        try:
            subject = compile_formula(ast.FormulaFile(("a", "b"), formula), ModelOptions())
        except Unsupported:
            return
        kinds.update({str(head.kind) for head in subject.program.heads})
        kinds["all"] += 1

    each()
    assert kinds["lookup"] >= kinds["all"] / 3
    assert kinds["table"] >= 3
