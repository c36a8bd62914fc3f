"""Tests of the two passes that the benchmarks compare with, and of how passes are timed."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.dense import DensePass, hidden
from benchmarks.naive import NaivePass, sees
from benchmarks.timing import Answers, Pass, WrongAnswerError, measure
from tests.support.model import Mask, Transformer
from tests.support.networks import ALPHABET, context, dense_forward, transformers

words = st.lists(st.sampled_from(ALPHABET), min_size=1, max_size=7)


@settings(max_examples=60, deadline=None)
@given(transformers(), words)
@pytest.mark.slow
def test_the_naive_pass_is_the_definition(model: Transformer, word: list[str]) -> None:
    n = len(word)
    expected = dense_forward(model, word)[model.reading_index(n)][model.output]
    found = NaivePass(model, n, 50).run(word)
    assert abs(found - expected) <= max(1, abs(expected)) * context.mpf(10) ** -35


@settings(max_examples=25, deadline=None)
@given(transformers(), st.lists(words, min_size=1, max_size=3))
def test_the_dense_pass_is_the_definition_up_to_float64(model: Transformer, some: list[list[str]]) -> None:
    n = len(some[0])
    same = [word for word in some if len(word) == n]
    network = DensePass(model, n)
    for word, value in zip(same, network.run(network.numbers(same)), strict=True):
        expected = dense_forward(model, word)[model.reading_index(n)][model.output]
        assert abs(value - expected) <= max(1, abs(expected)) * 1e-7


@pytest.mark.parametrize("mask", list(Mask))
@pytest.mark.parametrize("bos", [False, True])
def test_masks(mask: Mask, bos: bool) -> None:
    size = 5
    for i in range(size):
        seen = {j - 1 for j in mask.visible(i + 1, size)} | ({0} if bos else set())
        assert {j for j in range(size) if sees(mask, i, j, bos)} == seen
        assert set(np.flatnonzero(hidden(mask, size, bos)[i] == 0).tolist()) == seen


def giving(answers: Answers, log: list[str], name: str) -> Callable[[], Callable[[], Answers]]:
    def run() -> Answers:
        log.append(f"run {name}")
        return answers

    def start() -> Callable[[], Answers]:
        log.append(f"start {name}")
        return run

    return start


def test_passes_are_timed_in_turns() -> None:
    log: list[str] = []
    passes = [
        Pass("warm", 3, 2, giving([True, False, True], log, "warm"), warm=True),
        Pass("cold", 1, 3, giving([True], log, "cold")),
    ]
    warm, cold = measure("g", "case", 7, passes, [True, False, True])
    turns = ["run warm", "start cold", "run cold"]
    assert log == ["start warm", "run warm", *turns, *turns, "start cold", "run cold"]
    assert (warm.agreed, warm.words, warm.repeats, warm.n) == (3, 3, 2, 7)
    assert (cold.agreed, cold.words, cold.setup) == (1, 1, 0.0)
    assert 0 <= warm.seconds < 1


def test_what_a_pass_does_not_know_is_counted() -> None:
    (cost,) = measure("g", "case", 1, [Pass("p", 3, 1, giving([True, None, None], [], "p"))], [True, True, False])
    assert (cost.agreed, cost.undecided) == (1, 2)


def test_a_wrong_answer_is_an_error() -> None:
    with pytest.raises(WrongAnswerError, match="p is wrong on 1 words"):
        measure("g", "case", 1, [Pass("p", 2, 1, giving([True, True], [], "p"))], [True, False])
    with pytest.raises(WrongAnswerError, match="gave 1 answers on 2 words"):
        measure("g", "case", 1, [Pass("p", 2, 1, giving([True], [], "p"))], [True, False])


def test_a_cost_is_the_median(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 1.0, 10.0, 19.0, 20.0, 22.0])  # 1, 9 and 2 seconds on two words
    monkeypatch.setattr("benchmarks.timing.process_time", lambda: next(clock))
    (cost,) = measure("g", "case", 1, [Pass("p", 2, 3, giving([True, True], [], "p"))], [True, True])
    assert cost.seconds == 1


def test_plain_floats_may_be_wrong() -> None:
    (cost,) = measure("g", "case", 1, [Pass("p", 2, 1, giving([True, True], [], "p"), exact=False)], [True, False])
    assert (cost.agreed, cost.undecided) == (1, 0)


def test_a_threshold_is_a_rational() -> None:
    assert bool(context.mpf(1) / 2 > Fraction(1, 2)) is False
