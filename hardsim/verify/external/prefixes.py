"""The parts that all checks of certificates of external networks share: machine, classes of judged prefixes, words.

A class of prefixes is a length, the state of the machine before the last symbol, and that symbol (the state at the end,
where tokens follow the word and the last symbol is free). What is required is the same for a whole class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from hardsim.verify.arithmetic import require
from hardsim.verify.external.affine import RowBound
from hardsim.verify.external.columns import Vector
from hardsim.verify.external.machine import NOWHERE, Reading, RequiredAnswers, Rows, compare, read_machine
from hardsim.verify.external.network import Bounded, NetworkData
from hardsim.verify.external.numbers import ETA, GROW, dot, gamma, require_doubles
from hardsim.verify.external.sections import EXTERNAL_CLAIM, EXTERNAL_WRONG_CLAIM, LONGEST
from hardsim.verify.external.supports import MachinePaths
from hardsim.verify.sections import Shape

STEPS = 6 * 10**8
"""Limit on the steps of a check, of about a microsecond each: ten minutes."""
Progress = Callable[[int, int], None]
"""A function that is called with the work done and the whole work."""
Choice = Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class ExternalFacts:
    """The facts that were proved: the network is right after every judged prefix of `first` to `last` symbols, of which
    there are `prefixes`, and wrong after the word `wrong`, if there is one. Besides, the numbers of groups of classes,
    of cells, and of words that were run one by one."""

    first: int
    last: int
    prefixes: int
    groups: int
    cells: int
    words: int
    wrong: list[str] | None

    @property
    def shortest(self) -> bool:
        """True if no prefix that is shorter than the wrong one is wrong."""
        return self.wrong is not None and len(self.wrong) == self.last + 1


def require_sections(document: dict[str, Any], forms: dict[str, Shape], version: int) -> None:
    """Raise Rejected unless sections have their shapes, and the version and the claim are those that are checked."""
    require_doubles()
    for key, form in forms.items():
        require(key in document, f"the key {key} is missing")
        form(document[key], key)
    found = document.get("schema_version")
    require(type(found) is int and found == version, f"schema_version: this should be {version}")
    claim = EXTERNAL_CLAIM if document["wrong"] is None else EXTERNAL_WRONG_CLAIM
    require(document.get("claim") == claim, "claim: it is not the one that is checked")


def counted(axes: Sequence[list[Vector]], network: NetworkData, place: str) -> list[int]:
    """Return the number of axes of each head of a layer. Raises Rejected if they do not fit the heads."""
    require(len(axes) == len(network.heads), f"{place}: this should be rows for each head")
    for number, (own, head) in enumerate(zip(axes, network.heads, strict=True)):
        fine = all(len(row) == len(head.v.columns) for row in own)
        require(fine, f"{place}[{number}]: a row has another length than the values of this head")
    return [*map(len, axes)]


class PrefixCheck(ABC):
    """A check in progress. The constructor compares the machine of the certificate with the specification; `network` is
    the network, or its last layer."""

    def __init__(self, document: dict[str, Any], network: NetworkData) -> None:
        self.document, self.left, self.cells, self.words = document, STEPS, 0, 0
        self.network, readout = network, network.readout
        self.symbol_last = readout.at == "each" or not readout.after
        self.reading = Reading(
            network.outputs,
            readout.decide,
            [network.outputs[number] for number in readout.among],
            network.alphabet,
            readout.at == "last",
        )
        self.specification = RequiredAnswers(document["specification"], self.reading, self.spend)
        self.first, self.last, self.wrong = document["min_n"], document["max_n"], document["wrong"]
        fine = self.first == (0 if self.specification.empty else 1)
        require(fine, "min_n: this should be 0 if the empty prefix is judged, and else 1")
        fine = self.first - (self.wrong is not None) <= self.last <= LONGEST
        require(fine, f"max_n: this should be from min_n to {LONGEST}, or min_n - 1 if there is a wrong word")
        self.longest = max(self.last, 0)
        self._require_causal()
        self.machine = read_machine(document["machine"], len(network.alphabet), len(network.outputs))
        compare(self.machine, self.specification, self.longest, self.spend)
        self.paths = MachinePaths(self.machine, self.longest, self.spend)

    def spend(self, steps: int) -> None:
        """Charge steps; raise Rejected if the check takes more than its allowance."""
        self.left -= steps
        require(self.left >= 0, f"too large: it takes more than {STEPS} steps")

    def _require_causal(self) -> None:
        """Raise Rejected unless what is read after a prefix depends on the prefix alone, and there is a token and a
        place for all that is read."""
        network, readout = self.network, self.network.readout
        masks = {head.mask for head in network.heads}
        require("past" not in masks, "network: a head that sees only what follows is not causal")
        require(readout.at == "last" or masks <= {"future"}, "network: it is not causal, and read within words")
        longest = max(self.longest, 0 if self.wrong is None else len(self.wrong["word"]))
        size = len(readout.before) + longest + len(readout.after)
        fine = network.positions is None or size <= len(network.positions)
        require(fine, "network.positions: the table has too few rows for words of max_n symbols")
        seen = readout.before if readout.at == "each" else [*readout.before, *readout.after]
        require(self.first > 0 or seen, "network.readout: the empty prefix is judged, and no token is read")

    # ---- classes ----

    def ends(self, length: int, symbol: int) -> dict[int, int]:
        """Return the requirement (its number) of each judged class of a length and a last symbol (-1: the last symbol
        is free), by the state of the machine before that symbol."""
        if not self.first <= length <= self.last:
            return {}
        free = self.symbol_free(length)
        if symbol != NOWHERE if free else not 0 <= symbol < len(self.network.alphabet):
            return {}
        found, states = dict[int, int](), self.paths.states[length - (not free)]
        self.spend(1 + len(states))
        for state in states:
            end = state if free else self.machine.moves[state][symbol]
            if end != NOWHERE and self.machine.required[end] >= 0:
                found[state] = self.machine.required[end]
        return found

    def symbol_free(self, length: int) -> bool:
        """Return True if no last symbol is fixed in the classes of this length."""
        return length == 0 or not self.symbol_last

    def prefixes(self) -> int:
        """Return the number of judged prefixes."""
        counts, total = {0: 1}, 0
        for length in range(self.last + 1):
            if length >= self.first:
                total += sum(count for state, count in counts.items() if self.machine.required[state] >= 0)
            after: dict[int, int] = {}
            # numbers of many digits take longer
            self.spend(len(counts) * len(self.machine.moves[0]) * (1 + length // 256))
            for state, count in counts.items():
                for target in self.machine.moves[state]:
                    if target != NOWHERE:
                        after[target] = after.get(target, 0) + count
            counts = after
        return total

    # ---- words ----

    def tokens(self, word: Sequence[int]) -> list[int]:
        """Return the tokens that are read up to where the network is read, for the numbers of some symbols."""
        readout = self.network.readout
        after = readout.after if readout.at == "last" else []
        return [*readout.before, *(self.network.symbols[symbol] for symbol in word), *after]

    @abstractmethod
    def outputs(self, word: Sequence[int]) -> Bounded:
        """Return the outputs after a word, between bounds."""

    def margins(self, word: Sequence[int], kind: Sequence[Choice]) -> list[list[tuple[float, float]]]:
        """Return bounds of each row of each choice after a word. A row is the first output minus the second one."""
        return self.compared(self.outputs(word), kind)

    def compared(self, outputs: Bounded, kind: Sequence[Choice]) -> list[list[tuple[float, float]]]:
        """Return bounds of each difference of two outputs that must be positive, by choice, from enclosed outputs."""
        mid, off = outputs
        # the level stands at the end, at index -1
        mid, off = [*mid, self.network.readout.level], [*off, gamma(2) * abs(self.network.readout.level)]

        def row(above: int, below: int) -> tuple[float, float]:
            middle, far = mid[above] - mid[below], off[above] + off[below]
            far = (far + gamma(2) * abs(middle)) * GROW
            return middle - far, middle + far

        return [[row(above, below) for above, below in choice] for choice in kind]

    def refuted(self, names: Sequence[str]) -> list[str]:
        """Return the wrong word. Raises Rejected unless the network is certainly wrong there: in each choice a row is
        negative."""
        numbers = {name: number for number, name in enumerate(self.network.alphabet)}
        require(all(name in numbers for name in names), "wrong.word: a symbol is not in the alphabet")
        require(self.last < len(names) <= LONGEST, f"wrong.word: it should have more than max_n symbols, to {LONGEST}")
        word = [numbers[name] for name in names]
        required: Rows | None = self.specification.after(word)
        require(required is not None, "wrong.word: nothing is required there")
        kind = [sorted(choice) for choice in sorted(map(sorted, required or ()))]
        margins = self.margins(word, kind)
        wrong = all(any(high < 0 for _, high in rows) for rows in margins)
        require(wrong, "wrong.word: the network is not known to be wrong there")
        return [*names]


def row_bound(form: RowBound, direction: Vector, levels: Vector, middle: Vector, radii: Vector) -> float:
    """Return a lower bound of g + l.(z - m) - e for |z - m| <= R and d.z at most the sum of the levels (see the
    module); -inf if a number is not finite.

    All sums together have fewer terms than 4 k + 16 and the levels, and the sum of the sizes of all terms, each as
    often as it occurs, is at most `size`.
    """
    g, slopes, e = form
    fall = dot([abs(one + other) for one, other in zip(slopes, direction, strict=True)], radii)
    known = dot(direction, middle) - sum(levels)
    size = dot([*map(abs, slopes)], radii) + dot([*map(abs, direction)], radii) + fall + abs(g) + abs(e)
    size += dot([*map(abs, direction)], [*map(abs, middle)]) + sum(map(abs, levels))
    slack = gamma(4 * len(middle) + len(levels) + 16) * size * GROW + ETA
    return g - e - fall + known - slack if size < inf else -inf


Cell = tuple[Any, Vector, Vector]
"""A leaf of a tree, with the cell that it stands for: least and greatest coordinates."""


def leaves(node: Any, low: Vector, high: Vector, place: str) -> Iterator[Cell]:
    """Yield the leaves of a tree that divides a box. At a split, a cell is the union of two halves that share the face
    between them. Raises Rejected if a split is not within its cell."""
    left = [(node, low, high)]
    while left:
        node, low, high = left.pop()
        if type(node) is not dict or "split" not in node:
            yield node, low, high
            continue
        axis, cut = node["split"]
        require(0 <= axis < len(low), f"{place}: a split of a coordinate that does not exist")
        require(low[axis] <= cut <= high[axis], f"{place}: a split outside of its cell")
        left.append((node["high"], [*low[:axis], cut, *low[axis + 1 :]], high))
        left.append((node["low"], low, [*high[:axis], cut, *high[axis + 1 :]]))


class CellTree:
    """The check of a tree of cells that proves a requirement: on each leaf, all rows of some choice are positive.
    `counts` are the numbers of coordinates of each head; `rows` gives the bounds of the rows of a choice on a cell."""

    def __init__(
        self,
        check: PrefixCheck,
        kind: Sequence[Choice],
        counts: Sequence[int],
        place: str,
        rows: Callable[[Vector, Vector, Choice], list[RowBound]],
    ) -> None:
        self.check, self.kind, self.counts, self.place, self.rows = check, kind, counts, place, rows
        self.directions: list[tuple[Vector, Vector]] = []
        """The directions that leaves rely on, with their claimed bound for each head; these are not proved yet."""

    def run(self, node: dict[str, Any], low: Vector, high: Vector) -> None:
        """Raise Rejected unless a tree proves the requirement in a box. `directions` collects what leaves rely on,
        to be proved later."""
        for leaf, below, above in leaves(node, low, high, self.place):
            self.check.spend(1 + len(low) // 16)
            require("words" not in leaf, f"{self.place}: words stand at the root of a tree alone")
            self._leaf(leaf, below, above)

    def _leaf(self, node: dict[str, Any], low: Vector, high: Vector) -> None:
        check, number, named = self.check, node["choice"], node["rows"]
        require(0 <= number < len(self.kind), f"{self.place}: a choice that does not exist")
        choice = self.kind[number]
        require(all(int(key) < len(choice) for key in named), f"{self.place}: a row that does not exist")
        check.cells += 1
        check.spend(len(choice) * (1 + len(low) + check.network.dimension * len(low) // 8))
        middle = [(one + other) / 2 for one, other in zip(low, high, strict=True)]
        radii = [max(b - m, m - a) * GROW for a, m, b in zip(low, middle, high, strict=True)]
        for row, (g, slopes, e) in enumerate(self.rows(low, high, choice)):
            if str(row) in named:
                direction, levels = named[str(row)]
                fine = len(direction) == len(middle) and len(levels) == len(self.counts)
                require(fine, f"{self.place}: a direction is a number for each axis, and a bound for each head")
                self.directions.append((direction, levels))
            else:
                direction, levels = [0.0] * len(middle), []
            least = row_bound((g, slopes, e), direction, levels, middle, radii)
            require(least > 0, f"{self.place}: a cell is not known to be right")

    def of_heads(self) -> Iterator[tuple[list[Vector], Vector]]:
        """Yield for each head its coordinates of the collected directions, and its claimed bounds."""
        start = 0
        for number, count in enumerate(self.counts):
            some = [direction[start : start + count] for direction, _ in self.directions]
            yield some, [levels[number] for _, levels in self.directions]
            start += count
