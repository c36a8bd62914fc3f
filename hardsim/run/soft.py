"""A softmax model whose answer is read off against a threshold, in balls or in mpmath.

Unlike a formula's network it need not round its activations to exact Booleans, so what matters is on which side of the
threshold an output lies, and how far every activation is from the hard model's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from hardsim.errors import Undecided
from hardsim.net.model import Transformer
from hardsim.run.arithmetic import Value
from hardsim.run.ball import BallArithmetic, lower, upper
from hardsim.run.forward import Forward, Trace
from hardsim.run.mp import MpArithmetic, choose_digits, exact
from hardsim.run.plan import largest_logit, make_plan

Engine = Literal["auto", "float64", "ball", "mpmath"]
"""`auto` is certified float64 on batches, with balls for the words that it leaves undecided."""

BITS = 96
"""Bits beyond what the logits of all layers may cost."""
LIMIT_BITS = 1 << 15


@dataclass(frozen=True, slots=True)
class SoftTrace:
    """What a model did on one word; compute with its numbers inside `precision()`."""

    trace: Trace[Any]
    arithmetic: BallArithmetic | MpArithmetic
    bits: int

    def precision(self) -> AbstractContextManager[None]:
        """The working precision of the trace (python-flint has one for the whole process)."""
        return self.arithmetic.precision() if isinstance(self.arithmetic, BallArithmetic) else nullcontext()


class SoftModel:
    """A softmax model ready to run, with as many bits as its answers need.

    A layer may enlarge an error by the size of its largest logit, so each layer is given that many bits. In balls the
    precision doubles until the answer is settled; in mpmath, which has no enclosures, it is derived from the weights
    (see `run.mp`), and at least twice that of the first attempt in balls.
    """

    def __init__(self, model: Transformer, engine: Engine = "ball", limit: int = LIMIT_BITS) -> None:
        self.model = model
        self.engine = engine
        self.limit = limit
        self.plan = make_plan(model)
        self._length = 0
        self._bits = 0
        self._passes: dict[int, tuple[Forward[Any], BallArithmetic | MpArithmetic]] = {}

    def bits(self, n: int) -> int:
        """Bits of the first attempt at length n."""
        logit = int(largest_logit(self.plan, n)).bit_length()
        return BITS + (len(self.model.layers) + 1) * (logit + 8)

    def _first(self, n: int) -> int:
        """Bits to begin with at length n, which are all that mpmath takes."""
        if self.engine != "mpmath":
            return self.bits(n)
        return max(2 * self.bits(n), choose_digits(self.plan, n, None) * 1000 // 301 + 1)

    def run(self, word: Sequence[str], settled: Callable[[Trace[Any]], bool]) -> SoftTrace:
        """Run the model on a word until its answer is settled.

        Raises:
            Undecided: if it is not at the limit.
            InputError: if mpmath would need too many digits.
        """
        if len(word) != self._length:
            self._length, self._bits = len(word), self._first(len(word))
            self._passes.clear()
        bits = self._bits
        while True:
            forward, arithmetic = self._passes.get(bits) or self._make(bits)
            with SoftTrace(Trace([]), arithmetic, bits).precision():
                trace = forward.run(word)
                if self.engine == "mpmath" or settled(trace):
                    return SoftTrace(trace, arithmetic, bits)
            if bits >= self.limit:
                raise Undecided(
                    f"the word {' '.join(word)} is undecided: with {bits} bits, the limit of the ball arithmetic, it "
                    "is not certain on which side of its threshold the output lies"
                )
            bits = min(2 * bits, self.limit)

    def _make(self, bits: int) -> tuple[Forward[Any], BallArithmetic | MpArithmetic]:
        arithmetic: Any = MpArithmetic(bits * 302 // 1000 + 1) if self.engine == "mpmath" else BallArithmetic(bits)
        made = self._passes[bits] = (Forward(self.model, arithmetic, self.plan), arithmetic)
        return made


def bounds(value: Value) -> tuple[Fraction, Fraction]:
    """Rational ends of an enclosure; of a number without one, the number twice."""
    if isinstance(value, int | Fraction):
        return Fraction(value), Fraction(value)
    if hasattr(value, "man_exp") and callable(value.man_exp):
        return lower(value), upper(value)
    return exact(value), exact(value)


def finite_bounds(value: Value) -> tuple[Fraction, Fraction] | None:
    """`bounds`, or None where there are none: more precision may find some."""
    try:
        return bounds(value)
    except Undecided:
        return None


def side(value: Value, threshold: Fraction) -> bool | None:
    """Whether a value is certainly above (True) or below (False) a threshold; None where it is neither."""
    if isinstance(value, int | Fraction):
        return None if value == threshold else value > threshold
    ends = finite_bounds(value)
    if ends is None:
        return None
    return True if ends[0] > threshold else False if ends[1] < threshold else None
