"""How errors pass through one layer: Lemmas 28 to 34, the parts of Lemma 25.

A hard network and a soft one have the same parameters; only the weighting differs. Their activations at a place
differ by at most `delta` in every coordinate (the max norm), and those of the hard network are at most `size` in
absolute value. Every function takes exact rationals and returns a rational that is rigorously an upper bound of the
error further on. Norms of matrices are those that the max norm induces: the largest sum of absolute values in a row.
The paper bounds them by the width times the largest entry (`entry_norm`); row sums are never larger (ours).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from hardsim.errors import InputError
from hardsim.theory.outward import BITS, exp_above

FARTHEST = Fraction(2)
"""No two weightings are farther apart in the 1-norm: both sum to 1."""

Matrix = Sequence[Sequence[Fraction]]


def entry_norm(matrix: Matrix) -> Fraction:
    """Lemma 28: `|A x| <= (number of columns) (largest |entry|) |x|` in the max norm; this is the factor.

    Attained where all entries of a row have this absolute value.
    """
    return max((len(row) * max(map(abs, row)) for row in matrix if row), default=Fraction(0))


def row_norm(matrix: Matrix) -> Fraction:
    """The largest sum of absolute values in a row: `|A x| <= row_norm(A) |x|` in the max norm.

    Exact: attained at the vector of the signs of that row.
    """
    return max((sum(map(abs, row), Fraction(0)) for row in matrix), default=Fraction(0))


def total_norm(matrix: Matrix) -> Fraction:
    """The sum of the absolute values of all entries: `|x^T A y| <= total_norm(A) |x| |y|` in the max norm.

    This is `a` of Lemma 32, for A = W_Q^T W_K.
    """
    return sum((sum(map(abs, row), Fraction(0)) for row in matrix), Fraction(0))


def activation_bound(
    size: Fraction,
    value: Fraction,
    w1: Fraction,
    w2: Fraction,
    bias1: Fraction = Fraction(0),
    bias2: Fraction = Fraction(0),
) -> Fraction:
    """Lemma 29, one layer: activations of at most `size` leave it as at most `(1 + w2 w1) c + w2 bias1 + bias2`, with
    `c = (1 + value) size`.

    `value`, `w1`, `w2` are the row norms of W_V (summed over the heads), W_1 and W_2, the biases' are max norms.
    Attention takes convex combinations, and relu enlarges nothing; both residual connections are included. Applied
    layer by layer it is the paper's bound with its single constant taken apart. Attained by inputs that are all
    `size` and nonnegative parameters, the same sum in every row of a matrix and the same bias everywhere.
    """
    after_attention = (1 + value) * size
    return (1 + w2 * w1) * after_attention + w2 * bias1 + bias2


def ffn_error(w2: Fraction, w1: Fraction, delta: Fraction) -> Fraction:
    """Lemma 30, residual connection included: `y = W_2 relu(W_1 c + b_1) + b_2 + c` moves by at most `delta + w2 w1
    delta` if c moves by at most `delta`.

    `w1`, `w2` are row norms; relu enlarges no difference, and the biases cancel. Attained by nonnegative
    matrices with the same sum in every row, while all hidden units are active.
    """
    return delta + w2 * w1 * delta


def uniform_error(v: Fraction, delta: Fraction) -> Fraction:
    """Lemma 31, residual connection included: uniform attention has the same weights in both networks, so its output
    moves by at most `delta + v delta`, v the row norm of W_V (for several heads, the sum). Attained by W_V = 1.
    """
    return delta + v * delta


def score_error(a: Fraction, size: Fraction, delta: Fraction) -> Fraction:
    """Lemma 32: `eta = a (2 size delta + delta^2)` bounds the error of a score `x^T A y`, A = W_Q^T W_K, with `a` the
    sum of the absolute values of its entries.

    `x'^T A y' - x^T A y = x^T A (y' - y) + (x' - x)^T A y + (x' - x)^T A (y' - y)`. Attained by a matrix of one sign
    and activations that are all `size`, off by `delta` upwards.
    """
    return a * (2 * size * delta + delta * delta)


def weight_distance(visible: int, maxima: int, gap: Fraction | None, eta: Fraction, tau: Fraction) -> Fraction:
    """Average hardmax with ties (ours); Lemma 33 where there is one maximum. A bound of
    `||softmax(s'/tau) - avghard(s)||_1`.

    Among `visible` scores s there are `maxima` maxima, all others at least `gap` below them (None where there are no
    others), and `|s'_j - s_j| <= eta`. With n scores, m maxima:

        2 (n - m)/m e^(-(gap - 2 eta)/tau) + [m > 1] (e^(2 eta/tau) - 1), but at most 2.

    Let w_j = e^(s'_j/tau), M their sum over the maxima, R over the others, p the weights w_j/M on the maxima alone
    and r = R/(M + R). The soft weights are (1 - r) p on the maxima and sum to r elsewhere, so they are 2r away from
    p. Shifted such that the maximum of s is 0, w_j is at least e^(-eta/tau) at the maxima and at most e^((eta -
    gap)/tau) elsewhere: `r <= R/M <= (n - m)/m e^(-(gap - 2 eta)/tau)`. On the maxima all w_j lie within a factor
    e^(2 eta/tau) of their mean, and p_j is 1/m times w_j over that mean, so `|p_j - 1/m| <= (e^(2 eta/tau) - 1)/m`;
    the sum over m of these is the second term, and it vanishes if m = 1, where p_1 = 1.

    The cap of 2 is on the sum of both terms, since weights that sum to 1 are never farther apart. It is returned at
    once where gap <= 2 eta: a score that is no maximum may then lead. For m = 1 the bound is approached as
    gap - 2 eta grows against tau, with the maximum low by eta and all others high by it.

    Raises:
        InputError: if tau is not positive, eta or the number of maxima is out of range, or the gap is missing or not
            positive.
    """
    others = _check(visible, maxima, gap, eta, tau)
    if gap is not None and others and gap <= 2 * eta:
        return FARTHEST
    total = Fraction(0)
    if gap is not None and others:
        total += Fraction(2 * others, maxima) * exp_above(-(gap - 2 * eta) / tau)
    if maxima > 1 and eta:
        # e^2 - 1 > 2: nothing is lost, and no huge power is computed.
        total += FARTHEST if eta >= tau else _growth_above(2 * eta / tau)
    return min(total, FARTHEST)


def sharp_weight_distance(visible: int, maxima: int, gap: Fraction | None, eta: Fraction, tau: Fraction) -> Fraction:
    """A smaller bound of the same distance (ours): with `q = (n - m)/m e^(-(gap - 2 eta)/tau)`,

        2q/(1 + q) + [m > 1] 2 (e^h - 1)/(e^h + 1), h = eta/tau, but at most 2.

    As for `weight_distance`, with two steps kept exact. R/(M + R) is q/(1 + q) at most, since R/M <= q. And among m
    weights within [e^-h, e^h], `sum |p_j - 1/m|` is twice the largest p(S) - |S|/m over the sets S of maxima; p(S) is
    largest with the weights in S at e^h and the others at e^-h. With t = |S|/m and u = e^(2h) that makes
    `2t (1 - t)(u - 1)/(t u + 1 - t)`, and over all real t the maximum is at t = 1/(1 + e^h), the second term. For
    m = 1 the bound is attained, with the maximum low by eta and all others high by it; for n = m it is approached
    with a share of about t high by eta.
    Where gap <= 2 eta it needs no exception, but 2 is returned as there.

    Raises:
        InputError: as `weight_distance`.
    """
    others = _check(visible, maxima, gap, eta, tau)
    if gap is not None and others and gap <= 2 * eta:
        return FARTHEST
    total = Fraction(0)
    if gap is not None and others:
        ratio = Fraction(others, maxima) * exp_above(-(gap - 2 * eta) / tau)
        total += 2 * ratio / (1 + ratio)
    if maxima > 1 and eta:
        # With e^h - 1 = x the term is 2x/(x + 2): it grows with x and stays below 2, which stands for it where h is
        # large.
        growth = _growth_above(eta / tau) if eta <= 100 * tau else None
        total += FARTHEST if growth is None else 2 * growth / (growth + 2)
    return min(total, FARTHEST)


def attention_error(v: Fraction, size: Fraction, delta: Fraction, distance: Fraction) -> Fraction:
    """Lemma 34, residual connection included: `delta + v (delta + size distance)`, with `distance` a bound of
    `||alpha' - alpha||_1` and v the row norm of W_V. With several heads, add `v (delta + size distance)` of each.

    `sum alpha'_j W x'_j - sum alpha_j W x_j = sum alpha'_j W (x'_j - x_j) + sum (alpha'_j - alpha_j) W x_j`, and the
    alpha'_j sum to 1. Attained by W = 1, a winner at `size` with all others at -`size`, and all off by `delta`
    downwards.
    """
    return delta + v * (delta + size * distance)


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
