"""Look-ups of counts and tests of their sign, over all words: everything depends on the query i and the count alone.

Look-up. A count c is known as c/m, m the number of positions counted. The logits must be `-k (j - c)^2` up to what
does not depend on j, k > 0 nats: that is checked exactly, since the rows of W_K x_j are fitted by polynomials of
degree 2 in j at all positions. With weights w_d = e^(-k d^2) and V visible positions, the position that wins is
max(c, 1), and what is read there differs from the attended value by at most
 - for the number j itself: `sum d w_d / (1 + sum w_d)` over 1 <= d < V. Numbers on the two sides of c pull in opposite
   directions, and of a right part d <= V - c and a left part d <= c - 1 the numerator is largest and the denominator
   least where one part is empty (the sums of w are concave in the number of their terms). For c = 0 the logits are
   -k (j^2 - 1) relative to the winner 1: `sum d w_d e^(-2kd)`, which is taken with denominator 1;
 - for a Boolean: the weight of the positions where it differs from that at the winner, found for every c.

Sign test. The query is y = (integer + offset)/m, the keys are positive at the positions with value 1 and negative at
those with value 0. The weight of the wrong positions falls as |y| grows, so the two values of y next to 0 decide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, isqrt, lcm
from typing import TYPE_CHECKING, Any

from hardsim.proof.outward import above, ball, exp_lower, exp_upper, working_precision
from hardsim.proof.result import NotProved
from hardsim.proof.state import Attended, BooleanHead, CountHead, State
from hardsim.run.plan import HeadPlan, Terms
from hardsim.spec.ir import Affine, Head, Kind, Mask, Rational

if TYPE_CHECKING:
    from flint import arb

NEGLIGIBLE = 600
"""Nats: positions that lose as much count with a bound of e^-600 each."""

NEAR = 60
"""Nats beyond which positions count together in a table: e^-60 < 2^-80 each."""

Quadratic = tuple[Fraction, Fraction]
"""Coefficients of j and j^2."""


# ---- forms ----


def _query(state: State, form: Terms, counted: set[int], name: str) -> tuple[dict[int, Rational], Terms]:
    """A query form as the coefficients of its means, and what is the same for every word."""
    means = {coordinate: coefficient for coordinate, coefficient in form if coordinate in counted}
    rest = tuple((coordinate, coefficient) for coordinate, coefficient in form if coordinate not in counted)
    return means, rest


def _fixed(state: State, column: list[int], name: str) -> list[Rational]:
    """The values of a column that must be the same for every word."""
    if not state.static(column):
        raise NotProved(f"head {name} counts, and reads a Boolean of the word besides", name)
    return state.numbers(column)


def _polynomials(state: State, column: list[Rational], name: str) -> list[Quadratic]:
    """For each length the coefficients of j and j^2 of a key that is a polynomial of degree at most 2 in j.

    One or two positions leave a choice: a multiple of j if it is one, else of j^2.

    Raises:
        NotProved: if it is no such polynomial.
    """
    result = []
    for n, start, end in state.sites.words():
        values = [Fraction(value) for value in column[start:end]]
        first, second = values[0], Fraction(0)
        if n > 2:
            second = (values[2] - 2 * values[1] + values[0]) / 2
            first = values[1] - values[0] - 3 * second
        elif n == 2 and values[1] != 2 * values[0]:
            first, second = Fraction(0), values[0]
        base = values[0] - first - second
        if any(base + first * j + second * j * j != value for j, value in enumerate(values, start=1)):
            raise NotProved(f"the keys of head {name} are no polynomials of degree 2 in the position", name)
        result.append((first, second))
    return result


def _visible(state: State, mask: Mask, name: str) -> list[int]:
    """How many positions a look-up sees, counted from the first."""
    if mask is Mask.PAST:
        raise NotProved(f"head {name} looks up a number but does not see the first positions", name)
    return state.sites.sizes(mask)


# ---- look-ups ----


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
        means, rest = _query(state, query, {counted}, name)
        fixed = _fixed(state, column(rest), name)
        keys = _polynomials(state, _fixed(state, column(key), name), name)
        rows.append(_Row(means.get(counted, 0), fixed, keys))
    return rows


def _rate(rows: Sequence[_Row], site: int, length: int, size: int) -> Fraction | None:
    """k, if the scores at a site are `-k (j - c)^2` with k > 0 up to what does not depend on j; else None."""
    linear = sum((row.mean * row.key[length][0] for row in rows), Fraction(0)) / size
    square = sum((row.fixed[site] * row.key[length][1] for row in rows), Fraction(0))
    stray = [sum((row.fixed[site] * row.key[length][0] for row in rows), Fraction(0))]
    stray.append(sum((row.mean * row.key[length][1] for row in rows), Fraction(0)))
    return -square if square < 0 and linear == -2 * square and not any(stray) else None


def _counted(state: State, head: Head) -> int:
    """The coordinate that holds the mean of a look-up: the one that the score multiplies with j."""
    for query, key in head.score:
        terms = state.soft_terms(query)
        if len(terms) == 1 and terms[0][0] in state.means:
            column = _fixed(state, state.hard(key, f"head {head.name}"), head.name)
            last = state.sites.starts[max(state.sites.lengths)]
            ratio = column[last + 1] == 2 * column[last] if len(column) > last + 1 else True
            if ratio and column[last]:
                return terms[0][0]
    raise NotProved(f"head {head.name} does not look up a mean", head.name)


def look_up(state: State, plan: HeadPlan, head: Head, layer: int, soft: list[int], hard: list[int]) -> Attended:
    """A head that reads the position whose number is a count.

    Raises:
        NotProved: if the scores are not those of a look-up, in the network or in the specification.
    """
    name = head.name
    if soft != hard:
        raise NotProved(f"head {name} reads another value than its specification says", name)
    values = _fixed(state, hard, name)
    counted = _counted(state, head)
    visible = _visible(state, head.mask, name)
    sizes = state.means[counted].sizes
    if any(size > seen for size, seen in zip(sizes, visible, strict=True)):
        raise NotProved(f"head {name} may look for a position that it does not see", name)
    scores = [(state.soft_terms(query), state.soft_terms(key)) for query, key in head.score]
    rows = _rows(state, plan.scores, counted, True, name)
    wanted = _rows(state, scores, counted, False, name)
    rates: list[Fraction] = []
    for length, (_, start, end) in enumerate(state.sites.words()):
        for site in range(start, end):
            if visible[site] == 1:
                rates.append(Fraction(1))
                continue
            rate = _rate(rows, site, length, sizes[site])
            if rate is None or _rate(wanted, site, length, sizes[site]) is None:
                raise NotProved(f"the scores of head {name} are not those of a look-up of a count", name)
            rates.append(rate * state.inverse[site])
    if head.kind is Kind.TABLE:
        return _table(state, head, layer, rates, visible, sizes, values)
    return _number(state, head, layer, rates, visible, sizes, values)


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
    known: dict[tuple[Fraction, int], float] = {}
    errors = []
    for key in zip(rates, visible, strict=True):
        if key not in known:
            known[key] = above(number_error(*key) * abs(ball(slope)))
        errors.append(known[key])
    return CountHead(head.name, layer, base, slope, sizes, np.array(errors))


def _line(state: State, values: list[Rational], name: str) -> tuple[Rational, Rational]:
    """Intercept and slope of a value that is a linear function of the position, the same for every length."""
    last = state.sites.starts[max(state.sites.lengths)]
    slope = values[last + 1] - values[last] if len(values) > last + 1 else 1
    base = values[last] - slope
    if any(value != base + slope * i for value, i in zip(values, state.sites.i, strict=True)):
        raise NotProved(f"head {name} looks up values that are no linear function of the position", name)
    return base, slope


def number_error(rate: Fraction, visible: int) -> arb:
    """How far the attended number can be from the count, for `-rate (j - c)^2` nats and that many visible
    positions."""
    from flint import arb

    with working_precision():
        total, weights, shifted = arb(0), arb(0), arb(0)
        for d in range(1, visible):
            if rate * d * d > NEGLIGIBLE:
                # What is left is less than the sum of d e^-NEGLIGIBLE e^-(d - d0), d0 this d: at most (d0 + 2) times it.
                rest = (d + 2) * 2 * arb(-NEGLIGIBLE).exp() if rate >= 1 else visible * visible * arb(-NEGLIGIBLE).exp()
                total, shifted = total + rest, shifted + rest
                break
            weight = ball(-rate * d * d).exp()
            total, weights = total + d * weight, weights + weight
            shifted += d * weight * ball(-2 * rate * d).exp()
        return (total / (1 + weights)).max(shifted)


def _table(
    state: State,
    head: Head,
    layer: int,
    rates: list[Fraction],
    visible: list[int],
    sizes: list[int],
    values: list[Rational],
) -> BooleanHead:
    """A Boolean at the position that is looked up."""
    import numpy as np

    if not set(values) <= {0, 1}:
        raise NotProved(f"head {head.name} looks up values other than 0 and 1", head.name)
    worst = np.full((2, len(rates)), -1.0)
    for n, start, end in state.sites.words():
        column = np.array([int(value) for value in values[start:end]])
        for site in range(start, end):
            worst[:, site] = table_error(rates[site], column[: visible[site]], sizes[site])
    variable = state.diagrams.variable(("head", head.name))
    bits = [
        variable if off >= 0 and on >= 0 else state.diagrams.one if on >= 0 else state.diagrams.zero
        for off, on in worst.T
    ]
    return BooleanHead(head.name, layer, bits, (0, 1), (worst[0], worst[1]))


def table_error(rate: Fraction, column: Any, size: int) -> tuple[float, float]:
    """The largest weight of other values where the value at the position looked up is 0, and where it is 1.

    `column` has the values at the visible positions; counts go from 0 to `size`. -1 where no count leads there.
    """
    import numpy as np

    visible = len(column)
    near = min(visible - 1, isqrt(int(NEAR / rate)) + 1)
    distance = np.arange(1, near + 1)
    exponent = -float(rate) * distance * distance
    error = -exponent * 2.0**-50
    weights, least = exp_upper(exponent, error), exp_lower(exponent, error)
    wrong, right = np.full(size, visible * 2.0**-80), np.ones(size)
    own = column[:size]
    for d, high, low in zip(distance, weights, least, strict=True):
        for shift in (d, -d):
            first, last = max(0, -shift), min(size, visible - shift)
            if first < last:
                differs = column[first + shift : last + shift] != own[first:last]
                wrong[first:last] += np.where(differs, high, 0)
                right[first:last] += np.where(differs, 0, low)
    share = 1 / (1 + right / wrong)
    # A count of 0 leads to the first position too, with weights that fall faster than those of a count of 1.
    lone = wrong[0] if visible > 1 else 2.0**-80
    share[0] = max(share[0], lone / (1 + lone))
    slack = 1 + (4 * near + 16) * 2.0**-52
    worst = [float(np.max(share[own == value], initial=-1.0)) for value in (0, 1)]
    return tuple(bound * slack if bound >= 0 else bound for bound in worst)  # (of 0, of 1)


# ---- the sign test ----


def sign_test(state: State, plan: HeadPlan, head: Head, layer: int, soft: list[int], hard: list[int]) -> BooleanHead:
    """A head that tells whether a number is positive, by the parity of positions.

    Raises:
        NotProved: if the network's query or keys are not those of the specification, up to positive factors.
    """
    import numpy as np

    name = head.name
    if len(plan.scores) != 1 or len(head.score) != 1:
        raise NotProved(f"head {name} has not one product as its score", name)
    own, specified = _fixed(state, soft, name), _fixed(state, hard, name)
    pairs = set(zip(specified, own, strict=True))
    values = dict(pairs)
    if not set(values) <= {0, 1} or len(pairs) != len(values):
        raise NotProved(f"head {name} reads values other than 0 and 1", name)
    steps, offsets, factor = _sign_queries(state, plan, head)
    keys = _fixed(state, state.soft(plan.scores[0][1], 0, f"head {name}"), name)
    wanted = _fixed(state, state.hard(head.score[0][1], f"head {name}"), name)
    for key, want, bit in zip(keys, wanted, specified, strict=True):
        if not key or not want or (key > 0) != (bit == 1) or (want > 0) != (bit == 1):
            raise NotProved(f"the keys of head {name} are not positive where it reads 1 and negative elsewhere", name)
    worst = np.full((2, len(keys)), -1.0)
    for site, seen in _seen(state, head.mask, keys):
        signs = {key > 0 for key in seen}
        if len(signs) == 1:
            worst[int(signs.pop()), site] = 0.0
            continue
        for bit, size in ((0, _below(offsets[site], steps[site])), (1, _above(offsets[site], steps[site]))):
            if size is None:
                continue
            if not size:
                raise NotProved(f"the number whose sign head {name} tests can be 0", name)
            worst[bit, site] = _wrong_sign(seen, bit, size * factor * state.inverse[site])
    variable = state.diagrams.variable(("head", name))
    bits = [
        variable if off >= 0 and on >= 0 else state.diagrams.one if on >= 0 else state.diagrams.zero
        for off, on in worst.T
    ]
    return BooleanHead(name, layer, bits, (values.get(0, 0), values.get(1, 1)), (worst[0], worst[1]))


def _sign_queries(state: State, plan: HeadPlan, head: Head) -> tuple[list[Fraction], list[Rational], Fraction]:
    """What the specified y can be at each site, `offset + step * integer`, and the network's query over it."""
    name = head.name
    varying = {coordinate for coordinate in state.means if coordinate not in state.exact}
    own, fixed = _query(state, plan.scores[0][0], varying, name)
    wanted, rest = _query(state, state.soft_terms(head.score[0][0]), varying, name)
    query = _fixed(state, state.soft(fixed, 0, f"head {name}"), name)
    form = Affine.of((state.model.coordinates[k], c) for k, c in rest)
    offsets = _fixed(state, state.hard(form, f"head {name}"), name)
    pairs = [(own.get(k, 0), wanted.get(k, 0)) for k in own.keys() | wanted.keys()]
    pairs += list(set(zip(query, offsets, strict=True)))
    factor = next((Fraction(a) / Fraction(b) for a, b in pairs if b), Fraction(0))
    if factor <= 0 or any(a != factor * b for a, b in pairs):
        raise NotProved(f"the query of head {name} is not a positive multiple of the specified one", name)
    steps = []
    for site in range(len(offsets)):
        steps.append(common([Fraction(c) / state.means[k].sizes[site] for k, c in wanted.items()]))
    return steps, offsets, factor


