"""Tests of every operator against the oracle, on all short words, in every regime: hard attention and softmax."""

import re
from typing import get_args

import pytest

from hardsim.lang import ast
from hardsim.targets.result import MPMATH
from tests.support.check import ModelOptions, compile_formula
from tests.support.language import Unsupported, parse_expression
from tests.support.model import NAMED, PROVEN, REGIMES
from tests.support.strategies import PAST_BINARY, PAST_UNARY, all_words
from tests.support.subjects import agree, evaluations, known

PAST = ["Y a", "WY a", "O a", "H a", "a S b", "a T b", "first", "Y (a S b)", "(Y a) S (O b)"]
FUTURE = ["X a", "WX a", "F a", "G a", "a U b", "a R b", "a W b", "a M (a | b)", "last", "X (a U b)", "(X a) W (F b)"]
FUTURE += ["X X a", "!last"]
BOOLEAN = (
    "a; !a; true; false; a & O b; a | H b; a -> Y b; Y a <-> O b; Y a ^ O b ^ first; !(Y a & !O b); O a & O b & !Y c; "
    "Y Y !a; !first; O first"
)


def test_no_operator_is_left_out() -> None:
    words = set(" ".join([*PAST, *FUTURE]).replace("(", " ").split())
    assert {*get_args(ast.UnaryOp), *get_args(ast.BinaryOp)} <= words


def test_the_hint_names_the_operators_of_the_past_and_where_they_work() -> None:
    """Each one that it names compiles in each regime but the two that it excludes, which have what it says."""
    with pytest.raises(Unsupported) as caught:
        compile_formula(parse_expression("X a", ["a", "b"]), ModelOptions("causal-temperature"))
    found = known(
        re.search(r"Past operators \((.*)\) work .* but (.*) and (.*), which have (.*), (.*) and", caught.value.hint)
    )
    named, *means, once, always = found.groups()
    assert {*named.split()} == {*PAST_UNARY, *PAST_BINARY}
    for operator in named.split():
        file = parse_expression(f"a {operator} b" if operator in PAST_BINARY else f"{operator} a", ["a", "b"])
        for regime in NAMED:
            if regime not in means or operator in (once, always):
                compile_formula(file, ModelOptions(regime))
            else:
                with pytest.raises(Unsupported, match="no construction"):
                    compile_formula(file, ModelOptions(regime))
    assert caught.value.hint.endswith("and comparisons of counts (#L, #).")
    for regime in means:
        for count in ("#L[a] > 1", "#[a] > #[b]"):
            compile_formula(parse_expression(count, ["a", "b"]), ModelOptions(regime))


@pytest.mark.sweep(every=5)
@pytest.mark.parametrize(
    ("certain", "observed"), [(4, 2), pytest.param(6, 4, marks=pytest.mark.slow)], ids=["short", "longer"]
)
@pytest.mark.parametrize("at", ["last", "first"])
@pytest.mark.parametrize("regime", PROVEN)
@pytest.mark.parametrize("text", [*PAST, *FUTURE, *BOOLEAN.split("; ")])
def test_operator_on_all_short_words(text: str, regime: str, at: str, certain: int, observed: int) -> None:
    """Words up to one length are certified; up to a shorter length mpmath, which is slow, runs as well."""
    file = parse_expression(text, ["a", "b", "c"])
    options = ModelOptions(regime, at="first" if at == "first" else "last")
    if REGIMES[regime].causal and text in FUTURE:
        with pytest.raises(Unsupported, match="looks ahead"):
            compile_formula(file, options)
        return
    subject = compile_formula(file, options)
    agree(subject, all_words("abc", certain))
    agree(subject, all_words("abc", observed), MPMATH)


def test_none_fails_visibly_and_only_from_some_length_on() -> None:
    subject = compile_formula(parse_expression("a S b", ["a", "b", "c"]), ModelOptions("none"))
    wrong = [found for found in evaluations(subject, all_words("abc", 6)) if found.mismatch]
    assert wrong
    assert all(len(found.word) > 1 and found.hard is found.oracle for found in wrong)
