"""Tests of `equiv` with expressions, and of its reports for other programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, written

SAME, OTHER = "b | a & Y(a S b)", "O b"
TAKEN = (
    "note: no alphabet was given, so it consists of the symbols of both: a b; --alphabet sets another one, --props auto"
)


def test_a_file_is_compared_with_an_expression(hardsim: Cli) -> None:
    for arguments in (["since", "-e", SAME], ["-e", SAME, "since"]):
        found = hardsim("equiv", *arguments, "--max-n", "4").clean()
        assert found.out.startswith("PROVED  since, <expression>\n")
    found = hardsim("equiv", "since", "-e", OTHER, "--max-n", "4")
    assert (found.code, found.err) == (1, "")
    # The word bc: b is past, and c is no a.
    assert found.out.partition("its own:\n")[2].split("\n")[:3] == ["bc", "  since: reject", "  <expression>: accept"]
    document = hardsim("equiv", "since", "-e", OTHER, "--json", "-").json
    (result,) = document["results"]
    assert (result["input"], result["other"], result["word"]) == ("since", "<expression>", ["b", "c"])
    assert [one["name"] for one in document["inputs"]] == ["since", "<expression>"]


def test_two_expressions_are_compared(hardsim: Cli) -> None:
    found = hardsim("equiv", "-e", "a S b", "-e", SAME, "--max-n", "3").exits(0)
    assert found.out.startswith(
        "PROVED  <expression 1>, <expression 2>\n  they are the same on every word of every length"
    )
    assert found.err.startswith(TAKEN)
    assert found.err.count("\n") == 1
    # Neither formula alone names two symbols.
    hardsim("equiv", "-e", "O a", "-e", "!H b", "--max-n", "3").exits(0, "PROVED").says(TAKEN)
    hardsim("equiv", "-e", "O a", "-e", "H a", "--alphabet", "a b").exits(1, "length 2").clean(code=1)
    hardsim("equiv", "-e", "O p", "-e", "p | Y O p", "--props", "auto").clean("PROVED")
    hardsim("equiv", "-e", "O p", "-e", "O q", "--props", "auto", "--max-n", "2").exits(1, "{p}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-e", "a S b"], "equiv compares two files, but 1 is given"),
        (["since", "since", "-e", "a"], "equiv compares two files, but 3 are given"),
        (["-e", "a S b", "-e", "b", "-e", "a"], "equiv compares two files, but 3 are given"),
        (["since", "-e", "a S d"], "<expression>:1:5: error: unknown symbol or name 'd'"),
        (["-e", "a S b", "-e", "b S a)"], "<expression 2>:1:6: error:"),
        (["-e", "a", "-e", "O a"], "<expression 1>: the formula alone does not determine the alphabet"),
        ([], "nothing to read: give two files"),
    ],
)
def test_what_cannot_be_compared_is_refused(hardsim: Cli, arguments: list[str], message: str) -> None:
    found = hardsim("equiv", *arguments)
    assert (found.code, found.out) == (2, "")
    assert message in found.err


def test_quiet_prints_the_verdict_alone(hardsim: Cli) -> None:
    found = hardsim("equiv", "since", "-e", SAME, "-q", "--max-n", "2")
    assert (found.code, found.err) == (0, "")
    said = "they are the same on every word of every length, by their automata of 2 and 2 states"
    assert found.out.split() == f"PROVED since, <expression> {said}".split()


def test_every_format_has_the_outcome(hardsim: Cli, tmp_path: Path) -> None:
    path = written(tmp_path / "mine.ltl", "alphabet: a b c\na S b\n")
    reports = {}
    for name in ("junit", "github", "sarif", "json"):
        wrong = hardsim("equiv", path, "-e", OTHER, "--format", name)
        right = hardsim("equiv", path, "-e", SAME, "--format", name, "--max-n", "2").clean()
        assert (wrong.code, wrong.err) == (1, "")
        reports[name] = wrong.out, right.out
    assert '<failure message="REFUTED: they differ on a word of length 2, the shortest"' in reports["junit"][0]
    assert "<failure" not in reports["junit"][1]
    assert reports["github"][0].startswith(f"::error file={path},title=hardsim equiv%3A REFUTED::REFUTED")
    assert reports["github"][1] == ""
    (finding,) = json.loads(reports["sarif"][0])["runs"][0]["results"]
    assert finding["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].endswith("mine.ltl")
    assert json.loads(reports["sarif"][1])["runs"][0]["results"] == []
    assert json.loads(reports["json"][0])["results"][0]["verdict"] == "REFUTED"
    # An input that is no file has no place to annotate.
    found = hardsim("equiv", "-e", "a S b", "-e", "O a", "--format", "github")
    assert found.exits(1).out.startswith("::error title=hardsim equiv%3A REFUTED::<expression 1>: REFUTED")
