"""Several inputs at once: other processes compute the results of later inputs while this one prints those before.

A task is one input, for one regime. Its process compiles the input itself, and works alone. Results come back in the
order of the tasks, so the report does not depend on the number of processes. A task that fails returns nothing: then
this process does the same work again where its turn comes, with its error message, progress and advice.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from time import perf_counter
from typing import Any

from hardsim.campaign.interrupts import interruptible
from hardsim.campaign.workers import Crews, Job, Shard, processors
from hardsim.options.table import Request
from hardsim.targets.base import ModelOptions
from hardsim.targets.inputs.base import Input

Compute = Callable[[Request, Any], Any]
"""Computes the result of one target in one process, as a command would."""

EACH, MANY = 2, 16
"""Least number of tasks for each process, and least number in all unless a number of processes is requested."""
LARGEST = 2**22
"""Most octets of an input that is sent to another process."""


class Ahead:
    """The results of the tasks of a command, in order. `workers` is 1 if this process does all of the work. With
    `networks`, external networks are tasks of the other processes, too."""

    def __init__(
        self,
        staff: Crews,
        request: Request,
        compute: Compute,
        tasks: Sequence[tuple[Input, ModelOptions]],
        networks: bool = True,
    ) -> None:
        self.workers = request.workers or (processors() if len(tasks) >= MANY else 1)
        self._results: Generator[Any, None, None] | None = None
        self._next = 0
        # Of fewer tasks, the words are shared.
        if self.workers < 2 or len(tasks) < EACH * self.workers or not staff.local:
            self.workers = 1
            return
        crew = staff.crew(lambda: self.workers)
        self.workers = crew.workers
        if not crew.alone:
            sent = [None if task[0].is_network and not networks else _sent(task) for task in tasks]
            shards = [Shard(number, (), one) for number, one in enumerate(sent)]
            self._results = crew.run(Job(Task, (request, compute)), shards, len(shards))

    def take(self, number: int) -> tuple[Any, float] | None:
        """Return the result of a task and the seconds that it took; None if it is not known. Earlier results that
        nobody took are dropped."""
        found = None
        while self._results is not None and self._next <= number:
            self._next += 1
            with interruptible():
                found = next(self._results)
        return None if found is None else (pickle.loads(found[0]), found[1])

    def close(self) -> None:
        """Give up the tasks that are left."""
        if self._results is not None:
            self._results.close()
            self._results = None


def _sent(task: tuple[Input, ModelOptions]) -> bytes | None:
    """Return a task as another process reads it; None if it cannot be sent, or is too large."""
    with suppress(Exception):  # whatever a function of the user holds
        found = pickle.dumps(task, protocol=5)
        return found if len(found) <= LARGEST else None
    return None


class Task:
    """A function object that returns the result of a task, as octets, and its seconds; None if it fails."""

    def __init__(self, request: Request, compute: Compute) -> None:
        self.request, self.compute = request, compute

    def __call__(self, shard: Shard) -> tuple[bytes, float] | None:
        if shard.known is None:
            return None
        begin = perf_counter()
        with suppress(Exception):  # this process's parent meets it again, and reports it
            given, options = pickle.loads(shard.known)
            with given.answering():
                found = self.compute(self.request, given.target(options))
            return pickle.dumps(found, protocol=5), perf_counter() - begin
        return None
