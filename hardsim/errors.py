"""Errors that a user can meet, each with the exit code it leads to.

Nothing in hardsim prints an error itself: it raises one of these, and the command line renders it.
An exception that is none of these is a defect of hardsim (exit code 4).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from hardsim.visible import visible

_SHOWN = 160
"""Characters of a long line that an error shows around the caret."""


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range `[start, end)` of character offsets in a source text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Source:
    """A text and the name under which errors cite it (a path, or `<expression>`). `first` is the number of its first
    line, for a line that is read alone."""

    name: str
    text: str
    first: int = 1

    def line_of(self, offset: int) -> tuple[int, int, str]:
        """The 1-based line and column of a character offset, and the text of that line."""
        offset = max(0, min(offset, len(self.text)))
        start = self.text.rfind("\n", 0, offset) + 1
        end = self.text.find("\n", offset)
        line = self.text[start : end if end >= 0 else len(self.text)].rstrip("\r")
        return self.text.count("\n", 0, offset) + self.first, offset - start + 1, line


class HardsimError(Exception):
    """The base of every error hardsim raises on purpose; `exit_code` is the process's exit code."""

    exit_code = 4


class _Advised(HardsimError):
    """A message and, on a line of its own, a hint; what they quote of a file begins no line."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return visible(self.message) + (f"\n  {visible(self.hint)}" if self.hint else "")


class InputError(_Advised):
    """Bad input or usage: exit code 2. `hint` says what to do next."""

    exit_code = 2


class SourceError(InputError):
    """Bad input at a place in a text: printed with file, line, column, the line and a caret. `expected` says what would
    have been accepted at the caret, `hint` what to do next."""

    def __init__(self, source: Source, span: Span, message: str, expected: str = "", hint: str = "") -> None:
        super().__init__(message, hint)
        self.source = source
        self.span = span
        self.expected = expected

    def __str__(self) -> str:
        number, place, _ = self.source.line_of(self.span.start)
        first = visible(f"{self.source.name}:{number}:{place}: error: {self.message}")
        advice = [f"expected: {self.expected}"] * bool(self.expected) + [self.hint] * bool(self.hint)
        return "\n  ".join([first, *marked(self.source, self.span), *map(visible, advice)])


def marked(source: Source, span: Span) -> tuple[str, str]:
    """The line of a place of a text, as it is printed, and carets below the place."""
    _, place, whole = source.line_of(span.start)
    line, column = _window(whole, place)
    width = max(1, min(span.end - span.start, len(line) - column + 1))
    before, here = _printed(line[: column - 1]), _printed(line[column - 1 : column - 1 + width])
    return _printed(line), f"{' ' * _width(before)}{'^' * max(1, _width(here))}"


class Unsupported(SourceError):
    """A well-formed request for which there is no construction: exit code 2. The message names the operator and the
    reason, the hint what can be used instead."""


class OutOfRange(InputError):
    """An integer left the range that the construction covers: exit code 2."""


class Undecided(HardsimError):
    """No verdict could be reached within a named limit: exit code 3."""

    exit_code = 3


class Interrupted(KeyboardInterrupt):
    """Ctrl-C in the Python interface: `result` is what was found until then, marked partial."""

    def __init__(self, result: Any) -> None:
        super().__init__("interrupted: `result` is what was found until then")
        self.result = result


class Remark(UserWarning):
    """What the command line would say on standard error, as a warning of the Python interface."""


class WorkerFailure(_Advised):
    """The processes or machines that share the work are gone, or die of it: exit code 4. `hint` says what to try."""


class InvariantError(HardsimError):
    """A claim that hardsim makes about its own construction was found false: exit code 4."""


class Contradiction(InvariantError):
    """A proof is contradicted, by a word that was run or by another proof: a defect of hardsim whatever it was given,
    so exit code 4 for networks that were read from a file too."""


def nearest(word: str, known: Iterable[str]) -> str:
    """Which of the known names a word was meant to be ("" if none is like it): one that differs in case, hyphens and
    underscores alone, else one of which it is a beginning or a part between hyphens, else the likest."""

    def plain(name: str) -> str:
        return name.casefold().replace("_", "-").strip("-")

    names, typed = list(known), plain(word)
    plains = [(plain(name), name) for name in names]
    same = [name for simple, name in plains if simple == typed]
    begun = [name for simple, name in plains if len(typed) > 2 and simple.startswith(typed)]
    parts = [name for simple, name in plains if typed and typed in simple.split("-")]
    if found := same or [*begun, *parts]:
        return min(found, key=len)
    close = get_close_matches(typed, [simple for simple, _ in plains], n=1, cutoff=0.6)
    return next((name for simple, name in plains if [simple] == close), "")


def did_you_mean(word: str, known: Iterable[str], shown: Callable[[str], str] = str) -> str:
    """The question whether the nearest known name was meant, as it would be written; "" if none is near."""
    found = nearest(word, known)
    return f"did you mean {shown(found)}?" if found else ""


def _window(line: str, column: int) -> tuple[str, int]:
    """The part of a line around a 1-based column that is shown, and the column in that part."""
    start = max(0, min(column - 1 - _SHOWN // 2, len(line) - _SHOWN))
    before = "..." if start else ""
    after = "..." if start + _SHOWN < len(line) else ""
    return before + line[start : start + _SHOWN] + after, column - start + len(before)


def _printed(text: str) -> str:
    """A part of a line as an error shows it; a tab is a space, as wide as the caret below counts it."""
    return visible(text.replace("\t", " "))


def _width(text: str) -> int:
    """Terminal cells that a text takes: none for combining marks, 2 for wide characters."""
    cells = [char for char in text if not unicodedata.combining(char)]
    cells = [char for char in cells if unicodedata.category(char) not in ("Mn", "Me", "Cf")]
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in cells)
