"""A table of the tail of the normal distribution in certified float64, for the activation gelu."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from hardsim.lazy_dataclass import dataclass
from hardsim.run.enclosure import ETA, Floats, U

PIECES, TERMS = 70, 10
"""The number of pieces of width 1/8, and of coefficients of each."""
TABLE_BITS = 128


@dataclass(frozen=True)
class TailTable:
    """A table of Q(a) = erfc(a / sqrt 2) / 2 for a >= 0: polynomials in the distance from the middle of each piece,
    with the coefficients of a power in a row, and 0 beyond the last piece. `error` bounds |computed - Q| everywhere.

    A piece is a Taylor polynomial with Lagrange's remainder, the derivative enclosed by balls over its eighths. In
    Horner's scheme p <- fl(c_k + fl(delta p)) an error e of p becomes at most |delta| e + 3 u |delta p| + u |new p| +
    the error of c_k (delta is rounded, so is the product, and the sum); 2^-20 more covers what is quadratic in u.
    """

    coefficients: Floats
    error: float

    def __call__(self, a: Floats) -> Floats:
        """Return Q where a >= 0, and NaN where a is NaN."""
        place = np.fmin(a * 8, PIECES).astype(np.intp)
        delta = a - (place + 0.5) / 8
        found: Floats = self.coefficients[-1].take(place)
        for row in self.coefficients[-2::-1]:
            found *= delta
            found += row.take(place)
        return found


@lru_cache(maxsize=1)
def tail_table() -> TailTable:
    """Return the table, made with balls at its first use."""
    from flint import arb, arb_series, ctx

    table, worst = np.zeros((TERMS, PIECES + 1)), 0.0
    half = 1 / 16
    with ctx.workprec(TABLE_BITS):
        cap, ctx.cap = ctx.cap, TERMS + 1
        try:
            beyond = _above((arb(PIECES) / 8 / arb(2).sqrt()).erfc() / 2)
            for piece in range(PIECES):
                centre = arb(2 * piece + 1) / 16
                exact = (arb_series([centre, 1]) / arb(2).sqrt()).erfc() / 2
                parts = [arb(16 * piece + 2 * part + 1) / 128 for part in range(8)]
                over = [(arb_series([arb(part, half / 8), 1]) / arb(2).sqrt()).erfc()[TERMS] / 2 for part in parts]
                table[:, piece] = [float(exact[k].mid()) for k in range(TERMS)]
                slips = [_above(exact[k] - arb(table[k, piece].item())) for k in range(TERMS)]
                remainder = max(map(_above, over)) * half**TERMS
                worst = max(worst, remainder + _horner_error(np.abs(table[:, piece]).tolist(), slips, half))
        finally:
            ctx.cap = cap
    return TailTable(table, max(worst, beyond) * (1 + 2.0**-20))


def _above(value: Any) -> float:
    """Return a float that is at least the absolute value of every number in a ball."""
    return float(abs(value).upper()) * (1 + 2.0**-40) + ETA


def _horner_error(sizes: Sequence[float], slips: Sequence[float], width: float) -> float:
    """Return a bound of the error of Horner's scheme, from the sizes of the coefficients and their errors."""
    total, error = sizes[-1], slips[-1]
    for size, slip in zip(sizes[-2::-1], slips[-2::-1], strict=True):
        product = width * total
        total = product + size
        error = width * error + 3 * U * product + U * total + slip
    return error * (1 + 2.0**-20)
