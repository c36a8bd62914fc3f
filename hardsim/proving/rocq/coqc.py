"""Running Rocq: `coqc` on the library and the instance, in a temporary folder.

The folder of the user is not used, so nothing that is left there takes part in the check.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from hardsim.lazy_dataclass import dataclass
from hardsim.proving.rocq.folder import AXIOMS, FLAGS, PLACES

PATIENCE = 20
"""Seconds in which a prover must print its version."""
TICK = 0.25
"""Seconds between two reports of progress."""
MOST_SHOWN = 400
"""Largest number of characters of an error of Rocq that are quoted."""
_VERSION = re.compile(r"version\s+([0-9][0-9A-Za-z.+~-]*)")
_AXIOM = re.compile(r"([^\s:]+)\s*(?::.*)?")

Ticking = Callable[[int, int], None]
"""Called now and then with the number of files checked, and of all files."""


@dataclass(frozen=True, slots=True)
class Prover:
    """An installed Rocq: the command that checks a file, and its version as it prints it."""

    command: tuple[str, ...]
    version: str


@dataclass(frozen=True, slots=True)
class Checked:
    """The answer of Rocq: the axioms of the theorem, and the reason why it was rejected (None: it was accepted)."""

    axioms: tuple[str, ...]
    reason: str | None = None
    ended: bool = False
    """True if a signal ended Rocq, for example when memory ran out: then it did not answer."""


def find_prover() -> Prover | None:
    """Return the Rocq on the path: `coqc`, or `rocq c` of newer versions. None if there is none that runs."""
    for name, more in (("coqc", ()), ("rocq", ("c",))):
        path = shutil.which(name)
        if path is None:
            continue
        command = (path, *more)
        try:
            answer = subprocess.run(
                [*command, "--version"], capture_output=True, timeout=PATIENCE, stdin=subprocess.DEVNULL, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        found = _VERSION.search(answer.stdout.decode("utf-8", "replace"))
        if answer.returncode == 0 and found:
            return Prover(command, found[1])
    return None


def run_prover(prover: Prover, files: Mapping[str, str], shown: Ticking) -> Checked:
    """Check the files, by name in the order of dependence, of which the last one prints the axioms of its theorem. A
    KeyboardInterrupt ends the prover and is raised again."""
    with TemporaryDirectory(prefix="hardsim-rocq-") as place:
        for name, text in files.items():
            Path(place, name).write_text(text, encoding="utf-8", newline="\n")
        output = ""
        for number, name in enumerate(files):
            code, output, error = _compile(prover, place, name, partial(shown, number, len(files)))
            if code < 0:
                return Checked((), f"{name}: signal {-code} ended Rocq", ended=True)
            if code:
                return Checked((), f"{name}: {_brief(error) or f'exit code {code}'}")
            if not Path(place, name).with_suffix(".vo").is_file():
                return Checked((), f"{name}: Rocq compiled nothing")
        shown(len(files), len(files))
    axioms = printed_axioms(output)
    if axioms is None:
        return Checked((), "no axioms were printed")
    strange = [one for one in axioms if not any(map(partial(_is, one), AXIOMS))]
    absent = [known for known in AXIOMS if not any(_is(one, known) for one in axioms)]
    if strange:
        return Checked(axioms, f"it rests on further axioms: {', '.join(strange)}")
    # A statement about real numbers cannot do without: then another statement was proved.
    return Checked(axioms, f"it does not rest on these axioms: {', '.join(absent)}" if absent else None)


def _compile(prover: Prover, place: str, name: str, tick: Callable[[], None]) -> tuple[int, str, str]:
    """Check a file in a folder. Return the exit code, the output and the error output."""
    # Output goes to files: a pipe that nobody reads would stop the prover.
    with (
        open(Path(place, "out"), "w+b") as out,
        open(Path(place, "err"), "w+b") as err,
        subprocess.Popen(
            # In a session of its own: Ctrl-C reaches hardsim alone, so an end of the prover is its own.
            [*prover.command, *FLAGS, name],
            cwd=place,
            env={name: value for name, value in os.environ.items() if name not in PLACES},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        ) as process,
    ):
        try:
            while True:
                tick()
                try:
                    code = process.wait(TICK)
                    break
                except subprocess.TimeoutExpired:
                    continue
        except BaseException:
            process.kill()
            raise
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
    return code, texts[0], texts[1]


def printed_axioms(output: str) -> tuple[str, ...] | None:
    """Return the names that `Print Assumptions` printed, and any line that is not about an axiom as a whole; none if
    the theorem needs no axiom. None if it printed nothing."""
    if output.strip() == "Closed under the global context":
        return ()
    if not output.strip():
        return None
    first, *lines = output.splitlines()
    # The statement of an axiom follows its name; its further lines are indented.
    starts = [line for line in ([] if first == "Axioms:" else [first]) + lines if line.strip() and line[0] != " "]
    return tuple(match[1] if (match := _AXIOM.fullmatch(line)) else line for line in starts)


def _is(axiom: str, known: str) -> bool:
    """Return True if an axiom is the known one, however much of its path is printed."""
    return axiom == known or axiom.endswith(f".{known}")


def _brief(error: str) -> str:
    """Return an error of Rocq on one line, without its place, and cut if it is long."""
    lines = error.splitlines()
    start = next((number for number, line in enumerate(lines) if line.startswith("Error")), 0)
    text = " ".join(" ".join(lines[start:]).split())
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."
