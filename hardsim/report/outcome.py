"""How a run ended for each input and regime, for other programs: what JUnit, GitHub and SARIF are told, each in its own
words (`report.junit`, `report.github`, `report.sarif`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Ending(StrEnum):
    """What a verdict, or the want of one, means to whoever waits for it."""

    PASSED = "passed"
    FAILED = "failed"
    """Something is wrong, or the verdict is less than was required."""
    SKIPPED = "skipped"
    """Nothing is wrong as far as is known, and less is known than was hoped for."""
    ERROR = "error"
    """It could not be judged: the input is bad, or hardsim is."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One input, a formula in one regime (None: it has none, or none was reached)."""

    input: str | None
    """The name of the input; None: the command line."""
    regime: str | None
    ending: Ending
    code: int
    """What this alone makes the exit code."""
    message: str
    """What is to be said, in a line."""
    seconds: float
    verdict: str = ""
    """The verdict; empty without one."""
    reach: str = ""
    """How far it reaches."""
    word: str = ""
    """The word that shows it; empty if none does."""
    details: str = ""
    """The same with all that a reader wants to know, in lines; empty if that is all."""
    place: tuple[int, int] | None = None
    """The line and the column of a mistake in the file, from 1, in characters."""
    file: bool = True
    """Whether the input is a file."""
    whole: str = ""
    """The file, if the input is one of its lines."""

    @property
    def title(self) -> str:
        """The input with its regime."""
        name = self.input or "the command line"
        return name if self.regime is None else f"{name} ({self.regime})"

    @property
    def text(self) -> str:
        """All that is to be said, in lines; with the name where no file stands beside it."""
        lines = self.details or self.message
        return lines if self.path is not None else f"{self.title}: {lines}"

    @property
    def path(self) -> str | None:
        """The file; None if it is none."""
        return self.whole or self.input if self.file else None


@dataclass(frozen=True, slots=True)
class Finished:
    """A run of a command."""

    command: str
    code: int
    """The exit code."""
    outcomes: Sequence[Outcome]
    notes: Sequence[str]
    """The remarks, as on standard error."""
    remarks: Sequence[str]
    """What is to be said of the whole run: that it was interrupted, or stopped."""
    summary: str = ""
    """The outcome of several inputs, in one line."""

    def count(self, *endings: Ending) -> int:
        """How many outcomes ended so."""
        return sum(one.ending in endings for one in self.outcomes)


class Format(Protocol):
    """What a module that writes a format has."""

    def render(self, finished: Finished) -> str:
        """The text, with its line breaks."""
