"""Error bounds for one layer by the norms of its matrices: Lemmas 28 to 34, the parts of Lemma 25, which
`hardsim.sharpening.theorem26` takes coordinate by coordinate.

A hard network and a soft one have the same parameters; only the weighting differs. Their activations at a place
differ by at most `delta` in every coordinate (the max norm), and those of the hard network are at most `size` in
absolute value. Every function takes exact rationals and returns a rational that is rigorously an upper bound of the
error after its step. `v`, `w1` and `w2` are row norms of W_V (summed over the heads), W_1 and W_2; residual
connections are included.
"""

from collections.abc import Sequence
from fractions import Fraction

from hardsim.theory.outward import exp_above
from hardsim.theory.perturbation import FARTHEST, _check, shared_distance

Matrix = Sequence[Sequence[Fraction]]
ZERO = Fraction(0)


def entry_norm(matrix: Matrix) -> Fraction:
    """Return the factor of Lemma 28: `|A x| <= (number of columns) (largest |entry|) |x|` in the max norm."""
    return max((len(row) * max(map(abs, row)) for row in matrix if row), default=ZERO)


def row_norm(matrix: Matrix) -> Fraction:
    """Return the largest sum of absolute values in a row. It is never larger than `entry_norm` (ours), and attained at
    the vector of that row's signs.
    """
    return max((sum(map(abs, row), ZERO) for row in matrix), default=ZERO)


def total_norm(matrix: Matrix) -> Fraction:
    """Return the sum of the absolute values of all entries: `|x^T A y| <= total_norm(A) |x| |y|` in the max norm."""
    return sum((sum(map(abs, row), ZERO) for row in matrix), ZERO)


def activation_bound(
    size: Fraction, v: Fraction, w1: Fraction, w2: Fraction, bias1: Fraction, bias2: Fraction
) -> Fraction:
    """Bound activations by Lemma 29, one layer, with the paper's single constant taken apart.

    Activations of at most `size` leave the layer as at most `(1 + w2 w1) c + w2 bias1 + bias2`, with `c = (1 + v)
    size`. Attention takes convex combinations, and relu enlarges nothing.
    """
    return (1 + w2 * w1) * (1 + v) * size + w2 * bias1 + bias2


def ffn_error(w2: Fraction, w1: Fraction, delta: Fraction) -> Fraction:
    """Bound the error after `y = W_2 relu(W_1 c + b_1) + b_2 + c` by Lemma 30: relu enlarges no difference, and the
    biases cancel.
    """
    return delta + w2 * w1 * delta


def uniform_error(v: Fraction, delta: Fraction) -> Fraction:
    """Bound the error after uniform attention by Lemma 31: the weights are the same in both networks."""
    return delta + v * delta


def score_error(a: Fraction, size: Fraction, delta: Fraction) -> Fraction:
    """Return `eta = a (2 size delta + delta^2)`, which bounds the error of a score `x^T A y` by Lemma 32.

    `a` is the total norm of A = W_Q^T W_K: `x'^T A y' - x^T A y = x^T A (y' - y) + (x' - x)^T A y + (x' - x)^T A (y' -
    y)`.
    """
    return a * (2 * size * delta + delta * delta)


def sharp_weight_distance(visible: int, maxima: int, gap: Fraction | None, eta: Fraction, tau: Fraction) -> Fraction:
    """A smaller bound of the same distance as `weight_distance` (ours): with `q = (n - m)/m e^(-(gap - 2 eta)/tau)`,

        2q/(1 + q) + [m > 1] 2 tanh(eta/(2 tau)), but at most 2.

    R/(M + R) is q/(1 + q) at most, since R/M <= q. Where gap <= 2 eta it needs no exception, but 2 is returned as
    there.

    Raises:
        InputError: as `weight_distance`.
    """
    others = _check(visible, maxima, gap, eta, tau)
    if gap is not None and others and gap <= 2 * eta:
        return FARTHEST
    total = ZERO
    if gap is not None and others:
        ratio = Fraction(others, maxima) * exp_above(-(gap - 2 * eta) / tau)
        total += 2 * ratio / (1 + ratio)
    if maxima > 1 and eta:
        total += shared_distance(eta / tau)
    return min(total, FARTHEST)


def attention_error(v: Fraction, size: Fraction, delta: Fraction, distance: Fraction) -> Fraction:
    """Bound the error after attention by Lemma 34, with `distance` a bound of `||alpha' - alpha||_1`: `sum alpha'_j W
    x'_j - sum alpha_j W x_j = sum alpha'_j W (x'_j - x_j) + sum (alpha'_j - alpha_j) W x_j`.
    """
    return delta + v * (delta + size * distance)
