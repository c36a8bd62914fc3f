"""Tests of number formats on other weightings and on rounding: enclosures contain every evaluation, and each guard has
a case."""

from fractions import Fraction
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.compiling.from_ltl.rounded import RoundedMeans
from hardsim.network.rounding import Rounding, RoundingMode
from hardsim.network.transformer import SoftWeighting
from hardsim.precision.arithmetic import Emulated, Enclosed, Enclosures
from hardsim.precision.bounds import StructureBounds
from hardsim.precision.formats import FORMATS
from hardsim.precision.lengths import NotEnclosed
from hardsim.precision.passes import FormatPass
from hardsim.precision.safe_lengths import assumptions_of, precision_of, structure_known
from hardsim.precision.structure import Structure
from hardsim.precision.weightings import geometric, multiples, sparsemax, weights
from hardsim.proof.shared.result import NoProof
from tests.precision.test_claims import tokens
from tests.precision.test_passes import NOTHING, require, within
from tests.support.check import ModelOptions, export_of, read_input
from tests.support.format_evaluation import FromLeft, Plainly, RandomEvaluation
from tests.support.subjects import FORMULAS
from tests.writing.test_torch import files_of, load, put

NAMES = list(FORMATS)
WIDE = FORMATS["float32"]
FLOOR = RoundedMeans(Rounding(RoundingMode.FLOOR, 8))
NEAREST = RoundedMeans(Rounding(RoundingMode.NEAREST, 4))
BIASED = RoundedMeans(Rounding(RoundingMode.NEAREST, 4), bias=True)
CASES = {
    "sparsemax": ("since.ltl", ModelOptions(weighting=SoftWeighting.SPARSEMAX)),
    "sparsemax means": ("majority.ltl", ModelOptions(weighting=SoftWeighting.SPARSEMAX)),
    "sparsemax model": ("flipflop.ahat.json", ModelOptions(weighting=SoftWeighting.SPARSEMAX)),
    "sparsemax program": ("dyck1.srasp", ModelOptions(weighting=SoftWeighting.SPARSEMAX)),
    "geometric": ("since.ltl", ModelOptions(regime="geometric")),
    "floor": ("majority.ltl", ModelOptions(regime="rounded", rounding=FLOOR)),
    "nearest": ("majority.ltl", ModelOptions(regime="rounded", rounding=NEAREST)),
    "biased": ("majority.ltl", ModelOptions(regime="rounded", rounding=BIASED)),
    "fixed:8": ("flipflop.ltl", ModelOptions(regime="rounded", weighting=SoftWeighting.FIXED_8)),
    "fp16": ("flipflop.ltl", ModelOptions(regime="rounded", weighting=SoftWeighting.FP16)),
    "bf16": ("since.ltl", ModelOptions(regime="rounded", weighting=SoftWeighting.BF16)),
    "fp32": ("since.ltl", ModelOptions(regime="rounded", weighting=SoftWeighting.FP32)),
}


def exported(case: str) -> Any:
    file, options = CASES[case]
    return export_of(read_input(str(FORMULAS / file)), options, 8)


def test_the_assumptions_name_what_is_computed() -> None:
    made = export_of(read_input(str(FORMULAS / "since.ltl")), ModelOptions(), 8)
    plain = assumptions_of(made, False)
    for case in CASES:
        assert len(assumptions_of(exported(case), False)) == len(plain) + 1, case


# ---- one row ----


def evaluated(one: RandomEvaluation, kind: str, row: Any) -> Any:
    """Return the weights of a row of logits, of which those at -inf are not seen."""
    return one.weights({"weighting": kind, "mask": "future"}, row[None, :], row[None, :] > -np.inf)


