"""The formulas, programs, models and trained networks that ship with hardsim, found wherever it is installed.

In a wheel they lie inside the package; in a source tree, and so in an editable install, in `formulas/` beside it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from hardsim.errors import InputError, did_you_mean
from hardsim.records import Record

PACKAGE = Path(__file__).resolve().parent
SUFFIXES = (".ltl", ".srasp", ".cr", ".ahat.json", ".spec", ".re")
"""Formulas, programs, hard-attention models, specifications, regular expressions: where some share a name, it means the
first of these."""
NETWORKS = "networks"
"""Where, among them, specifications lie beside the trained networks that they are of."""


@dataclass(frozen=True, slots=True, repr=False)
class ExampleResult(Record):
    """A formula, program, model or specification of a network that comes with hardsim."""

    name: str
    """What it is called."""
    title: str
    """What it says of itself."""
    text: str | None
    """The whole file; null in a list."""


def formulas_directory(package: Path = PACKAGE) -> Path:
    """The directory of the shipped formula files, for the package that lies at `package`. Raises InputError if neither
    an installation nor a source tree is found there."""
    installed, source_tree = package / "formulas", package.parent / "formulas"
    if installed.is_dir():
        return installed
    # Beside an installed package there may be anybody's `formulas`; beside a source tree there is its project file.
    if source_tree.is_dir() and (package.parent / "pyproject.toml").is_file():
        return source_tree
    raise InputError(
        f"the shipped formulas are missing (looked in {installed} and {source_tree})",
        hint="Install hardsim again, or name a file of your own.",
    )


def example_files(package: Path = PACKAGE) -> tuple[Path, ...]:
    """The shipped files: formulas, programs, models, each by name, then specifications of trained networks. Raises
    InputError as `formulas_directory`."""
    directory = formulas_directory(package)
    both = directory, directory / NETWORKS
    return tuple(path for place in both for suffix in SUFFIXES for path in sorted(place.glob(f"*{suffix}")))


def example_path(path: Path) -> str:
    """Where a shipped file lies among those that are shipped, such as `since.ltl` or `networks/majority.spec`."""
    return f"{NETWORKS}/{path.name}" if path.parent.name == NETWORKS else path.name


def example_name(path: Path) -> str:
    """What a shipped file is called: a formula by its path without suffix, anything else by its path."""
    return example_path(path).removesuffix(SUFFIXES[0])


def named_examples(package: Path = PACKAGE) -> dict[str, Path]:
    """The shipped files by all that they may be called: their names, with and without suffix. Raises InputError as
    `formulas_directory`."""
    shipped = example_files(package)[::-1]  # of two with one name the first shall win
    return {example_path(path).removesuffix(suffix): path for path in shipped for suffix in ("", *SUFFIXES)}


def example_file(name: str, package: Path = PACKAGE) -> Path:
    """The shipped file of this name, with or without its suffix. Raises InputError if there is none, naming the
    nearest; and as `formulas_directory`."""
    files = named_examples(package)
    if name in files:
        return files[name]
    hint = did_you_mean(name, files) or "`hardsim examples` lists them."
    raise InputError(f"nothing that is shipped is called '{name}'", hint=hint)


def example_names() -> dict[str, Path]:
    """The same as `named_examples`; nothing where they are missing, which matters to nobody who names a file."""
    try:
        return named_examples()
    except InputError:
        return {}


def located(name: str) -> str:
    """Where that is which a name of an input means: a path of that name, else what is shipped under it; the name itself
    where there is neither."""
    return name if os.path.lexists(name) else str(example_names().get(name, name))
