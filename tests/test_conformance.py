"""The conformance formulas on the hard program and on the softmax network, at both positions.

The rows are third-party material beside the project (see `tests/conformance.py`); a checkout without them collects
nothing here.
"""

from __future__ import annotations

from itertools import groupby
from typing import Literal

import pytest

from hardsim.checking.compare import Judge
from hardsim.checking.result import AUTO
from hardsim.checking.soft import MpEngine
from hardsim.checking.subject import ModelOptions, compile_file
from hardsim.spec.regimes import PROVEN, REGIMES
from tests.conformance import ROWS, Row

At = Literal["first", "last"]


def disagreements(row: Row, regime: str, at: At, longest: int) -> list[str]:
    """Words up to a length on which hard attention or the network, in mpmath, is not what the row says."""
    judge = Judge(compile_file(row.file(at), ModelOptions(regime)))
    assert isinstance(judge.engine, MpEngine)
    found: list[str] = []
    for word, expected in zip(row.words(longest), row.expected(at, longest), strict=True):
        hard = judge.hard.run(word).accepted
        soft = judge.engine.forward(len(word)).run(word).verdict(judge.subject.model)
        if hard is not expected or soft is not expected:
            found.append("".join(word))
    return found


def certified_disagreements(row: Row, regime: str, at: At, longest: int) -> list[str]:
    """The same with both on many words at once: hard attention by bits, the network with rigorous error bounds."""
    judge = Judge(compile_file(row.file(at), ModelOptions(regime)), engine=AUTO)
    answers = dict(zip(row.words(longest), row.expected(at, longest), strict=True))
    found: list[str] = []
    for _, group in groupby(answers, key=len):
        words = list(group)
        hard = judge.hard_of_many.run(judge.hard_of_many.symbols(words)).accepted
        soft = judge.engine.decisions(words)
        for word, hardly, (decided, softly) in zip(words, hard.tolist(), soft, strict=True):
            if not (decided and hardly is softly is answers[word]):
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
    assert certified_disagreements(row, regime, at, 4) == []


@pytest.mark.slow
@pytest.mark.parametrize(("row", "regime", "at"), CASES, ids=IDS)
def test_all_words_to_length_6(row: Row, regime: str, at: At) -> None:
    assert disagreements(row, regime, at, 6) == []


@pytest.mark.slow
@pytest.mark.parametrize(("row", "regime", "at"), CASES, ids=IDS)
def test_all_words_to_length_7_many_at_once(row: Row, regime: str, at: At) -> None:
    assert certified_disagreements(row, regime, at, 7) == []
