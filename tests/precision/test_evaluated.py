"""Tests of the values that model.py computes for functions of positions and lengths, and of bounds for every
machine."""

import math
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import mpmath
import numpy as np
import pytest

from hardsim.precision.evaluated import evaluated, floating
from hardsim.precision.safe_lengths import FormatRow, assumptions_of, precision_of
from hardsim.writing.layout import function_json
from hardsim.writing.running import encoded_word
from tests.lang import test_recorded_expressions as recorded
from tests.support.check import Export, ModelOptions, Subject, export_of, read_input
from tests.support.format_evaluation import Plainly
from tests.support.language import SourceError, parse_arith
from tests.support.subjects import FORMULAS
from tests.writing.bare import names_of_model

MODEL = names_of_model()
value = MODEL["value"]
PLACES = ((1, 1), (2, 5), (4, 4), (7, 8), (3, 64), (100, 4096))
TEXTS = [text for sort, text, found in recorded.RECORDS if sort == "number" and "text" in found]
REAL = [
    "log(n+1)/sqrt(i)",
    "exp(-i/n)",
    "sqrt(2*n)^3",
    "sqrt(2*n)^(-3)",
    "n^21*log(1+1/n^20)",
    "n^21*(exp(1/n^20)-1)",
    "2*n^21*(sqrt(1+1/n^20)-1)",
    "(1+n^20*sqrt(1)-n^20)*n",
    "[i^2 < n and not log(n) = log(i) or i mod 3 = 1]*log(2)",
    "[n*log(2) > log(2^n)]",
    "2^sqrt(n^2)",
    "sqrt(n^2) mod 3 + sqrt(4) div 2",
    "exp(n^2)/exp(n^2)",
    "exp(-n^2)",
    "(log(2) - 1)^3",
    "(log(1/3)*n)^5",
    "exp(exp(n)-exp(n))",
    "((n^20+1) div 1)/(n^20 div 1)-1",
    "((2*n) div 1)^(-(n div 1))",
    "log(log(n+1))",
    "n^400*sqrt(2)",
    "1/n^400/sqrt(2)",
]


def text_of(text: str) -> Any:
    return function_json(parse_arith(text), {})


def of_model(text: str, i: int, n: int) -> float:
    """Return the value that model.py computes; NaN if it raises an error."""
    try:
        return float(value(text, i, n))
    except (ArithmeticError, ValueError, TypeError):
        return math.nan


def rounded_apart(name: str, rng: Random) -> Any:
    """Return a function whose value is off by at most two units in the last place, in either direction."""

    def function(x: Any) -> float:
        given = float(x)
        getattr(math, name)(given)  # raises the same errors
        if (name, given) in (("log", 1.0), ("exp", 0.0)):
            return float(name == "exp")
        with mpmath.workdps(60):
            exact = getattr(mpmath, name)(mpmath.mpf(given))
            unit = mpmath.mpf(math.ulp(float(exact)))
            if float(exact) > exact and math.frexp(float(exact))[0] in (0.5, -0.5):
                unit /= 2
            off = rng.choice([-1.99, -1.0, 0.0, 1.0, 1.99])
            found = max(float(exact + off * unit), 0.0 if name == "exp" else -math.inf)
            return found if abs(mpmath.mpf(found) - exact) <= 2 * unit else float(exact)

    return function


@pytest.mark.parametrize("text", REAL)
def test_this_machine_computes_what_model_py_does_here(text: str) -> None:
    written = text_of(text)
    assert floating(written)
    for i, n in PLACES:
        found = evaluated([written], [i], n).found[0]
        assert np.array_equal(found, of_model(written, i, n), equal_nan=True), (i, n)


def test_recorded_expressions_are_what_model_py_computes() -> None:
    held = 0
    for text in TEXTS:
        for i, n in PLACES[:4]:
            try:
                parse_arith(text).evaluate(i=i, n=n)
            except SourceError:
                continue
            values = evaluated([text_of(text)], [i], n)
            assert np.array_equal(values.found[0], of_model(text_of(text), i, n), equal_nan=True), (text, i, n)
            if not floating(text_of(text)):
                assert np.array_equal(values.low, values.high, equal_nan=True), (text, i, n)
            held += 1
    assert held > 600


