"""Certified float64 for models that are not rounded: every enclosure contains the value of balls of high precision."""

import random
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Literal

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hardsim.campaign.words import members, sample_words
from hardsim.network.transformer import AttentionHead
from hardsim.run.ball import lower, upper
from hardsim.run.float64 import FloatForward
from tests.run.shipped import network_of
from tests.support.language import Oracle, parse_arith
from tests.support.model import BallArithmetic, FeedForward, Forward, HiddenUnit, Layer, Mask, Matrix, Transformer
from tests.support.networks import ALPHABET, RATIONALS, READINGS, hostile_transformers, one_head, transformers
from tests.support.subjects import shipped, shipped_formula

BITS = 200


def check(model: Transformer, words: list[tuple[str, ...]], bits: int = BITS) -> float:
    """Compare every column of every stage with balls where both have finite bounds; return the widest enclosure."""
    found = FloatForward(model).trace(words)
    arithmetic = BallArithmetic(bits)
    forward = Forward(model, arithmetic)
    widest = 0.0
    for index, word in enumerate(words):
        with arithmetic.precision():
            trace = forward.run(word)
        for stages, others in zip(found.layers, trace.layers, strict=True):
            for columns, balls in zip(stages, others, strict=True):
                for column, values in zip(columns, balls, strict=True):
                    with np.errstate(all="ignore"):
                        low, high = (side[index if len(side) > 1 else 0] for side in (column.lower, column.upper))
                    for i, value in enumerate(values.values):
                        ball_is_finite = isinstance(value, int | Fraction) or value.is_finite()
                        if not (np.isfinite(low[i]) and np.isfinite(high[i]) and ball_is_finite):
                            continue
                        assert Fraction(low[i]) <= upper(value)
                        assert lower(value) <= Fraction(high[i])
                        widest = max(widest, float(high[i]) - float(low[i]))
    return widest


@given(transformers(), st.integers(1, 7), st.integers(0, 10**6))
def test_enclosures_contain_the_balls(model: Transformer, n: int, seed: int) -> None:
    draw = random.Random(seed)
    check(model, [tuple(draw.choices(ALPHABET, k=n)) for _ in range(3)])


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(hostile_transformers(), st.integers(1, 5), st.integers(0, 10**6))
def test_enclosures_contain_the_balls_beyond_the_ends_of_float64(model: Transformer, n: int, seed: int) -> None:
    draw = random.Random(seed)
    check(model, [tuple(draw.choices(ALPHABET, k=n)) for _ in range(2)], 6000)


HUGE = ("1/10^300", "1/10^302", "1/10^310", "1/10^400")


@pytest.mark.parametrize("tau", HUGE)
@pytest.mark.parametrize("mask", [Mask.NONE, Mask.FUTURE, Mask.PAST])
@pytest.mark.parametrize("score", [-1, 1, -(10**8), Fraction(1, 10**8)])
def test_logits_beyond_any_float(tau: str, mask: Mask, score: int | Fraction) -> None:
    """A hidden key never has a weight, however low the logits of the visible keys are."""
    hostile = replace(scored(score, mask), temperature=parse_arith(tau))
    check(hostile, [tuple("abab"), tuple("bbba"), tuple("aaaa")], 3000)
    read = FloatForward(hostile).trace([tuple("baaa"), tuple("abbb")]).attended["h"][2]
    if mask is Mask.FUTURE:  # the first position sees only itself
        assert (read.mid[:, 0].tolist(), read.radius[:, 0].tolist()) == ([0, 1], [0, 0])


def summed(embedding: Matrix, encodings: list[str], weights: tuple[int, ...]) -> Transformer:
    """Return a network that sums all coordinates but the last, each through a relu, times these weights."""
    k = len(weights)
    units = (HiddenUnit(((place, 1),), 0, ((k, weight),), clip=False) for place, weight in enumerate(weights))
    ffn = FeedForward(tuple(units))
    names = tuple(f"x{place}" for place in range(k + 1))
    functions = tuple((place, parse_arith(text)) for place, text in enumerate(encodings))
    return Transformer(("a", "b"), names, embedding, functions, (Layer((), ffn),), parse_arith("1"), k)


