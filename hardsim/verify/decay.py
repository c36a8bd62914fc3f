"""How far softmax is from hard attention, for the checker of certificates of programs: the error recursion, at one
length or for every length from some N0 on.

Layer by layer each coordinate is off by at most its error. A linear form is off by the sum of |coefficient| times
error. With query forms of size at most Q off by q, key forms of size K off by k, scores are off by at most
eta = sum of Q k + K q + q k over the rows of W_Q and W_K. In a row of v keys with a gap of g below its largest score,
softmax at the temperature tau is from hard attention, in the 1-norm, at most

    2 (v - m)/m e^(-(g - 2 eta)/tau)  +  2 tanh(eta/(2 tau)) if m > 1, and at most 2,

where m keys have the largest score. (Let w = e^(s'/tau - max s/tau). Keys with the largest score have w >=
e^(-eta/tau), all others w <= e^((eta - g)/tau), v - m of them: their share r is at most (v - m)/m e^(-(g - 2 eta)/tau),
and taking it away moves the weights by 2 r. Among the m largest, whose w are within e^-x and e^x, x = eta/tau, the
weights of some of them that are a share a of m exceed a by at most a (1 - a)(e^x - e^-x)/(a e^x + (1 - a) e^-x), which
is largest, tanh(x/2), at a = 1/(1 + e^x); the distance is twice that for those that have too much.) The first term
falls as m grows: where m is not known m = 1, and m = 2 where several keys may be largest, are the worst. What a head
reads is off by its value's error, and that distance times the size of the value, or half of its range, as weights sum
to 1. A relu does not expand; a clip whose hard input is at least as far outside (0, 1) as its input is off gives the
very same number.

For every n >= N0 errors are A_c n^p e^(-r n), f = 1/tau; r may be 0. Sizes are at most B n^b, gaps such that f g >= r
n, or f g >= s log(n + 1), margins at least M n^-m; if f eta <= 1/2 the distance is at most 2 n e^(1 - r n), or 2 e n
(n + 1)^-s, without the e if eta = 0, plus f eta where several keys may be largest, since 2 tanh(x/2) <= x. Sums of
such terms have the largest p and the least r; if that is 0, the largest p of terms with this r, and others are less
from N0 on by what they are at N0. Each inequality F n^s e^(-r n) <= L is held at N0 where r N0 >= s, so that its left
side falls.

Where 1/tau is no rational number, or function of n, it is between two: f g is at least the lower one times g, and f eta
at most the upper one times eta, and nothing else depends on it. A function of n and log(n + 1) may be below it, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, lcm

from hardsim.verify import ratios
from hardsim.verify.arithmetic import DOWN, ONE, UP, Rational, common, effort, exp, require
from hardsim.verify.monotone import value_of
from hardsim.verify.ratios import Ratio, Value, of
from hardsim.verify.rows import Head, Row
from hardsim.verify.spans import LENGTH, LOGARITHM, Domain, Form, Place, Signs, has, lengths_from

NONE, TWO, FOUR, HALF = Decimal(0), Decimal(2), Decimal(4), Fraction(1, 2)
EULER = Fraction(87, 32)
"""Above e."""
MOST_DEGREE = 12
"""The largest power of n that bounds a function."""
COLD = Decimal(100_000)
"""Nats: e^-x of a larger x counts as that of this."""
SMALL = Decimal("0.001")
"""Below it x is 2 tanh(x/2) to seven digits."""


Between = tuple[Fraction, Fraction]
"""Numbers on both sides of one over a temperature."""
Ends = tuple[Mapping[int, Value], Mapping[int, Value]]
"""The least and the largest value of a form, by order of the place."""


@dataclass(frozen=True)
class UnitLaw:
    """A hidden unit: a clip or relu of a form and a bias, what it adds to which coordinates, and by order of the place
    its margin and the largest input."""

    clip: bool
    form: Form
    outs: Form
    margins: Mapping[int, Value]
    tops: Mapping[int, Value]


@dataclass(frozen=True)
class HeadLaw:
    """A head: its rows by order of the place (none of a uniform one), the ends of query and key forms, and those of
    values by coordinate."""

    head: Head
    rows: Mapping[int, Row]
    sizes: tuple[tuple[Ends, Ends], ...]
    values: Mapping[str, Ends]


@dataclass(frozen=True)
class LayerLaw:
    """A layer."""

    heads: tuple[HeadLaw, ...]
    units: tuple[UnitLaw, ...]


@dataclass
class Law:
    """What is known of hard attention on every word: of the layers, and how far each output is from where it would mean
    something else, by order of the place (none: it must be the very same)."""

    places: Sequence[Place]
    coordinates: tuple[str, ...]
    layers: tuple[LayerLaw, ...]
    answers: tuple[str, ...]
    distances: tuple[tuple[int, Value], ...]
    exact: bool


def up(x: Rational) -> Decimal:
    """A number at least x."""
    return UP.divide(Decimal(x.numerator), Decimal(x.denominator))


def size_of(x: Rational) -> Rational:
    """|x|."""
    return -x if x < 0 else x


def down(x: Rational) -> Decimal:
    """A number at most x."""
    return DOWN.divide(Decimal(x.numerator), Decimal(x.denominator))


def exp_above(x: Decimal) -> Decimal:
    """At least e^x, of x up to 100,000."""
    require(x <= COLD, "too large: a temperature is too small for its errors")
    return exp(Fraction(max(x, COLD.copy_negate())))[1]


def uneven(x: Decimal) -> Decimal:
    """An upper bound of 2 tanh(x/2) = 2 - 4/(1 + e^x). It is never above x."""
    if x <= SMALL or x > COLD:
        return min(x, TWO)
    return min(x, UP.subtract(TWO, DOWN.divide(FOUR, UP.add(ONE, exp_above(x)))))


class Recursion:
    """The errors at one length, on words of n positions, with 1/tau between two numbers at each."""

    def __init__(self, signs: Signs, facts: Law, n: int, inverse: Callable[[int], Between]) -> None:
        self.signs, self.facts, self.n, self.inverse = signs, facts, n, inverse
        self.at = {place.order: self._positions(place) for place in facts.places}
        self._ends: dict[tuple[int, Value], tuple[Fraction, Fraction]] = {}
        self._steps: dict[Ratio, int] = {}

    def _positions(self, place: Place) -> range:
        n = self.n
        return {0: range(1), 1: range(1, 2), 2: range(2, n), 3: range(n, n + 1)}[place.order]

    def number(self, value: Value, i: int) -> Fraction:
        """A function at a position."""
        if not isinstance(value, Ratio):
            return Fraction(value)
        parts = in_integers(value)
        if value not in self._steps:
            self._steps[value] = steps_of(parts, self.n)
        self.signs.charge(self._steps[value])
        top, bottom = (evaluated(part, i, self.n) for part in parts)
        require(bottom != 0, "a division by zero")
        return Fraction(top, bottom)

    def ends(self, values: Mapping[int, Value]) -> tuple[Fraction, Fraction] | None:
        """The least and largest of functions, over all positions."""
        found: list[Fraction] = []
        for order, value in values.items():
            positions = self.at[order] if has(value, 0) else self.at[order][:1]
            if positions and (order, value) not in self._ends:
                some = [self.number(value, i) for i in positions]
                self._ends[order, value] = min(some), max(some)
            if positions:
                found += self._ends[order, value]
        return (min(found), max(found)) if found else None

    def run(self) -> None:
        """Reject unless the answers are those of hard attention."""
        errors = dict.fromkeys(self.facts.coordinates, NONE)
        for layer in self.facts.layers:
            own = dict(errors)
            for head in layer.heads:
                far = self._distance(head, errors) if head.rows else NONE
                for out, form in head.head.values.items():
                    low, high = self.span(*head.values[out])
                    size = up(min(max(-low, high), (high - low) / 2))
                    moved = UP.add(reach(form, errors), UP.multiply(far, size))
                    own[out] = UP.add(own[out], moved)
            errors = dict(own)
            for unit in layer.units:
                moved = self._unit(unit, reach(unit.form, own))
                for out, weight in unit.outs.items():
                    errors[out] = UP.add(errors[out], UP.multiply(up(size_of(weight)), moved))
        off = max(errors[name] for name in self.facts.answers)
        for order, distance in self.facts.distances:
            found = self.ends({order: distance})
            if off and found is not None:
                fine = not self.facts.exact and off < down(found[0])
                require(
                    fine, f"at length {self.n} the outputs may be off by more than their distance from the threshold"
                )

    def span(self, low: Mapping[int, Value], high: Mapping[int, Value]) -> tuple[Fraction, Fraction]:
        """The least and largest value of a form, over all positions."""
        least, most = self.ends(low), self.ends(high)
        assert least is not None
        assert most is not None
        return least[0], most[1]

    def _unit(self, unit: UnitLaw, moved: Decimal) -> Decimal:
        if not moved:
            return moved
        if unit.clip:
            found = self.ends(unit.margins)
            assert found is not None
            return NONE if found[0] >= 0 and moved <= down(found[0]) else min(moved, ONE)
        found = self.ends(unit.tops)
        assert found is not None
        return NONE if UP.add(up(found[1]), moved) <= 0 else moved

    def _distance(self, head: HeadLaw, errors: Mapping[str, Decimal]) -> Decimal:
        """Of the weights of a head, in any row."""
        eta = NONE
        for (query, key), (q_size, k_size) in zip(head.head.pairs, head.sizes, strict=True):
            q, k = reach(query, errors), reach(key, errors)
            sizes = [max(-ends[0], ends[1]) for ends in (self.span(*q_size), self.span(*k_size))]
            for one, other in ((up(sizes[0]), k), (up(sizes[1]), q), (q, k)):
                eta = UP.add(eta, UP.multiply(one, other))
        return max((self._row(*row, eta) for row in self._worst(head)), default=NONE)

    def _worst(self, head: HeadLaw) -> Iterable[tuple[int, int | None, Between, Fraction | None]]:
        """The rows that can be the worst: number of visible keys, number of largest keys if known, 1/tau, and gap. A
        row is left out if another one that is otherwise alike has at least as many keys and at most the same gap.
        """
        rows: dict[tuple[int | None, Between, bool], dict[int, Fraction]] = {}
        for order, facts in head.rows.items():
            for i in self.at[order]:
                keys = int(self.number(facts.visible, i))
                if keys > 1:
                    require(facts.gaps or facts.equal, f"head {head.head.name} has rows of which no gap is known")
                    gap = min((self.number(gap, i) for gap in facts.gaps), default=Fraction(0))
                    some = rows.setdefault((facts.maxima, self.inverse(i), facts.equal), {})
                    some[keys] = min(gap, some.get(keys, gap))
        for (maxima, inverse, equal), some in rows.items():
            least: Fraction | None = None
            for keys in sorted(some, reverse=True):
                if least is None or some[keys] < least:
                    least = some[keys]
                    yield keys, maxima, inverse, None if equal else least

    def _row(self, keys: int, maxima: int | None, inverse: Between, gap: Fraction | None, eta: Decimal) -> Decimal:
        self.signs.spend(40)
        leak, shared = NONE, NONE
        if gap is not None and keys != maxima:
            left = DOWN.subtract(down(gap), UP.multiply(TWO, eta))
            if left <= 0:
                return TWO
            nats = DOWN.multiply(left, down(inverse[0]))
            leak = exp_above(nats.copy_negate())
        if maxima != 1 and eta:
            shared = uneven(UP.multiply(eta, up(inverse[1])))
        if maxima is not None:
            rest = UP.divide(Decimal(2 * max(keys - maxima, 0)), Decimal(maxima))
            return min(UP.add(UP.multiply(leak, rest), shared), TWO)
        one, two = UP.multiply(leak, Decimal(2 * (keys - 1))), UP.multiply(leak, Decimal(keys - 2))
        return min(max(one, UP.add(two, shared)), TWO)


Terms = tuple[tuple[int, int, int], ...]
"""Factors and exponents of i and n."""


@lru_cache(maxsize=1 << 14)
def in_integers(value: Ratio) -> tuple[Terms, Terms]:
    """Numerator and divisor of a function of i and n, both times one number that makes all coefficients integers."""
    parts = [value.top.terms, value.bottom.terms]
    require(
        not any(c or d for part in parts for _, _, c, d in part), "a function depends on a position that is not known"
    )
    scales = [common(part.values()) for part in parts]
    scale = lcm(*scales)
    top, bottom = (tuple((int(scale * factor), a, b) for (a, b, _, _), factor in part.items()) for part in parts)
    return top, bottom


def steps_of(parts: Sequence[Terms], n: int) -> int:
    """What values of a numerator and a divisor take, at positions up to n, and their quotient."""
    sizes = [max((factor.bit_length() + (a + b) * n.bit_length() for factor, a, b in part), default=0)
             for part in parts]  # fmt: skip
    terms = sum(len(part) * (3 + (size >> 6)) for size, part in zip(sizes, parts, strict=True))
    return 10 + terms + effort(sum(sizes))


def evaluated(terms: Terms, i: int, n: int) -> int:
    """A polynomial in i and n at a position."""
    return sum(factor * i**a * n**b for factor, a, b in terms)


def reach(form: Form, errors: Mapping[str, Decimal]) -> Decimal:
    """By how much a linear form is off."""
    total = NONE
    for name, factor in form.items():
        if errors[name]:
            total = UP.add(total, UP.multiply(up(size_of(factor)), errors[name]))
    return total


# ---- every length ----


@dataclass
class Decay:
    """Errors A_c n^power e^(-rate n) by coordinate; without a rate all are 0."""

    factors: dict[str, Fraction]
    power: int = 0
    rate: Fraction | None = None

    def of(self, form: Form) -> Fraction:
        """By how much a linear form is off."""
        return sum((abs(Fraction(factor)) * self.factors[name] for name, factor in form.items()), Fraction(0))


@dataclass
class Induction:
    """The errors of every length n >= `start`. `sharp` and `steep` are functions of n below and above 1/tau; `slow` is
    a lower bound in n and log(n + 1).
    """

    signs: Signs
    facts: Law
    start: int
    sharp: Value
    steep: Value
    slow: Value | None = None
    _bounds: dict[Value, tuple[Fraction, int]] = field(default_factory=dict)

    @property
    def domain(self) -> Domain:
        """Lengths n >= start, with their logarithms."""
        return lengths_from(self.start)

    def run(self) -> None:
        """Reject unless the answers are those of hard attention."""
        require(self.start >= 2, "start: lengths from 2 on are proved together")
        ends = [end for end in (self.sharp, self.steep, self.slow) if end is not None]
        fine = all(self.signs.positive(end, [self.domain]) for end in ends)
        require(fine, "the temperature is not seen to be positive")
        errors = Decay(dict.fromkeys(self.facts.coordinates, Fraction(0)))
        for layer in self.facts.layers:
            errors = self._layer(layer, errors)
        off = max(errors.factors[name] for name in self.facts.answers)
        for order, distance in self.facts.distances:
            if off:
                require(not self.facts.exact, "an output is off by an error that nothing rounds")
                limit, power = self._below({order: distance}, "the distance of an output from the threshold")
                self._require("the error of an output", off, errors.power + power, errors.rate, limit * HALF)

    def falls(self, factor: Fraction, power: int, rate: Fraction | None, limit: Fraction) -> bool:
        """Whether `factor n^power e^(-rate n)` is at most a limit from the start on."""
        self.signs.spend(40)
        if not factor:
            return True
        assert rate is not None
        if rate * self.start < power:
            return False
        return UP.multiply(up(factor), self._starts(power, rate)) <= down(limit)

    def _starts(self, power: int, rate: Fraction) -> Decimal:
        """An upper bound of n^power e^(-rate n) at n = start."""
        return UP.multiply(up(Fraction(self.start) ** power), exp(-rate * self.start)[1])

    def _require(self, what: str, factor: Fraction, power: int, rate: Fraction | None, limit: Fraction) -> None:
        require(self.falls(factor, power, rate, limit), f"{what} is not seen to be small from n = {self.start} on")

    def _least(self, values: Mapping[int, Value]) -> list[Value]:
        """Functions of n that are at most those of each place."""
        return [self.signs.least_of(values[place.order], place) for place in self.facts.places if place.order in values]

    def _above(self, values: Mapping[int, Value]) -> tuple[Fraction, int]:
        """B >= 0 and b such that no function exceeds B n^b."""
        found = [self._one_above(-1 * value) for value in self._least({k: -1 * v for k, v in values.items()})]
        return max((factor for factor, _ in found), default=Fraction(0)), max((b for _, b in found), default=0)

    def _one_above(self, value: Value) -> tuple[Fraction, int]:
        if value not in self._bounds:
            self._bounds[value] = self._search(value, -1)
        return self._bounds[value]

    def _search(self, value: Value, way: int) -> tuple[Fraction, int]:
        for power in range(MOST_DEGREE):
            self.signs.spend(40)
            scale = ratios.product([ratios.NAMES[1]] * power)
            scaled = of(value) / Ratio(scale, ()) if way < 0 else of(value) * Ratio(scale, ())
            found = (ratios.upper if way < 0 else ratios.lower)(scaled, self.domain)
            if found is not None and (way < 0 or found > 0):
                return max(found, Fraction(0)), power
        require(False, "no power of n is seen to bound a function")
        raise AssertionError

    def _below(self, values: Mapping[int, Value], what: str) -> tuple[Fraction, int]:
        """M > 0 and m such that every function is at least M n^-m."""
        found = [self._search(value, 1) for value in self._least(values)]
        require(found, f"{what} is not known")
        return min(factor for factor, _ in found), max(power for _, power in found)

    def _layer(self, layer: LayerLaw, errors: Decay) -> Decay:
        own, terms = dict(errors.factors), list[tuple[str, Fraction, int, Fraction]]()
        for head in layer.heads:
            off = self._weights(head, errors) if head.rows else []
            for out, form in head.head.values.items():
                own[out] += errors.of(form)
                size, power = self._reach(*head.values[out])
                terms += [(out, factor * size, add + power, rate) for factor, add, rate in off if factor * size]
        paces = [(power, rate) for *_, power, rate in terms]
        paces += [] if errors.rate is None else [(errors.power, errors.rate)]
        least = min((rate for _, rate in paces), default=None)
        power = max((power for power, rate in paces if least or not rate), default=0)
        if errors.rate is not None:
            share = self._share(errors.power - power, errors.rate - (least or 0))
            own = {name: factor * share for name, factor in own.items()}
        for out, factor, more, rate in terms:
            own[out] += factor * self._share(more - power, rate - (least or 0))
        attended = Decay(own, power, least)
        final = dict(own)
        for unit in layer.units:
            moved = attended.of(unit.form)
            if unit.clip and moved and self._forgotten(unit, moved, attended):
                moved = Fraction(0)
            for out, weight in unit.outs.items():
                final[out] += abs(Fraction(weight)) * moved
        final = {name: rounded(factor) for name, factor in final.items()}
        return Decay(final, power, attended.rate if any(final.values()) else None)

    def _share(self, power: int, rate: Fraction) -> Fraction:
        """An upper bound of n^power e^(-rate n) for all n >= start.

        Raises:
            Rejected: if the function is not seen to fall from the start on.
        """
        if power <= 0:
            return Fraction(1)
        require(rate * self.start >= power, f"errors are not seen to fall as others do from n = {self.start} on")
        return Fraction(self._starts(power, rate))

    def _forgotten(self, unit: UnitLaw, moved: Fraction, errors: Decay) -> bool:
        """Whether a clip gives the number that it gives in hard attention."""
        found = self._least(unit.margins)
        if not all(self.signs.positive(value, [self.domain]) for value in found):
            return False
        limit, power = self._below(unit.margins, "a margin")
        return self.falls(moved, errors.power + power, errors.rate, limit)

    def _weights(self, head: HeadLaw, errors: Decay) -> list[tuple[Fraction, int, Fraction]]:
        """How far the weights of a head may be off: a sum of terms `factor n^power e^(-rate n)`."""
        factor, power, name = Fraction(0), 0, head.head.name
        for (query, key), (q_size, k_size) in zip(head.head.pairs, head.sizes, strict=True):
            q, k = errors.of(query), errors.of(key)
            (large, a), (wide, b) = self._size(*q_size), self._size(*k_size)
            factor += large * k + wide * q + q * k
            power = max([power, *([a] if k else []), *([b] if q else [])])
            if q and k:  # a product of errors is at most one of them
                self._require(f"the error of head {name}", Fraction(1), errors.power, errors.rate, Fraction(1))
        factor = rounded(factor)
        steep, grows = self._one_above(self.steep)
        over, climb = factor * steep, errors.power + power + grows
        if factor:
            self._require(f"eta/tau of head {name}", over, climb, errors.rate, HALF)
        result = list[tuple[Fraction, int, Fraction]]()
        leak = 2 * EULER if factor else Fraction(2)
        fast, slow = list[Fraction](), list[Fraction]()
        for place in self.facts.places:
            facts = head.rows[place.order]
            single = not isinstance(facts.visible, Ratio) and facts.visible == 1
            require(facts.gaps or facts.equal or single, f"head {name} has rows of which no gap is known")
            for gap in facts.gaps:
                least = self.signs.least_of(gap, place)
                quick = max(self._grows(sharp, least, LENGTH) for sharp in (self.sharp, self.slow))
                found = quick or self._grows(self.slow, least, LOGARITHM)
                require(
                    found, f"the gap of head {name} over the temperature is not seen to grow as n or log(n + 1) does"
                )
                (fast if quick else slow).append(found)
        if fast:
            result.append((leak, 1, min(fast)))
        if slow:
            # (n + 1)^-s <= n^-w (N0 + 1)^(w - s) for the integer part w of s
            part = min(slow) % 1
            rest = exp(-part * value_of("log", Fraction(self.start + 1), -1))[1]
            result.append((leak * min(Fraction(rest), Fraction(1)), 1 - floor(min(slow)), Fraction(0)))
        if factor and not all(facts.maxima == 1 for facts in head.rows.values()):
            assert errors.rate is not None
            result.append((over, climb, errors.rate))
        return result

    def _grows(self, sharp: Value | None, gap: Value, unit: Value) -> Fraction:
        """A lower bound of gap/(tau unit) for n >= start, where `unit` is n or log(n + 1); 0 if no positive one is
        seen.
        """
        found = None if sharp is None else ratios.lower(of(of(sharp) * gap) / unit, self.domain)
        return max(Fraction(0), found or Fraction(0))

    def _size(self, low: Mapping[int, Value], high: Mapping[int, Value]) -> tuple[Fraction, int]:
        """S and s such that values are at most S n^s in size."""
        (below, a), (beyond, b) = self._above({k: -1 * value for k, value in low.items()}), self._above(high)
        return max(below, beyond), max(a, b)

    def _reach(self, low: Mapping[int, Value], high: Mapping[int, Value]) -> tuple[Fraction, int]:
        """The same, or from the middle of their range, which may be moved: half of it, where it is bounded."""
        size, power = self._size(low, high)
        found = [ratios.lower(part, self.domain) for ends, sign in ((low, 1), (high, -1))
                 for part in self._least({k: sign * value for k, value in ends.items()})]  # fmt: skip
        if power or None in found:
            return size, power
        some = [part for part in found if part is not None]
        return min(size, -(min(some[: len(low)]) + min(some[len(low) :])) / 2), power


def rounded(x: Fraction) -> Fraction:
    """A number at least x, and little more, with a short numerator and denominator."""
    if not x:
        return x
    shift = 16 - x.numerator.bit_length() + x.denominator.bit_length()
    scale = Fraction(2) ** shift
    return ceil(x * scale) / scale
