"""A pool of processes that are forked from this one. They start in milliseconds, with every module that is loaded here.

A fork copies the thread that calls it and no other: a lock that another thread holds at that moment stays locked in the
copy for ever. So processes are forked on Linux alone, while this process has a single thread. Elsewhere joblib starts
processes, which import everything again.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import Future

THREADS = "/proc/self/task"
"""The directory in which Linux lists the threads of this process."""
ENDING = 0.05
"""Seconds that are waited for threads to end."""
AHEAD, BACK = 4, 64
"""Number of tasks for each process that run or wait at a time, and of calls that are out or back before their turn."""
SHORT, PART, TOGETHER = 0.2, 1 / 8, 8
"""Seconds of a task with several calls, its largest part of the time so far (so that the last tasks end at about the
same time), and the largest number of its calls. Each task takes this process about a millisecond, while the others
need every processor."""
LEAST = 1e-6
"""Seconds that a call takes at least."""


def forks_safely() -> bool:
    """Return True if this process can be forked: on Linux, while it has a single thread and may have processes."""
    from multiprocessing import current_process

    end = time.monotonic() + ENDING
    try:
        # A thread that has done its work may still be about to end.
        while sys.platform == "linux" and not current_process().daemon:
            if threading.active_count() == 1 and len(os.listdir(THREADS)) == 1:
                return True
            if time.monotonic() > end:
                break
            time.sleep(ENDING / 50)
    except OSError:  # nothing lists the threads
        pass
    return False


Call = tuple[Any, ...]
"""The arguments of a call."""
_Results = tuple[list[Any], float]


class ForkPool:
    """Forked processes; each calls `begin` first. Raises OSError if they cannot be started."""

    def __init__(self, processes: int, begin: Callable[[], None]) -> None:
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import active_children, get_context

        before = {one.pid for one in active_children()}
        self.size = processes
        self._pool = ProcessPoolExecutor(processes, get_context("fork"), _begin, (begin,))
        try:
            # The first call forks all of them, before the pool starts threads of its own.
            self._pool.submit(int)
        finally:
            self._processes = [one for one in active_children() if one.pid not in before]
            if len(self._processes) < processes:
                for one in self._processes:
                    one.kill()

    def run(
        self,
        function: Callable[..., Any],
        calls: Sequence[Call],
        more: Iterator[Call],
        early: Sequence[int] = (),
        shared: bool = True,
    ) -> Generator[Any, None, None]:
        """Yield the results of calls, in their order, and then those of `more` calls, which are taken when a process
        will soon be free. Calls with the numbers `early` begin before their turn. With `shared`, calls share a task
        while they are short. Raises BrokenExecutor if a process is lost."""
        from concurrent.futures import FIRST_COMPLETED, wait

        source = chain(((k, calls[k]) for k in _order(len(calls), early)), enumerate(more, start=len(calls)))
        found: dict[int, tuple[Future[_Results], int, Call]] = {}
        running: set[Future[_Results]] = set()
        turn, left, together, start = 0, True, 1, time.perf_counter()

        def begin(some: Sequence[tuple[int, Call]]) -> None:
            future = self._pool.submit(_results, function, [call for _, call in some])
            running.add(future)
            found.update((number, (future, place, call)) for place, (number, call) in enumerate(some))

        try:
            while left or found:
                while (
                    left and len(running) < AHEAD * self.size and (turn < len(calls) or len(found) < BACK * self.size)
                ):
                    some = list(islice(source, together))
                    left = bool(some)
                    if some:
                        begin(some)
                if turn in found and found[turn][0].done():
                    future, place, call = found.pop(turn)
                    results, seconds = future.result()
                    if place >= len(results):  # it, or one before it, failed: alone, its error comes in its turn
                        begin([(turn, call)])
                        continue
                    yield results[place]
                    turn += 1
                    if shared:
                        together = _together(seconds, time.perf_counter() - start)
                elif running:
                    running -= wait(running, return_when=FIRST_COMPLETED).done
        finally:
            for given_up in running:
                given_up.cancel()

    def start(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Begin one call beside those of `run`, and return its result to come."""
        return self._pool.submit(function, *arguments)

    def close(self) -> None:
        """End the processes at once; whatever they do is given up."""
        for one in self._processes:
            one.kill()
        # One may have been killed while it wrote a result. The pool's thread waits for the rest, until no process can
        # write to the pipe any more: this process must close its own end.
        pool: Any = self._pool  # the library has no types for these parts
        calls = pool._call_queue
        pool._result_queue._writer.close()
        pool.shutdown(wait=True, cancel_futures=True)
        # A thread that writes a call waits until some process reads it, or none can. The pool's thread closes this end,
        # unless it died of a call that was cancelled.
        calls._reader.close()


def _together(seconds: float, spent: float) -> int:
    """Return the number of calls of the next task, if a call takes so many seconds, after the seconds spent so far."""
    return max(1, min(TOGETHER, int(min(SHORT, PART * spent) / max(seconds, LEAST))))


def _order(count: int, early: Sequence[int]) -> Iterator[int]:
    """Yield the numbers below `count` in the order in which calls begin: alternately the next of `early` and the next
    number, so that long calls begin early and the first results come soon."""
    begun = set[int]()
    for number in chain.from_iterable(zip_longest(early, range(count))):
        if number is not None and number not in begun:
            begun.add(number)
            yield number


def _results(function: Callable[..., Any], calls: Sequence[Call]) -> _Results:
    """Return the results of calls, up to one that fails, and the seconds that each of them took. Raises the error of
    the first call."""
    start, found = time.perf_counter(), []
    for call in calls:
        try:
            found.append(function(*call))
        except Exception:
            if not found:
                raise
            break
    return found, (time.perf_counter() - start) / len(calls)


def _begin(begin: Callable[[], None]) -> None:
    """Set up a process: signals end it, although this process's parent handles them; what it has from its parent is no
    garbage, and stays in memory that both share."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name)
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    gc.freeze()
    begin()
