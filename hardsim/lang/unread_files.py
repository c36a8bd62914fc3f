"""Recognise files of other tools that hardsim cannot read.

A reader that fails calls this module before it reports its own error, because "missing alphabet" does not help a user
who brought an automaton. Files that hardsim can read never get here. The content decides first. The file's name decides
only if the content shows nothing, and if no `alphabet:` or `props:` line shows that the text was written for hardsim.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from hardsim.errors import InputError
from hardsim.files import read_head
from hardsim.lang.unread_formats import FORMATS, LINES_OF_JSON, OtherToolFormat

ENOUGH = 2**20
"""Number of bytes to inspect, from the start of a file."""
DECLARES = re.compile(r"^[^\S\n]*(?:alphabet|props)[^\S\n]*:", re.MULTILINE)
"""A header line that shows that a text was written for hardsim."""

_OWN_SUFFIXES = (".ltl", ".srasp", ".cr", ".re", ".spec")
_OWN_JSON = frozenset({"hardsim-model", "hardsim-ahat", "hardsim-network", "hardsim-certificate"})
_COMMENTS = re.compile(
    r"(?:\s+|//[^\n]*|#(?![!#]|\s*(?:define|include|states|initial|alphabet)\b)[^\n]*|--(?!-)[^\n]*|%[^\n]*|;[^\n]*"
    r"|/\*.*?\*/|\(\*.*?\*\))*",
    re.DOTALL,
)
_PROLOG = re.compile(r"(?:\s++|<\?.*?\?>|<!--.*?-->|<!\w[^>]*>)*+<(?!!)", re.DOTALL)
_KEY = re.compile(r'[\s,{]*("(?:[^"\\]|\\.)*")\s*:\s*')
_OF_AUTOMATON = "input_symbols|alphabet|symbols|(initial|start)(_state)?|(accepting|final|accept)(_states)?"
_NESTED = 2
"""Number of JSON levels below the first to inspect."""
_MEMBERS = 100
"""Number of members to inspect in each JSON object and array, and of lines in other texts: the first ones."""


def is_automaton_table(value: Any) -> bool:
    """Return True if a JSON value has the keys of an automaton that hardsim reads: states, transitions, and a start
    state, final states or symbols."""
    if not isinstance(value, dict) or not {"states", "transitions"} <= value.keys():
        return False
    return any(_pattern(_OF_AUTOMATON).fullmatch(str(key)) for key in value)


def mentions_table(data: bytes) -> bool:
    """Return True if a text, which may be broken JSON, mentions the keys of an automaton that hardsim reads, and no
    format."""
    keys = dict.fromkeys(re.findall(r'"(\w+)"\s*:', data.decode("utf-8", "replace")))
    return is_automaton_table(keys) and "format" not in keys


@contextmanager
def naming(name: str, place: str, data: bytes | None = None) -> Iterator[None]:
    """Replace an InputError of the block by one that names the file's format, if the file is in another tool's
    format and the error does not say that its format is known.

    Args:
        name: the file's name in errors.
        place: the file's path.
        data: the file's content, if it was read.

    Raises InputError: that of the block, or the one that names the format."""
    try:
        yield
    except InputError as error:
        if error.known_format:
            raise
        found = unread_format_error(name, place, read_head(place, ENOUGH) if data is None else data[:ENOUGH])
        if found is None:
            raise
        raise found from error


def unread_format_error(name: str, place: str, data: bytes, sure: bool = False) -> InputError | None:
    """Return the error for a file in another tool's format; None if no such format is recognised. With `sure`, only
    features count that no file in hardsim's own languages has."""
    found = _by_content(place, data, sure)
    if found is not None:
        return InputError(f"{name}: this is {found.title}", found.advice)
    text = _text(data)
    prefix = None if place.lower().endswith(_OWN_SUFFIXES[1:]) or text is None else prefix_error(name, place, data)
    if prefix is not None:
        return prefix
    if sure or not (data.strip() if text is None else text.strip()) or DECLARES.search(text or ""):
        return None
    # the first suffix, in the order of FORMATS, that the path ends with
    ends = ((suffix, one) for one in FORMATS for suffix in one.suffixes if place.lower().endswith(suffix))
    suffix, found = next(ends, ("", None))
    return None if found is None else InputError(f"{name}: by its name (*{suffix}) this is {found.title}", found.advice)


def prefix_error(name: str, place: str, data: bytes) -> InputError | None:
    """Return the error for LTL in prefix notation (LBT), line by line or as a whole; None for any other text.

    hardsim also reads a line such as `G t` alone, with `t` as a proposition and not as the constant true. So callers
    use this function for files whose other lines, or whose suffix (.lbt), show the format, before they read a line of
    them.
    """
    text = _text(data)
    infix = None if text is None else _infix(text, constants=place.lower().endswith(".lbt"))
    if infix is None:
        return None
    shown = f"hardsim writes {infix}" if len(infix) <= _LONGEST else "hardsim writes operators between operands"
    return InputError(
        f"{name}: this is LTL in prefix notation, as LBT and ltl2dstar have it",
        f"{shown}. Spot converts such files: ltlfilt --lbt-input. See docs/languages.md.",
    )


def _by_content(place: str, data: bytes, sure: bool) -> OtherToolFormat | None:
    """Return the first format that the content of a file shows, or None."""
    found = _first(one for one in FORMATS if one.magic and re.match(one.magic, data, re.DOTALL))
    text = None if found is not None else _text(data)
    if text is None:
        return found
    if prolog := _PROLOG.match(text):
        found = _first(one for one in FORMATS if one.root and _pattern(one.root).match(text, prolog.end()))
    elif text.lstrip()[:1] in ("{", "["):
        found = _json(text)
    at = _COMMENTS.match(text)
    start = 0 if at is None else at.end()
    # weak patterns count only if nothing shows that the file is for hardsim
    unsure = not (sure or place.lower().endswith(_OWN_SUFFIXES) or DECLARES.search(text))
    return found or _first(one for one in FORMATS if _fits(one, text, start, unsure))


