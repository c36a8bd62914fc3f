"""Certificates of one-layer networks with the parts that only some families have: what is written is accepted; what is
changed is rejected, or still true of every word."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from hardsim.network.dense import Network, RootScale
from hardsim.network.features import NetworkFeature
from hardsim.proof.external.demands import demands_of
from hardsim.proof.external.result import STRUCTURE
from hardsim.proving import external_certificate as writer
from hardsim.proving.external import prefix_proof
from hardsim.run.dense_float import DenseFloat
from hardsim.targets.external import External
from hardsim.verify.arithmetic import Rejected
from hardsim.verify.external.check import check_external
from hardsim.verify.external.network import MORE, read_layers, read_network
from hardsim.verify.external.run import WordRunner
from tests.proof.external.test_features import AT_END, with_parts
from tests.proof.external.test_prove import MOST, levelled, oracle_of, truth_of
from tests.support.damage import at, places, replaced
from tests.support.external_certificates import Json
from tests.support.model import Mask

LONGEST = 4
TEXT = MOST.format(assume="t0 | Y t1")
STRANGE: list[Any] = [
    "x", "0", "-1", "1/" + "9" * 60, "9" * 30, -1, 0, 1.5, float("nan"), [], {}, [[]], True,
]  # fmt: skip
COVERED = [feature for feature in AT_END if feature is not NetworkFeature.PROJECTION]
GROUPS: list[list[NetworkFeature]] = [[feature] for feature in COVERED]


def unscaled(chosen: Sequence[NetworkFeature], seed: int, **shape: Any) -> Network:
    """Return a network with two heads and some features; rotary positions have no scaling."""
    network = with_parts(chosen, seed, heads=2, **shape)
    (layer,) = network.layers
    heads = [
        head if head.rotary is None else replace(head, rotary=replace(head.rotary, scaling=None))
        for head in layer.heads
    ]
    return replace(network, layers=(replace(layer, heads=tuple(heads)),))


def subject_of(chosen: Sequence[NetworkFeature], share: float, seed: int = 0, **shape: Any) -> External:
    """Return a network with some features that is right by a share of its spread."""
    network = replace(unscaled(chosen, seed, **shape), embedding_scale=RootScale(Fraction(6), 6))
    oracle = oracle_of(network, TEXT)
    network = levelled(network, oracle, share)
    return External(name="here", sha256="0" * 64, alphabet=network.symbols, network=network, oracle=oracle)


def made(subject: External) -> Json:
    """Return the certificate of a proof from the weights."""
    proof = replace(prefix_proof(subject, LONGEST), proved_by=STRUCTURE)
    return writer.external_certificate(subject, proof)


@lru_cache
def case(number: int) -> tuple[External, Json]:
    """Return a network with one feature, and its certificate."""
    subject = subject_of(GROUPS[number], 1.0, number)
    return subject, made(subject)


def rejected(certificate: Json) -> str:
    """Return the reason why a certificate is rejected, an empty text if it is accepted."""
    try:
        check_external(certificate)
    except Rejected as error:
        return str(error)
    return ""


@pytest.mark.parametrize("number", range(len(GROUPS)), ids=[group[0].name for group in GROUPS])
def test_each_feature_has_certificates(number: int) -> None:
    _, certificate = case(number)
    assert rejected(certificate) == ""
    assert certificate["max_n"] == LONGEST
    assert not all("words" in group["tree"]["tree"] for group in certificate["groups"])


@pytest.mark.parametrize("mask", [Mask.FUTURE, Mask.NONE])
def test_all_features_together(mask: Mask) -> None:
    template = "before" if mask is Mask.FUTURE else "before after"
    assert rejected(made(subject_of(COVERED, 3.0, 1, mask=mask, template=template))) == ""


def compare(network: Network) -> None:
    """Compare the checker's bounds of outputs with certified float64, after every short word."""
    runner = WordRunner(read_network(writer.network_section(network, 5)))
    ids, floats = network.ids, DenseFloat(network)
    before = [ids[str(token)] for token in network.readout.before]
    for n in range(1, 6):
        tokens = np.array([[*before, *word] for word in product((0, 1), repeat=n)])
        mid, rad = floats.run(n, tokens, [tokens.shape[1] - 1])
        for row, word in enumerate(tokens.tolist()):
            found, off = runner.outputs(word)
            assert max(off) < 1e-9
            assert (np.abs(np.array(found) - mid[row, 0]) <= np.array(off) + rad[row, 0]).all()


