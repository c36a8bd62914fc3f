"""The worst case of a head, compared with every choice of types."""

from fractions import Fraction
from itertools import product
from math import exp, inf

import mpmath as mp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.lang.reals import lower
from hardsim.proof.formulas.arrays import ExactNumbers
from hardsim.proof.formulas.nearest import LocalType, NearestReading, head_worst_case
from tests.support.check import Sites
from tests.support.model import Mask

F = Fraction


def brute(reading: NearestReading, n: int, i: int, value: int) -> float:
    """Return the largest weight of other values over all choices of types, from the definition; -inf if the specified
    value is never `value`.
    """
    visible = list(reading.mask.visible(i, n))
    worst = -inf
    for choice in product(*(reading.types[reading.kinds[j - 1]] for j in visible)):
        held = dict(zip(visible, choice, strict=True))
        ordered = visible if reading.rightmost else visible[::-1]
        winner = next((j for j in reversed(ordered) if held[j].selected), ordered[-1])
        if held[winner].value != value:
            continue
        logits = {
            j: float(sum(lower(q[i - 1]) * (k[j - 1] + own)
                         for q, k, own in zip(reading.queries, reading.keys, held[j].key, strict=True)))
            for j in visible
        }  # fmt: skip
        top = max(logits.values())
        weights = {j: exp(logit - top) for j, logit in logits.items()}
        wrong = sum(weight for j, weight in weights.items() if held[j].value != value)
        worst = max(worst, wrong / sum(weights.values()))
    return worst


TYPES = st.sets(
    st.builds(LocalType, st.tuples(st.sampled_from([F(0), F(1), F(-1, 2)])), st.booleans(), st.sampled_from([0, 1])),
    min_size=1,
    max_size=3,
).map(tuple)


@st.composite
def readings(draw: st.DrawFn) -> tuple[int, NearestReading]:
    """Draw a head with one product in its score, at one length of at most 4."""
    n = draw(st.integers(1, 4))
    mask = draw(st.sampled_from([Mask.FUTURE, Mask.PAST, Mask.NONE]))
    rightmost = mask is Mask.FUTURE or (mask is Mask.NONE and draw(st.booleans()))
    numbers = st.fractions(-6, 6, max_denominator=4)
    queries = tuple(draw(st.lists(numbers, min_size=n, max_size=n)))
    keys = tuple(draw(st.lists(numbers, min_size=n, max_size=n)))
    types = draw(st.lists(TYPES, min_size=1, max_size=2).map(tuple))
    kinds = tuple(draw(st.lists(st.integers(0, len(types) - 1), min_size=n, max_size=n)))
    return n, NearestReading(mask, rightmost, (ExactNumbers(queries),), (ExactNumbers(keys),), kinds, types)


@given(readings(), st.sampled_from([0, 1]))
def test_the_worst_case_is_that_of_all_choices(case: tuple[int, NearestReading], value: int) -> None:
    n, reading = case
    found = head_worst_case(Sites((n,)), reading)[value]
    for i in range(1, n + 1):
        expected = brute(reading, n, i, value)
        assert found.wrong[i - 1] == pytest.approx(expected, rel=1e-9, abs=1e-12)
        # The bound is at least the exact value; exp here is off by far less than 1e-13.
        assert found.wrong[i - 1] >= expected - 1e-13
        assert (found.winner[i - 1] > 0) == (expected >= 0)


SINCE = (LocalType((F(0),), False, 0), LocalType((F(1),), True, 1), LocalType((F(1),), True, 0))
"""The types of `a S b`: letter a, which is neither !a nor b; letter b; letter c."""


def since_reading(beta: Fraction, n: int) -> NearestReading:
    """Return the reading of `a S b` over {a, b, c} in regime `temperature`: logits beta (n q + j/2)."""
    keys = tuple(F(j, 2 * n) for j in range(1, n + 1))
    return NearestReading(
        Mask.FUTURE, True, (ExactNumbers((beta * n,) * n),), (ExactNumbers(keys),), (0,) * n, (SINCE,)
    )


def test_the_supremum_of_since_is_the_geometric_series() -> None:
    # A c after n - 1 times b: the wrong weight is q + ... + q^(n-1) over 1 more, with q = e^(-beta/2).
    for n in (2, 5, 64):
        found = head_worst_case(Sites((n,)), since_reading(F(3), n))[0]
        q = exp(-1.5)
        series = sum(q**k for k in range(1, n))
        assert max(found.wrong) == pytest.approx(series / (1 + series), rel=1e-10)
        # Beyond some winner the series grows by less than the bound's own error.
        assert n - found.winner[n - 1] <= max(0, n - 20)


def test_hundreds_of_nats_between_neighbours_neither_overflow_nor_underflow() -> None:
    # Regime causal-temperature at i = 400: the logits are beta i^2 (q - 1/(2j)); from first to second are 320,000
    # nats.
    n, beta = 400, 4
    queries = tuple(F(beta * i * i) for i in range(1, n + 1))
    keys = tuple(F(-1, 2 * j) for j in range(1, n + 1))
    reading = NearestReading(Mask.FUTURE, True, (ExactNumbers(queries),), (ExactNumbers(keys),), (0,) * n, (SINCE,))
    q = exp(-beta / 2)
    for value in (0, 1):
        wrong = head_worst_case(Sites((n,)), reading)[value].wrong
        # Neighbours differ by at least beta/2 nats: the geometric series is a bound.
        assert 0 < max(wrong) <= q
        assert wrong[-1] > 0.7 * q


