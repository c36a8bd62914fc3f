"""What a report prints, kept as blocks instead, for the pages of `hardsim report`.

The functions that print on a screen write into `Blocks` as well: a table has the same columns and an argument the same
steps on the screen, in HTML and in LaTeX, and there is one place that says which.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from hardsim.report.screen import INDENT, Field, Screen, applying
from hardsim.visible import visible


@dataclass(frozen=True, slots=True)
class Line:
    """A line: texts with their styles (`screen.MATHS`: it is a formula), and how far it is indented."""

    parts: tuple[tuple[str, str], ...]
    depth: int

    @property
    def plain(self) -> str:
        """All of its text."""
        return "".join(text for text, _ in self.parts)


@dataclass(frozen=True, slots=True)
class Copied:
    """A word or a command, to be copied."""

    text: str


@dataclass(frozen=True, slots=True)
class Fact:
    """What is said of something, as a text or as words, under a label."""

    label: str
    text: str = ""
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its columns, and a text for each cell."""

    columns: tuple[Field, ...]
    rows: tuple[tuple[str, ...], ...]


Block: TypeAlias = Line | Copied | Fact | Table


class Blocks(Screen):
    """A screen that keeps what is printed on it. Every text is `visible`, and none has been made part of a markup."""

    def __init__(self) -> None:
        super().__init__(io.StringIO())
        self.found: list[Block] = []

    def raw(self, text: str = "") -> None:
        """To be copied; an empty line is a matter of the screen."""
        if text:
            self.found.append(Copied(visible(text)))

    def line(self, *parts: str | tuple[str, str], hang: int | None = None, folds: bool = True) -> None:
        """A line without its indentation."""
        pairs = [(part, "") if isinstance(part, str) else part for part in parts]
        first, style = pairs[0]
        depth = (len(first) - len(first.lstrip(" "))) // len(INDENT)
        self.found.append(
            Line(tuple((visible(text), one) for text, one in [(first.lstrip(" "), style), *pairs[1:]]), depth)
        )

    def facts(self, facts: Iterable[tuple[str, str | None]], width: int = 9) -> None:
        """Facts one by one; a formula is to be copied."""
        told = [(label, visible(fact)) for label, fact in facts if fact is not None]
        self.found += [Fact(label, words=(fact,)) if label == "formula" else Fact(label, fact) for label, fact in told]

    def words(self, label: str, words: Sequence[str], width: int = 9) -> None:
        """Words under a label."""
        self.found.append(Fact(label, words=tuple(map(visible, words))))

    def table(
        self, columns: Sequence[Field], rows: Iterable[Sequence[str | None]], styles: Sequence[str | None] = ()
    ) -> None:
        """A table of the columns that apply."""
        kept, shown = applying(columns, rows)
        self.found.append(Table(tuple(kept), tuple(map(tuple, shown))))


def blocks_of(report: Callable[..., None], *arguments: Any) -> tuple[Block, ...]:
    """What a function that prints would print."""
    kept = Blocks()
    report(kept, *arguments)
    return tuple(kept.found)
