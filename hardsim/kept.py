"""Results that are kept with the object they were computed from: they live as long as it does, and no cache has to hash
it. And results that are kept while one input is the work of this process. Between two inputs, `forget` drops both.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast
from weakref import WeakValueDictionary

P = ParamSpec("P")
T = TypeVar("T")
MOST = 4
"""Largest number of results of one function that an object keeps."""
_owners = WeakValueDictionary[int, "Keeping"]()
"""The objects that keep results, by identity."""
_caches: list[Callable[[], None]] = []
"""Functions that empty the caches of `cached`."""


class Keeping:
    """Base of frozen classes whose objects keep results. A changed copy begins without them, comparison ignores them,
    and they are not sent to other processes.
    """

    @cached_property
    def kept(self) -> dict[Any, dict[Any, Any]]:
        """The results kept with this object, by function and by its other arguments."""
        _owners[id(self)] = self
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


def cached(size: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return `functools.lru_cache(size)` of a function whose results are of no use to the next input."""

    def keep(make: Callable[P, T]) -> Callable[P, T]:
        found: Any = lru_cache(size)(make)
        _caches.append(found.cache_clear)
        return cast("Callable[P, T]", found)

    return keep


def forget() -> None:
    """Drop all results that were kept. Those that are needed again are computed again."""
    for reference in _owners.valuerefs():  # a list, which stays as it is while other threads keep results
        if (owner := reference()) is not None:
            owner.kept.clear()
    for clear in _caches:
        clear()
