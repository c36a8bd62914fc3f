"""Lemma 8: a tie-break that turns average into rightmost or leftmost hard attention, and how close scores come to
it.

`scores` are those of the visible positions, in order. They have gap at least 1: every score that is not the maximum is
at least 1 below it; no more than this is used (ours). The result has a unique maximum j*, the rightmost or leftmost of
the old maxima, and falls off by at least 1/2 nats a position from there to both sides, the condition of Lemma 6 with g
= 1/2. All functions refuse empty scores, a gap below 1, and positions outside 1..n.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardsim.theory.lemmas import geometric_distance
from tests.support.language import InputError
from tests.support.mistakes import raised
from tests.support.networks import context, softmax

Row: TypeAlias = tuple[Fraction, ...]
"""Scores without ties, one for each visible position."""
HALF = Fraction(1, 2)
"""The g of Lemma 6 after Lemma 8, in nats per position, for beta = 1."""


def causal_rightmost(scores: Sequence[Fraction]) -> Row:
    """Break ties by Lemma 8a, without n: `i^2 (s_j - 1/(2j))`, j = 1..i, i the query's position and the number of
    scores.

    For j < j* the tie-breaks differ by `(j* - j)/(2 j j*)`, at least `(j* - j)/(2 i (i - 1))`; for j > j*,
    s_j <= s_j* - 1, and `1 + 1/(2j) - 1/(2j*) > 1/2`, at least `(j - j*)/(2i)`. So the decay is at least
    `i/(2(i - 1))`, by two neighbouring maxima at i - 1 and i no more than that (ours; the paper has 1/2).
    """
    _check_gap(scores)
    i = len(scores)
    return tuple(i * i * (score - Fraction(1, 2 * j)) for j, score in enumerate(scores, start=1))


def rightmost(scores: Sequence[Fraction], n: int, first: int = 1) -> Row:
    """Break ties by Lemma 8b: `n (s_j + j/(2n))` at positions j = first, first + 1, ... of a word of length n.

    For j < j* the tie-break alone gives (j* - j)/2; for j > j*, s_j <= s_j* - 1, and `n - (j - j*)/2 >= (j -
    j*)/2`.
    """
    return _broken(scores, n, first, 1)


def leftmost(scores: Sequence[Fraction], n: int, first: int = 1) -> Row:
    """Break ties by Lemma 8c: `n (s_j - j/(2n))`, the mirror image of Lemma 8b."""
    return _broken(scores, n, first, -1)


def _broken(scores: Sequence[Fraction], n: int, first: int, side: int) -> Row:
    _check_gap(scores)
    last = first + len(scores) - 1
    if first < 1 or last > n:
        raise InputError(f"the visible positions {first} to {last} do not lie in a word of length {n}")
    return tuple(n * score + Fraction(side * j, 2) for j, score in enumerate(scores, start=first))


def _check_gap(scores: Sequence[Fraction]) -> None:
    if not scores:
        raise InputError("Lemma 8 needs at least one visible position")
    best = max(scores)
    second = max((score for score in scores if score != best), default=best - 1)
    if best - second < 1:
        raise InputError(f"Lemma 8 needs scores with a gap of at least 1, not {best - second}")


Break = Callable[[Sequence[Fraction]], Row]


def exactly_long(side: Callable[[Sequence[Fraction], int], Row]) -> Break:
    """Return the lemma's tie-break with n equal to the number of scores, where all positions are visible."""
    return lambda scores: side(scores, len(scores))


BREAKS: dict[str, tuple[Break, Callable[[Sequence[int]], int]]] = {
    "8a": (causal_rightmost, max),
    "8b": (exactly_long(rightmost), max),
    "8c": (exactly_long(leftmost), min),
}


def steepness(scores: Sequence[Fraction]) -> Fraction:
    """Return the largest g with `s_j <= s_j* - g |j - j*|` for all j; needs two scores at least."""
    winner = scores.index(max(scores))
    return min((scores[winner] - score) / abs(j - winner) for j, score in enumerate(scores) if j != winner)


def holds(name: str, scores: Sequence[Fraction]) -> Fraction | None:
    """Assert Lemma 8 on one row; return its steepness, None for a single score."""
    breaking, side = BREAKS[name]
    broken = breaking(scores)
    best = max(scores)
    assert broken.count(max(broken)) == 1
    winner = side([j for j, score in enumerate(scores) if score == best])
    assert broken.index(max(broken)) == winner
    if len(scores) == 1:
        return None
    steep = steepness(broken)
    assert steep >= HALF
    return steep


@pytest.mark.parametrize("name", BREAKS)
def test_every_row_of_zeros_and_ones_up_to_length_8(name: str) -> None:
    for n in range(1, 9):
        least = min(
            (steep for row in product((0, 1), repeat=n) if (steep := holds(name, [*map(Fraction, row)]))), default=None
        )
        if n > 1:
            assert least == (Fraction(n, 2 * (n - 1)) if name == "8a" else HALF)


@st.composite
def separated(draw: st.DrawFn) -> list[Fraction]:
    """Draw rows of gap at least 1: some maxima, and all other scores at least 1 below."""
    n = draw(st.integers(1, 60))
    best = draw(st.fractions(-3, 3, max_denominator=10))
    below = st.just(Fraction(0)) | st.just(Fraction(1)) | st.fractions(1, 4, max_denominator=10)
    row = [best - loss for loss in draw(st.lists(below, min_size=n, max_size=n))]
    row[draw(st.integers(0, n - 1))] = best
    return row


