"""Damage to JSON documents, as an editor, another program or an attacker may cause it."""

import copy
import json
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

Path = tuple[str | int, ...]

STRINGS = (
    "", " ", "1", "0", "-1", "1/0", "1/3", "1e400", "NaN", "i", "n", "1/n", "1/n^400", "1/(n-1)", "0/n", "[a]", "i/n",
    "softmax", "rightmost", "average", "first", "last", "past", "none", "sign", "lookup", "a", "\x1b[2J", "\ud800", "∞",
    "true", "a S b", "x" * 5000, "9" * 400, "1/" + "9" * 400, "-" + "9" * 1999, "(" * 3000, "2^(2^40)", "n^n^n",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 10**30, 0.5, 1e300, [], {}, [[]], [None], ["1"], {"1": "1"}, {"a": 1},
)  # fmt: skip
DEEP = ("deep 100", "deep 1000", "deep 10000")
"""Placeholders for values that are nested as deeply as the number says; `text_of` writes them out."""
KEYS = ("", "1", "name", "reading", "scale", "bias", "hardmax", "gap", "\x1b]0;x\x07", "weighting", "threshold", "bos")


def places(document: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the paths of all values in a document, the document itself first."""
    yield path
    if isinstance(document, dict | list):
        for key, value in document.items() if isinstance(document, dict) else enumerate(document):
            yield from places(value, (*path, key))


def at(document: Any, path: Path) -> Any:
    """Return the value at a path."""
    for key in path:
        document = document[key]
    return document


def edited(document: Any, path: list[str | int], value: Any) -> Any:
    """Replace the value at a path in place, or remove it for `...`; return the document."""
    place, key = at(document, tuple(path[:-1])), path[-1]
    if value is ...:
        del place[key]
    else:
        place[key] = value
    return document


def replaced(document: Any, path: Path, value: Any) -> Any:
    """Return a copy of the document with another value at a path."""
    return edited(copy.deepcopy(document), [*path], value)


@st.composite
def damaged(draw: st.DrawFn, document: Any) -> Any:
    """Draw a document with one to three values deleted, repeated, retyped, renamed, exchanged or replaced; or with
    only numbers, names and choices changed, which a reader may well accept.
    """
    whole = copy.deepcopy(document)
    gentle = draw(st.booleans())
    for _ in range(draw(st.integers(1, 3))):
        found = [path for path in places(whole) if path and (not gentle or _plain(at(whole, path)))]
        if not found:
            break
        path = draw(st.sampled_from(found))
        parent, key = at(whole, path[:-1]), path[-1]
        if gentle:
            alike = [other for other in found if other[-1] == key and len(other) == len(path)]
            swapped = copy.deepcopy(at(whole, draw(st.sampled_from(alike))))
            parent[key] = draw(st.one_of(numbers(parent[key]), st.just(swapped)))
        else:
            _change(draw, whole, parent, key)
    return whole


def _plain(value: Any) -> bool:
    """Return True if a value is neither an object nor an array."""
    return not isinstance(value, dict | list)


def _change(draw: st.DrawFn, whole: Any, parent: Any, key: str | int) -> None:
    how = draw(st.sampled_from(("value", "text", "delete", "rename", "repeat", "exchange", "number", "deep")))
    value = parent[key]
    if how == "delete":
        del parent[key]
    elif how == "rename" and isinstance(parent, dict):
        parent[draw(st.sampled_from((*KEYS, *(other for other in parent if other != key))))] = parent.pop(key)
    elif how == "repeat" and isinstance(parent, list) and isinstance(key, int):
        parent.insert(key, copy.deepcopy(value))
    elif how == "exchange":
        other = draw(st.sampled_from(sorted(places(whole), key=len)))
        parent[key] = copy.deepcopy(at(whole, other))
    elif how == "number":
        parent[key] = draw(numbers(value))
    elif how == "deep":
        parent[key] = DEEP[draw(st.integers(0, len(DEEP) - 1))]
    elif how == "text":
        parent[key] = draw(st.sampled_from(STRINGS))
    else:
        parent[key] = copy.deepcopy(draw(st.sampled_from(VALUES)))


def numbers(value: Any) -> st.SearchStrategy[Any]:
    """Draw numbers of the kind that a value is: integers for integers, rationals in strings for strings."""
    whole = st.one_of(st.integers(-3, 3), st.integers(-(10**20), 10**20))
    if isinstance(value, int):
        return whole
    return st.builds(lambda above, below: f"{above}/{below}" if below != 1 else str(above), whole, st.integers(0, 40))


def text_of(document: Any) -> bytes:
    """Return a document as the bytes of a file: lone surrogates stay escapes, and placeholders of DEEP are nested."""
    text = json.dumps(document)
    for number, mark in enumerate(DEEP):
        depth = 10 ** (number + 2)
        text = text.replace(json.dumps(mark), "[" * depth + "]" * depth)
    return text.encode("ascii")
