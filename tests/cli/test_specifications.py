"""Tests of specifications on the command line; this network accepts if at least half of the symbols are a."""

from pathlib import Path

import pytest

from tests.cli.conftest import Cli, interrupt, written
from tests.support.external import hooked_folder

TIE = -0.4990234375  # the float -511/1024: a share of 1/2 is above it, and up to 511 symbols nothing less is
MOST = "// most are a\nnetwork: net\nalphabet: a b\noutput 0: #L[a] >= #L[b]\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    hooked_folder(tmp_path / "net", TIE)
    hooked_folder(tmp_path / "two", TIE, outputs=2)
    written(tmp_path / "most.spec", MOST)
    written(tmp_path / "more.spec", MOST.replace(">=", ">"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_an_ambiguous_line_is_noted(hardsim: Cli, here: Path) -> None:
    written(here / "arrows.spec", MOST.replace("#L[a] >= #L[b]", "a -> b <-> a"))
    message = "note: arrows.spec: -> binds tighter than <->: a -> b <-> c is (a -> b) <-> c"
    hardsim("check", "arrows.spec", "--max-n", "2").says(message)
    hardsim("check", "net", "--against", "arrows.spec", "--max-n", "2").says(message)
    assert "note: arrows.spec" not in hardsim("check", "most.spec", "--max-n", "2").err


@pytest.mark.usefixtures("here")
def test_check_judges_the_network_that_it_names(hardsim: Cli) -> None:
    hardsim("check", "most.spec").exits(
        0,
        "PROVED most.spec checked against most.spec: right on all 510 judged words of at most 8 symbols",
        "file says most are a",
    )
    hardsim("check", "more.spec").exits(
        1, "REFUTED", "The shortest mismatching word, on a line of its own: ab", "expected: reject"
    )
    found = hardsim("check", "most.spec", "--max-n", "2", "--json", "-").json
    assert [(one["name"], one["alphabet"]) for one in found["inputs"]] == [("most.spec", ["a", "b"])]
    assert (found["results"][0]["kind"], found["results"][0]["against"]) == ("network", "most.spec")


def test_a_folder_of_specifications_is_checked_like_formulas(hardsim: Cli, here: Path) -> None:
    found = hardsim("check", here, "--max-n", "4")
    assert found.code == 1
    found.prints("most.spec", "more.spec", "2 results: 1 PROVED, 1 REFUTED")


@pytest.mark.usefixtures("here")
def test_what_it_names_is_relative_to_it(hardsim: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    hardsim("check", "../most.spec", "--max-n", "2").clean("PROVED ../most.spec")


@pytest.mark.usefixtures("here")
def test_other_networks_are_checked_against_it(hardsim: Cli) -> None:
    hardsim("check", "net", "--against", "most.spec", "--max-n", "4").clean(
        "PROVED net checked against most.spec: right on all 30 judged words of at most 4 symbols"
    )
    hardsim("check", "net", "--against", "more.spec", "--max-n", "4").exits(1, "REFUTED")
    hardsim("prove", "net", "--against", "most.spec", "--max-n", "4").exits(0, "PROVED")
    hardsim("eval", "net", "ab", "--against", "more.spec").exits(1, "answer accept, WRONG")
    hardsim("check", "-e", "#L[a] + 1 > #L[b]", "--alphabet", "b a", "--against", "most.spec", "--max-n", "4").exits(
        0, "PROVED", "checked against most.spec"
    )
    hardsim("check", "most.spec", "--against", "more.spec").refused(
        "most.spec already specifies what its network should compute", "name the network in place of the specification"
    )


@pytest.mark.usefixtures("here")
def test_a_formula_does_not_say_which_of_several_outputs(hardsim: Cli, tmp_path: Path) -> None:
    formula = written(tmp_path / "most.ltl", "alphabet: a b\n#L[a] >= #L[b]\n")
    hardsim("check", "two", "--against", formula).refused("has 2 outputs", "`output NAME:`", "in a .spec file")
    written(
        tmp_path / "two.spec", "alphabet: a b\nat: last\ndecide: above 0\noutput 0: #L[a] >= #L[b]\noutput 1: false\n"
    )
    hardsim("check", "two", "--against", "two.spec", "--max-n", "4").clean("PROVED two checked against two.spec")


@pytest.mark.usefixtures("here")
def test_other_commands_take_it(hardsim: Cli) -> None:
    hardsim("show", "most.spec").clean("TransformerLens", "alphabet a b", "network net")
    hardsim("heads", "most.spec", "--max-n", "2").clean("uniform")
    hardsim("prove", "most.spec", "--max-n", "3").exits(0, "PROVED")
    hardsim("eval", "most.spec", "ab", "b").clean("answer accept, as expected", "answer reject, as expected")
    hardsim("eval", "more.spec", "ab").exits(1, "answer accept, WRONG")


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("words", "most.spec"), "this command needs hard attention"),
        (("bound", "most.spec"), "this command needs hard attention"),
        (("compile", "most.spec", "-o", "x.json"), "this command needs hard attention"),
        (("equiv", "most.spec", "since"), "a file that says which words are accepted is needed here"),
        (("verify", "most.spec"), "not valid JSON"),
        (("check", "most.spec", "--pin"), "is not a formula or program"),
        (("check", "most.spec", "--beta", "4"), "--beta does not apply"),
        (("check", "most.spec", "--dialect", "weak-next"), "--dialect is for formulas, programs and expressions"),
        (("check", "most.spec", "--alphabet", "a b"), "--alphabet is for formulas, programs and expressions"),
        (("check", "none.spec"), "no such file"),
        (("check", "most.spec", "--max-n", "13"), "words have at most 12 symbols, not 13"),
    ],
)
def test_the_rest_is_refused(hardsim: Cli, command: tuple[str, ...], message: str) -> None:
    hardsim(*command).refused(message)


