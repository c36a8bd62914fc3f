"""Dense networks in fixed-point numbers: compared with 120 digits, and a need for each part of the bounds."""

from dataclasses import replace
from fractions import Fraction
from itertools import chain, product
from math import inf, isfinite
from typing import Any

import numpy as np
import pytest
from flint import ctx

from hardsim.network.blocks import Rotary
from hardsim.network.dense import Mlp, NetworkHead, NetworkLayer
from hardsim.network.features import NetworkFeature
from hardsim.network.rotary_scaling import YarnScaling
from hardsim.run import dense_balls, dense_fixed
from hardsim.run.ball import lower, upper
from hardsim.run.dense_balls import DenseBalls, is_large
from hardsim.run.dense_exact import DenseForward
from hardsim.run.dense_fixed import FixedForward
from hardsim.run.dense_float import DenseFloat, LinearMap
from hardsim.run.fixed_point import from_balls
from hardsim.run.mp import exact
from tests.support.dense_networks import SEEN, Shape, featured, made
from tests.support.language import Undecided
from tests.support.model import Activation, BallArithmetic, Mask, MpArithmetic, Network, Norm, RootScale

ARITHMETIC = MpArithmetic(120)
COARSE = 40
"""Bits with which the places that are dropped are seen in the results."""
FINE = 160
TOGETHER = [one for one in NetworkFeature if one not in (NetworkFeature.POOLED_START, NetworkFeature.POOLED_MEAN)]
KINDS = list(product(Activation, ("layer", "rms", None), (False, True), SEEN, (False, True)))


def held(network: Network, bits: int, m: int = 6, seed: int = 0) -> tuple[float, float]:
    """Compare all outputs on a word with 120 digits. Return the largest true error as a share of the radius, for
    radii that are bounded, and the largest radius."""
    tokens = np.random.default_rng(seed).integers(0, len(network.tokens), size=m).tolist()
    n = m - network.readout.length(0)
    true = DenseForward(network, ARITHMETIC).run(n, tokens, range(m))
    rows = FixedForward(DenseFloat(network), bits).run(n, tokens, range(m))
    assert [len(row) for row in rows] == [len(row) for row in true]
    share, widest = 0.0, 0.0
    for row, right in zip(rows, true, strict=True):
        for value, number in zip(row, right, strict=True):
            if not value.is_finite():
                widest = inf
                continue
            low, high = lower(value), upper(value)
            middle, radius = (low + high) / 2, (high - low) / 2
            share = max(share, float(abs(exact(number) - middle) / radius))
            widest = max(widest, float(radius))
    return share, widest


@pytest.mark.parametrize("bits", [COARSE, FINE])
@pytest.mark.parametrize("activation", list(Activation))
def test_enclosures_hold(activation: Activation, bits: int) -> None:
    share, radius = held(made(activation=activation), bits)
    assert share <= 1
    # The radius is some powers of ten above the last place.
    assert radius < (1e-5 if bits == COARSE else 1e-41)


@pytest.mark.parametrize("feature", list(NetworkFeature))
def test_enclosures_hold_of_each_feature(feature: NetworkFeature) -> None:
    for bits in (COARSE, FINE):
        share, radius = held(featured(made(k=4, size=0.5), [feature]), bits)
        assert share <= 1
        assert radius < 1e-3 * 2.0 ** (COARSE - bits)


def test_enclosures_hold_of_all_features_together() -> None:
    for seed, mask in enumerate(SEEN):
        chosen = [*TOGETHER, *([NetworkFeature.POOLED_MEAN] * (seed % 2))]
        share, radius = held(featured(made(mask=mask, k=4), chosen, seed), FINE, 4)
        assert share <= 1
        assert radius < 1e-38


@pytest.mark.parametrize("norm", ["layer", "rms", None])
def test_enclosures_hold_of_every_kind(norm: Any) -> None:
    for seed, (activation, kind, post, mask, fractions) in enumerate(KINDS):
        if kind == norm and seed % 7 == 0:
            shape = Shape(activation=activation, norm=norm, post=post, mask=mask, fractions=fractions)
            share, radius = held(made(shape, seed, biases=seed % 3 > 0), COARSE + 20 * (seed % 3), 4, seed)
            assert share <= 1
            assert radius < 1e-2


@pytest.mark.parametrize("amplitude", ["1/3", "7"])
def test_enclosures_hold_of_turns_with_an_amplitude(amplitude: str) -> None:
    network = made(k=4)
    scaling = YarnScaling(Fraction(8), Fraction(4), Fraction(1, 2), 32, stated=Fraction(amplitude))
    turned = [replace(head, rotary=Rotary(Fraction(50), 2, False, scaling=scaling)) for head in network.layers[0].heads]
    network = replace(network, layers=(replace(network.layers[0], heads=tuple(turned)),))
    for bits in (COARSE, FINE):
        share, radius = held(network, bits)
        assert share <= 1
        assert radius < 1e-4 * 2.0 ** (COARSE - bits)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200))
