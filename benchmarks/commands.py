"""Run hardsim as a user does, in its own process, and measure its time and the memory of all its processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, sleep
from typing import IO

ROOT = Path(__file__).resolve().parents[1]
HARDSIM = (sys.executable, "-m", "hardsim")
PROC = Path("/proc")
PAUSE = 0.02
"""Seconds between two measurements of the memory."""
GRACE = 20.0
"""Seconds that an interrupted command has to end its workers."""


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
    """Run a command in the project's directory with `text` on standard input, and wait for its end.

    A command that takes more than `limit` seconds is interrupted, as from a keyboard (`limit` does not apply while
    memory is measured).

    Raises:
        OSError: if memory is requested on a system without /proc.
    """
    if memory and not (PROC / "self" / "status").exists():
        raise OSError("memory is measured through /proc, which this system does not have")
    # Files, not pipes: a full pipe would block the command while its memory is measured.
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(text.encode())
        given.seek(0)
        began = perf_counter()
        process = subprocess.Popen(command, stdin=given, stdout=out, stderr=err, cwd=ROOT, env=environment())
        peak = _watch(process) if memory else None
        late = not _ended(process, limit)
        code = process.wait()
        seconds = perf_counter() - began
        printed = [_read(stream) for stream in (out, err)]
    if late:
        return Finished(code or 1, printed[0], f"not done after {limit:g} seconds", seconds, peak)
    return Finished(code, printed[0], printed[1], seconds, peak)


def _ended(process: subprocess.Popen[bytes], limit: float | None) -> bool:
    """Return True if a process ends within `limit` seconds; else interrupt it, and kill it if it goes on."""
    try:
        process.wait(limit)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
        return False
    return True


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
        most = max(most, sum(peak_memory(pid) for pid in family(process.pid)))
        sleep(PAUSE)
    return most / 1024


def family(pid: int) -> list[int]:
    """List a process and its descendants, by their ids."""
    children: dict[int, list[int]] = {}
    for entry in PROC.iterdir():
        if entry.name.isdigit():
            parent = _field(int(entry.name), "PPid")
            if parent is not None:
                children.setdefault(parent, []).append(int(entry.name))
    found = [pid]
    # The list grows while it is iterated: children of children follow.
    for one in found:
        found += children.get(one, [])
    return found


def peak_memory(pid: int) -> int:
    """Return the largest resident set that a process ever had, in KiB; 0 if the process has ended."""
    return _field(pid, "VmHWM") or 0


def _field(pid: int, name: str) -> int | None:
    """Read a number from /proc/PID/status; None if the process has ended or the field is missing."""
    try:
        status = (PROC / str(pid) / "status").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return None
    for line in status.splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    return None
