"""The structure of a formula's network for number formats: the requirements under which it is right in a format, for
all words of a length at once.

The proof is by induction over the layers. Booleans are exactly 0 and 1 in the format, as with hard attention: units
that read them compute sums of a few numbers that the format represents, exact in any order. A head looks for the
nearest selected position; the values that it finds at a position are one of a few local types, as the prover of every
length knows them (`proof.formulas.every_length`). Each clip that reads heads must then be 0 or 1, as it is where every
head reads the right value. Where heads count, every combination of counts is a case of its own. `bounds` and `counts`
check these requirements, length by length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, Literal, TypeAlias

import numpy as np

from hardsim.lang.core import Core
from hardsim.lang.valuations import Valuations
from hardsim.lazy_dataclass import dataclass
from hardsim.network.numbers import Mask, Rational
from hardsim.network.store import Users
from hardsim.network.transformer import FeedForward, HiddenUnit, SoftWeighting, Terms, Transformer
from hardsim.program.hard_attention import Head, Program
from hardsim.proof.formulas.arrays import NOTHING
from hardsim.proof.formulas.every_length import EVERY_LENGTH, GeneralFacts, prove_general
from hardsim.proof.formulas.facts import SYMBOL, Column, clip
from hardsim.proof.formulas.head_argument import Argument, Errors, attend, reading_of
from hardsim.proof.formulas.network import feed_forward, one_for_all
from hardsim.proof.formulas.sites import Classes
from hardsim.proof.formulas.state import BooleanHead, CountHead, HeadTask, State
from hardsim.proof.shared.result import NotProved
from hardsim.writing.layout import ExportLayout

COUNTS = "what it counts is not known for all words at once"


@dataclass(frozen=True)
class TypeHere:
    """A local type of a head with the classes of positions that can have it: `key` is, by row of W_K, the part that
    depends on the word."""

    key: tuple[Rational, ...]
    selected: bool
    value: int
    classes: frozenset[int]


@dataclass(frozen=True)
class HeadStructure:
    """A head that looks for the nearest position: the layer, its number among all heads, its rows of W_Q and of W_K,
    the latter as far as they are the same for every word, and the local types."""

    name: str
    layer: int
    number: int
    out: int
    mask: Mask
    rightmost: bool
    queries: tuple[Terms, ...]
    keys: tuple[Terms, ...]
    places: tuple[int, ...]
    """By row of W_K, the number of terms before the one that depends on the word."""
    types: tuple[TypeHere, ...]
    error: float
    """Bound of the head's error over the real numbers, at every length."""

    @property
    def like(self) -> tuple[Any, ...]:
        """The data that the head's logits and values depend on."""
        return self.mask, self.rightmost, self.queries, self.keys, self.places, self.types


@dataclass(frozen=True)
class MeanStructure:
    """A head that averages a value that is the same for every word: `values` by class."""

    name: str
    layer: int
    out: int
    mask: Mask
    values: tuple[Fraction, ...]


@dataclass(frozen=True)
class MarkUnit:
    """A clip that reads a mean that is the same for every word, alone or with coordinates that are exact: `form` is
    what it reads, sorted by coordinate, and `mean` the coordinate of the mean. `cases` are the values that the others
    have together at some position, in the order of the form."""

    layer: int
    what: str
    mean: int
    form: Terms
    bias: Fraction
    cases: frozenset[tuple[Fraction, ...]]


@dataclass(frozen=True)
class CountMean:
    """A head that averages a Boolean, exact 0 and 1: `fixed` by class where it is the same for every word, `column`
    by class as diagrams."""

    name: str
    layer: int
    out: int
    mask: Mask
    column: Column
    fixed: tuple[int, ...] | None


Vectors: TypeAlias = Mapping[tuple[int, ...], str | None]
"""The values that several Booleans together can have at a position, with the symbol there if it decides them."""


