"""What `.ltl` texts mean: trees written out by hand from the grammar's description."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from typing import Any

import pytest

from hardsim.errors import InputError
from hardsim.lang.ast import (
    Arrow,
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Congruent,
    Count,
    Formula,
    Integer,
    Length,
    Marker,
    Nary,
    Not,
    Position,
    Predicate,
    Product,
    Signed,
    Sum,
    Symbol,
    Truth,
    Unary,
    UnaryOp,
)
from hardsim.lang.parse import FUTURE_NOTE, parse_expression, parse_text
from hardsim.lang.walk import walk

A, B, C = Symbol("a"), Symbol("b"), Symbol("c")
POS, LEN = Position(), Length()


def parse(text: str, alphabet: str = "a b c") -> Formula:
    return parse_expression(text, alphabet).formula


# ---- spellings ----

UNARY: dict[UnaryOp, list[str]] = {
    "X": ["X", "X[!]", "X [ ! ]"],
    "WX": ["WX", "wX", "N"],
    "Y": ["Y"],
    "WY": ["WY", "Z"],
    "O": ["O"],
    "H": ["H"],
    "F": ["F", "<>", "◇"],
    "G": ["G", "[]", "□"],
}
BINARY: dict[BinaryOp, list[str]] = {"U": ["U"], "R": ["R", "V"], "W": ["W"], "M": ["M"], "S": ["S"], "T": ["T"]}
COMPARE: dict[CompareOp, list[str]] = {
    "<": ["<"],
    "<=": ["<=", "≤"],
    "=": ["=", "=="],
    "!=": ["!=", "≠"],
    ">=": [">=", "≥"],
    ">": [">"],
}


@pytest.mark.parametrize(("op", "spelling"), [(op, s) for op, all_of in UNARY.items() for s in all_of])
def test_unary_temporal_operators(op: UnaryOp, spelling: str) -> None:
    assert parse(f"{spelling} a") == Unary(op, A)
    assert parse(f"{spelling}(a)") == Unary(op, A)


@pytest.mark.parametrize(("op", "spelling"), [(op, s) for op, all_of in BINARY.items() for s in all_of])
def test_binary_temporal_operators(op: BinaryOp, spelling: str) -> None:
    assert parse(f"a {spelling} b") == Binary(op, A, B)
    assert parse(f"(a){spelling}(b)") == Binary(op, A, B)


@pytest.mark.parametrize(("op", "spelling"), [(op, s) for op, all_of in COMPARE.items() for s in all_of])
def test_comparisons(op: CompareOp, spelling: str) -> None:
    assert parse(f"pos {spelling} 3") == Compare(op, POS, Integer(3))
    assert parse(f"pos{spelling}3") == Compare(op, POS, Integer(3))


@pytest.mark.parametrize(
    ("spellings", "tree"),
    [
        (["!a", "~a", "¬a", "not a", "! a", "not(a)"], Not(A)),
        (["a & b", "a && b", "a ∧ b", "a and b", "a&b", "(a)and(b)"], Nary("&", (A, B))),
        (["a | b", "a || b", "a ∨ b", "a or b", "a||b"], Nary("|", (A, B))),
        (["a ^ b", "a xor b", "a ⊕ b"], Nary("^", (A, B))),
        (["a -> b", "a => b", "a → b", "a->b"], Arrow("->", A, B)),
        (["a <-> b", "a <=> b", "a ↔ b", "a<->b"], Arrow("<->", A, B)),
        (["true", "⊤"], Truth(True)),
        (["false", "⊥"], Truth(False)),
        (["first"], Marker("first")),
        (["last"], Marker("last")),
        (["a", "'a'", "Q_a", "((a))"], A),
        (["!!a", "!(!a)", "¬ ~a"], Not(Not(A))),
    ],
)
def test_boolean_spellings(spellings: list[str], tree: Formula) -> None:
    for spelling in spellings:
        assert parse(spelling) == tree


# ---- grouping ----


@pytest.mark.parametrize(
    ("text", "bracketed"),
    [
        ("!a & b", "(!a) & b"),
        ("!a U b", "(!a) U b"),
        ("X a U b", "(X a) U b"),
        ("a U X b", "a U (X b)"),
        ("a U b & c", "(a U b) & c"),
        ("a & b ^ c", "(a & b) ^ c"),
        ("a ^ b | c", "(a ^ b) | c"),
        ("a | b ^ c & a U !b", "a | (b ^ (c & (a U (!b))))"),
        ("a | b -> c | a", "(a | b) -> (c | a)"),
        ("a -> b -> c", "a -> (b -> c)"),
        ("a <-> b <-> c", "a <-> (b <-> c)"),
        ("a | b <-> c", "(a | b) <-> c"),
        ("a U b U c", "a U (b U c)"),
        ("a S b S c", "a S (b S c)"),
        ("a & b & c", "(a & b) & c"),
        ("a & b & c", "a & (b & c)"),
        ("a ^ b ^ c", "(a ^ b) ^ c"),
        ("G F a -> G !b", "(G (F a)) -> (G (!b))"),
        ("F pos = 3", "F (pos = 3)"),
        ("!pos < 3 & a", "(!(pos < 3)) & a"),
        ("pos < 3 U a", "(pos < 3) U a"),
        ("pos + 1 < 2 * len - 3", "(pos + 1) < ((2 * len) - 3)"),
        ("1 - 2 - pos = 0", "(1 - 2) - pos = 0"),
        ("1 + 2 mod 3 = 0", "(1 + 2) mod 3 = 0"),
        ("X pos mod 2 = 0", "X ((pos) mod 2 = 0)"),
        ("-pos * 2 = 0", "(-pos) * 2 = 0"),
        ("2 * -pos = - -1", "2 * (-pos) = -(-1)"),
        ("1 + -pos = 0", "1 + (-pos) = 0"),
    ],
)
def test_grouping(text: str, bracketed: str) -> None:
    assert parse(text) == parse(bracketed)


def test_chains_are_flat() -> None:
    assert parse("a & (b & c) & (a & b)") == Nary("&", (A, B, C, A, B))
    assert parse("a | (b | (c | a))") == Nary("|", (A, B, C, A))
    assert parse("a ^ (b ^ c)") == Nary("^", (A, B, C))
    assert parse("a & (b | c)") == Nary("&", (A, Nary("|", (B, C))))


def test_right_grouping_in_full() -> None:
    assert parse("a -> b -> c") == Arrow("->", A, Arrow("->", B, C))
    assert parse("a <-> b <-> c") == Arrow("<->", A, Arrow("<->", B, C))
    assert parse("a U b U c") == Binary("U", A, Binary("U", B, C))
    assert parse("(a -> b) <-> c") == Arrow("<->", Arrow("->", A, B), C)
    assert parse("a S (b U c)") == Binary("S", A, Binary("U", B, C))


# ---- terms ----


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("#L[a] > #R[b]", Compare(">", Count("L", A), Count("R", B))),
        ("#[a & b] = len", Compare("=", Count("", Nary("&", (A, B))), LEN)),
        ("# L [a] = #R [[]b]", Compare("=", Count("L", A), Count("R", Unary("G", B)))),
        ("#L[#L[a] > #R[b]] = 1", Compare("=", Count("L", Compare(">", Count("L", A), Count("R", B))), Integer(1))),
        ("2 * #L[a] = #L[b] * 3", Compare("=", Product(Integer(2), Count("L", A)), Product(Count("L", B), Integer(3)))),
        ("-2 * pos < +1", Compare("<", Product(Signed("-", Integer(2)), POS), Signed("+", Integer(1)))),
        ("(1 + 2) * pos < 1", Compare("<", Product(Sum("+", Integer(1), Integer(2)), POS), Integer(1))),
        ("(pos + len) * 2 < 1", Compare("<", Product(Sum("+", POS, LEN), Integer(2)), Integer(1))),
        ("pos - 1 + len = 007", Compare("=", Sum("+", Sum("-", POS, Integer(1)), LEN), Integer(7))),
        ("(#L[a]) mod 3 = 2", Congruent(Count("L", A), 3, 2)),
        ("#L[a] mod 3 == 2", Congruent(Count("L", A), 3, 2)),
        ("(#L[a] mod 3) = 2", Congruent(Count("L", A), 3, 2)),
        ("MOD(3, 2, #L[a])", Congruent(Count("L", A), 3, 2)),
        ("MOD(2 * 3, 2 + 3)", Predicate("MOD", (6, 5), None)),
        ("MOD(1, 0)", Predicate("MOD", (1, 0), None)),
        ("EVEN", Predicate("EVEN", (), None)),
        ("ODD & PRIME", Nary("&", (Predicate("ODD", (), None), Predicate("PRIME", (), None)))),
        ("SQUARE(pos)", Predicate("SQUARE", (), POS)),
        ("POW2(#[a] - 1)", Predicate("POW2", (), Sum("-", Count("", A), Integer(1)))),
        ("a & EVEN(0)", Nary("&", (A, Predicate("EVEN", (), Integer(0))))),
    ],
)
def test_terms_and_predicates(text: str, tree: Formula) -> None:
    assert parse(text) == tree


def test_a_number_is_a_symbol_exactly_where_a_formula_is_expected() -> None:
    tree = parse("0 & #L[1] = 1 & 10 U 0", "0 1 10")
    count = Compare("=", Count("L", Symbol("1")), Integer(1))
    assert tree == Nary("&", (Symbol("0"), count, Binary("U", Symbol("10"), Symbol("0"))))
    assert parse("'0' & Q_1", "0 1") == Nary("&", (Symbol("0"), Symbol("1")))


# ---- symbols ----


@pytest.mark.parametrize(
    ("text", "symbol"),
    [
        ("'('", "("),
        ("'//'", "//"),
        ("'X'", "X"),
        ("Q_X", "X"),
        ("'let'", "let"),
        ("''''", "'"),
        ("'''", "'"),
        ("'it''s'", "it's"),
        ("'#'", "#"),
        ("ab", "ab"),
        ("Q_ab", "ab"),
        ("0a", "0a"),
        ("é", "é"),
        ("a_b", "a_b"),
        ("'&&'", "&&"),
    ],
)
def test_symbols(text: str, symbol: str) -> None:
    assert parse(text, f"{symbol} z") == Symbol(symbol)
    assert parse(f"!{text}&z", f"{symbol} z") == Nary("&", (Not(Symbol(symbol)), Symbol("z")))


def test_a_symbol_that_begins_with_q() -> None:
    assert parse("Q_a", "Q_a b") == Symbol("Q_a")
    assert parse("'Q_a' & a", "Q_a a") == Nary("&", (Symbol("Q_a"), A))


def test_white_space_and_comments() -> None:
    assert parse("\ufeff\u00a0F\u00a0a\t&\r\n b // the end") == Nary("&", (Unary("F", A), B))
    assert parse("a //& b\n // c & d\n & '//' //", "a //") == Nary("&", (A, Symbol("//")))


# ---- size ----


def test_long_conjunctions_are_one_level_and_fast() -> None:
    tree = parse(" & ".join(["a"] * 5000))
    assert tree == Nary("&", (A,) * 5000)
    assert parse(" | ".join(["F a"] * 5000)) == Nary("|", (Unary("F", A),) * 5000)


def test_two_hundred_levels_work() -> None:
    for text in ["!" * 200 + "a", "(" * 200 + "a" + ")" * 200, "a U " * 200 + "b", "1 + " * 199 + "1 = pos"]:
        tree = parse(text)
        assert tree == parse(text)
        assert hash(tree) == hash(parse(text))
        assert pickle.loads(pickle.dumps(tree)) == tree


def test_doubling_lets_take_linear_time() -> None:
    lines = ["alphabet: a b", "let x0 = a"] + [f"let x{k + 1} = x{k} & x{k}" for k in range(150)] + ["F x150"]
    file = parse_text("\n".join(lines))
    assert file.notes == (FUTURE_NOTE,)
    assert len(list(walk(file.formula, file.lets))) == 2 + 1 + 150 * 3


def test_importing_the_parser_does_not_import_lark() -> None:
    code = "import sys, hardsim.lang.parse; sys.exit('lark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ---- API misuse ----


@pytest.mark.parametrize(
    ("alphabet", "message"),
    [
        ("", "the alphabet is empty"),
        ([], "the alphabet is empty"),
        (["a", ""], "'' is no symbol"),
        (["a b"], "'a b' is no symbol"),
        ("a b a", "the symbol a stands twice in the alphabet"),
    ],
)
def test_bad_alphabets(alphabet: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_expression("a", alphabet)
    assert caught.value.message == message
    assert json.dumps(caught.value.hint) != '""'
