"""Parse JSON, so that each mistake in it is an error with its place, what was expected there, and what to do next.

The grammar is that of RFC 8259 (https://www.rfc-editor.org/rfc/rfc8259); `json` of the standard library finds the
mistakes, and its messages differ from version to version of Python.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

from hardsim.errors import Source, SourceError, Span

MESSAGE = "this is not JSON"
"""The message for a mistake in the grammar."""
_VALUE = 'a value: text in double quotes, a number, true, false, null, "[" or "{"'
_EXPECTED = {
    "Expecting property name": "a key in double quotes",
    "Expecting ':'": "a colon after the key",
    "Expecting ','": "a comma, or the end of the array or the object",
    "Extra data": "nothing after the first value",
    "Unterminated string": "a double quote at the end of this text",
    "Invalid control character": r"no control character inside a text: write \n, \t, or \u with four digits",
    "Invalid \\": r"""one of \" \\ \/ \b \f \n \r \t, or \u with four hexadecimal digits""",
}
"""The text of what is expected, by the beginning of the message of `json`; otherwise it is a value."""
_TRAILING_COMMA = "Illegal trailing comma"
_PARTS = re.compile(r'"(?:[^"\\]|\\.)*+"|[][{}]|-?\d+[\d.eE+-]*', re.DOTALL)
"""The texts, brackets and numbers of JSON."""
_BLANK = " \t\n\r"
"""The white space of JSON; that of Python has more characters, which are mistakes in JSON."""
_LEVELS = 300
"""The number of levels of brackets after which the caret stands if there are too many. How many Python reads depends on
its version and on the functions that are running, but it is always more."""


def parse_json(source: Source, place: Span, hint: str, **hooks: Any) -> Any:
    """Return the value of the JSON at a place of a source. `hooks` are arguments of `json.loads`. Raises SourceError
    with `hint` if it is not JSON, is nested too deeply, or has an integer with too many digits."""
    text = source.text[place.start : place.end]
    try:
        return json.loads(text, **hooks)
    except json.JSONDecodeError as error:
        raise _mistake(source, place, error, hint) from None
    except RecursionError:
        at = Span(place.start + _deep(text), place.end)
        message, expected = "the brackets of this JSON are nested too deeply", "fewer levels of brackets"
    except ValueError:  # Python limits the time that reading an integer takes
        most = sys.get_int_max_str_digits()
        start, end = next((one.span() for one in _PARTS.finditer(text) if _digits(one[0]) > most), (0, 1))
        at, message = Span(place.start + start, place.start + end), "an integer of this JSON is too long"
        expected = f"an integer of at most {most:,} digits"
    raise SourceError(source, Span(at.start, at.start + 1), message, expected, hint) from None


def _mistake(source: Source, place: Span, error: json.JSONDecodeError, hint: str) -> SourceError:
    at, text = error.pos, error.doc
    expected = next((what for begins, what in _EXPECTED.items() if error.msg.startswith(begins)), _VALUE)
    # Python 3.13 and later point to the comma, and earlier versions to the bracket after it.
    if error.msg.startswith(_TRAILING_COMMA):
        at += 1 + len(text[at + 1 :]) - len(text[at + 1 :].lstrip(_BLANK))
        expected = _VALUE if text[at] == "]" else _EXPECTED["Expecting property name"]
    if ended := not text[at:].strip(_BLANK):
        at = len(text.rstrip(_BLANK))  # not on the empty line that ends a file
    message = f"{MESSAGE}: it ends too early" if ended else MESSAGE
    return SourceError(source, Span(place.start + at, place.start + at + 1), message, expected, hint)


def _digits(part: str) -> int:
    """Return the number of digits of an integer; 0 for any other part."""
    return len(part.lstrip("-")) if part.lstrip("-").isdigit() else 0


def _deep(text: str) -> int:
    """Return the place of the first bracket with more than _LEVELS levels around it; 0 if there is none."""
    level = 0
    for part in _PARTS.finditer(text):
        level += (part[0] in "[{") - (part[0] in "]}")
        if level > _LEVELS:
            return part.start()
    return 0