@given(
    st.sampled_from(NAMES),
    st.sampled_from([SoftWeighting.SPARSEMAX, SoftWeighting.GEOMETRIC, SoftWeighting.FIXED_8, SoftWeighting.BF16]),
    st.lists(st.sampled_from([0.0, -0.25, -1.0, 3.0]) | st.floats(-9, 9, width=16), min_size=1, max_size=7),
    st.sampled_from([0.0, 0.01, 0.5]),
    st.booleans(),
)
def test_weights_are_within_their_enclosures(
    name: str, kind: SoftWeighting, logits: list[float], off: float, wide: bool
) -> None:
    """Logits are numbers or enclosures; the last key is not seen."""
    form, inner = FORMATS[name], WIDE if wide else None
    x = form.round(np.array(logits))
    ends = Enclosures(np.append(form.round(x - off), -np.inf), np.append(form.round(x + off), -np.inf))
    x = np.append(x, -np.inf)
    found = weights(Enclosed(form, inner), kind, Enclosures(ends.low[None, :], ends.high[None, :]), True)
    ordered = weights(Enclosed(form, inner, True), kind, Enclosures(ends.low[None, :], ends.high[None, :]), True)
    with np.errstate(all="ignore"):
        for shift in (0.0, off, -off):
            moved = form.round(x[:-1] + shift * np.sign(np.sin(7 * x[:-1])))
            moved = np.clip(np.append(moved, -np.inf), ends.low, ends.high)
            for accumulate in ("float32",) if wide else (None, "float32"):
                one = RandomEvaluation(NOTHING, name, accumulate, Random(len(logits)))
                for _ in range(3):
                    assert within(evaluated(one, kind, moved), found)
            plain = evaluated(Plainly(NOTHING, name, "float32" if wide else None), kind, moved)
            emulated = weights(Emulated(form, inner), kind, Enclosures.of(moved[None, :]), True).low
            assert np.array_equal(emulated, plain, equal_nan=True)
            assert within(emulated, ordered)
            assert within(evaluated(FromLeft(NOTHING, name, "float32" if wide else None), kind, moved), ordered)


@given(st.lists(st.fractions(-4, 4, max_denominator=8), min_size=1, max_size=6))
def test_sparsemax_is_near_the_projection(logits: list[Fraction]) -> None:
    """The weights in float32 are near those of Martins and Astudillo, exact in rationals."""
    ranked = sorted(logits, reverse=True)
    k = max(j for j in range(1, len(ranked) + 1) if 1 + j * ranked[j - 1] > sum(ranked[:j]))
    t = (sum(ranked[:k]) - 1) / k
    z = np.array([[float(one - max(logits)) for one in logits]])
    found = sparsemax(Enclosed(WIDE), Enclosures.of(WIDE.round(z)))
    for one, low, high in zip(logits, found.low[0], found.high[0], strict=True):
        assert low - 1e-5 <= max(one - t, 0) <= high + 1e-5
        assert high - low < 1e-4


def test_sparsemax_may_fail_though_all_other_keys_lose_by_more_than_1() -> None:
    """Exactly, the first of these keys has all weight. In bfloat16 the rounded sums of 16 equal logits are less than
    1 + j z_j at some j > 1, and t is not -1. With sums in float32 that needs more keys."""
    form, z = FORMATS["bfloat16"], np.append(0.0, np.full(128, -1.1171875))[None, :]
    short = np.append(0.0, np.full(16, -1.046875))[None, :]
    for row, inner, right in ((short, None, False), (short, WIDE, True), (z, WIDE, False)):
        found = sparsemax(Emulated(form, inner), Enclosures.of(row)).low
        assert bool(found[0, 0] == 1) is right
        for in_order in (False, True):
            assert within(found, sparsemax(Enclosed(form, inner, in_order), Enclosures.of(row)))


def test_unknown_logits_give_unknown_weights() -> None:
    z = np.array([[0.0, np.nan, -1.0]])
    for arithmetic in (Enclosed(WIDE), Emulated(WIDE)):
        assert np.isnan(sparsemax(arithmetic, Enclosures.of(z)).low).all()
    # Without a seen key, model.py has no count to divide by.
    assert np.isnan(sparsemax(Enclosed(WIDE), Enclosures.of(np.full((1, 2), -np.inf))).low).all()


