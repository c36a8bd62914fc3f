"""Tests of files with a formula on each line: how each line is read, reported or refused."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

import hardsim as python
from hardsim.lang.corpus import read_corpus
from tests.support.language import InputError, SourceError

CORPUS = "\ufeff# of a paper\r\nG(P1 -> F P2)\r\n\r\n  // second\r\nP1 U (q\r\n-- three\r\n#[a] > 1\r\n% four\r\n  F q"
HEADED = "// for all\nprops: a b\nat: first\nlet later =\n  F b\n\nG(a -> later)\n\nG(a -> X b)\n"


@pytest.fixture(autouse=True)
def corpora(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write two corpora to the working directory."""
    monkeypatch.chdir(tmp_path)
    Path("corpus.txt").write_text(CORPUS, encoding="utf-8", newline="")
    Path("headed.ltl").write_text(HEADED, encoding="utf-8")


def test_lines_are_distinguished_from_comments_and_header_lines() -> None:
    assert dict(read_corpus(CORPUS.encode(), "c").formulas) == {
        2: "G(P1 -> F P2)", 5: "P1 U (q", 7: "#[a] > 1", 9: "  F q"
    }  # fmt: skip
    headed = read_corpus(HEADED.encode(), "h")
    assert dict(headed.formulas) == {7: "G(a -> later)", 9: "G(a -> X b)"}
    assert headed.text(9) == ("// for all\nprops: a b\nat: first\nlet later =\n  F b\n\n\n\nG(a -> X b)", 1)
    for text in ("", "\n", "// nothing\n# nothing\n", "props: p\n"):
        with pytest.raises(SourceError):
            read_corpus(text.encode(), "e")


@pytest.mark.parametrize(
    "line", ["at: last", "let a = q", "props: p q", "pred M(i, n) = i = n", "  dialect: weak-next"]
)
def test_what_holds_for_all_formulas_stands_above_them(hardsim: Any, line: str) -> None:
    Path("late.txt").write_text(f"// all\nF p\n\n{line}\nF q\n", encoding="utf-8")
    late = hardsim("words", "late.txt", "--lines", "--props", "auto", "--max-n", "1")
    assert late.code == 2
    assert late.out == ""
    assert f"late.txt:4:1: error: a header line or definition below the first formula\n  {line}\n" in late.err


def test_a_formula_in_quotes_on_a_line_is_refused(hardsim: Any) -> None:
    Path("quoted.txt").write_text('"G p"\nG p\n', encoding="utf-8")
    found = hardsim("words", "quoted.txt", "--lines", "--props", "auto", "--at", "first", "--max-n", "1")
    assert found.code == 2
    assert found.out == "# quoted.txt:2, temperature\n{p}\n"
    assert "quoted.txt:1:1: error: the quotes make all of this one name" in found.err


AUTO = ("--lines", "--props", "auto", "--at", "first")


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("check", ["--max-n", "3"]),
        ("prove", ["--max-n", "3"]),
        ("words", ["--max-n", "2"]),
        ("show", []),
        ("bound", ["--max-n", "2"]),
        ("precision", ["--dtype", "float32", "--max-n", "2"]),
    ],
)
def test_each_line_is_an_input_of_its_own(hardsim: Any, command: str, more: list[str]) -> None:
    found = hardsim(command, "corpus.txt", *more, *AUTO, "--json", "-")
    assert found.code == 2
    document = json.loads(found.out)
    assert [one["name"] for one in document["inputs"]] == ["corpus.txt:2", "corpus.txt:7", "corpus.txt:9"]
    (error,) = document["errors"]
    assert error["input"] == "corpus.txt:5"
    assert "corpus.txt:5:6: error: this bracket is never closed" in found.err
    assert "  P1 U (q\n       ^" in found.err


def test_the_exit_code_is_that_of_the_worst_line(hardsim: Any) -> None:
    assert hardsim("check", "headed.ltl", "--lines", "--max-n", "3").code == 0
    wrong = hardsim("check", "headed.ltl", "--lines", "--max-n", "12", "--regime", "none")
    assert wrong.code == 1
    shown = [shlex.split(line) for line in wrong.out.splitlines() if line.startswith("hardsim trace")]
    assert [line[2] for line in shown] == ["headed.ltl:7", "headed.ltl:9"]
    assert hardsim(*shown[0][1:]).code == 1


