"""Words that share their prefixes: the same answers, enclosures of the same numbers, and only where sharing is
allowed.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from hardsim.run import float64, float_attention, prefixes
from hardsim.run.enclosure import Block, Integers, bits, fixed
from hardsim.run.float64 import BatchTrace, FloatForward
from hardsim.run.float_rows import Views, mean
from hardsim.run.prefixes import causal, fork, join
from tests.run.test_float64 import assert_contains
from tests.support.check import Subject
from tests.support.language import Undecided, parse_arith
from tests.support.model import Mask, SoftModel
from tests.support.subjects import compiled

CAUSAL = ["causal-temperature", "causal-position"]
Passes = list[tuple[BatchTrace, Integers]]


def both_ways(
    subject: Subject, words: Sequence[Sequence[str]], monkeypatch: pytest.MonkeyPatch
) -> tuple[Passes, Passes]:
    """Run words with shared prefixes (a stage costs next to nothing here, so that there are many), and without."""
    monkeypatch.setattr(prefixes, "STAGE", 2)
    shared = list(FloatForward(subject.model).passes(words))
    monkeypatch.setattr(float64, "fork", lambda symbols: None)
    return shared, list(FloatForward(subject.model).passes(words))


def by_place(passes: Passes) -> dict[int, tuple[BatchTrace, int]]:
    found = {int(place): (trace, int(row)) for trace, rows in passes for row, place in rows}
    assert len(found) == sum(len(rows) for _, rows in passes)
    return found


def overlap(one: Block, row: int, other: Block, twin: int) -> bool:
    """Return True if two enclosures of a word's column overlap."""
    row, twin = (place if block.mid.shape[0] > 1 else 0 for place, block in ((row, one), (twin, other)))
    return bool((np.abs(one.mid[row] - other.mid[twin]) <= one.radius[row] + other.radius[twin]).all())


def assert_same(passes: tuple[Passes, Passes], words: int) -> None:
    """Assert that both passes give equal answers, word by word, and overlapping enclosures."""
    shared, alone = by_place(passes[0]), by_place(passes[1])
    assert sorted(shared) == sorted(alone) == list(range(words))
    for place, (one, row) in shared.items():
        other, twin = alone[place]
        for name in ("decided", "accepted", "rejected"):
            assert getattr(one, name)[row] == getattr(other, name)[twin], (place, name)
        if not one.decided[row]:
            continue
        for name in ("output", "margin", "unrounded"):
            bounds, others = getattr(one, name), getattr(other, name)
            assert (bounds is None) == (others is None)
            if bounds is not None:
                assert bounds[0][row] <= others[1][twin]
                assert others[0][twin] <= bounds[1][row]


@pytest.mark.sweep
@pytest.mark.parametrize("regime", CAUSAL)
@pytest.mark.parametrize(
    "text",
    [
        "(Y a) & (a S b)",
        "H (a -> Y (b S a))",
        "#L[a] >= #L[b] + 1",
        "2 * #L[Y a] = #L[b] & O (Y Y b)",
        "ODD(pos) ^ (a T b)",
    ],
)
def test_sharing_prefixes_changes_no_answer(text: str, regime: str, monkeypatch: pytest.MonkeyPatch) -> None:
    subject = compiled(text, regime)
    words = [tuple(word) for word in product("ab", repeat=8)]
    passes = both_ways(subject, words, monkeypatch)
    assert_same(passes, len(words))
    ((one, _),), ((other, _),) = passes
    assert one.decided.all()
    assert (one.shared > 4, other.shared) == (True, 0)
    assert (one.words, one.n) == (256, 8)
    for name, outs in one.attended.items():
        assert list(outs) == list(other.attended[name])
        for out, block in outs.items():
            assert block.mid.shape[1] == 8
            assert all(overlap(block, row, other.attended[name][out], row) for row in range(256))
    for column, twin in zip(one.columns.values(), other.columns.values(), strict=True):
        assert all(overlap(column, row, twin, row) for row in range(256))
    balls = SoftModel(subject.model, rounds=True)
    for row in range(0, 256, 51):
        assert_contains(one, row, balls.run(words[row]), subject.model)


