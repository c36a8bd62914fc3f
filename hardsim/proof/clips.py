"""The feed-forward part of a layer: every clip of the network against the specified one.

Two clips agree at a site if for every assignment of the exact Booleans, every specified value of the heads that they
read and every deviation of the heads from it, the network's input is at most 0 where the specified clip is 0, and at
least 1 where it is 1. How far it is from there is the margin. Inputs are linear, so the worst deviation is that of
each head on its own.

Where counts or means are read, the specified input is known to lie in a lattice `base + step * integer` within an
interval, and the deviations must not reach from its points outside (0, 1) into it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hardsim.proof.counts import common
from hardsim.proof.diagrams import clip
from hardsim.proof.result import Case, NotProved
from hardsim.proof.state import BooleanHead, CountHead, Exact, State
from hardsim.proof.worst import boolean_case, count_case
from hardsim.run.plan import LayerPlan, Terms, Unit
from hardsim.spec.ir import Clip, ProgramLayer, Rational, plain

Which = tuple[int, int]
"""A clip: the coordinate that it writes, and its number among those that write it."""
Counted = Callable[[State, list[int], Sequence[tuple[int, Rational]], Which, str], list[int]]
"""Decides a clip of exact inputs and counts (coordinates and coefficients): its value at every site."""

SHOWN_AS_EQUAL = 1e-9
"""Worst cases that differ by no more, relatively, are shown as one."""
ROUNDED = 2.0**-30
"""Nats: where rounding costs more in a logit, it may be all that a bound lacks."""
SHOWN_CASES = 64
"""Failing sites that are kept, from the shortest words on."""


def feed_forward(state: State, plan: LayerPlan, layer: ProgramLayer, counted: Counted) -> None:
    """Add what a layer's clips write to the state; `counted` decides those that compare counts.

    Raises:
        NotProved: if some clip is not proved to give what is specified.
    """
    if not all(unit.clip for unit in plan.units):
        raise NotProved("the feed-forward part has a hidden unit that is no clip (a pair relu(z) - relu(z - 1))")
    names = state.model.coordinates
    own: dict[int, list[tuple[Rational, Unit]]] = {}
    for unit in plan.units:
        for out, weight in unit.outs:
            own.setdefault(out, []).append((weight, unit))
    wanted: dict[int, list[Clip]] = {}
    for item in layer.clips:
        wanted.setdefault(state.place(item.out), []).append(item)
    biases = dict(plan.biases)
    ones = {state.place(name) for name in layer.ones}
    written: dict[int, tuple[list[int], bool]] = {}
    for out in sorted(own.keys() | wanted.keys() | biases.keys() | ones):
        if state.written(out):
            raise NotProved(f"the coordinate '{names[out]}' is written twice, the second time by a clip")
        bias = biases.get(out, 0)
        if bias != int(out in ones) or [weight for weight, _ in own.get(out, [])] != [
            item.weight for item in wanted.get(out, [])
        ]:
            raise NotProved(f"the weights that write the coordinate '{names[out]}' are not the specified ones")
        parts, attended = [], False
        for number, ((weight, unit), item) in enumerate(zip(own.get(out, []), wanted.get(out, []), strict=True)):
            column, reads = _clip(state, unit, item, (out, number), counted)
            parts.append((weight, column))
            attended = attended or reads
        written[out] = (state.combine(parts, bias), attended)
    for out, (column, attended) in written.items():
        if attended:
            column = _booleans(state, column, names[out])
        state.exact[out] = Exact(column, column)


def _booleans(state: State, column: list[int], name: str) -> list[int]:
    """A coordinate that attention decided: a Boolean of its own at every site, unless it is always the same there."""
    variable = state.diagrams.variable(("bit", name))
    known: dict[int, int] = {}
    for number in set(column):
        values = set(state.diagrams.values(number))
        if not values <= {0, 1}:
            raise NotProved(f"the coordinate '{name}' can be other than 0 and 1")
        known[number] = variable if len(values) == 2 else number
    return [known[number] for number in column]


def _clip(state: State, unit: Unit, item: Clip, which: Which, counted: Counted) -> tuple[list[int], bool]:
    """The value of a clip at every site, and whether it reads what attention wrote."""
    what = f"the clip that writes '{item.out}'"
    form = state.soft_terms(item.pre)
    heads = dict.fromkeys(k for terms in (unit.form, form) for k, _ in terms if k not in state.exact)
    own = state.soft(_without(unit.form, heads), unit.bias, what)
    specified = state.combine([(c, state.exact_of(k, what).hard) for k, c in _without(form, heads)], 0)
    if not heads:
        return _exact(state, own, specified, what), False
    factors = [(dict(unit.form).get(k, 0), dict(form).get(k, 0)) for k in heads]
    found = [state.attended.get(k) for k in heads]
    if all(isinstance(head, BooleanHead) for head in found):
        booleans = [head for head in found if isinstance(head, BooleanHead)]
        return _rounded(state, own, specified, factors, booleans, what), True
    if own != specified or any(a != b for a, b in factors):
        raise NotProved(f"{what} reads counts with other coefficients than specified")
    return counted(state, own, list(zip(heads, (a for a, _ in factors), strict=True)), which, what), True


def _without(form: Terms, heads: dict[int, None]) -> Terms:
    return tuple((coordinate, coefficient) for coordinate, coefficient in form if coordinate not in heads)


def _exact(state: State, own: list[int], specified: list[int], what: str) -> list[int]:
    """Both clips of exact inputs, which must be the same function."""
    found, wanted = state.clipped(own), state.clipped(specified)
    if found != wanted:
        site = next(site for site, pair in enumerate(zip(found, wanted, strict=True)) if pair[0] != pair[1])
        raise NotProved(f"{what} is not what is specified at {state.sites.place(site)}")
    return found


# ---- clips that round attended Booleans ----


@dataclass(frozen=True)
class _Demand:
    """The network's input `rest + sum of factor * head` must be on the side of `result`, for these bits."""

    rest: Rational
    bits: tuple[int, ...]
    result: int


