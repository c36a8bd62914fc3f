"""Heads that count, over all words of every length: look-ups and tests of a sign.

Look-up. The logits are `-k (j - c)^2` up to what does not depend on j, checked as an identity of rational functions,
and k >= g at every query. With x = e^-g and m^2 >= 3m - 2 for m >= 1, x^(m^2) <= x^(3m - 2), so that
 - the attended number is off by at most the sum of m x^(m^2) <= x/(1 - x^3)^2 (half of Lemma 7: positions on the two
   sides of c pull in opposite directions; for c = 0 the weights x^(m^2 + 2m) at m = 1, 2, ... are smaller still);
 - a Boolean is off by at most 2t/(1 + 2t), t = x + x^4 + x^9 + ... <= x/(1 - x^3).

Sign. The query is y = (integer + offset)/m at m positions, so |y| >= distance/m, and even and odd positions have keys
of opposite signs. With keys of one size at all positions the wrong ones lose g = 2 |y| key nats, and of m >= 2
neighbours they are at most twice as many as the right ones: 2x/(1 + 2x). With keys (-1)^j j^2 and query i the best
right position has a logit of at least s (i - 1)^2 and each of the at most (i + 1)/2 wrong ones at most -s, where s >=
g/i: a ratio of at most (i + 1)/2 e^(-g ((i - 1)^2 + 1)/i), which falls with i from i + 1 >= 2/g on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from hardsim.proof.classes import QUERY, Classes
from hardsim.proof.counts import common, counted_of, fixed_values, separate
from hardsim.proof.outward import above, ball, working_precision
from hardsim.proof.ratios import Ratio, Value, line, lower, positive, simplest
from hardsim.proof.result import NotProved
from hardsim.proof.series import HeadArgument, Step
from hardsim.proof.state import Attended, BooleanHead, CountHead, State
from hardsim.run.plan import HeadPlan, Terms
from hardsim.spec.ir import Affine, Head, Kind, Mask, Rational

MOST_QUERIES = 100_000
"""Queries that a test with growing keys tries one by one before its bound falls."""

ALONE = {Mask.FUTURE: lambda one: one.first, Mask.PAST: lambda one: one.last,
         Mask.NONE: lambda one: one.first and one.last}  # fmt: skip
"""The classes from which one position is visible."""
SEVERAL = {Mask.FUTURE: "1 < i <= n", Mask.PAST: "1 <= i < n", Mask.NONE: "1 <= i <= n, 1 < n"}
"""The others."""

Answer = tuple[Attended, HeadArgument]


def _same(values: Sequence[Any], what: str, name: str) -> Any:
    """What must be the same rational function in every class."""
    if len(set(values)) != 1:
        raise NotProved(f"{what} of head {name} is not one rational function of position and length", name)
    return values[0]


def _keep(steps: dict[Value, Step], value: Value, step: Step) -> None:
    """Keep the least rate of those that are about the same value."""
    if value not in steps or step.rate < steps[value].rate:
        steps[value] = step


# ---- look-ups ----


@dataclass(frozen=True)
class _Row:
    """One product of a score: query `mean * count/size + fixed` (by class), key `first j + second j^2 + ...`."""

    mean: Rational
    fixed: list[Any]
    first: Any
    second: Any


def look_up(state: State, plan: HeadPlan, head: Head, layer: int, soft: list[int], hard: list[int]) -> Answer:
    """A head that reads the position whose number is a count, with its argument.

    Raises:
        NotProved: if the scores are not those of a look-up for every length.
    """
    name = head.name
    if soft != hard:
        raise NotProved(f"head {name} reads another value than its specification says", name)
    counted = counted_of(state, head)
    if head.mask is Mask.PAST or (head.mask is Mask.FUTURE and state.means[counted].mask is not Mask.FUTURE):
        raise NotProved(f"head {name} may look for a position that it does not see", name)
    size = _same(state.means[counted].sizes, "the number of positions counted", name)
    scores = [(state.soft_terms(query), state.soft_terms(key)) for query, key in head.score]
    factors = _factors(state, plan.scores, counted, size, True, name)
    _factors(state, scores, counted, size, False, name)
    assert isinstance(state.sites, Classes)
    rates: list[Fraction] = []
    steps: dict[Value, Step] = {}
    for factor, inverse, one in zip(factors, state.inverse, state.sites.classes, strict=True):
        if ALONE[head.mask](one):
            continue
        rate = lower(factor * inverse, one.domain)
        if rate is None or rate <= 0:
            raise NotProved(f"head {name}: comparing coefficients gives no positive rate for every length", name)
        rates.append(rate)
        k = (factor * inverse).simplest
        _keep(steps, k, Step(SEVERAL[head.mask], f"l(c) - l(j) = k (j - c)^2 with k = {k}", rate, "(j - c)^2"))
    shape = f"the position whose number is the count, mask '{head.mask}'"
    if head.kind is Kind.TABLE:
        return _table(state, head, layer, hard, (shape, tuple(steps.values()), min(rates)))
    return _number(state, head, layer, hard, (shape, tuple(steps.values()), min(rates)), size)


def _factors(
    state: State, scores: Sequence[tuple[Terms, Terms]], counted: int, size: Any, soft: bool, name: str
) -> list[Ratio]:
    """k by class, before the temperature, where the scores are `-k (j - c)^2` up to what does not depend on j."""
    rows = [_row(state, query, key, counted, soft, name) for query, key in scores]
    result = []
    assert isinstance(state.sites, Classes)
    for site, one in enumerate(state.sites.classes):
        linear = square = stray = twisted = Ratio.of(0)
        for row in rows:
            linear, twisted = linear + row.mean * row.first, twisted + row.mean * row.second
            square, stray = square + row.fixed[site] * row.second, stray + row.fixed[site] * row.first
        misfit = linear + 2 * square * size
        if any(part.simplest != 0 for part in (misfit, stray, twisted)) or not positive(-square, one.domain):
            raise NotProved(f"the scores of head {name} are not those of a look-up of a count", name)
        result.append(-square)
    return result


def _row(state: State, query: Terms, key: Terms, counted: int, soft: bool, name: str) -> _Row:
    """A product of a score; the key as a polynomial of degree 2 in the position."""

    def column(terms: Terms) -> list[Any]:
        if soft:
            return fixed_values(state, state.soft(terms, 0, f"head {name}"), name)
        form = Affine.of((state.model.coordinates[k], c) for k, c in terms)
        return fixed_values(state, state.hard(form, f"head {name}"), name)

    means, rest = separate(state, query, {counted}, name)
    value = Ratio.of(_same(column(key), "a key", name))
    one, two, three = (value.at({"i": place}) for place in (1, 2, 3))
    second = (three - 2 * two + one) * Fraction(1, 2)
    first = two - one - 3 * second
    if (one - first - second + first * QUERY + second * QUERY * QUERY - value).simplest != 0:
        raise NotProved(f"the keys of head {name} are no polynomials of degree 2 in the position", name)
    return _Row(means.get(counted, 0), column(rest), first.simplest, second.simplest)


Found = tuple[str, tuple[Step, ...], Fraction]


def _number(state: State, head: Head, layer: int, hard: list[int], found: Found, size: Any) -> Answer:
    """The position's number, or a linear function of it."""
    value = line(_same(fixed_values(state, hard, head.name), "the value", head.name))
    if value is None or value.of_n:
        raise NotProved(f"head {head.name} looks up values that are no linear function of the position", head.name)
    shape, steps, rate = found
    with working_precision():
        x = ball(-rate).exp()
        slope = ball(abs(value.of_i))
        error = above(slope * x / (1 - x**3) ** 2)
        g = ball(rate)
        lemma = above(slope * 2 * x * (1 + 1 / (2 * g))) if 2 * rate >= 1 else None
    argument = HeadArgument(shape, steps, rate, "x/(1 - x^3)^2", error, LEMMA_7 if lemma else "", lemma)
    size = [size] * len(state.sites)
    errors = np.full(len(state.sites), error)
    return CountHead(head.name, layer, simplest(value.constant), simplest(value.of_i), size, errors), argument


