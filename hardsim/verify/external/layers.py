"""Certificates of networks of two causal layers are checked here: a network is right after every judged prefix.

Prefixes of up to `run_to` symbols are run, token by token (`run`). The others are proved by a **part** of the words;
the first part has all words.

**A part** has each class of prefixes once: a length, a last symbol and the state before it, for which some word of the
part has such a prefix. The outputs of the first layer's heads lie in the box of the class, by a pass for each head
(`supports`). The tree `cells` divides the box. Affine enclosures (`affine`) lead from a cell to the vector after the
first layer, and from there to the second layer's keys and values (`second`).

A class is proved where its tree `query` divides the same box into cells such that in each of them the outputs of the
second layer's heads lie in a box, by a pass over the cells of all classes before it; and a second tree, as in `check`,
proves the rows of a choice in the cells of that box.

Classes without `query` are proved by the parts of a part: `place` is a number of symbols, less than the length of each
of these classes, and there is a part for each state in which the machine may be there. A word is in one of them. There
its prefixes have fewer paths through the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any

from hardsim.verify.arithmetic import require
from hardsim.verify.external.affine import AfterHeads, CellForm, RowBound, halved
from hardsim.verify.external.columns import Columns, Vector
from hardsim.verify.external.machine import NOWHERE
from hardsim.verify.external.network import Bounded, NetworkData, read_layers
from hardsim.verify.external.prefixes import (
    CellTree,
    Choice,
    ExternalFacts,
    PrefixCheck,
    Progress,
    counted,
    leaves,
    require_sections,
)
from hardsim.verify.external.run import PrefixRunner, ReadPrefix
from hardsim.verify.external.second import CellHead, CellSupports, LayerEntry, Place, without_little
from hardsim.verify.external.sections import LAYERS_CHECKED, LAYERS_VERSION
from hardsim.verify.external.supports import HeadSupports, MachinePaths

ROOM = 1 << 25
"""The most numbers of the forms of cells in one part."""


def check_layers(document: dict[str, Any], progress: Progress | None = None) -> ExternalFacts:
    """Return what a certificate of a network of two layers proves. Raises Rejected if it does not prove its claim.
    `progress` is called with the work done and the whole work. Labels and digests are not looked at here."""
    require_sections(document, LAYERS_CHECKED, LAYERS_VERSION)
    return _LayersCheck(document, progress).run()


class LayerForms:
    """The affine enclosures of a network of two layers, up to the second layer's heads; `axes` are the rows of the
    certificate by layer and head. `spend` is called with the steps done."""

    def __init__(
        self,
        networks: Sequence[NetworkData],
        longest: int,
        axes: Sequence[Sequence[list[Vector]]],
        spend: Callable[[int], None],
    ) -> None:
        first, second = networks
        self.networks, self.spend = networks, spend
        self.counts = [
            counted(own, network, f"axes[{number}]")
            for number, (own, network) in enumerate(zip(axes, networks, strict=True))
        ]
        self.columns, self.axes = Columns(first, longest, axes[0], spend), axes
        self.rest = AfterHeads(first, [(head.axes, head.remainder) for head in self.columns.heads], True)
        self.entry = LayerEntry(second, axes[1])
        self.runner = PrefixRunner(networks)
        d, units = first.dimension, 0 if first.mlp is None else len(first.mlp.leave.rows)
        slopes = 2 * (3 * sum(self.counts[0]) + units) + 3
        outputs = sum(2 * len(head.k.columns) + len(head.v.columns) for head in second.heads)
        self.cost = self.rest.cost + slopes * (d + outputs * (8 + d)) // 16
        """Steps for the forms of a cell."""
        self.size = (sum(self.counts[0]) + 4) * (outputs + sum(self.counts[1]))
        """The numbers of the forms of a cell."""
        self.fixed: list[list[CellHead]] = []
        """The forms of each token before the word, by head."""
        self.read: ReadPrefix | None = None
        """The tokens before the word."""
        for token in first.readout.before:
            self.read = self.runner.read(self.read, token)
            mid, off = self.read.after[0]
            self.fixed.append(self.entry(CellForm(mid, [], off), 0))

    def over(self, place: Place, low: Vector, high: Vector) -> tuple[CellForm, list[CellHead]]:
        """Return the vectors after the first layer over a cell of a class, and the forms of each head. The coordinates
        of the cell that add little to what enters the layer count as errors."""
        self.spend(self.cost)
        query = self.columns.query(place[0], place[1])
        x = without_little(self.rest.entered(query.token, query.place, *halved(low, high)))
        after = self.rest.after(x).opened()
        return after, self.entry(after, len(x.slopes))

    def after(self, cells: Sequence[Sequence[CellHead]]) -> AfterHeads:
        """Return the rest of the network after the second layer's heads, whose values are in some cells, for the tokens
        before the word and all positions."""
        lost = []
        for number, axes in enumerate(self.axes[1]):
            rests = [one[number].rest for one in (*self.fixed, *cells)]
            lost.append((axes, [max(column) for column in zip(*rests, strict=True)]))
        return AfterHeads(self.networks[1], lost)


class _LayersCheck(PrefixCheck):
    """A check of a network of two layers in progress. The constructor reads the sections."""

    def __init__(self, document: dict[str, Any], progress: Progress | None) -> None:
        networks = read_layers(document["network"], 2)
        super().__init__(document, networks[-1])
        masks = {head.mask for network in networks for head in network.heads}
        fine = self.symbol_last and masks <= {"future"}
        require(fine, "network: it is not causal, or tokens follow the word")
        self.run_to, axes = document["run_to"], document["axes"]
        require(self.first - 1 <= self.run_to <= self.last, "run_to: this should be from min_n - 1 to max_n")
        require(self.run_to >= min(0, self.last), "run_to: the empty prefix is judged, and has to be run")
        self.forms = LayerForms(networks, self.longest, axes, self.spend)
        d, units = self.network.dimension, sum(0 if one.mlp is None else len(one.mlp.leave.rows) for one in networks)
        widths = [2 * len(head.k.columns) + 2 * len(head.v.columns) for one in networks for head in one.heads]
        self.token = 4 + d * (2 * units + sum(widths)) // 8
        """Steps for a token, without what it attends to."""
        self.each = 1 + sum(widths) // 8
        """Steps for a token that another one attends to."""
        self.proved, self.steps = 0, progress

    def outputs(self, word: Sequence[int]) -> Bounded:
        """Return the outputs after a word, between bounds."""
        read = None
        for number, token in enumerate(self.tokens(word)):
            self.spend(self.token + number * self.each)
            read = self.forms.runner.read(read, token)
        require(read is not None, "a network that reads no token has no output")
        assert read is not None
        return self.forms.runner.outputs(read)

    def run(self) -> ExternalFacts:
        """Return what is proved."""
        pending = {
            (length, symbol, state)
            for length in range(max(1, self.run_to + 1), self.last + 1)
            for symbol in range(len(self.network.alphabet))
            for state in self.ends(length, symbol)
        }
        self._words()
        self.whole = len(pending)
        part = self.document["part"]
        require((part is None) == (not pending), "part: this should be null if all prefixes are run, and only then")
        if part is not None:
            _PartCheck(self, part, {}, pending, "part").run()
        wrong = None if self.wrong is None else self.refuted(self.wrong["word"])
        prefixes = self.prefixes()
        require(prefixes > 0 or wrong is not None, "specification: nothing is judged, so there is no claim")
        return ExternalFacts(self.first, self.last, prefixes, self.proved, self.cells, self.words, wrong)

    def shown(self, proved: int) -> None:
        """Count classes that are proved, and report the progress."""
        self.proved += proved
        if self.steps is not None:
            self.steps(min(self.proved, self.whole), self.whole)

    def _words(self) -> None:
        """Raise Rejected unless the network is certainly right after each judged prefix of at most `run_to` symbols."""
        left: list[tuple[ReadPrefix | None, int, int]] = [(self.forms.read, 0, 0)] if self.run_to >= 0 else []
        while left:
            read, state, length = left.pop()
            kind = self.machine.required[state]
            if kind >= 0 and length >= self.first and read is not None:
                rows = self.compared(self.forms.runner.outputs(read), self.machine.kinds[kind])
                fine = any(all(low > 0 for low, _ in choice) for choice in rows)
                require(fine, f"run_to: the network is not known to be right after a prefix of length {length}")
                self.words += 1
            if length == self.run_to:
                continue
            for symbol, target in enumerate(self.machine.moves[state]):
                if target != NOWHERE:
                    self.spend(self.token + (length + 1) * self.each)
                    left.append((self.forms.runner.read(read, self.network.symbols[symbol]), target, length + 1))


class _PartCheck:
    """The proof of a part of the words: those that are in the states `passed` after so many symbols. `pending` are the
    classes that are to be proved."""

    def __init__(
        self, check: _LayersCheck, data: dict[str, Any], passed: dict[int, int], pending: set[Place], name: str
    ) -> None:
        self.check, self.data, self.passed, self.name = check, data, passed, name
        longest = max((length for length, _, _ in pending), default=0)
        self.paths = MachinePaths(check.machine, max(longest, *passed, 0), check.spend, passed)
        states = [{*layer} for layer in self.paths.states]
        moves = check.machine.moves
        self.classes = {
            (n + 1, symbol, source)
            for n, layer in enumerate(self.paths.states[:-1])
            for source in layer
            for symbol, target in enumerate(moves[source])
            if target in states[n + 1]
        }
        self.pending = pending & self.classes

    def run(self) -> None:
        """Raise Rejected unless the part proves its classes."""
        check, listed = self.check, self.data["classes"]
        self.given = {(one["length"], one["symbol"], one["state"]): one for one in listed}
        require(len(self.given) == len(listed), f"{self.name}.classes: a class occurs twice")
        require(self.given.keys() <= self.classes, f"{self.name}.classes: a class that no word of the part reaches")
        proved = {place for place, one in self.given.items() if one["query"] is not None}
        require(proved <= self.pending, f"{self.name}.classes: nothing is to be proved of a class")
        longest = max((length for length, _, _ in proved), default=0)
        for place in self.classes:
            missing = place[0] < longest and place not in self.given
            require(not missing, f"{self.name}.classes: a class of prefixes of length {place[0]} is missing")
        if proved:
            self._proved(sorted(proved))
        rest, place = self.pending - proved, self.data["place"]
        if not rest:
            require(place is None and not self.data["parts"], f"{self.name}.parts: nothing is left to be proved")
            return
        shortest = min(length for length, _, _ in rest)
        require(place is not None, f"{self.name}: a class of prefixes of length {shortest} is not proved")
        require(0 < place < shortest, f"{self.name}.place: this should be from 1 to {shortest - 1}")
        parts = self.data["parts"]
        fine = sorted(state for state, _ in parts) == self.paths.states[place]
        require(fine, f"{self.name}.parts: this should be a part for each state after {place} symbols")
        for number, (state, part) in enumerate(parts):
            _PartCheck(check, part, {**self.passed, place: state}, rest, f"{self.name}.parts[{number}]").run()

    def _proved(self, proved: Sequence[Place]) -> None:
        """Raise Rejected unless the classes with a query are right."""
        check = self.check
        forms, cells, size = check.forms, dict[Place, list[list[CellHead]]](), 0
        supports = [HeadSupports(forms.columns, number, self.paths) for number in range(len(forms.counts[0]))]
        for place, one in sorted(self.given.items(), key=lambda pair: pair[0]):
            low, high = one["box"]
            name = f"{self.name}.classes: the class {[*place]}"
            require(
                len(low) == len(high) == sum(forms.counts[0]), f"{name}: the box should have two numbers for each axis"
            )
            for support, here in zip(supports, sliced(forms.counts[0]), strict=True):
                fine = support.box(place[0], place[1], [place[2]], low[here], high[here])
                require(fine, f"{name}: the outputs of the first layer are not known to lie in the box")
            cells[place] = []
            for leaf, below, above in leaves(one["cells"], low, high, name):
                require(leaf is None, f"{name}: a cell should be null")
                size += forms.size
                require(size <= ROOM, "too large: too many cells")
                check.cells += 1
                cells[place].append(forms.over(place, below, above)[1])
        self.rest = forms.after([cell for own in cells.values() for cell in own])
        self.supports = [
            CellSupports(
                check.machine,
                self.paths,
                {place: [cell[number] for cell in own] for place, own in cells.items()},
                [cell[number] for cell in forms.fixed],
                check.spend,
            )
            for number in range(len(forms.counts[1]))
        ]
        for place in proved:
            one = self.given[place]
            low, high = one["box"]
            for leaf, below, above in leaves(one["query"], low, high, f"{self.name}.classes: the class {[*place]}"):
                self._query(place, leaf, below, above)
            check.shown(1)

    def _query(self, place: Place, leaf: dict[str, Any], low: Vector, high: Vector) -> None:
        """Raise Rejected unless the network is right after all prefixes of a class whose last position is in a cell."""
        check, (below, above) = self.check, leaf["box"]
        name, counts = f"{self.name}.classes: the class {[*place]}", check.forms.counts[1]
        require(len(below) == len(above) == sum(counts), f"{name}: a box should have two numbers for each axis")
        x, own = check.forms.over(place, low, high)
        for number, (support, here) in enumerate(zip(self.supports, sliced(counts), strict=True)):
            fine = support.box(place, own[number], below[here], above[here])
            require(fine, f"{name}: the outputs of head {number} of the second layer are not known to lie in the box")

        def rows(low: Vector, high: Vector, choice: Choice) -> list[RowBound]:
            check.spend(2 * self.rest.cost * (2 + len(x.slopes) // (1 + len(low))))
            return self.rest.rows_of(x, low, high, choice)

        kind = check.machine.kinds[check.ends(place[0], place[1])[place[2]]]
        proof = CellTree(check, kind, counts, name, rows)
        proof.run(leaf["tree"], below, above)
        for number, (support, found) in enumerate(zip(self.supports, proof.of_heads(), strict=True)):
            fine = support.bounded(place, own[number], *found)
            require(fine, f"{name}: a bound of a direction of head {number} is not known to hold")


def sliced(counts: Sequence[int]) -> list[slice]:
    """Return the coordinates of each head."""
    ends = [0, *accumulate(counts)]
    return [slice(*pair) for pair in pairwise(ends)]
