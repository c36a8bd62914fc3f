"""Proofs of two-layer networks with the parts that only some families have, compared with every word."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hardsim.network.dense import Network
from hardsim.network.features import NetworkFeature
from hardsim.proof.external.affine import AffineForm, RangedForm, multiplied, multiplied_within
from hardsim.proof.external.demands import demands_of
from hardsim.proof.external.second_layer import HeadEntry, own_scores, scores_of
from hardsim.proof.external.two_layers import LayerLimits, prove_layers
from hardsim.proof.shared.result import NotProved
from tests.proof.external.test_features import AT_END
from tests.proof.external.test_parts import boxes, encloses
from tests.proof.external.test_prove import oracle_of, truth_of
from tests.proof.external.test_two_layers import ONE, compare, network_of, normed, planted, scaling
from tests.support.dense_networks import featured
from tests.support.mistakes import raised
from tests.support.model import Activation

TEXT = "assume: {assume}\noutput t0: t0 | t1"
WEAK = replace(ONE, levels=(2,))
OF_SCORES = [
    NetworkFeature.ROTARY, NetworkFeature.DISTANCE, NetworkFeature.WINDOW, NetworkFeature.SCORE_CAP,
    NetworkFeature.HEAD_NORM,
]  # fmt: skip


def levelled(network: Network, text: str, longest: int, below: float) -> Network:
    """Return the network with a level that is less than its least output by so much."""
    found = truth_of(network, demands_of(oracle_of(network, text), network, longest), longest)
    level = Fraction(min(found.low.values()) - below)
    return replace(network, readout=replace(network.readout, level=level))


def with_parts(chosen: Any, seed: int, **shape: Any) -> Network:
    """Return a small network of two layers with some features."""
    made = network_of(seed, 1, **{"d": 6, "k": 2, "mlp": 6, "size": 0.5, "heads": 1, **shape})
    return featured(made, chosen, seed)


def case(chosen: Any, seed: int, below: float, longest: int = 5, **shape: Any) -> tuple[Network, Any]:
    """Return a network with some features and a specification that it meets on short words by a small margin."""
    text = TEXT.format(assume=("Y t1", "t0 | t1")[seed % 2])
    network = levelled(with_parts(chosen, seed, **shape), text, longest, below)
    return network, oracle_of(network, text)


@pytest.mark.parametrize(("seed", "feature"), list(enumerate(AT_END)))
def test_bounds_hold_with_each_feature(seed: int, feature: NetworkFeature) -> None:
    network, oracle = case([feature], seed, 1.0, size=0.3)
    assert compare(network, oracle, 4, WEAK).proved == 4
    network, oracle = case([feature], seed, 0.01, 4)
    compare(network, oracle, 4, WEAK)


def test_bounds_hold_with_all_features() -> None:
    for seed in range(2):
        network, oracle = case(AT_END, seed, 0.3, 4, heads=1 + seed)
        compare(network, oracle, 4, WEAK)
        assert not compare(network, oracle, 4, LayerLimits()).opened


def random_parts(seed: int) -> tuple[Network, Any]:
    """Return a network with random features and a random specification."""
    rng = np.random.default_rng(seed)
    chosen = [one for one in AT_END if rng.random() < 0.35]
    shape = {
        "activation": list(Activation)[seed % 6], "norm": ("layer", "rms", None)[seed % 3], "heads": 1 + seed % 2,
        "post": NetworkFeature.PARALLEL not in chosen and bool(rng.integers(2)), "before": bool(rng.integers(4)),
        "size": float(rng.choice([0.3, 0.6])), "biases": bool(rng.integers(2)),
    }  # fmt: skip
    return case(chosen, seed, float(rng.choice([-0.01, 0.003, 0.05, 0.5])), 6, **shape)


@pytest.mark.slow
def test_random_features_against_every_word() -> None:
    reached = 0
    for seed in range(60):
        network, oracle = random_parts(seed)
        reached += compare(network, oracle, 6, WEAK).proved + 1
        assert not compare(network, oracle, 6, LayerLimits()).opened
    print(f"from the weights {reached} of {60 * 7} lengths")
    assert reached > 60


def test_planted_faults_are_never_proved() -> None:
    chosen = NetworkFeature.ROTARY, NetworkFeature.GATE, NetworkFeature.HEAD_NORM
    assert planted(*case(chosen, 0, 0.002, 3, norm="rms"), 6, 3, 1, 20.0) >= 1
    chosen = NetworkFeature.DISTANCE, NetworkFeature.WINDOW, NetworkFeature.SCORE_CAP
    assert planted(*case(chosen, 2, 0.002, 3), 4, 3, 1, 20.0) >= 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_more_planted_faults(seed: int) -> None:
    planted(*random_parts(seed), 6, 6, seed, 3.0)


def test_a_network_without_positions_needs_no_table() -> None:
    network = replace(with_parts([NetworkFeature.ROTARY], 3), positions=())
    readout = replace(network.readout, before=("t2", "t3"))
    text = TEXT.format(assume="t0 | t1")
    network = levelled(replace(network, readout=readout), text, 4, 1.0)
    compare(network, oracle_of(network, text), 4, WEAK)
    assert "give a greatest length" in raised(NotProved, prove_layers, network, oracle_of(network, text)).reason


@pytest.mark.parametrize("radius", [1e-3, 0.1, 0.3])
@pytest.mark.parametrize("parts", [*([one] for one in OF_SCORES), OF_SCORES])
def test_scores_of_queries_and_keys_at_known_positions(parts: list[NetworkFeature], radius: float) -> None:
    """Sampled scores of cells, also of a query and the key of its own cell, are between their bounds."""
    head = with_parts(parts, 2, k=4).layers[1].heads[0]
    entry, (form, _, y) = HeadEntry(head, None), boxes(2, radius)
    places = np.arange(len(form.c)) // 2 + 3
    forms = entry(form, None, places)
    q, k = (y @ weight + bias for weight, bias in ((head.w_q, head.b_q), (head.w_k, head.b_k)))
    if head.norm_q is not None:
        q = normed(head.norm_q, q)
        k = k if head.norm_k is None else normed(head.norm_k, k)
    if head.rotary is not None:
        rates = [float(head.rotary.base) ** (-2 * r / head.rotary.size) for r in range(head.rotary.size // 2)]
        for (a, b), rate in zip(head.rotary.pairs, rates, strict=True):
            turn = np.exp(1j * places * rate / float(head.rotary.divisor))
            for x in (q, k):
                both = (x[..., a] + 1j * x[..., b]) * turn
                x[..., a], x[..., b] = both.real, both.imag
    # A query and a key have coordinates of z in common only where these are those of y.
    assert forms.queries.slopes.shape == forms.keys.slopes.shape == (*form.slopes.shape[:2], 4)
    away = places - places[:, None]
    scores = np.einsum("sqk,sjk->sjq", q, k) * scaling(head.scale)
    if head.cap is not None:
        scores = float(head.cap) * np.tanh(scores / float(head.cap))
    if head.distance is not None:
        scores = scores - 2.0 ** -float(head.distance.exponent) * np.abs(away)
    centre = np.zeros(4)
    found, own = (
        entry.scored(scores_of(forms, forms, centre), away),
        entry.scored(own_scores(forms, centre), 0 * places),
    )
    here = np.abs(away) < (head.window or 99)
    assert (np.isneginf(found.high) == ~here).all()
    assert ((scores >= found.low - 1e-12) & (scores <= found.high + 1e-12) | ~here).all()
    same = np.einsum("sqq->sq", scores)
    assert ((same >= own.low - 1e-12) & (same <= own.high + 1e-12)).all()


@pytest.mark.parametrize("radius", [1e-9, 0.1, 1.0])
def test_products_within_ranges_are_enclosed(radius: float) -> None:
    """Points near the middle of a box: their ranges enclose products more closely than the box."""
    (first, z, _), (second, _, _) = boxes(2, radius), boxes(3, radius)
    first, second = (AffineForm(one.c, one.slopes, 0 * one.e) for one in (first, second))
    near = z * 0.2
    x, y = (one.c + np.einsum("snm,nmd->snd", near, one.slopes) for one in (first, second))
    one, other = (RangedForm(form, v.min(axis=0), v.max(axis=0)) for form, v in ((first, x), (second, y)))
    found = multiplied_within(one, other)
    assert encloses(found, near, x * y)
    assert (found.e <= multiplied(first, second).e).all()
    if radius == 1.0:
        assert (found.e < 0.5 * multiplied(first, second).e).all()
    unknown = RangedForm(first, x[0] - np.inf, x[0] + np.inf)
    with np.errstate(all="ignore"):
        assert encloses(multiplied_within(unknown, other), near, x * y)
