"""Notation, names and sorts in the text of programs."""

from pathlib import Path

import pytest

from hardsim.lang import ast
from hardsim.lang.ast import (
    AsInteger,
    Attention,
    Compare,
    Conditional,
    HasSymbol,
    InputSymbol,
    Integer,
    Nary,
    PositionWise,
    PrefixSum,
    Ref,
    Scale,
    Sort,
    Sum,
    SymbolLiteral,
    Truth,
)
from tests.support.language import InputError, SourceError, parse_program
from tests.support.mistakes import raised
from tests.support.sources import load_program
from tests.support.srasp_text import format_program, format_right_hand_side

HEAD = "alphabet: a b\noutput: Y\nrel r = { 'a' 'b' }\nP := Q_a\nN := pos\nS := in\n"
A, P, N = HasSymbol("a", "i"), Ref("P", "i", Sort.BOOL), Ref("N", "i", Sort.INT)


def read(right: str) -> ast.RightHandSide:
    return parse_program(f"{HEAD}V := {right}\nY := in").vectors["V"].right


def pointwise(right: str) -> ast.Expression:
    found = read(right)
    assert isinstance(found, PositionWise)
    return found.expr


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("1", Truth(True)),
        ("0", Truth(False)),
        ("2", Integer(2)),
        ("+1", Integer(1)),
        ("-0", Integer(0)),
        ("-1", Integer(-1)),
        ("- -1", Integer(1)),
        ("--N", Scale(-1, Scale(-1, N))),
        ("+N", N),
        ("+P", AsInteger(P)),
        ("N + 1", Sum("+", N, Integer(1))),
        ("P - 1", Sum("-", AsInteger(P), Integer(1))),
        ("1 + true", Sum("+", Integer(1), AsInteger(Truth(True)))),
        ("1 + (P ? 0 : 1)", Sum("+", Integer(1), Conditional(P, Integer(0), Integer(1)))),
        ("1 + (P ? 0 : P)", Sum("+", Integer(1), AsInteger(Conditional(P, Truth(False), P)))),
        ("P ? 0 : N", Conditional(P, Integer(0), N)),
        ("P ? P ? 0 : 1 : N", Conditional(P, Conditional(P, Integer(0), Integer(1)), N)),
        ("P ? 0 : 1", Conditional(P, Truth(False), Truth(True))),
        ("0 ? N : 1", Conditional(Truth(False), N, Integer(1))),
        ("N = 1", Compare("=", N, Integer(1))),
        ("1 = P", Compare("=", Truth(True), P)),
        ("1 = 0", Compare("=", Truth(True), Truth(False))),
        ("1 < 0", Compare("<", Integer(1), Integer(0))),
        ("S = 'a'", Compare("=", Ref("S", "i", Sort.SYMBOL), SymbolLiteral("a"))),
        ("P = !P", Compare("=", P, ast.Not(P))),
        ("!P = P", ast.Not(Compare("=", P, P))),
        ("2 * N", Scale(2, N)),
        ("N * -2", Scale(-2, N)),
        ("(1 + 2) * P", Scale(3, AsInteger(P))),
        ("2 * 3 * N", Scale(6, N)),
        ("2 * (3 * N)", Scale(2, Scale(3, N))),
        ("2 * 3", Scale(2, Integer(3))),
        ("N - N + N", Sum("+", Sum("-", N, N), N)),
        ("P & (P & A) & P".replace("A", "Q_a"), Nary("&", (P, P, A, P))),
        ("P | P & P", Nary("|", (P, Nary("&", (P, P))))),
        ("P | (P ^ P)", Nary("|", (P, Nary("^", (P, P))))),
        ("P -> (P -> P)", ast.Arrow("->", P, ast.Arrow("->", P, P))),
        ("P ? P : P ? 0 : P", Conditional(P, P, Conditional(P, Truth(False), P))),
        ("in in { 'a' }", ast.Member(InputSymbol("i"), ("a",))),
        ("in(i) in {}", ast.Member(InputSymbol("i"), ())),
        (
            "r(S, P ? 'a' : in)",
            ast.Related("r", (Ref("S", "i", Sort.SYMBOL), Conditional(P, SymbolLiteral("a"), InputSymbol("i")))),
        ),
        ("len(i) = len", Compare("=", ast.Length("i"), ast.Length("i"))),
    ],
)
def test_sorts_and_precedence(text: str, tree: ast.Expression) -> None:
    assert pointwise(text) == tree


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("leftmost[1, 1] 0 : 1", Attention("leftmost", "1", Truth(True), Truth(False), Truth(True))),
        ("leftmost[1, 1] pos(j) : 1", Attention("leftmost", "1", Truth(True), ast.Position("j"), Integer(1))),
        ("leftmost[1, 1] 0 : N", Attention("leftmost", "1", Truth(True), Integer(0), N)),
        ("leftmost[1, P(j)] P : 1", Attention("leftmost", "1", Ref("P", "j", Sort.BOOL), P, Truth(True))),
        (
            "leftmost[1, 1] P(j) ? 0 : N(j) : P ? 1 : 0",
            Attention(
                "leftmost",
                "1",
                Truth(True),
                Conditional(Ref("P", "j", Sort.BOOL), Integer(0), Ref("N", "j", Sort.INT)),
                Conditional(P, Integer(1), Integer(0)),
            ),
        ),
        ("psum[j<=i] P(j)", PrefixSum(AsInteger(Ref("P", "j", Sort.BOOL)))),
        ("psum_j[j<=i] 1", PrefixSum(Integer(1))),
        ("psum[j<=i] P(j) ? 1 : 0", PrefixSum(Conditional(Ref("P", "j", Sort.BOOL), Integer(1), Integer(0)))),
    ],
)
def test_whole_right_hand_sides(text: str, right: ast.RightHandSide) -> None:
    assert read(text) == right
    assert read(format_right_hand_side(right)) == right


