"""Tests of shipped names in place of files: a path of that name wins, and nothing shipped is overwritten."""

from pathlib import Path
from typing import Any

import pytest

import hardsim as library
from hardsim.errors import Remark
from hardsim.examples import located
from tests.cli.conftest import written
from tests.support.language import InputError, formulas_directory
from tests.support.mistakes import raised


@pytest.fixture(autouse=True)
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, which is empty."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_name_stands_in_the_document(hardsim: Any) -> None:
    document = hardsim("check", "since", "--max-n", "1", "--json", "-").json
    assert [one["name"] for one in document["inputs"]] == [document["results"][0]["input"]] == ["since"]
    same = hardsim("check", formulas_directory() / "since.ltl", "--max-n", "1", "--json", "-").json
    assert same["inputs"][0]["sha256"] == document["inputs"][0]["sha256"]
    assert same["results"][0]["lengths"] == document["results"][0]["lengths"]


def test_of_several_files_the_formula_is_taken(hardsim: Any) -> None:
    assert located("flipflop") == str(formulas_directory() / "flipflop.ltl")
    assert located("flipflop.srasp") == str(formulas_directory() / "flipflop.srasp")
    assert located("dyck2") == str(formulas_directory() / "dyck2.srasp")
    assert located("ties") == str(formulas_directory() / "ties.ahat.json")
    assert located("./since") == "./since"


def test_a_path_of_the_name_wins(hardsim: Any, empty: Path) -> None:
    written(empty / "since", "alphabet: a\na\n")
    hardsim("words", "since", "--max-n", "2").clean().lacks("b")
    assert library.load("since").alphabet == ("a",)
    (empty / "since").unlink()
    (empty / "since").mkdir()
    hardsim("words", "since").refused("since has no *.ltl")
    (empty / "since").rmdir()
    (empty / "since").symlink_to("nowhere")
    hardsim("words", "since").refused("since: is a link to a file that does not exist")


def test_a_file_of_a_similar_name_is_named(hardsim: Any, empty: Path) -> None:
    written(empty / "since.ltl", "alphabet: a\na\n")
    message = "note: since: this is the shipped example; this directory has a file since.ltl of its own\n"
    assert hardsim("words", "since", "--max-n", "1").exits(0, "b\n").err == message
    hardsim("words", "since.ltl", "--max-n", "2").clean("a\n").lacks("b")
    with pytest.warns(Remark, match="this is the shipped example"):
        assert library.load("since").alphabet == ("a", "b", "c")


@pytest.mark.parametrize("command", ["check", "prove", "eval", "words", "show", "compile", "bound"])
def test_an_unknown_name_is_refused_with_the_nearest(hardsim: Any, empty: Path, command: str) -> None:
    hardsim(command, "sinc", *["a"] * (command == "eval")).refused("error: sinc: no such file", "did you mean since?")
    written(empty / "mine.ltl", "alphabet: a\na\n")
    hardsim(command, "mien.ltl", *["a"] * (command == "eval")).refused("mien.ltl: no", "did you mean mine.ltl?")
    hardsim(command, "./mine.lt", *["a"] * (command == "eval")).refused("did you mean ./mine.ltl?")
    # `nosuch.ltl` shares little but its suffix with any name here.
    hardsim(command, "nosuch.ltl", *["a"] * (command == "eval")).refused("`hardsim examples` lists what is shipped")
    hardsim(command, "q9#", *["a"] * (command == "eval")).refused("`hardsim examples` lists what is shipped")


def test_what_is_shipped_is_never_written(hardsim: Any) -> None:
    target = formulas_directory() / "since.ltl"
    before = target.read_bytes()
    for arguments in (["compile", "since", "-o"], ["check", "since", "--json"], ["check", "since", "--resume"]):
        hardsim(*arguments, target).refused("would overwrite the input")
    with pytest.raises(InputError, match="would overwrite"):
        library.load("since").compile().save(target)
    assert target.read_bytes() == before


def test_a_certificate_is_about_a_shipped_formula(hardsim: Any) -> None:
    hardsim("prove", "since", "--max-n", "2", "--certificate", "p.json").exits(0)
    hardsim("compile", "since", "-o", "m.json").exits(0)
    hardsim("verify", "p.json", "--formula", "since", "--model", "m.json").clean("formula  that of since", "VALID")
    hardsim("verify", "p.json", "--formula", "sinc").refused("did you mean since?")
    hardsim("verify", "p.jsn").refused("p.jsn: no such file", "did you mean p.json?")


def test_python_opens_what_is_shipped() -> None:
    assert library.load("since").name == "since"
    assert library.load("ties").kind == "ahat"
    # With an alphabet the argument is the text of a formula.
    assert library.load("a S b", alphabet="a b").name == "<expression>"
    assert "did you mean since?" in raised(InputError, library.load, "sinc").hint
    assert "alphabet='a b'" in raised(InputError, library.load, "O a").hint  # the option as Python spells it
