"""Tests of `hardsim report` and `hardsim replay`: the page, LaTeX, and replays with identical or different results."""

import dataclasses
import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from contextlib import chdir
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from hardsim.cli.app import run
from hardsim.cli.replay import MISSING, _keys, differences
from hardsim.files import PARTIAL, Folder
from hardsim.measuring.bound import bound_report
from hardsim.network.reader import Decimal
from hardsim.report.document import SCHEMA_VERSION as SCHEMA
from hardsim.targets.opening import read_input
from hardsim.version import __version__
from tests.cli.conftest import SINCE, Cli, interrupt, written
from tests.report.test_latex import compiled
from tests.support.documents import VALIDATOR
from tests.support.language import InputError, formulas_directory
from tests.support.mistakes import raised
from tests.support.pages import Page

HOSTILE = """// \\input{/etc/passwd} %comment <script>alert(1)</script> [/b] ∧ # _ ~ ^ & $x$ `y` "q"
alphabet: a <b> \\end{document} % ∧ ö 日
a S ('\\end{document}' | '<b>' | '日' | '%')
"""
FILES = {"command.json", "index.html", "inputs", "report.tex", "results.json"}


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report on `a S b`, shared by tests, which must not change it."""
    place = tmp_path_factory.mktemp("reported")
    written(place / "since.ltl", SINCE)
    assert run(["report", str(place / "since.ltl"), "--max-n", "3", "-o", str(place / "report"), "-q"]) == 0
    return place / "report"


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports without pictures, which take longest."""

    def refuse() -> None:
        raise InputError("no pen", "Buy one.")

    monkeypatch.setattr("hardsim.cli.report.require_drawable", refuse)


@pytest.fixture
def report(reported: Path, tmp_path: Path) -> Path:
    """A copy of the shared report."""
    return Path(shutil.copytree(reported, tmp_path / "report"))


def edited(path: Path, change: Callable[[Any], object]) -> None:
    """Change a JSON file."""
    data = json.loads(path.read_text(encoding="utf-8"))
    change(data)
    path.write_text(json.dumps(data), encoding="utf-8")


# ---- report ----


def test_a_report_is_whole(hardsim: Any, reported: Path) -> None:
    assert {path.name for path in reported.iterdir()} == FILES
    assert (reported / "inputs" / "since.ltl").read_text(encoding="utf-8") == SINCE
    document = json.loads((reported / "results.json").read_text(encoding="utf-8"))
    VALIDATOR.validate(document)
    assert (document["command"], document["exit_code"], document["seed"]) == ("report", 0, 0)
    check, proof, bound = document["results"]
    assert (check["verdict"], proof["reach"][:27], bound["verdict"]) == (
        "PROVED", "every word of every length,", "CERTIFIED"
    )  # fmt: skip
    kept = json.loads((reported / "command.json").read_text(encoding="utf-8"))
    assert kept["arguments"] == ["report", "inputs/since.ltl", "--max-n", "3"]
    digests = {name: sha256((reported / name).read_bytes()).hexdigest() for name in kept["sha256"]}
    assert kept["sha256"] == digests
    assert kept["sha256"].keys() == {"inputs/since.ltl", *FILES} - {"inputs", "command.json"}
    assert {"hardsim", "Python", "platform", "numpy", "mpmath", "python-flint"} == kept["versions"].keys()
    with chdir(reported):
        assert hardsim("check", "inputs/since.ltl", "--max-n", "3", "--json", "-").result == check
        assert hardsim("prove", "inputs/since.ltl", "--all-n", "--json", "-").result == proof
        assert hardsim("bound", "inputs/since.ltl", "--max-n", "3", "--json", "-").result == bound


def test_the_document_is_written_where_json_says(hardsim: Cli, tmp_path: Path) -> None:
    written(tmp_path / "since.ltl", SINCE)
    with chdir(tmp_path):
        requested = ("report", "since.ltl", "--max-n", "2", "-o")
        hardsim(*requested, "one", "--json", "one.json").exits(0, "PROVED", "report: ")
        assert Path("one.json").read_bytes() == Path("one/results.json").read_bytes()
        alone = hardsim(*requested, "two", "--json", "-").exits(0)
        assert (alone.json["command"], alone.out) == ("report", Path("two/results.json").read_text(encoding="utf-8"))
        kept = [json.loads(Path(name, "command.json").read_text(encoding="utf-8")) for name in ("one", "two")]
        assert kept[0]["arguments"] == kept[1]["arguments"] == ["report", "inputs/since.ltl", "--max-n", "2"]
        hardsim(*requested, "three", "--json", "since.ltl").refused("would overwrite the input since.ltl")
        hardsim(*requested, "three", "--json", "three/results.json").refused("is in the folder that -o names")
        assert Path("since.ltl").read_text(encoding="utf-8") == SINCE
        assert not Path("three").exists()


