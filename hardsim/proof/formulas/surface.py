"""Meaning of a formula as written: the columns of its syntax tree, operator by operator.

A proof is about this formula, not about the result of `desugar`. Derived operators are reduced to since, until,
yesterday and next by the lemmas below, each a formula of the language with its reason. All lemmas are about finite
words and a position i of 1..n; p and q stand for any formulas.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cache
from typing import Any, Literal, cast

from hardsim.lang import ast
from hardsim.lang.core import CountOf
from hardsim.lang.deep import Walk, each, walked
from hardsim.lang.ltl_parser import parse_expression
from hardsim.lang.pretty import brief_formula
from hardsim.lang.valuations import Valuations
from hardsim.lazy_dataclass import dataclass
from hardsim.proof.formulas.cuts import Cuts
from hardsim.proof.formulas.facts import Column, Count, CountPredicate
from hardsim.proof.shared.result import NotProved


@dataclass(frozen=True, slots=True)
class Lemma:
    """Lemma about a derived operator of p and q: an equivalent formula, and the reason why it is true at the same
    positions."""

    derived: str
    formula: str
    why: str


LEMMAS = {
    "->": Lemma("p -> q", "!(p & !q)", "Both are false exactly where p holds and q does not."),
    "<->": Lemma("p <-> q", "!(p ^ q)", "Both are false exactly where one of p and q holds without the other."),
    "WX": Lemma("WX p", "!X !p", "At position n both are true; elsewhere X !p says that p is false at i + 1."),
    "WY": Lemma("WY p", "!Y !p", "At position 1 both are true; elsewhere Y !p says that p is false at i - 1."),
    "F": Lemma("F p", "true U p", "A witness j >= i of p requires nothing of the positions before it."),
    "G": Lemma("G p", "!(true U !p)", "p holds at all j >= i unless one of them is a witness of !p."),
    "O": Lemma("O p", "true S p", "A witness j <= i of p requires nothing of the positions after it."),
    "H": Lemma("H p", "!(true S !p)", "p holds at all j <= i unless one of them is a witness of !p."),
    "R": Lemma(
        "p R q", "!(!p U !q)", "q at each j >= i with no p in i..j-1: such a j without q is a witness of !p U !q."
    ),
    "T": Lemma(
        "p T q", "!(!p S !q)", "q at each j <= i with no p in j+1..i: such a j without q is a witness of !p S !q."
    ),
    "W": Lemma("p W q", "!(!q U (!p & !q))", "False exactly where some j >= i has no p, and none of i..j has q."),
    "M": Lemma("p M q", "q U (p & q)", "q must hold up to and including a position where p holds, so both hold there."),
    "at: first": Lemma(
        "p at position 1",
        "O(first & p)",
        "Position 1 is the only one where `first` holds, and O reaches it from every i.",
    ),
}
"""Lemmas by operator. Other operators are read by definition: `!`, `&`, `|`, `^`; S, U, X, Y (see `meaning`);
`first`, `last`; comparisons (all terms are brought to one side: t >= 0 as it is, t > 0 as t - 1 >= 0, since terms
are integers, t = 0 as two inequalities); and predicates. Bounded operators are read from the farthest position
inwards: with k steps to go, `p U[0,k] q` is `q | p & X(p U[0,k-1] q)`, and `p U[l,k] q` for l > 0 is `p & X(p
U[l-1,k-1] q)`; F is U with `true`, and G its dual. A congruence of several counts holds if for some residue s of
the first count, the others add up to the target minus s."""


@cache
def _template(operator: str) -> ast.Node:
    if operator not in LEMMAS:
        raise NotProved(f"there is no lemma for the operator {operator}")
    return parse_expression(LEMMAS[operator].formula, ["p", "q"]).formula


@dataclass(frozen=True)
class CountSum:
    """Integer term: integer multiples of counts plus a constant. `pos` is the count of all positions up to here,
    `len` the count of all positions of the word."""

    counts: Mapping[Count, int]
    constant: int = 0

    def plus(self, other: CountSum, factor: int) -> CountSum:
        """Return `self + factor * other`."""
        total = dict(self.counts)
        for count, value in other.counts.items():
            total[count] = total.get(count, 0) + factor * value
        kept = {count: value for count, value in total.items() if value}
        return CountSum(kept, self.constant + factor * other.constant)


@dataclass
class SurfaceColumns:
    """Columns of the formula of a file. `order` is the order in which a congruence takes its counts, which decides
    how it is written. `made` lists the operators with their columns, inner ones first."""

    cuts: Cuts
    file: ast.FormulaFile
    order: Mapping[Count, CountOf]
    made: list[tuple[ast.Node, Column]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.facts = self.cuts.facts
        self.one = self.facts.everywhere(self.facts.diagrams.one)
        self.zero = self.facts.everywhere(self.facts.diagrams.zero)
        self._names: dict[str, Column] = {}
        self._terms: dict[str, CountSum] = {}

    def read(self) -> Column:
        """Return the formula's column, to be read at the last position."""
        found = walked(self.formula(self.file.formula))
        return self._derived("at: first", [found]) if self.file.at == "first" else found

    def missing(self, known: set[Column]) -> str | None:
        """Return, as text, the innermost operator (temporal ones first) whose column, and whose negation, is not in
        `known`; None if there is none."""
        missing = [node for node, column in self.made
                   if column not in known and self.facts.negated(column) not in known]  # fmt: skip
        temporal = [node for node in missing if isinstance(node, ast.Unary | ast.Binary)]
        for node in (*temporal, *missing):
            return f"{getattr(node, 'op', getattr(node, 'name', 'mod'))} in '{brief_formula(node, 60)}'"
        return None

    # ---- formulas ----

    def formula(self, node: ast.Node, bound: Mapping[str, Column] | None = None) -> Walk[Column]:
        """Return the column of a formula. In a lemma's formula, `bound` gives the columns of p and q."""
        facts = self.facts
        match node:
            case ast.Symbol(name):
                return bound[name] if bound else self._symbol(name)
            case ast.Truth(value):
                return self.one if value else self.zero
            case ast.Marker(which):
                return facts.edge(which)
            case ast.Ref(name):
                if name not in self._names:
                    self._names[name] = yield self.formula(self.file.definitions[name])
                return self._names[name]
            case ast.Not(arg):
                return facts.negated(cast("Column", (yield self.formula(arg, bound))))
            case ast.Nary(op, args):
                parts: list[Column] = yield each(self.formula(arg, bound) for arg in args)
                return self._nary(op, parts)
            case ast.Unary() | ast.Binary() | ast.Arrow():
                operands: list[Column] = yield each(self.formula(arg, bound) for arg in ast.children(node))
                found = self._operator(node.op, operands)
                return found if bound else self._made(node, found)
            case ast.Bounded():
                return self._made(node, self._bounded(node, (yield each(map(self.formula, node.args)))))
            case ast.Compare(op, left, right):
                first, second = (yield self.term(left)), (yield self.term(right))
                return self._made(node, self._compare(op, first, second))
            case ast.Congruent(term, modulus, residue):
                return self._made(node, self._congruent((yield self.term(term)), modulus, residue))
            case ast.Predicate(name, params, term):
                form = CountSum({("L", self.one): 1}) if term is None else (yield self.term(term))
                return self._made(node, self._predicate(name, params, form))
            case _:
                raise AssertionError(f"{node} is a term, not a formula")

    def _made(self, node: ast.Node, column: Column) -> Column:
        self.made.append((node, column))
        return column

    def _symbol(self, name: str) -> Column:
        alphabet = self.facts.alphabet
        return self.facts.letter(alphabet.holding(name) if isinstance(alphabet, Valuations) else frozenset({name}))

    def _nary(self, op: ast.NaryOp, parts: Sequence[Column]) -> Column:
        if op == "^":
            found = self.zero
            for part in parts:
                found = self.cuts.differ(found, part)
            return found
        return self.cuts.both(parts) if op == "&" else self.cuts.either(parts)

    def _operator(self, op: ast.UnaryOp | ast.BinaryOp | ast.ArrowOp, args: Sequence[Column]) -> Column:
        match op:
            case "S" | "U":
                return self.cuts.near(op, *args)
            case "X" | "Y":
                return self.facts.step(op, *args)
            case _:
                return self._derived(op, args)

    def _derived(self, op: str, args: Sequence[Column]) -> Column:
        """Return the column of a derived operator by its lemma."""
        return walked(self.formula(_template(op), dict(zip("pq", args, strict=False))))

    def _bounded(self, node: ast.Bounded, args: Sequence[Column]) -> Column:
        cuts, negated = self.cuts, self.facts.negated
        where: Literal["X", "Y"] = "X" if node.op in ("X", "WX", "F", "G", "U") else "Y"
        dual = node.op in ("WX", "WY", "G", "H")
        held, reached = args[0] if len(args) > 1 else self.one, negated(args[-1]) if dual else args[-1]
        found = reached
        for place in range(node.most - 1, -1, -1):  # distance from the position of the formula
            found = cuts.both([held, self.facts.step(where, found)])
            if place >= node.least:
                found = cuts.either([reached, found])
        return negated(found) if dual else found

    # ---- terms ----

    def term(self, node: ast.Node) -> Walk[CountSum]:
        """Return an integer term as multiples of counts."""
        match node:
            case ast.Integer(value):
                return CountSum({}, value)
            case ast.Position():
                return CountSum({("L", self.one): 1})
            case ast.Length():
                return CountSum({("", self.one): 1})
            case ast.Count(side, arg):
                return CountSum({(str(side), (yield self.formula(arg))): 1})
            case ast.Ref(name):
                if name not in self._terms:
                    self._terms[name] = yield self.term(self.file.definitions[name])
                return self._terms[name]
            case ast.Sum(op, left, right):
                start: CountSum = yield self.term(left)
                return start.plus((yield self.term(right)), 1 if op == "+" else -1)
            case ast.Signed(op, arg):
                return CountSum({}).plus((yield self.term(arg)), 1 if op == "+" else -1)
            case ast.Product(left, right):
                first, second = (yield self.term(left)), (yield self.term(right))
                number, other = (first, second) if not first.counts else (second, first)
                if number.counts:
                    raise NotProved("the formula multiplies counts with each other")
                return CountSum({}).plus(other, number.constant)
            case _:
                raise AssertionError(f"{node} is a formula, not a term")

    def _compare(self, op: ast.CompareOp, left: CountSum, right: CountSum) -> Column:
        up, down = left.plus(right, -1), right.plus(left, -1)
        forms = [up] if op in (">=", ">") else [down] if op in ("<=", "<") else [up, down]
        strict = op in (">", "<")
        # t > 0 becomes t - 1 >= 0, since terms are integers.
        found = self.cuts.both([self.cuts.at_least(form.counts, form.constant - strict) for form in forms])
        return self.facts.negated(found) if op == "!=" else found

    def _congruent(self, form: CountSum, modulus: int, residue: int) -> Column:
        """Return the column of `(form) mod modulus = residue`."""
        left = {count: value % modulus for count, value in form.counts.items() if value % modulus}
        # Counts of nothing are 0, and add no residue.
        counts = sorted((count for count in left if count[1] != self.zero), key=self._place)
        target = (residue - form.constant) % modulus
        if not counts:
            return self.zero if target else self.one
        last = counts.pop()
        expected = range(modulus) if counts else [target]
        level = {total: self._count_predicate("MOD", (modulus, total), last, left[last], 0) for total in expected}
        for count in reversed(counts):
            residues = [self._count_predicate("MOD", (modulus, value), count, 1, 0) for value in range(modulus)]
            level = {
                total: self.cuts.either([
                    self.cuts.both([residues[value], level[(total - left[count] * value) % modulus]])
                    for value in range(modulus)
                ])
                for total in range(modulus)
            }  # fmt: skip
        return level[target]

    def _place(self, count: Count) -> tuple[Any, ...]:
        known = self.order.get(count)
        return (1, count) if known is None else (0, known)

    def _predicate(self, name: str, params: tuple[int, ...], form: CountSum) -> Column:
        if name in ("EVEN", "ODD"):
            return self._congruent(form, 2, int(name == "ODD"))
        if name == "MOD":
            return self._congruent(form, params[0], params[1])
        # A predicate of a constant may still depend on n.
        (count, scale), *others = form.counts.items() or [(("L", self.one), 0)]
        if others:
            raise NotProved("the formula applies a predicate to a sum of counts")
        return self._count_predicate(name, params, count, scale, form.constant)

    def _count_predicate(self, name: str, params: tuple[int, ...], count: Count, scale: int, offset: int) -> Column:
        return self.cuts.predicate(CountPredicate(name, params, scale, offset), count)
