"""What a run tells besides its results: what it read, remarks, and what went wrong or was not run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from hardsim.checking.result import InputDigest, InputName, Regime
from hardsim.records import Record, limits, one_of


@dataclass(frozen=True, slots=True, repr=False)
class InputRead(Record):
    """What was read."""

    name: InputName
    sha256: InputDigest
    alphabet: Annotated[tuple[str, ...], limits(min_length=1)]
    """The symbols, in order."""


@dataclass(frozen=True, slots=True, repr=False)
class Note(Record):
    """A remark on an input, or a regime that was left out."""

    input: str | None
    """The input; null: the command line."""
    regime: Regime | None
    """The regime that it is about; null: none."""
    message: str
    """The remark."""


@dataclass(frozen=True, slots=True, repr=False)
class Failure(Record):
    """Why an input could not be worked on; the same text as on standard error."""

    input: str | None
    """The input; null: the command line."""
    exit_code: Annotated[int, one_of(2, 3, 4)]
    """What this alone makes the exit code."""
    message: str
    """What is wrong."""


@dataclass(frozen=True, slots=True, repr=False)
class NotRun(Record):
    """An input that was not run, or not to its end."""

    input: InputName
    regime: Regime | None
    """The regime that was left out; null: all that were meant."""
