"""Answers to requests: each in a process of its own, which is killed when it is over its limits or nobody waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from hardsim.serving.confined import PageAnswer, RequestLimits, Run, answer
from hardsim.serving.forked import ForkedProcesses
from hardsim.serving.page_requests import PageRequest

TOGETHER, WAITING = 2, 16
"""Greatest number of processes at a time, and of requests that run or wait."""
EARLY = "The process ended early: the request needed too much time or memory."
UNWANTED = "Nobody waits for the answer."
STEP = 0.01
"""Seconds between two looks at a process."""


class Busy(Exception):
    """Raised when too many requests wait already."""


class Workers:
    """The processes that answer requests. Each is forked for one request, so it knows nothing of others."""

    def __init__(self, run: Run, processes: ForkedProcesses, limits: RequestLimits) -> None:
        self._run, self._limits, self._processes = run, limits, processes
        self._turns = asyncio.Semaphore(TOGETHER)
        self._waiting = 0

    async def answer(self, request: PageRequest, gone: Callable[[], Awaitable[bool]]) -> PageAnswer:
        """Return the answer to a request; `gone` says whether nobody waits for it any more. Raises Busy if too many
        requests wait."""
        if self._waiting >= WAITING:
            raise Busy
        self._waiting += 1
        try:
            async with self._turns:
                if await gone():
                    return _stopped(UNWANTED)
                # The server makes the folder, because a process that is killed cannot remove it.
                with TemporaryDirectory(prefix="hardsim-", ignore_cleanup_errors=True) as folder:
                    Path(folder, request.file).write_bytes(request.text.encode())
                    return await self._watched(request, folder, gone)
        finally:
            self._waiting -= 1

    async def _watched(self, request: PageRequest, folder: str, gone: Callable[[], Awaitable[bool]]) -> PageAnswer:
        receiver, sender = self._processes.context.Pipe(duplex=False)
        limits = replace(self._limits, seconds=self._limits.seconds * request.patience)
        given = sender, self._run, request.arguments, folder, request.pictures, limits
        with receiver:
            process = self._processes.start(answer, *given, daemon=True)
            sender.close()  # else the end of the process would not end the pipe
            try:
                return await _received(receiver, process.is_alive, gone, limits)
            finally:
                process.kill()
                process.join()
                process.close()


async def _received(
    receiver: Connection, alive: Callable[[], bool], gone: Callable[[], Awaitable[bool]], limits: RequestLimits
) -> PageAnswer:
    """Return what a process sends, or the limit that ended it."""
    end, most = time.monotonic() + limits.seconds, 4 * limits.written
    while not receiver.poll():
        if await gone():
            return _stopped(UNWANTED)
        if time.monotonic() > end:
            return _stopped(f"The request took longer than {limits.seconds:g} seconds.")
        # It may have sent its answer and ended between the two looks.
        if not alive() and not receiver.poll():
            return _stopped(EARLY)
        await asyncio.sleep(STEP)
    try:
        return msgspec.json.decode(receiver.recv_bytes(most), type=PageAnswer)
    except EOFError:
        return _stopped(EARLY)
    except OSError:
        return _stopped(f"The answer has more than {most >> 10:,} KiB.")


def _stopped(reason: str) -> PageAnswer:
    return PageAnswer(None, msgspec.Raw(b"null"), "", "", {}, reason)
