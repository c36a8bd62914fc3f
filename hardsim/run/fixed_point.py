"""Arrays of fixed-point numbers whose products float64 computes without rounding.

A number is a sum of digits in base B = 2^20, x = sum_i D_i B^(1 - i) for i = 0, ..., count - 1. The digits are integers
of at most B / 2 in absolute value, stored as float64, in the first axis of an array. So the last place is 2^-Q with Q =
20 (count - 2), and numbers are below 2^39 in size.

Products are exact. Two digits have a product of at most 2^38 in absolute value. A sum of at most 2^14 such products is
at most 2^52, and each partial sum is an integer below 2^53, which float64 holds: nothing is rounded, in whatever order
the terms are added, with or without fused multiply-add. This is how matrix products by a BLAS give exact results
(Ozaki, Ogita, Oishi, Rump, *Error-free transformations of matrix multiplication*, Numerical Algorithms 59, 2012, split
in the same way, with bounds of their own). `carried` makes digits of such sums: a carry is the nearest integer to a sum
over B, so the digit that is left is at most B / 2, and all steps are exact.

`kept` drops places behind the last. The digits that it drops amount to at most B / 2 (B^-1 + B^-2 + ...) < 0.51 in
units of the last place.

A number that is too large is NaN, and so is whatever is computed from it.

Everything here needs float64 arithmetic that rounds to nearest, as `float_trust.arithmetic_fault` tests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from flint import arb, arb_mat

from hardsim.run.enclosure import ETA, GROW, Floats

DIGIT_BITS = 20
BASE = 2.0**DIGIT_BITS
HALF = BASE / 2
WHOLE = 2
"""The number of digits before the point."""
MOST_TERMS = 2**14
"""The number of products of two digits that are added up without a carry."""
GUARD = 60
"""The bits of balls that compute with fixed-point numbers, beyond those behind the point: more than those before it."""
CELLS = 2**22
"""The count of numbers in an array of sums of products."""


def places(bits: int) -> int:
    """Return how many digits in all give at least `bits` bits behind the point."""
    return WHOLE - -bits // DIGIT_BITS


def last_place(count: int) -> float:
    """Return the value of the last of `count` digits."""
    return 2.0 ** (-DIGIT_BITS * (count - WHOLE))


def parts(numbers: Floats, count: int) -> Iterator[tuple[int, Floats]]:
    """Yield the digits of an array of floats that are not all 0, as (index, array). The array itself is reduced, step
    by step, to what the digits yielded so far leave: at the end, at most half of the last place in size.

    To take a multiple of a power of 2 nearest to a float away from it is exact.
    """
    for index in range(count):
        scale = 2.0 ** (DIGIT_BITS * (index - 1))
        # The largest entry of a NaN is NaN, which is not small.
        if np.abs(numbers).max(initial=0.0) * scale < HALF / BASE:
            continue
        digit: Floats = np.rint(numbers * scale)
        if not index:
            digit[~(np.abs(digit) <= HALF)] = np.nan
        numbers -= digit / scale
        yield index, digit


def digits_of(numbers: Floats, count: int) -> tuple[Floats, Floats]:
    """Return the digits of an array of floats, and how far each number is from them."""
    rest, found = numbers.copy(), np.zeros((count, *numbers.shape))
    for index, digit in parts(rest, count):
        found[index] = digit
    return found, np.abs(rest)


def carried(sums: Floats) -> Floats:
    """Return sums of digits, below 2^52 in size, as digits of the same numbers. `sums` is overwritten."""
    for index in range(len(sums) - 1, 0, -1):
        carry = np.rint(sums[index] * (1 / BASE))
        sums[index - 1] += carry
        carry *= BASE
        sums[index] -= carry
    sums[0][~(np.abs(sums[0]) <= HALF)] = np.nan
    return sums


def kept(products: Floats, count: int) -> Floats:
    """Round products to `count` digits. `products` are their digits after carrying, the most significant first: the
    first one stands for 2^40, and must be 0. Each result is off by at most 0.51 in its last place."""
    first = products[0]
    found = products[1 : count + 1]
    # A digit that is lost in front makes the number too large.
    found[0][first != 0] = np.nan
    return found


def times(left: Floats, right: Floats) -> Floats:
    """Return the carried sums of the products of two arrays of numbers, entry by entry, for `kept`. Shapes are
    broadcast."""
    a, b = (np.flatnonzero([digit.any() for digit in one]).tolist() for one in (left, right))
    shape = np.broadcast_shapes(left.shape[1:], right.shape[1:])
    found = np.zeros((len(left) + len(right) - 1, *shape))
    for i in a:
        for j in b:
            found[i + j] += left[i] * right[j]
    return carried(found)


def total(sums: Floats) -> Floats:
    """Return the sums over the last axis, which becomes 1, of numbers given by digits, as digits."""
    return carried(sums.sum(axis=-1, keepdims=True))


def product(left: Floats, right: Sequence[tuple[int, Floats]], size: int) -> Floats:
    """Return the carried sums of a matrix product, for `kept`, from digits (count, m, k) and the digits of a matrix
    (k, n) with their indices, of which there are `size`."""
    count, m, k = left.shape
    n = right[0][1].shape[1] if right else 0
    some = np.flatnonzero([digit.any() for digit in left]).tolist()
    found = np.zeros((count + size - 1, m, n))
    if not some or not right:
        return found
    together = max(1, MOST_TERMS // max(1, min(len(some), len(right))))
    rows = max(1, CELLS // (len(some) * max(n, k)))
    for low in range(0, m, rows):
        here = left[some, low : low + rows]
        part = found[:, low : low + rows]
        for start in range(0, k, together):
            stacked = here[:, :, start : start + together].reshape(-1, min(together, k - start))
            for j, digit in right:
                for i, added in zip(
                    some, (stacked @ digit[start : start + together]).reshape(len(some), -1, n), strict=True
                ):
                    part[i + j] += added
            carried(part)
    return found


def near(digits: Floats) -> Floats:
    """Return the numbers in float64, right to a relative error of 2^-48.

    Digits behind the first that is not 0 amount to at most 0.51 of its place, so the sum of the absolute values is at
    most 4 times the number.
    """
    found = np.zeros(digits.shape[1:])
    for index in range(len(digits) - 1, -1, -1):
        found += digits[index] * 2.0 ** (DIGIT_BITS * (1 - index))
    return found


def balls(digits: Floats) -> list[arb]:
    """Return the numbers in the order of `digits[0].ravel()`, exactly where the working precision is GUARD bits above
    the bits behind the point."""
    rows = digits.reshape(len(digits), 1, -1)
    sums: arb_mat | None = None
    for index in range(0, len(rows), 2):
        # Two digits have 40 bits, so that float64 holds them together.
        pair = rows[index] * BASE + (rows[index + 1] if index + 1 < len(rows) else 0.0)
        if pair.any():
            part = arb_mat((pair * 2.0 ** (-DIGIT_BITS * index)).tolist())
            sums = part if sums is None else sums + part
    if sums is None:
        return [arb(0)] * rows.shape[2]
    found: list[arb] = sums.entries()
    return found


def from_balls(numbers: Sequence[arb], shape: tuple[int, ...], count: int) -> tuple[Floats, Floats]:
    """Return digits of numbers in balls, (count, *shape), and bounds of how far the numbers are from them, (*shape).

    Floats are taken away from a ball until what is left lies around 0; its upper bound and what the floats lose behind
    the last place are the bound.
    """
    steps = 1 + (DIGIT_BITS * count) // 52
    columns: list[list[float]] = [[] for _ in range(steps)]
    left: list[float] = []
    for number in numbers:
        for column in columns:
            part = float(number)
            column.append(part)
            number = number - part
        left.append(float(number.abs_upper()))
    digits = np.zeros((count, *shape))
    off: Any = np.array(left).reshape(shape) * GROW
    for column in columns:
        some, lost = digits_of(np.array(column).reshape(shape), count)
        digits += some
        off = off + lost
    return carried(digits), off * GROW + ETA
