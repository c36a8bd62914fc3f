"""Floats with bounds of their errors, and e^x and the functions of hidden units made of + - * / and sqrt alone.

Let u = 2^-53. Python's floats are IEEE doubles: fl(x op y) = (x op y)(1 + d) + t with |d| <= u for + - * / and sqrt,
where t is 0 unless a product or quotient underflows, and then |t| <= 2^-1022. A sum of k terms, or of k products, is
off by at most gamma_k = k u / (1 - k u) times the sum of the absolute values, whatever the order of the additions
(Higham, *Accuracy and Stability of Numerical Algorithms*, sections 3.1 and 4.2). From version 3.12 on, Python's `sum`
compensates what it rounds; its error is at most u times the sum and about (k u)^2 times the sum of the absolute
values, which is less than gamma_(k + 1). We leave room of 2 or more in k everywhere.

A bound of errors is itself a sum of products of floats that are at least 0. It is computed with at most 2^30 roundings,
so a factor GROW after the last one makes it an upper bound. ETA is added where products may underflow: it is greater
than all that 2^30 underflows lose, also where the result is multiplied by numbers of at most LARGEST afterwards.

A number of a document is a float, or a text "p/q" that is rounded to the nearest float. So every stored number is
within u times its size of the true one (and 2^-1074), which one more in k covers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from operator import mul

from hardsim.verify.arithmetic import Rejected, require

U = 2.0**-53
"""The unit roundoff u."""
ETA = 2.0**-900
"""A bound of everything that underflows in one step of a calculation."""
GROW = 1 + 2.0**-20
"""A factor that covers the roundings of a bound."""
LARGEST = 2.0**64
"""Numbers of a document are at most this in size. Keys, values and scores do not overflow then. A later number that
does is infinite or NaN; comparisons are written so that neither decides anything in favour of a claim."""
EXP_ERROR = 4 * U
"""A bound of the relative error of `exp`."""
FAR = 700.0
"""Beyond this distance from 0, e^x is not computed."""
NEGLIGIBLE = 2.0**-1000
"""More than e^-FAR."""


def require_doubles() -> None:
    """Raise Rejected unless Python's floats are IEEE doubles that are rounded to nearest, without flushing to 0."""
    tiny, one = sys.float_info.min / 4, 1.0
    fine = sys.float_info.mant_dig == 53 and tiny > 0.0 and one + U == one < one + 3 * U == one + 4 * U
    fine = fine and one - U < one and one - U / 2 == one and (one + 2 * U) + U == one + 4 * U
    require(fine, "this machine does not round numbers to the nearest double")


def gamma(k: int) -> float:
    """Return a float that is at least k u / (1 - k u), for k < 2^30."""
    return k * U * GROW


def dot(x: Sequence[float], y: Sequence[float]) -> float:
    """Return the sum of the products of two sequences; the longer one is cut off. With k terms the error is at most
    gamma(k + 1) times the sum of the absolute values of the products, and k 2^-1022."""
    found: float = sum(map(mul, x, y))
    return found


# ---- e^x ----
# ln 2 to 63 digits, which a test compares with another source.
_LN2 = Fraction(693147180559945309417232121458176568075500134360255254120680009, 10**63)
PI = Fraction(314159265358979323846264338327950288419716939937510582097494459, 10**62)
# ln 2 / 32 in two parts. The first is a multiple of 2^-40, so its product with an integer below 2^15 is exact.
_COARSE = float(Fraction(int(_LN2 / 32 * 2**40), 2**40))
_FINE = float(_LN2 / 32 - Fraction(_COARSE))
_PER_STEP = float(32 / _LN2)


def _root(power: int) -> float:
    """Return 2^(power / 32), as 5 square roots of integers scaled by 2^200: each root loses at most one unit and halves
    what was lost before, so the quotient is within 2^-198 of the true number before it is rounded."""
    found = 1 << (200 + power)
    for _ in range(5):
        found = isqrt(found << 200)
    return found / (1 << 200)


_ROOTS = [_root(power) for power in range(32)]
_POWERS = [2.0**k for k in range(-1020, 1021)]