def test_an_impossible_value_has_no_worst_case() -> None:
    reading = NearestReading(
        Mask.FUTURE, True, (ExactNumbers((F(1),)),), (ExactNumbers((F(0),)),), (0,), ((LocalType((F(0),), True, 1),),)
    )
    found = head_worst_case(Sites((1,)), reading)[0]
    assert (list(found.wrong), list(found.winner)) == ([-inf], [0])


def slow_worst_case(reading: NearestReading, sites: Sites, site: int, value: int) -> mp.mpf:
    """Return the largest weight of wrong values from the definition of the worst choice, with 40 digits, term by
    term.
    """
    i, n = sites.i[site], sites.n[site]
    start = sites.starts[n]
    visible = list(reading.mask.visible(i, n))
    ordered = visible if reading.rightmost else visible[::-1]
    types = {j: reading.types[reading.kinds[start + j - 1]] for j in ordered}

    def weight(j: int, kind: LocalType) -> mp.mpf:
        logit = sum(lower(q[site]) * (k[start + j - 1] + own)
                    for q, k, own in zip(reading.queries, reading.keys, kind.key, strict=True))  # fmt: skip
        return mp.exp(mp.mpf(logit.numerator) / logit.denominator)

    def share(place: int, winners: list[LocalType], before: bool) -> mp.mpf:
        """Return the weight with the winner at a place; positions before it may have any type, or only unselected
        types.
        """
        wrong, right = mp.mpf(0), min(weight(ordered[place], kind) for kind in winners)
        for other, j in enumerate(ordered):
            held = [kind for kind in types[j] if not kind.selected or (before and other < place)]
            bad = [weight(j, kind) for kind in held if kind.value != value]
            if other == place:
                continue
            if not held:
                return mp.mpf("-inf")
            wrong, right = wrong + (max(bad) if bad else 0), right + (0 if bad else min(weight(j, k) for k in held))
        return wrong / (wrong + right)

    found = [mp.mpf("-inf")]
    for place, j in enumerate(ordered):
        winners = [kind for kind in types[j] if kind.selected and kind.value == value]
        if winners:
            found.append(share(place, winners, True))
    last = [kind for kind in types[ordered[-1]] if not kind.selected and kind.value == value]
    if last:
        found.append(share(len(ordered) - 1, last, False))
    return max(found)


@st.composite
def long_readings(draw: st.DrawFn) -> tuple[Sites, NearestReading]:
    """Draw a head over several lengths up to 16, with selected positions above the others by very little to very much,
    and one query per length or one per site.
    """
    sites = Sites(tuple(sorted(draw(st.sets(st.integers(1, 16), min_size=1, max_size=3)))))
    mask = draw(st.sampled_from([Mask.FUTURE, Mask.PAST, Mask.NONE]))
    rightmost = mask is Mask.FUTURE or (mask is Mask.NONE and draw(st.booleans()))
    gap, slope = draw(st.sampled_from([F(1, 3), F(4), F(30), F(400)])), draw(st.sampled_from([F(1, 8), F(2)]))
    own = draw(st.booleans())
    queries = (tuple(gap * (i if own else n) for i, n in zip(sites.i, sites.n, strict=True)), (slope,) * len(sites))
    keys = ((F(0),) * len(sites), tuple(F(i if rightmost else -i) for i in sites.i))
    kinds = st.builds(
        lambda selected, value, off: LocalType((F(int(selected)) - off, F(0)), selected, value),
        st.booleans(),
        st.sampled_from([0, 1]),
        st.sampled_from([F(0), F(0), F(1, 7)]),
    )
    types = tuple(draw(st.lists(st.sets(kinds, min_size=1, max_size=4).map(tuple), min_size=1, max_size=3)))
    chosen = tuple(draw(st.lists(st.integers(0, len(types) - 1), min_size=len(sites), max_size=len(sites))))
    return sites, NearestReading(
        mask, rightmost, tuple(map(ExactNumbers, queries)), tuple(map(ExactNumbers, keys)), chosen, types
    )


@given(long_readings(), st.sampled_from([0, 1]))
def test_running_sums_agree_with_the_definition_at_forty_digits(case: tuple[Sites, NearestReading], value: int) -> None:
    sites, reading = case
    found = head_worst_case(sites, reading)[value]
    with mp.workdps(40):
        for site in range(len(sites)):
            expected = slow_worst_case(reading, sites, site, value)
            bound = mp.mpf(float(found.wrong[site]))
            # The bound is at least the exact value, and hardly more; impossible values are recognised.
            assert expected <= bound
            assert bound == expected or bound <= expected * (1 + mp.mpf("1e-9")) + mp.mpf("1e-28")
            assert (found.winner[site] > 0) == (expected >= 0)


def test_columns_are_converted_once_and_rounded_to_nearest() -> None:
    column = ExactNumbers((F(1, 3), F(2, 6), 5, F(-1, 3)))
    assert column.floats.tolist() == [1 / 3, 1 / 3, 5.0, -1 / 3]
    assert column.places.tolist() == [0, 0, 1, 2]
    assert column.floats is column.floats
    with pytest.raises(OverflowError):
        assert ExactNumbers((F(10**400),)).floats
