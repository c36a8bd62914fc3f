"""Rocq theorems about formulas, in batches: one run of coqc for many instances, and for many altered ones.

The library is compiled once for a session of tests. An instance is the text that `hardsim prove --rocq` writes. In a
batch each one is a module, and the axioms of all theorems are printed together: printing them takes longer than the
proofs. So the batch rests on the axioms that any of its theorems rests on.
"""

import fcntl
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from hardsim.proving.rocq.coqc import find_prover, printed_axioms
from hardsim.proving.rocq.folder import AXIOMS as AXIOMS
from hardsim.proving.rocq.folder import FLAGS, library, modules
from hardsim.proving.rocq.instance import instance_text, statement_of
from hardsim.verify.rocq.instance import read_instance
from hardsim.verify.rocq.text import RocqTree, TermReader, tokens_of
from tests.support.check import FormulaTarget
from tests.support.subjects import general_proof

HEAD = f"""\
From Coq Require Import List ZArith QArith.
Require Import {" ".join(modules())}.
Import ListNotations.
Open Scope nat_scope.
"""
"""The sentences before the definitions of an instance."""
MINUTES = 10
"""Minutes after which coqc is stopped, which is far more than it needs."""


# ---- instances ----


@dataclass(frozen=True, slots=True)
class Theorem:
    """An instance, as text after HEAD and as trees: the definitions that the formula uses by name, the formula, the
    network, the hints, and the position at which the formula is read, AtFirst or AtLast."""

    name: str
    text: str
    lets: Mapping[str, RocqTree]
    formula: RocqTree
    network: RocqTree
    hints: RocqTree
    reading: str

    @property
    def definitions(self) -> str:
        """The text without the theorem."""
        return self.text.partition("Theorem")[0]

    @property
    def over_letters(self) -> bool:
        """True if symbols are letters, False if they are sets of propositions."""
        return self.network.parts[1].value == "true"


def theorem_of(subject: FormulaTarget) -> Theorem:
    """Return the instance of a formula that is proved for every length. Raises InputError if it is not covered, and
    Undecided if the proof does not lead to one."""
    whole = instance_text(subject, statement_of(subject, modules()), modules(), general_proof(subject))
    begin = whole.index("Open Scope nat_scope.") + len("Open Scope nat_scope.")
    return read_theorem(f"{subject.name} {subject.regime}", whole[begin:])


def read_theorem(name: str, text: str) -> Theorem:
    """Return the instance with this text after HEAD."""
    stated = read_instance(HEAD + text, modules())
    lets = {one.name: one.body for one in stated.lets}
    return Theorem(name, text, lets, stated.formula, stated.network, _hints(text), stated.reading)


def _hints(text: str) -> RocqTree:
    tokens = tokens_of(text)
    words = [token.text for token in tokens]
    begin = next(at for at in range(len(words)) if words[at : at + 4] == ["Definition", "C", ":", "certificate"])
    return TermReader(tokens, begin + 5).read()[0]


def written(tree: RocqTree) -> str:
    """Return the text of a term."""
    match tree.kind:
        case "integer":
            return f"({tree.value})%Z"
        case "ratio":
            ratio = Fraction(tree.value)
            return f"({ratio.numerator} # {ratio.denominator})"
        case "list":
            return f"[{'; '.join(map(written, tree.parts))}]"
        case "tuple":
            return f"({', '.join(map(written, tree.parts))})"
        case "application":
            return f"({' '.join([str(tree.value), *map(written, tree.parts)])})"
    return str(tree.value)


def put(tree: RocqTree, path: Sequence[int], new: RocqTree) -> RocqTree:
    """Return a term with another part at a path."""
    if not path:
        return new
    parts = list(tree.parts)
    parts[path[0]] = put(parts[path[0]], path[1:], new)
    return with_parts(tree, parts)


def with_parts(tree: RocqTree, parts: Sequence[RocqTree]) -> RocqTree:
    """Return a term with other parts. A constructor without arguments is a name."""
    kind = "name" if tree.kind == "application" and not parts else tree.kind
    return replace(tree, kind=kind, parts=tuple(parts))


