"""Proof of both links, for all words of every length up to a bound.

The first link says that the softmax network computes the same as its hard heads. It is proved by induction over the
layers. The input of a layer is exact and the same in both (or a mean, which is exact, or an attended value with a
bound); each head is within its bound of the specified value; and each clip makes its output exact. From the
compiler only the specification of the value that each head should read is taken. The second link, that the hard
heads compute the formula, is proved in `meaning`.

Two clips agree at a site if for every assignment of the exact Booleans, every specified value of the heads that
they read and every deviation of the heads from it, the network's input is at most 0 where the specified clip is 0,
and at least 1 where it is 1. The distance of the input from that threshold is the margin. Inputs are linear, so the
worst deviation is that of each head on its own.

Where counts or means are read, the specified input is known to lie in a lattice `base + step * integer` within an
interval, and the deviations must not reach from its points outside (0, 1) into it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np

from hardsim.errors import InputError
from hardsim.lang.core import Core, Lit, Node, Numeric, looks_ahead
from hardsim.lang.predicate import BUILT_IN
from hardsim.lang.reals import lower
from hardsim.lazy_dataclass import dataclass
from hardsim.network.numbers import Mask, Rational, plain
from hardsim.network.store import Users
from hardsim.network.transformer import FeedForward, HiddenUnit, SoftWeighting, Terms, Transformer
from hardsim.program.hard_attention import Affine, Program, ProgramLayer, Unit
from hardsim.proof.formulas.account import account_of
from hardsim.proof.formulas.facts import Column, Facts, TooLarge, clip
from hardsim.proof.formulas.geometric import nearest_by_site, no_counts
from hardsim.proof.formulas.head_argument import (
    Argument,
    attend,
    look_up_errors,
    nearest,
    numbers_apart,
    separate,
    sign_errors,
)
from hardsim.proof.formulas.nearest import LocalType, NearestReading
from hardsim.proof.formulas.normed import prove_normed
from hardsim.proof.formulas.rounded import prove_rounded
from hardsim.proof.formulas.sites import Sites
from hardsim.proof.formulas.sparsemax import sparse_apart, sparse_look_up, sparse_worst_case, sparse_wrong_sign
from hardsim.proof.formulas.state import Attended, BooleanHead, Counted, CountHead, ExactColumn, Margins, State
from hardsim.proof.shared.ratios import common
from hardsim.proof.shared.result import HeadProof, LinkProof, NotProved, Proof, TypeRun, WorstCase
from hardsim.run.float_trust import arithmetic_fault

NETWORK = "the softmax network = its hard heads"
MEANING = "its hard heads = the formula"
"""Claim of the second link. The claim of the first is `NETWORK`."""
LARGEST = 1_000_000
"""Largest number of positions in one word of each length, all lengths together."""
Report = Callable[[int, int], None]
"""Function that is called with the number of heads done and the number of all heads."""
SHOWN_AS_EQUAL = 1e-9
"""Relative difference up to which worst cases are shown as one."""
ROUNDED = 2.0**-30
"""Rounding error of a logit, in nats, above which a failed bound is blamed on float64."""
SHOWN_CASES = 64
"""Largest number of failing sites that are kept; the shortest words come first."""


def sites_up_to(
    model: Transformer, program: Program, max_n: int, core: Core | None = None, min_n: int = 1
) -> tuple[Sites, bool]:
    """Return the sites of the lengths `min_n` to `max_n`, and True if the longest length stands for all because
    nothing depends on the length. Raises InputError if there are more than `LARGEST` positions."""
    prefix = one_for_all(model, program, core)
    require_size(max_n if prefix else min_n, max_n)
    if prefix:
        return Sites((max_n,), shortest=min_n), True
    return Sites(tuple(range(min_n, max_n + 1)), only_last=True), False


def one_for_all(model: Transformer, program: Program, core: Core | None) -> bool:
    """Return True if a proof of one length proves all shorter ones, because nothing in network, specification and
    formula depends on the length. Then every head is future-masked and nothing is a function of n, so the values at
    position i of any longer word are those at the last position of its prefix of length i."""
    functions = [model.temperature, *(value for _, value in model.encodings), *(one.value for one in program.encodings)]
    if any("n" in one.variables for one in functions) or any(head.mask is not Mask.FUTURE for head in model.heads):
        return False
    return core is None or not any(depends_on_whole_word(core.nodes[number]) for number in core.live)


def positions(min_n: int, max_n: int) -> int:
    """Return the number of positions in one word of each length from `min_n` to `max_n`, together."""
    return (max_n * (max_n + 1) - min_n * (min_n - 1)) // 2


def require_size(min_n: int, max_n: int) -> None:
    """Raise InputError if one word of each length has too many positions for memory (about 2 kB a position)."""
    sites = positions(min_n, max_n)
    if sites > LARGEST:
        raise InputError(
            f"the lengths from {min_n:,} to {max_n:,} have {sites:,} positions together, and at most "
            f"{LARGEST:,} are supported",
            hint="Prove fewer lengths at a time with --min-n and --max-n (equal for a single length), or every length "
            "with --all-n.",
        )


def linked(claim: str, argue: Callable[[], Mapping[str, Lit] | None]) -> LinkProof:
    """Return a link of a proof after a call of `argue`: proved, with the literals that it returned, or with the reason
    why it failed."""
    try:
        literals = argue()
    except NotProved as failure:
        return LinkProof(claim, failure.reason, failure.head, failure.cases, rounded=failure.rounded)
    except TooLarge as failure:
        message = f". {failure}" if failure.args else ""
        return LinkProof(claim, f"the formula's Boolean functions are too large for this prover{message}", limit=True)
    except OverflowError:
        return LinkProof(claim, "a weight or an encoding is too large for this prover", limit=True)
    return LinkProof(claim, literals=literals)


def walked(
    model: Transformer, program: Program, facts: Facts, argument: Argument, report: Report | None = None
) -> tuple[LinkProof, tuple[HeadProof, ...]]:
    """Return the first link (the softmax network equals its hard heads), proved or not, and the results of the heads
    that its proof reached (see `walk`)."""
    known: dict[str, Attended | None] = {}
    claim = NETWORK.replace("softmax", model.weighting)
    link = linked(claim, lambda: walk(State(model, program, facts, heads=known), argument, report))
    readers: dict[str, dict[str, None]] = {head.out: {} for head in program.heads}
    for unit in (unit for layer in program.layers for unit in layer.units):
        for name in readers.keys() & dict(unit.reads):
            readers[name][str(unit.pre)] = None
    heads = []
    for number, layer in enumerate(program.layers, start=1):
        for head in (head for head in layer.heads if head.name in known):
            found = known[head.name]
            clips = tuple(readers[head.out])
            worst, why = (None, None) if found is None else (found.worst, found.argument)
            margin = None if worst is None else worst.margin
            heads.append(HeadProof(head.name, number, head.purpose, found is None, worst, margin, why, clips))
    return link, tuple(heads)


def prove_meaning(program: Program, core: Core, facts: Facts) -> LinkProof:
    """Return the second link: a program's output at the last position equals the formula's truth there, for all
    words. The formula is the one in the file from which `core` was made; the core's nodes decide only where to cut."""
    return linked(MEANING, lambda: account_of(facts, program, core).literals())


