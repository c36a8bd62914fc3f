"""Spans: sets that contain a number for every word, given by two functions of position and length and by a lattice.

A span describes one coordinate at one kind of position (`places.Place`): its values lie between `low` and `high`,
and in `offset + step Z`, all of them rational functions of i and n. Booleans have step 1, integers stored as v/n
have step 1/n. So a clip of Booleans is known never to be strictly between 0 and 1, whatever the length.
Correlations are forgotten: spans may contain more numbers than occur, never fewer.

A step is r/D with a rational r > 0 and a polynomial D of integer coefficients without a common divisor. For
integers i and n the value of such a polynomial is an integer. This gives the three rules that everything else rests
on (ours):

 - `r/D Z` and `s/E Z` both lie in `gcd(r, s)/lcm(D, E) Z`, since lcm(D, E)/D has integer coefficients again
   (Gauss);
 - a function c P/Q, P and Q of that kind, has its values in `c/Q Z`, and moves `r/D Z` into `rc/(DQ) Z`, where common
   factors of P and D may be left out first;
 - x is in `s Z` if x/s is a polynomial with integer coefficients. Others may be, too: then a proof is missed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor
from typing import Any, TypeAlias

from flint import fmpq, fmpq_mpoly

from hardsim.lazy_dataclass import dataclass
from hardsim.network.numbers import Rational, plain
from hardsim.proof.shared import ratios
from hardsim.proof.shared.ratios import NAMES, Domain, Ratio, Value, simplest
from hardsim.proof.shared.result import NotProved

Domains: TypeAlias = Sequence[Domain]
"""Domains: the variables lie in at least one of them."""
HALF = Fraction(1, 2)
INSIDE = -HALF
"""Margin of an input about which nothing is known: it may be in the middle of (0, 1)."""


# ---- signs ----


def nonnegative(value: Value, domains: Domains) -> bool:
    """Return True if the coefficients show that a function is at least 0 wherever its variables are in one of the
    domains."""
    return all(ratios.known_sign(value, domain, False) for domain in domains)


def positive(value: Value, domains: Domains) -> bool:
    """Return True if the coefficients show that a function is above 0 wherever its variables are in one of the
    domains."""
    return all(ratios.known_sign(value, domain, True) for domain in domains)


# ---- steps ----


def _primitive(part: fmpq_mpoly) -> tuple[Fraction, fmpq_mpoly]:
    """Return a polynomial as a positive rational and a polynomial with integer coefficients without a common
    divisor; their product is the given one."""
    numbers = [Fraction(int(c.p), int(c.q)) for c in part.to_dict().values()]
    content = ratios.common(map(abs, numbers))
    return content, part / fmpq(content.numerator, content.denominator)


def _parts(step: Ratio) -> tuple[Fraction, fmpq_mpoly]:
    """Return the rational r and the polynomial D of a step r/D."""
    (top, rest), (bottom, divisor) = _primitive(step.top), _primitive(step.bottom)
    # `content` builds steps with constant numerators only.
    assert rest.is_constant()
    return top / bottom, divisor


def common_step(steps: Iterable[Value | None]) -> Value | None:
    """Return a step of which all given steps are multiples, the largest one if they are numbers; None if a step is
    unknown."""
    total: Value = 0
    for step in steps:
        if step is None:
            return None
        total = step if total == 0 else total if step == 0 or step == total else _common(total, step)
    return total


@lru_cache(maxsize=65536)
def _common(left: Value, right: Value) -> Value:
    if not isinstance(left, Ratio) and not isinstance(right, Ratio):
        return ratios.common((Fraction(left), Fraction(right)))
    (r, one), (s, other) = _parts(Ratio.of(left)), _parts(Ratio.of(right))
    bottom = one * other / one.gcd(other)
    return _upright(Ratio.of(ratios.common((r, s))) / Ratio(bottom, _ONE.bottom))


_ONE = Ratio.of(1)
# A point at which the sign of a step is taken: 3 and 5 are positions of a word of length 7.
_SOMEWHERE = [{"i": 3, "j": 5, "n": 7}.get(name, 1) for name in NAMES]


def _upright(step: Ratio) -> Value:
    """Return a step with its sign changed if it is negative at positions of a word: a step of i - n - 2 divides the
    same numbers as n - i + 2."""
    return (-step if step.top(*_SOMEWHERE) * step.bottom(*_SOMEWHERE) < 0 else step).simplest


@lru_cache(maxsize=65536)
def content(value: Value, free: frozenset[str] = frozenset()) -> Value | None:
    """Return a step that divides all values of a function (0 for the function 0). None if the step would depend on
    a variable in `free`: then each value has a step of its own."""
    if not isinstance(value, Ratio):
        return abs(Fraction(value))
    (c, _), (d, bottom) = _primitive(value.top), _primitive(value.bottom)
    found = _upright(Ratio.of(c / d) / Ratio(bottom, _ONE.bottom))
    return None if isinstance(found, Ratio) and found.names & free else found


def times_step(step: Value | None, value: Value, free: frozenset[str] = frozenset()) -> Value | None:
    """Return a step of numbers that have a step, multiplied by a function; None if there is none."""
    return None if step is None and value != 0 else content(times(step or 0, value), free)


def multiple(value: Value, step: Value) -> bool:
    """Return True if all values of a function are known to be multiples of a step."""
    if value == 0:
        return True
    if step == 0:
        return False
    found = Ratio.of(value) / step
    return found.bottom.is_constant() and all(int(c.q) == 1 for c in found.top.to_dict().values())


def remainder(value: Value, step: Value) -> Value:
    """Return a function minus a multiple of a step: over the step, each coefficient of the rest is at most 1/2 in
    size if its term is an integer, and unchanged otherwise."""
    if step == 0:
        return value
    found = Ratio.of(value) / step
    kept: Value = 0
    for power, c in found.top.to_dict().items():
        number = Fraction(int(c.p), int(c.q))
        term = Ratio(_monomial(power), found.bottom)
        whole = floor(number + HALF) if term.bottom.is_constant() and _integral(term.top) else 0
        if number != whole:
            kept = term * (number - whole) + kept
    return (Ratio.of(kept) * step).simplest


def _integral(top: fmpq_mpoly) -> bool:
    return all(int(c.q) == 1 for c in top.to_dict().values())


def _monomial(power: Sequence[int]) -> fmpq_mpoly:
    result = _ONE.top
    for name, exponent in zip(NAMES, power, strict=True):
        if exponent:
            result = result * Ratio.variable(name).top ** exponent
    return result


def finer_steps(value: Value, step: Value) -> Iterator[tuple[Value, Value]]:
    """Yield ways to split off one term of a function, constants first: the term, and a step that divides both the
    given step and the other terms. Two steps are tried, since either may be the larger one: that of the sum of the
    other terms in lowest terms, and one over the denominator of the function."""
    if not isinstance(value, Ratio):
        return
    context, parts = value.top.context(), value.top.to_dict()
    for power in sorted(parts, key=sum):
        term = Ratio(context.from_dict({power: parts[power]}), value.bottom).simplest
        others = [Fraction(int(c.p), int(c.q)) for other, c in parts.items() if other != power]
        whole = Ratio(context.constant(1), value.bottom) * ratios.common(map(abs, others))
        for rest in dict.fromkeys((plus(value, times(term, -1)), whole.simplest)):
            finer = common_step([step, content(rest, frozenset("j"))])
            if finer is not None and finer != 0:
                yield term, finer


# ---- spans ----


DenominatorName: TypeAlias = tuple[str | int, ...]
"""Name of a denominator, a number of tied positions: the head whose maxima are counted, then the heads (by name) or
the single positions (by order of their place) through which the number was read."""


def _moved(value: Any, places: Domain) -> Any:
    return simplest(value.at(places)) if isinstance(value, Ratio) else value


@dataclass(frozen=True, slots=True)
class Denominator:
    """Denominator: the `power`-th power of an integer from 1 to `most`, the number of positions that share the
    largest score of a row.

    Two denominators of one name, at one position of one word, are the same integer. An `everywhere` denominator has
    one value at all positions of a word: its head has no mask, and the same query at every position.
    """

    name: DenominatorName
    most: Value
    power: int
    everywhere: bool


@dataclass(frozen=True, slots=True)
class Share:
    """Share: numbers in `offset + step/(m_1^e_1 ... m_r^e_r) Z`, for the integers m_l of the denominators (ours)."""

    offset: Value
    step: Value
    denominators: tuple[Denominator, ...]

    def at(self, places: Domain) -> Share:
        """Return the share with variables replaced."""
        some = tuple(replace(one, most=_moved(one.most, places)) for one in self.denominators)
        return Share(_moved(self.offset, places), _moved(self.step, places), some)

    @property
    def product(self) -> Value:
        """Largest value of the product of the denominators."""
        total: Value = 1
        for one in self.denominators:
            for _ in range(one.power):
                total = times(total, one.most)
        return total


@dataclass(frozen=True, slots=True)
class IsolatedZero:
    """Isolated zero: numbers `base + sign z` with z = 0 or z at least the minimum of `apart`. With sign 0 the
    number is the base."""

    base: Value
    sign: int
    apart: tuple[Value, ...]

    def at(self, places: Domain) -> IsolatedZero:
        """Return the isolated zero with variables replaced."""
        apart = tuple(_moved(one, places) for one in self.apart)
        return IsolatedZero(_moved(self.base, places), self.sign, apart)


@dataclass(frozen=True, slots=True)
class NumberSpan:
    """Span: numbers from `low` to `high`, in `offset + step Z`. With a step of 0 the number is the offset; with
    None it has no lattice.

    With `most` the numbers are 1/m for integers m from 1 to `most`. `share` and `isolated` are further facts about
    every number of the span (see `shares`). There is at most one isolated zero for each sign.
    """

    low: Value
    high: Value
    offset: Value = 0
    step: Value | None = None
    most: Value | None = None
    share: Share | None = None
    isolated: tuple[IsolatedZero, ...] = ()

    @staticmethod
    def exactly(value: Value) -> NumberSpan:
        """Return the span of one number or function."""
        return NumberSpan(value, value, value, 0)

    @property
    def exact(self) -> bool:
        """True if the span is one function of position and length, the same for every word."""
        return self.step == 0

    def at(self, places: Domain) -> NumberSpan:
        """Return the span with variables replaced."""
        some = (self.low, self.high, self.offset, self.step, self.most)
        if not (self.share or self.isolated or any(isinstance(part, Ratio) for part in some)):
            return self
        share = None if self.share is None else self.share.at(places)
        isolated = tuple(one.at(places) for one in self.isolated)
        low, high, offset, step, most = (_moved(part, places) for part in some)
        return NumberSpan(low, high, offset, step, most, share, isolated)


BOOLEAN = NumberSpan(0, 1, 0, 1)
NOTHING = NumberSpan.exactly(0)


def plus(left: Value, right: Value) -> Value:
    """Return the sum of two functions, as a number if it is constant."""
    if type(right) is int and not right:
        return left
    if type(left) is int and not left:
        return right
    if isinstance(left, Ratio) or isinstance(right, Ratio):
        return (Ratio.of(left) + right).simplest if left != 0 and right != 0 else left or right
    return plain(left + right)


def times(left: Value, right: Value) -> Value:
    """Return the product of two functions, as a number if it is constant."""
    if type(right) is int and right in (0, 1):
        return left if right else 0
    if type(left) is int and left in (0, 1):
        return right if left else 0
    if isinstance(left, Ratio) or isinstance(right, Ratio):
        return (Ratio.of(left) * right).simplest if left != 0 and right != 0 else 0
    return plain(left * right)


def linear(terms: Iterable[tuple[NumberSpan, Rational]], bias: Rational = 0) -> NumberSpan:
    """Return the span of a linear combination, from bounds and lattices alone."""
    low: Value = bias
    high: Value = bias
    offset: Value = bias
    steps: list[Value | None] = []
    some = [(span, plain(coefficient)) for span, coefficient in terms if coefficient and span != NOTHING]
    # A copy keeps facts that a sum would lose, such as `most`.
    if len(some) == 1 and some[0][1] == 1 and not bias:
        return some[0][0]
    for span, coefficient in some:
        below, above = (span.low, span.high) if coefficient > 0 else (span.high, span.low)
        low, high = plus(low, times(below, coefficient)), plus(high, times(above, coefficient))
        steps.append(times_step(span.step, coefficient))
        # An unknown step makes the whole sum unknown, so its offset does not matter.
        offset = plus(offset, times(span.offset, coefficient)) if span.step is not None else offset
    step = common_step(steps)
    return NumberSpan(low, high, 0 if step is None else offset, step)


def scaled(span: NumberSpan, factor: Value, domains: Domains) -> NumberSpan:
    """Return a span times a function. Raises NotProved if the function's sign is not known."""
    if nonnegative(factor, domains):
        low, high = span.low, span.high
    elif nonnegative(times(factor, -1), domains):
        low, high = span.high, span.low
    else:
        raise NotProved(f"the sign of {factor} is not known")
    offset = 0 if span.step is None else times(span.offset, factor)
    return NumberSpan(times(low, factor), times(high, factor), offset, times_step(span.step, factor))