def exp(x: float) -> float:
    """Return e^x for |x| <= FAR with a relative error of at most EXP_ERROR = 4 u. Raises Rejected for other x.

    With n the integer nearest to 32 x / ln 2, e^x = 2^(n / 32) e^r. As |n| < 2^15, n _COARSE is exact, and the computed
    x - n _COARSE is within u of its size, at most 0.0109; n _FINE is below 2^-25 and adds next to nothing. So r is off
    by at most 0.03 u, and |r| <= 0.01084 (half a step, and 2^-36 of one for the rounding of 32 x / ln 2). The series of
    e^r to r^6 / 720 leaves out r^7 / 5040 + ... < 0.04 u. By Horner's rule the last addition adds u p, for p near e^r,
    and all before it at most 2.1 u |r| < 0.03 u. So p is off by at most 1.15 u e^r, as e^r >= 0.989. The power 2^(n /
    32) is a stored root, off by u and a little, times a power of 2, which is exact. With the last product the relative
    error is below 3.2 u.
    """
    if not -FAR <= x <= FAR:
        raise Rejected(f"too large: e^x for an |x| above {FAR}")
    n = round(x * _PER_STEP)
    r = (x - n * _COARSE) - n * _FINE
    p = 1.0 + r * (1.0 + r * (0.5 + r * (1 / 6 + r * (1 / 24 + r * (1 / 120 + r * (1 / 720))))))
    return p * _ROOTS[n & 31] * _POWERS[(n >> 5) + 1020]


_BELOW, _ABOVE = 1 - 8 * U, 1 + 8 * U


def exp_between(x: float) -> tuple[float, float]:
    """Return a lower and an upper bound of e^x. Below -FAR they are 0 and NEGLIGIBLE. Raises Rejected above FAR."""
    if x < -FAR:
        return 0.0, NEGLIGIBLE
    found = exp(x)
    # 4 u for `exp` and u for each of these products
    return found * _BELOW, found * _ABOVE


def logistic(x: float) -> float:
    """Return 1 / (1 + e^-x). The error is at most 7 u, relative to the result, and at most NEGLIGIBLE if |x| > FAR.

    e^-x is right to 4 u; the sum and the quotient add u each.
    """
    if x > FAR:
        return 1.0
    return 1 / (1 + exp(-x)) if x >= -FAR else 0.0


# ---- the normal distribution ----
PIECES = 72
"""The tail of the normal distribution is computed on this many pieces of width 1/8; beyond them it is below 2^-62."""
TERMS = 11
"""Number of coefficients of each piece."""
_BITS = 256


