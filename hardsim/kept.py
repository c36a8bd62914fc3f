"""Results that are kept with the object they were computed from: they live as long as it does, and no cache has to hash
it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
MOST = 4
"""Largest number of results of one function that an object keeps."""


class Keeping:
    """Base of frozen classes whose objects keep results. A changed copy begins without them, comparison ignores them,
    and they are not sent to other processes.
    """

    @cached_property
    def kept(self) -> dict[Any, dict[Any, Any]]:
        """The results kept with this object, by function and by its other arguments."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "kept"}


K = TypeVar("K", bound=Keeping)


def kept(make: Callable[Concatenate[K, P], T]) -> Callable[Concatenate[K, P], T]:
    """Change a function so that its first argument keeps the MOST latest results; the others are their keys."""

    @wraps(make)
    def found(owner: K, /, *rest: P.args, **named: P.kwargs) -> T:
        key, results = (rest, *named.items()), owner.kept.setdefault(make, {})
        # The order of a dictionary is that of insertion: the result used last goes to its end.
        value: T = results.pop(key) if key in results else make(owner, *rest, **named)
        results[key] = value
        if len(results) > MOST:
            del results[next(iter(results))]
        return value

    return found
