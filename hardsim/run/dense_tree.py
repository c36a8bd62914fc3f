"""An external network in certified float64 over the tree of prefixes: what words have in common is computed once.

In a causal network the residual stream at a token depends on the tokens read so far alone. So a tree of prefixes needs
one token of work for each of its prefixes, whatever the number of words that begin with it: the key and the value of
its last token in each layer are kept for all prefixes that it begins, and the queries of its last token see the kept
keys of its own prefixes.

Bounds of errors are those of `dense_float`, by the same code. They hold for one query with all keys that it sees: these
are the keys of the prefix (within a head's window, some of them), over which its `KeyExtremes` give the largest lengths
and errors. Those of a longer prefix are the larger ones of its parent's and of its last token's, so they are at most
those over a whole word, which `DenseFloat` uses. A sum over keys is added up in another order, which the model of
rounding allows. Positions are those in the word, so keys are turned by them before they are kept.

A network whose answer is read from the mean over positions is run word by word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hardsim.lazy_dataclass import dataclass
from hardsim.network.dense import Network
from hardsim.network.numbers import Mask
from hardsim.run.dense_float import DenseFloat, Enclosure, Entered, FloatHead, KeyExtremes, Vectors, exponentials
from hardsim.run.dense_pass import Step, unwatched
from hardsim.run.enclosure import Booleans, Floats, Integers

BLOCK = 8
"""The number of tokens whose keys and values are kept side by side."""
CACHED = 2**16
"""The count of numbers of keys and values that are gathered at once, so that they stay in the cache."""
GATHERED = 2**19
"""The count of numbers in an array of a batch of prefixes."""
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

    `blocks` and `rows` are the places of the keys and values of their tokens in the store: those of each BLOCK tokens
    together, (prefixes, m // BLOCK), and those of the tokens that are left, one by one, (prefixes, m % BLOCK).
    `entering` is the residual stream at their last tokens as it enters the last layer, `entered` what the heads of that
    layer read there (None if it has no heads), and `extremes` are bounds over all their tokens, by layer.
    """

    blocks: Integers
    rows: Integers
    entering: Vectors | None = None
    entered: Entered | None = None
    extremes: tuple[KeyExtremes | None, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def tokens(self) -> int:
        """The number of tokens of each prefix, m."""
        return int(BLOCK * self.blocks.shape[1] + self.rows.shape[1])


class KeyStore:
    """The keys and values of one head for all prefixes of a tree, as a stack: those of single tokens, and those of
    BLOCK tokens of a prefix side by side, which are copied faster."""

    def __init__(self, part: FloatHead) -> None:
        self.part = part
        self.keys = part.key.stop - part.key.start
        self.width = part.value_one.stop - part.key.start
        self.single: Floats = np.empty((0, self.width))
        self.block: Floats = np.empty((0, BLOCK * self.width))

    def add(self, start: int, columns: Floats) -> None:
        """Keep the columns of a layer at new tokens, from a height of the stack on."""
        self.single = grown(self.single, start, start + len(columns))
        self.single[start : start + len(columns)] = columns[:, self.part.key.start : self.part.value_one.stop]

    def join(self, start: int, rows: Integers) -> None:
        """Keep BLOCK tokens of each of some prefixes together, from a height of the stack of blocks on."""
        self.block = grown(self.block, start, start + len(rows))
        self.block[start : start + len(rows)] = self.single[rows].reshape(len(rows), -1)

    def mean(self, q: Floats, blocks: Integers, rows: Integers) -> Floats:
        """Return the attended values of one query for each prefix, (prefixes, 1, v), from scaled queries."""
        found = np.empty((len(q), 1, self.width - self.keys - 1))
        last = BLOCK * blocks.shape[1] + rows.shape[1] - 1
        window, low, hidden = self.part.head.window, 0, None
        if window is not None and last >= window:
            # Blocks that the query does not see at all are left out, and so are single tokens, but not part of a block.
            first = last - window + 1
            gone = min(first // BLOCK, blocks.shape[1])
            blocks, low = blocks[:, gone:], BLOCK * gone
            if not blocks.shape[1]:
                rows, low = rows[:, first - low :], first
            hidden = np.where(np.arange(low, last + 1) < first, -np.inf, 0.0)
        query, keys = np.array([last]), np.arange(low, last + 1)
        size = max(1, CACHED // (len(keys) * self.width))
        for start in range(0, len(q), size):
            some = slice(start, start + size)
            parts = [
                np.take(kept, places[some], axis=0).reshape(len(q[some]), -1, self.width)
                for kept, places in ((self.block, blocks), (self.single, rows))
                if places.shape[1]
            ]
            products = [q[some] @ part[:, :, : self.keys].transpose(0, 2, 1) for part in parts]
            joined = products[0] if len(products) == 1 else np.concatenate(products, axis=2)
            scores = self.part.steps(joined, query, keys)
            if hidden is not None:
                scores += hidden
            weights = exponentials(scores)
            seen = parts[0].shape[1]
            total = weights[:, :, :seen] @ parts[0][:, :, self.keys :]
            if len(parts) > 1:
                total += weights[:, :, seen:] @ parts[1][:, :, self.keys :]
            np.divide(total[:, :, :-1], total[:, :, -1:], out=found[some])
        return found


def grown(kept: Floats, used: int, size: int) -> Floats:
    """Return an array with room for `size` rows, of which the first `used` are as they were."""
    if len(kept) >= size:
        return kept
    found = np.empty((max(size, 2 * len(kept)), kept.shape[1]))
    found[:used] = kept[:used]
    return found


class PrefixTree:
    """The prefixes of a causal network, extended a token at a time, in certified float64.

    Call `float_trust.distrust()` before relying on the results. `positions` are midpoints and radii of the encodings of
    all positions, (positions, d); None if the network has none. Keys and values are kept in a stack: `used` is its
    height (in tokens, and in blocks of tokens), and to lower it drops the prefixes that were made since.
    """

    def __init__(self, floats: DenseFloat, positions: tuple[Floats, Floats | None] | None) -> None:
        self.floats, self.positions = floats, positions
        self.used = 0, 0
        parts = [[] if layer.attention is None else layer.attention.heads for layer in floats.layers]
        self._kept = [[KeyStore(part) for part in some] for some in parts]

    @property
    def root(self) -> Prefixes:
        """The prefix without tokens."""
        none = np.zeros((1, 0), dtype=np.int64)
        return Prefixes(none, none)

    @property
    def together(self) -> int:
        """The number of prefixes to compute in one batch."""
        return max(1, min(MOST_TOGETHER, GATHERED // self.floats.width))

    def extended(self, before: Prefixes, of: Integers, tokens: Integers) -> Prefixes:
        """Return the prefixes of `before` with these indices, each with one more token, given by its id."""
        with np.errstate(all="ignore"):
            return self._extended(before, of, tokens)

    def _extended(self, before: Prefixes, of: Integers, tokens: Integers) -> Prefixes:
        m, (start, joined) = before.tokens, self.used
        rows = np.concatenate([before.rows[of], np.arange(start, start + len(of))[:, None]], axis=1)
        blocks = before.blocks[of]
        whole = rows.shape[1] == BLOCK
        self.used = start + len(of), joined + len(of) * whole
        old, left = rows, rows
        if whole:
            blocks = np.concatenate([blocks, np.arange(joined, joined + len(of))[:, None]], axis=1)
            left = rows[:, :0]
        positions = self.positions
        if positions is not None:
            mid, rad = positions
            positions = mid[m : m + 1], None if rad is None else rad[m : m + 1]
        made = Prefixes(blocks, left)
        x, beside = self.floats.embedded(tokens[:, None], positions), self.floats.beside(positions)
        place = np.array([m])
        extremes: list[KeyExtremes | None] = []
        entered: Entered | None = None
        for number, layer in enumerate(self.floats.layers):
            entered = None
            if layer.attention is not None and layer.attention.heads:
                entered = layer.attention.enter(layer.entering(x), place, beside)
                for store in self._kept[number]:
                    store.add(start, entered.columns[:, 0])
                    if whole:
                        store.join(joined, old)
                above = before.extremes[number] if m else None
                extremes.append(entered.extremes if above is None else entered.extremes.joined(above.at(of)))
            else:
                extremes.append(None)
            if number + 1 < len(self.floats.layers):
                x = self._after(number, x, entered, made, extremes[-1])
        return Prefixes(blocks, left, x, entered, tuple(extremes))

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
                seen = Prefixes(prefixes.blocks[at], prefixes.rows[at])
                last = len(self.floats.layers) - 1
                x = self._after(last, x, entered, seen, None if extremes is None else extremes.at(at))
            mid, rad = self.floats.finished(x)
        return mid[:, 0], rad[:, 0]

    def _after(
        self, number: int, x: Vectors, entered: Entered | None, seen: Prefixes, extremes: KeyExtremes | None
    ) -> Vectors:
        """Return the residual stream at the last tokens after a layer."""
        layer, stores = self.floats.layers[number], self._kept[number]
        if layer.attention is None:
            return layer.after(x, None)
        if entered is not None:
            assert extremes is not None
            entered = replace(entered, extremes=extremes)

        def mean(part: FloatHead, q: Floats) -> Floats:
            return stores[part.number].mean(q, seen.blocks, seen.rows)

        return layer.after(x, layer.attention.added(x, entered, EVERY, seen.tokens, mean))


def of_words(entered: Entered, words: Integers) -> Entered:
    """Return the inputs of the queries of some of the words; the extremes are those of their own positions."""
    loose = None if entered.loose is None else entered.loose[words]
    return Entered(
        entered.read.at(words),
        entered.size[words],
        entered.columns[words],
        loose,
        entered.extremes.at(words),
        entered.positions,
    )


def shares_prefixes(network: Network, last: bool) -> bool:
    """Return True if outputs depend on the tokens read so far alone. With `last` they are those at the last token: then
    the heads of the last layer may see all tokens. (Outputs from the mean over positions are computed word by word.)"""
    if network.readout.pooled == "mean":
        return False
    layers = network.layers[:-1] if last else network.layers
    back = all(head.mask is Mask.FUTURE for layer in layers for head in layer.heads)
    return back and all(head.mask is not Mask.PAST for head in network.heads)


class SharedFloat:
    """An external network in certified float64, for batches of words of one length. Words that follow each other share
    the work for the tokens that they begin with, where that saves enough.

    Call `float_trust.distrust()` before relying on the results. `step` is called after each layer that is prepared.
    """

    def __init__(self, network: Network, step: Step = unwatched) -> None:
        self.network = network
        self.floats = DenseFloat(network, step=step)

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
            tree.used = 0, 0
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
                size = tree.together
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
