"""Tests that enclosures contain every evaluation: sums in any order, fused or not, in the format or in float32."""

import tracemalloc
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.precision import passes
from hardsim.precision.arithmetic import ACTIVATIONS, MINIMA, Emulated, Enclosed, Enclosures
from hardsim.precision.formats import FORMATS
from hardsim.precision.passes import FormatPass
from hardsim.writing.layout import ExportLayout
from hardsim.writing.running import encoded_word
from tests.support.check import ModelOptions, export_of, read_input
from tests.support.format_evaluation import FromLeft, Plainly, RandomEvaluation
from tests.support.language import parse_arith
from tests.support.subjects import FORMULAS

NAMES = list(FORMATS)
WIDE = FORMATS["float32"]
NOTHING = ExportLayout({}, {}, lambda n: [], {}, lambda n: [], frozenset())


def enclosed(name: str, wide: bool = False) -> Enclosed:
    return Enclosed(FORMATS[name], WIDE if wide else None)


def exactly(*numbers: Any) -> Enclosures:
    array = np.array(numbers, dtype=np.float64)
    return Enclosures(array, array)


def within(found: Any, ends: Enclosures) -> bool:
    """Return True if all known numbers lie between their ends."""
    unknown = np.isnan(ends.low) | np.isnan(ends.high)
    with np.errstate(invalid="ignore"):
        return bool((unknown | ((ends.low <= found) & (found <= ends.high))).all())


# ---- one operation ----


def test_a_sum_that_is_accumulated_in_float32_is_rounded_twice() -> None:
    """A sum accumulated in float32 can differ from the direct rounding.

    9/8 29/32 = 1 + 5/256 is the middle of two numbers of bfloat16, 130/128 and 131/128. With 2^-30 more it is nearer to
    the second; float32 loses the 2^-30, and the middle goes to the first, which is even.
    """
    x, y = exactly([1.125, 2.0**-15]), exactly([0.90625], [2.0**-15])
    direct, twice = 131 / 128, 130 / 128
    found = enclosed("bfloat16", True).matmul(x, y)
    assert (found.low.item(), found.high.item()) == (twice, twice)
    found = enclosed("bfloat16").matmul(x, y)
    assert found.low.item() <= twice < direct <= found.high.item()


def test_a_partial_sum_may_be_beyond_the_format() -> None:
    """60000 + 60000 is infinite in float16, and so is infinity - 60000."""
    assert np.isnan(enclosed("float16").total(exactly(60000.0, 60000.0, -60000.0)).high).all()
    assert not np.isnan(enclosed("float16").total(exactly(20000.0, 20000.0, -20000.0)).high).any()
    product = exactly([60000.0, 60000.0]), exactly([2.0], [-2.0])
    assert np.isnan(enclosed("float16").matmul(*product).low).all()
    assert (enclosed("float16", True).matmul(*product).low == 0).all()


def test_infinity_times_0_is_no_number() -> None:
    form = FORMATS["float16"]
    row, column = np.array([[1.0, np.inf]]), np.array([[1.0], [0.0]])
    with np.errstate(invalid="ignore"):
        assert np.isnan(Emulated(form).matmul(Enclosures.of(row), Enclosures.of(column)).low).all()
        arithmetic = Enclosed(form)
        assert np.isnan(arithmetic.matmul(arithmetic.number(row), arithmetic.number(column)).low).all()


def test_a_power_of_two_takes_digits_next_to_the_least_number() -> None:
    """In e4m3, 3/512 / 2 = 1.5/512 is rounded to 2/512 before it is added, unless it is fused."""
    arithmetic = enclosed("float8_e4m3")
    key = Enclosures(np.array([[3 / 512, 2 / 512]]), np.array([[3 / 512, 3 / 512]]))
    found = arithmetic.matmul(key, exactly([0.5], [0.5]))
    assert found.low.item() <= 2 / 512
    assert found.high.item() >= 4 / 512


