"""The protocol of inputs: what a file or an expression of the command line is, and what can be done with it.

Each kind of input has a class of its own in `hardsim.targets.inputs`. `targets.opening` reads them.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from hardsim.errors import InputError, InvariantError
from hardsim.lang.ast import FormulaFile, Supplied
from hardsim.lang.automata.automaton import Automaton
from hardsim.lang.valuations import Alphabet
from hardsim.lazy_dataclass import dataclass
from hardsim.reading.tensors import Stored, TakenSetting
from hardsim.targets.base import At, ModelOptions
from hardsim.targets.external import External
from hardsim.targets.reference import Reference
from hardsim.targets.result import Answer, ModelFacts, Opened, Word
from hardsim.targets.semantics import Semantics
from hardsim.targets.subject import Subject
from hardsim.writing.specification import SpecificationDraft

ACCEPTING = (
    "Name a formula (.ltl), a program (.srasp, .cr), a regular expression (.re) or an automaton (.dot, .jff).",
    "Name a formula (.ltl), a program that accepts (.srasp, .cr) or a regular expression (.re).",
)
"""Hints where an input says nothing of accepted words: for any input, and for one that maps words."""
SELF_CONTAINED = "a file that says by itself which words are accepted is needed here"
"""The request at the end of an error about such an input."""


@dataclass(frozen=True, kw_only=True)
class Input(ABC):
    """One input of a command, with the name and SHA-256 of its source."""

    kind: ClassVar[Opened]
    noun: ClassVar[str]
    what: ClassVar[str]
    """The kind of the input in a sentence: the noun with its article."""
    has_formula: ClassVar[bool] = False
    """True for a formula, and for a network that was compiled from one."""
    regimes: ClassVar[bool] = False
    """True if the input is compiled for the regime that the user asks for."""
    is_network: ClassVar[bool] = False
    """True for an external network, which is run unchanged: nothing is compiled."""
    oracle_alone: ClassVar[bool] = False
    """True if the input is a language of which no network is ever made."""
    shown_by_length: ClassVar[bool] = False
    """True if `show` reports values that depend on the length of words."""

    name: str
    sha256: str
    alphabet: Alphabet
    text: str = ""
    title: str = ""
    remarked: tuple[str, ...] = ()
    """Remarks on the input."""
    warnings: tuple[str, ...] = ()
    """The places where the integers of a program can leave the range of its construction, found by static analysis."""
    against: Reference | None = None
    """The reference that the input is checked against instead of its own semantics."""

    # ---- remarks and facts ----

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the input, including one on a network that differs from what its specification compiles to."""
        return self.remarked

    def remarks(self, at: str | None) -> tuple[str, ...]:
        """Return the remarks that apply where a formula is read at `at` (None: at the file's own position)."""
        return self.notes

    @property
    def facts(self) -> ModelFacts | None:
        """The size of the network; None for an input whose network needs options, or that has none."""
        return None

    @property
    def regime(self) -> str:
        """The regime that a compiled formula was compiled for; empty for any other input."""
        return ""

    @property
    def has_beta(self) -> bool:
        """True for a model with a beta of its own, which can be changed."""
        return False

    # ---- the text of a formula ----

    @property
    def file(self) -> FormulaFile:
        """The formula of the input. Raises InputError if the input is no formula."""
        raise InputError(f"{self.name} is {self.what}", "Name a formula (.ltl) or a compiled formula.")

    @property
    def readings(self) -> tuple[str, ...]:
        """Remarks on words of a formula that have a second reading."""
        return ()

    @property
    def supplied(self) -> Supplied:
        """The option that gave a formula its alphabet, with its value, as `FormulaFile.supplied`."""
        return None

    @property
    def in_dialects(self) -> bool:
        """True for a formula in a language that has dialects."""
        return False

    @contextmanager
    def about_alphabet(self) -> Iterator[None]:
        """Explain in the hint of an error where the alphabet of a formula comes from, if a word uses another symbol."""
        yield

    # ---- semantics ----

    def meaning(self, at: str | None) -> Callable[[Word], Answer] | None:
        """Return the semantics, for a formula read at `at` (by default at the file's own position). Return None
        for a model."""
        return None

    @property
    def automaton(self) -> Automaton | None:
        """The automaton of a regular expression; None for any other input."""
        return None

    def semantics(self, at: At | None = None) -> Semantics:
        """Return the semantics, of a formula read at `at` (None: at the file's own position). Raises InputError if the
        input has no semantics of its own (a model, a compiled formula), or does not accept words; SourceError if an
        example of a formula is wrong; the examples of other files are checked when they are read."""
        raise self.no_semantics(self.what)

    def no_semantics(self, what: str) -> InputError:
        """Return the error of an input that does not say which words are accepted."""
        return InputError(f"{self.name} is {what}: {SELF_CONTAINED}", ACCEPTING[0])

    def reference(self, at: At | None = None) -> Reference:
        """Return the reference that the input is for other targets: a specification, the semantics of a formula (read
        at `at`, or at the file's own position), a program or an expression, or the outputs of a network. Raises
        InputError if the input cannot give expected answers; SourceError if an example of a formula is wrong."""
        return self.semantics(at)

    # ---- targets ----

    @property
    def compilable(self) -> bool:
        """True unless it is known without a regime that there is no network. The semantics can be evaluated all the
        same."""
        return True

    def target(self, options: ModelOptions) -> Subject | External:
        """Return the target of the input: compiled with these options, or the stored network. Raises InputError as
        `compile` and `network`."""
        return self.compile(options)

    def compile(self, options: ModelOptions) -> Subject:
        """Return the subject to check: compiled with these options, or the stored network. Raises SourceError as
        `compile_formula`; Unsupported if a program has a score for which there is no construction; InputError if an
        option contradicts a stored network, which was compiled with its own; if the input is an external network."""
        subject = self._compiled(options)
        return subject if self.against is None else self.against.judging(subject)

    def _compiled(self, options: ModelOptions) -> Subject:
        """Return the subject, without a reference."""
        raise InvariantError(f"{self.file.source.name} has no subject")  # `file` raises what is wrong

    def as_read(self) -> Subject:
        """Return the subject that needs no options: that of a model, or of a program. Raises InputError if the input is
        a formula, which has no network yet, or has no subject."""
        _ = self.file  # what is no formula at all says so
        message = f"{self.name} is not a compiled model"
        raise InputError(message, "Make a compiled model with: hardsim compile FILE -o NAME.model.json")

    def network(self, options: ModelOptions) -> External:
        """Return the external network with its reference. Raises InputError if an option is for what is compiled, or
        the reference cannot give the expected outputs."""
        raise InvariantError(f"{self.name} is {self.what}")

    def read_as(self, **how: Any) -> Input:
        """Return this input with its external network read in another way: `how` are names of tokens, the alphabet,
        input, at and decide; None keeps a setting. Raises InputError if there is no external network, or what a
        specification says of the outputs does not fit."""
        raise InputError(f"read_as is for external networks, but {self.name} is {self.what}")

    def how_read(
        self, external: External, at: str | None
    ) -> tuple[tuple[tuple[str, str], ...], tuple[TakenSetting, ...]]:
        """Return what was read of an external network, as labels and texts, and the settings that decide how it reads
        words, with the source of each. With the option `at`, they are those of `external`, which is read there."""
        return (), ()

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Turn a false claim about a stored network into an InputError, since its file is at fault. A claim that
        hardsim derived from its formula stays an internal error; no file contradicts a proof."""
        yield

    # ---- files ----

    def require_accepting(self, reference: str) -> None:
        """Raise InputError if this is known not to say which words are accepted, as the file `reference` does."""
        return  # a compiled program says so itself, once its reference is read

    def draft(self, place: str) -> SpecificationDraft:
        """Return a draft of a specification for the network, which is at the path `place` relative to it. Raises
        InputError if the input is no external network, or has a specification."""
        hint = "Name a folder, a file of weights, or network JSON."
        raise InputError(f"{self.name} is {self.what}, and specifications are for external networks", hint)

    def to_json(self) -> str:
        """Return the JSON document of the network. Raises InputError if the input is not compiled."""
        raise InputError(f"{self.name} is not compiled, so it has no JSON", "Compile it first: .compile().")

    def folder(self) -> Stored | None:
        """Return the tensors and settings of a folder, as they were read; None if there are none. Raises InputError if
        the network is read in another way than the folder states."""
        return None
