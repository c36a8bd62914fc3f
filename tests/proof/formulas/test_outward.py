"""Exponentials of arrays: their error is at most the claimed one."""

from fractions import Fraction

import numpy as np
from flint import arb, ctx, fmpq
from hypothesis import given
from hypothesis import strategies as st

from hardsim.proof.formulas.arrays import EXP_ERROR, RANGE, above, ball, exp_lower, exp_upper, exponential


def exact(x: float) -> arb:
    """Return the exact value of a float, as a ball."""
    return arb(fmpq(*Fraction(x).as_integer_ratio()))


def require(numbers: list[float]) -> None:
    """Assert that the relative error of every exponential is at most the claimed one."""
    found = exponential(np.array(numbers))
    with ctx.workprec(200):
        for x, value in zip(numbers, found, strict=True):
            assert abs(exact(float(value)) / exact(x).exp() - 1) < EXP_ERROR


@given(st.lists(st.floats(-RANGE, RANGE), min_size=1, max_size=50))
def test_the_relative_error_is_as_claimed(numbers: list[float]) -> None:
    require(numbers)


def test_the_error_is_as_claimed_at_the_edges_of_the_tables() -> None:
    require([k / 4096 + step for k in range(-5000, 5000, 7) for step in (-1e-13, 0.0, 1e-13)])


@given(st.floats(-2000, 2000), st.floats(0, 5))
def test_bounds_enclose(x: float, error: float) -> None:
    low, high = exp_lower(np.array([x]), error)[0], exp_upper(np.array([x]), error)[0]
    with ctx.workprec(200):
        shift = ball(Fraction(error))
        assert low == 0 or arb(float(low)) <= (exact(x) - shift).exp()
        assert high == np.inf or arb(float(high)) >= (exact(x) + shift).exp()


def test_above_is_above() -> None:
    with ctx.workprec(120):
        assert Fraction(above(ball(Fraction(1, 3)))) > Fraction(1, 3)
