"""Random dense networks of every kind that external formats have."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from hardsim.network.blocks import DistanceBias, Rotary
from hardsim.network.dense import Dense, Mlp, NetworkHead, NetworkLayer, Pooled, Transform
from hardsim.network.features import NetworkFeature
from hardsim.network.rotary_scaling import Llama3Scaling, YarnScaling
from tests.support.model import Activation, Mask, Network, Norm, RootScale

SEEN = (Mask.FUTURE, Mask.NONE, Mask.PAST)


@dataclass(frozen=True)
class Shape:
    """Parameters of a random network: with `fractions` weights are Fractions, else floats of type `dtype`; `size`
    scales all weights, and `cold` the scores.
    """

    d: int = 8
    layers: int = 2
    heads: int = 2
    k: int = 4
    mlp: int = 12
    vocabulary: int = 4
    rows: int | None = 24
    outputs: int = 3
    norm: Literal["layer", "rms"] | None = "layer"
    post: bool = False
    activation: Activation = Activation.GELU_NEW
    biases: bool = True
    mask: Mask = Mask.FUTURE
    fractions: bool = False
    dtype: Any = np.float32
    size: float = 1.0
    cold: int = 1
    epsilon: Fraction = Fraction(1, 100_000)


class Maker:
    """Draws the parts of a network of a shape, from a seed."""

    def __init__(self, shape: Shape, seed: int) -> None:
        self.shape, self.rng = shape, np.random.default_rng(seed)
        scales = RootScale(), RootScale(Fraction(shape.d), shape.d), RootScale(Fraction(3, 2)), RootScale(Fraction(4))
        self.embedding_scale = scales[seed % 4]

    def array(self, *size: int, spread: float = 1.0) -> Dense:
        """Draw random weights."""
        if self.shape.fractions:
            numbers = self.rng.integers(-7, 8, size=size)
            found = np.empty(size, dtype=object)
            found.ravel()[:] = [Fraction(int(number), 7) * Fraction(spread) for number in numbers.ravel()]
            return found
        return (self.rng.normal(size=size) * spread * self.shape.size).astype(self.shape.dtype).astype(np.float64)

    def bias(self, *size: int) -> Dense | None:
        """Draw random biases; None if the shape has none."""
        return self.array(*size, spread=0.2) if self.shape.biases else None

    def norm(self) -> Norm | None:
        """Draw a norm; None if the shape has none."""
        if self.shape.norm is None:
            return None
        bare = self.rng.random() < 0.2
        weight = None if bare else self.array(self.shape.d)
        return Norm(self.shape.norm, self.shape.epsilon, weight, None if bare else self.bias(self.shape.d))

    def head(self, name: str) -> NetworkHead:
        """Draw a head with values one coordinate wider than keys."""
        d, k = self.shape.d, self.shape.k
        v = k + 1
        w_q, w_k = self.array(d, k, spread=d**-0.5), self.array(d, k, spread=d**-0.5)
        w_v, w_o = self.array(d, v, spread=d**-0.5), self.array(v, d, spread=v**-0.5)
        biases = self.bias(k), self.bias(k), self.bias(v)
        scale = RootScale(Fraction(self.shape.cold), k)
        return NetworkHead(name, self.shape.mask, scale, w_q, w_k, w_v, w_o, *biases)

    def layer(self, number: int) -> NetworkLayer:
        """Draw a layer."""
        shape = self.shape
        d, width = shape.d, shape.mlp
        mlp = None
        if width:
            w_in, w_out = self.array(d, width, spread=d**-0.5), self.array(width, d, spread=width**-0.5)
            mlp = Mlp(shape.activation, w_in, w_out, self.bias(width), self.bias(d))
        heads = tuple(self.head(f"{number}.{place}") for place in range(shape.heads))
        return NetworkLayer(heads, mlp, self.bias(d), self.norm(), self.norm(), shape.post)

    def network(self) -> Network:
        """Draw the network."""
        shape = self.shape
        positions = self.array(shape.rows, shape.d, spread=0.5) if shape.rows is not None else ()
        return Network(
            tokens=tuple(f"t{place}" for place in range(shape.vocabulary)),
            embedding=self.array(shape.vocabulary, shape.d),
            positions=positions,
            layers=tuple(map(self.layer, range(shape.layers))),
            final=self.norm(),
            unembedding=self.array(shape.d, shape.outputs),
            unembedding_bias=self.bias(shape.outputs),
            outputs=tuple(f"o{place}" for place in range(shape.outputs)),
            embedding_scale=self.embedding_scale,
        )


def made(shape: Shape | None = None, seed: int = 0, **changes: Any) -> Network:
    """Return a random network; `changes` replace parameters of the shape."""
    return Maker(replace(shape or Shape(), **changes), seed).network()


SCALINGS = (
    None,
    YarnScaling(Fraction(4), Fraction(1), Fraction(1, 4), 8),
    Llama3Scaling(Fraction(4), Fraction(1, 2), Fraction(2), 8),
    YarnScaling(Fraction(2), Fraction(32), Fraction(1), 64, truncate=False, stated=Fraction(4, 5)),
)
"""Scalings of the rotary positions of the heads, in turn."""


def featured(network: Network, chosen: Collection[NetworkFeature], seed: int = 0) -> Network:
    """Return a network of `made` with these features, with random numbers. The heads' keys need an even width."""
    d, outputs = network.embedding.shape[1], network.unembedding.shape[1]
    maker, has = Maker(Shape(d=d), seed), chosen.__contains__

    def norm(size: int) -> Norm:
        return Norm("rms", Fraction(1, 100), maker.array(size), None)

    def head(number: int, given: NetworkHead) -> NetworkHead:
        k = given.w_q.shape[1]
        rotary = Rotary(
            Fraction(100), k if number % 2 else 2, number % 2 == 0, Fraction(number + 1), SCALINGS[number % 4]
        )
        return replace(
            given,
            rotary=rotary if has(NetworkFeature.ROTARY) else None,
            distance=DistanceBias(Fraction(number + 1, 2)) if has(NetworkFeature.DISTANCE) else None,
            window=2 + number % 2 if has(NetworkFeature.WINDOW) else None,
            cap=Fraction(3, 2) if has(NetworkFeature.SCORE_CAP) else None,
            norm_q=norm(k) if has(NetworkFeature.HEAD_NORM) else None,
            norm_k=norm(k) if has(NetworkFeature.HEAD_NORM) and number % 2 == 0 else None,
        )

    def layer(given: NetworkLayer) -> NetworkLayer:
        mlp = given.mlp
        if mlp is not None and has(NetworkFeature.GATE):
            width = mlp.w_in.shape[1]
            mlp = replace(mlp, w_gate=maker.array(d, width, spread=d**-0.5), b_gate=maker.array(width))
        return replace(
            given,
            heads=tuple(head(number, one) for number, one in enumerate(given.heads)),
            mlp=mlp,
            parallel=has(NetworkFeature.PARALLEL),
            out_1=norm(d) if has(NetworkFeature.OUT_NORM) else None,
            out_2=norm(d) if has(NetworkFeature.OUT_NORM) and mlp is not None else None,
        )

    e = d + 3
    embeddings: dict[str, Any] = {}
    # Scores alone cannot read positions of another width.
    if has(NetworkFeature.PROJECTION) and not has(NetworkFeature.SCORE_POSITIONS):
        embeddings = {"embedding": maker.array(len(network.tokens), e), "projection": maker.array(e, d, spread=e**-0.5)}
        embeddings["projection_bias"] = maker.array(d)
        if isinstance(network.positions, np.ndarray):
            embeddings["positions"] = maker.array(len(network.positions), e, spread=0.5)
    wide = e if embeddings else d
    transform = Transform(maker.array(d, d + 1), maker.array(d + 1), Activation.GELU, norm(d + 1))
    pooled: Pooled = (
        "start" if has(NetworkFeature.POOLED_START) else "mean" if has(NetworkFeature.POOLED_MEAN) else "last"
    )
    return replace(
        network,
        layers=tuple(map(layer, network.layers)),
        **embeddings,
        embedding_bias=maker.array(wide) if has(NetworkFeature.EMBEDDING_BIAS) else None,
        embedding_norm=norm(wide) if has(NetworkFeature.EMBEDDING_NORM) else None,
        positions_at="scores" if has(NetworkFeature.SCORE_POSITIONS) else "stream",
        transform=transform if has(NetworkFeature.TRANSFORM) else None,
        unembedding=maker.array(d + 1, outputs) if has(NetworkFeature.TRANSFORM) else network.unembedding,
        output_cap=Fraction(2) if has(NetworkFeature.OUTPUT_CAP) else None,
        readout=replace(network.readout, pooled=pooled),
    )
