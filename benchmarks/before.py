"""Commands of this version beside the same commands of an earlier commit, on the same files: processor time, in turns.

Both run in a checkout of the earlier commit, so that names of files mean the earlier files. No variable sets the
number of BLAS threads, as for most users: the earlier version has one for each core, and where they wait, which takes
more time on a busy machine, their time counts. Each run says which hardsim it imported: no version is compared with
itself."""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

from benchmarks.commands import FLIPFLOP, SEARCHED, SINCE, widened
from benchmarks.runner import ROOT, Case, FailedError, environment, run, turns
from hardsim.cli.app import BLAS_THREADS

EARLIER = "a698d429"
"""A commit of November 2026, before several temperatures or words of several lengths shared a pass."""
NOW, THEN = "now", EARLIER
SPECIFICATION = f"flipflop-{SEARCHED}.spec"
"""Stands for the path of the specification of `widened`."""
FASTER: tuple[tuple[int, float, Sequence[str]], ...] = (
    (2, 0.5, ("check", FLIPFLOP, "--max-n", "512")),
    (3, 0.6, ("check", "formulas/dyck2.srasp", "--max-n", "64")),
    (3, 0.4, ("bound", FLIPFLOP, "--max-n", "16")),
    (7, 0.75, ("check", SINCE)),
    (3, 0.6, ("check", "formulas", "formulas/networks", "--max-n", "8")),
    (3, 0.5, ("check", SPECIFICATION, "--max-n", str(SEARCHED), "--engine", "float64")),
)
"""Numbers of runs, at least two since the first compiles modules; greatest ratios of times; commands."""
NOTE = "one process; no variable sets BLAS threads"
COMMAND = "import hardsim; print(hardsim.__file__, flush=True); from hardsim.cli.app import main; main()"
"""The command `hardsim`, which first prints where it was imported from."""


@contextmanager
def checkout(commit: str) -> Iterator[Path]:
    """Extract the package and the formulas of a commit to a temporary directory.
    Raises FailedError if the commit is not in the history at hand, as in a shallow clone."""
    command = ["git", "archive", "--format=zip", commit, "hardsim", "formulas"]
    try:
        packed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        raise FailedError(f"commit {commit} is not in the git history of this checkout: not measured") from None
    with tempfile.TemporaryDirectory() as directory:
        zipfile.ZipFile(io.BytesIO(packed)).extractall(directory)
        yield Path(directory).resolve()


def report(code: Path, place: Path, command: Sequence[str]) -> str:
    """Run a command of hardsim in the directory `place` with the code of the checkout `code`; return its report.
    Raises FailedError if it runs other code."""
    variables = {name: value for name, value in environment(code).items() if name not in BLAS_THREADS}
    printed = run((sys.executable, "-c", COMMAND, *command), place=place, variables=variables)
    imported, _, text = printed.partition("\n")
    if Path(imported).resolve().parents[1] != code:
        raise FailedError(f"{imported} ran, not the hardsim of {code}")
    return text


def modules(code: Path) -> dict[str, bytes]:
    """Return the text of every module of a checkout's hardsim, by its path."""
    return {str(path.relative_to(code)): path.read_bytes() for path in (code / "hardsim").rglob("*.py")}


def compared(rounds: int, command: Sequence[str]) -> tuple[Mapping[str, float], str]:
    """Measure the least processor time, of user and system, of a command of this version and of the earlier one.
    Raises FailedError if both are the same code."""

    def clock() -> float:
        used = getrusage(RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    with checkout(EARLIER) as earlier, widened() as specification:
        if modules(ROOT) == modules(earlier):
            raise FailedError(f"this version is that of {EARLIER}")
        words = [specification if word == SPECIFICATION else word for word in (*command, "--workers", "1")]
        runs = {name: partial(report, code, earlier, words) for name, code in ((NOW, ROOT), (THEN, earlier))}
        return turns(runs, [rounds] * 2, clock, least=True)[0], NOTE


CASES = tuple(
    Case("before", " ".join(command), [(f"{NOW} / {THEN}", "x", ("≤", target))], partial(compared, rounds, command))
    for rounds, target, command in FASTER
)
