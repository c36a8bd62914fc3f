"""Rational functions of positions and lengths: exact, of limited size, with bounds that hold for every length.

A polynomial has up to four variables, known by number: it is a dictionary from tuples of exponents to coefficients. A
quotient keeps its divisor as a product of polynomials; factors that divide the numerator are cancelled.

Bounds come from comparing coefficients. Let every variable be a number >= 0, and let a divisor D have coefficients >= 0
and a positive constant term. If N - g D has coefficients >= 0, then N/D >= g. The largest such g is the least quotient
of a coefficient of N by that of D.

Operations report their cost to `charged`, where possible before they are done.
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
"""Most terms of a polynomial."""
MOST_DEGREE = 24
"""Largest degree of a term of a polynomial."""

LARGE = "too large: a polynomial of too many terms, too high a degree, or too large numbers"

Powers = tuple[int, ...]
Terms = dict[Powers, Rational]

_charge: ContextVar[Callable[[int], None] | None] = ContextVar("charge", default=None)


@contextmanager
def charged(charge: Callable[[int], None]) -> Iterator[None]:
    """Call `charge` with the steps of every operation on polynomials inside this context. `charge` may raise
    Rejected."""
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
    """Add c to a coefficient of `terms`, and drop a coefficient that becomes 0. Raises Rejected if it becomes too
    large."""
    total = terms.get(powers, 0) + c
    size = bits(total)
    _spend(effort(size))
    require(size <= BITS, LARGE)
    if total:
        terms[powers] = total
    else:
        terms.pop(powers, None)


class Polynomial:
    """A polynomial in four variables. Equal polynomials have equal terms. The constructor raises Rejected for one that
    has too many terms, too high a degree, or too large numbers."""

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
        """Return this polynomial plus `factor` times another one."""
        terms, size = dict(self.terms), other.bits + bits(factor)
        require(size <= 2 * BITS, LARGE)
        _spend(len(other.terms) * effort(size))
        for powers, c in other.terms.items():
            _add(terms, powers, factor * c)
        return Polynomial(terms)

    def times(self, other: Polynomial) -> Polynomial:
        """Return the product with another polynomial."""
        terms, size = dict[Powers, Rational](), self.bits + other.bits
        require(self.degree + other.degree <= MOST_DEGREE and size <= 2 * BITS, LARGE)
        _spend(len(self.terms) * len(other.terms) * effort(size))
        for powers, c in self.terms.items():
            for more, d in other.terms.items():
                _add(terms, tuple(map(int.__add__, powers, more)), c * d)
        return Polynomial(terms)

    def over(self, other: Polynomial) -> Polynomial | None:
        """Return the quotient by another polynomial if that divides this one, else None.

        Division by leading terms finds the terms of the quotient in descending order. The degree of the quotient is the
        difference of the degrees.
        """
        left, found, lead = dict(self.terms), dict[Powers, Rational](), max(other.terms)
        while left:
            # The order of exponent tuples is a monomial order, so a product's largest term is that of the factors.
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
        """Return this polynomial with the polynomials `places` in place of the variables."""
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
    """A rational function that is not constant: `top` over the product of `factors`. Operators return a number instead
    of a Ratio if the result is constant."""

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
        """Return a hash of numerator and divisor. Equal functions of which not all common factors were cancelled may
        have different hashes; they count as different functions then, which is sound wherever they are keys."""
        return self._hash

    def __bool__(self) -> bool:
        # A Ratio is not constant, so it is not 0.
        return True

    def __add__(self, other: Value) -> Value:
        right = of(other)
        mine, others = list(self.factors), list(right.factors)
        for factor in self.factors:  # what both divisors have
            # Common factors of both divisors need to be multiplied in only once.
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
    """Return the same number; raise Rejected if it is a constant of too many bits. The cost of constants is charged
    here, that of functions where they are computed."""
    if not isinstance(number, Ratio):
        size = bits(number)
        _spend(effort(size))
        require(size <= BITS, f"too large: a number of more than {BITS} bits")
    return number


def product(factors: Iterable[Polynomial]) -> Polynomial:
    """Return the product of some polynomials."""
    total = ONE
    for factor in factors:
        total = total.times(factor)
    return total


def split(poly: Polynomial) -> tuple[Polynomial, ...]:
    """Return factors whose product is a polynomial: variables, as often as they divide it, and the rest."""
    least = [min(powers[k] for powers in poly.terms) for k in range(VARIABLES)]
    rest = Polynomial({tuple(map(int.__sub__, powers, least)): c for powers, c in poly.terms.items()})
    return (*(name for name, power in zip(NAMES, least, strict=True) for _ in range(power)), rest)


def of(number: Value) -> Ratio:
    """Return a number or function as a Ratio, perhaps with a constant numerator and no divisor."""
    return number if isinstance(number, Ratio) else Ratio(Polynomial({CONSTANT: number}), ())


def quotient(top: Polynomial, factors: Iterable[Polynomial]) -> Value:
    """Return the quotient of a polynomial by the product of `factors`, a number if it is constant. Factors that divide
    the numerator are cancelled, all others get the leading coefficient 1."""
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


# In a fixed order, so that equal divisors are equal tuples.


NAMES = tuple(Polynomial({tuple(int(k == place) for k in range(VARIABLES)): 1}) for place in range(VARIABLES))
"""The variables as polynomials."""
VARIABLE = tuple(Ratio(name, ()) for name in NAMES)


def at(number: Value, places: Sequence[Polynomial]) -> Value:
    """Return a function with the polynomials `places` in place of the variables. Raises Rejected if a divisor becomes
    0."""
    if not isinstance(number, Ratio):
        return number
    top, bottom = number.top.at(places), [factor.at(places) for factor in number.factors]
    require(all(factor.terms for factor in bottom), "a division by zero")
    return quotient(top, [part for factor in bottom for part in split(factor)])


def lower(number: Value, places: Sequence[Polynomial]) -> Fraction | None:
    """Return a lower bound of a function at all places, or None if comparing coefficients gives none. `places` are the
    values of the variables, written as polynomials in numbers >= 0."""
    found = at(number, places)
    if not isinstance(found, Ratio):
        return Fraction(found)
    top, bottom = found.top.terms, found.bottom.terms
    # Numerator and divisor may change their sign together.
    if bottom.get(CONSTANT, 0) < 0:
        top, bottom = ({powers: -c for powers, c in part.items()} for part in (top, bottom))
    if bottom.get(CONSTANT, 0) <= 0 or min(bottom.values()) < 0:
        return None
    # A term of N with a negative coefficient that D does not have: N - g D keeps it for every g.
    if any(c < 0 for powers, c in top.items() if powers not in bottom):
        return None
    _spend(len(bottom) * effort(max(map(bits, (*top.values(), *bottom.values())), default=0)))
    return min(Fraction(top.get(powers, 0)) / c for powers, c in bottom.items())


def upper(number: Value, places: Sequence[Polynomial]) -> Fraction | None:
    """Return an upper bound of a function at all places, or None if comparing coefficients gives none."""
    found = lower(-1 * number, places)
    return None if found is None else -found


def positive(number: Value, places: Sequence[Polynomial]) -> bool:
    """Return True if a function is known to be positive at all places: all coefficients of numerator and divisor have
    one sign, and no constant term is 0."""
    found = of(at(number, places))
    signs = set[bool]()
    for part in (found.top.terms, found.bottom.terms):
        own = {c > 0 for c in part.values()}
        if CONSTANT not in part or len(own) != 1:
            return False
        signs ^= own
    return not signs


def line(number: Value) -> tuple[Fraction, Fraction, Fraction] | None:
    """Return a, b, c if a function is a i + b n + c, else None."""
    found = of(number)
    first, second = (tuple(int(k == place) for k in range(VARIABLES)) for place in (0, 1))
    if found.factors or not found.top.terms.keys() <= {first, second, CONSTANT}:
        return None
    a, b, c = (Fraction(found.top.terms.get(powers, 0)) for powers in (first, second, CONSTANT))
    return a, b, c
