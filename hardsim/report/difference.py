"""The difference of two versions of a file, as `diff -u` writes it."""

from __future__ import annotations

from difflib import unified_diff

from hardsim.report.screen import Screen

STYLES = {"---": "bold", "+++": "bold", "@@": "cyan", "-": "red", "+": "green"}
"""By how a line begins; the first that fits."""
UNENDED = "\\ No newline at end of file"


def difference(before: bytes, after: bytes, name: str) -> list[str]:
    """The lines of a unified diff from a file to its other version, without line breaks; none if they are the same.

    Line ends of Windows are left out where both have no others, and shown as `\\r` where they are what differs.
    """
    if all(text.count(b"\r\n") == text.count(b"\n") for text in (before, after)):
        before, after = (text.replace(b"\r\n", b"\n") for text in (before, after))
    old, new = _lines(before), _lines(after)
    found = unified_diff(old, new, name, f"{name} (canonical)", lineterm="")
    return [part for line in found for part in line.split("\n")]


def _lines(text: bytes) -> list[str]:
    """The lines of a text; the last one says it if no line break ends it."""
    lines = text.decode("utf-8", "backslashreplace").replace("\ufeff", "\\ufeff").split("\n")
    last = lines.pop()
    return [*lines, *([f"{last}\n{UNENDED}"] if last else [])]


def print_difference(screen: Screen, lines: list[str]) -> None:
    """A unified diff, in colours on a terminal, each line whole."""
    for line in lines:
        style = next((style for start, style in STYLES.items() if line.startswith(start)), "")
        screen.line((line, style), folds=False)
