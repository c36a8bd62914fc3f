"""An SMT solver for tests: z3's answers to queries."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from hardsim.proof.shared.smt import Query

Z3 = Path(sys.executable).with_name("z3")
"""The executable that z3-solver installs beside Python."""


def answers(text: str, directory: Path) -> list[str]:
    """Return z3's answer to each query of an SMT file."""
    file = directory / "queries.smt2"
    file.write_text(text, encoding="utf-8")
    done = subprocess.run([Z3, "-T:600", file], capture_output=True, text=True, check=False)
    return [line for line in done.stdout.splitlines() if line in ("sat", "unsat", "unknown", "timeout")]


def by_kind(steps: Sequence[Query], text: str, directory: Path) -> dict[str, set[str]]:
    """Return the set of z3's answers to the queries of each kind."""
    found: dict[str, set[str]] = {}
    message = answers(text, directory)
    assert len(message) == len(steps)
    for step, answer in zip(steps, message, strict=True):
        found.setdefault(step.kind, set()).add(answer)
    return found
