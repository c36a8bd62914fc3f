"""Instances that Rocq checks: it accepts those that are written, and rejects each with one thing changed."""

import pytest

from hardsim.lang.ltl_parser import parse_text
from hardsim.proof.formulas.every_length import prove_general
from hardsim.proving.rocq.coqc import printed_axioms
from hardsim.proving.rocq.folder import AXIOMS, modules
from hardsim.proving.rocq.instance import instance_text, statement_of
from hardsim.targets.base import ModelOptions
from hardsim.targets.compiled import compile_formula
from hardsim.targets.subject import own_predicates
from tests.support.language import formulas_directory
from tests.support.rocq_theorems import Rocq

pytestmark = pytest.mark.slow
NAMES = """alphabet: "(*" "*)" '"' é\n"(*" S "*)" | '"'\n"""
PROPS = "props: request grant\nlet open = !grant S (request & !grant)\nH (request -> WY !open)\n"
POSITIVE = "alphabet: a b\n#L[a] >= 1 & #L[b & #L[a] = 0] = 0 & #[b & #R[a] >= 1] > 0\n"
COUNTS = "alphabet: a b\n#L[a] = #L[b] & (MOD(3, 1) | #L[a] > 2)\n"


def instance(text: str, regime: str) -> str:
    """Return the instance of a formula."""
    subject = compile_formula(parse_text(text), ModelOptions(regime=regime), name="x.ltl")
    claim = subject.prover()
    proof = prove_general(subject.model, subject.program, None, own_predicates(claim.formula))  # type: ignore[union-attr]
    return instance_text(subject, statement_of(subject, modules()), modules(), proof)


def shipped(name: str) -> str:
    """Return the text of a shipped formula."""
    return (formulas_directory() / name).read_text(encoding="utf-8")


def accepted(rocq: Rocq, text: str) -> bool:
    """Return whether Rocq accepts an instance, with the axioms of the real numbers."""
    output, error = rocq.run(text)
    return error is None and {*(printed_axioms(output) or ())} == {*AXIOMS}


@pytest.mark.parametrize(
    ("text", "regime"),
    [
        (shipped("since.ltl"), "temperature"),
        (shipped("dyck1_depth2.ltl"), "causal-temperature"),
        (shipped("majority.ltl"), "causal-position"),
        (PROPS, "position"),
        (NAMES, "temperature"),
        (COUNTS, "temperature"),
        (POSITIVE, "temperature"),
        ("alphabet: a b\nat: first\na U b\n", "position"),
    ],
    ids=["since", "dyck1_depth2", "majority", "props", "names", "counts", "positive", "first"],
)
def test_rocq_accepts(rocq: Rocq, text: str, regime: str) -> None:
    assert accepted(rocq, instance(text, regime))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(Since (Atom 0) (Atom 1))", "(Since (Atom 0) (Atom 2))"),
        ("(Since (Atom 0) (Atom 1))", "(Once (Atom 1))"),
        ("[(5, 1, (1 # 1))]", "[(5, 2, (1 # 1))]"),
        ("[(-1 # 2); (-3 # 2)]", "[(-1 # 4); (-5 # 4)]"),
        ("Head Future", "Head Unmasked"),
        ("(Reach 4 ByLength (4 # 1) (70955 # 524288))", "(Reach 4 ByLength (4 # 1) (1 # 8))"),
        ("NSince (1, false) (2, false)", "NSince (2, false) (1, false)"),
        ("AtLast F.", "AtFirst F."),
    ],
)
def test_rocq_rejects_mutants(rocq: Rocq, old: str, new: str) -> None:
    text = instance(shipped("since.ltl"), "temperature")
    folded = " ".join(text.split())  # comments stay comments on one line
    assert old in folded
    assert not accepted(rocq, folded.replace(old, new))
