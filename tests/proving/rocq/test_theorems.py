"""Instances that Rocq checks: it accepts those that are written, and rejects each with one thing changed."""

import subprocess
from pathlib import Path

import pytest

from hardsim.lang.ltl_parser import parse_text
from hardsim.proof.formulas.every_length import prove_general
from hardsim.proving.rocq.coqc import AXIOMS, find_prover, printed_axioms
from hardsim.proving.rocq.folder import FLAGS, library, modules
from hardsim.proving.rocq.instance import instance_text, statement_of
from hardsim.targets.base import ModelOptions
from hardsim.targets.compiled import compile_formula
from hardsim.targets.subject import own_predicates
from tests.support.language import formulas_directory
from tests.support.rocq import needs_rocq

pytestmark = [needs_rocq, pytest.mark.slow]
NAMES = """alphabet: "(*" "*)" '"' é\n"(*" S "*)" | '"'\n"""
PROPS = "props: request grant\nlet open = !grant S (request & !grant)\nH (request -> WY !open)\n"
COUNTS = "alphabet: a b\n#L[a] = #L[b] & (MOD(3, 1) | #L[a] > 2)\n"


@pytest.fixture(scope="module")
def compiled_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the library, which Rocq has checked."""
    folder = tmp_path_factory.mktemp("library")
    for name, text in library().items():
        (folder / name).write_text(text, encoding="utf-8")
        assert checked(folder, name).returncode == 0
    return folder


def checked(folder: Path, name: str) -> "subprocess.CompletedProcess[str]":
    """Run Rocq on a file of a folder."""
    prover = find_prover()
    assert prover is not None
    command = [*prover.command, *FLAGS, name]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def instance(text: str, regime: str) -> str:
    """Return the instance of a formula."""
    subject = compile_formula(parse_text(text), ModelOptions(regime=regime), name="x.ltl")
    claim = subject.prover()
    proof = prove_general(subject.model, subject.program, None, own_predicates(claim.formula))  # type: ignore[union-attr]
    return instance_text(subject, statement_of(subject, modules()), modules(), proof)


def shipped(name: str) -> str:
    """Return the text of a shipped formula."""
    return (formulas_directory() / name).read_text(encoding="utf-8")


def accepted(folder: Path, text: str) -> bool:
    """Return whether Rocq accepts an instance, with the axioms of the real numbers."""
    (folder / "Tried.v").write_text(text, encoding="utf-8")
    answer = checked(folder, "Tried.v")
    return answer.returncode == 0 and {*(printed_axioms(answer.stdout) or ())} == {*AXIOMS}


@pytest.mark.parametrize(
    ("text", "regime"),
    [
        (shipped("since.ltl"), "temperature"),
        (shipped("dyck1_depth2.ltl"), "causal-temperature"),
        (shipped("majority.ltl"), "causal-position"),
        (PROPS, "position"),
        (NAMES, "temperature"),
        (COUNTS, "temperature"),
        ("alphabet: a b\nat: first\na U b\n", "position"),
    ],
    ids=["since", "dyck1_depth2", "majority", "props", "names", "counts", "first"],
)
def test_rocq_accepts(compiled_library: Path, text: str, regime: str) -> None:
    assert accepted(compiled_library, instance(text, regime))


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
def test_rocq_rejects_mutants(compiled_library: Path, old: str, new: str) -> None:
    text = instance(shipped("since.ltl"), "temperature")
    folded = " ".join(text.split())  # comments stay comments on one line
    assert old in folded
    assert not accepted(compiled_library, folded.replace(old, new))