def test_enclosures_hold_of_random_networks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chosen = [one for one in NetworkFeature if rng.random() < 0.3]
    if NetworkFeature.POOLED_START in chosen and NetworkFeature.POOLED_MEAN in chosen:
        chosen.remove(NetworkFeature.POOLED_MEAN)
    shape = Shape(
        d=int(rng.integers(1, 24)),
        layers=int(rng.integers(0, 4)),
        heads=int(rng.integers(0, 4)),
        k=2 * int(rng.integers(1, 4)),
        mlp=int(rng.choice([0, 1, 5, 40])),
        norm=(None, "layer", "rms")[rng.integers(3)],
        activation=list(Activation)[rng.integers(len(Activation))],
        biases=bool(rng.integers(2)),
        mask=SEEN[rng.integers(3)],
        rows=(None, 24)[rng.integers(2)],
        fractions=bool(rng.integers(2)),
        dtype=[np.float16, np.float32, np.float64][rng.integers(3)],
        cold=int(rng.choice([1, 30, 3000])),
        size=float(rng.choice([1e-3, 0.3, 1.0, 10.0])),
    )
    network = featured(made(shape, seed), chosen, seed)
    assert held(network, int(rng.integers(10, 130)), int(rng.integers(1, 16)), seed)[0] <= 1


@pytest.mark.parametrize(
    "shape",
    [
        Shape(d=1, k=1, mlp=1),
        Shape(mlp=0),
        Shape(heads=0),
        Shape(heads=0, biases=False),
        Shape(layers=0),
        Shape(rows=None),
        Shape(cold=100_000),
        Shape(dtype=np.float64, size=1e-160, norm=None),
        Shape(dtype=np.float64, size=1e6),
        Shape(dtype=np.float64, size=1e150, activation=Activation.SILU),
        Shape(epsilon=Fraction(0)),
        Shape(epsilon=Fraction(10) ** 400),
    ],
)
def test_enclosures_hold_at_the_edges(shape: Shape) -> None:
    assert held(made(shape), 100)[0] <= 1


def test_numbers_beyond_the_first_digit_have_no_bound() -> None:
    assert held(made(Shape(dtype=np.float64, size=1e150, activation=Activation.SILU)), 100)[1] == inf


def deep(layers: int) -> Network:
    """Return a dense network in which float64 knows little after some layers."""
    return made(Shape(d=48, k=12, heads=4, mlp=96, layers=layers, rows=None))


def test_a_deep_network_has_small_radii_where_float64_has_none() -> None:
    network = deep(8)
    _, rad = DenseFloat(network).run(4, np.array([[0, 1, 2, 3]]), slice(None))
    assert not np.isfinite(rad).any()
    rows = FixedForward(DenseFloat(network), 128).run(4, [0, 1, 2, 3], range(4))
    assert max(float(value.rad()) for row in rows for value in row) < 1e-9
    alone = DenseForward(network, BallArithmetic(600)).run(4, [0, 1, 2, 3], range(4))
    assert all(a.overlaps(b) for one, two in zip(rows, alone, strict=True) for a, b in zip(one, two, strict=True))


# ---- mistakes that these tests would find ----

FEW = 20
"""Bits with which each part of a bound is needed in a network made for it."""


def worst(network: Network) -> float:
    """Return the largest share of a radius on some words."""
    return max(held(network, FEW, 6, seed)[0] for seed in range(3))


def bare(embedding: Any, unembedding: Any, *layers: NetworkLayer) -> Network:
    """Return a network of these matrices, and nothing besides."""
    network = made(Shape(d=2, layers=0, norm=None, biases=False, rows=None, vocabulary=2, outputs=2))
    assert network.embedding_scale == RootScale()
    return replace(network, embedding=np.array(embedding), unembedding=np.array(unembedding), layers=layers)


def test_places_taken_for_kept_would_be_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    # The numbers have 20 bits, and their products more.
    network = bare([[1 + 2.0**-15, 3 * 2.0**-17]] * 2, [[2.0**-10 + 2.0**-20, 1.5]] * 2)
    assert worst(network) <= 1
    monkeypatch.setattr(dense_fixed, "last_place", lambda count: 0.0)
    assert worst(network) > 1


def test_errors_that_matrices_do_not_pass_would_be_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    network = bare([[1 / 3, 1e-3]] * 2, np.full((2, 2), 2.0**12))
    assert worst(network) <= 1
    shape = LinearMap.__init__

    def still(self: LinearMap, *given: Any) -> None:
        shape(self, *given)
        self.stretch, self.column = 0.0, self.column * 0

    monkeypatch.setattr(LinearMap, "__init__", still)
    assert worst(network) > 1


