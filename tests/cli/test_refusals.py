"""Tests of commands that are refused as a whole: their JSON document, and the options that their advice names."""

import csv
import html
import io
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from hardsim.cli.manual import COMMANDS
from hardsim.cli.typer_options import options_of
from hardsim.options.table import FORMATS
from hardsim.report.document import RESULTS
from tests.cli.conftest import SINCE, Cli, written
from tests.support.documents import VALIDATOR

COUNTS = "alphabet: a b\n#L[a] > #L[b]\n"
REFUSED = (
    "prove since.ltl --certificate c.json --regime all",
    "check ties.ahat.json --pin",
    "trace since.ltl cba --plot p.svg --regime all",
    "equiv since.ltl",
    "bound since.ltl --critical --beta 2",
    "check since.ltl --regime nosuch",
    "check since.ltl --max-n x",
    "check since.ltl --rounding 8",
    "check since.ltl --nosuch 5",
    "check",
    "check -e a --alphabet a since.ltl",
    "words since.ltl --dps 0",
    "export since.ltl",
    "compile since.ltl",
    "heads",
    "verify",
    "eval",
    "classify",
    "precision",
    "show",
    "serve --port 1x",
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "since.ltl", SINCE)
    written(tmp_path / "counts.ltl", COUNTS)
    return tmp_path


@pytest.mark.parametrize("line", REFUSED)
def test_a_refused_command_writes_the_document_that_was_asked_for(hardsim: Cli, place: Path, line: str) -> None:
    command, *rest = line.split()
    # Before the others, because no more options are read after one that does not exist.
    found = hardsim(command, "--json", "j.json", *rest)
    assert found.code == 2
    document = json.loads((place / "j.json").read_text(encoding="utf-8"))
    VALIDATOR.validate(document)
    assert (document["command"], document["exit_code"], document["results"]) == (command, 2, [])
    (error,) = document["errors"]
    assert error["exit_code"] == 2
    assert error["message"].split("\n")[0] in " ".join(found.err.split())


def test_these_commands_are_all_that_have_documents() -> None:
    assert {line.split()[0] for line in REFUSED} | {"examples", "new", "fmt", "report"} == {*RESULTS} <= {*COMMANDS}


def test_a_refused_command_writes_over_no_input(hardsim: Cli, place: Path) -> None:
    for rest in (("--regime", "nosuch"), ("--nosuch",), ("--max-n", "x"), ("--against", "since.ltl", "--dps", "0")):
        hardsim("check", "since.ltl", "--json", "since.ltl", *rest).exits(2)
        hardsim("check", "--json", "since.ltl", *rest, "since.ltl").exits(2)
        hardsim("check", "--json=since.ltl", *rest, "since.ltl").exits(2)
        hardsim("check", "counts.ltl", "--data=since.ltl", *rest, "--json", "since.ltl").exits(2)
        hardsim("check", place, *rest, "--json", "since.ltl").exits(2)
    hardsim("compile", "counts.ltl", "-osince.ltl", "--nosuch", "--json", "since.ltl").exits(2)
    assert (place / "since.ltl").read_text(encoding="utf-8") == SINCE
    assert {*os.listdir(place)} == {"since.ltl", "counts.ltl"}


def test_a_refusal_is_the_only_document_on_standard_output(hardsim: Cli, place: Path) -> None:
    for options in (("--json", "-"), ("--format", "json")):
        assert hardsim("equiv", "since.ltl", *options).exits(2).json["errors"][0]["exit_code"] == 2
    assert "equiv needs at least two files" in hardsim("equiv", "since.ltl", "--format", "junit").exits(2).out
    assert hardsim("check", "since.ltl", "--json", "/nosuch/j.json").exits(2).out == ""


