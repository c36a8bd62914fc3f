"""The distance of attention weights from those of hard attention: Lemma 33, the core of Lemma 25.

The functions take exact rationals and return a rational that is rigorously an upper bound. The other lemmas, 28 to 32
and 34, are applied coordinate by coordinate in `sharpening.theorem26`.

Lemma 33 and Theorem 26, by their numbers in the paper's first version, are about rows with one maximum. The published
version (TACL 14, 2026) covers general hard attention, ties included, at a temperature that depends on the same gap,
the one between the maxima and the rest. The bound for ties here (`weight_distance`) is ours, with its constants and
proof.
"""

from __future__ import annotations

from fractions import Fraction

from hardsim.errors import InputError
from hardsim.theory.outward import BITS, exp_above

FARTHEST = Fraction(2)
"""The greatest distance of two weightings in the 1-norm: both sum to 1."""
MOST_NATS = 100
"""The x beyond which `shared_distance` returns 2 in place of 2 tanh(x/2), so that no huge power is computed."""


def weight_distance(
    visible: int, maxima: int, gap: Fraction | None, eta: Fraction, tau: Fraction, coldest: Fraction | None = None
) -> Fraction:
    """Bound `||softmax(s'/tau) - avghard(s)||_1`: average hardmax with ties (ours), and Lemma 33 if there is one
    maximum.

    Among the `visible` scores s, `maxima` are maximal, all others are at least `gap` below them (None if there are no
    others), and `|s'_j - s_j| <= eta`. With n scores and m maxima the bound is

        2 (n - m)/m e^(-(gap - 2 eta)/tau) + [m > 1] 2 tanh(eta/(2 tau)), but at most 2.

    Let w_j = e^(s'_j/tau), M their sum over the maxima, R over the others, p the weights w_j/M on the maxima alone
    and r = R/(M + R). The soft weights are (1 - r) p on the maxima and sum to r elsewhere, so they are 2r away from
    p. Shifted such that the maximum of s is 0, w_j is at least e^(-eta/tau) at the maxima and at most e^((eta -
    gap)/tau) elsewhere: `r <= R/M <= (n - m)/m e^(-(gap - 2 eta)/tau)`.

    The second term bounds the distance of p from 1/m each, with x = eta/tau. That distance is 2 (p(S) - |S|/m), where
    S are the maxima with p_j > 1/m. Let a = |S|/m. On the maxima w_j lies between e^-x and e^x, and p(S) grows with
    the weights in S and falls with the others, so

        p(S) - a <= a e^x/(a e^x + (1 - a) e^-x) - a = a (1 - a)(u - 1)/(a u + 1 - a), where u = e^(2x).

    With y = e^x = sqrt(u) this is at most (y - 1)/(y + 1) = tanh(x/2) for every a in [0, 1], since

        (y - 1)(a u + 1 - a) - (y + 1) a (1 - a)(u - 1) = (y - 1)(a (y + 1) - 1)^2 >= 0.

    Equality holds at a = 1/(1 + y), if m is a multiple of 1 + y: one third of the weights raised by log 2, the others
    lowered by it. As tanh z <= z, the term is at most eta/tau, whatever eta/tau is. It vanishes if m = 1, where p_1 =
    1.

    The sum of both terms is capped at 2, since weights that sum to 1 are never farther apart. If gap <= 2 eta, 2 is
    returned at once: a score that is no maximum may then lead. For m = 1 the bound is approached as gap - 2 eta grows
    against tau, with the maximum low by eta and all others high by it.

    If the temperature lies between `coldest` and tau, the first term is bounded at tau (it grows with the temperature
    while gap > 2 eta), and the second at `coldest` (it falls with the temperature). Raises InputError if tau is not
    positive, eta or the number of maxima is out of range, or the gap is missing or not positive."""
    others = _check(visible, maxima, gap, eta, min(tau, tau if coldest is None else coldest))
    if gap is not None and others and gap <= 2 * eta:
        return FARTHEST
    total = Fraction(0)
    if gap is not None and others:
        total += Fraction(2 * others, maxima) * exp_above(-(gap - 2 * eta) / tau)
    if maxima > 1 and eta:
        total += shared_distance(eta / (tau if coldest is None else coldest))
    return min(total, FARTHEST)


def shared_distance(x: Fraction) -> Fraction:
    """Bound the distance, in the 1-norm, of a softmax of logits within x of one number from equal weights (see
    `weight_distance`).

    The result is at least `2 tanh(x/2) = 2 (e^x - 1)/(e^x + 1)` for x > 0, grows with e^x, and is at most 2.
    """
    if x > MOST_NATS:
        return FARTHEST
    growth = _growth_above(x)
    return 2 * growth / (growth + 2)


def _growth_above(x: Fraction) -> Fraction:
    """Return an upper bound of e^x - 1 for x > 0, with a relative error below 2^-90.

    Up to half of the digits cancel. For x below 2^-48 the bound is `x/(1 - x/2)`: from `e^x <= (1 + x/2)/(1 - x/2)`,
    whose logarithm has the derivative `1/(1 - x^2/4) >= 1`; the series of the two sides first differ in the term
    x^3/12.
    """
    if x < Fraction(1, 1 << 48):
        return x / (1 - x / 2)
    return exp_above(x, BITS + 48) - 1


def _check(visible: int, maxima: int, gap: Fraction | None, eta: Fraction, tau: Fraction) -> int:
    """Check the arguments and return the number of visible scores that are not maximal."""
    if not 1 <= maxima <= visible:
        raise InputError(f"{visible} scores cannot have {maxima} maxima")
    if tau <= 0:
        raise InputError(f"a temperature must be positive, not {tau}")
    if eta < 0:
        raise InputError(f"an error cannot be negative, as {eta} is")
    if maxima < visible and (gap is None or gap <= 0):
        raise InputError(f"scores that are no maxima lie below them by a positive gap, not {gap}")
    return visible - maxima
