"""Tables of sines and cosines of positions, which some families compute and do not store.

The entries of a table are float64 numbers: those nearest to the sines and cosines of the real angles. The libraries
round them to the dtype of the network.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hardsim.lang.reals import Real, RealNumber
from hardsim.network.dense import Dense

BITS = 128
ROUNDED = "the table of positions is computed: sines and cosines are rounded to float64, and to {} rows"
"""A remark about such a table."""


def sinusoids(rates: Sequence[RealNumber], positions: Sequence[int]) -> tuple[Dense, Dense]:
    """Return the sines and the cosines of `position rate`, each (positions, rates)."""
    from flint import arb, ctx, fmpq

    found = np.empty((2, len(positions), len(rates)))
    with ctx.workprec(BITS):
        exact = [
            rate.ball(BITS) if isinstance(rate, Real) else fmpq(rate.numerator, rate.denominator) for rate in rates
        ]
        angles: list[Any] = [arb(rate) for rate in exact]
        for row, position in enumerate(positions):
            for column, rate in enumerate(angles):
                angle = rate * position
                found[:, row, column] = float(angle.sin().mid()), float(angle.cos().mid())
    return found[0], found[1]
