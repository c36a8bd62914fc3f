"""Sparsemax in exact arithmetic: the conditions that define the projection, and when it is hard attention."""

from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from random import Random

import pytest

from hardsim.errors import InputError
from hardsim.run.float64 import FloatForward
from hardsim.run.soft import SoftModel
from hardsim.run.sparsemax import sparsemax
from tests.support.check import ModelOptions, compile_formula
from tests.support.language import parse_text
from tests.support.model import SoftWeighting


def weights_of(row: Sequence[Fraction]) -> list[Fraction]:
    """Return the weights of a row of rationals."""
    one = lcm(*(z.denominator for z in row))
    return [Fraction(weight) for weight in sparsemax([int(z * one) for z in row], one)]


def random_row(random: Random) -> list[Fraction]:
    """Return up to nine scores, many of which are equal."""
    return [Fraction(random.randint(-6, 6), random.choice([1, 2, 3])) for _ in range(random.randint(1, 9))]


def test_it_is_the_nearest_point_of_the_simplex() -> None:
    """p is that point exactly if z - p is one number where p > 0, and z is at most that number elsewhere (the
    conditions of Karush, Kuhn and Tucker, which suffice since the distance is convex).
    """
    random = Random(1)
    for _ in range(1_000):
        row = random_row(random)
        weights = weights_of(row)
        assert sum(weights) == 1
        assert min(weights) >= 0
        (threshold,) = {z - weight for z, weight in zip(row, weights, strict=True) if weight}
        assert all(z <= threshold for z, weight in zip(row, weights, strict=True) if not weight)


def test_it_is_average_hard_attention_exactly_up_to_m_times_the_gap() -> None:
    """10,000 random rows, at temperatures on both sides of m g and at m g itself."""
    random = Random(2)
    hard = soft = 0
    for _ in range(10_000):
        # Scores in sixths, and m g in sixths; the temperature is m g up/down sixths.
        row = [random.randint(-36, 36) // random.choice([1, 2, 3, 6]) for _ in range(random.randint(1, 9))]
        top = max(row)
        m, gap = row.count(top), min((top - z for z in row if z < top), default=1)
        for up, down in ((1, 1), random.choice([(1, 3), (101, 100), (4, 1)])):
            weights = sparsemax([z * down for z in row], m * gap * up)
            same = all(weight == (Fraction(1, m) if z == top else 0) for z, weight in zip(row, weights, strict=True))
            assert same == (len(set(row)) == 1 or up <= down), (row, up, down)
            hard, soft = hard + same, soft + (not same)
    assert min(hard, soft) > 5_000


def test_a_row_between_hard_and_uniform() -> None:
    """Two scores at a distance d < 1: by symmetry the weights are 1/2 + d/2 and 1/2 - d/2."""
    assert weights_of([Fraction(1, 3), Fraction(0)]) == [Fraction(2, 3), Fraction(1, 3)]


def test_a_network_runs_in_rationals_alone() -> None:
    made = compile_formula(parse_text("alphabet: a b\na S b\n"), ModelOptions(weighting=SoftWeighting.SPARSEMAX))
    found = SoftModel(made.model, rounds=True).run(tuple("abaab"))
    values = [value for column in found.trace.columns for value in column.values]
    assert all(isinstance(value, int | Fraction) for value in values)
    assert found.output == 1


def test_float64_does_not_run_softmax_in_its_place() -> None:
    made = compile_formula(parse_text("alphabet: a b\na S b\n"), ModelOptions(weighting=SoftWeighting.SPARSEMAX))
    with pytest.raises(InputError, match="computes plain softmax alone, and this network has sparsemax"):
        FloatForward(made.model)


def test_irrational_temperatures_are_refused() -> None:
    from tests.support.language import parse_arith

    options = ModelOptions(tau=parse_arith("1/(n*log(n+2))", ("n",), "--tau"), weighting=SoftWeighting.SPARSEMAX)
    made = compile_formula(parse_text("alphabet: a b\na S b\n"), options)
    with pytest.raises(InputError, match="sparsemax is computed in rationals"):
        SoftModel(made.model, rounds=True).run(("a", "b"))
