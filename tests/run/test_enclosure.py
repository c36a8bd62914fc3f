"""Enclosures in float64: rounding errors against exact rationals, exp against balls."""

from fractions import Fraction
from math import inf, isfinite

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from hardsim.run.enclosure import (
    EXP_ERROR,
    Block,
    between,
    bits,
    clipped,
    combine,
    fixed,
    floats,
    gamma,
    growth,
    least,
    most,
    outward,
    quotients,
    rounded,
)
from hardsim.run.float_rows import LOWEST, LOWEST_BESIDE_1, Views, lone, mean, weights_of
from tests.support.model import Mask
from tests.support.networks import EXTREME

RATIONALS = st.fractions(min_value=-1000, max_value=1000, max_denominator=1000)
HOSTILE = st.one_of(EXTREME, EXTREME, RATIONALS)
N = 5


def holds(block: Block, i: int, value: Fraction | int) -> bool:
    """Return True if an enclosure of the first word contains a rational at position i."""
    middle, radius = float(block.mid[0, i]), float(block.radius[0, i])
    if block.rad is not None and not (isfinite(middle) and isfinite(radius)):
        return True  # an unbounded enclosure contains everything
    return abs(Fraction(middle) - value) <= Fraction(radius)


def test_exp_is_as_accurate_as_assumed() -> None:
    rng = np.random.default_rng(7)
    special = [0.0, -0.0, 1.0, -1.0, 2.0**-1074, -(2.0**-60), 709.0, -708.0]
    special += [k * np.log(2) for k in range(-1021, 1023)]
    near = [np.nextafter(x, side) for x in special for side in (-np.inf, np.inf)]
    spread = [rng.uniform(-708, 709, 30_000), rng.uniform(-1, 1, 10_000), -np.logspace(-12, 2.8, 5000)]
    arguments = np.concatenate([np.array(special + near), *spread])
    arguments = arguments[(arguments > -708) & (arguments < 709)]
    worst = 0.0
    before = ctx.prec
    ctx.prec = 100
    try:
        # numpy runs different code for long, short and strided arrays.
        for found in (np.exp(arguments), np.exp(arguments[::-1])[::-1], np.array([np.exp(x) for x in arguments])):
            for x, y in zip(arguments.tolist(), found.tolist(), strict=True):
                true = arb(x).exp()
                worst = max(worst, float(abs(arb(y) / true - 1).upper()))
    finally:
        ctx.prec = before
    assert worst <= EXP_ERROR


def test_exp_underflows_to_something_small() -> None:
    low = np.linspace(-760, -708, 4001)
    assert (np.exp(low) <= 2.0**-1020).all()
    assert (np.exp(low) >= 0).all()
    assert np.exp(np.array([-np.inf, -1e300]))[0] == 0


@given(st.lists(RATIONALS, min_size=1, max_size=6))
def test_rationals_are_rounded_with_their_error(values: list[Fraction]) -> None:
    mid, rad = floats(values)
    for value, near, error in zip(values, mid, rad, strict=True):
        assert abs(Fraction(float(near)) - value) <= Fraction(float(error))
        assert error <= 2.0**-52 * abs(near) + 1e-300
    exact = fixed(values)
    assert (exact.rad is None) == all(Fraction(float(value)) == value for value in values)
    assert exact.static is not None
    assert exact.static.values(0) == list(values)


def test_what_no_float_holds_is_off_by_infinity() -> None:
    mid, rad = floats([Fraction(10) ** 400, -(Fraction(10) ** 400), Fraction(1, 10**400)])
    assert mid.tolist() == [0, 0, 0]
    assert rad[0] == rad[1] == np.inf
    assert 0 < rad[2] < 1e-290


@given(
    st.lists(st.tuples(RATIONALS, st.lists(RATIONALS, min_size=N, max_size=N)), min_size=1, max_size=4),
    st.lists(RATIONALS, min_size=N, max_size=N),
)
def test_linear_forms_of_rationals(terms: list[tuple[Fraction, list[Fraction]]], base: list[Fraction]) -> None:
    found = combine([(value, fixed(column)) for value, column in terms], fixed(base))
    for i in range(N):
        assert holds(found, i, base[i] + sum(value * column[i] for value, column in terms))


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.lists(st.integers(0, 1), min_size=N, max_size=N)), min_size=1, max_size=4)
)
def test_gates_of_booleans_are_exact(terms: list[tuple[int, list[int]]]) -> None:
    blocks = [(Fraction(value, 2), bits(np.array([column], dtype=float))) for value, column in terms]
    found = combine(blocks, fixed([Fraction(1, 4)] * N))
    assert found.rad is None
    for i in range(N):
        assert holds(found, i, Fraction(1, 4) + sum(Fraction(value * column[i], 2) for value, column in terms))


