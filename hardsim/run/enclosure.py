"""Midpoint-radius enclosures in float64 arrays, with every rounding accounted for.

Notation: u = 2^-53, fl(x op y) = (x op y)(1 + d) + e with |d| <= u and |e| <= ETA' = 2^-1022, where e covers
underflow even on hardware that flushes subnormal numbers to zero. A sum of k terms in whatever order, or a dot
product of k pairs (with or without fused multiply-add), is off by at most gamma_k = k u / (1 - k u) times the sum of
the absolute values, plus k ETA'. This is the standard model (Higham, *Accuracy and Stability of Numerical
Algorithms*, sections 2.2, 3.1 and 4.2); numpy's +, *, / and its matrix product are assumed to keep it, which a matrix
product by Strassen's method would not.

Radii are sums of products of non-negative floats, k < 2^22 operations deep, so that the computed one is at least (1
- 2^-31) of what the formula says, less underflow. `outward` multiplies by 1 + 2^-30 and adds ETA = 2^-1000, which
covers both. A number that overflows becomes infinite or NaN, and decides nothing: every deciding comparison requires
a finite midpoint, and is written so that NaN makes it false (`clipped`).

Every rational becomes a float by `rounded` (one), `floats` (several) or `quotients` (an array over a common unit),
which also return a bound of its error: 0 only if the float equals the number.

A sum has no radius only if the sum of the *absolute* terms is below 2^53 in units of their finest binary place: then
every partial sum is a float too, in whatever order they are added. (1 + 2^60 - 2^60 is small, and may come out as 0.)

EXP_ERROR is the one assumption about numpy's exp: results in the normal range are right to that relative error,
smaller ones to 2^-1020 absolutely, and results beyond float64 are infinite, or nearly. `float_trust` compares exp,
the rounding mode and square roots (assumed to be rounded to nearest) with exact numbers.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction
from functools import lru_cache, reduce
from math import inf
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hardsim.lang.reals import Real, RealNumber, bounds
from hardsim.lazy_dataclass import dataclass
from hardsim.network.integers import Exact
from hardsim.network.numbers import Rational

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Booleans: TypeAlias = NDArray[np.bool_]

U = 2.0**-53
"""The unit roundoff."""
ETA = 2.0**-1000
"""A bound of everything that underflows in any computation here."""
GROW = 1 + 2.0**-30
EXP_ERROR = 8 * 2.0**-52
"""The relative accuracy assumed of numpy's exp: 8 units in the last place (its authors state at most 4)."""
LEAST_NORMAL = 2.0**-1022
LARGEST_EXACT = 2**52
"""Integers up to this size are exact in float64, and so are sums whose absolute terms add up to no more."""
FINEST = 40
"""The greatest number of binary places that an exact value may have."""
MOST_CODES = 6
"""The greatest number of codes that a value may depend on."""


def outward(radius: Floats) -> Floats:
    """Return a radius enlarged to cover its own rounding."""
    grown = radius * GROW
    grown += ETA
    return grown


def most(values: Floats) -> Floats:
    """Return the largest number of each row, NaN if it has one. It is taken by its index, which numpy finds several
    times as fast as the number."""
    found: Floats = values[np.arange(len(values)), values.argmax(axis=1)]
    return found


def least(values: Floats) -> Floats:
    """Return the least number of each row, as `most` the largest."""
    found: Floats = values[np.arange(len(values)), values.argmin(axis=1)]
    return found


def gamma(k: int) -> float:
    """Return a float that is at least k u / (1 - k u), for k < 2^22."""
    return k * U * GROW


def growth(x: Floats) -> Floats:
    """Return an upper bound of e^x - 1 for x >= 0 (infinite from 1 on), from e^x <= 1/(1 - x)."""
    return np.where(x < 1, outward(x / np.maximum(1 - x, U)), np.inf)


@dataclass(frozen=True, slots=True, eq=False)
class Code:
    """Integers from 0 to `kinds` - 1 for each position, stored as floats, (words or 1, n). Codes of the same `name`
    have the same meaning in every batch of a length."""

    name: Hashable
    numbers: Floats
    kinds: int


