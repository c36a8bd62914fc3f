"""External networks: certified float64 compared with a plain numpy float64 forward pass of the same batch.

The networks are random. They have the shapes of small trained networks (width 16, one head, gelu_new, LayerNorm) and of
a network of 3 MB in float32. The plain pass is what a programmer would write by hand: queries, keys and values of all
heads in one product, an added mask, tanh, and batches whose scores stay in the cache. Both passes give all outputs at
every position.

A network of 12 layers is run in fixed-point numbers, since certified float64 has no bounds there. Its weights have a
standard deviation of 0.02."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from flint import arb

from benchmarks.dense import CELLS, Floats, Integers
from benchmarks.runner import Case, FailedError, turns
from hardsim.network.dense import Activation, Mlp, Network, NetworkHead, NetworkLayer, Norm, RootScale
from hardsim.network.numbers import Mask
from hardsim.run.dense_balls import LARGE_BITS
from hardsim.run.dense_fixed import FixedForward
from hardsim.run.dense_float import DenseFloat

CERTIFIED, FIXED, PLAIN = "certified float64", "fixed-point numbers", "plain numpy"
LENGTHS = {64: 64, 150: 24}
"""The number of words of each length, by length."""
EPSILON = Fraction(1, 100_000)
DEEP, DEEP_SPREAD, NARROW = 64, 0.02, 1e-6
"""Symbols of a word of the deep network, the spread of its weights, and the radius that its outputs must have."""
SOUND = 1e-9
"""The greatest distance of a plain result outside an enclosure, relative to the largest output: the plain pass
rounds, too."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of a network: layers, heads, width; the MLP is four times as wide."""

    name: str
    layers: int
    heads: int
    width: int
    vocabulary: int = 8
    spread: float | None = None
    """Standard deviation of the weights; None: that of small trained networks."""

    def network(self, longest: int) -> Network:
        """Return a random network for words of up to `longest` tokens, with weights as small as those of a trained
        network."""
        rng = np.random.default_rng(7)
        d, k = self.width, self.width // self.heads
        usual = 0.5 * d**-0.5 if self.spread is None else self.spread

        def array(*size: int, spread: float = usual) -> Floats:
            return (
                rng.normal(0, spread if self.spread is None else self.spread, size)
                .astype(np.float32)
                .astype(np.float64)
            )

        def norm() -> Norm:
            return Norm("layer", EPSILON, 1 + array(d), array(d))

        def head(name: str) -> NetworkHead:
            made = [array(d, k), array(d, k), array(d, k), array(k, d), array(k), array(k), array(k)]
            return NetworkHead(name, Mask.FUTURE, RootScale(Fraction(1), k), *made)

        def layer(number: int) -> NetworkLayer:
            mlp = Mlp(Activation.GELU_NEW, array(d, 4 * d), array(4 * d, d), array(4 * d), array(d))
            heads = tuple(head(f"{number}.{place}") for place in range(self.heads))
            return NetworkLayer(heads, mlp, array(d), norm(), norm())

        names = tuple(f"t{token}" for token in range(self.vocabulary))
        layers = tuple(map(layer, range(self.layers)))
        embedding, positions = array(self.vocabulary, d, spread=0.5), array(longest, d, spread=0.5)
        return Network(names, embedding, positions, layers, norm(), array(d, self.vocabulary), None, names)


SHAPES = (
    Shape("width 16, 1 layer", 1, 1, 16),
    Shape("width 16, 2 layers", 2, 1, 16),
    Shape("3 MB: width 128, 4 layers, 4 heads", 4, 4, 128),
)
ACTIVATIONS: dict[Activation, Callable[[Floats], Floats]] = {
    Activation.RELU: lambda y: np.maximum(y, 0),
    Activation.GELU_NEW: lambda y: 0.5 * y * (1 + np.tanh((2 / np.pi) ** 0.5 * (y + 0.044715 * y * y * y))),
}


