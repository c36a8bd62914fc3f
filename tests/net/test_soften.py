"""From programs to matrices: the forms entry by entry, and parameters that do not know the length."""

from __future__ import annotations

from fractions import Fraction

import pytest

from hardsim.errors import InputError
from hardsim.lang.arith import parse_arith
from hardsim.lang.desugar import desugar
from hardsim.lang.parse import parse_expression
from hardsim.net.model import Matrix, Transformer
from hardsim.net.soften import soften
from hardsim.run.mp import mp_forward
from hardsim.spec.ir import HardProgram
from hardsim.spec.lower import lower
from hardsim.spec.regimes import PROVEN, REGIMES
from hardsim.theory.budget import choose

FLIPFLOP = "H((0 & Y r -> !(1 & Y w) S (0 & Y w)) & (1 & Y r -> !(0 & Y w) S (1 & Y w))) & (0 | 1)"


def compiled(text: str, regime: str, alphabet: str = "abc") -> tuple[HardProgram, Transformer]:
    program = lower(desugar(parse_expression(text, list(alphabet))), REGIMES[regime])
    return program, soften(program, choose(program))


@pytest.mark.parametrize("regime", [*PROVEN, "none"])
def test_matrices_are_the_same_for_every_length(regime: str) -> None:
    """Parameter-uniformity: running at n = 3 and at n = 300 uses one object whose matrices never change."""
    program, model = compiled(FLIPFLOP, regime, "wri01")
    before = [(head.w_q, head.w_k, head.w_v) for layer in model.layers for head in layer.heads]
    entries = [tuple(matrix.entries for matrix in matrices) for matrices in before]
    forward = mp_forward(model, 30)
    for word in ("w0r", "w1" * 150):
        forward.run(word)
        again = soften(program, choose(program))
        assert again == model
        after = [(head.w_q, head.w_k, head.w_v) for layer in forward.model.layers for head in layer.heads]
        assert all(
            one is two for old, new in zip(before, after, strict=True) for one, two in zip(old, new, strict=True)
        )
        assert [tuple(matrix.entries for matrix in matrices) for matrices in after] == entries
    assert all(isinstance(value, int | Fraction) for matrices in before for m in matrices for _, _, value in m.entries)


@pytest.mark.parametrize(
    ("regime", "query", "key"),
    [
        # beta = 4 on the query side; q_j = [b c] and the tie-break on the key side.
        ("temperature", {"1": 4}, {"[b c]": 1, "i/n": Fraction(1, 2)}),
        ("causal-temperature", {"1": 4}, {"[b c]": 1, "1/i": Fraction(-1, 2)}),
        ("none", {"1": 4}, {"[b c]": 1, "i/n": Fraction(1, 2)}),
    ],
)
def test_since_is_one_row_of_query_and_key(regime: str, query: dict[str, int], key: dict[str, Fraction]) -> None:
    _, model = compiled("a S b", regime)
    (head,) = model.layers[0].heads
    names = model.coordinates
    assert {names[column]: value for column, value in head.w_q.row(0).items()} == query
    assert {names[column]: value for column, value in head.w_k.row(0).items()} == key
    assert [(names[row], names[column], value) for row, column, value in head.w_v.entries] == [("S4.read", "[b]", 1)]


def test_position_regimes_scale_the_boolean_by_the_position() -> None:
    _, model = compiled("a S b", "position")
    (head,) = model.layers[0].heads
    names = model.coordinates
    queries = [{names[c]: v for c, v in head.w_q.row(row).items()} for row in (0, 1)]
    keys = [{names[c]: v for c, v in head.w_k.row(row).items()} for row in (0, 1)]
    assert queries == [{"n": 4}, {"1": 4}]
    assert keys == [{"[b c]": 1}, {"i": Fraction(1, 2)}]


def test_ffn_holds_one_clip_per_boolean() -> None:
    _, model = compiled("a S b", "temperature")
    ffn = model.layers[0].ffn
    assert ffn.w1.shape == (2, model.dimension)
    assert ffn.b1 == (Fraction(-1, 2), Fraction(-3, 2))
    read, out = model.coordinates.index("S4.read"), model.output
    assert ffn.w1.entries == ((0, read, 2), (1, read, 2))
    assert ffn.w2.entries == ((out, 0, 1), (out, 1, -1))


def test_parameters_are_counted_without_zeros() -> None:
    _, model = compiled("a S b", "temperature")
    # Embedding: 3 constants, [b] once, [b c] twice. Head: 1 + 2 + 1. FFN: 2 + 2 + 2.
    assert model.parameters == 6 + 4 + 6


def test_matrix_rows_and_dense() -> None:
    matrix = Matrix.of(2, 3, {(0, 2): 5, (1, 0): Fraction(1, 2), (1, 1): 0})
    assert matrix.entries == ((0, 2, 5), (1, 0, Fraction(1, 2)))
    assert matrix.dense() == [[0, 0, 5], [Fraction(1, 2), 0, 0]]
    assert matrix.row(0) == {2: 5}


@pytest.mark.parametrize("regime", ["position", "causal-position", "none"])
def test_tau_does_not_apply_where_the_temperature_is_1_by_definition(regime: str) -> None:
    program, _ = compiled("a S b", regime)
    with pytest.raises(InputError, match="its temperature is 1 by definition"):
        choose(program, tau=parse_arith("1/n", ("i", "n"), "--tau"))


@pytest.mark.parametrize(
    ("regime", "tau", "message"),
    [
        ("temperature", "1/i", "depends on i, but regime 'temperature' has one temperature for the whole word"),
        ("causal-temperature", "1/n", "depends on n, but regime 'causal-temperature' does not know n"),
    ],
)
def test_tau_may_only_depend_on_what_the_regime_sees(regime: str, tau: str, message: str) -> None:
    program, _ = compiled("a S b", regime)
    with pytest.raises(InputError, match=message):
        choose(program, tau=parse_arith(tau, ("i", "n"), "--tau"))


@pytest.mark.parametrize("beta", [0, -1])
def test_beta_must_be_positive(beta: int) -> None:
    program, _ = compiled("a S b", "temperature")
    with pytest.raises(InputError, match="beta must be positive"):
        choose(program, beta=Fraction(beta))
