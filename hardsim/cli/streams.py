"""The process's streams: results on standard output, talk on standard error."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from io import BytesIO, TextIOWrapper

from hardsim.visible import visible


class ClosedPipe(Exception):
    """Whoever read standard output has gone (`| head -1`): nothing more to do, and nothing to complain about."""


class Interrupted(Exception):
    """Ctrl-C, as an exception that typer lets through."""


def open_streams() -> bool:
    """Give a closed standard input or error a stand-in; whether there is a standard output to write results to."""
    if sys.stdin is None:
        _occupy(0)
        sys.stdin = TextIOWrapper(BytesIO())
    if sys.stderr is None:
        _occupy(2)
        sys.stderr = TextIOWrapper(BytesIO(), write_through=True)
    return sys.stdout is not None


def _occupy(descriptor: int) -> None:
    """Open nothing under the number of a standard stream that is closed: no file gets that number by chance, and
    processes that are started inherit it open."""
    null = os.open(os.devnull, os.O_RDWR)
    if null != descriptor:
        os.dup2(null, descriptor)
        os.close(null)
    os.set_inheritable(descriptor, True)


def use_utf8() -> None:
    """UTF-8 on both output streams whatever the locale; what has no encoding (a file name's stray byte) is escaped."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def lost_stream(error: OSError) -> bool:
    """Whether it is standard output that cannot be written: errors of files have a file name, its own none."""
    return error.filename is None and error.errno in (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EIO)


def say(*lines: str) -> None:
    """A message for the user on standard error, of one or more lines, whatever is quoted in them; that nobody can read
    it must not change a verdict's exit code."""
    with suppress(OSError, ValueError):
        sys.stderr.write("".join(visible(line) + "\n" for line in lines))
        sys.stderr.flush()


def note(text: str) -> None:
    """A remark on standard error."""
    say(f"note: {text}")


def drop_stdout() -> None:
    """Send what still waits for a closed standard output nowhere, so that the interpreter's last flush is quiet."""
    sink = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(sink, sys.stdout.fileno())
    except (OSError, ValueError):  # a stream without a descriptor has nothing to flush
        pass
    finally:
        os.close(sink)
