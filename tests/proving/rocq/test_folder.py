"""Tests of the folder of a theorem: what is written, what is left alone, and that no file is ever incomplete."""

import os
import re
from pathlib import Path

import pytest

from hardsim.errors import InputError
from hardsim.files import Draft
from hardsim.proving.rocq.folder import LIBRARY, folder_files, library, require_free, write_folder

FILES = folder_files("Since", "(* instance *)\n")


def contents(folder: Path) -> dict[str, str]:
    """Return the texts of all files of a folder."""
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def test_the_library_is_whole() -> None:
    assert next(iter(library())) == "Definitions.v"
    assert [*library()][-1] == "Check.v"
    assert {*library()} == {path.name for path in LIBRARY.glob("*.v")}
    for name, text in library().items():
        bare = re.sub(r"\(\*.*?\*\)", "", text, flags=re.DOTALL)
        assert re.findall(r"\b(Admitted|Axiom|Parameter|Conjecture|admit)\b", bare) == [], name


def test_a_module_needs_only_modules_before_it() -> None:
    known: list[str] = []
    for name, text in library().items():
        for line in re.findall(r"^Require (?:Import|Export) (.*)\.$", text, flags=re.MULTILINE):
            assert {*line.split()} <= {*known}, name
        known.append(name.removesuffix(".v"))


def test_a_new_folder_and_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("new", "empty"):
        target = require_free(str(tmp_path / name), "--rocq", "Since")
        write_folder(target, "--rocq", FILES)
        assert contents(target) == FILES
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_an_own_folder_is_written_again_and_the_rest_stays(tmp_path: Path) -> None:
    target = tmp_path / "own"
    write_folder(target, "--rocq", FILES)
    (target / "Since.vo").write_bytes(b"compiled")
    before = (target / "Check.v").stat().st_mtime_ns
    os.utime(target / "Check.v", ns=(1, before - 10**9))
    write_folder(require_free(str(target), "--rocq", "Since"), "--rocq", folder_files("Since", "(* other *)\n"))
    assert (target / "Since.v").read_text(encoding="utf-8") == "(* other *)\n"
    assert (target / "Since.vo").read_bytes() == b"compiled"
    # What is the same is not written, so that make has nothing to do.
    assert (target / "Check.v").stat().st_mtime_ns == before - 10**9


@pytest.mark.parametrize("file", ["Makefile", "notes.txt", "_CoqProject", "Check.v"])
def test_a_foreign_folder_is_refused(tmp_path: Path, file: str) -> None:
    (tmp_path / file).write_text("mine\n", encoding="utf-8")
    with pytest.raises(InputError, match="was not written by hardsim"):
        require_free(str(tmp_path), "--rocq")
    assert contents(tmp_path) == {file: "mine\n"}


def test_a_folder_has_one_theorem(tmp_path: Path) -> None:
    write_folder(tmp_path / "own", "--rocq", FILES)
    with pytest.raises(InputError, match=r"has another theorem, Since\.v"):
        require_free(str(tmp_path / "own"), "--rocq", "Until")


def test_what_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    for name, message in (("file", "is no folder"), ("none/deep", "there is no folder"), ("", "is empty")):
        with pytest.raises(InputError, match=message):
            require_free(str(tmp_path / name) if name else "", "--rocq")


def test_a_failure_leaves_whole_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "own"
    write_folder(target, "--rocq", FILES)

    def full(*_: object) -> bool:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Draft, "commit", full)
    with pytest.raises(InputError, match="No space left"):
        write_folder(target, "--rocq", folder_files("Since", "(* other *)\n"))
    assert contents(target) == FILES
