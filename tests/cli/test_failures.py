"""Tests of positions that a reference leaves open, and of words on which it fails: a mismatch on another word is
still reported."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, written
from tests.support.external import hooked_folder

TIE = -0.4990234375  # a share of 1/2 is above it, and up to 511 symbols nothing less is
SHARE = "network: net\nalphabet: a b\ndecide: value within {within}\nvalue 0: 1/#L[b] - 1/2\n"
"""A specification of the share of a's less 1/2; it divides by 0 on words without a b."""
DOUBLE = """alphabet: a b
as(i) := psum_j[j <= i] (Q_a(j) ? 2 : 0)
most(i) := as(i) >= pos(i)
output: most
"""
"""A program whose integers reach 2n, beyond the range of its construction: on a, and on other words."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    hooked_folder(tmp_path / "net", TIE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.sweep(every=2)
@pytest.mark.parametrize(
    "options", [[], ["--workers", "2"], ["--engine", "ball"], ["--exhaustive", "1", "--samples", "7"]]
)
def test_a_specification_that_fails_on_a_word_hides_no_mismatch(hardsim: Cli, folder: Path, options: list[str]) -> None:
    """On b the share is 0, and 1 is expected; on a there is no value."""
    written(folder / "x.spec", SHARE.format(within="1/10"))
    found = hardsim("check", "x.spec", "--max-n", "4", *options).exits(
        1,
        "REFUTED",
        "the network is wrong on a word of length 1",
        "not checked: on the word a, position 1",
        "division by 0",
    )
    assert "Error" not in found.err
    document = json.loads(hardsim("check", "x.spec", "--max-n", "2", "--json", "-", *options).exits(1).out)
    (result,) = document["results"]
    assert [one["word"] for one in result["errors"]] == [["a"], ["a", "a"]]
    assert (result["verdict"], document["exit_code"]) == ("REFUTED", 1)


def test_without_a_mismatch_the_failure_is_the_answer(hardsim: Cli, folder: Path) -> None:
    written(folder / "x.spec", SHARE.format(within="1000"))
    hardsim("check", "x.spec", "--max-n", "3").exits(2).says("on the word a, position 1", "is a division by 0")
    hardsim("check", "x.spec", "--max-n", "3", "--resume", "x.run").exits(2)
    hardsim("check", "x.spec", "--max-n", "3", "--resume", "x.run").exits(2).says("is a division by 0")


def test_a_resumed_run_tells_the_same(hardsim: Cli, folder: Path) -> None:
    written(folder / "x.spec", SHARE.format(within="1/10"))
    for _ in range(2):
        hardsim("check", "x.spec", "--max-n", "3", "--resume", "x.run").exits(1, "not checked: on the word a")


def test_eval_answers_the_other_words(hardsim: Cli, folder: Path) -> None:
    written(folder / "x.spec", SHARE.format(within="1/10"))
    found = hardsim("eval", "x.spec", "a", "b", "ab").exits(1, "WRONG").says("is a division by 0")
    assert "2 of 2 words" in found.err
    written(folder / "x.spec", SHARE.format(within="1000"))
    hardsim("eval", "x.spec", "a", "b").exits(2, "as expected").says("is a division by 0")


@pytest.mark.parametrize("options", [[], pytest.param(["--workers", "2"], marks=pytest.mark.slow)])
def test_a_word_out_of_range_hides_no_mismatch(hardsim: Cli, folder: Path, options: list[str]) -> None:
    """The program accepts a word if at least half of its symbols are a, and so rejects b alone."""
    written(folder / "double.srasp", DOUBLE)
    written(folder / "all.ltl", "alphabet: a b\ntrue\n")
    written(folder / "most.ltl", "alphabet: a b\n#L[a] >= #L[b]\n")
    hardsim("check", "double.srasp", "--against", "all.ltl", "--max-n", "3", *options).exits(
        1, "REFUTED", "The shortest mismatching word", "not checked: ", "outside [-1, 1]"
    )
    hardsim("check", "double.srasp", "--against", "most.ltl", "--max-n", "3", *options).exits(2).says("outside [-1, 1]")
    hardsim("eval", "double.srasp", "a", "b", "--against", "all.ltl").exits(1).says("outside [-1, 1]")


def test_positions_that_a_specification_leaves_open_are_counted(hardsim: Cli, folder: Path) -> None:
    """Symbols of words that begin with a have an expected answer: 17 of the 34 positions up to length 3."""
    written(
        folder / "x.spec", "network: net\nalphabet: a b\nat: each\nassume: O (first & a)\noutput 0: #L[a] >= #L[b]\n"
    )
    hardsim("check", "x.spec", "--max-n", "3").exits(0, "PROVED", "17 positions, 17 left open by the reference")
    document = json.loads(hardsim("check", "x.spec", "--max-n", "3", "--json", "-").exits(0).out)
    (result,) = document["results"]
    assert (result["positions_judged"], result["positions_unjudged"]) == (17, 17)
    assert [one["positions_unjudged"] for one in result["judged"]] == [1, 4, 12]


def test_nothing_judged_is_undecided(hardsim: Cli, folder: Path) -> None:
    written(folder / "x.spec", "network: net\nalphabet: a b\nassume: len > 9\noutput 0: true\n")
    hardsim("check", "x.spec", "--max-n", "3").exits(3, "no word was judged: the reference leaves 14 words open")


def test_a_program_that_wants_what_no_output_is_refutes(hardsim: Cli, folder: Path) -> None:
    hooked_folder(folder / "two", TIE, outputs=2)
    written(folder / "count.srasp", "alphabet: a b\nn(i) := psum_j[j <= i] (Q_b(j) ? 2 : 0)\noutput: n\n")
    written(folder / "x.spec", "network: two\nalphabet: a b\nat: each\ndecide: argmax\nprogram: count.srasp\n")
    hardsim("check", "x.spec", "--max-n", "3").exits(
        1, "REFUTED", "no output is 2, which is expected at position", "the possible outputs are 0 1"
    )