@given(st.sampled_from([40, 51, 52, 53, 60, 200, 1100]), st.permutations(range(3)), st.integers(0, 3))
def test_what_a_large_term_absorbs_is_not_known(power: int, order: list[int], small: int) -> None:
    """small + 2^power - 2^power in any order: exact if no partial sum can be off."""
    terms = ((small, 1), (2**power, 1), (2**power, -1))
    embedding = Matrix.of(2, 4, {(0, place): terms[k][0] for place, k in enumerate(order)})
    network = summed(embedding, [], tuple(terms[k][1] for k in order))
    found = FloatForward(network).trace([("a",), ("b",)]).columns[3]
    middle, radius = float(found.mid[0, 0]), float(found.radius[0, 0])
    assert not np.isfinite(radius) or abs(Fraction(middle) - small) <= Fraction(radius)
    assert (radius == 0) == (small + 2 * 2**power < 2**52)
    assert found.mid[1, 0] == 0


@pytest.mark.parametrize("base", [3, 7])
def test_powers_beyond_integers_of_float64_are_not_exact(base: int) -> None:
    """p - (p - 1) = 1 for p = base^i at the last position."""
    model = summed(Matrix.of(2, 3, {(1, 0): 1, (1, 1): 1}), [f"{base}^i", f"{base}^i - 1"], (1, -1))
    for n in (1, 5, 10, 30, 40, 60):
        for words in ([("a",) * n], [("a",) * n, ("b",) * n]):
            found = FloatForward(model).trace(words).columns[2]
            middle, radius = Fraction(float(found.mid[0, -1])), Fraction(float(found.radius[0, -1]))
            assert abs(middle - 1) <= radius
            assert radius == 0 or 2 * base**n - 1 >= 2**52


@pytest.mark.sweep
@pytest.mark.parametrize("name", ["dyck2", "map_reverse", "induction_head_2hop", "majority_rules"])
def test_programs_at_the_theorem_s_temperature(name: str) -> None:
    subject = shipped(f"{name}.srasp")
    words = [tuple(subject.alphabet[(3 * i + k) % len(subject.alphabet)] for i in range(5)) for k in range(4)]
    assert check(network_of(subject, words), [subject.prepared(word) for word in words]) < 1e-6


@pytest.mark.parametrize(
    "name", ["ties", "majority_ties", "tieless_until_7", "dyck1_uniform", "no_repeats", "same_ends", "flipflop"]
)
def test_models_with_ties_strict_masks_and_either_reading(name: str) -> None:
    subject = shipped(f"{name}.ahat.json")
    words = [tuple(subject.alphabet[(i * i + k) % len(subject.alphabet)] for i in range(6)) for k in range(5)]
    network = network_of(subject, words)
    assert check(network, words) < 1e-9
    assert check(replace(network, temperature=parse_arith("1")), words) < 1e-9


def scored(score: int | Fraction, mask: Mask = Mask.NONE) -> Transformer:
    """Return `one_head` with the score `score i j` and any mask."""
    model = one_head()
    (layer,) = model.layers
    head = replace(layer.heads[0], mask=mask, w_q=Matrix.of(1, 4, {(0, 1): score}))
    return replace(model, layers=(replace(layer, heads=(head,)),))


def test_a_settled_clip_is_exact_and_an_unsettled_one_keeps_its_radius() -> None:
    found = FloatForward(scored(3)).trace([tuple("ba"), tuple("ab")]).columns[3]
    # Query 2 reads 1/(1 + e^-6) and e^-6/(1 + e^-6), which clips turn into 1 and 0.
    assert (found.mid[:, 1].tolist(), found.radius[:, 1].tolist()) == ([1, 0], [0, 0])
    flat = FloatForward(scored(0)).trace([tuple("ab")]).columns[3]
    assert flat.mid[0].tolist() == pytest.approx([0.5, 0.5])
    assert (flat.radius[0] > 0).all()


def test_logits_beyond_what_float64_can_exponentiate() -> None:
    """Logits up to 4 * 10^6: all weights but that of the last position underflow, and subtracting the maximum
    keeps it.
    """
    found = FloatForward(scored(10**6)).trace([tuple("ba")]).columns[3]
    assert (found.mid[0].tolist(), found.radius[0].tolist()) == ([1, 1], [0, 0])


