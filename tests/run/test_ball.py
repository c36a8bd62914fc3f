"""Ball arithmetic: enclosures, outward rounding, settled clips, and the limit of precision."""

from dataclasses import replace
from fractions import Fraction
from math import inf, isfinite
from typing import Any

import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from hardsim.run.arithmetic import Column
from hardsim.run.ball import TINY, bound_of, lower, upper
from hardsim.run.forward import HALF, Trace
from hardsim.run.forward import margin as margin_of
from hardsim.run.forward import settled as is_settled
from hardsim.run.soft import ROUNDING_LIMIT, SoftTrace, bounds, output_settled, rounded, side
from tests.support.language import InputError, Undecided, parse_arith
from tests.support.model import BallArithmetic, FeedForward, Forward, Kind, Layer, Matrix, SoftModel, Transformer
from tests.support.networks import ALPHABET, clipped_at, context, dense_forward, fraction, one_head, transformers
from tests.support.subjects import compiled

SLACK = Fraction(1, 10**45)
"""A bound on the error of the dense pass with 60 digits on these networks, times two."""


def ball_run(model: Transformer, word: Any, limit: int | None = None) -> SoftTrace:
    """Run one word in balls."""
    return SoftModel(model, limit=limit, rounds=True).run(word)


@given(transformers(), st.lists(st.sampled_from(ALPHABET), min_size=1, max_size=10), st.sampled_from([30, 128]))
def test_balls_contain_the_values_of_the_definition(model: Transformer, word: list[str], bits: int) -> None:
    expected = dense_forward(model, word)
    arithmetic = BallArithmetic(bits)
    forward = Forward(model, arithmetic)
    for _ in range(2):  # the second run takes remembered exponentials
        with arithmetic.precision():
            trace = forward.run(word)
        for index, column in enumerate(trace.columns):
            for i, value in enumerate(column.values):
                needed = fraction(expected[i][index])
                slack = SLACK * max(Fraction(1), abs(needed))
                if isinstance(value, int | Fraction):
                    assert abs(value - needed) <= slack
                elif value.is_finite():
                    assert lower(value) - slack <= needed <= upper(value) + slack
    assert ctx.prec == 53


@given(transformers(), st.lists(st.sampled_from(ALPHABET), min_size=1, max_size=8))
def test_a_settled_word_has_the_output_of_the_definition(model: Transformer, word: list[str]) -> None:
    try:
        found = ball_run(model, word, limit=1024)
    except Undecided:
        return
    expected = dense_forward(model, word)[-1][model.output]
    near = context.mpf(10) ** -40
    if rounded(found.output) is None:
        assert abs(expected) > 0
        assert abs(expected - 1) > 0
    else:
        assert abs(expected - int(rounded(found.output) is True)) < near


def test_the_ends_of_a_ball_are_exact_whatever_the_precision() -> None:
    arithmetic = BallArithmetic(200)
    with arithmetic.precision():
        third = arithmetic.number(Fraction(1, 3))
    assert ctx.prec == 53
    assert lower(third) < Fraction(1, 3) < upper(third)
    assert upper(third) - lower(third) < Fraction(1, 2**198)
    assert [lower(Fraction(2, 7)), upper(3)] == [Fraction(2, 7), Fraction(3)]
    assert lower(arb(3, "0.5")) <= Fraction(5, 2)


def test_tiny_ends_move_outwards() -> None:
    bound = Fraction(1, 2**TINY)
    small = (arb(-20_000)).exp()  # 2^-28854
    assert (lower(small), upper(small)) == (-bound, 2 * bound)  # radius and midpoint, each moved to the next bound
    assert lower(-small) == -2 * bound
    assert upper(arb(0)) == lower(arb(0)) == 0


@pytest.mark.parametrize("value", [arb("nan"), arb("inf"), arb(0, "inf"), arb(0, arb(2) ** 2_000_000)])
def test_what_has_no_bound_is_undecided(value: arb) -> None:
    with pytest.raises(Undecided, match="no bound"):
        upper(value)


def test_precision_is_restored_after_an_error() -> None:
    seen: list[int] = []

    def fail() -> None:
        with BallArithmetic(77).precision():
            seen.append(ctx.prec)
            raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        fail()
    assert seen == [77]
    assert ctx.prec == 53