def _rounded(
    state: State,
    own: list[int],
    specified: list[int],
    factors: Sequence[tuple[Rational, Rational]],
    heads: Sequence[BooleanHead],
    what: str,
) -> list[int]:
    """A clip of exact inputs and attended Booleans."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for site, numbers in enumerate(zip(own, specified, *(head.bits for head in heads), strict=True)):
        groups.setdefault(numbers, []).append(site)
    result = [0] * len(own)
    for numbers, group in groups.items():
        terms = [(b, bit) for (_, b), bit in zip(factors, numbers[2:], strict=True)]
        value = state.diagrams.map("clip", clip, state.diagrams.linear([(1, numbers[1]), *terms]))
        demands = []
        for rest, target, *bits in state.diagrams.values(state.diagrams.join(numbers)):
            if not all(isinstance(number, int | Fraction) for number in (rest, target)):
                raise NotProved(f"{what} reads what depends on the position together with attended values")
            total = clip(target + sum(b * bit for (_, b), bit in zip(factors, bits, strict=True)))
            if total not in (0, 1):
                raise NotProved(f"{what} is specified to be neither 0 nor 1 somewhere")
            demands.append(_Demand(rest, tuple(bits), int(total)))
        _hold(state, group, demands, [a for a, _ in factors], heads, what)
        for site in group:
            result[site] = value
    return result


def _hold(
    state: State,
    group: list[int],
    demands: Sequence[_Demand],
    factors: Sequence[Rational],
    heads: Sequence[BooleanHead],
    what: str,
) -> None:
    """Hold the demands at the sites of a group, with the largest deviations among them; note the margins."""
    import numpy as np

    sites = np.array(group)
    largest = [[head.deviation(bit, group) for bit in (0, 1)] for head in heads]
    # The case that is shown is the first that comes as close as makes no difference: the shortest word.
    places = [
        [int(sites[np.argmax(~(head.wrong[bit][sites] < top[bit] * (1 - SHOWN_AS_EQUAL)))]) for bit in (0, 1)]
        for head, top in zip(heads, largest, strict=True)
    ]
    for demand in demands:
        deviations = [Fraction(top[bit]) for top, bit in zip(largest, demand.bits, strict=True)]
        margin = _margin(demand, factors, heads, deviations)
        for head, bit, place, deviation in zip(heads, demand.bits, places, deviations, strict=True):
            if head.worst is None or head.worst.margin is None or margin < head.worst.margin:
                head.worst = boolean_case(state, head, place[bit], bit, deviation, margin)
        if margin >= 0:
            continue
        first = heads[0]
        failing: list[Case] = []
        for site in group:
            here = [Fraction(head.deviation(bit, [site])) for head, bit in zip(heads, demand.bits, strict=True)]
            margin = _margin(demand, factors, heads, here)
            if margin < 0 and len(failing) < SHOWN_CASES:
                failing.append(boolean_case(state, first, site, demand.bits[0], here[0], margin))
        rounded = any(head.extremes is not None and head.extremes[0].rounding > ROUNDED for head in heads)
        reason = f"head {first.name} can be so far off that {what} is wrong"
        raise NotProved(reason, first.name, tuple(failing), rounded)


def _margin(
    demand: _Demand, factors: Sequence[Rational], heads: Sequence[BooleanHead], deviations: Sequence[Fraction]
) -> Fraction:
    """The distance of the network's input from the threshold that it must have passed, in the worst case."""
    low = high = Fraction(demand.rest)
    for factor, head, bit, deviation in zip(factors, heads, demand.bits, deviations, strict=True):
        first, last = (Fraction(head.values[0]) + (Fraction(head.values[1]) - head.values[0]) * share
                       for share in ((0, deviation) if bit == 0 else (1 - deviation, 1)))  # fmt: skip
        ends = (factor * first, factor * last)
        low, high = low + min(ends), high + max(ends)
    return low - 1 if demand.result else -high


