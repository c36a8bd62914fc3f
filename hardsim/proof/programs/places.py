"""Places: kinds of positions of a program, for every length from 2 on at once. They are the beginning of the
sequence, the first position, the last, and any other; length 1 has one position that is both first and last.

The value of an encoding at a place is a function of i and n. A predicate is a Boolean about which nothing else is
known; so is a condition that holds at some positions of a place and not at others.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from typing import Final

from hardsim.kept import Keeping
from hardsim.lang.arith import Arith, Complement, Constant, Expression, Indicator, Negation, Operation, Variable
from hardsim.lazy_dataclass import dataclass
from hardsim.network.columns import PositionFunction, PredicateColumn
from hardsim.network.numbers import Mask
from hardsim.proof.programs.lattice import (
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
from hardsim.proof.shared.ratios import LARGEST_DEGREE, Ratio, Value, lower, simplest
from hardsim.proof.shared.result import NotProved

INDEX, J, N = (Ratio.variable(name) for name in "ijn")
A, B, C = (Ratio.variable(name) for name in "abc")
MIDDLE = 2
"""Order of the place that stands for all positions but the first and the last."""


@dataclass(frozen=True)
class Place:
    """Kind of position. `order` is 0 for the beginning of the sequence, 1 for the first position, 2 for those
    neither first nor last, 3 for the last. `domains` has the possible values of i and n."""

    name: str
    order: int
    i: Value
    n: Value
    domains: Domains

    @property
    def several(self) -> bool:
        """True if the place stands for more than one position."""
        return self.order == MIDDLE

    def least(self, value: Value) -> Value:
        """Return a function of n that is at most a function of i and n at all positions of the place. If the
        function rises or falls with i, its value at one end is returned. If it is positive and does neither, like
        1/((i+1)(n-i+1)), the result is a multiple of a power of 1/n."""
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
        """Return the span of an encoding at the place. Raises NotProved if it is neither an expression nor a predicate,
        or may have no value."""
        if isinstance(function, PredicateColumn):
            return BOOLEAN
        if not isinstance(function, Arith):
            raise NotProved(f"{function} is neither an expression in i and n nor a predicate")
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
                raise NotProved("it has a part that is not known at every length")

    def _product(self, left: NumberSpan, right: NumberSpan, divided: bool) -> NumberSpan:
        if divided:
            below = right.offset
            if not right.exact or not (positive(below, self.domains) or positive(times(below, -1), self.domains)):
                raise NotProved("a divisor is not known to be other than 0")
            right = NumberSpan.exactly(simplest(Ratio.of(1) / below))
        factor, other = (left, right) if left.exact else (right, left)
        if not factor.exact:
            raise NotProved("it multiplies two numbers that are not known functions of i and n")
        return scaled(other, factor.offset, self.domains)

    def _power(self, base: NumberSpan, exponent: NumberSpan) -> NumberSpan:
        power = exponent.offset
        # An even or odd exponent is not told apart: the power is -1 or 1.
        if base.exact and base.offset == -1 and exponent.exact and isinstance(power, Ratio):
            if content(power) is None or not _whole(content(power)):
                raise NotProved(f"the exponent {power} is not an integer")
            return NumberSpan(-1, 1, -1, 2)
        if not (base.exact and exponent.exact and isinstance(power, int) and 0 <= power <= LARGEST_DEGREE):
            raise NotProved("it has a power that is not known at every length")
        result: Value = 1
        for _ in range(power):
            result = times(result, base.offset)
        return NumberSpan.exactly(result)

    def _residue(self, number: NumberSpan, modulus: NumberSpan) -> NumberSpan:
        m, step = modulus.offset, number.step
        lattice = None if step is None else content(number.offset) if step == 0 else step
        if not modulus.exact or not isinstance(m, int) or m < 1 or not _whole(lattice) or not _whole(number.offset):
            raise NotProved("it has a division with remainder that is not known at every length")
        return NumberSpan(0, m - 1, 0, 1)

    def _truth(self, tree: Expression) -> bool | None:
        """Return the truth of a condition at the place; None if it differs between positions, or is not known."""
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
    """Return True if a function is known to have integers as values."""
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


# ---- visible positions ----


@dataclass(frozen=True)
class Seen:
    """Visible positions j from `low` to `high`, both included; these are functions of i and n. `domains` has the
    possible values of i, n and j."""

    low: Value
    high: Value
    domains: Domains

    def at(self, value: Value, j: Value) -> Value:
        """Return a function at one value of j."""
        return simplest(value.at({"j": Ratio.of(j)})) if isinstance(value, Ratio) else value

    def rise(self, value: Value) -> Value:
        """Return the increase of a function from j to j + 1; 0 for a function that does not depend on j."""
        return simplest(value.at({"j": J + 1}) - value) if isinstance(value, Ratio) and "j" in value.names else 0

    def least(self, value: Value) -> Value:
        """Return a function of i and n that is at most a function of i, n and j: its value at one end if it rises or
        falls with j, else a number. Raises NotProved if none is found."""
        rise = self.rise(value)
        if rise == 0:
            return value
        for sign, end in ((1, self.low), (-1, self.high)):
            if nonnegative(times(rise, sign), self.domains):
                return self.at(value, end)
        return floor_of(value, self.domains)

    def greatest(self, value: Value) -> Value:
        """Return a function of i and n that is at least a function of i, n and j. Raises NotProved if none is
        found."""
        return times(self.least(times(value, -1)), -1)


@dataclass(frozen=True)
class World(Keeping):
    """Places of length 1, or of every length from 2 on. `n` is the length, a number or a variable; `bos` says that
    words have a beginning of sequence."""

    bos: bool
    n: Value
    places: tuple[Place, ...]

    def sees(self, query: Place, key: Place, mask: Mask) -> Seen | None:
        """Return the positions of a place that a query at another place sees; None if it sees none. All programs share
        a world, and what is found here with it."""
        known: dict[tuple[int, int, Mask], Seen | None] = self.kept.setdefault("sees", {})
        where = query.order, key.order, mask
        if where not in known:
            known[where] = self._sees(query, key, mask)
        return known[where]

    def _sees(self, query: Place, key: Place, mask: Mask) -> Seen | None:
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
        # Every query sees BOS, whatever the mask.
        if not seen and key.order:
            return None
        if key.several:
            # The query is at an end, so it sees all middle positions.
            return Seen(2, N - 1, [{"j": 2 + A, "n": 3 + A + B}])
        return Seen(key.i, key.i, [{**domain, "j": Ratio.of(key.i).at(domain)} for domain in query.domains])

    def count(self, query: Place, mask: Mask) -> Value:
        """Return the number of positions that a query sees, BOS included."""
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
    """Return the middle positions that a middle position sees."""
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


@cache
def every_length(bos: bool) -> World:
    """Return the places of every length from 2 on. Length 2 has no middle position, so statements about that place
    are true there."""
    ends: Domains = [{"n": 2 + A}]
    middle = Place("2 <= i < n", MIDDLE, INDEX, N, [{"i": 2 + A, "n": 3 + A + B}])
    places = (Place("i = 1", 1, 1, N, ends), middle, Place("i = n", MIDDLE + 1, N, N, ends))
    return World(bos, N, (Place("BOS", 0, 0, N, ends), *places) if bos else places)


@cache
def one_position(bos: bool) -> World:
    """Return the places of length 1."""
    only = Place("i = 1", 1, 1, 1, [{}])
    return World(bos, 1, (Place("BOS", 0, 0, 1, [{}]), only) if bos else (only,))
