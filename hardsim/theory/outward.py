"""Rational numbers rounded outwards, and dyadic bounds of e^x, for the bounds of perturbation.py.

A dyadic number is an integer times a power of two. Rounding a bound up after every layer keeps its numerator short,
and keeps it a bound. Only e^x needs more than integers: it is taken from a ball that provably contains it.
"""

from __future__ import annotations

from fractions import Fraction

from hardsim.errors import InputError
from hardsim.lang.reals import scaled

BITS = 96
"""The number of bits of the integer in a dyadic bound: about 29 digits."""

LARGEST_EXPONENT = 1 << 16
"""The largest |x| for which e^x is computed."""

TINIEST = Fraction(1, 1 << LARGEST_EXPONENT)
"""2^-65536, about 10^-19728: the least upper bound of e^x that is returned, so that no bound has a longer
denominator. It is above e^-65536, because e > 2."""


def round_up(x: Fraction, bits: int = BITS) -> Fraction:
    """Return a dyadic number, with an integer of at most `bits` bits, that is at least x and above x by less than
    2^(2 - bits) |x|.

    A dyadic number that is already so short is returned unchanged. Raises InputError if `bits` is not positive."""
    _check_bits(bits)
    return scaled(*dyadic_above(x.numerator, x.denominator, bits)) if x else Fraction(0)


def dyadic_above(numerator: int, denominator: int, bits: int = BITS) -> tuple[int, int]:
    """Return the integer m and the exponent e of the number m 2^e that `round_up` returns for a fraction that is not
    zero, in lowest terms."""
    # |x| lies strictly between 2^(size - 1) and 2^(size + 1), and is at least 2^size if it is dyadic. So |x| 2^shift
    # is below 2^bits, is at least 2^(bits - 2), and is an integer if x is dyadic and short enough.
    shift = bits - 1 - numerator.bit_length() + denominator.bit_length()
    return -(-(numerator << max(shift, 0)) // (denominator << max(-shift, 0))), -shift


def exp_above(x: Fraction, bits: int = BITS) -> Fraction:
    """Return a dyadic number, with an integer of at most `bits` bits, that is at least e^x.

    The relative error is below 2^(3 - bits), except that the result is never below 2^-65536, which bounds every smaller
    e^x. Round a sum that contains such a small number first: its numerator has 65536 bits. Raises InputError if x >
    65536, or `bits` is not positive."""
    from flint import arb, ctx, fmpq

    _check_bits(bits)
    if x < -LARGEST_EXPONENT:
        return TINIEST
    if x > LARGEST_EXPONENT:
        raise InputError(
            f"e^x is not computed for x above {LARGEST_EXPONENT}",
            hint="An exponent that large means that the bound is void: lower the temperature or the error allowed.",
        )
    # The relative error of e^x is the absolute error of x: the bits of the integer part of x come on top.
    with ctx.workprec(bits + (abs(x.numerator) // x.denominator).bit_length() + 16):
        mantissa, exponent = arb(fmpq(x.numerator, x.denominator)).exp().upper().man_exp()
    return max(round_up(scaled(int(mantissa), int(exponent)), bits), TINIEST)


def _check_bits(bits: int) -> None:
    if bits < 1:
        raise InputError(f"a bound needs at least one bit, not {bits}")
