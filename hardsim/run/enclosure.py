"""Midpoint-radius enclosures in float64 arrays, with every rounding accounted for.

Notation: u = 2^-53, fl(x op y) = (x op y)(1 + d) + e with |d| <= u and |e| <= ETA' = 2^-1022, where e covers
underflow even on hardware that flushes subnormal numbers to zero. A sum of k terms in whatever order, or a dot
product of k pairs (with or without fused multiply-add), is off by at most gamma_k = k u / (1 - k u) times the sum
of the absolute values, plus k ETA'. This is the standard model (Higham, *Accuracy and Stability of Numerical
Algorithms*, sections 2.2, 3.1 and 4.2); numpy's +, *, / and its matrix product are assumed to keep it, which a
matrix product by Strassen's method would not.

Radii are sums of products of non-negative floats, k < 2^22 operations deep, so that the computed one is at least (1
- 2^-31) of what the formula says, less underflow. `outward` multiplies by 1 + 2^-30 and adds ETA = 2^-1000, which
covers both. What overflows becomes infinite or NaN; comparisons with those are false, so that nothing is decided by
them.

EXP_ERROR is the one assumption about numpy's exp: results in the normal range are right to that relative error,
smaller ones to 2^-1020 absolutely. A test holds it against balls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hardsim.errors import InvariantError
from hardsim.spec.ir import Mask, Rational

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Booleans: TypeAlias = NDArray[np.bool_]

U = 2.0**-53
"""The unit roundoff."""
ETA = 2.0**-1000
"""More than everything that underflows in any computation here."""
GROW = 1 + 2.0**-30
EXP_ULPS = 8
"""Units in the last place to which numpy's exp is assumed right (its authors state 4 at most)."""
EXP_ERROR = EXP_ULPS * 2.0**-52
LARGEST_EXACT = 2**52
"""Integers up to this size are exact in float64, and so are their sums."""
FINEST = 40
"""Binary places that exact values may have."""


def outward(radius: Floats) -> Floats:
    """A radius that covers its own rounding."""
    return radius * GROW + ETA


def gamma(k: int) -> float:
    """A float that is at least k u / (1 - k u), for k < 2^22."""
    return k * U * GROW


def growth(x: Floats) -> Floats:
    """At least e^x - 1 for x >= 0 (infinite from 1 on): e^x <= 1/(1 - x)."""
    return np.where(x < 1, outward(x / np.maximum(1 - x, U)), np.inf)


@dataclass(slots=True)
class Block:
    """One coordinate of all words of a batch: an enclosure at each position.

    `mid` has shape (words or 1, n). `rad` is None where the values are exactly `mid`: then they are multiples of
    2^-`places`, at most `size` in absolute value. `static` holds the exact values where they are the same for every
    word. `codes` are integers from 0 to `kinds` - 1 such that the value at a position is a function of the position
    and the code. `boolean` says that every value is exactly 0 or 1. `partly` says that what holds of blocks without
    radii holds of the entries with radius 0. `ratio` is (words, n) integers and (n,) integers of which the values are
    exactly the quotients. A Boolean block without `codes` is its own (see `numbered`).
    """

    mid: Floats
    rad: Floats | None = None
    places: int = 0
    size: int = 0
    static: tuple[Rational, ...] | None = None
    codes: Integers | None = None
    kinds: int = 0
    boolean: bool = False
    partly: bool = False
    ratio: tuple[Floats, Floats] | None = None

    def put(self, place: Any, other: Block) -> None:
        """Overwrite midpoints and radii at some index of both arrays."""
        assert self.rad is not None
        self.mid[place], self.rad[place] = other.mid, other.radius

    @property
    def radius(self) -> Floats:
        """The radius as an array."""
        return np.zeros_like(self.mid) if self.rad is None else self.rad

    @property
    def lower(self) -> Floats:
        """Floats at most the values."""
        return self.mid if self.rad is None else np.nextafter(self.mid - self.rad, -np.inf)

    @property
    def upper(self) -> Floats:
        """Floats at least the values."""
        return self.mid if self.rad is None else np.nextafter(self.mid + self.rad, np.inf)


def fixed(values: Sequence[Rational]) -> Block:
    """Values that are the same for every word, shape (1, n)."""
    exact = tuple(values)
    mid, rad = floats(exact)
    places = max((_places(value) for value in exact), default=0)
    size = max((abs(int(value)) + 1 for value in exact), default=0)
    if places <= FINEST and size << places < LARGEST_EXACT:
        return Block(mid[None, :], None, places, size, exact)
    return Block(mid[None, :], rad[None, :], static=exact)


def bits(values: Floats) -> Block:
    """Exact zeros and ones, shape (words, n)."""
    return Block(values, None, 0, 1, None, None, 2, True)


def numbered(block: Block) -> Integers:
    """The codes of a block that has them."""
    if block.boolean and block.codes is None:
        return block.mid.astype(np.int64)
    assert block.codes is not None
    return block.codes


def between(low: Floats, high: Floats, places: int, size: int) -> Block:
    """Values with these bounds, exact where the bounds are equal."""
    mid = (low + high) / 2
    rad = np.where(low == high, 0.0, outward((high - low) / 2 + 2 * U * np.abs(mid)))
    return Block(np.where(low == high, low, mid), rad, places, size, partly=True)