@pytest.mark.parametrize("text", REAL)
def test_another_machine_lies_between_the_ends(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """model.py itself runs, with functions that are off by up to two units."""
    written, rng, held = text_of(text), Random(1), 0
    for name in ("log", "exp"):
        monkeypatch.setitem(MODEL["FUNCTIONS"], name, rounded_apart(name, rng))
    for i, n in PLACES:
        values = evaluated([written], [i], n)
        low, high = values.low[0], values.high[0]
        if math.isnan(low):
            continue
        held += 1
        for _ in range(12):
            assert low <= of_model(written, i, n) <= high, (i, n)
    assert held or text == "[n*log(2) > log(2^n)]"


@pytest.mark.parametrize("text", ["log(n+1)", "sqrt(i)", "exp(-i/n)", "1/(n*log(n+2))", "sqrt(2*n)^3", "3^sqrt(16)"])
def test_ends_are_near_each_other(text: str) -> None:
    for i, n in PLACES:
        values = evaluated([text_of(text)], [i], n)
        assert 0 <= values.high[0] - values.low[0] <= 4e-14 * values.low[0]


def test_what_is_lost_in_a_difference() -> None:
    """1/6^20 is 1.23 units of 2^-52, so 1 + 1/6^20 is 1 + 2^-52 in float64, whose logarithm is 2^-52 - 2^-105.

    Times 6^21 that is 4.871, and not 6. 1/7^20 is below half a unit: the logarithm of 1 is 0, and model.py divides by
    it.
    """
    text = text_of("n^21*log(1+1/n^20)")
    values = evaluated([text], [1], 6)
    assert values.low[0] <= 6**21 * Fraction(2) ** -52 * (1 - Fraction(2) ** -53) <= values.high[0] < 4.872
    assert evaluated([text], [1], 7).high[0] == 0
    divided = evaluated([f"1/({text})"], [1], 7)
    assert np.isnan([divided.found, divided.low, divided.high]).all()


def test_a_comparison_that_may_go_either_way_is_not_known() -> None:
    """log(2^n) and n log(2) are equal, but their floats may differ: this machine shows only one result."""
    values = evaluated([text_of("[n*log(2) > log(2^n)]")], [1], 5)
    assert values.found[0] in (0, 1)
    assert np.isnan(values.low).all()
    assert evaluated([text_of("[2*log(2) > log(3)]")], [1], 5).low[0] == 1


def test_tables_and_conditions_beside_floats() -> None:
    functions: list[Any] = ["i % 3 == 0", "PRIME(i)", (2, ("1/3", "5"), "-1"), ("1/2", "1/4"), "log(i)"]
    for i, expected in ((3, 1 + 1 + 5 + 0.25), (2, 0 + 1 + 1 / 3 + 0.25), (4, 0 + 0 - 1 + 0.25)):
        values = evaluated(functions, [i], 2)
        assert values.low[0] <= expected + math.log(i) <= values.high[0] <= values.low[0] + 1e-14


# ---- networks ----


def of_temperature(tau: str, formula: str = "since.ltl") -> Export:
    return export_of(read_input(str(FORMULAS / formula)), ModelOptions(beta=Fraction(3), tau=parse_arith(tau)), 8)


def row_of(made: Export, max_n: int) -> FormatRow:
    (row,) = precision_of(made, "it", ["float32"], max_n, 5000, False).rows
    return row


def wrong_as_computed(made: Export, word: tuple[str, ...]) -> bool:
    """Return whether the answer changes if the temperature is computed by model.py and all else is exact."""
    (scale,) = {head["scale"] for layer in made.layout.description["layers"] for head in layer["heads"]}
    factor = of_model(scale, 1, len(word))
    if math.isnan(factor):
        return True  # model.py raises an error
    heads = len(made.layout.scaled(len(word)))
    layout = replace(made.layout, scaled=lambda n: [[Fraction(factor)] * n] * heads)
    tokens = np.array([encoded_word(layout, word, np.dtype(np.float64))])
    assert isinstance(made.target, Subject)
    (right,) = made.target.answers([word]) or []
    return bool(Plainly(layout, "float32", None).outputs(tokens)[0, -1, 0] != (1.0 if right else 0.0))


LOST = {
    "1/(n^21*log(1+1/n^20))": 6,
    "1/(n^21*(exp(1/n^20)-1))": 6,
    "1/(2*n^21*(sqrt(1+1/n^20)-1))": 6,
    "1/(n*(1+n^20*sqrt(1)-n^20))": 7,
    "1/(n*(exp(0)+n^20-n^20))": 7,
    "1/(n*(log(1)+n^20+1-n^20*sqrt(1)))": 7,
    "1/(n^21*(((n^20+1) div 1)/(n^20 div 1)-1))": 6,
    "1/(n+n^400*sqrt(4)/n^400)": 7,
}
"""Temperatures near 1/n that float64 cannot compute from some length on. 1/n^20 is below half a unit of 1 from n = 7
on; at 6 it is 1.23 units, which are rounded to one, and the half of that is lost in the root. n^20 is beyond 2^53 from
7 on, and 7^400 beyond float64."""


@pytest.mark.parametrize("tau", LOST)
def test_a_temperature_that_model_py_computes_wrongly_is_not_called_safe(tau: str) -> None:
    made, last = of_temperature(tau), LOST[tau]
    row = row_of(made, last)
    assert row.safe_to < last
    assert row.safe_in_order < last
    if row.word is not None:
        assert wrong_as_computed(made, row.word)


def test_the_word_of_the_report_is_wrong() -> None:
    made = of_temperature("1/(n^21*log(1+1/n^20))")
    assert wrong_as_computed(made, tuple("bbbbbc"))
    row = row_of(made, 6)
    assert (row.safe_to, row.fails_at, row.closed) == (5, 6, True)


@pytest.mark.parametrize("tau", ["1/(n*sqrt(16))", "1/(n*log(n+3))", "1/(n*exp(0))", "1/(4*n*exp(1/n))"])
def test_a_temperature_that_floats_serve_is_proved_as_before(tau: str) -> None:
    assert row_of(of_temperature(tau), 32).safe_to == 32


def test_a_temperature_beyond_float64_at_a_length_fails_there() -> None:
    """7^400 is about 10^338: model.py raises an error, and no result of the shorter lengths is lost."""
    row = row_of(of_temperature("1/(n+n^400/n^399)"), 7)
    assert row.safe_to == 7  # rationals do not overflow on the way
    row = row_of(of_temperature("1/(n+[n > 5]*n^400)"), 7)
    assert (row.safe_to, row.found) == (5, "no answer")


def test_the_assumption_says_what_is_computed() -> None:
    message = " ".join(assumptions_of(of_temperature("1/(n*log(n+1))"), False))
    assert "model.py computes 1/(1/(n*log(n+1))) step by step in float64" in message
    message = " ".join(assumptions_of(of_temperature("1/(2*n)"), False))
    assert "1/temperature are rationals, rounded to float64" in message
    assert "step by step" not in message
