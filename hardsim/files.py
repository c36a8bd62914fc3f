"""Files by name: read whole up to a limit, and written whole or not at all.

Every way in which a name can be wrong (missing, a directory, a pipe, too long, a loop of links, no permission, no
space left, no text) is one InputError that names the option, the path and the reason. Nothing waits for the other end
of a pipe.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from importlib.util import find_spec
from pathlib import Path

from hardsim.errors import InputError

with suppress(ImportError):  # not on every system: there no draft is known to be nobody's
    import fcntl

_LOCKS = find_spec("fcntl") is not None
LARGEST_FILE = 64 * 2**20
"""Bytes of the largest JSON document that is read: as Python's objects it takes up to thirty times as much memory."""
LARGEST_TEXT = 4 * 2**20
"""Bytes of the largest formula or program that is read: its lines and tokens take some hundred times as much."""
PARTIAL = ".partial."
"""What the name of a half-written file has after that of the file it was to become."""
LONGEST_PREFIX = 100
"""Bytes of a name that the name of its half-written file begins with: names have at most 255."""
MOST_LINKS = 40
"""Links that are followed, as by Linux."""

_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)
_STREAM = re.compile(r"/dev/(stdin|stdout|stderr|fd/.+)|/proc/[^/]+(/task/[^/]+)?/fd/.+")


def reason(error: Exception) -> str:
    """Why a file cannot be used, without its name."""
    return getattr(error, "strerror", None) or str(error)


def kind_of(mode: int) -> str:
    """What a mode of the file system says that there is, if it is no file and no directory."""
    return next((kind for test, kind in _KINDS if test(mode)), "")


# ---- reading ----


def read_bytes(path: Path | str, limit: int | None = None, option: str = "") -> bytes:
    """The bytes of a file of at most `limit` (default: LARGEST_FILE); `option` is what named it.

    Raises:
        InputError: if there is no such file, it is none, it is too large, or it cannot be read.
    """
    name = f"{option} {path}" if option else str(path)
    most = LARGEST_FILE if limit is None else limit
    try:
        found = os.stat(path)
        kind = kind_of(found.st_mode)
        if kind:
            hint = "save what it gives in a file, and name that; words for `hardsim eval` come from a pipe with '-'"
            raise InputError(f"{name}: is {kind}, not a file", hint)
        if found.st_size > most:
            raise _too_large(name, most)
        with open(path, "rb") as file:
            data = file.read(most + 1)  # it may have grown
    except FileNotFoundError:
        raise InputError(f"{name}: no such file", "check the path; `hardsim examples` lists the formulas") from None
    except IsADirectoryError:
        raise InputError(f"{name}: is a directory, not a file", "give a file inside it") from None
    except (OSError, ValueError) as error:
        hint = "check the path and its permissions"
        raise InputError(f"{name}: cannot be read: {reason(error)}", hint) from None
    if len(data) > most:
        raise _too_large(name, most)
    return data


def _too_large(name: str, most: int) -> InputError:
    size = f"{most // 2**20} MiB" if most >= 2**20 else f"{most} bytes"
    return InputError(f"{name}: larger than {size}, the most that is read", "is it the file you meant?")


def is_directory(path: Path | str) -> bool:
    """Whether there certainly is a directory of that name: whatever else is wrong with it is said when it is read."""
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def names_in(path: Path | str) -> list[str]:
    """The names of what is in a directory.

    Raises:
        InputError: if it cannot be read.
    """
    try:
        return os.listdir(path)
    except OSError as error:
        hint = "check its permissions, or name the files one by one"
        raise InputError(f"{path}: cannot be read: {reason(error)}", hint) from None


# ---- writing ----


def refusal(path: str, option: str, why: str) -> InputError:
    """The error for a place that cannot be written."""
    hint = f"Give {option} a file in a directory that exists and that you can write"
    hint += "." if option == "--resume" else ", or '-' for standard output."
    return InputError(f"{option} {path}: cannot be written ({why})", hint)


@contextmanager
def refusing(path: str, option: str) -> Iterator[None]:
    """Turn what the operating system says against writing into an InputError."""
    try:
        yield
    except (OSError, ValueError, RuntimeError) as error:
        raise refusal(path, option, reason(error)) from None


def target_of(path: str, option: str) -> Path:
    """The file that a name to be written means, with links followed: it is a file, a character device such as
    /dev/null, or nothing yet.

    Raises:
        InputError: for a directory, a pipe, and a stream of this process (a file behind it would be replaced).
    """
    if not path:
        raise refusal(path, option, "the name is empty")
    with refusing(path, option):
        here = Path(path)
        for _ in range(MOST_LINKS):
            if _STREAM.fullmatch(os.path.abspath(here)):
                raise refusal(path, option, "it is an open stream of this process")
            if not here.is_symlink():
                break
            here = here.parent / os.readlink(here)
        target = Path(path).resolve()
        mode = _mode(target)
        if mode is not None and stat.S_ISDIR(mode):
            raise refusal(path, option, "it is a directory")
        if mode is not None and kind_of(mode) and not stat.S_ISCHR(mode):
            raise refusal(path, option, f"it is {kind_of(mode)}")
    return target


def _mode(path: Path) -> int | None:
    """The mode of what has this name, None if nothing has."""
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


class Draft:
    """What will replace a file when it is complete; its own name begins with a dot and has PARTIAL in it.

    A draft is locked while its process lives, so that what a killed one left behind is recognised, whenever that was,
    and removed by the next that writes the same file.

    Raises:
        OSError: if it cannot be made.
    """

    def __init__(self, target: Path) -> None:
        self.target = target
        self._path: Path | None = None
        self._handle = -1
        _sweep(target)
        while self._path is None:
            self._handle, name = tempfile.mkstemp(prefix=_prefix(target), dir=target.parent)
            self._path = Path(name)
            _lock(self._handle)
            if not os.fstat(self._handle).st_nlink:  # it was swept before it was locked
                self.close()
        try:
            # mkstemp makes private files; the result gets the mode that any new file would have, or keeps its own.
            mode = _mode(target)
            os.chmod(name, 0o666 & ~_umask() if mode is None else mode & 0o777)
        except OSError:
            self.close()
            raise

    def commit(self, data: bytes, durable: bool = False) -> None:
        """Put the data in place of the file; `durable` waits until it is on the disk.

        Raises:
            OSError: if that fails: the file is as it was.
        """
        assert self._path is not None  # a draft is committed once
        with os.fdopen(os.dup(self._handle), "wb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        self._path.replace(self.target)
        self._path = None
        self.close()
        if durable:
            _sync(self.target.parent)

    def close(self) -> None:
        """Leave no trace of what was not committed."""
        if self._path is not None:
            with suppress(OSError):
                self._path.unlink()
            self._path = None
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def _prefix(target: Path) -> str:
    # Half a character is no text, but it is a name.
    start = os.fsdecode(os.fsencode(target.name)[:LONGEST_PREFIX])
    return f".{start}{PARTIAL}"


def _sweep(target: Path) -> None:
    """Remove the drafts of this file that belong to no process any more."""
    if not _LOCKS:
        return
    with suppress(OSError):
        for found in list(target.parent.glob(f"{escape(_prefix(target))}*")):
            with suppress(OSError):
                handle = os.open(found, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
                try:
                    if _lock(handle):
                        found.unlink()
                finally:
                    os.close(handle)


def _lock(handle: int) -> bool:
    """Lock a draft until it is closed; whether that was possible."""
    with suppress(OSError):
        if _LOCKS:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
    return False


def _sync(directory: Path) -> None:
    """Make a new name durable, where directories can be synchronised."""
    with suppress(OSError):
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
