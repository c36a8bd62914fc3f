"""The crews (worker processes or machines) of one command, and the silence of their libraries on its streams."""

from __future__ import annotations

import logging
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import partial
from typing import Any, TextIO, cast

from hardsim.campaign.interrupts import uninterrupted
from hardsim.campaign.options import Request
from hardsim.campaign.workers import DASK, LOCAL, RAY, Crew, DaskCrew, LocalCrew, Lost, RayCrew, need


@dataclass
class Crews:
    """The source of the crew of each check: processes of this machine, or a cluster, which is joined once. `lost` is
    called with a message when a worker goes away."""

    request: Request
    lost: Lost
    _cluster: Crew | None = None
    _processes: Crew | None = None

    def join(self) -> None:
        """Connect to the cluster, if the request names one.

        Raises:
            InputError: if the cluster cannot be used.
        """
        if self.request.backend == DASK:
            self._cluster = DaskCrew(self.request.scheduler or "", self.request.workers, self.lost)
        elif self.request.backend == RAY:
            self._cluster = RayCrew(self.request.workers, self.lost)

    def crew(self, default: Callable[[], int]) -> Crew:
        """Return the crew of the next check; `default` returns the number of local processes that the check is
        worth."""
        if self._cluster is not None:
            return self._cluster
        crew = LocalCrew(self.request.workers or default(), self.lost)
        if not crew.alone:
            self._processes = crew  # joblib uses the same processes for all crews
        return crew

    def close(self) -> None:
        """End the processes, or leave the cluster."""
        for crew in (self._cluster, self._processes):
            if crew is not None:
                crew.close()


@contextmanager
def crews(request: Request, lost: Lost) -> Iterator[Crews]:
    """Yield the crews of one command, and close them at its end.

    Raises:
        InputError: if the backend or the scheduler is unknown, or needs a package that is not installed.
    """
    need(request.backend, request.scheduler)
    found = Crews(request, lost)
    with quiet(whole=request.backend != LOCAL):
        try:
            yield found
        finally:
            # An interruption must not leave worker processes behind.
            with uninterrupted():
                found.close()


class _MainThread:
    """A stream that only the main thread can write to: ray's threads print messages on standard output."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write the text in the main thread; drop it in any other thread."""
        if threading.current_thread() is threading.main_thread():
            return self._stream.write(text)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _unless_ended(
    report_progress: Callable[[threading.ExceptHookArgs], object], args: threading.ExceptHookArgs
) -> None:
    """Report an error in a thread by `report_progress`, except in loky's executor thread while its processes are
    being ended: it may fail over work that is given up at the same moment.
    """
    flags = getattr(args.thread, "executor_flags", None)
    if flags is None or not flags.shutdown:
        report_progress(args)


@contextmanager
def quiet(whole: bool) -> Iterator[None]:
    """Keep the remarks of libraries off the streams: joblib's that it started a process again, or that work was wasted;
    with `whole` all warnings, logs, and everything that other threads print."""
    with warnings.catch_warnings(), ExitStack() as stack:
        for remark in ("A worker stopped while some jobs", ".*tasks which were still being processed"):
            warnings.filterwarnings("ignore", message=remark)
        stack.callback(setattr, threading, "excepthook", threading.excepthook)
        threading.excepthook = partial(_unless_ended, threading.excepthook)
        if whole:
            warnings.simplefilter("ignore")
            stack.callback(logging.disable, logging.root.manager.disable)
            logging.disable(logging.CRITICAL)
            stack.enter_context(redirect_stdout(cast(TextIO, _MainThread(sys.stdout))))
        yield
