"""Tests of names that are no files: each is refused at once with its place, and nothing is replaced or left behind."""

import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from hardsim import files
from hardsim.files import Draft, read_bytes
from tests.cli.conftest import written
from tests.support.language import InputError
from tests.support.mistakes import raised

COMMANDS = ("check", "prove", "bound", "words", "show", "eval", "compile", "verify")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The working directory, with one of each kind of name that is no file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "to a pipe").symlink_to("pipe")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("socket")
        yield tmp_path


INPUTS = {
    "empty": "empty",
    "loop": "symbolic links",
    "pipe": "is a pipe, not a file",
    "to a pipe": "is a pipe, not a file",
    "socket": "is a socket, not a file",
    "/dev/zero": "is a device, not a file",
    "/dev/null": "is a device, not a file",
    "since.ltl/below": "Not a directory",
    "x" * 256: "File name too long",
    "x" * 256 + "/below.json": "File name too long",
    "a/" * 3000: "File name too long",
    "nowhere.srasp": "no such file",
    "two\nlines.ltl": "no such file",
    "\udcff.ahat.json": "no such file",
    "nul\0.ltl": "embedded null",
}


@pytest.mark.sweep(every=2)
@pytest.mark.parametrize("name", list(INPUTS))
def test_inputs_that_are_no_files(hardsim: Any, place: Path, since: Path, name: str) -> None:
    for command in COMMANDS:
        outcome = hardsim(command, name, *{"eval": ["ab"], "compile": ["-o", "-"]}.get(command, []))
        assert (outcome.code, outcome.out) == (2, ""), (command, outcome.err)
        assert name.rstrip("/")[:30] in outcome.err or not name.isprintable()
        assert INPUTS[name] in outcome.err or "directory" in outcome.err


OUTPUTS = {
    "empty": "it is a directory",
    "loop": "",
    "loop/x.json": "",
    "pipe": "it is a pipe",
    "to a pipe": "it is a pipe",
    "socket": "it is a socket",
    "/dev/stdout": "it is an open stream",
    "/dev/fd/1": "it is an open stream",
    "/proc/self/fd/2": "it is an open stream",
    "link to a stream": "it is an open stream",
    "since.ltl/below": "",
    "x" * 256: "File name too long",
    "no/such/directory": "No such file or directory",
    "nul\0": "",
    "": "the name is empty",
}
WRITING = (
    ("check", "--max-n", "1", "--json"),
    ("check", "--max-n", "1", "--resume"),
    ("prove", "--max-n", "1", "--certificate"),
    ("prove", "--max-n", "1", "--json"),
    ("bound", "--max-n", "1", "--json"),
    ("compile", "-o"),
    ("compile", "-o", "-", "--json"),
)


@pytest.mark.parametrize("name", list(OUTPUTS))
def test_outputs_that_are_no_files(hardsim: Any, place: Path, since: Path, name: str) -> None:
    (place / "link to a stream").symlink_to("/dev/stdout")
    before = sorted(os.listdir(place))
    for command, *options in WRITING:
        outcome = hardsim(command, since, *options, name).says(f"error: {options[-1]} ", OUTPUTS[name])
        assert (outcome.code, outcome.out) == (2, ""), (command, options, outcome.err)
        if options[-1] != "--resume":
            assert "'-'" in outcome.err
    assert sorted(os.listdir(place)) == before


def test_a_plot_is_no_pipe(hardsim: Any, place: Path, since: Path) -> None:
    os.mkfifo(place / "pipe.svg")
    outcome = hardsim("bound", since, "--max-n", "1", "--plot", "pipe.svg")
    outcome.refused("--plot pipe.svg: cannot be written (it is a pipe)")


def test_devices_are_written_and_never_replaced(hardsim: Any, since: Path) -> None:
    assert hardsim("show", since, "--json", "/dev/null").code == 0
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    full = hardsim("show", since, "--json", "/dev/full")
    full.exits(2).says("--json /dev/full: cannot be written (No space left on device)")


