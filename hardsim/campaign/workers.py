"""The processes that run the words of a check: this one, several, or those of a cluster. The results are the same.

A job gives the function that answers every shard (some words of one length). joblib hands the shards out, in waves;
results come back in the order of the shards, so nothing that is computed from them depends on the number of processes.
Where a worker is lost, the shards that had not come back are run again.
"""

from __future__ import annotations

import os
import pickle
import re
import signal
import sys
import threading
import time
import warnings
import zlib
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, InvalidStateError
from contextlib import (
    AbstractContextManager,
    ExitStack,
    closing,
    contextmanager,
    nullcontext,
    redirect_stdout,
    suppress,
)
from functools import lru_cache, partial
from importlib.util import find_spec
from itertools import islice
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TextIO, cast

from hardsim.campaign.forks import ForkPool, forks_safely
from hardsim.campaign.interrupts import uninterrupted
from hardsim.errors import HardsimError, InputError, InvariantError, WorkerFailure
from hardsim.lazy_dataclass import dataclass
from hardsim.options.table import Request, unknown
from hardsim.run.float_trust import hear, reasons
from hardsim.targets.result import Word
from hardsim.version import __version__, install_hint

if TYPE_CHECKING:
    from concurrent.futures import Future

    from distributed import Client

WAVE, AHEAD = 4, 2
"""Shards of a wave, and shards of it that are handed out at a time, for each worker: one that runs and one that waits.
With more, loky's own thread can fail over the waiting ones when they are given up."""
LOSSES, CAREFUL = 3, 2
"""Times in a row that a worker may be lost with one shard, and number of losses after which the rest of a wave is run
one shard at a time, so that the shard to blame is known."""
KEPT_JOBS = 2
"""Number of jobs whose functions a worker keeps: the job of the current length, and the job before it."""
LOCAL, DASK, RAY = "local", "dask", "ray"
BACKENDS = (LOCAL, DASK, RAY)
WATCH, LOOK = 1.0, 0.5
"""Seconds between two checks of a worker that its parent lives, and of this process that a scheduler answers."""
PROCESSES = "concurrent.futures.process"
"""The module of the standard library's executor of processes; its thread sets errors of calls that were cancelled."""
REACH, WITHOUT = 5.0, 30.0
"""Seconds in which a scheduler must answer, and seconds that shards wait without any worker: one may be started
again."""


@dataclass(frozen=True, slots=True)
class Shard:
    """The unit of work of a worker: some words of length n, or the length alone."""

    n: int
    words: tuple[Word, ...]
    known: Any = None
    """Earlier results for these words, for the function that answers the shard; None if there are none."""
    rank: int = 0
    """The place among the shards that take long, from 1 for the longest; 0 for any other shard. They begin early."""
    name: str = ""
    """The name of an input, if the shard is its whole task."""

    def __str__(self) -> str:
        if self.name:
            return self.name
        if not self.words:
            return f"length {self.n}"
        texts = [" ".join(word) for word in (self.words[0], self.words[-1])]
        first, last = (text if len(text) <= 60 else f"{text[:57]}..." for text in texts)
        if len(self.words) == 1:
            return f"the word '{first}' of length {self.n}"
        return f"{len(self.words):,} words of length {self.n}, from '{first}' to '{last}'"


Answer = Callable[[Shard], Any]
Lost = Callable[[str], None]
Call = tuple[bytes, Shard]


@dataclass(frozen=True)
class Job:
    """The function that answers every shard, as a recipe: `make(*parts)`, called once in each process (both are
    pickled), returns it."""

    make: Callable[..., Answer]
    parts: tuple[Any, ...]

    def parcel(self) -> bytes:
        """Return the job as bytes, which are sent to workers."""
        return zlib.compress(pickle.dumps((__version__, self.make, self.parts)), 1)


class WorkerLost(Exception):
    """A worker went away before its shard came back."""


