"""Outward rounding and the dyadic bounds of e^x, compared with mpmath and with series of our own."""

from fractions import Fraction
from math import factorial

import flint
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mpmath import MPContext

from hardsim.theory.outward import TINIEST, exp_above, round_up
from tests.support.language import InputError
from tests.support.mistakes import raised

context = MPContext()
context.dps = 120

rationals = st.fractions(max_denominator=10**30) | st.builds(
    lambda m, e: m * Fraction(2) ** e, st.integers(-(2**200), 2**200), st.integers(-300, 300)
)


def round_down(x: Fraction, bits: int) -> Fraction:
    """Round down, by rounding the negative number up."""
    return -round_up(-x, bits)


def is_dyadic(x: Fraction, bits: int) -> bool:
    """Return True if x is an integer of at most `bits` bits times a power of two."""
    odd = abs(x.numerator)
    while odd and odd % 2 == 0:
        odd //= 2
    return x.denominator & (x.denominator - 1) == 0 and odd < 2**bits


@given(rationals, st.integers(1, 130))
@example(Fraction(1, 3), 1)
@example(Fraction(2**96 - 1), 96)
@example(Fraction(2**97 - 1), 96)
def test_rounding_goes_outwards_and_not_far(x: Fraction, bits: int) -> None:
    up, down = round_up(x, bits), round_down(x, bits)
    assert down <= x <= up
    assert is_dyadic(up, bits)
    assert is_dyadic(down, bits)
    if x:
        assert max(up - x, x - down) < Fraction(4, 2**bits) * abs(x)
    if is_dyadic(x, bits):
        assert down == x == up
    else:
        assert down < x < up
    assert round_up(up, bits) == up


def test_rounding_is_right_where_it_can_be_seen() -> None:
    # 1/3 = 0.010101... in binary, -5/7 = -0.101101...: with three bits 3/8 = 0.011 and -5/8.
    assert (round_down(Fraction(1, 3), 4), round_up(Fraction(1, 3), 4)) == (Fraction(5, 16), Fraction(3, 8))
    assert (round_down(Fraction(-5, 7), 3), round_up(Fraction(-5, 7), 3)) == (Fraction(-3, 4), Fraction(-1, 2))
    assert round_up(Fraction(0)) == 0


def taylor(x: Fraction, terms: int) -> tuple[Fraction, Fraction]:
    """Return bounds of e^x for 0 <= x <= 1: the partial sum, and the partial sum plus twice the next term, which a
    geometric series of ratio 1/2 dominates.
    """
    partial = sum((x**k / factorial(k) for k in range(terms)), Fraction(0))
    return partial, partial + 2 * x**terms / factorial(terms)


@given(st.fractions(0, 1, max_denominator=1000))
def test_exponentials_agree_with_their_series_in_rationals(x: Fraction) -> None:
    low, high = taylor(x, 40)
    assert low <= exp_above(x) <= high * (1 + Fraction(8, 2**96))
    assert 1 / high <= exp_above(-x) <= 1 / low * (1 + Fraction(8, 2**96))


@given(st.fractions(-5000, 5000, max_denominator=10**25), st.integers(1, 150))
def test_exponentials_enclose_mpmaths_closely(x: Fraction, bits: int) -> None:
    exact = context.exp(context.mpf(x.numerator) / x.denominator)
    above = exp_above(x, bits)
    # mpmath's number has at least 115 correct digits; the bound has at most 45 digits.
    slack = context.mpf(10) ** -110
    found = context.mpf(above.numerator) / above.denominator
    assert exact * (1 - slack) <= found <= exact * (1 + context.mpf(8) / 2**bits) * (1 + slack)
    assert is_dyadic(above, bits)


@pytest.mark.parametrize("x", [-(2**16) - Fraction(1, 7), -(10**40), -Fraction(7**90, 3), -(2**16), -50_000, -45_427])
def test_a_vanishing_exponential_has_the_smallest_bound(x: Fraction | int) -> None:
    """Beyond -2^16 nothing is computed; above it 2^16 ln 2 = 45426.09..."""
    assert exp_above(Fraction(x)) == TINIEST == Fraction(1, 2**65536)
    assert exp_above(Fraction(-45_426)) > TINIEST


def test_e_to_the_0_is_1_and_a_huge_exponential_is_refused() -> None:
    assert exp_above(Fraction(0)) == 1
    assert exp_above(Fraction(2**16)).numerator.bit_length() == 94549  # 2^16 / ln 2 = 94548.4...
    with pytest.raises(InputError, match="above 65536"):
        exp_above(Fraction(2**16) + Fraction(1, 9))


@pytest.mark.parametrize("function", [exp_above, round_up])
@pytest.mark.parametrize("x", [Fraction(1, 3), Fraction(0), Fraction(-(10**7))])
def test_no_bits_are_too_few(function: object, x: Fraction) -> None:
    assert callable(function)
    raised(InputError, function, x, 0, match="at least one bit")


def test_the_precision_of_others_is_left_alone() -> None:
    before = flint.ctx.prec
    exp_above(Fraction(1, 3), 500)
    raised(InputError, exp_above, Fraction(10**7))
    assert flint.ctx.prec == before
