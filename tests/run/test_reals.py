"""Irrational temperatures and encodings, in every engine, compared with a pass by the definition."""

import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hardsim.campaign.evaluate import evaluate
from hardsim.lang.reals import Real
from hardsim.network.integers import Exact
from hardsim.run.ball import lower, upper
from hardsim.run.enclosure import near_row, rounded, rounded_row
from hardsim.run.mp import digits_needed
from hardsim.run.sizes import largest_inverse
from hardsim.targets.result import Answer
from tests.run.test_float_model import check
from tests.support.check import CheckOptions
from tests.support.language import InputError, SourceError, parse_arith
from tests.support.mistakes import raised
from tests.support.model import BallArithmetic, Forward, Mask, MpArithmetic, Transformer
from tests.support.networks import ALPHABET, dense_forward, transformers
from tests.support.reals import between, mp_value
from tests.support.subjects import compiled

TAUS = ["1/log(n+1)", "sqrt(n)/(n*log(n+2))", "exp(-n/3)", "1/(1+log(n))"]
ENCODINGS = ["log(i+1)", "sqrt(i+1)/n", "exp(-i/n)-1", "i/n"]


@st.composite
def irrational(draw: st.DrawFn) -> Transformer:
    """Draw a random network with an irrational temperature and one irrational encoding."""
    model = draw(transformers())
    tau = parse_arith(draw(st.sampled_from(TAUS)))
    encodings = list(model.encodings)
    if encodings:
        place = draw(st.integers(0, len(encodings) - 1))
        encodings[place] = encodings[place][0], parse_arith(draw(st.sampled_from(ENCODINGS)))
    return replace(model, temperature=tau, encodings=tuple(encodings))


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(irrational(), st.integers(1, 5), st.integers(0, 10**6))
def test_every_engine_contains_the_definition(model: Transformer, n: int, seed: int) -> None:
    word = tuple(random.Random(seed).choices(ALPHABET, k=n))
    expected = dense_forward(model, word)
    balls, digits = BallArithmetic(220), MpArithmetic(digits_needed(model, n) + 5)
    with balls.precision():
        for coordinate, column in enumerate(Forward(model, balls).run(word).columns):
            for row, value in zip(expected, column.values, strict=True):
                assert between(lower(value), row[coordinate], upper(value))
    for coordinate, column in enumerate(Forward(model, digits).run(word).columns):
        for row, value in zip(expected, column.values, strict=True):
            found = mp_value(value) if isinstance(value, int | Fraction) else value
            assert abs(found - row[coordinate]) < 1e-19
    check(model, [word])  # float64 against balls


@pytest.mark.parametrize("text", ["log(3)", "exp(-40)", "sqrt(2)/10^30", "-log(10)", "exp(700)", "exp(-900)"])
def test_the_float_of_a_number_and_its_radius(text: str) -> None:
    value = parse_arith(text).real()
    near, off = rounded(value)
    assert off > 0
    assert between(Fraction(near) - Fraction(off), mp_value(value), Fraction(near) + Fraction(off))
    # The error of the nearest float is at most half of the distance to its neighbour.
    assert off <= max(1.01 * abs(float(np.spacing(near))), 2.0**-998)
    assert rounded(parse_arith("exp(800)").real()) == (0.0, float("inf"))


def test_a_row_of_rationals_next_to_numbers() -> None:
    values = [parse_arith("log(n+1)").real(n=n) for n in range(1, 9)]
    row, share = near_row(values)
    assert 0 < share < 2.0**-90
    for middle, value in zip(row.values(0), values, strict=True):
        low, high = middle * (1 - Fraction(share)), middle * (1 + Fraction(share))
        assert between(low, mp_value(value), high)
    exact, nothing = near_row([Fraction(1, 3), Fraction(2)])
    assert (exact.values(0), nothing) == ([Fraction(1, 3), 2], 0.0)
    # The radius includes a large share: for 3 it is 3/4.
    mid, rad = rounded_row(Exact.row([3], 1), 0.25)
    assert mid[0] == 3
    assert 0.75 <= rad[0] < 0.7501


