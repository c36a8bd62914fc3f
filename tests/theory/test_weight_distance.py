"""Average hardmax compared with softmax of perturbed scores: Lemma 33 and its form with ties, at 60 digits; and one
whole layer, hard and soft (Lemma 25).
"""

import random
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.theory.outward import round_up
from hardsim.theory.perturbation import weight_distance
from tests.support.language import InputError
from tests.support.mistakes import raised
from tests.support.networks import context, number, softmax
from tests.theory.layer_errors import (
    attention_error,
    ffn_error,
    row_norm,
    score_error,
    sharp_weight_distance,
    total_norm,
)

Bound: TypeAlias = Callable[[int, int, Fraction | None, Fraction, Fraction], Fraction]
BOUNDS = pytest.mark.parametrize("bound", [weight_distance, sharp_weight_distance], ids=["THEORY", "sharp"])
ZERO, ONE = Fraction(0), Fraction(1)

SLACK = context.mpf(10) ** -55
"""The error of distances computed at 60 digits."""


def average_hard(scores: list[Fraction]) -> list[Fraction]:
    """Return the weights of average hard attention, by the definition."""
    winners = [score == max(scores) for score in scores]
    return [Fraction(winner, sum(winners)) for winner in winners]


def distance(scores: list[Fraction], off: list[Fraction], tau: Fraction) -> Any:
    """Return `||softmax((s + off)/tau) - avghard(s)||_1`."""
    soft = softmax([(s + e) / tau for s, e in zip(scores, off, strict=True)])
    return context.fsum(abs(a - number(b)) for a, b in zip(soft, average_hard(scores), strict=True))


def gap_of(scores: list[Fraction]) -> Fraction | None:
    return max(scores) - max(rest) if (rest := [s for s in scores if s != max(scores)]) else None


def bounded(bound: Bound, scores: list[Fraction], eta: Fraction, tau: Fraction) -> Fraction:
    """Evaluate the bound with the gap and the number of maxima of the scores."""
    return bound(len(scores), scores.count(max(scores)), gap_of(scores), eta, tau)


@st.composite
def rows(draw: st.DrawFn) -> list[Fraction]:
    """Draw scores with ties at the maximum and among the others."""
    maxima, others = draw(st.integers(1, 5)), draw(st.integers(0, 8))
    gap = draw(st.fractions(Fraction(1, 10), 3, max_denominator=10))
    losses = draw(st.lists(st.just(ZERO) | st.fractions(0, 2, max_denominator=4), min_size=others, max_size=others))
    row = [ONE] * maxima + [1 - gap - loss for loss in losses]
    return draw(st.permutations(row))


@BOUNDS
@given(data=st.data())
def test_it_holds_for_random_scores_with_ties_and_random_perturbations(bound: Bound, data: st.DataObject) -> None:
    scores = data.draw(rows())
    eta = data.draw(st.just(ZERO) | st.fractions(0, 1, max_denominator=1000))
    tau = data.draw(st.fractions(Fraction(1, 300), 2, max_denominator=300))
    shares = st.sampled_from([ONE, -ONE]) | st.fractions(-1, 1, max_denominator=9)
    off = [eta * data.draw(shares) for _ in scores]
    assert distance(scores, off, tau) <= number(bounded(bound, scores, eta, tau)) + SLACK
    assert bounded(sharp_weight_distance, scores, eta, tau) <= bounded(weight_distance, scores, eta, tau) <= 2


@BOUNDS
def test_it_holds_for_every_extreme_perturbation_of_small_rows(bound: Bound) -> None:
    """Try every corner of the cube of perturbations, for every number of maxima among up to five scores."""
    for n in range(1, 6):
        for m in range(1, n + 1):
            scores = [ONE] * m + [ZERO] * (n - m)
            for eta, tau in ((Fraction(1, 3), Fraction(1, 5)), (Fraction(1, 50), Fraction(1, 9)), (ZERO, Fraction(2))):
                # Maxima are interchangeable, and so are the other scores.
                corners = [
                    distance(scores, [eta * s for s in off], tau)
                    for off in product((-1, 1), repeat=n)
                    if list(off[:m]) == sorted(off[:m]) and list(off[m:]) == sorted(off[m:])
                ]
                assert max(corners) <= number(bounded(bound, scores, eta, tau)) + SLACK


