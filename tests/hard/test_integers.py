"""Columns of integers over a unit, compared with Fractions, also where machine integers would overflow."""

from fractions import Fraction
from math import gcd, lcm

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.network.integers import LARGE_UNIT, SAFE, Exact, combination, largest, widened

SIZES = st.sampled_from([3, 10**4, 2**31, 2**61, 2**62, 2**63, 10**30])
NUMBERS = SIZES.flatmap(lambda size: st.builds(Fraction, st.integers(-size, size), st.integers(1, 12)))
COLUMNS = st.lists(NUMBERS, min_size=3, max_size=3)


def two_words(first: list[Fraction], second: list[Fraction]) -> Exact:
    """Return a column with different values for two words, made from columns that are the same for all words."""
    unit = lcm(*(value.denominator for value in (*first, *second)))
    return Exact.of(np.array([[int(value * unit) for value in row] for row in (first, second)], dtype=object), unit)


@given(COLUMNS, COLUMNS)
def test_columns_hold_what_they_were_made_of(first: list[Fraction], second: list[Fraction]) -> None:
    column = two_words(first, second)
    assert [column.values(0), column.values(1)] == [first, second]
    assert [column.at(1, place) for place in range(3)] == second
    assert column.magnitude == max(map(abs, first + second))
    assert column.size == largest(column.whole)
    assert (column.whole.dtype == np.int64) == (column.size < SAFE)


@given(st.lists(st.tuples(COLUMNS, COLUMNS, NUMBERS), max_size=4), NUMBERS)
def test_combinations_are_those_of_fractions(
    parts: list[tuple[list[Fraction], list[Fraction], Fraction]], bias: Fraction
) -> None:
    found = combination([(two_words(first, second), factor) for first, second, factor in parts], bias, (2, 3))
    for place in range(3):
        assert found.at(0, place) == bias + sum(first[place] * factor for first, _, factor in parts)
        assert found.at(1, place) == bias + sum(second[place] * factor for _, second, factor in parts)
    assert found.size == largest(found.whole)


@given(COLUMNS, COLUMNS)
def test_a_position_has_a_unit_of_its_own(first: list[Fraction], second: list[Fraction]) -> None:
    column = two_words(first, second)
    for position in range(3):
        block = column.block(slice(position, position + 1))
        assert [block.at(0, 0), block.at(1, 0)] == [first[position], second[position]]
        assert column.unit == 1 or gcd(block.unit, *(int(value) for value in block.whole.flat)) == 1
        assert (block.whole.dtype == np.int64) == (max(block.size, block.unit) < SAFE)


@pytest.mark.parametrize(
    ("size", "kind"), [(SAFE - 1, np.int64), (SAFE, object), (-SAFE + 1, np.int64), (-SAFE, object)]
)
def test_machine_integers_up_to_the_limit(size: int, kind: type) -> None:
    assert Exact.row([size, 0], 1).whole.dtype == kind
    assert Exact.of(np.array([[size, 0]], dtype=object)).whole.dtype == kind


def test_a_sum_that_might_overflow_is_made_of_python_s_integers() -> None:
    """Each term fits into 63 bits, but their sum does not, nor does the sum with a sign."""
    column = Exact.row([2**61, -(2**61), 5], 1)
    assert column.whole.dtype == np.int64
    four = combination([(column, 1)] * 4, 0, (1, 3))
    assert four.values(0) == [2**63, -(2**63), 20]
    assert four.whole.dtype == object
    none = combination([(column, 1), (column, -1)] * 2, 7, (1, 3))
    assert none.values(0) == [7, 7, 7]
    assert none.whole.dtype == np.int64


def test_an_array_is_widened_from_the_limit_on() -> None:
    whole = np.array([2**40, -1])
    assert widened(whole, SAFE - 1).dtype == np.int64
    assert widened(whole, SAFE).dtype == object


def test_what_a_large_unit_and_all_numbers_share_is_cancelled() -> None:
    shared = Exact.of(np.array([[6 * LARGE_UNIT, 10 * LARGE_UNIT]]), 4 * LARGE_UNIT)
    assert (shared.whole.tolist(), shared.unit, shared.size) == ([[3, 5]], 2, 5)
    assert Exact.of(np.array([[2, 4]]), 2).unit == 2  # a small unit is left alone
    zero = Exact.of(np.array([[0, 0]]), LARGE_UNIT)
    assert (zero.unit, zero.size) == (1, 0)


def test_nothing_has_no_size() -> None:
    assert largest(np.zeros((0, 3), dtype=np.int64)) == 0
