"""From programs to matrices: the forms entry by entry, and parameters that do not depend on the length."""

import json
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.compiling.from_ltl.lower import lower
from hardsim.lang.ast import BOS
from hardsim.network.numbers import ONE
from hardsim.network.reader import Reader
from hardsim.program.budget import choose
from hardsim.program.file import program_json, program_of, read_program
from tests.support.language import InputError, desugar, parse_arith, parse_expression
from tests.support.model import (
    PROVEN,
    REGIMES,
    Affine,
    FeedForward,
    HiddenUnit,
    Letter,
    Mask,
    Matrix,
    Program,
    Transformer,
    Unit,
    Weighting,
    assemble,
)
from tests.support.networks import HardNetwork, hard_transformers, mp_forward
from tests.support.simulations import one_head, random_model, unique

FLIPFLOP = "H((0 & Y r -> !(1 & Y w) S (0 & Y w)) & (1 & Y r -> !(0 & Y w) S (1 & Y w))) & (0 | 1)"


def compiled(text: str, regime: str, alphabet: str = "abc") -> tuple[Program, Transformer]:
    program = lower(desugar(parse_expression(text, list(alphabet))), REGIMES[regime])
    return program, assemble(program, choose(program))


@pytest.mark.sweep
@pytest.mark.parametrize("regime", [*PROVEN, "none"])
def test_matrices_are_the_same_for_every_length(regime: str) -> None:
    """Parameter-uniformity: runs at n = 3 and at n = 300 use one object whose matrices never change."""
    program, model = compiled(FLIPFLOP, regime, "wri01")
    before = [(head.w_q, head.w_k, head.w_v) for layer in model.layers for head in layer.heads]
    entries = [tuple(matrix.entries for matrix in matrices) for matrices in before]
    forward = mp_forward(model, 30)
    for word in ("w0r", "w1" * 150):
        forward.run(word)
        assert assemble(program, choose(program)) == model
        after = [(head.w_q, head.w_k, head.w_v) for layer in forward.model.layers for head in layer.heads]
        assert all(
            one is two for old, new in zip(before, after, strict=True) for one, two in zip(old, new, strict=True)
        )
        assert [tuple(matrix.entries for matrix in matrices) for matrices in after] == entries
    assert all(isinstance(value, int | Fraction) for matrices in before for m in matrices for _, _, value in m.entries)


@pytest.mark.parametrize(
    ("regime", "queries", "keys"),
    [
        # beta = 4 on the query side; q_j = [b c] and the tie-break on the key side.
        ("temperature", [{"1": 4}], [{"[b c]": 1, "i/n": Fraction(1, 2)}]),
        ("causal-temperature", [{"1": 4}], [{"[b c]": 1, "1/i": Fraction(-1, 2)}]),
        ("none", [{"1": 4}], [{"[b c]": 1, "i/n": Fraction(1, 2)}]),
        # The score scales the Boolean by the position.
        ("position", [{"n": 4}, {"1": 4}], [{"[b c]": 1}, {"i": Fraction(1, 2)}]),
    ],
)
def test_the_rows_of_query_and_key_of_since(
    regime: str, queries: list[dict[str, int]], keys: list[dict[str, Fraction]]
) -> None:
    _, model = compiled("a S b", regime)
    (head,) = model.layers[0].heads
    names = model.coordinates
    assert [{names[column]: value for column, value in row.items()} for row in head.w_q.rows()] == queries
    assert [{names[column]: value for column, value in row.items()} for row in head.w_k.rows()] == keys
    assert [(names[row], names[column], value) for row, column, value in head.w_v.entries] == [("S4.read", "[b]", 1)]


def test_ffn_holds_one_clip_per_boolean() -> None:
    _, model = compiled("a S b", "temperature")
    read, out = model.coordinates.index("S4.read"), model.output
    assert model.layers[0].ffn == FeedForward((HiddenUnit(((read, 2),), Fraction(-1, 2), ((out, 1),), clip=True),))


def test_parameters_are_counted_without_zeros() -> None:
    _, model = compiled("a S b", "temperature")
    # Embedding: 3 constants, [b] once, [b c] twice. Head: 1 + 2 + 1. FFN: 2 + 2 + 2.
    assert model.parameters == 6 + 4 + 6


def test_matrix_rows_and_dense() -> None:
    matrix = Matrix.of(2, 3, {(0, 2): 5, (1, 0): Fraction(1, 2), (1, 1): 0})
    assert matrix.entries == ((0, 2, 5), (1, 0, Fraction(1, 2)))
    assert matrix.dense() == [[0, 0, 5], [Fraction(1, 2), 0, 0]]
    assert matrix.rows()[0] == {2: 5}


OVER_N, OVER_I = (parse_arith(tau, ("i", "n"), "--tau") for tau in ("1/n", "1/i"))