@pytest.mark.parametrize("feature", COVERED)
def test_words_are_run(feature: NetworkFeature) -> None:
    compare(unscaled([feature], 3))


@pytest.mark.parametrize("seed", range(3))
def test_words_are_run_with_all_features(seed: int) -> None:
    compare(unscaled(COVERED, seed, norm=("layer", "rms", None)[seed]))


def changed_network(network: Network, rng: np.random.Generator, feature: NetworkFeature) -> Network:
    """Return the network with another number in the part of a feature."""
    (layer,) = network.layers
    by = Fraction(int(rng.integers(3, 9)), int(rng.integers(1, 3)))

    def heads(**parts: Any) -> Network:
        some = tuple(replace(head, **{key: make(head) for key, make in parts.items()}) for head in layer.heads)
        return replace(network, layers=(replace(layer, heads=some),))

    def of_layer(**parts: Any) -> Network:
        return replace(network, layers=(replace(layer, **parts),))

    def norm(given: Any) -> Any:
        return None if given is None else replace(given, weight=given.weight * float(by))

    match feature:
        case NetworkFeature.ROTARY:
            return heads(rotary=lambda head: replace(head.rotary, divisor=head.rotary.divisor / by))
        case NetworkFeature.DISTANCE:
            return heads(distance=lambda head: replace(head.distance, exponent=head.distance.exponent - by))
        case NetworkFeature.WINDOW:
            return heads(window=lambda head: head.window % 3 + 1)
        case NetworkFeature.SCORE_CAP:
            return heads(cap=lambda head: head.cap * by)
        case NetworkFeature.HEAD_NORM:
            return heads(norm_q=lambda head: norm(head.norm_q))
        case NetworkFeature.GATE:
            assert layer.mlp is not None
            assert layer.mlp.w_gate is not None
            return of_layer(mlp=replace(layer.mlp, w_gate=layer.mlp.w_gate * float(by)))
        case NetworkFeature.PARALLEL:
            return of_layer(parallel=False)
        case NetworkFeature.OUT_NORM:
            return of_layer(out_1=norm(layer.out_1), out_2=norm(layer.out_2))
        case NetworkFeature.EMBEDDING_NORM:
            return replace(network, embedding_norm=norm(network.embedding_norm))
        case NetworkFeature.EMBEDDING_BIAS:
            assert network.embedding_bias is not None
            return replace(network, embedding_bias=network.embedding_bias * float(by))
        case NetworkFeature.SCORE_POSITIONS:
            return replace(network, positions_at="stream")
        case NetworkFeature.TRANSFORM:
            assert network.transform is not None
            return replace(network, transform=replace(network.transform, weight=network.transform.weight * float(by)))
    assert network.output_cap is not None
    return replace(network, output_cap=network.output_cap * by)


@pytest.mark.parametrize("number", range(len(GROUPS)), ids=[group[0].name for group in GROUPS])
def test_a_changed_part_is_rejected_or_the_claim_is_still_true(number: int) -> None:
    """With another number in a part the network may be wrong somewhere: then no certificate is accepted."""
    subject, certificate = case(number)
    rng = np.random.default_rng(number)
    for _ in range(3):
        other = changed_network(subject.network, rng, GROUPS[number][0])
        found = {**certificate, "network": writer.network_section(other, LONGEST)}
        truth = truth_of(other, demands_of(subject.oracle, other, LONGEST), LONGEST)
        assert found["network"] != certificate["network"]
        # The level is moved so that the worst word is wrong by a little.
        assert rejected(found) or min(truth.high.values()) > 0
        level = str(Fraction(other.readout.level) + Fraction(min(truth.high.values()) + 1e-6))
        assert rejected(replaced(found, ("network", "readout", "level"), level)) != ""


