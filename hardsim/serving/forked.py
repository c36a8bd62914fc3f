"""Processes that start at once: each is forked from one process that has imported what they need and does nothing else
(the fork server of multiprocessing). Where there is none, as on Windows, each process imports it anew.

A process ends with the one that asked for it, also if that is killed: then nobody waits for an answer.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from types import ModuleType
from typing import Any

METHOD = "forkserver"
SAFE_PATH = "PYTHONSAFEPATH"
"""The variable that keeps Python from importing modules of the current directory."""


class ForkedProcesses:
    """Processes forked from one that has imported `modules`."""

    def __init__(self, modules: Sequence[str]) -> None:
        known = METHOD in multiprocessing.get_all_start_methods()
        self.context: Any = multiprocessing.get_context(METHOD if known else "spawn")
        if known:
            self.context.set_forkserver_preload(list(modules))

    def warm(self) -> None:
        """Start the process from which the others are forked, so that its imports are done before the first of them."""
        if self.context.get_start_method() != METHOD:
            return
        from multiprocessing import forkserver

        # It inherits both: it imports nothing from the directory in which the command was given, and Ctrl-C is for the
        # process that asks, which then ends the others.
        safe = os.environ.get(SAFE_PATH)
        os.environ[SAFE_PATH] = "1"
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            with _without_main():
                forkserver.ensure_running()
        finally:
            signal.signal(signal.SIGINT, before)
            if safe is None:
                del os.environ[SAFE_PATH]
            else:
                os.environ[SAFE_PATH] = safe

    def start(self, run: Callable[..., object], *given: object, daemon: bool) -> BaseProcess:
        """Start a process that calls `run`; a `daemon` has no processes of its own. Raises OSError if none can be
        started."""
        process: BaseProcess = self.context.Process(target=run_and_end, args=(run, *given), daemon=daemon)
        self.warm()  # again if the first process was killed, which is then the only one that is
        with _without_main():
            try:
                process.start()
            except EOFError:
                raise OSError("the process from which others are forked has ended") from None
        return process


def run_and_end(run: Callable[..., object], *given: object) -> None:
    """Call a function in a process, which is asked to end if the process that asked for it ends."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        _end_after(parent.sentinel)
    run(*given)


def _end_after(sentinel: int) -> None:
    """End this process when nobody holds the other end of a pipe any more. On Linux the pipe itself sends the signal: a
    thread that waits for it would forbid forks, which a check needs for its own processes."""
    if sys.platform == "linux":
        import fcntl

        fcntl.fcntl(sentinel, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(sentinel, fcntl.F_SETSIG, signal.SIGTERM)
        fcntl.fcntl(sentinel, fcntl.F_SETFL, fcntl.fcntl(sentinel, fcntl.F_GETFL) | os.O_ASYNC)
        if connection.wait([sentinel], 0):  # it has ended before
            os._exit(1)
    else:
        threading.Thread(target=_wait_and_end, args=(sentinel,), daemon=True).start()


def _wait_and_end(sentinel: int) -> None:
    with suppress(OSError):
        connection.wait([sentinel])
        os._exit(1)


@contextmanager
def _without_main() -> Iterator[None]:
    """Hide the main program, which new processes would otherwise run again under another name."""
    main, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