@dataclass(slots=True)
class Block:
    """One coordinate of all words of a batch: an enclosure at each position.

    `mid` has shape (words or 1, n). `rad` is None if the values are exactly `mid`; they are then multiples of
    2^-`places`, at most `size` in absolute value. `static` holds the exact values, (1, n), if they are the same for
    every word. `codes` are codes such that the value at a position is a function of the position and of them.
    `boolean` says that every value is exactly 0 or 1. `partly` says that entries with radius 0 have the properties of
    blocks without radii. `ratio` holds (words, n) integers and (n,) integers whose quotients are exactly the values.
    """

    mid: Floats
    rad: Floats | None = None
    places: int = 0
    size: int = 0
    static: Exact | None = None
    codes: tuple[Code, ...] | None = None
    boolean: bool = False
    partly: bool = False
    ratio: tuple[Floats, Floats] | None = None

    @property
    def radius(self) -> Floats:
        """The radius as an array."""
        return np.zeros_like(self.mid) if self.rad is None else self.rad

    @property
    def lower(self) -> Floats:
        """Floats that are at most the values."""
        return self._end(-1)

    @property
    def upper(self) -> Floats:
        """Floats that are at least the values."""
        return self._end(1)

    def of_words(self, words: Integers) -> Block:
        """Return the block of some words; a row shared by all words stays one row."""
        mid, rad = (part if part is None or len(part) == 1 else part[words] for part in (self.mid, self.rad))
        assert mid is not None
        return Block(mid, rad, boolean=self.boolean)

    def _end(self, side: int) -> Floats:
        if self.rad is None:
            return self.mid
        end = np.nextafter(self.mid + side * self.rad, side * np.inf)
        return np.where(self.rad == 0, self.mid, end) if self.partly else end


def clipped(mid: Floats, rad: Floats | None) -> tuple[Booleans, Booleans]:
    """Return where values with these enclosures are certainly at most 0, and certainly at least 1 (`rad` is None if
    they are exact). Without finite bounds neither is certain.

    The difference is rounded once, and so is its product.
    """
    finite = np.isfinite(mid)
    if rad is None:
        return finite & (mid <= 0), finite & (mid >= 1)
    return finite & (mid <= -rad), finite & ((mid - 1) * (1 - 4 * U) >= rad)


def fixed(values: Sequence[RealNumber]) -> Block:
    """Return a block of values that are the same for every word, shape (1, n); it is exact if all values are
    rational."""
    rationals = [value for value in values if not isinstance(value, Real)]
    if len(rationals) == len(values):
        return known(Exact.row(rationals, 1))
    mid, rad = floats(values)
    return Block(mid[None, :], rad[None, :])


def known(exact: Exact) -> Block:
    """Return a block of values over a common unit, shape (1, n), that are the same for every word."""
    exact = Exact.of(exact.whole, exact.unit, 1)
    mid, rad = rounded_row(exact)
    places, size = _places(Fraction(1, exact.unit)), exact.size // exact.unit + 1
    if places <= FINEST and size << places < LARGEST_EXACT:
        boolean = exact.unit == 1 and bool(((exact.whole == 0) | (exact.whole == 1)).all())
        return Block(mid[None, :], None, places, size, exact, boolean=boolean)
    return Block(mid[None, :], rad[None, :], static=exact)


def bits(values: Floats, name: Hashable = None) -> Block:
    """Return a block of exact zeros and ones, shape (words, n). With a name, the block is its own code."""
    codes = None if name is None else (Code(name, values, 2),)
    return Block(values, None, 0, 1, None, codes, True)


def codes_of(blocks: Iterable[Block]) -> tuple[Code, ...] | None:
    """Return the codes that a function of these blocks depends on besides the position; None if they are not known,
    or too many."""
    found: dict[Hashable, Code] = {}
    for block in blocks:
        if block.static is None:
            if block.codes is None:
                return None
            found.update((code.name, code) for code in block.codes)
    return tuple(found.values()) if len(found) <= MOST_CODES else None


