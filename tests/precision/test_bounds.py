"""Tests of safe lengths: no evaluation is wrong there, and where arithmetic gives a first failure a word is wrong."""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import exp
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hardsim.campaign.evaluate import compiled_text
from hardsim.measuring.export import folder_files
from hardsim.precision.arithmetic import Emulated, Enclosed, Enclosures
from hardsim.precision.bounds import LARGE, StructureBounds, _alternating, _of_levels, _Seen, _Terms, require_to
from hardsim.precision.formats import FORMATS
from hardsim.precision.lengths import NotEnclosed, OfLength, members
from hardsim.precision.reference import reference_of
from hardsim.precision.safe_lengths import FormatRow, precision_of, structure_known
from hardsim.precision.structure import ExactSum, Structure
from hardsim.proof.formulas.sites import Classes
from hardsim.targets.opening import of_document
from hardsim.writing.running import encoded_word, torch_runner
from tests.precision.test_passes import NOTHING
from tests.support.check import Export, ModelOptions, Subject, export_of, read_expression, read_input
from tests.support.format_evaluation import FromLeft, Plainly, RandomEvaluation, nearest
from tests.support.language import HardsimError, format_formula
from tests.support.model import PROVEN
from tests.support.strategies import all_words, formulas
from tests.support.subjects import FORMULAS

NAMES = list(FORMATS)


def made_of(name: str, regime: str = "temperature", beta: Fraction | None = None) -> Export:
    return export_of(read_input(str(FORMULAS / name)), ModelOptions(regime, beta), 64)


def structure(name: str, regime: str = "temperature", beta: Fraction | None = None) -> Structure:
    found = structure_known(made_of(name, regime, beta))
    assert isinstance(found, Structure)
    return found


def answers(made: Export, words: Sequence[tuple[str, ...]]) -> list[float]:
    """Return a formula's answers as the outputs of its network."""
    assert isinstance(made.target, Subject)
    found = made.target.answers(words)
    assert found is not None
    return [1.0 if answer else 0.0 for answer in found]


def rows(made: Export, max_n: int, accumulate: bool = False, names: Sequence[str] = NAMES) -> dict[str, FormatRow]:
    return {row.arith: row for row in precision_of(made, "test", names, max_n, 64, accumulate).rows}


# ---- where arithmetic has the first failure ----


def first_tie(name: str, grouping: str, top: int) -> int:
    """Return the first length at which two neighbours have equal logits, of (8 + 4 j/n) n, grouped in one of three
    ways.
    """

    def r(x: Any) -> Any:
        return nearest(np.asarray(x, dtype=np.float64), name)

    for n in range(2, top):
        j = np.arange(1, n + 1)
        if grouping == "exact":
            logits = r(8.0 * n + 4.0 * j)
        else:
            scores = r(8 * r(1 + r(r(j / n) / 2)))
            logits = r(scores * r(n)) if grouping == "times n" else r(scores / r(1 / n))
        if (logits[1:] <= logits[:-1]).any():
            return n
    raise AssertionError


@pytest.mark.parametrize(
    ("name", "times", "over", "exact"), [("float16", 410, 343, 683), ("bfloat16", 52, 47, 86), ("float8_e4m3", 5, 5, 6)]
)
def test_the_first_tie_of_a_nearest_head_depends_on_the_grouping(name: str, times: int, over: int, exact: int) -> None:
    assert first_tie(name, "times n", 700) == times
    assert first_tie(name, "over 1/n", 700) == over
    assert first_tie(name, "exact", 700) == exact


@pytest.mark.parametrize(
    ("regime", "longest", "lengths"),
    [
        ("temperature", 60, {"bfloat16": 52, "float8_e4m3": 5}),  # test_claims.py has float16
        pytest.param("temperature", 700, {"float16": 410, "bfloat16": 52, "float8_e4m3": 5}, marks=pytest.mark.slow),
        pytest.param("position", 700, {"float16": 683, "bfloat16": 86, "float8_e4m3": 6}, marks=pytest.mark.slow),
    ],
)
def test_since_is_wrong_from_the_first_tie_on(regime: str, longest: int, lengths: dict[str, int]) -> None:
    """With beta 8 model.py computes 8 (q + j/(2n)) n, or 8 n q + 4 j, whose two terms are exact."""
    found = rows(made_of("since.ltl", regime, Fraction(8)), longest, names=[*lengths, "float32"])
    assert {name: found[name].fails_at for name in lengths} == lengths
    assert all(found[name].safe_to == lengths[name] - 1 for name in lengths if name != "float8_e4m3")
    assert (found["float32"].safe_to, found["float32"].closed) == (longest, True)


