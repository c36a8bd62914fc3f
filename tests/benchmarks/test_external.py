"""Tests of certified float64 and plain numpy on external networks."""

from typing import Any

import numpy as np
import pytest

from benchmarks import external
from benchmarks.external import SHAPES, PlainPass
from benchmarks.timing import WrongAnswerError
from hardsim.network.dense import arrays_of
from hardsim.run.dense_exact import DenseForward
from tests.support.model import MpArithmetic


def test_the_plain_pass_is_the_definition_up_to_float64() -> None:
    network = SHAPES[1].network(6)
    tokens = np.array([[0, 5, 2, 7, 7, 1]])
    exact = DenseForward(network, MpArithmetic(30)).run(6, tokens[0].tolist(), range(6))
    assert np.abs(PlainPass(network, 6).run(tokens)[0] - np.array(exact, dtype=np.float64)).max() < 1e-12


def test_a_ratio_is_measured() -> None:
    assert external.one(SHAPES[1], 16, 4, 1, None).value


def test_the_large_shape_has_three_megabytes() -> None:
    assert 3e6 < 4 * sum(array.size for array in arrays_of(SHAPES[2].network(150))) < 4e6


def test_a_pass_that_is_far_off_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    true = PlainPass.run

    def off(self: PlainPass, tokens: Any) -> Any:
        return true(self, tokens) + 1e-6

    monkeypatch.setattr(external.PlainPass, "run", off)
    with pytest.raises(WrongAnswerError, match="far from an enclosure"):
        external.one(SHAPES[0], 16, 4, 1, None)