def above(block: Block, level: Rational) -> Booleans:
    """Return where a column is certainly above a number."""
    near, off = rounded(level)
    distance = block.mid - near
    result: Booleans = np.isfinite(block.mid) & (distance > outward(block.radius + off + 4 * U * np.abs(distance)))
    if not off and (block.rad is None or block.partly):
        result |= (block.radius == 0) & (distance > 0)
    return result


def below(block: Block, level: Rational) -> Booleans:
    """Return where a column is certainly below a number."""
    return above(Block(-block.mid, block.rad, partly=block.partly), -level)


def between(low: Floats, high: Floats, places: int, size: int) -> Block:
    """Return a block of values with these bounds, exact where the bounds are equal."""
    same = (low == high) & np.isfinite(low)
    if same.all():
        return Block(low, None, places, size)
    mid = (low + high) / 2
    rad = np.where(same, 0.0, outward((high - low) / 2 + 2 * U * np.abs(mid)))
    return Block(np.where(same, low, mid), rad, places, size, partly=True)


def rounded(value: RealNumber) -> tuple[float, float]:
    """Return the float nearest to a number, and a bound of its error. The bound is 0 only if the float equals the
    number and is not subnormal.

    For an irrational number, the float is next to the middle of an enclosure. For a number beyond float64, the result
    is 0 with an infinite error. (Python rounds quotients of integers to the nearest float, by integer arithmetic
    alone.)
    """
    if isinstance(value, int) and -LARGEST_EXACT < value < LARGEST_EXACT:
        return float(value), 0.0
    if isinstance(value, Real):
        low, high = bounds(value)
        near, off = rounded((low + high) / 2)
        return near, off if off == float("inf") else (off + float((high - low) / 2)) * GROW + ETA
    try:
        near = float(value)
    except OverflowError:
        return 0.0, float("inf")
    if near.as_integer_ratio() == (value.numerator, value.denominator) and not 0 < abs(near) < LEAST_NORMAL:
        return near, 0.0
    return near, U * abs(near) * GROW + ETA


def nearest_float(value: Rational | float) -> float:
    """Return the float nearest to a number; an infinity of its sign for a number beyond float64."""
    if isinstance(value, float):
        return value
    near, off = rounded(value)
    return near if off < inf else inf if value > 0 else -inf


def floats(values: Sequence[RealNumber]) -> tuple[Floats, Floats]:
    """Return `rounded` of several numbers, as two arrays."""
    pairs = [rounded(value) for value in values]
    return np.array([mid for mid, _ in pairs], dtype=np.float64), np.array([rad for _, rad in pairs], dtype=np.float64)


def quotients(whole: NDArray[Any], unit: int) -> tuple[Floats, Floats]:
    """Return `rounded` of the numbers `whole / unit`, as two arrays; `whole` holds machine integers, or Python's."""
    size = max(int(whole.max()), -int(whole.min()), unit) if whole.size else unit
    if size < LARGEST_EXACT:
        mid = whole.astype(np.float64) / unit
        if unit & (unit - 1) == 0:
            return mid, np.zeros_like(mid)
        return mid, np.where(whole % odd_part(unit) == 0, 0.0, outward(U * np.abs(mid)))
    if whole.dtype != object and unit < 2**63:
        mid = whole.astype(np.float64) / float(unit)  # two conversions and a quotient
        count = whole // unit
        exact = (whole % unit == 0) & (np.abs(count) < LARGEST_EXACT)
        return np.where(exact, count, mid), np.where(exact, 0.0, outward(4 * U * np.abs(mid)))
    whole = whole.astype(object)
    try:
        mid = (whole / unit).astype(np.float64)
    except OverflowError:
        mid, rad = floats([Fraction(int(value), unit) for value in whole.ravel()])
        return mid.reshape(whole.shape), rad.reshape(whole.shape)
    exact = (whole % unit == 0).astype(np.bool_) & (np.abs(mid) < LARGEST_EXACT)
    return mid, np.where(exact, 0.0, outward(U * np.abs(mid)))


