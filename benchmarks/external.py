"""External networks: certified float64 compared with a plain numpy float64 forward pass of the same batch.

The networks are random. They have the shapes of small trained networks (width 16, one head, gelu_new, LayerNorm) and of
a network of 3 MB in float32. The plain pass is what a programmer would write by hand: queries, keys and values of all
heads in one product, an added mask, tanh, and batches whose scores stay in the cache. Both passes give all outputs at
every position.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from statistics import median
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.dense import CELLS
from benchmarks.results import Figure, Results, Target
from benchmarks.timing import WrongAnswerError
from hardsim.network.dense import Activation, Mlp, NetworkHead, NetworkLayer, Norm, RootScale
from hardsim.network.dense import Network as ForeignNetwork
from hardsim.network.numbers import Mask
from hardsim.run.dense_float import DenseFloat

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

GROUP = "foreign"
WHAT = "certified float64 / plain numpy"
LENGTHS = {64: 64, 150: 24}
"""The number of words of each length, by length."""
TARGET = Target(6)
REPEATS = 9
EPSILON = Fraction(1, 100_000)
SOUND = 1e-9
"""The greatest distance of a plain result outside an enclosure, relative to the largest output: the plain pass
rounds, too.
"""


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of a network: layers, heads, width; the MLP is four times as wide."""

    name: str
    layers: int
    heads: int
    width: int
    vocabulary: int = 8

    def network(self, longest: int) -> ForeignNetwork:
        """Return a random network for words of up to `longest` tokens, with weights as small as those of a trained
        network.
        """
        rng = np.random.default_rng(7)
        d, k = self.width, self.width // self.heads

        def array(*size: int, spread: float = 0.5 * d**-0.5) -> Floats:
            return rng.normal(0, spread, size).astype(np.float32).astype(np.float64)

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
        return ForeignNetwork(names, embedding, positions, layers, norm(), array(d, self.vocabulary), None, names)


SHAPES = (
    Shape("width 16, 1 layer", 1, 1, 16),
    Shape("width 16, 2 layers", 2, 1, 16),
    Shape("3 MB: width 128, 4 layers, 4 heads", 4, 4, 128),
)


class PlainPass:
    """A numpy forward pass of a pre-norm network with biases and gelu_new."""

    def __init__(self, network: ForeignNetwork, n: int) -> None:
        self.network, self.layers = network, network.layers
        self.hidden = np.where(np.tri(n, dtype=np.bool_), 0.0, -np.inf)
        self.joined = [
            tuple(
                np.concatenate([getattr(head, name) for name in names for head in layer.heads], axis=-1)
                for names in (("w_q", "w_k", "w_v"), ("b_q", "b_k", "b_v"))
            )
            for layer in network.layers
        ]
        self.outs = [np.concatenate([head.w_o for head in layer.heads]) for layer in network.layers]
        self.n = n

    def run(self, tokens: Integers) -> Floats:
        """Return the outputs at every position."""
        size = max(1, CELLS // self.n**2)
        return np.concatenate([self._batch(tokens[start : start + size]) for start in range(0, len(tokens), size)])

    def _batch(self, tokens: Integers) -> Floats:
        assert isinstance(self.network.positions, np.ndarray)
        x = self.network.embedding[tokens] + self.network.positions[: self.n]
        words, n, d = x.shape
        x = x.reshape(-1, d)
        layer: Any  # Any: the optional parts are all present here
        for layer, (weight, bias), out in zip(self.layers, self.joined, self.outs, strict=True):
            heads, mlp = len(layer.heads), layer.mlp
            joined = _normed(x, layer.norm_1) @ weight + bias
            q, k, v = joined.reshape(words, n, 3, heads, d // heads).transpose(2, 0, 3, 1, 4)
            scores = q @ k.transpose(0, 1, 3, 2) / (d // heads) ** 0.5 + self.hidden
            weights = np.exp(scores - scores.max(axis=3, keepdims=True))
            attended = (weights @ v) / weights.sum(axis=3, keepdims=True)
            x = x + attended.transpose(0, 2, 1, 3).reshape(-1, d) @ out + layer.b_o
            y = _normed(x, layer.norm_2) @ mlp.w_in + mlp.b_in
            y = 0.5 * y * (1 + np.tanh((2 / np.pi) ** 0.5 * (y + 0.044715 * y * y * y)))
            x = x + y @ mlp.w_out + mlp.b_out
        found: Floats = _normed(x, self.network.final) @ self.network.unembedding
        return found.reshape(words, n, -1)


def _normed(x: Floats, norm: Norm | None) -> Floats:
    assert norm is not None
    centred = x - x.mean(axis=1, keepdims=True)
    found: Any = centred / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + float(norm.epsilon))
    found = found * norm.weight + norm.bias
    return np.asarray(found, dtype=np.float64)


def measure() -> Results:
    """Measure all shapes at all lengths."""
    return Results(figures=[one(shape, n, count, REPEATS, TARGET) for shape in SHAPES for n, count in LENGTHS.items()])


def one(shape: Shape, n: int, count: int, repeats: int, target: Target | None) -> Figure:
    """Return the ratio of the median processor times of the two passes, which run alternately.

    Raises:
        WrongAnswerError: if an enclosure is infinite, or far from the result of the plain pass.
    """
    network = shape.network(n)
    tokens = np.random.default_rng(n).integers(0, shape.vocabulary, size=(count, n))
    certified, plain = DenseFloat(network), PlainPass(network, n)
    (mid, rad), found = certified.run(n, tokens, slice(None)), plain.run(tokens)
    if not (np.abs(mid - found) <= rad + SOUND * np.abs(found).max()).all():
        raise WrongAnswerError(f"{shape.name}, n = {n}: the plain pass is far from an enclosure")
    runs: tuple[Callable[[], object], ...] = (
        lambda: certified.run(n, tokens, slice(None)),
        lambda: plain.run(tokens),
    )
    seconds: tuple[list[float], ...] = ([], [])
    for _ in range(repeats):
        for run, times in zip(runs, seconds, strict=True):
            began = process_time()
            run()
            times.append(process_time() - began)
    ours, theirs = map(median, seconds)
    note = f"{1000 * ours / count:.2g} ms a word; largest radius {rad.max():.1g}"
    return Figure(GROUP, WHAT, f"{shape.name}, n = {n}", ours / theirs, "x", target, note)
