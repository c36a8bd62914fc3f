"""Helpers for errors: the exception of a call, and the text that an error marks with carets."""

from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from tests.support.language import SourceError

E = TypeVar("E", bound=BaseException)
T = TypeVar("T")


def raised(kind: type[E], call: Callable[..., object], *arguments: Any, match: str | None = None, **named: Any) -> E:
    """Return the exception of this kind that a call raises; fail if it raises none."""
    with pytest.raises(kind, match=match) as caught:
        call(*arguments, **named)
    return caught.value


def read_or_refused(read: Callable[[], T]) -> T | SourceError:
    """Return the result of a call, or the SourceError that it raises; any other exception is a defect and passes
    through.
    """
    try:
        return read()
    except SourceError as error:
        return error


def marked(error: SourceError) -> str:
    """Return the text above the carets (a space past the end of the line)."""
    shown, carets = str(error).split("\n")[1:3]
    start = carets.index("^")
    assert set(carets[start:]) == {"^"}
    assert not carets[:start].strip()
    return shown.ljust(len(carets))[start : len(carets)]
