"""Power laws fitted to numbers that grow or fall with the length of words: for people, not for proofs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from math import e, log
from typing import TypeAlias

from hardsim.campaign.result import Growth, LengthResult

Points: TypeAlias = Sequence[tuple[int, Fraction]]
FEWEST = 3
"""Least number of lengths to which a law of two parameters is fitted."""


def growth(lengths: Sequence[LengthResult]) -> tuple[Growth, ...]:
    """Return the power laws fitted to gap(n), X(n) and 1/tau(n) where three or more lengths are known."""
    return fitted(
        {
            "gap": [(x.n, x.score_gap) for x in lengths if x.score_gap and x.layers],
            "size": [(x.n, x.size) for x in lengths if x.size],
            "1/tau": [(x.n, 1 / x.theorem) for x in lengths if x.theorem and x.score_gap],
        }
    )


def fitted(series: Mapping[str, Points]) -> tuple[Growth, ...]:
    """Return the power laws of series of three values or more; a law whose factor is beyond float64 is left out."""
    found: list[Growth] = []
    for what, points in series.items():
        if len(points) >= FEWEST:
            with suppress(OverflowError):
                found.append(fit(what, points))
    return tuple(found)


def fit(what: str, points: Points) -> Growth:
    """Return the power law fitted to some points, two of which have different n, by least squares of log value
    against log n."""
    xs = [log(n) for n, _ in points]
    # Fractions may be beyond float64; the logarithms of their parts are not.
    ys = [log(value.numerator) - log(value.denominator) for _, value in points]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((a - x) ** 2 for a in xs)
    slope = sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / spread
    return Growth(what, round(slope, 4), e ** (y - slope * x), points[0][0], points[-1][0])
