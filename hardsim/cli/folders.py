"""Directories that a command writes: each appears whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hardsim.campaign.interrupts import interruptible, uninterrupted
from hardsim.errors import InputError
from hardsim.files import STDOUT, Folder


def free_directory(name: str | None, what: str, example: str) -> Path:
    """Return the absolute path of the directory that -o names. `what` and `example` are for messages. Raises InputError
    if -o is missing, or its name belongs to a file or cannot be written."""
    if not name:
        raise InputError(f"-o is required: the directory for {what}", f"Name a directory: -o {example}")
    path = Path(os.path.abspath(name))
    with refusing_at(path):
        with suppress(FileNotFoundError):
            os.lstat(path)  # a bad name is reported before anything runs
        if os.path.lexists(path) and not path.is_dir():
            raise InputError(f"-o {name}: exists and is not a directory", "Give -o another name.")
    return path


def require_apart(document: str | None, target: Path, what: str) -> None:
    """Require that the JSON document is not written into the directory that -o names, or in its place. `what` is the
    only content of that directory, for messages. Raises InputError if it would be."""
    if document is not None and document != STDOUT:
        place, folder = (Path(os.path.realpath(one)) for one in (document, target))
        if folder in (place, *place.parents):
            message = f"--json {document} is in the folder that -o names, which may contain only {what}"
            raise InputError(message, "Write the JSON document somewhere else.")


@contextmanager
def refusing_at(path: Path) -> Iterator[None]:
    """Turn errors of the operating system while writing to `path` into an InputError."""
    try:
        yield
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        hint = "Give -o a folder that can be written."
        raise InputError(f"-o {path}: cannot be written ({reason})", hint) from None


@contextmanager
def draft_of(target: Path) -> Iterator[Folder]:
    """Yield a directory that is being written. It becomes `target` when it is committed, and vanishes otherwise."""
    with uninterrupted():
        with refusing_at(target):
            made = Folder(target, "-o")
        try:
            with interruptible():
                yield made
        finally:
            made.close()
