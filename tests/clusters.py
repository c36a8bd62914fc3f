"""A dask cluster of two worker processes on loopback, in processes of its own, and what became of processes."""

from __future__ import annotations

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
"""Seconds after which something is taken to hang: many times what it takes on a busy machine."""


@dataclass(frozen=True)
class Cluster:
    """The address of a scheduler with two workers, that of one without any, and the process that has both."""

    address: str
    empty: str
    process: psutil.Process

    def workers(self) -> list[psutil.Process]:
        """The processes of the workers."""
        return [one for one in living(self.process) if "spawn_main" in " ".join(one.cmdline())]


@contextmanager
def local_cluster(directory: str) -> Iterator[Cluster]:
    """Both schedulers, while the block runs; `directory` holds a script and what workers write."""
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
    """The descendants of a process."""
    with suppress(psutil.NoSuchProcess):
        return [one for one in process.children(recursive=True) if one.status() != psutil.STATUS_ZOMBIE]
    return []


def workers_of(process: psutil.Process) -> list[psutil.Process]:
    """The worker processes that joblib started for a process."""
    found = []
    for one in living(process):
        with suppress(psutil.NoSuchProcess):
            if any("LokyProcess" in part for part in one.cmdline()):
                found.append(one)
    return found


def awaited(ask: Callable[[], T]) -> T:
    """What is found when something is found; what is not there after PATIENCE never comes."""
    end = time.monotonic() + PATIENCE
    while not (found := ask()) and time.monotonic() < end:
        time.sleep(0.02)
    return found


def gone(processes: list[psutil.Process]) -> bool:
    """Whether all of some processes end."""
    return awaited(lambda: not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in processes))


def two_workers(process: int) -> list[psutil.Process]:
    """The worker processes of a process once there are two."""
    found = workers_of(psutil.Process(process))
    return found if len(found) == 2 else []


def kept_in(checkpoint: Path) -> dict[str, str]:
    """What a file of `--resume` holds of each input in each regime, as JSON."""
    with closing(sqlite3.connect(checkpoint)) as database:
        return dict(database.execute("SELECT name, value FROM kept WHERE kind = 'run'"))


def words_done(checkpoint: Path) -> int:
    """How many words a file of `--resume` has; many for a result."""
    runs = kept_in(checkpoint).values() if checkpoint.exists() else ()
    kept = [json.loads(one) for one in runs]
    return sum(one["words"] if one["result"] is None else 10**6 for one in kept)
