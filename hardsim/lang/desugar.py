"""From the surface syntax to the core: derived operators reduced, `let` names resolved once each.

The reductions are the textbook ones for finite words, chosen so that every binary temporal operator costs one
attention head:

    WX a = !X !a        WY a = !Y !a
    F a = true U a      G a = !F !a         O a = true S a      H a = !O !a
    a R b = !(!a U !b)  a T b = !(!a S !b)
    a W b = b R (a | b) a M b = b U (a & b)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from hardsim.errors import Span, Unsupported
from hardsim.lang import ast
from hardsim.lang.core import And, Core, CoreBuilder, CountOf, Edge, Letters, Lit, Xor
from hardsim.lang.walk import walk

LARGEST_MODULUS = 64
"""Of a congruence between several counts, each of which takes one head a residue."""

MOST_OPERATORS = 1_000
"""Of those that a network attends or looks up for: each is a head or two, and proofs, estimates and certified passes
take at least their square."""
MOST_NODES = 20_000
"""Of all distinct operators: each connective is a unit of a feed-forward network."""


def desugar(file: ast.FormulaFile, at: Literal["first", "last"] | None = None) -> Core:
    """The core of a formula file, read at `at` (the file's own choice by default).

    `at: first` compiles as `O(first & formula)` at the last position.

    Raises:
        Unsupported: for a predicate of a sum of several counts (other than MOD, EVEN and ODD), and for a formula with
            more than MOST_OPERATORS or MOST_NODES distinct operators.
    """
    desugarer = _Desugarer(file)
    root = desugarer.formula(file.formula)
    builder = desugarer.builder
    if (at or file.at) == "first":
        root = builder.reach("S", builder.true, builder.both([builder.edge("first"), root]))
    core = builder.build(root, file.source)
    _hold_size(core, file.formula.span)
    return core


def _hold_size(core: Core, place: Span) -> None:
    live = core.live
    attending = sum(not isinstance(core.nodes[number], Letters | Edge | And | Xor) for number in live)
    for found, most, what in (
        (attending, MOST_OPERATORS, "distinct temporal operators, comparisons and predicates"),
        (len(live), MOST_NODES, "distinct operators"),
    ):
        if found > most:
            raise Unsupported(
                core.source,
                place,
                f"this formula has {found:,} {what}, and at most {most:,} are compiled",
                hint="Check its parts one by one.",
            )


@dataclass(frozen=True, slots=True)
class Linear:
    """A term: integer multiples of counts plus a constant."""

    counts: Mapping[CountOf, int]
    constant: int

    @staticmethod
    def of(count: CountOf) -> Linear:
        """One count."""
        return Linear({count: 1}, 0)

    def plus(self, other: Linear, factor: int) -> Linear:
        """`self + factor * other`."""
        total = dict(self.counts)
        for count, value in other.counts.items():
            total[count] = total.get(count, 0) + factor * value
        kept = {count: value for count, value in total.items() if value}
        return Linear(kept, self.constant + factor * other.constant)


class _Desugarer:
    """One walk over a file's trees; a tree is at most 200 levels deep, so recursion is safe."""

    def __init__(self, file: ast.FormulaFile) -> None:
        self.file = file
        self.builder = CoreBuilder(file.alphabet)
        self.definitions = file.definitions
        self.names: dict[str, Lit] = {}
        self.terms: dict[str, Linear] = {}

    def formula(self, node: ast.Node) -> Lit:
        """The literal of a formula."""
        build = self.builder
        match node:
            case ast.Symbol(name):
                return build.letters([name])
            case ast.Truth(value):
                return build.true if value else build.false
            case ast.Marker(which):
                return build.mention(build.edge(which), which, node.span)
            case ast.Ref(name):
                if name not in self.names:
                    self.names[name] = self.formula(self.definitions[name])
                return self.names[name]
            case ast.Not(arg):
                return ~self.formula(arg)
            case ast.Nary(op, args):
                return self._nary(op, [self.formula(arg) for arg in args])
            case ast.Arrow(op, left, right):
                first, second = self.formula(left), self.formula(right)
                return build.either([~first, second]) if op == "->" else ~build.differ(first, second)
            case ast.Unary(op, arg):
                return self._mention(node, op, self._unary(op, self.formula(arg)))
            case ast.Binary(op, left, right):
                return self._mention(node, op, self._binary(op, self.formula(left), self.formula(right)))
            case ast.Compare(op, left, right):
                return self._compare(node, op, self.term(left), self.term(right))
            case ast.Congruent(term, modulus, residue):
                return self._congruent(node, self.term(term), modulus, residue)
            case ast.Predicate(name, params, term):
                return self._predicate(
                    node, name, params, Linear.of(self._position) if term is None else self.term(term)
                )
            case _:
                raise AssertionError(f"{node} is a term, not a formula")

    @property
    def _position(self) -> CountOf:
        return CountOf("L", self.builder.true)

    def term(self, node: ast.Node) -> Linear:
        """The linear form of a term."""
        match node:
            case ast.Integer(value):
                return Linear({}, value)
            case ast.Position():
                return Linear.of(self._position)
            case ast.Length():
                return Linear.of(CountOf("", self.builder.true))
            case ast.Count(side, arg):
                return Linear.of(CountOf(side, self.formula(arg)))
            case ast.Ref(name):
                if name not in self.terms:
                    self.terms[name] = self.term(self.definitions[name])
                return self.terms[name]
            case ast.Sum(op, left, right):
                return self.term(left).plus(self.term(right), 1 if op == "+" else -1)
            case ast.Signed(op, arg):
                return Linear({}, 0).plus(self.term(arg), 1 if op == "+" else -1)
            case ast.Product(left, right):
                first, second = self.term(left), self.term(right)
                number, other = (first, second) if not first.counts else (second, first)
                return Linear({}, 0).plus(other, number.constant)
            case _:
                raise AssertionError(f"{node} is a formula, not a term")

    def _compare(self, node: ast.Compare, op: ast.CompareOp, left: Linear, right: Linear) -> Lit:
        """Every comparison over the integers is one inequality `>= 0` or two."""
        up, down = left.plus(right, -1), right.plus(left, -1)
        if op in (">=", ">"):
            return self._at_least(node, up, 0 if op == ">=" else -1)
        if op in ("<=", "<"):
            return self._at_least(node, down, 0 if op == "<=" else -1)
        equal = self.builder.both([self._at_least(node, up, 0), self._at_least(node, down, 0)])
        return equal if op == "=" else ~equal

    def _at_least(self, node: ast.Compare, form: Linear, shift: int) -> Lit:
        return self._count_mention(node, self.builder.at_least(form.counts, form.constant + shift))

    def _congruent(self, node: ast.Congruent | ast.Predicate, form: Linear, modulus: int, residue: int) -> Lit:
        if len(form.counts) > 1 and modulus > LARGEST_MODULUS:
            raise Unsupported(
                self.file.source,
                node.span,
                f"a congruence of several counts modulo {modulus} would take {modulus} heads for each count",
                hint=f"Up to {LARGEST_MODULUS} can be compiled; of a single count any modulus can.",
            )
        first = len(self.builder.nodes)
        result = self.builder.congruent(form.counts, form.constant, modulus, residue)
        for number in range(first, len(self.builder.nodes)):
            self._count_mention(node, Lit(number))
        return result

    def _predicate(self, node: ast.Predicate, name: str, params: tuple[int, ...], form: Linear) -> Lit:
        if name in ("EVEN", "ODD"):
            return self._congruent(node, form, 2, int(name == "ODD"))
        if name == "MOD":
            return self._congruent(node, form, params[0], params[1])
        if len(form.counts) > 1:
            raise Unsupported(
                self.file.source,
                node.span,
                f"{name} of a sum of several counts has no construction: a predicate is looked up at one count",
                hint="EVEN, ODD and MOD of sums can be compiled; disjoint counts add up: #L[a] + #L[b] is #L[a | b].",
            )
        # A predicate of a constant is one of `0 * pos + constant`: it may still depend on n.
        (count, scale) = next(iter(form.counts.items()), (self._position, 0))
        return self._count_mention(node, self.builder.numeric(name, params, scale, count, form.constant))

    def _count_mention(self, node: ast.Node, lit: Lit) -> Lit:
        """Cite the first count that looks ahead, if there is one, else the comparison or predicate itself."""
        for part in walk(node, self.file.lets):
            if isinstance(part, ast.Length) or (isinstance(part, ast.Count) and part.side != "L"):
                name = "len" if isinstance(part, ast.Length) else f"#{part.side}"
                return self.builder.mention(lit, name, part.span)
        operator = node.op if isinstance(node, ast.Compare) else node.name if isinstance(node, ast.Predicate) else "mod"
        return self.builder.mention(lit, operator, node.span)

    def _mention(self, node: ast.Unary | ast.Binary, operator: str, lit: Lit) -> Lit:
        return self.builder.mention(lit, operator, node.span)

    def _nary(self, op: ast.NaryOp, args: list[Lit]) -> Lit:
        if op == "&":
            return self.builder.both(args)
        if op == "|":
            return self.builder.either(args)
        result = self.builder.false
        for arg in args:
            result = self.builder.differ(result, arg)
        return result

    def _unary(self, op: ast.UnaryOp, arg: Lit) -> Lit:
        build = self.builder
        rules: dict[ast.UnaryOp, Callable[[], Lit]] = {
            "X": lambda: build.step("X", arg),
            "WX": lambda: ~build.step("X", ~arg),
            "Y": lambda: build.step("Y", arg),
            "WY": lambda: ~build.step("Y", ~arg),
            "F": lambda: build.reach("U", build.true, arg),
            "G": lambda: ~build.reach("U", build.true, ~arg),
            "O": lambda: build.reach("S", build.true, arg),
            "H": lambda: ~build.reach("S", build.true, ~arg),
        }
        return rules[op]()

    def _binary(self, op: ast.BinaryOp, left: Lit, right: Lit) -> Lit:
        build = self.builder
        rules: dict[ast.BinaryOp, Callable[[], Lit]] = {
            "U": lambda: build.reach("U", left, right),
            "S": lambda: build.reach("S", left, right),
            "R": lambda: ~build.reach("U", ~left, ~right),
            "T": lambda: ~build.reach("S", ~left, ~right),
            "W": lambda: ~build.reach("U", ~right, build.both([~left, ~right])),
            "M": lambda: build.reach("U", right, build.both([left, right])),
        }
        return rules[op]()