@pytest.mark.parametrize("function", ["stat", "listdir", "open"])
@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied"), OSError(30, "Read-only file system")])
def test_what_the_system_refuses(
    hardsim: Any, since: Path, monkeypatch: pytest.MonkeyPatch, function: str, error: OSError
) -> None:
    """The error is simulated, so that the test also works for a user who may read every directory."""
    where = since.parent if function == "listdir" else since

    def refuse(real: Any) -> Any:
        def call(path: Any, *arguments: Any, **options: Any) -> Any:
            if isinstance(path, str | Path) and str(path).startswith(str(where)):
                raise error
            return real(path, *arguments, **options)

        return call

    with monkeypatch.context() as patch:
        if function == "open":
            patch.setattr("builtins.open", refuse(open))
        else:
            patch.setattr(os, function, refuse(getattr(os, function)))
        outcomes = [hardsim("check", where, "--max-n", "1"), hardsim("show", where)]
        if function == "stat":
            outcomes.append(hardsim("check", "-e", "a", "--alphabet", "a", "--max-n", "1", "--json", since))
            outcomes.append(hardsim("check", "-e", "a", "--alphabet", "a", "--max-n", "1", "--resume", since))
    for outcome in outcomes:
        assert (outcome.code, outcome.out) == (2, "")
        assert error.strerror in outcome.err
        assert str(where) in outcome.err


@pytest.mark.parametrize("name", ["huge.ltl", "huge.srasp", "huge.ahat.json", "huge.cert.json"])
def test_huge_files_are_refused_before_they_are_read(
    hardsim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = tmp_path / name
    with path.open("wb") as file:
        file.truncate(2**30)

    with monkeypatch.context() as patch:
        patch.setattr(files, "open", Mock(side_effect=OSError("it is read")), raising=False)
        outcome = hardsim("verify" if "cert" in name else "show", path)
    outcome.refused(f"{path}: larger than {20 if 'cert' in name else 64 if 'json' in name else 4} MiB")


def test_a_file_that_grows_while_it_is_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "grown.ltl"
    path.write_bytes(b"x" * 11)
    real = os.stat(path)
    monkeypatch.setattr(os, "stat", lambda path: os.stat_result([*real[:6], 0, *real[7:]]))
    raised(InputError, read_bytes, path, 10, match="larger than 10 bytes")
    assert read_bytes(path, 11) == b"x" * 11


# ---- what a killed run leaves ----

KILLED = """
import os, pathlib, signal, sys
from hardsim.files import Draft
Draft(pathlib.Path(sys.argv[1]))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("name", ["report.json", "[a]*?" + "ä" * 120, "y" * 255])
def test_the_draft_of_a_killed_run_goes_with_the_next(tmp_path: Path, name: str) -> None:
    target = tmp_path / name
    assert subprocess.run([sys.executable, "-c", KILLED, str(target)], timeout=60).returncode == -9
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(f".{name[:20]}")
    assert files.PARTIAL in left.name
    other = written(tmp_path / f"{left.name}.of.the.user"[1:], "kept")
    draft = Draft(target)
    assert not left.exists()
    draft.commit(b"whole")
    assert target.read_bytes() == b"whole"
    assert sorted(tmp_path.iterdir()) == sorted([target, other])


def test_the_draft_of_a_run_that_lives_is_left_alone(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    first, second = Draft(target), Draft(target)
    second.commit(b"second")
    first.commit(b"first")
    assert target.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [target]


def test_a_file_keeps_its_mode_and_a_new_one_gets_the_usual(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    old = os.umask(0o027)
    try:
        Draft(target).commit(b"new")
        assert stat.S_IMODE(target.stat().st_mode) == 0o640
        target.chmod(0o604)
        Draft(target).commit(b"again")
        assert stat.S_IMODE(target.stat().st_mode) == 0o604
    finally:
        os.umask(old)
