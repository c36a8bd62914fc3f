"""The positions of a program, every length from 2 on at once: the beginning of the sequence, the first position, the
last, and any other; or those of length 1, which has one that is both first and last.

What an encoding is there is a function of i and n; a condition that holds at some positions of a kind and not at others
is a Boolean of which nothing else is known, and so is a predicate.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from hardsim.lang.arith import Arith, Complement, Constant, Expression, Indicator, Negation, Operation, Variable
from hardsim.network.columns import PositionFunction, PredicateColumn
from hardsim.network.numbers import Mask
from hardsim.proof.lattice import (
    BOOLEAN,
    Domains,
    NumberSpan,
    content,
    floor_of,
    linear,
    nonnegative,
    plus,
    positive,
    scaled,
    times,
)
from hardsim.proof.ratios import LARGEST_DEGREE, Ratio, Value, lower, simplest
from hardsim.proof.result import NotProved

INDEX, J, N = (Ratio.variable(name) for name in "ijn")
A, B, C = (Ratio.variable(name) for name in "abc")
MIDDLE = 2
"""The order of the place that is any position but the first and the last."""


@dataclass(frozen=True)
class Place:
    """A kind of position: `order` is 0 for the beginning of the sequence, 1 first, 2 neither first nor last, 3 last.
    `domains` says what i and n can be there."""

    name: str
    order: int
    i: Value
    n: Value
    domains: Domains

    @property
    def several(self) -> bool:
        """Whether it stands for more than one position."""
        return self.order == MIDDLE

    def least(self, value: Value) -> Value:
        """A function of n that is at most one of i and n here: it at one end, if it rises or falls; of one that is
        positive and does neither, as 1/((i+1)(n-i+1)), a multiple of a power of 1/n."""
        if not self.several or not isinstance(value, Ratio) or "i" not in value.names:
            return value
        rise = (value.at({"i": INDEX + 1}) - value).simplest
        for sign, end in ((1, Ratio.of(2)), (-1, N - 1)):
            if nonnegative(times(rise, sign), self.domains):
                return value.at({"i": end}).simplest
        scale = Ratio.of(1)
        for _ in range(LARGEST_DEGREE if positive(value, self.domains) else 0):
            found = min((lower(value * scale, domain) or Fraction(0) for domain in self.domains), default=Fraction(0))
            if found > 0:
                return (Ratio.of(found) / scale).simplest
            scale = scale * N
        return floor_of(value, self.domains)

    def evaluate(self, function: PositionFunction) -> NumberSpan:
        """What an encoding is here.

        Raises:
            NotProved: if it is something else than an expression or a predicate, or may have no value.
        """
        if isinstance(function, PredicateColumn):
            return BOOLEAN
        if not isinstance(function, Arith):
            raise NotProved(f"nothing is known of {function} at every length")
        return self._walk(function.tree)

    def _walk(self, tree: Expression) -> NumberSpan:
        match tree:
            case Constant(value):
                return NumberSpan.exactly(value)
            case Variable(name):
                return NumberSpan.exactly(self.i if name == "i" else self.n)
            case Negation(arg):
                return linear([(self._walk(arg), -1)])
            case Indicator(condition):
                truth = self._truth(condition)
                return BOOLEAN if truth is None else NumberSpan.exactly(int(truth))
            case Operation("+" | "-" as op, left, right):
                return linear([(self._walk(left), 1), (self._walk(right), 1 if op == "+" else -1)])
            case Operation("*" | "/" as op, left, right):
                return self._product(self._walk(left), self._walk(right), op == "/")
            case Operation("^", left, right):
                return self._power(self._walk(left), self._walk(right))
            case Operation("mod", left, right):
                return self._residue(self._walk(left), self._walk(right))
            case _:
                raise NotProved("nothing is known of one of its parts")

    def _product(self, left: NumberSpan, right: NumberSpan, divided: bool) -> NumberSpan:
        if divided:
            below = right.offset
            if not right.exact or not (positive(below, self.domains) or positive(times(below, -1), self.domains)):
                raise NotProved("a divisor is not known to be other than 0")
            right = NumberSpan.exactly(simplest(Ratio.of(1) / below))
        factor, other = (left, right) if left.exact else (right, left)
        if not factor.exact:
            raise NotProved("the product of two numbers that are not known")
        return scaled(other, factor.offset, self.domains)

    def _power(self, base: NumberSpan, exponent: NumberSpan) -> NumberSpan:
        power = exponent.offset
        if base.exact and base.offset == -1 and exponent.exact and isinstance(power, Ratio):
            if content(power) is None or not _whole(content(power)):
                raise NotProved(f"{power} is no integer")
            return NumberSpan(-1, 1, -1, 2)
        if not (base.exact and exponent.exact and isinstance(power, int) and 0 <= power <= LARGEST_DEGREE):
            raise NotProved("nothing is known of one of its powers")
        result: Value = 1
        for _ in range(power):
            result = times(result, base.offset)
        return NumberSpan.exactly(result)

    def _residue(self, number: NumberSpan, modulus: NumberSpan) -> NumberSpan:
        m, step = modulus.offset, number.step
        lattice = None if step is None else content(number.offset) if step == 0 else step
        if not modulus.exact or not isinstance(m, int) or m < 1 or not _whole(lattice) or not _whole(number.offset):
            raise NotProved("nothing is known of its divisions with remainder")
        return NumberSpan(0, m - 1, 0, 1)

    def _truth(self, tree: Expression) -> bool | None:
        """Whether a condition holds here; None where that differs, or is not known."""
        match tree:
            case Complement(arg):
                truth = self._truth(arg)
                return None if truth is None else not truth
            case Operation("and" | "or" as op, left, right):
                some = [self._truth(left), self._truth(right)]
                if (op == "or") in some:
                    return op == "or"
                return None if None in some else op == "and"
            case Operation(op, left, right) if op in COMPARED:
                return self._compared(op, linear([(self._walk(left), 1), (self._walk(right), -1)]))
            case _:
                return None

    def _compared(self, op: str, difference: NumberSpan) -> bool | None:
        negative = times(difference.high, -1)
        if positive(difference.low, self.domains):
            return COMPARED[op](1, 0)
        if positive(negative, self.domains):
            return COMPARED[op](-1, 0)
        if difference.exact and difference.offset == 0:
            return COMPARED[op](0, 0)
        if op in ("<", ">=") and nonnegative(difference.low, self.domains):
            return op == ">="
        if op in (">", "<=") and nonnegative(negative, self.domains):
            return op == "<="
        return None


def _whole(value: Value | None) -> bool:
    """Whether a function certainly has integers as values."""
    step = None if value is None else content(value)
    return step is not None and not isinstance(step, Ratio) and Fraction(step).denominator == 1


COMPARED: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}


# ---- what is seen ----


@dataclass(frozen=True)
class Seen:
    """The positions j from `low` to `high`, functions of i and n, that are visible; `domains` says what i, n and j can
    be."""

    low: Value
    high: Value
    domains: Domains

    def at(self, value: Value, j: Value) -> Value:
        """A function at one j."""
        return simplest(value.at({"j": Ratio.of(j)})) if isinstance(value, Ratio) else value

    def rise(self, value: Value) -> Value:
        """What a function gains from one j to the next."""
        return simplest(value.at({"j": J + 1}) - value) if isinstance(value, Ratio) and "j" in value.names else 0

    def least(self, value: Value) -> Value:
        """A function of i and n that is at most one of i, n and j: it at one end if it rises or falls, else a number.

        Raises:
            NotProved: if none is found.
        """
        rise = self.rise(value)
        if rise == 0:
            return value
        for sign, end in ((1, self.low), (-1, self.high)):
            if nonnegative(times(rise, sign), self.domains):
                return self.at(value, end)
        return floor_of(value, self.domains)

    def greatest(self, value: Value) -> Value:
        """A function of i and n that is at least one of i, n and j."""
        return times(self.least(times(value, -1)), -1)


@dataclass(frozen=True)
class World:
    """The places of one length, or of every length from 2 on."""

    bos: bool
    n: Value
    places: tuple[Place, ...]

    def sees(self, query: Place, key: Place, mask: Mask) -> Seen | None:
        """What a query sees of a place; None if it is nothing."""
        if query.several and key.several:
            return _between(mask)
        before, same = key.order < query.order, key.order == query.order
        seen = {
            Mask.NONE: True,
            Mask.FUTURE: before or same,
            Mask.STRICT_FUTURE: before,
            Mask.PAST: not before,
            Mask.STRICT_PAST: not before and not same,
        }[mask]
        if not seen and key.order:
            return None
        if key.several:
            # the query is at an end
            return Seen(2, N - 1, [{"j": 2 + A, "n": 3 + A + B}])
        return Seen(key.i, key.i, [{**domain, "j": Ratio.of(key.i).at(domain)} for domain in query.domains])

    def count(self, query: Place, mask: Mask) -> Value:
        """How many positions a query sees."""
        if not query.order:
            return plus(self.n, 1) if mask in (Mask.NONE, Mask.PAST, Mask.STRICT_PAST) else 1
        i, n = query.i, self.n
        own = {
            Mask.NONE: n,
            Mask.FUTURE: i,
            Mask.STRICT_FUTURE: plus(i, -1),
            Mask.PAST: plus(plus(n, times(i, -1)), 1),
            Mask.STRICT_PAST: plus(n, times(i, -1)),
        }[mask]
        return plus(own, int(self.bos))


def _between(mask: Mask) -> Seen:
    """What a position that is neither first nor last sees of those that are neither."""
    upto, beyond = {"j": 2 + A, "i": 2 + A + B, "n": 3 + A + B + C}, {"i": 2 + A, "j": 3 + A + B, "n": 4 + A + B + C}
    match mask:
        case Mask.NONE:
            return Seen(2, N - 1, [upto, beyond])
        case Mask.FUTURE:
            return Seen(2, INDEX, [upto])
        case Mask.STRICT_FUTURE:
            return Seen(2, INDEX - 1, [{"j": 2 + A, "i": 3 + A + B, "n": 4 + A + B + C}])
        case Mask.PAST:
            return Seen(INDEX, N - 1, [{"i": 2 + A, "j": 2 + A + B, "n": 3 + A + B + C}])
        case Mask.STRICT_PAST:
            return Seen(INDEX + 1, N - 1, [beyond])


def every_length(bos: bool) -> World:
    """The places of every length from 2 on; of length 2 the middle ones are none, and what is claimed of them is
    true."""
    ends: Domains = [{"n": 2 + A}]
    middle = Place("2 <= i < n", MIDDLE, INDEX, N, [{"i": 2 + A, "n": 3 + A + B}])
    places = (Place("i = 1", 1, 1, N, ends), middle, Place("i = n", MIDDLE + 1, N, N, ends))
    return World(bos, N, (Place("BOS", 0, 0, N, ends), *places) if bos else places)


def one_position(bos: bool) -> World:
    """The places of length 1."""
    only = Place("i = 1", 1, 1, 1, [{}])
    return World(bos, 1, (Place("BOS", 0, 0, 1, [{}]), only) if bos else (only,))
