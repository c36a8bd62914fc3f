"""Text and tables on standard output, as wide as the terminal, or 80 columns where there is none.

User text (formulas, words, file names) reaches rich only as `Text`, so that nothing in it is read as markup, an emoji
or a link, and every part of a line and every cell is made `visible`, so that nothing in it drives the terminal or
begins a line. Nothing is truncated and no word is broken: lines fold at spaces, tables at columns. What is to be copied
(words, commands) stands alone on a line that does not fold.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from hardsim.lang.words import written_word
from hardsim.report.numbers import NOTHING
from hardsim.visible import visible, visible_lines

FILE_WIDTH = 80
"""Columns where the output is no terminal."""
LEAST_WIDTH = 20
"""Columns that are written to on any terminal."""
LEAST_TEXT = 30
"""Columns that a text has beside others in a table; with fewer it stands on lines of its own below its row."""
GAP = 2
"""Spaces between the columns of a table."""
INDENT = "  "
MATHS = "none"
"""The style of a formula: as anything else on a terminal, set as such in LaTeX."""

_TOKEN = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a table: of numbers (`right`) or short texts (`left`), which stay whole; of texts that may fold; or
    of words to be copied, which stand alone on a line where they have no room beside the others."""

    header: str
    align: Literal["left", "right"] = "right"
    fold: bool = False
    copied: bool = False

    @property
    def below(self) -> bool:
        """Whether a cell may stand below its row."""
        return self.fold or self.copied


def columns(*headers: str | Field) -> tuple[Field, ...]:
    """The columns of a table; those that are given by their header alone are of numbers, or with `<` before it of
    texts, with `~` of texts that may fold, with `=` of words to be copied."""
    kinds = {"<": Field("", "left"), "~": Field("", "left", fold=True), "=": Field("", "left", copied=True)}
    found = [Field(one) if isinstance(one, str) else one for one in headers]
    return tuple(
        replace(kinds[one.header[0]], header=one.header[1:]) if one.header[0] in kinds else one for one in found
    )


def applying(columns: Sequence[Field], rows: Iterable[Sequence[str | None]]) -> tuple[list[Field], list[list[str]]]:
    """A table without the columns that apply nowhere, its cells `visible`."""
    cells = [[None if cell is None else visible(cell) for cell in row] for row in rows]
    kept = [k for k in range(len(columns)) if not cells or any(row[k] is not None for row in cells)]
    return [columns[k] for k in kept], [[NOTHING if (cell := row[k]) is None else cell for k in kept] for row in cells]


def folded(text: str, width: int, hang: int) -> list[tuple[int, int]]:
    """Where the lines of a text begin and end that folds at spaces to a width; those after the first are indented by
    `hang`. A token that is wider than the line stands on one of its own."""
    lines: list[tuple[int, int]] = []
    start, end = 0, 0
    for token in _TOKEN.finditer(text):
        room = width - (hang if lines else 0)
        if end and cell_len(text[start : token.end()]) > room:
            lines.append((start, end))
            start = token.start()
        end = token.end()
    return [*lines, (start, max(end, start))]


class Screen:
    """The destination of results. A disabled screen discards everything (standard output then belongs to JSON); a
    screen that does not fold leaves every line whole."""

    def __init__(self, stream: TextIO | None = None, enabled: bool = True, folds: bool = True) -> None:
        self.stream, self.enabled, self.folds = stream or sys.stdout, enabled, folds

    @property
    def terminal(self) -> bool:
        """Whether somebody is looking."""
        return self.stream.isatty()

    @property
    def width(self) -> int:
        """Columns that lines and tables fold to."""
        if not self.folds:
            return sys.maxsize
        return max(self._rich().width, LEAST_WIDTH) if self.terminal else FILE_WIDTH

    def raw(self, text: str = "") -> None:
        """One line without styles or folding: for words and commands that are to be copied."""
        if self.enabled:
            self.stream.write(visible(text) + "\n")

    def text(self, text: str) -> None:
        """A text of several lines, as a file has them."""
        if self.enabled:
            self.stream.write(visible_lines(text) + "\n")

    def line(self, *parts: str | tuple[str, str], hang: int | None = None, folds: bool = True) -> None:
        """Plain texts and (text, style) pairs, one after the other. Lines fold at spaces; those after the first are
        indented by `hang`, by default as the first is and a little more."""
        if not self.enabled:
            return
        pairs = [(visible(part), "") if isinstance(part, str) else (visible(part[0]), part[1]) for part in parts]
        whole = Text.assemble(*pairs)
        plain = whole.plain
        hang = len(plain) - len(plain.lstrip(" ")) + len(INDENT) if hang is None else hang
        spans = folded(plain, self.width, hang) if folds else [(0, len(plain))]
        for place, (start, end) in enumerate(spans):
            indent = " " * hang if place else ""
            if self.terminal:
                self._styled(Text.assemble(indent, whole[start:end] if end > start else ""))
            else:
                self.stream.write(indent + plain[start:end] + "\n")

    def _styled(self, text: Text) -> None:
        console = self._rich()
        with console.capture() as captured:
            console.print(text, soft_wrap=True)
        self.stream.write(captured.get())

    def head(self, name: str, facts: Iterable[tuple[str, str | None]], width: int = 9) -> None:
        """A name, and what is said of it (None: nothing)."""
        self.line((name, "bold"))
        self.facts(facts, width)

    def facts(self, facts: Iterable[tuple[str, str | None]], width: int = 9) -> None:
        """What is said of something, each with its label (None: nothing)."""
        for label, fact in facts:
            if fact is not None:
                self.line(f"{INDENT}{label:<{width}} {fact}", hang=len(INDENT) + width + 1)

    def word(self, what: str, word: Sequence[str], alphabet: Sequence[str]) -> None:
        """A word, so that it can be copied; or that it is the empty one."""
        if not word:
            self.line(f"{what} is the empty word.")
            return
        self.line(f"{what}, on a line of its own:")
        self.raw(written_word(word, alphabet))

    def words(self, label: str, words: Sequence[str], width: int = 9) -> None:
        """Words as they are written, beside their label if they have room there, else each on a line of its own."""
        line = f"{INDENT}{label:<{width}} " + ((GAP + 1) * " ").join(map(visible, words))
        if cell_len(line) <= self.width:
            self.raw(line)
            return
        self.line(f"{INDENT}{label}")
        for word in words:
            self.raw(word)

    def block(self, columns: Sequence[Field], rows: Sequence[Sequence[str | None]]) -> None:
        """A table with an empty line before it, if it has rows."""
        if rows:
            self.raw()
            self.table(columns, rows)

    def table(
        self, columns: Sequence[Field], rows: Iterable[Sequence[str | None]], styles: Sequence[str | None] = ()
    ) -> None:
        """A table of texts, no wider than the screen: texts fold, or stand below their row where they have no room, and
        numbers that have none beside the others follow in another table, with the first column before them.

        A cell that is None does not apply; a column with nothing else is left out. `styles` are those of the rows.
        """
        if not self.enabled:
            return
        for number, part in enumerate(_parts(*applying(columns, rows), self.width)):
            if number:
                self.raw()
            for line, row in part.lines():
                style = "bold" if row == HEADER else (styles[row] if 0 <= row < len(styles) else None) or ""
                if self.terminal and style:
                    self._styled(Text(line, style=style))
                else:
                    self.stream.write(line + "\n")

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


