"""What a forward pass asks of a number type, and the columns it computes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from fractions import Fraction
from operator import add
from typing import Any, Protocol, TypeAlias, TypeGuard, TypeVar

from hardsim.lang.reals import RealNumber
from hardsim.network.model import Terms
from hardsim.network.numbers import Rational


class Number(Protocol):
    """A number of some arithmetic: it adds, multiplies, divides and compares with its own kind."""

    def __add__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __truediv__(self, other: Any, /) -> Any: ...
    def __lt__(self, other: Any, /) -> bool: ...
    def __gt__(self, other: Any, /) -> bool: ...


T = TypeVar("T", bound=Number)

Value: TypeAlias = Any
"""A Rational or a number of the arithmetic (they have no common base class)."""


class Arithmetic(Protocol[T]):
    """The operations that differ between number types."""

    def precision(self) -> AbstractContextManager[Any]:
        """Inside the block numbers have the precision of this arithmetic."""

    @property
    def negligible(self) -> int:
        """A logit that is so many nats below the largest of its row may be left out."""

    def number(self, value: RealNumber) -> T:
        """The nearest number to (or an enclosure of) a number."""

    def approximate(self, value: T) -> tuple[float, float]:
        """A float64 midpoint and a radius of the value (or of its enclosure): no finite ones beyond float64."""

    def exp(self, logit: Rational | T) -> T:
        """e^logit."""

    def total(self, numbers: Sequence[T]) -> T:
        """The sum of at least one number."""

    def clip(self, value: T) -> int | T:
        """`min(max(value, 0), 1)`, exactly 0 or 1 where that is certain."""

    def relu(self, value: T) -> int | T:
        """`max(value, 0)`, exactly 0 where that is certain."""

    def ranked(self, values: Sequence[T], rank: int) -> T:
        """The `rank`-th largest of some numbers (1: the largest)."""

    def widened(self, mean: T, dropped: int, spread: Rational) -> T:
        """A weighted mean for which `dropped` negligible weights were left out, of values at most `spread` apart."""


@dataclass(slots=True)
class Column:
    """One coordinate at positions 1..n, never changed once made; `exact` says that every entry is a Rational, `static`
    that it is the same for every word of the length, `kept` that it is remembered, and so known by its identity."""

    values: list[Value]
    exact: bool = True
    static: bool = False
    kept: bool = False


def is_exact(value: Value) -> TypeGuard[Rational]:
    """Whether a value is a Rational (`isinstance` asks the abstract classes of Fraction, which takes ten times as
    long)."""
    return type(value) in (int, Fraction)


def lift(arithmetic: Arithmetic[T], value: Value) -> T:
    """A value as a number of the arithmetic."""
    found: T = arithmetic.number(value) if is_exact(value) else value
    return found


def linear(arithmetic: Arithmetic[T], form: Terms, columns: Sequence[Column], bias: Rational = 0) -> Column:
    """The column of a linear form plus a bias: exact if every coordinate it reads is, and exact at a position where
    they are."""
    exact: list[Value] = [bias] * len(columns[0].values)
    soft: list[Value] = []
    for index, coefficient in form:
        column = columns[index]
        if column.exact:
            added = column.values if coefficient == 1 else [coefficient * value for value in column.values]
            exact = list(map(add, exact, added)) if any(exact) else added
            continue
        factor = arithmetic.number(coefficient)
        scaled = [(coefficient if is_exact(value) else factor) * value for value in column.values]
        soft = [_plus(arithmetic, *pair) for pair in zip(soft, scaled, strict=True)] if soft else scaled
    if soft and any(exact):
        soft = [_plus(arithmetic, *pair) for pair in zip(soft, exact, strict=True)]
    return Column(soft or exact, exact=not soft)


def _plus(arithmetic: Arithmetic[T], left: Value, right: Value) -> Value:
    """The sum of two values, exact if both are."""
    if is_exact(left) and is_exact(right):
        return left + right
    return lift(arithmetic, left) + lift(arithmetic, right)
