"""Short words over a and b."""

from collections.abc import Iterator
from itertools import product
from typing import TypeAlias

Word: TypeAlias = tuple[str, ...]


def words_up_to(longest: int) -> Iterator[Word]:
    """Yield all words of length 1 to `longest`."""
    for n in range(1, longest + 1):
        yield from product("ab", repeat=n)
