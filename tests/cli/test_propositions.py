"""Tests of the commands on formulas over propositions: words as sets, output, and refusals."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import written

REQUESTS = "// every request is acknowledged\nprops: req ack\nat: first\naccept: {req}{ack}\nreject: {ack}{req}\n"
REQUESTS += "G(req -> F ack)\n"


@pytest.fixture
def requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A formula file over propositions, in the working directory."""
    monkeypatch.chdir(tmp_path)
    Path("requests.ltl").write_text(REQUESTS, encoding="utf-8")
    return "requests.ltl"


def test_words_are_printed_as_sets(hardsim: Any, requests: str) -> None:
    found = hardsim("words", requests, "--max-n", "2")
    assert found.code == 0
    # Words that end in an unanswered request are rejected, all others are accepted.
    expected = ["{}", "{ack}", "{req,ack}"]
    for first in ("{}", "{req}", "{ack}", "{req,ack}"):
        seconds = ("{ack}", "{req,ack}") if first == "{req}" else ("{}", "{ack}", "{req,ack}")
        expected += [first + second for second in seconds]
    assert found.out.splitlines() == expected


def test_words_of_eval_are_sets_in_any_order(hardsim: Any, requests: str) -> None:
    found = hardsim("eval", requests, "{ack,req}{}", "{req} {}", "--json", "-")
    assert [(one["word"], one["oracle"]) for one in found.result["words"]] == [
        (["{req,ack}", "{}"], True),
        (["{req}", "{}"], False),
    ]


@pytest.mark.parametrize("command", ["check", "prove"])
def test_check_and_prove_say_that_it_is_proved(hardsim: Any, requests: str, command: str) -> None:
    found = hardsim(command, requests, "--max-n", "4").clean()
    assert found.out.startswith(f"PROVED  {requests}")
    assert "accepted  {}   {}{ack}   {}{req}{ack}" in " ".join(found.out.split("\n")).replace("  ", "  ")
    for regime in ("position", "temperature"):
        assert hardsim(command, requests, "--max-n", "3", "--regime", regime).code == 0


def test_the_shown_command_is_quoted_for_a_shell_and_says_the_same(hardsim: Any) -> None:
    found = hardsim("check", "-e", "O(p & H q)", "--props", "p q", "--regime", "none", "--max-n", "12")
    assert found.code == 1
    (line,) = [line for line in found.out.splitlines() if line.startswith("hardsim trace")]
    assert hardsim(*shlex.split(line)[1:]).code == 1
    assert "'p q'" in line
    assert "'{" in line


def test_a_certificate_over_propositions_is_checked(hardsim: Any, requests: str) -> None:
    assert hardsim("prove", requests, "--max-n", "6", "--certificate", "r.cert.json").code == 0
    assert hardsim("verify", "r.cert.json", "--formula", requests).clean().out.startswith("VALID")


def test_a_model_that_is_written_reads_sets(hardsim: Any, requests: str) -> None:
    for name, options in (("r.model.json", ()), ("r.ahat.json", ("--hard",))):
        assert hardsim("compile", requests, "-o", name, *options).code == 0
        assert hardsim("eval", name, "{ack,req}").code == 0
    shown = hardsim("show", "r.ahat.json").out
    assert "[req]" in shown
    assert "req holds" in shown


def test_a_word_is_pinned_as_sets(hardsim: Any, tmp_path: Path) -> None:
    path = tmp_path / "f.ltl"
    path.write_text("props: p q\nO(p & H q)\n", encoding="utf-8")
    assert hardsim("check", str(path), "--regime", "none", "--max-n", "12", "--pin").code == 1
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "props: p q"
    assert lines[1].startswith(("accept: {", "reject: {"))
    assert lines[2] == "O(p & H q)"


