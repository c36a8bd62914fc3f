"""Tests of the command line on programs and models whose scores are determined by types."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import written
from tests.support.solver import answers
from tests.verify.test_types import COUNT, leftmost

SAME_LETTER = "alphabet: a b c\nk(i) := count_j[{mask}, in(j) = in(i)]\nY(i) := k(i) >= 2\n"


def test_a_count_whose_score_depends_on_i_is_proved_and_certified(hardsim: Any, tmp_path: Path) -> None:
    path, certificate, queries = written(tmp_path / "count.srasp", COUNT), tmp_path / "c.json", tmp_path / "q.smt2"
    message = ("PROVED ", "every word of every length", "head m: share: types", "gap >= 1")
    hardsim("prove", path, "--all-n", "--certificate", certificate, "--smt", queries).exits(0, *message)
    hardsim("verify", certificate, "--model", path).exits(0, "VALID ", "every word of every length")
    assert set(answers(queries.read_text(encoding="utf-8"), tmp_path)) == {"unsat"}


@pytest.mark.parametrize("mask", ["1", "j<i", "j<=i", "j>i", "j>=i"])
def test_counts_of_equal_letters_are_proved_under_every_mask(hardsim: Any, tmp_path: Path, mask: str) -> None:
    path = written(tmp_path / "count.srasp", SAME_LETTER.format(mask=mask))
    hardsim("prove", path, "--all-n").exits(0, "PROVED ", "head k: share: ", "types")


def test_a_leftmost_head_whose_tied_positions_have_one_value_is_proved(hardsim: Any, tmp_path: Path) -> None:
    """The score 2 [a] + [b] is largest at every a, and [a] is the value read; with [a] + [b] the value may be
    either.
    """
    one, either = ({"a": "2", "b": "1"}, {"a": "1", "b": "1"})
    path = written(tmp_path / "one.ahat.json", json.dumps(leftmost(one)))
    hardsim("prove", path, "--all-n").exits(0, "PROVED ", "every word of every length")
    path = written(tmp_path / "either.ahat.json", json.dumps(leftmost(either)))
    hardsim("prove", path, "--all-n").exits(3, "UNDECIDED ", "head first")
