"""How far weights of attention are from those of hard attention: Lemma 33, the heart of Lemma 25.

The functions take exact rationals and return a rational that is rigorously an upper bound. The other lemmas, 28 to 32
and 34, are taken coordinate by coordinate in `sharpening.recursion`.

Lemma 33 and Theorem 26, by their numbers in the paper's first version, are of rows with one maximum. The published
version (TACL 14, 2026) covers general hard attention, ties included, at a temperature that depends on the same gap:
between the maxima and the rest. The bound for ties here (`weight_distance`) is ours, with its constants and its proof.
"""

from __future__ import annotations

from fractions import Fraction

from hardsim.errors import InputError
from hardsim.theory.outward import BITS, exp_above

FARTHEST = Fraction(2)
"""No two weightings are farther apart in the 1-norm: both sum to 1."""
MOST_NATS = 100
"""From here on 2 stands for 2 tanh(x/2), so that no huge power is computed."""


def weight_distance(
    visible: int, maxima: int, gap: Fraction | None, eta: Fraction, tau: Fraction, coldest: Fraction | None = None
) -> Fraction:
    """Average hardmax with ties (ours); Lemma 33 where there is one maximum. A bound of
    `||softmax(s'/tau) - avghard(s)||_1`.

    Among `visible` scores s there are `maxima` maxima, all others at least `gap` below them (None where there are no
    others), and `|s'_j - s_j| <= eta`. With n scores, m maxima:

        2 (n - m)/m e^(-(gap - 2 eta)/tau) + [m > 1] 2 tanh(eta/(2 tau)), but at most 2.

    Let w_j = e^(s'_j/tau), M their sum over the maxima, R over the others, p the weights w_j/M on the maxima alone
    and r = R/(M + R). The soft weights are (1 - r) p on the maxima and sum to r elsewhere, so they are 2r away from
    p. Shifted such that the maximum of s is 0, w_j is at least e^(-eta/tau) at the maxima and at most e^((eta -
    gap)/tau) elsewhere: `r <= R/M <= (n - m)/m e^(-(gap - 2 eta)/tau)`.

    The second term is how far p may be from 1/m each, x = eta/tau. That distance is 2 (p(S) - |S|/m), S being the
    maxima with p_j > 1/m. Let a = |S|/m. On the maxima w_j lies between e^-x and e^x, and p(S) grows with the weights
    in S and falls with the others, so

        p(S) - a <= a e^x/(a e^x + (1 - a) e^-x) - a = a (1 - a)(u - 1)/(a u + 1 - a), where u = e^(2x).

    With y = e^x = sqrt(u) this is at most (y - 1)/(y + 1) = tanh(x/2) for every a in [0, 1], since

        (y - 1)(a u + 1 - a) - (y + 1) a (1 - a)(u - 1) = (y - 1)(a (y + 1) - 1)^2 >= 0.

    It is attained at a = 1/(1 + y), if m is a multiple of 1 + y: one third of the weights raised by log 2, the others
    lowered by it. As tanh z <= z the term is at most eta/tau, whatever that is. It vanishes if m = 1, where p_1 = 1.

    The cap of 2 is on the sum of both terms, since weights that sum to 1 are never farther apart. It is returned at
    once where gap <= 2 eta: a score that is no maximum may then lead. For m = 1 the bound is approached as
    gap - 2 eta grows against tau, with the maximum low by eta and all others high by it.

    Of a temperature between `coldest` and tau, tau bounds the first term, which grows with it while gap > 2 eta, and
    `coldest` the second, which falls.

    Raises:
        InputError: if tau is not positive, eta or the number of maxima is out of range, or the gap is missing or not
            positive.
    """
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
    """At least `2 tanh(x/2) = 2 (e^x - 1)/(e^x + 1)` for x > 0: how far a softmax of logits that lie within x of one
    number is from equal weights, in the 1-norm (see `weight_distance`). It grows with e^x, and is below 2."""
    if x > MOST_NATS:
        return FARTHEST
    growth = _growth_above(x)
    return 2 * growth / (growth + 2)


def _growth_above(x: Fraction) -> Fraction:
    """At least e^x - 1 for x > 0, with a relative error below 2^-90.

    Half of the digits may cancel. For x below 2^-48 it is `x/(1 - x/2)`: from `e^x <= (1 + x/2)/(1 - x/2)`, whose
    logarithm has the derivative `1/(1 - x^2/4) >= 1`; the series of both sides differ by x^3/12 at first.
    """
    if x < Fraction(1, 1 << 48):
        return x / (1 - x / 2)
    return exp_above(x, BITS + 48) - 1


def _check(visible: int, maxima: int, gap: Fraction | None, eta: Fraction, tau: Fraction) -> int:
    """How many of the visible scores are no maxima."""
    if not 1 <= maxima <= visible:
        raise InputError(f"{visible} scores cannot have {maxima} maxima")
    if tau <= 0:
        raise InputError(f"a temperature must be positive, not {tau}")
    if eta < 0:
        raise InputError(f"an error cannot be negative, as {eta} is")
    if maxima < visible and (gap is None or gap <= 0):
        raise InputError(f"scores that are no maxima lie below them by a positive gap, not {gap}")
    return visible - maxima
