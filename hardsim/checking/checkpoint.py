"""What a run has found until now, in a file from which another run goes on.

The file belongs to one request: the inputs (by name, content and alphabet), and every option that decides what is tried
and how. How many processes there were does not matter. It is replaced as a whole (written under another name, made
durable, renamed), so that at every moment there is a complete one, however the run ends.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from hardsim.ahat.file import read_json
from hardsim.checking.plain import SMALL, from_plain, to_plain
from hardsim.errors import InputError
from hardsim.files import Draft, read_bytes, refusing, target_of
from hardsim.net.reader import Reader
from hardsim.version import __version__

FORMAT = "hardsim-checkpoint"
SCHEMA_VERSION = 1
INTERVAL = 1.0
"""Least seconds between two times that the file is written while words are tried."""
SHARE = 20
"""Writing takes at most this fraction of the time."""
LARGEST = 256 * 2**20
"""Bytes of the largest checkpoint that is read: what was found of every length up to the largest is in it."""
OPTION = "--resume"


class Memory:
    """What is known of one input in one regime: the `state` that was reached, or the `result`. This one forgets."""

    state: Any = None
    result: Any = None
    words = 0
    """How many words the state covers."""

    def keep(self, state: Callable[[], Any], words: int) -> None:
        """Note how far it is; `state` is asked where that is written down."""

    def finish(self, result: Any) -> None:
        """Note that it is done."""


class _Kept(Memory):
    """A memory that a file backs."""

    def __init__(self, file: Checkpoint, key: str) -> None:
        self._file = file
        self._key = key
        found = file.runs.get(key, {})
        self.state = found.get("state")
        self.result = found.get("result")
        self.words = found.get("words", 0)

    def keep(self, state: Callable[[], Any], words: int) -> None:
        """Write down how far it is, unless that was done a moment ago.

        Nothing waits to be written: after an interruption a state may be half changed.
        """
        if self._file.due:
            self._file.set(self._key, state=state(), words=words)

    def finish(self, result: Any) -> None:
        """Write down the result."""
        self._file.set(self._key, result=result)


class Checkpoint:
    """The file of one request: read if it exists, otherwise made at once, so that it is known that it can be
    written.

    `inputs` are name, SHA-256 and alphabet of what is read, `request` the options by name.

    Raises:
        InputError: if it is no such file, or of another request (it is left alone then), or cannot be written.
    """

    def __init__(self, path: str, request: Mapping[str, Any], inputs: Sequence[tuple[str, str, Sequence[str]]]) -> None:
        self.path = path
        self.request = json.loads(json.dumps(request))
        self.inputs = [[name, digest, list(alphabet)] for name, digest, alphabet in inputs]
        self.complete = False
        self.runs: dict[str, dict[str, Any]] = {}
        """By input and regime: `state` and `words`, or `result`."""
        self._plain: dict[str, dict[str, Any]] = {}
        self._next = 0.0
        self._target = target_of(path, OPTION)
        self.resumed = self._target.exists()
        if self.resumed:
            self._read()
        else:
            self._write()

    def memory(self, name: str, regime: str | None) -> Memory:
        """What is known of an input in a regime (None for a hard-attention model)."""
        return _Kept(self, json.dumps([name, regime]))

    # ---- reading ----

    def _read(self) -> None:
        document = self._document()
        with self._damage():
            document.only("format", "schema_version", "version", "complete", "request", "inputs", "runs")
            there = {name: one.value for name, one in document.field("request").members()}
            known = dict(map(_input, document.field("inputs").items()))
            version, self.complete = document.field("version").text(), document.field("complete").boolean()
        for what, value, here in (
            ("version of hardsim", version, __version__),
            *((name, there.get(name), value) for name, value in self.request.items()),
        ):
            if value != here:
                raise self._other(f"{what} {_shown(value)} there, {_shown(here)} here")
        mine = {name: (digest, alphabet) for name, digest, alphabet in self.inputs}
        for name in [*mine, *known]:
            if name not in known or name not in mine:
                raise self._other(f"the input {name} is {'new' if name in mine else 'not given any more'}")
            if known[name] != mine[name]:
                raise self._other(f"the input {name} was changed since")
        with self._damage():
            self.runs = {key: _run(found) for key, found in document.field("runs").members()}
        self._plain = document.field("runs").value

    @contextmanager
    def _damage(self) -> Iterator[None]:
        """Reading what only damage makes unreadable, after the digest was right."""
        try:
            yield
        except InputError as error:
            raise self._damaged(error.message) from None
        except (ValueError, RecursionError) as error:
            raise self._damaged(str(error)) from None

    def _document(self) -> Reader:
        """The file's content, after its digest has been held against it."""
        data = read_bytes(self.path, LARGEST, OPTION)
        document: Any = None
        try:
            document = read_json(data, self.path).value
        except InputError as error:
            if data.lstrip().startswith(b'{"format": "hardsim-checkpoint"'):
                raise self._damaged(f"it ends early, or was changed: {error.message}") from None
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise InputError(
                f"{OPTION} {self.path}: this file is no checkpoint of hardsim, and is left alone",
                hint="Give a name of its own to what is to be resumed; a file that does not exist is made.",
            )
        if document.get("schema_version") != SCHEMA_VERSION:
            raise self._other(f"schema_version {_shown(document.get('schema_version'))} there, {SCHEMA_VERSION} here")
        digest = document.pop("sha256", None)
        try:
            same = digest == _digest(document)
        except (RecursionError, ValueError):
            same = False
        if not same:
            raise self._damaged("its digest is not that of its content")
        return Reader(document, "its content")

    def unusable(self, name: str, error: Exception) -> InputError:
        """That what the file holds of an input is nothing that a run could have left."""
        return self._damaged(f"what it holds of {name} is no state of this check: {type(error).__name__} {error}")

    def _damaged(self, reason: str) -> InputError:
        return InputError(
            f"{OPTION} {self.path}: the checkpoint is damaged ({reason})",
            hint="Delete it, and start again from nothing.",
        )

    def _other(self, difference: str) -> InputError:
        return InputError(
            f"{OPTION} {self.path} is of another request: {difference}",
            hint="Repeat the command as it was, or give another name. (--workers, --backend and what is shown may "
            "differ.)",
        )

    # ---- writing ----

    @property
    def due(self) -> bool:
        """Whether it is time to write again."""
        return time.monotonic() >= self._next

    def set(self, key: str, **found: Any) -> None:
        """Hold a state or a result of one input, and write it down."""
        self._plain[key] = {kind: to_plain(value) for kind, value in found.items()}
        self._write()

    def _write(self) -> None:
        """Replace the file by one that holds everything until now.

        Raises:
            InputError: if that fails (a full disk, say): the file is as it was.
        """
        started = time.monotonic()
        document = {
            "format": FORMAT,
            "schema_version": SCHEMA_VERSION,
            "version": __version__,
            "complete": self.complete,
            "request": self.request,
            "inputs": self.inputs,
            "runs": self._plain,
        }
        text = json.dumps(document | {"sha256": _digest(document)}) + "\n"
        with refusing(self.path, OPTION), closing(Draft(self._target)) as draft:
            draft.commit(text.encode("ascii"), durable=True)
        now = time.monotonic()
        self._next = now + max(INTERVAL, SHARE * (now - started))

    def finish(self) -> None:
        """Say that nothing is left to do."""
        if not self.complete:
            self.complete = True
            self._write()


def _input(data: Reader) -> tuple[str, tuple[str, list[str]]]:
    """An input by its name: its SHA-256 and its alphabet."""
    name, digest, alphabet = data.items(3)
    return name.text(), (digest.text(), [symbol.text() for symbol in alphabet.items()])


def _run(data: Reader) -> dict[str, Any]:
    """What is known of one input in one regime."""
    data.only("state", "words", "result")
    if data.has("words"):
        data.field("words").integer(0, SMALL)
    return {kind: from_plain(one.value, one.path) for kind, one in data.members()}


def same_file(left: str, right: str) -> bool:
    """Whether two names mean one file."""
    with suppress(OSError, ValueError):
        return Path(left).samefile(right)
    with suppress(OSError, ValueError, RuntimeError):
        return Path(left).resolve() == Path(right).resolve()
    return False


def _digest(document: Mapping[str, Any]) -> str:
    """SHA-256 of a document without its digest."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _shown(value: Any) -> str:
    return "none" if value is None else value if isinstance(value, str) else json.dumps(value)