REPORTS: dict[str, Callable[[str], list[Any]]] = {
    "junit": lambda text: [one.get("name") for one in ElementTree.fromstring(text).iter("testcase")],
    "github": lambda text: re.findall("^::error .*$", text, re.MULTILINE),
    "sarif": lambda text: json.loads(text)["runs"][0]["results"],
    "csv": lambda text: [*csv.DictReader(io.StringIO(text))],
}
"""For each format that other programs read, the errors in a report."""


@pytest.mark.parametrize("form", REPORTS)
def test_a_refused_command_writes_the_report_that_was_asked_for(hardsim: Cli, place: Path, form: str) -> None:
    assert {*REPORTS} == {*FORMATS} - {"text", "json"}
    commands = [name for name in COMMANDS if "format" in options_of(name) and name != "watch"]
    lines = [line for line in REFUSED if line.split()[0] in commands and "max-n" not in line]
    assert {line.split()[0] for line in lines} >= {"check", "prove", "equiv", "verify", "bound"}
    for line in lines:
        command, *rest = line.split()
        found = hardsim(command, "--format", form, *rest).exits(2)
        (one,) = REPORTS[form](found.out)
        message = found.err.split("error: ")[1].split("\n")[0]
        assert message in html.unescape(found.out.replace('\\"', '"').replace('""', '"')), line
        assert one
    found = hardsim("check", "since.ltl", "--format", form, "--json", "j.json", "--nosuch").exits(2)
    assert len(REPORTS[form](found.out)) == 1
    assert json.loads((place / "j.json").read_text(encoding="utf-8"))["exit_code"] == 2
    # A document is alone on standard output.
    json.loads(hardsim("check", "since.ltl", "--format", form, "--json", "-", "--nosuch").exits(2).out)
    hardsim("check", "since.ltl", "--format", form, "--json", "-").refused("standard output")


def test_watch_that_is_refused_writes_a_line_with_the_document_of_check(hardsim: Cli, place: Path) -> None:
    for line in ("nosuch.ltl", "since.ltl --regime nosuch", "--nosuch", "since.ltl --max-n x"):
        found = hardsim("watch", "--json", "-", *line.split()).exits(2)
        (text,) = found.out.splitlines()
        assert found.json["command"] == "check"
        (error,) = json.loads(text)["errors"]
        assert error["message"].split("\n")[0] in " ".join(found.err.split())
        hardsim("watch", "--json", "j.json", *line.split()).refused()
        assert json.loads((place / "j.json").read_text(encoding="utf-8"))["errors"] == [error]
    hardsim("watch", "since.ltl", "--format", "junit").refused("watch prints text or json")


OPTIONS = (
    ("--regime", "geometric"),
    ("--regime", "rounded"),
    ("--regime", "layer-norm"),
    ("--weighting", "geometric"),
    ("--weighting", "sparsemax"),
    ("--exponential", "fp16"),
    ("--rounding", "biased:4"),
    ("--regime", "geometric", "--exponential", "fp16"),
    ("--regime", "rounded", "--weighting", "geometric"),
    ("--rounding", "biased:4", "--exponential", "fp16"),
    ("--rounding", "biased:4", "--regime", "temperature"),
)


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_advice_leaves_out_only_what_was_given(hardsim: Cli, place: Path, options: tuple[str, ...]) -> None:
    """And no message calls biased rounding by the name of another one."""
    runs = (
        ("check", "counts.ltl"),
        ("check", "since.ltl", "--engine", "float64"),
        ("precision", "since.ltl"),
        ("export", "since.ltl", "--to", "onnx", "-o", "x"),
        ("bound", "counts.ltl", "--critical"),
    )
    for command, name, *rest in runs:
        given = [*rest, *options]
        found = hardsim(command, name, "--max-n", "1", *given)
        assert "nearest:" not in found.err
        for sentence in re.findall(r"[Ll]eave out [^.;]*", found.err):
            assert {*re.findall(r"--[a-z]+(?:-[a-z]+)*", sentence)} <= {*given}, (command, name, found.err)
