"""Tests of the table of critical betas: it is what the code finds and prints, and each derived beta is in its
bracket.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import exp, isclose, log

import pytest

from benchmarks.critical import PAGE, ROWS, CriticalRow, Row, bracket_of, render
from hardsim.measuring.critical import FINE, WIDTH
from tests.support.model import PROVEN

FOUND = PAGE.read(CriticalRow)


# ---- derived closed forms ----


def root(falling: Callable[[float], float], expected: float) -> float:
    """Find where a decreasing function of beta takes the value `expected`, between 0 and 8, by bisection."""
    low, high = 0.0, 8.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > expected else (low, middle)
    return low


def squares(x: float, power: int = 0) -> float:
    """Return the sum of m^power x^(m^2) over m >= 1."""
    return float(sum(m**power * x ** (m * m) for m in range(1, 40)))


def number(expected: float) -> float:
    """Find the beta at which a look-up of the number 1 is off by `expected`."""
    return root(lambda b: squares(exp(-b), 1) / (1 + squares(exp(-b))), expected)


ONCE = root(lambda b: exp(-2 * b) + exp(-5 * b / 2), 1 / 3), log(3) / 3
SIGN = log(6), log(6) / 3, root(lambda b: exp(-5 * b / 6) + exp(-13 * b / 6), 1 / 3)
THIRDS = (
    root(lambda b: exp(-b) + exp(-4 * b), 1 / 6),
    root(lambda b: 6 * exp(-4 * b) + 3 * exp(-16 * b), 1),
)
DERIVED: dict[str, tuple[float, ...]] = {
    **dict.fromkeys(("`Y a`", "`WY a`", "`X a` (first)", "`WX a` (first)"), (2 * log(2),)),
    **dict.fromkeys((f"`{operator} a`" for operator in "OH"), ONCE),
    **dict.fromkeys((f"`{operator} a` (first)" for operator in "FG"), ONCE),
    **dict.fromkeys(("`a S b`", "`a T b`", "`a U b` (first)", "`a R b` (first)"), ONCE),
    **dict.fromkeys(("`a S b` (abc)", "`(a or b) T (b or c)` (abc)"), (2 * log(4),)),
    **dict.fromkeys((f"`a {operator} b` (abc, first)" for operator in "UW"), (2 * log(4),)),
    **dict.fromkeys((f"`(a or b) {operator} (b or c)` (abc, first)" for operator in "RM"), (2 * log(4),)),
    **dict.fromkeys(("`#L[a] >= 2` (sign)", "`#R[a] >= 2` (sign, first)", "`#[a] >= 2` (sign)"), SIGN),
    **dict.fromkeys(("`#L[a] > #L[b]` (sign)", "`#L[a] = #L[b]` (abc, sign)"), SIGN),
    **dict.fromkeys(
        ("`#L[a] >= 2` (lookup)", "`#R[a] >= 2` (lookup, first)", "`#[a] >= 2` (lookup)"), (number(1 / 4), log(3) / 2)
    ),
    "`#L[a or b] > #L[b or c]` (abc, lookup)": (log(7), log(7) / 2),
    "`2 * #L[a] >= len`": (number(1 / 8),),
    "`ODD(#L[a])`": SIGN[:2],
    **dict.fromkeys(("`ODD(#R[a])` (first)", "`ODD(#[a])`"), SIGN[:1]),
    "`MOD(3, 0, #L[a])`": THIRDS,
    "`PRIME(#L[a])`": (root(lambda b: squares(exp(-b)), 1 / 6), log(3) / 2),
}
"""The derived critical beta of rows by their titles: of `temperature` and `position`, which have the same logits; of
`causal-temperature` and of `causal-position` where they differ from it."""


def derived(title: str, regime: str) -> float:
    value, early, ramp = (*DERIVED[title], *DERIVED[title][:1] * 2)[:3]
    return {"causal-temperature": early, "causal-position": ramp}.get(regime, value)


def of(formula: str, counting: str | None = None, letters: str = "ab") -> Row:
    (row,) = (row for row in ROWS if (row.formula, row.counting, row.letters) == (formula, counting, letters))
    return row


def test_every_operator_has_a_row_in_every_regime() -> None:
    assert [(*one.settings, one.regime) for one in FOUND] == [
        (*row.settings, regime) for row in ROWS for regime in PROVEN
    ]
    for one in FOUND:
        assert (one.refused is None) == (one.right is not None)
        if one.closed:
            assert Fraction(one.right or 0) - Fraction(one.wrong or 0) <= WIDTH
        elif one.refused is None:
            assert one.missing


@pytest.mark.parametrize("title", DERIVED)
def test_what_is_derived_lies_between_the_ends(title: str) -> None:
    (row,) = (row for row in ROWS if row.title == title)
    for one in FOUND:
        if not one.of(row) or one.refused is not None:
            continue
        value = derived(title, one.regime)
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
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.title)
def test_every_row_is_found_again(row: Row) -> None:
    assert [bracket_of(row, regime) for regime in PROVEN] == [one for one in FOUND if one.of(row)]


def test_a_table_of_few_rows() -> None:
    row = Row("a T b")
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
    other = Row("a R b")
    found += [replace(one, formula="a R b") for one in found]
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in render(found, [row, other]).splitlines()]
    assert lines[0] == ["formulas", "temperature, position", "causal-temperature", "causal-position"]
    assert lines[2:] == [["`a T b`; `a R b`", "2", "1–2 inside", "–"]]
    found[2:3] = [replace(found[2], inside=None)]
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in render(found, [row]).splitlines()]
    assert lines[2:] == [["`a T b`", "2", "1–2", "–"]]