def depends_on_whole_word(node: Node) -> bool:
    """Return True if the truth of a core node at a position can depend on later positions or on the length."""
    # A user's own predicate may depend on the length.
    own = isinstance(node, Numeric) and node.name not in BUILT_IN and node.name != "MOD"
    return own or looks_ahead(node)


def walk(state: State, argument: Argument, report: Report | None) -> None:
    """Prove all layers in order; NotProved where the argument fails. `argument` bounds heads and margins, `report`
    is called after each head."""
    model, program = state.model, state.program
    # Compiled formulas have none of these, and the argument does not cover them.
    has = [
        (model.bos, "has a beginning of sequence"),
        (model.threshold is not None, "has a threshold"),
        (model.reading != "last", "is read at another position than the last"),
    ]
    found = [what for where, what in has if where]
    if found:
        raise NotProved(f"the network {' and '.join(found)}, which this kind of proof does not cover")
    strict = next((head for head in model.heads if head.mask.strict), None)
    if strict is not None and model.weighting is not SoftWeighting.GEOMETRIC:
        raise NotProved(f"the network's head {strict.name} does not see its own position", strict.name)
    if model.alphabet != program.alphabet:
        raise NotProved("the network and its specification have different alphabets")
    if len(model.layers) != len(program.layers):
        raise NotProved(f"the network has {len(model.layers)} layers, its specification {len(program.layers)}")
    for number, (own, layer) in enumerate(zip(model.layers, program.layers, strict=True), start=1):
        if len(own.heads) != len(layer.heads):
            raise NotProved(f"layer {number} has {len(own.heads)} heads, its specification {len(layer.heads)}")
        for head_plan, head in zip(own.heads, layer.heads, strict=True):
            attend(state, head_plan, head, argument)
            if report is not None:
                report(len(state.heads), len(program.heads))
        for place, coordinate, value in state.pending:
            place[coordinate] = value
        state.pending.clear()
        feed_forward(state, own.ffn, layer, argument.margins)
    name = model.coordinates[model.output]
    if name != program.output:
        raise NotProved(f"the network's output is '{name}', the specified one '{program.output}'")
    if model.output not in state.exact:
        raise NotProved(f"the output '{name}' is not rounded")
    output = state.exact[model.output]
    for site in state.sites.read_at():
        if output.soft[site] != output.hard[site]:
            raise NotProved(f"the output '{name}' differs from the specification")
        if not set(state.diagrams.values(output.soft[site])) <= {0, 1}:
            raise NotProved(f"the output '{name}' can have values other than 0 and 1")


