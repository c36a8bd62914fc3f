"""Compiled formulas and hard-attention models: networks that hardsim reads from files of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hardsim.errors import Contradiction, InputError, InvariantError
from hardsim.lazy_dataclass import dataclass
from hardsim.network.reader import Reader
from hardsim.program.file import read_ahat
from hardsim.targets.base import At, ModelOptions
from hardsim.targets.compiled import sharpened
from hardsim.targets.formula import FormulaTarget
from hardsim.targets.inputs.base import Input
from hardsim.targets.inputs.formula import FormulaInput, described
from hardsim.targets.result import ModelFacts
from hardsim.targets.semantics import Semantics
from hardsim.targets.stored import read_compiled, read_hard_attention
from hardsim.targets.subject import Subject
from hardsim.targets.weights import WeightsTarget

OTHER = (
    "the network in this file differs from the one that its specification compiles to at its beta: verdicts are about "
    "the network; error bounds, declared gaps and purposes of heads are about the specification"
)
CHANGED = (
    "The network differs from the one that hardsim compiles from this formula: correct the file's claims about its "
    "heads, or compile the formula again."
)


@dataclass(frozen=True, kw_only=True)
class ModelInput(Input):
    """A network in a JSON document of hardsim."""

    made: Subject
    document: str
    """The JSON that the network was read from."""

    @property
    def facts(self) -> ModelFacts:
        """The size of the network."""
        return self.made.facts

    def as_read(self) -> Subject:
        """Return the network of the document."""
        return self.made

    def to_json(self) -> str:
        """Return the document."""
        return self.document

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Turn a false claim about the network into an InputError, since its file is at fault. A claim that hardsim
        derived from its formula stays an internal error; no file contradicts a proof."""
        try:
            yield
        except InvariantError as error:
            if self.made.own or isinstance(error, Contradiction):
                raise
            message = f"{self.name}: the specification in this model does not hold: {error}"
            raise InputError(message, CHANGED) from error


@dataclass(frozen=True, kw_only=True)
class CompiledInput(ModelInput, FormulaInput):
    """A compiled formula: a formula with the network that its file has for it."""

    what = "a compiled formula"
    regimes = False
    made: FormulaTarget

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the input, including one on a network that differs from what its specification compiles to."""
        return self.remarked if self.made.specified else (*self.remarked, OTHER)

    def remarks(self, at: str | None) -> tuple[str, ...]:
        """Return the remarks, which are the same at every position: the network is read at its own."""
        return self.notes

    @property
    def regime(self) -> str:
        """The regime that the formula was compiled for."""
        return self.facts.regime or ""

    @property
    def in_dialects(self) -> bool:
        """False: the formula was read when it was compiled."""
        return False

    def semantics(self, at: At | None = None) -> Semantics:
        """Refuse to be the meaning of a formula: the file is about a network."""
        raise self.no_semantics("compiled already")

    def _compiled(self, options: ModelOptions) -> Subject:
        facts, exponentials = self.facts, options.weighting is not None and options.weighting.exponentials
        expected = {
            "--regime": (options.regime, (None, facts.regime)),
            "--beta": (options.beta, (None, facts.beta)),
            "--tau": (options.tau, (None, self.made.model.temperature)),
            "--exponential" if exponentials else "--weighting": (options.weighting, (None, self.made.model.weighting)),
            "--rounding": (options.rounding and options.rounding.rounding, (None, self.made.model.rounding)),
            "--at": (options.at, (None, facts.at)),
            "--single-head": (options.single_head, (False, facts.single_head)),
            "--counting": (options.counting, (None, facts.counting)),
        }
        for option, (value, allowed) in expected.items():
            if value not in allowed:
                given = option if value is True else f"{option} {value}"
                regime = f"regime {facts.regime}" if facts.regime else "no regime of hardsim"
                raise InputError(
                    f"{self.made.name} is already compiled ({regime}, beta {self.made.budget.beta}, temperature "
                    f"{facts.temperature}, at {facts.at}), so {given} does not apply",
                    hint=f"Leave out {option}, or give the formula instead of the model.",
                )
        return self.made


@dataclass(frozen=True, kw_only=True)
class HardAttentionInput(ModelInput):
    """A hard-attention model, which is its own specification."""

    kind = "ahat"
    noun = "hard-attention model"
    what = f"a {noun}"
    made: WeightsTarget

    @property
    def has_beta(self) -> bool:
        """True if the model was compiled for a regime."""
        return self.made.one_network

    def _compiled(self, options: ModelOptions) -> Subject:
        return sharpened(self.made, options)


def compiled_of_document(document: Reader, text: str, name: str, sha256: str) -> CompiledInput:
    """Return the input for a `model.json`. Raises InputError, naming the place inside the document."""
    made, remarks = read_compiled(document, name, sha256)
    given = described(made.formula, sha256, name)
    given["remarked"] += remarks
    return CompiledInput(**given, formula=made.formula, made=made, document=text)


def model_of_document(document: Reader, text: str, name: str, sha256: str) -> HardAttentionInput:
    """Return the input for an `.ahat.json`. Raises InputError, naming the place inside the document."""
    made, remarks = read_hard_attention(read_ahat(document), name, sha256)
    return HardAttentionInput(
        name=name,
        sha256=sha256,
        alphabet=made.alphabet,
        text=text,
        title=made.title,
        remarked=remarks,
        made=made,
        document=text,
    )
