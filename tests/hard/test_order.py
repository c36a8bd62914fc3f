"""The order of a head's candidates, compared with all words and rows, one by one."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.hard.order import Order, two_largest
from hardsim.network.integers import SAFE, Exact
from tests.support.model import Mask, Weighting

MASKS = st.sampled_from([Mask.NONE, Mask.FUTURE, Mask.PAST])
SIDES = st.sampled_from([Weighting.LEFTMOST, Weighting.RIGHTMOST])
Rows = list[list[Fraction]]


@st.composite
def heads(draw: st.DrawFn) -> tuple[list[tuple[list[Fraction], Rows]], int, int]:
    """Draw queries by position with keys by combination and position, of few values, so that many are equal; return
    them with the numbers of combinations and positions.
    """
    count, n = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    sizes = draw(st.sampled_from([1, 7, 10**30]))
    numbers = st.builds(lambda value, under: Fraction(value * sizes, under), st.integers(-2, 2), st.integers(1, 2))
    row = st.lists(numbers, min_size=n, max_size=n)
    steady = numbers.map(lambda value: [value] * n)
    pairs = st.tuples(st.one_of(steady, row), st.lists(row, min_size=count, max_size=count))
    return draw(st.lists(pairs, min_size=1, max_size=3)), count, n


def exact(rows: Rows) -> Exact:
    return Exact.of(np.array([[int(value * 4) for value in row] for row in rows], dtype=object), 4)


def order_of(pairs: list[tuple[list[Fraction], Rows]], mask: Mask, side: Weighting) -> Order | None:
    return Order.of([(exact([query]), exact(keys)) for query, keys in pairs], mask, side)


def score(pairs: list[tuple[list[Fraction], Rows]], i: int, word: tuple[int, ...], j: int) -> Fraction:
    return sum((query[i] * keys[word[j]][j] for query, keys in pairs), Fraction(0))


@given(heads(), MASKS, SIDES)
def test_winners_and_runners_up_of_every_word(
    head: tuple[list[tuple[list[Fraction], Rows]], int, int], mask: Mask, side: Weighting
) -> None:
    pairs, count, n = head
    order = order_of(pairs, mask, side)
    if order is None:
        assert any(len(set(query)) > 1 for query, _ in pairs)  # constant queries always have an order
        return
    words = list(product(range(count), repeat=n))
    codes = np.array([[order.ranks[word[j], j] for word in words] for j in range(n)])
    best, second, rows = two_largest(codes, mask)
    gaps = order.gaps(best[rows], second, rows) if second.size else None
    for i, (number, word) in product(range(n), enumerate(words)):
        seen = [j - 1 for j in mask.visible(i + 1, n)]
        turn = 1 if side is Weighting.RIGHTMOST else -1
        ranked = sorted(seen, key=lambda j: (score(pairs, i, word, j), turn * j))
        assert order.positions[best[i, number]] == ranked[-1]
        assert (i in range(n)[rows]) == (len(seen) > 1)
        if gaps is not None and len(seen) > 1:
            gap = score(pairs, i, word, ranked[-1]) - score(pairs, i, word, ranked[-2])
            assert Fraction(int(gaps[i - rows.start, number]), order.unit) == gap
            assert order.closest is not None
            assert Fraction(order.closest, order.unit) <= gap


@given(heads(), MASKS, SIDES, st.data())
def test_what_is_preferred_is_found_in_every_word(
    head: tuple[list[tuple[list[Fraction], Rows]], int, int], mask: Mask, side: Weighting, data: st.DataObject
) -> None:
    pairs, count, n = head
    order = order_of(pairs, mask, side)
    bits = st.lists(st.integers(0, 1), min_size=n, max_size=n)
    select = data.draw(st.lists(bits, min_size=count, max_size=count))
    if order is None or not order.prefers(np.array(select), side):
        return
    for word in product(range(count), repeat=n):
        for i in range(n):
            seen = [j - 1 for j in mask.visible(i + 1, n)]
            turn = 1 if side is Weighting.RIGHTMOST else -1
            expected = max(seen, key=lambda j: (select[word[j]][j], turn * j))
            scores = {j: score(pairs, i, word, j) for j in seen}
            assert expected == max(seen, key=lambda j: (scores[j], turn * j))


def nearest(tie: int, n: int = 4) -> list[tuple[list[Fraction], Rows]]:
    """Return the score i q_j + tie j / 4: at each position one candidate with q_j = 0 and one with q_j = 1."""
    queries, ones = [Fraction(i) for i in range(1, n + 1)], [Fraction(1)] * n
    flags = [[Fraction(0)] * n, ones]
    ramp = [Fraction(tie * j, 4) for j in range(1, n + 1)]
    return [(queries, flags), (ones, [ramp, ramp])]


@pytest.mark.parametrize("mask", [Mask.FUTURE, Mask.NONE, Mask.PAST])
def test_groups_whose_order_is_the_same_in_every_row(mask: Mask) -> None:
    """A tie-break of j/4 is less than i >= 1 where 4 positions are seen; the gaps are 1/4, and at least 1 - 3/4
    between the groups. A tie-break of 2j/4 reaches the 1 of the first row if it sees 3 positions.
    """
    order = order_of(nearest(1), mask, Weighting.RIGHTMOST)
    assert order is not None
    assert Fraction(order.closest or 0, order.unit) == Fraction(1, 4)
    select = np.array([[0] * 4, [1] * 4])
    assert order.prefers(select, Weighting.RIGHTMOST)
    assert not order.prefers(select, Weighting.LEFTMOST)
    assert not order.prefers(1 - select, Weighting.RIGHTMOST)
    assert not order.prefers(np.array([[0, 0, 0, 1], [1, 1, 1, 1]]), Weighting.RIGHTMOST)
    assert (order_of(nearest(2), mask, Weighting.RIGHTMOST) is None) == (mask is not Mask.FUTURE)


def test_more_groups_than_are_ordered_and_strict_masks_have_none() -> None:
    """Nine positions with keys of their own have no order; eight have one if the queries do not matter to it."""
    for n in (8, 9):
        pair = [Fraction(i) for i in range(1, n + 1)], [[Fraction(j) for j in range(n)]]
        assert (order_of([pair], Mask.FUTURE, Weighting.RIGHTMOST) is None) == (n == 9)
        assert order_of([pair], Mask.STRICT_FUTURE, Weighting.RIGHTMOST) is None


def test_large_scores_are_python_s_integers() -> None:
    one = [Fraction(1)] * 3
    for size in (SAFE, 10**40):
        order = order_of([(one, [[Fraction(size * j) for j in (3, 1, 2)]])], Mask.NONE, Weighting.RIGHTMOST)
        assert order is not None
        assert order.positions.tolist() == [1, 2, 0]
        assert Fraction(order.closest or 0, order.unit) == size
