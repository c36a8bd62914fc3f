"""Print text and tables on standard output, as wide as the terminal, or 80 columns without one.

User text (formulas, words, file names) reaches rich only as `Text`, so that nothing in it is read as markup, an emoji
or a link. Every part of a line and every cell is made `visible`, so that nothing in it drives the terminal or begins a
line. Nothing is truncated and no word is broken: lines fold at spaces, tables at columns. A text to be copied (a word
or a command) stands alone on a line that does not fold.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Literal, TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from hardsim.lang.words import written_word
from hardsim.lazy_dataclass import dataclass
from hardsim.records import NOTHING
from hardsim.targets.result import count
from hardsim.visible import visible, visible_lines

FILE_WIDTH = 80
"""Width in columns if the output is not a terminal."""
LEAST_WIDTH = 20
"""Least width in columns on any terminal."""
LEAST_TEXT = 30
"""Least width of a text column beside other columns; a narrower text stands on lines of its own below its row."""
GAP = 2
"""Number of spaces between the columns of a table."""
INDENT = "  "
MATHS = "none"
"""Style of a formula: plain on a terminal, mathematics in LaTeX."""

_TOKEN = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a table. It has numbers (`right`) or short texts (`left`), which stay whole; texts that may fold; or
    words to be copied, which stand alone on a line if there is no room beside the other columns."""

    header: str
    align: Literal["left", "right"] = "right"
    fold: bool = False
    copied: bool = False

    @property
    def below(self) -> bool:
        """Return True if a cell may stand below its row."""
        return self.fold or self.copied


def columns(*headers: str | Field) -> tuple[Field, ...]:
    """Return the columns of a table. A string is a header, with a mark for the kind of the column: no mark for numbers,
    `<` for texts, `~` for texts that may fold, `=` for words to be copied."""
    kinds = {"<": Field("", "left"), "~": Field("", "left", fold=True), "=": Field("", "left", copied=True)}
    found = [Field(one) if isinstance(one, str) else one for one in headers]
    return tuple(
        replace(kinds[one.header[0]], header=one.header[1:]) if one.header[0] in kinds else one for one in found
    )


def applying(columns: Sequence[Field], rows: Iterable[Sequence[str | None]]) -> tuple[list[Field], list[list[str]]]:
    """Return the columns of a table in which some cell applies (is not None), and the rows of these columns, made
    `visible`."""
    cells = [[None if cell is None else visible(cell) for cell in row] for row in rows]
    kept = [k for k in range(len(columns)) if not cells or any(row[k] is not None for row in cells)]
    return [columns[k] for k in kept], [[NOTHING if (cell := row[k]) is None else cell for k in kept] for row in cells]


def folded(text: str, width: int, hang: int) -> list[tuple[int, int]]:
    """Return the start and end of each line of a text that folds at spaces to a width. Lines after the first have
    `hang` columns less. A token that is wider than a line has a line of its own."""
    lines: list[tuple[int, int]] = []
    start, end = 0, 0
    for token in _TOKEN.finditer(text):
        room = width - (hang if lines else 0)
        if end and cell_len(text[start : token.end()]) > room:
            lines.append((start, end))
            start = token.start()
        end = token.end()
    return [*lines, (start, max(end, start))]


def tried_text(words: int, exhaustive: bool) -> str:
    """Return the number of words tried as text, with `all` before it if these are all words of their lengths."""
    return f"all {count(words)}" if exhaustive else count(words)


