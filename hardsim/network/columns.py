"""Position encodings that are numerical predicates: columns of zeros and ones.

The oracle decides these predicates by other means (a sieve, lists of squares and powers), so each implementation
checks the other. A user's own predicate has only one definition, the one in the formula file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import Protocol, TypeAlias

from hardsim.errors import OutOfRange, Source, SourceError, Span
from hardsim.lang import ast
from hardsim.lang.arith import Arith, in_python, linear_form, read_tree
from hardsim.lang.reals import Real
from hardsim.lazy_dataclass import dataclass
from hardsim.network.numbers import Rational, plain

LARGEST_PRIME = 10**12
"""The greatest argument of PRIME that is tested in an encoding; a greater one raises OutOfRange."""

UserPredicate = Callable[[int, int], bool]
Defined: TypeAlias = Mapping[str, ast.UserPredicate]
"""The user's predicates that a formula file defines, by name."""


class PositionFunction(Protocol):
    """A function of the position i and the length n that gives one coordinate of a position encoding. `str` of the
    function is its canonical text."""

    @property
    def variables(self) -> frozenset[str]:
        """The variables among i and n that the function depends on."""

    def evaluate(self, **values: int) -> Fraction:
        """Return the value at position i of a word of length n. Raises SourceError if the value is not rational."""

    def __hash__(self) -> int: ...


def real_value(function: PositionFunction, i: int, n: int) -> Fraction | Real:
    """Return the value of the function at position i of a word of length n: a Fraction, or a Real if it is
    irrational."""
    return function.real(i=i, n=n) if isinstance(function, Arith) else function.evaluate(i=i, n=n)


def real_row(function: PositionFunction, positions: range, n: int) -> list[Rational | Real]:
    """Return the values of the function at several positions of a word of length n, integers as ints. Values that do
    not depend on n are kept for other lengths."""
    if "i" not in function.variables:
        return [_plain(real_value(function, positions.start, n))] * len(positions)
    if "n" in function.variables or positions.stop > KEPT:
        row = function.row(positions, n) if isinstance(function, Arith) else None
        return [_plain(real_value(function, i, n)) for i in positions] if row is None else list(map(plain, row))
    known = _known(function)
    for i in positions:
        if i not in known:
            known[i] = _plain(real_value(function, i, n))
    return [known[i] for i in positions]


def _plain(value: Fraction | Real) -> Rational | Real:
    return value if isinstance(value, Real) else plain(value)


KEPT = 1 << 12
"""Values at positions below this one are kept."""


@lru_cache(64)
def _known(function: PositionFunction) -> dict[int, Rational | Real]:
    """Return the values of a function that depends on the position alone, by position: those that are known so far."""
    return {}


@dataclass(frozen=True)
class PredicateColumn:
    """A position encoding that is 1 where the predicate `name` is true of `of_i * i + of_n * n + offset`, and 0
    elsewhere.

    `params` are the modulus and the remainder of MOD, and empty for other predicates. For a predicate that is not
    built in, `user` is the Python function of the argument and n, and `definition` its text.
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
        """The variables among i and n that the column depends on. A user's predicate may read n whatever its argument
        is."""
        # A user's predicate receives n as its second argument, so its value may change with n even if the term does
        # not.
        own = {"n"} if self.user is not None else set()
        return frozenset(own | ({"i"} if self.of_i else set()) | ({"n"} if self.of_n else set()))

    def evaluate(self, **values: int) -> Fraction:
        """Return 0 or 1 at position i of a word of length n. `values` must contain each variable that the column
        depends on."""
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
    """Return True if the value is prime, by trial division with odd numbers: the arguments are small multiples of
    positions."""
    if value > LARGEST_PRIME:
        raise OutOfRange(
            f"PRIME({value}) is too large to compile", f"Use smaller factors: PRIME goes up to {LARGEST_PRIME}."
        )
    if value < 4:
        return value in (2, 3)
    return value % 2 == 1 and all(value % divisor for divisor in range(3, isqrt(value) + 1, 2))


BUILT_IN: Mapping[str, Callable[[int, tuple[int, ...]], bool]] = {
    "MOD": lambda value, params: (value - params[1]) % params[0] == 0,
    "PRIME": lru_cache(maxsize=65536)(_is_prime),
    "SQUARE": lambda value, params: value >= 0 and isqrt(value) ** 2 == value,
    "POW2": lambda value, params: value > 0 and bin(value).count("1") == 1,
}

CALL = re.compile(r"\s*(\w+)\s*\(((?:[^(),]*,)*)(.*)\)\s*", re.DOTALL)
"""Pattern of a predicate in a text: its name, its parameters, and its argument."""
# At most 30 digits: `int` refuses texts beyond some thousand digits, and no useful modulus is so long.
CLASS = re.compile(r"\s*(\d{1,30})\s*,\s*(\d{1,30})\s*,", re.ASCII)
LARGEST_NUMBER = 10**30
"""The integers in a predicate's argument are below this number in size."""


def parse_column(text: str, users: Mapping[str, tuple[str, UserPredicate]], name: str) -> PredicateColumn | None:
    """Parse the text of a predicate, such as `MOD(3, 1, 2*i - n + 1)`, into a column.

    `users` maps the names of the user's predicates to definition and Python function. `name` is the file that errors
    cite.

    Returns:
        The column, or None if the text is not a known predicate with brackets.

    Raises SourceError if the parameters are wrong, or the argument is not a sum of integer multiples of i and n and an
    integer."""
    found = CALL.fullmatch(text)
    if found is None or (found[1] not in BUILT_IN and found[1] not in users):
        return None
    source, own = Source(name, text), CLASS.fullmatch(found[2])
    params = tuple(map(int, own.groups())) if own and found[1] == "MOD" else ()
    if found[1] == "MOD" and not (params and params[1] < params[0]):
        raise SourceError(source, Span(*found.span(1)), "MOD needs a modulus m and a remainder r < m", "MOD(m, r, i)")
    if found[1] != "MOD" and found[2]:
        raise SourceError(source, Span(*found.span(2)), f"{found[1]} has no parameters", f"a term, as in {found[1]}(i)")
    form = linear_form(read_tree(source, found.start(3), found[3], ("i", "n"), "number"), ("i", "n"))
    if form is None or max(map(abs, form)) >= LARGEST_NUMBER:
        message = "a predicate's argument is a sum of integer multiples of i and n and an integer, each below 10^30"
        raise SourceError(source, Span(*found.span(3)), message, "a term such as 2*i - n + 1")
    definition, user = users.get(found[1], ("", None))
    of_i, of_n, offset = form
    return PredicateColumn(found[1], params, of_i, of_n, offset, definition, user)


def column_text(column: PredicateColumn, users: Defined) -> str:
    """Return the predicate of a position encoding as a Python condition in the position i and the length n."""
    simple = (column.of_i, column.of_n, column.offset) == (1, 0, 0)
    term = "i" if simple else f"({column.of_i}*i + {column.of_n}*n + {column.offset})"
    return predicate_text(column.name, column.params, term, users)


def predicate_text(name: str, params: tuple[int, ...], x: str, users: Defined) -> str:
    """Return the predicate `name` of the expression `x` as a Python condition, which may also contain n."""
    if name == "MOD":
        return f"({x} - {params[1]}) % {params[0]} == 0"
    if name not in users:
        return f"{name}({x})"
    return in_python(users[name].text, dict(zip(users[name].params, (x, "n"), strict=True)))
