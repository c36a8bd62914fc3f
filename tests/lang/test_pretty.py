"""Printing: the canonical text has the fewest brackets, and parsing it gives the same tree and the same file."""

from dataclasses import dataclass
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.lang import ast
from hardsim.lang.ast import Count, Integer, Length, Nary, Position, Symbol
from hardsim.lang.ltl_parser import MIXED_NOTE
from tests.support.language import FormulaFile, SourceError, format_file, format_formula, parse_expression, parse_text
from tests.support.mistakes import raised

HOSTILE = ("(", ")", "'", "//", "#", "&", "X", "U", "0", "1", "let", "a", "Q_a", "ab", "é", "it's", "''", "7up", "S")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("((a))", "a"),
        ("Q_a", "a"),
        ("'a'", "a"),
        ("'X'", "'X'"),
        ("'''", "''''"),
        ("~a", "!a"),
        ("not ( a && b )", "!(a & b)"),
        ("(!a) and (X b)", "!a & X b"),
        ("G(F(a))", "G F a"),
        ("[] <> (a or b)", "G F(a | b)"),
        ("X[!] N wX Z a", "X WX WX WY a"),
        ("(a V b)", "a R b"),
        ("(a U b) U c", "(a U b) U c"),
        ("a U (b U c)", "a U (b U c)"),
        ("a U (b S c)", "a U (b S c)"),
        ("(a -> b) -> c", "(a -> b) -> c"),
        ("a => (b => c)", "a -> (b -> c)"),
        ("(a -> b) <=> c", "(a -> b) <-> c"),
        ("(a <-> b) <-> c", "(a <-> b) <-> c"),
        ("a | (b ^ (c & (a U (!b))))", "a | (b ^ c & a U !b)"),
        ("((a | b) ^ c) & a", "((a | b) ^ c) & a"),
        ("(a & b) & (c & a)", "a & b & c & a"),
        ("F (pos = 3)", "F pos = 3"),
        ("F (!(pos==3))", "F !pos = 3"),
        ("((1 + 2) * pos) - (3 - 4) >= -(-2)", "(1 + 2) * pos - (3 - 4) >= --2"),
        ("# L [ a ] + 1 mod 2 = 1", "#L[a] + 1 mod 2 = 1"),
        ("MOD(2,1,#R[a|b])", "#R[a | b] mod 2 = 1"),
        ("MOD( 2 ,1)", "MOD(2, 1)"),
        ("EVEN (#[a])", "EVEN(#[a])"),
        ("⊤ ∧ ⊥ ∨ (first ⊕ last)", "true & false | (first ^ last)"),
    ],
)
def test_canonical_text(text: str, canonical: str) -> None:
    tree = parse_expression(text, "a b c X '").formula
    assert format_formula(tree) == canonical
    assert parse_expression(canonical, "a b c X '").formula == tree


# ---- random trees ----

SIGNS = st.sampled_from(["+", "-"])
SIDES = st.sampled_from(get_args(ast.CountSide))
INTEGERS = st.builds(Integer, st.integers(0, 99))
CONSTANTS: st.SearchStrategy[ast.Term] = st.recursive(
    INTEGERS,
    lambda inner: st.one_of(
        st.builds(ast.Signed, SIGNS, inner),
        st.builds(ast.Sum, SIGNS, inner, inner),
        st.builds(ast.Product, inner, inner),
    ),
    max_leaves=4,
)
"""Draws terms without position, length or count."""


def flat(op: ast.NaryOp, args: list[ast.Formula]) -> Nary:
    """Return a chain as the syntax declares it: no member is a chain of the same operator."""
    opened: list[ast.Formula] = []
    for arg in args:
        opened.extend(arg.args if isinstance(arg, Nary) and arg.op == op else (arg,))
    return Nary(op, tuple(opened))


@dataclass(frozen=True)
class Words:
    """The names from which the leaves of random trees are drawn."""

    formulas: tuple[ast.Formula, ...]
    terms: tuple[ast.Term, ...] = (Position(), Length())