def common(numbers: Iterable[Fraction]) -> Fraction:
    """The greatest common divisor of rationals (0 if there are none)."""
    result = Fraction(0)
    for number in numbers:
        bottom = lcm(result.denominator, number.denominator)
        result = Fraction(gcd(int(result * bottom), int(number * bottom)), bottom)
    return result


def _above(offset: Rational, step: Fraction) -> Fraction | None:
    """The least |y| with y >= 0 among offset + step * integer; None if there is none."""
    if not step:
        return Fraction(offset) if offset >= 0 else None
    return Fraction(offset) % step


def _below(offset: Rational, step: Fraction) -> Fraction | None:
    """The least |y| with y <= 0 among offset + step * integer; None if there is none."""
    return _above(-offset, step)


def _seen(state: State, mask: Mask, keys: list[Rational]) -> Iterator[tuple[int, dict[Rational, int]]]:
    """Each site with how often each key is visible (the dictionary changes from site to site)."""
    for n, start, end in state.sites.words():
        if mask is Mask.NONE:
            total = dict(Counter(keys[start:end]))
            yield from ((site, total) for site in range(start, end))
            continue
        seen: dict[Rational, int] = {}
        for site in range(start, end) if mask is Mask.FUTURE else range(end - 1, start - 1, -1):
            seen[keys[site]] = seen.get(keys[site], 0) + 1
            yield site, seen


def _wrong_sign(seen: dict[Rational, int], bit: int, size: Fraction) -> float:
    """At most the weight of the positions with the other value, where |y| in nats per unit of key is `size`."""
    from flint import arb

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
