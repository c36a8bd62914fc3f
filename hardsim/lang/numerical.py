"""The built-in numerical predicates, as the oracle decides them: of a position or of the value of a term."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from math import isqrt
from typing import Final, TypeAlias

from hardsim.errors import OutOfRange

NumericalPredicate: TypeAlias = Callable[[int, int], bool]
"""A predicate of an integer (a position, or the value of a term: any integer) and the length n of the word."""

_BASES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)
_LIMIT = 3_317_044_064_679_887_385_961_981
"""Below it the Miller-Rabin test with the first 13 primes as bases is exact (Sorenson and Webster 2015)."""


@lru_cache(maxsize=65536)
def is_prime(value: int) -> bool:
    """Whether an integer is prime (2, 3, 5, ...); 0, 1 and negative numbers are not.

    Raises:
        OutOfRange: from 3317044064679887385961981 (about 3e24) on, where no exact answer is at hand.
    """
    if value >= _LIMIT:
        raise OutOfRange(f"PRIME of {value} is not decided", f"It is decided below {_LIMIT}; use smaller factors.")
    if value < 10_000:
        return value >= 2 and all(value % divisor for divisor in range(2, isqrt(value) + 1))
    return all(value % base for base in _BASES) and all(_passes(value, base) for base in _BASES)


def _passes(value: int, base: int) -> bool:
    """The Miller-Rabin test of an odd value to one base."""
    twos = ((value - 1) & -(value - 1)).bit_length() - 1
    power = pow(base, (value - 1) >> twos, value)
    if power in (1, value - 1):
        return True
    for _ in range(twos - 1):
        power = power * power % value
        if power == value - 1:
            return True
    return False


def _is_even(value: int, n: int) -> bool:
    return value % 2 == 0


def _is_odd(value: int, n: int) -> bool:
    return value % 2 == 1


def _is_prime(value: int, n: int) -> bool:
    return is_prime(value)


def _is_square(value: int, n: int) -> bool:
    """0, 1, 4, 9, ..."""
    return value >= 0 and isqrt(value) ** 2 == value


def _is_power_of_two(value: int, n: int) -> bool:
    """1, 2, 4, 8, ..."""
    return value >= 1 and value & (value - 1) == 0


BUILT_IN: Final[Mapping[str, NumericalPredicate]] = {
    "EVEN": _is_even,
    "ODD": _is_odd,
    "PRIME": _is_prime,
    "SQUARE": _is_square,
    "POW2": _is_power_of_two,
}
"""The predicates without parameters; `MOD(m, r)` is the congruence of the value to r modulo m."""
