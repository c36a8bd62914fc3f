"""Scalings of rotary positions, by which networks read longer texts than they were first trained on.

A scaling multiplies the r-th frequency f_r = base^(-2 r / size) by a number, and cosines and sines by another, its
amplitude. Both are real numbers: where pi or a logarithm defines them, they are not rounded.

Sources: Llama 3.1 (Grattafiori et al. 2024, arXiv 2407.21783); YaRN, Peng et al. 2023, arXiv 2309.00071; LongRoPE, Ding
et al. 2024, arXiv 2402.13753; with the settings and defaults of transformers, `modeling_rope_utils.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor
from typing import TypeAlias

from hardsim.errors import InputError
from hardsim.lang.reals import PI, RealNumber, apply, bounds, compare
from hardsim.lazy_dataclass import dataclass

HAIR = Fraction(1, 1000)
"""The width of YaRN's ramp if its ends are equal."""
FLOOR_BITS = 512
"""The precision at which a real number is compared with the integers."""


@dataclass(frozen=True)
class Llama3Scaling:
    """The scaling of Llama 3.1. A frequency f makes t = length f / (2 pi) turns over the original length. From `high`
    turns on it stays; up to `low` turns it is divided by the factor; between them it is interpolated linearly in t:

        f becomes f (s + (1 - s) / factor), with s = (t - low) / (high - low), limited to [0, 1].
    """

    factor: Fraction
    low: Fraction
    high: Fraction
    length: int

    def __post_init__(self) -> None:
        if not (self.factor > 0 and 0 < self.low < self.high and self.length > 0):
            message = "a rotary scaling (llama3) with a factor or length that is not positive, or low from high on"
            raise InputError(message, "The factor and the length must be above 0, and 0 < low < high.")

    @property
    def amplitude(self) -> RealNumber:
        """The factor of cosines and sines."""
        return 1

    def multipliers(self, base: Fraction, frequencies: Sequence[RealNumber]) -> tuple[RealNumber, ...]:
        """Return the factor of each plain frequency."""
        turns = (divided(frequency * self.length, 2 * PI) for frequency in frequencies)
        shares = (limited(divided(turn - self.low, self.high - self.low)) for turn in turns)
        return tuple(share + divided(1 - share, self.factor) for share in shares)


@dataclass(frozen=True)
class YarnScaling:
    """YaRN. With size = 2 count coordinates, the pair that makes b turns over the original length is

        p(b) = size log(length / (2 pi b)) / (2 log base).

    Frequencies stay below p(fast), and are divided by the factor above p(slow), with a linear ramp between them. With
    `truncate` the two ends are rounded down and up. The amplitude is stated, or

        (1 + m_1 log(factor) / 10) / (1 + m_2 log(factor) / 10)    with m_1, m_2 = `weights`; 1 if factor <= 1.
    """

    factor: Fraction
    fast: Fraction
    slow: Fraction
    length: int
    truncate: bool = True
    stated: Fraction | None = None
    """The amplitude, if it is stated."""
    weights: tuple[Fraction, Fraction] = (Fraction(1), Fraction(0))

    def __post_init__(self) -> None:
        if not _positive(self.factor, self.fast, self.slow, self.length, self.stated) or min(self.weights) < 0:
            message = "a rotary scaling (yarn) with a number that is not positive"
            raise InputError(message, "Its factor, turns, length and amplitude must be above 0.")

    @property
    def amplitude(self) -> RealNumber:
        """The factor of cosines and sines."""
        if self.stated is not None or self.factor <= 1:
            return self.stated or 1
        rate = divided(apply("log", self.factor), 10)
        above, below = (1 + weight * rate for weight in self.weights)
        return divided(above, below)

    def multipliers(self, base: Fraction, frequencies: Sequence[RealNumber]) -> tuple[RealNumber, ...]:
        """Return the factor of each plain frequency. Raises InputError if the base is 1, which has no ramp."""
        if base == 1:
            raise InputError("a rotary scaling (yarn) of the base 1", "Its ramp needs another base.")
        size = 2 * len(frequencies)

        def place(turns: Fraction) -> RealNumber:
            return divided(apply("log", divided(self.length, 2 * PI * turns)) * size, 2 * apply("log", base))

        low, high = place(self.fast), place(self.slow)
        if self.truncate:
            low, high = rounded_down(low), -rounded_down(-high)
        low = low if compare(low, 0) > 0 else 0
        high = high if compare(high, size - 1) < 0 else size - 1
        width = high - low if compare(low, high) else HAIR
        ramp = [limited(divided(pair - low, width)) for pair in range(len(frequencies))]
        return tuple(divided(part, self.factor) + (1 - part) for part in ramp)


@dataclass(frozen=True)
class LongScaling:
    """LongRoPE on texts of at most the original length: the frequency of each pair is divided by a number of its own.
    The amplitude is stated, or sqrt(1 + log(factor) / log(length)); 1 if factor <= 1."""

    divisors: tuple[Fraction, ...]
    factor: Fraction
    length: int
    stated: Fraction | None = None
    """The amplitude, if it is stated."""

    def __post_init__(self) -> None:
        if not _positive(*self.divisors, self.factor, self.stated) or self.length < 2:
            message = "a rotary scaling (longrope) with a number that is not positive, or a length below 2"
            raise InputError(message, "Its factors and amplitude must be above 0, and its length at least 2.")

    @property
    def amplitude(self) -> RealNumber:
        """The factor of cosines and sines."""
        if self.stated is not None or self.factor <= 1:
            return self.stated or 1
        return apply("sqrt", 1 + divided(apply("log", self.factor), apply("log", self.length)))

    def multipliers(self, base: Fraction, frequencies: Sequence[RealNumber]) -> tuple[RealNumber, ...]:
        """Return the factor of each plain frequency. Raises InputError if there are more or fewer divisors."""
        if len(self.divisors) != len(frequencies):
            message = f"a rotary scaling (longrope) with {len(self.divisors)} factors for {len(frequencies)} pairs"
            raise InputError(message, "Give one factor for each pair of coordinates.")
        return tuple(1 / divisor for divisor in self.divisors)


RotaryScaling: TypeAlias = Llama3Scaling | YarnScaling | LongScaling


def _positive(*numbers: Fraction | int | None) -> bool:
    """Return True if all numbers that are given are above 0."""
    return all(number is None or number > 0 for number in numbers)


def divided(value: RealNumber, divisor: RealNumber) -> RealNumber:
    """Return an exact quotient, also of integers."""
    return (Fraction(value) if isinstance(value, int) else value) / divisor


def limited(value: RealNumber) -> RealNumber:
    """Return the number of [0, 1] that is nearest to a number."""
    return 0 if compare(value, 0) <= 0 else 1 if compare(value, 1) >= 0 else value


def rounded_down(value: RealNumber) -> int:
    """Return the greatest integer that is at most a number. Raises InputError if the number is too near to an
    integer."""
    low, high = map(floor, bounds(value, FLOOR_BITS))
    if low != high:
        message = "a rotary scaling whose ramp ends at a number that cannot be told from an integer"
        raise InputError(message, "Change one of its settings a little.")
    return low
