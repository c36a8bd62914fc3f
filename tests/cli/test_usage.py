"""Tests of bad usage: exit code 2 with one clear message, nothing on standard output, and no work.

No run overwrites its input, reads a directory by accident, or blames hardsim for a changed file.
"""

import json
import os
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from hardsim.cli.manual import COMMANDS
from hardsim.cli.typer_options import options_of
from hardsim.options.table import ALIKE, OPTIONS
from tests.cli.conftest import interrupt, written


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("check", "--json"),
        ("check", "--data"),
        ("check", "--against"),
        ("check", "--resume"),
        ("compile", "-o"),
        ("prove", "--certificate"),
        ("prove", "--rocq"),
        ("trace", "--plot"),
        ("equiv", "--html"),
        ("verify", "--spec"),
    ],
)
def test_an_option_is_not_the_name_of_a_file(hardsim: Any, since: Path, command: str, option: str) -> None:
    message = "the name of a file is missing before --quiet. Write ./--quiet if this is the name."
    hardsim(command, since, option, "--quiet").refused(message)


def test_a_file_may_be_called_as_an_option(hardsim: Any, since: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(since.parent)
    hardsim("check", since, "--max-n", "1", "--json", "./--quiet").exits(0)
    assert json.loads((since.parent / "--quiet").read_text())["command"] == "check"


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in ALIKE])
def test_an_option_of_other_commands_is_called_that(hardsim: Any, command: str) -> None:
    """Whatever its name resembles: `prove --require` is no slip for `prove --quiet`."""
    names = {one: {name for field in options_of(one) for name in OPTIONS[field].names} for one in COMMANDS}
    for typed in sorted(set().union(*names.values()) - names[command] - {"--tables/--no-tables"}):
        first = next(other for other, taken in names.items() if typed in taken)
        said = hardsim(command, typed).refused(f"no such option: {typed} (an option of {first}").unsaid("did you mean")
        assert said.err.endswith(f"`hardsim {command} --help-all` lists its options.\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["prove", "--requre", "proved"], "--requre; did you mean --require (an option of check)?"),
        (["equiv", "--dat", "words"], "--dat; did you mean --data (an option of check)?"),
        (["check", "--max", "3"], "--max; did you mean --max-n?"),
        (["check", "--turns", "3"], "--turns\n"),  # half of it is in --tau
        (["show", "--precision"], "--precision\n"),  # and --epsilon
        (["help", "--short"], "--short\n`hardsim help --help` lists its options."),
    ],
)
def test_only_a_slip_is_asked_about(hardsim: Any, arguments: list[str], said: str) -> None:
    hardsim(*arguments).refused(f"no such option: {said}")


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
        (["--beta", "1e9"], "beta must be positive and at most 1000000, not 1e9."),
        (["--beta", "1e99999"], "Write a positive number such as 4, 7/2 or 3.9."),
        (["--beta", "7/0"], "divides by zero"),
        (["--beta", "1" * 1001], "more than 1000 characters"),
        (["--regime", "cold"], "unknown regime 'cold'"),
        (["--at", "middle"], "--at must be first or last, not 'middle'"),
        (["--at", "mean"], "at: mean in a specification (.spec) reads an external network there."),
        (["--require", "observed"], "--require must be proved or certified, not 'observed'"),
        (["--engine", "abacus"], "The engines are: auto, float64, ball, mpmath."),
        (["--tau", "1/m"], "--tau:1:3: error: unknown name 'm'"),
        (["--tau", ""], "the expression is empty"),
        (["--tau", "1/i"], "depends on i"),
        (["--tau", "0*n"], "temperature"),
        (["--alphabet", "a b"], "the alphabet is also given as a b"),
        (["-e", "a"], "-e gives a formula, so no file can be given"),
        (["--nonsense"], "--nonsense"),
        *(([option, "1000000"], "") for option in ("--workers", "--dps", "--max-n")),
        *(
            ([option, "1" + "0" * zeros], "")
            for option, zeros in (("--exhaustive", 18), ("--samples", 12), ("--beta", 400))
        ),
        *((["--tau", tau], "") for tau in ("2^99999999", "9^9^9^9", "9" * 2000)),
        (["--seed", "9" * 5000], ""),
    ],
)
def test_a_wrong_option_is_refused(hardsim: Any, since: Path, arguments: list[str], message: str) -> None:
    outcome = hardsim("check", since, *arguments).refused().unsaid("Traceback")
    assert message in " ".join(outcome.err.split())
    assert len(outcome.err) < 3000 if message else len(outcome.err) < 1000


@pytest.mark.parametrize("value", ["4", "7/2", "3.9", "004.50", "1e3", "2.5e-1"])
def test_beta_is_any_positive_rational(hardsim: Any, since: Path, value: str) -> None:
    result = hardsim("show", since, "--beta", value, "--json", "-").result
    assert result["model"]["beta"]["exact"] == str(Fraction(value))


@pytest.mark.parametrize("command", ["check", "words", "show", "eval", "bound"])
def test_nothing_to_read_says_what_to_type(hardsim: Any, command: str) -> None:
    hardsim(command).refused("hardsim examples")
    words = ["a"] if command == "eval" else []
    hardsim(command, "-e", "a", *words).exits(2).says("Give all symbols with --alphabet")


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
    hardsim("check", tmp_path / name).refused(message)


