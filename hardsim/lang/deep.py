"""Functions that walk trees of any depth, which recursion cannot: how deep it may be depends on Python and on what
runs above it.

Such a function is a generator. Where a recursive one would call itself it yields the call, as in
`left = yield self.column(node.left)`, and is given the result; it may also return a call, whose result is then its
own. `walked` keeps the calls that wait in a list. (`yield from` would nest them.)
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")
Walk: TypeAlias = "Generator[Any, Any, T | Walk[T]]"
"""A call that has not begun, with its result."""


def walked(walk: Walk[T]) -> T:
    """The result of a walk and of all that it asks for. None of them can catch an exception of another."""
    waiting: list[Walk[Any]] = [walk]
    result: Any = None
    while waiting:
        try:
            waiting.append(waiting[-1].send(result))
            result = None
        except StopIteration as end:
            waiting.pop()
            result = end.value
            if isinstance(result, Generator):
                waiting.append(result)
                result = None
    found: T = result
    return found


def each(walks: Iterable[Walk[T]]) -> Walk[list[T]]:
    """The results of some walks, in order."""
    found: list[T] = []
    for walk in walks:
        found += ((yield walk),)
    return found
