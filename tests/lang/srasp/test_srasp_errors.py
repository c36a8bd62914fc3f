"""Every mistake in a program has one error with its message, line, column and carets."""

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


def test_the_whole_text_of_an_error() -> None:
    assert str(caught("alphabet: a b\n\nY(i) :=\tQ_a(i) &\n\t  nothing(i)")) == (
        "p:4:4: error: unknown vector 'nothing'\n     nothing(i)\n     ^^^^^^^\n  expected: a vector (in len pos)"
    )


# text after an alphabet line, line and column in it, marked text, message
MISTAKES = [
    ("Y(i) := Q_c(i)", "1:9", "Q_c", "'c' is not a symbol of the alphabet"),
    ("Y(i) := in(i) = 'c'", "1:17", "'c'", "'c' is not a symbol of the alphabet"),
    ("Y := in = a", "1:11", "a", "unknown vector 'a'"),
    ("Y := in in { a }", "1:14", "a", "a is no quoted symbol"),
    ("Y := in(i) in {'a' 'b'}", "1:20", "'b'", "missing comma before 'b'"),
    ("Y := in(i) in {'a','a'}", "1:20", "'a'", "'a' stands twice in the set"),
    ("Y := in(i) in 'a'", "1:14", " ", "in is followed by a set"),
    ("Y := in {'a'}", "1:6", "in", "missing operand before in"),
    ("Y := P", "1:6", "P", "unknown vector 'P'"),
    ("Y := Y(i)", "1:6", "Y", "Y is defined by itself"),
    ("P := Q_a(j)", "1:10", "j", "j has no meaning here: j is known in attention and psum only"),
    ("P := Q_a(i, j)", "1:6", "Q_a(i, j)", "Q_a is a vector, with 2 arguments here"),
    ("P := Q_a(i+1)", "1:10", "i+1", "a vector is read at i or j, not at i+1"),
    ("P := Q_a(1)", "1:10", "1", "a vector is read at i or j, not at 1"),
    ("P:=Q_a()", "1:8", ")", "nothing between the brackets"),
    ("P := leftmost[j<i, 1] Q_a(j)", "1:29", " ", "attention without a default"),
    ("P := leftmost[j<i] Q_a(j) : 0", "1:18", "]", "attention without a score"),
    ("P := leftmost[1, 1, 1] Q_a(j) : 0", "1:19", ",", "attention has one mask and one score"),
    ("P := leftmost[j=i, 1] Q_a(j) : 0", "1:15", "j=i", "j=i is no mask"),
    ("P := leftmost[j<i & Q_a(j), 1] Q_a(j) : 0", "1:15", "j<i & Q_a(j)", "j<i & Q_a(j) is no mask"),
    ("P := leftmost Q_a(j) : 0", "1:15", "Q_a", "missing [ after leftmost"),
    ("P := leftmost", "1:14", " ", "missing [ after leftmost"),
    ("P := leftmost[j<i, 1]", "1:22", " ", "missing value after ]"),
    ("P := leftmost[j<i, 1] Q_a(j) :", "1:31", " ", "missing default after :"),
    ("P := leftmost[j<i, 1] : 0", "1:23", ":", "missing operand before :"),
    ("P := leftmost[1,1] Q_a(j) ? 1 : 0", "1:34", " ", "attention without a default"),
    ("P := leftmost[1,1] Q_a(j) : pos(i)", "1:29", "pos(i)", "the value is a Boolean and the default an integer"),
    ("P := leftmost[1,1] in(j) : 0", "1:28", "0", "0 is a number, and a symbol is needed here"),
    ("P := leftmost[1,1] pos(j) : Q_a(i)", "1:29", "Q_a(i)", "the value is an integer and the default a Boolean"),
    (
        "P := leftmost[1,1] Q_a(j) : Q_a(j)",
        "1:33",
        "j",
        "j has no meaning here: the default is for positions i that have no j",
    ),
    ("P := leftmost[1,pos(j)] Q_a(j) : 0", "1:17", "pos(j)", "pos(j) is an integer, and a Boolean is needed here"),
    ("P := leftmost[1,in(j)] Q_a(j) : 0", "1:17", "in(j)", "in(j) is a symbol, and a Boolean is needed here"),
    ("P := !leftmost[1,1] Q_a(j) : 0", "1:7", "leftmost", "attention is a whole right-hand side: it cannot be nested"),
    ("P := 1 + psum_j[j<=i] Q_a(j)", "1:10", "psum_j", "psum is a whole right-hand side: it cannot be nested"),
    (
        "P := Q_a(i) & leftmost[1,1] Q_a(j) : 0",
        "1:15",
        "leftmost",
        "attention is a whole right-hand side: it cannot be nested",
    ),
    (
        "P := Q_a(i) leftmost[1,1] Q_a(j) : 0",
        "1:13",
        "leftmost",
        "attention is a whole right-hand side: it cannot be nested",
    ),
    ("P := psum[j<i] Q_a(j)", "1:11", "j<i", "psum adds up j<=i only, not j<i"),
    ("P := psum[j>=i] Q_a(j)", "1:11", "j>=i", "psum adds up j<=i only, not j>=i"),
    ("P := psum[1] Q_a(j)", "1:11", "1", "psum adds up j<=i only, not 1"),
    ("P := psum[j<=i, 1] Q_a(j)", "1:15", ",", "psum has a mask and no score"),
    ("P := psum[j<=i] Q_a", "1:17", "Q_a", "i has no meaning here: psum adds up vectors at j"),
    ("P := psum[j<=i] Q_a(i)", "1:21", "i", "i has no meaning here: psum adds up vectors at j"),
    ("P := psum[j<=i] in(j)", "1:17", "in(j)", "in(j) is a symbol, and an integer is needed here"),
    ("P := psum[j<=i] Q_a(j) : 0", "1:24", ":", "psum has no default"),
    ("P := psum_i[j<=i] Q_a(j)", "1:6", "psum_i", "psum_i does not range over j"),
    ("P := ▶_i[1,1] Q_a(j) : 0", "1:6", "▶_i", "▶_i does not range over j"),
    ("P := psum", "1:10", " ", "missing [ after psum"),
    ("P := psum Q_a(j)", "1:11", "Q_a", "missing [ after psum"),
    ("P := pos(i)", "1:1", "P", "the output P is a vector of integers"),
    ("P := pos", "1:1", "P", "the output P is a vector of integers"),
    ("P := !pos(i) & 1", "1:7", "pos(i)", "pos(i) is an integer, and a Boolean is needed here"),
    ("P := in(i) + 1", "1:6", "in(i)", "in(i) is a symbol, and an integer is needed here"),
    ("P := Q_a = pos", "1:10", "=", "the two sides of = have one sort: Q_a is a Boolean and pos is an integer"),
    ("P := Q_a < Q_b", "1:6", "Q_a", "< compares integers, and Q_a is a Boolean"),
    ("P := in < 'a'", "1:6", "in", "< compares integers, and in is a symbol"),
    ("P := in = 0", "1:11", "0", "0 is a number, and a symbol is needed here"),
    ("P := Q_a ? 'a' : 0", "1:18", "0", "0 is a number, and a symbol is needed here"),
    (
        "P := Q_a ? pos : Q_b",
        "1:10",
        "?",
        "the branches of a conditional have one sort: pos is an integer and Q_b is a Boolean",
    ),
    ("P := pos ? 1 : 0", "1:6", "pos", "pos is an integer, and a Boolean is needed here"),
    ("P := Q_a & 'a'", "1:12", "'a'", "'a' is a symbol, and a Boolean is needed here"),
    ("P := Q_a & 2", "1:12", "2", "2 is an integer, and a Boolean is needed here"),
    ("P := pos * pos = 1", "1:10", "*", "a product of two vectors: pos * pos"),
    ("P := pos * pos(i) > 0", "1:10", "*", "a product of two vectors: pos * pos(i)"),
    ("P := 1.5 < pos", "1:6", "1.5", "not an integer"),
    ("P := 10000000000000000001 < pos", "1:6", "10000000000000000001", "a number larger than 10^18"),
    ("P := 1000000000000 * 1000000000000 * pos > 0", "1:36", "*", "a factor larger than 10^18"),
    ("P := i < 3", "1:6", "i", "i is a position, not a vector"),
    ("P := j", "1:6", "j", "j is a position, not a vector"),
    ("P := (Q_a", "1:6", "(", "this bracket is never closed: ("),
    ("P := Q_a)", "1:9", ")", "this bracket closes nothing: )"),
    ("P := Q_a]", "1:9", "]", "this bracket closes nothing: ]"),
    ("P := (Q_a]", "1:10", "]", "] does not close ("),
    ("P := Q_a &", "1:11", " ", "missing operand after &"),
    ("P := & Q_a", "1:6", "&", "missing operand before &"),
    ("P := Q_a | & Q_b", "1:12", "&", "missing operand before &"),
    ("P := ()", "1:7", ")", "nothing between the brackets"),
    ("P :=", "1:5", " ", "nothing stands after :="),
    ("P := Q_a Q_b", "1:10", "Q_b", "missing operator before Q_b"),
    ("P := 1 < pos < 3", "1:14", "<", "comparisons cannot be chained"),
    ("P := Q_a -> Q_b <-> Q_a", "1:17", "<->", "-> beside <-> needs brackets"),
    ("P := pos = !Q_a", "1:10", "=", "the two sides of = have one sort: pos is an integer and !Q_a is a Boolean"),
    ("P := Q_a ? Q_b", "1:15", " ", "a conditional without an alternative"),
    ("P := Q_a : Q_b", "1:10", ":", "this : belongs to no conditional and no attention"),
    ("P := Q_a ? Q_b :", "1:17", " ", "missing operand after :"),
    ("P := Q_a, Q_b", "1:9", ",", "a comma separates arguments, and mask and score, only"),
    ("P := Q_a [1]", "1:10", "[", "[ has no meaning here"),
    ("P := {'a'}", "1:6", "{", "a set stands after in only"),
    ("P := Q_a := Q_b", "1:10", ":=", "a second := in one statement"),
    ("P := Q_a; X := Q_b", "1:9", ";", "unknown operator ;"),
    ("P := 'a", "1:6", "'", "this quote is never closed"),
    ("P := Q_(i)", "1:6", "Q_", "Q_ without a symbol"),
    ("P := Q_ & Q_a", "1:6", "Q_", "Q_ without a symbol"),
    ("P := Q_a % 2", "1:10", "%", "unknown operator %"),
    ("P := in(i) ∈ {'a'}", "1:12", "∈", "unknown operator ∈"),
    ("P := in(i) in {'a'} in {'b'}", "1:21", "in", "in cannot be chained"),
    ("P := 'a'(i) = 'b'", "1:9", "(", "'a' takes no argument"),
    ("P := r(in)", "1:6", "r", "unknown vector 'r'"),
    ("P := 0r", "1:6", "0r", "unknown vector '0r'"),
    ("P := 1(i)", "1:7", "(", "1 takes no argument"),
    ("P := Q_a(i)(i)", "1:12", "(", "missing operator before ("),
    ("P := psum[j<=i] j", "1:17", "j", "j is a position, not a vector"),
    ("P := leftmost[i, 1] 0 : 1", "1:15", "i", "i is no mask"),
    ("P := leftmost[0, 1] 0 : 1", "1:15", "0", "0 is no mask"),
    ("P := leftmost[j<j, 1] 0 : 1", "1:15", "j<j", "j<j is no mask"),
    ("P := leftmost[j(i)<i, 1] 0 : 1", "1:15", "j(i)<i", "j(i)<i is no mask"),
    ("P := leftmost[pos(j)<pos(i), 1] 0 : 1", "1:15", "pos(j)<pos(i)", "pos(j)<pos(i) is no mask"),
    ("P := leftmost[1, j<i] 0 : 1", "1:18", "j", "j is a position, not a vector"),
    ("P := 1 + !Q_a = 1", "1:10", "!", "! after + needs brackets"),
    ("P := Q_a \x1b Q_b", "1:10", r"\x1b", "unknown operator U+001B"),
    ("P := Q_a # Q_b", "1:10", "#", "unknown operator #"),
    ("P := Q_a ◁ 1", "1:10", "◁", "unknown operator ◁"),
    ("P := in in {in}", "1:13", "in", "in is no quoted symbol"),
    ("P := in in {'c'}", "1:13", "'c'", "'c' is not a symbol of the alphabet"),
    ("P := r ? 1 : 0", "1:6", "r", "unknown vector 'r'"),
    ("P := leftmost[1,1] in(j) : pos", "1:28", "pos", "the value is a symbol and the default an integer"),
    ("P := leftmost[1,1] 'a' : 'c'", "1:26", "'c'", "'c' is not a symbol of the alphabet"),
    ("P := in ? 1 : 0", "1:6", "in", "in is a symbol, and a Boolean is needed here"),
    (
        "P := Q_a ? in : pos",
        "1:10",
        "?",
        "the branches of a conditional have one sort: in is a symbol and pos is an integer",
    ),
    ("P := 'ab' = in", "1:6", "'ab'", "'ab' is not a symbol of the alphabet"),
    ("P := Q_# & 1", "1:6", "Q_#", "'#' is not a symbol of the alphabet"),
    ("P := Q_a and", "1:13", " ", "missing operand after and"),
    ("P := not", "1:9", " ", "missing operand after not"),
    ("P := true(i)", "1:10", "(", "true takes no argument"),
    ("P := Q_a(i))", "1:12", ")", "this bracket closes nothing: )"),
    ("P := Q_a in", "1:12", " ", "in is followed by a set"),
    ("P := (1 < 2) < 3", "1:6", "(1 < 2)", "< compares integers, and (1 < 2) is a Boolean"),
    ("P := in + in", "1:6", "in", "in is a symbol, and an integer is needed here"),
    ("P := -in", "1:7", "in", "in is a symbol, and an integer is needed here"),
    ("P := 2 * in", "1:10", "in", "in is a symbol, and an integer is needed here"),
    ("P := in(i) in {}(i)", "1:17", "(", "missing operator before ("),
    (
        "P := psum[j<=i] leftmost[1,1] 0 : 1",
        "1:17",
        "leftmost",
        "attention is a whole right-hand side: it cannot be nested",
    ),
    (
        "P := leftmost[1, psum[j<=i] Q_a(j)] 0 : 1",
        "1:18",
        "psum",
        "psum is a whole right-hand side: it cannot be nested",
    ),
    ("P := leftmost[1,1] 0 : 1 : 0", "1:26", ":", "this : belongs to no conditional and no attention"),
    ("P := leftmost[1,1) 0 : 1", "1:18", ")", ") does not close ["),
    ("P := psum[]", "1:11", "]", "missing operand after ["),
    ("P := psum[j<=i]", "1:16", " ", "missing value after ]"),
    ("P := leftmost[,1] 0 : 1", "1:15", ",", "missing operand before ,"),
    ("P := leftmost[1,] 0 : 1", "1:17", "]", "missing operand after ,"),
    ("P := leftmost[]", "1:15", "]", "missing operand after ["),
    ("P := X_", "1:6", "X_", "unknown vector 'X_'"),
    ("P := IN", "1:6", "IN", "unknown vector 'IN'"),
    ("P := posi", "1:6", "posi", "unknown vector 'posi'"),
]


@pytest.mark.parametrize(("text", "place", "under", "message"), MISTAKES)
def test_mistakes(text: str, place: str, under: str, message: str) -> None:
    error = caught(f"alphabet: a b\n{text}")
    line, column = map(int, place.split(":"))
    assert str(error).split("\n")[0] == f"p:{line + 1}:{column}: error: {message}"
    assert marked(error) == under
    assert error.exit_code == 2
