"""Theorem 26: a bound on the distance of the softmax model from the hard-attention model, layer by layer, and the
temperature at which the bound is small enough.

The steps are Lemmas 30 to 34, taken coordinate by coordinate instead of with one norm for all (ours; each step is the
triangle inequality on the rows of the matrix that the lemma bounds by a norm, so no coordinate's bound is larger than
the lemma's):

- scores: with query forms of size at most Q off by at most q, and key forms of size K off by k, a product is off by
  at most Q k + K q + q k; eta is the sum of these over the rows of W_Q and W_K;
- weights: the bound of `theory.perturbation.weight_distance` with this eta, query by query;
- attention: a value form off by v and between `low` and `high` in the hard model moves by at most v + D min(size,
  (high - low)/2), where D is the distance of the weights: the differences of weights sum to 0, so the middle of the
  values may be subtracted;
- the feed-forward layer: relu does not expand; a clip whose input is off by e gives exactly the same number if
  every hard z is at most -e or at least 1 + e, and moves by at most min(e, 1) otherwise.

All bounds are exact rationals rounded up. Ties of average hardmax add a second term of `weight_distance`, which
vanishes with the temperature as the first does: eta starts at 0 and falls like e^(-gap/tau). Leftmost and rightmost
hardmax with ties equals average hardmax if all tied positions carry one value, since that is also their mean;
otherwise the head is made tieless first (Lemma 8).

Sparsemax equals average hard attention in a row of m maxima exactly if the temperature is at most m times the gap
(`run.sparsemax`); softmax with rounded exponentials if it is at most the gap over the cutoff. At such temperatures no
layer has an error, so every eta is 0.
"""

# mypy: disable-error-code="truthy-bool"
# The types that flint ships do not say that its rationals are false where they are 0.

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, partial
from math import inf, isqrt, log

import numpy as np
from flint import fmpq

from hardsim.errors import Undecided
from hardsim.hard.hardmax import visible_sums
from hardsim.kept import cached, kept
from hardsim.lang.arith import Arith, parse_arith
from hardsim.lang.reals import Real, RealNumber, bounds
from hardsim.lazy_dataclass import dataclass
from hardsim.network.numbers import ONE, Mask, Rational
from hardsim.network.transformer import Schedule, SoftWeighting, Transformer
from hardsim.program.hard_attention import Affine, Encoding, Head, Program, ProgramLayer, Weighting
from hardsim.sharpening.measure import LayerFacts, LengthFacts
from hardsim.theory.outward import dyadic_above
from hardsim.theory.perturbation import FARTHEST, weight_distance

ZERO = Fraction(0)
NORM_SLACK = Fraction(1, 2**40)
"""More than exact hard attention is off after a norm whose root it replaces: sqrt(d)/2^64, for d below 2^40."""

Gaps = Mapping[str, Sequence[Fraction | None]]
"""By name of the head, the score gap of each query, by query index; None where a row's scores are all equal."""
Errors = Mapping[str, Fraction]
"""Upper bounds of |soft - hard|, by coordinate."""


@dataclass(frozen=True)
class LayerBounds:
    """The bounds of one layer.

    `attended` and `final` bound |soft - hard| by coordinate, after attention and after the layer. `distances` bounds,
    by head, the distance of the attention weights in the 1-norm, and `etas` the error of the scores.
    """

    attended: Errors
    final: Errors
    distances: dict[str, Fraction]
    etas: dict[str, Fraction]
    values: dict[tuple[str, str], Fraction]
    """Upper bounds of the attended values' errors, by (head, output coordinate)."""


@dataclass(frozen=True)
class Bounds:
    """Upper bounds of the errors |soft - hard| of a network at one length, for each layer, first to last."""

    layers: tuple[LayerBounds, ...]

    @property
    def final(self) -> Fraction:
        """An upper bound of the error of every coordinate at the end."""
        return max(self.layers[-1].final.values(), default=ZERO) if self.layers else ZERO


def error_bounds(program: Program, facts: LengthFacts, inverse: Sequence[RealNumber], gaps: Gaps) -> Bounds:
    """Bound |soft - hard| of all layers at one length by the recursion above.

    Args:
        facts: measurements of the hard model. The bounds hold for the words measured (and so for all words of the
            length if all were measured).
        inverse: 1/tau by query index.
        gaps: by head that is not uniform, a lower bound of the score gap of each query.
    """
    return _Recursion(program, facts).bounds(worst_rows(program, facts, inverse, gaps)).found