def _table(state: State, head: Head, layer: int, hard: list[int], found: Found) -> Answer:
    """A Boolean at the position that is looked up."""
    if not {value for number in set(hard) for value in state.diagrams.values(number)} <= {0, 1}:
        raise NotProved(f"head {head.name} looks up values other than 0 and 1", head.name)
    shape, steps, rate = found
    with working_precision():
        x = ball(-rate).exp()
        t = x / (1 - x**3)
        error = above(2 * t / (1 + 2 * t))
    bits = [state.diagrams.variable(("head", head.name))] * len(state.sites)
    errors = np.full(len(state.sites), error)
    argument = HeadArgument(shape, steps, rate, "2t/(1 + 2t), t = x/(1 - x^3)", error)
    return BooleanHead(head.name, layer, bits, (0, 1), (errors, errors)), argument


# ---- the sign ----


def sign_test(state: State, plan: HeadPlan, head: Head, layer: int, soft: list[int], hard: list[int]) -> Answer:
    """A head that tells whether a number is positive, by the parity of positions, with its argument.

    Raises:
        NotProved: if the query or the keys are not those of the specification, up to positive factors.
    """
    name = head.name
    assert isinstance(state.sites, Classes)
    if len(plan.scores) != 1 or len(head.score) != 1:
        raise NotProved(f"head {name} has not one product as its score", name)
    own, specified = fixed_values(state, soft, name), fixed_values(state, hard, name)
    pairs = set(zip(specified, own, strict=True))
    values = dict(pairs)
    if values.keys() != {0, 1} or len(pairs) != 2:
        raise NotProved(f"head {name} does not read 0 and 1", name)
    if any(bit != one.even_i for bit, one in zip(specified, state.sites.classes, strict=True)):
        raise NotProved(f"head {name} does not read whether a position is even", name)
    key = _sizes_of_keys(state, plan.scores[0][1], name, True)
    _sizes_of_keys(state, state.soft_terms(head.score[0][1]), name, False)
    distance, size, factor = _query(state, plan, head)
    steps: dict[Value, Step] = {}
    growing = "i" in key.names
    if growing and head.mask is not Mask.FUTURE:
        raise NotProved(f"the keys of head {name} grow with the position", name)
    scale = (
        (key * (QUERY * QUERY).inverse() if growing else key)
        * size.inverse()
        * (distance * factor * (1 if growing else 2))
    )
    unit = "1/i" if growing else "1"
    for inverse, one in zip(state.inverse, state.sites.classes, strict=True):
        if ALONE[head.mask](one):
            continue
        loss = scale * inverse * (QUERY if growing else 1)
        rate = lower(loss, one.domain)
        if rate is None or rate <= 0:
            raise NotProved(f"head {name}: comparing coefficients gives no positive rate for every length", name)
        least_loss = (scale * inverse).simplest
        text = f"{'s' if growing else 'l(right) - l(wrong)'} >= {least_loss}"
        _keep(steps, least_loss, Step(SEVERAL[head.mask], text, rate, unit))
    least = min(step.rate for step in steps.values())
    error, bound = (_ramp(least, name), RAMP_BOUND) if growing else (_share(least), "2x/(1 + 2x)")
    shape = f"the even positions if a number is positive, else the odd ones, mask '{head.mask}'"
    argument = HeadArgument(shape, tuple(steps.values()), least, bound, error)
    variable = state.diagrams.variable(("head", name))
    alone = [ALONE[head.mask](one) for one in state.sites.classes]
    bits = [state.diagrams.terminal(int(one.even_i)) if lone else variable
            for lone, one in zip(alone, state.sites.classes, strict=True)]  # fmt: skip
    wrong = np.where(alone, 0.0, error)
    return BooleanHead(name, layer, bits, (values[0], values[1]), (wrong, wrong)), argument