# ---- clips ----


def feed_forward(state: State, plan: FeedForward, layer: ProgramLayer, margins: Margins) -> None:
    """Add the coordinates that a layer's clips write to the state. Raises NotProved unless each clip is proved to
    give the specified value."""
    if not all(unit.clip for unit in plan.units):
        raise NotProved("a feed-forward layer has a hidden unit that is not a clip (a pair relu(z) - relu(z - 1))")
    names = state.model.coordinates
    own, expected = by_coordinate(state, plan, layer)
    biases, specified = dict(plan.biases), {state.place(name): bias for name, bias in layer.biases}
    written: dict[int, tuple[Column, bool]] = {}
    for out in sorted(own.keys() | expected.keys() | biases.keys() | specified.keys()):
        if state.written(out):
            raise NotProved(f"the coordinate '{names[out]}' is written twice, the second time by a clip")
        bias, units, items = biases.get(out, 0), own.get(out, []), expected.get(out, [])
        if bias != specified.get(out, 0) or [weight for weight, _ in units] != [item.weight for item in items]:
            raise NotProved(f"the weights that write the coordinate '{names[out]}' are not the specified ones")
        clips = [_capped(state, unit, item, (out, number), margins)
                 for number, ((_, unit), item) in enumerate(zip(units, items, strict=True))]  # fmt: skip
        parts = [(weight, column) for (weight, _), (column, _) in zip(units, clips, strict=True)]
        written[out] = state.facts.combine(parts, bias), any(reads for _, reads in clips)
    for out, (column, attended) in written.items():
        if attended:
            # From here on the column is one variable, except at sites where it is constant.
            variable = state.bit(out)
            if not state.facts.boolean(column):
                raise NotProved(f"the coordinate '{names[out]}' can have values other than 0 and 1")
            column = tuple([number if state.diagrams.constant(number) else variable for number in column])
        state.exact[out] = ExactColumn(column, column)