def test_a_bare_formula_is_read_with_its_names_as_propositions(hardsim: Any, tmp_path: Path) -> None:
    path = tmp_path / "corpus.ltl"
    path.write_text("O(req & H ack)\n", encoding="utf-8")
    auto = (str(path), "--props", "auto", "--max-n")
    words = ["{req,ack}"]
    assert hardsim("words", *auto, "1").out.splitlines() == words
    refused = hardsim("check", *auto, "12", "--regime", "none")
    (line,) = [line for line in refused.out.splitlines() if line.startswith("hardsim trace")]
    assert "--props auto" in line
    assert hardsim(*shlex.split(line)[1:]).code == refused.code == 1
    assert hardsim("check", *auto, "12", "--regime", "none", "--pin").code == 1
    example, formula = path.read_text(encoding="utf-8").splitlines()
    assert example.startswith(("accept: {", "reject: {"))
    assert formula == "O(req & H ack)"
    assert hardsim("words", *auto, "1").out.splitlines() == words


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize(
    ("given", "symbols"), [(("--props", "P1 P2"), 4), (("--props", "auto"), 4), (("--alphabet", "P1 P2 x"), 3)]
)
def test_a_file_without_a_header_is_read_over_what_is_given(
    hardsim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: tuple[str, str], symbols: int
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("corpus.ltl").write_text("G(P1 -> F P2)\n", encoding="utf-8")
    word = "{P1}{}{P2}" if given[0] == "--props" else "P1 x P2"
    placed = ("--at", "first", *given)
    for command, *more in (
        ("check", "--max-n", "3"), ("prove", "--max-n", "3"), ("words", "--max-n", "2"), ("eval", word),
        ("bound", "--max-n", "2"), ("show",), ("trace", word), ("compile", "-o", "c.model.json"),
        ("export", "--to", "safetensors", "-o", "weights"), ("precision", "--dtype", "float32", "--max-n", "2"),
    ):  # fmt: skip
        arguments = [command, "corpus.ltl", *more]
        assert hardsim(*arguments, *placed).code == 0, arguments
    found = hardsim("check", "corpus.ltl", *placed, "--max-n", "12", "--regime", "none", "--json", "-")
    assert (found.code, len(json.loads(found.out)["inputs"][0]["alphabet"])) == (1, symbols)
    # The printed command has the same options.
    refused = hardsim("check", "corpus.ltl", *placed, "--max-n", "12", "--regime", "none")
    (line,) = [line for line in refused.out.splitlines() if line.startswith("hardsim trace")]
    assert shlex.join(given) in line
    assert hardsim(*shlex.split(line)[1:]).code == 1


def test_a_formula_alone_is_about_its_own_symbols(hardsim: Any) -> None:
    found = hardsim("check", "-e", "a S b", "--max-n", "3", "--json", "-")
    document = json.loads(found.out)
    assert (found.code, document["inputs"][0]["alphabet"]) == (0, ["a", "b"])
    message = "no alphabet was given, so it consists of the symbols of the formula: a b"
    assert document["notes"][0]["message"].startswith(message)
    assert message in " ".join(found.err.split())
    for command in ("eval", "trace"):
        refused = hardsim(command, "-e", "a S b", "abc")
        assert refused.code == 2
        assert "<word>:1:3: error: 'c' is not a symbol" in refused.err
        assert "the alphabet was taken from the formula" in refused.err
    wrong = hardsim("check", "-e", "a S b", "--regime", "none", "--max-n", "12")
    (line,) = [line for line in wrong.out.splitlines() if line.startswith("hardsim trace")]
    assert "--alphabet 'a b'" in line
    assert hardsim("check", "-e", "a S b", "--against", "since", "--max-n", "3").code == 2


FILE = "G(req -> F ack)\n"


@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        (REQUESTS, ["{req}{akc}"], ["<word>:1:7: error: unknown proposition 'akc'", "       ^^^", "mean ack?"]),
        (REQUESTS, ["req", "ack"], ["<word 1>:1:1: error: 'req' is not a set", "shells expand braces"]),
        (FILE, ["{req}"], ["f.ltl:1:1: error: missing alphabet", "--props auto reads the names"]),
        (
            "props: p q\nat-most-one: p q\naccept: {p,q}\nF p\n",
            ["{p}"],
            ["f.ltl:3:9: error: {p,q} violates at-most-one: p q", "          ^^^^^"],
        ),
    ],
)  # fmt: skip
def test_errors_are_on_stderr_alone(
    hardsim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, arguments: list[str], said: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f.ltl").write_text(text, encoding="utf-8")
    found = hardsim("eval", "f.ltl", *arguments)
    assert (found.code, found.out) == (2, "")
    assert [part for part in said if part not in found.err] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-e", "F p"], "it names the one symbol 'p' Give all symbols with --alphabet"),
        (["-e", "true"], "it names no symbol"),
        (["-e", "F p", "--alphabet", "a b", "--props", "p q"], "--alphabet gives symbols, --props gives propositions"),
        (["-e", "F p", "--props", "p p"], "the proposition p is given twice"),
        (["-e", "F p", "--props", ""], "there are no propositions"),
        (["-e", "F 2p", "--props", "auto"], "no proposition is mentioned here"),
        (["since", "--props", "p q"], "since:2:11: error: --props gives propositions, and this file has symbols"),
        (["dyck2", "--props", "p q"], "--props is for formulas and regular expressions"),
    ],
)
def test_options_that_contradict_each_other_are_refused(hardsim: Any, arguments: list[str], said: str) -> None:
    found = hardsim("check", *arguments)
    assert (found.code, found.out) == (2, "")
    assert said in " ".join(found.err.split())


EDGE = "i -> 1; 1 -> 2 [label=p]; 2 [shape=doublecircle]"


