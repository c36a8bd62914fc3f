"""Files by name: read whole up to a limit, and written whole or not at all.

Every way in which a name can be wrong (missing, a directory, a pipe, too long, a loop of links, no permission, no
space left, no text) is one InputError that names the option, the path and the reason. Nothing waits for the other end
of a pipe.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from glob import escape
from itertools import islice
from pathlib import Path
from typing import Self
from weakref import finalize

from hardsim.errors import InputError, did_you_mean

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:  # not on every system: there no draft is known to be nobody's, and the name is no function
    flock = None  # type: ignore[assignment]  # callers ask whether it is there

LARGEST_FILE = 64 * 2**20
"""Bytes of the largest JSON document that is read: as Python's objects it takes up to thirty times as much memory."""
LARGEST_TEXT = 4 * 2**20
"""Bytes of the largest formula, program or standard input: its lines and tokens take some hundred times as much."""
STDOUT = "-"
"""The name that means standard output, where something is written."""
PARTIAL = ".partial."
"""What the name of a half-written file has after that of the file it was to become."""
LONGEST_PREFIX = 100
"""Bytes of a name that the name of its half-written file begins with: names have at most 255."""
MOST_BESIDE = 1000
"""Files of a directory among which is looked for what may have been meant."""
MOST_LINKS = 40
"""Links that are followed, as by Linux."""

_KINDS = {stat.S_IFIFO: "a pipe", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFSOCK: "a socket"}
_STREAM = re.compile(r"/dev/(stdin|stdout|stderr|fd/.+)|/proc/[^/]+(/task/[^/]+)?/fd/.+")


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def kind_of(mode: int) -> str:
    """What a mode of the file system says that there is, if it is no file and no directory."""
    return _KINDS.get(stat.S_IFMT(mode), "")


# ---- reading ----


def read_bytes(
    path: Path | str, limit: int | None = None, option: str = "", others: Callable[[], Iterable[str]] = tuple
) -> bytes:
    """The bytes of a file of at most `limit` (default: LARGEST_FILE); `option` is what named it, and `others` gives
    what else could have been meant.

    Raises:
        InputError: if there is no such file, it is none, it is too large, or it cannot be read.
    """
    name = f"{option} {path}" if option else str(path)
    most = LARGEST_FILE if limit is None else limit
    try:
        found, data = os.stat(path), b""
        if kind := kind_of(found.st_mode):
            hint = "save what it gives in a file, and name that; words for `hardsim eval` come from a pipe with '-'"
            raise InputError(f"{name}: is {kind}, not a file", hint)
        if found.st_size <= most:
            with open(path, "rb") as file:
                data = file.read(most + 1)
    except FileNotFoundError:
        near = did_you_mean(str(path), [*others(), *_beside(path)])
        hint = near or "check the path; `hardsim examples` lists what is shipped"
        raise InputError(f"{name}: no such file", hint) from None
    except IsADirectoryError:
        raise InputError(f"{name}: is a directory, not a file", "give a file inside it") from None
    except (OSError, ValueError) as error:
        hint = "check the path and its permissions"
        raise InputError(f"{name}: cannot be read: {_reason(error)}", hint) from None
    if max(found.st_size, len(data)) > most:
        raise _too_large(name, most)
    return data


def read_head(path: Path | str, most: int) -> bytes:
    """Return the first bytes of a file, to guess its format; none if the file is missing or cannot be read."""
    with suppress(OSError, ValueError):
        if stat.S_ISREG(os.stat(path).st_mode):
            with open(path, "rb") as file:
                return file.read(most)
    return b""


def _beside(path: Path | str) -> list[str]:
    """The paths of the first files in the directory of a path."""
    folder = os.path.dirname(path)
    with suppress(OSError, ValueError), os.scandir(folder or ".") as found:
        return [os.path.join(folder, one.name) for one in islice(found, MOST_BESIDE) if one.is_file()]
    return []


def read_stdin(name: str) -> bytes:
    """The bytes on standard input, of at most LARGEST_TEXT, under the name by which errors cite it.

    Raises:
        InputError: if it is too large, or cannot be read.
    """
    try:
        data = sys.stdin.buffer.read(LARGEST_TEXT + 1)
    except (OSError, ValueError) as error:
        hint = "Send words there, one a line, or give them as arguments."
        raise InputError(f"{name}: standard input cannot be read ({_reason(error)})", hint) from None
    if len(data) > LARGEST_TEXT:
        raise _too_large(name, LARGEST_TEXT)
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


