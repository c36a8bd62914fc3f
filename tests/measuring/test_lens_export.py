"""Exports to TransformerLens: the folder is read again by the reader of that library's networks, and both compute the
same outputs; what the library's class has no place for is refused.
"""

import json
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardsim
from hardsim.network.blocks import DistanceBias, Rotary
from hardsim.network.dense import NetworkLayer
from hardsim.network.features import NetworkFeature, features
from hardsim.reading.folder import network_of
from hardsim.reading.network_json import network_json
from hardsim.writing.lens_parts import HELD
from tests.run.test_dense_exact import plain
from tests.support.dense_networks import featured, made
from tests.support.language import InputError
from tests.support.mistakes import raised
from tests.support.model import Activation, Mask, Network, Norm, RootScale, read_folder


def exported(folder: Path, network: Network, **keywords: Any) -> Network:
    """Export a network, and read the folder again."""
    (folder / "net.json").write_text(json.dumps(network_json(network)))
    hardsim.load(str(folder / "net.json")).export(str(folder / "lens"), "transformer-lens", **keywords)
    return network_of(read_folder(str(folder / "lens")))[0]


def shaped(**changes: Any) -> Network:
    """Return a random network with two tokens that are no symbols: one before every word, one after it."""
    base: dict[str, Any] = {"k": 3, "rows": 12, "epsilon": Fraction(1, 1024), "heads": 3}
    network = made(**base | changes)
    readout = replace(network.readout, before=network.tokens[3:4], after=network.tokens[2:3])
    return replace(network, readout=readout)


def compare(one: Network, other: Network) -> None:
    """Assert that two networks have the same outputs on some words, as read at every token."""
    assert (one.tokens, one.readout.before, one.readout.after) == (
        other.tokens,
        other.readout.before,
        other.readout.after,
    )
    for word in (["t0"], ["t1", "t1", "t0"], ["t0", "t1", "t0", "t0", "t1"]):
        expected, found = (plain(network, len(word), network.read(word)) for network in (one, other))
        assert np.abs(expected - found).max() < 1e-9 * (1 + np.abs(expected).max())


@pytest.mark.parametrize("norm", ["layer", "rms", None])
@pytest.mark.parametrize("mask", [Mask.FUTURE, Mask.NONE])
def test_networks_of_every_shape_are_the_same_networks(tmp_path: Path, norm: Any, mask: Mask) -> None:
    network = shaped(norm=norm, mask=mask, activation=Activation.GELU, biases=norm != "rms")
    if norm is not None:
        network = replace(network, final=network.layers[0].norm_1)
    network = replace(network, embedding_scale=RootScale(Fraction(2), 3))
    compare(network, exported(tmp_path, network))


def test_smaller_heads_and_mlps_are_filled_up(tmp_path: Path) -> None:
    big, small = shaped(norm=None, activation=Activation.RELU), shaped(norm=None, k=2, heads=1, mlp=4, layers=1)
    bare = NetworkLayer((), None, np.ones(8))
    lone = replace(small.layers[0], heads=(replace(small.heads[0], name="lone"),), mlp=None)
    network = replace(big, layers=(big.layers[0], lone, bare, big.layers[1]))
    compare(network, exported(tmp_path, network))


def test_a_network_without_a_table_gets_one(tmp_path: Path) -> None:
    network = shaped(norm=None, rows=None)
    other = exported(tmp_path, network, max_n=5)
    assert other.longest == 5
    compare(network, other)


@pytest.mark.parametrize(("name", "symbols"), [("since", "abc"), ("majority", "01")])
def test_compiled_formulas_are_the_same_networks(tmp_path: Path, name: str, symbols: str) -> None:
    """Their outputs are near 1 or 0, as the semantics accept a word or reject it."""
    model = hardsim.load(name)
    result = model.export(str(tmp_path / "lens"), "transformer-lens", regime="causal-position", max_n=9)
    assert (result.max_n, result.files) == (9, ("model.safetensors", "config.json", "tokenizer.json"))
    network = network_of(read_folder(str(tmp_path / "lens")))[0]
    assert (len(network.layers), network.symbols) == (result.model.layers, tuple(symbols))
    words = ["".join(word) for n in (1, 2, 3) for word in product(symbols, repeat=n)]
    for word, answer in zip(words, model.eval(*words).words, strict=True):
        output = plain(network, len(word), network.read(list(word)))[-1, 0]
        assert (output > 0.5) == answer.oracle


