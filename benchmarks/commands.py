"""Run hardsim as a user does, in its own process, and measure its time and the memory of all its processes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, sleep
from typing import IO

import psutil

ROOT = Path(__file__).resolve().parents[1]
HARDSIM = (sys.executable, "-m", "hardsim")
PAUSE = 0.02
"""Seconds between two measurements of the memory."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A finished command: its exit code, what it printed, its wall-clock seconds, and the memory in MiB (None if it was
    not measured).

    The memory is the largest sum of the peaks (resident set) of processes that were alive at the same time. The
    processes used at least this much together, except for what a process allocates between the last measurement and its
    end.
    """

    code: int
    out: str
    err: str
    seconds: float
    peak: float | None

    @property
    def complaint(self) -> str:
        """The first line of standard error that contains "error", else its last line."""
        lines = [line.strip() for line in self.err.splitlines() if line.strip()]
        errors = [line for line in lines if "error" in line.lower()]
        return errors[0] if errors else lines[-1] if lines else f"exit code {self.code}"


def run(command: Sequence[str], text: str = "", memory: bool = False, limit: float | None = None) -> Finished:
    """Run a command in the project's directory with `text` on standard input, and wait for its end. A command that
    takes more than `limit` seconds is killed (`limit` does not apply while memory is measured); its workers then end by
    themselves.
    """
    # Files, not pipes: a full pipe would block the command while its memory is measured.
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(text.encode())
        given.seek(0)
        began, late = perf_counter(), ""
        process = subprocess.Popen(command, stdin=given, stdout=out, stderr=err, cwd=ROOT, env=environment())
        peak = _watch(process) if memory else None
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            process.kill()
            late = f"not done after {limit:g} seconds"
        code = process.wait()
        return Finished(code, _read(out), late or _read(err), perf_counter() - began, peak)


def _read(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read().decode()


def environment() -> dict[str, str]:
    """Return this process's environment with this checkout's hardsim first on the path of modules.

    Compiled modules may be written even where the shell forbids it: without them every command would compile all that
    it imports.
    """
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    known = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**known, "PYTHONPATH": os.pathsep.join(paths), "PYTHONIOENCODING": "utf-8"}


def _watch(process: subprocess.Popen[bytes]) -> float:
    """Return the largest sum of peaks of processes that are alive at the same time, in MiB."""
    most = 0
    while process.poll() is None:
        with suppress(psutil.NoSuchProcess):
            own = psutil.Process(process.pid)
            most = max(most, sum(peak_memory(one.pid) for one in (own, *own.children(recursive=True))))
        sleep(PAUSE)
    return most / 1024


def peak_memory(pid: int) -> int:
    """Return the largest resident set that a process ever had, in KiB; 0 if the process has ended, or on a system
    without /proc.
    """
    with suppress(OSError):
        found = re.search(r"^VmHWM:\s*(\d+)", Path(f"/proc/{pid}/status").read_text(encoding="utf-8"), re.MULTILINE)
        return int(found[1]) if found else 0
    return 0
