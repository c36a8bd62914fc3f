"""The table of nodes of an instance: the compiler's primitive formula, and nodes that only hints mention.

A hint says which node a coordinate is equal to. The nodes of the formula come first, with their numbers in the core;
then those that the certificate adds, with theirs; then further ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, assert_never

from hardsim.errors import Undecided
from hardsim.lang.core import And, AtLeast, Core, CountOf, Edge, Letters, Lit, Node, Numeric, Reach, Step, Xor
from hardsim.lang.predicate import OwnPredicate
from hardsim.lang.valuations import PropositionSymbols, everything
from hardsim.lazy_dataclass import dataclass
from hardsim.proving.rocq.conditions import LENGTH, VALUE, condition, multiple
from hardsim.proving.rocq.surface import atoms_of
from hardsim.proving.rocq.syntax import integer, listed, literal

SIDES: Mapping[str, str] = {"L": "Before", "R": "After", "": "Everywhere"}
"""The positions over which a count ranges, by the core's names."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A node: its constructor, its whole text, the numbers of its operands, and the constant of an inequality."""

    constructor: str
    text: str
    operands: tuple[int, ...] = ()
    constant: int = 0

    @staticmethod
    def of(constructor: str, *arguments: str, operands: Sequence[int] = ()) -> Entry:
        """Return the node of a constructor and its arguments."""
        return Entry(constructor, " ".join([constructor, *arguments]), tuple(operands))


TRUE, FIRST, LAST, EVEN = Entry.of("NAnd", "[]"), Entry.of("NFirst"), Entry.of("NLast"), Entry.of("NEven")


def count_text(side: str, node: int, negated: bool) -> str:
    """Return a count of a literal, on a side by the core's name."""
    return f"({SIDES[side]}, {literal(node, negated)})"


def no_instance(why: str) -> Undecided:
    """Return the error for a proof that cannot be written as hints; `why` is the reason."""
    return Undecided(f"proved, but no Rocq instance: {why}")


class NodeTable:
    """The nodes of an instance by number. `entries` grows when a node is looked up that is not there."""

    def __init__(self, core: Core, users: Mapping[str, OwnPredicate], added: Sequence[Sequence[Any]]) -> None:
        """Take the nodes of the core, and those that a certificate adds after them (`added`, in JSON). Raises Undecided
        if one of these is not known here."""
        self.users, self.names = users, atoms_of(core.alphabet)
        self.all = everything(core.alphabet)
        self.true = core.nodes.index(Letters(self.all))
        self.entries = [self._primitive(node) for node in core.nodes]
        self.entries += [self._added(node) for node in added]
        # Of equal nodes the first one counts.
        self._numbers = {entry: number for number, entry in reversed([*enumerate(self.entries)])}
        self.first, self.last, self.even = map(self.number, (FIRST, LAST, EVEN))

    def number(self, entry: Entry) -> int:
        """Return the number of a node, which is added if it is not there."""
        number = self._numbers.setdefault(entry, len(self.entries))
        if number == len(self.entries):
            self.entries.append(entry)
        return number

    def _letters(self, names: Sequence[str]) -> Entry:
        return Entry.of("NLetters", listed(str(number) for number in sorted(map(self.names.index, names))))

    def _primitive(self, node: Node) -> Entry:
        """Return a node of the core."""
        match node:
            case Letters(symbols):
                if symbols == self.all:
                    return TRUE
                return self._letters([str(symbols.name)] if isinstance(symbols, PropositionSymbols) else [*symbols])
            case Edge(which):
                return FIRST if which == "first" else LAST
            case And(args):
                return Entry.of("NAnd", listed(map(_lit, args)), operands=[arg.node for arg in args])
            case Xor(left, right):
                return Entry.of("NXor", literal(left, False), literal(right, False), operands=[left, right])
            case Step(op, arg):
                return Entry.of("NPrev" if op == "Y" else "NNext", _lit(arg), operands=[arg.node])
            case Reach(op, left, right, _):
                constructor, operands = "NSince" if op == "S" else "NUntil", [left.node, right.node]
                return Entry.of(constructor, _lit(left), _lit(right), operands=operands)
            case AtLeast(terms, constant):
                counts = [(factor, count.side, count.arg.node, count.arg.negated) for factor, count in terms]
                return _at_least(counts, constant)
            case Numeric():
                return self._numeric(node)
            case _:
                assert_never(node)

    def _numeric(self, node: Numeric) -> Entry:
        """Return a predicate of a count; of the position or the length, which are counts of `true`, as a condition."""
        count: CountOf = node.count
        of = LENGTH if count.side == "" else VALUE
        if count.arg == Lit(self.true) and count.side != "R":
            return Entry.of(
                "NHolds", condition(node.name, node.params, multiple(node.scale, of, node.offset), self.users)
            )
        text = condition(node.name, node.params, multiple(node.scale, VALUE, node.offset), self.users)
        operands = [count.arg.node]
        return Entry.of("NNumeric", text, count_text(count.side, *_parts(count.arg)), operands=operands)

    def _added(self, node: Sequence[Any]) -> Entry:
        """Return a node that a certificate adds."""
        match node:
            case ["letters", [], *symbols]:
                return TRUE if len(symbols) == len(self.names) else self._letters(symbols)
            case ["holds", [], name]:
                return self._letters([name])
            case ["true", []]:
                return TRUE
            case ["and", args]:
                return Entry.of("NAnd", listed(literal(*arg) for arg in args), operands=[arg for arg, _ in args])
            case ["predicate", _, "x % 2 == 0", [[1, "L"]], 0]:
                return EVEN
            case ["at least", [[arg, negated]], [[factor, side]], constant]:
                # "-#L[true] + 1 >= 0" is true at position 1 alone.
                if (arg, negated, factor, constant) == (self.true, False, -1, 1):
                    return FIRST if side == "L" else LAST
                return _at_least([(factor, side, arg, negated)], constant)
        raise no_instance(f"a hint mentions the node {list(node)}")


def _parts(lit: Lit) -> tuple[int, bool]:
    return lit.node, lit.negated


def _lit(lit: Lit) -> str:
    return literal(lit.node, lit.negated)


def _at_least(counts: Sequence[tuple[int, str, int, bool]], constant: int) -> Entry:
    """Return an inequality of counts, each with its factor, side and literal."""
    terms = listed(f"({integer(factor)}, {count_text(side, node, negated)})" for factor, side, node, negated in counts)
    operands = tuple(node for _, _, node, _ in counts)
    return Entry("NAtLeast", f"NAtLeast {terms} {integer(constant)}", operands, constant)
