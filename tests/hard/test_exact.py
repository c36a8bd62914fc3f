"""The exact interpreter compared with the definition, entry by entry, and its verdicts."""

import tracemalloc
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.hard import hardmax
from hardsim.hard.hardmax import visible, visible_sums
from hardsim.network.transformer import PositionTable
from tests.support.hard_runs import outputs_of, with_head
from tests.support.language import parse_arith
from tests.support.model import Affine, Encoding, ExactModel, Head, Letter, Mask, Program, ProgramLayer, Weighting
from tests.support.networks import ALPHABET, HardNetwork, dense_hard, hard_transformers

WORDS = st.integers(1, 6).flatmap(
    lambda n: st.lists(st.lists(st.sampled_from(ALPHABET), min_size=n, max_size=n), min_size=1, max_size=5)
)


@given(hard_transformers(), WORDS)
def test_every_value_of_every_layer_is_the_definition_s(model: HardNetwork, words: list[list[str]]) -> None:
    program = model.program
    interpreter = ExactModel(program)
    trace = interpreter.run(words)
    assert len(trace.layers) == len(program.layers)
    for index, word in enumerate(words):
        for layer, expected in zip(trace.layers, dense_hard(model, word), strict=True):
            for found, rows in ((layer.attended, expected.attended), (layer.columns, expected.final)):
                assert [found[name].values(index) for name in program.coordinates] == [
                    list(column) for column in zip(*rows, strict=True)
                ]
        at = {"last": -1, "first": int(program.bos)}[program.reading]
        assert outputs_of(interpreter.program, trace)[index] == expected.final[at][model.network.output]


@given(hard_transformers(), WORDS)
def test_rows_of_scores_have_the_scores_that_they_state(model: HardNetwork, words: list[list[str]]) -> None:
    trace = ExactModel(model.program).run(words)
    for index, word in enumerate(words):
        for layer, expected in zip(trace.layers, dense_hard(model, word), strict=True):
            for name, rows in layer.rows.items():
                for query, row in enumerate(expected.scores[name]):
                    ranked = sorted(set(row.values()), reverse=True)
                    gap = ranked[0] - ranked[1] if len(ranked) > 1 else None
                    found = int(rows.gap[index, query])
                    assert (None if found == -1 else Fraction(found, rows.units[query])) == gap
                    assert Fraction(int(rows.reach[index, query]), rows.units[query]) == ranked[0] - ranked[-1]
                    assert rows.maxima[index, query] == list(row.values()).count(ranked[0])


@given(hard_transformers(), WORDS)
def test_heads_without_rows_have_no_scores(model: HardNetwork, words: list[list[str]]) -> None:
    trace = ExactModel(model.program).run(words)
    weightings = iter(model.heads)
    for layer, found in zip(model.network.layers, trace.layers, strict=True):
        for head in layer.heads:
            zero = not any(
                any(query) and any(key) for query, key in zip(head.w_q.dense(), head.w_k.dense(), strict=True)
            )
            assert (head.name not in found.rows) == (next(weightings)[0] is Weighting.AVERAGE and zero)


def run(model: Program | ExactModel, *words: str) -> list[Fraction]:
    """Return the outputs."""
    exact = model if isinstance(model, ExactModel) else ExactModel(model)
    return outputs_of(exact.program, exact.run(words))


def test_lengths_may_alternate() -> None:
    """Results that depend on n are kept for one length only: going back to an earlier length gives the same
    outputs again.
    """
    interpreter = ExactModel(one_head(Weighting.AVERAGE, "-((i - n/2)^2)"))
    # The maximum is at n/2; at an odd length the two middle positions tie.
    assert run(interpreter, "ab", "ba") == [1, 0]
    assert run(interpreter, "abb", "bba") == [Fraction(1, 2), 0]
    assert run(interpreter, "ab", "ba") == [1, 0]


def one_head(weighting: Weighting, encoding: str = "0", query: int = 1) -> Program:
    """Return a program of one head with the score `query` times the position encoding and the value [a]."""
    score = (Affine.of({"1": query}), Affine.coordinate("place"))
    head = Head("h", Mask.NONE, weighting, (("read", Affine.coordinate("[a]")),), (score,) if query else ())
    return Program(
        alphabet=("a", "b"),
        letters=(Letter("[a]", frozenset("a")),),
        encodings=(Encoding("place", parse_arith(encoding)),),
        layers=(ProgramLayer((head,)),),
        output="read",
        threshold=Fraction(1, 2),
    )


@pytest.mark.parametrize(
    ("weighting", "all_tied", "two_tied"),
    [
        (Weighting.LEFTMOST, 1, [1, 0]),
        (Weighting.RIGHTMOST, 0, [0, 1]),
        (Weighting.AVERAGE, Fraction(3, 4), [Fraction(1, 2)] * 2),
    ],
)
def test_scores_the_same(weighting: Weighting, all_tied: Fraction, two_tied: list[Fraction]) -> None:
    """First all positions are tied; then, of five positions, the second and the fourth."""
    assert run(one_head(weighting), "aaab") == [all_tied]
    assert run(one_head(weighting, "1 - i mod 2"), "babbb", "abaaa") == two_tied


