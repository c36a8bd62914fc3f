"""Tests of refusals without a construction: each names the place, the reason and an alternative; the oracle runs the
program.
"""

import pytest

from hardsim.compiling.from_srasp.scores import MAX_CASES
from hardsim.lang.ast import SraspProgram
from tests.support.language import ProgramOracle, Unsupported, parse_program
from tests.support.model import compile_program

HEAD = """alphabet: a b
c(i) := psum_j[j<=i] Q_a(j)
p(i) := pos(i) > 2
"""


def refusal(statement: str) -> str:
    """Return the error for a program with this statement, after the oracle has run it."""
    program = parse_program(f"{HEAD}{statement}\nY(i) := x(i) = x(i)\n", "test.srasp")
    assert len(ProgramOracle(program).run("abaab")["x"]) == 5
    with pytest.raises(Unsupported) as caught:
        compile_program(program)
    return str(caught.value)


def caret(message: str) -> str:
    """Return the text that the caret of an error marks."""
    _, line, marks, *_ = message.splitlines()
    return line[marks.index("^") : marks.rindex("^") + 1]


@pytest.mark.parametrize("op", ["<", "<=", ">", ">="])
@pytest.mark.parametrize(
    ("side", "mask"), [("leftmost", "j>i"), ("leftmost", "j>=i"), ("rightmost", "j<i"), ("rightmost", "j<=i")]
)
def test_order_where_no_construction_is_known(side: str, mask: str, op: str) -> None:
    message = refusal(f"x(i) := {side}_j[{mask}, c(j) {op} pos(i)] 1 : 0")
    assert caret(message) == op
    assert f"'{op}' between integers at i and at j has no construction inside the score of {side} under" in message
    assert "no bilinear score with a polynomial gap is known" in message
    assert "works for leftmost under 1, j<i or j<=i, and rightmost under 1, j>i or j>=i" in message
    assert "The program can still be run by its definition" in message


@pytest.mark.parametrize(
    ("score", "op"),
    [
        ("c(j) < pos(i) & Q_a(j)", "<"),
        ("p(i) & c(j) != pos(i)", "!="),
        ("c(j) = pos(i) & c(j) >= c(i)", ">="),
        ("!(c(j) = pos(i) | p(j))", "="),
    ],
)
def test_order_and_inequality_stand_alone(score: str, op: str) -> None:
    message = refusal(f"x(i) := leftmost_j[1, {score}] 1 : 0")
    assert caret(message) == op
    shown = "!=" if op == "=" else op
    assert f"'{shown}' between integers at i and at j must be the whole score" in message
    assert "'=' may stand beside other conditions" in message


@pytest.mark.parametrize(
    ("score", "where"),
    [
        ("c(j) = pos(i) | Q_a(j)", "below '|'"),
        ("!(c(j) != pos(i) & p(j))", "below '&'"),
        ("c(j) = pos(i) ^ Q_a(j)", "below '^'"),
        ("Q_a(j) -> c(j) = pos(i)", "below '->'"),
        ("Q_a(j) <-> c(j) = pos(i)", "below '<->'"),
        ("p(i) ? c(j) = pos(i) : Q_a(j)", "inside a conditional"),
        ("p(j) = (c(j) = pos(i) & Q_a(j))", "below '<->'"),
        ("((c(j) = pos(i)) ? 'a' : in(j)) = 'a'", "inside another comparison"),
        ("((c(j) = pos(i)) ? 'a' : in(j)) in { 'a' }", "inside a set or relation"),
        ("((c(j) = pos(i)) ? 1 : 0) = c(i)", "sum of integers"),
    ],
)
def test_equalities_stand_in_conjunctions(score: str, where: str) -> None:
    message = refusal(f"x(i) := leftmost_j[1, {score}] 1 : 0")
    assert where in message
    assert message.splitlines()[0].startswith("test.srasp:4:")


def test_integers_that_mix_both_positions() -> None:
    message = refusal("x(i) := leftmost_j[1, (p(i) ? c(j) : pos(j)) = pos(i)] 1 : 0")
    assert "this integer reads both i and j, and is not a sum" in message
    assert "compare sums of integers at i with sums of integers at j" in message
    assert caret(message) == "?"


def test_the_number_of_cases_is_limited() -> None:
    """Nine Booleans at i, each with its own at j, have 2^9 cases; eight have 256, which is the limit."""

    def program(count: int) -> SraspProgram:
        vectors = "".join(f"v{number}(i) := pos(i) = {number}\n" for number in range(count))
        score = " ^ ".join(f"v{number}(i) & v{number}(j)" for number in range(count))
        return parse_program(f"{HEAD}{vectors}Y(i) := leftmost_j[1, {score}] 1 : 0\n")

    assert MAX_CASES == 256
    compile_program(program(8))
    with pytest.raises(Unsupported, match="more than 256 cases of truth values and symbols at i"):
        compile_program(program(9))


def test_what_is_constant_or_reads_one_position_is_no_obstacle() -> None:
    """Comparisons that read one position, or are constant, are not part of the score."""
    program = parse_program(
        f"{HEAD}x(i) := rightmost_j[j<i, c(j) > 1 | p(i) & c(i) < 2] 1 : 0\n"
        "y(i) := rightmost_j[j<i, (c(j) > pos(i) & false) | Q_a(j)] 1 : 0\n"
        "Y(i) := x(i) & y(i)\n"
    )
    assert compile_program(program).guards == ()
