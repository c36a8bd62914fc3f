"""The entry point of the command line. It imports almost nothing, so that Ctrl-C during start-up is handled like any
other.
"""

from __future__ import annotations

import sys
from contextlib import suppress

from hardsim.campaign.interrupts import answer_signals, interruptible, leave_signals
from hardsim.cli.exit_codes import INTERRUPTED


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code; nothing is raised."""
    try:
        with interruptible():
            from hardsim.cli.commands import dispatch

            return dispatch(arguments)
    except KeyboardInterrupt:
        with suppress(OSError, ValueError, AttributeError):  # broken, closed, or none
            sys.stderr.write("interrupted\n")
        return INTERRUPTED


def main() -> None:
    """Run the console script. A signal that asks the process to end is handled like Ctrl-C: results are kept, and files
    are written whole or not at all."""
    answer_signals()
    code = run()
    leave_signals(code)
    sys.exit(code)
