"""The printed text, the figure and the JSON of bound reports."""

from dataclasses import replace
from fractions import Fraction

import pytest

from hardsim.campaign.result import Growth, Tie, Violation
from hardsim.measuring.bound import BoundHead, BoundLength, BoundResult
from hardsim.report.bound import (
    gap_row,
    gaps_counted,
    head_row,
    length_row,
    print_bound,
    print_gaps,
    print_summary,
    summary_row,
)
from hardsim.report.plot import draw, name_of
from hardsim.targets.result import ModelFacts
from tests.report.screens import printed
from tests.support.check import Verdict

HALF, TINY = Fraction(1, 2), Fraction(1, 10**9)


def length(n: int, gap: Fraction | None = HALF) -> BoundLength:
    heads = (
        BoundHead("wide", 1, "ties", gap and 2 * gap, None, Fraction(4), TINY, HALF),
        BoundHead("narrow", 2, "tieless", gap, Fraction(1, 8), Fraction(16), HALF, HALF),
    )
    return BoundLength(
        n=n, positions=n, words=2**n, possible=2**n, exhaustive=True, score_gap=gap,
        declared_gap=Fraction(1, 8), size=Fraction(1),
        epsilon=Fraction(1, 4), temperature=Fraction(1, 16), theorem=Fraction(1, 16), right=Fraction(1, 4),
        wrong=Fraction(3, 8), word=("a", "b"), error=HALF, bound=HALF, bits=24, rounding_width=n, assumption="",
        heads=heads,
    )  # fmt: skip


RESULT = BoundResult(
    input="dir/model.ahat.json", sha256="0" * 64, kind="ahat", regime=None, schedule="1", grid="a grid",
    model=ModelFacts(2, 1, 5, 7, "1"), seed=0, lengths=(length(1, None), length(2), length(3, Fraction(1, 3))),
    growth=(Growth("gap", -1.25, 2.0, 2, 3),), asymptotics="O(n)", general=None,
    ties=(Tie("wide", 2, ("a", "a"), 1, 2),), verdict=Verdict.CERTIFIED, reach="all",
)  # fmt: skip
VIOLATION = Violation("the declared gap of head x", 2, ("a", "b"), TINY, HALF, declared=True)
FORMULA = replace(RESULT, input="dir/f.ltl", kind="ltl", regime="position", ties=())


def shown(result: BoundResult, tables: bool = True) -> str:
    return printed(print_bound, result, ("a", "b"), tables)


def test_rows() -> None:
    row = ["2", "all 4", "0.5", "0.5", "0.5", "0.0625", "0.25", "0.375", "ab"]
    assert length_row(length(2), ("a", "b")) == row
    # If no two scores differ, every temperature is low enough.
    flat = length_row(replace(length(1, None), right=None, wrong=None, word=None), ("a", "b"))
    assert flat[5:] == ["any", "any", "–", "–"]
    assert head_row(3, length(3).heads[1]) == ["narrow", "2", "tieless", "3", "0.5", "0.125", "16", "0.5", "0.5"]
    assert gap_row(RESULT) == ["dir/model.ahat.json", "yes", "14", "3", "0.333", "0.125"]
    assert summary_row(FORMULA)[:3] == ["dir/f.ltl, regime position", "CERTIFIED", "3"]
    assert summary_row(replace(FORMULA, partial=True))[1] == "CERTIFIED (partial)"


def test_a_report_without_attention() -> None:
    bare = replace(RESULT, lengths=tuple(replace(one, heads=(), score_gap=None) for one in RESULT.lengths), growth=())
    assert gap_row(bare)[1:] == ["yes", "14", "3", "–", "–"]
    assert gap_row(replace(RESULT, lengths=()))[1:4] == ["yes", "0", "0"]


def test_a_block() -> None:
    text = shown(RESULT)
    for said in ("  theorem   O(n)", "  grid      a grid, each tried until one is wrong",
                 "CERTIFIED  dir/model.ahat.json\n  all", "wrong on"):  # fmt: skip
        assert said in text
    assert "regime" not in text
    assert "  regime    position: temperatures below are multiples of 1" in shown(FORMULA)
    assert shown(RESULT, tables=False).splitlines() == [
        "CERTIFIED  dir/model.ahat.json", "  all", "  network   2 layers, 1 head, dimension 5, 7 parameters", "",
    ]  # fmt: skip


def test_what_is_wrong_stands_alone() -> None:
    refuted = replace(RESULT, verdict=Verdict.REFUTED, refuted=("b", "a"))
    violated = replace(refuted, violation=VIOLATION)
    message = replace(refuted, model=replace(RESULT.model, given=("tau",)))
    steps = ((message, "ba", "lower --tau"), (refuted, "ba", "remove the"), (violated, "ab", "correct the gap"))
    for result, word, next_step in steps:
        lines = shown(result, tables=False).splitlines()
        assert lines[lines.index("The word, on a line of its own:") + 1] == word
        assert next_step in " ".join(lines)


def test_short_reports() -> None:
    both = [RESULT, replace(RESULT, violation=VIOLATION)]
    lines = printed(print_gaps, both).splitlines()
    assert gaps_counted(both) == "1 with a declared gap that does not hold on the words tried"
    assert [line.split()[1] for line in lines if line.startswith("dir/")] == ["yes", "NO"]
    text = printed(print_summary, [RESULT, replace(RESULT, lengths=())])
    assert text.count("dir/model") == 1  # the other has nothing to show


@pytest.mark.slow
def test_a_picture_is_the_same_each_time_and_skips_what_is_not_there() -> None:
    def drawn(*results: BoundResult) -> str:
        return draw(results).decode()

    text = drawn(RESULT)
    assert text == drawn(RESULT)
    assert "Theorem 26" in text
    nothing = drawn(replace(RESULT, lengths=()))
    assert "Theorem 26" not in nothing
    assert "n (positions)" in nothing
    # Zeros have no place on a log axis: no errors are drawn where there are none.
    flat = replace(RESULT, lengths=tuple(replace(one, error=Fraction(0), bound=Fraction(0)) for one in RESULT.lengths))
    assert drawn(flat).count(">bound<") == 0 < drawn(RESULT).count(">bound<")
    both = drawn(RESULT, FORMULA)
    assert "measured: model.ahat.json" in both
    assert "measured: f.ltl, position" in both


def test_names_in_a_picture() -> None:
    assert name_of(RESULT) == "model.ahat.json"
    assert name_of(FORMULA) == "f.ltl, position"
    assert len(name_of(replace(RESULT, input=f"x/{'y' * 200}.srasp"))) < 50
