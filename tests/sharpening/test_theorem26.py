"""The steps of the error recursion, each computed by hand or compared with the lemma that it refines."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.hard.hardmax import visible
from hardsim.sharpening.measure import LengthFacts
from hardsim.sharpening.theorem26 import Gaps, LayerBounds, declared_gaps, error_bounds, row_distance
from hardsim.theory.outward import round_up
from hardsim.theory.perturbation import FARTHEST, weight_distance
from tests.support.model import Affine, Mask, Program, Rational, Unit, Weighting
from tests.support.simulations import models, one_head, run_hard, tieless

ZERO, HALF = Fraction(0), Fraction(1, 2)
SMALL = st.fractions(0, Fraction(1, 4), max_denominator=40)


@given(st.integers(1, 8), st.data(), st.fractions(Fraction(1, 4), 20, max_denominator=8), SMALL)
def test_a_row_may_have_any_of_its_numbers_of_maxima(
    visible: int, data: st.DataObject, inverse: Fraction, eta: Fraction
) -> None:
    fewest = data.draw(st.integers(1, visible))
    most = data.draw(st.integers(fewest, visible))
    gap = data.draw(st.fractions(HALF, 3, max_denominator=6)) if fewest < visible else None
    found = row_distance(visible, fewest, most, gap, inverse, eta)
    each = [
        weight_distance(visible, m, gap if m < visible else None, eta, 1 / inverse) for m in range(fewest, most + 1)
    ]
    assert found == max(each) <= FARTHEST


def test_a_row_with_one_maximum_is_lemma_33() -> None:
    assert row_distance(5, 1, 1, Fraction(2), Fraction(3), ZERO) == weight_distance(
        5, 1, Fraction(2), ZERO, Fraction(1, 3)
    )
    assert row_distance(1, 1, 1, None, Fraction(3), Fraction(1, 8)) == 0


def in_fractions(model: Program, facts: LengthFacts, inverse: Fraction, gaps: Gaps) -> list[dict[str, Fraction]]:
    """The recursion of the module's documentation with Fractions and with every row of a head, without layer norms:
    by layer, the bounds of its attended values by coordinate and head, and those at its end by coordinate."""
    errors = dict.fromkeys(("1", *model.coordinates), ZERO)

    def reach(form: Affine) -> Fraction:
        return sum((abs(Fraction(value)) * errors[name] for name, value in form.terms), start=ZERO)

    found = []
    for layer, seen in zip(model.layers, facts.layers, strict=True):
        known, moves = {}, [(name, error) for name, error in errors.items()]
        for head in layer.heads:
            distance = ZERO
            if head.name in seen.heads:
                rows, eta = seen.heads[head.name], ZERO
                for (query, key), (most, size) in zip(head.score, rows.sizes, strict=True):
                    eta += most * reach(key) + size * reach(query) + reach(query) * reach(key)
                places = visible(head.mask, facts.n + model.bos, model.bos).sum(axis=1).tolist()
                each = zip(places, rows.fewest, rows.most, gaps[head.name], strict=True)
                distance = FARTHEST if rows.differ else max(row_distance(*row, inverse, round_up(eta)) for row in each)
            for out, form in head.values:
                low, high = seen.values[head.name, out]
                size = min(max(abs(low), abs(high)), (high - low) / 2)
                known[head.name, out] = round_up(reach(form) + distance * size)
                moves.append((out, known[head.name, out]))
        errors = {name: sum((error for other, error in moves if other == name), start=ZERO) for name in errors}
        written = dict(errors)
        for unit, margin, top in zip(layer.units, seen.margins, seen.tops, strict=True):
            moved, cap = reach(unit.pre), reach(unit.cap) if unit.cap else ZERO
            if unit.clip:
                moved = ZERO if moved <= margin and not cap else moved + cap if unit.cap else min(moved, Fraction(1))
            elif top + moved <= 0:
                moved = ZERO
            for out, weight in unit.outs:
                written[out] += abs(Fraction(weight)) * moved
        errors = {name: round_up(error) for name, error in written.items()}
        found.append({str(place): error for place, error in (*known.items(), *errors.items())})
    return found


@pytest.mark.parametrize("tied", [False, True])
def test_the_recursion_is_the_same_in_fractions(tied: bool) -> None:
    compared = 0
    for model, lengths in models(12, 5, tied=tied, expected=lambda _: True):
        for length in lengths:
            gaps = declared_gaps(model, length.facts)
            for inverse in (Fraction(1, 3), Fraction(20), Fraction(500, 7)):
                bounds = error_bounds(model, length.facts, [inverse] * (length.facts.n + model.bos), gaps)
                found = [
                    {str(place): error for place, error in (*layer.values.items(), *layer.final.items())}
                    for layer in bounds.layers
                ]
                assert found == in_fractions(model, length.facts, inverse, gaps)
                compared += sum(0 < error < FARTHEST for layer in found for error in layer.values())
    assert compared > 500


MODEL = one_head([0], [2], Mask.FUTURE, Weighting.AVERAGE)


def bounds_of(model: Program, inverse: int) -> tuple[Gaps, list[LayerBounds]]:
    """Return the declared gaps at length 3, and the bounds of each layer."""
    facts = run_hard(model, 3)[-1].facts
    gaps = declared_gaps(model, facts)
    return gaps, list(error_bounds(model, facts, [Fraction(inverse)] * 3, gaps).layers)


def test_a_head_moves_its_value_by_half_its_spread() -> None:
    """The value [a] is 0 or 1, so that 1/2 is in the middle: weights that are D apart move it by D/2."""
    _, (layer,) = bounds_of(MODEL, 2)
    # At the last of three positions the score is 3, the gap 1, and there are two other keys.
    assert layer.attended["free"] == layer.final["free"] == weight_distance(3, 1, Fraction(1), ZERO, HALF) / 2


def two_heads(gain: int) -> Program:
    """Return a program with the head of `one_head` twice; keys of the second layer have `gain` times the first
    one's value.
    """
    second = replace(
        MODEL.layers[0].heads[0],
        name="k",
        score=((Affine.constant(1), Affine.of({"place": 2, "free": gain})),),
        values=(("free", Affine.of({"free": Fraction(1, 3)})),),
    )
    return replace(MODEL, layers=(*MODEL.layers, replace(MODEL.layers[0], heads=(second,))))


def test_errors_of_one_layer_enter_the_scores_and_values_of_the_next() -> None:
    """The query is the constant 1, without error, so a score has the gain times the key's error."""
    model = two_heads(1)
    gaps, (first, second) = bounds_of(model, 16)
    delta = first.final["free"]
    assert 0 < delta < Fraction(1, 1000)
    assert second.etas["k"] == delta
    distance = max(row_distance(n, 1, 1, gap, Fraction(16), delta) for n, gap in enumerate(gaps["k"], start=1))
    assert second.distances["k"] == distance
    # Values are a third of the first head's value, 0 or 1.
    expected = delta + delta / 3 + distance * Fraction(1, 6)
    assert expected <= second.final["free"] <= expected * (1 + Fraction(1, 2**80))
    assert all(bounds.final[name] == 0 for bounds in (first, second) for name in model.coordinates if name != "free")


