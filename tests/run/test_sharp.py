"""Rows of which only a few keys matter: what is left out is negligible, and enclosures still hold the true value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from hardsim.lang.arith import parse_arith
from hardsim.net.model import Matrix, Transformer
from hardsim.run import forward as forward_module
from hardsim.run.arithmetic import Column, Value
from hardsim.run.ball import BallArithmetic, lower, upper
from hardsim.run.exponentials import Exponentials, whole
from hardsim.run.forward import Forward
from hardsim.run.mp import MpArithmetic
from hardsim.run.plan import HeadPlan, make_plan
from hardsim.run.sharp import SharpHead, enclosed, spread
from hardsim.run.weights import seen_matrix
from hardsim.spec.ir import Mask
from tests.networks import ALPHABET, EXTREME, context, dense_forward, number, one_head, transformers

pytestmark = pytest.mark.sweep

BITS = 24
CUTOFF = BallArithmetic(BITS).negligible
"""29 nats: 7 (24 + 16)/10 + 1."""


def sharp_head(arithmetic: Any, n: int, mask: Mask = Mask.NONE) -> SharpHead[Any]:
    """Logits x_i y_j, x the coordinate 0 and y the coordinate 1, at temperature 1."""
    plan = HeadPlan("h", mask, ((((0, 1),), ((1, 1),)),), (), frozenset(), (0,), (1,), False, False)
    return SharpHead(plan, Exponentials(arithmetic), [Fraction(1)] * n, seen_matrix(mask, n, False))


def kept(keys: Sequence[Value], arithmetic: Any, mask: Mask = Mask.NONE, query: Value = 1) -> list[list[int]]:
    """The keys that matter to each query."""
    columns = [Column([query] * len(keys)), Column(list(keys), exact=False)]
    return [row.keys for row in sharp_head(arithmetic, len(keys), mask).rows(columns, range(len(keys)))]


def test_the_cutoff_is_as_stated() -> None:
    assert CUTOFF == 29


def test_keys_far_below_the_best_are_left_out() -> None:
    # The last logit is the best; a nat beyond the cutoff is allowed for rounding.
    keys = [Fraction(-2), 70 - CUTOFF - 2, 70 - CUTOFF, 69, 70]
    assert kept(keys, BallArithmetic(BITS))[0] == [2, 3, 4]
    assert kept(keys, BallArithmetic(BITS), query=-1)[0] == [0]


def test_what_a_query_does_not_see_does_not_count() -> None:
    assert kept([0, 100, 5, 200], BallArithmetic(BITS), Mask.FUTURE) == [[0], [1], [1], [3]]


def test_an_enclosure_that_may_be_the_best_is_kept() -> None:
    wide, narrow = arb(0, 80), arb(0, 1)
    assert kept([wide, 70], BallArithmetic(BITS))[0] == [0, 1]
    assert kept([narrow, 70], BallArithmetic(BITS))[0] == [1]


@pytest.mark.parametrize("huge", [10**400, Fraction(10**400, 3), -(10**400), arb(10) ** 400, arb(0).log()])
def test_numbers_beyond_float64_leave_nothing_out(huge: Value) -> None:
    assert kept([huge, 0, 200], BallArithmetic(BITS))[0] == [0, 1, 2]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.fractions(-50, 50, max_denominator=97), min_size=1, max_size=6), st.fractions(-9, 9))
def test_no_key_that_matters_is_left_out(keys: list[Fraction], query: Fraction) -> None:
    logits = [query * key for key in keys]
    found = kept(keys, BallArithmetic(BITS), query=query)[0]
    assert {j for j, logit in enumerate(logits) if logit >= max(logits) - CUTOFF} <= set(found)
    assert not [j for j in found if logits[j] < max(logits) - CUTOFF - 2]


@settings(max_examples=60, deadline=None)
@given(transformers(), st.lists(st.sampled_from(ALPHABET), min_size=1, max_size=9), st.sampled_from([1, 3, 40, 4000]))
def test_sharp_rows_enclose_the_true_values(model: Transformer, word: list[str], sharpness: int) -> None:
    model = replace(model, temperature=parse_arith(f"1/{sharpness}"))
    expected = dense_forward(model, word)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forward_module, "SHARP", 0)
        arithmetic = BallArithmetic(60)
        pass_ = Forward(model, arithmetic)
        for _ in range(2):  # the second run takes remembered rows
            with arithmetic.precision():
                columns = pass_.run(word).columns
            for index, column in enumerate(columns):
                for i, value in enumerate(column.values):
                    if not isinstance(value, int | Fraction) and not value.is_finite():
                        continue
                    slack = max(1, abs(expected[i][index])) * context.mpf(10) ** -40
                    assert number(lower(value)) - slack <= expected[i][index] <= number(upper(value)) + slack


@settings(max_examples=60, deadline=None)
@given(transformers(), st.lists(st.sampled_from(ALPHABET), min_size=1, max_size=9), st.sampled_from([1, 3, 40]))
def test_sharp_rows_agree_with_the_definition(model: Transformer, word: list[str], sharpness: int) -> None:
    model = replace(model, temperature=parse_arith(f"1/{sharpness}"))
    expected = dense_forward(model, word)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forward_module, "SHARP", 0)
        trace = Forward(model, MpArithmetic(50)).run(word)
    for index, column in enumerate(trace.columns):
        for i, value in enumerate(column.values):
            found = number(value) if isinstance(value, int | Fraction) else value
            assert abs(found - expected[i][index]) <= max(1, abs(expected[i][index])) * context.mpf(10) ** -35


def test_a_network_of_low_temperature_runs_sharply(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    rows = SharpHead.rows

    def watched(*given: Any) -> Any:
        asked.append(1)
        return rows(*given)

    monkeypatch.setattr(SharpHead, "rows", watched)
    for tau, sharp in (("1", False), ("1/1000000", True)):
        asked.clear()
        Forward(replace(one_head(), temperature=parse_arith(tau)), MpArithmetic(30)).run("ba")
        assert bool(asked) is sharp


def test_spread_bounds_the_distance_of_values() -> None:
    balls, mps = BallArithmetic(100), MpArithmetic(30)
    assert spread(balls, [Fraction(1, 3), 2, -1]) == 3
    found = spread(balls, [arb(0, 1), arb(5), 2])
    assert found is not None
    assert 6 <= found <= 6 + Fraction(1, 10**6)
    third = spread(mps, [mps.number(Fraction(1, 3)), 0])
    assert third is not None
    assert Fraction(1, 3) <= third <= Fraction(1, 3) + Fraction(1, 10**12)
    assert spread(balls, [arb(10) ** 400, 0]) is None
    assert spread(balls, [arb(0).log(), 0]) is None


@given(st.one_of(st.integers(), st.fractions(), st.floats(allow_nan=False, allow_infinity=False).map(Fraction)))
def test_float_enclosures_hold_exact_values(value: int | Fraction) -> None:
    middle, radius = enclosed(BallArithmetic(BITS), value)
    assert not np.isfinite(middle) or abs(Fraction(middle) - value) <= Fraction(radius)


@given(st.lists(st.fractions(), min_size=1, max_size=4))
def test_vectors_over_a_common_denominator(values: list[Fraction]) -> None:
    numerators, unit = whole(values)
    assert [Fraction(numerator, unit) for numerator in numerators] == values


def test_an_exponential_is_computed_once() -> None:
    asked: list[Any] = []

    class Watching(MpArithmetic):
        def exp(self, logit: Any) -> Any:
            asked.append(logit)
            return super().exp(logit)

    exponentials = Exponentials(Watching(30))
    half, two = whole([Fraction(1, 2), 3]), whole([4, Fraction(1, 3)])
    assert exponentials.product(half, two) == exponentials.product(two, half) == exponentials.arithmetic.exp(3)
    assert asked == [3, 3]
    exponentials.product(half, half)
    assert asked[2:] == [Fraction(37, 4)]


@given(EXTREME)
def test_enclosures_of_extreme_rationals(value: Fraction) -> None:
    middle, radius = enclosed(BallArithmetic(64), value)
    assert not np.isfinite(radius) or abs(Fraction(middle) - value) <= Fraction(radius)


@pytest.mark.parametrize("temperature", ["2^1023", "1/2^1060", "10^307", "1/10^400"])
def test_temperatures_that_no_float_holds_leave_nothing_out(temperature: str) -> None:
    """Scores of 10^300 and more, so that only exact products tell which logits are far apart."""
    model = one_head(temperature)
    (layer,) = model.layers
    loud = tuple(replace(head, w_q=Matrix.of(1, 4, {(0, 1): Fraction(10) ** 310})) for head in layer.heads)
    hostile = replace(model, layers=(replace(layer, heads=loud),))
    plan = make_plan(hostile).layers[0].heads[0]
    inverse = [hostile.inverse_temperature(i, 3) for i in range(1, 4)]
    head = SharpHead(plan, Exponentials(BallArithmetic(64)), inverse, seen_matrix(Mask.FUTURE, 3, False))
    columns = [Column([0, 1, 1]), Column([1, 2, 3]), Column([0] * 3), Column([0] * 3)]
    assert [len(row.keys) for row in head.rows(columns, range(3))] == [1, 2, 3]