@dataclass(frozen=True)
class CountRead:
    """A head whose query has counts: a look-up of one count, or a test of the sign of a combination. All that it
    reads is the same for every word. `means` are the coordinates of the counts that vary between words, `vectors` the
    Booleans that these count together."""

    name: str
    layer: int
    out: int
    mask: Mask
    queries: tuple[Terms, ...]
    keys: tuple[Terms, ...]
    value: Terms
    means: tuple[int, ...]
    vectors: Vectors
    kind: Literal["number", "bit", "sign"]

    @property
    def outs(self) -> frozenset[int]:
        """The coordinate that the head writes to."""
        return frozenset([self.out])

    @property
    def like(self) -> tuple[Any, ...]:
        """The data that the value read depends on. It includes the number of counts, not which Booleans they count."""
        number = {coordinate: -1 - place for place, coordinate in enumerate(self.means)}
        forms = tuple(tuple((number.get(c, c), w) for c, w in query) for query in self.queries)
        return self.mask, forms, self.keys, self.value, self.kind


@dataclass(frozen=True)
class CountUnit:
    """A clip that reads numbers that were looked up, means or functions of the position: `numbers` are the former
    two, by coordinate, `means` the counts that they depend on, and `cases` by class the values of the other
    coordinates it reads."""

    layer: int
    what: str
    form: Terms
    bias: Fraction
    outs: frozenset[int]
    numbers: tuple[int, ...]
    means: tuple[int, ...]
    vectors: Vectors
    others: tuple[int, ...]
    cases: tuple[frozenset[tuple[Fraction, ...]], ...]


@dataclass(frozen=True)
class Demand:
    """The requirement on a clip that reads heads, in one case. It consists of the sum `rest` of the exact terms of
    its input without the bias, the number `terms` of those that are not 0, the sum of their sizes, the bit that it
    should read from each head, and the right result, 0 or 1."""

    layer: int
    what: str
    bias: Fraction
    rest: Fraction
    terms: int
    sizes: Fraction
    bits: tuple[tuple[int, Fraction, int], ...]
    """For each head: its coordinate, its coefficient, and its right bit."""
    result: int

    @property
    def heads(self) -> frozenset[int]:
        """The coordinates of the heads."""
        return frozenset(coordinate for coordinate, _, _ in self.bits)

    @property
    def message(self) -> str:
        """The clause that describes the failure if the requirement is not met."""
        return f"{self.what} may be other than {self.result}"


@dataclass(frozen=True)
class ExactSum:
    """A sum that the format must represent exactly, in every order: the sizes of its terms added up, and a power of
    two of which all of them are multiples."""

    what: str
    sizes: Fraction
    quantum: Fraction


@dataclass
class Structure:
    """The facts about a formula's network on every word of every length, and its requirements on a format."""

    model: Transformer
    layout: ExportLayout
    classes: Classes
    heads: list[HeadStructure] = field(default_factory=list)
    means: list[MeanStructure] = field(default_factory=list)
    counted: dict[int, CountMean] = field(default_factory=dict)
    """The heads that average a Boolean, by coordinate."""
    reads: dict[int, CountRead] = field(default_factory=dict)
    """The heads whose query has counts, by coordinate."""
    units: list[CountUnit] = field(default_factory=list)
    demands: dict[Demand, set[int]] = field(default_factory=dict)
    """The requirements on clips, with the classes of positions at which they apply."""
    marks: list[MarkUnit] = field(default_factory=list)
    """The clips that read a mean that is the same for every word."""
    sums: list[ExactSum] = field(default_factory=list)
    numbers: dict[Fraction, str] = field(default_factory=dict)
    """Other numbers that the format must represent: weights, biases and values of exact coordinates."""
    static: dict[int, tuple[Fraction, ...]] = field(default_factory=dict)
    """The number in each class, by coordinate, for coordinates with a fixed number in every class."""
    causal: bool = False
    """True if the values at a position are the same in all longer words."""

    @cached_property
    def encoded(self) -> frozenset[int]:
        """The coordinates that heads, and clips of counts, read and that are the same for every word."""
        forms = (form for head in self.heads for form in (*head.queries, *head.keys))
        counts = (form for one in self.reads.values() for form in (*one.queries, *one.keys, one.value))
        clips = (unit.form for unit in self.units)
        return frozenset(coordinate for form in (*forms, *counts, *clips) for coordinate, _ in form)

    @cached_property
    def at_the_end(self) -> frozenset[int]:
        """The coordinates that matter only at the position where the answer is read: no head reads them elsewhere,
        nor any value computed from them."""
        model = self.model
        found = set(range(len(model.coordinates)))
        for head in model.heads:
            elsewhere = (*(key for _, key in head.scores), *(form for _, form in head.values))
            found -= {coordinate for form in elsewhere for coordinate, _ in form}
        steps: list[tuple[list[int], list[Terms]]]
        steps = [([out for out, _ in head.values], [query for query, _ in head.scores]) for head in model.heads]
        steps += [([out for out, _ in unit.outs], [unit.reads]) for layer in model.layers for unit in layer.ffn.units]
        # A coordinate is removed if anything removed reads it, until nothing changes.
        left = len(found) + 1
        while left != len(found):
            left = len(found)
            for outs, forms in steps:
                if not found.issuperset(outs):
                    found -= {coordinate for form in forms for coordinate, _ in form}
        return frozenset(found)

    @cached_property
    def different(self) -> frozenset[tuple[Any, ...]]:
        """The data (`like`) that logits and values of the heads depend on, each once."""
        return frozenset(head.like for head in self.heads)


