"""What a run tells besides its results: what it read, remarks, and what went wrong or was not run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from hardsim.checking.result import InputDigest, InputName, Regime
from hardsim.lang.valuations import MOST_LISTED, Alphabet, Valuations
from hardsim.records import Record, one_of


@dataclass(frozen=True, slots=True, repr=False)
class InputRead(Record):
    """What was read."""

    name: InputName
    sha256: InputDigest
    alphabet: tuple[str, ...]
    """The symbols, in order; none where there are more than 4,096 sets of propositions."""
    props: tuple[str, ...] = ()
    """The propositions whose sets are the symbols, if they are declared."""

    @staticmethod
    def of(name: str, sha256: str, alphabet: Alphabet) -> InputRead:
        """What was read, with its alphabet."""
        if isinstance(alphabet, Valuations):
            return InputRead(name, sha256, alphabet[:] if len(alphabet) <= MOST_LISTED else (), alphabet.props)
        return InputRead(name, sha256, alphabet)


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
