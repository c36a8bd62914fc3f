"""The exact lower confidence bound of a probability, from independent trials: Clopper and Pearson, The use of
confidence or fiducial limits illustrated in the case of the binomial, Biometrika 26 (1934).

If `right` of `total` independent trials with success probability p succeed, the bound is the p for which at least
`right` successes have the probability 1 - confidence, a quantile of a beta distribution. Whatever the true p is, the
bound lies above it with probability at most 1 - confidence. A count that leaves out successes gives a smaller bound, so
a trial that is not known to be a success may count as a failure.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb, ctx, fmpq

CONFIDENCE = Fraction(39, 40)
"""The one-sided confidence, 97.5 %: the bound is the lower end of the two-sided 95 % interval."""
BITS = 128
"""Working precision of the balls."""
MORE_DIGITS = 3
"""Number of decimals of the bound beyond those of the number of trials: the bound changes by about 1/total from one
count of successes to the next."""


def tail(right: int, total: int, p: Fraction) -> arb:
    """Return an enclosure of the probability of at least `right` successes in `total` trials, for 1 <= right <= total
    and 0 < p < right / total.

    The terms t_j = C(total, j) p^j (1 - p)^(total - j) for j >= right have ratios t_(j+1) / t_j = (total - j) / (j + 1)
    * p / (1 - p), which fall with j and are below 1 from j = right on, since p < right / total. So after the term j the
    rest is at most t_j r / (1 - r) with the ratio r at j: a geometric series.
    """
    chance, other = _ball(p), _ball(1 - p)
    logs = arb(total + 1).lgamma() - arb(right + 1).lgamma() - arb(total - right + 1).lgamma()
    term = (logs + right * chance.log() + (total - right) * other.log()).exp()
    found, odds, tiny = term, chance / other, arb(2) ** (-BITS // 2)
    for j in range(right, total):
        ratio = odds * (total - j) / (j + 1)
        rest = term * ratio / (1 - ratio)
        if rest < found * tiny:
            return found + rest.union(arb(0))
        term *= ratio
        found += term
    return found


def lower_bound(right: int, total: int, confidence: Fraction = CONFIDENCE) -> Fraction:
    """Return the Clopper-Pearson lower bound, rounded down to a decimal: a number p between 0 and 1 for which at least
    `right` successes certainly have a probability of at most 1 - confidence. Raises ValueError unless 0 <= right <=
    total and 0 < confidence < 1.

    The probability of at least `right` successes rises with p, so every p with a certain comparison lies below the
    exact bound, and bisection finds the largest on the grid; a comparison that balls leave open counts as false.
    """
    if not 0 <= right <= total or not 0 < confidence < 1:
        raise ValueError(f"{right} of {total} with confidence {confidence}")
    if right == 0:
        return Fraction(0)
    scale = 10 ** (len(str(total)) + MORE_DIGITS)
    # A median of the binomial with p = right / total is `right`, so its tail is at least 1/2 there: the bound is below.
    low, high = 0, -(-right * scale // total)
    with ctx.workprec(BITS):
        most = _ball(1 - confidence)
        while high - low > 1:
            middle = (low + high) // 2
            if tail(right, total, Fraction(middle, scale)) <= most:
                low = middle
            else:
                high = middle
    return Fraction(low, scale)


def _ball(value: Fraction) -> arb:
    return arb(fmpq(value.numerator, value.denominator))
