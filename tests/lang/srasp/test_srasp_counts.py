"""Counts (`count_j`) as text: their meaning, and the messages about mistakes."""

from fractions import Fraction
from itertools import product

import pytest

from hardsim.lang import ast
from hardsim.lang.srasp.batch_program import BatchProgram
from tests.support.language import ProgramOracle, SourceError, parse_program
from tests.support.mistakes import raised


def test_a_count_is_an_integer_vector() -> None:
    program = parse_program(
        "alphabet: a b\nc(i) := count_j[j<=i, in(i) = in(j)]\nd(i) := count_j[i < j, 1]\nY(i) := c(i) > d(i)\n"
    )
    assert [statement.sort for statement in program.statements] == [ast.Sort.INT, ast.Sort.INT, ast.Sort.BOOL]
    values = ProgramOracle(program).run("aabab")
    assert (values["c"], values["d"]) == ([1, 2, 1, 3, 2], [4, 3, 2, 1, 0])
    assert BatchProgram(program).accepts(["aabab"]) == [True]


def test_the_documented_count_sorts() -> None:
    program = parse_program(
        "alphabet: a b c\nvalue(i) := in(i) = 'a' ? 1 : (in(i) = 'b' ? 2 : 3)\n"
        "less(i) := count_j[1, value(j) < value(i)]\nbefore(i) := count_j[j < i, value(j) = value(i)]\n"
        "rank(i) := less(i) + before(i) + 1\nY(i) := leftmost_j[1, rank(j) = pos(i)] in(j) : 'a'\n"
    )
    for word in ("cab", "bba", "a", "cbacbacca"):
        assert ProgramOracle(program).output(word) == tuple(sorted(word))
        assert BatchProgram(program).outputs([word]) == [tuple(sorted(word))]


@pytest.mark.parametrize(
    ("right", "column", "message"),
    [
        ("count_j[1]", 18, "count_j without a score"),
        ("count_j[1,1] 2", 22, "count_j[...] stands alone after :=, without a value"),
        ("count_j[1,1] + 2", 22, "count_j[...] stands alone after :=, without a value"),
        ("count_j[1,1]:0", 21, "count_j[...] stands alone after :=, without a value"),
        ("count_j[1,1,1]", 20, "count_j has one mask and one score"),
        ("1 + count_j[1,1]", 13, "count_j is a whole right-hand side: it cannot be nested"),
        ("count_j 1", 17, "missing [ after count_j"),
        ("count_j", 16, "missing [ after count_j"),
        ("count_j[2,1]", 17, "2 is not a mask"),
        ("count_j[1,pos(j)]", 19, "pos(j) is an integer, and a Boolean is needed here"),
        ("count_j[1,1", 16, "this bracket is never closed: ["),
    ],
)
def test_mistakes(right: str, column: int, message: str) -> None:
    error = raised(SourceError, parse_program, f"alphabet: a b\nY(i) := {right}\n")
    assert error.message == message
    assert error.source.line_of(error.span.start)[:2] == (2, column)
    assert error.expected or error.hint


def test_a_mean_is_rational_and_only_compared() -> None:
    program = parse_program(
        "alphabet: a b\nm(i) := mean_j[j<=i] Q_a(j)\nk(i) := mean_j[1] pos(j)\nl(i) := mean_j[j>=i] 2 * Q_b(j)\n"
        "Y(i) := m(i) >= 1/2 & k(i) > m(i) & -3 / 4 < l(i) & k(i) = 3\n"
    )
    assert {statement.sort for statement in program.statements[:-1]} == {ast.Sort.RATIONAL}
    values = ProgramOracle(program).run("aabab")
    assert values["m"] == [1, 1, Fraction(2, 3), Fraction(3, 4), Fraction(3, 5)]
    assert values["k"] == [3] * 5  # (1 + 2 + 3 + 4 + 5)/5
    assert values["l"] == [Fraction(4, 5), 1, Fraction(4, 3), 1, 2]
    assert ProgramOracle(program).accepts("aabab")
    words = list(product("ab", repeat=5))
    assert BatchProgram(program).accepts(words) == [ProgramOracle(program).accepts(word) for word in words]