def by_coordinate(
    state: State, plan: FeedForward, layer: ProgramLayer
) -> tuple[dict[int, list[tuple[Rational, HiddenUnit]]], dict[int, list[Unit]]]:
    """Return the hidden units that write each coordinate, by its number: in the network, as pairs of the weight
    and the unit, and in the specification."""
    own: dict[int, list[tuple[Rational, HiddenUnit]]] = {}
    for unit in plan.units:
        for out, weight in unit.outs:
            own.setdefault(out, []).append((weight, unit))
    expected: dict[int, list[Unit]] = {}
    for item in layer.units:
        expected.setdefault(state.place(item.out), []).append(item)
    return own, expected


def _capped(
    state: State, unit: HiddenUnit, item: Unit, which: tuple[int, int], margins: Margins
) -> tuple[Column, bool]:
    """Return the value of a clip as `_clip` does, with its cap: `relu(z) - relu(z - b)` is the conjunction of the clip
    with b, if the clip is 0 or 1, so that z is at most 0 or at least 1, and b is 0 or 1 too."""
    value, attended = _clip(state, unit, item, which, margins)
    expected = Affine.constant(1) if item.cap is None else item.cap
    if not unit.cap and unit.cap_bias == 1 and item.cap is None:
        return value, attended
    what, facts = f"the cap of the clip that writes '{item.out}'", state.facts
    own, target = state.soft(unit.cap, unit.cap_bias, what), state.hard(state.terms(expected), what)
    if own != target or not facts.boolean(own):
        raise NotProved(f"{what} is not the specified Boolean")
    if not facts.boolean(value):
        raise NotProved(f"the clip that writes '{item.out}' has a cap, and values other than 0 and 1")
    return facts.both([value, own]), attended


def _clip(state: State, unit: HiddenUnit, item: Unit, which: tuple[int, int], margins: Margins) -> tuple[Column, bool]:
    """Return the value of a clip at every site, and True if it reads attended values. `which` is the coordinate
    that it writes and its number, from 0, among the clips that write that coordinate."""
    what = f"the clip that writes '{item.out}'"
    form = state.terms(item.pre)
    heads = dict.fromkeys(k for terms in (unit.form, form) for k, _ in terms if k not in state.exact)
    if not heads:
        value, target = _exact(state, unit.form, unit.bias, True, what), _exact(state, form, 0, False, what)
        if value != target:
            site = next(site for site, pair in enumerate(zip(value, target, strict=True)) if pair[0] != pair[1])
            raise NotProved(f"{what} differs from the specification at {state.sites.place(site)}")
        return value, False
    (factors, rest), (expected, rest_expected) = separate(unit.form, heads), separate(form, heads)
    own, specified = state.soft(rest, unit.bias, what), state.hard(rest_expected, what)
    found = [state.attended.get(k) for k in heads]
    if all(isinstance(head, BooleanHead) for head in found):
        booleans = [head for head in found if isinstance(head, BooleanHead)]
        pairs = [(factors.get(k, 0), expected.get(k, 0)) for k in heads]
        return _Rounding(state, pairs, booleans, what).column(own, specified), True
    if own != specified or any(factors.get(k, 0) != expected.get(k, 0) for k in heads):
        raise NotProved(f"{what} reads counts with coefficients other than the specified ones")
    return _counted(state, own, [(k, factors.get(k, 0)) for k in heads], which, what, margins), True


def _exact(state: State, form: Terms, constant: Rational, soft: bool, what: str) -> Column:
    """Return the value of a clip of exact coordinates at every site, in the network (`soft`) or in the
    specification."""
    read = [(factor, state.exact_of(k, what)) for k, factor in form]

    def cut(place: int) -> int | None:
        k, column = form[place][0], read[place][1]
        alike = column.soft == column.hard and state.facts.boolean(column.soft)
        return state.bit(k) if alike else None

    return state.facts.clip([(factor, one.soft if soft else one.hard) for factor, one in read], constant, cut)


