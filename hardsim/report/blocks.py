"""Collect printed output as blocks, from which `hardsim report` makes its HTML and LaTeX pages.

The functions that print on a screen can also print into `Blocks`. So a table has the same columns, and an argument the
same steps, on the screen, in HTML and in LaTeX, and one function decides which.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from hardsim.lazy_dataclass import dataclass
from hardsim.report.screen import INDENT, Field, Screen, applying
from hardsim.visible import visible


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text: its parts, each with a style (`screen.MATHS` marks a formula), and the level of its
    indentation."""

    parts: tuple[tuple[str, str], ...]
    depth: int

    @property
    def plain(self) -> str:
        """Return the text of all parts of the line, without styles."""
        return "".join(text for text, _ in self.parts)


@dataclass(frozen=True, slots=True)
class Copied:
    """A word or a command that the reader may copy, on a line of its own."""

    text: str


@dataclass(frozen=True, slots=True)
class Fact:
    """A labelled fact: either a text, or words that the reader may copy."""

    label: str
    text: str = ""
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its columns, and one text for each cell."""

    columns: tuple[Field, ...]
    rows: tuple[tuple[str, ...], ...]


Block: TypeAlias = Line | Copied | Fact | Table


class Blocks(Screen):
    """A screen that collects blocks instead of printing them. All texts are made `visible`; none contains markup of
    HTML or LaTeX."""

    def __init__(self) -> None:
        super().__init__(io.StringIO())
        self.blocks: list[Block] = []

    def raw(self, text: str = "") -> None:
        """Add a text to be copied; ignore an empty line, which only separates blocks on a screen."""
        if text:
            self.blocks.append(Copied(visible(text)))

    def line(self, *parts: str | tuple[str, str], hang: int | None = None, folds: bool = True) -> None:
        """Add a line, with its leading spaces turned into an indentation level."""
        pairs = [(part, "") if isinstance(part, str) else part for part in parts]
        first, style = pairs[0]
        # On a screen indentation is spaces; a page needs the level to make lists.
        depth = (len(first) - len(first.lstrip(" "))) // len(INDENT)
        self.blocks.append(
            Line(tuple((visible(text), one) for text, one in [(first.lstrip(" "), style), *pairs[1:]]), depth)
        )

    def facts(self, facts: Iterable[tuple[str, str | None]], width: int = 9) -> None:
        """Add one block for each fact that is not None; a formula becomes a text to be copied."""
        shown = [(label, visible(fact)) for label, fact in facts if fact is not None]
        self.blocks += [
            Fact(label, words=(fact,)) if label == "formula" else Fact(label, fact) for label, fact in shown
        ]

    def words(self, label: str, words: Sequence[str], width: int = 9) -> None:
        """Add a fact that consists of words."""
        self.blocks.append(Fact(label, words=tuple(map(visible, words))))

    def table(
        self, columns: Sequence[Field], rows: Iterable[Sequence[str | None]], styles: Sequence[str | None] = ()
    ) -> None:
        """Add a table without the columns that do not apply."""
        kept, shown = applying(columns, rows)
        self.blocks.append(Table(tuple(kept), tuple(map(tuple, shown))))


def blocks_of(report: Callable[..., None], *arguments: Any) -> tuple[Block, ...]:
    """Call a printing function with some arguments, and return the blocks that it prints."""
    kept = Blocks()
    report(kept, *arguments)
    return tuple(kept.blocks)
