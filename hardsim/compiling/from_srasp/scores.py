"""Plan scores: as cases of Booleans and equalities of integers, as one order comparison, or as one inequality.

Scores are first rewritten: constants are folded, and operands that read only one position are grouped. A score
without a construction is refused at the user's own operator; the interpreter can still run such a program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import field, replace
from functools import reduce
from typing import Final, TypeAlias

from hardsim.errors import Source, Span, Unsupported
from hardsim.lang import ast
from hardsim.lang.ast import children, walk, with_children
from hardsim.lazy_dataclass import dataclass

Tuples: TypeAlias = Mapping[str, Set[tuple[str, ...]]]
"""The tuples of each relation."""


def indices(node: ast.Expression) -> frozenset[ast.Index]:
    """Return the indices, i or j or both, that an expression depends on; `len` is the same at both."""
    return frozenset(
        part.index for part in walk(node) if isinstance(part, ast.HasSymbol | ast.InputSymbol | ast.Position | ast.Ref)
    )


def mixed(node: ast.Expression) -> bool:
    """Return True if an expression reads both i and j."""
    return len(indices(node)) == 2


def is_mixed_comparison(node: ast.Expression) -> bool:
    """Return True if a node compares integers and reads both i and j."""
    return isinstance(node, ast.Compare) and node.left.sort is ast.Sort.INT and mixed(node)


def _as_mask(node: ast.Compare) -> str:
    """Return the mask with the same meaning as a comparison of positions; empty if there is none."""
    flipped = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
    match node:
        case ast.Compare(op, ast.Position("j"), ast.Position("i")) if op in flipped:
            return f"j{op}i"
        case ast.Compare(op, ast.Position("i"), ast.Position("j")) if op in flipped:
            return f"j{flipped[op]}i"
    return ""


def at_i(node: ast.Expression) -> ast.Expression:
    """Return the expression with i in place of j."""

    def moved(part: ast.Expression) -> ast.Expression | None:
        match part:
            case ast.HasSymbol(_, "j") | ast.InputSymbol("j") | ast.Position("j") | ast.Length("j") | ast.Ref(_, "j"):
                return replace(part, index="i")
            case _:
                return None

    return replaced(node, moved)


def replaced(node: ast.Expression, change: Callable[[ast.Expression], ast.Expression | None]) -> ast.Expression:
    """Return the expression with parts replaced, from the top down: each part by `change` of it, unless that is
    None."""
    other = change(node)
    return other if other is not None else with_children(node, [replaced(part, change) for part in children(node)])


def folded(node: ast.Expression, tuples: Tuples) -> ast.Expression:
    """Return the expression with constants folded. In `& | ^`, the operands that read only i become one operand, and
    those that read only j another."""
    node = with_children(node, [folded(part, tuples) for part in children(node)])
    match node:
        case ast.Not(ast.Truth(value)):
            return ast.Truth(not value, span=node.span)
        case ast.Not(ast.Not(arg)):
            return arg
        case ast.Nary():
            return _folded_nary(node)
        case ast.Arrow(op, left, right):
            return _folded_arrow(op, left, right, node)
        case ast.Compare(op, left, right) if op in ("=", "!=") and left.sort is ast.Sort.BOOL:
            same = _folded_arrow("<->", left, right, node)
            return same if op == "=" else folded(ast.Not(same, span=node.span), tuples)
        case ast.Compare(op, ast.SymbolLiteral(left), ast.SymbolLiteral(right)):
            return ast.Truth((left == right) == (op == "="), span=node.span)
        case ast.Member(ast.SymbolLiteral(name), symbols):
            return ast.Truth(name in symbols, span=node.span)
        case ast.Related(relation, args) if all(isinstance(arg, ast.SymbolLiteral) for arg in args):
            names = tuple(arg.name for arg in args if isinstance(arg, ast.SymbolLiteral))
            return ast.Truth(names in tuples[relation], span=node.span)
        case ast.Conditional(ast.Truth(value), then, otherwise):
            return then if value else otherwise
        case ast.Conditional(_, then, otherwise) if then == otherwise:
            return then
        case _:
            return node


def _folded_nary(node: ast.Nary) -> ast.Expression:
    """Fold a chain of `&`, `|` or `^`: fold constants, join nested chains, drop repetitions, and group operands that
    read one position only."""
    op, span = node.op, node.span
    flat = [part for arg in node.args for part in (arg.args if isinstance(arg, ast.Nary) and arg.op == op else (arg,))]
    constants = [arg.value for arg in flat if isinstance(arg, ast.Truth)]
    rest = [arg for arg in flat if not isinstance(arg, ast.Truth)]
    if op == "^":
        joined = _joined(op, rest, node)
        return joined if sum(constants) % 2 == 0 else _negated(joined, span)
    absorbing = op == "|"
    if absorbing in constants:
        return ast.Truth(absorbing, span=span)
    return _joined(op, list(dict.fromkeys(rest)), node)


def _joined(op: ast.NaryOp, args: Sequence[ast.Expression], node: ast.Nary) -> ast.Expression:
    """Return a chain of operands grouped by the indices that they read; operands that read both remain single."""
    groups: dict[frozenset[ast.Index], list[ast.Expression]] = {}
    alone: list[ast.Expression] = []
    for arg in args:
        if mixed(arg):
            alone.append(arg)
        else:
            groups.setdefault(indices(arg), []).append(arg)
    chains = [group[0] if len(group) == 1 else ast.Nary(op, tuple(group), span=node.span) for group in groups.values()]
    parts = [*chains, *alone]
    if len(parts) < 2:
        return parts[0] if parts else ast.Truth(op == "&", span=node.span)
    return ast.Nary(op, tuple(parts), span=node.span)


def _folded_arrow(op: ast.ArrowOp, left: ast.Expression, right: ast.Expression, node: ast.Expression) -> ast.Expression:
    span = node.span
    match op, left, right:
        case "->", ast.Truth(value), _:
            return right if value else ast.Truth(True, span=span)
        case "->", _, ast.Truth(value):
            return ast.Truth(True, span=span) if value else ast.Not(left, span=span)
        case ("<->", ast.Truth(value), other) | ("<->", other, ast.Truth(value)):
            return other if value else _negated(other, span)
        case _:
            return ast.Arrow(op, left, right, span=span)


def _negated(node: ast.Expression, span: Span) -> ast.Expression:
    return ast.Truth(not node.value, span=span) if isinstance(node, ast.Truth) else ast.Not(node, span=span)


MAX_CASES = 256
"""The greatest number of cases of a Boolean score over its values at i; each case is a term of the score."""

MAX_RANGE = 16
"""The greatest number of values of an integer that a count distinguishes; each value is a term of the score."""

RUNS = "The program can still be run by its definition; it just cannot be compiled."
ORDERED = "leftmost under 1, j<i or j<=i, and rightmost under 1, j>i or j>=i"


Terms: TypeAlias = tuple[tuple[int, ast.Expression], ...]
"""A sum of multiples of integer expressions: pairs of factor and expression."""

ORDER_MASKS: Final = {"leftmost": ("1", "j<i", "j<=i"), "rightmost": ("1", "j>i", "j>=i")}
"""The masks under which order inside a score has a construction, for each side."""

Operators: TypeAlias = Mapping[ast.CompareOp, ast.CompareOp]
_OPPOSITE: Final[Operators] = {"<": ">=", "<=": ">", "=": "!=", "!=": "=", ">=": "<", ">": "<="}
MIRRORED: Final[Operators] = {"<": ">", "<=": ">=", "=": "=", "!=": "!=", ">=": "<=", ">": "<"}


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison `u(i) op v(j)`; both sums are written over i."""

    op: ast.CompareOp
    here: Terms
    there: Terms
    span: Span = field(default=ast.NO_SPAN, compare=False)


