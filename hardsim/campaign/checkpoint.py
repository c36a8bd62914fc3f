"""Checkpoints (`--resume`): the progress of a run in a file, from which another run goes on.

A file belongs to one request: the inputs (by name, content and alphabet), and every option that decides which words are
tried and how. It is an SQLite database that appears whole and is changed by transactions. Every row has its own digest,
and values are JSON without loss, with the digits of fractions and large integers in hexadecimal. The types of the
fields of a class decide how its JSON is read; nothing in the file is executed.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hardsim.campaign.result import CheckResult
from hardsim.campaign.tally import Tally
from hardsim.errors import InputError, InvariantError
from hardsim.examples import located
from hardsim.files import STDOUT, Draft, FileLock, read_bytes, refusal, refusing, same_file, target_of
from hardsim.lang.valuations import alphabet_lines
from hardsim.lazy_dataclass import dataclass
from hardsim.options.table import DECIDING, Request
from hardsim.version import __version__

if TYPE_CHECKING:  # only a run with --resume loads it
    import sqlite3

SMALL = 2**53
"""Largest integer that is written as a JSON number. Longer ones are written in hexadecimal, which is faster and has no
limit."""


@dataclass(frozen=True)
class Known:
    """The progress on one input in one regime: the tallies reached, one for each length, and the number of words in
    them, or the final result. Nothing is known if both are None."""

    state: list[Tally] | None = None
    words: int = 0
    result: CheckResult | None = None


def to_json(value: Any) -> str:
    """Return a value as JSON without loss: a number that JSON does not keep is an object with its hexadecimal text.
    Raises TypeError if the value, or a part of it, has a type without a JSON form here."""
    return json.dumps(value, default=_plain)


def _plain(value: Any) -> Any:
    """Return a fraction or a record as JSON data."""
    if isinstance(value, Fraction):
        return {"numerator": hex(value.numerator), "denominator": hex(value.denominator)}
    if is_dataclass(value):
        return {one.name: _field(getattr(value, one.name)) for one in fields(value)}
    raise TypeError(f"a {type(value).__name__} has no place in a checkpoint")


def _field(value: Any) -> Any:
    if isinstance(value, int) and abs(value) > SMALL:
        return {"integer": hex(value)}
    if isinstance(value, dict) and not all(isinstance(key, str) for key in value):
        return {"items": list(value.items())}
    return value


def from_json(text: str, kind: Any, place: str) -> Any:
    """Return the value of type `kind` that is written as JSON; `place` is its name in an error. Raises ValueError
    if the text stands for no such value."""
    import msgspec

    try:
        found = msgspec.convert(json.loads(text, object_hook=_value), kind)
    except (msgspec.ValidationError, ArithmeticError, TypeError) as error:
        raise ValueError(f"{place}: {error}") from None
    # msgspec fills in missing fields, and passes over unknown ones.
    if to_json(found) != json.dumps(json.loads(text)):
        raise ValueError(f"{place}: other fields than those that were written")
    return found


def _value(found: dict[str, Any]) -> Any:
    """Return the value of a JSON object that `to_json` wrote: a number, a dictionary with any keys, or the fields of a
    record. Names of heads are keys of numbers, and so mean nothing else."""
    match found:
        case {"numerator": str(above), "denominator": str(below)}:
            return Fraction(int(above, 16), int(below, 16))
        case {"integer": str(digits)}:
            return int(digits, 16)
        case {"items": [*items]}:
            return {tuple(key): value for key, value in items}
    return found


# ---- the file ----


MAGIC, APPLICATION, VERSION1 = b"SQLite format 3\0", b"hard", b'{"format": "hardsim-checkpoint"'
"""The first bytes of a database, the mark of a database of hardsim (bytes 68 to 71), and the first bytes of a file of
the first schema."""
SCHEMA_VERSION = 12
TABLE = "CREATE TABLE kept (kind TEXT, name TEXT, value TEXT, sha256 TEXT, PRIMARY KEY (kind, name))"
PUT = "REPLACE INTO kept VALUES (?, ?, ?, ?)"
REQUEST, INPUT, RUN, COMPLETE = "request", "input", "run", "complete"
"""Kinds of rows: an option by name, an input by name, the progress on an input in a regime, and the mark that all is
done."""
UNUSABLE = ("SQLITE_BUSY", "SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM", "SQLITE_FULL")
"""SQLite errors in reading that do not mean damage."""
PATIENCE = 5.0
"""Seconds to wait for another program that has locked the database."""
INTERVAL, SHARE = 1.0, 20
"""Least seconds between two writes while words are tried, and least factor of this time to the time that a write
took."""
LARGEST = 256 * 2**20
"""Largest size in bytes of a checkpoint that is read: it holds the tallies of all lengths."""
OPTION = "--resume"
DAMAGED = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
"""Exceptions that a file with unexpected contents may cause."""


class Memory:
    """The progress on one input in one regime (see `Known`), in a checkpoint. Without a file nothing is kept."""

    def __init__(self, file: Checkpoint | None = None, key: str = "") -> None:
        self._file, self._key = file, key
        found = Known() if file is None else file.runs.get(key, Known())
        self.state, self.words, self.result = found.state, found.words, found.result

    @property
    def lasts(self) -> bool:
        """True if there is a file."""
        return self._file is not None

    def keep(self, state: Callable[[], list[Tally]], words: int) -> None:
        """Write the current tallies, which `state` returns, if a write is due. No write is put off: after an
        interruption the tallies may be half changed."""
        if self._file is not None and self._file.due:
            self._file.write(RUN, self._key, to_json(Known(state(), words)))

    def finish(self, result: CheckResult) -> None:
        """Write the final result."""
        if self._file is not None:
            self._file.write(RUN, self._key, to_json(Known(result=result)))


class Checkpoint:
    """The checkpoint file of one request. An existing file is read; otherwise a file is created at once, so that an
    unwritable path fails early. `inputs` are the name, SHA-256 and alphabet of each input file, `request` the options
    by name.

    One process has the file at a time, until `close`. If a row cannot be written later on, the results are still
    reported: `lost` is called once with the error, and the file is not marked complete. Raises InputError if the file
    is not a checkpoint, belongs to another request or is in use by another process (it is left alone then), or cannot
    be written."""

    def __init__(self, path: str, request: Mapping[str, Any], inputs: Sequence[tuple[str, str, Sequence[str]]]) -> None:
        self.path = path
        self.complete = False
        self.lost: Callable[[InputError], None] | None = None
        """The callback for a row that cannot be written; None: raise the error."""
        self._failed = False
        self.runs: dict[str, Known] = {}
        """The progress by the JSON text of `[input name, regime]`."""
        self._next = 0.0
        self._target = target_of(path, OPTION)
        mine = {(REQUEST, "version of hardsim"): __version__}
        mine |= {(REQUEST, name): _shown(value) for name, value in request.items()}
        for name, digest, alphabet in inputs:  # a file name may have bytes that are not text
            mine[INPUT, name.encode("utf-8", "backslashreplace").decode()] = json.dumps(
                [digest, *alphabet_lines(alphabet)]
            )
        made = not self._target.exists() and self._make(mine)
        # The header is read before SQLite opens the file: SQLite would change some files that are not databases.
        if not made:
            self._require_header()
        self._lock = self._locked()
        if made:
            return
        rows = self._rows()
        self._require_request(rows, mine)
        try:
            runs = {name: value for (kind, name), value in rows.items() if kind == RUN}
            self.runs = {name: from_json(value, Known, name) for name, value in runs.items()}
            if any(run.words < 0 for run in self.runs.values()):
                raise ValueError("a negative number of words")
        except (ValueError, RecursionError) as error:
            raise self._damaged(str(error)) from None
        self.complete = (COMPLETE, "") in rows
        if self.complete:  # then it is only read
            self.close()

    def close(self) -> None:
        """Release the lock, so that other processes can use the file."""
        self._lock.close()

    def _locked(self) -> FileLock:
        try:
            return FileLock(self._target)
        except BlockingIOError:
            raise self._taken() from None
        except OSError as error:
            raise refusal(self.path, OPTION, error.strerror or str(error)) from None

    def _taken(self) -> InputError:
        return InputError(
            f"{OPTION} {self.path}: another process is using this file",
            hint="Wait until that run has ended, or give this one a file of its own. Nothing was changed.",
        )

    def memory(self, name: str, regime: str | None) -> Memory:
        """Return the progress on an input in a regime (None for a hard-attention model); it is empty if the file has
        none."""
        return Memory(self, json.dumps([name, regime]))

    # ---- reading ----

    def _require_header(self) -> None:
        """Raise InputError unless the file is a checkpoint of this schema, before SQLite opens it."""
        data = read_bytes(self.path, LARGEST, OPTION)
        ours = data.startswith(MAGIC) and data[68:72] == APPLICATION
        if not ours and not data.startswith(VERSION1):
            raise InputError(
                f"{OPTION} {self.path}: this file is not a checkpoint of hardsim, and was not changed",
                hint="Give the checkpoint a file of its own; a file that does not exist is created.",
            )
        version = int.from_bytes(data[60:64], "big") if ours else 1
        if version != SCHEMA_VERSION:
            raise self._other(f"schema_version {version} there, {SCHEMA_VERSION} here")

    def _rows(self) -> dict[tuple[str, str], str]:
        """Return the values by kind and name, after the digest of each was checked."""
        import sqlite3

        try:
            with closing(self._open()) as database:
                # A view or a trigger would run code of somebody else.
                if database.execute("SELECT sql FROM sqlite_master WHERE sql NOTNULL").fetchall() != [(TABLE,)]:
                    raise self._damaged("it has other tables")
                (found,) = database.execute("PRAGMA integrity_check(1)").fetchone()
                rows = database.execute("SELECT kind, name, value, sha256 FROM kept").fetchall()
        except (sqlite3.Error, UnicodeDecodeError) as error:  # SQLite's message may quote bytes that are not text
            reason = getattr(error, "sqlite_errorname", "")
            if reason.startswith("SQLITE_BUSY"):
                raise self._taken() from None
            if reason.startswith(UNUSABLE):
                raise InputError(f"{OPTION} {self.path}: cannot be used: {error}", "Try again.") from None
            raise self._damaged(str(error)) from None
        if found != "ok":
            raise self._damaged(str(found))
        if any(not all(isinstance(one, str) for one in row) or _digest(*row[:3]) != row[3] for row in rows):
            raise self._damaged("a digest does not match its row")
        return {(kind, name): value for kind, name, value, _ in rows}

    def _require_request(self, rows: Mapping[tuple[str, str], str], mine: Mapping[tuple[str, str], str]) -> None:
        """Raise InputError unless the file belongs to this request and these inputs."""
        for (kind, name), here in mine.items():
            there = rows.get((kind, name))
            if kind == REQUEST and there != here:
                raise self._other(f"{name} {_shown(there)} there, {here} here")
            if there != here:
                raise self._other(f"the input {name} {'is new' if there is None else 'was changed since'}")
        for kind, name in rows.keys() - mine.keys():
            if kind == INPUT:
                raise self._other(f"the input {name} is no longer given")
            if kind not in (REQUEST, RUN, COMPLETE):
                raise self._damaged(f"it has a row of unknown kind {kind!r}")

    def unusable(self, name: str, error: Exception) -> InputError:
        """Return the error for contents of the file about an input that no run can have written."""
        return self._damaged(f"its progress on {name} is not that of this check: {type(error).__name__} {error}")

    def _damaged(self, reason: str) -> InputError:
        return InputError(
            f"{OPTION} {self.path}: the checkpoint is damaged ({reason})",
            hint="Delete the file, and start again.",
        )

    def _other(self, difference: str) -> InputError:
        return InputError(
            f"{OPTION} {self.path} belongs to another request: {difference}",
            # Options that do not change results are not part of a request.
            hint="Repeat the earlier command, or name another file. (--workers, --backend and output options may "
            "differ.)",
        )

    # ---- writing ----

    def _make(self, rows: Mapping[tuple[str, str], str]) -> bool:
        """Create the file; return False if another process has just created it."""
        import sqlite3

        with closing(sqlite3.connect(":memory:")) as database:
            database.execute(f"PRAGMA application_id = {int.from_bytes(APPLICATION, 'big')}")
            database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            database.execute(TABLE)
            for key, value in rows.items():
                database.execute(PUT, (*key, value, _digest(*key, value)))
            database.commit()
            data = database.serialize()
        self._next = time.monotonic() + INTERVAL
        with refusing(self.path, OPTION), closing(Draft(self._target)) as draft:
            return draft.commit(data, new=True)

    def _open(self) -> sqlite3.Connection:
        """Return the open database. A file that has disappeared is not created again."""
        import sqlite3

        return sqlite3.connect(f"{self._target.as_uri()}?mode=rw", timeout=PATIENCE, uri=True)

    @property
    def due(self) -> bool:
        """True if enough time has passed since the last write."""
        return time.monotonic() >= self._next

    def write(self, kind: str, name: str, value: str) -> None:
        """Write one row in place of the earlier one; if writing fails, the file stays as it was. Raises InputError if
        writing fails and there is no `lost` callback."""
        import sqlite3

        started = time.monotonic()
        try:
            with closing(self._open()) as database, database:
                database.execute(PUT, (kind, name, value, _digest(kind, name, value)))
        except sqlite3.Error as error:
            message = refusal(self.path, OPTION, str(error))
            if self.lost is None:
                raise message from None
            if not self._failed:
                self.lost(message)
            self._failed = True
        now = time.monotonic()
        self._next = now + max(INTERVAL, SHARE * (now - started))

    def finish(self) -> None:
        """Write the mark that nothing is left to do."""
        if not self.complete and not self._failed:
            self.write(COMPLETE, "", "")
            self.complete = True


def checkpoint_of(request: Request, inputs: Sequence[tuple[str, str, Sequence[str]]]) -> Checkpoint | None:
    """Return the checkpoint of `--resume`, with its contents or new; None without this option. Raises InputError as for
    `Checkpoint`, and if the file is one of the inputs, or standard output."""
    if request.resume is None:
        return None
    if request.resume == STDOUT:
        raise InputError(f"{OPTION} {STDOUT}: not a file that a run can be resumed from", "Name a file.")
    for name, _, _ in inputs:
        if same_file(request.resume, located(name)):
            raise InputError(f"{OPTION} {request.resume} would overwrite the input {name}", "Give it another name.")
    settings = {f"--{name.replace('_', '-')}": getattr(request, name) for name in DECIDING.split()}
    plain = (bool, int, str, list, type(None))
    expected = {name: value if isinstance(value, plain) else str(value) for name, value in settings.items()}
    return Checkpoint(request.resume, expected, inputs)


@contextmanager
def remembering(kept: Checkpoint | None, name: str, regime: str | None) -> Iterator[Memory]:
    """Yield the progress of an earlier run on an input, which is empty and keeps nothing without a checkpoint. An error
    in going on from it is reported as damage of the file."""
    memory = Memory() if kept is None else kept.memory(name, regime)
    known = memory.state is not None or memory.result is not None
    try:
        yield memory
    except (*DAMAGED, InvariantError) as error:
        if kept is None or not known:
            raise
        raise kept.unusable(name, error) from None


def _digest(*row: str) -> str:
    return hashlib.sha256(json.dumps(row).encode("ascii")).hexdigest()


def _shown(value: Any) -> str:
    return "none" if value is None else value if isinstance(value, str) else json.dumps(value)