@pytest.mark.parametrize("number", range(len(GROUPS)), ids=[group[0].name for group in GROUPS])
def test_strange_values_are_rejected_or_read(number: int) -> None:
    """Nothing raises another exception, and what cannot be meant is rejected."""
    section = case(number)[1]["network"]
    known = {key for keys in MORE.values() for key in keys}
    own = [path for path in places(section) if any(key in known for key in path)]
    assert own
    for path in [one for one in own if not any(type(key) is int and key > 1 for key in one)]:
        for value in STRANGE:
            try:
                read_network(replaced(section, path, value))
            except Rejected:
                continue
            kept = type(at(section, path))
            assert type(value) is kept or (type(value), kept) == (str, float), (path, value)


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("rotary", {"base": "0", "size": 2, "interleaved": True, "divisor": "1"}, "positive"),
        ("rotary", {"base": "9", "size": 3, "interleaved": True, "divisor": "1"}, "even number from 2 to 2"),
        ("rotary", {"base": "9", "size": 4, "interleaved": True, "divisor": "1"}, "even number from 2 to 2"),
        ("rotary", {"base": "9", "size": 2, "interleaved": 1, "divisor": "1"}, "true or false"),
        ("rotary", {"base": "9", "size": 2, "interleaved": True}, "divisor' is missing"),
        ("rotary", {"base": "1/" + "7" * 50, "size": 2, "interleaved": True, "divisor": "1"}, "many digits"),
        ("cap", "0", "positive"),
        ("cap", 1.5, "rational"),
        ("distance", "65", "exponent beyond 64"),
        ("distance", "1/65", "exponent beyond 64"),
        ("window", 0, "above 0"),
        ("window", True, "above 0"),
        ("norm_q", {"kind": "rms", "epsilon": "0", "weight": [1.0], "bias": None}, "array of 2"),
    ],
)  # fmt: skip
def test_parts_of_heads_that_are_rejected(key: str, value: Any, reason: str) -> None:
    section = case(0)[1]["network"]
    with pytest.raises(Rejected, match=reason):
        read_network(replaced(section, ("layers", 0, "heads", 0, key), value))


def test_other_parts_that_are_rejected() -> None:
    section = case(0)[1]["network"]
    for path, value, reason in (
        (("positions_at",), "stream", "scores"),
        (("output_cap",), "-1", "positive"),
        (("embedding_bias",), [1.0], "array of 6"),
        (("transform",), {}, "weight' is missing"),
        (("layers", 0, "out_1"), {}, "kind' is missing"),
        (("layers", 0, "mlp", "b_gate"), [1.0] * 8, "without a gate"),
        (("layers", 0, "parallel"), None, "true or false"),
    ):
        with pytest.raises(Rejected, match=reason):
            read_network(replaced(section, path, value))
    post = replaced(replaced(section, ("layers", 0, "post"), True), ("layers", 0, "parallel"), True)
    with pytest.raises(Rejected, match="follow the sums"):
        read_network(post)


def test_two_layers_have_no_further_parts() -> None:
    section = case(0)[1]["network"]
    two = replaced(section, ("layers",), section["layers"] * 2)
    with pytest.raises(Rejected, match="'rotary' is not known"):
        read_layers(two, 2)


def test_answers_elsewhere_have_no_certificate() -> None:
    subject = subject_of([NetworkFeature.ROTARY], 1.0)
    pooled = replace(subject.network.readout, at="last", pooled="mean")
    mean = replace(subject, network=replace(subject.network, readout=pooled))
    assert writer.no_certificate(subject) is None
    assert "an answer from the mean of all positions" in str(writer.no_certificate(mean))
    scaled = replace(subject, network=with_parts([NetworkFeature.ROTARY], 0, heads=2))
    assert "a scaling of rotary positions" in str(writer.no_certificate(scaled))
    with pytest.raises(Rejected, match="a scaling of rotary positions"):
        writer.network_section(scaled.network, LONGEST)
    projected = replace(subject, network=with_parts([NetworkFeature.PROJECTION], 0))
    assert "embeddings of another width" in str(writer.no_certificate(projected))
    two = replace(subject, network=replace(subject.network, layers=subject.network.layers * 2))
    assert "rotary positions" in str(writer.no_certificate(two))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
def test_random_features(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chosen = [one for one in COVERED if rng.random() < 0.4]
    shape = {"norm": ("layer", "rms", None)[seed % 3]}
    subject = subject_of(chosen, float(rng.choice([0.1, 0.5, 2.0])), seed, **shape)
    certificate = made(subject)
    assert rejected(certificate) == ""
    for feature in chosen:
        other = changed_network(subject.network, rng, feature)
        found = {**certificate, "network": writer.network_section(other, LONGEST)}
        truth = truth_of(other, demands_of(subject.oracle, other, LONGEST), LONGEST)
        assert rejected(found) or min(truth.high.values()) > 0
