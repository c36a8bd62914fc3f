"""Bound sums along the positions of a word, if the type of a position depends on its neighbours' types.

A vector that attention writes by a score and a value that read only j is a *cell*: `P(i) := rightmost_j[j<i, S(j)]
V(j) : d` is d at position 1; after position i it is V(i) if S(i), and otherwise unchanged. So types follow each other
along a graph, and a sum of weights w over positions is the weight of a walk. If every cycle has a mean of at most r,
there are potentials d with `d(v) >= d(u) + w(u) - r` along every edge, and the sum over the c positions before one of
type v is at most `r c + d(v)`. The claim is sound for every r that is tried: the inequalities are checked edge by
edge.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from math import ceil

from hardsim.compiling.from_srasp.local import Feature, LocalReader, Split, Type, Values, known_at
from hardsim.compiling.from_srasp.scores import folded, indices
from hardsim.lang import ast
from hardsim.lazy_dataclass import dataclass

MOST_NODES = 40
"""The greatest number of types in a graph; a finer graph is not made."""


@dataclass(frozen=True, slots=True)
class LocalNode:
    """A type of a position x, the weight there, and True if x is inside the word (False: in the padding)."""

    known: Type
    weight: Fraction
    inside: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """A vector whose value follows from its value at the position before (`forwards`) or after, and from what is at
    that position (`strict`) or at i itself. A `constant` cell has the same value at all positions."""

    score: ast.Expression
    value: ast.Expression
    default: bool | str
    forwards: bool
    strict: bool
    constant: bool


class Cells:
    """The cells among the vectors of a program, and the types that can follow each other."""

    def __init__(self, reader: LocalReader) -> None:
        self.reader = reader
        self._known: dict[str, Cell | None] = {}

    def _cell(self, name: str) -> Cell | None:
        if name not in self._known:
            right = self.reader.program.vectors[name].right
            assert isinstance(right, ast.Attention)
            self._known[name] = self._made(right)
        return self._known[name]

    def _made(self, attention: ast.Attention) -> Cell | None:
        score, value, default = (
            folded(part, self.reader.tuples) for part in (attention.score, attention.value, attention.default)
        )
        if "i" in indices(score) | indices(value) or not isinstance(default, ast.Truth | ast.SymbolLiteral):
            return None
        forwards = attention.mask in ("j<i", "j<=i")
        nearest = (attention.side == "rightmost") == forwards
        constant = attention.mask == "1"
        if not (constant or nearest or not indices(value)):
            return None
        first = default.value if isinstance(default, ast.Truth) else default.name
        return Cell(score, value, first, forwards, attention.mask in ("j<i", "j>i"), constant)

    def among(self, nodes: Sequence[LocalNode]) -> dict[Feature, Cell]:
        """Return, by feature, the cell of each vector feature of x that some of the nodes' types know."""
        features = (one for node in nodes for one in node.known if (one.kind, one.places) == ("vector", ("x",)))
        # In order of appearance: the order of a set differs between processes.
        found = {one: self._cell(str(one.what)) for one in dict.fromkeys(features)}
        return {feature: cell for feature, cell in found.items() if cell is not None}

    def refined(self, nodes: Sequence[LocalNode]) -> Sequence[LocalNode]:
        """Return types that decide the next values of the cells; coarser types if these are more than MOST_NODES."""
        while True:
            cells = self.among(nodes)
            finer = list[LocalNode]()
            for node in nodes:
                for known, _ in self.reader.cases(node.known, partial(self._decided, cells), "x"):
                    finer.append(LocalNode(known, node.weight, node.inside))
                    if len(finer) > MOST_NODES:
                        return nodes
            if self.among(finer).keys() == cells.keys():
                return finer
            nodes = finer

    def _decided(self, cells: Mapping[Feature, Cell], known: Type) -> None:
        """Raise Split if a type leaves open the next value of a cell."""
        for cell in cells.values():
            self.reader.value(cell.score, {"j": "x"}, known)
            self.reader.value(cell.value, {"j": "x"}, known)

    def _after(self, feature: Feature, cell: Cell, known: Type, old: Values) -> Values:
        """Return the values that a cell may have after x, a position of this type, if it had one of the values `old`
        before."""
        try:
            holds = {bool(self.reader.value(cell.score, {"j": "x"}, known))}
        except Split:
            holds = {False, True}
        try:
            found = self.reader.value(cell.value, {"j": "x"}, known)
            new = self.reader.values(found, known) if isinstance(found, Feature) else frozenset((found,))
        except Split:
            new = self.reader.values(feature, {})
        return (new if True in holds else frozenset()) | (old if False in holds else frozenset())

    def follow(self, cells: Mapping[Feature, Cell], first: Type, second: Type) -> bool:
        """Return True if a position of the second type can follow one of the first type."""
        for feature, cell in cells.items():
            here, there = self.reader.values(feature, first), self.reader.values(feature, second)
            if not cell.constant:
                before, after = (first, second) if cell.forwards else (second, first)
                old, there = (here, there) if cell.forwards else (there, here)
                here = self._after(feature, cell, before if cell.strict else after, old)
            if not here & there:
                return False
        return True

    def begin(self, cells: Mapping[Feature, Cell], known: Type) -> bool:
        """Return True if position 1 can have a type."""
        for feature, cell in cells.items():
            if cell.forwards and not cell.constant:
                default = frozenset((cell.default,))
                there = default if cell.strict else self._after(feature, cell, known, default)
                if not there & self.reader.values(feature, known):
                    return False
        return True