def test_missing_files_and_empty_directories_are_bad_input(hardsim: Any, since: Path, tmp_path: Path) -> None:
    (tmp_path / "void").mkdir()
    outcome = hardsim("check", tmp_path / "void", tmp_path / "gone.ltl", since, "--max-n", "1")
    outcome.exits(2, "PROVED").says("void has no *.ltl", "gone.ltl: no such file")


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
    hardsim("check", since, "--max-n", "2", "--json", target).prints("PROVED")
    assert target.read_text(encoding="utf-8") == hardsim("check", since, "--max-n", "2", "--json", "-").out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.json", "since.ltl"]
    umask = os.umask(0)
    os.umask(umask)
    assert target.stat().st_mode & 0o777 == 0o666 & ~umask


def test_an_interruption_outside_a_check_is_130(hardsim: Any, since: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(monkeypatch, "hardsim.cli.session.read_input")
    hardsim("show", since).refused("interrupted", code=130)
    interrupt(monkeypatch, "hardsim.cli.session.read_input")
    assert hardsim("show", since, "--json", "-").json["exit_code"] == 130


def test_a_defect_outside_a_command_is_4(hardsim: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardsim.cli.examples.example_files", Mock(side_effect=ZeroDivisionError("by zero")))
    hardsim("examples").refused("internal error: ZeroDivisionError: by zero", code=4)

    # help is plain text, without boxes


# ---- what must not be done ----


OVERWRITING = (("compile", "-o"), ("compile", "-o", "-", "--json"), ("check", "--json"), ("check", "--resume"))


@pytest.mark.parametrize("command", OVERWRITING)
def test_an_input_is_never_overwritten(
    hardsim: Any, since: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    before = since.read_bytes()
    (tmp_path / "link.ltl").symlink_to(since)
    monkeypatch.chdir(tmp_path)
    for place in (since, "since.ltl", "./link.ltl"):
        hardsim(command[0], since, *command[1:], place).refused(f"would overwrite the input {since}")
        assert since.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.ltl", "since.ltl"]


@pytest.mark.parametrize(
    "command",
    [("compile", "-o"), ("check", "--resume"), ("prove", "--certificate"), ("prove", "--rocq"), ("bound", "--plot")],
)
def test_a_file_and_the_report_are_two_files(
    hardsim: Any, since: Path, tmp_path: Path, command: tuple[str, str]
) -> None:
    some = ("--all-n",) if command[1] == "--rocq" else ()
    outcome = hardsim(command[0], since, *some, command[1], tmp_path / "one.svg", "--json", tmp_path / "." / "one.svg")
    outcome.refused(f"{command[1]} and --json both write")
    assert [path.name for path in tmp_path.iterdir()] == ["since.ltl"]


def test_a_directory_is_not_compiled_into_one_file(hardsim: Any, since: Path, tmp_path: Path) -> None:
    hardsim("compile", since.parent, "-o", tmp_path / "model.json").refused("one file holds one network")
    assert not (tmp_path / "model.json").exists()


def test_an_empty_name_is_not_the_current_directory(hardsim: Any, since: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(since.parent)
    hardsim("check", "", "--max-n", "1").refused("a file name is empty")
    hardsim("check", "since", "--against", "").refused("a file name is empty")
    hardsim("verify", "").refused("a file name is empty")


def test_a_model_changed_by_hand_is_bad_input_and_no_defect(hardsim: Any, since: Path, tmp_path: Path) -> None:
    path = tmp_path / "changed.model.json"
    hardsim("compile", since, "-o", path)
    model = json.loads(path.read_text(encoding="utf-8"))
    # With the same key at all positions scores are equal: the head no longer has its declared gap.
    score = model["specification"]["layers"][0]["heads"][0]["score"]
    score[:] = [[query, {"1": "1"}] for query, _ in score]
    path.write_text(json.dumps(model), encoding="utf-8")
    outcome = hardsim("check", path, "--max-n", "3")
    outcome.refused("the specification in this model does not hold", "compile the formula again")


def test_what_looks_like_an_option_has_a_way_out(hardsim: Any, since: Path) -> None:
    hardsim("eval", since, "-ab").exits(2).says("Write '--' before files and words")
    assert "Write '--'" not in hardsim("check", since, "--max-n", "0").err


@pytest.mark.parametrize("arguments", [("check", "{}"), ("eval", "{}", "ab"), ("words", "{}")])
def test_options_after_the_end_of_options_have_a_way_back(
    hardsim: Any, since: Path, arguments: tuple[str, ...]
) -> None:
    given = [text.format(since) for text in arguments]
    outcome = hardsim(given[0], "--", *given[1:], "--regime", "none").says("--regime was read as a file or a word")
    assert (outcome.code, outcome.out) == (2, "") or arguments[0] != "eval"
    assert "write options before '--'" not in hardsim(given[0], *given[1:], "--regime", "never").err


def test_what_is_compiled_is_read_before_the_output_is_required(hardsim: Any, since: Path, tmp_path: Path) -> None:
    broken = written(tmp_path / "broken.ltl", "alphabet: a b\na S\n")
    for arguments in ((broken,), ("-e", "a S", "--alphabet", "a b")):
        outcome = hardsim("compile", *arguments).refused().unsaid("nowhere to write")
        assert "1:4" in outcome.err or "2:4" in outcome.err
    assert "nothing to read" in hardsim("compile").err
    assert "nowhere to write the network" in hardsim("compile", since).err


@pytest.mark.parametrize("symbol", ["\x1b[31m", "\udcff"])
def test_symbols_that_cannot_be_printed_are_refused(hardsim: Any, symbol: str) -> None:
    hardsim("words", "-e", "true", "--alphabet", f"a {symbol}", "--max-n", "1").refused("is not a symbol").unsaid(
        "\x1b"
    )