class Started:
    """The answer to come of a shard that one worker runs while the others run those of other jobs."""

    def __init__(self, future: Future[Any]) -> None:
        self._future = future

    @property
    def done(self) -> bool:
        """True if the answer, or an error in its place, is there."""
        return self._future.done()

    def answer(self) -> Any:
        """Wait for the answer and return it. Raises WorkerLost if the worker went away."""
        from concurrent.futures import CancelledError

        try:
            answer, found = self._future.result()
        except (BrokenExecutor, CancelledError):
            raise WorkerLost("a worker process was lost") from None
        hear(found)
        return answer


class Crew(ABC):
    """A group of workers that runs shards, `workers` at a time; `lost` is called with a message when a worker goes
    away."""

    alone = False
    """True if everything runs in this process."""

    def __init__(self, workers: int, lost: Lost | None = None) -> None:
        self.workers = workers
        self.lost: Lost = lost or (lambda message: None)

    @property
    def streams(self) -> bool:
        """True if a worker that is done takes a shard of the next wave at once; else a wave begins when the one before
        it has ended."""
        return False

    def run(self, job: Job, shards: Iterable[Shard], together: int = 0) -> Generator[Any, None, None]:
        """Yield the answers, in the order of the shards. A wave has `together` shards; 0: WAVE for each worker. Raises
        WorkerFailure if workers are lost with the same shard LOSSES times in a row."""
        parcel, source = job.parcel(), _Source(shards)
        while wave := deque(islice(source, together or WAVE * self.workers)):
            yield from self._wave(parcel, wave, source)
        source.end()

    def _wave(self, parcel: bytes, wave: deque[Shard], source: Iterator[Shard]) -> Generator[Any, None, None]:
        losses, careful, part = 0, False, 0

        def more() -> Iterator[Call]:
            """Yield the calls of the shards that follow in the source, as parts of this wave."""
            nonlocal part
            for shard in source if self.streams and not careful else ():
                wave.append(shard)
                part += 1
                yield parcel, shard

        while wave:
            part = 1 if careful else len(wave)
            results = self._attempt([(parcel, shard) for shard in islice(wave, part)], more())
            try:
                for result, found in results:
                    wave.popleft()
                    part -= 1
                    losses = 0
                    hear(found)
                    yield result
            except WorkerLost as error:
                losses += 1
                if losses >= LOSSES:
                    what = "" if wave[0].name else "the same words: "
                    raise WorkerFailure(
                        f"{LOSSES} workers in a row were lost with {what}{wave[0]}",
                        hint="Out of memory is the usual cause. Try --workers 1, which shows what happens in this "
                        "process, or shorter words (--max-n).",
                    ) from None
                # One shard at a time from here on: the next loss then names the shard that causes it.
                careful = careful or losses >= CAREFUL
                self.lost(f"{error}: the shards that had not come back are run again")
            else:
                if part:
                    # Results would be missing without an error: a library must have dropped them.
                    raise InvariantError(f"{part} shares of the words never came back, the first of {wave[0]}")
            finally:
                with warnings.catch_warnings():  # of joblib, that work was wasted
                    warnings.simplefilter("ignore")
                    results.close()

    @contextmanager
    def beside(self, job: Job, shard: Shard) -> Iterator[Started | None]:
        """Begin a shard that a worker runs while the others run other jobs within the context; None if that is not
        possible. What is not done at its end is given up."""
        yield None

    @abstractmethod
    def _attempt(self, calls: Sequence[Call], more: Iterator[Call]) -> Generator[Any, None, None]:
        """Yield `work(*call)` for each call, in order; then, if the crew `streams`, for more of them, each of which is
        taken when a worker will soon be free. Raises WorkerLost if a call does not come back."""

    @abstractmethod
    def close(self) -> None:
        """End the workers, or leave them to the cluster."""

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Source(Iterator[Shard]):
    """The shards of a source. Its error is raised by `end`, when all shards before it are done: shards are taken before
    their turn, and the report must not depend on that."""

    def __init__(self, shards: Iterable[Shard]) -> None:
        self._shards = iter(shards)
        self._error: Exception | None = None

    def __next__(self) -> Shard:
        if self._error is not None:
            raise StopIteration
        try:
            return next(self._shards)
        except StopIteration:
            raise
        except Exception as error:
            self._error = error
            raise StopIteration from None

    def end(self) -> None:
        """Raise the error of the source, if there was one."""
        if self._error is not None:
            raise self._error