def test_entries_without_radius_stay_exact_beside_others() -> None:
    low, high = np.array([[0.0, 1.0, 0.25]]), np.array([[0.0, 1.0, 0.75]])
    half = between(low, high, 0, 1)
    assert half.rad is not None
    assert half.rad[0, :2].tolist() == [0, 0]
    assert half.rad[0, 2] >= 0.25
    flipped = combine([(-1, half)], fixed([1, 1, 1]))
    assert flipped.rad is not None
    assert (flipped.mid[0, :2].tolist(), flipped.rad[0, :2].tolist()) == ([1, 0], [0, 0])
    assert flipped.rad[0, 2] >= 0.25
    third = combine([(Fraction(1, 3), half)], fixed([0, 0, 0]))  # no entry of it is exact any more
    assert third.rad is not None
    assert (third.rad > 0).all()


VIEWS = [Views(mask, N, bos) for mask in Mask for bos in (False, True) if bos or not mask.strict]


def seen_by(views: Views, place: int) -> list[int]:
    """Return the places that a query sees, by the definition."""
    return sorted({j - 1 for j in views.mask.visible(place + 1, views.size)} | ({0} if views.bos else set()))


@pytest.mark.parametrize("views", VIEWS, ids=str)
def test_what_queries_see(views: Views) -> None:
    values = np.array([[3, 1, 4, 1, 5], [2, 7, 1, 8, 2]])
    visible = views.visible(np.arange(N))
    low, high = views.span(np.arange(2, 4))
    for i in range(N):
        seen = seen_by(views, i)
        assert np.flatnonzero(visible[i]).tolist() == seen
        assert views.counts[i] == len(seen)
        for operation in (np.add, np.maximum, np.minimum):
            assert (views.over(operation, values)[:, i] == operation.reduce(values[:, seen], axis=1)).all()
        assert (views.over(np.logical_or, values == 4)[:, i] == (values == 4)[:, seen].any(axis=1)).all()
    assert {*seen_by(views, 2), *seen_by(views, 3)} <= set(range(low, high))


@pytest.mark.sweep
@pytest.mark.parametrize("views", VIEWS, ids=str)
@given(values=st.lists(RATIONALS, min_size=N, max_size=N), error=st.integers(0, 3))
def test_means(views: Views, values: list[Fraction], error: int) -> None:
    seen = [seen_by(views, place) for place in range(N)]
    exact = [sum((values[j] for j in some), Fraction(0)) / len(some) for some in seen]
    static = mean(fixed(values), views)
    assert static.static is not None
    assert static.static.values(0) == list(exact)
    mid, rad = floats(values)
    loose = mean(Block(mid[None, :], outward(rad[None, :] + error)), views)
    shifted = [value + error for value in exact]
    for i in range(N):
        assert holds(static, i, exact[i])
        assert holds(loose, i, exact[i])
        assert holds(loose, i, shifted[i])


@pytest.mark.parametrize("views", VIEWS, ids=str)
def test_means_of_booleans_are_rounded_once_and_numbered_by_their_sums(views: Views) -> None:
    values = [1, 0, 1, 1, 0]
    found = mean(bits(np.array([values], dtype=float)), views)
    sums = [sum(values[j] for j in seen_by(views, place)) for place in range(N)]
    assert found.codes is not None
    ((code),) = found.codes
    assert (code.numbers[0].tolist(), code.kinds) == (sums, N + 1)
    for i in range(N):
        assert holds(found, i, Fraction(sums[i], len(seen_by(views, i))))


