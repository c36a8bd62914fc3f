"""The processes or machines of one command, and what their libraries would say on its streams."""

from __future__ import annotations

import logging
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO, cast

from hardsim.checking.interrupts import held
from hardsim.cli.streams import note

if TYPE_CHECKING:
    from hardsim.checking.execution import Crew


class Crews:
    """Gives each check its crew: so many processes of this machine, or the cluster, which is joined once."""

    def __init__(self, backend: str, scheduler: str | None, workers: int | None) -> None:
        self.backend = backend
        self.scheduler = scheduler
        self.workers = workers
        self._made: list[Crew] = []
        self._cluster: Crew | None = None

    def join(self) -> None:
        """Reach the cluster, if one was asked for.

        Raises:
            InputError: if it cannot be used.
        """
        from hardsim.checking.clusters import make_crew

        self._cluster = make_crew(self.backend, self.workers, self.scheduler, note)
        if self._cluster is not None:
            self._made.append(self._cluster)

    def crew(self, default: Callable[[], int]) -> Crew:
        """The crew of the next check; `default` says how many processes of this machine it is worth."""
        from hardsim.checking.execution import LocalCrew

        if self._cluster is not None:
            return self._cluster
        crew = LocalCrew(self.workers or default(), note)
        if not crew.alone:
            self._made[:] = [crew]  # they share their processes
        return crew

    def close(self) -> None:
        """Let all workers go."""
        for crew in self._made:
            crew.close()


@contextmanager
def crews(backend: str, scheduler: str | None, workers: int | None) -> Iterator[Crews]:
    """The crews of one command, while it runs.

    Raises:
        InputError: if the backend or the scheduler was named wrongly, or needs what is not installed.
    """
    from hardsim.checking.clusters import LOCAL, need

    need(backend, scheduler)
    found = Crews(backend, scheduler, workers)
    with quiet(whole=backend != LOCAL):
        try:
            yield found
        finally:
            with held():
                found.close()


class _MainThread:
    """A stream of which only the main thread has the use: ray's threads print what they hear on standard output."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write, or drop what another thread has to say."""
        if threading.current_thread() is threading.main_thread():
            return self._stream.write(text)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def quiet(whole: bool) -> Iterator[None]:
    """Keep the libraries' remarks off the streams: of joblib that it started a process anew; with `whole` all warnings,
    logs, and whatever other threads print."""
    before = logging.root.manager.disable
    out = sys.stdout
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs")
        try:
            if whole:
                warnings.simplefilter("ignore")
                logging.disable(logging.CRITICAL)
                sys.stdout = cast(TextIO, _MainThread(out))
            yield
        finally:
            sys.stdout = out
            logging.disable(before)
