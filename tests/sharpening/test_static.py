"""Facts from the forms alone: spans against all numbers of small sets, facts against those of every word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import islice, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.checking.subject import Subject
from hardsim.errors import OutOfRange, Undecided
from hardsim.hard.exact import ExactModel
from hardsim.lang.arith import parse_arith
from hardsim.network.numbers import Mask
from hardsim.program.model import Program, Weighting
from hardsim.sharpening.measure import LengthFacts, measure
from hardsim.sharpening.static import NumberRange, clip, common, form, hull, mean, relu, static_facts
from tests.hard_runs import outputs_of
from tests.simulations import models, one_head, tieless
from tests.subjects import FORMULAS, shipped

pytestmark = pytest.mark.sweep

PROGRAMS = sorted(path.stem for path in FORMULAS.glob("*.srasp"))
MOST = 48
"""Words of a length that are run: all, or the first and last so many halves in the order of the alphabet."""
HALF = Fraction(1, 2)
RATIONALS = st.fractions(-3, 3, max_denominator=4)

Known = tuple[NumberRange, list[Fraction]]
"""A span, and all numbers that it is to contain."""


@st.composite
def lattices(draw: st.DrawFn) -> Known:
    low, count = draw(RATIONALS), draw(st.integers(0, 4))
    step = draw(st.fractions(Fraction(1, 4), 2, max_denominator=4)) if count else Fraction(0)
    points = [low + k * step for k in range(count + 1)]
    return NumberRange(low, points[-1], step), points


@st.composite
def intervals(draw: st.DrawFn) -> Known:
    points = sorted(draw(st.lists(RATIONALS, min_size=1, max_size=4)))
    return NumberRange(points[0], points[-1], None), points


KNOWN = st.one_of(lattices(), intervals())


def has(span: NumberRange, value: Fraction) -> bool:
    """Whether a number is in a span: between its ends, and on its lattice."""
    if not span.low <= value <= span.high:
        return False
    if span.step is None:
        return True
    return value == span.low if span.step == 0 else (value - span.low) % span.step == 0


def holds_exactly(span: NumberRange, values: Sequence[Fraction]) -> None:
    """All numbers are inside, and the ends are attained."""
    assert all(has(span, value) for value in values)
    assert (span.low, span.high) == (min(values), max(values))


# ---- spans ----


@given(st.lists(st.tuples(KNOWN, RATIONALS), max_size=3), RATIONALS)
def test_a_linear_form(terms: list[tuple[Known, Fraction]], bias: Fraction) -> None:
    found = form([(span, coefficient) for (span, _), coefficient in terms], bias)
    coefficients = [coefficient for _, coefficient in terms]
    holds_exactly(
        found,
        [
            bias + sum((c * value for c, value in zip(coefficients, values, strict=True)), Fraction(0))
            for values in product(*(points for (_, points), _ in terms))
        ],
    )


@given(st.lists(KNOWN, min_size=1, max_size=4))
def test_one_of_several(spans: list[Known]) -> None:
    holds_exactly(hull([span for span, _ in spans]), [value for _, points in spans for value in points])


@given(st.lists(KNOWN, min_size=1, max_size=3))
def test_a_mean(spans: list[Known]) -> None:
    values = [sum(some, Fraction(0)) / len(some) for some in product(*(points for _, points in spans))]
    holds_exactly(mean([span for span, _ in spans]), values)


@given(KNOWN)
def test_relu_and_size(known: Known) -> None:
    span, points = known
    holds_exactly(relu(span), [max(value, Fraction(0)) for value in points])
    assert span.size == max(abs(value) for value in points)


@given(KNOWN)
def test_a_clip(known: Known) -> None:
    span, points = known
    clipped = [min(max(value, Fraction(0)), Fraction(1)) for value in points]
    assert all(has(clip(span), value) for value in clipped)


@given(lattices())
def test_a_clip_of_a_lattice_is_a_boolean_iff_no_point_is_between_0_and_1(known: Known) -> None:
    span, points = known
    found = clip(span)
    boolean = all(value <= 0 or value >= 1 for value in points)
    constant = found.low == found.high and found.low in (0, 1)  # a constant between 0 and 1 is no Boolean
    assert (found.step is not None or constant) is boolean
    assert not boolean or found.low in (0, 1)


@given(KNOWN)
def test_a_margin_is_at_most_that_of_every_number(known: Known) -> None:
    span, points = known
    least = min(max(-value, value - 1) for value in points)
    assert span.margin <= least
    if span.step is not None:
        assert span.margin == least


@given(lattices(), RATIONALS)
def test_the_neighbours_of_a_value(known: Known, value: Fraction) -> None:
    span, points = known
    found = span.around(value)
    assert set(found) <= set(points)
    assert min(abs(point - value) for point in found) == min(abs(point - value) for point in points)


@given(st.lists(st.fractions(0, 3, max_denominator=6), max_size=4))
def test_the_common_step(steps: list[Fraction]) -> None:
    found = common(steps)
    assert found is not None
    assert all(step == 0 if found == 0 else (step / found).denominator == 1 for step in steps)
    # The largest: no multiple of it divides all of them.
    assert found == 0 or not any(all((step / (found * k)).denominator == 1 for step in steps) for k in range(2, 5))
    assert common([*steps, None]) is None


# ---- facts ----


def contain(derived: LengthFacts, seen: LengthFacts) -> None:
    """Whatever was measured is within what was derived."""
    assert derived.n == seen.n
    assert derived.size >= seen.size
    assert derived.exhaustive
    for mine, theirs in zip(derived.layers, seen.layers, strict=True):
        assert mine.size >= theirs.size
        assert all(low <= found for low, found in zip(mine.margins, theirs.margins, strict=True))
        assert all(high >= found for high, found in zip(mine.tops, theirs.tops, strict=True))
        assert mine.values.keys() == theirs.values.keys()
        for place, (low, high) in theirs.values.items():
            assert mine.values[place][0] <= low <= high <= mine.values[place][1]
        assert mine.heads.keys() == theirs.heads.keys()
        for name, head in theirs.heads.items():
            assert mine.heads[name].reach >= head.reach
            assert mine.heads[name].most == head.most == [1] * len(head.most)
            for (query, key), (q, k) in zip(mine.heads[name].sizes, head.sizes, strict=True):
                assert query >= q
                assert key >= k
            for claimed, gap in zip(mine.heads[name].gaps, head.gaps, strict=True):
                assert gap is None or (claimed is not None and claimed <= gap)


def in_range(subject: Subject, exact: ExactModel, n: int) -> list[tuple[str, ...]]:
    """Prepared words of a length that stay within the range of the construction: the first of them, and the last."""
    found = []
    forwards, backwards = (product(symbols, repeat=n) for symbols in (subject.alphabet, subject.alphabet[::-1]))
    for word in dict.fromkeys([*islice(forwards, MOST // 2), *islice(backwards, MOST // 2)]):
        prepared = subject.prepared(word)
        try:
            if subject.guard is not None and not subject.structural:
                subject.guard([prepared], exact.run([prepared]))
        except OutOfRange:
            continue
        found.append(prepared)
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_facts_of_shipped_programs_contain_those_of_words(name: str) -> None:
    subject = shipped(f"{name}.srasp")
    exact = ExactModel(subject.program)
    for n in range(1, 4):
        words = in_range(subject, exact, n)
        trace = exact.run(words)
        outputs = outputs_of(exact.program, trace)
        seen = measure(subject.program, words, trace)
        outs = [out for _, out in subject.program.outputs]
        derived = static_facts(subject.program, trace.n)
        contain(derived, seen)
        # Outputs are 0 or 1, the threshold is 1/2.
        assert derived.distance == HALF
        first = 1 - subject.program.first
        values = [v for out in outs for word in range(len(words)) for v in trace.columns[out].values(word)[first:]]
        assert {abs(value - HALF) for value in values or outputs} == {HALF}


def with_gaps(model: Program, gap: str | None) -> Program:
    """The model with the same declared gap at every head."""
    declared = None if gap is None else parse_arith(gap)
    layers = tuple(
        replace(layer, heads=tuple(replace(head, gap=declared) for head in layer.heads)) for layer in model.layers
    )
    return replace(model, layers=layers)


def test_the_facts_of_random_models_contain_those_of_all_words() -> None:
    """Sums, means and relus of all kinds, with or without a beginning of sequence; the gap is below every measured."""
    for model, lengths in models(25, 20240611, False, tieless):
        least = min(gap for length in lengths for gap in [length.facts.gap] if gap is not None)
        declared = with_gaps(model, f"{least.numerator}/{least.denominator}")
        for length in lengths[:4]:
            derived = static_facts(declared, length.facts.n)
            contain(derived, length.facts)
            assert derived.distance is not None
            assert length.facts.distance is not None
            assert derived.distance <= length.facts.distance


def test_a_head_that_declares_no_gap_says_nothing_of_words_not_tried() -> None:
    model = one_head([0], [2], Mask.FUTURE, Weighting.AVERAGE)
    with pytest.raises(Undecided, match="head h declares no gap"):
        static_facts(model, 3)
    assert static_facts(with_gaps(model, "1"), 3).heads["h"].gaps == [None, 1, 1]


def test_a_threshold_among_the_outputs_is_no_distance() -> None:
    """The head reads 0 or 1, so these and what is between are told apart by the lattice alone."""
    model = with_gaps(one_head([0], [2], Mask.FUTURE, Weighting.AVERAGE), "1")
    for threshold, distance in ((HALF, HALF), (Fraction(3, 4), Fraction(1, 4)), (Fraction(1), 0), (Fraction(-2), 2)):
        assert static_facts(replace(model, threshold=threshold), 2).distance == distance
    assert static_facts(replace(model, threshold=None), 2).distance is None
    # The position is from 1 to 3.
    both = replace(model, outputs=(("x", "a"), ("y", "place")))
    assert static_facts(both, 3).distance == HALF
    assert static_facts(replace(both, threshold=Fraction(2)), 3).distance == 0
