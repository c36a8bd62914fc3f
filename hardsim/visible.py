"""Make characters visible that a terminal would obey, or print as nothing: the one routine for text from files.

Symbols, names, formulas, labels and file names may contain anything. Printed unchanged, they could move the cursor,
colour, reorder or hide the text around them, or begin a line of their own that reads like a verdict. Code that prints
text from outside calls `visible` on each line (`report.screen` and `cli.streams` for all output of the commands, the
errors for the text that they quote).
"""

from __future__ import annotations

import re

_OBEYED = (
    "\x00-\x1f\x7f-\x9f"  # C0 and C1 controls and DELETE; white space other than a space is among them
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"  # marks, overrides and isolates of bidirectional text (UAX 9)
    "\u2028\u2029"  # line and paragraph separators
    "\u00ad\u180e\u200b\u2060-\u2064\ufeff"  # print nothing; joiners stay, since scripts and emoji need them
    "\ud800-\udfff"  # lone surrogates: bytes of a file name that are not UTF-8
)
OBEYED = re.compile(f"[{_OBEYED}]")
"""Pattern of the characters that are never printed unchanged."""


def visible(text: str) -> str:
    r"""Return a text as one line of harmless characters; `\n`, `\x1b` or `\u202e` stand for the characters that are
    not.

    Text of ordinary characters stays unchanged, so that it can be copied.
    """
    return OBEYED.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


def visible_lines(text: str) -> str:
    """Return a text of several lines with every line made visible; the line breaks stay."""
    return "\n".join(map(visible, text.split("\n")))


def visible_json(document: str) -> str:
    r"""Return a JSON document with the same data, in which JSON escapes such as `\u001b` stand for those characters."""
    return OBEYED.sub(lambda match: match[0] if match[0] == "\n" else f"\\u{ord(match[0]):04x}", document)
