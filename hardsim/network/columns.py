"""Position encodings that are numerical predicates: columns of zeros and ones.

The predicates are decided here by other means than in the oracle (a sieve, squares and powers listed), so that one
checks the other; a user's own predicate has one definition, in the formula file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

from hardsim.errors import OutOfRange

LARGEST_PRIME = 10**12
"""Of what PRIME is asked in an encoding."""

UserPredicate = Callable[[int, int], bool]


class PositionFunction(Protocol):
    """A coordinate of a position encoding: a function of i and n with a canonical text."""

    @property
    def variables(self) -> frozenset[str]:
        """Which of i and n it depends on."""

    def evaluate(self, **values: int) -> Fraction:
        """The value at position i of a word of length n."""


@dataclass(frozen=True)
class PredicateColumn:
    """1 where the predicate holds of `of_i * i + of_n * n + offset`, else 0.

    `user` is the meaning of a predicate that is not built in, `definition` its text.
    """

    name: str
    params: tuple[int, ...]
    of_i: int
    of_n: int
    offset: int
    definition: str = ""
    user: UserPredicate | None = field(default=None, compare=False, repr=False)

    @property
    def variables(self) -> frozenset[str]:
        """A user's predicate may depend on n whatever it is about."""
        own = {"n"} if self.user is not None else set()
        return frozenset(own | ({"i"} if self.of_i else set()) | ({"n"} if self.of_n else set()))

    def evaluate(self, **values: int) -> Fraction:
        """0 or 1 at position i of a word of length n (both must be given where they occur)."""
        n = int(values.get("n", 0))
        value = self.of_i * int(values.get("i", 0)) + self.of_n * n + self.offset
        if self.user is not None:
            return Fraction(int(bool(self.user(value, n))))
        return Fraction(int(BUILT_IN[self.name](value, self.params)))

    def __str__(self) -> str:
        numbers = "".join(f"{param}, " for param in self.params)
        terms = [(self.of_i, "i"), (self.of_n, "n"), (self.offset, "")]
        text = " ".join(_term(value, name) for value, name in terms if value) or "0"
        return f"{self.name}({numbers}{text.removeprefix('+ ').replace('- ', '-', int(text.startswith('-')))})"


def _term(value: int, name: str) -> str:
    size = name if name and abs(value) == 1 else f"{abs(value)}*{name}" if name else str(abs(value))
    return f"{'-' if value < 0 else '+'} {size}"


def _is_prime(value: int, params: tuple[int, ...]) -> bool:
    """By trial division with odd numbers: encodings are asked for small multiples of positions."""
    if value > LARGEST_PRIME:
        raise OutOfRange(f"PRIME of {value} is not compiled", f"It is up to {LARGEST_PRIME}; use smaller factors.")
    if value < 4:
        return value in (2, 3)
    divisor = 3
    while divisor * divisor <= value:
        if value % divisor == 0:
            return False
        divisor += 2
    return value % 2 == 1


def _is_square(value: int, params: tuple[int, ...]) -> bool:
    """0, 1, 1 + 3, 1 + 3 + 5, ...: a bit more than a float's square root, squared, after a step of Newton's where that
    has fewer digits than the root."""
    near = round(max(value, 0) ** 0.5)
    near = (near + value // near) // 2 if near else near
    return value in ((near - 1) ** 2, near**2, (near + 1) ** 2)


BUILT_IN: Mapping[str, Callable[[int, tuple[int, ...]], bool]] = {
    "MOD": lambda value, params: (value - params[1]) % params[0] == 0,
    "PRIME": lru_cache(maxsize=65536)(_is_prime),
    "SQUARE": _is_square,
    "POW2": lambda value, params: value > 0 and bin(value).count("1") == 1,
}

TEXT = re.compile(r"(\w+)\(((?:\d{1,30}, )*)([^,()]+)\)")
TERM = re.compile(r"([+-]) (?:(\d{1,30})\*)?(i|n)|([+-]) (\d{1,30})")


def _linear(text: str) -> tuple[int, int, int] | None:
    """The coefficients of i and n and the constant of a text such as `2*i - n + 1`; each occurs at most once."""
    spaced = f"- {text[1:]}" if text.startswith("-") else f"+ {text}"
    found = {"i": 0, "n": 0, "": 0}
    place = 0
    for match in TERM.finditer(spaced):
        sign, factor, name, lone_sign, number = match.groups()
        if match.start() != place or found[name or ""]:
            return None
        found[name or ""] = int(f"{sign or lone_sign}{(factor or 1) if name else number}")
        place = match.end() + 1
    return (found["i"], found["n"], found[""]) if place == len(spaced) + 1 else None


def parse_column(text: str, users: Mapping[str, tuple[str, UserPredicate]]) -> PredicateColumn | None:
    """The column that `str` of it describes, or None; `users` has definition and meaning of the user's predicates."""
    found = TEXT.fullmatch(text)
    if found is None or (found[1] not in BUILT_IN and found[1] not in users):
        return None
    params = tuple(int(param) for param in found[2].split(", ") if param)
    if len(params) != (2 if found[1] == "MOD" else 0) or (params and not 0 <= params[1] < params[0]):
        return None
    linear = _linear(found[3])
    if linear is None:
        return None
    definition, user = users.get(found[1], ("", None))
    return PredicateColumn(found[1], params, *linear, definition, user)
