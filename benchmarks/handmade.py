"""Networks whose weights are written by hand, with specifications; each is right on every word that fits its table of
positions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardsim.network.dense import Activation, Mlp, Network, NetworkHead, NetworkLayer, Readout, RootScale, Token
from hardsim.network.numbers import Mask
from hardsim.targets.external import External
from hardsim.targets.inputs.network import of_network
from hardsim.targets.result import Word
from hardsim.targets.specification import read_specification

Floats = NDArray[np.float64]

ROWS = 81
"""Rows of a table of positions: enough for words of at most 80 symbols after `<bos>`."""
BOS, EOS = "<bos>", "<eos>"
DEPTH = 36
SHARPNESS = 8.0
"""Difference between the score of the selected position and that of its neighbours."""
DECAY = 1.0
"""Difference between the score of a position and that of the one before."""
BLOCKS, PERIOD = 3, 4
"""A word of simple shape has at most `BLOCKS` blocks, each of which repeats a word of at most `PERIOD` symbols."""
TRIES = 10_000


@dataclass(frozen=True)
class Case:
    """A correct network with its specification, and a description of its words of simple shape."""

    name: str
    subject: External
    extreme: Callable[[Word], bool] | None = None
    """A condition that words of simple shape must also satisfy; None: no further condition."""
    start: Word = ()
    """The symbols that words of simple shape begin with."""

    def shaped(self, n: int, rng: Random) -> Word | None:
        """Draw a word of n symbols with an expected answer, made of few blocks that each repeat a short word; None if
        none is found."""
        subject, alphabet = self.subject, self.subject.alphabet
        for _ in range(TRIES):
            cuts = sorted(rng.randrange(n + 1) for _ in range(rng.randrange(BLOCKS)))
            word: list[str] = []
            for size in np.diff([0, *cuts, n]).tolist():
                block = [rng.choice(alphabet) for _ in range(rng.randint(1, PERIOD))]
                word += (block * size)[:size]
            found = (*self.start, *word)[:n]
            judged = subject.domain is None or subject.domain.accepts(found)
            if judged and (self.extreme is None or self.extreme(found)):
                return found
        return None


# ---- networks ----


def cases() -> tuple[Case, ...]:
    """Return all cases."""
    return (
        Case("depth", _limited(brackets(), f"next: /{_nested(DEPTH)}/"), start=("a",) * DEPTH),
        Case("latest", _limited(latest(), "output last: i S b")),
        Case("factor", _limited(factor(), "output pair: O (b & Y b)"), _nearly_none),
    )


def _limited(network: Network, said: str) -> External:
    """Combine a network with the specification in one line."""
    name = network.layers[-1].heads[0].name
    found = of_network(network, name, "0" * 64, name).external
    assert found is not None
    return read_specification(said.encode(), f"{name}.spec", "").deciding(found)


def _nested(depth: int) -> str:
    return "(a b)*" if depth == 1 else f"(a {_nested(depth - 1)} b)*"


def _nearly_none(word: Word) -> bool:
    """Return True if b follows b at most once."""
    return sum(pair == ("b", "b") for pair in pairwise(word)) <= 1


def brackets() -> Network:
    """Build a network that computes which symbols may come next in brackets a and b nested to DEPTH.

    The depth so far is the mean of 1 at a and -1 at b; it is compared with multiples of the weight of one symbol."""
    positions = np.zeros((ROWS, 3))
    positions[:, 1] = _shares()
    embedding = np.array([[1.0, 0, 0], [-1.0, 0, 0], [0, 0, 0], [0, 0, 0]])
    layer = NetworkLayer((_mean("depth", 3, 0, 2),), None)
    unembedding = [[0, 0, 0, 0], [DEPTH - 0.5, -0.5, -1.0, 0.5], [-1.0, 1.0, 0, -1.0]]
    tokens = ("a", "b", BOS, EOS)
    readout = Readout((BOS,), at="each", alphabet=("a", "b"))
    return _network(tokens, embedding, positions, (layer,), unembedding, tokens, readout)


def latest() -> Network:
    """Build a network that tests whether a word's last symbol other than i is b: scores grow with the position, and are
    low at i."""
    positions = np.zeros((ROWS, 4))
    positions[:, 2] = np.arange(ROWS) / ROWS
    embedding = np.array([[-1.0, 0, 0, 0], [1.0, 0, 0, 0], [-1.0, 1.0, 0, 0], [-1.0, 1.0, 0, 0]])
    keys = np.array([[0], [-DECAY * ROWS - 20.0], [DECAY * ROWS], [0]])
    layer = NetworkLayer((_head("latest", np.zeros((4, 1)), keys, 4, 0, 3),), None)
    unembedding = [[0], [0], [0], [1.0]]
    return _network(("a", "b", "i", BOS), embedding, positions, (layer,), unembedding, ("last",), Readout((BOS,)))


def factor() -> Network:
    """Build a network that tests whether two b's are adjacent.

    A head attends to the previous position, hidden units compute where both symbols are b, and the mean over positions
    is compared with half the weight of one symbol."""
    here, place, square, share, before, both, mean = range(7)
    positions = np.zeros((ROWS, 7))
    positions[:, place] = np.arange(ROWS) / 10
    positions[:, square] = np.arange(ROWS) ** 2 / 100
    positions[:, share] = _shares()
    embedding = np.zeros((3, 7))
    embedding[1, here] = 1.0
    # -SHARPNESS (i - 1 - j)^2 without the terms that do not depend on j, which softmax ignores
    queries, keys = np.zeros((7, 2)), np.zeros((7, 2))
    queries[place, 0], keys[place, 0], keys[square, 1] = 10.0, 20 * SHARPNESS, -100 * SHARPNESS
    previous = _head("previous", queries, keys, 7, here, before, [-1.0, 1.0])
    w_in, w_out = np.zeros((7, 2)), np.zeros((2, 7))
    w_in[[here, before]], w_out[:, both] = 4.0, [1.0, -1.0]
    mlp = Mlp(Activation.RELU, w_in, w_out, np.array([-6.0, -7.0]))
    layers = NetworkLayer((previous,), mlp), NetworkLayer((_mean("share", 7, both, mean),), None)
    unembedding = [[0.0], [0], [0], [-0.5], [0], [0], [1.0]]
    return _network(("a", "b", BOS), embedding, positions, layers, unembedding, ("pair",), Readout((BOS,)))


def _shares() -> Floats:
    """Return the weight of one symbol in the mean over all positions so far, for each position."""
    return 1 / np.arange(1, ROWS + 1)


def _head(
    name: str, queries: Floats, keys: Floats, d: int, source: int, target: int, bias: Sequence[float] = (1.0,)
) -> NetworkHead:
    """Build a head that adds the value of coordinate `source` to coordinate `target`."""
    values, outs = np.zeros((d, 1)), np.zeros((1, d))
    values[source, 0] = outs[0, target] = 1.0
    return NetworkHead(name, Mask.FUTURE, RootScale(), queries, keys, values, outs, np.array(bias))


def _mean(name: str, d: int, source: int, target: int) -> NetworkHead:
    """Build a head whose value is the mean over all positions so far."""
    return _head(name, np.zeros((d, 1)), np.zeros((d, 1)), d, source, target)


def _network(
    tokens: tuple[Token, ...],
    embedding: Floats,
    positions: Floats,
    layers: tuple[NetworkLayer, ...],
    unembedding: Any,
    outputs: tuple[Token, ...],
    readout: Readout,
) -> Network:
    weights = np.array(unembedding, dtype=np.float64)
    return Network(tokens, embedding, positions, layers, None, weights, None, outputs, readout)
