"""Distances of enclosures from exact numbers, compared with rationals."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hardsim.campaign.distances import RowSelection, far, same
from hardsim.network.integers import Exact, quotient
from hardsim.run.enclosure import Block

WORDS, N = 3, 2
ROWS = RowSelection.of(np.arange(WORDS))
WHOLE = st.lists(st.lists(st.integers(-3, 3), min_size=N, max_size=N), min_size=WORDS, max_size=WORDS)
UNITS = st.sampled_from([1, 3, 2**60])
RADII = st.sampled_from([None, 0.0, 2.0**-40, 0.5])
SHARED = st.booleans()


def block_of(values: list[list[int]], unit: int, rad: float | None, shared: bool) -> Block:
    """Return a block of values over a unit; if `shared`, one row for all words."""
    mid = np.array(values[:1] if shared else values, dtype=np.float64) / unit
    return Block(mid, None if rad is None else np.full_like(mid, rad), places=0 if unit == 1 else 60)


def exact_of(values: list[list[int]], unit: int, shared: bool) -> Exact:
    whole = np.array(values)
    return Exact.of(np.broadcast_to(whole[:1], whole.shape) if shared else whole, unit)


@given(st.builds(block_of, WHOLE, st.sampled_from([1, 4]), RADII, SHARED), st.builds(exact_of, WHOLE, UNITS, SHARED))
def test_the_largest_distance_lies_within_its_bounds(block: Block, expected: Exact) -> None:
    low, high = far(block, ROWS, expected, ROWS)
    mid, rad = (np.broadcast_to(part, (WORDS, N)).tolist() for part in (block.mid, block.radius))
    for word in range(WORDS):
        off = [abs(Fraction(mid[word][place]) - expected.at(word, place)) for place in range(N)]
        sizes = [Fraction(one) for one in rad[word]]
        # The bounds hold for every column in the block, and are as narrow as its radii.
        least = max(max(one - size, Fraction(0)) for one, size in zip(off, sizes, strict=True))
        most = max(one + size for one, size in zip(off, sizes, strict=True))
        assert Fraction(low[word]) <= least
        assert most <= Fraction(high[word]) <= most + Fraction(1, 2**25)
        assert least - Fraction(low[word]) <= Fraction(1, 2**25)
        assert most or low[word] == high[word] == 0


def test_what_is_not_a_number_has_no_bound() -> None:
    """It must not hide behind another word, and must not count as a distance of 0."""
    mid, rad = np.array([[0.0, np.nan], [0.0, 1.0], [0.0, 0.0]]), np.array([[0.0, 0.0], [0.0, 0.0], [np.nan, 0.0]])
    low, high = far(Block(mid, rad), ROWS, Exact.row([0, 1], WORDS), ROWS)
    assert np.isnan([high[0], high[2]]).all()
    assert (low[1], high[1]) == (0, 0)


@given(st.lists(st.lists(st.integers(0, 60), min_size=60, max_size=60), min_size=2, max_size=2), st.booleans())
def test_means_are_the_same_where_their_totals_are(totals: list[list[int]], changed: bool) -> None:
    """Means of 1 to 60 numbers, whose common unit is no machine integer."""
    whole, counts = np.array(totals), np.arange(1, 61)
    expected = quotient(whole, counts[None], 1)
    mine = whole.astype(np.float64)
    mine[1, 59] += changed
    block = Block(mine / counts, np.ones_like(mine), ratio=(mine, counts.astype(np.float64)))
    rows = RowSelection.of(np.arange(2))
    assert same(block, rows, expected, rows) is not changed
    without = Exact.of(expected.whole, expected.unit)
    assert without.ratio is None
    assert same(block, rows, without, rows) is not changed
    assert not same(Block(block.mid, block.rad), rows, expected, rows)
