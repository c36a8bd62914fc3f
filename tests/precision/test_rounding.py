"""Tests of rounding to number formats against numpy and ml_dtypes, and of lengths that follow from it."""

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.precision.formats import FORMATS, Floats
from hardsim.precision.functions import float_values
from tests.support.language import parse_arith

DTYPES: dict[str, Any] = {
    "float32": np.float32,
    "bfloat16": ml_dtypes.bfloat16,
    "float16": np.float16,
    "float8_e4m3": ml_dtypes.float8_e4m3fn,
}


def library(name: str, x: Floats) -> Floats:
    """Round numbers of float32 with the library of the format."""
    with np.errstate(all="ignore"):
        return x.astype(np.float32).astype(DTYPES[name]).astype(np.float64)


@pytest.mark.parametrize("name", FORMATS)
def test_rounding_is_that_of_the_libraries(name: str) -> None:
    random = np.random.default_rng(0)
    sizes = 2.0 ** random.integers(-140, 128, 40_000).astype(np.float64)
    with np.errstate(all="ignore"):
        some = (random.standard_normal(40_000) * sizes).astype(np.float32).astype(np.float64)
    ends = np.array([0.0, -0.0, np.inf, -np.inf, 448, 464, 465, 480, 65504, 65519, 65520, 3.389e38, 3.4e38])
    x = np.concatenate([some[np.isfinite(some)], ends.astype(np.float32).astype(np.float64)])
    np.testing.assert_array_equal(FORMATS[name].round(x), library(name, x))


@pytest.mark.parametrize("name", ["bfloat16", "float16", "float8_e4m3"])
def test_numbers_and_the_middles_between_them(name: str) -> None:
    """Every number of a format is rounded to itself, and a middle of two to the one with an even last digit."""
    width = 8 if name == "float8_e4m3" else 16
    with np.errstate(all="ignore"):
        numbers = np.arange(2**width, dtype=f"uint{width}").view(DTYPES[name]).astype(np.float64)
    held = np.unique(numbers[np.isfinite(numbers)])
    np.testing.assert_array_equal(FORMATS[name].round(held), held)
    middles = (held[1:] + held[:-1]) / 2  # with one more digit, which float32 can represent
    np.testing.assert_array_equal(FORMATS[name].round(middles), library(name, middles))
    assert FORMATS[name].largest == held[-1]
    assert FORMATS[name].least == held[held > 0][0]
    assert FORMATS[name].unit == (held[held > 1][0] - 1) / 2


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_float64_is_rounded_once(x: float) -> None:
    """Rounding does not go through float32, which would round numbers near a middle twice."""
    form = FORMATS["bfloat16"]
    (found,) = form.round(np.array([x]))
    below, above = library("bfloat16", np.array([np.nextafter(np.float32(found), np.float32(-np.inf))])), found
    assert np.isinf(found) or abs(found - x) <= max(form.spacing(np.array([x]))[0] / 2, form.least / 2)
    assert below[0] <= above


def test_functions_are_the_nearest_floats() -> None:
    i = np.arange(1, 400)
    for text in ("i/n", "i", "1/i", "(-1)^i", "i^2", "1/(2*n)", "-i/(n + 1)", "3"):
        function, n = parse_arith(text), 399
        found = float_values(function, i, n)
        assert found is not None
        np.testing.assert_array_equal(found, [float(function.evaluate(i=int(k), n=n)) for k in i])
    assert float_values(parse_arith("sqrt(i)"), i, 399) is None


def ties(name: str, how: str) -> Iterator[int]:
    """Yield the lengths at which two neighbours of a nearest head with the logits (8 + 4 j/n) n have equal rounded
    logits, or ones in the wrong order.

    The logits are multiplied by n, divided by a rounded 1/n, or rounded once.
    """
    r = FORMATS[name].round
    for n in range(2, 800):
        j = np.arange(1, n + 1, dtype=np.float64)
        score = r(8 + r(4 * r(j / n)))
        by = {
            "multiplied": lambda: r(score * r(np.array(float(n)))),  # noqa: B023  # it is called at once
            "divided": lambda: r(score / r(np.array(1 / n))),  # noqa: B023
            "once": lambda: r(8 * n + 4 * j),  # noqa: B023
        }[how]()
        if (np.diff(by) <= 0).any():
            yield n


@pytest.mark.parametrize(
    ("name", "how", "first"),
    [
        ("float16", "multiplied", 410),
        ("bfloat16", "multiplied", 52),
        ("float16", "divided", 343),
        ("bfloat16", "divided", 47),
        ("float16", "once", 683),
        ("bfloat16", "once", 86),
        ("float8_e4m3", "multiplied", 5),
    ],
)
def test_the_grouping_belongs_to_the_answer(name: str, how: str, first: int) -> None:
    assert next(ties(name, how)) == first


def test_what_overflows() -> None:
    form = FORMATS["float16"]
    assert int(np.argmax(np.isinf(form.round(np.arange(300.0) ** 2)))) == 256
    assert int(np.argmax(np.isinf(form.round(16 * np.arange(1.0, 20) ** 4)))) + 1 == 8