class PlainPass:
    """A numpy forward pass of a causal pre-norm network whose heads have the same widths in a layer."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.joined = []
        for layer in network.layers:
            assert not layer.post
            assert {head.mask for head in layer.heads} == {Mask.FUTURE}
            weights, biases = [], []
            for name in "qkv":
                for head in layer.heads:
                    weight, bias = getattr(head, f"w_{name}"), getattr(head, f"b_{name}")
                    weights.append(weight)
                    biases.append(np.zeros(weight.shape[1]) if bias is None else bias)
            ends = np.cumsum([weight.shape[1] for weight in weights])[len(layer.heads) - 1 : -1 : len(layer.heads)]
            scale = [float(head.scale.factor) / head.scale.root**0.5 for head in layer.heads]
            outs = np.concatenate([head.w_o for head in layer.heads])
            joined = np.concatenate(weights, axis=1), np.concatenate(biases), ends
            self.joined.append((*joined, np.array(scale)[:, None, None], outs))

    def run(self, tokens: Integers, places: Integers | None = None) -> Floats:
        """Return the outputs at every position, (words, positions, outputs); with `places` only at that position of
        each word, (words, 1, outputs)."""
        # Scores must fit the cache, else a batch is several times slower.
        single = places is not None and len(self.network.layers) == 1  # only one query has scores
        size = max(1, CELLS // tokens.shape[1] ** (1 if single else 2))
        parts = [slice(start, start + size) for start in range(0, len(tokens), size)]
        return np.concatenate([self._batch(tokens[part], None if places is None else places[part]) for part in parts])

    def _batch(self, tokens: Integers, places: Integers | None) -> Floats:
        m, network = tokens.shape[1], self.network
        assert isinstance(network.positions, np.ndarray)
        x, at = network.embedding[tokens] + network.positions[:m], np.arange(m)[None]
        for layer, (weight, bias, ends, scale, outs) in zip(network.layers, self.joined, strict=True):
            count = len(layer.heads)
            q, k, v = (
                part.reshape(*part.shape[:2], count, -1).transpose(0, 2, 1, 3)
                for part in np.split(_times(_normed(x, layer.norm_1), weight) + bias, ends, axis=2)
            )
            if places is not None and layer is network.layers[-1]:  # the last layer is needed at one position only
                rows, at = np.arange(len(tokens)), places[:, None]
                x, q = x[rows, places][:, None], q[rows, :, places][:, :, None]
            scores = q @ k.transpose(0, 1, 3, 2) * scale
            scores += np.where(np.arange(m) > at[..., None], -np.inf, 0.0)[:, None]
            weights = np.exp(scores - scores.max(axis=3, keepdims=True))
            attended = (weights @ v) / weights.sum(axis=3, keepdims=True)
            x = x + _times(attended.transpose(0, 2, 1, 3).reshape(*x.shape[:2], -1), outs) + _sum(layer.b_o)
            if (mlp := layer.mlp) is not None:
                y = _times(_normed(x, layer.norm_2), mlp.w_in) + _sum(mlp.b_in)
                x = x + _times(ACTIVATIONS[mlp.activation](y), mlp.w_out) + _sum(mlp.b_out)
        found: Floats = _times(_normed(x, network.final), network.unembedding) + _sum(network.unembedding_bias)
        return found


def _times(x: Floats, weights: Any) -> Floats:
    """Return `x @ weights` as one product of matrices, which is faster than one for each word."""
    found: Floats = (x.reshape(-1, x.shape[-1]) @ weights).reshape(*x.shape[:-1], -1)
    return found


def _sum(bias: Any) -> Any:
    return 0.0 if bias is None else bias


def _normed(x: Floats, norm: Norm | None) -> Floats:
    if norm is None:
        return x
    centred = x - x.mean(axis=-1, keepdims=True) if norm.kind == "layer" else x
    found = centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + float(norm.epsilon))
    scaled: Floats = found * (1.0 if norm.weight is None else norm.weight) + _sum(norm.bias)
    return scaled


def measure(shape: Shape, n: int, count: int, rounds: int = 9) -> tuple[Mapping[str, float], str]:
    """Measure the median processor times of the two passes, which run in turns.
    Raises FailedError if an enclosure is infinite, or far from the result of the plain pass."""
    network = shape.network(n)
    tokens = np.random.default_rng(n).integers(0, shape.vocabulary, size=(count, n))
    certified, plain = DenseFloat(network), PlainPass(network)
    (mid, rad), found = certified.run(n, tokens, slice(None)), plain.run(tokens)
    if not (np.abs(mid - found) <= rad + SOUND * np.abs(found).max()).all():
        raise FailedError("the plain pass is far from an enclosure")
    runs: dict[str, Callable[[], object]] = {
        CERTIFIED: lambda: certified.run(n, tokens, slice(None)),
        PLAIN: lambda: plain.run(tokens),
    }
    seconds, _ = turns(runs, [rounds] * 2)
    return seconds, f"{1000 * seconds[CERTIFIED] / count:.2g} ms a word; largest radius {rad.max():.1g}"


def measure_deep(shape: Shape, rounds: int = 3) -> tuple[Mapping[str, float], str]:
    """Measure the median processor times of one word in fixed-point numbers and in a plain pass, which run in turns.
    Raises FailedError if a radius is not narrow, or an enclosure far from the result of the plain pass."""
    network = shape.network(DEEP)
    tokens = np.random.default_rng(DEEP).integers(0, shape.vocabulary, size=(1, DEEP))
    fixed, plain = FixedForward(DenseFloat(network), LARGE_BITS), PlainPass(network)
    rows, found = fixed.run(DEEP, tokens[0].tolist(), range(DEEP)), plain.run(tokens)[0]
    mid, rad = (np.array([[float(part(value)) for value in row] for row in rows]) for part in (arb.mid, arb.rad))
    if not (rad < NARROW).all() or not (np.abs(mid - found) <= rad + SOUND * np.abs(found).max()).all():
        raise FailedError("an enclosure is wide, or the plain pass is far from it")
    runs: dict[str, Callable[[], object]] = {
        FIXED: lambda: fixed.run(DEEP, tokens[0].tolist(), range(DEEP)),
        PLAIN: lambda: plain.run(tokens),
    }
    seconds, _ = turns(runs, [rounds] * 2)
    return seconds, f"{seconds[FIXED]:.2g} s a word; largest radius {rad.max():.1g}"


DEEP_SHAPE = Shape("width 256, 12 layers, 4 heads", 12, 4, 256, spread=DEEP_SPREAD)
CASES = (
    Case(
        "external",
        f"{DEEP_SHAPE.name}, n = {DEEP}",
        [(f"{FIXED} / {PLAIN}", "x", ("≤", 300))],
        partial(measure_deep, DEEP_SHAPE),
    ),
    *(
        Case(
            "external",
            f"{shape.name}, n = {n}",
            [(f"{CERTIFIED} / {PLAIN}", "x", ("≤", 6))],
            partial(measure, shape, *size),
        )
        for shape in SHAPES
        for size in LENGTHS.items()
        for n in size[:1]
    ),
)
