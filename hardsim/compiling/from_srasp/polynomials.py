"""Polynomials in positions and lengths, and proofs that one is never negative on any word.

A word of L symbols is padded to n positions; a position is *inside* the word, in 1..L, or in the padding, in L+1..n.
A polynomial of degree d in a position that runs from a to b lies between the least and the largest of its d + 1
coefficients in Bernstein's basis, `C(d, k) (x - a)^k (b - x)^(d - k) / (b - a)^d`: these functions are never negative
and add up to 1. The coefficients are polynomials in L, and are shown to be never negative for every integer L >= 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import comb, factorial
from typing import Final, NamedTuple

from flint import fmpq, fmpq_mpoly, fmpq_mpoly_ctx

from hardsim.lang.arith import Arith, Constant, Expression, Negation, Operation, Variable
from hardsim.network.numbers import Rational

NAMES: Final = ("i", "j", "k", "L", "n")
"""Names of the variables: three positions, the length of the word, and the padded length if it is no polynomial in
L."""
LARGEST_DEGREE: Final = 8
"""The greatest degree of a padded length that is treated as a polynomial."""
FURTHEST: Final = 64
"""The greatest L from which on all coefficients must have one sign. Smaller lengths are tried one by one."""

_RING: Final = fmpq_mpoly_ctx.get(NAMES, "lex")
POSITION, SECOND, THIRD, WORD, PADDED = _RING.gens()
ZERO: Final = _RING.constant(fmpq(0))


def constant(value: Rational) -> fmpq_mpoly:
    """Return a number as a polynomial."""
    return _RING.constant(fmpq(value.numerator, value.denominator))


def put(poly: fmpq_mpoly, places: Mapping[str, fmpq_mpoly]) -> fmpq_mpoly:
    """Return the polynomial with polynomials substituted for the variables that `places` names."""
    return poly.compose(*(places.get(name, gen) for name, gen in zip(NAMES, _RING.gens(), strict=True)))


def controls(poly: fmpq_mpoly, name: str, low: fmpq_mpoly, high: fmpq_mpoly) -> list[fmpq_mpoly]:
    """Return polynomials that enclose `poly` while the variable `name` runs from `low` to `high`, and that do not
    contain it.

    They are the coefficients in Bernstein's basis: `sum over m <= k of C(k, m) / C(d, m) c_m`, where `poly` is the
    sum of `c_m s^m` at `low + s (high - low)`.
    """
    place = NAMES.index(name)
    degree = max(0, poly.degrees()[place])  # the degree of 0 is -1
    taylor, power, derived = list[fmpq_mpoly](), constant(1), poly
    for order in range(degree + 1):
        taylor.append(put(derived, {name: low}) * power * fmpq(1, factorial(order)))
        power, derived = power * (high - low), derived.derivative(place)
    return [sum((taylor[m] * fmpq(comb(k, m), comb(degree, m)) for m in range(k + 1)), ZERO) for k in range(degree + 1)]


_SUMS: Final = (
    POSITION,
    POSITION * (POSITION + 1) / 2,
    POSITION * (POSITION + 1) * (2 * POSITION + 1) / 6,
    (POSITION * (POSITION + 1) / 2) ** 2,
)
"""The sums of the m-th powers of 1..i, by m (Faulhaber)."""


def summed_up(poly: fmpq_mpoly, first: fmpq_mpoly, last: fmpq_mpoly) -> fmpq_mpoly | None:
    """Return the sum of a polynomial in i over i = first..last, where last >= first - 1; None for a degree above 3."""
    if poly.degrees()[0] >= len(_SUMS):
        return None
    total, derived = ZERO, poly
    for order, power in enumerate(_SUMS[: poly.degrees()[0] + 1]):
        coefficient = put(derived, {"i": ZERO}) * fmpq(1, factorial(order))
        total += coefficient * (put(power, {"i": last}) - put(power, {"i": first - 1}))
        derived = derived.derivative(0)
    return total


class Where(NamedTuple):
    """A range of positions: those inside the word or in the padding, without the first `left` and the last `right` of
    them. With `padded`, only words that have padding count."""

    inside: bool
    left: int = 0
    right: int = 0
    padded: bool = False


class Lengths:
    """The lengths of padded words. `length` is n, as a polynomial in L, or the variable n >= L if the `pad:` line is
    no polynomial."""

    def __init__(self, pad: Arith | None) -> None:
        found = WORD if pad is None else _polynomial(pad.tree)
        self.known = found is not None
        self.length = PADDED if found is None else found
        self.sides = (True,) if pad is None else (True, False)
        """The parts of a padded word that exist: inside (True), and the padding (False)."""
        self._decided: dict[tuple[str, Where], bool] = {}

    def ends(self, inside: bool) -> tuple[fmpq_mpoly, fmpq_mpoly]:
        """Return the first and the last position inside the word, or in the padding."""
        return (constant(1), WORD) if inside else (WORD + 1, self.length)

    def never_negative(self, poly: fmpq_mpoly, where: Where) -> bool:
        """Return True if a polynomial in i is proved to be >= 0 at all these positions of every word."""
        key = str(poly), where
        if key not in self._decided:
            low, high = self.ends(where.inside)
            parts = controls(poly, "i", low + where.left, high - where.right)
            self._decided[key] = all(self._natural(one, where) for one in parts)
        return self._decided[key]

    def _natural(self, poly: fmpq_mpoly, where: Where) -> bool:
        """Return True if a polynomial in L (and n) is proved to be >= 0 at every length that has such positions."""
        fewer = where.left + where.right
        shortest, extra = (1 + fewer, int(where.padded)) if where.inside else (1, 1 + fewer)
        if not self.known:
            return _all_natural(put(poly, {"L": WORD + shortest, "n": WORD + shortest + extra + PADDED}))
        room = self.length - WORD - extra
        start = shortest
        # From L = start on, no coefficient is negative or no such position exists; smaller L are tried one by one.
        while start <= FURTHEST:
            later = {"L": WORD + start}
            if _all_natural(put(poly, later)) or _all_natural(put(-room - 1, later)):
                lengths = [{"L": constant(length)} for length in range(shortest, start)]
                return all(_all_natural(put(poly, at)) or not _all_natural(put(room, at)) for at in lengths)
            start *= 2
        return False


def _all_natural(poly: fmpq_mpoly) -> bool:
    """Return True if no coefficient is negative, so that the polynomial is >= 0 wherever its variables are."""
    return all(coefficient >= 0 for coefficient in poly.coeffs())


def _polynomial(tree: Expression) -> fmpq_mpoly | None:
    """Return an expression in `len` as a polynomial in L; None if it is not known to be one."""
    match tree:
        case Constant(value):
            return constant(value)
        case Variable():
            return WORD
        case Negation(arg):
            inner = _polynomial(arg)
            return None if inner is None else -inner
        case Operation("+" | "-" | "*" as op, left, right):
            first, second = _polynomial(left), _polynomial(right)
            if first is None or second is None or first.total_degree() + second.total_degree() > LARGEST_DEGREE:
                return None
            return first * second if op == "*" else first + second if op == "+" else first - second
        case Operation("/", left, Constant(divisor)) if divisor:
            inner = _polynomial(left)
            return None if inner is None else inner * fmpq(1, divisor)
        case Operation("^", left, Constant(exponent)) if exponent <= LARGEST_DEGREE:
            inner = _polynomial(left)
            return None if inner is None or inner.total_degree() * exponent > LARGEST_DEGREE else inner**exponent
        case _:
            return None