# ---- clips that round attended Booleans ----


@dataclass(frozen=True)
class _Rounding:
    """Clip of exact inputs and attended Booleans, with the Booleans' coefficients in network and specification
    (`factors`)."""

    state: State
    factors: Sequence[tuple[Rational, Rational]]
    heads: Sequence[BooleanHead]
    what: str

    def column(self, own: Column, specified: Column) -> Column:
        """Return the clip's value at every site, given the sum of its exact inputs in the network (`own`) and in
        the specification (`specified`). Raises NotProved where the two clips may differ."""
        diagrams, groups = self.state.diagrams, dict[tuple[int, ...], list[int]]()
        for site, numbers in enumerate(zip(own, specified, *(head.bits for head in self.heads), strict=True)):
            groups.setdefault(numbers, []).append(site)
        result = [0] * len(own)
        for numbers, group in groups.items():
            terms = [(b, bit) for (_, b), bit in zip(self.factors, numbers[2:], strict=True)]
            value = diagrams.map("clip", clip, diagrams.linear([(1, numbers[1]), *terms]))
            for demand in [self._demand(*case) for case in diagrams.values(diagrams.join(numbers))]:
                self._hold(group, *demand)
            for site in group:
                result[site] = value
        return tuple(result)

    def _demand(self, rest: Rational, target: Rational, *bits: int) -> tuple[Rational, tuple[int, ...], int]:
        """Return one requirement: the network's input without heads, the Booleans that the heads should read, and
        the side (0 or 1) on which the input must then be."""
        if not all(isinstance(number, int | Fraction) for number in (rest, target)):
            raise NotProved(f"{self.what} reads a value that depends on the position together with attended values")
        total = clip(target + sum(b * bit for (_, b), bit in zip(self.factors, bits, strict=True)))
        if total not in (0, 1):
            raise NotProved(f"the specification gives {self.what} a value between 0 and 1")
        return rest, bits, int(total)

    def _hold(self, group: list[int], rest: Rational, bits: tuple[int, ...], result: int) -> None:
        """Raise NotProved unless a requirement holds at the sites of a group, with the largest deviations among
        them; record margins and worst cases."""
        read, sites = list(zip(self.heads, bits, strict=True)), np.array(group)
        deviations = [Fraction(head.deviation(bit, group)) for head, bit in read]
        margin = self._margin(rest, bits, result, deviations)
        for (head, bit), deviation in zip(read, deviations, strict=True):
            if _worse(head, margin):
                # Show the shortest word among the cases whose deviation is the largest up to SHOWN_AS_EQUAL.
                close = ~(head.wrong[bit][sites] < float(deviation) * (1 - SHOWN_AS_EQUAL))
                head.worst = boolean_case(self.state, head, group[int(np.argmax(close))], bit, deviation, margin)
        if margin >= 0:
            return
        first, failing = self.heads[0], list[WorstCase]()
        for site in group:
            here = [Fraction(head.deviation(bit, [site])) for head, bit in read]
            margin = self._margin(rest, bits, result, here)
            if margin < 0 and len(failing) < SHOWN_CASES:
                failing.append(boolean_case(self.state, first, site, bits[0], here[0], margin))
        rounded = any(head.extremes is not None and head.extremes[0].rounding > ROUNDED for head in self.heads)
        reason = f"head {first.name} can be so far off that {self.what} is wrong"
        raise NotProved(reason, first.name, tuple(failing), rounded)

    def _margin(
        self, rest: Rational, bits: Sequence[int], result: Rational, deviations: Sequence[Fraction]
    ) -> Fraction:
        """Return the distance of the network's input from the threshold that it must pass, in the worst case;
        negative if it may fail."""
        low = high = Fraction(rest)
        for (factor, _), head, bit, deviation in zip(self.factors, self.heads, bits, deviations, strict=True):
            first, last = (Fraction(head.values[0]) + (Fraction(head.values[1]) - head.values[0]) * share
                           for share in ((0, deviation) if bit == 0 else (1 - deviation, 1)))  # fmt: skip
            ends = (factor * first, factor * last)
            low, high = low + min(ends), high + max(ends)
        return low - 1 if result else -high


