"""What a forward pass asks of a number type, and the columns it computes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

from hardsim.spec.ir import Rational


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

    @property
    def negligible(self) -> int | None:
        """A logit that is so many nats below the largest of its row may be left out; None: none may."""

    def number(self, value: Rational) -> T:
        """The nearest number to (or an enclosure of) an exact value."""

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

    def settled(self, value: T) -> bool:
        """Whether it is certain that a clip's input is at most 0, at least 1, or strictly between."""

    def ranked(self, values: Sequence[T], rank: int) -> T:
        """The `rank`-th largest of some numbers (1: the largest)."""

    def widened(self, mean: T, dropped: int, spread: Rational) -> T:
        """A weighted mean for which `dropped` negligible weights were left out, of values at most `spread` apart."""

    def least_margin(self, values: Sequence[T]) -> T:
        """For inputs z = 2x - 1/2 of clips, the least distance of an x from the threshold it has passed, max(-z, z
        - 1)/2."""


@dataclass(slots=True)
class Column:
    """One coordinate at positions 1..n, never changed once made; `exact` says that every entry is a Rational.

    `kept` says that this very object comes again for the same inputs, so that it can stand for them.
    """

    values: list[Value]
    exact: bool = True
    kept: bool = False
