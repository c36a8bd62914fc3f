"""The entry point of the command line. It imports almost nothing, so that Ctrl-C during start-up is handled like any
other.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from contextlib import suppress

from hardsim.campaign.interrupts import answer_signals, interruptible, leave_signals
from hardsim.cli.exit_codes import BAD_INPUT, INTERRUPTED
from hardsim.cli.start import pause_collection, too_little

BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""The variables from which the libraries of linear algebra that NumPy is built with read their number of threads."""


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code; nothing is raised."""
    try:
        with interruptible():
            if (message := too_little()) is not None:
                _tell(message)
                return BAD_INPUT
            from hardsim.cli.commands import dispatch

            return dispatch(arguments)
    except KeyboardInterrupt:
        _tell("interrupted")
        return INTERRUPTED


def _tell(message: str) -> None:
    """Print a message to standard error, without the modules that the command line prints with."""
    with suppress(OSError, ValueError, AttributeError):  # broken, closed, or none
        sys.stderr.write(f"{message}\n")


def one_thread() -> None:
    """Give linear algebra one thread, unless a variable of BLAS_THREADS says otherwise. Only the console script calls
    this, before NumPy is imported: a program that imports hardsim decides for itself."""
    for name in BLAS_THREADS:
        # Most matrices are small: a second thread takes much processor time and saves none.
        os.environ.setdefault(name, "1")


def main(arguments: list[str] | None = None) -> None:
    """Run the console script. A signal that asks the process to end is handled like Ctrl-C: results are kept, and files
    are written whole or not at all."""
    one_thread()
    pause_collection()
    answer_signals()
    code = run(arguments)
    leave_signals(code)
    atexit.register(gc.freeze)  # Python's last collection would look through every class and function
    sys.exit(code)
