"""Errors are short and come in the same order in every run, however many names or places are wrong."""

import os
import re
import sys
from pathlib import Path

import pytest

from hardsim.cli.streams import MOST_LINES
from hardsim.errors import InputError, enumerated, limited
from tests.cli.conftest import Cli, ended, written
from tests.support.bad_inputs import KINDS, SEVERAL, command_line

ROOT, COLUMNS = Path(__file__).parents[2], 80


@pytest.mark.parametrize("size", [1, 40, 900])
@pytest.mark.parametrize("number", range(len(KINDS)), ids=[kind.__name__ for kind in KINDS])
def test_errors_have_at_most_twenty_lines(hardsim: Cli, tmp_path: Path, number: int, size: int) -> None:
    outcome = hardsim(*command_line(tmp_path, number, min(size, 120) if KINDS[number] in SEVERAL else size))
    assert outcome.code in (0, 2)
    assert (outcome.code == 2) or size == 1
    lines = outcome.err.replace(str(tmp_path), "").splitlines()
    assert len(lines) <= MOST_LINES
    if KINDS[number] not in SEVERAL:  # on a terminal of 80 columns, too
        assert sum(max(1, -(-len(line) // COLUMNS)) for line in lines) <= MOST_LINES


def test_errors_do_not_depend_on_the_order_of_sets(hardsim: Cli, tmp_path: Path) -> None:
    """The hash seed of this process is random, unless it is set: that of the other is another one."""
    seed = "1" if os.environ.get("PYTHONHASHSEED") == "0" else "0"
    there, here = tmp_path / "a", tmp_path / "b"  # names of one length, since long texts are cut
    there.mkdir()
    here.mkdir()
    arguments = (sys.executable, "-m", "tests.support.bad_inputs", there, 30)
    other = ended(*arguments, cwd=ROOT, env=os.environ | {"PYTHONHASHSEED": seed})
    found = ""
    for number in range(len(KINDS)):
        outcome = hardsim(*command_line(here, number, 30))
        found += f"{outcome.err}exit code {outcome.code}\n"
    assert other.err.replace(str(there), "") == found.replace(str(here), "")


def test_errors_that_are_not_printed_are_counted_and_are_in_the_document(hardsim: Cli, tmp_path: Path) -> None:
    for number in range(50):
        written(tmp_path / f"{number}.ltl", "alphabet: a b\na S\n")
    outcome = hardsim("check", tmp_path, "--json", "-")
    assert len(outcome.json["errors"]) == 50
    printed = len(re.findall("error: ", outcome.err))
    assert 0 < printed < 50
    assert f"{50 - printed} more errors not printed, on " in outcome.err


@pytest.mark.parametrize("size", [399, 440, 441, 480, 1_000, 100_000])
@pytest.mark.parametrize("blanks", [True, False])
def test_long_texts_keep_both_ends(size: int, blanks: bool) -> None:
    text = ("word " * size if blanks else "w" * size)[:size]
    found = limited(text, 400)
    if size <= 440:
        assert found == text
        return
    start, left, end = re.fullmatch(r"(.*) \.\.\. \(([\d,]+) characters left out\) \.\.\. (.*)", found).groups()  # type: ignore[union-attr]
    assert text.startswith(start)
    assert text.endswith(end)
    assert len(start) + int(left.replace(",", "")) + len(end) == size
    assert len(found) <= 400 + 50
    assert len(start) >= 100


def test_lists_name_the_first_and_count_the_others() -> None:
    assert enumerated(range(13)) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12"
    assert enumerated(range(14)) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 2 more"
    assert enumerated([]) == ""
    assert len(str(InputError("x" * 10_000, "y" * 10_000)).splitlines()) == 2
