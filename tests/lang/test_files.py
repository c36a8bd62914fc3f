"""Whole `.ltl` files: header, definitions, examples, notes, and the words of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from hardsim.errors import Span
from hardsim.lang.ast import (
    Binary,
    Compare,
    Congruent,
    Count,
    Example,
    Integer,
    Let,
    Nary,
    Position,
    Predicate,
    Product,
    Ref,
    Signed,
    Symbol,
    Truth,
    Unary,
    UserPredicate,
)
from hardsim.lang.parse import FUTURE_NOTE, load, parse_expression, parse_text, parse_word
from hardsim.lang.walk import walk

A, B = Symbol("a"), Symbol("b")
POS = Position()

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
    assert file.lets == (
        Let("W0", Nary("&", (zero, y_w))),
        Let("W1", Nary("|", (Nary("&", (one, y_w)), Truth(False)))),
    )
    assert file.predicates == (UserPredicate("MIDDLE", ("i", "n"), "2*i\n   == n + 1"),)
    middle, counted = Predicate("MIDDLE", (), None), Predicate("MIDDLE", (), Count("L", zero))
    assert file.formula == Nary("&", (Binary("S", Ref("W0"), Ref("W1")), middle, counted))
    assert file.source.name == "flip.ltl"
    assert file.notes == ()


@pytest.mark.parametrize("change", [("\n", "\r\n"), ("\n", "\r"), (" ", "\u00a0"), ("  ", "\t"), ("//", "\ufeff//")])
def test_byte_order_mark_line_ends_and_white_space(change: tuple[str, str]) -> None:
    old, new = change
    text = FLIP_FLOP.replace(old, new, 1) if new.startswith("\ufeff") else FLIP_FLOP.replace(old, new)
    got, wanted = parse_text(text), parse_text(FLIP_FLOP)
    assert got.formula == wanted.formula
    assert got.lets == wanted.lets
    assert got.examples == wanted.examples
    assert got.title == wanted.title


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


def test_header_symbols_are_taken_raw() -> None:
    file = parse_text("alphabet: ( ) ' // # & X U 0 1 let\naccept: ( ) ' #\nF '//' & ''' & 'let' & 0")
    assert file.alphabet == ("(", ")", "'", "//", "#", "&", "X", "U", "0", "1", "let")


def test_words_with_hostile_symbols() -> None:
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
    file = load(path)
    assert file == parse_text(FLIP_FLOP)
    assert load(str(path)).source.name == str(path)


# ---- words of the command line ----


def test_parse_word() -> None:
    assert parse_word("abba", ["a", "b"]) == ("a", "b", "b", "a")
    assert parse_word(" ab\tb\u00a0a ", ["a", "b"]) == ("a", "b", "b", "a")
    assert parse_word("ab b ab", ["ab", "b"]) == ("ab", "b", "ab")