def paths(tree: RocqTree, path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], RocqTree]]:
    """Yield each part of a term with its path, the term first."""
    yield path, tree
    for number, part in enumerate(tree.parts):
        yield from paths(part, (*path, number))


# ---- coqc ----


@dataclass(frozen=True, slots=True)
class Rocq:
    """An installed Rocq, and a folder with the compiled library."""

    command: tuple[str, ...]
    folder: Path

    def run(self, text: str) -> tuple[str, str | None]:
        """Compile a text. Return what coqc printed, and its error (None if it accepts the text)."""
        # Each run has a folder of its own: the processes of a session share the library.
        with TemporaryDirectory(dir=self.folder.parent) as place:
            (Path(place) / "Batch.v").write_text(text, encoding="utf-8")
            flags = [str(self.folder) if flag == "." else flag for flag in FLAGS]
            command = [*self.command, *flags, "Batch.v"]
            done = subprocess.run(command, cwd=place, capture_output=True, timeout=60 * MINUTES, check=False)
        output, error = done.stdout.decode(), done.stderr.decode()
        return output, None if done.returncode == 0 else error or f"exit code {done.returncode}"

    def axioms(self, theorems: Sequence[Theorem]) -> set[str] | str:
        """Return the axioms on which any of the theorems rests, or the error with which coqc rejects one."""
        parts = [HEAD]
        for number, theorem in enumerate(theorems):
            proved = theorem.text.partition("Print Assumptions")[0]
            parts.append(f"Module T{number}.\n{proved}\nEnd T{number}.\n")
        proofs = ", ".join(f"T{number}.network_computes_formula" for number in range(len(theorems)))
        parts.append(f"Definition proofs := ({proofs}).\nPrint Assumptions proofs.\n")
        output, error = self.run("".join(parts))
        return error if error is not None else set(printed_axioms(output) or ())

    def rejected(self, theorems: Sequence[Theorem]) -> dict[str, str]:
        """Return the theorems that coqc rejects, by name, with its error. Each is tried alone after a batch fails, or
        rests on other axioms than the four."""
        found = self.axioms(theorems)
        if found == {*AXIOMS}:
            return {}
        if len(theorems) == 1:
            return {theorems[0].name: str(found)}
        half = len(theorems) // 2
        return self.rejected(theorems[:half]) | self.rejected(theorems[half:])

    def values(self, head: str, terms: Sequence[str]) -> list[str]:
        """Return what coqc computes for each term after the sentences `head`, as it prints it. A term that takes more
        than 20 seconds gives `timeout`."""
        lines = [
            f'Goal True. first [timeout 20 (let v := eval vm_compute in ({term}) in idtac "=" v) | idtac "= timeout"]. '
            "Abort."
            for term in terms
        ]
        output, error = self.run("\n".join([HEAD, "Set Printing Width 1000000.", head, *lines, ""]))
        assert error is None, error
        found = [line.removeprefix("=").strip() for line in output.splitlines() if line.startswith("=")]
        assert len(found) == len(terms), output[-2000:]
        return found


@cache
def rocq_in(folder: Path) -> Rocq:
    """Return the installed Rocq with the library compiled in a folder; other processes of the session wait. Skips the
    test if there is none."""
    prover = find_prover()
    if prover is None:
        pytest.skip("Rocq is not installed: neither coqc nor rocq is on the path")
    folder.mkdir(exist_ok=True)
    with open(folder / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name, text in library().items():
            if not (folder / f"{name}o").exists():
                (folder / name).write_text(text, encoding="utf-8")
                subprocess.run([*prover.command, *FLAGS, name], cwd=folder, check=True, timeout=60 * MINUTES)
    return Rocq(prover.command, folder)


# ---- words ----


def symbol_text(atoms: Any) -> str:
    """Return the symbol at which exactly these atoms hold."""
    return f"(fun a => existsb (Nat.eqb a) [{'; '.join(map(str, sorted(atoms)))}])"


def truths_of(text: str) -> list[bool]:
    """Return the Booleans in a printed value, in their order."""
    return [word == "true" for word in re.findall(r"true|false", text)]