@dataclass(frozen=True, slots=True)
class Case:
    """A case of a score: if all expressions of `where`, at i, have these values, the score is `then(j)`.

    A value is a truth value or a symbol; `then` is written over i.
    """

    where: tuple[tuple[ast.Expression, bool | str], ...]
    then: ast.Expression


@dataclass(frozen=True, slots=True)
class Matching:
    """A Boolean score by disjoint cases, with equalities that must hold too. Without a case, the score is false."""

    cases: tuple[Case, ...]
    equalities: tuple[Comparison, ...] = ()


Plan: TypeAlias = Matching | Comparison
"""The plan of a score. A plan that is a single comparison is never an equality."""


@dataclass(frozen=True, slots=True)
class Planner:
    """Finds the plan of a score. `symbols` are the possible values of symbol expressions, `tuples` the tuples of each
    relation."""

    source: Source
    symbols: tuple[str, ...]
    tuples: Tuples

    def plan(self, attention: ast.Attention) -> Plan:
        """Return the plan of an attention's score. Raises Unsupported if no construction fits."""
        comparisons, others = self._parts(attention.score)
        for part in comparisons:
            if part.op != "=":
                return self._comparison_alone(part, attention, alone=len(comparisons) + len(others) == 1)
        return self._matching(others, comparisons, attention.span)

    def _parts(self, score: ast.Expression) -> tuple[list[ast.Compare], list[ast.Expression]]:
        """Return the conditions of a score: comparisons of integers at i with integers at j, and the Boolean
        conditions."""
        parts = self._conjuncts(folded(score, self.tuples), False)
        comparisons = [part for part in parts if isinstance(part, ast.Compare) and is_mixed_comparison(part)]
        return comparisons, [part for part in parts if not is_mixed_comparison(part)]

    def _matching(self, others: Sequence[ast.Expression], equalities: Sequence[ast.Compare], span: Span) -> Matching:
        """Return the plan for the conjunction of Boolean conditions and of comparisons."""
        rest = others[0] if len(others) == 1 else ast.Nary("&", tuple(others)) if others else ast.Truth(True)
        cases = self._cases(folded(rest, self.tuples), span)
        return Matching(tuple(cases), tuple(map(self._separated, equalities)))

    def selecting(self, node: ast.MatchCount | ast.MatchMean) -> tuple[Sequence[Case], Sequence[Comparison]]:
        """Return the disjoint cases of the score of a count or a mean, and the comparisons of integers that must hold
        too. In a count at most one of these is not `=`. Raises Unsupported if no construction fits."""
        comparisons, others = self._parts(node.score)
        unequal = [part for part in comparisons if part.op != "="]
        if len(unequal) > 1 and isinstance(node, ast.MatchCount):
            raise self._refused(
                unequal[1].span,
                f"'{unequal[1].op}' between integers at i and at j has no construction inside a count beside "
                f"'{unequal[0].op}'",
                "A count may contain one comparison other than '='; a range of v(j) is the difference of two counts.",
            )
        plan = self._matching(others, comparisons, node.span)
        return plan.cases, plan.equalities

    def _written(self, score: ast.Expression, comparison: Comparison) -> ast.Compare:
        """Return the part of a score from which a comparison was made."""
        return next(part for part in self._parts(score)[0] if self._separated(part) == comparison)

    def refused_mean(self, mean: ast.MatchMean, comparison: Comparison) -> Unsupported:
        """Return the error for a comparison in a mean that has no construction, because both of its integers have
        many values."""
        part = self._written(mean.score, comparison)
        return self._refused_order(
            part,
            f"'{part.op}' between integers at i and at j has no construction inside a mean, unless one of them has at "
            f"most {MAX_RANGE} values",
            "'=' works in means under every mask. Counts have more constructions: a mean of Booleans P(j) is at least "
            "p/q if there is a match and q * count_j[mask, score & P(j)] >= p * count_j[mask, score].",
        )

    def refused_order(self, count: ast.MatchCount, order: Comparison, alone: bool) -> Unsupported:
        """Return the error for a comparison in a count that has no construction, because both of its integers have
        many values."""
        part = self._written(count.score, order)
        where = f"under {count.mask}" if alone else "beside another comparison"
        return self._refused_order(
            part,
            f"'{part.op}' between integers at i and at j has no construction inside a count {where}, unless one of "
            f"them has at most {MAX_RANGE} values",
            "Counts by order are compiled under the mask 1, alone or beside Booleans; '=' and '!=' work under every "
            "mask.",
        )

    def _comparison_alone(self, node: ast.Compare, attention: ast.Attention, alone: bool) -> Plan:
        if not alone:
            raise self._refused_order(
                node,
                f"'{node.op}' between integers at i and at j must be the whole score: beside another condition it has "
                "no construction",
                "Put a condition on i around the attention, P(i) ? A(i) : D(i); '=' may stand beside other conditions.",
            )
        if node.op != "!=" and attention.mask not in ORDER_MASKS[attention.side]:
            raise self._refused_order(
                node,
                f"'{node.op}' between integers at i and at j has no construction inside the score of "
                f"{attention.side} under {attention.mask}: no bilinear score with a polynomial gap is known for it",
                f"Order inside scores works for {ORDERED}; '=' and '!=' work everywhere, and so does order between "
                "integers at one position, in a vector of its own.",
            )
        return self._separated(node)

    def _refused(self, span: Span, message: str, hint: str) -> Unsupported:
        return Unsupported(self.source, span, message, hint=f"{hint} {RUNS}")

    def _refused_order(self, part: ast.Compare, message: str, hint: str) -> Unsupported:
        """Return the error for a comparison of integers. If it only orders the positions, the hint names the mask for
        that order."""
        mask = _as_mask(part)
        return self._refused(part.span, message, f"The order of positions is the mask {mask}. {hint}" if mask else hint)

    # ---- integers ----

    def _conjuncts(self, node: ast.Expression, negated: bool) -> list[ast.Expression]:
        """Return the parts of a conjunction (or of its negation), down to comparisons of integers at i with integers
        at j."""
        inner = next((part for part in walk(node) if is_mixed_comparison(part)), None)
        if inner is None:
            return [ast.Not(node, span=node.span) if negated else node]
        match node:
            case ast.Not(arg):
                return self._conjuncts(arg, not negated)
            case ast.Nary(op, args) if op == ("|" if negated else "&"):
                return [part for arg in args for part in self._conjuncts(arg, negated)]
            case ast.Arrow("->", left, right) if negated:
                return self._conjuncts(left, False) + self._conjuncts(right, True)
            case ast.Compare(op, left, right) if is_mixed_comparison(node):
                return [ast.Compare(_OPPOSITE[op], left, right, span=node.span) if negated else node]
            case _:
                raise self._refused(
                    inner.span,
                    f"a comparison between integers at i and at j {_place_below(node)} has no construction inside a "
                    "score",
                    "It works alone and, if it is '=', joined by '&' to other conditions: split the attention in two, "
                    "and choose between their results (counts: add them up).",
                )

    def _separated(self, node: ast.Compare) -> Comparison:
        """Return the comparison with all terms at i on the left and all terms at j on the right."""
        here: list[tuple[int, ast.Expression]] = []
        there: list[tuple[int, ast.Expression]] = []
        # The side that reads i goes to the left without a change of sign, so that errors show the user's numbers.
        swapped = "i" not in indices(node.left) or "j" not in indices(node.right)
        sign, relation = (-1, MIRRORED[node.op]) if swapped else (1, node.op)
        stack = [(sign, node.left), (-sign, node.right)]
        while stack:
            factor, part = stack.pop()
            match part:
                case _ if "j" not in indices(part):
                    here.append((factor, part))
                case _ if "i" not in indices(part):
                    there.append((-factor, at_i(part)))
                case ast.Scale(count, arg):
                    stack.append((factor * count, arg))
                case ast.Sum(op, left, right):
                    stack += [(factor, left), (factor if op == "+" else -factor, right)]
                case _:
                    raise self._refused(
                        part.span,
                        "this integer reads both i and j, and is not a sum of integers that read one of them each",
                        "Inside scores, compare sums of integers at i with sums of integers at j.",
                    )
        return Comparison(relation, tuple(here), tuple(there), node.span)

    # ---- Booleans ----

    def _cases(self, score: ast.Expression, span: Span) -> list[Case]:
        """Split a score by the values at i of its parts (Shannon's expansion), and return the cases in which it is
        not false."""
        for part in walk(score):
            if isinstance(part, ast.Compare) and part.left.sort is ast.Sort.RATIONAL and mixed(part):
                raise self._refused(
                    part.span,
                    "a comparison between means at i and at j has no construction inside a score",
                    "Compare each mean with a constant, in a vector of its own.",
                )
        found: list[Case] = []
        stack: list[Case] = [Case((), score)]
        while stack:
            case = stack.pop()
            if case.then == ast.Truth(False):
                continue
            variable = _reads_i(case.then)
            if variable is None:
                found.append(Case(case.where, at_i(case.then)))
            else:
                values = self.symbols if variable.sort is ast.Sort.SYMBOL else (False, True)
                stack += [self._assigned(case, variable, value) for value in values]
            if len(found) + len(stack) > MAX_CASES:
                raise self._refused(
                    span,
                    f"this score has more than {MAX_CASES} cases of truth values and symbols at i, the limit of "
                    "the compiler",
                    "Compute what the score reads at i into fewer vectors first.",
                )
        return found

    def _assigned(self, case: Case, variable: ast.Expression, value: bool | str) -> Case:
        """Return the case in which an expression at i has this value."""
        constant = ast.SymbolLiteral(value) if isinstance(value, str) else ast.Truth(value)
        then = replaced(case.then, lambda part: constant if part == variable else None)
        return Case((*case.where, (variable, value)), folded(then, self.tuples))


