"""The reference of an external network in a form that proofs about prefixes read."""

from __future__ import annotations

from typing import Any

from hardsim.lang.automata.of_formula import NoAutomaton
from hardsim.lang.spec.oracle import ExpectedColumn, FormulaTruth, Lines, Matches, Negated, NextSymbols
from hardsim.proof.shared.result import NotProved
from hardsim.targets.external import External
from hardsim.targets.semantics import Accepts, AcceptsProgram, Winner, automaton_of


def prefix_oracle(subject: External) -> Any:
    """Return the oracle of an external network in a form that the prover reads: an oracle of a specification. Raises
    NotProved if the reference is a program or a function."""
    oracle = subject.oracle
    if isinstance(oracle, NextSymbols | Lines):
        return oracle
    decide = subject.network.readout.decide
    if isinstance(oracle, Winner):
        column = _column(oracle.oracle, subject)
        return Lines("last", decide, None, ((oracle.yes, column), (oracle.no, Negated(column))))
    return Lines("last", decide, None, ((None, _column(oracle, subject)),))


def _column(oracle: Any, subject: External) -> ExpectedColumn:
    """Return a semantics as the truth of a line: of an automaton, or of a formula with counts, which has none."""
    try:
        return Matches(automaton_of(oracle, subject.alphabet, str(subject.against)))
    except NoAutomaton as error:
        if not isinstance(oracle, Accepts) or isinstance(oracle, AcceptsProgram) or oracle.file.at != "last":
            raise NotProved(f"proofs are about specifications, formulas and languages: {error}") from None
        return FormulaTruth(oracle.file)
