"""Proofs of two-layer networks, length by length, from patterns of words.

Where boxes of classes are too wide (`two_layers`), the prefixes of a length and last symbol are divided into patterns,
which give the symbols at some positions. There are two ways, and a few sampled patterns decide which one is used:

- **Independent histories** (`class_search`): each key and value is in the range of all prefixes that end with its
  symbol, or of those that agree with the pattern. This is enough where the answer hardly depends on which of several
  keys is read, and needs few patterns.
- **One history** (`coarse_words`): queries, keys and values are enclosed over the same pattern.

A few patterns are one task, so that processes can share them. The lengths are taken in order, up to the first
one with an open class.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import field, replace
from typing import Any

import numpy as np

from hardsim.lazy_dataclass import dataclass
from hardsim.network.dense import Network
from hardsim.proof.external.class_ranges import Entries, ranges_of_classes
from hardsim.proof.external.class_search import BY_PREFIX, ClassSearch
from hardsim.proof.external.coarse_words import CoarseResult, CoarseWords
from hardsim.proof.external.demands import PrefixDemands
from hardsim.proof.external.first_layer import FirstLayer, moves_of, shortened
from hardsim.proof.external.logits import Basis, LayerRest
from hardsim.proof.external.narrowing import unknown
from hardsim.proof.external.result import PatternsPart
from hardsim.proof.external.scaled_rows import ScaledRows
from hardsim.proof.external.second_layer import HeadForms, KnownRanges, SecondEntry
from hardsim.proof.shared.result import NotProved
from hardsim.run.dense_float import lengths
from hardsim.run.enclosure import GROW, Floats, Integers

TYPICAL = 40
"""The number of typical queries along which keys are bounded."""
PROBES, ENOUGH = 12, 0.75
"""The number of sampled patterns, and the share of them that independent histories must prove to be used."""
ONE, INDEPENDENT = "one history", "independent histories"
WIDE = "the bounds over patterns of words are too wide, or too many patterns would be needed"
"""The reason that is reported for a length and last symbol whose patterns could not all be proved."""
STARTS = 200
"""About the number of patterns into which the words of one length and last symbol are divided to be shared."""

Share = Callable[[Callable[..., Callable[[Any], Any]], tuple[Any, ...], Iterable[Any]], Generator[Any, None, None]]
"""A function that yields f(task) for each task, in order, for f = make(*parts): it may share them among processes."""


def alone(
    make: Callable[..., Callable[[Any], Any]], parts: tuple[Any, ...], tasks: Iterable[Any]
) -> Generator[Any, None, None]:
    """Do all tasks in this process."""
    yield from map(make(*parts), tasks)


@dataclass(frozen=True, slots=True)
class PatternTables:
    """The facts about a network and its words that are needed to bound patterns."""

    network: Network
    demands: PrefixDemands
    first: FirstLayer
    entry: SecondEntry
    fixed: HeadForms
    """The queries, keys and values of the tokens before the word."""
    ranges: HeadForms
    """The enclosures of keys and values of each class."""

    @classmethod
    def of(
        cls,
        network: Network,
        demands: PrefixDemands,
        first: FirstLayer,
        entry: SecondEntry,
        fixed: list[HeadForms],
    ) -> PatternTables:
        """Return the tables, with the ranges of all classes (about a second for five of them). Raises NotProved unless
        each layer has one head."""
        if len(entry.heads) != 1 or len(first.bases) != 1:
            raise NotProved("proofs from patterns of words are about one head in each layer")
        classes = moves_of(demands, demands.reached())
        entries = Entries(first, entry, demands, classes, np.arange(len(first.reach)))
        (axes,), (ranges,) = ranges_of_classes(entries, TYPICAL)
        known = replace(fixed[0], known=KnownRanges.of(axes, fixed[0], unknown))
        return cls(network, demands, first, entry, known, ranges)


@dataclass(frozen=True, slots=True)
class PatternTask:
    """Some words of one length that end with one symbol: those of some patterns."""

    length: int
    symbol: int
    way: str
    """ONE or INDEPENDENT."""
    start: Integers
    """The patterns, (N, length - 1)."""
    last: bool
    """True for the last task of its length and symbol."""


class PatternWork:
    """The function that does a task, in each process."""

    def __init__(self, tables: PatternTables) -> None:
        self.tables = tables
        demands = tables.demands
        self.classes = moves_of(demands, demands.reached())
        self.entries = Entries(tables.first, tables.entry, demands, self.classes, np.arange(len(tables.first.reach)))
        before = tables.first.columns.start
        readout = shortened(tables.network, before).readout
        second = replace(tables.network, layers=tables.network.layers[1:], readout=readout)
        width = tables.ranges.values.c.shape[1]
        self.scaled = ScaledRows(LayerRest(second, [Basis(np.eye(width), 0.0)], demands.kinds), self._reach())
        self.known: dict[tuple[int, int], ClassSearch | CoarseWords] = {}
        self.refused: tuple[int, int, str] | None = None
        """The length and last symbol at which `tasks` stopped, and why the prover refused them (None: it did not)."""

    def _reach(self) -> Floats:
        """Return bounds of the sizes of the coordinates of values."""
        sizes = [lengths(one.values.size).max(initial=0.0) for one in (self.tables.ranges, self.tables.fixed)]
        return np.full(self.tables.ranges.values.c.shape[1], 2 * np.max(sizes) * GROW)

    def rows(self, length: int, symbol: int) -> Integers:
        """Return the classes of a length and last symbol of which something is required."""
        classes = self.classes
        return np.flatnonzero((classes.length == length) & (classes.symbol == symbol) & (classes.kind >= 0))

    def words(self, length: int, symbol: int) -> ClassSearch | CoarseWords:
        """Return the prover for the words of a length and last symbol: independent histories if they prove the share
        ENOUGH of sampled patterns, else one history. Raises NotProved if it cannot be set up."""
        found = self.known.get((length, symbol))
        if found is None:
            parts = self.entries, self.rows(length, symbol), self.tables.ranges, self.tables.fixed, self.scaled
            # tasks may be made in another thread, which has its own handling of overflows
            with np.errstate(all="ignore"):
                search = ClassSearch(*parts)
                some = search.sampled(PROBES, BY_PREFIX)
                closed = int((search.bounds(some)[0] > 0).sum())
                found = search if closed >= ENOUGH * len(some) else CoarseWords(*parts)
            self.known = {(length, symbol): found}
        return found

    def tasks(self, first: int) -> Iterator[PatternTask]:
        """Yield the tasks of the lengths `first` and more, in order. Where the prover refuses words, set `refused` and
        stop."""
        for length in range(first, self.tables.demands.longest + 1):
            for symbol in np.unique(self.classes.symbol[self.classes.length == length]).tolist():
                if len(self.rows(length, symbol)):
                    try:
                        words = self.words(length, symbol)
                    except NotProved as error:
                        self.refused = length, symbol, error.reason
                        return
                    way, size = (INDEPENDENT, 4) if isinstance(words, ClassSearch) else (ONE, 2)
                    with np.errstate(all="ignore"):
                        starts = words.starts(STARTS)
                    for at in range(0, len(starts), size):
                        yield PatternTask(length, symbol, way, starts[at : at + size], at + size >= len(starts))

    def __call__(self, task: PatternTask) -> CoarseResult:
        """Return the result for the words of a task."""
        with np.errstate(all="ignore"):
            return self.words(task.length, task.symbol).prove(task.start)


@dataclass(slots=True)
class PatternProof:
    """The result of a proof from patterns: the last length, bounds of the least margin by length, the parts, and the
    length and symbol of the first class that stays open."""

    end: int
    margins: dict[int, float] = field(default_factory=dict)
    parts: list[PatternsPart] = field(default_factory=list)
    open: tuple[int, int] | None = None
    reason: str | None = None
    """The reason why that class stays open."""


def prove_patterns(
    tables: PatternTables, found: PatternProof, share: Share, report: Callable[[int, int], None]
) -> None:
    """Prove the lengths after `found.end`, as far as that is possible, and note them in `found`; `report` is called
    with a length that is proved and the greatest one. Raises NotProved if the layers are of a kind that is not
    bounded."""
    longest, symbols = tables.demands.longest, tables.network.symbols
    work, tasks = PatternWork(tables), list[PatternTask]()

    def every() -> Iterator[PatternTask]:
        for task in work.tasks(found.end + 1):
            tasks.append(task)
            yield task

    def reach(length: int) -> None:
        """Record that all lengths up to `length` are proved."""
        for n in range(found.end + 1, length + 1):
            found.end = n
            report(n, longest)

    part: PatternsPart | None = None
    with closing(share(PatternWork, (tables,), every())) as results:
        for number, result in enumerate(results):
            task, low = tasks[number], float(result.low.min())
            reach(task.length - 1)
            if not low > 0:
                found.open, found.reason = (task.length, task.symbol), WIDE
                return
            found.margins[task.length] = min(found.margins.get(task.length, np.inf), low)
            part = part or PatternsPart(task.length, symbols[task.symbol], task.way, 0, 0)
            part = replace(part, patterns=part.patterns + result.coarse, divided=part.divided + result.divided)
            if task.last:
                found.parts.append(part)
                part = None
    if work.refused is None:
        reach(longest)
        return
    length, symbol, found.reason = work.refused
    found.open = length, symbol
    reach(length - 1)