def by_value(case: Case, comparison: Comparison, value: int, of_i: bool) -> Case:
    """Return the part of a case in which the comparison holds and one of its sides, the one at i (`of_i`) or at j,
    has this value."""
    known = ast.Integer(value)
    here, there = summed(comparison.here), summed(comparison.there)
    at_i = ast.Compare("=" if of_i else comparison.op, here, known)
    at_j = ast.Compare(comparison.op, known, there) if of_i else ast.Compare("=", there, known)
    return Case((*case.where, (at_i, True)), ast.Nary("&", (case.then, at_j)))


def summed(terms: Terms) -> ast.Expression:
    """Return a sum of multiples as an expression."""
    parts = [node if factor == 1 else ast.Scale(factor, node) for factor, node in terms]
    return reduce(lambda left, right: ast.Sum("+", left, right), parts) if parts else ast.Integer(0)


def _place_below(above: ast.Expression) -> str:
    """Return the place of a comparison of integers at i and j inside `above`, which is no conjunction."""
    match above:
        case ast.Nary(op) | ast.Arrow(op):
            return f"below '{op}'"
        case ast.Conditional():
            return "inside a conditional"
        case ast.Member() | ast.Related():
            return "inside a set or relation"
        case _:
            return "inside another comparison"


def _reads_i(node: ast.Expression) -> ast.Expression | None:
    """Return the first of the largest Boolean or symbol expressions that read i and not j; None if there is none."""
    reads = indices(node)
    if "i" not in reads:
        return None
    if "j" not in reads and node.sort in (ast.Sort.BOOL, ast.Sort.SYMBOL):
        return node
    return next((found for part in children(node) if (found := _reads_i(part)) is not None), None)
