"""Tests that an unwritable report file is an error, and that results keep their exit code: the output names both."""

import errno
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli, process, written

FULL = "/dev/full"
WRONG = {
    "check": ("--regime", "none", "--max-n", "3"),
    "prove": ("--beta", "1", "--max-n", "5"),
    "bound": ("--beta", "1/2", "--max-n", "3"),
}
"""Options with which each command finds a formula wrong."""
RIGHT = dict.fromkeys(WRONG, ("--max-n", "2"))


@pytest.mark.parametrize("command", WRONG)
def test_a_mismatch_stays_1_and_an_agreement_is_2(hardsim: Cli, since: Path, command: str) -> None:
    wrong = hardsim(command, since, *WRONG[command], "--json", FULL).exits(1, "REFUTED")
    wrong.says(f"--json {FULL}: cannot be written (No space left on device)")
    hardsim(command, since, *RIGHT[command], "--json", FULL).exits(2, "every").says("cannot be written")
    # The same with another file that cannot be read.
    both = hardsim(command, since, "gone.ltl", *WRONG[command], "--json", FULL).exits(1, "REFUTED")
    both.says("gone.ltl: no such file", "cannot be written")


@pytest.mark.parametrize("form", ["junit", "github", "sarif"])
def test_a_report_for_another_program_is_written_all_the_same(hardsim: Cli, since: Path, form: str) -> None:
    outcome = hardsim("check", since, *WRONG["check"], "--format", form, "--json", FULL).exits(1, "REFUTED")
    outcome.says("cannot be written")


def failing(monkeypatch: pytest.MonkeyPatch, place: str, number: int = errno.ENOSPC) -> None:
    """Make a function that writes fail with an OSError."""

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(place, fail)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.ENOENT, errno.EACCES])
def test_a_file_that_could_be_written_at_first(
    hardsim: Cli, since: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """The disk fills, the directory vanishes, or its permissions change, while words are tried."""
    failing(monkeypatch, "hardsim.files.Draft.commit", number)
    outcome = hardsim("check", since, *WRONG["check"], "--json", tmp_path / "report.json").exits(1, "REFUTED")
    outcome.says(f"cannot be written ({os.strerror(number)})")
    assert [one.name for one in tmp_path.iterdir()] == ["since.ltl"]


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (("bound", *WRONG["bound"], "--plot", "{}/one.svg"), "REFUTED"),
        (("trace", "bc", "--regime", "none", "--plot", "{}/one.html"), "S4.read"),
    ],
)
def test_a_picture_that_cannot_be_written(
    hardsim: Cli, since: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], shown: str
) -> None:
    if arguments[0] == "bound":
        pytest.importorskip("matplotlib")
    failing(monkeypatch, "hardsim.files.Draft.commit")
    outcome = hardsim(arguments[0], since, *(one.format(tmp_path) for one in arguments[1:])).exits(1, shown)
    outcome.says("--plot", "cannot be written (No space left on device)")


def test_a_report_that_cannot_be_written(
    hardsim: Cli, since: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, "hardsim.files.Folder.commit")
    target = tmp_path / "report"
    wrong = hardsim("report", since, *WRONG["check"], "-o", target).exits(1, "REFUTED")
    wrong.says("cannot be written (No space left on device)", "no report was written")
    hardsim("report", since, "--max-n", "2", "-o", target).exits(2, "PROVED").says("no report was written")
    assert [one.name for one in tmp_path.iterdir()] == ["since.ltl"]


def test_a_difference_in_form_stays_1(hardsim: Cli, tmp_path: Path) -> None:
    loose = written(tmp_path / "loose.ltl", "alphabet: a b\n(a)  S b\n")
    hardsim("fmt", "--check", loose, "--json", FULL).exits(1, "a S b").says("cannot be written")


def test_an_invalid_certificate_stays_1(hardsim: Cli, since: Path, tmp_path: Path) -> None:
    path = tmp_path / "since.json"
    hardsim("prove", since, "--max-n", "2", "--certificate", path).exits(0)
    written(path, path.read_text(encoding="utf-8").replace("every word", "a word"))
    hardsim("verify", path, "--json", FULL).exits(1, "INVALID").says("cannot be written")


@pytest.mark.parametrize(
    "more",
    [(), *(pytest.param(one, marks=pytest.mark.slow) for one in (("--format", "junit"), ("--json", "-"), ("-q",)))],
)
def test_results_that_cannot_be_printed(since: Path, more: tuple[str, ...]) -> None:
    """The mismatch cannot be written to standard output, so standard error names it, once."""
    with Path(FULL).open("w") as full:
        given: dict[str, Any] = {"capture_output": False, "stdout": full, "stderr": subprocess.PIPE}
        wrong = process("check", since, *WRONG["check"], *more, **given)
        right = process("check", since, "--max-n", "2", *more, **given) if more else None
    wrong.exits(1).says("REFUTED", "standard output cannot be written (No space left on device)")
    assert wrong.err.count("soft/hard disagree") == 1
    if right is not None:  # test_process.py has the case without options
        right.exits(2).says("standard output cannot be written").unsaid("PROVED")


STREAMED = [
    ("check", "--max-n", "2", "--json"),
    ("prove", "--max-n", "3", "--certificate"),
    ("prove", "--all-n", "--smt"),
    ("equiv", "{since}", "--html"),
    ("compile", "-o"),
    ("show", "--automaton", "dot", "-o"),
]
"""Commands, each with an option whose file may be standard output."""
NAMED = [
    ("check", "--max-n", "2", "--resume"),
    ("trace", "ab", "--plot"),
    ("prove", "--all-n", "--rocq"),
    ("export", "--to", "torch", "-o"),
    ("report", "-o"),
]
"""Commands, each with an option that needs a name."""


@pytest.mark.parametrize("command", [*STREAMED, *NAMED], ids=lambda command: f"{command[0]} {command[-1]}")
def test_the_advice_has_the_ways_out_that_there_are(hardsim: Cli, since: Path, command: tuple[str, ...]) -> None:
    """It names a file or a folder, and standard output where that works; no directory is blamed for a full disk."""
    first, *given = (one.format(since=since) for one in command)
    option, streamed = command[-1], command in STREAMED
    what = "folder" if first in ("export", "report") or option == "--rocq" else "file"
    stream = ", or '-' for standard output" * streamed
    advice = f"  Give {option} a {what} that can be written{stream}.\n"
    places = [f"{FULL}/x"] if what == "folder" else ["/nowhere/x.html"]
    for place in places + [FULL] * (what == "file" and option not in ("--resume", "--plot")):
        hardsim(first, since, *given, place).says(advice).unsaid("directory that exists")
    if what == "file":
        assert hardsim(first, since, *given, "-").code == (0 if streamed else 2)
