"""Arithmetic of the certificate checker: exact rationals, and bounds of e^x that are rounded outwards.

Sums, products and quotients of rationals are exact. Only e^x is approximated, by a lower and an upper bound from its
series (`enclosures` does the same for log and sqrt in temperatures). Bounds are decimals of 34 digits: lower bounds are
rounded down, upper bounds up. Bounds of errors are integers in units of 10^-12, rounded up. Numbers of more than `BITS`
bits are rejected, so that no calculation takes long.
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
"""Error bounds are integers in units of 1/GRID."""
FAR = 100
"""Distance below the largest logit, in nats, from which on a weight is bounded by e^-FAR."""
BITS = 1 << 15
"""Most bits of the numerator and of the denominator of a number."""
SQUARINGS = 64
"""Most squarings after the series of e^x; |x| is below 2^59 then."""
# Python's powers of large numbers are slow, so limits are compared as numbers, not computed each time.
_HUGE, _LONG = 1 << BITS, 1 << 512
DOWN, UP = (Context(34, way, MIN_EMIN, MAX_EMAX) for way in (ROUND_FLOOR, ROUND_CEILING))
ZERO, ONE = Decimal(0), Decimal(1)
# A rational in a certificate, such as -1/2. The divisor has a digit other than 0, so it is not 0. Python refuses to
# convert more than 4300 digits, which 2000 stay below.
RATIONAL = re.compile(r"-?\d{1,2000}(/0*[1-9]\d{0,1999})?", re.ASCII)

Rational = int | Fraction
Combination = dict[Any, Any]
"""A linear combination: coefficients by what they multiply. Keys are None (the constant 1), numbers of nodes (their
truth at this position), counts as pairs (side, literal), names of heads (the Boolean that a head should read; for a
head that looks up a number, the error of that number), and "" (the integer T of an `at least` node, see
`FormulaChecker.along`)."""


class Rejected(Exception):
    """The certificate does not prove its claim. The message is the reason."""


def require(condition: object, reason: str) -> None:
    """Raise Rejected with a reason unless a condition holds."""
    if not condition:
        raise Rejected(reason)


WORK = 10**7, 15
"""Limit on the elementary steps of a check, about a microsecond each: a constant, and a number of steps for each value
of the certificate times each pair of positions of each length. Compiled networks take at most 3 of these steps."""
MINUTE = 6 * 10**7
"""Limit on the steps of certificates of programs and of every length, whatever their size: about a minute."""
ROOM = 1 << 21
"""Most values in memory at once, of at most 2048 bits or a few hundred bytes each."""


class Costs:
    """The cost of a check so far: steps (`work`, more for large numbers), and values in memory (`kept`).

    A hostile certificate must not occupy the checker for long. So each operation is charged, if possible before it is
    done.
    """

    def __init__(self, size: int, coefficients: Iterable[Rational], most: int | None = None) -> None:
        self.allowance, self.work, self.kept, self.cached = WORK[0] + WORK[1] * size, 0, 0, 0
        self.allowance = self.allowance if most is None else min(self.allowance, most)
        # A step on numbers of this size counts as so many steps.
        self.unit = self.least = max(1, words(coefficients))

    def spend(self, steps: int) -> None:
        """Charge steps on numbers of the usual size of this certificate. Raises Rejected if the check takes more than
        its allowance."""
        self.charge(steps * self.unit)

    def charge(self, steps: int) -> None:
        """Charge steps; raise Rejected if the check takes more than its allowance."""
        self.work += steps
        if self.work > self.allowance:
            raise Rejected(f"too large: it takes more than {self.allowance} steps")

    def keep(self, values: int) -> None:
        """Count values that stay in memory; raise Rejected if there are more than ROOM."""
        self.kept += values
        require(self.kept <= ROOM, f"too large: it needs more than {ROOM} values at once")

    def release(self) -> bool:
        """Count the kept values as cached from now on. Return True if more than ROOM values are cached: the caller
        should empty the caches then, which count as empty from now on."""
        self.cached, self.kept = self.cached + self.kept, 0
        full = self.cached > ROOM
        self.cached *= not full
        return full


def effort(size: int) -> int:
    """Return the number of steps that an operation on rationals takes, of `size` bits in all. The time of a greatest
    common divisor grows with the square of the size."""
    return 2 + ((size >> 6) ** 2 >> 5)


def words(numbers: Iterable[Rational]) -> int:
    """Return the size of the largest of some numbers in whole words of 64 bits, rounded down."""
    return max(map(bits, numbers), default=0) >> 6


def bits(x: Rational) -> int:
    """Return the size of a number in bits: that of its numerator or of its denominator, the larger one."""
    return max(x.numerator.bit_length(), x.denominator.bit_length())


def exp(x: Fraction) -> tuple[Decimal, Decimal]:
    """Return a lower and an upper bound of e^x. Bounds for short x are cached."""
    return (_exp if x.denominator < _LONG and -_LONG < x.numerator < _LONG else _exp.__wrapped__)(x)


@lru_cache(maxsize=1 << 18)
def _exp(x: Fraction) -> tuple[Decimal, Decimal]:
    return exp_between(x, (DOWN, UP), 16)


def exp_between(x: Fraction, contexts: tuple[Context, Context], terms: int) -> tuple[Decimal, Decimal]:
    """Return a lower and an upper bound of e^x, computed in two contexts that round down and up.

    Let r = |x| / 2^k < 1/32. The series of e^r up to r^m/m! (m is `terms`) is a lower bound of e^r. What is left out is
    less than the last term, which is added for the upper bound. Squaring k times gives e^|x|; for x < 0 the bounds are
    inverted and change places. Raises Rejected if |x| is too large."""
    require(not too_large((x,), 1), "too large: a logit beyond 2^59")
    # The difference of bit lengths bounds log2 |x| within 1; with 6 more, |x| / 2^k is below 1/32.
    k = max(0, x.numerator.bit_length() - x.denominator.bit_length() + 6)
    low, high = (_series(abs(x) / 2**k, k, context, terms) for context in contexts)
    return (contexts[0].divide(ONE, high), contexts[1].divide(ONE, low)) if x < 0 else (low, high)


def _series(x: Fraction, squarings: int, context: Context, terms: int) -> Decimal:
    r, term, total = context.divide(Decimal(x.numerator), Decimal(x.denominator)), ONE, ONE
    for number in range(1, terms + 1):
        term = context.divide(context.multiply(term, r), Decimal(number))
        total = context.add(total, term)
    # r < 1/32, so the terms fall by more than half each: all that follow add up to less than the last one.
    total = context.add(total, term) if context.rounding == ROUND_CEILING else total
    for _ in range(squarings):
        total = context.multiply(total, total)
    return total


def too_large(logits: Iterable[Fraction], stretch: Rational) -> bool:
    """Return True if, for one of the logits x, e^(s x) with s = `stretch` needs more than SQUARINGS squarings after its
    series."""
    some = logits if stretch == 1 else (x * stretch for x in logits)
    return any(x.numerator.bit_length() - x.denominator.bit_length() + 6 > SQUARINGS for x in some)


def exp_up_to(x: Fraction, stretch: Rational) -> tuple[Decimal, Decimal]:
    """Return a lower and an upper bound of e^(s x) that hold for every s from 1 to `stretch`."""
    if stretch == 1:
        return exp(x)
    return exp(min(x, x * stretch))[0], exp(max(x, x * stretch))[1]


def share(part: Decimal, whole: Decimal) -> int:
    """Return `part / whole` in units of 1/GRID, rounded up."""
    return int(UP.multiply(UP.divide(part, whole), Decimal(GRID)).to_integral_value(ROUND_CEILING))


def distance(logits: list[int], scale: int, values: list[int], goal: int, stretch: Rational) -> int:
    """Return an upper bound of |attended value - goal| in units of 1/GRID, for one row of attention.

    Values above and below the goal pull the attended value in opposite directions, so the larger of the two sums bounds
    its distance. Logits are in units of 1/scale. A logit of more than FAR nats below the largest counts with weight 0
    in the sum of weights, and with weight e^-FAR in the errors. All logits may be larger by one factor from 1 to
    `stretch`.
    """
    whole, apart, top = ZERO, [ZERO, ZERO], max(logits)
    for logit, value in zip(logits, values, strict=True):
        low, high = exp_up_to(max(Fraction(logit - top, scale), Fraction(-FAR)), stretch)
        whole = DOWN.add(whole, low if top - logit < FAR * scale else ZERO)
        # A truth as an index: 0 for values at most the goal, 1 for values above it.
        apart[value > goal] = UP.add(apart[value > goal], UP.multiply(high, Decimal(abs(value - goal))))
    return share(max(apart), whole)


def above(logits: list[int], scale: int, values: list[int], goal: int, stretch: Rational) -> int:
    """Return an upper bound of (attended value - goal) in units of 1/GRID, which may be negative; arguments as for
    `distance`."""
    least = most = gain = loss = ZERO
    top = max(logits)
    for logit, value in zip(logits, values, strict=True):
        low, high = exp_up_to(max(Fraction(logit - top, scale), Fraction(-FAR)), stretch)
        low = low if top - logit < FAR * scale else ZERO
        least, most = DOWN.add(least, low), UP.add(most, high)
        gain = UP.add(gain, UP.multiply(high, Decimal(max(value - goal, 0))))
        loss = DOWN.add(loss, DOWN.multiply(low, Decimal(max(goal - value, 0))))
    total = UP.subtract(gain, loss)
    # A positive sum is largest over the least total weight, a negative one over the largest.
    return share(total, least if total > 0 else most)


def worst(weights: list[Any], goal: int, colder: bool = False) -> int | None:
    """Return the largest possible share of the weight on wrong values, in units of 1/GRID, over all words whose winner
    carries `goal`. The winner is the last selected position. Return None if no word has such a winner.

    `weights` lists the local types of each position: selected or not, value, bounds of the weight. Each position takes
    a type with a wrong value if it has one, else the type of least weight: either choice can only increase the share.

    With `colder` the weights belong to a hotter temperature than the network's. Then no right weight counts but the
    winner's. If the share is less than 1/2, no wrong weight is as large as the winner's. So all wrong weights fall
    relative to the winner's as the temperature falls, and the share is an upper bound at the network's temperature too.
    Raises Rejected if `colder` is set and the share is not less than 1/2."""
    sums, last, found = list[list[Decimal]](), len(weights) - 1, list[int]()
    for way in (1, -1):  # before the winner there may be any type, after it none that is selected
        pools = [[kind for kind in types if way > 0 or not kind[0]] for types in weights[::way]]
        bad = [max((high for _, what, _, high in pool if what != goal), default=ZERO) for pool in pools]
        # A position without any type of this kind counts with the weight 0, which is sound on both sides.
        least = [min((low for *_, low, _ in pool), default=ZERO) for pool in pools]
        good = [ZERO if b or colder else low for b, low in zip(bad, least, strict=True)]
        sums += [[*accumulate(bad, UP.add, initial=ZERO)], [*accumulate(good, DOWN.add, initial=ZERO)]]
    # A winner cannot stand before a position that is selected whatever its type.
    for at in range(max((k for k, types in enumerate(weights) if all(kind[0] for kind in types)), default=0), last + 1):
        if wins := [low for selected, what, low, _ in weights[at] if selected and what == goal]:
            wrong, right = UP.add(sums[0][at], sums[2][last - at]), DOWN.add(sums[1][at], sums[3][last - at])
            found.append(share(wrong, DOWN.add(wrong, DOWN.add(right, min(wins)))))
    require(not colder or max(found, default=0) < GRID // 2, "too large: a logit beyond 2^59")
    return max(found, default=None)


def sparse_worst(logits: list[Any], goal: int, _: bool = False) -> int | None:
    """Return a bound of the weight on wrong values under sparsemax, over all words whose winner carries `goal`: 0 or 1,
    in units of 1/GRID. The winner is the last selected position. Return None if no word has such a winner.

    Sparsemax gives no weight to a logit that is 1 or more below another one: weights are max(x - t, 0) and add up to 1,
    so t is at least the largest logit less 1. `logits` lists the local types of each position: selected or not, value,
    logit."""
    least, found = float("-inf"), None  # below all logits, and only compared with them
    # The largest wrong logit: before the winner of any type, after it of types that are not selected.
    any_type = [max((x for _, what, x in types if what != goal), default=least) for types in logits]
    loose = [max((x for chosen, what, x in types if what != goal and not chosen), default=least) for types in logits]
    before, behind = [least, *accumulate(any_type, max)], least
    for at in range(len(logits) - 1, -1, -1):
        wins = [x for selected, what, x in logits[at] if selected and what == goal]
        if wins and min(wins) - max(before[at], behind) < 1:
            return GRID
        found = 0 if wins else found
        if all(selected for selected, *_ in logits[at]):
            break  # no winner stands before a position that is selected whatever its type
        behind = max(behind, loose[at])
    return found


def sparse_distance(logits: list[int], scale: int, values: list[int], goal: int, _: Rational = 1) -> int:
    """Return an upper bound of |attended value - goal| under sparsemax, in units of 1/GRID, for one row of attention
    with logits in units of 1/scale: 0 if every value that has weight is the goal."""
    return GRID * max(abs(value - goal) for x, value in zip(logits, values, strict=True) if max(logits) - x < scale)


def worst_of_all(weights: list[Any], goal: int) -> int | None:
    """Return one upper bound of `worst` for all prefixes of the positions, in units of 1/GRID: for rows that see the
    first one, two, ... or all positions, also where none is selected and the last one wins. Return None if no winner
    carries `goal`.

    Wherever the winner is, wrong weights on both sides of it count, and right weights do not.
    """
    # `last` is False for positions before the winner, of any type; True for those behind it, none of which is
    # selected.
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
    """Return twice the k > 0 for which the logits `fixed + c slope` are -k (j - c)^2 at j = 1, 2, ... for every c, up
    to a summand that does not depend on j. Return 0 if there is no such k."""
    twice = slope[1] - slope[0] if len(slope) > 1 else 0
    fine = all(a - slope[0] == twice * j for j, a in enumerate(slope))
    fine = fine and all(2 * (a - fixed[0]) == twice * (1 - (j + 1) ** 2) for j, a in enumerate(fixed))
    return twice if fine and twice > 0 else 0


def most(found: Iterable[int | None]) -> int | None:
    """Return the largest of the bounds that are not None, or None if there is none."""
    return max((bound for bound in found if bound is not None), default=None)


def combine(*parts: tuple[Any, Combination]) -> Combination:
    """Return the sum of multiples of linear combinations, without zero coefficients. Raises Rejected if a coefficient
    has more than BITS bits."""
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
    """Return the same number, as an int if it is an integer, since ints are faster. Functions of the position
    (`ratios`) are returned unchanged."""
    return x.numerator if isinstance(x, Fraction) and x.denominator == 1 else x


def common(numbers: Iterable[Rational]) -> int:
    """Return the least common denominator of some numbers; raise Rejected if it has more than BITS bits."""
    found = 1
    for number in numbers:
        found = lcm(found, number.denominator)
        require(found < _HUGE, f"too large: a common denominator of more than {BITS} bits")
    return found


def exact(data: Any) -> Any:
    """Convert rationals written as "p" or "p/q", also inside arrays and objects, to numbers; integers become ints."""
    if isinstance(data, dict | list):
        return {key: exact(part) for key, part in data.items()} if isinstance(data, dict) else [*map(exact, data)]
    return whole(Fraction(data))
