"""Tests of polynomials in positions and lengths: claims about all positions hold at every position tried."""

from fractions import Fraction

import pytest
from flint import fmpq_mpoly
from hypothesis import given
from hypothesis import strategies as st

from hardsim.compiling.from_srasp.polynomials import (
    POSITION,
    SECOND,
    WORD,
    ZERO,
    Lengths,
    Where,
    constant,
    controls,
    summed_up,
)
from tests.support.language import Arith, parse_arith

PADS = (None, "len", "2*len", "len+1", "len^2", "len*(len+1)/2", "3*len-4", "7", "len+len div 2", "-(-len)")
coefficients = st.lists(st.integers(-3, 3), min_size=6, max_size=6)


def pad(text: str | None) -> Arith | None:
    """Parse the length in a `pad:` line; None without such a line."""
    return None if text is None else parse_arith(text, ("len",))


def polynomial(numbers: list[int], length: fmpq_mpoly) -> fmpq_mpoly:
    """Return the polynomial with these coefficients of 1, i, L, i^2, i L and n."""
    terms = (constant(1), POSITION, WORD, POSITION**2, POSITION * WORD, length)
    return sum((constant(number) * term for number, term in zip(numbers, terms, strict=True)), ZERO)


def places(text: str | None, where: Where, longest: int = 9) -> list[tuple[int, int, int]]:
    """Return (i, L, n) for all matching positions of words up to length `longest`."""
    found = []
    for length in range(1, longest + 1):
        given = pad(text)
        n = Fraction(length) if given is None else given.evaluate(len=length)
        if n.denominator != 1 or n < length or (where.padded and n == length):
            continue
        first, last = (1, length) if where.inside else (length + 1, int(n))
        found += [(i, length, int(n)) for i in range(first + where.left, last - where.right + 1)]
    return found


@given(
    st.sampled_from(PADS),
    coefficients,
    st.builds(Where, st.booleans(), st.integers(0, 1), st.integers(0, 1), st.booleans()),
)
def test_what_is_never_negative_is_so_everywhere(text: str | None, numbers: list[int], where: Where) -> None:
    lengths = Lengths(pad(text))
    poly = polynomial(numbers, lengths.length)
    if lengths.never_negative(poly, where):
        assert all(poly(i, 0, 0, length, n) >= 0 for i, length, n in places(text, where))


@pytest.mark.parametrize("text", [text for text in PADS if text != "len+len div 2"])
@pytest.mark.parametrize("inside", [True, False])
def test_what_is_linear_in_i_is_decided(text: str | None, inside: bool) -> None:
    """A polynomial linear in i is decided at the ends, which are polynomials in L, decided for every L.

    For these polynomials lengths up to 20 show every sign.
    """
    lengths = Lengths(pad(text))
    where, seen = Where(inside), places(text, Where(inside), 20)
    for a, b, c in ((0, 0, 0), (1, -1, 0), (1, 0, -1), (2, -1, -1), (-1, 1, 1), (0, 2, -1), (3, -2, 0), (-8, 0, 1)):
        poly = constant(a) + b * POSITION + c * WORD + lengths.length
        assert lengths.never_negative(poly, where) is all(poly(i, 0, 0, length, n) >= 0 for i, length, n in seen)


def test_a_polynomial_that_is_negative_between_integers() -> None:
    """(2L - 3)(2L - 5) is 3 at 1 and -1 at 2, the only integer between its zeros; (2L - 3)^2 - 1 is 0 at 1 and 2."""
    lengths = Lengths(None)
    assert not lengths.never_negative((2 * WORD - 3) * (2 * WORD - 5), Where(True))
    assert lengths.never_negative((2 * WORD - 3) ** 2 - 1, Where(True))
    # integers up to 65 are too many to try one by one, so nothing is claimed
    assert not lengths.never_negative((WORD - 65) * (WORD - 66), Where(True))


@given(coefficients, st.integers(0, 4), st.integers(0, 4))
def test_a_polynomial_lies_between_its_controls(numbers: list[int], low: int, size: int) -> None:
    poly = polynomial(numbers, WORD)
    found = [one(0, 0, 0, 5, 0) for one in controls(poly, "i", constant(low), constant(low + size))]
    values = [poly(i, 0, 0, 5, 0) for i in range(low, low + size + 1)]
    assert min(found) <= min(values)
    assert max(found) >= max(values)
    assert (found[0], found[-1]) == (values[0], values[-1])


@given(coefficients, st.integers(1, 5), st.integers(-1, 5))
def test_sums_of_powers(numbers: list[int], first: int, more: int) -> None:
    poly = polynomial(numbers, WORD)
    last = first + more
    total = summed_up(poly, SECOND, SECOND + more)
    assert total is not None
    assert total(0, first, 0, 7, 0) == sum(poly(i, 0, 0, 7, 0) for i in range(first, last + 1))
    assert summed_up(POSITION**4, SECOND, WORD) is None
