"""Tests of the table of critical betas: it is what the code finds and prints, and each derived beta is in its
bracket.
"""

from dataclasses import replace
from fractions import Fraction
from math import exp, isclose, log
from pathlib import Path

import pytest

from benchmarks.critical import MARK, RESULTS, ROWS, CriticalRow, Row, bracket_of, read_results, render, root, squares
from benchmarks.table import END
from hardsim.measuring.critical import FINE, WIDTH
from tests.support.model import PROVEN

ROOT = Path(__file__).resolve().parents[2]
FOUND = read_results(RESULTS.read_text(encoding="utf-8"))


def of(formula: str, counting: str | None = None, letters: str = "ab") -> Row:
    (row,) = (row for row in ROWS if (row.formula, row.counting, row.letters) == (formula, counting, letters))
    return row


def test_the_page_shows_what_was_found() -> None:
    text = (ROOT / "docs" / "critical.md").read_text(encoding="utf-8")
    shown = text.partition(MARK)[2].partition(END)[0]
    assert shown.strip() == render(FOUND).strip(), "run python -m benchmarks.critical --docs"


def test_every_operator_has_a_row_in_every_regime() -> None:
    assert [(one.formula, one.letters, one.first, one.counting, one.regime) for one in FOUND] == [
        (row.formula, row.letters, row.first, row.counting, regime) for row in ROWS for regime in PROVEN
    ]
    for one in FOUND:
        assert (one.refused is None) == (one.right is not None)
        if one.closed:
            assert Fraction(one.right or 0) - Fraction(one.wrong or 0) <= WIDTH
        elif one.refused is None:
            assert one.missing


@pytest.mark.parametrize("row", [row for row in ROWS if row.derived is not None], ids=lambda row: row.title)
def test_what_is_derived_lies_between_the_ends(row: Row) -> None:
    for one in FOUND:
        if not one.of(row) or one.refused is not None or row.derived is None:
            continue
        value = row.derived[one.regime].value
        wrong = one.wrong if one.closed else one.inside or one.wrong
        assert Fraction(wrong or 0) <= value + 1e-9, one
        assert value <= Fraction(one.right or 0) + Fraction(1, 10**9), one
        assert value - Fraction(wrong or 0) <= WIDTH + FINE, one


def test_numbers_that_are_derived() -> None:
    assert isclose(root(lambda beta: exp(-beta), 1 / 6), log(6), rel_tol=1e-12)
    assert isclose(squares(0.5), 0.5 + 0.5**4 + 0.5**9 + 0.5**16 + 0.5**25, rel_tol=1e-9)
    assert isclose(squares(0.5, 1), 0.5 + 2 * 0.5**4 + 3 * 0.5**9 + 4 * 0.5**16, rel_tol=1e-6)


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("row", "regime"),
    [
        (of("#L[a] >= 2", "sign"), "causal-temperature"),
        (of("last"), "causal-position"),
        (of("a S b"), "causal-position"),
    ],
)
def test_a_row_is_found_again(row: Row, regime: str) -> None:
    assert bracket_of(row, regime) == next(one for one in FOUND if one.of(row) and one.regime == regime)


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.title} {row.operator}")
def test_every_row_is_found_again(row: Row) -> None:
    assert [bracket_of(row, regime) for regime in PROVEN] == [one for one in FOUND if one.of(row)]


def test_a_table_of_few_rows() -> None:
    row = Row("T", "a T b")
    about = ("a T b", "ab", False, None)
    found = [
        CriticalRow(*about, "temperature", right="2", wrong="1.9995", n=2, word="ab"),
        CriticalRow(*about, "position", right="2", wrong="1.9995", n=2, word="ab"),
        CriticalRow(
            *about,
            "causal-temperature",
            right="2",
            wrong="1",
            n=2,
            word="b",
            missing="a",
            inside="1.9995",
            inside_word="a",
        ),
        CriticalRow(*about, "causal-position", refused="'T' looks up, and regime 'causal-position' has none"),
    ]
    other = Row("R", "a R b")
    found += [replace(one, formula="a R b") for one in found]
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in render(found, [row, other]).splitlines()]
    assert lines[0] == ["formulas", "temperature, position", "causal-temperature", "causal-position"]
    assert lines[2:] == [["`a T b`; `a R b`", "2", "1–2 inside", "–"]]
    found[2:3] = [replace(found[2], inside=None)]
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in render(found, [row]).splitlines()]
    assert lines[2:] == [["`a T b`", "2", "1–2", "–"]]
