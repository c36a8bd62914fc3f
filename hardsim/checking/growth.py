"""Power laws fitted to what is measured length by length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from math import log

from hardsim.checking.attention_result import AttentionLength, Growth


def growth(lengths: Sequence[AttentionLength]) -> tuple[Growth, ...]:
    """Power laws fitted to gap(n), X(n) and 1/tau(n) where there are three lengths or more."""
    return fitted(
        {
            "gap": [(x.n, x.gap) for x in lengths if x.gap],
            "size": [(x.n, x.size) for x in lengths if x.size],
            "1/tau": [(x.n, 1 / x.theorem) for x in lengths if x.theorem and x.gap],
        }
    )


def fitted(series: Mapping[str, Sequence[tuple[int, Fraction]]]) -> tuple[Growth, ...]:
    """The power laws of series of three values or more; a law whose factor is beyond float64 is left out."""
    found: list[Growth] = []
    for what, points in series.items():
        if len(points) >= 3:
            with suppress(OverflowError):
                found.append(fit(what, points))
    return tuple(found)


def fit(what: str, points: Sequence[tuple[int, Fraction]]) -> Growth:
    """Least squares of log value against log n."""
    xs, ys = [log(n) for n, _ in points], [log(value.numerator) - log(value.denominator) for _, value in points]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((a - x) ** 2 for a in xs)
    slope = sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / spread
    return Growth(what, slope, 2.718281828459045 ** (y - slope * x), (points[0][0], points[-1][0]))
