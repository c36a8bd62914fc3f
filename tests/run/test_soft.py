"""Softmax models compared with a threshold: enclosures, sides, and the precision that is enough."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import MPContext

from hardsim.network.reader import read_json
from hardsim.program.file import read_ahat
from hardsim.run.soft import BITS, bounds, side
from tests.support.attention_models import Document, some_a, with_head, write
from tests.support.language import Undecided, parse_arith
from tests.support.model import BallArithmetic, SoftModel, Transformer, assemble
from tests.support.networks import fraction, transformers

context = MPContext()
context.dps = 120


def soft(directory: Path, document: Document, tau: str) -> Transformer:
    path = write(directory, document)
    return assemble(read_ahat(read_json(path.read_bytes(), str(path))).program, parse_arith(tau))


def value_of(model: SoftModel, word: str) -> tuple[Fraction, Fraction]:
    run = model.run(word, lambda trace: True)
    with run.precision():
        return bounds(run.trace.columns[model.model.output].values[run.trace.index])


def exactly(word: str, tau: Fraction) -> Fraction:
    """Return k / (k + (n - k) e^(-1/tau)) to 120 digits."""
    k, n = word.count("a"), len(word)
    return fraction(context.mpf(k) / (k + (n - k) * context.exp(context.mpf(-tau.denominator) / tau.numerator)))


@pytest.mark.parametrize("tau", ["1", "1/3", "1/40", "17/5"])
def test_balls_enclose_the_closed_form_and_mpmath_lies_beside_it(tmp_path: Path, tau: str) -> None:
    model = soft(tmp_path, some_a(), tau)
    balls, floats = SoftModel(model), SoftModel(model, "mpmath")
    for word in ("ab", "abb", "bbabab", "aaaab"):
        low, high = value_of(balls, word)
        assert low < exactly(word, Fraction(tau)) < high
        assert high - low < Fraction(1, 2**64)
        same, again = value_of(floats, word)
        assert same == again
        assert low <= same <= high
    assert set(value_of(balls, "bb")) == {0}


@given(transformers(), st.text("abc", min_size=1, max_size=4))
def test_balls_and_mpmath_agree_on_random_networks(model: Transformer, word: str) -> None:
    runs = [SoftModel(model, engine).run(word, lambda trace: True) for engine in ("ball", "mpmath")]
    wide, narrow = (_columns(run) for run in runs)
    assert runs[1].bits >= 2 * runs[0].bits
    for ball, number in zip(wide, narrow, strict=True):
        # An exact number has no radius that could cover the rounding of mpmath.
        rounding = Fraction(1, 2 ** runs[0].bits) * (1 + abs(number[0]))
        assert ball[0] - rounding <= number[0] <= ball[1] + rounding


def _columns(run: Any) -> list[tuple[Fraction, Fraction]]:
    with run.precision():
        return [bounds(value) for column in run.trace.columns for value in column.values]


def test_sides_of_a_threshold() -> None:
    half = Fraction(1, 2)
    assert side(1, half) is True
    assert side(Fraction(1, 3), half) is False
    assert side(half, half) is None
    arithmetic = BallArithmetic(53)
    with arithmetic.precision():
        third = arithmetic.number(Fraction(1, 3))
        assert side(third, half) is False
        assert side(-third, -half) is True
        assert side(third, Fraction(1, 3)) is None  # 1/3 has no finite binary expansion: a ball around it
        low, high = bounds(third)
        assert low < Fraction(1, 3) < high
        assert side(third, low - Fraction(1, 2**80)) is True
        assert side(third, high + Fraction(1, 2**80)) is False


def test_mpmath_numbers_are_taken_as_they_are() -> None:
    for number in (context.mpf("0.375"), context.mpf("-12.25"), context.mpf(0)):
        expected = Fraction(float(number))
        assert bounds(number) == (expected, expected)


def close(word: str, digits: int) -> str:
    """Return a threshold that the output at tau = 1 exceeds by less than 10^-digits."""
    value = exactly(word, Fraction(1))
    return str(Fraction(value.numerator * 10**digits // value.denominator, 10**digits))


def test_the_precision_grows_until_the_side_is_certain(tmp_path: Path) -> None:
    for digits, doublings in ((2, 0), (30, 0), (100, 2)):
        threshold = close("ab", digits)
        model = SoftModel(soft(tmp_path, some_a(threshold=threshold), "1"))

        def settled(trace: Any, model: SoftModel = model, threshold: str = threshold) -> bool:
            return side(trace.columns[model.model.output].values[trace.index], Fraction(threshold)) is not None

        run = model.run("ab", settled)
        with run.precision():
            assert side(run.trace.columns[model.model.output].values[run.trace.index], Fraction(threshold)) is True
        # A ball of p bits is about 2^-p wide, and 10^-100 is 2^-332: more than twice the bits of the first attempt.
        assert 332 / 4 < model.bits(2) < 332 / 2
        assert run.bits == model.bits(2) * 2**doublings


def test_the_limit_names_the_word(tmp_path: Path) -> None:
    threshold = close("ab", 100)
    model = SoftModel(soft(tmp_path, some_a(threshold=threshold), "1"), limit=256)

    def settled(trace: Any) -> bool:
        return side(trace.columns[model.model.output].values[trace.index], Fraction(threshold)) is not None

    with pytest.raises(Undecided, match="the word a b is undecided: with 256 bits, the limit"):
        model.run("ab", settled)
    assert model.run("bb", settled).bits == model.bits(2)  # exactly 0
    # mpmath has no enclosures, so nothing is repeated with more precision.
    assert SoftModel(model.model, "mpmath", limit=256).run("ab", settled).bits == 2 * model.bits(2)


def test_large_logits_get_more_bits(tmp_path: Path) -> None:
    cold, warm = (SoftModel(soft(tmp_path, some_a(), tau)) for tau in ("1/1000000", "1"))
    assert cold.bits(4) > warm.bits(4) > BITS
    low, high = value_of(cold, "ab")
    # The error is about e^-1000000, far below the precision, and its ball says so.
    assert 1 - low < Fraction(1, 2**64)
    assert high >= 1
    deep = with_head(some_a(), name="one")
    deep["layers"].append({"heads": [deep["layers"][0]["heads"][0] | {"name": "two"}]})
    assert SoftModel(soft(tmp_path, deep, "1")).bits(4) > warm.bits(4)
