"""From the core to a hard-attention program: every node at the earliest layer where its operands are ready.

Attention in layer l reads what the layers before it wrote; the FFN of layer l also reads that layer's heads. So a
node is written in layer 1 + (the last layer among its operands), `Y` and `X` not before layer 2 (they need a
marker). Layers whose nodes are all Boolean combinations have no heads: they are the attention-free layers of the
theory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from hardsim.lang.core import (
    And,
    AtLeast,
    Core,
    CountOf,
    Edge,
    Letters,
    Lit,
    Node,
    Numeric,
    Reach,
    Step,
    Xor,
    operands,
)
from hardsim.spec import operators
from hardsim.spec.columns import PositionFunction, UserPredicate
from hardsim.spec.ir import ONE, Affine, Clip, Encoding, HardProgram, Head, Letter, ProgramLayer
from hardsim.spec.lower_counts import CountLowering
from hardsim.spec.operators import Block
from hardsim.spec.refuse import Method, refuse
from hardsim.spec.regimes import Regime, expression

ACCEPT = "accept"
"""The output coordinate where the root is a negation (otherwise the root's own coordinate is the output)."""


def lower(
    core: Core,
    regime: Regime,
    single_head: bool = False,
    counting: Method | None = None,
    users: Mapping[str, tuple[str, UserPredicate]] | None = None,
) -> HardProgram:
    """The hard-attention program of a core formula in one regime.

    `single_head` gives each head a layer of its own, as in the paper, instead of sharing layers between independent
    heads.

    `counting` says how comparisons of counts are decided: by look-up (the default where the regime has it) or by
    the sign test. `users` holds text and meaning of the user's predicates.

    Raises:
        Unsupported: for what the regime has no construction for, such as looking ahead in a causal one.
    """
    method: Method = counting or ("lookup" if regime.look_up[0] else "sign")
    refuse(core, regime, method)
    program = _Lowering(core, regime, method, users or {}).program()
    if single_head:
        program = replace(program, layers=tuple(part for layer in program.layers for part in split(layer)))
    return program


def node_coordinates(
    core: Core,
    regime: Regime,
    counting: Method | None = None,
    users: Mapping[str, tuple[str, UserPredicate]] | None = None,
) -> dict[int, str]:
    """The coordinate that holds each live node of a core, in the program that `lower` makes of it.

    Raises:
        Unsupported: as `lower`.
    """
    method: Method = counting or ("lookup" if regime.look_up[0] else "sign")
    refuse(core, regime, method)
    lowering = _Lowering(core, regime, method, users or {})
    lowering.program()
    return lowering.names


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
    method: Method
    users: Mapping[str, tuple[str, UserPredicate]]
    names: dict[int, str] = field(default_factory=dict)
    ready: dict[int, int] = field(default_factory=dict)
    letters: dict[str, Letter] = field(default_factory=dict)
    placed: dict[str, tuple[int, Block]] = field(default_factory=dict)
    wanted: set[str] = field(default_factory=set)
    meanings: dict[str, str] = field(default_factory=dict)
    encodings: dict[str, Encoding] = field(default_factory=dict)
    sums: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        weights: dict[CountOf, int] = {}
        for number in self.core.live:
            node = self.core.nodes[number]
            if isinstance(node, AtLeast):
                size = sum(abs(value) for value, count in node.terms if not self.is_true(count.arg))
                weights.update({count: max(size, weights.get(count, 0)) for _, count in node.terms})
        self.counts = CountLowering(self, self.method, weights, self.users)
        self.encodings.update({encoding.name: encoding for encoding in self.regime.encodings})

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
            encodings=tuple(self.encodings.values()),
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
                clips.extend(Clip(name, pre, counts=name in self.sums) for pre in block.clips)
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
            self.names[number], self.ready[number] = self.marker(node.which), 1
            return
        if isinstance(node, AtLeast | Numeric):
            self._counting(number, node)
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
                return operators.conjunction([self.form(arg) for arg in args])
            case Xor(left, right):
                return operators.exclusive(self.form(Lit(left)), self.form(Lit(right)))
            case Step(op, arg):
                marker = self.marker("first" if op == "Y" else "last")
                self.wanted.add(marker)
                return operators.step(op, self.form(arg), marker, name, self.regime)
            case Reach(op, _, right, where):
                return operators.reach(op, self.form(where), self.form(right), name, self.regime)
            case _:
                raise AssertionError(f"{node} is placed without a block")

    def form(self, lit: Lit) -> Affine:
        """A literal as a linear form over coordinates."""
        name = self.names[lit.node]
        self.wanted.add(name)
        form = Affine.coordinate(name)
        return Affine.constant(1) - form if lit.negated else form

    def marker(self, which: Literal["first", "last"]) -> str:
        if which not in self.placed:
            self.placed[which] = (1, operators.edge(which, which))
        return which

    def _counting(self, number: int, node: AtLeast | Numeric) -> None:
        """Place a comparison or a predicate; a predicate of the position is a column of the encoding."""
        name = f"{'count' if isinstance(node, AtLeast) else node.name.lower()}{number}"
        column = self.counts.column(node) if isinstance(node, Numeric) else None
        if column is not None and number != self.core.root.node:
            self.names[number], self.ready[number] = column, 0
            return
        if column is not None:
            layer, block = 1, Block((), (Affine.coordinate(column),))
        elif isinstance(node, Numeric):
            layer, block = self.counts.predicate(node, name)
        else:
            layer, block, summed = self.counts.comparison(node, name)
            self.sums |= {name} if summed else set()
        self.names[number], self.ready[number] = name, layer
        self.put(name, layer, block, self._counting_meaning(node))

    def _counting_meaning(self, node: AtLeast | Numeric) -> str:
        def count(of: CountOf) -> str:
            if self.is_true(of.arg):
                return {"L": "pos", "R": "(len - pos + 1)", "": "len"}[of.side]
            name = self.names[of.arg.node]
            if name.startswith("[") and not of.arg.negated:
                return f"#{of.side}{name}"
            return f"#{of.side}[{'!' if of.arg.negated else ''}{name}]"

        if isinstance(node, AtLeast):
            return f"{_sum([(value, count(of)) for value, of in node.terms], node.constant)} >= 0"
        inner = "".join(f"{param}, " for param in node.params)
        return f"{node.name}({inner}{_sum([(node.scale, count(node.count))], node.offset)})"

    def put(self, name: str, layer: int, block: Block, meaning: str) -> str:
        """Place a block, once."""
        if name not in self.placed:
            self.placed[name] = (layer, block)
            self.meanings[name] = meaning
        return name

    def layer_of(self, lit: Lit) -> int:
        """The layer that writes a literal's coordinate."""
        return self.ready[lit.node]

    def read(self, name: str) -> Affine:
        """A coordinate, which is then wanted."""
        self.wanted.add(name)
        return Affine.coordinate(name)

    def encode(self, name: str, value: PositionFunction) -> str:
        """A coordinate of the position encoding."""
        self.encodings.setdefault(name, Encoding(name, value))
        return name

    def is_true(self, lit: Lit) -> bool:
        """Whether a literal is the constant `true`."""
        node = self.core.nodes[lit.node]
        return isinstance(node, Letters) and not lit.negated and node.symbols == frozenset(self.core.alphabet)

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


def _sum(terms: list[tuple[int, str]], constant: int) -> str:
    """A linear combination as text."""
    parts = [
        f"{'-' if value < 0 else '+'} {'' if abs(value) == 1 else f'{abs(value)} '}{name}" for value, name in terms
    ]
    if constant:
        parts.append(f"{'-' if constant < 0 else '+'} {abs(constant)}")
    return " ".join(parts).removeprefix("+ ")
