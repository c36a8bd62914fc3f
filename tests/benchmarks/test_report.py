"""Tests of results, their table, its copy in the documentation, and exit codes. Timings are not checked here."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks import alternatives, external, prover, startup, throughput
from benchmarks.cases import CASES, PASSES
from benchmarks.results import Figure, PassCost, Results, Target, new_results
from benchmarks.table import BEGIN, END, amount, into_page, render, summary

ROOT = Path(__file__).resolve().parents[2]
KEPT = Figure("g", "kept", "case", 2.0, "x", Target(3))
MISSED = Figure("g", "missed", "case", 4.0, "x", Target(3), "why")
COST = PassCost("g", "case", 16, "balls", 8, 3, 0.0125, 8, 0)


def results(*figures: Figure) -> Results:
    found = new_results(["g"], quick=False)
    found.figures = list(figures)
    return found


def test_targets_have_two_directions() -> None:
    assert Target(3).reached(3)
    assert not Target(3).reached(3.1)
    assert Target(3, at_least=True).reached(3)
    assert not Target(3, at_least=True).reached(2.9)
    assert not Target(3).reached(float("nan"))


def test_what_could_not_be_measured_is_missed() -> None:
    assert replace(KEPT, value=None).reached is False
    assert replace(KEPT, target=None).reached is None


def test_json_holds_everything() -> None:
    found = results(KEPT, MISSED, Figure("g", "failed", "case", None, "s", Target(1), "failed: no"))
    found.passes = [COST]
    text = found.to_json()
    assert Results.from_json(text) == found
    document = json.loads(text)
    assert document["schema_version"] == 2
    assert [figure["reached"] for figure in document["figures"]] == [True, False, False]
    assert {"processor", "cores"} <= document["machine"].keys()
    assert {"python", "numpy", "python-flint", "mpmath"} <= document["versions"].keys()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", document["date"])


def test_another_schema_is_refused() -> None:
    text = results(KEPT).to_json().replace('"schema_version": 2', '"schema_version": 1')
    with pytest.raises(ValueError, match="another schema version"):
        Results.from_json(text)


def test_the_table_shows_targets_and_what_was_reached() -> None:
    found = results(KEPT, MISSED, Figure("g", "long", "case", 131070.4, "words/s", Target(1e6, at_least=True)))
    found.passes = [COST, replace(COST, name="plain numpy", agreed=7)]
    text = render(found)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    assert "### g" in text
    assert rows[0] == [
        "what",
        "case",
        "found",
        "target",
        "reached",
        "note",
    ]  # columns that are empty in every row are left out
    assert rows[2:5] == [
        ["kept", "case", "2 x", "≤ 3 x", "yes", ""],
        ["missed", "case", "4 x", "≤ 3 x", "no", "why"],
        ["long", "case", "131,070 words/s", "≥ 1,000,000 words/s", "no", ""],
    ]
    assert rows[5] == ["ms a word", "n", "balls", "plain numpy"]
    assert rows[7] == ["case", "16", "12.5", "12.5 (7 of 8)"]
    assert f"{found.machine['cores']} cores" in text.splitlines()[0]


def test_the_table_shows_what_was_before_and_how_long_a_proof_takes() -> None:
    found = results(replace(KEPT, before=10.1, proofs=2.345), KEPT)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in render(found).splitlines() if "|" in line]
    assert rows[0] == ["what", "case", "found", "before", "target", "reached", "× prove"]
    assert rows[2:] == [
        ["kept", "case", "2 x", "10.1 x", "≤ 3 x", "yes", "2.35"],
        ["kept", "case", "2 x", "", "≤ 3 x", "yes", ""],
    ]
    assert Results.from_json(found.to_json()) == found


def test_each_group_has_its_own_tables() -> None:
    found = results(KEPT, replace(KEPT, group="h", what="other"))
    found.groups = ["h", "empty", "g"]
    found.passes = [COST, replace(COST, group="h", name="torch float32")]
    text = render(found)
    assert re.findall("^### (.*)$", text, re.MULTILINE) == ["h", "g"]
    first, second = text.split("### g")
    assert "other" in first
    assert "kept" in second
    assert "torch float32" in first
    assert "torch float32" not in second


def test_the_summary_has_a_row_for_the_cases_of_a_target() -> None:
    two = Target(2)
    found = results(KEPT, replace(KEPT, case="other", value=3.5), replace(KEPT, case="third", value=1))
    found.figures += [replace(MISSED, target=two), replace(KEPT, what="no target", target=None)]
    found.figures += [replace(KEPT, group="h", what=what, value=None) for what in ("one", "two")]
    found.groups.append("h")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in summary(found).splitlines() if line[:1] == "|"]
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
    reference = Results.from_json((ROOT / "benchmarks" / "results.json").read_text(encoding="utf-8"))
    assert shown.strip() == summary(reference).strip(), "run python -m benchmarks --docs"
    assert not reference.quick
    assert set(command.GROUPS) - set(command.ON_DEMAND) <= set(reference.groups)


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
    assert Results.from_json(path.read_text(encoding="utf-8")).figures == [figure]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--only", "nothing"],
        ["--quick", "--only", "prover"],
        ["--docs", "--quick"],
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


@pytest.mark.slow
def test_a_quick_run_measures_what_agrees(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "quick.json"
    assert command.main(["--quick", "--json", str(path)]) == 0
    found = Results.from_json(path.read_text(encoding="utf-8"))
    assert found.quick
    assert found.groups == [startup.GROUP, alternatives.GROUP, throughput.GROUP, external.GROUP]
    passes = [cost for cost in found.passes if cost.group == throughput.GROUP]
    assert [(cost.case, cost.name) for cost in passes] == [(case.name, name) for case in CASES for name in PASSES]
    # At length 16 even plain float64 is right, and nothing is undecided.
    assert all(cost.agreed == cost.words > 0 and cost.seconds > 0 and cost.n == 16 for cost in found.passes)
    assert all(figure.target is None and figure.value for figure in found.figures)
    assert "Quick run" in capsys.readouterr().out


def test_ratios_are_of_what_they_say() -> None:
    costs = [replace(COST, n=64, name=name, seconds=2.0**place) for place, name in enumerate(PASSES)]
    found = throughput.ratios(costs, targets=True)
    # plain numpy 1, float64 pass 2, certified 4, balls 8, mpmath 16, naive 32
    assert [figure.value for figure in found] == [2, 4, 8, 2]
    assert [figure.target for figure in found] == [None, Target(3), Target(40), Target(10, at_least=True)]
    assert [figure.reached for figure in found] == [None, False, True, False]


def test_growth_is_the_slope() -> None:
    square = prover.growth([(n, 3e-6 * n**2) for n in (256, 512, 1024)])
    cube = prover.growth([(n, 3e-9 * n**3) for n in (256, 512, 1024)])
    assert square.value == pytest.approx(2)
    assert cube.value == pytest.approx(3)
    assert (square.reached, cube.reached) == (True, False)
    assert prover.growth([(256, 0.0), (512, 1.0)]).reached is False