LEMMA_7 = "2x (1 + 1/(2g))"
RAMP_BOUND = "r/(1 + r), r = max of (i + 1)/2 e^(-g ((i - 1)^2 + 1)/i) over i >= 2"


def _sizes_of_keys(state: State, terms: Terms, name: str, soft: bool) -> Ratio:
    """The size of a key that is positive at even positions and negative at odd ones: a function of n, or that times
    i^2."""
    form = Affine.of((state.model.coordinates[k], c) for k, c in terms)
    column = state.soft(terms, 0, f"head {name}") if soft else state.hard(form, f"head {name}")
    assert isinstance(state.sites, Classes)
    sizes = []
    for value, one in zip(fixed_values(state, column, name), state.sites.classes, strict=True):
        size = Ratio.of(value) if one.even_i else -Ratio.of(value)
        if not positive(size, one.domain):
            raise NotProved(f"the keys of head {name} are not positive where it reads 1 and negative elsewhere", name)
        sizes.append(size)
    found: Ratio = _same(sizes, "the key", name)
    if "i" in found.names and "i" in (found * (QUERY * QUERY).inverse()).names:
        raise NotProved(f"the keys of head {name} are neither of one size nor that times i^2", name)
    return found


def _query(state: State, plan: HeadPlan, head: Head) -> tuple[Fraction, Ratio, Fraction]:
    """How far the specified number is from 0 at least, over how many positions, and the network's query over it."""
    name = head.name
    varying = {coordinate for coordinate in state.means if coordinate not in state.exact}
    own, fixed = separate(state, plan.scores[0][0], varying, name)
    wanted, rest = separate(state, state.soft_terms(head.score[0][0]), varying, name)
    query = fixed_values(state, state.soft(fixed, 0, f"head {name}"), name)
    form = Affine.of((state.model.coordinates[k], c) for k, c in rest)
    offsets = fixed_values(state, state.hard(form, f"head {name}"), name)
    pairs = [(own.get(k, 0), wanted.get(k, 0)) for k in own.keys() | wanted.keys()]
    pairs += zip(query, offsets, strict=True)
    first = next(((a, b) for a, b in pairs if b != 0), (0, 1))
    quotient = (Ratio.of(first[0]) * Ratio.of(first[1]).inverse()).simplest
    factor = Fraction(0) if isinstance(quotient, Ratio) else Fraction(quotient)
    if factor <= 0 or any((Ratio.of(a) - Ratio.of(b) * factor).simplest != 0 for a, b in pairs):
        raise NotProved(f"the query of head {name} is not a positive multiple of the specified one", name)
    sizes = [value for k in wanted for value in state.means[k].sizes] or state.sites.sizes(head.mask)
    size: Ratio = _same(sizes, "the number of positions", name)
    distance = min(_distance((offset * size).simplest, wanted.values(), name) for offset in map(Ratio.of, offsets))
    return distance, size, factor


