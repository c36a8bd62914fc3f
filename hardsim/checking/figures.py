"""The numbers that a report shows of a tally: rigorous bounds, or the digits of the words that attain them.

- mpmath: what was found.
- float64 and ball: bounds, rounded outwards to DIGITS decimal digits.
- auto: the word that attains an extreme is run again in mpmath, and its digits are shown where the enclosures
  resolve the number; where they do not (an error of 10^-30, say, enclosed by 0 and 10^-15) the bound is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import partial

from hardsim.checking.batch import FLOAT_DIGITS
from hardsim.checking.result import AUTO, FLOAT64, MPMATH, Mismatch, Word
from hardsim.checking.soft import Bounds, SoftAnswer
from hardsim.checking.tally import Extreme, Figures, Tally
from hardsim.errors import InvariantError

DIGITS = 20
RESOLVED = Fraction(1, 2**20)
"""The bound of all words resolves a number that is so close to it, relatively."""
SLACK = Fraction(1, 10**18)
"""More than mpmath is off (10^-20 for values up to 1), relative to 1 plus the size of the number."""

Recompute = Callable[[Word], SoftAnswer]
"""What mpmath finds on a word."""
Pick = Callable[[SoftAnswer], Bounds | None]


def settle(tally: Tally, engine: str, recompute: Recompute | None, digits: int) -> Figures:
    """The figures of a tally by one engine; `recompute` and `digits` are those of mpmath. Without `recompute` they are
    what was found: of `auto` its bounds."""
    if engine == MPMATH or (engine == AUTO and recompute is not None):
        show = _Shown(engine, recompute)
    else:
        show = _Shown(engine, None)
        digits = FLOAT_DIGITS if engine == FLOAT64 else tally.digits
    low, high = tally.least_accepted, tally.largest_rejected
    return Figures(
        acceptance_gap=None
        if low is None or high is None
        else show.difference(low, high, lambda found: found.unrounded),
        margin=show.number(tally.margin, lambda found: found.margin),
        errors={head: _known(show.number(extreme, partial(_error_of, head))) for head, extreme in tally.errors.items()},
        sum_error=show.number(tally.sum_error, lambda found: found.sum_error),
        digits=digits,
    )


def _error_of(head: str, found: SoftAnswer) -> Bounds:
    return found.errors[head]


def settle_mismatch(found: Mismatch, recompute: Recompute) -> Mismatch:
    """A mismatch with the digits of mpmath.

    Raises:
        InvariantError: if mpmath answers otherwise than the rigorous arithmetic.
    """
    again = recompute(found.word)
    if again.answer is found.soft:
        return replace(found, value=again.value)
    if _too_close(again):
        return found
    raise InvariantError(f"on the word {' '.join(found.word)} mpmath and the rigorous arithmetic answer differently")


def settle_answer(word: Word, found: SoftAnswer, again: SoftAnswer) -> SoftAnswer:
    """The answer of one word with the digits of mpmath.

    Raises:
        InvariantError: if mpmath finds another answer, or a number outside its enclosure.
    """
    pairs = [(found.output, again.output), (found.unrounded, again.unrounded), (found.margin, again.margin)]
    if not all(_inside(bounds, value) for bounds, value in pairs):
        raise InvariantError(f"on the word {' '.join(word)} mpmath finds a value outside the rigorous enclosure")
    if again.answer is found.answer:
        return again
    if _too_close(again):
        return found
    raise InvariantError(f"on the word {' '.join(word)} mpmath and the rigorous arithmetic answer differently")


def _too_close(again: SoftAnswer) -> bool:
    """Whether a value lies so close to its threshold that mpmath, which encloses nothing, may be wrong."""
    return again.margin is not None and abs(again.margin[0]) < SLACK


def _inside(bounds: Bounds | None, value: Bounds | None) -> bool:
    """Whether a number of mpmath lies in an enclosure, as nearly as mpmath can tell."""
    if bounds is None or value is None:
        return bounds is value
    low, high, middle = Fraction(bounds[0]), Fraction(bounds[1]), Fraction(value[0])
    slack = SLACK * (1 + abs(high))
    return low - slack <= middle <= high + slack


class _Shown:
    """How one engine's extremes are shown."""

    def __init__(self, engine: str, recompute: Recompute | None) -> None:
        self.engine = engine
        self.recompute = recompute

    def number(self, extreme: Extreme | None, pick: Pick) -> Fraction | None:
        """One extreme."""
        if extreme is None:
            return None
        if self.engine == MPMATH:
            return Fraction(extreme.bound)
        bound = rounded_outwards(Fraction(extreme.bound), extreme.sign)
        if self.recompute is None:
            return bound
        value = self._again(extreme, pick)
        return value if _resolves(value, Fraction(extreme.bound)) else bound

    def difference(self, least: Extreme, largest: Extreme, pick: Pick) -> Fraction:
        """The least of one kind minus the largest of another."""
        bound = Fraction(least.bound) - Fraction(largest.bound)
        if self.engine == MPMATH:
            return bound
        if self.recompute is not None:
            value = self._again(least, pick) - self._again(largest, pick)
            if _resolves(value, bound):
                return value
        return rounded_outwards(bound, 1)

    def _again(self, extreme: Extreme, pick: Pick) -> Fraction:
        """What mpmath finds on the word that attains an extreme.

        Raises:
            InvariantError: if it lies outside the rigorous bounds.
        """
        assert self.recompute is not None
        found = pick(self.recompute(extreme.word))
        if found is None or not _inside(extreme.bounds, found):
            raise InvariantError(
                f"on the word {' '.join(extreme.word)} mpmath finds a value outside the rigorous enclosure"
            )
        return Fraction(found[0])


def _known(value: Fraction | None) -> Fraction:
    assert value is not None
    return value


def _resolves(value: Fraction, bound: Fraction) -> bool:
    return abs(bound - value) <= RESOLVED * abs(value)


def rounded_outwards(value: Fraction, sign: int) -> Fraction:
    """A bound with at most DIGITS significant decimal digits: not above the value for `sign` 1, not below for -1."""
    context = Context(
        prec=DIGITS, rounding=ROUND_FLOOR if sign > 0 else ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[]
    )
    return Fraction(context.divide(Decimal(value.numerator), Decimal(value.denominator)))
