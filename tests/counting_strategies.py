"""Random formulas that count, for property-based tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from hypothesis import strategies as st

from hardsim.lang import ast
from tests.strategies import FUTURE_BINARY, FUTURE_UNARY, PAST_BINARY, PAST_UNARY

T = TypeVar("T")

PREDICATES = ("EVEN", "ODD", "PRIME", "SQUARE", "POW2")
COMPARISONS: tuple[ast.CompareOp, ...] = ("<", "<=", "=", "!=", ">=", ">")
CHAINS: tuple[ast.NaryOp, ...] = ("&", "|", "^")
ARROWS: tuple[ast.ArrowOp, ...] = ("->", "<->")
MODULI = (*(2, 3, 4) * 5, 1)
"""Modulus 1, which makes a congruence true, is rare but there."""
SIGNS: tuple[Literal["+", "-"], ...] = ("+", "+", "-")
ALL_SIDES: tuple[ast.Side, ...] = ("L", "R", "")


def counting_formulas(
    alphabet: Sequence[str],
    nesting: int = 2,
    sides: Sequence[ast.Side] = ALL_SIDES,
    predicates: bool = True,
    coefficients: int = 5,
) -> st.SearchStrategy[ast.Formula]:
    """Formulas with a comparison of counts, a congruence or a numerical predicate in them, beside temporal operators.

    Their text is read back as the same tree. More than half of them are true at some positions of the binary words of
    length 6 or less and false at others.

    Args:
        alphabet: the symbols.
        nesting: how deep counts may stand inside counts, 1 or more.
        sides: the sides of counts. With `("L",)` nothing looks ahead: no future operator, no `last` and no `len`.
        predicates: whether there are numerical predicates and congruences, not comparisons alone.
        coefficients: the largest coefficient and constant of a comparison, 1 or more.
    """
    future = any(side != "L" for side in sides)
    return _formula(_Grammar(tuple(alphabet), tuple(sides), predicates, coefficients, future), nesting)


@dataclass(frozen=True)
class _Grammar:
    """What formulas are made of."""

    alphabet: tuple[str, ...]
    sides: tuple[ast.Side, ...]
    predicates: bool
    coefficients: int
    future: bool

    @property
    def unary(self) -> tuple[ast.UnaryOp, ...]:
        return PAST_UNARY + (FUTURE_UNARY if self.future else ())

    @property
    def binary(self) -> tuple[ast.BinaryOp, ...]:
        return PAST_BINARY + (FUTURE_BINARY if self.future else ())

    @property
    def measures(self) -> tuple[ast.Term, ...]:
        return (ast.Position(), ast.Length()) if self.future else (ast.Position(),)


@st.composite
def _formula(draw: st.DrawFn, grammar: _Grammar, nesting: int) -> ast.Formula:
    """A counting atom alone, under an operator, or beside another formula."""
    atom = draw(_atom(grammar, nesting))
    kind = draw(st.sampled_from(["atom", "atom", "not", "unary", "unary", "binary", "binary", "arrow", "chain"]))
    if kind == "atom":
        return atom
    if kind == "not":
        return ast.Not(atom)
    if kind == "unary":
        return ast.Unary(draw(st.sampled_from(grammar.unary)), atom)
    other = draw(_atom(grammar, nesting) if draw(st.integers(0, 2)) == 2 else _plain(grammar))
    left, right = (atom, other) if draw(st.booleans()) else (other, atom)
    if kind == "binary":
        return ast.Binary(draw(st.sampled_from(grammar.binary)), left, right)
    if kind == "arrow":
        return ast.Arrow(draw(st.sampled_from(ARROWS)), left, right)
    op = draw(st.sampled_from(CHAINS))
    if isinstance(other, ast.Nary) and other.op == op:
        return ast.Nary(op, (*other.args, atom))  # a chain directly below the same chain is one node
    return ast.Nary(op, (left, right))


@st.composite
def _plain(draw: st.DrawFn, grammar: _Grammar) -> ast.Formula:
    """A formula without counts: a symbol, or one operator over symbols and, rarely, `first` and `last`.

    There is no `true` and no `false`: they would make too many formulas constant.
    """
    markers: list[ast.Formula] = [ast.Marker("first"), *([ast.Marker("last")] if grammar.future else [])]
    leaf = st.sampled_from([*map(ast.Symbol, grammar.alphabet)] * 3 + markers)
    left, right = draw(st.lists(leaf, min_size=2, max_size=2, unique=True))
    kind = draw(st.sampled_from(["leaf", "leaf", "not", "unary", "unary", "binary", "chain"]))
    if kind == "unary":
        return ast.Unary(draw(st.sampled_from(grammar.unary)), left)
    if kind == "binary":
        return ast.Binary(draw(st.sampled_from(grammar.binary)), left, right)
    if kind == "chain":
        return ast.Nary(draw(st.sampled_from(CHAINS)), (left, right))
    return ast.Not(left) if kind == "not" else left


@st.composite
def _count(draw: st.DrawFn, grammar: _Grammar, nesting: int) -> ast.Count:
    """A count of positions with a formula without counts or, inside `nesting` - 1 more counts, with them."""
    side = draw(st.sampled_from(grammar.sides))
    nested = nesting > 1 and draw(st.integers(0, 2)) == 2
    return ast.Count(side, draw(_formula(grammar, nesting - 1) if nested else _plain(grammar)))


@st.composite
def _atom(draw: st.DrawFn, grammar: _Grammar, nesting: int) -> ast.Formula:
    kinds: list[Callable[[_Grammar, int], st.SearchStrategy[ast.Formula]]] = [_comparison]
    if grammar.predicates:
        kinds = [_comparison, _comparison, _comparison, _congruence, _predicate]
    return draw(draw(st.sampled_from(kinds))(grammar, nesting))


@st.composite
def _comparison(draw: st.DrawFn, grammar: _Grammar, nesting: int) -> ast.Formula:
    """One to three counts, sometimes the position or the length, and a constant, on two sides."""
    terms: list[ast.Term] = draw(_distinct(_count(grammar, nesting), 3))
    if draw(st.booleans()):
        terms.append(draw(st.sampled_from(grammar.measures)))
    weighted = [_times(draw(st.integers(1, grammar.coefficients)), term) for term in terms]
    cut = draw(st.integers(1, max(1, len(weighted) - 1)))
    left, right = weighted[:cut], weighted[cut:]
    if not right:
        right.append(ast.Integer(draw(st.integers(0, 3 * grammar.coefficients))))
    elif draw(st.booleans()):
        right.append(ast.Integer(draw(st.integers(1, grammar.coefficients))))
    op = draw(st.sampled_from(COMPARISONS))
    return ast.Compare(op, draw(_sum(left)), draw(_sum(right)))


@st.composite
def _congruence(draw: st.DrawFn, grammar: _Grammar, nesting: int) -> ast.Formula:
    """Of one or two counts with coefficients up to 3, sometimes the position or the length, and a constant."""
    terms: list[ast.Term] = draw(_distinct(_count(grammar, nesting), 2))
    if draw(st.integers(0, 3)) == 0:
        terms.append(draw(st.sampled_from(grammar.measures)))
    weighted = [_times(draw(st.integers(1, 3)), term) for term in terms]
    if draw(st.booleans()):
        weighted.append(ast.Integer(draw(st.integers(1, 9))))
    modulus = draw(st.sampled_from(MODULI))
    return ast.Congruent(draw(_sum(weighted)), modulus, draw(st.integers(0, modulus - 1)))


@st.composite
def _predicate(draw: st.DrawFn, grammar: _Grammar, nesting: int) -> ast.Formula:
    """A numerical predicate of the position or of one count; MOD of a count is a congruence."""
    term = draw(st.one_of(_count(grammar, nesting), _count(grammar, nesting), st.none()))
    if draw(st.integers(0, 4)) == 0:
        modulus = draw(st.sampled_from(MODULI))
        residue = draw(st.integers(0, modulus - 1))
        return _modulo(modulus, residue, term)
    return ast.Predicate(draw(st.sampled_from(PREDICATES)), (), term)


def _modulo(modulus: int, residue: int, term: ast.Term | None) -> ast.Formula:
    if term is None:
        return ast.Predicate("MOD", (modulus, residue), None)
    return ast.Congruent(term, modulus, residue)


def _distinct(items: st.SearchStrategy[T], most: int) -> st.SearchStrategy[list[T]]:
    return st.lists(items, min_size=1, max_size=most, unique=True)


def _times(coefficient: int, term: ast.Term) -> ast.Term:
    return term if coefficient == 1 else ast.Product(ast.Integer(coefficient), term)


@st.composite
def _sum(draw: st.DrawFn, terms: Sequence[ast.Term]) -> ast.Term:
    """The terms added and subtracted, grouped to the left as the parser does."""
    first = terms[0]
    # a sign before a product is read as the sign of its first factor
    negative = len(terms) > 1 and not isinstance(first, ast.Product) and draw(st.integers(0, 5)) == 5
    total: ast.Term = ast.Signed("-", first) if negative else first
    for term in terms[1:]:
        total = ast.Sum(draw(st.sampled_from(SIGNS)), total, term)
    return total
