"""Tests of running Rocq: by stand-ins for its answers, and with Rocq where it is installed."""

import os
import stat
from pathlib import Path

import pytest

from hardsim.proving.rocq.coqc import Prover, find_prover, printed_axioms, run_prover
from hardsim.proving.rocq.folder import AXIOMS
from tests.support.rocq import needs_rocq

PRINTED = """Axioms:
ClassicalDedekindReals.sig_not_dec : forall P : Prop, {~ ~ P} + {~ P}
ClassicalDedekindReals.sig_forall_dec
  : forall P : nat -> Prop,
    (forall n : nat, {P n} + {~ P n}) -> {n : nat | ~ P n} + {forall n : nat, P n}
"""


def stand_in(folder: Path, name: str, script: str) -> None:
    """Write a command that answers like Rocq."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_axioms() -> None:
    assert printed_axioms(PRINTED) == AXIOMS[:2]
    assert printed_axioms("Closed under the global context\n") == ()
    assert printed_axioms("") is None
    strange = "Axioms:\nCheck.check is assumed to be guarded.\n"
    assert printed_axioms(strange) == ("Check.check is assumed to be guarded.",)
    assert printed_axioms(f"Theory: type in type\n{PRINTED}")[:2] == ("Theory", "Axioms")  # type: ignore[index]


@pytest.mark.parametrize(
    ("name", "script", "version"),
    [
        ("coqc", 'echo "The Coq Proof Assistant, version 8.16.1"', "8.16.1"),
        ("rocq", '[ "$1" = c ] && echo "The Rocq Prover, version 9.0.0"', "9.0.0"),
        ("coqc", "exit 1", None),
        ("coqc", "echo nothing known", None),
        ("other", "echo version 1", None),
    ],
)
def test_versions(name: str, script: str, version: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, name, script)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = find_prover()
    assert (None if found is None else found.version) == version


def test_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COQPATH", str(tmp_path))

    def answer(script: str) -> tuple[tuple[str, ...], str | None]:
        stand_in(tmp_path, "coqc", f"touch $(basename $5 .v).vo; {script}")
        shown: list[tuple[int, int]] = []
        prover = Prover((str(tmp_path / "coqc"),), "0")
        found = run_prover(prover, {"A.v": "", "B.v": ""}, lambda *numbers: shown.append(numbers))
        assert shown[0] == (0, 2)
        return found.axioms, found.reason

    listed = "\\n".join(["Axioms:", *(f"{name} : P" for name in AXIOMS)])
    assert answer(f"printf '{listed}\\n'") == (AXIOMS, None)
    known = ", ".join(AXIOMS)
    assert answer("echo Closed under the global context") == ((), f"it does not rest on these axioms: {known}")
    assert answer(f"printf '{listed}\n'; rm $(basename $5 .v).vo") == ((), "A.v: Rocq compiled nothing")
    assert answer(f"[ -z $COQPATH ] && printf '{listed}\n'") == (AXIOMS, None)
    assert answer("exit 0") == ((), "no axioms were printed")
    assert answer("echo 'Axioms:'; echo 'Check.check_sound : P'") == (
        ("Check.check_sound",),
        "it rests on further axioms: Check.check_sound",
    )
    failing = "case $5 in B.v) echo 'File \"B.v\", line 1:' >&2; echo 'Error: no' >&2; echo ' way' >&2; exit 1;; esac"
    assert answer(failing) == ((), "B.v: Error: no way")
    assert answer("exit 3") == ((), "A.v: exit code 3")
    assert answer("kill -9 $$") == ((), "A.v: signal 9 ended Rocq")


def test_an_interruption_ends_the_prover(tmp_path: Path) -> None:
    stand_in(tmp_path, "coqc", f"echo $$ > {tmp_path}/pid; exec sleep 600")

    def interrupt(done: int, total: int) -> None:
        if (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_prover(Prover((str(tmp_path / "coqc"),), "0"), {"A.v": ""}, interrupt)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


@needs_rocq
def test_rocq_itself() -> None:
    prover = find_prover()
    assert prover is not None
    library = "From Coq Require Import Reals.\nDefinition one := 1%R.\n"
    good = "From Coq Require Import Reals. Require Import A.\nLemma l : one = 1%R. Proof. reflexivity. Qed.\n"
    shown = f"{good}Print Assumptions l.\n"
    missing = run_prover(prover, {"A.v": library, "B.v": shown}, lambda *_: None).reason
    assert missing is not None
    assert missing.startswith("it does not rest on these axioms")
    wrong = run_prover(prover, {"A.v": library, "B.v": shown.replace("one = 1", "one = 2")}, lambda *_: None)
    assert wrong.reason is not None
    assert wrong.reason.startswith("B.v: Error")
