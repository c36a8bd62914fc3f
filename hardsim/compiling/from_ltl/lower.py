"""From the core to a hard-attention program: every node at the earliest layer where its operands are ready.

Attention in layer l reads what the layers before it wrote; the FFN of layer l also reads that layer's heads. So a
node is written in layer 1 + (the last layer among its operands), `Y` and `X` not before layer 2 (they need a
marker). Layers whose nodes are all Boolean combinations have no heads: they are the attention-free layers of the
theory. Per count: its mean c/m a layer after the Boolean, the Boolean "some" beside it, 1/m in layer 2, the look-up
after both. Positions, lengths and predicates of them are columns of the position encoding and need no head. What a
regime has no construction for is refused at the user's own operator.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, assert_never

from hardsim.compiling.from_ltl import operators
from hardsim.compiling.from_ltl.operators import HALF, SIZES, CountForms, OperatorBlock, Side
from hardsim.errors import Span, Unsupported
from hardsim.lang import ast
from hardsim.lang.core import (
    And,
    AtLeast,
    Core,
    CountOf,
    Edge,
    Letters,
    Lit,
    Mention,
    Node,
    Numeric,
    Reach,
    Step,
    Xor,
    operands,
)
from hardsim.lang.pretty import brief_formula
from hardsim.lang.valuations import Holding, Symbols, everything
from hardsim.network.columns import PositionFunction, PredicateColumn
from hardsim.network.numbers import ONE
from hardsim.network.store import Users
from hardsim.program.model import Affine, Encoding, Head, Kind, Letter, Program, ProgramLayer, Unit
from hardsim.program.regimes import PROVEN, REGIMES, Regime, expression

Method = Literal["lookup", "sign"]


def refuse(core: Core, regime: Regime, method: Method) -> None:
    """Raise Unsupported for the first node, in the order of the core, that a regime cannot compute."""
    for number in core.live:
        refusal = _refusal(core, core.nodes[number], regime, method)
        if refusal is not None:
            mention = core.mentions.get(number, Mention("this operator", Span(0, len(core.source.text))))
            message, hint = refusal
            raise Unsupported(core.source, mention.span, f"'{mention.operator}' {message}", hint=hint)


def _refusal(core: Core, node: Node, regime: Regime, method: Method) -> tuple[str, str] | None:
    """Why a regime cannot compute a node, and what helps."""
    able = [REGIMES[name] for name in PROVEN]
    look_up = ", ".join(other.name for other in able if other.look_up[0])
    if regime.causal and _looks_ahead(node):
        return (
            f"looks ahead, but regime '{regime.name}' is future-masked: a position sees only itself and those before "
            "it",
            f"The regimes that can do it: {', '.join(other.name for other in able if not other.causal)}. Past "
            "operators (Y WY S T O H #L pos) work in every regime.",
        )
    if isinstance(node, Numeric) and not regime.look_up[0] and not _is_true(core, node.count.arg):
        return (
            f"asks for a predicate of a count, which is looked up, and regime '{regime.name}' has no look-up",
            f"The regimes that can do it: {look_up}.",
        )
    if not isinstance(node, AtLeast) or all(_is_true(core, count.arg) for _, count in node.terms):
        return None
    if method == "lookup" and not regime.look_up[0]:
        return (
            f"compares counts by look-up, which regime '{regime.name}' does not have",
            f"Use --counting sign, or one of the regimes: {look_up}.",
        )
    sides = sorted({count.side for _, count in node.terms})
    if method == "sign" and len(sides) > 1:
        fitting = [other.name for other in able if other.look_up[0] and not (_looks_ahead(node) and other.causal)]
        return (
            f"mixes counts of the kinds {' and '.join(f'#{side}' for side in sides)} (pos is a #L, len a #), which the "
            "sign test cannot",
            f"Use --counting lookup, in one of the regimes: {', '.join(fitting)}.",
        )
    return None


def _looks_ahead(node: Node) -> bool:
    match node:
        case Letters() | And() | Xor():
            return False
        case Edge(which):
            return which == "last"
        case Step(op):
            return op == "X"
        case Reach(op):
            return op == "U"
        case AtLeast(terms):
            return any(count.side != "L" for _, count in terms)
        case Numeric(_, _, _, count):
            return count.side != "L"
        case _:
            assert_never(node)


def _is_true(core: Core, lit: Lit) -> bool:
    """Whether a literal is the constant `true`, so that a count of it is a position or a length."""
    node = core.nodes[lit.node]
    return isinstance(node, Letters) and not lit.negated and node.symbols == everything(core.alphabet)


LONGEST_NAME, LONGEST_SOUGHT = 60, 40
"""Characters of a subformula that names a head, and of what the head looks for."""
OF_THE_FIRST = "the formula at the first position, for the last one to read"
"""What the operator computes that no user wrote: it is there where a formula is read at the first position."""
ACCEPT = "accept"
"""The output coordinate where the root is a negation (otherwise the root's own coordinate is the output)."""


def lower(
    core: Core, regime: Regime, single_head: bool = False, counting: Method | None = None, users: Users | None = None
) -> Program:
    """The hard-attention program of a core formula in one regime.

    `single_head` gives each head a layer of its own, as in the paper; `counting` says how comparisons of counts are
    decided: by look-up (the default where the regime has it) or by the sign test.

    Raises:
        Unsupported: for what the regime has no construction for, such as looking ahead in a causal one.
    """
    program = _Lowering(core, regime, counting, users).program()
    if not single_head:
        return program
    layers: list[ProgramLayer] = []
    for layer in program.layers:
        # The hidden units stay with the last head, when all outputs are there.
        layers += [ProgramLayer((head,)) for head in layer.heads[:-1]]
        layers.append(replace(layer, heads=layer.heads[-1:]))
    return replace(program, layers=tuple(layers))


class _Lowering:
    """One pass over the live nodes of a core, after which every node is placed.

    `names` and `ready` say which coordinate holds a node and which layer writes it (0: the embedding), `placed` which
    block writes a coordinate, in which layer; `wanted` are the coordinates that something reads, `sums` those of
    comparisons of looked-up counts, `weights` the largest sum of |coefficients| of a comparison that reads a count.
    """

    def __init__(self, core: Core, regime: Regime, counting: Method | None, users: Users | None) -> None:
        self.core = core
        self.regime = regime
        self.method: Method = counting or ("lookup" if regime.look_up[0] else "sign")
        self.users = users or {}
        self.names: dict[int, str] = {}
        self.ready: dict[int, int] = {}
        self.letters: dict[str, Letter] = {}
        self.encodings = {encoding.name: encoding for encoding in regime.encodings}
        self.placed: dict[str, tuple[int, OperatorBlock]] = {}
        self.meanings: dict[str, str] = {}
        self.wanted: set[str] = set()
        self.sums: set[str] = set()
        self.weights: dict[CountOf, int] = {}
        refuse(core, regime, self.method)
        for number in core.live:
            node = core.nodes[number]
            if isinstance(node, AtLeast):
                size = sum(abs(value) for value, count in node.terms if not _is_true(core, count.arg))
                self.weights |= {count: max(size, self.weights.get(count, 0)) for _, count in node.terms}
        for number in core.live:
            self.names[number], self.ready[number] = self.place(number, core.nodes[number])

    def program(self) -> Program:
        """The layers of all blocks."""
        root = self.core.root
        output, node = self.names[root.node], self.core.nodes[root.node]
        if root.negated and (complement := self._complement(node)) is not None:
            # The complement is a column of the embedding too (for `false`, one that no symbol sets to 1).
            output = self._letter(complement)
        elif root.negated:
            output = ACCEPT
        else:
            self.wanted.add(output)
        depth = max((index for index, _ in self.placed.values()), default=0)
        return Program(
            alphabet=self.core.alphabet,
            regime=self.regime.name,
            letters=tuple(self.letters.values()),
            encodings=tuple(self.encodings.values()),
            layers=tuple(self._layer(index, output) for index in range(1, depth + 1)),
            output=output,
            meanings=self.meanings,
        )

    def _layer(self, index: int, output: str) -> ProgramLayer:
        heads: list[Head] = []
        units: list[Unit] = []
        biases: list[tuple[str, int]] = []
        for name, (layer, block) in self.placed.items():
            if layer != index:
                continue
            heads.extend(block.heads)
            if name in self.wanted:
                units.extend(Unit(((name, 1),), pre, counts=name in self.sums) for pre in block.clips)
            if output == ACCEPT and name == self.names[self.core.root.node]:
                units.extend(Unit(((ACCEPT, -1),), pre) for pre in block.clips)
                biases.append((ACCEPT, 1))
                self.meanings[ACCEPT] = f"not {name}"
        return ProgramLayer(tuple(heads), tuple(units), tuple(biases))

    def place(self, number: int, node: Node) -> tuple[str, int]:
        """Place one node: a column of the embedding or the encoding, or a block of heads and clips in the first layer
        after its operands; its coordinate and layer."""
        layer = 1 + max((self.ready[operand] for operand in operands(node)), default=0)
        name = f"{type(node).__name__.lower()}{number}"
        match node:
            case Letters(Holding(name=str())) if self.core.root == Lit(number, True):
                # The complement of a proposition is no coordinate of the embedding: a clip writes it.
                symbols = node.symbols
                block = OperatorBlock((), (self.read(self._letter(symbols)),))
            case Letters(symbols):
                return self._letter(symbols), 0
            case Edge(which):
                return self.marker(which), 1
            case And(args):
                block = operators.conjunction([self.form(arg) for arg in args])
            case Xor(left, right):
                block = operators.exclusive(self.form(Lit(left)), self.form(Lit(right)))
            case Step(op, arg):
                name, layer = f"{op}{number}", max(layer, 2)
                marker = self.marker("first" if op == "Y" else "last")
                self.wanted.add(marker)
                block = operators.step(op, self.form(arg), marker, name, self.regime, self._named(number))
            case Reach(op, _, right, where):
                name = f"{op}{number}"
                block = operators.reach(
                    op, self.form(where), self.form(right), name, self.regime, self._reaching(number)
                )
            case AtLeast():
                name = f"count{number}"
                layer, block = self._comparison(number, node, name)
            case Numeric(predicate):
                name, column = f"{predicate.lower()}{number}", self._predicate_column(node)
                if column is not None and number != self.core.root.node:
                    return column, 0
                if column is None:
                    layer, block = self._looked_up(number, node, name)
                else:
                    layer, block = 1, OperatorBlock((), (Affine.coordinate(column),))
            case _:
                assert_never(node)
        return self.put(name, layer, block, self._meaning(node)), layer

    def form(self, lit: Lit) -> Affine:
        """A literal as a linear form over coordinates."""
        form = self.read(self.names[lit.node])
        return Affine.constant(1) - form if lit.negated else form

    def read(self, name: str) -> Affine:
        """A coordinate, which is then wanted."""
        self.wanted.add(name)
        return Affine.coordinate(name)

    def put(self, name: str, layer: int, block: OperatorBlock, meaning: str) -> str:
        """Place a block, once."""
        if name not in self.placed:
            self.placed[name] = (layer, block)
            self.meanings[name] = meaning
        return name

    def marker(self, which: Literal["first", "last"]) -> str:
        """The Boolean of the first or last position, in layer 1."""
        if which not in self.placed:
            self.placed[which] = (1, operators.edge(which))
        return which

    def encode(self, text: str, value: PositionFunction | None = None) -> str:
        """A coordinate of the position encoding, by default of the expression that it is called."""
        if text not in self.encodings:
            self.encodings[text] = Encoding(text, value or expression(text))
        return text

    def _complement(self, node: Node) -> frozenset[str] | None:
        """The symbols at which a node is false that is a function of the symbol alone, if they can be listed."""
        if not isinstance(node, Letters) or isinstance(node.symbols, Holding):
            true = isinstance(node, Letters) and node.symbols == everything(self.core.alphabet)
            return frozenset() if true else None
        return frozenset(self.core.alphabet) - node.symbols

    def _letter(self, symbols: Symbols) -> str:
        """The embedding coordinate that is 1 on these symbols; all of them is the constant coordinate."""
        if symbols == everything(self.core.alphabet):
            return ONE
        name = self._bracket(symbols)
        self.letters[name] = Letter(name, symbols)
        return name

    def _bracket(self, symbols: Symbols) -> str:
        if isinstance(symbols, Holding):
            return f"[{symbols.name or ''}]"
        if not symbols:
            return "[]"
        return f"[{' '.join(symbol for symbol in self.core.alphabet if symbol in symbols)}]"

    # ---- for readers ----

    def _named(self, what: int | CountOf) -> str:
        """What a node, or a count, is in the user's own words."""
        if isinstance(what, CountOf):
            node = self.core.counts.get(what)
            return self._title(what) if node is None else brief_formula(node, LONGEST_NAME)
        mention = self.core.mentions.get(what)
        if mention is None or mention.node is None:
            return OF_THE_FIRST
        return brief_formula(mention.node, LONGEST_NAME)

    def _reaching(self, number: int) -> str:
        """What a head computes that reads a since or an until, or what is made of these."""
        mention = self.core.mentions.get(number)
        if mention is None or mention.node is None:
            return OF_THE_FIRST
        end, sought = operators.END["left" if mention.operator in "U R W M F G" else "right"], deciding(mention.node)
        at = "" if sought is None else f", read at the {end} position with {brief_formula(sought, LONGEST_SOUGHT)}"
        return brief_formula(mention.node, LONGEST_NAME) + at

    def _sought(self, lit: Lit) -> str:
        """What is counted, in the user's own words where a count is mentioned."""
        for count, node in self.core.counts.items():
            if count.arg == lit and isinstance(node, ast.Count):
                return brief_formula(node.arg, LONGEST_SOUGHT)
        return self._text(lit)

    def _text(self, lit: Lit) -> str:
        """A literal by the coordinate of its node, or where none holds it (the left side of since) by what it means."""
        if _is_true(self.core, lit) or _is_true(self.core, ~lit):
            return "true" if _is_true(self.core, lit) else "false"
        node = self.core.nodes[lit.node]
        named = self.names.get(lit.node) or self._meaning(node)
        single = lit.node in self.names or isinstance(node, Letters | Edge | Numeric)
        return ("!" if lit.negated else "") + (named if single else f"({named})")

    def _meaning(self, node: Node) -> str:
        """What a node means, by the coordinates of its operands."""
        text = self._text
        match node:
            case Letters(symbols):
                return self._bracket(symbols)
            case Edge(which):
                return which
            case And(args):
                return " & ".join(map(text, args))
            case Xor(left, right):
                return f"{text(Lit(left))} ^ {text(Lit(right))}"
            case Step(op, arg):
                return f"{op} {text(arg)}"
            case Reach(op, held, reached):
                return f"{text(held)} {op} {text(reached)}"
            case AtLeast(terms, constant):
                return f"{_sum([(value, self._counted(count)) for value, count in terms], constant)} >= 0"
            case Numeric(predicate, params):
                inner = "".join(f"{param}, " for param in params)
                return f"{predicate}({inner}{_sum([(node.scale, self._counted(node.count))], node.offset)})"
            case _:
                assert_never(node)

    def _counted(self, count: CountOf) -> str:
        if _is_true(self.core, count.arg):
            return {"L": "pos", "R": "(len - pos + 1)", "": "len"}[count.side]
        return _hashed(count.side, self._text(count.arg))

    def _title(self, count: CountOf) -> str:
        form = self.form(count.arg)
        if len(form.terms) > 1:
            return f"#{count.side}[{form}]"
        return _hashed(count.side, form.terms[0][0])

    # ---- comparisons ----

    def _comparison(self, number: int, node: AtLeast, name: str) -> tuple[int, OperatorBlock]:
        if self.method == "sign" and not all(_is_true(self.core, count.arg) for _, count in node.terms):
            return self._sign(number, node, name)
        total = Affine.constant(node.constant)
        layer = 1
        for coefficient, count in node.terms:
            form, ready = self._value(count)
            total += form.scaled(coefficient)
            layer = max(layer, ready)
        if layer > 1:
            self.sums.add(name)
        return layer, OperatorBlock((), (operators.compare(total),))

    def _value(self, count: CountOf) -> tuple[Affine, int]:
        """A count as a linear form, with the layer in which it is there: exact for positions and lengths (pos,
        n - i + 1 or len), else looked up."""
        if _is_true(self.core, count.arg):
            if count.side != "R":
                return Affine.coordinate(self.encode("i" if count.side == "L" else "n")), 0
            return Affine.of([(self.encode("n"), 1), (self.encode("i"), -1), (ONE, 1)]), 0
        forms, ready = self._forms(count)
        out = f"{self._title(count)}.read"
        position, weight = Affine.coordinate(self.encode("i")), max(1, self.weights.get(count, 1))
        self._keys()
        head = operators.look_up(forms, position, out, self.regime, weight, Kind.LOOKUP, self._named(count))
        self.put(out, ready, OperatorBlock((head,), ()), self._title(count))
        return self.read(out) + self.read(forms.some) - Affine.constant(1), ready

    def _keys(self) -> None:
        """The key columns of look-ups."""
        for text in self.regime.look_up:
            self.encode(text)

    def _forms(self, count: CountOf) -> tuple[CountForms, int]:
        """The mean, the inverse and "some" of a count, with the layer where a head can use them."""
        side, title = count.side, self._title(count)
        mean, start = self._mean(count)
        some = f"{title}.some"
        sought = self._sought(count.arg)
        purpose = f"{self._named(count)} > 0, read at the {'first' if side == 'R' else 'last'} position with {sought}"
        block = operators.some(side, self.form(count.arg), some, self.regime, purpose)
        self.put(some, start, block, f"{title} > 0")
        return CountForms(side, mean, self._inverse(side), some), max(start, 2) + 1

    def _mean(self, count: CountOf) -> tuple[str, int]:
        """The coordinate that holds c/m, and the layer that writes it."""
        side, title, value = count.side, self._title(count), self.form(count.arg)
        start = self.ready[count.arg.node] + 1
        mean = f"{title}.mean"
        head = operators.mean(side, value, mean, f"{self._named(count)} / {SIZES[side]}")
        return self.put(mean, start, OperatorBlock((head,), ()), f"{title} / {SIZES[side]}"), start

    def _inverse(self, side: Side) -> str:
        """1/m, by uniform attention over a marker (layer 2)."""
        name, marker = f"1/{SIZES[side]}.mean", self.marker("last" if side == "R" else "first")
        head = operators.mean(
            side, self.read(marker), name, f"1 / {SIZES[side]}, the mean of the mark of the {marker} position"
        )
        return self.put(name, 2, OperatorBlock((head,), ()), f"1/{SIZES[side]}")

    def _sign(self, number: int, node: AtLeast, name: str) -> tuple[int, OperatorBlock]:
        """The sign test."""
        (side,) = {count.side for _, count in node.terms}
        inverse = self._inverse(side)
        means = Affine()
        ready = 2
        for coefficient, count in node.terms:
            if _is_true(self.core, count.arg):
                means += Affine.constant(coefficient)
                continue
            mean, start = self._mean(count)
            means += Affine.coordinate(mean).scaled(coefficient)
            ready = max(ready, start)
        y = means + Affine.coordinate(inverse).scaled(node.constant + HALF)
        size = sum(abs(coefficient) for coefficient, _ in node.terms) + abs(node.constant)
        # The Boolean "only one position is visible".
        edges = [self.read(self.marker(which)) for which in EDGES[side]]
        alone = edges[0] if side else self.read(self.put("single", 2, operators.conjunction(edges), "first & last"))
        self.encode(self.regime.sign_key)
        exact = means + Affine.constant(node.constant)
        return ready + 1, operators.sign(side, y, exact, size, alone, name, self.regime, self._named(number))

    # ---- predicates ----

    def _predicate_column(self, node: Numeric) -> str | None:
        """The encoding coordinate of a predicate of positions or lengths; None if it is of a real count."""
        if _is_true(self.core, ~node.count.arg):
            return self._predicate(node, 0, 0, node.offset)  # a count of `false` is 0
        if not _is_true(self.core, node.count.arg):
            return None
        of_i, of_n, extra = {"L": (1, 0, 0), "R": (-1, 1, 1), "": (0, 1, 0)}[node.count.side]
        return self._predicate(node, node.scale * of_i, node.scale * of_n, node.offset + node.scale * extra)

    def _predicate(self, node: Numeric, of_i: int, of_n: int, offset: int) -> str:
        definition, user = self.users.get(node.name, ("", None))
        column = PredicateColumn(node.name, node.params, of_i, of_n, offset, definition, user)
        return self.encode(str(column), column)

    def _looked_up(self, number: int, node: Numeric, name: str) -> tuple[int, OperatorBlock]:
        """A predicate of a count, looked up in its column."""
        forms, ready = self._forms(node.count)
        value = Affine.coordinate(self._predicate(node, node.scale, 0, node.offset))
        at_zero = Affine.coordinate(self._predicate(node, 0, 0, node.offset))
        self._keys()
        head = operators.look_up(forms, value, f"{name}.read", self.regime, 1, Kind.TABLE, self._named(number))
        return ready, OperatorBlock((head,), operators.table(head.out, self.read(forms.some), at_zero))


def deciding(node: ast.Node) -> ast.Node | None:
    """What holds at the position that decides a temporal operator; None for any other node.

    Of `a S b` and `a U b` that is `!a | b`; the others are defined by these (see `lang.desugar`).
    """
    match node:
        case ast.Unary("F" | "O", arg):
            return arg
        case ast.Unary("G" | "H", arg):
            return _not(arg)
        case ast.Binary("S" | "U" | "W", left, right):
            return _or(_not(left), right)
        case ast.Binary("T" | "R", left, right):
            return _or(left, _not(right))
        case ast.Binary("M", left, right):
            return _or(_not(right), left)
    return None


def _not(node: ast.Node) -> ast.Node:
    return node.arg if isinstance(node, ast.Not) else ast.Not(node)


def _or(*nodes: ast.Node) -> ast.Node:
    """A disjunction, flat."""
    parts = [
        part for node in nodes for part in (node.args if isinstance(node, ast.Nary) and node.op == "|" else [node])
    ]
    return ast.Nary("|", tuple(parts))


EDGES: dict[Side, tuple[Literal["first", "last"], ...]] = {"L": ("first",), "R": ("last",), "": ("first", "last")}


def _hashed(side: Side, name: str) -> str:
    """A count of a coordinate; that of a set of symbols has its brackets already."""
    return f"#{side}{name}" if name.startswith("[") else f"#{side}[{name}]"


def _sum(terms: list[tuple[int, str]], constant: int) -> str:
    """A linear combination as text."""
    parts = [
        f"{'-' if value < 0 else '+'} {'' if abs(value) == 1 else f'{abs(value)} '}{name}" for value, name in terms
    ]
    if constant:
        parts.append(f"{'-' if constant < 0 else '+'} {abs(constant)}")
    return " ".join(parts).removeprefix("+ ")
