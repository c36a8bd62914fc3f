"""Keys, values and scores of a one-layer causal network by position and token, with bounds.

In one layer the key and the value at a position depend on the position and its token alone, and the query on the last
position and its token. A class of prefixes shares these: its length, the state of the demands' machine before the
last token, and that token. Positions that the class leaves free are `free` many, and the prefix of free symbols must
end in `state`; the tokens before the word, after it, and the last symbol where the network is read there, are fixed.

Weights are e^(score - M) with M the greatest computed score of a class: a common factor of all weights of a query does
not change their mean. With rho a bound of the errors of a query's scores, and d = fl(score - M), the true weight is
within the factor 1 +- tau of fl(exp(max(d, FLOOR))), tau as in `run.dense_float`, if d >= FLOOR; otherwise it is
between 0 and e^FLOOR (1 + tau).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hardsim.lazy_dataclass import dataclass
from hardsim.network.dense import Network
from hardsim.network.numbers import Mask
from hardsim.proof.external.demands import NOWHERE, PrefixDemands
from hardsim.proof.shared.result import NotProved
from hardsim.run.dense_float import DenseFloat, FloatHead, FloatLayer, Vectors, enclosed, lengths, normed, summed
from hardsim.run.enclosure import ETA, EXP_ERROR, GROW, Booleans, Floats, Integers, U, gamma, growth

FLOOR = -300.0
"""Differences `score - greatest score` below this are replaced by it."""


@dataclass(frozen=True, slots=True)
class PrefixClasses:
    """Classes of prefixes, one in each row of all arrays."""

    length: Integers
    """The number of symbols of the prefix."""
    free: Integers
    """The number of symbols that are free: all, or all but the last."""
    state: Integers
    """The state that the free symbols lead to."""
    symbol: Integers
    """The last symbol; -1 where it is free, or there is none."""
    kind: Integers
    """The index of the requirement in the kinds of the demands."""

    def __len__(self) -> int:
        return len(self.length)

    def at(self, index: Integers) -> PrefixClasses:
        """Return some of the classes."""
        return PrefixClasses(
            self.length[index], self.free[index], self.state[index], self.symbol[index], self.kind[index]
        )


def classes_of(demands: PrefixDemands, symbol_last: bool) -> PrefixClasses:
    """Return all classes of judged prefixes, by length. `symbol_last`: the network is read at the last symbol."""
    rows: list[tuple[int, int, int, int, int]] = []
    required = np.array(demands.required)
    if demands.shortest == 0 and demands.required[0] >= 0:
        rows.append((0, 0, 0, -1, demands.required[0]))
    for n, reached in enumerate(demands.reached()):
        for state in np.flatnonzero(reached).tolist():
            if not symbol_last:
                if n and required[state] >= 0:
                    rows.append((n, n, state, -1, demands.required[state]))
                continue
            for symbol, target in enumerate(demands.moves[state].tolist() if n < demands.longest else []):
                if target != NOWHERE and required[target] >= 0:
                    rows.append((n + 1, n, state, symbol, demands.required[target]))
    rows.sort(key=lambda row: row[0])
    return PrefixClasses(*np.array(rows, dtype=np.int64).reshape(-1, 5).T)


@dataclass(frozen=True, slots=True)
class HeadColumns:
    """Keys, values and scaled queries of one head by token and position, as midpoints with bounds of the lengths of
    their errors."""

    part: FloatHead
    keys: Vectors
    values: Vectors
    queries: Vectors
    reach: float
    """A bound of the length of any value."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Bounds of the weights of some classes for one head: of free positions (classes, positions, symbols), and of the
    fixed tokens (classes, tokens)."""

    low: Floats
    high: Floats
    fixed_low: Floats
    fixed_high: Floats


class Columns:
    """Keys, values and scores of a one-layer network for words of at most `longest` symbols."""

    def __init__(self, network: Network, longest: int) -> None:
        readout = network.readout
        self.network, self.longest = network, longest
        self.symbol_last = readout.at != "last" or not readout.after
        self.before = [network.ids[str(token)] for token in readout.before]
        self.after = [] if self.symbol_last else [network.ids[str(token)] for token in readout.after]
        self.symbols = [network.ids[symbol] for symbol in network.symbols]
        self.start = len(self.before)
        (layer,) = network.layers
        self._require(layer_masks(network), readout.at)
        self.layer = FloatLayer(layer, network.dimension, False)
        self.tokens = list(dict.fromkeys([*self.symbols, *self.before, *self.after]))
        self.row = {token: place for place, token in enumerate(self.tokens)}
        with np.errstate(all="ignore"):
            self.x, beside = self._embedded()
            parts = [] if self.layer.attention is None else self.layer.attention.heads
            y = self.layer.entering(self.x) if parts else self.x
            read = y if beside is None else summed(y, beside)
            self.heads = [self._head(part, y, read) for part in parts]
            self.base = self.x
            """The vectors that attention is added to: where it is parallel to the MLP, with what the MLP adds."""
            if self.layer.parallel and self.layer.mlp is not None:
                self.base = summed(self.x, normed(self.layer.out_2, self.layer.mlp(normed(self.layer.norm_2, self.x))))

    def _require(self, masks: set[Mask], at: str) -> None:
        """Raise NotProved unless the last position sees every token read so far, and nothing after it."""
        if Mask.PAST in masks:
            raise NotProved("a head sees only positions from its own on; proofs are about causal networks")
        if at != "last" and masks - {Mask.FUTURE}:
            raise NotProved("the network is not causal, so its answers within a word depend on what follows")

    def _embedded(self) -> tuple[Vectors, Vectors | None]:
        """Return the embedded tokens at all positions, (tokens, positions, d), and the encodings of the positions that
        queries and keys read besides; None if there are none."""
        size = self.start + self.longest + len(self.after)
        positions = steady_positions(self.network, self.longest, size)
        floats = DenseFloat(replace(self.network, layers=()), False)
        tokens = np.repeat(np.array(self.tokens, dtype=np.int64)[:, None], size, axis=1)
        return floats.embedded(tokens, positions), floats.beside(positions)

    def _head(self, part: FloatHead, y: Vectors, read: Vectors) -> HeadColumns:
        size, places = lengths(read.mid), np.arange(read.mid.shape[1])
        keys, queries = (form(read, size, places) for form in (part.keys, part.queries))
        values = part.v(y, lengths(y.mid))
        q = queries.mid * part.scale
        # |s| (1 + e) r_q + (e + 2 u) |q| + ETA, for a scale s with relative error e
        off = queries.length * abs(part.scale) * (1 + part.scale_error) + (part.scale_error + 4 * U) * lengths(q)
        reach = float((lengths(values.mid) + values.length).max()) * GROW
        return HeadColumns(part, keys, values, Vectors(q, off * GROW + ETA), reach)

    def query(self, classes: PrefixClasses) -> tuple[Integers, Integers]:
        """Return the row of the token, and the position, at which each class is read."""
        if self.after:
            last = np.full(len(classes), self.row[self.after[-1]])
            return last, self.start + classes.length + len(self.after) - 1
        none = self.row[self.before[-1]] if self.before else 0
        rows = np.array([self.row[token] for token in self.symbols])
        return np.where(classes.symbol >= 0, rows[classes.symbol], none), self.start + classes.length - 1

    def fixed(self, classes: PrefixClasses) -> tuple[Integers, Integers]:
        """Return the rows and positions of the fixed tokens of each class, (classes, tokens); the row is -1 for the
        last symbol of the empty word."""
        count = len(classes)
        rows = [np.full(count, self.row[token]) for token in self.before]
        places = [np.full(count, place) for place in range(self.start)]
        for number, token in enumerate(self.after):
            rows.append(np.full(count, self.row[token]))
            places.append(self.start + classes.length + number)
        if self.symbol_last:
            symbols = np.array([self.row[token] for token in self.symbols])
            rows.append(np.where(classes.symbol >= 0, symbols[classes.symbol], -1))
            places.append(np.maximum(self.start + classes.length - 1, 0))
        return np.stack(rows, axis=1), np.stack(places, axis=1)

    def weights(self, head: HeadColumns, classes: PrefixClasses) -> Weights:
        """Return bounds of the weights of some classes."""
        row, place = self.query(classes)
        most, symbols = int(classes.free.max(initial=0)), [self.row[token] for token in self.symbols]
        q, off = head.queries.mid[row, place], head.queries.length[row, place]
        here = slice(self.start, self.start + most)
        keys = head.keys.mid[symbols, here]
        free = np.einsum("ck,ujk->cju", q, keys, optimize=True)
        seen, away = np.arange(most)[None, :] < classes.free[:, None], place[:, None] - np.arange(most) - self.start
        free = np.where(
            (seen & self._near(head, away))[:, :, None], head.part.steps.at(free, away[:, :, None]), -np.inf
        )
        rows, places = self.fixed(classes)
        theirs, away = head.keys.mid[rows, places], place[:, None] - places
        fixed = head.part.steps.at(np.einsum("ck,cfk->cf", q, theirs), away)
        fixed = np.where((rows >= 0) & self._near(head, away), fixed, -np.inf)
        length, slip = lengths(head.keys.mid).max(), head.keys.length.max()
        long = lengths(q)
        rho = (long * slip + off * (length + slip) + gamma(q.shape[1] + 4) * (long + off) * length) * GROW + ETA
        if head.part.steps.any:
            rho = head.part.steps.slip(rho, (long + off) * length, np.array(head.keys.mid.shape[1]))
        greatest = np.maximum(free.max(axis=(1, 2), initial=-np.inf), fixed.max(axis=1, initial=-np.inf))
        grown = growth(rho[:, 0] + 2 * U * -FLOOR)
        tau = (grown + EXP_ERROR * (1 + grown)) * GROW + 4 * U
        low, high = _enclosed(free - greatest[:, None, None], tau[:, None, None])
        fixed_low, fixed_high = _enclosed(fixed - greatest[:, None], tau[:, None])
        return Weights(low, high, fixed_low, fixed_high)

    @staticmethod
    def _near(head: HeadColumns, away: Integers) -> Booleans:
        """Return where keys at these distances before a query are in its window."""
        window = head.part.head.window
        return np.ones_like(away, dtype=np.bool_) if window is None else np.abs(away) < window


def _enclosed(distance: Floats, tau: Floats) -> tuple[Floats, Floats]:
    """Return bounds of the weights, from the distances of scores from the greatest (-inf: no such token), widened by
    the relative rounding of two more operations."""
    near = np.exp(np.maximum(distance, FLOOR))
    high = np.where(np.isneginf(distance), 0.0, near * (1 + tau + 16 * U))
    return np.where(distance >= FLOOR, np.maximum(near * (1 - tau - 16 * U), 0.0), 0.0), high


def layer_masks(network: Network) -> set[Mask]:
    """Return the masks of all heads."""
    return {head.mask for head in network.heads}


def require_one_layer(network: Network, most: int) -> None:
    """Raise NotProved unless the network has one layer, of sizes at most `most`."""
    if len(network.layers) != 1:
        raise NotProved(f"the network has {len(network.layers)} layers; proofs for every word are about one")
    (layer,) = network.layers
    width: Sequence[int] = [network.dimension, *(head.w_v.shape[1] for head in layer.heads)]
    if layer.mlp is not None:
        width = [*width, layer.mlp.w_in.shape[1]]
    if network.transform is not None:
        width = [*width, network.transform.weight.shape[1]]
    if sum(width) > most:
        raise NotProved(f"the network is wider than {most:,}")


def steady_positions(network: Network, longest: int, size: int) -> tuple[Floats, Floats | None] | None:
    """Return midpoints and radii of the encodings of the first `size` positions; None if there are none. Raises
    NotProved if those of words of at most `longest` symbols depend on the length of the word."""
    if isinstance(network.positions, np.ndarray):
        return enclosed(network.positions[:size])
    if not network.positions:
        return None
    whole = network.encoding(max(longest, 0))
    assert whole is not None
    for n in range(1, longest):
        part = network.encoding(n)
        if part is None or not bool((part == whole[: len(part)]).all()):
            raise NotProved("the position encoding depends on the length of the word")
    return enclosed(whole[:size])
