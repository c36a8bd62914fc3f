"""From the core to a hard-attention program: every node at the earliest layer where its operands are ready.

Attention in layer l reads what the layers before it wrote; the FFN of layer l also reads that layer's heads. So a
node is written in layer 1 + (the last layer among its operands), `Y` and `X` not before layer 2 (they need a
marker). Layers whose nodes are all Boolean combinations have no heads: they are the attention-free layers of the
theory.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from hardsim.errors import Span, Unsupported
from hardsim.lang.core import And, Core, Edge, Letters, Lit, Mention, Node, Reach, Step, Xor, operands
from hardsim.spec import operators
from hardsim.spec.ir import ONE, Affine, Clip, HardProgram, Head, Letter, ProgramLayer
from hardsim.spec.operators import Block
from hardsim.spec.regimes import PROVEN, REGIMES, Regime, expression

ACCEPT = "accept"
"""The output coordinate where the root is a negation (otherwise the root's own coordinate is the output)."""


def lower(core: Core, regime: Regime, single_head: bool = False) -> HardProgram:
    """The hard-attention program of a core formula in one regime.

    `single_head` gives each head a layer of its own, as in the paper, instead of sharing layers between independent
    heads.

    Raises:
        Unsupported: if the formula looks ahead and the regime is causal.
    """
    refuse(core, regime)
    program = _Lowering(core, regime).program()
    if single_head:
        program = replace(program, layers=tuple(part for layer in program.layers for part in split(layer)))
    return program


def refuse(core: Core, regime: Regime) -> None:
    """Raise Unsupported, at the user's own operator, for what a causal regime has no construction for."""
    for number in core.live if regime.causal else ():
        match core.nodes[number]:
            case Edge("last") | Step("X") | Reach("U"):
                whole = Span(0, len(core.source.text))
                mention = core.mentions.get(number, Mention("a future operator", whole))
                able = ", ".join(name for name in PROVEN if not REGIMES[name].causal)
                raise Unsupported(
                    core.source,
                    mention.span,
                    f"'{mention.operator}' looks ahead, but regime '{regime.name}' is future-masked: "
                    "a position sees only itself and those before it",
                    hint=f"The regimes that can do it: {able}. Past operators (Y WY S T O H) work in every regime.",
                )
            case _:
                pass


def split(layer: ProgramLayer) -> list[ProgramLayer]:
    """The same layer with one head per layer; the clips stay with the last head, when all outputs are there."""
    if len(layer.heads) < 2:
        return [layer]
    return [*(ProgramLayer((head,)) for head in layer.heads[:-1]), replace(layer, heads=layer.heads[-1:])]


@dataclass
class _Lowering:
    """The state of one pass over the live nodes of a core.

    `names` and `ready` say which coordinate holds a node and which layer writes it (0: the embedding), `placed`
    holds the block that writes each coordinate, and `wanted` the coordinates that something reads.
    """

    core: Core
    regime: Regime
    names: dict[int, str] = field(default_factory=dict)
    ready: dict[int, int] = field(default_factory=dict)
    letters: dict[str, Letter] = field(default_factory=dict)
    placed: dict[str, tuple[int, Block]] = field(default_factory=dict)
    wanted: set[str] = field(default_factory=set)
    meanings: dict[str, str] = field(default_factory=dict)

    def program(self) -> HardProgram:
        for number in self.core.live:
            self._node(number)
        root = self.core.root
        output = self.names[root.node]
        node = self.core.nodes[root.node]
        if root.negated and isinstance(node, Letters):
            # The complement is a column of the embedding too (for `false`, one that no symbol sets to 1).
            output = self._letter(frozenset(self.core.alphabet) - node.symbols)
        elif root.negated:
            output = ACCEPT
        else:
            self.wanted.add(output)
        depth = max((index for index, _ in self.placed.values()), default=0)
        return HardProgram(
            alphabet=self.core.alphabet,
            regime=self.regime.name,
            temperature=expression(self.regime.temperature),
            letters=tuple(self.letters.values()),
            encodings=self.regime.encodings,
            layers=tuple(self._layer(index, output) for index in range(1, depth + 1)),
            output=output,
            meanings=self.meanings,
        )

    def _layer(self, index: int, output: str) -> ProgramLayer:
        heads: list[Head] = []
        clips: list[Clip] = []
        ones: list[str] = []
        for name, (layer, block) in self.placed.items():
            if layer != index:
                continue
            heads.extend(block.heads)
            if name in self.wanted:
                clips.extend(Clip(name, pre) for pre in block.clips)
            if output == ACCEPT and name == self.names[self.core.root.node]:
                clips.extend(Clip(ACCEPT, pre, weight=-1) for pre in block.clips)
                ones.append(ACCEPT)
                self.meanings[ACCEPT] = f"not {name}"
        return ProgramLayer(tuple(heads), tuple(clips), tuple(ones))

    def _node(self, number: int) -> None:
        """Place one node: a column of the embedding, or a block of heads and clips in its layer."""
        node = self.core.nodes[number]
        if isinstance(node, Letters):
            self.names[number], self.ready[number] = self._letter(node.symbols), 0
            return
        if isinstance(node, Edge):
            self.names[number], self.ready[number] = self._marker(node.which), 1
            return
        floor = 1 if isinstance(node, Step) else 0
        layer = 1 + max([floor, *(self.ready[operand] for operand in operands(node))])
        prefix = node.op if isinstance(node, Step | Reach) else type(node).__name__.lower()
        name = f"{prefix}{number}"
        self.names[number], self.ready[number] = name, layer
        self.placed[name] = (layer, self._block(node, name))
        self.meanings[name] = self._meaning(node)

    def _block(self, node: Node, name: str) -> Block:
        match node:
            case And(args):
                return operators.conjunction([self._form(arg) for arg in args])
            case Xor(left, right):
                return operators.exclusive(self._form(Lit(left)), self._form(Lit(right)))
            case Step(op, arg):
                marker = self._marker("first" if op == "Y" else "last")
                self.wanted.add(marker)
                return operators.step(op, self._form(arg), marker, name, self.regime)
            case Reach(op, _, right, where):
                return operators.reach(op, self._form(where), self._form(right), name, self.regime)
            case _:
                raise AssertionError(f"{node} is placed without a block")

    def _form(self, lit: Lit) -> Affine:
        """A literal as a linear form over coordinates."""
        name = self.names[lit.node]
        self.wanted.add(name)
        form = Affine.coordinate(name)
        return Affine.constant(1) - form if lit.negated else form

    def _marker(self, which: Literal["first", "last"]) -> str:
        if which not in self.placed:
            self.placed[which] = (1, operators.edge(which, which))
        return which

    def _letter(self, symbols: frozenset[str]) -> str:
        """The embedding coordinate that is 1 on these symbols; all of them is the constant coordinate."""
        if symbols == frozenset(self.core.alphabet):
            return ONE
        name = f"[{' '.join(symbol for symbol in self.core.alphabet if symbol in symbols)}]"
        self.letters[name] = Letter(name, symbols)
        return name

    def _meaning(self, node: Node) -> str:
        """One operator over the names of its operands, for readers."""

        def text(lit: Lit) -> str:
            return f"!{self.names[lit.node]}" if lit.negated else self.names[lit.node]

        match node:
            case And(args):
                return " & ".join(text(arg) for arg in args)
            case Xor(left, right):
                return f"{text(Lit(left))} ^ {text(Lit(right))}"
            case Step(op, arg):
                return f"{op} {text(arg)}"
            case Reach(op, left, right, _):
                return f"{text(left)} {op} {text(right)}" if left.node in self.names else f"{op} {text(right)}"
            case _:
                raise AssertionError(f"{node} has no operands")
