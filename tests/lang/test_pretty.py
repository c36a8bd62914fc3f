"""Printing: canonical text with the fewest brackets, and reading it again gives the same tree and the same file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.errors import SourceError
from hardsim.lang import ast
from hardsim.lang.ast import Count, FormulaFile, Integer, Length, Nary, Position, Symbol
from hardsim.lang.parse import parse_expression, parse_text
from hardsim.lang.pretty import format_file, format_formula

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
        ("a U (b U c)", "a U b U c"),
        ("a U (b S c)", "a U (b S c)"),
        ("(a -> b) -> c", "(a -> b) -> c"),
        ("a => (b => c)", "a -> b -> c"),
        ("(a -> b) <=> c", "(a -> b) <-> c"),
        ("(a <-> b) <-> c", "(a <-> b) <-> c"),
        ("a | (b ^ (c & (a U (!b))))", "a | b ^ c & a U !b"),
        ("((a | b) ^ c) & a", "((a | b) ^ c) & a"),
        ("(a & b) & (c & a)", "a & b & c & a"),
        ("F (pos = 3)", "F pos = 3"),
        ("F (!(pos==3))", "F !pos = 3"),
        ("((1 + 2) * pos) - (3 - 4) >= -(-2)", "(1 + 2) * pos - (3 - 4) >= --2"),
        ("# L [ a ] + 1 mod 2 = 1", "#L[a] + 1 mod 2 = 1"),
        ("MOD(2,1,#R[a|b])", "#R[a | b] mod 2 = 1"),
        ("MOD( 2 ,1)", "MOD(2, 1)"),
        ("EVEN (#[a])", "EVEN(#[a])"),
        ("⊤ ∧ ⊥ ∨ first ⊕ last", "true & false | first ^ last"),
    ],
)
def test_canonical_text(text: str, canonical: str) -> None:
    tree = parse_expression(text, "a b c X '").formula
    assert format_formula(tree) == canonical
    assert parse_expression(canonical, "a b c X '").formula == tree


# ---- random trees ----

SIGNS: list[Literal["+", "-"]] = ["+", "-"]
CHAINS: list[ast.NaryOp] = ["&", "|", "^"]
POSITIONS: list[Literal["last", "first"]] = ["last", "first"]
ARROWS: list[ast.ArrowOp] = ["->", "<->"]
SIDES: list[ast.Side] = ["L", "R", ""]
UNARY: list[ast.UnaryOp] = ["X", "WX", "Y", "WY", "O", "H", "F", "G"]
BINARY: list[ast.BinaryOp] = ["U", "R", "W", "M", "S", "T"]
COMPARE: list[ast.CompareOp] = ["<", "<=", "=", "!=", ">=", ">"]


def flat(op: ast.NaryOp, args: list[ast.Formula]) -> Nary:
    """A chain as the syntax declares it: no member is a chain of the same operator."""
    opened: list[ast.Formula] = []
    for arg in args:
        opened.extend(arg.args if isinstance(arg, Nary) and arg.op == op else (arg,))
    return Nary(op, tuple(opened))


@dataclass(frozen=True)
class Words:
    """What the leaves of random trees are taken from."""

    formulas: tuple[ast.Formula, ...]
    terms: tuple[ast.Term, ...] = (Position(), Length())


@st.composite
def constants(draw: st.DrawFn, depth: int) -> ast.Term:
    """Terms without position, length or count."""
    kind = draw(st.sampled_from(["leaf", "leaf", "signed", "sum", "product"])) if depth else "leaf"
    if kind == "signed":
        return ast.Signed(draw(st.sampled_from(SIGNS)), draw(constants(depth - 1)))
    if kind == "sum":
        return ast.Sum(draw(st.sampled_from(SIGNS)), draw(constants(depth - 1)), draw(constants(depth - 1)))
    if kind == "product":
        return ast.Product(draw(constants(depth - 1)), draw(constants(depth - 1)))
    return Integer(draw(st.integers(0, 99)))


@st.composite
def terms(draw: st.DrawFn, words: Words, depth: int) -> ast.Term:
    kinds = ["leaf", "integer", "count", "signed", "sum", "left", "right"]
    kind = draw(st.sampled_from(kinds)) if depth else "leaf"
    if kind == "integer":
        return Integer(draw(st.integers(0, 99)))
    if kind == "count":
        return Count(draw(st.sampled_from(SIDES)), draw(formulas(words, depth - 1)))
    if kind == "signed":
        return ast.Signed(draw(st.sampled_from(SIGNS)), draw(terms(words, depth - 1)))
    if kind == "sum":
        return ast.Sum(draw(st.sampled_from(SIGNS)), draw(terms(words, depth - 1)), draw(terms(words, depth - 1)))
    if kind == "left":
        return ast.Product(draw(constants(2)), draw(terms(words, depth - 1)))
    if kind == "right":
        return ast.Product(draw(terms(words, depth - 1)), draw(constants(2)))
    return draw(st.sampled_from(words.terms))


@st.composite
def predicates(draw: st.DrawFn, words: Words, depth: int) -> ast.Formula:
    """Comparisons, congruences and numerical predicates."""
    kind = draw(st.sampled_from(["compare", "congruent", "predicate", "modulo"]))
    modulus = draw(st.integers(1, 9))
    residue = draw(st.integers(0, modulus - 1))
    if kind == "compare":
        left, right = draw(terms(words, depth)), draw(terms(words, depth))
        return ast.Compare(draw(st.sampled_from(COMPARE)), left, right)
    if kind == "congruent":
        return ast.Congruent(draw(terms(words, depth)), modulus, residue)
    if kind == "predicate":
        name = draw(st.sampled_from(["EVEN", "ODD", "PRIME", "SQUARE", "POW2"]))
        return ast.Predicate(name, (), draw(st.one_of(st.none(), terms(words, depth))))
    return ast.Predicate("MOD", (modulus, residue), None)


@st.composite
def formulas(draw: st.DrawFn, words: Words, depth: int) -> ast.Formula:
    kinds = ["leaf", "not", "unary", "binary", "nary", "nary", "arrow", "predicate"]
    kind = draw(st.sampled_from(kinds)) if depth else "leaf"
    if kind == "leaf":
        return draw(st.sampled_from(words.formulas))
    if kind == "predicate":
        return draw(predicates(words, depth - 1))
    first = draw(formulas(words, depth - 1))
    if kind == "not":
        return ast.Not(first)
    if kind == "unary":
        return ast.Unary(draw(st.sampled_from(UNARY)), first)
    second = draw(formulas(words, depth - 1))
    if kind == "binary":
        return ast.Binary(draw(st.sampled_from(BINARY)), first, second)
    if kind == "arrow":
        return ast.Arrow(draw(st.sampled_from(ARROWS)), first, second)
    more = draw(st.lists(formulas(words, depth - 1), max_size=1))
    return flat(draw(st.sampled_from(CHAINS)), [first, second, *more])


CONSTANT_FORMULAS: tuple[ast.Formula, ...] = (
    ast.Truth(True),
    ast.Truth(False),
    ast.Marker("first"),
    ast.Marker("last"),
)
HOSTILE_WORDS = Words((*map(Symbol, HOSTILE), *CONSTANT_FORMULAS))


@given(formulas(HOSTILE_WORDS, 4))
def test_a_printed_formula_parses_to_the_same_tree(tree: ast.Formula) -> None:
    text = format_formula(tree)
    again = parse_expression(text, HOSTILE).formula
    assert again == tree
    assert format_formula(again) == text


@given(formulas(HOSTILE_WORDS, 4))
def test_no_bracket_can_be_left_out(tree: ast.Formula) -> None:
    """Every pair of round brackets that can go without changing the tree is a defect (arguments of predicates stay)."""
    text = format_formula(tree)
    for opening, closing in bracket_pairs(text):
        without = text[:opening] + " " + text[opening + 1 : closing] + " " + text[closing + 1 :]
        try:
            other = parse_expression(without, HOSTILE).formula
        except SourceError:
            continue
        assert other != tree, without


def bracket_pairs(text: str) -> list[tuple[int, int]]:
    """The offsets of matching round brackets outside quotes."""
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
    deep = "!" * 200 + "a"
    assert format_formula(parse_expression(deep, "a").formula) == deep
    tree: ast.Formula = Symbol("a")
    for _ in range(20_000):
        tree = ast.Unary("X", tree)
    assert format_formula(tree) == "X " * 20_000 + "a"
    both = "(a -> " * 99 + "b" + ") -> a" * 99
    assert format_formula(parse_expression(both, "a b").formula) == both
    left = "(" * 199 + "a" + " U b)" * 199 + " U a"
    assert format_formula(parse_expression(left, "a b").formula) == left


# ---- files ----


@st.composite
def files(draw: st.DrawFn, alphabet: tuple[str, ...]) -> FormulaFile:
    """Files in which every definition may be used by what follows it."""
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
        at=draw(st.sampled_from(POSITIONS)),
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
    with pytest.raises(TypeError, match="not a node"):
        format_formula(no_node)
