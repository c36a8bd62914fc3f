"""Bounds of means with bounded weights, against the greatest mean in exact rationals."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from hardsim.proof.external.coarse_words import SeenColumns
from hardsim.proof.external.weighted_means import BoundedWeights

LEAST = float(np.exp(-300.0))
"""About the least positive weight that provers have."""


def greatest(keys: list[tuple[float, float, float]]) -> Fraction | None:
    """Return the greatest mean of the values of keys, given as least weight, greatest weight and value: the keys with
    the greatest values have their greatest weights. None if all weights are 0."""
    ordered = sorted(((Fraction(x), Fraction(low), Fraction(high)) for low, high, x in keys), reverse=True)
    found = list[Fraction]()
    for cut in range(len(ordered) + 1):
        weights = [high if place < cut else low for place, (_, low, high) in enumerate(ordered)]
        if any(weights):
            total = sum((w * x for w, (x, _, _) in zip(weights, ordered, strict=True)), Fraction(0))
            found.append(total / sum(weights))
    return max(found, default=None)


def weights_of(rng: np.random.Generator, size: Any, least: float) -> tuple[Any, Any]:
    """Return random bounds of weights, the lower ones often 0 and some of both as small as `least`."""
    high = np.exp(rng.normal(size=size))
    high[rng.random(size) < 0.2] = least
    low = high * rng.choice([0.0, 0.5, 1.0], size=size)
    return low, high


@pytest.mark.parametrize("seed", range(8))
def test_no_mean_is_above_the_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 4, 4)
    starts = np.append(0, np.cumsum(counts)[:-1])
    shape = 5, int(counts.sum())
    low, high = weights_of(rng, shape, LEAST)
    other_low, other_high = weights_of(rng, 5, LEAST)
    allowed, optional = rng.random(shape) < 0.7, rng.random((5, 4)) < 0.3
    allowed[:, starts] = True
    values = rng.normal(size=(*shape, 2)) * rng.choice([1e-194, 1.0, 1e90], size=(5, 1, 2))
    other = rng.normal(size=(5, 2)) * rng.choice([0.0, 1.0], size=(5, 1))
    level = np.where(rng.random((5, 2)) < 0.2, np.nan, rng.normal(size=(5, 2)))
    weights = BoundedWeights(low, high, starts, allowed, other_low, other_high, optional)
    with np.errstate(all="ignore"):
        found = weights.greatest_means(values, other, level)
        assert np.array_equal(weights.at(slice(1, 3)).greatest_means(values[1:3], other[1:3], level[1:3]), found[1:3])
        least, most = weights.sums()
    for n, column in product(range(5), range(2)):
        places = []
        for j, start in enumerate(starts):
            keys = [t for t in range(start, start + counts[j]) if allowed[n, t]]
            places.append([*keys, None] if optional[n, j] else keys)
        for word in product(*places):
            seen = [(low[n, t], high[n, t], values[n, t, column]) for t in word if t is not None]
            seen.append((other_low[n], other_high[n], other[n, column]))
            mean = greatest(seen)
            assert mean is None or Fraction(float(found[n, column])) >= mean
            assert Fraction(float(least[n])) <= sum(Fraction(one) for one, _, _ in seen)
            assert Fraction(float(most[n])) >= sum(Fraction(one) for _, one, _ in seen)


@pytest.mark.parametrize("weight", [LEAST, 5e-324])
def test_products_below_the_least_floats_are_counted(weight: float) -> None:
    value = 4e-194 if weight == LEAST else 1.4
    zero, one = np.zeros(1), np.full((1, 1), weight)
    weights = BoundedWeights(one, one, np.array([0]), np.ones((1, 1), dtype=np.bool_), zero, zero)
    with np.errstate(all="ignore"):
        found = weights.greatest_means(np.full((1, 1, 1), value), np.full((1, 1), 2.0), np.zeros((1, 1)))
    assert found[0, 0] >= value


def test_the_box_of_keys_without_a_column_has_the_rounding_of_its_middle() -> None:
    rng = np.random.default_rng(0)
    allowed, zero = np.ones((1, 1), dtype=np.bool_), np.zeros(1)
    for _ in range(100):
        middle, radius, c = rng.normal(size=16) + 3, np.full(16, 1e-9), rng.normal(size=16)
        c -= c @ middle / (middle @ middle) * middle
        weights = BoundedWeights(np.zeros((1, 1)), np.full((1, 1), 1e-6), np.array([0]), allowed, zero, np.ones(1))
        seen = SeenColumns(weights, (middle - c)[None, None], np.zeros((1, 1, 16)), middle, radius)
        with np.errstate(all="ignore"):
            found = seen.support(c[None, None])[0, 0]
        pairs = zip(c, middle, radius, strict=True)
        assert Fraction(float(found)) >= sum(
            Fraction(a) * Fraction(x) + abs(Fraction(a)) * Fraction(r) for a, x, r in pairs
        )
