"""`hardsim examples`: the formulas that come with hardsim."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hardsim.cli import options as opt
from hardsim.cli.session import Session, session

if TYPE_CHECKING:
    from pathlib import Path

HELP = """List the formulas that come with hardsim, or print the one called NAME (with or without .ltl).

\b
Examples:
  hardsim examples
  hardsim examples flipflop > flipflop.ltl
  hardsim check flipflop.ltl
"""

Name = Annotated[str | None, typer.Argument(metavar="NAME", hidden=True)]


def examples(name: Name = None, json: opt.JsonPath = None) -> None:
    """The command; its manual is `HELP`."""
    from hardsim.examples import example_file, example_files
    from hardsim.report.screen import Column

    with session("examples", json) as current:
        if name is not None:
            with current.guard(name):
                text, _ = _read(current, example_file(name), whole=True)
                current.screen.raw(text.removesuffix("\n"))
            return
        rows = [(path.stem, _read(current, path, whole=False)[1]) for path in example_files()]
        current.screen.table((Column("name", "left"), Column("what it says", "left", fold=True)), rows)


def _read(current: Session, path: Path, whole: bool) -> tuple[str, str]:
    """The text and title of a shipped file, also as JSON."""
    from hardsim.checking.open import read_input
    from hardsim.report.json import example_json, input_json

    given = read_input(str(path))
    text = given.file.source.text
    current.inputs.append(input_json(given) | {"name": path.name})
    current.results.append(example_json(path.stem, given.file.title, text if whole else None))
    return text, given.file.title
