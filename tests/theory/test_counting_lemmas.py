"""The bounds behind counting compared with direct computations: Lemma 7, its halves, tables, the sign test, beta."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.program.budget import DEFAULT_BETA, look_up_beta
from hardsim.program.regimes import expression
from hardsim.run.ball import bound_of
from hardsim.theory.lemmas import halved_look_up_error, look_up_error, ramp_sign_error, sign_error, table_error
from tests.support.check import Subject
from tests.support.model import REGIMES, Head, Kind
from tests.support.networks import context, number, softmax
from tests.support.subjects import compiled as subject

LENGTHS = (1, 2, 3, 4, 7, 16, 33, 64, 127, 200)
SMALL = [Fraction(1, 50), Fraction(1, 10), Fraction(1, 4), Fraction(49, 100)]
RATES = [*SMALL, Fraction(1, 2), Fraction(51, 100), Fraction(1), Fraction(4), Fraction(35, 2), Fraction(200)]


class Tails:
    """The sums of e^(-g k^2) and of k e^(-g k^2) over 1 <= k <= K, for every K up to a length."""

    def __init__(self, g: Fraction, longest: int) -> None:
        self.weights, self.moments = [context.mpf(0)], [context.mpf(0)]
        for k in range(1, longest + 1):
            term = context.exp(-number(g) * k * k)
            self.weights.append(self.weights[-1] + term)
            self.moments.append(self.moments[-1] + k * term)

    def error(self, c: int, visible: int) -> Any:
        """Return `|sum_j alpha_j (j - c)|` for scores -g (j - c)^2 over j = 1..visible, from its two sides."""
        before, after = c - 1, visible - c
        total = 1 + self.weights[before] + self.weights[after]
        return abs(self.moments[after] - self.moments[before]) / total


@pytest.mark.parametrize("g", [Fraction(1, 10), Fraction(1), Fraction(5)])
def test_the_two_sides_are_the_definition(g: Fraction) -> None:
    for n in (1, 2, 5, 12):
        for c in range(1, n + 1):
            alpha = softmax([g * (2 * j * c - j * j) for j in range(1, n + 1)])
            attended = context.fsum(a * j for j, a in enumerate(alpha, start=1))
            assert abs(abs(attended - c) - Tails(g, n).error(c, n)) < context.mpf(10) ** -45


def the_head(compiled: Subject, kind: Kind) -> Head:
    (head,) = [head for head in compiled.program.heads if head.kind is kind]
    return head


def sizes(side: str, i: int, n: int) -> int:
    return {"L": i, "R": n - i + 1, "": n}[side]


CASES = [(regime, side) for regime in ("temperature", "position") for side in ("L", "R", "")]
CASES.append(("causal-temperature", "L"))


def some_queries(n: int) -> list[int]:
    return sorted({1, min(2, n), min(3, n), (n + 1) // 2, max(1, n - 1), n})


@pytest.mark.parametrize(("regime", "side"), CASES)
def test_lemma_7_and_its_half_in_every_regime_for_every_count_up_to_200(regime: str, side: str) -> None:
    """Measure the error of the look-up at the rate that beta, the temperature and the encodings give."""
    compiled = subject(f"#{side}[a] >= 2", regime)
    head = the_head(compiled, Kind.LOOKUP)
    causal = REGIMES[regime].causal
    beta = compiled.budget.beta_of(head)
    assert beta == DEFAULT_BETA
    for n in LENGTHS:
        worst, rates = context.mpf(0), []
        for i in some_queries(n):
            g = beta * i if causal else beta * Fraction(n, sizes(side, i, n))
            assert compiled.budget.rate(head, i, n) == g
            tails = Tails(g, n)
            visible = i if causal else n
            errors = [tails.error(c, visible) for c in range(1, visible + 1)]
            assert max(errors) <= halved_look_up_error(g, context)
            assert halved_look_up_error(g, context) * 2 == look_up_error(g, context)
            worst = max(worst, *errors)
            rates.append(g)
        # The least rate is at the last, at the first or at every position; these are among the queries.
        assert compiled.budget.least_rate(head, n) == min(rates)
        assert worst <= compiled.budget.error_bound(head, n, context)
        assert compiled.budget.paper_bound(head, n, context) == look_up_error(min(rates), context)


@pytest.mark.parametrize(("regime", "side"), CASES)
def test_the_logits_of_a_look_up_are_those_of_lemma_7(regime: str, side: str) -> None:
    """beta/tau times the score, from the key columns: g (2jc - j^2) at the declared g, for every c and j."""
    compiled = subject(f"#{side}[a] >= 2", regime)
    head = the_head(compiled, Kind.LOOKUP)
    linear, square = (expression(text) for text in REGIMES[regime].look_up)
    for n in (1, 2, 5, 9):
        for i in range(1, n + 1):
            m = sizes(side, i, n)
            sharpness = compiled.budget.beta_of(head) / compiled.budget.temperature.evaluate(i=i, n=n)
            g = compiled.budget.rate(head, i, n)
            assert g is not None
            for c in range(m + 1):
                for j in range(1, n + 1):
                    keys = 2 * linear.evaluate(i=j, n=n), -square.evaluate(i=j, n=n)
                    score = Fraction(c, m) * keys[0] + Fraction(1, m) * keys[1]
                    assert score * sharpness == g * (2 * j * c - j * j)


@pytest.mark.parametrize("g", RATES, ids=str)
def test_lemma_7_and_its_half_for_every_rate_and_every_count(g: Fraction) -> None:
    for n in (1, 2, 3, 10, 200):
        tails = Tails(g, n)
        for c in range(1, n + 1):
            assert tails.error(c, n) <= halved_look_up_error(g, context) < look_up_error(g, context)


@given(
    st.integers(1, 40),
    st.fractions(Fraction(1, 20), 30, max_denominator=20),
    st.fractions(-50, 50, max_denominator=7),
    st.data(),
)
def test_lemma_7_as_it_is_stated_for_random_rates_counts_and_constants(
    n: int, g: Fraction, constant: Fraction, data: st.DataObject
) -> None:
    c = data.draw(st.integers(1, n))
    alpha = softmax([g * (2 * j * c - j * j) + constant for j in range(1, n + 1)])
    error = abs(context.fsum(a * j for j, a in enumerate(alpha, start=1)) - c)
    # The weights have 48 correct digits, and the mean is at most 40.
    assert error <= halved_look_up_error(g, context) + context.mpf(10) ** -45
    if 2 * g >= 1:
        stated = 2 * context.exp(-number(g)) * (1 + 1 / (2 * number(g)))
        assert abs(look_up_error(g, context) / stated - 1) < context.mpf(10) ** -45


@pytest.mark.parametrize("c", ["first", "last"])
def test_the_half_of_lemma_7_is_approached_at_either_end_of_the_word(c: str) -> None:
    """One side alone: with growing g the quotient is (1 - O(e^-g)) / (1 + 1/(2g)), which tends to 1."""
    quotients = []
    for g in (Fraction(2), Fraction(8), Fraction(50), Fraction(400)):
        error = Tails(g, 50).error(1 if c == "first" else 50, 50)
        quotients.append(error / halved_look_up_error(g, context))
        # error >= e^-g / (1 + e^-g + e^-4g + ...), so the quotient is at least (1 - 2 e^-g) / (1 + 1/(2g)).
        assert quotients[-1] >= (1 - 2 * context.exp(-number(g))) / (1 + 1 / (2 * number(g)))
    assert quotients == sorted(quotients)
    assert quotients[-1] > 0.998


def test_a_count_amid_the_word_is_looked_up_without_error() -> None:
    """The two sides pull with the same strength: the whole of Lemma 7 is never needed."""
    assert Tails(Fraction(1, 10), 201).error(101, 201) == 0


@pytest.mark.parametrize("g", RATES, ids=str)
def test_the_count_zero_lands_on_position_1(g: Fraction) -> None:
    """The logits are -g j^2: the same bound is true of the distance to 1."""
    for n in (1, 2, 3, 60):
        alpha = softmax([-g * j * j for j in range(1, n + 1)])
        error = context.fsum(a * (j - 1) for j, a in enumerate(alpha, start=1))
        assert error <= halved_look_up_error(g, context)


def test_the_form_for_small_rates_bounds_one_side_closely() -> None:
    """Below g = 1/2 the terms k e^(-g k^2) rise before they fall: the integral from 0 plus the largest of them."""
    for g, closeness in [(Fraction(49, 100), 0.4), (Fraction(1, 50), 0.85), (Fraction(1, 5000), 0.98)]:
        assert closeness < Tails(g, 1000).moments[-1] / halved_look_up_error(g, context) <= 1


# ---- a table of zeros and ones ----


@given(st.data())
def test_a_boolean_read_at_the_count_is_off_by_at_most_the_weight_elsewhere(data: st.DataObject) -> None:
    values = data.draw(st.lists(st.integers(0, 1), min_size=1, max_size=60))
    n = len(values)
    c = data.draw(st.integers(0, n))
    g = data.draw(st.sampled_from(RATES))
    alpha = softmax([-g * (j - c) ** 2 for j in range(1, n + 1)])
    winner = max(c, 1)
    error = abs(context.fsum((value - values[winner - 1]) * a for value, a in zip(values, alpha, strict=True)))
    # The subtraction above is of numbers near 1; about 45 digits of the result are correct.
    assert error <= table_error(g, context) + context.mpf(10) ** -45


@pytest.mark.parametrize("g", RATES, ids=str)
def test_the_worst_table_is_wrong_everywhere_but_at_the_count(g: Fraction) -> None:
    """In the middle of a long word the weight elsewhere approaches the bound, which is never below it."""
    both = 2 * Tails(g, 100).weights[100]
    worst = both / (1 + both)
    assert worst <= table_error(g, context) * (1 + context.mpf(10) ** -48)
    assert table_error(g, context) - worst <= context.mpf(10) ** -40


def test_the_default_beta_is_enough_for_tables_and_2_is_not() -> None:
    # 2t / (1 + 2t) <= 1/4 iff t <= 1/6: e^-4 + e^-16 + ... = 0.0183..., e^-1 + e^-4 = 0.386...
    assert table_error(DEFAULT_BETA, context) < 0.25
    assert table_error(Fraction(1), context) > 0.25


@pytest.mark.parametrize("g", [Fraction(1, 50), Fraction(1, 10**5), Fraction(1, 10**30), Fraction(1, 10**400)])
def test_table_errors_of_flat_rows(g: Fraction) -> None:
    """Jacobi: 1 + 2t is sqrt(pi/g) but for a factor 1 + 2 e^(-pi^2/g), so that the error is 1 - sqrt(g/pi) nearly."""
    true = 1 - context.sqrt(context.mpf(g.numerator) / g.denominator / context.pi)
    found = table_error(g, context)
    assert true - context.mpf(10) ** -45 <= found <= 1
    assert found - true <= 1e-3


@pytest.mark.parametrize("g", [Fraction(2**1402, 3), Fraction(2**1402, 7)])
def test_table_errors_of_very_sharp_rows_are_bounded(g: Fraction) -> None:
    found = bound_of(table_error, g)
    assert found is not None
    assert 0 <= found < Fraction(1, 2**1000)


# ---- the sign test ----


def wrong_share(logits: dict[int, Fraction], positive: bool) -> Any:
    """Return the softmax weight of the positions of the wrong parity."""
    alpha = softmax(list(logits.values()))
    return context.fsum(a for j, a in zip(logits, alpha, strict=True) if (j % 2 == 0) != positive)


def halves(m: int) -> list[Fraction]:
    """Return y = (integer + 1/2)/m for integers on both sides of 0; larger ones are easier to tell apart."""
    return [(k + Fraction(1, 2)) / m for k in (-3 * m, -m, -3, -2, -1, 0, 1, 2, m, 3 * m)]


@pytest.mark.sweep
@pytest.mark.parametrize(("regime", "side"), CASES)
def test_the_sign_test_at_its_rate_for_every_half_integer(regime: str, side: str) -> None:
    compiled = subject(f"#{side}[a] >= 2", regime, counting="sign")
    head = the_head(compiled, Kind.SIGN)
    causal = REGIMES[regime].causal
    key = expression(REGIMES[regime].sign_key)
    for n in (*range(2, 14), 21, 40):
        bound = compiled.budget.error_bound(head, n, context)
        for i in range(1, n + 1) if n < 14 else some_queries(n):
            m = sizes(side, i, n)
            if m == 1:
                continue  # where one position is visible the exact integer is used
            sharpness = DEFAULT_BETA / compiled.budget.temperature.evaluate(i=i, n=n)
            g = DEFAULT_BETA * i if causal else DEFAULT_BETA * Fraction(n, m)
            assert compiled.budget.rate(head, i, n) == g
            seen = {"L": range(1, i + 1), "R": range(i, n + 1), "": range(1, n + 1)}[side]
            for y in halves(m):
                logits = {j: sharpness * y * key.evaluate(i=j, n=n) for j in seen}
                share = wrong_share(logits, y > 0)
                assert share <= sign_error(g, context) * (1 + context.mpf(10) ** -45)
                assert share <= bound * (1 + context.mpf(10) ** -45)
        assert bound < 0.25


def test_the_sign_bound_is_attained_among_three_positions() -> None:
    """Odd, even, odd: one right position against two wrong ones, g nats apart."""
    for g in (Fraction(1, 2), Fraction(4), Fraction(30)):
        share = wrong_share({1: -g / 2, 2: g / 2, 3: -g / 2}, positive=True)
        assert abs(share / sign_error(g, context) - 1) < context.mpf(10) ** -45


@pytest.mark.parametrize("beta", [Fraction(1, 2), Fraction(2), DEFAULT_BETA, Fraction(9)], ids=str)
def test_the_sign_test_with_growing_keys(beta: Fraction) -> None:
    """Keys (-1)^j j^2 at temperature 1: every query 2 <= i <= 40, every half-integer."""
    worst = context.mpf(0)
    for i in range(2, 41):
        for y in halves(i):
            logits = {j: beta * y * (-1) ** j * j * j for j in range(1, i + 1)}
            worst = max(worst, wrong_share(logits, y > 0))
        assert worst <= ramp_sign_error(beta, i, context)
    assert worst > 0


def test_the_default_beta_is_enough_for_growing_keys_and_1_is_not_known_to_be() -> None:
    # At i = 2 the ratio is e^(-beta (1 + 1)/4): e^-2 = 0.135... gives 0.119..., e^(-1/2) = 0.606... gives 0.377...
    assert abs(ramp_sign_error(DEFAULT_BETA, 200, context) - 1 / (1 + context.exp(2))) < context.mpf(10) ** -45
    assert ramp_sign_error(DEFAULT_BETA, 200, context) < 0.25 < ramp_sign_error(Fraction(1), 200, context)
    assert ramp_sign_error(DEFAULT_BETA, 1, context) == 0


def test_the_budget_of_a_growing_key_is_its_lemma() -> None:
    compiled = subject("#L[a] >= 2", "causal-position")
    head = the_head(compiled, Kind.SIGN_RAMP)
    assert compiled.budget.error_bound(head, 40, context) == ramp_sign_error(DEFAULT_BETA, 40, context)
    assert compiled.budget.paper_bound(head, 40, context) is None


# ---- beta ----


@pytest.mark.slow
def test_look_up_beta_is_the_least_sufficient_integer_for_every_weight_to_10000() -> None:
    def sums_to(weight: int, beta: int) -> Any:
        return weight * 2 * context.exp(-beta) * (1 + context.mpf(1) / (2 * beta))

    beta = 1
    for weight in range(1, 10_001):
        while sums_to(weight, beta) > 0.25:
            beta += 1
        assert look_up_beta(weight) == beta
        assert beta == 1 or sums_to(weight, beta - 1) > 0.25


def test_a_comparison_of_many_counts_gets_a_larger_beta_and_a_users_beta_stays() -> None:
    text = "200*#L[a] - 99*#R[b] >= 3"
    compiled = subject(text)
    betas = {compiled.budget.beta_of(head) for head in compiled.program.heads if head.kind is Kind.LOOKUP}
    # 299 * 2 e^-8 (1 + 1/16) = 0.213... <= 1/4 < 299 * 2 e^-7 (1 + 1/14) = 0.584...
    assert betas == {Fraction(8)}
    others = {compiled.budget.beta_of(head) for head in compiled.program.heads if head.kind is Kind.NEAREST}
    assert others == {DEFAULT_BETA}
    own = subject(text, beta=Fraction(3))
    assert {own.budget.beta_of(head) for head in own.program.heads if not head.uniform} == {Fraction(3)}
