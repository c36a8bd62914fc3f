"""The difference of two versions of a file, in the format of `diff -u`."""

from __future__ import annotations

from difflib import unified_diff

from hardsim.report.screen import Screen

STYLES = {"---": "bold", "+++": "bold", "@@": "cyan", "-": "red", "+": "green"}
"""Style of a line by its first characters; the first entry that fits counts."""
UNENDED = "\\ No newline at end of file"


def difference(before: bytes, after: bytes, name: str) -> list[str]:
    r"""Return the lines of a unified diff from a file to its new version, without line breaks; none if they are equal.

    Line ends of Windows are left out where both have no others, and shown as `\r` where they are what differs.
    """
    if all(text.count(b"\r\n") == text.count(b"\n") for text in (before, after)):
        before, after = (text.replace(b"\r\n", b"\n") for text in (before, after))
    old, new = _lines(before), _lines(after)
    found = unified_diff(old, new, name, f"{name} (canonical)", lineterm="")
    return [part for line in found for part in line.split("\n")]


def _lines(text: bytes) -> list[str]:
    """Return the lines of a text; if the last line has no line break, a marker says so."""
    lines = text.decode("utf-8", "backslashreplace").replace("\ufeff", "\\ufeff").split("\n")
    last = lines.pop()
    return [*lines, *([f"{last}\n{UNENDED}"] if last else [])]


def print_difference(screen: Screen, lines: list[str]) -> None:
    """Print a unified diff, in colours on a terminal, with unfolded lines."""
    for line in lines:
        style = next((style for start, style in STYLES.items() if line.startswith(start)), "")
        screen.line((line, style), folds=False)
