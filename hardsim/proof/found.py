"""What a head of a specification is found to read, and small steps of the comparison with the formula."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any

from hardsim.proof.meaning import Column, Count
from hardsim.spec.ir import Rational


@dataclass(frozen=True)
class Nearest:
    """The value at the nearest selected position."""

    op: str
    where: Column
    what: Column


@dataclass(frozen=True)
class Number:
    """max(count, 1)."""

    count: Count


@dataclass(frozen=True)
class Table:
    """The value of a column, by length, at max(count, 1)."""

    count: Count
    columns: list[tuple[Any, ...]]


@dataclass(frozen=True)
class Sign:
    """Whether `sum of coefficient * mean + rest` is positive, where more than one position is visible."""

    side: str
    means: dict[Count, Rational]
    rest: list[Rational]


Found = Nearest | Number | Table | Sign

Compared = Callable[[Any, int], int]
"""Compares combinations of counts that differ in a constant alone: the diagram for a constant at a site."""


def back_to_last(selected: Sequence[Any]) -> list[int]:
    """How far it is from every position to the last selected one up to there (negative); 0 where there is none."""
    last, distances = -1, []
    for place, here in enumerate(selected):
        last = place if here else last
        distances.append(last - place if last >= 0 else 0)
    return distances


def threshold(step: Fraction, offset: Rational) -> int | None:
    """The least integer t with `clip(step t + offset) = 1`, if the clip is 0 for all smaller ones; else None."""
    least = ceil((1 - Fraction(offset)) / step)
    return least if floor(-Fraction(offset) / step) >= least - 1 else None
