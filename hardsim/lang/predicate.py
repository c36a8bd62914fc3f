"""Numerical predicates: the built-in ones, as the oracles decide them, and the conditions of `pred` lines.

A condition, such as `2*i == n + 1`, is an expression (see `arith`) in the two arguments of its predicate. The
predicate is evaluated at every position of a word, even where the rest of the formula does not need its value. Its
first argument is the position, or the value of a term, which may be 0, negative, or larger than the length.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from functools import cached_property, lru_cache
from math import isqrt
from typing import Final, TypeAlias

from hardsim.errors import OutOfRange, Source
from hardsim.kept import kept
from hardsim.lang import ast
from hardsim.lang.arith import Expression, Function, Valuing, read_tree
from hardsim.lazy_dataclass import dataclass

NumericalPredicate: TypeAlias = Callable[[int, int], bool]
"""A predicate of an integer (a position, or the value of a term: any integer) and the length n of the word."""

_BASES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)
_LIMIT = 3_317_044_064_679_887_385_961_981
"""Below this limit the Miller-Rabin test with the first 13 primes as bases is exact (Sorenson and Webster 2015)."""


@lru_cache(maxsize=65536)
def is_prime(value: int) -> bool:
    """Return True if an integer is prime (2, 3, 5, ...); 0, 1 and negative numbers are not. Raises OutOfRange from
    3317044064679887385961981 (about 3e24) on, where no exact test is available."""
    if value >= _LIMIT:
        message = f"PRIME of {value} cannot be decided"
        raise OutOfRange(message, f"PRIME is decided below {_LIMIT} only; use smaller factors.")
    if value < 2 or any(value % base == 0 for base in _BASES):
        return value in _BASES
    return all(_passes(value, base) for base in _BASES)


def _passes(value: int, base: int) -> bool:
    """Return True if an odd value passes the Miller-Rabin test to one base."""
    twos = ((value - 1) & -(value - 1)).bit_length() - 1
    # value - 1 = odd * 2^twos: base^odd and its repeated squares modulo value
    powers = [pow(base, ((value - 1) >> twos) << doubled, value) for doubled in range(twos)]
    return powers[0] == 1 or value - 1 in powers


BUILT_IN: Final[Mapping[str, NumericalPredicate]] = {
    "EVEN": lambda value, n: value % 2 == 0,
    "ODD": lambda value, n: value % 2 == 1,
    "PRIME": lambda value, n: is_prime(value),
    "SQUARE": lambda value, n: value >= 0 and isqrt(value) ** 2 == value,
    "POW2": lambda value, n: value >= 1 and value & (value - 1) == 0,
}
"""The built-in predicates without parameters, by name (0 and 1 are squares, 1 is a power of two). `MOD(m, r)` is not
among them: it is the congruence of the value to r modulo m."""


@dataclass(frozen=True)
class OwnPredicate:
    """A predicate that a file defines, as a callable object; it can be pickled."""

    definition: ast.UserPredicate
    source: Source
    condition: Expression = field(compare=False, repr=False)

    @cached_property
    def _holds(self) -> Function:
        return Valuing(self.source, "condition", self.definition.params, f"{self.definition.name}: ").of(self.condition)

    def __call__(self, value: int, n: int) -> bool:
        """Return True if the predicate holds for an integer (a position or the value of a term) and the length n of the
        word. Raises SourceError at an operator that has no value for these two arguments, or has one beyond
        MAX_INTEGER."""
        # `int`: an oracle may pass a bool as a count, and an error message would then show `True`
        return bool(self._holds(dict(zip(self.definition.params, (int(value), int(n)), strict=True))))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the definition's text: a tree of thousands of summands is too deep to be pickled."""
        return compile_predicate, (self.source, self.definition)


def compile_predicate(source: Source, predicate: ast.UserPredicate) -> OwnPredicate:
    """Compile a `pred` line of a file to a function of a value and the length of the word. A predicate without a span
    is cited by its own text in errors. Raises SourceError at the first mistake of a right-hand side that is not a
    condition (see `arith`)."""
    start = predicate.span.start
    if predicate.span == ast.NO_SPAN:
        source, start = Source(f"<pred {predicate.name}>", predicate.text), 0
    condition = read_tree(source, start, predicate.text, predicate.params, "condition")
    return OwnPredicate(predicate, source, condition)


@kept
def user_predicates(file: ast.FormulaFile) -> dict[str, OwnPredicate]:
    """Return the predicates that a file defines, by name. Raises SourceError at the first mistake in one of them."""
    return {predicate.name: compile_predicate(file.source, predicate) for predicate in file.predicates}
