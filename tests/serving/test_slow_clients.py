"""Tests of the time that a client has to send a request."""

import asyncio

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from hardsim.serving import slow_clients
from hardsim.serving.slow_clients import TimedProtocol

HEAD = b"POST /run HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n"
HALVES = [b"", b"POST /ru", HEAD[:-2], HEAD, HEAD + b"123"]
SOON = 1.0


async def answering(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request when it is there, and longer after it than a client may take to send one."""
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        more = message["more_body"]
    await asyncio.sleep(1.5 * SOON)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


async def received(*sent: bytes) -> bytes:
    """Return all that a server sends to a client, which keeps its side open, until the server closes the connection.
    The client sends each part when the one before is answered."""
    config = uvicorn.Config(answering, log_level="error", lifespan="off", http=TimedProtocol, ws="none")
    config.load()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: TimedProtocol(config, ServerState(), {}), "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    found = b""
    try:
        for part in sent[:-1]:
            writer.write(part)
            found += await reader.readuntil(b"ok")
        writer.write(sent[-1])
        found += await reader.read()
    except ConnectionResetError:
        pass
    finally:
        writer.close()
        server.close()
    return found


def test_a_request_that_does_not_come_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """So is the second one of a connection, but the first has its answer, however long that takes."""
    monkeypatch.setattr(slow_clients, "SECONDS", SOON)

    async def everything() -> list[bytes]:
        alone = [received(half) for half in HALVES]
        return await asyncio.gather(*alone, *(received(HEAD + b"1234", half) for half in HALVES))

    found = asyncio.run(everything())
    assert found[: len(HALVES)] == [b""] * len(HALVES)
    assert [(one.count(b"200 OK"), one.endswith(b"ok")) for one in found[len(HALVES) :]] == [(1, True)] * len(HALVES)