def test_a_small_product_stays_at_the_least_number() -> None:
    """3/4 of twice the least number is rounded to it, ties to even: products in order never reach 0."""
    form = FORMATS["float8_e4m3"]
    x = Enclosures.of(np.full((1, 60), 0.75))
    emulated, ends = Emulated(form).partial_products(x).low, Enclosed(form).partial_products(x)
    assert emulated[0, -1] == 2 * form.least
    assert within(emulated, ends)
    assert form.least / 2 > 0.75**60
    none = Enclosures.of(np.array([[0.5, 0.0, 0.5]]))
    assert (Enclosed(form).partial_products(none).high == [[0.5, 0.0, 0.0]]).all()


def test_rounding_beyond_the_format_is_not_known() -> None:
    """In float16, 2^-1 times 2^17 is infinite: model.py divides infinity by 2^17."""
    form, x = FORMATS["float16"], Enclosures.of(np.array([0.5]))
    assert np.isinf(multiples(Emulated(form), x, np.floor, 17).low).all()
    assert np.isnan(multiples(Enclosed(form), x, np.floor, 17).high).all()
    assert multiples(Enclosed(form), x, np.floor, 8).high == 0.5


def test_the_nearest_key_of_geometric_attention() -> None:
    """At logits of 0 the nearest key has half of 1, the next a quarter."""
    z = Enclosures.of(np.array([[0.0, 0.0, -np.inf, 0.0]]))
    emulated = Emulated(WIDE)
    assert geometric(emulated, z, True).low.tolist() == [[0.125, 0.25, 0.0, 0.5]]
    assert geometric(emulated, z, False).low.tolist() == [[0.5, 0.25, 0.0, 0.125]]


# ---- networks ----


@pytest.mark.sweep(every=8)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", NAMES)
def test_networks_are_within_their_enclosures(case: str, name: str) -> None:
    made, rng = exported(case), Random(3)
    for n in (1, 5):
        words = [tuple(rng.choice(list(made.alphabet)) for _ in range(n)) for _ in range(4)]
        require(made, name, n == 5 and name != "float32", words, n)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_words_are_emulated_as_pytorch_runs_them(case: str, tmp_path: Path) -> None:
    """PyTorch accumulates narrow formats in float32, and rounds once: all words to length 4 (and some longer)."""
    torch = pytest.importorskip("torch")
    made = exported(case)
    put(files_of(made.layout), tmp_path)
    rng = Random(1)
    for name in ("float32", "bfloat16", "float16"):
        model = load(tmp_path, dtype=getattr(torch, name))
        form = FORMATS[name]
        run = FormatPass(made.layout, Emulated(form, WIDE))
        for n in (1, 2, 3, 4, 9):
            every = list(product(made.alphabet, repeat=n)) if n < 5 else []
            words = every or [tuple(rng.choice(list(made.alphabet)) for _ in range(n)) for _ in range(40)]
            found = run.outputs(tokens(made, words)).low
            with torch.no_grad():
                expected = model(model.encode(*words)).to(torch.float64).numpy()
            assert np.abs(found - expected).max() <= 16 * form.unit, (name, n)


# ---- lengths ----


@pytest.mark.sweep(every=2)
@pytest.mark.parametrize("case", ["sparsemax", "geometric", "floor", "fp16"])
def test_every_word_of_a_safe_length_is_right_when_it_is_emulated(case: str) -> None:
    made = exported(case)
    oracle = made.target.oracle
    for row in precision_of(made, case, ["bfloat16", "float8_e4m3"], 4, 300, False).rows:
        emulated = FormatPass(made.layout, Emulated(FORMATS[row.arith]))
        for n in range(1, row.safe_in_order + 1):
            words = list(product(made.alphabet, repeat=n))
            found = emulated.outputs(tokens(made, words)).low[:, -1, 0]
            assert found.tolist() == [float(bool(oracle(word))) for word in words]
        if row.word is not None:
            assert emulated.outputs(tokens(made, [row.word])).low[0, -1, 0] != float(bool(oracle(row.word)))


