"""Theorem 26 compared with runs of the softmax model in balls: its temperature is never refuted."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import exp

import pytest

from hardsim.run.ball import lower, upper
from hardsim.sharpening.theorem26 import (
    DEFAULT_EPSILON,
    STEPS,
    Solution,
    _last_place,
    declared_gaps,
    error_bounds,
    grid,
    inverses,
    place_of,
    solve,
)
from tests.support.language import InputError, Undecided, parse_arith
from tests.support.model import Mask, Program, Weighting, assemble
from tests.support.simulations import Errors, Measured, models, one_head, run_hard, soft_errors, tieless

EPSILONS = [Fraction(1, 2), DEFAULT_EPSILON, Fraction(1, 100)]
ROUNDING = Fraction(1, 2**150)
"""A bound on the width of balls of this precision, by which they may enclose an error of 0."""


def solutions(model: Program, lengths: Sequence[Measured], epsilon: Fraction) -> list[Solution]:
    return [solve(model, length.facts, epsilon, declared_gaps(model, length.facts)) for length in lengths]


def check(found: Sequence[Solution], errors: Sequence[Errors]) -> list[float]:
    """Assert that no error exceeds its bound; return the measured errors at the end over the bounds there."""
    ratios = []
    for solution, layers in zip(found, errors, strict=True):
        for bounds, (attended, final) in zip(solution.bounds.layers, layers, strict=True):
            for errors_of, bounds_of in ((attended, bounds.attended), (final, bounds.final)):
                assert errors_of.keys() == bounds_of.keys() - {"1"} | errors_of.keys() & {"1"}
                for name, error in errors_of.items():
                    assert lower(error) <= bounds_of[name]
                    assert upper(error) <= bounds_of[name] + ROUNDING
        worst = max(upper(error) for error in layers[-1][1].values())
        assert worst <= solution.bounds.final + ROUNDING
        assert solution.bounds.final <= solution.epsilon
        if solution.bounds.final:
            ratios.append(float(worst / solution.bounds.final))
    return ratios


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "tied", "count"),
    [
        (0, False, 12),
        (27, True, 12),
        *(pytest.param(seed, False, 50, marks=pytest.mark.slow) for seed in (1, 2, 3)),
        pytest.param(28, True, 50, marks=pytest.mark.slow),
    ],
)
def test_the_theorem_s_temperature_is_never_refuted(seed: int, tied: bool, count: int) -> None:
    """Random models with uniform and tieless layers, and ones with ties: all activations after every step, on all
    binary words to length 6.

    That the test can fail is shown by the ratios: many errors are more than a tenth of their bound.
    """
    ratios = []
    expected = (lambda all_of: not tieless(all_of)) if tied else tieless
    for number, (model, lengths) in enumerate(models(count, seed, tied=tied, expected=expected)):
        found = solutions(model, lengths, EPSILONS[number % 3])
        ratios += check(found, soft_errors(model, [solution.tau for solution in found], lengths))
    assert len(ratios) >= (2 if tied else 4) * count
    assert tied or sum(ratio > 0.1 for ratio in ratios) >= count
    assert max(ratios) > 0.5


@pytest.mark.slow
def test_a_temperature_that_is_too_high_is_refuted() -> None:
    """Sixteen times the theorem's temperature exceeds the allowed error, for these models at some length."""
    refuted = 0
    for model, lengths in models(10, 28, tied=False, expected=tieless):
        found = solutions(model, lengths, DEFAULT_EPSILON)
        errors = soft_errors(model, [16 * solution.tau for solution in found], lengths)
        refuted += any(lower(error) > DEFAULT_EPSILON for layers in errors for error in layers[-1][1].values())
    assert refuted >= 5


def power_of_two(value: Fraction) -> Fraction:
    """Return the largest power of two that is at most a positive number."""
    powers = (Fraction(2) ** power for power in range(1000, -1000, -1))
    return next(power for power in powers if power <= value)


def test_the_temperature_is_the_largest_of_its_mantissa() -> None:
    for model, lengths in models(10, 29, tied=False, expected=tieless):
        for length in lengths:
            gaps = declared_gaps(model, length.facts)
            solution = solve(model, length.facts, DEFAULT_EPSILON, gaps)
            if all(gap is None for row in gaps.values() for gap in row):
                assert solution.tau == 1
                continue
            unit = power_of_two(solution.tau) / STEPS
            assert (solution.tau / unit).denominator == 1
            inverse = [1 / solution.tau] * (length.facts.n + model.bos)
            assert error_bounds(model, length.facts, inverse, gaps) == solution.bounds
            above = [1 / (solution.tau + unit)] * (length.facts.n + model.bos)
            start = 2 * power_of_two(min(gap for row in gaps.values() for gap in row if gap is not None))
            beyond = error_bounds(model, length.facts, above, gaps).final > DEFAULT_EPSILON
            assert beyond or solution.tau + unit == 2 * start


def test_uniform_attention_is_the_same_at_any_temperature() -> None:
    model = one_head([], [], Mask.FUTURE, Weighting.AVERAGE)
    for solution in solutions(model, run_hard(model, 3), Fraction(1, 10**6)):
        assert solution.tau == 1
        assert solution.bounds.final == 0


@pytest.mark.parametrize("weighting", [Weighting.LEFTMOST, Weighting.RIGHTMOST])
@pytest.mark.parametrize("query", [[0], []])
def test_ties_of_one_sided_heads_have_no_temperature(weighting: Weighting, query: list[int]) -> None:
    """All scores are equal. Hard attention takes one position, softmax the mean, at every temperature."""
    model = one_head(query, query, Mask.NONE, weighting)
    one, two = run_hard(model, 2)
    assert solutions(model, [one], DEFAULT_EPSILON)[0].bounds.final == 0
    with pytest.raises(Undecided, match="no temperature down to"):
        solutions(model, [two], DEFAULT_EPSILON)
    errors = soft_errors(model, [Fraction(1, 10**6)] * 2, [two])
    # Of ab, the first value is 1, the last 0, their mean 1/2.
    assert max(lower(error) for error in errors[0][-1][1].values()) >= Fraction(1, 2) - ROUNDING


