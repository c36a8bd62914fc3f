"""Laws fitted to numbers that grow or fall with the length of words: for people, not for proofs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from math import e, log
from typing import TypeAlias

from hardsim.campaign.options import LARGEST_LENGTH
from hardsim.campaign.result import Growth, JudgedLength, LengthResult, MarginTrend

Points: TypeAlias = Sequence[tuple[int, Fraction]]
FEWEST = 3
"""Least number of lengths to which a law of two parameters is fitted."""
STAYS = Fraction(99, 100)
"""A margin of at least this part of the largest one has not begun to fall."""
SAME = 1e-20
"""Relative tolerance for sums of squared errors: two sums that differ by less than this part of the squares of all
margins differ by rounding alone (a margin has 12 digits).
"""


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
    """Return the power law fitted to some points."""
    factor, exponent = power_law(points)
    return Growth(what, round(exponent, 4), factor, points[0][0], points[-1][0])


def power_law(points: Points) -> tuple[float, float]:
    """Return factor and exponent, by least squares of log value against log n."""
    # Fractions may be beyond float64; the logarithms of their parts are not.
    logs = [log(value.numerator) - log(value.denominator) for _, value in points]
    constant, slope = line([log(n) for n, _ in points], logs)
    return e**constant, slope


def line(xs: Sequence[float], ys: Sequence[float]) -> tuple[float, float]:
    """Return constant and slope of the line through some points, two of which have different x, by least squares."""
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((a - x) ** 2 for a in xs)
    slope = sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / spread
    return y - slope * x, slope


def margin_trend(lengths: Sequence[JudgedLength]) -> MarginTrend | None:
    """Return the law by which the least margin falls with the length: the line or the power law that is nearer to
    the margins.

    It is fitted to the lengths from 1 on whose margin is known (no word is undecided) and at which nothing is wrong;
    if the margin stays level before it falls, only to the last level length and those after it. Return None with
    fewer than three such lengths, or if the law is beyond float64.
    """
    known = (x for x in lengths if x.n and x.margin is not None and x.margin > 0 and not x.undecided)
    points = _falling([(x.n, x.margin) for x in known if x.margin is not None])
    if len(points) < FEWEST:
        return None
    with suppress(OverflowError):
        ns, values = [n for n, _ in points], [float(value) for _, value in points]
        power, straight = power_law(points), line(ns, values)
        if not power[0]:
            return None
        off_power = _squares([power[0] * n ** power[1] for n in ns], values)
        off_line = _squares([straight[0] + straight[1] * n for n in ns], values)
        # Within SAME the two fit equally well, and the power law is kept, whatever the rounding.
        nearer = off_line + SAME * sum(value**2 for value in values) < off_power
        constant, rate = straight if nearer else (power[0], round(power[1], 4) + 0.0)
        level = Fraction(0) if nearer else min(value for _, value in points) / 10
        at_n = _met(constant, rate, level)
        wrong = any(x.mismatches for x in lengths)
        beyond = at_n is not None and at_n > lengths[-1].n and not wrong
        return MarginTrend(
            law="line" if nearer else "power",
            constant=_brief(constant),
            rate=_brief(rate),
            from_n=ns[0],
            to_n=ns[-1],
            level=level if beyond else None,
            at_n=at_n if beyond else None,
        )
    return None


def _falling(points: list[tuple[int, Fraction]]) -> list[tuple[int, Fraction]]:
    """Return the margins from the last one on that is about the largest, if these are enough; else all. A margin that
    first stays level and then falls, as at the end of the lengths that a network was compiled for, follows no single
    law.
    """
    most = max((value for _, value in points), default=Fraction(0))
    last = max((place for place, (_, value) in enumerate(points) if value >= STAYS * most), default=0)
    return points[last:] if len(points) - last >= FEWEST else points


def _squares(found: Sequence[float], values: Sequence[float]) -> float:
    return sum((one - value) ** 2 for one, value in zip(found, values, strict=True))


def _met(constant: float, rate: float, level: Fraction) -> int | None:
    """Return the length at which a line reaches the level 0, or a power law a positive level. Return None where the
    law does not fall, or reaches the level only beyond LARGEST_LENGTH.
    """
    if rate >= 0:
        return None
    if not level:
        found = -constant / rate
        return round(found) if found <= LARGEST_LENGTH else None
    found = (log(level.numerator) - log(level.denominator) - log(constant)) / rate
    return round(e**found) if found <= log(LARGEST_LENGTH) else None


def _brief(value: float) -> float:
    """Round to six significant digits, which do not depend on how a machine rounds."""
    return float(f"{value:.6g}")