def structure_of(model: Transformer, program: Program, layout: ExportLayout, core: Core, users: Users) -> Structure:
    """Return the structure of a formula's network. Raises NotProved where its facts do not suffice for an enclosure
    of all words of a length."""
    if model.normed:
        raise NotProved("bounds for all words of a length do not cover layer norms")
    if model.rounding is not None:
        raise NotProved("bounds for all words of a length do not cover rounding")
    if model.weighting not in (SoftWeighting.SOFTMAX, SoftWeighting.SPARSEMAX):
        raise NotProved(f"bounds for all words of a length do not cover {model.weighting.text}")
    # A format can only be right where the exact network is, and the bounds reuse the errors of that proof.
    general = prove_general(model, program, core, users)
    if not general.proved:
        raise NotProved(f"it is not proved over the real numbers: {general.reason}")
    classes = Classes(0, one_for_all(model, program, None))
    state = State(model, program, GeneralFacts(classes, model.alphabet))
    found = Structure(model, layout, classes, causal=one_for_all(model, program, None))
    lettered = {column for _, column, _ in model.embedding.entries}
    # Such a sum would be rounded, and neither exact nor the same for every word.
    if lettered & layout.encoded_by.keys():
        raise NotProved("a coordinate has both letters and a position encoding")
    errors = {head.name: head.argument.error for head in general.heads if head.argument is not None}
    for number, (own, layer) in enumerate(zip(model.layers, program.layers, strict=True)):
        argument = Argument(
            partial(_captured, found, errors, number),
            partial(_look_up, found, number),
            EVERY_LENGTH.apart,
            partial(_sign, found, number),
            EVERY_LENGTH.margins,
        )
        for plan, head in zip(own.heads, layer.heads, strict=True):
            attend(state, plan, head, argument)
            if head.uniform:
                _mean(found, state, number, head, *plan.values[0])
        # The heads of a layer run in parallel: none reads the output of another one.
        for place, coordinate, value in state.pending:
            place[coordinate] = value
        state.pending.clear()
        if model.weighting is SoftWeighting.SPARSEMAX and found.reads:
            raise NotProved("bounds for all words of a length do not cover look-ups of counts with sparsemax")
        units = [(unit, _unit(found, state, number, unit)) for unit in own.ffn.units]
        feed_forward(state, own.ffn, layer, argument.margins)
        _written(found, state, own.ffn, units)
    return found


def _look_up(found: Structure, layer: int, task: HeadTask, rates: Any, like: object, sizes: Any, slope: Any) -> Errors:
    """Record a look-up of a count, and return its errors as the prover bounds them."""
    _count_read(found, layer, task, "bit" if slope is None else "number")
    return EVERY_LENGTH.look_up(task, rates, like, sizes, slope)


