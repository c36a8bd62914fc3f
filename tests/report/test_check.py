"""The report of a check, from results built by hand: it renders, it does not compute."""

from __future__ import annotations

import io
from dataclasses import replace
from fractions import Fraction

import jsonschema
import pytest

from hardsim.checking.result import CheckResult, HeadResult, LengthResult, Mismatch, ModelFacts, Verdict
from hardsim.report.check import head_rows, length_row, print_check, print_summary, summary_row
from hardsim.report.json import check_json, document, encode, schema
from hardsim.report.screen import Screen

ALPHABET = ("a", "b")
FACTS = ModelFacts("temperature", "last", True, Fraction(7, 2), "1/n", 3, 2, 11, 47)
HEAD = HeadResult(
    "S3", 1, "the rightmost b", "Theorem 0", Fraction(1, 8), Fraction(1, 5), Fraction(1, 4), Fraction(1, 6)
)
UNIFORM = HeadResult("first", 2, "marks the first", "", Fraction(0), Fraction(0), None, None)
SHORT = LengthResult(
    n=3,
    words=8,
    possible=8,
    exhaustive=True,
    accepted=5,
    soft_mismatches=0,
    hard_mismatches=0,
    acceptance_gap=Fraction(3, 4),
    margin=Fraction(1, 10),
    score_gap=Fraction(1, 4),
    error=Fraction(1, 8),
    bound=Fraction(1, 5),
    digits=23,
    heads=(HEAD, UNIFORM),
)
LONG = replace(
    SHORT,
    n=40,
    words=17,
    possible=2**40,
    exhaustive=False,
    soft_mismatches=2,
    hard_mismatches=1,
    acceptance_gap=None,
    margin=Fraction(-1, 10),
    score_gap=Fraction(1, 80),
    error=Fraction(1, 9),
    digits=29,
    heads=(replace(HEAD, error=Fraction(1, 9), gap=Fraction(1, 80), declared_gap=Fraction(1, 90)), UNIFORM),
)
RESULT = CheckResult(
    name="x[/b].ltl",
    sha256="0" * 64,
    formula="#L[b] S a",
    model=FACTS,
    engine="mpmath",
    seed=3,
    max_n=40,
    exhaustive_limit=8,
    samples=17,
    lengths=(SHORT, LONG),
    verdict=Verdict.OBSERVED,
    reach="the words of this test",
    mismatch=None,
)
MISMATCH = Mismatch(("a", "b") * 200, True, True, None, Fraction(3, 4))


def text_of(result: CheckResult, tables: bool = True) -> str:
    """The block of a result where nobody looks."""
    target = io.StringIO()
    print_check(Screen(target), result, ALPHABET, tables)
    return target.getvalue()


def test_a_row_says_how_many_words_of_how_many() -> None:
    assert length_row(SHORT) == ["3", "all 8", "5", "0", "0", "0.75", "0.1", "0.25", "0.125", "0.2", "23"]
    assert length_row(LONG)[:5] == ["40", "17 of about 10^12", "5", "2", "1"]
    assert length_row(LONG)[5] == "–"


def test_a_head_has_its_extremes_with_the_bounds_of_the_same_length() -> None:
    first, second = head_rows([SHORT, LONG])
    assert first == ["S3", "1", "0.125", "3", "0.2", "0.0125", "40", "0.0111", "the rightmost b [Theorem 0]"]
    assert second == ["first", "2", "0", "3", "0", "–", "–", "–", "marks the first"]


def test_the_verdict_has_its_reach() -> None:
    text = text_of(RESULT)
    assert "OBSERVED: the words of this test\n" in text
    assert "x[/b].ltl\n" in text
    assert "  formula  #L[b] S a\n" in text
    assert "3 layers, one head each, 2 heads, dimension 11, 47 parameters" in text
    assert "all 8" not in text_of(RESULT, tables=False)


@pytest.mark.parametrize(
    ("mismatch", "regime", "expected"),
    [
        (MISMATCH, "temperature", "raise --beta or lower --tau"),
        (MISMATCH, "none", "hardsim check --regime all"),
        (replace(MISMATCH, hard=False), "temperature", "a defect of hardsim"),
    ],
)
def test_a_mismatch_is_on_a_line_of_its_own_with_the_next_step(mismatch: Mismatch, regime: str, expected: str) -> None:
    facts = replace(FACTS, regime=regime)
    result = replace(RESULT, engine="auto", verdict=Verdict.REFUTED, mismatch=mismatch, model=facts)
    lines = text_of(result).splitlines()
    place = lines.index("ab" * 200)
    assert lines[place - 2] == "REFUTED: the words of this test"
    assert "softmax: undecided (output 0.75, neither 0 nor 1)" in lines[place + 1]
    assert expected in lines[place + 2]


def test_what_mpmath_saw_is_to_be_certified_next() -> None:
    lines = text_of(replace(RESULT, mismatch=MISMATCH)).splitlines()
    place = lines.index("ab" * 200)
    assert lines[place - 2] == "OBSERVED: the words of this test"
    assert "--engine ball certifies it" in lines[place + 2]


def test_a_mismatch_without_an_answer_of_the_network_says_so() -> None:
    mismatch = replace(MISMATCH, hard=False, soft=None, decided=False)
    result = replace(RESULT, engine="auto", verdict=Verdict.REFUTED, mismatch=mismatch)
    assert "softmax: not decided" in text_of(result)
    assert check_json(result)["mismatch"]["output"] is None


def test_the_summary_counts_and_shows_extremes() -> None:
    row = summary_row(replace(RESULT, partial=True))
    assert row[2:] == ["OBSERVED (partial)", "25", "3", "0.75", "-0.1", "0.0125", "0.125", "0.2", "29"]
    empty = replace(RESULT, lengths=(), verdict=Verdict.UNDECIDED)
    assert summary_row(empty)[3:] == ["0", "0", "–", "–", "–", "–", "–", "–"]
    target = io.StringIO()
    print_summary(Screen(target), [RESULT, empty, RESULT])
    assert target.getvalue().endswith("3 results: 2 OBSERVED, 1 UNDECIDED\n")


def envelope(result: CheckResult, **changes: object) -> dict[str, object]:
    """A document around one result."""
    return document("check", 3, [], [check_json(result)], [], [], 0) | changes


def test_json_meets_the_schema_and_loses_no_word() -> None:
    validator = jsonschema.Draft202012Validator(schema())
    validator.check_schema(schema())
    mismatch = replace(MISMATCH, word=("a b", "é", "\udcff"))
    found = envelope(replace(RESULT, mismatch=mismatch, verdict=Verdict.REFUTED))
    validator.validate(found)
    assert check_json(replace(RESULT, mismatch=mismatch))["mismatch"]["word"] == ["a b", "é", "\udcff"]
    assert '"é"' in encode(found)
    assert "\\udcff" in encode(found)
    assert check_json(RESULT)["lengths"][1]["possible"] == "1099511627776"  # 2^40


@pytest.mark.parametrize(
    "changes",
    [
        {"schema_version": 2},
        {"command": "eval"},
        {"command": "dance"},
        {"seed": None},
        {"results": [{}]},
        {"exit_code": 5},
        {"time": "now"},
    ],
)
def test_the_schema_refuses_other_documents(changes: dict[str, object]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema()).validate(envelope(RESULT, **changes))
