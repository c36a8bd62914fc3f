"""The numbers that a report shows of a tally: rigorous bounds, or the digits of the words that attain them.

- mpmath: what was found.
- float64 and ball: bounds, rounded outwards to DIGITS decimal digits.
- auto: the word that attains an extreme is run again in balls, and its digits are shown where its ball and the bound
  of all words resolve the number; where they do not (an error of 10^-30, say, enclosed by 0 and 10^-15) the bound is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
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
SHARP = Fraction(1, 10 ** (DIGITS + 1))
"""A ball shows all digits of a number where it is so narrow, relatively."""

Recompute = Callable[[Word], SoftAnswer]
"""What balls find on a word."""
Pick = Callable[[SoftAnswer], Bounds | None]


def settle(tally: Tally, engine: str, recompute: Recompute | None) -> Figures:
    """The figures of a tally by one engine; `recompute` asks balls about one word (None: nobody is asked)."""
    show = _Shown(engine, recompute if engine == AUTO else None)
    low, high = tally.least_accepted, tally.largest_rejected
    return Figures(
        acceptance_gap=None
        if low is None or high is None
        else show.difference(low, high, lambda found: found.unrounded),
        margin=show.number(tally.margin, lambda found: found.margin),
        errors={head: _known(show.number(extreme, partial(_error_of, head))) for head, extreme in tally.errors.items()},
        sum_error=show.number(tally.sum_error, lambda found: found.sum_error),
        digits=FLOAT_DIGITS if engine == FLOAT64 else max(tally.digits, show.digits),
    )


def _error_of(head: str, found: SoftAnswer) -> Bounds:
    return found.errors[head]


def settle_mismatch(found: Mismatch, recompute: Recompute) -> Mismatch:
    """A mismatch with the digits of balls.

    Raises:
        InvariantError: if two rigorous arithmetics answer differently.
    """
    again = recompute(found.word)
    if not again.decided:
        return found
    if found.decided and again.answer is not found.soft:
        raise InvariantError(f"on the word {' '.join(found.word)} float64 and balls answer differently")
    return replace(found, soft=again.answer, value=again.value, decided=True)


def settle_answer(word: Word, found: SoftAnswer, again: SoftAnswer) -> SoftAnswer:
    """The answer of one word with the digits of balls, if they reach one.

    Raises:
        InvariantError: if the enclosures of two rigorous arithmetics do not meet.
    """
    if not again.decided:
        return found
    if found.decided:
        pairs = [(found.output, again.output), (found.unrounded, again.unrounded), (found.margin, again.margin)]
        if found.answer is not again.answer or any(_apart(*pair) for pair in pairs):
            raise InvariantError(f"on the word {' '.join(word)} float64 and balls answer differently")
    return again


def _apart(one: Bounds | None, other: Bounds | None) -> bool:
    """Whether two enclosures of one number certainly do not meet."""
    return one is not None and other is not None and bool(one[1] < other[0] or other[1] < one[0])


class _Shown:
    """How one engine's extremes are shown; `digits` are those of the balls that were asked."""

    def __init__(self, engine: str, recompute: Recompute | None) -> None:
        self.engine = engine
        self.recompute = recompute
        self.digits = 0

    def number(self, extreme: Extreme | None, pick: Pick) -> Fraction | None:
        """One extreme."""
        if extreme is None:
            return None
        if self.engine == MPMATH:
            return Fraction(extreme.bound)
        return _shown(self._again(extreme, pick), Fraction(extreme.bound), extreme.sign)

    def difference(self, least: Extreme, largest: Extreme, pick: Pick) -> Fraction:
        """The least of one kind minus the largest of another."""
        bound = Fraction(least.bound) - Fraction(largest.bound)
        if self.engine == MPMATH:
            return bound
        first, second = self._again(least, pick), self._again(largest, pick)
        return _shown(None if first is None or second is None else (first[0] - second[1], first[1] - second[0]), bound)

    def _again(self, extreme: Extreme, pick: Pick) -> Bounds | None:
        """What balls find on the word that attains an extreme; None where they are not asked, or find nothing.

        Raises:
            InvariantError: if it lies outside the bounds of another rigorous arithmetic.
        """
        if self.recompute is None:
            return None
        answer = self.recompute(extreme.word)
        found = pick(answer) if answer.decided else None
        if found is None:
            return None
        if _apart(found, extreme.bounds):
            raise InvariantError(
                f"on the word {' '.join(extreme.word)} the enclosures of float64 and balls do not meet"
            )
        self.digits = max(self.digits, answer.digits)
        return Fraction(found[0]), Fraction(found[1])


def _known(value: Fraction | None) -> Fraction:
    assert value is not None
    return value


def _shown(ball: Bounds | None, bound: Fraction, sign: int = 1) -> Fraction:
    """The number of one word, if its ball is narrow and close to the bound of all words, or that bound."""
    if ball is not None:
        low, high = ball
        middle = (low + high) / 2
        if high - low <= SHARP * abs(middle) and abs(bound - middle) <= RESOLVED * abs(middle):
            return _rounded(middle, ROUND_HALF_EVEN)
    return rounded_outwards(bound, sign)


def rounded_outwards(value: Fraction, sign: int) -> Fraction:
    """A bound with at most DIGITS significant decimal digits: not above the value for `sign` 1, not below for -1."""
    return _rounded(value, ROUND_FLOOR if sign > 0 else ROUND_CEILING)


def _rounded(value: Fraction, rounding: str) -> Fraction:
    context = Context(prec=DIGITS, rounding=rounding, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
    return Fraction(context.divide(Decimal(value.numerator), Decimal(value.denominator)))
