"""Run a command in this process for a record, and compare its output with the record.

The terminal has 80 columns and no colours, whatever runs the tests. Inputs are names of shipped files, so that no path
of a machine is printed.
"""

import io
import os
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from difflib import SequenceMatcher
from itertools import zip_longest
from pathlib import Path
from unittest.mock import patch

import pytest

from hardsim.cli.app import run
from tests.cli.conftest import Outcome
from tests.support.clusters import PATIENCE

TERMINAL = {"COLUMNS": "80", "NO_COLOR": "1"}
UNSET = ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "HARDSIM_DEBUG")
"""Environment variables that would change what is printed."""


def ran(*arguments: str | Path) -> Outcome:
    """Run a command and return its outcome; a slow machine adds no remark about the time left."""
    out, err = io.StringIO(), io.StringIO()
    with (
        patch.dict(os.environ, TERMINAL),
        patch("hardsim.cli.estimate.LATE", PATIENCE),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        for name in UNSET:
            os.environ.pop(name, None)  # until the patch ends
        code = run([*map(str, arguments)])
    return Outcome(code, out.getvalue(), err.getvalue())


def changes(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Return a text for each line that changed, disappeared or was added between two lists of lines."""
    return [
        f"{before!r} was recorded, {after!r} is found"
        for kind, first, end, begin, last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        if kind != "equal"
        for before, after in zip_longest(old[first:end], new[begin:last])
    ]


def require_same(changes: Sequence[str], part: str) -> None:
    """Fail with the first change on one line, and with the command that records this part of the facts again."""
    if changes:
        more = f" (and {len(changes) - 1} more)" if len(changes) > 1 else ""
        again = f"if this is intended: python -m tests.golden.record {part}"
        pytest.fail(f"{changes[0]}{more}; {again}", pytrace=False)
