"""Random programs: parsing their text gives them back, and the oracle agrees with an evaluation over arrays."""

import pickle
from fractions import Fraction

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hardsim.lang import ast
from hardsim.lang.ast import walk
from tests.support.language import ProgramOracle, SourceError, parse_program
from tests.support.mistakes import read_or_refused
from tests.support.srasp_definitions import run_by_tables
from tests.support.srasp_strategies import Shape, programs
from tests.support.srasp_text import format_program

WORDS = st.lists(st.sampled_from("ab"), min_size=1, max_size=6)
QUICK = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@settings(QUICK)
@given(programs(Shape(depth=3)))
def test_the_text_of_a_program_reads_back(program: ast.SraspProgram) -> None:
    assert parse_program(format_program(program)) == program


@settings(QUICK)
@given(programs(), WORDS)
def test_two_evaluations_agree(program: ast.SraspProgram, word: list[str]) -> None:
    values = ProgramOracle(program).run(word)
    assert values == run_by_tables(program, word)
    for statement in program.statements:
        kind = {ast.Sort.BOOL: bool, ast.Sort.INT: int, ast.Sort.SYMBOL: str, ast.Sort.RATIONAL: Fraction}[
            statement.sort
        ]
        assert {type(value) for value in values[statement.name]} == {kind}


@settings(QUICK)
@given(programs(Shape(integers=False, symbols=False, masks=("j<i",), sides=("leftmost",), output=ast.Sort.BOOL)))
def test_a_shape_is_kept(program: ast.SraspProgram) -> None:
    assert program.is_acceptor
    for statement in program.statements:
        assert statement.sort is ast.Sort.BOOL
        if isinstance(statement.right, ast.Attention):
            assert (statement.right.mask, statement.right.side) == ("j<i", "leftmost")
        assert {node.sort for node in walk(statement.right)} == {ast.Sort.BOOL}


@settings(QUICK)
@given(programs(Shape(allow_integer_scores=False, psum_of_booleans=True)))
def test_scores_without_integers(program: ast.SraspProgram) -> None:
    for statement in program.statements:
        if isinstance(statement.right, ast.Attention):
            assert not any(isinstance(node, ast.Integer | ast.Position) for node in walk(statement.right.score))
        if isinstance(statement.right, ast.PrefixSum):
            assert isinstance(statement.right.value, ast.AsInteger)


@settings(QUICK)
@given(programs())
def test_programs_can_be_pickled_and_hashed(program: ast.SraspProgram) -> None:
    assert pickle.loads(pickle.dumps(program)) == program
    assert hash(program) == hash(parse_program(format_program(program)))


PIECES = [
    "Q_a", "Q_", "in", "pos", "P", "P_?", "i", "j", "(", ")", "[", "]", "{", "}", ",", ":", ":=", "?", "!", "&", "->",
    "<->", "=", "<", "+", "-", "*", "0", "1", "7", "'a'", "'", "leftmost", "rightmost_j", "◀", "▶_j", "psum", "j<i",
    "mean_j", "count_j", "1/2",
    "j<=i", "rel", "\n", "\n  ", " ", "//", "output", "pad", "map", "accept", "alphabet: a b\n", "true", "#", "\u00a0",
]  # fmt: skip


@settings(QUICK)
@given(programs(Shape(vectors=2)), st.lists(st.tuples(st.sampled_from(PIECES), st.integers(0, 400)), max_size=4))
def test_spoilt_programs_are_refused_or_read(program: ast.SraspProgram, pieces: list[tuple[str, int]]) -> None:
    text = format_program(program)
    for piece, place in pieces:
        at = place % (len(text) + 1)
        text = text[:at] + piece + text[at + place % 3 :]
    found = read_or_refused(lambda: parse_program(text))
    if isinstance(found, SourceError):
        line, column, _ = found.source.line_of(found.span.start)
        assert str(found).startswith(f"<text>:{line}:{column}: error: ")
        assert found.expected or found.hint
    else:
        assert parse_program(format_program(found)) == found


@settings(QUICK)
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_any_text_is_refused_or_read(right: str) -> None:
    found = read_or_refused(lambda: parse_program(f"alphabet: a b\nP := Q_a\nY := {right}"))
    assert isinstance(found, ast.SraspProgram) or found.expected or found.hint
