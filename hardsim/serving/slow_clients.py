"""A limit of the time in which a client must send a request: uvicorn waits for ever for the rest of one."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS = 10.0
"""Seconds after which a connection without a whole request is closed, from its beginning or from the last answer."""


class TimedProtocol(H11Protocol):
    """A connection that is closed if a request, headers and body, has not arrived in time."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        self._wait()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._end()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._end()
        self._waiting = self.loop.call_later(SECONDS, self._late)

    def _end(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()

    def _late(self) -> None:
        # A client that has sent its whole request waits for us.
        if self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            self.transport.abort()
