"""Tests of programs with counts, means and integer outputs on the command line."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli, written

HISTOGRAM = """alphabet: a b
n(i)    := psum_j[j <= i] Q_a(j)
same(i) := count_j[1, n(i) = n(j)]
less(i) := count_j[1, n(j) < same(i)]
Y(i)    := same(i) > 2 & less(i) > same(i)
accept: aabb
reject: ab
"""


def accepts(word: str) -> bool:
    """Evaluate the program of counts in Python; its n counts the a's so far."""
    upto = [word[: i + 1].count("a") for i in range(len(word))]
    same = upto.count(upto[-1])
    return same > 2 and sum(value < same for value in upto) > same


@pytest.mark.slow
def test_counts_are_proved_and_compiled(hardsim: Cli, tmp_path: Path) -> None:
    file = written(tmp_path / "histogram.srasp", HISTOGRAM)
    hardsim("prove", file, "--max-n", "5").exits(0, "PROVED", "every word of length 1 to 5")
    hardsim("check", file, "--max-n", "5").exits(0, "PROVED", "all 62 words up to length 5")
    listed = hardsim("words", file, "--max-n", "5").exits(0).out.split()
    expected = ["".join(word) for n in range(1, 6) for word in product("ab", repeat=n) if accepts("".join(word))]
    assert [word for word in listed if set(word) <= set("ab")] == expected
    assert len(expected) == 7
    model = tmp_path / "histogram.ahat.json"
    hardsim("compile", file, "-o", model).exits(0)
    heads: list[Any] = [head for layer in json.loads(model.read_text())["program"]["layers"] for head in layer["heads"]]
    assert [head["name"] for head in heads if head.get("shares")] == ["same: share", "less: v = 1-k: share"]
    hardsim("check", model, "--max-n", "4").exits(0, "CERTIFIED")


def test_a_count_without_a_construction_is_refused_by_name_and_place(hardsim: Cli, tmp_path: Path) -> None:
    text = HISTOGRAM.replace("count_j[1, n(j)", "count_j[j < i, n(j)").partition("accept:")[0]
    outcome = hardsim("check", written(tmp_path / "refused.srasp", text))
    assert outcome.code == 2
    assert "refused.srasp:4:32: error: '<' between integers at i and at j has no construction inside a count" in (
        " ".join(outcome.err.split())
    )
    assert "mask 1" in outcome.err


DEPTH = """alphabet: ( )
d(i) := psum_j[j <= i] (in(j) = '(' ? 1 : -1)
Y(i) := 2 * d(i) - 1
map: (()) -> 1 3 1 -1
"""


def depths(word: str) -> list[int]:
    """Evaluate the program of integer outputs in Python."""
    return [2 * (word[:i].count("(") - word[:i].count(")")) - 1 for i in range(1, len(word) + 1)]


@pytest.mark.slow
def test_integer_outputs_are_checked_proved_and_printed(hardsim: Cli, tmp_path: Path) -> None:
    file = written(tmp_path / "depth.srasp", DEPTH)
    hardsim("check", file, "--max-n", "5").exits(0, "PROVED", "all 62 words up to length 5", "(() -> 1 3 1")
    hardsim("prove", file, "--max-n", "12").exits(0, "PROVED", "every word of length 1 to 12")
    hardsim("bound", file, "--max-n", "3").exits(0, "CERTIFIED")
    for engine in ("float64", "ball", "mpmath"):
        hardsim("eval", file, "(())(", ")", "--engine", engine).exits(0, "1 3 1 -1 1", "-3")
    document = json.loads(hardsim("eval", file, "())((", "--json", "-").exits(0).out)
    (word,) = document["results"][0]["words"]
    assert word["oracle"] == word["hard"] == word["soft"] == depths("())((")
    model = tmp_path / "depth.ahat.json"
    hardsim("compile", file, "-o", model).exits(0)
    assert json.loads(model.read_text())["program"]["integers"] is True
    hardsim("check", model, "--max-n", "4").exits(0, "CERTIFIED", "(() -> 1 3 1")
    hardsim("show", file).exits(0, "the output integer of each position is the one nearest to n times output")
    assert "accepts none" in hardsim("words", file).err


def test_a_temperature_that_is_too_high_rounds_to_another_integer(hardsim: Cli, tmp_path: Path) -> None:
    file = written(tmp_path / "depth.srasp", DEPTH)
    hardsim("check", file, "--max-n", "3", "--tau", "1/2").exits(
        1, "REFUTED", "oracle: 1; hard attention: 1; softmax: 0"
    )


def test_means_are_proved(hardsim: Cli, tmp_path: Path) -> None:
    text = "alphabet: a b\nm(i) := mean_j[j <= i] Q_a(j)\nY(i) := m(i) >= 1/2\naccept: ab abba\nreject: b abb\n"
    file = written(tmp_path / "half.srasp", text)
    hardsim("check", file, "--max-n", "6").exits(0, "PROVED", "all 126 words up to length 6")
    listed = hardsim("words", file, "--max-n", "4").exits(0).out.split()
    words = ["".join(word) for n in range(1, 5) for word in product("ab", repeat=n)]
    assert [word for word in listed if set(word) <= set("ab")] == [w for w in words if 2 * w.count("a") >= len(w)]


LIMITS = """alphabet: a b
c(i) := psum_j[j <= i] Q_a(j)
x(i) := c(i) + c(i) - 1
z(i) := count_j[1, x(i) = x(j)]
Y(i) := z(i) > 1
"""


def test_a_limit_is_named_before_anything_else_runs(hardsim: Cli, tmp_path: Path) -> None:
    """The vector x is 2 c - 1, which is 1 on a and 3 on aa: outside [-2, 2] from length 2 on."""
    file = written(tmp_path / "limits.srasp", LIMITS)
    for command in (["check"], ["prove"], ["bound"], ["compile", "-o", tmp_path / "limits.ahat.json"]):
        lines = hardsim(command[0], file, "--max-n", "1", *command[1:]).err.splitlines()
        assert lines[0] == (
            f"note: {file}: line 4: an integer compared in the score of the vector z may leave [-n, n] on some words, "
            "which is then an error; first at length 2, on the word 'aa'"
        )
        assert lines[1:3] == ["  z(i) := count_j[1, x(i) = x(j)]", "                          ^"]
    assert "count_j" not in hardsim("check", file, "--max-n", "1", "--quiet").err
