"""Fixed-point numbers: exact products, and bounds of what is dropped, compared with rationals."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from hardsim.run import fixed_point
from hardsim.run.ball import lower, upper
from hardsim.run.fixed_point import (
    BASE,
    HALF,
    balls,
    carried,
    digits_of,
    from_balls,
    kept,
    last_place,
    near,
    parts,
    places,
    product,
    times,
    total,
)

COUNT = 5
PLACE = Fraction(last_place(COUNT))
FLOATS = st.floats(-(2.0**38), 2.0**38)
SHAPE = 3, 4


def exact(digits: Any) -> list[Fraction]:
    """Return the numbers that digits stand for, by the definition."""
    values = [Fraction(BASE) ** (1 - index) for index in range(len(digits))]
    columns = digits.reshape(len(digits), -1).T.tolist()
    return [sum((Fraction(d) * value for d, value in zip(one, values, strict=True)), Fraction(0)) for one in columns]


def numbers(seed: int, *shape: int, bits: int = 50) -> Any:
    """Return floats of very different sizes."""
    rng = np.random.default_rng(seed)
    return np.ldexp(
        rng.integers(-(2**bits), 2**bits, size=shape).astype(float), rng.integers(-90, -bits + 15, size=shape)
    )


@given(st.lists(FLOATS, min_size=1, max_size=5))
def test_digits_stand_for_the_number(given_numbers: list[float]) -> None:
    digits, off = digits_of(np.array(given_numbers), COUNT)
    assert (np.abs(digits) <= HALF).all()
    for number, found, lost in zip(given_numbers, exact(digits), off.tolist(), strict=True):
        assert abs(Fraction(number) - found) == Fraction(lost) <= PLACE / 2
        assert abs(float(found) - near(digits)[given_numbers.index(number)]) <= 2.0**-48 * abs(float(found))


def test_parts_leave_out_digits_of_0() -> None:
    rest = np.array([[0.75, -(2.0**-30)]])
    assert [index for index, _ in parts(rest, 9)] == [1, 2, 3]
    assert not rest.any()
    assert list(parts(np.zeros((2, 2)), 9)) == []


@pytest.mark.parametrize("number", [2.0**39 + 2.0**20, -(2.0**80), 1e300, np.inf, np.nan])
def test_a_number_that_is_too_large_is_not_a_number(number: float) -> None:
    with np.errstate(all="ignore"):
        digits, _ = digits_of(np.array([number, 1.0]), COUNT)
    assert np.isnan(digits[0, 0])
    assert exact(digits[:, 1:]) == [1]
    assert all(value.is_nan() for value in balls(digits[:, :1]))


def test_a_carry_out_of_the_first_digit_is_not_a_number() -> None:
    largest = np.full((COUNT, 1), HALF)
    with np.errstate(all="ignore"):
        assert np.isnan(carried(largest + largest)[0]).all()
        large, _ = digits_of(np.array([2.0**20]), COUNT)
        assert np.isnan(kept(times(large, large), COUNT)[0]).all()
        assert exact(kept(times(large, digits_of(np.array([2.0**18]), COUNT)[0]), COUNT)) == [2**38]


@given(st.integers(0, 2**32))
def test_products_are_exact_up_to_the_last_place(seed: int) -> None:
    left, right = (digits_of(numbers(seed + side, *SHAPE), COUNT)[0] for side in (0, 1))
    found = exact(kept(times(left, right), COUNT))
    for a, b, c in zip(exact(left), exact(right), found, strict=True):
        assert abs(a * b - c) <= PLACE * Fraction(51, 100)
    assert exact(total(left)) == [sum(exact(left[:, row]), Fraction(0)) for row in range(SHAPE[0])]


@given(st.integers(0, 2**32), st.integers(1, 9))
def test_matrix_products_are_exact_up_to_the_last_place(seed: int, together: int) -> None:
    a, b = numbers(seed, 4, 7), numbers(seed + 1, 7, 3, bits=24)
    left, rest = digits_of(a, COUNT)[0], b.copy()
    digits = list(parts(rest, COUNT)) or [(0, np.zeros_like(rest))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fixed_point, "MOST_TERMS", together)  # carries between parts of a sum
        patch.setattr(fixed_point, "CELLS", together * 9)  # some rows at a time
        found = exact(kept(product(left, digits, COUNT), COUNT))
    x, w = np.array(exact(left)).reshape(4, 7), np.array(exact(digits_of(b, COUNT)[0])).reshape(7, 3)
    for true, seen in zip((x @ w).ravel().tolist(), found, strict=True):
        assert abs(true - seen) <= PLACE * Fraction(51, 100)


def test_the_largest_digits_have_an_exact_product() -> None:
    # Every sum is as large as a sum can be: 2^14 products of 2^38 each.
    k = 5000
    left = np.full((8, 2, k), HALF)
    left[0] = 0
    found = product(left, [(index, np.full((k, 1), HALF)) for index in range(2, 8)], 8)
    x = sum(Fraction(HALF) * Fraction(BASE) ** (1 - index) for index in range(1, 8))
    w = sum(Fraction(HALF) * Fraction(BASE) ** (1 - index) for index in range(2, 8))
    assert exact(found[1:]) == [k * x * w] * 2


@given(st.lists(st.tuples(FLOATS, st.floats(-1, 1), st.floats(0, 1e-9)), min_size=1, max_size=4))
def test_balls_are_near_their_digits(given_numbers: list[tuple[float, float, float]]) -> None:
    with ctx.workprec(200):
        given_balls = [arb(a) + arb(b) * 2**-60 + arb(0, r) for a, b, r in given_numbers]
        digits, off = from_balls(given_balls, (len(given_balls), 1), COUNT)
        for ball, found, lost in zip(given_balls, exact(digits), off.ravel().tolist(), strict=True):
            assert max(abs(found - lower(ball)), abs(found - upper(ball))) <= Fraction(lost)
            assert lost <= 4 * float(PLACE) + float(ball.rad()) * 1.01
        assert list(map(upper, balls(digits))) == list(map(lower, balls(digits))) == exact(digits)


def test_balls_without_bounds_are_not_numbers() -> None:
    digits, off = from_balls([arb.nan(), arb("inf"), arb(1)], (3,), COUNT)
    assert np.isnan(digits[0, :2]).all()
    assert not np.isfinite(off[:2]).any()
    assert exact(digits[:, 2:]) == [1]


def test_places_have_the_bits() -> None:
    assert [places(bits) for bits in (1, 20, 21, 128)] == [3, 3, 4, 9]
    assert last_place(9) == 2.0**-140
