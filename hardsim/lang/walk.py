"""Walking surface trees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hardsim.lang import ast

_AHEAD = frozenset({"X", "WX", "U", "R", "W", "M", "F", "G"})


def children(node: ast.Node) -> tuple[ast.Node, ...]:
    """The formulas and terms directly below a node, in the order of the text; a reference has none."""
    match node:
        case ast.Not(arg) | ast.Unary(_, arg) | ast.Count(_, arg):
            return (arg,)
        case ast.Signed(_, term) | ast.Congruent(term):
            return (term,)
        case ast.Nary(_, args):
            return args
        case ast.Arrow(_, left, right) | ast.Binary(_, left, right):
            return (left, right)
        case ast.Compare(_, first, second) | ast.Sum(_, first, second) | ast.Product(first, second):
            return (first, second)
        case ast.Predicate(_, _, argument):
            return () if argument is None else (argument,)
        case _:
            return ()


def walk(root: ast.Node, lets: Sequence[ast.Let] = ()) -> Iterator[ast.Node]:
    """Every node of a tree and, once each, of the definitions that it uses, directly or not. No recursion."""
    bodies = {let.name: let.body for let in lets}
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, ast.Ref):
            if node.name in bodies:
                stack.append(bodies.pop(node.name))
        else:
            stack.extend(reversed(children(node)))


def looks_ahead_only(formula: ast.Formula, lets: Sequence[ast.Let]) -> bool:
    """Whether there is a temporal operator (or a count) and all of them speak of this and later positions."""
    ahead = [
        node.op in _AHEAD if isinstance(node, ast.Unary | ast.Binary) else node.side == "R"
        for node in walk(formula, lets)
        if isinstance(node, ast.Unary | ast.Binary | ast.Count)
    ]
    return bool(ahead) and all(ahead)