@pytest.mark.usefixtures("here")
def test_a_mistake_is_reported_with_its_place(hardsim: Cli, tmp_path: Path) -> None:
    written(tmp_path / "x.spec", MOST.replace("#L[b]", "#L[c]"))
    found = hardsim("check", "x.spec").refused("unknown symbol or name 'c'", "a symbol of the alphabet (a b)")
    column = MOST.splitlines()[3].index("b]")
    assert found.err.startswith(f"x.spec:4:{column + 1}: error:")
    assert found.err.splitlines()[2].index("^") == 2 + column  # the quoted line is indented by two
    written(tmp_path / "y.spec", MOST.replace("network: net\n", ""))
    hardsim("check", "y.spec").refused("y.spec:2:1: error: missing network", "hardsim check NETWORK --against y.spec")
    hardsim("check", "net", "--against", "y.spec", "--max-n", "2").clean("PROVED")


def test_the_table_of_positions_ends_sooner_where_more_is_read(hardsim: Cli, here: Path) -> None:
    written(here / "pad.spec", "network: net\nalphabet: a b\ninput: pad * pad\noutput 0: #[a] > #[b] + 2\n")
    # With two pads, at least half of the tokens are a if #a >= #b + 2: the specification is wrong on aa.
    hardsim("check", "pad.spec", "--max-n", "11").refused("words have at most 10 symbols, not 11")
    hardsim("check", "pad.spec", "--max-n", "2").exits(1, "aa")


@pytest.mark.usefixtures("here")
def test_fmt_sets_its_blanks(hardsim: Cli, tmp_path: Path) -> None:
    text = "//  t\nnetwork:   my  net\ntokens:  a   b\n\n\n\n// c\noutput  a:1:   #L[a]  >=  #L[b]\nassume: /a  b/\n"
    path = written(tmp_path / "x.spec", text)
    once = "//  t\nnetwork: my  net\ntokens: a b\n\n// c\noutput a:1: #L[a] >= #L[b]\nassume: /a b/\n"
    assert hardsim("fmt", path).clean().out == once
    hardsim("fmt", "--check", path).exits(1, "would be changed from line 2 on: network: my  net")
    hardsim("fmt", "--write", path).clean()
    assert path.read_text(encoding="utf-8") == once
    hardsim("fmt", "--check", path, "most.spec").clean()
    hardsim("fmt", written(tmp_path / "y.spec", "at: last\n")).refused("no line states what the outputs should be")


def test_a_run_is_resumed_only_if_nothing_was_changed(
    hardsim: Cli, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(
        here / "p.srasp",
        "alphabet: a b\nas(i) := psum_j[j <= i] (Q_a(j) ? 2 : 0)\nm(i) := as(i) >= pos(i)\noutput: m\n",
    )
    written(here / "p.spec", "network: net\nalphabet: a b\nprogram: p.srasp\n")
    monkeypatch.setattr("hardsim.campaign.checkpoint.INTERVAL", 0.0)
    with monkeypatch.context() as patch:
        interrupt(patch, "hardsim.campaign.judges.NetworkJudge.tally", after=3)
        hardsim("check", "p.spec", "--resume", "kept").exits(130, "PARTIAL")
    vocabulary, program = here / "net" / "vocab.json", here / "p.srasp"
    for path in (vocabulary, program):
        before = path.read_text(encoding="utf-8")
        path.write_text(f"{before}\n", encoding="utf-8")
        hardsim("check", "p.spec", "--resume", "kept").refused("was changed since")
        path.write_text(before, encoding="utf-8")
    hardsim("check", "p.spec", "--resume", "kept").exits(0, "PROVED")


@pytest.mark.usefixtures("here")
def test_workers_find_the_same(hardsim: Cli) -> None:
    alone, two = (
        hardsim("check", "more.spec", "--max-n", "6", "--workers", count, "--json", "-").json["results"]
        for count in ("1", "2")
    )
    assert alone == two


@pytest.mark.parametrize("path", ["net/config.json", "net/model.safetensors", "net/vocab.json", "p.srasp", "p.spec"])
def test_nothing_is_written_over_what_is_read(hardsim: Cli, here: Path, path: str) -> None:
    written(here / "p.srasp", "alphabet: a b\nmost(i) := psum_j[j <= i] (Q_a(j) ? 2 : 0) >= pos(i)\noutput: most\n")
    written(here / "p.spec", "network: net\nalphabet: a b\nprogram: p.srasp\n")
    before = (here / path).read_bytes()
    for arguments in (
        ("check", "p.spec"), ("check", "net", "--against", "p.spec"), ("prove", "p.spec"), ("heads", "p.spec"),
        ("eval", "p.spec", "a"), ("show", "p.spec"),
    ):  # fmt: skip
        hardsim(*arguments, "--json", path).refused("would overwrite the input")
    (here / "net" / "config.json").write_text("{", encoding="utf-8")
    hardsim("check", "p.spec", "--json", "net/vocab.json").refused("would overwrite the input")
    assert path == "net/config.json" or (here / path).read_bytes() == before


@pytest.mark.usefixtures("here")
def test_other_files_beside_a_network_are_written_again(hardsim: Cli) -> None:
    for _ in range(2):
        hardsim("check", "most.spec", "--max-n", "2", "--json", "net/report.json").clean("PROVED")