def of_read(weight: Rational, bias: Rational, factor: int, clip: bool = True) -> Unit:
    """Return the unit f(weight * read + bias), which writes to the coordinate "place" with a factor."""
    return Unit((("place", factor),), Affine.of({"free": weight, "1": bias}), clip)


def placed(unit: Unit, inverse: int = 8) -> tuple[Fraction, Fraction]:
    """Return the bounds of the head's value, which is 0 or 1 in the hard model, and of the unit's output."""
    _, (layer,) = bounds_of(replace(MODEL, layers=(replace(MODEL.layers[0], units=(unit,)),)), inverse)
    return layer.attended["free"], layer.final["place"]


def test_a_clip_forgets_an_error_that_it_saturates() -> None:
    """2 x - 1/2 is -1/2 or 3/2: errors of x up to 1/4 leave no trace, larger ones move it by at most 1."""
    clip = of_read(2, -HALF, 3)
    error, found = placed(clip)
    assert 0 < error <= Fraction(1, 4)
    assert found == 0
    error, found = placed(clip, inverse=1)
    assert error > Fraction(1, 4)
    assert found == 3 * min(2 * error, Fraction(1))


def test_a_clip_between_its_ends_passes_its_error_on_once() -> None:
    """x/2 + 1/4 is 1/4 or 3/4: neither end is reached, and two relus would count the error twice."""
    error, found = placed(of_read(HALF, Fraction(1, 4), 1))
    assert found == error / 2


def test_a_hidden_unit_that_is_never_active_has_no_error() -> None:
    error, found = placed(of_read(1, -2, 5, clip=False))
    assert error < 1
    assert found == 0
    # The unit's input reaches 0, so that an error may make it active.
    assert placed(of_read(1, -1, 5, clip=False))[1] == 5 * error
    assert placed(of_read(1, 0, -5, clip=False))[1] == 5 * error


def test_the_bound_grows_with_the_temperature() -> None:
    """The search for the largest temperature relies on this."""
    for model, lengths in models(10, 30, tied=False, expected=tieless):
        facts = lengths[-1].facts
        gaps, size = declared_gaps(model, facts), facts.n + model.bos
        found = [error_bounds(model, facts, [Fraction(2) ** power] * size, gaps).final for power in range(12, -6, -1)]
        assert found == sorted(found)
