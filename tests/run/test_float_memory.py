"""Tables, blocks of queries and look-ups: results do not depend on stored tables, and little is stored."""

import tracemalloc
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.run import float_attention, float_rows
from hardsim.run.enclosure import Block, Integers, bits, floats
from hardsim.run.float64 import BatchTrace, FloatForward
from hardsim.run.float_attention import ExpTable, HeadPass, Tables
from hardsim.run.float_rows import Views, softmax_rows
from tests.run.shipped import network_of
from tests.support.check import Subject
from tests.support.model import PROVEN, Mask
from tests.support.networks import ALPHABET, context, one_head
from tests.support.subjects import compiled, shipped

MASKS = [Mask.NONE, Mask.FUTURE, Mask.PAST]


def words_of(n: int, count: int) -> list[tuple[str, ...]]:
    rng = np.random.default_rng(n)
    return [tuple(rng.choice(["a", "b"], n)) for _ in range(count)]


def the_trace(subject: Subject, words: Sequence[Sequence[str]]) -> BatchTrace:
    ((trace, _),) = FloatForward(subject.model).passes(words)
    return trace


def assert_same(one: BatchTrace, other: BatchTrace) -> None:
    assert one.decided.all()
    assert other.decided.all()
    assert (one.accepted == other.accepted).all()
    for name, outs in one.attended.items():
        for out, block in outs.items():
            twin = other.attended[name][out]
            assert (np.abs(block.mid - twin.mid) <= block.radius + twin.radius).all()
            assert (twin.radius <= 4 * block.radius + 1e-13).all()


@pytest.mark.parametrize("regime", PROVEN)
def test_tables_that_are_not_kept_are_made_in_blocks(regime: str, monkeypatch: pytest.MonkeyPatch) -> None:
    subject, words = compiled("(a S b) ^ Y Y a", regime), words_of(70, 6)
    kept = the_trace(subject, words)
    monkeypatch.setattr(float_attention, "TABLES", 0)
    monkeypatch.setattr(float_attention, "ONE_BLOCK", 0)
    monkeypatch.setattr(float_attention, "BLOCK_CELLS", 70 * 32)
    assert_same(kept, the_trace(subject, words))


@pytest.mark.parametrize("mask", MASKS)
def test_a_table_holds_the_exponentials_of_what_is_seen(mask: Mask) -> None:
    """Compare with mpmath, entry by entry, within the stated error; blocks are parts of the whole."""
    n = 7
    left, right = [Fraction(i, 3) for i in range(1, n + 1)], [Fraction((-1) ** j * j, 2) for j in range(n)]
    views = Views(mask, n)
    (left_mid, left_rad), (right_mid, right_rad) = ([part[None, :] for part in floats(side)] for side in (left, right))
    table = ExpTable(views, (left_mid, left_rad), (right_mid, right_rad))
    ((low, high, block),) = table.parts(np.arange(2, 5))
    visible = views.visible(np.arange(n))
    for i in range(2, 5):
        for j in range(low, high):
            found = float(block[j - low, i - 2])
            exact = context.exp(context.mpf((left[i] * right[j]).numerator) / (left[i] * right[j]).denominator)
            exact /= context.exp(context.mpf(float(table.reference[i])))
            assert (found == 0) if not visible[i, j] else abs(found / exact - 1) <= float(table.error[i])
    assert not visible[2:5, :low].any()
    assert not visible[2:5, high:].any()
    table.keep()
    ((begin, end, again),) = table.parts(np.arange(2, 5))
    assert (begin, end) == (low, high)
    assert (again == block).all()


FACTORS = st.lists(st.lists(st.integers(-60, 60), min_size=11, max_size=11), min_size=1, max_size=2)


