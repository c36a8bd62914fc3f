"""Tests of temperatures with log, sqrt and exp on the command line."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import SINCE

LOG = "1/(4*n*log(n+1))"


@pytest.fixture
def since(tmp_path: Path) -> Path:
    path = tmp_path / "since.ltl"
    path.write_text(SINCE, encoding="utf-8")
    return path


def test_verdicts_and_answers(hardsim: Any, since: Path) -> None:
    hardsim("check", since, "--tau", LOG, "--max-n", "4").exits(0).clean("PROVED", f"temperature {LOG}")
    hardsim("prove", since, "--tau", LOG, "--max-n", "8").exits(0).clean("PROVED", "every word of length 1 to 8")
    hardsim("eval", since, "bc", "--tau", LOG).exits(0)
    every = hardsim("prove", since, "--tau", LOG, "--all-n").exits(0).clean("every word of every length")
    assert "an upper bound of the temperature: tau <= (250/693)/(n) where i = n = 1; tau <= (125/549)/(n) else" in (
        every.told_text
    )
    hot = hardsim("prove", since, "--tau", "exp(n)/(4*n*exp(2*n))", "--all-n").exits(3)
    assert "no number above exp(n) follows from the bounds of its argument" in hot.told_text


def test_the_bracket_of_a_program(hardsim: Any) -> None:
    requested = "bound", "dyck1.srasp", "--critical"
    result = hardsim(*requested, "--tau", "1/n^2", "--max-n", "2", "--json", "-").exits(0).result
    assert result["kind"] == "srasp"
    assert [row["right_at"] is not None for row in result["lengths"]] == [True, True]
    assert result["every_length"]["right_at"] is None
    assert result["schedule"] == "1/n^2"
    hardsim(*requested, "--max-n", "1").exits(0).clean("beta in use: 1, which divides the temperature 1/(6*n^4)")


@pytest.mark.parametrize(
    ("tau", "message"),
    [
        ("log(n)", "the temperature log(n) is 0 at i = 1, n = 1"),
        ("1/log(n)", "--tau:1:2: error: division by zero in 1 / 0, at n = 1"),
        ("log n", "--tau:1:1: error: log without brackets"),
        ("ln(n)", "--tau:1:1: error: unknown name 'ln'"),
        ("log(2*n)-log(n)-log(2)", "is not known to be positive at i = 1, n = 1"),
    ],
)
def test_temperatures_that_are_none(hardsim: Any, since: Path, tau: str, message: str) -> None:
    assert message in hardsim("check", since, "--tau", tau, "--max-n", "3").exits(2).err


def test_certificates(hardsim: Any, since: Path, tmp_path: Path) -> None:
    for lengths in (("--max-n", "3"), ("--all-n",)):
        hardsim("prove", since, "--tau", LOG, *lengths, "--certificate", tmp_path / "c.json").exits(0)
        hardsim("verify", tmp_path / "c.json", "--formula", since).exits(0).clean("VALID")


def test_there_are_no_queries(hardsim: Any, since: Path, tmp_path: Path) -> None:
    outcome = hardsim("prove", since, "--tau", LOG, "--all-n", "--smt", tmp_path / "q.smt2").exits(3)
    assert f"its steps cannot be written as queries: {LOG} is not a rational function" in outcome.err
    assert not (tmp_path / "q.smt2").exists()