def test_weights_that_digits_do_not_hold_would_be_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    network = bare(np.full((2, 2), 2.0**15), np.full((2, 2), 2.0**-21.5))
    assert worst(network) <= 1
    monkeypatch.setattr(dense_fixed, "long", lambda x: np.zeros(len(x)))
    assert worst(network) > 1


def test_scores_taken_for_exact_would_be_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    # Queries are 2^-10 / 3, which loses 2^-22, times 2^10.
    w_q, w_k, w_v = np.full((2, 1), 2.0**-10 / 3), np.array([[1.0], [0.0]]), np.array([[1.0], [-1.0]])
    head = NetworkHead("h", Mask.NONE, RootScale(Fraction(2**10)), w_q, w_k, w_v, np.array([[1.0, 0.0]]))
    network = bare(np.eye(2), np.eye(2), NetworkLayer((head,), None))
    assert worst(network) <= 1
    monkeypatch.setattr(dense_fixed, "growth", lambda rho: rho * 0)
    assert worst(network) > 1


def test_functions_taken_for_exact_would_be_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    # All products are exact here.
    monkeypatch.setattr(dense_fixed, "last_place", lambda count: 0.0)
    w_in = np.array([[1.0, -2.0, 3.0], [5.0, 7.0, -1.0]])
    network = bare(np.eye(2), np.eye(2), NetworkLayer((), Mlp(Activation.SILU, w_in, np.ones((3, 2)))))
    assert worst(network) <= 1
    found = from_balls

    def exactly(*given: Any) -> Any:
        digits, off = found(*given)
        return digits, off * 0

    monkeypatch.setattr(dense_fixed, "from_balls", exactly)
    assert worst(network) > 1


def test_norms_that_errors_do_not_pass_would_be_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    # A vector of length 2^-10 is made 2^10 times as long, with its error.
    network = bare([[2.0**-10 / 3, 0.0]] * 2, np.eye(2))
    network = replace(network, final=Norm("rms", Fraction(1, 2**16), None, None))
    assert worst(network) <= 1
    fixed = FixedForward._fixed

    def exactly(self: FixedForward, array: Any) -> Any:
        return replace(fixed(self, array), radius=np.zeros(len(array)))

    monkeypatch.setattr(FixedForward, "_fixed", exactly)
    assert worst(network) > 1


# ---- attention ----


@pytest.mark.parametrize("bits", [COARSE, FINE])
@pytest.mark.parametrize("mask", SEEN)
def test_logits_are_enclosed(mask: Mask, bits: int) -> None:
    """Every visible logit lies in its ball, in a network with all features that a head can have."""
    network = featured(made(k=4, size=0.5, mask=mask), TOGETHER)
    tokens, steps, widest = [0, 3, 1, 1, 2], list[tuple[int, int]](), 0.0
    true = DenseForward(network, ARITHMETIC).attention(5, tokens)
    found = FixedForward(DenseFloat(network), bits).attention(5, tokens, lambda *step: steps.append(step))
    for (number, head, rows), (layer, other, expected) in zip(found, true, strict=True):
        assert (number, head) == (layer, other)
        for value, precise in zip(chain(*rows), chain(*expected), strict=True):
            assert (value is None) == (precise is None)
            if value is not None:
                assert lower(value) <= exact(precise) <= upper(value)
                widest = max(widest, float(value.rad()))
    assert 0 < widest < 2.0 ** (24 - bits)
    assert steps == [(done + 1, len(network.layers)) for done in range(len(network.layers))]


# ---- the choice of the arithmetic ----


def test_large_dense_networks_are_run_in_fixed_point_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    network = deep(2)
    assert not is_large(network)
    monkeypatch.setattr(dense_balls, "LARGE", 1000)
    assert is_large(network)
    assert not is_large(made(Shape(d=4, mlp=2)))
    seen: list[tuple[int, int]] = []
    balls = DenseBalls(network, step=lambda done, total: seen.append((done, total)))
    rows, bits = balls.run(3, [0, 1, 2], [2], lambda rows: all(value.rad() < 2.0**-150 for value in rows[0]))
    assert (bits, len(rows)) == (256, 1)
    # The matrices of each layer are prepared, then there are two passes.
    assert seen == [(1, 2), (2, 2)] * 3
    assert balls.arithmetic(bits) == "balls of vectors, in fixed-point numbers with 256 bits behind the point"
    monkeypatch.setattr(dense_balls, "arithmetic_fault", lambda: "this process rounds upwards")
    assert not is_large(network)


def test_large_networks_stay_undecided_at_their_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense_balls, "LARGE", 0)
    balls = DenseBalls(made(Shape(layers=1)))
    assert balls.large
    with pytest.raises(Undecided, match="with 960 bits"):
        balls.run(1, [0], [0], lambda rows: False)


def test_the_precision_of_other_code_is_kept() -> None:
    before = ctx.prec
    rows = FixedForward(DenseFloat(made()), 300).run(2, [0, 1], [0])
    assert ctx.prec == before
    assert isfinite(float(rows[0][0].mid()))