def _sign(found: Structure, layer: int, task: HeadTask, specified: list[Any]) -> Errors:
    """Record a test of a sign, and return its errors as the prover bounds them."""
    _count_read(found, layer, task, "sign")
    return EVERY_LENGTH.sign(task, specified)


def _count_read(found: Structure, layer: int, task: HeadTask, kind: Literal["number", "bit", "sign"]) -> None:
    plan = task.plan
    queries = tuple(_sorted(query) for query, _ in plan.scores)
    keys = tuple(_sorted(key) for _, key in plan.scores)
    out, value = plan.values[0]
    read = {coordinate for query in queries for coordinate, _ in query}
    for coordinate in read | {coordinate for form in (*keys, value) for coordinate, _ in form}:
        if coordinate not in found.counted:
            _keep(found, task.state, coordinate)
        elif coordinate not in read:
            raise NotProved(COUNTS)
    means = tuple(sorted(place for place in read if place in found.counted and found.counted[place].fixed is None))
    if not means:
        raise NotProved(f"head {plan.name} looks up a count that is the same for every word")
    vectors = _vectors(found, task.state, means)
    one = CountRead(plan.name, layer, out, plan.mask, queries, keys, _sorted(value), means, vectors, kind)
    found.reads[out] = one


def _sorted(form: Terms) -> Terms:
    """Sort a form by coordinate, the order of sums from the left."""
    return tuple(sorted(form))


def _vectors(found: Structure, state: State, means: Sequence[int]) -> Vectors:
    """Return the Booleans that some counts count together at any position. Raise NotProved unless all of the counts
    see the same positions."""
    if len({found.counted[place].mask for place in means}) > 1:
        raise NotProved(COUNTS)
    vectors: dict[tuple[int, ...], str | None] = {}
    for columns in dict.fromkeys(zip(*(found.counted[place].column for place in means), strict=True)):
        joined = state.diagrams.join(columns)
        for case in state.diagrams.values(joined):
            path = state.diagrams.example(joined, case)
            alone = path.keys() == {SYMBOL} and not isinstance(state.model.alphabet, Valuations)
            symbol = state.model.alphabet[path[SYMBOL]] if alone else None
            vectors[case] = vectors.get(case) or symbol
    return vectors


def _captured(found: Structure, general: Mapping[str, float], layer: int, task: HeadTask) -> BooleanHead:
    """Record a head that looks for the nearest position, with its local types, and return it as exact for the
    prover."""
    reading, keys, values = reading_of(task)
    state, plan = task.state, task.plan
    if reading.mask not in (Mask.NONE, Mask.FUTURE, Mask.PAST):
        raise NotProved(f"head {task.head.name} does not see its own position")
    if tuple(values) != (0, 1):
        raise NotProved(f"head {task.head.name} reads other values than 0 and 1")
    types: dict[tuple[tuple[Rational, ...], bool, int], set[int]] = {}
    for place, kinds in enumerate(reading.kinds):
        for kind in reading.types[kinds]:
            if not all(isinstance(part, int | Fraction) for part in kind.key):
                raise NotProved(f"the key of head {task.head.name} depends on symbol and position together")
            types.setdefault((kind.key, kind.selected, kind.value), set()).add(place)
    places = []
    for row, (_, key) in enumerate(plan.scores):
        fixed = dict(keys[row])
        varying = [term for term in key if term[0] not in fixed]
        if len(varying) > 1:  # one is a term of the sum; of more the order would matter
            raise NotProved(f"a key of head {task.head.name} reads several coordinates that depend on the word")
        places.append(key.index(varying[0]) if varying else len(key))
        _require_exact(found, state, f"the key of head {plan.name}", varying, 0)
    (out, form), number = plan.values[0], [head.name for head in found.model.heads].index(plan.name)
    _require_exact(found, state, f"the value of head {plan.name}", form, 0)
    for terms in (*(query for query, _ in plan.scores), *keys):
        for coordinate, _ in terms:
            _keep(found, state, coordinate)
    found.heads.append(
        HeadStructure(
            name=plan.name,
            layer=layer,
            number=number,
            out=out,
            mask=reading.mask,
            rightmost=reading.rightmost,
            queries=tuple(query for query, _ in plan.scores),
            keys=tuple(keys),
            places=tuple(places),
            types=tuple(sorted((TypeHere(*one, frozenset(where)) for one, where in types.items()), key=repr)),
            error=general[plan.name],
        )
    )
    # The proof goes on as if the head made no error; `bounds` checks its error in the format.
    taken = {value for _, _, value in types}
    return task.boolean((0, 1), np.array([[0.0 if bit in taken else NOTHING] for bit in (0, 1)]))


