"""Attention by types: classes of keys, their mixtures, and heads that share weights."""

from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import mpmath
import numpy as np
import pytest

from hardsim.network.numbers import Rational
from hardsim.network.transformer import AttentionHead
from hardsim.run.enclosure import Block, Floats, bits, fixed
from hardsim.run.float64 import FloatForward
from hardsim.run.float_attention import HeadPass, Mixture
from hardsim.run.float_rows import Ends, Views, lone, mark_lone, quotient, quotients
from tests.support.check import ModelOptions, read_input
from tests.support.model import Layer, Mask, Matrix, Transformer
from tests.support.networks import clipped_at

N = 7
ONE, PLACE, FIRST, SECOND = range(4)
"""Coordinates: 1, the position, and two Booleans of the word."""
Entries = dict[tuple[int, int], Rational]
HEADS: dict[str, tuple[Entries, Entries]] = {
    "one class": ({(0, PLACE): 1}, {(0, PLACE): 1}),
    "above first": ({(0, ONE): 1}, {(0, PLACE): Fraction(1, 3), (0, FIRST): 5}),
    "above second": ({(0, ONE): 1}, {(0, PLACE): Fraction(1, 3), (0, FIRST): -5}),
    "not ordered": ({(0, PLACE): 1, (0, ONE): -4}, {(0, FIRST): 2, (0, PLACE): Fraction(1, 5)}),
    "three classes": ({(0, ONE): 1}, {(0, FIRST): 2, (0, SECOND): 2, (0, PLACE): Fraction(-1, 4)}),
}


def head_of(name: str, mask: Mask) -> AttentionHead:
    query, key = HEADS[name]
    return AttentionHead("h", mask, Matrix.of(1, 4, query), Matrix.of(1, 4, key), Matrix.of(4, 4, {(FIRST, SECOND): 1}))


def true_mean(head: AttentionHead, inverse: Fraction, columns: list[list[int]], query: int, seen: list[int]) -> Any:
    """Return the softmax mean of the second Boolean by its definition, in mpmath."""
    (form, key), *_ = head.scores
    with mpmath.workdps(60):
        left = sum(Fraction(value) * columns[index][query] for index, value in form)
        logits = [left * sum(Fraction(value) * columns[index][j] for index, value in key) * inverse for j in seen]
        weights = [mpmath.exp(mpmath.mpf(x.numerator) / x.denominator) for x in logits]
        return sum(weight for weight, j in zip(weights, seen, strict=True) if columns[SECOND][j]) / sum(weights)


@pytest.mark.parametrize("mask", [Mask.NONE, Mask.FUTURE, Mask.PAST])
@pytest.mark.parametrize("inverse", [Fraction(1, 2), Fraction(9), Fraction(2000)])
@pytest.mark.parametrize("name", HEADS)
def test_means_by_types_hold_the_softmax_mean(name: str, inverse: Fraction, mask: Mask) -> None:
    """At 1/tau = 2000 weights underflow in the table, and rows are run again."""
    rng, words = Random(name), 6
    rows = np.array([[[rng.randrange(2) for _ in range(N)] for _ in range(words)] for _ in range(2)], dtype=float)
    rows[0, 0], rows[0, 1] = 0, 1  # words that have one class alone
    places = list(range(1, N + 1))
    blocks = [fixed([1] * N), fixed(places), bits(rows[0], "first"), bits(rows[1], "second")]
    head, views = head_of(name, mask), Views(mask, N)
    at = HeadPass(head, [inverse] * N, views)
    for _ in range(2):  # the second time from what is kept
        with np.errstate(all="ignore"):
            (found,) = at.attend(blocks, [blocks[SECOND]])
        for word in range(words):
            columns = [[1] * N, places, *rows[:, word].astype(int).tolist()]
            for i in range(N):
                seen = np.flatnonzero(views.visible(np.array([i]))[0]).tolist()
                true = true_mean(head, inverse, columns, i, seen)
                with mpmath.workdps(60):
                    assert abs(float(found.mid[word, i]) - true) <= float(found.radius[word, i])
        if inverse < 100:
            assert found.radius.max() < 1e-12


def test_classes_of_which_one_is_above_the_other_in_every_row() -> None:
    """Then no maximum over the visible classes is needed; three classes, or two that cross, have one."""
    error, nothing = np.full(3, 1e-15), np.zeros(3)
    low, high, crossing = np.zeros(3), np.array([1.0, 0.0, 2.0]), np.array([1.0, -1.0, 2.0])
    for shifts, above in (([low, high], 1), ([high, low], 0)):
        found = Mixture.of([(shift, nothing) for shift in shifts], error)
        assert found.above == above
        assert found.drop is not None
        assert np.allclose(found.drop, np.exp(-high), rtol=1e-15)
    assert Mixture.of([(low, nothing), (crossing, nothing)], error).drop is None
    assert Mixture.of([(low, nothing), (high, nothing), (high + 1, nothing)], error).drop is None
    assert Mixture.of([(low, nothing)], error).error is error


