"""How far softmax is from hard attention, for the checker of certificates of programs: the error recursion, at one
length or for every length from some N0 on.

Each coordinate has an error: a bound of its distance from its value with hard attention. The recursion goes through the
layers.

**Scores.** A linear form has the error sum of |coefficient| times error. If query forms have size at most Q and error
q, and key forms have size K and error k, then scores have errors of at most

    eta = sum of Q k + K q + q k over the rows of W_Q and W_K.

**Weights.** In a row of v keys, m of them with the largest score and a gap g below it, softmax at the temperature tau
differs from hard attention, in the 1-norm, by at most 2 and by at most

    2 (v - m)/m e^(-(g - 2 eta)/tau)  +  2 tanh(eta/(2 tau)) if m > 1.

Proof. Let w = e^((s' - max s)/tau), where s' is the score with its error. Keys with the largest score have w >=
e^(-eta/tau); the v - m others have w <= e^((eta - g)/tau). The share of the others is r <= (v - m)/m e^(-(g - 2
eta)/tau), and taking it away moves the weights by 2 r. Among the m largest, w is within e^-x and e^x for x = eta/tau.
The weights of some of them that are a share a of m exceed a by at most a (1 - a)(e^x - e^-x)/(a e^x + (1 - a) e^-x).
This is largest, tanh(x/2), at a = 1/(1 + e^x); the distance is twice that for those that have too much.

The first term falls as m grows. If m is not known, the worst cases are m = 1, and m = 2 if several keys may be largest.

**Values.** The value that a head reads has the error of the value itself, plus the distance of the weights times the
size of the value (or half its range, as weights sum to 1). A relu does not increase errors. A clip whose input, with
hard attention, is at least as far outside (0, 1) as its error gives exactly the same number.

**Every length.** For every n >= N0 errors are A_c n^p e^(-r n) with r >= 0. Let f = 1/tau. Sizes are at most B n^b,
margins at least M n^-m, and gaps such that f g >= r n or f g >= s log(n + 1). If f eta <= 1/2, the distance of the
weights is at most 2 n e^(1 - r n) or 2 e n (n + 1)^-s, without the e if eta = 0; plus f eta if several keys may be
largest, since 2 tanh(x/2) <= x. A sum of such terms has the largest p and the least r; if that r is 0, the largest p of
the terms with this r. The other terms are smaller from N0 on by the factor that they have at N0. Each inequality F n^s
e^(-r n) <= L is checked at N0, where r N0 >= s is required, so that its left side falls.

**Sparsemax** has exactly the weights of hard attention in a row if m g >= tau and its scores have no error: with t =
(top score)/tau - 1/m the m largest weights are 1/m each, and those of the others max(0, score/tau - t) = 0. In all
other rows its weights are at most 2 away. So where g >= tau in every row there are no errors at all. With **rounded
exponentials** that holds if g >= c tau, where e^-c is rounded to 0 (`exponentials`).

**Temperatures.** If 1/tau is not a rational number, or not a function of n, it lies between two of them. Then f g is at
least the lower one times g, f eta is at most the upper one times eta, and nothing else depends on tau. The lower one
may also be a function of n and log(n + 1).
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
"""An upper bound of e."""
MOST_DEGREE = 12
"""Number of powers of n, from n^0 on, that are tried for a bound of a function."""
COLD = Decimal(100_000)
"""Largest size of an exponent x, in nats: a larger x is rejected, and below -COLD the bound of e^x is that at -COLD."""
SMALL = Decimal("0.001")
"""Up to this x, x itself is taken as the bound of 2 tanh(x/2), which it is to seven digits."""


Between = tuple[Fraction, Fraction]
"""A lower and an upper bound of one over a temperature."""
Ends = tuple[Mapping[int, Value], Mapping[int, Value]]
"""The least and the largest value of a form, by order of the place."""


@dataclass(frozen=True)
class UnitLaw:
    """A hidden unit: whether it is a clip (or a relu), its input form, its output weights, and, by order of the place,
    its margin (lower bound of the distance of its input from (0, 1), negative if it may be inside) and an upper bound
    of its input."""

    clip: bool
    form: Form
    outs: Form
    margins: Mapping[int, Value]
    tops: Mapping[int, Value]


@dataclass(frozen=True)
class HeadLaw:
    """A head: its rows by order of the place (none for a uniform head), the ends of query and key form for each pair of
    these, and the ends of the form that it adds to each coordinate."""

    head: Head
    rows: Mapping[int, Row]
    sizes: tuple[tuple[Ends, Ends], ...]
    values: Mapping[str, Ends]


@dataclass(frozen=True)
class LayerLaw:
    """The heads and hidden units of a layer."""

    heads: tuple[HeadLaw, ...]
    units: tuple[UnitLaw, ...]


@dataclass
class Law:
    """Facts about hard attention on every word: the layers, the output coordinates (`answers`), and pairs of the order
    of a place and a lower bound of the distance there of the outputs from values with another meaning. `exact`: outputs
    must have no error at all."""

    places: Sequence[Place]
    coordinates: tuple[str, ...]
    layers: tuple[LayerLaw, ...]
    answers: tuple[str, ...]
    distances: tuple[tuple[int, Value], ...]
    exact: bool
    cutoff: int = 0
    """Loss, over the temperature, from which on the weighting gives a key no weight; 0 if every key has weight."""


def up(x: Rational) -> Decimal:
    """Return an upper bound of x as a decimal."""
    return UP.divide(Decimal(x.numerator), Decimal(x.denominator))


def size_of(x: Rational) -> Rational:
    """Return |x|."""
    return -x if x < 0 else x


def down(x: Rational) -> Decimal:
    """Return a lower bound of x as a decimal."""
    return DOWN.divide(Decimal(x.numerator), Decimal(x.denominator))


def exp_above(x: Decimal) -> Decimal:
    """Return an upper bound of e^x for x up to COLD."""
    require(x <= COLD, "too large: a temperature is too small for its errors")
    return exp(Fraction(max(x, COLD.copy_negate())))[1]


def uneven(x: Decimal) -> Decimal:
    """Return an upper bound of 2 tanh(x/2) = 2 - 4/(1 + e^x) that is at most x."""
    if x <= SMALL or x > COLD:
        return min(x, TWO)
    return min(x, UP.subtract(TWO, DOWN.divide(FOUR, UP.add(ONE, exp_above(x)))))


class Recursion:
    """The error recursion at one length, on words of n positions. `inverse` returns a lower and an upper bound of 1/tau
    at a position."""

    def __init__(self, signs: Signs, facts: Law, n: int, inverse: Callable[[int], Between]) -> None:
        self.signs, self.facts, self.n, self.inverse = signs, facts, n, inverse
        self.at = {place.order: self._positions(place) for place in facts.places}
        self._ends: dict[tuple[int, Value], tuple[Fraction, Fraction]] = {}
        self._steps: dict[Ratio, int] = {}

    def _positions(self, place: Place) -> range:
        n = self.n
        return {0: range(1), 1: range(1, 2), 2: range(2, n), 3: range(n, n + 1)}[place.order]

    def number(self, value: Value, i: int) -> Fraction:
        """Return the value of a function at position i of this length."""
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
        """Return the least and the largest value of functions over all positions of their places; None if there are no
        positions."""
        found: list[Fraction] = []
        for order, value in values.items():
            # A function that does not depend on i is evaluated once.
            positions = self.at[order] if has(value, 0) else self.at[order][:1]
            if positions and (order, value) not in self._ends:
                some = [self.number(value, i) for i in positions]
                self._ends[order, value] = min(some), max(some)
            if positions:
                found += self._ends[order, value]
        return (min(found), max(found)) if found else None

    def run(self) -> None:
        """Raise Rejected unless the outputs mean the same as with hard attention."""
        errors = dict.fromkeys(self.facts.coordinates, NONE)
        for layer in self.facts.layers:
            own = dict(errors)
            for head in layer.heads:
                far = self._distance(head, errors) if head.rows else NONE
                for out, form in head.head.values.items():
                    low, high = self.span(*head.values[out])
                    # Weights sum to 1, so the value may be measured from the middle of its range.
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
            # With an error of 0 the outputs are the same numbers.
            if off and found is not None:
                fine = not self.facts.exact and off < down(found[0])
                require(fine, f"at length {self.n} the error of an output may exceed its distance from the threshold")

    def span(self, low: Mapping[int, Value], high: Mapping[int, Value]) -> tuple[Fraction, Fraction]:
        """Return the least and the largest value of a form over all positions."""
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
            # The output of a clip changes by at most 1.
            return NONE if found[0] >= 0 and moved <= down(found[0]) else min(moved, ONE)
        found = self.ends(unit.tops)
        assert found is not None
        # A relu whose input stays negative gives 0.
        return NONE if UP.add(up(found[1]), moved) <= 0 else moved

    def _distance(self, head: HeadLaw, errors: Mapping[str, Decimal]) -> Decimal:
        """Return a bound of the distance of a head's weights from hard attention, in the 1-norm, over all rows."""
        eta = NONE
        for (query, key), (q_size, k_size) in zip(head.head.pairs, head.sizes, strict=True):
            q, k = reach(query, errors), reach(key, errors)
            sizes = [max(-ends[0], ends[1]) for ends in (self.span(*q_size), self.span(*k_size))]
            for one, other in ((up(sizes[0]), k), (up(sizes[1]), q), (q, k)):
                eta = UP.add(eta, UP.multiply(one, other))
        return max((self._row(*row, eta) for row in self._worst(head)), default=NONE)

    def _worst(self, head: HeadLaw) -> Iterable[tuple[int, int | None, Between, Fraction | None]]:
        """Yield the rows that can be the worst: number of visible keys, number of largest keys (None if not known),
        1/tau, and gap. A row is left out if another one that is otherwise alike has at least as many keys and at most
        the same gap."""
        rows: dict[tuple[int | None, Between, bool], dict[int, Fraction]] = {}
        for order, facts in head.rows.items():
            for i in self.at[order]:
                keys = int(self.number(facts.visible, i))
                if keys > 1:
                    require(facts.gaps or facts.equal, f"head {head.head.name} has rows without a known gap")
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
        if self.facts.cutoff:
            several = maxima or 1 if self.facts.cutoff == 1 else 1  # which only sparsemax is exact sooner for
            fine = not eta and (gap is None or gap * several * inverse[0] >= self.facts.cutoff)
            return NONE if fine else TWO
        leak, shared = NONE, NONE
        if gap is not None and keys != maxima:
            left = DOWN.subtract(down(gap), UP.multiply(TWO, eta))
            # The error may exceed half the gap: then any other key may have the largest score.
            if left <= 0:
                return TWO
            nats = DOWN.multiply(left, down(inverse[0]))
            leak = exp_above(nats.copy_negate())
        # Only if several keys have the largest score can errors of scores make their weights uneven.
        if maxima != 1 and eta:
            shared = uneven(UP.multiply(eta, up(inverse[1])))
        if maxima is not None:
            rest = UP.divide(Decimal(2 * max(keys - maxima, 0)), Decimal(maxima))
            return min(UP.add(UP.multiply(leak, rest), shared), TWO)
        # m = 1 or m = 2 is the worst case (see the module).
        one, two = UP.multiply(leak, Decimal(2 * (keys - 1))), UP.multiply(leak, Decimal(keys - 2))
        return min(max(one, UP.add(two, shared)), TWO)


