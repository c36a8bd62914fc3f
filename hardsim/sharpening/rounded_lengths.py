"""The length from which on rounding makes a network wrong (ours).

**Sums.** Rounded to the nearest multiple of 2^-p, a sum of -1/2 over the n + 1 positions of a word and its beginning,
-1/(2n + 2), becomes 0 if that is at least -2^-(p+1): from n = 2^p - 1 on. A sum of -v becomes 0 from n = 2^(p+1) v - 1
on, and reaches that with v = 1/2 first.

**Exponentials.** A head that looks for the nearest position has logits that fall by g(n) nats a position, which becomes
less as n grows. If all other positions that it may select are selected too and carry the other value, they weigh E =
sum of RN(e^-(g s k)) over k = 1, ..., m relative to the nearest one: s is 1, and m = n - 1; a head that selects the
positions of one parity has s = 2 and m = (n - 2)/2, rounded down. So it reads at most 1/(1 + E) where it should read 1.
The clip behind it needs 3/4: E > 1/3 is wrong. E grows with n if g falls, as m grows and rounding is monotone. Where
the forms of the gap and the temperature do not show that g falls, no length is stated. A head that reads its own
condition has a gap that does not depend on n, and E = (n - 1) RN(e^-g).
"""

from __future__ import annotations

from fractions import Fraction

from hardsim.lang.arith import Constant, Expression, Operation, Variable
from hardsim.lazy_dataclass import dataclass
from hardsim.network.rounding import ExponentialFormat, RoundingMode
from hardsim.program.budget import Budget
from hardsim.program.hard_attention import Head, Kind, Program
from hardsim.program.regimes import PARITY
from hardsim.run.rounded_softmax import rounded_exponential

LONGEST = 1 << 20
"""Greatest length that is tried."""


@dataclass(frozen=True, slots=True)
class RoundedLimit:
    """The length from which on a network is wrong where its inputs allow it."""

    n: int
    head: str | None
    """The head whose scores are too close; None for a sum that is rounded to 0."""

    @property
    def text(self) -> str:
        """The limit as a clause."""
        if self.head is None:
            return f"from n = {self.n:,} on a sum of -1/2 is rounded to 0 (computed from the rounding)"
        return (
            f"from n = {self.n:,} on head {self.head} reads less than 3/4 in place of 1 if all other positions that it "
            "looks for carry 0 (computed from its scores)"
        )


def rounded_limit(program: Program, budget: Budget) -> RoundedLimit | None:
    """Return the least length from which on rounding makes one of the constructions wrong; None if it makes none
    wrong, or if nothing is rounded."""
    rounding, form = program.rounding, program.weighting.exponentials
    if rounding is not None and rounding.mode is RoundingMode.NEAREST:
        return RoundedLimit(max(1, (1 << rounding.bits) - 1), None)
    if form is None:
        return None
    limits = [
        RoundedLimit(n, head.name)
        for head in program.heads
        if head.kind is Kind.NEAREST and (n := _least(head, form, budget)) is not None
    ]
    return min(limits, key=lambda limit: limit.n, default=None)


def _grows(tree: Expression) -> bool:
    """Return whether an expression is seen to be positive and not to fall with i and n: a sum or product of positive
    constants and variables, over a constant."""
    match tree:
        case Constant(value):
            return value > 0
        case Variable():
            return True
        case Operation("+" | "*", left, right):
            return _grows(left) and _grows(right)
        case Operation("/", dividend, Constant(value)):
            return value > 0 and _grows(dividend)
        case _:
            return False


def _falls(head: Head, budget: Budget) -> bool:
    """Return whether the logits of a head are seen to come no nearer to each other in shorter words: a positive
    constant, or one over an expression that grows, at a temperature that does not fall."""
    match None if head.promise is None else head.promise.tree:
        case Constant():
            falling = True
        case Operation("/", Constant(value), divisor):
            falling = value > 0 and _grows(divisor)
        case _:
            falling = False
    return falling and _grows(budget.temperature.tree)


def _least(head: Head, form: ExponentialFormat, budget: Budget) -> int | None:
    """Return the least length from which on the other positions that a head selects weigh more than 1/3; None if there
    is none up to LONGEST, or if it is not seen that longer words are worse."""
    if not _falls(head, budget):
        return None
    if head.shares:
        g = budget.rate(head, 1, 1) or Fraction(0)
        one = rounded_exponential(g.numerator, g.denominator, form)
        return (1 << form.places) // (3 * one) + 2 if one else None
    step = 2 if head.select is not None and PARITY in dict(head.select.terms) else 1

    def wrong(n: int) -> bool:
        g = budget.rate(head, n, n)
        if g is None:
            return False
        others, loss = 0, Fraction(g) * step
        for k in range(1, (n - step) // step + 1):
            one = rounded_exponential(loss.numerator * k, loss.denominator, form)
            others += one
            if 3 * others > 1 << form.places:
                return True
            if not one:
                break
        return False

    low, high = 0, 1
    while not wrong(high):
        low, high = high, 2 * high
        if high > LONGEST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if wrong(middle) else (middle, high)
    return high
