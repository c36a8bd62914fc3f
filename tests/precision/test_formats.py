"""Tests of the numbers of formats against numpy's and ml_dtypes' types, and of functions of positions against exact
arithmetic.
"""

from fractions import Fraction
from math import inf, isnan
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.precision.formats import FORMATS
from hardsim.precision.functions import float_values
from tests.support.format_evaluation import TYPES, nearest, to_odd
from tests.support.language import parse_arith

NAMES = list(TYPES)


def all_numbers(name: str) -> Any:
    """Return every finite number of a format of 8 or 16 bits, in order."""
    bits = np.dtype(TYPES[name]).itemsize * 8
    codes = np.arange(2**bits, dtype=np.uint8 if bits == 8 else np.uint16)
    with np.errstate(invalid="ignore"):
        values = codes.view(TYPES[name]).astype(np.float64)
    return np.unique(values[np.isfinite(values)])


@pytest.mark.parametrize("name", NAMES)
def test_what_a_format_is(name: str) -> None:
    form, message = FORMATS[name], ml_dtypes.finfo(TYPES[name])  # type: ignore[no-untyped-call]
    assert form.largest == float(message.max)
    assert form.least == float(message.smallest_subnormal)
    assert 2 * form.unit == float(message.eps)
    assert float(form.spacing(np.array(1.0))) == float(message.eps)


@pytest.mark.parametrize("name", ["bfloat16", "float16", "float8_e4m3"])
def test_each_number_and_what_lies_between_two_is_rounded_to_the_nearest(name: str) -> None:
    form, numbers = FORMATS[name], all_numbers(name)
    assert np.array_equal(form.round(numbers), numbers)
    low, high = numbers[:-1], numbers[1:]
    middle = (low + high) / 2
    assert np.array_equal(form.round(np.nextafter(middle, -inf)), low)
    assert np.array_equal(form.round(np.nextafter(middle, inf)), high)
    # The middle is rounded to the number whose last bit is 0, as seen in the type's own bits.
    kind = TYPES[name]
    bits = np.uint8 if np.dtype(kind).itemsize == 1 else np.uint16
    even = (low.astype(kind).view(bits) & 1) == 0
    assert np.array_equal(form.round(middle), np.where(even, low, high))


@given(st.sampled_from(NAMES), st.floats(width=64))
def test_any_number_is_rounded_as_the_type_says(name: str, x: float) -> None:
    found, expected = (float(part[0]) for part in (FORMATS[name].round(np.array([x])), nearest(np.array([x]), name)))
    assert found == expected or (isnan(found) and isnan(expected))


def test_beyond_the_largest_number() -> None:
    ends = {"float16": (65520.0, inf), "bfloat16": (2.0**128 - 2.0**119, inf), "float32": (2.0**128 - 2.0**103, inf)}
    for name, (end, beyond) in ends.items():
        form = FORMATS[name]
        found = form.round(np.array([np.nextafter(end, 0), end, -end]))
        assert found.tolist() == [form.largest, beyond, -beyond]
    # 464 lies between 448 and 480, which e4m3 does not have.
    found = FORMATS["float8_e4m3"].round(np.array([464.0, np.nextafter(464.0, inf), inf]))
    assert found[0] == 448
    assert np.isnan(found[1:]).all()


@pytest.mark.parametrize("name", NAMES)
def test_operations_done_in_float64_are_rounded_once(name: str) -> None:
    """Operations are those of Figueroa 1995, with numbers near the least one; quotients are compared with exact
    fractions.
    """
    form, rng = FORMATS[name], np.random.default_rng(0)
    sizes = [rng.standard_normal(400) * 2.0**k for k in (form.least_exponent - 2, form.least_exponent + 9, 0, 3)]
    x, y = (form.round(rng.permutation(np.concatenate(sizes))) for _ in range(2))
    y = np.where(y == 0, 1.0, y)
    for one, other, quotient in zip(x, y, form.round(x / y), strict=True):
        exact = Fraction(one) / Fraction(other)
        if abs(exact) < form.largest:
            near = [quotient + k * float(form.spacing(np.array(quotient))) / 2 for k in (-1, 1)]
            assert all(abs(exact - Fraction(quotient)) <= abs(exact - Fraction(float(form.round(np.array(z)))))
                       for z in near)  # fmt: skip
    assert np.array_equal(form.round(x + y), nearest(to_odd(x, y), name), equal_nan=True)


FUNCTIONS = [
    "i/n", "n", "1/i^2", "(-1)^i", "i^2*n", "(i + 1)/(n^2 + 3)", "-i/(2*n)", "i^5/n^5 - (i^5 - 1)/n^5 + 1/n",
    "i^3 - i^2*(i - 1)", "7/3", "(2*i - n)/(n + i)^2", "n*(-1)^i",
]  # fmt: skip


@pytest.mark.parametrize("text", FUNCTIONS)
@pytest.mark.parametrize("n", [1, 2, 9, 1000, 30011])
def test_functions_of_positions_are_the_float64_next_to_their_exact_values(text: str, n: int) -> None:
    function = parse_arith(text, ("i", "n"), "<test>")
    i = np.arange(1, n + 1)
    places = sorted({1, 2, n // 3 + 1, n - 1, n} & set(i.tolist()))
    for inverse in (False, True):
        found = float_values(function, i, n, inverse)
        exact = [Fraction(function.evaluate(i=k, n=n)) for k in places]
        if found is not None:
            assert [float(found[k - 1]) for k in places] == [float(1 / v if inverse else v) for v in exact]


def test_what_is_no_quotient_of_polynomials_or_too_large_is_left_to_others() -> None:
    i = np.arange(1, 5)
    for text in ("log(i + 1)", "i^9", "9007199254740993*i", "i mod 2"):
        assert float_values(parse_arith(text, ("i", "n"), "<test>"), i, 4) is None
    # The two parts of the difference are too large, although the difference is not.
    text = "i^5/n^5 - (i^5 - 1)/n^5"
    assert float_values(parse_arith(text, ("i", "n"), "<test>"), np.arange(1, 1001), 1000) is None
    assert float_values(parse_arith("1/(i - 1)", ("i", "n"), "<test>"), i, 4) is None