Terms = tuple[tuple[int, int, int], ...]
"""The terms of a polynomial: coefficient, exponent of i, exponent of n."""


@lru_cache(maxsize=1 << 14)
def in_integers(value: Ratio) -> tuple[Terms, Terms]:
    """Return numerator and divisor of a function of i and n, multiplied by one number that makes all coefficients
    integers."""
    parts = [value.top.terms, value.bottom.terms]
    message = "a function depends on a position that is not known"
    require(not any(c or d for part in parts for _, _, c, d in part), message)
    scales = [common(part.values()) for part in parts]
    scale = lcm(*scales)
    top, bottom = (tuple((int(scale * factor), a, b) for (a, b, _, _), factor in part.items()) for part in parts)
    return top, bottom


def steps_of(parts: Sequence[Terms], n: int) -> int:
    """Return the number of steps to charge for evaluating a numerator and a divisor at positions up to n, and their
    quotient."""
    sizes = [max((factor.bit_length() + (a + b) * n.bit_length() for factor, a, b in part), default=0)
             for part in parts]  # fmt: skip
    terms = sum(len(part) * (3 + (size >> 6)) for size, part in zip(sizes, parts, strict=True))
    return 10 + terms + effort(sum(sizes))


def evaluated(terms: Terms, i: int, n: int) -> int:
    """Return the value of a polynomial in i and n."""
    return sum(factor * i**a * n**b for factor, a, b in terms)