# ---- how close errors come to the bound ----


@pytest.mark.parametrize("n", [2, 3, 11, 200])
def test_the_constant_of_lemma_33_is_approached(n: int) -> None:
    """2 (n - 1) e^(-(g - 2 eta)/tau): the quotient is 1/(1 + (n - 1) e^(-(g - 2 eta)/tau)), which tends to 1."""
    eta, tau = Fraction(1, 7), Fraction(1, 10)
    for sharpness in (7, 20, 50):
        gap = 2 * eta + sharpness * tau
        worst = distance([gap] + [ZERO] * (n - 1), [-eta] + [eta] * (n - 1), tau)
        quotient = worst / number(weight_distance(n, 1, gap, eta, tau))
        # Equal to the 28 digits of the bound.
        assert 0 <= 1 / quotient - 1 - (n - 1) * context.exp(-sharpness) < context.mpf(10) ** -27


@pytest.mark.parametrize("m", [1, 2, 3])
def test_the_constant_before_the_others_is_approached_with_ties(m: int) -> None:
    """The constant is 2 (n - m)/m e^(-g/tau) at eta = 0."""
    scores, tau = [ONE] * m + [ZERO] * 5, Fraction(1, 60)
    quotient = distance(scores, [ZERO] * (m + 5), tau) / number(weight_distance(m + 5, m, ONE, ZERO, tau))
    assert 1 - context.mpf(10) ** -24 < quotient <= 1


@pytest.mark.parametrize("sharpness", [Fraction(1, 10), Fraction(1), Fraction(9)])
def test_the_sharp_bound_is_attained_with_one_maximum(sharpness: Fraction) -> None:
    eta, tau = Fraction(2, 5), Fraction(1, 3)
    gap = 2 * eta + sharpness * tau
    worst = distance([gap] + [ZERO] * 6, [-eta] + [eta] * 6, tau)
    assert abs(worst / number(sharp_weight_distance(7, 1, gap, eta, tau)) - 1) < context.mpf(10) ** -27


@BOUNDS
def test_the_second_term_is_approached_among_maxima(bound: Bound) -> None:
    """With e^h near 2 the worst share of high scores is 1/(1 + 2), one in three; with h near 0, one half."""
    log2 = Fraction(6931471805599453094172321, 10**25)
    worst = distance([ONE] * 3, [log2, -log2, -log2], ONE)
    assert abs(worst - Fraction(2, 3)) < context.mpf(10) ** -20  # 2 (2 - 1)/(2 + 1)
    assert 0 <= number(bound(3, 3, None, log2, ONE)) - worst < context.mpf(10) ** -20
    for h, closeness in ((Fraction(1, 10), "1e-2"), (Fraction(1, 1000), "1e-6"), (Fraction(1, 2**60), "1e-27")):
        worst = distance([ONE] * 2, [h, -h], ONE)
        quotient = worst / number(bound(2, 2, None, h, ONE))
        assert 1 - context.mpf(closeness) < quotient <= 1


@pytest.mark.parametrize("h", [Fraction(1, 2**k) for k in (0, 3, 20, 47, 48, 49, 200, 5000)] + [Fraction(30)])
@BOUNDS
def test_a_small_error_is_not_drowned_by_rounding(bound: Bound, h: Fraction) -> None:
    """2 (e^h - 1)/(e^h + 1), to 27 digits however small h is; and at most h, which closed forms use."""
    tanh = context.expm1(number(h))
    tanh = 2 * tanh / (tanh + 2)
    found = number(bound(4, 4, None, h, ONE))
    assert -SLACK <= found / tanh - 1 < context.mpf(10) ** -27
    assert found <= number(h) * (1 + context.mpf(10) ** -27)


