"""Every lemma's bound compared with a direct computation, and a case that comes close to it."""

from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.program.regimes import Regime, expression
from hardsim.theory.lemmas import attended_error, geometric_distance
from tests.support.model import REGIMES, Affine, Encoding
from tests.support.networks import context, number, softmax


def distance(logits: list[Fraction]) -> Any:
    """Return ||hardmax - softmax||_1 for logits with a unique maximum."""
    winner = logits.index(max(logits))
    return context.fsum(abs(weight - (j == winner)) for j, weight in enumerate(softmax(logits)))


@st.composite
def falling(draw: st.DrawFn) -> tuple[list[Fraction], Fraction]:
    """Draw scores that satisfy Lemma 6's condition with some g: the exact fall-off plus anything more; return g
    too.
    """
    n = draw(st.integers(1, 12))
    winner = draw(st.integers(0, n - 1))
    g = Fraction(draw(st.integers(1, 60)), 10)
    extra = draw(st.lists(st.integers(0, 30), min_size=n, max_size=n))
    return [-g * abs(j - winner) - (Fraction(extra[j], 10) if j != winner else 0) for j in range(n)], g


@given(falling())
def test_lemma_6_holds(case: tuple[list[Fraction], Fraction]) -> None:
    scores, g = case
    assert distance(scores) <= geometric_distance(g, context)
    assert geometric_distance(g, context) <= 4 * context.exp(-number(g))


@pytest.mark.parametrize("g", [Fraction(1, 2), Fraction(2), Fraction(5)])
def test_lemma_6_is_approached_by_a_winner_amid_a_long_word(g: Fraction) -> None:
    scores = [-g * abs(j - 100) for j in range(201)]
    assert geometric_distance(g, context) - distance(scores) < context.mpf(10) ** -20


@given(falling(), st.lists(st.sampled_from([0, 1, Fraction(1, 2)]), min_size=12, max_size=12))
def test_attended_value_is_off_by_at_most_half_of_lemma_6(
    case: tuple[list[Fraction], Fraction], values: list[Fraction]
) -> None:
    scores, g = case
    winner = scores.index(max(scores))
    attended = context.fsum(a * number(v) for a, v in zip(softmax(scores), values, strict=False))
    assert abs(attended - number(values[winner])) <= attended_error(g, context)


def test_beta_4_is_enough_and_3_is_not() -> None:
    # 2x/(1 + x) <= 1/4 iff x <= 1/7, and e^2 = 7.389... > 7 > 4.48... = e^(3/2).
    assert attended_error(Fraction(4, 2), context) < 0.25
    assert attended_error(Fraction(3, 2), context) > 0.25


def score(regime: Regime, encodings: dict[str, Encoding], q: int, i: int, j: int, n: int, side: Any) -> Fraction:
    """Return the score of key j for query i, from the forms of the regime."""

    def value(form: Affine, position: int) -> Fraction:
        total = Fraction(0)
        for name, coefficient in form.terms:
            entry = {"1": 1, "q": q}.get(name)
            total += coefficient * (encodings[name].value.evaluate(i=position, n=n) if entry is None else entry)
        return total

    return sum((value(a, i) * value(b, j) for a, b in regime.score(Affine.coordinate("q"), side)), Fraction(0))


@pytest.mark.parametrize("regime", REGIMES.values(), ids=str)
@pytest.mark.parametrize("side", ["right", "left"])
def test_lemma_8_per_position_for_every_pattern_of_q(regime: Regime, side: Any) -> None:
    """`s_j <= s_j* - decay |j - j*|` for every q in {0,1}^n, n <= 6, and j* is the position looked for."""
    if regime.causal and side == "left":
        return
    encodings = {encoding.name: encoding for encoding in regime.encodings}
    for n in range(1, 7):
        for q in product((0, 1), repeat=n):
            for i in range(1, n + 1):
                visible = range(1, i + 1) if side == "right" else range(i, n + 1)
                found = [j for j in visible if q[j - 1]] or [i]
                winner = max(found) if side == "right" else min(found)
                best = score(regime, encodings, q[winner - 1], i, winner, n, side)
                decay = expression(regime.decay).evaluate(i=i, n=n)
                for j in visible:
                    assert score(regime, encodings, q[j - 1], i, j, n, side) <= best - decay * abs(j - winner)


@pytest.mark.parametrize("regime", REGIMES.values(), ids=str)
def test_the_four_regimes_fall_by_half_of_beta_a_position_and_none_does_not(regime: Regime) -> None:
    rates = [
        expression(regime.decay).evaluate(i=i, n=n) / regime.temperature.evaluate(i=i, n=n)
        for n in range(1, 40)
        for i in range(1, n + 1)
    ]
    assert min(rates) == (Fraction(1, 2) if regime.converges else Fraction(1, 2 * 39))
