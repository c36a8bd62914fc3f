"""Summarise the outcomes of a run's inputs: the last line after several inputs, and `counts` in the JSON document."""

from __future__ import annotations

from collections.abc import Iterable

from hardsim.lazy_dataclass import dataclass
from hardsim.records import Record
from hardsim.targets.result import plural


@dataclass(frozen=True, slots=True, repr=False)
class RunSummary(Record):
    """The number of inputs of a run, and the number without a result, by reason."""

    inputs: int
    """The number of named inputs; files of a directory count one by one."""
    results: int
    """Results, of which an input has one for each regime."""
    unread: int = 0
    """Inputs that could not be read."""
    refused: int = 0
    """Inputs that were read, but have a wrong example, or cannot be used with the given command and options."""
    undecided: int = 0
    """Errors that left an input without a verdict."""
    internal: int = 0
    """Internal errors."""
    not_run: int = 0
    """Inputs that were not run since the run had ended before."""

    @property
    def several(self) -> bool:
        """Return True if there are several inputs or results to count."""
        return max(self.inputs, self.results) > 1

    @property
    def missing(self) -> list[str]:
        """Return what has no result, and why; empty if everything has one."""
        reasons = {
            "could not be read": self.unread,
            "refused": self.refused,
            "without a verdict": self.undecided,
            "ended by an internal error": self.internal,
            "not run": self.not_run,
        }
        return [f"{plural(number, 'file')} {reason}" for reason, number in reasons.items() if number]

    def text(self, counted: str) -> str:
        """Return the summary line: the results, `counted` by verdict, and the inputs without a result."""
        results = plural(self.results, "result") if self.results else "no result"
        return "; ".join([f"{results}: {counted}" if counted and self.results else results, *self.missing])


def counted(verdicts: Iterable[str], order: Iterable[str]) -> str:
    """Return the number of results by verdict as text, such as `3 PROVED, 1 REFUTED`, in a given order; other
    verdicts come last, and results without a verdict are not counted."""
    found = [verdict for verdict in verdicts if verdict]
    # A verdict that no list knows is still counted.
    known = [*order]
    kinds = [*known, *dict.fromkeys(verdict for verdict in found if verdict not in known)]
    return ", ".join(f"{number} {verdict}" for verdict in kinds if (number := found.count(verdict)))