Sizes = tuple[tuple[str, fmpq], ...]
"""A linear form with the absolute values of its coefficients, by coordinate."""
Growth = Mapping[str, fmpq]
"""`Errors`, as the recursion computes with them: flint adds and multiplies rationals ten times as fast."""
NOTHING = fmpq(0)


@dataclass(frozen=True, slots=True)
class _LayerForms:
    """The forms of a layer as `Sizes`, in the order of its heads, of the pairs of their scores and of the values that
    they write, and in the order of its units (input, cap, outputs)."""

    scores: list[list[tuple[Sizes, Sizes]]]
    values: list[list[tuple[str, Sizes]]]
    units: list[tuple[Sizes, Sizes, Sizes]]


@kept
def _forms(program: Program) -> list[_LayerForms]:
    """Return the forms of every layer, which are the same at every length and temperature."""

    def sizes(terms: Iterable[tuple[str, Rational]]) -> Sizes:
        return tuple((name, abs(_fmpq(value))) for name, value in terms)

    return [
        _LayerForms(
            [[(sizes(query.terms), sizes(key.terms)) for query, key in head.score] for head in layer.heads],
            [[(out, sizes(form.terms)) for out, form in head.values] for head in layer.heads],
            [(sizes(one.pre.terms), sizes(one.cap.terms if one.cap else ()), sizes(one.outs)) for one in layer.units],
        )
        for layer in program.layers
    ]


class _LayerSizes:
    """The facts about a layer that are multiplied with errors, as flint's rationals."""

    def __init__(self, seen: LayerFacts, spread: bool) -> None:
        """`spread` says that weights sum to 1."""
        self._seen, self._spread = seen, spread

    @cached_property
    def scores(self) -> dict[str, list[tuple[fmpq, fmpq]]]:
        """By head, the sizes of the query and key forms of each row."""
        return {name: [(_fmpq(a), _fmpq(b)) for a, b in rows.sizes] for name, rows in self._seen.heads.items()}

    @cached_property
    def values(self) -> dict[tuple[str, str], fmpq]:
        """By (head, output coordinate), how far a value moves when the weights move by 1."""
        found = {}
        for place, (low, high) in self._seen.values.items():
            size = max(abs(low), abs(high))
            found[place] = _fmpq(min(size, (high - low) / 2) if self._spread else size)
        return found

    @cached_property
    def units(self) -> list[tuple[fmpq, fmpq]]:
        """The margin and the top of each hidden unit."""
        return [(_fmpq(a), _fmpq(b)) for a, b in zip(self._seen.margins, self._seen.tops, strict=True)]


@dataclass(frozen=True, slots=True)
class _Grown:
    """The bounds of every layer as the recursion finds them: attended, final, distances, etas and values."""

    layers: list[tuple[Growth, Growth, Growth, Growth, Mapping[tuple[str, str], fmpq]]]

    @property
    def final(self) -> Fraction:
        """`Bounds.final`."""
        return _fraction(max(self.layers[-1][1].values(), default=NOTHING)) if self.layers else ZERO

    @property
    def found(self) -> Bounds:
        """The bounds as Fractions."""
        known: dict[int, Fraction] = {}  # by the address of a number: most stay from layer to layer

        def exact(number: fmpq) -> Fraction:
            if not number:
                return ZERO
            return known.get(id(number)) or known.setdefault(id(number), _fraction(number))

        def every(growth: Growth) -> dict[str, Fraction]:
            return {name: exact(number) for name, number in growth.items()}

        return Bounds(
            tuple(
                LayerBounds(every(a), every(b), every(c), every(d), {place: exact(value) for place, value in e.items()})
                for a, b, c, d, e in self.layers
            )
        )


