"""Tests of the passes that the benchmarks compare with: they are the definition, and their answers are checked."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import external, passes
from benchmarks.dense import DensePass, hidden, naive
from benchmarks.external import SHAPES, PlainPass
from benchmarks.passes import CHECKED, DENSE, FLOAT32, LANGUAGES, Work, compare, costs
from benchmarks.runner import FailedError
from hardsim.network.dense import arrays_of
from hardsim.run.dense_exact import DenseForward
from tests.support.dense_networks import made
from tests.support.model import Mask, MpArithmetic, Transformer
from tests.support.networks import ALPHABET, context, dense_forward, transformers

words = st.lists(st.sampled_from(ALPHABET), min_size=1, max_size=7)


@given(transformers(), words)
def test_dense_passes_are_the_definition(model: Transformer, word: list[str]) -> None:
    n = len(word)
    expected = dense_forward(model, word)[model.reading_index(n)][model.output]
    for network, error in ((DensePass(model, n), 1e-7), (naive(model, n, 50), context.mpf(10) ** -35)):
        found = network.run(network.numbers([word, word]))
        assert abs(found - expected).max() <= max(1, abs(expected)) * error


@given(transformers(), words)
def test_the_batched_pass_is_the_definition_up_to_float64(model: Transformer, word: list[str]) -> None:
    pytest.importorskip("torch", reason="the extra bench")
    from benchmarks.batched import BatchedPass

    network = BatchedPass(model, len(word), "float64")
    expected = dense_forward(model, word)[model.reading_index(len(word))][model.output]
    assert abs(network.run(network.numbers([word]))[0] - expected) <= max(1, abs(expected)) * 1e-7


@pytest.mark.parametrize("mask", list(Mask))
@pytest.mark.parametrize("bos", [False, True])
def test_masks(mask: Mask, bos: bool) -> None:
    size = 5
    for i in range(size):
        seen = {j - 1 for j in mask.visible(i + 1, size)} | ({0} if bos else set())
        assert set(np.flatnonzero(hidden(mask, size, bos)[i] == 0).tolist()) == seen


@pytest.mark.parametrize("network", [made(rows=9), SHAPES[1].network(6)])
def test_the_plain_pass_is_the_definition_up_to_float64(network: Any) -> None:
    tokens, places = np.array([[0, 3, 2, 1, 1, 2], [1, 1, 0, 3, 0, 0]]), np.array([5, 2])
    exact = DenseForward(network, MpArithmetic(30))
    expected = np.array([exact.run(6, row.tolist(), range(6)) for row in tokens], dtype=np.float64)
    plain = PlainPass(network)
    assert np.abs(plain.run(tokens) - expected).max() < 1e-12
    assert np.abs(plain.run(tokens, places) - expected[[0, 1], places][:, None]).max() < 1e-12


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_pass_answers_what_is_right(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work(language, 16, 12)
    assert {True, False} == set(work.truth)
    for run in (work.checked(), work.certified(), work.plain(DensePass(work.network, 16))):
        assert run() == work.truth
    for one_by_one in (partial(work.one_by_one, "ball"), partial(work.one_by_one, "mpmath")):
        assert one_by_one(2) == work.truth[:2]
    assert work.naive(1, 30) == work.truth[:1]


@pytest.mark.parametrize("language", LANGUAGES)
def test_torch_answers_what_is_right_of_short_words(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="the extra bench")
    from benchmarks import batched

    work = Work(language, 16, 12)
    assert work.torch("float32")() == work.torch("float64")() == work.truth
    monkeypatch.setattr(batched, "CELLS", 1)  # one word at a time
    assert work.torch("float64")() == work.truth


def test_without_torch_its_rows_are_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(passes, "find_spec", lambda name: None)
    seconds, note = passes.alternatives("PARITY", 16, 12, 1)
    assert ({*seconds}, note) == ({CHECKED, DENSE}, "")
    assert "torch is not installed: its rows are left out" in capsys.readouterr().err


def test_wrong_answers() -> None:
    work = Work("PARITY", 4, 4)
    wrong = [not answer for answer in work.truth]
    unknown: passes.Answers = [None, *work.truth[1:]]
    seconds, note = costs(work, {FLOAT32: lambda: wrong, CHECKED: lambda: unknown}, [1, 1])
    assert seconds.keys() == {FLOAT32, CHECKED}
    assert note == f"{FLOAT32} wrong on {len(wrong)} of {len(wrong)}; {CHECKED} undecided on 1 of {len(wrong)}"
    with pytest.raises(FailedError, match=rf"exact is wrong on {len(wrong)} words"):
        costs(work, {CHECKED: lambda: wrong}, [1])


def test_rates_are_compared_with_the_definition() -> None:
    def last(word: str) -> bool:
        return word[-1] == "1"

    some = ["10", "11", "01"]
    compare({"right": [False, True, True]}, some, last)
    for answers, message in (
        ([True, True, True], "wrong on 1 words"),
        ([False, True, True, True], "4 answers on 3 words"),
    ):
        with pytest.raises(FailedError, match=message):
            compare({"rate": answers}, some, last)


def test_long_words_are_answered() -> None:
    assert passes.long_words("long", 2, 40)[0]["long"] > 0


def test_external_networks() -> None:
    seconds, _ = external.measure(SHAPES[1], 16, 4, 1)
    assert seconds.keys() == {external.CERTIFIED, external.PLAIN}
    assert 3e6 < 4 * sum(array.size for array in arrays_of(SHAPES[2].network(150))) < 4e6


def test_a_pass_that_is_far_off_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    true = PlainPass.run
    monkeypatch.setattr(external.PlainPass, "run", lambda self, tokens: true(self, tokens) + 1e-6)
    with pytest.raises(FailedError, match="far from an enclosure"):
        external.measure(SHAPES[0], 16, 4, 1)
