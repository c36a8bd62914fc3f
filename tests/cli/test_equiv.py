"""Tests of `equiv` with expressions, and of its reports for other programs."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hardsim.visible import visible
from tests.cli.conftest import SINCE, Cli, interrupt, written

SAME, OTHER = "b | a & Y(a S b)", "O b"
HEADER = "input,regime,outcome,exit_code,verdict,word,message,line,column\n"
TAKEN = (
    "note: no alphabet was given, so it consists of the symbols of both: a b; --alphabet sets another one, --props auto"
)


def test_a_file_is_compared_with_an_expression(hardsim: Cli) -> None:
    for arguments in (["since", "-e", SAME], ["-e", SAME, "since"]):
        found = hardsim("equiv", *arguments, "--max-n", "4").clean()
        assert found.out.startswith("PROVED  since, <expression>\n")
    found = hardsim("equiv", "since", "-e", OTHER, "--max-n", "4")
    assert (found.code, found.err) == (1, "")
    # The word bc: b is past, and c is no a.
    assert found.out.partition("its own:\n")[2].split("\n")[:3] == ["bc", "  since: reject", "  <expression>: accept"]
    document = hardsim("equiv", "since", "-e", OTHER, "--json", "-").json
    (result,) = document["results"]
    assert (result["input"], result["other"], result["word"]) == ("since", "<expression>", ["b", "c"])
    assert [one["name"] for one in document["inputs"]] == ["since", "<expression>"]


def test_two_expressions_are_compared(hardsim: Cli) -> None:
    found = hardsim("equiv", "-e", "a S b", "-e", SAME, "--max-n", "3").exits(0)
    assert found.out.startswith(
        "PROVED  <expression 1>, <expression 2>\n  they are the same on every word of every length"
    )
    assert found.err.startswith(TAKEN)
    assert found.err.count("\n") == 1
    # Neither formula alone names two symbols.
    hardsim("equiv", "-e", "O a", "-e", "!H b", "--max-n", "3").exits(0, "PROVED").says(TAKEN)
    hardsim("equiv", "-e", "O a", "-e", "H a", "--alphabet", "a b").exits(1, "length 2").clean(code=1)
    hardsim("equiv", "-e", "O p", "-e", "p | Y O p", "--props", "auto").clean("PROVED")
    hardsim("equiv", "-e", "O p", "-e", "O q", "--props", "auto", "--max-n", "2").exits(1, "{p}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-e", "a S b"], "equiv needs at least two files, but 1 is given"),
        (["since"], "equiv needs at least two files, but 1 is given"),
        (["since", "-e", "a S d"], "<expression>:1:5: error: unknown symbol or name 'd'"),
        (["-e", "a S b", "-e", "b S a)"], "<expression 2>:1:6: error:"),
        (["-e", "a", "-e", "O a"], "<expression 1>: the formula alone does not determine the alphabet"),
        ([], "nothing to read: give two files"),
    ],
)
def test_what_cannot_be_compared_is_refused(hardsim: Cli, arguments: list[str], message: str) -> None:
    found = hardsim("equiv", *arguments)
    assert (found.code, found.out) == (2, "")
    assert message in found.err


def test_quiet_prints_the_verdict_alone(hardsim: Cli) -> None:
    found = hardsim("equiv", "since", "-e", SAME, "-q", "--max-n", "2")
    assert (found.code, found.err) == (0, "")
    said = "they are the same on every word of every length, by their automata of 2 and 2 states"
    assert found.out.split() == f"PROVED since, <expression> {said}".split()


def test_every_format_has_the_outcome(hardsim: Cli, tmp_path: Path) -> None:
    path = written(tmp_path / "mine.ltl", "alphabet: a b c\na S b\n")
    reports = {}
    for name in ("junit", "github", "sarif", "json"):
        wrong = hardsim("equiv", path, "-e", OTHER, "--format", name)
        right = hardsim("equiv", path, "-e", SAME, "--format", name, "--max-n", "2").clean()
        assert (wrong.code, wrong.err) == (1, "")
        reports[name] = wrong.out, right.out
    assert '<failure message="REFUTED: they differ on a word of length 2, the shortest"' in reports["junit"][0]
    assert "<failure" not in reports["junit"][1]
    assert reports["github"][0].startswith(f"::error file={path},title=hardsim equiv%3A REFUTED::REFUTED")
    assert reports["github"][1] == ""
    (finding,) = json.loads(reports["sarif"][0])["runs"][0]["results"]
    assert finding["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].endswith("mine.ltl")
    assert json.loads(reports["sarif"][1])["runs"][0]["results"] == []
    assert json.loads(reports["json"][0])["results"][0]["verdict"] == "REFUTED"
    table = hardsim("equiv", path, "-e", OTHER, "--format", "csv").exits(1).out
    text = "REFUTED: they differ on a word of length 2, the shortest"
    assert table == f'{HEADER}{path},,failed,1,REFUTED,bc,"{text}",,\n'
    # An input that is no file has no place to annotate.
    found = hardsim("equiv", "-e", "a S b", "-e", "O a", "--format", "github")
    assert found.exits(1).out.startswith("::error title=hardsim equiv%3A REFUTED::<expression 1>: REFUTED")


# ---- inclusion ----


def test_inclusion_is_asked_in_one_direction(hardsim: Cli) -> None:
    """After b alone a since b is true, so it is within O b; bc has a b before its end, and is not in a since b."""
    within = hardsim("equiv", "since", "-e", OTHER, "--included").clean("PROVED  since, <expression>\n")
    assert " ".join(within.out.split()[3:]) == (
        "the other accepts what the first accepts, on every word of every length, by their automata of 2 and 2 states"
    )
    beyond = hardsim("equiv", "-e", OTHER, "-e", "a S b", "--alphabet", "a b c", "--included").exits(1)
    assert beyond.out.splitlines()[1:5] == [
        "  only the first accepts a word of length 2, the shortest",
        "The word, on a line of its own:",
        "bc",
        "  <expression 1>: accept",
    ]
    for included, relation in ((["--included"], "included"), ([], "same")):
        (result,) = hardsim("equiv", "since", "-e", OTHER, *included, "--json", "-").json["results"]
        assert result["relation"] == relation


def test_a_language_without_words_is_remarked(hardsim: Cli) -> None:
    empty, other = ["-e", "a & !a"], ["-e", "b & Y first & first"]
    same = "note: <expression 1> and <expression 2> are the same, but both accept no word; is that meant?"
    hardsim("equiv", *empty, *other, "--alphabet", "a b").exits(0, "PROVED").says(same)
    vacuous = "<expression 1> accepts no word, so every file includes it; is that meant?"
    hardsim("equiv", *empty, "-e", "a", "--alphabet", "a b", "--included").exits(0, "PROVED").says(vacuous)
    hardsim("equiv", "-e", "a", "-e", "a", "--alphabet", "a b").exits(0, "PROVED").unsaid("is that meant")
    hardsim("equiv", "-e", "a", *empty, "--alphabet", "a b", "--included").exits(1).unsaid("is that meant")
    document = hardsim("equiv", *empty, *other, "--alphabet", "a b", "--json", "-").json
    assert document["results"][0]["accepts_nothing"] is True
    assert same.endswith(document["notes"][0]["message"])


# ---- several files ----


def class_of(path: Path) -> list[str]:
    """Write a solution and submissions: right, wrong, right without an alphabet, counting, over another alphabet,
    and with a mistake; and return their paths and that of a file that does not exist."""
    texts = {
        "solution": "alphabet: a b c\na S b",
        "1_right": f"alphabet: c b a\n{SAME}",
        "2_wrong": f"alphabet: a b c\n{OTHER}",
        "3_bare": "a S b",
        "4_counts": "alphabet: a b c\n(a S b) & (#L[a] <= #L[b] | #L[a] > #L[b])",
        "5_other": "alphabet: a b\na S b",
        "6_mistake": "alphabet: a b c\na S",
    }
    files = [str(written(path / f"{name}.ltl", f"{text}\n")) for name, text in texts.items()]
    return [*files, str(path / "7_missing.ltl")]


def test_several_files_have_a_line_each_and_a_summary(hardsim: Cli, tmp_path: Path) -> None:
    solution, right, wrong, bare, counts, other, mistake, missing = class_of(tmp_path)
    found = hardsim("equiv", solution, right, wrong, bare, counts, other, mistake, missing, "--max-n", "3")
    assert found.code == 1
    proved = "they are the same on every word of every length, by their automata of 2 and 2 states"
    lines = found.out.splitlines()
    assert lines[:4] == [
        f"PROVED  {right}: {proved}",
        f"REFUTED  {wrong}: they differ on a word of length 2, the shortest; {wrong} accepts it",
        "bc",
        f"PROVED  {bare}: {proved}",
    ]
    assert lines[4].startswith(f"CERTIFIED  {counts}: they are the same on all 39 words up to length 3; longer words")
    summary = "4 results: 2 PROVED, 1 CERTIFIED, 1 REFUTED; 2 files could not be read; 1 file refused"
    assert " ".join(" ".join(lines[5:]).split()) == summary
    for message in (f"{solution} and {other} have different alphabets", f"{mistake}:2:4: error", f"{missing}: no such"):
        assert message in found.err


def test_the_exit_code_is_that_of_the_worst_case(hardsim: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    solution, right, wrong, bare, _, other, _, missing = class_of(tmp_path)
    hardsim("equiv", solution, right, bare).exits(0)
    hardsim("equiv", solution, missing, right).exits(2, "PROVED")
    hardsim("equiv", solution, right, other).exits(2, "PROVED")
    hardsim("equiv", solution, right, missing, wrong).exits(1, "PROVED", "REFUTED")
    monkeypatch.setattr("hardsim.lang.automata.automaton.MAX_PAIRS", 1)
    hardsim("equiv", solution, right, bare).exits(3, "UNDECIDED")
    hardsim("equiv", solution, right, missing).exits(2, "UNDECIDED")
    monkeypatch.setattr("hardsim.measuring.equiv.confirm", lambda *_: 1 // 0)
    hardsim("equiv", solution, right, missing).exits(4)


def test_without_the_first_file_nothing_is_compared(hardsim: Cli, tmp_path: Path) -> None:
    solution, right, *_, mistake, missing = class_of(tmp_path)
    for first in (mistake, missing):
        hardsim("equiv", first, solution, right).refused("no result; 1 file could not be read")


def test_several_files_in_every_format(hardsim: Cli, tmp_path: Path) -> None:
    solution, right, wrong, *_, missing = class_of(tmp_path)
    files = [solution, right, wrong, missing]
    table = hardsim("equiv", *files, "--format", "csv").exits(1).out
    assert table.startswith(HEADER)
    rows = {row["input"]: row for row in csv.DictReader(table.splitlines())}
    assert [rows[name]["outcome"] for name in (right, wrong, missing)] == ["passed", "failed", "error"]
    assert [rows[name]["word"] for name in (right, wrong, missing)] == ["", "bc", ""]
    assert [rows[name]["exit_code"] for name in (right, wrong, missing)] == ["0", "1", "2"]
    assert rows[missing]["message"].endswith("no such file")
    assert solution not in rows
    assert [*rows] == [right, wrong, missing]
    (suite,) = ElementTree.fromstring(hardsim("equiv", *files, "--format", "junit").exits(1).out)
    cases = {case.get("file"): [part.tag for part in case] for case in suite.findall("testcase")}
    assert cases == {right: ["properties"], wrong: ["properties", "failure"], missing: ["error"]}
    (wrongly, error) = sorted(hardsim("equiv", *files, "--format", "github").exits(1).out.splitlines())
    assert error.startswith(f"::error file={missing},")
    assert wrongly.startswith(f"::error file={wrong},title=hardsim equiv%3A REFUTED::REFUTED")
    document = hardsim("equiv", *files, "--format", "json").exits(1).json
    assert [(one["input"], one["other"]) for one in document["results"]] == [(solution, right), (solution, wrong)]
    assert document["counts"]["unread"] == 1


def test_unreadable_files_have_their_rows_and_places(hardsim: Cli, tmp_path: Path) -> None:
    """Rows are in the order of the files; the mistake is a formula that ends after `a S`, at column 4 of line 2."""
    solution, right, wrong, _, _, other, mistake, missing = class_of(tmp_path)
    for files in ([solution, mistake, right, missing, wrong, other], [solution, wrong, right, other, missing, mistake]):
        table = hardsim("equiv", *files, "--format", "csv").exits(1).out
        rows = list(csv.DictReader(table.splitlines()))
        assert [row["input"] for row in rows] == files[1:]
        places = {row["input"]: (row["line"], row["column"]) for row in rows}
        assert places == dict.fromkeys(files[1:], ("", "")) | {mistake: ("2", "4")}


@pytest.mark.parametrize("command", ["check", "fmt"])
def test_rows_of_every_command_are_in_the_order_of_its_files(hardsim: Cli, tmp_path: Path, command: str) -> None:
    solution, *_, mistake, missing = class_of(tmp_path)
    requested = ["--check"] if command == "fmt" else ["--max-n", "1"]
    table = hardsim(command, solution, mistake, missing, solution, *requested, "--format", "csv").exits(2).out
    rows = list(csv.DictReader(table.splitlines()))
    assert [row["input"] for row in rows] == sorted(
        [solution, mistake, missing, solution], key=[solution, mistake, missing].index
    )
    assert [row["line"] for row in rows if row["input"] == mistake] == ["2"]


def test_the_first_failure_ends_the_comparisons(hardsim: Cli, tmp_path: Path) -> None:
    solution, right, wrong, bare, *_, missing = class_of(tmp_path)
    found = hardsim("equiv", solution, right, wrong, bare, "--fail-fast").exits(1, "PROVED", "REFUTED").lacks(bare)
    found.says("stopped at the first failure (--fail-fast); not run: 1 input\n")
    document = hardsim("equiv", solution, right, wrong, bare, "--fail-fast", "--json", "-").exits(1).json
    assert ([one["input"] for one in document["not_run"]], document["stopped"]) == ([bare], True)
    # A file that cannot be read ends the run before anything is compared, as in `check`.
    hardsim("equiv", solution, right, missing, bare, "--fail-fast").refused("no such file", "not run: 2 inputs\n")
    table = hardsim("equiv", solution, right, wrong, bare, "--fail-fast", "--format", "csv").exits(1).out
    assert [row["outcome"] for row in csv.DictReader(table.splitlines())] == ["passed", "failed", "skipped"]
    hardsim("equiv", solution, wrong, "--fail-fast").exits(1).unsaid("not run")


def rows_of(page: Path) -> list[list[str]]:
    """Return the texts in the rows of the table of a page."""
    table = page.read_text(encoding="utf-8").partition("<tbody>")[2].partition("</tbody>")[0]
    return [["".join(cell.itertext()) for cell in row] for row in ElementTree.fromstring(f"<table>{table}</table>")]


def test_a_page_has_the_grade_of_each_file(hardsim: Cli, tmp_path: Path) -> None:
    """`O b` is true of bc, of which `a S b` is false; no shorter word differs."""
    solution, right, wrong, _, counts, other, mistake, missing = files = class_of(tmp_path)
    page = tmp_path / "grades.html"
    found = hardsim("equiv", *files[:3], mistake, counts, other, missing, "--max-n", "3", "--html", page).exits(1)
    found.says(f"note: the page is in {page}")
    rows = rows_of(page)
    assert [row[:2] for row in rows] == [
        [right, "right"],
        [wrong, "wrong"],
        [mistake, "cannot be compared"],
        [counts, "right on the words tried"],
        [other, "cannot be compared"],
        [missing, "cannot be compared"],
    ]
    assert rows[1][2:5] == ["bc", "rejects", "accepts"]
    assert all(row[2:5] == ["–", "–", "–"] for row in rows[:1] + rows[2:])
    assert rows[2][5].startswith("line 2, column 4: ")
    text = page.read_text(encoding="utf-8")
    assert f"<h1>Compared with {solution}</h1>" in text
    assert "6 files: 1 right, 1 wrong, 3 cannot be compared, 1 right on the words tried." in text
    # The links of the table lead to the sections, in which a mistake has its caret.
    links = re.findall(r'<a href="#(\w+)">', text)
    assert links == re.findall(r'<h2 id="(\w+)">', text)
    assert len(links) == 4
    assert re.search(r"<pre>[^<]*6_mistake\.ltl:2:4: error[^<]*\n +\^", text)
    assert (text.count("<script"), text.count("http")) == (0, 1)  # only the header that forbids scripts


def test_pages_of_two_files_of_an_inclusion_and_of_a_stopped_run(hardsim: Cli, tmp_path: Path) -> None:
    solution, right, wrong, bare, *_, missing = class_of(tmp_path)
    page = tmp_path / "grades.html"
    hardsim("equiv", solution, wrong, "--html", page).exits(1, "REFUTED")
    assert [row[:3] for row in rows_of(page)] == [[wrong, "wrong", "bc"]]
    hardsim("equiv", solution, right, "--included", "--html", page).exits(0)
    assert [row[:3] for row in rows_of(page)] == [[right, "right", "–"]]
    assert "Each file should accept every word that it accepts." in page.read_text(encoding="utf-8")
    hardsim("equiv", solution, wrong, bare, "--fail-fast", "--html", page).exits(1)
    assert [row[:2] for row in rows_of(page)] == [[wrong, "wrong"], [bare, "not compared"]]
    page.unlink()
    hardsim("equiv", missing, right, wrong, "--html", page).exits(2).says("no page was written")
    assert not page.exists()
    ahead = written(tmp_path / "ahead.ltl", "alphabet: a b c\nF b\n")
    broken = [written(tmp_path / f"broken{k}.ltl", "alphabet: a b c\n(((\n") for k in range(9)]
    hardsim("equiv", solution, ahead, *broken, "--html", page).exits(1).says("the page has all of them")
    assert "where F a means a; for LTLf write at: first" in page.read_text(encoding="utf-8")
    assert hardsim("equiv", solution, wrong, "--html", "-").exits(1).out.startswith("<!DOCTYPE html>")
    hardsim("equiv", solution, wrong, "--html", "-", "--format", "csv").refused("both write to standard output")
    hardsim("equiv", solution, wrong, "--html", wrong).exits(2)
    assert Path(wrong).read_text(encoding="utf-8") == f"alphabet: a b c\n{OTHER}\n"


@pytest.mark.parametrize(
    "name", ["<script>alert(1)<", "a&amp;\"'", "new\nline", "\x1b[31mred", "\u202eltr", "--html", "x,y;z"]
)
def test_names_of_submissions_may_be_hostile(hardsim: Cli, tmp_path: Path, name: str) -> None:
    solution, *_ = class_of(tmp_path)
    (tmp_path / "handed").mkdir()
    wrong = written(tmp_path / "handed" / f"{name}.ltl", f"alphabet: a b c\n{OTHER}\n")
    broken = written(tmp_path / "handed" / f"{name}2.ltl", f"alphabet: a b c\n'{name}'\n")
    page = tmp_path / "grades.html"
    hardsim("equiv", solution, tmp_path / "handed", "--html", page, "--format", "csv").exits(1)
    text = page.read_text(encoding="utf-8")
    shown = [visible(str(path)) for path in sorted([wrong, broken])]
    assert [row[0] for row in rows_of(page)] == shown
    assert (text.count("<script"), "\x1b" in text, "\u202e" in text) == (0, False, False)
    assert text.count("<h2 ") == 2


def test_expressions_beside_files_are_compared_too(hardsim: Cli) -> None:
    found = hardsim("equiv", "since", "-e", SAME, "-e", OTHER).exits(1)
    assert [line.split()[:2] for line in found.out.splitlines()[:2]] == [
        ["PROVED", "<expression"],
        ["REFUTED", "<expression"],
    ]
    hardsim("equiv", "-e", "O a", "-e", "!H !a", "-e", "a | Y O a | b & !b").exits(0).says(
        "so it consists of the symbols of all: a b"
    )
    hardsim("equiv", "-e", "O p", "-e", "O p", "-e", "O q", "--props", "auto").exits(1, "{p}")


def test_an_interruption_names_the_files_that_were_not_compared(
    hardsim: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    solution, right, wrong, bare, *_ = class_of(tmp_path)
    interrupt(monkeypatch, "hardsim.measuring.equiv.confirm")
    document = hardsim("equiv", solution, right, wrong, bare, "--json", "-").json
    assert document["exit_code"] == 130
    assert [one["verdict"] for one in document["results"]] == ["UNDECIDED"]
    assert [one["input"] for one in document["not_run"]] == [wrong, bare]


def test_a_directory_stands_for_expressions_and_automata_too(hardsim: Cli, tmp_path: Path) -> None:
    """A class hands in formulas, expressions and graphs; all words over a and b are the solution."""
    (tmp_path / "handed").mkdir()
    loops = " ".join(f'1 -> 1 [label="{symbol}"];' for symbol in "ab")
    for name, text in (("one.ltl", "alphabet: a b\ntrue\n"), ("two.re", "alphabet: a b\n(a|b)*\n"),
                       ("three.dot", f"digraph {{ init -> 1; 1 [shape=doublecircle]; {loops} }}"),
                       ("four.re", "alphabet: a b\na*\n")):  # fmt: skip
        written(tmp_path / "handed" / name, text)
    solution = written(tmp_path / "solution.ltl", "alphabet: a b\na | b\n")
    found = hardsim("equiv", solution, tmp_path / "handed", "--format", "csv").exits(1)
    assert [line.split(",")[4] for line in found.out.splitlines()[1:]] == ["REFUTED", "PROVED", "PROVED", "PROVED"]


def test_a_link_out_of_a_directory_is_not_followed(hardsim: Cli, tmp_path: Path) -> None:
    """Else a submission could have any file of the teacher quoted in the page."""
    folder, secret = tmp_path / "class", written(tmp_path / "secret", "root:*:0\n")
    folder.mkdir()
    solution = written(tmp_path / "solution.ltl", "alphabet: a b\nO a\n")
    written(folder / "anna.ltl", "alphabet: a b\nO a\n")
    (folder / "link.ltl").symlink_to(folder / "anna.ltl")
    (folder / "shadow.ltl").symlink_to(secret)
    (folder / "up.re").symlink_to(f"../{folder.name}/../secret")
    page = tmp_path / "grades.html"
    for files in ([solution, folder], [folder / "anna.ltl", folder]):
        found = hardsim("equiv", *files, "--html", page, "--json", tmp_path / "out.json").exits(2)
        for link in ("shadow.ltl", "up.re"):
            found.says(f"{folder}/{link} is a link to a file outside of {folder}, so it was not read")
        everything = found.err + found.out + page.read_text(encoding="utf-8")
        assert "root:" not in everything + (tmp_path / "out.json").read_text(encoding="utf-8")
        assert f"{folder}/link.ltl" in everything
    hardsim("classify", folder).exits(2).says("shadow.ltl is a link to a file outside of")
    # Who names a link means it.
    hardsim("equiv", solution, folder / "shadow.ltl").refused("root:*:0")


@pytest.mark.parametrize("first", "=+-@")
def test_no_cell_is_a_formula_of_a_spreadsheet(
    hardsim: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    """Names of files and words may begin as one; numbers are left as they are."""
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "solution.ltl", f"alphabet: a {first}\nO a\n")
    for name, text in ((f"{first}1+1.ltl", "false"), (f'{first}HYPERLINK("x").ltl', "O ("), ("plain.ltl", "true")):
        written(tmp_path / name, f"alphabet: a {first}\n{text}\n")
    names = sorted(path.name for path in tmp_path.iterdir() if path.name != "solution.ltl")
    found = hardsim("equiv", "solution.ltl", "--format", "csv", "--", *names).exits(1)
    rows = [*csv.DictReader(io.StringIO(found.out))]
    assert {row["input"].removeprefix("'") for row in rows} == {*names}
    assert [cell for row in rows for cell in row.values() if cell.startswith(first)] == []
    assert {row["word"] for row in rows} == {"", "a", f"'{first}"}
    assert {row["exit_code"] for row in rows} == {"1", "2"}


def test_what_a_directory_has_besides_languages_is_named(hardsim: Cli, tmp_path: Path) -> None:
    solution = written(tmp_path / "solution.ltl", "alphabet: a b\nO a\n")
    (tmp_path / "class" / "kim").mkdir(parents=True)
    for name in ("anna.ltl", "hans.txt", "ida.LTL", "._anna.ltl", ".hidden.txt"):
        written(tmp_path / "class" / name, "alphabet: a b\nO a\n")
    page, folder = tmp_path / "grades.html", tmp_path / "class"
    note = f"not compared: {folder}/hans.txt, {folder}/ida.LTL, {folder}/kim; a directory stands for its *.ltl,"
    found = hardsim("equiv", solution, folder, "--html", page, "--format", "csv").exits(0).says(note)
    assert [row[0] for row in rows_of(page)] == [f"{folder}/anna.ltl"]
    assert note in page.read_text(encoding="utf-8")
    # One submission: the row is about it, not about the solution.
    assert found.out.splitlines()[1].startswith(f"{folder}/anna.ltl,,passed")


def test_the_reference_out_of_a_directory_and_broken_links_are_named(hardsim: Cli, tmp_path: Path) -> None:
    """A teacher must know which file the others are compared with, and which file is missing."""
    folder = tmp_path / "hand in"
    folder.mkdir()
    for name in ("anna", "berta", "carl"):
        written(folder / f"{name}.ltl", SINCE)
    (folder / "dora.ltl").symlink_to("nowhere.ltl")
    found = hardsim("equiv", folder).exits(2)
    found.says(f"note: the other files are compared with {folder}/anna.ltl, the first file of its directory")
    found.says(f"{folder}/dora.ltl: is a link to a file that does not exist", "It leads to nowhere.ltl.")
    for command in ("check", "show", "classify"):
        hardsim(command, folder / "dora.ltl").exits(2).says("is a link to a file that does not exist")
    assert "the other files are compared" not in hardsim("equiv", folder / "anna.ltl", folder).err
