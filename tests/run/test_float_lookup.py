"""Look-ups over few keys: keys that are counted once or left out widen enclosures by no more than stated."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.network.integers import Exact
from hardsim.run import float_lookup
from hardsim.run.enclosure import Block, fixed, rounded_row
from hardsim.run.float_lookup import BEYOND, WINDOW, Lookup, Met
from hardsim.run.float_rows import Views, softmax_rows
from tests.support.model import Mask

N = 2 * WINDOW + 8
PLACES = range(N)
LINE = [Fraction(j, N) for j in PLACES]
DOME = [-Fraction(j * j, N * N) for j in PLACES]
BOWL = [-value for value in DOME]
WAVE = [Fraction(j % 3, 3) for j in PLACES]
SIGNS = [Fraction((j == 1) - (j == 0)) for j in PLACES]


def true_mean(
    query: list[Fraction], keys: list[list[Fraction]], value: list[Fraction], inverse: Fraction
) -> mpmath.mpf:
    """Return the softmax mean by its definition, to far more digits than float64 has."""
    with mpmath.workdps(400):
        logits = [sum((q * key[j] for q, key in zip(query, keys, strict=True)), Fraction(0)) * inverse for j in PLACES]
        top = max(logits)
        weights = [mpmath.exp(mpmath.mpf((x - top).numerator) / (x - top).denominator) for x in logits]
        total = sum(weight * v.numerator / v.denominator for weight, v in zip(weights, value, strict=True))
        return total / sum(weights)


def lookup(
    keys: list[list[Fraction]], values: list[list[Fraction]], inverse: Fraction, mask: Mask = Mask.NONE
) -> Lookup:
    scale = rounded_row(Exact.row([inverse] * N, 1))
    return Lookup([fixed(key) for key in keys], [fixed(value) for value in values], Views(mask, N), scale)


def holds(block: Block, place: int, value: mpmath.mpf) -> bool:
    with mpmath.workdps(400):
        return bool(abs(mpmath.mpf(float(block.mid[0, place])) - value) <= float(block.radius[0, place]))


def read(found: Lookup, queries: list[list[Fraction]]) -> list[Block]:
    """Return the values that queries read at place 0; each query is a list of k factors."""
    factors = [fixed([query[k] for query in queries]) for k in range(len(queries[0]))]
    return found.read(factors, np.zeros(len(queries), dtype=np.int64))


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Record the number of queries in each run over all keys."""
    seen: list[int] = []
    plain = softmax_rows

    def counted(queries: list[Block], *rest: object) -> list[Block]:
        seen.append(queries[0].mid.shape[1])
        return plain(queries, *rest)  # type: ignore[arg-type]  # passed on as it came

    monkeypatch.setattr(float_lookup, "softmax_rows", counted)
    return seen


numbers = st.fractions(-3, 3, max_denominator=40)
sharpness = st.sampled_from([Fraction(1), Fraction(10), Fraction(1000), Fraction(10**5), Fraction(10**7, 3)])
curves = st.sampled_from([LINE, DOME, BOWL, SIGNS, WAVE])


@given(
    st.lists(st.tuples(numbers, numbers), min_size=1, max_size=4),
    st.tuples(curves, curves),
    st.sampled_from([DOME, WAVE, SIGNS, [Fraction(j == 5) for j in PLACES]]),
    sharpness,
)
def test_enclosures_hold_the_softmax_mean(
    queries: list[tuple[Fraction, Fraction]],
    keys: tuple[list[Fraction], list[Fraction]],
    value: list[Fraction],
    inverse: Fraction,
) -> None:
    (found,) = read(lookup(list(keys), [value], inverse), [list(query) for query in queries])
    for place, query in enumerate(queries):
        assert holds(found, place, true_mean(list(query), list(keys), value, inverse))


