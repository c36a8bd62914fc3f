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
from typing import Protocol, TypeAlias

from hardsim.errors import OutOfRange, Source, SourceError, Span
from hardsim.lang import ast
from hardsim.lang.arith import Arith, in_python, linear_form, read_tree
from hardsim.lang.reals import Real

LARGEST_PRIME = 10**12
"""Of what PRIME is asked in an encoding."""

UserPredicate = Callable[[int, int], bool]
Defined: TypeAlias = Mapping[str, ast.UserPredicate]
"""The predicates that a file defines, by name."""


class PositionFunction(Protocol):
    """A coordinate of a position encoding: a function of i and n with a canonical text."""

    @property
    def variables(self) -> frozenset[str]:
        """Which of i and n it depends on."""

    def evaluate(self, **values: int) -> Fraction:
        """The value at position i of a word of length n; SourceError where it is no rational."""


def real_value(function: PositionFunction, i: int, n: int) -> Fraction | Real:
    """The value at position i of a word of length n, rational or not."""
    return function.real(i=i, n=n) if isinstance(function, Arith) else function.evaluate(i=i, n=n)


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

CALL = re.compile(r"\s*(\w+)\s*\(((?:[^(),]*,)*)(.*)\)\s*", re.DOTALL)
"""A predicate, its parameters, and the term that it is about."""
CLASS = re.compile(r"\s*(\d{1,30})\s*,\s*(\d{1,30})\s*,", re.ASCII)
LARGEST_NUMBER = 10**30
"""In a term."""


def parse_column(text: str, users: Mapping[str, tuple[str, UserPredicate]], name: str) -> PredicateColumn | None:
    """The column that a text such as `MOD(3, 1, 2*i - n + 1)` describes, None if it is no predicate in brackets.

    `users` has definition and meaning of the user's predicates; errors cite the text as that of the file `name`.

    Raises:
        SourceError: for wrong parameters, and a term that is no sum of integer multiples of i and n, and integers.
    """
    found = CALL.fullmatch(text)
    if found is None or (found[1] not in BUILT_IN and found[1] not in users):
        return None
    source, own = Source(name, text), CLASS.fullmatch(found[2])
    params = tuple(map(int, own.groups())) if own and found[1] == "MOD" else ()
    if found[1] == "MOD" and not (params and params[1] < params[0]):
        raise SourceError(source, Span(*found.span(1)), "MOD has a modulus m and a remainder r < m", "MOD(m, r, i)")
    if found[1] != "MOD" and found[2]:
        raise SourceError(source, Span(*found.span(2)), f"{found[1]} has no parameters", f"a term, as in {found[1]}(i)")
    form = linear_form(read_tree(source, found.start(3), found[3], ("i", "n"), "number"), ("i", "n"))
    if form is None or max(map(abs, form)) >= LARGEST_NUMBER:
        message = "a predicate is asked of sums of multiples of i and n, with integers below 10^30"
        raise SourceError(source, Span(*found.span(3)), message, "a term such as 2*i - n + 1")
    definition, user = users.get(found[1], ("", None))
    of_i, of_n, offset = form
    return PredicateColumn(found[1], params, of_i, of_n, offset, definition, user)


def column_text(column: PredicateColumn, users: Defined) -> str:
    """A predicate of a term as a condition in i and n, as Python writes it."""
    simple = (column.of_i, column.of_n, column.offset) == (1, 0, 0)
    term = "i" if simple else f"({column.of_i}*i + {column.of_n}*n + {column.offset})"
    return predicate_text(column.name, column.params, term, users)


def predicate_text(name: str, params: tuple[int, ...], x: str, users: Defined) -> str:
    """A numerical predicate of `x` as such a condition, in n too."""
    if name == "MOD":
        return f"({x} - {params[1]}) % {params[0]} == 0"
    if name not in users:
        return f"{name}({x})"
    return in_python(users[name].text, dict(zip(users[name].params, (x, "n"), strict=True)))