class _Recursion:
    """The recursion over the layers of a program at one length, for the temperatures that its rows are given."""

    def __init__(self, program: Program, facts: LengthFacts) -> None:
        self._program, self._facts = program, facts
        self._geometric = program.weighting is SoftWeighting.GEOMETRIC  # gaps do not bound its weights
        self._sizes = [_LayerSizes(seen, not self._geometric) for seen in facts.layers]

    def bounds(self, worst: Mapping[str, Sequence[Row]]) -> _Grown:
        """Return the bounds of all layers for these rows of each head."""
        program = self._program
        errors: Growth = {ONE: NOTHING} | dict.fromkeys(program.coordinates, NOTHING)
        found = _Grown([])
        for layer, seen, sizes, forms in zip(
            program.layers, self._facts.layers, self._sizes, _forms(program), strict=True
        ):
            distances: dict[str, fmpq] = {}
            etas: dict[str, fmpq] = {}
            values: dict[tuple[str, str], fmpq] = {}
            attended = dict(errors)
            for head, scores, written in zip(layer.heads, forms.scores, forms.values, strict=True):
                if head.name in seen.heads:
                    eta = etas[head.name] = _score_error(scores, head.name, sizes, errors)
                    apart = seen.heads[head.name].differ is not None
                    distances[head.name] = self._distance(worst[head.name], apart, eta)
                distance = distances.get(head.name, NOTHING)
                for out, form in written:
                    moved = _reach(form, errors)
                    if distance:
                        moved = moved + distance * sizes.values[head.name, out]
                    moved = values[head.name, out] = _round_up(moved)
                    if moved:
                        attended[out] = attended[out] + moved
            # A root is replaced only before a norm with epsilon 0, which undoes it, or at the end.
            attended = dict(_normalized(attended, layer.norm_1, slack=layer.norm_2 is None))
            written_errors = _feed_forward(layer, forms, sizes, errors, attended)
            errors = _normalized(written_errors, layer.norm_2, slack=False)
            shown = _normalized(attended, layer.norm_1, True), _normalized(errors, layer.norm_2, True)
            found.layers.append((*shown, distances, etas, values))
        return found

    def _distance(self, rows: Sequence[Row], apart: bool, eta: fmpq) -> fmpq:
        """Return a bound of the distance of a head's weights.

        Softmax shares its weight among tied maxima as average hardmax does. If they carry different values (`apart`),
        to one of them it need not come any nearer than two weightings always are; if they carry one value, the head
        reads what an average head reads."""
        if apart or self._geometric:
            return _fmpq(FARTHEST)
        weighting, error = self._program.weighting, _fraction(eta)
        measure = row_distance if weighting.cutoff is None else partial(exact_distance, weighting)
        return _fmpq(max(measure(*row, error) for row in rows))


def _fmpq(value: Rational) -> fmpq:
    """Return the number as flint's rational."""
    return fmpq(value.numerator, value.denominator) if value else NOTHING


def _fraction(value: fmpq) -> Fraction:
    """Return flint's rational as a Fraction."""
    return Fraction(int(value.p), int(value.q)) if value else ZERO


def _round_up(value: fmpq) -> fmpq:
    """Return `theory.outward.round_up` of a number."""
    if not value:
        return value
    mantissa, exponent = dyadic_above(int(value.p), int(value.q))
    return fmpq(mantissa << exponent) if exponent >= 0 else fmpq(mantissa, 1 << -exponent)


def _normalized(errors: Growth, epsilon: Fraction | None, slack: bool) -> Growth:
    """Return the errors after a norm, if there is one. A norm is no Lipschitz function: of different rows it may make
    any two rows of mean square at most 1, whose coordinates are at most sqrt(d). `slack` covers a root that exact hard
    attention replaces by a rational."""
    if epsilon is None:
        return errors
    apart = 2 * (isqrt(len(errors)) + 1) if any(errors.values()) else 0
    moved = _fmpq(apart + slack * NORM_SLACK)
    return {name: NOTHING if name == ONE else moved for name in errors}


def _reach(form: Sizes, errors: Growth) -> fmpq:
    """Return a bound of the error of a linear form."""
    total = NOTHING
    for name, size in form:
        if error := errors[name]:
            total = total + size * error
    return total


def _score_error(scores: Iterable[tuple[Sizes, Sizes]], head: str, sizes: _LayerSizes, errors: Growth) -> fmpq:
    total = NOTHING
    for row, (query, key) in enumerate(scores):
        q, k = _reach(query, errors), _reach(key, errors)
        if q or k:
            query_size, key_size = sizes.scores[head][row]
            total = total + query_size * k + key_size * q + q * k
    return _round_up(total)


Row = tuple[int, int, int, Fraction | None, RealNumber]
"""The arguments of `row_distance` without eta: positions, fewest and most maxima, gap, 1/tau."""


