"""Numbers of the mpmath arithmetic as exact rationals."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import MPContext

from hardsim.run.ball import TINY
from hardsim.run.mp import exact
from tests.support.language import Undecided

context = MPContext()
context.dps = 40


@given(st.integers(-(10**30), 10**30), st.integers(-300, 300))
def test_exact_is_exact(mantissa: int, exponent: int) -> None:
    number = context.ldexp(context.mpf(mantissa), exponent)
    assert exact(number) == mantissa * Fraction(2) ** exponent


def test_what_is_exact_stays_and_numbers_too_small_to_write_become_zero() -> None:
    assert [exact(3), exact(Fraction(-2, 3))] == [3, Fraction(-2, 3)]
    assert exact(context.mpf(2) ** (-TINY - 2)) == 0
    assert exact(-(context.mpf(2) ** (-TINY + 2))) == -Fraction(1, 2 ** (TINY - 2))
    assert exact(context.exp(context.mpf(-((10) ** 30)))) == 0


@pytest.mark.parametrize("number", [context.inf, -context.inf, context.nan, context.ldexp(1, 10**9)])
def test_what_is_not_finite_or_too_large_is_no_rational(number: Any) -> None:
    with pytest.raises(Undecided, match="grew without limit"):
        exact(number)
