"""The command `hardsim examples`: list or print the shipped files."""

from __future__ import annotations

from pathlib import Path

from hardsim.cli.session import Session, session
from hardsim.examples import ExampleResult, example_file, example_files, example_name, example_path
from hardsim.options.table import Request
from hardsim.report.notices import InputRead
from hardsim.report.screen import Field, columns
from hardsim.targets.inputs.base import Input
from hardsim.targets.opening import read_input


def command(request: Request) -> None:
    """Run `hardsim examples` as requested, and print its results."""
    with session("examples", request) as current:
        if request.name is not None:
            with current.guard(request.name):
                given = _read(current, example_file(request.name), whole=True)
                current.screen.text(given.text.removesuffix("\n"))
            return
        rows = [(example_name(path), _read(current, path, whole=False).title) for path in example_files()]
        current.screen.table(columns("<name", Field("description", "left", fold=True)), rows)


def _read(current: Session, path: Path, whole: bool) -> Input:
    """Read a shipped file, and add its text (`whole`) or only its title to the JSON document."""
    given = read_input(str(path))
    current.inputs.append(InputRead.of(example_path(path), given.sha256, given.alphabet))
    text = given.text if whole else None
    current.results.append(ExampleResult(example_name(path), given.title, text))
    return given