def worst_rows(program: Program, facts: LengthFacts, inverse: Sequence[RealNumber], gaps: Gaps) -> dict[str, list[Row]]:
    """Return, by head, a few rows that bound all of its rows.

    The distance grows with the number of positions and falls with the gap. Among rows that are otherwise alike, a row
    is left out if another one has at least as many positions and at most its gap.
    """
    found: dict[str, list[Row]] = {}
    numbers: dict[RealNumber, int] = {}
    temperatures = [numbers.setdefault(value, len(numbers)) for value in inverse]  # rationals are hashed once
    for head in program.heads:
        rows = facts.heads.get(head.name)
        if rows is not None:
            seen = _visible(head.mask, len(inverse), program.bos)
            different = zip(seen, rows.fewest, rows.most, gaps[head.name], temperatures, strict=True)
            found[head.name] = list(_undominated(different, list(numbers)))
    return found


@cached(1 << 5)
def _visible(mask: Mask, positions: int, bos: bool) -> list[int]:
    """Return the number of positions that each query sees."""
    found: list[int] = visible_sums(mask, np.ones(positions, dtype=np.int64), bos).tolist()
    return found


def _undominated(
    rows: Iterable[tuple[int, int, int, Fraction | None, int]], inverse: Sequence[RealNumber]
) -> Iterator[Row]:
    """Yield rows that bound these; the last number of each is an index in `inverse`."""
    alike: dict[tuple[int, int, int, bool], list[tuple[int, Fraction]]] = {}
    for positions, fewest, most, gap, number in rows:
        alike.setdefault((fewest, most, number, gap is None), []).append((positions, gap or ZERO))
    for (fewest, most, number, alone), some in alike.items():
        least: Fraction | None = None
        # From the longest rows down, a shorter row matters only if its gap is smaller than all before.
        for positions, gap in sorted(some, key=lambda row: (-row[0], row[1])):
            if least is None or (gap is not least and gap < least):  # many gaps are one object
                least = gap
                yield positions, fewest, most, None if alone else gap, inverse[number]


@cached(1 << 14)
def row_distance(
    positions: int, fewest: int, most: int, gap: Fraction | None, inverse: RealNumber, eta: Fraction
) -> Fraction:
    """Return `weight_distance` for rows with `fewest` to `most` maxima among the visible positions. If `gap` is None,
    all positions are maxima.

    The first term falls as the number of maxima m grows, and the second does not depend on m once m > 1: so m =
    `fewest` is the worst, or m = 2 if `fewest` is 1. The first term falls with the temperature, the second grows as
    it falls: for an irrational temperature, each term takes the worse end of an enclosure.
    """
    low, high = bounds(inverse)
    hottest, coldest = 1 / low, 1 / high
    if gap is None:
        return weight_distance(most, most, None, eta, hottest, coldest)
    worst = {fewest, min(most, max(fewest, 2))}
    return max(weight_distance(positions, maxima, gap, eta, hottest, coldest) for maxima in worst)


def exact_distance(
    weighting: SoftWeighting,
    positions: int,
    fewest: int,
    most: int,
    gap: Fraction | None,
    inverse: RealNumber,
    eta: Fraction,
) -> Fraction:
    """Return the same bound for a weighting with a cutoff: 0 if its weights are those of average hard attention, else
    the farthest."""
    fine = gap is None or weighting.exact_up_to(fewest, gap) * bounds(inverse)[0] >= 1
    return ZERO if fine and not eta else FARTHEST


def _feed_forward(
    layer: ProgramLayer, forms: _LayerForms, sizes: _LayerSizes, before: Growth, attended: Growth
) -> Growth:
    """Return the errors after the hidden units, from those `attended`; errors that are still those from `before` the
    layer are rounded already."""
    errors = dict(attended)
    for number, (unit, (pre, bounded, outs)) in enumerate(zip(layer.units, forms.units, strict=True)):
        moved, cap = _reach(pre, attended), _reach(bounded, attended)
        if not moved and not cap:
            continue  # the same in both models
        margin, top = sizes.units[number]
        if unit.clip:
            # It grows by at most 1 with its input and with its cap.
            most = fmpq(1) if unit.cap is None else moved + cap
            moved = NOTHING if moved <= margin and not cap else min(moved + cap, most)
        elif top + moved <= 0:
            moved = NOTHING  # never active, in neither model
        for out, weight in outs if moved else ():
            errors[out] = errors[out] + weight * moved
    return {name: error if error is before[name] else _round_up(error) for name, error in errors.items()}


