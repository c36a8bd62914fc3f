"""Tests of the alternatives to hardsim: PyTorch where it is installed, its absence, and the ratios."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import alternatives
from benchmarks.alternatives import CASES, CHECKED, FLOAT32, FLOAT64, passes, ratios
from benchmarks.cases import DENSE
from benchmarks.results import PassCost, Target
from tests.support.model import Transformer
from tests.support.networks import ALPHABET, dense_forward, transformers

words = st.lists(st.sampled_from(ALPHABET), min_size=1, max_size=7)
COST = PassCost(alternatives.GROUP, "case", 64, CHECKED, 64, 9, 0.5, 64, 0)
OTHERS = [
    replace(COST, name=DENSE, seconds=4.0),
    replace(COST, name=FLOAT32, seconds=1.0, agreed=61),
    replace(COST, name=FLOAT64, seconds=2.0),
]


def without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alternatives, "find_spec", lambda name: None)


def test_ratios_say_what_float32_gets_wrong() -> None:
    (figure,) = ratios([COST, *OTHERS], Target(0.5))
    assert (figure.value, figure.reached) == (0.5, True)
    assert figure.note == "0.25 of torch float64; 0.12 of plain numpy; torch float32 wrong on 3 of 64"
    assert ratios([replace(COST, seconds=0.51), *OTHERS], Target(0.5))[0].reached is False


def test_without_torch_its_rows_are_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    without_torch(monkeypatch)
    found = alternatives.one(CASES[2], 16, 12, 1, Target(0.5))
    assert [cost.name for cost in found.passes] == [CHECKED, DENSE]
    assert all(cost.agreed == cost.words for cost in found.passes)
    assert found.figures == []
    assert "torch is not installed: its rows are left out" in capsys.readouterr().err


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_check_answers_what_is_right(case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    without_torch(monkeypatch)
    work = case.work(16, 12)
    assert {True, False} == set(work.truth)
    assert [one.start()() for one in passes(work, 1)] == [work.truth, work.truth]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_torch_answers_what_is_right_of_short_words(case: Any) -> None:
    pytest.importorskip("torch", reason="the extra bench")
    work = case.work(16, 12)
    for dtype in ("float32", "float64"):
        assert alternatives.batched(work, dtype)() == work.truth


@settings(max_examples=25, deadline=None)
@given(transformers(), st.lists(words, min_size=1, max_size=3))
def test_the_batched_pass_is_the_definition_up_to_float64(model: Transformer, some: list[list[str]]) -> None:
    pytest.importorskip("torch", reason="the extra bench")
    from benchmarks.batched import BatchedPass

    n = len(some[0])
    same = [word for word in some if len(word) == n]
    network = BatchedPass(model, n, "float64")
    for word, value in zip(same, network.run(network.numbers(same)), strict=True):
        expected = dense_forward(model, word)[model.reading_index(n)][model.output]
        assert abs(value - expected) <= max(1, abs(expected)) * 1e-7


def test_slices_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="the extra bench")
    from benchmarks import batched

    work = CASES[0].work(16, 12)

    def answers() -> Any:
        network = batched.BatchedPass(work.network, 16, "float64")
        return network.run(network.numbers(work.words))

    whole = answers()
    monkeypatch.setattr(batched, "CELLS", 1)  # one word at a time
    assert abs(answers() - whole).max() < 1e-12
