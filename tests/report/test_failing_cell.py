"""Where an answer goes wrong: the expected places follow from the words, and from definitions of what heads read."""

from __future__ import annotations

from typing import Any

import pytest

from hardsim import api
from hardsim.measuring.trace import TraceResult
from hardsim.report.failing_cell import FailingCell, failing_cell, output_value, read_place, wrong_places


def trace(name: str, word: str, **keywords: Any) -> TraceResult:
    model = api.load(name)
    return (model.compile(**keywords) if keywords else model).trace(list(word))


def found_in(result: TraceResult) -> FailingCell:
    found = failing_cell(result)
    assert found is not None
    return found


@pytest.mark.parametrize(("name", "word"), [("since", "cba"), ("dyck1.srasp", "()"), ("reverse.srasp", "ab")])
def test_a_right_answer_fails_nowhere(name: str, word: str) -> None:
    result = trace(name, word)
    assert result.answers.agree is True
    assert failing_cell(result) is None


@pytest.mark.parametrize("word", ["cbaa", "cbaacbaa", "baaa"])
def test_a_rounded_value_that_softmax_leaves_open(word: str) -> None:
    """The answer of `a S b` is read at the last position, and hard attention reads the last position with !a | b."""
    result = trace("since", word, regime="none")
    if result.answers.agree is True:
        assert failing_cell(result) is None
        return
    found = found_in(result)
    assert (found.query, found.key) == (len(word) - 1, max(word.rfind("b"), word.rfind("c")))
    assert found.head == result.heads[0]
    (margin,) = [value.margin for value in result.values if value.margin is not None]
    assert margin[-1] < 0
    assert found.text.startswith(f"layer 1, S4.read, position {len(word)} (a): hard attention reads position ")


def test_the_first_layer_counts() -> None:
    """The count in layer 3 is open at the last position; the even positions are what its head reads on average, so no
    single key is named. The head of layer 4 also looks elsewhere."""
    result = trace("dyck1", "(()())", regime="none")
    found = found_in(result)
    assert found.head is not None
    assert (found.head.layer, found.head.name, found.query, found.key) == (3, "count3.sign", 5, None)
    assert found.head.reads[5].keys == (2, 4, 6)
    below = {value.layer for value in result.values if min(value.margin or (0,)) < 0}
    assert min(below) == 3


def test_too_little_weight_where_nothing_is_rounded() -> None:
    """At temperature 5 all keys weigh about the same; `reverse` reads the last symbol at the first position."""
    result = trace("reverse.srasp", "abca", tau="5")
    found = found_in(result)
    assert found.head is not None
    assert (found.query, found.key) == (1, 4)
    assert found.head.reads[1].weight < 1 / 2
    assert wrong_places(result) == [1, 2, 3, 4]


def test_an_external_network_has_a_wrong_position_and_no_head() -> None:
    """The word after which the network of this file is known to say b alone (it stands in the file)."""
    word = "abaaabbbaabbaabaabbabbaaabbbaabbabaaabbaabbbaababba"
    result = trace("formulas/networks/dyck1_depth3.spec", word)
    found = found_in(result)
    assert (found.query, found.head, found.key) == (len(word), None, None)
    assert found.text == f"the output at position {len(word)} (a) is wrong"


def test_the_output_of_an_acceptor() -> None:
    result = trace("since", "cbaa", regime="none")
    value = output_value(result)
    assert value is not None
    assert (value.coordinate, list(map(int, value.hard))) == ("S4", [0, 1, 1, 1])
    assert read_place(result) == 3
    assert read_place(trace("reverse.srasp", "ab")) is None
    assert output_value(trace("reverse.srasp", "ab")) is None
