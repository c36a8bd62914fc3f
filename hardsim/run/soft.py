"""Run the softmax network word by word, in balls or in mpmath, with as many bits as each answer needs.

A network that rounds to 0 and 1 (one compiled from a formula) must answer exactly 0 or 1. A clip that rounds an
attended value is *settled* if it is certain whether its input is at most 0, at least 1, or strictly between. The
output is settled if it is certain whether it is 0, is 1, or is neither. A value exactly on a threshold may never be
settled: if the output is not settled at the limit, `Undecided` is raised. (Gates that read values between 0 and 1
need not be settled: they may be exactly 0 by a cancellation that balls cannot see, and their enclosures are valid all
the same.)

The answer of any other network is a comparison with a threshold. It depends on the side on which an output lies, and
on the distance of every activation from the hard model's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from fractions import Fraction
from math import ceil
from typing import Any, Literal

from hardsim.errors import Undecided
from hardsim.lang.reals import precisions
from hardsim.lazy_dataclass import dataclass
from hardsim.network.transformer import Transformer
from hardsim.run.arithmetic import Value, is_exact
from hardsim.run.ball import BallArithmetic, lower, upper
from hardsim.run.forward import Forward, Trace
from hardsim.run.mp import MpArithmetic, choose_digits, exact
from hardsim.run.sizes import largest_logit

Engine = Literal["auto", "float64", "ball", "mpmath"]
"""The engine that runs words. `auto` is certified float64 on batches, with balls for the words that it leaves
undecided."""

LOG_2 = Fraction(30103, 100_000)
BITS, LIMIT_BITS = 96, 1 << 15
"""The number of bits beyond those that the logits of all layers may cost, and the number at which a word is left
undecided."""
LEAST_BITS, ROUNDING_LIMIT = 128, 8192
"""The number of bits of the first attempt and the limit, for a network that rounds; its logits are small."""


@dataclass(frozen=True, slots=True)
class SoftTrace:
    """The results of a network on one word. Compute with its numbers inside `precision()`."""

    trace: Trace[Any]
    forward: Forward[Any]
    bits: int

    @property
    def digits(self) -> int:
        """The precision of the run in decimal digits, rounded down."""
        return int(self.bits * LOG_2)

    @property
    def arithmetic(self) -> Any:
        """The arithmetic of the run: a BallArithmetic or an MpArithmetic."""
        return self.forward.arithmetic

    def precision(self) -> AbstractContextManager[Any]:
        """Return a context with the working precision of the trace (python-flint has one for the whole process)."""
        return self.forward.arithmetic.precision()

    @property
    def output(self) -> Value:
        """The output coordinate at the reading position: a rational or a number of the arithmetic."""
        return self.trace.output(self.forward.model)


class SoftModel:
    """A network prepared to run with as many bits as its answers need.

    In balls, the precision doubles until the answer is settled. If the network `rounds`, it starts at `least` bits,
    or at the number that the largest logit requires. In any other network, a layer may enlarge an error by the size
    of its largest logit, so each layer gets that many bits. mpmath uses one precision, derived from the weights (see
    `run.mp`): if the network rounds, `dps` digits if these are given; otherwise at least twice the bits of the first
    attempt in balls.
    """

    def __init__(
        self,
        model: Transformer,
        engine: Engine = "ball",
        limit: int | None = None,
        *,
        rounds: bool = False,
        least: int = 0,
        dps: int | None = None,
    ) -> None:
        self.model, self.engine, self.rounds, self.least, self.dps = model, engine, rounds, least, dps
        self.limit = limit or (ROUNDING_LIMIT if rounds else LIMIT_BITS)
        self._length = self._first = 0
        self._passes: dict[int, Forward[Any]] = {}

    def bits(self, n: int) -> int:
        """Return the bits of the first attempt in balls at length n: logits of up to 2^k nats lose k bits."""
        logit = int(largest_logit(self.model, n)).bit_length()
        if self.rounds:
            return min(max(LEAST_BITS + logit, self.least), self.limit)
        return BITS + (len(self.model.layers) + 1) * (logit + 8)

    def run(self, word: Sequence[str], settled: Callable[[Trace[Any]], bool] | None = None) -> SoftTrace:
        """Run the model on a non-empty word until its answer is settled. `settled` decides this; a network that rounds
        needs no `settled`. Raises Undecided if the answer is not settled at the limit; InputError if mpmath would need
        too many digits."""
        if len(word) != self._length:
            self._length, self._passes = len(word), {}
            self._first = self.bits(len(word))
            if self.engine == "mpmath" and self.rounds:
                self._first = ceil(choose_digits(self.model, len(word), self.dps) / LOG_2)
            elif self.engine == "mpmath":
                # From digits to bits, rounded up: 0.301 < log10(2).
                self._first = max(2 * self._first, choose_digits(self.model, len(word), None) * 1000 // 301 + 1)
        for bits in precisions(self._first, self.limit):
            forward = self._passes.get(bits) or self._make(bits)
            with forward.arithmetic.precision():
                found = SoftTrace(forward.run(word), forward, bits)
                if self.engine == "mpmath" or (settled(found.trace) if settled else self._settled(found)):
                    return found
        raise Undecided(self._message(word))

    def _make(self, bits: int) -> Forward[Any]:
        arithmetic: Any = BallArithmetic(bits)
        if self.engine == "mpmath":
            # From bits to digits: 0.302 > log10(2), so no bits are lost.
            arithmetic = MpArithmetic(int(bits * LOG_2) if self.rounds else bits * 302 // 1000 + 1)
        made = self._passes[bits] = Forward(self.model, arithmetic)
        return made

    def _settled(self, found: SoftTrace) -> bool:
        """Return True if more precision would not change the output of a network that rounds, nor the state of its
        clips."""
        return output_settled(found.output) and (not found.trace.unsettled or found.bits >= self.limit)

    def _message(self, word: Sequence[str]) -> str:
        shown = " ".join(word[:40]) + (f" ... ({len(word)} symbols)" if len(word) > 40 else "")
        what = "on which side of its threshold the output lies"
        if self.rounds:
            what = "whether the output is 0, is 1, or is neither. Some value lies on its threshold, or too close to it"
        return (
            f"the word {shown} is undecided: with {self.limit} bits, the limit of the ball arithmetic, it is not "
            f"certain {what}"
        )


def rounded(value: Value) -> bool | None:
    """Return True for exactly 1, False for exactly 0, and None otherwise; a ball equals a number only if it is
    exact."""
    return bool(value == 1) if value in (0, 1) else None


def output_settled(value: Value) -> bool:
    """Return True if it is certain whether an output is 0, is 1, or is neither."""
    if is_exact(value):
        return True
    # A ball that is not finite may enclose any number, whatever `contains` says.
    return bool(value.is_finite() and (value.is_exact() or (not value.contains(0) and not value.contains(1))))


def bounds(value: Value) -> tuple[Fraction, Fraction]:
    """Return the rational ends of an enclosure; for a number without an enclosure, the number twice. Raises Undecided
    if the enclosure is not bounded; with more precision it may be."""
    if is_exact(value) or callable(value.man_exp):  # a method in balls, a pair in mpmath
        return lower(value), upper(value)
    return exact(value), exact(value)


def nearest(value: Value, n: int) -> int | None:
    """Return the integer that is certainly nearest to n times a value; None if no integer is certain."""
    try:
        low, high = (end * n for end in bounds(value))
    except Undecided:
        return None
    found = round(low)
    return found if 2 * abs(low - found) < 1 and 2 * abs(high - found) < 1 else None


def side(value: Value, threshold: Fraction) -> bool | None:
    """Return True if a value is certainly above a threshold, False if it is certainly below, and None if neither is
    certain."""
    try:
        low, high = bounds(value)
    except Undecided:
        return None
    return True if low > threshold else False if high < threshold else None
