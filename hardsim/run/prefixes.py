"""Prefixes that words share: choose which prefixes to run once, and continue from their results.

If every head is future-masked, and encodings and temperature are functions of i alone, the values at the positions up
to m depend on the first m symbols only. A batch in lexicographic order has few distinct prefixes. So the distinct
prefixes of length m are run once (by the same rule), and every word is run from m + 1 on; it reads the columns of its
prefix at the keys up to m. Language models call this a key-value cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

import numpy as np

from hardsim.lazy_dataclass import dataclass
from hardsim.network.numbers import Mask
from hardsim.network.transformer import AttentionHead, Transformer
from hardsim.run.enclosure import Block, Integers
from hardsim.run.float_rows import NO_ROWS, carried

STAGE = 4096
"""The fixed cost of another stage, in symbols: a pass over few words takes about as long as running this many
symbols."""
COPY = 0.15
"""The cost of copying one symbol of a prefix, in symbols that are run."""
WORTH = 0.8
"""Prefixes are shared if that is expected to cost less than this fraction of running all symbols."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The columns that the keys of a head read, and the head's values, at the positions of some words."""

    inputs: dict[int, Block]
    values: list[Block]


@dataclass(frozen=True, slots=True)
class Suffix:
    """The positions of a run of one head, from `start` (from 0) on. `before` holds the earlier positions, of the
    prefixes, and `rows` the number of each word's prefix."""

    start: int = 0
    before: Kept | None = None
    rows: Integers = field(default_factory=lambda: NO_ROWS)

    def earlier(self, values: Sequence[Block]) -> Sequence[Block | None]:
        """Return the earlier part of each of these values; None if there is no earlier part."""
        return [None] * len(values) if self.before is None else self.before.values

    def with_earlier(self, head: AttentionHead, columns: Sequence[Block], values: Sequence[Block]) -> Kept:
        """Return the columns and values of this head at all positions so far, for words that continue these."""
        inputs = {index: columns[index] for _, key in head.scores for index, _ in key}
        if self.before is None:
            return Kept(inputs, list(values))
        old = self.before
        return Kept(
            {index: join(old.inputs[index], column, self.rows) for index, column in inputs.items()},
            [join(before, value, self.rows) for before, value in zip(old.values, values, strict=True)],
        )


WHOLE = Suffix()


def join(old: Block | None, new: Block, rows: Integers) -> Block:
    """Return a column of all positions: the words' rows of `old`, then `new`."""
    if old is None:
        return new
    found = Block(carried(old.mid, new.mid, rows), places=max(old.places, new.places), size=max(old.size, new.size))
    if old.rad is not None or new.rad is not None:
        found.rad = carried(old.radius, new.radius, rows)
        found.partly = (old.rad is None or old.partly) and (new.rad is None or new.partly)
    found.boolean = old.boolean and new.boolean
    if old.static is not None and new.static is not None:
        found.static = old.static.then(new.static)
    if old.ratio is not None and new.ratio is not None:
        found.ratio = carried(old.ratio[0], new.ratio[0], rows), np.concatenate([old.ratio[1], new.ratio[1]])
    return found


@dataclass(frozen=True, slots=True)
class Joined(Mapping[int, Block]):
    """Columns of all positions by coordinate. They are joined on access, since most are never read."""

    old: Mapping[int, Block]
    new: Mapping[int, Block]
    rows: Integers

    def __getitem__(self, index: int) -> Block:
        return join(self.old[index], self.new[index], self.rows)

    def __iter__(self) -> Iterator[int]:
        return iter(self.new)

    def __len__(self) -> int:
        return len(self.new)


def causal(model: Transformer) -> bool:
    """Return True if the network's values at position i depend only on i and the symbols up to i."""
    functions = [encoding for _, encoding in model.encodings]
    return (
        all(head.mask is Mask.FUTURE for head in model.heads)
        and all("n" not in function.variables for function in functions)
        and "n" not in model.temperature.variables
    )


@dataclass(frozen=True, slots=True)
class Fork:
    """The fork of a batch: the length of the shared prefixes, the distinct prefixes, and the number of each word's
    prefix."""

    length: int
    prefixes: Integers
    rows: Integers


def fork(symbols: Integers) -> Fork | None:
    """Return the fork of a batch of words, (words, n), at the length of prefixes that costs least; None if sharing
    prefixes does not pay.

    Only neighbouring words are compared, so equal prefixes count once if they follow each other. With D(m) distinct
    prefixes of length m, running the positions k + 1 to m of all of them costs D(m) ((m - k) + COPY k) + STAGE, in
    addition to the cost of the prefixes of length k.
    """
    words, n = symbols.shape
    if words * n < 2 * STAGE:
        return None
    differs = symbols[1:] != symbols[:-1]
    # The first position at which each word differs from the word before it.
    first = np.where(differs.any(axis=1), differs.argmax(axis=1), n)
    distinct = 1 + np.cumsum(np.bincount(first, minlength=n + 1))[:n]  # entry m - 1 counts prefixes of length m
    best, choice = np.zeros(n + 1), np.zeros(n + 1, dtype=np.int64)
    lengths = np.arange(n + 1)
    # Other lengths have too many prefixes to be worth a stage.
    promising = np.flatnonzero(np.concatenate([[0], distinct]) <= words // 2)
    for m in (*promising[promising > 0].tolist(), n):
        earlier = promising[promising < m]
        costs = best[earlier] + distinct[m - 1] * (m - (1 - COPY) * lengths[earlier]) + STAGE
        choice[m], best[m] = earlier[costs.argmin()], costs.min()
    length = int(choice[n])
    if not length or best[n] > WORTH * (words * n + STAGE):
        return None
    starts = np.concatenate([[True], first < length])
    return Fork(length, symbols[starts, :length], np.cumsum(starts) - 1)