@pytest.mark.parametrize(
    ("value", "clipped", "settled"),
    [
        (arb(-1), 0, True),
        (arb(0), 0, True),
        (arb(1), 1, True),
        (arb(3, 1), 1, True),
        (arb("0.5", "0.25"), (Fraction(1, 4), Fraction(3, 4)), True),
        (arb(0, "0.25"), (0, Fraction(1, 4)), False),
        (arb(1, "0.25"), (Fraction(3, 4), 1), False),
        (arb("0.5", 9), (0, 1), False),
        (arb("nan"), (0, 1), False),
    ],
)
def test_clips(value: arb, clipped: Any, settled: bool) -> None:
    found = BallArithmetic(64).clip(value)
    assert is_settled(value) is settled
    if isinstance(clipped, int):
        assert isinstance(found, int)
        assert found == clipped
    else:
        assert not isinstance(found, int)
        low, high = clipped
        assert low - Fraction(1, 2**28) <= lower(found) <= low
        assert high <= upper(found) <= high + Fraction(1, 2**28)


def test_relu_of_an_uncertain_sign_contains_both() -> None:
    arithmetic = BallArithmetic(64)
    assert arithmetic.relu(arb(-3, 1)) == 0
    found = arithmetic.relu(arb(0, 1))
    assert not isinstance(found, int)
    assert lower(found) <= 0
    assert upper(found) >= 1


@given(st.lists(st.tuples(st.integers(-8, 8), st.integers(0, 4)), min_size=1, max_size=5), st.data())
def test_order_statistics_and_margins_enclose_those_of_every_choice(
    pairs: list[tuple[int, int]], data: st.DataObject
) -> None:
    arithmetic = BallArithmetic(64)
    values = [arb(middle, radius) for middle, radius in pairs]
    chosen = [middle + data.draw(st.integers(-radius, radius)) for middle, radius in pairs]
    rank = data.draw(st.integers(1, len(pairs)))
    found = arithmetic.ranked(values, rank)
    assert lower(found) <= sorted(chosen, reverse=True)[rank - 1] <= upper(found)
    margin = min(Fraction(max(-z, z - 1), 2) for z in chosen)
    found = arithmetic.ranked([margin_of(value, arithmetic.number(HALF)) for value in values], len(values))
    assert lower(found) <= margin <= upper(found)


def test_order_statistics_of_an_unbounded_value_are_unbounded() -> None:
    assert not BallArithmetic(64).ranked([arb(1), arb("nan")], 1).is_finite()


def flat(threshold: Fraction) -> Transformer:
    """Return a network with equal weights that are balls: the key form is 0 in value, though not in structure."""
    model = clipped_at(threshold)
    head = replace(model.layers[0].heads[0], w_k=Matrix.of(1, 4, {(0, 3): 1}))
    return replace(model, layers=(Layer((head,), model.layers[0].ffn),))


def test_a_value_on_its_threshold_meets_the_limit() -> None:
    # Over baa the head reads 2/3, which is no dyadic rational, so its ball always contains the threshold.
    assert rounded(ball_run(flat(Fraction(1, 2)), "baa").output) is None
    with pytest.raises(Undecided, match="with 512 bits, the limit of the ball arithmetic, it is not certain"):
        ball_run(flat(Fraction(2, 3)), "baa", limit=512)
    assert ROUNDING_LIMIT >= 1024


def test_an_output_on_its_threshold_meets_the_limit() -> None:
    model = one_head()
    # The output coordinate is the value read, with no clip: values of 5/3, no dyadic rational, have the mean 1.
    linear = replace(flat(Fraction(1, 2)), output=2)
    third = replace(linear, layers=(Layer(linear.layers[0].heads, FeedForward()),))
    assert rounded(ball_run(third, "aba").output) is None
    scaled = replace(third.layers[0].heads[0], w_v=Matrix.of(4, 4, {(2, 0): Fraction(5, 3)}))
    with pytest.raises(Undecided, match="whether the output is 0, is 1, or is neither"):
        ball_run(replace(third, layers=(Layer((scaled,), third.layers[0].ffn),)), "ababa", limit=256)
    assert model.output == 3


def test_precision_is_doubled_until_a_narrow_margin_is_decided() -> None:
    # At i = 2 the value read is 1/(1 + e^-6): thresholds a hair below and above it, at 40 digits.
    context.dps = 60
    near = fraction(1 / (1 + context.exp(-6)))
    step = Fraction(1, 10**40)
    below, above = (ball_run(clipped_at(near + sign * step), "ba") for sign in (-1, 1))
    assert rounded(below.output) is None  # 2 step, strictly between 0 and 1
    assert rounded(above.output) is False
    assert below.bits == above.bits == 2 * SoftModel(one_head(), rounds=True).bits(2)
    with pytest.raises(Undecided, match="with 100 bits"):
        ball_run(clipped_at(near + step), "ba", limit=100)


def test_a_first_precision_may_be_chosen() -> None:
    assert SoftModel(one_head(), rounds=True, least=1000).run("ba").bits == 1000
    assert SoftModel(one_head(), rounds=True, least=8).run("ba").bits == SoftModel(one_head(), rounds=True).bits(2)


