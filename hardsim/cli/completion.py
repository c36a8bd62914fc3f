"""Shell completion of option values and FILE arguments; typer completes options and commands itself."""

from __future__ import annotations

from glob import escape, glob
from typing import Any

from hardsim.examples import SUFFIXES, example_names
from hardsim.lazy_dataclass import dataclass
from hardsim.options.table import OPTIONS

FILES = frozenset({"files", "file", "words", "formula", "against"})
"""Fields of a request that name a file (or a shipped file), or begin with one."""


@dataclass(frozen=True)
class Completion:
    """The completion of an option or argument: a call returns the values that start with the text typed so far. If it
    returns none, shells offer file names."""

    name: str

    def __call__(self, ctx: Any, incomplete: str) -> list[str]:
        """Return the values that start with `incomplete`."""
        if self.name not in FILES and self.name != "name":
            return [value for value in OPTIONS[self.name].choices if value.startswith(incomplete)]
        # Only the first argument of `eval` and `trace` is a file; the others are words.
        if self.name == "words" and (ctx.params.get("words") or ctx.params.get("expression") is not None):
            return []
        shipped = [name for name in shipped_names() if name.startswith(incomplete)]
        return shipped if self.name == "name" else [*here(incomplete), *shipped]


def shipped_names() -> list[str]:
    """Return the names of the shipped files, without suffixes, each once."""
    return sorted(name for name in example_names() if not name.endswith(SUFFIXES))


def here(incomplete: str) -> list[str]:
    """Return the files that hardsim can read and whose path starts with the typed text."""
    return sorted(name for name in glob(f"{escape(incomplete)}*") if name.endswith((*SUFFIXES, ".json")))