@given(st.sampled_from(MASKS), st.booleans(), FACTORS, FACTORS, st.integers(1, 40))
def test_keys_are_left_out_only_where_their_weights_are_nothing(
    mask: Mask, bos: bool, left: list[list[int]], right: list[list[int]], steep: int
) -> None:
    """Logits of small integers are exact in float64. A key that no part has must be at least 707 below the reference,
    which is the largest visible logit, or unseen."""
    n, k = 11, min(len(left), len(right))
    views = Views(mask, n, bos)
    queries, keys = np.array(left[:k], dtype=float) * steep, np.array(right[:k], dtype=float)
    logits, visible = queries.T @ keys, views.visible(np.arange(n))
    with pytest.MonkeyPatch.context() as patch, np.errstate(over="ignore"):  # of keys that nobody sees
        for name, value in (("CHUNK_KEYS", 3), ("ONE_BLOCK", 0), ("BLOCK_CELLS", 0)):
            patch.setattr(float_attention, name, value)
        table = ExpTable(views, (queries, np.zeros_like(queries)), (keys, np.zeros_like(keys)))
        rows = np.arange(4, 7)
        found = np.zeros((n, n))
        for low, high, block in table.parts(rows):
            found[rows, low:high] = block.T
    assert (table.reference == np.where(visible, logits, -np.inf).max(axis=1)).all()
    for i in rows:
        exact = np.exp(np.clip(logits[i] - table.reference[i], -707.0, 0.0))  # unseen logits may be larger
        kept = visible[i] & (logits[i] - table.reference[i] > -707)
        assert (found[i][kept] == exact[kept]).all()
        assert (found[i][~visible[i]] == 0).all()
        assert (found[i][~kept] <= 2.0**-1019).all()


def test_heads_with_the_same_scores_share_a_table_and_the_budget_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    views, tables = Views(Mask.FUTURE, 8), Tables()
    rows = [(np.full((1, 8), value), np.zeros((1, 8))) for value in (1.0, 2.0, 3.0)]
    monkeypatch.setattr(float_attention, "TABLES", 8 * 64)
    first = tables.get(views, rows[0], rows[1])
    assert tables.get(views, rows[0], rows[1]) is first
    assert tables.kept == 8 * 64
    assert tables.get(views, rows[0], rows[2]) is not first
    assert tables.kept == 8 * 64
    assert tables.get(Views(Mask.PAST, 8), rows[0], rows[1]) is not first