def _distance(constant: Value, steps: Iterable[Rational], name: str) -> Fraction:
    """How far integer multiples of steps, plus a line in i and n, are from 0 at least."""
    total = line(constant)
    if total is None:
        raise NotProved(f"the number whose sign head {name} tests is not an integer plus a constant", name)
    step = common([*(Fraction(c) for c in steps), total.of_i, total.of_n])
    distance = min(total.constant % step, -total.constant % step) if step else abs(total.constant)
    if not distance:
        raise NotProved(f"the number whose sign head {name} tests can be 0", name)
    return distance


def _share(rate: Fraction) -> float:
    with working_precision():
        x = ball(-rate).exp()
        return above(2 * x / (1 + 2 * x))


def _ramp(rate: Fraction, name: str) -> float:
    """The largest share over all queries from 2 on: the bound falls from i + 1 >= 2/rate on, since 1 - 2/i^2 >= 1/2."""
    last = max(2, int(2 / rate) + 1)
    if last > MOST_QUERIES:
        raise NotProved(f"head {name} is not sharp enough for a bound over all lengths", name)
    with working_precision():
        ratio = ball(Fraction(0))
        for i in range(2, last + 1):
            ratio = ratio.max(ball(Fraction(i + 1, 2)) * ball(-rate * Fraction((i - 1) ** 2 + 1, i)).exp())
        return above(ratio / (1 + ratio))
