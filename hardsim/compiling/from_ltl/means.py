"""The part that the regimes of means share (`layer-norm`, `rounded`): which formulas they have a construction for, and
the layer in which each node is written (ours).

Position 0 is the beginning of sequence, and every head takes a mean, of positions 0 to i (`#L`) or of all (`#`). A
comparison "sum of l #[f] + k >= 0" becomes the sign of a mean that is never 0; what makes a Boolean of it differs. A
level of nested comparisons is one layer. A conjunction with at most one operand of the newest layer, which is a
comparison or such a conjunction, is written in that layer as well.
"""

from __future__ import annotations

from fractions import Fraction

from hardsim.lang.core import (
    And,
    AtLeast,
    Core,
    Edge,
    Letters,
    Lit,
    Node,
    Reach,
    Xor,
)
from hardsim.lang.pretty import brief_formula
from hardsim.lang.valuations import everything, held_by
from hardsim.lazy_dataclass import dataclass
from hardsim.network.numbers import Rational

HALF = Fraction(1, 2)
BOS_MARK = "bos"
"""The coordinate that marks position 0."""
LONGEST = 60
"""Greatest number of characters of a subformula in the text of a head or a coordinate."""


@dataclass(frozen=True, slots=True)
class CountComparison:
    """`sum of coefficient * #[literal] + constant >= 0`, all counts of one side."""

    side: str
    terms: tuple[tuple[int, Lit], ...]
    constant: int


def comparison_of(core: Core, node: Node) -> CountComparison | None:
    """Return a node as a comparison of counts, and None if it is none: `O f` is #L[f] - 1 >= 0, and "first" is
    -#L[true] + 1 >= 0. A node with counts of several sides is none."""
    true = next((k for k, one in enumerate(core.nodes) if one == Letters(everything(core.alphabet))), None)
    match node:
        case AtLeast(terms, constant) if len({count.side for _, count in terms}) == 1:
            return CountComparison(terms[0][1].side, tuple((value, count.arg) for value, count in terms), constant)
        case Reach("S", left, right) if left == Lit(-1 if true is None else true):
            return CountComparison("L", ((1, right),), -1)
        case Edge("first") if true is not None:
            return CountComparison("L", ((-1, Lit(true)),), 1)
    return None


def is_true(core: Core, lit: Lit) -> bool:
    """Return True if a literal is the constant `true`, so that a count of it is a position or a length."""
    node = core.nodes[lit.node]
    return isinstance(node, Letters) and not lit.negated and node.symbols == everything(core.alphabet)


class MeanLowering:
    """One pass over the live nodes of a core, which chooses their layers.

    `ready` is the layer that writes a node (0: the embedding), `at_bos` its truth at position 0, and `fused` the
    operand in whose layer a conjunction is written. `constant` is the name of the coordinate that is true
    everywhere."""

    def __init__(self, core: Core, constant: str) -> None:
        self.core, self.constant = core, constant
        self.names: dict[int, str] = {}
        self.ready: dict[int, int] = {}
        self.at_bos: dict[int, bool] = {}
        self.comparisons: dict[int, CountComparison] = {}
        self.fused: dict[int, Lit] = {}
        every = next((k for k, node in enumerate(core.nodes) if node == Letters(everything(core.alphabet))), None)
        for number in dict.fromkeys([*([] if every is None else [every]), *core.live]):
            self._place(number, core.nodes[number])
        self.depth = max(self.ready.values(), default=0)
        self.written = [number for number in core.live if self.ready[number]]

    def _place(self, number: int, node: Node) -> None:
        """Choose the name, the layer and the truth at position 0 of a node."""
        core, layer, fused = self.core, 0, None
        match node:
            case Letters(symbols):
                assert isinstance(symbols, frozenset)
                every = symbols == everything(core.alphabet)
                self.names[number] = self.constant if every else self._letters_name(number, symbols)
                self.ready[number], self.at_bos[number] = 0, every
                return
            case And(args):
                self.at_bos[number] = all(self.at_bos[lit.node] != lit.negated for lit in args)
                layer = max(self.ready[lit.node] for lit in args)
                newest = [lit for lit in args if self.ready[lit.node] == layer]
                if len(newest) == 1 and (newest[0].node in self.comparisons or newest[0].node in self.fused):
                    fused = newest[0]
                else:
                    layer += 1
            case Xor(left, right):
                self.at_bos[number] = self.at_bos[left] != self.at_bos[right]
                layer = 1 + max(self.ready[left], self.ready[right])
            case _:
                found = comparison_of(core, node)
                assert found is not None
                self.comparisons[number] = found
                self.at_bos[number] = found.constant >= 0 and found.side == "L"
                layer = 1 + max((self.ready[lit.node] for _, lit in found.terms), default=0)
        if fused is not None:
            self.fused[number] = fused
        self.names[number], self.ready[number] = f"{type(node).__name__.lower()}{number}", layer

    def _letters_name(self, number: int, symbols: frozenset[str]) -> str:
        """Return the name of a set of symbols: the proposition that holds in them, or a list of them if it is short."""
        text = held_by(symbols, self.core.alphabet) or " ".join(sorted(symbols))
        return f"[{text}]" if len(text) <= LONGEST else f"letters{number}"

    def weight_at_bos(self, compared: CountComparison) -> Rational:
        """Return k + 1/2 - sum of l t(f), the number that a head adds at position 0: there f has the value t(f), which
        is no count."""
        counted = sum(value * (self.at_bos[lit.node] != lit.negated) for value, lit in compared.terms)
        return compared.constant + HALF - counted

    def text(self, number: int) -> str:
        """Return a node as the user wrote it, or its name."""
        mention = self.core.mentions.get(number)
        if mention is None or mention.node is None:
            return self.names[number]
        return brief_formula(mention.node, LONGEST)

    def meanings(self) -> dict[str, str]:
        """Return what the coordinates of nodes hold."""
        found = {self.constant: "true", BOS_MARK: "position 0"}
        for number, name in self.names.items():
            mention = self.core.mentions.get(number)
            if mention is not None and mention.node is not None:
                found.setdefault(name, brief_formula(mention.node, LONGEST))
        return found
