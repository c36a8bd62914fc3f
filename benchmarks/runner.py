"""The runner of all benchmarks: cases with the numbers they give, timed in turns; commands run as a user runs them."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from threading import Event, Thread
from time import process_time
from typing import TypeVar

import psutil

from benchmarks.page import amount
from hardsim import __version__
from hardsim.campaign.workers import processors

ROOT = Path(__file__).resolve().parents[1]
HARDSIM = (sys.executable, "-m", "hardsim")
PACKAGES = ("numpy", "mpmath", "python-flint", "gmpy2", "torch")
"""Packages, besides hardsim and Python, that the timings depend on; torch is optional."""

Result = TypeVar("Result")
Target = tuple[str, float]
"""A limit, after `≤` or `≥`."""


class FailedError(Exception):
    """A case that gives no number, because something failed or gave a wrong answer; its targets count as missed."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number of a case of a group. `value` is None where nothing could be measured: then `note` says why,
    and the target counts as missed. `unit` follows the number: `x` for a ratio, `s`, `MiB`, `words/s`, or nothing."""

    group: str
    what: str
    case: str
    value: float | None
    unit: str
    target: Target | None = None
    note: str = ""

    @property
    def limit(self) -> str:
        """The target as text, which is empty without a target."""
        return "" if self.target is None else f"{self.target[0]} {amount(self.target[1], self.unit)}"

    @property
    def missed(self) -> bool:
        """True if there is a target that was not reached."""
        if self.target is None:
            return False
        sign, limit = self.target
        return self.value is None or not (self.value <= limit if sign == "≤" else self.value >= limit)


@dataclass
class Results:
    """The figures of a whole run; `about` says where and when they were measured."""

    about: str
    figures: list[Figure]


@dataclass(frozen=True)
class Case:
    """A case: `measure` sets it up and returns the numbers that it finds, by name, and a note.

    `rows` has the name, unit and target of each figure; the name `a / b` is the ratio of two numbers. Numbers that no
    row names become figures without a target, in the unit `other`. Rows whose numbers are missing are left out."""

    group: str
    name: str
    rows: Sequence[tuple[str, str, Target | None]]
    measure: Callable[[], tuple[Mapping[str, float], str]]
    other: str = "s"

    def figures(self) -> Iterator[Figure]:
        """Measure this case; if it fails, every figure has a note instead of a value."""
        try:
            found, note = self.measure()
        except FailedError as failed:
            for what, unit, target in self.rows:
                yield Figure(self.group, what, self.name, None, unit, target, f"failed: {failed}")
            return
        for what, unit, target in self.rows:
            values = [found[name] for name in what.split(" / ") if name in found]
            if len(values) == len(what.split(" / ")):
                value = values[0] / values[1] if values[1:] else values[0]
                yield Figure(self.group, what, self.name, value, unit, target, note)
        for what in found.keys() - {row[0] for row in self.rows}:
            yield Figure(self.group, what, self.name, found[what], self.other)


def turns(
    runs: Mapping[str, Callable[[], Result]],
    rounds: Sequence[int],
    clock: Callable[[], float] = process_time,
    warm: bool = False,
    least: bool = False,
) -> tuple[dict[str, float], dict[str, Result]]:
    """Run several functions in turns, so that other load on the machine affects all alike; those with fewer rounds end
    earlier. Return the median seconds of each (the `least`, if that is requested), and its last result.

    If `warm`, each timed run follows one of the same function that is not timed, and the least seconds are returned.
    Otherwise each function would find in the caches what the one before it left, which is another one for each."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    results: dict[str, Result] = {}
    for turn in range(max(rounds)):
        for (name, run), most in zip(runs.items(), rounds, strict=True):
            if turn < most:
                if warm:
                    run()
                began = clock()
                results[name] = run()
                seconds[name].append(clock() - began)
    return {name: min(times) if warm or least else median(times) for name, times in seconds.items()}, results


def environment(code: Path = ROOT) -> dict[str, str]:
    """Return the variables of commands that run the hardsim of a checkout, whatever directory they run in."""
    # Compiled modules may be written even where the shell forbids it: else every command would compile what it imports.
    known = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    paths = os.pathsep.join([str(code), *filter(None, [os.environ.get("PYTHONPATH")])])
    # Without PYTHONSAFEPATH the hardsim of the directory where a command runs would come first.
    return {**known, "PYTHONPATH": paths, "PYTHONSAFEPATH": "1", "PYTHONIOENCODING": "utf-8"}


def run(
    command: Sequence[str],
    text: str = "",
    limit: float | None = None,
    place: Path = ROOT,
    variables: Mapping[str, str] | None = None,
) -> str:
    """Run a command in the directory `place` with `text` on standard input and, unless `variables` are given, this
    checkout's hardsim; return its output. After `limit` seconds it is killed.
    Raises FailedError if its exit code is not 0, or it takes too long."""
    env = environment() if variables is None else variables
    try:
        done = subprocess.run(
            command, input=text, timeout=limit, capture_output=True, encoding="utf-8", cwd=place, env=env, check=False
        )
    except subprocess.TimeoutExpired:
        raise FailedError(f"not done after {limit:g} seconds") from None
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        errors = [line for line in lines if "error" in line.lower()]
        raise FailedError((errors or lines[-1:] or [f"exit code {done.returncode}"])[0])
    return done.stdout


@dataclass
class Memory:
    """The greatest memory of the processes that this one starts, in MiB: of all together, where a page that several of
    them share counts once (on Linux; elsewhere once for each), and of a single one that another of them started."""

    total: float = 0.0
    worker: float = 0.0


@contextmanager
def memory(pause: float = 0.02) -> Iterator[Memory]:
    """Measure the memory of all processes that this one starts, looked at after every `pause` seconds."""
    most, ended = Memory(), Event()

    def watch() -> None:
        while not ended.wait(pause):
            with suppress(psutil.NoSuchProcess):
                started = psutil.Process().children()
                every = [below for one in started for below in one.children(recursive=True)]
                most.total = max(most.total, sum(map(_share, (*started, *every))))
                most.worker = max([most.worker, *(one.memory_info().rss / 2**20 for one in every)])

    watcher = Thread(target=watch)
    watcher.start()
    try:
        yield most
    finally:
        ended.set()
        watcher.join()


def _share(process: psutil.Process) -> float:
    """Return the memory of a process in MiB; of pages that n processes share, the n-th part."""
    full = process.memory_full_info()
    return float(getattr(full, "pss", full.rss)) / 2**20


def describe() -> str:
    """Describe this run: date, processor, cores that this process may use, memory, system, and the versions of Python,
    hardsim, and the packages that do the arithmetic."""
    info = Path("/proc/cpuinfo")
    model = re.search(r"^model name\s*: (.+)$", info.read_text(encoding="utf-8") if info.exists() else "", re.MULTILINE)
    packages = [f"{name} {version(name)}" for name in PACKAGES if name != "torch" or find_spec(name)]
    return (
        f"Run of {datetime.now(UTC):%Y-%m-%d}: hardsim {__version__}, {model[1] if model else platform.machine()}, "
        f"{processors()} cores, {psutil.virtual_memory().total / 2**30:.0f} GiB, {platform.system()} "
        f"{platform.machine()}, Python {platform.python_version()}, {', '.join(packages)}; one BLAS thread."
    )
