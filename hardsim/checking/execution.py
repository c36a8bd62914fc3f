"""Where the words of a check are run: in this process, in several, or on a cluster. The results are the same.

A job says what is asked of every shard (some words of one length). Each process makes of the job what answers it once,
and joblib hands the shards out. Results come back in the order of the shards, so nothing that is made of them depends
on how many processes there were. Where a worker is lost, the shards that had not come back are run again.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import signal
import threading
import time
import warnings
import zlib
from abc import ABC, abstractmethod
from collections import OrderedDict, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any

from hardsim.checking.result import Word
from hardsim.errors import InputError, InvariantError, WorkerFailure
from hardsim.run.float_trust import hear, reasons
from hardsim.version import __version__

AHEAD = 2
"""Shards that are out at a time, for each worker: one that runs and one that waits. (With more, loky's own thread can
fail over those that wait where they are given up.)"""
LOSSES = 3
"""How often in a row a worker may be lost with one shard."""
CAREFUL = 2
"""After how many losses the shards that were out are run one at a time, so that the one to blame is known."""
KEPT_JOBS = 2
"""Jobs of which a worker keeps what it made: that of the length under way, and the one before."""
WATCH = 1.0
"""Seconds between two looks of a worker for its parent."""


@dataclass(frozen=True, slots=True)
class Shard:
    """Some words of length n: what a worker takes at a time."""

    n: int
    words: tuple[Word, ...]

    def __str__(self) -> str:
        if len(self.words) == 1:
            return f"the word '{_short(self.words[0])}' of length {self.n}"
        first, last = _short(self.words[0]), _short(self.words[-1])
        return f"{len(self.words):,} words of length {self.n}, from '{first}' to '{last}'"


def _short(word: Word) -> str:
    text = " ".join(word)
    return text if len(text) <= 60 else f"{text[:57]}..."


Answer = Callable[[Shard], Any]
Lost = Callable[[str], None]


@dataclass(frozen=True)
class Job:
    """What is asked of every shard: `make(*parts)`, called once in each process, gives the function that answers.

    `make` is a function of a module, and the parts can be pickled.
    """

    make: Callable[..., Answer]
    parts: tuple[Any, ...]

    def here(self) -> Answer:
        """What answers, in this process."""
        return self.make(*self.parts)


class WorkerLost(Exception):
    """A worker went away before its shard came back."""


class Crew(ABC):
    """Runs shards. `workers` is how many at a time; `lost` is told when a worker goes away."""

    def __init__(self, workers: int, lost: Lost | None = None) -> None:
        self.workers = workers
        self.lost: Lost = lost or (lambda message: None)

    @property
    def alone(self) -> bool:
        """Whether everything runs in this process."""
        return False

    def run(self, job: Job, shards: Iterable[Shard]) -> Generator[Any, None, None]:
        """The answers, in the order of the shards.

        Raises:
            WorkerFailure: if workers are lost with the same shard LOSSES times in a row.
        """
        call = parcel(job)
        supply = _Supply(iter(shards))
        losses = 0
        while True:
            careful = losses >= CAREFUL
            try:
                coming = supply.attempt(again_only=careful)
                results = self._attempt(((*call, shard) for shard in coming), 1 if careful else 0)
                with closing(results):
                    for result, found in results:
                        supply.came_back()
                        losses = 0
                        hear(found)
                        yield result
            except WorkerLost as error:
                losses += 1
                missing = supply.stop()
                if losses >= LOSSES:
                    raise _failure(missing) from None
                self.lost(f"{error}: the shards that had not come back are run again")
                continue
            if not careful:
                supply.finish()
                return

    @abstractmethod
    def _attempt(self, calls: Iterable[tuple[str, bytes, Shard]], ahead: int) -> Generator[Any, None, None]:
        """`work(*call)` for each call, in order, with so many at a time (0: AHEAD for each worker); WorkerLost if one
        does not come back."""

    @abstractmethod
    def close(self) -> None:
        """Let the workers go."""

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Supply:
    """The shards of one run. joblib's threads take them while this one hears what came back; `out` are those that were
    taken and have not come back, in order."""

    def __init__(self, source: Iterator[Shard]) -> None:
        self._source = source
        self._out: deque[Shard] = deque()
        self._lock = threading.Lock()
        self._attempt = 0

    def attempt(self, again_only: bool) -> Iterator[Shard]:
        """What is to be handed out: the shards that are out from before, then (unless they are all) new ones. An
        iterator of an attempt that has ended hands out nothing."""
        with self._lock:
            self._attempt += 1
            again, number = tuple(self._out), self._attempt
        return chain(again, () if again_only else self._fresh(number))

    def _fresh(self, number: int) -> Iterator[Shard]:
        while True:
            with self._lock:
                shard = next(self._source, None) if self._attempt == number else None
                if shard is None:
                    return
                self._out.append(shard)
            yield shard

    def came_back(self) -> None:
        """The first shard that was out is done."""
        with self._lock:
            self._out.popleft()

    def stop(self) -> Shard:
        """End an attempt; the first shard that did not come back."""
        with self._lock:
            self._attempt += 1
            return self._out[0]

    def finish(self) -> None:
        """Hold that every shard came back.

        Raises:
            InvariantError: if one did not.
        """
        if self._out:
            raise InvariantError(f"{len(self._out)} shards never came back, the first of {self._out[0]}")


def _failure(shard: Shard) -> WorkerFailure:
    return WorkerFailure(
        f"{LOSSES} workers in a row were lost with the same shard: {shard}",
        hint="Out of memory is the usual cause. Try --workers 1, which shows what happens in this process, or a "
        "smaller --max-n.",
    )


class LocalCrew(Crew):
    """This process (one worker), or processes of this machine that joblib keeps for the next job. Where none can be
    started, which `lost` is told, this process does it all."""

    def __init__(self, workers: int, lost: Lost | None = None) -> None:
        super().__init__(workers, lost)
        reason = "" if self.alone else hindrance()
        if reason:
            self.lost(f"{reason}: one process works, not {workers}")
            self.workers = 1

    @property
    def alone(self) -> bool:
        """Whether there is one worker: then it is this process."""
        return self.workers == 1

    def run(self, job: Job, shards: Iterable[Shard]) -> Generator[Any, None, None]:
        """As `Crew.run`."""
        if not self.alone:
            yield from super().run(job, shards)
            return
        answer = job.here()
        for shard in shards:
            yield answer(shard)

    def _attempt(self, calls: Iterable[tuple[str, bytes, Shard]], ahead: int) -> Generator[Any, None, None]:
        from concurrent.futures.process import BrokenProcessPool

        from joblib import Parallel, delayed, parallel_config

        with parallel_config(backend="loky", inner_max_num_threads=1):
            parallel = Parallel(
                self.workers,
                return_as="generator",
                batch_size=1,
                pre_dispatch=ahead or AHEAD * self.workers,
                initializer=begin,
                initargs=(os.getpid(),),
            )
        try:
            start_trackers()
            with without_interrupts():
                results = parallel(delayed(work)(*call) for call in calls)
            yield from relay(results)
        except BrokenProcessPool:
            raise WorkerLost("a worker process was lost") from None

    def close(self) -> None:
        """End the processes."""
        if not self.alone:
            from joblib.externals.loky import get_reusable_executor

            get_reusable_executor().shutdown(wait=True, kill_workers=True)


def hindrance() -> str:
    """Why no process can be started ("" if that is not known): joblib says no, or there is no directory to start in."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from joblib._multiprocessing_helpers import mp
    except ValueError:  # JOBLIB_MULTIPROCESSING is no number
        mp = None
    if mp is None:
        return "joblib has no processes here (JOBLIB_MULTIPROCESSING, or no semaphores)"
    try:
        os.getcwd()
    except OSError:
        return "the working directory is gone, and processes start there"
    return ""


