"""The command `hardsim serve`: a local page to try formulas and programs in a browser."""

from __future__ import annotations

import errno
import socket
from contextlib import nullcontext
from importlib.util import find_spec

from hardsim.campaign.interrupts import interruptible, uninterrupted
from hardsim.cli.commands import dispatch
from hardsim.cli.streams import note, ran_out
from hardsim.errors import InputError
from hardsim.files import Sink
from hardsim.options.table import Request
from hardsim.report.document import Document
from hardsim.report.screen import Screen
from hardsim.report.serve import ServeResult
from hardsim.version import install_hint

LOOPBACK = "127.0.0.1"
NEEDED = ("starlette", "uvicorn")
ANSWERING = ("show", "check", "words", "classify", "trace", "bound")
"""The commands that answer requests."""
MODULES = (
    *(f"hardsim.cli.{name}" for name in ANSWERING),
    *("hardsim.report.document", "hardsim.serving.confined", "hardsim.serving.warm"),
)
"""The modules that are imported before the first request."""


def command(request: Request) -> None:
    """Run `hardsim serve` as requested, until Ctrl-C. Raises InputError if the libraries are missing, or the port
    cannot be used."""
    require_libraries()
    with (
        nullcontext() if request.json is None else Sink(request.json, "--json") as sink,
        uninterrupted(),  # a line that is interrupted while it is written would be written twice
        listening(request.port) as listener,
    ):
        _serve(listener, sink)


def require_libraries() -> None:
    """Check that the extra `serve` is installed, and that processes can be limited. Raises InputError."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise InputError(f"serve needs {' and '.join(missing)}, not installed", install_hint("serve"))
    if find_spec("resource") is None:
        message = "serve runs each request under limits of memory and time, which this system does not have"
        raise InputError(message, "It runs on Linux and macOS (on Windows in WSL).")


def listening(port: int) -> socket.socket:
    """Return a socket that listens on the loopback address. Raises InputError if the port is in use or not allowed."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        # Else the port of a server that has just ended could not be used for a minute.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((LOOPBACK, port))
        listener.listen()
    except OSError as error:
        listener.close()
        reason = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used: {error.strerror}"
        raise InputError(f"port {port} {reason}", "Give another one with --port; --port 0 takes a free one.") from None
    return listener


def names_of(port: int) -> list[str]:
    """Return the names under which browsers ask for the page: they leave out port 80, the default of http."""
    ports = [f":{port}", ""] if port == 80 else [f":{port}"]
    return [f"{host}{ending}" for host in (LOOPBACK, "localhost") for ending in ports]


def answering(arguments: list[str]) -> int:
    """Run a command line in the process of a request, and return its exit code. Raises MemoryError if it needed more
    memory than the process may have: that is no defect of the command, which would call it one."""
    code = dispatch(arguments)
    if ran_out():
        raise MemoryError
    return code


def _serve(listener: socket.socket, sink: Sink | None) -> None:
    """Print the address of the page, and answer its requests until Ctrl-C."""
    import uvicorn

    from hardsim.serving.app import application
    from hardsim.serving.confined import RequestLimits
    from hardsim.serving.forked import ForkedProcesses
    from hardsim.serving.slow_clients import TimedProtocol
    from hardsim.serving.workers import Workers

    port = listener.getsockname()[1]
    processes = ForkedProcesses(MODULES)
    workers = Workers(answering, processes, RequestLimits())
    app = application(workers, names_of(port), lambda: server.should_exit)
    config = uvicorn.Config(
        app, log_level="error", access_log=False, server_header=False, proxy_headers=False, loop="asyncio",
        http=TimedProtocol, ws="none", lifespan="off", timeout_graceful_shutdown=1,
        h11_max_incomplete_event_size=1 << 16,
    )  # fmt: skip
    server = uvicorn.Server(config)
    processes.warm()
    result = ServeResult(f"http://{LOOPBACK}:{port}/", port)
    if sink is not None:
        sink.write(Document("serve", None, 0, results=(result,)).to_json())
    screen = Screen(enabled=sink is None or sink.path != "-")
    screen.raw(result.url)
    screen.flush()
    note("open this address in a browser; Ctrl-C ends the page")
    with interruptible():
        # At Ctrl-C uvicorn closes its connections, and then raises the signal again: exit code 130, as elsewhere.
        server.run(sockets=[listener])
