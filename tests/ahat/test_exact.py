"""The exact interpreter against the definition, entry by entry, and the verdict."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardsim.ahat import exact
from hardsim.ahat.exact import ExactModel, visible, visible_sums
from hardsim.lang.arith import parse_arith
from hardsim.net.model import AttentionHead, FeedForward, Layer, Matrix, Transformer
from hardsim.net.tables import PositionTable
from hardsim.spec.ir import Mask, Weighting
from tests.networks import ALPHABET, dense_hard, hard_transformers

pytestmark = pytest.mark.sweep

WORDS = st.integers(1, 6).flatmap(
    lambda n: st.lists(st.lists(st.sampled_from(ALPHABET), min_size=n, max_size=n), min_size=1, max_size=5)
)


@settings(max_examples=200)
@given(hard_transformers(), WORDS)
def test_every_value_of_every_layer_is_the_definition_s(model: Transformer, words: list[list[str]]) -> None:
    interpreter = ExactModel(model)
    trace = interpreter.run(words)
    assert len(trace.layers) == len(model.layers)
    for index, word in enumerate(words):
        for layer, wanted in zip(trace.layers, dense_hard(model, word), strict=True):
            for found, rows in ((layer.attended, wanted.attended), (layer.columns, wanted.final)):
                assert [column.values(index) for column in found] == [
                    list(column) for column in zip(*rows, strict=True)
                ]
        at = {"last": -1, "first": int(model.bos)}[model.reading]
        assert interpreter.outputs(trace)[index] == wanted.final[at][model.output]


@settings(max_examples=80)
@given(hard_transformers(), WORDS)
def test_rows_of_scores_are_what_they_are_said_to_be(model: Transformer, words: list[list[str]]) -> None:
    trace = ExactModel(model).run(words)
    for index, word in enumerate(words):
        for layer, wanted in zip(trace.layers, dense_hard(model, word), strict=True):
            for name, rows in layer.rows.items():
                for query, row in enumerate(wanted.scores[name]):
                    ranked = sorted(set(row.values()), reverse=True)
                    gap = ranked[0] - ranked[1] if len(ranked) > 1 else None
                    found = int(rows.gap[index, query])
                    assert (None if found == -1 else Fraction(found, rows.unit)) == gap
                    assert Fraction(int(rows.reach[index, query]), rows.unit) == ranked[0] - ranked[-1]
                    assert rows.maxima[index, query] == list(row.values()).count(ranked[0])


@settings(max_examples=40)
@given(hard_transformers(), WORDS)
def test_heads_without_rows_have_no_scores(model: Transformer, words: list[list[str]]) -> None:
    trace = ExactModel(model).run(words)
    for layer, found in zip(model.layers, trace.layers, strict=True):
        for head in layer.heads:
            plain = head.weighting is Weighting.AVERAGE and (not head.w_q.entries or not head.w_k.entries)
            assert (head.name not in found.rows) == plain


def test_lengths_may_alternate() -> None:
    """What depends on n is kept for one length only: going back to an earlier one gives the same again."""
    interpreter = ExactModel(one_head(Weighting.AVERAGE, "-((i - n/2)^2)"))
    # The maximum is at n/2, or tied between the two middle positions of an odd length.
    assert interpreter.outputs(interpreter.run(["ab", "ba"])) == [1, 0]
    assert interpreter.outputs(interpreter.run(["abb", "bba"])) == [Fraction(1, 2), 0]
    assert interpreter.outputs(interpreter.run(["ab", "ba"])) == [1, 0]


def one_head(weighting: Weighting, encoding: str = "0", query: int = 1) -> Transformer:
    """Score: `query` times the position encoding. Value: [a]."""
    w_q, w_k, w_v = Matrix.of(1, 4, {(0, 0): query}), Matrix.of(1, 4, {(0, 1): 1}), Matrix.of(4, 4, {(3, 2): 1})
    head = AttentionHead("h", Mask.NONE, w_q, w_k, w_v, weighting)
    return Transformer(
        alphabet=("a", "b"),
        coordinates=("1", "place", "[a]", "read"),
        embedding=Matrix.of(2, 4, {(0, 0): 1, (1, 0): 1, (0, 2): 1}),
        encodings=((1, parse_arith(encoding)),),
        layers=(Layer((head,), FeedForward(Matrix((0, 4)), (), Matrix((4, 0)), (0, 0, 0, 0))),),
        temperature=parse_arith("1"),
        output=3,
        threshold=Fraction(1, 2),
    )


@pytest.mark.parametrize(
    ("weighting", "expected"), [(Weighting.LEFTMOST, 1), (Weighting.RIGHTMOST, 0), (Weighting.AVERAGE, Fraction(3, 4))]
)
def test_all_scores_the_same(weighting: Weighting, expected: Fraction) -> None:
    interpreter = ExactModel(one_head(weighting))
    assert interpreter.outputs(interpreter.run(["aaab"])) == [expected]


@pytest.mark.parametrize(
    ("weighting", "expected"),
    [(Weighting.LEFTMOST, [1, 0]), (Weighting.RIGHTMOST, [0, 1]), (Weighting.AVERAGE, [Fraction(1, 2)] * 2)],
)
def test_two_scores_the_same(weighting: Weighting, expected: list[Fraction]) -> None:
    """Of five positions the second and the fourth win."""
    interpreter = ExactModel(one_head(weighting, "1 - i mod 2"))
    assert interpreter.outputs(interpreter.run(["babbb", "abaaa"])) == expected


@pytest.mark.parametrize("weighting", [Weighting.LEFTMOST, Weighting.RIGHTMOST])
def test_a_uniform_head_may_be_one_sided(weighting: Weighting) -> None:
    """Without any score all visible positions are tied, and one of them is taken."""
    model = one_head(weighting)
    head = replace(model.layers[0].heads[0], w_q=Matrix((0, 4)), w_k=Matrix((0, 4)))
    interpreter = ExactModel(replace(model, layers=(replace(model.layers[0], heads=(head,)),)))
    trace = interpreter.run(["abb"])
    assert interpreter.outputs(trace) == [weighting is Weighting.LEFTMOST]
    assert trace.layers[0].rows["h"].maxima.tolist() == [[3, 3, 3]]


@pytest.mark.parametrize("size", [10**6, 10**18, 10**30])
def test_large_numbers_stay_exact(size: int) -> None:
    """Scores around size^2, of which the two largest differ by `size`: beyond 2^62 they need Python's integers."""
    keys = PositionTable(1, (size, size + 1, size - 1))
    interpreter = ExactModel(replace(one_head(Weighting.AVERAGE, query=size), encodings=((1, keys),)))
    trace = interpreter.run(["bab", "aba"])
    assert interpreter.outputs(trace) == [1, 0]
    rows = trace.layers[0].rows["h"]
    assert {Fraction(int(gap), rows.unit) for gap in rows.gap.flat} == {Fraction(size)}
    assert (rows.gap.dtype == np.int64) == (size < 10**9)


