"""Lemma 8: a tie-break that turns average into rightmost or leftmost hard attention, at a price that is known.

`scores` are those of the visible positions, in order. They have gap at least 1: every score that is not the maximum is
at least 1 below it. Scores in [0, 1] whose distinct values differ by at least 1 are of this kind; no more than this
is used (ours). What is returned has a unique maximum j*, the rightmost or leftmost of the old maxima, and falls off
by at least 1/2 nats a position from there to both sides: `s_j <= s_j* - |j - j*| / 2`, the condition of Lemma 6 with
g = 1/2. Multiplied by beta, g = beta/2.

A smaller gap would not do for every length: with gap h < 1 and n > 1/(1 - h), a maximum at 1 and all else h below it,
(b) falls off by less than 1/2 a position between 1 and n.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from hardsim.errors import InputError

DECAY = Fraction(1, 2)
"""g of Lemma 6 after Lemma 8, in nats per position, for beta = 1."""


@dataclass(frozen=True, slots=True)
class Broken:
    """Scores without ties, one for each visible position, and their g of Lemma 6 in nats per position."""

    scores: tuple[Fraction, ...]
    decay: Fraction = DECAY


def causal_rightmost(scores: Sequence[Fraction]) -> Broken:
    """Lemma 8a, without n: `i^2 (s_j - 1/(2j))`, j = 1..i, i the query's position and the number of scores.

    Let j* be the rightmost maximum. For j < j*, s_j <= s_j*, and the tie-breaks differ by `(j* - j)/(2 j j*)`, at
    least `(j* - j)/(2 i (i - 1))`. For j > j*, s_j <= s_j* - 1, and `1 + 1/(2j) - 1/(2j*) > 1/2`, at least
    `(j - j*)/(2i)`. So the decay is at least `i/(2(i - 1))`, by two neighbouring maxima at i - 1 and i no more than
    that, and it falls to 1/2 as i grows (ours; the paper has 1/2). For the same reason no lower power of i will do,
    and the lemma needs the future mask: a score visible beyond i would be closer to its neighbour.

    Raises:
        InputError: if there are no scores, or their gap is below 1.
    """
    _check_gap(scores)
    i = len(scores)
    return Broken(tuple(i * i * (score - Fraction(1, 2 * j)) for j, score in enumerate(scores, start=1)))


def rightmost(scores: Sequence[Fraction], n: int, first: int = 1) -> Broken:
    """Lemma 8b: `n (s_j + j/(2n))` at positions j = first, first + 1, ... of a word of length n.

    Let j* be the rightmost maximum. For j < j*, s_j <= s_j*, and the tie-break alone gives (j* - j)/2, which is
    attained by two neighbouring maxima. For j > j*, s_j <= s_j* - 1, and `n - (j - j*)/2 >= (j - j*)/2` since
    j - j* <= n.

    Raises:
        InputError: if there are no scores, their gap is below 1, or a position lies outside 1..n.
    """
    return _broken(scores, n, first, 1)


def leftmost(scores: Sequence[Fraction], n: int, first: int = 1) -> Broken:
    """Lemma 8c: `n (s_j - j/(2n))` at positions j = first, first + 1, ... of a word of length n; the mirror image of
    Lemma 8b.

    Raises:
        InputError: if there are no scores, their gap is below 1, or a position lies outside 1..n.
    """
    return _broken(scores, n, first, -1)


def _broken(scores: Sequence[Fraction], n: int, first: int, side: int) -> Broken:
    _check_gap(scores)
    last = first + len(scores) - 1
    if first < 1 or last > n:
        raise InputError(f"the visible positions {first} to {last} do not lie in a word of length {n}")
    return Broken(tuple(n * score + Fraction(side * j, 2) for j, score in enumerate(scores, start=first)))


def _check_gap(scores: Sequence[Fraction]) -> None:
    if not scores:
        raise InputError("Lemma 8 needs at least one visible position")
    best = max(scores)
    second = max((score for score in scores if score != best), default=best - 1)
    if best - second < 1:
        raise InputError(
            f"Lemma 8 needs scores with a gap of at least 1, not {best - second}",
            hint="Multiply the scores by a constant first.",
        )
