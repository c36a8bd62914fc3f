"""The definition of every operator, quantifier by quantifier: slow, and independent of the oracles that it tests."""

from collections.abc import Callable

from hardsim.lang import ast

Word = tuple[str, ...] | tuple[frozenset[str], ...]
"""A word of symbols, or of the sets of propositions that are true at each position."""
At = Callable[[int], bool]

LENS: dict[ast.CountSide, Callable[[int, int], range]] = {
    "L": lambda i, n: range(1, i + 1),
    "R": lambda i, n: range(i, n + 1),
    "": lambda i, n: range(1, n + 1),
}


def formula_holds(node: ast.Node, word: Word, i: int) -> bool:
    """Return the value of a node at position i, by its definition: no columns, no shared results."""
    n = len(word)

    def here(sub: ast.Node) -> At:
        return lambda j: formula_holds(sub, word, j)

    match node:
        case ast.Symbol(name):
            here_is = word[i - 1]
            return name in here_is if isinstance(here_is, frozenset) else here_is == name
        case ast.Truth(value):
            return value
        case ast.Marker(which):
            return i == (1 if which == "first" else n)
        case ast.Not(arg):
            return not here(arg)(i)
        case ast.Nary("&", args):
            return all(here(arg)(i) for arg in args)
        case ast.Nary("|", args):
            return any(here(arg)(i) for arg in args)
        case ast.Nary("^", args):
            return sum(here(arg)(i) for arg in args) % 2 == 1
        case ast.Arrow("->", left, right):
            return here(right)(i) if here(left)(i) else True
        case ast.Arrow("<->", left, right):
            return here(left)(i) == here(right)(i)
        case ast.Unary(op, arg):
            return UNARY[op](here(arg), i, n)
        case ast.Binary(op, left, right):
            return BINARY[op](here(left), here(right), i, n)
        case ast.Bounded(op, least, most, args):
            *first, last = (here(arg) for arg in args)
            return BOUNDED[op](first[0] if first else lambda j: True, last, i, n, least, most)
        case ast.Compare(op, left, right):
            x, y = term_value(left, word, i), term_value(right, word, i)
            return {"<": x < y, "<=": x <= y, "=": x == y, "!=": x != y, ">=": x >= y, ">": x > y}[op]
        case ast.Congruent(term, modulus, residue):
            return (term_value(term, word, i) - residue) / modulus == (term_value(term, word, i) - residue) // modulus
        case _:
            raise AssertionError(node)


UNARY: dict[str, Callable[[At, int, int], bool]] = {
    "X": lambda phi, i, n: any(phi(j) for j in range(1, n + 1) if j == i + 1),
    "WX": lambda phi, i, n: all(phi(j) for j in range(1, n + 1) if j == i + 1),
    "Y": lambda phi, i, n: any(phi(j) for j in range(1, n + 1) if j == i - 1),
    "WY": lambda phi, i, n: all(phi(j) for j in range(1, n + 1) if j == i - 1),
    "F": lambda phi, i, n: any(phi(j) for j in range(1, n + 1) if j >= i),
    "G": lambda phi, i, n: all(phi(j) for j in range(1, n + 1) if j >= i),
    "O": lambda phi, i, n: any(phi(j) for j in range(1, n + 1) if j <= i),
    "H": lambda phi, i, n: all(phi(j) for j in range(1, n + 1) if j <= i),
}
BINARY: dict[str, Callable[[At, At, int, int], bool]] = {
    "U": lambda phi, psi, i, n: any(psi(j) and all(phi(k) for k in range(i, j)) for j in range(i, n + 1)),
    "W": lambda phi, psi, i, n: all(phi(j) or any(psi(k) for k in range(i, j + 1)) for j in range(i, n + 1)),
    "R": lambda phi, psi, i, n: all(psi(j) or any(phi(k) for k in range(i, j)) for j in range(i, n + 1)),
    "M": lambda phi, psi, i, n: any(phi(j) and all(psi(k) for k in range(i, j + 1)) for j in range(i, n + 1)),
    "S": lambda phi, psi, i, n: any(psi(j) and all(phi(k) for k in range(j + 1, i + 1)) for j in range(1, i + 1)),
    "T": lambda phi, psi, i, n: all(psi(j) or any(phi(k) for k in range(j + 1, i + 1)) for j in range(1, i + 1)),
}
"""Binary operators by their quantifiers.

The duals have quantifiers of their own: psi at every j up to a position, if any, at which phi released it.
"""


Within = Callable[[At, At, int, int, int, int], bool]
BOUNDED: dict[str, Within] = {
    "X": lambda _, phi, i, n, k, __: any(phi(j) for j in range(1, n + 1) if j - i == k),
    "WX": lambda _, phi, i, n, k, __: all(phi(j) for j in range(1, n + 1) if j - i == k),
    "Y": lambda _, phi, i, n, k, __: any(phi(j) for j in range(1, n + 1) if i - j == k),
    "WY": lambda _, phi, i, n, k, __: all(phi(j) for j in range(1, n + 1) if i - j == k),
    "F": lambda _, phi, i, n, low, up: any(phi(j) for j in range(1, n + 1) if low <= j - i <= up),
    "G": lambda _, phi, i, n, low, up: all(phi(j) for j in range(1, n + 1) if low <= j - i <= up),
    "O": lambda _, phi, i, n, low, up: any(phi(j) for j in range(1, n + 1) if low <= i - j <= up),
    "H": lambda _, phi, i, n, low, up: all(phi(j) for j in range(1, n + 1) if low <= i - j <= up),
    "U": lambda phi, psi, i, n, low, up: any(
        psi(j) and all(phi(k) for k in range(i, j)) for j in range(1, n + 1) if low <= j - i <= up
    ),
    "S": lambda phi, psi, i, n, low, up: any(
        psi(j) and all(phi(k) for k in range(j + 1, i + 1)) for j in range(1, n + 1) if low <= i - j <= up
    ),
}


def term_value(node: ast.Node, word: Word, i: int) -> int:
    n = len(word)
    match node:
        case ast.Integer(value):
            return value
        case ast.Position():
            return i
        case ast.Length():
            return n
        case ast.Count(side, arg):
            return sum(1 for j in LENS[side](i, n) if formula_holds(arg, word, j))
        case ast.Sum(op, left, right):
            return term_value(left, word, i) + (1 if op == "+" else -1) * term_value(right, word, i)
        case ast.Signed(op, arg):
            return (1 if op == "+" else -1) * term_value(arg, word, i)
        case ast.Product(left, right):
            return term_value(left, word, i) * term_value(right, word, i)
        case _:
            raise AssertionError(node)
