"""Look-ups of counts, over all words: everything depends on the query i and the count alone.

Look-up. A count c is known as c/m, m the number of positions counted. The logits must be `-k (j - c)^2` up to what
does not depend on j, k > 0 nats: that is checked exactly, since the rows of W_K x_j are fitted by polynomials of
degree 2 in j at all positions. With weights w_d = e^(-k d^2) and V visible positions, the position that wins is
max(c, 1), and what is read there differs from the attended value by at most
 - for the number j itself: `sum d w_d / (1 + sum w_d)` over 1 <= d < V. Numbers on the two sides of c pull in opposite
   directions, and of a right part d <= V - c and a left part d <= c - 1 the numerator is largest and the denominator
   least where one part is empty (the sums of w are concave in the number of their terms). For c = 0 the logits are
   -k (j^2 - 1) relative to the winner 1: `sum d w_d e^(-2kd)`, which is taken with denominator 1;
 - for a Boolean: the weight of the positions where it differs from that at the winner, found for every c.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import gcd, lcm
from typing import Any

from hardsim.proof.outward import above, ball, working_precision
from hardsim.proof.result import NotProved
from hardsim.proof.sites import Sites
from hardsim.proof.state import Attended, BooleanHead, CountHead, State
from hardsim.proof.tables import table_errors
from hardsim.run.plan import HeadPlan, Terms
from hardsim.spec.ir import Affine, HardProgram, Head, Kind, Mask, Rational, plain

NEGLIGIBLE = 100
"""Nats: positions that lose as much count with a bound of e^-100 each."""

Quadratic = tuple[Rational, Rational]
"""Coefficients of j and j^2."""


def separate(state: State, form: Terms, counted: set[int], name: str) -> tuple[dict[int, Rational], Terms]:
    """A query form as the coefficients of its means, and what is the same for every word."""
    means = {coordinate: coefficient for coordinate, coefficient in form if coordinate in counted}
    rest = tuple((coordinate, coefficient) for coordinate, coefficient in form if coordinate not in counted)
    return means, rest


def fixed_values(state: State, column: list[int], name: str) -> list[Any]:
    """The values of a column that must be the same for every word."""
    if not state.static(column):
        raise NotProved(f"head {name} counts, and reads a Boolean of the word besides", name)
    return state.numbers(column)


def _polynomials(state: State, column: list[Rational], name: str) -> list[Quadratic]:
    """For each length the coefficients of j and j^2 of a key that is a polynomial of degree at most 2 in j.

    One or two positions leave a choice: there the key is a constant and a multiple of j (see `_rate`).

    Raises:
        NotProved: if it is no such polynomial.
    """
    result = []
    for _, start, end in state.sites.words():
        # Over a common denominator the values are integers, with constant second differences.
        part = column[start:end]
        unit = lcm(*{value.denominator for value in part})
        values = [value.numerator * (unit // value.denominator) for value in part]
        steps = [after - before for before, after in pairwise(values)]
        bends = [after - before for before, after in pairwise(steps)]
        if len(set(bends)) > 1:
            raise NotProved(f"the keys of head {name} are no polynomials of degree 2 in the position", name)
        second = Fraction(bends[0], 2 * unit) if bends else Fraction(0)
        first = Fraction(steps[0], unit) - 3 * second if steps else Fraction(0)
        result.append((plain(first), plain(second)))
    return result


def _visible(state: State, mask: Mask, name: str) -> list[int]:
    """How many positions a look-up sees, counted from the first."""
    if mask is Mask.PAST:
        raise NotProved(f"head {name} looks up a number but does not see the first positions", name)
    return state.sites.sizes(mask)


@dataclass(frozen=True)
class _Row:
    """One product of a look-up's score: query `means + fixed`, key `first j + second j^2` by length."""

    mean: Rational
    fixed: list[Rational]
    key: list[Quadratic]


