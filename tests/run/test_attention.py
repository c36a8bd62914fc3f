"""Rows in which only a few keys matter: the omitted weight is negligible, and enclosures still contain the true
value.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from hardsim.network.transformer import AttentionHead
from hardsim.run import attention
from hardsim.run.arithmetic import Column, Value
from hardsim.run.attention import WordHead, enclosed, exponentials, spread, whole
from hardsim.run.ball import lower, upper
from hardsim.run.float_rows import Views
from tests.support.language import parse_arith
from tests.support.model import BallArithmetic, Forward, Mask, Matrix, MpArithmetic, Transformer
from tests.support.networks import ALPHABET, EXTREME, context, dense_forward, number, one_head, transformers

BITS = 24
CUTOFF = BallArithmetic(BITS).negligible
"""29 nats: 7 (24 + 16)/10 + 1."""


def kept(keys: Sequence[Value], arithmetic: Any, mask: Mask = Mask.NONE, query: Value = 1) -> list[list[int]]:
    """Return the keys that matter to each query, for logits x_i y_j with x the coordinate 0 and y the coordinate 1."""
    n = len(keys)
    own = AttentionHead("h", mask, Matrix.of(1, 2, {(0, 0): 1}), Matrix.of(1, 2, {(0, 1): 1}), Matrix((2, 2)))
    head = WordHead(own, arithmetic, exponentials(arithmetic), [Fraction(1)] * n, Views(mask, n))
    return [row.keys for row in head.rows([Column([query] * n), Column(list(keys), exact=False)])]


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


@given(st.lists(st.fractions(-50, 50, max_denominator=97), min_size=1, max_size=6), st.fractions(-9, 9))
def test_no_key_that_matters_is_left_out(keys: list[Fraction], query: Fraction) -> None:
    logits = [query * key for key in keys]
    found = kept(keys, BallArithmetic(BITS), query=query)[0]
    assert {j for j, logit in enumerate(logits) if logit >= max(logits) - CUTOFF} <= set(found)
    assert not [j for j in found if logits[j] < max(logits) - CUTOFF - 2]


@given(transformers(), st.lists(st.sampled_from(ALPHABET), min_size=1, max_size=9), st.sampled_from([1, 3, 40, 4000]))
def test_sharp_rows_enclose_the_true_values(model: Transformer, word: list[str], sharpness: int) -> None:
    model = replace(model, temperature=parse_arith(f"1/{sharpness}"))
    expected = dense_forward(model, word)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attention, "FEW", 0)
        arithmetic = BallArithmetic(60)
        pass_ = Forward(model, arithmetic)
        for _ in range(2):  # the second run takes remembered exponentials
            with arithmetic.precision():
                columns = pass_.run(word).columns
            for index, column in enumerate(columns):
                for i, value in enumerate(column.values):
                    if not isinstance(value, int | Fraction) and not value.is_finite():
                        continue
                    slack = max(1, abs(expected[i][index])) * context.mpf(10) ** -40
                    assert number(lower(value)) - slack <= expected[i][index] <= number(upper(value)) + slack


@given(transformers(), st.lists(st.sampled_from(ALPHABET), min_size=1, max_size=9), st.sampled_from([1, 3, 40]))
def test_sharp_rows_agree_with_the_definition(model: Transformer, word: list[str], sharpness: int) -> None:
    model = replace(model, temperature=parse_arith(f"1/{sharpness}"))
    expected = dense_forward(model, word)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attention, "FEW", 0)
        trace = Forward(model, MpArithmetic(50)).run(word)
    for index, column in enumerate(trace.columns):
        for i, value in enumerate(column.values):
            found = number(value) if isinstance(value, int | Fraction) else value
            assert abs(found - expected[i][index]) <= max(1, abs(expected[i][index])) * context.mpf(10) ** -35


def test_keys_are_left_out_of_long_rows_only(monkeypatch: pytest.MonkeyPatch) -> None:
    dropped: list[int] = []

    class Watching(MpArithmetic):
        def widened(self, mean: Any, dropped_: int, spread: Any) -> Any:
            dropped.append(dropped_)
            return super().widened(mean, dropped_, spread)

    for tau, word, some in (("1", "ba", False), ("1/1000000", "ba", False), ("1/1000000", "ba" * 5, True)):
        dropped.clear()
        Forward(replace(one_head(), temperature=parse_arith(tau)), Watching(30)).run(word)
        assert bool(dropped) is some


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
    requested: list[Any] = []

    class Watching(MpArithmetic):
        def exp(self, logit: Any) -> Any:
            requested.append(logit)
            return super().exp(logit)

    product = exponentials(Watching(30))
    half, two = whole([Fraction(1, 2), 3]), whole([4, Fraction(1, 3)])
    assert product(half, two) == product(two, half)
    assert requested == [3]
    product(half, half)
    assert requested[1:] == [Fraction(37, 4)]


@given(EXTREME)
def test_enclosures_of_extreme_rationals(value: Fraction) -> None:
    middle, radius = enclosed(BallArithmetic(64), value)
    assert not np.isfinite(radius) or abs(Fraction(middle) - value) <= Fraction(radius)


@pytest.mark.parametrize(
    ("temperature", "kept"),
    [("2^1023", [1, 1, 1]), ("10^307", [1, 1, 1]), ("1/2^1060", [1, 2, 3]), ("1/10^400", [1, 2, 3])],
)
def test_logits_that_no_float_holds_leave_nothing_out(temperature: str, kept: list[int]) -> None:
    """Scores of 10^310 and more: logits of hundreds at the first two temperatures, beyond float64 at the others."""
    model = one_head(temperature)
    (layer,) = model.layers
    loud = tuple(replace(head, w_q=Matrix.of(1, 4, {(0, 1): Fraction(10) ** 310})) for head in layer.heads)
    hostile = replace(model, layers=(replace(layer, heads=loud),))
    own = hostile.layers[0].heads[0]
    inverse = [hostile.inverse_temperature(i, 3) for i in range(1, 4)]
    arithmetic = BallArithmetic(64)
    head = WordHead(own, arithmetic, exponentials(arithmetic), inverse, Views(Mask.FUTURE, 3))
    columns = [Column([0, 1, 1]), Column([1, 2, 3]), Column([0] * 3), Column([0] * 3)]
    assert [len(row.keys) for row in head.rows(columns)] == kept
