"""Counts (`count_j`) as text: what they mean, and what is said of mistakes."""

from __future__ import annotations

import pytest

from hardsim.errors import SourceError
from hardsim.lang import ast
from hardsim.lang.srasp.interpreter import ProgramOracle
from hardsim.lang.srasp.parallel import ParallelProgram
from hardsim.lang.srasp.parse import parse_program
from tests.mistakes import raised


def test_a_count_is_an_integer_vector() -> None:
    program = parse_program(
        "alphabet: a b\nc(i) := count_j[j<=i, in(i) = in(j)]\nd(i) := count_j[i < j, 1]\nY(i) := c(i) > d(i)\n"
    )
    assert [statement.sort for statement in program.statements] == [ast.Sort.INT, ast.Sort.INT, ast.Sort.BOOL]
    values = ProgramOracle(program).run("aabab")
    assert (values["c"], values["d"]) == ([1, 2, 1, 3, 2], [4, 3, 2, 1, 0])
    assert ParallelProgram(program).accepts(["aabab"]) == [True]


def test_the_documented_count_sorts() -> None:
    program = parse_program(
        "alphabet: a b c\nvalue(i) := in(i) = 'a' ? 1 : (in(i) = 'b' ? 2 : 3)\n"
        "less(i) := count_j[1, value(j) < value(i)]\nbefore(i) := count_j[j < i, value(j) = value(i)]\n"
        "rank(i) := less(i) + before(i) + 1\nY(i) := leftmost_j[1, rank(j) = pos(i)] in(j) : 'a'\n"
    )
    for word in ("cab", "bba", "a", "cbacbacca"):
        assert ProgramOracle(program).output(word) == tuple(sorted(word))
        assert ParallelProgram(program).outputs([word]) == [tuple(sorted(word))]


@pytest.mark.parametrize(
    ("right", "column", "message"),
    [
        ("count_j[1]", 18, "count_j without a score"),
        ("count_j[1,1] 2", 22, "count_j is a whole right-hand side, without a value"),
        ("count_j[1,1] + 2", 22, "count_j is a whole right-hand side, without a value"),
        ("count_j[1,1]:0", 21, "count_j is a whole right-hand side, without a value"),
        ("count_j[1,1,1]", 20, "count_j has one mask and one score"),
        ("1 + count_j[1,1]", 13, "count_j is a whole right-hand side: it cannot be nested"),
        ("count_j 1", 17, "missing [ after count_j"),
        ("count_j", 16, "missing [ after count_j"),
        ("count_j[2,1]", 17, "2 is no mask"),
        ("count_j[1,pos(j)]", 19, "pos(j) is an integer, and a Boolean is needed here"),
        ("count_j[1,1", 16, "this bracket is never closed: ["),
    ],
)
def test_mistakes(right: str, column: int, message: str) -> None:
    error = raised(SourceError, parse_program, f"alphabet: a b\nY(i) := {right}\n")
    assert error.message == message
    assert error.source.line_of(error.span.start)[:2] == (2, column)
    assert error.expected or error.hint