@pytest.mark.parametrize("views", VIEWS, ids=str)
@given(values=st.lists(st.integers(0, 1), min_size=N, max_size=N))
def test_what_alone_is_seen_is_read_exactly(views: Views, values: list[int]) -> None:
    """The mean of one value is the value, for any weights, where the value is exact."""
    column = Block(np.array([values], dtype=float), np.array([[0, 0, 0.5, 0, 0]]), 0, 1, partly=True)
    for block in (bits(column.mid), column):
        found = lone(Block(np.full((1, N), 0.5), np.full((1, N), 2.0)), block, views)
        for i in range(N):
            seen = seen_by(views, i)
            exact = len({values[j] for j in seen}) == 1 and (block.rad is None or 2 not in seen)
            assert (float(found.radius[0, i]) == 0) is exact
            assert not exact or found.mid[0, i] == values[seen[0]]


@pytest.mark.parametrize("longest", [0, N])
@pytest.mark.parametrize("views", VIEWS, ids=str)
@given(data=st.data())
def test_running_conjunctions_with_and_without_a_table(views: Views, longest: int, data: st.DataObject) -> None:
    row = st.lists(st.booleans(), min_size=N, max_size=N)
    held = np.array(data.draw(st.lists(row, min_size=6, max_size=6))).reshape(2, 3, N)
    for operation in (np.logical_and, np.logical_or):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("hardsim.run.float_rows.STAIRS", longest)
            found = views.over(operation, held)
        for i in range(N):
            assert (found[..., i] == operation.reduce(held[..., seen_by(views, i)], axis=-1)).all()


NUMBERS = st.floats(allow_subnormal=False)


@given(st.lists(st.lists(NUMBERS, min_size=N, max_size=N), min_size=1, max_size=4))
def test_extremes_of_rows(rows: list[list[float]]) -> None:
    values = np.array(rows)
    for found, extreme in ((most(values), max), (least(values), min)):
        expected = [np.nan if any(map(np.isnan, row)) else extreme(row) for row in rows]
        assert np.array_equal(found, np.array(expected), equal_nan=True)


@given(st.floats(0, 0.999))
def test_growth_is_more_than_the_exponential(x: float) -> None:
    found = float(growth(np.array([x]))[0])
    assert Fraction(found) >= Fraction(float(np.expm1(x))) * (1 - Fraction(1, 2**40))
    assert growth(np.array([1.0, np.inf]))[0] == np.inf


@pytest.mark.parametrize("k", [1, 2, 1000, 2**21])
def test_gamma_bounds_k_roundings(k: int) -> None:
    u = Fraction(1, 2**53)
    assert Fraction(gamma(k)) >= k * u / (1 - k * u)


# ---- beyond float64 ----


@given(HOSTILE)
def test_one_rational(value: Fraction) -> None:
    mid, rad = rounded(value)
    if rad == inf:
        assert abs(value) > 2**1023
    else:
        assert abs(Fraction(mid) - value) <= Fraction(rad)
        assert (rad == 0) == (Fraction(mid) == value and (value == 0 or abs(mid) >= 2.0**-1022))


@given(st.lists(st.integers(-(2**70), 2**70) | st.integers(-50, 50), min_size=1, max_size=4), st.data())
def test_quotients_are_the_rationals(whole: list[int], data: st.DataObject) -> None:
    unit = data.draw(st.sampled_from([1, 2, 3, 7, 2**53 + 1, 2**62 - 1, 3**50, 10**340]))
    factor = data.draw(st.sampled_from([1, unit, 10**700]))
    numbers = [value * factor for value in whole]
    machine = max(map(abs, numbers)) < 2**62
    mid, rad = quotients(np.array([numbers], dtype=np.int64 if machine else object), unit)
    for i, value in enumerate(numbers):
        exact = Fraction(value, unit)
        if isfinite(rad[0, i]):
            assert abs(Fraction(float(mid[0, i])) - exact) <= Fraction(float(rad[0, i]))
        assert rad[0, i] > 0 or Fraction(float(mid[0, i])) == exact


@given(
    st.lists(st.tuples(HOSTILE, st.lists(HOSTILE, min_size=N, max_size=N)), min_size=1, max_size=4),
    st.lists(HOSTILE, min_size=N, max_size=N),
    st.booleans(),
)
def test_linear_forms_of_extreme_rationals(
    terms: list[tuple[Fraction, list[Fraction]]], base: list[Fraction], cancelling: bool
) -> None:
    if cancelling:
        terms = [*terms, *((-value, column) for value, column in terms)]
    with np.errstate(all="ignore"):
        found = combine([(value, fixed(column)) for value, column in terms], fixed(base))
    for i in range(N):
        assert holds(found, i, base[i] + sum(value * column[i] for value, column in terms))


