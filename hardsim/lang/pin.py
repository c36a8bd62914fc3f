"""Add an example to the text of a formula or program file, leaving every other byte as it is."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TypeAlias

from hardsim.errors import InputError, SourceError
from hardsim.lang.ast import FormulaFile, MapExample, ProgramExample, SraspProgram
from hardsim.lang.crasp.crasp_parser import CraspLayout, parse_crasp
from hardsim.lang.files import FormulaLayout, Layout, ProgramLayout
from hardsim.lang.ltl_parser import parse_text
from hardsim.lang.srasp.srasp_parser import parse_program
from hardsim.lang.valuations import MENTIONED
from hardsim.lang.words import has_long_symbols, written_output, written_word

File: TypeAlias = FormulaFile | SraspProgram

LONGEST_LINE = 100
"""Greatest length, in characters, of a header line after a word is added; beyond it the word gets a line of its
own."""
KEYS = ("accept", "reject", "map")
_LINE_END = re.compile(r"(\r\n|\r|\n)")


def example_line(example: ProgramExample, file: File) -> str:
    """Return the header line (`accept:`, `reject:` or `map:`) that states one example."""
    shown = written_word(example.word, file.alphabet)
    if isinstance(example, MapExample):
        shown = f"{shown} -> {written_output(example.output, file.alphabet)}".rstrip()
    return f"{_key(example)}: {shown}"


def with_example(data: bytes, name: str, example: ProgramExample) -> bytes:
    """Return the bytes of a file with an example added to a header line of its kind, or on a new header line; the same
    bytes if the file has the example already. Raises SourceError if the file has a mistake; InputError if the example
    cannot be added, because the changed text would be read differently."""
    before = read_file(data, name)
    if example in before.examples:
        return data
    text = data.decode("utf-8")
    mark = text[: len(text) - len(text.removeprefix("\ufeff"))]
    parts = _LINE_END.split(text.removeprefix("\ufeff"))
    lines, ends = parts[::2], [*parts[1::2], ""]
    _add(lines, ends, before, example, _layout(before))
    # The result is parsed again and compared: for some symbols a line added here would mean something else.
    changed = (mark + "".join(part for pair in zip(lines, ends, strict=True) for part in pair)).encode("utf-8")
    try:
        after = read_file(changed, name)
    except SourceError:
        after = None
    expected = Counter(before.examples) + Counter([example])
    same = after is not None and replace(after, examples=()) == replace(before, examples=())
    if after is None or not same or Counter(after.examples) != expected:
        message = f"{name}: {example_line(example, before)} would have another meaning in this file"
        raise InputError(message, "Write the example into the file yourself, or give the symbols other names.")
    return changed


def _add(lines: list[str], ends: list[str], file: File, example: ProgramExample, layout: Layout) -> None:
    """Add an example to a text given as its lines and the line end of each."""
    key, new = _key(example), example_line(example, file)
    numbers = {line.name: layout.source.text.count("\n", 0, line.at.start) for line in layout.headers}
    place = next((numbers[name] for name in (key, *KEYS) if name in numbers), max(numbers.values(), default=None))
    if place is None:  # the file has no header line
        assert layout.first is not None
        place = layout.source.text.count("\n", 0, layout.first.start)
        lines.insert(place, _indent(lines[place]) + new)
        ends.insert(place, ends[place] or "\n")
        return
    line = lines[place]
    longer = f"{line.rstrip()} {written_word(example.word, file.alphabet)}{line[len(line.rstrip()) :]}"
    if key in numbers and key != "map" and not has_long_symbols(file.alphabet) and len(longer) <= LONGEST_LINE:
        lines[place] = longer
        return
    lines.insert(place + 1, _indent(line) + new)
    # If the last line has no line end, the new last line gets none either.
    ends.insert(place, ends[place] or next(filter(None, reversed(ends)), "\n"))


def _key(example: ProgramExample) -> str:
    if isinstance(example, MapExample):
        return "map"
    return "accept" if example.accept else "reject"


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def read_file(data: bytes, name: str) -> File:
    """Parse a file as its name demands: a C-RASP program (.cr) or an S-RASP program (.srasp), else a formula. A formula
    file that declares nothing has the propositions that it mentions. Raises SourceError if the file has a mistake."""
    if name.endswith(".cr"):
        return parse_crasp(data, name)
    return parse_program(data, name) if name.endswith(".srasp") else parse_text(data, name, props=MENTIONED)


def _layout(file: File) -> Layout:
    if isinstance(file, SraspProgram):
        return ProgramLayout(file.source)
    return CraspLayout(file.source) if file.source.name.endswith(".cr") else FormulaLayout(file.source)