def terms(words: Words, depth: int) -> st.SearchStrategy[ast.Term]:
    """Draw terms of at most `depth` levels."""
    leaf = st.sampled_from(words.terms)
    if not depth:
        return leaf
    inner = st.deferred(lambda: terms(words, depth - 1))
    return st.one_of(
        leaf,
        INTEGERS,
        st.builds(Count, SIDES, formulas(words, depth - 1)),
        st.builds(ast.Signed, SIGNS, inner),
        st.builds(ast.Sum, SIGNS, inner, inner),
        st.builds(ast.Product, CONSTANTS, inner),
        st.builds(ast.Product, inner, CONSTANTS),
    )


def predicates(words: Words, depth: int) -> st.SearchStrategy[ast.Formula]:
    """Draw comparisons, congruences and numerical predicates."""
    inner, names = terms(words, depth), st.sampled_from(["EVEN", "ODD", "PRIME", "SQUARE", "POW2"])
    modulo = st.integers(1, 9).flatmap(lambda modulus: st.tuples(st.just(modulus), st.integers(0, modulus - 1)))
    return st.one_of(
        st.builds(ast.Compare, st.sampled_from(get_args(ast.CompareOp)), inner, inner),
        st.builds(lambda term, pair: ast.Congruent(term, *pair), inner, modulo),
        st.builds(ast.Predicate, names, st.just(()), st.none() | inner),
        st.builds(ast.Predicate, st.just("MOD"), modulo, st.none()),
    )


def formulas(words: Words, depth: int) -> st.SearchStrategy[ast.Formula]:
    """Draw formulas of at most `depth` levels."""
    leaf = st.sampled_from(words.formulas)
    if not depth:
        return leaf
    inner = st.deferred(lambda: formulas(words, depth - 1))
    chain = st.builds(flat, st.sampled_from(get_args(ast.NaryOp)), st.lists(inner, min_size=2, max_size=3))
    return st.one_of(
        leaf,
        st.builds(ast.Not, inner),
        st.builds(ast.Unary, st.sampled_from(get_args(ast.UnaryOp)), inner),
        st.builds(ast.Binary, st.sampled_from(get_args(ast.BinaryOp)), inner, inner),
        chain,
        chain,
        st.builds(ast.Arrow, st.sampled_from(get_args(ast.ArrowOp)), inner, inner),
        st.deferred(lambda: predicates(words, depth - 1)),
    )


CONSTANT_FORMULAS = (ast.Truth(True), ast.Truth(False), ast.Marker("first"), ast.Marker("last"))
HOSTILE_WORDS = Words((*map(Symbol, HOSTILE), *CONSTANT_FORMULAS))


@given(formulas(HOSTILE_WORDS, 4))
def test_a_printed_formula_parses_to_the_same_tree(tree: ast.Formula) -> None:
    text = format_formula(tree)
    again = parse_expression(text, HOSTILE).formula
    assert again == tree
    assert format_formula(again) == text


@given(formulas(HOSTILE_WORDS, 4))
def test_no_bracket_can_be_left_out(tree: ast.Formula) -> None:
    """Every pair of round brackets that can be removed without changing the tree is a defect (arguments of predicates
    stay, and so do those between `->` and `<->`, without which there is a note).
    """
    text = format_formula(tree)
    for opening, closing in bracket_pairs(text):
        without = text[:opening] + " " + text[opening + 1 : closing] + " " + text[closing + 1 :]
        try:
            other = parse_expression(without, HOSTILE)
        except SourceError:
            continue
        assert other.formula != tree or MIXED_NOTE in other.notes, without


def bracket_pairs(text: str) -> list[tuple[int, int]]:
    """Return the offsets of matching round brackets outside quotes."""
    pairs = []
    stack: list[int] = []
    quoted = False
    for offset, char in enumerate(text):
        if char == "'":
            quoted = not quoted
        elif char == "(" and not quoted:
            stack.append(offset)
        elif char == ")" and not quoted:
            pairs.append((stack.pop(), offset))
    return pairs


