"""Ctrl-C, and what else asks a process to end: raised where work can be given up, and nowhere else.

Python raises KeyboardInterrupt between any two instructions: in the middle of an import, of a number that is being
added up, of a line that is being printed. The command line answers the signals itself instead, from its first line on
(`answer_signals`). In an `interruptible` block KeyboardInterrupt is raised, once. Outside of one, and in a `held` block
inside of one, it waits for the next place where it may be raised. So a block

    with held():
        try:
            with interruptible():
                work()
        except KeyboardInterrupt:
            partial = True
        report()

always comes to its report, and the report is whole. Who asks again after PATIENCE is heard anywhere: a report may wait
for a reader who does not read. Where the signals are not answered here (in the Python API) both blocks do nothing.
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
"""Seconds until it is tried again where a moment is wrong."""
_ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
_IMPORT = "<frozen importlib"
_BLOCKS = (__file__, contextmanager.__code__.co_filename)


class _State:
    """Of this process: whether KeyboardInterrupt may be raised, is waited for, and when the end was first asked for."""

    open = False
    waiting = False
    raised = False
    asked: float | None = None


def answer_signals() -> None:
    """Answer Ctrl-C and the signals that end a process politely; one that is ignored (under nohup, say) stays so."""
    for number in _ENDING:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _answer)
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, _again)
    sys.unraisablehook = _swallowed
    atexit.register(_ignore_signals)


def leave_signals(code: int) -> None:
    """Nothing is left that could be given up: a signal cuts the interpreter's own end short, with the exit code."""
    for number in _ENDING:
        if signal.getsignal(number) is _answer:
            signal.signal(number, lambda *_: os._exit(code))
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0)


def _ignore_signals() -> None:
    """The last thing that is done: handlers do not outlive it, and what they are replaced by would end the process."""
    for number in _ENDING:
        signal.signal(number, signal.SIG_IGN)


def settle_signals() -> None:
    """Nothing is left to be given up: what is asked for from here on comes too late to matter."""
    _State.raised = True


@contextmanager
def _block(may: bool) -> Iterator[None]:
    before = _State.open
    _State.open = may
    try:
        _raise_if_waiting()
        yield
    finally:
        _State.open = before
    _raise_if_waiting()


interruptible = partial(_block, True)
"""A block in which KeyboardInterrupt may be raised, also for a signal that came before it."""
held = partial(_block, False)
"""A block in which it is not, unless a block inside allows it; it is raised at the end, if it may be there."""


def to_the_report(work: Callable[[], object], report: Callable[[bool], T], stopped: bool = False) -> T:
    """Do the work, or (`stopped`) none of it, and then report, whole; the report is told if it is partial."""
    with held():
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
    """The handler of the signals."""
    now = time.monotonic()
    if _State.asked is not None and now - _State.asked > PATIENCE:
        _State.asked = now
        raise KeyboardInterrupt
    if _State.asked is None:
        _State.asked = now
    _State.waiting = True
    _again(number, frame)


def _again(number: int, frame: FrameType | None) -> None:
    """Raise what is waited for, if the moment is right."""
    if not _State.open or not _State.waiting or _State.raised:
        return
    if hasattr(signal, "setitimer") and _wrong_moment(frame):
        signal.setitimer(signal.ITIMER_REAL, AGAIN)
        return
    _raise_if_waiting()


def _wrong_moment(frame: FrameType | None) -> bool:
    """Whether a module is being imported, which may leave it half made for good, or a block begins or ends."""
    if frame is not None and frame.f_code.co_filename in _BLOCKS:
        return True
    while frame is not None:
        if frame.f_code.co_filename.startswith(_IMPORT):
            return True
        frame = frame.f_back
    return False


def _swallowed(found: Any) -> None:
    """A KeyboardInterrupt that was raised where nothing can be (in a finalizer) is raised again in a moment."""
    if not issubclass(found.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(found)
    elif hasattr(signal, "setitimer"):
        _State.waiting, _State.raised = True, False
        signal.setitimer(signal.ITIMER_REAL, AGAIN)