class Walks:
    """The walks along a graph of types: the nodes that can come `next` after each node, and the `first` nodes of a
    word."""

    def __init__(self, cells: Cells, nodes: Sequence[LocalNode]) -> None:
        self.nodes = cells.refined(nodes)
        cells.reader.spend(len(self.nodes) ** 2 // 8)
        used = cells.among(self.nodes)
        self.next = [
            [
                number
                for number, other in enumerate(self.nodes)
                if (node.inside or not other.inside) and cells.follow(used, node.known, other.known)
            ]
            for node in self.nodes
        ]
        self.first = [number for number, node in enumerate(self.nodes) if node.inside and cells.begin(used, node.known)]

    def at(self, known: Type, place: str, inside: bool) -> list[int]:
        """Return the nodes that a place of this type can be."""
        return [
            number
            for number, node in enumerate(self.nodes)
            if node.inside is inside
            and all(known.get(feature, values) & values for feature, values in known_at(node.known, "x", place).items())
        ]

    def rates(self) -> Iterator[Mapping[bool, Fraction]]:
        """Yield candidate rates: bounds of the weight per position, inside the word and in the padding. They are the
        largest mean of a cycle, and the next integer."""
        best = {inside: self._mean(inside) for inside in (True, False)}
        yield best
        if any(rate.denominator > 1 for rate in best.values()):
            yield {inside: Fraction(ceil(rate)) for inside, rate in best.items()}

    def _mean(self, inside: bool) -> Fraction:
        """Return the largest mean of a cycle among the nodes of one side, 0 if there is no cycle.

        By Karp (1978), this is the largest over the nodes v of the least over k < N of `(D_N(v) - D_k(v)) / (N - k)`,
        with D_k the heaviest walk of k edges.
        """
        nodes = [number for number, node in enumerate(self.nodes) if node.inside is inside]
        table: list[dict[int, Fraction]] = [dict.fromkeys(nodes, Fraction(0))]
        for _ in nodes:
            row: dict[int, Fraction] = {}
            for node, weight in table[-1].items():
                for other in self.next[node]:
                    if self.nodes[other].inside is inside:
                        total = weight + self.nodes[node].weight
                        row[other] = max(total, row.get(other, total))
            table.append(row)
        count = len(nodes)
        return max(
            (
                min((last - table[k][node]) / (count - k) for k in range(count) if node in table[k])
                for node, last in table[count].items()
            ),
            default=Fraction(0),
        )

    def heaviest(
        self, sources: Collection[int], targets: Collection[int] | None, rate: Mapping[bool, Fraction]
    ) -> tuple[Fraction, ...] | None:
        """Bound from above, by potentials, the sum of weights minus rates along a walk from its first node, one of
        `sources` (included), to a target (not included), or to the end if `targets` is None.

        Returns:
            The bound; an empty tuple if there is no such walk, and None if there is no bound.
        """
        potential = dict.fromkeys(sources, Fraction(0))
        ending = [Fraction(0)] if targets is None else []
        # Without a cycle of positive weight, potentials are final after one round per node (Bellman and Ford).
        for _ in range(len(self.nodes) + 1):
            grown = False
            for node in list(potential):
                after = potential[node] + self.nodes[node].weight - rate[self.nodes[node].inside]
                for other in self.next[node]:
                    if other not in potential or potential[other] < after:
                        potential[other], grown = after, True
            if not grown:
                break
        else:
            return None
        if targets is None:
            rests = ((total, self.nodes[number]) for number, total in potential.items())
            ending += [total + node.weight - rate[node.inside] for total, node in rests]
        else:
            ending += [potential[node] for node in targets if node in potential]
        return (max(ending),) if ending else ()

    def after(self, nodes: Collection[int]) -> set[int]:
        """Return the nodes that can come next."""
        return {other for node in nodes for other in self.next[node]}