DEFAULT_EPSILON = Fraction(1, 4)
"""The default error at the output: half of what a threshold of 1/2 between the outputs 0 and 1 can bear."""
STEPS = 64
"""The number of temperatures tried between a power of two and the next one."""
HALVINGS = 400
NEAR, GUESSES = 8, 8
"""The number of places from a temperature that is known to be near to the next one tried; and the greatest number of
places tried before each step of the search is a bisection."""


@dataclass(frozen=True)
class Solution:
    """The temperature of one length, and the bounds that the recursion gives at it.

    For softmax `tau` is a dyadic rational k 2^-m with STEPS <= k < 2 STEPS: the bound exceeds epsilon at (k + 1) 2^-m.
    It is 1 if every head is uniform, since then every temperature gives the hard model itself.
    """

    tau: Fraction
    bounds: Bounds
    epsilon: Fraction


def declared_gaps(program: Program, facts: LengthFacts) -> dict[str, list[Fraction | None]]:
    """Return the score gap of every query, by head that is not uniform: the declared gap if there is one (see
    `Head.promised`), otherwise the measured gap; None for a query whose scores were all equal."""
    gaps: dict[str, list[Fraction | None]] = {}
    for head in program.heads:
        measured = facts.heads.get(head.name)
        if measured is None:
            continue
        declared = head.promised(facts.n, program.first) or measured.gaps
        # A row whose scores are all equal has no gap, whatever is declared.
        gaps[head.name] = [None if old is None else new for old, new in zip(measured.gaps, declared, strict=True)]
    return gaps


def solve(
    program: Program, facts: LengthFacts, epsilon: Fraction, gaps: Gaps, near: Fraction | None = None
) -> Solution:
    """Return the largest temperature at which the error bound at the end is at most epsilon, to a mantissa of STEPS
    and below four times the least gap; for weightings with a cutoff, the largest temperature without an error.

    The bound grows with the temperature, so it is at most epsilon up to one temperature alone. The search begins at
    `near` (by default the least gap), which only affects how long it takes. Raises Undecided if the bound exceeds
    epsilon even at the least gap divided by 2^HALVINGS."""
    if program.weighting is SoftWeighting.GEOMETRIC:
        raise Undecided("Theorem 26 has no temperature for geometric attention; give one with --tau, as '1/log(4*n)'")
    known = [gap for row in gaps.values() for gap in row if gap is not None]
    rows = worst_rows(program, facts, [Fraction(1)] * (facts.n + 1 - program.first), gaps)
    if program.weighting.cutoff is not None:
        return _hottest(program, facts, rows, epsilon)
    tried: dict[int, _Grown] = {}
    recursion = _Recursion(program, facts)

    def final(place: int) -> Fraction:
        inverse = 1 / grid(place)
        tried[place] = recursion.bounds({name: [(*row[:4], inverse) for row in some] for name, some in rows.items()})
        return tried[place].final

    if not known and final(0) <= epsilon:
        return Solution(Fraction(1), tried[0].found, epsilon)
    start = place_of(min(known, default=Fraction(1)))
    start -= start % STEPS
    least, most = start - HALVINGS * STEPS, start + 2 * STEPS - 1
    first = min(max(least, start + STEPS if near is None else place_of(near)), most)
    found = _last_place(final, epsilon, first, STEPS if near is None else NEAR, range(least, most + 1))
    if found is None:
        raise Undecided(
            f"no temperature down to {float(grid(least)):.3g} gives an error of at most {epsilon} at length "
            f"{facts.n}; allow a larger error with --epsilon"
        )
    return Solution(grid(found), tried[found].found, epsilon)


def _last_place(
    final: Callable[[int], Fraction], epsilon: Fraction, first: int, step: int, places: range
) -> int | None:
    """Return the last of some places at which a bound that grows with the place is at most epsilon; None if it is at
    none of them. The search begins at the place `first`, and goes on by `step`.

    A bound near C e^(-g/tau) has a logarithm near a line in 1/tau. The line through the two places tried last says
    where to look next, some times; only the number of places tried depends on it.
    """
    low, high, place = places.start - 1, places.stop, first
    points: list[tuple[float, float | None]] = []
    while high - low > 1:
        found = final(place)
        low, high = (place, high) if found <= epsilon else (low, place)
        points.append((float(grid(first) / grid(place)), _log(found)))
        guess = _crossing(points[-2:], _log(epsilon)) if 2 <= len(points) <= GUESSES else None
        if guess is not None:
            place = place_of(grid(first) * guess)
        elif low < places.start:
            place, step = high - step, 2 * step
        elif high == places.stop:
            place, step = low + step, 2 * step
        else:
            place = (low + high) // 2
        place = min(max(place, low + 1), high - 1)
    return low if low >= places.start else None