def test_the_pages(reported: Path) -> None:
    page = (reported / "index.html").read_text(encoding="utf-8")
    found = Page(page.partition("\n")[2])
    assert {"svg", "table"} <= set(found.seen)
    assert {"script", "img", "link", "iframe"}.isdisjoint(found.seen)
    message = [value for name, value in found.attributes if name.endswith(("href", "src"))]
    assert [value for value in message if not (value or "").startswith("#")] == []
    ids = [value for name, value in found.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    paper = (reported / "report.tex").read_text(encoding="ascii")
    for one in ("theorem", "proof", "tabular", "axis", "document"):
        assert paper.count(f"\\begin{{{one}}}") == paper.count(f"\\end{{{one}}}") > 0
    assert r"\item for $1\le j< w\le i\le n$: $\ell (w)-\ell (j)=-2\, j+2\, w\ge 2\;(w-j)$" in paper
    for text in (page, paper):
        assert "hardsim report inputs/since.ltl" in text.replace("-{}", "-").replace("\\allowbreak{}", "").replace(
            "\\ ", " "
        )


def test_nothing_in_a_file_is_obeyed(hardsim: Any, tmp_path: Path, plain: None) -> None:
    file = written(tmp_path / "h_%$ #L[b] <script> \\input{x} ∧ö.ltl", HOSTILE)
    hardsim("report", file, "--max-n", "1", "-o", tmp_path / "out").exits(0)
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "script" not in Page(page.partition("\n")[2]).seen
    assert "&lt;script&gt;" in page
    paper = (tmp_path / "out" / "report.tex").read_text(encoding="ascii")
    assert "\\input" not in paper
    assert paper.count(r"\end{document}") == 1
    hardsim("replay", tmp_path / "out").clean("IDENTICAL")
    if shutil.which("pdflatex"):
        compiled(tmp_path / "report.tex", paper)


def test_a_theorem_says_what_the_predicates_of_its_formula_are(hardsim: Any, tmp_path: Path, plain: None) -> None:
    file = written(tmp_path / "x.ltl", "alphabet: a b\npred THIRD(i, n) = 3*i == n\nO (a & THIRD)\n")
    hardsim("report", file, "--max-n", "1", "-o", tmp_path / "out").exits(0)
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    theorem = page[page.index("<b>Theorem.</b>") : page.index("<b>Proof.</b>")]
    assert "pred THIRD(i, n) = 3*i == n" in theorem
    paper = (tmp_path / "out" / "report.tex").read_text(encoding="ascii")
    assert "THIRD(i,{}" in paper[: paper.index(r"\end{theorem}")]


def test_exit_codes(hardsim: Any, tmp_path: Path, since: Path, plain: None) -> None:
    outcome = hardsim("report", since, "--regime", "none", "--max-n", "2", "-o", tmp_path / "one")
    outcome.exits(1, "REFUTED", "\nbc\n").says("note: the page has no pictures of bounds: no pen. Buy one.")
    assert (tmp_path / "one" / "index.html").read_text(encoding="utf-8").count("<svg") == 1
    hardsim("replay", tmp_path / "one").clean("IDENTICAL")
    model = formulas_directory() / "tieless_until_7.ahat.json"
    outcome = hardsim("report", model, "--max-n", "1", "--all-n", "-o", tmp_path / "two")
    outcome.exits(3).says("--all-n was given, but not every length is proved")
    assert r"\begin{theorem}" not in (tmp_path / "two" / "report.tex").read_text(encoding="ascii")
    assert hardsim("report", model, "--max-n", "1", "-o", tmp_path / "three", "--quiet").exits(0).err == ""


@pytest.mark.slow
def test_several_inputs_of_one_name_and_what_they_are_read_with(
    hardsim: Any, tmp_path: Path, since: Path, plain: None
) -> None:
    (tmp_path / "other").mkdir()
    other = written(tmp_path / "other" / "since.ltl", "alphabet: a b\na S b\n")
    out = tmp_path / "out"
    hardsim("report", since, other, "networks/flipflop", "--max-n", "1", "-o", out).exits(0)
    kept = json.loads((out / "command.json").read_text(encoding="utf-8"))
    files = ["inputs/since.ltl", "inputs/2/since.ltl", "inputs/flipflop.spec"]
    assert kept["arguments"][1:4] == files
    assert kept["sha256"].keys() >= {*files, "inputs/flipflop/config.json", "inputs/flipflop/model.safetensors"}
    hardsim("replay", out).clean("IDENTICAL")


@pytest.mark.slow
def test_an_expression_is_an_argument(hardsim: Any, tmp_path: Path, plain: None) -> None:
    out = tmp_path / "out"
    requested = ("-e", "-a S b", "--alphabet", "-a b", "--beta", "9/2", "--single-head", "--max-n", "2")
    hardsim("report", *requested[:1], "'-a' S b", *requested[2:], "-o", out).exits(0)
    kept = json.loads((out / "command.json").read_text(encoding="utf-8"))
    assert {"'-a' S b", "-a b", "9/2", "--single-head"} <= set(kept["arguments"])
    hardsim("replay", out).clean("IDENTICAL")


def test_what_is_refused_leaves_nothing(hardsim: Any, tmp_path: Path, since: Path) -> None:
    wrong = written(tmp_path / "wrong.ltl", "alphabet: a\na S\n")
    before = sorted(tmp_path.iterdir())
    hardsim("report", since).refused("-o is required: the directory for the report", "-o report")
    hardsim("report", "-o", tmp_path / "out").refused("nothing to read")
    hardsim("report", since, "-o", tmp_path).refused("this directory is not empty")
    hardsim("report", since, "-o", since).refused("exists and is not a directory")
    hardsim("report", since, "-o", tmp_path / "no" / "out").refused("cannot be written")
    hardsim("report", wrong, "-o", tmp_path / "out").refused(f"{wrong}:2:", "error: ").unsaid("no report")
    both = hardsim("report", wrong, tmp_path / "gone.ltl", "-o", tmp_path / "out")
    both.refused(
        f"{wrong}:2:", "gone.ltl: no such file", "no result; 2 files could not be read", "no report was written"
    )
    hardsim("report", since, "--regime", "cold", "-o", tmp_path / "out").refused("unknown regime 'cold'")
    hardsim("report", since, "-o", tmp_path / "out\0").refused("error: ")
    assert sorted(tmp_path.iterdir()) == before
    spec = (formulas_directory() / "networks" / "flipflop.spec").read_text(encoding="utf-8")
    there = formulas_directory() / "networks" / "flipflop"
    absolute = written(tmp_path / "absolute.spec", re.sub("(?m)^network: .*", f"network: {there}", spec))
    hardsim("report", absolute, "-o", tmp_path / "out").refused("which is not a file of the report")
    assert sorted(tmp_path.iterdir()) == sorted([*before, absolute])


@pytest.fixture
def mixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with files that can be reported on, and others that cannot be read."""
    monkeypatch.chdir(tmp_path)
    written(Path("a.ltl"), "alphabet: a b\na S b\n")
    written(Path("wrong.re"), "alphabet: a b\naccept: b\na+\n")
    written(Path("broken.ltl"), "alphabet: a b\na S\n")
    written(Path("z.ltl"), "alphabet: a b\nO a\n")
    return tmp_path


def test_files_that_cannot_be_read_are_named_and_the_others_run(hardsim: Cli, mixed: Path, plain: None) -> None:
    files = ("a.ltl", "gone.ltl", "broken.ltl", "wrong.re", "z.ltl")
    found = hardsim("report", *files, "--max-n", "1", "-o", "out").exits(2, "PROVED a.ltl", "PROVED z.ltl")
    heads = [line for line in found.err.splitlines() if "error: " in line]
    assert [line[:24] for line in heads] == [
        "error: gone.ltl: no such",
        "broken.ltl:2:4: error: m",
        "wrong.re:2:9: error: the",
    ]
    assert "\n6 results; 2 files could not be read; 1 file refused\n" in found.err
    assert {*os.listdir("out")} == FILES
    assert sorted(os.listdir("out/inputs")) == ["a.ltl", "z.ltl"]
    document = json.loads(Path("out/results.json").read_text(encoding="utf-8"))
    assert document["exit_code"] == 2
    assert [one["input"] for one in document["errors"]] == ["gone.ltl", "broken.ltl", "wrong.re"]
    counts = document["counts"]
    assert (counts["inputs"], counts["unread"], counts["refused"]) == (5, 2, 1)
    page = Path("out/index.html").read_text(encoding="utf-8")
    assert all(name in page for name in files)
    kept = json.loads(Path("out/command.json").read_text(encoding="utf-8"))
    assert kept["arguments"] == ["report", "inputs/a.ltl", "inputs/z.ltl", "--max-n", "1"]
    # The files that have no copy are not needed again, wherever the report is.
    for name in files[2:4]:
        Path(name).unlink()
    Path("out").rename("elsewhere")
    hardsim("replay", "elsewhere").exits(0, "IDENTICAL elsewhere")
    # What is kept of them is compared.
    edited(Path("elsewhere/command.json"), lambda kept: kept["unreadable"].pop())
    hardsim("replay", "elsewhere").exits(1, "DIFFERS elsewhere", "counts.refused: 1 then, 0 now")


def test_a_report_on_readable_files_keeps_no_errors(reported: Path) -> None:
    kept = json.loads((reported / "command.json").read_text(encoding="utf-8"))
    assert kept.keys() == {"schema_version", "arguments", "versions", "sha256"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda one: one.pop("message"), 'unreadable[0]: expected an object with the key "message"'),
        (lambda one: one.update(exit_code=1), "unreadable[0].exit_code"),
        (lambda one: one.update(more=1), "unreadable[0]"),
        (lambda one: one.update(understood="no"), "unreadable[0].understood"),
    ],
)
def test_errors_that_a_report_keeps_are_checked(
    hardsim: Cli, mixed: Path, plain: None, change: Callable[[Any], object], message: str
) -> None:
    hardsim("report", "a.ltl", "gone.ltl", "--max-n", "1", "-o", "out").exits(2)
    edited(Path("out/command.json"), lambda kept: change(kept["unreadable"][0]))
    hardsim("replay", "out").refused(message)


def test_the_exit_code_of_a_report_is_the_worst(
    hardsim: Cli, mixed: Path, plain: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first of 4, 1, 2, 3 that occurred."""
    hardsim("report", "gone.ltl", "a.ltl", "--regime", "none", "--max-n", "8", "-o", "one").exits(1, "REFUTED a.ltl")
    hardsim("replay", "one").exits(0, "IDENTICAL")

    def failing(name: str, **options: Any) -> Any:
        return read_input(name, **options) if name != "z.ltl" else 1 // 0

    monkeypatch.setattr("hardsim.cli.report.read_input", failing)
    found = hardsim("report", "z.ltl", "gone.ltl", "a.ltl", "--regime", "none", "--max-n", "8", "-o", "two")
    found.exits(4, "REFUTED a.ltl").says("internal error on z.ltl: ZeroDivisionError", "gone.ltl: no such file")
    hardsim("replay", "two").exits(0, "IDENTICAL")


def test_a_specification_that_names_a_file_elsewhere_leaves_no_copy(hardsim: Cli, mixed: Path, plain: None) -> None:
    spec = (formulas_directory() / "networks" / "flipflop.spec").read_text(encoding="utf-8")
    there = formulas_directory() / "networks" / "flipflop"
    written(Path("absolute.spec"), re.sub("(?m)^network: .*", f"network: {there}", spec))
    found = hardsim("report", "absolute.spec", "a.ltl", "--max-n", "1", "-o", "out").exits(2, "PROVED a.ltl")
    found.says("error: absolute.spec names ", "3 results; 1 file refused")
    assert [str(path.relative_to("out")) for path in Path("out/inputs").rglob("*")] == ["inputs/a.ltl"]
    hardsim("replay", "out").exits(0, "IDENTICAL")


def test_errors_that_are_not_printed_are_in_the_results(hardsim: Cli, mixed: Path, plain: None) -> None:
    files = [f"gone{number}.ltl" for number in range(30)]
    found = hardsim("report", *files, "a.ltl", "--max-n", "1", "-o", "out").exits(2)
    found.says("more errors not printed", "results.json has all of them").unsaid("--json")
    document = json.loads(Path("out/results.json").read_text(encoding="utf-8"))
    assert [one["input"] for one in document["errors"]] == files
    hardsim("replay", "out").exits(0, "IDENTICAL")


def test_a_directory_without_files_is_one_input(hardsim: Cli, mixed: Path, plain: None) -> None:
    Path("void").mkdir()
    found = hardsim("report", "void", "a.ltl", "--max-n", "1", "-o", "out").exits(2, "PROVED a.ltl")
    found.says("error: void has no ", "3 results; 1 file could not be read")
    hardsim("replay", "out").exits(0, "IDENTICAL")


def test_an_empty_directory_is_taken(hardsim: Any, tmp_path: Path, since: Path, plain: None) -> None:
    (tmp_path / "out").mkdir()
    hardsim("report", since, "--max-n", "1", "-o", tmp_path / "out").exits(0)
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES


def test_an_empty_directory_stays_the_one_it_is(hardsim: Any, tmp_path: Path, since: Path, plain: None) -> None:
    """The directory may be the working directory of another process, or a mount point."""
    out = tmp_path / "out"
    out.mkdir()
    number = out.stat().st_ino
    with chdir(out):
        hardsim("report", since, "--max-n", "1", "-o", ".").exits(0, "report: ./index.html")
        assert {*os.listdir(".")} == FILES
    assert out.stat().st_ino == number


def test_a_link_to_an_empty_directory_is_followed(hardsim: Any, tmp_path: Path, since: Path, plain: None) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "link").symlink_to("out")
    (tmp_path / "loose").symlink_to("nowhere")
    hardsim("report", since, "-o", tmp_path / "loose").refused("exists and is not a directory")
    hardsim("report", since, "--max-n", "1", "-o", tmp_path / "link").exits(0)
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES


@pytest.mark.skipif(os.name == "nt", reason="drafts are not locked here")
@pytest.mark.parametrize("there", [False, True])
def test_what_a_killed_report_left_is_removed(
    hardsim: Any, tmp_path: Path, since: Path, plain: None, there: bool
) -> None:
    out = tmp_path / "out"
    if there:
        out.mkdir()
    place = out if there else tmp_path
    left = place / f".out{PARTIAL}x"
    (left / "inputs").mkdir(parents=True)
    other = place.parent / f".another{PARTIAL}x"
    other.mkdir()
    hardsim("report", since, "--max-n", "1", "-o", out).exits(0)
    assert {path.name for path in out.iterdir()} == FILES
    assert [name for name in os.listdir(place) if PARTIAL in name] == []
    assert other.exists()


@pytest.mark.skipif(os.name == "nt", reason="drafts are not locked here")
def test_the_draft_of_a_report_that_is_being_made_stays(tmp_path: Path) -> None:
    out = tmp_path / "out"
    first, second = Folder(out, "-o"), Folder(out, "-o")
    assert first.path.is_dir()
    assert second.path.is_dir()
    first.commit()
    (out / "x").touch()
    with pytest.raises(OSError, match="not empty"):
        second.commit()
    second.close()
    first.close()
    assert os.listdir(tmp_path) == ["out"]