def rounded_rows(values: Exact, share: float = 0.0) -> tuple[Floats, Floats]:
    """Return `rounded` of some rows of numbers, as arrays of their shape. The floats are nearest also if numerators or
    unit are too large for float64. The true numbers may differ from the given ones by a relative error of up to
    `share`."""
    exact = max(values.size, values.unit) < LARGEST_EXACT
    mid, rad = quotients(values.whole if exact else values.whole.astype(object), values.unit)
    if share:
        rad = outward(rad + share * (np.abs(mid) + rad))
    return mid, rad


def rounded_row(values: Exact, share: float = 0.0) -> tuple[Floats, Floats]:
    """Return `rounded_rows` of one row, (1, n), as arrays of shape (n,)."""
    mid, rad = rounded_rows(values, share)
    return mid[0], rad[0]


def near_row(values: Sequence[RealNumber]) -> tuple[Exact, float]:
    """Return rationals next to positive numbers, (1, n), and a bound of the relative error of each. It is 0 if all
    numbers are rational. Products of the rationals with other rationals have the same relative error."""
    rationals = [value for value in values if not isinstance(value, Real)]
    if len(rationals) == len(values):
        return Exact.row(rationals, 1), 0.0
    ends = [bounds(value) for value in values]
    middles = [(low + high) / 2 for low, high in ends]
    share = max((high - low) / (2 * middle) for (low, high), middle in zip(ends, middles, strict=True))
    return Exact.row(middles, 1), float(share) * GROW + ETA


def odd_part(number: int) -> int:
    """Return a positive integer without its factors of 2."""
    return number // (number & -number)


def _places(value: Rational) -> int:
    """Return the binary places of a dyadic rational; FINEST + 1 for other numbers."""
    denominator = value.denominator
    return denominator.bit_length() - 1 if denominator & (denominator - 1) == 0 else FINEST + 1


@lru_cache(1 << 12)
def _coefficient(value: Rational) -> tuple[float, float, int, int, int]:
    """Return the float of a coefficient and a bound of its error, its binary places, and its numerator, without the
    sign, and denominator."""
    return *rounded(value), _places(value), abs(value.numerator), value.denominator


def combine(terms: Sequence[tuple[Rational, Block]], base: Block) -> Block:
    """Return `base` plus the sum of coefficient times block: exact if float64 can hold it, and otherwise enclosed.

    With k terms, each a product and a sum, the error is at most gamma_(k + 3) times the sum of the absolute values,
    plus |coefficient| times each radius, plus the error of each coefficient times the largest absolute value of its
    block.
    """
    places, size, mid, products = base.places, base.size, base.mid, list[Floats]()
    factors = [_coefficient(value) for value, _ in terms]
    for (factor, _, finest, top, bottom), (_, block) in zip(factors, terms, strict=True):
        places = max(places, finest + block.places)
        size += top * block.size // bottom + 1
        products.append(block.mid if abs(factor) == 1 else factor * block.mid)
        mid = mid - products[-1] if factor == -1 else mid + products[-1]
    fits = places <= FINEST and size << places < LARGEST_EXACT
    loose = [block for _, block in terms if block.rad is not None]
    if fits and base.rad is None and not loose:
        return Block(mid, None, places, size)
    rad, share = base.rad, gamma(len(terms) + 3)
    total = np.abs(base.mid)
    for (factor, off, *_), (_, block), product in zip(factors, terms, products, strict=True):
        if off:
            # `off` is in units of the share; infinity times 0 gives NaN, which decides nothing.
            product = (abs(factor) + off / share) * np.abs(block.mid)
        total = total + (product if off or (block.boolean and factor > 0) else np.abs(product))
        if block.rad is not None:
            part = (abs(factor) * (1 + 4 * U) + off) * block.rad
            rad = part if rad is None else rad + part
    total *= share
    rad = outward(total if rad is None else rad + total)
    if not fits or base.rad is not None or not all(block.partly for block in loose):
        return Block(mid, rad)
    open_entries = reduce(np.logical_or, (block.rad != 0 for block in loose))
    return Block(mid, rad * open_entries, places, size, partly=True)  # here `mid` is finite, or too large to decide