@pytest.mark.parametrize(("m", "others"), [(2, 1), (3, 4), (6, 2)])
def test_both_terms_together_are_approached(m: int, others: int) -> None:
    """Half of the maxima raised by h, the others lowered (a third, with e^h near 2), and every score below raised."""
    eta, tau = (Fraction(1, 1000), ONE) if m % 3 else (Fraction(6931471805599453094172321, 10**25), ONE)
    raised_ones = m // 2 if m % 3 else m // 3
    for sharpness in (12, 40):
        gap = 2 * eta + sharpness * tau
        off = [eta] * raised_ones + [-eta] * (m - raised_ones) + [eta] * others
        worst, found = distance([gap] * m + [ZERO] * others, off, tau), number(weight_distance(
            m + others, m, gap, eta, tau))  # fmt: skip
        alone = number(weight_distance(m, m, None, eta, tau))
        # The bound counts the leak as if all maxima were low, and the high maxima as if nothing leaked.
        leak = found - alone
        assert alone < found
        assert -SLACK <= found - worst <= leak + alone * context.mpf(10) ** -6


# ---- the cap ----


@BOUNDS
def test_a_gap_that_errors_can_close_gives_2_and_2_is_approached(bound: Bound) -> None:
    eta = Fraction(1, 2)
    for gap in (Fraction(1, 100), Fraction(99, 100), ONE):
        assert bound(2, 1, gap, eta, Fraction(1, 100)) == bound(9, 4, gap, eta, Fraction(1, 100)) == 2
    # At a high temperature the formula alone would be smaller: 2/4 e^0 + 2 tanh(1/400).
    assert bound(5, 4, ONE, eta, Fraction(100)) == 2
    assert 2 - distance([Fraction(9, 10), ZERO], [-eta, eta], Fraction(1, 1000)) < context.mpf(10) ** -40
    assert bound(2, 1, ONE + Fraction(1, 10), eta, Fraction(1, 100)) < Fraction(1, 1000)


def test_the_cap_is_on_the_sum_of_both_terms() -> None:
    """Each term is below 2, their sum is not; and a single term of 2 keeps the cap."""
    eta, tau = Fraction(2), ONE  # 2 tanh 1 = 1.523...
    gap = 2 * eta + Fraction(1)  # 2 * 1/2 * 3 e^-1 = 1.10... at n = 5, m = 2
    alone = weight_distance(2, 2, None, eta, tau)
    assert Fraction(1523, 1000) < alone < Fraction(1524, 1000)
    assert 0 < weight_distance(4, 2, gap, ZERO, tau) < 2
    assert weight_distance(5, 2, gap, eta, tau) == 2
    assert weight_distance(1000, 1, gap, ZERO, tau) == 2


@BOUNDS
def test_huge_errors_and_tiny_temperatures_cost_nothing(bound: Bound) -> None:
    tiny = Fraction(1, 10**30)
    # 2 (n - m)/m is 1 here, and no exponential is bounded more closely than by 2^-65536.
    assert Fraction(1, 2**65537) < bound(3, 2, ONE, ZERO, tiny) <= Fraction(1, 2**65536)
    assert bound(2, 2, None, Fraction(10**9), tiny) == 2
    assert bound(2, 2, None, Fraction(1), Fraction(1, 99)) <= 2


@BOUNDS
def test_where_all_scores_are_equal_only_their_errors_count(bound: Bound) -> None:
    assert bound(7, 7, None, ZERO, ONE) == 0
    assert bound(1, 1, None, Fraction(100), ONE) == 0
    assert bound(7, 7, Fraction(1, 10), Fraction(1), Fraction(10)) == bound(7, 7, None, Fraction(1), Fraction(10)) < 1


@BOUNDS
def test_what_makes_no_sense_is_refused(bound: Bound) -> None:
    for arguments, message in (
        ((3, 0, ONE, ZERO, ONE), "cannot have 0 maxima"),
        ((3, 4, ONE, ZERO, ONE), "cannot have 4 maxima"),
        ((3, 1, ONE, ZERO, ZERO), "temperature must be positive"),
        ((3, 1, ONE, -ONE, ONE), "error cannot be negative"),
        ((3, 1, None, ZERO, ONE), "positive gap, not None"),
        ((3, 1, ZERO, ZERO, ONE), "positive gap, not 0"),
    ):
        raised(InputError, bound, *arguments, match=message)