@pytest.mark.parametrize("label", ["(1)", "1.", "12)", "-", "phi1:", "f1 =", "f1 :=", "3,"])
def test_a_label_before_a_formula_is_named(hardsim: Any, label: str) -> None:
    Path("labelled.txt").write_text(f"{label} G(a -> F b)\n")
    found = hardsim("check", "labelled.txt", *AUTO)
    assert found.code == 2
    assert f"a line contains only a formula: remove {label}" in found.err


def test_a_name_with_blanks_is_quoted_in_the_hint(hardsim: Any) -> None:
    Path("log.txt").write_text("G(Create Purchase Order -> F Pay)\n")
    found = hardsim("check", "log.txt", *AUTO)
    assert (found.code, "write a name with blanks in quotes: 'Create Purchase Order'" in found.err) == (2, True)


def test_other_programs_get_the_line_of_the_file(hardsim: Any) -> None:
    found = hardsim("check", "corpus.txt", *AUTO, "--max-n", "2", "--format", "github")
    assert "::error file=corpus.txt,line=5,col=6," in found.out


def test_a_line_is_named_by_its_number_everywhere(hardsim: Any) -> None:
    assert hardsim("eval", "headed.ltl:9", "{a}{b}", "{a}{}{b}").code == 0
    # G(a -> F b) and G(a -> X b) at the first position differ first where b stands at the position of a.
    differ = hardsim("equiv", "headed.ltl:7", "headed.ltl:9", "--max-n", "2")
    assert (differ.code, "{a,b}" in differ.out.splitlines()) == (1, True)
    assert hardsim("check", "headed.ltl:7", "--against", "headed.ltl:7", "--max-n", "2").code == 0
    assert hardsim("prove", "headed.ltl:7", "--max-n", "3", "--certificate", "p.cert.json").code == 0
    assert hardsim("verify", "p.cert.json", "--formula", "headed.ltl:7").code == 0
    assert hardsim("verify", "p.cert.json", "--formula", "headed.ltl:9").code == 1
    missing = hardsim("show", "headed.ltl:8")
    assert missing.code == 2
    assert "there is no formula on line 8" in missing.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["check", "since", "--lines"], "since is shipped"),
        (["check", "one.srasp", "--lines"], "is no file of formulas"),
        (["check", "headed.ltl:7", "--lines"], "is one line already"),
        (["check", "headed.ltl", "--lines", "--pin"], "--pin writes an example"),
        (["check", "-e", "a S b", "--lines"], "--lines is for files"),
        (["check", "gone.ltl", "--lines"], "no such file"),
        (["check", "headed.ltl"], "--lines reads each line as a formula of its own"),
        (["check", "bare.txt"], "--lines each line as a formula of its own"),
        (["equiv", "headed.ltl", "--lines"], "no such option: --lines"),
        (["check", "headed.ltl", "--lines", "--props", "p"], "headed.ltl:2:8: error: the propositions are also given"),
    ],
)
def test_what_has_no_formula_on_each_line_is_refused(hardsim: Any, arguments: list[str], said: str) -> None:
    Path("bare.txt").write_text("F p\nG q\n", encoding="utf-8")
    found = hardsim(*arguments)
    assert found.code == 2
    assert said in " ".join(found.err.split())


def test_a_report_on_lines_is_replayed(hardsim: Any) -> None:
    assert hardsim("report", "headed.ltl", "--lines", "--max-n", "1", "-o", "page").code == 0
    assert hardsim("replay", "page").code == 0


def test_the_lines_of_a_file_are_models() -> None:
    models = python.load_lines("headed.ltl")
    assert [one.name for one in models] == ["headed.ltl:7", "headed.ltl:9"]
    assert [one.eval("{a}{}{b}").words[0].oracle for one in models] == [True, False]
    assert python.load("headed.ltl:9").text.endswith("G(a -> X b)")
    with pytest.raises(SourceError, match=r"corpus\.txt:5:6"):
        python.load_lines(Path("corpus.txt"), props="auto", at="first")
    with pytest.raises(InputError, match="no such file"):
        python.load_lines("gone.txt")