def _worse(head: Attended, margin: Fraction) -> bool:
    """Return True if a margin is less than all earlier margins of a head."""
    return head.worst is None or head.worst.margin is None or margin < head.worst.margin


# ---- clips that compare counts ----


def _counted(
    state: State,
    rest: Column,
    inputs: Sequence[tuple[int, Rational]],
    which: tuple[int, int],
    what: str,
    margins: Margins,
) -> Column:
    """Return the value, by site, of a clip of exact inputs, looked-up numbers and means, with equal coefficients in
    network and specification. Raises NotProved where errors may change it."""
    counts: list[tuple[Fraction, Counted]] = []
    for k, coefficient in inputs:
        source = state.means.get(k) or state.attended.get(k)
        if not isinstance(source, Counted):
            raise NotProved(f"{what} reads '{state.model.coordinates[k]}' together with counts")
        counts.append((Fraction(coefficient), source))
    groups: dict[tuple[Any, ...], list[int]] = {}
    for site, key in enumerate(zip(rest, state.sites.apart(), *(source.sizes for _, source in counts), strict=True)):
        groups.setdefault(key, []).append(site)
    read = [(abs(c), head, head.error.tolist()) for c, head in counts if isinstance(head, CountHead)]
    variable = state.diagrams.variable(("clip", which))
    result = [0] * len(rest)
    judges: dict[tuple[Any, ...], Callable[[Any], dict[int, Rational]]] = {}
    for (number, *sizes), group in groups.items():
        judge = judges.get(tuple(sizes)) or judges.setdefault(tuple(sizes), margins(state, counts, group[0], what))
        # Sites of a group have equal specified inputs, so the site with the largest error decides for each count.
        worst = [(c, head, max(group, key=errors.__getitem__)) for c, head, errors in read]
        error = sum((c * Fraction(float(head.error[place])) for c, head, place in worst), Fraction(0))
        taken = set[int]()
        for base in state.diagrams.values(number):
            found = judge(base)
            taken |= found.keys()
            margin = min(found.values()) - error
            if margin < 0:
                margin = max(margin, _together(counts, group, base, found, error))
            for _, head, place in worst:
                if _worse(head, margin):
                    off = Fraction(float(head.error[place]))
                    head.worst = WorstCase(state.sites.n[place], state.sites.i[place], None, off, margin, None)
            if margin < 0:
                reason = f"the errors of the counts can add up so far that {what} is wrong"
                cases = tuple(head.worst for _, head, _ in worst if head.worst is not None)
                raise NotProved(reason, worst[0][1].name if worst else None, cases)
        value = variable if len(taken) == 2 else state.diagrams.terminal(taken.pop())
        for site in group:
            result[site] = value
    return tuple(result)


def _together(
    counts: Sequence[tuple[Fraction, Counted]],
    sites: Sequence[int],
    base: Any,
    found: Mapping[int, Rational],
    error: Fraction,
) -> Fraction:
    """Return the margin of a clip that reads only the difference of two numbers, looked up with equal scores; -1 for
    any other clip. `found` has, for each side of the threshold, the clip's margin without errors, and `error` is the
    sum of both numbers' errors.

    Both look-ups err in a similar way, so the error of the difference may be smaller than `error` (ours). Let the
    input be `base + factor (p - q)`, where p and q are the positions that should be read. On each side of the
    threshold, the nearest specified input determines p - q; `CountHead.apart` then bounds how much farther off the
    one number can be than the other. All other inputs are at least a whole `factor` farther away; there both errors
    count in full.
    """
    pairs = [(factor, head) for factor, head in counts if isinstance(head, CountHead)]
    if len(pairs) != 2 or len(counts) != 2 or not isinstance(base, int | Fraction):
        return Fraction(-1)
    (first, one), (second, other) = pairs
    if one.like != other.like or first + second != 0 or not first * one.slope:
        return Fraction(-1)
    factor, rest = first * one.slope, base + first * (Fraction(one.base) - other.base)
    margins = [Fraction(margin) + abs(factor) - error for margin in found.values()]
    for side, margin in found.items():
        distance = (Fraction(1 + margin if side else -margin) - rest) / factor
        apart = max(one.apart(site, int(distance)) for site in sites) if distance.denominator == 1 else math.inf
        if not math.isfinite(apart):
            return Fraction(-1)
        margins.append(margin - abs(first) * Fraction(apart))
    return min(margins)