@pytest.mark.parametrize("bos", [False, True])
@pytest.mark.parametrize("mask", list(Mask))
def test_what_a_query_sees(mask: Mask, bos: bool) -> None:
    """By positions, as the mask's own definition has them, and the beginning of sequence."""
    n, first = 4, 0 if bos else 1
    seen = visible(mask, n + bos, bos)
    for i in range(first, n + 1):
        found = {int(index) + first for index in np.flatnonzero(seen[i - first])}
        assert found == set(mask.visible(i, n)) | ({0} if bos else set())


def test_verdicts() -> None:
    """Above, below and at the threshold; without one only 1 and 0 are verdicts."""
    model = one_head(Weighting.AVERAGE)
    half, third = Fraction(1, 2), Fraction(1, 3)
    held = ExactModel(model)
    assert [held.verdict(value) for value in (third, half, 1 - third)] == [False, None, True]
    free = ExactModel(replace(model, threshold=None))
    assert [free.verdict(Fraction(value)) for value in (0, 1, 2, half)] == [False, True, None, None]


@settings(max_examples=60)
@given(hard_transformers(), WORDS)
def test_queries_may_be_taken_one_at_a_time(model: Transformer, words: list[list[str]]) -> None:
    """Long words are taken in blocks of queries: the blocks do not matter."""
    whole = ExactModel(model).run(words)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "BLOCK", 1)
        parts = ExactModel(model).run(words)
    for layer, found in zip(whole.layers, parts.layers, strict=True):
        for index in range(len(words)):
            assert [c.values(index) for c in layer.columns] == [c.values(index) for c in found.columns]
        for name, rows in layer.rows.items():
            for wanted, other in ((rows.gap, "gap"), (rows.maxima, "maxima"), (rows.reach, "reach")):
                assert (wanted == getattr(found.rows[name], other)).all()


@pytest.mark.parametrize("bos", [False, True])
@pytest.mark.parametrize("mask", list(Mask))
def test_sums_of_what_is_seen(mask: Mask, bos: bool) -> None:
    whole = np.array([[3, -1, 4, 1, -5], [9, 2, 6, -5, 3]], dtype=object) * 10**30
    seen = visible(mask, 5, bos)
    wanted = [[sum(row[j] for j in range(5) if seen[i, j]) for i in range(5)] for row in whole]
    assert visible_sums(mask, whole, bos).tolist() == wanted


@pytest.mark.parametrize("weighting", list(Weighting))
def test_memory_grows_with_the_length_and_not_with_its_square(weighting: Weighting) -> None:
    """Of 4,000 symbols a byte for each pair of positions would be 16 MB, and a score for each 128 MB."""
    model = one_head(weighting, "i", query=int(weighting is not Weighting.SOFTMAX))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "BLOCK", 1 << 20)
        tracemalloc.start()
        ExactModel(model).run(["ab" * 2000])
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 16_000_000
