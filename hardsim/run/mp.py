"""The forward pass in mpmath: a stated working precision, no enclosures.

Precision. Let L bound |s_ij / tau| over the network (`plan.largest_logit`), in nats, and u = 2^-p. A logit is an
exact rational rounded once, so e^logit is off by a factor of at most 1 + (L + 2) u, sums of n positive terms by 1 +
n u, so an attended value between -1 and 1 by at most about (2 L + 2 n + 8) u. In look-ups of counts, and in networks
with logits of many thousands of nats, weights below 10^-(dps + 5) of the largest are left out, which changes the value
by less than n u / 1000 times the largest value read. `digits_needed` makes that 10^-20 at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from mpmath import MPContext

from hardsim.errors import InputError
from hardsim.net.model import Transformer
from hardsim.run.forward import Forward
from hardsim.run.plan import Plan, largest_logit
from hardsim.spec.ir import Rational

ACCURATE_DIGITS = 20
"""Decimal digits to which attended values are computed."""


class MpArithmetic:
    """mpmath numbers of one private context with `dps` decimal digits (round to nearest)."""

    def __init__(self, dps: int) -> None:
        self.context = MPContext()
        self.context.dps = dps
        self.dps = dps
        self._zero = self.context.mpf(0)
        self._one = self.context.mpf(1)
        self._numbers: dict[Rational, Any] = {0: self._zero, 1: self._one}

    @property
    def negligible(self) -> int:
        """Nats below which a weight is less than 10^-(dps + 5) of the largest: e^2.31 > 10."""
        return 231 * (self.dps + 5) // 100 + 1

    def number(self, value: Rational) -> Any:
        """The nearest number to a rational."""
        known = self._numbers.get(value)
        if known is None:
            known = self.context.mpf(value.numerator) / value.denominator
            if len(self._numbers) < 10_000:
                self._numbers[value] = known
        return known

    def approximate(self, value: Any) -> tuple[float, float]:
        """The number as a float64, rounded once."""
        middle = float(value)
        return middle, abs(middle) * 2.0**-52 + 2.0**-1000

    def exp(self, logit: Any) -> Any:
        """e^logit."""
        return self.context.exp(self.number(logit) if isinstance(logit, int | Fraction) else logit)

    def total(self, numbers: Sequence[Any]) -> Any:
        """The correctly rounded sum."""
        return self.context.fsum(numbers)

    def clip(self, value: Any) -> Any:
        """`min(max(value, 0), 1)`; saturated values are the integers 0 and 1."""
        if value <= self._zero:
            return 0
        return 1 if value >= self._one else value

    def relu(self, value: Any) -> Any:
        """`max(value, 0)`."""
        return value if value > self._zero else 0

    def settled(self, value: Any) -> bool:
        """Numbers without enclosures always look certain."""
        return True

    def ranked(self, values: Sequence[Any], rank: int) -> Any:
        """The `rank`-th largest."""
        return sorted(values, reverse=True)[rank - 1]

    def widened(self, mean: Any, dropped: int, spread: Rational) -> Any:
        """The mean as it is: what was left out is below the working precision (see above)."""
        return mean

    def least_margin(self, values: Sequence[Any]) -> Any:
        """The least max(-z, z - 1)/2: negative inside the interval (0, 1) where a clip does not saturate."""
        half = self.number(Fraction(1, 2))
        low = [value for value in values if value <= half]
        high = [value for value in values if value > half]
        sides = ([-max(low)] if low else []) + ([min(high) - self._one] if high else [])
        return min(sides) / 2


def digits_needed(plan: Plan, n: int) -> int:
    """The decimal digits that make every attended value of a word of length n right to 10^-20."""
    amplification = 2 * largest_logit(plan, n) + 2 * n + 8
    return ACCURATE_DIGITS + len(str(int(amplification))) + 1


def mp_forward(model: Transformer, dps: int) -> Forward[Any]:
    """The network ready to run with `dps` decimal digits."""
    return Forward(model, MpArithmetic(dps))


def choose_digits(plan: Plan, n: int, wanted: int | None) -> int:
    """The precision for words of length n: what is needed, or more if asked for.

    Raises:
        InputError: if fewer digits are asked for than are needed.
    """
    needed = digits_needed(plan, n)
    if wanted is None:
        return needed
    if wanted < needed:
        raise InputError(
            f"{wanted} decimal digits are not enough at length {n}: the largest logit is up to "
            f"{float(largest_logit(plan, n)):.4g} nats, which needs {needed}",
            hint=f"Use --dps {needed} or more, or leave --dps out.",
        )
    return wanted