@pytest.mark.slow
def test_float32_has_its_first_tie_near_3_4_million() -> None:
    """Between 8 and 16 float32 has steps of 2^-20, and products with n lose as much again."""
    for n, ties in ((3_300_000, False), (2**25 // 10, False), (3_360_000, True), (3_400_000, True)):
        j = np.arange(1, n + 1)
        scores = (8 * (1 + (j / n).astype(np.float32) / np.float32(2))).astype(np.float32)
        logits = scores * np.float32(n)
        assert bool((logits[1:] <= logits[:-1]).any()) is ties


@pytest.mark.parametrize(
    ("name", "fails_at"), [("float8_e4m3", 465), pytest.param("float16", 65520, marks=pytest.mark.slow)]
)
def test_squares_of_positions_are_beyond_float16(name: str, fails_at: int) -> None:
    """In float16, i^2 is infinite at 256, and 16 n^4, where n^2 is another factor, at 8: 65536."""
    assert np.isinf(FORMATS["float16"].round(np.array([256.0**2, 16 * 8.0**4]))).all()
    assert not np.isinf(FORMATS["float16"].round(np.array([255.0**2, 16 * 7.0**4]))).any()
    # With n itself as a position encoding, 65520 is infinite, and 0 times infinity is no number.
    row = rows(made_of("even_length.ltl", "position"), fails_at + 5, names=[name])[name]
    assert (row.safe_to, row.fails_at) == (fails_at - 1, fails_at)


# ---- safe lengths are right ----


def hard(made: Export, n: int, rng: Random, size: int) -> Iterator[tuple[str, ...]]:
    """Yield difficult words, with two arbitrary symbols at any place and constant before and after, and random
    words.
    """
    symbols = list(made.alphabet)[:4]
    for _ in range(size):
        place = rng.randrange(n)
        before, one, other, after = (rng.choice(symbols) for _ in range(4))
        yield ((before,) * place + (one, other) + (after,) * n)[:n]
        yield tuple(rng.choice(symbols) for _ in range(n))


def require_safe(made: Export, row: FormatRow, accumulate: bool, rng: Random, size: int = 12) -> None:
    """Require that no evaluation of a word of a safe length is wrong.

    Without `accumulate` sums may still be accumulated in float32, but sums from the left are computed as emulated.
    """
    ways = [(RandomEvaluation, "float32"), (FromLeft, "float32")] if accumulate else [
        (RandomEvaluation, None), (RandomEvaluation, "float32"), (FromLeft, None)
    ]  # fmt: skip
    for way, wide in ways:
        require_right(made, row, row.safe_in_order if way is FromLeft else row.safe_to, way, wide, rng, size)


def require_right(
    made: Export, row: FormatRow, safe: int, way: type[RandomEvaluation], wide: str | None, rng: Random, size: int
) -> None:
    words = defaultdict[int, list[tuple[str, ...]]](list)
    for word in all_words(list(made.alphabet)[:3], min(safe, 3)):
        words[len(word)].append(word)
    for n in {safe, safe - 1, safe // 2, rng.randint(1, max(1, safe))} - {0, -1}:
        if n <= safe:
            words[n] += hard(made, n, rng, size)
    for some in words.values():
        tokens = np.array([encoded_word(made.layout, word, np.dtype(np.float64)) for word in some])
        expected = answers(made, some)
        outputs = way(made.layout, row.arith, wide, rng).outputs(tokens)[:, -1, 0]
        wrong = [(word, x) for word, x, answer in zip(some, outputs, expected, strict=True) if x != answer]
        assert not wrong, (row.arith, safe, way, wide, wrong[0])


def require_all(made: Export, max_n: int, rng: Random, size: int = 12) -> None:
    for accumulate in (False, True):
        for row in rows(made, max_n, accumulate).values():
            require_safe(made, row, accumulate and row.arith != "float32", rng, size)


BETAS = [None, Fraction(7), Fraction(10, 3), Fraction(1000), Fraction(29, 7)]


@pytest.mark.sweep(every=24)
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("regime", PROVEN)
def test_no_evaluation_of_since_is_wrong_at_a_safe_length(regime: str, beta: Fraction | None) -> None:
    require_all(made_of("since.ltl", regime, beta), 40, Random(str(beta)), 8)


def test_differences_of_logits_may_be_beyond_e4m3() -> None:
    """At 7 the largest logit is 16 (1 - 1/2) 48 = 384 and the second -16/4 48 = -192; their difference is no number in
    e4m3.
    """
    made = made_of("first.ltl", "causal-temperature", Fraction(16))
    for accumulate in (False, True):
        row = rows(made, 20, accumulate, ["float8_e4m3"])["float8_e4m3"]
        assert row.safe_to < 7
        require_safe(made, row, accumulate, Random(0))


def test_a_value_that_is_wrong_where_no_answer_reads_it_is_not_taken_as_right() -> None:
    """At length 3 the since before the last position is wrong, but the answer does not read it.

    Longer lengths with an answer that reads it must not rely on the bounds for the last position.
    """
    made = export_of(read_expression("c & Y ((b S c) & (a S c))", "a b c"), ModelOptions("causal-temperature",
                     Fraction(14, 3)), 16)  # fmt: skip
    row = rows(made, 14, names=["float8_e4m3"])["float8_e4m3"]
    word = ("a", "a", "c", "c")
    tokens = np.array([encoded_word(made.layout, word, np.dtype(np.float64))])
    assert Plainly(made.layout, row.arith).outputs(tokens)[0, -1, 0] != answers(made, [word])[0]
    assert row.safe_to <= row.safe_in_order < len(word)
    assert (row.fails_at, row.closed) == (4, True)


FACTORS = [Fraction(1, 2**14), Fraction(2**15), Fraction(3), Fraction(1, 4096), Fraction(1, 3)]


@pytest.mark.parametrize(
    ("regime", "factor"),
    [
        # `make test` tries the first two factors, which lead beyond both ends of formats, each in one regime
        pytest.param(regime, factor, marks=[] if place == number < 2 else pytest.mark.slow)
        for number, factor in enumerate(FACTORS)
        for place, regime in enumerate(PROVEN)
    ],
)
def test_no_evaluation_of_an_edited_network_is_wrong_at_a_safe_length(regime: str, factor: Fraction) -> None:
    """Queries are multiplied by a factor and keys divided by it: scores stay equal, but their parts may be beyond a
    format.
    """
    document = json.loads(
        compiled_text(read_input(str(FORMULAS / "since.ltl")).compile(ModelOptions(regime)), False, 8)
    )
    for layer in document["model"]["layers"]:
        for head in layer["heads"]:
            for matrix, by in (("w_q", factor), ("w_k", 1 / factor)):
                for entry in head[matrix]["entries"]:
                    entry[2] = str(Fraction(entry[2]) * by)
    require_all(export_of(of_document(json.dumps(document).encode(), "edited"), ModelOptions(), 8), 24, Random(1), 6)


# ---- means beside exact coordinates ----


@pytest.mark.parametrize("regime", ["temperature", "causal-temperature"])
@pytest.mark.parametrize("text", ["O(first & a)", "O(first | a)", "O(a & !first)", "first & a"])
def test_a_clip_may_read_a_mean_beside_symbols(text: str, regime: str) -> None:
    """The longest length has 3^24 words, so nothing but the structure can show that it is safe."""
    made = export_of(read_expression(text, "a b c"), ModelOptions(regime), 24)
    found = structure_known(made)
    assert isinstance(found, Structure)
    assert any(len(unit.form) > 1 for unit in found.marks)
    for accumulate in (False, True):
        row = rows(made, 24, accumulate, ["float32"])["float32"]
        assert (row.safe_to, row.safe_by) == (24, "structure")
    require_all(made, 10, Random(text + regime), 4)


@pytest.mark.parametrize("name", ["float32", "bfloat16", "float16"])
def test_a_clip_of_a_mean_beside_a_symbol_is_wrong_where_sums_from_the_left_are(name: str) -> None:
    """The mean is 1/i at odd positions and 0 at even ones, and the clip is 0 or 1 without errors. With the bias -3 its
    input 3 m + 2 s - 3 is 0 at i = 3 and s = 1, so that an error of the mean can make it positive."""
    found = structure("first.ltl", "causal-temperature")
    (unit,), (mean,) = found.marks, found.means
    assert (dict(unit.form)[mean.out], unit.bias) == (3, Fraction(-7, 2))
    assert {*unit.cases} == {(Fraction(0),), (Fraction(1),)}

    def r(x: float) -> float:
        return float(nearest(np.array([x]), name)[0])

    def read(i: int, s: int, bias: float) -> float:
        """Return the input of the clip at position i as sums from the left give it."""
        share, m = r(1 / r(i)), 0.0
        for k in range(i):
            m = r(m + r((-1) ** k * share))
        return r(r(r(2.0 * s) + r(3 * m)) + bias)

    n = 40
    for bias in (Fraction(-7, 2), Fraction(-3)):
        changed, some_wrong = replace(unit, bias=bias), []
        for i in range(1, n + 1):
            exact = [3 * Fraction(i % 2, i) + 2 * s + bias for s in (0, 1)]
            inputs = [read(i, s, float(bias)) for s in (0, 1)]
            some_wrong.append(any((x >= 1) != (one >= 1) or 0 < x < 1 for x, one in zip(inputs, exact, strict=True)))
        for in_order in (True, False):
            bounds = StructureBounds(found, Enclosed(FORMATS[name], in_order=in_order))
            length = OfLength.of(found, bounds.arithmetic, n)
            flagged = bounds._mark(mean, changed, length)
            if bias == unit.bias:
                assert not flagged.any()
                assert not any(some_wrong)
            elif in_order:
                assert flagged.tolist() == some_wrong
            else:  # in some order an error remains
                assert flagged.tolist() == [i == 3 for i in range(1, n + 1)]


def test_a_clip_that_is_neither_0_nor_1_is_not_enclosed() -> None:
    found = structure("first.ltl", "causal-temperature")
    (unit,), (mean,) = found.marks, found.means
    bounds = StructureBounds(found, Enclosed(FORMATS["float32"]))
    length = OfLength.of(found, bounds.arithmetic, 9)
    # 3 m + 2 s - 5/2 is 1/2 at i = 1 without s, and 1/2 and 1/10 at i = 3 and 5 with it.
    between = bounds._mark(mean, replace(unit, bias=Fraction(-5, 2)), length)
    assert np.flatnonzero(between).tolist() == [0, 2, 4]
    other = bounds._mark(mean, replace(unit, cases=frozenset([(Fraction(1, 4),)])), length)
    assert not other.any()  # 3 m + 1/2 - 7/2 is at most 0


def test_sums_of_weights_may_be_beyond_e4m3() -> None:
    """Ones added in float32 are rounded to e4m3 at the end, where 465 is no number."""
    bounds = StructureBounds(structure("since.ltl"), Enclosed(FORMATS["float8_e4m3"], FORMATS["float32"]))
    many, none = np.array([470.0]), np.array([0.0])
    with np.errstate(all="ignore"):
        never = none > 0
        nothing = _Terms(none, none, none, none, never)
        assert bounds._reading(1, nothing, _Terms(many, none, many, many, never))[0] == -np.inf
        assert bounds._reading(1, nothing, _Terms(many / 4, none, many / 4, many / 4, never))[0] > 0


@pytest.mark.sweep(every=200)
@pytest.mark.parametrize("regime", PROVEN)
@pytest.mark.parametrize("name", sorted(path.name for path in FORMULAS.glob("*.ltl")))
def test_no_evaluation_of_a_shipped_formula_is_wrong_at_a_safe_length(name: str, regime: str) -> None:
    rng = Random(name + regime)
    try:
        made = made_of(name, regime, rng.choice(BETAS))
    except HardsimError:
        pytest.skip("not in this regime")
    require_all(made, 10 if name.startswith(("shuffle", "dyck", "induction")) else 24, rng, 3)


@settings(max_examples=settings().max_examples // 4)
@given(formulas("ab", 2), st.sampled_from(PROVEN), st.sampled_from(BETAS), st.integers(0, 9))
def test_no_evaluation_of_a_random_formula_is_wrong_at_a_safe_length(
    formula: Any, regime: str, beta: Fraction | None, seed: int
) -> None:
    try:
        made = export_of(read_expression(format_formula(formula), "a b"), ModelOptions(regime, beta), 16)
    except HardsimError:
        assume(False)
    require_all(made, 16, Random(seed), 3)


@pytest.mark.slow
@pytest.mark.parametrize("file", ["dyck1.srasp", "flipflop.srasp", "flipflop.ahat.json", "dyck1_uniform.ahat.json",
                                  "networks/flipflop", "networks/majority"])  # fmt: skip
def test_no_evaluation_of_another_network_is_wrong_at_a_safe_length(file: str) -> None:
    made, rng = export_of(read_input(str(FORMULAS / file)), ModelOptions(), 6), Random(file)
    reference = reference_of(made)
    for row in precision_of(made, "test", NAMES, 4, 700, False).rows:
        for n in range(1, row.safe_to + 1):
            words = list(product(list(made.alphabet)[:4], repeat=n))[:80]
            tokens = np.array([encoded_word(made.layout, word, np.dtype(np.float64)) for word in words])
            for wide in (None, "float32"):
                outputs = RandomEvaluation(made.layout, row.arith, wide, rng).outputs(tokens)
                assert all(reference.right(reference.judged(words), outputs, outputs))


@pytest.mark.sweep(every=12)
@pytest.mark.parametrize("name", ["since.ltl", "tomita_1.ltl", "bigram.ltl"])
@pytest.mark.parametrize("regime", PROVEN)
def test_a_word_that_fails_is_wrong_when_it_is_evaluated_from_the_left(name: str, regime: str) -> None:
    """An independent evaluation from the left, without fused operations and with exp to nearest, finds the word
    wrong.
    """
    made = made_of(name, regime)
    for row in rows(made, 64).values():
        if row.word is not None:
            tokens = np.array([encoded_word(made.layout, row.word, np.dtype(np.float64))])
            (answer,) = answers(made, [row.word])
            assert Plainly(made.layout, row.arith).outputs(tokens)[0, -1, 0] != float(answer)
            assert row.safe_to <= row.safe_in_order < len(row.word) == row.fails_at


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("regime", PROVEN)
@pytest.mark.parametrize("name", ["since.ltl", "succession.ltl", "tomita_1.ltl", "flipflop.ltl", "parity.ltl"])
def test_torch_is_right_at_safe_lengths_and_wrong_on_words_that_fail(name: str, regime: str, tmp_path: Path) -> None:
    """model.py runs on the CPU, which accumulates products of bfloat16 in float32."""
    pytest.importorskip("torch")
    try:
        made = made_of(name, regime)
    except HardsimError:
        pytest.skip("not in this regime")
    for file, data in folder_files(made, "torch").items():
        (tmp_path / file).write_bytes(data)
    rng = Random(name)
    for arith in ("float32", "bfloat16"):
        run = torch_runner(tmp_path, arith)
        for accumulate in (False, True):
            row = rows(made, 64, accumulate, [arith])[arith]
            words = [word for n in {row.safe_to, 1, 2, row.safe_to // 2} - {0} for word in hard(made, n, rng, 4)]
            for word in words:
                (answer,) = answers(made, [word])
                assert run(word)[-1, 0] == float(answer), (arith, row.safe_to, word)
        if row.word is not None:
            (answer,) = answers(made, [row.word])
            assert run(row.word)[-1, 0] != float(answer)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["majority", "flipflop", "dyck1_depth3"])
def test_torch_is_wrong_where_an_external_network_fails(name: str, tmp_path: Path) -> None:
    """The word fails with sums in float32, as the CPU accumulates them."""
    pytest.importorskip("torch")
    made = export_of(read_input(str(FORMULAS / "networks" / name)), ModelOptions(), 8)
    for file, data in folder_files(made, "torch").items():
        (tmp_path / file).write_bytes(data)
    reference = reference_of(made)
    (row,) = precision_of(made, "test", ["bfloat16"], 8, 100, True).rows
    assert row.word is not None
    outputs = torch_runner(tmp_path, "bfloat16")(row.word)[None]
    assert reference.right(reference.judged([row.word]), outputs, outputs) == [False]


# ---- lemmas ----


@given(st.sampled_from(NAMES), st.lists(st.floats(0, 1), min_size=0, max_size=14), st.integers(0, 99))
def test_a_sum_of_large_and_small_terms_is_off_by_no_more_than_its_bound(
    name: str, others: list[float], seed: int
) -> None:
    """The largest term is 1, and powers of the others give small terms."""
    form = FORMATS[name]
    rng, u = Random(seed), form.unit
    terms = form.round(np.array([1.0, *(x ** rng.choice([1, 3, 9, 20]) for x in others)]))
    limit = 0.25 * u
    large, small = int((terms >= limit).sum()), terms[terms < limit]
    count = int((small > 0).sum())
    assume((large - 1) * u < 1)
    exact = sum(map(Fraction, terms.tolist()), Fraction(0))
    allowed = ((large - 1) * u * float(exact) + float(small.sum()) * (1 + u) ** (2 * count)) / (1 - (large - 1) * u)
    one = RandomEvaluation(NOTHING, name, None, rng)
    for _ in range(6):
        off = abs(Fraction(float(one.total(terms)[0])) - exact)
        assert off <= Fraction(allowed) * (1 + Fraction(1, 2**40))


VALUES = st.lists(st.sampled_from([-1.0, 0.0, 1.0, 3.0]), min_size=1, max_size=24)


@given(st.sampled_from(NAMES), VALUES, st.integers(0, 99))
def test_a_mean_that_no_word_changes_is_off_by_no_more_than_its_bound(
    name: str, values: list[float], seed: int
) -> None:
    form, m = FORMATS[name], len(values)
    one = RandomEvaluation(NOTHING, name, None, Random(seed))
    share = float(form.round(np.array(1 / m)))
    bound = max(sum(max(v, 0) for v in values), sum(max(-v, 0) for v in values)) * share
    allowed = bound * ((1 - form.unit) ** -(m + 2) - 1) + 2 * m * form.least * (1 - form.unit) ** -(m + 2)
    exact = Fraction(share) * sum(map(Fraction, values), Fraction(0))
    for _ in range(4):
        found = one.summed([(np.array([share]), np.array([v])) for v in values])
        assert abs(Fraction(float(found[0])) - exact) <= Fraction(allowed) * (1 + Fraction(1, 2**40))


@given(st.sampled_from(NAMES), st.lists(st.floats(-30, 0), min_size=1, max_size=16), st.data())
def test_what_a_head_reads_is_within_its_bounds(name: str, apart: list[float], data: Any) -> None:
    """Positions have logits below the winner's, and their values are right or wrong.

    `_Terms` bounds all the terms of the sums, from a computation in float64 with some slack.
    """
    form = FORMATS[name]
    rights = np.array(data.draw(st.lists(st.booleans(), min_size=len(apart), max_size=len(apart))))
    t = form.round(np.array(apart))
    one = RandomEvaluation(NOTHING, name, None, Random(1))
    most = np.minimum(np.exp(t) * (1 + 1e-12) + 2.5 * form.spacing(np.exp(t)), 1.0)
    limit = 0.25 * form.unit

    def terms(here: Any) -> _Terms:
        small = here & (most < limit)
        numbers = (most[here].sum(), most[small].sum(), (here & (most >= limit)).sum(), here.sum())
        total, few, large, count = (np.array([float(number)]) for number in numbers)
        return _Terms(total, few, large, count, np.array([False]))

    bounds = StructureBounds(structure("since.ltl"), Enclosed(form))
    with np.errstate(all="ignore"):
        for bit in (0, 1):
            low, high = bounds._reading(bit, terms(~rights), terms(np.full(len(t), True)))
            values = np.concatenate([np.where(rights, bit, 1 - bit), [bit]]).astype(float)
            for _ in range(4):
                powers = one.exp(np.concatenate([t, [0.0]]))
                weights = one.round(powers / one.total(powers))
                found = one.summed([(np.array([w]), np.array([v])) for w, v in zip(weights, values, strict=True)])
                assert low <= float(found[0]) <= high


@given(st.integers(1, 9), st.data())
def test_what_queries_see_is_what_the_best_of_them_sees(n: int, data: Any) -> None:
    """The result is compared with an enumeration of all queries and winners."""
    free = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    own = np.array(sorted(data.draw(st.sets(st.integers(0, n - 1), min_size=1))))
    ends_here, before = data.draw(st.sampled_from([(True, True), (False, True), (False, False)]))
    seen = _Seen.of(own, free, ends_here, before)
    limit, alone = np.full(n, -1), np.full(n, False)
    for query in own:
        first, last = 0 if before else query, query if ends_here else n - 1
        assert seen.start <= first
        assert seen.stop >= last
        for j in range(first, last + 1):
            if free[j + 1 : last + 1].all():
                limit[j] = max(limit[j], last)
        alone[last] |= free[first : last + 1].all()
    assert seen.limit.tolist() == limit.tolist()
    assert seen.alone.tolist() == alone.tolist()


@pytest.mark.parametrize("name", NAMES)
def test_keys_from_the_left_are_summed_in_the_order_of_the_coordinates(name: str) -> None:
    """1 - j/(2n) and then -1 are rounded before the word's term if its coordinate is last; 1 - 1 is 0, so nothing is
    rounded if its coordinate is between the two.
    """
    made = export_of(read_expression("(X a) U b", "a b"), ModelOptions("temperature", None), 16)
    found, n = structure_known(made), 11
    assert isinstance(found, Structure)
    head = next(head for head in found.heads if head.name.startswith("U"))
    assert head.places == (2,)  # after '1' and 'i/n'
    bounds, half = (
        StructureBounds(found, Enclosed(FORMATS[name], None, True)),
        nearest(np.arange(1, n + 1) / n, name) / 2,
    )
    length = OfLength.of(found, bounds.arithmetic, n)
    for place, others in ((2, nearest(1 - half, name) - 1), (1, -half)):
        keys = bounds._dot(length, head.keys[0], [-1.0, 0.0], place)
        assert (keys.low == keys.high).all()
        assert keys.low.tolist() == [others.tolist(), nearest(1 - half, name).tolist()]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("ends", [(-1, 1), (0, 1), (1, 0)])
def test_means_from_the_left_are_those_of_softmax(name: str, ends: tuple[int, int]) -> None:
    form = FORMATS[name]
    found, arithmetic = _alternating(Enclosed(form), *map(float, ends), 64), Emulated(form)
    for count in range(1, 65):
        values = np.array([float(ends[k % 2]) for k in range(count)])
        ones = Enclosures.of(np.ones((1, count)))
        weights = arithmetic.divide(ones, arithmetic.total(ones))
        assert arithmetic.matmul(weights, Enclosures.of(values[:, None])).low.item() == found[count - 1]


@given(st.sampled_from(NAMES), st.lists(st.integers(-90, 3), min_size=2, max_size=90), st.data())
def test_terms_on_both_sides_are_bounded(name: str, logits: list[int], data: Any) -> None:
    """For some winner, the bounds cover the total, the number of large terms, and the weight of the small ones."""
    form, n = FORMATS[name], len(logits)
    place = data.draw(st.integers(0, n - 1))
    limit = data.draw(st.integers(place, n - 1))
    before, after = (np.array(logits, dtype=np.float64) / data.draw(st.sampled_from([1, 4, 50])) for _ in range(2))
    bounds = StructureBounds(structure("since.ltl"), Enclosed(form))
    found = bounds._terms(np.array([place]), np.array([0.0]), np.array([limit]), before, after)
    apart = np.concatenate([before[:place], after[place + 1 : limit + 1]])
    terms, least = np.minimum(np.exp(form.round(apart)), 1.0), LARGE * form.unit
    terms = np.where(form.round(apart) < form.vanishing, 0.0, terms)
    large = terms >= least
    assert found.total[0] >= terms.sum()
    assert found.large[0] >= large.sum()
    assert found.small[0] + (found.large[0] - large.sum()) * least >= terms[~large].sum()
    assert found.count[0] >= (terms > 0).sum()
    assert found.above[0] or (apart <= 0).all()


@given(
    st.sampled_from(NAMES),
    st.tuples(st.integers(1, 9), st.integers(0, 6), st.integers(0, 6)),
    st.tuples(st.floats(0.01, 12), st.floats(0.01, 12)),
    st.booleans(),
    st.integers(0, 999),
)
def test_any_number_of_equals_is_bounded(
    name: str, counts: tuple[int, int, int], steps: tuple[float, float], ascending: bool, seed: int
) -> None:
    """The value of a head with several positions at each of three levels of logits is within its bounds, by an
    evaluation that shares no code.
    """
    form, rng = FORMATS[name], Random(seed)
    near = float(form.round(np.array(-steps[0])))
    far = float(form.round(np.array(near - steps[1])))
    low, high = _of_levels(Enclosed(form), counts, (near, far), ascending)
    one = FromLeft(NOTHING, name, None, rng)
    for _ in range(6):
        sizes = [rng.randint(0, counts[2]), rng.randint(0, counts[1]), rng.randint(1, counts[0])]
        there = [[far - rng.random() * 3] * sizes[0], [near] * sizes[1], [0.0] * sizes[2]]
        logits = form.round(np.array([t for part in there for t in part]))
        powers = one.exp(logits if ascending else logits[::-1])[None, :]
        found = one.matmul(one.round(powers / one.total(powers)), np.ones((len(logits), 1))).item()
        assert low <= found <= high


@pytest.mark.sweep(every=12)
@pytest.mark.parametrize("regime", PROVEN)
@pytest.mark.parametrize("name", ["tomita_1.ltl", "co_existence.ltl", "aa_star.ltl"])
def test_heads_that_look_for_what_is_true_are_right_at_safe_lengths(name: str, regime: str) -> None:
    """Lengths near the last one that is safe in order, on words whose true positions are anywhere."""
    made, rng = made_of(name, regime), Random(name)
    for row in rows(made, 90, names=["bfloat16", "float8_e4m3"]).values():
        assert row.safe_in_order >= row.safe_to
        for n in {row.safe_in_order, row.safe_in_order - 1, row.safe_in_order // 2, 17, 24, 40}:
            if 0 < n <= row.safe_in_order:
                words = [
                    tuple(rng.choices(list(made.alphabet)[:2], [share, 1 - share], k=n))
                    for share in (0.02, 0.1, 0.5, 0.9, 1.0) * 2
                ]
                tokens = np.array([encoded_word(made.layout, word, np.dtype(np.float64)) for word in words])
                outputs = FromLeft(made.layout, row.arith, None, rng).outputs(tokens)[:, -1, 0]
                assert outputs.tolist() == [float(answer) for answer in answers(made, words)], (row.arith, n)


# ---- what is refused ----


def test_what_no_format_holds_is_not_safe() -> None:
    """A weight above or below the format's numbers is refused, even if its products are numbers of the format."""
    found = structure("since.ltl")
    for number in (Fraction(2**20), Fraction(1, 2**30), Fraction(1, 3), Fraction(2**40 + 1)):
        other = replace(found, numbers={**found.numbers, number: "a weight"})
        bounds = StructureBounds(other, Enclosed(FORMATS["float16"]))
        with pytest.raises(NotEnclosed, match="a weight is no number"):
            bounds.require_exact()
    StructureBounds(found, Enclosed(FORMATS["float16"])).require_exact()
    large = replace(found, sums=[ExactSum("a sum", Fraction(4097), Fraction(2))])
    with pytest.raises(NotEnclosed, match="a sum"):
        StructureBounds(large, Enclosed(FORMATS["float16"])).require_exact()


def test_classes_are_those_of_the_positions() -> None:
    for n in range(1, 8):
        assert (np.sum([members(one, n) for one in Classes(0, False).classes], axis=0) == 1).all()


@pytest.mark.sweep(every=4)
@pytest.mark.parametrize("regime", PROVEN)
@pytest.mark.parametrize("name", NAMES)
def test_all_lengths_at_once_say_no_more_than_each(name: str, regime: str) -> None:
    found, form = structure("succession.ltl" if "causal" not in regime else "tomita_2.ltl", regime), FORMATS[name]
    last = 0
    for n in range(1, 60):
        try:
            require_to(found, Enclosed(form), n)
        except NotEnclosed:
            break
        last = n
    bounds = StructureBounds(found, Enclosed(form))
    for n in range(1, last + 1):
        bounds.require(n)


def test_a_head_that_reads_nothing_else_is_exact() -> None:
    found = structure("tomita_1.ltl", "causal-position")
    assert found.causal
    for name in NAMES:
        StructureBounds(found, Enclosed(FORMATS[name])).require(1)


def test_the_structure_is_that_of_the_network() -> None:
    (head,) = structure("since.ltl", "position", Fraction(7)).heads
    assert (len(head.queries), head.rightmost) == (2, True)
    assert head.error <= exp(-3.5) * 1.01
    assert {one.value for one in head.types} == {0, 1}