class LocalCrew(Crew):
    """The crew on this machine: this process (one worker), or processes that are kept for the next job. They are forked
    where that is safe, and otherwise started by joblib. If none can be started, this process does all the work, and
    `lost` is called with the reason."""

    def __init__(self, workers: int, lost: Lost | None = None) -> None:
        super().__init__(workers, lost)
        with starting():
            reason = hindrance() if workers > 1 else ""
        if reason:
            self.lost(f"{reason}: one process works, not {workers}")
            self.workers = 1
        self.alone = self.workers == 1
        self._forks: ForkPool | None = None
        self._joblib = self._beside = False

    @property
    def streams(self) -> bool:
        """True if the processes are forked."""
        return self._forks is not None

    def fork(self) -> None:
        """Fork the processes now, if there are none and that is safe."""
        if not (self.alone or self._joblib) and self._forks is None and forks_safely():
            with starting(), without_interrupts():
                self._forks = ForkPool(self.workers, partial(begin, os.getpid()))

    @contextmanager
    def beside(self, job: Job, shard: Shard) -> Iterator[Started | None]:
        """Begin a shard, as `Crew.beside` does, where processes are forked."""
        self.fork()
        if self._forks is None:
            yield None
            return
        future = self._forks.start(work, job.parcel(), shard)
        self._beside = True
        try:
            yield Started(future)
        finally:
            self._beside = False
            if not future.done():
                self.close()

    def run(self, job: Job, shards: Iterable[Shard], together: int = 0) -> Generator[Any, None, None]:
        """Yield the answers, as `Crew.run` does."""
        yield from map(job.make(*job.parts), shards) if self.alone else super().run(job, shards, together)

    def _attempt(self, calls: Sequence[Call], more: Iterator[Call]) -> Generator[Any, None, None]:
        self.fork()
        try:
            if self._forks is not None:
                ranks = {number: call[1].rank for number, call in enumerate(calls) if call[1].rank}
                early = sorted(ranks, key=lambda number: ranks[number])
                # An input may take long after many that did not, and what has a rank takes long.
                shared = not ranks and not any(shard.name for _, shard in calls)
                results = self._forks.run(work, calls, more, early, shared)
            else:
                with starting():
                    results = self._start(calls)
            yield from results
        except GeneratorExit:  # given up, perhaps when the last shard of a wave was back: then joblib ends nothing
            if not self._beside:  # else a process has other work
                self.close()
            raise
        except BrokenExecutor:
            self.close()
            raise WorkerLost("a worker process was lost") from None

    def _start(self, calls: Sequence[Call]) -> Generator[Any, None, None]:
        from multiprocessing import resource_tracker

        from joblib import Parallel, delayed, parallel_config
        from joblib.externals.loky.backend import resource_tracker as loky_tracker

        self._joblib = True
        # One thread each: the workers already use all processors.
        with parallel_config(backend="loky", inner_max_num_threads=1):
            parallel = Parallel(
                self.workers,
                return_as="generator",
                batch_size=1,
                pre_dispatch=AHEAD * self.workers,
                initializer=begin,
                initargs=(os.getpid(),),
            )
        # Their start ends by letting signals through again, also to workers that start after them.
        resource_tracker.ensure_running()
        loky_tracker.ensure_running()
        with without_interrupts():
            results: Generator[Any, None, None] = parallel(delayed(work)(*call) for call in calls)
        return results

    def close(self) -> None:
        """End the worker processes."""
        if self._forks is not None:
            self._forks.close()
            self._forks = None
        if self._joblib:
            self._joblib = False
            with suppress(Exception):  # of starting some, if there are none
                from joblib.externals.loky import get_reusable_executor

                get_reusable_executor(reuse=True).shutdown(wait=True, kill_workers=True)


@contextmanager
def starting() -> Iterator[None]:
    """Turn any failure to start worker processes into an InputError: its cause lies in the environment."""
    try:
        yield
    except (BrokenExecutor, HardsimError):
        raise
    except Exception as error:
        cause: BaseException | None = error
        while not (cause is None or isinstance(cause, OSError)):  # its cleaning up may have failed, too
            cause = cause.__context__
        reason = " ".join((getattr(cause, "strerror", None) or str(error)).split())
        settings = [f"{name}={value}" for name, value in os.environ.items() if name.startswith(("JOBLIB_", "LOKY_"))]
        read = f"; the library that starts them reads {', '.join(settings)}" if settings else ""
        hint = f"--workers 1 works without them{read}."
        raise InputError(f"worker processes cannot be started: {reason}", hint) from error


