"""Proofs of one-layer networks with the parts that only some families have, compared with every word."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hardsim.network.dense import Mlp, Network, Transform
from hardsim.network.features import NetworkFeature
from hardsim.proof.external import affine
from hardsim.proof.external.affine import AffineForm, CapForm, MlpForm, TransformForm, multiplied
from hardsim.proof.external.every_word import prove_by_words
from hardsim.proof.external.prove import ExternalProof, WorkLimits, prove_external
from hardsim.proof.shared.result import NotProved
from tests.proof.external.test_parts import boxes, encloses
from tests.proof.external.test_prove import MOST, compare, levelled, network_of, oracle_of
from tests.support.dense_networks import featured
from tests.support.mistakes import raised
from tests.support.model import Activation, Mask

AT_END = [one for one in NetworkFeature if one not in (NetworkFeature.POOLED_START, NetworkFeature.POOLED_MEAN)]
QUICK = WorkLimits(rounds=9, cells=400, words=0)


def proved(network: Network, share: float, limits: WorkLimits | None = QUICK) -> ExternalProof:
    """Compare what is proved of a network with a level below its outputs."""
    oracle = oracle_of(network, MOST.format(assume="t0 | Y t1"))
    return compare(levelled(network, oracle, share), oracle, limits=limits)


def with_parts(chosen: Sequence[NetworkFeature], seed: int = 0, **shape: Any) -> Network:
    """Return a small network with some features."""
    return featured(network_of(seed, 1, d=6, k=2, mlp=8, size=0.5, **shape), chosen, seed)


@pytest.mark.parametrize("feature", AT_END)
def test_bounds_hold_with_each_feature(feature: NetworkFeature) -> None:
    network = with_parts([feature], heads=2)
    assert proved(network, 3.0).proved == 7
    proved(network, 0.02)


@pytest.mark.parametrize("mask", [Mask.FUTURE, Mask.NONE])
def test_bounds_hold_with_all_features(mask: Mask) -> None:
    for seed in range(2):
        template = "before" if mask is Mask.FUTURE else "before after"
        network = with_parts(AT_END, seed, heads=1 + seed, mask=mask, template=template)
        proved(network, 0.5)
        assert not proved(network, 0.5, WorkLimits(rounds=1)).opened


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_bounds_hold_with_random_features(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = {"activation": list(Activation)[seed % 6], "norm": ("layer", "rms", None)[seed % 3], "heads": seed % 3}
    chosen = [one for one in AT_END if rng.random() < 0.4]
    post = NetworkFeature.PARALLEL not in chosen and bool(rng.integers(2))
    network = with_parts(chosen, seed, post=post, **shape)
    for share in (0.0, 0.1, 2.0):
        proved(network, share, None if share else QUICK)


def test_networks_without_positions_need_a_length() -> None:
    network = replace(with_parts([NetworkFeature.ROTARY, NetworkFeature.DISTANCE], heads=2), positions=())
    proved(network, 3.0)
    oracle = oracle_of(network, MOST.format(assume="t0"))
    assert "give a greatest length" in str(raised(NotProved, prove_external, network, oracle))


@pytest.mark.parametrize("feature", [NetworkFeature.POOLED_START, NetworkFeature.POOLED_MEAN])
def test_answers_elsewhere_are_refused(feature: NetworkFeature) -> None:
    network = with_parts([feature], heads=1)
    network = replace(network, readout=replace(network.readout, at="last"))
    oracle = oracle_of(network_of(0, 1), MOST.format(assume="t0"))
    expected = "first position" if feature is NetworkFeature.POOLED_START else "mean of all positions"
    for attempt in (prove_external, prove_by_words):
        assert expected in str(raised(NotProved, attempt, network, oracle, 3))


# ---- parts ----


@pytest.mark.parametrize("radius", [1e-9, 0.1, 1.0])
def test_products_are_enclosed(radius: float) -> None:
    (first, z, x), (second, _, y) = boxes(2, radius), boxes(2, radius)
    e = second.e + 0.01
    moved = AffineForm(second.c + 1, second.slopes, e)
    with np.errstate(all="ignore"):
        assert encloses(multiplied(first, moved), z, x * (y + 1 + 0.01))
        assert encloses(multiplied(moved, first), z, x * (y + 1 - 0.01))
    exact = replace(first, e=np.zeros_like(first.e))
    assert (multiplied(exact, exact).e <= first.spread**2 * (1 + 1e-6) + 1e-9).all()


@pytest.mark.parametrize("radius", [1e-9, 0.1, 0.5])
def test_gates_transforms_and_caps_are_enclosed(radius: float) -> None:
    rng, (box, z, x) = np.random.default_rng(4), boxes(1, radius)
    arrays = {name: rng.normal(size=(6, 9)) for name in ("w_in", "w_gate")}
    mlp = Mlp(
        Activation.SILU, w_out=rng.normal(size=(9, 6)), b_in=rng.normal(size=9), b_gate=rng.normal(size=9), **arrays
    )
    hidden = affine.values(Activation.SILU, x @ mlp.w_gate + mlp.b_gate)[0] * (x @ mlp.w_in + mlp.b_in)
    with np.errstate(all="ignore"):
        assert encloses(MlpForm(mlp)(box), z, hidden @ mlp.w_out)

    weight = rng.normal(size=(6, 3))
    with np.errstate(all="ignore"):
        assert encloses(CapForm(weight, None, Fraction(7, 3))(box), z, 7 / 3 * np.tanh(x @ weight * 3 / 7))
        step = TransformForm(Transform(weight, rng.normal(size=3) * 0, Activation.TANH))
        assert encloses(step(box), z, np.tanh(x @ weight))