@pytest.mark.parametrize("name", ["bfloat16", "float16", "float8_e4m3"])
def test_what_a_sparsemax_head_reads_is_bounded(name: str) -> None:
    """The winner loses to no other key; others lose by about 1, by more, and by less, as far as a sum is a number."""
    known = structure_known(exported("sparsemax"))
    assert isinstance(known, Structure)
    form, rng = FORMATS[name], Random(name)
    bounds, head = StructureBounds(known, Enclosed(form)), known.heads[0]
    tight = 0
    for trial in range(150):
        n = rng.choice([1, 2, 3, 5, 8, 12])
        place, scale = rng.randrange(n), rng.choice([0.0, 0.05, 0.5, 3.0])
        row = form.round(np.array([-rng.choice([0.95, 1.0, 1.0, 1.05]) - scale * rng.random() for _ in range(n)]))
        row[place] = 0.0
        winners = np.array([place]), np.array([0.0]), np.array([n - 1])
        with np.errstate(all="ignore"):
            try:
                found = {bit: next(bounds._projected(head, bit, winners, (row, row), 4.1))[0] for bit in (0, 1)}
            except NotEnclosed:
                continue
            for accumulate in (None, "float32"):
                one = RandomEvaluation(NOTHING, name, accumulate, Random(trial))
                for bit in (0, 1):
                    values = np.array([float(rng.random() < 0.5) for _ in range(n)])
                    values[place] = bit
                    read = one.matmul(evaluated(one, "sparsemax", row), values[:, None]).item()
                    assert found[bit][0] <= read <= found[bit][1], (row, values)
        tight += found == {0: (0.0, 0.0), 1: (1.0, 1.0)}
    assert tight > 10


def test_a_second_largest_logit_is_refused() -> None:
    known = structure_known(exported("sparsemax"))
    assert isinstance(known, Structure)
    bounds, row = StructureBounds(known, Enclosed(FORMATS["bfloat16"])), np.array([0.5, 0.0])
    for spread, largest in ((1.0, row), (1e38, np.array([-1.0, 0.0]))):
        winners = np.array([1]), np.array([0.0]), np.array([1])
        with pytest.raises(NotEnclosed, match="sparsemax may give weight to other keys"):
            next(bounds._projected(known.heads[0], 1, winners, (largest, largest), spread * 9))


def test_counts_with_sparsemax_are_enclosed_word_by_word() -> None:
    found = structure_known(exported("sparsemax means"))
    assert isinstance(found, NoProof)
    assert "do not cover look-ups of counts with sparsemax" in found.reason


@pytest.mark.slow
def test_sparsemax_averages_as_many_keys_as_the_format_counts() -> None:
    """e4m3 holds the integers up to 16: `induction_head` marks positions by means."""
    options = ModelOptions(weighting=SoftWeighting.SPARSEMAX)
    made = export_of(read_input(str(FORMULAS / "induction_head.ltl")), options, 8)
    known = structure_known(made)
    assert isinstance(known, Structure)
    assert known.means
    oracle = made.target.oracle
    assert oracle is not None
    with pytest.raises(NotEnclosed, match="keys that sparsemax averages"):
        StructureBounds(known, Enclosed(FORMATS["float8_e4m3"])).require(16)
    StructureBounds(known, Enclosed(WIDE)).require(16)
    bounds, rng = StructureBounds(known, Enclosed(FORMATS["bfloat16"])), Random(1)
    bounds.require_exact()
    for n in range(1, 15, 3):
        bounds.require(n)
        words = [tuple(rng.choices(list(made.alphabet), k=n)) for _ in range(8)]
        found = RandomEvaluation(made.layout, "bfloat16", None, Random(n)).outputs(tokens(made, words))[:, -1, 0]
        assert found.tolist() == [float(bool(oracle(word))) for word in words]
