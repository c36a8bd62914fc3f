"""Bounds of the checker of certificates: compared with every choice of types, and with sums by mpmath."""

from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import isqrt
from types import SimpleNamespace
from typing import Any, cast

import mpmath
from hypothesis import given
from hypothesis import strategies as st

from hardsim.verify.arithmetic import FAR, GRID, above, distance, falls, worst_of_all
from hardsim.verify.formulas import FormulaChecker

KIND = st.tuples(st.booleans(), st.integers(0, 1), st.integers(1, 50))
TYPES = st.lists(st.lists(KIND, min_size=1, max_size=3), min_size=1, max_size=5)
KEYS = st.lists(st.tuples(st.integers(-300, 300), st.integers(-5, 5)), min_size=1, max_size=8)
STRETCH = st.sampled_from([Fraction(1), Fraction(9, 8), Fraction(3)])
CONTEXT = mpmath.MPContext()
CONTEXT.dps = 60
ERROR = CONTEXT.mpf(10) ** -40
"""A bound on the rounding error of these digits."""


def attended(logits: list[Any], values: list[int]) -> Any:
    weights = [CONTEXT.exp(CONTEXT.mpf(x.numerator) / x.denominator) for x in map(Fraction, logits)]
    return CONTEXT.fdot(weights, values) / CONTEXT.fsum(weights)


@given(TYPES)
def test_no_prefix_of_any_word_is_worse_than_the_worst_of_all(types: list[list[tuple[bool, int, int]]]) -> None:
    rows = [[(int(a), b, Decimal(w), Decimal(w)) for a, b, w in some] for some in types]
    bounds = [worst_of_all(rows, goal) for goal in (0, 1)]
    for count in range(1, len(types) + 1):
        for word in product(*types[:count]):
            goal = ([kind for kind in word if kind[0]] or word)[-1][1]
            wrong, whole = sum(w for _, b, w in word if b != goal), sum(w for *_, w in word)
            bound = bounds[goal]
            assert bound is not None
            assert Fraction(wrong, whole) <= Fraction(bound, GRID)


@given(KEYS, st.integers(-4, 4), STRETCH, st.integers(0, 4))
def test_what_is_attended_to_is_not_above_its_bound(
    keys: list[tuple[int, int]], goal: int, stretch: Fraction, k: int
) -> None:
    logits, values = [a for a, _ in keys], [b for _, b in keys]
    factor = 1 + (stretch - 1) * k / 4
    found = attended([factor * a / 2 for a in logits], values) - goal
    assert found * GRID - ERROR <= above(logits, 2, values, goal, stretch)
    assert found * GRID - ERROR <= distance(logits, 2, values, goal, stretch)


@given(st.integers(1, 40), st.integers(2, 30), st.integers(1, 60), STRETCH, st.integers(0, 4))
def test_no_number_is_farther_off_than_what_is_looked_up_first(
    steep: int, length: int, scale: int, stretch: Fraction, k: int
) -> None:
    """Logits are -steep (j - c)^2/(2 scale); the error beyond the reach of a look-up is less than one unit."""
    fixed, slope = [-steep * j * j for j in range(1, length + 1)], [2 * steep * j for j in range(1, length + 1)]
    assert falls(fixed, slope) == 2 * steep
    values, reach, factor = (
        [*range(1, length + 1)],
        isqrt(2 * FAR * scale // (2 * steep)) + 1,
        1 + (stretch - 1) * k / 4,
    )
    bound = 0
    for c in (0, 1):
        near = slice(max(0, c - 1 - reach), max(c, 1) + reach)
        logits = [a + c * b for a, b in zip(fixed[near], slope[near], strict=True)]
        bound = max(bound, distance(logits, scale, values[near], max(c, 1), stretch) + (len(logits) < length))
    for c in range(length + 1):
        logits_of_c = [factor * (a + c * b) / scale for a, b in zip(fixed, slope, strict=True)]
        assert abs(attended(logits_of_c, values) - max(c, 1)) * GRID - ERROR <= bound


@given(st.integers(1, 9), st.integers(0, 7), st.integers(-3, 3), st.integers(2, 8), st.sampled_from(["fixed", "slope"]))
def test_what_is_no_look_up_has_no_reach(steep: int, place: int, off: int, length: int, which: str) -> None:
    fixed, slope = [7 - steep * j * j for j in range(1, length + 1)], [2 * steep * j - 5 for j in range(1, length + 1)]
    (fixed if which == "fixed" else slope)[place % length] += off
    if found := falls(fixed, slope):
        for c in range(3):
            rest = {
                2 * (a + c * b) + found * (j - c) ** 2 for j, (a, b) in enumerate(zip(fixed, slope, strict=True), 1)
            }
            assert len(rest) == 1


@given(
    st.lists(st.integers(-6, 6), min_size=1, max_size=6),
    st.lists(st.integers(1, 6), min_size=6, max_size=6),
    st.tuples(st.fractions(-2, 2, max_denominator=5), st.fractions(-2, 2, max_denominator=5)),
    STRETCH,
    st.integers(0, 4),
)
def test_offsets_hold_what_is_looked_up(
    keys: list[int], values: list[int], query: tuple[Fraction, Fraction], stretch: Fraction, k: int
) -> None:
    seen = tuple((value, Fraction(key, 2)) for value, key in zip(values, keys, strict=False))
    checker = cast(Any, SimpleNamespace(cache={}, spend=lambda steps: None, keep=lambda some: None))
    found = FormulaChecker._offsets(checker, ((query,), len(keys), seen, stretch))
    factor = 1 + (stretch - 1) * k / 4
    for c, (low, high) in enumerate(found):
        logits = [factor * (query[0] + c * query[1]) * key for _, key in seen]
        off = attended(logits, [value for value, _ in seen]) - max(c, 1)
        assert low - ERROR <= off * GRID <= high + ERROR
    assert len(found) == len(keys) + 1