class Screen:
    """The destination of printed results. A disabled screen discards everything, because standard output then belongs
    to JSON. A screen that does not fold leaves every line whole."""

    def __init__(
        self,
        stream: TextIO | None = None,
        enabled: bool = True,
        folds: bool = True,
        called: Callable[[str], str] = str,
    ) -> None:
        self.stream, self.enabled, self.folds = stream or sys.stdout, enabled, folds
        self.called = called
        """Function that names files as the user did, in lines and tables."""

    @property
    def terminal(self) -> bool:
        """Return True if the output is a terminal."""
        return self.stream.isatty()

    @property
    def width(self) -> int:
        """Return the width in columns to which lines and tables fold."""
        if not self.folds:
            return sys.maxsize
        return max(self._rich().width, LEAST_WIDTH) if self.terminal else FILE_WIDTH

    def raw(self, text: str = "") -> None:
        """Print one line without styles or folding: a word or command to be copied."""
        if self.enabled:
            self.stream.write(visible(text) + "\n")

    def text(self, text: str) -> None:
        """Print a text of several lines as it stands in a file."""
        if self.enabled:
            self.stream.write(visible_lines(text) + "\n")

    def line(self, *parts: str | tuple[str, str], hang: int | None = None, folds: bool = True) -> None:
        """Print plain texts and (text, style) pairs on one line. The line folds at spaces; continuation lines are
        indented by `hang`, by default a little more than the first line."""
        if not self.enabled:
            return
        styled = [(part, "") if isinstance(part, str) else part for part in parts]
        pairs = [(visible(self.called(text)), style) for text, style in styled]
        whole = Text.assemble(*pairs)
        plain = whole.plain
        hang = len(plain) - len(plain.lstrip(" ")) + len(INDENT) if hang is None else hang
        spans = folded(plain, self.width, hang) if folds else [(0, len(plain))]
        for place, (start, end) in enumerate(spans):
            indent = " " * hang if place else ""
            if self.terminal:
                # Slicing the styled text keeps the styles of its parts on every line.
                self._styled(Text.assemble(indent, whole[start:end] if end > start else ""))
            else:
                self.stream.write(indent + plain[start:end] + "\n")

    def _styled(self, text: Text) -> None:
        console = self._rich()
        # Captured, because rich would fold the line once more at its own width.
        with console.capture() as captured:
            console.print(text, soft_wrap=True)
        self.stream.write(captured.get())

    def head(self, name: str, facts: Iterable[tuple[str, str | None]], width: int = 9) -> None:
        """Print a name in bold, then labelled facts (None: no line)."""
        self.line((name, "bold"))
        self.facts(facts, width)

    def facts(self, facts: Iterable[tuple[str, str | None]], width: int = 9) -> None:
        """Print labelled facts, one on a line (None: no line)."""
        for label, fact in facts:
            if fact is not None:
                self.line(f"{INDENT}{label:<{width}} {fact}", hang=len(INDENT) + width + 1)

    def word(self, what: str, word: Sequence[str], alphabet: Sequence[str]) -> None:
        """Print a label and, on a line of its own, a word that can be copied; or that the word is empty."""
        if not word:
            self.line(f"{what} is the empty word.")
            return
        self.line(f"{what}, on a line of its own:")
        self.raw(written_word(word, alphabet))

    def words(self, label: str, words: Sequence[str], width: int = 9) -> None:
        """Print words beside their label if they fit there, otherwise each on a line of its own."""
        line = f"{INDENT}{label:<{width}} " + ((GAP + 1) * " ").join(map(visible, words))
        if cell_len(line) <= self.width:
            self.raw(line)
            return
        self.line(f"{INDENT}{label}")
        for word in words:
            self.raw(word)

    def block(self, columns: Sequence[Field], rows: Sequence[Sequence[str | None]]) -> None:
        """Print an empty line and a table, if the table has rows."""
        if rows:
            self.raw()
            self.table(columns, rows)

    def table(
        self, columns: Sequence[Field], rows: Iterable[Sequence[str | None]], styles: Sequence[str | None] = ()
    ) -> None:
        """Print a table no wider than the screen. Texts fold, or stand below their row if there is no room. Numbers
        without room follow in another table that repeats the first column.

        A cell that is None does not apply; a column of such cells is left out. `styles` has a style for each row.
        """
        if not self.enabled:
            return
        named = [[None if cell is None else self.called(cell) for cell in row] for row in rows]
        for number, part in enumerate(_parts(*applying(columns, named), self.width)):
            if number:
                self.raw()
            for line, row in part.lines():
                style = "bold" if row == HEADER else (styles[row] if 0 <= row < len(styles) else None) or ""
                if self.terminal and style:
                    self._styled(Text(line, style=style))
                else:
                    self.stream.write(line + "\n")

    def flush(self) -> None:
        """Flush the output stream."""
        if self.enabled:
            self.stream.flush()

    def _rich(self) -> Console:
        """Return a rich console; colours follow the terminal and NO_COLOR."""
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
    """A table, or a part of one, that fits the width, with the texts that stand below its rows."""

    columns: Sequence[Field]
    widths: Sequence[int]
    rows: Sequence[Sequence[str]]
    apart: Sequence[Field]
    """Columns whose cells stand below their rows."""
    below: Sequence[Sequence[tuple[Field, str]]]
    names: Sequence[str]
    """Names that stand alone above their rows, because beside them there is no room for the numbers; empty if there are
    none."""
    about: str
    """Header of the names above the rows; empty if there are none."""
    width: int

    def lines(self) -> Iterator[tuple[str, int]]:
        """Yield the lines of the table, each with the index of its row, HEADER or RULE."""
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
    """Split a table into parts that fit a width."""
    natural = [
        max([cell_len(line) for line in column.header.split("\n")] + [cell_len(row[number]) for row in rows])
        for number, column in enumerate(columns)
    ]
    beside = list(range(len(columns)))
    # A name that takes half of the screen stands above its row, so that numbers stay together.
    alone = sum(natural) + GAP * (len(natural) - 1) > width and len(natural) > 1
    if alone := alone and not columns[0].below and columns[0].align == "left" and natural[0] > width // 2:
        beside.remove(0)
    # Texts give up their place first: numbers can be compared only side by side.
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
            # The first column is repeated, so that rows of the next table have their names.
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
