"""Errors that a user can meet, each with its exit code.

Nothing in hardsim prints an error itself: it raises one of these classes, and the command line prints it. Any other
exception is a defect of hardsim (exit code 4).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any

from hardsim.lazy_dataclass import dataclass
from hardsim.visible import visible

_SHOWN = 160
"""Number of characters of a long line that an error shows around the caret."""
LONGEST_MESSAGE, LONGEST_EXPECTED, LONGEST_HINT = 360, 260, 360
"""Greatest numbers of characters of the parts of an error. With the line and the caret, an error then has at most 20
lines of 80 columns, however many names it lists or however long the text is that it quotes."""
_TAIL, _SLACK = 80, 40
"""Number of characters at the end of a text that is too long, which are kept; number of characters by which a text may
be too long, since the note about a cut has as many."""
MOST_NAMED = 12
"""Greatest number of names that a message lists."""


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range `[start, end)` of character offsets in a source text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Source:
    """A text and the name by which errors cite it (a path, or `<expression>`). `first` is the number of its first line,
    for a line that is read alone."""

    name: str
    text: str
    first: int = 1

    def line_of(self, offset: int) -> tuple[int, int, str]:
        """Return the line and the column of a character offset, both from 1, and the text of that line."""
        offset = max(0, min(offset, len(self.text)))
        start = self.text.rfind("\n", 0, offset) + 1
        end = self.text.find("\n", offset)
        line = self.text[start : end if end >= 0 else len(self.text)].rstrip("\r")
        return self.text.count("\n", 0, offset) + self.first, offset - start + 1, line


class HardsimError(Exception):
    """Base of all errors that hardsim raises on purpose; `exit_code` is the exit code of the process."""

    exit_code = 4


class _Advised(HardsimError):
    """An error with a message and a hint on a line of its own. Line breaks in quoted text are made visible, so that no
    quoted text begins a line."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        message, hint = limited(self.message, LONGEST_MESSAGE), limited(self.hint, LONGEST_HINT)
        return visible(message) + (f"\n  {visible(hint)}" if hint else "")


class InputError(_Advised):
    """An error for bad input or usage: exit code 2. `hint` is the advice on what to do next."""

    exit_code = 2
    outside = False
    """True if a word has a symbol, or a proposition, that its alphabet lacks."""
    known_format = False
    """True if the error is about a file whose format was recognised, so that none has to be guessed."""
    understood = False
    """True if the whole file could be read, and something that it says is wrong or of no use here."""


class SourceError(InputError):
    """An error for bad input at a place in a text. It is printed with file, line, column, the line and a caret.
    `expected` is what would have been accepted at the caret, `hint` the advice on what to do next."""

    def __init__(self, source: Source, span: Span, message: str, expected: str = "", hint: str = "") -> None:
        super().__init__(message, hint)
        self.source = source
        self.span = span
        self.expected = expected

    def __str__(self) -> str:
        number, place, _ = self.source.line_of(self.span.start)
        first = visible(f"{self.source.name}:{number}:{place}: error: {limited(self.message, LONGEST_MESSAGE)}")
        expected, hint = limited(self.expected, LONGEST_EXPECTED), limited(self.hint, LONGEST_HINT)
        advice = [f"expected: {expected}"] * bool(expected) + [hint] * bool(hint)
        return "\n  ".join([first, *marked(self.source, self.span), *map(visible, advice)])


class WrongExample(SourceError):
    """An error for an example that the formula, expression or program of its own file contradicts: exit code 2."""

    understood = True


def marked(source: Source, span: Span) -> tuple[str, str]:
    """Return the printed line of a place in a text, and a line with carets below the place."""
    _, place, whole = source.line_of(span.start)
    line, column = _window(whole, place)
    # A span may reach over the end of its line; the carets do not.
    width = max(1, min(span.end - span.start, len(line) - column + 1))
    before, here = _printed(line[: column - 1]), _printed(line[column - 1 : column - 1 + width])
    return _printed(line), f"{' ' * _width(before)}{'^' * max(1, _width(here))}"


class Unsupported(SourceError):
    """An error for a well-formed request without a construction: exit code 2. The message names the operator and the
    reason, the hint an alternative."""


