"""The option `--pin`: write a failing word as an example into the file that was read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from os.path import basename

from hardsim.campaign.interrupts import uninterrupted
from hardsim.campaign.result import Mismatch
from hardsim.cli.session import Session
from hardsim.errors import InputError
from hardsim.examples import example_names, located
from hardsim.files import LARGEST_TEXT, read_bytes, rewrite, target_of
from hardsim.lang.ast import Example, MapExample, ProgramExample
from hardsim.lang.corpus import line_of
from hardsim.lang.pin import example_line, read_file, with_example
from hardsim.lang.valuations import MENTIONED
from hardsim.options.table import Request
from hardsim.targets.base import digest
from hardsim.targets.inputs.base import Input
from hardsim.targets.paths import expand_paths
from hardsim.targets.result import Word
from hardsim.targets.semantics import Accepts

OPTION = "--pin"
SUFFIXES = (".ltl", ".srasp", ".cr")
"""Suffixes of the files into which an example can be written."""


def require_pinnable(request: Request) -> None:
    """Require, if `--pin` is given, one input file that can be written and can have examples. Raises InputError with
    advice on what to give."""
    if not request.pin:
        return
    other = request.against or ", ".join(request.data or ())
    if other:
        message = f"{OPTION} writes the file's own answer on a word into the file, but {other} may disagree"
        raise InputError(message, f"Leave out {OPTION} or {'--data' if request.data else '--against'}.")
    hint = f"Name one formula (.ltl) or program (.srasp, .cr), or leave out {OPTION}."
    if request.lines or any(line_of(path) for path in request.files or []):
        raise InputError(
            f"{OPTION} writes an example into the file of one formula, but several formulas are given", hint
        )
    if request.expression is not None:
        raise InputError(f"{OPTION} writes into the file that is read, but -e has no file", hint)
    given = request.files or []
    missing = [path for path in given if not os.path.exists(path)]
    if missing:
        message = f"{OPTION} writes into the file that is read, but there is no file {missing[0]}"
        name = missing[0] if missing[0] in example_names() else "since"
        raise InputError(message, f"`hardsim examples {name} > {basename(located(name))}` copies a shipped file.")
    names = expand_paths(given)
    if len(names) > 1:
        raise InputError(f"{OPTION} writes into one file, but there are several", hint)
    for name in names:
        if not name.endswith(SUFFIXES):
            raise InputError(f"{OPTION}: {name} is not a formula or program to which examples can be added", hint)
        target = target_of(name, OPTION)
        # Refused before the check, which may take hours.
        if not (os.access(target, os.W_OK) and os.access(target.parent, os.W_OK)):
            raise InputError(f"{OPTION} {name}: cannot be written (permission denied)", f"Leave out {OPTION}.")


def require_placed(request: Request, given: Iterable[Input]) -> None:
    """Require, if `--pin` is given, that the file reads examples as the command read the formula. Raises InputError if
    --at names another position than the file, or if --dialect, --alphabet or --props gives what the file does not
    have."""
    for one in given:
        if request.pin and one.has_formula and request.at not in (None, one.file.at):
            message = f"{OPTION} writes an example for the position that the file names ({one.file.at})"
            raise InputError(f"{message}, but --at {request.at} names another", "Write at: into the file instead.")
        option, value = one.supplied or ("", "")
        if request.pin and value not in ("", MENTIONED):
            message = f"{OPTION} writes words into the file, but the file does not declare what --{option} gives"
            raise InputError(message, f"Write {option}: {value} into the file instead.")
        if request.pin and one.has_formula and one.file.dialect is not None:
            message = f"{OPTION} writes an example for the formula as the file has it, but --dialect reads another"
            raise InputError(message, "Write dialect: into the file instead.")


def pin(current: Session, given: Iterable[Input]) -> None:
    """Write the words that refute an answer into the file, each with the answer of the file's own semantics."""
    if not current.request.pin:
        return
    with uninterrupted():
        found = (getattr(result, "mismatch", None) for result in current.results)
        # Several regimes may fail on one word; it becomes one example.
        words = dict.fromkeys(one.word for one in found if isinstance(one, Mismatch) and one.refutes)
        for one in given:
            with current.guard(one.name):
                _write(current, one, words)


def _write(current: Session, given: Input, words: Iterable[Word]) -> None:
    before = data = read_bytes(given.name, LARGEST_TEXT, OPTION)
    # Somebody may have edited the file during the check; the edit must not be lost.
    if digest(data) != given.sha256:
        message = f"{OPTION} {given.name}: the file was changed since it was read, and is left alone"
        raise InputError(message, "Run the command again.")
    file, lines, notice = read_file(data, given.name), [], []
    for word in words:
        example = example_of(given, word)
        longer = with_example(data, given.name, example)
        lines.append(example_line(example, file))
        notice.append(f"{'already' if longer == data else 'pinned as'} an example: {lines[-1]}")
        data = longer
    if data != before:
        rewrite(given.name, OPTION, data, f"Write the example into the file yourself: {lines[0]}")
    for text in notice:
        current.remark(given.name, None, text)


def example_of(given: Input, word: Word) -> ProgramExample:
    """Return a word with the answer of a formula's or a program's semantics, as an example."""
    answer = (given.meaning(None) or Accepts(given.file))(word)
    if isinstance(answer, tuple):
        return MapExample(word, tuple(symbol for symbol in answer if symbol is not None))
    return Example(word, answer is True)
