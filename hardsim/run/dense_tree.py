"""An external network in certified float64 over the tree of prefixes: what words have in common is computed once.

In a causal network the residual stream at a token depends on the tokens read so far alone. So a tree of prefixes needs
one token of work for each of its prefixes, whatever the number of words that begin with it: the key and the value of
its last token in each layer are kept for all prefixes that it begins, and the queries of its last token see the kept
keys of its own prefixes.

Bounds of errors are those of `dense_float`, by the same code. They hold for one query with all keys that it sees: these
are the keys of the prefix, over which its `KeyExtremes` give the largest lengths and errors. Those of a longer prefix
are the larger ones of its parent's and of its last token's, so they are at most those over a whole word, which
`DenseFloat` uses. A sum over keys is added up in another order, which the model of rounding allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hardsim.network.dense import Network
from hardsim.network.numbers import Mask
from hardsim.run.dense_float import DenseFloat, Enclosure, Entered, KeyExtremes, Look, Vectors
from hardsim.run.enclosure import Booleans, Floats, Integers

GATHERED = 2**19
"""The count of numbers in an array of keys and values that are gathered for a batch of prefixes."""
MOST_TOGETHER = 1024
"""The greatest number of prefixes in a batch."""
KEPT_NUMBERS = 2**24
"""The count of numbers of keys and values that are kept for words given together."""
WORTH = 2
"""Words are run over their tree if it has fewer prefixes than the words have tokens by this factor: to gather keys
costs about as much as to compute them."""
EVERY = slice(None), slice(None)


@dataclass(frozen=True, slots=True)
class Prefixes:
    """Prefixes of m tokens each, in a tree that is being run.

    `rows` are the places of the keys and values of their tokens in the store, (prefixes, m). `entering` is the residual
    stream at their last tokens as it enters the last layer, `entered` what the heads of that layer read there (None if
    it has no heads), and `extremes` are bounds over all their tokens, by layer.
    """

    rows: Integers
    entering: Vectors | None = None
    entered: Entered | None = None
    extremes: tuple[KeyExtremes | None, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def tokens(self) -> int:
        """The number of tokens of each prefix, m."""
        return int(self.rows.shape[1])


class PrefixTree:
    """The prefixes of a causal network, extended a token at a time, in certified float64.

    Call `float_trust.distrust()` before relying on the results. `positions` are midpoints and radii of the encodings of
    all positions, (positions, d); None if the network has none. Keys and values are kept in a stack: `used` is its
    height, and to lower it drops the prefixes that were made since.
    """

    def __init__(self, floats: DenseFloat, positions: tuple[Floats, Floats | None] | None) -> None:
        self.floats, self.positions = floats, positions
        self.used = 0
        widths = [0 if layer.attention is None else layer.attention.width for layer in floats.layers]
        self._kept: list[Floats] = [np.empty((0, width)) for width in widths]
        self._width = max([1, *widths])
        self._buffer: Floats = np.empty(0)

    @property
    def root(self) -> Prefixes:
        """The prefix without tokens."""
        return Prefixes(np.zeros((1, 0), dtype=np.int64))

    def together(self, tokens: int) -> int:
        """Return the number of prefixes of this number of tokens that are best made together."""
        whole = GATHERED // (self._width * max(tokens, 1))
        return max(1, min(MOST_TOGETHER, whole, GATHERED // self.floats.width))

    def extended(self, before: Prefixes, of: Integers, tokens: Integers) -> Prefixes:
        """Return the prefixes of `before` with these indices, each with one more token, given by its id."""
        with np.errstate(all="ignore"):
            return self._extended(before, of, tokens)

    def _extended(self, before: Prefixes, of: Integers, tokens: Integers) -> Prefixes:
        m, start = before.tokens, self.used
        self._require(start + len(of))
        self.used = start + len(of)
        rows = np.concatenate([before.rows[of], np.arange(start, self.used)[:, None]], axis=1)
        positions = self.positions
        if positions is not None:
            mid, rad = positions
            positions = mid[m : m + 1], None if rad is None else rad[m : m + 1]
        x = self.floats.embedded(tokens[:, None], positions)
        extremes: list[KeyExtremes | None] = []
        entered: Entered | None = None
        for number, layer in enumerate(self.floats.layers):
            entered = None
            if layer.attention is not None and layer.attention.heads:
                entered = layer.attention.enter(layer.entering(x))
                self._kept[number][start : self.used] = entered.columns[:, 0]
                above = before.extremes[number] if m else None
                extremes.append(entered.extremes if above is None else entered.extremes.joined(above.at(of)))
            else:
                extremes.append(None)
            if number + 1 < len(self.floats.layers):
                x = self._after(number, x, entered, rows, extremes[-1])
        return Prefixes(rows, x, entered, tuple(extremes))

    def outputs(self, prefixes: Prefixes, chosen: Integers | None = None) -> Enclosure:
        """Return the outputs at the last tokens of some prefixes (None: of all), as midpoints and radii, (prefixes,
        outputs): where nothing is known the radius is infinite and the midpoint 0."""
        at = np.arange(len(prefixes)) if chosen is None else chosen
        assert prefixes.entering is not None
        x, entered = prefixes.entering.at(at), prefixes.entered
        with np.errstate(all="ignore"):
            if self.floats.layers:
                extremes = prefixes.extremes[-1]
                entered = None if entered is None else of_words(entered, at)
                x = self._after(
                    len(self.floats.layers) - 1,
                    x,
                    entered,
                    prefixes.rows[at],
                    None if extremes is None else extremes.at(at),
                )
            mid, rad = self.floats.finished(x)
        return mid[:, 0], rad[:, 0]

    def _after(
        self, number: int, x: Vectors, entered: Entered | None, rows: Integers, extremes: KeyExtremes | None
    ) -> Vectors:
        """Return the residual stream at the last tokens after a layer."""
        layer = self.floats.layers[number]
        if layer.attention is None:
            return layer.after(x, None)
        looks = {part.head.mask: [Look(slice(0, 1), slice(0, rows.shape[1]), None)] for part in layer.attention.heads}
        if entered is not None:
            assert extremes is not None
            columns = self._gathered(number, rows)
            entered = Entered(entered.read, entered.size, columns, entered.loose, extremes)
        return layer.after(x, layer.attention.added(x, entered, EVERY, looks))

    def _gathered(self, number: int, rows: Integers) -> Floats:
        """Return the keys and values of prefixes in a layer, (prefixes, m, columns), until the next call. (An array of
        its own for each call would cost more than the copy.)"""
        kept = self._kept[number]
        size = rows.size * kept.shape[1]
        if len(self._buffer) < size:
            self._buffer = np.empty(size)
        found = self._buffer[:size].reshape(*rows.shape, kept.shape[1])
        return np.take(kept, rows, axis=0, out=found, mode="clip")

    def _require(self, size: int) -> None:
        """Make room for the keys and values of this many tokens."""
        for number, kept in enumerate(self._kept):
            if len(kept) < size:
                grown = np.empty((max(size, 2 * len(kept)), kept.shape[1]))
                grown[: self.used] = kept[: self.used]
                self._kept[number] = grown


def of_words(entered: Entered, words: Integers) -> Entered:
    """Return the inputs of the queries of some of the words; the extremes are those of their own positions."""
    loose = None if entered.loose is None else entered.loose[words]
    return Entered(
        entered.read.at(words), entered.size[words], entered.columns[words], loose, entered.extremes.at(words)
    )  # fmt: skip


def shares_prefixes(network: Network, last: bool) -> bool:
    """Return True if outputs depend on the tokens read so far alone. With `last` they are those at the last token: then
    the heads of the last layer may see all tokens."""
    layers = network.layers[:-1] if last else network.layers
    back = all(head.mask is Mask.FUTURE for layer in layers for head in layer.heads)
    return back and all(head.mask is not Mask.PAST for head in network.heads)


class SharedFloat:
    """An external network in certified float64, for batches of words of one length. Words that follow each other share
    the work for the tokens that they begin with, where that saves enough.

    Call `float_trust.distrust()` before relying on the results.
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        self.floats = DenseFloat(network)

    def run(self, n: int, tokens: Integers, places: slice | Sequence[int]) -> Enclosure:
        """Return the outputs of words as `DenseFloat.run` does."""
        words, m = tokens.shape
        at = np.arange(m)[places if isinstance(places, slice) else np.array(list(places), dtype=np.int64)]
        if not words or not shares_prefixes(self.network, bool((at == m - 1).all())):
            return self.floats.run(n, tokens, places)
        new = np.ones((words, m), dtype=np.bool_)
        np.logical_or.accumulate(tokens[1:] != tokens[:-1], axis=1, out=new[1:])
        if WORTH * int(new.sum()) > words * m:
            return self.floats.run(n, tokens, places)
        mid = np.empty((words, len(at), len(self.network.outputs)))
        rad = np.empty_like(mid)
        tree = PrefixTree(self.floats, self.floats.encoding(n))
        for some in self._batches(new):
            tree.used = 0
            first = new[some].copy()
            first[0] = True
            mid[some], rad[some] = self._outputs(tree, tokens[some], first, at)
        return mid, rad

    def _batches(self, new: Booleans) -> list[slice]:
        """Return the slices of words that are run together, from which prefixes begin at each word."""
        widths = [layer.attention.width for layer in self.floats.layers if layer.attention is not None]
        most = max(new.shape[1], KEPT_NUMBERS // max(1, sum(widths)))
        ends, number = np.cumsum(new.sum(axis=1)), 0
        found: list[slice] = []
        while number < len(new):
            begun = int(ends[number - 1]) if number else 0
            # A batch begins with all tokens of its first word.
            stop = int(np.searchsorted(ends, begun + most - new.shape[1], side="right"))
            found.append(slice(number, max(stop, number + 1)))
            number = found[-1].stop
        return found

    def _outputs(self, tree: PrefixTree, tokens: Integers, new: Booleans, at: Integers) -> Enclosure:
        """Return the outputs of words, from where each begins a prefix of its own, (words, tokens)."""
        words, m = tokens.shape
        mid = np.empty((words, len(at), len(self.network.outputs)))
        rad = np.empty_like(mid)
        above = [(tree.root, 0)]
        """The prefixes of one token less, in parts, with the number of the first one of each."""
        parents = np.zeros(words, dtype=np.int64)
        for place in range(m):
            firsts, of = np.flatnonzero(new[:, place]), np.cumsum(new[:, place]) - 1
            parts: list[tuple[Prefixes, int]] = []
            for part, start in above:
                inside = firsts[(parents[firsts] >= start) & (parents[firsts] < start + len(part))]
                size = tree.together(place + 1)
                for begin in range(0, len(inside), size):
                    some = inside[begin : begin + size]
                    made = tree.extended(part, parents[some] - start, tokens[some, place])
                    parts.append((made, int(of[some[0]])))
            for column in np.flatnonzero(at == place).tolist():
                for part, start in parts:
                    theirs = np.flatnonzero((of >= start) & (of < start + len(part)))
                    found, off = tree.outputs(part)
                    mid[theirs, column], rad[theirs, column] = found[of[theirs] - start], off[of[theirs] - start]
            above, parents = parts, of
        return mid, rad
