"""Rotary positions and the steps to scores in the checker of certificates, against arithmetic of many digits."""

from fractions import Fraction
from typing import Any

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.verify.arithmetic import Rejected
from hardsim.verify.external.numbers import U
from hardsim.verify.external.parts import BITS, TURN_ERROR, RotaryData, ScoreData, cosine_and_sine, power_of

REAL = mpmath.mp.clone()
REAL.prec = 400
bases = st.fractions(min_value=Fraction(1, 50), max_value=10**6, max_denominator=99).filter(lambda base: base > 0)


def real(number: Fraction) -> Any:
    """Return a rational as a number of many digits."""
    return REAL.mpf(number.numerator) / number.denominator


@given(bases, st.fractions(min_value=-3, max_value=3, max_denominator=64))
def test_powers_are_integer_parts(base: Fraction, power: Fraction) -> None:
    found = power_of(base, power)
    over = Fraction(base) ** abs(power.numerator) if power >= 0 else 1 / Fraction(base) ** abs(power.numerator)
    q, unit = power.denominator, Fraction(1, 2**BITS)
    assert (found * unit) ** q <= over < ((found + 1) * unit) ** q


@given(st.integers(0, 2**24 * 2**BITS))
def test_cosines_and_sines(angle: int) -> None:
    c, s = cosine_and_sine(angle)
    true = REAL.mpf(angle) / 2**BITS
    assert abs(c - REAL.cos(true)) <= TURN_ERROR
    assert abs(s - REAL.sin(true)) <= TURN_ERROR


@given(
    bases,
    st.sampled_from([2, 4, 6, 8]),
    st.booleans(),
    st.fractions(min_value=Fraction(1, 9), max_value=9, max_denominator=9),
    st.integers(0, 4095),
    st.lists(st.floats(-1e3, 1e3), min_size=8, max_size=8),
    st.lists(st.floats(-1, 1), min_size=8, max_size=8),
)
def test_turned_vectors(
    base: Fraction,
    size: int,
    interleaved: bool,
    divisor: Fraction,
    place: int,
    mid: list[float],
    shares: list[float],
) -> None:
    """Every vector between the bounds is turned to one between the bounds."""
    off = [abs(a) * 1e-9 for a in mid]
    near, bounds = RotaryData.of(base, size, interleaved, divisor).turned(mid, off, place)
    x = [REAL.mpf(a) + REAL.mpf(e) * share for a, e, share in zip(mid, off, shares, strict=True)]
    true = [*x]
    for r in range(size // 2):
        a, b = (2 * r, 2 * r + 1) if interleaved else (r, r + size // 2)
        angle = place * real(base) ** (-REAL.mpf(2 * r) / size) / real(divisor)
        true[a] = x[a] * REAL.cos(angle) - x[b] * REAL.sin(angle)
        true[b] = x[b] * REAL.cos(angle) + x[a] * REAL.sin(angle)
    assert all(abs(a - b) <= e for a, b, e in zip(near, true, bounds, strict=True))
    assert all(e <= 2e-9 * (1 + max(map(abs, mid))) for e in bounds)


@given(
    st.none() | st.floats(0.01, 100),
    st.floats(-12, 3),
    st.floats(-300, 300),
    st.floats(0, 1e-9),
    st.floats(-1, 1),
    st.integers(0, 4000),
)
def test_scores(cap: float | None, exponent: float, product: float, error: float, share: float, distance: int) -> None:
    slope = 2.0**exponent
    found = ScoreData(cap, slope).score(product, distance)
    loose = ScoreData(cap, slope).error(error, abs(product), distance)
    true = REAL.mpf(product) + REAL.mpf(error) * share
    near_cap, near_slope = (REAL.mpf(one) * (1 + share * REAL.mpf(U)) for one in (cap or 1.0, slope))
    true = true if cap is None else near_cap * REAL.tanh(true / near_cap)
    assert abs(found - (true - near_slope * distance)) <= loose
    assert loose <= error * 1.01 + 1e-10


def test_windows_and_angles() -> None:
    assert [ScoreData(window=3).sees(distance) for distance in range(5)] == [True, True, True, False, False]
    assert ScoreData().sees(10**6)
    assert ScoreData().error(0.25, 1.0, 9) == 0.25
    with pytest.raises(Rejected, match="angle"):
        RotaryData.of(Fraction(10), 2, True, Fraction(1, 10**9)).at(9)
