"""The instance: one Rocq file with a formula, its network, the hints, and the theorem that it computes the formula."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from hardsim.errors import InputError
from hardsim.lang.ast import FormulaFile
from hardsim.lang.core import CountOf, Letters, Lit, Numeric
from hardsim.lang.desugar import desugar
from hardsim.lang.predicate import user_predicates
from hardsim.lang.pretty import format_file
from hardsim.lang.valuations import Valuations, everything
from hardsim.lazy_dataclass import dataclass
from hardsim.proof.shared.result import Proof
from hardsim.proving.formula_certificate import formula_and_meaning
from hardsim.proving.rocq.hints import SCALES, Hints
from hardsim.proving.rocq.network import network_text
from hardsim.proving.rocq.nodes import NodeTable
from hardsim.proving.rocq.surface import atoms_of, formula_text
from hardsim.proving.rocq.syntax import column_of, comment, folded, not_covered
from hardsim.targets.claims import HeadsClaim
from hardsim.targets.subject import Subject

THEOREM = "network_computes_formula"
"""The name of the theorem in every instance."""
LONGEST_NAME = 60
"""Largest number of characters of a module's name that are taken from the name of the input."""
RESERVED = ("let", "type", "prop", "set", "sprop")
"""Words of Rocq, in lower case, that are no good names of modules."""


@dataclass(frozen=True, slots=True)
class TheoremText:
    """The parts of an instance that its theorem is about: definitions of the formula and of the network."""

    module: str
    """The name of the instance without .v."""
    formula: str
    network: str


def module_name(name: str, taken: Collection[str]) -> str:
    """Return the name of the module for an input: its file name as an identifier that begins with a capital, and is
    none of the names that are taken, on file systems that do not distinguish capitals either."""
    base = re.split(r"[/\\]", name)[-1]
    base = "formula" if base.startswith("<") else re.sub(r"\.(ltl|model\.json|json)(?=:|$)", "", base)
    plain = re.sub(r"[^A-Za-z0-9]+", "_", base)[:LONGEST_NAME].strip("_")
    plain = plain if plain[:1].isalpha() else f"Formula_{plain}".rstrip("_")
    known = {one.casefold() for one in (*taken, *RESERVED)}
    return f"{plain[:1].upper()}{plain[1:]}{'_formula' * (plain.casefold() in known)}"


def formula_of(subject: Subject) -> FormulaFile:
    """Return the formula that the network of a subject computes. Raises InputError for other inputs, which have no
    theorem."""
    claim = subject.prover()
    if not isinstance(claim, HeadsClaim) or claim.heads_only:
        raise InputError(
            f"{subject.name} is not the network of a formula, and --rocq is for formulas alone", "Leave out --rocq."
        )
    if claim.formula.oracle is not None:
        raise InputError(f"{subject.name} is a program, and --rocq is for formulas alone", "Leave out --rocq.")
    return claim.formula


def statement_of(subject: Subject, taken: Collection[str]) -> TheoremText:
    """Return the formula and the network of a subject as Rocq text; `taken` are the names of the library's modules.
    Raises InputError, naming the part, if the library does not cover the formula or the network."""
    file, regime = formula_of(subject), subject.regime
    if regime not in SCALES:
        raise not_covered(f"the regime {regime}")
    formula, users = formula_text(file), user_predicates(file)
    core = desugar(file)
    every = CountOf("R", Lit(core.nodes.index(Letters(everything(core.alphabet)))))
    if any(isinstance(node, Numeric) and node.count == every for node in core.nodes):
        raise not_covered("numerical predicates of #R[true], the number of positions from here on")
    return TheoremText(module_name(subject.name, taken), formula, network_text(subject.model, users))


def instance_text(subject: Subject, statement: TheoremText, modules: Collection[str], proof: Proof) -> str:
    """Return the text of the instance of a subject that was proved for every length; `modules` are those of the
    library. Raises Undecided, with the reason, if the proof cannot be written as hints."""
    file = formula_of(subject)
    literals = None if proof.meaning is None else proof.meaning.literals
    document = formula_and_meaning(subject, literals)
    reading = "AtFirst" if file.at == "first" else "AtLast"
    parts = [
        _heading(subject, file),
        "From Coq Require Import List ZArith QArith.",
        f"Require Import {' '.join(modules)}.",
        "Import ListNotations.",
        "Open Scope nat_scope.",
        "",
        _atoms(file),
        folded(statement.formula),
        "",
        folded(statement.network),
        "",
        comment("Hints for the checker, which need no trust: nodes, what the input holds, and each layer."),
        folded(_certificate(subject, file, document)),
        "",
        f"Theorem {THEOREM} : computes N {reading} F.",
        f"Proof. apply (check_sound N {reading} F C). vm_compute. reflexivity. Qed.",
        f"Print Assumptions {THEOREM}.",
        "",
    ]
    return "\n".join(parts)


def _heading(subject: Subject, file: FormulaFile) -> str:
    """Return the comment at the beginning of an instance, with the source text of the formula."""
    text = (
        f"The network of {subject.name} computes its formula, on every word of every length, at the "
        f"{file.at} position.\nRegime {subject.regime}, beta {subject.budget.beta}. This file was written by `hardsim "
        f"prove --all-n --rocq`; Definitions.v says what it means.\n\n{format_file(file).rstrip()}"
    )
    return comment(text)


def _atoms(file: FormulaFile) -> str:
    what = "Propositions" if isinstance(file.alphabet, Valuations) else "Symbols"
    return comment(f"{what}: {', '.join(f'{number} {name}' for number, name in enumerate(atoms_of(file.alphabet)))}.")


def _certificate(subject: Subject, file: FormulaFile, document: Mapping[str, Any]) -> str:
    """Return the definition of the hints `C`."""
    core, regime = desugar(file), subject.regime
    assert regime is not None  # `statement_of` refuses a network without
    table = NodeTable(core, user_predicates(file), document["formula"]["nodes"][len(core.nodes) :])
    start, layers = Hints(subject.model, table, document["meaning"], regime).texts()
    nodes = column_of([entry.text for entry in table.entries])
    return f"Definition C : certificate := Certificate\n  {nodes}\n  {start}\n  {column_of(layers)}."
