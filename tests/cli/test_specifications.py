"""Tests of specifications on the command line; this network accepts if at least half of the symbols are a."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardsim.reading.network_json import network_json
from tests.cli.conftest import Cli, interrupt, written
from tests.support.external import exact, hooked_folder, mean_of_a
from tests.support.model import Readout

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
    hardsim("check", "two", "--against", formula).refused("has 2 outputs", "`hardsim new two`", "`accept: NAME`")
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
        (("equiv", "none.spec", "since"), "none.spec: no such file"),
        (("verify", "most.spec"), "most.spec:1:1: error: this is not JSON"),
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
def test_equiv_takes_no_specification(hardsim: Cli) -> None:
    written(Path("alone.spec"), "alphabet: a b\noutput accept: O a\n")  # it names no network
    for name in ("most.spec", "alone.spec"):
        for files in (("since", name), (name, "since")):
            found = hardsim("equiv", *files).exits(2)
            assert (found.out, found.err) == (
                "",
                f"error: {name} is a specification of a network, and equiv takes none: a file that says by itself "
                "which words are accepted is needed here\n"
                "  Name a formula (.ltl), a program (.srasp, .cr), a regular expression (.re) or an automaton (.dot, "
                ".jff).\n",
            )
    # A network without a specification is named as what it is.
    hardsim("equiv", "net", "since").refused("net is an external network: a file that says by itself")


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


# ---- classifiers: the words that are accepted ----


def classifier(path: Path, *names: str, at: Any = "last") -> Path:
    """Write a network over a and b with two outputs, of which the second is greater if at least half of the symbols
    are a; return the path."""
    network = replace(mean_of_a(), outputs=names, readout=Readout(at=at, decide="argmax"))
    bias = exact([[0, Fraction(TIE)]])[0]
    network = replace(network, unembedding=np.array([[0.0, 0.0], [0.0, 1.0]]), unembedding_bias=bias)
    return written(path, json.dumps(network_json(network)))


@pytest.mark.parametrize("language", ["#L[a] >= #L[b]", "@half.ltl", "@first.ltl", "@half.cr"])
def test_a_language_says_which_words_a_classifier_accepts(hardsim: Cli, tmp_path: Path, language: str) -> None:
    """The formula that is read at the first position, with counts to the right, is the same language."""
    classifier(tmp_path / "net.json", "no", "1")
    written(tmp_path / "half.ltl", "#L[a] >= #L[b]\n")
    written(tmp_path / "first.ltl", "alphabet: b a\nat: first\n#R[a] >= #R[b]\n")
    written(tmp_path / "half.cr", 'alphabet: a b\nhalf = #"a" >= #"b"\n')
    spec = "network: net.json\naccept: 1\nlanguage: {}\n"
    right = written(tmp_path / "right.spec", spec.format(language))
    hardsim("check", right, "--max-n", "6").clean(f"PROVED {right}")
    wrong = written(tmp_path / "wrong.spec", spec.format(language).replace("accept: 1", "accept: no"))
    hardsim("check", wrong, "--max-n", "6").exits(1, "REFUTED")


@pytest.mark.parametrize("line", ["language: /[ab]*a|(bb)*/", "output no: /(a|b)*a/\noutput 1: /(a|b)*b/"])
def test_expressions_say_what_an_output_should_be(hardsim: Cli, tmp_path: Path, line: str) -> None:
    """By hand: the last symbol is not what the network answers, and ba is the first word in which both are wrong."""
    classifier(tmp_path / "net.json", "no", "1")
    head = "network: net.json\n" + "accept: 1\n" * line.startswith("language")
    found = hardsim("check", written(tmp_path / "x.spec", f"{head}{line}\n"), "--max-n", "4")
    # Half of the symbols of a, ab, ba and so on are a: the first line is wrong on ab and bb, the others on a and b.
    word = "ab" if line.startswith("language") else "a"
    assert found.exits(1).out.splitlines().count(word) == 1


def test_the_names_of_outputs_may_say_which_one_accepts(hardsim: Cli, tmp_path: Path) -> None:
    half = written(tmp_path / "half.ltl", "alphabet: a b\n#L[a] >= #L[b]\n")
    ends = written(tmp_path / "ends.re", "alphabet: a b\n[ab]*a\n")
    for number, names in enumerate((("reject", "accept"), ("False", "True"), ("NEGATIVE", "POSITIVE"))):
        net = classifier(tmp_path / f"{number}.json", *names)
        hardsim("check", net, "--against", half, "--max-n", "6").clean(f"PROVED {net} checked against {half}")
        hardsim("check", net, "--against", ends, "--max-n", "6").exits(1, "REFUTED")
        hardsim("prove", net, "--against", half, "--max-n", "6").exits(0, "PROVED")
        spec = written(tmp_path / f"{number}.spec", f"network: {number}.json\nlanguage: @half.ltl\n")
        hardsim("prove", spec, "--max-n", "6").exits(0, "PROVED")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("accept: 1\n", ["accept: names the output", "a line language: /EXPRESSION/"]),
        ("language: /a*/\n", ["it is not known which output says yes", "a line accept: with one of no 1"]),
        ("accept: 2\nlanguage: /a*/\n", ["the network has no output 2", "a line accept: with one of no 1"]),
        ("language: /a*/\nnext: /a*/\n", ["language: defines all outputs"]),
        ("language: /a*/\noutput 1: a\n", ["language: defines all outputs"]),
        ("accept: 1\nlanguage: @\n", ["language: names nothing", "a path, relative to this file"]),
        ("accept: 1\nlanguage: @none.ltl\n", ["none.ltl", "no such file"]),
        ("accept: 1\nlanguage: @x.spec\n", ["is no file that says which words are accepted"]),
        ("accept: 1\nlanguage: @other.ltl\n", ["have different alphabets"]),
        ("accept: 1\nlanguage: /a*\n", ["language: is not followed by a regular expression"]),
        ("accept: 1\nlanguage: /c*/\n", ["'c'"]),
        (
            "decide: value within 1\naccept: 1\nlanguage: /a*/\n",
            ["compares numbers", "decide: above X"],
        ),
    ],
)
def test_mistakes_about_languages(hardsim: Cli, tmp_path: Path, lines: str, said: list[str]) -> None:
    classifier(tmp_path / "net.json", "no", "1")
    written(tmp_path / "other.ltl", "alphabet: a c\nO a\n")
    hardsim("check", written(tmp_path / "x.spec", f"network: net.json\n{lines}")).refused("x.spec:", *said)


def test_a_language_of_prefixes(hardsim: Cli, tmp_path: Path) -> None:
    """A network that is read at each symbol is judged by the prefix that ends there."""
    classifier(tmp_path / "net.json", "no", "1", at="each")
    written(tmp_path / "half.ltl", "#L[a] >= #L[b]\n")
    for language in ("#L[a] >= #L[b]", "@half.ltl"):
        spec = written(tmp_path / "x.spec", f"network: net.json\naccept: 1\nlanguage: {language}\n")
        hardsim("check", spec, "--max-n", "5").clean("PROVED")
    spec = written(tmp_path / "x.spec", "network: net.json\naccept: 1\nlanguage: /a*/\n")
    assert "ab" in hardsim("check", spec, "--max-n", "5").exits(1).out.splitlines()


def test_compiled_formulas_take_a_language(hardsim: Cli, tmp_path: Path) -> None:
    spec = written(tmp_path / "x.spec", "language: /[abc]*b a*/\n")
    hardsim("check", "since", "--against", spec, "--max-n", "5").clean("PROVED")
    spec = written(tmp_path / "y.spec", "accept: 1\nlanguage: /[abc]*/\n")
    hardsim("check", "since", "--against", spec).refused(
        "accept: is for external networks", "expected: only lines that say which words"
    )
