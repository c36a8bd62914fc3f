"""How long Rocq takes to check the theorem of every shipped formula, in every regime.

    python -m benchmarks.rocq           write and check all theorems; a quarter of an hour, with coqc on the path
    python -m benchmarks.rocq --docs    write docs/rocq.md from rocq.json; nothing is run

Each entry is about the files that `hardsim prove FILE --regime REGIME --all-n --rocq DIR` writes. The library is
checked once, and then each instance against it, as `make -C DIR` does.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from tempfile import TemporaryDirectory

from benchmarks.page import ROOT, Page, grid
from hardsim.errors import HardsimError, Unsupported
from hardsim.program.regimes import PROVEN
from hardsim.proving.prove import prove_subject
from hardsim.proving.rocq.coqc import Prover, find_prover, printed_axioms
from hardsim.proving.rocq.folder import AXIOMS, FLAGS, library, modules
from hardsim.proving.rocq.instance import instance_text, statement_of
from hardsim.targets.base import ModelOptions
from hardsim.targets.opening import read_input

FORMULAS = ROOT / "formulas"
PAGE = Page("rocq-times", "rocq.md", "rocq.json")
LIBRARY = "library"
"""The name of the entry about the library; its `regime` is the version of Rocq."""


@dataclass(frozen=True)
class RocqTime:
    """The processor seconds in which Rocq accepts the theorem of a formula in a regime; None if there is no such
    theorem, and then `refused` is the reason."""

    formula: str
    regime: str
    seconds: float | None = None
    refused: str | None = None


class RejectedError(Exception):
    """Rocq does not accept a file, or its theorem rests on other axioms than those of the real numbers."""


def cases() -> list[tuple[str, str]]:
    """Return all shipped formulas, each with every regime."""
    return list(product((path.stem for path in sorted(FORMULAS.glob("*.ltl"))), PROVEN))


def check(prover: Prover, folder: Path, name: str) -> tuple[float, str]:
    """Check a file with Rocq. Return the processor seconds, of user and system, and what it prints."""
    before = getrusage(RUSAGE_CHILDREN)
    run = subprocess.run(
        [*prover.command, *FLAGS, name], cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    after = getrusage(RUSAGE_CHILDREN)
    if run.returncode:
        raise RejectedError(f"{name}: {run.stderr.strip()}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, run.stdout


def check_library(prover: Prover, folder: Path) -> RocqTime:
    """Write the library to a folder, and check it."""
    seconds = 0.0
    for name, text in library().items():
        (folder / name).write_text(text, encoding="utf-8")
        seconds += check(prover, folder, name)[0]
    return RocqTime(LIBRARY, prover.version, round(seconds, 2))


def check_theorem(prover: Prover, folder: Path, formula: str, regime: str) -> RocqTime:
    """Write the instance of a formula to a folder with the checked library, and check it."""
    try:
        subject = read_input(str(FORMULAS / f"{formula}.ltl")).compile(ModelOptions(regime))
    except Unsupported as refusal:
        return RocqTime(formula, regime, refused=refusal.message)
    proof = prove_subject(subject, 1, all_n=True).all_n
    assert proof is not None
    try:
        statement = statement_of(subject, modules())
        text = instance_text(subject, statement, modules(), proof)
    except HardsimError as refusal:
        return RocqTime(formula, regime, refused=str(refusal))
    name = f"{statement.module}.v"
    (folder / name).write_text(text, encoding="utf-8")
    seconds, printed = check(prover, folder, name)
    axioms = printed_axioms(printed)
    if axioms is None or not set(axioms) <= set(AXIOMS):
        raise RejectedError(f"{name}: rests on {axioms}")
    return RocqTime(formula, regime, round(seconds, 2))


def render(found: Sequence[RocqTime]) -> str:
    """Return a sentence about the library and the table of seconds: a row for each formula, a column for each
    regime."""
    (shared,) = (one for one in found if one.formula == LIBRARY)
    by = {(one.formula, one.regime): one for one in found}
    names = dict.fromkeys(one.formula for one in found if one is not shared)
    rows = [(name, *(_cell(by[name, regime]) for regime in PROVEN)) for name in names]
    accepted = sum(one.seconds is not None for one in found) - 1
    about = (
        f"Rocq {shared.regime} accepts all {accepted} theorems, and takes {shared.seconds:.0f} seconds for the library."
    )
    return f"{about}\n\n{grid(('formula', *PROVEN), rows, range(1, 1 + len(PROVEN)))}"


def _cell(one: RocqTime) -> str:
    return "–" if one.seconds is None else f"{one.seconds:.1f}"


def main() -> int:
    """Check all theorems, or read the times that are stored, and write the table. Return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--docs", action="store_true", help=f"render {PAGE.results} into docs/{PAGE.page}")
    if parser.parse_args().docs:
        found = PAGE.read(RocqTime)
    else:
        prover = find_prover()
        if prover is None:
            print("Rocq is not on the path: neither coqc nor rocq", file=sys.stderr)
            return 2
        with TemporaryDirectory() as place:
            found = [check_library(prover, Path(place))]
            for formula, regime in cases():
                found.append(check_theorem(prover, Path(place), formula, regime))
                print(formula, regime, found[-1].seconds or found[-1].refused, flush=True)
        PAGE.store(found)
    PAGE.write(render(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