@pytest.mark.parametrize("text", ["ODD(#[a])", "#L[a] = #R[a] + 1", "#L[a] > #L[b]"])
def test_look_ups_that_are_kept_and_that_are_not_agree(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    subject, words = compiled(text, "temperature"), words_of(40, 9)
    direct = the_trace(subject, words)
    monkeypatch.setattr(float_attention, "DIRECT", 0)
    forward = FloatForward(subject.model)
    half = list(forward.passes(words[:4]))
    ((trace, _),) = forward.passes(words)
    assert_same(direct, trace)
    assert (half[0][0].accepted == trace.accepted[:4]).all()
    # What is kept is computed once; where room is short, it is computed again.
    looked_up, values = list[int](), HeadPass._values

    def counted(self: HeadPass, rows: Integers, *args: Any) -> Any:
        looked_up.append(len(rows))
        return values(self, rows, *args)

    monkeypatch.setattr(HeadPass, "_values", counted)
    for room in (float_attention.MOST_MET, 0):
        monkeypatch.setattr(float_attention, "MOST_MET", room)
        looked_up.clear()
        ((again, _),) = forward.passes(words)
        assert bool(looked_up) is (room == 0)
        assert_same(trace, again)


@pytest.mark.parametrize(("text", "n"), [("(a S b) & Y a & O b", 1200), ("ODD(#[a])", 1200)])
def test_long_words_take_little_memory(text: str, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of all pairs has 11 megabytes at n = 1200; work space and tables together stay below the stated sums."""
    subject, words = compiled(text, "temperature"), words_of(n, 3)
    monkeypatch.setattr(float_attention, "TABLES", 12 * 10**6)
    forward = FloatForward(subject.model)
    tracemalloc.start()
    try:
        traces = list(forward.passes(words))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert traces[0][0].decided.all()
    assert peak < 80 * 10**6


# ---- row by row ----


@pytest.mark.parametrize("mask", MASKS)
def test_rows_in_chunks_are_the_same_rows(mask: Mask, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    words, size, k = 5, 7, 2

    def column() -> Block:
        return Block(rng.normal(size=(words, size)), rng.uniform(0, 1e-9, (words, size)))

    queries, keys, values = [[column() for _ in range(k)] for _ in range(3)]
    scale = np.full(size, 3.0), np.zeros(size)
    whole = softmax_rows(queries, keys, values, Views(mask, size, True), scale, np.arange(size))
    monkeypatch.setattr(float_rows, "CHUNK", 10)
    again = softmax_rows(queries, keys, values, Views(mask, size, True), scale, np.arange(size))
    for one, other in zip(whole, again, strict=True):
        assert np.allclose(one.mid, other.mid, rtol=0, atol=1e-13)
        assert np.allclose(one.radius, other.radius, rtol=1e-3, atol=1e-13)
    some = np.array([1, 4, 4, 6])
    picked = [Block(query.mid[:, some], query.radius[:, some]) for query in queries]
    for one, other in zip(whole, softmax_rows(picked, keys, values, Views(mask, size, True), scale, some), strict=True):
        assert np.allclose(one.mid[:, some], other.mid, rtol=0, atol=1e-13)


def test_an_uncertain_key_is_not_absent_because_its_weight_underflows() -> None:
    """Keys 0 and -1 +- 2 under the query 800: the second logit lies between -2400 and 800, so the mean of the values
    0 and 1 may be anything; its middle, -800, has no weight at all."""
    views, scale, rows = Views(Mask.NONE, 2), (np.ones(2), np.zeros(2)), np.arange(2)
    query, value = Block(np.full((1, 2), 800.0)), bits(np.array([[0.0, 1.0]]))
    key = Block(np.array([[0.0, -1.0]]), np.array([[0.0, 2.0]]))
    with np.errstate(all="ignore"):
        (found,) = softmax_rows([query], [key], [value], views, scale, rows)
        (sharp,) = softmax_rows([query], [Block(key.mid)], [value], views, scale, rows)
    assert (found.mid - found.radius <= 0).all()
    assert (found.mid + found.radius >= 1).all()
    assert (sharp.mid + sharp.radius < 1e-9).all()


@pytest.mark.parametrize("mask", list(Mask))
@pytest.mark.parametrize("off", [0.0, 1e-12, 0.01, 0.4])
def test_means_stay_between_the_values_and_hold_those_of_other_weights(mask: Mask, off: float) -> None:
    """For all factors within their radii the mean is enclosed, and so it is for all values within theirs."""
    rng = np.random.default_rng(7)
    words, size = 4, 6
    views, scale, rows = Views(mask, size, True), (np.full(size, 2.0), np.zeros(size)), np.arange(size)
    query, key, value = (rng.normal(size=(words, size)) for _ in range(3))
    radius = np.full((words, size), off)
    with np.errstate(all="ignore"):
        (found,) = softmax_rows(
            [Block(query, radius)], [Block(key, radius)], [Block(value, radius)], views, scale, rows
        )
    seen = views.visible(rows)
    for _ in range(200):
        q, k, v = (part + off * rng.choice([-1, 0, 1], (words, size)) for part in (query, key, value))
        weights = np.where(seen, np.exp(2 * q[:, :, None] * k[:, None, :]), 0)
        mean = (weights * v[:, None, :]).sum(axis=2) / weights.sum(axis=2)
        assert (np.abs(found.mid - mean) <= found.radius + 1e-14).all()
    assert (np.abs(found.mid) + found.radius <= np.abs(value).max() * 2 + off + 1e-9).all()


def test_batches_follow_from_their_positions() -> None:
    forward = FloatForward(one_head())
    assert forward.batch_size(15) == 2**16 // 15
    assert forward.batch_size(2**20) == 1
    assert len(forward.trace([tuple(ALPHABET[:1] * 3)] * 4).columns[0].mid) == 4


@pytest.mark.slow
@pytest.mark.sweep
@pytest.mark.parametrize("name", ["dyck2", "flipflop"])
def test_long_words_of_programs_take_little_memory(name: str) -> None:
    """The scores of all pairs would take 24 megabytes a head for three words of length 1000."""
    subject = shipped(f"{name}.srasp")
    words = [tuple(np.random.default_rng(k).choice(subject.alphabet, 1000).tolist()) for k in range(3)]
    forward = FloatForward(network_of(subject, [words[0][:9]]))
    tracemalloc.start()
    try:
        forward.trace([subject.prepared(word) for word in words])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 120 * 10**6
