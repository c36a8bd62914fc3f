"""Tests of `hardsim prove --rocq`: what is printed and written, and exit codes. A stand-in answers for Rocq."""

import json
import os
import signal
import stat
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

import hardsim
from hardsim.proving.rocq.folder import AXIOMS, folder_files, library
from tests.cli.conftest import COMMAND, Cli, unfolded
from tests.support.clusters import PATIENCE
from tests.support.rocq import needs_rocq

ACCEPTS = "\n".join(f"echo '{line}'" for line in ("Axioms:", *(f"{name} : P" for name in AXIOMS)))
REJECTS = "case $5 in Since.v) echo 'Error: Unable to unify.' >&2; exit 1;; esac"
SHORT = ("--all-n", "--max-n", "4")


@pytest.fixture(autouse=True)
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on the path: it is empty, so there is no Rocq."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def answering(path: Path, script: str) -> None:
    """Put a stand-in for Rocq on the path."""
    command = path / "coqc"
    version = "if [ \"$1\" = --version ]; then echo 'The Coq Proof Assistant, version 8.16.1'; exit; fi"
    command.write_text(f"#!/bin/sh\n{version}\n: > ${{5%.v}}.vo\n{script}\n", encoding="utf-8")
    command.chmod(command.stat().st_mode | stat.S_IXUSR)


def record(outcome: Any) -> Any:
    """Return what the JSON document of a run says of the theorem."""
    return outcome.result["rocq"]


def test_without_rocq_the_files_are_written(hardsim: Cli, since: Path, tmp_path: Path) -> None:
    outcome = hardsim("prove", since, *SHORT, "--rocq", tmp_path / "th").exits(
        0, "not checked, as neither coqc nor rocq"
    )
    assert outcome.out.startswith(f"PROVED  {since}\n")
    written = {one.name for one in (tmp_path / "th").iterdir()}
    assert written == {*library(), "Since.v", "Makefile", "_CoqProject"}
    again = hardsim("prove", since, *SHORT, "--rocq", tmp_path / "th", "--json", "-")
    assert record(again) == {
        "folder": str(tmp_path / "th"),
        "files": [*folder_files("Since", "")],
        "instance": "Since.v",
        "verdict": "not checked",
        "coqc": None,
        "reason": None,
        "axioms": [],
        "seconds": None,
    }


def test_rocq_accepts(hardsim: Cli, since: Path, tmp_path: Path, path: Path) -> None:
    answering(path, ACCEPTS)
    outcome = hardsim("prove", since, *SHORT, "--rocq", tmp_path / "th", "--quiet").exits(0, *AXIOMS)
    assert outcome.out.startswith(f"PROVED, checked by Rocq 8.16.1  {since}\n")
    noted = hardsim("prove", since, *SHORT, "--rocq", tmp_path / "th", "--json", tmp_path / "x.json")
    noted.exits(0).says("Rocq 8.16.1 (", "checks the theorem and its library. Ctrl-C ends it.")
    (result,) = json.loads((tmp_path / "x.json").read_text())["results"]
    assert (result["verdict"], result["rocq"]["verdict"], result["rocq"]["coqc"]) == ("PROVED", "checked", "8.16.1")
    assert result["rocq"]["axioms"] == [*AXIOMS]


def test_rocq_rejects(hardsim: Cli, since: Path, tmp_path: Path, path: Path) -> None:
    answering(path, REJECTS)
    outcome = hardsim("prove", since, *SHORT, "--rocq", tmp_path / "th").exits(
        3, "rejected by Rocq 8.16.1: Since.v: Error: Unable to unify.. The proof by hardsim stands"
    )
    assert outcome.out.startswith(f"PROVED  {since}\n")
    outcome.says("Rocq 8.16.1 rejects the theorem in", "the proof by hardsim stands")
    assert (tmp_path / "th" / "Since.v").exists()


def test_rocq_does_not_answer(hardsim: Cli, since: Path, tmp_path: Path, path: Path) -> None:
    answering(path, "kill -9 $$")
    outcome = hardsim("prove", since, *SHORT, "--rocq", tmp_path / "th")
    outcome.exits(3, "not checked by Rocq 8.16.1: Definitions.v: signal 9 ended Rocq")
    outcome.says("Rocq 8.16.1 did not check the theorem in")


def test_an_interruption_is_no_rejection(since: Path, tmp_path: Path, path: Path) -> None:
    answering(path, f"echo $$ > {tmp_path}/pid; exec /bin/sleep 600")
    command = [*COMMAND, "prove", str(since), *SHORT, "--rocq", str(tmp_path / "th")]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as run:
        while not (tmp_path / "pid").exists() and run.poll() is None:
            time.sleep(0.05)
        os.killpg(run.pid, signal.SIGINT)  # as a terminal does
        out, err = run.communicate(timeout=PATIENCE)
    assert run.returncode == 130, err
    assert out.startswith(f"PROVED  {since}\n")
    assert "not checked, as Rocq was interrupted" in unfolded(out)
    assert "Rocq has not checked it" in err
    assert (tmp_path / "th" / "Since.v").exists()


