"""Floats and bounds of the checker of external networks, against mpmath at 200 bits, and against exact rationals."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.verify.arithmetic import Rejected
from hardsim.verify.external import numbers
from hardsim.verify.external.numbers import (
    ACTIVATION_ERROR,
    ACTIVATIONS,
    CURVATURE,
    ETA,
    EXP_ERROR,
    FAR,
    NEGLIGIBLE,
    PIECES,
    STEEPEST,
    U,
    dot,
    exp,
    exp_between,
    gamma,
    logistic,
    require_doubles,
    tail,
)

REAL = mpmath.mp.clone()
REAL.prec = 200
moderate = st.floats(-FAR, FAR) | st.floats(-4, 4) | st.floats(-1e-8, 1e-8)
anything = moderate | st.floats(-1e100, 1e100)


def gelu_new(x: Any) -> Any:
    return x * (1 + REAL.tanh(REAL.sqrt(2 / REAL.pi) * (x + REAL.mpf(44715) / 10**6 * x**3))) / 2


TRUE: dict[str, Callable[[Any], Any]] = {
    "relu": lambda x: max(x, 0),
    # the tail is computed on the side where it does not cancel
    "gelu": lambda x: x - x * REAL.erfc(x / REAL.sqrt(2)) / 2 if x > 0 else x * REAL.erfc(-x / REAL.sqrt(2)) / 2,
    "gelu_new": gelu_new,
    "silu": lambda x: x / (1 + REAL.exp(-x)),
    "quick_gelu": lambda x: x / (1 + REAL.exp(-x * 1702 / 1000)),
    "tanh": REAL.tanh,
}


def test_constants() -> None:
    two, pi = numbers._LN2, numbers.PI
    assert abs(REAL.mpf(two.numerator) / two.denominator - REAL.log(2)) < 1e-58
    assert abs(REAL.mpf(pi.numerator) / pi.denominator - REAL.pi) < 1e-58
    assert [float(REAL.mpf(2) ** (REAL.mpf(k) / 32)) for k in range(32)] == numbers._ROOTS
    assert abs(numbers.LINEAR / float(2 * REAL.sqrt(2 / REAL.pi)) - 1) <= U
    assert abs(numbers.CUBIC / float(2 * REAL.sqrt(2 / REAL.pi) * REAL.mpf("0.044715")) - 1) <= 2 * U


@given(moderate)
def test_exp(x: float) -> None:
    true = REAL.exp(REAL.mpf(x))
    assert abs(exp(x) - true) <= EXP_ERROR * true
    low, high = exp_between(x)
    assert low < true < high
    assert high - low <= 1e-14 * high


def test_exp_at_the_ends_of_its_steps() -> None:
    step = float(REAL.log(2) / 32)
    for n in (*range(-200, 200), *range(-32_300, 32_300, 997)):
        for x in ((n + 0.5) * step, math.nextafter((n + 0.5) * step, math.inf), n * step):
            true = REAL.exp(REAL.mpf(x))
            assert abs(exp(x) - true) <= EXP_ERROR * true


def test_exp_beyond_its_range() -> None:
    assert exp_between(-FAR - 1) == (0.0, NEGLIGIBLE)
    assert REAL.exp(-FAR) < NEGLIGIBLE
    assert exp_between(-math.inf) == (0.0, NEGLIGIBLE)
    for x in (math.nextafter(FAR, math.inf), 1e300, math.inf, math.nan):
        with pytest.raises(Rejected):
            exp_between(x)
    for x in (-FAR - 1, math.inf, -math.inf, math.nan):
        with pytest.raises(Rejected):
            exp(x)


@given(anything)
def test_logistic(x: float) -> None:
    true = 1 / (1 + REAL.exp(-REAL.mpf(x)))
    assert abs(logistic(x) - true) <= 7 * U * true + NEGLIGIBLE


@given(st.floats(0, 12) | st.floats(0, 1e-300) | st.floats(0, 1e300))
def test_tail(t: float) -> None:
    true = REAL.erfc(REAL.mpf(t) / REAL.sqrt(2)) / 2
    assert abs(tail(t) - true) <= 2 * U


def test_tail_at_the_ends_of_its_pieces() -> None:
    for piece in range(PIECES + 2):
        for t in (piece / 8, math.nextafter(piece / 8, 0), (piece + 0.5) / 8):
            assert abs(tail(t) - REAL.erfc(REAL.mpf(t) / REAL.sqrt(2)) / 2) <= 2 * U


@pytest.mark.parametrize("name", ACTIVATIONS)
@given(x=anything)
def test_activations(name: str, x: float) -> None:
    found, true = ACTIVATIONS[name](x), TRUE[name](REAL.mpf(x))
    assert abs(found - true) <= ACTIVATION_ERROR * abs(x) + ETA


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_of_special_floats(name: str) -> None:
    assert ACTIVATIONS[name](0.0) == 0.0
    assert ACTIVATIONS[name](5e-324) <= 5e-324
    if name == "tanh":
        assert [numbers.tanh(x) for x in (-1e200, 1e200, math.inf)] == [-1.0, 1.0, 1.0]
        return
    assert not abs(ACTIVATIONS[name](-1e200)) > ETA
    assert ACTIVATIONS[name](1e200) == 1e200
    assert ACTIVATIONS[name](math.inf) == math.inf


def ends(x: Any) -> tuple[float, float]:
    return float(x.a), float(x.b)


def slopes(name: str, x: Any) -> tuple[Any, Any]:
    """Return interval enclosures of the first and the second derivative of a function."""
    iv = mpmath.iv
    if name == "gelu":
        density = iv.exp(-x * x / 2) / iv.sqrt(2 * iv.pi)
        # Phi lies between the floats of mpmath at the ends, widened; it increases
        low, high = (float(mpmath.ncdf(end)) for end in ends(x))
        return iv.mpf([low - 1e-12, high + 1e-12]) + x * density, density * (2 - x * x)
    if name == "tanh":
        t = 1 - 2 / (iv.exp(2 * x) + 1)
        return 1 - t * t, -2 * t * (1 - t * t)
    a = 2 * iv.sqrt(2 / iv.pi) if name == "gelu_new" else iv.mpf(1702) / 1000 if name == "quick_gelu" else iv.mpf(1)
    b = a * iv.mpf("0.044715") if name == "gelu_new" else iv.mpf(0)
    z, dz, ddz = a * x + b * x**3, a + 3 * b * x * x, 6 * b * x
    s = 1 / (1 + iv.exp(-z))
    ds = s * (1 - s)
    dds = ds * (1 - 2 * s)
    return s + x * ds * dz, 2 * ds * dz + x * (dds * dz * dz + ds * ddz)


def proved(name: str, low: float, high: float, depth: int = 0) -> bool:
    """Return True if both bounds hold between two floats, by halving until interval arithmetic shows it."""
    first, second = slopes(name, mpmath.iv.mpf([low, high]))
    if max(map(abs, ends(first))) < STEEPEST[name] and max(map(abs, ends(second))) < CURVATURE[name]:
        return True
    middle = (low + high) / 2
    return depth < 20 and proved(name, low, middle, depth + 1) and proved(name, middle, high, depth + 1)


@pytest.mark.parametrize("name", ["gelu", "gelu_new", "silu", "quick_gelu", "tanh"])
def test_bounds_of_derivatives(name: str) -> None:
    """Beyond 64 both derivatives are within 1e-20 of those of x or 0: what is left is a polynomial of degree at most 6
    times e^-64."""
    assert proved(name, -64.0, 64.0)
    assert not proved(name, -1.0, 1.0, 20)


vectors = st.lists(st.tuples(st.floats(-1e10, 1e10), st.floats(-1e-10, 1e10)), max_size=40)


@given(vectors)
def test_dot(pairs: list[tuple[float, float]]) -> None:
    x, y = [a for a, _ in pairs], [b for _, b in pairs]
    true = sum(Fraction(a) * Fraction(b) for a, b in pairs)
    size = sum(abs(Fraction(a) * Fraction(b)) for a, b in pairs)
    assert abs(Fraction(dot(x, y)) - true) <= Fraction(gamma(len(pairs) + 1)) * size + Fraction(ETA)


@pytest.mark.parametrize("k", [1, 2, 1000, 2**20, 2**30 - 1])
def test_gamma(k: int) -> None:
    assert Fraction(gamma(k)) >= k * Fraction(U) / (1 - k * Fraction(U))


def test_this_machine_has_doubles() -> None:
    require_doubles()
