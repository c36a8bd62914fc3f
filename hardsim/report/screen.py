"""Text and tables on standard output, with rich where they need it.

User text (formulas, words, file names) reaches rich only as `Text`, so that nothing in it is read as markup, an emoji
or a link, and every part of a line and every cell is made `visible`, so that nothing in it drives the terminal or
begins a line. Nothing is truncated: a table is as wide as its narrow columns need, whatever the width of the terminal.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TextIO

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from hardsim.lang.words import written_word
from hardsim.report.numbers import NOTHING
from hardsim.visible import visible, visible_lines

FILE_WIDTH = 200
"""Columns where the output is no terminal; a table that needs more takes more."""
MEASURE_WIDTH = 100_000


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a table; a folding one may break its text over lines, the others never do."""

    header: str
    align: Literal["left", "right"] = "right"
    fold: bool = False


def columns(*headers: str | Field) -> tuple[Field, ...]:
    """The columns of a table; those that are given by their header alone are of numbers, or with `<` before it of
    texts."""
    found = [Field(one) if isinstance(one, str) else one for one in headers]
    return tuple(replace(one, header=one.header[1:], align="left") if one.header[0] == "<" else one for one in found)


class Screen:
    """Where results go. A disabled screen swallows everything (JSON has standard output to itself then)."""

    def __init__(self, stream: TextIO | None = None, enabled: bool = True) -> None:
        self.stream, self.enabled = stream or sys.stdout, enabled

    @property
    def terminal(self) -> bool:
        """Whether somebody is looking."""
        return self.stream.isatty()

    def raw(self, text: str = "") -> None:
        """One line without styles or folding: for words and formulas that are to be copied."""
        if self.enabled:
            self.stream.write(visible(text) + "\n")

    def text(self, text: str) -> None:
        """A text of several lines, as a file has them."""
        if self.enabled:
            self.stream.write(visible_lines(text) + "\n")

    def line(self, *parts: str | tuple[str, str]) -> None:
        """One unwrapped line made of plain texts and (text, style) pairs."""
        if not self.enabled:
            return
        if not self.terminal:
            self.raw("".join(part if isinstance(part, str) else part[0] for part in parts))
            return
        console = self._rich()
        shown = (visible(part) if isinstance(part, str) else (visible(part[0]), part[1]) for part in parts)
        with console.capture() as captured:
            console.print(Text.assemble(*shown), soft_wrap=True)
        self.stream.write(captured.get())

    def head(self, name: str, facts: Iterable[tuple[str, str | None]], width: int = 8) -> None:
        """A name, and one line of each thing that is said of it (None: nothing)."""
        self.line((name, "bold"))
        for label, fact in facts:
            if fact is not None:
                self.line(f"  {label:<{width}} {fact}")

    def word(self, what: str, word: Sequence[str], alphabet: Sequence[str]) -> None:
        """A word, so that it can be copied."""
        self.line(f"{what}, on a line of its own:")
        self.raw(written_word(word, alphabet))

    def block(self, columns: Sequence[Field], rows: Sequence[Sequence[str | None]]) -> None:
        """A table with an empty line before it, if it has rows."""
        if rows:
            self.raw()
            self.table(columns, rows)

    def table(self, columns: Sequence[Field], rows: Iterable[Sequence[str | None]]) -> None:
        """A table of texts; it is as wide as it needs where nobody is looking, folded to the terminal otherwise.

        A cell that is None does not apply; a column with nothing else is left out.
        """
        if not self.enabled:
            return
        cells = [[None if cell is None else visible(cell) for cell in row] for row in rows]
        kept = [k for k in range(len(columns)) if not cells or any(row[k] is not None for row in cells)]
        shown = [[NOTHING if (cell := row[k]) is None else cell for k in kept] for row in cells]
        table = _table([columns[k] for k in kept], shown)
        console = self._rich()
        needed = Measurement.get(console, console.options.update(max_width=MEASURE_WIDTH), table)
        wanted = needed.minimum if self.terminal else needed.maximum
        console.width = max(console.width, wanted)
        with console.capture() as captured:
            console.print(table)
        self.stream.write("".join(line.rstrip() + "\n" for line in captured.get().splitlines()))

    def flush(self) -> None:
        """Write out what is waiting."""
        if self.enabled:
            self.stream.flush()

    def _rich(self) -> Console:
        """A console; colours follow the terminal and NO_COLOR."""
        return Console(
            file=self.stream,
            force_terminal=self.terminal,
            color_system=None if os.environ.get("NO_COLOR") else "auto",
            width=None if self.terminal else FILE_WIDTH,
            markup=False,
            emoji=False,
            highlight=False,
        )


def _table(columns: Sequence[Field], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for number, column in enumerate(columns):
        width = max((cell_len(row[number]) for row in rows), default=0)
        # Cells of a column that does not fold keep their whole width.
        longest = max(cell_len(line) for line in column.header.split("\n"))
        table.add_column(
            Text(column.header),
            justify=column.align,
            min_width=longest if column.fold else max(width, longest),
            overflow="fold",
            vertical="top",
        )
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table