def start_trackers() -> None:
    """Start the processes that look after what workers share: their start ends by letting signals through again, also
    to workers that start after them."""
    from multiprocessing import resource_tracker

    from joblib.externals.loky.backend import resource_tracker as loky_tracker

    resource_tracker.ensure_running()
    loky_tracker.ensure_running()


def relay(results: Generator[Any, None, None]) -> Generator[Any, None, None]:
    """joblib's results, which are given up without its warning that work was wasted (as `yield from` would)."""
    try:
        while True:
            try:
                result = next(results)
            except StopIteration:
                return
            yield result
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results.close()


# ---- in a worker ----

_alone = threading.Lock()
"""python-flint's precision is one global: a worker with several threads (dask) answers with one of them."""
_made: OrderedDict[str, Answer] = OrderedDict()


def parcel(job: Job) -> tuple[str, bytes]:
    """A job as it travels: the digest by which a process knows it again, and its bytes."""
    data = zlib.compress(pickle.dumps((__version__, job.make, job.parts)), 1)
    return hashlib.sha256(data).hexdigest(), data


def work(key: str, data: bytes, shard: Shard) -> tuple[Any, tuple[str, ...]]:
    """The answer of the job in a parcel on a shard, and why this process does not trust float64, if it does not.

    Raises:
        InputError: if the parcel is of another version of hardsim.
    """
    with _alone:
        if key not in _made:
            version, make, parts = pickle.loads(zlib.decompress(data))
            if version != __version__:
                raise InputError(
                    f"a worker has hardsim {__version__}, and this is hardsim {version}",
                    hint="Install the same version of hardsim on every machine.",
                )
            _made[key] = make(*parts)
            while len(_made) > KEPT_JOBS:
                _made.popitem(last=False)
        return _made[key](shard), reasons()


def begin(parent: int) -> None:
    """The start of a worker process: the parent alone answers Ctrl-C, and no worker outlives it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(WATCH)
    os._exit(1)


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Hold Ctrl-C back for a moment. A process that starts meanwhile inherits that, and never sees it: the parent alone
    answers, also while its workers are still importing."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
