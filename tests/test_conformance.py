"""The conformance formulas on the hard program and on the softmax network, at both positions.

The rows are third-party material beside the project (see `tests/conformance.py`); a checkout without them collects
nothing here.
"""

from __future__ import annotations

from typing import Literal

import pytest

from hardsim.checking.compare import Judge
from hardsim.checking.subject import ModelOptions, compile_file
from hardsim.spec.regimes import PROVEN, REGIMES
from tests.conformance import ROWS, Row

At = Literal["first", "last"]


def disagreements(row: Row, regime: str, at: At, longest: int) -> list[str]:
    """Words up to a length on which hard attention or the network is not what the row says."""
    judge = Judge(compile_file(row.file(at), ModelOptions(regime)))
    found: list[str] = []
    for word, expected in zip(row.words(longest), row.expected(at, longest), strict=True):
        hard = judge.hard.run(word).accepted
        soft = judge.forward(len(word)).run(word).verdict(judge.subject.model)
        if hard is not expected or soft is not expected:
            found.append("".join(word))
    return found


def regimes(row: Row) -> list[str]:
    """The regimes that can compute the row: the causal ones only without future operators."""
    causal = [name for name in PROVEN if REGIMES[name].causal]
    return ["temperature", "position", *([] if row.has_future else causal)]


CASES = [(row, regime, at) for row in ROWS for regime in regimes(row) for at in ("last", "first")]
IDS = [f"{row.name}-{regime}-{at}" for row, regime, at in CASES]


@pytest.mark.conformance
@pytest.mark.parametrize(("row", "regime", "at"), CASES, ids=IDS)
def test_all_words_to_length_4(row: Row, regime: str, at: At) -> None:
    assert disagreements(row, regime, at, 4) == []


@pytest.mark.slow
@pytest.mark.parametrize(("row", "regime", "at"), CASES, ids=IDS)
def test_all_words_to_length_6(row: Row, regime: str, at: At) -> None:
    assert disagreements(row, regime, at, 6) == []
