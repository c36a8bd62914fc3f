"""Records of a run besides its results: inputs read, remarks, errors, and inputs that were not run."""

from __future__ import annotations

from typing import Annotated

from hardsim.campaign.result import InputDigest
from hardsim.lang.valuations import MOST_LISTED, Alphabet, Valuations
from hardsim.lazy_dataclass import dataclass
from hardsim.records import Record, one_of
from hardsim.targets.result import InputName, Regime


@dataclass(frozen=True, slots=True, repr=False)
class InputRead(Record):
    """An input that was read."""

    name: InputName
    sha256: InputDigest
    alphabet: tuple[str, ...]
    """Symbols of the alphabet, in order; empty if there are more than 4,096 sets of propositions."""
    props: tuple[str, ...] = ()
    """Propositions whose sets are the symbols; empty if symbols are declared."""

    @staticmethod
    def of(name: str, sha256: str, alphabet: Alphabet) -> InputRead:
        """Return the record of an input with its alphabet."""
        if isinstance(alphabet, Valuations):
            # 2^k sets of k propositions would fill the document.
            return InputRead(name, sha256, alphabet[:] if len(alphabet) <= MOST_LISTED else (), alphabet.props)
        return InputRead(name, sha256, alphabet)


@dataclass(frozen=True, slots=True, repr=False)
class Note(Record):
    """A remark on an input, or on a regime that was left out."""

    input: str | None
    """Name of the input; null: the command line."""
    regime: Regime | None
    """Regime that the remark is about; null: none."""
    message: str
    """Text of the remark."""


@dataclass(frozen=True, slots=True, repr=False)
class Failure(Record):
    """An error that kept an input from having a result, with the same text as on standard error."""

    input: str | None
    """Name of the input; null: the command line."""
    exit_code: Annotated[int, one_of(2, 3, 4)]
    """Exit code that this error alone would give the run."""
    message: str
    """Text of the error."""


@dataclass(frozen=True, slots=True, repr=False)
class NotRun(Record):
    """An input that was not run, or not to its end."""

    input: InputName
    regime: Regime | None
    """Regime that was not run; null: all requested regimes."""
