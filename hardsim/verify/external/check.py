"""Certificates of external networks are checked here: a network of one layer is right after every judged prefix.

A class of prefixes is a length, the state of the machine before the last symbol, and that symbol (the state at the end,
where tokens follow the word and the last symbol is free). What is required, and the query of each head, are the same
for a whole class. The certificate groups classes of one length, one symbol and one requirement; this module derives
which classes there are, and requires that the groups have each of them.

**The proof of a group.** The outputs of all heads are z in coordinates of the certificate, up to a remainder
(`columns`). They lie in the box of the group, by one pass for each head (`supports`). The tree divides the box into
cells: at a split, a cell is the union of two halves that share the face between them. In a cell, a choice of rows is
proved: by affine enclosures (`affine`), a row is positive where g + l.(z - m) - e > 0, with m the middle of the cell.
With a direction d and numbers L of the certificate such that d.z <= L for every head and all prefixes of the group
(again by a pass), H their sum, and R the half widths of the cell,

    l.(z - m) = (l + d).(z - m) + d.m - d.z >= - sum of |l_k + d_k| R_k + d.m - H.

So a row is positive in all prefixes of the group whose outputs lie in the cell. Alternatively all prefixes of the group
are run one by one, in interval arithmetic (`run`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hardsim.verify.arithmetic import require
from hardsim.verify.external.affine import AfterHeads, RowBound
from hardsim.verify.external.columns import Columns, Vector
from hardsim.verify.external.network import Bounded, read_network
from hardsim.verify.external.prefixes import (
    CellTree,
    Choice,
    ExternalFacts,
    PrefixCheck,
    Progress,
    counted,
    require_sections,
)
from hardsim.verify.external.run import WordRunner
from hardsim.verify.external.sections import EXTERNAL_CHECKED, EXTERNAL_VERSION
from hardsim.verify.external.supports import HeadSupports

ROOM = 1 << 25
"""The most numbers that are derived from rows of what is required."""
MOST_WORDS = 1 << 20
"""The most words of a group that are run one by one."""


def check_external(document: dict[str, Any], progress: Progress | None = None) -> ExternalFacts:
    """Return what a certificate of an external network proves. Raises Rejected if it does not prove its claim.
    `progress` is called with the work done and the whole work. Labels and digests are not looked at here."""
    require_sections(document, EXTERNAL_CHECKED, EXTERNAL_VERSION)
    return _ExternalCheck(document).run(progress)


class _ExternalCheck(PrefixCheck):
    """A check of a network of one layer in progress. The constructor reads the sections."""

    def __init__(self, document: dict[str, Any]) -> None:
        super().__init__(document, read_network(document["network"]))
        network = self.network
        axes: list[list[Vector]] = document["axes"]
        self.counts = counted(axes, network, "axes")
        self.columns = Columns(network, self.longest, axes, self.spend)
        self.supports = [HeadSupports(self.columns, number, self.paths) for number in range(len(axes))]
        heads = [(head.axes, head.remainder) for head in self.columns.heads]
        self.rest, self.runner = AfterHeads(network, heads), WordRunner(network)
        units = 0 if network.mlp is None else len(network.mlp.leave.rows)
        rows = sum(len(choice) for kind in self.machine.kinds for choice in kind)
        require(rows * (network.dimension + units) <= ROOM, "machine.kinds: too large: too many rows")
        self.leaf = self.rest.cost
        """Steps for a cell, without its rows."""
        widths = [2 * len(head.k.columns) + 2 * len(head.v.columns) for head in network.heads]
        self.token, self.word = 1 + sum(widths) // 8, network.dimension * (2 * units + sum(widths)) // 8
        """Steps for a word: for each token, and besides."""

    def outputs(self, word: Sequence[int]) -> Bounded:
        """Return the outputs after a word, between bounds."""
        tokens = self.tokens(word)
        self.spend(self.word + len(tokens) * self.token)
        return self.runner.outputs(tokens)

    def run(self, progress: Progress | None) -> ExternalFacts:
        """Return what is proved."""
        groups = self.document["groups"]
        self._require_covered(groups)
        order = sorted(range(len(groups)), key=lambda number: (groups[number]["length"], groups[number]["symbol"]))
        whole, done = sum(1 + group["length"] for group in groups), 0
        for number in order:
            group = groups[number]
            _GroupCheck(self, group, f"groups[{number}]").run()
            done += 1 + group["length"]
            if progress is not None:
                progress(done, whole)
        wrong = None if self.wrong is None else self.refuted(self.wrong["word"])
        prefixes = self.prefixes()
        require(prefixes > 0 or wrong is not None, "specification: nothing is judged, so there is no claim")
        return ExternalFacts(self.first, self.last, prefixes, len(groups), self.cells, self.words, wrong)

    # ---- classes ----

    def _require_covered(self, groups: Sequence[dict[str, Any]]) -> None:
        """Raise Rejected unless the groups have each judged class, and nothing else."""
        covered: dict[tuple[int, int], set[int]] = {}
        for number, group in enumerate(groups):
            length, symbol, states = group["length"], group["symbol"], {*group["states"]}
            known = self.ends(length, symbol)
            require(known.keys() >= states, f"groups[{number}]: a class is not reached, or nothing is required of it")
            require(len({known[state] for state in states}) == 1, f"groups[{number}].states: different requirements")
            covered.setdefault((length, symbol), set()).update(states)
        for length in range(self.first, self.last + 1):
            for symbol in [-1] if self.symbol_free(length) else range(len(self.network.alphabet)):
                fine = self.ends(length, symbol).keys() <= covered.get((length, symbol), set())
                require(fine, f"groups: a class of prefixes of length {length} is missing")


class _GroupCheck:
    """The proof of one group of classes."""

    def __init__(self, check: _ExternalCheck, group: dict[str, Any], place: str) -> None:
        self.check, self.place = check, place
        self.length, self.symbol, self.states = group["length"], group["symbol"], group["states"]
        self.kind: Sequence[Choice] = check.machine.kinds[check.ends(self.length, self.symbol)[self.states[0]]]
        (self.low, self.high), self.tree = group["tree"]["box"], group["tree"]["tree"]
        fine = len(self.low) == len(self.high) == sum(check.counts)
        require(fine, f"{place}.tree.box: this should be two numbers for each axis of each head")
        self.query = check.columns.query(self.length, self.symbol)

    def run(self) -> None:
        """Raise Rejected unless the network is right after all prefixes of the group."""
        if "words" in self.tree:
            self._words()
            return
        start = 0
        for number, (support, count) in enumerate(zip(self.check.supports, self.check.counts, strict=True)):
            here = slice(start, start + count)
            start += count
            fine = support.box(self.length, self.symbol, self.states, self.low[here], self.high[here])
            require(fine, f"{self.place}.tree.box: the outputs of head {number} are not known to lie in it")
        proof = CellTree(self.check, self.kind, self.check.counts, f"{self.place}.tree", self._rows)
        proof.run(self.tree, self.low, self.high)
        for number, (support, found) in enumerate(zip(self.check.supports, proof.of_heads(), strict=True)):
            fine = support.bounded(self.length, self.symbol, self.states, *found)
            require(fine, f"{self.place}.tree: a bound of a direction of head {number} is not known to hold")

    def _rows(self, low: Vector, high: Vector, choice: Choice) -> list[RowBound]:
        self.check.spend(self.check.leaf)
        return self.check.rest.rows(self.query.token, self.query.place, low, high, choice)

    def _words(self) -> None:
        """Raise Rejected unless the network is certainly right after each prefix of the group: all rows of some choice
        are positive."""
        for word in self._prefixes():
            rows = self.check.margins(word, self.kind)
            fine = any(all(low > 0 for low, _ in choice) for choice in rows)
            require(fine, f"{self.place}: the network is not known to be right after a prefix")
            self.check.words += 1

    def _prefixes(self) -> Iterator[list[int]]:
        """Yield the prefixes of the group, each as the numbers of its symbols."""
        check, last = self.check, [] if self.symbol < 0 else [self.symbol]
        free = self.length - len(last)
        alive = [{*self.states}]
        for n in range(free - 1, -1, -1):
            here = check.paths.states[n]
            check.spend(len(here) * len(check.machine.moves[0]))
            alive.append({one for one in here if not alive[-1].isdisjoint(check.machine.moves[one])})
        alive.reverse()
        counts = {0: 1} if 0 in alive[0] else dict[int, int]()
        for n in range(free):
            after: dict[int, int] = {}
            for state, count in counts.items():
                for target in check.machine.moves[state]:
                    if target in alive[n + 1]:
                        after[target] = after.get(target, 0) + count
            counts = after
        require(sum(counts.values()) <= MOST_WORDS, f"{self.place}: too large: more than {MOST_WORDS} words")
        left: list[tuple[list[int], int]] = [([], 0)]
        while left:
            word, state = left.pop()
            if len(word) == free:
                yield [*word, *last]
                continue
            for symbol, target in enumerate(check.machine.moves[state]):
                if target in alive[len(word) + 1]:
                    left.append(([*word, symbol], target))
