"""Certified float64: every enclosure contains the value of balls, on random networks and on formulas."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hardsim.network.integers import Exact
from hardsim.run import float_attention
from hardsim.run.ball import lower, upper
from hardsim.run.enclosure import Block, bits, fixed
from hardsim.run.float64 import BatchTrace, FloatForward, affine, ranked
from hardsim.run.float_rows import Views
from hardsim.run.soft import SoftTrace, rounded
from hardsim.run.unrounded import unrounded_output
from tests.support.check import FormulaTarget
from tests.support.counting_strategies import counting_formulas
from tests.support.language import Undecided, Unsupported, format_formula, parse_arith
from tests.support.model import PROVEN, FeedForward, Layer, Matrix, SoftModel, Transformer
from tests.support.networks import (
    ALPHABET,
    EXTREME,
    clipped_at,
    context,
    fraction,
    hostile_transformers,
    one_head,
    transformers,
)
from tests.support.strategies import formulas
from tests.support.subjects import compiled

SLACK = Fraction(1, 10**25)
"""A number above the width of a ball (at least 128 bits) and far below that of a float enclosure."""


def contains(low: Any, high: Any, value: Any) -> bool:
    """Return True if two floats enclose a rational or a ball; an infinite float bounds nothing."""
    above = not np.isfinite(low) or Fraction(float(low)) - SLACK * scale(value) <= lower(value)
    return above and (not np.isfinite(high) or upper(value) <= Fraction(float(high)) + SLACK * scale(value))


def scale(value: Any) -> Fraction:
    return max(Fraction(1), abs(upper(value)))


def assert_contains(trace: BatchTrace, row: int, ball: SoftTrace, model: Transformer) -> None:
    """Assert that the enclosures of a decided row of a batch contain the ball trace."""
    answer = True if trace.accepted[row] else False if trace.rejected[row] else None
    output = ball.output
    assert answer is rounded(output)
    assert contains(trace.output[0][row], trace.output[1][row], output)
    with ball.arithmetic.precision():
        unrounded = unrounded_output(ball.forward, ball.trace)
    for bounds, value in ((trace.unrounded, unrounded), (trace.margin, ball.trace.least_margin)):
        assert (bounds is None) == (value is None)
        if bounds is not None and value is not None:
            assert contains(bounds[0][row], bounds[1][row], value)
    pairs = [(block, ball.trace.columns[index]) for index, block in trace.columns.items()]
    for name, outs in ball.trace.attended.items():
        pairs += [(trace.attended[name][out], column) for out, column in outs.items()]
    for block, column in pairs:
        shared = row if block.mid.shape[0] > 1 else 0
        for i, value in enumerate(column.values):
            if not isinstance(value, int | Fraction) and not value.is_finite():
                continue
            if block.rad is None:
                assert contains(block.mid[shared, i], block.mid[shared, i], value)
            elif np.isfinite(block.rad[shared, i]):
                middle, radius = Fraction(float(block.mid[shared, i])), Fraction(float(block.rad[shared, i]))
                assert middle - radius - SLACK * scale(value) <= lower(value)
                assert upper(value) <= middle + radius + SLACK * scale(value)
    assert model.output < len(trace.columns)


def compare(model: Transformer, words: Sequence[Sequence[str]], limit: int = 1024) -> int:
    """Compare float64 with balls on words of one length; return the number of words that float64 decided."""
    forward, balls = FloatForward(model), SoftModel(model, limit=limit, rounds=True)
    places: list[int] = []
    decided = 0
    for trace, rows in forward.passes(words):
        for row, place in rows:
            places.append(int(place))
            if not trace.decided[row]:
                continue
            decided += 1
            try:
                ball = balls.run(words[place])
            except Undecided:
                continue
            assert_contains(trace, row, ball, model)
    assert sorted(places) == list(range(len(words)))
    return decided


@st.composite
def batches(draw: st.DrawFn) -> list[tuple[str, ...]]:
    n = draw(st.integers(1, 7))
    return draw(st.lists(st.tuples(*[st.sampled_from(ALPHABET)] * n), min_size=1, max_size=4))


@given(transformers(), batches())
def test_enclosures_contain_the_balls_on_random_networks(model: Transformer, words: list[tuple[str, ...]]) -> None:
    compare(model, words)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(hostile_transformers(), batches())
def test_enclosures_contain_the_balls_beyond_the_ends_of_float64(
    model: Transformer, words: list[tuple[str, ...]]
) -> None:
    compare(model, words, 6000)


def subjects(text: str, alphabet: str, beta: Fraction | None = None) -> list[FormulaTarget]:
    """Return the formula compiled in every regime that has a construction, and in `none`."""
    found = []
    for regime in (*PROVEN, "none"):
        try:
            found.append(compiled(text, regime, beta, alphabet))
        except Unsupported:
            continue
    assert found
    return found


def sample(alphabet: str, n: int, how_many: int) -> list[tuple[str, ...]]:
    """Return words spread over all words of a length, the extremes among them."""
    total = len(alphabet) ** n
    numbers = {round(k * (total - 1) / max(1, how_many - 1)) for k in range(how_many)}
    return [
        tuple(alphabet[number // len(alphabet) ** k % len(alphabet)] for k in range(n)) for number in sorted(numbers)
    ]


@pytest.mark.sweep
@pytest.mark.parametrize("beta", [None, Fraction(1, 2)])
@pytest.mark.parametrize(
    "text",
    [
        "(Y a) | (X b)",
        "WY (a & !b) -> O b",
        "H (a -> X (b U a))",
        "(a S b) ^ (G a)",
        "(a T b) & F (b M a)",
        "(a W b) R a",
        "#L[a] >= #L[b]",
        "2 * #[a] = #L[b] + #R[a] + 1",
        "ODD(#[a]) & EVEN(pos)",
        "PRIME(#L[Y a]) | MOD(3, 1, len)",
    ],
)
def test_enclosures_contain_the_balls_on_formulas(text: str, beta: Fraction | None) -> None:
    for subject in subjects(text, "ab", beta):
        for n in (1, 2, 4, 9):
            decided = compare(subject.model, sample("ab", n, 5))
            if beta is None and subject.facts.regime != "none":
                assert decided == len(sample("ab", n, 5))


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.one_of(formulas("ab", 3), counting_formulas("ab")), st.sampled_from(["temperature", "position"]), batches())
def test_enclosures_contain_the_balls_on_random_formulas(formula: Any, regime: str, words: list[Any]) -> None:
    subject = compiled(format_formula(formula), regime, letters="abc")
    assert compare(subject.model, words) == len(words)


@pytest.mark.parametrize("regime", PROVEN)
def test_long_words_in_which_the_weights_underflow(regime: str) -> None:
    subject = compiled("a S b", regime, letters="abc")
    words = ["a" * 64, "b" + "a" * 63, "c" * 3 + "b" + "a" * 60, "cab" * 21 + "a"]
    assert compare(subject.model, [tuple(word) for word in words]) == len(words)


@pytest.mark.parametrize("text", ["a S b", "#L[a] > 2", "ODD(#[a])", "Y a"])
def test_the_three_ways_agree(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (subject, *_) = subjects(text, "ab")
    words = [tuple(word) for word in product("ab", repeat=6)]
    usual = list(FloatForward(subject.model).passes(words))
    monkeypatch.setattr(float_attention, "MOST_BOOLEANS", -1)
    monkeypatch.setattr(float_attention, "LARGEST_CODE", 0)
    dense = list(FloatForward(subject.model).passes(words))
    for (one, _), (other, _) in zip(usual, dense, strict=True):
        assert one.decided.all()
        assert (one.accepted == other.accepted).all()
        for name, outs in one.attended.items():
            for out, block in outs.items():
                twin = other.attended[name][out]
                assert (np.abs(block.mid - twin.mid) <= block.radius + twin.radius).all()
                assert (block.radius < 1e-9).all()
                assert (twin.radius < 1e-9).all()


def test_a_network_at_another_temperature_is_the_same_as_one_made_anew() -> None:
    model = compiled("(a S b) & ODD(#[a])").model
    words = [tuple(word) for word in product("ab", repeat=5)]
    first = FloatForward(model)
    for tau in ("1/n", "1/3", "2/i", "1/(9*n)"):
        first.trace(words)
        schedule = parse_arith(tau)
        shared, fresh = first.at_temperature(schedule), FloatForward(replace(model, temperature=schedule))
        for some in (words, [word[:3] for word in words]):  # what is shared is of one length
            one, other = shared.trace(some), fresh.trace(some)
            bare = shared.run(shared.symbols(some), soft=True, unrounded=False)
            assert one.margin is not None
            assert other.margin is not None
            for pair in zip((*one.output, *one.margin), (*other.output, *other.margin), strict=True):
                assert np.array_equal(*pair)
            assert np.array_equal(bare.decided, one.decided)
            assert np.array_equal(bare.output, one.output)
        first = shared


def test_results_do_not_depend_on_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    (subject, *_) = subjects("ODD(#[a]) & (a S b)", "ab")
    words = [tuple(word) for word in product("ab", repeat=5)]
    ((whole, _),) = FloatForward(subject.model).passes(words)
    monkeypatch.setattr("hardsim.run.float64.BATCH", 35)  # 7 words
    parts = list(FloatForward(subject.model).passes(words))
    assert [trace.words for trace, _ in parts] == [7, 7, 7, 7, 4]
    assert (np.concatenate([trace.accepted for trace, _ in parts]) == whole.accepted).all()


@pytest.mark.parametrize(("step", "decided"), [("1e-6", True), ("-1e-6", True), ("1e-17", False), ("-1e-17", False)])
def test_what_float64_cannot_tell_is_undecided_and_balls_can(step: str, decided: bool) -> None:
    model = clipped_at(fraction(1 / (1 + context.exp(-6))) - Fraction(step))  # what is read over `ba` less the step
    ((trace, rows),) = FloatForward(model).passes(["ba"])
    assert rows.tolist() == [[0, 0]]
    assert bool(trace.decided[0]) is decided
    expected = None if Fraction(step) > 0 else False
    assert rounded(SoftModel(model, rounds=True).run("ba").output) is expected
    if decided:
        assert bool(trace.rejected[0]) is (expected is False)
        assert not trace.accepted[0]


def test_only_the_words_that_need_it_are_run_again() -> None:
    (subject, *_) = subjects("a S b", "abc", Fraction(1, 2))
    words = [tuple(word) for word in ("ba", "ca", "cb", "bb")]
    passes = list(FloatForward(subject.model).passes(words))
    # At beta = 1/2 the head reads e^(3/4) / (1 + e^(3/4)) = 0.679 over ba, in between, and less than 1/4 over ca.
    assert all(trace.decided[rows[:, 0]].all() for trace, rows in passes)
    trace, row = {int(place): (trace, int(row)) for trace, rows in passes for row, place in rows}[0]
    assert not trace.accepted[row]
    assert not trace.rejected[row]
    middle = 2 * float(context.exp(0.75) / (1 + context.exp(0.75))) - 0.5
    assert trace.output[0][row] < middle + 1e-12
    assert trace.output[1][row] > middle - 1e-12
    assert trace.output[1][row] - trace.output[0][row] < 1e-12


def test_numbers_beyond_float64_decide_nothing_and_raise_nothing() -> None:
    model = one_head()
    layer = model.layers[0]
    (clip,) = layer.ffn.units
    relu = replace(clip, bias=Fraction(10) ** 400, clip=False)
    loud = FeedForward((relu, replace(relu, outs=tuple((out, -weight) for out, weight in relu.outs))))
    ((trace, _),) = FloatForward(replace(model, layers=(Layer(layer.heads, loud),))).passes(["ba"])
    assert not trace.decided.any()
    steep = replace(layer.heads[0], w_q=replace(layer.heads[0].w_q, entries=((0, 1, Fraction(10) ** 400),)))
    ((trace, _),) = FloatForward(replace(model, layers=(Layer((steep,), layer.ffn),))).passes(["ba"])
    assert not trace.decided.any()


@pytest.mark.parametrize("way", ["types", "look-up", "dense"])
def test_the_radius_of_the_values_reaches_the_mean(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With values anywhere within 1 of 3, the mean may be anywhere within 1 of 3."""
    n = 4
    head = one_head().layers[0].heads[0]
    if way == "dense":
        monkeypatch.setattr(float_attention, "MOST_BOOLEANS", -1)
    blocks = [fixed([0] * n), fixed([1, 2, 3, 4]), fixed([0] * n), fixed([0] * n)]
    value = Block(
        np.full((1, n), 3.0), np.full((1, n), 1.0), static=Exact.row([2, 4, 2, 4], 1) if way == "look-up" else None
    )
    if way == "look-up":
        blocks[1] = bits(np.array([[1.0, 0.0, 1.0, 1.0]]), "query")  # by a code
        head = replace(head, w_q=Matrix.of(1, 4, {(0, 1): 1}), w_k=Matrix.of(1, 4, {(0, 0): 1}))
    with np.errstate(all="ignore"):
        (found,) = float_attention.HeadPass(head, [Fraction(1)] * n, Views(head.mask, n)).attend(blocks, [value])
    assert found.rad is not None
    for middle, radius in zip(found.mid[0], found.rad[0], strict=True):
        assert middle - radius <= 2
        assert 4 <= middle + radius < 4.001


def test_ranks_of_what_has_no_bounds_are_unknown() -> None:
    bounds = [(np.array([1.0, 1.0]), np.array([2.0, 2.0])) for _ in range(3)]
    bounds[1] = np.array([np.nan, 0.0]), np.array([np.nan, 1.0])
    for rank in (1, 2, 3):
        low, high = ranked(bounds, rank)
        assert np.isnan([low[0], high[0]]).all()
        assert (low[1], high[1]) == ((0.0, 1.0) if rank == 3 else (1.0, 2.0))


@given(st.fractions(-9, 9, max_denominator=8), st.one_of(EXTREME, st.just(Fraction(2))), EXTREME)
def test_multiples_of_bounds_by_extreme_rationals(value: Fraction, factor: Fraction, shift: Fraction) -> None:
    near = np.array([float(value)])
    with np.errstate(all="ignore"):
        low, high = affine((near, near), factor, shift)
    exact = factor * value + shift
    assert not np.isfinite(low[0]) or Fraction(float(low[0])) <= exact
    assert not np.isfinite(high[0]) or exact <= Fraction(float(high[0]))