def test_what_came_into_an_empty_directory_is_kept(tmp_path: Path) -> None:
    draft = Folder(tmp_path, "-o")
    (draft.path / "mine").touch()
    written(tmp_path / "mine", "theirs")
    assert "this directory is not empty" in raised(InputError, draft.commit).message
    draft.close()
    assert [path.read_text() for path in tmp_path.iterdir()] == ["theirs"]


@pytest.mark.skipif(os.name == "nt", reason="a directory in which somebody stands stays there")
def test_a_directory_that_is_gone(hardsim: Any, tmp_path: Path, since: Path, report: Path) -> None:
    (tmp_path / "gone").mkdir()
    before = os.getcwd()
    try:
        os.chdir(tmp_path / "gone")
        (tmp_path / "gone").rmdir()
        hardsim("report", since, "-o", tmp_path / "out").refused("the working directory")
        hardsim("replay", report).refused("the working directory")
    finally:
        os.chdir(before)


@pytest.mark.parametrize(
    "place",
    [
        "hardsim.proving.proof_before_words.check_subject",
        "hardsim.cli.report.plan_proof",
        "hardsim.cli.report.bound_report",
    ],
)
def test_an_interruption_leaves_no_report(
    hardsim: Any, tmp_path: Path, since: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    interrupt(monkeypatch, place)
    hardsim("report", since, "--max-n", "2", "-o", tmp_path / "out").exits(130).says("no report was written")
    assert [path.name for path in tmp_path.iterdir()] == [since.name]
    assert not [name for name in os.listdir(tmp_path) if PARTIAL in name]


def test_an_interruption_names_the_file_that_was_given(
    hardsim: Any, tmp_path: Path, since: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "hardsim.cli.report.bound_report", lambda *given: dataclasses.replace(bound_report(*given), partial=True)
    )
    found = hardsim("report", since, "--max-n", "2", "-o", tmp_path / "out").exits(130)
    found.says(f"interrupted: the report on {since} is partial").unsaid("inputs/")


def test_what_no_proof_is_known_of_is_a_remark(
    hardsim: Any, tmp_path: Path, since: Path, monkeypatch: pytest.MonkeyPatch, plain: None
) -> None:
    from hardsim.errors import Undecided

    def undecided(*_: object) -> None:
        raise Undecided("too large")

    monkeypatch.setattr("hardsim.cli.report.plan_proof", undecided)
    outcome = hardsim("report", since, "--max-n", "2", "-o", tmp_path / "out")
    outcome.exits(0).says("no argument for every length: too large")


# ---- replay ----


def test_the_same_again(hardsim: Any, report: Path) -> None:
    hardsim("replay", report).clean(f"IDENTICAL {report}")
    with chdir(report):
        hardsim("replay", ".", "--workers", "1", "-q").clean("IDENTICAL")


def test_edited_results_differ(hardsim: Any, report: Path) -> None:
    def change(data: Any) -> None:
        data["exit_code"] = 5
        del data["results"][1]["heads"]
        data["notes"].append("more")
        data["results"][0]["shown"] = {f"k{number}": number for number in range(30)}

    edited(report / "results.json", change)
    outcome = hardsim("replay", report)
    outcome.clean(
        "results.json: was changed after the report was written",
        f"DIFFERS {report}: ",
        "exit_code: 5 then, 0 now",
        "results[0].shown.k0: 0 then, nothing now",
        "more",
        code=1,
    )
    assert len([line for line in outcome.out.splitlines() if line.startswith("  ")]) == 21


def test_a_changed_input_is_named_first(hardsim: Any, report: Path) -> None:
    written(report / "inputs" / "since.ltl", SINCE.replace("a S b", "a S (b | b)"))
    lines = hardsim("replay", report).clean(code=1).out.splitlines()
    assert lines[0] == "inputs/since.ltl: was changed after the report was written (by its SHA-256)"
    assert lines[1].startswith("DIFFERS")
    assert any(line.startswith("  inputs[0].sha256: ") for line in lines)
    written(report / "inputs" / "since.ltl", "alphabet: a\nb\n")
    hardsim("replay", report).exits(1, "DIFFERS").says("unknown symbol")


def test_a_changed_page_is_named_first(hardsim: Any, report: Path) -> None:
    """The results are identical, but the changed page is reported."""
    page = report / "index.html"
    page.write_text(page.read_text(encoding="utf-8").replace("PROVED", "REFUTED"), encoding="utf-8")
    (report / "report.tex").unlink()
    lines = hardsim("replay", report).clean().out.splitlines()
    assert lines == [
        "index.html: was changed after the report was written (by its SHA-256)",
        "report.tex: is missing",
        f"IDENTICAL  {report}",
    ]


def test_other_versions_are_named(hardsim: Any, report: Path) -> None:
    edited(report / "command.json", lambda kept: kept["versions"].update(numpy="0.1"))
    written(report / "inputs" / "more.txt", "")
    outcome = hardsim("replay", report)
    outcome.clean("numpy: 0.1 then, ", "inputs/more.txt: was added after the report was written", "IDENTICAL")


def rewritten(report: Path, *changes: tuple[str, str]) -> None:
    """Rewrite a report as another version of hardsim would, with some of its text changed.

    The text is edited because numbers of a parsed document would have fewer digits.
    """
    results = report / "results.json"
    text = results.read_text(encoding="utf-8")
    own = (f'"version": "{__version__}"', '"version": "0.0.1"'), (f'"schema_version": {SCHEMA}', '"schema_version": 1')
    for old, new in (*own, *changes):
        assert old in text
        text = text.replace(old, new, 1)
    written(results, text)

    def signed(kept: Any) -> None:
        kept["versions"]["hardsim"] = "0.0.1"
        kept["sha256"]["results.json"] = sha256(results.read_bytes()).hexdigest()

    edited(report / "command.json", signed)


def test_another_version_with_the_same_results_is_identical(hardsim: Any, report: Path) -> None:
    rewritten(report)
    *message, verdict = hardsim("replay", report).clean(code=0).out.splitlines()
    assert message == [f"hardsim: 0.0.1 then, {__version__} now", f"results.json: schema_version 1 then, {SCHEMA} now"]
    assert verdict == f"IDENTICAL  {report}: all results, with other versions"


def test_another_version_with_other_results_differs(hardsim: Any, report: Path) -> None:
    rewritten(report, ('"verdict": "PROVED"', '"verdict": "CERTIFIED"'))
    lines = hardsim("replay", report).clean(code=1).out.splitlines()
    assert lines[2:] == [f"DIFFERS  {report}: 1 value", '  results[0].verdict: "CERTIFIED" then, "PROVED" now']


def test_a_key_of_an_older_schema_alone_is_no_difference(hardsim: Any, report: Path) -> None:
    reach = '"reach": '
    rewritten(report, (reach, f'"trend": null, {reach}'))
    *message, verdict = hardsim("replay", report).clean(code=0).out.splitlines()
    assert message[2:] == ["results.json: keys of only one schema are not compared: trend"]
    assert verdict == f"IDENTICAL  {report}: all results, with other versions"


def test_other_keys_of_an_older_schema_are_compared(hardsim: Any, report: Path) -> None:
    """A key is compared if the present schema has it anywhere."""
    rewritten(report, ('"reach": ', '"not_run": 7, "reach": '), ('"verdict": "PROVED"', '"verdict": "CERTIFIED"'))
    lines = hardsim("replay", report).clean(code=1).out.splitlines()
    assert [line.partition(":")[0] for line in lines[2:]] == [
        f"DIFFERS  {report}", "  results[0].verdict", "  results[0].not_run"
    ]  # fmt: skip


def test_a_key_that_the_present_schema_lacks_is_a_difference_of_a_present_report(hardsim: Any, report: Path) -> None:
    edited(report / "results.json", lambda data: data["results"][0].update(trend=None))
    hardsim("replay", report).clean("results[0].trend: null then, nothing now", code=1)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["check", "inputs/since.ltl"],
        ["report"],
        ["report", "inputs/since.ltl", "--json", "/tmp/stolen"],
        ["report", "inputs/since.ltl", "-o", "/tmp/stolen"],
        ["report", "inputs/since.ltl", "--workers", "256"],
        ["report", "inputs/since.ltl", "--backend", "dask"],
        ["report", "inputs/since.ltl", "--max-n"],
        ["report", "inputs/since.ltl", "--max-n", "many"],
        ["report", "inputs/since.ltl", "--max-n", 3],
        ["report", "inputs/since.ltl", "--regime", "cold"],
        ["report", "inputs/since.ltl", "--tau", "__import__('os')"],
        ["report", "inputs/since.ltl", "; touch /tmp/stolen"],
        ["report", "since"],
        ["report", "inputs/../../since.ltl"],
        ["report", "inputs/link.ltl"],
        ["report", "inputs"],
        ["report", "inputs/missing.ltl"],
        ["report", "inputs/a\0b"],
        ["report", "/etc/passwd"],
        "report inputs/since.ltl",
    ],
    ids=repr,
)
def test_nothing_but_a_report_is_run(
    hardsim: Any, report: Path, monkeypatch: pytest.MonkeyPatch, arguments: object
) -> None:
    written(report.parent / "since.ltl", SINCE)
    (report / "inputs" / "link.ltl").symlink_to(report.parent / "since.ltl")
    edited(report / "command.json", lambda kept: kept.update(arguments=arguments))
    monkeypatch.setattr("hardsim.cli.replay.run", None)
    outcome = hardsim("replay", report).refused("error: ").unsaid("internal error")
    assert outcome.err.count("error: ") == 1


