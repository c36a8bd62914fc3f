"""The conformance formulas on the hard program and on the softmax network, at both positions.

The rows are third-party material beside the project (see `tests/support/conformance.py`); a checkout without them
collects nothing here.
"""

from itertools import groupby

import pytest

from hardsim.targets.result import AUTO, MPMATH
from tests.support.check import ModelOptions, compile_formula
from tests.support.conformance import ROWS, At, Row
from tests.support.model import PROVEN, REGIMES
from tests.support.subjects import judge_of


def disagreements(row: Row, regime: str, at: At, longest: int, engine: str) -> list[str]:
    """Return the words up to a length on which hard attention or the network disagrees with the row.

    In mpmath the network runs word by word, else on many words at once with rigorous error bounds.
    """
    judge = judge_of(compile_formula(row.file(at), ModelOptions(regime)), engine)
    answers = row.answers(at, longest)
    found: list[str] = []
    for _, group in groupby(answers, key=len):
        words = list(group)
        hards, softs = judge.hard.answers(words), judge.soft.decisions(words)
        for word, hard, (decided, soft) in zip(words, hards, softs, strict=True):
            if not (decided and hard is soft is answers[word]):
                found.append("".join(word))
    return found


def regimes(row: Row) -> list[str]:
    """Return the regimes that can compute the row: the causal ones only without future operators."""
    causal = [name for name in PROVEN if REGIMES[name].causal]
    return ["temperature", "position", *([] if row.has_future else causal)]


CASES = [(row, regime, at) for row in ROWS for regime in regimes(row) for at in ("last", "first")]
IDS = [f"{row.name}-{regime}-{at}" for row, regime, at in CASES]


@pytest.mark.sweep
@pytest.mark.parametrize(("row", "regime", "at"), CASES[::5], ids=IDS[::5])
def test_all_words_to_length_4(row: Row, regime: str, at: At) -> None:
    """Every fifth case runs by default: a formula has four or eight, so all regimes and both positions take their
    turn.
    """
    assert disagreements(row, regime, at, 4, AUTO) == []


@pytest.mark.slow
@pytest.mark.parametrize(("longest", "engine"), [(5, MPMATH), (6, AUTO)])
@pytest.mark.parametrize(("row", "regime", "at"), CASES, ids=IDS)
def test_all_words_to_a_longer_length(row: Row, regime: str, at: At, longest: int, engine: str) -> None:
    assert disagreements(row, regime, at, longest, engine) == []
