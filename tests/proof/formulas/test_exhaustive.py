"""Proofs compared with exhaustive certified runs of the same networks: everything proved is true of every word."""

from itertools import islice, product
from pathlib import Path

import pytest

from hardsim.run.float64 import FloatForward
from hardsim.run.soft import rounded
from tests.support.check import FormulaTarget, Verdict, prove_subject
from tests.support.language import Oracle
from tests.support.model import SoftModel
from tests.support.sources import load
from tests.support.subjects import FORMULAS, in_regimes

FILES = sorted(FORMULAS.glob("*.ltl"))
LONGEST = 10
QUICK, MOST = 60, 100_000
"""Numbers of words of each formula and regime, in the quick test and in the slow one."""


def lengths(symbols: int, most: int) -> int:
    """Return the greatest length such that all words up to it are at most `most`; LONGEST at most."""
    total, n = 0, 0
    while n < LONGEST and total + symbols ** (n + 1) <= most:
        n += 1
        total += symbols**n
    return n


def certified(subject: FormulaTarget, longest: int) -> int:
    """Require that the network's certified answer on every word equals the semantics; return the number of words.

    Float64 answers with bounded errors, and balls where that decides nothing.
    """
    oracle, floats, balls = Oracle(subject.formula), FloatForward(subject.model), SoftModel(subject.model, rounds=True)
    seen = 0
    for n in range(1, longest + 1):
        words = product(subject.formula.alphabet, repeat=n)
        while batch := list(islice(words, floats.batch_size(n))):
            for trace, rows in floats.passes(batch):
                for row, place in rows.tolist():
                    word = batch[place]
                    if trace.decided[row]:
                        answer = bool(trace.accepted[row]) or (None if not trace.rejected[row] else False)
                    else:
                        answer = rounded(balls.run(word).output)
                    assert answer is oracle.accepts(word), (subject.name, subject.program.regime, word)
                    seen += 1
    return seen


@pytest.mark.sweep
@pytest.mark.parametrize("most", [QUICK, pytest.param(MOST, marks=pytest.mark.slow)])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_proofs_agree_with_all_words(path: Path, most: int) -> None:
    for subject in in_regimes(load(path)):
        longest = lengths(len(subject.formula.alphabet), most)
        assert prove_subject(subject, longest, search=0).verdict is Verdict.PROVED
        assert certified(subject, longest) == sum(len(subject.formula.alphabet) ** n for n in range(1, longest + 1))
