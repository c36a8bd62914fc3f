"""From the surface syntax to the core: derived operators are reduced, and each `let` name is resolved once.

The reductions are the textbook ones for finite words, chosen so that every binary temporal operator costs one
attention head:

    WX a = !X !a        WY a = !Y !a
    F a = true U a      G a = !F !a         O a = true S a      H a = !O !a
    a R b = !(!a U !b)  a T b = !(!a S !b)
    a W b = b R (a | b) a M b = b U (a & b)
    X[2] a = X X a      F[1,2] a = X (a | X a)      a U[1,2] b = a & X (b | a & X b)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Final, Literal, cast

from hardsim.errors import Unsupported
from hardsim.kept import kept
from hardsim.lang import ast
from hardsim.lang.core import And, Core, CoreBuilder, CountOf, Edge, Letters, Lit, Node, Numeric, Xor, operands
from hardsim.lang.deep import Walk, each, walked
from hardsim.lang.valuations import Valuations
from hardsim.lazy_dataclass import dataclass

LARGEST_MODULUS = 64
"""Greatest modulus of a congruence between several counts, each of which takes one head for each residue."""

MOST_OPERATORS = 1_000
"""Greatest number of operators for which a network attends or looks up a value: each takes one or two heads, and
proofs, estimates and certified passes take time at least quadratic in their number."""
ATTENDING = "distinct temporal operators, comparisons and predicates"
ENOUGH = 2
"""A formula is refused early, at this multiple of MOST_OPERATORS, before it is known which operators its value
depends on."""
MOST_NODES = 20_000
"""Greatest number of distinct operators of any kind: each connective is a unit of a feed-forward network."""
MOST_LEVELS = 3 * MOST_OPERATORS
"""Greatest number of distinct operators above each other: three for each attending operator, which bounded operators
precede with a conjunction and a disjunction. Every layer reads all coordinates, and each level has one coordinate."""


@kept
def desugar(file: ast.FormulaFile, listed: bool = False) -> Core:
    """Return the core of a formula file: a formula f read at the first position is `O(first & f)` at the last. Raises
    Unsupported for a predicate of a sum of several counts (other than MOD, EVEN and ODD), and for a formula with more
    than MOST_OPERATORS or MOST_NODES distinct operators, or MOST_LEVELS of them above each other. If `listed`, sets of
    propositions are symbols like others, so that every function of the set folds into one node."""
    # `lit` refuses huge formulas while they are built; the exact limits are checked below on the live nodes.
    builder = _Desugarer(file, listed)
    root = walked(builder.formula(file.formula))
    if file.at == "first":
        root = builder.reach("S", builder.true, builder.both([builder.lit(Edge("first")), root]))
    core = Core(builder.alphabet, tuple(builder.nodes), root, builder.mentions, file.source, file, builder.counted)
    live = core.live
    attending = sum(_attends(core.nodes[number]) for number in live)
    _require_at_most(file, MOST_OPERATORS, attending, f"{attending:,} {ATTENDING}")
    _require_at_most(file, MOST_NODES, len(live), f"{len(live):,} distinct operators")
    heights: dict[int, int] = {}
    for number in live:
        heights[number] = 1 + max((heights[operand] for operand in operands(core.nodes[number])), default=0)
    _require_at_most(file, MOST_LEVELS, heights[root.node], f"{heights[root.node]:,} levels, each a layer or two")
    return core


def with_listed_sets(core: Core) -> Core:
    """Return a core over symbols: one over sets of propositions is built again, over a list of its sets."""
    return desugar(core.file, listed=True) if isinstance(core.alphabet, Valuations) else core


def _attends(node: Node) -> bool:
    return not isinstance(node, Letters | Edge | And | Xor)


def _require_at_most(file: ast.FormulaFile, most: int, found: int, what: str) -> None:
    if found > most:
        message = f"this formula has {what}, and at most {most:,} are compiled"
        raise Unsupported(file.source, file.formula.span, message, hint="Check its parts one by one.")


@dataclass(frozen=True, slots=True)
class Linear:
    """A linear term: integer multiples of counts plus a constant; `counts` maps each count to its factor."""

    counts: Mapping[CountOf, int]
    constant: int = 0

    def plus(self, other: Linear, factor: int) -> Linear:
        """Return `self + factor * other`."""
        total = dict(self.counts)
        for count, value in other.counts.items():
            total[count] = total.get(count, 0) + factor * value
        kept = {count: value for count, value in total.items() if value}
        return Linear(kept, self.constant + factor * other.constant)


_UNARY: Final[Mapping[ast.UnaryOp, Callable[[CoreBuilder, Lit], Lit]]] = {
    "X": lambda build, a: build.step("X", a),
    "WX": lambda build, a: ~build.step("X", ~a),
    "Y": lambda build, a: build.step("Y", a),
    "WY": lambda build, a: ~build.step("Y", ~a),
    "F": lambda build, a: build.reach("U", build.true, a),
    "G": lambda build, a: ~build.reach("U", build.true, ~a),
    "O": lambda build, a: build.reach("S", build.true, a),
    "H": lambda build, a: ~build.reach("S", build.true, ~a),
}
_BINARY: Final[Mapping[ast.BinaryOp, Callable[[CoreBuilder, Lit, Lit], Lit]]] = {
    "U": lambda build, a, b: build.reach("U", a, b),
    "S": lambda build, a, b: build.reach("S", a, b),
    "R": lambda build, a, b: ~build.reach("U", ~a, ~b),
    "T": lambda build, a, b: ~build.reach("S", ~a, ~b),
    "W": lambda build, a, b: ~build.reach("U", ~b, build.both([~a, ~b])),
    "M": lambda build, a, b: build.reach("U", b, build.both([a, b])),
}


class _Desugarer(CoreBuilder):
    """Translates the formulas and terms of one file, in one walk over their trees."""

    def __init__(self, file: ast.FormulaFile, listed: bool) -> None:
        self.attending = 0
        super().__init__(tuple(file.alphabet) if listed else file.alphabet)
        self.file = file
        self.definitions = file.definitions
        self.names: dict[str, Lit] = {}
        self.terms: dict[str, Linear] = {}
        self.counted: dict[CountOf, ast.Node] = {}
        self.behind: set[int] = set()
        """The `id`s of nodes of the file that contain no length and no count of later positions."""

    def lit(self, node: Node) -> Lit:
        """Return the literal of a node, as the base class does. Raises Unsupported once there are far more attending
        nodes than can be compiled: the root can hardly do without most of them, and building them all may take long."""
        made, lit = len(self.nodes), super().lit(node)
        if len(self.nodes) > made and _attends(node):
            self.attending += 1
            if self.attending > ENOUGH * MOST_OPERATORS:
                what = f"over {ENOUGH * MOST_OPERATORS:,} {ATTENDING}"
                _require_at_most(self.file, MOST_OPERATORS, self.attending, what)
        return lit

    def atom(self, name: str) -> Lit:
        """Return the literal of a symbol or proposition; over listed sets, a proposition is true on those with it."""
        if isinstance(self.file.alphabet, Valuations) and not isinstance(self.alphabet, Valuations):
            return self.letters(symbol for symbol in self.alphabet if symbol in self.file.alphabet.holding(name))
        return super().atom(name)

    def formula(self, node: ast.Node) -> Walk[Lit]:
        """Return the literal of a formula."""
        match node:
            case ast.Symbol(name):
                return self.atom(name)
            case ast.Truth(value):
                return self.true if value else self.false
            case ast.Marker(which):
                return self.mention(self.lit(Edge(which)), which, node.span, node)
            case ast.Ref(name):
                if name not in self.names:
                    self.names[name] = yield self.formula(self.definitions[name])
                return self.names[name]
            case ast.Not(arg):
                return ~cast("Lit", (yield self.formula(arg)))
            case ast.Nary(op, args):
                parts = yield each(map(self.formula, args))
                if op == "^":
                    return reduce(self.differ, parts, self.false)
                return self.both(parts) if op == "&" else self.either(parts)
            case ast.Arrow(op, left, right):
                first, second = (yield self.formula(left)), (yield self.formula(right))
                return self.either([~first, second]) if op == "->" else ~self.differ(first, second)
            case ast.Unary(op, arg):
                return self.mention(_UNARY[op](self, (yield self.formula(arg))), op, node.span, node)
            case ast.Binary(op, left, right):
                first, second = (yield self.formula(left)), (yield self.formula(right))
                return self.mention(_BINARY[op](self, first, second), op, node.span, node)
            case ast.Bounded():
                return self._bounded(node, (yield each(map(self.formula, node.args))))
            case ast.Compare(op, left, right):
                return self._compare(node, op, (yield self.term(left)), (yield self.term(right)))
            case ast.Congruent(term, modulus, residue):
                return self._congruent(node, (yield self.term(term)), modulus, residue)
            case ast.Predicate(name, params, term):
                form = Linear({self._position: 1}) if term is None else (yield self.term(term))
                return self._predicate(node, name, params, form)
            case _:
                raise AssertionError(f"{node} is a term, not a formula")

    def _bounded(self, node: ast.Bounded, args: Sequence[Lit]) -> Lit:
        """Return the literal of an operator with bounds: `F[1,3] a` is `X (a | X (a | X a))`, and `a U[1,2] b` is
        `a & X (b | a & X b)`, with one step for each position up to the farthest; `G` and `H` are duals."""
        if node.most > MOST_OPERATORS:
            message = (
                f"{node.op} with the bound {node.most:,} takes as many steps, and at most {MOST_OPERATORS:,} operators"
            )
            raise Unsupported(self.file.source, node.span, f"{message} can be compiled", hint="Use smaller bounds.")
        where: Literal["X", "Y"] = "X" if node.op in ("X", "WX", "F", "G", "U") else "Y"
        dual = node.op in ("WX", "WY", "G", "H")
        phi, psi = args[0] if len(args) > 1 else self.true, ~args[-1] if dual else args[-1]
        found = psi
        for left in range(node.most, 0, -1):
            found = self.both([phi, self.mention(self.step(where, found), node.op, node.span, node)])
            if left > node.least:
                found = self.either([psi, found])
        return self.mention(~found if dual else found, node.op, node.span, node)

    @property
    def _position(self) -> CountOf:
        return CountOf("L", self.true)

    def term(self, node: ast.Node) -> Walk[Linear]:
        """Return the linear form of a term."""
        match node:
            case ast.Integer(value):
                return Linear({}, value)
            case ast.Position():
                return Linear({self._position: 1})
            case ast.Length():
                return Linear({CountOf("", self.true): 1})
            case ast.Count(side, arg):
                count = CountOf(side, (yield self.formula(arg)))
                self.counted.setdefault(count, node)
                return Linear({count: 1})
            case ast.Ref(name):
                if name not in self.terms:
                    self.terms[name] = yield self.term(self.definitions[name])
                return self.terms[name]
            case ast.Sum(op, left, right):
                start: Linear = yield self.term(left)
                return start.plus((yield self.term(right)), 1 if op == "+" else -1)
            case ast.Signed(op, arg):
                return Linear({}).plus((yield self.term(arg)), 1 if op == "+" else -1)
            case ast.Product(left, right):
                first, second = (yield self.term(left)), (yield self.term(right))
                # the parser guarantees that one side is a constant
                number, other = (first, second) if not first.counts else (second, first)
                return Linear({}).plus(other, number.constant)
            case _:
                raise AssertionError(f"{node} is a formula, not a term")

    def _compare(self, node: ast.Compare, op: ast.CompareOp, left: Linear, right: Linear) -> Lit:
        """Return the literal of a comparison: every comparison over the integers is one inequality `>= 0` or two."""
        up, down = left.plus(right, -1), right.plus(left, -1)
        # a = b is a >= b and b >= a; over the integers a > b is a - b - 1 >= 0
        forms = [up] if op in (">=", ">") else [down] if op in ("<=", "<") else [up, down]
        shift = -1 if op in (">", "<") else 0
        first = len(self.nodes)
        found = [self._count_mention(node, self.at_least(form.counts, form.constant + shift)) for form in forms]
        self._mention_from(first, node)
        return ~self.both(found) if op == "!=" else self.both(found)

    def _congruent(self, node: ast.Congruent | ast.Predicate, form: Linear, modulus: int, residue: int) -> Lit:
        if len(form.counts) > 1 and modulus > LARGEST_MODULUS:
            message = f"a congruence of several counts modulo {modulus} would take {modulus} heads for each count"
            hint = f"Up to {LARGEST_MODULUS} can be compiled; for a single count, any modulus."
            raise Unsupported(self.file.source, node.span, message, hint=hint)
        first = len(self.nodes)
        result = self.congruent(form.counts, form.constant, modulus, residue)
        self._mention_from(first, node)
        return result

    def _predicate(self, node: ast.Predicate, name: str, params: tuple[int, ...], form: Linear) -> Lit:
        if name in ("EVEN", "ODD"):
            return self._congruent(node, form, 2, int(name == "ODD"))
        if name == "MOD":
            return self._congruent(node, form, params[0], params[1])
        if len(form.counts) > 1:
            message = f"{name} of a sum of several counts has no construction: a predicate is looked up at one count"
            hint = "EVEN, ODD and MOD of sums can be compiled; disjoint counts add up: #L[a] + #L[b] is #L[a | b]."
            raise Unsupported(self.file.source, node.span, message, hint=hint)
        # A predicate of a constant is a predicate of `0 * pos + constant`: its value may still depend on n.
        (count, scale) = next(iter(form.counts.items()), (self._position, 0))
        return self._count_mention(node, self.lit(Numeric(name, params, scale, count, form.constant)))

    def _mention_from(self, first: int, node: ast.Node) -> None:
        """Record the operator to cite for all nodes from a number on: one comparison or congruence may make several."""
        for number in range(first, len(self.nodes)):
            self._count_mention(node, Lit(number))

    def _count_mention(self, node: ast.Node, lit: Lit) -> Lit:
        """Record the operator to cite for a literal: the first count or length that looks ahead, if there is one, else
        the comparison or predicate itself."""
        part = self._first_ahead(node)
        if part is not None:
            name = f"#{part.side}" if isinstance(part, ast.Count) else "len"
            return self.mention(lit, name, part.span, node)
        operator = node.op if isinstance(node, ast.Compare) else node.name if isinstance(node, ast.Predicate) else "mod"
        return self.mention(lit, operator, node.span, node)

    def _first_ahead(self, node: ast.Node) -> ast.Node | None:
        """Return the first length, or count of positions other than those up to here, in a tree or in the definitions
        that it uses; None if there is none. Nodes without any are remembered in `behind`, so no part is searched
        twice."""
        stack, passed = [node], set[int]()
        while stack:
            part = stack.pop()
            if isinstance(part, ast.Length) or (isinstance(part, ast.Count) and part.side != "L"):
                return part
            if id(part) not in self.behind and id(part) not in passed:
                passed.add(id(part))
                stack.extend(reversed(ast.children(part)))
                stack.extend([self.definitions[part.name]] if isinstance(part, ast.Ref) else [])
        self.behind |= passed
        return None