@pytest.mark.parametrize(
    ("option", "given", "said"),
    [
        ("--props", "p", "error: --props gives propositions, and this file has symbols|Leave out --props."),
        ("--props", "p r", "error: the propositions are also given as p r|Give the alphabet in one of the two places"),
        ("--alphabet", "p", "error: --alphabet gives symbols, and this file has propositions|Leave out --alphabet."),
        ("--alphabet", "p r", "error: the alphabet is also given as p r|Give the alphabet in one of the two places"),
    ],
)
@pytest.mark.parametrize("suffix", ["ltl", "re", "dot"])
def test_an_option_that_contradicts_a_file_is_named(
    hardsim: Any, tmp_path: Path, suffix: str, option: str, given: str, said: str
) -> None:
    """A message about two kinds is tried with a file of the other kind."""
    kind = ("alphabet", "props")[(option == "--props") != ("gives" in said)]
    declared = (
        f'digraph {{ graph [{kind}="p q"]; {EDGE} }}'
        if suffix == "dot"
        else f"{kind}: p q\n{'.' if suffix == 're' else 'p'}\n"
    )
    path = written(tmp_path / f"x.{suffix}", declared)
    hardsim("show", path, option, given).refused(*said.split("|"))
    hardsim("show", path, f"--{kind}", "p q").exits(0)


# ---- dialects ----


@pytest.fixture
def nexts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two files in the working directory, one with a bare and one with a weak next; these differ on a single
    position.
    """
    monkeypatch.chdir(tmp_path)
    for name, operator in (("bare.ltl", "X"), ("weak.ltl", "WX")):
        Path(name).write_text(f"props: q\nat: first\n{operator} q\n", encoding="utf-8")


@pytest.mark.parametrize(("dialect", "code"), [("weak-next", 0), ("strong-next", 1)])
def test_both_files_that_are_compared_are_read_in_the_dialect(
    hardsim: Any, nexts: None, dialect: str, code: int
) -> None:
    assert hardsim("equiv", "bare.ltl", "weak.ltl", "--dialect", dialect, "--max-n", "3").code == code


@pytest.mark.parametrize(("at", "code"), [("first", 0), ("last", 1)])
def test_two_bare_formulas_are_compared_over_the_propositions_of_both(
    hardsim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str, code: int
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("one.ltl").write_text("O p\n", encoding="utf-8")
    Path("other.ltl").write_text("p & (q | !q)\n", encoding="utf-8")
    done = hardsim("equiv", "one.ltl", "other.ltl", "--props", "auto", "--at", at, "--max-n", "2", "--json", "-")
    assert done.code == code
    assert [len(one["alphabet"]) for one in json.loads(done.out)["inputs"]] == [4, 4]


def test_a_reference_file_states_its_own_dialect(hardsim: Any, nexts: None) -> None:
    message = "--dialect does not apply to this file; a line dialect: in the file does"
    right = hardsim("check", "bare.ltl", "--dialect", "weak-next", "--against", "weak.ltl", "--max-n", "2")
    assert right.code == 0
    assert message in " ".join(right.err.split())
    wrong = hardsim("check", "weak.ltl", "--dialect", "weak-next", "--against", "bare.ltl", "--max-n", "2")
    assert wrong.code == 1
    plain = hardsim("check", "weak.ltl", "--against", "weak.ltl", "--max-n", "2")
    assert "--dialect" not in plain.err


def test_a_certificate_in_a_dialect_is_checked_in_it(hardsim: Any, nexts: None) -> None:
    spoken = ("--dialect", "weak-next")
    assert hardsim("prove", "bare.ltl", *spoken, "--max-n", "4", "--certificate", "c.json").code == 0
    assert hardsim("verify", "c.json", "--formula", "bare.ltl", *spoken).code == 0
    assert hardsim("verify", "c.json", "--formula", "bare.ltl").code == 1


def test_a_dialect_says_nothing_of_a_crasp_program(hardsim: Any) -> None:
    found = hardsim("check", "dyck1.cr", "--dialect", "weak-next", "--max-n", "2")
    assert found.code == 0
    assert "--dialect: not used; it is for formulas given as text" in found.err


def test_a_certificate_lists_no_sets_of_propositions(hardsim: Any) -> None:
    names = " ".join(f"p{k}" for k in range(40))
    given = ("-e", "p0 & p12", "--props", names)
    assert hardsim("prove", *given, "--max-n", "4", "--certificate", "c.json").code == 0
    assert hardsim("verify", "c.json", *given).clean().out.startswith("VALID")
    assert hardsim("verify", "c.json", "-e", "p0 & p13", "--props", names).code == 1


def test_quiet_hides_no_reading_on_which_the_verdict_depends(hardsim: Any) -> None:
    message = hardsim("check", "-e", "a S b", "--max-n", "2", "--quiet").err
    assert "no alphabet was given, so it consists of the symbols of the formula: a b" in message