@pytest.mark.parametrize(
    ("value", "settled"),
    [(1, True), (Fraction(1, 2), True), (arb(1), True), (arb(1, "0.1"), False), (arb(3, 1), True), (arb("nan"), False)],
)
def test_when_an_output_is_settled(value: Any, settled: bool) -> None:
    assert output_settled(value) is settled


def test_a_temperature_of_zero_is_no_verdict() -> None:
    model = replace(one_head(), temperature=parse_arith("2 - n", ("i", "n"), "test"))
    with pytest.raises(InputError, match="is 0 at i = 2, n = 2"):
        ball_run(model, "ab")
    assert ctx.prec == 53


def looked_up(bits: int, cutoff: int | None = None) -> list[Any]:
    """Return the values of a look-up that may omit keys `cutoff` nats below the best (None: the usual cutoff)."""

    class Cut(BallArithmetic):
        @property
        def negligible(self) -> int:
            return super().negligible if cutoff is None else cutoff

    subject, arithmetic = compiled("#L[a] > #R[b]"), Cut(bits)
    head = next(head for head in subject.program.heads if head.kind is Kind.LOOKUP)
    with arithmetic.precision():
        trace = Forward(subject.model, arithmetic).run(("a", "b", "a", "a", "b", "a", "b", "b") * 2)
    return list(trace.attended[head.name][subject.model.coordinates.index(head.out)].values)


@pytest.mark.parametrize("bits", [16, 40, 128])
def test_weights_left_out_of_a_look_up_are_enclosed(bits: int) -> None:
    kept = 0
    for a, b in zip(looked_up(bits), looked_up(300, 10**9), strict=True):
        assert lower(a) <= lower(b)
        assert upper(b) <= upper(a)
        assert upper(a) - lower(a) < Fraction(2**18, 2**bits)
        kept += lower(a) != lower(b)
    assert kept > 0


@pytest.mark.parametrize("nats", [1, 3, 8])
def test_weights_of_any_size_may_be_left_out(nats: int) -> None:
    """With a cutoff so early that the omission shows, the enclosure grows by exactly that."""
    found = looked_up(128, nats)
    for a, b in zip(found, looked_up(128), strict=True):
        assert lower(a) <= lower(b)
        assert upper(b) <= upper(a)
    assert any(upper(a) - lower(a) > Fraction(1, 10**10) for a in found)


@pytest.mark.parametrize(
    "value", [arb.nan(), arb("inf"), arb("-inf"), arb(0, 1) / arb(0), arb("1 +/- inf"), arb(2) ** 2000], ids=str
)
def test_what_is_not_finite_decides_nothing(value: arb) -> None:
    arithmetic = BallArithmetic(53)
    middle, radius = arithmetic.approximate(value)
    assert isfinite(middle)
    assert radius == inf
    if value.is_finite():
        return
    assert not output_settled(value)
    with pytest.raises(Undecided):
        bounds(value)
    assert side(value, Fraction(1, 2)) is None
    subject = compiled("a")
    columns = [Column([value], exact=False)] * subject.model.dimension
    assert not subject.is_settled(Trace(columns))
    if not value.is_exact():
        assert not is_settled(value)
        clipped = arithmetic.clip(value)
        assert not isinstance(clipped, int)
        assert clipped.contains(0)
        assert clipped.contains(1)


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_bounds_of_theory_are_rounded_up(above: int, below: int) -> None:
    g = Fraction(above, below)
    found = bound_of(lambda rate, numbers: numbers.exp(-numbers.mpf(rate.numerator) / rate.denominator), g)
    with BallArithmetic(400).precision():
        exact = (-arb(above) / below).exp()
        assert found is not None
        assert upper(exact) <= found
        assert found <= upper(exact) * (1 + Fraction(1, 2**150)) or found <= Fraction(1, 2 ** (TINY - 1))


@pytest.mark.parametrize(
    ("value", "answer"),
    [(1, True), (arb(1), True), (arb(0), False), (Fraction(1, 2), None), (arb("0.5"), None), (arb(1, "1e-30"), None)],
    ids=str,
)
def test_an_exact_ball_answers_as_the_number_it_is(value: arb, answer: bool | None) -> None:
    """An output that balls find to be exactly 1 is a yes, whether it is stored as an integer or as a ball."""
    subject = compiled("a")
    columns = [Column([value], exact=False)] * subject.model.dimension
    assert subject.soft_answer(Trace(columns)) is answer
    assert subject.is_settled(Trace(columns)) is (answer is not None or value in (Fraction(1, 2), arb("0.5")))