@pytest.mark.parametrize(
    ("right", "column", "message"),
    [
        ("mean_j[1,1] 2", 22, "mean_j with a score, and without a default"),
        ("mean_j[1,1] Q_a(j) ? 1 : 2", 35, "mean_j with a score, and without a default"),
        ("mean_j[1,1] 2 :", 24, "missing default after :"),
        ("mean_j[1,1]", 20, "missing value after ]"),
        ("mean_j[1] 2 : 0", 21, "mean_j without a score has no default"),
        ("mean_j[1,1,1] 2 : 0", 19, "mean_j has one mask and one score"),
        ("mean_j[1,1] 2 : 0 : 1", 27, "this : belongs to neither a conditional nor attention"),
        ("mean_j[1, pos(j)] 2 : 0", 19, "pos(j) is an integer, and a Boolean is needed here"),
        ("mean_j[1, m(j)] 2 : 0", 19, "m(j) is a mean, which can only be compared"),
        ("mean_j[1,1] in(j) : 0", 21, "in(j) is a symbol, and an integer is needed here"),
        ("mean_j[1,1] Q_a(i) : 0", 25, "i has no meaning here: mean_j takes the mean of vectors at j"),
        ("mean_j[1,1] 2 : Q_a(j)", 29, "j has no meaning here: the default is for positions i that have no j"),
        ("mean_j[1,1] 2 : in(i)", 25, "in(i) is a symbol, and an integer is needed here"),
        ("mean_j[1,1] 2 : m(i)", 25, "m(i) is a mean, which can only be compared"),
        ("mean_j[1,1] 2 : 1/0", 25, "a fraction with denominator 0"),
        ("mean_j[1,1] 2 : 1/2 + 1", 25, "1/2 is a fraction, which can only be compared"),
        ("1 + mean_j[1,1] 2 : 0", 13, "mean_j is a whole right-hand side: it cannot be nested"),
        ("psum_j[j<=i,1] 2", 20, "psum has a mask and no score"),
        ("mean_j[j<i] Q_a(j)", 16, "at one end of the word, j<i leaves no position to take the mean of"),
        ("mean_j[1] Q_a(i)", 23, "i has no meaning here: mean_j takes the mean of vectors at j"),
        ("mean_j[1] in(j)", 19, "in(j) is a symbol, and an integer is needed here"),
        ("m(i)", 9, "m(i) is a mean, which can only be compared"),
        ("m(i) + 1 > 0", 9, "m(i) is a mean, which can only be compared"),
        ("-m(i) > 0", 10, "m(i) is a mean, which can only be compared"),
        ("Q_a(i) ? m(i) : m(i)", 9, "Q_a(i) ? m(i) : m(i) is a mean, which can only be compared"),
        ("rightmost_j[1,1] m(j) : 0", 26, "m(j) is a mean, which can only be compared"),
        ("rightmost_j[1,1] 0 : m(i)", 30, "m(i) is a mean, which can only be compared"),
        ("psum_j[j<=i] m(j)", 22, "m(j) is a mean, which can only be compared"),
        ("m(i) in { 'a' }", 9, "m(i) is a mean, which can only be compared"),
        ("1/2", 9, "1/2 is a fraction, which can only be compared"),
        ("m(i) > pos(i)", 16, "a mean is compared with a constant or a mean, not with pos(i)"),
        ("1/2 > pos(i)", 15, "a mean is compared with a constant or a mean, not with pos(i)"),
        ("m(i) > Q_a(i)", 16, "a mean is compared with a constant or a mean, not with Q_a(i)"),
        ("m(i) >= 1/0", 17, "a fraction with denominator 0"),
        ("1/2 = 1/2", 9, "a comparison of two constants"),
        ("pos(i)/2 > 1", 15, "unknown operator /"),
        ("m(i) > 1/2 3", 20, "missing operator before 3"),
    ],
)
def test_mistakes_with_means(right: str, column: int, message: str) -> None:
    error = raised(SourceError, parse_program, f"alphabet: a b\nm(i) := mean_j[j<=i] Q_a(j)\nY(i) := {right}\n")
    assert error.message == message
    assert error.source.line_of(error.span.start)[:2] == (3, column)
    assert error.expected or error.hint


