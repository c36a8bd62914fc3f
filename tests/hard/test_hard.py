"""The exact interpreter: what it measures, and that it fails loudly."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from hardsim.compiling.from_ltl.lower import lower
from hardsim.errors import InvariantError
from hardsim.lang.desugar import desugar
from hardsim.lang.parse import parse_expression
from hardsim.program.model import Affine, Head, Program, Weighting
from hardsim.program.regimes import REGIMES, expression
from tests.hard_runs import hard_run


def since(regime: str = "temperature") -> Program:
    return lower(desugar(parse_expression("a S b", ["a", "b", "c"])), REGIMES[regime])


def with_head(program: Program, **changes: Any) -> Program:
    """The program with its only head changed."""
    layer = program.layers[0]
    head: Head = replace(layer.heads[0], **changes)
    return replace(program, layers=(replace(layer, heads=(head,)),))


@pytest.mark.parametrize(
    ("regime", "gap"),
    [
        # Two neighbours with q = 1 differ by one step of the tie-break, the smallest step there is; for 1/(2j) it is
        # the last.
        ("temperature", Fraction(1, 12)),
        ("position", Fraction(1, 2)),
        ("causal-temperature", Fraction(1, 10) - Fraction(1, 12)),
        ("causal-position", Fraction(1, 2)),
        ("none", Fraction(1, 12)),
    ],
)
def test_least_gap_at_length_6(regime: str, gap: Fraction) -> None:
    trace = hard_run(since(regime), "bbbbbb")
    assert list(trace.gaps.values()) == [gap]


def test_winners_are_the_rightmost_positions_that_decide() -> None:
    trace = hard_run(since(), "abacaa")
    # q = b or c: positions 2 and 4; before them i itself.
    assert list(trace.winners.values()) == [[1, 2, 2, 4, 4, 4]]
    assert trace.accepted is False
    assert hard_run(since(), "acba").accepted is True


def test_a_gap_smaller_than_declared_is_an_error() -> None:
    greedy = with_head(since(), decay=expression("2/n"))
    with pytest.raises(
        InvariantError, match=r"the score gap is 1/4, less than the declared 1 \(the maximum is at position 2\)"
    ):
        hard_run(greedy, "bb")


def test_a_tie_is_an_error() -> None:
    flat = with_head(since(), score=((Affine.coordinate("1"), Affine.constant(1)),))
    with pytest.raises(InvariantError, match=r"the score gap is 0, less than"):
        hard_run(flat, "bb")


def test_a_head_that_finds_something_else_than_it_declares_is_an_error() -> None:
    wrong = with_head(since(), weighting=Weighting.LEFTMOST, decay=None)
    with pytest.raises(InvariantError, match="leftmost position that it looks for is 1"):
        hard_run(wrong, "bb")


def test_marker_attention_is_the_exact_mean() -> None:
    program = lower(desugar(parse_expression("first", ["a"])), REGIMES["position"])
    trace = hard_run(program, "aaaa")
    assert trace.columns["first.mean"] == [1, 0, Fraction(1, 3), 0]
    assert trace.columns["first"] == [1, 0, 0, 0]