def require_here() -> None:
    """Hold that this process stands in a directory.

    Raises:
        InputError: if it was removed.
    """
    try:
        os.getcwd()
    except OSError as error:
        message = f"the directory in which this runs cannot be used ({_reason(error)})"
        raise InputError(message, "Go to one that is there.") from None


def names_in(path: Path | str) -> list[str]:
    """The names of what is in a directory.

    Raises:
        InputError: if it cannot be read.
    """
    try:
        return os.listdir(path)
    except OSError as error:
        hint = "check its permissions, or name the files one by one"
        raise InputError(f"{path}: cannot be read: {_reason(error)}", hint) from None


# ---- writing ----


def refusal(path: str, option: str, why: str) -> InputError:
    """The error for a place that cannot be written."""
    hint = f"Give {option} a file in a directory that exists and that you can write"
    hint += "." if option in ("--resume", "--plot", "plot", "save", "certificate") else ", or '-' for standard output."
    return InputError(f"{option} {path}: cannot be written ({why})", hint)


@contextmanager
def refusing(path: str, option: str) -> Iterator[None]:
    """Turn what the operating system says against writing into an InputError."""
    try:
        yield
    except (OSError, ValueError, RuntimeError) as error:
        raise refusal(path, option, _reason(error)) from None


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
        mode = _mode(target) or 0
        if stat.S_ISDIR(mode):
            raise refusal(path, option, "it is a directory")
        if kind_of(mode) and not stat.S_ISCHR(mode):
            raise refusal(path, option, f"it is {kind_of(mode)}")
    return target


def same_file(left: str, right: str) -> bool:
    """Whether two names mean one file."""
    with suppress(OSError, ValueError):
        return os.path.samefile(left, right)
    with suppress(OSError, ValueError, RuntimeError):
        return Path(left).resolve() == Path(right).resolve()
    return False


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
        self._target = target
        _sweep(target, target.parent)
        while True:
            handle, self._name = tempfile.mkstemp(prefix=_prefix(target), dir=target.parent)
            self._file = os.fdopen(handle, "wb")
            _lock(handle)
            if os.fstat(handle).st_nlink:
                break
            self.close()  # it was swept before it was locked
        try:
            # mkstemp makes private files; the result gets the mode that any new file would have, or keeps its own.
            mode, mask = _mode(target), os.umask(0)
            os.umask(mask)
            os.chmod(self._name, 0o666 & ~mask if mode is None else mode & 0o777)
        except OSError:
            self.close()
            raise

    def commit(self, data: bytes, new: bool = False) -> bool:
        """Replace the file by the data, or (`new`) create it only if there is none; return whether that was done.

        Raises:
            OSError: if that fails: the file is as it was.
        """
        self._file.write(data)
        self._file.flush()
        done = not new or self._linked()
        if done:
            os.replace(self._name, self._target)
        self.close()
        return done

    def _linked(self) -> bool:
        """Give the data the name of the file; return False if another process has just created that file."""
        try:
            os.link(self._name, self._target)
        except FileExistsError:
            return False
        except OSError:  # not every file system has links: there the last one wins
            pass
        return True

    def close(self) -> None:
        """Leave no trace of what was not committed."""
        with suppress(OSError):
            os.unlink(self._name)
        with suppress(OSError):  # a full disk was told of before
            self._file.close()


