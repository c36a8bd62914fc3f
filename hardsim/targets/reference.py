"""The protocol of references: each gives the expected answers of other targets."""

from __future__ import annotations

from typing import Protocol

from hardsim.lang.valuations import Alphabet
from hardsim.targets.external import External
from hardsim.targets.subject import Subject


class Reference(Protocol):
    """A source of expected answers: the semantics of a file, a specification, a program, a function or a network."""

    @property
    def name(self) -> str:
        """The name of the reference in reports."""

    @property
    def sha256(self) -> str:
        """The digest of its source; empty for a Python function."""

    @property
    def alphabet(self) -> Alphabet:
        """The symbols of the words that it has answers for."""

    def judging(self, subject: Subject) -> Subject:
        """Return a subject that is compared with this reference. Raises InputError if the subject is no target of such
        a reference."""

    def deciding(self, external: External) -> External:
        """Return an external network that is compared with this reference. Raises InputError if the outputs of the
        network cannot be compared with it."""
