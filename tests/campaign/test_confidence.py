"""The Clopper-Pearson lower bound, against exact binomial tails in rationals."""

from fractions import Fraction
from math import comb

import pytest
from flint import ctx, fmpq
from hypothesis import given
from hypothesis import strategies as st

from hardsim.campaign.confidence import CONFIDENCE, MORE_DIGITS, lower_bound, tail

MISSES = 1 - CONFIDENCE


def terms(total: int, p: Fraction) -> list[Fraction]:
    """Return the exact probabilities of 0 to `total` successes."""
    return [comb(total, j) * p**j * (1 - p) ** (total - j) for j in range(total + 1)]


def exact_tail(right: int, total: int, p: Fraction) -> Fraction:
    return sum(terms(total, p)[right:], Fraction(0))


def step_of(total: int) -> Fraction:
    return Fraction(1, 10 ** (len(str(total)) + MORE_DIGITS))


@given(st.data(), st.integers(1, 60))
def test_the_tail_is_enclosed(data: st.DataObject, total: int) -> None:
    right = data.draw(st.integers(1, total))
    p = Fraction(right, total) * Fraction(data.draw(st.integers(1, 999)), 1000)
    exact = exact_tail(right, total, p)
    with ctx.workprec(128):
        found = tail(right, total, p)
        assert found.contains(fmpq(exact.numerator, exact.denominator))
    assert float(found.rad()) < 1e-15 * float(exact) + 1e-300


@pytest.mark.parametrize("total", [1, 2, 3, 7, 30])
@pytest.mark.parametrize("confidence", [CONFIDENCE, Fraction(1, 2), Fraction(999, 1000)])
def test_the_bound_is_the_largest_on_its_grid(total: int, confidence: Fraction) -> None:
    """Balls leave an equality open, so a bound that lies on the grid itself is the next value below it."""
    for right in range(1, total + 1):
        found = lower_bound(right, total, confidence)
        assert exact_tail(right, total, found) <= 1 - confidence <= exact_tail(right, total, found + step_of(total))


def test_the_coverage_is_exact() -> None:
    """The bound lies above the true p with probability at most 1/40, summed exactly over the counts: at the bounds
    themselves, just above and just below each, where the coverage jumps, and on a grid."""
    for total in (1, 2, 5, 13, 30):
        bounds = [lower_bound(right, total) for right in range(total + 1)]
        jumps = {bound + move * step_of(total) for bound in bounds for move in (-1, 0, 1)}
        for p in {value for value in jumps if 0 <= value <= 1} | {Fraction(k, 40) for k in range(41)}:
            above = sum((term for term, bound in zip(terms(total, p), bounds, strict=True) if bound > p), Fraction(0))
            assert above <= MISSES, (total, p)


def test_a_bound_that_is_no_smaller_would_fail() -> None:
    """The coverage test can fail: the shares themselves are no bounds."""
    total, p = 13, Fraction(1, 2)
    above = sum((term for right, term in enumerate(terms(total, p)) if Fraction(right, total) > p), Fraction(0))
    assert above > MISSES


def test_all_right_has_a_closed_form() -> None:
    """At least n of n successes have the probability p^n."""
    total = 10_000
    found, step = lower_bound(total, total), step_of(total)
    assert found**total <= MISSES < (found + step) ** total
    assert abs(float(found) - 0.025 ** (1 / total)) < 1e-8


@given(st.integers(1, 2000), st.data())
def test_more_successes_give_no_smaller_bound(total: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(0, total - 1))
    assert 0 <= lower_bound(right, total) <= lower_bound(right + 1, total) < 1


def test_no_success_and_no_trial_show_nothing() -> None:
    assert lower_bound(0, 7) == 0 == lower_bound(0, 0)


@pytest.mark.parametrize("counts", [(8, 7), (-1, 7)])
def test_counts_that_cannot_be(counts: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="of 7 with confidence"):
        lower_bound(*counts)


@pytest.mark.parametrize("confidence", [Fraction(0), Fraction(1)])
def test_confidences_that_cannot_be(confidence: Fraction) -> None:
    with pytest.raises(ValueError, match="confidence"):
        lower_bound(1, 2, confidence)
