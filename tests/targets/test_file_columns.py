"""The answers of a file after every prefix, as what a network is expected to output."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest

from hardsim.targets.file_columns import column_of
from hardsim.targets.semantics import Accepts
from tests.support.check import read_expression


def test_each_position_has_the_answer_of_its_prefix(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over a and b, `a S b` is true once there was a b. Each of the 2 + 4 + 8 + 16 prefixes is asked for once."""
    asked = list[Any]()
    many = Accepts.many

    def recorded(self: Accepts, words: Sequence[Any]) -> list[Any]:
        asked.extend(words)
        return many(self, words)

    monkeypatch.setattr(Accepts, "many", recorded)
    words = list(product("ab", repeat=4))
    rows = column_of(read_expression("a S b", "a b").semantics(None), "each").rows(words, "each")
    assert rows == [["b" in word[:length] for length in range(1, 5)] for word in words]
    assert len(asked) == len({*asked}) == 30
    assert column_of(read_expression("F b", "a b").semantics("first"), "last").rows(words, "last") == [
        ["b" in word] for word in words
    ]
