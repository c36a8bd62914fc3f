"""joblib's connector to dask, with the one thing that it leaves out: to say so where a shard will never come back."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Any

from joblib._dask import DaskDistributedBackend


class Connector(DaskDistributedBackend):
    """One attempt to run some shards on a cluster."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self._open: set[Future[Any]] = set()
        self.failed: Any = None
        """The shard that first failed to come back."""

    def submit(self, func: Any, callback: Callable[[Any], None]) -> Any:
        """Send a batch. joblib tells `callback` of results, but not of a batch that killed its workers, and would wait
        for it for ever."""
        future = super().submit(func, callback)
        self._open.add(future)

        def ended(done: Future[Any]) -> None:
            self._open.discard(done)
            error = done.exception()
            if error is not None:
                self.failed = self.failed or func.items[0][1][-1]
                callback(error)

        future.add_done_callback(ended)
        return future

    def fail(self, error: Exception) -> None:
        """Give up whatever is out, for one reason."""
        for future in tuple(self._open):
            with suppress(InvalidStateError):
                future.set_exception(error)