# ---- Lemma 25: the lemmas together ----

KEY, WIDTH, HIDDEN, LENGTH = 2, 3, 5, 7
SHAPES = {
    "query": (KEY, WIDTH),
    "key": (KEY, WIDTH),
    "value": (WIDTH, WIDTH),
    "w1": (HIDDEN, WIDTH),
    "w2": (WIDTH, HIDDEN),
}


def random_matrix(source: random.Random, rows: int, columns: int) -> list[list[Fraction]]:
    return [[Fraction(source.randint(-3, 3), 3) for _ in range(columns)] for _ in range(rows)]


def layer(weights: dict[str, Any], activations: list[list[Any]], tau: Fraction | None) -> tuple[list[list[Any]], Any]:
    """Run one future-masked layer by its definition, average-hard in rationals (tau None) or soft at 60 digits; return
    its output and its score rows.
    """

    def apply(matrix: list[list[Any]], x: list[Any]) -> list[Any]:
        return [sum((a * b for a, b in zip(row, x, strict=True)), 0 * x[0]) for row in matrix]

    outputs, score_rows = [], []
    for i, x in enumerate(activations):
        query = apply(weights["query"], x)
        keys = [apply(weights["key"], y) for y in activations[: i + 1]]
        scores = [sum((a * b for a, b in zip(query, key, strict=True)), 0 * x[0]) for key in keys]
        alpha: list[Any] = average_hard(scores)
        if tau is not None:
            powers = [context.exp(score / number(tau)) for score in scores]
            alpha = [power / context.fsum(powers) for power in powers]
        mean = [sum((a * y[k] for a, y in zip(alpha, activations, strict=False)), 0 * x[0]) for k in range(WIDTH)]
        c = [a + b for a, b in zip(x, apply(weights["value"], mean), strict=True)]
        hidden = [max(0 * h, h) for h in apply(weights["w1"], c)]
        outputs.append([a + b for a, b in zip(c, apply(weights["w2"], hidden), strict=True)])
        score_rows.append(scores)
    return outputs, score_rows


def layer_bound(weights: dict[str, Any], size: Fraction, delta: Fraction, hard_rows: Any, tau: Fraction) -> Fraction:
    """Return the bound of the error after the layer, from the error before it."""
    query, key = weights["query"], weights["key"]
    form = [[sum(query[t][k] * key[t][m] for t in range(KEY)) for m in range(WIDTH)] for k in range(WIDTH)]
    eta = score_error(total_norm(form), size, delta)
    worst = max(bounded(weight_distance, row, eta, tau) for row in hard_rows)
    after = attention_error(row_norm(weights["value"]), size, delta, worst)
    return round_up(ffn_error(row_norm(weights["w2"]), row_norm(weights["w1"]), after))


@pytest.mark.parametrize("sharpness", [1, 100, 10**4, 10**6])
def test_two_layers_stay_within_the_lemmas_put_together(sharpness: int) -> None:
    source, tau = random.Random(sharpness), Fraction(1, sharpness)
    close = 0
    for _ in range(10):
        hard = random_matrix(source, LENGTH, WIDTH)
        soft: list[list[Any]] = [[number(entry) for entry in x] for x in hard]
        delta = ZERO
        for _ in range(2):
            weights = {name: random_matrix(source, *shape) for name, shape in SHAPES.items()}
            size = max(abs(entry) for x in hard for entry in x)
            exact = {name: [[number(entry) for entry in row] for row in matrix] for name, matrix in weights.items()}
            hard, score_rows = layer(weights, hard, None)
            soft, _ = layer(exact, soft, tau)
            delta = layer_bound(weights, size, delta, score_rows, tau)
            error = max(abs(a - number(b)) for x, y in zip(soft, hard, strict=True) for a, b in zip(x, y, strict=True))
            # At a temperature of 10^-6, 50 of the sixty digits of a score remain.
            assert error <= number(delta) + context.mpf(10) ** -45
        close += delta < Fraction(1, 100)
    # The bound is void at a high temperature, and useful at a low one.
    assert close == {1: 0, 100: 0, 10**4: 10, 10**6: 10}[sharpness]