def least(values: Iterable[Value], domains: Domains) -> Value:
    """Return a function that is at most each of several functions: one of them, or else a number. Raises NotProved
    if none is found."""
    some = list(dict.fromkeys(values))
    numbers = [value for value in some if not isinstance(value, Ratio)]
    if len(numbers) == len(some):
        return min(numbers)
    # One of the functions may be below all others; otherwise a number below each is the best bound.
    for one in some:
        if all(other is one or nonnegative(plus(other, times(one, -1)), domains) for other in some):
            return one
    return min(floor_of(value, domains) for value in some)


def greatest(values: Iterable[Value], domains: Domains) -> Value:
    """Return a function that is at least each of several functions. Raises NotProved if none is found."""
    return times(least([times(value, -1) for value in values], domains), -1)


def floor_of(value: Value, domains: Domains) -> Fraction:
    """Return a number that is at most a function. Raises NotProved if none is found."""
    if not isinstance(value, Ratio):
        return Fraction(value)
    found = [ratios.lower(value, domain) for domain in domains]
    known = [one for one in found if one is not None]
    if len(known) < len(found):
        raise NotProved(f"no lower bound of {value} is known")
    return min(known)


def hull(spans: Sequence[NumberSpan], domains: Domains) -> NumberSpan:
    """Return a span that contains the numbers of several spans: it reaches from the least to the greatest end, and
    has a lattice that contains all lattices."""
    first = spans[0]
    if all(span == first for span in spans):
        return first
    low, high = least([s.low for s in spans], domains), greatest([s.high for s in spans], domains)
    # The common step must divide the differences of offsets, too.
    apart: list[Value | None] = [
        None if span.step is None else content(plus(span.offset, times(first.offset, -1))) for span in spans
    ]
    step = common_step([*(span.step for span in spans), *apart])
    return NumberSpan(low, high, 0 if step is None else first.offset, step)


