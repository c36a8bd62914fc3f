"""Read files whole up to a size limit, and write them whole or not at all.

Every fault of a file name (missing, a directory, a pipe, too long, a loop of links, no permission, no space left, not
text) becomes one InputError that names the option, the path and the reason. Nothing waits for the other end of a pipe.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from glob import escape
from itertools import islice
from pathlib import Path
from typing import Self
from weakref import finalize

from hardsim.errors import InputError, did_you_mean, nearest

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:  # not on every system: there no draft is known to be nobody's, and the name is no function
    flock = None  # type: ignore[assignment]  # callers ask whether it is there

LARGEST_FILE = 64 * 2**20
"""Size in bytes of the largest JSON document that is read; as Python objects it takes up to thirty times as much
memory."""
LARGEST_TEXT = 4 * 2**20
"""Size in bytes of the largest formula, program or standard input; lines and tokens take some hundred times as much
memory."""
STDOUT = "-"
"""File name that means standard output."""
STREAMED = ("--json", "--html", "--certificate", "--smt", "-o")
"""The options that take it for a file."""
EMPTY_NAME = "Give the name of a file, or '.' for this directory."
"""Advice for a file name that is empty."""
MISSING = "Check the path; `hardsim examples` lists what is shipped."
"""Advice for a file that does not exist."""
PARTIAL = ".partial."
"""Part of the name of an incomplete file, after the name of the file that it will become."""
LONGEST_PREFIX = 100
"""Number of bytes of a file's name with which the name of its incomplete file begins; names have at most 255 bytes."""
MOST_BESIDE = 1000
"""Largest number of files in a directory that are compared with a mistyped name."""
MOST_LINKS = 40
"""Largest number of links that are followed, as in Linux."""

_KINDS = {stat.S_IFIFO: "a pipe", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFSOCK: "a socket"}
_STREAM = re.compile(r"/dev/(stdin|stdout|stderr|fd/.+)|/proc/[^/]+(/task/[^/]+)?/fd/.+")


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def kind_of(mode: int) -> str:
    """Return the kind of file that a mode of the file system describes (a pipe, a device, a socket); empty for a
    regular file or a directory."""
    return _KINDS.get(stat.S_IFMT(mode), "")


# ---- reading ----


PART = 1 << 20
"""Number of bytes that are read at once from a file that is longer than it says."""


def read_bytes(
    path: Path | str,
    limit: int | None = None,
    option: str = "",
    others: Callable[[], Iterable[str]] = tuple,
    missing: str = MISSING,
) -> bytes:
    """Return the content of a file of at most `limit` bytes (default: LARGEST_FILE). Errors name the option, if given;
    `others` returns more names that could have been meant, and `missing` is the advice if no name is near. Raises
    InputError if there is no such file, if it is not a regular file, is too large, or cannot be read."""
    name = f"{option} {path}" if option else str(path)
    most = LARGEST_FILE if limit is None else limit
    if path == "":
        raise InputError("a file name is empty", EMPTY_NAME)
    try:
        # The kind is checked before opening, because opening a pipe would wait for its other end.
        found, data = os.stat(path), b""
        if kind := kind_of(found.st_mode):
            hint = "Save its content in a file, and name that file; `hardsim eval FILE -` reads words from a pipe."
            raise InputError(f"{name}: is {kind}, not a file", hint)
        if found.st_size <= most:
            with open(path, "rb") as file:
                # Python reserves as many bytes as it is asked for.
                data = file.read(found.st_size + 1)
                more = len(data) > found.st_size
                while more and len(data) <= most and (part := file.read(PART)):
                    data += part
    except FileNotFoundError:
        if os.path.islink(path):
            hint = f"It leads to {os.readlink(path)}. Restore that file, or remove the link."
            raise InputError(f"{name}: is a link to a file that does not exist", hint) from None
        near = _near(str(path), others())
        raise InputError(f"{name}: no such file", near or missing) from None
    except IsADirectoryError:
        raise InputError(f"{name}: is a directory, not a file", "Give a file inside it.") from None
    except (OSError, ValueError) as error:
        hint = "Check the path and its permissions."
        raise InputError(f"{name}: cannot be read: {_reason(error)}", hint) from None
    # Both, because a file may grow while it is read, and a file of /proc has size 0.
    if max(found.st_size, len(data)) > most:
        raise _too_large(name, most)
    return data


def read_head(path: Path | str, most: int) -> bytes:
    """Return the first bytes of a file, at most `most`, to guess its format; none if it is missing, not a regular
    file, or cannot be read."""
    with suppress(OSError, ValueError):
        if stat.S_ISREG(os.stat(path).st_mode):
            with open(path, "rb") as file:
                return file.read(most)
    return b""


