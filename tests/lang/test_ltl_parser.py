"""`.ltl` texts and files compared with trees written out by hand from the description of the grammar."""

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest

from hardsim.lang.ast import (
    Arrow,
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Congruent,
    Count,
    Example,
    Formula,
    Integer,
    Length,
    Let,
    Marker,
    Nary,
    Not,
    Position,
    Predicate,
    Product,
    Ref,
    Signed,
    Sum,
    Symbol,
    Truth,
    Unary,
    UnaryOp,
    UserPredicate,
    walk,
)
from hardsim.lang.ltl_parser import FUTURE_NOTE, parse_word
from tests.support.language import InputError, Span, parse_expression, parse_text
from tests.support.mistakes import raised
from tests.support.sources import load
from tests.support.strategies import FUTURE_BINARY, FUTURE_UNARY, PAST_BINARY, PAST_UNARY

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


OPERATORS: list[tuple[str, str, Formula]] = [
    *((f"{s} a", f"{s}(a)", Unary(op, A)) for op, all_of in UNARY.items() for s in all_of),
    *((f"a {s} b", f"(a){s}(b)", Binary(op, A, B)) for op, all_of in BINARY.items() for s in all_of),
    *((f"pos {s} 3", f"pos{s}3", Compare(op, POS, Integer(3))) for op, all_of in COMPARE.items() for s in all_of),
]


@pytest.mark.parametrize(("loose", "tight", "tree"), OPERATORS)
def test_temporal_operators_and_comparisons(loose: str, tight: str, tree: Formula) -> None:
    assert parse(loose) == parse(tight) == tree


def test_no_operator_is_left_out_above() -> None:
    assert [*UNARY, *BINARY, *COMPARE] == [*get_args(UnaryOp), *get_args(BinaryOp), *get_args(CompareOp)]


def test_no_operator_is_left_out_of_random_formulas() -> None:
    assert {*PAST_UNARY, *FUTURE_UNARY} == {*get_args(UnaryOp)}
    assert {*PAST_BINARY, *FUTURE_BINARY} == {*get_args(BinaryOp)}


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
        ("a | b & c", "a | (b & c)"),
        ("b ^ c & a U !b", "b ^ (c & (a U (!b)))"),
        ("a | b -> c | a", "(a | b) -> (c | a)"),
        ("a <-> b <-> c", "a <-> (b <-> c)"),
        ("a | b <-> c", "(a | b) <-> c"),
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
        # chains are flat, and what groups to the right does so in full
        ("a & (b & c) & (a & b)", Nary("&", (A, B, C, A, B))),
        ("a | (b | (c | a))", Nary("|", (A, B, C, A))),
        ("a ^ (b ^ c)", Nary("^", (A, B, C))),
        ("a & (b | c)", Nary("&", (A, Nary("|", (B, C))))),
        ("a -> (b -> c)", Arrow("->", A, Arrow("->", B, C))),
        ("a <-> b <-> c", Arrow("<->", A, Arrow("<->", B, C))),
        ("a U (b U c)", Binary("U", A, Binary("U", B, C))),
        ("(a -> b) <-> c", Arrow("<->", Arrow("->", A, B), C)),
        ("a S (b U c)", Binary("S", A, Binary("U", B, C))),
    ],
)
def test_terms_predicates_and_chains(text: str, tree: Formula) -> None:
    assert parse(text) == tree


def test_a_number_is_a_symbol_exactly_where_a_formula_is_expected() -> None:
    tree = parse("0 & #L[1] = 1 & 10 U 0", "0 1 10")
    count = Compare("=", Count("L", Symbol("1")), Integer(1))
    assert tree == Nary("&", (Symbol("0"), count, Binary("U", Symbol("10"), Symbol("0"))))
    assert parse("'0' & Q_1", "0 1") == Nary("&", (Symbol("0"), Symbol("1")))
    assert parse("'Q_a' & a", "Q_a a") == Nary("&", (Symbol("Q_a"), A))


# ---- symbols ----


