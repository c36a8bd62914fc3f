"""Tests of the last line after several inputs: the outcome of each input, including inputs without a result."""

from pathlib import Path

import pytest

from tests.cli.conftest import FUTURE, SINCE, Cli, interrupt, written

BROKEN = "alphabet: a b\na S\n"
NO_LOOK_AHEAD = ("--regime", "causal-position")
"""The regime in which FUTURE is refused."""


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """Write a directory with two formulas that can be read and one that cannot."""
    folder = tmp_path / "mixed"
    folder.mkdir()
    for name, text in (("a.ltl", BROKEN), ("b.ltl", SINCE), ("c.ltl", SINCE)):
        written(folder / name, text)
    return folder


def last(text: str) -> str:
    return text.rstrip("\n").split("\n")[-1]


@pytest.mark.parametrize(
    ("command", "verdict"),
    [
        (("check", "--max-n", "2"), "PROVED"),
        (("check", "--max-n", "2", "--tables"), "PROVED"),
        (("check", "--max-n", "2", "--engine", "ball"), "CERTIFIED"),  # the reasons are printed above
        (("prove", "--max-n", "2"), "PROVED"),
        (("bound", "--max-n", "2"), "CERTIFIED"),
    ],
)
def test_a_file_that_cannot_be_read_is_counted(
    hardsim: Cli, mixed: Path, command: tuple[str, ...], verdict: str
) -> None:
    outcome = hardsim(command[0], mixed, *command[1:]).exits(2).says("a.ltl:2:4: error: missing operand")
    assert last(outcome.out) == f"2 results: 2 {verdict}; 1 file could not be read"
    single = hardsim(command[0], mixed / "a.ltl", mixed / "b.ltl", *command[1:]).exits(2)
    assert last(single.out) == f"1 result: 1 {verdict}; 1 file could not be read"
    # Without any result nothing is on standard output.
    missing = hardsim(command[0], mixed / "a.ltl", mixed / "gone.ltl", *command[1:]).refused()
    assert "no result; 2 files could not be read" in missing.err
    # There is no summary for a single file, and none with --quiet.
    hardsim(command[0], mixed / "a.ltl", *command[1:]).refused().unsaid("could not be read")
    hardsim(command[0], mixed, *command[1:], "--quiet").exits(2).lacks("could not be read")


@pytest.mark.parametrize("command", [("show",), ("words", "--max-n", "1"), ("precision", "--max-n", "1"), ("fmt",)])
def test_commands_without_verdicts_say_what_is_missing(hardsim: Cli, mixed: Path, command: tuple[str, ...]) -> None:
    outcome = hardsim(command[0], mixed, *command[1:]).exits(2).says("2 results; 1 file could not be read\n")
    outcome.lacks("could not be read")  # standard output may be another program's input
    good = [mixed / "b.ltl", mixed / "c.ltl"]
    hardsim(command[0], *good, *command[1:]).exits(0).unsaid("2 results")


def test_certificates_are_counted(hardsim: Cli, since: Path, tmp_path: Path) -> None:
    valid, spoilt, missing = tmp_path / "valid.json", tmp_path / "spoilt.json", tmp_path / "gone.json"
    hardsim("prove", since, "--max-n", "2", "--certificate", valid).exits(0)
    text = valid.read_text(encoding="utf-8").replace('"min_n": 1', '"min_n": 2')
    written(spoilt, text.replace('"max_n": null', '"max_n": 1'))
    outcome = hardsim("verify", valid, spoilt, missing).exits(1)
    assert last(outcome.out) == "2 results: 1 VALID, 1 INVALID; 1 file could not be read"


