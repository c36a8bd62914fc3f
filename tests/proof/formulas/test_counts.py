"""Errors of look-ups and of sign tests, compared with sums over all positions and counts."""

from collections.abc import Sequence
from fractions import Fraction
from math import exp, inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.proof.formulas.head_argument import number_error, table_errors, wrong_sign
from hardsim.proof.shared.ratios import common
from tests.support.check import Sites
from tests.support.model import Rational


def weights(rate: Fraction, visible: int, count: int) -> list[float]:
    """Return the attention weights for the logits `-rate (j - count)^2` at positions j = 1 to `visible`."""
    logits = [-float(rate) * (j - count) ** 2 for j in range(1, visible + 1)]
    raw = [exp(logit - max(logits)) for logit in logits]
    return [value / sum(raw) for value in raw]


def shares(rate: Fraction, column: Sequence[Rational], size: int, value: int) -> list[float]:
    """Return the weight of other values in a table, at each count up to `size` where its value is `value`."""
    return [
        sum(w for w, own in zip(weights(rate, len(column), count), column, strict=True) if own != value)
        for count in range(size + 1)
        if column[max(count, 1) - 1] == value
    ]


@given(st.fractions(Fraction(1, 8), 8, max_denominator=8), st.integers(1, 12))
def test_a_looked_up_number_is_off_by_at_most_the_bound(rate: Fraction, visible: int) -> None:
    errors = []
    for count in range(visible + 1):
        read = sum(j * weight for j, weight in enumerate(weights(rate, visible, count), start=1))
        errors.append(abs(read - max(count, 1)))
    bound = number_error(rate, visible)
    assert bound >= max(errors) - 1e-12
    # A count of 1 attains the bound; the bound may exceed it by its allowance for a count of 0.
    if rate >= 1:
        assert bound == pytest.approx(max(errors), rel=1e-9, abs=1e-15)


@given(
    st.fractions(Fraction(1, 8), 8, max_denominator=8),
    st.lists(st.sampled_from([0, 1]), min_size=1, max_size=10),
    st.data(),
)
def test_a_table_is_off_by_at_most_the_bound(rate: Fraction, column: list[int], data: st.DataObject) -> None:
    size = data.draw(st.integers(1, len(column)))
    n = len(column)
    found = table_errors(Sites((n,)), [rate] * n, column, [n] * n, [size] * n)
    assert (found == found[:, :1]).all()
    for value in (0, 1):
        wrong = shares(rate, column, size, value)
        assert (found[value, 0] >= 0) == bool(wrong)
        assert found[value, 0] >= max(wrong, default=-inf) - 1e-12


@given(
    st.dictionaries(st.integers(-9, 9).filter(bool), st.integers(1, 4), min_size=2, max_size=6),
    st.fractions(Fraction(1, 20), 3, max_denominator=20),
    st.fractions(0, 3, max_denominator=20),
    st.sampled_from([0, 1]),
)
def test_a_wrong_sign_weighs_at_most_the_bound(
    seen: dict[Rational, int], least: Fraction, more: Fraction, bit: int
) -> None:
    if len({key > 0 for key in seen}) == 1:
        return
    bound = wrong_sign(seen, bit, least)
    # For any larger y the weight of the wrong positions only falls.
    y = float(least + more) * (1 if bit else -1)
    raw = {key: number * exp(y * key) for key, number in seen.items()}
    wrong = sum(value for key, value in raw.items() if (key > 0) != bool(bit))
    assert bound >= wrong / sum(raw.values()) - 1e-12


def test_common_divisors_of_rationals() -> None:
    assert common([Fraction(1, 2), Fraction(1, 3)]) == Fraction(1, 6)
    assert common([Fraction(-4), Fraction(6)]) == 2
    assert common([]) == 0


@given(
    st.lists(st.fractions(Fraction(1, 8), 8, max_denominator=8), min_size=6, max_size=6),
    st.lists(st.sampled_from([0, 1]), min_size=6, max_size=6),
    st.booleans(),
)
def test_tables_of_several_lengths_and_rates_are_each_their_own(
    rates: list[Fraction], values: list[Rational], future: bool
) -> None:
    sites = Sites((1, 2, 3))
    visible = sites.i if future else sites.n
    found = table_errors(sites, rates, values, visible, sites.i)
    for n, start, end in sites.words():
        for site in range(start, end):
            for value in (0, 1):
                wrong = shares(rates[site], values[start : start + visible[site]], sites.i[site], value)
                assert (found[value, site] >= 0) == bool(wrong), n
                assert found[value, site] >= max(wrong, default=-inf) - 1e-12
