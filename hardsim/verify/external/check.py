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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from hardsim.verify.arithmetic import Rejected, require
from hardsim.verify.external.affine import AfterHeads, RowBound
from hardsim.verify.external.columns import Columns, Vector
from hardsim.verify.external.machine import NOWHERE, Reading, RequiredAnswers, Rows, compare, read_machine
from hardsim.verify.external.network import NetworkData, read_network
from hardsim.verify.external.numbers import ETA, GROW, dot, gamma, require_doubles
from hardsim.verify.external.run import WordRunner
from hardsim.verify.external.sections import (
    EXTERNAL_CHECKED,
    EXTERNAL_CLAIM,
    EXTERNAL_VERSION,
    EXTERNAL_WRONG_CLAIM,
    LONGEST,
)
from hardsim.verify.external.supports import HeadSupports, MachinePaths

STEPS = 6 * 10**8
"""Limit on the steps of a check, of about a microsecond each: ten minutes."""
ROOM = 1 << 25
"""The most numbers that are derived from rows of what is required."""
MOST_WORDS = 1 << 20
"""The most words of a group that are run one by one."""
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


def check_external(document: dict[str, Any], progress: Progress | None = None) -> ExternalFacts:
    """Return what a certificate of an external network proves. Raises Rejected if it does not prove its claim.
    `progress` is called with the work done and the whole work. Labels and digests are not looked at here."""
    require_doubles()
    for key, form in EXTERNAL_CHECKED.items():
        require(key in document, f"the key {key} is missing")
        form(document[key], key)
    version = document.get("schema_version")
    require(type(version) is int and version == EXTERNAL_VERSION, f"schema_version: this should be {EXTERNAL_VERSION}")
    claim = EXTERNAL_CLAIM if document["wrong"] is None else EXTERNAL_WRONG_CLAIM
    require(document.get("claim") == claim, "claim: it is not the one that is checked")
    return _ExternalCheck(document).run(progress)


class _ExternalCheck:
    """A check in progress. The constructor reads the sections and compares the machine with the specification."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document, self.left, self.cells, self.words = document, STEPS, 0, 0
        self.network: NetworkData = read_network(document["network"])
        readout, network = self.network.readout, self.network
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
        axes: list[list[Vector]] = document["axes"]
        require(len(axes) == len(network.heads), "axes: this should be rows for each head")
        for number, (own, head) in enumerate(zip(axes, network.heads, strict=True)):
            fine = all(len(row) == len(head.v.columns) for row in own)
            require(fine, f"axes[{number}]: a row has another length than the values of this head")
        self.counts = [*map(len, axes)]
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
        wrong = None if self.wrong is None else self._refuted(self.wrong["word"])
        prefixes = self._prefixes()
        require(prefixes > 0 or wrong is not None, "specification: nothing is judged, so there is no claim")
        return ExternalFacts(self.first, self.last, prefixes, len(groups), self.cells, self.words, wrong)

    # ---- classes ----

    def ends(self, length: int, symbol: int) -> dict[int, int]:
        """Return the requirements of the judged classes of one length and one symbol (-1: the last symbol is free), by
        the state before that symbol."""
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
        return length == 0 or not self.columns.symbol_last

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

    def _prefixes(self) -> int:
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

    def margins(self, word: Sequence[int], kind: Sequence[Choice]) -> list[list[tuple[float, float]]]:
        """Return bounds of each row of each choice after a word: the first output less the second one."""
        tokens = self.tokens(word)
        self.spend(self.word + len(tokens) * self.token)
        mid, off = self.runner.outputs(tokens)
        # the level stands at the end, at index -1
        mid, off = [*mid, self.network.readout.level], [*off, gamma(2) * abs(self.network.readout.level)]

        def row(above: int, below: int) -> tuple[float, float]:
            middle, far = mid[above] - mid[below], off[above] + off[below]
            far = (far + gamma(2) * abs(middle)) * GROW
            return middle - far, middle + far

        return [[row(above, below) for above, below in choice] for choice in kind]

    def _refuted(self, names: Sequence[str]) -> list[str]:
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
        self.directions: list[tuple[Vector, Vector]] = []
        """Directions of the rows, with the bounds of each head, that are still to be proved."""

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
        self._cell(self.tree, self.low, self.high)
        self._directions()

    def _cell(self, node: dict[str, Any], low: Vector, high: Vector) -> None:
        """Raise Rejected unless a tree proves the requirement in a cell; directions are noted."""
        self.check.spend(1 + len(low) // 16)
        if "words" in node:
            raise Rejected(f"{self.place}.tree: words stand at the root of a tree alone")
        if "choice" in node:
            self._leaf(node, low, high)
            return
        axis, cut = node["split"]
        require(0 <= axis < len(low), f"{self.place}.tree: a split of a coordinate that does not exist")
        require(low[axis] <= cut <= high[axis], f"{self.place}.tree: a split outside of its cell")
        self._cell(node["low"], low, [*high[:axis], cut, *high[axis + 1 :]])
        self._cell(node["high"], [*low[:axis], cut, *low[axis + 1 :]], high)

    def _leaf(self, node: dict[str, Any], low: Vector, high: Vector) -> None:
        check, number, named = self.check, node["choice"], node["rows"]
        require(0 <= number < len(self.kind), f"{self.place}.tree: a choice that does not exist")
        choice = self.kind[number]
        require(all(int(key) < len(choice) for key in named), f"{self.place}.tree: a row that does not exist")
        check.cells += 1
        check.spend(check.leaf + len(choice) * (1 + len(low) + check.network.dimension * len(low) // 8))
        forms = check.rest.rows(self.query.token, self.query.place, low, high, choice)
        middle = [(one + other) / 2 for one, other in zip(low, high, strict=True)]
        radii = [max(b - m, m - a) * GROW for a, m, b in zip(low, middle, high, strict=True)]
        for row, (g, slopes, e) in enumerate(forms):
            if str(row) in named:
                direction, levels = named[str(row)]
                fine = len(direction) == len(middle) and len(levels) == len(check.counts)
                require(fine, f"{self.place}.tree: a direction is a number for each axis, and a bound for each head")
                self.directions.append((direction, levels))
            else:
                direction, levels = [0.0] * len(middle), []
            least = row_bound((g, slopes, e), direction, levels, middle, radii)
            require(least > 0, f"{self.place}: a cell is not known to be right")

    def _directions(self) -> None:
        """Raise Rejected unless the bounds of all directions that were noted hold."""
        start = 0
        for number, (support, count) in enumerate(zip(self.check.supports, self.check.counts, strict=True)):
            some = [(direction[start : start + count], levels[number]) for direction, levels in self.directions]
            start += count
            directions, levels = [one for one, _ in some], [level for _, level in some]
            fine = support.bounded(self.length, self.symbol, self.states, directions, levels)
            require(fine, f"{self.place}.tree: a bound of a direction of head {number} is not known to hold")

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