@given(st.sampled_from([52, 53, 60]), st.sampled_from([0, 40]), st.permutations(range(3)))
def test_a_sum_is_exact_only_if_its_partial_sums_are(power: int, places: int, order: list[int]) -> None:
    small, large = Fraction(1, 2**places), Fraction(2) ** (power - places)
    terms = [(small, 1), (large, 1), (-large, 1)]
    one = bits(np.ones((1, N)))
    found = combine([(terms[k][0], one) for k in order], fixed([0] * N))
    assert found.rad is not None
    assert all(holds(found, i, small) for i in range(N))


@pytest.mark.parametrize("views", VIEWS, ids=str)
@given(values=st.lists(HOSTILE, min_size=N, max_size=N))
def test_means_of_extreme_values(views: Views, values: list[Fraction]) -> None:
    mid, rad = floats(values)
    with np.errstate(all="ignore"):
        found = mean(Block(mid[None, :], rad[None, :]), views)
    for i in range(N):
        seen = [values[j] for j in seen_by(views, i)]
        assert holds(found, i, Fraction(sum(seen)) / len(seen))


FLOATS = st.floats() | st.sampled_from([0.0, 1.0, 1 + 2.0**-52, 2.0**-52, 2.0**-1074, 1.7e308, -1.7e308, inf, -inf])


@given(st.lists(st.tuples(FLOATS, FLOATS.map(abs)), min_size=1, max_size=8))
def test_a_clip_is_decided_by_finite_bounds_alone(enclosures: list[tuple[float, float]]) -> None:
    mid, rad = (np.array([part]) for part in zip(*enclosures, strict=True))
    with np.errstate(all="ignore"):
        low, high = clipped(mid, rad)
    for i, (middle, radius) in enumerate(enclosures):
        if not (isfinite(middle) and isfinite(radius)):
            assert not low[0, i]
            assert not high[0, i]
            continue
        assert low[0, i] == (Fraction(middle) + Fraction(radius) <= 0)
        assert not high[0, i] or Fraction(middle) - Fraction(radius) >= 1


@given(st.lists(FLOATS, min_size=1, max_size=8))
def test_a_clip_of_exact_numbers_is_decided_by_them(numbers: list[float]) -> None:
    low, high = clipped(np.array([numbers]), None)
    assert low[0].tolist() == [isfinite(x) and x <= 0 for x in numbers]
    assert high[0].tolist() == [isfinite(x) and x >= 1 for x in numbers]


def test_what_is_not_finite_is_never_exact() -> None:
    with np.errstate(all="ignore"):
        unknown = between(np.array([[inf, np.nan, 0.0]]), np.array([[inf, np.nan, 0.0]]), 0, 1)
        sums = combine([(1, unknown), (Fraction(1, 2), unknown)], fixed([0, 0, 0]))
    for block in (unknown, sums):
        assert block.rad is not None
        assert not (block.rad[0, :2] == 0).any()
        assert (block.mid[0, 2], block.rad[0, 2]) == (0, 0)


def test_weights_are_off_by_what_is_below_the_normal_numbers_alone() -> None:
    # A weight below the normal numbers is off by at most 2^-1019; hidden keys weigh nothing, unknown ones stay unknown.
    distances = np.array([[0.0, -1.0, -700.0, LOWEST, -708.0, -745.0, -1e6, -inf, np.nan, -1.0]])
    hidden = np.zeros(10, dtype=np.bool_)
    hidden[-1] = True
    found = weights_of(distances.copy(), hidden)[0]
    with ctx.workprec(80):
        for distance, weight in zip(distances[0, :8].tolist(), found[:8].tolist(), strict=True):
            true = arb(distance).exp() if isfinite(distance) else arb(0)
            assert abs(arb(weight) - true) <= 2.0**-49 * true + arb(2) ** -1019
    assert (found[:8] > 0).all()
    assert np.isnan(found[8])
    assert found[9] == 0
    assert (weights_of(distances[:, :3].copy(), None) == found[:3]).all()
    (least,) = weights_of(np.array([-inf]), None, LOWEST_BESIDE_1).tolist()
    assert 0 < least < 2.0**-144
