"""The features of an external network that some parts of hardsim do not support, and the refusal by name."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from enum import StrEnum

from hardsim.errors import InputError
from hardsim.network.dense import Network, NetworkHead, NetworkLayer


class NetworkFeature(StrEnum):
    """A part that a network may have beyond tables of positions, plain heads and MLPs; the value is its name in
    messages."""

    ROTARY = "rotary positions"
    DISTANCE = "ALiBi biases"
    WINDOW = "attention windows"
    SCORE_CAP = "soft caps of scores"
    HEAD_NORM = "norms of queries and keys"
    GATE = "gated MLPs"
    PARALLEL = "parallel attention and MLP"
    OUT_NORM = "norms of what a layer adds"
    EMBEDDING_NORM = "a norm of embeddings"
    EMBEDDING_BIAS = "a bias of embeddings"
    PROJECTION = "embeddings of another width"
    SCORE_POSITIONS = "positions that only scores read"
    TRANSFORM = "a transform before the outputs"
    OUTPUT_CAP = "a soft cap of outputs"
    POOLED_START = "an answer at the first token"
    POOLED_MEAN = "an answer from the mean of all positions"


def features(network: Network) -> tuple[NetworkFeature, ...]:
    """Return the features that a network has, in the order of `NetworkFeature`."""
    found = set(_of_network(network))
    for layer in network.layers:
        found.update(_of_layer(layer))
    return tuple(feature for feature in NetworkFeature if feature in found)


def require_only(network: Network, supported: Collection[NetworkFeature], doing: str) -> None:
    """Raise InputError if a network has a feature that is not supported. `doing` begins the message, such as "a
    certificate"."""
    missing = [feature for feature in features(network) if feature not in supported]
    if missing:
        hint = (
            "All parts are supported by eval, check, prove, heads, trace, precision and export --to torch, safetensors "
            "or onnx."
        )
        raise InputError(f"{doing} does not support {', '.join(missing)}, which this network has", hint)


def _of_network(network: Network) -> Iterator[NetworkFeature]:
    transform = network.transform
    present = {
        NetworkFeature.EMBEDDING_NORM: network.embedding_norm is not None,
        NetworkFeature.EMBEDDING_BIAS: network.embedding_bias is not None,
        NetworkFeature.PROJECTION: network.projection is not None,
        NetworkFeature.SCORE_POSITIONS: network.positions_at == "scores",
        NetworkFeature.TRANSFORM: transform is not None,
        NetworkFeature.OUTPUT_CAP: network.output_cap is not None,
        NetworkFeature.POOLED_START: network.readout.pooled == "start",
        NetworkFeature.POOLED_MEAN: network.readout.pooled == "mean",
    }
    yield from (feature for feature, here in present.items() if here)


def _of_layer(layer: NetworkLayer) -> Iterator[NetworkFeature]:
    mlp = layer.mlp
    present = {
        NetworkFeature.PARALLEL: layer.parallel,
        NetworkFeature.OUT_NORM: layer.out_1 is not None or layer.out_2 is not None,
        NetworkFeature.GATE: mlp is not None and mlp.w_gate is not None,
    }
    yield from (feature for feature, here in present.items() if here)
    for head in layer.heads:
        yield from _of_head(head)


def _of_head(head: NetworkHead) -> Iterator[NetworkFeature]:
    present = {
        NetworkFeature.ROTARY: head.rotary is not None,
        NetworkFeature.DISTANCE: head.distance is not None,
        NetworkFeature.WINDOW: head.window is not None,
        NetworkFeature.SCORE_CAP: head.cap is not None,
        NetworkFeature.HEAD_NORM: head.norm_q is not None or head.norm_k is not None,
    }
    yield from (feature for feature, here in present.items() if here)
