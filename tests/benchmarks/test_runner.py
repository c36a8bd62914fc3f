"""Tests of cases and figures, of commands as the benchmarks run them, of pages and of exit codes. Timings are not
checked here."""

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from benchmarks import __main__ as command
from benchmarks import commands, critical, page, planted, precision, prover, rocq
from benchmarks.page import END, Page, amount, grid
from benchmarks.runner import (
    HARDSIM,
    ROOT,
    Case,
    FailedError,
    Figure,
    Memory,
    Results,
    Target,
    describe,
    memory,
    run,
    turns,
)
from hardsim import version

RATIO: list[tuple[str, str, Target | None]] = [("a / b", "x", ("≤", 0.5)), ("a", "s", None), ("a / torch", "x", None)]


def case(measure: Callable[[], tuple[Mapping[str, float], str]], group: str = "g") -> Case:
    return Case(group, "case", RATIO, measure, "s a word")


def figure(value: float | None, target: Target | None) -> Figure:
    return Figure("g", "what", "case", value, "x", target)


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


# ---- cases ----


def test_targets_have_two_directions() -> None:
    values: list[float | None] = [2.9, 3.0, 3.1, float("nan"), None]
    assert [figure(value, ("≤", 3)).missed for value in values] == [False, False, True, True, True]
    assert [figure(value, ("≥", 3)).missed for value in values] == [True, False, False, True, True]
    assert not figure(None, None).missed


def test_a_case_gives_ratios_and_all_other_numbers() -> None:
    found = list(case(lambda: ({"a": 2.0, "b": 4.0, "c": 1.0}, "why")).figures())
    assert [(one.what, one.value, one.unit, one.note) for one in found][:2] == [
        ("a / b", 0.5, "x", "why"),
        ("a", 2.0, "s", "why"),
    ]
    assert {(one.what, one.unit) for one in found[2:]} == {("b", "s a word"), ("c", "s a word")}  # torch is missing


def test_a_case_that_fails_has_no_numbers() -> None:
    def fail() -> Any:
        raise FailedError("no")

    found = list(case(fail).figures())
    assert [(one.what, one.value, one.note) for one in found] == [(row[0], None, "failed: no") for row in RATIO]


@pytest.mark.parametrize(("least", "seconds"), [(False, 2.0), (True, 1.0)])
def test_turns(least: bool, seconds: float) -> None:
    log: list[str] = []
    clock = iter([0.0, 1.0, 2.0, 2.5, 10.0, 19.0, 20.0, 22.0])  # a takes 1, 9 and 2 seconds, b 0.5
    runs = {"a": lambda: log.append("a"), "b": lambda: log.append("b")}
    assert turns(runs, [3, 1], lambda: next(clock), least=least)[0] == {"a": seconds, "b": 0.5}
    assert log == ["a", "b", "a", "a"]


def test_turns_of_warm_functions() -> None:
    log: list[str] = []
    clock = iter([0.0, 1.0, 2.0, 2.5, 10.0, 19.0, 20.0, 20.25])  # a takes 1 and 9 seconds, b 0.5 and 0.25

    def timed() -> float:
        log.append("clock")
        return next(clock)

    runs = {"a": lambda: log.append("a"), "b": lambda: log.append("b")}
    assert turns(runs, [2, 2], timed, warm=True)[0] == {"a": 1.0, "b": 0.25}
    assert log == 2 * ["a", "clock", "a", "clock", "b", "clock", "b", "clock"]


# ---- commands ----


def test_reports_that_depend_on_the_number_of_processes_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = iter(["a", "a", "a", "a", "a", "b"])
    monkeypatch.setattr(commands, "run", lambda command, limit: next(printed))
    seconds, note = commands.shared(2, 600, "check", "x")
    assert (set(seconds), note) == ({commands.ONE, commands.TWO}, "")
    with pytest.raises(FailedError, match="the number of processes changes the report"):
        commands.shared(1, 600, "check", "x")


def test_output_and_exit_code() -> None:
    assert run(python("print(input())"), "given\n") == "given\n"
    assert version.__version__ in run((*HARDSIM, "--version"))
    for code, said in (
        ("import sys; print('one\\ntwo', file=sys.stderr); sys.exit(5)", "two"),
        ("import sys; sys.exit(4)", "exit code 4"),
        (
            "import sys; print('note: x\\n\\nerror: no option\\n  hint', file=sys.stderr); sys.exit(2)",
            "error: no option",
        ),
    ):
        with pytest.raises(FailedError, match=f"^{said}$"):
            run(python(code))
    with pytest.raises(FailedError, match=r"^not done after 1 seconds$"):
        run(python("import time; print('begun', flush=True); time.sleep(600)"), limit=1.0)


def peak(code: str) -> Memory:
    """Return the memory of a Python that runs some code."""
    with memory() as most:
        run(python(code))
        sleep(0.05)
    return most


HOLD = "import time; held = bytearray({} << 20); time.sleep(1)"