def test_a_sharp_look_up_meets_a_window_of_keys(ways: list[int]) -> None:
    """With 1/tau = 10^6 the neighbours of the largest score are at least 10^6/N^2 = 625 nats below it."""
    queries = [[Fraction(2 * j, N), Fraction(1)] for j in PLACES]  # maxima of 2 (j/N)(i/N) - (i/N)^2 are at i = j
    (found,) = read(lookup([LINE, DOME], [LINE], Fraction(10**6)), queries)
    assert not ways
    for j in PLACES:
        assert holds(found, j, mpmath.mpf(j) / N)
        assert found.radius[0, j] < 1e-12


def test_flat_rows_are_run_over_all_keys(ways: list[int]) -> None:
    """A window of 16 around the middle would leave out keys that are less than 100 nats away."""
    queries = [[Fraction(1), Fraction(1)], [Fraction(0), Fraction(0)]]
    (found,) = read(lookup([LINE, DOME], [LINE], Fraction(10)), queries)
    assert ways == [2]
    assert holds(found, 1, mpmath.mpf(N - 1) / 2 / N)


def test_rows_that_bend_upwards_are_run_over_all_keys(ways: list[int]) -> None:
    """For x^2 - x the two ends are the largest, and a window would find one."""
    queries = [[Fraction(-1), Fraction(-1)], [Fraction(1), Fraction(1)]]
    (found,) = read(lookup([LINE, DOME], [LINE], Fraction(10**6)), queries)
    assert ways == [1]
    for place, query in enumerate(queries):
        assert holds(found, place, true_mean(query, [LINE, DOME], LINE, Fraction(10**6)))


def test_a_query_that_may_have_either_sign_is_run_over_all_keys(ways: list[int]) -> None:
    found = lookup([LINE, DOME], [LINE], Fraction(10**6))
    unsure = Block(np.array([[1e-3, 1.0]]), np.array([[2e-3, 1e-3]]))
    found.read([fixed([1, 1]), unsure], np.zeros(2, dtype=np.int64))
    assert ways == [1]


@pytest.mark.parametrize("keys", [[LINE, WAVE], [[Fraction(j**3 - 20 * j * j, N**3) for j in PLACES]]])
def test_keys_that_bend_both_ways_have_no_window(keys: list[list[Fraction]], ways: list[int]) -> None:
    read(lookup(keys, [LINE], Fraction(10**6)), [[Fraction(1)] * len(keys)])
    assert ways == [1]


def test_keys_are_not_left_out_under_a_mask(ways: list[int]) -> None:
    (found,) = read(lookup([LINE, DOME], [LINE], Fraction(10**6), Mask.FUTURE), [[Fraction(1), Fraction(1)]])
    assert ways == [1]
    assert holds(found, 0, mpmath.mpf(0))


def test_equal_keys_count_as_often_as_they_occur(ways: list[int]) -> None:
    """N - 2 keys have the logit 0, one log 3 and the value 1, one -log 3: the value read is 3/(N - 2 + 3 + 1/3)."""
    log = Fraction(1.0986122886681098)
    ones = [Fraction(j == 1) for j in PLACES]
    (found,) = read(lookup([SIGNS], [ones], Fraction(1)), [[log]])
    assert not ways
    assert abs(found.mid[0, 0] - 3 / (N - 2 + 3 + 1 / 3)) < 1e-14
    assert holds(found, 0, true_mean([log], [SIGNS], ones, Fraction(1)))


def test_equal_keys_with_different_values_count_by_themselves() -> None:
    (found,) = read(lookup([SIGNS], [WAVE], Fraction(1)), [[Fraction(2)]])
    assert holds(found, 0, true_mean([Fraction(2)], [SIGNS], WAVE, Fraction(1)))


# ---- numbers for what is met ----


@given(st.lists(st.lists(st.integers(0, 12) | st.just(BEYOND - 1), min_size=1, max_size=8), min_size=1, max_size=5))
def test_integers_keep_the_numbers_that_they_get(batches: list[list[int]]) -> None:
    met, known = Met(), dict[int, int]()
    for batch in batches:
        found = met.numbers(np.array([batch]))
        assert found.shape == (1, len(batch))
        for integer, number in zip(batch, found[0].tolist(), strict=True):
            assert known.setdefault(integer, number) == number
        assert sorted(known.values()) == list(range(met.count)) == list(range(len(known)))
