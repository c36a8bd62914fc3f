"""The arithmetic of the checker of certificates: exact rationals, and bounds of e^x that are rounded outwards.

Only e^x is approximated here, between bounds from its series (log and sqrt, in temperatures: `enclosures`). One
calculates with bounds in decimals of 34 digits, rounded away from what they enclose; results are in units of 10^-12,
rounded up. Numbers of more than `BITS` bits are refused, so that no calculation takes long.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import lcm
from typing import Any

GRID = 10**12
"""Bounds are multiples of 1/GRID."""
FAR = 100
"""Nats below the largest logit from which on weights are bounded by e^-FAR."""
BITS = 1 << 15
"""Of the numerator or the denominator of any number."""
SQUARINGS = 64
"""How often the series of e^x is squared at most: |x| is below 2^59."""
_HUGE, _LONG = 1 << BITS, 1 << 512
DOWN, UP = (Context(34, way, MIN_EMIN, MAX_EMAX) for way in (ROUND_FLOOR, ROUND_CEILING))
ZERO, ONE = Decimal(0), Decimal(1)
RATIONAL = re.compile(r"-?\d{1,2000}(/0*[1-9]\d{0,1999})?", re.ASCII)

Rational = int | Fraction
Combination = dict[Any, Any]
"""A linear combination of None (the constant 1), nodes (their truth here), counts (side, literal), and names of heads
(the Boolean that was attended to; of a number looked up, how far it is off); "" is the T of `verify`'s `along`."""


class Rejected(Exception):
    """The certificate does not prove its claim: why."""


def require(condition: object, reason: str) -> None:
    """Reject unless a condition holds."""
    if not condition:
        raise Rejected(reason)


WORK = 10**7, 15
"""Elementary steps that a certificate may take (about a microsecond each): so many, and so many more for each of its
values and each pair of positions. Compiled networks take up to 3 of the latter."""
MINUTE = 6 * 10**7
"""What certificates of programs, and of every length, may take at most, however large they are."""
ROOM = 1 << 21
"""Values that are kept at once, of up to 2048 bits or a few hundred bytes each."""


class Costs:
    """What a check takes: `work` in steps, which large numbers make longer, and values that are `kept` in memory."""

    def __init__(self, size: int, coefficients: Iterable[Rational], most: int | None = None) -> None:
        self.allowance, self.work, self.kept, self.cached = WORK[0] + WORK[1] * size, 0, 0, 0
        self.allowance = self.allowance if most is None else min(self.allowance, most)
        self.unit = self.least = max(1, words(coefficients))

    def spend(self, steps: int) -> None:
        """Note work with numbers of the usual size here, and reject what takes too much of it."""
        self.charge(steps * self.unit)

    def charge(self, steps: int) -> None:
        """Note steps."""
        self.work += steps
        if self.work > self.allowance:
            raise Rejected(f"too large: it takes more than {self.allowance} steps")

    def keep(self, values: int) -> None:
        """Note values that are kept, and reject what takes too much memory."""
        self.kept += values
        require(self.kept <= ROOM, f"too large: it needs more than {ROOM} values at once")

    def release(self) -> bool:
        """Note that what was kept is in caches alone now; whether these should be dropped."""
        self.cached, self.kept = self.cached + self.kept, 0
        full = self.cached > ROOM
        self.cached *= not full
        return full


def effort(size: int) -> int:
    """The steps that an operation on rationals takes of so many bits in all: greatest common divisors go by squares."""
    return 2 + ((size >> 6) ** 2 >> 5)


def words(numbers: Iterable[Rational]) -> int:
    """The bits of the largest number, in words of 64."""
    return max(map(bits, numbers), default=0) >> 6


def bits(x: Rational) -> int:
    """The size of a number: bits of its numerator or of its denominator, whichever has more."""
    return max(x.numerator.bit_length(), x.denominator.bit_length())


def exp(x: Fraction) -> tuple[Decimal, Decimal]:
    """Numbers that enclose e^x; those of short x are kept."""
    return (_exp if x.denominator < _LONG and -_LONG < x.numerator < _LONG else _exp.__wrapped__)(x)


@lru_cache(maxsize=1 << 18)
def _exp(x: Fraction) -> tuple[Decimal, Decimal]:
    return exp_between(x, (DOWN, UP), 16)


