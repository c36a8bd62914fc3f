"""Garbage collection while a command starts. What modules make as they are imported stays until the end, so looking for
garbage among it again and again finds none, and takes a tenth of the time of a short command.
"""

from __future__ import annotations

import gc

_paused = False


def pause_collection() -> None:
    """Collect no garbage until `resume_collection` is called. Only the console script calls this: a program that
    imports hardsim decides for itself."""
    global _paused
    _paused = gc.isenabled()
    gc.disable()


def resume_collection() -> None:
    """Collect garbage again, if `pause_collection` stopped that, but never look at what exists by now. Processes that
    are forked later then share the memory of all modules."""
    global _paused
    if _paused:
        _paused = False
        gc.freeze()
        gc.enable()