def floats(values: Sequence[Rational]) -> tuple[Floats, Floats]:
    """The nearest floats (Python rounds quotients of integers correctly) and how far they may be off.

    What is too large for a float becomes 0, off by infinity.
    """
    pairs = [_rounded(value) for value in values]
    return np.array([mid for mid, _ in pairs], dtype=np.float64), np.array([rad for _, rad in pairs], dtype=np.float64)


def _rounded(value: Rational) -> tuple[float, float]:
    near = _nearest(value)
    if near in (float("inf"), float("-inf")):
        return 0.0, float("inf")
    return near, 0.0 if Fraction(near) == value else U * abs(near) * GROW + ETA


def _nearest(value: Rational) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def _places(value: Rational) -> int:
    """Binary places of a dyadic rational; FINEST + 1 for others."""
    denominator = value.denominator
    return denominator.bit_length() - 1 if denominator & (denominator - 1) == 0 else FINEST + 1


def combine(terms: Sequence[tuple[Rational, Block]], base: Block) -> Block:
    """`base` plus the sum of coefficient times block: exact where float64 can hold it, else enclosed.

    With k terms, coefficients rounded once, a product and a sum each: off by at most gamma_(k + 3) times the sum of
    the absolute values, and by |coefficient| times each radius.
    """
    places = max([base.places, *(_places(value) + block.places for value, block in terms)])
    size = base.size + sum(int(abs(Fraction(value)) * block.size) + 1 for value, block in terms)
    fits = places <= FINEST and size << places < LARGEST_EXACT
    exact = base.rad is None and all(block.rad is None for _, block in terms)
    mid = base.mid
    for value, block in terms:
        mid = mid + (block.mid if value == 1 else -block.mid if value == -1 else _nearest(value) * block.mid)
    if exact and fits:
        return Block(mid, None, places, size)
    rad = base.radius
    total = np.abs(base.mid)
    for value, block in terms:
        weight = abs(_nearest(value))
        total = total + weight * np.abs(block.mid)
        if block.rad is not None:
            rad = rad + weight * (1 + 4 * U) * block.rad
    rad = outward(rad + gamma(len(terms) + 3) * total)
    if not fits or base.rad is not None or not all(block.rad is None or block.partly for _, block in terms):
        return Block(mid, rad)
    open_entries = np.logical_or.reduce(
        np.broadcast_arrays(*(block.rad > 0 for _, block in terms if block.rad is not None))
    )
    return Block(mid, np.where(open_entries, rad, 0.0), places, size, partly=True)


def mean(
    block: Block, mask: Mask, before: Block | None = None, rows: Integers | None = None, length: int | None = None
) -> Block:
    """The mean over the visible positions of each query: sums of exact integers are exact, and divided once.

    With `before` the block's positions come after those of `before`, of which each word has the row `rows` says; only
    positions before a query are visible then. Sums are numbered up to `length`, that of the words, by default n.
    """
    if block.static is not None and before is None:
        return fixed(_static_means(block.static, mask))
    start = 0 if before is None else before.mid.shape[1]
    n = start + block.mid.shape[1]
    counts = _counts(mask, n)[start:]
    total = _sums(block.mid, mask, None if before is None else before.mid, rows)
    parts = [block] if before is None else [before, block]
    size, places = max(part.size for part in parts), max(part.places for part in parts)
    exact = all(part.rad is None for part in parts) and (n * size) << places < LARGEST_EXACT
    mid = total / counts
    if exact:
        found = Block(mid, outward(U * np.abs(mid)))
        if not places:
            found.ratio = (total, counts)
        if all(part.boolean for part in parts):
            found.codes, found.kinds = total.astype(np.int64), (length or n) + 1
        return found
    sizes = [part.radius + gamma(n) * np.abs(part.mid) for part in parts]
    spread = _sums(sizes[-1], mask, None if before is None else sizes[0], rows)
    return Block(mid, outward(spread / counts + gamma(2) * np.abs(mid)))


def _counts(mask: Mask, n: int) -> Floats:
    """How many positions each query sees."""
    return np.array([len(mask.visible(i, n)) for i in range(1, n + 1)], dtype=np.float64)


def _sums(values: Floats, mask: Mask, before: Floats | None = None, rows: Integers | None = None) -> Floats:
    """Sums over the visible positions of each query, those of the rows of `before` included."""
    if before is not None:
        if mask is not Mask.FUTURE:
            raise InvariantError(f"under the mask '{mask}' words have no prefixes to share")
        earlier = before.sum(axis=1, keepdims=True)
        first = earlier if rows is None or earlier.shape[0] == 1 else earlier[rows]
        words = max(first.shape[0], values.shape[0])
        both = [np.broadcast_to(part, (words, part.shape[1])) for part in (first, values)]
        return np.cumsum(np.concatenate(both, axis=1), axis=1)[:, 1:]
    if mask is Mask.NONE:
        return np.broadcast_to(values.sum(axis=1, keepdims=True), values.shape)
    if mask is Mask.FUTURE:
        return np.cumsum(values, axis=1)
    if mask is Mask.PAST:
        return np.cumsum(values[:, ::-1], axis=1)[:, ::-1]
    raise InvariantError(f"the float64 pass has no sums under the mask '{mask}'")


def _static_means(values: Sequence[Rational], mask: Mask) -> list[Rational]:
    """The same in rationals."""
    n = len(values)
    if mask is Mask.NONE:
        return [Fraction(sum(values)) / n] * n
    totals = accumulate(values if mask is Mask.FUTURE else values[::-1])
    means: list[Rational] = [Fraction(total) / count for count, total in enumerate(totals, start=1)]
    return means if mask is Mask.FUTURE else means[::-1]
