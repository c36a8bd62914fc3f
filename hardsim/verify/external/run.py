"""The outputs of a network after one word, between bounds.

Keys and values depend on a token and its place alone, and are kept. Let s_j be the computed scores of a query, each off
by at most rho_j, and M the greatest of them. With d_j the rounded s_j - M, the true e^(s_j - M) is a factor e^(rho_j +
2 u |d_j|) or less away from e^(d_j), in both directions, and the stored weight w_j is right to 4 u: so the true weight
is w_j (1 + t_j) with |t_j| <= tau < 1/4. For d_j < -FAR the stored weight is 0 and the true one at most 2 NEGLIGIBLE.
A factor of all weights does not change a mean. With a the mean of the stored values v_j by the stored weights,

    mean of v_j by the true weights - a = sum_j w_j t_j (v_j - a) / sum_j w_j (1 + t_j),

at most tau / (1 - tau) times the mean of |v_j - a|. If the values are off by e_j, that adds at most (1 + tau) / (1 -
tau) times the mean of e_j.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from hardsim.verify.arithmetic import require
from hardsim.verify.external.network import Bounded, HeadData, NetworkData
from hardsim.verify.external.numbers import (
    ACTIVATION_ERROR,
    ACTIVATIONS,
    ETA,
    EXP_ERROR,
    FAR,
    GROW,
    NEGLIGIBLE,
    STEEPEST,
    U,
    dot,
    exp,
    gamma,
)
from hardsim.verify.external.parts import ScoreData

HeadColumn = tuple[Bounded, Bounded]
"""The key and the value of one head at one token."""


class WordRunner:
    """Runs words through a network of one layer, whose last position must see all tokens."""

    def __init__(self, network: NetworkData) -> None:
        self.network = network
        require(all(head.mask != "past" for head in network.heads), "a head sees only positions from its own on")
        self._columns: dict[tuple[int, int], list[HeadColumn]] = {}

    def outputs(self, tokens: Sequence[int]) -> Bounded:
        """Return the outputs at the last of some tokens, all of which are read. Raises Rejected if there is none, the
        table of positions is too short, or bounds are too wide (a norm that may divide by 0, weights far off)."""
        require(tokens, "a network that reads no token has no output")
        network, last = self.network, len(tokens) - 1
        columns = [self._kept(token, place) for place, token in enumerate(tokens)]
        return _answered(network, layer_output(network, network.embedded(tokens[-1], last), columns))

    def _kept(self, token: int, place: int) -> list[HeadColumn]:
        """Return the key and the value of each head for a token at a place."""
        where = token, place
        if where not in self._columns:
            self._columns[where] = column_of(self.network, self.network.embedded(token, place), place)
        return self._columns[where]


@dataclass(frozen=True, slots=True)
class ReadPrefix:
    """The tokens read so far by several causal layers: keys and values by layer, token and head, and the last token's
    vector after each layer."""

    columns: list[list[list[HeadColumn]]]
    after: list[Bounded]


class PrefixRunner:
    """Runs prefixes through several causal layers, token by token."""

    def __init__(self, layers: Sequence[NetworkData]) -> None:
        self.layers = layers
        require(all(head.mask == "future" for one in layers for head in one.heads), "network: it is not causal")

    def read(self, before: ReadPrefix | None, token: int) -> ReadPrefix:
        """Return what is read after one more token (None: before the first). Raises Rejected if bounds are too wide, or
        the table of positions is too short."""
        place = 0 if before is None else len(before.columns[0])
        x, columns, after = self.layers[0].embedded(token, place), [], []
        for number, network in enumerate(self.layers):
            known = [] if before is None else before.columns[number]
            columns.append([*known, column_of(network, x, place)])
            x = layer_output(network, x, columns[-1])
            after.append(x)
        return ReadPrefix(columns, after)

    def outputs(self, read: ReadPrefix) -> Bounded:
        """Return the outputs at the last token."""
        return _answered(self.layers[-1], read.after[-1])


def _entering(network: NetworkData, x: Bounded) -> Bounded:
    """Return what the heads read of the vectors that enter a layer."""
    return x if network.post or network.norm_1 is None else network.norm_1(*x)


def column_of(network: NetworkData, x: Bounded, place: int) -> list[HeadColumn]:
    """Return the key and the value of each head of a layer, for the vector that enters it at a place."""
    y = _entering(network, x)
    read = network.read(y, place)
    return [(head.key(read, place), head.v(*y)) for head in network.heads]


def layer_output(network: NetworkData, x: Bounded, columns: Sequence[list[HeadColumn]]) -> Bounded:
    """Return the vector after a layer, for the vector that enters it at the last of the tokens whose keys and values
    are given."""
    entered, y, place = x, _entering(network, x), len(columns) - 1
    read = network.read(y, place)
    sums: list[Bounded] = [(network.b_o, [0.0] * network.dimension)]
    for number, head in enumerate(network.heads):
        sums.append(head.o(*_attended(head, head.query(read, place), [column[number] for column in columns])))
    # a norm of what attention adds comes before the sum with x
    if network.out_1 is not None:
        sums = [network.out_1(*sum_of(sums))]
    x = sum_of([x, *sums])
    if network.post and network.norm_1 is not None:
        x = network.norm_1(*x)
    if network.mlp is None:
        return x
    x = sum_of([x, mlp_added(network, entered if network.parallel else x)])
    return network.norm_2(*x) if network.post and network.norm_2 is not None else x


def mlp_added(network: NetworkData, x: Bounded) -> Bounded:
    """Return what the MLP of a layer adds to the vector x that it reads."""
    mlp = network.mlp
    assert mlp is not None
    y = x if network.post or network.norm_2 is None else network.norm_2(*x)
    entered = mlp.enter(*y)
    hidden = _bent(mlp.activation, entered if mlp.gate is None else mlp.gate(*y))
    found = mlp.leave(*(hidden if mlp.gate is None else _products(hidden, entered)))
    return found if network.out_2 is None else network.out_2(*found)


def _bent(name: str, x: Bounded) -> Bounded:
    """Return the function of hidden units of each coordinate."""
    f, steepest = ACTIVATIONS[name], STEEPEST[name]
    errors = [(steepest * e + ACTIVATION_ERROR * abs(a)) * GROW + ETA for a, e in zip(*x, strict=True)]
    return [*map(f, x[0])], errors


def _products(x: Bounded, y: Bounded) -> Bounded:
    """Return the products of coordinates: a b is off by at most |a| f + |b| e + e f, and u |a b|."""
    parts = [*zip(*x, *y, strict=True)]
    errors = [(abs(a) * f + abs(b) * e + e * f + 2 * U * abs(a * b)) * GROW + ETA for a, e, b, f in parts]
    return [a * b for a, _, b, _ in parts], errors


def _answered(network: NetworkData, x: Bounded) -> Bounded:
    """Return the outputs, from the vector after the last layer. A cap C is within u, as `ScoreData` has it."""
    x = x if network.final is None else network.final(*x)
    if (transform := network.transform) is not None:
        x = transform.map(*x)
        x = x if transform.activation is None else _bent(transform.activation, x)
        x = x if transform.norm is None else transform.norm(*x)
    x = network.unembedding(*x)
    if network.output_cap is None:
        return x
    steps = ScoreData(network.output_cap)
    return [steps.score(a, 0) for a in x[0]], [steps.error(e, abs(a) + e, 0) for a, e in zip(*x, strict=True)]


def sum_of(parts: Sequence[Bounded]) -> Bounded:
    """Return the sum of vectors between bounds: k numbers are off by gamma_k times the sum of their sizes."""
    g = gamma(len(parts) + 2)
    mids = [*zip(*[mid for mid, _ in parts], strict=True)]
    offs = zip(*[off for _, off in parts], strict=True)
    bounds = [(sum(off) + g * sum(map(abs, mid))) * GROW + ETA for mid, off in zip(mids, offs, strict=True)]
    return [*map(sum, mids)], bounds


def _attended(head: HeadData, query: Bounded, columns: Sequence[tuple[Bounded, Bounded]]) -> Bounded:
    """Return the mean of the values of a head.

    With q' the query times the scale, which is within 4 u, a score is off by at most |q'| e_k + e_q' (|k| + e_k) and
    gamma_(n + 6) |q'| |k|.
    """
    scale = head.scale
    q = [a * scale for a in query[0]]
    sizes = [*map(abs, q)]
    loose = [(e * scale * (1 + 8 * U) + 8 * U * a) * GROW + ETA for a, e in zip(sizes, query[1], strict=True)]
    g, scores, loosest, last, steps = gamma(len(q) + 8), [], list[float](), len(columns) - 1, head.scores
    # the query is the last token, so its window has the last keys
    columns = columns if steps.window is None else columns[-steps.window :]
    for away, ((key, off), _) in zip(range(len(columns) - 1, -1, -1), columns, strict=True):
        scores.append(steps.score(dot(q, key), away))
        # |q'| (e_k + g |k|) + e_q' (|k| + e_k)
        reach = [abs(a) + e for a, e in zip(key, off, strict=True)]
        error = (dot(sizes, off) + g * dot(sizes, reach) + dot(loose, reach)) * GROW + ETA
        loosest.append(steps.error(error, dot(sizes, reach) * GROW, last))
    fine = all(map(isfinite, scores)) and all(map(isfinite, loosest))
    greatest, grown = max(scores), (max(loosest) + 4 * U * FAR) * GROW
    require(fine and grown < 2.0**-4, "the scores of a head are not known well enough")
    # e^x - 1 <= x / (1 - x), and 4 u of `exp`
    tau = (grown / (1 - grown) + 2 * EXP_ERROR) * GROW
    weights = [exp(s - greatest) if s - greatest >= -FAR else 0.0 for s in scores]
    whole, many = sum(weights), len(weights)
    mids, offs = (zip(*[value[k] for _, value in columns], strict=True) for k in range(2))
    near, bounds, g = [], [], gamma(many + 8)
    for column, errors in zip(mids, offs, strict=True):
        mean = dot(weights, column) / whole
        apart = [abs(v - mean) for v in column]
        # the stored weights of far scores are 0: they add at most 4 NEGLIGIBLE times |v - a| + e each
        error = (2 * tau * dot(weights, apart) + (1 + 4 * tau) * dot(weights, errors)) / whole
        error += 4 * NEGLIGIBLE * (sum(apart) + sum(errors)) + g * dot(weights, [*map(abs, column)]) / whole
        near.append(mean)
        bounds.append(error * GROW + ETA)
    return near, bounds
