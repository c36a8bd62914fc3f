"""What a terminal would obey instead of printing it, made visible: the one routine for text that comes from a file.

Symbols, names, formulas, labels and file names are whatever somebody wrote into a file. Printed as they are, they could
move the cursor, colour, reorder or hide what stands around them, or begin a line of their own that reads like a
verdict. Whatever prints text that may come from outside calls `visible` on each line (`report.screen` and
`cli.streams` do so for all that the commands print; the errors for what they quote).
"""

from __future__ import annotations

import re

_OBEYED = (
    "\x00-\x1f\x7f-\x9f"  # C0 and C1 controls and DELETE; white space other than a space is among them
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"  # marks, overrides and isolates of bidirectional text (UAX 9)
    "\u2028\u2029"  # line and paragraph separators
    "\ud800-\udfff"  # lone surrogates: bytes of a file name that are not UTF-8
)
OBEYED = re.compile(f"[{_OBEYED}]")
"""A character that is never printed as it is."""


def visible(text: str) -> str:
    r"""The text on one line that says nothing to a terminal but its characters: `\n`, `\x1b`, `\u202e` stand for those.

    Text of ordinary characters stays as it is, so that it can be copied.
    """
    return OBEYED.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


def visible_lines(text: str) -> str:
    """The same for a text of several lines, whose line breaks are meant."""
    return "\n".join(map(visible, text.split("\n")))


def visible_json(document: str) -> str:
    r"""A JSON document in which strings escape those characters as JSON does (`\u001b`): the same data."""
    return OBEYED.sub(lambda match: match[0] if match[0] == "\n" else f"\\u{ord(match[0]):04x}", document)