@lru_cache(maxsize=1)
def _tail_table() -> list[tuple[float, ...]]:
    """Return the Taylor coefficients of the tail Q(t) of the normal distribution, at the middle of each piece.

    With phi the density, Phi(t) - 1/2 = phi(t) (t + t^3/3 + t^5/15 + ...), a sum of positive terms. The derivatives are
    Q' = -phi and phi^(n) = (-1)^n He_n phi, with the polynomials He_0 = 1, He_1 = t, He_(n+1) = t He_n - n He_(n-1).
    At t = k / 16 the density has the factor e^(-k^2 / 512), and k^2 grows by 8, 16, 24, ... from one odd k to the next.
    Numbers are integers in units of 2^-256. Each of at most 1000 operations loses one unit; divided by the least
    density, above 2^-64, and multiplied by sums below 2^64, all that is lost stays below 2^-100.
    """
    one = 1 << _BITS
    # e^(-1/512): the alternating series of integers, until the terms vanish
    term, small, number = one, 0, 0
    while term:
        small, number = small + term, number + 1
        term = -(abs(term) // (512 * number)) if term > 0 else abs(term) // (512 * number)
    power, step, eighth = small, one, small
    for _ in range(3):
        eighth = eighth * eighth >> _BITS
    two_pi = isqrt(int(2 * PI * one) << _BITS)
    found = []
    for piece in range(PIECES):
        odd, density = 2 * piece + 1, (power << _BITS) // two_pi
        step = step * eighth >> _BITS
        power = power * step >> _BITS
        term, total, number = one * odd // 16, 0, 1
        while term:
            total, number = total + term, number + 2
            term = term * odd * odd // (256 * number)
        middle, factorial = Fraction(odd, 16), 1
        polynomials = [Fraction(1), middle]
        row = [Fraction(one // 2 - (density * total >> _BITS), one)]
        for k in range(1, TERMS):
            factorial *= k
            row.append((-1) ** k * polynomials[k - 1] * Fraction(density, one) / factorial)
            polynomials.append(middle * polynomials[k] - k * polynomials[k - 1])
        found.append(tuple(map(float, row)))
    return found


def tail(t: float) -> float:
    """Return the probability Q(t) that a normal variable is above t >= 0. The absolute error is at most 2 u.

    With m the middle of the piece of t and h = t - m, |h| <= 1/16, Q(t) is the sum of q_k h^k. What is left out after
    h^10 is at most h^11 / 11! times the greatest |He_10 phi|, which Cramer's bound puts below sqrt(10!) / 2: together
    below 2^-59. |q_0| <= 1/2 and |q_1| <= 0.4, and all others are below 0.2. By Horner's rule the last addition adds u
    / 2, the rounding of q_0 u / 2, and all other roundings, that of h included, at most 2.3 u 0.42 / 16 < 0.1 u.
    """
    piece = int(t * 8) if t < PIECES / 8 else PIECES
    if piece == PIECES:
        return 0.0
    a, b, c, d, e, f, g, i, j, k, m = _tail_table()[piece]
    h = t - (piece + 0.5) / 8
    return a + h * (b + h * (c + h * (d + h * (e + h * (f + h * (g + h * (i + h * (j + h * (k + h * m)))))))))


# ---- functions of hidden units ----
ACTIVATION_ERROR = 16 * U
"""At a float x each function below is off by at most this times |x|, and ETA."""


def relu(x: float) -> float:
    """Return max(x, 0), exactly."""
    return x if x > 0 else 0.0


def gelu(x: float) -> float:
    """Return x Phi(x) = x (1 - Q(x)), or x Q(-x) for x < 0: 2 u for Q, and u for the difference and the product."""
    return x * (1 - tail(x)) if x > 0 else x * tail(-x)


# 2 sqrt(2 / pi), and that times 0.044715
LINEAR = 2 * isqrt(int(2 / PI * 2**400)) / 2**200
CUBIC = float(Fraction(2 * isqrt(int(2 / PI * 2**400)), 2**200) * Fraction(44715, 10**6))


def gelu_new(x: float) -> float:
    """Return x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2 = x / (1 + e^-z) with z = x (A + B x^2).

    z has a relative error of at most 7 u, since all terms of A + B x^2 are positive. By the mean value theorem that
    moves the logistic function by at most 7 u times the greatest |z'| e^-|z'| < 0.4, that is less than 3 u. With the 7
    u of `logistic` and the last product the sum is below 12 u.
    """
    return x * logistic(x * (LINEAR + CUBIC * x * x))


def silu(x: float) -> float:
    """Return x / (1 + e^-x): 7 u for the logistic function, and u for the product."""
    return x * logistic(x)


STEEP = 1.702
"""The factor of the argument in `quick_gelu`, within u."""


def quick_gelu(x: float) -> float:
    """Return x / (1 + e^(-1.702 x)): the factor and the product move the argument z by at most 2 u |z|, so the logistic
    function by at most 2 u |z| e^-|z| < u; 7 u for that function, and u for the last product."""
    return x * logistic(STEEP * x)


def tanh(x: float) -> float:
    """Return the hyperbolic tangent.

    For |x| < 1/4 it is sinh / cosh by their series, whose terms are positive and end below u / 8: at most 12 u. For
    others let t = e^-2|x|, right to 4 u, and g = (1 - t) / (1 + t). As |t g'(t)| <= 1/2, the error of t adds at most 2
    u, and three operations add 3 u g. For |x| <= 1/3 that is below 3 u, at most 12 u |x|; for others 5 u < 16 u |x|.
    """
    size, square = abs(x), x * x
    if size < 0.25:
        sinh = 1 + square / 6 * (1 + square / 20 * (1 + square / 42 * (1 + square / 72 * (1 + square / 110))))
        inner = 1 + square / 56 * (1 + square / 90 * (1 + square / 132))
        cosh = 1 + square / 2 * (1 + square / 12 * (1 + square / 30 * inner))
        return x * sinh / cosh
    t = exp(-2 * size) if size <= FAR / 2 else 0.0
    found = (1 - t) / (1 + t)
    return found if x > 0 else -found


ACTIVATIONS: Mapping[str, Callable[[float], float]] = {
    "relu": relu,
    "gelu": gelu,
    "gelu_new": gelu_new,
    "silu": silu,
    "quick_gelu": quick_gelu,
    "tanh": tanh,
}
"""The functions of hidden units, by the name in a certificate."""
STEEPEST = {"relu": 1.0, "gelu": 1.13, "gelu_new": 1.13, "silu": 1.101, "quick_gelu": 1.101, "tanh": 1.001}
"""For each function a bound of its slope, in size."""
CURVATURE = {"relu": 0.0, "gelu": 0.8, "gelu_new": 0.8, "silu": 0.501, "quick_gelu": 0.853, "tanh": 0.771}
"""For each function a bound of its second derivative, in size; relu has a kink instead."""
