"""Outputs of words in the checker of external networks, against mpmath and against the certified float64 engine."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardsim.network.dense import Network, Norm
from hardsim.run.dense_float import DenseFloat
from hardsim.targets.base import ModelOptions
from hardsim.targets.opening import read_input
from hardsim.verify.arithmetic import Rejected
from hardsim.verify.external.network import HeadData, LinearData, read_network
from hardsim.verify.external.run import WordRunner, _attended
from tests.support.network_sections import REAL, network_section, outputs

NETWORKS = Path(__file__).resolve().parents[3] / "formulas" / "networks"
KINDS = [*product(["relu", "gelu", "gelu_new", "silu", None], ["layer", "rms", None], [False, True])]


@pytest.mark.parametrize(("activation", "kind", "post"), KINDS)
@pytest.mark.parametrize("heads", [0, 1, 3])
def test_outputs_of_random_networks(activation: str | None, kind: str | None, post: bool, heads: int) -> None:
    source = random.Random(f"{activation} {kind} {post} {heads}")
    data = network_section(source, activation, kind, post, heads)
    runner = WordRunner(read_network(data))
    for length in (1, 2, 9, 12):
        word = [source.randrange(3) for _ in range(length)]
        for mid, off, true in zip(*runner.outputs(word), outputs(data, word), strict=True):
            assert abs(mid - true) <= off < 1e-8 * max(1, abs(mid))


def test_scores_far_apart() -> None:
    """Weights below e^-700 are 0, and the bounds hold."""
    data = network_section(random.Random(2), "gelu", "layer", False, 1)
    data["layers"][0]["heads"][0]["scale"] = {"factor": "3000", "root": 1}
    runner, word = WordRunner(read_network(data)), [0, 1, 2, 1, 2, 2]
    for mid, off, true in zip(*runner.outputs(word), outputs(data, word), strict=True):
        assert abs(mid - true) <= off < 1e-6


def test_queries_and_values_between_bounds() -> None:
    """A query and values anywhere between their bounds give a mean within its bounds, which are not much wider."""
    source, closest = random.Random(5), 0.0
    none = LinearData([], [])
    for _ in range(100):
        scale, exact = 0.5, [0.0, 0.0]
        query, off = [source.gauss(0, 2) for _ in range(2)], [abs(source.gauss(0, 1e-3)) for _ in range(2)]
        keys = [[source.gauss(0, 1) for _ in range(2)] for _ in range(4)]
        values = [[source.gauss(0, 1)] for _ in range(4)]
        columns = [((key, exact), (value, [0.0])) for key, value in zip(keys, values, strict=True)]
        (mid,), (bound,) = _attended(HeadData("future", scale, none, none, none, none), (query, off), columns)
        for signs in product([-1, 1], repeat=2):
            moved = [REAL.mpf(a) + s * e for a, s, e in zip(query, signs, off, strict=True)]
            weights = [REAL.exp(scale * REAL.fsum(a * b for a, b in zip(moved, key, strict=True))) for key in keys]
            true = REAL.fsum(w * value for w, (value,) in zip(weights, values, strict=True)) / sum(weights)
            assert abs(true - mid) <= bound
            closest = max(closest, float(abs(true - mid) / bound))
        loose = [(key, (value, [0.01])) for key, (value, _) in columns]
        (_,), (wider,) = _attended(HeadData("future", scale, none, none, none, none), (query, off), loose)
        assert wider >= bound + 0.01
    assert closest > 0.2


def test_scores_that_are_not_known() -> None:
    data = network_section(random.Random(2), "gelu", "layer", False, 1)
    data["layers"][0]["heads"][0]["scale"] = {"factor": "1" + "0" * 17, "root": 1}
    with pytest.raises(Rejected, match="scores of a head"):
        WordRunner(read_network(data)).outputs([0, 1, 2])


def test_refused_words() -> None:
    data = network_section(random.Random(2), "gelu", "layer", False, 1, positions=[[0.5] * 5] * 3)
    runner = WordRunner(read_network(data))
    with pytest.raises(Rejected, match="no token"):
        runner.outputs([])
    with pytest.raises(Rejected, match="too few rows"):
        runner.outputs([0, 1, 2, 1])
    data["layers"][0]["heads"][0]["mask"] = "past"
    with pytest.raises(Rejected, match="from its own on"):
        WordRunner(read_network(data))


def section_of(network: Network) -> dict[str, Any]:
    """Return the section of a network of one layer with float64 matrices and a table of positions."""

    def array(x: Any) -> Any:
        return None if x is None else x.tolist()

    def norm(x: Norm | None) -> Any:
        parts = x and {"kind": x.kind, "epsilon": str(x.epsilon), "weight": array(x.weight), "bias": array(x.bias)}
        return parts or None

    (layer,) = network.layers
    heads = [
        {name: array(getattr(head, name)) for name in ("w_q", "w_k", "w_v", "w_o", "b_q", "b_k", "b_v")}
        | {"mask": str(head.mask), "scale": {"factor": str(head.scale.factor), "root": head.scale.root}}
        for head in layer.heads
    ]
    mlp = layer.mlp
    assert mlp is not None
    parts = {name: array(getattr(mlp, name)) for name in ("w_in", "b_in", "w_out", "b_out")}
    scale = network.embedding_scale
    return {
        "tokens": [*map(str, network.tokens)],
        "embedding": array(network.embedding),
        "embedding_scale": {"factor": str(scale.factor), "root": scale.root},
        "positions": array(network.positions),
        "layers": [
            {
                "heads": heads,
                "b_o": array(layer.b_o),
                "mlp": {"activation": str(mlp.activation), **parts},
                "norm_1": norm(layer.norm_1),
                "norm_2": norm(layer.norm_2),
                "post": layer.post,
            }
        ],
        "final": norm(network.final),
        "unembedding": array(network.unembedding),
        "unembedding_bias": array(network.unembedding_bias),
        "outputs": [*map(str, network.outputs)],
        "readout": dict.fromkeys(("among", "alphabet"))
        | {"before": [], "after": [], "at": "last", "decide": "above", "level": "0"},
    }


@pytest.mark.parametrize("name", ["dyck1_depth3", "majority"])
def test_outputs_of_trained_networks(name: str) -> None:
    network: Any = read_input(str(NETWORKS / f"{name}.spec")).target(ModelOptions())
    network = network.network
    runner, engine = WordRunner(read_network(section_of(network))), DenseFloat(network)
    source = random.Random(7)
    for n in (1, 5, 40):
        words = [network.read([source.choice(network.symbols) for _ in range(n)]) for _ in range(3)]
        mid, rad = engine.run(n, np.array(words), [-1])
        for row, off, word in zip(mid[:, 0].tolist(), rad[:, 0].tolist(), words, strict=True):
            for a, b, c, e in zip(*runner.outputs(word), row, off, strict=True):
                assert abs(a - c) <= b + e
                assert b < 1e-7
