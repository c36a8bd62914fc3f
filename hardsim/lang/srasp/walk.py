"""Walking the expressions of programs."""

from __future__ import annotations

from collections.abc import Iterator

from hardsim.lang.srasp import ast


def children(node: ast.Expression) -> tuple[ast.Expression, ...]:
    """The expressions directly below one, in the order of the text."""
    match node:
        case ast.Not(arg) | ast.AsInteger(arg) | ast.Scale(_, arg) | ast.Member(arg):
            return (arg,)
        case ast.Nary(_, args) | ast.Related(_, args):
            return args
        case ast.Arrow(_, left, right) | ast.Compare(_, left, right) | ast.Sum(_, left, right):
            return (left, right)
        case ast.Conditional(test, then, otherwise):
            return (test, then, otherwise)
        case _:
            return ()


def expressions(right: ast.RightHandSide) -> tuple[ast.Expression, ...]:
    """The expressions of a right-hand side, in the order of the text."""
    match right:
        case ast.PositionWise(expr):
            return (expr,)
        case ast.Attention(_, _, score, value, default):
            return (score, value, default)
        case ast.PrefixSum(value):
            return (value,)


def walk(*roots: ast.Expression) -> Iterator[ast.Expression]:
    """Every node of some expressions, each before its operands. No recursion."""
    stack = list(reversed(roots))
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))


def references(right: ast.RightHandSide) -> frozenset[str]:
    """The names of the vectors that a right-hand side reads."""
    return frozenset(node.name for node in walk(*expressions(right)) if isinstance(node, ast.Ref))