def test_memory_is_that_of_all_processes() -> None:
    alone, held = peak(HOLD.format(0)), peak(HOLD.format(150))
    both = peak(f"import subprocess, sys; held = bytearray(100 << 20); subprocess.run({python(HOLD.format(150))!r})")
    assert alone.worker == held.worker == 0
    assert 140 <= held.total - alone.total <= 165
    assert 95 <= both.total - held.total <= 145  # the other 100 MiB, and another interpreter
    assert 150 <= both.worker <= 150 + alone.total + 15


@pytest.mark.skipif(sys.platform != "linux", reason="shared pages are known on Linux alone")
def test_memory_that_a_fork_shares_counts_once() -> None:
    # the pages must be written, or they are no memory at all
    hold = "held = bytearray(150 << 20); held[::4096] = b'1' * (150 << 8)"
    found = peak(f"import os, time; {hold}; os.fork(); time.sleep(1)")
    assert 150 <= found.total <= 220
    assert found.worker >= 150


def test_only_all_words_certified_count() -> None:
    def outcome(**changes: Any) -> dict[str, Any]:
        return {"words": 30, "verdict": "CERTIFIED", "lengths": [{"undecided": 0}, {"undecided": 0}]} | changes

    for right in ([outcome()], [outcome(words=20), outcome(words=10, verdict="PROVED")], [outcome(words=31)]):
        commands.complain(right, 30)
    for wrong, complaint in (
        ([outcome(words=29)], "29 words, 0 undecided, CERTIFIED"),
        ([outcome(lengths=[{"undecided": 2}])], "30 words, 2 undecided, CERTIFIED"),
        ([outcome(), outcome(verdict="OBSERVED")], "60 words, 0 undecided, CERTIFIED, OBSERVED"),
    ):
        with pytest.raises(FailedError, match=f"^{complaint}$"):
            commands.complain(wrong, 30)


@pytest.mark.slow
def test_a_check_is_measured() -> None:
    # Every word of the lengths 1 to 4 over two symbols, and four longer examples of the file.
    seconds, _ = commands.every("all", commands.BINARY, "--max-n 4 --workers 1", 30, 600.0)
    assert 20 < seconds["memory of all"] < 1024
    with pytest.raises(FailedError, match=r"^34 words"):
        commands.checked("check", commands.BINARY, "--max-n 4", 35, 600.0)


def test_a_proof_that_fails_is_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prover, "run", lambda command: "UNDECIDED: nothing")
    with pytest.raises(FailedError, match="UNDECIDED"):
        prover.span(1, 2)


@pytest.mark.parametrize(("of_large", "exponent"), [(5.0, 1.0), (17.0, 2.0), (2.0, 0.0), (1.0, None)])
def test_growth_of_a_check(of_large: float, exponent: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = {"start": 1.0, "small": 2.0, "large": of_large}
    monkeypatch.setattr(commands, "turns", lambda runs, *_, **__: ({name: seconds[name] for name in runs}, {}))
    if exponent is None:
        with pytest.raises(FailedError, match="no longer than start-up"):
            commands.growth("slope", 16, 64, commands.symbols)
    else:
        found, _ = commands.growth("slope", 16, 64, commands.symbols)
        assert found == {"slope": pytest.approx(exponent)}


def test_inputs_of_a_check_grow() -> None:
    formula = commands.operators(8)[1]
    assert (formula.count("S"), formula.count("Y")) == (4, 4)
    assert len(commands.symbols(16)[3].split()) == 16
    assert {*commands.propositions(4)[3].split()} == {"p0", "p1", "p2", "p3"}
    assert commands.propositions(4)[1].count("S") == 4


def test_growth_is_the_slope() -> None:
    assert prover.growth({n: 3e-6 * n**2 for n in (256, 512, 1024)}) == pytest.approx(2)
    assert prover.growth({n: 3e-9 * n**3 for n in (256, 512, 1024)}) == pytest.approx(3)
    with pytest.raises(FailedError, match="no longer than start-up"):
        prover.growth({256: 0.0, 512: 1.0})


# ---- tables and pages ----


def cells(text: str) -> list[list[str]]:
    """Return the cells of the tables in a text."""
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line[:1] == "|"]


