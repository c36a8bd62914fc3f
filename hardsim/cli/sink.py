"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from hardsim.errors import InputError

STDOUT = "-"


class Sink:
    """A place for one text: a file that appears under its name when complete, or standard output (`-`).

    That it can be written is tried when the sink is made, so that a long computation does not end in a missing
    directory. A device or pipe (`/dev/stdout`, a shell's `>(...)`) is written directly, since nothing can be
    renamed over it.

    Raises:
        InputError: if the place cannot be written.
    """

    def __init__(self, path: str, option: str) -> None:
        self.path = path
        self.option = option
        self._temporary: Path | None = None
        if path == STDOUT:
            return
        self._target = self._resolve()
        if self._target.exists() and not self._target.is_file():
            self._direct()
            return
        try:
            handle, name = tempfile.mkstemp(prefix=f".{self._target.name[:100]}.", dir=self._target.parent)
            self._temporary = Path(name)
            # mkstemp makes private files; the result gets the mode that any new file would have, or keeps its own.
            os.chmod(handle, self._target.stat().st_mode & 0o777 if self._target.exists() else 0o666 & ~_umask())
            os.close(handle)
        except OSError as error:
            self.discard()
            raise self._refusal(error.strerror or str(error)) from None

    def _resolve(self) -> Path:
        if not self.path:
            raise self._refusal("the name is empty")
        try:
            return Path(self.path).resolve()
        except (OSError, ValueError, RuntimeError) as error:
            raise self._refusal(str(error)) from None

    def _direct(self) -> None:
        if self._target.is_dir():
            raise self._refusal("it is a directory")
        if not os.access(self._target, os.W_OK):
            raise self._refusal("permission denied")

    def _refusal(self, reason: str) -> InputError:
        hint = f"Give {self.option} a file in a directory that exists and that you can write, or '-'."
        return InputError(f"{self.option} {self.path}: cannot be written ({reason})", hint=hint)

    def spare(self, path: str) -> None:
        """Hold that this is not a file that is read.

        Raises:
            InputError: if writing would replace the file of that name.
        """
        with suppress(OSError, ValueError):
            if self._temporary is not None and self._target.samefile(path):
                raise InputError(
                    f"{self.option} {self.path} would overwrite what is read, {path}",
                    hint=f"Give {self.option} another name.",
                )

    def same(self, other: Sink) -> bool:
        """Whether both write to one place."""
        return STDOUT not in (self.path, other.path) and self._target == other._target

    def write(self, text: str) -> None:
        """Write the text and make it appear.

        Raises:
            InputError: if that fails (a full disk, say).
        """
        if self.path == STDOUT:
            sys.stdout.write(text)
            sys.stdout.flush()
            return
        data = text.encode("utf-8", "backslashreplace")
        try:
            if self._temporary is None:
                self._target.write_bytes(data)
            else:
                self._temporary.write_bytes(data)
                self._temporary.replace(self._target)
                self._temporary = None
        except OSError as error:
            raise self._refusal(error.strerror or str(error)) from None
        finally:
            self.discard()

    def discard(self) -> None:
        """Leave no trace of a text that was never written."""
        if self._temporary is not None:
            self._temporary.unlink(missing_ok=True)
            self._temporary = None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