def _near(path: str, others: Iterable[str]) -> str:
    """Return the question whether a file of the same directory, or one of the other names, was meant; "" if no name is
    near."""
    folder, own = os.path.split(path)
    beside = list[str]()
    with suppress(OSError, ValueError), os.scandir(folder or ".") as found:
        beside = [one.name for one in islice(found, MOST_BESIDE) if one.is_file()]
    if not folder:
        return did_you_mean(own, _alike(own, [*others, *beside]))
    # Without the directory, which is the same: with a long one every name would be near.
    near = did_you_mean(own, _alike(own, beside), lambda name: os.path.join(folder, name))
    return near or did_you_mean(path, _alike(path, others))


def _alike(path: str, names: Iterable[str]) -> list[str]:
    """Return the names that are near without their suffix, too: with the same suffix every short name would be near."""
    stem = os.path.splitext(path)[0]
    return [name for name in names if nearest(stem, [os.path.splitext(name)[0]])]


def read_stdin(name: str) -> bytes:
    """Return the bytes of standard input, at most LARGEST_TEXT; errors cite it as `name`. Raises InputError if there
    are more bytes, or they cannot be read."""
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
    return InputError(f"{name}: larger than {size}, the most that hardsim reads", "Check that this is the right file.")


def is_directory(path: Path | str) -> bool:
    """Return True if there certainly is a directory of that name. Any fault of the name is reported when the file is
    read."""
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def require_here() -> None:
    """Require that the working directory of this process exists. Raises InputError if it was removed."""
    try:
        os.getcwd()
    except OSError as error:
        message = f"the working directory cannot be used ({_reason(error)})"
        raise InputError(message, "Change to a directory that exists.") from None


def names_in(path: Path | str) -> list[str]:
    """Return the names of the files and directories in a directory, without their paths, in no particular order. Raises
    InputError if the directory cannot be read."""
    try:
        return os.listdir(path)
    except OSError as error:
        hint = "Check its permissions, or name the files one by one."
        raise InputError(f"{path}: cannot be read: {_reason(error)}", hint) from None


# ---- writing ----


def refusal(path: str, option: str, why: str, what: str = "file") -> InputError:
    """Return the error for a file, or a folder, that cannot be written; `why` is the reason."""
    stream = ", or '-' for standard output" * (option in STREAMED)
    hint = f"Give {option} a {what} that can be written{stream}."
    return InputError(f"{option} {path}: cannot be written ({why})", hint)


@contextmanager
def refusing(path: str, option: str, what: str = "file") -> Iterator[None]:
    """Turn errors of the operating system while writing a file, or a folder, into an InputError."""
    try:
        yield
    except (OSError, ValueError, RuntimeError) as error:
        raise refusal(path, option, _reason(error), what) from None


def target_of(path: str, option: str) -> Path:
    """Return the file to which a name refers, with links followed. It is a regular file, a character device such as
    /dev/null, or does not exist yet. Raises InputError for a directory, a pipe, or an open stream of this process (a
    file behind it would be replaced)."""
    if not path:
        raise refusal(path, option, "the name is empty")
    with refusing(path, option):
        here = Path(path)
        # Every link is examined, because one in the middle may lead to a stream.
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
    """Return True if two names refer to one file."""
    with suppress(OSError, ValueError):
        return os.path.samefile(left, right)
    with suppress(OSError, ValueError, RuntimeError):
        return Path(left).resolve() == Path(right).resolve()
    return False


def _mode(path: Path) -> int | None:
    """Return the mode of a path, or None if it does not exist."""
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


class Draft:
    """An incomplete file that replaces its target when it is committed. Its name begins with a dot and contains
    PARTIAL.

    A draft is locked while its process lives. So a draft that a killed process left behind can be recognised at any
    time; the next process that writes the same file removes it. Raises OSError if the draft cannot be made."""

    def __init__(self, target: Path) -> None:
        self._target = target
        _sweep(target, target.parent)
        while True:
            # Between making and locking it, another process may take the draft for an abandoned one.
            handle, self._name = tempfile.mkstemp(prefix=_prefix(target), dir=target.parent)
            self._file = os.fdopen(handle, "wb")
            _lock(handle)
            if os.fstat(handle).st_nlink:
                break
            self.close()  # it was swept before it was locked
        try:
            # mkstemp makes private files; the result gets the mode that any new file would have, or keeps its own.
            # umask can be read only by setting it.
            mode, mask = _mode(target), os.umask(0)
            os.umask(mask)
            os.chmod(self._name, 0o666 & ~mask if mode is None else mode & 0o777)
        except OSError:
            self.close()
            raise

    def commit(self, data: bytes, new: bool = False) -> bool:
        """Replace the target by the data, or, with `new`, create it only if it does not exist. Return True if that was
        done. Raises OSError if that fails: the target is unchanged."""
        self._file.write(data)
        self._file.flush()
        done = not new or self._linked()
        if done:
            # Atomic: a reader sees the old file or the new one, never a part.
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
        """Remove the draft, if it was not committed."""
        with suppress(OSError):
            os.unlink(self._name)
        with suppress(OSError):  # a full disk was reported before
            self._file.close()


