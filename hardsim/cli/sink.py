"""Where a command writes a text: a file, written whole or not at all, or standard output."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from hardsim.errors import InputError
from hardsim.files import Draft, refusal, refusing, target_of

STDOUT = "-"


class Sink:
    """A place for one text: a file that appears under its name when complete, or standard output (`-`).

    That it can be written is tried when the sink is made, so that a long computation does not end in a missing
    directory. A character device (`/dev/null`) is written directly, since nothing can be renamed over it.

    Raises:
        InputError: if the place cannot be written.
    """

    def __init__(self, path: str, option: str) -> None:
        self.path = path
        self.option = option
        self._draft: Draft | None = None
        if path == STDOUT:
            return
        self._target = target_of(path, option)
        with refusing(path, option):
            if not self._target.exists() or self._target.is_file():
                self._draft = Draft(self._target)
            elif not os.access(self._target, os.W_OK):
                raise refusal(path, option, "permission denied")

    def spare(self, path: str) -> None:
        """Hold that this is not a file that is read.

        Raises:
            InputError: if writing would replace the file of that name.
        """
        with suppress(OSError, ValueError):
            if self._draft is not None and self._target.samefile(path):
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
            with refusing(self.path, self.option):
                if self._draft is None:
                    self._target.write_bytes(data)
                else:
                    self._draft.commit(data)
                    self._draft = None
        finally:
            self.discard()

    def discard(self) -> None:
        """Leave no trace of a text that was never written."""
        if self._draft is not None:
            self._draft.close()
            self._draft = None
