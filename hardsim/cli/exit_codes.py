"""Exit codes of all commands, and the exit code of several inputs together."""

from __future__ import annotations

from collections.abc import Sequence

AGREED, MISMATCH, BAD_INPUT, UNDECIDED, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 4, 130
CLOSED_PIPE = 141
"""Exit code 128 + SIGPIPE, which the shell reports for any tool whose reader has gone."""
WORST_FIRST = (INTERNAL, MISMATCH, BAD_INPUT, UNDECIDED)

CODES = """\
Exit codes: 0 agreed (or nothing to compare), 1 a mismatch (the word is printed), 2 bad input or usage, 3 undecided,
4 internal error, 130 interrupted, 141 the reader of the output has gone. With several inputs all are tried; the exit
code is the first of 4, 1, 2, 3 that occurred.
"""


def worst(codes: Sequence[int]) -> int:
    """Return the exit code for several inputs: the first of 4, 1, 2, 3 among their exit codes; 0 if all are 0."""
    return min(filter(None, codes), key=WORST_FIRST.index, default=AGREED)