def rewrite(path: str, option: str, data: bytes, hint: str) -> None:
    """Replace the content of a file that was read. Raises InputError with this hint if the system refuses: then the
    file is unchanged."""
    try:
        with closing(Draft(target_of(path, option))) as draft:
            draft.commit(data)
    except OSError as error:
        raise InputError(f"{option} {path}: cannot be written ({_reason(error)})", hint) from None


class Folder:
    """An incomplete directory that becomes its target when it is committed; `path` is its place until then.

    It is made beside a target that does not exist. An existing empty target stays, because it may be a working
    directory or a mount point, and the incomplete directory is made inside it. It is locked, and removed by a later
    process, as a Draft. Raises InputError if the target is not empty; OSError if the directory cannot be made."""

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
            message = f"{self._option} {self._target}: this directory is not empty, and hardsim replaces nothing in it"
            raise InputError(message, "Name a new directory, or an empty one.")

    def commit(self) -> None:
        """Make the directory appear under its name. Raises InputError if the target is no longer empty; OSError if that
        fails."""
        if not self._inside:
            self.path.rename(self._target)
            return
        self._require_empty(1)
        for one in sorted(self.path.iterdir()):
            one.rename(self._target / one.name)

    def close(self) -> None:
        """Remove the directory, if it was not committed."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def _prefix(target: Path) -> str:
    start = os.fsdecode(os.fsencode(target.name)[:LONGEST_PREFIX])  # half a character is no text, but it is a name
    return f".{start}{PARTIAL}"


def _sweep(target: Path, place: Path) -> None:
    """Remove the drafts of this file or directory whose processes are gone; `place` is the directory of the drafts."""
    with suppress(OSError):
        for found in list(place.glob(f"{escape(_prefix(target))}*")):
            with suppress(OSError):
                # Not through a link, and without waiting: anybody may have put a pipe or a link there.
                handle = os.open(found, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
                try:
                    if _lock(handle):
                        shutil.rmtree(found) if found.is_dir() else found.unlink()
                finally:
                    os.close(handle)


class FileLock:
    """A lock on a file, held by one process and released when the process ends, in whatever way. On a system or disk
    without locks, nothing is locked. Raises BlockingIOError if another process has locked the file; OSError if the file
    cannot be opened."""

    def __init__(self, path: Path) -> None:
        try:
            handle = os.open(path, os.O_RDWR)
        except OSError:  # it may be read-only, and complete
            handle = os.open(path, os.O_RDONLY)
        self.close = finalize(self, os.close, handle)
        """Function that releases the lock."""
        try:
            if flock is not None:
                flock(handle, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            self.close()
            raise
        except OSError:  # this disk has no locks
            pass


def _lock(handle: int) -> bool:
    """Lock a draft until it is closed, and return True if that was possible."""
    with suppress(OSError):
        if flock is not None:
            flock(handle, LOCK_EX | LOCK_NB)
            return True
    return False


class Sink:
    """The destination of one text: a file that appears under its name when it is complete, or standard output (`-`).

    Whether the file can be written is tried when the sink is made, so that a long computation does not end at a missing
    directory. A character device (`/dev/null`) is written directly, because nothing can be renamed over it. Raises
    InputError if the file cannot be written."""

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
        """Remove the draft of a text that was never written."""
        if self._draft is not None:
            self._draft.close()

    def spare(self, path: str) -> None:
        """Require that this sink does not write over a file that is read. Raises InputError if it would."""
        if self._draft is not None and same_file(self.path, path):
            message = f"{self.option} {self.path} would overwrite the input {path}"
            raise InputError(message, f"Give {self.option} another name.")

    def spare_folder(self, folder: str, option: str) -> None:
        """Require that this sink does not write into a folder that another option names, whose files are fixed. Raises
        InputError if it would."""
        if self.path != STDOUT and same_file(self.path, folder):
            raise InputError(f"{option} and {self.option} both write {self.path}", "Name two files.")
        if self._draft is not None and same_file(os.path.dirname(self.path) or os.curdir, folder):
            message = f"{self.option} {self.path} is inside the folder of {option}, which has files of its own"
            raise InputError(message, f"Write {self.option} to another folder.")

    def same(self, other: Sink) -> bool:
        """Return True if both sinks write to one file."""
        return STDOUT not in (self.path, other.path) and same_file(self.path, other.path)

    def write(self, text: str | bytes) -> None:
        """Write the text, or the bytes of a binary file, and make the file appear. Raises InputError if that fails, for
        example on a full disk."""
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
