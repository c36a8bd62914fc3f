"""Tests of the builder: the layer of each computation, shared heads, unread coordinates."""

from fractions import Fraction

import pytest

from hardsim.compiling.from_srasp.network import (
    FULL,
    LENGTH,
    NATURAL,
    POSITIONS,
    Boolean,
    Builder,
    Interval,
    NetworkBuilder,
)
from tests.support.model import Affine, ExactModel, Mask

ONE = Affine.constant(1)


def test_work_goes_into_the_first_layer_that_can_read_its_inputs() -> None:
    builder = Builder("ab")
    letter = builder.letter("a", "a")
    mean = builder.attend("mean", Mask.FUTURE, [], "", letter)
    assert builder.time(letter) == 0
    assert builder.time(mean) == 1
    beside = builder.thresholds("beside", [(1, letter)])
    after = builder.thresholds("after", [(1, mean)])
    assert builder.time(beside) == builder.time(after) == 2
    assert builder.time(builder.thresholds("next", [(1, after)])) == 4
    assert builder.time(builder.attend("again", Mask.FUTURE, [], "", mean)) == 3
    assert builder.time(builder.attend("third", Mask.FUTURE, [(after, ONE)], "1", letter)) == 3


def test_the_same_score_is_one_head_and_the_same_value_one_coordinate() -> None:
    builder = Builder("ab")
    a, b = builder.letter("a", "a"), builder.letter("b", "b")
    score = [(ONE, a)]
    first = builder.attend("x", Mask.NONE, score, "1", a)
    second = builder.attend("x", Mask.NONE, score, "1", b)
    assert builder.attend("other name", Mask.NONE, score, "1", b) == second != first
    assert builder.attend("masked", Mask.FUTURE, score, "1", b) not in (first, second)
    name = second.terms[0][0]
    model = builder.build(name)
    assert [len(head.values) for head in model.heads] == [2, 1]
    assert name == "x (2)"


def test_terms_of_a_score_with_one_query_are_added() -> None:
    builder = Builder("ab")
    a, b = builder.letter("a", "a"), builder.letter("b", "b")
    out = builder.attend("x", Mask.NONE, [(ONE, a), (a, b), (ONE, b), (b, Affine()), (Affine(), b)], "1", a)
    (head,) = builder.build(out.terms[0][0]).heads
    assert len(head.score) == 2


def test_what_nobody_reads_is_dropped() -> None:
    builder = Builder("ab")
    a, b = builder.letter("a", "a"), builder.letter("b", "b")
    builder.encoding("1/n")
    kept = builder.thresholds("kept", [(1, a)])
    builder.hidden("late", [(1, builder.attend("dead", Mask.NONE, [(ONE, a)], "1", kept + b))])
    builder.prune(["kept"])
    model = builder.build("kept")
    assert set(model.coordinates) == {"1", "a", "kept"}
    assert model.encodings == ()
    assert len(model.layers) == 1
    assert model.heads == ()


def test_a_threshold_forgives_less_than_a_quarter() -> None:
    builder = Builder("ab")
    error = builder.encoding("(i - 2)/4")
    x = builder.letter("a", "a") + error
    out = builder.thresholds("out", [(1, x)])
    column = ExactModel(builder.build("out")).run(["aaa", "bbb"]).columns[out.terms[0][0]]
    assert column.values(0)[1:] == [1, 1, 1]
    assert column.values(1)[1:] == [0, 0, 0]
    assert column.values(0)[0] == 0  # -1/2


def test_gates_and_constants_are_zero_at_the_beginning() -> None:
    network = NetworkBuilder("ab")
    a = network.rounded(network.negation(network.false))
    number = network.position + network.constant(3) + network.length.scaled(-1)
    form = network.settled(network.gated(network.negation(a), number, "gated") + number, "sum")
    network.hidden("sum", [(1, form), (-1, form.scaled(-1))])
    trace = ExactModel(network.build("sum")).run(["aba"])
    assert [3 * value for value in trace.columns["sum"].values(0)] == [0, 1, 2, 3]


@pytest.mark.parametrize("value", range(-5, 6))
def test_exact_squares(value: int) -> None:
    network = NetworkBuilder("ab")
    number = network.position.scaled(2) + network.length.scaled(-1) + network.constant(value)
    square = network.exact_square(number)
    assert square is not None
    assert network.exact_square(number + network.counted(Boolean(network.letter("a", "a")), "a")) is None
    network.hidden("square", [(1, square)])
    for n in (1, 2, 5):
        trace = ExactModel(network.build("square")).run(["a" * n])
        expected = [Fraction((2 * i - n + value) ** 2, n * n) for i in range(1, n + 1)]
        assert trace.columns["square"].values(0) == [0, *expected]


def test_intervals() -> None:
    constant = Interval.constant
    assert POSITIONS.in_range
    assert LENGTH.in_range
    assert (LENGTH + constant(1) + POSITIONS.scaled(-1)) == Interval((0, 1), (1, 0))
    assert not (POSITIONS + constant(1)).in_range
    assert POSITIONS.scaled(-2) == Interval((-2, 0), (0, -2))
    assert POSITIONS.scaled(-2).negative
    assert NATURAL.natural
    assert not FULL.natural
    assert POSITIONS.hull(constant(0)) == NATURAL
    assert POSITIONS.hull(constant(7)) == Interval((0, 1), (1, 7))
    assert POSITIONS.hull(constant(1)) == POSITIONS
    assert constant(-4).size == 4
    assert constant(0).size == 1
    assert (LENGTH.scaled(2) + constant(-3)).size == 5
