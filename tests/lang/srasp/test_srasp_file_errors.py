"""Mistakes in the lines of programs: header, relations, declarations, statements, examples; hints and limits."""

from __future__ import annotations

import pytest

from hardsim.errors import SourceError
from hardsim.lang.srasp.parse import parse_program


def caught(text: str) -> SourceError:
    with pytest.raises(SourceError) as error:
        parse_program(text, "p")
    return error.value


def marked(error: SourceError) -> str:
    """The text above the carets (a space past the end of the line)."""
    shown, carets = str(error).split("\n")[1:3]
    start = carets.index("^")
    assert set(carets[start:]) == {"^"}
    assert not carets[:start].strip()
    return shown.ljust(len(carets))[start : len(carets)]


# text after an alphabet line, line and column in it, marked text, message
MISTAKES = [
    ("Y := X(i)\nX := Q_a", "1:6", "X", "X is defined later (line 3)"),
    ("P := Q_a\nP := Q_b", "2:1", "P", "P is defined twice"),
    ("P(j) := Q_a(j)", "1:2", "(j)", "a vector is defined at i, not at j"),
    ("i := Q_a", "1:1", "i", "i is reserved: i and j are positions, in is the input and membership in a set"),
    ("in := Q_a", "1:1", "in", "in is reserved: i and j are positions, in is the input and membership in a set"),
    ("pos(i) := Q_a", "1:1", "pos", "pos is reserved: it is a built-in vector"),
    ("psum := Q_a", "1:1", "psum", "psum is reserved"),
    ("Q_x := Q_a", "1:1", "Q_x", "'Q_x' is reserved: Q_ begins the vector of a symbol"),
    ("true := Q_a", "1:1", "true", "true is reserved"),
    ("2x := Q_a", "1:1", "2x", "'2x' is not a name"),
    ("x-y := Q_a", "1:1", "x-y", "'x-y' is not a name"),
    ("P = Q_a", "1:3", "=", "P is defined with ="),
    ("P(i) = Q_a(i)", "1:6", "=", "P is defined with ="),
    ("let x = a", "1:1", "let x = a", "this line is no statement"),
    ("foo", "1:1", "foo", "this line is no statement"),
    ("rel", "1:4", " ", "missing name"),
    ("rel r", "1:6", " ", "missing = after rel r"),
    ("rel r := {'a'}", "1:6", " ", "missing = after rel r"),
    ("rel r =\nP := Q_a", "1:8", " ", "r has no set of tuples"),
    ("rel r = {}\nP := Q_a", "1:10", "}", "an empty relation"),
    ("rel r = {'a' 'b', 'a'}\nP := Q_a", "1:19", "'a'", "a tuple of 1, where the first has 2"),
    ("rel r = {'a', 'c'}\nP := Q_a", "1:15", "'c'", "'c' is not a symbol of the alphabet"),
    ("rel r = {'a', b}\nP := Q_a", "1:15", "b", "b is no quoted symbol"),
    ("rel r = {'a',}\nP := Q_a", "1:14", "}", "an empty tuple"),
    ("rel r = {'a'} x\nP := Q_a", "1:15", "x", "the relation ends before this"),
    ("rel r = {'a'\nP := Q_a", "1:13", " ", "this relation is never closed"),
    ("rel r = {'a', 'a'}\nP := Q_a", "1:15", "'a'", "this tuple stands twice in the relation"),
    ("rel r = 'a'\nP := Q_a", "1:9", "'a'", "r has no set of tuples"),
    ("rel r = {'a' 'b'}\nP := r(in)", "2:6", "r(in)", "r is a relation of 2 symbols, with 1 argument here"),
    ("rel r = {'a' 'b'}\nP := r", "2:6", "r", "r is a relation of 2 symbols, with 0 arguments here"),
    ("rel r = {'a' 'b'}\nP := r(i)", "2:6", "r(i)", "r is a relation of 2 symbols, with 1 argument here"),
    ("rel r = {'a' 'b'}\nP := r(in, Q_a)", "2:12", "Q_a", "Q_a is a Boolean, and a symbol is needed here"),
    ("rel r = {'a'}\nr := Q_a", "2:1", "r", "r is defined twice"),
    (
        "rel in = {'a'}\nP:=Q_a",
        "1:5",
        "in",
        "in is reserved: i and j are positions, in is the input and membership in a set",
    ),
    ("Q_a(j)\nP:=Q_a", "1:4", "(j)", "a declaration is Q_a(i) alone"),
    ("Q_a(i) Q_b(i)\nP:=Q_a", "1:4", "(i) Q_b(i)", "a declaration is Q_a(i) alone"),
    ("Q_c(i)\nP:=Q_a", "1:1", "Q_c", "'c' is not a symbol of the alphabet"),
    ("Q_a\nQ_a\nP:=Q_a", "2:1", "Q_a", "the symbol a is declared twice"),
    ("at: last\nP := Q_a", "1:1", "at", "unknown header key 'at'"),
    ("outptu: P\nP := Q_a", "1:1", "outptu", "unknown header key 'outptu'"),
    ("output: Z\nP := Q_a", "1:9", "Z", "unknown vector 'Z'"),
    ("output:\nP := Q_a", "1:8", " ", "output: names no vector"),
    ("output: P\noutput: P\nP := Q_a", "2:1", "output", "duplicate header line output:"),
    ("P := Q_a\nN := pos", "2:1", "N", "the output N is a vector of integers"),
    ("accept: c\nP := Q_a", "1:9", "c", "'c' is not a symbol of the alphabet"),
    ("accept:\nP := Q_a", "1:8", " ", "no word stands here, and the empty word is not allowed"),
    ("map: a -> b\nP := Q_a", "1:1", "map", "map: does not fit, the output P is Boolean: the program accepts words"),
    (
        "accept: a\nP := in",
        "1:1",
        "accept",
        "accept: does not fit, the output P is a symbol vector: the program maps words",
    ),
    ("map: a b\nP := in", "1:6", "a b", "a pair without an arrow"),
    ("map:\nP := in", "1:5", " ", "a pair without an arrow"),
    ("map: a->b\nP := in", "1:6", "a->b", "a pair without an arrow"),
    ("map: -> b\nP := in", "1:6", "->", "no word stands before this arrow"),
    ("map: a -> b c\nP := in", "1:13", "c", "a word without an arrow"),
    ("map: a b -> c\nP := in", "1:6", "a", "a word without an arrow"),
    ("map: a -> c\nP := in", "1:11", "c", "'c' is not a symbol of the alphabet"),
    ("map: c -> a\nP := in", "1:6", "c", "'c' is not a symbol of the alphabet"),
    ("pad:\nP := in", "1:5", " ", "pad: says no length"),
    ("pad: 2*n\nP := in", "1:8", "n", "unknown name 'n'"),
    ("pad: 2*len +\nP := in", "1:13", " ", "missing operand after '+'"),
    ("alphabet: a\nP := in", "1:1", "alphabet", "duplicate header line alphabet:"),
    ("P(i) := Q_a(i)\n   Q_b(i)", "2:4", "Q_b", "missing operator before Q_b"),
    ("P(i) := in(i) = '#'", "1:17", "'#'", "'#' is not a symbol of the alphabet"),
    ("source: x\n  y\nP:=Q_a", "2:3", "y", "an indented line after a header line"),
    ("a b(i) := Q_a", "1:1", "a b(i) := Q_a", "this line is no statement"),
    ("P_ := Q_a\nR := P_?1:0", "2:9", "1", "missing operator before 1"),
    ("P_? := Q_a\nR := P_", "2:6", "P_", "unknown vector 'P_'"),
    ("P :=  Q_a(i) &  // comment\n  Q_c(i)", "2:3", "Q_c", "'c' is not a symbol of the alphabet"),
    ("rel r = {'a'}\nP := r(in) & r", "2:14", "r", "r is a relation of 1 symbol, with 0 arguments here"),
    ("P := r(in)\nrel r = {'a'}\nP2 := 0r", "3:7", "0r", "unknown vector '0r'"),
    ("P := Q_a\n| Q_b", "2:1", "| Q_b", "this line is no statement"),
    ("P := Q_a\nP", "2:1", "P", "this line is no statement"),
    ("P := Q_a\nP_? := Q_b\nP_?(i)", "3:1", "P_?(i)", "this line is no statement"),
    ("Q_ := Q_a", "1:1", "Q_", "'Q_' is reserved: Q_ begins the vector of a symbol"),
    ("_? := Q_a", "1:1", "_?", "'_?' is not a name"),
    ("P(i, j) := Q_a", "1:2", "(i, j)", "a vector is defined at i, not at i, j"),
    ("P() := Q_a", "1:2", "()", "a vector is defined at i, not at nothing"),
    ("j := Q_a", "1:1", "j", "j is reserved: i and j are positions, in is the input and membership in a set"),
    (
        "rel j = {'a'}\nP := Q_a",
        "1:5",
        "j",
        "j is reserved: i and j are positions, in is the input and membership in a set",
    ),
    ("rel Q_x = {'a'}\nP := Q_a", "1:5", "Q_x", "'Q_x' is reserved: Q_ begins the vector of a symbol"),
    ("leftmost := Q_a", "1:1", "leftmost", "leftmost is reserved"),
    ("rel := Q_a", "1:1", "rel", "rel is reserved"),
    ("rel = {'a'}\nP := Q_a", "1:5", "=", "missing name"),
    ("output: pos\nP := Q_a", "1:9", "pos", "unknown vector 'pos'"),
    ("source: x\nsource: y\nP := Q_a", "2:1", "source", "duplicate header line source:"),
    ("pad: len\npad: len\nP := in", "2:1", "pad", "duplicate header line pad:"),
    ("rel: x\nP := in", "1:1", "rel", "unknown header key 'rel'"),
    ("map: a -> #\npad: len\nP := in", "1:11", "#", "'#' is not a symbol of the alphabet"),
    ("accept: a,b\nP := Q_a", "1:10", ",", "',' is not a symbol of the alphabet"),
]


