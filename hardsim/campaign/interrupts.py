"""Ctrl-C and other signals that ask a process to end: KeyboardInterrupt is raised only where work can be given up.

Python raises KeyboardInterrupt between any two instructions: in the middle of an import, of a sum in progress, of a
line that is being printed. The command line handles the signals itself instead, from its first line on
(`answer_signals`). In an `interruptible` block KeyboardInterrupt is raised, once. Outside of such a block, and in an
`uninterrupted` block inside of one, it waits for the next place where it may be raised. So a block

    with uninterrupted():
        try:
            with interruptible():
                work()
        except KeyboardInterrupt:
            partial = True
        report()

always reaches its report, and the report is complete. A second signal after PATIENCE seconds is obeyed anywhere: a
report may wait for a reader who does not read. Where the signals are not handled here (in the Python API) both blocks
do nothing.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import time
from contextlib import contextmanager
from functools import partial

TYPE_CHECKING = False  # typing alone would double the time until the first signal is answered
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType
    from typing import Any, TypeVar

    T = TypeVar("T")

PATIENCE = 3.0
"""Seconds after which a second request to end is obeyed wherever the process is."""
AGAIN = 0.02
"""Seconds until the next attempt to raise KeyboardInterrupt, if the moment is wrong."""
_ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
_IMPORT = "<frozen importlib"
_BLOCKS = (__file__, contextmanager.__code__.co_filename)


class _State:
    """The state of this process. KeyboardInterrupt may be raised now (`open`), is `waiting` to be raised, or was
    `raised`; `requested_at` is the time of the first request to end."""

    open = False
    waiting = False
    raised = False
    requested_at: float | None = None


def answer_signals() -> None:
    """Install handlers for Ctrl-C and the signals that ask a process to end. An ignored signal (under nohup, say) stays
    ignored."""
    for number in _ENDING:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _answer)
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, _again)
    sys.unraisablehook = _swallowed
    atexit.register(_ignore_signals)


def leave_signals(code: int) -> None:
    """Make a signal end the process at once with this exit code: no work is left, only the interpreter's own end."""
    for number in _ENDING:
        if signal.getsignal(number) is _answer:
            signal.signal(number, lambda *_: os._exit(code))
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0)


def _ignore_signals() -> None:
    """Ignore the signals. This runs last at exit: the handlers go away with the interpreter, and the default actions of
    the signals would kill the process."""
    for number in _ENDING:
        signal.signal(number, signal.SIG_IGN)


def asked_to_end() -> bool:
    """Return True if a request to end waits for a place where KeyboardInterrupt may be raised."""
    return _State.waiting


def settle_signals() -> None:
    """Drop all further requests to end: no work is left that could be given up."""
    # As if it had been raised already: it is raised once only.
    _State.raised = True


@contextmanager
def _block(may: bool) -> Iterator[None]:
    # Blocks nest: the end of one restores the permission outside.
    before = _State.open
    _State.open = may
    try:
        _raise_if_waiting()
        yield
    finally:
        _State.open = before
    _raise_if_waiting()


interruptible = partial(_block, True)
"""A block in which KeyboardInterrupt may be raised, also for a signal that came before the block."""
uninterrupted = partial(_block, False)
"""A block in which KeyboardInterrupt is not raised, unless a block inside allows it; a waiting one is raised at the
end, if it may be raised there."""


def to_the_report(work: Callable[[], object], report: Callable[[bool], T], stopped: bool = False) -> T:
    """Do the work (with `stopped` skip it), then call the report, uninterrupted; its argument is True if the work is
    partial."""
    with uninterrupted():
        partial = stopped
        try:
            if not stopped:
                with interruptible():
                    work()
        except KeyboardInterrupt:
            partial = True
        return report(partial)


def _raise_if_waiting() -> None:
    if _State.open and _State.waiting and not _State.raised:
        _State.waiting, _State.raised = False, True
        raise KeyboardInterrupt


def _answer(number: int, frame: FrameType | None) -> None:
    """Handle a signal: note the request to end, and raise KeyboardInterrupt now or as soon as it may be raised."""
    now = time.monotonic()
    # The second request: the user has waited, so not even a report holds it up.
    if _State.requested_at is not None and now - _State.requested_at > PATIENCE:
        _State.requested_at = now
        raise KeyboardInterrupt
    if _State.requested_at is None:
        _State.requested_at = now
    _State.waiting = True
    _again(number, frame)


def _again(number: int, frame: FrameType | None) -> None:
    """Raise a waiting KeyboardInterrupt if the moment is right; try again later if a module is being imported."""
    if not _State.open or not _State.waiting or _State.raised:
        return
    if hasattr(signal, "setitimer") and _wrong_moment(frame):
        signal.setitimer(signal.ITIMER_REAL, AGAIN)
        return
    _raise_if_waiting()


def _wrong_moment(frame: FrameType | None) -> bool:
    """Return True if an interrupt must wait: during an import, since the module would stay half done for good, and
    while a context manager is entered or left."""
    if frame is not None and frame.f_code.co_filename in _BLOCKS:
        return True
    while frame is not None:
        if frame.f_code.co_filename.startswith(_IMPORT):
            return True
        frame = frame.f_back
    return False


def _swallowed(found: Any) -> None:
    """Schedule a KeyboardInterrupt again that was raised where none can be handled (in a finalizer)."""
    if not issubclass(found.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(found)
    elif hasattr(signal, "setitimer"):
        _State.waiting, _State.raised = True, False
        signal.setitimer(signal.ITIMER_REAL, AGAIN)