# ---- clips that compare counts ----


def counted(
    state: State, rest: list[int], inputs: Sequence[tuple[int, Rational]], which: Which, what: str
) -> list[int]:
    """A clip of exact inputs, looked-up numbers and means, the same form in network and specification."""
    sizes = [_sizes(state, coordinate, what) for coordinate, _ in inputs]
    groups: dict[tuple[Any, ...], list[int]] = {}
    for site, key in enumerate(zip(rest, *sizes, strict=True)):
        groups.setdefault(key, []).append(site)
    variable = state.diagrams.variable(("clip", which))
    result = [0] * len(rest)
    spans: dict[tuple[int, Any], _Span] = {}
    lattices: dict[tuple[Any, ...], _Span] = {}
    least = _Least(state, inputs)
    for (number, *counts), group in groups.items():
        if tuple(counts) not in lattices:
            for place, ((coordinate, coefficient), size) in enumerate(zip(inputs, counts, strict=True)):
                if (place, size) not in spans:
                    spans[place, size] = _span(state, coordinate, Fraction(coefficient), size)
            parts = [spans[place, size] for place, size in enumerate(counts)]
            lattices[tuple(counts)] = _Span(
                sum(part.low for part in parts), sum(part.high for part in parts), common([part.step for part in parts])
            )
        lattice = lattices[tuple(counts)]
        taken = set()
        for base in state.diagrams.values(number):
            below, above = _neighbours(base + lattice.low, base + lattice.high, lattice.step)
            taken |= ({0} if below is not None else set()) | ({1} if above is not None else set())
            distances = ([] if below is None else [-below]) + ([] if above is None else [above - 1])
            if not distances:
                raise NotProved(f"{what} is specified to be neither 0 nor 1 somewhere")
            least.hold(group, min(distances), what)
        value = variable if len(taken) == 2 else state.diagrams.terminal(taken.pop())
        for site in group:
            result[site] = value
    return result


