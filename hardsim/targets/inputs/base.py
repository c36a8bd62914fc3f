"""The input of a command: what a file or an expression is, and what can be done with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, cast

from hardsim.campaign.result import Answer, Opened, Word
from hardsim.errors import Contradiction, InputError, InvariantError, Unsupported
from hardsim.lang.ast import FUTURE_NOTE, FormulaFile
from hardsim.lang.semantics import check_examples
from hardsim.lang.valuations import (
    Alphabet,
)
from hardsim.network.transformer import Schedule
from hardsim.program.assemble import assemble
from hardsim.program.sharpness import Budget
from hardsim.reading.tensors import (
    Stored,
    TakenSetting,
)
from hardsim.targets.base import At, ModelOptions
from hardsim.targets.compiled import compile_formula
from hardsim.targets.external import External
from hardsim.targets.program_reference import ProgramReference
from hardsim.targets.reference import Reference
from hardsim.targets.reference_network import ReferenceNetwork
from hardsim.targets.semantics import Accepts, Members, Runs, Semantics, examples_apply
from hardsim.targets.specification import Specification
from hardsim.targets.subject import Subject

OTHER = (
    "the network in this file differs from the one that its specification compiles to at its beta: verdicts are about "
    "the network; error bounds, declared gaps and purposes of heads are about the specification"
)
CHANGED = (
    "The network differs from the one that hardsim compiles from this formula: correct the file's claims about its "
    "heads, or compile the formula again."
)


@dataclass(frozen=True)
class Input:
    """One input of a command, with the name and SHA-256 of its source.

    `formula` is set for formulas and compiled formulas. `made` is the subject that comes with the input (of a
    compiled formula or a model). `refusal` is the reason why the input cannot be compiled into a network; its
    semantics can be evaluated all the same.
    """

    name: str
    sha256: str
    alphabet: Alphabet
    kind: Opened
    text: str = ""
    title: str = ""
    remarked: tuple[str, ...] = ()
    """Remarks on the input."""
    warnings: tuple[str, ...] = ()
    """The places where the integers of a program can leave the range of its construction, found by static analysis."""
    formula: FormulaFile | None = None
    made: Subject | None = None
    refusal: Unsupported | None = None
    examples: tuple[Word, ...] = ()
    """The words of the examples of a program or a regular expression."""
    oracle: Callable[[Word], Answer] | None = None
    """The semantics of a program or a regular expression."""
    against: Reference | None = None
    """The reference that the input is checked against instead of its own semantics."""
    document: str = ""
    """The JSON that a compiled formula or a model was read from."""
    external: External | None = None
    """An external network; it has nothing that is compiled."""
    stored: Stored | None = None
    """The stored tensors and settings of an external network that was read from a folder."""
    described: tuple[tuple[str, str], ...] = ()
    """The report of what was read of an external network, as labels and texts."""
    settings: tuple[TakenSetting, ...] = ()
    """The settings that decide what a network computes and how it reads words, with the source of each."""
    specification: Specification | None = None
    """The specification that names the network, if the input is a `.spec` file; `external` is then the network with
    the specification's readout.
    """
    bare: External | None = None
    """The network as it is stored, where a specification changes its readout."""

    @property
    def regimes(self) -> bool:
        """True if the input is compiled for the regime that the user asks for."""
        return self.formula is not None and self.made is None

    @property
    def file(self) -> FormulaFile:
        """The formula of the input.

        Raises:
            InputError: if the input is no formula.
        """
        if self.formula is None:
            hint = "Name a formula (.ltl) or a compiled formula."
            raise self.refusal or InputError(f"{self.name} is {KINDS[self.kind]}", hint)
        return self.formula

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the input, including one on a network that differs from what its specification compiles to."""
        return self.remarked if self.made is None or self.made.specified else (*self.remarked, OTHER)

    def remarks(self, at: str | None) -> tuple[str, ...]:
        """Return the remarks that apply where a formula is read at `at` (None: at the file's own position)."""
        if at is None or not self.regimes:
            return self.notes
        others = tuple(note for note in self.notes if note != FUTURE_NOTE)
        if not self.file.examples or examples_apply(self.file, at):
            return others
        return (
            *others,
            f"its accept: and reject: words were written for at: {self.file.at}, so with --at {at} they are not judged",
        )

    def network(self, options: ModelOptions) -> External:
        """Return the external network with its reference.

        Raises:
            InputError: if an option is for what is compiled, or the reference cannot give the expected outputs.
        """
        if self.external is None:
            raise InvariantError(f"{self.name} is {KINDS[self.kind]}")
        if self.specification is not None and self.bare is not None:
            if self.against is not None:
                message = f"{self.name} already specifies what its network should compute"
                raise InputError(message, "Leave out --against, or name the network in place of the specification.")
            return self.external if options.at is None else self.read_as(at=options.at).network(ModelOptions())
        found = self.external if options.at is None else _read_at(self.external, options.at)
        return found if self.against is None else self.against.deciding(found)

    def read_as(self, **how: Any) -> Input:
        """Return this input with its network read in another way than the specification states: `how` are names of
        tokens, the alphabet, input, at and decide.

        Raises:
            InputError: if what the specification says of the outputs does not fit that.
        """
        assert self.specification is not None
        assert self.bare is not None
        changed = replace(self.specification, given={**self.specification.given, **how})
        external = changed.deciding(self.bare)
        return replace(self, specification=changed, external=external, alphabet=external.alphabet)

    def compile(self, options: ModelOptions) -> Subject:
        """Return the subject to check: compiled with these options, or the stored network.

        Raises:
            SourceError: see `compile_formula`.
            Unsupported: if a program has a score for which there is no construction.
            InputError: if an option contradicts a stored network, which was compiled with its own; if the input is an
                external network.
        """
        if self.external is not None:
            message = f"this command needs hard attention, and {self.name} is {KINDS[self.kind]}, which has none"
            raise InputError(
                message, "Commands for external networks: show, eval, check --against, prove --against and heads."
            )
        subject = self._compiled(options)
        return subject if self.against is None else self.against.judging(subject)

    def _compiled(self, options: ModelOptions) -> Subject:
        if self.refusal is not None and self.formula is None:
            raise self.refusal
        if self.made is None:
            return compile_formula(self.file, options, self.sha256, self.name)
        if self.formula is None:
            return _sharpened(self.made, options)
        _require_options(self.made, options)
        return self.made

    def meaning(self, at: str | None) -> Callable[[Word], Answer] | None:
        """Return the semantics, for a formula read at `at` (by default at the file's own position). Return None
        for a model.
        """
        if self.formula is None:
            return self.oracle
        return Accepts(self.formula.read_at(cast(Any, at)))

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Turn a false claim about a stored network into an InputError, since its file is at fault. A claim that
        hardsim derived from its formula stays an internal error; no file contradicts a proof.
        """
        try:
            yield
        except InvariantError as error:
            if self.made is None or self.made.own or isinstance(error, Contradiction):
                raise
            message = f"{self.name}: the specification in this model does not hold: {error}"
            raise InputError(message, CHANGED) from error


KINDS: dict[Opened, str] = {
    "ltl": "a formula",
    "srasp": "an S-RASP program",
    "ahat": "a hard-attention model",
    "re": "a regular expression",
    "network": "an external network",
}


def _read_at(external: External, at: At) -> External:
    network = external.network
    return replace(external, network=replace(network, readout=replace(network.readout, at=at)))


def _sharpened(made: Subject, options: ModelOptions) -> Subject:
    """Return a program or model with another temperature, or with another beta where it has one.

    Raises:
        InputError: if both a beta and Theorem 26's temperature for an error are asked for.
    """
    old = made.sharpness
    if old is not None and options.epsilon is not None and options.beta is not None:
        message = f"{made.name}: --epsilon selects Theorem 26's temperature, and --beta belongs to a regime's"
        raise InputError(message, "Give one of --epsilon and --beta.")
    if old is None or options.epsilon is not None:
        schedule: Schedule | None = options.tau or made.schedule
        given = tuple(name for name in options.sharpening if name != "beta")  # a beta is only of a regime
        return replace(made, sharpness=None, stored=None, schedule=schedule, epsilon=options.epsilon, given=given)
    beta, tau = options.beta or old.beta, options.tau or old.temperature
    budget = Budget(beta, tau, options.beta is not None or old.fixed)
    return replace(made, sharpness=budget, stored=assemble(made.program, budget), given=options.sharpening)


def _require_options(stored: Subject, options: ModelOptions) -> None:
    facts = stored.facts
    expected = {
        "--regime": (options.regime, (None, facts.regime)),
        "--beta": (options.beta, (None, facts.beta)),
        "--tau": (options.tau, (None, stored.model.temperature)),
        "--at": (options.at, (None, facts.at)),
        "--single-head": (options.single_head, (False, facts.single_head)),
        "--counting": (options.counting, (None, facts.counting)),
    }
    for option, (value, allowed) in expected.items():
        if value not in allowed:
            given = option if value is True else f"{option} {value}"
            regime = f"regime {facts.regime}" if facts.regime else "no regime of hardsim"
            raise InputError(
                f"{stored.name} is already compiled ({regime}, beta {stored.budget.beta}, temperature "
                f"{facts.temperature}, at {facts.at}), so {given} does not apply",
                hint=f"Leave out {option}, or give the formula instead of the model.",
            )


def reference_of_input(given: Input, at: At | None = None) -> Reference:
    """Return the reference that an input is for other targets: a specification, the semantics of a formula (read at
    `at`, or at the file's own position), a program or an expression, or the outputs of a network.

    Raises:
        InputError: if the input cannot give expected answers.
        SourceError: if an example of a formula is wrong.
    """
    if given.specification is None and given.external is not None:
        return ReferenceNetwork(given.name, given.sha256, given.external)
    if isinstance(given.oracle, Runs) and (given.oracle.program.assume or not given.oracle.program.is_acceptor):
        return ProgramReference(given.name, given.sha256, given.oracle.program)
    return given.specification or semantics_of(given, at)


def semantics_of(given: Input, at: At | None = None) -> Semantics:
    """Return the semantics of an input, of a formula read at `at` (None: at the file's own position).

    Raises:
        InputError: if the input has no semantics of its own (a model, a compiled formula), or does not accept
            words.
        SourceError: if an example of a formula is wrong; the examples of other files are checked when they are
            read.
    """
    oracle, examples = given.oracle, given.examples
    if given.regimes:
        if examples_apply(given.file, at):
            check_examples(given.file, at=at)
        file = given.file.read_at(at)
        oracle, examples = Accepts(file), tuple(example.word for example in file.examples)
    if not isinstance(oracle, Accepts | Runs | Members):
        what = "compiled already" if given.formula is not None else KINDS[given.kind]
        message = f"{given.name} is {what}, and a file that says which words are accepted is needed here"
        hint = "Name a formula (.ltl), a program (.srasp, .cr), a regular expression (.re) or a specification (.spec)."
        raise InputError(message, hint)
    if isinstance(oracle, Runs) and not oracle.program.is_acceptor:
        made = "words" if given.made is None or not given.made.program.integers else "integers"
        message = f"{given.name} maps words to {made}, so it does not say which words are accepted"
        hint = "Name a formula (.ltl), a program that accepts (.srasp, .cr) or a regular expression (.re)."
        raise InputError(message, hint)
    return Semantics(given.name, given.sha256, given.kind, given.alphabet, oracle, examples)
