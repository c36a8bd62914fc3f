"""Standard streams: results go to standard output, messages and errors to standard error."""

from __future__ import annotations

import os
import sys
import traceback
from contextlib import suppress
from io import BufferedWriter, BytesIO, FileIO, TextIOWrapper
from typing import Any

from hardsim.cli import activity, exit_codes
from hardsim.errors import LONGEST_MESSAGE, HardsimError, InvariantError, SourceError, WorkerFailure, limited
from hardsim.visible import visible

MOST_LINES = 20
"""Greatest number of lines of all errors of a run; the others are counted."""
LONGEST_NOTE = 800
"""Greatest number of characters of a remark."""


class LostOutput(Exception):
    """Raised when standard output cannot be written."""

    def __init__(self, cause: OSError) -> None:
        super().__init__(cause.strerror)
        self.unread = isinstance(cause, ConnectionError)
        """True if the reader of standard output has gone."""
        self.codes: list[int] = []
        """Exit codes of the results that were found before."""


class _Results(FileIO):
    """The file descriptor of standard output; its errors become LostOutput."""

    def write(self, data: Any) -> int:
        """Write a part of the data, as a raw stream does, and return its size. Raises LostOutput if that fails."""
        activity.hide()
        try:
            return super().write(data)
        except OSError as error:
            raise LostOutput(error) from None


def open_streams() -> bool:
    """Prepare the three standard streams, and return True if there is a standard output to write results to.

    Both output streams get UTF-8, whatever the locale is; characters without an encoding (a stray byte of a file name)
    are escaped. Closed streams of input and errors are replaced. All three streams wait for their other end, and output
    is written whole, or LostOutput is raised.
    """
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # no stream, no descriptor, or nothing that could wait
            # A parent process may have left a pipe non-blocking; then large output would be lost.
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
    """Return standard output with a buffer that continues after a partial write (under PYTHONUNBUFFERED it has no such
    buffer). Return a stream that is not a file descriptor unchanged."""
    raw = getattr(getattr(stream, "buffer", None), "raw", getattr(stream, "buffer", None))
    # Tests replace standard output by other streams, which are left as they are.
    if type(raw) is not FileIO:
        return stream
    stream.flush()
    buffer = BufferedWriter(_Results(raw.fileno(), "wb", closefd=False))
    lines = stream.line_buffering or stream.write_through
    return TextIOWrapper(buffer, encoding=stream.encoding, errors=stream.errors, line_buffering=lines)


def _occupy(descriptor: int) -> None:
    """Open the null device under the number of a closed standard stream, so that no other file gets this number, and
    processes started later inherit it open."""
    null = os.open(os.devnull, os.O_RDWR)
    if null != descriptor:
        os.dup2(null, descriptor)
        os.close(null)
    os.set_inheritable(descriptor, True)


def drop_stdout() -> None:
    """Redirect a lost standard output to the null device, so that the interpreter's last flush raises no error."""
    sink = os.open(os.devnull, os.O_WRONLY)
    with suppress(OSError, ValueError):  # a stream without a descriptor has nothing to flush
        os.dup2(sink, sys.stdout.fileno())
    os.close(sink)


# ---- talk ----


def say(*lines: str) -> None:
    """Print lines for the user on standard error, made visible. An error in printing is ignored: it must not change the
    exit code of a verdict."""
    activity.hide()
    with suppress(OSError, ValueError):
        sys.stderr.write("".join(visible(line) + "\n" for line in lines))
        sys.stderr.flush()


class _Talk:
    """State of this process: whether messages on which no verdict depends are suppressed, and whether an error was
    reported that memory ran out."""

    hushed = False
    ran_out = False


def hush(quiet: bool) -> None:
    """Suppress messages on which no verdict depends (`quiet`), or print them again."""
    _Talk.hushed = quiet
    activity.hush(quiet)


def hushed() -> bool:
    """Return True if messages on which no verdict depends are suppressed."""
    return _Talk.hushed


def ran_out() -> bool:
    """Return True if an error was reported that memory ran out."""
    return _Talk.ran_out


def warn(text: str, *more: str) -> None:
    """Print a remark on standard error; `more` are lines that show the place it concerns."""
    say(f"note: {limited(text, LONGEST_NOTE)}", *more)


def note(text: str, *more: str) -> None:
    """Print a remark on which no verdict depends; --quiet suppresses it."""
    if not _Talk.hushed:
        warn(text, *more)


# ---- errors ----


def report(error: BaseException, name: str | None = None) -> int:
    """Report an error of the input `name` on standard error, and return the exit code. An exception that hardsim did
    not raise on purpose is a defect of hardsim."""
    code, lines = explained(error, name)
    say(*lines)
    return code


def explained(error: BaseException, name: str | None = None) -> tuple[int, list[str]]:
    """Return the exit code of an error of the input `name`, and the lines that report it, at most MOST_LINES."""
    code = error.exit_code if isinstance(error, HardsimError) else exit_codes.INTERNAL
    if code == exit_codes.INTERNAL and not isinstance(error, WorkerFailure):
        return code, internal(error, name).split("\n")
    # An error has made visible what it quotes: the line breaks that are left are its own.
    first, *rest = str(error).split("\n")
    if not isinstance(error, SourceError):
        first = f"error: {first}" if name is None or visible(name) in first else f"error: {name}: {first}"
    return code, [first, *rest]


def internal(error: BaseException, name: str | None = None) -> str:
    """Return the message for a defect of hardsim: what happened, where, and what to report."""
    _Talk.ran_out |= isinstance(error, MemoryError)
    if os.environ.get("HARDSIM_DEBUG") == "1":
        return "".join(traceback.format_exception(error)).rstrip()
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{frames[-1].filename}:{frames[-1].lineno} in {frames[-1].name}" if frames else "unknown place"
    message = f": {limited(str(error), LONGEST_MESSAGE)}" if str(error) else ""
    where = f" on {name}" if name else ""
    lines = [f"internal error{where}: {type(error).__name__}{message}", f"  at {place}"]
    if isinstance(error, MemoryError | RecursionError):
        lines.append("  The request was too large for this machine; shorter words (--max-n) may work.")
    elif isinstance(error, InvariantError):
        lines.append("  A claim that hardsim makes about its own construction is false. No verdict was given.")
    lines.append("  This is a defect of hardsim. Please report the command line, the input and these lines;")
    lines.append("  HARDSIM_DEBUG=1 shows the whole traceback.")
    return "\n".join(map(visible, lines))
