"""Results, their table, the documentation's copy of it, and exit codes. No timing is judged here."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks import prover, startup, throughput
from benchmarks.cases import CASES, PASSES
from benchmarks.results import Figure, PassCost, Results, Target, new_results
from benchmarks.table import BEGIN, END, amount, into_page, render

ROOT = Path(__file__).resolve().parents[2]
KEPT = Figure("g", "kept", "case", 2.0, "x", Target(3))
MISSED = Figure("g", "missed", "case", 4.0, "x", Target(3), "why")
COST = PassCost("case", 16, "balls", 8, 3, 0.0125, 8, 0)


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
    assert document["schema_version"] == 1
    assert [figure["reached"] for figure in document["figures"]] == [True, False, False]
    assert {"processor", "cores"} <= document["machine"].keys()
    assert {"python", "numpy", "python-flint", "mpmath"} <= document["versions"].keys()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", document["date"])


def test_another_schema_is_refused() -> None:
    text = results(KEPT).to_json().replace('"schema_version": 1', '"schema_version": 2')
    with pytest.raises(ValueError, match="another schema version"):
        Results.from_json(text)


def test_the_table_shows_targets_and_what_was_reached() -> None:
    found = results(KEPT, MISSED, Figure("g", "long", "case", 131070.4, "words/s", Target(1e6, at_least=True)))
    found.passes = [COST, replace(COST, name="plain numpy", agreed=7)]
    text = render(found)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    assert rows[0] == ["what", "case", "found", "target", "reached", "note"]
    assert rows[2:5] == [
        ["kept", "case", "2 x", "≤ 3 x", "yes", ""],
        ["missed", "case", "4 x", "≤ 3 x", "no", "why"],
        ["long", "case", "131,070 words/s", "≥ 1,000,000 words/s", "no", ""],
    ]
    assert rows[5] == ["ms a word", "n", "balls", "plain numpy"]
    assert rows[7] == ["case", "16", "12.5", "12.5 (7 of 8)"]
    assert f"{found.machine['cores']} cores" in text.splitlines()[0]


def test_numbers_are_short() -> None:
    assert [amount(value, "s") for value in (0.01234, 1.0, 99.94, 123.4, 4096.0)] == [
        "0.0123 s", "1 s", "99.9 s", "123 s", "4,096 s",
    ]  # fmt: skip


def test_the_documentation_shows_the_reference_run() -> None:
    text = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    shown = text.partition(BEGIN)[2].partition(END)[0]
    reference = Results.from_json((ROOT / "benchmarks" / "results.json").read_text(encoding="utf-8"))
    assert shown.strip() == render(reference).strip(), "run python -m benchmarks --docs"
    assert not reference.quick
    assert reference.groups == list(command.GROUPS)


def test_the_page_is_written_between_its_marks(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    into_page(path, results(KEPT))
    text = path.read_text(encoding="utf-8")
    assert text == f"before\n{BEGIN}\n\n{render(results(KEPT))}\n{END}\nafter\n"
    path.write_text("no marks\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"page\.md has no lines"):
        into_page(path, results(KEPT))


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


@pytest.mark.parametrize("arguments", [["--only", "nothing"], ["--quick", "--only", "prover"], ["--docs", "--quick"]])
def test_bad_usage_is_exit_code_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        command.main(arguments)
    assert stopped.value.code == 2


@pytest.mark.sweep
def test_a_quick_run_measures_what_agrees(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "quick.json"
    assert command.main(["--quick", "--json", str(path)]) == 0
    found = Results.from_json(path.read_text(encoding="utf-8"))
    assert found.quick
    assert found.groups == [startup.GROUP, throughput.GROUP]
    assert [(cost.case, cost.name) for cost in found.passes] == [(case.name, name) for case in CASES for name in PASSES]
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