def _rows(state: State, scores: Sequence[tuple[Terms, Terms]], counted: int, soft: bool, name: str) -> list[_Row]:
    """The products of a score, in the network or in the specification."""
    rows = []

    def column(terms: Terms) -> list[int]:
        if soft:
            return state.soft(terms, 0, f"head {name}")
        return state.hard(Affine.of((state.model.coordinates[k], c) for k, c in terms), f"head {name}")

    for query, key in scores:
        means, rest = separate(state, query, {counted}, name)
        fixed = fixed_values(state, column(rest), name)
        keys = _polynomials(state, fixed_values(state, column(key), name), name)
        rows.append(_Row(means.get(counted, 0), fixed, keys))
    return rows


def _rate(rows: Sequence[_Row], site: int, length: int, size: int, two: bool) -> Rational | None:
    """k, if the scores at a site are `-k (j - c)^2` with k > 0 up to what does not depend on j; else None.

    Of `two` positions only the difference tells: -k (3 - 2 c).
    """
    linear: Rational = 0
    square: Rational = 0
    stray: Rational = 0
    twisted: Rational = 0
    for row in rows:
        first, second = row.key[length]
        fixed = row.fixed[site]
        if row.mean:
            linear += row.mean * first
            twisted += row.mean * second
        if fixed:
            square += fixed * second
            stray += fixed * first
    if two:
        square, stray = Fraction(stray) / 3, 0
    return -square if square < 0 and linear == -2 * square * size and not stray and not twisted else None


def looked_up(program: HardProgram, head: Head, sites: Sites, column: Callable[[Affine], list[Any]]) -> str:
    """The mean that a look-up is of: the one that its score multiplies with multiples of j. Both links ask here, so
    that they speak of one count; `column` gives the values of a form of the specification.

    Raises:
        NotProved: if there is none, or more than one.
    """
    means = {other.out for other in program.heads if other.uniform}
    rows = [(query.terms[0][0], key) for query, key in head.score if len(query.terms) == 1]
    names = dict.fromkeys(name for name, key in rows if name in means and sites.proportional(column(key)))
    # Of one position every key is a multiple, and whichever count is taken, that position is what is read.
    if not names or (len(names) > 1 and any(n != 1 for n in sites.n)):
        raise NotProved(f"head {head.name} does not look up a count", head.name)
    return next(iter(names))


def counted_of(state: State, head: Head) -> int:
    """The coordinate that holds the mean of a look-up."""
    name = looked_up(state.program, head, state.sites,
                     lambda key: fixed_values(state, state.hard(key, f"head {head.name}"), head.name))  # fmt: skip
    place = state.place(name)
    if place not in state.means:
        raise NotProved(f"head {head.name} looks up '{name}', which is not known to be a count", head.name)
    return place


def look_up(state: State, plan: HeadPlan, head: Head, layer: int, soft: list[int], hard: list[int]) -> Attended:
    """A head that reads the position whose number is a count.

    Raises:
        NotProved: if the scores are not those of a look-up, in the network or in the specification.
    """
    name = head.name
    if soft != hard:
        raise NotProved(f"head {name} reads another value than its specification says", name)
    values = fixed_values(state, hard, name)
    counted = counted_of(state, head)
    visible = _visible(state, head.mask, name)
    sizes = state.means[counted].sizes
    if any(size > seen for size, seen in zip(sizes, visible, strict=True)):
        raise NotProved(f"head {name} may look for a position that it does not see", name)
    scores = [(state.soft_terms(query), state.soft_terms(key)) for query, key in head.score]
    # Look-ups of other counts of the same kind share their rates: only the coordinate of the mean differs.
    signature = (_blind(plan.scores, counted), _blind(scores, counted), head.mask, state.means[counted].mask)
    rates = state.rates.get(signature)
    if rates is None:
        rows = _rows(state, plan.scores, counted, True, name)
        wanted = _rows(state, scores, counted, False, name)
        rates = state.rates[signature] = _rates(state, rows, wanted, visible, sizes, name)
    if head.kind is Kind.TABLE:
        return _table(state, head, layer, rates, visible, sizes, values, signature)
    return _number(state, head, layer, rates, visible, sizes, values)