def test_a_lone_position_is_read_exactly() -> None:
    found = FloatForward(scored(3, Mask.FUTURE)).trace([tuple("ab")]).columns[2]
    assert (found.mid[0, 0], found.radius[0, 0]) == (1, 0)


def test_an_uncertain_logit_widens_the_mean() -> None:
    """An uncertain activation under a large score: the enclosure is as wide as the values allow, never narrower."""
    model = scored(1)
    second = AttentionHead(
        "g", Mask.NONE, Matrix.of(1, 4, {(0, 1): 2**60}), Matrix.of(1, 4, {(0, 2): 1}), Matrix.of(4, 4, {(3, 0): 1})
    )
    deep = replace(model, layers=(*model.layers, Layer((second,), FeedForward())))
    # All queries of the first layer read nearly the same at n = 2 for "bb": exactly 0 everywhere.
    assert check(deep, [tuple("bb")]) < 1e-9
    assert check(deep, [tuple("ab")]) >= 0


@pytest.mark.parametrize("name", ["flipflop", "dyck1", "tomita_5", "parity"])
@pytest.mark.parametrize("regime", ["temperature", "position"])
def test_the_booleans_of_rounded_networks_are_exact(name: str, regime: str) -> None:
    """Every clip of attention is certainly at most 0 or at least 1, so no Boolean has a radius, and no word stays
    open.
    """
    subject = shipped_formula(f"{name}.ltl", regime=regime)
    oracle, file = Oracle(subject.formula), subject.formula
    pool = members(file.alphabet, 14, oracle.accepts, Random(0), [one.word for one in file.examples], 15)
    words = sample_words(file.alphabet, 14, 60, 0, pool)
    found = FloatForward(subject.model).trace(words)
    assert found.accepted.tolist() == [oracle.accepts(word) for word in words]
    assert (found.accepted | found.rejected).all()
    assert found.columns[subject.model.output].rad is None


def test_every_word_of_the_flip_flop_program_is_decided() -> None:
    subject = shipped("flipflop.srasp")
    assert subject.oracle is not None
    oracle = subject.oracle
    seeds = [word for word, _ in subject.examples]
    pool = members(subject.alphabet, 14, lambda word: oracle(word) is True, Random(0), seeds, 50)
    words = sample_words(subject.alphabet, 14, 200, 0, pool)
    found = FloatForward(network_of(subject, words)).trace(words)
    assert found.accepted.tolist() == [oracle(word) is True for word in words]
    assert (found.accepted | found.rejected).all()
    blocks = [block for stages in found.layers for columns in stages for block in columns]
    blocks += [block for outs in found.attended.values() for block in outs.values()]
    assert all(np.isfinite([block.lower, block.upper]).all() for block in blocks)


@given(transformers(), RATIONALS, st.sampled_from(READINGS), st.integers(1, 6), st.integers(0, 10**6))
def test_answers_by_a_threshold(
    model: Transformer, threshold: Fraction, reading: Literal["first", "last"], n: int, seed: int
) -> None:
    """Balls decide the side of the threshold at either end; float64 must answer where the output is far from it."""
    draw = random.Random(seed)
    words = [tuple(draw.choices(ALPHABET, k=n)) for _ in range(3)]
    network = replace(model, threshold=threshold, reading=reading)
    found, arithmetic = FloatForward(network).trace(words), BallArithmetic(BITS)
    for index, word in enumerate(words):
        with arithmetic.precision():
            value = Forward(network, arithmetic).run(word).output(network)
        assert not found.accepted[index] or lower(value) > threshold
        assert not found.rejected[index] or upper(value) < threshold
        low, high = Fraction(float(found.output[0][index])), Fraction(float(found.output[1][index]))
        assert low <= upper(value)
        assert lower(value) <= high
        assert bool(found.decided[index]) is bool(found.accepted[index] or found.rejected[index])
        for trace, rows in FloatForward(network).passes([word]):  # it assumes that all clips saturate
            for row, _ in rows.tolist():
                assert not trace.accepted[row] or lower(value) > threshold
                assert not trace.rejected[row] or upper(value) < threshold
        if low > threshold + Fraction(1, 10**6) or high < threshold - Fraction(1, 10**6):
            assert found.decided[index]