def test_further_axioms_are_no_check(hardsim: Cli, since: Path, tmp_path: Path, path: Path) -> None:
    answering(path, f"{ACCEPTS}\necho 'Check.trust_me : P'")
    hardsim("prove", since, *SHORT, "--rocq", tmp_path / "th").exits(3, "rests on further axioms: Check.trust_me")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("--max-n", "4"), "--rocq writes a theorem about every length, and needs --all-n"),
        ((*SHORT, "--heads-only"), "--heads-only claims no formula"),
        ((*SHORT, "--tau", "1/n"), "--rocq does not cover temperatures other than those of the regimes (--tau)"),
        ((*SHORT, "--regime", "all"), "one Rocq theorem is about one network"),
        ((*SHORT, "--regime", "none"), "--rocq does not cover the regime none"),
    ],
)
def test_options_that_are_refused(
    hardsim: Cli, since: Path, tmp_path: Path, arguments: tuple[str, ...], part: str
) -> None:
    hardsim("prove", since, *arguments, "--rocq", tmp_path / "th").refused(part)
    assert not (tmp_path / "th").exists()


def test_inputs_that_are_refused(hardsim: Cli, inputs: list[Path], since: Path, tmp_path: Path) -> None:
    for name in inputs[:2]:
        hardsim("prove", name, *SHORT, "--rocq", tmp_path / "th").refused("--rocq is for formulas alone")
    hardsim("prove", since, inputs[2], *SHORT, "--rocq", tmp_path / "th").refused("one Rocq theorem is about one input")
    given = ("-e", "F[1,2] a", "--alphabet", "a b")
    hardsim("prove", *given, *SHORT, "--rocq", tmp_path / "th").refused("does not cover the operator F[1,2]")
    given = ("-e", "SQUARE(#R[true])", "--alphabet", "a b")
    hardsim("prove", *given, *SHORT, "--rocq", tmp_path / "th").refused("does not cover numerical predicates")
    assert not (tmp_path / "th").exists()


def test_a_foreign_folder_is_refused(hardsim: Cli, since: Path, tmp_path: Path) -> None:
    hardsim("prove", since, *SHORT, "--rocq", tmp_path).refused("was not written by hardsim prove --rocq")


def test_there_is_no_theorem_without_a_proof(hardsim: Cli, since: Path, tmp_path: Path) -> None:
    assert hardsim("prove", since, *SHORT, "--beta", "1", "--rocq", tmp_path / "th").code == 1
    assert not (tmp_path / "th").exists()


def test_python(since: Path, tmp_path: Path, path: Path) -> None:
    model = hardsim.load(since)
    found = model.prove(all_n=True, max_n=4, rocq=tmp_path / "th").rocq
    assert found is not None
    assert (found.verdict, found.coqc) == ("not checked", None)
    answering(path, ACCEPTS)
    found = model.prove(all_n=True, max_n=4, rocq=tmp_path / "th").rocq
    assert found is not None
    assert (found.verdict, found.coqc, found.axioms) == ("checked", "8.16.1", AXIOMS)
    with pytest.raises(hardsim.errors.InputError, match="was not written by hardsim"):
        model.prove(all_n=True, max_n=4, rocq=tmp_path)


@needs_rocq
@pytest.mark.slow
def test_make(hardsim: Cli, since: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin:/usr/local/bin")
    hardsim("prove", since, *SHORT, "--rocq", tmp_path / "th").exits(0, "PROVED, checked by Rocq")

    def make() -> str:
        return subprocess.run(["make", "-C", str(tmp_path / "th")], capture_output=True, text=True, check=True).stdout

    assert all(name in make() for name in AXIOMS)
    second = make()
    assert AXIOMS[0] in second
    assert "coqc" not in second


@pytest.mark.parametrize("option", ["--json", "--certificate"])
def test_no_result_is_written_into_the_folder(hardsim: Cli, since: Path, tmp_path: Path, option: str) -> None:
    hardsim("prove", since, *SHORT, "--rocq", tmp_path / "th").exits(0)
    text = (tmp_path / "th" / "Since.v").read_bytes()
    given = ("--rocq", tmp_path / "th", option, tmp_path / "th" / "Since.v")
    hardsim("prove", since, *SHORT, *given).refused("is inside the folder of --rocq")
    assert (tmp_path / "th" / "Since.v").read_bytes() == text