def _log(value: Fraction) -> float | None:
    """Return the approximate logarithm of a number, which may be beyond float64; None if it is not positive."""
    return log(value.numerator) - log(value.denominator) if value > 0 else None


def _crossing(points: Sequence[tuple[float, float | None]], level: float | None) -> Fraction | None:
    """Return 1/x where the falling line through two points (x, y) is at a level, if x is in the range of float64, and
    None otherwise."""
    (x, y), (other, last) = points
    if y is None or last is None or level is None or not (last - y) * (other - x) < 0:
        return None
    crossing = other + (level - last) * (other - x) / (last - y)
    return 1 / Fraction(crossing) if 0 < crossing < inf else None


def _hottest(program: Program, facts: LengthFacts, rows: Mapping[str, Sequence[Row]], epsilon: Fraction) -> Solution:
    """Return the largest temperature at which a weighting with a cutoff has exactly the hard weights in all rows, whose
    temperature is 1, and its bounds. Raises Undecided if the bounds exceed epsilon: tied positions carry different
    values, of which a head reads one."""
    reached = program.weighting.exact_up_to
    found_at = [reached(row[1], row[3]) for some in rows.values() for row in some if row[3] is not None]
    tau = Fraction(min(found_at, default=1))
    at_tau = {name: [(*row[:4], 1 / tau) for row in some] for name, some in rows.items()}
    found = _Recursion(program, facts).bounds(at_tau).found
    if found.final > epsilon:
        raise Undecided(
            f"{program.weighting} has an error at every temperature at length {facts.n}, since a head breaks ties"
        )
    return Solution(tau, found, epsilon)


def grid(place: int) -> Fraction:
    """Return the temperature at a place of the grid of temperatures that are tried. The grid has STEPS
    temperatures from each power of two (included) to the next (excluded), and grows with the place; place 0 is the
    temperature 1."""
    power, mantissa = divmod(place, STEPS)
    return Fraction(2) ** power * Fraction(STEPS + mantissa, STEPS)


def place_of(tau: Fraction) -> int:
    """Return the place of the largest temperature of the grid that is at most `tau` > 0."""
    power = tau.numerator.bit_length() - tau.denominator.bit_length()
    power -= Fraction(2) ** power > tau
    return STEPS * (power - 1) + int(tau * STEPS / Fraction(2) ** power)


def inverses(model: Transformer, n: int) -> Sequence[Fraction | Real]:
    """Return 1/tau of a softmax model, by query index."""
    return model.inverse_temperatures(n)


RAMP = "tie: i/(2*(n+1))"
"""The name of the key coordinate of the tie-breaking term, unless the program already has a coordinate of that name."""


def break_ties(program: Program, gaps: Mapping[str, Schedule]) -> Program:
    """Return the program with tieless scores in the heads that `gaps` names, as in Lemma 8.

    `gaps` gives a lower bound of the distance of different scores of each head. The program gets one coordinate for
    the ramp i/(2(n + 1)), and one for the gap of each head.
    """
    taken = {ONE, *program.coordinates}
    ramp, *rest = (_free(name, taken) for name in (RAMP, *(f"tie: gap of {head}" for head in gaps)))
    named = dict(zip(gaps, rest, strict=True))
    added = [Encoding(ramp, parse_arith("i/(2*(n+1))")), *(Encoding(named[name], gap) for name, gap in gaps.items())]

    def head(old: Head) -> Head:
        if old.name not in gaps:
            return old
        gap = gaps[old.name]
        tie = Affine.coordinate(ramp).scaled(-1 if old.weighting is Weighting.LEFTMOST else 1)
        return replace(
            old,
            score=(*old.score, (Affine.coordinate(named[old.name]), tie)),
            decay=None,
            gap=gap / parse_arith("2*(n+1)") if isinstance(gap, Arith) else None,
        )

    return replace(
        program,
        coordinates=(*program.coordinates, *(encoding.name for encoding in added)),
        encodings=(*program.encodings, *added),
        layers=tuple(replace(layer, heads=tuple(map(head, layer.heads))) for layer in program.layers),
    )


def _free(name: str, taken: set[str]) -> str:
    """Return the name, with primes added until no coordinate has it."""
    while name in taken:
        name += "'"
    return name