@pytest.mark.parametrize("regime", CAUSAL)
@pytest.mark.parametrize("beta", [Fraction(1, 2), Fraction(1)])
def test_words_that_the_first_pass_does_not_decide_are_run_again(
    regime: str, beta: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a small beta heads read values in between: whole subtrees of words need the second pass."""
    subject = compiled("a S b", regime, beta, "abc")
    words = [tuple(word) for word in product("abc", repeat=5)]
    passes = both_ways(subject, words, monkeypatch)
    assert_same(passes, len(words))
    assert len(passes[0]) > 1
    assert passes[0][0][0].shared > 0
    assert passes[0][1][0].shared == 0
    balls = SoftModel(subject.model, rounds=True)
    for place, (trace, row) in list(by_place(passes[0]).items())[::40]:
        if trace.decided[row]:
            try:
                ball = balls.run(words[place])
            except Undecided:
                continue
            assert_contains(trace, row, ball, subject.model)


def test_the_dense_way_reads_the_prefixes_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(float_attention, "MOST_BOOLEANS", -1)
    monkeypatch.setattr(float_attention, "LARGEST_CODE", 0)
    for text in ("a S b", "#L[a] > 2"):
        words = [tuple(word) for word in product("ab", repeat=6)]
        with monkeypatch.context() as patch:
            passes = both_ways(compiled(text, "causal-temperature"), words, patch)
        assert passes[0][0][0].shared > 0
        assert_same(passes, len(words))


def test_weights_that_underflow_far_behind_the_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last b of `b c^n` is so far back that its weight underflows in the table of the others."""
    subject = compiled("(a | c) S b", "causal-position", Fraction(200), "abc")
    tails = [tuple(word) for word in product("ac", repeat=4)]
    words = [("c", "b", *"c" * 10, *tail) for tail in tails]
    passes = both_ways(subject, words, monkeypatch)
    assert passes[0][0][0].shared > 8
    assert_same(passes, len(words))
    assert all(trace.accepted[row] for trace, row in by_place(passes[0]).values())


def test_sharing_happens_where_it_pays_and_nowhere_else() -> None:
    exhaustive = [tuple(word) for word in product("ab", repeat=11)]
    rng = np.random.default_rng(3)
    scattered = [tuple(rng.choice(["a", "b"], 64)) for _ in range(256)]

    def shared(regime: str, words: Sequence[Sequence[str]]) -> int:
        return max(trace.shared for trace, _ in FloatForward(compiled("a S b", regime).model).passes(words))

    for regime in CAUSAL:
        assert shared(regime, exhaustive) > 4
        assert shared(regime, scattered) == 0
        assert shared(regime, exhaustive[:20]) == 0
    for regime in ("temperature", "position"):
        assert shared(regime, exhaustive) == 0


def test_causal_batches_are_larger_and_no_word_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(float64, "BATCH", 64 * 9)
    monkeypatch.setattr(prefixes, "STAGE", 8)
    forward = FloatForward(compiled("a S b", "causal-position").model)
    words = [tuple(word) for word in product("ab", repeat=9)]
    passes = list(forward.passes(words))
    assert [trace.words for trace, _ in passes] == [256, 256]
    assert sorted(by_place(passes)) == list(range(512))
    mixed = [words[number] for number in np.random.default_rng(5).permutation(512)]
    assert [trace.words for trace, _ in forward.passes(mixed)] == [64] * 8


def test_what_makes_a_network_causal() -> None:
    model = compiled("a S b", "causal-position").model
    assert causal(model)
    assert not causal(replace(model, temperature=parse_arith("1/n")))
    assert not causal(replace(model, encodings=(*model.encodings, (0, parse_arith("i/n")))))
    for mask in (Mask.NONE, Mask.PAST):
        layer = model.layers[-1]
        heads = tuple(replace(head, mask=mask) for head in model.heads[:1])
        assert not causal(replace(model, layers=(*model.layers, replace(layer, heads=heads))))


def test_a_fork_is_where_most_prefixes_are_the_same() -> None:
    symbols = np.array(list(product(range(2), repeat=12)))
    where = fork(symbols)
    assert where is not None
    assert 0 < where.length < 12
    assert len(where.prefixes) == 2**where.length
    assert (where.prefixes[where.rows] == symbols[:, : where.length]).all()
    rng = np.random.default_rng(11)
    assert fork(rng.integers(0, 2, (4096, 64))) is None
    assert fork(symbols[rng.permutation(len(symbols))]) is None  # only neighbours are compared
    assert fork(symbols[:8]) is None
    assert fork(np.zeros((5000, 1), dtype=np.int64)) is None


def test_columns_are_joined_with_what_is_known_of_them() -> None:
    rows = np.array([1, 0, 1])
    old, new = bits(np.array([[0.0, 1.0], [1.0, 1.0]])), bits(np.array([[1.0], [0.0], [0.0]]))
    whole = join(old, new, rows)
    assert whole.mid.tolist() == [[1, 1, 1], [0, 1, 0], [1, 1, 0]]
    assert (whole.boolean, whole.rad) == (True, None)
    loose = join(old, Block(np.full((3, 1), 0.5), np.full((3, 1), 0.25)), rows)
    assert loose.rad is not None
    assert loose.rad.tolist() == [[0, 0, 0.25]] * 3
    assert not loose.boolean
    assert not loose.partly
    joined = join(fixed([1, 2]), fixed([Fraction(1, 3)]), rows).static
    assert joined is not None
    assert joined.values(0) == [1, 2, Fraction(1, 3)]
    views = Views(Mask.FUTURE, 3)
    after = mean(new, views, old, rows)
    expected = mean(whole, views)
    found = join(mean(old, views), after, rows)
    assert after.codes is not None
    assert expected.codes is not None
    assert np.array_equal(after.codes[0].numbers, expected.codes[0].numbers[:, 2:])
    assert after.codes[0].kinds == expected.codes[0].kinds == 4
    assert found.ratio is not None
    assert expected.ratio is not None
    assert all((a == b).all() for a, b in zip(found.ratio, expected.ratio, strict=True))
