"""What a score asks for: cases of Booleans and equalities of integers, or one order, or one inequality."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from hardsim.errors import Source
from hardsim.lang.srasp import ast
from hardsim.lang.srasp.walk import children, walk
from hardsim.rasp import refuse
from hardsim.rasp.rewrite import Tuples, at_i, folded, indices, is_mixed_comparison, replaced

Terms: TypeAlias = tuple[tuple[int, ast.Expression], ...]
"""A sum of multiples of integer expressions."""

ORDER_MASKS: Final = {
    "leftmost": ("1", "j<i", "j<=i"),
    "rightmost": ("1", "j>i", "j>=i"),
}
"""Where order inside a score has a construction."""

_OPPOSITE: Final[dict[ast.CompareOp, ast.CompareOp]] = {
    "<": ">=",
    "<=": ">",
    "=": "!=",
    "!=": "=",
    ">=": "<",
    ">": "<=",
}
_MIRRORED: Final[dict[ast.CompareOp, ast.CompareOp]] = {
    "<": ">",
    "<=": ">=",
    "=": "=",
    "!=": "!=",
    ">=": "<=",
    ">": "<",
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """`u(i) op v(j)`; both sums are written over i."""

    op: ast.CompareOp
    here: Terms
    there: Terms


@dataclass(frozen=True, slots=True)
class Case:
    """The conjunction of `where`, expressions at i that have these values, implies that the score is `then(j)`.

    A value is a truth value, or a symbol; `then` is written over i.
    """

    where: tuple[tuple[ast.Expression, bool | str], ...]
    then: ast.Expression


@dataclass(frozen=True, slots=True)
class Matching:
    """A Boolean score by disjoint cases, and equalities that must hold besides; no case: the score is false."""

    cases: tuple[Case, ...]
    equalities: tuple[Comparison, ...] = ()


@dataclass(frozen=True, slots=True)
class Ordered:
    """A score that is one comparison by `< <= >= >`."""

    comparison: Comparison


@dataclass(frozen=True, slots=True)
class Unequal:
    """A score that is one comparison by `!=`."""

    comparison: Comparison


Plan: TypeAlias = Matching | Ordered | Unequal


class Planner:
    """Finds the plan of a score.

    Args:
        source: the text, for errors.
        symbols: what symbol expressions can be.
        tuples: those of each relation.
    """

    def __init__(self, source: Source, symbols: tuple[str, ...], tuples: Tuples) -> None:
        self.source = source
        self.symbols = symbols
        self.tuples = tuples

    def plan(self, attention: ast.Attention) -> Plan:
        """The plan of an attention's score.

        Raises:
            Unsupported: if no construction fits.
        """
        score = folded(attention.score, self.tuples)
        parts = self._conjuncts(score, False)
        comparisons = [part for part in parts if is_mixed_comparison(part)]
        others = [part for part in parts if not is_mixed_comparison(part)]
        strict = [part for part in comparisons if isinstance(part, ast.Compare) and part.op != "="]
        if strict:
            return self._comparison_alone(strict[0], attention, alone=len(parts) == 1)
        rest = others[0] if len(others) == 1 else ast.Nary("&", tuple(others)) if others else ast.Truth(True)
        equalities = tuple(self._separated(part) for part in comparisons if isinstance(part, ast.Compare))
        return Matching(tuple(self._cases(folded(rest, self.tuples), attention)), equalities)

    def _comparison_alone(self, node: ast.Compare, attention: ast.Attention, alone: bool) -> Plan:
        if not alone:
            raise refuse.order_among_others(self.source, node)
        if node.op == "!=":
            return Unequal(self._separated(node))
        if attention.mask not in ORDER_MASKS[attention.side]:
            raise refuse.order_under_mask(self.source, attention, node)
        return Ordered(self._separated(node))

    # ---- integers ----

    def _conjuncts(self, node: ast.Expression, negated: bool) -> list[ast.Expression]:
        """The parts of a conjunction (of its negation), down to comparisons of integers at i with integers at j."""
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
                raise refuse.comparison_below(self.source, inner, node)

    def _separated(self, node: ast.Compare) -> Comparison:
        """The comparison with everything at i on the left and everything at j on the right."""
        here: list[tuple[int, ast.Expression]] = []
        there: list[tuple[int, ast.Expression]] = []
        # written with the side that reads i on the left, so that a number in an error has the user's sign
        swapped = "i" not in indices(node.left) or "j" not in indices(node.right)
        sign, relation = (-1, _MIRRORED[node.op]) if swapped else (1, node.op)
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
                    raise refuse.inseparable(self.source, part)
        return Comparison(relation, tuple(here), tuple(there))

    # ---- Booleans ----

    def _cases(self, score: ast.Expression, attention: ast.Attention) -> list[Case]:
        """Case by case over what the score reads at i (Shannon's expansion); the false cases are left out."""
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
                stack += [self._assigned(case, variable, value) for value in self._values(variable)]
            if len(found) + len(stack) > refuse.MAX_CASES:
                raise refuse.too_many_cases(self.source, attention.span)
        return found

    def _values(self, variable: ast.Expression) -> tuple[bool, ...] | tuple[str, ...]:
        return self.symbols if variable.sort is ast.Sort.SYMBOL else (False, True)

    def _assigned(self, case: Case, variable: ast.Expression, value: bool | str) -> Case:
        """The case in which an expression at i has a value."""
        constant = ast.Letter(value) if isinstance(value, str) else ast.Truth(value)
        then = replaced(case.then, lambda part: constant if part == variable else None)
        return Case((*case.where, (variable, value)), folded(then, self.tuples))


def _reads_i(node: ast.Expression) -> ast.Expression | None:
    """The first of the largest Boolean or symbol expressions that read i and not j."""
    reads = indices(node)
    if "i" not in reads:
        return None
    if "j" not in reads and node.sort is not ast.Sort.INT:
        return node
    return next((found for part in children(node) if (found := _reads_i(part)) is not None), None)
