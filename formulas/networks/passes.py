"""Passes forward and backward through the parts of a GPT-2, written out in NumPy and in float64.

The trainers of this folder that need no PyTorch build their networks from these parts. Each part returns its result
and its backward pass: a function from the gradient by that result to the gradient by the part's input.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from formulas.networks.train import EPSILON

Floats = npt.NDArray[np.float64]
Weights = dict[str, Floats]
Back = Callable[[Floats], Floats]
"""A backward pass: from the gradient by the result of a part to the gradient by its input."""


class Parts:
    """The parts of a GPT-2 that have weights.

    Backward passes add the gradient by each parameter to `gradient`. Parameters have the names of Hugging Face, without
    `transformer.` where a method takes one.
    """

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.gradient = {name: np.zeros_like(tensor) for name, tensor in weights.items()}

    def linear(self, x: Floats, name: str) -> tuple[Floats, Back]:
        """Return x W + b for vectors x [..., d]."""
        weight, bias = f"transformer.{name}.weight", f"transformer.{name}.bias"

        def back(by_result: Floats) -> Floats:
            flat = by_result.reshape(-1, by_result.shape[-1])
            self.gradient[weight] += x.reshape(-1, x.shape[-1]).T @ flat
            self.gradient[bias] += flat.sum(axis=0)
            return by_result @ self.weights[weight].T

        return x @ self.weights[weight] + self.weights[bias], back

    def norm(self, x: Floats, name: str) -> tuple[Floats, Back]:
        """Return the LayerNorm of vectors x [..., d]."""
        weight, bias = f"transformer.{name}.weight", f"transformer.{name}.bias"
        centred = x - x.mean(axis=-1, keepdims=True)
        scale = self.inverse_root(np.square(centred).mean(axis=-1, keepdims=True) + EPSILON)
        unit = centred * scale

        def back(by_result: Floats) -> Floats:
            size = x.shape[-1]
            self.gradient[weight] += (by_result * unit).reshape(-1, size).sum(axis=0)
            self.gradient[bias] += by_result.reshape(-1, size).sum(axis=0)
            by_unit = by_result * self.weights[weight]
            along = (by_unit * unit).mean(axis=-1, keepdims=True)
            return np.asarray(scale * (by_unit - by_unit.mean(axis=-1, keepdims=True) - unit * along))

        return unit * self.weights[weight] + self.weights[bias], back

    def inverse_root(self, variance: Floats) -> Floats:
        """Return 1 / sqrt(variance)."""
        return np.asarray(variance**-0.5)

    def mlp(self, x: Floats, block: str) -> tuple[Floats, Back]:
        """Return what the MLP of a block computes of vectors x [..., d], with the tanh form of GELU."""
        inner, to_x = self.linear(x, f"{block}.mlp.c_fc")
        bent = np.tanh(math.sqrt(2 / math.pi) * (inner + 0.044715 * inner**3))
        result, to_active = self.linear(0.5 * inner * (1 + bent), f"{block}.mlp.c_proj")
        slope = (1 - bent**2) * math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * inner**2)
        return result, lambda by_result: to_x(to_active(by_result) * 0.5 * (1 + bent + inner * slope))


def causal_attention(joint: Floats, heads: int) -> tuple[Floats, Back]:
    """Return the means that heads read, side by side [count, rows, d].

    `joint` [count, rows, 3 d] are the queries, keys and values of all heads. Scores are divided by the root of the
    heads' width.
    """
    count, rows, _ = joint.shape
    query, key, value = joint.reshape(count, rows, 3, heads, -1).transpose(2, 0, 3, 1, 4)
    scale = query.shape[-1] ** -0.5
    scores = query @ key.swapaxes(2, 3) * scale + np.triu(np.full((rows, rows), -np.inf), 1)
    share = np.exp(scores - scores.max(axis=3, keepdims=True))
    share /= share.sum(axis=3, keepdims=True)

    def back(by_mixed: Floats) -> Floats:
        by_head = by_mixed.reshape(count, rows, heads, -1).transpose(0, 2, 1, 3)
        by_share = by_head @ value.swapaxes(2, 3)
        by_scores = share * (by_share - (by_share * share).sum(axis=3, keepdims=True)) * scale
        parts = by_scores @ key, by_scores.swapaxes(2, 3) @ query, share.swapaxes(2, 3) @ by_head
        return np.stack(parts).transpose(1, 3, 0, 2, 4).reshape(joint.shape)

    return (share @ value).transpose(0, 2, 1, 3).reshape(count, rows, -1), back
