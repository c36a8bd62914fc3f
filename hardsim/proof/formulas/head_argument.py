"""Proof for one attention head at every site: its exact value, or a bound of the distance from the specified value.

Everything is read from the network's W_Q, W_K, W_V, mask and temperature; the specification gives only the value
that the head should read. For heads that look for the nearest position see `nearest`. For heads that count,
everything depends on the query i and the count alone.

Look-up. A count c is known as c/m, m the number of positions counted. The logits must be `-k (j - c)^2` up to terms
that do not depend on j, k > 0 nats. That is checked exactly, since the rows of W_K x_j are fitted by polynomials of
degree 2 in j at all positions. With weights w_d = e^(-k d^2) and V visible positions, the position that should be
read is max(c, 1), and the value there differs from the attended value by at most
 - for the number j itself: `sum d w_d / (1 + sum w_d)` over 1 <= d < V. Numbers on the two sides of c pull in
   opposite directions, and of a right part d <= V - c and a left part d <= c - 1 the numerator is largest and the
   denominator least where one part is empty (the sums of w are concave in the number of their terms). For c = 0 the
   logits are -k (j^2 - 1) relative to the winner 1: `sum d w_d e^(-2kd)`, which is taken with denominator 1;
 - for a Boolean: the weight of the positions where it differs from that at the winner, found for every c, for all
   sites of a length at once.

Sign. The query is y = (integer + offset)/m, the keys are positive at the positions with value 1 and negative at
those with value 0. The weight of the wrong positions falls as |y| grows, so the two values of y next to 0 decide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial
from math import isqrt
from typing import Any

import numpy as np
from flint import arb

from hardsim.lang.reals import RealNumber, lower
from hardsim.lang.valuations import Valuations
from hardsim.lazy_dataclass import dataclass
from hardsim.network.numbers import Mask, Rational, plain
from hardsim.network.transformer import AttentionHead, Terms
from hardsim.program.hard_attention import Affine, Head, Kind, Program, Weighting
from hardsim.proof.formulas.arrays import (
    NOTHING,
    Array,
    ExactNumbers,
    above,
    ball,
    exp_lower,
    exp_upper,
    next_to,
    working_precision,
)
from hardsim.proof.formulas.facts import HOLDS, SYMBOL, Column
from hardsim.proof.formulas.nearest import Example, Extremes, LocalType, NearestReading, head_worst_case
from hardsim.proof.formulas.sites import Sites
from hardsim.proof.formulas.state import Attended, BooleanHead, CountHead, ExactColumn, HeadTask, Margins, Mean, State
from hardsim.proof.shared.ratios import Ratio, common, simplest
from hardsim.proof.shared.result import HeadArgument, NotProved

NEGLIGIBLE = 100
"""Difference of logits, in nats, beyond which positions are counted together, with a bound of e^-100 each."""

SIDES = {
    (Weighting.RIGHTMOST, Mask.FUTURE): True,
    (Weighting.RIGHTMOST, Mask.NONE): True,
    (Weighting.LEFTMOST, Mask.PAST): False,
    (Weighting.LEFTMOST, Mask.NONE): False,
}
"""Weightings and masks of heads for the nearest selected position: True for the rightmost one, False for the
leftmost. No other pair is supported."""

Types = tuple[tuple[LocalType, ...], ...]

Errors = tuple[Array | float, HeadArgument | None]
"""Bounds of the distance from the specified value, by site (for Booleans also by value), and the argument for them
in a proof of every length."""

LookUpBound = Callable[[HeadTask, list[Any], object, list[Any], Rational | None], Errors]
"""Function that bounds the errors of a look-up. Arguments: the head, the rates k by site and their cache key (both
from `sharpness`), the number of positions counted by site, and the slope of the numbers that are read (None for
Booleans)."""

Apart = Callable[[HeadTask, list[Any], Rational], Callable[[int, int], float]]
"""Function that returns `CountHead.apart`, the bound of the difference of two look-ups' errors. Arguments: the head,
its rates k by site, and the slope of the numbers read."""

SignBound = Callable[[HeadTask, list[Any]], Errors]
"""Function that bounds the errors of a sign test, from the head and its specified values by site."""


@dataclass(frozen=True)
class Argument:
    """Bounds that a proof uses: one function for each kind of head, and one for clips that compare counts."""

    nearest: Callable[[HeadTask], BooleanHead]
    look_up: LookUpBound
    apart: Apart
    sign: SignBound
    margins: Margins

    def attended(self, task: HeadTask) -> Attended:
        """Return the value of a head that has scores. Raises NotProved if the scores are not those of the head's
        kind, or no bound is found."""
        if task.head.kind is Kind.NEAREST:
            return self.nearest(task)
        if task.head.kind in (Kind.LOOKUP, Kind.TABLE):
            return look_up(task, self.look_up, self.apart)
        return sign_test(task, self.sign)


def attend(state: State, plan: AttentionHead, head: Head, argument: Argument) -> None:
    """Add the coordinate that one head writes to the state. Raises NotProved if the head does not match its
    specification."""
    if (plan.name, plan.mask) != (head.name, head.mask):
        raise NotProved(
            f"the network's head {plan.name} has mask '{plan.mask}', the specified head {head.name} '{head.mask}'",
            head.name,
        )
    if len(plan.values) != 1:
        raise NotProved(f"head {head.name} writes {len(plan.values)} coordinates instead of one", head.name)
    out, value = plan.values[0]
    if state.model.coordinates[out] != head.out:
        raise NotProved(f"head {head.name} writes '{state.model.coordinates[out]}', not '{head.out}'", head.name)
    if state.written(out):
        raise NotProved(f"the coordinate '{head.out}' is written twice, the second time by a head", head.name)
    if head.uniform != (not plan.scores):
        raise NotProved(f"head {head.name} is uniform in only one of network and specification", head.name)
    what = f"head {head.name}"
    soft, hard = state.soft(value, 0, what), state.hard(state.terms(head.value), what)
    found = None
    if head.uniform:
        _uniform(state, head, out, soft, hard)
    else:
        found = argument.attended(HeadTask(state, plan, head, soft, hard))
        state.pending.append((state.attended, out, found))
    state.heads[head.name] = found


def _uniform(state: State, head: Head, out: int, soft: Column, hard: Column) -> None:
    """Add the mean of a uniform head over the visible positions to coordinate `out`, exactly. `soft` and `hard` are
    the column that it averages, in the network and in the specification."""
    static = state.facts.constant(soft) and state.facts.constant(hard)
    counts = soft == hard and state.facts.boolean(soft)
    if not static and not counts:
        what = "values other than 0 and 1" if soft == hard else "a value other than the specified one"
        raise NotProved(f"head {head.name} averages {what}", head.name)
    if static:
        means = [state.sites.means(state.facts.numbers(column), head.mask) for column in (soft, hard)]
        state.pending.append((state.exact, out, ExactColumn(*map(state.facts.encoded, means))))
    if counts:
        state.pending.append((state.means, out, Mean(head.mask, state.sites.sizes(head.mask))))


def split(state: State, form: Terms, what: str) -> tuple[list[Any], Terms, list[tuple[Rational, Column]]]:
    """Split a linear form of the network: return the values by site of the part that is the same for every word,
    that part as a form, and the other terms with their columns."""
    fixed: list[tuple[int, Rational]] = []
    varying: list[tuple[Rational, Column]] = []
    for coordinate, coefficient in form:
        column = state.soft(((coordinate, 1),), 0, what)
        if state.facts.constant(column):
            fixed.append((coordinate, coefficient))
        else:
            varying.append((coefficient, column))
    return state.facts.numbers(state.soft(tuple(fixed), 0, what)), tuple(fixed), varying


def separate(form: Terms, counted: Collection[int]) -> tuple[dict[int, Rational], Terms]:
    """Split a query form: return the coefficients of the coordinates in `counted`, by coordinate, and the other
    terms."""
    means = {coordinate: coefficient for coordinate, coefficient in form if coordinate in counted}
    return means, tuple((coordinate, coefficient) for coordinate, coefficient in form if coordinate not in counted)


# ---- the nearest position ----


def reading_of(task: HeadTask) -> tuple[NearestReading, list[Terms], tuple[Rational, Rational]]:
    """Return the reading of a head that looks for the nearest position where `select` holds, the fixed part of each
    row of W_K (the same for every word) as a form, and the network's values for 0 and 1. Raises NotProved if the
    head is not of that kind, or its query depends on the word."""
    state, head = task.state, task.head
    if head.select is None or (head.weighting, head.mask) not in SIDES:
        raise NotProved(f"head {head.name} is not specified to look for the nearest position on one side", head.name)
    select = state.hard(state.terms(head.select), f"head {head.name}")

    def scaled(query: Terms) -> ExactNumbers[Any]:
        values, _, varying = split(state, query, f"the query of head {head.name}")
        if varying:
            raise NotProved(f"the query of head {head.name} depends on the word", head.name)
        return ExactNumbers(simplest(value * factor) for value, factor in zip(values, state.inverse, strict=True))

    queries = tuple(state.once("query", query, partial(scaled, query)) for query, _ in task.plan.scores)
    parts = [split(state, key, f"the key of head {head.name}") for _, key in task.plan.scores]
    columns = [state.facts.combine(varying, 0) for _, _, varying in parts]
    kinds, types, ends = local_types(state, head.name, columns, select, task.hard, task.soft)
    keys = tuple(ExactNumbers(values) for values, _, _ in parts)
    reading = NearestReading(head.mask, SIDES[head.weighting, head.mask], queries, keys, kinds, types)
    return reading, [fixed for _, fixed, _ in parts], ends


WorstCases = Callable[[Sites, NearestReading], tuple[Extremes, Extremes]]
"""Function that bounds the weight of wrong values of a head that looks for the nearest position, where the specified
value is 0 and where it is 1."""


def nearest(task: HeadTask, worst_case: WorstCases = head_worst_case) -> BooleanHead:
    """Return the Boolean read by a head that looks for the nearest position where `select` holds, with its worst
    cases."""
    state = task.state
    found, forms, values = reading_of(task)
    # Heads that have the same key share the column, and its numbers as an array.
    keys = tuple(state.once("key", form, partial(_without_level, state, key))
                 for form, key in zip(forms, found.keys, strict=True))  # fmt: skip
    reading = replace(found, keys=keys, types=_without_least(found.types))
    # The example of a type does not change the bounds, so it is no part of the cache key.
    kinds = tuple(tuple(sorted((kind.key, kind.selected, kind.value) for kind in some)) for some in reading.types)
    queries = tuple(query for query, _ in task.plan.scores)
    signature = replace(reading, queries=(), keys=(), types=()), kinds, queries, tuple(forms)
    extremes = state.once("nearest", signature, lambda: worst_case(state.sites, reading))
    return replace(task.boolean(values, np.array([one.wrong for one in extremes])), reading=reading, extremes=extremes)


def _without_level(state: State, column: ExactNumbers[Rational]) -> ExactNumbers[Rational]:
    """Return a key less its value at the first position of each length, where the key is mostly that constant.
    Softmax does not change, and floats keep the digits that tell positions apart."""
    result = list(column)
    for _, start, end in state.sites.words():
        first = column[start]
        others = [Fraction(column[site]) - first for site in (min(start + 1, end - 1), end - 1)]
        if first and all(2 * abs(other) < abs(Fraction(first)) for other in others):
            result[start:end] = [plain(value - first) for value in column[start:end]]
    return ExactNumbers(result)


def _without_least(types: Types) -> Types:
    """Return local types whose keys have lost their common part, row by row, so that floats keep the digits that
    differ."""
    rows: list[tuple[Rational, ...]] = list(zip(*(kind.key for some in types for kind in some), strict=True))
    # The number nearest to 0 that all keys of a row have in common, with its sign; 0 if signs differ.
    least = [max(min(row), 0) + min(max(row), 0) for row in rows]
    if not any(least):
        return types

    def without(kind: LocalType) -> LocalType:
        return replace(kind, key=tuple(plain(value - common) for value, common in zip(kind.key, least, strict=True)))

    return tuple(tuple(map(without, some)) for some in types)


def local_types(
    state: State, name: str, keys: list[Column], select: Column, hard: Column, soft: Column
) -> tuple[tuple[int, ...], Types, tuple[Rational, Rational]]:
    """Return the number of each site's set of local types, the different sets, and the network's values for 0 and
    1."""
    rows = list(zip(*keys, select, hard, soft, strict=True))
    numbers = {row: number for number, row in enumerate(dict.fromkeys(rows))}
    values: dict[int, Rational] = {}

    def type_of(joined: int, value: tuple[Any, ...]) -> LocalType:
        *key, selected, specified, own = value
        if selected not in (0, 1) or specified not in (0, 1):
            raise NotProved(f"head {name} selects or reads values other than 0 and 1", name)
        if values.setdefault(int(specified), own) != own:
            raise NotProved(f"head {name} reads several values where one is specified", name)
        example = describe(state, state.diagrams.example(joined, value))
        return LocalType(tuple(key), bool(selected), int(specified), example)

    joined = [state.diagrams.join(row) for row in numbers]
    types = tuple(tuple([type_of(number, value) for value in state.diagrams.values(number)]) for number in joined)
    return tuple([numbers[row] for row in rows]), types, (values.get(0, 0), values.get(1, 1))


def describe(state: State, path: dict[Any, int]) -> Example:
    """Return an assignment as pairs of name and value, for reports. Propositions are replaced by a symbol of the
    alphabet that fits them, if there is one."""
    alphabet, found, assigned = state.model.alphabet, list[tuple[str | None, str]](), dict[str, int]()
    for name, branch in path.items():
        if name[0] == HOLDS:
            assigned[name[1]] = branch
        else:
            found.append((None, alphabet[branch]) if name == SYMBOL else (str(name[-1]), str(branch)))
    if assigned and isinstance(alphabet, Valuations):
        symbol = alphabet.fitting(assigned)
        own = [(name, str(value)) for name, value in assigned.items()] if symbol is None else [(None, symbol)]
        found = [*own, *found]
    return tuple(found)


# ---- look-ups ----


def looked_up(program: Program, head: Head, sites: Sites, column: Callable[[Affine], list[Any]]) -> str:
    """Return the name of the mean (the output of a uniform head) that a look-up head looks up: the one that its
    score multiplies with multiples of j.

    Both links call this function, so they refer to the same count. `column` gives the values by site of a form
    of the specification. Raises NotProved if there is no such mean, or more than one.
    """
    means = {other.out for other in program.heads if other.uniform}
    rows = [(query.terms[0][0], key) for query, key in head.score if len(query.terms) == 1]
    names = dict.fromkeys(name for name, key in rows if name in means and sites.proportional(column(key)))
    # In a word of one position every key is a multiple of j, and that position is read whichever count is taken.
    if not names or (len(names) > 1 and any(n != 1 for n in sites.n)):
        raise NotProved(f"head {head.name} does not look up a count", head.name)
    return next(iter(names))


def sharpness(task: HeadTask) -> tuple[int, list[Any], object]:
    """Return the coordinate of the count that a look-up head looks up, the rate k in nats at every site (1 where
    one position is visible), and a cache key that is equal for look-ups with equal rates. Raises NotProved if the
    scores are not those of a look-up, in the network or in the specification."""
    state, head, name = task.state, task.head, task.head.name
    if task.soft != task.hard:
        raise NotProved(f"head {name} reads a value other than the specified one", name)
    read = looked_up(state.program, head, state.sites, lambda key: task.values(state.terms(key), False))
    counted = state.place(read)
    if counted not in state.means:
        raise NotProved(f"head {name} looks up '{read}', which is not known to be a count", name)
    # The position that is read may be 1, which a past mask hides from later queries.
    if head.mask is Mask.PAST:
        raise NotProved(f"head {name} looks up a number but does not see the first positions", name)
    for site, pair in enumerate(zip(state.means[counted].sizes, state.sites.sizes(head.mask), strict=True)):
        if not state.sites.at_most_zero(pair[0] - pair[1], site):
            raise NotProved(f"head {name} may look for a position that it does not see", name)
    scores = [(state.terms(query), state.terms(key)) for query, key in head.score]
    # Look-ups of other counts of the same kind share their rates: only the coordinate of the mean differs.
    blind = [tuple((tuple((-1 if k == counted else k, c) for k, c in query), key) for query, key in rows)
             for rows in (task.plan.scores, scores)]  # fmt: skip
    signature = (*blind, head.mask, state.means[counted].mask)

    def rates() -> list[Any]:
        factors = _factors(task, task.plan.scores, counted, True)
        _factors(task, scores, counted, False)
        pairs = zip(factors, state.inverse, strict=True)
        return [Fraction(1) if factor is None else factor * inverse for factor, inverse in pairs]

    return counted, state.once("rates", signature, rates), signature


def _factors(task: HeadTask, scores: Sequence[tuple[Terms, Terms]], counted: int, soft: bool) -> list[Any]:
    """Return k > 0 by site (None where one position is visible), before the temperature, if the scores are `-k (j -
    c)^2` up to terms that do not depend on j. Each row of a score has the query `mean * count/size + fixed` and the
    key `first j + second j^2`."""
    sites, sizes, name = task.state.sites, task.state.means[counted].sizes, task.head.name
    rows = []
    for query, key in scores:
        means, rest = separate(query, {counted})
        rows.append((means.get(counted, 0), task.values(rest, soft), sites.quadratic(task.values(key, soft), name)))
    result: list[Any] = []
    for site, alone in enumerate(sites.alone(task.head.mask)):
        here = [(mean, fixed[site], *keys[site]) for mean, fixed, keys in rows]
        linear, twisted = (sum(row[0] * row[k] for row in here if row[0]) for k in (2, 3))
        stray, square = (sum(row[1] * row[k] for row in here if row[1]) for k in (2, 3))
        if sites.n[site] == 2:
            # With two positions only the difference of the two scores matters: -k (3 - 2 c).
            square, stray = Fraction(stray) / 3, 0
        right = not any(simplest(part) for part in (linear + 2 * square * sizes[site], stray, twisted))
        if not alone and not (right and sites.positive(-square, site)):
            raise NotProved(f"the scores of head {name} are not those of a look-up of a count", name)
        result.append(None if alone else -square)
    return result


def look_up(task: HeadTask, bound: LookUpBound, apart: Apart) -> Attended:
    """Return the value of a head that reads the position whose number is a count. `bound` bounds its errors, and
    `apart` the difference of the errors of two such heads. Raises NotProved if its scores are not those of a look-up.
    """
    state, name = task.state, task.head.name
    counted, rates, signature = sharpness(task)
    sizes = state.means[counted].sizes
    if task.head.kind is Kind.TABLE:
        if not state.facts.boolean(task.hard):
            raise NotProved(f"head {name} looks up values other than 0 and 1", name)
        return task.boolean((0, 1), *bound(task, rates, signature, sizes, None))
    base, slope = state.sites.linear(task.fixed(task.hard), name)
    errors, argument = bound(task, rates, signature, sizes, slope)
    like, found = (signature, slope), apart(task, rates, slope)
    return CountHead(name, base, slope, sizes, np.broadcast_to(errors, len(sizes)), like, found, argument=argument)


def look_up_errors(
    task: HeadTask, rates: list[Any], signature: object, sizes: list[Any], slope: Rational | None
) -> Errors:
    """Return the errors of a look-up at every site; see `LookUpBound`."""
    state, visible = task.state, task.state.sites.sizes(task.head.mask)
    if slope is None:
        values = task.fixed(task.hard)
        return state.once("table", (signature, tuple(values)),
                          lambda: table_errors(state.sites, rates, values, visible, sizes)), None  # fmt: skip
    # The error is the mean distance d under weights e^(-k d^2), which falls as k grows: its derivative is minus the
    # covariance of d and d^2. So an irrational rate may be replaced by a rational one below it.
    # `nextafter` below rounds the product outwards.
    errors = np.array([number_error(lower(rate), seen) for rate, seen in zip(rates, visible, strict=True)])
    return np.nextafter(errors * above(abs(ball(slope))), np.inf), None


@lru_cache(maxsize=65536)
def number_error(rate: Fraction, visible: int) -> float:
    """Bound the distance of the attended number from the count, for logits `-rate (j - c)^2` nats at `visible`
    positions."""
    with working_precision():
        total, weights, shifted = arb(0), arb(0), arb(0)
        for d in range(1, visible):
            if rate * d * d > NEGLIGIBLE:
                # With d0 this d and rate >= 1, the rest is at most the sum of d e^-NEGLIGIBLE e^-(d - d0).
                factor = 2 * (d + 2) if rate >= 1 else visible * visible
                rest = factor * arb(-NEGLIGIBLE).exp()
                total, shifted = total + rest, shifted + rest
                break
            weight = ball(-rate * d * d).exp()
            total, weights = total + d * weight, weights + weight
            shifted += d * weight * ball(-2 * rate * d).exp()
        return above((total / (1 + weights)).max(shifted))


def numbers_apart(task: HeadTask, rates: list[Any], slope: Rational) -> Callable[[int, int], float]:
    """Return a function of a site and a distance d: a bound of the difference between the errors of two look-ups
    that should read positions d apart."""
    visible, size = task.state.sites.sizes(task.head.mask), above(abs(ball(slope)))
    return lambda site, d: float(np.nextafter(number_errors_apart(rates[site], visible[site], abs(d)) * size, np.inf))


@lru_cache(maxsize=65536)
def number_errors_apart(rate: RealNumber, visible: int, d: int) -> float:
    """Bound the difference between the errors of two look-ups whose winners are d positions apart, where the logits
    are `-rate (j - c)^2` nats at `visible` positions: the largest of |e(p + d) - e(p)| over all p,

        e(p) = (sum over 1 <= m <= visible - p of m w_m - sum over 1 <= m < p of m w_m) / (sum of all w), w_m =
        e^(-rate m^2).

    The first position wins for a count of 0, too, with weights e^(-rate (m^2 + 2m)). Positions more than `reach`
    away are negligible, so one winner in the middle stands for all of them.
    """
    reach = isqrt(int(NEGLIGIBLE / lower(rate))) + 1
    first, last = reach + 2, visible - d - reach
    places = range(1, visible + 1 - d) if last <= first else [*range(1, first + 1), *range(last, visible + 1 - d)]

    def errors(winner: int) -> tuple[arb, ...]:
        sides = min(winner - 1, reach + 1), min(visible - winner, reach + 1)
        found = _number_error(rate, visible, *sides, 0)
        return (found, _number_error(rate, visible, *sides, 1)) if winner == 1 else (found,)

    with working_precision():
        return max(
            (above(abs(other - one)) for p in places for one in errors(p) for other in errors(p + d)), default=0.0
        )


@lru_cache(maxsize=65536)
def _number_error(rate: RealNumber, visible: int, before: int, after: int, ahead: int) -> arb:
    """Return the error of a looked-up number (read minus winner), as a ball. `before` and `after` positions stand
    on the two sides of the winner, and the winner's number is `ahead` above the count."""
    top, bottom = arb(0), arb(1)
    for away in (*range(-before, 0), *range(1, after + 1)):
        nats = rate * (away * away + 2 * away * ahead)
        if lower(nats) > NEGLIGIBLE:
            # This position and all farther ones count together: distances and their number are below `visible`.
            most = visible * arb(-NEGLIGIBLE).exp()
            top, bottom = top + visible * arb(0).union(most if away > 0 else -most), bottom + arb(0).union(most)
        else:
            weight = ball(-nats).exp()
            top, bottom = top + away * weight, bottom + weight
    return top / bottom


