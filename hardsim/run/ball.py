"""The forward pass in ball arithmetic: every number is an enclosure of the exact value.

`BallArithmetic` runs the generic pass over `arb` balls (midpoint and radius, python-flint), so whatever it says of
a value is a theorem about the matrices. Inputs are exact rationals, a clip is one monotone function and gives
exactly 0 or 1 where its ball lies outside (0, 1) for certain.

A clip that rounds an attended value is *settled* when it is certain whether its input is at most 0, at least 1, or
strictly between, the output when it is certain whether it is 0, is 1, or is neither. `BallForward` doubles the
precision until all are settled. A value that lies exactly on a threshold may never be: where the limit is met and the
output is not settled, `Undecided` says so. (Gates that read values between 0 and 1 need not be settled: they may be
exactly 0 by a cancellation that balls cannot see, and their enclosures are as good as any.)

python-flint has one precision for the whole process. It is set while a pass runs and restored afterwards, so
parallel work needs processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isfinite
from typing import Any

from flint import arb, ctx, fmpq

from hardsim.errors import Undecided
from hardsim.net.model import Transformer
from hardsim.run.arithmetic import Value
from hardsim.run.forward import Forward, Trace
from hardsim.run.plan import Plan, largest_logit, make_plan
from hardsim.spec.ir import Rational

LEAST_BITS = 128
"""Bits of a first attempt where the logits are small."""
LIMIT_BITS = 8192
"""Bits at which a word is given up."""
TINY = 20_000
"""Bounds below 2^-TINY in size are moved outwards to 0 or 2^-TINY: their exact digits would take long to write."""
LARGEST_EXPONENT = 1_000_000
"""Bounds beyond 2^LARGEST_EXPONENT count as none."""
UNBOUNDED = "no bound was found: an interval of the ball arithmetic grew without limit"


class BallArithmetic:
    """Balls with `bits` bits of working precision."""

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self._zero = arb(0)
        self._one = arb(1)
        self._numbers: dict[Rational, arb] = {0: self._zero, 1: self._one}
        self._least: arb | None = None
        """A ball around 0 that holds every negligible weight."""

    @contextmanager
    def precision(self) -> Iterator[None]:
        """Work at this precision inside the block; the one before it is restored."""
        before = ctx.prec
        ctx.prec = self.bits
        try:
            yield
        finally:
            ctx.prec = before

    @property
    def negligible(self) -> int:
        """Weights below 2^-(bits + 16) of the largest are left out and enclosed by `widened`: e^7 > 2^10."""
        return 7 * (self.bits + 16) // 10 + 1

    def number(self, value: Rational) -> arb:
        """An enclosure of a rational, exact for integers."""
        known = self._numbers.get(value)
        if known is None:
            known = ball(value)
            if len(self._numbers) < 10_000:
                self._numbers[value] = known
        return known

    def approximate(self, value: arb) -> tuple[float, float]:
        """A float64 midpoint and a radius of the ball; the conversions are off by 2^-53 (midpoint) and 2^-29."""
        middle, radius = float(value.mid()), float(value.rad())
        if not (isfinite(middle) and isfinite(radius)):
            return 0.0, inf
        return middle, radius * (1 + 2.0**-20) + abs(middle) * 2.0**-51 + 2.0**-1000

    def exp(self, logit: Rational | arb) -> arb:
        """An enclosure of e^logit."""
        return (ball(logit) if isinstance(logit, int | Fraction) else logit).exp()

    def total(self, numbers: Sequence[arb]) -> arb:
        """The sum."""
        return sum(numbers[1:], numbers[0])

    def clip(self, value: arb) -> int | arb:
        """`min(max(value, 0), 1)`: the integers 0 and 1 where that is certain."""
        if value <= self._zero:
            return 0
        if value >= self._one:
            return 1
        low, high = value.lower(), value.upper()
        # Comparisons with what is not a number are false, so that such a ball becomes [0, 1].
        return (low if low > self._zero else self._zero).union(high if high < self._one else self._one)

    def relu(self, value: arb) -> int | arb:
        """`max(value, 0)`: the integer 0 where that is certain."""
        return 0 if value <= self._zero else value.max(self._zero)

    def settled(self, value: arb) -> bool:
        """Whether the value is certainly at most 0, at least 1, or strictly between."""
        return value <= self._zero or value >= self._one or (value > self._zero and value < self._one)

    def ranked(self, values: Sequence[arb], rank: int) -> arb:
        """The `rank`-th largest (1: the largest). It grows with every value, so the ranked bounds enclose it."""
        if len(values) == 1:
            return values[0]
        if not all(value.is_finite() for value in values):
            return arb.nan()
        low = sorted((value.lower() for value in values), reverse=True)[rank - 1]
        return low.union(sorted((value.upper() for value in values), reverse=True)[rank - 1])

    def least_margin(self, values: Sequence[arb]) -> arb:
        """The least max(-z, z - 1)/2."""
        margins = [(-value).max(value - self._one) for value in values]
        least = margins[0]
        for margin in margins[1:]:
            least = least.min(margin)
        return least / 2

    def widened(self, mean: arb, dropped: int, spread: Rational) -> arb:
        """A mean with `dropped` weights left out, each at most e^-negligible of the sum of the others, over values that
        differ by at most `spread`.

        With S the weights kept, D those dropped, the true mean is (S m + D m')/(S + D), so it differs from m by
        D/(S + D) (m' - m), at most dropped e^-negligible spread.
        """
        if self._least is None:
            self._least = arb(0, 1) * arb(-self.negligible).exp()
        return mean + ball(spread * dropped) * self._least


def ball(value: Rational) -> arb:
    """An enclosure of a rational at the present precision."""
    return arb(value) if isinstance(value, int) else arb(fmpq(value.numerator, value.denominator))


def lower(value: Value) -> Fraction:
    """The lower end of a ball as an exact rational (see TINY), or the value itself if it is a rational.

    Raises:
        Undecided: if the ball is not bounded.
    """
    return _end(value, -1)


def upper(value: Value) -> Fraction:
    """The upper end of a ball as an exact rational (see TINY), or the value itself if it is a rational.

    Raises:
        Undecided: if the ball is not bounded.
    """
    return _end(value, 1)


def _end(value: Value, side: int) -> Fraction:
    """Midpoint plus `side` (1 or -1) times the radius, whatever the present precision."""
    if isinstance(value, int | Fraction):
        return Fraction(value)
    if not value.is_finite():
        raise Undecided(UNBOUNDED)
    return _dyadic(value.mid(), side) + side * _dyadic(value.rad(), 1)


def _dyadic(value: arb, side: int) -> Fraction:
    """The rational that a ball of radius 0 is; one below 2^-TINY in size is moved up (side 1) or down."""
    mantissa, exponent = (int(part) for part in value.man_exp())
    size = exponent + mantissa.bit_length()
    if size > LARGEST_EXPONENT:
        raise Undecided(UNBOUNDED)
    if exponent >= 0:
        return Fraction(mantissa << exponent)
    if size >= -TINY:
        return Fraction(mantissa, 1 << -exponent)
    return side * Fraction(1, 1 << TINY) if mantissa * side > 0 else Fraction(0)


class BallContext:
    """What the lemmas of theory ask of a number type (see `theory.lemmas`), in balls of `bits` bits."""

    mpf = staticmethod(arb)

    def __init__(self, bits: int = 192) -> None:
        self.bits = bits
        self.dps = bits * 3 // 10

    def exp(self, x: arb) -> arb:
        """e^x."""
        return x.exp()

    def sqrt(self, x: arb) -> arb:
        """The square root."""
        return x.sqrt()

    def above(self, lemma: Callable[..., Any], *arguments: Any) -> Fraction | None:
        """A rational that is at least `lemma(*arguments, context)`, above it by rounding alone; None stays None.

        Raises:
            Undecided: if the ball is not bounded.
        """
        with BallArithmetic(self.bits).precision():
            found = lemma(*arguments, self)
            return None if found is None else upper(found)


@dataclass(frozen=True, slots=True)
class BallTrace:
    """What a network did on one word, in balls; the output is settled.

    `forward` is the pass that found it; what is derived from it belongs into `forward.arithmetic.precision()`.
    """

    trace: Trace[arb]
    forward: Forward[arb]
    arithmetic: BallArithmetic

    @property
    def bits(self) -> int:
        """The precision in bits."""
        return self.arithmetic.bits

    @property
    def output(self) -> Value:
        """The output coordinate at the last position: a rational or a ball."""
        return self.trace.output(self.forward.model)

    def verdict(self) -> bool | None:
        """True where the output is exactly 1, False where it is exactly 0, None where it certainly is neither."""
        value = self.output
        return bool(value == 1) if value in (0, 1) else None  # of balls only an exact one is equal to a number


class BallForward:
    """A network ready to run in balls, with as many bits as each word needs.

    `limit` bounds the precision in bits, `least` is the precision of the first attempt (by default what the largest
    logit asks for).
    """

    def __init__(
        self, model: Transformer, plan: Plan | None = None, least: int | None = None, limit: int = LIMIT_BITS
    ) -> None:
        self.model = model
        self.plan = plan or make_plan(model)
        self.least = least
        self.limit = limit
        self._length = 0
        self._first = LEAST_BITS
        self._passes: dict[int, tuple[Forward[arb], BallArithmetic]] = {}

    def run(self, word: Sequence[str]) -> BallTrace:
        """Run the network on a non-empty word.

        Raises:
            Undecided: if the output is not settled at the limit.
        """
        if len(word) != self._length:
            self._length = len(word)
            self._passes.clear()
            self._first = min(max(starting_bits(self.plan, len(word)), self.least or 0), self.limit)
        bits = self._first
        while True:
            forward, arithmetic = self._passes.get(bits) or self._make(bits)
            with arithmetic.precision():
                trace = forward.run(word)
                if output_settled(trace.output(self.model)) and (not trace.unsettled or bits >= self.limit):
                    return BallTrace(trace, forward, arithmetic)
            if bits >= self.limit:
                raise Undecided(self._message(word))
            bits = min(2 * bits, self.limit)

    def _make(self, bits: int) -> tuple[Forward[arb], BallArithmetic]:
        arithmetic = BallArithmetic(bits)
        made = self._passes[bits] = (Forward(self.model, arithmetic, self.plan), arithmetic)
        return made

    def _message(self, word: Sequence[str]) -> str:
        shown = " ".join(word[:40]) + (f" ... ({len(word)} symbols)" if len(word) > 40 else "")
        return (
            f"the word {shown} is undecided: with {self.limit} bits, the limit of the ball arithmetic, it is not "
            "certain whether the output is 0, is 1, or is neither. Some value lies on its threshold, or too close to it"
        )


def starting_bits(plan: Plan, n: int) -> int:
    """Bits for a first attempt at length n: logits of up to 2^k nats lose k bits."""
    return LEAST_BITS + int(largest_logit(plan, n)).bit_length()


def output_settled(value: Value) -> bool:
    """Whether it is certain that an output is 0, is 1, or is neither."""
    if isinstance(value, int | Fraction):
        return True
    # A ball that is not finite may stand for anything, whatever it seems to contain.
    return bool(value.is_finite() and (value.is_exact() or (not value.contains(0) and not value.contains(1))))


def ball_run(model: Transformer, word: Sequence[str], limit: int = LIMIT_BITS) -> BallTrace:
    """One word in balls; for several, make one `BallForward`.

    Raises:
        Undecided: see `BallForward.run`.
    """
    return BallForward(model, limit=limit).run(word)