def test_declared_gaps_take_the_place_of_measured_ones() -> None:
    """The score is i: gap 1 from the second position on; the first position sees only itself, whatever is declared."""
    model = one_head([0], [2], Mask.FUTURE, Weighting.AVERAGE, gap="i/(2*n)")
    facts = run_hard(model, 3)[-1].facts
    assert facts.heads["h"].gaps == [None, 1, 1]
    assert declared_gaps(model, facts) == {"h": [None, Fraction(1, 3), Fraction(1, 2)]}
    undeclared = one_head([0], [2], Mask.FUTURE, Weighting.AVERAGE)
    assert declared_gaps(undeclared, facts) == {"h": [None, 1, 1]}


def test_a_smaller_declared_gap_means_a_lower_temperature() -> None:
    found = [
        solutions(model, run_hard(model, 3), DEFAULT_EPSILON)[-1].tau
        for gap in ("1", "1/10")
        for model in [one_head([0], [2], Mask.FUTURE, Weighting.AVERAGE, gap=gap)]
    ]
    assert found[0] > found[1]
    # One head with exact inputs: the error depends on gap/tau alone.
    assert abs(found[0] / 10 - found[1]) <= found[1] / STEPS


def test_a_declared_gap_is_positive() -> None:
    (head,) = one_head([0], [2], Mask.FUTURE, Weighting.AVERAGE, gap="3 - i").heads
    assert head.promised(2) == [Fraction(2), Fraction(1)]
    with pytest.raises(InputError, match=r"head h: the declared gap 3-i is 0 at i = 3, n = 4"):
        head.promised(4)


@pytest.mark.parametrize(
    "value", [Fraction(1), Fraction(3, 4), Fraction(7), Fraction(8), Fraction(4, 3), Fraction(1, 9)]
)
def test_the_grid_has_64_temperatures_between_powers_of_two(value: Fraction) -> None:
    place = place_of(value)
    assert grid(place) <= value < grid(place + 1)
    assert (grid(place + STEPS), place_of(grid(place))) == (2 * grid(place), place)
    assert [grid(k) for k in (0, 1, STEPS - 1, STEPS)] == [1, Fraction(65, 64), Fraction(127, 64), 2]


@pytest.mark.slow
def test_where_the_search_begins_changes_nothing() -> None:
    for model, lengths in models(6, 29, tied=False, expected=tieless):
        for length in lengths:
            gaps = declared_gaps(model, length.facts)
            found = solve(model, length.facts, DEFAULT_EPSILON, gaps)
            for begin in (found.tau, found.tau / 1000, found.tau * 3, Fraction(10) ** 9, Fraction(1, 10**300)):
                assert solve(model, length.facts, DEFAULT_EPSILON, gaps, begin) == found


BOUNDS: dict[str, Callable[[Fraction], Fraction]] = {
    "an exponential": lambda tau: Fraction(3 * exp(-1 / (9 * tau))) if tau > Fraction(1, 900) else Fraction(0),
    "an exponential with a cap": lambda tau: min(Fraction(2), Fraction(40 * exp(-1 / (3 * tau)))),
    "two steps": lambda tau: Fraction(int(tau * 5) + int(tau * 2)),
    "a constant above": lambda tau: Fraction(1),
    "a constant below": lambda tau: Fraction(1, 9),
    "zero, then far above": lambda tau: Fraction(10**400 if tau > 1 else 0),
    "below float64": lambda tau: tau ** 200 / 10**500,
    "concave": lambda tau: 1 - 1 / (1 + tau),
}  # fmt: skip


@pytest.mark.parametrize("kind", BOUNDS)
@pytest.mark.parametrize("epsilon", [Fraction(1, 4), Fraction(1, 10**20)])
def test_the_last_place_is_the_one_that_a_scan_finds(kind: str, epsilon: Fraction) -> None:
    places, found = range(-300, 130), BOUNDS[kind]
    expected = max((place for place in places if found(grid(place)) <= epsilon), default=None)
    for first in (-300, -120, 0, 129):
        for step in (1, 64):
            tried: list[int] = []

            def final(place: int, tried: list[int] = tried) -> Fraction:
                tried.append(place)
                return found(grid(place))

            assert _last_place(final, epsilon, first, step, places) == expected
            assert set(tried) <= set(places)
            assert len(set(tried)) == len(tried)


def test_few_places_are_tried_where_the_bound_is_an_exponential() -> None:
    """A search that doubles its step and then halves the interval takes 17 tries."""
    found, tried = BOUNDS["an exponential"], list[int]()

    def final(place: int) -> Fraction:
        tried.append(place)
        return found(grid(place))

    last = _last_place(final, Fraction(1, 4), -64, 8, range(-1000, 130))
    assert last is not None
    assert found(grid(last)) <= Fraction(1, 4) < found(grid(last + 1))
    assert len(tried) <= 6


def test_inverse_temperatures_of_a_model() -> None:
    """Temperatures are listed by query index, which starts at position 0 with a beginning of sequence."""
    model = assemble(one_head([0], [2], Mask.FUTURE, Weighting.AVERAGE), parse_arith("1/(i+n)"))
    assert list(inverses(model, 3)) == [Fraction(k) for k in (4, 5, 6)]
    assert list(inverses(replace(model, bos=True), 3)) == [Fraction(k) for k in (3, 4, 5, 6)]
