"""Tests that words that fail in a narrower format are tried at other lengths in a wider one."""

from itertools import groupby

from hypothesis import given
from hypothesis import strategies as st

from hardsim.precision.safe_lengths import RUNS, _stretched


@given(st.lists(st.sampled_from("ab"), min_size=1, max_size=12), st.integers(1, 30))
def test_one_run_has_another_length(letters: list[str], n: int) -> None:
    word = tuple(letters)
    symbols = [symbol for symbol, _ in groupby(word)]
    found = list(_stretched(word, n))
    assert len(found) <= RUNS
    for longer in found:
        assert len(longer) == n
        assert [symbol for symbol, _ in groupby(longer)] == symbols
        sizes, others = ([len(list(run)) for _, run in groupby(one)] for one in (word, longer))
        assert sum(a != b for a, b in zip(sizes, others, strict=True)) <= 1
    if n >= len(word):
        assert found