def three_readers(query: Entries) -> Transformer:
    """Return a network with three heads of the same scores, with one query and the position as the key. One reads a
    coordinate of the word, two read the position: these are looked up if the query depends on the word."""
    model = clipped_at(Fraction(1, 3), "1/9")
    layer = model.layers[0]
    head = replace(layer.heads[0], w_q=Matrix.of(1, 4, query))
    values: list[Entries] = [{(1, 1): Fraction(1, 2)}, {(0, 1): -3}]
    others = [replace(head, name=f"other {n}", w_v=Matrix.of(4, 4, value)) for n, value in enumerate(values)]
    return replace(model, layers=(Layer((head, *others), layer.ffn),))


@pytest.mark.parametrize("query", [{(0, 1): 3}, {(0, 0): 3}])
def test_heads_with_the_same_scores_read_what_each_reads_alone(monkeypatch: pytest.MonkeyPatch, query: Entries) -> None:
    words = ["abba", "bbba", "aaaa"]
    model, alone = three_readers(query), three_readers(query)
    assert model.layers[0].groups == ((0, 1, 2),)
    together = FloatForward(model).trace(words)
    monkeypatch.setattr(Layer, "groups", ((0,), (1,), (2,)))
    for name, outs in FloatForward(alone).trace(words).attended.items():
        for out, block in outs.items():
            found = together.attended[name][out]
            assert np.array_equal(found.mid, block.mid)
            assert np.array_equal(found.radius, block.radius)


def test_groups_are_of_heads_with_the_same_mask_and_scores() -> None:
    (head,) = clipped_at(Fraction(1, 3)).layers[0].heads
    past, steep = replace(head, mask=Mask.PAST), replace(head, w_q=Matrix.of(1, 4, {(0, 1): 4}))
    mean = replace(head, w_q=Matrix.of(0, 4, {}), w_k=Matrix.of(0, 4, {}))
    layer = Layer((head, mean, past, head, steep, mean, past), clipped_at(Fraction(1, 3)).layers[0].ffn)
    assert layer.groups == ((0, 3), (1,), (2, 6), (4,), (5,))


def test_margins_and_unrounded_outputs_are_left_out_on_request() -> None:
    subject = read_input("formulas/since.ltl").compile(ModelOptions())
    forward = FloatForward(subject.model)
    symbols = forward.symbols(["abca", "cbaa", "aaaa"])
    whole, part = forward.run(symbols), forward.run(symbols, unrounded=False, margins=False)
    assert whole.margin is not None
    assert whole.unrounded is not None
    assert part.margin is None
    assert part.unrounded is None
    assert part.accepted.tolist() == whole.accepted.tolist()
    for index, block in whole.columns.items():
        assert np.array_equal(part.columns[index].mid, block.mid)


def some_sums(rng: Any, shape: tuple[int, int]) -> Floats:
    found: Floats = rng.random(shape)
    return found


def test_quotients_together_are_those_one_by_one() -> None:
    """Sums of Booleans of one shape are divided together, others by themselves."""
    rng, error = np.random.default_rng(1), np.full((1, 5), 1e-13)
    total = 1 + some_sums(rng, (3, 5))
    boolean, other = Ends.of(bits(np.ones((1, 5)))), Ends(np.full((1, 1), -2.0), np.full((1, 1), 3.0), None)
    loose = Ends(other.low, other.high, np.full((1, 1), 0.5))
    assert (boolean.boolean, other.boolean, boolean.joined(boolean).boolean) == (True, False, True)
    assert not boolean.joined(other).boolean
    tops = [some_sums(rng, shape) for shape in ((3, 5), (3, 5), (1, 5), (3, 5), (3, 5))]
    reaches = [boolean, other, boolean, boolean, loose]
    more = [(None, None), (some_sums(rng, (3, 5)), None), (None, None), (None, None), (None, total / 9)]
    found = quotients(tops, total, error, reaches, 9, more)
    for top, reach, extra, block in zip(tops, reaches, more, found, strict=True):
        expected = quotient(top, total, error, reach, 9, *extra)
        assert np.array_equal(block.mid, expected.mid)
        assert np.array_equal(block.radius, expected.radius)


@pytest.mark.parametrize("mask", [Mask.NONE, Mask.FUTURE, Mask.PAST])
def test_lone_values_are_marked_together_as_one_by_one(mask: Mask) -> None:
    rng, views = np.random.default_rng(2), Views(mask, N)
    exact = [bits((rng.random((4, N)) < 0.8).astype(float)) for _ in range(3)]
    rough = Block(exact[0].mid, np.where(exact[1].mid == 0, 0.5, 0.0), 0, 1, partly=True)
    values = [*exact, rough, bits(np.ones((1, N)))]
    attended = [(np.full((4, N), 0.3), np.full((4, N), 2.0)) for _ in values]
    one, many = ([Block(mid.copy(), rad.copy()) for mid, rad in attended] for _ in range(2))
    for block, value in zip(one, values, strict=True):
        lone(block, value, views)
    mark_lone(many, values, views, [None] * len(values), np.zeros(0, dtype=np.int64))
    assert any((block.radius == 0).any() for block in one)
    for first, second in zip(one, many, strict=True):
        assert np.array_equal(first.mid, second.mid)
        assert np.array_equal(first.radius, second.radius)
        assert (first.partly, first.places, first.size) == (second.partly, second.places, second.size)
