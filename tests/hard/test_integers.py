"""Columns of integers over a unit, compared with Fractions, also where machine integers would overflow."""

from dataclasses import replace
from fractions import Fraction
from math import gcd, lcm
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.hard.hardmax import Scores
from hardsim.network.integers import LARGE_UNIT, SAFE, Exact, combination, largest, quotient, widened

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


@given(COLUMNS, COLUMNS, st.booleans())
def test_clipped_columns_are_clipped_fractions_and_know_their_ends(
    first: list[Fraction], second: list[Fraction], high: bool
) -> None:
    column = two_words(first, second)
    found = column.clip(high)
    for word, row in enumerate((first, second)):
        assert found.values(word) == [max(Fraction(0), min(value, Fraction(1)) if high else value) for value in row]
    for one in (column, found, Exact(column.whole, column.unit, column.size)):
        assert one.ends == (one.whole.min(), one.whole.max())
        assert (one.least, one.most) == (min(one.values(0) + one.values(1)), max(one.values(0) + one.values(1)))
        assert one.size == largest(one.whole)


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


@pytest.mark.parametrize("over", [1, 6])
@pytest.mark.parametrize("scale", [1, 12, 2**40])
def test_means_over_many_counts_are_those_of_fractions(over: int, scale: int) -> None:
    """The counts 1 to 60 have no common multiple below 2^62; the unit is still the least that `Exact.of` finds."""
    random, counts = Random(over * scale), np.arange(1, 61)
    totals = np.array([[random.randint(-9, 9) * scale for _ in counts] for _ in range(3)])
    found = quotient(totals, counts[None], over)
    for word, row in enumerate(totals.tolist()):
        assert found.values(word) == [
            Fraction(total, count * over) for total, count in zip(row, range(1, 61), strict=True)
        ]
    plain = Exact.of(found.whole.astype(object), found.unit)
    assert (found.unit, found.size, found.whole.dtype) == (plain.unit, plain.size, plain.whole.dtype)
    assert found.whole.dtype == object
    assert found.ratio is not None
    tops, unders = found.ratio
    assert [
        [Fraction(top, under) for top, under in zip(row, unders.tolist(), strict=True)] for row in tops.tolist()
    ] == [found.values(word) for word in range(3)]
    # By rows, the numbers have the same least units with these machine integers as without.
    keys = Exact.row(range(60), 1)
    with_ratio, without = (Scores.of([(one, keys)], 60) for one in (found, replace(found, ratio=None)))
    assert with_ratio.units == without.units
    assert all((one == two).all() for one, two in zip(with_ratio.queries, without.queries, strict=True))
