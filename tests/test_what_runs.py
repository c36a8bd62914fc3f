"""The tables of CONTRIBUTING that say which functions a command runs, compared with the functions that it runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "CONTRIBUTING.md"
COMMAND = re.compile(r"^<!-- runs: (.*) -->$")
ROW = re.compile(r"^\| `(hardsim/[\w/]+\.py::[\w.]+)` \|")
OTHER_ROOMS = {"theory", "network", "options", "writing", "measuring", "precision", "serving"}
"""Rooms that no table need name: theory, network and options serve all steps, and the others other commands."""


def tables(text: str) -> list[tuple[list[list[str]], list[str]]]:
    """Return the commands above each table, and the functions in its rows as `path::name`, in order."""
    found: list[tuple[list[list[str]], list[str]]] = []
    above = ""
    for line in text.splitlines():
        if match := COMMAND.match(line):
            if not COMMAND.match(above):
                found.append(([], []))
            found[-1][0].append(match[1].split())
        elif found and (row := ROW.match(line)):
            found[-1][1].append(row[1])
        above = line
    return found


def functions_run(folder: Path, *command: str) -> list[str]:
    """Run a command in a process of its own, where nothing is cached, in a folder with the shipped formulas. Return the
    functions of hardsim that it called, in the order of their first calls, as `path::qualified name`.
    """
    if not (folder / "formulas").exists():
        (folder / "formulas").symlink_to(ROOT / "formulas")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    run = subprocess.run([sys.executable, __file__, *command], cwd=folder, env=environment, stderr=subprocess.PIPE)
    assert run.returncode == 0, run.stderr.decode()
    return run.stderr.decode().split()


def print_functions_run(command: list[str]) -> int:
    """Run a command under a tracer and print the functions of hardsim that it called on stderr. Return its code."""
    from hardsim.cli.app import run

    called: dict[CodeType, None] = {}

    # This runs at every call and return, of which there are millions: names are made afterwards.
    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            called.setdefault(frame.f_code)

    sys.setprofile(note)
    exit_code = run(command)
    sys.setprofile(None)
    package = str(ROOT / "hardsim")
    seen = dict.fromkeys(
        f"{Path(code.co_filename).relative_to(ROOT)}::{code.co_qualname}".replace(".<locals>", "")
        for code in called
        if code.co_filename.startswith(package)
    )
    print(*(name for name in seen if "<" not in name), file=sys.stderr)
    return exit_code


TABLES = tables(PAGE.read_text(encoding="utf-8"))


def test_there_is_a_table_for_each_kind_of_input() -> None:
    suffixes = {Path(word).suffix for commands, _ in TABLES for command in commands for word in command}
    assert {".ltl", ".srasp", ".spec", ".json"} <= suffixes


LONG = ("verify since.cert.json", "check formulas/majority_rules.srasp")
"""The tables whose commands take longest: they are tried in the slow tests."""


def table(commands: list[list[str]], rows: list[str]) -> Any:
    """Return a table as a parameter, named by its last command."""
    name = " ".join(commands[-1][:2])
    return pytest.param(commands, rows, id=name, marks=[pytest.mark.slow] if name in LONG else [])


@pytest.mark.parametrize(("commands", "rows"), [table(*one) for one in TABLES])
def test_a_table_names_what_really_runs(commands: list[list[str]], rows: list[str], tmp_path: Path) -> None:
    called = [name for command in commands for name in functions_run(tmp_path, *command)]
    assert [row for row in rows if row not in called] == []
    assert rows == sorted(rows, key=called.index), "the rows are not in the order of the first calls"


def test_the_tables_leave_out_no_room() -> None:
    rooms = {path.parent.name for path in (ROOT / "hardsim").glob("*/__init__.py")}
    named = {row.split("/")[1] for _, rows in TABLES for row in rows}
    assert rooms - named == OTHER_ROOMS


def test_a_function_that_does_not_run_is_not_found(tmp_path: Path) -> None:
    called = functions_run(tmp_path, "check", "formulas/since.ltl", "--max-n", "2")
    assert "hardsim/run/float64.py::FloatForward.run" in called
    assert "hardsim/run/soft.py::SoftModel.run" not in called


def test_the_page_has_at_most_400_lines() -> None:
    assert len(PAGE.read_text(encoding="utf-8").splitlines()) <= 400


if __name__ == "__main__":
    sys.exit(print_functions_run(sys.argv[1:]))
