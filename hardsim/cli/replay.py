"""The command `hardsim replay`: run a report again and compare the results."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from hardsim.cli import exit_codes, streams
from hardsim.cli.report import (
    COMMAND,
    INPUTS,
    KEPT,
    RESULTS,
    SCHEMA_VERSION,
    UNREADABLE,
    hashes,
    require_inside,
    run,
    versions,
)
from hardsim.cli.session import Names, check_source, path_of
from hardsim.errors import HardsimError, InputError
from hardsim.files import is_directory, read_bytes, require_here
from hardsim.network.reader import Decimal, Reader, read_json
from hardsim.options.table import OPTIONS, Request
from hardsim.report.screen import Screen
from hardsim.targets.result import plural

ADVICE = "Make the report again with `hardsim report`."
VERSIONS = ("version", "schema_version")
"""Fields of a document that describe the program that wrote it, not its inputs."""
MOST, LONGEST = 20, 60
"""Largest number of differences to list, and of characters of a value."""


class Missing:
    """Stands for a value that is missing in one of two documents."""


MISSING = Missing()


def command(request: Request) -> None:
    """Run `hardsim replay` as requested, and print its results."""
    if request.folder is None:
        raise InputError("DIR is required: the directory of a report", "Name a directory that `hardsim report` wrote.")
    require_here()
    place, screen = Path(request.folder), Screen()
    if not is_directory(place) or not is_directory(place / INPUTS):
        hint = "Such a directory contains command.json and inputs/."
        raise InputError(f"{place}: not a directory that `hardsim report` wrote", hint)
    kept = _kept(place / COMMAND)
    stored_request = replace(_request_of(kept, place), workers=request.workers, quiet=request.quiet)
    before = _kept(place / RESULTS)
    message, others = [*_changed(kept, place)], [*_versions(kept)]
    streams.hush(quiet=True)  # what was to be said is in the report
    # The report itself stays untouched.
    with tempfile.TemporaryDirectory() as scratch:
        document = Path(scratch, RESULTS)
        named = Names({name: str(place / name) for name in stored_request.files or []})
        unreadable = _unreadable(kept)
        if unreadable:
            files = [*(name for name, _ in unreadable), *(stored_request.files or [])]
            stored_request = replace(stored_request, files=files)
        found = run(stored_request, place.absolute(), document, named, silent=True, unreadable=dict(unreadable))
        if found.code == exit_codes.INTERRUPTED:
            raise typer.Exit(found.code)
        now = _kept(document)
    one_sided = _one_sided(before.value, now.value)
    differing = [
        (path, one, other)
        for path, one, other in differences(_results(before.value), _results(now.value))
        if not (MISSING in (one, other) and path.rpartition(".")[2] in one_sided)
    ]
    others += [
        f"{RESULTS}: {path} {_short(one)} then, {_short(other)} now"
        for path, one, other in differences(before.value, now.value)
        if path == "schema_version"
    ]
    if one_sided:
        others.append(f"{RESULTS}: keys of only one schema are not compared: {', '.join(one_sided)}")
    for line in message + others:
        screen.line(line)
    same = ("IDENTICAL", "bold green"), ("DIFFERS", "bold red")
    rest = ": all results, with other versions" if others else ""
    rest = f": {plural(len(differing), 'value')}" if differing else rest
    screen.line(same[bool(differing)], f"  {place}{rest}", folds=False)
    for path, one, other in differing[:MOST]:
        screen.line(f"  {path or 'the top level'}: {_short(one)} then, {_short(other)} now", folds=False)
    if len(differing) > MOST:
        screen.line(f"  and {len(differing) - MOST:,} more")
    raise typer.Exit(exit_codes.MISMATCH if differing else exit_codes.AGREED)


def _kept(path: Path) -> Reader:
    """Read a JSON file of a report."""
    try:
        data = read_bytes(path)
    except InputError as error:
        raise InputError(error.message, ADVICE) from None
    return read_json(data, str(path), ADVICE)


@contextmanager
def _blaming(place: Reader) -> Iterator[None]:
    """Turn an error about options into an error that names the place of these options in a file."""
    try:
        yield
    except InputError as error:
        raise place.refusal(error.message) from None


def _request_of(kept: Reader, place: Path) -> Request:
    """Return the request that the file of a report describes. The file may contain only options of `report` with valid
    values, and files of the report's directory. Raises InputError, naming anything else that it contains."""
    kept.only("schema_version", "arguments", "versions", "sha256", UNREADABLE)
    kept.field("schema_version").integer(SCHEMA_VERSION, SCHEMA_VERSION)
    words = list(kept.field("arguments").items())
    if not words or words[0].text() != "report":
        raise kept.field("arguments").error("the arguments of a report")
    fields = {OPTIONS[name].names[0]: name for name in KEPT}
    files, values, waiting = list[str](), dict[str, Any](), iter(words[1:])
    for word in waiting:
        given = word.text()
        name = fields.get(given)
        if name is not None and not OPTIONS[name].metavar:
            values[name] = True
        elif name is not None:
            value = next(waiting, None)
            if value is None:
                raise word.refusal(f"{given} has no value")
            with _blaming(value):
                values[name] = (OPTIONS[name].kind.parse or str)(value.text())
        elif given.startswith("-"):
            raise word.refusal(f"{given} is not an option that a report can have when it is run again")
        else:
            files.append(_inside(word, place))
    stored_request = Request(files=files or None, **values, written=frozenset(values))
    with _blaming(kept.field("arguments")):
        check_source(stored_request)
        stored_request.options()
    return stored_request