def hindrance() -> str:
    """Return the reason why no process can be started, "" if none is known: there are no semaphores, joblib may have
    none, or the working directory is gone."""
    if not (_forks_have_semaphores() or _joblib_has_processes()):
        return "joblib has no processes here (JOBLIB_MULTIPROCESSING, or no semaphores)"
    try:
        os.getcwd()
    except OSError:
        return "the working directory is gone, and processes start there"
    return ""


def _forks_have_semaphores() -> bool:
    """Return True if this process can be forked and its forks can share semaphores. This takes no time, while joblib is
    slow to import. False if the user's settings of joblib must decide."""
    from multiprocessing import get_context

    if "JOBLIB_MULTIPROCESSING" in os.environ or not forks_safely():
        return False
    try:
        get_context("fork").Semaphore()
    except (ImportError, OSError):
        return False
    return True


def _joblib_has_processes() -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from joblib._multiprocessing_helpers import mp
    except ValueError:  # JOBLIB_MULTIPROCESSING is no number
        return False
    return mp is not None


# ---- other machines: through the backends that joblib and ray have ----


def need(backend: str, scheduler: str | None) -> None:
    """Raise InputError if the backend is unknown or not installed, or the scheduler is missing or useless. Raises
    InputError with what to type or to install."""
    if backend not in BACKENDS:
        raise unknown("backend", backend, BACKENDS)
    if backend == DASK and not scheduler:
        raise InputError(
            "--backend dask needs --scheduler, the address of a dask scheduler",
            hint="`dask scheduler` prints it when it starts: --backend dask --scheduler tcp://host:8786",
        )
    if backend != DASK and scheduler is not None:
        advice = " (ray reads the address of a cluster from RAY_ADDRESS)" if backend == RAY else ""
        raise InputError(f"--scheduler goes with --backend dask{advice}", hint="Add --backend dask, or leave it out.")
    expected = {DASK: ("dask", "distributed"), RAY: ("ray",)}.get(backend, ())
    if any(find_spec(name) is None for name in expected):
        raise InputError(
            f"--backend {backend} needs the package {expected[-1]}, which is not installed",
            hint=install_hint(backend),
        )


def unreachable(address: str) -> str | None:
    """Return the reason why nothing answers at `host:port` (a protocol may come before it); None if something does."""
    found = re.fullmatch(r"(?:\w+://)?\[?([^\[\]/?#@]+?)\]?:(\d{1,5})/?", address)
    if found is None:
        return "not an address such as tcp://host:8786"
    import socket

    try:
        socket.create_connection((found[1], int(found[2])), timeout=REACH).close()
    except (OSError, OverflowError, UnicodeError) as error:
        return f"nothing answers there ({getattr(error, 'strerror', None) or error})"
    return None


