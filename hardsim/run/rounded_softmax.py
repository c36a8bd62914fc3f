"""Softmax with rounded exponentials, in exact arithmetic.

The weights of z_1, ..., z_n are in proportion to the numbers of a format nearest to e^(z_j - the largest z). The
exponential of a rational other than 0 is irrational (Lindemann), so no number is in the middle of two numbers of a
format, and enclosures with ever more digits lie on one side of the middle in the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import gcd

from flint import arb, ctx, fmpq

from hardsim.network.numbers import Rational
from hardsim.network.rounding import ExponentialFormat

FIRST_BITS = 64
"""Precision of the first enclosure of an exponential, in bits beyond the places of its format."""


def rounded_softmax(scores: Sequence[int], one: int, form: ExponentialFormat) -> list[Rational]:
    """Return the weights of the numbers `scores` / `one`, given as integers and a positive integer."""
    top = max(scores)
    found = [rounded_exponential(top - score, one, form) for score in scores]
    total = sum(found)
    return [Fraction(number, total) if number else 0 for number in found]


@lru_cache(100_000)
def rounded_exponential(loss: int, one: int, form: ExponentialFormat) -> int:
    """Return the number nearest to e^-(loss / one), for loss >= 0, in units of 2^-places."""
    if loss >= form.cutoff * one:
        return 0
    if not loss:
        return 1 << form.places
    common = gcd(loss, one)
    exponent, bits = fmpq(-(loss // common), one // common), FIRST_BITS + form.places
    before = ctx.prec
    while True:
        try:
            ctx.prec = bits
            found = _nearest(arb(exponent).exp(), form)
        finally:
            ctx.prec = before
        if found is not None:
            return found
        bits *= 2


def _nearest(value: arb, form: ExponentialFormat) -> int | None:
    """Return the number nearest to a ball between 0 and 1, in units of 2^-places; None if the ball is too wide."""
    scaled = value * arb(2) ** form.places
    step = 1
    if form.digits is not None:
        whole = scaled.floor().unique_fmpz()
        if whole is None:
            return None
        # Below 2^digits units every multiple of a unit is a number of the format.
        step = 1 << max(0, int(whole).bit_length() - form.digits)
    found = (scaled / step + arb(1) / 2).floor().unique_fmpz()
    return None if found is None else int(found) * step