@pytest.mark.slow
@pytest.mark.parametrize("name", ["since", "majority", "flipflop"])
def test_the_library_computes_the_same_outputs(tmp_path: Path, name: str) -> None:
    if "HookedTransformer" not in vars(pytest.importorskip("transformer_lens")):
        pytest.skip("this version of the library has no HookedTransformer")
    result = hardsim.load(name).export(str(tmp_path / "lens"), "transformer-lens", regime="causal-position", max_n=9)
    double, single = result.runs
    assert double.difference is not None
    assert single.difference is not None
    assert (double.dtype, double.difference < 1e-9, single.difference < 1e-3) == ("float64", True, True)


@pytest.mark.parametrize(
    ("regime", "part"), [("temperature", "a temperature"), ("position", "depend on the length of the word")]
)
def test_formulas_in_other_regimes_are_refused(tmp_path: Path, regime: Any, part: str) -> None:
    model = hardsim.load("since")
    export = lambda: model.export(str(tmp_path / "lens"), "transformer-lens", regime=regime)  # noqa: E731
    assert "causal-position" in str(raised(InputError, export, match=part).hint)
    assert not (tmp_path / "lens").exists()


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"mask": Mask.PAST}, "heads with the masks past"),
        ({"norm": "layer", "post": True}, r"norms after the sums \(post-norm\)"),
        ({"norm": "layer", "heads": 0, "biases": False}, None),
    ],
)
def test_networks_of_other_shapes_are_refused(tmp_path: Path, changes: dict[str, Any], part: str | None) -> None:
    network = shaped(**{"norm": None} | changes)
    if part is None:
        one = replace(network.layers[0], norm_2=None)
        network, part = replace(network, layers=(one, *network.layers[1:])), "only some of the norms"
    raised(InputError, lambda: exported(tmp_path, network), match=part)


def test_what_the_class_has_no_place_for_is_refused(tmp_path: Path) -> None:
    for feature in set(NetworkFeature) - HELD:
        network = featured(made(outputs=1, k=4), [feature])
        raised(InputError, lambda network=network: exported(tmp_path, network), match=feature.value)


F = NetworkFeature
PARTS: list[list[NetworkFeature]] = [
    [F.ROTARY], [F.DISTANCE], [F.WINDOW], [F.SCORE_CAP, F.OUTPUT_CAP], [F.HEAD_NORM], [F.GATE], [F.PARALLEL],
    [F.OUT_NORM], [F.EMBEDDING_NORM, F.DISTANCE], [F.EMBEDDING_BIAS], [F.SCORE_POSITIONS],
    [F.ROTARY, F.HEAD_NORM, F.GATE, F.OUT_NORM, F.WINDOW, F.EMBEDDING_BIAS],
    [F.DISTANCE, F.PARALLEL, F.SCORE_CAP, F.OUTPUT_CAP, F.GATE],
]  # fmt: skip
"""Combinations of parts that the class has a place for."""


def even(parts: list[NetworkFeature]) -> Network:
    """Return a random network with these parts, which are the same in all heads and layers."""
    placed = not {F.ROTARY, F.DISTANCE} & set(parts)
    network = shaped(norm="rms", activation=Activation.SILU, k=4, biases=False, rows=12 if placed else None)
    whole = featured(network, parts)
    number, epsilon = np.random.default_rng(3), network.layers[0].norm_1.epsilon  # type: ignore[union-attr]  # it is there

    def norm(given: Norm | None, size: int) -> Norm | None:
        return None if given is None else Norm("rms", epsilon, number.normal(size=size))

    layers = []
    for place, layer in enumerate(whole.layers):
        norm_q, norm_k = (norm(layer.heads[0].norm_q, 4) for _ in "qk")
        heads = tuple(
            replace(
                head, w_v=head.w_v[:, :4], w_o=head.w_o[:4], norm_q=norm_q, norm_k=norm_k,
                rotary=head.rotary and Rotary(Fraction(100), 4, len(parts) > 1),
                distance=head.distance and DistanceBias(Fraction(8 * (count + 1), len(layer.heads))),
                window=head.window and (3 if place else None),
            )
            for count, head in enumerate(layer.heads)
        )  # fmt: skip
        mlp = layer.mlp and replace(layer.mlp, b_gate=None, b_in=None)
        own: dict[str, Any] = {key: norm(getattr(layer, key), 8) for key in ("norm_1", "norm_2", "out_1", "out_2")}
        layers.append(replace(layer, heads=heads, mlp=mlp, **own))
    embedding_norm = whole.embedding_norm and Norm("layer", epsilon, number.normal(size=8), number.normal(size=8))
    return replace(whole, layers=tuple(layers), final=norm(layers[0].norm_1, 8), embedding_norm=embedding_norm)


