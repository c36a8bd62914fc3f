"""The outcome of a run for each input and regime, for reports that other programs read: JUnit, GitHub and SARIF
(modules `report.junit`, `report.github`, `report.sarif`).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

from hardsim.lazy_dataclass import dataclass


class Ending(StrEnum):
    """How the run of one input ended, for another program that waits for it."""

    PASSED = "passed"
    FAILED = "failed"
    """A mismatch was found, or the verdict is weaker than was required."""
    SKIPPED = "skipped"
    """No mismatch was found, but the verdict is weaker than usual or missing."""
    ERROR = "error"
    """There is no verdict: the input is bad, or hardsim failed."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one input in one regime (None: the input has no regime, or none was reached)."""

    input: str | None
    """Name of the input; None: the command line."""
    regime: str | None
    ending: Ending
    code: int
    """Exit code that this outcome alone would give the run."""
    message: str
    """Message about the outcome, in one line."""
    seconds: float
    verdict: str = ""
    """Verdict on the input; empty without one."""
    reach: str = ""
    """How far the verdict reaches."""
    word: str = ""
    """Word that shows a failure; empty without one."""
    details: str = ""
    """The message with all details, in several lines; empty if there is no more to say."""
    place: tuple[int, int] | None = None
    """Line and column of a mistake in the file, from 1, in characters."""
    file: bool = True
    """True if the input is a file."""
    whole: str = ""
    """Name of the file, if the input is one of its lines."""

    @property
    def title(self) -> str:
        """Return the name of the input with its regime."""
        name = self.input or "the command line"
        return name if self.regime is None else f"{name} ({self.regime})"

    @property
    def text(self) -> str:
        """Return all lines of the message, with the name of the input if there is no file to name."""
        # Formats with a field for the file need not repeat its name.
        lines = self.details or self.message
        return lines if self.path is not None else f"{self.title}: {lines}"

    @property
    def path(self) -> str | None:
        """Return the file of the input, or None if the input is not a file."""
        return self.whole or self.input if self.file else None


@dataclass(frozen=True, slots=True)
class Finished:
    """A run of a command with its outcomes."""

    command: str
    code: int
    """Exit code of the run."""
    outcomes: Sequence[Outcome]
    notes: Sequence[str]
    """Remarks on inputs, as on standard error."""
    remarks: Sequence[str]
    """Remarks on the whole run, such as an interruption."""
    summary: str = ""
    """Summary of several inputs in one line."""

    def count(self, *endings: Ending) -> int:
        """Return the number of outcomes with one of these endings."""
        return sum(one.ending in endings for one in self.outcomes)


class Format(Protocol):
    """Interface of a module that writes a report format."""

    def render(self, finished: Finished) -> str:
        """Return the report as text, with its line breaks."""