def joined(span: NumberSpan, value: Value) -> Value | None:
    """Return the step of a lattice through 0 that contains a span's numbers and a value; None if there is none."""
    return common_step([span.step, None if span.step is None else content(span.offset), content(value)])


def relu(span: NumberSpan, domains: Domains) -> NumberSpan:
    """Return the span of max(x, 0)."""
    if nonnegative(span.low, domains):
        return span
    if nonnegative(times(span.high, -1), domains):
        return NOTHING
    return NumberSpan(0, greatest([span.high, 0], domains), 0, joined(span, 0))


def margin(span: NumberSpan, domains: Domains) -> Value:
    """Return a bound from below of max(-z, z - 1) for every number z of a span: the distance of z from (0, 1),
    negative inside; -1/2 if neither the ends nor a lattice of numbers tell more."""
    if nonnegative(times(span.high, -1), domains):
        return times(span.high, -1)
    if nonnegative(plus(span.low, -1), domains):
        return plus(span.low, -1)
    if span.step is None or isinstance(span.step, Ratio) or isinstance(span.offset, Ratio):
        return INSIDE
    if not span.step:
        return max(-span.offset, span.offset - 1)
    return min((max(-point, point - 1) for point in around(span, HALF)), default=HALF)


def around(span: NumberSpan, value: Fraction) -> list[Fraction]:
    """Return the nearest numbers at or below and at or above a value, where they exist, in a span whose lattice
    has numbers as offset and step. An end of the span that is a function is ignored."""
    assert not isinstance(span.offset, Ratio)
    offset, step = Fraction(span.offset), _rational(span.step)
    top = value if isinstance(span.high, Ratio) else min(value, span.high)
    bottom = value if isinstance(span.low, Ratio) else max(value, span.low)
    below, above = offset + step * floor((top - offset) / step), offset + step * ceil((bottom - offset) / step)
    inside = isinstance(span.low, Ratio) or below >= span.low, isinstance(span.high, Ratio) or above <= span.high
    return [point for point, kept in zip((below, above), inside, strict=True) if kept]


def _rational(value: Value | None) -> Fraction:
    assert value is not None
    assert not isinstance(value, Ratio)
    return Fraction(value)


def clip(span: NumberSpan, domains: Domains) -> NumberSpan:
    """Return the span of min(max(x, 0), 1)."""
    if nonnegative(times(span.high, -1), domains):
        return NOTHING
    if nonnegative(plus(span.low, -1), domains):
        return NumberSpan.exactly(1)
    outside = margin(span, domains)
    if not isinstance(outside, Ratio) and outside >= 0:
        return BOOLEAN
    # The lower end is kept if it is known to lie in [0, 1], the upper end if it is known to be at most 1.
    low, high = (nonnegative(plus(1, times(end, -1)), domains) for end in (span.low, span.high))
    if low:
        low = nonnegative(span.low, domains)
    return NumberSpan(span.low if low else 0, greatest([span.high, 0], domains) if high else 1)
