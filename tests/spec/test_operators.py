"""Every operator against the oracle, on all short words, in every regime: hard attention and softmax."""

from __future__ import annotations

import pytest

from hardsim.checking.compare import Judge
from hardsim.checking.subject import ModelOptions, compile_file
from hardsim.errors import Unsupported
from hardsim.lang.parse import parse_expression
from hardsim.spec.regimes import PROVEN, REGIMES
from tests.strategies import all_words

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
            compile_file(file, options)
        return
    judge = Judge(compile_file(file, options))
    for word in all_words("abc", 4):
        found = judge.evaluate(word)
        assert (found.oracle, found.hard, found.soft) == (found.oracle,) * 3, word
        assert found.margin is None or found.margin > 0


@pytest.mark.sweep
@pytest.mark.parametrize("regime", PROVEN)
def test_single_head_changes_nothing_but_the_layers(regime: str) -> None:
    file = parse_expression("(Y a -> O b) & (b S !a)", ["a", "b"])
    shared = compile_file(file, ModelOptions(regime))
    single = compile_file(file, ModelOptions(regime, single_head=True))
    assert max(len(layer.heads) for layer in shared.program.layers) > 1
    assert {len(layer.heads) for layer in single.program.layers} <= {0, 1}
    assert [head.name for head in single.program.heads] == [head.name for head in shared.program.heads]
    one, two = Judge(shared), Judge(single)
    for word in all_words("ab", 7):
        assert one.evaluate(word) == two.evaluate(word)
        assert one.evaluate(word).mismatch is None


def test_none_fails_visibly_and_only_from_some_length_on() -> None:
    judge = Judge(compile_file(parse_expression("a S b", ["a", "b", "c"]), ModelOptions("none")))
    mismatches = [word for word in all_words("abc", 6) if judge.evaluate(word).mismatch]
    assert mismatches
    assert all(judge.evaluate(word).mismatch is None for word in all_words("abc", 1))
    assert all(judge.evaluate(word).hard is judge.evaluate(word).oracle for word in mismatches)
