"""Networks by hand whose answers are known."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from hardsim.api import Model
from hardsim.checking.open import of_network
from hardsim.network.dense import Network, NetworkHead, NetworkLayer, Readout, ScoreScale, Token
from hardsim.network.numbers import Mask

AT_THE_END = Readout()


def exact(rows: list[Any]) -> Any:
    """An array of Fractions."""
    return np.array([[Fraction(value) for value in row] for row in rows], dtype=object)


def mean_of_a(
    bias: Fraction = Fraction(-1, 2), rows: int | None = None, readout: Readout = AT_THE_END, **more: Any
) -> Network:
    """Over a and b: the only output is the share of a's among the positions that are seen, plus `bias`. Coordinate 0 is
    1 at an a, coordinate 1 holds what the head makes of it."""
    tokens: tuple[Token, ...] = more.pop("tokens", ("a", "b"))
    embedding = np.zeros((len(tokens), 2))
    embedding[0, 0] = 1.0
    zero, value = np.zeros((2, 1)), np.array([[1.0], [0.0]])
    mask = more.pop("mask", Mask.FUTURE)
    head = NetworkHead("mean", mask, ScoreScale(), zero, zero, value, np.array([[0.0, 1.0]]))
    return Network(
        tokens=tokens,
        embedding=embedding,
        positions=() if rows is None else np.zeros((rows, 2)),
        layers=(NetworkLayer((head,), None),),
        final=None,
        unembedding=np.array([[0.0], [1.0]]),
        unembedding_bias=exact([[bias]])[0],
        outputs=more.pop("outputs", ("share",)),
        readout=readout,
    )


def model_of(network: Network, name: str = "net") -> Model:
    """The network as if it had been read."""
    return Model(of_network(network, name, "0" * 64, "by hand"))
