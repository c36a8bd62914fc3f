"""What numbers inside a program can be, for the checker of its certificates: at each kind of position, between two
functions of position and length, and on a lattice; of means over tied keys also what `shares` describes.

A place is the beginning of the sequence (0), the first position (1), the last (3), or any between (2): there i is a
variable, and j where it is a key. Functions are those of `ratios`, in i, n and j. A span says `low <= x <= high`
and, where it has a step, that x is in `offset + step Z`; with `most` x is 1/m for an integer m from 1 to `most`.

Spans are written in the certificate; here it is only checked that they hold. What is used: a function f is a multiple
of a step s at all integers i, n, j if f/s is a polynomial with integer coefficients; f >= 0 on a domain if it has
coefficients >= 0 in the numbers >= 0 that the domain is written in.

A step may have either sign, or be 0 at some i and n: f = (f/s) s is 0 there, too, and `offset + s Z` is one number.
Only gaps, margins and distances need a sign, and are held to be positive where they are taken. A place may have no
positions: none between at n = 2, no keys between that are before i = 2. What is said of these is true; it adds 0 to a
sum, and where the least of several functions is taken it can only make that smaller.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any, NamedTuple

from hardsim.verify import ratios
from hardsim.verify.arithmetic import Costs, Rational, Rejected, require
from hardsim.verify.expressions import Tree, expression
from hardsim.verify.monotone import MonotoneBounds, value_of
from hardsim.verify.ratios import NAMES, VARIABLE, Polynomial, Ratio, Value, fit

INDEX, LENGTH, KEY, LOGARITHM = VARIABLE
MOST_POWER = 24
"""The largest exponent of an expression."""
STEP = 60
"""Steps that an operation on functions takes, as work is counted."""
HALF = Fraction(1, 2)
COMPARED = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}

Domain = tuple[Polynomial, ...]
"""What i, n, j and a fourth variable are, in numbers >= 0."""
Form = Mapping[str, Rational]
"""A linear form of coordinates."""


def _domain(i: Any = 1, n: Any = 1, j: Any = 1) -> Domain:
    one = ratios.ONE
    return tuple(part if isinstance(part, Polynomial) else one.times(_constant(part)) for part in (i, n, j, 1))


def lengths_from(start: int) -> Domain:
    """The domain of lengths n >= start with their logarithms. Of log(n + 1) it only uses that it is at least log(start
    + 1).
    """
    least = Polynomial({ratios.CONSTANT: value_of("log", Fraction(start + 1), -1)})
    return ratios.ONE, above(start, 0), ratios.ONE, least.plus(NAMES[1])


def _constant(value: int) -> Polynomial:
    return Polynomial({ratios.CONSTANT: value})


def above(start: int, *slacks: int) -> Polynomial:
    """`start` plus some numbers >= 0."""
    found = _constant(start)
    for slack in slacks:
        found = found.plus(NAMES[slack])
    return found


DenominatorName = tuple[str | int, ...]
"""The name of a count of tied keys: see `shares`."""


class Denominator(NamedTuple):
    """The `power`-th power of an integer from 1 to `most`: how many visible keys share the largest score of a row."""

    name: DenominatorName
    most: Value
    power: int


@dataclass(frozen=True)
class Share:
    """Numbers in `offset + step/(m_1^e_1 ... m_r^e_r) Z`, for the integers m_l of the denominators."""

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
    """Numbers `base + sign z` with z = 0, or z > 0 and z at least the least of `apart`; the base if the sign is 0."""

    base: Value
    sign: int
    apart: tuple[Value, ...]


@dataclass(frozen=True)
class NumberSpan:
    """Numbers from `low` to `high`, in `offset + step Z` unless the step is None; `share` and `isolated` say more."""

    low: Value
    high: Value
    offset: Value = 0
    step: Value | None = None
    most: Value | None = None
    share: Share | None = None
    isolated: tuple[IsolatedZero, ...] = ()

    @property
    def functions(self) -> Iterator[Value]:
        """Every function of i and n that the claim contains."""
        yield from (part for part in (self.low, self.high, self.offset, self.step, self.most) if part is not None)
        if self.share is not None:
            yield from (self.share.offset, self.share.step, *(bound for _, bound, _ in self.share.denominators))
        for zero in self.isolated:
            yield from (zero.base, *zero.apart)

    @property
    def exact(self) -> bool:
        """Whether it is one function, the same for every word."""
        return self.step is not None and not isinstance(self.step, Ratio) and self.step == 0


def exactly(value: Value) -> NumberSpan:
    """One function."""
    return NumberSpan(value, value, value, 0)


def ends_of(terms: Iterable[tuple[Rational, NumberSpan]], bias: Value = 0) -> tuple[Value, Value]:
    """Return the least and the largest value of a sum: each term is a factor times a number of a span."""
    low, high = bias, bias
    for factor, span in terms:
        ends = (span.low, span.high) if factor > 0 else (span.high, span.low)
        low, high = low + factor * ends[0], high + factor * ends[1]
    return low, high


@dataclass(frozen=True)
class VisibleKeys:
    """The positions j from `low` to `high` that a query sees; `domains` say what i, n and j can be."""

    low: Value
    high: Value
    domains: tuple[Domain, ...]


@dataclass(frozen=True)
class Place:
    """A kind of position."""

    order: int
    i: Value
    n: Value
    domain: Domain

    @property
    def several(self) -> bool:
        """Whether it stands for more than one."""
        return self.order == 2

    def __str__(self) -> str:
        return ("at the beginning of the sequence", "at i = 1", "at 1 < i < n", "at i = n")[self.order]


class World:
    """The places of every length from 2 on, or those of length 1. Of length 2 there are none between: what is claimed
    of them is true."""

    def __init__(self, bos: bool, longer: bool) -> None:
        self.bos, self.n = bos, LENGTH if longer else 1
        end = _domain(n=above(2, 0)) if longer else _domain()
        last = _domain(i=above(2, 0), n=above(2, 0))
        found = [Place(0, 0, self.n, end)] if bos else []
        found.append(Place(1, 1, self.n, end))
        if longer:
            found += [
                Place(2, INDEX, LENGTH, _domain(i=above(2, 0), n=above(3, 0, 1))),
                Place(3, LENGTH, LENGTH, last),
            ]
        self.places = tuple(found)

    def sees(self, query: Place, key: Place, mask: str) -> VisibleKeys | None:
        """The positions of one place that a query at another sees."""
        if query.several and key.several:
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
            i = above(3, 0, 1) if query.order == 3 else _constant(1)
            return VisibleKeys(2, LENGTH - 1, (_domain(i, above(3, 0, 1), above(2, 0)),))
        i, n, *_ = query.domain
        j = n if key.order == 3 else _constant(key.order)
        return VisibleKeys(key.i, key.i, (_domain(i, n, j),))

    def count(self, query: Place, mask: str) -> Value:
        """How many positions a query sees."""
        if not query.order:
            return self.n + 1 if mask in ("none", "past", "strict-past") else 1
        i, n = query.i, self.n
        own = {"none": n, "future": i, "strict-future": i - 1, "past": n - i + 1, "strict-past": n - i}[mask]
        return own + int(self.bos)


def moved(number: Value, i: Value | None = None, j: Value | None = None) -> Value:
    """A function at another i or j, polynomials in i, n and j."""
    if not isinstance(number, Ratio):
        return number
    places = [ratios.of(value) for value in (INDEX if i is None else i, LENGTH, KEY if j is None else j, 1)]
    require(not any(place.factors for place in places), "a position is a polynomial")
    return ratios.at(number, [place.top for place in places])


def has(number: Value, name: int) -> bool:
    """Whether a function depends on i (0) or j (2)."""
    if not isinstance(number, Ratio):
        return False
    return any(powers[name] for poly in (number.top, *number.factors) for powers in poly.terms)


class Signs(Costs):
    """What is known of functions: their signs on domains, and of what they are multiples. Results are kept."""

    _signs: dict[Any, bool]
    _multiples: dict[Any, bool]

    def nonnegative(self, value: Value, domains: Iterable[Domain]) -> bool:
        """Whether a function is seen to be at least 0."""
        if not isinstance(value, Ratio):
            return value >= 0
        return all(self._sign(value, domain, False) for domain in domains)

    def positive(self, value: Value, domains: Iterable[Domain]) -> bool:
        """Whether it is seen to be above 0."""
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
        """Whether a function is seen to be an integer times another, at all integers."""
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
        """A function of i and n that is at most one of i, n and j: it at an end if it rises or falls."""
        if not has(value, 2):
            return value
        rise = moved(value, j=KEY + 1) - value
        for sign, end in ((1, sight.low), (-1, sight.high)):
            if self.nonnegative(sign * rise, sight.domains):
                return moved(value, j=end)
        return self._bottom(value, sight.domains)

    def least_of(self, value: Value, place: Place) -> Value:
        """A function of n that is at most one of i and n at a place."""
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
        require(None not in found, "no number is seen to be below a function")
        return min(least for least in found if least is not None)

    # ---- spans ----

    def within(self, inner: NumberSpan, outer: NumberSpan, sight: VisibleKeys) -> bool:
        """Whether every number of one span, at every position that is seen, is in another of i and n."""
        if inner == outer and not any(has(part, 2) for part in inner.functions):
            return True
        ends = ((inner.low, outer.low, 1), (inner.high, outer.high, -1))
        for own, limit, sign in ends:
            if self.nonnegative(sign * (own - limit), sight.domains):
                continue
            if not self.nonnegative(self.floor(sign * own, sight) - sign * limit, sight.domains):
                return False
        return self.on_lattice(((1, inner),), 0, outer) and outer.most is None

    def on_lattice(self, parts: Iterable[tuple[Rational, NumberSpan]], bias: Value, outer: NumberSpan) -> bool:
        """Whether sums of multiples of numbers of spans are on the lattice of another."""
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
        """Whether every sum of multiples of numbers of spans is in another span."""
        parts = [(factor, span) for factor, span in parts if factor and span != ZERO]
        if len(parts) == 1 and parts[0] == (1, outer) and not bias:
            return True
        low, high = ends_of(parts, bias)
        fine = self.nonnegative(low - outer.low, [domain]) and self.nonnegative(outer.high - high, [domain])
        return fine and self.on_lattice(parts, bias, outer) and outer.most is None

    def active(self, span: NumberSpan, outer: NumberSpan, clip: bool, domain: Domain) -> bool:
        """Whether max(x, 0), or min(max(x, 0), 1), of every number x of a span is in another."""
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
        if outer.step is None or not (low and high) or outer.most is not None:
            return low and high and outer.most is None
        if not self.multiple(outer.offset, outer.step):
            return False
        if clip:
            margin = self.margin(span, True, domain)
            fine = not isinstance(margin, Ratio) and margin >= 0
            return fine and self.multiple(1 - outer.offset, outer.step)
        return self.on_lattice(((1, span),), 0, outer)

    def margin(self, span: NumberSpan, clip: bool, domain: Domain) -> Value:
        """At most max(-x, x - 1) for every number x of a span: how far they are outside (0, 1), if not negative."""
        if self.nonnegative(-1 * span.high, [domain]):
            return -1 * span.high
        if self.nonnegative(span.low - 1, [domain]):
            return span.low - 1
        if span.step is None or isinstance(span.step, Ratio) or isinstance(span.offset, Ratio) or not span.step:
            if not span.exact or isinstance(span.offset, Ratio):
                return -HALF
            return max(-span.offset, span.offset - 1)
        return min((max(-point, point - 1) for point in nearest(span, HALF)), default=HALF)


ZERO = exactly(0)


def nearest(span: NumberSpan, value: Fraction) -> list[Fraction]:
    """The numbers next to a value, on both sides, of a lattice that is the same everywhere: as far as ends that are
    numbers leave any."""
    if span.step is None or isinstance(span.step, Ratio) or isinstance(span.offset, Ratio):
        raise Rejected("a lattice is not the same everywhere")
    offset, step = Fraction(span.offset), Fraction(span.step)
    require(step > 0, "a step of a lattice is positive")
    top = value if isinstance(span.high, Ratio) else min(value, span.high)
    bottom = value if isinstance(span.low, Ratio) else max(value, span.low)
    below, beyond = offset + step * floor((top - offset) / step), offset + step * ceil((bottom - offset) / step)
    fits = (
        isinstance(span.low, Ratio) or below >= span.low,
        isinstance(span.high, Ratio) or beyond <= span.high,
    )
    return [point for point, inside in zip((below, beyond), fits, strict=True) if inside]


# ---- functions ----


def over(top: Value, bottom: Value) -> Value:
    """A quotient."""
    if isinstance(top, Ratio) or isinstance(bottom, Ratio):
        return ratios.of(top) / bottom
    require(bottom != 0, "a division by zero")
    return Fraction(top) / bottom


class Functions:
    """Expressions of i, n and j as functions."""

    def __init__(self, signs: Signs) -> None:
        self.signs = signs

    def read(self, text: str) -> Value:
        """A function that is written in the certificate."""
        what = expression(text, "inj")
        require(not what.truth, f"{text!a} is a truth, not a number")
        return self._number(what.tree, {"i": INDEX, "n": LENGTH, "j": KEY}, None)

    def encoding(self, text: str, place: Place) -> NumberSpan:
        """What an encoding is at a place; of a truth that differs there only that it is one."""
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
        """What is known of -1 to an integer that varies, or of one modulo a number; None of anything else."""
        if not isinstance(tree, tuple):
            return None
        op, first, *rest = tree
        if op == "**" and self._number(first, names, domain) == -1:
            power = self._number(rest[0], names, domain)
            if isinstance(power, Ratio) and self.signs.multiple(power, 1):
                return NumberSpan(-1, 1, -1, 2)
        if op == "chain" and len(rest) == 1 and rest[0][0] == "%":
            number, modulus = (self._number(part, names, domain) for part in (first, rest[0][1]))
            fine = isinstance(modulus, int) and modulus > 0 and self.signs.multiple(number, 1)
            require(fine, "an expression divides with a remainder, of which nothing is known")
            return NumberSpan(0, modulus - 1, 0, 1)
        return None

    def of_length(self, text: str, side: int) -> Value:
        """A temperature of every length from 2 on; or, where that has log, sqrt or exp, a function below it (-1), or
        above it (1)."""
        what, domain = expression(text, "n", functions=True), _domain(n=above(2, 0))
        require(not what.truth, "the temperature is a truth, not a number")
        return MonotoneBounds(lambda tree: self._number(tree, {"n": LENGTH}, domain), domain).of(what.tree, side)

    def in_logarithms(self, text: str) -> Value | None:
        """An upper bound of a temperature as a positive function of n and log(n + 1) (the fourth variable); None if
        none is found.
        """
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
            require(found is not None, "a condition inside an expression differs within a kind of position")
            return int(bool(found))
        if op == "**":
            base, power = (self._number(part, names, domain) for part in parts)
            if not isinstance(power, int) or not 0 <= power <= MOST_POWER:
                raise Rejected(f"an exponent is none from 0 to {MOST_POWER}")
            total: Value = 1
            for _ in range(power):
                total = fit(total * base)
            return total
        require(op == "chain", f"an expression has {op!a}, of which nothing is known")
        total = self._number(parts[0], names, domain)
        for name, part in parts[1:]:
            other = self._number(part, names, domain)
            require(name in ("+", "-", "*", "/"), f"an expression has {name!a}, of which nothing is known")
            if name == "/":
                require(domain is None or self._apart(other, domain), "what an expression divides by may be 0")
                total = over(total, other)
            else:
                total = total + other if name == "+" else total - other if name == "-" else total * other
            total = fit(total)
        return total

    def _apart(self, value: Value, domain: Domain) -> bool:
        return self.signs.positive(value, [domain]) or self.signs.positive(-1 * value, [domain])

    def defined(self, value: Value, domains: Iterable[Domain]) -> bool:
        """Whether no divisor of a function can be 0."""
        return not isinstance(value, Ratio) or all(
            self._apart(Ratio(factor, ()), domain) for factor in value.factors for domain in domains
        )

    def _truth(self, tree: Tree, names: Mapping[str, Value], domain: Domain) -> bool | None:
        """Whether a condition holds; None where that differs, or is not known."""
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
        """A number that is compared; None of one that has a value, with remainders in it, of which nothing is known."""
        if isinstance(tree, int | str) or tree[0] not in ("chain", "-"):
            return self._number(tree, names, domain)
        op, first, *rest = tree
        if op == "-":
            inner = self._term(first, names, domain)
            return None if inner is None else -1 * inner
        terms = [self._term(part, names, domain) for part in (first, *(part for _, part in rest))]
        for (name, _), by in zip(rest, terms[1:], strict=True):
            fine = name not in ("/", "//", "%") or (by is not None and self._apart(by, domain))
            require(fine, "what an expression divides by may be 0")
        known = None not in terms and not any(name in ("//", "%") for name, _ in rest)
        return self._number(tree, names, domain) if known else None

    def _integer(self, tree: Tree, names: Mapping[str, Value], domain: Domain) -> None:
        """Hold that what a predicate is asked of is an integer."""
        require(self.signs.multiple(self._number(tree, names, domain), 1), "a predicate is asked of no integer")

    def _compared(self, op: str, difference: Value, domain: Domain) -> bool | None:
        for sign in (1, -1):
            if self.signs.positive(sign * difference, [domain]):
                return bool(COMPARED[op](sign, 0))
        if not isinstance(difference, Ratio):
            return bool(COMPARED[op](difference, 0))
        if op in ("<", ">=") and self.signs.nonnegative(difference, [domain]):
            return op == ">="
        if op in (">", "<=") and self.signs.nonnegative(-1 * difference, [domain]):
            return op == "<="
        return None
