"""Bad usage is exit code 2 with one clear message, nothing on standard output, and nothing computed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from hardsim import __version__

COMMANDS = ("check", "eval", "words", "show", "compile", "examples")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--max-n", "0"], "0 is out of range. Write an integer from 1 to 100000."),
        (["--max-n", "100001"], "100001 is out of range"),
        (["--max-n", "9" * 5000], "5000 characters"),
        (["--max-n", "9" * 999], "a number of 999 digits is out of range"),
        (["--max-n", "8.0"], "'8.0' is not an integer"),
        (["--samples", "-1"], "-1 is out of range"),
        (["--exhaustive", "-1"], "-1 is out of range"),
        (["--seed", "x"], "Write any integer."),
        (["--dps", "0"], "0 is out of range"),
        (["--workers", "0"], "0 is out of range"),
        (["--workers", "257"], "257 is out of range"),
        (["--beta", "0"], "beta must be positive and at most 1000000, not 0."),
        (["--beta", "1000001"], "beta must be positive and at most 1000000, not 1000001."),
        (["--beta", "-1"], "'-1' is not a positive rational"),
        (["--beta", "1e9"], "Write a positive number such as 4, 7/2 or 3.9."),
        (["--beta", "7/0"], "divides by zero"),
        (["--beta", "1" * 1001], "more than 1000 characters"),
        (["--regime", "cold"], "unknown regime 'cold'"),
        (["--at", "middle"], "--at must be first or last, not 'middle'"),
        (["--engine", "abacus"], "The engines are: auto, float64, ball, mpmath."),
        (["--tau", "1/m"], "--tau:1:3: error: unknown name 'm'"),
        (["--tau", ""], "the expression is empty"),
        (["--tau", "1/i"], "depends on i"),
        (["--tau", "0*n"], "temperature"),
        (["--alphabet", "a b"], "--alphabet goes with -e"),
        (["-e", "a"], "-e gives a formula, so no file can be given"),
        (["--nonsense"], "--nonsense"),
        (["--json", "/nowhere/report.json"], "--json /nowhere/report.json: cannot be written"),
        (["--json", "/"], "it is a directory"),
    ],
)
def test_a_wrong_option_is_refused(hardsim: Any, since: Path, arguments: list[str], message: str) -> None:
    outcome = hardsim("check", since, *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in " ".join(outcome.err.split())
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize("value", ["4", "7/2", "3.9", "004.50"])
def test_beta_is_any_positive_rational(hardsim: Any, since: Path, value: str) -> None:
    from fractions import Fraction

    document = hardsim("show", since, "--beta", value, "--json", "-").json
    assert document["results"][0]["model"]["beta"] == str(Fraction(value))


@pytest.mark.parametrize("command", ["check", "words", "show", "eval"])
def test_nothing_to_read_says_what_to_type(hardsim: Any, command: str) -> None:
    outcome = hardsim(command)
    assert (outcome.code, outcome.out) == (2, "")
    assert "hardsim examples" in outcome.err
    outcome = hardsim(command, "-e", "a")
    assert outcome.code == 2
    assert "-e needs --alphabet" in outcome.err


def test_an_unknown_judge_is_refused(hardsim: Any, since: Path) -> None:
    outcome = hardsim("words", since, "--by", "guess")
    assert (outcome.code, outcome.out) == (2, "")
    assert "'guess' is not one of" in outcome.err


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.ltl", b"", "empty.ltl"),
        ("latin.ltl", b"alphabet: a\n\xff\n", "UTF-8"),
        ("broken.ltl", b"alphabet: a b\n(a & b\n", ":2:1: error: "),
        ("model.json", b"{}", "model.json"),
    ],
)
def test_wrong_files_are_bad_input(hardsim: Any, tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    outcome = hardsim("check", tmp_path / name)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err


def test_missing_files_and_empty_directories_are_bad_input(hardsim: Any, since: Path, tmp_path: Path) -> None:
    (tmp_path / "void").mkdir()
    outcome = hardsim("check", tmp_path / "void", tmp_path / "gone.ltl", since, "--max-n", "1")
    assert outcome.code == 2
    assert "void has no *.ltl" in outcome.err
    assert "gone.ltl: no such file" in outcome.err
    assert "PROVED" in outcome.out


def test_errors_are_in_the_json_document(hardsim: Any, since: Path, tmp_path: Path) -> None:
    outcome = hardsim("check", tmp_path / "gone.ltl", since, "--max-n", "1", "--json", "-")
    document = outcome.json
    assert document["exit_code"] == outcome.code == 2
    (error,) = document["errors"]
    assert error["exit_code"] == 2
    assert error["message"] in outcome.err
    assert len(document["results"]) == 1


def test_json_goes_to_a_file_whole(hardsim: Any, since: Path, tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    outcome = hardsim("check", since, "--max-n", "2", "--json", target)
    assert "PROVED" in outcome.out
    assert target.read_text(encoding="utf-8") == hardsim("check", since, "--max-n", "2", "--json", "-").out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.json", "since.ltl"]
    umask = os.umask(0)
    os.umask(umask)
    assert target.stat().st_mode & 0o777 == 0o666 & ~umask


def test_a_place_that_cannot_be_written_is_refused(hardsim: Any, since: Path, tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for place in (loop / "x.json", "a\0b", ""):
        outcome = hardsim("show", since, "--json", place)
        assert (outcome.code, outcome.out) == (2, "")
        assert "cannot be written" in outcome.err


def test_a_refused_request_leaves_no_json_file(hardsim: Any, tmp_path: Path) -> None:
    assert hardsim("check", "--json", tmp_path / "report.json").code == 2
    assert list(tmp_path.iterdir()) == []


def test_an_interruption_outside_a_check_is_130(hardsim: Any, since: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("hardsim.checking.open.read_input", interrupt)
    outcome = hardsim("show", since)
    assert (outcome.code, outcome.out) == (130, "")
    assert "interrupted" in outcome.err
    assert hardsim("show", since, "--json", "-").json["exit_code"] == 130


def test_a_defect_outside_a_command_is_4(hardsim: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("hardsim.examples.example_files", fail)
    outcome = hardsim("examples")
    assert (outcome.code, outcome.out) == (4, "")
    assert "internal error: ZeroDivisionError: by zero" in outcome.err


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_a_manual_with_examples_and_exit_codes(hardsim: Any, command: str) -> None:
    outcome = hardsim(command, "--help")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith(f"Usage: hardsim {command} [OPTIONS]")
    assert f"  hardsim {command} " in outcome.out
    assert "Exit codes: 0 agreed" in outcome.out
    assert "╭" not in outcome.out  # no boxes: it is text


def test_the_application_itself(hardsim: Any) -> None:
    assert hardsim("--version").out == f"hardsim {__version__}\n"
    outcome = hardsim("--help")
    assert (outcome.code, outcome.err) == (0, "")
    assert all(f"\n  {command} " in outcome.out for command in COMMANDS)
    assert "..." not in outcome.out.split("Commands:")[1]  # what each command does is said in full
    assert hardsim().code == 2
    assert hardsim("chekc").code == 2
