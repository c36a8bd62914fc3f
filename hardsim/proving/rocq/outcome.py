"""The result of writing a Rocq theorem, apart from the code that writes it, which most proofs do not need."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from hardsim.lazy_dataclass import dataclass
from hardsim.records import Measured, Record, one_of


@dataclass(frozen=True, slots=True, repr=False)
class RocqCheck(Record):
    """The Rocq theorem that was written about a proved formula, and what Rocq said of it."""

    folder: str
    """The folder, as given."""
    files: tuple[str, ...]
    """The files written there; the last one before the Makefile is the instance."""
    instance: str
    """The file with the theorem."""
    verdict: Annotated[str, one_of("checked", "rejected", "interrupted", "not checked")]
    """The verdict of Rocq; `not checked` if it is not installed, or did not answer."""
    coqc: str | None = None
    """The version of Rocq as it prints it; null: none was found."""
    reason: str | None = None
    """The reason why Rocq rejects the theorem, or did not answer; null otherwise."""
    axioms: tuple[str, ...] = ()
    """The axioms on which the theorem rests, as Rocq prints them."""
    seconds: Measured | None = None
    """The time that Rocq took for library and instance; null if it did not finish."""

    @property
    def partial(self) -> bool:
        """True if the check was interrupted."""
        return self.verdict == "interrupted"

    def interrupted(self, version: str | None) -> RocqCheck:
        """Return this theorem with an interrupted check, by this version of Rocq."""
        return replace(self, verdict="interrupted", coqc=version)
