"""Rewriting expressions: which positions they read, the same at another position, constants folded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import TypeAlias

from hardsim.errors import Span
from hardsim.lang.srasp import ast
from hardsim.lang.srasp.walk import children, walk

Tuples: TypeAlias = Mapping[str, Set[tuple[str, ...]]]
"""The tuples of each relation."""


def indices(node: ast.Expression) -> frozenset[ast.Index]:
    """Which of i and j an expression depends on; `len` is the same at both."""
    return frozenset(
        part.index for part in walk(node) if isinstance(part, ast.HasSymbol | ast.Input | ast.Position | ast.Ref)
    )


def mixed(node: ast.Expression) -> bool:
    """Whether an expression reads both i and j."""
    return len(indices(node)) == 2


def is_mixed_comparison(node: ast.Expression) -> bool:
    """Whether a node compares integers, and reads both i and j."""
    return isinstance(node, ast.Compare) and node.operands is ast.Sort.INT and mixed(node)


def at_i(node: ast.Expression) -> ast.Expression:
    """The expression with i in place of j."""

    def moved(part: ast.Expression) -> ast.Expression | None:
        match part:
            case ast.HasSymbol(symbol, "j"):
                return ast.HasSymbol(symbol, "i", span=part.span)
            case ast.Input("j"):
                return ast.Input("i", span=part.span)
            case ast.Position("j"):
                return ast.Position("i", span=part.span)
            case ast.Length("j"):
                return ast.Length("i", span=part.span)
            case ast.Ref(name, "j", sort):
                return ast.Ref(name, "i", sort, span=part.span)
            case _:
                return None

    return replaced(node, moved)


def replaced(node: ast.Expression, change: Callable[[ast.Expression], ast.Expression | None]) -> ast.Expression:
    """The expression with every part that `change` has something else for replaced, from the top down."""
    other = change(node)
    return other if other is not None else with_children(node, [replaced(part, change) for part in children(node)])


def with_children(node: ast.Expression, parts: list[ast.Expression]) -> ast.Expression:
    """The same node above other operands."""
    span = node.span
    match node, parts:
        case ast.Not(), [arg]:
            return ast.Not(arg, span=span)
        case ast.AsInteger(), [arg]:
            return ast.AsInteger(arg, span=span)
        case ast.Scale(factor), [arg]:
            return ast.Scale(factor, arg, span=span)
        case ast.Member(_, symbols), [arg]:
            return ast.Member(arg, symbols, span=span)
        case ast.Nary(op), _:
            return ast.Nary(op, tuple(parts), span=span)
        case ast.Related(relation), _:
            return ast.Related(relation, tuple(parts), span=span)
        case ast.Arrow(arrow), [left, right]:
            return ast.Arrow(arrow, left, right, span=span)
        case ast.Compare(compare), [left, right]:
            return ast.Compare(compare, left, right, span=span)
        case ast.Sum(sign), [left, right]:
            return ast.Sum(sign, left, right, span=span)
        case ast.Conditional(), [test, then, otherwise]:
            return ast.Conditional(test, then, otherwise, span=span)
        case _:
            return node


def folded(node: ast.Expression, tuples: Tuples) -> ast.Expression:
    """The expression with constants folded; in `& | ^`, what reads i only is one operand, what reads j only another."""
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
        case ast.Compare(op, ast.Letter(left), ast.Letter(right)):
            return ast.Truth((left == right) == (op == "="), span=node.span)
        case ast.Member(ast.Letter(name), symbols):
            return ast.Truth(name in symbols, span=node.span)
        case ast.Related(relation, args) if all(isinstance(arg, ast.Letter) for arg in args):
            names = tuple(arg.name for arg in args if isinstance(arg, ast.Letter))
            return ast.Truth(names in tuples[relation], span=node.span)
        case ast.Conditional(ast.Truth(value), then, otherwise):
            return then if value else otherwise
        case ast.Conditional(_, then, otherwise) if then == otherwise:
            return then
        case _:
            return node


def _folded_nary(node: ast.Nary) -> ast.Expression:
    """Constants folded, nested chains joined, repetitions dropped, what reads one position only gathered."""
    op, span = node.op, node.span
    flat = [part for arg in node.args for part in (arg.args if isinstance(arg, ast.Nary) and arg.op == op else (arg,))]
    constants = [arg.value for arg in flat if isinstance(arg, ast.Truth)]
    rest = [arg for arg in flat if not isinstance(arg, ast.Truth)]
    if op == "^":
        joined = _joined(op, rest, node)
        if sum(constants) % 2 == 0:
            return joined
        return ast.Truth(not joined.value) if isinstance(joined, ast.Truth) else ast.Not(joined, span=span)
    absorbing = op == "|"
    if absorbing in constants:
        return ast.Truth(absorbing, span=span)
    return _joined(op, list(dict.fromkeys(rest)), node)


def _joined(op: ast.NaryOp, args: Sequence[ast.Expression], node: ast.Nary) -> ast.Expression:
    """A chain of operands, grouped by what they read; the mixed ones stand alone."""
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
        case "<->", ast.Truth(value), other:
            return other if value else _negated(other, span)
        case "<->", other, ast.Truth(value):
            return other if value else _negated(other, span)
        case _:
            return ast.Arrow(op, left, right, span=span)


def _negated(node: ast.Expression, span: Span) -> ast.Expression:
    return ast.Truth(not node.value, span=span) if isinstance(node, ast.Truth) else ast.Not(node, span=span)
