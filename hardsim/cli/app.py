"""The entry point. It imports next to nothing, so that Ctrl-C during the start is answered like any other."""

from __future__ import annotations

import signal
import sys

INTERRUPTED = 130


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code; nothing is raised."""
    try:
        from hardsim.cli.commands import dispatch

        return dispatch(arguments)
    except KeyboardInterrupt:
        if sys.stderr is not None:
            sys.stderr.write("interrupted\n")
        return INTERRUPTED


def main() -> None:
    """The console script. What ends a process politely is answered like Ctrl-C: results are kept, files whole."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # One that is ignored (under nohup, say) stays so.
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)
    sys.exit(run())