@pytest.mark.parametrize("weighting", [Weighting.LEFTMOST, Weighting.RIGHTMOST])
def test_a_uniform_head_may_be_one_sided(weighting: Weighting) -> None:
    """Without a score all visible positions are tied, and one of them is taken."""
    interpreter = ExactModel(with_head(one_head(weighting), score=()))
    trace = interpreter.run(["abb"])
    assert outputs_of(interpreter.program, trace) == [weighting is Weighting.LEFTMOST]
    assert trace.layers[0].rows["h"].maxima.tolist() == [[3, 3, 3]]


@pytest.mark.parametrize("size", [10**6, 10**18, 10**30])
def test_large_numbers_stay_exact(size: int) -> None:
    """Scores are around size^2, and the two largest differ by `size`: beyond 2^62 they need Python's integers."""
    keys = PositionTable(1, (size, size + 1, size - 1))
    interpreter = ExactModel(replace(one_head(Weighting.AVERAGE, query=size), encodings=(Encoding("place", keys),)))
    trace = interpreter.run(["bab", "aba"])
    assert outputs_of(interpreter.program, trace) == [1, 0]
    rows = trace.layers[0].rows["h"]
    assert {Fraction(int(gap), unit) for row in rows.gap for gap, unit in zip(row, rows.units, strict=True)} == {
        Fraction(size)
    }
    assert (rows.gap.dtype == np.int64) == (size < 10**9)


@pytest.mark.parametrize("bos", [False, True])
@pytest.mark.parametrize("mask", list(Mask))
def test_what_a_query_sees(mask: Mask, bos: bool) -> None:
    """Compare visible positions, and the beginning of sequence, with the mask's own definition."""
    n, first = 4, 0 if bos else 1
    seen = visible(mask, n + bos, bos)
    for i in range(first, n + 1):
        found = {int(index) + first for index in np.flatnonzero(seen[i - first])}
        assert found == set(mask.visible(i, n)) | ({0} if bos else set())


def test_verdicts() -> None:
    """Outputs above, below and at the threshold; without a threshold only 1 and 0 are verdicts."""
    model = one_head(Weighting.AVERAGE)
    half, third = Fraction(1, 2), Fraction(1, 3)
    assert [model.verdict(value) for value in (third, half, 1 - third)] == [False, None, True]
    free = replace(model, threshold=None)
    assert [free.verdict(Fraction(value)) for value in (0, 1, 2, half)] == [False, True, None, None]


@given(hard_transformers(), WORDS)
def test_queries_may_be_taken_one_at_a_time(model: HardNetwork, words: list[list[str]]) -> None:
    """Long words are run in blocks of queries; the sizes of the blocks do not matter."""
    whole = ExactModel(model.program).run(words)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hardmax, "BLOCK", 1)
        parts = ExactModel(model.program).run(words)
    for layer, found in zip(whole.layers, parts.layers, strict=True):
        for index in range(len(words)):
            assert {name: c.values(index) for name, c in layer.columns.items()} == {
                name: c.values(index) for name, c in found.columns.items()
            }
        for name, rows in layer.rows.items():
            other = found.rows[name]
            assert (rows.maxima == other.maxima).all()
            assert (rows.winners == other.winners).all()
            for mine, theirs in ((rows.gap, other.gap), (rows.reach, other.reach)):
                assert ((mine < 0) == (theirs < 0)).all()
                scaled = np.maximum(mine, 0) * np.array(other.units, object)
                assert (scaled == np.maximum(theirs, 0) * np.array(rows.units, object)).all()


@pytest.mark.parametrize("bos", [False, True])
@pytest.mark.parametrize("mask", list(Mask))
def test_sums_of_what_is_seen(mask: Mask, bos: bool) -> None:
    whole = np.array([[3, -1, 4, 1, -5], [9, 2, 6, -5, 3]], dtype=object) * 10**30
    seen = visible(mask, 5, bos)
    expected = [[sum(row[j] for j in range(5) if seen[i, j]) for i in range(5)] for row in whole]
    assert visible_sums(mask, whole, bos).tolist() == expected


@pytest.mark.parametrize("weighting", list(Weighting))
def test_memory_grows_with_the_length_and_not_with_its_square(weighting: Weighting) -> None:
    """For 4,000 symbols a byte for each pair of positions would be 16 MB, and a score for each pair 128 MB."""
    model = one_head(weighting, "i", query=int(weighting is not Weighting.SOFTMAX))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hardmax, "BLOCK", 1 << 20)
        tracemalloc.start()
        ExactModel(model).run(["ab" * 2000])
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 16_000_000
