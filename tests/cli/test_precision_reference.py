"""Tests of `hardsim precision`: the reference of a word, and which words have an expected answer.

The network computes whether the share of a's is above 33333/100000. At a share of 1/3 the exact output is above 0. In
bfloat16 1/3 and the level are the same number, 0.333984375, so that the output is 0, which is not above 0.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardsim.targets.network_outputs import NetworkEngine
from tests.cli.conftest import Cli, written
from tests.support.external import hooked_folder

HEAD = "network: net\nalphabet: a b\ndecide: above 0\n"
RIGHT = "output 0: 2*#[a] >= #[b]\n"


def spec_of(tmp_path: Path, text: str, outputs: int = 1) -> Path:
    hooked_folder(tmp_path / "net", -0.33333, outputs=outputs)
    return written(tmp_path / "it.spec", HEAD + text)


def row_of(hardsim: Cli, file: Path, *options: str, code: int) -> dict[str, Any]:
    arguments = ("precision", file, "--dtype", "bfloat16", "--accumulate", "float32", *options, "--json", "-")
    (row,) = hardsim(*arguments).exits(code).result["rows"]
    found: dict[str, Any] = row
    return found


def test_a_word_that_the_specification_judges_is_wrong(hardsim: Cli, tmp_path: Path) -> None:
    file = spec_of(tmp_path, f"at: last\n{RIGHT}")
    row = row_of(hardsim, file, "--max-n", "4", code=1)
    assert (row["reference"], row["safe_to"], row["words"], row["fails_at"]) == ("specification", 2, 6, 3)
    assert sorted(row["word"]) == ["a", "b", "b"]
    assert (row["expected"], row["found"], row["exactly"]) == ("True", "False", False)
    message = "wrong at length 3: the specification says True, and bfloat16 says False"
    options = ("--max-n", "4", "--dtype", "bfloat16", "--accumulate", "float32")
    hardsim("precision", file, *options).exits(1, message, "every word of length 1 to 4 that the specification judges",
                                               "bfloat16 2 2 3 specification")  # fmt: skip


def test_without_a_specification_the_exact_network_is_the_reference(hardsim: Cli, tmp_path: Path) -> None:
    hooked_folder(tmp_path / "net", -0.33333)
    file = tmp_path / "net"
    row = row_of(hardsim, file, "--max-n", "3", code=1)
    assert (row["reference"], row["fails_at"]) == ("exact network", 3)
    found = hardsim("precision", file, "--max-n", "3", "--dtype", "bfloat16", "--accumulate", "float32")
    found.exits(1, "the exact network says", "bfloat16 2 2 3 exact network")


@pytest.mark.parametrize(
    ("assume", "judged"),
    [
        ("!(2*#[a] = #[b])", 2 + 4 + 5 + 16),
        ("2*#[a] > #[b] | 2*#[a] < #[b]", 2 + 4 + 5 + 16),
        ("/(aa|bb)(a|b)*/", 2 + 4 + 8),
        ("/(a|b)(a|b)/", 4),
    ],
)
def test_a_word_that_is_not_judged_is_neither_counted_nor_wrong(
    hardsim: Cli, tmp_path: Path, assume: str, judged: int
) -> None:
    """Assumptions that leave out words with a share of 1/3 make the network right.

    The words with this share up to length 4 are abb, bab and bba. The third assumption keeps bba, which is wrong.
    """
    file = spec_of(tmp_path, f"at: last\nassume: {assume}\n{RIGHT}")
    if assume == "/(aa|bb)(a|b)*/":
        row = row_of(hardsim, file, "--max-n", "4", code=1)
        assert (row["safe_to"], row["words"], row["word"]) == (2, 2, ["b", "b", "a"])
        return
    row = row_of(hardsim, file, "--max-n", "4", code=0)
    assert (row["safe_to"], row["words"], row["word"]) == (4, judged, None)
    found = hardsim("precision", file, "--max-n", "4", "--dtype", "bfloat16", "--accumulate", "float32")
    found.exits(0, f"bfloat16: {judged} words of length 1 to 4 are judged")


@pytest.mark.parametrize(("assume", "code"), [("", 1), ("assume: !(2*#L[a] = #L[b])\n", 0), ("assume: /(ab)*a?/\n", 0)])
def test_a_position_that_is_not_judged_is_not_wrong(hardsim: Cli, tmp_path: Path, assume: str, code: int) -> None:
    """Position 3 of abb has a share of 1/3, but no expected answer. Prefixes of words of (ab)*a? have a share of at
    least 1/2.
    """
    file = spec_of(tmp_path, f"at: each\n{assume}output 0: 2*#L[a] >= #L[b]\n")
    row = row_of(hardsim, file, "--max-n", "4", code=code)
    if code:
        assert (row["fails_at"], row["expected"], row["found"]) == (3, "True at position 3", "False")
    else:
        assert row["word"] is None


def test_an_output_that_is_not_judged_is_not_wrong(hardsim: Cli, tmp_path: Path) -> None:
    """Output 1 is -9 everywhere, and the specification says nothing about output 0."""
    file = spec_of(tmp_path, "at: last\noutput 1: #[a] < 0\n", outputs=2)
    assert row_of(hardsim, file, "--max-n", "4", code=0)["safe_to"] == 4


def test_where_no_word_is_judged_nothing_is_safe(hardsim: Cli, tmp_path: Path) -> None:
    file = spec_of(tmp_path, f"at: last\nassume: /ababab/\n{RIGHT}")
    assert row_of(hardsim, file, "--max-n", "4", code=3)["words"] == 0
    found = hardsim("precision", file, "--max-n", "4", "--dtype", "float32")
    found.exits(3, "no word of length 1 to 4 is judged, so nothing is known")
    assert row_of(hardsim, file, "--max-n", "6", code=0)["words"] == 1


def test_the_exact_network_may_be_wrong_too(hardsim: Cli, tmp_path: Path) -> None:
    """The word abbb has a share of 1/4, which no format puts above the level."""
    file = spec_of(tmp_path, "at: last\nassume: !(2*#[a] = #[b])\noutput 0: #[a] > 0\n")
    row = row_of(hardsim, file, "--max-n", "4", code=1)
    assert (row["fails_at"], row["exactly"]) == (4, True)
    found = hardsim("precision", file, "--max-n", "4", "--dtype", "float32")
    found.exits(1, "the exact network is wrong there, too", "name the network instead of the specification")


def test_words_of_a_language_are_looked_at_where_there_are_too_many_others(hardsim: Cli, tmp_path: Path) -> None:
    """Eight of the 2^9 words of length 9 have an expected answer, and only these are enclosed. One of them has three
    a's.
    """
    file = spec_of(tmp_path, f"at: last\nassume: /(abb|aab)(abb|aab)(abb|aab)/\n{RIGHT}")
    row = row_of(hardsim, file, "--max-n", "9", "--exhaustive", "8", code=1)
    assert (row["safe_to"], row["words"], "".join(row["word"])) == (8, 0, "abbabbabb")


@pytest.mark.parametrize(
    ("name", "reference"),
    [("since.ltl", "formula"), ("dyck1.srasp", "exact network"), ("flipflop.ahat.json", "exact network"),
     ("networks/majority.spec", "specification"), ("networks/majority", "exact network")],
)  # fmt: skip
def test_every_row_names_its_reference(hardsim: Cli, name: str, reference: str) -> None:
    formulas = Path(__file__).resolve().parents[2] / "formulas"
    found = hardsim("precision", formulas / name, "--max-n", "1")
    rows = [line for line in found.out.splitlines() if re.match(r"(float|bfloat)\S+ +\d", line)]
    assert len(rows) == 4
    assert all(reference in line for line in rows)


def test_balls_answer_words_that_float64_leaves_open(
    hardsim: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exact network is the reference. Each word is run in balls once, for all formats."""
    hooked_folder(tmp_path / "net", -0.33333)
    arguments = (
        "precision",
        tmp_path / "net",
        "--dtype",
        "bfloat16",
        "--dtype",
        "float16",
        "--max-n",
        "3",
        "--json",
        "-",
    )
    expected = hardsim(*arguments).result["rows"]
    alone, tried = NetworkEngine.alone, list[tuple[str, ...]]()

    def counted(engine: NetworkEngine, word: tuple[str, ...], *more: Any) -> Any:
        tried.append(word)
        return alone(engine, word, *more)

    def unknown(engine: NetworkEngine, words: Any, places: Any) -> Any:
        found = np.full((len(words), len(places), 1), np.inf)
        return -found, found

    monkeypatch.setattr(NetworkEngine, "alone", counted)
    monkeypatch.setattr(NetworkEngine, "enclosures", unknown)
    found = hardsim(*arguments).result["rows"]
    assert {row["reference"] for row in found} == {"exact network"}
    assert found == expected
    assert len(tried) == len(set(tried)) > 0