def _sizes(state: State, coordinate: int, what: str) -> list[Any]:
    """How many values a mean or a looked-up number has, by site."""
    if coordinate in state.means:
        return state.means[coordinate].sizes
    head = state.attended.get(coordinate)
    if isinstance(head, CountHead):
        return head.largest
    raise NotProved(f"{what} reads '{state.model.coordinates[coordinate]}' together with counts")


@dataclass(frozen=True, slots=True)
class _Span:
    """What inputs can add: from `low` to `high` in steps of `step`."""

    low: Rational
    high: Rational
    step: Fraction


def _span(state: State, coordinate: int, factor: Fraction, size: int) -> _Span:
    """What one input can add, where it has so many values."""
    if coordinate in state.means:
        return _Span(plain(min(factor, Fraction(0))), plain(max(factor, Fraction(0))), abs(factor) / size)
    head = state.attended[coordinate]
    assert isinstance(head, CountHead)
    ends = [plain(factor * (head.base + head.slope * position)) for position in (1, size)]
    return _Span(min(ends), max(ends), abs(factor * head.slope))


def _neighbours(low: Rational, high: Rational, step: Fraction) -> tuple[Rational | None, Rational | None]:
    """The largest lattice point below 1 and the least from 1 on, among low, low + step, ..., high.

    A point between 0 and 1 is the largest below 1, which then is not at most 0.
    """
    if not step:
        return (low, None) if low < 1 else (None, low)
    # In units of one over a common denominator everything is an integer.
    unit = math.lcm(low.denominator, high.denominator, step.denominator)
    first, end, by = (number.numerator * (unit // number.denominator) for number in (low, high, step))
    last = first + by * ((end - first) // by)
    above = first + by * max(0, -((first - unit) // by))
    below = min(above - by, last)
    return _over(below, unit) if below >= first else None, _over(above, unit) if above <= last else None


def _over(top: int, unit: int) -> Rational:
    return top if unit == 1 else Fraction(top, unit)


SCREEN = 1e-9
"""Margins that are larger than the least so far, by so much relative to what they are the difference of, need not be
known exactly: in float64 they are off by far less."""


class _Least:
    """The least margin of the heads that a clip reads; it fails where it is negative."""

    def __init__(self, state: State, inputs: Sequence[tuple[int, Rational]]) -> None:
        self.state, self.heads, self.factors = state, list[CountHead](), list[Fraction]()
        for coordinate, coefficient in inputs:
            head = state.attended.get(coordinate)
            if coordinate not in state.means and isinstance(head, CountHead):
                self.heads.append(head)
                self.factors.append(abs(Fraction(coefficient)))
        self.errors = [(float(factor) * head.error).tolist()
                       for head, factor in zip(self.heads, self.factors, strict=True)]  # fmt: skip

    @property
    def known(self) -> float:
        """A margin below this one is news to some head."""
        return max(
            (math.inf if head.worst is None or head.worst.margin is None else float(head.worst.margin)
             for head in self.heads),
            default=0.0,
        )  # fmt: skip

    def hold(self, group: list[int], distance: Rational, what: str) -> None:
        """Hold that a point so far from the threshold stays on its side at the sites of a group, whatever the errors.

        Raises:
            NotProved: if it may not.
        """
        largest = sum(max(errors[site] for site in group) for errors in self.errors)
        away = float(distance)
        if away - largest > max(self.known, 0.0) + SCREEN * (1 + abs(away) + largest):
            return
        places = [max(group, key=lambda site: head.error[site]) for head in self.heads]
        margin = Fraction(distance)
        for head, factor, place in zip(self.heads, self.factors, places, strict=True):
            margin -= factor * Fraction(float(head.error[place]))
        for head, place in zip(self.heads, places, strict=True):
            if head.worst is None or head.worst.margin is None or margin < head.worst.margin:
                head.worst = count_case(self.state, head, place, margin)
        if margin < 0:
            cases: tuple[Case, ...] = tuple(head.worst for head in self.heads if head.worst is not None)
            raise NotProved(
                f"the errors of the counts can add up so far that {what} is wrong",
                self.heads[0].name if self.heads else None,
                cases,
            )
