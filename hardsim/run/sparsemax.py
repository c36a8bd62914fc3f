"""Sparsemax in exact arithmetic.

The weights of z_1, ..., z_n are the point of the simplex nearest to z: p_j = max(z_j - t, 0), with the t for which they
add up to 1 (Martins and Astudillo, 2016). If the k largest z have weight, t = (their sum - 1)/k, and k is the largest
number for which the k-th largest z is above that t. So rational z have rational weights.

Ours: if the largest z occurs m times and the next smaller one is z - g, the weights are those of the mean over the m
largest exactly if 1 <= m g. (Where only these have weight, t = z - 1/m; the others have none exactly if z - g <= t.)
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

from hardsim.network.numbers import Rational


def sparsemax(scores: Sequence[int], one: int) -> list[Rational]:
    """Return the weights of the numbers `scores` / `one`, given as integers and a positive integer."""
    top = max(scores)
    ranked = sorted((score for score in scores if top - score < one), reverse=True)
    # 1 + k z_k > z_1 + ... + z_k, times `one`. Numbers that are 1 or more below the largest have no weight.
    sums = accumulate(ranked)
    k, total = max((k, total) for k, (z, total) in enumerate(zip(ranked, sums, strict=True), 1) if one + k * z > total)
    if ranked[k - 1] == top:
        return [Fraction(1, k) if score == top else 0 for score in scores]
    return [Fraction(max(k * score - total + one, 0), k * one) for score in scores]