class OutOfRange(InputError):
    """An error for an integer outside the range that a construction covers: exit code 2."""


class Undecided(HardsimError):
    """Raised when no verdict was reached within a named limit: exit code 3."""

    exit_code = 3


class Interrupted(KeyboardInterrupt):
    """Ctrl-C in the Python interface; `result` has the results found so far, marked partial."""

    def __init__(self, result: Any) -> None:
        super().__init__("interrupted: `result` has the results found so far")
        self.result = result


class Remark(UserWarning):
    """A remark that the command line prints on standard error, as a warning of the Python interface."""


class WorkerFailure(_Advised):
    """An error for lost worker processes or machines: exit code 4. `hint` is the advice on what to try."""


class InvariantError(HardsimError):
    """An error for a false claim of hardsim about its own construction: exit code 4."""


class Contradiction(InvariantError):
    """An error for a proof that a word or another proof contradicts: exit code 4. It is a defect of hardsim for every
    input, also for networks that were read from a file."""


def limited(text: str, most: int) -> str:
    """Return a text of at most about `most` characters: of a longer one the beginning and the end, and the number of
    characters that are left out between them."""
    if len(text) <= most + _SLACK:
        return text
    start, end = most - _TAIL, len(text) - _TAIL
    # Words stay whole if they are short.
    start = text.rfind(" ", start // 2, start) if " " in text[start // 2 : start] else start
    end = text.find(" ", end, end + _TAIL // 2) + 1 or end
    return f"{text[:start]} ... ({end - start:,} characters left out) ... {text[end:]}"


def enumerated(names: Iterable[object], most: int = MOST_NAMED) -> str:
    """Return names as text for messages, with commas between them: the first `most`, and the number of the others. The
    names must come in an order that is the same in every run: a set must be sorted first."""
    texts = [str(name) for name in names]
    if len(texts) <= most + 1:  # "and 1 more" would be no shorter
        return ", ".join(texts)
    return f"{', '.join(texts[:most])} and {len(texts) - most:,} more"


def nearest(word: str, known: Iterable[str], least: float = 0.6) -> str:
    """Return the known name that a mistyped word most likely means, or "" if no name is similar: `least` is the least
    similarity, between 0 and 1, as difflib measures it.

    First come names that differ only in case, hyphens and underscores; then names that begin with the word, or have it
    as a part between hyphens; then the most similar name.
    """

    def plain(name: str) -> str:
        return name.casefold().replace("_", "-").strip("-")

    names, typed = list(known), plain(word)
    plains = [(plain(name), name) for name in names]
    same = [name for simple, name in plains if simple == typed]
    # One or two letters begin too many names.
    begun = [name for simple, name in plains if len(typed) > 2 and simple.startswith(typed)]
    parts = [name for simple, name in plains if typed and typed in simple.split("-")]
    if found := same or [*begun, *parts]:
        return min(found, key=len)
    close = get_close_matches(typed, [simple for simple, _ in plains], n=1, cutoff=least)
    return next((name for simple, name in plains if [simple] == close), "")


def did_you_mean(word: str, known: Iterable[str], shown: Callable[[str], str] = str) -> str:
    """Return the question "did you mean NAME?" for the nearest known name, or "" if none is near."""
    found = nearest(word, known)
    return f"did you mean {shown(found)}?" if found else ""


def _window(line: str, column: int) -> tuple[str, int]:
    """Return the part of a line around a column (from 1) that an error shows, and the column in that part."""
    start = max(0, min(column - 1 - _SHOWN // 2, len(line) - _SHOWN))
    before = "..." if start else ""
    after = "..." if start + _SHOWN < len(line) else ""
    return before + line[start : start + _SHOWN] + after, column - start + len(before)


def _printed(text: str) -> str:
    """Return a part of a line as an error shows it. A tab becomes one space, which is the width that the caret line
    counts."""
    return visible(text.replace("\t", " "))


def _width(text: str) -> int:
    """Return the number of terminal cells of a text: none for combining marks, two for wide characters."""
    cells = [char for char in text if not unicodedata.combining(char)]
    # Also zero-width characters that are no combining marks, such as joiners.
    cells = [char for char in cells if unicodedata.category(char) not in ("Mn", "Me", "Cf")]
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in cells)
