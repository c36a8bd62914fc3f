"""Every operator against the oracle, on all short words, in every regime: hard attention and softmax."""

from __future__ import annotations

import pytest

from hardsim.checking.open import compile_formula
from hardsim.checking.subject import ModelOptions
from hardsim.errors import Unsupported
from hardsim.lang.parse import parse_expression
from hardsim.program.regimes import PROVEN, REGIMES
from tests.strategies import all_words
from tests.subjects import evaluations

PAST = ["Y a", "WY a", "O a", "H a", "a S b", "a T b", "first", "Y (a S b)", "(Y a) S (O b)"]
FUTURE = ["X a", "WX a", "F a", "G a", "a U b", "a R b", "a W b", "a M (a | b)", "last", "X (a U b)", "(X a) W (F b)"]
BOOLEAN = [
    "a",
    "!a",
    "true",
    "false",
    "a & O b",
    "a | H b",
    "a -> Y b",
    "Y a <-> O b",
    "Y a ^ O b ^ first",
    "!(Y a & !O b)",
    "O a & O b & !Y c",
    "X X a",
    "Y Y !a",
    "!first",
    "!last",
    "O first",
]


FUTURE_WORDS = {"X", "WX", "F", "G", "U", "R", "W", "M", "last"}


@pytest.mark.sweep
@pytest.mark.parametrize("at", ["last", "first"])
@pytest.mark.parametrize("regime", PROVEN)
@pytest.mark.parametrize("text", PAST + FUTURE + BOOLEAN)
def test_operator_on_all_short_words(text: str, regime: str, at: str) -> None:
    file = parse_expression(text, ["a", "b", "c"])
    options = ModelOptions(regime, at="first" if at == "first" else "last")
    future = any(word in FUTURE_WORDS for word in text.replace("(", " ").replace(")", " ").replace("!", " ").split())
    if REGIMES[regime].causal and future:
        with pytest.raises(Unsupported, match="looks ahead"):
            compile_formula(file, options)
        return
    subject = compile_formula(file, options)
    for found in evaluations(subject, all_words("abc", 4)):
        assert (found.oracle, found.hard, found.soft) == (found.oracle,) * 3, found.word
        assert found.margin is None or found.margin > 0


@pytest.mark.sweep
@pytest.mark.parametrize("regime", PROVEN)
def test_single_head_changes_nothing_but_the_layers(regime: str) -> None:
    file = parse_expression("(Y a -> O b) & (b S !a)", ["a", "b"])
    shared = compile_formula(file, ModelOptions(regime))
    single = compile_formula(file, ModelOptions(regime, single_head=True))
    assert max(len(layer.heads) for layer in shared.program.layers) > 1
    assert {len(layer.heads) for layer in single.program.layers} <= {0, 1}
    assert [head.name for head in single.program.heads] == [head.name for head in shared.program.heads]
    words = all_words("ab", 7)
    for one, two in zip(evaluations(shared, words), evaluations(single, words), strict=True):
        assert one == two
        assert one.mismatch is None


def test_none_fails_visibly_and_only_from_some_length_on() -> None:
    subject = compile_formula(parse_expression("a S b", ["a", "b", "c"]), ModelOptions("none"))
    wrong = [found for found in evaluations(subject, all_words("abc", 6)) if found.mismatch]
    assert wrong
    assert all(len(found.word) > 1 and found.hard is found.oracle for found in wrong)
