"""The command `hardsim fmt`: print or rewrite files in their canonical form."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path

from hardsim.campaign.interrupts import interruptible, uninterrupted
from hardsim.campaign.result import FormatResult
from hardsim.cli.session import ResultText, Session, check_source, session
from hardsim.errors import InputError
from hardsim.examples import example_names, located
from hardsim.files import LARGEST_TEXT, is_directory, names_in, read_bytes, rewrite
from hardsim.lang.canonical import FORMATTERS, canonical, encoded
from hardsim.lang.unread_files import naming
from hardsim.lang.words import unprintable
from hardsim.options.table import Request
from hardsim.report.difference import difference, print_difference
from hardsim.report.notices import InputRead
from hardsim.report.screen import Screen
from hardsim.targets.base import digest

OPTION = "--write"


def command(request: Request) -> None:
    """Run `hardsim fmt` as requested, and print its results."""
    if request.check and request.write:
        raise InputError("--check changes no file, but --write does", "Leave out one of them.")
    with session("fmt", request) as current:
        if not request.files:
            raise InputError("nothing to read: give a file", "For example: hardsim fmt mine.ltl")
        check_source(request)
        for name in current.expand(request.files, _files):
            if current.over:
                break
            current.spare(name)
            with current.guard(name), uninterrupted():
                _format(current, name)
        changed = [one.input for one in current.results if not one.canonical]
        if request.check and len(current.results) < len(current.outcomes):  # else the command to copy is the last line
            current.counted = f"{len(current.results) - len(changed)} canonical, {len(changed)} would be changed"
        if request.check and not request.quiet:
            _advise(current.screen, changed)


def _files(path: str) -> list[str]:
    """Return a file, or the files of a directory that have a canonical form. Raises InputError if a directory has no
    such file."""
    if not is_directory(path):
        return [path]
    found = sorted(str(Path(path, name)) for name in names_in(path) if name.endswith(tuple(FORMATTERS)))
    if not found:
        raise InputError(f"{path} has no *{' or *'.join(FORMATTERS)} file", "Name the files one by one.")
    return found


def _format(current: Session, name: str) -> None:
    request, place = current.request, located(name)
    if request.write and place != name:
        hint = f"`hardsim examples {name} > {os.path.basename(place)}` copies the shipped file."
        raise InputError(f"{OPTION} writes into the file that is read, but there is no file {name}", hint)
    with interruptible(), naming(name, place):
        data = read_bytes(place, LARGEST_TEXT, others=example_names)
        found = canonical(data, place, name)
    hidden = unprintable(found.text.replace("\n", ""))
    # Printed, such characters would be changed, and a redirected file would not be the same formula.
    if hidden and not (request.check or request.write):
        hint = f"Remove it from the file; {OPTION} rewrites the file and keeps it."
        raise InputError(f"{name} has {hidden} in a comment or its source:, which is not printed", hint)
    current.inputs.append(InputRead.of(name, digest(data), found.alphabet))
    changed = encoded(found.text, data)
    line = _first_change(data, changed)
    if request.write and line is not None:
        rewrite(name, OPTION, changed, "The file was not changed.")
    diff = tuple(difference(data, changed, name))
    result = FormatResult(name, line is None, line, request.write and line is not None, found.text, diff)
    current.conclude(line is None or not request.check, undecided=False, shown=_result_text(result, request))


def _first_change(before: bytes, after: bytes) -> int | None:
    """Return the number of the first line that differs, from 1; None if the texts are equal."""
    pairs = zip_longest(before.splitlines(keepends=True), after.splitlines(keepends=True))
    return next((number for number, (left, right) in enumerate(pairs, 1) if left != right), None)


def _result_text(result: FormatResult, request: Request) -> ResultText:
    """Return how to print a result: the formatted text, or the file that changes (or would change) with its
    difference."""
    text = "is in its canonical form"
    if result.line is not None:
        lines = result.text.split("\n")[:-1]
        text = f"would be changed from line {result.line} on"
        if result.line <= len(lines):
            text += f": {lines[result.line - 1]}"
        text = "was rewritten" if result.written else text

    def brief(screen: Screen) -> None:
        if not (request.check or request.write):
            screen.text(result.text.removesuffix("\n"))
        elif result.line is not None:
            screen.raw(f"{result.input} {text}")

    def full(screen: Screen) -> None:
        brief(screen)
        if request.check:
            print_difference(screen, list(result.diff))

    def details(screen: Screen) -> None:
        full(screen)
        _advise(screen, [result.input])

    # A rewritten file has no place left to annotate.
    place = None if result.line is None or result.written else (result.line, 1)
    return ResultText(result, full, brief, reach=text, place=place, details=details)


def _advise(screen: Screen, names: Sequence[str]) -> None:
    """Print the command that rewrites files, as it is typed; shipped files are left out, because they cannot be
    rewritten."""
    own = [name for name in names if located(name) == name]
    if own:
        dash = ["--"] * any(name.startswith("-") for name in own)
        screen.line(f"Next: {OPTION} rewrites {'it' if len(own) == 1 else 'them'}:")
        screen.raw(shlex.join(["hardsim", "fmt", OPTION, *dash, *own]))
