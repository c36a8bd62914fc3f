"""Several inputs at once: other processes compute the results of later inputs while this one prints those before.

A task is one input, for one regime, or a pair of inputs. Its process compiles the input itself, and works alone.
Results come back in the order of the tasks, so the report does not depend on the number of processes. A task that fails
returns nothing: then this process does the same work again where its turn comes, with its error message, progress and
advice.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from time import perf_counter
from typing import Any

from hardsim.campaign.interrupts import interruptible
from hardsim.campaign.workers import Crews, Job, Shard, processors
from hardsim.cli.start import next_input
from hardsim.errors import WorkerFailure
from hardsim.lang.ast import Compare, FormulaFile, walk
from hardsim.lazy_dataclass import dataclass
from hardsim.options.table import Request
from hardsim.targets.base import ModelOptions
from hardsim.targets.inputs.base import Input

Compute = Callable[..., Any]
"""Computes the result of a task in one process, from the request and the parts of the task, as a command would."""

ONE_PROCESS = "workers", "one input is the work of one process; several inputs share the processes"
"""An option that does not apply to a single input, and the reason."""
EACH = 2
"""Least number of tasks for each process, where a command can share the words of a task instead."""
FEW, MANY = 4, 16
"""Least number of tasks unless a number of processes is requested: where processes are forked, and where they must be
started."""
LARGEST = 2**22
"""Most octets of an input that is sent to another process."""
LONG = (".json", ".spec", ".srasp", ".cr")
"""Suffixes of inputs that take long, those that take longest first: models and networks, then programs."""
COMPARED = 9
"""Most comparisons of counts of a formula that make it begin earlier than one with fewer."""


@dataclass(frozen=True)
class OnTarget:
    """A function object that computes the result of an input for one regime, from the target that is made of it."""

    compute: Callable[[Request, Any], Any]

    def __call__(self, request: Request, given: Input, options: ModelOptions) -> Any:
        with given.answering():
            return self.compute(request, given.target(options))


class Ahead:
    """The results of the tasks of a command, in order. `workers` is 1 if this process does all of the work. With
    `networks`, external networks are tasks of the other processes, too. If the command can also share the words of a
    task (`shares`), it does so where there are few tasks."""

    def __init__(
        self,
        staff: Crews,
        request: Request,
        compute: Compute,
        tasks: Sequence[tuple[Any, ...]],
        networks: bool = True,
        shares: bool = True,
    ) -> None:
        self.workers = request.workers or (processors() if _worth_processes(len(tasks), staff) else 1)
        self._results: Generator[Any, None, None] | None = None
        self._next = 0
        if self.workers < 2 or len(tasks) < (EACH * self.workers if shares else 2) or not staff.local:
            self.workers = 1
            return
        crew = staff.crew(lambda: self.workers)
        self.workers = crew.workers
        if not crew.alone:
            sent = [None if _network(task) and not networks else _sent(task) for task in tasks]
            shards = [
                Shard(number, (), one, _rank(task), _named(task)[-1])
                for number, (task, one) in enumerate(zip(tasks, sent, strict=True))
            ]
            self._results = crew.run(Job(Task, (request, compute)), shards, len(shards))

    def take(self, number: int) -> tuple[Any, float] | None:
        """Return the result of a task and the seconds that it took; None if it is not known. Earlier results that
        nobody took are dropped. Raises WorkerFailure if the task loses one worker after another: then this process
        does the rest."""
        found = None
        while self._results is not None and self._next <= number:
            self._next += 1
            try:
                with interruptible():
                    found = next(self._results)
            except WorkerFailure:
                self.close()
                raise
        return None if found is None else (pickle.loads(found[0]), found[1])

    def close(self) -> None:
        """Give up the tasks that are left."""
        if self._results is not None:
            self._results.close()
            self._results = None


def _worth_processes(count: int, staff: Crews) -> bool:
    """Return whether this number of tasks is worth processes that nobody asked for."""
    # Whether processes can be forked is asked only where it decides: that takes time where they cannot.
    return count >= MANY or (count >= FEW and staff.forks)


def _network(task: tuple[Any, ...]) -> bool:
    return any(isinstance(part, Input) and part.is_network for part in task)


def _named(task: tuple[Any, ...]) -> list[str]:
    """Return the names of the inputs of a task; the last one is what it is about."""
    return [part.name for part in task if isinstance(part, Input)]


def _rank(task: tuple[Any, ...]) -> int:
    """Return the place of a task among those that take long, from 1; 0 for any other task. After the inputs with a
    suffix of LONG come formulas that compare counts, those with more comparisons first."""
    places = [place for place, suffix in enumerate(LONG, start=1) for name in _named(task) if name.endswith(suffix)]
    if places:
        return min(places)
    compared = max(
        (_comparisons(part.file) for part in task if isinstance(part, Input) and part.has_formula), default=0
    )
    return len(LONG) + 1 + COMPARED - min(compared, COMPARED) if compared else 0


def _comparisons(file: FormulaFile) -> int:
    return sum(isinstance(node, Compare) for node in walk(file.formula, lets=file.lets))


def _sent(task: tuple[Any, ...]) -> bytes | None:
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
            found = self.compute(self.request, *pickle.loads(shard.known))
            result = pickle.dumps(found, protocol=5), perf_counter() - begin
            del found
            next_input()
            return result
        return None
