"""Enclosures in float64: rounding errors against exact rationals, exp against balls."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from hardsim.run.enclosure import EXP_ERROR, Block, between, bits, combine, fixed, floats, gamma, growth, mean, outward
from hardsim.spec.ir import Mask

pytestmark = pytest.mark.sweep

RATIONALS = st.fractions(min_value=-1000, max_value=1000, max_denominator=1000)
N = 5


def holds(block: Block, i: int, value: Fraction | int) -> bool:
    """Whether an enclosure of the first word contains a rational at position i."""
    middle = Fraction(float(block.mid[0, i]))
    return middle == value if block.rad is None else abs(middle - value) <= Fraction(float(block.rad[0, i]))


def test_exp_is_as_accurate_as_assumed() -> None:
    rng = np.random.default_rng(7)
    special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        2.0**-1074,
        -(2.0**-60),
        709.0,
        -708.0,
        *(k * np.log(2) for k in range(-1021, 1023)),
    ]
    near = [np.nextafter(x, side) for x in special for side in (-np.inf, np.inf)]
    arguments = np.concatenate(
        [
            np.array(special + near),
            rng.uniform(-708, 709, 30_000),
            rng.uniform(-1, 1, 10_000),
            -np.logspace(-12, 2.8, 5000),
        ]
    )
    arguments = arguments[(arguments > -708) & (arguments < 709)]
    worst = 0.0
    before = ctx.prec
    ctx.prec = 100
    try:
        # numpy takes other code for long and for short arrays, and for strided ones.
        for found in (np.exp(arguments), np.exp(arguments[::-1])[::-1], np.array([np.exp(x) for x in arguments])):
            for x, y in zip(arguments.tolist(), found.tolist(), strict=True):
                true = arb(x).exp()
                worst = max(worst, float(abs(arb(y) / true - 1).upper()))
    finally:
        ctx.prec = before
    assert worst <= EXP_ERROR


def test_exp_underflows_to_something_small() -> None:
    low = np.linspace(-760, -708, 4001)
    assert (np.exp(low) <= 2.0**-1020).all()
    assert (np.exp(low) >= 0).all()
    assert np.exp(np.array([-np.inf, -1e300]))[0] == 0


@given(st.lists(RATIONALS, min_size=1, max_size=6))
def test_rationals_are_rounded_with_their_error(values: list[Fraction]) -> None:
    mid, rad = floats(values)
    for value, near, error in zip(values, mid, rad, strict=True):
        assert abs(Fraction(float(near)) - value) <= Fraction(float(error))
        assert error <= 2.0**-52 * abs(near) + 1e-300
    exact = fixed(values)
    assert (exact.rad is None) == all(Fraction(float(value)) == value for value in values)
    assert exact.static == tuple(values)


def test_what_no_float_holds_is_off_by_infinity() -> None:
    mid, rad = floats([Fraction(10) ** 400, -(Fraction(10) ** 400), Fraction(1, 10**400)])
    assert mid.tolist() == [0, 0, 0]
    assert rad[0] == rad[1] == np.inf
    assert 0 < rad[2] < 1e-290


@given(
    st.lists(st.tuples(RATIONALS, st.lists(RATIONALS, min_size=N, max_size=N)), min_size=1, max_size=4),
    st.lists(RATIONALS, min_size=N, max_size=N),
)
def test_linear_forms_of_rationals(terms: list[tuple[Fraction, list[Fraction]]], base: list[Fraction]) -> None:
    found = combine([(value, fixed(column)) for value, column in terms], fixed(base))
    for i in range(N):
        assert holds(found, i, base[i] + sum(value * column[i] for value, column in terms))


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.lists(st.integers(0, 1), min_size=N, max_size=N)), min_size=1, max_size=4)
)
def test_gates_of_booleans_are_exact(terms: list[tuple[int, list[int]]]) -> None:
    blocks = [(Fraction(value, 2), bits(np.array([column], dtype=float))) for value, column in terms]
    found = combine(blocks, fixed([Fraction(1, 4)] * N))
    assert found.rad is None
    for i in range(N):
        assert holds(found, i, Fraction(1, 4) + sum(Fraction(value * column[i], 2) for value, column in terms))


def test_entries_without_radius_stay_exact_beside_others() -> None:
    low, high = np.array([[0.0, 1.0, 0.25]]), np.array([[0.0, 1.0, 0.75]])
    half = between(low, high, 0, 1)
    assert half.rad is not None
    assert half.rad[0, :2].tolist() == [0, 0]
    assert half.rad[0, 2] >= 0.25
    flipped = combine([(-1, half)], fixed([1, 1, 1]))
    assert flipped.rad is not None
    assert (flipped.mid[0, :2].tolist(), flipped.rad[0, :2].tolist()) == ([1, 0], [0, 0])
    assert flipped.rad[0, 2] >= 0.25
    third = combine([(Fraction(1, 3), half)], fixed([0, 0, 0]))  # no entry of it is exact any more
    assert third.rad is not None
    assert (third.rad > 0).all()


@pytest.mark.parametrize("mask", [mask for mask in Mask if not mask.strict])
@given(values=st.lists(RATIONALS, min_size=N, max_size=N), error=st.integers(0, 3))
def test_means(mask: Mask, values: list[Fraction], error: int) -> None:
    exact = [
        sum((values[j - 1] for j in mask.visible(i, N)), Fraction(0)) / len(mask.visible(i, N)) for i in range(1, N + 1)
    ]
    static = mean(fixed(values), mask)
    assert static.static == tuple(exact)
    mid, rad = floats(values)
    loose = mean(Block(mid[None, :], outward(rad[None, :] + error)), mask)
    shifted = [value + error for value in exact]
    for i in range(N):
        assert holds(static, i, exact[i])
        assert holds(loose, i, exact[i])
        assert holds(loose, i, shifted[i])


@pytest.mark.parametrize("mask", [mask for mask in Mask if not mask.strict])
def test_means_of_booleans_are_rounded_once_and_numbered_by_their_sums(mask: Mask) -> None:
    values = [1, 0, 1, 1, 0]
    found = mean(bits(np.array([values], dtype=float)), mask)
    sums = [sum(values[j - 1] for j in mask.visible(i, N)) for i in range(1, N + 1)]
    assert found.codes is not None
    assert (found.codes[0].tolist(), found.kinds) == (sums, N + 1)
    for i in range(N):
        assert holds(found, i, Fraction(sums[i], len(mask.visible(i + 1, N))))


@given(st.floats(0, 0.999))
def test_growth_is_more_than_the_exponential(x: float) -> None:
    found = float(growth(np.array([x]))[0])
    assert Fraction(found) >= Fraction(float(np.expm1(x))) * (1 - Fraction(1, 2**40))
    assert growth(np.array([1.0, np.inf]))[0] == np.inf


@pytest.mark.parametrize("k", [1, 2, 1000, 2**21])
def test_gamma_bounds_k_roundings(k: int) -> None:
    u = Fraction(1, 2**53)
    assert Fraction(gamma(k)) >= k * u / (1 - k * u)
