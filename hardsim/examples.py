"""The shipped formulas, programs, models and trained networks, found wherever hardsim is installed.

In a wheel they are inside the package; in a source tree (and an editable install) they are in `formulas/` beside it.
"""

from __future__ import annotations

import os
from pathlib import Path

from hardsim.errors import InputError, did_you_mean
from hardsim.lazy_dataclass import dataclass
from hardsim.records import Record

PACKAGE = Path(__file__).resolve().parent
SUFFIXES = (".ltl", ".srasp", ".cr", ".ahat.json", ".spec", ".re")
"""Suffixes of formulas, programs, hard-attention models, specifications and regular expressions. If several files share
a name, the name means the file with the first of these suffixes."""
NETWORKS = "networks"
"""Subdirectory of the shipped specifications, which are beside the trained networks that they describe."""


@dataclass(frozen=True, slots=True, repr=False)
class ExampleResult(Record):
    """A shipped formula, program, model or specification."""

    name: str
    """Path of the shipped file among the shipped files, without the suffix .ltl."""
    title: str
    """Title that the file gives itself."""
    text: str | None
    """Text of the file; null in a list."""


def formulas_directory(package: Path = PACKAGE) -> Path:
    """Return the directory of the shipped formulas, for the package at `package`. Raises InputError if there is neither
    an installation nor a source tree."""
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
    """Return the shipped files: formulas, programs and models, each by name, then specifications of trained networks.
    Raises InputError as `formulas_directory`."""
    directory = formulas_directory(package)
    both = directory, directory / NETWORKS
    return tuple(path for place in both for suffix in SUFFIXES for path in sorted(place.glob(f"*{suffix}")))


def example_path(path: Path) -> str:
    """Return the path of a shipped file within the shipped directory, such as `since.ltl` or
    `networks/majority.spec`."""
    return f"{NETWORKS}/{path.name}" if path.parent.name == NETWORKS else path.name


def example_name(path: Path) -> str:
    """Return the name of a shipped file: its path, without the suffix for a formula."""
    return example_path(path).removesuffix(SUFFIXES[0])


def named_examples(package: Path = PACKAGE) -> dict[str, Path]:
    """Return the shipped files by every name that they may have, with and without suffix. Raises InputError as
    `formulas_directory`."""
    shipped = example_files(package)[::-1]  # of two with one name the first shall win
    return {example_path(path).removesuffix(suffix): path for path in shipped for suffix in ("", *SUFFIXES)}


def example_file(name: str, package: Path = PACKAGE) -> Path:
    """Return the shipped file of this name, with or without its suffix. Raises InputError if there is none, with the
    nearest name; or as `formulas_directory`."""
    files = named_examples(package)
    if name in files:
        return files[name]
    hint = did_you_mean(name, files) or "`hardsim examples` lists the shipped files."
    raise InputError(f"no shipped file is called '{name}'", hint=hint)


def example_names() -> dict[str, Path]:
    """Return the shipped files by name, as `named_examples`, or nothing if they are missing: whoever names an own file
    does not need them."""
    try:
        return named_examples()
    except InputError:
        return {}


def located(name: str) -> str:
    """Return the file that an input's name means: a path of that name, else a shipped file, else the name itself."""
    # An existing path wins, even a broken link: its error is about the user's own file.
    return name if os.path.lexists(name) else str(example_names().get(name, name))
