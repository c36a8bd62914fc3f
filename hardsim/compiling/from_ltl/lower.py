"""Lower a core formula to a hard-attention program: each node goes to the earliest layer where its operands are
ready.

Attention in layer l reads the outputs of the layers before it; the feed-forward layer l also reads the heads of layer
l. So a node is written in layer 1 + (the last layer among its operands); `Y` and `X` not before layer 2, since they
need a marker of the first or last position. Layers whose nodes are all Boolean combinations have no heads: they are
the attention-free layers of the theory. A count needs its mean c/m, one layer after its Boolean; beside it the
Boolean "some" (the count is positive); 1/m, in layer 2; and the look-up, after all of these. Positions, lengths and
their predicates are columns of the position encoding and need no head. An operator for which the regime has no
construction is refused, at the place where the user wrote it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, assert_never

from hardsim.compiling.from_ltl import operators
from hardsim.compiling.from_ltl.layer_norm import lower_normed
from hardsim.compiling.from_ltl.means import is_true
from hardsim.compiling.from_ltl.operators import HALF, SIZES, Clip, CountForms, OperatorBlock, Side
from hardsim.compiling.from_ltl.refusals import Method, refuse
from hardsim.compiling.from_ltl.rounded import ROUNDED_DOWN, RoundedMeans, lower_rounded
from hardsim.errors import InputError
from hardsim.lang import ast
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
from hardsim.lang.pretty import brief_formula
from hardsim.lang.valuations import PropositionSymbols, Symbols, everything
from hardsim.network.columns import PositionFunction, PredicateColumn
from hardsim.network.numbers import ONE
from hardsim.network.store import Users
from hardsim.network.transformer import SoftWeighting
from hardsim.program.hard_attention import Affine, Encoding, Head, Kind, Letter, Program, ProgramLayer, Unit
from hardsim.program.regimes import (
    GEOMETRIC,
    LAYER_NORM,
    MEANS,
    ROUNDED_EXPONENTIALS,
    Regime,
    expression,
)

LONGEST_NAME, LONGEST_SOUGHT = 60, 40
"""The greatest number of characters of a subformula in a head's purpose: the one that the head computes, and the one
that it looks for."""
OF_THE_FIRST = "the formula at the first position, for the last one to read"
"""The purpose of an operator that the compiler adds where a formula is read at the first position."""
ACCEPT = "accept"
"""The output coordinate if the root is a negation (otherwise the output is the root's own coordinate)."""


def lower(
    core: Core,
    regime: Regime,
    single_head: bool = False,
    counting: Method | None = None,
    users: Users | None = None,
    weighting: SoftWeighting = SoftWeighting.SOFTMAX,
    rounded: RoundedMeans = ROUNDED_DOWN,
) -> Program:
    """Return the hard-attention program of a core formula in one regime.

    `single_head` gives each head a layer of its own, as in the paper. `counting` is the way to compare counts: by
    look-up (the default if the regime has it) or by the sign test. `users` are the user's predicates, and `weighting`
    is that of the network; `rounded` is for regime `rounded` alone. Raises Unsupported if the regime has no
    construction for an operator, such as one that looks ahead in a causal regime."""
    if regime in MEANS:
        _require_plain(regime, single_head, counting)
        return lower_normed(core) if regime is LAYER_NORM else lower_rounded(core, rounded)
    program = _shallowest(core, regime, counting, users, weighting)
    if not single_head:
        return program
    layers: list[ProgramLayer] = []
    for layer in program.layers:
        # The hidden units stay in the layer of the last head: only there are all heads' outputs available.
        layers += [ProgramLayer((head,)) for head in layer.heads[:-1]]
        layers.append(replace(layer, heads=layer.heads[-1:]))
    return replace(program, layers=tuple(layers))


Joins = Literal["none", "frugal", "all"]
"""Which conjunctions are written in the layers of their newest operands: none, those that take no more parameters there
than in a layer of their own, or all that can be."""


def _shallowest(
    core: Core, regime: Regime, counting: Method | None, users: Users | None, weighting: SoftWeighting
) -> Program:
    """Return the program with frugal joins, or one with fewer layers that joins all conjunctions, if that takes no more
    parameters than a layer for each of them."""

    def made(joins: Joins) -> tuple[Program, bool]:
        lowering = _Lowering(core, regime, counting, users, weighting, joins)
        return lowering.program(), lowering.deferred

    frugal, deferred = made("frugal")
    if deferred and len((shallow := made("all")[0]).layers) < len(frugal.layers):
        return shallow if _parameters(shallow) <= _parameters(made("none")[0]) else frugal
    return frugal


def _parameters(program: Program) -> int:
    """Return the number of weights and biases of the hidden units of a program."""
    return sum(operators.clip_parameters(unit.pre, unit.cap) for layer in program.layers for unit in layer.units)


def _require_plain(regime: Regime, single_head: bool, counting: Method | None) -> None:
    """Raise InputError for options that a regime of means does not have."""
    given = ["--single-head"] * single_head + [f"--counting {counting}"] * (counting is not None)
    if given:
        message = f"{' and '.join(given)}: regime '{regime.name}' has one construction, which compares means"
        raise InputError(message, f"Leave out {' and '.join(given)}.")


class _Lowering:
    """One pass over the live nodes of a core, which places every node.

    `names` and `ready` give the coordinate that holds a node and the layer that writes it (0: the embedding).
    `placed` gives, by coordinate, the layer and the block that writes it. `required` are the coordinates that something
    reads, `sums` those of comparisons of looked-up counts. `weights` gives the largest sum of |coefficients| of a
    comparison that reads a count. `after` gives, for conjunctions in the layer of a sign test or a predicate of a
    count, what a layer of their own would take: the parameters before it, and its block. `conjoined` are the other
    operands of conjunctions with a comparison of looked-up counts, whose conjunction is no node of the core.
    `deferred` is True if a conjunction has a layer of its own since that takes fewer parameters.
    """

    def __init__(
        self,
        core: Core,
        regime: Regime,
        counting: Method | None,
        users: Users | None,
        weighting: SoftWeighting,
        joins: Joins,
    ) -> None:
        self.core, self.weighting, self.joins, self.deferred = core, weighting, joins, False
        self.regime = regime
        self.method: Method = counting or ("lookup" if regime.look_up[0] else "sign")
        self.users = users or {}
        self.names: dict[int, str] = {}
        self.ready: dict[int, int] = {}
        self.letters: dict[str, Letter] = {}
        self.encodings = {encoding.name: encoding for encoding in regime.encodings}
        self.placed: dict[str, tuple[int, OperatorBlock]] = {}
        self.meanings: dict[str, str] = {}
        self.required: set[str] = set()
        self.sums: set[str] = set()
        self.weights: dict[CountOf, int] = {}
        self.after: dict[str, tuple[int, OperatorBlock]] = {}
        self.conjoined: dict[str, Sequence[Lit]] = {}
        self.readers = Counter(operand for number in core.live for operand in operands(core.nodes[number]))
        self.readers[core.root.node] += 1
        refuse(core, regime, self.method)
        for number in core.live:
            node = core.nodes[number]
            if isinstance(node, AtLeast):
                size = sum(abs(value) for value, count in node.terms if not is_true(core, count.arg))
                self.weights |= {count: max(size, self.weights.get(count, 0)) for _, count in node.terms}
        for number in core.live:
            self.names[number], self.ready[number] = self.place(number, core.nodes[number])

    def program(self) -> Program:
        """Return the program made of the layers of all blocks."""
        root = self.core.root
        output, node = self.names[root.node], self.core.nodes[root.node]
        if root.negated and (complement := self._complement(node)) is not None:
            # The complement is a column of the embedding too (for `false`, one that no symbol sets to 1).
            output = self._letter(complement)
        elif root.negated:
            output = ACCEPT
        else:
            self.required.add(output)
        depth = max((index for index, _ in self.placed.values()), default=0)
        layers = tuple(self._layer(index, output) for index in range(1, depth + 1))
        encodings = tuple(self.encodings.values())
        if self.regime is ROUNDED_EXPONENTIALS:
            read = {name for layer in layers for name in layer.read}
            encodings = tuple(encoding for encoding in encodings if encoding.name in read)
        return Program(
            alphabet=self.core.alphabet,
            regime=self.regime.name,
            letters=tuple(self.letters.values()),
            encodings=encodings,
            layers=layers,
            output=output,
            meanings=self._meanings(layers),
            weighting=self.weighting,
        )

    def _meanings(self, layers: Sequence[ProgramLayer]) -> dict[str, str]:
        """Return what each coordinate holds. Nodes that no coordinate holds, since conjunctions have taken their place,
        stand in full in the meanings of others."""
        written = {name for layer in layers for name in layer.written}
        held = {self.names[number]: number for number in self.core.live}
        self.names = {number: name for name, number in held.items() if name in written or name not in self.placed}
        for name, args in self.conjoined.items():
            self.meanings[name] = " & ".join(map(self._text, args))
        return {
            name: self._meaning(self.core.nodes[held[name]]) if name in held else meaning
            for name, meaning in self.meanings.items()
            if name in written or name not in self.placed
        } | ({ACCEPT: f"not {self._text(Lit(self.core.root.node))}"} if ACCEPT in written else {})

    def _layer(self, index: int, output: str) -> ProgramLayer:
        heads: list[Head] = []
        units: list[Unit] = []
        biases: list[tuple[str, int]] = []
        for name, (layer, block) in self.placed.items():
            if layer != index:
                continue
            heads.extend(block.heads)
            if name in self.required:
                counts = name in self.sums
                units.extend(Unit(((name, one.weight),), one.form, counts=counts, cap=one.cap) for one in block.clips)
            if output == ACCEPT and name == self.names[self.core.root.node]:
                units.extend(Unit(((ACCEPT, -one.weight),), one.form, cap=one.cap) for one in block.clips)
                biases.append((ACCEPT, 1))
        return ProgramLayer(tuple(heads), tuple(units), tuple(biases))

    def place(self, number: int, node: Node) -> tuple[str, int]:
        """Place one node, and return its coordinate and layer: a column of the embedding or the encoding, or a block
        of heads and clips in the first layer after its operands."""
        layer = 1 + max((self.ready[operand] for operand in operands(node)), default=0)
        name = f"{type(node).__name__.lower()}{number}"
        match node:
            case Letters(PropositionSymbols(name=str())) if self.core.root == Lit(number, True):
                # The complement of a proposition is no coordinate of the embedding: a clip writes it.
                symbols = node.symbols
                block = OperatorBlock((), (Clip(self.read(self._letter(symbols)), 0, 1),))
            case Letters(symbols):
                return self._letter(symbols), 0
            case Edge(which):
                return self.marker(which), 1
            case And(args):
                layer, block = self._conjunction(number, args)
            case Xor(left, right):
                block = operators.exclusive(self.form(Lit(left)), self.form(Lit(right)))
            case Step(op, arg):
                name = f"{op}{number}"
                if self.regime is GEOMETRIC:
                    block = operators.beside(op, self.form(arg), name, self.regime, self._named(number))
                    return self.put(name, layer, block, self._meaning(node)), layer
                layer = max(layer, 2)
                marker = self.marker("first" if op == "Y" else "last")
                self.required.add(marker)
                block = operators.step(op, self.form(arg), marker, name, self.regime, self._named(number))
            case Reach(op, _, right, where):
                name = f"{op}{number}"
                block = operators.reach(
                    op, self.form(where), self.form(right), name, self.regime, self._reaching(number, node)
                )
                block = self._shared(block) if self._alike(where, right) else block
            case AtLeast() if node.positive is not None:
                return self._some(node.positive)
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
                    layer, block = 1, OperatorBlock((), (Clip(Affine.coordinate(column), 0, 1),))
            case _:
                assert_never(node)
        return self.put(name, layer, block, self._meaning(node)), layer

    def _alike(self, left: Lit, right: Lit) -> bool:
        """Return True if two literals have the same truth, because they are equal or true at the same symbols."""
        found = [self._symbols(lit) for lit in (left, right)]
        return left == right or (found[0] is not None and found[0] == found[1])

    def _symbols(self, lit: Lit) -> frozenset[str] | None:
        """Return the symbols at which a literal is true, if it depends on the symbol only and they can be listed."""
        node = self.core.nodes[lit.node]
        if lit.negated or not isinstance(node, Letters) or isinstance(node.symbols, PropositionSymbols):
            return self._complement(node) if lit.negated else None
        return frozenset(node.symbols)

    def _shared(self, block: OperatorBlock) -> OperatorBlock:
        """Return the block of a head that reads its own condition: without a tie-break if the weighting has exactly the
        hard weights."""
        return block if self.weighting.cutoff is None else operators.shared(block, self.regime)

    def _conjunction(self, number: int, args: Sequence[Lit]) -> tuple[int, OperatorBlock]:
        """Return the block of a conjunction, and its layer: the layer of the newest operand, if there is a single one
        whose clips can be closed, or the next one."""
        newest = max(args, key=lambda arg: self.ready[arg.node])
        layer = self.ready[newest.node]
        others = [arg for arg in args if arg != newest]
        placed = self.placed.get(self.names[newest.node])
        # Geometric attention needs values that imply the condition of their head. Proofs see that if the condition is a
        # function of Booleans that are exact already.
        if (
            placed is not None
            and self.joins != "none"
            and self.regime is not GEOMETRIC
            and all(self.ready[other.node] < layer for other in others)
        ):
            block = placed[1]
            forms = [self._form(other) for other in others]
            first = self._first(others, layer) if len(others) > 1 and operators.unbounded(block) else None
            if first is not None:
                # A cap is one Boolean.
                forms = [Affine.coordinate(name := f"and{number}.but{newest.node}")]
                within = operators.conjunction_in_layer(block, newest.negated, forms)
                most = operators.conjunction([self._form(arg) for arg in args]).parameters
                most += block.parameters if self.readers[newest.node] == 1 else 0
                if within is not None and self._worth(first[2] + within.parameters <= most):
                    self.conjoined[self.put(name, *first[:2], "")] = others
                    self.required |= {name, *(read for clip in first[1].clips for read in clip.reads)}
                    self.sums |= {f"and{number}"} if self.names[newest.node] in self.sums else set()
                    return layer, within
                forms = [self._form(other) for other in others]
            # Several clips that something else reads as well would be written twice.
            once = len(block.clips) == 1 or self.readers[newest.node] == 1
            within = operators.conjunction_in_layer(block, newest.negated, forms)
            if within is not None and self._worth(once) and self._joins(number, newest, block, within, forms):
                self.required.update(self.names[other.node] for other in others)
                self.sums |= {f"and{number}"} if self.names[newest.node] in self.sums else set()
                return layer, within
            if self.names[newest.node] in self.after and self.readers[newest.node] == 1:
                _, after = self.after[self.names[newest.node]]
                both = operators.conjunction_in_layer(after, newest.negated, forms)
                if both is not None:
                    # One clip for two conjunctions takes fewer parameters than the inner one in an earlier layer.
                    self.placed[self.names[newest.node]] = layer + 1, after
                    self.ready[newest.node] = layer + 1
                    self.required.update(name for clip in both.clips for name in clip.reads)
                    return layer + 1, both
        return layer + 1, operators.conjunction([self.form(arg) for arg in args])

    def _first(self, args: Sequence[Lit], layer: int) -> tuple[int, OperatorBlock, int] | None:
        """Return the layer, before `layer`, and the block of a conjunction that is no node of the core, and how many
        parameters it adds; None if there is none."""
        newest = max(args, key=lambda arg: self.ready[arg.node])
        plain, below = operators.conjunction([self._form(arg) for arg in args]), self.ready[newest.node]
        if below + 1 < layer:
            return below + 1, plain, plain.parameters
        placed, others = self.placed.get(self.names[newest.node]), [arg for arg in args if arg != newest]
        if placed is None or self.names[newest.node] in self.after or any(self.ready[o.node] >= below for o in others):
            return None
        found = operators.conjunction_in_layer(placed[1], newest.negated, [self._form(arg) for arg in others])
        spared = placed[1].parameters if self.readers[newest.node] == 1 else 0
        return None if found is None else (below, found, found.parameters - spared)

    def _joins(
        self, number: int, newest: Lit, block: OperatorBlock, within: OperatorBlock, others: Sequence[Affine]
    ) -> bool:
        """Return True if conjunction `number` is written `within` the layer of its newest operand. A comparison of
        counts that something else reads, too, is written twice. Each of the two
        clips of a sign test or a predicate of a count would repeat the `others`. So they must differ from what those
        clips read, and the network must not have more parameters than with a layer for conjunctions."""
        name = self.names[newest.node]
        if within.clips[-1].cap is not None and self.readers[newest.node] > 1:
            # The comparison is written for its other readers as well.
            return self._worth(within.parameters <= operators.conjunction([self._form(newest), *others]).parameters)
        if not block.opposites and name not in self.after:
            return True
        before, after = self.after.get(name, (block.parameters, None))
        later = after and operators.conjunction_in_layer(after, newest.negated, others)
        if later is None:
            before += after.parameters if after else 0
            later = operators.conjunction([self._form(newest), *others])
        read = {name for clip in block.clips for name in clip.reads}
        again = read.intersection(name for form in others for name, _ in form.terms)
        if again or not self._worth(within.parameters <= before + later.parameters):
            return False
        self.after[f"and{number}"] = before, later
        return True

    def _worth(self, frugal: bool) -> bool:
        """Return True if a conjunction is written in the layer of its operand; `frugal`: this takes no more
        parameters than a layer of its own."""
        self.deferred |= not frugal
        return frugal or self.joins == "all"

    def form(self, lit: Lit) -> Affine:
        """Return a literal as a linear form over coordinates, and note that something reads it."""
        self.required.add(self.names[lit.node])
        return self._form(lit)

    def _form(self, lit: Lit) -> Affine:
        form = Affine.coordinate(self.names[lit.node])
        return Affine.constant(1) - form if lit.negated else form

    def read(self, name: str) -> Affine:
        """Return a coordinate as a form, and note that something reads it."""
        self.required.add(name)
        return Affine.coordinate(name)

    def put(self, name: str, layer: int, block: OperatorBlock, meaning: str) -> str:
        """Place a block under its coordinate's name, unless it has been placed already."""
        if name not in self.placed:
            self.placed[name] = (layer, block)
            self.meanings[name] = meaning
        return name

    def marker(self, which: Literal["first", "last"]) -> str:
        """Return the coordinate of the Boolean "this is the first (last) position", which layer 1 writes."""
        if which not in self.placed:
            self.placed[which] = (1, operators.edge(which, self.regime))
        return which

    def encode(self, text: str, value: PositionFunction | None = None) -> str:
        """Return a coordinate of the position encoding. Its name is `text`; without `value`, it is the value of this
        expression."""
        if text not in self.encodings:
            self.encodings[text] = Encoding(text, value or expression(text))
        return text

    def _complement(self, node: Node) -> frozenset[str] | None:
        """Return the symbols at which a node is false, if the node depends on the symbol only and they can be listed;
        otherwise None."""
        if not isinstance(node, Letters) or isinstance(node.symbols, PropositionSymbols):
            true = isinstance(node, Letters) and node.symbols == everything(self.core.alphabet)
            return frozenset() if true else None
        return frozenset(self.core.alphabet) - node.symbols

    def _letter(self, symbols: Symbols) -> str:
        """Return the embedding coordinate that is 1 on these symbols; for all symbols, the constant coordinate."""
        if symbols == everything(self.core.alphabet):
            return ONE
        name = self._bracket(symbols)
        self.letters[name] = Letter(name, symbols)
        return name

    def _bracket(self, symbols: Symbols) -> str:
        if isinstance(symbols, PropositionSymbols):
            return f"[{symbols.name or ''}]"
        if not symbols:
            return "[]"
        return f"[{' '.join(symbol for symbol in self.core.alphabet if symbol in symbols)}]"

    # ---- texts for readers ----

    def _named(self, what: int | CountOf) -> str:
        """Return a description of a node or a count as the user wrote it."""
        if isinstance(what, CountOf):
            node = self.core.counts.get(what)
            return self._title(what) if node is None else brief_formula(node, LONGEST_NAME)
        mention = self.core.mentions.get(what)
        if mention is None or mention.node is None:
            return OF_THE_FIRST
        return brief_formula(mention.node, LONGEST_NAME)

    def _reaching(self, number: int, node: Reach) -> str:
        """Return a description of the head that computes a since, an until, or what is defined by these."""
        mention = self.core.mentions.get(number)
        if mention is None or mention.node is None:
            return OF_THE_FIRST
        sought = deciding(mention.node)
        looked_for = self._sought(node.where) if sought is None else brief_formula(sought, LONGEST_SOUGHT)
        end = operators.END["right" if node.op == "S" else "left"]
        return f"{brief_formula(mention.node, LONGEST_NAME)}, read at the {end} position with {looked_for}"

    def _sought(self, lit: Lit) -> str:
        """Return the counted formula, as the user wrote it if the user's text has this count."""
        for count, node in self.core.counts.items():
            if count.arg == lit and isinstance(node, ast.Count):
                return brief_formula(node.arg, LONGEST_SOUGHT)
        return self._text(lit)

    def _text(self, lit: Lit) -> str:
        """Return the text of a literal: the coordinate of its node, or its meaning if no coordinate holds it (as on
        the left of a since)."""
        if is_true(self.core, lit) or is_true(self.core, ~lit):
            return "true" if is_true(self.core, lit) else "false"
        node = self.core.nodes[lit.node]
        named = self.names.get(lit.node) or self._meaning(node)
        single = lit.node in self.names or isinstance(node, Letters | Edge | Numeric)
        return ("!" if lit.negated else "") + (named if single else f"({named})")

    def _meaning(self, node: Node) -> str:
        """Return the meaning of a node in terms of the coordinates of its operands."""
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
            case AtLeast() if node.positive is not None:
                return f"{self._counted(node.positive)} > 0"
            case AtLeast(terms, constant):
                return f"{_sum([(value, self._counted(count)) for value, count in terms], constant)} >= 0"
            case Numeric(predicate, params):
                inner = "".join(f"{param}, " for param in params)
                return f"{predicate}({inner}{_sum([(node.scale, self._counted(node.count))], node.offset)})"
            case _:
                assert_never(node)

    def _counted(self, count: CountOf) -> str:
        if is_true(self.core, count.arg):
            return {"L": "pos", "R": "(len - pos + 1)", "": "len"}[count.side]
        return _hashed(count.side, self._text(count.arg))

    def _title(self, count: CountOf) -> str:
        form = self.form(count.arg)
        if len(form.terms) > 1:
            return f"#{count.side}[{form}]"
        return _hashed(count.side, form.terms[0][0])

    # ---- comparisons ----

    def _comparison(self, number: int, node: AtLeast, name: str) -> tuple[int, OperatorBlock]:
        if self.method == "sign" and not all(is_true(self.core, count.arg) for _, count in node.terms):
            return self._sign(number, node, name)
        total = Affine.constant(node.constant)
        layer = 1
        # Counts of `true` are positions and lengths: exact columns, which need no test.
        for coefficient, count in node.terms:
            form, ready = self._value(count)
            total += form.scaled(coefficient)
            layer = max(layer, ready)
        if layer > 1:
            self.sums.add(name)
        return layer, OperatorBlock((), (operators.compare(total),))

    def _value(self, count: CountOf) -> tuple[Affine, int]:
        """Return a count as a linear form, and the layer that has it: exact for positions and lengths (pos, n - i + 1
        or len), and looked up otherwise."""
        if is_true(self.core, count.arg):
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
        """Add the key columns of look-ups to the position encoding."""
        for text in self.regime.look_up:
            self.encode(text)

    def _forms(self, count: CountOf) -> tuple[CountForms, int]:
        """Return the coordinates of a count (mean, inverse and "some"), and the first layer in which a head can read
        them."""
        mean, start = self._mean(count)
        some, _ = self._some(count)
        return CountForms(count.side, mean, self._inverse(count.side), some), max(start, 2) + 1

    def _some(self, count: CountOf) -> tuple[str, int]:
        """Return the coordinate of the Boolean "the count is positive", and the layer that writes it."""
        side, title, value = count.side, self._title(count), self.form(count.arg)
        start = self.ready[count.arg.node] + 1
        name, end = f"{title}.some", "first" if side == "R" else "last"
        purpose = f"{self._named(count)} > 0, read at the {end} position with {self._sought(count.arg)}"
        block = self._shared(operators.some(side, value, name, self.regime, purpose))
        return self.put(name, start, block, f"{title} > 0"), start

    def _mean(self, count: CountOf) -> tuple[str, int]:
        """Return the coordinate that holds c/m, and the layer that writes it."""
        side, title, value = count.side, self._title(count), self.form(count.arg)
        start = self.ready[count.arg.node] + 1
        mean = f"{title}.mean"
        head = operators.mean(side, value, mean, f"{self._named(count)} / {SIZES[side]}", self.regime.count_theorem)
        return self.put(mean, start, OperatorBlock((head,), ()), f"{title} / {SIZES[side]}"), start

    def _inverse(self, side: Side) -> str:
        """Return the coordinate that holds 1/m, by uniform attention over a marker (layer 2)."""
        name, marker = f"1/{SIZES[side]}.mean", self.marker("last" if side == "R" else "first")
        purpose = f"1 / {SIZES[side]}, the mean of the mark of the {marker} position"
        head = operators.mean(side, self.read(marker), name, purpose, self.regime.count_theorem)
        return self.put(name, 2, OperatorBlock((head,), ()), f"1/{SIZES[side]}")

    def _sign(self, number: int, node: AtLeast, name: str) -> tuple[int, OperatorBlock]:
        """Return the block of a comparison of counts by the sign test, and its layer."""
        (side,) = {count.side for _, count in node.terms}
        inverse = self._inverse(side)
        means = Affine()
        ready = 2
        for coefficient, count in node.terms:
            if is_true(self.core, count.arg):
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
        """Return the encoding coordinate of a predicate of a position or a length; None if the argument is a count
        that needs a look-up."""
        if is_true(self.core, ~node.count.arg):
            return self._predicate(node, 0, 0, node.offset)  # a count of `false` is 0
        if not is_true(self.core, node.count.arg):
            return None
        of_i, of_n, extra = {"L": (1, 0, 0), "R": (-1, 1, 1), "": (0, 1, 0)}[node.count.side]
        return self._predicate(node, node.scale * of_i, node.scale * of_n, node.offset + node.scale * extra)

    def _predicate(self, node: Numeric, of_i: int, of_n: int, offset: int) -> str:
        definition, user = self.users.get(node.name, ("", None))
        column = PredicateColumn(node.name, node.params, of_i, of_n, offset, definition, user)
        return self.encode(str(column), column)

    def _looked_up(self, number: int, node: Numeric, name: str) -> tuple[int, OperatorBlock]:
        """Return the block of a predicate of a count, looked up in the predicate's column, and its layer."""
        forms, ready = self._forms(node.count)
        value = Affine.coordinate(self._predicate(node, node.scale, 0, node.offset))
        at_zero = Affine.coordinate(self._predicate(node, 0, 0, node.offset))
        self._keys()
        head = operators.look_up(forms, value, f"{name}.read", self.regime, 1, Kind.TABLE, self._named(number))
        return ready, operators.table(head, self.read(forms.some), at_zero)


def deciding(node: ast.Node) -> ast.Node | None:
    """Return the condition of the position that decides a temporal operator; None for any other node.

    For `a S b` and `a U b` it is `!a | b`; the other operators are defined by these (see `lang.desugar`).
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
    """Return a disjunction, with nested disjunctions merged into it."""
    parts = [
        part for node in nodes for part in (node.args if isinstance(node, ast.Nary) and node.op == "|" else [node])
    ]
    return ast.Nary("|", tuple(parts))


EDGES: dict[Side, tuple[Literal["first", "last"], ...]] = {"L": ("first",), "R": ("last",), "": ("first", "last")}


def _hashed(side: Side, name: str) -> str:
    """Return the text of a count of a coordinate. The name of a set of symbols already has brackets."""
    return f"#{side}{name}" if name.startswith("[") else f"#{side}[{name}]"


def _sum(terms: list[tuple[int, str]], constant: int) -> str:
    """Return a linear combination as text."""
    parts = [
        f"{'-' if value < 0 else '+'} {'' if abs(value) == 1 else f'{abs(value)} '}{name}" for value, name in terms
    ]
    if constant:
        parts.append(f"{'-' if constant < 0 else '+'} {abs(constant)}")
    return " ".join(parts).removeprefix("+ ")
