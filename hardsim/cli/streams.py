"""The process's streams: results on standard output, talk and what went wrong on standard error; and exit codes."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from io import BufferedWriter, BytesIO, FileIO, TextIOWrapper
from typing import Any

from hardsim.errors import HardsimError, InvariantError, SourceError, WorkerFailure
from hardsim.visible import visible

AGREED, MISMATCH, BAD_INPUT, UNDECIDED, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 4, 130
CLOSED_PIPE = 141
"""128 + SIGPIPE, as the shell reports it for any tool."""
WORST_FIRST = (INTERNAL, MISMATCH, BAD_INPUT, UNDECIDED)

CODES = """\
Exit codes: 0 agreed (or nothing to compare), 1 a mismatch (the word is printed), 2 bad input or usage, 3 undecided,
4 internal error, 130 interrupted, 141 the reader of the output has gone. With several inputs all are tried; the exit
code is the first of 4, 1, 2, 3 that occurred.
"""


def worst(codes: Sequence[int]) -> int:
    """Return the exit code of several inputs: the worst of theirs."""
    return min(filter(None, codes), key=WORST_FIRST.index, default=AGREED)


# ---- the streams ----


class LostOutput(Exception):
    """Standard output cannot be written."""

    def __init__(self, cause: OSError) -> None:
        super().__init__(cause.strerror)
        self.unread = isinstance(cause, ConnectionError)
        """Whether that is so because its reader has gone."""
        self.codes: list[int] = []
        """The exit codes of what had been found until then."""


class _Results(FileIO):
    """The descriptor of standard output, whose errors are no file's."""

    def write(self, data: Any) -> int:
        """Write some of it, as a raw stream does; LostOutput if that fails."""
        try:
            return super().write(data)
        except OSError as error:
            raise LostOutput(error) from None


def open_streams() -> bool:
    """UTF-8 on both output streams whatever the locale (what has no encoding, a file name's stray byte, is escaped),
    and a stand-in for a closed standard input or error; whether there is a standard output to write results to. All
    three wait for their other end, and what is printed is written whole, or LostOutput is raised."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # no stream, no descriptor, or nothing that could wait
            os.set_blocking(stream.fileno(), True)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    sys.stdout = _whole(sys.stdout)
    if sys.stdin is None:
        _occupy(0)
        sys.stdin = TextIOWrapper(BytesIO())
    if sys.stderr is None:
        _occupy(2)
        sys.stderr = TextIOWrapper(BytesIO(), write_through=True)
    return sys.stdout is not None


def _whole(stream: Any) -> Any:
    """Standard output, if it is a descriptor's, with a buffer that goes on after a part was written, which under
    PYTHONUNBUFFERED it has not."""
    raw = getattr(getattr(stream, "buffer", None), "raw", getattr(stream, "buffer", None))
    if type(raw) is not FileIO:
        return stream
    stream.flush()
    buffer = BufferedWriter(_Results(raw.fileno(), "wb", closefd=False))
    lines = stream.line_buffering or stream.write_through
    return TextIOWrapper(buffer, encoding=stream.encoding, errors=stream.errors, line_buffering=lines)


def _occupy(descriptor: int) -> None:
    """Open nothing under the number of a standard stream that is closed: no file gets that number by chance, and
    processes that are started inherit it open."""
    null = os.open(os.devnull, os.O_RDWR)
    if null != descriptor:
        os.dup2(null, descriptor)
        os.close(null)
    os.set_inheritable(descriptor, True)


def drop_stdout() -> None:
    """Send what still waits for a lost standard output nowhere, so that the interpreter's last flush is quiet."""
    sink = os.open(os.devnull, os.O_WRONLY)
    with suppress(OSError, ValueError):  # a stream without a descriptor has nothing to flush
        os.dup2(sink, sys.stdout.fileno())
    os.close(sink)


# ---- talk ----


def say(*lines: str) -> None:
    """A message for the user on standard error, of one or more lines, whatever is quoted in them; that nobody can read
    it must not change a verdict's exit code."""
    with suppress(OSError, ValueError):
        sys.stderr.write("".join(visible(line) + "\n" for line in lines))
        sys.stderr.flush()


class _Talk:
    """Of this process: whether nobody wants to hear what no verdict depends on."""

    hushed = False


def hush(quiet: bool) -> None:
    """Say from here on what verdicts depend on alone, or everything."""
    _Talk.hushed = quiet


def hushed() -> bool:
    """Whether mere talk is not wanted."""
    return _Talk.hushed


def warn(text: str, *more: str) -> None:
    """A remark on standard error; more lines may show the place that it is about."""
    say(f"note: {text}", *more)


def note(text: str, *more: str) -> None:
    """A remark on which no verdict depends: it is silent under --quiet."""
    if not _Talk.hushed:
        warn(text, *more)


# ---- what went wrong ----


def report(error: BaseException, name: str | None = None) -> int:
    """Say what went wrong with the input of that name; returns the exit code. Whatever hardsim did not raise on purpose
    is a defect of hardsim."""
    code = error.exit_code if isinstance(error, HardsimError) else INTERNAL
    if code == INTERNAL and not isinstance(error, WorkerFailure):
        say(*internal(error, name).split("\n"))
        return code
    # An error has made visible what it quotes: the line breaks that are left are its own.
    first, *rest = str(error).split("\n")
    if not isinstance(error, SourceError):
        first = f"error: {first}" if name is None or visible(name) in first else f"error: {name}: {first}"
    say(first, *rest)
    return code


def internal(error: BaseException, name: str | None = None) -> str:
    """The message for a defect of hardsim: what, where, and what to report."""
    if os.environ.get("HARDSIM_DEBUG") == "1":
        return "".join(traceback.format_exception(error)).rstrip()
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{frames[-1].filename}:{frames[-1].lineno} in {frames[-1].name}" if frames else "unknown place"
    message = f": {error}" if str(error) else ""
    where = f" on {name}" if name else ""
    lines = [f"internal error{where}: {type(error).__name__}{message}", f"  at {place}"]
    if isinstance(error, MemoryError | RecursionError):
        lines.append("  The request was too large for this machine; shorter words (--max-n) may work.")
    elif isinstance(error, InvariantError):
        lines.append("  A claim that hardsim makes about its own construction is false. No verdict was given.")
    lines.append("  This is a defect of hardsim. Please report the command line, the input and these lines;")
    lines.append("  HARDSIM_DEBUG=1 shows the whole traceback.")
    return "\n".join(map(visible, lines))
