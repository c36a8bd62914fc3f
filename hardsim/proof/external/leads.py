"""Words on which a one-layer network is likely to be wrong: where a search for wrong words begins and goes on.

A class of prefixes has a row of least value (`logits`). Linearised at some outputs of the heads, the row becomes a sum
over positions, and a longest path gives the prefix for which it is least (`search`). Three points are linearised:

- the means of all tokens, for every class. The classes with the least values of the linearised row are taken for the
  worst ones, before any word is run;
- the middle of the box of the heads' outputs, with slopes over the whole box, for the WORST classes alone, as boxes
  take most of the time. Here the classes have the prover's bounds, and their order is that of the bounds;
- the outputs on a word that the caller has run.

Nothing is proved here and no word is run: the caller judges these words like all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hardsim.lazy_dataclass import dataclass
from hardsim.network.dense import Network
from hardsim.proof.external.affine import DEEPEST
from hardsim.proof.external.columns import PrefixClasses, require_one_layer
from hardsim.proof.external.demands import NOWHERE, demands_of
from hardsim.proof.external.prove import ClassProver, WorkLimits
from hardsim.proof.external.search import NEAR, worst
from hardsim.proof.shared.result import NotProved
from hardsim.run.enclosure import Floats, Integers

WORST = 8
"""Greatest number of classes for which a box is computed."""
MOST = 2**25
"""Greatest number of sums along the paths of all classes and of products of their rows: with more there are no leads,
as they would take seconds."""
MOST_SYMBOLS = 256
"""Greatest number of symbols with leads."""

Word = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LinearRows:
    """The least row of each of some classes, linearised over a box: a lower bound there, the value in the middle, and
    the slopes in the coordinates of the heads' outputs. All are divided by the scale of the last norm."""

    low: Floats
    middle: Floats
    slopes: Floats


