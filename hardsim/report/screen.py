"""Text and tables on standard output, with rich where they need it.

User text (formulas, words, file names) reaches rich only as `Text`, so that nothing in it is read as markup, an emoji
or a link, and every part of a line and every cell is made `visible`, so that nothing in it drives the terminal or
begins a line. Nothing is truncated: a table is as wide as its narrow columns need, whatever the width of the terminal.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TextIO

from hardsim.visible import visible, visible_lines

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

FILE_WIDTH = 200
"""Columns where the output is no terminal; a table that needs more takes more."""
MEASURE_WIDTH = 100_000


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table; a folding one may break its text over lines, the others never do."""

    header: str
    align: Literal["left", "right"] = "right"
    fold: bool = False


class Screen:
    """Where results go. A disabled screen swallows everything (JSON has standard output to itself then)."""

    def __init__(self, stream: TextIO | None = None, enabled: bool = True) -> None:
        self.stream = stream or sys.stdout
        self.enabled = enabled
        self._console: Console | None = None

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
        from rich.text import Text

        console = self._rich()
        shown = (visible(part) if isinstance(part, str) else (visible(part[0]), part[1]) for part in parts)
        with console.capture() as captured:
            console.print(Text.assemble(*shown), soft_wrap=True)
        self.stream.write(captured.get())

    def table(self, columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> None:
        """A table of texts; it is as wide as it needs where nobody is looking, folded to the terminal otherwise."""
        if not self.enabled:
            return
        table = _table(columns, [[visible(cell) for cell in row] for row in rows])
        console = self._rich()
        from rich.measure import Measurement

        needed = Measurement.get(console, console.options.update(max_width=MEASURE_WIDTH), table)
        wanted = needed.minimum if self.terminal else needed.maximum
        usual = console.width
        console.width = max(usual, wanted)
        try:
            with console.capture() as captured:
                console.print(table)
        finally:
            console.width = usual
        self.stream.write("".join(line.rstrip() + "\n" for line in captured.get().splitlines()))

    def flush(self) -> None:
        """Write out what is waiting."""
        if self.enabled:
            self.stream.flush()

    def _rich(self) -> Console:
        """The console; colours follow the terminal and NO_COLOR."""
        if self._console is None:
            from rich.console import Console

            width = None if self.terminal else FILE_WIDTH
            self._console = Console(
                file=self.stream,
                force_terminal=self.terminal,
                color_system=None if os.environ.get("NO_COLOR") else "auto",
                width=width,
                markup=False,
                emoji=False,
                highlight=False,
            )
        return self._console


def _table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> Table:
    from rich import box
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

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
