"""Tests of results, their table, its copy in the documentation, and exit codes. Timings are not checked here."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks import prover, throughput
from benchmarks.cases import PASSES
from benchmarks.results import Figure, PassCost, Results, Target, describe, read_results
from benchmarks.table import BEGIN, END, amount, into_page, render, summary

ROOT = Path(__file__).resolve().parents[2]
KEPT = Figure("g", "kept", "case", 2.0, "x", Target(3))
MISSED = Figure("g", "missed", "case", 4.0, "x", Target(3), "why")
COST = PassCost("g", "case", 16, "balls", 8, 3, 0.0125, 8, 0)


def results(*figures: Figure) -> Results:
    return Results(figures=list(figures), about="Run of today")


def test_targets_have_two_directions() -> None:
    assert Target(3).reached(3)
    assert not Target(3).reached(3.1)
    assert Target(3, at_least=True).reached(3)
    assert not Target(3, at_least=True).reached(2.9)
    assert not Target(3).reached(float("nan"))


def test_what_could_not_be_measured_is_missed() -> None:
    assert replace(KEPT, value=None).reached is False
    assert replace(KEPT, target=None).reached is None


def test_json_holds_everything(tmp_path: Path) -> None:
    found = results(KEPT, MISSED, Figure("g", "failed", "case", None, "s", Target(1), "failed: no"))
    found.passes = [COST]
    path = tmp_path / "results.json"
    path.write_text(found.to_json(), encoding="utf-8")
    assert read_results(path) == found
    assert [figure.reached for figure in found.figures] == [True, False, False]


def test_a_run_is_described() -> None:
    pattern = r"Run of \d{4}-\d\d-\d\d: hardsim .*, \d+ cores, \d+ GiB, .*Python 3.*, numpy .*, mpmath .*; one BLAS"
    assert re.match(pattern, describe())


def cells(text: str) -> list[list[str]]:
    """Return the cells of the tables in a text."""
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line[:1] == "|"]


def test_the_table_shows_targets_and_what_was_reached() -> None:
    found = results(KEPT, MISSED, Figure("g", "long", "case", 131070.4, "words/s", Target(1e6, at_least=True)))
    text = render(found)
    assert text.startswith("Run of today\n")
    head, _, *rows = cells(text)
    assert head == ["group", "what", "case", "found", "target", "note"]
    assert rows == [
        ["g", "kept", "case", "2 x", "≤ 3 x", ""],
        ["g", "missed", "case", "4 x", "≤ 3 x (missed)", "why"],
        ["g", "long", "case", "131,070 words/s", "≥ 1,000,000 words/s (missed)", ""],
    ]


def test_the_summary_has_a_row_for_the_cases_of_a_target() -> None:
    two = Target(2)
    found = results(KEPT, replace(KEPT, case="other", value=3.5), replace(KEPT, case="third", value=1))
    found.figures += [replace(MISSED, target=two), replace(KEPT, what="no target", target=None)]
    found.figures += [replace(KEPT, group="h", what=what, value=None) for what in ("one", "two")]
    rows = cells(summary(found))
    assert rows[0] == ["what", "case", "found", "target"]
    assert rows[2:] == [
        ["kept", "3 of g", "1 x to 3.5 x", "≤ 3 x (1 missed)"],
        ["missed", "case", "4 x", "≤ 2 x (1 missed)"],
        ["h", "2 of h", "–", "≤ 3 x (2 missed)"],
    ]


def test_numbers_are_short() -> None:
    assert [amount(value, "s") for value in (0.01234, 1.0, 99.94, 123.4, 4096.0)] == [
        "0.0123 s", "1 s", "99.9 s", "123 s", "4,096 s",
    ]  # fmt: skip


def test_the_documentation_shows_the_reference_run() -> None:
    text = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    shown = text.partition(BEGIN)[2].partition(END)[0]
    reference = read_results(ROOT / "benchmarks" / "results.json")
    assert shown.strip() == summary(reference).strip(), "run python -m benchmarks --docs"
    assert {*command.GROUPS} == {figure.group for figure in reference.figures}


def test_the_page_is_written_between_its_marks(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    into_page(path, render(results(KEPT)))
    text = path.read_text(encoding="utf-8")
    assert text == f"before\n{BEGIN}\n\n{render(results(KEPT))}\n{END}\nafter\n"
    path.write_text("no marks\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"page\.md has no lines"):
        into_page(path, render(results(KEPT)))


@pytest.mark.parametrize(("figure", "code"), [(KEPT, 0), (MISSED, 1), (replace(KEPT, value=None), 1)])
def test_a_missed_target_is_exit_code_1(
    figure: Figure, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(command, "GROUPS", {"g": lambda: Results(figures=[figure])})
    path = tmp_path / "new" / "found.json"
    assert command.main(["--json", str(path)]) == code
    captured = capsys.readouterr()
    assert ("missed: " in captured.err) is bool(code)
    assert figure.what in captured.out
    assert read_results(path).figures == [figure]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--only", "nothing"],
        ["--quick"],
        ["--docs", "--all"],
        ["--all", "--only", "prover"],
    ],
)
def test_bad_usage_is_exit_code_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        command.main(arguments)
    assert stopped.value.code == 2


@pytest.mark.parametrize(
    ("arguments", "expected"), [([], ["g"]), (["--all"], ["g", "long"]), (["--only", "long"], ["long"])]
)
def test_what_takes_minutes_is_run_on_demand(
    arguments: list[str], expected: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[str] = []

    def measuring(name: str) -> Callable[[], Results]:
        def measure() -> Results:
            ran.append(name)
            return Results()

        return measure

    monkeypatch.setitem(command.GROUPS, "long", measuring("long"))
    for name in command.GROUPS.keys() - {"long"}:
        monkeypatch.delitem(command.GROUPS, name)
    monkeypatch.setitem(command.GROUPS, "g", measuring("g"))
    assert command.main(arguments) == 0
    assert sorted(ran) == expected


def test_ratios_are_of_what_they_say() -> None:
    costs = [replace(COST, n=64, name=name, seconds=2.0**place) for place, name in enumerate(PASSES)]
    found = throughput.ratios(costs)
    # plain numpy 1, certified 2, balls 4, mpmath 8, naive 16
    assert [figure.value for figure in found] == [2, 4, 2]
    assert [figure.target for figure in found] == [Target(3), Target(40), Target(10, at_least=True)]
    assert [figure.reached for figure in found] == [True, True, False]


def test_growth_is_the_slope() -> None:
    square = prover.growth([(n, 3e-6 * n**2) for n in (256, 512, 1024)])
    cube = prover.growth([(n, 3e-9 * n**3) for n in (256, 512, 1024)])
    assert square.value == pytest.approx(2)
    assert cube.value == pytest.approx(3)
    assert (square.reached, cube.reached) == (True, False)
    assert prover.growth([(256, 0.0), (512, 1.0)]).reached is False
