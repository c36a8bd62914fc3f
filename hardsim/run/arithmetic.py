"""The operations that a forward pass needs from a number type, and the columns that it computes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from fractions import Fraction
from math import lcm
from operator import add
from typing import Any, Protocol, TypeAlias, TypeGuard, TypeVar

from hardsim.lang.reals import RealNumber
from hardsim.lazy_dataclass import dataclass
from hardsim.network.numbers import Rational, plain
from hardsim.network.transformer import Terms


class Number(Protocol):
    """A number of some arithmetic. It can be added, multiplied, divided and compared with numbers of its own kind."""

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
        """Return a context in which numbers have the precision of this arithmetic."""

    @property
    def negligible(self) -> int:
        """The distance in nats below the largest logit of a row from which a logit may be left out."""

    def number(self, value: RealNumber) -> T:
        """Return the number nearest to a value, or an enclosure of it."""

    def approximate(self, value: T) -> tuple[float, float]:
        """Return a float64 midpoint and a radius of the value (or of its enclosure); they are not finite if the value
        is beyond float64."""

    def exp(self, logit: Rational | T) -> T:
        """Return e^logit."""

    def sqrt(self, value: T) -> T:
        """Return the square root of a number that is not negative."""

    def total(self, numbers: Sequence[T]) -> T:
        """Return the sum of at least one number."""

    def clip(self, value: T) -> int | T:
        """Return `min(max(value, 0), 1)`, exactly 0 or 1 where that is certain."""

    def relu(self, value: T) -> int | T:
        """Return `max(value, 0)`, exactly 0 where that is certain."""

    def ranked(self, values: Sequence[T], rank: int) -> T:
        """Return the `rank`-th largest of some numbers (1: the largest)."""

    def widened(self, mean: T, dropped: int, spread: Rational) -> T:
        """Return a weighted mean corrected for `dropped` negligible weights that were left out, over values at most
        `spread` apart."""


@dataclass(slots=True)
class Column:
    """One coordinate at all positions, never changed once made.

    `exact` is True if every entry is a Rational, and `static` if the column is the same for every word of the length.
    Columns with the same `serial` number have the same values.
    """

    values: list[Value]
    exact: bool = True
    static: bool = False
    serial: int | None = None


def is_exact(value: Value) -> TypeGuard[Rational]:
    """Return True if a value is a Rational. (`isinstance` would test the abstract base classes of Fraction, which
    takes ten times as long.)"""
    return type(value) in (int, Fraction)


def lift(arithmetic: Arithmetic[T], value: Value) -> T:
    """Return a value as a number of the arithmetic."""
    found: T = arithmetic.number(value) if is_exact(value) else value
    return found


def linear(arithmetic: Arithmetic[T], form: Terms, columns: Sequence[Column], bias: Rational = 0) -> Column:
    """Return the column of a linear form plus a bias. It is exact if all coordinates that it reads are, and exact at
    a position if their values there are."""
    parts = [(coefficient, columns[index].values) for index, coefficient in form if columns[index].exact]
    exact, soft = _exact_sum(parts, bias, len(columns[0].values)), list[Value]()
    for index, coefficient in form:
        column = columns[index]
        if column.exact:
            continue
        factor = arithmetic.number(coefficient)
        scaled = [(coefficient if is_exact(value) else factor) * value for value in column.values]
        soft = [_plus(arithmetic, *pair) for pair in zip(soft, scaled, strict=True)] if soft else scaled
    if soft and any(exact):
        # Many positions share one rational, whose hash takes longer than that of its address.
        numbers = {id(value): lift(arithmetic, value) for value in {id(value): value for value in exact}.values()}
        pairs = zip(soft, exact, strict=True)
        soft = [a + b if is_exact(a) else a + numbers[id(b)] for a, b in pairs]
    return Column(soft or exact, exact=not soft)


def _exact_sum(parts: Sequence[tuple[Rational, list[Value]]], bias: Rational, n: int) -> list[Value]:
    """Return the sum of some rational columns, each times a coefficient, plus a bias, at n positions."""
    if not parts or (len(parts) == 1 and parts[0][0] == 1 and not bias):
        return parts[0][1] if parts else [bias] * n
    if not all(set(map(type, values)) == {int} for _, values in parts):
        exact: list[Value] = [bias] * n
        for coefficient, values in parts:
            added = values if coefficient == 1 else [coefficient * value for value in values]
            exact = list(map(add, exact, added)) if any(exact) else added
        return exact
    # Sums of integers over one denominator: most columns are bits, and Fractions are slow.
    unit = lcm(bias.denominator, *(coefficient.denominator for coefficient, _ in parts))
    whole = [bias.numerator * (unit // bias.denominator)] * n
    for coefficient, values in parts:
        factor = coefficient.numerator * (unit // coefficient.denominator)
        whole = list(map(add, whole, values if factor == 1 else [factor * value for value in values]))
    if unit == 1:
        return [*whole]
    found = {value: plain(Fraction(value, unit)) for value in set(whole)}
    return [found[value] for value in whole]


def _plus(arithmetic: Arithmetic[T], left: Value, right: Value) -> Value:
    """Return the sum of two values, exact if both are."""
    if is_exact(left) and is_exact(right):
        return left + right
    return lift(arithmetic, left) + lift(arithmetic, right)