@pytest.mark.parametrize("parts", PARTS)
def test_parts_of_some_families_are_written(tmp_path: Path, parts: list[NetworkFeature]) -> None:
    network = even(parts)
    assert set(features(network)) == set(parts)
    compare(network, exported(tmp_path, network, max_n=6))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the library
@pytest.mark.parametrize("parts", PARTS)
def test_the_library_runs_these_parts(tmp_path: Path, parts: list[NetworkFeature]) -> None:
    if "HookedTransformer" not in vars(pytest.importorskip("transformer_lens")):
        pytest.skip("this version of the library has no HookedTransformer")
    (tmp_path / "net.json").write_text(json.dumps(network_json(even(parts))))
    result = hardsim.load(str(tmp_path / "net.json")).export(str(tmp_path / "lens"), "transformer-lens", max_n=6)
    double, single = result.runs
    assert double.difference is not None
    assert single.difference is not None
    near = 1e-5 if F.DISTANCE in parts else 1e-9  # the library has slopes in float32
    assert (double.dtype, double.difference < near, single.difference < 1e-3) == ("float64", True, True)


def uneven(parts: list[NetworkFeature], **changes: Any) -> Network:
    """Return a network of `even` with changes of its very first head."""
    network = even(parts)
    first, *rest = network.layers[0].heads
    one = replace(network.layers[0], heads=(replace(first, **changes), *rest))
    return replace(network, layers=(one, *network.layers[1:]))


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (lambda: uneven([F.ROTARY], rotary=Rotary(Fraction(9), 4, False)), "heads with different rotary parts"),
        (lambda: uneven([F.ROTARY], rotary=None), "heads with different rotary parts"),
        (lambda: uneven([F.DISTANCE], distance=DistanceBias(Fraction(1))), "ALiBi slopes other than"),
        (lambda: uneven([F.WINDOW], window=9), "heads of one layer with different windows"),
        (lambda: uneven([F.SCORE_CAP], cap=Fraction(7)), "heads with different soft caps"),
        (lambda: uneven([F.HEAD_NORM], norm_q=None), "norms of queries and keys that are no RMSNorm, or that differ"),
        (lambda: uneven([F.HEAD_NORM], scale=RootScale(Fraction(7))), "norms of queries and keys that are no RMSNorm"),
        (lambda: replace(even([F.ROTARY]), positions=np.zeros((9, 8))), "beside other positions"),
        (lambda: replace(even([]), embedding_norm=Norm("layer", Fraction(1, 1024))), "a norm of embeddings"),
        (lambda: scaled_rotary(), "scaled rotary positions"),
        (lambda: halved(even([F.GATE]), "mlp"), "MLPs with and without gates"),
        (lambda: halved(even([F.PARALLEL]), "parallel"), "parallel and sequential layers"),
        (lambda: halved(even([F.OUT_NORM]), "out_1"), "norms of what a layer adds"),
        (lambda: halved(even([F.OUT_NORM]), "epsilon"), "norms with different epsilons"),
    ],
)
def test_parts_that_differ_are_refused(tmp_path: Path, make: Any, part: str) -> None:
    raised(InputError, lambda: exported(tmp_path, make()), match=part)


def scaled_rotary() -> Network:
    """Return a network with slower rotary positions."""
    network, turned = even([F.ROTARY]), Rotary(Fraction(100), 4, False, Fraction(2))
    slow = [
        replace(layer, heads=tuple(replace(head, rotary=turned) for head in layer.heads)) for layer in network.layers
    ]
    return replace(network, layers=tuple(slow))


def halved(network: Network, part: str) -> Network:
    """Return a network whose first layer lacks a part that the second has."""
    first, *rest = network.layers
    other: dict[str, Any] = {
        "mlp": first.mlp and replace(first.mlp, w_gate=None),
        "parallel": False,
        "out_1": None,
        "epsilon": first.out_1 and replace(first.out_1, epsilon=Fraction(1, 7)),
    }
    changed = replace(first, **{"out_1" if part == "epsilon" else part: other[part]})
    return replace(network, layers=(changed, *rest))