def _blind(scores: Sequence[tuple[Terms, Terms]], counted: int) -> object:
    """A score without the name of the counted coordinate."""
    return tuple((tuple((-1 if k == counted else k, c) for k, c in query), key) for query, key in scores)


def _rates(
    state: State, rows: list[_Row], wanted: list[_Row], visible: list[int], sizes: list[int], name: str
) -> list[Fraction]:
    """k at every site, in nats; NotProved where the scores have another form."""
    rates: list[Fraction] = []
    for length, (n, start, end) in enumerate(state.sites.words()):
        for site in range(start, end):
            if visible[site] == 1:
                rates.append(Fraction(1))
                continue
            rate = _rate(rows, site, length, sizes[site], n == 2)
            if rate is None or _rate(wanted, site, length, sizes[site], n == 2) is None:
                raise NotProved(f"the scores of head {name} are not those of a look-up of a count", name)
            rates.append(rate * state.inverse[site])
    return rates


def _number(
    state: State,
    head: Head,
    layer: int,
    rates: list[Fraction],
    visible: list[int],
    sizes: list[int],
    values: list[Rational],
) -> CountHead:
    """The position's number itself, or a linear function of it."""
    import numpy as np

    base, slope = _line(state, values, head.name)
    factor = above(abs(ball(slope)))
    errors = np.array([number_error(*key) for key in zip(rates, visible, strict=True)])
    return CountHead(head.name, layer, base, slope, sizes, np.nextafter(errors * factor, np.inf))


def _line(state: State, values: list[Rational], name: str) -> tuple[Rational, Rational]:
    """Intercept and slope of a value that is a linear function of the position, the same for every length."""
    last = state.sites.starts[max(state.sites.lengths)]
    slope = values[last + 1] - values[last] if len(values) > last + 1 else 1
    base = values[last] - slope
    if any(value != base + slope * i for value, i in zip(values, state.sites.i, strict=True)):
        raise NotProved(f"head {name} looks up values that are no linear function of the position", name)
    return base, slope


@lru_cache(maxsize=65536)
def number_error(rate: Fraction, visible: int) -> float:
    """At most how far the attended number can be from the count, for `-rate (j - c)^2` nats and that many visible
    positions."""
    from flint import arb

    with working_precision():
        total, weights, shifted = arb(0), arb(0), arb(0)
        for d in range(1, visible):
            if rate * d * d > NEGLIGIBLE:
                # With d0 this d and rate >= 1, what is left is at most the sum of d e^-NEGLIGIBLE e^-(d - d0).
                factor = 2 * (d + 2) if rate >= 1 else visible * visible
                rest = factor * arb(-NEGLIGIBLE).exp()
                total, shifted = total + rest, shifted + rest
                break
            weight = ball(-rate * d * d).exp()
            total, weights = total + d * weight, weights + weight
            shifted += d * weight * ball(-2 * rate * d).exp()
        return above((total / (1 + weights)).max(shifted))


def _table(
    state: State,
    head: Head,
    layer: int,
    rates: list[Fraction],
    visible: list[int],
    sizes: list[int],
    values: list[Rational],
    signature: object,
) -> BooleanHead:
    """A Boolean at the position that is looked up."""
    if not set(values) <= {0, 1}:
        raise NotProved(f"head {head.name} looks up values other than 0 and 1", head.name)
    known = state.tables.get((signature, tuple(values)))
    if known is None:
        known = table_errors(state.sites, rates, values, visible, sizes)
        state.tables[signature, tuple(values)] = known
    return BooleanHead(head.name, layer, state.specified(head.name, known), (0, 1), (known[0], known[1]))


def common(numbers: Iterable[Fraction]) -> Fraction:
    """The greatest common divisor of rationals (0 if there are none)."""
    result = Fraction(0)
    for number in numbers:
        bottom = lcm(result.denominator, number.denominator)
        result = Fraction(gcd(int(result * bottom), int(number * bottom)), bottom)
    return result
