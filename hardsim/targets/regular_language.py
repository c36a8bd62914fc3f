"""The regular language of an input: that of its formula or expression, or that of the specification it is checked
against. The language of what the weights of a network compute has no automaton here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hardsim.errors import InputError
from hardsim.lang.automata.of_formula import NoAutomaton
from hardsim.lang.spec.oracle import FormulaTruth, InLanguage, Lines, Negated, NextSymbols
from hardsim.lazy_dataclass import dataclass
from hardsim.targets.base import At, ModelOptions
from hardsim.targets.external import External
from hardsim.targets.inputs.base import Input
from hardsim.targets.inputs.model import CompiledInput, ModelInput
from hardsim.targets.inputs.network import SpecifiedInput
from hardsim.targets.inputs.program import ProgramInput
from hardsim.targets.reference import Reference
from hardsim.targets.semantics import Accepts, Members, Semantics
from hardsim.targets.subject import Subject

ALONE = "Give a specification of what it should compute: --against FILE."


@dataclass(frozen=True)
class LanguageSource:
    """The language of an input, with the part of the input, or of a specification, that it comes from."""

    semantics: Semantics
    part: str
    """The source in a phrase, such as `the formula, read at the last position`."""
    stated_by: str | None = None
    """Name of the specification that the language is taken from; None: the language is the input's own."""


def language_of(given: Input, at: At | None = None) -> LanguageSource:
    """Return the language of a formula (read at `at`, or at the file's own position), an expression, or a program that
    is compiled as a formula; for any other input that of its specification.

    Raises InputError if there is none, or if an input that has a language of its own is given a reference too;
    SourceError if an example of a formula is wrong; NoAutomaton if a specification names a program.
    """
    own = not (given.is_network or isinstance(given, ModelInput | ProgramInput))
    if not own:
        return _specified(given)
    if given.against is not None:
        message = f"{given.name} itself says which words are accepted; --against is for programs, models and networks"
        raise InputError(message, f"Leave out --against, or classify {given.against.name} alone.")
    semantics = given.semantics(at)
    return LanguageSource(semantics, f"the {given.noun}{_placed(semantics)}")


def _placed(semantics: Semantics) -> str:
    """Return the position at which a formula is read, as the end of a phrase; empty for any other semantics."""
    oracle = semantics.oracle
    return f", read at the {oracle.file.at} position" if isinstance(oracle, Accepts) else ""


def _specified(given: Input) -> LanguageSource:
    """Return the language of the specification of a program, a model or an external network."""
    reference: Reference | None = given.against
    if reference is None and isinstance(given, CompiledInput):
        semantics = Semantics(given.name, given.sha256, given.kind, given.alphabet, Accepts(given.file))
        return LanguageSource(semantics, f"the formula in this model{_placed(semantics)}", given.name)
    if reference is None and not isinstance(given, SpecifiedInput):
        message = f"{given.name} is {given.what}: what it computes has no automaton here"
        raise InputError(message, ALONE)
    if isinstance(given, ProgramInput):
        given.semantics()  # raises an error unless the program accepts words
    target = given.target(ModelOptions())
    if isinstance(reference, Semantics):
        return LanguageSource(reference, f"the specification {reference.name}{_placed(reference)}", reference.name)
    name, sha256 = (given.name, given.sha256) if reference is None else (reference.name, reference.sha256)
    oracle, part = _stated(target, name)
    semantics = Semantics(name, sha256, "network", target.alphabet, oracle)
    return LanguageSource(semantics, f"the specification {name}, {part}", name)


def _negates(lines: Sequence[Any], column: object) -> bool:
    """Return True if the only other line is true where this column is false: `language:` of two outputs makes both."""
    return len(lines) == 1 and isinstance(lines[0][1], Negated) and lines[0][1].column == column


def _stated(target: Subject | External, name: str) -> tuple[Accepts | Members, str]:
    """Return the language that a specification states for a target, and the line that states it. Raises InputError if
    it states no language."""
    oracle: Any = target.oracle
    match oracle:
        case NextSymbols(automaton):
            return Members(automaton), "line next:"
        case Lines(_, _, None, ((_, InLanguage(automaton)),) | ((_, InLanguage(automaton)), (_, Negated()))):
            return Members(automaton), "its regular expression"
        case Lines(at, _, None, ((output, FormulaTruth(file) as one), *others)) if not others or _negates(others, one):
            place: At = "first" if at == "first" else "last"
            line = "language" if others else "output" if output is None else f"output {output}"
            where = f", read at the {place} position" + " (the network is judged at each position)" * (at == "each")
            return Accepts(file.read_at(place)), f"line {line}:{where}"
        case Lines(_, _, None, ((_, _),)):
            raise NoAutomaton(f"{name} states its answers by a program or as numbers, and only formulas have automata")
        case Lines(_, _, None, lines):
            message = f"{name} has {len(lines)} lines output, each with a language of its own"
            raise InputError(message, "Write the formula of one of them into a file (.ltl), and classify that.")
        case Lines():
            message = f"{name} leaves words open (assume:), so it states no single language"
            raise InputError(message, "Write the language that is meant into a file (.ltl, .re), and classify that.")
    raise InputError(f"{name} does not say which words are accepted", "Name a formula (.ltl) or an expression (.re).")
