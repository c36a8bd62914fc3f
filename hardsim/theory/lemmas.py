"""The paper's lemmas as functions: each returns the bound that it states.

Bounds are mpmath numbers at the precision of the context given, rounded to nearest; g and beta are exact.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mpmath import MPContext


def exponential(x: Fraction, context: MPContext) -> Any:
    """e^x at the precision of the context."""
    return context.exp(context.mpf(x.numerator) / x.denominator)


def geometric_distance(g: Fraction, context: MPContext) -> Any:
    """Lemma 6: if `s_j <= s_j* - g |j - j*|` for all j, then `||hardmax(s) - softmax(s)||_1 <= 4 x / (1 + x)` with
    x = e^-g, g > 0 nats a position.

    The weight off the winner is at most T/(1 + T) with T = 2 (x + x^2 + ...) = 2x/(1 - x), that is 2x/(1 + x); the
    distance is twice that. Approached by scores that fall off at exactly this rate to both sides.
    """
    x = exponential(-g, context)
    return 4 * x / (1 + x)


def attended_error(g: Fraction, context: MPContext) -> Any:
    """How far a value between 0 and 1, attended to under the condition of Lemma 6, is from the winner's: at most
    2x/(1 + x), x = e^-g.

    Half of Lemma 6 (ours): the value moves by at most the weight that the winner lost.
    """
    return geometric_distance(g, context) / 2