def test_what_is_no_report_is_refused(hardsim: Any, report: Path, tmp_path: Path) -> None:
    hardsim("replay").refused("DIR is required")
    hardsim("replay", tmp_path / "none").refused("not a directory that `hardsim report` wrote")
    hardsim("replay", tmp_path).refused("not a directory that `hardsim report` wrote")
    for name in ("command.json", "results.json"):
        for text in ("", "[", "[[1]]" if name == "command.json" else "nul", "\ud800"):
            before = (report / name).read_bytes()
            (report / name).write_bytes(text.encode("utf-8", "surrogatepass"))
            hardsim("replay", report).refused(name).unsaid("internal error")
            (report / name).write_bytes(before)
    (report / "results.json").unlink()
    hardsim("replay", report).refused("results.json", "no such file", "Make the report again")


def test_advice_is_about_reports(hardsim: Any, report: Path) -> None:
    wrong = '{"arguments": ["report", "inputs/since.ltl", "--max-n", "%s"], "schema_version": 1}'
    for text in ("{", '{"a": 1, "a": 2}', '{"a": NaN}', "[" * 100_000, wrong % "many", wrong % 0):
        written(report / "command.json", text)
        hardsim("replay", report).refused("command.json:", "with `hardsim report`").unsaid("compile")


def test_inputs_are_no_link(hardsim: Any, report: Path, tmp_path: Path) -> None:
    (report / "inputs").rename(tmp_path / "elsewhere")
    (report / "inputs").symlink_to(tmp_path / "elsewhere")
    hardsim("replay", report).refused("inputs/since.ltl is not a file among the inputs of the report")


