"""Ranges of keys and values over patterns of their own prefixes.

The key at position j depends on the symbols to j alone. Over a pattern of words it is therefore in the range of the
prefixes that agree with the pattern there, which may be far narrower than the range of all prefixes that end with the
same symbol. Patterns that are searched one after the other share most prefixes, so ranges are kept (ours).
"""

from __future__ import annotations

import numpy as np

from hardsim.proof.external.class_ranges import Entries, ends_of, ranges_between
from hardsim.proof.external.narrowing import unknown
from hardsim.proof.external.patterns import OPEN, ClassPatterns
from hardsim.proof.external.second_layer import HeadForms, KnownRanges
from hardsim.run.enclosure import Booleans, Floats, Integers

MOST_KEPT = 50_000
"""Greatest number of prefixes whose ranges are kept."""


class PrefixRanges:
    """The ranges of the keys and values of the head of the second layer, by pattern of their prefix."""

    def __init__(self, entries: Entries, hulls: HeadForms, places: Integers, symbols: Integers) -> None:
        """`hulls` enclose T keys and values, of all prefixes, with ranges along axes. Key k is that of the symbol
        `symbols[k]` at the position `places[k]` of a word, or of a token before the word where the symbol is OPEN."""
        assert hulls.known is not None
        self.entries, self.hulls = entries, hulls.known
        classes, found = entries.classes, list[ClassPatterns | None]()
        for place, symbol in zip(places.tolist(), symbols.tolist(), strict=True):
            some = np.flatnonzero((classes.free == place) & (classes.symbol == symbol))
            found.append(None if symbol == OPEN else entries.patterns(some))
        self.patterns = found
        """The patterns of the prefixes that end with each key; None for a token before the word."""
        self.every: Floats = np.stack(ends_of(self.hulls))
        """The ends of the ranges of all prefixes, (2, T, axes)."""
        self.kept: dict[tuple[int, bytes], Floats | None] = {}

    def __call__(self, patterns: Integers, allowed: Booleans) -> tuple[KnownRanges, Booleans]:
        """Return the ranges of keys and values, in row n T + k those of pattern n and key k (its queries say nothing),
        and which of the `allowed` keys some word of each pattern may have, (N, T)."""
        if len(self.kept) > MOST_KEPT:
            self.kept.clear()
        count, keys = allowed.shape
        ends = np.repeat(self.every[:, None], count, axis=1)
        possible = allowed.copy()
        for k, one in enumerate(self.patterns):
            if one is not None:
                some = np.flatnonzero(allowed[:, k])
                prefixes = patterns[some, : one.free]
                self._add(k, one, prefixes)
                for n, prefix in zip(some.tolist(), prefixes, strict=True):
                    found = self.kept[k, prefix.tobytes()]
                    if found is None:
                        possible[n, k] = False
                    else:
                        ends[:, n, k] = found
        return ranges_between(self.hulls.axes, *ends.reshape(2, count * keys, -1)), possible

    def _add(self, k: int, one: ClassPatterns, prefixes: Integers) -> None:
        """Compute the ranges of prefixes that are not known: None where no word has them."""
        new = {prefix.tobytes(): prefix for prefix in prefixes}
        new = {name: prefix for name, prefix in new.items() if (k, name) not in self.kept}
        if not new:
            return
        every = np.array(list(new.values()), dtype=np.int64).reshape(len(new), one.free)
        possible = one.possible(every)
        self.kept.update(((k, name), None) for name in new)
        if not possible.any():
            return
        (head,) = self.entries.forms(one.cells(every[possible]))[1]
        low, high = ends_of(KnownRanges.of(self.hulls.axes, head, unknown))
        low, high = np.fmax(low, self.every[0, k]), np.fmin(high, self.every[1, k])
        high = np.maximum(high, low)
        for at, number in enumerate(np.flatnonzero(possible).tolist()):
            self.kept[k, every[number].tobytes()] = np.stack([low[at], high[at]])