SPELLINGS = [
    ["!P", "~P", "¬P", "not P", "!P(i)", "! P( i )", "(!P)"],
    ["P & P", "P && P", "P ∧ P", "P and P", "P&P"],
    ["P | P", "P || P", "P ∨ P", "P or P"],
    ["P ^ P", "P xor P", "P ⊕ P"],
    ["P -> P", "P => P", "P → P"],
    ["P <-> P", "P <=> P", "P ↔ P"],
    ["N <= 1", "N ≤ 1"],
    ["N >= 1", "N≥1"],
    ["N != 1", "N ≠ 1"],
    ["N = 1", "N == 1"],
    ["true", "⊤", "1"],
    ["false", "⊥", "0"],
    ["Q_a", "Q_'a'", "Q_a(i)", "Q_'a'(i)"],
    ["leftmost[1,1] P(j):0", "leftmost_j [ 1 , true ] P(j) : 0", "◀[1,1]P(j):0", "◀_j[1,1]P(j):⊥"],
    ["rightmost[1,1] P(j):0", "rightmost_j[1,1] P(j):0", "▶[1,1]P(j):0", "▶_j [1,1]P(j):0"],
    ["leftmost[j<i,1] P(j):0", "leftmost[i>j,1] P(j):0"],
    ["leftmost[j<=i,1] P(j):0", "leftmost[i>=j,1] P(j):0", "leftmost[j≤i,1] P(j):0", "leftmost[i≥j,1] P(j):0"],
    ["leftmost[j>i,1] P(j):0", "leftmost[i<j,1] P(j):0"],
    ["leftmost[j>=i,1] P(j):0", "leftmost[i<=j,1] P(j):0", "leftmost[i≤j,1] P(j):0"],
    ["psum[j<=i] P(j)", "psum_j[i>=j] (P(j))", "psum_j [ j ≤ i ] P(j)"],
    ["P &\n  P", "P // first\n  // between\n\t& P"],
]


@pytest.mark.parametrize("texts", SPELLINGS, ids=lambda texts: texts[0])
def test_spellings(texts: list[str]) -> None:
    assert {read(text) for text in texts} == {read(texts[0])}


def test_different_spellings_are_different() -> None:
    assert len({read(texts[0]) for texts in SPELLINGS}) == len(SPELLINGS) - 1  # the last is the `&` again


@pytest.mark.parametrize(
    ("text", "alphabet"),
    [
        ("Y := Q_b & Q_a(i) | Q_b", "b a"),
        ("Q_a(i)\nQ_b\nY := Q_b & Q_a", "a b"),
        ("Q_b\nQ_(\nQ_'['(i)\nY := 1", "b ( ["),
        ("Y := Q_((i) | Q_) & Q_?", "( ) ?"),
        ("alphabet: open close\nQ_close\nY := Q_open", "open close"),
        (
            "alphabet: <s> a_? i j in ' :=\nY := Q_<s>(i) | Q_'a_?' | Q_i | Q_j | Q_in(i) | Q_'''' | Q_:=",
            "<s> a_? i j in ' :=",
        ),
        ("pad: 2*len\nY := Q_a | Q_#", "a"),
    ],
)
def test_the_alphabet(text: str, alphabet: str) -> None:
    program = parse_program(text)
    assert program.alphabet == tuple(alphabet.split())
    assert parse_program(format_program(program)) == program


