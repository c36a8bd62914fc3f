"""The paper's lemmas as functions: each returns the bound that the lemma states.

Bounds are numbers of the given context; g and beta are exact. A context is either mpmath's, which rounds to nearest,
or that of balls (`run.ball.LEMMA_BALLS`), which encloses the bound.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Protocol

MOST_TERMS = 1000
"""The greatest number of terms of a series that are added one by one."""


class NumberContext(Protocol):
    """A number type: it makes numbers from integers, and computes e^x and square roots."""

    dps: int

    def mpf(self, x: Any, /) -> Any:
        """Return the number that equals an integer."""

    def exp(self, x: Any, /) -> Any:
        """Return e^x."""

    def sqrt(self, x: Any, /) -> Any:
        """Return the square root of x."""


def number(x: Fraction, context: NumberContext) -> Any:
    """Return a rational at the precision of the context."""
    return context.mpf(x.numerator) / x.denominator


def exponential(x: Fraction, context: NumberContext) -> Any:
    """Return e^x at the precision of the context."""
    return context.exp(number(x, context))


def geometric_distance(g: Fraction, context: NumberContext) -> Any:
    """Lemma 6: return `4 x / (1 + x)` with x = e^-g, g > 0 nats per position. If `s_j <= s_j* - g |j - j*|` for all
    j, then `||hardmax(s) - softmax(s)||_1` is at most this number.

    The weight off the winner is at most T/(1 + T) with T = 2 (x + x^2 + ...) = 2x/(1 - x), that is 2x/(1 + x); the
    distance is twice that. Scores that fall off at exactly this rate to both sides approach the bound.
    """
    x = exponential(-g, context)
    return 4 * x / (1 + x)


def attended_error(g: Fraction, context: NumberContext) -> Any:
    """Bound the error of a value between 0 and 1 that is attended to under the condition of Lemma 6: 2x/(1 + x), x =
    e^-g.

    This is half of Lemma 6 (ours): the value moves by at most the weight that the winner lost.
    """
    return geometric_distance(g, context) / 2


def nearest_first_error(power: Any, m: int, context: NumberContext) -> Any:
    """Bound the error of a Boolean that geometric attention reads at the nearest selected of m positions (ours):
    1 - (1 - x)^m with x = 1/(1 + power), where `power` is e^(score of a selected position / temperature), and other
    positions have the opposite score (see `program.budget`)."""
    x = 1 / (1 + power)
    return x if m == 1 else 1 - (1 - x) ** m


def look_up_error(g: Fraction, context: NumberContext) -> Any:
    """Lemma 7: return `2 e^-g (1 + 1/(2g))`, for g < 1/2 a similar number. For logits `g (2jc - j^2)` nats and an
    integer 1 <= c <= n, `|sum_j alpha_j j - c|` is at most this number.

    The sum of k e^(-g k^2) over k >= 1 is at most its first term plus the integral from 1, for g >= 1/2 (there the
    integrand falls). For smaller g the first term is replaced by the largest value of k e^(-g k^2), at k =
    1/sqrt(2g), and the integral starts at 0.
    """
    x = exponential(-g, context)
    rate = context.mpf(g.numerator) / g.denominator
    if 2 * g >= 1:
        return 2 * x * (1 + 1 / (2 * rate))
    return 2 * (context.exp(context.mpf(-1) / 2) / context.sqrt(2 * rate) + 1 / (2 * rate))


def halved_look_up_error(g: Fraction, context: NumberContext) -> Any:
    """Return half of Lemma 7's bound (ours): positions before c pull the mean down and those after it up, so only one
    side counts."""
    return look_up_error(g, context) / 2


def table_error(g: Fraction, context: NumberContext) -> Any:
    """Bound the error of a 0/1 value read by the look-up of Lemma 7: `2t / (1 + 2t)`, `t = sum_(k >= 1) e^(-g k^2)`.

    This is the weight off the winner, with infinitely many positions on both sides. The rest after term k is at most
    the integral of e^(-g u^2) from k on, and so at most that of (u/k) e^(-g u^2), which is e^(-g k^2) / (2 g k). So
    finitely many terms are enough, however small g is.
    """
    total, k, term = context.mpf(0), 0, context.mpf(1)
    smallest = context.mpf(10) ** (-context.dps)
    while not term < smallest and k < MOST_TERMS:
        k += 1
        term = exponential(-g * k * k, context)  # a power of a ball around 0 may be no number
        total += term
    total += term * g.denominator / (2 * k * g.numerator)
    return 2 * total / (1 + 2 * total)


def sign_error(g: Fraction, context: NumberContext) -> Any:
    """Bound the weight of the wrong positions in a sign test (ours), where even and odd positions differ by at least
    g nats: 2x/(1 + 2x).

    Here x = e^-g: among two or more neighbouring positions, one parity is at most twice as frequent as the other (2
    to 1 among three).
    """
    x = exponential(-g, context)
    return 2 * x / (1 + 2 * x)


def ramp_sign_error(beta: Fraction, n: int, context: NumberContext) -> Any:
    """Bound the weight of the wrong positions in a sign test with keys (-1)^j j^2 at temperature 1 (ours), over all
    queries 2 <= i <= n.

    With |y| >= 1/(2i) the best right position has logit at least beta (i - 1)^2/(2i), and each of the at most
    ceil(i/2) wrong ones has at most -beta/(2i). With r their ratio, the wrong ones have weight at most r/(1 + r).
    """
    worst = context.mpf(0)
    for i in range(2, n + 1):
        ratio = -(-i // 2) * exponential(-beta * (1 + (i - 1) ** 2) / (2 * i), context)
        share = ratio / (1 + ratio)
        # Balls that overlap are not ordered: their own maximum encloses the larger one.
        worst = worst.max(share) if hasattr(worst, "max") else max(worst, share)
    return worst
