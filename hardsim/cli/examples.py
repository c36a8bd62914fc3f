"""`hardsim examples`: the formulas that come with hardsim."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hardsim.cli import options as opt
from hardsim.cli.session import Session, session

if TYPE_CHECKING:
    from pathlib import Path

HELP = """List the formulas, programs and models that come with hardsim, or print the one called NAME.

The suffix .ltl may be left out, and .srasp and .ahat.json where no formula has the name.

\b
Examples:
  hardsim examples
  hardsim examples flipflop > flipflop.ltl
  hardsim check flipflop.ltl
"""

Name = Annotated[str | None, typer.Argument(metavar="NAME", hidden=True)]


def examples(name: Name = None, json: opt.JsonPath = None) -> None:
    """The command; its manual is `HELP`."""
    from hardsim.examples import example_file, example_files, example_name
    from hardsim.report.screen import Column

    with session("examples", json) as current:
        if name is not None:
            with current.guard(name):
                text, _ = _read(current, example_file(name), whole=True)
                current.screen.text(text.removesuffix("\n"))
            return
        rows = [(example_name(path), _read(current, path, whole=False)[1]) for path in example_files()]
        current.screen.table((Column("name", "left"), Column("what it says", "left", fold=True)), rows)


def _read(current: Session, path: Path, whole: bool) -> tuple[str, str]:
    """The text and title of a shipped file, also as JSON."""
    from hardsim.checking.open import read_source
    from hardsim.examples import example_name
    from hardsim.report.json import example_json, input_json

    given = read_source(str(path))
    current.inputs.append(input_json(given) | {"name": path.name})
    current.results.append(example_json(example_name(path), given.title, given.text if whole else None))
    return given.text, given.title