class Folder:
    """What will be a directory when it is complete, at `path` until then: beside it if it is not there yet, and else,
    as it may be where somebody stands or a disk is mounted, inside of it. Locked, and swept, as drafts of files are.

    Raises:
        InputError: if there is something in the directory.
        OSError: if it cannot be made.
    """

    def __init__(self, target: Path, option: str) -> None:
        self._target, self._option, self._handle = target, option, -1
        self._inside = target.is_dir()
        place = target if self._inside else target.parent
        _sweep(target, place)
        self._require_empty(0)
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=_prefix(target), dir=place))
            with suppress(OSError):  # not every system opens directories
                self._handle = os.open(self.path, os.O_RDONLY)
                _lock(self._handle)
            if self.path.exists():
                break
            self.close()  # it was swept before it was locked
        mask = os.umask(0)
        os.umask(mask)
        self.path.chmod(0o777 & ~mask)

    def _require_empty(self, own: int) -> None:
        if self._inside and len(os.listdir(self._target)) > own:
            message = f"{self._option} {self._target}: there is something in this directory, and nothing is replaced"
            raise InputError(message, "Name a directory that is not there yet, or an empty one.")

    def commit(self) -> None:
        """Make it appear under its name.

        Raises:
            InputError: if there is something in the directory by now.
            OSError: if that fails.
        """
        if not self._inside:
            self.path.rename(self._target)
            return
        self._require_empty(1)
        for one in sorted(self.path.iterdir()):
            one.rename(self._target / one.name)

    def close(self) -> None:
        """Leave no trace of what was not committed."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def _prefix(target: Path) -> str:
    start = os.fsdecode(os.fsencode(target.name)[:LONGEST_PREFIX])  # half a character is no text, but it is a name
    return f".{start}{PARTIAL}"


def _sweep(target: Path, place: Path) -> None:
    """Remove the drafts of this file or directory that belong to no process any more, from where they are made."""
    with suppress(OSError):
        for found in list(place.glob(f"{escape(_prefix(target))}*")):
            with suppress(OSError):
                handle = os.open(found, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
                try:
                    if _lock(handle):
                        shutil.rmtree(found) if found.is_dir() else found.unlink()
                finally:
                    os.close(handle)


class FileLock:
    """A lock on a file, which one process holds and which ends with that process, however it ends. On a system or disk
    without locks, nothing is locked.

    Raises:
        BlockingIOError: if another process has locked it.
        OSError: if it cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        try:
            handle = os.open(path, os.O_RDWR)
        except OSError:  # it may be read-only, and complete
            handle = os.open(path, os.O_RDONLY)
        self.close = finalize(self, os.close, handle)
        """Let it go."""
        try:
            if flock is not None:
                flock(handle, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            self.close()
            raise
        except OSError:  # this disk has no locks
            pass


def _lock(handle: int) -> bool:
    """Lock a draft until it is closed; whether that was possible."""
    with suppress(OSError):
        if flock is not None:
            flock(handle, LOCK_EX | LOCK_NB)
            return True
    return False


class Sink:
    """A place for one text: a file that appears under its name when complete, or standard output (`-`).

    That it can be written is tried when the sink is made, so that a long computation does not end in a missing
    directory. A character device (`/dev/null`) is written directly, since nothing can be renamed over it.

    Raises:
        InputError: if the place cannot be written.
    """

    def __init__(self, path: str, option: str) -> None:
        self.path, self.option = path, option
        self._draft: Draft | None = None
        if path == STDOUT:
            return
        self._target = target_of(path, option)
        with refusing(path, option):
            if not self._target.exists() or self._target.is_file():
                self._draft = Draft(self._target)
            elif not os.access(self._target, os.W_OK):
                raise refusal(path, option, "permission denied")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave no trace of a text that was never written."""
        if self._draft is not None:
            self._draft.close()

    def spare(self, path: str) -> None:
        """Hold that this is not a file that is read: an InputError otherwise."""
        if self._draft is not None and same_file(self.path, path):
            message = f"{self.option} {self.path} would overwrite what is read, {path}"
            raise InputError(message, f"Give {self.option} another name.")

    def same(self, other: Sink) -> bool:
        """Whether both write to one place."""
        return STDOUT not in (self.path, other.path) and same_file(self.path, other.path)

    def write(self, text: str | bytes) -> None:
        """Write the text, or the bytes of a file that is none, and make it appear.

        Raises:
            InputError: if that fails (a full disk, say).
        """
        if self.path == STDOUT and isinstance(text, str):
            sys.stdout.write(text)
            sys.stdout.flush()
            return
        data = text if isinstance(text, bytes) else text.encode("utf-8", "backslashreplace")
        try:
            with refusing(self.path, self.option):
                if self._draft is None:
                    self._target.write_bytes(data)
                else:
                    self._draft.commit(data)
        finally:
            self.__exit__()