def _keep(found: Structure, state: State, coordinate: int) -> None:
    """Record the numbers of a coordinate that is the same for every word, unless it is a position encoding."""
    if coordinate in found.layout.encoded_by:
        return
    _require_no_mean(found, coordinate)
    found.static[coordinate] = tuple(_numbers(state, coordinate))


def _require_no_mean(found: Structure, coordinate: int) -> None:
    """Raise NotProved if a coordinate is a mean: means are exact over the real numbers alone."""
    if coordinate in found.counted or any(mean.out == coordinate for mean in found.means):
        raise NotProved(
            f"the mean '{found.model.coordinates[coordinate]}' is read by a head, or together with other coordinates"
        )


def _numbers(state: State, coordinate: int) -> list[Fraction]:
    """Return the value by class of a coordinate that is the same for every word. Raise NotProved for any other
    coordinate."""
    column = state.exact_of(coordinate, "a head").soft
    if not state.facts.constant(column):
        raise NotProved("a query depends on the word")
    values = state.facts.numbers(column)
    if not all(isinstance(value, int | Fraction) for value in values):
        raise NotProved(f"the coordinate '{state.model.coordinates[coordinate]}' is computed from positions")
    return [Fraction(value) for value in values]


def _size(found: Structure, state: State, coordinate: int, what: str) -> tuple[Fraction, Fraction]:
    """Return the largest size of an exact coordinate, and a power of two of which all its values are multiples."""
    _require_no_mean(found, coordinate)
    values = {value for number in set(state.exact_of(coordinate, what).soft) for value in state.diagrams.values(number)}
    if not all(isinstance(value, int | Fraction) for value in values):
        raise NotProved(
            f"{what} reads the coordinate '{state.model.coordinates[coordinate]}', a function of the position"
        )
    exact = [Fraction(value) for value in values]
    found.numbers.update(dict.fromkeys(exact, f"the coordinate '{state.model.coordinates[coordinate]}'"))
    return max(map(abs, exact), default=Fraction(0)), min(map(_quantum, exact), default=Fraction(0))


def _quantum(value: Rational) -> Fraction:
    """Return the largest power of two of which a number is a multiple; 2^200 for 0, and 0 for a number that is no
    binary fraction."""
    exact = Fraction(value)
    if exact.denominator & (exact.denominator - 1):
        return Fraction(0)
    odd = exact.numerator & -exact.numerator
    return Fraction(odd, exact.denominator) if odd else Fraction(2**200)


def _require_exact(
    found: Structure, state: State, what: str, form: Sequence[tuple[int, Rational]], bias: Rational
) -> None:
    """Require that a form of exact coordinates is computed exactly."""
    sizes, quantum = abs(Fraction(bias)), _quantum(bias)
    found.numbers.update(dict.fromkeys((Fraction(bias), *(Fraction(weight) for _, weight in form)), what))
    for coordinate, weight in form:
        size, unit = _size(found, state, coordinate, what)
        sizes, quantum = sizes + abs(Fraction(weight)) * size, min(quantum, _quantum(weight) * unit)
    found.sums.append(ExactSum(what, sizes, quantum))


