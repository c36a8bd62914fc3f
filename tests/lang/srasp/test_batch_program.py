"""The oracle of programs for many words, compared with the oracle of single words."""

import pickle
from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hardsim.lang import ast
from hardsim.lang.srasp import batch_program
from hardsim.lang.srasp.batch_program import BatchProgram
from hardsim.targets.semantics import Runs
from tests.support.language import InputError, ProgramOracle, parse_program
from tests.support.mistakes import raised
from tests.support.srasp_strategies import programs

SHIPPED = sorted((Path(__file__).resolve().parents[3] / "formulas").glob("*.srasp"))


def require(program: ast.SraspProgram, words: list[tuple[str, ...]]) -> None:
    """Assert that both oracles answer words of one length alike."""
    one, many = ProgramOracle(program), BatchProgram(program)
    if program.is_acceptor:
        assert many.accepts(words) == [one.accepts(word) for word in words]
    else:
        assert many.outputs(words) == [one.output(word) for word in words]


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_programs(path: Path) -> None:
    program = parse_program(path.read_bytes())
    for n in (1, 2, 3, 5):
        require(program, list(product(program.alphabet, repeat=n))[:300])


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(programs(), st.integers(1, 5))
def test_random_programs(program: ast.SraspProgram, n: int) -> None:
    require(program, list(product("ab", repeat=n)))


def test_integers_beyond_machine_integers() -> None:
    large = 10**18  # five letters give up to 15 and 3 times 5 of these; 2^63 is 9.2 of these
    for expression in ("e(i) > d(i)", "e(i) = d(i) + d(i) + d(i)", "-5 * d(i) < -1", f"e(i) - {large} > 0"):
        program = parse_program(
            "alphabet: a b\nc(i) := psum_j[j <= i] in(j) = 'a'\n"
            f"d(i) := {large} * c(i)\ne(i) := d(i) + d(i) + d(i)\nY(i) := {expression}\n"
        )
        require(program, list(product("ab", repeat=5)))
    sums = parse_program(f"alphabet: a b\nd(i) := {large} * pos(i)\nc(i) := psum_j[j <= i] d(j)\nY(i) := c(i) > d(i)\n")
    require(sums, [("a",) * 5])


def test_words_are_run_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_program, "PAIRS", 50)
    require(
        parse_program(SHIPPED[0].read_bytes()),
        list(product(parse_program(SHIPPED[0].read_bytes()).alphabet, repeat=4))[:40],
    )


def test_what_travels_answers_alike() -> None:
    program = parse_program(next(path for path in SHIPPED if path.stem == "dyck1").read_bytes())
    answers = Runs(program)
    assert answers(("(", ")")) is True
    words = [("(", ")"), (")", "(")]
    assert pickle.loads(pickle.dumps(answers)).many(words) == answers.many(words) == [True, False]


def test_what_it_refuses() -> None:
    many = BatchProgram(parse_program("alphabet: a b\nY(i) := in(i) = 'a'\n"))
    raised(InputError, many.accepts, [("c",)], match="the symbol 'c' is not in the alphabet")
    raised(InputError, many.accepts, [()], match="the empty word")
