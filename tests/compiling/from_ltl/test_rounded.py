"""Regime `rounded`: the construction against the definition, its proof, and networks with one mistake."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random

import pytest

from hardsim.compiling.from_ltl.rounded import RoundedMeans, rounding_of
from hardsim.lang.desugar import desugar
from hardsim.network.rounding import Rounding, RoundingMode
from hardsim.network.transformer import Layer
from hardsim.options.values import parse_rounding
from hardsim.proof.formulas.rounded import prove_rounded
from hardsim.proof.shared.result import Proof
from hardsim.targets.base import ModelOptions
from hardsim.targets.compiled import compile_formula
from hardsim.targets.formula import FormulaTarget
from tests.compiling.from_ltl.test_layer_norm import (
    EQUAL,
    NAMED,
    A,
    Drawn,
    changed,
    compared,
    drawn,
    joined,
    negation,
)
from tests.support.language import HardsimError, InputError, parse_text
from tests.support.mistakes import raised
from tests.support.model import Affine, ExactModel, Program, SoftModel

HALF = Fraction(1, 2)


def target_of(text: str, rounding: str = "floor:8") -> FormulaTarget:
    return compile_formula(parse_text(f"alphabet: a b\n{text}\n", "f"), ModelOptions(rounding=parse_rounding(rounding)))


def proof_of(target: FormulaTarget) -> Proof:
    assert target.formula is not None
    return prove_rounded(target.model, target.program, desugar(target.formula), (1, 0))


def wrong_words(target: FormulaTarget, one: Drawn, longest: int) -> list[tuple[str, ...]]:
    """Return the shortest words on which the output of exact hard attention is not 1 or 0 by the definition, at some
    position."""
    model, program = ExactModel(target.program), target.program
    for n in range(1, longest + 1):
        words = list(product("ab", repeat=n))
        column = model.run(words).columns[program.output]
        found = [word for k, word in enumerate(words) if column.values(k)[1:] != [*map(int, one.truth(word))]]
        if found:
            return found
    return []


def require_right(one: Drawn, roundings: tuple[str, ...], longest: int) -> bool:
    """Compare every position of every word up to a length with the definition, and require a proof. Return False if a
    part of the formula has no construction."""
    for rounding in roundings:
        try:
            target = target_of(one.text, rounding)
        except HardsimError as error:
            if "looks ahead" not in str(error):  # "#[f] >= 1" is O f | F f
                raise
            return False
        assert proof_of(target).reason is None, (one.text, rounding)
        assert wrong_words(target, one, longest) == [], (one.text, rounding)
    return True


def test_random_formulas_are_right_at_every_position_and_proved_for_every_length() -> None:
    rng, done = Random(21), 0
    while done < 10:
        done += require_right(drawn(rng, 2), ("floor:0", "floor:3", "biased:1"), 4)


@pytest.mark.slow
def test_a_hundred_random_formulas_on_all_words_to_length_8() -> None:
    rng, done = Random(52), 0
    while done < 100:
        done += require_right(drawn(rng, 3), ("floor:0", "floor:8", "biased:0", "biased:3"), 8)


@pytest.mark.parametrize("name", [*NAMED, *EQUAL])
def test_named_formulas_and_parts_that_are_equal(name: str) -> None:
    assert require_right((NAMED | EQUAL)[name], ("floor:8", "biased:2"), 5)


def test_softmax_in_exact_rationals_gives_the_same_outputs() -> None:
    for name in ("majority of majorities", "all positions"):
        target = target_of(NAMED[name].text, "floor:2")
        model = SoftModel(target.model, "ball")
        for word in product("ab", repeat=5):
            assert model.run(word, lambda trace: True).output == NAMED[name].truth(word)[-1]


def test_a_nesting_level_takes_one_layer() -> None:
    one = A
    for depth in range(1, 5):
        one = compared("L", [(1, one), (-1, negation(one))], 0)
        assert len(target_of(one.text).model.layers) == depth
    # Decisions of one comparison and older literals, one in the other, are computed in its layer.
    majority = compared("L", [(1, A), (-1, negation(A))], 0)
    nested = joined("&", A, joined("|", negation(A), joined("&", A, majority)))
    assert len(target_of(nested.text).model.layers) == 1


@pytest.mark.parametrize("bits", range(6))
def test_rounding_to_the_nearest_makes_a_small_negative_sum_0(bits: int) -> None:
    # On b^n the sum is -1/2, over n + 1 positions: at least -2^-(p+1) from n = 2^p - 1 on, where the tie goes to 0.
    one = compared("L", [(1, A)], -1)
    target = target_of(one.text, f"nearest:{bits}")
    assert proof_of(target).reason is not None
    model, program = ExactModel(target.program), target.program
    (column,) = (model.run([("b",) * 70]).columns[program.output],)
    first = column.values(0)[1:].index(1) + 1
    assert first == max(1, 2**bits - 1)


@pytest.mark.parametrize("bits", [0, 3, 24, 256])
def test_rounding_to_the_nearest_is_proved_only_with_a_bias(bits: int) -> None:
    for one in NAMED.values():
        nearest, biased = (target_of(one.text, f"{mode}:{bits}") for mode in ("nearest", "biased"))
        assert proof_of(biased).proved
        assert proof_of(nearest).proved == (not nearest.program.heads)


def test_a_number_is_rounded_by_its_definition() -> None:
    rng = Random(5)
    for _ in range(300):
        bits, value = rng.randint(0, 5), Fraction(rng.randint(-400, 400), rng.choice([1, 2, 3, 7, 16, 64]))
        unit = Fraction(1, 2**bits)
        down, near = (Fraction(Rounding(mode, bits).of(value)) for mode in RoundingMode)
        assert (down / unit).denominator == (near / unit).denominator == 1
        assert down <= value < down + unit
        assert abs(near - value) <= unit / 2
        assert abs(near - value) < unit / 2 or (near / unit) % 2 == 0


# ---- one mistake ----


def with_sums(program: Program, change: Callable[[Affine], Affine]) -> Program:
    """Return a program in which the first head reads another form."""
    first, *rest = program.layers
    head = first.heads[0]
    values = tuple((out, change(form)) for out, form in head.values)
    return replace(program, layers=(replace(first, heads=(replace(head, values=values), *first.heads[1:])), *rest))


def with_constant(program: Program, more: int) -> Program:
    """Return a program in which the first clip of a sum reads `more` in addition."""
    first, *rest = program.layers
    unit = first.units[0]
    changed_unit = replace(unit, pre=unit.pre + Affine.constant(more))
    return replace(program, layers=(replace(first, units=(changed_unit, *first.units[1:])), *rest))


MISTAKES: dict[str, tuple[str, Callable[[Program], Program]]] = {
    "shift -1/2": ("floor:3", lambda program: with_sums(program, lambda form: form + Affine.of({"bos": -1}))),
    "shift 1": ("floor:3", lambda program: with_sums(program, lambda form: form + Affine.of({"bos": HALF}))),
    "clip of k": ("floor:3", lambda program: with_constant(program, -1)),
    "clip of 2 + k": ("floor:3", lambda program: with_constant(program, 1)),
    "bias twice": ("biased:1", lambda program: with_sums(program, lambda form: form - Affine.constant(Fraction(1, 4)))),
    "bias of the other sign": (
        "biased:2",
        lambda program: with_sums(program, lambda form: form + Affine.constant(Fraction(1, 4))),
    ),
    "nearest for floor": (
        "floor:2",
        lambda program: replace(program, rounding=Rounding(RoundingMode.NEAREST, 2)),
    ),
    "another number of places": ("floor:2", lambda program: replace(program, rounding=Rounding(RoundingMode.FLOOR, 4))),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_network_with_one_mistake_is_not_proved_and_not_right(mistake: str) -> None:
    rounding, change = MISTAKES[mistake]
    one = compared("L", [(1, A), (-2, negation(A))], 0)
    target = target_of(one.text, rounding)
    assert proof_of(target).proved
    broken = changed(target, change)
    assert proof_of(broken).reason is not None
    if mistake == "another number of places":  # 1 + 4 x for x a multiple of 1/16: no Boolean, on some word
        assert "neither 0 nor 1" in str(proof_of(broken).reason)
    assert wrong_words(broken, one, 8)


def test_a_bias_alone_is_seen_in_the_weights() -> None:
    for text, options in (
        ("floor:8", None),
        ("floor:3", "floor:3"),
        ("nearest:8", "nearest:8"),
        ("biased:8", "biased:8"),
    ):
        assert rounding_of(target_of("#L[a] - #L[b] >= 0", text).program) == options
    assert RoundedMeans(Rounding(RoundingMode.NEAREST, 4), True) == parse_rounding("biased:4")


def test_only_networks_of_means_round() -> None:
    target = target_of("#L[a] >= 1")
    encoded = compile_formula(parse_text("alphabet: a b\na S b\n", "f"), ModelOptions())
    rounding = target.program.rounding
    assert "scores in head" in str(raised(InputError, lambda: replace(encoded.program, rounding=rounding)))
    assert "scores in head" in str(raised(InputError, lambda: replace(encoded.model, rounding=rounding)))
    normed = [replace(layer, norm_2=Fraction(0)) for layer in target.model.layers]
    assert all(isinstance(layer, Layer) for layer in normed)
    assert "layer norms" in str(raised(InputError, lambda: replace(target.model, layers=tuple(normed))))