class DaskCrew(Crew):
    """The crew of a dask scheduler's workers; with `workers`, at most that many shards are handed out at a time. Raises
    InputError if the scheduler cannot be reached, has no worker, or has workers without this version of hardsim."""

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
        self._looked = self._staffed = time.monotonic()
        self._out: int | str = "all" if workers is None else self.workers
        if any(count > 1 for count in self._threads.values()):
            self.lost(
                "some dask workers have several threads, of which hardsim uses one: start them with --nthreads 1 "
                "--nworkers N to use N processors"
            )

    def _connect(self) -> Client:
        from distributed import Client

        reason = unreachable(self.address)
        if reason is None:
            # A silent server keeps the client waiting longer than its timeout, so it connects in a thread of its own.
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
            reason = f"the server there is not a dask scheduler of a matching version ({type(found).__name__})"
        raise InputError(
            f"--scheduler {self.address}: {reason}",
            hint="Start one with `dask scheduler`, which prints its ADDRESS, and workers with `dask worker ADDRESS "
            "--nthreads 1`.",
        )

    def _inspect(self) -> None:
        """Raise InputError unless there are workers, all with this version of hardsim."""
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

    def _attempt(self, calls: Sequence[Call], more: Iterator[Call]) -> Generator[Any, None, None]:
        from distributed import CancelledError
        from distributed.scheduler import KilledWorker
        from joblib import Parallel, delayed

        backend = looking_backend(self.client, self._look)
        parallel = Parallel(2, backend=backend, return_as="generator", batch_size=1, pre_dispatch=self._out)
        back = 0
        try:
            with closing(parallel(delayed(work)(*call) for call in calls)) as results:
                for result in results:
                    back += 1
                    yield result
        except KilledWorker as error:
            # The scheduler has run it again, each time on another worker, until it gave up.
            raise WorkerFailure(
                f"{error.allowed_failures + 1} dask workers were lost with the same words: {calls[back][1]}",
                hint="Out of memory is the usual cause. Try --workers 1 without --backend, or shorter words (--max-n).",
            ) from None
        except CancelledError:
            raise WorkerLost("the dask scheduler lost some shards") from None
        except OSError:
            raise self._gone("has gone") from None

    def _look(self) -> None:
        """Check that the scheduler and its workers are still there, at most once in LOOK seconds. Raises WorkerFailure
        if they are not."""
        now = time.monotonic()
        # Asking the scheduler takes a round trip over the network.
        if now - self._looked < LOOK:
            return
        self._looked = now
        try:
            threads = self.client.nthreads()
        except Exception:  # the client raises what its connection raises
            raise self._gone("has gone") from None
        for worker in self._threads.keys() - threads.keys():
            self.lost(f"the dask worker {worker} was lost: the shards that had not come back are run again")
        self._threads = threads
        self._staffed = now if threads else self._staffed
        if now - self._staffed >= WITHOUT:
            raise self._gone(f"has had no worker for {WITHOUT:.0f} seconds")

    def _gone(self, what: str) -> WorkerFailure:
        return WorkerFailure(
            f"the dask scheduler at {self.address} {what}",
            hint="Start it again; a check with --resume FILE goes on where it was.",
        )

    def close(self) -> None:
        """Leave the cluster, which drops the shards that are not back yet."""
        with suppress(Exception):  # closing fails if the scheduler has gone
            self.client.close(timeout=2)


def version() -> str:
    """Return the version of hardsim that a worker has: the function is sent to it."""
    return __version__


def looking_backend(client: Client, look: Callable[[], None]) -> Any:
    """Return joblib's dask backend with two changes: errors of shards are asked for as well as results, and `look` is
    called while results are awaited. Joblib's own would wait for ever for a shard that never comes back."""
    from concurrent.futures import wait

    from joblib._dask import DaskDistributedBackend

    class Looking(DaskDistributedBackend):
        supports_retrieve_callback = False
        supports_return_generator = True

        def retrieve_result(self, out: Future[Any], timeout: float | None = None) -> Any:
            """Return the answer of a batch, in the thread that consumes it."""
            while True:
                done = wait([out], LOOK).done
                look()
                if done:
                    return self.retrieve_result_callback(out.result())

    return Looking(client=client)


class RayCrew(Crew):
    """The crew of joblib's ray backend, which joins the cluster of RAY_ADDRESS, or starts one here. Raises InputError
    if the backend cannot start."""

    def __init__(self, workers: int | None = None, lost: Lost | None = None) -> None:
        from joblib import Parallel, effective_n_jobs, parallel_config
        from ray.util.joblib import register_ray

        register_ray()
        with starting(), without_interrupts(), parallel_config(backend="ray"):
            # Entering it keeps the processes from one wave to the next; ray's backend returns no generator.
            self._parallel = Parallel(workers or -1, batch_size=1, pre_dispatch="all").__enter__()
            super().__init__(workers or effective_n_jobs(-1), lost)

    def _attempt(self, calls: Sequence[Call], more: Iterator[Call]) -> Generator[Any, None, None]:
        from joblib import delayed
        from ray.exceptions import RayError

        try:
            yield from self._parallel(delayed(work)(*call) for call in calls)
        except RayError:
            raise WorkerLost("a ray worker was lost") from None

    def close(self) -> None:
        """End the worker processes; ray itself ends with this process."""
        self._parallel.__exit__(None, None, None)


