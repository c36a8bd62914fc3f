"""The exact interpreter: the attended positions and gaps that it measures."""

from fractions import Fraction

import pytest

from hardsim.compiling.from_ltl.lower import lower
from tests.support.hard_runs import hard_run, since
from tests.support.language import desugar, parse_expression
from tests.support.model import REGIMES


@pytest.mark.parametrize(
    ("regime", "gap"),
    [
        # Two neighbours with q = 1 differ by one step of the tie-break, the smallest step; for 1/(2j) the last step is
        # the smallest.
        ("temperature", Fraction(1, 12)),
        ("position", Fraction(1, 2)),
        ("causal-temperature", Fraction(1, 10) - Fraction(1, 12)),
        ("causal-position", Fraction(1, 2)),
        ("none", Fraction(1, 12)),
    ],
)
def test_least_gap_at_length_6(regime: str, gap: Fraction) -> None:
    assert list(hard_run(since(regime), "bbbbbb").gaps.values()) == [gap]


def test_winners_are_the_rightmost_positions_that_decide() -> None:
    trace = hard_run(since(), "abacaa")
    # q = b or c: positions 2 and 4; before them i itself.
    assert list(trace.winners.values()) == [[1, 2, 2, 4, 4, 4]]
    assert trace.accepted is False
    assert hard_run(since(), "acba").accepted is True


def test_marker_attention_is_the_exact_mean() -> None:
    trace = hard_run(lower(desugar(parse_expression("first", ["a"])), REGIMES["position"]), "aaaa")
    assert trace.columns["first.mean"] == [1, 0, Fraction(1, 3), 0]
    assert trace.columns["first"] == [1, 0, 0, 0]