NEAR = 60
"""Difference of logits, in nats, beyond which positions are counted together: e^-60 < 2^-80 each."""
CHUNK = 500_000
"""Largest number of entries in one array."""


def table_errors(
    sites: Sites, rates: Sequence[RealNumber], values: Sequence[Rational], visible: Sequence[int], sizes: Sequence[int]
) -> Array:
    """Return by value and site an upper bound of the share of the wrong values, where the value looked up is 0,
    and where it is 1; minus infinity where no count leads to that value. A site sees the first `visible`
    positions, and its counts go from 0 to `sizes`; `values` are 0 or 1 by site, `rates` are k in nats."""
    found = np.full((2, len(rates)), NOTHING)
    for n, start, end in sites.words():
        column = np.array([int(value) for value in values[start:end]])
        for first in range(start, end, max(1, CHUNK // n)):
            part = slice(first, min(end, first + max(1, CHUNK // n)))
            found[:, part] = _worst(rates[part], column, np.array(visible[part]), np.array(sizes[part]))
    return found


def _worst(rates: Sequence[RealNumber], column: Any, visible: Any, sizes: Any) -> Array:
    """Return the bounds of `table_errors` for some sites of one length, as arrays by value and site; `column` has
    the values. In the arrays inside, rows are sites and columns are counts."""
    near = min(int(visible.max()) - 1, isqrt(int(NEAR / min(map(lower, rates)))) + 1)
    squares = np.arange(1, near + 1, dtype=np.float64) ** 2
    # Two roundings happen (a rate to a float, and a product); four are allowed for.
    exponent = -np.array(list(map(next_to, rates)))[:, None] * squares
    error = -exponent * 2.0**-51
    high, low = exp_upper(exponent, error), exp_lower(exponent, error)
    own = column[: sizes.max()]
    count = len(own)
    wrong = np.repeat(visible[:, None] * 2.0**-80, count, axis=1)
    right = np.ones((len(rates), count))
    for d in range(1, near + 1):
        for shift in (d, -d):
            first, last = max(0, -shift), min(count, len(column) - shift)
            if first >= last:
                continue
            differs = column[first + shift : last + shift] != own[first:last]
            seen = np.arange(first, last) + shift < visible[:, None]
            wrong[:, first:last] += np.where(seen & differs, high[:, d - 1, None], 0)
            right[:, first:last] += np.where(seen & ~differs, low[:, d - 1, None], 0)
    share = 1 / (1 + right / wrong)
    # A count of 0 also looks up position 1, with weights that fall faster than those of a count of 1.
    lone = wrong[:, 0]
    share[:, 0] = np.maximum(share[:, 0], lone / (1 + lone))
    slack = 1 + (4 * near + 16) * 2.0**-52
    inside = np.arange(count) < sizes[:, None]
    worst = [np.max(np.where(inside & (own == value), share, NOTHING), axis=1) for value in (0, 1)]
    return np.array([found * slack for found in worst])


# ---- the sign ----


def sign_test(task: HeadTask, bound: SignBound) -> BooleanHead:
    """Return the Boolean of a head that tells whether a number is positive, using the parity of positions. Raises
    NotProved if the network's query or keys are not those of the specification, up to positive factors."""
    name = task.head.name
    if len(task.plan.scores) != 1 or len(task.head.score) != 1:
        raise NotProved(f"head {name} has a score that is not one product", name)
    own, specified = task.fixed(task.soft), task.fixed(task.hard)
    pairs = set(zip(specified, own, strict=True))
    values = dict(pairs)
    if not set(values) <= {0, 1} or len(pairs) != len(values):
        raise NotProved(f"head {name} reads values other than 0 and 1", name)
    return task.boolean((values.get(0, 0), values.get(1, 1)), *bound(task, specified))


def sign_errors(task: HeadTask, specified: list[Any], share: WrongShare | None = None) -> Errors:
    """Return the errors of a sign test at every site; see `SignBound`. `share` is `wrong_sign` by default."""
    share = share or wrong_sign
    state, head, name = task.state, task.head, task.head.name
    factor, expected, offsets = multiple(task)
    keys = task.values(task.plan.scores[0][1], True)
    keys_needed = task.values(state.terms(head.score[0][1]), False)
    for key, want, bit in zip(keys, keys_needed, specified, strict=True):
        if not key or not want or (key > 0) != (bit == 1) or (want > 0) != (bit == 1):
            raise NotProved(f"the keys of head {name} are not positive where it reads 1 and negative elsewhere", name)
    worst = np.full((2, len(keys)), NOTHING)
    for site, seen in _seen(state, head.mask, keys):
        signs = {key > 0 for key in seen}
        if len(signs) == 1:
            worst[int(signs.pop()), site] = 0.0
            continue
        step = common([Fraction(c) / state.means[k].sizes[site] for k, c in expected.items()])
        for bit, offset in ((0, Fraction(-offsets[site])), (1, Fraction(offsets[site]))):
            size = offset % step if step else offset
            if not size:
                raise NotProved(f"the number whose sign head {name} tests can be 0", name)
            if size < 0:
                continue
            # Wrong keys have smaller logits, so their share falls as the size grows: a lower bound of the size is safe.
            worst[bit, site] = share(seen, bit, lower(size * factor * state.inverse[site]))
    return worst, None


WrongShare = Callable[[Mapping[Rational, int], int, Fraction], float]
"""Function with the arguments and the result of `wrong_sign`."""


def multiple(task: HeadTask) -> tuple[Fraction, dict[int, Rational], list[Any]]:
    """Return the factor of the network's query over the specified query of a sign test, the means of the latter
    with their coefficients, and the rest of the latter by site. Raises NotProved if the factor is not a positive
    constant."""
    state, name = task.state, task.head.name
    varying = state.means.keys() - state.exact.keys()
    own, fixed = separate(task.plan.scores[0][0], varying)
    expected, rest = separate(state.terms(task.head.score[0][0]), varying)
    query, offsets = task.values(fixed, True), task.values(rest, False)
    pairs = [(own.get(k, 0), expected.get(k, 0)) for k in own.keys() | expected.keys()]
    pairs += dict.fromkeys(zip(query, offsets, strict=True))
    first, second = next((pair for pair in pairs if pair[1] != 0), (0, 1))
    factor = (Ratio.of(first) / second).simplest
    if isinstance(factor, Ratio) or factor <= 0 or any(simplest(a - b * factor) != 0 for a, b in pairs):
        raise NotProved(f"the query of head {name} is not a positive multiple of the specified one", name)
    return Fraction(factor), expected, offsets


def _seen(state: State, mask: Mask, keys: list[Rational]) -> Iterator[tuple[int, dict[Rational, int]]]:
    """Yield each site with the number of times that each key is visible from there. The dictionary is reused for
    the next site."""
    for _, start, end in state.sites.words():
        if mask is Mask.NONE:
            total = dict(Counter(keys[start:end]))
            yield from ((site, total) for site in range(start, end))
            continue
        seen: dict[Rational, int] = {}
        for site in range(start, end) if mask is Mask.FUTURE else range(end - 1, start - 1, -1):
            seen[keys[site]] = seen.get(keys[site], 0) + 1
            yield site, seen


def wrong_sign(seen: Mapping[Rational, int], bit: int, size: Fraction) -> float:
    """Return an upper bound of the share, in the total weight, of the positions with the other value than `bit`,
    where |y| in nats per unit of key is `size`; `seen` has the keys and how often each is visible."""
    with working_precision():
        sign = 1 if bit else -1
        best = max(sign * key for key in seen)
        wrong, right = arb(0), arb(0)
        for key, number in seen.items():
            loss = size * (best - sign * key)
            if sign * key < 0:
                wrong += number * ball(-min(loss, Fraction(NEGLIGIBLE))).exp()
            elif loss < NEGLIGIBLE:
                right += number * ball(-loss).exp()
        return above(wrong / (wrong + right))