class KeptError(HardsimError):
    """An error that a report keeps of an input without a copy."""

    def __init__(self, kept: Reader) -> None:
        super().__init__(kept.field("message").text())
        self.exit_code = kept.field("exit_code").integer(exit_codes.BAD_INPUT, exit_codes.INTERNAL)
        self.understood = kept.field("understood").boolean()


def _unreadable(kept: Reader) -> list[tuple[str, Exception]]:
    """Return the inputs of a report that could not be copied, in order, each with its error."""
    found = list(kept.field(UNREADABLE).items()) if kept.has(UNREADABLE) else []
    return [
        (one.only("input", "exit_code", "message", "understood").field("input").text(), KeptError(one)) for one in found
    ]


def _inside(word: Reader, place: Path) -> str:
    """Return the name of an input of the report; refuse a name outside its inputs."""
    try:
        require_inside(place, word.text(), word.text())
        Path(path_of(str(place / word.text()))).stat()
    except (OSError, ValueError, InputError):
        raise word.refusal(f"{word.text()} is not a file among the inputs of the report") from None
    return word.text()


def _changed(kept: Reader, place: Path) -> Iterator[str]:
    """Yield a message for each file of a report that changed since the report was written."""
    then, now = {name: one.text() for name, one in kept.field("sha256").members()}, hashes(place)
    for name in sorted(then.keys() | now.keys()):
        if name not in now:
            yield f"{name}: is missing"
        elif then.get(name) != now[name]:
            yield f"{name}: was {'changed' if name in then else 'added'} after the report was written (by its SHA-256)"


def _versions(kept: Reader) -> Iterator[str]:
    """Yield a message for each version that differs from the version of the report."""
    then, now = {name: one.text() for name, one in kept.field("versions").members()}, versions()
    for name in sorted(then.keys() | now.keys()):
        if then.get(name) != now.get(name):
            yield f"{name}: {then.get(name, 'nothing')} then, {now.get(name, 'nothing')} now"


def _results(document: Any) -> Any:
    """Return a document without the fields that describe the program that wrote it."""
    known = isinstance(document, dict)
    return {key: value for key, value in document.items() if key not in VERSIONS} if known else document


def _one_sided(then: Any, now: Any) -> list[str]:
    """Return the keys that belong to one schema only, sorted: those of a report with an older schema that no object of
    the new document has, and the reverse. Every record has all its keys, so no result lacks a key. Return no keys for
    a report with the present schema."""
    version, present = (one.get("schema_version") if isinstance(one, dict) else None for one in (then, now))
    older = isinstance(version, int) and isinstance(present, int) and version < present
    return sorted(_keys(then) ^ _keys(now)) if older else []


def _keys(value: Any) -> set[str]:
    """Return the keys of all objects in a JSON document, whose brackets may be nested to any depth."""
    found, waiting = set[str](), [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            found |= one.keys()
        waiting += one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
    return found


def differences(then: Any, now: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield the values in which two JSON documents differ, in order: their place, the old and the new value. A value
    that only one document has is paired with MISSING."""
    if isinstance(then, dict) and isinstance(now, dict):
        for key in dict.fromkeys([*then, *now]):
            yield from differences(then.get(key, MISSING), now.get(key, MISSING), f"{path}.{key}".lstrip("."))
    elif isinstance(then, list) and isinstance(now, list):
        for place in range(max(len(then), len(now))):
            one, other = (some[place] if place < len(some) else MISSING for some in (then, now))
            yield from differences(one, other, f"{path}[{place}]")
    # Compared as text, because floats could hide a difference in the last digits.
    elif (type(then), _text(then)) != (type(now), _text(now)):
        yield path, then, now


def _text(value: Any) -> str:
    """Return a value as text, with all digits of a number."""
    if value is MISSING:
        return "nothing"
    return value.text if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False)


def _short(value: Any) -> str:
    text = _text(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
