"""Rounding: Lemma 9, which makes approximate Booleans exact, and Lemma 27, on what rounding to many bits would cost."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from hardsim.errors import InputError


def round_boolean(x: Fraction) -> Fraction:
    """Lemma 9: `relu(2x - 1/2) - relu(2x - 3/2)`: 0 for x <= 1/4, 1 for x >= 3/4, a line of slope 2 between."""
    zero = Fraction(0)
    return max(zero, 2 * x - Fraction(1, 2)) - max(zero, 2 * x - Fraction(3, 2))


def rounded_error(error: Fraction) -> Fraction:
    """How far the rounded value is from a Boolean, if the value was off by at most `error`: `2 error - 1/2`, but at
    least 0 and at most 1.

    For the Boolean 0 this is `round_boolean(error)`, the largest value that can come out since rounding is monotone;
    for 1 it is the same by the symmetry `round(1 - x) = 1 - round(x)`. So it is attained, and 1/4 is the largest
    error that vanishes.

    Raises:
        InputError: if the error is negative.
    """
    if error < 0:
        raise InputError(f"an error cannot be negative, as {error} is")
    return round_boolean(error)


def pieces(depth: int, width: int) -> int:
    """Telgarsky (2015), Lemma 2.1: a ReLU FFN on one number, with `depth` hidden layers of at most `width` units and
    a linear output, is continuous piecewise affine with at most `(2 width)^depth` pieces.

    A sum of m functions with at most p pieces has at most m (p - 1) + 1 <= m p, and relu cuts every piece in two at
    most: each hidden layer multiplies the bound by 2m.

    Raises:
        InputError: if depth or width is not positive.
    """
    _check(depth=depth, width=width)
    return int((2 * width) ** depth)


def pieces_for_rounding(bits: int) -> int:
    """Lemma 27: rounding b-bit numbers to `bits` < b bits needs at least 2^bits pieces.

    Of two neighbouring results y < y' let x < x' be the least numbers that are rounded to them, and z the number after
    x. If z is rounded to y as well, x and x' cannot share a piece: on it the result at z would lie strictly between y
    and y'. So every result begins a piece of its own. All results but the last must come from two numbers or more
    for this, which holds when rounding down, and when rounding to nearest unless b = bits + 1 and ties go to even.

    Raises:
        InputError: if `bits` is not positive.
    """
    _check(bits=bits)
    return 1 << bits


def least_width(bits: int, depth: int) -> int:
    """Lemma 27: the least m with (2m)^depth >= 2^bits. A ReLU FFN of this depth that rounds to `bits` bits has at
    least this width.

    Raises:
        InputError: if bits or depth is not positive.
    """
    _check(bits=bits, depth=depth)
    wanted = pieces_for_rounding(bits)
    # At 2m = 2^ceil(bits/depth), or m = 1, it is enough.
    return _least(lambda width: pieces(depth, width) >= wanted, 1 << (-(-bits // depth) - 1))


def least_depth(bits: int, width: int) -> int:
    """Lemma 27: the least L with (2 width)^L >= 2^bits. A ReLU FFN of this width that rounds to `bits` bits has at
    least this many hidden layers.

    Raises:
        InputError: if bits or width is not positive.
    """
    _check(bits=bits, width=width)
    wanted = pieces_for_rounding(bits)
    return _least(lambda depth: pieces(depth, width) >= wanted, bits)


def _least(enough: Callable[[int], bool], high: int) -> int:
    """The least number from 1 to `high` that is enough; `high` is, and so is every number above one that is."""
    low = 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low


def _check(**positive: int) -> None:
    for name, value in positive.items():
        if value < 1:
            raise InputError(f"Lemma 27 needs a positive {name}, not {value}")
