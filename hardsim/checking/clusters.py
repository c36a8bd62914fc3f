"""Other machines: crews that hand shards to a dask or ray cluster, through the connectors that joblib and ray have.

A dask scheduler that cannot be reached, or workers without hardsim, are found before anything is handed out. While
shards are out somebody looks whether the scheduler and the workers are still there: the connectors would wait for ever.
"""

from __future__ import annotations

import os
import re
import socket
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from itertools import islice
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from hardsim.checking.execution import Crew, Lost, WorkerLost, processors, relay, without_interrupts, work
from hardsim.errors import InputError, WorkerFailure
from hardsim.version import __version__

if TYPE_CHECKING:
    from distributed import Client

LOCAL, DASK, RAY = "local", "dask", "ray"
BACKENDS = (LOCAL, DASK, RAY)
REACH = 5.0
"""Seconds in which a scheduler must answer."""
LOOK = 0.5
"""Seconds between two looks at a scheduler."""
WITHOUT = 30.0
"""Seconds that shards wait for a worker where none is left: one that was lost may be started again."""

AHEAD = 4
"""Shards that are out at a time, for each worker of dask: a network lies between them."""
WAVE = 8
"""Shards of a wave, for each worker of ray."""

Call = tuple[str, bytes, Any]


def need(backend: str, scheduler: str | None) -> None:
    """Refuse a backend that does not exist or is not installed, and a scheduler that is missing or of no use.

    Raises:
        InputError: saying what to type, or to install.
    """
    if backend not in BACKENDS:
        raise InputError(f"unknown backend {backend!r}", hint=f"The backends are: {', '.join(BACKENDS)}.")
    if backend == DASK and not scheduler:
        raise InputError(
            "--backend dask needs --scheduler, the address of a dask scheduler",
            hint="`dask scheduler` prints it when it starts: --backend dask --scheduler tcp://host:8786",
        )
    if backend != DASK and scheduler is not None:
        advice = " (ray reads the address of a cluster from RAY_ADDRESS)" if backend == RAY else ""
        raise InputError(f"--scheduler goes with --backend dask{advice}", hint="Add --backend dask, or leave it out.")
    wanted = {DASK: ("dask", "distributed"), RAY: ("ray",)}.get(backend, ())
    if any(find_spec(name) is None for name in wanted):
        raise InputError(
            f"--backend {backend} needs the package {wanted[-1]}, which is not installed",
            hint=f"Install it: pip install 'hardsim[{backend}]'",
        )


def unreachable(address: str) -> str | None:
    """Why nothing answers at `host:port` (a protocol may stand before it); None if something does."""
    found = re.fullmatch(r"(?:\w+://)?\[?([^\[\]/?#@]+?)\]?:(\d{1,5})/?", address)
    if found is None:
        return "it is no address such as tcp://host:8786"
    try:
        socket.create_connection((found[1], int(found[2])), timeout=REACH).close()
    except (OSError, OverflowError, UnicodeError) as error:
        return f"nothing answers there ({getattr(error, 'strerror', None) or error})"
    return None


# ---- dask ----