@pytest.mark.slow
@pytest.mark.parametrize("name", BREAKS)
@given(row=separated())
def test_random_longer_rows_of_gap_1(name: str, row: list[Fraction]) -> None:
    holds(name, row)


@given(separated(), st.data())
def test_masked_rows_see_some_positions_of_a_longer_word(row: list[Fraction], data: st.DataObject) -> None:
    n = data.draw(st.integers(len(row), 100))
    first = data.draw(st.integers(1, n - len(row) + 1))
    for breaking, side in ((rightmost, max), (leftmost, min)):
        broken = breaking(row, n, first)
        tie = 1 if breaking is rightmost else -1
        assert list(broken) == [n * (s + Fraction(tie * (first + k), 2 * n)) for k, s in enumerate(row)]
        assert broken.index(max(broken)) == side(j for j, s in enumerate(row) if s == max(row))
        assert len(row) == 1 or steepness(broken) >= HALF


def test_the_scores_are_those_of_the_statement() -> None:
    row = [Fraction(x) for x in (1, 0, 1, 0, 0)]
    assert causal_rightmost(row) == tuple(25 * (s - Fraction(1, 2 * j)) for j, s in enumerate(row, start=1))
    assert rightmost(row, 7) == tuple(7 * (s + Fraction(j, 14)) for j, s in enumerate(row, start=1))
    assert leftmost(row, 7, 3) == tuple(7 * (s - Fraction(j, 14)) for j, s in enumerate(row, start=3))


def test_the_half_of_8a_is_approached_and_those_of_8b_and_8c_attained() -> None:
    """The rows are two neighbouring maxima at the end, and a row of ones."""
    for n in (2, 3, 10, 1000):
        for row in ([Fraction(1)] * n, [*[Fraction(0)] * (n - 2), Fraction(1), Fraction(1)]):
            assert steepness(causal_rightmost(row)) == Fraction(n, 2 * (n - 1))
            assert steepness(rightmost(row, n)) == HALF
            assert steepness(leftmost(row, n)) == HALF


def test_8a_with_a_lower_power_of_i_falls_off_too_slowly() -> None:
    """i^2 over i, that is i times the scores: the decay of a row of ones vanishes."""
    for i in (10, 100, 1000):
        scores = causal_rightmost([Fraction(1)] * i)
        assert steepness([score / i for score in scores]) == Fraction(1, 2 * (i - 1))


def test_8a_needs_the_future_mask() -> None:
    """Scaled by i^2, two maxima beyond i are closer than 1/2."""
    i = 3
    assert steepness([i * i * (1 - Fraction(1, 2 * j)) for j in (4, 5)]) == Fraction(9, 40) < HALF


@given(separated(), st.integers(1, 12))
def test_lemma_6_applies_to_the_broken_scores(row: list[Fraction], beta: int) -> None:
    """The lemmas serve this purpose: a bound on the distance from the rightmost or leftmost hardmax."""
    for breaking, _ in BREAKS.values():
        broken = breaking(row)
        best = max(broken)
        weights = softmax([beta * score for score in broken])
        # The hardmax weights sum to 1, so the winner lacks exactly the weight of the others.
        distance = 2 * context.fsum(w for w, s in zip(weights, broken, strict=True) if s != best)
        assert distance <= geometric_distance(beta * HALF, context)


def test_lemma_6_is_approached_after_8b() -> None:
    """A row of ones: the weights left of the last fall off by exactly 1/2, to one side only: half of Lemma 6's
    mass.
    """
    for beta in (2, 8, 40):
        scores = rightmost([Fraction(1)] * 400, 400)
        x = context.exp(-context.mpf(beta) / 2)
        mass = context.fsum(x**k for k in range(1, len(scores)))
        distance = 2 * mass / (1 + mass)
        bound = geometric_distance(Fraction(beta, 2), context)
        assert all(scores[-1] - scores[-1 - k] == Fraction(k, 2) for k in range(len(scores)))
        # 2x against 4x/(1 + x), up to x^400.
        assert abs(distance / bound - (1 + x) / 2) < context.mpf(10) ** -40 + x**399


def test_a_gap_below_1_is_refused_since_it_would_not_do() -> None:
    for breaking, _ in BREAKS.values():
        raised(InputError, breaking, [Fraction(1), Fraction(1, 10)], match="a gap of at least 1, not 9/10")
        raised(InputError, breaking, [], match="at least one visible position")
    # 8b by hand with gap 9/10 at n = 20 > 1/(1 - 9/10): 18 - 19/2 = 17/2 over 19 positions.
    scores = [20 * (Fraction(9, 10) * (j == 1) + Fraction(j, 40)) for j in range(1, 21)]
    assert steepness(scores) == Fraction(17, 38) < HALF


@pytest.mark.parametrize(("n", "first"), [(2, 1), (3, 2), (5, 0), (2, -1)])
def test_positions_outside_the_word_are_refused(n: int, first: int) -> None:
    for breaking in (rightmost, leftmost):
        with pytest.raises(InputError, match=f"do not lie in a word of length {n}"):
            breaking([Fraction(0), Fraction(1), Fraction(1)], n, first)
