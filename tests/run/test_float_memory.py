"""Tables, blocks of queries and look-ups: what is found does not depend on what is kept, and little is."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from hardsim.checking.subject import ModelOptions, Subject, compile_file
from hardsim.lang.parse import parse_expression
from hardsim.run import float_model_heads, float_rows, float_tables
from hardsim.run.enclosure import floats
from hardsim.run.float64 import BatchTrace, FloatForward
from hardsim.run.float_model import FloatModel
from hardsim.run.float_model_heads import Enclosed, Scores, Views, attended
from hardsim.run.float_tables import ExpTable, Rows, Tables
from hardsim.run.float_tables import Views as KeyViews
from hardsim.spec.ir import Mask
from hardsim.spec.regimes import PROVEN
from tests.networks import ALPHABET, context, one_head

MASKS = [Mask.NONE, Mask.FUTURE, Mask.PAST]


def subject_of(text: str, regime: str) -> Subject:
    return compile_file(parse_expression(text, ["a", "b"]), ModelOptions(regime))


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
    subject, words = subject_of("(a S b) ^ Y Y a", regime), words_of(70, 6)
    kept = the_trace(subject, words)
    monkeypatch.setattr(float_tables, "TABLES", 0)
    monkeypatch.setattr(float_tables, "ONE_BLOCK", 0)
    monkeypatch.setattr(float_tables, "BLOCK_CELLS", 70 * 32)
    assert_same(kept, the_trace(subject, words))


@pytest.mark.parametrize("mask", MASKS)
def test_a_table_holds_the_exponentials_of_what_is_seen(mask: Mask) -> None:
    """Against mpmath, entry by entry, within the error stated; blocks are parts of the whole."""
    n = 7
    left, right = [Fraction(i, 3) for i in range(1, n + 1)], [Fraction((-1) ** j * j, 2) for j in range(n)]
    views = KeyViews(mask, n)
    rows = [Rows(*(part[None, :] for part in floats(values))) for values in (left, right)]
    table = ExpTable(views, *rows)
    low, high, block = table.block(np.arange(2, 5))
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
    assert (table.block(np.arange(2, 5))[2] == block).all()


def test_heads_with_the_same_scores_share_a_table_and_the_budget_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    views, tables = KeyViews(Mask.FUTURE, 8), Tables()
    rows = [Rows(np.full((1, 8), value), np.zeros((1, 8))) for value in (1.0, 2.0, 3.0)]
    monkeypatch.setattr(float_tables, "TABLES", 8 * 64)
    first = tables.get(views, rows[0], rows[1])
    assert tables.get(views, rows[0], rows[1]) is first
    assert tables.kept == 8 * 64
    assert tables.get(views, rows[0], rows[2]) is not first
    assert tables.kept == 8 * 64
    assert tables.get(KeyViews(Mask.PAST, 8), rows[0], rows[1]) is not first


@pytest.mark.parametrize("text", ["ODD(#[a])", "#L[a] = #R[a] + 1", "#L[a] > #L[b]"])
def test_look_ups_by_number_and_by_place_agree(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    subject, words = subject_of(text, "temperature"), words_of(40, 9)
    direct = the_trace(subject, words)
    monkeypatch.setattr(float_rows, "DIRECT", 0)
    forward = FloatForward(subject.model)
    half = list(forward.passes(words[:4]))
    ((trace, _),) = forward.passes(words)
    assert_same(direct, trace)
    assert (half[0][0].accepted == trace.accepted[:4]).all()
    monkeypatch.setattr(float_rows, "ENTRIES", 50)
    assert_same(direct, the_trace(subject, words))


@pytest.mark.parametrize(("text", "n"), [("(a S b) & Y a & O b", 1200), ("ODD(#[a])", 1200)])
def test_long_words_take_little_memory(text: str, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of all pairs has 11 megabytes at n = 1200; work space and tables together stay below the stated sums."""
    subject, words = subject_of(text, "temperature"), words_of(n, 3)
    monkeypatch.setattr(float_tables, "TABLES", 12 * 10**6)
    forward = FloatForward(subject.model)
    tracemalloc.start()
    try:
        traces = list(forward.passes(words))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert traces[0][0].decided.all()
    assert peak < 80 * 10**6


# ---- softmax models that are not rounded ----


@pytest.mark.parametrize("mask", MASKS)
def test_scores_in_chunks_are_the_same_scores(mask: Mask, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    words, size, k = 5, 7, 2

    def column() -> Enclosed:
        return Enclosed(rng.normal(size=(words, size)), rng.uniform(0, 1e-9, (words, size)))

    queries, keys, values = [[column() for _ in range(k)] for _ in range(3)]
    scores, views = Scores.of(queries, keys, np.full(size, 3.0), np.zeros(size)), Views(mask, size, True)
    whole = attended(scores, values, views)
    monkeypatch.setattr(float_model_heads, "CHUNK", 10)
    for one, other in zip(whole, attended(scores, values, views), strict=True):
        assert np.allclose(one.mid, other.mid, rtol=0, atol=1e-13)
        assert np.allclose(one.rad, other.rad, rtol=1e-3, atol=1e-13)


@pytest.mark.parametrize(("mask", "bos"), [*((mask, False) for mask in MASKS), *((mask, True) for mask in Mask)])
def test_means_of_what_is_seen(mask: Mask, bos: bool) -> None:
    size = 6
    views, values = Views(mask, size, bos), np.random.default_rng(1).normal(size=(3, size))
    seen = views.seen(slice(0, size))
    for query in range(size):
        assert np.allclose(views.means(values)[:, query], values[:, seen[query]].mean(axis=1), rtol=0, atol=1e-14)
        alone = np.flatnonzero(views.lone == query)
        assert bool(len(alone)) is bool(seen[query].sum() == 1)
        assert all(seen[query, views.only[place]] for place in alone)


def test_an_uncertain_key_is_not_absent_because_its_weight_underflows() -> None:
    """Keys 0 and -1 +- 2 under the query 800: the second logit lies between -2400 and 800, so the mean of the values
    0 and 1 may be anything; its middle, -800, has no weight at all."""
    blank = np.zeros((1, 2))
    key = Enclosed(np.array([[0.0, -1.0]]), np.array([[0.0, 2.0]]))
    scores = Scores.of([Enclosed(np.full((1, 2), 800.0), blank)], [key], np.ones(2), np.zeros(2))
    (found,) = attended(scores, [Enclosed(np.array([[0.0, 1.0]]), blank)], Views(Mask.NONE, 2, False))
    assert (found.mid - found.rad <= 0).all()
    assert (found.mid + found.rad >= 1).all()
    sharp = Scores.of([Enclosed(np.full((1, 2), 800.0), blank)], [Enclosed(key.mid, blank)], np.ones(2), np.zeros(2))
    (found,) = attended(sharp, [Enclosed(np.array([[0.0, 1.0]]), blank)], Views(Mask.NONE, 2, False))
    assert (found.mid + found.rad < 1e-9).all()


def test_batches_of_models_follow_from_their_positions() -> None:
    forward = FloatModel(one_head())
    assert forward.batch_size(15) == 2**18 // 16
    assert forward.batch_size(2**20) == 1
    assert len(forward.run([tuple(ALPHABET[:1] * 3)] * 4).columns[0].mid) == 4