# ---- the crews of a command ----


@dataclass
class Crews:
    """The source of the crew of each check: processes of this machine, or a cluster, which is joined once. `lost` is
    called with a message when a worker goes away; processes are forked while the context `still` holds up this
    process's other threads."""

    request: Request
    lost: Lost
    still: Callable[[], AbstractContextManager[None]] = nullcontext
    _cluster: Crew | None = None
    _processes: LocalCrew | None = None

    @property
    def local(self) -> bool:
        """True if the processes are those of this machine."""
        return self.request.backend == LOCAL

    @property
    def forks(self) -> bool:
        """True if processes can be forked now."""
        with self.still():
            return self.local and forks_safely()

    def join(self) -> None:
        """Connect to the cluster, if the request names one. Raises InputError if the cluster cannot be used."""
        if self.request.backend == DASK:
            self._cluster = DaskCrew(self.request.scheduler or "", self.request.workers, self.lost)
        elif self.request.backend == RAY:
            self._cluster = RayCrew(self.request.workers, self.lost)

    def crew(self, default: Callable[[], int]) -> Crew:
        """Return the crew of the next check; `default` returns the number of local processes that the check is
        worth."""
        if self._cluster is not None:
            return self._cluster
        workers = self.request.workers or default()
        if workers == 1:
            return LocalCrew(1)
        if self._processes is None:
            self._processes = LocalCrew(workers, self.lost)
            with self.still():
                self._processes.fork()
        return self._processes

    def close(self) -> None:
        """End the processes, or leave the cluster."""
        for crew in (self._cluster, self._processes):
            if crew is not None:
                crew.close()


@contextmanager
def crews(
    request: Request, lost: Lost, still: Callable[[], AbstractContextManager[None]] = nullcontext
) -> Iterator[Crews]:
    """Yield the crews of one command, and close them at its end; `still` is as for `Crews`. Raises InputError if the
    backend or the scheduler is unknown, or needs a package that is not installed."""
    need(request.backend, request.scheduler)
    found = Crews(request, lost, still)
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
    """Report an error in a thread by `report_progress`, except in an executor's own thread while its processes are
    being ended: it may fail over work that is given up at the same moment."""
    flags = getattr(args.thread, "executor_flags", None)  # of loky
    given_up = isinstance(args.exc_value, InvalidStateError) and type(args.thread).__module__ == PROCESSES
    if not given_up and (flags is None or not flags.shutdown):
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
            import logging

            warnings.simplefilter("ignore")
            stack.callback(logging.disable, logging.root.manager.disable)
            logging.disable(logging.CRITICAL)
            stack.enter_context(redirect_stdout(cast(TextIO, _MainThread(sys.stdout))))
        yield


# ---- in a worker ----

_alone = threading.Lock()
"""A lock: python-flint's precision is global in a process, so a worker with several threads (dask) answers with one at
a time."""


@lru_cache(maxsize=KEPT_JOBS)
def _answer(parcel: bytes) -> Answer:
    version, make, parts = pickle.loads(zlib.decompress(parcel))
    if version != __version__:
        raise InputError(
            f"a worker has hardsim {__version__}, and this is hardsim {version}",
            hint="Install the same version of hardsim on every machine.",
        )
    found: Answer = make(*parts)
    return found


def work(parcel: bytes, shard: Shard) -> tuple[Any, tuple[str, ...]]:
    """Return the answer of a parcel's job on a shard, and the reasons why this process does not trust float64, if there
    are any. Raises InputError if the parcel is of another version of hardsim."""
    with _alone:
        return _answer(parcel)(shard), reasons()


def begin(parent: int) -> None:
    """Set up a worker process: only the parent answers Ctrl-C, and no worker outlives it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(WATCH)
    # The parent is gone, and with it everyone who could use a result.
    os._exit(1)


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Block Ctrl-C for a moment. A process that starts meanwhile inherits the block and never sees the signal: only the
    parent answers it, even while its workers are still importing."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
