"""Geometric attention on single words: the weights by their definition, exact where e^logit is rational."""

from dataclasses import replace
from fractions import Fraction
from math import exp, prod
from typing import Any

import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from hardsim.errors import InputError
from hardsim.lang.reals import Real, RealNumber, exponential
from hardsim.network.numbers import Mask
from hardsim.run.ball import BallArithmetic
from hardsim.run.forward import Forward
from hardsim.run.geometric import gates, nearest_first, soft_gate
from tests.support.check import ModelOptions, compile_formula
from tests.support.language import parse_arith, parse_text
from tests.support.model import SoftWeighting
from tests.support.strategies import all_words

GEOMETRIC = SoftWeighting.GEOMETRIC


def geometric(text: str, **options: Any) -> Any:
    return compile_formula(parse_text(f"alphabet: a b\n{text}\n"), ModelOptions(weighting=GEOMETRIC, **options))


def by_definition(shares: list[Fraction]) -> list[Fraction]:
    """Return P_j times the product of 1 - P_k over the nearer positions, which come first."""
    return [share * prod((1 - nearer for nearer in shares[:j]), start=Fraction(1)) for j, share in enumerate(shares)]


# ---- rational powers of e ----


def log(x: int | Fraction) -> Real:
    return Real("log", (x,))


@pytest.mark.parametrize(
    ("value", "power"),
    [
        (0, 1),
        (log(3), 3),
        (log(Fraction(2, 7)) * 2, Fraction(4, 49)),
        (log(3) * -2, Fraction(1, 9)),
        (1 / (1 / log(12)), 12),
        (6 / (2 / log(2)), 8),
        (log(4) / Fraction(1, 2), 16),
        (log(2) + log(5) * 3, 250),
    ],
)
def test_powers_of_e_that_are_seen_to_be_rational(value: RealNumber, power: int | Fraction) -> None:
    assert exponential(value) == power


@pytest.mark.parametrize(
    "value", [1, Fraction(1, 2), log(3) * Fraction(1, 2), 1 / log(3), Real("sqrt", (2,)), log(2) + 1]
)
def test_other_powers_of_e(value: RealNumber) -> None:
    assert exponential(value) is None


def test_a_power_with_too_many_digits_is_left_to_balls() -> None:
    assert exponential(log(3) * 10**9) is None


# ---- weights ----


@given(st.lists(st.fractions(0, 1, max_denominator=9), max_size=6))
def test_weights_are_those_of_the_definition(shares: list[Fraction]) -> None:
    found = nearest_first(BallArithmetic(64), [(share, 1 - share) for share in shares])
    assert found == by_definition(shares)
    assert sum(found) <= 1


@given(st.floats(-800, 800))
def test_gates_of_balls_enclose_the_sigmoid(z: float) -> None:
    with ctx.workprec(200):
        near, far = soft_gate(BallArithmetic(200), arb(z))
        assert (near + far).contains(1)
        assert near.overlaps(1 / (1 + arb(-z).exp()))
    if abs(z) < 30:
        assert abs(float(near.mid()) - 1 / (1 + exp(-z))) < 1e-12


def test_gates_are_rational_at_a_rational_power() -> None:
    gate = gates(BallArithmetic(64))
    assert gate(log(8)) == (Fraction(8, 9), Fraction(1, 9))
    assert gate(log(8) * -1) == (Fraction(1, 9), Fraction(8, 9))
    assert isinstance(gate(1)[0], arb)


def attended(text: str, word: str, **options: Any) -> list[Any]:
    """Return the values that the first head reads."""
    subject = geometric(text, **options)
    with ctx.workprec(128):
        trace = Forward(subject.model, BallArithmetic(128)).run(word)
    head = subject.model.heads[0]
    return list(trace.attended[head.name][head.values[0][0]].values)


def test_a_head_reads_the_sum_of_weighted_values() -> None:
    """`a S b` selects b (every position is a or b), with e^(1/tau) = 4n = 16: P = 16/17 at b and 1/17 at a."""
    p, q = Fraction(16, 17), Fraction(1, 17)
    # What a position reads is q of its own (0 at a, 1 at b), and the rest of what the one before reads.
    second, third = (1 - q) * p, p + (1 - p) * (1 - q) * p
    assert attended("a S b", "baba") == [p, second, third, (1 - q) * third]


def test_a_strict_mask_shows_nothing_at_the_first_position() -> None:
    """`Y a` at e^(1/tau) = 4: P = 4/5 everywhere; the first position sees nothing, so its weights add up to 0."""
    p, left = Fraction(4, 5), Fraction(1, 5)
    assert attended("Y a", "aab") == [0, p, p + left * p]
    assert attended("X a", "baa") == [p + left * p, p, 0]


def test_other_temperatures_give_balls() -> None:
    found = attended("a S b", "ba", tau=parse_arith("1/3", ("n",), "--tau"))
    assert all(isinstance(value, arb) for value in found)
    p = 1 / (1 + exp(-3))
    assert [float(value.mid()) for value in found] == pytest.approx([p, p * p])


def test_random_words_by_a_second_computation() -> None:
    """The head of `a U b` in exact rationals, from the right end to the left."""
    for word in all_words("ab", 5):
        n = len(word)
        shares = [Fraction(4 * n, 4 * n + 1) if symbol == "b" else Fraction(1, 4 * n + 1) for symbol in word]
        values = [Fraction(symbol == "b") for symbol in word]
        expected = []
        for i in range(n):
            row = by_definition(shares[i:])
            expected.append(sum((weight * value for weight, value in zip(row, values[i:], strict=True)), Fraction(0)))
        assert attended("a U b", "".join(word)) == expected


# ---- what has no order ----


def test_heads_without_an_order_are_refused() -> None:
    model = geometric("a S b").model
    layer = model.layers[0]
    head = replace(layer.heads[0], mask=Mask.NONE)
    with pytest.raises(InputError, match="mask none shows two sides"):
        replace(model, layers=(replace(layer, heads=(head,)),))


def test_heads_that_take_means_are_refused() -> None:
    model = compile_formula(parse_text("alphabet: a b\n#L[a] >= 2\n"), ModelOptions()).model
    with pytest.raises(InputError, match=r"head #L\[a\].mean takes a mean"):
        replace(model, weighting=GEOMETRIC)
