"""The limits of this process, garbage collection while a command starts, and what becomes of memory that arrays leave.

What modules make as they are imported stays until the end, so looking for garbage among it again and again finds none,
and takes a tenth of the time of a short command.

The C library gives memory above two megabytes back to the system as soon as it is free, and asks for it again for the
next array. Each page that it gets is filled with zeros first: that took a fifth of the time of searches of networks.
"""

from __future__ import annotations

import gc
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctypes import CDLL

TRIM, MMAP = -1, -3
"""The numbers of two settings of glibc: the free memory from which some is given back, and the size from which arrays
get memory of their own, which is given back with them."""
KEPT = 2**26, 2**22
"""Their values, in bytes. Arrays of a batch are smaller than the second; larger ones are few, and would stay."""
_paused = False
LEAST_MEMORY, LEAST_FILES = 2**28, 32
"""Least bytes of addresses, and least number of open files, with which every module and a few processes fit."""


def too_little() -> str | None:
    """Return an error message if a limit of this process is too low for the modules of hardsim; None if there is none.
    Their libraries end a process with exit code 1 where memory is short, which would look like a verdict."""
    try:
        import resource
    except ImportError:  # not on this system
        return None
    for number, least, unit, what, letter in (
        (resource.RLIMIT_AS, LEAST_MEMORY, 2**20, "use {} MiB of memory", "v"),
        (resource.RLIMIT_NOFILE, LEAST_FILES, 1, "open {} files", "n"),
    ):
        soft, _ = resource.getrlimit(number)
        if soft != resource.RLIM_INFINITY and soft < least:
            may = what.format(soft // unit)
            return (
                f"error: this process may {may}, and hardsim needs {least // unit}\n"
                f"  Raise the limit, which `ulimit -{letter}` shows."
            )
    return None


def pause_collection() -> None:
    """Collect no garbage until `resume_collection` is called. Only the console script calls this: a program that
    imports hardsim decides for itself."""
    global _paused
    _paused = gc.isenabled()
    gc.disable()


def resume_collection() -> None:
    """Collect garbage again, if `pause_collection` stopped that, but never look at what exists by now. Processes that
    are forked later then share the memory of all modules. Free memory is kept from here on."""
    global _paused
    if _paused:
        _paused = False
        gc.freeze()
        gc.enable()
        _keep_memory()


def next_input() -> None:
    """Drop what is kept for an input whose results are known, and give its memory back to the system. Inputs share
    little, and what they leave would add up."""
    from hardsim.kept import forget

    forget()
    if (libc := _libc()) is not None:
        with suppress(AttributeError):  # it cannot
            libc.malloc_trim(0)


def _keep_memory() -> None:
    """Keep free memory for the next arrays. Does nothing where the C library has no such settings."""
    if (libc := _libc()) is not None:
        with suppress(AttributeError):
            for name, value in zip((TRIM, MMAP), KEPT, strict=True):
                libc.mallopt(name, value)


def _libc() -> CDLL | None:
    """Return the C library; None where it is not known."""
    from ctypes import CDLL  # which NumPy imports, too

    with suppress(OSError, TypeError):
        return CDLL(None)
    return None