def _mean(found: Structure, state: State, layer: int, head: Head, out: int, form: Terms) -> None:
    """Record a head that averages a Boolean, or a value that is the same for every word."""
    what = f"the value of head {head.name}"
    column = state.soft(form, 0, what)
    if state.facts.boolean(column):
        _require_exact(found, state, what, form, 0)
        fixed = tuple(map(int, state.facts.numbers(column))) if state.facts.constant(column) else None
        found.counted[out] = CountMean(head.name, layer, out, head.mask, column, fixed)
        return
    if not state.facts.constant(column):
        raise NotProved(COUNTS)
    values = state.facts.numbers(column)
    if not all(isinstance(value, int | Fraction) for value in values):
        raise NotProved(f"{what} is a function of the position")
    if any(coordinate in found.layout.encoded_by for coordinate, _ in form):
        # (-1)^i, which every format holds
        exact = all(value in (0, 1, -1) for value in values) and all(weight in (1, -1) for _, weight in form)
        if not exact or len(form) > 1:
            raise NotProved(f"{what} is computed from encodings")
    else:
        _require_exact(found, state, what, form, 0)
    # `StructureBounds.marks` computes these means from two values, one for each parity.
    by_parity = {one.even_i: value for one, value in zip(found.classes.classes, values, strict=True)}
    alike = all(by_parity[one.even_i] == value for one, value in zip(found.classes.classes, values, strict=True))
    if not alike or head.mask is Mask.NONE:
        raise NotProved(f"{what} depends on more than whether a position is even")
    found.means.append(MeanStructure(head.name, layer, out, head.mask, tuple(map(Fraction, values))))


def _unit(found: Structure, state: State, layer: int, unit: HiddenUnit) -> Fraction:
    """Record the requirements of a clip. Return a power of two of which all its outputs are multiples."""
    names = state.model.coordinates
    what = f"the clip that writes '{names[unit.outs[0][0]]}'"
    means = {mean.out for mean in found.means}
    if unit.cap:
        _require_exact(found, state, f"the cap of {what}", unit.cap, unit.cap_bias)
    if any(coordinate in means for coordinate, _ in unit.form):
        found.marks.append(_mark_unit(found, state, layer, what, unit))
        return Fraction(1)
    if any(_counts(found, state, coordinate) for coordinate, _ in unit.form):
        found.units.append(_count_unit(found, state, layer, what, unit))
        return Fraction(1)
    read = [(coordinate, weight) for coordinate, weight in unit.form if coordinate in state.attended]
    rest = tuple((coordinate, weight) for coordinate, weight in unit.form if coordinate not in state.attended)
    if not read:
        _require_exact(found, state, what, rest, unit.bias)
        values = {v for number in set(state.soft(rest, unit.bias, what)) for v in state.diagrams.values(number)}
        return min((_quantum(clip(Fraction(value))) for value in values), default=Fraction(1))
    heads = [state.attended[coordinate] for coordinate, _ in read]
    _require_exact(found, state, f"the input of {what} besides heads", rest, unit.bias)
    columns = [state.exact_of(coordinate, what).soft for coordinate, _ in rest]
    for site in range(len(state.sites)):
        bits = [head.bits[site] for head in heads if isinstance(head, BooleanHead)]
        # One requirement for each combination of values that can occur here; different classes share equal ones.
        joined = state.diagrams.join([*(column[site] for column in columns), *bits])
        for case in state.diagrams.values(joined):
            terms = [Fraction(weight) * value for (_, weight), value in zip(rest, case, strict=False)]
            held = case[len(rest) :]
            parts = (Fraction(weight) * bit for (_, weight), bit in zip(read, held, strict=True))
            total = clip(sum([*terms, *parts], Fraction(unit.bias)))
            if total not in (0, 1):
                raise NotProved(f"{what} is neither 0 nor 1 somewhere")
            pattern = tuple((k, Fraction(w), int(bit)) for (k, w), bit in zip(read, held, strict=True))
            exact = sum(terms, Fraction(0)), sum(map(bool, terms)), sum(map(abs, terms), Fraction(0))
            demand = Demand(layer, what, Fraction(unit.bias), *exact, pattern, int(total))
            found.demands.setdefault(demand, set()).add(site)
    return Fraction(1)