class Leads:
    """The leads at one length, which is at least 1.

    Raises NotProved if the prover does not take the network or its reference, or if there are too many classes."""

    def __init__(self, network: Network, oracle: Any, n: int) -> None:
        require_one_layer(network, DEEPEST)
        if len(network.symbols) > MOST_SYMBOLS:
            raise NotProved(f"there are more than {MOST_SYMBOLS} symbols")
        self.demands = demands_of(oracle, network, n)
        with np.errstate(all="ignore"):
            self.prover = prover = ClassProver(network, self.demands, WorkLimits())
            self._place = np.flatnonzero(prover.classes.length == n)
            self.classes = prover.classes.at(self._place)
            if len(self.classes) * (max(float(prover.moved[-1]), n * len(network.symbols)) + prover.affine) > MOST:
                raise NotProved(f"prefixes of {n} symbols have {len(self.classes):,} classes")
            values = [head.head.values.mid.reshape(-1, head.width) for head in prover.heads]
            spreads = [np.ptp(one @ basis.axes.T, axis=0) for one, basis in zip(values, prover.bases, strict=True)]
        self.symbols, self.search = network.symbols, prover.search
        self._small: Floats = np.maximum(np.concatenate([*spreads, np.zeros(0)]) * NEAR, 1e-9)
        self._number = {symbol: number for number, symbol in enumerate(network.symbols)}
        pairs = zip(self.classes.state.tolist(), self.classes.symbol.tolist(), strict=True)
        self._row = {pair: row for row, pair in enumerate(pairs)}

    def first(self) -> list[Word]:
        """Return at most two words of each of the WORST classes, those of the worst class first; no word twice."""
        if not len(self.classes):
            return []
        with np.errstate(all="ignore"):
            points = self._means(self.classes)
            near = self._linearised(self.classes, points, np.broadcast_to(self._small, points.shape))
            words = self.search.toward(self.classes, points, near.slopes)
            ends, _ = self.search.attended(self.classes, words)
            least = near.middle + (near.slopes * (ends - points)).sum(axis=1)
            worst_first = np.argsort(np.nan_to_num(least), kind="stable")[:WORST]
            some, words = self.classes.at(worst_first), words[worst_first]
            cells = self.prover.boxes(self._place[worst_first])
            wide = self._linearised(some, cells.middles, cells.radii)
            more = self.search.toward(some, cells.middles, wide.slopes)
        order = np.argsort(wide.low, kind="stable").tolist()
        return list(dict.fromkeys(self._spelled(some, part, row) for row in order for part in (more, words)))

    def after(self, words: Sequence[Word]) -> list[Word]:
        """Return the words to which the least rows lead that are linearised at some judged words of this length; no
        word twice, and none of the given ones."""
        ending = self.prover.columns.symbol_last
        rows, free = [], []
        for word in words:
            numbers = [self._number[symbol] for symbol in word]
            last = numbers.pop() if ending else -1
            row = self._row.get((self._state(numbers), last))
            if row is not None:
                rows.append(row)
                free.append(numbers)
        if not rows:
            return []
        some = self.classes.at(np.array(rows))
        with np.errstate(all="ignore"):
            points, totals = self.search.attended(some, np.array(free, dtype=np.int64).reshape(len(rows), -1))
            near = self._linearised(some, points, np.broadcast_to(self._small, points.shape))
            found = self.search.toward(some, points, near.slopes, totals=totals)
        spelled = dict.fromkeys(self._spelled(some, found, row) for row in range(len(rows)))
        return [word for word in spelled if word not in words]

    def _state(self, numbers: Sequence[int]) -> int:
        """Return the state that symbols lead to; NOWHERE if no judged prefix begins with them."""
        state = 0
        for number in numbers:
            if state != NOWHERE:
                state = int(self.demands.moves[state, number])
        return state

    def _spelled(self, classes: PrefixClasses, words: Integers, row: int) -> Word:
        return tuple(self.symbols[number] for number in self.search.spelled(classes, words, row))

    def _means(self, classes: PrefixClasses) -> Floats:
        """Return the outputs of the heads where every token has its weight, in their coordinates."""
        rows, places = self.prover.columns.fixed(classes)
        parts = [np.zeros((len(classes), 0))]
        for head, basis in zip(self.prover.heads, self.prover.bases, strict=True):
            weights = head.weights(classes)
            values = head.values[:, : weights.high.shape[1]]
            summed = np.einsum("cju,ujv->cv", weights.high, values, optimize=True)
            summed = summed + np.einsum("cf,cfv->cv", weights.fixed_high, head.head.values.mid[rows, places])
            total = weights.high.sum(axis=(1, 2)) + weights.fixed_high.sum(axis=1)
            parts.append(summed / total[:, None] @ basis.axes.T)
        return np.concatenate(parts, axis=1)

    def _linearised(self, classes: PrefixClasses, middles: Floats, radii: Floats) -> LinearRows:
        """Linearise the least row of each class over a box with these middles and radii."""
        count, rest = len(classes), self.prover.rest
        low, middle, slopes = np.empty(count), np.empty(count), np.empty(middles.shape)
        for kind in np.unique(classes.kind).tolist():
            every = np.flatnonzero(classes.kind == kind)
            for start in range(0, len(every), self.prover.batch):
                chosen = every[start : start + self.prover.batch]
                rows = rest.rows(kind, classes.at(chosen), middles[chosen], radii[chosen])
                form, choices = rows.form, rest.wants[kind].choices
                reach = form.c - np.abs(form.slopes).sum(axis=1)
                low[chosen] = worst(reach - form.e, choices)[0] / rows.sigma
                # The remainder is left out of the choice: it is where the row is unknown, not where it is low.
                place = worst(reach, choices)[1]
                at = np.arange(len(chosen))
                middle[chosen] = form.c[at, place] / rows.sigma
                slopes[chosen] = form.slopes[at, :, place] / rows.sigma[:, None]
        return LinearRows(np.nan_to_num(low, nan=-np.inf), middle, np.nan_to_num(slopes / radii))
