"""Boolean tables that are looked up at a count: the worst weight of other values, over all counts.

With `-k (j - c)^2` nats the position c (the first one, for a count of 0) has the largest weight. The weight of the
positions that hold another value than it does is found for every count, for all sites of a length at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING, Any

from hardsim.proof.outward import exp_lower, exp_upper
from hardsim.proof.running import NOTHING
from hardsim.proof.sites import Sites
from hardsim.spec.ir import Rational

if TYPE_CHECKING:
    from hardsim.proof.outward import Array

NEAR = 60
"""Nats beyond which positions count together: e^-60 < 2^-80 each."""
CHUNK = 500_000
"""Numbers in one array."""


def table_errors(
    sites: Sites, rates: Sequence[Fraction], values: Sequence[Rational], visible: Sequence[int], sizes: Sequence[int]
) -> Array:
    """For every site the largest weight of other values where the value at the position looked up is 0, and where it
    is 1; minus infinity where no count leads there.

    A site sees the first `visible` positions, and its counts go from 0 to `sizes`; `values` are 0 or 1 by site,
    `rates` are k in nats.
    """
    import numpy as np

    found = np.full((2, len(rates)), NOTHING)
    for n, start, end in sites.words():
        column = np.array([int(value) for value in values[start:end]])
        for first in range(start, end, max(1, CHUNK // n)):
            part = slice(first, min(end, first + max(1, CHUNK // n)))
            found[:, part] = _worst(rates[part], column, np.array(visible[part]), np.array(sizes[part]))
    return found


def _worst(rates: Sequence[Fraction], column: Any, visible: Any, sizes: Any) -> Array:
    """The same for some sites of one length; a count is a column of arrays whose rows are sites."""
    import numpy as np

    near = min(int(visible.max()) - 1, isqrt(int(NEAR / min(rates))) + 1)
    squares = np.arange(1, near + 1, dtype=np.float64) ** 2
    # A rational rounded once, and a product.
    exponent = -np.array([float(rate) for rate in rates])[:, None] * squares
    error = -exponent * 2.0**-51
    high, low = exp_upper(exponent, error), exp_lower(exponent, error)
    own = column[: sizes.max()]
    count = len(own)
    wrong = np.repeat(visible[:, None] * 2.0**-80, count, axis=1)
    right = np.ones((len(rates), count))
    for d in range(1, near + 1):
        for shift in (d, -d):
            first, last = max(0, -shift), min(count, len(column) - shift)
            if first >= last:
                continue
            differs = column[first + shift : last + shift] != own[first:last]
            seen = np.arange(first, last) + shift < visible[:, None]
            wrong[:, first:last] += np.where(seen & differs, high[:, d - 1, None], 0)
            right[:, first:last] += np.where(seen & ~differs, low[:, d - 1, None], 0)
    share = 1 / (1 + right / wrong)
    # A count of 0 leads to the first position too, with weights that fall faster than those of a count of 1.
    lone = wrong[:, 0]
    share[:, 0] = np.maximum(share[:, 0], lone / (1 + lone))
    slack = 1 + (4 * near + 16) * 2.0**-52
    inside = np.arange(count) < sizes[:, None]
    worst = [np.max(np.where(inside & (own == value), share, NOTHING), axis=1) for value in (0, 1)]
    result: Array = np.array([found * slack for found in worst])
    return result
