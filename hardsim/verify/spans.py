"""The numbers inside a program, for the checker of its certificates. At each place a number lies between two functions
of position and length, and on a lattice. For means over tied keys, `shares` knows more.

A place is the beginning of the sequence (0), the first position (1), the last one (3), or any between (2). At place 2
the position is the variable i, or j if it is the position of a key. Functions are those of `ratios`, in i, n and j. A
span says that `low <= x <= high` and, if it has a step, that x is in `offset + step Z`. With `most`, x is 1/m for an
integer m from 1 to `most`.

Spans come from the certificate; here they are only checked. Two rules suffice. A function f is a multiple of a step s
at all integers i, n, j if f/s is a polynomial with integer coefficients. And f >= 0 on a domain if f has coefficients
>= 0 in the numbers >= 0 by which the domain is described.

A step may have either sign, or be 0 at some i and n: f = (f/s) s is 0 there too, and `offset + s Z` is one number. Only
gaps, margins and distances need a sign; they are required to be positive where they are used. A place may have no
positions: place 2 at n = 2, or keys of place 2 before i = 2. Claims about them are true; such a place adds 0 to a sum,
and can only make the least of several functions smaller.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any, NamedTuple

from hardsim.verify import ratios
from hardsim.verify.arithmetic import Costs, Rational, Rejected, require
from hardsim.verify.expressions import OPERATIONS, Tree, expression
from hardsim.verify.monotone import MonotoneBounds, value_of
from hardsim.verify.ratios import NAMES, VARIABLE, Polynomial, Ratio, Value, fit

INDEX, LENGTH, KEY, LOGARITHM = VARIABLE
MOST_POWER = 24
"""Largest exponent in an expression."""
STEP = 60
"""Steps charged for an operation on functions."""
HALF = Fraction(1, 2)

Domain = tuple[Polynomial, ...]
"""The values of i, n, j and a fourth variable, as polynomials in numbers >= 0."""
Form = Mapping[str, Rational]
"""A linear form: coefficients by names of coordinates."""


def _domain(i: Any = 1, n: Any = 1, j: Any = 1) -> Domain:
    one = ratios.ONE
    # A variable that does not occur gets a constant.
    return tuple(part if isinstance(part, Polynomial) else one.times(_constant(part)) for part in (i, n, j, 1))


def lengths_from(start: int) -> Domain:
    """Return the domain of lengths n >= start. Its fourth variable is log(n + 1), of which it states only that it is at
    least log(start + 1)."""
    # Lower bound of log(start + 1), plus a number >= 0.
    least = Polynomial({ratios.CONSTANT: value_of("log", Fraction(start + 1), -1)})
    return ratios.ONE, above(start, 0), ratios.ONE, least.plus(NAMES[1])


def _constant(value: int) -> Polynomial:
    return Polynomial({ratios.CONSTANT: value})


def above(start: int, *slacks: int) -> Polynomial:
    """Return the polynomial `start` plus some of the variables, which are numbers >= 0."""
    found = _constant(start)
    for slack in slacks:
        found = found.plus(NAMES[slack])
    return found


DenominatorName = tuple[str | int, ...]
"""The name of a number of tied keys (see `shares`)."""


class Denominator(NamedTuple):
    """The `power`-th power of an integer from 1 to `most`: the number of visible keys that share the largest score of a
    row."""

    name: DenominatorName
    most: Value
    power: int


@dataclass(frozen=True)
class Share:
    """The numbers in `offset + step/(m_1^e_1 ... m_r^e_r) Z`, for the integers m_l of the denominators."""

    offset: Value
    step: Value
    denominators: tuple[Denominator, ...]

    @property
    def powers(self) -> dict[DenominatorName, int]:
        """The exponent of each denominator, by name."""
        return {name: power for name, _, power in self.denominators}

    @property
    def product(self) -> Value:
        """An upper bound of the product of the powers of the denominators."""
        total: Value = 1
        for _, bound, power in self.denominators:
            for _ in range(power):
                total = fit(total * bound)
        return total


@dataclass(frozen=True)
class IsolatedZero:
    """The numbers `base + sign z` with z = 0, or z > 0 and z at least the least of `apart`. With sign 0 it is the base
    alone."""

    base: Value
    sign: int
    apart: tuple[Value, ...]


@dataclass(frozen=True)
class NumberSpan:
    """The numbers from `low` to `high`, in `offset + step Z` unless the step is None. `share` and `isolated` restrict
    them further; with `most` they are 1/m for integers m from 1 to `most`."""

    low: Value
    high: Value
    offset: Value = 0
    step: Value | None = None
    most: Value | None = None
    share: Share | None = None
    isolated: tuple[IsolatedZero, ...] = ()

    @property
    def functions(self) -> Iterator[Value]:
        """All functions of i and n that the span contains."""
        yield from (part for part in (self.low, self.high, self.offset, self.step, self.most) if part is not None)
        if self.share is not None:
            yield from (self.share.offset, self.share.step, *(bound for _, bound, _ in self.share.denominators))
        for zero in self.isolated:
            yield from (zero.base, *zero.apart)

    @property
    def exact(self) -> bool:
        """True if the span is one function, the same for every word."""
        return self.step is not None and not isinstance(self.step, Ratio) and self.step == 0


def exactly(value: Value) -> NumberSpan:
    """Return the span of one function."""
    return NumberSpan(value, value, value, 0)


def ends_of(terms: Iterable[tuple[Rational, NumberSpan]], bias: Value = 0) -> tuple[Value, Value]:
    """Return the least and the largest value of a sum. Each term is a factor times a number of a span."""
    low, high = bias, bias
    for factor, span in terms:
        ends = (span.low, span.high) if factor > 0 else (span.high, span.low)
        low, high = low + factor * ends[0], high + factor * ends[1]
    return low, high


@dataclass(frozen=True)
class VisibleKeys:
    """The visible keys of one place: positions j from `low` to `high`. `domains` describe the possible i, n and j."""

    low: Value
    high: Value
    domains: tuple[Domain, ...]


@dataclass(frozen=True)
class Place:
    """A kind of position: the beginning of the sequence (`order` 0), the first position (1), one between (2) or the
    last (3); `i` and `n` are its position and length."""

    order: int
    i: Value
    n: Value
    domain: Domain

    @property
    def several(self) -> bool:
        """True if the place stands for more than one position."""
        return self.order == 2

    def __str__(self) -> str:
        return ("at the beginning of the sequence", "at i = 1", "at 1 < i < n", "at i = n")[self.order]


Sights = Sequence[tuple[Place, VisibleKeys]]
"""The places of keys that a query sees, with the keys there."""


class World:
    """The places of all lengths from 2 on, or those of length 1. Length 2 has no position of place 2; claims about it
    are true."""

    def __init__(self, bos: bool, longer: bool) -> None:
        self.bos, self.n = bos, LENGTH if longer else 1
        # n = 2 + s for the beginning and the first position; i = n = 2 + s for the last.
        end = _domain(n=above(2, 0)) if longer else _domain()
        last = _domain(i=above(2, 0), n=above(2, 0))
        found = [Place(0, 0, self.n, end)] if bos else []
        found.append(Place(1, 1, self.n, end))
        if longer:
            found += [
                # i = 2 + s, n = 3 + s + t: any 1 < i < n.
                Place(2, INDEX, LENGTH, _domain(i=above(2, 0), n=above(3, 0, 1))),
                Place(3, LENGTH, LENGTH, last),
            ]
        self.places = tuple(found)

    def sees(self, query: Place, key: Place, mask: str) -> VisibleKeys | None:
        """Return the keys of one place that a query at another place sees; None if there are none."""
        if query.several and key.several:
            # j <= i in the one, j > i in the other; n has a slack of its own each time.
            upto, beyond = _domain(above(2, 0, 1), above(3, 0, 1, 2), above(2, 0)), _domain(
                above(2, 0), above(4, 0, 1, 2), above(3, 0, 1)
            )  # fmt: skip
            return {
                "none": VisibleKeys(2, LENGTH - 1, (upto, beyond)),
                "future": VisibleKeys(2, INDEX, (upto,)),
                "strict-future": VisibleKeys(2, INDEX - 1, (_domain(above(3, 0, 1), above(4, 0, 1, 2), above(2, 0)),)),
                "past": VisibleKeys(INDEX, LENGTH - 1, (_domain(above(2, 0), above(3, 0, 1, 2), above(2, 0, 1)),)),
                "strict-past": VisibleKeys(INDEX + 1, LENGTH - 1, (beyond,)),
            }[mask]
        fits = {
            "none": True,
            "future": key.order <= query.order,
            "strict-future": key.order < query.order,
            "past": key.order >= query.order,
            "strict-past": key.order > query.order,
        }[mask]
        if key.order and not fits:
            return None
        if key.several:  # the query is at an end
            # 1 < j < n, and the query is at 1 or at n.
            i = above(3, 0, 1) if query.order == 3 else _constant(1)
            return VisibleKeys(2, LENGTH - 1, (_domain(i, above(3, 0, 1), above(2, 0)),))
        i, n, *_ = query.domain
        j = n if key.order == 3 else _constant(key.order)
        return VisibleKeys(key.i, key.i, (_domain(i, n, j),))

    def seen(self, query: Place, mask: str) -> Sights:
        """Return the places of the keys that a query sees, with the keys there."""
        found = [(key, self.sees(query, key, mask)) for key in self.places]
        return [(key, sight) for key, sight in found if sight is not None]

    def count(self, query: Place, mask: str) -> Value:
        """Return the number of keys that a query sees, as a function of i and n. The beginning of the sequence, if
        there is one, counts under every mask."""
        if not query.order:
            return self.n + 1 if mask in ("none", "past", "strict-past") else 1
        i, n = query.i, self.n
        own = {"none": n, "future": i, "strict-future": i - 1, "past": n - i + 1, "strict-past": n - i}[mask]
        return own + int(self.bos)


def moved(number: Value, i: Value | None = None, j: Value | None = None) -> Value:
    """Return a function with polynomials in i, n and j in place of i and j."""
    if not isinstance(number, Ratio):
        return number
    places = [ratios.of(value) for value in (INDEX if i is None else i, LENGTH, KEY if j is None else j, 1)]
    require(not any(place.factors for place in places), "a position should be a polynomial")
    return ratios.at(number, [place.top for place in places])


def has(number: Value, name: int) -> bool:
    """Return True if a function depends on the variable of a number: 0 for i, 2 for j."""
    if not isinstance(number, Ratio):
        return False
    return any(powers[name] for poly in (number.top, *number.factors) for powers in poly.terms)


class Signs(Costs):
    """Signs of functions on domains, and multiples; results are cached. Methods answer True if comparing coefficients
    proves the answer. False means "not known"."""

    _signs: dict[Any, bool]
    _multiples: dict[Any, bool]

    def nonnegative(self, value: Value, domains: Iterable[Domain]) -> bool:
        """Return True if a function is known to be at least 0 on all domains."""
        if not isinstance(value, Ratio):
            return value >= 0
        return all(self._sign(value, domain, False) for domain in domains)

    def positive(self, value: Value, domains: Iterable[Domain]) -> bool:
        """Return True if a function is known to be positive on all domains."""
        if not isinstance(value, Ratio):
            return value > 0
        return all(self._sign(value, domain, True) for domain in domains)

    def _sign(self, value: Ratio, domain: Domain, strictly: bool) -> bool:
        key = value, domain, strictly
        if key not in self._signs:
            self.spend(STEP)
            self.keep(1)
            if strictly:
                self._signs[key] = ratios.positive(value, domain)
            else:
                least = ratios.lower(value, domain)
                self._signs[key] = least is not None and least >= 0
        return self._signs[key]

    def multiple(self, value: Value, step: Value) -> bool:
        """Return True if a function is known to be an integer times `step`, at all integers i, n and j."""
        if not isinstance(value, Ratio) and value == 0:
            return True
        if not isinstance(step, Ratio):
            if step == 0:
                return False
            if not isinstance(value, Ratio):
                return (Fraction(value) / step).denominator == 1
        key = value, step
        if key not in self._multiples:
            self.spend(STEP)
            self.keep(1)
            found = ratios.of(ratios.of(value) / step)
            fine = not found.factors and all(c.denominator == 1 for c in found.top.terms.values())
            self._multiples[key] = fine
        return self._multiples[key]

    def floor(self, value: Value, sight: VisibleKeys) -> Value:
        """Return a function of i and n that is a lower bound of a function of i, n and j at the visible keys. If the
        function rises or falls with j it is the function at one end; else it is a number."""
        if not has(value, 2):
            return value
        # A function that rises has its least value at the first visible key, one that falls at the last.
        rise = moved(value, j=KEY + 1) - value
        for sign, end in ((1, sight.low), (-1, sight.high)):
            if self.nonnegative(sign * rise, sight.domains):
                return moved(value, j=end)
        return self._bottom(value, sight.domains)

    def least_of(self, value: Value, place: Place) -> Value:
        """Return a function of n that is a lower bound of a function of i and n at a place."""
        if not place.several or not has(value, 0):
            return value
        rise = moved(value, i=INDEX + 1) - value
        for sign, end in ((1, 2), (-1, LENGTH - 1)):
            if self.nonnegative(sign * rise, [place.domain]):
                return moved(value, i=end)
        return self._bottom(value, [place.domain])

    def _bottom(self, value: Value, domains: Iterable[Domain]) -> Fraction:
        self.spend(STEP)
        found = [ratios.lower(value, domain) for domain in domains]
        require(None not in found, "no lower bound of a function is known")
        return min(least for least in found if least is not None)

    # ---- spans ----

    def within(self, inner: NumberSpan, outer: NumberSpan, sight: VisibleKeys) -> bool:
        """Return True if every number of the span `inner`, at every visible key, is known to lie in the span `outer` of
        i and n."""
        # The usual case, without any work.
        if inner == outer and not any(has(part, 2) for part in inner.functions):
            return True
        fine = self.between(inner.low, inner.high, sight, outer) and self.on_lattice(((1, inner),), 0, outer)
        return fine and outer.most is None

    def between(self, low: Value, high: Value, sight: VisibleKeys, outer: NumberSpan) -> bool:
        """Return True if all numbers from `low` to `high`, at every visible key, are known to lie within the ends of
        the span `outer`."""
        for own, limit, sign in ((low, outer.low, 1), (high, outer.high, -1)):
            if not self.nonnegative(sign * (own - limit), sight.domains):
                least = self.floor(sign * own, sight)
                if not self.nonnegative(least - sign * limit, sight.domains):
                    return False
        return True

    def on_lattice(self, parts: Iterable[tuple[Rational, NumberSpan]], bias: Value, outer: NumberSpan) -> bool:
        """Return True if a sum of factors times numbers of spans, plus a bias, is known to be on the lattice of
        `outer`."""
        if outer.step is None:
            return True
        offset = bias - outer.offset
        for factor, span in parts:
            if span.step is None or not self.multiple(factor * span.step, outer.step):
                return False
            offset = offset + factor * span.offset
        return self.multiple(offset, outer.step)

    def sums_to(
        self, parts: Sequence[tuple[Rational, NumberSpan]], bias: Rational, outer: NumberSpan, domain: Domain
    ) -> bool:
        """Return True if a sum of factors times numbers of spans, plus a bias, is known to lie in the span `outer`."""
        parts = [(factor, span) for factor, span in parts if factor and span != ZERO]
        if len(parts) == 1 and parts[0] == (1, outer) and not bias:
            return True
        low, high = ends_of(parts, bias)
        fine = self.nonnegative(low - outer.low, [domain]) and self.nonnegative(outer.high - high, [domain])
        return fine and self.on_lattice(parts, bias, outer) and outer.most is None

    def active(self, span: NumberSpan, outer: NumberSpan, clip: bool, domain: Domain) -> bool:
        """Return True if max(x, 0), or min(max(x, 0), 1) for a clip, is known to lie in `outer` for every number x of a
        span."""
        here = VisibleKeys(0, 0, (domain,))
        if self.nonnegative(-1 * span.high, [domain]):
            return self.within(ZERO, outer, here)
        if clip and self.nonnegative(span.low - 1, [domain]):
            return self.within(exactly(1), outer, here)
        if not clip and self.nonnegative(span.low, [domain]):
            return self.within(span, outer, here)
        low = self.nonnegative(-1 * outer.low, [domain]) or (
            self.nonnegative(span.low - outer.low, [domain]) and (not clip or self.nonnegative(1 - outer.low, [domain]))
        )
        high = self.nonnegative(outer.high, [domain]) and (
            self.nonnegative(outer.high - span.high, [domain]) or (clip and self.nonnegative(outer.high - 1, [domain]))
        )
        # low and high: the ends of the piece, 0 and (for a clip) 1, are within the outer span.
        if outer.step is None or not (low and high) or outer.most is not None:
            return low and high and outer.most is None
        if not self.multiple(outer.offset, outer.step):
            return False
        if clip:
            margin = self.margin(span, True, domain)
            # No number of the span is inside (0, 1), so the clip is 0 or 1.
            fine = not isinstance(margin, Ratio) and margin >= 0
            return fine and self.multiple(1 - outer.offset, outer.step)
        return self.on_lattice(((1, span),), 0, outer)

    def margin(self, span: NumberSpan, clip: bool, domain: Domain) -> Value:
        """Return a lower bound of max(-x, x - 1) over the numbers x of a span: the distance from (0, 1) if it is not
        negative."""
        if self.nonnegative(-1 * span.high, [domain]):
            return -1 * span.high
        if self.nonnegative(span.low - 1, [domain]):
            return span.low - 1
        if span.step is None or isinstance(span.step, Ratio) or isinstance(span.offset, Ratio) or not span.step:
            if not span.exact or isinstance(span.offset, Ratio):
                return -HALF
            return max(-span.offset, span.offset - 1)
        # Of all lattice points the two next to 1/2 are deepest inside (0, 1).
        return min((max(-point, point - 1) for point in nearest(span, HALF)), default=HALF)


ZERO = exactly(0)


def nearest(span: NumberSpan, value: Fraction) -> list[Fraction]:
    """Return the numbers of a lattice next to a value, on both sides, that are within the ends of the span. Raises
    Rejected if the lattice depends on the position."""
    if span.step is None or isinstance(span.step, Ratio) or isinstance(span.offset, Ratio):
        raise Rejected("a lattice depends on the position")
    offset, step = Fraction(span.offset), Fraction(span.step)
    require(step > 0, "a step of a lattice should be positive")
    top = value if isinstance(span.high, Ratio) else min(value, span.high)
    bottom = value if isinstance(span.low, Ratio) else max(value, span.low)
    # The end of the span may be on either side of the value.
    below, beyond = offset + step * floor((top - offset) / step), offset + step * ceil((bottom - offset) / step)
    fits = (
        isinstance(span.low, Ratio) or below >= span.low,
        isinstance(span.high, Ratio) or beyond <= span.high,
    )
    return [point for point, inside in zip((below, beyond), fits, strict=True) if inside]


# ---- functions ----


def over(top: Value, bottom: Value) -> Value:
    """Return a quotient; raise Rejected if the divisor is 0."""
    if isinstance(top, Ratio) or isinstance(bottom, Ratio):
        return ratios.of(top) / bottom
    require(bottom != 0, "a division by zero")
    return Fraction(top) / bottom


class Functions:
    """Convert expressions of i, n and j to functions."""

    def __init__(self, signs: Signs) -> None:
        self.signs = signs

    def read(self, text: str) -> Value:
        """Return a function from its text in the certificate."""
        what = expression(text, "inj")
        require(not what.truth, f"{text!a} is a truth, not a number")
        return self._number(what.tree, {"i": INDEX, "n": LENGTH, "j": KEY}, None)

    def encoding(self, text: str, place: Place) -> NumberSpan:
        """Return the span of a position encoding at a place. A condition that is true at some positions of the place
        and false at others is a number 0 or 1."""
        what, names = expression(text, "in"), {"i": place.i, "n": place.n}
        if what.truth:
            found = self._truth(what.tree, names, place.domain)
            return NumberSpan(0, 1, 0, 1) if found is None else exactly(int(found))
        tree = what.tree
        if isinstance(tree, tuple) and tree[0] == "[":
            found = self._truth(tree[1], names, place.domain)
            return NumberSpan(0, 1, 0, 1) if found is None else exactly(int(found))
        return self._repeating(tree, names, place.domain) or exactly(self._number(tree, names, place.domain))

    def _repeating(self, tree: Tree, names: Mapping[str, Value], domain: Domain) -> NumberSpan | None:
        """Return the span of (-1)**x for an integer x that varies, or of a remainder; None for any other expression."""
        if not isinstance(tree, tuple):
            return None
        op, first, *rest = tree
        # -1 and 1 are the lattice -1 + 2 Z within [-1, 1].
        if op == "**" and self._number(first, names, domain) == -1:
            power = self._number(rest[0], names, domain)
            if isinstance(power, Ratio) and self.signs.multiple(power, 1):
                return NumberSpan(-1, 1, -1, 2)
        if op == "chain" and len(rest) == 1 and rest[0][0] == "%":
            number, modulus = (self._number(part, names, domain) for part in (first, rest[0][1]))
            fine = isinstance(modulus, int) and modulus > 0 and self.signs.multiple(number, 1)
            require(fine, "an expression has a remainder, for which there is no rule")
            return NumberSpan(0, modulus - 1, 0, 1)
        return None

    def of_length(self, text: str, side: int) -> Value:
        """Return the temperature of all lengths from 2 on as a function of n. If it has log, sqrt or exp, return a
        function below (side -1) or above it (side 1)."""
        what, domain = expression(text, "n", functions=True), _domain(n=above(2, 0))
        require(not what.truth, "the temperature is a truth value, not a number")
        return MonotoneBounds(lambda tree: self._number(tree, {"n": LENGTH}, domain), domain).of(what.tree, side)

    def in_logarithms(self, text: str) -> Value | None:
        """Return an upper bound of a temperature that is a positive function of n and log(n + 1), the fourth variable;
        None if none is found."""
        what, domain = expression(text, "n", functions=True), lengths_from(2)
        sides = MonotoneBounds(lambda tree: self._number(tree, {"n": LENGTH}, domain), domain, LOGARITHM)
        try:
            found = sides.of(what.tree, 1)
        except Rejected:
            return None
        return found if self.signs.positive(found, [domain]) else None

    def _number(self, tree: Tree, names: Mapping[str, Value], domain: Domain | None) -> Value:
        self.signs.spend(STEP)
        if isinstance(tree, int):
            return tree
        if isinstance(tree, str):
            return names[tree]
        op, *parts = tree
        if op == "-":
            return -1 * self._number(parts[0], names, domain)
        if op == "[":
            found = None if domain is None else self._truth(parts[0], names, domain)
            message = "a condition in an expression is true at some positions of a place and false at others"
            require(found is not None, message)
            return int(bool(found))
        if op == "**":
            base, power = (self._number(part, names, domain) for part in parts)
            if not isinstance(power, int) or not 0 <= power <= MOST_POWER:
                raise Rejected(f"an exponent is not an integer from 0 to {MOST_POWER}")
            total: Value = 1
            for _ in range(power):
                total = fit(total * base)
            return total
        require(op == "chain", f"an expression has {op!a}, for which there is no rule")
        total = self._number(parts[0], names, domain)
        for name, part in parts[1:]:
            other = self._number(part, names, domain)
            require(name in ("+", "-", "*", "/"), f"an expression has {name!a}, for which there is no rule")
            if name == "/":
                require(domain is None or self._apart(other, domain), "a divisor in an expression may be 0")
                total = over(total, other)
            else:
                total = total + other if name == "+" else total - other if name == "-" else total * other
            total = fit(total)
        return total

    def _apart(self, value: Value, domain: Domain) -> bool:
        return self.signs.positive(value, [domain]) or self.signs.positive(-1 * value, [domain])

    def defined(self, value: Value, domains: Iterable[Domain]) -> bool:
        """Return True if no divisor of a function can be 0 on the domains."""
        return not isinstance(value, Ratio) or all(
            self._apart(Ratio(factor, ()), domain) for factor in value.factors for domain in domains
        )

    def _truth(self, tree: Tree, names: Mapping[str, Value], domain: Domain) -> bool | None:
        """Return the truth of a condition; None if it is not the same at all positions of a place, or not known."""
        assert isinstance(tree, tuple)
        op, *parts = tree
        if op == "not":
            found = self._truth(parts[0], names, domain)
            return None if found is None else not found
        if op != "chain":
            self._integer(parts[0], names, domain)
            return None
        first, *others = parts
        if others[0][0] in ("and", "or"):
            decides = others[0][0] == "or"
            some = [self._truth(part, names, domain) for part in (first, *(part for _, part in others))]
            return decides if decides in some else None if None in some else not decides
        terms = [self._term(part, names, domain) for part in (first, *(part for _, part in others))]
        some = [None if left is None or right is None else self._compared(name, left - right, domain)
                for (name, _), left, right in zip(others, terms, terms[1:], strict=False)]  # fmt: skip
        return False if False in some else None if None in some else True

    def _term(self, tree: Tree, names: Mapping[str, Value], domain: Domain) -> Value | None:
        """Return a number to compare, or None if it has a remainder in it, so that only its existence is known."""
        if isinstance(tree, int | str) or tree[0] not in ("chain", "-"):
            return self._number(tree, names, domain)
        op, first, *rest = tree
        if op == "-":
            inner = self._term(first, names, domain)
            return None if inner is None else -1 * inner
        terms = [self._term(part, names, domain) for part in (first, *(part for _, part in rest))]
        for (name, _), by in zip(rest, terms[1:], strict=True):
            fine = name not in ("/", "//", "%") or (by is not None and self._apart(by, domain))
            require(fine, "a divisor in an expression may be 0")
        known = None not in terms and not any(name in ("//", "%") for name, _ in rest)
        return self._number(tree, names, domain) if known else None

    def _integer(self, tree: Tree, names: Mapping[str, Value], domain: Domain) -> None:
        """Require that a predicate is asked of an integer."""
        message = "a predicate is applied to a number that may not be an integer"
        require(self.signs.multiple(self._number(tree, names, domain), 1), message)

    def _compared(self, op: str, difference: Value, domain: Domain) -> bool | None:
        for sign in (1, -1):
            if self.signs.positive(sign * difference, [domain]):
                return bool(OPERATIONS[op](sign, 0))
        if not isinstance(difference, Ratio):
            return bool(OPERATIONS[op](difference, 0))
        if op in ("<", ">=") and self.signs.nonnegative(difference, [domain]):
            return op == ">="
        if op in (">", "<=") and self.signs.nonnegative(-1 * difference, [domain]):
            return op == "<="
        return None