def exp_between(x: Fraction, contexts: tuple[Context, Context], terms: int) -> tuple[Decimal, Decimal]:
    """Numbers that enclose e^x, in contexts that round down and up. With r = |x| / 2^k < 1/32 the series to r^m/m!, m
    terms, is a lower bound of e^r, and what is left out is less than its last term; then it is squared k times."""
    require(not too_large((x,), 1), "too large: a logit")
    k = max(0, x.numerator.bit_length() - x.denominator.bit_length() + 6)
    low, high = (_series(abs(x) / 2**k, k, context, terms) for context in contexts)
    return (contexts[0].divide(ONE, high), contexts[1].divide(ONE, low)) if x < 0 else (low, high)


def _series(x: Fraction, squarings: int, context: Context, terms: int) -> Decimal:
    r, term, total = context.divide(Decimal(x.numerator), Decimal(x.denominator)), ONE, ONE
    for number in range(1, terms + 1):
        term = context.divide(context.multiply(term, r), Decimal(number))
        total = context.add(total, term)
    total = context.add(total, term) if context.rounding == ROUND_CEILING else total
    for _ in range(squarings):
        total = context.multiply(total, total)
    return total


def too_large(logits: Iterable[Fraction], stretch: Rational) -> bool:
    """Whether e^(s x) is too large a number for one of some x, and s = `stretch`."""
    some = logits if stretch == 1 else (x * stretch for x in logits)
    return any(x.numerator.bit_length() - x.denominator.bit_length() + 6 > SQUARINGS for x in some)


def exp_up_to(x: Fraction, stretch: Rational) -> tuple[Decimal, Decimal]:
    """Numbers that enclose e^(s x) for every s from 1 to `stretch`."""
    if stretch == 1:
        return exp(x)
    return exp(min(x, x * stretch))[0], exp(max(x, x * stretch))[1]


def share(part: Decimal, whole: Decimal) -> int:
    """A quotient in units of 1/GRID, rounded up."""
    return int(UP.multiply(UP.divide(part, whole), Decimal(GRID)).to_integral_value(ROUND_CEILING))


def distance(logits: list[int], scale: int, values: list[int], goal: int, stretch: Rational) -> int:
    """At most how far the attended value is from `goal`: values on the two sides of it pull in opposite directions.
    Logits are in units of 1/scale; those more than FAR nats below the largest count with a bound of e^-FAR. All may be
    a number from 1 to `stretch` times as large."""
    whole, apart, top = ZERO, [ZERO, ZERO], max(logits)
    for logit, value in zip(logits, values, strict=True):
        low, high = exp_up_to(max(Fraction(logit - top, scale), Fraction(-FAR)), stretch)
        whole = DOWN.add(whole, low if top - logit < FAR * scale else ZERO)
        apart[value > goal] = UP.add(apart[value > goal], UP.multiply(high, Decimal(abs(value - goal))))
    return share(max(apart), whole)


def above(logits: list[int], scale: int, values: list[int], goal: int, stretch: Rational) -> int:
    """At most how far the attended value is above `goal`, below which it is if that is negative; logits as there."""
    least = most = gain = loss = ZERO
    top = max(logits)
    for logit, value in zip(logits, values, strict=True):
        low, high = exp_up_to(max(Fraction(logit - top, scale), Fraction(-FAR)), stretch)
        low = low if top - logit < FAR * scale else ZERO
        least, most = DOWN.add(least, low), UP.add(most, high)
        gain = UP.add(gain, UP.multiply(high, Decimal(max(value - goal, 0))))
        loss = DOWN.add(loss, DOWN.multiply(low, Decimal(max(goal - value, 0))))
    total = UP.subtract(gain, loss)
    return share(total, least if total > 0 else most)


