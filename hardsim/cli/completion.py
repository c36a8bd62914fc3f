"""What a shell is told that may be typed: options and commands are typer's, the values of options and FILE are here."""

from __future__ import annotations

from dataclasses import dataclass
from glob import escape, glob
from typing import Any

from hardsim.checking.options import ALL, FORMATS
from hardsim.checking.result import ENGINES
from hardsim.examples import SUFFIXES, example_names
from hardsim.program.regimes import REGIMES

FILES = frozenset({"files", "file", "words", "formula", "against"})
"""The fields that are files, or begin with one, where something shipped may be named."""


@dataclass(frozen=True)
class Completion:
    """The values of a field that begin as what was typed; where there are none, shells offer files."""

    name: str
    metavar: str = ""

    def __call__(self, ctx: Any, incomplete: str) -> list[str]:
        """The values."""
        if self.name not in FILES and self.name != "name":
            return [value for value in self.values() if value.startswith(incomplete)]
        if self.name == "words" and (ctx.params.get("words") or ctx.params.get("expression") is not None):
            return []
        shipped = [name for name in shipped_names() if name.startswith(incomplete)]
        return shipped if self.name == "name" else [*here(incomplete), *shipped]

    def values(self) -> tuple[str, ...]:
        """All that an option may be, where these are few."""
        if self.name == "backend":
            from hardsim.checking.execution import BACKENDS

            return BACKENDS
        few = {"regime": (*REGIMES, ALL), "engine": ENGINES, "format": FORMATS}
        return few.get(self.name, tuple(self.metavar.split("|")) if "|" in self.metavar else ())


def shipped_names() -> list[str]:
    """What may be typed for something shipped, once each."""
    return sorted(name for name in example_names() if not name.endswith(SUFFIXES))


def here(incomplete: str) -> list[str]:
    """The files that hardsim reads whose path begins so."""
    return sorted(name for name in glob(f"{escape(incomplete)}*") if name.endswith((*SUFFIXES, ".json")))
