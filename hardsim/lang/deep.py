"""Recursive functions on trees of any depth, without Python's recursion limit (which depends on the interpreter and on
the callers).

Such a function is a generator. Where a recursive function would call itself, the generator yields the call, as in `left
= yield self.column(node.left)`, and receives the result. It may also return a call; the result of that call is then its
own result. `walked` runs the generators with a list as its stack. (`yield from` would nest Python frames.)
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")
Walk: TypeAlias = "Generator[Any, Any, T | Walk[T]]"
"""A call in progress or not yet begun, as a generator whose return value is a result of type T (or another call)."""


def walked(walk: Walk[T]) -> T:
    """Run a call and all calls that it yields, and return its result. A call cannot catch an exception raised in
    another one."""
    waiting: list[Walk[Any]] = [walk]
    result: Any = None
    while waiting:
        try:
            waiting.append(waiting[-1].send(result))
            result = None
        except StopIteration as end:
            waiting.pop()
            result = end.value
            # a returned call takes the place of its caller, so chains of them need no stack
            if isinstance(result, Generator):
                waiting.append(result)
                result = None
    found: T = result
    return found


def each(walks: Iterable[Walk[T]]) -> Walk[list[T]]:
    """Run some calls in order and return the list of their results (a call itself, for use with `yield`)."""
    found: list[T] = []
    for walk in walks:
        found += ((yield walk),)
    return found