def worst(weights: list[Any], goal: int, colder: bool = False) -> int | None:
    """The largest share of wrong values, where the last position that is selected should give `goal` (None: it cannot).
    `weights` has for each position its local types: selected or not, value, bounds of the weight. Wrong values are
    taken where there are any, else the least right weight: either choice can only increase the share.

    `colder`: the weights are those at a temperature that is hotter. Beside the winner's no right weight counts then:
    where the share is less than 1/2 no wrong weight is as large as the winner's, so all fall, relative to that, as the
    temperature does, and the share is at most this one. Where it is not, it is rejected."""
    sums, last, found = list[list[Decimal]](), len(weights) - 1, list[int]()
    for way in (1, -1):  # before the winner there may be any type, after it none that is selected
        pools = [[kind for kind in types if way > 0 or not kind[0]] for types in weights[::way]]
        bad = [max((high for _, what, _, high in pool if what != goal), default=ZERO) for pool in pools]
        least = [min((low for *_, low, _ in pool), default=ZERO) for pool in pools]
        good = [ZERO if b or colder else low for b, low in zip(bad, least, strict=True)]
        sums += [[*accumulate(bad, UP.add, initial=ZERO)], [*accumulate(good, DOWN.add, initial=ZERO)]]
    for at in range(max((k for k, types in enumerate(weights) if all(kind[0] for kind in types)), default=0), last + 1):
        if wins := [low for selected, what, low, _ in weights[at] if selected and what == goal]:
            wrong, right = UP.add(sums[0][at], sums[2][last - at]), DOWN.add(sums[1][at], sums[3][last - at])
            found.append(share(wrong, DOWN.add(wrong, DOWN.add(right, min(wins)))))
    require(not colder or max(found, default=0) < GRID // 2, "too large: a logit")
    return max(found, default=None)


def worst_of_all(weights: list[Any], goal: int) -> int | None:
    """At least `worst` of the first one, two, ... or all of the positions: what may be wrong is counted on both sides
    of a winner wherever it is, and what must be right not at all."""
    bad, behind = ([max((high for selected, what, _, high in types if what != goal and not (last and selected)),
                        default=ZERO) for types in weights] for last in (False, True))  # fmt: skip
    before, alone = ([*accumulate(part, UP.add, initial=ZERO)] for part in (bad, behind))
    after, found = [*accumulate(behind[::-1], UP.add, initial=ZERO)][::-1], list[int]()
    for at, types in enumerate(weights):
        # Where none is selected the last one wins.
        for wins, wrong in ((True, UP.add(before[at], after[at + 1])), (False, alone[at])):
            own = [low for selected, what, low, _ in types if what == goal and bool(selected) is wins]
            if own:
                found.append(share(wrong, DOWN.add(wrong, min(own))))
    return max(found, default=None)


def falls(fixed: list[int], slope: list[int]) -> int:
    """Twice the k > 0 for which `fixed + c slope` is -k (j - c)^2 at j = 1, 2, ... for every c, up to what does not
    depend on j; 0 if there is none."""
    twice = slope[1] - slope[0] if len(slope) > 1 else 0
    fine = all(a - slope[0] == twice * j for j, a in enumerate(slope))
    fine = fine and all(2 * (a - fixed[0]) == twice * (1 - (j + 1) ** 2) for j, a in enumerate(fixed))
    return twice if fine and twice > 0 else 0


def most(found: Iterable[int | None]) -> int | None:
    """The largest that there is."""
    return max((bound for bound in found if bound is not None), default=None)


def combine(*parts: tuple[Any, Combination]) -> Combination:
    """A linear combination, without zeros."""
    found: Combination = {}
    for a, value in parts:
        for key, b in value.items():
            found[key] = total = found.get(key, 0) + a * b
            if isinstance(total, int | Fraction) and not (
                -_HUGE < total.numerator < _HUGE and total.denominator < _HUGE
            ):
                raise Rejected(f"too large: a number of more than {BITS} bits")
    return {key: whole(a) for key, a in found.items() if a}


def whole(x: Any) -> Any:
    """The same number, an int if it is an integer: these are faster. Functions, which `ratios` bounds, stay."""
    return x.numerator if isinstance(x, Fraction) and x.denominator == 1 else x


def common(numbers: Iterable[Rational]) -> int:
    """The least common denominator."""
    found = 1
    for number in numbers:
        found = lcm(found, number.denominator)
        require(found < _HUGE, f"too large: a common denominator of more than {BITS} bits")
    return found


def exact(data: Any) -> Any:
    """Rationals written as `"p"` or `"p/q"`, also inside arrays and objects; integers as ints."""
    if isinstance(data, dict | list):
        return {key: exact(part) for key, part in data.items()} if isinstance(data, dict) else [*map(exact, data)]
    return whole(Fraction(data))