def _first(found: Iterable[OtherToolFormat]) -> OtherToolFormat | None:
    return next(iter(found), None)


def _fits(form: OtherToolFormat, text: str, start: int, unsure: bool) -> bool:
    """Return True if a text is in a format. With `unsure`, patterns count that hardsim's own files may match too."""
    if form.begins and _pattern(form.begins).match(text, start):
        return True
    if not unsure:
        return False
    if form.looks and _pattern(form.looks).search(text):
        return True
    lines = [line.strip() for line in text.splitlines()[:_MEMBERS] if line.strip()] if form.lines else []
    kinds = [[_pattern(kind).fullmatch(line) is not None for kind in form.lines] for line in lines]
    return bool(kinds) and all(map(any, kinds)) and any(kind[0] for kind in kinds)


@cache
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.MULTILINE)


def _text(data: bytes) -> str | None:
    r"""Decode the bytes to text, with `\n` as line end; None if they contain a zero byte and do not begin with the
    mark of UTF-16."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        text = data.decode("utf-16", "replace")
    elif b"\0" in data:
        return None
    else:
        text = data.decode("utf-8-sig", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


# ---- JSON ----


def _json(text: str) -> OtherToolFormat | None:
    """Return the format of a JSON text, whose end may be missing; None for JSON that hardsim reads, and for unknown
    JSON."""
    try:
        value, end = json.JSONDecoder().raw_decode(text, len(text) - len(text.lstrip()))
    except (ValueError, RecursionError):
        # only the head of a large file is read, so its JSON may be cut off
        value, end = dict(_members(text)), len(text)
    if isinstance(value, dict) and isinstance(value.get("format"), str) and value["format"] in _OWN_JSON:
        return None
    if text[end:].lstrip()[:1] in ("{", "["):
        return LINES_OF_JSON
    level = [value]
    for _ in range(_NESTED + 1):
        for one in level:
            keys = [re.sub(r"[\s_-]", "", key).lower() for key in one] if isinstance(one, dict) else []
            for form in FORMATS:
                if form.keys and all(any(map(_pattern(kind).fullmatch, keys)) for kind in form.keys):
                    return form
        level = [inner for one in level for inner in _inside(one)]
    return None


def _inside(value: Any) -> list[Any]:
    """Return the first _MEMBERS values directly inside a JSON object or array; none inside other values."""
    found = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return list(found)[:_MEMBERS]


def _members(text: str) -> Iterator[tuple[str, Any]]:
    """Yield the members (key, value) of a JSON object whose end may be missing; the value of the last member is None
    if its text is cut off."""
    decoder, at = json.JSONDecoder(), 0
    while found := _KEY.match(text, at):
        key: str | None = None
        try:
            key = json.loads(found[1])
            value, at = decoder.raw_decode(text, found.end())
        except (ValueError, RecursionError):
            if key is not None:
                yield key, None
            return
        yield str(key), value


# ---- prefix notation ----

_BINARY = {"&": "&", "|": "|", "^": "^", "i": "->", "e": "<->", "U": "U", "R": "R", "V": "R", "W": "W", "M": "M"}
_UNARY = frozenset("!XFG")
_CONSTANTS = {"t": "true", "f": "false"}
_TOKEN = re.compile(r'"[^"\n]*"|[^\W\d]\w*|\S')
_ATOM = re.compile(r'"[^"\n]*"|[^\W\d]\w*')
_BESIDE = re.compile(r"^[^\W\d][\w-]*[^\S\n]*:[^\n]*$|//[^\n]*", re.MULTILINE)
"""A header line or a comment."""
_LONGEST = 100


def _infix(text: str, constants: bool) -> str | None:
    """Return the first formula of a text in infix notation, if the whole text, or each line, is LTL in prefix notation;
    else None.

    At least one formula must have an operator with two operands, or with `constants` one of `t` and `f`: without these,
    prefix notation is hardsim's own notation.
    """
    lines = [line for line in _BESIDE.sub("", text).splitlines() if line.strip()][:_MEMBERS]
    for parts in (lines, [" ".join(lines)]):
        # A tail of the tokens read backwards is a stack of complete operands.
        tokens = [_TOKEN.findall(line) for line in parts]
        found = [_converted(one) for one in tokens]
        signs = {*_BINARY, *(_CONSTANTS if constants else ())}
        if found and None not in found and any(token in signs for one in tokens for token in one):
            return found[0]
    return None


def _converted(tokens: Sequence[str]) -> str | None:
    """Convert the tokens of a formula from prefix to infix notation, with parts of more than 200 characters replaced
    by `...`; None if they are not exactly one formula."""
    stack: list[str] = []
    for token in reversed(tokens):
        operands = 2 if token in _BINARY else 1 if token in _UNARY else 0
        if len(stack) < operands or not (operands or _ATOM.fullmatch(token)):
            return None
        parts = [stack.pop() for _ in range(operands)]
        if operands == 2:
            made = f"({parts[0]} {_BINARY[token]} {parts[1]})"
        else:
            made = f"{token} {parts[0]}" if operands else _CONSTANTS.get(token, token)
        # without the cut, nested text could grow quadratically
        stack.append(made if len(made) <= 2 * _LONGEST else "...")
    if len(stack) != 1:
        return None
    return stack[0].removeprefix("(").removesuffix(")") if tokens[0] in _BINARY else stack[0]
