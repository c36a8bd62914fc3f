"""The README's examples, run as they stand: Python blocks, shell blocks, and console blocks with their output."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
PYTHON = [text for kind, text in BLOCKS if kind == "python"]
CONSOLE = [text for kind, text in BLOCKS if kind == "console"]
SHELL = [text for kind, text in BLOCKS if kind == "" and re.match(r"hardsim |printf ", text)]
REFUTED = ("--regime none", "--beta 1/2", "--beta 1 ")
"""What makes a command of the README end with exit code 1."""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A directory with the shipped formulas, as a user has it after cloning."""
    shutil.copytree(ROOT / "formulas", tmp_path / "formulas")
    return tmp_path


def run(command: str, directory: Path) -> subprocess.CompletedProcess[str]:
    """The command in a shell in which `hardsim` is this checkout's."""
    bin_directory = directory / "bin"
    bin_directory.mkdir(exist_ok=True)
    script = bin_directory / "hardsim"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m hardsim "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    path = f"{bin_directory}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(command, shell=True, cwd=directory, env=environment, capture_output=True, encoding="utf-8")


def expected_code(command: str) -> int:
    return 1 if any(part in command for part in REFUTED) else 0


def test_the_readme_has_examples_of_each_kind() -> None:
    assert len(PYTHON) >= 3
    assert len(CONSOLE) >= 3
    assert len(SHELL) >= 4


@pytest.mark.parametrize("text", PYTHON)
def test_python_example(text: str, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(directory)
    exec(compile(text, "README.md", "exec"), {"__name__": "__readme__"})


@pytest.mark.parametrize("text", CONSOLE)
def test_console_example_prints_what_the_readme_shows(text: str, directory: Path) -> None:
    prompt, _, output = text.partition("\n")
    command = prompt.removeprefix("$ ")
    done = run(command, directory)
    assert done.stdout.strip("\n") == output.strip("\n")
    assert done.returncode == expected_code(command), done.stderr


@pytest.mark.parametrize("text", SHELL)
def test_shell_example_ends_as_it_should(text: str, directory: Path) -> None:
    for command in text.splitlines():
        done = run(command, directory)
        assert done.returncode == expected_code(command), (command, done.stdout, done.stderr)
