"""Random formulas that count, for property-based tests."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal, TypeAlias, TypeVar

from hypothesis import strategies as st

from hardsim.lang import ast
from tests.support.strategies import FUTURE_BINARY, FUTURE_UNARY, PAST_BINARY, PAST_UNARY

T = TypeVar("T")
Formulas: TypeAlias = st.SearchStrategy[ast.Formula]
Counts: TypeAlias = st.SearchStrategy[ast.Count]
Pair: TypeAlias = st.SearchStrategy[Sequence[ast.Formula]]

PREDICATES = ("EVEN", "ODD", "PRIME", "SQUARE", "POW2")
COMPARISONS: tuple[ast.CompareOp, ...] = ("<", "<=", "=", "!=", ">=", ">")
CHAINS: tuple[ast.NaryOp, ...] = ("&", "|", "^")
ARROWS: tuple[ast.ArrowOp, ...] = ("->", "<->")
MODULI = (*(2, 3, 4) * 5, 1)
"""Moduli to draw from. Modulus 1, which makes a congruence true, is rare but present."""
SIGNS: tuple[Literal["+", "-"], ...] = ("+", "+", "-")
ALL_SIDES: tuple[ast.CountSide, ...] = ("L", "R", "")


def counting_formulas(
    alphabet: Sequence[str],
    nesting: int = 2,
    sides: Sequence[ast.CountSide] = ALL_SIDES,
    predicates: bool = True,
    coefficients: int = 5,
) -> st.SearchStrategy[ast.Formula]:
    """Draw formulas with a comparison of counts, a congruence or a numerical predicate, beside temporal operators.

    Parsing their text gives the same tree. More than half of them are true at some positions of the binary words of
    length 6 or less and false at others.

    Args:
        alphabet: the symbols.
        nesting: how deep counts may stand inside counts, 1 or more.
        sides: the sides of counts. With `("L",)` nothing looks ahead: no future operator, no `last` and no `len`.
        predicates: include numerical predicates and congruences, not comparisons alone.
        coefficients: the largest coefficient and constant of a comparison, 1 or more.
    """
    return _Grammar(tuple(alphabet), tuple(sides), predicates, coefficients).formula(nesting)


def _likely(*choices: st.SearchStrategy[T]) -> st.SearchStrategy[T]:
    """Draw from one of these strategies; one that is listed several times is likelier."""
    return st.integers(0, len(choices) - 1).flatmap(lambda number: choices[number])


def _joined(node: Callable[..., ast.Formula], ops: Sequence[str], pair: Pair) -> Formulas:
    return st.builds(lambda op, args: node(op, *args), st.sampled_from(ops), pair)


def _chain(op: ast.NaryOp, *args: ast.Formula) -> ast.Nary:
    """Return a chain of an operator; an operand that is a chain of the same operator is merged into it."""
    parts = (arg.args if isinstance(arg, ast.Nary) and arg.op == op else (arg,) for arg in args)
    return ast.Nary(op, tuple(chain.from_iterable(parts)))


@dataclass(frozen=True)
class _Grammar:
    """Strategies for the parts of counting formulas."""

    alphabet: tuple[str, ...]
    sides: tuple[ast.CountSide, ...]
    predicates: bool
    coefficients: int

    @property
    def future(self) -> bool:
        return any(side != "L" for side in self.sides)

    @property
    def measures(self) -> tuple[ast.Term, ...]:
        return (ast.Position(), ast.Length()) if self.future else (ast.Position(),)

    def unary(self, arg: Formulas) -> Formulas:
        return st.builds(ast.Unary, st.sampled_from(PAST_UNARY + (FUTURE_UNARY if self.future else ())), arg)

    def binary(self, pair: Pair) -> Formulas:
        return _joined(ast.Binary, PAST_BINARY + (FUTURE_BINARY if self.future else ()), pair)

    def plain(self) -> Formulas:
        """Draw a formula without counts: a symbol, or one operator over symbols and, rarely, `first` and `last`.

        There is no `true` and no `false`: they would make too many formulas constant.
        """
        markers: list[ast.Formula] = [ast.Marker("first"), *([ast.Marker("last")] if self.future else [])]
        leaf = st.sampled_from([*map(ast.Symbol, self.alphabet)] * 3 + markers)
        pair, unary = st.lists(leaf, min_size=2, max_size=2, unique=True), self.unary(leaf)
        joined = (self.binary(pair), _joined(_chain, CHAINS, pair))
        return _likely(leaf, leaf, st.builds(ast.Not, leaf), unary, unary, *joined)

    def formula(self, nesting: int) -> Formulas:
        """Draw a counting atom alone, under an operator, or beside another formula."""
        atom, plain = self.atom(nesting), self.plain()
        pair = st.tuples(atom, _likely(plain, plain, atom)).flatmap(st.permutations)
        unary, binary = self.unary(atom), self.binary(pair)
        joined = (binary, binary, _joined(ast.Arrow, ARROWS, pair), _joined(_chain, CHAINS, pair))
        return _likely(atom, atom, st.builds(ast.Not, atom), unary, unary, *joined)

    def count(self, nesting: int) -> st.SearchStrategy[ast.Count]:
        """Draw a count of positions; its formula has no counts or, inside `nesting` - 1 more counts, some."""
        plain = self.plain()
        inner = plain if nesting == 1 else _likely(plain, plain, self.formula(nesting - 1))
        return st.builds(ast.Count, st.sampled_from(self.sides), inner)

    def atom(self, nesting: int) -> Formulas:
        count = self.count(nesting)
        comparison = _comparison(self, count)
        if not self.predicates:
            return comparison
        return _likely(comparison, comparison, comparison, _congruence(self, count), _predicate(count))


@st.composite
def _comparison(draw: st.DrawFn, grammar: _Grammar, count: Counts) -> ast.Formula:
    """Draw a comparison: one to three counts, sometimes the position or the length, and a constant, on two sides."""
    terms: list[ast.Term] = draw(_distinct(count, 3))
    if draw(st.booleans()):
        terms.append(draw(st.sampled_from(grammar.measures)))
    weighted = [_times(draw(st.integers(1, grammar.coefficients)), term) for term in terms]
    cut = draw(st.integers(1, max(1, len(weighted) - 1)))
    left, right = weighted[:cut], weighted[cut:]
    if not right:
        right.append(ast.Integer(draw(st.integers(0, 3 * grammar.coefficients))))
    elif draw(st.booleans()):
        right.append(ast.Integer(draw(st.integers(1, grammar.coefficients))))
    return ast.Compare(draw(st.sampled_from(COMPARISONS)), draw(_sum(left)), draw(_sum(right)))


@st.composite
def _congruence(draw: st.DrawFn, grammar: _Grammar, count: Counts) -> ast.Formula:
    """Draw a congruence of one or two counts with coefficients up to 3, sometimes the position or the length, and a
    constant.
    """
    terms: list[ast.Term] = draw(_distinct(count, 2))
    if draw(st.integers(0, 3)) == 0:
        terms.append(draw(st.sampled_from(grammar.measures)))
    weighted = [_times(draw(st.integers(1, 3)), term) for term in terms]
    if draw(st.booleans()):
        weighted.append(ast.Integer(draw(st.integers(1, 9))))
    modulus = draw(st.sampled_from(MODULI))
    return ast.Congruent(draw(_sum(weighted)), modulus, draw(st.integers(0, modulus - 1)))


@st.composite
def _predicate(draw: st.DrawFn, count: Counts) -> ast.Formula:
    """Draw a numerical predicate of the position or of one count; MOD of a count is a congruence."""
    term = draw(_likely(count, count, st.none()))
    if draw(st.integers(0, 4)):
        return ast.Predicate(draw(st.sampled_from(PREDICATES)), (), term)
    modulus = draw(st.sampled_from(MODULI))
    residue = draw(st.integers(0, modulus - 1))
    return ast.Predicate("MOD", (modulus, residue), None) if term is None else ast.Congruent(term, modulus, residue)


def _distinct(items: st.SearchStrategy[T], most: int) -> st.SearchStrategy[list[T]]:
    return st.lists(items, min_size=1, max_size=most, unique=True)


def _times(coefficient: int, term: ast.Term) -> ast.Term:
    return term if coefficient == 1 else ast.Product(ast.Integer(coefficient), term)


@st.composite
def _sum(draw: st.DrawFn, terms: Sequence[ast.Term]) -> ast.Term:
    """Add and subtract the terms at random, grouped to the left as the parser does."""
    first = terms[0]
    # the parser reads a sign before a product as the sign of its first factor
    negative = len(terms) > 1 and not isinstance(first, ast.Product) and draw(st.integers(0, 5)) == 5
    total: ast.Term = ast.Signed("-", first) if negative else first
    for term in terms[1:]:
        total = ast.Sum(draw(st.sampled_from(SIGNS)), total, term)
    return total