# ---- the layout of a table ----

HEADER, RULE = -2, -1


@dataclass(frozen=True, slots=True)
class _Part:
    """A table that fits, with what stands below each of its rows."""

    columns: Sequence[Field]
    widths: Sequence[int]
    rows: Sequence[Sequence[str]]
    apart: Sequence[Field]
    """The columns that stand below."""
    below: Sequence[Sequence[tuple[Field, str]]]
    names: Sequence[str]
    """What stands alone above each row, if anything does: names that leave the numbers no room."""
    about: str
    """The header of these names, which stands above the others; empty if there is none."""
    width: int

    def lines(self) -> Iterator[tuple[str, int]]:
        """Its lines, each with the number of its row, HEADER or RULE."""
        heads = [column.header.split("\n") for column in self.columns]
        depth = max(map(len, heads), default=0)
        if self.about:
            yield self.about, HEADER
        for level in range(depth):
            names = [head[level - depth + len(head)] if level - depth + len(head) >= 0 else "" for head in heads]
            yield self._line(names), HEADER
        for column in self.apart:
            yield ("" if column.copied else 2 * INDENT) + column.header.replace("\n", " "), HEADER
        yield "\u2500" * (sum(self.widths) + GAP * (len(self.widths) - 1)), RULE
        for number, (row, below) in enumerate(zip(self.rows, self.below, strict=True)):
            split = [
                [cell[start:end] for start, end in folded(cell, width, 0)] if column.fold else [cell]
                for column, width, cell in zip(self.columns, self.widths, row, strict=True)
            ]
            if self.names:
                yield self.names[number], number
            for level in range(max(map(len, split))):
                yield self._line([cell[level] if level < len(cell) else "" for cell in split]), number
            for column, text in below:
                if column.copied:
                    yield text, number
                    continue
                for start, end in folded(text, self.width - 2 * len(INDENT), 0):
                    yield 2 * INDENT + text[start:end], number

    def _line(self, cells: Sequence[str]) -> str:
        padded = []
        for column, width, cell in zip(self.columns, self.widths, cells, strict=True):
            space = " " * (width - cell_len(cell))
            padded.append(cell + space if column.align == "left" else space + cell)
        return (" " * GAP).join(padded).rstrip()


def _parts(columns: Sequence[Field], rows: Sequence[Sequence[str]], width: int) -> list[_Part]:
    """A table as one or several that fit a width."""
    natural = [
        max([cell_len(line) for line in column.header.split("\n")] + [cell_len(row[number]) for row in rows])
        for number, column in enumerate(columns)
    ]
    beside = list(range(len(columns)))
    alone = sum(natural) + GAP * (len(natural) - 1) > width and len(natural) > 1
    if alone := alone and not columns[0].below and columns[0].align == "left" and natural[0] > width // 2:
        beside.remove(0)
    for number in [k for k, column in enumerate(columns) if column.below]:
        others = sum(natural[k] + GAP for k in beside if k != number)
        if others + natural[number] <= width:
            continue
        if columns[number].fold and width - others >= LEAST_TEXT:
            natural[number] = width - others
        elif len(beside) > 1:
            beside.remove(number)
    apart = [k for k, column in enumerate(columns) if k not in beside and column.below]
    groups: list[list[int]] = [beside[:1]]
    for number in beside[1:]:
        if len(groups[-1]) > 1 and sum(natural[k] + GAP for k in groups[-1]) + natural[number] > width:
            groups.append(beside[:1])
        groups[-1].append(number)
    return [
        _Part(
            [columns[k] for k in group],
            [natural[k] for k in group],
            [[row[k] for k in group] for row in rows],
            [columns[k] for k in apart] if not place else [],
            [[(columns[k], row[k]) for k in apart if row[k] != NOTHING] if not place else [] for row in rows],
            [row[0] for row in rows] if alone else [],
            columns[0].header.replace("\n", " ") if alone else "",
            width,
        )
        for place, group in enumerate(groups)
    ]
