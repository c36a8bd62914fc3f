"""The checker's distance of softmax from hard attention, compared with rows whose softmax is computed at 60 digits."""

import random
from decimal import Decimal
from fractions import Fraction
from itertools import product
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hardsim.verify.decay import Recursion, uneven
from tests.support.networks import context, number, softmax


def row_bound(keys: int, maxima: int | None, inverse: Fraction, gap: Fraction | None, eta: Fraction) -> Any:
    """Return the checker's bound for a row with `maxima` maxima (None: with any number of them)."""
    requested = cast(
        Recursion, SimpleNamespace(signs=SimpleNamespace(spend=lambda steps: None), facts=SimpleNamespace(cutoff=0))
    )
    off = Decimal(eta.numerator) / Decimal(eta.denominator)
    return context.mpf(str(Recursion._row(requested, keys, maxima, (inverse, inverse), gap, off)))


def distance(logits: list[Fraction], maxima: int) -> Any:
    """Return the 1-norm distance of softmax from equal weights on the first `maxima` keys."""
    expected = [Fraction(place < maxima, maxima) for place in range(len(logits))]
    return context.fsum(abs(a - number(b)) for a, b in zip(softmax(logits), expected, strict=True))


@pytest.mark.parametrize("x", ["1e-30", "0.0009", "0.0011", "0.3", "1", "2.5", "80", "1e7"])
def test_what_ties_cost_is_no_less_than_the_hyperbolic_tangent_and_hardly_more(x: str) -> None:
    exact, found = 2 * context.tanh(context.mpf(x) / 2), context.mpf(str(uneven(Decimal(x))))
    assert exact * (1 - context.mpf(10) ** -50) <= found <= min(context.mpf(x), exact * (1 + context.mpf(10) ** -6))


def test_no_row_is_farther_from_hard_attention_at_any_corner() -> None:
    """Try every corner of the cube of errors, for every number of maxima that a tied row may have; also one
    maximum alone.
    """
    for keys, (eta, inverse) in product((2, 3, 5), ((Fraction(1, 9), Fraction(7)), (Fraction(1, 50), Fraction(2)))):
        gap, worst = Fraction(1), []
        for maxima in range(1, keys + 1):
            scores = [gap] * maxima + [Fraction(0)] * (keys - maxima)
            corners = product((-eta, eta), repeat=keys)
            worst.append(max(distance([(s + e) * inverse for s, e in zip(scores, off, strict=True)], maxima)
                             for off in corners))  # fmt: skip
        for maxima, far in enumerate(worst, 1):
            assert far <= row_bound(keys, maxima, inverse, gap, eta) <= row_bound(keys, None, inverse, gap, eta)
        assert worst[-1] <= row_bound(keys, None, inverse, None, eta) < max(worst[-1] * 2, 1)
        assert worst[-1] <= row_bound(keys, keys, inverse, gap, eta) < max(worst[-1] * 2, 1)


def test_the_bound_of_a_tied_row_is_approached() -> None:
    """Two keys share the maximum, with errors eta in opposite directions; a third is so far below that nothing
    leaks.
    """
    eta, inverse = Fraction(1, 20), Fraction(1)
    worst = distance([eta, -eta, Fraction(-60)], 2)
    assert 0 <= row_bound(3, None, inverse, Fraction(60), eta) / worst - 1 < Fraction(1, 300)


@pytest.mark.parametrize("seed", range(40))
def test_no_random_row_is_farther(seed: int) -> None:
    source = random.Random(seed)
    keys, inverse = source.randint(2, 7), Fraction(source.randint(1, 40), 3)
    maxima, gap, eta = (
        source.randint(1, keys),
        Fraction(source.randint(1, 30), 10),
        Fraction(source.randint(0, 99), 700),
    )
    losses = [Fraction(0)] * maxima + [gap + Fraction(source.randint(0, 9), 9) for _ in range(keys - maxima)]
    off = [eta * source.choice((-1, 1, Fraction(source.randint(-9, 9), 9))) for _ in range(keys)]
    worst = distance([(e - loss) * inverse for loss, e in zip(losses, off, strict=True)], maxima)
    for known in (maxima, None):
        assert worst <= row_bound(keys, known, inverse, gap, eta) * (1 + context.mpf(10) ** -30)
