"""The process that answers one request of the page: limits of its time, memory and files, set before it reads anything.

A limit of the operating system holds whatever the process does. The audit hook is a second barrier: it refuses every
file outside the folder of the request, except for reading installed code, and refuses programs and connections. Python
has no way to remove a hook.
"""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
import sysconfig
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from hardsim.lazy_dataclass import dataclass
from hardsim.serving.page_requests import DOCUMENT

Run: TypeAlias = Callable[[list[str]], int]
"""A function that runs a command line and returns its exit code."""
PACKAGE = Path(__file__).resolve().parents[1]
DEVICES = ("/dev/null", "/dev/urandom")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = (
    "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.chmod", "os.chown", "os.link", "os.symlink", "os.truncate",
    "os.utime", "os.chdir", "os.setxattr", "os.removexattr", "os.chflags", "os.lockf",
)  # fmt: skip
"""Events that change a file or a folder, which their arguments name."""
REFUSED = (
    "subprocess.", "os.system", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.startfile", "os.kill", "pty.",
    "socket.", "shutil.", "ctypes.", "webbrowser.", "urllib.", "ftplib.", "http.", "smtplib.", "sqlite3.",
)  # fmt: skip
"""Beginnings of the names of events that are refused: other programs, connections, foreign code."""


@dataclass(frozen=True)
class RequestLimits:
    """Limits of one request."""

    seconds: float = 30
    """Seconds that a request may take, on the clock and of the processor."""
    memory: int = 2 << 30
    """Bytes of memory that a process may have."""
    written: int = 8 << 20
    """Bytes of the files and texts of one answer."""


class PageAnswer(msgspec.Struct, frozen=True):
    """The answer to a request."""

    code: int | None
    """Exit code of the command; None if a limit stopped it."""
    document: msgspec.Raw
    """JSON document of the command; null if it wrote none."""
    report: str
    """Text of standard output: the report."""
    messages: str
    """Text of standard error: errors and remarks."""
    pictures: dict[str, str]
    """Content of the pictures, by the names of their files."""
    stopped: str | None = None
    """The limit that stopped the command, as a sentence."""


def readable_roots() -> tuple[str, ...]:
    """Return the folders of installed code, from which modules may still be imported."""
    packages = [path for path in sys.path if os.path.basename(path) in ("site-packages", "dist-packages")]
    standard = [sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib")]
    # A source tree has the shipped formulas beside the package, which error messages name.
    shipped = [str(PACKAGE.parent / "formulas")] if (PACKAGE.parent / "pyproject.toml").is_file() else []
    return tuple(os.path.realpath(path) for path in (str(PACKAGE), *shipped, *standard, *packages))


def confine(folder: str, limits: RequestLimits) -> None:
    """Limit this process for the rest of its life. It may read and write in `folder`, and read installed code."""
    import resource

    # The server looks at the clock, but it may be stopped itself; the processor's time is the system's to count.
    seconds = int(limits.seconds) + 1
    for which, most in (
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_AS, limits.memory),
        (resource.RLIMIT_FSIZE, limits.written),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(which)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(which, (most, most))
    code, own = readable_roots(), os.path.realpath(folder)

    def inside(path: object, roots: Sequence[str]) -> bool:
        if isinstance(path, int):  # an open file
            return True
        if not isinstance(path, str | bytes):
            return False
        # A link in the folder leads outside of it, if its target does.
        place = os.path.realpath(os.fsdecode(path))
        return any(place == root or place.startswith(root + os.sep) for root in roots)

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            writes = isinstance(flags, int) and flags & WRITING
            allowed = path in DEVICES or inside(path, (own,) if writes else (own, *code))
        elif event in ("os.listdir", "os.scandir", "glob.glob"):
            allowed = inside(arguments[0], (own, *code))
        elif event in CHANGES:
            allowed = all(inside(one, (own,)) for one in arguments if isinstance(one, str | bytes))
        else:
            allowed = not event.startswith(REFUSED)
        if not allowed:
            raise PermissionError(f"a request of the page may not do this: {event}")

    sys.addaudithook(watch)


def answer(
    sender: Connection, run: Run, arguments: list[str], folder: str, pictures: Sequence[str], limits: RequestLimits
) -> None:
    """Run a command in `folder`, confined, and send its answer. This is the whole life of a process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends it
    os.chdir(folder)
    confine(folder, limits)
    out, err = io.StringIO(), io.StringIO()
    code: int | None = None
    stopped = None
    try:
        with redirect_stdout(out), redirect_stderr(err):
            code = run(arguments)
    except MemoryError:
        stopped = f"The request needed more than {limits.memory >> 20:,} MiB of memory."
    except OSError as error:
        stopped = f"The answer could not be written: {error.strerror}."
    messages = err.getvalue() if code is not None else ""
    if os.strerror(errno.EFBIG) in f"{messages}{stopped}":  # a command says it of an option, which the page gave
        messages = ""
        stopped = f"The answer has more than {limits.written >> 10:,} KiB: take a shorter word or a smaller length."
    found = PageAnswer(
        code=code,
        document=msgspec.Raw((_content(DOCUMENT) if code is not None else b"") or b"null"),
        report=out.getvalue(),
        messages=messages,
        pictures={name: _content(name).decode() for name in pictures if os.path.exists(name)},
        stopped=stopped,
    )
    sender.send_bytes(msgspec.json.encode(found))


def _content(name: str) -> bytes:
    """Return the content of a file of this folder; nothing if there is none."""
    path = Path(name)
    return path.read_bytes() if path.is_file() else b""