@pytest.mark.parametrize(
    ("regime", "options", "message"),
    [
        ("position", {"tau": OVER_N}, "its temperature is 1 by definition"),
        ("causal-position", {"tau": OVER_N}, "its temperature is 1 by definition"),
        ("none", {"tau": OVER_N}, "its temperature is 1 by definition"),
        (
            "temperature",
            {"tau": OVER_I},
            "depends on i, but regime 'temperature' has one temperature for the whole word",
        ),
        ("causal-temperature", {"tau": OVER_N}, "depends on n, but regime 'causal-temperature' does not know n"),
        ("temperature", {"beta": Fraction(0)}, "beta must be positive"),
        ("temperature", {"beta": Fraction(-1)}, "beta must be positive"),
    ],
)
def test_tau_and_beta_may_only_be_what_the_regime_has_and_sees(
    regime: str, options: dict[str, Any], message: str
) -> None:
    program, _ = compiled("a S b", regime)
    with pytest.raises(InputError, match=message):
        choose(program, **options)


# ---- any program ----

TAU = parse_arith("1/n")


@given(hard_transformers())
def test_matrices_are_those_of_the_program_that_they_are_read_as(hard: HardNetwork) -> None:
    """A program that is assembled and read back has the same matrices; one that is written and read back is the
    same.
    """
    network = assemble(hard.program, TAU)
    assert assemble(program_of(network, list(hard.heads)), TAU) == network


@given(hard_transformers())
def test_only_what_adds_nothing_is_lost_of_matrices(hard: HardNetwork) -> None:
    """Lost are rows of a score with one side 0."""
    network, found = hard.network, assemble(hard.program, hard.network.temperature)
    assert replace(found, layers=()) == replace(network, layers=())
    for layer, old in zip(found.layers, network.layers, strict=True):
        for mine, theirs in zip(layer.heads, old.heads, strict=True):
            rows = [(q, k) for q, k in zip(theirs.w_q.dense(), theirs.w_k.dense(), strict=True) if any(q) and any(k)]
            assert list(zip(mine.w_q.dense(), mine.w_k.dense(), strict=True)) == rows
            assert (mine.name, mine.mask, mine.w_v) == (theirs.name, theirs.mask, theirs.w_v)
        assert layer.ffn == old.ffn


@given(hard_transformers())
def test_a_program_that_is_written_is_read_again(hard: HardNetwork) -> None:
    check_written(unique(hard.program))


def check_written(program: Program) -> None:
    written = json.loads(json.dumps(program_json(program)))
    assert read_program(Reader(written, "m"), once=False) == program


@given(st.integers(0, 10**9), st.booleans())
def test_programs_with_a_constant_too(seed: int, tied: bool) -> None:
    """In these models the first coordinate is 1 everywhere, or has the name of such a constant but other values."""
    program = random_model(Random(seed), tied)
    assert program.coordinates[0] in (ONE, "1 (2)")
    heads = [(head.weighting, head.gap) for head in program.heads]
    network = assemble(program, TAU)
    assert assemble(program_of(network, heads), TAU) == network
    check_written(program)


def test_a_coordinate_that_is_called_1_and_is_not_is_renamed() -> None:
    program = one_head([0], [2], Mask.FUTURE, Weighting.AVERAGE)
    assert program.coordinates == (ONE, "a", "place", "free")
    network = assemble(program, TAU)
    for changed in (
        replace(network, encodings=((0, TAU),)),
        replace(network, embedding=Matrix.of(2, 4, {(0, 0): 1, (1, 0): 2})),
        replace(network, coordinates=("1", "1 (2)", "place", "free"), encodings=((0, TAU),)),
    ):
        found = program_of(changed, [(Weighting.AVERAGE, None)])
        assert found.coordinates[0] == ("1 (3)" if "1 (2)" in changed.coordinates else "1 (2)")
        assert ONE not in {name for head in found.heads for query, _ in head.score for name, _ in query.terms}


def test_letters_of_one_coordinate_add_up_and_the_beginning_is_one() -> None:
    letters = (Letter("a", frozenset("a")), Letter("a", frozenset({"a", BOS}), Fraction(1, 2)))
    unit = Unit((("out", 1),), Affine.of({"a": 1, ONE: -1}), clip=False)
    base = one_head([0], [2], Mask.FUTURE, Weighting.AVERAGE)
    layer = replace(base.layers[0], units=(unit,), biases=(("out", 2), ("out", -1)))
    program = replace(base, letters=letters, layers=(layer,), bos=True, coordinates=("a", ONE, "place", "free", "out"))
    network = assemble(program, TAU)
    assert network.embedding.dense() == [[Fraction(3, 2), 1, 0, 0, 0], [0, 1, 0, 0, 0], [Fraction(1, 2), 1, 0, 0, 0]]
    relu = HiddenUnit(((0, 1),), -1, ((4, 1),), clip=False)
    assert network.layers[0].ffn == FeedForward((relu,), ((4, 1),))