def lattice_margins(
    state: State, counts: Sequence[tuple[Fraction, Counted]], site: int, what: str
) -> Callable[[Any], dict[int, Rational]]:
    """Return the margins of a clip at one site, as `Margins` describes, where counts lie in a lattice."""
    lows, highs, steps = zip(*(source.span(factor, site) for factor, source in counts), strict=True)
    low, high, step = plain(sum(lows)), plain(sum(highs)), common(steps)

    def judge(base: Any) -> dict[int, Rational]:
        below, above = _neighbours(base + low, base + high, step)
        if below is None and above is None:
            raise NotProved(f"the specification gives {what} a value between 0 and 1")
        found = {} if below is None else {0: -below}
        return found if above is None else found | {1: above - 1}

    return judge


def _neighbours(low: Rational, high: Rational, step: Fraction) -> tuple[Rational | None, Rational | None]:
    """Return two points of the lattice low, low + step, ..., high: the largest below 1, and the least from 1 on; None
    where there is none. If points lie strictly between 0 and 1, the largest of them is the first result: the caller
    must check that the first result is at most 0."""
    if not step:
        return (low, None) if low < 1 else (None, low)
    # Integers are faster than fractions: all numbers in units of one over a common denominator.
    unit = math.lcm(low.denominator, high.denominator, step.denominator)
    first, end, by = (number.numerator * (unit // number.denominator) for number in (low, high, step))
    last = first + by * ((end - first) // by)
    above = first + by * max(0, -((first - unit) // by))
    below = min(above - by, last)
    low, high = (plain(Fraction(number, unit)) for number in (below, above))
    return low if below >= first else None, high if above <= last else None


# ---- worst cases in words ----


def boolean_case(state: State, head: BooleanHead, site: int, bit: int, error: Fraction, margin: Fraction) -> WorstCase:
    """Return the worst case of an attended Boolean at a site, where the specified value is `bit`."""
    i, n = state.sites.i[site], state.sites.n[site]
    size = abs(Fraction(head.values[1]) - head.values[0]) * error
    case = WorstCase(n, i, Fraction(bit), size, margin, None)
    winner = 0 if head.extremes is None else int(head.extremes[bit].winner[site])
    if head.reading is None or not winner:
        return case
    chosen = attaining(state, head.reading, site, winner, bit)
    runs, symbols = [], {j: dict(kind.example).get(None, "") for j, kind in chosen}
    for text_of_position, part in groupby(
        chosen, key=lambda item: text(item[1]) + " (should win)" * (item[0] == winner)
    ):
        places = [j for j, _ in part]
        runs.append(TypeRun(places[0], places[-1], text_of_position))
    word = tuple(symbols.get(j, "") for j in range(1, n + 1))
    return replace(case, winner=winner, types=tuple(runs), symbols=word)


def text(kind: LocalType) -> str:
    """Return a local type as text for reports."""
    parts = [value if name is None else f"{name} = {value}" for name, value in kind.example]
    own = f"[{'selected' if kind.selected else 'not selected'}, value {kind.value}]"
    return f"{', '.join(parts)} {own}" if parts else own


def attaining(state: State, reading: NearestReading, site: int, winner: int, bit: int) -> list[tuple[int, LocalType]]:
    """Return pairs of a visible position (from 1, in order) and its worst local type, where position `winner`
    should be read and has value `bit`."""
    i, n = state.sites.i[site], state.sites.n[site]
    start = state.sites.starts[n]
    query = [row[site] for row in reading.queries]

    def logit(kind: LocalType) -> Fraction:
        return sum((lower(q * k) for q, k in zip(query, kind.key, strict=True)), Fraction(0))

    kinds = {j: reading.types[reading.kinds[start + j - 1]] for j in reading.mask.visible(i, n)}
    selected = any(kind.selected and kind.value == bit for kind in kinds[winner])
    result = []
    for j, types in kinds.items():
        if j == winner:
            chosen = min((kind for kind in types if kind.value == bit and kind.selected is selected), key=logit)
        else:
            beyond = (j > winner) == reading.rightmost
            free = types if selected and not beyond else [kind for kind in types if not kind.selected]
            wrong = [kind for kind in free if kind.value != bit]
            chosen = max(wrong, key=logit) if wrong else min(free, key=logit)
        result.append((j, chosen))
    return result


NUMERIC = Argument(nearest, look_up_errors, numbers_apart, sign_errors, lattice_margins)
"""Bounds of heads and clips that are computed site by site."""
GEOMETRIC = Argument(nearest_by_site, no_counts, no_counts, no_counts, lattice_margins)
"""Bounds of heads in geometric attention, computed site by site. It has no means, so that nothing counts."""


def argument_for(weighting: SoftWeighting) -> Argument:
    """Return the bounds of heads and clips under a weighting, computed site by site."""
    cutoff = weighting.cutoff
    if cutoff is None:
        return GEOMETRIC if weighting is SoftWeighting.GEOMETRIC else NUMERIC
    return Argument(
        partial(nearest, worst_case=partial(sparse_worst_case, weighting=weighting)),
        sparse_look_up,
        sparse_apart,
        partial(sign_errors, share=partial(sparse_wrong_sign, cutoff=cutoff)),
        lattice_margins,
    )


def prove_network(
    model: Transformer, program: Program, sites: Sites, report: Report | None = None
) -> tuple[LinkProof, tuple[HeadProof, ...]]:
    """Return the first link and the results of the heads: the network's output equals that of its hard heads
    exactly at every site, for all words. Raises InputError if the temperature is not positive at some site."""
    fault = arithmetic_fault()
    if fault is not None:
        return LinkProof(NETWORK, f"the prover rounds in float64, and {fault}", limit=True), ()
    argument = argument_for(model.weighting)
    return walked(model, program, Facts(sites, model.alphabet), argument, report)


def prove(
    model: Transformer,
    program: Program,
    max_n: int,
    core: Core | None = None,
    users: Users | None = None,
    min_n: int = 1,
    report: Report | None = None,
) -> Proof:
    """Try to prove that a network accepts exactly the words of a formula, for every word of length `min_n` to
    `max_n`.

    Without a core only the first link is tried: the softmax network computes the same as its specified hard heads.
    `users` are the formula's own predicates. `report` is called with the number of heads done and the number of all
    heads.

    A length of n positions costs O(n) to O(n^2), and all lengths to N together O(N^2) where the queries depend on the
    length alone or one length stands for all. Raises InputError if the temperature is not positive somewhere, or the
    lengths have too many positions together."""
    if model.normed:
        return prove_normed(model, program, core, (min_n, max_n))
    if model.rounding is not None:
        return prove_rounded(model, program, core, (min_n, max_n))
    sites, prefix = sites_up_to(model, program, max_n, core, min_n)
    network, heads = prove_network(model, program, sites, report)
    meaning = None if core is None else prove_meaning(program, core, Facts(sites, core.alphabet, users or {}))
    return Proof(network, meaning, heads, prefix, (min_n, max_n))