def test_a_file_that_was_read_and_refused_is_counted_apart(hardsim: Cli, since: Path, future: Path) -> None:
    outcome = hardsim("check", since, future, "gone.ltl", "--max-n", "2", *NO_LOOK_AHEAD).exits(2)
    assert last(outcome.out) == "1 result: 1 PROVED; 1 file could not be read; 1 file refused"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("wrong.ltl", "alphabet: a b c\naccept: b\nO a\n"),
        ("wrong.re", "alphabet: a b c\naccept: b\na+\n"),
        ("wrong.cr", 'alphabet: a b c\naccept: b\nL = #"a" >= 1\n'),
        ("wrong.srasp", "alphabet: a b c\naccept: b\nY(i) := leftmost_j[1, Q_a(j)] 1 : 0\n"),
    ],
)
def test_a_file_with_a_wrong_example_was_read(hardsim: Cli, since: Path, tmp_path: Path, name: str, text: str) -> None:
    wrong, unread = written(tmp_path / name, text), written(tmp_path / f"un{name}", f"{text}(")
    outcome = hardsim("check", since, wrong, "--max-n", "2").exits(2)
    outcome.says(f"{wrong}:2:9: error: the ", "'b'", "is listed under 'accept:'")
    assert last(outcome.out) == "1 result: 1 PROVED; 1 file refused"
    both = hardsim("check", since, wrong, unread, "--max-n", "2").exits(2)
    assert last(both.out) == "1 result: 1 PROVED; 1 file could not be read; 1 file refused"
    counts = hardsim("check", since, wrong, unread, "--max-n", "2", "--json", "-").exits(2).json["counts"]
    assert (counts["unread"], counts["refused"]) == (1, 1)


def test_a_specification_is_refused_by_equiv(hardsim: Cli, since: Path, tmp_path: Path) -> None:
    spec = written(tmp_path / "only.spec", "alphabet: a b c\noutput accept: O a\n")
    outcome = hardsim("equiv", since, since, spec, "--max-n", "2").exits(2)
    assert last(outcome.out) == "1 result: 1 PROVED; 1 file refused"


def test_regimes_are_results_and_files_are_files(hardsim: Cli, since: Path, tmp_path: Path) -> None:
    late = written(tmp_path / "late.ltl", FUTURE)
    outcome = hardsim("check", since, late, tmp_path / "gone.ltl", "--max-n", "2", "--regime", "all").exits(2)
    # FUTURE is refused in both causal regimes, which is a note.
    assert last(outcome.out) == "6 results: 6 PROVED; 1 file could not be read"
    counts = hardsim("check", since, late, "gone.ltl", "--max-n", "2", "--regime", "all", "--json", "-").json["counts"]
    assert counts == {
        "inputs": 3, "results": 6, "unread": 1, "refused": 0, "undecided": 0, "internal": 0, "not_run": 0,
    }  # fmt: skip


def test_the_exit_code_is_the_worst_and_the_line_counts_all(hardsim: Cli, mixed: Path) -> None:
    outcome = hardsim("check", mixed, "--regime", "none", "--max-n", "8").exits(1)
    assert last(outcome.out) == "2 results: 2 REFUTED; 1 file could not be read"


def test_files_that_were_not_run_are_counted(hardsim: Cli, mixed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = hardsim("check", mixed / "b.ltl", mixed / "a.ltl", mixed / "c.ltl", "--max-n", "2", "--fail-fast").exits(2)
    bad.says("stopped at the first failure (--fail-fast)", "could not be read; ")
    failing = ("--regime", "none", "--max-n", "8", "--fail-fast")
    outcome = hardsim("check", mixed / "b.ltl", mixed / "c.ltl", *failing).exits(1)
    assert last(outcome.out) == "1 result: 1 REFUTED; 1 file not run"
    interrupt(monkeypatch, "hardsim.cli.check.check_with_proof", 1)
    stopped = hardsim("check", mixed / "b.ltl", mixed / "c.ltl", "--max-n", "2").exits(130)
    assert last(stopped.out) == "1 result: 1 PROVED; 1 file not run"


def test_an_empty_directory_is_one_input(hardsim: Cli, since: Path, tmp_path: Path) -> None:
    (tmp_path / "void").mkdir()
    outcome = hardsim("check", tmp_path / "void", since, "--max-n", "2").exits(2)
    assert last(outcome.out) == "1 result: 1 PROVED; 1 file could not be read"


def test_a_reference_that_cannot_be_read_is_no_input(hardsim: Cli, mixed: Path) -> None:
    arguments = ("check", mixed / "b.ltl", mixed / "c.ltl", "--against", mixed / "a.ltl")
    hardsim(*arguments).refused("missing operand").unsaid("could not be read")


@pytest.mark.parametrize("form", ["junit", "sarif"])
def test_other_programs_get_the_line_too(hardsim: Cli, mixed: Path, form: str) -> None:
    outcome = hardsim("check", mixed, "--max-n", "2", "--format", form).exits(2)
    assert "2 results: 2 PROVED; 1 file could not be read" in outcome.out
    assert "1 file could not be read" not in outcome.err
