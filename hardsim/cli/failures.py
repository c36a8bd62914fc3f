"""What went wrong, as a message on standard error and an exit code."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterable

from hardsim.cli.streams import say
from hardsim.errors import HardsimError, InvariantError, SourceError, WorkerFailure
from hardsim.visible import visible

AGREED, MISMATCH, BAD_INPUT, UNDECIDED, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 4, 130
CLOSED_PIPE = 141
"""128 + SIGPIPE, as the shell reports it for any tool."""

ORDER = (INTERNAL, MISMATCH, BAD_INPUT, UNDECIDED)

CODES = """\
Exit codes: 0 agreed (or nothing to compare), 1 a mismatch (the word is printed), 2 bad input or usage, 3 undecided,
4 internal error, 130 interrupted, 141 whoever read the output has gone. With several inputs all are tried; the code is
the first of 4, 1, 2, 3 that occurred.
"""


def worst(codes: Iterable[int]) -> int:
    """The exit code of a run in which all of these occurred."""
    seen = set(codes)
    return next((code for code in ORDER if code in seen), AGREED)


def code_of(error: BaseException) -> int:
    """The exit code an error leads to; whatever hardsim did not raise on purpose is a defect of hardsim."""
    return error.exit_code if isinstance(error, HardsimError) else INTERNAL


def report(error: BaseException, name: str | None = None) -> int:
    """Say on standard error what went wrong with the input of that name; returns the exit code."""
    code = code_of(error)
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
        lines.append("  The request was too large for this machine; a smaller --max-n may work.")
    elif isinstance(error, InvariantError):
        lines.append("  A claim that hardsim makes about its own construction is false. No verdict was given.")
    lines.append("  This is a defect of hardsim. Please report the command line, the input and these lines;")
    lines.append("  HARDSIM_DEBUG=1 shows the whole traceback.")
    return "\n".join(map(visible, lines))