def test_names_may_end_in_a_question_mark() -> None:
    program = parse_program("Q_a(i)\nX_?(i) := Q_a(i)\nX_ := X_? ? 0:1\nY_? := X_ ? X_?:0")
    assert [statement.name for statement in program.statements] == ["X_?", "X_", "Y_?"]
    assert program.output == "Y_?"


def test_a_whole_file() -> None:
    text = (
        "\ufeff// Two letters\r\n\r\n  alphabet: a b\r\n  source: made up\r\n  pad: len + 1\r\n"
        "  map: ab -> ba  a ->\r\n  output: Z\r\n  // more\r\n"
        "  rel r =\r\n    { 'a' 'a',\r\n      'b' '#' }\r\n  Z(i) := r(in,\r\n     in) ? 'a' : 'b'\r\n"
        "  Y := Q_a\u00a0& 1 // end"
    )
    program = parse_program(text)
    assert (program.title, program.origin, program.output) == ("Two letters", "made up", "Z")
    assert program.relations == (ast.Relation("r", (("a", "a"), ("b", "#"))),)
    assert program.examples == (ast.MapExample(("a", "b"), ("b", "a")), ast.MapExample(("a",), ()))
    assert str(program.pad) == "len+1"
    assert program.symbols == ("a", "b", "#")
    assert not program.is_acceptor
    assert parse_program(format_program(program)) == program
    span = program.statements[1].span
    assert program.source.text[span.start : span.end] == "Y"


def test_examples_in_the_order_of_the_text() -> None:
    program = parse_program("alphabet: a b\naccept: a ba\nreject: b\naccept: aa\nY := Q_a")
    found = [("".join(e.word), e.accept) for e in program.examples if isinstance(e, ast.Example)]
    assert found == [("a", True), ("ba", True), ("b", False), ("aa", True)]
    assert parse_program(format_program(program)) == program
    longer = parse_program("alphabet: on off\nmap: on off -> off\nmap: on ->\nY := in")
    assert longer.examples == (ast.MapExample(("on", "off"), ("off",)), ast.MapExample(("on",), ()))
    assert parse_program(format_program(longer)) == longer


def test_header_lines_may_stand_after_statements() -> None:
    assert parse_program("P := Q_a\nR := Q_a\noutput: P\nalphabet: a b").output == "P"


def test_spans_are_those_of_operators_and_names() -> None:
    tree = parse_program("Y(i) := Q_a(i) & (1 +\tQ_b > 0)").statements[0].right
    assert isinstance(tree, PositionWise)
    assert isinstance(tree.expr, Nary)
    compare = tree.expr.args[1]
    assert isinstance(compare, Compare)
    assert [(node.span.start, node.span.end) for node in (tree.expr, compare, compare.left)] == [
        (15, 16),
        (26, 27),
        (20, 21),
    ]


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "p.srasp"
    path.write_bytes(b"Y := Q_a\r\n")
    assert load_program(path) == parse_program(b"Y := Q_a", "x") == parse_program("Y := Q_a")
    assert load_program(path).source.name == str(path)
    raised(InputError, load_program, tmp_path / "q.srasp", match="no such file")
    raised(SourceError, parse_program, b"Y := Q_\xff", "x", match="not UTF-8")


@pytest.mark.slow
def test_large_programs_are_read_without_recursion() -> None:
    many = parse_program("v0 := Q_a\n" + "\n".join(f"v{n} := !v{n - 1} | Q_b" for n in range(1, 3000)))
    assert len(many.statements) == 3000
    assert pointwise("(" * 5000 + "P" + ")" * 5000) == P
    wide = pointwise(" & ".join(["P"] * 5000))
    assert isinstance(wide, Nary)
    assert len(wide.args) == 5000


def test_the_deepest_expressions_print_and_run() -> None:
    from hardsim.lang.srasp.interpreter import ProgramOracle

    for text in ("!" * 99 + "P", "N" + " + 1" * 99, "P ? N : " * 99 + "1", "P <-> " * 99 + "P"):
        program = parse_program(f"{HEAD}V := {text}\nY := in")
        assert parse_program(format_program(program)) == program
        ProgramOracle(program).run("ab")
        assert hash(program) == hash(parse_program(format_program(program)))
