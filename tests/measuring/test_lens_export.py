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
from hardsim.network.dense import NetworkLayer
from hardsim.network.features import NetworkFeature
from hardsim.reading.folder import network_of
from hardsim.reading.network_json import network_json
from tests.run.test_dense_exact import plain
from tests.support.dense_networks import featured, made
from tests.support.language import InputError
from tests.support.mistakes import raised
from tests.support.model import Activation, Mask, Network, RootScale, read_folder


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
    for feature in NetworkFeature:
        network = featured(made(outputs=1, k=4), [feature])
        raised(InputError, lambda network=network: exported(tmp_path, network), match=feature.value)