def test_the_tables_show_targets_and_what_was_reached() -> None:
    figures = [
        Figure("g", "kept", "case", 2.0, "x", ("≤", 3)),
        Figure("g", "kept", "other", 3.5, "x", ("≤", 3), "why"),
        Figure("g", "kept", "third", 1.0, "x", ("≤", 3)),
        Figure("g", "long", "case", 131070.4, "words/s", ("≥", 1e6)),
        Figure("g", "free", "case", 1.0, "x"),
        *(Figure("h", what, "case", None, "x", ("≤", 2)) for what in ("one", "two")),
        *(Figure("before", "now / then", case, 0.5, "x", ("≤", 0.6)) for case in ("check", "bound")),
    ]
    rows = cells(command.render(Results("Run of today", figures)))
    assert rows[0] == ["group", "what", "case", "found", "target", "note"]
    assert rows[3:6:2] == [
        ["g", "kept", "other", "3.5 x", "≤ 3 x (missed)", "why"],
        ["g", "long", "case", "131,070 words/s", "≥ 1,000,000 words/s (missed)", ""],
    ]
    assert cells(command.summary(Results("Run of today", figures)))[2:] == [
        ["kept", "3 cases", "1 to 3.5 x", "≤ 3 x (1 missed)"],
        ["long", "case", "131,070 words/s", "≥ 1,000,000 words/s (1 missed)"],
        ["one", "case", "–", "≤ 2 x (1 missed)"],
        ["two", "case", "–", "≤ 2 x (1 missed)"],
        ["now / then", "check", "0.5 x", "≤ 0.6 x"],
        ["now / then", "bound", "0.5 x", "≤ 0.6 x"],
    ]


def test_numbers_are_short() -> None:
    found = [amount(value, "s") for value in (0.01234, 1.0, 99.94, 123.4, 4096.0)]
    assert found == ["0.0123 s", "1 s", "99.9 s", "123 s", "4,096 s"]


def test_a_run_is_described() -> None:
    pattern = r"Run of \d{4}-\d\d-\d\d: hardsim .*, \d+ cores, \d+ GiB, .*Python 3.*, numpy .*, mpmath .*; one BLAS"
    assert re.match(pattern, describe())


def test_the_page_is_written_between_its_marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "ROOT", tmp_path)
    (tmp_path / "docs").mkdir()
    shown = Page("bench-docs", "page.md", "page.json")
    begin = "<!-- benchmarks: made by `make bench-docs`, do not edit -->"
    shown.path.write_text(f"before\n{begin}\nold\n{END}\nafter\n", encoding="utf-8")
    shown.write(grid(("a", "b"), [("1", "2")], [1]))
    table = "|a|b|\n|---|--:|\n|1|2|"
    assert shown.path.read_text(encoding="utf-8") == f"before\n{begin}\n\n{table}\n\n{END}\nafter\n"
    shown.path.write_text("no marks\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"page\.md has no lines"):
        shown.write(table)
    assert grid(("a", "b"), [("1", "2")], [1], aligned=True) == "| a   |   b |\n| --- | --: |\n| 1   |   2 |"


def test_the_documentation_shows_what_was_found() -> None:
    reference = command.read_results(ROOT / "benchmarks" / "results.json")
    assert {*command.GROUPS} == {one.group for one in reference.figures} == {one.group for one in command.CASES}
    for shown, rendered in (
        (command.PAGE, command.summary(reference)),
        (critical.PAGE, critical.render(critical.PAGE.read(critical.CriticalRow))),
        (planted.PAGE, planted.render(planted.PAGE.read(planted.Outcome))),
        (precision.PAGE, precision.render(precision.PAGE.read(precision.InFormat))),
        (rocq.PAGE, rocq.render(rocq.PAGE.read(rocq.RocqTime))),
    ):
        assert shown.parts()[1] == rendered.strip(), f"{shown.page} is not rendered from {shown.results}"


# ---- the command line ----


@pytest.mark.parametrize("value", [2.0, 4.0, None])
def test_a_missed_target_is_exit_code_1(
    value: float | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    measured = figure(value, ("≤", 3))
    monkeypatch.setattr(Case, "figures", lambda self: [measured])
    monkeypatch.setattr(command, "CASES", [case(lambda: ({}, ""), "long")])
    path = tmp_path / "found.json"
    assert command.main(["--only", "long", "--json", str(path)]) == measured.missed == (value != 2)
    captured = capsys.readouterr()
    assert ("missed: " in captured.err) is measured.missed
    assert measured.what in captured.out
    assert command.read_results(path).figures == [measured]


def test_results_in_a_missing_folder_are_refused_before_anything_is_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(command, "CASES", [])
    with pytest.raises(SystemExit) as stopped:
        command.main(["--only", "long", "--json", str(tmp_path / "new" / "found.json")])
    assert stopped.value.code == 2
    assert f"there is no folder {tmp_path / 'new'}. Make that folder first." in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    "arguments", [["--only", "nothing"], ["--quick"], ["--docs", "--all"], ["--all", "--only", "prover"]]
)
def test_bad_usage_is_exit_code_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        command.main(arguments)
    assert stopped.value.code == 2


@pytest.mark.parametrize(
    ("arguments", "expected"), [([], ["prover"]), (["--all"], ["long", "prover"]), (["--only", "long"], ["long"])]
)
def test_what_takes_minutes_is_run_on_demand(
    arguments: list[str], expected: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[str] = []

    def figures(self: Case) -> list[Figure]:
        ran.append(self.group)
        return []

    monkeypatch.setattr(Case, "figures", figures)
    monkeypatch.setattr(command, "CASES", [case(lambda: ({}, ""), group) for group in ("long", "prover")])
    assert command.main(arguments) == 0
    assert ran == expected