def test_deep_trees_are_printed() -> None:
    for text in ("!" * 200 + "a", "(" * 99 + "a" + " -> b)" * 99 + " -> a", "(" * 199 + "a" + " U b)" * 199 + " U a"):
        assert format_formula(parse_expression(text, "a b").formula) == text
    tree: ast.Formula = Symbol("a")
    for _ in range(20_000):
        tree = ast.Unary("X", tree)
    assert format_formula(tree) == "X " * 20_000 + "a"


# ---- files ----


@st.composite
def files(draw: st.DrawFn, alphabet: tuple[str, ...]) -> FormulaFile:
    """Draw files in which later parts may use every earlier definition."""
    symbols: tuple[ast.Formula, ...] = (*map(Symbol, alphabet), *CONSTANT_FORMULAS)
    own = ast.Predicate("MID", (), None)
    plain = Words((*symbols, own))
    more = Words((*symbols, ast.Ref("phi")), (Position(), Length(), ast.Ref("k_1")))
    phi = draw(formulas(plain, 2))
    counted = Count("L", phi)
    every = Words((*more.formulas, own, ast.Ref("W0"), ast.Predicate("MID", (), ast.Ref("k_1"))), more.terms)
    word = st.lists(st.sampled_from(alphabet), min_size=1, max_size=30).map(tuple)
    return FormulaFile(
        alphabet=alphabet,
        formula=draw(formulas(every, 3)),
        lets=(ast.Let("phi", phi), ast.Let("k_1", counted), ast.Let("W0", draw(formulas(more, 2)))),
        predicates=(ast.UserPredicate("MID", ("i", "n"), "2*i ==\n    n + 1"),),
        at=draw(st.sampled_from(["last", "first"])),
        origin=draw(st.sampled_from(["", "paper, section 6"])),
        title=draw(st.sampled_from(["", "A title: with a colon // and slashes", "é"])),
        examples=tuple(draw(st.lists(st.builds(ast.Example, word, st.booleans()), max_size=8))),
    )


@given(st.one_of(files(HOSTILE), files(("0", "1", "'", "(", "/", "#", "S"))))
def test_a_printed_file_parses_to_the_same_file(file: FormulaFile) -> None:
    text = format_file(file)
    again = parse_text(text)
    assert again == file
    assert format_file(again) == text


def test_the_text_of_a_file() -> None:
    text = (
        "// Title\n"
        "alphabet: a 0 X\n"
        "source: nobody\n"
        "at: first\n"
        "accept: a0  0\n"
        "reject: X\n"
        "accept: XX\n"
        "pred MID(i, n) = 2*i ==\n"
        "   n + 1\n"
        "let both = a & !'X'\n"
        "let k = 2 * #L[both]\n"
        "F(both | 0 & k = 1 & MID)\n"
    )
    assert format_file(parse_text(text)) == text


def test_long_lines_of_examples_are_divided() -> None:
    words = [("a",) * 60, ("b",) * 30, ("a", "b") * 10]
    file = FormulaFile(("a", "b"), Symbol("a"), examples=tuple(ast.Example(word, True) for word in words))
    lines = format_file(file).split("\n")
    assert lines[1:3] == [f"accept: {'a' * 60}  {'b' * 30}", f"accept: {'ab' * 10}"]
    assert parse_text(format_file(file)).examples == file.examples


def test_an_explicit_position_is_kept_where_it_silences_the_note() -> None:
    for at in ("", "at: last\n"):
        file = parse_text(f"alphabet: a\n{at}F a")
        assert parse_text(format_file(file)).notes == file.notes
        assert ("at: last" in format_file(file)) == bool(at)


def test_a_predicate_from_elsewhere_is_indented() -> None:
    predicate = ast.UserPredicate("P", ("i", "n"), "i ==\nn")
    file = FormulaFile(("a",), ast.Predicate("P", (), None), predicates=(predicate,))
    assert parse_text(format_file(file)).predicates[0].text == "i ==\n  n"


def test_what_is_no_node_is_refused() -> None:
    no_node: Any = FormulaFile
    raised(TypeError, format_formula, no_node, match="not a node")