def _mark_unit(found: Structure, state: State, layer: int, what: str, unit: HiddenUnit) -> MarkUnit:
    """Return a clip that reads a mean that is the same for every word. Raise NotProved if it reads anything else that
    is not exact."""
    form = _sorted(unit.form)
    mean = next(one.out for one in found.means if one.out in dict(form))
    others = [coordinate for coordinate, _ in form if coordinate != mean]
    if any(coordinate in state.attended for coordinate in others):
        raise NotProved(f"{what} reads a mean together with Booleans of heads")
    for coordinate in others:
        _size(found, state, coordinate, what)
    columns = [state.exact_of(coordinate, what).soft for coordinate in others]
    # All values at any position: the class of a position changes with the length, and `marks` covers shorter ones too.
    cases = {
        tuple(map(Fraction, case))
        for site in range(len(state.sites))
        for case in state.diagrams.values(state.diagrams.join([column[site] for column in columns]))
    }
    return MarkUnit(layer, what, mean, form, Fraction(unit.bias), frozenset(cases))


def _counts(found: Structure, state: State, coordinate: int) -> bool:
    """Return True if a coordinate is a count, a number that was looked up, or a function of the position."""
    if coordinate in found.counted or isinstance(state.attended.get(coordinate), CountHead):
        return True
    if coordinate not in found.layout.encoded_by:
        return False
    values = (
        value for number in set(state.exact_of(coordinate, "a clip").soft) for value in state.diagrams.values(number)
    )
    return not all(isinstance(value, int | Fraction) for value in values)


def _count_unit(found: Structure, state: State, layer: int, what: str, unit: HiddenUnit) -> CountUnit:
    """Return a clip that reads counts, with the other coordinates that it reads."""
    form = _sorted(unit.form)
    numbers = tuple(coordinate for coordinate, _ in form if _counts(found, state, coordinate))
    others = tuple(coordinate for coordinate, _ in form if coordinate not in numbers)
    if any(coordinate in state.attended for coordinate in others):
        raise NotProved(f"{what} reads numbers and Booleans of heads together")
    means: set[int] = set()
    for coordinate in numbers:
        if coordinate in found.reads:
            means.update(found.reads[coordinate].means)
        elif coordinate in found.counted and found.counted[coordinate].fixed is None:
            means.add(coordinate)
    for coordinate in others:
        _size(found, state, coordinate, what)
    columns = [state.exact_of(coordinate, what).soft for coordinate in others]
    cases = []
    for site in range(len(state.sites)):
        joined = state.diagrams.join([column[site] for column in columns])
        cases.append(frozenset(tuple(map(Fraction, case)) for case in state.diagrams.values(joined)))
    mean_key = tuple(sorted(means))
    outs = frozenset(out for out, _ in unit.outs)
    vectors = _vectors(found, state, mean_key)
    return CountUnit(layer, what, form, Fraction(unit.bias), outs, numbers, mean_key, vectors, others, tuple(cases))


def _written(found: Structure, state: State, ffn: FeedForward, units: Sequence[tuple[HiddenUnit, Fraction]]) -> None:
    """Require that the sums that the units of a layer add to a coordinate are exact; each unit gives multiples of a
    power of two."""
    sizes: dict[int, list[Fraction]] = {out: [abs(Fraction(bias)), _quantum(bias)] for out, bias in ffn.biases}
    weights = [Fraction(bias) for _, bias in ffn.biases]
    for unit, quantum in units:
        for out, weight in unit.outs:
            held = sizes.setdefault(out, [Fraction(0), _quantum(0)])
            held[0], held[1] = held[0] + abs(Fraction(weight)), min(held[1], _quantum(weight) * quantum)
            weights.append(Fraction(weight))
    found.numbers.update(dict.fromkeys(weights, "a weight of the hidden units"))
    for out, (size, quantum) in sizes.items():
        found.sums.append(ExactSum(f"the sum written to '{state.model.coordinates[out]}'", size, quantum))