def test_differences_have_places() -> None:
    assert list(differences({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]})) == []
    assert list(differences({"a": [1, 2], "b": 1}, {"a": [1, 3, 4], "c": 1})) == [
        ("a[1]", 2, 3), ("a[2]", MISSING, 4), ("b", 1, MISSING), ("c", MISSING, 1)
    ]  # fmt: skip
    # Numbers are compared with all their digits, and values of different types differ.
    assert len(list(differences(Decimal("0.10000000000000000001"), Decimal("0.1")))) == 1
    for one, other in ((True, 1), ("1", 1), (None, "null"), ("nothing", MISSING), ([], {})):
        assert list(differences(one, other)) == [("", one, other)]


def test_a_report_shows_the_word_on_which_answers_differ(
    hardsim: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without matplotlib too. Its identifiers are its own, and nothing is shown of a network that is right."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    hardsim("report", "since", "--regime", "none", "--max-n", "3", "-o", tmp_path / "wrong").exits(1)
    page = (tmp_path / "wrong" / "index.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 1
    picture = page[page.index("<svg") : page.index("</svg>")]
    assert "since.ltl: bc<" in picture
    assert "softmax answers wrongly" in picture
    assert re.findall(r' id="([^"]*)"', picture) == re.findall(r"url\(#([^)]*)\)", picture)[:1] == ["word0-unseen"]
    hardsim("report", "since", "--max-n", "3", "-o", tmp_path / "right").exits(0)
    assert "<svg" not in (tmp_path / "right" / "index.html").read_text(encoding="utf-8")


def test_errors_name_the_files_that_the_user_gave(
    hardsim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plain: None
) -> None:
    """And not the copies, of which there may be none any more."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    written(tmp_path / "mine" / "counts.ltl", "alphabet: a b\n#L[a] > #L[b]\n")
    written(tmp_path / "mine" / "since.ltl", SINCE)
    shutil.copytree(formulas_directory() / "networks" / "majority", tmp_path / "mine" / "majority")
    refused = (
        ("mine/counts.ltl", "--exponential", "fp16"),
        ("mine/since.ltl", "--counting", "sign", "--regime", "layer-norm"),
        ("mine/since.ltl", "--regime", "rounded"),
        ("mine/majority", "--exponential", "bf16"),
        ("mine/majority",),
    )
    for name, *options in refused:
        found = hardsim("report", name, "--max-n", "2", *options, "-o", "out").exits(2)
        assert name in found.err
        assert "inputs/" not in found.err
        assert not (tmp_path / "out").exists()
    files = "mine/counts.ltl", "mine/since.ltl"
    found = hardsim("report", *files, "--max-n", "2", "--regime", "layer-norm", "-o", "out").exits(2)
    assert "mine/since.ltl:" in found.err
    assert "mine/counts.ltl, regime layer-norm" in found.out
    assert "inputs/" not in found.out + found.err
    again = hardsim("replay", "out").exits(0, "IDENTICAL")
    assert [line.split(":")[0] for line in again.err.splitlines() if "error:" in line] == ["out/inputs/since.ltl"]


def test_results_whose_brackets_are_nested_deeply_have_keys() -> None:
    deep: Any = {"last": 1}
    for _ in range(10_000):
        deep = [{"inner": deep}, 1]
    assert _keys({"first": deep}) == {"first", "inner", "last"}
