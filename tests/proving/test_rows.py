"""Tests of the lengths that each row of a table covers."""

import pytest

from hardsim.campaign.result import MOST_ROWS, printed_lengths


def ends(max_n: int) -> list[int]:
    return [some[-1] for some in printed_lengths(max_n)]


def test_short_lengths_have_a_row_each_then_powers_of_two_and_the_last() -> None:
    assert ends(1) == [1]
    assert ends(8) == list(range(1, 9))
    assert ends(9) == [*range(1, 9), 9]
    assert ends(64) == [*range(1, 9), 16, 32, 64]
    assert ends(100) == [*range(1, 9), 16, 32, 64, 100]


def test_the_first_rows_are_one_where_there_would_be_more_than_twelve() -> None:
    assert ends(128) == [*range(1, 9), 16, 32, 64, 128]
    assert ends(256) == [*range(2, 9), 16, 32, 64, 128, 256]
    assert ends(1024) == [*range(4, 9), 16, 32, 64, 128, 256, 512, 1024]
    assert ends(100_000)[0] == 64
    assert ends(100_000)[-2:] == [65536, 100_000]


@pytest.mark.parametrize("max_n", [*range(1, 300), 1000, 1024, 1025, 4096, 99_999, 100_000])
def test_every_length_is_in_one_row(max_n: int) -> None:
    rows = printed_lengths(max_n)
    assert [n for row in rows for n in row] == list(range(1, max_n + 1))
    assert all(len(row) for row in rows)
    assert len(rows) <= MOST_ROWS


def test_every_length_may_have_a_row() -> None:
    assert [list(row) for row in printed_lengths(20, every=True)] == [[n] for n in range(1, 21)]
