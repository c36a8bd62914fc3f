"""The oracle for many words, compared with the oracle of single words."""

from itertools import product
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hardsim.hard.lanes import FULL, count_lanes, pack, unpack
from hardsim.lang import ast
from hardsim.lang.batch_oracle import BatchOracle
from tests.support.counting_strategies import counting_formulas
from tests.support.language import InputError, Oracle, SourceError, parse_expression
from tests.support.mistakes import raised
from tests.support.sources import load
from tests.support.strategies import formulas

FORMULAS = sorted((Path(__file__).resolve().parents[2] / "formulas").glob("*.ltl"))


def require(file: ast.FormulaFile, n: int, most: int = 300) -> None:
    """Assert that both oracles agree at every position of words of a length (all of them, or `most` random ones)."""
    words = list(product(file.alphabet, repeat=n))[:most]
    many, one = BatchOracle(file), Oracle(file)
    symbols = many.symbols(words)
    assert many.truth(symbols).tolist() == [one.truth(word) for word in words]
    for at in ("first", "last", None):
        assert many.accepts(symbols, at).tolist() == [one.accepts(word, at) for word in words]
    numbered = many.accepts_numbered([bytes(row) for row in symbols.tolist()])
    assert numbered == [one.accepts(word) for word in words]


@pytest.mark.parametrize("path", FORMULAS, ids=lambda path: path.stem)
def test_shipped_formulas(path: Path) -> None:
    for n in (1, 2, 5):
        require(load(path), n)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.one_of(formulas("ab", 4), counting_formulas("ab")), st.integers(1, 7))
def test_random_formulas(formula: ast.Formula, n: int) -> None:
    require(ast.FormulaFile(("a", "b"), formula), n)


@pytest.mark.parametrize("op", get_args(ast.UnaryOp))
def test_every_unary_operator_at_every_position(op: str) -> None:
    for n in (1, 2, 7):
        require(parse_expression(f"{op} a", ["a", "b"]), n)


@pytest.mark.parametrize("op", [op for ops in (ast.BinaryOp, ast.NaryOp, ast.ArrowOp) for op in get_args(ops)])
def test_every_binary_operator_at_every_position(op: str) -> None:
    for n in (1, 2, 5):
        require(parse_expression(f"a {op} b", ["a", "b", "c"]), n)


def test_comparisons_that_depend_on_no_position() -> None:
    for text in ("2 > 1", "len > 3 & a", "#[a] >= 2 S b", "len = 2 -> X a"):
        require(parse_expression(text, ["a", "b"]), 3)


def test_terms_beyond_machine_integers() -> None:
    for text in ("M * #[a] > M * #[b]", "M * #[a] + M * #[a] = M * #[b] - M", "-M * #[a] < M - M * #[b]"):
        # five times this number exceeds 2^62
        require(parse_expression(text.replace("M", str(10**18)), ["a", "b"]), 7)


def test_predicates_of_terms_near_and_far_apart() -> None:
    for text in ("SQUARE(#[a] - 2 * #L[b])", "EVEN(100000 * #[a] - #[b])", "PRIME(pos + #[a])", "POW2"):
        require(parse_expression(text, ["a", "b"]), 6)


@pytest.mark.parametrize("text", ["MOD(3, 1) ^ MOD(5, 2)", "(((MOD(3, 1) & MOD(5, 2)) | EVEN) ^ MOD(5, 2))"])
def test_predicates_that_are_rewritten_stay_distinct(text: str) -> None:
    """The rewritten node must stay alive while others are rewritten: a node at the same address would be taken for
    it.
    """
    file = parse_expression(text, ["a", "b"])
    for _ in range(50):
        require(file, 8)


def test_what_it_refuses() -> None:
    many = BatchOracle(parse_expression("a S b", ["a", "b"]))
    raised(InputError, many.symbols, ["ac"], match="the symbol 'c' is not in the alphabet")
    raised(InputError, many.truth, np.zeros((1, 0), dtype=np.int64), match="the empty word")
    file = ast.FormulaFile(("a",), ast.Ref("nobody"))
    with pytest.raises(SourceError, match="the name 'nobody' has no definition before it"):
        BatchOracle(file)
    file = ast.FormulaFile(("a",), ast.Predicate("MIDDLE", (), None))
    with pytest.raises(SourceError, match="unknown numerical predicate 'MIDDLE'"):
        BatchOracle(file)


@given(st.integers(1, 200), st.integers(1, 5), st.integers(0, 99))
def test_lanes_hold_what_was_packed_and_repeat_the_last_word(words: int, n: int, seed: int) -> None:
    truth = np.random.default_rng(seed).integers(0, 2, (words, n)).astype(np.bool_)
    lanes = pack(truth)
    assert lanes.shape == (n, count_lanes(words))
    assert (unpack(lanes, words) == truth).all()
    assert (unpack(lanes, 64 * lanes.shape[1])[words:] == truth[-1]).all()
    assert (~lanes ^ FULL == lanes).all()