def reach(form: Form, errors: Mapping[str, Decimal]) -> Decimal:
    """Return the error of a linear form: the sum of |coefficient| times the error of its coordinate."""
    total = NONE
    for name, factor in form.items():
        if errors[name]:
            total = UP.add(total, UP.multiply(up(size_of(factor)), errors[name]))
    return total


# ---- every length ----


@dataclass
class Decay:
    """Errors A_c n^power e^(-rate n) by coordinate c; without a rate all are 0."""

    factors: dict[str, Fraction]
    power: int = 0
    rate: Fraction | None = None

    def of(self, form: Form) -> Fraction:
        """Return the error of a linear form, divided by n^power e^(-rate n)."""
        return sum((abs(Fraction(factor)) * self.factors[name] for name, factor in form.items()), Fraction(0))


@dataclass
class Induction:
    """The error recursion for every length n >= `start`. `sharp` and `steep` are functions of n below and above 1/tau;
    `slow` is a lower bound in n and log(n + 1), or None."""

    signs: Signs
    facts: Law
    start: int
    sharp: Value
    steep: Value
    slow: Value | None = None
    _bounds: dict[Value, tuple[Fraction, int]] = field(default_factory=dict)

    @property
    def domain(self) -> Domain:
        """The domain of lengths n >= start with their logarithms."""
        return lengths_from(self.start)

    def run(self) -> None:
        """Raise Rejected unless the outputs mean the same as with hard attention."""
        require(self.start >= 2, "start: this should be at least 2")
        ends = [end for end in (self.sharp, self.steep, self.slow) if end is not None]
        fine = all(self.signs.positive(end, [self.domain]) for end in ends)
        require(fine, "the temperature is not known to be positive")
        errors = Decay(dict.fromkeys(self.facts.coordinates, Fraction(0)))
        for layer in self.facts.layers:
            errors = self._layer(layer, errors)
        off = max(errors.factors[name] for name in self.facts.answers)
        for order, distance in self.facts.distances:
            if off:
                message = "an output has an error that no clip rounds, and the claim is an exact output"
                require(not self.facts.exact, message)
                limit, power = self._below({order: distance}, "the distance of an output from the threshold")
                self._require("the error of an output", off, errors.power + power, errors.rate, limit * HALF)

    def falls(self, factor: Fraction, power: int, rate: Fraction | None, limit: Fraction) -> bool:
        """Return True if `factor n^power e^(-rate n)` is known to be at most a limit for every n >= start."""
        self.signs.spend(40)
        if not factor:
            return True
        assert rate is not None
        # The function may still rise there.
        if rate * self.start < power:
            return False
        return UP.multiply(up(factor), self._starts(power, rate)) <= down(limit)

    def _starts(self, power: int, rate: Fraction) -> Decimal:
        """Return an upper bound of n^power e^(-rate n) at n = start."""
        return UP.multiply(up(Fraction(self.start) ** power), exp(-rate * self.start)[1])

    def _require(self, what: str, factor: Fraction, power: int, rate: Fraction | None, limit: Fraction) -> None:
        message = f"{what} is not known to be small enough from n = {self.start} on"
        require(self.falls(factor, power, rate, limit), message)

    def _least(self, values: Mapping[int, Value]) -> list[Value]:
        """Return functions of n that are lower bounds of the functions of each place."""
        return [self.signs.least_of(values[place.order], place) for place in self.facts.places if place.order in values]

    def _above(self, values: Mapping[int, Value]) -> tuple[Fraction, int]:
        """Return B >= 0 and b such that no function exceeds B n^b."""
        found = [self._one_above(-1 * value) for value in self._least({k: -1 * v for k, v in values.items()})]
        return max((factor for factor, _ in found), default=Fraction(0)), max((b for _, b in found), default=0)

    def _one_above(self, value: Value) -> tuple[Fraction, int]:
        if value not in self._bounds:
            self._bounds[value] = self._search(value, -1)
        return self._bounds[value]

    def _search(self, value: Value, way: int) -> tuple[Fraction, int]:
        for power in range(MOST_DEGREE):
            self.signs.spend(40)
            # n^power
            scale = ratios.product([ratios.NAMES[1]] * power)
            scaled = of(value) / Ratio(scale, ()) if way < 0 else of(value) * Ratio(scale, ())
            found = (ratios.upper if way < 0 else ratios.lower)(scaled, self.domain)
            if found is not None and (way < 0 or found > 0):
                return max(found, Fraction(0)), power
        require(False, "no power of n is known to bound a function")
        raise AssertionError

    def _below(self, values: Mapping[int, Value], what: str) -> tuple[Fraction, int]:
        """Return M > 0 and m such that every function is at least M n^-m."""
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
        # The slowest rate is that of the sum; a term of rate 0 keeps its own power only.
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
        """Return an upper bound of n^power e^(-rate n) for all n >= start: 1 if power <= 0, else its value at `start`.
        Raises Rejected if the function is not known to fall from `start` on."""
        if power <= 0:
            return Fraction(1)
        require(rate * self.start >= power, f"errors are not known to fall as fast as others from n = {self.start} on")
        return Fraction(self._starts(power, rate))

    def _forgotten(self, unit: UnitLaw, moved: Fraction, errors: Decay) -> bool:
        """Return True if a clip gives the same number as with hard attention."""
        found = self._least(unit.margins)
        if not all(self.signs.positive(value, [self.domain]) for value in found):
            return False
        limit, power = self._below(unit.margins, "a margin")
        return self.falls(moved, errors.power + power, errors.rate, limit)

    def _weights(self, head: HeadLaw, errors: Decay) -> list[tuple[Fraction, int, Fraction]]:
        """Return the distance of a head's weights from hard attention as a sum of terms `factor n^power
        e^(-rate n)`."""
        factor, power, name = Fraction(0), 0, head.head.name
        for (query, key), (q_size, k_size) in zip(head.head.pairs, head.sizes, strict=True):
            q, k = errors.of(query), errors.of(key)
            (large, a), (wide, b) = self._size(*q_size), self._size(*k_size)
            factor += large * k + wide * q + q * k
            power = max([power, *([a] if k else []), *([b] if q else [])])
            if q and k:  # a product of errors is at most one of them
                self._require(f"the error of head {name}", Fraction(1), errors.power, errors.rate, Fraction(1))
        if self.facts.cutoff:
            return self._sparse(head, factor)
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
            require(facts.gaps or facts.equal or single, f"head {name} has rows without a known gap")
            for gap in facts.gaps:
                least = self.signs.least_of(gap, place)
                # Fast enough to give e^(-r n); else a power of n + 1.
                quick = max(self._grows(sharp, least, LENGTH) for sharp in (self.sharp, self.slow))
                found = quick or self._grows(self.slow, least, LOGARITHM)
                require(found, f"the gap of head {name} over the temperature is not known to grow like n or log(n + 1)")
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

    def _sparse(self, head: HeadLaw, factor: Fraction) -> list[tuple[Fraction, int, Fraction]]:
        """Return no error for a head under a weighting with a cutoff. Raises Rejected if a gap over the temperature is
        not known to be at least the cutoff, or scores have an error (`factor`)."""
        name = head.head.name
        require(not factor, f"the scores of head {name} have an error, for which there is no bound")
        for place in self.facts.places:
            facts = head.rows[place.order]
            single = not isinstance(facts.visible, Ratio) and facts.visible == 1
            require(facts.gaps or facts.equal or single, f"head {name} has rows without a known gap")
            for gap in facts.gaps:
                found = ratios.lower(of(of(self.sharp) * self.signs.least_of(gap, place)), self.domain)
                message = f"the gap of head {name} over the temperature is not known to be at least {self.facts.cutoff}"
                require(found is not None and found >= self.facts.cutoff, message)
        return []

    def _grows(self, sharp: Value | None, gap: Value, unit: Value) -> Fraction:
        """Return a lower bound of gap/(tau unit) for n >= start, where `unit` is n or log(n + 1); 0 if no positive one
        is known."""
        found = None if sharp is None else ratios.lower(of(of(sharp) * gap) / unit, self.domain)
        return max(Fraction(0), found or Fraction(0))

    def _size(self, low: Mapping[int, Value], high: Mapping[int, Value]) -> tuple[Fraction, int]:
        """Return S and s such that the values of a form are at most S n^s in size."""
        (below, a), (beyond, b) = self._above({k: -1 * value for k, value in low.items()}), self._above(high)
        return max(below, beyond), max(a, b)

    def _reach(self, low: Mapping[int, Value], high: Mapping[int, Value]) -> tuple[Fraction, int]:
        """Return a bound of the values of a form like `_size`; or half of their range, if it is bounded, since a
        weighted mean may be measured from the middle of the range."""
        size, power = self._size(low, high)
        found = [ratios.lower(part, self.domain) for ends, sign in ((low, 1), (high, -1))
                 for part in self._least({k: sign * value for k, value in ends.items()})]  # fmt: skip
        if power or None in found:
            return size, power
        some = [part for part in found if part is not None]
        return min(size, -(min(some[: len(low)]) + min(some[len(low) :])) / 2), power


def rounded(x: Fraction) -> Fraction:
    """Return a number from x >= 0 to x (1 + 2^-15) with a short numerator and denominator."""
    if not x:
        return x
    # Sixteen bits of precision keep numbers short over many layers.
    shift = 16 - x.numerator.bit_length() + x.denominator.bit_length()
    scale = Fraction(2) ** shift
    return ceil(x * scale) / scale
