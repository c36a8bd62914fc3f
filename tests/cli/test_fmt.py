"""Tests of `hardsim fmt`: printing, checking and rewriting files."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from hardsim.examples import example_file
from tests.cli.conftest import Cli, written

LOOSE = "alphabet: a b\n// why\n(a)  S b // here\n"
FORM = "alphabet: a b\n// why\na S b  // here\n"
DIFF = ["@@ -1,3 +1,3 @@", " alphabet: a b", " // why", "-(a)  S b // here", "+a S b  // here"]
PROGRAM = "alphabet: a b\nY := ▶[j<i,1]Q_a(j):0\n"


@pytest.fixture
def loose(tmp_path: Path) -> Path:
    return written(tmp_path / "loose.ltl", LOOSE)


def test_the_canonical_form_is_printed_and_the_file_left_alone(hardsim: Cli, loose: Path) -> None:
    assert hardsim("fmt", loose).clean().out == FORM
    assert loose.read_text() == LOOSE
    document = hardsim("fmt", loose, "--json", "-").clean()
    assert document.json["inputs"][0]["alphabet"] == ["a", "b"]
    diff = [f"--- {loose}", f"+++ {loose} (canonical)", *DIFF]
    expected = {"input": str(loose), "canonical": False, "line": 3, "written": False, "text": FORM, "diff": diff}
    assert document.result == expected


def test_a_comment_is_printed_as_it_is(hardsim: Cli, tmp_path: Path) -> None:
    tabbed = written(tmp_path / "x.ltl", "alphabet: a\nsource: a\tb\n// \u00e9 \u00a0 a\ttab\t\nF a\n")
    assert hardsim("fmt", tabbed).clean().out == "alphabet: a\nsource: a b\n// \u00e9 \u00a0 a tab\nF a\n"


def test_what_a_terminal_obeys_is_written_and_not_printed(hardsim: Cli, tmp_path: Path) -> None:
    path = written(tmp_path / "x.ltl", "alphabet: a\n// \x1b[31m\nF  a\n")
    hardsim("fmt", path).refused(
        "the control character (U+001B) in a comment", "--write rewrites the file and keeps it"
    )
    hardsim("fmt", "-w", path).clean()
    assert path.read_text() == "alphabet: a\n// \x1b[31m\nF a\n"
    hardsim("fmt", "--check", path).clean()


def test_a_shipped_name_is_printed_and_never_written(hardsim: Cli) -> None:
    before = example_file("since").read_bytes()
    assert hardsim("fmt", "since").clean().out == before.decode()
    hardsim("fmt", "-w", "since").refused("there is no file since", "hardsim examples since > since.ltl")
    assert example_file("since").read_bytes() == before


def test_check_says_which_files_would_change(hardsim: Cli, tmp_path: Path, loose: Path) -> None:
    good = written(tmp_path / "good.ltl", FORM)
    hardsim("fmt", "--check", good).clean()
    outcome = hardsim("fmt", "--check", tmp_path).clean(code=1)
    shown = [
        f"{loose} would be changed from line 3 on: a S b  // here",
        f"--- {loose}",
        f"+++ {loose} (canonical)",
        *DIFF,
        "Next: --write rewrites it:",
        f"hardsim fmt --write {loose}",
    ]
    assert outcome.out.splitlines() == shown
    assert hardsim("fmt", "--check", "--quiet", tmp_path).clean(code=1).out.splitlines() == shown[:1]
    assert loose.read_text() == LOOSE
    hardsim("fmt", "--check", "--format", "github", loose).exits(1, f"::error file={loose},line=3,col=1,")
    (first, _) = hardsim("fmt", "--check", "--json", "-", loose, good).exits(1).json["results"]
    assert (first["canonical"], first["line"]) == (False, 3)


def test_files_that_cannot_be_read_are_counted_apart(hardsim: Cli, tmp_path: Path, loose: Path) -> None:
    written(tmp_path / "good.ltl", FORM)
    written(tmp_path / "wrong.ltl", "alphabet: a b\na U b U a\n")
    counted = "2 results: 1 canonical, 1 would be changed; 1 file could not be read"
    assert hardsim("fmt", "--check", tmp_path).exits(1).out.splitlines()[-1] == counted
    report = hardsim("fmt", "--check", "--format", "junit", tmp_path).exits(1).out
    assert counted in report
    assert 'type="mismatch"' in report
    assert report.count('type="bad input"') == 1


def test_a_directory_stands_for_every_file_that_has_a_canonical_form(hardsim: Cli, tmp_path: Path, loose: Path) -> None:
    others = [written(tmp_path / name, text) for name, text in (
        ("loose.cr", 'A=#"a">1\n'), ("loose.re", "alphabet: a b\n(a|b)*\n"), ("loose.srasp", PROGRAM),
    )]  # fmt: skip
    written(tmp_path / "x.ahat.json", "{}")
    outcome = hardsim("fmt", "--check", tmp_path).clean(code=1)
    names = sorted(map(str, [loose, *others]))
    assert [line.split()[0] for line in outcome.out.splitlines() if "would be changed" in line] == names
    assert [line[4:] for line in outcome.out.splitlines() if line.startswith("--- ")] == names
    assert outcome.out.endswith(f"Next: --write rewrites them:\nhardsim fmt --write {' '.join(names)}\n")


def test_what_is_missing_at_the_end_is_a_change(hardsim: Cli, tmp_path: Path) -> None:
    hardsim("fmt", "--check", written(tmp_path / "x.ltl", "alphabet: a\na")).exits(1, "from line 2 on: a")
    hardsim("fmt", "--check", written(tmp_path / "y.ltl", "alphabet: a\na\n\n")).exits(1, "from line 3 on")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"alphabet: a b\n(a)  S b", ["-(a)  S b", "\\ No newline at end of file", "+a S b"]),
        (b"alphabet: a b\r\n(a)  S b\r\n", ["-(a)  S b", "+a S b"]),
        (b"alphabet: a b\r\na  S b\n", ["-a  S b", "+a S b\\r"]),
        (b"\xef\xbb\xbfalphabet: a b\na S b\n", ["-\\ufeffalphabet: a b", "+alphabet: a b", " a S b"]),
        (b"alphabet: a b\n// \x1b[31m\xe2\x80\xae\na  S b\n", [" // \\x1b[31m\\u202e", "-a  S b", "+a S b"]),
        (b"alphabet: a b\n--  a\n", None),
    ],
)
def test_the_difference_is_shown_line_by_line(
    hardsim: Cli, tmp_path: Path, before: bytes, after: list[str] | None
) -> None:
    path = tmp_path / "x.ltl"
    path.write_bytes(before)
    outcome = hardsim("fmt", "--check", path)
    if after is None:  # a mistake has no difference to show
        outcome.refused().unsaid("@@")
        return
    lines = outcome.clean(code=1).out.splitlines()
    assert [line for line in lines[3:-2] if not line.startswith(("@@", " alphabet"))] == after
    assert path.read_bytes() == before


def test_patch_makes_of_the_difference_what_write_makes(hardsim: Cli, tmp_path: Path) -> None:
    patch = shutil.which("patch")
    if patch is None:
        pytest.skip("the program `patch` is not installed")
    text = "".join(f"// {number}\n" for number in range(20)).join(["alphabet: a b\n", "a  S\tb\n"])
    path = written(tmp_path / "x.ltl", text)
    outcome = hardsim("fmt", "--check", path).exits(1)
    form = hardsim("fmt", path).clean().out
    # The printed difference shows a tab as \t; the file needs the tab.
    applied = outcome.out.replace("\\t", "\t").encode()
    subprocess.run([patch, "-s", str(path)], input=applied, check=True, capture_output=True)
    assert path.read_text() == form


def test_a_command_that_can_be_copied(hardsim: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = ["-x.ltl", "a b.ltl", "$(c).ltl", f"{'long' * 30}.ltl"]
    for name in names:
        written(tmp_path / name, LOOSE)
    command = hardsim("fmt", "--check", "--", *names).exits(1).out.splitlines()[-1]
    assert shlex.split(command) == ["hardsim", "fmt", "--write", "--", *names]
    hardsim(*shlex.split(command)[1:]).clean()
    hardsim("fmt", "--check", "--", *names).clean()


@pytest.mark.parametrize("form", ["github", "junit", "sarif"])
def test_other_programs_are_shown_the_difference(hardsim: Cli, loose: Path, form: str) -> None:
    text = hardsim("fmt", "--check", loose, "--format", form).exits(1).out
    for line in (*DIFF, f"hardsim fmt --write {loose}"):
        assert line in text


def test_write_rewrites_what_changes_and_nothing_else(hardsim: Cli, tmp_path: Path, loose: Path) -> None:
    good = written(tmp_path / "good.ltl", FORM)
    os.utime(good, (1, 1))
    loose.chmod(0o640)
    assert hardsim("fmt", "--write", tmp_path).clean().out == f"{loose} was rewritten\n"
    assert (loose.read_text(), loose.stat().st_mode & 0o777) == (FORM, 0o640)
    assert good.stat().st_mtime == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["good.ltl", "loose.ltl"]
    hardsim("fmt", "-w", "--quiet", loose).clean()


def test_line_ends_of_windows_stay(hardsim: Cli, tmp_path: Path) -> None:
    path = tmp_path / "windows.ltl"
    path.write_bytes(LOOSE.replace("\n", "\r\n").encode())
    assert hardsim("fmt", path).clean().out == FORM
    hardsim("fmt", "-w", path).clean()
    assert path.read_bytes() == FORM.replace("\n", "\r\n").encode()
    hardsim("fmt", "--check", path).clean()


def test_a_wrong_file_is_named_and_left_alone_and_the_others_are_done(hardsim: Cli, tmp_path: Path) -> None:
    bad = written(tmp_path / "a.ltl", "alphabet: a\na &\n")
    good = written(tmp_path / "b.srasp", PROGRAM)
    hardsim("fmt", "-w", bad, good).exits(2, "was rewritten").says(f"{bad}:2:4: error: missing operand after &")
    assert bad.read_text() == "alphabet: a\na &\n"
    assert good.read_text() == "alphabet: a b\nY := rightmost_j[j < i, 1] Q_a(j) : 0\n"
    hardsim("fmt", "--check", bad).refused("missing operand")


def test_examples_are_not_judged(hardsim: Cli, tmp_path: Path) -> None:
    text = "alphabet: a b\naccept: b\na\n"
    assert hardsim("fmt", written(tmp_path / "x.ltl", text)).clean().out == text


def test_what_cannot_be_formatted_is_refused(hardsim: Cli, tmp_path: Path, loose: Path) -> None:
    hardsim("fmt").refused("nothing to read: give a file", "hardsim fmt mine.ltl").unsaid("-e")
    hardsim("fmt", "--check", "-w", loose).refused("--check changes no file, but --write does")
    hardsim("fmt", written(tmp_path / "x.ahat.json", "{}")).refused(
        "has no canonical form", ".ltl, .srasp, .re, .cr or .spec"
    )
    (tmp_path / "empty").mkdir()
    hardsim("fmt", tmp_path / "empty").refused("has no *.ltl")
    written(tmp_path / "empty" / "x.ahat.json", "{}")
    hardsim("fmt", tmp_path / "empty").refused("has no *.ltl or *.srasp or *.re or *.cr or *.spec file")
    hardsim("fmt", tmp_path / "nowhere.ltl").refused("no such file")
    hardsim("fmt", loose, "--json", loose).refused("would overwrite the input")
    assert loose.read_text() == LOOSE


def test_a_text_that_would_say_something_else_is_neither_printed_nor_written(
    hardsim: Cli, loose: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hardsim.lang.lines.spaced", lambda *_: False)
    monkeypatch.setattr("hardsim.lang.canonical.spaced", lambda *_: False)
    for options in ([], ["--write"], ["--check"]):
        outcome = hardsim("fmt", *options, loose)
        assert (outcome.code, outcome.out) == (4, "")
        outcome.says("would not have the same meaning as the file", "Please report the command line")
    assert loose.read_text() == LOOSE


def test_what_is_shipped_is_in_its_canonical_form(hardsim: Cli) -> None:
    hardsim("fmt", "--check", Path(__file__).resolve().parents[2] / "formulas").clean()


def test_a_directory_that_cannot_be_written(hardsim: Cli, loose: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("hardsim.files.Draft.commit", full)
    hardsim("fmt", "-w", loose).refused("cannot be written (No space left on device)", "The file was not changed.")
    assert loose.read_text() == LOOSE