@pytest.mark.parametrize(("text", "place", "under", "message"), MISTAKES)
def test_mistakes(text: str, place: str, under: str, message: str) -> None:
    error = caught(f"alphabet: a b\n{text}")
    line, column = map(int, place.split(":"))
    assert str(error).split("\n")[0] == f"p:{line + 1}:{column}: error: {message}"
    assert marked(error) == under
    assert error.exit_code == 2


WHOLE_FILES = [
    ("", "1:1", " ", "the file is empty"),
    (" \n\t\n", "1:1", " ", "the file is empty"),
    ("// nothing", "1:11", " ", "a program without statements"),
    ("alphabet: a b", "1:14", " ", "a program without statements"),
    ("Q_a(i)", "1:7", " ", "a program without statements"),
    ("// t\nY := in = 'a'", "2:1", "Y := in = 'a'", "missing alphabet"),
    ("pad: 2*len\nY := Q_#", "1:1", "pad: 2*len", "missing alphabet"),
    ("alphabet:\nY := 1", "1:10", " ", "the alphabet is empty"),
    ("alphabet: a a\nY := 1", "1:13", "a", "duplicate symbol a"),
    ("alphabet: a #\npad: len\nY := in", "1:13", "#", "# is not allowed in the alphabet of a program with a pad: line"),
    ("Q_#\npad: len\nY := in", "1:1", "Q_#", "# is not allowed in the alphabet of a program with a pad: line"),
    ("Q_a\nY := Q_b", "2:6", "Q_b", "'b' is not a symbol of the alphabet"),
    ("Y := Q_'\x07'", "1:6", r"Q_'\x07'", "this symbol has the control character (U+0007) in it"),
    ("alphabet: on off\nmap: on -> off -> on\nY := in", "2:16", "->", "more than one arrow"),
    ("alphabet: on off\naccept: onoff\nY := Q_on", "2:9", "onoff", "'onoff' is not a symbol of the alphabet"),
    ("alphabet: 0 1\nY := in = 0", "2:11", "0", "0 is a number, and a symbol is needed here"),
]


@pytest.mark.parametrize(("text", "place", "under", "message"), WHOLE_FILES)
def test_mistakes_in_whole_files(text: str, place: str, under: str, message: str) -> None:
    error = caught(text)
    assert str(error).split("\n")[0] == f"p:{place}: error: {message}"
    assert marked(error) == under


@pytest.mark.parametrize(
    ("right", "column", "message"),
    [
        ("!" * 101 + "Q_a", 107, "nesting beyond 100 levels"),
        ("!" * 100_000 + "Q_a", 107, "nesting beyond 100 levels"),
        ("pos" + " + 1" * 200 + " > 0", 406, "nesting beyond 100 levels"),
        ("Q_a ? 1 : " * 200 + "0", 1006, "nesting beyond 100 levels"),
        ("(" * 100_000 + "Q_a", 100_005, "this bracket is never closed: ("),
        ("9" * 5000 + " > pos", 6, "a number larger than 10^18"),
    ],
    ids=["not", "many not", "sum", "conditional", "brackets", "digits"],
)
def test_limits(right: str, column: int, message: str) -> None:
    assert str(caught(f"alphabet: a\nY := {right}")).split("\n")[0] == f"p:2:{column}: error: {message}"
