"""Rational functions of positions and lengths, for the checker of certificates: exact, small, and bounded in size.

A polynomial has up to four variables, by number: a dictionary from their exponents to coefficients. A quotient keeps
its divisor as a product of polynomials, of which those that divide the numerator are cancelled.

Bounds come from comparing coefficients. Where every variable is a number >= 0, and a divisor D has coefficients >= 0
and a positive constant term, N - g D with coefficients >= 0 says N/D >= g: the largest such g is the least quotient of
a coefficient of N by that of D.

What operations take is told to whoever asks for it (`charged`), before they are done as far as it is known then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from typing import overload

from hardsim.verify.arithmetic import BITS, Rational, bits, effort, require, whole

VARIABLES = 4
CONSTANT = (0,) * VARIABLES
MOST_TERMS = 1000
"""Of a polynomial."""
MOST_DEGREE = 24
"""Of one of its terms."""

LARGE = "too large: a polynomial of so many terms, such a degree, or so large numbers"

Powers = tuple[int, ...]
Terms = dict[Powers, Rational]

_charge: ContextVar[Callable[[int], None] | None] = ContextVar("charge", default=None)


@contextmanager
def charged(charge: Callable[[int], None]) -> Iterator[None]:
    """Tell `charge` of the steps of all operations within; it may raise."""
    token = _charge.set(charge)
    try:
        yield
    finally:
        _charge.reset(token)


def _spend(steps: int) -> None:
    charge = _charge.get()
    if charge is not None:
        charge(steps)


def _add(terms: Terms, powers: Powers, c: Rational) -> None:
    """Add to a coefficient, and leave out 0."""
    total = terms.get(powers, 0) + c
    size = bits(total)
    _spend(effort(size))
    require(size <= BITS, LARGE)
    if total:
        terms[powers] = total
    else:
        terms.pop(powers, None)


class Polynomial:
    """A polynomial; equal ones have equal terms. Rejected if it is too large."""

    __slots__ = ("_hash", "bits", "degree", "terms")

    def __init__(self, terms: Mapping[Powers, Rational]) -> None:
        _spend(8 + len(terms))
        self.terms: Terms = {powers: whole(c) for powers, c in terms.items() if c}
        self._hash = hash(frozenset(self.terms.items()))
        self.degree, self.bits = max(map(sum, self.terms), default=0), max(map(bits, self.terms.values()), default=0)
        require(len(self.terms) <= MOST_TERMS and self.degree <= MOST_DEGREE and self.bits <= BITS, LARGE)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polynomial) and self.terms == other.terms

    def __hash__(self) -> int:
        return self._hash

    def plus(self, other: Polynomial, factor: Rational = 1) -> Polynomial:
        """A sum with a multiple."""
        terms, size = dict(self.terms), other.bits + bits(factor)
        require(size <= 2 * BITS, LARGE)
        _spend(len(other.terms) * effort(size))
        for powers, c in other.terms.items():
            _add(terms, powers, factor * c)
        return Polynomial(terms)

    def times(self, other: Polynomial) -> Polynomial:
        """A product."""
        terms, size = dict[Powers, Rational](), self.bits + other.bits
        require(self.degree + other.degree <= MOST_DEGREE and size <= 2 * BITS, LARGE)
        _spend(len(self.terms) * len(other.terms) * effort(size))
        for powers, c in self.terms.items():
            for more, d in other.terms.items():
                _add(terms, tuple(map(int.__add__, powers, more)), c * d)
        return Polynomial(terms)

    def over(self, other: Polynomial) -> Polynomial | None:
        """The quotient by another one that divides this one; None if it does not. Division with a remainder, by the
        leading terms, finds the terms of a quotient in their order; its degree is the difference of the degrees."""
        left, found, lead = dict(self.terms), dict[Powers, Rational](), max(other.terms)
        while left:
            _spend(1 + (len(left) >> 4))
            first = max(left)
            powers = tuple(map(int.__sub__, first, lead))
            if min(powers) < 0 or sum(powers) > self.degree - other.degree or len(found) > MOST_TERMS:
                return None
            _spend(effort(bits(left[first]) + other.bits))
            factor = found[powers] = whole(Fraction(left[first]) / other.terms[lead])
            size = bits(factor) + other.bits
            require(size <= 2 * BITS, LARGE)
            _spend(len(other.terms) * effort(size))
            for more, c in other.terms.items():
                _add(left, tuple(map(int.__add__, powers, more)), -factor * c)
        return Polynomial(found)

    def at(self, places: Sequence[Polynomial]) -> Polynomial:
        """With polynomials in the place of the variables."""
        total = Polynomial({})
        for powers, c in self.terms.items():
            term = Polynomial({CONSTANT: c})
            for place, power in enumerate(powers):
                for _ in range(power):
                    term = term.times(places[place])
            total = total.plus(term)
        return total


ONE = Polynomial({CONSTANT: 1})


class Ratio:
    """A rational function that is no constant: `top` over the product of `factors`. The operators give the number
    instead, where the result is constant."""

    __slots__ = ("_hash", "factors", "top")

    def __init__(self, top: Polynomial, factors: tuple[Polynomial, ...]) -> None:
        self.top, self.factors = top, factors
        self._hash = hash((top, factors))

    @property
    def bottom(self) -> Polynomial:
        """The divisor, multiplied out."""
        return product(self.factors)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ratio):
            return False
        same = self.top == other.top and self.factors == other.factors
        return same or self.top.times(other.bottom) == other.top.times(self.bottom)

    def __hash__(self) -> int:
        """Equal functions have divisors that are the same, as far as what could be cancelled was."""
        return self._hash

    def __bool__(self) -> bool:
        return True

    def __add__(self, other: Value) -> Value:
        right = of(other)
        mine, others = list(self.factors), list(right.factors)
        for factor in self.factors:  # what both divisors have
            if factor in others:
                mine.remove(factor)
                others.remove(factor)
        top = self.top.times(product(others)).plus(right.top.times(product(mine)))
        return quotient(top, (*self.factors, *others))

    def __mul__(self, other: Value) -> Value:
        right = of(other)
        return quotient(self.top.times(right.top), (*self.factors, *right.factors))

    def __truediv__(self, other: Value) -> Value:
        right = of(other)
        require(right.top.terms, "a division by zero")
        return quotient(self.top.times(right.bottom), (*self.factors, *split(right.top)))

    def __rtruediv__(self, other: Value) -> Value:
        return of(other) / self

    def __neg__(self) -> Value:
        return self * -1

    def __sub__(self, other: Value) -> Value:
        return self + of(other) * -1

    def __rsub__(self, other: Value) -> Value:
        return of(other) + self * -1

    __radd__ = __add__
    __rmul__ = __mul__


Value = Rational | Ratio


@overload
def fit(number: Rational) -> Rational: ...
@overload
def fit(number: Value) -> Value: ...
def fit(number: Value) -> Value:
    """A number that is not too large; what a constant takes is told here, and that of functions where they are made."""
    if not isinstance(number, Ratio):
        size = bits(number)
        _spend(effort(size))
        require(size <= BITS, f"too large: a number of more than {BITS} bits")
    return number


def product(factors: Iterable[Polynomial]) -> Polynomial:
    """A product of several."""
    total = ONE
    for factor in factors:
        total = total.times(factor)
    return total


def split(poly: Polynomial) -> tuple[Polynomial, ...]:
    """Factors whose product is a polynomial: its variables, and what is left."""
    least = [min(powers[k] for powers in poly.terms) for k in range(VARIABLES)]
    rest = Polynomial({tuple(map(int.__sub__, powers, least)): c for powers, c in poly.terms.items()})
    return (*(name for name, power in zip(NAMES, least, strict=True) for _ in range(power)), rest)


def of(number: Value) -> Ratio:
    """A number as a quotient."""
    return number if isinstance(number, Ratio) else Ratio(Polynomial({CONSTANT: number}), ())


def quotient(top: Polynomial, factors: Iterable[Polynomial]) -> Value:
    """A quotient, without what divides its numerator, of factors with a leading coefficient of 1."""
    kept = list[Polynomial]()
    for factor in factors:
        lead = factor.terms[max(factor.terms)]
        monic = factor
        if lead != 1:
            scale = Polynomial({CONSTANT: 1 / Fraction(lead)})
            top, monic = top.times(scale), factor.times(scale)
        if monic == ONE:
            continue
        divided = top.over(monic)
        if divided is None:
            kept.append(monic)
        else:
            top = divided
    if not kept and top.terms.keys() <= {CONSTANT}:
        return top.terms.get(CONSTANT, 0)
    return Ratio(top, tuple(sorted(kept, key=lambda one: sorted(one.terms.items()))))


NAMES = tuple(Polynomial({tuple(int(k == place) for k in range(VARIABLES)): 1}) for place in range(VARIABLES))
"""The variables."""
VARIABLE = tuple(Ratio(name, ()) for name in NAMES)


def at(number: Value, places: Sequence[Polynomial]) -> Value:
    """A number with polynomials in the place of the variables; Rejected if its divisor becomes 0."""
    if not isinstance(number, Ratio):
        return number
    top, bottom = number.top.at(places), [factor.at(places) for factor in number.factors]
    require(all(factor.terms for factor in bottom), "a division by zero")
    return quotient(top, [part for factor in bottom for part in split(factor)])


def lower(number: Value, places: Sequence[Polynomial]) -> Fraction | None:
    """A lower bound at all places, written with numbers >= 0; None if comparing coefficients gives none."""
    found = at(number, places)
    if not isinstance(found, Ratio):
        return Fraction(found)
    top, bottom = found.top.terms, found.bottom.terms
    if bottom.get(CONSTANT, 0) < 0:
        top, bottom = ({powers: -c for powers, c in part.items()} for part in (top, bottom))
    if bottom.get(CONSTANT, 0) <= 0 or min(bottom.values()) < 0:
        return None
    if any(c < 0 for powers, c in top.items() if powers not in bottom):
        return None
    _spend(len(bottom) * effort(max(map(bits, (*top.values(), *bottom.values())), default=0)))
    return min(Fraction(top.get(powers, 0)) / c for powers, c in bottom.items())


def upper(number: Value, places: Sequence[Polynomial]) -> Fraction | None:
    """An upper bound, found likewise."""
    found = lower(-1 * number, places)
    return None if found is None else -found


def positive(number: Value, places: Sequence[Polynomial]) -> bool:
    """Whether a number is seen to be positive at all places: numerator and divisor have coefficients of one sign, and
    no constant term is 0."""
    found = of(at(number, places))
    signs = set[bool]()
    for part in (found.top.terms, found.bottom.terms):
        own = {c > 0 for c in part.values()}
        if CONSTANT not in part or len(own) != 1:
            return False
        signs ^= own
    return not signs


def line(number: Value) -> tuple[Fraction, Fraction, Fraction] | None:
    """The numbers a, b, c of which it is a i + b n + c; None if it is no such."""
    found = of(number)
    first, second = (tuple(int(k == place) for k in range(VARIABLES)) for place in (0, 1))
    if found.factors or not found.top.terms.keys() <= {first, second, CONSTANT}:
        return None
    a, b, c = (Fraction(found.top.terms.get(powers, 0)) for powers in (first, second, CONSTANT))
    return a, b, c
