"""A plain forward pass over a Network, in float64, written from its definition alone."""

from math import erf, pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardsim.network.dense import NetworkHead
from tests.support.model import Activation, Mask, Network, Norm

Array = NDArray[Any]


def floats(array: Array | None) -> Array | float:
    """Convert an exact array to float64; 0 for one that is absent."""
    return 0.0 if array is None else np.asarray(array, dtype=float)


def activate(kind: Activation, x: Array) -> Array:
    """Apply an activation."""
    if kind is Activation.RELU:
        return np.where(x > 0, x, 0.0)
    if kind is Activation.GELU:
        return np.asarray(x * (1 + np.vectorize(erf)(x / sqrt(2))) / 2)
    if kind is Activation.GELU_NEW:
        return np.asarray(x * (1 + np.tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) / 2)
    if kind is Activation.TANH:
        return np.asarray(np.tanh(x))
    return np.asarray(x / (1 + np.exp(-x * (1.702 if kind is Activation.QUICK_GELU else 1))))


def normalise(norm: Norm | None, x: Array) -> Array:
    """Apply LayerNorm or RMSNorm over the last axis."""
    if norm is None:
        return x
    centred = x - x.mean(axis=-1, keepdims=True) if norm.kind == "layer" else x
    scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + float(norm.epsilon))
    weight = 1.0 if norm.weight is None else floats(norm.weight)
    return np.asarray(scaled * weight + floats(norm.bias))


def attend(head: NetworkHead, y: Array) -> Array:
    """Return the contribution of a head, without the bias of the layer."""
    size = len(y)
    q, k, v = (y @ floats(w) + floats(b) for w, b in ((head.w_q, head.b_q), (head.w_k, head.b_k), (head.w_v, head.b_v)))
    scores = q @ k.T * (float(head.scale.factor) / sqrt(head.scale.root))
    seen = {Mask.NONE: np.ones((size, size)), Mask.FUTURE: np.tri(size), Mask.PAST: np.tri(size).T}[head.mask]
    scores = np.where(seen > 0, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True) @ v @ floats(head.w_o))


def outputs(network: Network, ids: list[int]) -> Array:
    """Return the outputs (tokens, O) for token ids, with nothing added before or after; positions must be a table."""
    assert isinstance(network.positions, np.ndarray)
    embedding, table = floats(network.embedding), floats(network.positions)
    scale = float(network.embedding_scale.factor) / sqrt(network.embedding_scale.root)
    x = scale * embedding[ids] + table[: len(ids)]  # type: ignore[index]  # both are arrays, as held above
    for layer in network.layers:
        attention = floats(layer.b_o) if layer.attends else None
        y = x if layer.post else normalise(layer.norm_1, x)
        if attention is not None:
            x = x + sum((attend(head, y) for head in layer.heads), attention)
            x = normalise(layer.norm_1, x) if layer.post else x
        if layer.mlp is not None:
            y = x if layer.post else normalise(layer.norm_2, x)
            hidden = activate(layer.mlp.activation, y @ floats(layer.mlp.w_in) + floats(layer.mlp.b_in))
            x = x + hidden @ floats(layer.mlp.w_out) + floats(layer.mlp.b_out)
            x = normalise(layer.norm_2, x) if layer.post else x
    return np.asarray(normalise(network.final, x) @ floats(network.unembedding) + floats(network.unembedding_bias))
