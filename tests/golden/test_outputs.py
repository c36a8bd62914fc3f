"""Tests that commands write and print what is recorded: digests of files, JSON documents, and the text of the
terminal.

After an intended change `python -m tests.golden.record` records the files again.
"""

from pathlib import Path

import pytest

from tests.golden import answers, digests, screens
from tests.golden.facts import CASES, Case, differences, label
from tests.golden.running import changes, require_same


def test_every_case_is_on_file() -> None:
    assert list(digests.recorded()) == [label(case) for case in CASES]
    assert list(answers.recorded()) == list(answers.ANSWERS)
    paths = [screens.path_of(line) for line in screens.SCREENS]
    assert len({*paths}) == len(paths)
    assert {*screens.DIRECTORY.iterdir()} == {*paths}


@pytest.mark.sweep(every=32)
@pytest.mark.parametrize("case", CASES, ids=label)
def test_files_are_written_as_recorded(case: Case) -> None:
    require_same(differences(digests.recorded()[label(case)], digests.digested(case), label(case)), "digests")


@pytest.mark.parametrize("line", answers.ANSWERS)
def test_documents_are_as_recorded(line: str) -> None:
    require_same(differences(answers.recorded()[line], answers.answered(line), line), "answers")


@pytest.mark.parametrize("line", screens.SCREENS)
def test_screens_are_as_recorded(line: str) -> None:
    path = screens.path_of(line)
    changed = changes(path.read_text(encoding="utf-8").splitlines(), screens.printed(line).splitlines())
    require_same([f"{path.name}: {one}" for one in changed], "screens")


def test_what_is_left_out(tmp_path: Path) -> None:
    """The version changes no digest, anything else changes that of its section; numbers may differ by a hundredth."""
    path = tmp_path / "x.json"
    long = '"a text that is longer than its digest"'
    path.write_text(f'{{"version": "1", "labels": {{"version": "1", "at": 1}}, "model": {long}}}', encoding="utf-8")
    found = digests.sections(path)
    assert found["labels"] == '{"at":1}'
    assert len(found["model"]) == digests.DIGITS
    path.write_text(path.read_text(encoding="utf-8").replace('"1"', '"2"'), encoding="utf-8")
    assert digests.sections(path) == found
    path.write_text(path.read_text(encoding="utf-8").replace("longer", "Longer"), encoding="utf-8")
    assert [one.partition(":")[0] for one in differences(found, digests.sections(path))] == ["/model"]
    kept = answers.kept({"version": "1", "error": 0.123456, "words": [3, 0.5]})
    assert kept == {"error": "~0.123", "words": [3, "~0.5"]}
    assert differences(kept, {"error": "~0.1234", "words": [3, "~0.5"]}) == []
    assert differences(kept, {"error": "~0.13", "words": [4, "~0.5"]}, "x") == [
        "x/error: '~0.123' was recorded, '~0.13' is found",
        "x/words/1: 3 was recorded, 4 is found",
    ]
