"""A dask cluster of two worker processes on loopback, and helpers that watch processes.

The cluster runs in processes of its own.
"""

import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import psutil

SCRIPT = """
import sys
from distributed import LocalCluster

if __name__ == "__main__":
    made = [
        LocalCluster(n_workers=n, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, silence_logs=50)
        for n in (2, 0)
    ]
    print(*(cluster.scheduler_address for cluster in made), flush=True)
    sys.stdin.readline()
"""


T = TypeVar("T")
PATIENCE = 120.0
"""Seconds after which an operation is taken to hang: many times its duration on a busy machine."""


@dataclass(frozen=True)
class Cluster:
    """Addresses of a scheduler with two workers and of one without any, and the process that runs both."""

    address: str
    empty: str
    process: psutil.Process

    def workers(self) -> list[psutil.Process]:
        """Return the processes of the workers."""
        return [one for one in living(self.process) if "spawn_main" in " ".join(one.cmdline())]


@contextmanager
def local_cluster(directory: str) -> Iterator[Cluster]:
    """Run both schedulers while the block runs; `directory` receives a script and the files that workers write."""
    path = f"{directory}/cluster.py"
    with open(path, "w", encoding="utf-8") as file:
        file.write(SCRIPT)
    process = subprocess.Popen(
        [sys.executable, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        cwd=directory,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        address, empty = process.stdout.readline().split()
        yield Cluster(address, empty, psutil.Process(process.pid))
    finally:
        left = living(psutil.Process(process.pid))
        process.kill()
        process.communicate()
        for one in left:
            with suppress(psutil.NoSuchProcess):
                one.kill()


def living(process: psutil.Process) -> list[psutil.Process]:
    """Return the descendants of a process that still run."""
    with suppress(psutil.NoSuchProcess):
        return [one for one in process.children(recursive=True) if one.status() != psutil.STATUS_ZOMBIE]
    return []


def workers_of(process: psutil.Process) -> list[psutil.Process]:
    """Return the worker processes of a process: those that joblib started, and those that it forked."""
    found = []
    for one in living(process):
        with suppress(psutil.NoSuchProcess):
            if any("LokyProcess" in part for part in one.cmdline()) or one.cmdline() == process.cmdline():
                found.append(one)
    return found


def awaited(ask: Callable[[], T]) -> T:
    """Call `ask` until its result is true or PATIENCE seconds have passed; return the last result."""
    end = time.monotonic() + PATIENCE
    while not (found := ask()) and time.monotonic() < end:
        time.sleep(0.02)
    return found


def gone(processes: list[psutil.Process]) -> bool:
    """Wait for processes to end; return True if all of them did."""
    return awaited(lambda: not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in processes))


def two_workers(process: int) -> list[psutil.Process]:
    """Return the worker processes of a process once there are two, else an empty list."""
    found = workers_of(psutil.Process(process))
    return found if len(found) == 2 else []


def kept_in(checkpoint: Path) -> dict[str, str]:
    """Return, as JSON, the entries of a `--resume` file for each input in each regime."""
    with closing(sqlite3.connect(checkpoint)) as database:
        return dict(database.execute("SELECT name, value FROM kept WHERE kind = 'run'"))


def words_done(checkpoint: Path) -> int:
    """Return the number of words that a `--resume` file has stored; a finished result counts as 10^6."""
    runs = kept_in(checkpoint).values() if checkpoint.exists() else ()
    kept = [json.loads(one) for one in runs]
    return sum(one["words"] if one["result"] is None else 10**6 for one in kept)