def test_a_radius_that_was_left_out_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the share of a row, float64 would miss the balls where the rationals are far from the numbers."""
    from hardsim.run import float_attention

    model = compiled("a S b", tau=parse_arith("1/(n*log(n+1))")).model

    def far(values: object) -> tuple[Exact, float]:
        found, _ = near_row(values)  # type: ignore[arg-type]  # what it is called with
        return Exact.row([value * Fraction(9, 10) for value in found.values(0)], 1), 0.0

    check(model, [("b", "a", "a", "a")])
    monkeypatch.setattr(float_attention, "near_row", far)
    with pytest.raises(AssertionError):
        check(model, [("b", "a", "a", "a")])
    monkeypatch.setattr(float_attention, "near_row", lambda values: (far(values)[0], 0.125))
    check(model, [("b", "a", "a", "a")])


def test_a_value_on_its_threshold_is_undecided_and_beside_it_decided() -> None:
    """With tau = 1/(2 n log 3) and beta 1 the logits of `a S b` fall by log 3 a position. At position 2 of bc the
    attended value is 1/4, so the clip is exactly 0, which no enclosure can decide; at colder temperatures the value is
    less, at hotter ones more.
    """

    def verdicts(base: str) -> list[Answer]:
        subject = compiled("a S b", letters="abc", beta=Fraction(1), tau=parse_arith(f"1/(2*n*log({base}))"))
        found = evaluate(subject, [("b", "c")], CheckOptions(engine="auto"))
        return [one.soft if one.decided else None for one in found]

    assert verdicts("301/100") == [False]
    assert verdicts("3") == [None]
    hotter = compiled("a S b", letters="abc", beta=Fraction(1), tau=parse_arith("1/(2*n*log(299/100))"))
    (found,) = evaluate(hotter, [("b", "c")], CheckOptions())
    assert found.decided
    assert found.soft is not False


def test_equal_scores_share_their_weight_whatever_the_temperature() -> None:
    """If all keys are equal, softmax is the mean: every enclosure contains it. (b and c are both selected.)"""
    model = compiled("a S b", letters="abc", tau=parse_arith("exp(1)/n")).model
    flat = replace(model, encodings=tuple((place, parse_arith("0")) for place, _ in model.encodings))
    arithmetic = BallArithmetic(128)
    with arithmetic.precision():
        (head,) = Forward(flat, arithmetic).run(("b", "c", "c")).attended.values()
        (attended,) = head.values()
        for value, mean in zip(attended.values, (Fraction(1), Fraction(1, 2), Fraction(1, 3)), strict=True):
            assert lower(value) <= mean <= upper(value)
            assert upper(value) - lower(value) < Fraction(1, 2**110)


@pytest.mark.parametrize(
    ("tau", "kind", "message"),
    [
        ("log(n)", InputError, "the temperature log(n) is 0 at i = 1, n = 1"),
        ("log(n/3)", InputError, "is about -1.09861 at i = 1, n = 1"),
        ("log(2*n)-log(n)-log(2)", InputError, "not known to be positive at i = 1, n = 1"),
        ("1/log(n)", SourceError, "division by zero in 1 / 0, at n = 1"),
        ("1/(1-sqrt(n-2))", SourceError, "the square root of a negative number: sqrt(-1), at n = 1"),
        ("exp(800*n)", InputError, "is more than 2^1023 at i = 1, n = 1"),
        ("exp(-4000*n)", InputError, "is less than 2^-4096 at i = 1, n = 1"),
    ],
)
def test_temperatures_that_are_none(tau: str, kind: type[InputError], message: str) -> None:
    model = replace(compiled("a S b").model, temperature=parse_arith(tau))
    assert message in str(raised(kind, model.inverse_temperature, 1, 1))


def test_the_largest_inverse_temperature_is_bounded_by_a_rational() -> None:
    model = replace(compiled("a S b").model, temperature=parse_arith("1/log(n+1)"))
    assert isinstance(model.inverse_temperature(1, 5), Real)
    largest = largest_inverse(model, 5)
    assert mp_value(largest) >= mp_value(parse_arith("log(6)").real())
    assert mp_value(largest) < mp_value(parse_arith("log(6)").real()) * (1 + mp_value(Fraction(1, 10**20)))
    assert {head.mask for head in model.heads} == {Mask.FUTURE}
