"""Programs whose output is a vector of integers: their meaning, their examples, and the messages about mistakes."""

from itertools import product

import pytest

from hardsim.lang import ast
from hardsim.lang.pin import example_line, with_example
from hardsim.lang.srasp.batch_program import BatchProgram
from hardsim.lang.srasp.interpreter import check_program_examples
from tests.support.language import InputError, ProgramOracle, SourceError, parse_program
from tests.support.mistakes import raised

DEPTH = "alphabet: ( )\nY(i) := psum_j[j<=i] (in(j) = '(' ? 1 : -1)\n"


def test_an_integer_output_is_a_list() -> None:
    program = parse_program(f"{DEPTH}map: (()) -> 1 2 1 0\nmap: ))( -> -1 -2 -1\nmap: ( -> +1\n")
    assert [example.output for example in program.examples if isinstance(example, ast.MapExample)] == [
        (1, 2, 1, 0), (-1, -2, -1), (1,),
    ]  # fmt: skip
    check_program_examples(program)
    oracle, many = ProgramOracle(program), BatchProgram(program)
    words = list(product("()", repeat=4))
    assert many.outputs(words) == [oracle.output(word) for word in words]
    for word in words:
        assert oracle.output(word) == tuple(word[:i].count("(") - word[:i].count(")") for i in range(1, 5))
    raised(InputError, oracle.accepts, "()", match="is an integer vector: the program accepts no words")


def test_the_padding_has_integers_too() -> None:
    program = parse_program("alphabet: a b\npad: 2*len\nY(i) := psum_j[j<=i] Q_a(j)\nmap: ab -> 1 1 1 1\n")
    check_program_examples(program)
    assert BatchProgram(program).outputs([("b", "a")]) == [(0, 1, 1, 1)]


def test_a_wrong_example_is_reported_with_blanks() -> None:
    error = raised(SourceError, check_program_examples, parse_program(f"{DEPTH}map: (( -> 1 3\n"))
    assert error.message == "the program maps '((' to '1 2', but 'map:' expects '1 3'"


@pytest.mark.parametrize(
    ("line", "column", "message"),
    [
        ("map: () -> 1 x", 14, "'x' is not an integer"),
        ("map: () -> 1.5", 12, "'1.5' is not an integer"),
        ("map: () -> 1 0 (( -> 1 2", 19, "more than one arrow"),
        ("map: () (( -> 1 2", 9, "two words before one arrow"),
        ("map: () 1 2", 6, "a pair without an arrow"),
        ("map: () -> 12345678901234567890", 12, "a number larger than 10^18"),
        ("accept: ()", 1, "accept: does not fit, the output Y is an integer vector: the program maps words"),
    ],
)
def test_mistakes(line: str, column: int, message: str) -> None:
    error = raised(SourceError, parse_program, f"{DEPTH}{line}\n")
    assert error.message == message
    assert error.source.line_of(error.span.start)[:2] == (3, column)


def test_an_example_is_pinned() -> None:
    program = parse_program(f"{DEPTH}map: ( -> 1\n")
    example = ast.MapExample((")", ")"), (-1, -2))
    assert example_line(example, program) == "map: )) -> -1 -2"
    longer = with_example(program.source.text.encode(), "x.srasp", example)
    assert longer.decode() == f"{DEPTH}map: ( -> 1\nmap: )) -> -1 -2\n"
