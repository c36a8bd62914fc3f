"""Spans compared with all numbers of small sets, and functions with their values at small positions and lengths."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.proof.programs.lattice import (
    HALF,
    Domains,
    NumberSpan,
    around,
    clip,
    common_step,
    content,
    greatest,
    hull,
    least,
    linear,
    margin,
    multiple,
    nonnegative,
    positive,
    relu,
    remainder,
    times_step,
)
from hardsim.proof.programs.law import number
from hardsim.proof.shared.ratios import Ratio, Value, chain
from tests.support.check import NotProved

RATIONALS = st.fractions(-3, 3, max_denominator=4)
EVERYWHERE = [chain(["i", "n"], [0, 0])]
"""The domain 1 <= i <= n."""
POSITION, LENGTH = Ratio.variable("i"), Ratio.variable("n")
PLACES = [(i, n) for n in range(1, 7) for i in range(1, n + 1)]
NUMBERS: Domains = [{}]

Known = tuple[NumberSpan, list[Fraction]]
"""A span, and all numbers that it must contain."""


@st.composite
def lattices(draw: st.DrawFn) -> Known:
    low, count = draw(RATIONALS), draw(st.integers(0, 4))
    step = draw(st.fractions(Fraction(1, 4), 2, max_denominator=4)) if count else Fraction(0)
    points = [low + k * step for k in range(count + 1)]
    return NumberSpan(low, points[-1], draw(st.sampled_from(points)), step), points


@st.composite
def intervals(draw: st.DrawFn) -> Known:
    points = sorted(draw(st.lists(RATIONALS, min_size=1, max_size=4)))
    return NumberSpan(points[0], points[-1]), points


KNOWN = st.one_of(lattices(), intervals())


def has(span: NumberSpan, value: Fraction) -> bool:
    """Return True if a number lies between the ends of a span and on its lattice."""
    low, high, offset, step = (Fraction(str(part or 0)) for part in (span.low, span.high, span.offset, span.step))
    if span.step is None:
        return low <= value <= high
    return low <= value <= high and (value == offset if step == 0 else (value - offset) % step == 0)


def holds_exactly(span: NumberSpan, values: Sequence[Fraction]) -> None:
    """Assert that all numbers are in the span and that its ends are attained."""
    assert all(has(span, value) for value in values)
    assert (span.low, span.high) == (min(values), max(values))


# ---- spans ----


@given(st.lists(st.tuples(KNOWN, RATIONALS), max_size=3), RATIONALS)
def test_a_linear_form(terms: list[tuple[Known, Fraction]], bias: Fraction) -> None:
    found = linear([(span, coefficient) for (span, _), coefficient in terms], bias)
    coefficients = [coefficient for _, coefficient in terms]
    some = product(*(points for (_, points), _ in terms))
    values = [bias + sum((c * v for c, v in zip(coefficients, one, strict=True)), Fraction(0)) for one in some]
    holds_exactly(found, values)


@given(st.lists(KNOWN, min_size=1, max_size=4))
def test_one_of_several(spans: list[Known]) -> None:
    holds_exactly(hull([span for span, _ in spans], NUMBERS), [value for _, points in spans for value in points])


@given(KNOWN)
def test_relu(known: Known) -> None:
    span, points = known
    holds_exactly(relu(span, NUMBERS), [max(value, Fraction(0)) for value in points])


@given(KNOWN)
def test_a_clip(known: Known) -> None:
    span, points = known
    clipped = [min(max(value, Fraction(0)), Fraction(1)) for value in points]
    assert all(has(clip(span, NUMBERS), value) for value in clipped)


@given(lattices())
def test_a_clip_of_a_lattice_is_a_boolean_iff_no_point_is_between_0_and_1(known: Known) -> None:
    span, points = known
    found = clip(span, NUMBERS)
    boolean = all(value <= 0 or value >= 1 for value in points)
    assert (found.step is not None) is boolean
    assert not boolean or found.low in (0, 1)


@given(KNOWN)
def test_a_margin_is_at_most_that_of_every_number(known: Known) -> None:
    span, points = known
    least_margin = min(max(-value, value - 1) for value in points)
    assert margin(span, NUMBERS) <= least_margin
    if span.step is not None:
        assert margin(span, NUMBERS) == least_margin


@given(lattices(), RATIONALS)
def test_the_neighbours_of_a_value(known: Known, value: Fraction) -> None:
    span, points = known
    if len(points) > 1:
        found = around(span, value)
        assert set(found) <= set(points)
        assert min(abs(point - value) for point in found) == min(abs(point - value) for point in points)


# ---- steps ----


@given(st.lists(st.fractions(0, 3, max_denominator=6), max_size=4))
def test_the_common_step_of_numbers(steps: list[Fraction]) -> None:
    found = common_step(steps)
    assert found is not None
    assert not isinstance(found, Ratio)
    assert all(step == 0 if found == 0 else (step / found).denominator == 1 for step in steps)
    # It is the largest common step: no multiple of it divides all numbers.
    assert found == 0 or not any(all((step / (found * k)).denominator == 1 for step in steps) for k in range(2, 5))
    assert common_step([*steps, None]) is None


STEPS: list[Value] = [
    Fraction(2, 3),
    1 / LENGTH,
    2 / (LENGTH * LENGTH),
    Fraction(3, 2) / (POSITION + 1),
    1 / (2 * LENGTH + 2),
    4 / (LENGTH * (POSITION + 1)),
    1 / (LENGTH - POSITION + 2),
]


@pytest.mark.parametrize(("one", "other"), list(product(STEPS, STEPS)))
def test_the_common_step_of_functions(one: Value, other: Value) -> None:
    """Both functions are multiples of the common step at every position and length."""
    found = common_step([one, other])
    assert found is not None
    for i, n in PLACES:
        assert number(found, i, n) > 0
        assert all((number(step, i, n) / number(found, i, n)).denominator == 1 for step in (one, other))


FUNCTIONS: list[Value] = [
    Fraction(-3, 4),
    POSITION / LENGTH,
    (2 * POSITION - LENGTH) / LENGTH,
    (POSITION * POSITION + POSITION) / (2 * LENGTH),
    (6 * POSITION + 4) / (LENGTH * LENGTH),
    1 / (POSITION + 1),
    LENGTH - POSITION + HALF,
    POSITION / (POSITION - LENGTH - 2),
]


@pytest.mark.parametrize("value", FUNCTIONS)
def test_values_of_a_function_are_multiples_of_its_content(value: Value) -> None:
    step = content(value)
    assert step is not None
    assert all((number(value, i, n) / number(step, i, n)).denominator == 1 for i, n in PLACES)
    assert all(number(step, i, n) > 0 for i, n in PLACES)
    assert content(1 / (POSITION + 1), frozenset("i")) is None
    assert content(POSITION / LENGTH, frozenset("i")) == 1 / LENGTH


@pytest.mark.parametrize(("value", "step"), list(product(FUNCTIONS, STEPS)))
def test_what_remains_of_a_function(value: Value, step: Value) -> None:
    rest = remainder(value, step)
    for i, n in PLACES:
        dropped = number(value, i, n) - number(rest, i, n)
        assert (dropped / number(step, i, n)).denominator == 1
        if multiple(value, step):
            assert rest == 0
    product_step = times_step(step, value)
    assert product_step is not None
    for i, n in PLACES:
        assert (number(step, i, n) * number(value, i, n) / number(product_step, i, n)).denominator == 1


# ---- signs ----


@pytest.mark.parametrize(
    "value",
    [
        *FUNCTIONS,
        *STEPS,
        POSITION - 1,
        1 - POSITION,
        LENGTH - POSITION,
        POSITION - LENGTH,
        (LENGTH - 1) / (POSITION * LENGTH),
    ],
)
def test_signs_are_those_of_all_values(value: Value) -> None:
    values = [number(value, i, n) for i, n in PLACES]
    assert not positive(value, EVERYWHERE) or min(values) > 0
    assert not nonnegative(value, EVERYWHERE) or min(values) >= 0


def test_signs_that_coefficients_tell() -> None:
    assert positive(POSITION / LENGTH, EVERYWHERE)
    assert nonnegative(LENGTH - POSITION, EVERYWHERE)
    assert not positive(LENGTH - POSITION, EVERYWHERE)
    assert not nonnegative(POSITION - LENGTH, EVERYWHERE)
    # 1/(i - 1) has no value at 1.
    assert not positive(1 / (POSITION - 1), EVERYWHERE)


def test_the_least_of_several_functions() -> None:
    assert least([POSITION / LENGTH, 1, 1 / LENGTH], EVERYWHERE) == 1 / LENGTH
    assert greatest([POSITION / LENGTH, 1, 1 / LENGTH], EVERYWHERE) == 1
    # Neither function is always below the other; the result is a number below both.
    assert least([POSITION / LENGTH, 1 / POSITION], EVERYWHERE) == 0
    with pytest.raises(NotProved, match="no lower bound of"):
        least([-LENGTH, 1 - 2 * POSITION], EVERYWHERE)


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (2 - POSITION, 3 - POSITION),
        (POSITION - 2, POSITION),
        (POSITION / LENGTH, (POSITION + 1) / LENGTH),
        (1 - POSITION, 2 - POSITION),
    ],
)
def test_a_clip_of_functions_that_leave_0_and_1(low: Value, high: Value) -> None:
    found = clip(NumberSpan(low, high), EVERYWHERE)
    for i, n in PLACES:
        for end in (number(low, i, n), number(high, i, n)):
            assert number(found.low, i, n) <= min(max(end, Fraction(0)), Fraction(1)) <= number(found.high, i, n)