@pytest.mark.parametrize(
    ("text", "symbol"),
    [
        ("Q_a", "Q_a"),
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


def test_white_space_and_comments() -> None:
    assert parse("\ufeff\u00a0F\u00a0a\t&\r\n b // the end") == Nary("&", (Unary("F", A), B))
    assert parse("a //& b\n // c & d\n & '//' //", "a //") == Nary("&", (A, Symbol("//")))


# ---- size ----


@pytest.mark.slow
def test_long_conjunctions_are_one_level_and_fast() -> None:
    assert parse(" & ".join(["a"] * 5000)) == Nary("&", (A,) * 5000)
    assert parse(" | ".join(["F a"] * 5000)) == Nary("|", (Unary("F", A),) * 5000)


def test_two_hundred_levels_work() -> None:
    for text in [
        "!" * 200 + "a",
        "(" * 200 + "a" + ")" * 200,
        "a U (" * 200 + "b" + ")" * 200,
        "1 + " * 199 + "1 = pos",
    ]:
        tree = parse(text)
        assert tree == parse(text)
        assert hash(tree) == hash(parse(text))
        assert pickle.loads(pickle.dumps(tree)) == tree


def test_doubling_lets_take_linear_time() -> None:
    lines = ["alphabet: a b", "let x0 = a"] + [f"let x{k + 1} = x{k} & x{k}" for k in range(150)] + ["F x150"]
    file = parse_text("\n".join(lines))
    assert file.notes == (FUTURE_NOTE,)
    assert len(list(walk(file.formula, lets=file.lets))) == 2 + 1 + 150 * 3


def test_importing_the_parser_does_not_import_lark() -> None:
    code = "import sys, hardsim.lang.ltl_parser; sys.exit('lark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ---- API misuse ----


@pytest.mark.parametrize(
    ("alphabet", "message"),
    [
        ("", "the alphabet is empty"),
        ([], "the alphabet is empty"),
        (["a", ""], "'' is not a symbol"),
        (["a\tb"], "'a\\tb' is not a symbol"),
        ("a b a", "the symbol a is in the alphabet twice"),
    ],
)
def test_bad_alphabets(alphabet: Any, message: str) -> None:
    caught = raised(InputError, parse_expression, "a", alphabet)
    assert caught.message == message
    assert json.dumps(caught.hint) != '""'


# ---- whole files ----


FLIP_FLOP = """\
// Flip-flop
alphabet: w r 0 1
source: paper, section 6 // not a comment
accept: w1r1  w0r0w1r1
reject: w1r0
accept: w0
let W0 = 0 & Y w
// between
let W1 = 1
  & Y w // after

  | false
pred MIDDLE(i, n) = 2*i
   == n + 1 // after
W0 S W1 // now
  & MIDDLE
& MIDDLE(#L[0])
"""


def test_a_whole_file() -> None:
    file = parse_text(FLIP_FLOP, "flip.ltl")
    zero, one, w = Symbol("0"), Symbol("1"), Symbol("w")
    y_w = Unary("Y", w)
    assert file.alphabet == ("w", "r", "0", "1")
    assert file.title == "Flip-flop"
    assert file.origin == "paper, section 6 // not a comment"
    assert file.at == "last"
    assert file.examples == (
        Example(("w", "1", "r", "1"), True),
        Example(("w", "0", "r", "0", "w", "1", "r", "1"), True),
        Example(("w", "1", "r", "0"), False),
        Example(("w", "0"), True),
    )
    assert file.lets == (Let("W0", Nary("&", (zero, y_w))), Let("W1", Nary("|", (Nary("&", (one, y_w)), Truth(False)))))
    assert file.predicates == (UserPredicate("MIDDLE", ("i", "n"), "2*i\n   == n + 1"),)
    middle, counted = Predicate("MIDDLE", (), None), Predicate("MIDDLE", (), Count("L", zero))
    assert file.formula == Nary("&", (Binary("S", Ref("W0"), Ref("W1")), middle, counted))
    assert file.source.name == "flip.ltl"
    assert file.notes == ()


@pytest.mark.parametrize("change", [("\n", "\r\n"), ("\n", "\r"), (" ", "\u00a0"), ("  ", "\t"), ("//", "\ufeff//")])
def test_byte_order_mark_line_ends_and_white_space(change: tuple[str, str]) -> None:
    old, new = change
    text = FLIP_FLOP.replace(old, new, 1) if new.startswith("\ufeff") else FLIP_FLOP.replace(old, new)
    got, expected = parse_text(text), parse_text(FLIP_FLOP)
    for part in ("formula", "lets", "examples", "title"):
        assert getattr(got, part) == getattr(expected, part)


def test_spans_point_into_the_source() -> None:
    file = parse_text(FLIP_FLOP.replace("\n", "\r\n"))

    def text(span: Span) -> str:
        return file.source.text[span.start : span.end]

    assert [text(example.span) for example in file.examples] == ["w1r1", "w0r0w1r1", "w1r0", "w0"]
    assert [text(let.span) for let in file.lets] == ["W0", "W1"]
    assert text(file.predicates[0].span).startswith("2*i\n   == n + 1")
    assert text(file.formula.span) == "&"
    nodes = list(walk(file.formula))
    assert [text(node.span) for node in nodes] == ["&", "S", "W0", "W1", "MIDDLE", "MIDDLE", "#L[", "0"]


def test_a_text_indented_as_a_whole() -> None:
    file = parse_text("""
        alphabet: a b
        let x = a
          & b

        G x
          | a
    """)
    assert file.lets == (Let("x", Nary("&", (A, B))),)
    assert file.formula == Nary("|", (Unary("G", Ref("x")), A))


def test_lets_name_formulas_and_terms() -> None:
    text = "alphabet: a 0\nlet k = 3\nlet m = k * #L[a]\nlet p = m > 0\nlet z = 0\nlet one = +1\np & m = k * one & z"
    file = parse_text(text)
    assert file.definitions == {
        "k": Integer(3),
        "m": Product(Ref("k"), Count("L", A)),
        "p": Compare(">", Ref("m"), Integer(0)),
        "z": Symbol("0"),
        "one": Signed("+", Integer(1)),
    }
    product = Compare("=", Ref("m"), Product(Ref("k"), Ref("one")))
    assert file.formula == Nary("&", (Ref("p"), product, Ref("z")))


def test_constants_by_let_count_as_integers() -> None:
    file = parse_text("alphabet: a\nlet m = 2 * 2 - 1\nMOD(m, m - 1) & m * pos = 1 & pos mod m = 0")
    product = Compare("=", Product(Ref("m"), POS), Integer(1))
    assert file.formula == Nary("&", (Predicate("MOD", (3, 2), None), product, Congruent(POS, 3, 0)))


def test_words_of_long_symbols() -> None:
    file = parse_text("alphabet: ab a b\naccept: ab  a b\nreject: b\naccept: ab\nab")
    assert [example.word for example in file.examples] == [("ab", "a", "b"), ("b",), ("ab",)]


def test_header_symbols_are_taken_raw_in_words_too() -> None:
    file = parse_text("alphabet: ( ) ' // # & X U 0 1 let\naccept: ( ) ' #\nF '//' & ''' & 'let' & 0")
    assert file.alphabet == ("(", ")", "'", "//", "#", "&", "X", "U", "0", "1", "let")
    file = parse_text("alphabet: ( ) ' /\naccept: ('/)//\n'/' S '('")
    assert file.examples[0].word == ("(", "'", "/", ")", "/", "/")


@pytest.mark.parametrize(
    ("formula", "noted"),
    [
        ("F a", True),
        ("a U X b", True),
        ("x", True),
        ("#R[a] > 1", True),
        ("a & first & EVEN", False),
        ("F O a", False),
        ("H a & F b", False),
        ("#L[a] > 1 & X a", False),
        ("#[a] > 1", False),
        ("pos = 1", False),
    ],
)
def test_the_note_on_operators_that_look_ahead(formula: str, noted: bool) -> None:
    text = f"alphabet: a b\nlet unused = O a\nlet x = G b\n{formula}"
    assert parse_text(text).notes == ((FUTURE_NOTE,) if noted else ())
    assert parse_text(text.replace("\nlet", "\nat: last\nlet", 1)).notes == ()
    assert parse_text(text.replace("\nlet", "\nat: first\nlet", 1)).notes == ()


def test_at() -> None:
    assert parse_text("alphabet: a\nat: first\na").at == "first"
    assert parse_text("alphabet: a\nat:  last \na").at == "last"


def test_an_alphabet_from_outside() -> None:
    assert parse_text("F a", alphabet=["a", "b"]).alphabet == ("a", "b")
    assert parse_text("alphabet: a b\nF a", alphabet="a b").alphabet == ("a", "b")
    assert parse_expression("ab", "ab").alphabet == ("ab",)
    assert parse_expression("a", ["a", "ab"]).alphabet == ("a", "ab")


def test_load(tmp_path: Path) -> None:
    path = tmp_path / "f.ltl"
    path.write_bytes(b"\xef\xbb\xbf" + FLIP_FLOP.replace("\n", "\r\n").encode())
    assert load(path) == parse_text(FLIP_FLOP)
    assert load(str(path)).source.name == str(path)


# ---- words of the command line ----


def test_parse_word() -> None:
    assert parse_word("abba", ["a", "b"]) == ("a", "b", "b", "a")
    assert parse_word(" ab\tb\u00a0a ", ["a", "b"]) == ("a", "b", "b", "a")
    assert parse_word("ab b ab", ["ab", "b"]) == ("ab", "b", "ab")