def test_two_units_below_a_power_of_two() -> None:
    """If the argument is not known exactly, exp may reach a power of two, from which on units are twice as large.

    At 1/2 two units of bfloat16 are 2^-7, below it 2^-8.
    """
    arithmetic, t = enclosed("bfloat16"), np.array([[-0.6953125, 0.0]])
    apart = Enclosures(t, np.array([[-0.6875, 0.0]]))
    assert np.exp(-0.6953125) < 0.5 < np.exp(-0.6875)
    found = arithmetic.powers(apart, exactly([0.0]))
    assert found.low[0, 0] <= 0.5 - 2.0**-7
    assert (found.low[0, 1], found.high[0, 1]) == (1.0, 1.0)


def test_a_number_of_python_is_rounded_or_not() -> None:
    found = enclosed("bfloat16").scalar(0.1)
    assert found.low.item() < found.high.item() == pytest.approx(0.1, rel=2.0**-8)


def test_the_activations_are_least_where_they_are_declared_to_be() -> None:
    for kind, (place, least) in MINIMA.items():
        z = np.linspace(place - 1e-3, place + 1e-3, 20001)
        found = ACTIVATIONS[kind](z)
        assert abs(float(z[np.argmin(found)]) - place) < 1e-4
        assert least <= float(found.min()) < least + 1e-4
        assert (np.diff(ACTIVATIONS[kind](np.linspace(place, 5, 2000))) >= -1e-14).all()
        assert (np.diff(ACTIVATIONS[kind](np.linspace(-8, place, 2000))) <= 1e-14).all()


NUMBERS = st.floats(-8, 8, width=16) | st.sampled_from([0.0, 1.0, -0.5, 2.0, 0.001, 3 / 512, 1 / 3])


@given(st.sampled_from(NAMES), st.booleans(), st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=7), st.data())
def test_products_of_matrices_are_within_their_enclosures(
    name: str, wide: bool, pairs: list[tuple[float, float]], data: Any
) -> None:
    """Factors are numbers, and enclosures some of which are wide."""
    form = FORMATS[name]
    one = RandomEvaluation(NOTHING, name, "float32" if wide or data.draw(st.booleans()) else None, Random(len(pairs)))
    x, y = (form.round(np.array(side)) for side in zip(*pairs, strict=True))
    off = np.array(data.draw(st.lists(st.sampled_from([0.0, 0.0, 0.25]), min_size=len(x), max_size=len(x))))
    ends = Enclosures(form.round(x - off)[None, :], form.round(x + off)[None, :])
    arithmetic = enclosed(name, wide)
    found = arithmetic.matmul(ends, Enclosures(y[:, None], y[:, None]))
    if wide:
        one.accumulate = "float32"
    for _ in range(4):
        assert within(one.matmul(x[None, :], y[:, None]), found)
    sums = RandomEvaluation(NOTHING, name, one.accumulate, Random(1))
    for _ in range(4):
        assert within(sums.total(x), arithmetic.total(Enclosures(ends.low[0], ends.high[0])))
    factors = Enclosures.of(x[None, :]), Enclosures.of(y[:, None])
    emulated = Emulated(form, WIDE if wide else None).matmul(*factors).low
    in_order = Enclosed(form, WIDE if wide else None, True)
    assert within(emulated, in_order.matmul(ends, Enclosures(y[:, None], y[:, None])))
    point = in_order.matmul(exactly(x), Enclosures(y[:, None], y[:, None]))
    assert np.isnan(point.low).all() or (point.low.item(), point.high.item()) == (emulated.item(), emulated.item())
    if not wide:
        assert within(emulated, found)


@given(st.sampled_from(NAMES), st.lists(st.floats(-20, 0), min_size=2, max_size=8), st.sampled_from([0.0, 0.01, 0.5]))
def test_softmax_is_within_its_enclosure(name: str, logits: list[float], off: float) -> None:
    form, arithmetic = FORMATS[name], enclosed(name)
    x = form.round(np.array(logits))
    ends = Enclosures(form.round(x - off), form.round(x + off))
    found = arithmetic.powers(ends, arithmetic.largest(ends))
    weights = arithmetic.divide(found, arithmetic.total(found))
    one = RandomEvaluation(NOTHING, name, None, Random(2))
    for shift in (0.0, off, -off):
        moved = np.clip(form.round(x + shift * np.sign(np.sin(7 * x))), ends.low, ends.high)
        for _ in range(4):
            powers = one.exp(one.round(moved - moved.max()))
            assert within(powers, found)
            assert within(one.round(powers / one.total(powers)), weights)


