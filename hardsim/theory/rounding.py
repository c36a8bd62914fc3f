"""Rounding: Lemma 27, on the cost of rounding to many bits, and a bound on the error of a softmax network computed
with rounded numbers (ours).

The bound is known before anything is computed. Every operation multiplies its result by some 1 + d with |d| <= u, and
numbers made only from exact rationals are exact. For each number, the size X bounds the exact value, and E u bounds
the error of the computed one. With E u <= 1/4 for every number and 8 m u <= 1 for every count m of roundings below,
(1 + u)^m - 1 <= 2 m u, a computed number is at most X + 1 in size, and by induction over the operations:

- `b + sum of k terms c_j x_j`: conversions, products and sums round each term at most 4k + 8 times, so that E = sum
  |c_j| E_j + 8 (k + 2) (|b| + sum |c_j| (X_j + 1)). Cancellation enters here: the absolute terms count.
- A clip or relu moves two numbers no further apart: E stays.
- A logit `beta sum q_t k_t`, of exact q and k, is converted once: E = 4 L + 1, L its size. For rounded q and k, the
  products are off by E_q (K + 1) + Q E_k, and 8 roundings of each add up to E = beta sum (E_q (K + 1) + Q E_k + 16 (Q
  + 1) (K + 1)).
- e^l is off by a factor of at most 1 + w, w = (2 E + 4) u, since e^d - 1 <= 2d for d <= 1/4. Weights that are off by
  factors of 1 + w each move by at most 4w together once they are divided by their sum, so a mean of values of size X
  moves by 4 w X; sums of n terms and the division round at most 2n + 10 times, relative to the mean of absolute
  values; at most n weights below u/500 of the largest may be left out. Together E = E_v + 8 (E_l + 2) X + 5 (n + 4)
  (X + 1).
- A mean of n equally weighted values: E = E_v + 2 (n + 4) (X + 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from hardsim.errors import InputError
from hardsim.lazy_dataclass import dataclass
from hardsim.theory.outward import round_up


def pieces(depth: int, width: int) -> int:
    """Telgarsky (2015), Lemma 2.1: return `(2 width)^depth`, a bound of the number of pieces of a ReLU network on
    one number.

    The network has `depth` hidden layers of at most `width` units and a linear output; it is continuous and piecewise
    affine. A sum of m functions with at most p pieces has at most m (p - 1) + 1 <= m p, and relu cuts every piece in
    two at most: each hidden layer multiplies the bound by 2m. Raises InputError if depth or width is not positive."""
    _check(depth=depth, width=width)
    return int((2 * width) ** depth)


def pieces_for_rounding(bits: int) -> int:
    """Lemma 27: return 2^bits. A function that rounds b-bit numbers to `bits` < b bits has at least this many pieces.

    For two neighbouring results y < y', let x < x' be the least numbers that are rounded to them, and z the number
    after x. If z is rounded to y as well, x and x' cannot share a piece: on it the result at z would lie strictly
    between y and y'. So every result begins a piece of its own. This needs two numbers or more for each result but the
    last, which holds when rounding down, and when rounding to nearest unless b = bits + 1 and ties go to even. Raises
    InputError if `bits` is not positive."""
    _check(bits=bits)
    return 1 << bits


def least_width(bits: int, depth: int) -> int:
    """Lemma 27: return the least m with (2m)^depth >= 2^bits. A ReLU network of this depth that rounds to `bits` bits
    has at least this width. Raises InputError if bits or depth is not positive."""
    _check(bits=bits, depth=depth)
    expected = pieces_for_rounding(bits)
    low, high = 1, 1 << (-(-bits // depth) - 1)  # 2m = 2^ceil(bits/depth), or m = 1, is enough
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if pieces(depth, middle) >= expected else (middle + 1, high)
    return low


def _check(**positive: int) -> None:
    for name, value in positive.items():
        if value < 1:
            raise InputError(f"Lemma 27 needs a positive {name}, not {value}")


# ---- computing with rounded numbers ----


@dataclass(frozen=True, slots=True)
class Rounded:
    """Bounds for a number before it is computed: at most `size` in absolute value, with an error of at most `error` u
    (0: exact)."""

    size: Fraction
    error: Fraction = Fraction(0)

    @property
    def exact(self) -> bool:
        """True if the number is computed without rounding."""
        return not self.error

    @property
    def reach(self) -> Fraction:
        """The largest absolute value that the computed number can have."""
        return self.size if self.exact else self.size + 1


def rounded_sum(terms: Sequence[tuple[Fraction, Rounded]], bias: Fraction = Fraction(0)) -> Rounded:
    """Return the bounds of `bias + sum c x`, from the coefficients c and the bounds of the x."""
    size = abs(bias) + sum((abs(c) * x.size for c, x in terms), Fraction(0))
    if all(x.exact for _, x in terms):
        return Rounded(round_up(size))
    reach = abs(bias) + sum((abs(c) * x.reach for c, x in terms), Fraction(0))
    carried = sum((abs(c) * x.error for c, x in terms), Fraction(0))
    return Rounded(round_up(size), round_up(carried + 8 * (len(terms) + 2) * reach))


def rounded_logit(pairs: Sequence[tuple[Rounded, Rounded]], inverse: Fraction) -> Rounded:
    """Return the bounds of the logit `inverse * sum q k`, from the bounds of queries q and keys k; `inverse` is
    beta."""
    size = inverse * sum((q.size * k.size for q, k in pairs), Fraction(0))
    if all(q.exact and k.exact for q, k in pairs):
        return Rounded(round_up(size), round_up(4 * size + 1))
    off = sum((q.error * k.reach + q.size * k.error + 16 * (q.size + 1) * (k.size + 1) for q, k in pairs), Fraction(0))
    return Rounded(round_up(size), round_up(inverse * off))


def rounded_attention(logit: Rounded, value: Rounded, n: int) -> Rounded:
    """Return the bounds of a softmax-weighted mean of n values."""
    mean = 8 * (logit.error + 2) * value.size + 5 * (n + 4) * (value.size + 1)
    return Rounded(value.size, round_up(value.error + mean))


def rounded_mean(value: Rounded, n: int) -> Rounded:
    """Return the bounds of an equally weighted mean of n values."""
    return value if value.exact else Rounded(value.size, round_up(value.error + 2 * (n + 4) * (value.size + 1)))