class DaskCrew(Crew):
    """The workers of a dask scheduler; with `workers`, at most so many shards are out at a time.

    Raises:
        InputError: if the scheduler cannot be reached, has no worker, or has workers without this version of hardsim.
    """

    def __init__(self, scheduler: str, workers: int | None = None, lost: Lost | None = None) -> None:
        self.address = scheduler
        self.client = self._connect()
        try:
            self._inspect()
            self._threads = self.client.nthreads()
        except BaseException:
            self.close()
            raise
        super().__init__(min(workers or len(self._threads), len(self._threads)), lost)
        self._limited = workers is not None
        if any(count > 1 for count in self._threads.values()):
            self.lost(
                "some dask workers have several threads, of which hardsim uses one: start them with --nthreads 1 "
                "--nworkers N to use N processors"
            )

    def _connect(self) -> Client:
        from distributed import Client

        reason = unreachable(self.address)
        if reason is None:
            # A server that says nothing keeps the client waiting for longer than it was told, so it waits apart.
            made: SimpleQueue[Client | Exception] = SimpleQueue()

            def connect() -> None:
                try:
                    made.put(Client(self.address, timeout=REACH, set_as_default=False))
                except Exception as error:  # whatever a server that is no scheduler leads to
                    made.put(error)

            threading.Thread(target=connect, daemon=True).start()
            try:
                found = made.get(timeout=REACH + 1)
            except Empty:
                found = TimeoutError()
            if not isinstance(found, Exception):
                return found
            reason = f"what answers there is no dask scheduler of a matching version ({type(found).__name__})"
        raise InputError(
            f"--scheduler {self.address}: {reason}",
            hint="Start one with `dask scheduler`, which prints its ADDRESS, and workers with `dask worker ADDRESS "
            "--nthreads 1`.",
        )

    def _inspect(self) -> None:
        """Hold that there are workers, all with this version of hardsim."""
        found: dict[str, Any] = self.client.run(version, on_error="return")
        if not found:
            raise InputError(
                f"--scheduler {self.address}: the scheduler has no workers",
                hint=f"Start some, here or elsewhere: dask worker {self.address} --nthreads 1 --nworkers 2",
            )
        for worker, answer in sorted(found.items()):
            if answer != __version__:
                what = f"has hardsim {answer}" if isinstance(answer, str) else f"cannot import hardsim ({answer})"
                raise InputError(
                    f"--scheduler {self.address}: the worker {worker} {what}",
                    hint=f"Install hardsim {__version__} on every machine of the cluster, and start its workers again.",
                )

    def _attempt(self, calls: Iterable[Call], ahead: int) -> Generator[Any, None, None]:
        from distributed import CancelledError
        from distributed.scheduler import KilledWorker
        from joblib import Parallel, delayed

        connector = self._connector()
        out = ahead or (self.workers if self._limited else AHEAD * self.workers)
        parallel = Parallel(2, backend=connector, return_as="generator", batch_size=1, pre_dispatch=out)
        try:
            with self._watch(connector.fail):
                results = parallel(delayed(work)(*call) for call in calls)
                yield from relay(results)
        except KilledWorker as error:
            # The scheduler has run it again, each time on another worker, until it gave up.
            raise WorkerFailure(
                f"{error.allowed_failures + 1} dask workers were lost with the same shard: {connector.failed}",
                hint="Out of memory is the usual cause. Try --workers 1 without --backend, or a smaller --max-n.",
            ) from None
        except CancelledError:
            raise WorkerLost("the dask scheduler lost some shards") from None
        except OSError:
            raise self._gone(f"the dask scheduler at {self.address} has gone") from None

    def _connector(self) -> Any:
        from hardsim.checking.dask_connector import Connector

        return Connector(client=self.client)

    @contextmanager
    def _watch(self, fail: Callable[[Exception], None]) -> Iterator[None]:
        """Look after the scheduler and its workers meanwhile."""
        done = threading.Event()
        watcher = threading.Thread(target=self._look, args=(done, fail), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()

    def _look(self, done: threading.Event, fail: Callable[[Exception], None]) -> None:
        without = 0.0
        while not done.wait(LOOK):
            try:
                now = self.client.nthreads()
            except Exception:  # the client raises what its connection raises
                fail(self._gone(f"the dask scheduler at {self.address} has gone"))
                return
            for worker in self._threads.keys() - now.keys():
                self.lost(f"the dask worker {worker} was lost: the shards that had not come back are run again")
            self._threads = now
            without = 0.0 if now else without + LOOK
            if without >= WITHOUT:
                fail(self._gone(f"the dask scheduler at {self.address} has had no worker for {WITHOUT:.0f} seconds"))
                return

    def _gone(self, message: str) -> WorkerFailure:
        return WorkerFailure(message, hint="Start it again; a check with --resume FILE goes on where it was.")

    def close(self) -> None:
        """Leave the cluster, which drops what is still out."""
        with suppress(Exception):  # a scheduler that has gone cannot be taken leave of
            self.client.close(timeout=2)


def version() -> str:
    """The version of hardsim, asked of a worker."""
    return __version__


# ---- ray ----


class RayCrew(Crew):
    """A ray cluster: that of RAY_ADDRESS, or one that is started here with so many workers.

    joblib's connector of ray knows no generator, so the shards go out in waves.

    Raises:
        InputError: if the cluster cannot be reached.
    """

    def __init__(self, workers: int | None = None, lost: Lost | None = None) -> None:
        import ray
        from ray.util.joblib import register_ray

        address = os.environ.get("RAY_ADDRESS")
        reason = None if address in (None, "auto", "local") else unreachable(str(address))
        if reason is None:
            reason = self._start(address, workers or processors())
        if reason is not None:
            raise InputError(
                f"RAY_ADDRESS={address}: {reason}",
                hint="Start a cluster with `ray start --head`, or unset RAY_ADDRESS: ray then starts on this machine.",
            )
        register_ray()
        super().__init__(workers or max(1, int(ray.cluster_resources().get("CPU", 1))), lost)
        self._parallel: Any = None
        """Keeps the processes from one job to the next."""

    @staticmethod
    def _start(address: str | None, workers: int) -> str | None:
        """Join or start the cluster; why that was not possible."""
        import logging

        import ray

        here = address in (None, "local")
        try:
            with without_interrupts():
                ray.init(
                    address="local" if here else address,
                    num_cpus=workers if here else None,
                    include_dashboard=False if here else None,
                    log_to_driver=False,
                    logging_level=logging.CRITICAL,
                )
        except (OSError, RuntimeError, ValueError) as error:
            return f"no ray cluster there ({type(error).__name__})"
        return None

    def _attempt(self, calls: Iterable[Call], ahead: int) -> Generator[Any, None, None]:
        from joblib import Parallel, delayed
        from ray.exceptions import RayError

        if self._parallel is None:
            self._parallel = Parallel(self.workers, backend="ray", batch_size=1, pre_dispatch="all").__enter__()
        source = iter(calls)
        try:
            while wave := list(islice(source, ahead or WAVE * self.workers)):
                yield from self._parallel(delayed(work)(*call) for call in wave)
        except RayError:
            raise WorkerLost("a ray worker was lost") from None

    def close(self) -> None:
        """Leave the cluster, and end it if it was started here."""
        import ray

        try:
            if self._parallel is not None:
                self._parallel.__exit__(None, None, None)
        finally:
            ray.shutdown()


def make_crew(backend: str, workers: int | None, scheduler: str | None, lost: Lost | None = None) -> Crew | None:
    """The crew of a cluster; None for the backend `local`, where each job has its own number of processes.

    Raises:
        InputError: if the backend cannot be used: see `need`, `DaskCrew` and `RayCrew`.
    """
    need(backend, scheduler)
    if backend == DASK:
        return DaskCrew(scheduler or "", workers, lost)
    return RayCrew(workers, lost) if backend == RAY else None