@pytest.mark.parametrize(
    ("right", "hint"),
    [
        ("2 * m(i) > 1", "compute inside the mean, as in mean_j[mask, score] 2 * x(j) + y(j) : default"),
        ("m(i) > 2 * m(i)", "compute inside the mean, as in mean_j[mask, score] 2 * x(j) + y(j) : default"),
        ("m(i) > pos", "write an integer v(i) as a mean, mean_j[1, pos(j) = pos(i)] v(j) : 0, in its own statement"),
        ("m(i) = in(i)", ""),
        ("m(i) > 0.75", "numbers are exact: write 3/4 to compare with a mean; between integers, multiply both "
         "sides of the comparison"),
    ],
)  # fmt: skip
def test_what_to_write_in_place_of_a_mistake_with_means(right: str, hint: str) -> None:
    error = raised(SourceError, parse_program, f"alphabet: a b\nm(i) := mean_j[j<=i] Q_a(j)\nY(i) := {right}\n")
    assert error.hint == hint


def test_an_integer_is_compared_as_a_mean_of_one_value() -> None:
    """The integer becomes a mean over the position itself, as the message says."""
    program = parse_program(
        "alphabet: a b\nm(i) := mean_j[j<=i] Q_a(j)\nv(i) := Q_b(i) ? 0 : 1\n"
        "k(i) := mean_j[1, pos(j) = pos(i)] v(j) : 0\nY(i) := m(i) < k(i)\n"
    )
    for word in product("ab", repeat=4):
        share = Fraction(word.count("a"), 4)
        assert ProgramOracle(program).accepts(word) is (share < (word[-1] == "a"))


def test_a_mean_with_a_score() -> None:
    """By hand: Tracr's frac_prevs is the mean over all j <= i; the share of b among the letters before i that are its
    own letter; the mean position of a later a, by default the position i.
    """
    program = parse_program(
        "alphabet: a b\nf(i) := mean_j[j<=i, 1] Q_a(j) : 0\nm(i) := mean_j[j<i, in(j) = in(i)] Q_b(j) : -1/2\n"
        "k(i) := mean_j[j>i, Q_a(j)] pos(j) : pos(i)\nt(i) := mean_j[1, pos(j) > 1 & in(j) = 'b'] 2 : Q_a(i)\n"
        "Y(i) := m(i) > k(i)\n"
    )
    values = ProgramOracle(program).run("abaab")
    assert values["f"] == [1, Fraction(1, 2), Fraction(2, 3), Fraction(3, 4), Fraction(3, 5)]
    assert values["m"] == [Fraction(-1, 2), Fraction(-1, 2), 0, 0, 1]
    assert values["k"] == [Fraction(7, 2), Fraction(7, 2), 4, 4, 5]
    assert values["t"] == [2] * 5
    assert ProgramOracle(program).run("aa")["t"] == [1, 1]
    assert ProgramOracle(program).run("b")["t"] == [0]
    for word in product("ab", repeat=5):
        for name, column in ProgramOracle(program).run(word).items():
            assert BatchProgram(program).values([word], name) == [tuple(column)]


def test_where_the_output_is_specified() -> None:
    text = "alphabet: a b\nassume: {}\nlater(i) := pos(i) > 1\nm(i) := mean_j[1] Q_a(j)\nY(i) := Q_a(i)\n"
    program = parse_program(text.format("later"))
    assert (program.assume, program.output, program.notes) == (
        "later",
        "Y",
        ("the output Y does not need the vector m",),
    )
    for name, message in (
        ("m(i)", "m is a rational number vector, and assume: says where the output is specified"),
        ("latr", "unknown vector 'latr'"),
        ("", "assume: names no vector"),
    ):
        error = raised(SourceError, parse_program, text.format(name))
        assert error.message == message
        assert error.source.line_of(error.span.start)[0] == 2


def test_a_mean_is_no_output() -> None:
    error = raised(SourceError, parse_program, "alphabet: a b\nm(i) := mean_j[j<=i] Q_a(j)\n")
    assert error.message == "the output m is a mean"