# ---- networks ----

FILES = ["since.ltl", "dyck1.ltl", "flipflop.ahat.json", "dyck1_uniform.ahat.json", "dyck1.srasp", "first_half.ltl",
         "networks/flipflop", "networks/majority", "networks/dyck1_depth3"]  # fmt: skip


def require(made: Any, name: str, wide: bool, words: list[tuple[str, ...]], seed: int) -> None:
    """Require that evaluations of words of one length are within their enclosures."""
    form = FORMATS[name]
    tokens = np.array([encoded_word(made.layout, word, np.dtype(np.float64)) for word in words])
    ends: Enclosures = FormatPass(made.layout, Enclosed(form, WIDE if wide else None)).outputs(tokens)
    emulated = FormatPass(made.layout, Emulated(form, WIDE if wide else None)).outputs(tokens).low
    assert within(emulated, ends)
    for accumulate in ("float32",) if wide else (None, "float32"):
        one = RandomEvaluation(made.layout, name, accumulate, Random(seed))
        assert within(one.outputs(tokens), ends)
    in_order = FormatPass(made.layout, Enclosed(form, WIDE if wide else None, True)).outputs(tokens)
    for way in (FromLeft, Plainly):
        assert within(way(made.layout, name, "float32" if wide else None, Random(seed)).outputs(tokens), in_order)
    assert within(emulated, in_order)


@pytest.mark.sweep(every=12)
@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("name", NAMES)
def test_networks_are_within_their_enclosures(file: str, name: str) -> None:
    made, rng = export_of(read_input(str(FORMULAS / file)), ModelOptions(), 8), Random(3)
    for n in (1, 4, 6):
        words = [tuple(rng.choice(list(made.alphabet)) for _ in range(n)) for _ in range(6)]
        require(made, name, n == 4 and name != "float32", words, n)


def test_a_temperature_that_is_irrational_is_enclosed() -> None:
    options = ModelOptions(tau=parse_arith("1/(n*sqrt(n) + log(n + 1))", ("n",), "<test>"))
    made, rng = export_of(read_input(str(FORMULAS / "since.ltl")), options, 8), Random(3)
    words = [tuple(rng.choice("abc") for _ in range(6)) for _ in range(6)]
    form = FORMATS["float32"]
    tokens = np.array([encoded_word(made.layout, word, np.dtype(np.float64)) for word in words])
    ends: Enclosures = FormatPass(made.layout, Enclosed(form)).outputs(tokens)
    assert within(FormatPass(made.layout, Emulated(form)).outputs(tokens).low, ends)


def test_many_words_take_no_more_memory_than_few(monkeypatch: pytest.MonkeyPatch) -> None:
    terms = 2**16
    monkeypatch.setattr(passes, "MOST_TERMS", terms)
    made, rng = export_of(read_input(str(FORMULAS / "flipflop.ltl")), ModelOptions(), 3), Random(3)
    words = [tuple(rng.choice(list(made.alphabet)) for _ in range(3)) for _ in range(500)]
    tokens = np.array([encoded_word(made.layout, word, np.dtype(np.float64)) for word in words])
    run = FormatPass(made.layout, Enclosed(FORMATS["float32"]))
    run.prepare(3)
    tracemalloc.start()
    found = run.outputs(tokens)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 12 * terms, peak / 2**20  # all words at once take five times as much
    # Enclosures of words do not depend on the words beside them.
    few = run.outputs(tokens[400:405])
    assert (found.low[400:405] == few.low).all()
    assert (found.high[400:405] == few.high).all()
