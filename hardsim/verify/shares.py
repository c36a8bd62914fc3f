"""Means over tied keys, for the checker of certificates of programs: counts, shares and isolated zeros.

**Counts.** For a query at position i of a word, the count of a head is the number of visible keys with the largest
score. A share has powers of counts as denominators. The name of a count is the name of its head. Heads of one layer
with the same mask and the same query and key forms have the same count, and the first of them names it. A longer name
is a count at another position: after the head come the heads and places through which the number was read, the last one
first. `[h, 3]` at i is the count of h at the last position; `[h, g]` at i is the count of h at the first of the keys
that g finds largest from i. That also serves if g finds several keys with one value, since their mean is the value of
the first. So each name is one integer at each position of each word, from 1 to the number of keys that h sees from
where it is counted. If two numbers have different bounds of one count, both bounds are true. A count is the same
*everywhere* in a word if it is counted at one known place, or if the head has no mask and the same query at all
positions: then its rows of scores are equal.

**Shares.** x lies in o + s/P Z, where P is a product of powers of counts. In sums, steps and exponents may only become
finer. If numbers are read at one key, the counts are those at that key. A mean over m tied keys of numbers in o + s/P
Z, where P is the same for all of them (counts that are the same everywhere), lies in o + s/(P m) Z. A mean over all V
visible keys lies in o' + s/(P V) Z, where o' is the mean of the offsets. If x - t lies in w + s/P Z with 0 < |w| < s/P
for the largest P, then x is at least the smaller of |w| and s/P - |w| from t.

**Isolated zeros.** x = b + e z with e = 1 or -1, where z is 0, or z is positive and at least the least of some
functions. Sums of equal signs keep this. A mean of such x over some of V visible keys, b being the same for all, is b
plus e times the mean of the z. That mean is 0, or at least the least z over V. No z is negative, so a function says
nothing where it is not positive, whether it is divided by V or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import gcd, lcm

from hardsim.verify.arithmetic import Rational, require
from hardsim.verify.ratios import Ratio, Value, fit, of
from hardsim.verify.spans import (
    HALF,
    KEY,
    Denominator,
    DenominatorName,
    Domain,
    IsolatedZero,
    NumberSpan,
    Place,
    Share,
    Signs,
    VisibleKeys,
    World,
    ends_of,
    has,
    moved,
)

Parts = Sequence[tuple[Rational, NumberSpan]]
"""Terms of a sum: factors, and spans of the numbers that they multiply."""
MOST_COUNTS = 12
"""Largest exponent of a count, and most parts of its name."""


class ShareSigns(Signs):
    """Decides whether numbers lie in claimed spans, including shares and isolated zeros, either for words of length 1
    or for longer words. As in `Signs`, False means "not known"."""

    world: World
    masks: Mapping[str, str]
    """The mask of each head."""
    like: Mapping[str, str]
    """For each head, the first head of its layer with the same scores."""
    alike: set[str]
    """The heads read so far whose rows of scores are the same at all positions, each named as in `like`."""
    _bounds: dict[tuple[DenominatorName, int], tuple[Value, ...]]

    # ---- denominators ----

    def denominator_name(self, parts: Sequence[str | int]) -> DenominatorName:
        """Return the name of a count from its list in the certificate. Raises Rejected if the list names no head, or is
        too long."""
        head, *path = parts
        fine = head in self.like and len(parts) <= MOST_COUNTS
        # Place 2 has several positions, so it cannot be part of a name.
        fine = fine and all(part in self.like if isinstance(part, str) else part in (0, 1, 3) for part in path)
        require(fine, f"facts: {list(parts)!a} is not the name of a count of tied keys")
        return tuple(self.like[part] if isinstance(part, str) else part for part in parts)

    def everywhere(self, name: DenominatorName) -> bool:
        """Return True if a count is known to be the same integer at all positions of a word."""
        return isinstance(name[-1], int) or (len(name) == 1 and name[0] in self.alike)

    def bounds(self, name: DenominatorName, place: Place) -> tuple[Value, ...]:
        """Return upper bounds of a count at a place, as functions of i and n. Each is a number of visible keys; the
        count is at most one of them."""
        key = name, place.order
        if key not in self._bounds:
            self._bounds[key] = self._bounded(name, place)
        return self._bounds[key]

    def _bounded(self, name: DenominatorName, place: Place) -> tuple[Value, ...]:
        *rest, last = name
        if not rest:
            return (self.world.count(place, self.masks[str(last)]),)
        found: list[Value] = []
        for key in self.world.places:
            if isinstance(last, int):
                # The count of `rest` at the place `last`.
                found += self.bounds(tuple(rest), key) if key.order == last else ()
                continue
            sight = self.world.sees(place, key, self.masks[last])
            for bound in () if sight is None else self.bounds(tuple(rest), key):
                assert sight is not None
                there = moved(bound, i=KEY) if key.several else bound
                found.append(-1 * self.floor(-1 * there, sight) if has(there, 2) else there)
        require(found, f"facts: {[*name]!a} is a count at no position")
        return tuple(dict.fromkeys(found))

    def counted(self, span: NumberSpan, place: Place) -> bool:
        """Return True if every count in the share of a span has a claimed bound that is known to be large enough at a
        place."""
        denominators = () if span.share is None else span.share.denominators
        names = [name for name, _, _ in denominators]
        return len({*names}) == len(names) and all(
            # The count is at most one of its known bounds, so the claimed one must be at least all of them.
            0 < power <= MOST_COUNTS
            and all(self.nonnegative(bound - most, [place.domain]) for most in (1, *self.bounds(name, place)))
            for name, bound, power in denominators
        )

    def read_from(self, span: NumberSpan, via: str | int | None) -> NumberSpan:
        """Return the span of a number that is read at another position. `via` is how that position is found: a head
        (its one largest key), a known place, or None if several keys are read. Counts that differ between positions are
        renamed after `via`; with None, a share that has such counts is dropped."""
        share = span.share
        if share is None:
            return span
        local = [name for name, _, _ in share.denominators if not self.everywhere(name)]
        if not local:
            return span
        if via is None or any(len(name) >= MOST_COUNTS for name in local):
            return replace(span, share=None)
        denominators = tuple(
            Denominator((*name, via) if name in local else name, bound, power)
            for name, bound, power in share.denominators
        )
        return replace(span, share=Share(share.offset, share.step, denominators))

    # ---- shares ----

    def in_share(self, parts: Parts, bias: Value, outer: Share) -> bool:
        """Return True if the linear combination `parts` plus `bias` is known to lie in a share."""
        return any(self._in_share(parts, bias, outer, lattices) for lattices in (False, True))

    def _in_share(self, parts: Parts, bias: Value, outer: Share, lattices: bool) -> bool:
        powers, offset = outer.powers, bias - outer.offset
        for factor, span in parts:
            own = share_of(span, lattices)
            # Each count of the part must divide the product of the outer share.
            if own is None or any(power > powers.get(name, 0) for name, _, power in own.denominators):
                return False
            if not self.multiple(factor * own.step, outer.step):
                return False
            offset = offset + factor * own.offset
        return self.multiple(offset, outer.step)

    # ---- isolated zeros ----

    def total(self, parts: Parts, bias: Value, domains: Sequence[Domain], units: Sequence[Value] = ()) -> NumberSpan:
        """Return the span of the linear combination `parts` plus `bias`. Its step divides all steps. A step that comes
        from `units` is preferred."""
        low, high = ends_of(parts, bias)
        lattice, share = (
            self._sum([(f, share_of(span, kind)) for f, span in parts], bias, units) for kind in (True, False)
        )
        # A lattice is a share without counts.
        step, offset = (None, 0) if lattice is None or lattice.denominators else (lattice.step, lattice.offset)
        ways = (1, -1) if any(span.isolated for _, span in parts) else ()
        zeros = [zero for way in ways if (zero := self._zeros(parts, bias, way, domains)) is not None]
        return NumberSpan(low, high, offset, step, None, share, tuple(zeros))

    def _sum(self, parts: Sequence[tuple[Rational, Share | None]], bias: Value, units: Sequence[Value]) -> Share | None:
        offset, steps, denominators = bias, list[Value](), dict[DenominatorName, Denominator]()
        for factor, share in parts:
            if share is None:
                return None
            offset = offset + factor * share.offset
            steps.append(max(factor, -factor) * share.step)
            for name, bound, power in share.denominators:
                known = denominators[name].power if name in denominators else 0
                denominators[name] = Denominator(name, bound, max(power, known))
        most = Share(0, 1, tuple(denominators.values())).product
        step = self._unit(steps, [unit * most for unit in units])
        return None if step is None else Share(offset, step, tuple(denominators.values()))

    def _unit(self, steps: Iterable[Value], tries: Iterable[Value]) -> Value | None:
        """Return a number of which all steps are integer multiples; None if none is found, 0 if all steps are 0. First
        `tries` are tried, then the steps themselves, then the greatest common divisor of the rational steps, alone and
        times each of the others."""
        some = [step for step in steps if step != 0]
        numbers = [Fraction(step) for step in some if not isinstance(step, Ratio)]
        last = list[Value]()
        if numbers:
            scale = fit(lcm(*(number.denominator for number in numbers)))
            last.append(Fraction(gcd(*(int(number * scale) for number in numbers)), scale))
            # 1/2 and 1/n are multiples of 1/(2n).
            last += [step * last[0] for step in some if isinstance(step, Ratio)]
        found = (unit for unit in (*tries, *some, *last) if all(self.multiple(step, unit) for step in some))
        return next(found, None) if some else 0

    def _zeros(self, parts: Parts, bias: Value, sign: int, domains: Sequence[Domain]) -> IsolatedZero | None:
        """Return the isolated zero of a linear combination with this sign; None if a term has no isolated zero in its
        direction."""
        base, apart = bias, list[Value]()
        for factor, span in parts:
            way = sign if factor > 0 else -sign
            end = span.low if way == 1 else span.high
            own = next((zero for zero in self._isolated(span, end, way, domains) if zero.sign in (0, way)), None)
            if own is None:
                return None
            base = base + factor * own.base
            apart += [max(factor, -factor) * one for one in own.apart]
        return IsolatedZero(base, sign if apart else 0, tuple(apart))

    def _isolated(
        self, span: NumberSpan, base: Value, sign: int, domains: Sequence[Domain], apart: Sequence[Value] = ()
    ) -> Iterator[IsolatedZero]:
        """Yield isolated zeros of a span, from each source in turn: those that the certificate claims; the span is one
        number; the span is on one side of `base`, and on a lattice or in a share through it; the span is on one side of
        `base` by some distance. The distances `apart`, which the caller needs, guide the choice of a step."""
        yield from span.isolated
        if span.exact:
            yield IsolatedZero(span.offset, 0, ())
        height = span.low - base if sign == 1 else base - span.high
        if sign and self.nonnegative(height, domains):
            yield from (IsolatedZero(base, sign, (least,)) for least in self._off(span, base, apart))
            yield IsolatedZero(base, sign, (height,))

    def _off(self, span: NumberSpan, base: Value, apart: Sequence[Value]) -> Iterator[Value]:
        """Yield lower bounds of the distance from `base` of every number of a span other than `base`, from its lattice
        and its share."""
        for share in (share_of(span, True), share_of(span, False)):
            if share is not None:
                most = share.product
                unit = self._unit([share.step, share.offset - base], [one * most for one in apart])
                if unit is not None and unit != 0:
                    yield of(unit) / most

    def isolates(self, parts: Parts, bias: Value, outer: IsolatedZero, sight: VisibleKeys, over: Value = 1) -> bool:
        """Return True if the linear combination `parts` plus `bias`, at all visible keys, has the isolated zero
        `outer`. `over` divides the distance z, for a mean over that many keys."""
        apart = [limit * over for limit in outer.apart]
        span = self.total(parts, bias, sight.domains, apart)
        found = self._isolated(span, outer.base, outer.sign, sight.domains, apart)
        return any(self._fits(own, outer, sight, over) for own in found)

    def _fits(self, own: IsolatedZero, outer: IsolatedZero, sight: VisibleKeys, over: Value) -> bool:
        beyond, apart = own.base - outer.base, own.apart
        if own.sign not in (0, outer.sign):
            return False
        if beyond != 0:
            # what is beyond a base that is beyond the other one is at least as far from that
            apart = (outer.sign * beyond,)
            if not outer.sign or not self.nonnegative(apart[0], sight.domains):
                return False
        return all(any(self._at_least(of(one) / over, limit, sight) for limit in outer.apart) for one in apart)

    def _at_least(self, value: Value, limit: Value, sight: VisibleKeys) -> bool:
        if self.nonnegative(value - limit, sight.domains):
            return True
        return has(value, 2) and self.nonnegative(self.floor(value, sight) - limit, sight.domains)

    # ---- spans ----

    def holds(self, parts: Parts, bias: Value, outer: NumberSpan, sight: VisibleKeys) -> bool:
        """Return True if the linear combination `parts` plus `bias` has the share and the isolated zeros of `outer`."""
        if outer.share is not None and not self.in_share(parts, bias, outer.share):
            return False
        return all(self.isolates(parts, bias, zero, sight) for zero in outer.isolated)

    def sums_to(self, parts: Parts, bias: Rational, outer: NumberSpan, domain: Domain) -> bool:
        """Return True if the linear combination `parts` plus `bias` is known to lie in the span `outer`."""
        fine = super().sums_to(parts, bias, outer, domain)
        return fine and self.holds(parts, bias, outer, VisibleKeys(0, 0, (domain,)))

    def within(self, inner: NumberSpan, outer: NumberSpan, sight: VisibleKeys) -> bool:
        """Return True if every number of the span `inner`, at every visible key, is known to lie in the span
        `outer`."""
        return super().within(inner, outer, sight) and self.holds(((1, inner),), 0, outer, sight)

    def active(self, span: NumberSpan, outer: NumberSpan, clip: bool, domain: Domain) -> bool:
        """Return True if max(x, 0), or min(max(x, 0), 1) for a clip, is known to lie in `outer` for every number x of a
        span."""
        if not super().active(span, outer, clip, domain):
            return False
        here = VisibleKeys(0, 0, (domain,))
        if self.nonnegative(-1 * span.high, [domain]):
            return self.holds((), 0, outer, here)
        if clip and self.nonnegative(span.low - 1, [domain]):
            return self.holds((), 1, outer, here)
        if not clip and self.nonnegative(span.low, [domain]):
            return self.holds(((1, span),), 0, outer, here)
        share, ends = outer.share, (0, 1) if clip else (0,)
        if share is not None and not all(self.in_share((), end, share) for end in ends):
            return False
        # A clip or relu whose input is never inside the interval gives an end of it.
        if share is not None and not self.in_share(((1, span),), 0, share):
            margin = self.margin(span, True, domain) if clip else -HALF
            if isinstance(margin, Ratio) or margin < 0:
                return False
        # The output lies in the outer span, whose other parts were checked before.
        known = replace(outer, isolated=())
        return all(
            self._shapes(span, zero, clip, domain) or self.isolates(((1, known),), 0, zero, here)
            for zero in outer.isolated
        )

    def _shapes(self, span: NumberSpan, outer: IsolatedZero, clip: bool, domain: Domain) -> bool:
        """Return True if max(x, 0), or min(max(x, 0), 1) for a clip, has the isolated zero `outer`. Both functions rise
        with x. So beyond x = b + a they stay at least as far from their value at b as they are at b + a."""
        here, end = VisibleKeys(0, 0, (domain,)), span.high if outer.sign == -1 else span.low
        for own in self._isolated(span, end, outer.sign, [domain]):
            base = self._shaped(own.base, clip, domain)
            if base is not None and own.sign in (0, outer.sign):
                apart = list[Value]()
                for one in own.apart:
                    rise = own.sign * (own.base - base) + one
                    apart += [rise, base] if own.sign == -1 else [rise, 1 - base] if clip else [rise]
                if self._fits(IsolatedZero(base, own.sign, tuple(apart)), outer, here, 1):
                    return True
        # max(x, 0) is on a lattice through 0 that has x; the clip is 1 less such a number, too
        goal = 0 if outer.sign == 1 else 1
        some = self._off(span, goal, outer.apart) if outer.sign == 1 or clip else ()
        tops = (1,) if clip else ()
        return any(self._fits(IsolatedZero(goal, outer.sign, (least, *tops)), outer, here, 1) for least in some)

    def _shaped(self, value: Value, clip: bool, domain: Domain) -> Value | None:
        """Return max(value, 0), or min(max(value, 0), 1) for a clip, for a function of i and n; None if it is not known
        which piece applies."""
        if self.nonnegative(-1 * value, [domain]):
            return 0
        if clip and self.nonnegative(value - 1, [domain]):
            return 1
        inside = self.nonnegative(value, [domain]) and (not clip or self.nonnegative(1 - value, [domain]))
        return value if inside else None

    # ---- distances ----

    def far(self, span: NumberSpan, value: Rational, domain: Domain) -> tuple[Value, ...]:
        """Return positive functions whose minimum is at most |x - value| for every x of a span; () if x may equal the
        value."""
        for side in (span.low - value, value - span.high):
            if self.positive(side, [domain]):
                return (side,)
        tries = list[tuple[Value, ...]]()
        if span.share is not None:
            rest, last = span.share.offset - value, of(span.share.step) / span.share.product
            tries += [(sign * rest, last - sign * rest) for sign in (1, -1)]
        for zero in span.isolated:
            for sign in (zero.sign,) if zero.sign else (1, -1):
                off = sign * (zero.base - value)
                tries += [(off,), *([(-1 * off, *(apart + off for apart in zero.apart))] if zero.sign else [])]
        return next((some for some in tries if all(self.positive(one, [domain]) for one in some)), ())

    def from_zero(self, span: NumberSpan, domain: Domain) -> tuple[Value, ...]:
        """Return positive functions whose minimum is at most |x| for every x != 0 of a span; () if none are found."""
        tries: list[tuple[Value, ...]] = [(least,) for least in self._off(span, 0, ())]
        tries += [zero.apart for zero in span.isolated if zero.base == 0]
        fine = (some for some in tries if some and all(self.positive(one, [domain]) for one in some))
        return next(fine, ())


def share_of(span: NumberSpan, lattice: bool) -> Share | None:
    """Return the share of a span, or its lattice as a share without counts. If `lattice` the lattice is preferred, else
    the share; None if the span has neither."""
    own = None if span.step is None else Share(span.offset, span.step, ())
    first, second = (own, span.share) if lattice else (span.share, own)
    return second if first is None else first


def share_at_key(share: Share) -> Share:
    """Return a share with its position renamed from i (the query) to j (the key)."""
    denominators = tuple(Denominator(name, moved(bound, i=KEY), power) for name, bound, power in share.denominators)
    return Share(moved(share.offset, i=KEY), moved(share.step, i=KEY), denominators)


def zero_at_key(zero: IsolatedZero) -> IsolatedZero:
    """Return an isolated zero with its position renamed from i (the query) to j (the key)."""
    return IsolatedZero(moved(zero.base, i=KEY), zero.sign, tuple(moved(one, i=KEY) for one in zero.apart))
